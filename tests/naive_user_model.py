"""Naive reference implementation of GR, EPRUM, EPRUMk and PRUM (METRICS.md, section 15).

The oracle shares nothing with the package under test: `Recursion` multiplies the distribution anew
at every rank, with plain lists and exact fractions if probabilities are given as such.

Below it, every measure has the signature ``name(results, judged, **keywords) -> float`` of
`naive`, on one topic with best entry points or highlighted passages as targets.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from math import ceil, fsum

import naive

NAN = float("nan")
Number = Fraction | float
Matrix = Sequence[Sequence[Number]]
Target = tuple[str, int, int]  # a best entry point has no length


# -- From probabilities to measures ----------------------------------------------------------------


class Recursion:
    """The distribution of what is seen, multiplied anew at every rank."""

    def __init__(self, p: Matrix, units: Sequence[int], ideality: Sequence[Number] = ()) -> None:
        self.ranks, self.units = len(p), units
        ideal = ideality or [Fraction(1)] * len(units)
        self.found: list[list[Number]] = [[Fraction(0)] * len(units)]
        for row in p:
            before = self.found[-1]
            self.found.append([1 - (1 - q) * (1 - a) for q, a in zip(before, row, strict=True)])
        self.distribution = [
            self._distribution([(1 - i * q, i * q) for q, i in zip(found, ideal, strict=True)])
            for found in self.found
        ]

    def _distribution(self, factors: Sequence[tuple[Number, Number]]) -> list[Number]:
        values: list[Number] = [Fraction(1)]
        for (absent, present), units in zip(factors, self.units, strict=True):
            longer: list[Number] = [Fraction(0)] * (len(values) + units)
            for i, value in enumerate(values):
                longer[i] += value * absent
                longer[i + units] += value * present
            values = longer
        return values

    def tail(self, k: int, wanted: int) -> Number:
        return sum(self.distribution[k][wanted:], start=Fraction(0))

    def expected_precision(self, wanted: int, shortest: int) -> float:
        value: Number = Fraction(0)
        for k in range(1, self.ranks + 1):
            gained = self.tail(k, wanted) - self.tail(k - 1, wanted)
            value += min(Fraction(1), Fraction(shortest, k)) * gained
        return float(value)

    def precision_of_means(self, wanted: int, shortest: int) -> float:
        if self.tail(self.ranks, wanted) != 1:
            return 0.0
        mean: Number = Fraction(0)
        for k in range(1, self.ranks + 1):
            mean += k * (self.tail(k, wanted) - self.tail(k - 1, wanted))
        return float(min(Fraction(1), shortest / mean))

    def prum(self, wanted: int) -> float:
        fresh: Number = Fraction(0)
        consulted: Number = Fraction(0)
        for k in range(1, self.ranks + 1):
            below = 1 - self.tail(k - 1, wanted)
            consulted += below
            pairs = zip(self.found[k], self.found[k - 1], strict=True)
            still = self._distribution([(1 - now, before) for now, before in pairs])
            fresh += below - sum(still[:wanted], start=Fraction(0))
        return float(fresh / consulted) if consulted else 0.0


# -- From a campaign to probabilities --------------------------------------------------------------


def targets_of(judged: naive.Gold, kind: str) -> list[Target]:
    """Best entry points of relevant documents, or maximal highlighted passages."""
    found: list[Target] = []
    for name, doc in judged.items():
        chars = {x for start, end in doc.spans for x in range(start, end)}
        if kind == "bep":
            if chars and doc.bep is not None:
                found.append((name, doc.bep, doc.bep))
            continue
        for start in sorted(x for x in chars if x - 1 not in chars):
            end = next(x for x in range(start, doc.length + 1) if x not in chars)
            found.append((name, start, end))
    return found


def probability(
    result: naive.Result,
    target: Target,
    judged: naive.Gold,
    behaviour: str,
    scale: Fraction,
    T: int,
) -> Fraction:
    """How probably a result leads to a target."""
    doc, start, end = result
    if doc != target[0]:
        return Fraction(0)
    if behaviour == "bep":
        distance = abs(start - target[1])
        return scale / (scale + distance) if distance else Fraction(1)
    if behaviour == "classic":
        same = start == target[1] and (target[1] == target[2] or end == target[2])
        return Fraction(same)
    if behaviour == "hierarchical":
        here, there = set(range(start, end)), set(range(*target[1:]))
        return Fraction(len(here & there), len(here | there)) if here & there else Fraction(0)
    return Fraction(_reads_to(start, target[1], judged[doc], T))


def _reads_to(start: int, goal: int, doc: naive.Doc, T: int) -> bool:
    """Character by character."""
    useless = 0
    for offset in range(start, doc.length + 1):
        if offset == goal:
            return True
        useless = 0 if any(s <= offset < e for s, e in doc.spans) else useless + 1
        if useless == T:
            return False
    return False


def _matrix(
    results: Sequence[naive.Result], judged: naive.Gold, options: Mapping[str, object]
) -> tuple[list[Target], list[list[Fraction]], list[list[Fraction]]]:
    """The targets, the probabilities of the results, and those of the targets as results."""
    kind = str(options.get("targets", "bep"))
    behaviour = str(options.get("behaviour", "auto"))
    if behaviour == "auto":
        behaviour = "bep" if kind == "bep" else "hierarchical"
    scale = Fraction(str(options.get("A", 1))) * Fraction(str(options.get("L", 1)))
    targets, T = targets_of(judged, kind), int(str(options.get("T", 300)))
    rows, among = (
        [[probability(place, x, judged, behaviour, scale, T) for x in targets] for place in places]
        for places in (results, targets)
    )
    return targets, rows, among


def shortest_lists(among: Matrix, greedy: bool) -> list[int]:
    """For r = 1, 2, ... targets: the ranks of the targets' own list, or of the greedy one."""
    n = len(among)
    own = list(range(1, n + 1))
    if not greedy:
        return own
    missed: list[Number] = [Fraction(1)] * n
    left, gained = set(range(n)), [Fraction(0)]
    while left:
        gains = {
            i: sum((missed[x] * among[i][x] for x in range(n)), start=Fraction(0)) for i in left
        }
        best = max(sorted(left), key=lambda i: gains[i])
        gained.append(gained[-1] + Fraction(gains[best]))
        missed = [m * (1 - among[best][x]) for x, m in enumerate(missed)]
        left.remove(best)
    return [min(r, next((m for m, g in enumerate(gained) if g >= r), r)) for r in own]


def _wanted(x: object, n: int) -> int:
    return max(1, ceil(Fraction(str(x)) * n))


def _averaged(values: Sequence[float], x: object) -> float:
    return fsum(values) / len(values) if x is None else values[_wanted(x, len(values)) - 1]


def EPRUM(
    results: Sequence[naive.Result],
    judged: naive.Gold,
    *,
    x: object = None,
    ratio: str = "expected",
    ideal: str = "list",
    **options: object,
) -> float:
    targets, p, among = _matrix(results, judged, options)
    if not targets:
        return NAN
    model = Recursion(p, [1] * len(targets))
    shortest = shortest_lists(among, ideal == "greedy")
    value = model.expected_precision if ratio == "expected" else model.precision_of_means
    return _averaged([value(r, s) for r, s in enumerate(shortest, start=1)], x)


def PRUM(
    results: Sequence[naive.Result],
    judged: naive.Gold,
    *,
    x: object = None,
    unreached: str = "read_on",
    **options: object,
) -> float:
    targets, p, _ = _matrix(results, judged, options)
    if not targets:
        return NAN
    model = Recursion(p, [1] * len(targets))
    values = []
    for r in range(1, len(targets) + 1):
        reached = float(model.tail(len(p), r)) if unreached == "zero" else 1.0
        values.append(model.prum(r) * reached)
    return _averaged(values, x)


def GR(results: Sequence[naive.Result], judged: naive.Gold, *, k: int, **options: object) -> float:
    targets, p, _ = _matrix(results, judged, options)
    if not targets:
        return NAN
    model = Recursion(p, [1] * len(targets))
    return float(sum(model.found[min(k, len(p))], start=Fraction(0)) / len(targets))


def EPRUMk(
    results: Sequence[naive.Result],
    judged: naive.Gold,
    *,
    k: int,
    rounding: str = "line",
    **options: object,
) -> float:
    """Only with the targets' own list as the best one."""
    targets, p, _ = _matrix(results, judged, options)
    if not targets:
        return NAN
    found = sum(Recursion(p, [1] * len(targets)).found[min(k, len(p))], start=Fraction(0))
    ranks = ceil(found) if rounding == "ceil" else found
    return float(min(Fraction(1), Fraction(ranks) / k))
