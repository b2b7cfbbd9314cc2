"""Fidelity of measures: do they order runs as expected whose order is known?"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import asdict, dataclass, field, replace
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

__all__ = ["Fidelity", "FidelityVerdict", "OrderingOutcome", "fidelity", "try_measures"]

FIDELITY_TABLES = ("scores", "orderings", "verdict")
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
_LEAST = 2.2e-16  # the study printed this bound for any smaller p
_ABREAST = 2  # measures side by side in a table
_SHOWN = 3  # runs named in a sentence
_SIGNS = {"holds": "", "equal": "", "broken": "!!", "reversed": "!", "below": "?"}
"""Outcomes of an ordering, and their signs in a table."""
_ASPECTS = {
    "parts": "the parts",
    "insertion": "a non-relevant document put first",
    "swap": "the swap of the first two documents",
    "late swap": "the swap of the first two relevant documents behind a non-relevant one",
    "insertion and swap": "a non-relevant document put first with the next two swapped",
    "given": "the expected differences",
}
"""The aspects of orderings in words."""
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


class OrderingOutcome(NamedTuple):
    """The outcome of one expected ordering by a measure; a row of the result."""

    measure: str
    better: str
    worse: str
    expected: str
    """``every`` topic or the ``mean`` over topics."""
    aspect: str
    difference: float
    """Mean over topics by which the first run is better; negative if it is worse."""
    wins: int
    ties: int
    losses: int
    p: float
    """Of the paired t-test, two-sided, not corrected; ``nan`` with fewer than two topics."""
    verdict: str
    """``holds``; ``equal`` on all topics; ``broken`` on a topic although it must hold on every
    one; expected on average, but ``reversed`` significantly, or only ``below``."""

    @property
    def on_topics(self) -> str:
        number = self.wins + self.ties + self.losses
        return f"all {number} topics" if number > 1 else "the only topic"

    @property
    def cells(self) -> tuple[str, ...]:
        """Difference, counts, p and sign for a table."""
        difference, p = "0", "-"
        if self.wins + self.losses:
            difference = f"{100 * self.difference:+.2f}"
            if self.p < _LEAST:
                p = f"<{_LEAST:g}"
            elif not math.isnan(self.p):
                p = f"{self.p:.4f}" if self.p >= 0.0001 else f"{self.p:.1e}"
        counts = map(str, (self.wins, self.ties, self.losses))
        return difference, *counts, p, _SIGNS[self.verdict]

    def __str__(self) -> str:
        below = f"{self.better} is below {self.worse}"
        if self.verdict == "broken":
            return f"{below} on {self.on_topics.replace('all', f'{self.losses} of')}"
        by = f"{100 * self.difference:+.2g} %"
        if not math.isnan(self.p):
            how = "significantly" if self.verdict == "reversed" else "not significantly"
            by = f"{by}, {how}, p = {self.p:.2g}"
        return f"{below} on average ({by})"


class FidelityVerdict(NamedTuple):
    """The verdict on a measure, in words."""

    measure: str
    passed: bool
    """No ordering that must hold on every topic is broken."""
    words: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Fidelity(Result):
    """Scores of the runs, the outcome of every ordering, and the verdicts on measures."""

    scores: Results
    """Scores of all runs by all measures, tested or not."""
    outcomes: tuple[OrderingOutcome, ...]
    """Measure by measure, in the order of `orderings`."""
    orderings: tuple[Ordering, ...]
    verdicts: tuple[FidelityVerdict, ...]
    """One for each tested measure."""
    notes: tuple[str, ...] = ()
    """Notes on the runs, topics and scores."""
    simulation: Simulation | None = None
    """The simulation that made the runs."""
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

    @property
    def sentences(self) -> tuple[str, ...]:
        return tuple(text for verdict in self.verdicts for text in verdict.words)

    def of(self, measure: str) -> tuple[OrderingOutcome, ...]:
        """Return the outcomes of one measure."""
        return tuple(outcome for outcome in self.outcomes if outcome.measure == measure)

    def rows(self, *, table: str | None = None) -> Iterator[dict[str, Any]]:
        """Yield a row for each outcome, or the rows of another of `FIDELITY_TABLES`."""
        if table == "scores":
            for row in self.scores.rows(per_topic=False):
                yield dict(zip(("run", "topic", "measure", "value"), row, strict=True))
        elif table == "verdict":
            for verdict in self.verdicts:
                yield {**verdict._asdict(), "words": " ".join(verdict.words)}
        else:
            yield from (outcome._asdict() for outcome in self.outcomes)

    def parts(self) -> dict[str, Any]:
        """Return scores, outcomes and verdicts."""
        return {
            "scores": [
                {"run": run, "measure": measure, "value": value}
                for run, _, measure, value in self.scores.rows(per_topic=False)
            ],
            "orderings": list(self.rows()),
            "verdicts": [verdict._asdict() for verdict in self.verdicts],
        }

    def summary(self) -> str:
        """Return which measures pass."""
        failed = [verdict.measure for verdict in self.verdicts if not verdict.passed]
        if failed:
            return f"Orderings that must hold on every topic are broken by {some(failed)}."
        passed = some([verdict.measure for verdict in self.verdicts])
        return f"All orderings that must hold on every topic hold by {passed}."

    def tables(self, *, table: str | None = None) -> list[Table]:
        """Return one of `FIDELITY_TABLES`, or all."""
        tables = []
        if table in (None, "scores"):
            title = f"Scores of {len(self.scores.runs)} runs, {len(self.scores.topics)} topics"
            tables.append(replace(tabulate_scores(self.scores), title=title))
        if table in (None, "orderings"):
            tables += self._tabulate_orderings()
        if table in (None, "verdict"):
            lines = []
            for verdict in self.verdicts:
                own = [outcome.verdict for outcome in self.of(verdict.measure)]
                passes = "passes" if verdict.passed else "fails"
                lines.append((verdict.measure, passes, *(str(own.count(kind)) for kind in _SIGNS)))
            tables.append(
                Table(
                    ("measure", "verdict", *_SIGNS),
                    tuple(lines),
                    labels=2,
                    title="Verdict",
                    notes=self.sentences,
                    name="verdict",
                )
            )
        return tables

    def _tabulate_orderings(self) -> list[Table]:
        """Return the outcome of every ordering, two measures to a table."""
        alike: dict[tuple[tuple[str, str], ...], list[str]] = {}
        for verdict in self.verdicts:
            own = self.of(verdict.measure)
            expected = tuple((f"{o.better} >= {o.worse}", o.expected) for o in own)
            alike.setdefault(expected, []).append(verdict.measure)
        tables = []
        for expected, names in alike.items():
            for measures in (names[i : i + _ABREAST] for i in range(0, len(names), _ABREAST)):
                heads = [(f"{name} diff %", ">", "==", "<", "p", "!") for name in measures]
                cells = [[o.cells for o in self.of(name)] for name in measures]
                lines = zip(expected, *cells, strict=True)
                tables.append(
                    Table(
                        ("ordering", "on", *chain(*heads)),
                        tuple(tuple(chain(*line)) for line in lines),
                        labels=2,
                        title=f"Expected orderings by {' and '.join(measures)}",
                        name="orderings",
                    )
                )
        level = self.meta.get("options", {}).get("level", LEVEL)
        notes = (
            "on: expected on every topic, or of the mean over topics.",
            (
                f">, ==, <: topics on which the first run is better, equal (within {TOLERANCE:g}) "
                "and worse; p: paired t-test, two-sided, not corrected."
            ),
            (
                "!!: must hold on every topic and does not; !: reversed on average "
                f"(p < {level:g}); ?: below on average, not significantly."
            ),
        )
        return [*tables[:-1], replace(tables[-1], notes=notes)]

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
        lines = tuple(
            Line(run, at, np.array([self.scores[run, points[x]] for x in at.tolist()]), series=i)
            for i, run in enumerate(names)
        )
        across = Axis("recall" if at.max() <= 1 else "rank")
        title = f"Simulated runs by {measure}"
        return [Graph("fidelity", title, across, Axis(measure, low=0.0), lines)]


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
        found = [
            measure
            for item in (*single, *listed)
            for measure in (parse_measures(item) if isinstance(item, str) else (item,))
        ]
        for measure in found:
            measure.check()
        parsed = list(dict.fromkeys(found))
        trials = _simulate_trials(given, collection, parsed, orderings, empty, task, options)
    scores: list[Results] = []
    notes: list[str] = []
    outcomes: dict[str, tuple[OrderingOutcome, ...]] = {}
    verdicts: dict[str, FidelityVerdict] = {}
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
        notes += [*trial.notes, *_list_warnings(scored, simulated=trial.made is not None)]
        named = TRIED if default else trial.tried
        for label in scored.measures if named is None else named:
            outcomes[label] = try_measures(scored, trial.expected, [label], level=level)
            verdicts[label] = _judge(outcomes[label], trial.made.swapped if trial.made else None)
    # Runs of text and of elements that share a name differ, and so do their measures.
    whole = scores[0]
    if len(scores) > 1:
        whole = Results.from_tidy([row for part in scores for row in part.rows()], whole.meta)
    if not own:
        whole = whole.only([measure.label for measure in parsed])
    tried = [label for label in whole.measures if label in outcomes]
    notes = list(dict.fromkeys(notes))
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
        "warnings": notes,
    }
    return Fidelity(
        scores=whole,
        outcomes=tuple(outcome for label in tried for outcome in outcomes[label]),
        orderings=tuple(dict.fromkeys(o for trial in trials for o in trial.expected)),
        verdicts=tuple(verdicts[label] for label in tried),
        notes=tuple(notes),
        simulation=made,
        meta=meta,
    )


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

    def name(measures: Sequence[Measure]) -> str:
        return some([measure.label for measure in measures])

    of_elements = [measure for measure in measures if measure.structural]
    of_text = [measure for measure in measures if not measure.structural]
    entries = [m for m in measures if m.overlap_rule is OverlapRule.ONE_PER_DOCUMENT]
    untried = [m for m in measures if orderings is None and m.higher_is_better is None]
    usual = asdict(Options())
    altering = [
        option
        for option in _ALTERING
        if options.get(option, usual[option]) != usual[option]
        and not (option == "snap" and of_elements)
    ]
    if entries:
        raise UsageError(
            f"{name(entries)}: about one entry point in each document, while simulated runs return "
            "parts of documents, several of some; such measures take your own runs (--runs)"
        )
    if of_elements and collection is None:
        raise UsageError(
            f"{name(of_elements)}: about elements; simulated runs of elements take a collection "
            "(--collection)"
        )
    if altering:
        raise UsageError(
            f"--{altering[0].replace('_', '-')} alters runs, and the order of simulated ones is "
            "known only as they are; leave it out, or write them ('foveal simulate') and try the "
            "files (--runs)"
        )
    if empty == EMPTY[0] and not of_text:
        raise UsageError(
            f"--empty {empty} is for measures of text; {name(of_elements)}: about elements, and a "
            "result without text is none"
        )
    if len(untried) == len(measures):
        raise UsageError(
            f"nothing to try: neither more nor less of {name(untried)} is better; expected a "
            "measure that tells good from bad"
        )
    notes: list[str] = []
    if task is not None:
        preset = find_preset(task)
        if preset.topic_limit or preset.document_limit:
            notes.append(f"{preset.name}: simulated runs are not held to the limits of the task")
        if preset.castitles_only:
            options = {**options, "castitles_only": True}
    if untried:
        notes.append(f"scored, but not tried, for they only count: {name(untried)}")
    chosen = {option: value for option, value in options.items() if option in _CHOICE}
    found: list[_Trial] = []
    for own, parts, way in (
        (of_text, tuple(PARTS), empty or EMPTY[0]),
        (of_elements, ELEMENTS, EMPTY[1]),
    ):
        if not own:
            continue
        made = simulate(given, collection, parts=parts, empty=way, **chosen)
        expected = _expect(orderings, [run.name for run in made.runs], way)
        scoring = {**options, "only_topics": made.topics}
        said = list(made.notes)
        if own is of_elements:
            said = [f"measures of elements: {note}" for note in said] if found else said
            said.insert(
                0,
                f"{name(own)}: about elements, so tried without S, whose passages are none; "
                "documents of which nothing is returned are left out",
            )
        else:
            scoring.pop("snap", None)
            if of_elements and not any(Need.STRUCTURE in measure.needs for measure in own):
                scoring = {n: v for n, v in scoring.items() if n not in _ABOUT_ELEMENTS}
        tried = tuple(measure.label for measure in own if measure not in untried)
        found.append(_Trial(made.runs, own, expected, scoring, tried, made, (*notes, *said)))
    return found


def _expect(
    orderings: Sequence[Ordering] | str | Path | None, names: Sequence[str], empty: str = EMPTY[0]
) -> tuple[Ordering, ...]:
    """Return the expected orderings, all of them between given runs."""
    if isinstance(orderings, (str, Path)):
        return read_orderings(orderings, names)
    if orderings is None:
        known = orderings_between(names, empty=empty)
        if not known:
            raise UsageError(
                f"the order of these runs is not known ({some(names)}); say which is better than "
                "which (--expect), or name them as in the S-R space"
            )
        return known
    for name in (name for o in orderings for name in (o.better, o.worse)):
        if name not in names:
            raise UsageError(f"no run {name!r} to compare; the runs are {some(names, 20)}")
    if not orderings:
        raise UsageError("no ordering given; expected some, or None for those of the S-R space")
    return tuple(dict.fromkeys(orderings))


def _list_warnings(scores: Results, *, simulated: bool) -> Iterator[str]:
    """Yield the warnings of scoring; one about several runs once, with their names.

    Simulated runs return unjudged text on purpose: that is no reason to warn.
    """
    about: dict[str, list[str]] = {}
    for warning in scores.meta.get("warnings", ()):
        note = warning if isinstance(warning, Note) else Note("", warning)
        if not simulated or note.code not in ("run.empty", "run.unjudged"):
            about.setdefault(note.text, []).extend([note.run] if note.run else [])
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
    first = [names.index(o.better) for o in orderings]
    second = [names.index(o.worse) for o in orderings]
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
        for ordering, own, chance in zip(orderings, difference, p.tolist(), strict=True):
            mean, wins, losses = float(own.mean()), int((own > 0).sum()), int((own < 0).sum())
            if not wins and not losses:
                verdict = "equal"
            elif ordering.every:
                verdict = "broken" if losses else "holds"
            elif mean >= 0:
                verdict = "holds"
            else:
                verdict = "reversed" if chance < level else "below"
            ties = len(own) - wins - losses
            expected = "every" if ordering.every else "mean"
            runs = (ordering.better, ordering.worse)
            row = (scores.measure, *runs, expected, ordering.aspect, mean, wins, ties, losses)
            found.append(OrderingOutcome(*row, chance, verdict))
    return tuple(found)


def _check_level(level: float) -> None:
    """Refuse a level of significance that is not between 0 and 1."""
    if not 0 < level < 1:
        raise UsageError(f"level {level} is not possible; expected a number between 0 and 1")


def _judge(outcomes: Sequence[OrderingOutcome], swapped: int | None) -> FidelityVerdict:
    """Put the outcomes of a measure into words; `swapped` topics have two documents to swap."""
    measure = outcomes[0].measure
    strict = [o for o in outcomes if o.expected == "every"]
    broken = [o for o in strict if o.verdict == "broken"]
    number = f"{len(broken) or 'none'} of the {len(strict)} orderings"
    state = f"that must hold on every topic {'are' if len(broken) > 1 else 'is'} broken"
    if not strict:
        number, state = "no ordering", "must hold on every topic"
    said = [f"{measure} {'fails' if broken else 'passes'}: {number} {state}."]
    for aspect, name in _ASPECTS.items():
        own = [o for o in outcomes if o.aspect == aspect]
        if own and not (aspect in ("swap", "late swap") and swapped == 0):
            said.append(f"{measure} {_describe_aspect(own, name)}.")
    if swapped == 0:
        said.append(f"{measure} is not tried on swaps: no topic has two relevant documents.")
    return FidelityVerdict(measure, not broken, tuple(said))


def _describe_aspect(outcomes: Sequence[OrderingOutcome], name: str) -> str:
    """Describe how a measure orders one aspect: right, wrong or not at all."""
    n = len(outcomes)
    wrong = [o for o in outcomes if o.verdict in ("broken", "reversed")]
    doubtful = [o for o in outcomes if o.verdict == "below"]
    holding = [o for o in outcomes if o.verdict == "holds"]
    same = [o for o in outcomes if o.verdict == "equal"]
    if len(same) == n:
        which = "both runs are" if n == 1 else f"all {n} orderings are"
        return f"does not see {name}: {which} equal on {same[0].on_topics}"
    unseen = ""
    if same:  # name part sets if all their rankings are equal, else runs
        told = {_name_pair(o) for o in outcomes if o.verdict != "equal"}
        blurred = [
            pair if (pair := _name_pair(o)) not in told else f"{o.better} from {o.worse}"
            for o in same
        ]
        pairs = some(list(dict.fromkeys(blurred)), _SHOWN)
        unseen = f"; does not tell {pairs}: equal on {same[0].on_topics}"
    if wrong or doubtful:
        verb = "is not clear about"
        if wrong:
            lost, won = sum(o.losses for o in outcomes), sum(o.wins for o in outcomes)
            verb = "reverses" if lost > won else "does not always see"
        listed = [str(o) for o in (*wrong, *doubtful)]
        if len(listed) > _SHOWN:
            listed = [*listed[:_SHOWN], f"and {len(listed) - _SHOWN} more"]
        return f"{verb} {name}: {'; '.join(listed)}{unseen}"
    loose = sum(o.expected == "mean" for o in holding)
    how = "on average" if loose else "on every topic"
    if 0 < loose < len(holding):
        how = f"{len(holding) - loose} on every topic and {loose} on average"
    if same:
        return f"sees {len(holding)} of the {n} orderings of {name}, {how}{unseen}"
    orderings = f"the {n} orderings hold" if n > 1 else "the one ordering holds"
    return f"sees {name}: {orderings}, {how}"


def _name_pair(outcome: OrderingOutcome) -> str:
    """Name the part sets of an ordering between parts, else its runs."""
    names = (outcome.better, outcome.worse)
    return " from ".join(map(part_set, names) if outcome.aspect == "parts" else names)
