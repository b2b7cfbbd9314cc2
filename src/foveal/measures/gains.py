"""A run's results as elements of the judged trees, and how much of each was seen before.

Only documents with assessed elements are looked at: everywhere else nothing can be gained.
"""

from __future__ import annotations

from collections import defaultdict
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from foveal import spans
from foveal.measures.alignment import Alignment, Gold
from foveal.model import UNKNOWN
from foveal.model.hashing import first_of_hash
from foveal.recall import Base, Forest, ideal_base
from foveal.recall.bases import Below, ideals_below
from foveal.recall.quantisation import find_quantisation
from foveal.spans import Ints

__all__ = [
    "Seen",
    "Settings",
    "first_returned",
    "forest_of",
    "ideal_gains",
    "neighbours_meet",
    "nodes",
    "pairs",
    "run_gains",
    "seen",
]

Bools = npt.NDArray[np.bool_]


class Seen(NamedTuple):
    """The extent of each result, and what no earlier result of the topic had shown of it."""

    host: Ints
    """The result's element, or for one that is not listed the nearest listed one around it."""
    size: Ints
    new_size: Ints
    rsize: Ints
    """Highlighted characters, counted only of results of which a part is new."""
    new_rsize: Ints


def forest_of(alignment: Alignment) -> Forest:
    """The trees of the judgements; preparation has made sure that there are any."""
    forest = alignment.gold.forest
    assert forest is not None
    return forest


def pairs(some: Ints, others: Ints) -> tuple[Ints, Ints]:
    """All pairs (i, j) with ``some[i] == others[j]``, by i then j; `others` is sorted.

    >>> [places.tolist() for places in pairs(np.array([7, 5]), np.array([5, 7, 7]))]
    [[0, 0, 1], [1, 2, 0]]
    """
    low = np.searchsorted(others, some)
    counts = np.searchsorted(others, some, side="right") - low
    i = np.repeat(np.arange(len(some)), counts)
    j = np.arange(len(i)) - np.repeat(np.cumsum(counts) - counts - low, counts)
    return i, j


def nodes(alignment: Alignment) -> Ints:
    """The element of each result, `UNKNOWN` where it is not among the judged trees."""
    return alignment.memo("nodes", lambda: _nodes(alignment))


def _nodes(alignment: Alignment) -> Ints:
    forest, run = forest_of(alignment), alignment.run
    node = np.full(len(run), UNKNOWN, dtype=np.int64)
    # Of documents, half of the results or a third: few of them are judged, and fewer have a tree.
    has_tree = np.append(np.diff(forest.bounds) > 0, False)[alignment.document_row]  # UNKNOWN: none
    inside = np.flatnonzero(has_tree[run.head_of])
    row = alignment.row[inside]
    if forest.complete and run.element is not None:
        # A tree has all elements of its document, in the order in which a collection numbers them.
        element = run.element[inside]
        node[inside] = np.where(element < 0, UNKNOWN, forest.bounds[row] + element)
        inside, row = inside[element < 0], row[element < 0]
    whole = (run.start[inside] == 0) & (run.end[inside] < 0)
    if run.xpath is not None and len(inside):
        xpath = run.xpath.gather(inside)
        node[inside] = forest.find(row, xpath)
        whole &= xpath.is_null().to_numpy()
    node[inside[whole]] = forest.root(row[whole])
    return node


def first_returned(alignment: Alignment) -> Bools:
    """Whether a result is the first to return its element."""

    def calculate() -> Bools:
        node = nodes(alignment)
        fresh = np.ones(len(node), dtype=bool)
        real = np.flatnonzero(node >= 0)
        fresh[real] = first_of_hash(node[real].view(np.uint64)) == np.arange(len(real))
        return fresh

    return alignment.memo("first returned", calculate)


def neighbours_meet(start: Ints, end: Ints, group: Ints) -> bool:
    """Whether any span meets the one before it, of the same group.

    Of 171,000 results that takes half a millisecond. Runs in which anything overlaps, wherever it
    stands, mostly have such a pair, so nobody need look for overlap to find that there is some.

    >>> start, end = np.array([0, 10, 15]), np.array([10, 20, 30])
    >>> neighbours_meet(start, end, np.array([0, 0, 0])), neighbours_meet(start, end, np.arange(3))
    (True, False)
    """
    meet = (start[1:] < end[:-1]) & (start[:-1] < end[1:])
    meet &= group[1:] == group[:-1]
    return bool(meet.any())


def seen(alignment: Alignment) -> Seen:
    """How much of each result the earlier results of its topic covered."""
    return alignment.memo("seen", lambda: _seen(alignment))


def _seen(alignment: Alignment) -> Seen:
    forest, row, node = forest_of(alignment), alignment.row, nodes(alignment)
    n, host = len(node), node
    real = np.flatnonzero(node >= 0)
    start, end = forest.start[node[real]], forest.end[node[real]]
    if not forest.complete:
        lost = np.flatnonzero((node < 0) & (row >= 0))
        lost = lost[np.diff(forest.bounds)[row[lost]] > 0]
        if len(lost):
            host = node.copy()
            host[lost] = _nearest(forest, row[lost], alignment.run.xpath, lost)
            lost = lost[host[lost] >= 0]
            own_start, own_end = _slots(forest, host[lost])
            order = np.argsort(np.concatenate([real, lost]), kind="stable")
            real = np.concatenate([real, lost])[order]
            start = np.concatenate([start, own_start])[order]
            end = np.concatenate([end, own_end])[order]
    size, new_size, rsize, new_rsize = (np.zeros(n, dtype=np.int64) for _ in range(4))
    size[real] = end - start
    if not neighbours_meet(start, end, row[real]) and spans.all_apart(start, end, row[real]):
        new_size[real] = size[real]
        return Seen(host, size, new_size, rsize, new_rsize)
    base = forest.base[row[real]]
    pieces = spans.newly_covered(start + base, end + base)
    new = _total(pieces.owner, pieces.end - pieces.start, len(real))
    new_size[real] = new
    if forest.highlighted is not None:
        partly = (new > 0) & (new < end - start)
        own = np.flatnonzero(partly)
        rsize[real[own]] = forest.highlighted.within((start + base)[own], (end + base)[own])
        own = np.flatnonzero(partly[pieces.owner])
        marked = forest.highlighted.within(pieces.start[own], pieces.end[own])
        new_rsize[real] = _total(pieces.owner[own], marked, len(real))
    return Seen(host, size, new_size, rsize, new_rsize)


def _total(owner: Ints, values: Ints, n: int) -> Ints:
    return np.bincount(owner, values, n).astype(np.int64)


def _nearest(forest: Forest, row: Ints, xpath: pl.Series | None, which: Ints) -> Ints:
    """The nearest listed element around results that are not listed themselves."""
    assert xpath is not None  # a whole document is a root, and roots are listed
    found = np.full(len(which), UNKNOWN, dtype=np.int64)
    paths = xpath.gather(which)
    left = np.arange(len(which))
    while len(left):
        paths = paths.str.replace(r"/[^/]*$", "")
        found[left] = forest.find(row[left], paths)
        on = (found[left] < 0) & (paths != "").to_numpy()
        left, paths = left[on], paths.filter(pl.Series(on))
    return found


def _slots(forest: Forest, host: Ints) -> tuple[Ints, Ints]:
    """A place in the text of `host` itself for an element that is not listed.

    Its size is not known, only that it is not relevant: it takes a character of the text that is
    neither in a listed child nor highlighted, where there is any.
    """
    inner = forest.over_children(forest.end - forest.start).astype(np.int64)
    some = np.maximum(host, 0)
    start = forest.start[some] + inner[some]
    assert forest.highlighted is not None
    base = forest.base[forest.row[some]]
    marked = forest.highlighted.within(base + start, base + forest.end[some])
    room = forest.end[some] - start - marked
    return start, start + np.where((host >= 0) & (room > 0), 1, 0)


Bools = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]
_TOLERANCE = 1e-12
"""Gains below this share of the largest are rounding."""


class Settings(NamedTuple):
    """The parameters that change gains; see the measures of XCG."""

    quant: str = "spec"
    overlap: str = "off"
    alpha: float = 1.0
    base: str = "ideal"
    tie: str = "ascendant"
    norm: str = "subtree"
    mixed: str = "text"
    formula: str = "inex2005"
    clamp: bool = True
    normalise: bool = False


def worth(judged: Gold, settings: Settings) -> Floats:
    """What each element of the judged trees is worth."""
    assert judged.forest is not None
    forest, key = judged.forest, ("worth", settings.quant, settings.normalise)
    return judged.memo(key, lambda: forest.worth(settings.quant, normalise=settings.normalise))


def recall_base(judged: Gold, settings: Settings) -> Base:
    """The ideal recall base."""
    assert judged.forest is not None
    forest, value = judged.forest, worth(judged, settings)
    key = ("base", settings.quant, settings.base, settings.tie)
    return judged.memo(key, lambda: ideal_base(forest, value, base=settings.base, tie=settings.tie))


def ideal_gains(judged: Gold, settings: Settings, topic: int) -> Floats:
    """The gains of the ideal list of a topic, decreasing: all relevant or only ideal elements."""
    return _ideal_lists(judged, settings)[topic]


def _ideal_lists(judged: Gold, settings: Settings) -> list[Floats]:
    focused = settings.overlap == "on"
    key = ("xI", settings.quant, settings.normalise, focused and (settings.base, settings.tie))

    def calculate() -> list[Floats]:
        assert judged.forest is not None
        value = worth(judged, settings)
        wanted = recall_base(judged, settings).ideal if focused else value > 0
        chosen = np.flatnonzero(wanted)
        topic = judged.judgements.topic[judged.forest.row[chosen]]
        order = np.lexsort((-value[chosen], topic))
        ends = np.searchsorted(topic[order], np.arange(1, len(judged.judgements.topics)))
        return np.split(value[chosen][order], ends)

    return judged.memo(key, calculate)


def run_gains(alignment: Alignment, settings: Settings, *, again: bool = False) -> Floats:
    """The gain of every result of a run.

    With `again`, an element that is returned twice gains twice under overlap=off.
    """
    if settings.overlap == "on":
        return alignment.memo(("xG", settings), lambda: _focused(alignment, settings))
    key = ("xG", settings.quant, settings.normalise, again)
    return alignment.memo(key, lambda: _thorough(alignment, settings, again=again))


def _thorough(alignment: Alignment, settings: Settings, *, again: bool) -> Floats:
    node, value = nodes(alignment), worth(alignment.gold, settings)
    gain = np.zeros(len(node))
    some = np.flatnonzero(node >= 0)
    some = some[value[node[some]] != 0]
    own = node[some]
    if not again:
        fresh = first_of_hash(own.view(np.uint64)) == np.arange(len(own))
        some, own = some[fresh], own[fresh]
    gain[some] = value[own]
    return gain


def _focused(alignment: Alignment, settings: Settings) -> Floats:
    """Gains under overlap=on.

    Of the results, one in four to thirty is an element of a judged tree: what follows is about
    these, and where no other can gain about those that are worth something.
    """
    judged, forest = alignment.gold, forest_of(alignment)
    node, view, most = nodes(alignment), seen(alignment), worth(judged, settings)
    gains = np.zeros(len(node))
    some = np.flatnonzero(node >= 0)
    if settings.clamp:
        some = some[most[node[some]] > 0]
    node = node[some]
    own, size, new_size = most[node], view.size[some], view.new_size[some]
    unseen = new_size == size
    value = np.where(unseen, own, np.where(new_size == 0, (1 - settings.alpha) * own, 0.0))
    partly = (new_size > 0) & ~unseen
    if _counts_characters(forest, settings):
        asked = some[partly]
        value[partly] = own[partly] * view.new_rsize[asked] / np.maximum(view.rsize[asked], 1)
        partly = np.zeros(len(node), dtype=bool)
    elif settings.formula == "inex2005":
        if partly.any():
            value[partly] = _left(alignment, settings, view, some[partly])
        partly = np.zeros(len(node), dtype=bool)
    step_by_step, gain = partly, value.copy()
    if settings.norm != "none":
        base = recall_base(judged, settings)
        over, holds = base.over[node], base.holds[node]
        around = holds & (over < 0) & (value > 0)
        shares = _within_ideals(over, value, most)
        gain = shares.gain
        if settings.norm == "overlap":  # these take from what ideal elements have
            step_by_step = partly | around
        else:
            result = np.flatnonzero(around)
            rest = _rest_below(judged, settings, over, shares, result, node[result])
            gain[result] = np.minimum(value[result], rest)
    if step_by_step.any():
        _follow(alignment, settings, some, value, partly, step_by_step, gain)
    gains[some] = _without_rounding(gain, own)
    return gains


def _counts_characters(forest: Forest, settings: Settings) -> bool:
    """Whether a partly seen element is worth its unseen highlighted characters, and no more."""
    function = find_quantisation(settings.quant, forest.assessed.scale)
    return (
        function.name == "spec"
        and forest.highlighted is not None
        and settings.alpha == 1
        and settings.mixed == "text"
        and settings.formula == "inex2005"
    )


class _Shares(NamedTuple):
    """What the results in ideal elements gain."""

    gain: Floats
    """Of all results of the run; 0 where they are not in an ideal element."""
    result: Ints
    """Those that are, by ideal element, then by rank."""
    spent: Floats
    """What each of these and those before it in its ideal element gain together."""


def _within_ideals(over: Ints, value: Floats, most: Floats) -> _Shares:
    """Gains of results that are or lie in ideal elements: together no more than those are worth.

    The first results of all ideal elements are served at once, then the second ones, and so on.
    """
    gain = np.zeros(len(value))
    inside = np.flatnonzero((over >= 0) & (value > 0))
    order = inside[np.argsort(over[inside], kind="stable")]
    opens = np.concatenate([[True], over[order][1:] != over[order][:-1]])[: len(order)]
    head = np.flatnonzero(opens)
    members = np.diff(np.append(head, len(order)))
    spent, spent_by = np.zeros(len(head)), np.zeros(len(order))
    turn = 0
    while len(head):
        result = order[head + turn]
        gain[result] = np.minimum(value[result], np.maximum(most[over[result]] - spent, 0.0))
        spent = spent_by[head + turn] = spent + gain[result]
        turn += 1
        more = members > turn
        head, members, spent = head[more], members[more], spent[more]
    return _Shares(gain, order, spent_by)


def _rest_below(
    judged: Gold, settings: Settings, over: Ints, shares: _Shares, result: Ints, node: Ints
) -> Floats:
    """What the ideal elements below the element of each result still have when its turn comes."""
    below, most, n = _below(judged, settings), worth(judged, settings), len(over)
    i, j = pairs(node, below.above)
    ideal = below.ideal[j]
    in_order = over[shares.result] * n + shares.result
    before = np.searchsorted(in_order, ideal * n + result[i]) - 1
    known = np.flatnonzero(before >= 0)
    known = known[over[shares.result[before[known]]] == ideal[known]]
    spent = np.zeros(len(ideal))
    spent[known] = shares.spent[before[known]]
    rest = np.maximum(most[ideal] - spent, 0.0)
    return np.bincount(i, rest, len(result)).astype(np.float64)


def _below(judged: Gold, settings: Settings) -> Below:
    assert judged.forest is not None
    forest, base = judged.forest, recall_base(judged, settings)
    key = ("below", settings.quant, settings.base, settings.tie)
    return judged.memo(key, lambda: ideals_below(forest, base))


def _without_rounding(gain: Floats, own: Floats) -> Floats:
    """Nothing where a difference left only rounding."""
    gain[gain < _TOLERANCE * max(float(own.max(initial=0.0)), _TOLERANCE)] = 0.0
    return gain


# -- what is left of partly seen elements ------------------------------------------------------


def _left(alignment: Alignment, settings: Settings, view: Seen, asked: Ints) -> Floats:
    """What the elements of these results, partly seen, are still worth.

    What is left of an element is what is left of its children and its own text. Every result asks
    at its own time; the elements between what was read before and the one asked about are gone
    through from the deepest up, for all questions at once.
    """
    judged, forest, node = alignment.gold, forest_of(alignment), nodes(alignment)
    ways = _ways(forest, node, view, asked)
    n, element = max(len(forest), 1), ways.element
    touched, place = np.unique(ways.question * n + element, return_inverse=True)
    question, element = np.divmod(touched, n)
    read = np.zeros(len(touched), dtype=bool)
    read[place[ways.read]] = True
    covered = np.bincount(place, np.where(ways.read, 0, ways.new), len(touched))
    above = np.searchsorted(touched, question * n + forest.parent[element])
    own, size = worth(judged, settings)[element], forest.size[element].astype(np.float64)
    whole = own * size
    seen_before = (1 - settings.alpha) * own
    open_ = ~read & (covered < (forest.end - forest.start)[element])
    inside = _inside(judged, settings)[element]
    left = np.zeros(len(touched))
    for depth in np.unique(forest.depth[element])[::-1]:
        at = np.flatnonzero(forest.depth[element] == depth)
        parts = np.divide(inside[at], size[at], out=np.zeros(len(at)), where=size[at] != 0)
        part = seen_before[at] + np.where(open_[at], settings.alpha * parts, 0.0)
        if settings.clamp:
            part = np.minimum(part, own[at])
        left[at] = part
        up = at[element[at] != node[asked[question[at]]]]
        np.add.at(inside, above[up], left[up] * size[up] - whole[up])
    return left[np.searchsorted(touched, np.arange(len(asked)) * n + node[asked])]


class _Ways(NamedTuple):
    """The elements from what was read up to what is asked about, each with its question."""

    question: Ints
    element: Ints
    new: Ints
    """Characters that the result had shown first."""
    read: Bools
    """Whether this is the element of the result itself, not one around it."""


def _ways(forest: Forest, node: Ints, view: Seen, asked: Ints) -> _Ways:
    """The ways from all results that were read before a question, inside the asked element."""
    order = np.argsort(node[asked])
    wanted = node[asked][order]
    result = np.flatnonzero((view.new_size > 0) & (view.host >= 0))
    result = result[np.isin(forest.row[view.host[result]], forest.row[wanted])]
    at, found = view.host[result], []
    while len(at):
        i = np.minimum(np.searchsorted(wanted, at), len(wanted) - 1)
        asks = (wanted[i] == at) & (asked[order[i]] > result)
        found.append((order[i[asks]], result[asks]))
        at = forest.parent[at]
        at, result = at[at >= 0], result[at >= 0]
    question, result = (np.concatenate(column) for column in zip(*found, strict=True))
    at, listed = view.host[result], node[result] >= 0
    nothing = np.zeros(len(asked), dtype=np.int64)
    steps = [_Ways(np.arange(len(asked)), node[asked], nothing, nothing > 0)]
    while len(at):
        steps.append(_Ways(question, at, view.new_size[result], listed))
        on = at != node[asked[question]]
        question, at, result = question[on], forest.parent[at[on]], result[on]
        listed = np.zeros(len(at), dtype=bool)
    return _Ways(*(np.concatenate(column) for column in zip(*steps, strict=True)))


def _inside(judged: Gold, settings: Settings) -> Floats:
    """What the parts of each element are worth before anything is seen, times their sizes."""
    assert judged.forest is not None
    forest, value = judged.forest, worth(judged, settings)

    def calculate() -> Floats:
        inside = forest.over_children(value * forest.size)
        if settings.mixed == "ignore":
            return inside
        if find_quantisation(settings.quant, forest.assessed.scale).name == "spec":
            marked = np.maximum(forest.rsize, 0)
            direct = marked - forest.over_children(np.where(forest.counts, marked, 0))
            return inside + np.where(forest.counts, np.maximum(direct, 0.0), 0.0)
        return inside + value * np.maximum(forest.size - forest.over_children(forest.size), 0.0)

    key = ("inside", settings.quant, settings.normalise, settings.mixed)
    return judged.memo(key, calculate)


# -- where gains depend on earlier gains -------------------------------------------------------


def _follow(
    alignment: Alignment,
    settings: Settings,
    some: Ints,
    value: Floats,
    partly: Bools,
    step_by_step: Bools,
    gain: Floats,
) -> None:
    """Gains of all these results of the documents that need to be followed result by result."""
    node, of_document = nodes(alignment)[some], alignment.row[some]
    chosen = np.flatnonzero(np.isin(of_document, of_document[step_by_step]))
    order = chosen[np.argsort(of_document[chosen], kind="stable")]
    columns = (order, of_document[order], node[order], value[order], partly[order])
    reader, row_before = _Reader(alignment.gold, settings), UNKNOWN
    for i, row, element, known, part in zip(*(c.tolist() for c in columns), strict=True):
        if row != row_before:
            reader, row_before = _Reader(alignment.gold, settings), row
        gain[i] = reader.gain(element, reader.left(element) if part else known)
        reader.see(element, gain[i])


class _Reader:
    """A reader of one document: what results brought, what ideal elements still have."""

    def __init__(self, judged: Gold, settings: Settings) -> None:
        assert judged.forest is not None
        self.forest, self.settings = judged.forest, settings
        self.worth = worth(judged, settings)
        self.base = None if settings.norm == "none" else recall_base(judged, settings)
        self.below = None if settings.norm == "none" else _below(judged, settings)
        self.brought: dict[int, float] = defaultdict(float)
        """Gains of the results inside an element, times their sizes."""
        self.spent: dict[int, float] = defaultdict(float)

    def left(self, element: int) -> float:
        """What a partly seen element is worth by formula=encyclopedia: what its parts gained."""
        settings, own = self.settings, float(self.worth[element])
        brought = self.brought[element] / float(self.forest.size[element])
        left = settings.alpha * brought + (1 - settings.alpha) * own
        return min(left, own) if settings.clamp else left

    def gain(self, element: int, left: float) -> float:
        """What is assigned to an element, within what its ideal elements still have."""
        if self.base is None:
            return left
        ideal = int(self.base.over[element])
        if ideal >= 0:
            assigned = max(0.0, min(left, float(self.worth[ideal]) - self.spent[ideal]))
            self.spent[ideal] += assigned
            return assigned
        ideals = self._ideals_below(element)
        rest = [max(0.0, float(self.worth[i]) - self.spent[i]) for i in ideals]
        total = sum(rest)
        assigned = max(0.0, min(left, total))
        if self.settings.norm == "overlap" and assigned > 0:
            for i, share in zip(ideals, rest, strict=True):
                self.spent[i] += assigned * share / total
        return assigned

    def _ideals_below(self, element: int) -> list[int]:
        assert self.below is not None
        low, high = np.searchsorted(self.below.above, [element, element + 1])
        ideals: list[int] = self.below.ideal[low:high].tolist()
        return ideals

    def see(self, element: int, assigned: float) -> None:
        """Take note of what a result gained."""
        if assigned:
            brought, above = assigned * float(self.forest.size[element]), element
            while (above := int(self.forest.parent[above])) >= 0:
                self.brought[above] += brought
