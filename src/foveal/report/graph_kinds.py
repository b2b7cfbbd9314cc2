"""The graphs of the papers: their kinds, and how scores, gains and lengths become lines.

`foveal.report.drawing` and the report page draw them and add no number. Curves are read off
results: a point of a graph is the row of the results that carries its name, such as ``ep@0.10``
for the tenth point of the graph ``ep``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import compress
from typing import Literal

import numpy as np

from foveal.errors import UsageError, shorten_list
from foveal.evaluation.preparation import AlignedRun
from foveal.evaluation.presets import find_preset
from foveal.measures import Measure, find_measure, parse_measure, parse_measures
from foveal.measures.xcg import Cumulated, Curves
from foveal.model import Results
from foveal.model.graphs import Axis, Graph, Line
from foveal.model.run import ALL
from foveal.spans import Floats, Ints

_MOST_NAMES = 40
"""Largest number of topics named along an axis."""
_FEWEST_BARS = 5
"""A graph of fewer bars has the room of so many."""
_WIDE = 0.3
"""Half the height of a run's band; bands are 1 apart."""


@dataclass(frozen=True)
class GraphKind:
    """A kind of graph: what it shows, the measures it draws, and how results become lines."""

    name: str
    title: str
    x: Axis
    y: Axis
    default: tuple[str, ...] = ()
    """Measures drawn by default, a graph each."""
    more: tuple[str, ...] = ()
    """Names of other measures that it can draw."""
    family: tuple[str, ...] = ()
    """Measures of an official task that lend the graph their parameters."""
    varied: str = ""
    """The parameter along the x axis; empty: the cut-off."""
    points: tuple[str, ...] = ()
    """Values along the x axis; empty: those of the measure's own curve."""
    ends: bool = False
    """End the graph where all lines become flat."""
    source: Literal["curves", "topics", "gains", "lengths"] = "curves"
    """Points of curves, scores on topics, cumulated gains, or lengths of results."""

    @property
    def allowed(self) -> tuple[str, ...]:
        """Names of the measures that it can draw."""
        return (*self.default, *self.more)

    def measures(
        self, given: Sequence[str] = (), task: str | None = None, *, ranks: int | None = None
    ) -> tuple[Measure, ...]:
        """Return the measures to score for the graph: all points of its curves.

        Measures are those `given`, whose cut-offs do not matter, else those of the task, else the
        `default`. Graphs over rank end at `ranks`.

        >>> [str(measure) for measure in GRAPHS["bepd"].measures()][::6]
        ['BEPD(A=0.01)', 'BEPD', 'BEPD(A=100)']
        >>> GRAPHS["ep"].measures(task="2005.CO.Thorough")[0]
        ep(quant=gen5)@0.01
        """
        if self.source == "lengths":
            return (find_measure("ret_size")(),)
        if self.source == "gains":
            return tuple(point for bare in self.drawn(given, task) for point in gain_measures(bare))
        if self.source == "curves":
            drawn = self.drawn(given, task)
            return tuple(point for bare in drawn for point in self.list_points(bare, ranks))
        if not given and task is not None:
            given = [text for text in find_preset(task).texts if not text.endswith("@curve")][:1]
        if not given:
            raise UsageError(
                f"the graph {self.name} is of one measure or more; name them (--measure), or a "
                "task (--task), whose first one is drawn"
            )
        return tuple(dict.fromkeys(m for text in given for m in parse_measures(text)))

    def drawn(self, given: Sequence[str] = (), task: str | None = None) -> tuple[Measure, ...]:
        """Return the measures to draw, a graph each, without the value along the x axis.

        >>> GRAPHS["gain"].drawn(task="2006.Focused")
        (nxCG(overlap=on), nxCG)
        """
        found = [self._parse(text) for text in given]
        if not found and task is not None:
            own = [measure for measure in find_preset(task).measures if measure.name in self.family]
            found = [self.adapt(measure) for measure in own]
        return tuple(dict.fromkeys(found or map(find_measure, self.default)))

    def adapt(self, other: Measure) -> Measure:
        """Return the default measure with the parameters it shares with another one."""
        bare = find_measure(self.default[0])
        known = {parameter.name for parameter in bare.parameters} - {self.varied}
        return bare(**{n: v for n, v in other.settings.items() if n in known})

    def list_points(self, bare: Measure, ranks: int | None = None) -> Iterator[Measure]:
        """Yield the points of the curve of a measure, up to rank `ranks` if x is the rank."""
        values = self.points or bare.curve
        if self.x.label == "rank" and ranks is not None:
            values = (*(at for at in values if int(at) < ranks), str(ranks))
        for value in values:
            yield bare(**{self.varied: value}) if self.varied else bare @ value

    def graphs(self, results: Results, topic: str | None = None) -> tuple[Graph, ...]:
        """Draw the graphs whose points the results hold, one for each measure.

        >>> rows = [("mine", "1", f"igP@{x / 10:g}", 1 - x / 10) for x in range(11)]
        >>> rows += [("mine", "all", *row[2:]) for row in rows]
        >>> (graph,) = GRAPHS["gpgr"].graphs(Results.from_tidy(rows, {}))
        >>> graph.lines[0].y[:3].tolist()
        [1.0, 0.9, 0.8]
        """
        if self.source == "topics":
            draw = draw_topics if self.name == "topics" else draw_differences
            return tuple(draw(results, label) for label in results.measures)
        values, of = results.overall, "mean over topics"
        if topic is not None:
            if topic not in results.topics:
                held = shorten_list(results.topics)
                raise UsageError(f"no topic {topic!r} in the results; they hold {held}")
            values, of = results.values[:, results.topics.index(topic)], f"topic {topic}"
        found = []
        for bare, columns in self._find_points(results).items():
            x = np.array(sorted(columns))
            own = values[:, [columns[place] for place in x.tolist()]]
            kept = len(x)
            if self.ends:
                known = np.nan_to_num(own, nan=-1.0)
                changes = np.flatnonzero((known[:, 1:] != known[:, :-1]).any(axis=0))
                kept = max(int(changes[-1]) + 2 if len(changes) else 0, 2)
            lines = tuple(
                Line(run, x[:kept], own[i, :kept], series=i) for i, run in enumerate(results.runs)
            )
            y = self.y if len(self.allowed) == 1 else Axis(bare.name, "share", 0.0)
            unit = bare.settings.get("unit") if self.varied == "budget" else None
            across = self.x if unit is None else replace(self.x, label=f"{unit} read")
            found.append(Graph(self.name, f"{self.title}: {bare}, {of}", across, y, lines))
        if not found:
            wanted = " or ".join(f"{name}@curve" for name in self.default)
            raise UsageError(f"the results hold no point of the graph {self.name} ({wanted})")
        return tuple(found)

    def _parse(self, text: str) -> Measure:
        """Read a measure, and drop its cut-off if that runs along the x axis."""
        head = text.partition("@")[0]
        known = find_measure(head.partition("(")[0].strip())
        whole = f"{head}@{known.cutoff.example}" if known.cutoff.required else head
        bare = parse_measure(text if self.varied else whole)
        if self.source == "gains" and isinstance(bare, Cumulated):
            return self.adapt(bare)
        if bare.name not in self.allowed:
            expected = " or ".join(self.allowed) or "no measure"
            raise UsageError(f"the graph {self.name} does not draw {text!r}; expected {expected}")
        return bare if self.varied else type(bare)(bare.settings)

    def _find_points(self, results: Results) -> dict[Measure, dict[float, int]]:
        """Return the x values and columns of each measure that results hold points of."""
        found: dict[Measure, dict[float, int]] = {}
        for column, label in enumerate(results.measures):
            try:
                measure = parse_measure(label)
            except UsageError:  # saved by a version that knew more measures
                continue
            place = measure.at
            if self.varied:
                at_level = measure.at is None or measure.cutoff.required
                place = getattr(measure, self.varied, None) if at_level else None
            if measure.name in self.allowed and place is not None:
                kept = {n: v for n, v in measure.settings.items() if n != self.varied}
                bare = type(measure)(kept, measure.at if self.varied else None)
                found.setdefault(bare, {})[float(place)] = column
        # A single point is a score, not a curve.
        return {bare: columns for bare, columns in found.items() if len(columns) > 1}


def draw_topics(results: Results, label: str) -> Graph:
    """Draw the scores of every run, a point per topic, with quartiles and mean, best run first."""
    column = results.measures.index(label)
    spread = np.linspace(_WIDE, -_WIDE, len(results.topics)) if results.topics[1:] else np.zeros(1)
    # The overall value of a count is a sum.
    kind = find_measure(label.partition("@")[0].partition("(")[0])
    is_lower_better = label in results.lower_is_better or kind.higher_is_better is False
    sign = -1 if is_lower_better else 1
    worth = np.nan_to_num(sign * results.overall[:, column], nan=-np.inf)
    order = np.argsort(-worth, kind="stable").tolist()
    lines: list[Line] = []
    for place, i in zip(reversed(range(len(order))), order, strict=True):  # the first run on top
        own = results.values[i, :, column]
        known = ~np.isnan(own)
        if not known.any():
            continue
        mean = float(np.nanmean(own) if kind.summed else results.overall[i, column])
        sides = np.array([place - _WIDE, place + _WIDE])
        lines.append(Line(results.runs[i], own[known], place + spread[known], "points", i))
        if known.sum() > 1:
            low, middle, high = np.quantile(own[known], (0.25, 0.5, 0.75)).tolist()
            name = "" if any(line.mark == "aid" for line in lines) else "quartiles, median"
            box = np.array([low, high, high, low, low])
            lines.append(Line(name, box, sides[[0, 0, 1, 1, 0]], "aid"))
            lines.append(Line("", np.full(2, middle), sides, "aid"))
        name = "" if any(line.mark == "level" for line in lines) else "mean"
        lines.append(Line(name, np.full(2, mean), sides, "level"))
    negative = bool((results.values[:, :, column] < 0).any())
    x = Axis(label, "score on a topic", None if negative else 0.0)
    names = tuple(results.runs[i] for i in reversed(order))
    y = Axis("run", "", -0.6, len(names) - 0.4, names=names)
    return Graph("topics", f"Scores on topics: {label}", x, y, tuple(lines))


def draw_differences(results: Results, label: str) -> Graph:
    """Draw the differences of two runs by topic, the largest first."""
    if len(results.runs) != 2:
        given = f"{len(results.runs)} given: {shorten_list(results.runs)}"
        raise UsageError(f"the graph differences is of two runs; {given}")
    one, other = results.runs
    first, second = results.values[:, :, results.measures.index(label)]
    gap = first - second
    order = np.argsort(-gap, kind="stable")
    order = order[~np.isnan(gap[order])]
    if not len(order):
        raise UsageError(f"{label}: {one} and {other} have no topic with a score in common")
    named = tuple(results.topics[j] for j in order.tolist())
    unit = "" if len(named) <= _MOST_NAMES else f"{len(named)}, by difference"
    mean = float(gap[order].mean())
    beside = max(0.0, (_FEWEST_BARS - len(order)) / 2)  # a single bar is not a wall
    ends = np.array([-0.5 - beside, len(order) - 0.5 + beside])
    places = np.arange(len(order), dtype=np.float64)
    lines = (
        Line(f"{one} - {other}", places, gap[order], "bars", 0),
        Line(f"mean {mean:.4f}", ends, np.full(2, mean), "level"),
    )
    x = Axis("topic", unit, -0.7 - beside, len(order) - 0.3 + beside, names=named)
    title = f"{label}: {one} minus {other}"
    return Graph("differences", title, x, Axis("difference", label), lines)


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

_KINDS = (
    GraphKind(
        "gain",
        "Cumulated gain",
        Axis("rank", "results"),
        Axis("cumulated gain", ""),
        default=("nxCG",),
        family=("nxCG", "MAnxCG", "xCG", "gr", "ep", "MAep", "iMAep"),
        source="gains",
    ),
    GraphKind(
        "ep",
        "Effort-precision over gain-recall",
        Axis("gain-recall", "share of the ideal gain", 0.0, 1.0),
        Axis("effort-precision", "share", 0.0),
        default=("ep",),
        family=("ep", "MAep", "iMAep"),
    ),
    GraphKind(
        "nxcg",
        "Normalised cumulated gain",
        Axis("rank", "results", 0.0),
        Axis("nxCG", "share of the ideal gain", 0.0),
        default=("nxCG",),
        family=("nxCG", "MAnxCG"),
        points=_RANKS,
        ends=True,
    ),
    GraphKind(
        "inex_eval",
        "Precision over recall",
        Axis("recall", "share of all relevance", 0.0, 1.0),
        Axis("precision", "share", 0.0),
        default=("inex_eval",),
        family=("inex_eval",),
    ),
    GraphKind(
        "ip",
        "Interpolated precision over recall",
        Axis("recall", "share of relevant characters", 0.0, 1.0),
        Axis("interpolated precision", "share of characters", 0.0),
        default=("iP",),
        family=("iP", "AiP"),
    ),
    GraphKind(
        "gpgr",
        "Generalised precision over recall",
        Axis("generalised recall", "share of relevant documents", 0.0, 1.0),
        Axis("interpolated gP", "mean score", 0.0),
        default=("igP",),
        family=("igP", "gP", "AgP"),
    ),
    GraphKind(
        "eprum",
        "EPRUM precision over recall",
        Axis("recall", "share of targets", 0.0, 1.0),
        Axis("expected precision", "share", 0.0),
        default=("EPRUM",),
        family=("EPRUM",),
    ),
    GraphKind(
        "bepd",
        "Distance from best entry points",
        Axis("tolerance A", "mean document lengths", 0.01, 100.0, log=True),
        Axis("BEPD", "mean nearness", 0.0),
        default=("BEPD",),
        family=("BEPD",),
        varied="A",
        points=_TOLERANCES,
    ),
    GraphKind(
        "effort",
        "Reading effort",
        Axis("characters read", "per topic", log=True),
        Axis("share", "", 0.0),
        default=("charR", "charP"),
        varied="budget",
        points=_BUDGETS,
        ends=True,
    ),
    GraphKind(
        "budget",
        "Scores at budgets",
        Axis("characters read", "per topic", 0.0),
        Axis("share", "", 0.0),
        default=("charR",),
        more=("charP", "charF", "iP"),
        varied="budget",
        points=_BUDGETS,
        ends=True,
    ),
    GraphKind("topics", "Scores on topics", Axis("score", ""), Axis("run", ""), source="topics"),
    GraphKind(
        "differences", "Differences", Axis("topic", ""), Axis("difference", ""), source="topics"
    ),
    GraphKind(
        "lengths",
        "Lengths of results",
        Axis("length", "characters", log=True),
        Axis("results at most so long", "share", 0.0, 1.0),
        source="lengths",
    ),
    GraphKind(
        "overlap",
        "Overlap",
        Axis("rank", "results", 0.0),
        Axis("overlap", "share", 0.0),
        default=("ListOverlap",),
        more=("SetOverlap", "MeanOverlap", "Redundancy"),
        points=_FEWER_RANKS,
        ends=True,
    ),
)

GRAPHS = {kind.name: kind for kind in _KINDS}
"""Kinds of graphs by name, in the order of listing."""


def find_graph(name: str) -> GraphKind:
    """Return the kind of graph of a name, in any case."""
    if name.casefold() not in GRAPHS:
        raise UsageError(f"unknown graph {name!r}; expected {', '.join(GRAPHS)}")
    return GRAPHS[name.casefold()]


# -- graphs that are not read off scores alone ----------------------------------------------------

RANK, LEVEL = 10, 0.5
"""Where nxCG and ep are read off in a graph of gains."""


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


def gain_measures(bare: Measure, *, rank: int = RANK, level: float = LEVEL) -> tuple[Measure, ...]:
    """Return the scores read off a graph of gains: nxCG at a rank, ep at a level.

    ep interpolates linearly, as the curves are drawn: ``between=curve``.
    """
    ep = find_measure("ep")(**bare.settings, between="curve")
    return find_measure("nxCG")(**bare.settings) @ rank, ep @ level


def gain_graph(
    curves: Sequence[Mapping[str, Curves]],
    scores: Results,
    bare: Measure,
    *,
    rank: int = RANK,
    level: float = LEVEL,
    topic: str | None = None,
    ranks: int | None = None,
) -> Graph:
    """Draw the cumulated gain of runs and of the ideal list, and where nxCG and ep are read off.

    `curves` are the `cumulate_gains` of each run, `scores` those of the same runs by
    `gain_measures`, and `bare` is nxCG with the parameters of the gains. A level is a share of all
    there is to gain. Without a topic, curves are means over the topics that count for a run.
    """
    drawn = []
    for run, own, counted in zip(scores.runs, curves, scores.counted, strict=True):
        topics = [topic] if topic is not None else compress(scores.topics, counted)
        if not (known := [own[name] for name in topics if name in own]):
            where = "any topic that counts" if topic is None else f"topic {topic!r}"
            raise UsageError(f"run {run!r} has no curve: nothing can be gained on {where}")
        drawn.append(average_curves(known))
    nxcg, ep = gain_measures(bare, rank=rank, level=level)
    last = max(max(map(len, pair)) for pair in drawn) - 1
    last = max(min(last, ranks or last), rank)
    places = np.arange(last + 1)

    def make_line(name: str, curve: Floats, series: int | None) -> Line:  # flat after its end
        shown = curve[np.minimum(places, len(curve) - 1)]
        return Line(name, places.astype(np.float64), shown, "line", series)

    lines: list[Line] = []
    ideals: dict[bytes, list[int]] = {}
    for i, (run, pair) in enumerate(zip(scores.runs, drawn, strict=True)):
        at_rank, at_level = (scores[run, m.label, topic or ALL] for m in (nxcg, ep))
        said = f"{run}: nxCG@{rank} {at_rank:.4f}, ep@{level:g} {at_level:.4f}"
        lines.append(make_line(said, pair.xCG, i))
        ideals.setdefault(pair.xCI.tobytes(), []).append(i)
    for sharing in ideals.values():
        of = "" if len(ideals) == 1 else " of " + ", ".join(scores.runs[i] for i in sharing)
        lines.append(make_line(f"ideal{of}", drawn[sharing[0]].xCI, None))
    # The vertical of nxCG, the horizontal of ep, and where they meet the curves.
    wanted = level * max(float(pair.xCI[-1]) for pair in drawn)
    top = max(float(pair.xCI[min(rank, len(pair.xCI) - 1)]) for pair in drawn)
    reached = [_find_rank(pair.xCG, wanted) for pair in drawn]
    right = max(min(last, float(last) if at is None else at) for at in reached)
    left = min(float(last), *(_find_rank(pair.xCI, wanted) or 0.0 for pair in drawn))
    upright, across = np.full(2, float(rank)), np.array([left, right])
    lines.append(Line(f"nxCG@{rank} (upright)", upright, np.array([0.0, top]), "aid"))
    lines.append(Line(f"ep@{level:g} (level)", across, np.full(2, wanted), "aid"))
    for i, (pair, at) in enumerate(zip(drawn, reached, strict=True)):
        x, y = [float(rank)], [float(pair.xCG[min(rank, len(pair.xCG) - 1)])]
        if at is not None and at <= last:
            x.append(at)
            y.append(wanted)
        lines.append(Line("", np.array(x), np.array(y), "points", i))
    title = f"Cumulated gain: {bare}, " + (f"topic {topic}" if topic else "mean over topics")
    notes = ["ep is read on straight lines between ranks: ep(between=curve)."]
    if topic is None:
        notes.append("nxCG and ep are means over topics, not quotients of the mean curves.")
    x_axis = Axis("rank", "results", 0.0, float(last))
    y_axis = Axis("cumulated gain", "sum of gains", 0.0)
    return Graph("gain", title, x_axis, y_axis, tuple(lines), tuple(notes))


def draw_aligned(
    kind: GraphKind,
    runs: Sequence[AlignedRun],
    scores: Results,
    measures: Sequence[Measure],
    *,
    topic: str | None = None,
    ranks: int | None = None,
) -> tuple[Graph, ...]:
    """Draw what scores alone do not show of runs: a graph of gains per measure, or of lengths.

    `scores` are those of `GraphKind.measures` on the runs.
    """
    if kind.source == "lengths":
        sizes = [own.alignment_for(find_measure("ret_size")()).size for own in runs]
        return (lengths_graph(dict(zip(scores.runs, sizes, strict=True))),)
    graphs = []
    for bare in measures:
        curves = [cumulate_gains(own, gain_measures(bare)[0]) for own in runs]
        graphs.append(gain_graph(curves, scores, bare, topic=topic, ranks=ranks))
    return tuple(graphs)


def _find_rank(curve: Floats, gain: float) -> float | None:
    """Return the interpolated rank at which a curve reaches a gain; None: never.

    >>> _find_rank(np.array([0.0, 1, 1, 2]), 1.5)
    2.5
    """
    at = int(np.searchsorted(curve, gain - 1e-12 * float(curve[-1])))
    if at >= len(curve):
        return None
    if at == 0:
        return 0.0
    step = float(curve[at] - curve[at - 1])
    return at - max(float(curve[at]) - gain, 0.0) / step


def lengths_graph(lengths: Mapping[str, Ints]) -> Graph:
    """Draw the cumulative distribution of the lengths of each run's results.

    >>> (line,) = lengths_graph({"mine": np.array([50, 20, 20, 90])}).lines
    >>> line.x.tolist(), line.y.tolist()
    ([20.0, 50.0, 90.0], [0.5, 0.75, 1.0])
    """
    lines = []
    for i, (run, own) in enumerate(lengths.items()):
        # Results without length are drawn as of one character, where the axis begins.
        place, counts = np.unique(np.maximum(own, 1), return_counts=True)
        share = np.cumsum(counts) / max(len(own), 1)
        lines.append(Line(run, place.astype(np.float64), share, "steps", i))
    kind = GRAPHS["lengths"]
    return Graph("lengths", kind.title, kind.x, kind.y, tuple(lines))
