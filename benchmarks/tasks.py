"""What a measured process does inside Python on a campaign of passages: one task, timed.

    python -m benchmarks.tasks polars DIRECTORY context [MOST]

prints as JSON the seconds that the task took after its imports, on at most so many runs.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

from benchmarks.campaign import KINDS, Files
from benchmarks.processes import timed

__all__ = ["DOCUMENT_MEASURES", "MEASURES", "PYTREC_NAMES", "TASKS", "score_by_pytrec_eval"]

MEASURES = ("iP@0.01", "AiP", "AgP")
"""What any run whose results are grouped and do not overlap can be scored by."""
DOCUMENT_MEASURES = ("AP", "P@10")
PYTREC_NAMES = {"AP": "map", "P@10": "P_10", "nDCG": "ndcg", "RR": "recip_rank"}
"""Measures that pytrec_eval has, too, and its names for them."""

Work = Callable[[], object]


def polars(files: Files, kind: str, most: int | None) -> Work:
    """Read every column of the runs, and the lines of the judgements; keep nothing."""
    import polars as pl

    documents = kind == "documents"
    runs = (files.document_runs if documents else files.runs_of(kind))[:most]
    judgements = files.document_judgements if documents else files.judgements

    def read() -> None:
        for run in runs:
            pl.read_csv(run, separator=" ", has_header=False)
        # The number of fields differs from line to line: each line is one field here.
        pl.read_csv(judgements, separator="\t", has_header=False, quote_char=None)

    return read


def foveal(files: Files, kind: str, most: int | None) -> Work:
    """Read and score the passage runs."""
    from foveal import evaluate

    return lambda: evaluate(files.runs_of(kind)[:most], files.judgements, MEASURES)


def ir_measures(files: Files, _: str, most: int | None) -> Work:
    """Read and score runs as rankings of documents."""
    import ir_measures as ir

    measures = [ir.parse_measure(name) for name in DOCUMENT_MEASURES]

    def score() -> None:
        judgements = list(ir.read_trec_qrels(str(files.document_judgements)))
        evaluator = ir.evaluator(measures, judgements)
        for run in files.document_runs[:most]:
            evaluator.calc_aggregate(ir.read_trec_run(str(run)))

    return score


def score_by_pytrec_eval(judgements: Path, run: Path) -> dict[str, dict[str, float]]:
    """Read and score a ranking of documents; return the scores of each topic."""
    import pytrec_eval

    with judgements.open() as lines:
        evaluator = pytrec_eval.RelevanceEvaluator(
            pytrec_eval.parse_qrel(lines), set(PYTREC_NAMES.values())
        )
    with run.open() as lines:
        scores: dict[str, dict[str, float]] = evaluator.evaluate(pytrec_eval.parse_run(lines))
    return scores


def pytrec_eval(files: Files, _: str, most: int | None) -> Work:
    """Read and score rankings of documents."""
    import pytrec_eval  # noqa: F401 - so that importing it is not timed

    def score() -> None:
        for run in files.document_runs[:most]:
            scores = score_by_pytrec_eval(files.document_judgements, run)
            for name in PYTREC_NAMES.values():
                sum(own[name] for own in scores.values()) / len(scores)

    return score


TASKS: dict[str, Callable[[Files, str, int | None], Work]] = {
    "polars": polars,
    "foveal": foveal,
    "ir_measures": ir_measures,
    "pytrec_eval": pytrec_eval,
}
"""Each imports what it needs and returns what is to be timed."""


def main(name: str, root: str, kind: str = KINDS[0], most: str | None = None) -> None:
    work = TASKS[name](Files(Path(root)), kind, None if most is None else int(most))
    print(json.dumps(timed(work)))


if __name__ == "__main__":
    main(*sys.argv[1:])
