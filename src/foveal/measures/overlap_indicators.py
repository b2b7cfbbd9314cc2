"""Overlap indicators: how much of a run repeats itself."""

from __future__ import annotations

import numpy as np

from foveal.measures.alignment import Alignment, Floats, TopicView
from foveal.measures.base import Cutoff, Example, Measure, Need
from foveal.measures.totals import sum_first

__all__ = ["ListOverlap", "MeanOverlap", "Redundancy", "SetOverlap"]

_RUN = "D1:20-40 D1:0-60 D1:60-80 D2:0-50 D1:0-20"


class _OverlapIndicator(Measure):
    section = "18"
    source = "Lalmas and Tombros, overview of INEX 2002-2006"
    cutoff = Cutoff.RANK_OPTIONAL
    always_defined = True
    ideal = None
    higher_is_better = False

    needs = (Need.SPANS,)

    def top(self, topic: TopicView) -> slice:
        """Return which results of the run are the first of the topic."""
        n = topic.n if self.rank is None else min(self.rank, topic.n)
        return slice(topic.slice.start, topic.slice.start + n)


class SetOverlap(_OverlapIndicator):
    """Share of results that intersect another result of the run, whatever the order.

    A repeat of the very same result is not another one. A zero-length result intersects one
    whose extent holds its position.
    """

    name = "SetOverlap"
    formula = "(results that intersect another result) / results"
    example = Example(_RUN, 0.6)

    def score_topic(self, topic: TopicView) -> float:
        if not topic.n:
            return 0.0
        top, xpath = self.top(topic), topic.alignment.run.xpath
        place = np.stack([position[top] for position in topic.alignment.axis])
        if xpath is not None:
            path = xpath.slice(top.start, top.stop - top.start).rank("dense").fill_null(0)
            place = np.vstack([place, path.to_numpy()])
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
        if not topic.n:
            return 0.0
        top, alignment = self.top(topic), topic.alignment
        start, end = (position[top] for position in alignment.axis)
        meets = alignment.new_size[top] < alignment.full_size[top]
        for i in np.flatnonzero(end == start).tolist():
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
        if not topic.n:
            return 0.0
        top, alignment = self.top(topic), topic.alignment
        start, end = (position[top] for position in alignment.axis)
        size, new = alignment.full_size[top], alignment.new_size[top]
        share = (size - new) / np.maximum(size, 1)
        for i in np.flatnonzero(end == start).tolist():
            if ((start[:i] <= start[i]) & (start[i] < end[:i])).any():
                share[i] = 1.0  # it holds nothing, at a position that an earlier result covers
        return float(share.mean())


class Redundancy(_OverlapIndicator):
    """Share of the returned text that had been returned before."""

    name = "Redundancy"
    formula = "1 - |union of results| / sum size(i)"
    example = Example(_RUN, 0.2353)

    def score_topics(self, alignment: Alignment) -> Floats:
        bounds = alignment.run.bounds
        size = sum_first(alignment.full_size, bounds, self.rank)
        new = sum_first(alignment.new_size, bounds, self.rank)
        return alignment.spread_topics(np.where(size > 0, 1 - new / np.maximum(size, 1), 0.0))


MEASURES = (SetOverlap, ListOverlap, MeanOverlap, Redundancy)
