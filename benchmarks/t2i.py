"""Time T2I on one topic while its results and relevant documents grow together.

python -m benchmarks.t2i [--results N] [--points N] [--repeats N]

Time in proportion to results times documents shows as a power of 2, time in proportion to results
as 1. AiP scores the same run in the same round.
"""

from __future__ import annotations

import os
import random
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from typing import Any

from benchmarks.frame import Figures, add_options, publish, surroundings
from benchmarks.outcome import Aim, Curve, Outcome
from benchmarks.processes import Report, timed

__all__ = ["MEASURES", "campaign", "main"]

MEASURES = ("T2I", "AiP")
_PER_DOCUMENT = 50
"""Results of each relevant document."""
_LENGTH = 5000


def campaign(results: int) -> tuple[dict[str, Any], dict[str, list[tuple[str, int, int]]]]:
    """Return highlights and results of one topic: 50 results from each relevant document."""
    chance = random.Random(16)
    documents = -(-results // _PER_DOCUMENT)
    spans = [(100, 200), (3000, 3100)]
    judged = {f"d{i}": {"spans": spans, "length": _LENGTH} for i in range(documents)}
    places = [(i % documents, i // documents * 100) for i in range(results)]
    chance.shuffle(places)
    return {"1": judged}, {"1": [(f"d{doc}", start, start + 100) for doc, start in places]}


def _measured(sizes: Sequence[int], repeats: int) -> dict[str, list[Report]]:
    """Seconds of scoring at each size, the measures in turn; the first round does not count."""
    import foveal

    found: dict[str, list[Report]] = {}
    for size in sizes:
        highlights, results = campaign(size)
        truth = foveal.Judgements.from_highlights(highlights)
        run = foveal.Run.from_results(results, name="run")
        for number in range(repeats + 1):
            for measure in MEASURES:
                report = timed(lambda: foveal.evaluate(run, truth, measure))  # noqa: B023 - now
                if number:
                    found.setdefault(f"{measure}, {size} results", []).append(report)
    return found


def outcome(options: Namespace) -> Outcome:
    """Measure the sizes, each twice the one before."""
    load = os.getloadavg()[0]
    sizes = [options.results >> step for step in reversed(range(options.points))]
    found = _measured(sizes, options.repeats)
    figures = Figures(found)
    curve = Curve(
        "results",
        sizes,
        {m: [figures(f"{m}, {n} results", "inside_cpu") for n in sizes] for m in MEASURES},
    )
    last = [f"{measure}, {sizes[-1]} results" for measure in MEASURES]
    return Outcome(
        "T2I",
        [
            f"one topic, {sizes[-1]:,} results of {-(-sizes[-1] // _PER_DOCUMENT):,} documents",
            surroundings(options.repeats, load),
        ],
        aims=[
            Aim("T2I: power of time at the last step", curve.last("T2I"), 1.3),
            Aim("T2I: CPU seconds of AiP", figures.ratio(*last, "inside_cpu"), 45.0, "times"),
        ],
        curves=[curve],
        measurements=found,
    )


def main(arguments: Sequence[str] | None = None) -> None:
    parser = ArgumentParser(prog="python -m benchmarks.t2i", description=__doc__)
    for name, default, what in (("results", 200_000, "of the largest run"), ("points", 3, "sizes")):
        parser.add_argument(
            f"--{name}", type=int, default=default, metavar="N", help=f"{what} (default {default})"
        )
    add_options(parser, repeats=3)
    options = parser.parse_args(arguments)
    if options.repeats < 1 or options.points < 2 or options.results >> (options.points - 1) < 1:
        parser.error("expected 1 repeat, 2 points and 1 result at the first of them, or more")
    publish(outcome(options), options)


if __name__ == "__main__":
    main()
