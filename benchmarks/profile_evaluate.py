"""Where the time of an evaluation goes: reading, aligning, checking, scoring, per measure.

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
from foveal.evaluation.preparation import Form, Options, prepare
from foveal.files.source import Source
from foveal.formats import read_judgements, read_run
from foveal.measures import Measure, parse_measures
from foveal.measures.alignment import Alignment, Gold

__all__ = ["main"]


class Clock:
    """Seconds by step, in the order the steps first occurred."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self.last: dict[str, float] = {}

    @contextmanager
    def step(self, name: str, *, less: str | None = None) -> Iterator[None]:
        """Add to a step; `less` is a step that is done once more inside this one."""
        before = 0.0 if less is None else self.last[less]
        begin = time.perf_counter()
        yield
        self.last[name] = time.perf_counter() - begin - before
        self.seconds[name] = self.seconds.get(name, 0.0) + self.last[name]

    def table(self) -> str:
        total = sum(self.seconds.values())
        rows = [f"| {n} | {s:.3f} | {s / total:.0%} |" for n, s in self.seconds.items()]
        head = ["| step | seconds | share |", "| :-- | --: | --: |"]
        return "\n".join([*head, *rows, f"| total | {total:.3f} | |"])


def _score(path: Path, judged: Gold, measures: Sequence[Measure], clock: Clock) -> None:
    """Score a run step by step, as `foveal.evaluation.evaluation.Evaluation.score` does."""
    with clock.step("read and hash bytes"):
        source = Source.open(path)
    with clock.step("parse lines into a run"):
        run = read_run(source)
    align = "align with the judgements"
    with clock.step(align):
        Alignment(run, judged)
    with clock.step("check and mend", less=align):
        prepared = prepare(run, judged, measures, Options())
    with clock.step("relevant characters of every result"):
        _ = prepared.alignment.rsize, prepared.alignment.size
    with clock.step("views of topics"):
        views = {
            form: [
                prepared.aligned(form).topic(topic, union=form is Form.UNION)
                for topic in judged.judgements.topics
            ]
            for form in prepared.form_of
        }
    for measure, form in zip(measures, prepared.form_of, strict=True):
        with clock.step(f"measure {measure}"):
            for view in views[form]:
                measure.value(view)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = ArgumentParser(prog="python -m benchmarks.profile_evaluate", description=__doc__)
    parser.add_argument("root", type=Path, metavar="DIRECTORY")
    parser.add_argument("-m", dest="measures", action="append", metavar="MEASURE")
    options = parser.parse_args(arguments)
    files, clock = Files(options.root), Clock()
    measures = [m for text in options.measures or MEASURES for m in parse_measures(text)]
    with clock.step("read judgements"):
        judgements = read_judgements(files.judgements)
    with clock.step("prepare judgements"):
        judged = Gold(judgements.combined())
    for path in files.runs:
        _score(path, judged, measures, clock)
    print(clock.table())


if __name__ == "__main__":
    main()
