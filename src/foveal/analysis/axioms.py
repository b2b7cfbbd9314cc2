"""Put measures through soundness tests: what any measure of focused retrieval owes its readers.

An axiom changes a list of results in a way whose effect is known, and says what the score may do
then. Each is tried on several hundred small campaigns drawn with a fixed seed
(`foveal.analysis.axiom_cases`). A verdict is evidence: that an axiom holds means that no campaign
of these breaks it, that it fails comes with the smallest campaign found that does.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from foveal.analysis.axiom_cases import Kind, Laboratory
from foveal.analysis.axiom_cases import listed as _listed
from foveal.analysis.axiom_definitions import AXIOMS, Axiom, Expected, Results
from foveal.analysis.axiom_reasons import REASONS
from foveal.errors import UsageError
from foveal.measures import Cutoff, Measure, all_measures, find_measure, parse_measures

__all__ = ["AXIOMS", "Axiom", "Axioms", "Counterexample", "Outcome", "Verdict", "axioms"]

Floats = npt.NDArray[np.float64]

_TOLERANCE = 1e-9
_CAMPAIGNS = 400
_RANK, _LEVEL = "10", "0.5"
"""Cut-offs of measures that need one and are given none; no list here is longer than the rank."""
_COUNT = "counts something: neither more nor less of it is better"
_REPETITION = "tells how much a run repeats itself or reads, not what it finds"
REFUSED = "such lists are refused"
ALL = "all"


class Outcome(Enum):
    """What came of an axiom for a measure."""

    HOLDS = "holds"
    FAILS = "fails"
    INTENDED = "by design"
    NOT_APPLICABLE = "does not apply"


@dataclass(frozen=True)
class Counterexample:
    """A campaign that breaks an axiom: what is relevant, the list before and after, both scores."""

    judged: str
    before: str
    after: str
    score: float
    changed: float

    def __str__(self) -> str:
        lists = f"{self.before} scores {self.score:.4f}; "
        lists = "" if self.before == self.after else lists
        return f"relevant {self.judged}: {lists}{self.after} scores {self.changed:.4f}"


@dataclass(frozen=True)
class Verdict:
    """What came of one axiom for one measure.

    Parameters
    ----------
    measure, axiom : str
    outcome : Outcome
    campaigns : int
        How many it could be tried on.
    reason : str
        Why it does not apply, or why it is meant to fail, or that lists are refused.
    counterexample : Counterexample, optional
    """

    measure: str
    axiom: str
    outcome: Outcome
    campaigns: int = 0
    reason: str = ""
    counterexample: Counterexample | None = None


# -- the trial ---------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Axioms:
    """The verdicts on some measures; made by `axioms`."""

    measures: tuple[str, ...]
    verdicts: tuple[Verdict, ...]
    campaigns: int
    seed: int
    unsound: Mapping[str, str]
    """Measure to what its declaration says is wrong with it."""

    def __repr__(self) -> str:
        return f"<Axioms: {len(self.measures)} measures, {len(self.failed)} failures>"

    def __getitem__(self, key: tuple[str, str]) -> Verdict:
        for verdict in self.verdicts:
            if (verdict.measure, verdict.axiom) == key:
                return verdict
        raise UsageError(
            f"no verdict on {key!r}; there are {', '.join(self.measures)} by "
            f"{', '.join(axiom.name for axiom in AXIOMS)}"
        )

    def of(self, measure: str) -> tuple[Verdict, ...]:
        """The verdicts on one measure, in the order of `AXIOMS`."""
        return tuple(verdict for verdict in self.verdicts if verdict.measure == measure)

    @property
    def failed(self) -> tuple[Verdict, ...]:
        """What fails and is not meant to."""
        return tuple(v for v in self.verdicts if v.outcome is Outcome.FAILS)

    def rows(self) -> Iterator[dict[str, Any]]:
        """A row for each measure and axiom; what does not exist is None."""
        for verdict in self.verdicts:
            example = verdict.counterexample
            yield {
                "measure": verdict.measure,
                "axiom": verdict.axiom,
                "verdict": verdict.outcome.value,
                "campaigns": verdict.campaigns,
                "reason": verdict.reason or None,
                "relevant": None if example is None else example.judged,
                "list": None if example is None else example.before,
                "changed_list": None if example is None else example.after,
                "score": None if example is None else example.score,
                "changed_score": None if example is None else example.changed,
            }

    def to_frame(self) -> pl.DataFrame:
        """A row for each measure and axiom."""
        words = ("reason", "relevant", "list", "changed_list")
        types: dict[str, Any] = dict.fromkeys(words, pl.String)
        types |= dict.fromkeys(("score", "changed_score"), pl.Float64)
        return pl.DataFrame(list(self.rows()), schema_overrides=types, infer_schema_length=None)

    def to_json(self) -> str:
        """The axioms in words, the settings and all verdicts; a score that is not one is null."""
        content = {
            "campaigns": self.campaigns,
            "seed": self.seed,
            "axioms": {axiom.name: axiom.words for axiom in AXIOMS},
            "unsound": dict(self.unsound),
            "verdicts": [
                {n: None if isinstance(v, float) and math.isnan(v) else v for n, v in row.items()}
                for row in self.rows()
            ],
        }
        return json.dumps(content, ensure_ascii=False, indent=1) + "\n"


def axioms(
    measures: str | Measure | Sequence[str | Measure] = ALL,
    *,
    campaigns: int = _CAMPAIGNS,
    seed: int = 0,
) -> Axioms:
    """Put measures through the soundness tests.

    Parameters
    ----------
    measures : text or Python forms of measures
        ``all`` stands for every registered one. A measure that needs a cut-off and has none gets
        rank 10 or recall 0.5. A measure need not be registered.
    campaigns : int
        How many are drawn for each kind of list.
    seed : int
        The same seed gives the same campaigns and verdicts.

    Examples
    --------
    >>> found = axioms("charR")
    >>> found["charR", "duplicate"].outcome
    <Outcome.HOLDS: 'holds'>
    >>> found["charR", "duplicate"].reason
    'such lists are refused'
    >>> found.failed
    ()
    """
    if campaigns < 1:
        raise UsageError(f"{campaigns} campaigns are not possible; expected 1 or more")
    if seed < 0:
        raise UsageError(f"seed {seed} is not possible; expected a number from 0")
    chosen = _chosen([measures] if isinstance(measures, (str, Measure)) else measures)
    found: dict[tuple[str, str], Verdict] = {}
    for kind in Kind:
        own = [measure for measure in chosen if Kind.of(measure) is kind]
        if own:
            for verdict in _tried(own, Laboratory(kind, campaigns, seed), seed):
                found[verdict.measure, verdict.axiom] = verdict
    return Axioms(
        tuple(measure.label for measure in chosen),
        tuple(found[measure.label, axiom.name] for measure in chosen for axiom in AXIOMS),
        campaigns,
        seed,
        {m.label: m.unsound for m in chosen if m.unsound},
    )


def _chosen(given: Sequence[str | Measure]) -> tuple[Measure, ...]:
    """The measures in order, each once and with a cut-off where it needs one."""
    found: list[Measure] = []
    for item in given:
        if item == ALL:
            found += all_measures()
        else:
            found += _parsed(item) if isinstance(item, str) else (item,)
    if not found:
        raise UsageError(f"no measure given; name measures (-m), or {ALL} of them")
    return tuple(dict.fromkeys(map(_completed, found)))


def _parsed(text: str) -> tuple[Measure, ...]:
    """A measure in words, which may lack its cut-off here."""
    bare = find_measure(text.partition("(")[0].strip()) if "@" not in text else None
    if bare is None or not bare.cutoff.required:
        return parse_measures(text)
    return parse_measures(f"{text}@{_usual(bare)}")


def _usual(measure: Measure) -> str:
    return _RANK if measure.cutoff is Cutoff.RANK else _LEVEL


def _completed(measure: Measure) -> Measure:
    if measure.at is not None or not measure.cutoff.required:
        return measure
    return measure @ _usual(measure)


def _tried(measures: list[Measure], laboratory: Laboratory, seed: int) -> Iterator[Verdict]:
    """Every axiom for measures that take lists of one kind."""
    before = [campaign.results for campaign in laboratory.campaigns]
    scores = laboratory.scores(laboratory.run(before), measures)
    for measure, values in scores.items():
        if isinstance(values, str):  # something is missing that no campaign here has
            for axiom in AXIOMS:
                yield Verdict(
                    measure.label, axiom.name, Outcome.NOT_APPLICABLE, reason=_short(values)
                )
    usable = {m: values for m, values in scores.items() if not isinstance(values, str)}
    for number, axiom in enumerate(AXIOMS):
        told = {measure: _not_applicable(axiom, measure, laboratory.kind) for measure in usable}
        for measure, reason in told.items():
            if reason:
                yield Verdict(measure.label, axiom.name, Outcome.NOT_APPLICABLE, reason=reason)
        left = [measure for measure, reason in told.items() if not reason]
        if not left:
            continue
        rng = np.random.default_rng([seed, number])
        after = [axiom.change(c, laboratory.kind, rng) for c in laboratory.campaigns]
        changed = laboratory.scores(laboratory.run(after), left)
        for measure in left:
            yield _verdict(axiom, measure, laboratory, after, usable[measure], changed[measure])


def _not_applicable(axiom: Axiom, measure: Measure, kind: Kind) -> str:
    """Why an axiom says nothing about a measure; empty if it does."""
    if axiom.no and kind in axiom.no:
        return axiom.no[kind]
    if axiom.expected is Expected.WITHIN:
        endless = measure.range[1] is None and measure.ideal is None
        return "declares no upper end and no full score" if endless else ""
    if measure.higher_is_better is None:
        return _COUNT
    if axiom.expected is Expected.IDEAL and measure.ideal is None:
        return "declares no full score: it depends"
    if axiom.expected is not Expected.SAME and not measure.higher_is_better:
        return _REPETITION
    return ""


def _verdict(
    axiom: Axiom,
    measure: Measure,
    laboratory: Laboratory,
    after: Sequence[Results | None],
    before_scores: Floats,
    after_scores: Floats | str,
) -> Verdict:
    """What the scores before and after say."""
    if isinstance(after_scores, str):
        if axiom.refusing:
            tried = sum(results is not None for results in after)
            return Verdict(measure.label, axiom.name, Outcome.HOLDS, tried, REFUSED)
        return Verdict(
            measure.label, axiom.name, Outcome.NOT_APPLICABLE, reason=_short(after_scores)
        )
    seen = np.array(
        [
            results is not None and _fits(measure, campaign.results, results)
            for campaign, results in zip(laboratory.campaigns, after, strict=True)
        ]
    )
    if axiom.expected in (Expected.NOT_BETTER, Expected.NOT_WORSE, Expected.SAME):
        seen &= ~np.isnan(before_scores)
    if not seen.any():
        return Verdict(
            measure.label, axiom.name, Outcome.NOT_APPLICABLE, reason="no list fits its cut-off"
        )
    broken = np.flatnonzero(
        seen & ~_as_expected(axiom.expected, measure, before_scores, after_scores)
    )
    tried = int(seen.sum())
    if not len(broken):
        return Verdict(measure.label, axiom.name, Outcome.HOLDS, tried)
    at = min(broken.tolist(), key=lambda i: laboratory.campaigns[i].weight)
    campaign, changed = laboratory.campaigns[at], after[at] or ()
    compared = axiom.expected in (Expected.NOT_BETTER, Expected.NOT_WORSE, Expected.SAME)
    example = Counterexample(
        campaign.judged,
        _listed(campaign.results if compared else changed),
        _listed(changed),
        float((before_scores if compared else after_scores)[at]),
        float(after_scores[at]),
    )
    reason = _reason(measure, axiom.name)
    outcome = Outcome.INTENDED if reason else Outcome.FAILS
    return Verdict(measure.label, axiom.name, outcome, tried, reason, example)


def _fits(measure: Measure, before: Results, after: Results) -> bool:
    """Whether a list that has grown is still looked at to its end."""
    of_rank = measure.cutoff in (Cutoff.RANK, Cutoff.RANK_OPTIONAL) and measure.at is not None
    return not of_rank or len(after) <= max(len(before), int(measure.at or 0))


def _as_expected(
    expected: Expected, measure: Measure, before: Floats, after: Floats
) -> npt.NDArray[np.bool_]:
    """Whether each score does what the axiom lets it do; one that is undefined does not."""
    low, high = measure.range
    sign = 1.0 if measure.higher_is_better in (True, None) else -1.0
    gain = sign * (after - before)
    with np.errstate(invalid="ignore"):
        if expected is Expected.WITHIN:
            top = measure.ideal if high is None else high
            assert top is not None  # else it does not apply
            return np.isnan(after) | ((after >= low - _TOLERANCE) & (after <= top + _TOLERANCE))
        if expected is Expected.NOT_BETTER:
            return np.asarray(gain <= _TOLERANCE)
        if expected is Expected.NOT_WORSE:
            return np.asarray(gain >= -_TOLERANCE)
        if expected is Expected.SAME:
            return np.asarray(np.abs(gain) <= _TOLERANCE)
        wanted = low if expected is Expected.WORST else float(measure.ideal or 0.0)
        return np.asarray(np.abs(after - wanted) <= _TOLERANCE)


def _reason(measure: Measure, axiom: str) -> str:
    """Why a measure is meant to break an axiom: by its own declaration, or one of this package."""
    return measure.axioms.get(axiom) or REASONS.get(measure.name, {}).get(axiom, "")


def _short(message: str) -> str:
    """A refusal without what to do about it."""
    return message.partition(" (--")[0].partition("; it takes ")[0]
