"""The invariants that the specification lists for measures of structure, on random trees.

Trees come with mixed content, parents that their only child fills, elements without text, repeats
and overlap. A drawn campaign passes through readers and index once; the runs that an invariant
compares are then laid over the same judgements, so that a test can afford to try all of them.
Tests are named after the sections.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import combinations

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import structures
import trees
from foveal.errors import UsageError
from foveal.measures import parse_measure
from foveal.measures.alignment import Alignment, Gold, TopicView
from foveal.measures.precall import precall
from foveal.measures.xcg import XCG
from foveal.model import Run
from foveal.recall import QUANTISATIONS, Forest
from foveal.recall.forest import find_quantisation
from naive_structure import Document, Key, Node, Result, elements
from scoring import score
from trees import Campaign

quick = settings(max_examples=15)
picks = st.integers(0, 10)
TOLERANCE = 1e-12
USELESS = Result("N", "/a[1]")
"""Of a document that every campaign here has, judged and without anything relevant."""


class Trial:
    """A campaign that has been read, and any other run on it."""

    def __init__(self, campaign: Campaign, topic: TopicView) -> None:
        self.documents = campaign.documents
        self.results = campaign.results
        self.topic = topic
        self.gold: Gold = topic.alignment.gold
        assert self.gold.forest is not None
        self.forest: Forest = self.gold.forest
        self.nodes = elements(campaign.documents)
        self.scale = self.forest.assessed.scale
        self.quants = [name for name in QUANTISATIONS if fits(name, self.scale)]
        self._topics: dict[tuple[Result, ...], TopicView] = {}

    def over(self, results: Sequence[Result]) -> TopicView:
        """The judgements with another run."""
        key = tuple(results)
        if key not in self._topics:
            self._topics[key] = self._over(results)
        return self._topics[key]

    def _over(self, results: Sequence[Result]) -> TopicView:
        if not results:
            return Alignment(Run.from_results({}), self.gold).topic("t")
        scored = any(result.rsv is not None for result in results)
        place = [self.nodes[result.doc, result.xpath] for result in results]
        ranks = [k if r.rank is None else r.rank for k, r in enumerate(results, start=1)]
        columns = {
            "doc": [result.doc for result in results],
            "start": [node.start for node in place],
            "end": [node.end for node in place],
            "rank": ranks,
            "xpath": [result.xpath for result in results],
        }
        frame = pl.DataFrame(columns).with_columns(topic=pl.lit("t"))
        if scored:
            scores = [result.rsv for result in results]
            frame = frame.with_columns(score=pl.Series(scores, dtype=pl.Float64))
        run = Run.from_frame(frame, name="other")
        return Alignment(run, self.gold).topic("t")

    def value(self, results: Sequence[Result], measure: str) -> float:
        return score(parse_measure(measure), self.over(results))

    def gains(self, results: Sequence[Result], options: str) -> tuple[list[float], list[float]]:
        """(xG, xI): of the run, and of its ideal list."""
        measure = parse_measure(f"xCG({options})@1")
        assert isinstance(measure, XCG)
        gains, ideal = measure.gain_lists(self.over(results))
        return gains.tolist(), ideal.gains.tolist()

    def worth(self, quant: str) -> dict[Key, float]:
        """What each element of the judged documents is worth."""
        forest = self.forest
        docs = self.gold.judgements.doc.gather(forest.row)
        return dict(zip(zip(docs, forest.xpath, strict=True), forest.worth(quant), strict=True))

    def relevant_quants(self, pick: int) -> list[str]:
        """Two of the quantisations under which anything is relevant; few are enough at a time."""
        found = [quant for quant in self.quants if self.forest.worth(quant).any()]
        at = pick % len(found) if found else 0
        return [*found[at:], *found[:at]][:2]

    def any_strict(self) -> bool:
        return bool(self.forest.worth("strict").any())


@contextmanager
def tried(campaign: Campaign) -> Iterator[Trial]:
    scale = campaign.documents["D1"].scale
    barren = Document(Node("a", 0, 7), scale=scale)
    campaign = Campaign(campaign.results, {**campaign.documents, USELESS.doc: barren})
    with structures.view(campaign) as topic:
        yield Trial(campaign, topic)


def fits(quant: str, scale: str) -> bool:
    try:
        find_quantisation(quant, scale)
    except UsageError:
        return False
    return True


def key_of(result: Result) -> Key:
    return result.doc, result.xpath


def same(value: float) -> object:
    return pytest.approx(value, abs=TOLERANCE, nan_ok=True)


# -- Section 4: inex_eval --------------------------------------------------------------------------


@pytest.mark.parametrize("i", range(5))
@pytest.mark.parametrize("r", range(1, 5))
def test_4_expected_search_length_by_enumeration(r: int, i: int) -> None:
    """All orders of a tie group: how many useless results come before the s-th relevant one."""
    orders = list(combinations(range(r + i), r))
    for waste in (0.0, 2.0):  # in the group before
        relevant, rest = np.array([0.0, r]), np.array([waste, i])
        for s in range(1, r + 1):
            mean = sum(order[s - 1] - (s - 1) for order in orders) / len(orders)
            (found,) = precall(relevant, rest, r, np.array([float(s)]))
            assert found == pytest.approx(s / (s + waste + mean), abs=TOLERANCE)


# -- Section 6: gains ------------------------------------------------------------------------------


def test_6_subtree_budgets_do_not_bound_gains_in_mixed_content() -> None:
    """The specification states the bound for alpha = 1 and any norm; here is why it cannot.

    What s gains is not charged to p, the ideal element in it, so the text around s is gained too.
    """
    tree = Node("a", 0, 100, (Node("s", 0, 10, (Node("p", 0, 5),)),))
    documents = {"D1": Document(tree, ((0, 9), (10, 51)))}
    run = [Result("D1", "/a[1]/s[1]"), Result("D1", "/a[1]")]
    with tried(Campaign(run, documents)) as trial:
        assert trial.gains(run, "overlap=on")[0] == pytest.approx([0.9, 0.41])
        assert trial.value(run, "gr(overlap=on)@2") == pytest.approx(1.31)
        assert trial.value(run, "gr(overlap=on,norm=overlap)@2") == pytest.approx(1)
        assert trial.value(run, "gr(overlap=on,mixed=ignore)@2") == pytest.approx(0.9)


# -- Sections 7 to 9: what is made of gains --------------------------------------------------------

ON = "overlap=on"
AT_RANK = ("xCG", "nxCG", "MAnxCG", "gr")
OVERALL = ("MAep", "iMAep", "Q", "Rmeasure")


def test_9_the_scale_of_gains_does_matter_to_q_and_r() -> None:
    """The bonus of 1 for a hit is little beside large gains."""
    tree = Node("a", 0, 10, (Node("p", 0, 5), Node("p", 5, 10)))
    grades = {"/a[1]/p[1]": "2", "/a[1]/p[2]": "1"}
    documents = {"D1": Document(tree, ((0, 10),), grades=grades, scale="2005")}
    run = [Result("D1", "/a[1]/p[2]"), Result("D1", "/a[1]/p[1]")]
    with tried(Campaign(run, documents)) as trial:
        for name, at_once in (("Q", False), ("Rmeasure", True)):
            plain, normalised = (
                trial.value(run[:1] if at_once else run, f"{name}(quant=gen5,normalise={flag})")
                for flag in ("false", "true")
            )
            assert plain < normalised


# -- Section 15 and 26: readers, the classic reduction, overlap ------------------------------------


CLASSIC = (
    "MAep",
    "MAep(overlap=on)",
    "MAep(quant=strict)",
    "EPRUM",
    "EPRUM(targets=ideal)",
    "EPRUM(targets=passages)",
    "AgP",
    "AgP(score=BEP)",
    "T2I",
)


@given(st.lists(st.booleans(), min_size=1, max_size=9), st.integers(0, 3))
@quick
def test_26_the_classic_reduction(relevance: list[bool], missed: int) -> None:
    """Whole documents, relevant throughout or not at all: all are average precision."""
    grades = [*relevance, *[True] * missed]
    assume(any(grades))
    documents = {
        f"D{i}": Document(Node("a", 0, 5), ((0, 5),) if grade else (), 0 if grade else None)
        for i, grade in enumerate(grades, start=1)
    }
    run = [Result(f"D{i}", "/a[1]") for i in range(1, len(relevance) + 1)]
    hits = [sum(grades[:k]) / k for k in range(1, len(run) + 1) if grades[k - 1]]
    average = sum(hits) / sum(grades)
    with tried(Campaign(run, documents)) as trial:
        assert trial.value(run, "AP") == same(average)
        assert {name: trial.value(run, name) for name in CLASSIC} == {
            name: same(average) for name in CLASSIC
        }


def text_of(trial: Trial, results: Iterable[Result]) -> set[tuple[str, int]]:
    return {
        (result.doc, offset)
        for result in results
        for node in [trial.nodes[key_of(result)]]
        for offset in range(node.start, node.end)
    }


def highlighted(trial: Trial) -> set[tuple[str, int]]:
    return {
        (name, offset)
        for name, document in trial.documents.items()
        if document.judged
        for start, end in document.highlights
        for offset in range(start, end)
    }


@given(trees.campaigns(scales=("2005", "2006"), max_results=5), picks)
@quick
def test_26_overlap_neutral_measures_reward_no_relevant_text_twice(
    campaign: Campaign, pick: int
) -> None:
    """XCG with overlap=on and alpha=1, HiXEval with alpha=1."""
    with tried(campaign) as trial:
        results = [Result(*key_of(result)) for result in trial.results]
        end = len(results) + len(trial.nodes)
        spec = [f"{name}({ON})" for name in OVERALL] + [f"{n}({ON})@{end}" for n in AT_RANK]
        others = [
            f"{name}(quant={quant},{ON},mixed=ignore)"
            for quant in trial.relevant_quants(pick)
            for name in ("MAep", "Q")
        ]
        text = [f"{name}@{end}" for name in ("HiP", "HiR", "HiF")]
        measures = [*spec, *others, *text]
        before = {measure: trial.value(results, measure) for measure in measures}
        seen, relevant = text_of(trial, results), highlighted(trial)
        for key in trial.nodes:
            again = Result(*key)
            if not (text_of(trial, [again]) - seen) & relevant:
                topic = trial.over([*results, again])
                for measure, value in before.items():
                    assert score(parse_measure(measure), topic) <= value + TOLERANCE, (
                        again,
                        measure,
                    )


def test_26_quantisations_other_than_spec_reward_text_that_is_merely_new() -> None:
    """What is left of a partly seen element is then its worth times its unseen direct text.

    With mixed=text, a measure that is overlap-neutral by specificity is not so here: the text that
    a brings is new, but not relevant.
    """
    tree = Node("a", 0, 10, (Node("p", 0, 5),))
    grades = {"/a[1]": "2", "/a[1]/p[1]": "1"}
    documents = {"D1": Document(tree, ((0, 5),), grades=grades, scale="2005")}
    part, whole = Result("D1", "/a[1]/p[1]"), Result("D1", "/a[1]")
    with tried(Campaign([part], documents)) as trial:
        raw = "overlap=on,norm=none"
        assert trial.gains([part, whole], raw)[0] == [1, 0]
        assert trial.gains([part, whole], f"quant=gen5,{raw}")[0] == [1, 0.5]
        assert trial.gains([part, whole], f"quant=gen5,{raw},mixed=ignore")[0] == [1, 0]
