"""The recall bases of a topic, to be looked at: a table of elements, and a tree per document."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from foveal._version import __version__
from foveal.campaign import Options
from foveal.campaign.truth import Truth
from foveal.errors import InputError, UsageError
from foveal.formats import read_judgements
from foveal.measures import parse_measure
from foveal.model import Judgements
from foveal.recall import QUANTISATIONS, Forest, ideal_base
from foveal.recall.forest import scale_of
from foveal.recall.quantisation import COVERAGES, find_quantisation
from foveal.spans import Ints

__all__ = ["BASES", "BASE_FORMATS", "TIES", "RecallBase", "recall_base"]

TIES = ("ascendant", "deeper")
BASES = ("ideal", "maxsum")

Bools = npt.NDArray[np.bool_]
_SHOWN = 5
_COLUMNS: dict[str, type[pl.DataType]] = {
    "doc": pl.String,
    "xpath": pl.String,
    "depth": pl.Int64,
    "size": pl.Int64,
    "rsize": pl.Int64,
    "worth": pl.Float64,
    "relevant": pl.Boolean,
    "leaf": pl.Boolean,
    "ideal": pl.Boolean,
}
"""The columns that are the same on every scale."""
_GRADES: dict[str, tuple[type[pl.DataType], type[pl.DataType]]] = {
    "2002": (pl.Int64, pl.String),
    "2003": (pl.Int64, pl.Int64),
    "2005": (pl.String, pl.Float64),
    "2006": (pl.Int64, pl.Float64),
}
"""Exhaustivity and specificity by scale: the coverage of 2002 is a letter, and 2005 has ``?``."""
_ORDER = (*list(_COLUMNS)[:5], "exhaustivity", "specificity", *list(_COLUMNS)[5:])
_COUNTS = {
    "doc": pl.String,
    "elements": pl.Int64,
    "relevant": pl.Int64,
    "paths": pl.Int64,
    "worth": pl.Float64,
    "ideal": pl.Int64,
    "gain": pl.Float64,
}
_SUMMED = list(_COUNTS)[1:]


@dataclass(frozen=True, eq=False)
class RecallBase:
    """The full and the ideal recall base of one topic.

    Parameters
    ----------
    elements : polars.DataFrame
        Every element on a path to a relevant one, in document order: ``doc``, ``xpath``,
        ``depth`` (the root's is 1), ``size``, ``rsize``, ``exhaustivity``, ``specificity``,
        ``worth``, ``relevant``, ``leaf`` (a relevant path ends here) and ``ideal``.
    hidden : int64 array
        How many elements below each one, outside the paths, are left out of `elements`.
    documents : polars.DataFrame
        Counts and sums of each document: ``elements``, ``relevant`` and what they are ``worth``,
        relevant ``paths``, ``ideal`` elements and the ``gain`` in returning just these.
    complete : bool
        Whether all elements of the documents are known, not only those that were assessed.
    topic, scale, quant, base, tie, assessors : str
        What the bases were built from; `quant` is the function that the name stands for.
    exclude_tags, docs : tuple of str
    warnings : tuple of str
    inputs : tuple of (path, sha256)
    """

    elements: pl.DataFrame
    hidden: Ints
    documents: pl.DataFrame
    complete: bool
    topic: str
    scale: str
    quant: str
    base: str
    tie: str
    assessors: str
    exclude_tags: tuple[str, ...]
    docs: tuple[str, ...]
    warnings: tuple[str, ...]
    inputs: tuple[tuple[str, str | None], ...]

    @property
    def note(self) -> str | None:
        """What is to be said of bases that are empty."""
        if len(self.elements):
            return None
        where = "".join(f", document {doc!r}" for doc in self.docs)
        return (
            f"topic {self.topic!r}{where}: no element is worth anything by {self.quant}; the "
            "recall bases are empty"
        )


# -- building -------------------------------------------------------------------------------------


def recall_base(
    judgements: Judgements | str | Path | Sequence[str | Path],
    topic: str,
    *,
    collection: str | Path | None = None,
    quant: str | None = None,
    base: str = "ideal",
    tie: str = "ascendant",
    assessors: str = "union",
    exclude_tags: Collection[str] = (),
    docs: Collection[str] = (),
) -> RecallBase:
    """The recall bases of a topic, built as the measures build them.

    Parameters
    ----------
    judgements : Judgements or paths
    topic : str
    collection : path, optional
        An index; needed where judgements list no elements.
    quant : str, optional
        One of `foveal.recall.QUANTISATIONS`; by default ``spec`` on scales of shares, else ``gen``.
    base : {"ideal", "maxsum"}
    tie : {"ascendant", "deeper"}
        See `foveal.recall.ideal_base`.
    assessors : str
        ``union``, ``majority``, ``intersection`` or the name of an assessor.
    exclude_tags : collection of str
        Elements of these tags are worth nothing.
    docs : collection of str
        Only these documents; all by default.

    Examples
    --------
    >>> from foveal.measures import toy
    >>> found = recall_base(toy.judgements(), "toy", tie="deeper")
    >>> found.elements.filter("ideal").select("doc", "xpath", "worth").rows()
    ... # doctest: +NORMALIZE_WHITESPACE
    [('D1', '/a[1]/s[1]/p[1]', 0.5), ('D1', '/a[1]/s[1]/p[2]', 1.0),
     ('D1', '/a[1]/s[2]/p[1]', 0.5), ('D2', '/a[1]/p[1]', 1.0), ('D2', '/a[1]/p[2]', 1.0)]
    """
    given = judgements if isinstance(judgements, Judgements) else read_judgements(judgements)
    for name, value, allowed in (("base", base, BASES), ("tie", tie, TIES)):
        if value not in allowed:
            raise UsageError(f"{name} {value!r} is not one of {', '.join(allowed)}")
    if topic not in given.topics:
        raise UsageError(f"topic {topic!r} is not judged{_nearest(topic, given.topics)}")
    # The scale is that of the whole set: one topic alone need not show every kind of grade.
    scale = scale_of(given)
    function = _quantisation(quant, scale)
    given = replace(given, header={**(given.header or {}), "scale": scale})
    options = Options(assessors=assessors, exclude_tags=tuple(dict.fromkeys(exclude_tags)))
    truth = Truth(_of_documents(given.for_topics([topic]), docs), options, collection)
    combined, forest = _trees(truth)
    warnings = [*truth.warnings]
    if forest is None:
        elements, hidden = _no_elements(scale), np.zeros(0, dtype=np.int64)
        documents = pl.DataFrame(schema=_COUNTS)
    else:
        worth = forest.worth(function)
        ideal = ideal_base(forest, worth, base=base, tie=tie).ideal
        elements, hidden = _on_paths(combined, forest, worth, ideal)
        documents = _counted(combined, forest, elements)
        warnings += _unlisted(combined, forest)
    for doc in dict.fromkeys(docs) if len(documents) else ():
        if doc not in documents["doc"]:
            warnings.append(f"no element of document {doc!r} is worth anything by {function}")
    return RecallBase(
        elements=elements,
        hidden=hidden,
        documents=documents,
        complete=forest is not None and forest.complete,
        topic=topic,
        scale=scale,
        quant=function,
        base=base,
        tie=tie,
        assessors=assessors,
        exclude_tags=options.exclude_tags,
        docs=tuple(dict.fromkeys(docs)),
        warnings=tuple(warnings),
        inputs=tuple((source.path, source.sha256) for source in given.sources),
    )


def _nearest(name: str, known: Sequence[str]) -> str:
    """A hint for a name that is not known."""
    near = get_close_matches(name, known, 3, 0.5)
    if near:
        return f"; did you mean {' or '.join(near)}?"
    return f"; expected one of {', '.join(known[:_SHOWN])}{', ...' * (len(known) > _SHOWN)}"


def _quantisation(name: str | None, scale: str) -> str:
    """The function by the name that is its own, whatever name it was asked for by."""
    if name is None:
        name = "spec" if scale in ("2005", "2006") else "gen"
    if name not in QUANTISATIONS:
        raise UsageError(f"no quantisation {name!r}{_nearest(name, QUANTISATIONS)}")
    return find_quantisation(name, scale).name


def _of_documents(judgements: Judgements, docs: Collection[str]) -> Judgements:
    """Only the judgements of these documents; all without any."""
    known = judgements.doc.unique(maintain_order=True).to_list()
    for doc in docs:
        if doc not in known:
            topic = judgements.topics[0]
            raise UsageError(
                f"document {doc!r} is not judged for topic {topic!r}{_nearest(doc, known)}"
            )
    return judgements.only(judgements.doc.is_in(list(docs)).to_numpy()) if docs else judgements


def _trees(truth: Truth) -> tuple[Judgements, Forest | None]:
    """The combined judgements and their trees; None where nothing is relevant anyway."""
    if truth.options.assessors == "each":
        raise UsageError("a recall base is of one assessor, or of all together; give a name")
    (assessor,) = truth.assessors
    judgements = truth.judgements
    untold = judgements.elements is None and not judgements.has_text
    if untold and judgements.places is None and judgements.relevant.any():
        raise InputError.at(
            judgements.sources[0].path,
            None,
            "the judgements are of whole documents and tell nothing of their elements; expected "
            "highlighted text or assessed elements",
        )
    # Any measure of recall bases will do: these are the trees that it is scored on.
    judged = truth.judged(assessor, [parse_measure("MAep")])
    if judged.forest is None and judged.judgements.relevant.any():
        raise InputError.at(
            judgements.sources[0].path,
            None,
            "the judgements list no elements, so that the trees of the documents are not known; "
            "give an index of the collection (-C), or assessments of elements (INEX XML, JSON "
            "Lines)",
        )
    return judged.judgements, judged.forest


def _unlisted(judgements: Judgements, forest: Forest) -> list[str]:
    """Relevant documents of which no element is known."""
    absent = np.flatnonzero(judgements.relevant & (np.diff(forest.bounds) == 0))
    if not len(absent):
        return []
    names = judgements.doc.gather(absent[:_SHOWN]).to_list()
    more = ", ..." * (len(absent) > _SHOWN)
    what = f"relevant documents without listed elements, {len(absent)}: {', '.join(names)}{more}"
    return [f"{what} (an index of the collection would supply them, -C)"]


def _no_elements(scale: str) -> pl.DataFrame:
    grades = dict(zip(("exhaustivity", "specificity"), _GRADES[scale], strict=True))
    schema: dict[str, type[pl.DataType]] = {**_COLUMNS, **grades}
    return pl.DataFrame(schema={name: schema[name] for name in _ORDER})


def _on_paths(
    judgements: Judgements, forest: Forest, worth: npt.NDArray[np.float64], ideal: Bools
) -> tuple[pl.DataFrame, Ints]:
    """The elements on paths to relevant ones, and how many others each of them has below it."""
    relevant = worth > 0
    leads_on = np.zeros(len(forest), dtype=bool)  # something relevant is below
    depth, count = np.ones(len(forest), dtype=np.int64), np.ones(len(forest), dtype=np.int64)
    for number, level in reversed(list(enumerate(forest.levels[1:], start=2))):
        depth[level] = number
        leads_on[forest.parent[level[relevant[level] | leads_on[level]]]] = True
        np.add.at(count, forest.parent[level], count[level])
    shown = relevant | leads_on
    aside = np.flatnonzero(~shown & (forest.parent >= 0))
    hidden = np.zeros(len(forest), dtype=np.int64)
    np.add.at(hidden, forest.parent[aside], count[aside])
    node = _document_order(forest, shown)
    frame = pl.DataFrame(
        {
            "doc": judgements.doc.gather(forest.row[node]),
            "xpath": forest.xpath.gather(node),
            "depth": depth[node],
            "size": _known(forest.size[node]),
            "rsize": _known(forest.rsize[node]),
            "worth": worth[node],
            "relevant": relevant[node],
            "leaf": (relevant & ~leads_on)[node],
            "ideal": ideal[node],
            **_grades(forest, node),
        },
        schema_overrides=_COLUMNS,
    )
    return frame.select(_ORDER), hidden[node]


def _document_order(forest: Forest, shown: Bools) -> Ints:
    """The shown elements, each followed by all that it holds.

    Siblings stand as in the text. Assessments alone do not tell where that is: there they are
    ordered by tag and number.
    """
    step = forest.xpath.str.extract_groups(r"/([^/\[\]]+)\[([0-9]+)\]$").struct
    siblings = pl.DataFrame(
        {
            "start": forest.start if forest.complete else np.zeros_like(forest.start),
            "tag": step.field("1"),
            "number": step.field("2").cast(pl.Int64),
        }
    )
    rank = np.empty(len(forest), dtype=np.int64)
    rank[siblings.select(pl.arg_sort_by("start", "tag", "number")).to_series().to_numpy()] = (
        np.arange(len(forest))
    )
    count = shown.astype(np.int64)
    for level in reversed(forest.levels[1:]):
        np.add.at(count, forest.parent[level], count[level])
    place = np.zeros(len(forest), dtype=np.int64)
    for number, level in enumerate(forest.levels):
        own = level[shown[level]]
        # Roots come in the order of the judgements.
        key = (rank[own], forest.parent[own]) if number else (forest.row[own],)
        own = own[np.lexsort(key)]
        before = np.cumsum(count[own]) - count[own]
        if number:
            above = forest.parent[own]
            opens = np.concatenate([[True], above[1:] != above[:-1]])[: len(own)]
            first = np.maximum.accumulate(np.where(opens, np.arange(len(own)), 0))
            before += place[above] + 1 - before[first]
        place[own] = before
    node = np.flatnonzero(shown)
    return node[np.argsort(place[node])]


def _known(values: Ints) -> pl.Series:
    """Numbers with null for those that are not known."""
    return pl.Series(values).set(pl.Series(values < 0), None)


def _grades(forest: Forest, node: Ints) -> dict[str, pl.Series]:
    """What the assessors said, as the scale puts it."""
    assessed, scale = forest.assessed, forest.assessed.scale
    exhaustivity = pl.Series(assessed.exhaustivity[node])
    specificity = pl.Series(assessed.specificity[node])
    if scale == "2002":
        letters = dict(enumerate(COVERAGES))
        specificity = specificity.cast(pl.Int64).replace_strict(letters, return_dtype=pl.String)
    elif scale in ("2005", "2006"):
        specificity = specificity.set(pl.Series(forest.rsize[node] < 0), None)
        if scale == "2005":
            exhaustivity = exhaustivity.cast(pl.String)
            exhaustivity = exhaustivity.set(pl.Series(assessed.too_small[node]), "?")
        else:  # not assessed any more
            exhaustivity = pl.Series([None] * len(node), dtype=pl.Int64)
    kinds = _GRADES[scale]
    return {"exhaustivity": exhaustivity.cast(kinds[0]), "specificity": specificity.cast(kinds[1])}


def _counted(judgements: Judgements, forest: Forest, elements: pl.DataFrame) -> pl.DataFrame:
    """Counts and sums of the documents that hold anything of worth."""
    known = pl.DataFrame({"doc": judgements.doc, "elements": np.diff(forest.bounds)})
    found = elements.group_by("doc", maintain_order=True).agg(
        pl.col("relevant").sum(),
        pl.col("leaf").sum().alias("paths"),
        pl.col("worth").sum(),
        pl.col("ideal").sum(),
        pl.col("worth").filter("ideal").sum().alias("gain"),
    )
    found = found.join(known, on="doc", how="left", maintain_order="left")
    return found.select(pl.col(name).cast(kind) for name, kind in _COUNTS.items())


# -- for programs ---------------------------------------------------------------------------------


def _rows(bases: Sequence[RecallBase], *, named: bool) -> pl.DataFrame:
    """The elements of all bases, if wanted with the assessor in front."""
    if not named:
        return pl.concat([base.elements for base in bases])
    return pl.concat(
        base.elements.select(pl.lit(base.assessors).alias("assessor"), "*") for base in bases
    )


def tsv(bases: Sequence[RecallBase], *, named: bool = False) -> str:
    """A row per element, full precision; what is not known is empty."""
    rows = _rows(bases, named=named)
    for name in ("assessor", "doc"):
        for value in rows[name].unique(maintain_order=True) if name in rows.columns else ():
            if set("\t\n\r") & set(value):
                raise UsageError(f"{value!r} cannot be a field of tsv; json can hold it")

    def cell(value: object) -> str:
        if isinstance(value, bool):
            return str(value).lower()
        return "" if value is None else str(value)

    lines = ["\t".join(rows.columns)]
    lines += ["\t".join(map(cell, row)) for row in rows.iter_rows()]
    return "".join(f"{line}\n" for line in lines)


def as_json(bases: Sequence[RecallBase], *, named: bool = False) -> str:
    """What the bases were built from, counts of the documents, and a row per element."""
    first = bases[0]
    meta = {
        "version": __version__,
        "topic": first.topic,
        "scale": first.scale,
        "quant": first.quant,
        "base": first.base,
        "tie": first.tie,
        "assessors": "each" if named else first.assessors,
        "exclude_tags": list(first.exclude_tags),
        "docs": list(first.docs),
        "complete": first.complete,
        "inputs": [{"path": path, "sha256": digest} for path, digest in first.inputs],
        "warnings": list(dict.fromkeys(w for base in bases for w in base.warnings)),
    }
    documents = [
        ({"assessor": base.assessors} if named else {}) | counts
        for base in bases
        for counts in base.documents.to_dicts()
    ]
    elements = _rows(bases, named=named).to_dicts()
    for element in elements:
        grade = element["exhaustivity"]
        if isinstance(grade, str) and grade != "?":
            element["exhaustivity"] = int(grade)
    # A line for each row: to be read by people as well, and by tools that work on lines.
    parts = [f' "meta": {json.dumps(meta, ensure_ascii=False)}']
    for name, rows in (("documents", documents), ("elements", elements)):
        inside = ",\n".join(f"  {json.dumps(row, ensure_ascii=False)}" for row in rows)
        parts.append(f' "{name}": [\n{inside}\n ]' if rows else f' "{name}": []')
    return "{\n" + ",\n".join(parts) + "\n}\n"


# -- for people -----------------------------------------------------------------------------------

_BOLD, _DIM = "1", "2"
_GAP = "  "
_BRANCHES = (("├─ ", "└─ ", "│  ", "   "), ("├ ", "└ ", "│ ", "  "), ("├", "└", "│", " "))
"""Child, last child, beside later children, below the last child: from wide to narrow."""
_LEGEND = (
    "ideal: in the ideal recall base",
    "leaf: a relevant path ends here, nothing below is relevant",
)


class _Line(NamedTuple):
    """A line of a tree: an element, or how many were left out below its parent."""

    text: str
    element: int | None


class _Style:
    """Bold and dim text on a terminal, plain text elsewhere."""

    def __init__(self, *, on: bool) -> None:
        self.on = on

    def __call__(self, text: str, code: str) -> str:
        return f"\033[{code}m{text}\033[0m" if self.on and text else text


def text(
    bases: Sequence[RecallBase], *, named: bool = False, width: int = 100, styled: bool = False
) -> str:
    """A tree for each document with counts above it, and a summary of all documents."""
    style = _Style(on=styled)
    parts = [_drawn(base, width, style, named=named) for base in bases]
    if any(len(base.elements) for base in bases):
        # Last, where a terminal stands after a long output.
        parts.append("".join(f"{style(line, _DIM)}\n" for line in _folded(_LEGEND, width)))
    return "\n".join(parts)


def _drawn(base: RecallBase, width: int, style: _Style, *, named: bool) -> str:
    by = f", assessor {_printable(base.assessors)}" if named else ""
    if base.note is not None:
        return f"{base.note}{by}\n"
    method = "ideal base" if base.base == "ideal" else f"{base.base} base"
    title = f"topic {_printable(base.topic)}{by}: worth by {base.quant}, {method}, tie {base.tie}"
    lines = [style(title, _BOLD)]
    columns = _columns(base)
    room = width - sum(len(_GAP) + size for _, size, _ in columns) - len(_GAP) - len("ideal leaf")
    branches, size = _fitting(base.elements, room)
    first = 0
    for document, count in zip(
        base.documents.iter_rows(named=True),
        base.elements["doc"].rle().struct.field("len"),
        strict=True,
    ):
        rows = slice(first, first + count)
        lines += ["", *_document(base, document, rows, columns, branches, size, style)]
        first += count
    return "".join(f"{line}\n" for line in [*lines, "", *_summary(base, style)])


def _folded(parts: Sequence[str], width: int) -> list[str]:
    """The parts on one line if it holds them."""
    whole = "; ".join(parts)
    return [whole] if len(whole) <= width else list(parts)


def _printable(name: str) -> str:
    """A name that cannot disturb the terminal."""
    return name if name.isprintable() else repr(name)


def _plural(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


Column = tuple[str, int, list[str]]
"""Header, width and cells."""


def _columns(base: RecallBase) -> list[Column]:
    """The columns beside the tree, those that the scale has and that tell something."""
    elements = base.elements
    cells: dict[str, list[str]] = {}
    if base.scale in ("2002", "2003"):
        joined = "" if base.scale == "2002" else ","
        grades = zip(elements["exhaustivity"], elements["specificity"], strict=True)
        name = "grade" if base.scale == "2002" else "e,s"
        cells[name] = [f"{e}{joined}{s}" if e else "-" for e, s in grades]
    elif base.scale == "2005":
        cells["exh"] = elements["exhaustivity"].to_list()
    for name in ("size", "rsize"):
        if elements[name].is_not_null().any():
            cells[name] = ["-" if n is None else str(n) for n in elements[name]]
    if base.scale in ("2005", "2006") and base.quant != "spec":
        cells["spec"] = ["-" if s is None else f"{s:.4f}" for s in elements["specificity"]]
    cells["worth"] = [f"{worth:.4f}" if worth else "-" for worth in elements["worth"]]
    return [(name, max(map(len, [name, *found])), found) for name, found in cells.items()]


def _fitting(elements: pl.DataFrame, room: int) -> tuple[tuple[str, ...], int]:
    """The widest branches with which all trees fit, else the narrowest; the width of the trees."""
    tag = elements["xpath"].str.extract(r"([^/]+)$").str.len_chars().to_numpy()
    above = elements["depth"].to_numpy() - 1
    for branches in _BRANCHES:
        size = int((above * len(branches[0]) + tag).max())
        if size <= room:
            break
    return branches, size


def _document(
    base: RecallBase,
    counts: dict[str, Any],
    rows: slice,
    columns: Sequence[Column],
    branches: tuple[str, ...],
    size: int,
    style: _Style,
) -> Iterator[str]:
    """The lines of one document."""
    noun = "element" if base.complete else "listed element"
    head = (
        f": {counts['relevant']} of {_plural(counts['elements'], noun)} worth "
        f"{counts['worth']:.4f}; {counts['ideal']} ideal worth {counts['gain']:.4f}; "
        f"{_plural(counts['paths'], 'path')}"
    )
    yield style(_printable(counts["doc"]), _BOLD) + head
    titles = "".join(f"{_GAP}{name:>{wide}}" for name, wide, _ in columns)
    yield style(f"{'':{size}}{titles}", _DIM)
    own = base.elements[rows]
    relevant, leaf, ideal = (own[name].to_list() for name in ("relevant", "leaf", "ideal"))
    for line in _tree(own, base.hidden[rows], branches):
        i = line.element
        if i is None:
            yield style(line.text, _DIM)
            continue
        cells = "".join(f"{_GAP}{found[rows.start + i]:>{wide}}" for _, wide, found in columns)
        marks = f"{_GAP}{'ideal' if ideal[i] else '':5} {'leaf' if leaf[i] else ''}"
        drawn = f"{line.text:{size}}{cells}{marks}".rstrip()
        yield style(drawn, _BOLD if ideal[i] else "" if relevant[i] else _DIM)


def _tree(own: pl.DataFrame, hidden: Ints, branches: tuple[str, ...]) -> Iterator[_Line]:
    """The elements of one document with their branches; what is left out comes last."""
    child, last, beside, below = branches
    depth, aside = own["depth"].to_list(), hidden.tolist()
    label = own["xpath"].str.extract(r"([^/]+)$").to_list()
    left = [int(count > 0) for count in aside]  # lines that are to come below each element
    path: list[int] = []  # the element and those above it
    for i, level in enumerate(depth):
        path = [*path[: level - 1], i]
        if level > 1:
            left[path[-2]] += 1

    def branch(path: Sequence[int]) -> str:
        """What stands before a line below these elements, which uses up one of their lines."""
        if not path:
            return ""
        left[path[-1]] -= 1
        before = "".join(beside if left[above] else below for above in path[:-1])
        return before + (child if left[path[-1]] else last)

    path = []
    for i, level in enumerate([*depth, 1]):
        while len(path) >= level:
            if aside[path[-1]]:
                said = f"... {_plural(aside[path[-1]], 'element')} without relevance"
                yield _Line(branch(path) + said, None)
            path.pop()
        if i < len(depth):
            yield _Line(branch(path) + label[i], i)
            path.append(i)


def _summary(base: RecallBase, style: _Style) -> list[str]:
    """A table of the documents, and a line for all of them."""
    counts = base.documents
    total = counts.select(pl.lit("all").alias("doc"), pl.col(_SUMMED).sum())
    table = pl.concat([counts, total])
    cells = [
        [_printable(value) if i == 0 else f"{value:.4f}" if isinstance(value, float) else str(value)
         for i, value in enumerate(row)]
        for row in table.iter_rows()
    ]  # fmt: skip
    header = ["document", *_SUMMED]
    widths = [max(map(len, column)) for column in zip(header, *cells, strict=True)]

    def line(row: Sequence[str]) -> str:
        first = row[0].ljust(widths[0])
        return _GAP.join([first, *map(str.rjust, row[1:], widths[1:])]).rstrip()

    lines = [line(header), _GAP.join("-" * size for size in widths), *map(line, cells)]
    return [style(lines[0], _DIM), style(lines[1], _DIM), *lines[2:-1], style(lines[-1], _BOLD)]


BASE_FORMATS: dict[str, Callable[..., str]] = {"text": text, "json": as_json, "tsv": tsv}
"""Format to writer, ``writer(bases, named=...)``: whether to name the assessor of each base. Text
also takes ``width`` and ``styled``."""
