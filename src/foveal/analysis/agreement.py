"""Agreement of assessors on characters, passages, documents, entry points and grades."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from foveal import spans
from foveal._version import __version__
from foveal.collection import Collection
from foveal.collection.placement import place_judgements
from foveal.errors import UsageError, plural, shorten_list
from foveal.formats import read_judgements
from foveal.model import UNKNOWN, Judgements, Provenance
from foveal.model.result_object import Result
from foveal.model.run import ALL
from foveal.model.tables import Table, format_cell
from foveal.spans import Bools, Floats, Ints

Given = Judgements | str | Path

REACH = (0, 100, 500, 1000)
"""Distances in characters within which best entry points are counted as close."""
COUNTS = ("topics", "documents", "characters", "bep_documents", "elements")
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
    notes: tuple[str, ...] = ()
    """Warnings, and reasons why figures are not defined."""
    meta: Mapping[str, Any] = field(default_factory=dict)

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
            raise UsageError(f"no document in common: topic {topic or ALL}, pair {pair or ALL}")
        found = row[figure][0]
        return math.nan if found is None else float(found)

    def parts(self) -> dict[str, Any]:
        rows = self.frame.to_dicts()
        return {"assessors": self.assessors, "topics": self.topics, "rows": rows}

    def rows(self, *, per_topic: bool = False) -> Iterator[dict[str, Any]]:
        """Yield the two assessors, the topic, what the row is over, figure and value.

        ``all`` is all topics or all assessors.
        """
        for row in self.frame.iter_rows(named=True):
            head = {name: row[name] or ALL for name in ("first", "second", "topic", "over")}
            for name in (*COUNTS, *FIGURES) if per_topic or row["over"] != "topic" else ():
                yield {
                    **head,
                    "figure": name,
                    "value": math.nan if row[name] is None else row[name],
                }

    def summary(self) -> str:
        """Return the agreement of all assessors on highlighted text in a sentence."""
        kappa, f1 = self.value("kappa"), self.value("f1")
        if math.isnan(kappa):
            return "The assessors have no text in common on which agreement is defined."
        topics = plural(int(self.value("topics")), "topic")
        return (
            f"Highlighted characters of {len(self.assessors)} assessors, pooled over {topics}: "
            f"kappa {kappa:.4f}, F1 {f1:.4f}."
        )

    def tables(self, *, per_topic: bool = False) -> list[Table]:
        """Return tables of text and documents, of best entry points, and of grades."""
        rows = self.frame if per_topic else self.frame.filter(pl.col("over") != "topic")
        if len(self.assessors) == 2:  # the rows of the pair are those of all assessors
            rows = rows.filter(pl.col("first").is_not_null())
        tables = []
        for title, columns, notes in _TABLES:
            if not self.frame[next(iter(columns))].sum():  # the number of compared items
                continue
            lines = []
            for row in rows.iter_rows(named=True):
                who = ALL if row["first"] is None else f"{row['first']} - {row['second']}"
                cells = (format_cell(row[name], _DIGITS.get(name, 4)) for name in columns)
                lines.append((who, row["topic"] or row["over"], *cells))
            header = ("assessors", "topic" if per_topic else "over", *columns.values())
            tables.append(Table(header, tuple(lines), labels=2, title=title, notes=notes))
        return tables


_TEXT = {name: name for name in ("topics", "documents", *FIGURES[:7])} | {
    "documents": "docs",
    "f1": "F1",
    "jaccard": "Jaccard",
    "doc_observed": "doc obs.",
    "doc_kappa": "doc kappa",
}
_ENTRY = {"bep_documents": "docs", "bep_mean": "mean", "bep_median": "median"} | {
    f"bep_{reach}": f"<={reach}" for reach in REACH
}
_NOTES = (
    "docs: judged by both (all: by two or more).",
    "observed, kappa, F1, Jaccard: of characters; alpha: Krippendorff's, of passages.",
    "mean: over the topics on which a figure is defined.",
)
_TABLES: tuple[tuple[str, dict[str, str], tuple[str, ...]], ...] = (
    ("Agreement on text and documents", _TEXT, _NOTES),
    ("Best entry points: characters apart, and the share of documents within", _ENTRY, ()),
    (
        "Grades of elements: kappa with linear weights",
        {"elements": "elements", "grade_kappa": "kappa"},
        (),
    ),
)
"""Title, columns with their headings, and notes of each table."""


_DIGITS = dict.fromkeys(COUNTS, 0) | {"bep_mean": 1, "bep_median": 1}


def agreement(
    judgements: Given | Sequence[Given] | Mapping[str, Given],
    *,
    collection: str | Path | None = None,
    topics: Iterable[str] | None = None,
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
    topics : iterable of str, optional
        Topics to compare; by default all.

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
            raise UsageError(f"topics wanted but not judged: {shorten_list(unknown)}")
        given = given.for_topics(wanted)
    if len(given.assessors) < 2:
        raise UsageError(
            f"all judgements are of one assessor, {''.join(given.assessors)!r}; agreement is "
            "between two or more, each in a file of their own or named in the judgements"
        )
    given.check_lengths()
    if collection is not None:
        given = place_judgements(given, Collection.open(collection))
    if not given.relevant.any():  # all relevant text is known, as there is none
        given = replace(given, has_text=True)
    compared = _SideBySide(given.united())
    notes = (*given.notes, *compared.notes())
    meta = {
        "version": __version__,
        "inputs": [{"path": s.path, "sha256": s.sha256} for s in given.sources],
        "warnings": list(notes),
    }
    return Agreement(compared.assessors, given.topics, compared.tabulate(), notes, meta)


def _read(judgements: Given | Sequence[Given] | Mapping[str, Given]) -> Judgements:
    """Merge judgements into one set in which every row has an assessor.

    An assessor without a name is called by the stem of the file, or its path if two share a stem.
    """
    if isinstance(judgements, Mapping):
        names, given = list(judgements), list(judgements.values())
    else:
        given = [judgements] if isinstance(judgements, Given) else list(judgements)
        places = [own.sources[0].path if isinstance(own, Judgements) else str(own) for own in given]
        stems = [Path(p).name if Path(p).is_dir() else Provenance(p).stem for p in places]
        pairs = zip(stems, places, strict=True)
        names = [stem if stems.count(stem) == 1 else place for stem, place in pairs]
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
        self.judgements, self.assessors = judgements, judgements.assessors
        code = {name: i for i, name in enumerate(self.assessors)}
        assessor = judgements.assessor.replace_strict(code, return_dtype=pl.Int64).to_numpy()
        self.several = np.bincount(judgements.pair, minlength=len(judgements))[judgements.pair]
        """Number of assessors who judged the document of each row."""
        shared = self.several > 1
        if not shared.any():
            raise UsageError(
                f"no document was judged by two of the {len(code)} assessors "
                f"({shorten_list(self.assessors)}) for the same topic; there is nothing to compare"
            )
        rows = {"document": judgements.pair, "assessor": assessor, "row": np.arange(len(assessor))}
        frame = pl.DataFrame(rows).filter(pl.Series(shared))
        both = (
            frame.join(frame, on="document", suffix="_2")
            .filter(pl.col("assessor") < pl.col("assessor_2"))
            .sort("row", "row_2")
        )
        first, second = both["row"].to_numpy(), both["row_2"].to_numpy()
        self.first, self.second = first, second
        self.topic = judgements.topic[first]
        self.pair = assessor[first] * len(code) + assessor[second]
        judgements.check_lengths(ends=False)
        self.length = judgements.documents.length[judgements.documents.number]
        self.sized = judgements.has_text and bool((self.length[shared] >= 0).all())
        """True if the lengths of all documents are known."""
        # Tables and figures of each couple, summed up later.
        size, relevant = judgements.rel_size, judgements.relevant
        overlap, self.difference = self._compare_units()
        length = self.length[first] if self.sized else np.full(len(first), np.nan)
        self.text = _cross(length, size[first], size[second], overlap)
        if not judgements.has_text:
            self.text[:] = np.nan
        found = relevant[first], relevant[second]
        self.documents = _cross(np.ones(len(first)), *found, found[0] & found[1])
        # One line of a file that names both assessors has their best entry points and grades once.
        line, file = judgements.line, judgements.file
        own = (line[first] != line[second]) | (file[first] != file[second])
        entry = relevant & (judgements.bep >= 0)
        apart = np.abs(judgements.bep[first] - judgements.bep[second])
        self.apart = np.where(entry[first] & entry[second] & own, apart, UNKNOWN)
        """Distance of best entry points in documents that both find relevant."""
        self.grades = self._compare_grades(own)
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
        lists = [spans.list_ranges(bounds[r], bounds[r + 1]) for r in (self.first, self.second)]
        n = len(lists[0][0])
        owner, at = (np.concatenate(column) for column in zip(*lists, strict=True))
        start, end = self.judgements.start[at], self.judgements.end[at]
        # Spans of all couples on one axis, one couple after the other.
        extent = np.zeros(number, dtype=np.int64)
        np.maximum.at(extent, owner, end)
        base = spans.lay_out(extent)
        start, end = start + base[owner], end + base[owner]
        low, high = spans.find_covered(start, end, 2)
        couple = np.searchsorted(base, low, side="right") - 1
        of, met = spans.pair_overlaps(start[:n], end[:n], start[n:], end[n:])
        met += n
        squares = (start[of] - start[met]) ** 2 + (end[of] - end[met]) ** 2
        alone = np.bincount(np.append(of, met), minlength=len(end)) == 0
        lengths = (end - start)[alone].astype(np.float64)
        difference = np.bincount(owner[of], squares, number).astype(np.float64)
        difference += np.bincount(owner[alone], lengths**2, number)
        return np.bincount(couple, high - low, number).astype(np.int64), difference

    def _compare_grades(self, usable: Bools) -> Floats:
        """Count the elements of each couple by the two grades they have."""
        counts = np.zeros((len(self.first), _MOST, _MOST))
        elements = self.judgements.elements
        name = next((g for g in _GRADES if elements is not None and g in elements.columns), None)
        if elements is None or name is None:
            return counts
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
        np.add.at(counts, tuple(both.select("couple", "grade", "grade_2").to_numpy().T), 1)
        return counts

    def notes(self) -> Iterator[str]:
        """Yield notes on judgements left out and on undefined figures."""
        judgements = self.judgements
        if alone := len(np.unique(judgements.pair[self.several == 1])):
            yield f"documents that only one assessor judged for a topic: {alone}; they are left out"
        if not judgements.has_text:
            yield "no highlighted text is known (a collection places XPaths): only documents count"
        elif not self.sized:
            yield (
                "documents have no length: observed agreement, kappa and alpha of characters are "
                "not defined; a collection (--collection) knows lengths"
            )

    def tabulate(self) -> pl.DataFrame:
        """Return the rows of an `Agreement`."""
        rows: list[dict[str, Any]] = []
        for pair in (*np.unique(self.pair).tolist(), None):
            names: dict[str, str | None] = {"first": None, "second": None}
            couples = np.arange(len(self.pair))
            if pair is not None:
                one, two = divmod(pair, len(self.assessors))
                names = {"first": self.assessors[one], "second": self.assessors[two]}
                couples = np.flatnonzero(self.pair == pair)
            own = []
            for topic in np.unique(self.topic[couples]).tolist():
                figures = self._measure(couples[self.topic[couples] == topic], joint=pair is None)
                label = self.judgements.topics[topic]
                own.append({"topic": label, **names, "over": "topic", **figures})
            known = {n: [row[n] for row in own if not math.isnan(row[n])] for n in FIGURES}
            means = {name: _ratio(sum(values), len(values)) for name, values in known.items()}
            whole = self._measure(couples, joint=pair is None)
            pooled = {"topic": None, **names, "over": "pooled", **whole}
            rows += [*own, pooled, {**pooled, "over": "mean", **means}]
        types: dict[str, Any] = dict.fromkeys(("topic", "first", "second", "over"), pl.String)
        types |= dict.fromkeys(COUNTS, pl.Int64) | dict.fromkeys(FIGURES, pl.Float64)
        return pl.DataFrame(rows, schema=types)

    def _measure(self, couples: Ints, *, joint: bool) -> dict[str, Any]:
        """Return counts and figures of some couples.

        Tables of one pair of assessors add up. Tables of several pairs are joined by their
        disagreement, which has no first and second. Alpha of `joint` couples is of all assessors.
        """
        first, second = self.first[couples], self.second[couples]
        pairs, number = np.unique(self.pair[couples], return_inverse=True)

        def pool(tables: Floats) -> Floats:
            pooled = np.zeros((len(pairs), *tables.shape[1:]))
            np.add.at(pooled, number, tables[couples])
            return pooled

        text, grades = pool(self.text), pool(self.grades)
        observed, kappa = compare_marks(text)
        doc_observed, doc_kappa = compare_marks(pool(self.documents))
        both, either = float(text[:, 1, 1].sum()), float(text[:, 1].sum() + text[:, :, 1].sum())
        _, one_each = np.unique(self.judgements.pair[first], return_index=True)
        apart = self.apart[couples][self.apart[couples] >= 0]
        rows = np.unique([first, second]) if joint else np.concatenate([first, second])
        return {
            "topics": len(np.unique(self.topic[couples])),
            "documents": len(one_each),
            "characters": int(self.length[first][one_each].sum()) if self.sized else None,
            "bep_documents": len(apart),
            "elements": int(grades.sum()),
            "observed": observed,
            "kappa": kappa,
            "f1": _ratio(2 * both, either),
            "jaccard": _ratio(both, either - both),
            "alpha": self._alpha(couples, rows, joint=joint) if self.sized else math.nan,
            "doc_observed": doc_observed,
            "doc_kappa": doc_kappa,
            "bep_mean": _ratio(float(apart.sum()), len(apart)),
            "bep_median": float(np.median(apart)) if len(apart) else math.nan,
            **{f"bep_{r}": _ratio(float((apart <= r).sum()), len(apart)) for r in REACH},
            "grade_kappa": compare_marks(grades)[1],
        }

    def _alpha(self, couples: Ints, rows: Ints, *, joint: bool) -> float:
        """Return Krippendorff's unitised alpha of two assessors, or of all of a document."""
        judgements, bounds = self.judgements, self.judgements.bounds
        weight = 2 / (self.several[self.first[couples]] - 1) if joint else 2.0
        _, at = spans.list_ranges(bounds[rows], bounds[rows + 1])
        units = judgements.end[at] - judgements.start[at]
        _, at = spans.list_ranges(bounds[rows] + rows, bounds[rows + 1] + rows + 1)
        size = float(self.length[rows].sum())
        observed = _ratio(_sum(weight * self.difference[couples]), size)
        return 1 - _ratio(observed, expected_disagreement(units, self.gaps[at], size))


# -- coefficients ------------------------------------------------------------------------------


def _ratio(above: float, below: float) -> float:
    return above / below if below > 0 else math.nan


def _sum(values: Floats) -> float:
    """Add up values one after the other, which does not depend on the number of the others."""
    return float(np.cumsum(values)[-1]) if len(values) else 0.0


def _cross(total: Floats | Ints, first: Ints, second: Ints, both: Ints) -> Floats:
    """Return a table for each couple: of `total` items `first` and `second` marked, by each."""
    only, other = first.astype(float) - both, second.astype(float) - both
    tables = np.array([[total - only - other - both, other], [only, both]], dtype=np.float64)
    return np.moveaxis(tables, -1, 0)


def compare_marks(counts: Floats) -> tuple[float, float]:
    """Return observed agreement and linearly weighted kappa of items with marks from 0 up.

    `counts` has a table of the two marks of items for each pair of assessors. The differences |a-b|
    are summed as observed, and as expected of independent assessors who give each mark as often as
    these do; kappa is 1 - observed/expected. For one table of marks 0 and 1 this is Cohen's kappa.
    The order of the two assessors does not matter.

    >>> [round(value, 4) for value in compare_marks(np.array([[[50.0, 10], [20, 20]]]))]
    [0.7, 0.3478]
    >>> round(compare_marks(np.array([[[1.0, 0, 0], [0, 0, 1], [0, 1, 1]]]))[1], 4)
    0.4286
    """
    step = np.arange(counts.shape[1])
    weights = np.abs(step[:, None] - step).astype(np.float64)
    first, second, number = counts.sum(axis=2), counts.sum(axis=1), counts.sum(axis=(1, 2))
    cross = np.einsum("ti,ij,tj->t", first, weights, second)
    chance = np.divide(cross, number, out=np.zeros(len(number)), where=number > 0)
    differ = float((counts * weights).sum())
    return 1 - _ratio(differ, float(number.sum())), 1 - _ratio(differ, _sum(chance))


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
