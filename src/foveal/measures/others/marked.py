"""Relevant spans as they were marked, overlapping ones too, beside the results that meet them.

Our own measures look at relevant text as a set of characters. Other tools look at every marked
span by itself, in the order of their file.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import polars as pl

from foveal.measures.alignment import Alignment, Gold, TopicView
from foveal.spans import Ints, lay_out, union

__all__ = ["Marked", "Meetings", "marked", "meetings", "met"]


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

    def of(self, topic: TopicView) -> Ints:
        """The numbers of a topic's spans."""
        return self.order[int(self.topics[topic.at]) : int(self.topics[topic.at + 1])]

    def united(self, spans: Ints) -> Marked:
        """Only these, without overlap; no other row has any."""
        row = np.searchsorted(self.bounds, spans, side="right") - 1
        extent = np.zeros(len(self.bounds) - 1, dtype=np.int64)
        np.maximum.at(extent, row, self.end[spans])
        base = lay_out(extent)
        start, end = union(self.start[spans] + base[row], self.end[spans] + base[row])
        row = np.searchsorted(base, start, side="right") - 1
        counts = np.bincount(row, minlength=len(base))
        bounds = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        return Marked(start - base[row], end - base[row], bounds, np.arange(len(row)), bounds)


class Meetings(NamedTuple):
    """Which spans meet which marked ones, and in how many characters; 0 where they only touch."""

    one: Ints
    other: Ints
    common: Ints

    def of(self, topic: TopicView, rank: int | None = None) -> Meetings:
        """Those of the first results of a topic, which count from 0."""
        first = topic.slice.start
        last = topic.slice.stop if rank is None else min(topic.slice.stop, first + rank)
        low, high = np.searchsorted(self.one, [first, last])
        own = slice(int(low), int(high))
        return Meetings(self.one[own] - first, self.other[own], self.common[own])


def marked(judged: Gold) -> Marked:
    """The spans as they were marked; united ones where several assessors marked a document."""
    return judged.memo("marked", lambda: _marked(judged))


def _marked(judged: Gold) -> Marked:
    judgements = judged.judgements.given or judged.judgements
    keep = judgements.end > judgements.start
    if judgements.grade is not None:
        keep &= judgements.grade > 0
    row = judgements.row[keep]
    kept = pl.Series(keep)
    topic = judgements.topic[row]
    return Marked(
        judgements.start[keep],
        judgements.end[keep],
        _bounds(row, len(judgements)),
        np.argsort(topic, kind="stable"),
        _bounds(topic, len(judgements.topics)),
        None if judgements.aspects is None else judgements.aspects.filter(kept),
        None if judgements.sets is None else judgements.sets.filter(kept),
    )


def _bounds(group: Ints, n: int) -> Ints:
    """Where the members of each group begin once they are sorted by it, and the end."""
    return np.concatenate([[0], np.cumsum(np.bincount(group, minlength=n))]).astype(np.int64)


def meetings(alignment: Alignment) -> Meetings:
    """Every result with every marked span of its document that it overlaps or touches.

    In the order of results, and for each in that of the marked spans.
    """
    run = alignment.run
    return alignment.memo(
        "meetings", lambda: met(marked(alignment.gold), alignment.row, run.start, alignment.end)
    )


def met(among: Marked, row: Ints, start: Ints, end: Ints) -> Meetings:
    """These spans, in judged rows or `UNKNOWN` ones, with the marked ones that they meet.

    >>> one, other = np.array([10, 70]), np.array([40, 80])
    >>> among = Marked(one, other, np.array([0, 2]), np.array([0, 1]), np.array([0, 2]))
    >>> found = met(among, np.array([0, -1]), np.array([30, 0]), np.array([75, 99]))
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
