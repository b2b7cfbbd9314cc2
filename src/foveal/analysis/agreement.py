"""Agreement of assessors on characters, passages, documents, entry points and grades."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from foveal import spans
from foveal._version import __version__
from foveal.analysis.agreement_coefficients import (
    REACH,
    AgreementTables,
    GroupedLengths,
    distances,
    expected_disagreement,
    ranges,
    ratio,
    sums,
    weighted_kappa,
)
from foveal.collection import Collection
from foveal.collection.placement import place_judgements
from foveal.errors import InputError, UsageError, counted, some
from foveal.formats import read_judgements
from foveal.model import Judgements, Provenance
from foveal.model.result_object import Result
from foveal.model.run import ALL
from foveal.model.tables import Table
from foveal.spans import Ints

__all__ = ["COUNTS", "FIGURES", "Agreement", "agreement"]

Given = Judgements | str | Path
Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

COUNTS = ("topics", "documents", "alone", "characters", "bep_documents", "elements")
"""Columns with numbers of compared items."""
FIGURES = (
    *("observed", "kappa", "f1", "jaccard", "alpha", "doc_observed", "doc_kappa"),
    *("bep_mean", "bep_median", *(f"bep_{reach}" for reach in REACH), "grade_kappa"),
)
"""Columns with figures of agreement."""

_GRADES = ("exhaustivity", "relevance")
"""Columns of assessed elements with a grade of relevance; the first one found is used."""
_MOST = 4
"""Number of grades of the longest scale, 0 to 3."""


_TEXT = {
    "topics": "topics",
    "documents": "docs",
    "alone": "alone",
    "observed": "observed",
    "kappa": "kappa",
    "f1": "F1",
    "jaccard": "Jaccard",
    "alpha": "alpha",
    "doc_observed": "doc obs.",
    "doc_kappa": "doc kappa",
}
_TEXT_NOTES = (
    "docs: judged by both (all: by two or more); alone: by one, of topics both judged.",
    "observed, kappa, F1, Jaccard: of characters; alpha: Krippendorff's, of passages.",
)
_ENTRY = {
    "bep_documents": "docs",
    "bep_mean": "mean",
    "bep_median": "median",
    **{f"bep_{reach}": f"<={reach}" for reach in REACH},
}
_ELEMENTS = {"elements": "elements", "grade_kappa": "kappa"}


@dataclass(frozen=True, eq=False)
class Agreement(Result):
    """The agreement of assessors, topic by topic and pair by pair.

    Parameters
    ----------
    assessors, topics : tuple of str
        The compared assessors and topics.
    frame : polars.DataFrame
        A row for each ``topic`` (null: all of them) and each pair of assessors, ``first`` and
        ``second`` (null: all of them). ``over`` is ``topic`` for one topic, ``pooled`` for all
        topics pooled, and ``mean`` for the mean over topics with a figure. The other columns are
        `COUNTS` and `FIGURES`; undefined figures are nan.
    averaged : polars.DataFrame
        For each row of means the number of topics behind each figure.
    notes : tuple of str
        Warnings, and reasons why figures are not defined.
    meta : mapping
        Version, inputs and warnings.
    """

    assessors: tuple[str, ...]
    topics: tuple[str, ...]
    frame: pl.DataFrame
    averaged: pl.DataFrame
    notes: tuple[str, ...] = ()
    meta: Mapping[str, Any] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"<Agreement: {len(self.assessors)} assessors, {len(self.topics)} topics>"

    def value(
        self,
        figure: str,
        *,
        topic: str | None = None,
        pair: tuple[str, str] | None = None,
        mean: bool = False,
    ) -> float:
        """Return a figure of a topic and a pair of assessors; by default pooled over all of both.

        Undefined figures and unknown counts are nan.
        """
        if figure not in (*COUNTS, *FIGURES):
            raise UsageError(f"no figure {figure!r}; expected {', '.join((*COUNTS, *FIGURES))}")
        first, second = sorted(pair) if pair is not None else (None, None)
        over = "topic" if topic is not None else "mean" if mean else "pooled"
        row = self.frame.filter(
            pl.col("over").eq(over)
            & pl.col("topic").eq_missing(topic)
            & pl.col("first").eq_missing(first)
            & pl.col("second").eq_missing(second)
        )
        if not len(row):
            whom = "the assessors" if pair is None else f"{first!r} and {second!r}"
            where = "any topic" if topic is None else f"topic {topic!r}"
            raise UsageError(f"{whom} have no document of {where} in common")
        found = row[figure][0]
        return math.nan if found is None else float(found)

    def parts(self) -> dict[str, Any]:
        """Return all rows, and the numbers of topics behind the means."""
        return {
            "assessors": self.assessors,
            "topics": self.topics,
            "rows": self.frame.to_dicts(),
            "averaged": self.averaged.to_dicts(),
        }

    def _select(self, *, per_topic: bool) -> pl.DataFrame:
        return self.frame if per_topic else self.frame.filter(pl.col("over") != "topic")

    def rows(self, *, per_topic: bool = False) -> Iterator[dict[str, Any]]:
        """Yield the two assessors, the topic, what the row is over, figure and value.

        ``all`` is all topics or all assessors.
        """
        for row in self._select(per_topic=per_topic).iter_rows(named=True):
            for name in (*COUNTS, *FIGURES):
                yield {
                    "first": row["first"] or ALL,
                    "second": row["second"] or ALL,
                    "topic": row["topic"] or ALL,
                    "over": row["over"],
                    "figure": name,
                    "value": math.nan if row[name] is None else row[name],
                }

    def summary(self) -> str:
        """Return the agreement of all assessors on highlighted text in a sentence."""
        kappa, f1 = self.value("kappa"), self.value("f1")
        if math.isnan(kappa):
            return "The assessors have no text in common on which agreement is defined."
        topics = counted(int(self.value("topics")), "topic")
        return (
            f"Highlighted characters of {len(self.assessors)} assessors, pooled over {topics}: "
            f"kappa {kappa:.4f}, F1 {f1:.4f}."
        )

    def tables(self, *, per_topic: bool = False) -> list[Table]:
        """Return tables of text and documents, of best entry points, and of grades."""
        whole = self.frame.filter(self.frame["topic"].is_null())
        title = f"Agreement of {len(self.assessors)} assessors on text and documents"
        parts: list[tuple[Mapping[str, str], str, tuple[str, ...]]] = [(_TEXT, title, _TEXT_NOTES)]
        if whole["bep_documents"].sum():
            title = "Best entry points: characters apart, and the share of documents within"
            parts.append((_ENTRY, title, ()))
        if whole["elements"].sum():
            parts.append((_ELEMENTS, "Grades of elements: kappa with linear weights", ()))
        rows = self._select(per_topic=per_topic)
        if len(self.averaged) == 2:  # one pair: its rows are those of all assessors
            rows = rows.filter(rows["first"].is_not_null())
        tables = []
        for columns, title, notes in parts:
            lines = []
            for row in rows.iter_rows(named=True):
                who = ALL if row["first"] is None else f"{row['first']} - {row['second']}"
                where = row["over"] if row["topic"] is None else row["topic"]
                lines.append((who, where, *(_format_figure(name, row[name]) for name in columns)))
            header = ("assessors", "topic" if per_topic else "over", *columns.values())
            missing = self._describe_missing_topics(columns)
            tables.append(
                Table(header, tuple(lines), labels=2, title=title, notes=(*notes, *missing))
            )
        return tables

    def _describe_missing_topics(self, columns: Mapping[str, str]) -> Iterator[str]:
        """Name the figures whose mean over all assessors lacks topics: those without a value."""
        row, topics = self.averaged.row(-1, named=True), int(self.value("topics"))
        fewer = [
            f"{label} {row[name]} of {counted(topics, 'topic')}"
            for name, label in columns.items()
            if row.get(name, topics) < topics
        ]
        if fewer:
            missing = "Topics without a value are not in the means of all assessors"
            yield f"{missing}: {', '.join(fewer)}."


def _format_figure(name: str, value: float | None) -> str:
    if value is None or math.isnan(value):
        return "-"
    if name in COUNTS:
        return str(value)
    return f"{value:.1f}" if name in ("bep_mean", "bep_median") else f"{value:.4f}"


def agreement(
    judgements: Given | Sequence[Given] | Mapping[str, Given],
    *,
    collection: str | Path | None = None,
    topics: Iterable[str] | None = None,
    assessors: Iterable[str] | None = None,
) -> Agreement:
    """Compare the judgements of two or more assessors.

    Judgements that name no assessor are by one assessor, called by the file or directory, or by
    the key of the mapping. Only documents that two assessors judged for a topic are compared.
    `docs/agreement.md` has the definitions.

    Parameters
    ----------
    judgements : Judgements, path, a sequence of them, or a mapping of names to them
    collection : path, optional
        A collection index, which resolves XPaths and knows the lengths of documents.
    topics, assessors : iterable of str, optional
        Topics and assessors to compare; by default all.

    Examples
    --------
    In 100 characters ann marks the first 40 and bob 20 to 50. They agree on 70 characters; chance
    agreement is 54:

    >>> ann = Judgements.from_highlights({"1": {"D": {"spans": [(0, 40)], "length": 100}}})
    >>> bob = Judgements.from_highlights({"1": {"D": {"spans": [(20, 50)], "length": 100}}})
    >>> found = agreement({"ann": ann, "bob": bob})
    >>> found.value("observed"), round(found.value("kappa"), 4), round(found.value("f1"), 4)
    (0.7, 0.3478, 0.5714)

    The units differ by 20 at their beginnings and 10 at their ends:

    >>> round(found.value("alpha"), 4)
    0.4019
    """
    given = _select(_read(judgements), topics, assessors)
    given.check_lengths()
    if collection is not None:
        given = place_judgements(given, Collection.open(collection))
    if not given.relevant.any():
        given = replace(
            given, has_text=True
        )  # without relevant documents, all relevant text is known
    compared = _SideBySide(given.united())
    frame, averaged = compared.tables()
    notes = (*given.notes, *compared.notes())
    meta = {
        "version": __version__,
        "inputs": [{"path": s.path, "sha256": s.sha256} for s in given.sources],
        "warnings": list(notes),
    }
    return Agreement(compared.assessors, given.topics, frame, averaged, notes, meta)


def _read(judgements: Given | Sequence[Given] | Mapping[str, Given]) -> Judgements:
    """Merge judgements into one set in which every row has an assessor.

    An assessor without a name is called by the stem of the file, or its path if two share a stem.
    """
    if isinstance(judgements, Mapping):
        names, given = list(judgements), list(judgements.values())
    else:
        given = [judgements] if isinstance(judgements, Given) else list(judgements)
        places = [
            item.sources[0].path if isinstance(item, Judgements) else str(item) for item in given
        ]
        for place in places:
            if places.count(place) > 1:
                raise UsageError(
                    f"{place} is given twice; expected the judgements of another assessor"
                )
        stems = [Path(p).name if Path(p).is_dir() else Provenance(p).stem for p in places]
        names = [
            stem if stems.count(stem) == 1 else place
            for stem, place in zip(stems, places, strict=True)
        ]
    if not given:
        raise UsageError("no judgements given")
    parts = []
    for name, item in zip(names, given, strict=True):
        part = item if isinstance(item, Judgements) else read_judgements(item)
        own = pl.Series([None] * len(part)) if part.assessor is None else part.assessor
        parts.append(replace(part, assessor=own.cast(pl.String).fill_null(name)))
    return Judgements.merged(parts)


def _select(
    judgements: Judgements, topics: Iterable[str] | None, assessors: Iterable[str] | None
) -> Judgements:
    """Select topics and assessors; at least two assessors must remain."""
    if topics is not None:
        wanted = list(topics)
        unknown = [topic for topic in wanted if topic not in judgements.topics]
        if unknown:
            raise UsageError(f"topics wanted but not judged: {some(unknown)}")
        judgements = judgements.for_topics(wanted)
    if assessors is not None:
        named = list(assessors)
        strange = [name for name in named if name not in judgements.assessors]
        if strange:
            known = some(judgements.assessors)
            raise UsageError(f"assessors not among the judgements: {some(strange)} ({known})")
        assert judgements.assessor is not None
        judgements = judgements.only(judgements.assessor.is_in(named).to_numpy())
    if len(judgements.assessors) < 2:
        who = judgements.assessors[0] if judgements.assessors else "nobody"
        raise UsageError(
            f"all judgements are of one assessor, {who!r}; agreement is between two or more, each "
            "in a file of their own or named in the judgements"
        )
    return judgements


# -- judgements side by side -------------------------------------------------------------------


class _Couples(NamedTuple):
    """Pairs of rows that judge the same document and topic, assessors in their order."""

    first: Ints
    second: Ints
    cell: Ints
    """The number of their topic and pair of assessors."""
    one_line: Bools
    """True if one line of a file names both assessors, and so is not the word of either."""


class _SideBySide:
    """Judgements side by side. A cell is a topic and a pair of assessors; figures are of groups."""

    def __init__(self, judgements: Judgements) -> None:
        assert judgements.assessor is not None
        self.judgements = judgements
        self.assessors = judgements.assessors
        n = len(self.assessors)
        code = {name: i for i, name in enumerate(self.assessors)}
        self.assessor = judgements.assessor.replace_strict(code, return_dtype=pl.Int64).to_numpy()
        judgements.check_lengths(ends=False)
        self.length = judgements.documents.length[judgements.documents.number]
        self.several = np.bincount(judgements.pair, minlength=len(judgements))[judgements.pair]
        """Number of assessors who judged the document of each row."""
        shared = self.several > 1
        if not shared.any():
            raise UsageError(
                f"no document was judged by two of the {n} assessors "
                f"({some(self.assessors)}) for the same topic; there is nothing to compare"
            )
        columns = {
            "document": judgements.pair,
            "assessor": self.assessor,
            "row": np.arange(len(judgements)),
        }
        frame = pl.DataFrame(columns).filter(pl.Series(shared))
        both = (
            frame.join(frame, on="document", suffix="_2")
            .filter(pl.col("assessor") < pl.col("assessor_2"))
            .sort("row", "row_2")
        )
        first, second = both["row"].to_numpy(), both["row_2"].to_numpy()
        named = self.assessor[first] * n + self.assessor[second]
        keys, cell = np.unique(judgements.topic[first] * n * n + named, return_inverse=True)
        line, file = judgements.line, judgements.file
        one_line = (line[first] == line[second]) & (file[first] == file[second])
        self.couples = _Couples(first, second, cell, one_line)
        self.cell_topic = keys // (n * n)
        pairs, self.cell_pair = np.unique(keys % (n * n), return_inverse=True)
        self.pairs = [divmod(key, n) for key in pairs.tolist()]
        self.shared_topics, self.cell_shared = np.unique(self.cell_topic, return_inverse=True)
        lost = shared & (self.length < 0)
        self.sized = judgements.has_text and not (lost == shared).all()
        """True if lengths are known; known lengths of some documents only are refused."""
        if self.sized and lost.any():
            raise InputError(
                judgements.problem(
                    "judgements.length",
                    row,
                    f"the length of document {judgements.doc[row]!r} is not known, but that of "
                    "others is; expected a length for all, or a collection (--collection) that "
                    "knows it",
                )
                for row in np.unique(judgements.pair[lost]).tolist()
            )

    def notes(self) -> Iterator[str]:
        """Yield notes on judgements left out and on undefined figures."""
        judgements = self.judgements
        documents = np.unique(judgements.pair[self.several == 1])
        if len(documents):
            yield (
                f"documents that only one assessor judged for a topic: {len(documents)}; they are "
                "left out"
            )
        n = len(self.assessors)
        judged = np.zeros((len(judgements.topics), n), dtype=bool)
        judged[judgements.topic, self.assessor] = True
        met = np.zeros((n, n), dtype=bool)
        met[tuple(np.array(self.pairs).T)] = True
        together = judged.astype(np.int64).T @ judged.astype(np.int64) > 0
        apart = [
            f"{self.assessors[i]} and {self.assessors[j]}"
            for i, j in np.argwhere(np.triu(together & ~met, 1)).tolist()
        ]
        if apart:
            yield f"assessors of one topic with no document in common: {some(apart)}"
        if not judgements.has_text:
            by_path = judgements.places is not None
            mend = "; a collection (--collection) places it" if by_path else ""
            yield f"no highlighted text is known: only documents are compared{mend}"
        elif not self.sized:
            yield (
                "no document has a length: observed agreement, kappa and alpha of characters are "
                "not defined; a collection (--collection) knows lengths"
            )

    # -- sums of every cell --------------------------------------------------------------------

    @cached_property
    def _overlaps(self) -> tuple[Ints, Floats]:
        """Characters that both of each couple highlighted, and Krippendorff's difference.

        The difference is summed over the units of a couple, each direction once. Units that overlap
        differ by the squares of the distances of their ends; a unit that overlaps none, by the
        square of its length.
        """
        bounds, number = self.judgements.bounds, len(self.couples.cell)
        owners, places = zip(
            *(ranges(bounds[rows], bounds[rows + 1]) for rows in self.couples[:2]), strict=True
        )
        owner, at = np.concatenate(owners), np.concatenate(places)
        start, end = self.judgements.start[at], self.judgements.end[at]
        # Spans of all couples on one axis, one couple after the other.
        extent = np.zeros(number, dtype=np.int64)
        np.maximum.at(extent, owner, end)
        base = spans.lay_out(extent)
        start, end = start + base[owner], end + base[owner]
        low, high = spans.at_least(start, end, 2)
        couple = np.searchsorted(base, low, side="right") - 1
        shared = np.bincount(couple, high - low, number).astype(np.int64)
        n = len(owners[0])
        left = np.searchsorted(end[n:], start[:n], side="right")
        right = np.maximum(np.searchsorted(start[n:], end[:n], side="left"), left)
        of, met = ranges(left, right)
        squares = (start[of] - start[n + met]) ** 2 + (end[of] - end[n + met]) ** 2
        alone = np.concatenate([right == left, np.bincount(met, minlength=len(end) - n) == 0])
        lengths = (end - start)[alone].astype(np.float64)
        difference = sums(squares, owner[of], number) + sums(lengths**2, owner[alone], number)
        return shared, difference

    def _sum_cells(self, *columns: npt.NDArray[Any]) -> AgreementTables:
        """Sum up values of couples cell by cell."""
        cells = len(self.cell_topic)
        return AgreementTables(*(sums(column, self.couples.cell, cells) for column in columns))

    @cached_property
    def characters(self) -> AgreementTables:
        """Numbers of characters of each cell: all, and those that either and both highlighted."""
        first, second, *_ = self.couples
        size = self.judgements.rel_size
        known = self.length[first] if self.sized else np.full(len(first), np.nan)
        return self._sum_cells(known, size[first], size[second], self._overlaps[0])

    @cached_property
    def documents(self) -> AgreementTables:
        """Numbers of documents of each cell: all, and those that either and both found relevant."""
        a, b = (self.judgements.relevant[rows] for rows in self.couples[:2])
        return self._sum_cells(np.ones(len(a)), a, b, a & b)

    @cached_property
    def entries(self) -> tuple[Ints, Ints]:
        """Distances of best entry points in documents that both find relevant, and their cells."""
        first, second, cell, one_line = self.couples
        judgements = self.judgements
        told = judgements.relevant & (judgements.bep >= 0)
        both = told[first] & told[second] & ~one_line
        apart = np.abs(judgements.bep[first[both]] - judgements.bep[second[both]])
        return apart, cell[both]

    @cached_property
    def grades(self) -> tuple[Ints, Ints, Ints]:
        """Both grades of elements that both of a couple graded, and their cells."""
        elements = self.judgements.elements
        name = next((g for g in _GRADES if elements is not None and g in elements.columns), None)
        none = np.zeros(0, dtype=np.int64)
        if elements is None or name is None:
            return none, none, none
        graded = (
            elements.filter(pl.col(name).is_not_null())
            .select("row", "xpath", grade=pl.col(name).cast(pl.String).replace("?", "0"))
            .with_columns(pl.col("grade").cast(pl.Int64))
            .unique(("row", "xpath"), keep="first", maintain_order=True)
        )
        first, second, cell, one_line = self.couples
        both = (
            pl.DataFrame({"row": first, "other": second, "cell": cell})
            .filter(pl.Series(~one_line))
            .join(graded, on="row")
            .join(graded.rename({"row": "other", "grade": "grade_2"}), on=["other", "xpath"])
        )
        return both["grade"].to_numpy(), both["grade_2"].to_numpy(), both["cell"].to_numpy()

    @cached_property
    def sections(self) -> tuple[tuple[Ints, Ints], tuple[Ints, Ints]]:
        """Lengths of the units of all rows and of the gaps between, each with bounds by row.

        A gap ends with its document, as a unit never spans two documents.
        """
        judgements = self.judgements
        start, end, bounds = judgements.start, judgements.end, judgements.bounds
        count = np.diff(bounds)
        # Each row has a gap before every unit and one after the last; gaps may be empty.
        places = np.arange(len(start)) + judgements.row
        gaps = np.zeros(len(start) + len(count), dtype=np.int64)
        gaps[places] = start
        tails = bounds[1:] + np.arange(len(count))
        gaps[tails] = self.length
        gaps[places + 1] -= end
        return (end - start, bounds), (gaps, bounds + np.arange(len(bounds)))

    # -- figures of groups of cells ------------------------------------------------------------

    def tables(self) -> tuple[pl.DataFrame, pl.DataFrame]:
        """Return the frames of an `Agreement`: its rows, and numbers of averaged topics."""
        cells, pairs, topics = len(self.cell_topic), len(self.pairs), len(self.shared_topics)
        first, second = ([self.assessors[pair[side]] for pair in self.pairs] for side in (0, 1))
        topic = [self.judgements.topics[t] for t in self.shared_topics.tolist()]
        each = self._figures(np.arange(cells), np.arange(cells), joint=False)
        by_pair = self._figures(self.cell_pair, np.arange(pairs), joint=False)
        by_topic = self._figures(np.arange(cells), self.cell_shared, joint=True)
        whole = self._figures(self.cell_pair, np.zeros(pairs, dtype=np.int64), joint=True)
        for found, alone in zip((each, by_pair, by_topic, whole), self._alone(), strict=True):
            found["alone"] = alone
        pair_means, pair_counts = _means(each, self.cell_pair, pairs)
        means, counts = _means(by_topic, np.zeros(topics, dtype=np.int64), 1)
        of, who = self.cell_shared.tolist(), self.cell_pair.tolist()
        all_topics, all_pairs = [None] * pairs, [None] * topics
        blocks = (
            ("topic", [topic[t] for t in of], [first[p] for p in who], [second[p] for p in who]),
            ("pooled", all_topics, first, second),
            ("mean", all_topics, first, second),
            ("topic", topic, all_pairs, all_pairs),
            ("pooled", [None], [None], [None]),
            ("mean", [None], [None], [None]),
        )
        figures = (each, by_pair, by_pair | pair_means, by_topic, whole, whole | means)
        names = dict.fromkeys(("topic", "first", "second"), pl.String)
        frame = pl.concat(
            pl.DataFrame(dict(zip(names, block, strict=True)), schema=names).with_columns(
                pl.lit(over).alias("over"),
                *(  # null where a number is not known
                    pl.Series(n, found[n].astype(np.float64)).fill_nan(None).cast(pl.Int64)
                    for n in COUNTS
                ),
                *(pl.Series(n, found[n], dtype=pl.Float64) for n in FIGURES),
            )
            for (over, *block), found in zip(blocks, figures, strict=True)
        )
        order = {name: i for i, name in enumerate(topic)}
        names.pop("topic")
        averaged = pl.concat(
            pl.DataFrame({"first": a, "second": b}, schema=names).with_columns(**found)
            for a, b, found in ((first, second, pair_counts), ([None], [None], counts))
        )
        return (
            frame.with_columns(
                number=pl.col("topic").replace_strict(order, return_dtype=pl.Int64),
                rank=pl.col("over").replace_strict({"topic": 0, "pooled": 1, "mean": 2}),
            )
            .sort("first", "second", "number", "rank", nulls_last=True, maintain_order=True)
            .drop("number", "rank"),
            averaged,
        )

    def _figures(self, inner: Ints, outer: Ints, *, joint: bool) -> dict[str, npt.NDArray[Any]]:
        """Return counts and figures; cells are pooled to `inner` groups, and these to `outer` ones.

        Tables of one pair of assessors add up. Tables of several pairs are joined by their
        disagreement, which has no first and second. Alpha of a `joint` group is of all assessors.
        """
        groups = int(outer.max()) + 1
        of = outer[inner]
        characters = self.characters.pooled(inner, len(outer))
        either = sums(characters.first + characters.second, outer, groups)
        both = sums(characters.both, outer, groups)
        told = np.where(self.judgements.has_text, 1.0, np.nan)
        observed, kappa = characters.agreement(outer, groups)
        documents = self.documents.pooled(inner, len(outer))
        doc_observed, doc_kappa = documents.agreement(outer, groups)
        apart, entry = self.entries
        a, b, graded = self.grades
        return {
            **self._counts(of, groups, joint=joint),
            "bep_documents": np.bincount(of[entry], minlength=groups),
            "elements": np.bincount(of[graded], minlength=groups),
            "observed": observed,
            "kappa": kappa,
            "f1": told * ratio(2 * both, either),
            "jaccard": told * ratio(both, either - both),
            "alpha": self._alpha(of, groups, joint=joint),
            "doc_observed": doc_observed,
            "doc_kappa": doc_kappa,
            **distances(apart, of[entry], groups),
            "grade_kappa": weighted_kappa(a, b, inner[graded], outer, groups, _MOST),
        }

    def _topic_groups(self, of: Ints) -> Ints:
        """Return the joint group of every topic, -1 for topics without a shared document."""
        group = np.full(len(self.judgements.topics), -1, dtype=np.int64)
        group[self.cell_topic] = of
        return group

    def _counts(self, of: Ints, groups: int, *, joint: bool) -> dict[str, npt.NDArray[Any]]:
        """Return the numbers of topics, documents and characters compared."""
        if joint:
            rows = np.arange(len(self.judgements))
            heads = np.flatnonzero((self.judgements.pair == rows) & (self.several > 1))
            topic_group = self._topic_groups(of)
            group = topic_group[self.judgements.topic[heads]]
            topics = np.bincount(topic_group[self.shared_topics], minlength=groups)
            size = sums(self.length[heads], group, groups)
        else:
            group = of[self.couples.cell]
            topics = np.bincount(of, minlength=groups)
            size = sums(self.characters.total, of, groups)
        return {
            "topics": topics,
            "documents": np.bincount(group, minlength=groups),
            "characters": size if self.sized else np.full(groups, np.nan),
        }

    def _alone(self) -> tuple[Ints, Ints, Ints, Ints]:
        """Count documents that only one assessor judged, in topics that others judged as well.

        The counts are for topics and pairs, for pairs, for topics, and for all.
        """
        judgements = self.judgements
        judged = np.zeros((len(judgements.topics), len(self.assessors)), dtype=np.int64)
        np.add.at(judged, (judgements.topic, self.assessor), 1)
        a, b = (judged[:, side] for side in np.array(self.pairs).T)
        either = np.where((a > 0) & (b > 0), a + b, 0)
        both = np.bincount(self.couples.cell, minlength=len(self.cell_topic))
        lone = np.bincount(
            judgements.topic[self.several == 1], minlength=len(judgements.topics)
        ) * ((judged > 0).sum(axis=1) > 1)
        of_pair = np.bincount(self.cell_pair, both, len(self.pairs)).astype(np.int64)
        return (
            either[self.cell_topic, self.cell_pair] - 2 * both,
            either.sum(axis=0) - 2 * of_pair,
            lone[self.shared_topics],
            lone.sum(keepdims=True),
        )

    def _alpha(self, of: Ints, groups: int, *, joint: bool) -> Floats:
        """Return Krippendorff's unitised alpha of two assessors, or of all of a document."""
        if not self.sized:
            return np.full(groups, np.nan)
        first, second, cell, _ = self.couples
        if joint:
            rows = np.flatnonzero(self.several > 1)
            group = self._topic_groups(of)[self.judgements.topic[rows]]
            weight = 2 / (self.several[first] - 1)
        else:
            rows, group = np.concatenate([first, second]), np.tile(of[cell], 2)
            weight = np.full(len(first), 2.0)
        size = sums(self.length[rows], group, groups)
        units, gaps = (
            GroupedLengths(length[at], group[owner])
            for length, bounds in self.sections
            for owner, at in [ranges(bounds[rows], bounds[rows + 1])]
        )
        observed = ratio(sums(weight * self._overlaps[1], of[cell], groups), size)
        return 1 - ratio(observed, expected_disagreement(units, gaps, size))


def _means(
    figures: Mapping[str, npt.NDArray[Any]], group: Ints, groups: int
) -> tuple[dict[str, Floats], dict[str, Ints]]:
    """Return the means of the defined figures of each group, and their numbers."""
    means, counts = {}, {}
    for name in FIGURES:
        known = ~np.isnan(figures[name])
        counts[name] = np.bincount(group[known], minlength=groups).astype(np.int64)
        means[name] = ratio(
            sums(figures[name][known], group[known], groups), counts[name].astype(np.float64)
        )
    return means, counts
