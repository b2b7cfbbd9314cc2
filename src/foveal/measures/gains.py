"""Gains of the XCG measures: what each result of a run brings, and what the ideal list would.

Thorough (overlap=off): an element gains what it is worth. Focused (overlap=on): it gains what the
results before it left to see, no more than the ideal elements it stands for are worth.

Most results are either unseen or wholly seen, and lie in an ideal element: arrays serve them all
at once. Documents with a partly seen result, or one that holds ideal elements, are followed result
by result.
"""

from __future__ import annotations

from collections import defaultdict
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from foveal.measures.structure import Seen, first_returned, forest_of, nodes, pairs, seen
from foveal.measures.view import Alignment, Judged
from foveal.model import UNKNOWN
from foveal.recall import Base, Forest, ideal_base
from foveal.recall.bases import Below, ideals_below
from foveal.recall.quantisation import find_quantisation
from foveal.spans import Ints

__all__ = ["Settings", "ideal_gains", "run_gains"]

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


def worth(judged: Judged, settings: Settings) -> Floats:
    """What each element of the judged trees is worth."""
    assert judged.forest is not None
    forest, key = judged.forest, ("worth", settings.quant, settings.normalise)
    return judged.memo(key, lambda: forest.worth(settings.quant, normalise=settings.normalise))


def recall_base(judged: Judged, settings: Settings) -> Base:
    """The ideal recall base."""
    assert judged.forest is not None
    forest, value = judged.forest, worth(judged, settings)
    key = ("base", settings.quant, settings.base, settings.tie)
    return judged.memo(key, lambda: ideal_base(forest, value, base=settings.base, tie=settings.tie))


def ideal_gains(judged: Judged, settings: Settings, topic: int) -> Floats:
    """The gains of the ideal list of a topic, decreasing: all relevant or only ideal elements."""
    return _ideal_lists(judged, settings)[topic]


def _ideal_lists(judged: Judged, settings: Settings) -> list[Floats]:
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


def _of_results(node: Ints, values: Floats) -> Floats:
    """The value of each result's element, 0 where it has none."""
    if not len(values):
        return np.zeros(len(node))
    return np.where(node >= 0, values[node], 0.0)


def _thorough(alignment: Alignment, settings: Settings, *, again: bool) -> Floats:
    gain = _of_results(nodes(alignment), worth(alignment.judged, settings))
    return gain if again else np.where(first_returned(alignment), gain, 0.0)


def _focused(alignment: Alignment, settings: Settings) -> Floats:
    judged, forest = alignment.judged, forest_of(alignment)
    node, view = nodes(alignment), seen(alignment)
    own = _of_results(node, worth(judged, settings))
    unseen = view.new_size == view.size
    value = np.where(unseen, own, np.where(view.new_size == 0, (1 - settings.alpha) * own, 0.0))
    partly = (view.new_size > 0) & ~unseen & ((own > 0) | ((node >= 0) & (not settings.clamp)))
    if _counts_characters(forest, settings):
        value[partly] = own[partly] * view.new_rsize[partly] / np.maximum(view.rsize[partly], 1)
        partly = np.zeros(len(node), dtype=bool)
    step_by_step, gain = partly, value.copy()
    if settings.norm != "none":
        base = recall_base(judged, settings)
        over = np.where(node >= 0, base.over[node], UNKNOWN) if len(forest) else node
        holds = (node >= 0) & base.holds[node] if len(forest) else node >= 0
        around = holds & (over < 0) & (value > 0)
        shares = _within_ideals(over, value, worth(judged, settings))
        gain = shares.gain
        if settings.norm == "overlap":  # these take from what ideal elements have
            step_by_step = partly | around
        else:
            result = np.flatnonzero(around)
            rest = _rest_below(judged, settings, over, shares, result, node[result])
            gain[result] = np.minimum(value[result], rest)
    if step_by_step.any():
        _follow(alignment, settings, view, value, partly, step_by_step, gain)
    return _without_rounding(gain, own)


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
    judged: Judged, settings: Settings, over: Ints, shares: _Shares, result: Ints, node: Ints
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


def _below(judged: Judged, settings: Settings) -> Below:
    assert judged.forest is not None
    forest, base = judged.forest, recall_base(judged, settings)
    key = ("below", settings.quant, settings.base, settings.tie)
    return judged.memo(key, lambda: ideals_below(forest, base))


def _without_rounding(gain: Floats, own: Floats) -> Floats:
    """Nothing where a difference left only rounding."""
    gain[gain < _TOLERANCE * max(float(own.max(initial=0.0)), _TOLERANCE)] = 0.0
    return gain


def _follow(
    alignment: Alignment,
    settings: Settings,
    view: Seen,
    value: Floats,
    partly: Bools,
    step_by_step: Bools,
    gain: Floats,
) -> None:
    """Gains of all results of the documents that need to be followed result by result."""
    troubled = np.unique(alignment.row[step_by_step])
    chosen = np.flatnonzero(np.isin(alignment.row, troubled) & (view.host >= 0))
    order = chosen[np.argsort(alignment.row[chosen], kind="stable")]
    judged = alignment.judged
    tree = judged.memo(("tree", settings), lambda: _Tree(judged, settings))
    node = nodes(alignment)
    followed = zip(
        order.tolist(),
        alignment.row[order].tolist(),
        node[order].tolist(),
        view.host[order].tolist(),
        view.new_size[order].tolist(),
        value[order].tolist(),
        partly[order].tolist(),
        strict=True,
    )
    row_before = UNKNOWN
    reader = _Reader(tree)
    for i, row, element, host, new, known, part in followed:
        if row != row_before:
            reader, row_before = _Reader(tree), row
        left = reader.left(element) if part else known
        gain[i] = reader.gain(element, left) if element >= 0 else 0.0
        reader.see(element, host, new, gain[i])


class _Tree:
    """What the reader of a document looks up, as it is before anything is seen."""

    def __init__(self, judged: Judged, settings: Settings) -> None:
        assert judged.forest is not None
        forest = judged.forest
        self.forest = forest
        self.settings = settings
        self.worth = worth(judged, settings)
        self.base = None if settings.norm == "none" else recall_base(judged, settings)
        self.parent = forest.parent
        self.size = forest.size
        self.extent = forest.end - forest.start
        held = self.worth * forest.size
        inside = forest.over_children(held)
        if settings.mixed == "text":
            inside = inside + self._direct()
        self.inside = inside
        self.below = None if self.base is None else _below(judged, settings)

    def _direct(self) -> Floats:
        """What the text directly inside each element is worth, times its length."""
        forest = self.forest
        if find_quantisation(self.settings.quant, forest.assessed.scale).name == "spec":
            marked = np.maximum(forest.rsize, 0)
            own = marked - forest.over_children(np.where(forest.counts, marked, 0))
            return np.where(forest.counts, np.maximum(own, 0.0), 0.0)
        inner = forest.over_children(forest.size)
        direct: Floats = self.worth * np.maximum(forest.size - inner, 0.0)
        return direct

    def ideals_below(self, element: int) -> list[int]:
        """The ideal elements below one that is not inside any."""
        assert self.below is not None
        low, high = np.searchsorted(self.below.above, [element, element + 1])
        ideals: list[int] = self.below.ideal[low:high].tolist()
        return ideals


class _Reader:
    """A reader of one document: what was seen, what is left, what ideal elements still have."""

    def __init__(self, tree: _Tree) -> None:
        self.tree = tree
        self.value: dict[int, float] = {}
        """What is left of elements that were touched, times their size."""
        self.change: dict[int, float] = defaultdict(float)
        """How much less the children of an element are worth than before anything was seen."""
        self.covered: dict[int, int] = defaultdict(int)
        self.brought: dict[int, float] = defaultdict(float)
        """Gains of the results inside an element, times their sizes."""
        self.spent: dict[int, float] = defaultdict(float)

    def left(self, element: int) -> float:
        """What a partly seen element is worth now."""
        settings, own = self.tree.settings, float(self.tree.worth[element])
        size = float(self.tree.size[element])
        if settings.formula == "inex2005":
            if element not in self.value:  # its children are untouched, only its own text is not
                self._recalculate(element)
            return self.value[element] / size
        left = settings.alpha * self.brought[element] / size + (1 - settings.alpha) * own
        return min(left, own) if settings.clamp else left

    def gain(self, element: int, left: float) -> float:
        """What is assigned to an element, within what its ideal elements still have."""
        tree = self.tree
        if tree.base is None:
            return left
        ideal = int(tree.base.over[element])
        if ideal >= 0:
            assigned = max(0.0, min(left, float(tree.worth[ideal]) - self.spent[ideal]))
            self.spent[ideal] += assigned
            return assigned
        ideals = tree.ideals_below(element)
        rest = [max(0.0, float(tree.worth[i]) - self.spent[i]) for i in ideals]
        total = sum(rest)
        assigned = max(0.0, min(left, total))
        if tree.settings.norm == "overlap" and assigned > 0:
            for i, share in zip(ideals, rest, strict=True):
                self.spent[i] += assigned * share / total
        return assigned

    def see(self, element: int, host: int, new: int, assigned: float) -> None:
        """Take note that a result with `new` unseen characters was read."""
        tree = self.tree
        above = host if element < 0 else int(tree.parent[element])
        if new and element >= 0:
            alpha, own = tree.settings.alpha, float(tree.worth[element])
            self._set(element, (1 - alpha) * own * float(tree.size[element]))
            self.covered[element] = int(tree.extent[element])
        brought = assigned * float(tree.size[element]) if assigned else 0.0
        while above >= 0 and (new or brought):
            self.brought[above] += brought
            if new:
                self.covered[above] += new
                self._recalculate(above)
            above = int(tree.parent[above])

    def _recalculate(self, element: int) -> None:
        tree, settings = self.tree, self.tree.settings
        own, size = float(tree.worth[element]), float(tree.size[element])
        part = (1 - settings.alpha) * own
        if self.covered[element] < tree.extent[element]:
            inside = float(tree.inside[element]) + self.change[element]
            part += settings.alpha * inside / size if size else 0.0
            if settings.clamp:
                part = min(part, own)
        self._set(element, part * size)

    def _set(self, element: int, value: float) -> None:
        tree = self.tree
        before = self.value.get(element)
        if before is None:
            before = float(tree.worth[element]) * float(tree.size[element])
        self.value[element] = value
        above = int(tree.parent[element])
        if above >= 0:
            self.change[above] += value - before
