"""Results: the score of every run on every topic by every measure, and their means."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import compress
from typing import TYPE_CHECKING, Any, NotRequired, TypedDict

import numpy as np
import polars as pl

from foveal.errors import UsageError, shorten_list
from foveal.lookup import sort_topics
from foveal.model.run import ALL, Locked
from foveal.spans import Bools, Floats, Ints

if TYPE_CHECKING:
    from foveal.model.tables import Table

_SHOWN = 20  # runs and measures in a notebook
_ODD_IN_JSON = {"nan": "null", "inf": "Infinity", "-inf": "-Infinity"}


class _SavedRow(TypedDict):
    run: str
    topic: str
    measure: str
    value: float | None
    low: NotRequired[float | None]
    high: NotRequired[float | None]


class _SavedResults(TypedDict):
    results: list[_SavedRow]
    meta: NotRequired[dict[str, Any]]


_SHARED = ("task", "options")  # settings that comparable results have in common


@dataclass(frozen=True, eq=False)
class Results(Locked):
    """Scores by run, topic and measure."""

    runs: tuple[str, ...]
    topics: tuple[str, ...]
    measures: tuple[str, ...]
    values: Floats
    """The scores (run, topic, measure), in the order of printing: ``nan`` where a measure is
    undefined on a topic, or the topic is not in `counted`."""
    counted: Bools
    """True for the topics that the topic policy counts for each run (run, topic)."""
    overall: Floats
    """The value on topic ``all`` (run, measure): the mean over counted and defined topics, or for
    the measures that count things the sum."""
    meta: Mapping[str, Any] = field(default_factory=dict)
    """Provenance: version, options, inputs with their sha256, topics judged, in the run and
    averaged, warnings."""
    bounds: Bounds | None = None
    """Bounds of the scores over the unjudged text, if they were asked for."""

    def __repr__(self) -> str:
        return (
            f"<Results: {len(self.runs)} runs x {len(self.topics)} topics "
            f"x {len(self.measures)} measures>"
        )

    def __getitem__(self, key: tuple[str, str] | tuple[str, str, str]) -> float:
        """Return ``results[run, measure]`` over all topics, ``[run, measure, topic]`` on one."""
        run = _find(self.runs, key[0], "run")
        measure = _find(self.measures, str(key[1]), "measure")
        if len(key) == 2 or key[2] == ALL:
            return float(self.overall[run, measure])
        return float(self.values[run, _find(self.topics, key[2], "topic"), measure])

    @cached_property
    def averaged(self) -> Ints:
        """Number of topics behind each value of `overall` (run, measure)."""
        used = self.counted[:, :, None] & ~np.isnan(self.values)
        return np.asarray(np.count_nonzero(used, axis=1), dtype=np.int64)

    def aggregate(self) -> dict[str, dict[str, float]]:
        """Return run to measure to the value over all topics."""
        return {
            run: dict(zip(self.measures, self.overall[i].tolist(), strict=True))
            for i, run in enumerate(self.runs)
        }

    def per_topic(self, measure: str) -> dict[str, dict[str, float]]:
        """Return run to topic to value of one measure, counted topics only."""
        scores = self.values[:, :, _find(self.measures, str(measure), "measure")].tolist()
        return {
            run: dict(compress(zip(self.topics, scores[i], strict=True), self.counted[i]))
            for i, run in enumerate(self.runs)
        }

    def rows(self, *, per_topic: bool = True) -> Iterator[tuple[str, str, str, float]]:
        """Return tidy rows (run, topic, measure, value) in that order, with ``all`` last."""
        yield from self.tidy(per_topic=per_topic)[:, :4].iter_rows()

    def written(self, form: str, *, per_topic: bool = True) -> list[str]:
        """Return the rows as texts in a form, ``tsv`` or ``json``: a million in a second.

        >>> Results.from_tidy([("a", "all", "AP", None)], {}).written("json")
        ['{"run": "a", "topic": "all", "measure": "AP", "value": null}']
        """
        quote: Callable[[str], str] = str
        row, odd, rows = "%s\t%s\t%s\t%s", dict[str, str](), list[str]()
        ends = "\t%s\t%s"
        if form == "json":
            row = '{"run": %s, "topic": %s, "measure": %s, "value": %s'
            ends = ', "low": %s, "high": %s'
            quote, odd = partial(json.dumps, ensure_ascii=False), _ODD_IN_JSON
        row += (ends if self.bounds else "") + ("}" if form == "json" else "")
        topics, measures = [*map(quote, (*self.topics, ALL))], [*map(quote, self.measures)]
        shown = np.pad(self.counted & per_topic, ((0, 0), (0, 1)), constant_values=True)
        parts = (self, self.bounds.low, self.bounds.high) if self.bounds else (self,)
        columns = [np.concatenate([p.values, p.overall[:, None]], axis=1) for p in parts]
        for i, run in enumerate(map(quote, self.runs)):
            for j in np.flatnonzero(shown[i]).tolist():
                texts = [[*map(repr, values[i, j].tolist())] for values in columns]
                if odd:
                    texts = [[odd.get(text, text) for text in own] for own in texts]
                rows += [row % (run, topics[j], *own) for own in zip(measures, *texts, strict=True)]
        return rows

    def to_tsv(self, *, per_topic: bool = True) -> str:
        """Return the rows as tab-separated text at full precision, with a header."""
        for name in (*self.runs, *self.topics, *self.measures):
            if not {*"\t\n\r"}.isdisjoint(name):
                raise UsageError(f"{name!r} cannot be a field of tsv; csv and json can hold it")
        rows = self.written("tsv", per_topic=per_topic)
        header = "\t".join(["run\ttopic\tmeasure\tvalue", *["low", "high"] * bool(self.bounds)])
        return "\n".join([header, *rows, ""])

    def tidy(self, *, per_topic: bool = True) -> pl.DataFrame:
        """Return the rows as a Polars frame with columns run, topic, measure, value.

        With bounds also low and high.
        """
        shown = np.pad(self.counted & per_topic, ((0, 0), (0, 1)), constant_values=True)
        parts = {"value": self}
        parts |= {"low": self.bounds.low, "high": self.bounds.high} if self.bounds else {}
        values = {
            name: np.concatenate([part.values, part.overall[:, None]], axis=1)
            for name, part in parts.items()
        }
        index = np.nonzero(np.broadcast_to(shown[:, :, None], values["value"].shape))
        names = {"run": self.runs, "topic": (*self.topics, ALL), "measure": self.measures}
        columns = {
            kind: pl.Series(own, dtype=pl.String).gather(index[axis])
            for axis, (kind, own) in enumerate(names.items())
        }
        return pl.DataFrame({**columns, **{name: own[index] for name, own in values.items()}})

    def wide(self, *, per_topic: bool = False) -> pl.DataFrame:
        """Return one row per run (and topic), one column per measure."""
        frame, width = self.tidy(per_topic=per_topic), max(len(self.measures), 1)
        values = frame["value"].to_numpy().reshape(-1, width).T.copy()
        keys = frame.gather_every(width).select("run", *["topic"] * per_topic)
        return keys.hstack(list(map(pl.Series, self.measures, values)))

    def __str__(self) -> str:
        """Return the values over all topics as a table, one row per run."""
        from foveal.model.tables import format_tables

        return format_tables([self._tabulate()], "table").rstrip("\n")

    def _repr_html_(self) -> str:
        from foveal.model.tables import LONGEST, to_html

        return to_html(self._tabulate(repr(self)[1:-1].replace(" x ", ", ")), longest=LONGEST)

    def _tabulate(self, title: str = "") -> Table:
        """Return a table of the first runs and measures."""
        from foveal.model.tables import Table

        columns = [_format_column(self.overall[:_SHOWN, k]) for k in range(len(self.measures))]
        rows = tuple(zip(self.runs[:_SHOWN], *columns[:_SHOWN], strict=True))
        more = {"runs": len(self.runs) - _SHOWN, "measures": len(self.measures) - _SHOWN}
        notes = tuple(f"and {n:,} more {what}" for what, n in more.items() if n > 0)
        return Table(("run", *self.measures[:_SHOWN]), rows, title=title, notes=notes)

    def to_json(self) -> str:
        """Return all rows and the meta, as ``foveal evaluate -f json`` writes them."""
        rows = self.written("json")
        meta = json.dumps(self.meta, ensure_ascii=False, indent=1)
        return f'{{"meta":{meta},\n"results":[\n' + ",\n".join(rows) + "\n]}\n"

    @classmethod
    def from_json(cls, text: str | bytes) -> Results:
        """Return results saved by `to_json`, without scoring again.

        Raise ValueError with the error and what was expected.
        """
        import msgspec

        try:
            saved = msgspec.convert(json.loads(text), _SavedResults)
        except msgspec.ValidationError as error:
            raise ValueError(str(error)) from None
        rows = saved["results"]
        try:
            "".join({row[name] for row in rows for name in ("run", "topic", "measure")}).encode()
        except UnicodeEncodeError:
            raise ValueError("a name holds half of a surrogate pair; expected Unicode") from None
        meta = saved.get("meta", {})
        results = cls.from_tidy(
            [(r["run"], r["topic"], r["measure"], r["value"]) for r in rows], meta
        )
        if not any("low" in row for row in rows):
            return results
        low = cls.from_tidy([(r["run"], r["topic"], r["measure"], r.get("low")) for r in rows], {})
        high = cls.from_tidy(
            [(r["run"], r["topic"], r["measure"], r.get("high")) for r in rows], {}
        )
        return replace(results, bounds=Bounds(low, high))

    @property
    def lower_is_better(self) -> frozenset[str]:
        """Measures where lower is better, as far as the meta lists them."""
        return frozenset(self.meta.get("lower_is_better", ()))

    def only(self, measures: Sequence[str]) -> Results:
        """Return the results of these measures, each once and in this order."""
        at = [_find(self.measures, measure, "measure") for measure in dict.fromkeys(measures)]
        bounds = self.bounds and self.bounds.map(lambda own: own.only(measures))
        shown = tuple(self.measures[k] for k in at)
        values, overall = self.values[:, :, at], self.overall[:, at]
        return replace(self, measures=shown, values=values, overall=overall, bounds=bounds)

    def without_groups(self) -> Results:
        """Return the results without the scores of groups of topics, such as ``AiP[group]``."""
        ends = tuple(f"[{name}]" for name in self.meta.get("groups", ()))
        meta = {name: value for name, value in self.meta.items() if name != "groups"}
        kept = [label for label in self.measures if not ends or not label.endswith(ends)]
        return replace(self.only(kept), meta=meta) if ends else self

    def of_runs(self, runs: Sequence[str]) -> Results:
        """Return the results of these runs, each once and in this order."""
        at = [_find(self.runs, run, "run") for run in dict.fromkeys(runs)]
        columns = {name: getattr(self, name)[at] for name in ("values", "counted", "overall")}
        bounds = self.bounds and self.bounds.map(lambda own: own.of_runs(runs))
        return replace(self, runs=tuple(self.runs[i] for i in at), **columns, bounds=bounds)

    @classmethod
    def joined(cls, parts: Sequence[Results]) -> Results:
        """Return the results of several parts as one; a score in two parts must be the same.

        Parts scored with different judgements, collections, tasks or options are joined all the
        same, and a warning lists their runs. The meta has the inputs of all parts, and the settings
        they have in common. Bounds are lost: they are about the runs of one part.
        """
        if len(parts) == 1:
            return parts[0]
        differing = _list_differences(parts)
        if any(part.meta.get("groups") != parts[0].meta.get("groups") for part in parts):
            parts = [part.without_groups() for part in parts]
            differing.append("the groups of topics of the results differ; they are left out")
        meta = _join_meta(parts, differing)
        return cls.from_tidy([row for part in parts for row in part.rows()], meta)

    @classmethod
    def from_tidy(
        cls, rows: Sequence[tuple[str, str, str, float | None]], meta: Mapping[str, Any]
    ) -> Results:
        """Return results from tidy rows; None and ``nan`` are undefined values.

        A score may be given twice, but not with two values.
        """
        runs = tuple(dict.fromkeys(row[0] for row in rows))
        topics = sort_topics(row[1] for row in rows if row[1] != ALL)
        measures = tuple(dict.fromkeys(row[2] for row in rows))
        run_at, topic_at, measure_at = (
            {name: i for i, name in enumerate(names)} for names in (runs, (*topics, ALL), measures)
        )
        values = np.full((len(run_at), len(topic_at), len(measure_at)), np.nan)
        counted = np.zeros(values.shape[:2], dtype=bool)
        given: dict[tuple[int, int, int], float] = {}
        for run, topic, measure, value in rows:
            number = np.nan if value is None else value
            place = run_at[run], topic_at[topic], measure_at[measure]
            known = given.setdefault(place, number)
            if known != number and not (math.isnan(known) and math.isnan(number)):
                raise UsageError(
                    f"two results for run {run!r}, topic {topic}, measure {measure}: "
                    f"{known} and {number}; runs of one name must be one run"
                )
            values[place] = number
            counted[place[:2]] = True
        return cls(runs, topics, measures, values[:, :-1], counted[:, :-1], values[:, -1], meta)


@dataclass(frozen=True, eq=False)
class Bounds:
    """The least and the greatest scores that the unjudged text of all runs may turn scores into.

    ``meta["bounds"]`` of the results says which are exact, and which are only proven: no score
    passes them. Those of other measures are ``nan``.
    """

    low: Results
    high: Results
    least: Mapping[str, Callable[[int, int], Floats]] = field(default_factory=dict)
    """By measure, a function of the numbers of two runs: least difference on each topic."""
    runs: tuple[str, ...] = ()
    """The runs that have these numbers."""

    def map(self, function: Callable[[Results], Results]) -> Bounds:
        """Return the bounds after the same change to both results."""
        return replace(self, low=function(self.low), high=function(self.high))

    def find_least(self, measure: str, run: str, other: str) -> Floats:
        """Return the least difference of two runs on each topic, the first minus the second.

        That is over all completions of the judgements that the runs share, as far as it is known,
        else the low bound of the one less the high bound of the other.
        """
        k = _find(self.low.measures, measure, "measure")
        i, j = (_find(self.low.runs, name, "run") for name in (run, other))
        least: Floats = self.low.values[i, :, k] - self.high.values[j, :, k]
        own = measure.partition("[")[0]  # of a group of topics
        if own in self.least:
            i, j = (_find(self.runs, name, "run") for name in (run, other))
            least = np.where(np.isnan(least), np.nan, self.least[own](i, j))
        return least


def _format_column(values: Floats) -> list[str]:
    """Return scores with four decimals, counts as whole numbers."""
    known = values[np.isfinite(values)]
    whole = bool(known.size) and bool((known == np.round(known)).all()) and known.max() > 1
    return [
        "\N{EN DASH}" if math.isnan(value) else f"{value:.{0 if whole else 4}f}"
        for value in values.tolist()
    ]


def _find(names: tuple[str, ...], name: str, what: str) -> int:
    if name not in names:
        raise UsageError(f"no {what} {name!r} in the results; they hold {shorten_list(names)}")
    return names.index(name)


def _list_differences(parts: Sequence[Results]) -> list[str]:
    """Return a line for each setting in which parts differ; unknown settings count as equal."""
    groups: dict[str, dict[Any, dict[str, None]]] = {}
    for part in parts:
        for meta in _list_metas([part]):
            settings = {n: json.dumps(meta[n], sort_keys=True) for n in _SHARED if n in meta}
            for kind in ("judgements", "collection") if "inputs" in meta else ():
                found = [own.get("sha256") for own in meta["inputs"] if own.get("kind") == kind]
                if all(found) and (found or kind == "collection"):
                    settings[kind] = ",".join(sorted(found))
            for what, value in settings.items():
                groups.setdefault(what, {}).setdefault(value, {})[shorten_list(part.runs)] = None
    return [
        f"results scored with different {what.removesuffix('s')}s: "
        + "; ".join(shorten_list(tuple(runs)) for runs in by_value.values())
        for what, by_value in groups.items()
        if len(by_value) > 1
    ]


def _list_metas(parts: Sequence[Results]) -> list[Mapping[str, Any]]:
    """Return the metas of all parts, and of the parts that these were joined from."""
    return [meta for part in parts for meta in part.meta.get("parts", [part.meta])]


def _join_meta(parts: Sequence[Results], differing: Sequence[str]) -> dict[str, Any]:
    """Return all inputs and warnings, each once; task and options if all parts agree on them."""
    metas = _list_metas(parts)
    inputs = {json.dumps(item): item for meta in metas for item in meta.get("inputs", ())}
    warnings = [line for part in parts for line in part.meta.get("warnings", ())]
    joined: dict[str, Any] = {"inputs": list(inputs.values())}
    for name in (*_SHARED, "groups"):
        if all(name in meta and meta[name] == metas[0][name] for meta in metas):
            joined[name] = metas[0][name]
    if tasks := {run: task for meta in metas for run, task in meta.get("tasks", {}).items()}:
        joined["tasks"] = tasks
    if lower := sorted({name for part in parts for name in part.lower_is_better}):
        joined["lower_is_better"] = lower
    parts_meta = [dict(meta) for meta in metas]
    return {**joined, "parts": parts_meta, "warnings": list(dict.fromkeys([*warnings, *differing]))}
