"""Judgements: for every topic and document, which text is relevant and where to start reading."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from foveal.errors import InputError, Problem, UsageError, counted
from foveal.lookup import find_first_rows, sort_topics
from foveal.model.run import UNKNOWN, LockedArrays, Provenance
from foveal.spans import Ints

__all__ = ["ASSESSOR_POLICIES", "PLACE_COLUMNS", "Judgements"]

ASSESSOR_POLICIES = ("union", "majority", "intersection")
"""How the highlights of several assessors of one document become one."""

PLACE_COLUMNS: dict[str, type[pl.DataType]] = {
    "row": pl.Int64,
    "start": pl.String,
    "end": pl.String,
    "bep": pl.Boolean,
    "line": pl.Int64,
}
"""The columns of `Judgements.places`."""

_OF_FILES = ("collection", "version")
"""What files declare that one set of them can hold only once."""

Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Judgements(LockedArrays):
    """Assessments, one row per topic, document and assessor, with their highlighted spans.

    The spans of row ``i`` are ``bounds[i]:bounds[i + 1]`` of `start` and `end`; as read they may
    overlap and carry grades. `combined` gives the form that measures work on: one row per topic
    and document, spans disjoint, sorted and relevant.

    Parameters
    ----------
    topics : tuple of str
        Gold topics in canonical order; a topic without a row has no judged document.
    topic : int64 array
        Index into `topics` of each row.
    doc : polars.Series of str
    length, bep : int64 arrays
        Length of the document and best entry point, `UNKNOWN` where not given.
    relevant : bool array
        Whether the document holds relevant text (or is relevant, where no text is given).
    bounds, start, end : int64 arrays
        The highlighted spans.
    line, file : int64 arrays
        Where each row was read: line number and index into `sources`.
    has_text : bool
        False for judgements of whole documents (TREC), and of elements and passages that only a
        collection can place: no span is known.
    grade : float64 array, optional
        Grade of each span; 0 is judged, not relevant. Absent: all 1.
    declared : int64 array, optional
        Relevant characters of each row as the file states them.
    assessor : polars.Series of str, optional
    quotes : polars.DataFrame, optional
        ``quote``, ``prefix``, ``suffix`` of each span.
    elements : polars.DataFrame, optional
        Assessed elements, with ``row`` pointing to the judgement. Elements of INEX XML have a
        ``line`` of their own, and in combined judgements its ``file``.
    places : polars.DataFrame, optional
        Passages and best entry points given as XPaths: ``row``, ``start``, ``end`` (null for an
        entry point), ``bep``, whether it is one, ``line``, where it was read, and where files give
        it the ``size`` of passages.
    sets : polars.Series of lists of str, optional
        The evidence sets that each span belongs to, null or empty where it belongs to all. The
        spans of a set, over all documents of the topic, answer it together; any set answers it.
    evidence : polars.DataFrame, optional
        After `combined`, where spans have sets or grades: ``row``, ``set``, ``start``, ``end`` and
        ``grade`` of the spans of every set, as they were judged.
    header : mapping
        What the file declared about itself (collection, scale, white space, version).
    unread : mapping of str to int, optional
        What the file says that is not kept here, and how often.
    aspects : polars.Series of lists of str, optional
        The aspects of the topic that each span speaks about (TREC Genomics).
    given : Judgements, optional
        What `combined` made these of, row by row, where a document has one assessor only: other
        tools count spans as they were marked, also where they overlap or touch.
    """

    topics: tuple[str, ...]
    topic: Ints
    doc: pl.Series
    length: Ints
    bep: Ints
    relevant: Bools
    bounds: Ints
    start: Ints
    end: Ints
    line: Ints
    file: Ints
    sources: tuple[Provenance, ...]
    has_text: bool = True
    grade: npt.NDArray[np.float64] | None = None
    declared: Ints | None = None
    assessor: pl.Series | None = None
    quotes: pl.DataFrame | None = None
    elements: pl.DataFrame | None = None
    places: pl.DataFrame | None = None
    sets: pl.Series | None = None
    evidence: pl.DataFrame | None = None
    header: Mapping[str, Any] | None = None
    notes: tuple[str, ...] = ()
    unread: Mapping[str, int] | None = None
    aspects: pl.Series | None = None
    given: Judgements | None = None

    @classmethod
    def from_rows(
        cls,
        frame: pl.DataFrame,
        counts: Ints,
        start: Ints,
        end: Ints,
        *,
        source: Provenance,
        grade: npt.NDArray[np.float64] | None = None,
        has_text: bool = True,
        topics_without_documents: Iterable[str] = (),
        **extra: Any,
    ) -> Judgements:
        """Return judgements from a frame of rows and all spans, `counts` of them for each row.

        `frame` has ``topic``, ``doc``, ``line`` and optionally ``length``, ``bep``, ``assessor``
        and ``relevant`` (derived from the spans where it is absent).
        """
        topics = sort_topics({*frame["topic"].unique().to_list(), *topics_without_documents})
        number = {topic: i for i, topic in enumerate(topics)}
        code = np.zeros(len(frame), dtype=np.int64)
        if len(topics) > 1:
            code = frame["topic"].replace_strict(number, return_dtype=pl.Int64).to_numpy().copy()
        bounds = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        if "relevant" in frame.columns:
            relevant = frame["relevant"].to_numpy().copy()
        else:
            text = end > start
            if grade is not None:
                text &= grade > 0
            cumulated = np.concatenate([[0], np.cumsum(text)])
            relevant = cumulated[bounds[1:]] > cumulated[bounds[:-1]]
        numbers: dict[str, Any] = {
            name: np.full(len(frame), UNKNOWN, dtype=np.int64) for name in ("length", "bep", "line")
        }
        for name in numbers:
            if name in frame.columns:
                column = frame[name].fill_null(UNKNOWN) if frame[name].null_count() else frame[name]
                numbers[name] = column.to_numpy().astype(np.int64)
        return cls(
            **numbers,
            topics=topics,
            topic=code,
            doc=frame["doc"],
            relevant=relevant,
            bounds=bounds,
            start=start,
            end=end,
            file=np.zeros(len(frame), dtype=np.int64),
            sources=(source,),
            has_text=has_text,
            grade=grade,
            assessor=frame["assessor"] if "assessor" in frame.columns else None,
            **extra,
        )

    @classmethod
    def from_highlights(
        cls, judged: Mapping[str, Mapping[str, Mapping[str, Any]]], *, name: str = "judgements"
    ) -> Judgements:
        """Judgements from Python objects: topic to document to ``spans``, ``length``, ``bep``.

        ``sets`` may name the evidence sets of each span, None for all of them.

        >>> Judgements.from_highlights({"1": {"D1": {"spans": [(10, 40)], "length": 100}}})
        <Judgements: 1 topics, 1 documents judged, 1 relevant>
        """
        rows = [(t, d, entry) for t, docs in judged.items() for d, entry in docs.items()]
        flat = [span for _, _, entry in rows for span in entry.get("spans", ())]
        frame = pl.DataFrame(
            {
                "topic": [topic for topic, _, _ in rows],
                "doc": [doc for _, doc, _ in rows],
                "length": [entry.get("length") for _, _, entry in rows],
                "bep": [entry.get("bep") for _, _, entry in rows],
                "line": range(1, len(rows) + 1),
            },
            schema_overrides={"topic": pl.String, "doc": pl.String}
            | dict.fromkeys(("length", "bep", "line"), pl.Int64),
        )
        pairs = np.array(flat, dtype=np.int64).reshape(-1, 2)
        counts = np.array([len(entry.get("spans", ())) for _, _, entry in rows], dtype=np.int64)
        return cls.from_rows(
            frame,
            counts,
            pairs[:, 0].copy(),
            pairs[:, 1].copy(),
            source=Provenance(name),
            sets=_given_sets(rows),
        )

    def __len__(self) -> int:
        return len(self.doc)

    def __repr__(self) -> str:
        return (
            f"<Judgements: {len(self.topics)} topics, {len(self)} documents judged, "
            f"{int(self.relevant.sum())} relevant>"
        )

    def _repr_html_(self) -> str:
        from foveal.model import display

        return display.frame(repr(self)[1:-1], self.to_frame(), "rows")

    @cached_property
    def row(self) -> Ints:
        """The row that each span belongs to."""
        return np.repeat(np.arange(len(self), dtype=np.int64), np.diff(self.bounds))

    @cached_property
    def rel_size(self) -> Ints:
        """Highlighted characters of each row (after `combined`: Trel of the document)."""
        return np.bincount(self.row, self.end - self.start, len(self)).astype(np.int64)

    @property
    def topics_without_documents(self) -> tuple[str, ...]:
        """The topics that are judged, but of which no document is listed: nothing is relevant."""
        listed = np.bincount(self.topic, minlength=len(self.topics))
        return tuple(t for t, rows in zip(self.topics, listed.tolist(), strict=True) if not rows)

    def passages(self, row: int) -> list[tuple[int, int]]:
        """The spans of one row, in their order."""
        own = slice(int(self.bounds[row]), int(self.bounds[row + 1]))
        return list(zip(self.start[own].tolist(), self.end[own].tolist(), strict=True))

    @cached_property
    def pair(self) -> Ints:
        """For each row, the first row of the same topic and document."""
        return find_first_rows(pl.DataFrame({"topic": self.topic, "doc": self.doc}))

    @property
    def assessors(self) -> tuple[str, ...]:
        """The named assessors, sorted."""
        if self.assessor is None:
            return ()
        return tuple(sorted(self.assessor.drop_nulls().unique().to_list()))

    @property
    def several_assessors(self) -> bool:
        """True if any document of any topic has more than one row."""
        return bool((self.pair != np.arange(len(self))).any())

    @cached_property
    def shared(self) -> Bools:
        """For each topic and document, as `combined` has them, whether several rows judge it."""
        heads = np.flatnonzero(self.pair == np.arange(len(self)))
        return np.bincount(np.searchsorted(heads, self.pair), minlength=len(heads)) > 1

    def problem(
        self, code: str, row: int, text: str, *, line: int | None = None, file: int | None = None
    ) -> Problem:
        """Return a problem with one row, at its own place or at another line or file."""
        at = int(self.line[row]) if line is None else line
        source = self.sources[self.file[row] if file is None else file]
        return Problem(code, source.path, at, text)

    def _place(self, row: int, *, seen_from: int) -> str:
        """Where a row was read, without the file if another row is of the same one."""
        line = f"on line {int(self.line[row])}"
        same = self.file[row] == self.file[seen_from]
        return line if same else f"{line} of {self.sources[self.file[row]].path}"

    def documents(self, *, strict: bool = True) -> tuple[pl.Series, Ints, Ints]:
        """The distinct documents, which of them each row judges, and their lengths.

        Two lengths of one document are an error; unless `strict`, the first is taken.
        """
        first = find_first_rows(pl.DataFrame({"doc": self.doc}))
        heads = np.flatnonzero(first == np.arange(len(first)))
        code = np.searchsorted(heads, first)
        known = np.flatnonzero(self.length >= 0)
        source = np.full(len(heads), UNKNOWN, dtype=np.int64)
        source[code[known][::-1]] = known[::-1]  # the first row that knows is written last
        length = np.where(source < 0, UNKNOWN, self.length[source] if len(self) else UNKNOWN)
        clash = known[self.length[known] != length[code[known]]]
        if strict and len(clash):
            raise InputError(
                self.problem(
                    "unclassified",
                    row,
                    f"document {self.doc[row]!r} is {self.length[row]} characters long here, but "
                    f"{length[code[row]]} {self._place(int(source[code[row]]), seen_from=row)}",
                )
                for row in clash.tolist()
            )
        return self.doc.gather(heads), code, length

    def check_lengths(self) -> None:
        """Refuse documents of two lengths, and spans past the end that another line tells."""
        _, code, length = self.documents()
        reach = np.zeros(len(self), dtype=np.int64)
        np.maximum.at(reach, self.row, self.end)
        past = np.flatnonzero((length[code] >= 0) & (reach > length[code]))
        if len(past):
            raise InputError(
                self.problem(
                    "unclassified",
                    row,
                    f"a span ends at {reach[row]}, past the {length[code[row]]} characters of "
                    f"document {self.doc[row]!r}",
                )
                for row in past.tolist()
            )

    def only(self, keep: Bools, *, topics: Iterable[str] | None = None) -> Judgements:
        """Return the rows that `keep` marks.

        Of the topics without a judged document those among `topics` are kept, all by default.
        """
        span = keep[self.row]
        bare = self.topics_without_documents if topics is None else topics
        listed = {self.topics[t] for t in np.unique(self.topic[keep]).tolist()}
        topics = sort_topics(listed.union(bare))
        code = {topic: i for i, topic in enumerate(topics)}
        recode = np.array([code.get(topic, -1) for topic in self.topics], dtype=np.int64)
        return replace(
            self,
            topics=topics,
            topic=recode[self.topic[keep]],
            doc=self.doc.filter(pl.Series(keep)),
            length=self.length[keep],
            bep=self.bep[keep],
            relevant=self.relevant[keep],
            bounds=np.concatenate([[0], np.cumsum(np.diff(self.bounds)[keep])]),
            start=self.start[span],
            end=self.end[span],
            line=self.line[keep],
            file=self.file[keep],
            grade=None if self.grade is None else self.grade[span],
            declared=None if self.declared is None else self.declared[keep],
            assessor=None if self.assessor is None else self.assessor.filter(pl.Series(keep)),
            quotes=None if self.quotes is None else self.quotes.filter(pl.Series(span)),
            aspects=None if self.aspects is None else self.aspects.filter(pl.Series(span)),
            given=None if self.given is None else self.given.only(keep, topics=bare),
            elements=_renumbered(self.elements, keep),
            places=_renumbered(self.places, keep),
            sets=None if self.sets is None else self.sets.filter(pl.Series(span)),
            evidence=_renumbered(self.evidence, keep),
        )

    def for_topics(self, topics: Iterable[str]) -> Judgements:
        """Only the judgements of these topics."""
        wanted = set(topics)
        keep = np.array([topic in wanted for topic in self.topics], dtype=bool)
        return self.only(
            keep[self.topic], topics=wanted.intersection(self.topics_without_documents)
        )

    def of_assessor(self, name: str) -> Judgements:
        """Only what one assessor judged."""
        if name not in self.assessors:
            known = ", ".join(self.assessors) or "none is named"
            raise UsageError(f"no assessor {name!r} in the judgements ({known})")
        assert self.assessor is not None
        return self.only((self.assessor == name).fill_null(value=False).to_numpy())

    def combined(self, policy: str = "union") -> Judgements:
        """One row per topic and document: relevant spans united over assessors, disjoint, sorted.

        Parameters
        ----------
        policy : {"union", "majority", "intersection"} or the name of an assessor
            ``majority`` keeps the characters that more than half of a document's assessors
            highlighted, ``intersection`` those that all of them did. An element gets the
            strongest assessment that as many of them give it or a stronger one. The best entry
            point is the first one in reading order; where several must agree, the first inside
            the text they agree on. Evidence sets stay those of their assessors,
            each cut to the text that is kept.
        """
        if policy not in ASSESSOR_POLICIES:
            return self.of_assessor(policy).combined()
        marks = (self.sets, self.elements, self.places, self.evidence)
        apart = (self.start[1:] > self.end[:-1]) | (self.row[1:] != self.row[:-1])
        if (
            not self.several_assessors
            and all(mark is None for mark in marks)
            and (self.grade is None or (self.grade == 1).all())
            and (self.end > self.start).all()
            and apart.all()
        ):
            # Spans that are all relevant, disjoint and sorted are combined already.
            relevant = np.diff(self.bounds) > 0 if self.has_text else self.relevant
            return replace(
                self,
                relevant=relevant,
                bep=np.where(relevant, self.bep, UNKNOWN),
                declared=None,
                assessor=None,
                grade=None,
                quotes=None,
                aspects=None,
                given=self,
            )
        from foveal.model.assessors import combined_columns

        given = None if self.several_assessors else self
        return replace(self, **combined_columns(self, policy), aspects=None, given=given)

    def united(self) -> Judgements:
        """The same rows, the relevant spans of each disjoint and sorted; assessors stay apart."""
        from foveal.model.assessors import united_columns

        return replace(self, **united_columns(self), aspects=None)

    @classmethod
    def merged(cls, parts: Sequence[Judgements], *, several: bool | None = None) -> Judgements:
        """Several files as one set. A document judged in two of them has two assessors, named
        after the files where they do not name themselves.

        Where the parts are slices of files, `several` tells whether two files judge one document
        of any topic.
        """
        if len(parts) == 1:
            return parts[0]
        from foveal.model.merging import merged_columns

        merged = cls(**merged_columns(parts, several=several))
        unread = sum((Counter(part.unread or {}) for part in parts), Counter[str]())
        for name in _OF_FILES:
            declared = sum(name in (part.header or {}) for part in parts)
            if declared and name not in (merged.header or {}):
                unread[f"{name} of files, which is not the same in all"] += declared
        merged = replace(merged, unread=unread or None)
        merged.check_distinct()
        return merged

    def check_distinct(self) -> None:
        """Refuse two rows for one topic, document and assessor."""
        if not self.several_assessors:
            return
        first = self.pair
        if self.assessor is not None:
            columns = {"topic": self.topic, "doc": self.doc, "assessor": self.assessor}
            first = find_first_rows(pl.DataFrame(columns))
        again = np.flatnonzero(first != np.arange(len(self)))
        if len(again):
            raise InputError(
                self.problem(
                    "unclassified",
                    i,
                    f"topic {self.topics[self.topic[i]]!r}, document {self.doc[i]!r} is already "
                    f"judged {self._place(first[i], seen_from=i)}; expected one line for each "
                    "(two assessors need two files or an assessor field)",
                )
                for i in again.tolist()
            )

    def to_frame(self) -> pl.DataFrame:
        """One row per highlighted span; a document without any has one row with null offsets."""
        counts = np.maximum(np.diff(self.bounds), 1)
        row = np.repeat(np.arange(len(self)), counts)
        known = np.repeat(np.diff(self.bounds) > 0, counts)
        start = np.full(len(row), UNKNOWN, dtype=np.int64)
        end = start.copy()
        start[known], end[known] = self.start, self.end
        frame = pl.DataFrame(
            {
                "topic": pl.Series(self.topics, dtype=pl.String).gather(self.topic[row]),
                "doc": self.doc.gather(row),
                "length": self.length[row],
                "bep": self.bep[row],
                "start": start,
                "end": end,
            }
        )
        numbers = ("length", "bep", "start", "end")
        return frame.with_columns(
            pl.when(pl.col(name) >= 0).then(pl.col(name)).alias(name) for name in numbers
        )


def _given_sets(rows: Sequence[tuple[str, str, Mapping[str, Any]]]) -> pl.Series | None:
    """The sets of all spans, as many as there are spans; None if no document has any."""
    if not any(entry.get("sets") for _, _, entry in rows):
        return None
    found: list[list[str] | None] = []
    for topic, doc, entry in rows:
        spans = len(entry.get("spans", ()))
        own = list(entry.get("sets") or [None] * spans)
        if len(own) != spans:
            raise UsageError(
                f"topic {topic!r}, document {doc!r}: {counted(len(own), 'list')} of sets for "
                f"{counted(spans, 'span')}; expected one for each"
            )
        found += [None if sets is None else [*sets] for sets in own]
    return pl.Series(found, dtype=pl.List(pl.String))


def _renumbered(table: pl.DataFrame | None, keep: Bools) -> pl.DataFrame | None:
    """The elements, places or evidence of the kept rows, pointing to the rows' new numbers."""
    if table is None:
        return None
    left = table.filter(pl.Series(keep[table["row"].to_numpy()]))
    number = np.cumsum(keep) - 1
    return left.with_columns(row=pl.Series(number[left["row"].to_numpy()], dtype=pl.Int64))
