"""Relevant spans as they were marked, overlapping ones too, and the results that meet them.

Our own measures treat relevant text as a set of characters. Other tools look at every marked
span by itself, in the order of their file.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import polars as pl

from foveal.measures.alignment import Alignment, Gold, TopicView
from foveal.spans import Ints, lay_out, union

__all__ = ["Marked", "Meetings", "find_meetings", "list_marked", "meet_marked", "unite_spans"]


class Marked(NamedTuple):
    """The marked spans that hold text: those of row ``i`` are ``bounds[i]:bounds[i + 1]``."""

    start: Ints
    end: Ints
    bounds: Ints
    order: Ints
    """The numbers of all spans, topic by topic."""
    topics: Ints
    """Where the spans of each topic begin in `order`, and the end."""
    aspects: pl.Series | None = None
    sets: pl.Series | None = None

    @property
    def size(self) -> Ints:
        return self.end - self.start

    @property
    def row(self) -> Ints:
        """The judgement of each span."""
        return np.repeat(np.arange(len(self.bounds) - 1), np.diff(self.bounds))

    def select_topic(self, topic: TopicView) -> Ints:
        """Return the numbers of a topic's spans."""
        return self.order[int(self.topics[topic.at]) : int(self.topics[topic.at + 1])]

    def unite(self, spans: Ints) -> Marked:
        """Return only these spans, without overlap; no other row has any."""
        row = np.searchsorted(self.bounds, spans, side="right") - 1
        row, start, end = unite_spans(row, self.start[spans], self.end[spans])
        bounds = _find_bounds(row, len(self.bounds) - 1)
        return Marked(start, end, bounds, np.arange(len(row)), bounds)


class Meetings(NamedTuple):
    """Pairs of a span and a marked span that meet, and their common characters; 0 if they touch."""

    one: Ints
    other: Ints
    common: Ints

    def select_topic(self, topic: TopicView, rank: int | None = None) -> Meetings:
        """Return those of the first results of a topic, which count from 0."""
        first = topic.slice.start
        last = topic.slice.stop if rank is None else min(topic.slice.stop, first + rank)
        low, high = np.searchsorted(self.one, [first, last])
        own = slice(int(low), int(high))
        return Meetings(self.one[own] - first, self.other[own], self.common[own])


def list_marked(gold: Gold) -> Marked:
    """Return the spans as marked; united ones where several assessors marked a document."""
    judgements = gold.judgements.given or gold.judgements
    keep = judgements.end > judgements.start
    if judgements.grade is not None:
        keep &= judgements.grade > 0
    row = judgements.row[keep]
    kept = pl.Series(keep)
    topic = judgements.topic[row]
    return Marked(
        judgements.start[keep],
        judgements.end[keep],
        _find_bounds(row, len(judgements)),
        np.argsort(topic, kind="stable"),
        _find_bounds(topic, len(judgements.topics)),
        None if judgements.aspects is None else judgements.aspects.filter(kept),
        None if judgements.sets is None else judgements.sets.filter(kept),
    )


def _find_bounds(group: Ints, n: int) -> Ints:
    """Return where the members of each group begin once sorted by it, and the end."""
    return np.concatenate([[0], np.cumsum(np.bincount(group, minlength=n))]).astype(np.int64)


def unite_spans(group: Ints, start: Ints, end: Ints) -> tuple[Ints, Ints, Ints]:
    """Return group, start and end of the text of each group: spans that meet become one.

    >>> united = unite_spans(np.array([1, 0, 1]), np.array([5, 5, 0]), np.array([9, 9, 5]))
    >>> [column.tolist() for column in united]
    [[0, 1], [5, 0], [9, 9]]
    """
    extent = np.zeros(int(group.max(initial=-1)) + 1, dtype=np.int64)
    np.maximum.at(extent, group, end)
    base = lay_out(extent)
    start, end = union(start + base[group], end + base[group])
    own = np.searchsorted(base, start, side="right") - 1
    return own, start - base[own], end - base[own]


def find_meetings(alignment: Alignment) -> Meetings:
    """Return every result with every marked span of its document that it overlaps or touches.

    In the order of results, and for each in that of the marked spans.
    """
    among = alignment.gold.cached(list_marked)
    return meet_marked(among, alignment.row, alignment.run.start, alignment.end)


def meet_marked(among: Marked, row: Ints, start: Ints, end: Ints) -> Meetings:
    """Return spans in these rows (`UNKNOWN` if unjudged) with the marked ones that they meet.

    >>> one, other = np.array([10, 70]), np.array([40, 80])
    >>> among = Marked(one, other, np.array([0, 2]), np.array([0, 1]), np.array([0, 2]))
    >>> found = meet_marked(among, np.array([0, -1]), np.array([30, 0]), np.array([75, 99]))
    >>> [x.tolist() for x in found]
    [[0, 0], [0, 1], [10, 5]]
    """
    known = np.flatnonzero(row >= 0)
    first = among.bounds[row[known]]
    counts = among.bounds[row[known] + 1] - first
    one = np.repeat(known, counts)
    # Numbers that count up from the first span of each row.
    step = np.arange(len(one)) - np.repeat(np.cumsum(counts) - counts, counts)
    other = np.repeat(first, counts) + step
    common = np.minimum(end[one], among.end[other]) - np.maximum(start[one], among.start[other])
    meet = common >= 0
    return Meetings(one[meet], other[meet], common[meet])
