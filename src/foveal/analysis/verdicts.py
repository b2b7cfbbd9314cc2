"""Verdicts on measures: how far they order runs as expected, in numbers and in words."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from foveal.analysis.orderings import Ordering, part_of
from foveal.analysis.score_matrix import ScoreMatrix
from foveal.analysis.significance import t_test
from foveal.errors import UsageError
from foveal.model import Results

__all__ = ["LEVEL", "TOLERANCE", "Outcome", "Verdict", "check_level", "judge", "try_measures"]

TOLERANCE = 1e-12
"""Scores that differ by less are equal; relative to scores above 1."""
LEVEL = 0.05
"""A mean is reversed if it is significantly so at this level (paired t-test, two-sided)."""
_ASPECTS = {
    "parts": "the parts",
    "insertion": "a non-relevant document put first",
    "swap": "the swap of the first two documents",
    "late swap": "the swap of the first two relevant documents behind a non-relevant one",
    "insertion and swap": "a non-relevant document put first with the next two swapped",
    "given": "the expected differences",
}
"""The aspects of orderings in words."""
_SWAPS = ("swap", "late swap")
_SHOWN = 3


@dataclass(frozen=True)
class Outcome:
    """The outcome of one expected ordering by a measure.

    Parameters
    ----------
    difference : float
        Mean over topics by which the first run is better; negative if it is worse.
    wins, ties, losses : int
        Numbers of topics on which it is better, equal and worse.
    p : float
        p of the paired t-test, two-sided, not corrected; ``nan`` with fewer than two topics.
    verdict : str
        ``holds``; ``equal`` on all topics; ``broken`` on a topic although it must hold on every
        one; expected on average, but ``reversed`` significantly, or only ``below``.
    """

    measure: str
    ordering: Ordering
    difference: float
    wins: int
    ties: int
    losses: int
    p: float
    verdict: str

    @property
    def topics(self) -> int:
        return self.wins + self.ties + self.losses

    def __str__(self) -> str:
        better, worse = self.ordering.better, self.ordering.worse
        if self.verdict == "broken":
            where = f"{self.losses} of {self.topics} topics" if self.topics > 1 else _topics(self)
            return f"{better} is below {worse} on {where}"
        by = f"{100 * self.difference:+.2g} %"
        if not math.isnan(self.p):
            how = "significantly" if self.verdict == "reversed" else "not significantly"
            by = f"{by}, {how}, p = {self.p:.2g}"
        return f"{better} is below {worse} on average ({by})"


@dataclass(frozen=True)
class Verdict:
    """The verdict on a measure, in words."""

    measure: str
    passed: bool
    """No ordering that must hold on every topic is broken."""
    sentences: tuple[str, ...]


def try_measures(
    results: Results,
    orderings: Sequence[Ordering],
    measures: Sequence[str] | None = None,
    *,
    level: float = LEVEL,
) -> tuple[Outcome, ...]:
    """Test how each measure orders the runs, measure by measure.

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
    check_level(level)
    names = tuple(dict.fromkeys(n for o in orderings for n in (o.better, o.worse)))
    first = np.array([names.index(o.better) for o in orderings], dtype=np.int64)
    second = np.array([names.index(o.worse) for o in orderings], dtype=np.int64)
    found = []
    for measure in results.measures if measures is None else measures:
        scores = ScoreMatrix.from_results(results, measure, names)
        if not scores.topics:
            raise UsageError(f"{scores.measure} is defined on no topic for all runs")
        difference = _differences(scores.values[first], scores.values[second])
        if not scores.higher_is_better:
            difference = -difference
        several = len(scores.topics) > 1
        p = t_test(difference) if several else np.full(len(orderings), np.nan)
        columns = (
            difference.mean(axis=1),
            (difference > 0).sum(axis=1),
            (difference == 0).sum(axis=1),
            (difference < 0).sum(axis=1),
            p,
        )
        for ordering, mean, wins, ties, losses, chance in zip(
            orderings, *(column.tolist() for column in columns), strict=True
        ):
            verdict = _verdict(ordering, mean, wins, losses, chance, level)
            found.append(
                Outcome(scores.measure, ordering, mean, wins, ties, losses, chance, verdict)
            )
    return tuple(found)


def check_level(level: float) -> None:
    """Refuse a level of significance that is not between 0 and 1."""
    if not 0 < level < 1:
        raise UsageError(f"level {level} is not possible; expected a number between 0 and 1")


def _differences(
    first: npt.NDArray[np.float64], second: npt.NDArray[np.float64]
) -> npt.NDArray[np.float64]:
    """Return the differences, 0 where they are rounding errors."""
    scale = np.maximum(1.0, np.maximum(np.abs(first), np.abs(second)))
    return np.where(np.abs(first - second) <= TOLERANCE * scale, 0.0, first - second)


def _verdict(
    ordering: Ordering, mean: float, wins: int, losses: int, p: float, level: float
) -> str:
    if not wins and not losses:
        return "equal"
    if ordering.every:
        return "broken" if losses else "holds"
    if mean >= 0:
        return "holds"
    return "reversed" if p < level else "below"


def judge(outcomes: Sequence[Outcome], swapped: int | None) -> Verdict:
    """Put the outcomes of a measure into words; `swapped` topics have two documents to swap."""
    measure = outcomes[0].measure
    strict = [o for o in outcomes if o.ordering.every]
    broken = [o for o in strict if o.verdict == "broken"]
    number = f"{len(broken) or 'none'} of the {len(strict)} orderings"
    state = f"that must hold on every topic {'are' if len(broken) > 1 else 'is'} broken"
    if not strict:
        number, state = "no ordering", "must hold on every topic"
    said = [f"{measure} {'fails' if broken else 'passes'}: {number} {state}."]
    for aspect, name in _ASPECTS.items():
        own = [o for o in outcomes if o.ordering.aspect == aspect]
        if own and not (aspect in _SWAPS and swapped == 0):
            said.append(f"{measure} {_seen(own, name)}")
    if swapped == 0:
        said.append(f"{measure} is not tried on swaps: no topic has two relevant documents.")
    return Verdict(measure, not broken, tuple(said))


def _seen(outcomes: Sequence[Outcome], name: str) -> str:
    """Describe how a measure orders one aspect: right, wrong or not at all."""
    n = len(outcomes)
    wrong = [o for o in outcomes if o.verdict in ("broken", "reversed")]
    doubtful = [o for o in outcomes if o.verdict == "below"]
    holding = [o for o in outcomes if o.verdict == "holds"]
    same = [o for o in outcomes if o.verdict == "equal"]
    if len(same) == n:
        which = "both runs are" if n == 1 else f"all {n} orderings are"
        return f"does not see {name}: {which} equal on {_topics(same[0])}."
    unseen = f"; does not tell {_blurred(same, outcomes)}" if same else ""
    if not wrong and not doubtful:
        if same:
            return f"sees {len(holding)} of the {n} orderings of {name}, {_how(holding)}{unseen}."
        orderings = f"the {n} orderings hold" if n > 1 else "the one ordering holds"
        return f"sees {name}: {orderings}, {_how(holding)}."
    if not wrong:
        return f"is not clear about {name}: {_listed(doubtful)}{unseen}."
    lost, won = sum(o.losses for o in outcomes), sum(o.wins for o in outcomes)
    verb = "reverses" if lost > won else "does not always see"
    return f"{verb} {name}: {_listed([*wrong, *doubtful])}{unseen}."


def _how(outcomes: Sequence[Outcome]) -> str:
    loose = sum(not o.ordering.every for o in outcomes)
    if 0 < loose < len(outcomes):
        return f"{len(outcomes) - loose} on every topic and {loose} on average"
    return "on average" if loose else "on every topic"


def _blurred(same: Sequence[Outcome], outcomes: Sequence[Outcome]) -> str:
    """List what is equal on all topics: part sets if all their rankings are, else runs."""
    pairs: dict[tuple[str, str], None] = {}
    others = {_pair(o) for o in outcomes if o.verdict != "equal"}
    for outcome in same:
        parts = outcome.ordering.aspect == "parts" and _pair(outcome) not in others
        runs = (outcome.ordering.better, outcome.ordering.worse)
        pairs[_pair(outcome) if parts else runs] = None
    shown = ", ".join(f"{better} from {worse}" for better, worse in list(pairs)[:_SHOWN])
    more = f" and {len(pairs) - _SHOWN} more" if len(pairs) > _SHOWN else ""
    return f"{shown}{more}: equal on {_topics(same[0])}"


def _pair(outcome: Outcome) -> tuple[str, str]:
    """Return the part sets of an ordering between parts, else its runs."""
    ordering = outcome.ordering
    if ordering.aspect != "parts":
        return ordering.better, ordering.worse
    return part_of(ordering.better), part_of(ordering.worse)


def _topics(outcome: Outcome) -> str:
    return f"all {outcome.topics} topics" if outcome.topics > 1 else "the only topic"


def _listed(outcomes: Sequence[Outcome]) -> str:
    more = f"; and {len(outcomes) - _SHOWN} more" if len(outcomes) > _SHOWN else ""
    return "; ".join(map(str, outcomes[:_SHOWN])) + more
