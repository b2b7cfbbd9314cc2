"""A reader who goes down the list and from each result may get to what is sought nearby.

The model behind GR, PRUM and EPRUM. Each result leads to each target with some probability,
independently of all others. How many targets have been seen after k ranks is then a sum of
independent indicators, a Poisson-binomial variable; its distribution is the product of one small
polynomial per target. Arrays here hold only the pairs of result and target that can meet.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from foveal.errors import InputError, UsageError
from foveal.measures.alignment import Floats, Gold, TopicView
from foveal.measures.base import Choice, Measure, Need, Number, OptionalNumber, OverlapRule, Whole
from foveal.measures.gains import (
    choose_ideals,
    compute_worth,
    find_elements,
    match_pairs,
)
from foveal.model import UNKNOWN
from foveal.recall.forest import HIGHEST_GRADE, QUANTISATIONS, Forest, find_quantisation
from foveal.spans import Ints

_RANKS = 32
"""Ranks that are calculated at once."""
_TINY = 1e-100
_SHORT = 16
"""In polynomials up to this length tiny probabilities do no harm."""
_NEED = {"bep": Need.BEP, "ideal": Need.STRUCTURE, "passages": Need.TEXT}


# -- who leads where ---------------------------------------------------------------------------


class JudgedSpans(NamedTuple):
    """Spans of documents, each given by the row that judges it."""

    row: Ints
    start: Ints
    end: Ints


class Targets(NamedTuple):
    """The targets, sorted by document and place; an entry point is a span without length."""

    places: JudgedSpans
    weight: Floats
    element: Ints | None = None
    """Their numbers in the judged trees, where they are elements."""


class Ideality(NamedTuple):
    """The weighting of elements of the ideal recall base as targets."""

    weight: str = "none"
    quant: str = "spec"
    probable: bool = False
    """Weights are probabilities."""


class Behaviour(NamedTuple):
    """The way in which results lead to targets."""

    kind: str
    scale: float
    """For ``bep``: the distance at which the probability is a half."""
    patience: int
    """For ``t2i``: the number of irrelevant characters in a row at which the reader gives up."""


class Hits(NamedTuple):
    """The pairs of result and target that can meet, in rank order.

    Parameters
    ----------
    rank : int64 array
        From 1, ascending.
    target : int64 array
    p : float64 array
        The probability that the result leads to the target; never 0.
    """

    rank: Ints
    target: Ints
    p: Floats

    @classmethod
    def from_matrix(cls, p: npt.ArrayLike) -> Hits:
        """Return the hits of a matrix of probabilities: a row for each rank, a column per target.

        >>> Hits.from_matrix([[0.5, 0], [0, 1]]).target.tolist()
        [0, 1]
        """
        matrix = np.asarray(p, dtype=np.float64)
        wrong = matrix[~((matrix >= 0) & (matrix <= 1))]
        if len(wrong):
            raise UsageError(f"{wrong[0]} is not a probability; expected a number from 0 to 1")
        at, target = np.nonzero(matrix)
        return cls(at + 1, target, matrix[at, target])

    def take_until(self, rank: int) -> Hits:
        """Return the hits of the first `rank` results."""
        top = slice(int(np.searchsorted(self.rank, rank, side="right")))
        return Hits(self.rank[top], self.target[top], self.p[top])


def find_leads(
    at: JudgedSpans, target: JudgedSpans, behaviour: Behaviour, text: JudgedSpans
) -> Floats:
    """Return the probability that each place leads to its target.

    ``bep``: the nearer the starts, the likelier. ``classic``: only to the target itself, an entry
    point by starting there. ``hierarchical``: the text of both over the text of either. ``t2i``: 1
    if the target comes before patience ends, reading on from the result; `text` is the relevant
    text, sorted and disjoint.
    """
    if behaviour.kind == "bep":
        distance = np.abs(at.start - target.start)
        near = np.ones(len(distance))
        np.divide(behaviour.scale, behaviour.scale + distance, out=near, where=distance > 0)
        return near
    if behaviour.kind == "classic":
        point = target.end == target.start
        same = (at.start == target.start) & (point | (at.end == target.end))
        return np.asarray(same, dtype=np.float64)
    if behaviour.kind == "hierarchical":
        size = np.maximum(at.end - at.start, 0)
        shared = np.minimum(at.end, target.end) - np.maximum(at.start, target.start)
        shared = np.maximum(np.minimum(shared, size), 0)
        either = size + target.end - target.start - shared
        return np.asarray(shared / np.maximum(either, 1), dtype=np.float64)
    patience = behaviour.patience
    if not len(text.row):
        limit = at.start + patience
    else:
        far = 1 + max(int(text.end.max()), int(at.start.max(initial=0)))
        following = np.searchsorted(text.row * far + text.end, at.row * far + at.start, "right")
        known = np.minimum(following, len(text.row) - 1)
        near = (following < len(text.row)) & (text.row[known] == at.row)
        near &= text.start[known] - at.start < patience
        # Passages that are less than the patience apart are read in one go.
        ends = (text.row[1:] != text.row[:-1]) | (text.start[1:] - text.end[:-1] >= patience)
        stretch = np.concatenate([[0], np.cumsum(ends)])
        last = np.flatnonzero(np.concatenate([ends, [True]]))[stretch]
        limit = np.where(near, text.end[last[known]], at.start) + patience
    reached = (at.start <= target.start) & (target.start < limit)
    return np.asarray(reached, dtype=np.float64)


# -- how much has been seen --------------------------------------------------------------------


def find_unseen(hits: Hits, n: int) -> Floats:
    """Return the probability of each of `n` targets that no hit has led to it."""
    remaining = np.ones(n)
    np.multiply.at(remaining, hits.target, 1 - hits.p)
    return remaining


class RankBlock(NamedTuple):
    """Some consecutive ranks that may show something new."""

    rank: Ints
    seen: Floats
    """A row for each rank: the probability of having seen 0, 1, 2, ... units after it."""
    still: Floats
    """The same before it, and that it shows nothing new."""


def find_distributions(
    hits: Hits, units: Ints, ideality: Floats | None = None, *, still: bool = False
) -> Iterator[RankBlock]:
    """Yield the distribution of the units seen, at each rank where it may change.

    Targets are multiplied in one by one as long as each is new. In a block of ranks that lead to
    targets again, those that nothing there leads to are multiplied once for all its ranks, the
    others for all its ranks at once. Nothing is ever divided out: sums of products of probabilities
    lose no precision, however often a target is hit.

    Parameters
    ----------
    hits : Hits
    units : int64 array
        What each target counts.
    ideality : float64 array, optional
        The probability of each target that it counts at all.
    still : bool
        Calculate also the probabilities that a rank shows nothing new.

    Examples
    --------
    >>> hits = Hits.from_matrix([[0.5, 0.5], [0.5, 0]])
    >>> (block,) = find_distributions(hits, np.array([1, 1]))
    >>> block.rank.tolist(), block.seen.tolist()
    ([1, 2], [[0.25, 0.5, 0.25], [0.125, 0.5, 0.375]])
    """
    hits = _drop_certain_repeats(hits)
    chance = np.ones(len(units)) if ideality is None else ideality
    found, missed = np.zeros(len(units)), np.ones(len(units))
    now = np.ones(1)
    ranks, bounds = np.unique(hits.rank, return_index=True)
    bounds = np.append(bounds, len(hits.rank))
    for low in range(0, len(ranks), _RANKS):
        high = min(low + _RANKS, len(ranks))
        own = slice(bounds[low], bounds[high])
        active, column = np.unique(hits.target[own], return_inverse=True)
        row = np.searchsorted(ranks, hits.rank[own]) - low
        if len(active) == len(column) and not found[active].any():
            target, p = hits.target[own], hits.p[own]
            seen, stays = _add_new_targets(now, row, chance[target] * p, units[target])
            yield RankBlock(ranks[low:high], seen, stays)
            found[target], missed[target], now = p, 1 - p, seen[-1]
            continue
        p = np.zeros((high - low, len(active)))
        p[row, column] = hits.p[own]
        # Rows: before the block, then after each rank. Both are kept, for 1 - x is not precise.
        left = np.cumprod(np.vstack([missed[active], 1 - p]), axis=0)
        got = np.cumsum(np.vstack([found[active], left[:-1] * p]), axis=0)
        absent = 1 - chance[active] + chance[active] * left[1:]
        present, count = chance[active] * got, units[active].tolist()
        others = found > 0
        others[active] = False
        at = np.flatnonzero(others)
        static = _multiply_targets(
            1 - chance[at] + chance[at] * missed[at], chance[at] * found[at], units[at]
        )
        seen = stays = _convolve_rows(_multiply_rows(absent, present[1:], count), static)
        if still:
            stays = _convolve_rows(_multiply_rows(absent, present[:-1], count), static)
        yield RankBlock(ranks[low:high], seen, stays)
        found[active], missed[active], now = got[-1], left[-1], seen[-1]


def _drop_certain_repeats(hits: Hits) -> Hits:
    """Drop the hits on targets that an earlier one led to for certain."""
    order = np.lexsort((hits.rank, hits.target))
    certain = (hits.p[order] == 1).astype(np.int64)
    before = np.cumsum(certain) - certain
    target = hits.target[order]
    opens = np.concatenate([[True], target[1:] != target[:-1]])[: len(target)]
    first = np.maximum.accumulate(np.where(opens, np.arange(len(target)), 0))
    kept = np.sort(order[before == before[first]])
    return Hits(hits.rank[kept], hits.target[kept], hits.p[kept])


def _add_new_targets(now: Floats, row: Ints, present: Floats, units: Ints) -> tuple[Floats, Floats]:
    """Return the distribution after each rank, and before it where it shows nothing new.

    `now` is the distribution so far, `row` the rank's number of each target, all of them new.
    """
    seen, stays = np.zeros((2, int(row[-1]) + 1, len(now) + int(units.sum())))
    last = -1
    for i, p, count in zip(row.tolist(), present.tolist(), units.tolist(), strict=True):
        if i > last:
            stays[i, : len(now)] = now
        factor = np.zeros(count + 1)
        factor[0], factor[count] = 1 - p, p
        now = drop_tiny(np.convolve(now, factor))
        seen[i, : len(now)] = now
        stays[i] *= 1 - p
        last = i
    return seen, stays


def _multiply_targets(absent: Floats, present: Floats, units: Ints) -> Floats:
    """Return the distribution of the sum of targets that are each seen with one probability.

    Targets that count the same are multiplied as a square: down its columns in one go.
    """
    factors: list[Floats] = [np.ones(1)]
    for count in np.unique(units).tolist():
        own = np.flatnonzero(units == count)
        width = math.isqrt(len(own) - 1) + 1
        rows = -(-len(own) // width)
        without, within = np.ones(rows * width), np.zeros(rows * width)
        without[: len(own)], within[: len(own)] = absent[own], present[own]
        shape = rows, width
        for row in _multiply_rows(without.reshape(shape), within.reshape(shape), [1] * width):
            factor = np.zeros(width * count + 1)
            factor[::count] = row
            factors.append(factor)
        factors[-1] = factors[-1][: len(factors[-1]) - (rows * width - len(own)) * count]
    while len(factors) > 1:
        odd = factors[-1:] if len(factors) % 2 else []
        pairs = zip(factors[::2], factors[1::2], strict=False)
        factors = [drop_tiny(np.convolve(a, b)) for a, b in pairs] + odd
    return factors[0]


def _multiply_rows(absent: Floats, present: Floats, units: list[int]) -> Floats:
    """Return the same for many ranks at once: a row for each rank, a column for each target."""
    polynomial = np.zeros((len(absent), sum(units) + 1))
    polynomial[:, 0] = 1.0
    known = 1
    for x, count in enumerate(units):
        head = polynomial[:, :known]
        moved = head * present[:, x : x + 1]
        head *= absent[:, x : x + 1]
        polynomial[:, count : count + known] += moved
        known += count
    return drop_tiny(polynomial)


def _convolve_rows(rows: Floats, other: Floats) -> Floats:
    """Convolve each row with the same polynomial.

    As a product of matrices it would be slower where runs are scored in parallel: the threads of
    the linear algebra then wait for each other.
    """
    if len(other) == 1:
        return rows * other
    return np.stack([np.convolve(row, other) for row in rows])


def drop_tiny(probabilities: Floats) -> Floats:
    """Set probabilities below 1e-100 to 0: products of denormals are slow on many processors."""
    if probabilities.shape[-1] > _SHORT:
        probabilities[probabilities < _TINY] = 0.0
    return probabilities


# -- targets and hits of a topic ---------------------------------------------------------------


def find_passages(topic: TopicView) -> JudgedSpans:
    """Return the highlighted passages of a topic, sorted."""
    judgements = topic.alignment.gold.judgements
    own = np.flatnonzero(judgements.topic[judgements.row] == topic.at)
    return JudgedSpans(judgements.row[own], judgements.start[own], judgements.end[own])


def _find_targets(topic: TopicView, kind: str, ideality: Ideality) -> Targets:
    """Return the targets of a topic: entry points, passages, or ideal elements of any weight."""
    gold = topic.alignment.gold
    if kind == "ideal":
        forest, element = gold.trees, gold.cached(_list_ideals, ideality.quant)[topic.at]
        weight = np.ones(len(element))
        if ideality.weight == "exh":
            top = HIGHEST_GRADE[forest.assessed.scale] if ideality.probable else 1
            weight = forest.assessed.exhaustivity[element] / top
        elif ideality.weight == "quant":
            weight = gold.cached(compute_worth, ideality.quant, ideality.probable)[element]
        heavy = weight > 0
        return Targets(_place_elements(forest, element[heavy]), weight[heavy], element[heavy])
    if kind == "bep":
        bep = gold.judgements.bep
        row = np.flatnonzero((bep >= 0) & (gold.judgements.topic == topic.at))
        places = JudgedSpans(row, bep[row], bep[row])
    else:
        places = topic.cached(find_passages)
    return Targets(places, np.ones(len(places.row)))


def _list_ideals(gold: Gold, quant: str) -> list[Ints]:
    """Return the elements of the ideal recall base of each topic."""
    chosen = np.flatnonzero(gold.cached(choose_ideals, quant, "ideal", "ascendant").ideal)
    owner = gold.judgements.topic[gold.trees.row[chosen]]
    order = np.argsort(owner, kind="stable")
    return np.split(chosen[order], np.searchsorted(owner[order], np.arange(1, len(gold.topics))))


def _place_elements(forest: Forest, element: Ints) -> JudgedSpans:
    """Return the extents of elements; where sizes are unknown, their numbers tell them apart."""
    if forest.placed:
        return JudgedSpans(forest.row[element], forest.start[element], forest.end[element])
    return JudgedSpans(forest.row[element], element, element + 1)


def _find_hits(topic: TopicView, kind: str, ideality: Ideality, behaviour: Behaviour) -> Hits:
    """Return which results of a topic lead to which targets."""
    targets = topic.cached(_find_targets, kind, ideality)
    if kind == "ideal":
        results = _place_among_elements(topic, needs_sizes=behaviour.kind == "hierarchical")
    else:
        results = JudgedSpans(topic.row, topic.start, topic.end)
    known = np.flatnonzero((results.row >= 0) & (results.start >= 0))
    places = JudgedSpans(*(column[known] for column in results))
    at, target, p = find_ways(topic, places, targets.places, behaviour)
    if behaviour.kind == "classic" and targets.element is not None:
        # Elements of one extent are not the same element.
        element = topic.alignment.cached(find_elements)[topic.slice][known[at]]
        same = (element < 0) | (element == targets.element[target])
        at, target, p = at[same], target[same], p[same]
    return Hits(known[at] + 1, target, p)


def find_ways(
    topic: TopicView, places: JudgedSpans, targets: JudgedSpans, behaviour: Behaviour
) -> tuple[Ints, Ints, Floats]:
    """Return which places of a topic lead to which targets, and with which probability."""
    i, j = match_pairs(places.row, targets.row)
    at, target = JudgedSpans(*(c[i] for c in places)), JudgedSpans(*(c[j] for c in targets))
    text = topic.cached(find_passages) if behaviour.kind == "t2i" else targets  # else not used
    p = find_leads(at, target, behaviour, text)
    leads = np.flatnonzero(p > 0)
    return i[leads], j[leads], p[leads]


def _place_among_elements(topic: TopicView, *, needs_sizes: bool) -> JudgedSpans:
    """Return the results on the axis on which the elements of the judged trees are placed.

    That is the document's text where a collection gives the trees. Where only assessments do, it is
    the order of the listed elements. A passage is then an error: its offsets cannot be compared
    with elements of which only the sizes are known. So is an element that is not listed, if the
    text that it shares with a target matters; otherwise it has no place.
    """
    alignment, run = topic.alignment, topic.alignment.run
    forest = alignment.gold.trees
    if forest.complete:
        return JudgedSpans(topic.row, topic.start, topic.end)
    element = alignment.cached(find_elements)[topic.slice]
    has_tree = (np.diff(forest.bounds, append=forest.bounds[-1]) > 0)[topic.row]
    named = (topic.start == 0) & (run.end[topic.slice] < 0)
    if run.xpath is not None:
        named |= run.xpath[topic.slice].is_not_null().to_numpy()
    passages = np.flatnonzero(has_tree & ~named)
    if len(passages):
        need = Need.ELEMENT_RESULTS
        raise InputError.at(
            "run.passage",
            run.source.path,
            int(run.line[topic.slice][passages[0]]),
            f"targets=ideal needs {need.what}; it takes {need.supplied_by}",
        )
    unlisted = np.flatnonzero(has_tree & (element < 0))
    if needs_sizes and len(unlisted) and run.xpath is not None:
        i = topic.slice.start + int(unlisted[0])
        raise InputError.at(
            "judgements.element_size",
            run.source.path,
            int(run.line[i]),
            f"the size of {run.xpath[i]} in {run.doc[i]!r} is not among the assessments; "
            "targets=ideal with behaviour=hierarchical takes a collection that knows it (-C)",
        )
    row, start, end = (np.full(topic.n, UNKNOWN) for _ in range(3))
    known = np.flatnonzero(element >= 0)
    row[known], start[known], end[known] = _place_elements(forest, element[known])
    return JudgedSpans(row, start, end)


# -- the measures' common part -----------------------------------------------------------------


class UserModel(Measure):
    """A measure of a reader who seeks targets."""

    ideal = None

    behaviour = Choice(
        "auto",
        "bep",
        "classic",
        "hierarchical",
        "t2i",
        description="how results lead to targets: nearness of starts, identity, shared text, or "
        "reading on; auto is bep for targets=bep, else hierarchical",
    )
    A = Number(1.0, "behaviour=bep: tolerance of distance, in mean document lengths", low=1e-9)
    L = OptionalNumber("auto", "mean document length; auto: of the collection, else as judged")
    T = Whole(300, "behaviour=t2i: irrelevant characters in a row that end the reading")
    targets = Choice(
        "bep",
        "ideal",
        "passages",
        description="what is sought: best entry points, elements of the ideal recall base, or "
        "highlighted passages",
    )

    def __call__(self, **settings: Any) -> Self:
        """Return the measure with these parameters changed.

        The default behaviour is not kept, so that equal measures have equal labels.
        """
        measure = super().__call__(**settings)
        if measure.settings.get("behaviour") == measure.default_behaviour:
            kept = {n: v for n, v in measure.settings.items() if n != "behaviour"}
            return type(self)(kept, measure.at)
        return measure

    @property
    def default_behaviour(self) -> str:
        return "bep" if self.targets == "bep" else "hierarchical"

    @property
    def navigation(self) -> str:
        """The behaviour, spelled out."""
        return self.default_behaviour if self.behaviour == "auto" else self.behaviour

    @property
    def overlap_rule(self) -> OverlapRule:
        entry_points = self.navigation == self.targets == "bep"
        return OverlapRule.ONE_PER_DOCUMENT if entry_points else OverlapRule.ALLOW

    @property
    def needs(self) -> tuple[Need, ...]:
        navigation = self.navigation
        needs = [_NEED[self.targets]]
        if navigation in ("bep", "t2i") or self.targets == "bep":
            needs.append(Need.RELEVANT_STARTS)
        elif self.targets == "passages":
            needs.append(Need.RELEVANT_SPANS)
        elif navigation == "hierarchical":
            needs.append(Need.ELEMENT_SIZES)
        if navigation == "bep" and self.L is None:
            needs.append(Need.MEAN_LENGTH)
        if navigation == "t2i" and Need.TEXT not in needs:
            needs.append(Need.TEXT)
        return tuple(needs)

    def check(self) -> None:
        super().check()
        if self.targets == "bep" and self.navigation == "hierarchical":
            raise UsageError(
                f"{self}: an entry point shares no text with a result; behaviour=hierarchical "
                "takes targets=ideal or targets=passages"
            )

    @property
    def ideality(self) -> Ideality:
        """The weighting of ideal elements."""
        return Ideality()

    def check_gold(self, gold: Gold) -> None:
        if self.targets != "ideal" or gold.forest is None:
            return
        find_quantisation(self.ideality.quant, gold.forest.assessed.scale)
        if self.navigation in ("bep", "t2i") and not gold.forest.complete:
            raise UsageError(
                f"{self}: how far elements are apart only a collection tells (-C); "
                "behaviour=hierarchical and classic do without"
            )

    def find_targets(self, topic: TopicView) -> Targets:
        """Return the targets of a topic, found once for all measures that share them."""
        return topic.cached(_find_targets, self.targets, self.ideality)

    def is_defined(self, topic: TopicView) -> bool:
        return len(self.find_targets(topic).weight) > 0

    def find_behaviour(self, topic: TopicView) -> Behaviour:
        """Return how the results of a topic lead to targets."""
        kind, scale = self.navigation, 0.0
        if kind == "bep":
            scale = self.A * (topic.alignment.gold.mean_length if self.L is None else self.L)
        return Behaviour(kind, scale, self.T)

    def find_hits(self, topic: TopicView) -> Hits:
        """Return which results of a topic lead to which targets."""
        return topic.cached(_find_hits, self.targets, self.ideality, self.find_behaviour(topic))


class WeightedUserModel(UserModel):
    """A measure of a reader whose targets may be worth more or less."""

    weight = Choice(
        "none",
        "exh",
        "quant",
        description="what the elements of targets=ideal are worth: all the same, their "
        "exhaustivity, or their quantisation",
    )
    quant = Choice(*QUANTISATIONS, description="targets=ideal: the quantisation function")

    @property
    def ideality(self) -> Ideality:
        return Ideality(self.weight, self.quant)

    def check(self) -> None:
        super().check()
        if self.weight != "none" and self.targets != "ideal":
            raise UsageError(
                f"{self}: only elements carry weights; weight={self.weight} takes targets=ideal"
            )

    def check_gold(self, gold: Gold) -> None:
        super().check_gold(gold)
        if self.weight == "exh" and gold.forest is not None:
            scale = gold.forest.assessed.scale
            if scale not in HIGHEST_GRADE:
                raise UsageError(
                    f"{self}: weight=exh takes grades of exhaustivity, those of 2002 to 2005; the "
                    f"elements are assessed on the scale of {scale}"
                )
