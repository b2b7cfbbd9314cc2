"""Does a measure measure what it should: runs of known order, and whether it puts them so."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from foveal._version import __version__
from foveal.analysis.orderings import (
    Ordering,
    orderings_between,
    read_orderings,
)
from foveal.analysis.simulation import ELEMENTS, EMPTY, PARTS, Simulation, simulate
from foveal.analysis.verdicts import (
    LEVEL,
    TOLERANCE,
    Outcome,
    Verdict,
    check_level,
    judge,
    try_measures,
)
from foveal.errors import InputError, UsageError, some
from foveal.evaluation import Options, evaluate, find_preset
from foveal.evaluation.score_warnings import UNJUDGED_COUNTS
from foveal.formats import read_judgements, read_run
from foveal.measures import Measure, Need, parse_measures
from foveal.measures.base import OverlapRule
from foveal.model import Judgements, Results, Run, display
from foveal.model.run import distinguish_names

__all__ = ["SCORED", "TRIED", "Fidelity", "fidelity"]

SCORED = (
    *("gP@1", "gP@2", "gP@10", "gR@1", "gR@2", "gR@10", "AgP"),
    *("gRw@1", "gRw@2", "gRw@10", "AgPw", "AP"),
)
"""The columns of table 1."""
TRIED = ("AgP", "AgPw", "AP")
"""The overall figures among them, which are put on trial unless others are named."""


@dataclass(frozen=True, eq=False)
class Fidelity:
    """Scores of the runs, what became of every ordering, and the verdicts.

    Parameters
    ----------
    scores : Results
        Of all runs by all measures, tried or not.
    outcomes : tuple of Outcome
        Measure by measure, in the order of `orderings`.
    orderings : tuple of Ordering
    verdicts : tuple of Verdict
        One for each measure on trial.
    notes : tuple of str
        What a user should know of the runs, topics and scores.
    simulation : Simulation, optional
        Where the runs were simulated.
    """

    scores: Results
    outcomes: tuple[Outcome, ...]
    orderings: tuple[Ordering, ...]
    verdicts: tuple[Verdict, ...]
    notes: tuple[str, ...] = ()
    simulation: Simulation | None = None
    options: Mapping[str, Any] = field(default_factory=dict)

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

    def of(self, measure: str) -> tuple[Outcome, ...]:
        """The outcomes of one measure."""
        return tuple(outcome for outcome in self.outcomes if outcome.measure == measure)

    def to_frame(self) -> pl.DataFrame:
        """The outcomes: measure, better, worse, expected, aspect, difference, wins, ties, losses,
        p, verdict.
        """
        return pl.DataFrame([_row(outcome) for outcome in self.outcomes])

    def _repr_html_(self) -> str:
        return display.frame(
            "What became of the orderings", self.to_frame(), "orderings", notes=self.sentences
        )

    def to_json(self) -> str:
        """Everything, with where it came from."""
        made = self.simulation
        meta = {
            "version": __version__,
            "options": dict(self.options),
            "tolerance": TOLERANCE,
            "inputs": self.scores.meta.get("inputs", []),
            "topics": len(self.scores.topics),
            "skipped": [] if made is None else list(made.skipped),
            "left_out": [] if made is None else list(made.left_out),
            "warnings": list(self.notes),
        }
        content = {
            "meta": meta,
            "scores": [
                {"run": run, "measure": measure, "value": _number(value)}
                for run, _, measure, value in self.scores.rows(per_topic=False)
            ],
            "orderings": [{**row, "p": _number(row["p"])} for row in map(_row, self.outcomes)],
            "verdicts": [
                {"measure": v.measure, "passed": v.passed, "words": list(v.sentences)}
                for v in self.verdicts
            ],
        }
        return json.dumps(content, ensure_ascii=False, indent=1) + "\n"


def _row(outcome: Outcome) -> dict[str, Any]:
    ordering = outcome.ordering
    return {
        "measure": outcome.measure,
        "better": ordering.better,
        "worse": ordering.worse,
        "expected": "every" if ordering.every else "mean",
        "aspect": ordering.aspect,
        "difference": outcome.difference,
        "wins": outcome.wins,
        "ties": outcome.ties,
        "losses": outcome.losses,
        "p": outcome.p,
        "verdict": outcome.verdict,
    }


def _number(value: float) -> float | None:
    return None if math.isnan(value) else value


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
    """Put measures on trial with runs whose order is known.

    Parameters
    ----------
    judgements : Judgements, path, or a sequence of paths
    collection : path, optional
        A collection index; without it only S and SLD are tried.
    measures : text or Python forms of measures
        All of them are scored and tried. Default: `SCORED` are scored, `TRIED` are tried. Measures
        of elements are tried with the part sets that are elements.
    runs : runs or paths, optional
        Own simulated runs instead of those of the S-R space.
    orderings : sequence of Ordering, or the path of a file of them, optional
        What is expected. Default: the orderings of the S-R space between the runs that there are.
    task : str, optional
        A preset whose measures are tried too. Own runs are held to its limits; to simulated ones
        they do not apply.
    level : float
        At which an average is called reversed.
    empty : {"keep", "omit"}, optional
        As in `foveal.analysis.simulation.simulate`; by default a document of which nothing is
        returned keeps its rank.
    executor, progress, **options
        As in `foveal.evaluate`. What would alter simulated runs is refused.

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
    check_level(level)
    default = not measures and task is None
    wanted = SCORED if default else measures
    listed = [wanted] if isinstance(wanted, (str, Measure)) else list(wanted)
    given = judgements if isinstance(judgements, Judgements) else read_judgements(judgements)
    own = [runs] if isinstance(runs, (Run, str, Path)) else list(runs)
    if own:
        if empty is not None:
            raise UsageError("--empty is about simulated runs; these are your own (--runs)")
        hearings = [_own_runs(own, listed, orderings, options)]
    else:
        parsed = _measures(listed, task)
        hearings = _simulated(given, collection, parsed, orderings, empty, task, options)
    scores: list[Results] = []
    for hearing in hearings:
        with _no_files(hearing):
            scored = evaluate(
                hearing.runs,
                given,
                hearing.measures,
                task=task if own else None,
                collection=collection,
                executor=executor,
                progress=progress,
                **hearing.options,
            )
        scores.append(scored)
    whole = _beside(scores)
    if not own:
        whole = whole.only([measure.label for measure in parsed])
    outcomes: dict[str, tuple[Outcome, ...]] = {}
    swapped: dict[str, int | None] = {}
    for hearing, scored in zip(hearings, scores, strict=True):
        named = TRIED if default else hearing.tried
        for label in scored.measures if named is None else named:
            outcomes[label] = try_measures(scored, hearing.expected, [label], level=level)
            swapped[label] = hearing.made.swapped if hearing.made else None
    tried = [label for label in whole.measures if label in outcomes]
    notes = [
        note
        for hearing, scored in zip(hearings, scores, strict=True)
        for note in [*hearing.notes, *_warnings(scored, simulated=hearing.made is not None)]
    ]
    made = hearings[0].made
    return Fidelity(
        scores=whole,
        outcomes=tuple(outcome for label in tried for outcome in outcomes[label]),
        orderings=tuple(dict.fromkeys(o for hearing in hearings for o in hearing.expected)),
        verdicts=tuple(judge(outcomes[label], swapped[label]) for label in tried),
        notes=tuple(dict.fromkeys(notes)),
        simulation=made,
        options={
            **options,
            **({} if task is None else {"task": task}),
            "measures": list(whole.measures),
            "level": level,
            **({} if made is None else {"empty": made.empty}),
        },
    )


class _Hearing(NamedTuple):
    """Measures that are tried with the same runs."""

    runs: Sequence[Run]
    measures: Sequence[str | Measure]
    expected: tuple[Ordering, ...]
    options: Mapping[str, Any]
    tried: tuple[str, ...] | None = None
    """The labels of the measures on trial; None: all that are scored."""
    made: Simulation | None = None
    notes: tuple[str, ...] = ()


_CHOICE = ("only_topics", "pools", "assessors", "topics_file", "castitles_only")
"""Options that choose judgements; the others are about scoring."""
_ALTERING = (
    *("overlap", "regroup", "snap", "truncate", "lenient"),
    *("max_results", "topic_limit", "document_limit"),
)
"""Options that make other runs of runs."""
_ABOUT_ELEMENTS = (
    *("cas", "support_judgements", "documents", "name_from", "tag_classes"),
    *("exclude_tags", "recompute"),
)
"""Options that say which elements count."""
_WITHOUT_S = (
    "{}: about elements, so tried without S, whose passages are none; documents of which nothing "
    "is returned are left out"
)


def _own_runs(
    runs: Sequence[Run | str | Path],
    measures: Sequence[str | Measure],
    orderings: Sequence[Ordering] | str | Path | None,
    options: Mapping[str, Any],
) -> _Hearing:
    loaded = [run if isinstance(run, Run) else read_run(run) for run in runs]
    names = distinguish_names((run.name, run.source) for run in loaded)
    return _Hearing(loaded, measures, _expected(orderings, names), options)


def _measures(given: Sequence[str | Measure], task: str | None) -> tuple[Measure, ...]:
    """The measures of the task but for points of curves, and those that are named, each once."""
    texts = () if task is None else find_preset(task).texts
    single = [text for text in texts if not text.endswith("@curve")] or texts
    found = [measure for text in single for measure in parse_measures(text)]
    for item in given:
        found += parse_measures(item) if isinstance(item, str) else (item,)
    for measure in found:
        measure.check()
    return tuple(dict.fromkeys(found))


def _simulated(
    given: Judgements,
    collection: str | Path | None,
    measures: Sequence[Measure],
    orderings: Sequence[Ordering] | str | Path | None,
    empty: str | None,
    task: str | None,
    options: Mapping[str, Any],
) -> list[_Hearing]:
    """Measures of text with all part sets, measures of elements with those that are elements."""
    of_elements = [measure for measure in measures if measure.structural]
    of_text = [measure for measure in measures if not measure.structural]
    _check_measures(measures, collection)
    _check_options(options, of_elements=bool(of_elements))
    if empty == EMPTY[0] and not of_text:
        raise UsageError(
            f"--empty {empty} is for measures of text; {_labels(of_elements)}: about elements, and "
            "a result without text is none"
        )
    notes = list(_task_notes(task))
    if task is not None and find_preset(task).castitles_only:
        options = {**options, "castitles_only": True}
    counts = [measure for measure in measures if measure.higher_is_better is None]
    if counts and orderings is None:
        notes.append(f"scored, but not tried, for they only count: {_labels(counts)}")
        if len(counts) == len(measures):
            raise UsageError(
                f"nothing to try: neither more nor less of {_labels(counts)} is better; expected "
                "a measure that tells good from bad"
            )
    found: list[_Hearing] = []
    for own, parts, way in (
        (of_text, tuple(PARTS), empty or EMPTY[0]),
        (of_elements, ELEMENTS, EMPTY[1]),
    ):
        if not own:
            continue
        chosen = {name: value for name, value in options.items() if name in _CHOICE}
        made = simulate(given, collection, parts=parts, empty=way, **chosen)
        expected = _expected(orderings, [run.name for run in made.runs], way)
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
        found.append(_Hearing(made.runs, own, expected, scoring, tried, made, (*notes, *said)))
    return found


def _check_measures(measures: Sequence[Measure], collection: str | Path | None) -> None:
    """Refuse measures that the runs of the S-R space are not made for."""
    entries = [
        measure for measure in measures if measure.overlap_rule is OverlapRule.ONE_PER_DOCUMENT
    ]
    if entries:
        raise UsageError(
            f"{_labels(entries)}: about one entry point in each document, while simulated runs "
            "return parts of documents, several of some; such measures take your own runs (--runs)"
        )
    structural = [measure for measure in measures if measure.structural]
    if structural and collection is None:
        raise UsageError(
            f"{_labels(structural)}: about elements; simulated runs of elements take a collection "
            "(-C)"
        )


def _check_options(options: Mapping[str, Any], *, of_elements: bool) -> None:
    """Refuse what would alter the simulated runs; elements stay as they are when they snap."""
    usual = asdict(Options())
    for name in _ALTERING:
        if options.get(name, usual[name]) == usual[name] or (name == "snap" and of_elements):
            continue
        raise UsageError(
            f"--{name.replace('_', '-')} alters runs, and the order of simulated ones is known "
            "only as they are; leave it out, or write them ('foveal simulate') and try the files "
            "(--runs)"
        )


def _task_notes(task: str | None) -> Iterator[str]:
    if task is None:
        return
    preset = find_preset(task)
    if preset.topic_limit or preset.document_limit:
        yield f"{preset.name}: simulated runs are not held to the limits of the task"


def _labels(measures: Sequence[Measure]) -> str:
    return some([measure.label for measure in measures])


@contextmanager
def _no_files(hearing: _Hearing) -> Iterator[None]:
    """What is wrong with a simulated run, without the lines of a file that does not exist."""
    try:
        yield
    except InputError as error:
        first, *_ = error.problems
        if hearing.made is None or first.file not in [run.name for run in hearing.runs]:
            raise
        raise UsageError(f"simulated run {first.file}: {first.text}") from None


def _expected(
    orderings: Sequence[Ordering] | str | Path | None, names: Sequence[str], empty: str = EMPTY[0]
) -> tuple[Ordering, ...]:
    """The expectations, all of them about runs that there are."""
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


def _beside(parts: Sequence[Results]) -> Results:
    """Scores of text and of elements in one table; the runs of the first hold those of the other.

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


def _warnings(scores: Results, *, simulated: bool) -> Iterator[str]:
    """The warnings of scoring, what is said of several runs once.

    Of simulated runs it is known what they return: text that nobody judged is there on purpose.
    """
    about: dict[str, list[str]] = {}
    for warning in scores.meta.get("warnings", ()):
        run, colon, text = warning.partition(": ")
        text = text if colon and run in scores.runs else warning
        if simulated and text.startswith(("results without length", UNJUDGED_COUNTS)):
            continue
        names = about.setdefault(text, [])
        names += [run] if text != warning else []
    for text, names in about.items():
        yield f"{some(names)}: {text}" if names else text
