"""What a measured process does inside Python: one task, timed after its imports.

    python -m benchmarks.tasks polars DIRECTORY

prints the seconds the task took, on one line.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks.campaign import Files

__all__ = ["MEASURES", "TASKS"]

MEASURES = ("iP@0.01", "AiP")


def polars(files: Files) -> Callable[[], object]:
    """Read every column of the runs, and the lines of the judgements; keep nothing."""
    import polars as pl

    def read() -> None:
        for run in files.runs:
            pl.read_csv(run, separator=" ", has_header=False)
        # The number of fields differs from line to line: each line is one field here.
        pl.read_csv(files.judgements, separator="\t", has_header=False, quote_char=None)

    return read


def foveal(files: Files) -> Callable[[], object]:
    """Read and score the passage runs."""
    from foveal import evaluate

    return lambda: evaluate(files.runs, files.judgements, MEASURES)


def ir_measures(files: Files) -> Callable[[], object]:
    """Read and score the runs as rankings of documents."""
    import ir_measures as ir

    measures = [ir.AP, ir.P @ 10]

    def score() -> None:
        judgements = list(
            ir.read_trec_qrels(str(files.document_judgements))  # type: ignore[no-untyped-call]
        )
        evaluator = ir.evaluator(measures, judgements)
        for run in files.document_runs:
            results = ir.read_trec_run(str(run))  # type: ignore[no-untyped-call]
            evaluator.calc_aggregate(results)

    return score


TASKS: dict[str, Callable[[Files], Callable[[], object]]] = {
    "polars": polars,
    "foveal": foveal,
    "ir_measures": ir_measures,
}
"""Each imports what it needs and returns what is to be timed."""


def main(name: str, root: str) -> None:
    work = TASKS[name](Files(Path(root)))
    begin = time.perf_counter()
    work()
    print(time.perf_counter() - begin)


if __name__ == "__main__":
    main(*sys.argv[1:])
