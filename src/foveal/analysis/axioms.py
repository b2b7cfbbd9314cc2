"""Axioms: soundness tests that any measure of focused retrieval should pass.

An axiom changes a list of results in a way whose effect is known, and defines what the score may
do then. Each is tested on several hundred small campaigns drawn with a fixed seed
(`foveal.analysis.axiom_campaigns`). A verdict is evidence: an axiom holds if no campaign breaks it;
if it fails, the smallest campaign found that breaks it is shown.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from itertools import pairwise
from typing import Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt
import polars as pl

from foveal._version import __version__
from foveal.analysis.axiom_campaigns import (
    LENGTHS,
    TREES,
    TWINS,
    AxiomCampaign,
    AxiomCampaigns,
    ListedResult,
    ListKind,
    ResultList,
)
from foveal.errors import UsageError, counted, some
from foveal.measures import Cutoff, Measure, all_measures, find_measure, parse_measures
from foveal.model.result_object import Result
from foveal.model.tables import Table

__all__ = ["AXIOMS", "REASONS", "Axiom", "AxiomOutcome", "Axioms", "axioms"]

Floats = npt.NDArray[np.float64]
Rng = np.random.Generator
T = TypeVar("T")

# -- axioms ------------------------------------------------------------------------------------

Change = Callable[[AxiomCampaign, Rng], ResultList | None]
"""Returns the changed results of a campaign; None if an axiom cannot be tested on them."""


class Axiom(NamedTuple):
    """A property that a measure should have."""

    name: str
    title: str
    """In a few words."""
    words: str
    """The exact definition."""
    expected: str
    """The allowed effect on the score, as `_judge` names it."""
    change: Change
    refusing: bool
    """True if a measure may refuse the changed list instead."""
    no: Mapping[ListKind, str]
    """Kinds of lists that it does not apply to, and the reasons."""


AXIOMS: list[Axiom] = []
"""The axioms in their order."""


def _axiom(
    title: str, expected: str, *, refusing: bool = False, no: Mapping[ListKind, str] | None = None
) -> Callable[[Change], Change]:
    """Make an axiom of a function that changes results; its docstring is the definition."""

    def register(change: Change) -> Change:
        name, words = change.__name__.strip("_"), " ".join((change.__doc__ or "").split())
        AXIOMS.append(Axiom(name, title, words, expected, change, refusing, no or {}))
        return change

    return register


def _pick(items: Sequence[T], rng: Rng) -> T | None:
    """Return one of the items, None if there are none."""
    return items[int(rng.choice(len(items)))] if items else None


def _exchange(
    results: ResultList, allowed: Callable[[ListedResult, ListedResult], bool], rng: Rng
) -> ResultList | None:
    """Let two neighbours change places."""
    pairs = [(i, pair) for i, pair in enumerate(pairwise(results)) if allowed(*pair)]
    return _pick([(*results[:i], b, a, *results[i + 2 :]) for i, (a, b) in pairs], rng)


@_axiom("scores stay within the range", "within", refusing=True)
def _bounded(campaign: AxiomCampaign, rng: Rng) -> ResultList:
    """Whatever a list returns, overlapping text and repeats included, its score lies within the
    range that the measure declares, or the list is refused. Where no upper end is declared, it is
    the full score; where there is none either, the axiom does not apply.
    """
    found: list[ListedResult] = []
    for result in campaign.results:  # every result twice, and one that overlaps it
        other = campaign.whole(result.doc)
        if campaign.kind is not ListKind.ELEMENTS:
            other = other._replace(start=int(rng.integers(0, result.end)))
        found += [result, result, other]
    return tuple(found)


@_axiom("a repeat adds nothing", "not better", refusing=True)
def _duplicate(campaign: AxiomCampaign, rng: Rng) -> ResultList | None:
    """A result that stands in the list twice, right after itself, does not make the score better;
    or the list is refused.
    """
    results = campaign.results
    return _pick([(*results[: i + 1], *results[i:]) for i in range(len(results))], rng)


@_axiom(
    "cutting in two does not pay",
    "not better",
    no={
        ListKind.ELEMENTS: "an element cannot be cut in two",
        ListKind.ENTRIES: "a document has one result",
    },
)
def _split(campaign: AxiomCampaign, rng: Rng) -> ResultList | None:
    """A result that is relevant throughout, or nowhere, is cut into two that stand one after the
    other with nothing between them. The score does not get better; it may get worse where ranks
    count, since the halves take two. Text that is relevant in part is not cut: to return its
    relevant half first is a better list. Lists that grow beyond a rank cut-off are not looked at.
    """
    results = campaign.results
    even = [
        i
        for i, r in enumerate(results)
        if r.size > 1 and (campaign.is_relevant(r) or campaign.is_useless(r))
    ]
    at = _pick(even, rng)
    if at is None:
        return None
    cut = results[at]
    # Often in the middle, as some measures require half of a passage.
    halved = rng.random() < 0.5
    middle = (cut.start + cut.end) // 2 if halved else int(rng.integers(cut.start + 1, cut.end))
    return (*results[:at], *cut.cut(middle), *results[at + 1 :])


@_axiom("order within a document", "same", no={ListKind.ENTRIES: "a document has one result"})
def _order(campaign: AxiomCampaign, rng: Rng) -> ResultList | None:
    """Two results of one document that stand side by side change places. Where results of a
    document stand together by rule, the score stays the same; in other lists it stays the same if
    both are of one size and relevant throughout, or nowhere, and assessed alike.
    """

    def are_alike(a: ListedResult, b: ListedResult) -> bool:
        if campaign.kind is ListKind.GROUPED or a.doc != b.doc:
            return a.doc == b.doc
        grades = [campaign.exhaustivity.get((r.doc, r.xpath or "")) for r in (a, b)]
        even = any(test(a) and test(b) for test in (campaign.is_relevant, campaign.is_useless))
        return a.size == b.size and grades[0] == grades[1] and even

    return _exchange(campaign.results, are_alike, rng)


@_axiom("documents are kept apart", "worst")
def _document(campaign: AxiomCampaign, _: Rng) -> ResultList:
    """Every result is moved to the same offsets of another document, one without anything relevant.
    The score is the worst there is.
    """
    return tuple(r._replace(doc=TWINS[r.doc]) for r in campaign.results if r.doc in TWINS)


@_axiom("touching is not overlapping", "worst")
def _touching(campaign: AxiomCampaign, rng: Rng) -> ResultList | None:
    """All results lie between the relevant passages of relevant documents, from the end of one to
    the start of the next or to an end of the document, and share no character with them; of
    elements, they hold nothing relevant. The score is the worst there is.
    """
    found: list[ListedResult] = []
    for doc, spans in campaign.relevant.items():
        if campaign.kind is ListKind.ELEMENTS:
            between = [ListedResult(doc, *place, path) for path, place in TREES[doc].items()]
        else:
            ends = [0, *(end for _, end in spans)]
            starts = [*(start for start, _ in spans), LENGTHS[doc]]
            between = [ListedResult(doc, *gap) for gap in zip(ends, starts, strict=True)]
        one = _pick([r for r in between if r.size and campaign.is_useless(r)], rng)
        found += [] if one is None else [one]
    return tuple(found) or None


@_axiom("a missing topic is zero", "worst")
def _missing(_: AxiomCampaign, __: Rng) -> ResultList:
    """A judged topic of which the run returns nothing has the worst score there is, and is not left
    out.
    """
    return ()


@_axiom(
    "ideal is one",
    "ideal",
    no={ListKind.ELEMENTS: "which elements are ideal is for the measure to say"},
)
def _ideal(campaign: AxiomCampaign, _: Rng) -> ResultList:
    """A list of exactly the relevant passages, document by document, has the full score that the
    measure declares; where a document has one result, it is the first passage.
    """
    if campaign.kind is ListKind.ENTRIES:
        return tuple(ListedResult(doc, *spans[0]) for doc, spans in campaign.relevant.items())
    return campaign.passages


@_axiom("a useless result at the end", "not better")
def _tail(campaign: AxiomCampaign, rng: Rng) -> ResultList | None:
    """A document without anything relevant is returned after all others. The score does not get
    better.
    """
    used = [result.doc for result in campaign.results]
    others = [campaign.whole(doc) for doc in TWINS.values() if doc not in used]
    return _pick([(*campaign.results, other) for other in others], rng)


@_axiom("better results first", "not worse")
def _swap(campaign: AxiomCampaign, rng: Rng) -> ResultList | None:
    """A result of a document without anything relevant stands right before one that is relevant
    throughout; they change places. The score does not get worse. Where results of a document stand
    together, both are the only ones of their documents.
    """
    docs = [result.doc for result in campaign.results]

    def are_wrong(a: ListedResult, b: ListedResult) -> bool:
        alone = campaign.kind is not ListKind.GROUPED or docs.count(a.doc) == docs.count(b.doc) == 1
        return a.doc not in campaign.relevant and campaign.is_relevant(b) and alone

    return _exchange(campaign.results, are_wrong, rng)


_BY_DESIGN = """
touching: FBarticle gR gRw P R AP gen_document
    whatever is returned of a relevant document finds that document
touching: BEPD GR EPRUM EPRUMk PRUM
    an entry point counts by its distance from the best one, whatever text lies there
touching: T2I T2IP T2IR T2IcharP T2IcharR
    a result is where a reader begins, who reads on past its end
order: T2I
    the passage that a reader reaches first is the one that counts as found there
duplicate split: T2IcharP T2IcharR
    with mode=first the reader stops at the first relevant character that is new, so that each
    further result of a passage, a repeat too, brings one more
touching document: judged
    tells which documents were judged, not which are relevant
"""
"""Axioms, measures that break them on purpose, and the reason."""

REASONS: dict[str, dict[str, str]] = {}
"""Measure to axiom to the reason why it is broken on purpose; every entry is tested.

A measure of another package declares its reasons as a class attribute ``axioms``.
"""
for _entry in re.split(r"\n(?=\S)", _BY_DESIGN.strip()):
    _broken, _names, _reason = re.split(r": |\n", _entry, maxsplit=2)
    for _name in _names.split():
        REASONS.setdefault(_name, {}).update(
            dict.fromkeys(_broken.split(), " ".join(_reason.split()))
        )


# -- verdicts ----------------------------------------------------------------------------------


class AxiomOutcome(Enum):
    """The outcome of an axiom for a measure."""

    HOLDS = "holds"
    FAILS = "fails"
    INTENDED = "by design"
    NOT_APPLICABLE = "does not apply"


AXIOM_TABLES = ("verdicts", "counterexamples", "axioms")
ALL = "all"
_TOLERANCE = 1e-9
_MOST_NAMED = 6  # measures in a sentence
_SIGNS = dict(zip(AxiomOutcome, ("yes", "NO", "(no)", "-"), strict=True))


class Counterexample(NamedTuple):
    """A campaign that breaks an axiom: relevant text, list before and after, both scores."""

    relevant: str
    list: str
    changed_list: str
    score: float
    changed_score: float

    def __str__(self) -> str:
        before = f"{self.list} scores {self.score:.4f}; " if self.list != self.changed_list else ""
        return (
            f"relevant {self.relevant}: {before}{self.changed_list} scores {self.changed_score:.4f}"
        )


class AxiomVerdict(NamedTuple):
    """The verdict of one axiom on one measure."""

    measure: str
    axiom: str
    outcome: AxiomOutcome
    campaigns: int = 0
    """Number of campaigns it was tested on."""
    reason: str = ""
    """The reason why it does not apply, is meant to fail, or holds by refusal of lists."""
    counterexample: Counterexample | None = None


@dataclass(frozen=True, eq=False)
class Axioms(Result):
    """The verdicts on some measures; made by `axioms`."""

    measures: tuple[str, ...]
    verdicts: tuple[AxiomVerdict, ...]
    campaigns: int
    seed: int
    unsound: Mapping[str, str]
    """Measure to its declared defect."""
    meta: Mapping[str, Any] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"<Axioms: {len(self.measures)} measures, {len(self.failed)} failures>"

    def __getitem__(self, key: tuple[str, str]) -> AxiomVerdict:
        for verdict in self.verdicts:
            if (verdict.measure, verdict.axiom) == key:
                return verdict
        raise UsageError(
            f"no verdict on {key!r}; there are {', '.join(self.measures)} by "
            f"{', '.join(axiom.name for axiom in AXIOMS)}"
        )

    @property
    def failed(self) -> tuple[AxiomVerdict, ...]:
        """The failures that are not by design."""
        return tuple(v for v in self.verdicts if v.outcome is AxiomOutcome.FAILS)

    def rows(self) -> Iterator[dict[str, Any]]:
        """Yield a row for each measure and axiom; missing values are None."""
        for measure, axiom, outcome, campaigns, reason, example in self.verdicts:
            yield {
                "measure": measure,
                "axiom": axiom,
                "verdict": outcome.value,
                "campaigns": campaigns,
                "reason": reason or None,
                **(example._asdict() if example else dict.fromkeys(Counterexample._fields)),
            }

    def to_frame(self) -> pl.DataFrame:
        """Return a row for each measure and axiom."""
        texts = ("reason", "relevant", "list", "changed_list")  # where all are missing, too
        frame = super().to_frame()
        return frame.with_columns(
            pl.col(texts).cast(pl.String), pl.col("score", "changed_score").cast(pl.Float64)
        )

    def parts(self) -> dict[str, Any]:
        """Return the axioms in words, declared defects and all verdicts."""
        return {
            "axioms": {axiom.name: axiom.words for axiom in AXIOMS},
            "unsound": self.unsound,
            "verdicts": list(self.rows()),
        }

    def summary(self) -> str:
        """Return which measures fail an axiom that they should satisfy."""
        if self.failed:
            failed = list(dict.fromkeys(f"{v.measure} ({v.axiom})" for v in self.failed))
            return f"Failed: {some(failed, _MOST_NAMED)}."
        meant = {v.measure for v in self.verdicts if v.outcome is AxiomOutcome.INTENDED}
        if meant:
            return f"No axiom fails, except by design of {some(sorted(meant), _MOST_NAMED)}."
        verb = "satisfies" if len(self.measures) == 1 else "satisfy"
        return f"{some(self.measures, _MOST_NAMED)} {verb} every axiom that applies."

    def tables(self, show: Sequence[str] = ()) -> list[Table]:
        """Return the tables of `AXIOM_TABLES` that `show` names."""
        for name in show:
            if name not in AXIOM_TABLES:
                raise UsageError(f"no table {name!r}; expected {' or '.join(AXIOM_TABLES)}")
        names = [axiom.name for axiom in AXIOMS]
        signs = [_SIGNS[verdict.outcome] for verdict in self.verdicts]
        verdicts = Table(
            ("measure", *names),
            tuple((m, *signs[i * len(names) :][: len(names)]) for i, m in enumerate(self.measures)),
            labels=len(names) + 1,
            title=f"Axioms: {counted(len(self.measures), 'measure')}",
            notes=tuple(self._list_notes()),
            name="axioms",
        )
        broken = [(v, v.counterexample) for v in self.verdicts if v.counterexample is not None]
        counterexamples = Table(
            ("measure", "axiom", "relevant", "list", "score", "becomes", "score"),
            tuple(
                (
                    *(verdict.measure, verdict.axiom, relevant),
                    *(("", "") if before == after else (before, f"{score:.4f}")),
                    *(after, f"{changed:.4f}"),
                )
                for verdict, (relevant, before, after, score, changed) in broken
            ),
            labels=4,
            title="Smallest counterexamples found",
            notes=("A:0-10 is the text of document A from offset 0 up to, and without, 10.",),
            name="counterexamples",
        )
        words = tuple((axiom.name, axiom.title, axiom.words) for axiom in AXIOMS)
        header = ("axiom", "in short", "definition")
        definitions = Table(header, words, labels=3, title="The axioms", name="words")
        shown = show or ("verdicts", *(["counterexamples"] if broken else []))
        tables = zip(AXIOM_TABLES, (verdicts, counterexamples, definitions), strict=True)
        return [table for name, table in tables if name in shown]

    def _list_notes(self) -> Iterator[str]:
        """Yield what the signs mean, and each reason once with its axioms and measures."""
        tried = f"{counted(self.campaigns, 'campaign')} (seed {self.seed})"
        signs = f"yes: no counterexample among {tried}; NO: fails; (no): fails by design"
        yield f"{signs}; -: does not apply."
        for outcome in (AxiomOutcome.INTENDED, AxiomOutcome.NOT_APPLICABLE):
            own = [verdict for verdict in self.verdicts if verdict.outcome is outcome]
            for reason in dict.fromkeys(verdict.reason for verdict in own):
                alike = [verdict for verdict in own if verdict.reason == reason]
                names = ", ".join(dict.fromkeys(v.axiom for v in alike))
                measures = some(list(dict.fromkeys(v.measure for v in alike)), _MOST_NAMED)
                yield f"{_SIGNS[outcome]} {names}: {reason} [{measures}]."
        for measure, why in self.unsound.items():
            yield f"{measure} is marked unsound: {why}."


def axioms(
    measures: str | Measure | Sequence[str | Measure] = ALL, *, campaigns: int = 400, seed: int = 0
) -> Axioms:
    """Test measures for soundness.

    Parameters
    ----------
    measures : text or Python forms of measures
        ``all`` means every registered one. A measure that needs a cut-off and has none gets rank
        10 or recall 0.5. A measure need not be registered.
    campaigns : int
        Number of campaigns drawn for each kind of list.
    seed : int
        The same seed gives the same campaigns and verdicts.

    Examples
    --------
    >>> found = axioms("charR")
    >>> found["charR", "duplicate"].outcome
    <AxiomOutcome.HOLDS: 'holds'>
    >>> found["charR", "duplicate"].reason
    'such lists are refused'
    >>> found.failed
    ()
    """
    if campaigns < 1:
        raise UsageError(f"{campaigns} campaigns are not possible; expected 1 or more")
    if seed < 0:
        raise UsageError(f"seed {seed} is not possible; expected a number from 0")
    listed: list[Measure] = []
    for item in [measures] if isinstance(measures, (str, Measure)) else measures:
        if isinstance(item, Measure):
            listed.append(item)
        elif item == ALL:
            listed += all_measures()
        else:
            cutoff = "" if "@" in item else _usual_cutoff(find_measure(item.split("(")[0].strip()))
            listed += parse_measures(f"{item}@{cutoff}" if cutoff else item)
    if not listed:
        raise UsageError(f"no measure given; name measures (--measure), or {ALL} of them")
    chosen = tuple(dict.fromkeys(m @ usual if (usual := _usual_cutoff(m)) else m for m in listed))
    found: dict[tuple[str, str], AxiomVerdict] = {}
    for kind in ListKind:
        own = [measure for measure in chosen if ListKind.of(measure) is kind]
        if own:
            for verdict in _test_measures(own, AxiomCampaigns(kind, campaigns, seed), seed):
                found[verdict.measure, verdict.axiom] = verdict
    return Axioms(
        tuple(measure.label for measure in chosen),
        tuple(found[measure.label, axiom.name] for measure in chosen for axiom in AXIOMS),
        campaigns,
        seed,
        {m.label: m.unsound for m in chosen if m.unsound},
        {"version": __version__, "campaigns": campaigns, "seed": seed},
    )


def _usual_cutoff(measure: Measure) -> str:
    """Return the cut-off of a measure that lacks one; no list here is longer than rank 10."""
    if measure.at is not None or not measure.cutoff.required:
        return ""
    return "10" if measure.cutoff is Cutoff.RANK else "0.5"


def _test_measures(
    measures: list[Measure], lab: AxiomCampaigns, seed: int
) -> Iterator[AxiomVerdict]:
    """Yield the verdict of every axiom on measures that take lists of one kind."""
    before = lab.score([campaign.results for campaign in lab.campaigns], measures)
    for number, axiom in enumerate(AXIOMS):
        reasons = {m: _explain_exemption(axiom, m, lab.kind, before[m]) for m in measures}
        rng = np.random.default_rng([seed, number])
        changed = [axiom.change(campaign, rng) for campaign in lab.campaigns]
        applicable = [measure for measure, reason in reasons.items() if not reason]
        after = lab.score(changed, applicable) if applicable else {}
        for measure, reason in reasons.items():
            if reason:
                yield AxiomVerdict(
                    measure.label, axiom.name, AxiomOutcome.NOT_APPLICABLE, reason=reason
                )
            else:
                yield _judge(axiom, measure, lab, changed, before[measure], after[measure])


def _explain_exemption(axiom: Axiom, measure: Measure, kind: ListKind, scores: Floats | str) -> str:
    """Return why an axiom does not apply to a measure; empty if it does."""
    if isinstance(scores, str):  # the measure needs data that no campaign here has
        return scores
    if kind in axiom.no:
        return axiom.no[kind]
    if axiom.expected == "within":
        endless = measure.range[1] is None and measure.ideal is None
        return "declares no upper end and no full score" if endless else ""
    if measure.higher_is_better is None:
        return "counts something: neither more nor less of it is better"
    if axiom.expected == "ideal" and measure.ideal is None:
        return "declares no full score: it depends"
    if axiom.expected != "same" and not measure.higher_is_better:
        return "tells how much a run repeats itself or reads, not what it finds"
    return ""


def _judge(
    axiom: Axiom,
    measure: Measure,
    lab: AxiomCampaigns,
    changed: Sequence[ResultList | None],
    before: Any,
    after: Floats | str,
) -> AxiomVerdict:
    """Judge a measure by its scores before and after the change."""
    verdict = AxiomVerdict(measure.label, axiom.name, AxiomOutcome.NOT_APPLICABLE)
    if isinstance(after, str):
        if not axiom.refusing:
            return verdict._replace(reason=after)
        tried = sum(results is not None for results in changed)
        reason = "such lists are refused"
        return verdict._replace(outcome=AxiomOutcome.HOLDS, campaigns=tried, reason=reason)
    # A list that has grown must still fit a rank cut-off.
    has_rank = measure.at is not None and not measure.cutoff.of_recall
    most = int(measure.at or 0) if has_rank else math.inf
    pairs = zip(lab.campaigns, changed, strict=True)
    seen = np.array([r is not None and len(r) <= max(len(c.results), most) for c, r in pairs])
    is_compared = axiom.expected in ("not better", "not worse", "same")
    if is_compared:
        seen &= ~np.isnan(before)
    if not seen.any():
        return verdict._replace(reason="no list fits its cut-off")
    # Measures of which less is better are only tested for scores that stay the same.
    low, high = measure.range
    allowed: dict[str, tuple[Any, Any]] = {
        "within": (low, measure.ideal if high is None else high),
        "not better": (-math.inf, before),
        "not worse": (before, math.inf),
        "same": (before, before),
        "worst": (low, low),
        "ideal": (measure.ideal, measure.ideal),
    }
    lowest, highest = allowed[axiom.expected]
    kept = (after >= lowest - _TOLERANCE) & (after <= highest + _TOLERANCE)
    if axiom.expected == "within":
        kept |= np.isnan(after)
    verdict = verdict._replace(outcome=AxiomOutcome.HOLDS, campaigns=int(seen.sum()))
    broken = np.flatnonzero(seen & ~kept).tolist()
    if not broken:
        return verdict
    at = min(broken, key=lambda i: lab.campaigns[i].weight)
    campaign, results = lab.campaigns[at], changed[at] or ()
    relevant, listed, becomes = (
        " ".join(map(str, shown)) or "nothing"
        for shown in (campaign.passages, campaign.results if is_compared else results, results)
    )
    score = float((before if is_compared else after)[at])
    reason = measure.axioms.get(axiom.name) or REASONS.get(measure.name, {}).get(axiom.name, "")
    return verdict._replace(
        outcome=AxiomOutcome.INTENDED if reason else AxiomOutcome.FAILS,
        reason=reason,
        counterexample=Counterexample(relevant, listed, becomes, score, float(after[at])),
    )
