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

__all__ = ["DOCUMENT_MEASURES", "MEASURES", "TASKS"]

MEASURES = ("iP@0.01", "AiP", "AgP")
"""What any run whose results are grouped and do not overlap can be scored by."""
DOCUMENT_MEASURES = ("AP", "P@10")

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


TASKS: dict[str, Callable[[Files, str, int | None], Work]] = {
    "polars": polars,
    "foveal": foveal,
    "ir_measures": ir_measures,
}
"""Each imports what it needs and returns what is to be timed."""


def main(name: str, root: str, kind: str = KINDS[0], most: str | None = None) -> None:
    work = TASKS[name](Files(Path(root)), kind, None if most is None else int(most))
    print(json.dumps(timed(work)))


if __name__ == "__main__":
    main(*sys.argv[1:])
