"""Fidelity of measures: do they order runs as expected whose order is known?"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from foveal._version import __version__
from foveal.analysis import simulation as space
from foveal.analysis.score_matrix import ScoreMatrix
from foveal.analysis.score_tables import tabulate_scores
from foveal.analysis.significance import t_test
from foveal.analysis.simulation import Ordering
from foveal.errors import UsageError, some
from foveal.evaluation import evaluate, find_preset
from foveal.formats import read_judgements
from foveal.measures import Measure, parse_measures
from foveal.measures.base import OverlapRule
from foveal.model import Judgements, Results
from foveal.model.result_object import Result
from foveal.model.tables import Table

__all__ = ["Fidelity", "OrderingOutcome", "fidelity", "try_measures"]

SCORED = (
    *("gP@1", "gP@2", "gP@10", "gR@1", "gR@2", "gR@10", "AgP"),
    *("gRw@1", "gRw@2", "gRw@10", "AgPw", "AP"),
)
"""The columns of table 1."""
TESTED = ("AgP", "AgPw", "AP")
"""The overall figures among them, which are tested unless others are named."""
TOLERANCE = 1e-12
"""Scores that differ by less are equal; relative to scores above 1."""
LEVEL = 0.05
"""A mean is reversed if it is significantly so at this level (paired t-test, two-sided)."""
VERDICTS = ("holds", "equal", "broken", "reversed", "below")
_CHOICE = ("only_topics", "pools", "assessors", "topics_file", "castitles_only")
"""Options that choose judgements; the others are about scoring."""
_ALTERING = (
    *("overlap", "regroup", "snap", "truncate", "lenient"),
    *("max_results", "topic_limit", "document_limit"),
)
"""Options that change runs."""


class OrderingOutcome(NamedTuple):
    """The outcome of one expected ordering by a measure; a row of the result."""

    measure: str
    better: str
    worse: str
    expected: str
    """``every`` topic or the ``mean`` over topics."""
    aspect: str
    difference: float
    """Mean over topics by which the first run is better; negative if it is worse."""
    wins: int
    ties: int
    losses: int
    p: float
    """Of the paired t-test, two-sided, not corrected; ``nan`` with fewer than two topics."""
    verdict: str
    """``holds``; ``equal`` on all topics; ``broken`` on a topic although it must hold on every
    one; expected on average, but ``reversed`` significantly, or only ``below``."""


@dataclass(frozen=True, eq=False, repr=False)
class Fidelity(Result):
    """Scores of the simulated runs and the outcome of every ordering, measure by measure."""

    scores: Results
    """Scores of all runs by all measures, tested or not."""
    outcomes: tuple[OrderingOutcome, ...]
    meta: Mapping[str, Any]

    @property
    def passed(self) -> bool:
        """No measure breaks an ordering that must hold on every topic."""
        return all(outcome.verdict != "broken" for outcome in self.outcomes)

    def rows(self, *, table: str | None = None) -> Iterator[dict[str, Any]]:
        """Yield a row for each outcome, or the rows of the table ``scores`` or ``verdict``."""
        if table == "scores":
            for run, topic, measure, value in self.scores.rows(per_topic=False):
                yield {"run": run, "topic": topic, "measure": measure, "value": value}
        elif table == "verdict":
            for measure in dict.fromkeys(o.measure for o in self.outcomes):
                own = [o for o in self.outcomes if o.measure == measure]
                for aspect in ("all", *dict.fromkeys(o.aspect for o in own)):
                    found = [o.verdict for o in own if aspect in ("all", o.aspect)]
                    passed = "broken" not in found
                    counts = {verdict: found.count(verdict) for verdict in VERDICTS}
                    yield {"measure": measure, "aspect": aspect, "passed": passed, **counts}
        else:
            yield from (outcome._asdict() for outcome in self.outcomes)

    def parts(self) -> dict[str, Any]:
        """Return scores, outcomes and verdicts."""
        parts = {"scores": "scores", "orderings": None, "verdicts": "verdict"}
        return {name: list(self.rows(table=table)) for name, table in parts.items()}

    def summary(self) -> str:
        """Return which measures break an ordering that must hold on every topic."""
        broken = [o for o in self.outcomes if o.verdict == "broken"]
        if broken:
            named = some([f"{o.measure} ({o.better} >= {o.worse})" for o in broken])
            return f"Orderings that must hold on every topic are broken by {named}."
        return "All orderings that must hold on every topic hold."

    def tables(self, *, table: str | None = None) -> list[Table]:
        """Return the tables ``scores``, ``orderings`` and ``verdict``, or one of them."""
        notes = (
            "on: expected on every topic, or of the mean over topics.",
            f">, ==, <: topics with the first run better, equal (within {TOLERANCE:g}) and worse.",
            "p: paired t-test, two-sided, not corrected.",
            f"reversed: below on average (p < {LEVEL:g}); below: not significantly.",
        )
        outcomes: list[tuple[str, ...]] = []
        for o in self.outcomes:
            counts = map(str, (o.wins, o.ties, o.losses))
            p = "-" if math.isnan(o.p) else f"{o.p:.4f}"
            difference = f"{100 * o.difference:+.2f}"
            names = (o.measure, f"{o.better} >= {o.worse}", o.expected)
            outcomes.append((*names, difference, *counts, p, o.verdict))
        header = ("measure", "ordering", "on", "diff %", ">", "==", "<", "p", "verdict")
        title = "Expected orderings"
        orderings = Table(
            header, tuple(outcomes), labels=3, title=title, notes=notes, name="orderings"
        )
        verdicts = tuple(
            (measure, aspect, "passes" if passed else "fails", *map(str, counts))
            for measure, aspect, passed, *counts in (r.values() for r in self.rows(table="verdict"))
        )
        columns = ("measure", "aspect", "verdict", *VERDICTS)
        verdict = Table(columns, verdicts, labels=3, title="Verdict", name="verdict")
        tables = (tabulate_scores(self.scores, titled=True), orderings, verdict)
        return [each for each in tables if table in (None, each.name)]


def fidelity(
    judgements: Judgements | str | Path | Sequence[str | Path],
    collection: str | Path | None = None,
    measures: str | Measure | Sequence[str | Measure] = (),
    *,
    task: str | None = None,
    executor: Executor | None = None,
    progress: Callable[[], None] | None = None,
    **options: Any,
) -> Fidelity:
    """Test measures with the runs of the S-R space, whose order is known.

    Parameters
    ----------
    judgements : Judgements, path, or a sequence of paths
    collection : path, optional
        A collection index; without it only S and SLD are simulated.
    measures : text or Python forms of measures
        All of them are scored and tested, except counts. Default: `SCORED` are scored, `TESTED`
        are tested. Measures of elements are tested with the part sets that are elements.
    task : str, optional
        A preset whose measures are tested, too; its limits are not applied.
    executor, progress, **options
        As in `foveal.evaluate`. Options that would change the simulated runs are refused.

    Examples
    --------
    >>> truth = Judgements.from_highlights(
    ...     {
    ...         "1": {
    ...             "D1": {"spans": [(0, 50)], "length": 100},
    ...             "D2": {"spans": [(0, 20)], "length": 50},
    ...             "D3": {"spans": [], "length": 40},
    ...         }
    ...     }
    ... )
    >>> found = fidelity(truth, measures="AP")
    >>> found.passed, {o.verdict for o in found.outcomes if o.aspect == "parts"}
    (True, {'equal'})
    """
    if altering := [name for name in _ALTERING if options.get(name)]:
        option = altering[0].replace("_", "-")
        raise UsageError(f"--{option} would change the simulated runs; leave it out")
    given = judgements if isinstance(judgements, Judgements) else read_judgements(judgements)
    listed = [measures] if isinstance(measures, (str, Measure)) else list(measures)
    if task is not None:
        preset = find_preset(task)
        single = [text for text in preset.texts if not text.endswith("@curve")]
        listed = [*(single or preset.texts), *listed]
        options |= {"castitles_only": preset.castitles_only}
    parsed = [
        measure
        for item in listed or SCORED
        for measure in (parse_measures(item) if isinstance(item, str) else (item,))
    ]
    better = [measure.label for measure in parsed if measure.higher_is_better is not None]
    tested = better if listed else TESTED
    of_elements = [measure.label for measure in parsed if measure.structural]
    is_structural = bool(of_elements)
    for measure in parsed:
        if measure.overlap_rule is OverlapRule.ONE_PER_DOCUMENT:
            reason = "takes one result of each document, and simulated runs return several"
            raise UsageError(f"{measure.label} {reason}")
        if is_structural and not measure.structural:
            reason = "is about elements; test such measures on their own"
            raise UsageError(f"{of_elements[0]} {reason}")
    if is_structural and collection is None:
        raise UsageError(f"{of_elements[0]} is about elements, which needs --collection")
    if not tested:
        raise UsageError(f"{parsed[0].label}: neither more nor less of it is better")
    parts = space.ELEMENTS if is_structural else space.PARTS
    empty = space.EMPTY[1 if is_structural else 0]  # an element is never empty
    chosen = {option: value for option, value in options.items() if option in _CHOICE}
    made = space.simulate(given, collection, parts=parts, empty=empty, **chosen)
    scores = evaluate(
        made.runs,
        given,
        parsed,
        collection=collection,
        executor=executor,
        progress=progress,
        **options | {"only_topics": made.topics},
    )
    names = {run.name for run in made.runs}
    orderings = space.expected_orderings(
        [part for part in parts if f"{part}R" in names], empty=empty
    )
    # Simulated runs return unjudged text on purpose, and a warning about one run is about many.
    warnings = [
        getattr(note, "text", note)
        for note in scores.meta.get("warnings", ())
        if getattr(note, "code", "") not in ("run.empty", "run.unjudged")
    ]
    meta = {
        "version": __version__,
        "options": {
            **options,
            **({} if task is None else {"task": task}),
            "measures": list(scores.measures),
            "empty": empty,
        },
        "tolerance": TOLERANCE,
        "inputs": scores.meta.get("inputs", []),
        "topics": len(scores.topics),
        "skipped": list(made.skipped),
        "warnings": list(dict.fromkeys([*made.notes, *warnings])),
    }
    return Fidelity(scores, try_measures(scores, orderings, tested), meta)


def try_measures(
    results: Results, orderings: Sequence[Ordering], measures: Sequence[str] | None = None
) -> tuple[OrderingOutcome, ...]:
    """Test how each measure orders any scored runs, measure by measure.

    Examples
    --------
    >>> saved = Results.from_tidy(
    ...     [
    ...         *[("a", "1", "AP", 1.0), ("a", "2", "AP", 0.7)],
    ...         *[("b", "1", "AP", 0.5), ("b", "2", "AP", 0.8)],
    ...     ],
    ...     {},
    ... )
    >>> every, mean = try_measures(saved, [Ordering("a", "b"), Ordering("a", "b", every=False)])
    >>> every.verdict, mean.verdict, mean.wins, mean.losses
    ('broken', 'holds', 1, 1)
    """
    names = tuple(dict.fromkeys(n for o in orderings for n in (o.better, o.worse)))
    first = [names.index(o.better) for o in orderings]
    second = [names.index(o.worse) for o in orderings]
    found = []
    for measure in results.measures if measures is None else measures:
        scores = ScoreMatrix.from_results(results, measure, names)
        if not scores.topics:
            raise UsageError(f"{scores.measure} is defined on no topic for all runs")
        one, two = scores.values[first], scores.values[second]
        scale = np.maximum(1.0, np.maximum(np.abs(one), np.abs(two)))
        difference = np.where(np.abs(one - two) <= TOLERANCE * scale, 0.0, one - two) * scores.sign
        several = len(scores.topics) > 1
        p = t_test(difference) if several else np.full(len(orderings), np.nan)
        for ordering, own, chance in zip(orderings, difference, p.tolist(), strict=True):
            mean, wins, losses = float(own.mean()), int((own > 0).sum()), int((own < 0).sum())
            if not wins and not losses:
                verdict = "equal"
            elif ordering.every:
                verdict = "broken" if losses else "holds"
            elif mean >= 0:
                verdict = "holds"
            else:
                verdict = "reversed" if chance < LEVEL else "below"
            ties = len(own) - wins - losses
            expected = "every" if ordering.every else "mean"
            runs = (ordering.better, ordering.worse)
            row = (scores.measure, *runs, expected, ordering.aspect, mean, wins, ties, losses)
            found.append(OrderingOutcome(*row, chance, verdict))
    return tuple(found)
