"""The axioms: what each changes in a list of results, and what the score may do then."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import pairwise

import numpy as np

from foveal.analysis.axiom_cases import LENGTHS, TREES, TWINS, Campaign, Kind, Result

__all__ = ["AXIOMS", "Axiom", "Expected", "Results"]

Results = tuple[Result, ...]
Change = Callable[[Campaign, Kind, np.random.Generator], Results | None]


class Expected(Enum):
    """What the score may do."""

    WITHIN = "stays within the range"
    NOT_BETTER = "does not get better"
    NOT_WORSE = "does not get worse"
    SAME = "stays the same"
    WORST = "is the worst there is"
    IDEAL = "is full"


@dataclass(frozen=True)
class Axiom:
    """One thing that a measure owes.

    Parameters
    ----------
    name : str
    title : str
        In a few words.
    words : str
        The exact definition.
    expected : Expected
    change : callable
        What becomes of the results of a campaign; None where it cannot be tried.
    refusing : bool
        Whether it is as good to refuse the changed list.
    no : mapping of Kind to str
        Kinds of lists that it says nothing about, and why.
    """

    name: str
    title: str
    words: str
    expected: Expected
    change: Change
    refusing: bool = False
    no: Mapping[Kind, str] | None = None


# -- changes -----------------------------------------------------------------------------------


def _as_it_is(campaign: Campaign, _: Kind, __: np.random.Generator) -> Results:
    return campaign.results


def _crowded(campaign: Campaign, kind: Kind, rng: np.random.Generator) -> Results:
    """Every result twice, and around each passage one that overlaps it."""
    found: list[Result] = []
    for result in campaign.results:
        found += [result, result]
        if kind is Kind.ELEMENTS:
            found.append(Result(result.doc, *TREES[result.doc]["/a[1]"], "/a[1]"))
        else:
            start = int(rng.integers(0, result.end))
            found.append(Result(result.doc, start, LENGTHS[result.doc]))
    return tuple(found)


def _pick(places: Sequence[int], rng: np.random.Generator) -> int | None:
    return int(rng.choice(places)) if len(places) else None


def _repeated(campaign: Campaign, _: Kind, rng: np.random.Generator) -> Results | None:
    at = _pick(range(len(campaign.results)), rng)
    if at is None:
        return None
    results = campaign.results
    return (*results[: at + 1], results[at], *results[at + 1 :])


def _split(campaign: Campaign, _: Kind, rng: np.random.Generator) -> Results | None:
    results = campaign.results
    even = [
        i for i, r in enumerate(results) if r.size > 1 and (campaign.full(r) or campaign.useless(r))
    ]
    at = _pick(even, rng)
    if at is None:
        return None
    cut = results[at]
    # In the middle as often as elsewhere: some measures ask for half of a passage.
    halved = rng.random() < 0.5
    middle = (cut.start + cut.end) // 2 if halved else int(rng.integers(cut.start + 1, cut.end))
    halves = (cut._replace(end=middle), cut._replace(start=middle))
    return (*results[:at], *halves, *results[at + 1 :])


def _alike(campaign: Campaign, a: Result, b: Result) -> bool:
    """Nothing to choose between two results of one document."""
    return (
        a.doc == b.doc
        and a.size == b.size
        and campaign.worth(a) == campaign.worth(b)
        and any(of(a) and of(b) for of in (campaign.full, campaign.useless))
    )


def _swapped(results: Results, at: int) -> Results:
    return (*results[:at], results[at + 1], results[at], *results[at + 2 :])


def _reordered(campaign: Campaign, kind: Kind, rng: np.random.Generator) -> Results | None:
    results = campaign.results
    at = _pick(
        [
            i
            for i, (a, b) in enumerate(pairwise(results))
            if (a.doc == b.doc if kind is Kind.GROUPED else _alike(campaign, a, b))
        ],
        rng,
    )
    return None if at is None else _swapped(results, at)


def _elsewhere(campaign: Campaign, _: Kind, __: np.random.Generator) -> Results:
    """What lies in a document that may be relevant, moved to the one of the same length."""
    moved = [r._replace(doc=TWINS[r.doc]) for r in campaign.results if r.doc in TWINS]
    return tuple(moved)


def _touching(campaign: Campaign, kind: Kind, rng: np.random.Generator) -> Results | None:
    found: list[Result] = []
    for doc, spans in campaign.relevant.items():
        ends = {end for _, end in spans} | {0}
        starts = {start for start, _ in spans} | {LENGTHS[doc]}
        between = [
            Result(doc, end, min(s for s in starts if s >= end))
            for end in sorted(ends)
            if any(s >= end for s in starts)
        ]
        if kind is Kind.ELEMENTS:
            between = [Result(doc, *place, path) for path, place in TREES[doc].items()]
        free = [r for r in between if r.size and campaign.useless(r)]
        at = _pick(range(len(free)), rng)
        found += [] if at is None else [free[at]]
    return tuple(found) or None


def _nothing(_: Campaign, __: Kind, ___: np.random.Generator) -> Results:
    return ()


def _best(campaign: Campaign, kind: Kind, _: np.random.Generator) -> Results:
    if kind is Kind.ENTRIES:
        return tuple(Result(doc, *spans[0]) for doc, spans in campaign.relevant.items())
    return tuple(Result(d, s, e) for d, spans in campaign.relevant.items() for s, e in spans)


def _longer(campaign: Campaign, kind: Kind, rng: np.random.Generator) -> Results | None:
    free = [d for d in TWINS.values() if all(r.doc != d for r in campaign.results)]
    at = _pick(range(len(free)), rng)
    if at is None:
        return None
    doc = free[at]
    xpath = "/a[1]" if kind is Kind.ELEMENTS else None
    return (*campaign.results, Result(doc, 0, LENGTHS[doc], xpath))


def _promoted(campaign: Campaign, kind: Kind, rng: np.random.Generator) -> Results | None:
    results = campaign.results
    often = [sum(r.doc == other.doc for other in results) for r in results]
    at = _pick(
        [
            i
            for i, (a, b) in enumerate(pairwise(results))
            if a.doc not in campaign.relevant
            and campaign.full(b)
            and (kind is not Kind.GROUPED or often[i] == often[i + 1] == 1)
        ],
        rng,
    )
    return None if at is None else _swapped(results, at)


_UNCUT = {
    Kind.ELEMENTS: "an element cannot be cut in two",
    Kind.ENTRIES: "a document has one result",
}
AXIOMS = (
    Axiom(
        "bounded",
        "scores stay within the range",
        "Whatever a list returns, overlapping text and repeats included, its score lies within the "
        "range that the measure declares, or the list is refused. Where no upper end is declared, "
        "it is the full score; where there is none either, the axiom does not apply.",
        Expected.WITHIN,
        _crowded,
        refusing=True,
    ),
    Axiom(
        "duplicate",
        "a repeat adds nothing",
        "A result that stands in the list twice, right after itself, does not make the score "
        "better; or the list is refused.",
        Expected.NOT_BETTER,
        _repeated,
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
        Expected.NOT_BETTER,
        _split,
        no=_UNCUT,
    ),
    Axiom(
        "order",
        "order within a document",
        "Two results of one document that stand side by side change places. Where results of a "
        "document stand together by rule, the score stays the same; in other lists it stays the "
        "same if both are of one size and relevant throughout, or nowhere, and assessed alike.",
        Expected.SAME,
        _reordered,
        no={Kind.ENTRIES: "a document has one result"},
    ),
    Axiom(
        "document",
        "documents are kept apart",
        "Every result is moved to the same offsets of another document, one without anything "
        "relevant. The score is the worst there is.",
        Expected.WORST,
        _elsewhere,
    ),
    Axiom(
        "touching",
        "touching is not overlapping",
        "All results lie between the relevant passages of relevant documents, from the end of one "
        "to the start of the next or to an end of the document, and share no character with them; "
        "of elements, they hold nothing relevant. The score is the worst there is.",
        Expected.WORST,
        _touching,
    ),
    Axiom(
        "missing",
        "a missing topic is zero",
        "A judged topic of which the run returns nothing has the worst score there is, and is not "
        "left out.",
        Expected.WORST,
        _nothing,
    ),
    Axiom(
        "ideal",
        "ideal is one",
        "A list of exactly the relevant passages, document by document, has the full score that "
        "the measure declares; where a document has one result, it is the first passage.",
        Expected.IDEAL,
        _best,
        no={Kind.ELEMENTS: "which elements are ideal is for the measure to say"},
    ),
    Axiom(
        "tail",
        "a useless result at the end",
        "A document without anything relevant is returned after all others. The score does not get "
        "better.",
        Expected.NOT_BETTER,
        _longer,
    ),
    Axiom(
        "swap",
        "better results first",
        "A result of a document without anything relevant stands right before one that is relevant "
        "throughout; they change places. The score does not get worse. Where results of a document "
        "stand together, both are the only ones of their documents.",
        Expected.NOT_WORSE,
        _promoted,
    ),
)
"""The axioms in their order."""
