"""Axioms: soundness tests that any measure of focused retrieval should pass.

An axiom changes a list of results in a way whose effect is known, and defines what the score may
do then. Each is tested on several hundred small campaigns drawn with a fixed seed
(`foveal.analysis.axiom_campaigns`). A verdict is evidence: an axiom holds if no campaign breaks it;
if it fails, the smallest campaign found that breaks it is shown.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from foveal._version import __version__
from foveal.analysis import axiom_campaigns as drawn
from foveal.analysis.axiom_campaigns import AxiomCampaign, ListedResult, ListKind, ResultList
from foveal.errors import UsageError, counted, some
from foveal.measures import Cutoff, Measure, all_measures, parse_measures
from foveal.model.result_object import Result
from foveal.model.tables import Table

__all__ = ["AXIOMS", "REASONS", "Axiom", "AxiomVerdict", "Axioms", "axioms"]

Floats = npt.NDArray[np.float64]
Rng = np.random.Generator
T = TypeVar("T")

# -- axioms ------------------------------------------------------------------------------------

Change = Callable[[AxiomCampaign, Rng], ResultList | None]
"""Returns the changed results of a campaign; None if an axiom cannot be tested on them."""


class Axiom(NamedTuple):
    """A property that a measure should have: its name, exact definition and test.

    `expected` is the allowed effect of the change on the score, as `_judge` names it. A measure may
    refuse the changed list instead if `refusing`.
    """

    name: str
    words: str
    expected: str
    change: Change
    refusing: bool


AXIOMS: list[Axiom] = []
"""The axioms in their order."""


def _axiom(expected: str, *, refusing: bool = False) -> Callable[[Change], Change]:
    """Make an axiom of a function that changes results; its docstring is the definition."""

    def register(change: Change) -> Change:
        name, words = change.__name__.strip("_"), " ".join((change.__doc__ or "").split())
        AXIOMS.append(Axiom(name, words, expected, change, refusing))
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


@_axiom("within", refusing=True)
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


@_axiom("not better", refusing=True)
def _duplicate(campaign: AxiomCampaign, rng: Rng) -> ResultList | None:
    """A result that stands in the list twice, right after itself, does not make the score better;
    or the list is refused.
    """
    results = campaign.results
    return _pick([(*results[: i + 1], *results[i:]) for i in range(len(results))], rng)


@_axiom("not better")
def _split(campaign: AxiomCampaign, rng: Rng) -> ResultList | None:
    """A result that is relevant throughout, or nowhere, is cut into two that stand one after the
    other with nothing between them. The score does not get better; it may get worse where ranks
    count, since the halves take two. Text that is relevant in part is not cut: to return its
    relevant half first is a better list. Lists that grow beyond a rank cut-off are not looked at.
    """
    results = campaign.results
    even = [i for i, r in enumerate(results) if campaign.is_relevant(r) or campaign.is_useless(r)]
    at = _pick(even, rng)
    if at is None or campaign.kind in (ListKind.ELEMENTS, ListKind.ENTRIES):
        return None
    cut = results[at]
    # Often in the middle, as some measures require half of a passage.
    halved = rng.random() < 0.5
    middle = (cut.start + cut.end) // 2 if halved else int(rng.integers(cut.start + 1, cut.end))
    return (*results[:at], *cut.cut(middle), *results[at + 1 :])


@_axiom("same")
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


@_axiom("worst")
def _document(campaign: AxiomCampaign, _: Rng) -> ResultList:
    """Every result is moved to the same offsets of another document, one without anything relevant.
    The score is the worst there is.
    """
    return tuple(
        r._replace(doc=drawn.TWINS[r.doc]) for r in campaign.results if r.doc in drawn.TWINS
    )


@_axiom("worst")
def _touching(campaign: AxiomCampaign, rng: Rng) -> ResultList | None:
    """All results lie between the relevant passages of relevant documents, from the end of one to
    the start of the next or to an end of the document, and share no character with them; of
    elements, they hold nothing relevant. The score is the worst there is.
    """
    found: list[ListedResult] = []
    for doc, spans in campaign.relevant.items():
        if campaign.kind is ListKind.ELEMENTS:
            between = [ListedResult(doc, *place, path) for path, place in drawn.TREES[doc].items()]
        else:
            ends = [0, *(end for _, end in spans)]
            starts = [*(start for start, _ in spans), drawn.LENGTHS[doc]]
            between = [ListedResult(doc, *gap) for gap in zip(ends, starts, strict=True)]
        one = _pick([r for r in between if r.size and campaign.is_useless(r)], rng)
        found += [] if one is None else [one]
    return tuple(found) or None


@_axiom("worst")
def _missing(_: AxiomCampaign, __: Rng) -> ResultList:
    """A judged topic of which the run returns nothing has the worst score there is, and is not left
    out.
    """
    return ()


@_axiom("ideal")
def _ideal(campaign: AxiomCampaign, _: Rng) -> ResultList | None:
    """A list of exactly the relevant passages, document by document, has the full score that the
    measure declares; where a document has one result, it is the first passage. Which elements are
    ideal is for a measure to decide, so that it does not apply to lists of elements.
    """
    if campaign.kind is ListKind.ELEMENTS:
        return None
    if campaign.kind is ListKind.ENTRIES:
        return tuple(ListedResult(doc, *spans[0]) for doc, spans in campaign.relevant.items())
    return campaign.passages


@_axiom("not better")
def _tail(campaign: AxiomCampaign, rng: Rng) -> ResultList | None:
    """A document without anything relevant is returned after all others. The score does not get
    better.
    """
    used = [result.doc for result in campaign.results]
    others = [campaign.whole(doc) for doc in drawn.TWINS.values() if doc not in used]
    return _pick([(*campaign.results, other) for other in others], rng)


@_axiom("not worse")
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


_BY_DESIGN = {
    "whatever is returned of a relevant document finds that document": (
        "touching: FBarticle gR gRw P R AP gen_document"
    ),
    "an entry point counts by its distance from the best one, whatever text lies there": (
        "touching: BEPD GR EPRUM EPRUMk PRUM"
    ),
    "a result is where a reader begins, who reads on past its end": (
        "touching: T2I T2IP T2IR T2IcharP T2IcharR"
    ),
    "the passage that a reader reaches first is the one that counts as found": "order: T2I",
    "with mode=first a reader stops at the first new relevant character, so each repeat adds one": (
        "duplicate split: T2IcharP T2IcharR"
    ),
    "it shows which documents were judged, not which are relevant": "touching document: judged",
}
REASONS = {
    (measure, axiom): reason
    for reason, (axioms, _, measures) in ((r, t.partition(": ")) for r, t in _BY_DESIGN.items())
    for measure in measures.split()
    for axiom in axioms.split()
}
"""Reasons why measures break axioms on purpose; every entry is tested.

A measure of another package declares its reasons as a class attribute ``axioms``.
"""


# -- verdicts ----------------------------------------------------------------------------------

HOLDS, FAILS, BY_DESIGN, NOT_APPLICABLE = "holds", "fails", "by design", "does not apply"
ALL = "all"
_TOLERANCE = 1e-9
_MOST_NAMED = 6  # measures in a sentence
_SIGNS = {HOLDS: "yes", FAILS: "NO", BY_DESIGN: "(no)", NOT_APPLICABLE: "-"}


class AxiomVerdict(NamedTuple):
    """The verdict of one axiom on one measure; a row of the result.

    The last five fields are the smallest campaign found that breaks the axiom: its relevant text,
    the list before and after the change, and both scores.
    """

    measure: str
    axiom: str
    verdict: str
    campaigns: int = 0
    """Number of campaigns it was tested on."""
    reason: str | None = None
    """The reason why it does not apply, is meant to fail, or holds by refusal of lists."""
    relevant: str | None = None
    list: str | None = None
    score: float | None = None
    changed_list: str | None = None
    changed_score: float | None = None


@dataclass(frozen=True, eq=False, repr=False)
class Axioms(Result):
    """The verdicts on some measures; made by `axioms`."""

    measures: tuple[str, ...]
    verdicts: tuple[AxiomVerdict, ...]
    """Measure by measure, in the order of `AXIOMS`."""
    unsound: Mapping[str, str]
    """Measure to its declared defect."""
    meta: Mapping[str, Any]

    def __getitem__(self, key: tuple[str, str]) -> AxiomVerdict:
        return {(verdict.measure, verdict.axiom): verdict for verdict in self.verdicts}[key]

    @property
    def failed(self) -> tuple[AxiomVerdict, ...]:
        """The failures that are not by design."""
        return tuple(verdict for verdict in self.verdicts if verdict.verdict == FAILS)

    def rows(self) -> Iterator[dict[str, Any]]:
        """Yield a row for each measure and axiom; missing values are None."""
        yield from (verdict._asdict() for verdict in self.verdicts)

    def parts(self) -> dict[str, Any]:
        """Return the axioms in words, declared defects and all verdicts."""
        return {
            "axioms": {axiom.name: axiom.words for axiom in AXIOMS},
            "unsound": self.unsound,
            "verdicts": list(self.rows()),
        }

    def summary(self) -> str:
        """Return which measures fail an axiom that they should satisfy."""
        failed = [f"{verdict.measure} ({verdict.axiom})" for verdict in self.failed]
        return f"Failed: {some(failed, _MOST_NAMED)}." if failed else "No axiom fails unexpectedly."

    def tables(self) -> list[Table]:
        """Return the verdicts, and the counterexamples if there are any."""
        tried = f"{counted(self.meta['campaigns'], 'campaign')} (seed {self.meta['seed']})"
        signs = "NO: fails; (no): fails by design; -: does not apply"
        reasons: dict[str, list[str]] = {}
        for measure, axiom, verdict, _, reason, *_ in self.verdicts:
            if verdict in (BY_DESIGN, NOT_APPLICABLE):
                reasons.setdefault(f"{_SIGNS[verdict]} {axiom}: {reason}", []).append(measure)
        notes = (
            f"yes: no counterexample among {tried}; {signs}.",
            *(f"{reason} [{some(names, _MOST_NAMED)}]." for reason, names in reasons.items()),
            *(f"{measure} is marked unsound: {why}." for measure, why in self.unsound.items()),
        )
        verdicts = Table(
            ("measure", *(axiom.name for axiom in AXIOMS)),
            tuple(
                (m, *(_SIGNS[v.verdict] for v in self.verdicts if v.measure == m))
                for m in self.measures
            ),
            labels=len(AXIOMS) + 1,
            title=f"Axioms: {counted(len(self.measures), 'measure')}",
            notes=notes,
            name="axioms",
        )
        counterexamples = Table(
            ("measure", "axiom", "relevant", "list", "score", "becomes", "score"),
            tuple(
                (
                    v.measure,
                    v.axiom,
                    *(f"{x:.4f}" if isinstance(x, float) else str(x) for x in v[5:]),
                )
                for v in self.verdicts
                if v.relevant is not None
            ),
            labels=4,
            title="Smallest counterexamples found",
            notes=("A:0-10 is the text of document A from offset 0 up to, and without, 10.",),
            name="counterexamples",
        )
        return [verdicts, counterexamples] if counterexamples.rows else [verdicts]


def axioms(
    measures: str | Measure | Sequence[str | Measure] = ALL, *, campaigns: int = 400, seed: int = 0
) -> Axioms:
    """Test measures for soundness.

    Parameters
    ----------
    measures : text or Python forms of measures
        ``all`` means every registered one, with rank 10 or recall 0.5 where a cut-off is needed. A
        measure need not be registered.
    campaigns : int
        Number of campaigns drawn for each kind of list.
    seed : int
        The same seed gives the same campaigns and verdicts.

    Examples
    --------
    >>> found = axioms("charR")
    >>> found["charR", "duplicate"].verdict, found["charR", "duplicate"].reason
    ('holds', 'such lists are refused')
    >>> found.failed
    ()
    """
    if campaigns < 1:
        raise UsageError(f"campaigns {campaigns}; expected a whole number from 1")
    chosen: dict[Measure, None] = {}
    for item in [measures] if isinstance(measures, (str, Measure)) else measures:
        if isinstance(item, Measure):
            chosen[item] = None
        elif item == ALL:
            for measure in all_measures():
                usual = "10" if measure.cutoff is Cutoff.RANK else "0.5"
                chosen[measure @ usual if measure.cutoff.required else measure] = None
        else:
            chosen |= dict.fromkeys(parse_measures(item))
    if not chosen:
        raise UsageError(f"no measure given; name measures (--measure), or {ALL} of them")
    found: dict[tuple[str, str], AxiomVerdict] = {}
    for kind in ListKind:
        own = [measure for measure in chosen if ListKind.of(measure) is kind]
        if not own:
            continue
        lab = drawn.AxiomCampaigns(kind, campaigns, seed)
        before = lab.score([campaign.results for campaign in lab.campaigns], own)
        for number, axiom in enumerate(AXIOMS):
            rng = np.random.default_rng([seed, number])
            changed = [axiom.change(campaign, rng) for campaign in lab.campaigns]
            reasons = {m: _explain_exemption(axiom, m, before[m]) for m in own}
            applicable = [measure for measure, reason in reasons.items() if not reason]
            after = lab.score(changed, applicable) if applicable else {}
            for measure, reason in reasons.items():
                verdict = AxiomVerdict(measure.label, axiom.name, NOT_APPLICABLE, reason=reason)
                if not reason:
                    verdict = _judge(axiom, measure, lab, changed, before[measure], after[measure])
                found[measure.label, axiom.name] = verdict
    return Axioms(
        tuple(measure.label for measure in chosen),
        tuple(found[measure.label, axiom.name] for measure in chosen for axiom in AXIOMS),
        {m.label: m.unsound for m in chosen if m.unsound},
        {"version": __version__, "campaigns": campaigns, "seed": seed},
    )


def _explain_exemption(axiom: Axiom, measure: Measure, scores: Floats | str) -> str:
    """Return why an axiom does not apply to a measure; empty if it does."""
    if isinstance(scores, str):  # the measure needs data that no campaign here has
        return scores
    if axiom.expected == "within" and measure.range[1] is None and measure.ideal is None:
        return "declares no upper end and no full score"
    if axiom.expected != "within" and measure.higher_is_better is None:
        return "counts something: neither more nor less of it is better"
    if axiom.expected == "ideal" and measure.ideal is None:
        return "declares no full score: it depends"
    if axiom.expected not in ("within", "same") and not measure.higher_is_better:
        return "measures how much a run repeats itself or reads, not what it finds"
    return ""


def _judge(
    axiom: Axiom,
    measure: Measure,
    lab: drawn.AxiomCampaigns,
    changed: Sequence[ResultList | None],
    before: Any,
    after: Floats | str,
) -> AxiomVerdict:
    """Judge a measure by its scores before and after the change."""
    verdict = AxiomVerdict(measure.label, axiom.name, NOT_APPLICABLE)
    if isinstance(after, str):
        if not axiom.refusing:
            return verdict._replace(reason=after)
        tried = sum(results is not None for results in changed)
        return verdict._replace(verdict=HOLDS, campaigns=tried, reason="such lists are refused")
    # A list that has grown must still fit a rank cut-off.
    has_rank = measure.at is not None and not measure.cutoff.of_recall
    most = int(measure.at or 0) if has_rank else math.inf
    pairs = zip(lab.campaigns, changed, strict=True)
    seen = np.array([r is not None and len(r) <= max(len(c.results), most) for c, r in pairs])
    is_compared = axiom.expected in ("not better", "not worse", "same")
    if is_compared:
        seen &= ~np.isnan(before)
    if not seen.any():
        return verdict._replace(reason="no list of its kind or length can be changed so")
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
    verdict = verdict._replace(verdict=HOLDS, campaigns=int(seen.sum()))
    broken = np.flatnonzero(seen & ~kept).tolist()
    if not broken:
        return verdict
    at = min(broken, key=lambda i: lab.campaigns[i].weight)
    campaign, results = lab.campaigns[at], changed[at] or ()
    relevant, listed, becomes = (
        " ".join(map(str, shown)) or "nothing"
        for shown in (campaign.passages, campaign.results if is_compared else results, results)
    )
    reason = measure.axioms.get(axiom.name) or REASONS.get((measure.name, axiom.name))
    return verdict._replace(
        verdict=BY_DESIGN if reason else FAILS,
        reason=reason,
        relevant=relevant,
        list=listed,
        changed_list=becomes,
        score=float((before if is_compared else after)[at]),
        changed_score=float(after[at]),
    )
