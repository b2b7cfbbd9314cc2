"""Axioms: soundness tests that any measure of focused retrieval should pass.

An axiom changes a list of results in a way whose effect is known, and defines what the score may
do then. Each is tested on several hundred small campaigns drawn with a fixed seed. A campaign is
one topic: the relevant text of three short documents, and a list of results. Three more documents,
each as long as one of these, hold nothing relevant. A verdict is evidence: an axiom holds if no
campaign breaks it; if it fails, the smallest campaign found that breaks it is shown.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import pairwise
from typing import Any, NamedTuple, TypeVar

import numpy as np
import polars as pl

from foveal._version import __version__
from foveal.errors import InputError, UsageError, plural, shorten_list
from foveal.evaluation.evaluation import score_measures
from foveal.evaluation.preparation import Options, align_run
from foveal.measures import Cutoff, Measure, OverlapRule, all_measures, parse_measures
from foveal.measures.alignment import Gold
from foveal.model import Judgements, Run
from foveal.model.result_object import Result
from foveal.model.tables import Table, format_cell
from foveal.recall import Forest
from foveal.spans import Floats

Rng = np.random.Generator
Span = tuple[int, int]
T = TypeVar("T")

# -- campaigns ---------------------------------------------------------------------------------

_ELEMENTS = {
    "A X": "/a[1]:0-40 /a[1]/s[1]:0-20 /a[1]/s[1]/p[1]:0-10 /a[1]/s[1]/p[2]:10-20 "
    "/a[1]/s[2]:20-40 /a[1]/s[2]/p[1]:20-30 /a[1]/s[2]/p[2]:30-40",
    "B Y": "/a[1]:0-30 /a[1]/s[1]:0-20 /a[1]/s[1]/p[1]:0-10 /a[1]/s[1]/p[2]:10-20 /a[1]/p[1]:20-30",
    "C Z": "/a[1]:0-20 /a[1]/p[1]:0-10 /a[1]/p[2]:10-20",
}
"""The elements of each pair of documents; the second holds nothing relevant."""
TWINS: dict[str, str] = dict(pair.split() for pair in _ELEMENTS)
"""Document to one of the same length that holds nothing relevant."""
TREES: dict[str, dict[str, Span]] = {
    pair.split()[side]: {
        path: (int(start), int(end))
        for path, _, place in (text.partition(":") for text in elements.split())
        for start, _, end in [place.partition("-")]
    }
    for side in (0, 1)
    for pair, elements in _ELEMENTS.items()
}
"""The spans of the elements of each document."""
LENGTHS = {doc: tree["/a[1]"][1] for doc, tree in TREES.items()}
_STEP = 5
"""Drawn offsets are multiples of this, which keeps examples readable and lets spans touch."""


class ListKind(Enum):
    """The kind of list that a measure takes."""

    PASSAGES = "passages in any order"
    GROUPED = "passages, those of a document together"
    ENTRIES = "one result of each document"
    ELEMENTS = "elements"

    @classmethod
    def choose(cls, measure: Measure) -> ListKind:
        if measure.structural:
            return cls.ELEMENTS
        if measure.overlap_rule is OverlapRule.ONE_PER_DOCUMENT:
            return cls.ENTRIES
        return cls.GROUPED if measure.grouped else cls.PASSAGES


class ListedResult(NamedTuple):
    """A passage of a document, printed as ``A:0-10``, or one of its elements, ``C:/a[1]``."""

    doc: str
    start: int
    end: int
    xpath: str | None = None

    def __str__(self) -> str:
        return f"{self.doc}:{self.xpath or f'{self.start}-{self.end}'}"

    @property
    def size(self) -> int:
        return self.end - self.start

    def overlaps(self, other: ListedResult) -> bool:
        return self.doc == other.doc and self.start < other.end and other.start < self.end

    def cut(self, middle: int) -> tuple[ListedResult, ListedResult]:
        return self._replace(end=middle), self._replace(start=middle)


ResultList = tuple[ListedResult, ...]


class AxiomCampaign(NamedTuple):
    """One topic: its relevant passages by document, exhaustivity by element, a list of results."""

    kind: ListKind
    relevant: Mapping[str, Sequence[Span]]
    exhaustivity: Mapping[tuple[str, str], int]
    results: ResultList

    def rsize(self, result: ListedResult) -> int:
        """Count the relevant characters of a result."""
        spans = self.relevant.get(result.doc, ())
        return sum(max(0, min(e, result.end) - max(s, result.start)) for s, e in spans)

    def is_relevant(self, result: ListedResult) -> bool:
        return self.rsize(result) == result.size

    def is_useless(self, result: ListedResult) -> bool:
        return self.rsize(result) == 0

    @property
    def passages(self) -> ResultList:
        """The relevant passages."""
        return tuple(ListedResult(d, s, e) for d, spans in self.relevant.items() for s, e in spans)

    def make_whole(self, doc: str) -> ListedResult:
        """Return a whole document as a list of this kind has it."""
        path = "/a[1]" if self.kind is ListKind.ELEMENTS else None
        return ListedResult(doc, 0, LENGTHS[doc], path)

    @property
    def weight(self) -> tuple[int, int, int]:
        """The amount of text; the counterexample shown is the lightest."""
        text = sum(part.size for part in (*self.passages, *self.results))
        return len(self.results), len(self.passages), text


def draw_campaigns(kind: ListKind, number: int, seed: int) -> list[AxiomCampaign]:
    """Draw campaigns of a kind, the same for the same seed."""
    rng = np.random.default_rng(seed)
    return [_draw_campaign(kind, 1 + i % 5, rng) for i in range(number)]


def _draw_campaign(kind: ListKind, most: int, rng: Rng) -> AxiomCampaign:
    docs = sorted(rng.permutation(list(TWINS))[: int(rng.integers(1, 4))].tolist())
    relevant: dict[str, list[Span]] = {}
    for doc in docs:  # one or two passages with a gap between them
        ends = rng.choice(np.arange(LENGTHS[doc] // _STEP + 1), 4, replace=False) * _STEP
        a, b, c, d = np.sort(ends).tolist()
        relevant[doc] = [(a, b), (c, d)] if rng.random() < 0.5 else [(a, b)]
    bare = AxiomCampaign(kind, relevant, {}, ())
    found: list[ListedResult] = []
    for _ in range(most):
        for part in _draw_results(bare, rng):
            if not any(part.overlaps(other) for other in found):
                found.append(part)
    found = found[:most]
    # Exhaustivity 1 or 2 of elements with relevant text, at least that of their parts.
    grades: dict[tuple[str, str], int] = {}
    for doc in relevant:
        for path, place in reversed(TREES[doc].items()):
            if bare.rsize(ListedResult(doc, *place)):
                inside = [g for (d, p), g in grades.items() if d == doc and p.startswith(path)]
                grades[doc, path] = max([int(rng.integers(1, 3)), *inside])
    order = [result.doc for result in found]
    if kind is ListKind.ENTRIES:
        found = [result for i, result in enumerate(found) if result.doc not in order[:i]]
    elif kind is ListKind.GROUPED:
        found.sort(key=lambda result: order.index(result.doc))
    return bare._replace(exhaustivity=grades, results=tuple(found))


def _draw_results(campaign: AxiomCampaign, rng: Rng) -> Sequence[ListedResult]:
    """Draw a result, mostly of a relevant document, and there often a part of the relevant text.

    With it may come a neighbour that makes a rare case of an axiom, such as two equal parts.
    """
    relevant = campaign.relevant
    doc = str(rng.choice(list(relevant if rng.random() < 0.6 else LENGTHS)))
    if campaign.kind is ListKind.ELEMENTS:
        path = str(rng.choice(list(TREES[doc])))
        result = ListedResult(doc, *TREES[doc][path], path)
    else:
        low, high, is_passage = 0, LENGTHS[doc], False
        if doc in relevant and rng.random() < 0.6:
            low, high = relevant[doc][int(rng.integers(len(relevant[doc])))]
            is_passage = rng.random() < 0.5
        if not is_passage:
            offsets = np.arange(low // _STEP, high // _STEP + 1)
            low, high = (np.sort(rng.choice(offsets, 2, replace=False)) * _STEP).tolist()
        result = ListedResult(doc, low, high)
    way = rng.random()
    if way < 0.3 and campaign.is_relevant(result):
        return result._replace(doc=TWINS[doc]), result
    if way < 0.6 and result.xpath is None and result.size % (2 * _STEP) == 0:
        return result.cut(result.start + result.size // 2)
    if way < 0.6 and result.xpath is not None:
        inside = [path for path in TREES[doc] if path.rpartition("/")[0] == result.xpath]
        if len(inside) > 1:
            return [ListedResult(doc, *TREES[doc][path], path) for path in inside]
    return (result,)


_OTHER = "other"
"""An extra topic, so that a run always has results."""


class AxiomCampaigns:
    """Campaigns of one kind, with judgements prepared to score lists of results."""

    def __init__(self, kind: ListKind, number: int, seed: int) -> None:
        self.kind = kind
        self.campaigns = draw_campaigns(kind, number, seed)
        self.topics = [str(i) for i in range(1, number + 1)]
        relevant = dict(zip(self.topics, (c.relevant for c in self.campaigns), strict=True))
        gold = {
            topic: {
                doc: {"length": length, "spans": passages.get(doc, [])}
                | ({"bep": passages[doc][0][0]} if doc in passages else {})
                for doc, length in LENGTHS.items()
            }
            for topic, passages in {**relevant, _OTHER: {"A": [(0, 10)]}}.items()
        }
        combined = Judgements.from_highlights(gold).combined()
        names = [combined.topics[i] for i in combined.topic.tolist()]
        row = {key: i for i, key in enumerate(zip(names, combined.doc, strict=True))}
        assessed = [
            (row[topic, doc], path, str(grade), place.size, campaign.rsize(place))
            for topic, campaign in zip(self.topics, self.campaigns, strict=True)
            for (doc, path), grade in sorted(campaign.exhaustivity.items())
            for place in [ListedResult(doc, *TREES[doc][path])]
        ]
        columns = ["row", "xpath", "exhaustivity", "size", "rsize"]
        elements = pl.DataFrame(assessed, schema=columns, orient="row").sort("row")
        truth = combined.with_columns(elements=elements, header={"scale": "2005"})
        forest = Forest.from_assessments(truth)
        self.gold = Gold(truth, forest=forest, collection_elements=sum(map(len, TREES.values())))

    def score(
        self, lists: Sequence[ResultList | None], measures: Sequence[Measure]
    ) -> dict[Measure, Floats | str]:
        """Return the score of the list of each campaign, or why a measure refuses them."""
        rows = [
            (topic, *result)
            for topic, results in zip(self.topics, lists, strict=True)
            for result in results or ()
        ]
        rows.append((_OTHER, *self.campaigns[0].make_whole("X")))
        types = {"topic": pl.String, "doc": pl.String, "start": pl.Int64, "end": pl.Int64}
        frame = pl.DataFrame(rows, schema=types | {"xpath": pl.String}, orient="row")
        own = frame if self.kind is ListKind.ELEMENTS else frame.drop("xpath")
        return self._score_run(Run.from_frame(own, name="list"), measures)

    def _score_run(self, run: Run, measures: Sequence[Measure]) -> dict[Measure, Floats | str]:
        try:
            aligned = align_run(run, self.gold, measures, Options())
        except InputError as error:
            if len(measures) == 1:
                text = error.problems[0].text  # without the advice
                return {measures[0]: text.partition(" (--")[0].partition("; it takes ")[0]}
            return {m: v for one in measures for m, v in self._score_run(run, [one]).items()}
        place = [self.gold.topic_at[topic] for topic in self.topics]
        return dict(zip(measures, score_measures(aligned, measures)[place].T, strict=True))


# -- axioms ------------------------------------------------------------------------------------

Change = Callable[[AxiomCampaign, Rng], ResultList | None]
"""Returns the changed results of a campaign; None if an axiom cannot be tested on them."""


def _pick(items: Sequence[T], rng: Rng) -> T | None:
    """Return one of the items, None if there are none."""
    return items[int(rng.choice(len(items)))] if items else None


def _exchange(
    results: ResultList, allowed: Callable[[ListedResult, ListedResult], bool], rng: Rng
) -> ResultList | None:
    """Let two neighbours change places."""
    pairs = [(i, pair) for i, pair in enumerate(pairwise(results)) if allowed(*pair)]
    return _pick([(*results[:i], b, a, *results[i + 2 :]) for i, (a, b) in pairs], rng)


def _repeat_and_overlap(campaign: AxiomCampaign, rng: Rng) -> ResultList:
    """Whatever a list returns, overlapping text and repeats included, its score lies within the
    range that the measure declares, or the list is refused. Where no upper end is declared, it is
    the full score; where there is none either, the axiom does not apply.
    """
    found: list[ListedResult] = []
    for result in campaign.results:  # every result twice, and one that overlaps it
        other = campaign.make_whole(result.doc)
        if campaign.kind is not ListKind.ELEMENTS:
            other = other._replace(start=int(rng.integers(0, result.end)))
        found += [result, result, other]
    return tuple(found)


def _duplicate(campaign: AxiomCampaign, rng: Rng) -> ResultList | None:
    """Repeating a result right after itself does not make the score better, or the list is
    refused.
    """
    results = campaign.results
    return _pick([(*results[: i + 1], *results[i:]) for i in range(len(results))], rng)


def _split(campaign: AxiomCampaign, rng: Rng) -> ResultList | None:
    """A result that is relevant throughout, or nowhere, is cut into two neighbours with nothing
    between them. The score does not get better; it may get worse where ranks
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


def _swap_neighbours(campaign: AxiomCampaign, rng: Rng) -> ResultList | None:
    """Two neighbouring results of one document change places. Where a rule keeps the results of a
    document together, the score stays the same; in other lists it stays the same if both are of
    one size and relevant throughout, or nowhere, and assessed alike.
    """

    def are_alike(a: ListedResult, b: ListedResult) -> bool:
        if campaign.kind is ListKind.GROUPED or a.doc != b.doc:
            return a.doc == b.doc
        grades = [campaign.exhaustivity.get((r.doc, r.xpath or "")) for r in (a, b)]
        even = any(test(a) and test(b) for test in (campaign.is_relevant, campaign.is_useless))
        return a.size == b.size and grades[0] == grades[1] and even

    return _exchange(campaign.results, are_alike, rng)


def _move_documents(campaign: AxiomCampaign, _: Rng) -> ResultList:
    """Every result is moved to the same offsets of another document, one without anything relevant.
    The score is the worst there is.
    """
    return tuple(r._replace(doc=TWINS[r.doc]) for r in campaign.results if r.doc in TWINS)


def _fill_gaps(campaign: AxiomCampaign, rng: Rng) -> ResultList | None:
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


def _return_nothing(_: AxiomCampaign, __: Rng) -> ResultList:
    """A judged topic without any result has the worst score there is, and is not left out."""
    return ()


def _return_ideal(campaign: AxiomCampaign, _: Rng) -> ResultList | None:
    """A list of exactly the relevant passages, document by document, has the full score that the
    measure declares; where a document has one result, it is the first passage. Which elements are
    ideal is for a measure to decide, so that it does not apply to lists of elements.
    """
    if campaign.kind is ListKind.ELEMENTS:
        return None
    if campaign.kind is ListKind.ENTRIES:
        return tuple(ListedResult(doc, *spans[0]) for doc, spans in campaign.relevant.items())
    return campaign.passages


def _add_tail(campaign: AxiomCampaign, rng: Rng) -> ResultList | None:
    """A document without anything relevant is returned after all others. The score does not get
    better.
    """
    used = [result.doc for result in campaign.results]
    others = [campaign.make_whole(doc) for doc in TWINS.values() if doc not in used]
    return _pick([(*campaign.results, other) for other in others], rng)


def _swap_useless(campaign: AxiomCampaign, rng: Rng) -> ResultList | None:
    """A result of a document without anything relevant comes right before one that is relevant
    throughout; they change places. The score does not get worse. Where results of a document are
    kept together, both are the only ones of their documents.
    """
    docs = [result.doc for result in campaign.results]

    def are_wrong(a: ListedResult, b: ListedResult) -> bool:
        alone = campaign.kind is not ListKind.GROUPED or docs.count(a.doc) == docs.count(b.doc) == 1
        return a.doc not in campaign.relevant and campaign.is_relevant(b) and alone

    return _exchange(campaign.results, are_wrong, rng)


class Axiom(NamedTuple):
    """A property that a measure should have.

    `expected` is the allowed effect of the change on the score, as `_judge` names it.
    """

    name: str
    expected: str
    change: Change

    @property
    def words(self) -> str:
        return " ".join((self.change.__doc__ or "").split())


AXIOMS = (
    Axiom("bounded", "within", _repeat_and_overlap),
    Axiom("duplicate", "not better", _duplicate),
    Axiom("split", "not better", _split),
    Axiom("order", "same", _swap_neighbours),
    Axiom("document", "worst", _move_documents),
    Axiom("touching", "worst", _fill_gaps),
    Axiom("missing", "worst", _return_nothing),
    Axiom("ideal", "ideal", _return_ideal),
    Axiom("tail", "not better", _add_tail),
    Axiom("swap", "not worse", _swap_useless),
)
"""The axioms in their order."""

_BY_DESIGN = {
    "touching: FBarticle gR gRw P R AP gen_document nDCG RR Success Rprec RBP ERR Bpref infAP": (
        "a result finds its whole document"
    ),
    "touching: BEPD GR EPRUM EPRUMk PRUM": "an entry point counts by its distance from the best",
    "touching: T2I T2IP T2IR T2IcharP T2IcharR": "a reader reads on past the end of a result",
    "order: T2I": "the passage that a reader reaches first is the one that counts as found",
    "duplicate split: T2IcharP T2IcharR": "a reader stops at the first new relevant character",
    "touching document: judged": "it shows which documents were judged, not which are relevant",
}
REASONS = {
    (measure, axiom): reason
    for broken, reason in _BY_DESIGN.items()
    for axiom in broken.partition(": ")[0].split()
    for measure in broken.partition(": ")[2].split()
}
"""Reasons why measures break axioms on purpose; others have a class attribute ``axioms``."""


# -- verdicts ----------------------------------------------------------------------------------

HOLDS, FAILS, BY_DESIGN, NOT_APPLICABLE = "holds", "fails", "by design", "does not apply"
ALL = "all"
_TOLERANCE = 1e-9
_MOST_NAMED = 6  # measures in a sentence
_SIGNS = {HOLDS: "yes", FAILS: "NO", BY_DESIGN: "(no)", NOT_APPLICABLE: "-"}


class AxiomVerdict(NamedTuple):
    """The verdict of one axiom on one measure, tested on some campaigns; a row of the result.

    `reason` is why it does not apply, is meant to fail, or holds by refusal of lists. The last five
    fields are the smallest campaign found that breaks the axiom: its relevant text, the list before
    and after the change, and both scores.
    """

    measure: str
    axiom: str
    verdict: str
    campaigns: int = 0
    reason: str | None = None
    relevant: str | None = None
    list: str | None = None
    score: float | None = None
    changed_list: str | None = None
    changed_score: float | None = None


@dataclass(frozen=True, eq=False, repr=False)
class Axioms(Result):
    """The verdicts on some measures, in the order of `AXIOMS`; `unsound` are declared defects."""

    measures: tuple[str, ...]
    verdicts: tuple[AxiomVerdict, ...]
    unsound: Mapping[str, str]
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
        if not failed:
            return "No axiom fails unexpectedly."
        return f"Failed: {shorten_list(failed, _MOST_NAMED)}."

    def tables(self) -> list[Table]:
        """Return the verdicts, and the counterexamples if there are any."""
        tried = f"{plural(self.meta['campaigns'], 'campaign')} (seed {self.meta['seed']})"
        reasons: dict[str, list[str]] = {}
        for measure, axiom, verdict, _, reason, *_ in self.verdicts:
            if verdict in (BY_DESIGN, NOT_APPLICABLE):
                reasons.setdefault(f"{_SIGNS[verdict]} {axiom}: {reason}", []).append(measure)
        notes = (
            f"yes: no counterexample among {tried}; NO: fails; (no): by design; -: does not apply.",
            *(
                f"{reason} [{shorten_list(names, _MOST_NAMED)}]."
                for reason, names in reasons.items()
            ),
            *(f"{measure} is marked unsound: {why}." for measure, why in self.unsound.items()),
        )
        signs = {
            m: [_SIGNS[v.verdict] for v in self.verdicts if v.measure == m] for m in self.measures
        }
        verdicts = Table(
            ("measure", *(axiom.name for axiom in AXIOMS)),
            tuple((measure, *own) for measure, own in signs.items()),
            labels=len(AXIOMS) + 1,
            title=f"Axioms: {plural(len(self.measures), 'measure')}",
            notes=notes,
            name="axioms",
        )
        counterexamples = Table(
            ("measure", "axiom", "relevant", "list", "score", "becomes", "score"),
            tuple(
                tuple(map(format_cell, (*v[:2], *v[5:])))
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
        if item == ALL:
            for measure in all_measures():
                usual = "10" if measure.cutoff is Cutoff.RANK else "0.5"
                chosen[measure @ usual if measure.cutoff.required else measure] = None
        else:
            chosen |= dict.fromkeys(parse_measures(item) if isinstance(item, str) else [item])
    if not chosen:
        raise UsageError(f"no measure given; name measures, or {ALL} of them")
    found: dict[tuple[str, str], AxiomVerdict] = {}
    for kind in ListKind:
        own = [measure for measure in chosen if ListKind.choose(measure) is kind]
        if not own:
            continue
        lab = AxiomCampaigns(kind, campaigns, seed)
        before = lab.score([campaign.results for campaign in lab.campaigns], own)
        for number, axiom in enumerate(AXIOMS):
            rng = np.random.default_rng([seed, number])
            changed = [axiom.change(campaign, rng) for campaign in lab.campaigns]
            after = lab.score(changed, [m for m in own if not isinstance(before[m], str)])
            for measure in own:
                scores = before[measure]
                if isinstance(scores, str):  # it needs data that no campaign has
                    verdict = AxiomVerdict(measure.label, axiom.name, NOT_APPLICABLE, 0, scores)
                else:
                    verdict = _judge(axiom, measure, lab, changed, scores, after[measure])
                found[measure.label, axiom.name] = verdict
    return Axioms(
        tuple(measure.label for measure in chosen),
        tuple(found[measure.label, axiom.name] for measure in chosen for axiom in AXIOMS),
        {m.label: m.unsound for m in chosen if m.unsound},
        {"version": __version__, "campaigns": campaigns, "seed": seed},
    )


def _judge(
    axiom: Axiom,
    measure: Measure,
    lab: AxiomCampaigns,
    changed: Sequence[ResultList | None],
    before: Any,
    after: Floats | str,
) -> AxiomVerdict:
    """Judge a measure by its scores before and after the change."""
    verdict = AxiomVerdict(measure.label, axiom.name, NOT_APPLICABLE)
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
    if axiom.expected != "within" and measure.higher_is_better is None:
        return verdict._replace(reason="it has no better direction")
    if axiom.expected not in ("within", "same") and not measure.higher_is_better:
        return verdict._replace(reason="it measures repeated or read text, not relevant text")
    if highest is None:
        return verdict._replace(reason="it declares no full score")
    if isinstance(after, str):
        if axiom.name not in ("bounded", "duplicate"):
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
