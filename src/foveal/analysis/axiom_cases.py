"""The small campaigns that axioms are tried on: drawn with a fixed seed, scored all at once.

A campaign is one topic: what is relevant in three short documents, and a list of results. Three
more documents, each as long as one of these, hold nothing relevant. Every campaign is a topic of
one run and one set of judgements, so that a measure is asked once about all of them.
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
from foveal.evaluation.preparation import align_run
from foveal.evaluation.settings import Options
from foveal.measures import Measure, OverlapRule
from foveal.measures.alignment import Gold
from foveal.model import Judgements, Run
from foveal.recall import Forest

__all__ = [
    "LENGTHS",
    "TREES",
    "TWINS",
    "Campaign",
    "Kind",
    "Laboratory",
    "Result",
    "draw",
    "listed",
]

Floats = npt.NDArray[np.float64]
Span = tuple[int, int]
Rng = np.random.Generator

TWINS = {"A": "X", "B": "Y", "C": "Z"}
"""Document to one of the same length that holds nothing relevant."""
LENGTHS = {"A": 40, "B": 30, "C": 20, "X": 40, "Y": 30, "Z": 20}
_STEP = 5
"""Offsets drawn are multiples of this: examples stay readable and ends often meet."""
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
"""Where the elements of each document are."""
_OTHER = "other"
"""A topic beside the campaigns, so that a run is never without results."""


class Kind(Enum):
    """What lists a measure takes."""

    PASSAGES = "passages in any order"
    GROUPED = "passages, those of a document together"
    ENTRIES = "one result of each document"
    ELEMENTS = "elements"

    @classmethod
    def of(cls, measure: Measure) -> Kind:
        """The lists that this measure with these parameters takes."""
        if measure.structural:
            return cls.ELEMENTS
        if measure.overlap_rule is OverlapRule.ONE_PER_DOCUMENT:
            return cls.ENTRIES
        return cls.GROUPED if measure.grouped else cls.PASSAGES


class Result(NamedTuple):
    """A passage of a document, or one of its elements.

    >>> print(Result("A", 0, 10), Result("C", 0, 20, "/a[1]"))
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

    def overlaps(self, other: Result) -> bool:
        return self.doc == other.doc and self.start < other.end and other.start < self.end


def listed(results: Iterable[Result]) -> str:
    """Results for reading, in their order.

    >>> listed([Result("A", 0, 10), Result("B", 5, 15)]), listed([])
    ('A:0-10 B:5-15', 'nothing')
    """
    return " ".join(map(str, results)) or "nothing"


@dataclass(frozen=True)
class Campaign:
    """One topic: its relevant passages by document, exhaustivity by element, a list of results."""

    relevant: Mapping[str, tuple[Span, ...]]
    exhaustivity: Mapping[tuple[str, str], int]
    results: tuple[Result, ...]

    def rsize(self, result: Result) -> int:
        """Relevant characters of a result."""
        spans = self.relevant.get(result.doc, ())
        return sum(max(0, min(e, result.end) - max(s, result.start)) for s, e in spans)

    def worth(self, result: Result) -> int | None:
        """The exhaustivity of an element; None of a passage."""
        return None if result.xpath is None else self.exhaustivity.get((result.doc, result.xpath))

    def full(self, result: Result) -> bool:
        return self.rsize(result) == result.size

    def useless(self, result: Result) -> bool:
        return self.rsize(result) == 0

    @property
    def weight(self) -> tuple[int, int, int]:
        """How much there is to read of it; the smallest counterexample is the lightest."""
        spans = [span for passages in self.relevant.values() for span in passages]
        text = sum(e - s for s, e in spans) + sum(result.size for result in self.results)
        return len(self.results), len(spans), text

    @property
    def judged(self) -> str:
        """What is relevant, for reading."""
        return listed(Result(d, s, e) for d, spans in self.relevant.items() for s, e in spans)


# -- drawing -----------------------------------------------------------------------------------


def draw(kind: Kind, number: int, seed: int) -> list[Campaign]:
    """Campaigns of a kind, the same for the same seed.

    >>> print(listed(draw(Kind.PASSAGES, 1, seed=0)[0].results))
    X:20-25
    """
    rng = np.random.default_rng(seed)
    return [_campaign(kind, 1 + i % 5, rng) for i in range(number)]


def _campaign(kind: Kind, most: int, rng: Rng) -> Campaign:
    docs = rng.permutation(list(TWINS))[: int(rng.integers(1, 4))].tolist()
    relevant = {doc: _passages(LENGTHS[doc], rng) for doc in sorted(docs)}
    bare = Campaign(relevant, {}, ())
    found: list[Result] = []
    for _ in range(most):
        result = (_element if kind is Kind.ELEMENTS else _passage)(relevant, rng)
        for part in _companions(bare, result, rng):
            if not any(part.overlaps(other) for other in found):
                found.append(part)
    found = found[:most]
    return replace(bare, exhaustivity=_graded(bare, rng), results=_arranged(kind, found))


def _passages(length: int, rng: Rng) -> tuple[Span, ...]:
    """One or two passages with something between them."""
    cuts = np.sort(rng.choice(np.arange(length // _STEP + 1), 4, replace=False) * _STEP).tolist()
    first, second = (cuts[0], cuts[1]), (cuts[2], cuts[3])
    return (first, second) if rng.random() < 0.5 else (first,)


def _passage(relevant: Mapping[str, tuple[Span, ...]], rng: Rng) -> Result:
    """Mostly of a relevant document, and there often a part of what is relevant."""
    doc = str(rng.choice(list(relevant if rng.random() < 0.6 else LENGTHS)))
    low, high = 0, LENGTHS[doc]
    if relevant.get(doc) and rng.random() < 0.6:
        low, high = relevant[doc][int(rng.integers(len(relevant[doc])))]
        if rng.random() < 0.5:
            return Result(doc, low, high)
    start, end = np.sort(rng.choice(np.arange(low // _STEP, high // _STEP + 1), 2, replace=False))
    return Result(doc, int(start) * _STEP, int(end) * _STEP)


def _element(relevant: Mapping[str, tuple[Span, ...]], rng: Rng) -> Result:
    doc = str(rng.choice(list(relevant if rng.random() < 0.6 else LENGTHS)))
    xpath = str(rng.choice(list(TREES[doc])))
    return Result(doc, *TREES[doc][xpath], xpath)


def _companions(campaign: Campaign, result: Result, rng: Rng) -> list[Result]:
    """The result, or what some axioms seldom meet by chance.

    That is two alike side by side instead of one, and something useless in front of what is good.
    """
    way = rng.random()
    if way < 0.3 and campaign.full(result):
        twin = TWINS[result.doc]
        return [result._replace(doc=twin), result]
    if way < 0.6 and result.xpath is None and result.size % (2 * _STEP) == 0:
        middle = result.start + result.size // 2
        return [result._replace(end=middle), result._replace(start=middle)]
    if way < 0.6 and result.xpath is not None:
        inside = [path for path in TREES[result.doc] if path.rpartition("/")[0] == result.xpath]
        if len(inside) > 1:
            return [Result(result.doc, *TREES[result.doc][path], path) for path in inside]
    return [result]


def _graded(campaign: Campaign, rng: Rng) -> dict[tuple[str, str], int]:
    """Exhaustivity 1 or 2 of what holds something relevant, not less than that of its parts."""
    grades: dict[tuple[str, str], int] = {}
    for doc in campaign.relevant:
        for xpath, place in reversed(list(TREES[doc].items())):
            if campaign.rsize(Result(doc, *place)):
                inside = [g for (d, p), g in grades.items() if d == doc and p.startswith(xpath)]
                grades[doc, xpath] = max([int(rng.integers(1, 3)), *inside])
    return grades


def _arranged(kind: Kind, results: list[Result]) -> tuple[Result, ...]:
    order = list(dict.fromkeys(result.doc for result in results))
    if kind is Kind.ENTRIES:
        return tuple(next(r for r in results if r.doc == doc) for doc in order)
    if kind is Kind.GROUPED:
        return tuple(r for doc in order for r in results if r.doc == doc)
    return tuple(results)


# -- scoring -----------------------------------------------------------------------------------


class Laboratory:
    """Campaigns of one kind with their judgements prepared, and the way to score lists on them."""

    def __init__(self, kind: Kind, number: int, seed: int) -> None:
        self.kind = kind
        self.campaigns = draw(kind, number, seed)
        self.topics = [str(i) for i in range(1, number + 1)]
        truth = self._judgements()
        self.judged = Gold(
            truth,
            forest=Forest.from_assessments(truth),
            collection_elements=sum(map(len, TREES.values())),
        )

    def _judgements(self) -> Judgements:
        highlights = Judgements.from_highlights(
            {
                topic: {
                    doc: _entry(length, relevant.get(doc, ())) for doc, length in LENGTHS.items()
                }
                for topic, relevant in [
                    *zip(self.topics, (c.relevant for c in self.campaigns), strict=True),
                    (_OTHER, {"A": ((0, 10),)}),
                ]
            }
        )
        combined = highlights.combined()
        names = [combined.topics[i] for i in combined.topic.tolist()]
        row = {key: i for i, key in enumerate(zip(names, combined.doc, strict=True))}
        assessed = [
            (row[topic, doc], xpath, str(grade), place.size, campaign.rsize(place))
            for topic, campaign in zip(self.topics, self.campaigns, strict=True)
            for (doc, xpath), grade in sorted(campaign.exhaustivity.items())
            for place in [Result(doc, *TREES[doc][xpath])]
        ]
        columns = ["row", "xpath", "exhaustivity", "size", "rsize"]
        elements = pl.DataFrame(assessed, schema=columns, orient="row").sort("row")
        return replace(combined, elements=elements, header={"scale": "2005"})

    def run(self, lists: Sequence[Sequence[Result] | None]) -> Run:
        """A list for each campaign as one run; none is a topic without results."""
        rows = [
            (topic, *result)
            for topic, results in zip(self.topics, lists, strict=True)
            for result in results or ()
        ]
        rows.append((_OTHER, "X", 0, 40, "/a[1]" if self.kind is Kind.ELEMENTS else None))
        schema = {"topic": pl.String, "doc": pl.String, "start": pl.Int64, "end": pl.Int64}
        frame = pl.DataFrame(rows, schema=schema | {"xpath": pl.String}, orient="row")
        if self.kind is not Kind.ELEMENTS:
            frame = frame.drop("xpath")
        return Run.from_frame(frame, name="list")

    def scores(self, run: Run, measures: Sequence[Measure]) -> dict[Measure, Floats | str]:
        """The score of every campaign by each measure, or why it was refused."""
        try:
            aligned = align_run(run, self.judged, measures, Options())
        except InputError as error:
            if len(measures) == 1:
                return {measures[0]: error.problems[0].text}
            return {m: v for one in measures for m, v in self.scores(run, [one]).items()}
        place = [self.judged.topic_at[topic] for topic in self.topics]
        values = score_measures(aligned, measures)
        return dict(zip(measures, values[place].T, strict=True))


def _entry(length: int, spans: Sequence[Span]) -> dict[str, object]:
    """A judged document; the best place to begin is that of the first relevant passage."""
    entry: dict[str, object] = {"length": length, "spans": list(spans)}
    return entry | {"bep": spans[0][0]} if spans else entry
