"""Where the time of an evaluation goes: reading, aligning, scoring by each measure.

    python -m benchmarks.profile_evaluate DIRECTORY [-m MEASURE ...]

DIRECTORY holds a campaign of `benchmarks.generate`. The steps are the library's own functions in
the order `foveal.evaluate` calls them; their shares are what matters.
"""

from __future__ import annotations

import time
from argparse import ArgumentParser
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from benchmarks.campaign import Files
from benchmarks.tasks import MEASURES
from foveal import Evaluation
from foveal.evaluation.evaluation import score_measures

__all__ = ["main"]


class Clock:
    """CPU seconds by step, in the order the steps first occurred."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        """Add to a step."""
        begin = time.process_time()
        yield
        self.seconds[name] = self.seconds.get(name, 0.0) + time.process_time() - begin

    def table(self) -> str:
        total = sum(self.seconds.values())
        rows = [f"| {n} | {s:.3f} | {s / total:.0%} |" for n, s in self.seconds.items()]
        head = ["| step | CPU seconds | share |", "| :-- | --: | --: |"]
        return "\n".join([*head, *rows, f"| total | {total:.3f} | |"])


def main(arguments: Sequence[str] | None = None) -> None:
    parser = ArgumentParser(prog="python -m benchmarks.profile_evaluate", description=__doc__)
    parser.add_argument("root", type=Path, metavar="DIRECTORY")
    parser.add_argument("-m", dest="measures", action="append", metavar="MEASURE")
    options = parser.parse_args(arguments)
    files, clock = Files(options.root), Clock()
    with clock.step("read and prepare judgements"):
        evaluation = Evaluation(files.judgements, options.measures or MEASURES)
    for path in files.runs:
        with clock.step("read the run"):
            run = evaluation.read_run(path)
        with clock.step("align and check it"):
            (aligned,) = evaluation.align(run)
        with clock.step("sizes and relevant sizes"):
            _ = aligned.limited.totals
        for measure in evaluation.measures:
            with clock.step(f"measure {measure}"):
                score_measures(aligned, [measure])
    print(clock.table())


if __name__ == "__main__":
    main()
