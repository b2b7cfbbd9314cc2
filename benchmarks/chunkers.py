"""Time the scoring of chunkers, runs and judgements being read already.

python -m benchmarks.chunkers [--questions N] [--chunkers N] [--results N] [--repeats N]

As many questions, chunkers and chunks as the largest published comparison of chunkers has, made up:
five documents, a few relevant passages for every question, and for every chunker the chunks around
and far from them. ir_measures scores the same number of results, given as names of chunks.
"""

from __future__ import annotations

import os
import random
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from benchmarks.frame import Figures, add_options, parse_options, publish, surroundings
from benchmarks.outcome import Aim, Outcome, Table
from benchmarks.processes import Report, timed

__all__ = ["LENGTHS", "TASKS", "campaign", "main", "outcome"]

LENGTHS = (60_000, 120_000, 250_000, 400_000, 700_000)
"""Characters of the documents."""
_SIZES = (200, 250, 300, 400, 500, 600, 800, 1000)
_LIMIT = 1.0
"""CPU seconds that scoring may take."""
_MEASURES = ("charP@5", "charR@5", "charF@5", "iP@0.10", "AiP")
_FOVEAL = {
    "evaluate": f"`foveal.evaluate`: {', '.join(_MEASURES)}",
    "budgets": "`foveal.budget_curves`: charR at 20 budgets of characters",
    "ir_measures": "ir_measures: AP, P@5, R@5 of chunk names",
}


Ranked = dict[str, list[tuple[str, int, int]]]


def campaign(
    questions: int, chunkers: int, results: int, seed: int = 20
) -> tuple[dict[str, Any], dict[str, Ranked]]:
    """Highlights by question and document, and by chunker the chunks found for every question."""
    chance = random.Random(seed)
    highlights: dict[str, Any] = {}
    for number in range(questions):
        doc = chance.randrange(len(LENGTHS))
        at = [chance.randrange(LENGTHS[doc] - 400) for _ in range(chance.choice((1, 1, 2, 3)))]
        spans = [(start, start + chance.randint(40, 350)) for start in at]
        highlights[f"q{number}"] = {f"d{doc}": {"spans": spans, "length": LENGTHS[doc]}}
    runs = {}
    for number in range(chunkers):
        size = _SIZES[number % len(_SIZES)]
        step = size if number < len(_SIZES) else size // 2
        found = {
            question: _found(chance, judged, size, step, results)
            for question, judged in highlights.items()
        }
        runs[f"chunks{size}-{size - step}"] = found
    return highlights, runs


def _found(
    chance: random.Random, judged: dict[str, Any], size: int, step: int, results: int
) -> list[tuple[str, int, int]]:
    """Chunks around the relevant passages at some of the first ranks, others at the rest."""
    ((doc, entry),) = judged.items()
    chunks: dict[tuple[str, int, int], None] = {}
    for start, _ in entry["spans"]:
        if chance.random() < 0.8:
            at = start // step * step
            chunks[doc, at, min(at + size, entry["length"])] = None
    while len(chunks) < results:
        other = chance.randrange(len(LENGTHS))
        at = chance.randrange(0, LENGTHS[other] - size, step)
        chunks[f"d{other}", at, at + size] = None
    listed = list(chunks)[:results]
    early = listed[:5]
    chance.shuffle(early)
    return early + listed[5:]


# -- what is timed -----------------------------------------------------------------------------


def _evaluate(highlights: dict[str, Any], runs: dict[str, Ranked]) -> Callable[[], object]:
    import foveal

    truth = foveal.Judgements.from_highlights(highlights)
    taken = [foveal.Run.from_results(found, name=name) for name, found in runs.items()]
    return lambda: foveal.evaluate(taken, truth, _MEASURES, overlap="union")


def _budgets(highlights: dict[str, Any], runs: dict[str, Ranked]) -> Callable[[], object]:
    import foveal

    truth = foveal.Judgements.from_highlights(highlights)
    taken = [foveal.Run.from_results(found, name=name) for name, found in runs.items()]
    return lambda: foveal.budget_curves(taken, truth, overlap="union")


def _ir_measures(highlights: dict[str, Any], runs: dict[str, Ranked]) -> Callable[[], object]:
    import ir_measures as ir

    def judged(found: Ranked) -> Iterator[ir.Qrel]:
        for question, chunks in found.items():
            ((doc, entry),) = highlights[question].items()
            for chunk in chunks:
                met = chunk[0] == doc and any(
                    start < chunk[2] and chunk[1] < end for start, end in entry["spans"]
                )
                if met:
                    yield ir.Qrel(question, "{}:{}-{}".format(*chunk), 1)

    measures = [ir.AP, ir.P @ 5, ir.R @ 5]
    prepared = []
    for found in runs.values():
        qrels = list(judged(found))
        ranked = [
            ir.ScoredDoc(question, "{}:{}-{}".format(*chunk), float(-rank))
            for question, chunks in found.items()
            for rank, chunk in enumerate(chunks)
        ]
        prepared.append((qrels, ranked))
    return lambda: [ir.calc_aggregate(measures, qrels, ranked) for qrels, ranked in prepared]


TASKS = {"evaluate": _evaluate, "budgets": _budgets, "ir_measures": _ir_measures}
"""Each prepares what is read and returns what is timed."""


def _measured(options: Namespace) -> dict[str, list[Report]]:
    """Seconds and CPU seconds of every repeat, the tasks in turn; a first round is not counted."""
    inputs = campaign(options.questions, options.chunkers, options.results)
    works = {name: prepare(*inputs) for name, prepare in TASKS.items()}
    found: dict[str, list[Report]] = {name: [] for name in works}
    for number in range(options.repeats + 1):
        for name, work in works.items():
            report = timed(work)
            if number:
                found[name].append(report)
    return found


# -- the report --------------------------------------------------------------------------------


def outcome(found: dict[str, list[Report]], options: Namespace, load: float) -> Outcome:
    """The table of medians, ratios to ir_measures, and whether the aim is met."""
    figures = Figures(found)
    rows = [
        [
            _FOVEAL[name],
            f"{figures(name, 'inside'):.3f}",
            f"{figures(name, 'inside_cpu'):.3f}",
            f"{figures.ratio(name, 'ir_measures', 'inside_cpu'):.2f}",
        ]
        for name in found
    ]
    total = options.questions * options.chunkers * options.results
    size = f"{options.questions} questions x {options.chunkers} chunkers x {options.results} chunks"
    return Outcome(
        "Chunkers",
        [f"{size}, {total:,} results, read before", surroundings(options.repeats, load)],
        [Table(["scoring", "seconds", "CPU seconds", "of ir_measures"], rows)],
        [
            Aim(_FOVEAL[name].partition(":")[0], figures(name, "inside_cpu"), _LIMIT, "CPU s")
            for name in ("evaluate", "budgets")
        ],
        measurements=found,
    )


def main(arguments: Sequence[str] | None = None) -> None:
    parser = ArgumentParser(prog="python -m benchmarks.chunkers", description=__doc__)
    for name, default in (("questions", 472), ("chunkers", 16), ("results", 50)):
        parser.add_argument(
            f"--{name}", type=int, default=default, metavar="N", help=f"(default {default})"
        )
    add_options(parser, repeats=5)
    options = parse_options(parser, arguments)
    if min(options.questions, options.chunkers, options.results) < 1:
        parser.error("questions, chunkers and results must be 1 or more")
    if options.chunkers > 2 * len(_SIZES):
        parser.error(f"there are {2 * len(_SIZES)} chunkers at most")
    load = os.getloadavg()[0]
    publish(outcome(_measured(options), options, load), options)


if __name__ == "__main__":
    main()
