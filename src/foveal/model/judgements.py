"""Judgements: for every topic and document, which text is relevant and where to start reading."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from foveal.errors import InputError, Problem, UsageError, plural
from foveal.files.source import Provenance
from foveal.lookup import NumberedRows, gather, number_rows, sort_topics
from foveal.model.run import UNKNOWN, Columns, FromFiles
from foveal.spans import Bools, Floats, Ints

ASSESSOR_POLICIES = ("union", "majority", "intersection")
"""The ways to combine the highlights of several assessors of one document."""

PLACE_COLUMNS = pl.Schema(
    {"row": pl.Int64, "start": pl.String, "end": pl.String, "bep": pl.Boolean, "line": pl.Int64}
)
"""The columns of `Judgements.places`."""

# Columns of spans, and tables with a column ``row``; all others are columns of rows.
_SPAN_COLUMNS = ("start", "end", "grade", "quotes", "sets", "slots", "aspects")
_TABLES = frozenset(["elements", "places", "evidence", "alternatives"])
_COMBINED = _TABLES | {"sets", "slots"}  # need more than their spans to be combined


class JudgedDocuments(NamedTuple):
    """The distinct documents of judgements, numbered in the order they first occur."""

    names: pl.Series
    number: Ints
    """The document of each row, an index into `names`."""
    length: Ints
    """The first length given of each document, `UNKNOWN` if there is none."""
    measured: Ints
    """The row that gives the length."""


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Judgements(Columns, FromFiles):
    """Assessments, one row per topic, document and assessor, with their highlighted spans.

    The spans of row ``i`` are ``bounds[i]:bounds[i + 1]`` of `start` and `end`; as read they may
    overlap and carry grades. `combined` gives the form that measures work on: one row per topic
    and document, spans disjoint, sorted and relevant.
    """

    topics: tuple[str, ...]
    """Gold topics in canonical order; a topic without a row has no judged document."""
    bounds: Ints
    sources: tuple[Provenance, ...]
    topic: Ints
    """Index into `topics` of each row."""
    doc: pl.Series
    length: Ints
    """Length of the document, `UNKNOWN` where not given."""
    bep: Ints
    """Best entry point, `UNKNOWN` where not given."""
    relevant: Bools
    """True if the document holds relevant text (or is relevant, where no text is given)."""
    document_grade: Floats | None = None
    """Grade of each document as a file of whole documents gives it (TREC)."""
    line: Ints
    file: Ints
    """The origin of each row: line number and index into `sources`."""
    declared: Ints | None = None
    """Relevant characters of each row as the file gives them."""
    assessor: pl.Series | None = None
    start: Ints
    end: Ints
    grade: Floats | None = None
    """Grade of each span; 0 is judged, not relevant. Absent: all 1."""
    quotes: pl.DataFrame | None = None
    """``quote``, ``prefix``, ``suffix`` of each span."""
    sets: pl.Series | None = None
    """The evidence sets that each span belongs to, null or empty where it belongs to all. The spans
    of a set, over all documents of the topic, answer it together; any set answers it."""
    slots: pl.Series | None = None
    """The slots that each span can fill, null or empty where it fills none. A topic needs one span
    for each of its slots, from any document."""
    aspects: pl.Series | None = None
    """The aspects of the topic that each span is about (TREC Genomics)."""
    elements: pl.DataFrame | None = None
    """Assessed elements, with ``row`` pointing to the judgement. Elements of INEX XML have a
    ``line`` of their own, and in combined judgements its ``file``."""
    places: pl.DataFrame | None = None
    """Passages and best entry points given as XPaths: ``row``, ``start``, ``end`` (null for an
    entry point), ``bep`` (True for an entry point), ``line``, and where files give it the ``size``
    of passages."""
    evidence: pl.DataFrame | None = None
    """After `combined`, where spans have sets or grades: ``row``, ``set``, ``start``, ``end`` and
    ``grade`` of the spans of every set, as they were judged."""
    alternatives: pl.DataFrame | None = None
    """After `combined`, where spans have slots: ``row``, ``slot``, ``start`` and ``end`` of the
    spans that can fill every slot. Slots are numbered through all topics."""
    unanswerable: frozenset[str] = frozenset()
    """The topics that no document answers: the right result is none."""
    has_text: bool = True
    """False for judgements of whole documents (TREC), and of elements and passages that only a
    collection can resolve to spans."""
    header: Mapping[str, Any] | None = None
    """Declarations of the file: collection, scale, white space, version."""
    notes: tuple[str, ...] = ()
    unread: Mapping[str, int] | None = None
    """Contents of the file that are not kept here, and how often they occur."""
    given: Judgements | None = None
    """The judgements before `combined`, row by row, where a document has one assessor only: other
    tools count spans as they were marked, also where they overlap or touch."""

    lasting = ("row", "pairs", "pair", "documents", "rel_size")
    based_on = frozenset(["topics", "topic", "doc", "length", "bounds", "start", "end"])

    @classmethod
    def from_rows(
        cls,
        rows: pl.DataFrame,
        counts: Ints,
        start: Ints,
        end: Ints,
        *,
        source: Provenance,
        grade: Floats | None = None,
        topics_without_documents: Iterable[str] = (),
        **extra: Any,
    ) -> Judgements:
        """Return judgements from columns of rows and all spans, `counts` of them for each row.

        The columns are ``topic``, ``doc``, ``line`` and optionally ``length``, ``bep``,
        ``assessor``, ``document_grade`` and ``relevant`` (derived from the spans where it is
        absent). Other fields are `extra`.
        """
        columns: dict[str, Any] = rows.to_dict()
        first_rows, topic = number_rows(rows["topic"])
        judged = gather(rows["topic"], first_rows).to_list()
        topics = sort_topics({*judged, *topics_without_documents})
        bounds = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        unknown = pl.repeat(UNKNOWN, len(rows), dtype=pl.Int64, eager=True)
        for name in ("length", "bep", "line"):
            given = columns.get(name, unknown).cast(pl.Int64).fill_null(UNKNOWN)
            columns[name] = given.to_numpy()
        for name in {"relevant", "document_grade"} & columns.keys():
            columns[name] = columns[name].to_numpy()
        if "relevant" not in columns:
            text = end > start if grade is None else (end > start) & (grade > 0)
            columns["relevant"] = np.diff(np.concatenate([[0], np.cumsum(text)])[bounds]) > 0
        columns |= {"topic": _renumber(judged, topics)[topic], "file": np.zeros_like(topic)}
        columns |= {"start": start, "end": end, "grade": grade}
        return cls(topics=topics, bounds=bounds, **columns, sources=(source,), **extra)

    @classmethod
    def from_highlights(
        cls, judged: Mapping[str, Mapping[str, Mapping[str, Any]]], *, name: str = "judgements"
    ) -> Judgements:
        """Return judgements from dicts: topic to document to ``spans``, ``length``, ``bep``.

        ``sets`` may name the evidence sets of each span, None for all of them.

        >>> Judgements.from_highlights({"1": {"D1": {"spans": [(10, 40)], "length": 100}}})
        <Judgements: 1 topics, 1 documents judged, 1 relevant>
        """
        rows = [
            {"spans": (), "sets": None, **entry, "topic": topic, "doc": doc}
            for topic, docs in judged.items()
            for doc, entry in docs.items()
        ]
        types = {"topic": pl.String, "doc": pl.String, "length": pl.Int64, "bep": pl.Int64}
        frame = pl.DataFrame(rows, schema=types).with_columns(line=pl.int_range(1, pl.len() + 1))
        spans = [span for row in rows for span in row["spans"]]
        start, end = np.array(spans, dtype=np.int64).reshape(-1, 2).T.copy()
        counts = np.array([len(row["spans"]) for row in rows], dtype=np.int64)
        sets = None
        if any(row["sets"] for row in rows):
            named = [own for row in rows for own in row["sets"] or [None] * len(row["spans"])]
            if len(named) != len(spans):
                given = plural(len(named), "list")
                raise UsageError(f"{given} of sets for {len(spans)} spans; expected one each")
            named = [None if names is None else [*names] for names in named]
            sets = pl.Series(named, dtype=pl.List(pl.String))
        return cls.from_rows(frame, counts, start, end, source=Provenance(name), sets=sets)

    def __repr__(self) -> str:
        return (
            f"<Judgements: {len(self.topics)} topics, {len(self)} documents judged, "
            f"{int(self.relevant.sum())} relevant>"
        )

    @cached_property
    def row(self) -> Ints:
        """The row that each span belongs to."""
        return np.repeat(np.arange(len(self.bounds) - 1), np.diff(self.bounds))

    @cached_property
    def rel_size(self) -> Ints:
        """Highlighted characters of each row (after `combined`: Trel of the document)."""
        return np.diff(np.concatenate([[0], np.cumsum(self.end - self.start)])[self.bounds])

    @cached_property
    def reach(self) -> Ints:
        """The offset at which the last span of each row ends, 0 without any."""
        reach = np.zeros(len(self), dtype=np.int64)
        np.maximum.at(reach, self.row, self.end)
        return reach

    @property
    def topics_without_documents(self) -> tuple[str, ...]:
        """The judged topics for which no document is listed: nothing is relevant."""
        listed = np.bincount(self.topic, minlength=len(self.topics))
        return tuple(t for t, rows in zip(self.topics, listed.tolist(), strict=True) if not rows)

    def passages(self, row: int) -> list[tuple[int, int]]:
        """Return the spans of one row, in their order."""
        own = slice(int(self.bounds[row]), int(self.bounds[row + 1]))
        return list(zip(self.start[own].tolist(), self.end[own].tolist(), strict=True))

    @cached_property
    def pairs(self) -> NumberedRows:
        """The pairs of topic and document, as numbers."""
        return number_rows(self.topic, self.doc)

    @cached_property
    def pair(self) -> Ints:
        """The first row of the same topic and document, of each row."""
        return self.pairs.first_rows[self.pairs.number]

    @property
    def assessors(self) -> tuple[str, ...]:
        """The named assessors, sorted."""
        if self.assessor is None:
            return ()
        return tuple(sorted(self.assessor.drop_nulls().unique().to_list()))

    @property
    def several_assessors(self) -> bool:
        """True if any document of any topic has more than one row."""
        return len(self.pairs.first_rows) < len(self)

    @cached_property
    def shared(self) -> Bools:
        """True for each row of `combined` that several rows judge."""
        return np.bincount(self.pairs.number) > 1

    @cached_property
    def documents(self) -> JudgedDocuments:
        """The distinct documents."""
        first_rows, number = number_rows(self.doc)
        known = np.flatnonzero(self.length >= 0)
        measured = np.full(len(first_rows), UNKNOWN, dtype=np.int64)
        measured[number[known][::-1]] = known[::-1]  # the first row with a length is written last
        length = np.append(self.length, UNKNOWN)[measured]
        return JudgedDocuments(gather(self.doc, first_rows), number, length, measured)

    def check_lengths(self, *, ends: bool = True) -> None:
        """Refuse documents with two lengths and, with `ends`, spans past the end of documents."""
        _, number, length, measured = self.documents
        known, length = measured[number], length[number]
        problems = [
            self.problem(
                "judgements.length",
                row,
                f"document {self.doc[row]!r} is {self.length[row]} characters long here, but "
                f"{length[row]} {self.describe_place(known[row], row)}",
            )
            for row in np.flatnonzero((self.length >= 0) & (self.length != length)).tolist()
        ]
        if ends and not problems and (self.end > np.append(length, 0)[self.row]).any():
            for row in np.flatnonzero((length >= 0) & (self.reach > length)).tolist():
                text = f"a span ends at {self.reach[row]}, past the {length[row]} characters of"
                text += " document"
                problems.append(self.problem("judgements.span", row, f"{text} {self.doc[row]!r}"))
        if problems:
            raise InputError(problems)

    def find_repeated(self) -> list[Problem]:
        """Return a problem for each row of a topic, document and assessor but the first."""
        found = self.pairs
        if self.assessor is not None:
            found = number_rows(self.topic, self.doc, self.assessor)
        first = found.first_rows[found.number]
        return [
            self.problem(
                "judgements.repeated",
                row,
                f"topic {self.topics[self.topic[row]]!r}, document {self.doc[row]!r} is already "
                f"judged {self.describe_place(first[row], row)}; expected one line for each (two "
                "assessors need two files or an assessor field)",
            )
            for row in np.flatnonzero(first != np.arange(len(first))).tolist()
        ]

    def find_answered(self) -> list[Problem]:
        """Return a problem for each relevant row of a topic that is declared unanswerable."""
        declared = np.array([topic in self.unanswerable for topic in self.topics], dtype=bool)
        return [
            self.problem(
                "judgements.answerable",
                row,
                f"topic {self.topics[self.topic[row]]!r} is unanswerable, but {self.doc[row]!r} is "
                "relevant to it; expected one of the two",
            )
            for row in np.flatnonzero(declared[self.topic] & self.relevant).tolist()
        ]

    def only(self, keep: Bools, *, topics: Collection[str] | None = None) -> Judgements:
        """Return the rows that `keep` marks.

        Of the topics without a judged document those among `topics` are kept, all by default.
        """
        bare = [t for t in self.topics_without_documents if topics is None or t in topics]
        kept = sort_topics([*(self.topics[t] for t in np.unique(self.topic[keep])), *bare])
        rows, spans = np.flatnonzero(keep), np.flatnonzero(keep[self.row])
        columns = {
            name: column[spans if name in _SPAN_COLUMNS else rows]
            for name, column in self.columns.items()
            if name not in _TABLES
        }
        columns["topic"] = _renumber(self.topics, kept)[columns["topic"]]
        for name in _TABLES & self.columns.keys():
            table = self.columns[name]
            table = table.filter(pl.Series(keep[table["row"].to_numpy()]))
            columns[name] = point_to(table, np.cumsum(keep) - 1)
        return replace(
            self,
            **columns,
            topics=kept,
            unanswerable=self.unanswerable.intersection(kept),
            bounds=np.concatenate([[0], np.cumsum(np.diff(self.bounds)[keep])]),
            given=None if self.given is None else self.given.only(keep, topics=bare),
        )

    def for_topics(self, topics: Iterable[str]) -> Judgements:
        """Return the judgements of these topics."""
        wanted = set(topics)
        keep = np.array([topic in wanted for topic in self.topics], dtype=bool)
        return self.only(keep[self.topic], topics=wanted)

    def of_assessor(self, name: str) -> Judgements:
        """Return the judgements of one assessor."""
        if self.assessor is None or name not in self.assessors:
            known = ", ".join(self.assessors) or "none is named"
            raise UsageError(f"no assessor {name!r} in the judgements ({known})")
        return self.only((self.assessor == name).fill_null(value=False).to_numpy())

    def combined(self, policy: str = "union") -> Judgements:
        """Return one row per topic and document, its relevant spans disjoint and sorted.

        `policy` is one of `ASSESSOR_POLICIES` or the name of an assessor: ``majority`` keeps the
        characters that more than half of a document's assessors highlighted, ``intersection``
        those that all of them did. An element gets the strongest assessment that as many of them
        give it or a stronger one. The best entry point is the first one in reading order; where
        several must agree, the first inside the text they agree on. Evidence sets stay those of
        their assessors; slots of one name are one slot. Both are cut to the text that is kept.
        """
        if policy not in ASSESSOR_POLICIES:
            return self.of_assessor(policy).combined()
        apart = (self.start[1:] > self.end[:-1]) | (self.row[1:] != self.row[:-1])
        is_plain = not self.several_assessors and all(
            getattr(self, name) is None for name in _COMBINED
        )
        is_plain &= self.grade is None or bool((self.grade == 1).all())
        if is_plain and (self.end > self.start).all() and apart.all():
            # Spans that are all relevant, disjoint and sorted are combined already.
            relevant = np.diff(self.bounds) > 0 if self.has_text else self.relevant
            bep = np.where(relevant, self.bep, UNKNOWN)
            names = ("declared", "assessor", "grade", "quotes", "aspects")
            dropped: dict[str, Any] = dict.fromkeys(names)
            return self.with_columns(relevant=relevant, bep=bep, given=self, **dropped)
        from foveal.model.assessors import combine_columns

        given = None if self.several_assessors else self
        return self.with_columns(**combine_columns(self, policy), given=given)

    def united(self) -> Judgements:
        """Return the same rows with disjoint, sorted relevant spans; assessors stay separate."""
        from foveal.model.assessors import agree_spans

        rows = np.arange(len(self))
        return self.with_columns(**agree_spans(self, np.ones_like(rows), rows))

    @classmethod
    def merged(
        cls, parts: Sequence[Judgements], *, several: bool | None = None, distinct: bool = True
    ) -> Judgements:
        """Return several files as one set.

        A document judged in two of them has two assessors. If `several` files judge one document of
        a topic, rows that do not name an assessor are named after their file; files that share none
        may all be of one assessor. By default that is found out here. Two rows for one topic,
        document and assessor are refused, unless rows need not be `distinct`. So is relevant text
        of a topic that another file declares unanswerable.
        """
        merged = parts[0] if len(parts) == 1 else _stack(parts, several=several)
        repeated = merged.find_repeated() if distinct else []
        if problems := [*repeated, *merged.find_answered()]:
            raise InputError(problems)
        return merged

    def to_frame(self) -> pl.DataFrame:
        """Return a row per highlighted span; a document without any has one with null offsets."""
        topic = pl.Series(self.topics, dtype=pl.String).gather(self.topic)
        columns = {"topic": topic, "doc": self.doc, "length": self.length, "bep": self.bep}
        known = pl.col("length", "bep")
        rows = pl.DataFrame(columns).with_columns(
            pl.when(known >= 0).then(known).name.keep(), row=pl.int_range(pl.len())
        )
        spans = pl.DataFrame({"row": self.row, "start": self.start, "end": self.end})
        return rows.join(spans, on="row", how="left", maintain_order="left_right").drop("row")


def point_to(table: pl.DataFrame, number: Ints) -> pl.DataFrame:
    """Return the table with the new number of each row that it points to."""
    return table.with_columns(row=pl.Series(number[table["row"].to_numpy()], dtype=pl.Int64))


def share_documents(topic: Ints, doc: pl.Series, file: Ints) -> bool:
    """Return True if two files judge one document of a topic."""
    judged = pl.DataFrame({"topic": topic, "doc": doc, "file": file}).unique()
    return len(judged.select("topic", "doc").unique()) < len(judged)


def _renumber(names: Sequence[str], others: Sequence[str]) -> Ints:
    """Return the index of each name among the others, -1 where it is not one of them."""
    index = {name: i for i, name in enumerate(others)}
    return np.array([index.get(name, -1) for name in names], dtype=np.int64)


def _merge_headers(parts: Sequence[Judgements]) -> dict[str, Any]:
    """Return the declarations that all files make alike; refuse two scales or white space rules."""
    headers = [part.header or {} for part in parts]
    first = headers[0].items()
    merged = {name: value for name, value in first if all(h.get(name) == value for h in headers)}
    for name in ("scale", "whitespace"):
        for part, header in zip(parts, headers, strict=True):
            # The scale of a file without elements does not matter.
            if not header.get(name) or (name == "scale" and part.elements is None):
                continue
            if merged.setdefault(name, header[name]) != header[name]:
                text = f"{name} is {header[name]!r} here; expected {merged[name]!r}, as before"
                raise InputError.at("judgements.mixed", part.sources[0].path, None, text)
    return merged


def _stack(parts: Sequence[Judgements], *, several: bool | None) -> Judgements:
    """Return the rows of all parts as one set, which may judge a document twice."""
    has_text = {part.has_text for part in parts if len(part)}
    if len(has_text) > 1:
        raise UsageError(
            "judgements of whole documents (TREC) and of passages cannot be mixed; "
            "score them separately"
        )
    topics = sort_topics(topic for part in parts for topic in part.topics)
    stems = [part.sources[0].stem for part in parts]
    tables: dict[str, list[pl.DataFrame]] = {name: [] for name in ("rows", "spans", *_TABLES)}
    n_rows = n_files = 0
    for part, stem in zip(parts, stems, strict=True):
        columns = {**part.columns, "topic": _renumber(part.topics, topics)[part.topic]}
        columns["file"] = part.file + n_files
        for kind in _TABLES & columns.keys():
            tables[kind].append(columns.pop(kind).with_columns(pl.col("row") + n_rows))
        spans = {name: columns.pop(name) for name in _SPAN_COLUMNS if name in columns}
        if "quotes" in spans:
            spans["quotes"] = spans["quotes"].to_struct()
        name = stem if stems.count(stem) == 1 else part.sources[0].path
        tables["rows"].append(pl.DataFrame(columns).with_columns(name=pl.lit(name)))
        tables["spans"].append(pl.DataFrame(spans))
        n_rows, n_files = n_rows + len(part), n_files + len(part.sources)
    found = {kind: pl.concat(own, how="diagonal_relaxed") for kind, own in tables.items() if own}
    if share_documents(*found["rows"]["topic", "doc", "file"]) if several is None else several:
        assessor = pl.coalesce(pl.col("^assessor$"), "name")
        found["rows"] = found["rows"].with_columns(assessor=assessor)
    merged: dict[str, Any] = {}
    for column in (*found.pop("rows").drop("name"), *found.pop("spans")):
        is_number = column.dtype.is_numeric()
        # Columns that a file does not have are null in its rows; spans without a grade have 1.
        given = column.fill_null(1 if column.name == "grade" else UNKNOWN) if is_number else column
        is_array = is_number or column.dtype == pl.Boolean
        merged[column.name] = given.to_numpy() if is_array else given
    if "quotes" in merged:
        merged["quotes"] = merged["quotes"].struct.unnest()
    return Judgements(
        **(merged | found),
        topics=topics,
        bounds=np.concatenate([[0], *(np.diff(part.bounds) for part in parts)]).cumsum(),
        sources=tuple(source for part in parts for source in part.sources),
        unanswerable=frozenset().union(*(part.unanswerable for part in parts)),
        has_text=has_text != {False},
        header=_merge_headers(parts),
        notes=tuple(note for part in parts for note in part.notes),
        unread=sum((Counter(part.unread) for part in parts), Counter[str]()) or None,
    )
