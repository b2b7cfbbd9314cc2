"""The measures of other tools agree with naive ones: sets of characters and plain loops."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import campaigns
import naive
from foveal.measures import Measure, all_measures, parse_measure
from foveal.measures.alignment import Alignment, Gold, TopicView
from foveal.model import Run
from scoring import score

Documents = dict[str, naive.Doc]
Results = Sequence[naive.Result]
Chars = set[tuple[str, int]]
OTHERS = [m for m in all_measures() if m.section == "30"]


def chars(spans: Sequence[naive.Result]) -> Chars:
    return {(doc, x) for doc, start, end in spans for x in range(start, end)}


def marked(documents: Documents) -> list[naive.Result]:
    """All spans as they were marked, in their order."""
    return [(doc, s, e) for doc, own in documents.items() for s, e in own.spans if s < e]


def size(spans: Sequence[naive.Result]) -> int:
    return sum(end - start for _, start, end in spans)


def ratio(a: float, b: float) -> float:
    return a / b if b else 0.0


def harmonic(p: float, r: float) -> float:
    return 2 * p * r / (p + r) if p + r else 0.0


# -- chunking_evaluation and LegalBench-RAG -----------------------------------------------------


def ce_recall(results: Results, documents: Documents) -> float:
    references = marked(documents)
    return len(chars(results) & chars(references)) / size(references)


def ce_precision(results: Results, documents: Documents) -> float:
    return ratio(len(chars(results) & chars(marked(documents))), size(results))


def ce_iou(results: Results, documents: Documents) -> float:
    references, returned = marked(documents), chars(results)
    missed = sum(len(chars([reference]) - returned) for reference in references)
    return ratio(len(returned & chars(references)), size(results) + missed)


def ce_precision_omega(results: Results, documents: Documents) -> float:
    references = marked(documents)
    meeting = [
        (doc, s, e)
        for doc, s, e in results
        if any(doc == d and s <= b and a <= e for d, a, b in references)
    ]
    found = chars(meeting) & chars(references)
    return len(found) / len(chars(meeting) | chars(references)) if meeting else 0.0


def lbr_precision(results: Results, documents: Documents) -> float:
    relevant = chars(marked(documents))
    return ratio(sum(len(chars([r]) & relevant) for r in results), size(results))


def lbr_recall(results: Results, documents: Documents) -> float:
    relevant = chars(marked(documents))
    return sum(len(chars([r]) & relevant) for r in results) / len(relevant)


# -- TREC Genomics ------------------------------------------------------------------------------


def first_met(result: naive.Result, passages: Sequence[naive.Result]) -> tuple[int, int] | None:
    """The first passage that shares text with a result, and how much."""
    for number, passage in enumerate(passages):
        common = len(chars([result]) & chars([passage]))
        if common:
            return number, common
    return None


def gen_document(results: Results, documents: Documents) -> float:
    return naive.AP(results, documents)


def gen_passage(results: Results, documents: Documents) -> float:
    passages = marked(documents)
    read, good, total, relevant, found = 0, 0, 0.0, 0, set()
    for result in results:
        read += size([result])
        met = first_met(result, passages)
        if met is not None:
            relevant += 1
            good += met[1]
            total += good / read
            found.add(passages[met[0]])
    return total / (relevant + len(set(passages) - found))


def gen_aspect(
    results: Results, documents: Documents, aspects: Sequence[Sequence[str]] | None = None
) -> float:
    passages = marked(documents)
    shown = [set(a) or {n} for n, a in enumerate(aspects or [()] * len(passages))]
    known: set[object] = set()
    hits, rank, total = 0, 0, 0.0
    for result in results:
        met = first_met(result, passages)
        if met is None:
            rank += 1
            continue
        new = shown[met[0]] - known
        if new:
            hits, rank = hits + 1, rank + 1
            total += len(new) * hits / rank
            known |= new
    return total / len(set().union(*shown))


def gen_passage2(results: Results, documents: Documents) -> float:
    relevant, seen = chars(marked(documents)), set()
    hits, read, total = 0, 0, 0.0
    for doc, start, end in results:
        for x in range(start, end):
            char = doc, x
            if char in relevant and char in seen:
                continue
            read += 1
            if char in relevant:
                seen.add(char)
                hits += 1
                total += hits / read
    return total / len(relevant)


# -- BioASQ -------------------------------------------------------------------------------------


def merged(snippets: Sequence[naive.Result]) -> list[naive.Result]:
    """Snippets with closed ends that share a character made one, at the place of the first."""
    left = list(snippets)
    changed = True
    while changed:
        changed = False
        for i in range(len(left)):
            for j in range(i + 1, len(left)):
                (d, a, b), (other, x, y) = left[i], left[j]
                if d == other and a <= y and x <= b:
                    left[i] = d, min(a, x), max(b, y)
                    del left[j]
                    changed = True
                    break
            if changed:
                break
    return left


def snippets(results: Results, documents: Documents) -> tuple[list[Chars], list[Chars], list[str]]:
    returned, golden = merged(results), merged(marked(documents))

    def closed(spans: list[naive.Result]) -> list[Chars]:
        return [chars([(doc, start, end + 1)]) for doc, start, end in spans]

    return closed(returned), closed(golden), [doc for doc, _, _ in returned]


def bio_precision(results: Results, documents: Documents) -> float:
    returned, golden, _ = snippets(results, documents)
    overlap = sum(len(r & g) for r in returned for g in golden)
    return ratio(overlap, sum(map(len, returned)))


def bio_recall(results: Results, documents: Documents) -> float:
    returned, golden, _ = snippets(results, documents)
    return sum(len(r & g) for r in returned for g in golden) / sum(map(len, golden))


def bio_f1(results: Results, documents: Documents) -> float:
    return harmonic(bio_precision(results, documents), bio_recall(results, documents))


def bio_ap(results: Results, documents: Documents) -> float:
    returned, golden, docs = snippets(results, documents)
    of_golden = {doc for own in golden for doc, _ in own}
    total = 0.0
    for i, doc in enumerate(docs):
        read = returned[: i + 1]
        overlap = sum(len(r & g) for r in read for g in golden)
        total += (doc in of_golden) * overlap / sum(map(len, read))
    return total / min(10, len(golden))


# -- ERASER and SQuAD ---------------------------------------------------------------------------


def matches(results: Results, documents: Documents) -> tuple[int, int, int]:
    truth, found = set(marked(documents)), 0
    for result in set(results):
        own = chars([result])
        ious = [len(own & chars([t])) / len(own | chars([t])) for t in truth]
        found += max(ious, default=0) >= 0.5
    return found, len(set(results)), len(truth)


def eraser_iou_p(results: Results, documents: Documents) -> float:
    found, returned, _ = matches(results, documents)
    return ratio(found, returned)


def eraser_iou_r(results: Results, documents: Documents) -> float:
    found, _, truth = matches(results, documents)
    return found / truth


def eraser_iou_f1(results: Results, documents: Documents) -> float:
    return harmonic(eraser_iou_p(results, documents), eraser_iou_r(results, documents))


def squad_f1(
    results: Results, documents: Documents, sets: Sequence[Sequence[str]] | None = None
) -> float:
    spans, returned = marked(documents), chars(results)
    own = [list(names) for names in sets or [()] * len(spans)]
    best = 0.0
    for name in {name for names in own for name in names} or {None}:
        answer = chars(
            [s for s, names in zip(spans, own, strict=True) if not names or name in names]
        )
        best = max(best, 2 * len(returned & answer) / (len(returned) + len(answer)))
    return best


NAIVE: dict[str, Callable[..., float]] = {m.name: globals()[m.name] for m in OTHERS}


@pytest.mark.parametrize("measure", OTHERS, ids=lambda m: m.name)
@given(campaign=campaigns.campaigns())
@settings(max_examples=30)
def test_fast_equals_naive(measure: Measure, campaign: campaigns.Campaign) -> None:
    results, documents = campaign
    nothing = not any(s < e for doc in documents.values() for s, e in doc.spans)
    fast = campaigns.score(measure, *campaign)
    if nothing:
        assert math.isnan(fast)
    else:
        assert fast == pytest.approx(NAIVE[measure.name](results, documents), abs=1e-12)
    # The policy for overlap is part of these measures, not an option.
    again = campaigns.score(measure, *campaign, union=True)
    assert again == fast or nothing


@pytest.mark.parametrize("measure", [m for m in OTHERS if m.cutoff.value != "no cut-off"], ids=str)
@given(campaign=campaigns.campaigns(), rank=st.integers(1, 9))
@settings(max_examples=15)
def test_a_cut_off_is_a_shorter_list(
    measure: Measure, campaign: campaigns.Campaign, rank: int
) -> None:
    results, documents = campaign
    at, cut = (
        campaigns.score(m, own, documents)
        for m, own in ((measure @ rank, results), (measure, results[:rank]))
    )
    assert at == cut or (math.isnan(at) and math.isnan(cut))


names = st.lists(st.sampled_from(["a", "b", "c"]), unique=True)


@st.composite
def labelled(draw: st.DrawFn) -> tuple[campaigns.Campaign, list[list[str]]]:
    """A campaign in which every marked span that holds text has some names, or none."""
    results, documents = draw(campaigns.campaigns())
    return (results, documents), [draw(names) for _ in marked(documents)]


def view(campaign: campaigns.Campaign, column: str, labels: list[list[str]]) -> TopicView:
    results, documents = campaign
    judgements = campaigns.judgements_of(documents)
    own = iter(labels)
    given_to = [next(own) if s < e else [] for d in documents.values() for s, e in d.spans]
    series = pl.Series(given_to, dtype=pl.List(pl.String))
    gold = Gold(replace(judgements, **{column: series}).combined())
    run = Run.from_results({"t": results} if results else {})
    return Alignment(run, gold).topic("t")


@pytest.mark.parametrize(("name", "column"), [("gen_aspect", "aspects"), ("squad_f1", "sets")])
@given(drawn=labelled())
@settings(max_examples=30)
def test_names_of_spans_count_as_in_the_naive_measure(
    name: str, column: str, drawn: tuple[campaigns.Campaign, list[list[str]]]
) -> None:
    campaign, labels = drawn
    fast = score(parse_measure(name), view(campaign, column, labels))
    if not labels:
        assert math.isnan(fast)
    else:
        assert fast == pytest.approx(NAIVE[name](*campaign, labels), abs=1e-12)
