"""Does a measure measure what it should: runs of known order, and whether it puts them so."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from foveal._version import __version__
from foveal.analysis.aligned import align
from foveal.analysis.orderings import Ordering, expected_orderings, read_orderings
from foveal.analysis.significance import t_test
from foveal.analysis.simulation import PARTS, RANKINGS, Simulation, simulate
from foveal.campaign import evaluate
from foveal.errors import UsageError
from foveal.formats import read_judgements, read_run
from foveal.measures import Measure
from foveal.model import Judgements, Results, Run
from foveal.model.provenance import distinct_names

__all__ = [
    "LEVEL",
    "SCORED",
    "TOLERANCE",
    "TRIED",
    "Fidelity",
    "Outcome",
    "Verdict",
    "fidelity",
    "try_measures",
]

SCORED = (
    *("gP@1", "gP@2", "gP@10", "gR@1", "gR@2", "gR@10", "AgP"),
    *("gRw@1", "gRw@2", "gRw@10", "AgPw", "AP"),
)
"""The columns of table 1."""
TRIED = ("AgP", "AgPw", "AP")
"""The overall figures among them, which are put on trial unless others are named."""
TOLERANCE = 1e-12
"""Scores that differ by less are equal; relative where they are greater than 1."""
LEVEL = 0.05
"""A mean is reversed if it is significantly so at this level (paired t-test, two-sided)."""

_ASPECTS = {
    "parts": "the parts",
    "insertion": "a non-relevant document put first",
    "swap": "the swap of the first two documents",
    "late swap": "the swap of the first two relevant documents behind a non-relevant one",
    "given": "the expected differences",
}
"""What an ordering is about, in words."""
_SWAPS = ("swap", "late swap")
_SHOWN = 3


# -- the trial ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Outcome:
    """What a measure makes of one expected ordering.

    Parameters
    ----------
    difference : float
        Mean over topics by which the first run is better; negative where it is worse.
    wins, ties, losses : int
        Topics on which it is better, equal and worse.
    p : float
        Of the paired t-test, two-sided, not corrected; ``nan`` with fewer than two topics.
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
class Verdict:
    """What the trial says of a measure, in words."""

    measure: str
    passed: bool
    """No ordering that must hold on every topic is broken."""
    sentences: tuple[str, ...]


def try_measures(
    results: Results,
    orderings: Sequence[Ordering],
    measures: Sequence[str] | None = None,
    *,
    level: float = LEVEL,
) -> tuple[Outcome, ...]:
    """Whether each measure orders the runs as expected, measure by measure.

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
    names = tuple(dict.fromkeys(n for o in orderings for n in (o.better, o.worse)))
    first = np.array([names.index(o.better) for o in orderings], dtype=np.int64)
    second = np.array([names.index(o.worse) for o in orderings], dtype=np.int64)
    found = []
    for measure in results.measures if measures is None else measures:
        scores = align(results, measure, names)
        if not scores.topics:
            raise UsageError(f"{scores.measure} is defined on no topic for all runs")
        difference = _differences(scores.values[first], scores.values[second])
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
            verdict = _verdict(ordering, mean, wins, losses, chance, level)
            found.append(
                Outcome(scores.measure, ordering, mean, wins, ties, losses, chance, verdict)
            )
    return tuple(found)


def _differences(
    first: npt.NDArray[np.float64], second: npt.NDArray[np.float64]
) -> npt.NDArray[np.float64]:
    """Without those that the last digits of a sum make."""
    scale = np.maximum(1.0, np.maximum(np.abs(first), np.abs(second)))
    return np.where(np.abs(first - second) <= TOLERANCE * scale, 0.0, first - second)


def _verdict(
    ordering: Ordering, mean: float, wins: int, losses: int, p: float, level: float
) -> str:
    if not wins and not losses:
        return "equal"
    if ordering.every:
        return "broken" if losses else "holds"
    if mean >= 0:
        return "holds"
    return "reversed" if p < level else "below"


def _judge(outcomes: Sequence[Outcome], swapped: int | None) -> Verdict:
    """The outcomes of one measure in words; `swapped` topics have two documents to swap."""
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
    return Verdict(measure, not broken, tuple(said))


def _seen(outcomes: Sequence[Outcome], name: str) -> str:
    """How a measure takes one aspect."""
    orderings = f"the {len(outcomes)} orderings" if len(outcomes) > 1 else "the one ordering"
    wrong = [o for o in outcomes if o.verdict in ("broken", "reversed")]
    doubtful = [o for o in outcomes if o.verdict == "below"]
    if all(o.verdict == "equal" for o in outcomes):
        same = "both runs are" if len(outcomes) == 1 else f"all {len(outcomes)} orderings are"
        return f"does not see {name}: {same} equal on {_topics(outcomes[0])}."
    if not wrong and not doubtful:
        loose = sum(not o.ordering.every for o in outcomes)
        how = "on average" if loose == len(outcomes) else "on every topic"
        if 0 < loose < len(outcomes):
            how = f"{len(outcomes) - loose} on every topic and {loose} on average"
        return f"sees {name}: {orderings} hold{'s' if len(outcomes) == 1 else ''}, {how}."
    if not wrong:
        return f"is not clear about {name}: {_listed(doubtful)}."
    lost, won = sum(o.losses for o in outcomes), sum(o.wins for o in outcomes)
    verb = "reverses" if lost > won else "does not always see"
    return f"{verb} {name}: {_listed([*wrong, *doubtful])}."


def _topics(outcome: Outcome) -> str:
    return f"all {outcome.topics} topics" if outcome.topics > 1 else "the only topic"


def _listed(outcomes: Sequence[Outcome]) -> str:
    more = f"; and {len(outcomes) - _SHOWN} more" if len(outcomes) > _SHOWN else ""
    return "; ".join(map(str, outcomes[:_SHOWN])) + more


def _some(names: Sequence[str], most: int = 5) -> str:
    return ", ".join(names[:most]) + (", ..." if len(names) > most else "")


# -- all of it ---------------------------------------------------------------------------------


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
        words = "".join(f"<p>{text.replace('<', '&lt;')}</p>" for text in self.sentences)
        return f"{words}{self.to_frame()._repr_html_()}"

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
    measures: Sequence[str | Measure] = (),
    *,
    runs: Sequence[Run | str | Path] = (),
    orderings: Sequence[Ordering] | str | Path | None = None,
    task: str | None = None,
    level: float = LEVEL,
    empty: str = "keep",
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
        All of them are scored and tried. Default: `SCORED` are scored, `TRIED` are tried.
    runs : runs or paths, optional
        Own simulated runs instead of those of the S-R space.
    orderings : sequence of Ordering, or the path of a file of them, optional
        What is expected. Default: the orderings of the S-R space between the runs that there are.
    task : str, optional
        A preset whose measures are tried too.
    level : float
        At which an average is called reversed.
    empty : {"keep", "omit"}
        As in `foveal.analysis.simulate`.
    executor, progress, **options
        As in `foveal.evaluate`.

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
    >>> trial = fidelity(truth, measures=["AP"])
    >>> print(trial.sentences[1])
    AP does not see the parts: all 4 orderings are equal on the only topic.
    """
    given = judgements if isinstance(judgements, Judgements) else read_judgements(judgements)
    made: Simulation | None = None
    notes: tuple[str, ...] = ()
    if runs:
        to_score = [run if isinstance(run, Run) else read_run(run) for run in runs]
    else:
        chosen = {name: value for name, value in options.items() if name in _CHOICE}
        made = simulate(given, collection, empty=empty, **chosen)
        to_score, notes = list(made.runs), made.notes
        options |= {"only_topics": made.topics}
    expected = _expected(orderings, to_score)
    default = not measures and task is None
    scores = evaluate(
        to_score,
        given,
        list(SCORED if default else measures),
        task=task,
        collection=collection,
        executor=executor,
        progress=progress,
        **options,
    )
    tried = TRIED if default else scores.measures
    outcomes = try_measures(scores, expected, tried, level=level)
    n = len(expected)
    swapped = None if made is None else made.swapped
    verdicts = [_judge(outcomes[i : i + n], swapped) for i in range(0, len(outcomes), n)]
    stated = {name: value for name, value in options.items() if name != "only_topics" or not made}
    return Fidelity(
        scores=scores,
        outcomes=outcomes,
        orderings=expected,
        verdicts=tuple(verdicts),
        notes=tuple(dict.fromkeys([*notes, *_warnings(scores, simulated=made is not None)])),
        simulation=made,
        options={**stated, "measures": list(scores.measures), "level": level, "empty": empty},
    )


_CHOICE = ("only_topics", "pools", "assessors", "topics_file", "castitles_only")
"""Options that choose judgements; the others are about scoring."""


def _expected(
    orderings: Sequence[Ordering] | str | Path | None, runs: Sequence[Run]
) -> tuple[Ordering, ...]:
    """The expectations, all of them about runs that there are."""
    names = distinct_names((run.name, run.source) for run in runs)
    if isinstance(orderings, (str, Path)):
        return read_orderings(orderings, names)
    if orderings is not None:
        for name in (name for o in orderings for name in (o.better, o.worse)):
            if name not in names:
                raise UsageError(f"no run {name!r} to compare; the runs are {_some(names, 20)}")
        return tuple(orderings)
    parts = [p for p in PARTS if any(f"{p}{r}" in names for r in RANKINGS)]
    known = [o for o in expected_orderings(parts) if o.better in names and o.worse in names]
    if not known:
        raise UsageError(
            f"the order of these runs is not known ({_some(names)}); say which is better than "
            "which (--expect), or name them as in the S-R space"
        )
    return tuple(known)


def _warnings(scores: Results, *, simulated: bool) -> Iterator[str]:
    """The warnings of scoring, what is said of several runs once."""
    about: dict[str, list[str]] = {}
    for warning in scores.meta.get("warnings", ()):
        run, colon, text = warning.partition(": ")
        if not colon or run not in scores.runs:
            about[warning] = []
        elif not (simulated and text.startswith("results without length")):  # said of the part sets
            about.setdefault(text, []).append(run)
    for text, names in about.items():
        yield f"{_some(names)}: {text}" if names else text
