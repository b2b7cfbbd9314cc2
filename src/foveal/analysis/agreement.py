"""Agreement of assessors on characters, passages, documents, entry points and grades."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from foveal import spans
from foveal._version import __version__
from foveal.collection import Collection
from foveal.collection.placement import place_judgements
from foveal.errors import InputError, UsageError, counted, some
from foveal.formats import read_judgements
from foveal.model import UNKNOWN, Judgements, Provenance
from foveal.model.result_object import Result
from foveal.model.run import ALL
from foveal.model.tables import Table
from foveal.spans import Ints

__all__ = ["COUNTS", "FIGURES", "Agreement", "agreement"]

Given = Judgements | str | Path
Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

REACH = (0, 100, 500, 1000)
"""Distances in characters within which best entry points are counted as close."""
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


_TEXT = {name: name for name in (*COUNTS[:3], *FIGURES[:7])} | {
    "documents": "docs",
    "f1": "F1",
    "jaccard": "Jaccard",
    "doc_observed": "doc obs.",
    "doc_kappa": "doc kappa",
}
"""Columns of the table of text and documents, and their headings."""
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
    """The agreement of assessors, topic by topic and pair by pair."""

    assessors: tuple[str, ...]
    topics: tuple[str, ...]
    frame: pl.DataFrame
    """A row for each ``topic`` (null: all of them) and each pair of assessors, ``first`` and
    ``second`` (null: all of them). ``over`` is ``topic`` for one topic, ``pooled`` for all topics
    pooled, and ``mean`` for the mean over topics with a figure. The other columns are `COUNTS` and
    `FIGURES`; undefined figures are nan."""
    averaged: pl.DataFrame
    """For each row of means the number of topics behind each figure."""
    notes: tuple[str, ...] = ()
    """Warnings, and reasons why figures are not defined."""
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
        wanted = {"over": over, "topic": topic, "first": first, "second": second}
        row = self.frame.filter(pl.col(name).eq_missing(value) for name, value in wanted.items())
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
        averaged, topics = self.averaged.row(-1, named=True), int(self.value("topics"))
        for columns, title, notes in parts:
            lines = []
            for row in rows.iter_rows(named=True):
                who = ALL if row["first"] is None else f"{row['first']} - {row['second']}"
                where = row["over"] if row["topic"] is None else row["topic"]
                lines.append((who, where, *(_format_figure(name, row[name]) for name in columns)))
            header = ("assessors", "topic" if per_topic else "over", *columns.values())
            fewer = [
                f"{label} {averaged[name]} of {counted(topics, 'topic')}"
                for name, label in columns.items()
                if averaged.get(name, topics) < topics
            ]
            missing = "Topics without a value are not in the means of all assessors"
            said = (*notes, f"{missing}: {', '.join(fewer)}.") if fewer else notes
            tables.append(Table(header, tuple(lines), labels=2, title=title, notes=said))
        return tables


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
    given = _read(judgements)
    if topics is not None:
        wanted = list(topics)
        if unknown := [topic for topic in wanted if topic not in given.topics]:
            raise UsageError(f"topics wanted but not judged: {some(unknown)}")
        given = given.for_topics(wanted)
    if assessors is not None:
        named = list(assessors)
        if strange := [name for name in named if name not in given.assessors]:
            known = some(given.assessors)
            raise UsageError(f"assessors not among the judgements: {some(strange)} ({known})")
        assert given.assessor is not None
        given = given.only(given.assessor.is_in(named).to_numpy())
    if len(given.assessors) < 2:
        who = given.assessors[0] if given.assessors else "nobody"
        raise UsageError(
            f"all judgements are of one assessor, {who!r}; agreement is between two or more, each "
            "in a file of their own or named in the judgements"
        )
    given.check_lengths()
    if collection is not None:
        given = place_judgements(given, Collection.open(collection))
    if not given.relevant.any():  # all relevant text is known, as there is none
        given = replace(given, has_text=True)
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
        if twice := [place for place in places if places.count(place) > 1]:
            raise UsageError(
                f"{twice[0]} is given twice; expected the judgements of another assessor"
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
        parts.append(part.with_columns(assessor=own.cast(pl.String).fill_null(name)))
    return Judgements.merged(parts)


# -- judgements side by side -------------------------------------------------------------------


class _SideBySide:
    """Couples of rows that judge the same document and topic, in the order of their assessors."""

    def __init__(self, judgements: Judgements) -> None:
        assert judgements.assessor is not None
        self.judgements = judgements
        self.assessors = judgements.assessors
        n = len(self.assessors)
        code = {name: i for i, name in enumerate(self.assessors)}
        assessor = judgements.assessor.replace_strict(code, return_dtype=pl.Int64).to_numpy()
        self.judged = np.zeros((len(judgements.topics), n), dtype=np.int64)
        np.add.at(self.judged, (judgements.topic, assessor), 1)
        self.several = np.bincount(judgements.pair, minlength=len(judgements))[judgements.pair]
        """Number of assessors who judged the document of each row."""
        shared = self.several > 1
        if not shared.any():
            raise UsageError(
                f"no document was judged by two of the {n} assessors "
                f"({some(self.assessors)}) for the same topic; there is nothing to compare"
            )
        rows = {"document": judgements.pair, "assessor": assessor, "row": np.arange(len(assessor))}
        frame = pl.DataFrame(rows).filter(pl.Series(shared))
        both = (
            frame.join(frame, on="document", suffix="_2")
            .filter(pl.col("assessor") < pl.col("assessor_2"))
            .sort("row", "row_2")
        )
        self.first, self.second = both["row"].to_numpy(), both["row_2"].to_numpy()
        self.topic = judgements.topic[self.first]
        self.pair = assessor[self.first] * n + assessor[self.second]
        line, file, first, second = judgements.line, judgements.file, self.first, self.second
        one_line = (line[first] == line[second]) & (file[first] == file[second])
        """True if one line of a file names both assessors, and so is not the word of either."""
        judgements.check_lengths(ends=False)
        self.length = judgements.documents.length[judgements.documents.number]
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
        # Figures of each couple, summed up later.
        self.shared_size, self.difference = self._compare_units()
        entry = judgements.relevant & (judgements.bep >= 0)
        apart = np.abs(judgements.bep[first] - judgements.bep[second])
        self.apart = np.where(entry[first] & entry[second] & ~one_line, apart, UNKNOWN)
        """Distance of best entry points in documents that both find relevant."""
        self.grades = self._compare_grades(~one_line)
        # A gap before every unit and one after the last, which ends with its document.
        places = np.arange(len(judgements.start)) + judgements.row
        self.gaps = np.zeros(len(places) + len(judgements), dtype=np.int64)
        self.gaps[places] = judgements.start
        self.gaps[judgements.bounds[1:] + np.arange(len(judgements))] = self.length
        self.gaps[places + 1] -= judgements.end

    def _compare_units(self) -> tuple[Ints, Floats]:
        """Return the characters both highlighted and Krippendorff's difference, of each couple.

        The difference is summed over the units of a couple, each direction once. Units that overlap
        differ by the squares of the distances of their ends; a unit that overlaps none, by the
        square of its length.
        """
        bounds, number = self.judgements.bounds, len(self.first)
        (owner, at), (owner_2, at_2) = (
            _list_ranges(bounds[rows], bounds[rows + 1]) for rows in (self.first, self.second)
        )
        n = len(owner)
        owner, at = np.concatenate([owner, owner_2]), np.concatenate([at, at_2])
        start, end = self.judgements.start[at], self.judgements.end[at]
        # Spans of all couples on one axis, one couple after the other.
        extent = np.zeros(number, dtype=np.int64)
        np.maximum.at(extent, owner, end)
        base = spans.lay_out(extent)
        start, end = start + base[owner], end + base[owner]
        low, high = spans.at_least(start, end, 2)
        couple = np.searchsorted(base, low, side="right") - 1
        left = np.searchsorted(end[n:], start[:n], side="right")
        right = np.maximum(np.searchsorted(start[n:], end[:n], side="left"), left)
        of, met = _list_ranges(left, right)
        squares = (start[of] - start[n + met]) ** 2 + (end[of] - end[n + met]) ** 2
        alone = np.concatenate([right == left, np.bincount(met, minlength=len(end) - n) == 0])
        lengths = (end - start)[alone].astype(np.float64)
        difference = np.bincount(owner[of], squares, number).astype(np.float64)
        difference += np.bincount(owner[alone], lengths**2, number)
        return np.bincount(couple, high - low, number).astype(np.int64), difference

    def _compare_grades(self, usable: Bools) -> Ints | None:
        """Count the elements of each couple by the two grades they have."""
        elements = self.judgements.elements
        name = next((g for g in _GRADES if elements is not None and g in elements.columns), None)
        if elements is None or name is None:
            return None
        graded = (
            elements.filter(pl.col(name).is_not_null())
            .select("row", "xpath", grade=pl.col(name).cast(pl.String).replace("?", "0"))
            .with_columns(pl.col("grade").cast(pl.Int64))
            .unique(("row", "xpath"), keep="first", maintain_order=True)
        )
        both = (
            pl.DataFrame({"row": self.first, "other": self.second})
            .with_row_index("couple")
            .filter(pl.Series(usable))
            .join(graded, on="row")
            .join(graded.rename({"row": "other", "grade": "grade_2"}), on=["other", "xpath"])
        )
        counts = np.zeros((len(self.first), _MOST, _MOST), dtype=np.int64)
        np.add.at(counts, tuple(both.select("couple", "grade", "grade_2").to_numpy().T), 1)
        return counts

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
        judged = (self.judged > 0).astype(np.int64)
        apart = np.triu(judged.T @ judged > 0, 1)
        apart[self.pair // n, self.pair % n] = False
        if apart.any():
            names = [" and ".join(self.assessors[i] for i in two) for two in np.argwhere(apart)]
            yield f"assessors of one topic with no document in common: {some(names)}"
        if not judgements.has_text:
            by_path = judgements.places is not None
            mend = "; a collection (--collection) places it" if by_path else ""
            yield f"no highlighted text is known: only documents are compared{mend}"
        elif not self.sized:
            yield (
                "no document has a length: observed agreement, kappa and alpha of characters are "
                "not defined; a collection (--collection) knows lengths"
            )

    def tables(self) -> tuple[pl.DataFrame, pl.DataFrame]:
        """Return the frames of an `Agreement`: its rows, and numbers of averaged topics."""
        rows: list[dict[str, Any]] = []
        averaged: list[dict[str, Any]] = []
        several = (self.judged > 0).sum(axis=1) > 1
        lone = np.bincount(self.judgements.topic[self.several == 1], minlength=len(several))
        for pair in (*np.unique(self.pair).tolist(), None):
            names = {"first": None, "second": None}
            couples, alone = np.arange(len(self.pair)), lone * several
            if pair is not None:
                one, two = divmod(pair, len(self.assessors))
                names = {"first": self.assessors[one], "second": self.assessors[two]}
                couples = np.flatnonzero(self.pair == pair)
                a, b = self.judged[:, one], self.judged[:, two]
                both = np.bincount(self.topic[couples], minlength=len(several))
                alone = np.where((a > 0) & (b > 0), a + b, 0) - 2 * both
            order = couples[np.argsort(self.topic[couples], kind="stable")]
            topics, starts = np.unique(self.topic[order], return_index=True)
            own = [
                {"topic": self.judgements.topics[topic], **names, "over": "topic"}
                | {**self._measure(group, joint=pair is None), "alone": alone[topic]}
                for topic, group in zip(topics.tolist(), np.split(order, starts[1:]), strict=True)
            ]
            whole = {**self._measure(couples, joint=pair is None), "alone": alone.sum()}
            known = {n: [row[n] for row in own if not math.isnan(row[n])] for n in FIGURES}
            means = {name: _ratio(sum(values), len(values)) for name, values in known.items()}
            rows += own
            rows.append({"topic": None, **names, "over": "pooled", **whole})
            rows.append({"topic": None, **names, "over": "mean", **whole, **means})
            averaged.append({**names, **{name: len(values) for name, values in known.items()}})
        types: dict[str, Any] = dict.fromkeys(("topic", "first", "second", "over"), pl.String)
        types |= dict.fromkeys(COUNTS, pl.Int64) | dict.fromkeys(FIGURES, pl.Float64)
        frame = pl.DataFrame(rows, schema=types)
        return frame, pl.DataFrame(averaged, schema_overrides=dict.fromkeys(names, pl.String))

    def _measure(self, couples: Ints, *, joint: bool) -> dict[str, Any]:
        """Return counts and figures of some couples.

        Tables of one pair of assessors add up. Tables of several pairs are joined by their
        disagreement, which has no first and second. Alpha of `joint` couples is of all assessors.
        """
        judgements = self.judgements
        first, second = self.first[couples], self.second[couples]
        pairs, table = np.unique(self.pair[couples], return_inverse=True)

        def pool(column: npt.NDArray[Any]) -> Floats:
            return np.bincount(table, column).astype(np.float64)

        size, relevant = judgements.rel_size, judgements.relevant
        length = self.length[first] if self.sized else np.full(len(first), np.nan)
        a, b, both = map(pool, (size[first], size[second], self.shared_size[couples]))
        observed, kappa = compare_marks(pool(length), a, b, both)
        c, d = relevant[first], relevant[second]
        doc_observed, doc_kappa = compare_marks(*map(pool, (np.ones(len(c)), c, d, c & d)))
        either = float((a + b).sum()) if judgements.has_text else math.nan
        _, one_each = np.unique(judgements.pair[first], return_index=True)
        apart = np.sort(self.apart[couples])
        apart = apart[np.searchsorted(apart, 0) :]
        grades = np.zeros((len(pairs), _MOST, _MOST), dtype=np.int64)
        if self.grades is not None:
            np.add.at(grades, table, self.grades[couples])
        rows = np.unique([first, second]) if joint else np.concatenate([first, second])
        return {
            "topics": len(np.unique(self.topic[couples])),
            "documents": len(one_each),
            "characters": int(length[one_each].sum()) if self.sized else None,
            "bep_documents": len(apart),
            "elements": int(grades.sum()),
            "observed": observed,
            "kappa": kappa,
            "f1": _ratio(2 * float(both.sum()), either),
            "jaccard": _ratio(float(both.sum()), either - float(both.sum())),
            "alpha": self._alpha(couples, rows, joint=joint) if self.sized else math.nan,
            "doc_observed": doc_observed,
            "doc_kappa": doc_kappa,
            "bep_mean": _ratio(float(apart.sum()), len(apart)),
            "bep_median": float(np.median(apart)) if len(apart) else math.nan,
            **{f"bep_{r}": _ratio(float((apart <= r).sum()), len(apart)) for r in REACH},
            "grade_kappa": math.nan if self.grades is None else weighted_kappa(grades),
        }

    def _alpha(self, couples: Ints, rows: Ints, *, joint: bool) -> float:
        """Return Krippendorff's unitised alpha of two assessors, or of all of a document."""
        judgements, bounds = self.judgements, self.judgements.bounds
        weight = 2 / (self.several[self.first[couples]] - 1) if joint else 2.0
        _, at = _list_ranges(bounds[rows], bounds[rows + 1])
        units = judgements.end[at] - judgements.start[at]
        _, at = _list_ranges(bounds[rows] + rows, bounds[rows + 1] + rows + 1)
        size = float(self.length[rows].sum())
        observed = _ratio(_sum(weight * self.difference[couples]), size)
        return 1 - _ratio(observed, expected_disagreement(units, self.gaps[at], size))


# -- coefficients ------------------------------------------------------------------------------


def _list_ranges(left: Ints, right: Ints) -> tuple[Ints, Ints]:
    """Concatenate the ranges ``left[i]:right[i]``; return the i of each number, and the numbers.

    >>> [x.tolist() for x in _list_ranges(np.array([5, 0, 2]), np.array([7, 0, 3]))]
    [[0, 0, 2], [5, 6, 2]]
    """
    count = right - left
    owner = np.repeat(np.arange(len(left), dtype=np.int64), count)
    before = np.cumsum(count) - count
    return owner, np.arange(len(owner), dtype=np.int64) - before[owner] + left[owner]


def _ratio(above: float, below: float) -> float:
    return above / below if below > 0 else math.nan


def _sum(values: Floats) -> float:
    """Add up values one after the other, which does not depend on the number of the others."""
    return float(np.cumsum(values)[-1]) if len(values) else 0.0


def compare_marks(
    total: Floats, first: Floats, second: Floats, both: Floats
) -> tuple[float, float]:
    """Return observed agreement and kappa of two-by-two tables, one for each pair of assessors.

    With A and B marked by either and C by both of n items, A + B - 2C are observed to differ and
    (A(n-B) + B(n-A))/n expected to; both are summed over the tables, and kappa is 1 -
    observed/expected. For one table this is Cohen's kappa. The order of the two assessors does not
    matter.

    >>> table = (np.array([x]) for x in (100.0, 40.0, 30.0, 20.0))
    >>> [round(value, 4) for value in compare_marks(*table)]
    [0.7, 0.3478]
    """
    differ = float((first + second - 2 * both).sum())
    cross = first * (total - second) + second * (total - first)
    chance = np.divide(cross, total, out=np.zeros(len(total)), where=total > 0)
    return 1 - _ratio(differ, float(total.sum())), 1 - _ratio(differ, _sum(chance))


def weighted_kappa(counts: Ints) -> float:
    """Return the linearly weighted kappa of graded items.

    1 - observed/expected, the sums of |a-b| as observed, and as expected of independent assessors
    who give each grade as often as these do. `counts` has a table of the two grades of items for
    each pair of assessors.

    >>> round(weighted_kappa(np.array([[[1, 0, 0], [0, 0, 1], [0, 1, 1]]])), 4)
    0.4286
    """
    step = np.arange(counts.shape[1])
    weights = np.abs(step[:, None] - step).astype(np.float64)
    first, second, number = counts.sum(axis=2), counts.sum(axis=1), counts.sum(axis=(1, 2))
    cross = np.einsum("ti,ij,tj->t", first, weights, second)
    chance = np.divide(cross, number, out=np.zeros(len(number)), where=number > 0)
    return 1 - _ratio(float((counts * weights).sum()), _sum(chance))


def expected_disagreement(units: Ints, gaps: Ints, size: float) -> float:
    """Return the denominator of Krippendorff's unitised alpha, times the length.

    Every unit is placed on every other unit, and on every gap at least as long, in all ways:
    2 sum((N-1) (2l^3 - 3l^2 + l)/3 + l^2 sum(h - l + 1)) over n(n-1) - sum(l(l-1)), for N units of
    lengths l, gaps of lengths h >= l, and n, the lengths of all continua of all observers.

    Two observers of ten characters, who mark [0, 2) and [1, 4):

    >>> round(expected_disagreement(np.array([2, 3]), np.array([8, 1, 6]), 20.0), 6)
    0.806452
    """
    gaps = np.sort(gaps)
    cumulated = np.concatenate([[0], np.cumsum(gaps)])
    fitting = np.searchsorted(gaps, units)
    room = cumulated[-1] - cumulated[fitting] - (len(gaps) - fitting) * (units - 1)
    length = units.astype(np.float64)  # cubes of long units do not fit in 64 bits
    on_units = (len(units) - 1) * (2 * length**3 - 3 * length**2 + length) / 3
    above = 2 * _sum(on_units + length**2 * room)
    return _ratio(above, size * (size - 1) - _sum(length * (length - 1)))
