"""A run: for every topic a ranked list of spans, one column per property."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from itertools import compress
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
import polars as pl

from foveal.errors import InputError, Problem, UsageError
from foveal.files.source import Provenance
from foveal.lookup import gather, number_rows
from foveal.spans import Bools, Floats, Ints

UNKNOWN = -1
"""An unknown offset or length: the end of a whole document, the place of an XPath."""

ALL = "all"
"""The topic under which results give the value over all topics; no topic may have this name."""


class Locked:
    """The base of dataclasses whose arrays cannot be changed."""

    def __post_init__(self) -> None:
        for column in vars(self).values():
            if isinstance(column, np.ndarray):
                column.flags.writeable = False


class Columns(Locked):
    """The base of runs and judgements; a column that is None is absent."""

    doc: pl.Series
    lasting: ClassVar[tuple[str, ...]]
    """Cached properties that change only with the fields `based_on`."""
    based_on: ClassVar[frozenset[str]]

    def __len__(self) -> int:
        return len(self.doc)

    def to_frame(self) -> pl.DataFrame:
        """Return the rows as a frame."""
        raise NotImplementedError

    def _repr_html_(self) -> str:
        from html import escape

        return f"{escape(repr(self))}{self.to_frame()._repr_html_()}"

    @property
    def columns(self) -> dict[str, Any]:
        """The columns that are there, by name, without `bounds`."""
        found = {}
        for own in fields(self):  # type: ignore[arg-type]
            value = getattr(self, own.name)
            if isinstance(value, (np.ndarray, pl.Series, pl.DataFrame)) and own.name != "bounds":
                found[own.name] = value
        return found

    def with_columns(self, **columns: Any) -> Self:
        """Return the object with other columns or fields; None removes a column.

        Where topics and documents stay, what depends on them alone is not computed again.

        >>> run = Run.from_results({"1": [("d", 0, 90), ("d", 10, 20)]})
        >>> run.first is run.with_columns(end=run.end + 1).first
        True
        """
        changed: Self = replace(self, **columns)  # type: ignore[type-var]
        if self.based_on.isdisjoint(columns):
            known = vars(self)
            vars(changed).update({name: known[name] for name in self.lasting if name in known})
        return changed


class FromFiles:
    """Rows of several files, each with its line."""

    line: Sequence[int] | Ints
    file: Sequence[int] | Ints
    """The file of each row, an index into `sources`."""
    sources: tuple[Provenance, ...]

    def problem(
        self, code: str, row: int, text: str, *, line: int | None = None, file: int | None = None
    ) -> Problem:
        """Return a problem with one row, at its own place or at another line or file."""
        at = int(self.line[row]) if line is None else line
        source = self.sources[self.file[row] if file is None else file]
        return Problem(code, source.path, at, text)

    def describe_place(self, row: int, seen_from: int) -> str:
        """Return the line of a row, with the file if the other row is from another one."""
        line = f"on line {int(self.line[row])}"
        same = self.file[row] == self.file[seen_from]
        return line if same else f"{line} of {self.sources[self.file[row]].path}"


class ResultDocuments(NamedTuple):
    """The documents of a run's results, numbered for each topic in the order they first occur."""

    first_rows: Ints
    """The row of the first result of each document."""
    number: Ints
    """The document of each result, an index into `first_rows`."""
    reopened_rows: Ints
    """The rows that come back to a document after results of other documents."""


_WORDS = ("topic", "text", "doc", "quote", "prefix", "suffix", "code", "problem")
CITATION_COLUMNS = dict.fromkeys(_WORDS, pl.String) | dict.fromkeys(
    ("line", "sentence", "start", "end"), pl.Int64
)
"""The columns of `Answers.citations`."""


@dataclass(frozen=True)
class Answers:
    """The answers of a run, whose results are their valid citations in order."""

    topics: tuple[str, ...]
    """The topics of all answers, also of those without a sentence."""
    citations: pl.DataFrame
    """A row for each citation, and one without ``doc`` for each sentence that cites nothing. In a
    topic, sentences are numbered from 1. ``start`` and ``end`` are in code points, null for quotes
    that are not found and whole documents; ``problem`` says why a citation is not valid."""
    retrieved: str | None = None
    """The name of the run that the answers were made from, as the file gives it."""

    def list_problems(self, path: str) -> list[Problem]:
        """Return a problem for each citation that is not valid."""
        wrong = self.citations.drop_nulls("problem")
        columns = wrong.select("code", "line", "sentence", "problem").iter_rows()
        return [
            Problem(code, path, line, f"sentence {sentence}: {text}")
            for code, line, sentence, text in columns
        ]

    def count(self, topics: Sequence[str]) -> pl.DataFrame:
        """Count the ``sentences``, those ``cited`` and the ``citations`` of the topics.

        A sentence is cited if it has a citation, valid or not.
        """
        has_doc = pl.col("doc").is_not_null()
        counts = self.citations.group_by("topic").agg(
            sentences=pl.col("sentence").n_unique(),
            cited=pl.col("sentence").filter(has_doc).n_unique(),
            citations=has_doc.sum(),
        )
        asked = pl.DataFrame({"topic": topics}, schema={"topic": pl.String})
        found = asked.join(counts, on="topic", how="left", maintain_order="left")
        return found.drop("topic").fill_null(0).cast(pl.Float64)


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Run(Columns):
    """Ranked results of one system, columnar and immutable.

    The results of ``topics[i]`` are the rows ``bounds[i]:bounds[i + 1]`` in rank order.
    """

    name: str
    """The run's name as its file gives it, else the file's stem."""
    topics: tuple[str, ...]
    """Topics in the order they first occur."""
    bounds: Ints
    doc: pl.Series
    start: Ints
    end: Ints
    """The span in code points. ``end == UNKNOWN`` is a whole document (``start == 0``) or, with
    ``start == UNKNOWN`` too, a result that only a collection can resolve to a span."""
    line: Ints
    """The line of the file that gives each result, for messages."""
    score: Floats | None = None
    rank: Ints | None = None
    """Ranks as the file gives them, `UNKNOWN` where it does not; equal ones are ties."""
    xpath: pl.Series | None = None
    length: Ints | None = None
    """Length of each result's document where a collection gives it, else `UNKNOWN`."""
    tokens: Ints | None = None
    """Cost of reading each whole result in tokens, `UNKNOWN` where it is not given."""
    element: Ints | None = None
    """The number of each result among the elements of its document, from 0 on, where a collection
    gives it, else `UNKNOWN`."""
    source: Provenance
    topics_without_results: tuple[str, ...] = ()
    """Topics for which the run says that it returns nothing."""
    answers: Answers | None = None
    """The answers whose valid citations are the results, if it is a run of answers."""
    retrieved: Run | None = None
    """The run that the answers were made from."""
    task: str | None = None
    """The task that the run declares."""
    notes: tuple[str, ...] = ()
    """Warnings of the reader."""
    header: Mapping[str, Any] | None = None
    """Other declarations of the file: participant, use of topics, description."""
    unread: Mapping[str, int] | None = None
    """Contents of the file that are not kept here, and how often they occur."""

    lasting = ("topic", "position", "documents", "first", "repeats")
    based_on = frozenset(["topics", "bounds", "doc"])

    @classmethod
    def from_frame(
        cls,
        rows: pl.DataFrame | Mapping[str, pl.Series],
        *,
        name: str,
        source: Provenance | None = None,
        notes: tuple[str, ...] = (),
        note_grouping: str | None = None,
        task: str | None = None,
    ) -> Run:
        """Return a run from rows already in rank order within each topic.

        The columns are ``topic``, ``doc``, ``start``, ``end`` and optionally ``score``, ``rank``,
        ``xpath``, ``tokens`` and ``line``. Rows of one topic are brought together, their order
        kept; `note_grouping` is noted if they had to be.
        """
        named = dict(rows.to_dict() if isinstance(rows, pl.DataFrame) else rows)
        stretches = named["topic"].rle().struct.unnest()  # of neighbours with one topic
        sizes, topic = stretches["len"].to_numpy(), stretches["value"]
        first_rows, number = number_rows(topic)
        named.setdefault("line", pl.int_range(1, len(named["topic"]) + 1, eager=True))
        if len(first_rows) < len(topic):
            order = np.argsort(np.repeat(number, sizes), kind="stable")
            named = {key: column[order] for key, column in named.items()}
            notes = (*notes, note_grouping) if note_grouping else notes
        columns: dict[str, Any] = {}
        for key, column in named.items():
            if key in ("doc", "xpath"):
                # Gathering from one piece is nine times faster than from seven.
                columns[key] = column if column.n_chunks() == 1 else column.rechunk()
            elif key == "score":
                columns[key] = column.cast(pl.Float64).to_numpy()
            elif key in ("start", "end", "rank", "tokens", "line"):
                columns[key] = column.cast(pl.Int64).fill_null(UNKNOWN).to_numpy()
        return cls(
            name=name,
            topics=tuple(gather(topic, first_rows).to_list()),
            bounds=np.concatenate([[0], np.cumsum(np.bincount(number, sizes).astype(np.int64))]),
            **columns,
            source=source or Provenance(name),
            task=task,
            notes=notes,
        )

    @classmethod
    def from_results(
        cls, results: Mapping[str, Iterable[tuple[str, int, int]]], *, name: str = "run"
    ) -> Run:
        """Return a run from Python objects: topic to ranked ``(doc, start, end)``, maybe none.

        >>> run = Run.from_results({"1": [("D1", 20, 40), ("D2", 0, 50)]})
        >>> len(run), run.topics
        (2, ('1',))
        """
        rows = [(topic, *result) for topic, ranked in results.items() for result in ranked]
        for number, (topic, doc, start, end) in enumerate(rows, 1):
            if not 0 <= start <= end:
                where = f"result {number}, topic {topic!r}, document {doc!r}"
                raise UsageError(f"{where}: [{start},{end}) is not a span with 0 <= start <= end")
        schema = {"topic": pl.String, "doc": pl.String, "start": pl.Int64, "end": pl.Int64}
        run = cls.from_frame(pl.DataFrame(rows, schema=schema, orient="row"), name=name)
        nothing = tuple(topic for topic in results if topic not in run.topics)
        return replace(run, topics_without_results=nothing)

    def __repr__(self) -> str:
        return f"<Run {self.name!r}: {len(self)} results, {len(self.topics)} topics>"

    @cached_property
    def topic(self) -> Ints:
        """The index into `topics` of each result."""
        return np.repeat(np.arange(len(self.topics), dtype=np.int64), np.diff(self.bounds))

    @cached_property
    def position(self) -> Ints:
        """The position of each result in the list of its topic, from 1."""
        return np.arange(len(self), dtype=np.int64) - self.bounds[self.topic] + 1

    @cached_property
    def has_path(self) -> Bools:
        """True for each result that has an XPath."""
        if self.xpath is None:
            return np.zeros(len(self), dtype=bool)
        return self.xpath.is_not_null().to_numpy()

    @cached_property
    def documents(self) -> ResultDocuments:
        """The documents of the results, as numbers."""
        first_rows, number = number_rows(self.topic, self.doc)
        reopens = np.append(False, number[1:] != number[:-1])
        reopens[first_rows] = False
        return ResultDocuments(first_rows, number, np.flatnonzero(reopens))

    @cached_property
    def first(self) -> Ints:
        """The row of the first result of the same topic and document, of each result."""
        return self.documents.first_rows[self.documents.number]

    @cached_property
    def repeats(self) -> Ints:
        """The rows that are not the first of their topic and document."""
        return np.flatnonzero(self.first != np.arange(len(self)))

    @cached_property
    def nesting(self) -> tuple[Ints, Ints]:
        """Extents of results on an axis of paths, on which an element encloses its descendants.

        For runs without spans. In the order of paths an element is followed by its descendants:
        their paths continue its own with a slash, and "0" is the character after that. A whole
        document has no path and encloses everything.
        """
        path = pl.Series([""] * len(self)) if self.xpath is None else self.xpath.fill_null("")
        opening = pl.DataFrame({"doc": self.first, "path": path})
        both = pl.concat([opening, opening.with_columns(pl.col("path") + "0")])
        place = both.select(pl.struct("doc", "path").rank("dense")).to_series().to_numpy()
        start, end = place[: len(self)], place[len(self) :]
        return start.astype(np.int64), end.astype(np.int64)

    @cached_property
    def duplicates(self) -> tuple[Ints, Ints]:
        """Rows that repeat an earlier result, and that earlier result: (earlier, later)."""
        if not len(self.repeats):  # each document once
            return self.repeats, self.repeats
        keys: list[Any] = [self.start, self.end]
        if self.element is not None and (self.element >= 0).all():
            keys.append(self.element)  # numbers take a fifth of the time of long paths
        elif self.xpath is not None:
            keys.append(self.xpath)
        first_rows, number = number_rows(self.first, *keys)
        first = first_rows[number]
        later = np.flatnonzero(first != np.arange(len(self)))
        return first[later], later

    def take(self, keep: Bools) -> Run:
        """Return the run with only the rows that `keep` marks; topics left empty disappear."""
        rows = np.flatnonzero(keep)
        counts = np.diff(np.searchsorted(rows, self.bounds))
        return replace(
            self,
            topics=tuple(compress(self.topics, counts)),
            bounds=np.concatenate([[0], np.cumsum(counts[counts > 0])]),
            **{name: column[rows] for name, column in self.columns.items()},
        )

    def to_frame(self) -> pl.DataFrame:
        """Return the results as a frame: topic, doc, rank, score, start, end, xpath, tokens.

        The rank is the file's where it gives one, else the position.
        """
        rank = self.position
        if self.rank is not None:
            rank = np.where(self.rank == UNKNOWN, rank, self.rank)
        topic = pl.Series(self.topics, dtype=pl.String).gather(self.topic)
        columns = {**self.columns, "topic": topic, "rank": rank}
        names = ("topic", "doc", "rank", "score", "start", "end", "xpath", "tokens")
        frame = pl.DataFrame({name: columns[name] for name in names if name in columns})
        known = pl.col("^(start|end|tokens)$")
        return frame.with_columns(pl.when(known >= 0).then(known).name.keep())


def distinguish_names(runs: Iterable[tuple[str, Provenance]]) -> tuple[str, ...]:
    """Return the names of runs; runs with the same name are called by the stems of their files.

    >>> first, second = Provenance("a/bm25.run"), Provenance("b/dense.run")
    >>> distinguish_names([("mine", first), ("mine", second), ("other", Provenance("c.run"))])
    ('bm25', 'dense', 'other')
    """
    listed = list(runs)
    given = [name for name, _ in listed]
    names = [source.stem if given.count(name) > 1 else name for name, source in listed]
    for i, name in enumerate(names):
        if name in names[:i]:
            other = listed[names.index(name)][1].path
            text = f"run name {name!r} is already used by {other}"
            raise InputError.at("run.name", listed[i][1].path, None, text)
    return tuple(names)
