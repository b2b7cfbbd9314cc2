"""The full and the ideal recall base of a topic as a table of elements."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import Path

import numpy as np
import numpy.typing as npt
import polars as pl

from foveal.errors import InputError, UsageError, some
from foveal.evaluation.evaluation import Evaluation
from foveal.formats import read_judgements
from foveal.model import Judgements
from foveal.model.tables import LONGEST, Table, to_html
from foveal.recall import QUANTISATIONS, Forest, ideal_base
from foveal.recall.forest import COVERAGES, find_quantisation, scale_of
from foveal.spans import Ints

__all__ = ["BASES", "SUMMED", "TIES", "RecallBase", "recall_base"]

TIES = ("ascendant", "deeper")
BASES = ("ideal", "maxsum")

Bools = npt.NDArray[np.bool_]
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
SUMMED = list(_COUNTS)[1:]
_SHOWN = 40
"""Elements that a notebook shows."""


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
        Number of elements below each one, outside the paths, that are not in `elements`.
    documents : polars.DataFrame
        Counts and sums of each document: ``elements``, ``relevant`` ones and their ``worth``,
        relevant ``paths``, ``ideal`` elements and their ``gain``.
    complete : bool
        True if all elements of the documents are known, not only the assessed ones.
    topic, scale, quant, base, tie, assessors : str
        Settings of the bases; `quant` is the name of the function itself.
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
        """A note on empty bases."""
        if len(self.elements):
            return None
        where = "".join(f", document {doc!r}" for doc in self.docs)
        return (
            f"topic {self.topic!r}{where}: no element is worth anything by {self.quant}; the "
            "recall bases are empty"
        )

    def _repr_html_(self) -> str:
        """The trees, each element below its parent, ideal ones in bold."""
        grades = ("size", "rsize", "exhaustivity", "specificity", "worth")
        columns = [name for name in grades if self.elements[name].is_not_null().any()]
        rows: list[tuple[str, ...]] = []
        bold: set[tuple[int, int]] = set()
        for element in self.elements.head(_SHOWN).iter_rows(named=True):
            if element["depth"] == 1:
                bold.add((len(rows), 0))
                rows.append((element["doc"], *[""] * len(columns), ""))
            if element["ideal"]:
                bold |= {(len(rows), j) for j in range(len(columns) + 2)}
            step = "\N{EM SPACE}" * element["depth"] + element["xpath"].rpartition("/")[2]
            said = " ".join(word for word in ("ideal", "leaf") if element[word])
            cells = [
                "\N{EN DASH}" if v is None else f"{v:.4f}" if isinstance(v, float) else str(v)
                for v in map(element.get, columns)
            ]
            rows.append((step, *cells, said))
        count = self.documents.select(pl.len(), pl.col(SUMMED).sum()).to_dicts()[0]
        relevant = f"{count['relevant']} relevant elements worth {count['worth']:.4f}"
        ideal = f"{count['ideal']} ideal worth {count['gain']:.4f}"
        more = len(self.elements) - _SHOWN
        notes = (f"and {more} more elements",) if more > 0 else ()
        table = Table(
            ("element", *columns, ""),
            tuple(rows),
            frozenset(bold),
            title=f"topic {self.topic}: worth by {self.quant}, {self.base} base, tie {self.tie}",
            notes=(*notes, self.note or f"{count['len']} documents: {relevant}, {ideal}"),
        )
        return to_html(table, longest=LONGEST)


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
        ``union``, ``majority``, ``intersection`` or the name of an assessor.
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
    given = replace(given, header={**(given.header or {}), "scale": scale})
    excluded = tuple(dict.fromkeys(exclude_tags))
    if assessors == "each":
        raise UsageError("a recall base is of one assessor, or of all together; give a name")
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
    # Any measure of recall bases will do: these are the trees that it is scored on.
    evaluation = Evaluation(
        chosen,
        "MAep",
        collection=collection,
        assessors=assessors,
        exclude_tags=excluded,
    )
    (gold,) = evaluation.golds
    combined, forest = gold.judgements, gold.forest
    if forest is None and combined.relevant.any():
        raise InputError.at(
            "judgements.no_elements",
            evaluation.judgements.sources[0].path,
            None,
            "the judgements list no elements, so that the trees of the documents are not known; "
            "give an index of the collection (--collection), or assessments of elements (INEX XML, "
            "JSON Lines)",
        )
    warnings = [*evaluation.warnings]
    if forest is None:  # nothing is relevant
        grades = dict(zip(("exhaustivity", "specificity"), _GRADES[scale], strict=True))
        elements = pl.DataFrame(schema={name: (_COLUMNS | grades)[name] for name in _ORDER})
        hidden, documents = np.zeros(0, dtype=np.int64), pl.DataFrame(schema=_COUNTS)
    else:
        worth = forest.worth(function)
        ideal = ideal_base(forest, worth, base=base, tie=tie).ideal
        elements, hidden = _list_elements(combined, forest, worth, ideal)
        documents = _count_elements(combined, forest, elements)
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
        exclude_tags=excluded,
        docs=tuple(dict.fromkeys(docs)),
        warnings=tuple(warnings),
        inputs=tuple((source.path, source.sha256) for source in given.sources),
    )


def _suggest(name: str, known: Sequence[str]) -> str:
    """Suggest names similar to an unknown one."""
    near = get_close_matches(name, known, 3, 0.5)
    if near:
        return f"; did you mean {' or '.join(near)}?"
    return f"; expected one of {some(known)}"


def _list_elements(
    judgements: Judgements, forest: Forest, worth: npt.NDArray[np.float64], ideal: Bools
) -> tuple[pl.DataFrame, Ints]:
    """Return the elements on paths to relevant ones, and the numbers of others below each."""
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
    node = _sort_elements(forest, shown)
    frame = pl.DataFrame(
        {
            "doc": judgements.doc.gather(forest.row[node]),
            "xpath": forest.xpath.gather(node),
            "depth": depth[node],
            "size": _nullify(forest.size[node]),
            "rsize": _nullify(forest.rsize[node]),
            "worth": worth[node],
            "relevant": relevant[node],
            "leaf": (relevant & ~leads_on)[node],
            "ideal": ideal[node],
            **_list_grades(forest, node),
        },
        schema_overrides=_COLUMNS,
    )
    return frame.select(_ORDER), hidden[node]


def _sort_elements(forest: Forest, shown: Bools) -> Ints:
    """Return the shown elements, each followed by its descendants.

    Siblings are in document order, or by tag and number if assessments do not give offsets.
    """
    step = forest.xpath.str.extract_groups(r"/([^/\[\]]+)\[([0-9]+)\]$").struct
    siblings = pl.DataFrame(
        {
            "start": forest.start if forest.complete else np.zeros_like(forest.start),
            "tag": step.field("1"),
            # Numbers of any length: shorter ones are smaller.
            "digits": step.field("2").str.len_bytes(),
            "number": step.field("2"),
        }
    )
    rank = np.empty(len(forest), dtype=np.int64)
    rank[siblings.select(pl.arg_sort_by("start", "tag", "digits", "number")).to_series()] = (
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


def _nullify(values: Ints) -> pl.Series:
    """Replace unknown numbers with null."""
    return pl.Series(values).set(pl.Series(values < 0), None)


def _list_grades(forest: Forest, node: Ints) -> dict[str, pl.Series]:
    """Return the grades of the assessors on their scale."""
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
    return found.select(pl.col(name).cast(kind) for name, kind in _COUNTS.items())
