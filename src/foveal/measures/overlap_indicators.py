"""Overlap indicators: how much of a run repeats itself."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from foveal.measures.alignment import TopicView
from foveal.measures.base import Cutoff, Example, Measure, Need
from foveal.spans import Ints

__all__ = ["ListOverlap", "MeanOverlap", "Redundancy", "SetOverlap"]

Bools = npt.NDArray[np.bool_]

_RUN = "D1:20-40 D1:0-60 D1:60-80 D2:0-50 D1:0-20"


class _OverlapIndicator(Measure):
    section = "18"
    source = "Lalmas and Tombros, overview of INEX 2002-2006"
    cutoff = Cutoff.RANK_OPTIONAL
    always_defined = True
    ideal = None
    higher_is_better = False

    @property
    def needs(self) -> tuple[Need, ...]:
        return (Need.SPANS,)

    def top(self, topic: TopicView) -> tuple[Ints, Ints]:
        """The first results on one axis."""
        stop = topic.n if self.rank is None else min(self.rank, topic.n)
        own = slice(topic.slice.start, topic.slice.start + stop)
        start, end = topic.alignment.axis
        return start[own], end[own]

    def sizes(self, topic: TopicView) -> tuple[Ints, Ints]:
        """Size and newly covered size of the first results, as they are in the run."""
        own = topic.slice
        return (
            topic.alignment.size[own][: self.rank],
            topic.alignment.new_size[own][: self.rank],
        )


def _covered_points(start: Ints, end: Ints) -> Bools:
    """Which results hold nothing, at a position that an earlier result covers."""
    inside = np.zeros(len(start), dtype=bool)
    for i in np.flatnonzero(end == start).tolist():
        inside[i] = bool(((start[:i] <= start[i]) & (start[i] < end[:i])).any())
    return inside


class SetOverlap(_OverlapIndicator):
    """Share of results that intersect another result of the run, whatever the order.

    A repeat of the very same result is not another one. A zero-length result intersects one
    whose extent holds its position.
    """

    name = "SetOverlap"
    formula = "(results that intersect another result) / results"
    example = Example(_RUN, 0.6)

    def score_topic(self, topic: TopicView) -> float:
        start, end = self.top(topic)
        if not len(start):
            return 0.0
        xpath = topic.alignment.run.xpath
        place = np.stack([start, end])
        if xpath is not None:
            own = xpath.slice(topic.slice.start, len(start))
            place = np.vstack([place, own.rank("dense").fill_null(0).to_numpy()])
        distinct, which = np.unique(place, axis=1, return_inverse=True)
        start, end = distinct[0], distinct[1]
        meets = np.zeros(len(start), dtype=bool)
        real = np.flatnonzero(end > start)  # sorted by start: np.unique sorts by rows in order
        if len(real) > 1:
            reach = np.maximum.accumulate(end[real])
            meets[real[1:]] |= start[real[1:]] < reach[:-1]
            meets[real[:-1]] |= start[real[1:]] < end[real[:-1]]
        for i in np.flatnonzero(end == start).tolist():
            holds = (start <= start[i]) & (start[i] < end)
            meets |= holds
            meets[i] |= holds.any()
        return float(meets[which.ravel()].mean())


class ListOverlap(_OverlapIndicator):
    """Share of results that overlap or repeat an earlier result."""

    name = "ListOverlap"
    formula = "(results that overlap an earlier result) / results"
    example = Example(_RUN, 0.4)

    def score_topic(self, topic: TopicView) -> float:
        start, end = self.top(topic)
        if not len(start):
            return 0.0
        size, new = self.sizes(topic)
        meets = new < size
        points = np.flatnonzero(end == start).tolist()
        for i in points:
            same = (start[:i] == start[i]) & (end[:i] == end[i])
            meets[i] |= bool((same | ((start[:i] <= start[i]) & (start[i] < end[:i]))).any())
            meets[i + 1 :] |= (start[i + 1 :] <= start[i]) & (start[i] < end[i + 1 :])
        return float(meets.mean())


class MeanOverlap(_OverlapIndicator):
    """Mean share of a result that earlier results had covered."""

    name = "MeanOverlap"
    formula = "mean of overlap(i) = |e_i covered by earlier results| / |e_i|"
    example = Example(_RUN, 0.2667)

    def score_topic(self, topic: TopicView) -> float:
        start, end = self.top(topic)
        if not len(start):
            return 0.0
        size, new = self.sizes(topic)
        share = (size - new) / np.maximum(size, 1)
        share[_covered_points(start, end)] = 1.0
        return float(share.mean())


class Redundancy(_OverlapIndicator):
    """Share of the returned text that had been returned before."""

    name = "Redundancy"
    formula = "1 - |union of results| / sum size(i)"
    example = Example(_RUN, 0.2353)

    def score_topic(self, topic: TopicView) -> float:
        size, new = self.sizes(topic)
        total = int(size.sum())
        return 1 - int(new.sum()) / total if total else 0.0


MEASURES = (SetOverlap, ListOverlap, MeanOverlap, Redundancy)
