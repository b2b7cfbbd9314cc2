"""The graph of how long the results of runs are."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from foveal.analysis.gain_curves import RunLengths
from foveal.report.graphs.data import Graph, Line
from foveal.report.graphs.registry import GRAPHS

__all__ = ["lengths_graph"]

_MOST_POINTS = 200


def lengths_graph(runs: Sequence[RunLengths]) -> Graph:
    """Which share of a run's results is at most so long.

    >>> (line,) = lengths_graph([RunLengths("mine", np.array([50, 20, 20, 90]))]).lines
    >>> line.x.tolist(), line.y.tolist()
    ([20.0, 50.0, 90.0], [0.5, 0.75, 1.0])
    """
    lines, notes = [], []
    for i, (run, lengths, _) in enumerate(runs):
        if not len(lengths):
            notes.append(f"{run}: no result on a judged topic.")
            continue
        place, counts = np.unique(np.maximum(lengths, 1), return_counts=True)
        share = np.cumsum(counts) / len(lengths)
        if len(place) > _MOST_POINTS:
            kept = np.unique(np.searchsorted(share, np.linspace(0, 1, _MOST_POINTS + 1)[1:] - 1e-9))
            place, share = place[kept], share[kept]
        lines.append(Line(run, place.astype(np.float64), share, "steps", i))
        if empty := int((lengths == 0).sum()):
            notes.append(f"{run}: results without length, drawn as of one character: {empty}.")
    return Graph(
        "lengths",
        "Lengths of results",
        GRAPHS["lengths"].x,
        GRAPHS["lengths"].y,
        tuple(lines),
        tuple(notes),
    )
