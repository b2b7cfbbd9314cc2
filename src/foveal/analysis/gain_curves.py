"""Cumulated gains of runs beside those of the ideal list, for graphs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from foveal.evaluation.preparation import AlignedRun
from foveal.measures import Measure
from foveal.measures.xcg import Cumulated, Curves

__all__ = ["average_curves", "cumulate_gains"]


def cumulate_gains(aligned: AlignedRun, measure: Measure) -> dict[str, Curves]:
    """Return the curves of an aligned run on every topic that has something to gain.

    Only measures of cumulated gain have curves.
    """
    if not isinstance(measure, Cumulated):
        return {}
    views = map(aligned.alignment_for(measure).topic, aligned.gold.topics)
    return {view.name: measure.curves(view) for view in views if measure.is_defined(view)}


def average_curves(curves: Sequence[Curves]) -> Curves:
    """Return the means over topics; a list that ended stays flat.

    >>> short, long = (Curves(np.arange(n), np.arange(n)) for n in (2, 4))
    >>> average_curves([short, long]).xCG.tolist()
    [0.0, 1.0, 1.5, 2.0]
    """
    means = []
    for column in zip(*curves, strict=True):
        length = max(map(len, column))
        ended = (np.pad(own, (0, length - len(own)), "edge") for own in column)
        means.append(sum(ended, np.zeros(length)) / len(column))
    return Curves(*means)
