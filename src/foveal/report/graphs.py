"""The graphs of the papers as data: lines, axes, notes and a text alternative.

What draws them (`foveal.report.drawing`, `foveal.report.gnuplot`, the report page) adds no number
of its own. Curves are read off results, so that a point of a graph is the row of the results that
carries its name: ``ep@0.10`` is the tenth point of the graph ``ep``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from difflib import get_close_matches
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from foveal.campaign.gain_curves import GainCurves, RunLengths
from foveal.campaign.presets import find_preset
from foveal.errors import UsageError, some
from foveal.measures import Measure, find_measure, parse_measure, parse_measures
from foveal.measures.nxcg import Cumulated
from foveal.model import Results

__all__ = [
    "GRAPHS",
    "Axis",
    "Graph",
    "Kind",
    "Line",
    "find_graph",
    "gain_graph",
    "gain_measures",
    "lengths_graph",
]

Floats = npt.NDArray[np.float64]
Source = Literal["results", "gains", "lengths"]
Mark = Literal["line", "steps", "points", "bars", "level", "aid"]


# -- what a graph is ---------------------------------------------------------------------------


@dataclass(frozen=True)
class Axis:
    """What is measured along one side.

    Parameters
    ----------
    label, unit : str
    low, high : float, optional
        Where the axis ends; None: where the data ends.
    log : bool
    names : tuple of str
        Names of the places 0, 1, ...; empty where places are numbers.
    """

    label: str
    unit: str = ""
    low: float | None = None
    high: float | None = None
    log: bool = False
    names: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The label with its unit.

        >>> Axis("rank", "results").text
        'rank (results)'
        """
        return f"{self.label} ({self.unit})" if self.unit else self.label


@dataclass(frozen=True, eq=False)
class Line:
    """Something drawn: a curve, steps, points, bars, a level, or an aid to the eye.

    Parameters
    ----------
    name : str
        For the legend; empty for what needs no entry there.
    x, y : float64 arrays
    mark : str
        How it is drawn.
    series : int, optional
        What belongs to one run has one number, and with it colour and style; None is neutral.
    """

    name: str
    x: Floats
    y: Floats
    mark: Mark = "line"
    series: int | None = None


@dataclass(frozen=True, eq=False)
class Graph:
    """A graph as data.

    Parameters
    ----------
    kind : str
        Its name in `GRAPHS`.
    title : str
    x, y : Axis
    lines : tuple of Line
    notes : tuple of str
        Sentences that belong below it, or into its caption.
    """

    kind: str
    title: str
    x: Axis
    y: Axis
    lines: tuple[Line, ...]
    notes: tuple[str, ...] = ()

    @property
    def text_alternative(self) -> str:
        """The graph in words, for those who do not see it.

        >>> line = Line("mine", np.array([1.0, 2.0]), np.array([0.5, 0.25]))
        >>> Graph("ep", "Two points", Axis("rank"), Axis("score"), (line,)).text_alternative
        'Two points. Across: rank. Up: score. mine: 0.5 at 1, 0.25 at 2.'
        """
        parts = [f"{self.title}.", f"Across: {self.x.text}.", f"Up: {self.y.text}."]
        parts += [said for line in self.lines if (said := self._said(line))]
        return " ".join([*parts, *self.notes])

    def _said(self, line: Line) -> str:
        """A few points of a line."""
        if not line.name or line.mark == "aid" or not len(line.x):
            return ""
        if self.y.names:  # points of a run side by side: their spread
            low, middle, high = np.nanquantile(line.x, (0, 0.5, 1)).tolist()
            return f"{line.name}: from {low:.4g} to {high:.4g}, median {middle:.4g}."
        shown = np.unique(np.linspace(0, len(line.x) - 1, 5).round().astype(int)).tolist()
        if self.x.names:
            shown = list(range(len(line.x)))
        points = [f"{_number(line.y[i])} at {self._place(line.x[i])}" for i in shown]
        return f"{line.name}: {', '.join(points)}."

    def _place(self, x: float) -> str:
        return self.x.names[int(x)] if self.x.names else _number(x)


def _number(value: float) -> str:
    return "undefined" if np.isnan(value) else f"{float(value):.4g}"


# -- which graphs there are --------------------------------------------------------------------


@dataclass(frozen=True)
class Kind:
    """A kind of graph: what it shows, which measures it takes, and how it is made of results.

    Parameters
    ----------
    name, title, description, needs : str
    x, y : Axis
    default : tuple of str
        Measures drawn unless others are asked for, a graph each.
    allowed : tuple of str
        Names of the measures that can be asked for; empty: any.
    family : tuple of str
        Measures of an official task whose parameters the graph takes over.
    varied : str
        The parameter that runs along the axis; empty: the cut-off does.
    points : tuple of str
        Its values; empty: those of the measure's own curve.
    ends : bool
        Whether it may end where no line changes any more.
    source : str
        What it is made of.
    """

    name: str
    title: str
    description: str
    needs: str
    x: Axis
    y: Axis
    default: tuple[str, ...] = ()
    allowed: tuple[str, ...] = ()
    family: tuple[str, ...] = ()
    varied: str = ""
    points: tuple[str, ...] = ()
    ends: bool = False
    source: Source = "results"
    special: Callable[[Kind, Results], tuple[Graph, ...]] | None = field(default=None, repr=False)
    """How it is made, if not as curves."""

    def measures(
        self, given: Sequence[str] = (), task: str | None = None, *, ranks: int | None = None
    ) -> tuple[Measure, ...]:
        """What must be scored for the graph: all points of what is asked for.

        Parameters
        ----------
        given : text forms of measures
            Without cut-off; by default those of the task, else those that the graph usually draws.
        task : str, optional
        ranks : int, optional
            The last rank of graphs over rank.

        Examples
        --------
        >>> [str(measure) for measure in GRAPHS["bepd"].measures()][::6]
        ['BEPD(A=0.01)', 'BEPD', 'BEPD(A=100)']
        >>> GRAPHS["ep"].measures(task="2005.CO.Thorough")[0]
        ep(quant=gen5)@0.01
        """
        if self.special is not None:
            return self._as_given(given, task)
        return tuple(
            point for bare in self.drawn(given, task) for point in self._points(bare, ranks)
        )

    def drawn(self, given: Sequence[str] = (), task: str | None = None) -> tuple[Measure, ...]:
        """The measures that are drawn, a graph each, without what runs along the axis.

        >>> GRAPHS["gain"].drawn(task="2006.Focused")
        (nxCG(overlap=on), nxCG)
        """
        asked = [self._asked(text) for text in given] or self._of_task(task)
        return tuple(dict.fromkeys(asked or [find_measure(name) for name in self.default]))

    def graphs(self, results: Results, topic: str | None = None) -> tuple[Graph, ...]:
        """The graphs that results hold the points of: one for each measure.

        >>> rows = [("mine", "1", f"igP@{x / 10:g}", 1 - x / 10) for x in range(11)]
        >>> rows += [("mine", "all", *row[2:]) for row in rows]
        >>> (graph,) = GRAPHS["gpgr"].graphs(Results.from_tidy(rows, {}))
        >>> graph.lines[0].y[:3].tolist()
        [1.0, 0.9, 0.8]
        """
        if self.special is not None:
            if topic is not None:
                raise UsageError(f"the graph {self.name} is about all topics; leave out the topic")
            return self.special(self, results)
        found = tuple(self._curve(results, bare, at, topic) for bare, at in self._held(results))
        if not found:
            wanted = " or ".join(f"{name}@curve" for name in self.default)
            raise UsageError(f"the results hold no point of the graph {self.name} ({wanted})")
        return found

    # -- which measures -------------------------------------------------------------------------

    def _asked(self, text: str) -> Measure:
        """The measure that is meant, without what runs along the axis."""
        bare = _without_cutoff(text)
        if self.source == "gains":
            if not isinstance(bare, Cumulated):
                raise UsageError(f"{text!r} has no gains to draw; expected one such as nxCG or ep")
            return self._taken_over(bare)
        if bare.name not in self.allowed:
            expected = " or ".join(self.allowed)
            raise UsageError(f"the graph {self.name} does not draw {text!r}; expected {expected}")
        if self.varied in bare.settings:
            raise UsageError(
                f"{text!r}: {self.varied} runs along the axis of the graph {self.name}; leave it "
                "out"
            )
        return bare

    def _of_task(self, task: str | None) -> list[Measure]:
        """The measures of the graph, with the parameters that those of the task have."""
        if task is None:
            return []
        own = [measure for measure in find_preset(task).measures if measure.name in self.family]
        return list(dict.fromkeys(map(self._taken_over, own)))

    def _taken_over(self, other: Measure) -> Measure:
        bare = find_measure(self.default[0])
        known = {parameter.name for parameter in bare.parameters} - {self.varied}
        return bare(**{n: v for n, v in other.settings.items() if n in known})

    def _points(self, bare: Measure, ranks: int | None) -> Iterator[Measure]:
        values = self.points or bare.curve
        if self.x.label == "rank" and ranks is not None:
            values = (*(at for at in values if int(at) < ranks), str(ranks))
        for value in values:
            yield bare(**{self.varied: value}) if self.varied else bare @ value

    def _as_given(self, given: Sequence[str], task: str | None) -> tuple[Measure, ...]:
        if not given and task is not None:
            texts = [text for text in find_preset(task).texts if not text.endswith("@curve")]
            given = texts[:1]
        if not given:
            raise UsageError(
                f"the graph {self.name} is of one measure or more; name them (-m), or a task (-t), "
                "whose first one is drawn"
            )
        return tuple(dict.fromkeys(m for text in given for m in parse_measures(text)))

    # -- curves ---------------------------------------------------------------------------------

    def _held(self, results: Results) -> list[tuple[Measure, dict[float, int]]]:
        """The measures that results hold points of, each with places and columns."""
        found: dict[Measure, dict[float, int]] = {}
        for column, label in enumerate(results.measures):
            try:
                measure = parse_measure(label)
            except UsageError:  # saved by a version that knew more measures
                continue
            place = self._place(measure)
            if measure.name in self.allowed and place is not None:
                kept = {n: v for n, v in measure.settings.items() if n != self.varied}
                found.setdefault(type(measure)(kept), {})[place] = column
        # A single point is a score, not a curve.
        return [(bare, at) for bare, at in found.items() if len(at) > 1]

    def _place(self, measure: Measure) -> float | None:
        value: Decimal | float | None = measure.at
        if self.varied:
            value = getattr(measure, self.varied, None) if measure.at is None else None
        return None if value is None else float(value)

    def _curve(
        self, results: Results, bare: Measure, columns: dict[float, int], topic: str | None
    ) -> Graph:
        x = np.array(sorted(columns))
        at = [columns[place] for place in x.tolist()]
        if topic is None:
            values, of = results.overall[:, at], "mean over topics"
        else:
            if topic not in results.topics:
                held = some(results.topics)
                raise UsageError(f"no topic {topic!r} in the results; they hold {held}")
            values, of = results.values[:, results.topics.index(topic), at], f"topic {topic}"
        kept = _until_flat(values) if self.ends else len(x)
        lines = tuple(
            Line(run, x[:kept], values[i, :kept], series=i) for i, run in enumerate(results.runs)
        )
        y = self.y if len(self.allowed) == 1 else Axis(_NAMES[bare.name], "share", 0.0)
        return Graph(self.name, f"{self.title}: {bare}, {of}", self.x, y, lines)


def _without_cutoff(text: str) -> Measure:
    """A measure as it is written for a graph: bare, or with ``@curve``."""
    name = text.partition("(")[0].partition("@")[0].strip()
    known = find_measure(name)
    head, at, cutoff = text.partition("@")
    if at and cutoff.strip() != "curve":
        raise UsageError(f"{text!r}: a graph draws all points; leave out @{cutoff.strip()}")
    measure = parse_measure(f"{head}@{known.cutoff.example}" if known.cutoff.required else head)
    return type(measure)(measure.settings)


def _until_flat(values: Floats) -> int:
    """How many points to draw: up to where no line changes any more, but two at least.

    >>> _until_flat(np.array([[0.5, 0.25, 0.5, 0.5], [0.0, 0.0, 0.0, 0.0]]))
    3
    """
    known = np.nan_to_num(values, nan=-1.0)
    changes = np.flatnonzero((known[:, 1:] != known[:, :-1]).any(axis=0))
    return max(int(changes[-1]) + 2 if len(changes) else 0, 2)


_NAMES = {
    "charR": "recall of characters",
    "charP": "precision of characters",
    "SetOverlap": "results that overlap another",
    "ListOverlap": "results that overlap an earlier one",
    "MeanOverlap": "mean overlap with earlier results",
    "Redundancy": "text returned before",
}


# -- topics and differences --------------------------------------------------------------------

_MOST_NAMES = 40
"""Topics that can be named along an axis."""
_WIDE = 0.3
"""Half the room of a run, of which the distance to the next one is 1."""


def _mean(results: Results, run: int, column: int) -> float:
    """What stands on topic ``all``; of what is summed there, the mean."""
    if find_measure(_name(results.measures[column])).summed:
        return float(np.nanmean(results.values[run, :, column]))
    return float(results.overall[run, column])


def _name(label: str) -> str:
    return label.partition("@")[0].partition("(")[0]


def _topic_scores(kind: Kind, results: Results) -> tuple[Graph, ...]:
    """The scores of every run, a point per topic; a topic has the same height in every run."""
    runs = results.runs
    spread = np.linspace(_WIDE, -_WIDE, len(results.topics)) if len(results.topics) > 1 else [0.0]
    graphs = []
    for column, label in enumerate(results.measures):
        lines: list[Line] = []
        for i, run in enumerate(runs):
            place = len(runs) - 1 - i  # the first run on top
            own = results.values[i, :, column]
            known = ~np.isnan(own)
            if not known.any():
                continue
            lines.append(Line(run, own[known], place + np.asarray(spread)[known], "points", i))
            low, middle, high = np.quantile(own[known], (0.25, 0.5, 0.75)).tolist()
            sides = np.array([place - _WIDE, place + _WIDE])
            box = np.array([low, high, high, low, low])
            around = sides[[0, 0, 1, 1, 0]]
            named = not lines[:-1]
            lines += [
                Line("quartiles, median" if named else "", box, around, "aid"),
                Line("", np.array([middle, middle]), sides, "aid"),
                Line(
                    "mean" if named else "",
                    np.full(2, _mean(results, i, column)),
                    sides,
                    "level",
                ),
            ]
        negative = bool((results.values[:, :, column] < 0).any())
        x = Axis(label, "score on a topic", None if negative else 0.0)
        y = Axis("run", "", -0.6, len(runs) - 0.4, names=tuple(reversed(runs)))
        graphs.append(Graph(kind.name, f"{kind.title}: {label}", x, y, tuple(lines)))
    return tuple(graphs)


def _differences(kind: Kind, results: Results) -> tuple[Graph, ...]:
    """What the first run has over the second, topic by topic, the largest first."""
    if len(results.runs) != 2:
        raise UsageError(
            f"the graph {kind.name} is of two runs; {len(results.runs)} given: {some(results.runs)}"
        )
    one, other = results.runs
    graphs = []
    for column, label in enumerate(results.measures):
        gap = results.values[0, :, column] - results.values[1, :, column]
        order = np.argsort(-gap, kind="stable")
        order = order[~np.isnan(gap[order])]
        if not len(order):
            raise UsageError(f"{label}: {one} and {other} have no topic with a score in common")
        named = tuple(results.topics[j] for j in order.tolist())
        unit = "" if len(named) <= _MOST_NAMES else f"{len(named)}, by difference"
        places = np.arange(len(order), dtype=np.float64)
        mean = float(gap[order].mean())
        ends = np.array([-0.5, len(order) - 0.5])
        lines = (
            Line(f"{one} - {other}", places, gap[order], "bars", 0),
            Line(f"mean {mean:.4f}", ends, np.full(2, mean), "level"),
        )
        graphs.append(
            Graph(
                kind.name,
                f"{label}: {one} minus {other}",
                Axis("topic", unit, -0.7, len(order) - 0.3, names=named),
                Axis("difference", label),
                lines,
            )
        )
    return tuple(graphs)


# -- gains and lengths -------------------------------------------------------------------------


def gain_measures(bare: Measure, rank: int, level: float) -> tuple[Measure, ...]:
    """The scores that are drawn into a graph of gains: nxCG at a rank, ep at a level.

    On straight lines of both curves, as they are drawn: ``between=curve``.
    """
    ep = find_measure("ep")(**bare.settings, between="curve")
    return find_measure("nxCG")(**bare.settings) @ rank, ep @ level


def gain_graph(
    gains: Sequence[GainCurves],
    scores: Results,
    bare: Measure,
    *,
    rank: int = 10,
    level: float = 0.5,
    topic: str | None = None,
    ranks: int | None = None,
) -> Graph:
    """The cumulated gain of runs beside the ideal one, and how nxCG and ep are read off.

    Parameters
    ----------
    gains : GainCurves of each run
    scores : Results
        Of the same runs by `gain_measures`: they stand in the legend.
    bare : Measure
        nxCG with the parameters of the gains.
    rank, level : where nxCG and ep are read off; a level is a share of all there is to gain
    topic : one topic instead of the mean
    ranks : the last rank drawn
    """
    curves = [own.of(topic) for own in gains]
    nxcg, ep = gain_measures(bare, rank, level)
    last = max(max(map(len, pair)) for pair in curves) - 1
    last = max(min(last, ranks or last), rank)
    lines: list[Line] = []
    for i, (own, pair) in enumerate(zip(gains, curves, strict=True)):
        values = [
            scores[own.run, m.label, topic] if topic else scores[own.run, m.label]
            for m in (nxcg, ep)
        ]
        said = f"{own.run}: nxCG@{rank} {values[0]:.4f}, ep@{level:g} {values[1]:.4f}"
        lines.append(_gained(said, pair.xCG, last, i))
    ideals: dict[bytes, list[int]] = {}
    for i, pair in enumerate(curves):
        ideals.setdefault(pair.xCI.tobytes(), []).append(i)
    for places in ideals.values():
        of = "" if len(ideals) == 1 else " of " + ", ".join(gains[i].run for i in places)
        lines.append(_gained(f"ideal{of}", curves[places[0]].xCI, last, None))
    lines += _read_off(curves, rank, level, last)
    title = f"Cumulated gain: {bare}, " + (f"topic {topic}" if topic else "mean over topics")
    notes = ["ep is read on straight lines between ranks: ep(between=curve)."]
    if topic is None:
        notes.append("nxCG and ep are means over topics, not quotients of the mean curves.")
    return Graph(
        "gain",
        title,
        Axis("rank", "results", 0.0, float(last)),
        Axis("cumulated gain", "sum of gains", 0.0),
        tuple(lines),
        tuple(notes),
    )


def _gained(name: str, curve: Floats, last: int, series: int | None) -> Line:
    """A cumulated curve up to a rank; it stays flat after its end."""
    places = np.arange(last + 1)
    return Line(
        name, places.astype(np.float64), curve[np.minimum(places, len(curve) - 1)], "line", series
    )


def _read_off(curves: Sequence[Any], rank: int, level: float, last: int) -> list[Line]:
    """The vertical of nxCG, the horizontal of ep, and where they meet the curves."""
    lines, top, wanted = [], 0.0, level * max(float(pair.xCI[-1]) for pair in curves)
    left, right = float(last), 0.0
    for i, pair in enumerate(curves):
        gained = float(pair.xCG[min(rank, len(pair.xCG) - 1)])
        top = max(top, float(pair.xCI[min(rank, len(pair.xCI) - 1)]))
        x, y = [float(rank)], [gained]
        reached = _rank_at(pair.xCG, wanted)
        if reached is not None and reached <= last:
            x.append(reached)
            y.append(wanted)
        right = max(right, last if reached is None else min(reached, last))
        left = min(left, _rank_at(pair.xCI, wanted) or 0.0)
        lines.append(Line("", np.array(x), np.array(y), "points", i))
    return [
        Line(f"nxCG@{rank} (upright)", np.full(2, float(rank)), np.array([0.0, top]), "aid"),
        Line(f"ep@{level:g} (level)", np.array([left, right]), np.full(2, wanted), "aid"),
        *lines,
    ]


def _rank_at(curve: Floats, gain: float) -> float | None:
    """The rank at which a curve reaches a gain, on straight lines; None: never.

    >>> _rank_at(np.array([0.0, 1, 1, 2]), 1.5)
    2.5
    """
    at = int(np.searchsorted(curve, gain - 1e-12 * float(curve[-1])))
    if at >= len(curve):
        return None
    if at == 0:
        return 0.0
    step = float(curve[at] - curve[at - 1])
    return at - max(float(curve[at]) - gain, 0.0) / step


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


# -- the registry ------------------------------------------------------------------------------

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
        "topics",
        "Scores on topics",
        "scores on every topic, quartiles and mean",
        _ANY,
        Axis("score", ""),
        Axis("run", ""),
        special=_topic_scores,
    ),
    Kind(
        "differences",
        "Differences",
        "first run minus second on every topic",
        f"two runs, {_ANY}",
        Axis("topic", ""),
        Axis("difference", ""),
        special=_differences,
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
    hint = f"did you mean {near[0]}?" if near else f"expected {', '.join(GRAPHS)}"
    raise UsageError(f"no graph {name!r}; {hint} ('foveal plot --list' describes them)")
