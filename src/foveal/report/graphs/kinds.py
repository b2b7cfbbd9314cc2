"""A kind of graph: which measures it takes, and how its curves are made of results."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Literal

import numpy as np

from foveal.errors import UsageError, some
from foveal.evaluation.presets import find_preset
from foveal.measures import Measure, find_measure, parse_measure, parse_measures
from foveal.measures.xcg import Cumulated
from foveal.model import Results
from foveal.report.graphs.data import Axis, Floats, Graph, Line

__all__ = ["Kind"]

Source = Literal["results", "gains", "lengths"]


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
        >>> from foveal.report.graphs import GRAPHS
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

        >>> from foveal.report.graphs import GRAPHS
        >>> GRAPHS["gain"].drawn(task="2006.Focused")
        (nxCG(overlap=on), nxCG)
        """
        asked = [self._asked(text) for text in given] or self._of_task(task)
        return tuple(dict.fromkeys(asked or [find_measure(name) for name in self.default]))

    def graphs(self, results: Results, topic: str | None = None) -> tuple[Graph, ...]:
        """The graphs that results hold the points of: one for each measure.

        >>> from foveal.report.graphs import GRAPHS
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
        bare = _with_level(text) if self.varied else _without_cutoff(text)
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
                level = measure.at if self.varied else None
                found.setdefault(type(measure)(kept, level), {})[place] = column
        # A single point is a score, not a curve.
        return [(bare, at) for bare, at in found.items() if len(at) > 1]

    def _place(self, measure: Measure) -> float | None:
        value: Decimal | float | None = measure.at
        if self.varied:
            at_level = measure.at is None or measure.cutoff.required
            value = getattr(measure, self.varied, None) if at_level else None
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
        unit = bare.settings.get("unit") if self.varied == "budget" else None
        across = self.x if unit is None else replace(self.x, label=f"{unit} read")
        return Graph(self.name, f"{self.title}: {bare}, {of}", across, y, lines)


def _without_cutoff(text: str) -> Measure:
    """A measure as it is written for a graph: bare, or with ``@curve``."""
    name = text.partition("(")[0].partition("@")[0].strip()
    known = find_measure(name)
    head, at, cutoff = text.partition("@")
    if at and cutoff.strip() != "curve":
        raise UsageError(f"{text!r}: a graph draws all points; leave out @{cutoff.strip()}")
    measure = parse_measure(f"{head}@{known.cutoff.example}" if known.cutoff.required else head)
    return type(measure)(measure.settings)


def _with_level(text: str) -> Measure:
    """A measure whose parameter is varied: with its level of recall where it needs one."""
    known = find_measure(text.partition("(")[0].partition("@")[0].strip())
    return parse_measure(text) if known.cutoff.required else _without_cutoff(text)


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
    "charF": "F of characters",
    "iP": "interpolated precision",
    "SetOverlap": "results that overlap another",
    "ListOverlap": "results that overlap an earlier one",
    "MeanOverlap": "mean overlap with earlier results",
    "Redundancy": "text returned before",
}
