"""Results as elements of the judged trees, and what each of them gains.

Only documents with assessed elements are looked at: everywhere else nothing can be gained. Under
overlap=off an element gains its own worth, the first time it is returned. Under overlap=on
(METRICS.md, section 6) an element gains what is left of it after earlier results, and near misses
share the gain of ideal elements. Functions of `Gold` and `Alignment` are called through `cached`.
"""

from __future__ import annotations

from collections import defaultdict
from typing import NamedTuple

import numpy as np
import polars as pl

from foveal import spans
from foveal.lookup import find_first_hashes
from foveal.measures.alignment import (
    Alignment,
    Bools,
    Floats,
    Gold,
    Overlap,
    match_pairs,
    neighbours_meet,
)
from foveal.model import UNKNOWN
from foveal.recall import Base, Forest, ideal_base
from foveal.recall.forest import find_quantisation
from foveal.spans import Ints

_TOLERANCE = 1e-12  # gains below this share of the largest are rounding


class GainSettings(NamedTuple):
    """The parameters that change gains, by their attributes in the measures of XCG."""

    quant: str = "spec"
    normalise: bool = False
    overlap: str = "off"
    alpha: float = 1.0
    base: str = "ideal"
    tie: str = "ascendant"
    norm: str = "subtree"
    mixed: str = "text"
    formula_: str = "inex2005"
    clamp: bool = True


class Seen(NamedTuple):
    """The extent of each result, and what no earlier result of the topic had shown of it."""

    host: Ints
    """The result's element, or for one that is not listed the nearest enclosing listed one."""
    size: Ints
    new_size: Ints
    rsize: Ints  # highlighted characters, counted only for results of which a part is new
    new_rsize: Ints


class Ideal(NamedTuple):
    """The ideal list of a topic."""

    gains: Floats  # xI: decreasing
    curve: Floats  # xCI: gains summed up, from rank 0 on


# -- judgements --------------------------------------------------------------------------------


def compute_worth(gold: Gold, quant: str, normalise: bool) -> Floats:  # noqa: FBT001 - a key
    """Return the worth of each element of the judged trees."""
    return gold.trees.worth(quant, normalise=normalise)


def knows_own_text(gold: Gold, quant: str) -> bool:
    """Return True if the worth of the text directly inside elements is known.

    That takes a collection, except where worth is counted in highlighted characters.
    """
    forest = gold.forest
    if forest is None or forest.complete:
        return True
    return find_quantisation(quant, forest.assessed.scale).name == "spec"


def choose_ideals(gold: Gold, quant: str, base: str, tie: str) -> Base:
    """Return the ideal recall base."""
    worth = gold.cached(compute_worth, quant, False)  # noqa: FBT003 - a key
    return ideal_base(gold.trees, worth, base=base, tie=tie)


def _list_ideals_below(gold: Gold, quant: str, base: str, tie: str) -> tuple[Ints, Ints]:
    """Return every element that holds ideal ones, with each of them: pairs, sorted by both."""
    parent = gold.trees.parent
    ideal = np.flatnonzero(gold.cached(choose_ideals, quant, base, tie).ideal)
    above, found = parent[ideal], [(ideal[:0], ideal[:0])]
    while len(above):
        ideal, above = ideal[above >= 0], above[above >= 0]
        found.append((above, ideal))
        above = parent[above]
    above, ideal = (np.concatenate(column) for column in zip(*found, strict=True))
    order = np.lexsort((ideal, above))
    return above[order], ideal[order]


def list_ideals(gold: Gold, settings: GainSettings, of: str = "topics") -> list[Ideal]:
    """Return the ideal list of each judged topic, or of each judgement: topic and document.

    It holds the relevant elements, or under overlap=on only the ideal ones.
    """
    worth = gold.cached(compute_worth, settings.quant, settings.normalise)
    wanted = worth > 0
    if settings.overlap == "on":
        wanted = gold.cached(choose_ideals, settings.quant, settings.base, settings.tie).ideal
    element = np.flatnonzero(wanted)
    row = gold.trees.row[element]
    if of == "documents":
        return sort_lists(row, worth[element], len(gold.judgements))
    return sort_lists(gold.judgements.topic[row], worth[element], len(gold.topics))


def sort_lists(owner: Ints, worth: Floats, n: int) -> list[Ideal]:
    """Return the ideal list of each of `n` owners, topics or documents, from its members' worth."""
    order = np.lexsort((-worth, owner))
    ends = np.searchsorted(owner[order], np.arange(1, n))
    return [
        Ideal(own, np.concatenate([[0.0], np.cumsum(own)])) for own in np.split(worth[order], ends)
    ]


# -- results -----------------------------------------------------------------------------------


def find_elements(alignment: Alignment) -> Ints:
    """Return the element of each result, `UNKNOWN` where it is not among the judged trees."""
    forest, run = alignment.gold.trees, alignment.run
    node = np.full(len(run), UNKNOWN, dtype=np.int64)
    # Of documents, half of the results or a third: few of them are judged, and fewer have a tree.
    has_tree = np.append(np.diff(forest.bounds) > 0, False)[alignment.document_row]  # UNKNOWN: none
    inside = np.flatnonzero(has_tree[run.documents.number])
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
    node[inside[whole]] = forest.bounds[row[whole]]  # the root
    return node


def find_seen(alignment: Alignment) -> Seen:
    """Return how much of each result the earlier results of its topic left to see."""
    forest, row = alignment.gold.trees, alignment.row
    host = node = alignment.cached(find_elements)
    real = np.flatnonzero(node >= 0)
    start, end = forest.start[node[real]], forest.end[node[real]]
    if not forest.complete:
        unlisted = np.flatnonzero((node < 0) & (row >= 0))
        unlisted = unlisted[np.diff(forest.bounds)[row[unlisted]] > 0]
        if len(unlisted):
            host = node.copy()
            host[unlisted] = _find_enclosing(forest, row, alignment.run.xpath, unlisted)
            unlisted = unlisted[host[unlisted] >= 0]
            # The size of such an element is not known, only that it is not relevant: it takes a
            # character of its host that is neither in a listed child nor highlighted, if any.
            around = host[unlisted]
            inner = forest.sum_children(forest.end - forest.start).astype(np.int64)
            own_start, base = forest.start[around] + inner[around], forest.base[row[unlisted]]
            assert forest.highlighted is not None
            marked = forest.highlighted.within(base + own_start, base + forest.end[around])
            own_end = own_start + (forest.end[around] - own_start - marked > 0)
            order = np.argsort(np.concatenate([real, unlisted]), kind="stable")
            real = np.concatenate([real, unlisted])[order]
            start = np.concatenate([start, own_start])[order]
            end = np.concatenate([end, own_end])[order]
    size, new_size, rsize, new_rsize = np.zeros((4, len(node)), dtype=np.int64)
    size[real] = end - start
    if not neighbours_meet(start, end, row[real]) and spans.are_apart(start, end, row[real]):
        new_size[real] = size[real]
        return Seen(host, size, new_size, rsize, new_rsize)
    base = forest.base[row[real]]
    pieces = spans.find_new_text(start + base, end + base)
    new = np.bincount(pieces.owner, pieces.end - pieces.start, len(real)).astype(np.int64)
    new_size[real] = new
    if forest.highlighted is not None:
        partly = (new > 0) & (new < end - start)
        own = np.flatnonzero(partly)
        rsize[real[own]] = forest.highlighted.within((start + base)[own], (end + base)[own])
        own = np.flatnonzero(partly[pieces.owner])
        marked = forest.highlighted.within(pieces.start[own], pieces.end[own])
        new_rsize[real] = np.bincount(pieces.owner[own], marked, len(real)).astype(np.int64)
    return Seen(host, size, new_size, rsize, new_rsize)


def _find_enclosing(forest: Forest, row: Ints, xpath: pl.Series | None, result: Ints) -> Ints:
    """Return the nearest enclosing listed element of results that are not listed themselves."""
    assert xpath is not None  # a whole document is a root, and roots are listed
    found = np.full(len(result), UNKNOWN, dtype=np.int64)
    paths = xpath.gather(result)
    left = np.arange(len(result))
    while len(left):
        paths = paths.str.replace(r"/[^/]*$", "")
        found[left] = forest.find(row[result[left]], paths)
        on = (found[left] < 0) & (paths != "").to_numpy()
        left, paths = left[on], paths.filter(pl.Series(on))
    return found


# -- gains -------------------------------------------------------------------------------------


def compute_gains(alignment: Alignment, settings: GainSettings) -> Floats:
    """Return xG, the gain of every result of a run.

    Under overlap=off an element that is returned again gains nothing, or with
    ``Overlap.COUNT_REPEATS`` the same again.
    """
    if settings.overlap == "on":
        return _compute_focused_gains(alignment, settings)
    node = alignment.cached(find_elements)
    worth = alignment.gold.cached(compute_worth, settings.quant, settings.normalise)
    gains = np.zeros(len(node))
    some = np.flatnonzero(node >= 0)
    some = some[worth[node[some]] != 0]
    if alignment.overlap is not Overlap.COUNT_REPEATS:
        some = some[find_first_hashes(node[some].view(np.uint64)) == np.arange(len(some))]
    gains[some] = worth[node[some]]
    return gains


def _compute_focused_gains(alignment: Alignment, settings: GainSettings) -> Floats:
    """Return the gains under overlap=on.

    One result in four to thirty is an element of a judged tree: only these are looked at, and
    where no other can gain only those that are worth something.
    """
    gold, forest = alignment.gold, alignment.gold.trees
    node, seen = alignment.cached(find_elements), alignment.cached(find_seen)
    worth = gold.cached(compute_worth, settings.quant, settings.normalise)
    gains = np.zeros(len(node))
    some = np.flatnonzero(node >= 0)
    if settings.clamp:
        some = some[worth[node[some]] > 0]
    node = node[some]
    own, size, new_size = worth[node], seen.size[some], seen.new_size[some]
    unseen = new_size == size
    value = np.where(unseen, own, np.where(new_size == 0, (1 - settings.alpha) * own, 0.0))
    partly = (new_size > 0) & ~unseen
    if (
        find_quantisation(settings.quant, forest.assessed.scale).name == "spec"
        and forest.highlighted is not None
        and settings.alpha == 1
        and settings.mixed == "text"
        and settings.formula_ == "inex2005"
    ):
        # A partly seen element is worth its unseen highlighted characters.
        asked = some[partly]
        value[partly] = own[partly] * seen.new_rsize[asked] / np.maximum(seen.rsize[asked], 1)
    elif settings.formula_ == "inex2005" and partly.any():
        value[partly] = _compute_rest(alignment, settings, some[partly])
    if settings.formula_ == "inex2005":
        partly = np.zeros(len(node), dtype=bool)
    step_by_step, gain = partly, value.copy()
    if settings.norm != "none":
        base = gold.cached(choose_ideals, settings.quant, settings.base, settings.tie)
        over, holds = base.over[node], base.holds[node]
        around = holds & (over < 0) & (value > 0)
        gain, inside, spent_by = _share_ideals(over, value, worth)
        if settings.norm == "overlap":  # these take from what ideal elements have
            step_by_step = partly | around
        else:
            # A result around ideal elements gains what those below it still have at its turn.
            result = np.flatnonzero(around)
            above, ideal = gold.cached(
                _list_ideals_below, settings.quant, settings.base, settings.tie
            )
            i, j = match_pairs(node[result], above)
            ideal, n = ideal[j], len(over)
            before = np.searchsorted(over[inside] * n + inside, ideal * n + result[i]) - 1
            known = np.flatnonzero(before >= 0)
            known = known[over[inside[before[known]]] == ideal[known]]
            spent = np.zeros(len(ideal))
            spent[known] = spent_by[before[known]]
            rest = np.bincount(i, np.maximum(worth[ideal] - spent, 0.0), len(result))
            gain[result] = np.minimum(value[result], rest)
    if step_by_step.any():
        # Go through all results of their documents one by one.
        of_document = alignment.row[some]
        chosen = np.flatnonzero(np.isin(of_document, of_document[step_by_step]))
        columns = node[chosen], value[chosen], partly[chosen]
        gain[chosen] = _assign_step_by_step(gold, settings, *columns)
    # A difference may have left only rounding.
    gain[gain < _TOLERANCE * max(float(own.max(initial=0.0)), _TOLERANCE)] = 0.0
    gains[some] = gain
    return gains


def _share_ideals(over: Ints, value: Floats, worth: Floats) -> tuple[Floats, Ints, Floats]:
    """Return the gains of results that are or lie in ideal elements: together at most their worth.

    The first results of all ideal elements are served at once, then the second ones, and so on.
    The second array lists these results by ideal element, then by rank; the third what each of them
    and those before it in its ideal element gain together.
    """
    gain = np.zeros(len(value))
    inside = np.flatnonzero((over >= 0) & (value > 0))
    order = inside[np.argsort(over[inside], kind="stable")]
    head = np.flatnonzero(np.diff(over[order], prepend=UNKNOWN))
    members = np.diff(np.append(head, len(order)))
    spent, spent_by = np.zeros(len(head)), np.zeros(len(order))
    turn = 0
    while len(head):
        result = order[head + turn]
        gain[result] = np.minimum(value[result], np.maximum(worth[over[result]] - spent, 0.0))
        spent = spent_by[head + turn] = spent + gain[result]
        turn += 1
        more = members > turn
        head, members, spent = head[more], members[more], spent[more]
    return gain, order, spent_by


# -- what is left of partly seen elements ------------------------------------------------------


def _compute_rest(alignment: Alignment, settings: GainSettings, asked: Ints) -> Floats:
    """Return what the partly seen elements of these results are still worth.

    What is left of an element is what is left of its children and its own text. Every result asks
    at its own time; the elements between what was read before and the one asked about are gone
    through from the deepest up, for all questions at once.
    """
    gold, forest, node = alignment.gold, alignment.gold.trees, alignment.cached(find_elements)
    question, element, new, is_own = _find_ways(forest, node, alignment.cached(find_seen), asked)
    n = max(len(forest), 1)
    touched, place = np.unique(question * n + element, return_inverse=True)
    question, element = np.divmod(touched, n)
    read = np.zeros(len(touched), dtype=bool)
    read[place[is_own]] = True
    covered = np.bincount(place, np.where(is_own, 0, new), len(touched))
    above = np.searchsorted(touched, question * n + forest.parent[element])
    own = gold.cached(compute_worth, settings.quant, settings.normalise)[element]
    size = forest.size[element].astype(np.float64)
    whole = own * size
    seen_before = (1 - settings.alpha) * own
    open_ = ~read & (covered < (forest.end - forest.start)[element])
    inside = gold.cached(_value_parts, settings.quant, settings.normalise, settings.mixed)[element]
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


def _find_ways(forest: Forest, node: Ints, seen: Seen, asked: Ints) -> tuple[Ints, ...]:
    """Return the elements from what was read before a question up to what is asked about.

    Each comes with its question, the characters that the result had shown first, and True if it is
    the element of that result itself, False for an enclosing one.
    """
    order = np.argsort(node[asked])
    wanted = node[asked][order]
    result = np.flatnonzero((seen.new_size > 0) & (seen.host >= 0))
    result = result[np.isin(forest.row[seen.host[result]], forest.row[wanted])]
    at, found = seen.host[result], []
    while len(at):
        i = np.minimum(np.searchsorted(wanted, at), len(wanted) - 1)
        asks = (wanted[i] == at) & (asked[order[i]] > result)
        found.append((order[i[asks]], result[asks]))
        at = forest.parent[at]
        at, result = at[at >= 0], result[at >= 0]
    question, result = (np.concatenate(column) for column in zip(*found, strict=True))
    at, listed = seen.host[result], node[result] >= 0
    nothing = np.zeros(len(asked), dtype=np.int64)
    steps = [(np.arange(len(asked)), node[asked], nothing, nothing > 0)]
    while len(at):
        steps.append((question, at, seen.new_size[result], listed))
        on = at != node[asked[question]]
        question, at, result = question[on], forest.parent[at[on]], result[on]
        listed = np.zeros(len(at), dtype=bool)
    return tuple(np.concatenate(column) for column in zip(*steps, strict=True))


def _value_parts(gold: Gold, quant: str, normalise: bool, mixed: str) -> Floats:  # noqa: FBT001 - a key
    """Return the worth of the parts of each unseen element, times their sizes."""
    forest, worth = gold.trees, gold.cached(compute_worth, quant, normalise)
    inside = forest.sum_children(worth * forest.size)
    if mixed == "ignore" or not knows_own_text(gold, quant):
        return inside
    if find_quantisation(quant, forest.assessed.scale).name == "spec":
        marked = np.maximum(forest.rsize, 0)
        direct = marked - forest.sum_children(np.where(forest.counts, marked, 0))
        return inside + np.where(forest.counts, np.maximum(direct, 0.0), 0.0)
    return inside + worth * np.maximum(forest.size - forest.sum_children(forest.size), 0.0)


# -- where gains depend on earlier gains -------------------------------------------------------


def _assign_step_by_step(
    gold: Gold, settings: GainSettings, node: Ints, value: Floats, partly: Bools
) -> Floats:
    """Return the gains of elements in rank order, each from what those before it gained.

    `value` is what is left of an element, known unless it is `partly` seen.
    """
    forest, worth = gold.trees, gold.cached(compute_worth, settings.quant, settings.normalise)
    brought: dict[int, float] = defaultdict(float)  # gains inside an element, times their sizes
    spent: dict[int, float] = defaultdict(float)  # by ideal element
    key = (settings.quant, settings.base, settings.tie)
    base = None if settings.norm == "none" else gold.cached(choose_ideals, *key)
    gain = np.zeros(len(node))
    columns = (node.tolist(), value.tolist(), partly.tolist())
    for i, (element, known, part) in enumerate(zip(*columns, strict=True)):
        assigned, size = known, float(forest.size[element])
        if part:  # formula=encyclopedia: what the parts gained
            own = float(worth[element])
            assigned = settings.alpha * (brought[element] / size) + (1 - settings.alpha) * own
            assigned = min(assigned, own) if settings.clamp else assigned
        if base is not None:  # within what the ideal elements still have
            ideal = int(base.over[element])
            ideals = [ideal]
            if ideal < 0:
                above, below = gold.cached(_list_ideals_below, *key)
                low, high = np.searchsorted(above, [element, element + 1])
                ideals = below[low:high].tolist()
            unspent = [max(0.0, float(worth[x]) - spent[x]) for x in ideals]
            total = sum(unspent)
            assigned = max(0.0, min(assigned, total))
            if ideal >= 0:
                spent[ideal] += assigned
            elif settings.norm == "overlap" and assigned > 0:
                for x, share in zip(ideals, unspent, strict=True):
                    spent[x] += assigned * share / total
        gain[i] = assigned
        if assigned:
            parent = element
            while (parent := int(forest.parent[parent])) >= 0:
                brought[parent] += assigned * size
    return gain
