"""Random small campaigns for property tests, and the way to score them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache

from hypothesis import strategies as st

import naive
import scoring
from foveal.measures import Measure
from foveal.measures.alignment import Alignment, Gold, Overlap, TopicView
from foveal.model import Judgements, Run

JUDGED_DOCS = ("A", "B", "C", "𝄞")
UNJUDGED = "U"
UNJUDGED_LENGTH = 30

Campaign = tuple[list[naive.Result], dict[str, naive.Doc]]


@st.composite
def spans(draw: st.DrawFn, length: int, *, empty: bool = True) -> tuple[int, int]:
    start = draw(st.integers(0, length - (not empty)))
    return start, draw(st.integers(start + (not empty), length))


@st.composite
def judged_documents(draw: st.DrawFn) -> dict[str, naive.Doc]:
    documents = {}
    for name in JUDGED_DOCS:
        length = draw(st.integers(1, 40))
        highlighted = tuple(draw(st.lists(spans(length), max_size=3)))
        bep = draw(st.none() | st.integers(0, length))
        documents[name] = naive.Doc(length, highlighted, bep)
    return documents


@st.composite
def campaigns(draw: st.DrawFn, *, max_results: int = 8) -> Campaign:
    """Results with overlap, repeats, empty spans and an unjudged document."""
    documents = draw(judged_documents())
    lengths = {name: doc.length for name, doc in documents.items()} | {UNJUDGED: UNJUDGED_LENGTH}
    results = []
    for name in draw(st.lists(st.sampled_from(sorted(lengths)), max_size=max_results)):
        results.append((name, *draw(spans(lengths[name]))))
    if results and draw(st.booleans()):
        results.append(draw(st.sampled_from(results)))
    return results, documents


def judgements_of(documents: Mapping[str, naive.Doc]) -> Judgements:
    """Judge the documents for topic "t"; another topic makes the unjudged one's length known."""
    entries = {
        name: {"length": doc.length, "spans": doc.spans, "bep": doc.bep}
        for name, doc in documents.items()
    }
    other = {UNJUDGED: {"length": UNJUDGED_LENGTH, "spans": []}}
    return Judgements.from_highlights({"t": entries, "zz": other})


def view(
    results: Sequence[naive.Result], documents: Mapping[str, naive.Doc], *, union: bool = False
) -> TopicView:
    """Return the topic as measures see it: made once for all that look at the same campaign."""
    return _view(tuple(results), tuple(documents.items()), union=union)


@lru_cache(maxsize=256)
def _view(
    results: tuple[naive.Result, ...], documents: tuple[tuple[str, naive.Doc], ...], *, union: bool
) -> TopicView:
    gold = Gold(judgements_of(dict(documents)).combined())
    run = Run.from_results({"t": results} if results else {})
    return Alignment(run, gold).with_overlap(overlap_of(union=union)).topic("t")


def overlap_of(*, union: bool) -> Overlap:
    return Overlap.UNION if union else Overlap.UNCHANGED


def new_view(results: Sequence[naive.Result], documents: Mapping[str, naive.Doc]) -> TopicView:
    """Return a view that no measure has used yet."""
    return _view.__wrapped__(tuple(results), tuple(documents.items()), union=False)


def score(
    measure: Measure,
    results: Sequence[naive.Result],
    documents: Mapping[str, naive.Doc],
    *,
    union: bool = False,
) -> float:
    return scoring.score(measure, view(results, documents, union=union))
