"""A run: for every topic a ranked list of spans, one column per property."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from foveal.errors import InputError, UsageError
from foveal.files.source import Provenance
from foveal.model.hashing import changes, first_of_group, first_of_hash
from foveal.spans import Ints

__all__ = ["ALL", "UNKNOWN", "LockedArrays", "Provenance", "Run", "distinct_names", "group_topics"]

UNKNOWN = -1
"""An offset or length that is not known: the end of a whole document, the place of an XPath."""

ALL = "all"
"""The topic under which results give the value over all topics; no topic may be called so."""

_OF_DOCUMENTS = (
    "topic",
    "position",
    "_stretches",
    "first",
    "heads",
    "head_of",
    "repeats",
    "returns",
)
"""What only topics and documents decide, wherever in a document a result is."""


class LockedArrays:
    """A dataclass whose arrays cannot be changed."""

    def __post_init__(self) -> None:
        for column in vars(self).values():
            if isinstance(column, np.ndarray):
                column.flags.writeable = False


@dataclass(frozen=True, eq=False)
class Run(LockedArrays):
    """Ranked results of one system, columnar and immutable.

    The results of ``topics[i]`` are the rows ``bounds[i]:bounds[i + 1]`` in rank order.

    Parameters
    ----------
    name : str
        The run's name as its file gives it, else the file's stem.
    topics : tuple of str
        Topics in the order they first occur.
    bounds : int64 array, one longer than `topics`
    doc : polars.Series of str
        Document of each result.
    start, end : int64 arrays
        The span in code points. ``end == UNKNOWN`` is a whole document (``start == 0``) or, with
        ``start == UNKNOWN`` too, a result whose place only a collection can tell.
    line : int64 array
        The line of the file each result stands on, for messages.
    score : float64 array, optional
    rank : int64 array, optional
        Ranks as the file gives them, `UNKNOWN` where it does not; equal ones are ties.
    xpath : polars.Series of str, optional
    length : int64 array, optional
        Length of each result's document where a collection tells it, else `UNKNOWN`.
    tokens : int64 array, optional
        What reading each result whole costs in tokens, `UNKNOWN` where that is not given.
    element : int64 array, optional
        Which of its document's elements each result is, from 0 on, where a collection tells it,
        else `UNKNOWN`.
    task : str, optional
        The task that the run declares.
    header : mapping, optional
        What else the file says of itself, which no measure uses: who took part, how topics were
        used, a description.
    notes : tuple of str
        What the reader warned about.
    unread : mapping of str to int, optional
        What the file says that is not kept here, and how often.
    """

    name: str
    topics: tuple[str, ...]
    bounds: Ints
    doc: pl.Series
    start: Ints
    end: Ints
    line: Ints
    source: Provenance
    score: npt.NDArray[np.float64] | None = None
    rank: Ints | None = None
    xpath: pl.Series | None = None
    length: Ints | None = None
    tokens: Ints | None = None
    task: str | None = None
    notes: tuple[str, ...] = ()
    header: Mapping[str, Any] | None = None
    unread: Mapping[str, int] | None = None
    element: Ints | None = None

    @classmethod
    def from_frame(
        cls,
        frame: pl.DataFrame,
        *,
        name: str,
        source: Provenance | None = None,
        task: str | None = None,
        notes: tuple[str, ...] = (),
        note_grouping: str | None = None,
    ) -> Run:
        """A run from rows already in rank order within each topic.

        `frame` has the columns ``topic``, ``doc``, ``start``, ``end`` and optionally ``score``,
        ``rank``, ``xpath``, ``tokens`` and ``line``. Rows of one topic are brought together, their
        order kept; `note_grouping` is noted if they had to be.
        """
        columns = frame.columns
        return cls.from_columns(
            topic=frame["topic"],
            doc=frame["doc"],
            start=frame["start"].to_numpy(),
            end=frame["end"].to_numpy(),
            line=frame["line"].to_numpy() if "line" in columns else None,
            score=frame["score"].to_numpy() if "score" in columns else None,
            rank=frame["rank"].fill_null(UNKNOWN).to_numpy() if "rank" in columns else None,
            xpath=frame["xpath"] if "xpath" in columns else None,
            tokens=frame["tokens"].fill_null(UNKNOWN).to_numpy() if "tokens" in columns else None,
            name=name,
            source=source,
            task=task,
            notes=notes,
            note_grouping=note_grouping,
        )

    @classmethod
    def from_columns(
        cls,
        *,
        topic: pl.Series,
        doc: pl.Series,
        start: Ints,
        end: Ints,
        name: str,
        line: Ints | None = None,
        score: npt.NDArray[np.float64] | None = None,
        rank: Ints | None = None,
        xpath: pl.Series | None = None,
        tokens: Ints | None = None,
        source: Provenance | None = None,
        task: str | None = None,
        notes: tuple[str, ...] = (),
        note_grouping: str | None = None,
    ) -> Run:
        """As `from_frame`, from columns."""
        if line is None:
            line = np.arange(1, len(topic) + 1, dtype=np.int64)
        optional = {"score": score, "rank": rank, "xpath": xpath, "tokens": tokens}
        columns: dict[str, Any] = {"doc": doc, "start": start, "end": end, "line": line}
        columns |= {key: column for key, column in optional.items() if column is not None}
        topics, code, counts = group_topics(topic)
        if len(code) > len(topics):
            order = np.argsort(np.repeat(code, counts), kind="stable")
            counts = np.bincount(code, counts, len(topics)).astype(np.int64)
            columns = {key: column[order] for key, column in columns.items()}
            notes = (*notes, note_grouping) if note_grouping else notes
        for key, column in columns.items():
            if isinstance(column, pl.Series):
                # Gathering from one piece is nine times faster than from seven.
                columns[key] = column.rechunk()
                continue
            values = np.asarray(column, dtype=np.float64 if key == "score" else np.int64)
            # A locked array is not changed by other code, unless it is a view of another one. The
            # memory of a Polars column is locked, too.
            is_shared = values.flags.writeable or isinstance(values.base, np.ndarray)
            columns[key] = values.copy() if is_shared else values
        return cls(
            name=name,
            topics=topics,
            bounds=np.concatenate([[0], np.cumsum(counts)]),
            source=source or Provenance(name),
            task=task,
            notes=notes,
            **columns,
        )

    @classmethod
    def from_results(
        cls, results: Mapping[str, Iterable[tuple[str, int, int]]], *, name: str = "run"
    ) -> Run:
        """A run from Python objects: topic to ranked ``(doc, start, end)``.

        >>> run = Run.from_results({"1": [("D1", 20, 40), ("D2", 0, 50)]})
        >>> len(run), run.topics
        (2, ('1',))
        """
        rows = [(topic, *result) for topic, ranked in results.items() for result in ranked]
        for number, (topic, doc, start, end) in enumerate(rows, 1):
            if not 0 <= start <= end:
                raise UsageError(
                    f"result {number}, topic {topic!r}, document {doc!r}: [{start},{end}) is no "
                    "span; expected 0 <= start <= end"
                )
        schema = {"topic": pl.String, "doc": pl.String, "start": pl.Int64, "end": pl.Int64}
        return cls.from_frame(pl.DataFrame(rows, schema=schema, orient="row"), name=name)

    def __len__(self) -> int:
        return len(self.doc)

    def __repr__(self) -> str:
        return f"<Run {self.name!r}: {len(self)} results, {len(self.topics)} topics>"

    @cached_property
    def topic(self) -> Ints:
        """The index into `topics` of each result."""
        return np.repeat(np.arange(len(self.topics), dtype=np.int64), np.diff(self.bounds))

    @cached_property
    def nesting(self) -> tuple[Ints, Ints]:
        """Extents of results on an axis of paths, on which an element holds what is inside it.

        For runs whose places are not known. In the order of paths an element is followed by all
        that it holds: what begins with its path goes on with a slash, and "0" is the character
        after that. A whole document, which has no path, holds everything.

        >>> places = {"topic": ["1"] * 3, "doc": ["d"] * 3, "start": [-1] * 3, "end": [-1] * 3}
        >>> frame = pl.DataFrame({**places, "xpath": ["/a[1]/p[2]", "/a[1]", "/a[1]/p[1]"]})
        >>> [x.tolist() for x in Run.from_frame(frame, name="r").nesting]
        [[4, 1, 2], [5, 6, 3]]
        """
        path = pl.Series([""] * len(self)) if self.xpath is None else self.xpath.fill_null("")
        opening = pl.DataFrame({"doc": self.first, "path": path})
        both = pl.concat([opening, opening.with_columns(pl.col("path") + "0")])
        place = both.select(pl.struct("doc", "path").rank("dense")).to_series().to_numpy()
        start, end = place[: len(self)], place[len(self) :]
        return start.astype(np.int64), end.astype(np.int64)

    @cached_property
    def _stretches(self) -> tuple[Ints, Ints, Ints, npt.NDArray[np.bool_]]:
        """Stretches of results of one topic and document, which are looked up as one.

        The row that opens each stretch, its length, the first stretch of the same document, and
        whether that is itself. Runs that bring the parts of a document together have half as many
        stretches as results.
        """
        opens = changes(self.doc)
        opens[self.bounds[self.bounds < len(self)]] = True
        rows = np.flatnonzero(opens)
        keys = {"topic": self.topic, "doc": self.doc}
        if len(rows) < len(self):
            keys = {"topic": self.topic[rows], "doc": self.doc.gather(rows)}
        first = first_of_group(pl.DataFrame(keys))
        return rows, np.diff(rows, append=len(self)), first, first == np.arange(len(first))

    @cached_property
    def first(self) -> Ints:
        """For each result, the row of the first result of the same topic and document."""
        rows, sizes, first, _ = self._stretches
        return np.repeat(rows[first], sizes)

    @cached_property
    def heads(self) -> Ints:
        """The rows that are the first of their topic and document, in order."""
        rows, _, _, is_head = self._stretches
        return rows[is_head]

    @cached_property
    def head_of(self) -> Ints:
        """For each result, the number among `heads` of the first of its topic and document."""
        _, sizes, first, is_head = self._stretches
        number = np.arange(len(first)) if is_head.all() else (np.cumsum(is_head) - 1)[first]
        return number if len(number) == len(self) else np.repeat(number, sizes)

    @cached_property
    def repeats(self) -> Ints:
        """The rows that are not the first of their topic and document."""
        return np.flatnonzero(self.first != np.arange(len(self)))

    @cached_property
    def returns(self) -> Ints:
        """The rows that come back to a document after results of others."""
        rows, _, _, is_head = self._stretches
        return rows[~is_head]

    @cached_property
    def duplicates(self) -> tuple[Ints, Ints]:
        """Rows that repeat an earlier result, and which: (earlier, later)."""
        first = self._first_of_element()
        if first is None:
            keys = pl.DataFrame({"first": self.first, "start": self.start, "end": self.end})
            if self.xpath is not None:
                keys = keys.with_columns(xpath=self.xpath)
            first = first_of_group(keys)
        later = np.flatnonzero(first != np.arange(len(self)))
        return first[later], later

    def _first_of_element(self) -> Ints | None:
        """For each result, the first that repeats it, if their elements tell that.

        An element has one path and one place, so its number says as much as both, and numbers take
        a fifth of the time of long texts. But a result may have been cut, or be no element.
        """
        if self.element is None or (self.element < 0).any():
            return None
        first = first_of_hash((self.first << 32 | self.element).view(np.uint64))
        as_long = (self.start[first] == self.start) & (self.end[first] == self.end)
        return first if as_long.all() else None

    def moved(self, **columns: Any) -> Run:
        """The run with other columns, except those of topics and documents.

        What is known of the latter alone is not calculated again.

        >>> run = Run.from_results({"1": [("d", 0, 90), ("d", 10, 20)]})
        >>> run.first is run.moved(end=run.end + 1).first
        True
        """
        moved = replace(self, **columns)
        vars(moved).update({name: vars(self)[name] for name in _OF_DOCUMENTS if name in vars(self)})
        return moved

    def cut(self, end: Ints, whole: Ints) -> Run:
        """The run with results that end earlier than the `whole` ones.

        A result that is cut costs its share of the tokens.

        >>> run = Run.from_results({"1": [("d", 0, 90)]})
        >>> run = replace(run, tokens=np.array([20]))
        >>> run.cut(np.array([45]), run.end).tokens.tolist()
        [10]
        """
        if self.tokens is None:
            return replace(self, end=end)
        share = (end - self.start) / np.maximum(whole - self.start, 1)
        shorter = (end < whole) & (self.tokens >= 0)
        tokens = np.where(shorter, np.ceil(self.tokens * share), self.tokens).astype(np.int64)
        return replace(self, end=end, tokens=tokens)

    def take(self, keep: npt.NDArray[np.bool_]) -> Run:
        """The run with only the rows that `keep` marks; topics left empty disappear."""
        counts = np.add.reduceat(np.concatenate([keep, [0]]), self.bounds[:-1], dtype=np.int64)
        counts[np.diff(self.bounds) == 0] = 0
        left = counts > 0
        return replace(
            self,
            topics=tuple(t for t, some in zip(self.topics, left.tolist(), strict=True) if some),
            bounds=np.concatenate([[0], np.cumsum(counts[left])]),
            doc=self.doc.filter(pl.Series(keep)),
            start=self.start[keep],
            end=self.end[keep],
            line=self.line[keep],
            score=None if self.score is None else self.score[keep],
            rank=None if self.rank is None else self.rank[keep],
            length=None if self.length is None else self.length[keep],
            tokens=None if self.tokens is None else self.tokens[keep],
            element=None if self.element is None else self.element[keep],
            xpath=None if self.xpath is None else self.xpath.filter(pl.Series(keep)),
        )

    @cached_property
    def position(self) -> Ints:
        """The place of each result in the list of its topic, from 1."""
        return np.arange(len(self), dtype=np.int64) - self.bounds[self.topic] + 1

    def to_frame(self) -> pl.DataFrame:
        """The results as a Polars frame: topic, doc, rank, score, start, end, xpath, tokens.

        The rank is the file's where it gives one, else the position.
        """
        rank = self.position
        if self.rank is not None:
            rank = np.where(self.rank == UNKNOWN, rank, self.rank)
        columns: dict[str, Any] = {
            "topic": pl.Series(self.topics, dtype=pl.String).gather(self.topic),
            "doc": self.doc,
            "rank": rank,
        }
        if self.score is not None:
            columns["score"] = self.score
        columns["start"], columns["end"] = self.start, self.end
        if self.xpath is not None:
            columns["xpath"] = self.xpath
        numbers = ["start", "end"]
        if self.tokens is not None:
            columns["tokens"] = self.tokens
            numbers.append("tokens")
        frame = pl.DataFrame(columns)
        return frame.with_columns(pl.when(pl.col(c) >= 0).then(c).alias(c) for c in numbers)

    def _repr_html_(self) -> str:
        from foveal.model import display

        task = f", task {self.task}" if self.task else ""
        title = f"{self.name}: {len(self):,} results, {len(self.topics)} topics{task}"
        return display.frame(title, self.to_frame(), "results")


def group_topics(topic: pl.Series) -> tuple[tuple[str, ...], Ints, Ints]:
    """Return the topics in the order they come, and the stretches of lines that are of one topic.

    Of each stretch the number of its topic and of its lines; mostly a topic has one.

    >>> topics, code, lines = group_topics(pl.Series(["7", "7", "8", "7"]))
    >>> topics, code.tolist(), lines.tolist()
    (('7', '8'), [0, 1, 0], [2, 1, 1])
    """
    rows = np.flatnonzero(changes(topic))
    names: list[str] = topic.gather(rows).to_list()
    number = {name: i for i, name in enumerate(dict.fromkeys(names))}
    code = np.array([number[name] for name in names], dtype=np.int64)
    return tuple(number), code, np.diff(rows, append=len(topic))


def distinct_names(runs: Iterable[tuple[str, Provenance]]) -> tuple[str, ...]:
    """The names of runs; those that share one are told apart by the stems of their files.

    >>> first, second = Provenance("a/bm25.run"), Provenance("b/dense.run")
    >>> distinct_names([("mine", first), ("mine", second), ("other", Provenance("c.run"))])
    ('bm25', 'dense', 'other')
    """
    listed = list(runs)
    given = [name for name, _ in listed]
    names = [source.stem if given.count(name) > 1 else name for name, source in listed]
    for i, name in enumerate(names):
        if name in names[:i]:
            other = listed[names.index(name)][1].path
            raise InputError.at(
                "unclassified",
                listed[i][1].path,
                None,
                f"run name {name!r} is already used by {other}",
            )
    return tuple(names)
