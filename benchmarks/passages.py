"""Time the official tasks on a campaign of passages against Polars, which only reads the files.

python -m benchmarks.passages [--topics N] [--results N] [--runs N] [--repeats N] [--data DIR]

Rankings of documents are compared with ir_measures and, where it is installed, with trec_eval, and
passages with the official Java evaluator where its jar is given (see `benchmarks.references`).
"""

from __future__ import annotations

import os
import sys
from argparse import ArgumentParser
from collections.abc import Callable, Sequence
from pathlib import Path

from benchmarks.campaign import DOCUMENT_RUNS, KINDS, Files, Size
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
from benchmarks.processes import Command
from benchmarks.references import MissingError, official, trec_eval_on
from benchmarks.tasks import DOCUMENT_MEASURES, MEASURES

# This process must stay small: a child inherits its peak memory (see README.md).

PRESETS = {
    "context": "2009.RelevantInContext",
    "focused": "2009.Focused",
    "entries": "2009.BestInContext",
    "thorough": "2009.Thorough",
}
"""The official task for each kind of runs."""
RATIO, OVERLAPPING, MEGABYTES = 2.0, 4.0, 800.0
"""The aims: less than so many times Polars' reading, with results that overlap, in less memory."""

HEAD = ("task", "seconds", "of reading", "CPU seconds", "of reading", "peak MB", "processes")


def _asked(measures: Sequence[str]) -> list[str]:
    return [part for measure in measures for part in ("-m", measure)]


def _campaign_commands(files: Files, kinds: Sequence[str]) -> dict[str, Command]:
    """Reading and scoring of every kind of runs, by the names that the report knows them by."""
    judged = ["-j", str(files.judgements)]
    found = {}
    for kind in kinds:
        runs = [str(run) for run in files.runs_of(kind)]
        found[f"polars {kind}"] = Command.task("tasks", "polars", str(files.root), kind)
        found[PRESETS[kind]] = Command.foveal("evaluate", *runs, *judged, "-t", PRESETS[kind])
        if kind == KINDS[0]:
            asked = _asked(MEASURES)
            found["measures"] = Command.foveal("evaluate", *runs, *judged, *asked)
    return found


def _document_commands(files: Files) -> tuple[dict[str, Command], list[str]]:
    """Rankings of documents, and what is missing to compare with."""
    asked = ["-j", str(files.document_judgements), *_asked(DOCUMENT_MEASURES)]
    runs = files.document_runs
    root = str(files.root)
    found = {
        "polars documents": Command.task("tasks", "polars", root, "documents"),
        "foveal documents": Command.foveal("evaluate", *map(str, runs), *asked),
        "ir_measures": Command.task("tasks", "ir_measures", root),
    }
    return found, _with(found, "trec_eval", lambda: trec_eval_on(files.document_judgements, runs))


def _official_commands(files: Files, kinds: Sequence[str]) -> tuple[dict[str, Command], list[str]]:
    """The Java evaluator and ours with its options on a few runs, if it is there."""
    kind, option = ("focused", "-f") if "focused" in kinds else (KINDS[0], "-r")
    runs = files.runs_of(kind)[:DOCUMENT_RUNS]
    found: dict[str, Command] = {}
    missing = _with(found, "official", lambda: official(option, files.judgements, runs))
    if found:
        found["inex-eval"] = Command.foveal(
            "inex-eval", option, str(files.judgements), *map(str, runs)
        )
    return found, missing


def _with(commands: dict[str, Command], name: str, command: Callable[[], Command]) -> list[str]:
    """Add a command, or say why it cannot be had."""
    try:
        commands[name] = command()
    except MissingError as error:
        return [f"Not compared: {error}."]
    return []


def _starting_commands(files: Files) -> dict[str, Command]:
    asked = ["-j", str(files.judgements), *_asked(MEASURES)]
    return {
        "floor": Command([sys.executable, "-c", "pass"]),
        "version": Command.foveal("--version"),
        "short": Command.foveal("evaluate", str(files.short_run), *asked),
    }


# -- the report --------------------------------------------------------------------------------


def _row(figures: Figures, text: str, task: str, reference: str) -> list[str]:
    wall, cpu = figures.ratios(task, reference)
    return [
        text,
        f"{figures(task):.2f}",
        wall,
        f"{figures(task, 'cpu'):.2f}",
        cpu,
        f"{figures(task, 'megabytes'):.0f}",
        f"{figures(task, 'processes'):.0f}",
    ]


def _campaign_table(figures: Figures, kinds: Sequence[str]) -> Table:
    rows = []
    for kind in kinds:
        reference = f"polars {kind}"
        tasks = {f"Polars reads the runs, {kind}": reference}
        if kind == KINDS[0]:
            tasks[f"`foveal evaluate`, {', '.join(MEASURES)}"] = "measures"
        tasks[f"`foveal evaluate -t {PRESETS[kind]}`"] = PRESETS[kind]
        rows += [_row(figures, text, task, reference) for text, task in tasks.items()]
    return Table(HEAD, rows, "Whole processes, as a shell sees them:")


def _other_tables(figures: Figures, size: Size) -> list[Table]:
    documents = {
        "Polars reads the rankings": "polars documents",
        f"`foveal evaluate`, {', '.join(DOCUMENT_MEASURES)}": "foveal documents",
        "ir_measures, the same": "ir_measures",
        "trec_eval, map and P.10, a process for each run": "trec_eval",
    }
    java = {"the official Java evaluator": "official", "`foveal inex-eval`, the same": "inex-eval"}
    starting = {
        "`python -c pass`": "floor",
        "`foveal --version`": "version",
        f"`foveal evaluate`, one run of {size.short:,} lines": "short",
    }
    runs = min(size.runs, DOCUMENT_RUNS)
    captions = {
        f"Rankings of documents, {runs} runs:": documents,
        f"The official evaluator of 2008 to 2010, {runs} runs; times are of its own:": java,
        "Starting; times are of Python's:": starting,
    }
    tables = []
    for caption, tasks in captions.items():
        there = {text: task for text, task in tasks.items() if task in figures.of}
        if there:
            reference = next(iter(there.values()))
            head = [cell.replace("of reading", "ratio") for cell in HEAD]
            rows = [_row(figures, text, task, reference) for text, task in there.items()]
            tables.append(Table(head, rows, caption))
    return tables


def _aims(figures: Figures, size: Size, kinds: Sequence[str]) -> list[Aim]:
    aims = []
    scored = {"measures": (", ".join(MEASURES), KINDS[0])}
    scored |= {PRESETS[kind]: (PRESETS[kind], kind) for kind in kinds}
    for task, (text, kind) in scored.items():
        ratio = figures.ratio(task, f"polars {kind}")
        bound = OVERLAPPING if kind == "thorough" else RATIO
        aims.append(Aim(f"{text}: seconds of reading", ratio, bound, "times"))
        aims.append(Aim(f"{text}: peak memory", figures(task, "megabytes"), MEGABYTES, "MB"))
    if "short" in figures.of:
        aims.append(Aim(f"one run of {size.short:,} lines", figures("short"), 0.5, "s"))
        aims.append(Aim("`foveal --version`", figures("version"), 0.25, "s"))
    return aims


def _bytes(paths: Sequence[Path]) -> float:
    return sum(path.stat().st_size for path in paths) / 1e6


def outcome(files: Files, size: Size, repeats: int, *, campaign_only: bool = False) -> Outcome:
    """Measure everything, or only reading and scoring of the passages."""
    load, kinds = os.getloadavg()[0], KINDS[: size.kinds]
    commands = _campaign_commands(files, kinds)
    start = _starting_commands(files)
    notes = []
    if not campaign_only:
        documents, no_trec_eval = _document_commands(files)
        java, no_official = _official_commands(files, kinds)
        commands |= documents | java | start
        notes = [*no_trec_eval, *no_official]
    # Reading brings the files into memory; a short evaluation compiles the modules.
    warm = [name for name in commands if name.startswith("polars")]
    warm += ["measures"] if campaign_only else list(start)
    found = measured(commands, repeats, warm=warm)
    figures = Figures(found)
    disk = sum(_bytes(files.runs_of(kind)) for kind in kinds) + _bytes(files.document_runs)
    if size.lines != Size().lines:
        notes.append("The aims are set for the default size.")
    asked = f"{size.topics} topics x {size.results} results x {size.runs} runs of each kind"
    written = f"{size.lines:,} passages of a kind, {_bytes(files.runs):,.0f} MB"
    return Outcome(
        "Passages alone" if campaign_only else "Passages",
        [
            f"{asked}, {len(kinds)} kinds, seed {size.seed}",
            f"{written}; {disk:,.0f} MB on the disk for all",
            surroundings(repeats, load),
        ],
        [_campaign_table(figures, kinds), *_other_tables(figures, size)],
        _aims(figures, size, kinds),
        notes=notes,
        measurements=found,
    )


def main(arguments: Sequence[str] | None = None) -> None:
    parser = ArgumentParser(prog="python -m benchmarks.passages", description=__doc__)
    parser.add_argument(
        "--campaign-only",
        action="store_true",
        help="leave out rankings of documents, the official evaluator and starting",
    )
    add_options(parser, repeats=3, kept="campaign")
    options = parse_options(parser, arguments, Size)
    with folder_of(options) as root:
        files = generated(Files(root), options.size, "generate")
        own = {"campaign_only": options.campaign_only}
        publish(outcome(files, options.size, options.repeats, **own), options)


if __name__ == "__main__":
    main()
