"""A reader who goes down the list and from each result may get to what is sought nearby.

The model behind GR, PRUM and EPRUM. Each result leads to each target with some probability,
independently of all others. How many targets have been seen after k ranks is then a sum of
independent indicators, a Poisson-binomial variable; its distribution is the product of one small
polynomial per target. Arrays here hold only the pairs of result and target that can meet.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from foveal.errors import InputError, UsageError
from foveal.measures.alignment import Bools, Floats, Gold, TopicView, match_pairs
from foveal.measures.gains import choose_ideals, compute_worth, find_elements
from foveal.measures.measure import Choice, Measure, Need, Number, OverlapRule
from foveal.model import UNKNOWN
from foveal.recall.forest import HIGHEST_GRADE, QUANTISATIONS, Forest, find_quantisation
from foveal.spans import Ints

_RANKS = 32  # that are calculated at once
_TINY = 1e-100
_SHORT = 16  # in polynomials up to this length tiny probabilities do no harm
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
    element: Ints | None = None  # their numbers in the judged trees, where they are elements


class Reader(NamedTuple):
    """The targets that a reader seeks, and the way from results to them."""

    targets: str
    behaviour: str
    scale: float  # for ``bep``: the distance at which the probability is a half
    patience: int
    """For ``t2i``: the number of irrelevant characters in a row at which the reader gives up."""
    weight: str
    quant: str
    probable: bool  # weights of ideal elements are probabilities


class Hits(NamedTuple):
    """The pairs of result and target that can meet, in rank order."""

    rank: Ints  # from 1, ascending
    target: Ints
    p: Floats  # the probability that the result leads to the target; never 0


def find_passages(topic: TopicView) -> JudgedSpans:
    """Return the highlighted passages of a topic, sorted."""
    judgements = topic.alignment.gold.judgements
    own = np.flatnonzero(judgements.topic[judgements.row] == topic.at)
    return JudgedSpans(judgements.row[own], judgements.start[own], judgements.end[own])


def find_targets(topic: TopicView, reader: Reader) -> Targets:
    """Return the targets of a topic: entry points, passages, or ideal elements of any weight."""
    gold = topic.alignment.gold
    if reader.targets == "ideal":
        forest, element = gold.trees, gold.cached(_list_ideals, reader.quant)[topic.at]
        weight = np.ones(len(element))
        if reader.weight == "exh":
            top = HIGHEST_GRADE[forest.assessed.scale] if reader.probable else 1
            weight = forest.assessed.exhaustivity[element] / top
        elif reader.weight == "quant":
            weight = gold.cached(compute_worth, reader.quant, reader.probable)[element]
        element, weight = element[weight > 0], weight[weight > 0]
        return Targets(_place_elements(forest, element), weight, element)
    if reader.targets == "bep":
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


def _place_results(topic: TopicView, reader: Reader) -> JudgedSpans:
    """Return the results on the axis of the targets.

    That is the document's text, but for elements without a collection the order of those listed.
    A passage is then an error, and an element that is not listed if its text matters; otherwise
    such an element has no place.
    """
    alignment, run = topic.alignment, topic.alignment.run
    forest = alignment.gold.trees
    if reader.targets != "ideal" or forest.complete:
        return JudgedSpans(topic.row, topic.start, topic.end)
    element = alignment.cached(find_elements)[topic.slice]
    has_tree = (np.diff(forest.bounds, append=forest.bounds[-1]) > 0)[topic.row]
    named = (topic.start == 0) & (run.end[topic.slice] < 0)
    if run.xpath is not None:
        named |= run.xpath[topic.slice].is_not_null().to_numpy()
    unlisted = (element < 0) & (reader.behaviour == "hierarchical")
    refused = has_tree & (~named | unlisted)
    if refused.any():
        line = int(run.line[topic.slice][refused][0])
        text = (
            "targets=ideal needs results that are assessed elements, or a collection that knows "
            "places and sizes of others (--collection)"
        )
        raise InputError.at("run.passage", run.source.path, line, text)
    row, start, end = (np.full(topic.n, UNKNOWN) for _ in range(3))
    known = np.flatnonzero(element >= 0)
    row[known], start[known], end[known] = _place_elements(forest, element[known])
    return JudgedSpans(row, start, end)


def find_hits(topic: TopicView, reader: Reader) -> Hits:
    """Return which results of a topic lead to which targets."""
    targets, results = topic.cached(find_targets, reader), _place_results(topic, reader)
    known = np.flatnonzero((results.row >= 0) & (results.start >= 0))
    places = JudgedSpans(*(column[known] for column in results))
    at, target, p = find_leads(topic, places, targets.places, reader)
    if reader.behaviour == "classic" and targets.element is not None:
        # Elements of one extent are not the same element.
        element = topic.alignment.cached(find_elements)[topic.slice][known[at]]
        same = (element < 0) | (element == targets.element[target])
        at, target, p = at[same], target[same], p[same]
    return Hits(known[at] + 1, target, p)


def find_leads(
    topic: TopicView, places: JudgedSpans, targets: JudgedSpans, reader: Reader
) -> tuple[Ints, Ints, Floats]:
    """Return which places of a topic lead to which targets, and with which probability.

    ``bep``: the nearer the starts, the likelier. ``classic``: only to the target itself, an entry
    point by starting there. ``hierarchical``: the text of both over the text of either. ``t2i``: 1
    if the target comes before patience ends, reading on from the result.
    """
    i, j = match_pairs(places.row, targets.row)
    at, target = JudgedSpans(*(c[i] for c in places)), JudgedSpans(*(c[j] for c in targets))
    p: Floats | Bools
    if reader.behaviour == "bep":
        distance, p = np.abs(at.start - target.start), np.ones(len(i))
        np.divide(reader.scale, reader.scale + distance, out=p, where=distance > 0)
    elif reader.behaviour == "classic":
        point = target.end == target.start
        p = (at.start == target.start) & (point | (at.end == target.end))
    elif reader.behaviour == "hierarchical":
        size = np.maximum(at.end - at.start, 0)
        shared = np.minimum(at.end, target.end) - np.maximum(at.start, target.start)
        shared = np.maximum(np.minimum(shared, size), 0)
        p = shared / np.maximum(size + target.end - target.start - shared, 1)
    else:
        # The relevant text, and a last passage in no document.
        row, start, end = (np.append(c, UNKNOWN) for c in topic.cached(find_passages))
        far = 1 + max(int(end.max()), int(at.start.max(initial=0)))
        key = (row * far + end)[:-1]
        following = np.searchsorted(key, at.row * far + at.start, "right")
        near = (row[following] == at.row) & (start[following] - at.start < reader.patience)
        # Passages that are less than the patience apart are read in one go.
        ends = (row[1:] != row[:-1]) | (start[1:] - end[:-1] >= reader.patience)
        last = np.append(np.flatnonzero(ends), UNKNOWN)[np.append(0, np.cumsum(ends))]
        limit = np.where(near, end[last[following]], at.start) + reader.patience
        p = (at.start <= target.start) & (target.start < limit)
    leads = np.flatnonzero(p > 0)
    return i[leads], j[leads], p[leads].astype(np.float64)


# -- how much has been seen --------------------------------------------------------------------


def find_unseen(hits: Hits, n: int, rank: int | None = None) -> Floats:
    """Return the probability of each of `n` targets that no hit up to a rank has led to it."""
    top = slice(None if rank is None else int(np.searchsorted(hits.rank, rank, side="right")))
    remaining = np.ones(n)
    np.multiply.at(remaining, hits.target[top], 1 - hits.p[top])
    return remaining


def find_distributions(
    hits: Hits, units: Ints, ideality: Floats | None = None, *, still: bool = False
) -> Iterator[tuple[Ints, Floats, Floats]]:
    """Yield distributions of the units seen, for blocks of ranks at which they may change.

    Each block has its ranks; for each of them a row with the probability of having seen 0, 1, 2,
    ... units after it; and if `still`, the same before it and that it shows nothing new. `units` is
    what each target counts, `ideality` the probability that it counts at all.

    Targets are multiplied in one by one as long as each is new. In a block of ranks that lead to
    targets again, those that nothing there leads to are multiplied once for all its ranks, the
    others for all its ranks at once. Nothing is ever divided out: sums of products of probabilities
    lose no precision, however often a target is hit.

    >>> hits = Hits(np.array([1, 1, 2]), np.array([0, 1, 0]), np.array([0.5, 0.5, 0.5]))
    >>> ((ranks, seen, _),) = find_distributions(hits, np.array([1, 1]))
    >>> ranks.tolist(), seen.tolist()
    ([1, 2], [[0.25, 0.5, 0.25], [0.125, 0.5, 0.375]])
    """
    # A target that a result led to for certain cannot be seen anew.
    certain = np.flatnonzero(hits.p == 1)
    first = np.full(len(units), len(hits.p))
    np.minimum.at(first, hits.target[certain], certain)
    kept = np.arange(len(hits.p)) <= first[hits.target]
    hits = Hits(hits.rank[kept], hits.target[kept], hits.p[kept])
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
            yield ranks[low:high], seen, stays
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
        seen = stays = _multiply_rows(absent, present[1:], count, static)
        if still:
            stays = _multiply_rows(absent, present[:-1], count, static)
        yield ranks[low:high], seen, stays
        found[active], missed[active], now = got[-1], left[-1], seen[-1]


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
        one = np.ones(1)
        for row in _multiply_rows(without.reshape(shape), within.reshape(shape), [1] * width, one):
            factor = np.zeros(width * count + 1)
            factor[::count] = row
            factors.append(factor)
        factors[-1] = factors[-1][: len(factors[-1]) - (rows * width - len(own)) * count]
    while len(factors) > 1:
        odd = factors[-1:] if len(factors) % 2 else []
        pairs = zip(factors[::2], factors[1::2], strict=False)
        factors = [drop_tiny(np.convolve(a, b)) for a, b in pairs] + odd
    return factors[0]


def _multiply_rows(absent: Floats, present: Floats, units: list[int], other: Floats) -> Floats:
    """Return the same for many ranks at once, times another polynomial.

    There is a row for each rank and a column for each target. The rows are multiplied one by one: a
    product of matrices is slower where runs are scored in parallel, for its threads wait for each
    other.
    """
    rows = np.zeros((len(absent), sum(units) + 1))
    rows[:, 0] = 1.0
    known = 1
    for x, count in enumerate(units):
        head = rows[:, :known]
        moved = head * present[:, x : x + 1]
        head *= absent[:, x : x + 1]
        rows[:, count : count + known] += moved
        known += count
    rows = drop_tiny(rows)
    return rows * other if len(other) == 1 else np.stack([np.convolve(row, other) for row in rows])


def drop_tiny(probabilities: Floats) -> Floats:
    """Set probabilities below 1e-100 to 0: products of denormals are slow on many processors."""
    if probabilities.shape[-1] > _SHORT:
        probabilities[probabilities < _TINY] = 0.0
    return probabilities


# -- the measures' common part -----------------------------------------------------------------


class UserModel(Measure):
    """A measure of a reader who seeks targets."""

    ideal = None

    behaviour = Choice(
        "auto|bep|classic|hierarchical|t2i",
        "how results lead to targets: nearness of starts, identity, shared text, or "
        "reading on; auto is bep for targets=bep, else hierarchical",
    )
    A = Number(1.0, "behaviour=bep: tolerance of distance, in mean document lengths", low=1e-9)
    L = Number[float | None](
        None, "mean document length; auto: of the collection, else as judged", low=1e-9, word="auto"
    )
    T = Number(
        300, "behaviour=t2i: irrelevant characters in a row that end the reading", low=1, whole=True
    )
    targets = Choice(
        "bep|ideal|passages",
        "what is sought: best entry points, elements of the ideal recall base, or "
        "highlighted passages",
    )

    @property
    def navigation(self) -> str:
        """The behaviour, spelled out."""
        if self.behaviour != "auto":
            return self.behaviour
        return "bep" if self.targets == "bep" else "hierarchical"

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

    def check_gold(self, gold: Gold) -> None:
        if self.targets != "ideal" or gold.forest is None:
            return
        find_quantisation(vars(self)["quant"], gold.forest.assessed.scale)
        if self.navigation in ("bep", "t2i") and not gold.forest.complete:
            raise UsageError(
                f"{self}: distances between elements need a collection (--collection); "
                "behaviour=hierarchical and classic do without"
            )

    def find_reader(self, topic: TopicView) -> Reader:
        scale, own = 0.0, vars(self)  # not all measures have all parameters of weights
        if self.navigation == "bep":
            scale = self.A * (topic.alignment.gold.mean_length if self.L is None else self.L)
        weight, is_probable = own.get("weight", "none"), own.get("random_ideal", False)
        return Reader(
            self.targets, self.navigation, scale, self.T, weight, own["quant"], is_probable
        )

    def find_targets(self, topic: TopicView) -> Targets:
        """Return the targets of a topic."""
        return topic.cached(find_targets, self.find_reader(topic))

    def find_hits(self, topic: TopicView) -> Hits:
        """Return which results of a topic lead to which targets."""
        return topic.cached(find_hits, self.find_reader(topic))

    def is_defined(self, topic: TopicView) -> bool:
        return len(self.find_targets(topic).weight) > 0


class WeightedUserModel(UserModel):
    """A measure of a reader whose targets may be worth more or less."""

    weight = Choice(
        "none|exh|quant",
        "what the elements of targets=ideal are worth: all the same, their "
        "exhaustivity, or their quantisation",
    )
    quant = Choice("|".join(QUANTISATIONS), "targets=ideal: the quantisation function")

    def compute_recall(self, topic: TopicView) -> float:
        """Return the expected share of the targets' weight seen by the rank of the cut-off."""
        weight = self.find_targets(topic).weight
        missed = find_unseen(self.find_hits(topic), len(weight), self.rank or 1)
        return float(np.dot(weight, 1 - missed) / weight.sum())

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
