"""Time AP, P@10, nDCG and RR on a large ranking of documents against pytrec_eval; compare scores.

python -m benchmarks.rankings [--topics N] [--results N] [--repeats N] [--data DIR]
"""

from __future__ import annotations

import math
import os
import subprocess
from argparse import ArgumentParser
from collections.abc import Sequence

from benchmarks.frame import (
    Figures,
    add_options,
    folder_of,
    generated,
    measured,
    parse_options,
    publish,
    surroundings,
)
from benchmarks.outcome import Aim, Outcome, Table
from benchmarks.processes import ROOT, Command
from benchmarks.ranking_files import RankingFiles, RankingSize
from benchmarks.tasks import PYTREC_NAMES, score_by_pytrec_eval

# This process must stay small while it measures: a child inherits its peak memory (see README.md).

TOLERANCE = 1e-9
"""The largest difference between two scores that counts as rounding."""


def _scoring(files: RankingFiles, *options: str) -> Command:
    """Return our command on the rankings."""
    asked = [part for measure in PYTREC_NAMES for part in ("-m", measure)]
    runs = [str(run) for run in files.document_runs]
    return Command.foveal("evaluate", *runs, "-j", str(files.document_judgements), *asked, *options)


def compare_scores(files: RankingFiles) -> str:
    """Compare the scores of both programs topic by topic, and describe the largest difference."""
    command = _scoring(files, "-q", "-f", "tsv").arguments
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    rows = [line.split("\t") for line in done.stdout.splitlines()[1:]]
    ours = {(run, topic, measure): float(v) for run, topic, measure, v in rows if topic != "all"}
    theirs = {
        (path.stem, topic, measure): scores[name]
        for path in files.document_runs
        for topic, scores in score_by_pytrec_eval(files.document_judgements, path).items()
        for measure, name in PYTREC_NAMES.items()
    }
    if ours.keys() != theirs.keys():
        raise RuntimeError("Foveal and pytrec_eval score different topics")
    differences = [abs(ours[key] - theirs[key]) for key in ours]
    largest = math.nan if any(map(math.isnan, differences)) else max(differences)
    if not largest <= TOLERANCE:
        raise RuntimeError(f"a score of Foveal differs from that of pytrec_eval by {largest:g}")
    return f"{len(ours):,} scores of both programs differ by at most {largest:.1g}"


def outcome(files: RankingFiles, size: RankingSize, repeats: int) -> Outcome:
    """Measure reading and both programs, then compare their scores."""
    load = os.getloadavg()[0]
    root = str(files.root)
    commands = {
        "polars": Command.task("tasks", "polars", root, "documents"),
        "foveal": _scoring(files),
        "pytrec_eval": Command.task("tasks", "pytrec_eval", root),
    }
    found = measured(commands, repeats, warm=["polars", "foveal"])
    figures = Figures(found)
    names = {
        "polars": "Polars reads the rankings",
        "foveal": f"`foveal evaluate`, {', '.join(PYTREC_NAMES)}",
        "pytrec_eval": f"pytrec_eval, {', '.join(PYTREC_NAMES.values())}",
    }
    rows = [
        [
            text,
            f"{figures(task):.2f}",
            f"{figures(task, 'cpu'):.2f}",
            f"{figures.ratio(task, 'polars', 'cpu'):.2f}",
            f"{figures.ratio(task, 'pytrec_eval', 'cpu'):.2f}",
            f"{figures(task, 'megabytes'):.0f}",
        ]
        for task, text in names.items()
    ]
    head = ("task", "seconds", "CPU seconds", "of reading", "of pytrec_eval", "peak MB")
    megabytes = sum(run.stat().st_size for run in files.document_runs) / 1e6
    asked = f"{size.topics:,} topics x {size.results:,} documents x {size.runs} runs"
    return Outcome(
        "Rankings of documents",
        [
            f"{asked}: {size.lines:,} lines, {megabytes:,.0f} MB, seed {size.seed}",
            surroundings(repeats, load),
            compare_scores(files),
        ],
        [Table(head, rows, "Whole processes, as a shell sees them:")],
        [
            Aim(
                "CPU time, Foveal / pytrec_eval",
                figures.ratio("foveal", "pytrec_eval", "cpu"),
                1.0,
                "times",
            )
        ],
        notes=[] if size == RankingSize() else ["The aim is set for the default size."],
        measurements=found,
    )


def main(arguments: Sequence[str] | None = None) -> None:
    parser = ArgumentParser(prog="python -m benchmarks.rankings", description=__doc__)
    add_options(parser, repeats=3, kept="rankings")
    options = parse_options(parser, arguments, RankingSize)
    with folder_of(options) as root:
        files = generated(RankingFiles(root), options.size, "ranking_files")
        publish(outcome(files, options.size, options.repeats), options)


if __name__ == "__main__":
    main()
