"""The elements of judged documents as trees, with their assessments and what these are worth.

A collection knows every element and its place. Assessments alone list only elements that hold
something relevant, with their sizes: their trees are then laid out on an axis of their own, so that
inclusion and coverage are the same interval arithmetic in both cases.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from collections.abc import Collection as Names
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from foveal import spans
from foveal.collection import Collection
from foveal.errors import InputError, UsageError
from foveal.lookup import number_rows
from foveal.model import UNKNOWN, Judgements
from foveal.spans import Ints

Bools = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]

_TEXTS = ("xpath", "relevance", "coverage", "exhaustivity", "specificity")
_COLUMNS: dict[str, Any] = dict.fromkeys(_TEXTS, pl.String)
_COLUMNS |= dict.fromkeys(("row", "size", "rsize", "line", "file"), pl.Int64)
# The XPath of the parent; empty for a root.
_PARENT = pl.col("xpath").str.replace(r"/[^/]*$", "")


# -- quantisation: the worth of an assessed element, by the scale of its year ----------------------


COVERAGES = "NSLE"  # of 2002, by their code: none, too small, too large, exact
HIGHEST_GRADE = {"2002": 3, "2003": 3, "2005": 2}  # of exhaustivity, by scale


class ElementGrades(NamedTuple):
    """The assessments of elements as numbers; elements without one are not relevant.

    The scale is ``2002``, ``2003``, ``2005`` or ``2006``. `exhaustivity` is the relevance of 2002,
    and 1 for everything relevant on the scale of 2006. `specificity` is the grade (2003), the code
    of the coverage (2002), or the share of highlighted characters. Elements that are `too_small`,
    graded ``?`` in 2005, have exhaustivity 0.
    """

    scale: str
    exhaustivity: Ints
    specificity: Floats
    too_small: Bools


class Quantisation(NamedTuple):
    """A function from assessments on some scales to worth, which is `maximum` at most."""

    name: str
    scales: tuple[str, ...]
    worth: Callable[[ElementGrades], Floats]
    maximum: float = 1.0


def _table(name: str, scale: str, rows: Sequence[Sequence[float]]) -> Quantisation:
    """Return a look-up by two grades from 0: a row for each first, a column for each second."""
    table = np.array(rows, dtype=np.float64)
    worth = lambda g: table[g.exhaustivity, g.specificity.astype(np.int64)]  # noqa: E731
    return Quantisation(name, (scale,), worth)


def _only(name: str, scale: str, *pairs: str) -> Quantisation:
    """Return a function that is 1 at these grade pairs, written ``es``, and 0 elsewhere."""
    rows = [[float(f"{e}{s}" in pairs) for s in range(4)] for e in range(4)]
    return _table(name, scale, rows)


def _lift(grades: ElementGrades) -> Floats:
    relevant = (grades.exhaustivity > 0) | grades.too_small
    return np.where(relevant, (grades.exhaustivity + 1) * grades.specificity, 0.0)


def quantise_dimensions(name: str, grades: ElementGrades) -> tuple[Floats, Floats]:
    """Return exhaustivity and specificity quantised one by one, as inex_eval_ng takes them.

    ``gen`` rescales each to [0, 1], ``strict`` keeps only the highest grade.
    """
    if grades.scale not in ("2003", "2005"):
        raise UsageError(
            "inex_eval_ng takes grades of exhaustivity, those of 2003 to 2005; the elements are "
            f"assessed on the scale of {grades.scale}"
        )
    top = HIGHEST_GRADE[grades.scale]
    exhaustivity = grades.exhaustivity / top
    specificity = grades.specificity / (top if grades.scale == "2003" else 1)
    if name == "strict":
        return np.where(exhaustivity == 1, 1.0, 0.0), np.where(specificity == 1, 1.0, 0.0)
    return exhaustivity, specificity


_LOW = ((0, 0, 0, 0), (0, 0.25, 0.25, 0.5), (0, 0.5, 0.5, 0.75))
_SOG = ((0, 0, 0, 0), (0, 0.1, 0.25, 0.75), (0, 0.1, 0.5, 0.9), (0, 0.25, 0.75, 1))
_STRICT = Quantisation("strict", ("2006",), lambda g: (g.specificity == 1).astype(np.float64))
_NAMED = {
    function.name: function
    for function in (
        Quantisation("spec", ("2005", "2006"), lambda g: g.specificity),
        _only("strict2", "2002", "33"),
        _table("gen2", "2002", (*_LOW, (0, 0, 0.75, 1))),
        _only("strict3", "2003", "33"),
        _table("gen3", "2003", (*_LOW, (0, 0.75, 0.75, 1))),
        _table("sog", "2003", _SOG),
        _only("e3s321", "2003", "33", "32", "31"),
        _only("e3s32", "2003", "33", "32"),
        _only("s3e321", "2003", "33", "23", "13"),
        _only("s3e32", "2003", "33", "23"),
        Quantisation("strict5", ("2005",), lambda g: (g.exhaustivity == 2) * _STRICT.worth(g)),
        Quantisation("gen5", ("2005",), lambda g: g.exhaustivity * g.specificity, 2.0),
        Quantisation("genLifted", ("2005",), _lift, 3.0),
        Quantisation(
            "enc_strict", ("2003", "2005"), lambda g: np.multiply(*quantise_dimensions("strict", g))
        ),
        Quantisation(
            "enc_gen", ("2003", "2005"), lambda g: np.multiply(*quantise_dimensions("gen", g))
        ),
    )
}
_BY_SCALE = {
    ("strict", "2006"): _STRICT,
    ("gen", "2006"): _NAMED["spec"],
    **{
        (name, f"200{year}"): _NAMED[f"{name}{year}"]
        for name in ("strict", "gen")
        for year in "235"
    },
}
QUANTISATIONS = ("spec", "strict", "gen", *[name for name in _NAMED if name != "spec"])
"""The names of all functions; ``strict`` and ``gen`` are those of the judgements' own scale."""

MEAN7 = ("strict3", "gen3", "sog", "e3s321", "e3s32", "s3e321", "s3e32")
"""The functions of 2004, whose scores were also averaged."""


def find_quantisation(name: str, scale: str) -> Quantisation:
    """Return the function of this name; refuse one of another scale than the judgements'.

    >>> find_quantisation("gen", "2005").name
    'gen5'
    >>> none = np.zeros(2, dtype=bool)
    >>> grades = ElementGrades("2003", np.array([3, 2]), np.array([1.0, 3.0]), none)
    >>> find_quantisation("sog", "2003").worth(grades).tolist()
    [0.25, 0.9]
    """
    function = _BY_SCALE.get((name, scale)) or _NAMED[name]
    if scale not in function.scales:
        fits = [n for n in QUANTISATIONS if n not in _NAMED or scale in _NAMED[n].scales]
        raise UsageError(
            f"quant={name} is a function of the scale of {' and '.join(function.scales)}, but the "
            f"elements are assessed on that of {scale}; expected one of {', '.join(fits)}"
        )
    return function


# -- trees -----------------------------------------------------------------------------------------


def find_scale(judgements: Judgements) -> str:
    """Return the scale of the assessed elements: as declared, else by the grades they carry."""
    declared = (judgements.header or {}).get("scale")
    if declared is not None:
        return str(declared)
    elements = judgements.elements
    given = set() if elements is None else {c.name for c in elements if c.null_count() < len(c)}
    if "relevance" in given:
        return "2002"
    if "exhaustivity" in given:
        return "2003" if "specificity" in given else "2005"
    return "2006"


@dataclass(frozen=True, eq=False)
class Forest:
    """A tree of elements for each judged document that has any, parents before their children."""

    row: Ints  # the judgement (topic and document) of each element, ascending
    paths: pl.Series  # the distinct XPaths, with every ordinal
    path: Ints  # the number of each element's XPath, ascending within a judgement
    parent: Ints  # `UNKNOWN` for a root
    start: Ints  # the place in the document, or on an axis laid out by the assessed sizes
    end: Ints
    size: Ints  # characters by the assessments, else by the collection, else `UNKNOWN`
    rsize: Ints  # highlighted characters, known in the same way
    assessed: ElementGrades
    base: Ints  # where each judgement's document begins on the common axis
    highlighted: spans.Coverage | None  # the highlighted text on the common axis
    find: Callable[[Ints, pl.Series], Ints]  # elements of judgements and XPaths, or `UNKNOWN`
    counts: Bools  # elements that may be worth something; the others were left out
    complete: bool = False  # are all elements of the documents known, not only assessed ones?

    def __len__(self) -> int:
        return len(self.row)

    # -- building -------------------------------------------------------------------------------

    @classmethod
    def from_assessments(cls, judgements: Judgements) -> Forest:
        """Build the trees of the elements that judgements list, laid out by their sizes."""
        listed = _list_elements(judgements)
        nodes = close_upwards(listed.select("row", "xpath"))
        distinct = nodes.select(pl.col("xpath").unique())  # in the order of `close_upwards`
        paths = distinct.sort(pl.col("xpath").str.count_matches("/"), "xpath")["xpath"]
        numbers = pl.DataFrame({"xpath": paths, "path": np.arange(len(paths))})
        numbered = nodes.join(numbers, on="xpath", maintain_order="left")
        row, path = nodes["row"].to_numpy(), numbered["path"].to_numpy()
        find = partial(_find_elements, numbers, row * len(paths) + path)
        parent = find(row, nodes.select(_PARENT).to_series())
        at = find(listed["row"].to_numpy(), listed["xpath"])
        size = _scatter(listed["size"].fill_null(UNKNOWN), at, len(row), UNKNOWN)
        rsize = _scatter(listed["rsize"].fill_null(UNKNOWN), at, len(row), UNKNOWN)
        known = bool((size[at] >= 0).all())
        start = end = np.full(len(nodes), UNKNOWN)
        base = np.zeros(len(judgements), dtype=np.int64)
        highlighted = None
        if known:
            levels = _split_levels(_count_depth(paths, path))
            start, end, own = _lay_out(parent, levels, size, rsize)
            extent = np.zeros(len(judgements), dtype=np.int64)
            np.maximum.at(extent, row, end)
            base = spans.lay_out(extent)
            highlighted = spans.Coverage(end - own + base[row], end + base[row])
        grades = _read_grades(find_scale(judgements), listed, at, size, rsize)
        size = np.where((size < 0) & known, end - start, size)
        tree = (row, paths, path, parent, start, end, size, rsize, grades)
        return cls(*tree, base, highlighted, find, np.ones(len(row), dtype=bool))

    @classmethod
    def from_collection(
        cls, judgements: Judgements, collection: Collection, *, recompute: bool = False
    ) -> Forest:
        """Build the trees of all elements of the relevant documents, at their places in the text.

        Sizes that the judgements themselves give are kept unless `recompute` is set: assessors'
        tools counted white space in their own way.
        """
        rows = np.flatnonzero(judgements.relevant)
        # Each document is looked up once, however many topics it is judged for.
        docs = judgements.doc.gather(rows)
        numbered = number_rows(docs)
        trees = collection.trees(docs.gather(numbered.first_rows))
        first, counts = (x[numbered.number] for x in (trees.bounds[:-1], np.diff(trees.bounds)))
        problems = []
        for i in rows[counts == 0].tolist():
            text = f"document {judgements.doc[i]!r} is relevant, but not in the collection"
            problems.append(judgements.problem("collection.unknown_document", i, text))
        if problems:
            raise InputError(problems)
        row = np.repeat(rows, counts)
        shift = np.repeat(np.cumsum(counts) - counts - first, counts)
        element = np.arange(len(row)) - shift
        start, end, parent = trees.start[element], trees.end[element], trees.parent[element]
        parent = np.where(parent < 0, UNKNOWN, parent + shift)
        used = np.zeros(int(trees.path.max(initial=-1)) + 1, dtype=bool)
        used[trees.path] = True
        paths = collection.xpaths(np.flatnonzero(used))
        path = np.cumsum(used)[trees.path[element]] - 1
        listed = _list_elements(judgements)
        listed = listed.filter(pl.Series(judgements.relevant[listed["row"].to_numpy()]))
        numbers = pl.DataFrame({"xpath": paths, "path": np.arange(len(paths))})
        find = partial(_find_elements, numbers, row * len(paths) + path)
        at = find(listed["row"].to_numpy(), listed["xpath"])
        lost = listed.filter(pl.Series(at < 0, dtype=pl.Boolean))
        for i, xpath, line, file in lost.select("row", "xpath", "line", "file").iter_rows():
            text = f"document {judgements.doc[i]!r} has no element {xpath!r} in the collection"
            code = "collection.unknown_path"
            problems.append(judgements.problem(code, i, text, line=line, file=file))
        if problems:
            raise InputError(problems)
        extent = np.maximum(judgements.length, 0)
        np.maximum.at(extent, row, end)
        np.maximum.at(extent, judgements.row, judgements.end)
        base = spans.lay_out(extent)
        size, rsize = end - start, np.full(len(row), UNKNOWN)
        highlighted = None
        if judgements.has_text:
            begin = base[judgements.row]
            highlighted = spans.Coverage(judgements.start + begin, judgements.end + begin)
            rsize = highlighted.within(start + base[row], end + base[row])
        if not recompute:
            own_size = listed["size"].fill_null(UNKNOWN).to_numpy()
            own_rsize = listed["rsize"].fill_null(UNKNOWN).to_numpy()
            stated = (own_size >= 0) & (own_rsize >= 0)
            size[at[stated]], rsize[at[stated]] = own_size[stated], own_rsize[stated]
        grades = _read_grades(find_scale(judgements), listed, at, size, rsize)
        tree = (row, paths, path, parent, start, end, size, rsize, grades)
        counting = np.ones(len(row), dtype=bool)
        return cls(*tree, base, highlighted, find, counting, complete=True)

    def only(self, counts: Bools) -> Forest:
        """Return the same trees in which only these elements may be worth something."""
        return replace(self, counts=self.counts & counts)

    def without_tags(self, tags: Names[str]) -> Forest:
        """Return the same trees with the elements of these tags worth nothing."""
        tag = self.paths.str.extract(r"/([^/\[\]]+)\[[0-9]+\]$")
        return self.only(~tag.is_in(list(tags)).fill_null(value=False).to_numpy()[self.path])

    # -- properties -----------------------------------------------------------------------------

    @cached_property
    def bounds(self) -> Ints:
        """The elements of judgement ``i`` are ``bounds[i]:bounds[i + 1]``."""
        return np.searchsorted(self.row, np.arange(len(self.base) + 1))

    @property
    def placed(self) -> bool:
        """True if every element has a place, so that coverage is known."""
        return not len(self) or bool((self.end >= 0).all())

    @cached_property
    def xpath(self) -> pl.Series:
        """The XPath of each element."""
        return self.paths.gather(self.path)

    @cached_property
    def depth(self) -> npt.NDArray[np.int16]:
        """Number of elements above each."""
        return _count_depth(self.paths, self.path)

    @cached_property
    def levels(self) -> tuple[Ints, ...]:
        """The numbers of the elements at each depth, from the roots down."""
        return _split_levels(self.depth)

    def worth(self, quant: str, *, normalise: bool = False) -> Floats:
        """Return the worth of each element; 0 if it is empty or does not count.

        With `normalise` it is from 0 to 1 also on the scale of 2005.
        """
        function = find_quantisation(quant, self.assessed.scale)
        worth = function.worth(self.assessed)
        if normalise:
            worth = worth / function.maximum
        return np.where(self.counts & (self.size != 0), worth, 0.0)

    def sum_children(self, values: Floats | Ints) -> Floats:
        """Return the sum of the values of each element's children."""
        below = np.flatnonzero(self.parent >= 0)
        return np.bincount(self.parent[below], values[below], len(self)).astype(np.float64)


def _find_elements(numbers: pl.DataFrame, keys: Ints, row: Ints, xpath: pl.Series) -> Ints:
    """Return the elements of these judgements and XPaths, `UNKNOWN` where there is none.

    Texts are looked up among the distinct paths only; the rest is a search among numbers.
    """
    wanted = pl.DataFrame({"xpath": xpath})
    found = wanted.join(numbers, on="xpath", how="left", maintain_order="left")
    path = found["path"].fill_null(UNKNOWN).to_numpy()
    key = row * len(numbers) + path
    at = np.searchsorted(keys, key)
    known = path >= 0
    known[known] = np.append(keys, UNKNOWN)[at[known]] == key[known]
    return np.where(known, at, UNKNOWN)


def _list_elements(judgements: Judgements) -> pl.DataFrame:
    """Return the assessed elements with all columns that any scale has."""
    elements = judgements.elements
    if elements is None:
        return pl.DataFrame(schema=_COLUMNS)
    return elements.select(
        pl.col(name).cast(kind) if name in elements.columns else pl.lit(None, kind).alias(name)
        for name, kind in _COLUMNS.items()
    )


def close_upwards(listed: pl.DataFrame) -> pl.DataFrame:
    """Return these elements and all above them, judgement by judgement, parents first."""
    by_depth = listed.with_columns(depth=pl.col("xpath").str.count_matches("/"))
    own = {key[0]: part for key, part in by_depth.partition_by("depth", as_dict=True).items()}
    level, found = by_depth.clear(), [by_depth.clear()]
    for depth in range(max(own, default=0), 0, -1):  # each level from the one below, once
        above = level.with_columns(_PARENT, depth=pl.lit(depth, pl.UInt32))
        level = pl.concat([own.get(depth, by_depth.clear()), above]).unique(["row", "xpath"])
        found.append(level)
    return pl.concat(found).sort("row", "depth", "xpath").drop("depth")


def _scatter(values: pl.Series, at: Ints, n: int, otherwise: int) -> Ints:
    """Return an array over all elements with the values of the listed elements."""
    column = np.full(n, otherwise, dtype=np.int64)
    column[at] = values.to_numpy()
    return column


def _count_depth(paths: pl.Series, path: Ints) -> npt.NDArray[np.int16]:
    depth: npt.NDArray[np.int16] = paths.str.count_matches("/").cast(pl.Int16).to_numpy() - 1
    return depth[path]


def _split_levels(depth: npt.NDArray[np.int16]) -> tuple[Ints, ...]:
    """Return the elements of each depth, from the roots down."""
    order = np.argsort(depth, kind="stable")  # few bits: a radix sort
    return tuple(np.split(order, np.cumsum(np.bincount(depth))[:-1]))


def _lay_out(
    parent: Ints, levels: tuple[Ints, ...], size: Ints, rsize: Ints
) -> tuple[Ints, Ints, Ints]:
    """Return places for elements of known sizes, and how much of their end is highlighted.

    An element holds its children one after the other, then text of its own that is not highlighted,
    then what is. Sizes that contradict each other stretch the parent.
    """
    n = len(parent)
    extent, inside, marked = np.maximum(size, 0), np.zeros(n, np.int64), np.zeros(n, np.int64)
    own = np.zeros(n, dtype=np.int64)
    for level in reversed(levels):
        own[level] = np.maximum(np.maximum(rsize[level], 0) - marked[level], 0)
        extent[level] = np.maximum(extent[level], inside[level] + own[level])
        below = level[parent[level] >= 0]
        np.add.at(inside, parent[below], extent[below])
        np.add.at(marked, parent[below], np.maximum(rsize[below], 0))
    start = np.zeros(n, dtype=np.int64)
    for level in levels[1:]:
        order = level[np.argsort(parent[level], kind="stable")]
        above, room = parent[order], extent[order]
        before = np.cumsum(room) - room
        opens = np.concatenate([[True], above[1:] != above[:-1]])
        first = np.maximum.accumulate(np.where(opens, np.arange(len(order)), 0))
        start[order] = start[above] + before - before[first]
    return start, start + extent, own


def _read_grades(
    scale: str, listed: pl.DataFrame, at: Ints, size: Ints, rsize: Ints
) -> ElementGrades:
    """Return grades as numbers; elements that are not assessed get the lowest."""
    n, too_small = len(size), np.zeros(len(size), dtype=bool)
    specificity = np.where(rsize > 0, rsize, 0) / np.maximum(size, 1)
    if scale not in HIGHEST_GRADE:
        return ElementGrades(scale, (rsize > 0).astype(np.int64), specificity, too_small)
    grades = listed["relevance" if scale == "2002" else "exhaustivity"]
    if scale == "2005":
        too_small[at] = (grades == "?").fill_null(value=False).to_numpy()
        grades = grades.replace("?", "0")
    else:
        codes = {letter: str(code) for code, letter in enumerate(COVERAGES)}
        second = listed["specificity"] if scale == "2003" else listed["coverage"].replace(codes)
        specificity = _scatter(second.cast(pl.Int64).fill_null(0), at, n, 0).astype(np.float64)
    exhaustivity = _scatter(grades.cast(pl.Int64).fill_null(0), at, n, 0)
    return ElementGrades(scale, exhaustivity, specificity, too_small)
