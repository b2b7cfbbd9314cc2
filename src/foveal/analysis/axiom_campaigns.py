"""Small campaigns to test axioms on: drawn with a fixed seed, scored all at once.

A campaign is one topic: the relevant text of three short documents, and a list of results. Three
more documents, each as long as one of these, hold nothing relevant. All campaigns are topics of
one run and one set of judgements, so that a measure scores them together.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from foveal.errors import InputError
from foveal.evaluation.evaluation import score_measures
from foveal.evaluation.preparation import Options, align_run
from foveal.measures import Measure, OverlapRule
from foveal.measures.alignment import Gold
from foveal.model import Judgements, Run
from foveal.recall import Forest

__all__ = [
    "LENGTHS",
    "TREES",
    "TWINS",
    "AxiomCampaign",
    "AxiomCampaigns",
    "ListKind",
    "ListedResult",
    "ResultList",
    "draw_campaigns",
]

Floats = npt.NDArray[np.float64]
Rng = np.random.Generator
Span = tuple[int, int]

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
    def of(cls, measure: Measure) -> ListKind:
        """Return the kind of list that this measure with these parameters takes."""
        if measure.structural:
            return cls.ELEMENTS
        if measure.overlap_rule is OverlapRule.ONE_PER_DOCUMENT:
            return cls.ENTRIES
        return cls.GROUPED if measure.grouped else cls.PASSAGES


class ListedResult(NamedTuple):
    """A passage of a document, or one of its elements.

    >>> print(ListedResult("A", 0, 10), ListedResult("C", 0, 20, "/a[1]"))
    A:0-10 C:/a[1]
    """

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


@dataclass(frozen=True)
class AxiomCampaign:
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

    def whole(self, doc: str) -> ListedResult:
        """Return a whole document as a list of this kind has it."""
        path = "/a[1]" if self.kind is ListKind.ELEMENTS else None
        return ListedResult(doc, 0, LENGTHS[doc], path)

    @property
    def weight(self) -> tuple[int, int, int]:
        """The amount of text; the counterexample shown is the lightest."""
        text = sum(part.size for part in (*self.passages, *self.results))
        return len(self.results), len(self.passages), text


# -- drawing -----------------------------------------------------------------------------------


def draw_campaigns(kind: ListKind, number: int, seed: int) -> list[AxiomCampaign]:
    """Draw campaigns of a kind, the same for the same seed.

    >>> print(*draw_campaigns(ListKind.PASSAGES, 1, seed=0)[0].results)
    X:20-25
    """
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
    order = list(dict.fromkeys(result.doc for result in found))
    if kind is ListKind.ENTRIES:
        found = [next(r for r in found if r.doc == doc) for doc in order]
    elif kind is ListKind.GROUPED:
        found = [r for doc in order for r in found if r.doc == doc]
    return replace(bare, exhaustivity=grades, results=tuple(found))


def _draw_results(campaign: AxiomCampaign, rng: Rng) -> Sequence[ListedResult]:
    """Draw a result, mostly of a relevant document, and there often a part of the relevant text.

    With it may come a neighbour that makes a case of an axiom that is rare by chance: two equal
    parts side by side, or a useless result before a relevant one.
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


# -- scoring -----------------------------------------------------------------------------------

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
        """Return the score of each list, one for each campaign, or why a measure refuses them.

        None is a topic without results.
        """
        rows = [
            (topic, *result)
            for topic, results in zip(self.topics, lists, strict=True)
            for result in results or ()
        ]
        rows.append((_OTHER, *self.campaigns[0].whole("X")))
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
