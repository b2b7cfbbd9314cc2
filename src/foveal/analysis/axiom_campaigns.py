"""Small campaigns to test axioms on: drawn with a fixed seed, scored all at once.

A campaign is one topic: the relevant text of three short documents, and a list of results. Three
more documents, each as long as one of these, hold nothing relevant. All campaigns are topics of
one run and one set of judgements, so that a measure scores them together.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
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
    "draw",
    "show_list",
]

Floats = npt.NDArray[np.float64]
Span = tuple[int, int]
Rng = np.random.Generator

TWINS = {"A": "X", "B": "Y", "C": "Z"}
"""Document to one of the same length that holds nothing relevant."""
LENGTHS = {"A": 40, "B": 30, "C": 20, "X": 40, "Y": 30, "Z": 20}
_STEP = 5
"""Drawn offsets are multiples of this, which keeps examples readable and lets spans touch."""
_SHAPES: Mapping[str, Mapping[str, Span]] = {
    "A": {
        "/a[1]": (0, 40),
        "/a[1]/s[1]": (0, 20),
        "/a[1]/s[1]/p[1]": (0, 10),
        "/a[1]/s[1]/p[2]": (10, 20),
        "/a[1]/s[2]": (20, 40),
        "/a[1]/s[2]/p[1]": (20, 30),
        "/a[1]/s[2]/p[2]": (30, 40),
    },
    "B": {
        "/a[1]": (0, 30),
        "/a[1]/s[1]": (0, 20),
        "/a[1]/s[1]/p[1]": (0, 10),
        "/a[1]/s[1]/p[2]": (10, 20),
        "/a[1]/p[1]": (20, 30),
    },
    "C": {"/a[1]": (0, 20), "/a[1]/p[1]": (0, 10), "/a[1]/p[2]": (10, 20)},
}
TREES = {doc: _SHAPES[doc] for doc in TWINS} | {TWINS[doc]: _SHAPES[doc] for doc in TWINS}
"""The spans of the elements of each document."""
_OTHER = "other"
"""An extra topic, so that a run always has results."""


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


def show_list(results: Iterable[ListedResult]) -> str:
    """Format results in their order.

    >>> show_list([ListedResult("A", 0, 10), ListedResult("B", 5, 15)]), show_list([])
    ('A:0-10 B:5-15', 'nothing')
    """
    return " ".join(map(str, results)) or "nothing"


@dataclass(frozen=True)
class AxiomCampaign:
    """One topic: its relevant passages by document, exhaustivity by element, a list of results."""

    relevant: Mapping[str, tuple[Span, ...]]
    exhaustivity: Mapping[tuple[str, str], int]
    results: tuple[ListedResult, ...]

    def rsize(self, result: ListedResult) -> int:
        """Count the relevant characters of a result."""
        spans = self.relevant.get(result.doc, ())
        return sum(max(0, min(e, result.end) - max(s, result.start)) for s, e in spans)

    def worth(self, result: ListedResult) -> int | None:
        """Return the exhaustivity of an element; None for a passage."""
        return None if result.xpath is None else self.exhaustivity.get((result.doc, result.xpath))

    def is_relevant(self, result: ListedResult) -> bool:
        return self.rsize(result) == result.size

    def is_useless(self, result: ListedResult) -> bool:
        return self.rsize(result) == 0

    @property
    def weight(self) -> tuple[int, int, int]:
        """The amount of text; the counterexample shown is the lightest."""
        spans = [span for passages in self.relevant.values() for span in passages]
        text = sum(e - s for s, e in spans) + sum(result.size for result in self.results)
        return len(self.results), len(spans), text

    @property
    def judged(self) -> str:
        """The relevant passages as text."""
        return show_list(
            ListedResult(d, s, e) for d, spans in self.relevant.items() for s, e in spans
        )


# -- drawing -----------------------------------------------------------------------------------


def draw(kind: ListKind, number: int, seed: int) -> list[AxiomCampaign]:
    """Draw campaigns of a kind, the same for the same seed.

    >>> print(show_list(draw(ListKind.PASSAGES, 1, seed=0)[0].results))
    X:20-25
    """
    rng = np.random.default_rng(seed)
    return [_draw_campaign(kind, 1 + i % 5, rng) for i in range(number)]


def _draw_campaign(kind: ListKind, most: int, rng: Rng) -> AxiomCampaign:
    docs = sorted(rng.permutation(list(TWINS))[: int(rng.integers(1, 4))].tolist())
    relevant: dict[str, tuple[Span, ...]] = {}
    for doc in docs:  # one or two passages with a gap between them
        ends = rng.choice(np.arange(LENGTHS[doc] // _STEP + 1), 4, replace=False) * _STEP
        cuts = np.sort(ends).tolist()
        first, second = (cuts[0], cuts[1]), (cuts[2], cuts[3])
        relevant[doc] = (first, second) if rng.random() < 0.5 else (first,)
    bare = AxiomCampaign(relevant, {}, ())
    found: list[ListedResult] = []
    for _ in range(most):
        result = _draw_result(kind, relevant, rng)
        for part in _add_companions(bare, result, rng):
            if not any(part.overlaps(other) for other in found):
                found.append(part)
    found = found[:most]
    # Exhaustivity 1 or 2 of elements with relevant text, at least that of their parts.
    grades: dict[tuple[str, str], int] = {}
    for doc in relevant:
        for xpath, place in reversed(list(TREES[doc].items())):
            if bare.rsize(ListedResult(doc, *place)):
                inside = [g for (d, p), g in grades.items() if d == doc and p.startswith(xpath)]
                grades[doc, xpath] = max([int(rng.integers(1, 3)), *inside])
    order = list(dict.fromkeys(result.doc for result in found))
    if kind is ListKind.ENTRIES:
        found = [next(r for r in found if r.doc == doc) for doc in order]
    elif kind is ListKind.GROUPED:
        found = [r for doc in order for r in found if r.doc == doc]
    return replace(bare, exhaustivity=grades, results=tuple(found))


def _draw_result(
    kind: ListKind, relevant: Mapping[str, tuple[Span, ...]], rng: Rng
) -> ListedResult:
    """Draw a result, mostly of a relevant document, and there often a part of the relevant text."""
    doc = str(rng.choice(list(relevant if rng.random() < 0.6 else LENGTHS)))
    if kind is ListKind.ELEMENTS:
        xpath = str(rng.choice(list(TREES[doc])))
        return ListedResult(doc, *TREES[doc][xpath], xpath)
    low, high = 0, LENGTHS[doc]
    if relevant.get(doc) and rng.random() < 0.6:
        low, high = relevant[doc][int(rng.integers(len(relevant[doc])))]
        if rng.random() < 0.5:
            return ListedResult(doc, low, high)
    start, end = np.sort(rng.choice(np.arange(low // _STEP, high // _STEP + 1), 2, replace=False))
    return ListedResult(doc, int(start) * _STEP, int(end) * _STEP)


def _add_companions(campaign: AxiomCampaign, result: ListedResult, rng: Rng) -> list[ListedResult]:
    """Return the result, or a case of an axiom that is rare by chance.

    That is two equal parts side by side, or a useless result before a relevant one.
    """
    way = rng.random()
    if way < 0.3 and campaign.is_relevant(result):
        twin = TWINS[result.doc]
        return [result._replace(doc=twin), result]
    if way < 0.6 and result.xpath is None and result.size % (2 * _STEP) == 0:
        middle = result.start + result.size // 2
        return [result._replace(end=middle), result._replace(start=middle)]
    if way < 0.6 and result.xpath is not None:
        inside = [path for path in TREES[result.doc] if path.rpartition("/")[0] == result.xpath]
        if len(inside) > 1:
            return [ListedResult(result.doc, *TREES[result.doc][path], path) for path in inside]
    return [result]


# -- scoring -----------------------------------------------------------------------------------


class AxiomCampaigns:
    """Campaigns of one kind, with judgements prepared to score lists of results."""

    def __init__(self, kind: ListKind, number: int, seed: int) -> None:
        self.kind = kind
        self.campaigns = draw(kind, number, seed)
        self.topics = [str(i) for i in range(1, number + 1)]
        gold = {
            topic: {
                doc: {"length": length, "spans": list(spans)}
                | ({"bep": spans[0][0]} if spans else {})
                for doc, length in LENGTHS.items()
                for spans in [relevant.get(doc, ())]
            }
            for topic, relevant in [
                *zip(self.topics, (c.relevant for c in self.campaigns), strict=True),
                (_OTHER, {"A": ((0, 10),)}),
            ]
        }
        combined = Judgements.from_highlights(gold).combined()
        names = [combined.topics[i] for i in combined.topic.tolist()]
        row = {key: i for i, key in enumerate(zip(names, combined.doc, strict=True))}
        assessed = [
            (row[topic, doc], xpath, str(grade), place.size, campaign.rsize(place))
            for topic, campaign in zip(self.topics, self.campaigns, strict=True)
            for (doc, xpath), grade in sorted(campaign.exhaustivity.items())
            for place in [ListedResult(doc, *TREES[doc][xpath])]
        ]
        columns = ["row", "xpath", "exhaustivity", "size", "rsize"]
        elements = pl.DataFrame(assessed, schema=columns, orient="row").sort("row")
        truth = replace(combined, elements=elements, header={"scale": "2005"})
        self.gold = Gold(
            truth,
            forest=Forest.from_assessments(truth),
            collection_elements=sum(map(len, TREES.values())),
        )

    def make_run(self, lists: Sequence[Sequence[ListedResult] | None]) -> Run:
        """Make one run of a list for each campaign; None is a topic without results."""
        rows = [
            (topic, *result)
            for topic, results in zip(self.topics, lists, strict=True)
            for result in results or ()
        ]
        rows.append((_OTHER, "X", 0, 40, "/a[1]" if self.kind is ListKind.ELEMENTS else None))
        schema = {"topic": pl.String, "doc": pl.String, "start": pl.Int64, "end": pl.Int64}
        frame = pl.DataFrame(rows, schema=schema | {"xpath": pl.String}, orient="row")
        if self.kind is not ListKind.ELEMENTS:
            frame = frame.drop("xpath")
        return Run.from_frame(frame, name="list")

    def score(self, run: Run, measures: Sequence[Measure]) -> dict[Measure, Floats | str]:
        """Return the score of every campaign by each measure, or the reason of a refusal."""
        try:
            aligned = align_run(run, self.gold, measures, Options())
        except InputError as error:
            if len(measures) == 1:
                return {measures[0]: error.problems[0].text}
            return {m: v for one in measures for m, v in self.score(run, [one]).items()}
        place = [self.gold.topic_at[topic] for topic in self.topics]
        values = score_measures(aligned, measures)
        return dict(zip(measures, values[place].T, strict=True))
