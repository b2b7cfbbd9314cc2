"""The full and the ideal recall base of a topic, as a table of elements and as trees."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from foveal._version import __version__
from foveal.errors import InputError, UsageError, counted, some
from foveal.evaluation.evaluation import Evaluation
from foveal.formats import read_judgements
from foveal.model import Judgements
from foveal.model.result_object import Result
from foveal.model.tables import Table
from foveal.recall import QUANTISATIONS, Forest, ideal_base
from foveal.recall.forest import COVERAGES, find_quantisation, scale_of
from foveal.spans import Ints

__all__ = ["BASES", "TIES", "RecallBase", "recall_base"]

TIES = ("ascendant", "deeper")
BASES = ("ideal", "maxsum")

_ELEMENTS: dict[str, type[pl.DataType]] = {
    "doc": pl.String,
    "xpath": pl.String,
    "depth": pl.Int64,
    "size": pl.Int64,
    "rsize": pl.Int64,
    "exhaustivity": pl.Int64,
    "specificity": pl.Float64,
    "worth": pl.Float64,
    "relevant": pl.Boolean,
    "leaf": pl.Boolean,
    "ideal": pl.Boolean,
}
_GRADES: dict[str, dict[str, type[pl.DataType]]] = {
    "2002": {"specificity": pl.String},  # the coverage is a letter
    "2003": {"specificity": pl.Int64},
    "2005": {"exhaustivity": pl.String},  # or ? for too small
    "2006": {},
}
"""Grades of other types, by scale."""
_DOCUMENTS = {
    "doc": pl.String,
    "elements": pl.Int64,
    "relevant": pl.Int64,
    "paths": pl.Int64,
    "worth": pl.Float64,
    "ideal": pl.Int64,
    "gain": pl.Float64,
}
_LEGEND = (
    "ideal: in the ideal recall base; leaf: a relevant path ends here, nothing below is relevant.",
    "others: elements without relevance.",
)


@dataclass(frozen=True, eq=False)
class RecallBase(Result):
    """The full and the ideal recall base of one topic."""

    elements: pl.DataFrame
    """Every element on a path to a relevant one, in document order: ``doc``, ``xpath``, ``depth``
    (the root's is 1), ``size``, ``rsize``, ``exhaustivity``, ``specificity``, ``worth``,
    ``relevant``, ``leaf`` (a relevant path ends here) and ``ideal``. The bases of several assessors
    follow each other, with ``assessor`` as the first column."""
    hidden: Ints
    """Number of elements below each one, outside the paths, that are not in `elements`."""
    documents: pl.DataFrame
    """Counts and sums of each document: ``elements``, ``relevant`` ones and their ``worth``,
    relevant ``paths``, ``ideal`` elements and their ``gain``."""
    meta: Mapping[str, Any]
    """The settings of the bases: ``topic``, ``scale``, ``quant`` (the name of the function itself),
    ``base``, ``tie``, ``assessors``, ``exclude_tags`` and ``docs``; ``complete`` is true if all
    elements of the documents are known, not only the assessed ones."""

    def rows(self) -> Iterator[dict[str, Any]]:
        """Yield the elements."""
        return self.elements.iter_rows(named=True)

    def parts(self) -> dict[str, Any]:
        """Return the counts of documents, and the elements."""
        elements = self.elements.to_dicts()
        for element in elements:  # in 2005 a grade is a number, or ? for too small
            if str(element["exhaustivity"]).isdigit():
                element["exhaustivity"] = int(element["exhaustivity"])
        return {"documents": self.documents.to_dicts(), "elements": elements}

    def summary(self) -> str:
        """Return the size and worth of both bases."""
        docs, total = self.meta["docs"], self._total
        if not len(self.elements):
            where = "".join(f", document {doc!r}" for doc in docs)
            return (
                f"Topic {self.meta['topic']!r}{where}: no element is worth anything by "
                f"{self.meta['quant']}; the recall bases are empty."
            )
        return (
            f"{counted(total['relevant'], 'relevant element')} worth {total['worth']:.4f}; "
            f"{total['ideal']} ideal worth {total['gain']:.4f}."
        )

    @property
    def _total(self) -> dict[str, Any]:
        return self.documents.select(pl.col(list(_DOCUMENTS)[1:]).sum()).to_dicts()[0]

    def tables(self) -> list[Table]:
        """Return the trees, with ideal elements in bold, and the counts of documents."""
        grades = ("exhaustivity", "size", "rsize", "specificity", "worth")
        columns = [name for name in grades if self.elements[name].is_not_null().any()]
        elements = self.elements.to_dicts()
        lines = list(_list_lines(self.elements["depth"].to_list(), self.hidden.tolist()))
        branches = _draw_branches([depth for depth, _, _ in lines])
        rows: list[tuple[str, ...]] = []
        best: set[tuple[int, int]] = set()
        for branch, (depth, at, others) in zip(branches, lines, strict=True):
            element = elements[at]
            if others:
                rows.append((f"{branch}... {counted(others, 'other')}", *[""] * (len(columns) + 2)))
                continue
            if depth == 1:
                rows.append((_name_document(element), *[""] * (len(columns) + 2)))
            if element["ideal"]:
                best |= {(len(rows), j) for j in range(len(columns) + 1)}
            numbers = (_format_cell(element[name]) for name in columns)
            marks = ("yes" if element[name] else "" for name in ("ideal", "leaf"))
            rows.append((branch + element["xpath"].rpartition("/")[2], *numbers, *marks))
        meta, total = self.meta, self._total
        counts = [*self.documents.to_dicts(), {"doc": "all"} | total]
        title = f"Recall base of topic {meta['topic']}: worth by {meta['quant']}, "
        title += f"{meta['base']} base, tie {meta['tie']}"
        trees = Table(
            ("element", *columns, "ideal", "leaf"), tuple(rows), frozenset(best), title=title
        )
        documents = Table(
            ("document", *total),
            tuple(
                (_name_document(own), *(_format_cell(own[name]) for name in total))
                for own in counts
            ),
            title="Documents" + ("" if meta["complete"] else ": listed elements"),
            notes=_LEGEND,
        )
        return [trees, documents] if rows else [documents]


def _name_document(row: Mapping[str, Any]) -> str:
    return ", ".join(row[name] for name in ("doc", "assessor") if name in row)


def _format_cell(value: object) -> str:
    return "-" if value is None else f"{value:.4f}" if isinstance(value, float) else str(value)


def _list_lines(depths: Sequence[int], hidden: Sequence[int]) -> Iterator[tuple[int, int, int]]:
    """Yield the lines of trees: depth, element, and 0 or how many others are below the element."""
    path: list[int] = []  # the element and those above it
    for at, depth in enumerate([*depths, 1]):
        while len(path) >= depth:
            above = path.pop()
            if hidden[above]:
                yield len(path) + 2, above, hidden[above]
        if at < len(depths):
            yield depth, at, 0
            path.append(at)


def _draw_branches(depths: Sequence[int]) -> list[str]:
    """Return the branches before the lines of trees, from their depths.

    >>> _draw_branches([1, 2, 3, 2])
    ['', '├─ ', '│  └─ ', '└─ ']
    """
    drawn: list[str] = []
    followed: set[int] = set()  # depths at which another child comes later
    for depth in reversed(depths):
        if depth == 1:
            drawn.append("")
            followed.clear()
            continue
        before = "".join("│  " if level in followed else "   " for level in range(2, depth))
        drawn.append(before + ("├─ " if depth in followed else "└─ "))
        followed = {level for level in followed if level < depth} | {depth}
    return drawn[::-1]


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
    """Build the recall bases of a topic, as the measures do.

    Parameters
    ----------
    judgements : Judgements or paths
    topic : str
    collection : path, optional
        A collection index; needed if judgements list no elements.
    quant : str, optional
        One of `foveal.recall.QUANTISATIONS`; by default ``spec`` on scales of shares, else ``gen``.
    base : {"ideal", "maxsum"}
    tie : {"ascendant", "deeper"}
        See `foveal.recall.ideal_base`.
    assessors : str
        ``union``, ``majority``, ``intersection``, ``each`` or the name of an assessor.
    exclude_tags : collection of str
        Elements of these tags are worth nothing.
    docs : collection of str
        Documents to show; by default all.

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
        raise UsageError(f"topic {topic!r} is not judged{_suggest(topic, given.topics)}")
    # The scale is that of the whole set: one topic alone need not show every kind of grade.
    scale = scale_of(given)
    quant = quant or ("spec" if scale in ("2005", "2006") else "gen")
    if quant not in QUANTISATIONS:
        raise UsageError(f"no quantisation {quant!r}{_suggest(quant, QUANTISATIONS)}")
    function = find_quantisation(quant, scale).name
    chosen = _select_documents(given, topic, docs)
    chosen = replace(chosen, header={**(given.header or {}), "scale": scale})
    if assessors == "each" and not chosen.assessors:
        raise UsageError(f"--assessors each: no assessor of topic {topic!r} is named")
    excluded = tuple(dict.fromkeys(exclude_tags))
    # Any measure of recall bases will do: these are the trees that it is scored on.
    evaluation = Evaluation(
        chosen, "MAep", collection=collection, assessors=assessors, exclude_tags=excluded
    )
    warnings = [*evaluation.warnings]
    complete = False
    schema = _ELEMENTS | _GRADES[scale]
    found = [
        (pl.DataFrame(schema=schema), np.zeros(0, dtype=np.int64), pl.DataFrame(schema=_DOCUMENTS))
    ]
    for assessor, gold in zip(evaluation.assessors, evaluation.golds, strict=True):
        combined, forest = gold.judgements, gold.forest
        if forest is None:
            if combined.relevant.any():
                raise InputError.at(
                    "judgements.no_elements",
                    evaluation.judgements.sources[0].path,
                    None,
                    "the judgements list no elements, so that the trees of the documents are not "
                    "known; give an index of the collection (--collection), or assessments of "
                    "elements (INEX XML, JSON Lines)",
                )
            continue  # nothing is relevant
        complete = forest.complete
        worth = forest.worth(function)
        ideal = ideal_base(forest, worth, base=base, tie=tie).ideal
        elements, hidden = _list_elements(combined, forest, worth, ideal)
        elements = elements.select(pl.col(name).cast(kind) for name, kind in schema.items())
        documents = _count_elements(combined, forest, elements)
        by = [] if assessor is None else [pl.lit(assessor).alias("assessor")]
        found.append((elements.select(*by, "*"), hidden, documents.select(*by, "*")))
        absent = np.flatnonzero(combined.relevant & (np.diff(forest.bounds) == 0))
        if len(absent):
            names = some(combined.doc.gather(absent).to_list())
            warnings.append(
                f"relevant documents without listed elements, {len(absent)}: {names} (an index of "
                "the collection would supply them, --collection)"
            )
        warnings += [
            f"no element of document {doc!r} is worth anything by {function}"
            for doc in dict.fromkeys(docs)
            if len(documents) and doc not in documents["doc"]
        ]
    frames, hidden_counts, counts = zip(*(found[1:] or found), strict=True)
    meta = {
        "version": __version__,
        "topic": topic,
        "scale": scale,
        "quant": function,
        "base": base,
        "tie": tie,
        "assessors": assessors,
        "exclude_tags": list(excluded),
        "docs": list(dict.fromkeys(docs)),
        "complete": complete,
        "inputs": [{"path": source.path, "sha256": source.sha256} for source in given.sources],
        "warnings": list(dict.fromkeys(warnings)),
    }
    return RecallBase(pl.concat(frames), np.concatenate(hidden_counts), pl.concat(counts), meta)


def _select_documents(given: Judgements, topic: str, docs: Collection[str]) -> Judgements:
    """Return the judgements of a topic, of all documents or some."""
    chosen = given.for_topics([topic])
    known = chosen.doc.unique(maintain_order=True).to_list()
    for doc in docs:
        if doc not in known:
            hint = _suggest(doc, known)
            raise UsageError(f"document {doc!r} is not judged for topic {topic!r}{hint}")
    if docs:
        chosen = chosen.only(chosen.doc.is_in(list(docs)).to_numpy())
    has_elements = chosen.places is not None or chosen.elements is not None
    if chosen.relevant.any() and not (chosen.has_text or has_elements):
        raise InputError.at(
            "judgements.no_elements",
            chosen.sources[0].path,
            None,
            "the judgements are of whole documents and tell nothing of their elements; expected "
            "highlighted text or assessed elements",
        )
    return chosen


def _suggest(name: str, known: Sequence[str]) -> str:
    """Suggest names similar to an unknown one."""
    near = get_close_matches(name, known, 3, 0.5)
    if near:
        return f"; did you mean {' or '.join(near)}?"
    return f"; expected one of {some(known)}"


def _list_elements(
    judgements: Judgements,
    forest: Forest,
    worth: npt.NDArray[np.float64],
    ideal: npt.NDArray[np.bool_],
) -> tuple[pl.DataFrame, Ints]:
    """Return the elements on paths to relevant ones, and the numbers of others below each."""
    relevant = worth > 0
    leads_on = np.zeros(len(forest), dtype=bool)  # something relevant is below
    depth, count = np.ones((2, len(forest)), dtype=np.int64)
    for number, level in reversed(list(enumerate(forest.levels[1:], start=2))):
        depth[level] = number
        leads_on[forest.parent[level[relevant[level] | leads_on[level]]]] = True
        np.add.at(count, forest.parent[level], count[level])
    shown = relevant | leads_on
    aside = np.flatnonzero(~shown & (forest.parent >= 0))
    hidden = np.zeros(len(forest), dtype=np.int64)
    np.add.at(hidden, forest.parent[aside], count[aside])
    node = _sort_elements(forest, np.flatnonzero(shown))
    frame = pl.DataFrame(
        {
            "doc": judgements.doc.gather(forest.row[node]),
            "xpath": forest.xpath.gather(node),
            "depth": depth[node],
            "size": forest.size[node],
            "rsize": forest.rsize[node],
            "worth": worth[node],
            "relevant": relevant[node],
            "leaf": (relevant & ~leads_on)[node],
            "ideal": ideal[node],
            "exhaustivity": forest.assessed.exhaustivity[node],
            "specificity": forest.assessed.specificity[node],
            "too_small": forest.assessed.too_small[node],
        }
    )
    scale, exhaustivity, specificity = (
        forest.assessed.scale,
        pl.col("exhaustivity"),
        pl.col("specificity"),
    )
    if scale == "2002":
        specificity = specificity.cast(pl.Int64).replace_strict(
            dict(enumerate(COVERAGES)), return_dtype=pl.String
        )
    elif scale in ("2005", "2006"):
        specificity = pl.when(pl.col("rsize") >= 0).then(specificity)
        graded = pl.when("too_small").then(pl.lit("?")).otherwise(exhaustivity.cast(pl.String))
        # From 2006 on exhaustivity is not assessed.
        exhaustivity = graded if scale == "2005" else pl.lit(None)
    known = (pl.when(pl.col(name) >= 0).then(name).alias(name) for name in ("size", "rsize"))
    return frame.with_columns(*known, exhaustivity=exhaustivity, specificity=specificity), hidden[
        node
    ]


def _sort_elements(forest: Forest, shown: Ints) -> Ints:
    """Return the shown elements, each followed by its descendants.

    Siblings are in document order, or by tag and number if assessments do not give offsets.
    """
    step = forest.xpath.gather(shown).str.extract_groups(r"/([^/\[\]]+)\[([0-9]+)\]$").struct
    siblings = pl.DataFrame(
        {
            "node": shown,
            "root": np.where(forest.parent[shown] < 0, forest.row[shown], 0),
            "start": forest.start[shown] if forest.complete else np.zeros_like(shown),
            "tag": step.field("1"),
            # Numbers of any length: shorter ones are smaller.
            "digits": step.field("2").str.len_bytes(),
            "number": step.field("2"),
        }
    ).sort("root", "start", "tag", "digits", "number", descending=True)
    children: dict[int, list[int]] = {}
    for node in siblings["node"].to_list():
        children.setdefault(int(forest.parent[node]), []).append(node)
    ordered: list[int] = []
    waiting = children.pop(-1, [])  # the roots, the first one last
    while waiting:
        node = waiting.pop()
        ordered.append(node)
        waiting += children.get(node, [])
    return np.array(ordered, dtype=np.int64)


def _count_elements(judgements: Judgements, forest: Forest, elements: pl.DataFrame) -> pl.DataFrame:
    """Return counts and sums of documents with relevant elements."""
    known = pl.DataFrame({"doc": judgements.doc, "elements": np.diff(forest.bounds)})
    found = elements.group_by("doc", maintain_order=True).agg(
        pl.col("relevant").sum(),
        pl.col("leaf").sum().alias("paths"),
        pl.col("worth").sum(),
        pl.col("ideal").sum(),
        pl.col("worth").filter("ideal").sum().alias("gain"),
    )
    found = found.join(known, on="doc", how="left", maintain_order="left")
    return found.select(pl.col(name).cast(kind) for name, kind in _DOCUMENTS.items())
