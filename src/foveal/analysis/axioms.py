"""Axioms: soundness tests that any measure of focused retrieval should pass.

An axiom changes a list of results in a way whose effect is known, and defines what the score may
do then. Each is tested on several hundred small campaigns drawn with a fixed seed
(`foveal.analysis.axiom_campaigns`). A verdict is evidence: an axiom holds if no campaign breaks it;
if it fails, the smallest campaign found that breaks it is shown.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from itertools import pairwise
from typing import Any

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
    show_list,
)
from foveal.errors import UsageError, counted, some
from foveal.measures import Cutoff, Measure, all_measures, find_measure, parse_measures
from foveal.model.result_object import Result
from foveal.model.tables import Table

__all__ = [
    "AXIOMS",
    "REASONS",
    "Axiom",
    "AxiomOutcome",
    "AxiomVerdict",
    "Axioms",
    "Counterexample",
    "axioms",
]

Floats = npt.NDArray[np.float64]
Rng = np.random.Generator
ResultList = tuple[ListedResult, ...]
Change = Callable[[AxiomCampaign, ListKind, Rng], ResultList | None]

_TOLERANCE = 1e-9
_CAMPAIGNS = 400
_RANK, _LEVEL = "10", "0.5"
"""Cut-offs of measures given without a required one; no list here is longer than the rank."""
_COUNT = "counts something: neither more nor less of it is better"
_REPETITION = "tells how much a run repeats itself or reads, not what it finds"
REFUSED = "such lists are refused"
ALL = "all"


class Expectation(Enum):
    """The allowed effect on the score."""

    WITHIN = "stays within the range"
    NOT_BETTER = "does not get better"
    NOT_WORSE = "does not get worse"
    SAME = "stays the same"
    WORST = "is the worst there is"
    IDEAL = "is full"


@dataclass(frozen=True)
class Axiom:
    """A property that a measure should have.

    Parameters
    ----------
    name : str
    title : str
        In a few words.
    words : str
        The exact definition.
    expected : Expectation
    change : callable
        Returns the changed results of a campaign; None if it cannot be tested on them.
    refusing : bool
        True if a measure may refuse the changed list instead.
    no : mapping of ListKind to str
        Kinds of lists that it does not apply to, and the reasons.
    """

    name: str
    title: str
    words: str
    expected: Expectation
    change: Change
    refusing: bool = False
    no: Mapping[ListKind, str] | None = None


_COMPARED = (Expectation.NOT_BETTER, Expectation.NOT_WORSE, Expectation.SAME)
"""Expectations about the change of a score."""

# -- changes -----------------------------------------------------------------------------------


def _crowd(campaign: AxiomCampaign, kind: ListKind, rng: Rng) -> ResultList:
    """Return every result twice, and one that overlaps it."""
    found: list[ListedResult] = []
    for result in campaign.results:
        found += [result, result]
        if kind is ListKind.ELEMENTS:
            found.append(ListedResult(result.doc, *TREES[result.doc]["/a[1]"], "/a[1]"))
        else:
            start = int(rng.integers(0, result.end))
            found.append(ListedResult(result.doc, start, LENGTHS[result.doc]))
    return tuple(found)


def _pick(places: Sequence[int], rng: Rng) -> int | None:
    return int(rng.choice(places)) if len(places) else None


def _repeat(campaign: AxiomCampaign, _: ListKind, rng: Rng) -> ResultList | None:
    at = _pick(range(len(campaign.results)), rng)
    if at is None:
        return None
    results = campaign.results
    return (*results[: at + 1], results[at], *results[at + 1 :])


def _split(campaign: AxiomCampaign, _: ListKind, rng: Rng) -> ResultList | None:
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
    halves = (cut._replace(end=middle), cut._replace(start=middle))
    return (*results[:at], *halves, *results[at + 1 :])


def _swap(results: ResultList, at: int) -> ResultList:
    return (*results[:at], results[at + 1], results[at], *results[at + 2 :])


def _reorder(campaign: AxiomCampaign, kind: ListKind, rng: Rng) -> ResultList | None:
    def alike(a: ListedResult, b: ListedResult) -> bool:
        if kind is ListKind.GROUPED or a.doc != b.doc:
            return a.doc == b.doc
        equal = a.size == b.size and campaign.worth(a) == campaign.worth(b)
        tests = (campaign.is_relevant, campaign.is_useless)
        return equal and any(test(a) and test(b) for test in tests)

    results = campaign.results
    at = _pick([i for i, (a, b) in enumerate(pairwise(results)) if alike(a, b)], rng)
    return None if at is None else _swap(results, at)


def _move_elsewhere(campaign: AxiomCampaign, _: ListKind, __: Rng) -> ResultList:
    """Move results of documents with relevant text to the documents of the same length."""
    return tuple(r._replace(doc=TWINS[r.doc]) for r in campaign.results if r.doc in TWINS)


def _return_neighbours(campaign: AxiomCampaign, kind: ListKind, rng: Rng) -> ResultList | None:
    found: list[ListedResult] = []
    for doc, spans in campaign.relevant.items():
        ends = {end for _, end in spans} | {0}
        starts = {start for start, _ in spans} | {LENGTHS[doc]}
        between = [
            ListedResult(doc, end, min(s for s in starts if s >= end))
            for end in sorted(ends)
            if any(s >= end for s in starts)
        ]
        if kind is ListKind.ELEMENTS:
            between = [ListedResult(doc, *place, path) for path, place in TREES[doc].items()]
        free = [r for r in between if r.size and campaign.is_useless(r)]
        at = _pick(range(len(free)), rng)
        found += [] if at is None else [free[at]]
    return tuple(found) or None


def _return_ideal(campaign: AxiomCampaign, kind: ListKind, _: Rng) -> ResultList:
    if kind is ListKind.ENTRIES:
        return tuple(ListedResult(doc, *spans[0]) for doc, spans in campaign.relevant.items())
    return tuple(ListedResult(d, s, e) for d, spans in campaign.relevant.items() for s, e in spans)


def _append_useless(campaign: AxiomCampaign, kind: ListKind, rng: Rng) -> ResultList | None:
    free = [d for d in TWINS.values() if all(r.doc != d for r in campaign.results)]
    at = _pick(range(len(free)), rng)
    if at is None:
        return None
    doc = free[at]
    xpath = "/a[1]" if kind is ListKind.ELEMENTS else None
    return (*campaign.results, ListedResult(doc, 0, LENGTHS[doc], xpath))


def _promote(campaign: AxiomCampaign, kind: ListKind, rng: Rng) -> ResultList | None:
    results = campaign.results
    often = [sum(r.doc == other.doc for other in results) for r in results]
    at = _pick(
        [
            i
            for i, (a, b) in enumerate(pairwise(results))
            if a.doc not in campaign.relevant
            and campaign.is_relevant(b)
            and (kind is not ListKind.GROUPED or often[i] == often[i + 1] == 1)
        ],
        rng,
    )
    return None if at is None else _swap(results, at)


_UNCUT = {
    ListKind.ELEMENTS: "an element cannot be cut in two",
    ListKind.ENTRIES: "a document has one result",
}
AXIOMS = (
    Axiom(
        "bounded",
        "scores stay within the range",
        "Whatever a list returns, overlapping text and repeats included, its score lies within the "
        "range that the measure declares, or the list is refused. Where no upper end is declared, "
        "it is the full score; where there is none either, the axiom does not apply.",
        Expectation.WITHIN,
        _crowd,
        refusing=True,
    ),
    Axiom(
        "duplicate",
        "a repeat adds nothing",
        "A result that stands in the list twice, right after itself, does not make the score "
        "better; or the list is refused.",
        Expectation.NOT_BETTER,
        _repeat,
        refusing=True,
    ),
    Axiom(
        "split",
        "cutting in two does not pay",
        "A result that is relevant throughout, or nowhere, is cut into two that stand one after "
        "the other with nothing between them. The score does not get better; it may get worse "
        "where ranks count, since the halves take two. Text that is relevant in part is not cut: "
        "to return its relevant half first is a better list. Lists that grow beyond a rank cut-off "
        "are not looked at.",
        Expectation.NOT_BETTER,
        _split,
        no=_UNCUT,
    ),
    Axiom(
        "order",
        "order within a document",
        "Two results of one document that stand side by side change places. Where results of a "
        "document stand together by rule, the score stays the same; in other lists it stays the "
        "same if both are of one size and relevant throughout, or nowhere, and assessed alike.",
        Expectation.SAME,
        _reorder,
        no={ListKind.ENTRIES: "a document has one result"},
    ),
    Axiom(
        "document",
        "documents are kept apart",
        "Every result is moved to the same offsets of another document, one without anything "
        "relevant. The score is the worst there is.",
        Expectation.WORST,
        _move_elsewhere,
    ),
    Axiom(
        "touching",
        "touching is not overlapping",
        "All results lie between the relevant passages of relevant documents, from the end of one "
        "to the start of the next or to an end of the document, and share no character with them; "
        "of elements, they hold nothing relevant. The score is the worst there is.",
        Expectation.WORST,
        _return_neighbours,
    ),
    Axiom(
        "missing",
        "a missing topic is zero",
        "A judged topic of which the run returns nothing has the worst score there is, and is not "
        "left out.",
        Expectation.WORST,
        lambda _campaign, _kind, _rng: (),
    ),
    Axiom(
        "ideal",
        "ideal is one",
        "A list of exactly the relevant passages, document by document, has the full score that "
        "the measure declares; where a document has one result, it is the first passage.",
        Expectation.IDEAL,
        _return_ideal,
        no={ListKind.ELEMENTS: "which elements are ideal is for the measure to say"},
    ),
    Axiom(
        "tail",
        "a useless result at the end",
        "A document without anything relevant is returned after all others. The score does not get "
        "better.",
        Expectation.NOT_BETTER,
        _append_useless,
    ),
    Axiom(
        "swap",
        "better results first",
        "A result of a document without anything relevant stands right before one that is relevant "
        "throughout; they change places. The score does not get worse. Where results of a document "
        "stand together, both are the only ones of their documents.",
        Expectation.NOT_WORSE,
        _promote,
    ),
)
"""The axioms in their order."""

_OF_DOCUMENTS = "whatever is returned of a relevant document finds that document"
_NEAR = "an entry point counts by its distance from the best one, whatever text lies there"
_READS_ON = "a result is where a reader begins, who reads on past its end"
_STOPS = (
    "with mode=first the reader stops at the first relevant character that is new, so that each "
    "further result of a passage, a repeat too, brings one more"
)
_JUDGED = "tells which documents were judged, not which are relevant"

REASONS: Mapping[str, Mapping[str, str]] = {
    **{
        name: {"touching": _OF_DOCUMENTS}
        for name in ("FBarticle", "gR", "gRw", "P", "R", "AP", "gen_document")
    },
    **{name: {"touching": _NEAR} for name in ("BEPD", "GR", "EPRUM", "EPRUMk", "PRUM")},
    "T2I": {
        "touching": _READS_ON,
        "order": "the passage that a reader reaches first is the one that counts as found there",
    },
    **{name: {"touching": _READS_ON} for name in ("T2IP", "T2IR")},
    **{
        name: {"touching": _READS_ON, "duplicate": _STOPS, "split": _STOPS}
        for name in ("T2IcharP", "T2IcharR")
    },
    "judged": {"touching": _JUDGED, "document": _JUDGED},
}
"""Measure to axiom to the reason why it is broken on purpose; every entry is tested.

A measure of another package declares its reasons as a class attribute ``axioms``.
"""


# -- verdicts ----------------------------------------------------------------------------------


class AxiomOutcome(Enum):
    """The outcome of an axiom for a measure."""

    HOLDS = "holds"
    FAILS = "fails"
    INTENDED = "by design"
    NOT_APPLICABLE = "does not apply"


AXIOM_TABLES = ("verdicts", "counterexamples", "axioms")
_MOST_NAMED = 6  # measures in a sentence
_SIGNS = {
    AxiomOutcome.HOLDS: "yes",
    AxiomOutcome.FAILS: "NO",
    AxiomOutcome.INTENDED: "(no)",
    AxiomOutcome.NOT_APPLICABLE: "-",
}


@dataclass(frozen=True)
class Counterexample:
    """A campaign that breaks an axiom: relevant text, list before and after, both scores."""

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
class AxiomVerdict:
    """The verdict of one axiom on one measure.

    Parameters
    ----------
    measure, axiom : str
    outcome : AxiomOutcome
    campaigns : int
        Number of campaigns it was tested on.
    reason : str
        The reason why it does not apply, is meant to fail, or holds by refusal of lists.
    counterexample : Counterexample, optional
    """

    measure: str
    axiom: str
    outcome: AxiomOutcome
    campaigns: int = 0
    reason: str = ""
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

    def of(self, measure: str) -> tuple[AxiomVerdict, ...]:
        """Return the verdicts on one measure, in the order of `AXIOMS`."""
        return tuple(verdict for verdict in self.verdicts if verdict.measure == measure)

    @property
    def failed(self) -> tuple[AxiomVerdict, ...]:
        """The failures that are not by design."""
        return tuple(v for v in self.verdicts if v.outcome is AxiomOutcome.FAILS)

    def rows(self) -> Iterator[dict[str, Any]]:
        """Yield a row for each measure and axiom; missing values are None."""
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
        """Return a row for each measure and axiom."""
        words = ("reason", "relevant", "list", "changed_list")
        types: dict[str, Any] = dict.fromkeys(words, pl.String)
        types |= dict.fromkeys(("score", "changed_score"), pl.Float64)
        return pl.DataFrame(list(self.rows()), schema_overrides=types, infer_schema_length=None)

    def parts(self) -> dict[str, Any]:
        """Return the axioms in words, declared defects and all verdicts."""
        return {
            "axioms": {axiom.name: axiom.words for axiom in AXIOMS},
            "unsound": self.unsound,
            "verdicts": list(self.rows()),
        }

    def summary(self) -> str:
        """Return which measures fail an axiom that they should satisfy."""
        if not self.failed:
            meant = {v.measure for v in self.verdicts if v.outcome is AxiomOutcome.INTENDED}
            names = some(self.measures, _MOST_NAMED)
            if meant:
                return f"No axiom fails, except by design of {some(sorted(meant), _MOST_NAMED)}."
            verb = "satisfies" if len(self.measures) == 1 else "satisfy"
            return f"{names} {verb} every axiom that applies."
        failed = list(dict.fromkeys(f"{v.measure} ({v.axiom})" for v in self.failed))
        return f"Failed: {some(failed, _MOST_NAMED)}."

    def tables(self, show: Sequence[str] = ()) -> list[Table]:
        """Return the tables of `AXIOM_TABLES` that `show` names."""
        for name in show:
            if name not in AXIOM_TABLES:
                raise UsageError(f"no table {name!r}; expected {' or '.join(AXIOM_TABLES)}")
        broken = [verdict for verdict in self.verdicts if verdict.counterexample is not None]
        show = show or ("verdicts", *(["counterexamples"] if broken else []))
        tables = []
        if "verdicts" in show:
            tables.append(self._tabulate_verdicts())
        if "counterexamples" in show:
            tables.append(_tabulate_counterexamples(broken))
        if "axioms" in show:
            rows = tuple((axiom.name, axiom.title, axiom.words) for axiom in AXIOMS)
            header = ("axiom", "in short", "definition")
            tables.append(Table(header, rows, labels=3, title="The axioms", name="words"))
        return tables

    def _tabulate_verdicts(self) -> Table:
        """Return measures by axioms, with the reasons below."""
        rows = tuple(
            (measure, *(_SIGNS[verdict.outcome] for verdict in self.of(measure)))
            for measure in self.measures
        )
        tried = f"{counted(self.campaigns, 'campaign')} (seed {self.seed})"
        signs = f"yes: no counterexample among {tried}; NO: fails; (no): fails by design"
        notes = (
            f"{signs}; -: does not apply.",
            *self._list_reasons(AxiomOutcome.INTENDED),
            *self._list_reasons(AxiomOutcome.NOT_APPLICABLE),
            *(f"{measure} is marked unsound: {why}." for measure, why in self.unsound.items()),
        )
        return Table(
            ("measure", *(axiom.name for axiom in AXIOMS)),
            rows,
            labels=len(AXIOMS) + 1,
            title=f"Axioms: {counted(len(self.measures), 'measure')}",
            notes=notes,
            name="axioms",
        )

    def _list_reasons(self, outcome: AxiomOutcome) -> list[str]:
        """Return each reason once, with its axioms and measures."""
        alike: dict[str, list[AxiomVerdict]] = {}
        for verdict in self.verdicts:
            if verdict.outcome is outcome:
                alike.setdefault(verdict.reason, []).append(verdict)
        return [
            f"{_SIGNS[outcome]} {', '.join(dict.fromkeys(v.axiom for v in verdicts))}: {reason} "
            f"[{some(list(dict.fromkeys(v.measure for v in verdicts)), _MOST_NAMED)}]."
            for reason, verdicts in alike.items()
        ]


def _tabulate_counterexamples(broken: Sequence[AxiomVerdict]) -> Table:
    """Return the smallest campaign found for everything that fails."""
    rows = []
    for verdict in broken:
        example = verdict.counterexample
        assert example is not None  # the caller chose these
        is_compared = example.before != example.after
        rows.append(
            (
                verdict.measure,
                verdict.axiom,
                example.judged,
                example.before if is_compared else "",
                f"{example.score:.4f}" if is_compared else "",
                example.after,
                f"{example.changed:.4f}",
            )
        )
    return Table(
        ("measure", "axiom", "relevant", "list", "score", "becomes", "score"),
        tuple(rows),
        labels=4,
        title="Smallest counterexamples found",
        notes=("A:0-10 is the text of document A from offset 0 up to, and without, 10.",),
        name="counterexamples",
    )


def axioms(
    measures: str | Measure | Sequence[str | Measure] = ALL,
    *,
    campaigns: int = _CAMPAIGNS,
    seed: int = 0,
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
    chosen = _choose_measures([measures] if isinstance(measures, (str, Measure)) else measures)
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


def _choose_measures(given: Sequence[str | Measure]) -> tuple[Measure, ...]:
    """Return the measures in order, each once and with a cut-off if it needs one."""

    def usual(measure: Measure) -> str:
        return _RANK if measure.cutoff is Cutoff.RANK else _LEVEL

    found: list[Measure] = []
    for item in given:
        if item == ALL:
            found += all_measures()
        elif isinstance(item, str):
            # The text may lack a required cut-off.
            bare = find_measure(item.partition("(")[0].strip()) if "@" not in item else None
            lacking = bare is not None and bare.cutoff.required
            found += parse_measures(f"{item}@{usual(bare)}" if bare and lacking else item)
        else:
            found.append(item)
    if not found:
        raise UsageError(f"no measure given; name measures (--measure), or {ALL} of them")
    return tuple(
        dict.fromkeys(m @ usual(m) if m.at is None and m.cutoff.required else m for m in found)
    )


def _test_measures(
    measures: list[Measure], lab: AxiomCampaigns, seed: int
) -> Iterator[AxiomVerdict]:
    """Yield the verdict of every axiom on measures that take lists of one kind."""
    before = lab.score(lab.make_run([campaign.results for campaign in lab.campaigns]), measures)
    usable = {m: values for m, values in before.items() if not isinstance(values, str)}
    for measure, refusal in before.items():
        if isinstance(refusal, str):  # the measure needs data that no campaign here has
            for axiom in AXIOMS:
                yield _not_applicable(measure, axiom, _shorten(refusal))
    for number, axiom in enumerate(AXIOMS):
        reasons = {measure: _explain_refusal(axiom, measure, lab.kind) for measure in usable}
        for measure, reason in reasons.items():
            if reason:
                yield _not_applicable(measure, axiom, reason)
        left = [measure for measure, reason in reasons.items() if not reason]
        if not left:
            continue
        rng = np.random.default_rng([seed, number])
        after = [axiom.change(c, lab.kind, rng) for c in lab.campaigns]
        changed = lab.score(lab.make_run(after), left)
        for measure in left:
            yield _judge(axiom, measure, lab, after, usable[measure], changed[measure])


def _not_applicable(measure: Measure, axiom: Axiom, reason: str) -> AxiomVerdict:
    return AxiomVerdict(measure.label, axiom.name, AxiomOutcome.NOT_APPLICABLE, reason=reason)


def _explain_refusal(axiom: Axiom, measure: Measure, kind: ListKind) -> str:
    """Return why an axiom does not apply to a measure; empty if it does."""
    if axiom.no and kind in axiom.no:
        return axiom.no[kind]
    if axiom.expected is Expectation.WITHIN:
        endless = measure.range[1] is None and measure.ideal is None
        return "declares no upper end and no full score" if endless else ""
    if measure.higher_is_better is None:
        return _COUNT
    if axiom.expected is Expectation.IDEAL and measure.ideal is None:
        return "declares no full score: it depends"
    if axiom.expected is not Expectation.SAME and not measure.higher_is_better:
        return _REPETITION
    return ""


def _judge(
    axiom: Axiom,
    measure: Measure,
    lab: AxiomCampaigns,
    after: Sequence[ResultList | None],
    before_scores: Floats,
    after_scores: Floats | str,
) -> AxiomVerdict:
    """Judge a measure by its scores before and after the change."""
    if isinstance(after_scores, str):
        if axiom.refusing:
            tried = sum(results is not None for results in after)
            return AxiomVerdict(measure.label, axiom.name, AxiomOutcome.HOLDS, tried, REFUSED)
        return _not_applicable(measure, axiom, _shorten(after_scores))
    # A list that has grown must still fit a rank cut-off.
    by_rank = measure.cutoff in (Cutoff.RANK, Cutoff.RANK_OPTIONAL) and measure.at is not None
    most = int(measure.at or 0) if by_rank else math.inf
    pairs = list(zip(lab.campaigns, after, strict=True))
    seen = np.array([r is not None and len(r) <= max(len(c.results), most) for c, r in pairs])
    compared = axiom.expected in _COMPARED
    if compared:
        seen &= ~np.isnan(before_scores)
    if not seen.any():
        return _not_applicable(measure, axiom, "no list fits its cut-off")
    kept = _meets_expectation(axiom.expected, measure, before_scores, after_scores)
    broken = np.flatnonzero(seen & ~kept)
    tried = int(seen.sum())
    if not len(broken):
        return AxiomVerdict(measure.label, axiom.name, AxiomOutcome.HOLDS, tried)
    at = min(broken.tolist(), key=lambda i: lab.campaigns[i].weight)
    campaign, changed = lab.campaigns[at], after[at] or ()
    example = Counterexample(
        campaign.judged,
        show_list(campaign.results if compared else changed),
        show_list(changed),
        float((before_scores if compared else after_scores)[at]),
        float(after_scores[at]),
    )
    reason = measure.axioms.get(axiom.name) or REASONS.get(measure.name, {}).get(axiom.name, "")
    outcome = AxiomOutcome.INTENDED if reason else AxiomOutcome.FAILS
    return AxiomVerdict(measure.label, axiom.name, outcome, tried, reason, example)


def _meets_expectation(
    expected: Expectation, measure: Measure, before: Floats, after: Floats
) -> npt.NDArray[np.bool_]:
    """Return True for each score that does what the axiom allows; undefined ones do not."""
    low, high = measure.range
    sign = 1.0 if measure.higher_is_better in (True, None) else -1.0
    gain = sign * (after - before)
    with np.errstate(invalid="ignore"):
        if expected is Expectation.WITHIN:
            top = measure.ideal if high is None else high
            assert top is not None  # else it does not apply
            return np.isnan(after) | ((after >= low - _TOLERANCE) & (after <= top + _TOLERANCE))
        if expected is Expectation.NOT_BETTER:
            return np.asarray(gain <= _TOLERANCE)
        if expected is Expectation.NOT_WORSE:
            return np.asarray(gain >= -_TOLERANCE)
        if expected is Expectation.SAME:
            return np.asarray(np.abs(gain) <= _TOLERANCE)
        wanted = low if expected is Expectation.WORST else float(measure.ideal or 0.0)
        return np.asarray(np.abs(after - wanted) <= _TOLERANCE)


def _shorten(message: str) -> str:
    """Drop the advice of a message."""
    return message.partition(" (--")[0].partition("; it takes ")[0]
