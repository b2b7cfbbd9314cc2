"""Fidelity of measures: do they order runs as expected whose order is known?"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from foveal._version import __version__
from foveal.analysis.score_matrix import ScoreMatrix
from foveal.analysis.score_tables import tabulate_scores
from foveal.analysis.significance import t_test
from foveal.analysis.simulation import (
    ELEMENTS,
    EMPTY,
    PARTS,
    RANKINGS,
    Ordering,
    Simulation,
    orderings_between,
    part_set,
    read_orderings,
    simulate,
)
from foveal.errors import InputError, Note, UsageError, some
from foveal.evaluation import Options, evaluate, find_preset
from foveal.formats import read_judgements, read_run
from foveal.measures import Measure, Need, parse_measure, parse_measures
from foveal.measures.base import OverlapRule
from foveal.model import Judgements, Results, Run
from foveal.model.graphs import Axis, Graph, Line
from foveal.model.result_object import Result
from foveal.model.run import distinguish_names
from foveal.model.tables import Table

__all__ = [
    "FIDELITY_TABLES",
    "LEVEL",
    "SCORED",
    "TOLERANCE",
    "TRIED",
    "Fidelity",
    "FidelityVerdict",
    "OrderingOutcome",
    "fidelity",
    "try_measures",
]

FIDELITY_TABLES = ("scores", "orderings", "verdict")
_SIGNS = {"broken": "!!", "reversed": "!", "below": "?", "equal": "", "holds": ""}
_ABREAST = 2  # measures side by side in a table
_LEAST = 2.2e-16  # the study printed this bound for any smaller p
SCORED = (
    *("gP@1", "gP@2", "gP@10", "gR@1", "gR@2", "gR@10", "AgP"),
    *("gRw@1", "gRw@2", "gRw@10", "AgPw", "AP"),
)
"""The columns of table 1."""
TRIED = ("AgP", "AgPw", "AP")
"""The overall figures among them, which are tested unless others are named."""
TOLERANCE = 1e-12
"""Scores that differ by less are equal; relative to scores above 1."""
LEVEL = 0.05
"""A mean is reversed if it is significantly so at this level (paired t-test, two-sided)."""
_ASPECTS = {
    "parts": "the parts",
    "insertion": "a non-relevant document put first",
    "swap": "the swap of the first two documents",
    "late swap": "the swap of the first two relevant documents behind a non-relevant one",
    "insertion and swap": "a non-relevant document put first with the next two swapped",
    "given": "the expected differences",
}
"""The aspects of orderings in words."""
_SWAPS = ("swap", "late swap")
_SHOWN = 3
_CHOICE = ("only_topics", "pools", "assessors", "topics_file", "castitles_only")
"""Options that choose judgements; the others are about scoring."""
_ALTERING = (
    *("overlap", "regroup", "snap", "truncate", "lenient"),
    *("max_results", "topic_limit", "document_limit"),
)
"""Options that change runs."""
_ABOUT_ELEMENTS = (
    *("cas", "support_judgements", "documents", "name_from", "tag_classes"),
    *("exclude_tags", "recompute"),
)
"""Options that choose the elements that count."""
_WITHOUT_S = (
    "{}: about elements, so tried without S, whose passages are none; documents of which nothing "
    "is returned are left out"
)


@dataclass(frozen=True)
class OrderingOutcome:
    """The outcome of one expected ordering by a measure.

    Parameters
    ----------
    difference : float
        Mean over topics by which the first run is better; negative if it is worse.
    wins, ties, losses : int
        Numbers of topics on which it is better, equal and worse.
    p : float
        p of the paired t-test, two-sided, not corrected; ``nan`` with fewer than two topics.
    verdict : str
        ``holds``; ``equal`` on all topics; ``broken`` on a topic although it must hold on every
        one; expected on average, but ``reversed`` significantly, or only ``below``.
    """

    measure: str
    ordering: Ordering
    difference: float
    wins: int
    ties: int
    losses: int
    p: float
    verdict: str

    def to_dict(self) -> dict[str, Any]:
        """Return a row for tables and JSON."""
        return {
            "measure": self.measure,
            "better": self.ordering.better,
            "worse": self.ordering.worse,
            "expected": "every" if self.ordering.every else "mean",
            "aspect": self.ordering.aspect,
            "difference": self.difference,
            "wins": self.wins,
            "ties": self.ties,
            "losses": self.losses,
            "p": self.p,
            "verdict": self.verdict,
        }

    @property
    def topics(self) -> int:
        return self.wins + self.ties + self.losses

    def __str__(self) -> str:
        better, worse = self.ordering.better, self.ordering.worse
        if self.verdict == "broken":
            where = f"{self.losses} of {self.topics} topics" if self.topics > 1 else _topics(self)
            return f"{better} is below {worse} on {where}"
        by = f"{100 * self.difference:+.2g} %"
        if not math.isnan(self.p):
            how = "significantly" if self.verdict == "reversed" else "not significantly"
            by = f"{by}, {how}, p = {self.p:.2g}"
        return f"{better} is below {worse} on average ({by})"


@dataclass(frozen=True)
class FidelityVerdict:
    """The verdict on a measure, in words."""

    measure: str
    passed: bool
    """No ordering that must hold on every topic is broken."""
    sentences: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Fidelity(Result):
    """Scores of the runs, the outcome of every ordering, and the verdicts on measures.

    Parameters
    ----------
    scores : Results
        Scores of all runs by all measures, tested or not.
    outcomes : tuple of OrderingOutcome
        Measure by measure, in the order of `orderings`.
    orderings : tuple of Ordering
    verdicts : tuple of FidelityVerdict
        One for each tested measure.
    notes : tuple of str
        Notes on the runs, topics and scores.
    simulation : Simulation, optional
        The simulation that made the runs.
    """

    scores: Results
    outcomes: tuple[OrderingOutcome, ...]
    orderings: tuple[Ordering, ...]
    verdicts: tuple[FidelityVerdict, ...]
    notes: tuple[str, ...] = ()
    simulation: Simulation | None = None
    meta: Mapping[str, Any] = field(default_factory=dict)

    def __repr__(self) -> str:
        return (
            f"<Fidelity: {len(self.verdicts)} measures on trial, {len(self.scores.runs)} runs, "
            f"{len(self.orderings)} orderings>"
        )

    @property
    def passed(self) -> bool:
        """No measure breaks an ordering that must hold."""
        return all(verdict.passed for verdict in self.verdicts)

    @cached_property
    def sentences(self) -> tuple[str, ...]:
        return tuple(text for verdict in self.verdicts for text in verdict.sentences)

    def of(self, measure: str) -> tuple[OrderingOutcome, ...]:
        """Return the outcomes of one measure."""
        return tuple(outcome for outcome in self.outcomes if outcome.measure == measure)

    def rows(self, *, table: str | None = None) -> Iterator[dict[str, Any]]:
        """Yield a row for each outcome, or the rows of another of `FIDELITY_TABLES`."""
        if table == "scores":
            for row in self.scores.rows(per_topic=False):
                yield dict(zip(("run", "topic", "measure", "value"), row, strict=True))
        elif table == "verdict":
            for v in self.verdicts:
                words = " ".join(v.sentences)
                yield {"measure": v.measure, "passed": v.passed, "words": words}
        else:
            yield from map(OrderingOutcome.to_dict, self.outcomes)

    def parts(self) -> dict[str, Any]:
        """Return scores, outcomes and verdicts."""
        return {
            "scores": [
                {"run": run, "measure": measure, "value": value}
                for run, _, measure, value in self.scores.rows(per_topic=False)
            ],
            "orderings": list(self.rows()),
            "verdicts": [
                {"measure": v.measure, "passed": v.passed, "words": v.sentences}
                for v in self.verdicts
            ],
        }

    def summary(self) -> str:
        """Return which measures pass."""
        passed = [verdict.measure for verdict in self.verdicts if verdict.passed]
        failed = [verdict.measure for verdict in self.verdicts if not verdict.passed]
        if not failed:
            return f"All orderings that must hold on every topic hold by {some(passed)}."
        return f"Orderings that must hold on every topic are broken by {some(failed)}."

    def tables(self, *, table: str | None = None) -> list[Table]:
        """Return one of `FIDELITY_TABLES`, or all."""
        tables = []
        if table in (None, "scores"):
            title = f"Scores of {len(self.scores.runs)} runs, {len(self.scores.topics)} topics"
            tables.append(replace(tabulate_scores(self.scores), title=title))
        if table in (None, "orderings"):
            tables += self._tabulate_orderings()
        if table in (None, "verdict"):
            tables.append(self._tabulate_verdicts())
        return tables

    def _tabulate_orderings(self) -> list[Table]:
        """Return the outcome of every ordering, two measures to a table."""
        alike: dict[tuple[Ordering, ...], list[str]] = {}
        for verdict in self.verdicts:
            expected = tuple(outcome.ordering for outcome in self.of(verdict.measure))
            alike.setdefault(expected, []).append(verdict.measure)
        level = self.meta.get("options", {}).get("level", LEVEL)
        notes = (
            "on: expected on every topic, or of the mean over topics.",
            (
                f">, ==, <: topics on which the first run is better, equal (within {TOLERANCE:g}) "
                "and worse; p: paired t-test, two-sided, not corrected."
            ),
            (
                "!!: must hold on every topic and does not; "
                f"!: reversed on average (p < {level:g}); ?: below on average, not significantly."
            ),
        )
        tables = []
        for expected, names in alike.items():
            for measures in (names[i : i + _ABREAST] for i in range(0, len(names), _ABREAST)):
                header = ["ordering", "on"]
                for measure in measures:
                    header += [f"{measure} diff %", ">", "==", "<", "p", "!"]
                outcomes = zip(*map(self.of, measures), strict=True)
                lines = [
                    (str(o), "every" if o.every else "mean", *chain.from_iterable(map(_cells, own)))
                    for o, own in zip(expected, outcomes, strict=True)
                ]
                title = f"Expected orderings by {' and '.join(measures)}"
                tables.append(
                    Table(tuple(header), tuple(lines), labels=2, title=title, name="orderings")
                )
        return [*tables[:-1], replace(tables[-1], notes=notes)]

    def _tabulate_verdicts(self) -> Table:
        """Return how many orderings of each kind came out how."""
        kinds = ("holds", "equal", "broken", "reversed", "below")
        lines = []
        for verdict in self.verdicts:
            own = [outcome.verdict for outcome in self.of(verdict.measure)]
            counts = (str(own.count(kind)) for kind in kinds)
            lines.append((verdict.measure, "passes" if verdict.passed else "fails", *counts))
        header = ("measure", "verdict", *kinds)
        notes = self.sentences
        return Table(header, tuple(lines), labels=2, title="Verdict", notes=notes, name="verdict")

    def graphs(self, measure: str = "igP", ranking: str = "R") -> list[Graph]:
        """Return the curves of a measure for the runs of one ranking.

        With the defaults it is figure 4 of the study: generalised precision, interpolated at eleven
        points of generalised recall. Without the points of ``igP@curve`` there is no graph.
        """
        if ranking not in RANKINGS:
            raise UsageError(f"unknown ranking {ranking!r}; expected {' or '.join(RANKINGS)}")
        points = {}
        for label in self.scores.measures:
            scored = parse_measure(label)
            if scored.at is not None and type(scored)(scored.settings).label == measure:
                points[float(scored.at)] = label
        if len(points) < 2:
            return []
        at = np.array(sorted(points))
        names = [f"{part}{ranking}" for part in PARTS if f"{part}{ranking}" in self.scores.runs]
        lines = [
            Line(run, at, np.array([self.scores[run, points[x]] for x in at.tolist()]), series=i)
            for i, run in enumerate(names)
        ]
        across = Axis("recall" if at.max() <= 1 else "rank")
        title = f"Simulated runs by {measure}"
        return [Graph("fidelity", title, across, Axis(measure, low=0.0), tuple(lines))]


def _cells(outcome: OrderingOutcome) -> tuple[str, ...]:
    """Return the cells of an outcome: difference, counts, p, sign."""
    difference, p = "0", "-"
    if outcome.wins + outcome.losses:
        difference = f"{100 * outcome.difference:+.2f}"
        if outcome.p < _LEAST:
            p = f"<{_LEAST:g}"
        elif not math.isnan(outcome.p):
            p = f"{outcome.p:.4f}" if outcome.p >= 0.0001 else f"{outcome.p:.1e}"
    counts = (str(outcome.wins), str(outcome.ties), str(outcome.losses))
    return difference, *counts, p, _SIGNS[outcome.verdict]


def fidelity(
    judgements: Judgements | str | Path | Sequence[str | Path],
    collection: str | Path | None = None,
    measures: str | Measure | Sequence[str | Measure] = (),
    *,
    runs: Run | str | Path | Sequence[Run | str | Path] = (),
    orderings: Sequence[Ordering] | str | Path | None = None,
    task: str | None = None,
    level: float = LEVEL,
    empty: str | None = None,
    executor: Executor | None = None,
    progress: Callable[[], None] | None = None,
    **options: Any,
) -> Fidelity:
    """Test measures with runs whose order is known.

    Parameters
    ----------
    judgements : Judgements, path, or a sequence of paths
    collection : path, optional
        A collection index; without it only S and SLD are simulated.
    measures : text or Python forms of measures
        All of them are scored and tested. Default: `SCORED` are scored, `TRIED` are tested.
        Measures of elements are tested with the part sets that are elements.
    runs : runs or paths, optional
        Own simulated runs instead of those of the S-R space.
    orderings : sequence of Ordering, or the path of a file of them, optional
        Expected orderings. Default: those of the S-R space between the given runs.
    task : str, optional
        A preset whose measures are tested, too. Its limits apply to own runs, not to simulated
        ones.
    level : float
        Significance level for calling an average reversed.
    empty : {"keep", "omit"}, optional
        As in `foveal.simulate`; by default a document without parts keeps its rank.
    executor, progress, **options
        As in `foveal.evaluate`. Options that would change simulated runs are refused.

    Examples
    --------
    >>> truth = Judgements.from_highlights(
    ...     {
    ...         "1": {
    ...             "D1": {"spans": [(0, 50)], "length": 100},
    ...             "D2": {"spans": [(0, 20)], "length": 50},
    ...             "D3": {"spans": [], "length": 40},
    ...         }
    ...     }
    ... )
    >>> trial = fidelity(truth, measures="AP")
    >>> print(trial.sentences[1])
    AP does not see the parts: all 4 orderings are equal on the only topic.
    """
    _check_level(level)
    default = not measures and task is None
    wanted = SCORED if default else measures
    listed = [wanted] if isinstance(wanted, (str, Measure)) else list(wanted)
    given = judgements if isinstance(judgements, Judgements) else read_judgements(judgements)
    own = [runs] if isinstance(runs, (Run, str, Path)) else list(runs)
    if own:
        if empty is not None:
            raise UsageError("--empty is about simulated runs; these are your own (--runs)")
        loaded = [run if isinstance(run, Run) else read_run(run) for run in own]
        names = distinguish_names((run.name, run.source) for run in loaded)
        trials = [_Trial(loaded, listed, _expect(orderings, names), options)]
    else:
        # The measures of the task except points of curves, and those that are named, each once.
        texts = () if task is None else find_preset(task).texts
        single = [text for text in texts if not text.endswith("@curve")] or texts
        found = [m for text in single for m in parse_measures(text)]
        for item in listed:
            found += parse_measures(item) if isinstance(item, str) else (item,)
        for measure in found:
            measure.check()
        parsed = list(dict.fromkeys(found))
        trials = _simulate_trials(given, collection, parsed, orderings, empty, task, options)
    scores: list[Results] = []
    for trial in trials:
        try:
            scored = evaluate(
                trial.runs,
                given,
                trial.measures,
                task=task if own else None,
                collection=collection,
                executor=executor,
                progress=progress,
                **trial.options,
            )
        except InputError as error:
            # A simulated run is not a file with lines.
            first, *_ = error.problems
            if trial.made is None or first.file not in [run.name for run in trial.runs]:
                raise
            raise UsageError(f"simulated run {first.file}: {first.text}") from None
        scores.append(scored)
    whole = _join_scores(scores)
    if not own:
        whole = whole.only([measure.label for measure in parsed])
    outcomes: dict[str, tuple[OrderingOutcome, ...]] = {}
    swapped: dict[str, int | None] = {}
    for trial, scored in zip(trials, scores, strict=True):
        named = TRIED if default else trial.tried
        for label in scored.measures if named is None else named:
            outcomes[label] = try_measures(scored, trial.expected, [label], level=level)
            swapped[label] = trial.made.swapped if trial.made else None
    tried = [label for label in whole.measures if label in outcomes]
    notes = [
        note
        for trial, scored in zip(trials, scores, strict=True)
        for note in [*trial.notes, *_list_warnings(scored, simulated=trial.made is not None)]
    ]
    made = trials[0].made
    meta = {
        "version": __version__,
        "options": {
            **options,
            **({} if task is None else {"task": task}),
            "measures": list(whole.measures),
            "level": level,
            **({} if made is None else {"empty": made.empty}),
        },
        "tolerance": TOLERANCE,
        "inputs": whole.meta.get("inputs", []),
        "topics": len(whole.topics),
        "skipped": [] if made is None else list(made.skipped),
        "left_out": [] if made is None else list(made.left_out),
        "warnings": list(dict.fromkeys(notes)),
    }
    return Fidelity(
        scores=whole,
        outcomes=tuple(outcome for label in tried for outcome in outcomes[label]),
        orderings=tuple(dict.fromkeys(o for trial in trials for o in trial.expected)),
        verdicts=tuple(_judge(outcomes[label], swapped[label]) for label in tried),
        notes=tuple(dict.fromkeys(notes)),
        simulation=made,
        meta=meta,
    )


class _Trial(NamedTuple):
    """Measures that are tested with the same runs."""

    runs: Sequence[Run]
    measures: Sequence[str | Measure]
    expected: tuple[Ordering, ...]
    options: Mapping[str, Any]
    tried: tuple[str, ...] | None = None
    """Labels of the tested measures; None: all that are scored."""
    made: Simulation | None = None
    notes: tuple[str, ...] = ()


def _simulate_trials(
    given: Judgements,
    collection: str | Path | None,
    measures: Sequence[Measure],
    orderings: Sequence[Ordering] | str | Path | None,
    empty: str | None,
    task: str | None,
    options: Mapping[str, Any],
) -> list[_Trial]:
    """Test measures of text with all part sets, and measures of elements with sets of elements."""
    of_elements = [measure for measure in measures if measure.structural]
    of_text = [measure for measure in measures if not measure.structural]
    entries = [
        measure for measure in measures if measure.overlap_rule is OverlapRule.ONE_PER_DOCUMENT
    ]
    if entries:
        raise UsageError(
            f"{_labels(entries)}: about one entry point in each document, while simulated runs "
            "return parts of documents, several of some; such measures take your own runs (--runs)"
        )
    if of_elements and collection is None:
        raise UsageError(
            f"{_labels(of_elements)}: about elements; simulated runs of elements take a collection "
            "(--collection)"
        )
    usual = asdict(Options())
    for name in _ALTERING:
        if options.get(name, usual[name]) == usual[name] or (name == "snap" and of_elements):
            continue
        raise UsageError(
            f"--{name.replace('_', '-')} alters runs, and the order of simulated ones is known "
            "only as they are; leave it out, or write them ('foveal simulate') and try the files "
            "(--runs)"
        )
    if empty == EMPTY[0] and not of_text:
        raise UsageError(
            f"--empty {empty} is for measures of text; {_labels(of_elements)}: about elements, and "
            "a result without text is none"
        )
    notes: list[str] = []
    if task is not None:
        preset = find_preset(task)
        if preset.topic_limit or preset.document_limit:
            notes.append(f"{preset.name}: simulated runs are not held to the limits of the task")
        if preset.castitles_only:
            options = {**options, "castitles_only": True}
    counts = [measure for measure in measures if measure.higher_is_better is None]
    if counts and orderings is None:
        notes.append(f"scored, but not tried, for they only count: {_labels(counts)}")
        if len(counts) == len(measures):
            raise UsageError(
                f"nothing to try: neither more nor less of {_labels(counts)} is better; expected "
                "a measure that tells good from bad"
            )
    found: list[_Trial] = []
    for own, parts, way in (
        (of_text, tuple(PARTS), empty or EMPTY[0]),
        (of_elements, ELEMENTS, EMPTY[1]),
    ):
        if not own:
            continue
        chosen = {name: value for name, value in options.items() if name in _CHOICE}
        made = simulate(given, collection, parts=parts, empty=way, **chosen)
        expected = _expect(orderings, [run.name for run in made.runs], way)
        scoring = {**options, "only_topics": made.topics}
        said = list(made.notes)
        if parts == ELEMENTS:
            said = [f"measures of elements: {note}" for note in said] if found else said
            said.insert(0, _WITHOUT_S.format(_labels(own)))
        else:
            scoring.pop("snap", None)
            if of_elements and not any(Need.STRUCTURE in measure.needs for measure in own):
                scoring = {n: v for n, v in scoring.items() if n not in _ABOUT_ELEMENTS}
        tried = tuple(m.label for m in own if orderings is not None or m not in counts)
        found.append(_Trial(made.runs, own, expected, scoring, tried, made, (*notes, *said)))
    return found


def _labels(measures: Sequence[Measure]) -> str:
    return some([measure.label for measure in measures])


def _expect(
    orderings: Sequence[Ordering] | str | Path | None, names: Sequence[str], empty: str = EMPTY[0]
) -> tuple[Ordering, ...]:
    """Return the expected orderings, all of them between given runs."""
    if isinstance(orderings, (str, Path)):
        return read_orderings(orderings, names)
    if orderings is not None:
        for name in (name for o in orderings for name in (o.better, o.worse)):
            if name not in names:
                raise UsageError(f"no run {name!r} to compare; the runs are {some(names, 20)}")
        if not orderings:
            raise UsageError("no ordering given; expected some, or None for those of the S-R space")
        return tuple(dict.fromkeys(orderings))
    known = orderings_between(names, empty=empty)
    if not known:
        raise UsageError(
            f"the order of these runs is not known ({some(names)}); say which is better than "
            "which (--expect), or name them as in the S-R space"
        )
    return known


def _join_scores(parts: Sequence[Results]) -> Results:
    """Join scores of text and of elements; the runs of the second are among those of the first.

    Runs of one name differ where a document is left out for measures of elements.
    """
    first, *others = parts
    if not others:
        return first
    (other,) = others
    at = [first.runs.index(run) for run in other.runs]
    values = np.full((*first.values.shape[:2], len(other.measures)), np.nan)
    overall = np.full((len(first.runs), len(other.measures)), np.nan)
    values[at], overall[at] = other.values, other.overall
    measures = (*first.measures, *other.measures)
    return Results(
        first.runs,
        first.topics,
        measures,
        np.concatenate([first.values, values], axis=2),
        first.counted.copy(),
        np.concatenate([first.overall, overall], axis=1),
        {**first.meta, "measures": list(measures)},
    )


def _list_warnings(scores: Results, *, simulated: bool) -> Iterator[str]:
    """Yield the warnings of scoring; one about several runs once, with their names.

    Simulated runs return unjudged text on purpose: that is no reason to warn.
    """
    about: dict[str, list[str]] = {}
    for warning in scores.meta.get("warnings", ()):
        if isinstance(warning, Note):
            if simulated and warning.code in ("run.empty", "run.unjudged"):
                continue
            about.setdefault(warning.text, []).extend([warning.run] if warning.run else [])
        else:
            about.setdefault(warning, [])
    for text, names in about.items():
        yield f"{some(names)}: {text}" if names else text


# -- verdicts ----------------------------------------------------------------------------------


def try_measures(
    results: Results,
    orderings: Sequence[Ordering],
    measures: Sequence[str] | None = None,
    *,
    level: float = LEVEL,
) -> tuple[OrderingOutcome, ...]:
    """Test how each measure orders the runs, measure by measure.

    Examples
    --------
    >>> saved = Results.from_tidy(
    ...     [
    ...         *[("a", "1", "AP", 1.0), ("a", "2", "AP", 0.7)],
    ...         *[("b", "1", "AP", 0.5), ("b", "2", "AP", 0.8)],
    ...     ],
    ...     {},
    ... )
    >>> every, mean = try_measures(saved, [Ordering("a", "b"), Ordering("a", "b", every=False)])
    >>> every.verdict, mean.verdict, mean.wins, mean.losses
    ('broken', 'holds', 1, 1)
    """
    _check_level(level)
    names = tuple(dict.fromkeys(n for o in orderings for n in (o.better, o.worse)))
    first = np.array([names.index(o.better) for o in orderings], dtype=np.int64)
    second = np.array([names.index(o.worse) for o in orderings], dtype=np.int64)
    found = []
    for measure in results.measures if measures is None else measures:
        scores = ScoreMatrix.from_results(results, measure, names)
        if not scores.topics:
            raise UsageError(f"{scores.measure} is defined on no topic for all runs")
        one, two = scores.values[first], scores.values[second]
        scale = np.maximum(1.0, np.maximum(np.abs(one), np.abs(two)))
        difference = np.where(np.abs(one - two) <= TOLERANCE * scale, 0.0, one - two)
        if not scores.higher_is_better:
            difference = -difference
        several = len(scores.topics) > 1
        p = t_test(difference) if several else np.full(len(orderings), np.nan)
        columns = (
            difference.mean(axis=1),
            (difference > 0).sum(axis=1),
            (difference == 0).sum(axis=1),
            (difference < 0).sum(axis=1),
            p,
        )
        for ordering, mean, wins, ties, losses, chance in zip(
            orderings, *(column.tolist() for column in columns), strict=True
        ):
            if not wins and not losses:
                verdict = "equal"
            elif ordering.every:
                verdict = "broken" if losses else "holds"
            elif mean >= 0:
                verdict = "holds"
            else:
                verdict = "reversed" if chance < level else "below"
            found.append(
                OrderingOutcome(scores.measure, ordering, mean, wins, ties, losses, chance, verdict)
            )
    return tuple(found)


def _check_level(level: float) -> None:
    """Refuse a level of significance that is not between 0 and 1."""
    if not 0 < level < 1:
        raise UsageError(f"level {level} is not possible; expected a number between 0 and 1")


def _judge(outcomes: Sequence[OrderingOutcome], swapped: int | None) -> FidelityVerdict:
    """Put the outcomes of a measure into words; `swapped` topics have two documents to swap."""
    measure = outcomes[0].measure
    strict = [o for o in outcomes if o.ordering.every]
    broken = [o for o in strict if o.verdict == "broken"]
    number = f"{len(broken) or 'none'} of the {len(strict)} orderings"
    state = f"that must hold on every topic {'are' if len(broken) > 1 else 'is'} broken"
    if not strict:
        number, state = "no ordering", "must hold on every topic"
    said = [f"{measure} {'fails' if broken else 'passes'}: {number} {state}."]
    for aspect, name in _ASPECTS.items():
        own = [o for o in outcomes if o.ordering.aspect == aspect]
        if own and not (aspect in _SWAPS and swapped == 0):
            said.append(f"{measure} {_seen(own, name)}")
    if swapped == 0:
        said.append(f"{measure} is not tried on swaps: no topic has two relevant documents.")
    return FidelityVerdict(measure, not broken, tuple(said))


def _seen(outcomes: Sequence[OrderingOutcome], name: str) -> str:
    """Describe how a measure orders one aspect: right, wrong or not at all."""
    n = len(outcomes)
    wrong = [o for o in outcomes if o.verdict in ("broken", "reversed")]
    doubtful = [o for o in outcomes if o.verdict == "below"]
    holding = [o for o in outcomes if o.verdict == "holds"]
    same = [o for o in outcomes if o.verdict == "equal"]
    if len(same) == n:
        which = "both runs are" if n == 1 else f"all {n} orderings are"
        return f"does not see {name}: {which} equal on {_topics(same[0])}."
    unseen = f"; does not tell {_blurred(same, outcomes)}" if same else ""
    if not wrong and not doubtful:
        if same:
            return f"sees {len(holding)} of the {n} orderings of {name}, {_how(holding)}{unseen}."
        orderings = f"the {n} orderings hold" if n > 1 else "the one ordering holds"
        return f"sees {name}: {orderings}, {_how(holding)}."
    if not wrong:
        return f"is not clear about {name}: {_listed(doubtful)}{unseen}."
    lost, won = sum(o.losses for o in outcomes), sum(o.wins for o in outcomes)
    verb = "reverses" if lost > won else "does not always see"
    return f"{verb} {name}: {_listed([*wrong, *doubtful])}{unseen}."


def _how(outcomes: Sequence[OrderingOutcome]) -> str:
    loose = sum(not o.ordering.every for o in outcomes)
    if 0 < loose < len(outcomes):
        return f"{len(outcomes) - loose} on every topic and {loose} on average"
    return "on average" if loose else "on every topic"


def _blurred(same: Sequence[OrderingOutcome], outcomes: Sequence[OrderingOutcome]) -> str:
    """List what is equal on all topics: part sets if all their rankings are, else runs."""
    pairs: dict[tuple[str, str], None] = {}
    others = {_pair(o) for o in outcomes if o.verdict != "equal"}
    for outcome in same:
        parts = outcome.ordering.aspect == "parts" and _pair(outcome) not in others
        runs = (outcome.ordering.better, outcome.ordering.worse)
        pairs[_pair(outcome) if parts else runs] = None
    shown = ", ".join(f"{better} from {worse}" for better, worse in list(pairs)[:_SHOWN])
    more = f" and {len(pairs) - _SHOWN} more" if len(pairs) > _SHOWN else ""
    return f"{shown}{more}: equal on {_topics(same[0])}"


def _pair(outcome: OrderingOutcome) -> tuple[str, str]:
    """Return the part sets of an ordering between parts, else its runs."""
    ordering = outcome.ordering
    if ordering.aspect != "parts":
        return ordering.better, ordering.worse
    return part_set(ordering.better), part_set(ordering.worse)


def _topics(outcome: OrderingOutcome) -> str:
    return f"all {outcome.topics} topics" if outcome.topics > 1 else "the only topic"


def _listed(outcomes: Sequence[OrderingOutcome]) -> str:
    more = f"; and {len(outcomes) - _SHOWN} more" if len(outcomes) > _SHOWN else ""
    return "; ".join(map(str, outcomes[:_SHOWN])) + more
