"""Which graphs there are: their axes, measures and points, and how one is found by its name."""

from __future__ import annotations

from difflib import get_close_matches

from foveal.errors import UsageError
from foveal.report.graphs.data import Axis
from foveal.report.graphs.kinds import Kind
from foveal.report.graphs.topics import differences, topic_scores

__all__ = ["GRAPHS", "find_graph"]

_ELEMENTS = "elements: assessed ones, or an index (-C)"
_TEXT = "highlighted text"
_ANY = "a measure (-m or -t)"
_EARLY = tuple(map(str, range(1, 51)))
_RANKS = (*_EARLY, *(str(15 * p) for p in range(4, 101)))
"""Every rank of the first screen, then those of the official graph."""
_FEWER_RANKS = (
    *map(str, (*range(1, 11), 12, 15, 20, 25, 30, 40, 50, 75, 100, 150, 200, 300, 500, 1000, 1500)),
)
_FACTORS = (1, 1.5, 2, 3, 5, 7)
_BUDGETS = (
    *(f"{f * 10**p:g}" for p in range(2, 5) for f in _FACTORS),
    *(str(f * 10**p) for p in (5, 6) for f in (1, 2, 5)),
    "10000000",
)
"""Up to 1,500 results of several thousand characters."""
_TOLERANCES = (*(f"{f * 10.0**p:g}" for p in range(-2, 2) for f in (1, 2, 5)), "100")
_OVERLAP = ("ListOverlap", "SetOverlap", "MeanOverlap", "Redundancy")

_KINDS = (
    Kind(
        "gain",
        "Cumulated gain",
        "cumulated gain of runs and ideal list, nxCG and ep",
        _ELEMENTS,
        Axis("rank", "results"),
        Axis("cumulated gain", ""),
        default=("nxCG",),
        family=("nxCG", "MAnxCG", "xCG", "gr", "ep", "MAep", "iMAep"),
        source="gains",
    ),
    Kind(
        "ep",
        "Effort-precision over gain-recall",
        "effort-precision at 100 levels of gain-recall",
        _ELEMENTS,
        Axis("gain-recall", "share of the ideal gain", 0.0, 1.0),
        Axis("effort-precision", "share", 0.0),
        default=("ep",),
        allowed=("ep",),
        family=("ep", "MAep", "iMAep"),
    ),
    Kind(
        "nxcg",
        "Normalised cumulated gain",
        "normalised cumulated gain over rank",
        _ELEMENTS,
        Axis("rank", "results", 0.0),
        Axis("nxCG", "share of the ideal gain", 0.0),
        default=("nxCG",),
        allowed=("nxCG",),
        family=("nxCG", "MAnxCG"),
        points=_RANKS,
        ends=True,
    ),
    Kind(
        "inex_eval",
        "Precision over recall",
        "precision at 100 levels of recall (2002 to 2004)",
        _ELEMENTS,
        Axis("recall", "share of all relevance", 0.0, 1.0),
        Axis("precision", "share", 0.0),
        default=("inex_eval",),
        allowed=("inex_eval",),
        family=("inex_eval",),
    ),
    Kind(
        "ip",
        "Interpolated precision over recall",
        "interpolated precision at 101 levels of recall",
        _TEXT,
        Axis("recall", "share of relevant characters", 0.0, 1.0),
        Axis("interpolated precision", "share of characters", 0.0),
        default=("iP",),
        allowed=("iP",),
        family=("iP", "AiP"),
    ),
    Kind(
        "gpgr",
        "Generalised precision over recall",
        "generalised precision at 11 levels of recall",
        "highlighted text, documents grouped",
        Axis("generalised recall", "share of relevant documents", 0.0, 1.0),
        Axis("interpolated gP", "mean score", 0.0),
        default=("igP",),
        allowed=("igP",),
        family=("igP", "gP", "AgP"),
    ),
    Kind(
        "eprum",
        "EPRUM precision over recall",
        "expected precision at 100 levels of recall",
        "best entry points",
        Axis("recall", "share of targets", 0.0, 1.0),
        Axis("expected precision", "share", 0.0),
        default=("EPRUM",),
        allowed=("EPRUM",),
        family=("EPRUM",),
    ),
    Kind(
        "bepd",
        "Distance from best entry points",
        "nearness to best entry points over the tolerance A",
        "best entry points",
        Axis("tolerance A", "mean document lengths", 0.01, 100.0, log=True),
        Axis("BEPD", "mean nearness", 0.0),
        default=("BEPD",),
        allowed=("BEPD",),
        family=("BEPD",),
        varied="A",
        points=_TOLERANCES,
    ),
    Kind(
        "effort",
        "Reading effort",
        "recall and precision after so many characters read",
        _TEXT,
        Axis("characters read", "per topic", log=True),
        Axis("share", "", 0.0),
        default=("charR", "charP"),
        allowed=("charR", "charP"),
        varied="budget",
        points=_BUDGETS,
        ends=True,
    ),
    Kind(
        "budget",
        "Scores at budgets",
        "recall, precision or F at the same amount read",
        _TEXT,
        Axis("characters read", "per topic", 0.0),
        Axis("share", "", 0.0),
        default=("charR",),
        allowed=("charR", "charP", "charF", "iP"),
        varied="budget",
        points=_BUDGETS,
        ends=True,
    ),
    Kind(
        "topics",
        "Scores on topics",
        "scores on every topic, quartiles and mean",
        _ANY,
        Axis("score", ""),
        Axis("run", ""),
        special=topic_scores,
    ),
    Kind(
        "differences",
        "Differences",
        "first run minus second on every topic",
        f"two runs, {_ANY}",
        Axis("topic", ""),
        Axis("difference", ""),
        special=differences,
    ),
    Kind(
        "lengths",
        "Lengths of results",
        "share of results that are at most so long",
        "places of results",
        Axis("length", "characters", log=True),
        Axis("results at most so long", "share", 0.0, 1.0),
        source="lengths",
    ),
    Kind(
        "overlap",
        "Overlap",
        "share of results that overlap an earlier one, over rank",
        "places of results",
        Axis("rank", "results", 0.0),
        Axis("overlap", "share", 0.0),
        default=("ListOverlap",),
        allowed=_OVERLAP,
        points=_FEWER_RANKS,
        ends=True,
    ),
)

GRAPHS = {kind.name: kind for kind in _KINDS}
"""Name to kind of graph, in the order of listing."""


def find_graph(name: str) -> Kind:
    """The kind of graph of this name, in any case.

    >>> find_graph("EP").title
    'Effort-precision over gain-recall'
    """
    if name.casefold() in GRAPHS:
        return GRAPHS[name.casefold()]
    near = get_close_matches(name.casefold(), GRAPHS, 1, 0.5)
    hint = f" (did you mean {near[0]}?)" if near else ""
    raise UsageError(
        f"unknown graph {name!r}{hint}; expected {', '.join(GRAPHS)} ('foveal plot --list' "
        "describes them)"
    )
