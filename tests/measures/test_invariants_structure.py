"""The invariants that the specification lists for measures of structure, on random trees.

Trees come with mixed content, parents that their only child fills, elements without text, repeats
and overlap. A drawn campaign passes through readers and index once; the runs that an invariant
compares are then laid over the same judgements, so that a test can afford to try all of them.
Tests are named after the sections.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import combinations, pairwise

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
from foveal.measures.precall import InexEvalNg, precall
from foveal.measures.xcg import XCG, cumulate, find_points
from foveal.model import Run
from foveal.recall import QUANTISATIONS, ElementGrades, Forest, ideal_base
from foveal.recall.forest import find_quantisation
from naive_structure import Document, Key, Node, Result, elements, is_below
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
        rows = {
            "topic": pl.Series(["t"] * len(results)),
            "doc": pl.Series([result.doc for result in results]),
            "start": np.array([node.start for node in place]),
            "end": np.array([node.end for node in place]),
            "score": np.array([result.rsv for result in results], float) if scored else None,
            "rank": np.array(ranks),
            "xpath": pl.Series([result.xpath for result in results]),
        }
        run = Run.from_frame(rows, name="other")
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


def once(results: Iterable[Result]) -> list[Result]:
    """The results without scores, ranks and repeats."""
    return [Result(*key) for key in dict.fromkeys(map(key_of, results))]


def nested(a: Result, b: Result) -> bool:
    return key_of(a) == key_of(b) or any(
        is_below(key_of(x), key_of(y)) for x, y in ((a, b), (b, a))
    )


def same(value: float) -> object:
    return pytest.approx(value, abs=TOLERANCE, nan_ok=True)


@given(trees.campaigns())
@quick
def test_runs_laid_over_are_as_runs_read(campaign: Campaign) -> None:
    with tried(campaign) as trial:
        for quant in trial.quants:
            for measure in (f"inex_eval(quant={quant})", f"Q(quant={quant},overlap=on)"):
                read = score(parse_measure(measure), trial.topic)
                assert trial.value(trial.results, measure) == same(read)


# --------------------------------------------------------------------------------------------
# Sections 2 and 3
# --------------------------------------------------------------------------------------------

PAIRS = [(0, 0), *((e, s) for e in (1, 2, 3) for s in (1, 2, 3))]
PAIRS_2002 = [(0, 0), (1, 1), (1, 2), (1, 3), (2, 1), (2, 2), (2, 3), (3, 2), (3, 3)]
PAIRS_2005 = [(e, s / 4) for e in (0, 1, 2) for s in range(5)]
SCALES = {"2002": PAIRS_2002, "2003": PAIRS, "2005": PAIRS_2005}


def on_all_grades(quant: str, scale: str) -> dict[tuple[float, float], float]:
    """A function at every pair of grades of a scale."""
    first, second = (np.array(column) for column in zip(*SCALES[scale], strict=True))
    assessed = ElementGrades(scale, first, second.astype(float), np.zeros(len(first), dtype=bool))
    worth = find_quantisation(quant, scale).worth(assessed)
    return dict(zip(SCALES[scale], worth.tolist(), strict=True))


@pytest.mark.parametrize("scale", SCALES)
def test_2_strict_is_below_every_other_function(scale: str) -> None:
    strict = on_all_grades("strict", scale)
    for quant in QUANTISATIONS:
        if fits(quant, scale):
            assert all(strict[pair] <= q for pair, q in on_all_grades(quant, scale).items())


@pytest.mark.parametrize(("narrow", "wide"), [("e3s32", "e3s321"), ("s3e32", "s3e321")])
def test_2_functions_that_ask_for_more_give_less(narrow: str, wide: str) -> None:
    assert all(
        on_all_grades(wide, "2003")[p] >= q for p, q in on_all_grades(narrow, "2003").items()
    )


@pytest.mark.parametrize(
    ("quant", "scale"),
    [("gen3", "2003"), ("sog", "2003"), ("enc_gen", "2003"), ("gen5", "2005"), ("enc_gen", "2005")],
)
def test_2_generalised_functions_grow_with_each_grade(quant: str, scale: str) -> None:
    table = on_all_grades(quant, scale)
    for a, b in combinations(table, 2):
        low, high = sorted((a, b))
        if low[1] <= high[1]:
            assert table[low] <= table[high]


@given(trees.campaigns())
@quick
def test_3_ideal_recall_bases(campaign: Campaign) -> None:
    with tried(campaign) as trial:
        strict = trial.worth("strict")
        for quant in trial.quants:
            worth = trial.worth(quant)
            assert all(strict[key] <= q for key, q in worth.items())
            for base, tie in (
                ("ideal", "ascendant"),
                ("ideal", "deeper"),
                ("maxsum", "ascendant"),
                ("maxsum", "deeper"),
            ):
                chosen = ideal_base(trial.forest, trial.forest.worth(quant), base=base, tie=tie)
                ideals = [key for key, ideal in zip(worth, chosen.ideal, strict=True) if ideal]
                _is_ideal(worth, ideals)
                if set(worth.values()) <= {0, 1} and (base, tie) == ("ideal", "ascendant"):
                    assert set(ideals) == set(_top_most(worth))


def _is_ideal(worth: dict[Key, float], ideals: list[Key]) -> None:
    """Relevant, without overlap, and on a path with every relevant element."""
    full = [key for key, q in worth.items() if q > 0]
    assert set(ideals) <= set(full)
    assert not any(is_below(a, b) or is_below(b, a) for a, b in combinations(ideals, 2))
    for key in full:
        assert any(key == i or is_below(key, i) or is_below(i, key) for i in ideals)


def _top_most(worth: dict[Key, float]) -> list[Key]:
    full = [key for key, q in worth.items() if q > 0]
    return [key for key in full if not any(is_below(key, other) for other in full)]


# --------------------------------------------------------------------------------------------
# Section 4: inex_eval
# --------------------------------------------------------------------------------------------

LEVELS = ("0.03", "0.25", "0.5", "0.77", "1")


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


def groups_of(topic: TopicView, results: Sequence[Result]) -> list[list[Result]]:
    found: list[list[Result]] = [[] for _ in range(topic.n and int(topic.ties[-1]) + 1)]
    for result, group in zip(results, topic.ties.tolist(), strict=True):
        found[group].append(result)
    return found


@given(trees.campaigns(), picks)
@quick
def test_4_tie_groups(campaign: Campaign, pick: int) -> None:
    with tried(campaign) as trial:
        results = trial.results
        groups = groups_of(trial.over(results), results)
        turned = [result for group in groups for result in reversed(group)]
        for quant in trial.relevant_quants(pick):
            for at in LEVELS:
                measure = f"inex_eval(quant={quant})@{at}"
                value = trial.value(results, measure)
                assert 0 <= value <= 1
                assert trial.value(turned, measure) == same(value)
        _refined(trial)


def _refined(trial: Trial) -> None:
    """Binary: relevant results of a tie group first is better than the group, last is worse."""
    if not trial.any_strict():
        return
    distinct = list({key_of(result): result for result in reversed(trial.results)}.values())[::-1]
    groups, worth = groups_of(trial.over(distinct), distinct), trial.worth("strict")

    def ordered(*, last: bool) -> list[Result]:
        ranked = [sorted(g, key=lambda r: -worth.get(key_of(r), 0)) for g in groups]
        return once(r for group in ranked for r in (reversed(group) if last else group))

    for at in LEVELS:
        measure = f"inex_eval(quant=strict)@{at}"
        tied = trial.value(distinct, measure)
        assert trial.value(ordered(last=False), measure) >= tied - TOLERANCE
        assert trial.value(ordered(last=True), measure) <= tied + TOLERANCE


@given(trees.campaigns(), picks)
@quick
def test_4_without_ties(campaign: Campaign, pick: int) -> None:
    with tried(campaign) as trial:
        results = once(trial.results)
        for quant in trial.relevant_quants(pick):
            for at in LEVELS:
                encyclopedia = trial.value(
                    results, f"inex_eval(quant={quant},form=encyclopedia)@{at}"
                )
                assert (
                    encyclopedia
                    <= trial.value(results, f"inex_eval(quant={quant})@{at}") + TOLERANCE
                )
        _binary(trial, results)


def _binary(trial: Trial, results: list[Result]) -> None:
    """At the natural points of binary relevance it is precision, and 1 for an ideal run."""
    worth = trial.worth("strict")
    relevant = [Result(*key) for key, q in worth.items() if q]
    if not relevant:
        return
    hits = [k for k, r in enumerate(results, start=1) if worth.get(key_of(r), 0)]
    for number, rank in enumerate(hits, start=1):
        at = f"{number / len(relevant):.12f}"
        for form in ("precall", "encyclopedia"):
            found = trial.value(results, f"inex_eval(quant=strict,form={form})@{at}")
            assert found == pytest.approx(number / rank, abs=1e-9)
    assert trial.value(relevant, "inex_eval(quant=strict)") == same(1)


# --------------------------------------------------------------------------------------------
# Section 5: inex_eval_ng
# --------------------------------------------------------------------------------------------


def ng_points(trial: Trial, results: Sequence[Result], variant: str) -> list[tuple[float, float]]:
    """Recall and precision at every rank."""
    measure = parse_measure(f"inex_eval_ng(variant={variant})")
    assert isinstance(measure, InexEvalNg)
    recall, precision = measure.points(trial.over(results))
    return list(zip(recall.tolist(), precision.tolist(), strict=True))


@given(trees.campaigns(scales=("2003", "2005")))
@quick
def test_5_variants(campaign: Campaign) -> None:
    with tried(campaign) as trial:
        results = trial.results
        assume(results and not math.isnan(trial.value(results, "inex_eval_ng")))
        o, s = (ng_points(trial, results, variant) for variant in "os")
        assert all(a <= b + TOLERANCE for (a, _), (b, _) in zip(o, s, strict=True))
        assert all(-TOLERANCE <= x <= 1 + TOLERANCE for point in o + s for x in point)
        apart: list[Result] = []
        for result in once(results):
            if not any(nested(result, other) for other in apart):
                apart.append(result)
        for a, b in zip(*(ng_points(trial, apart, variant) for variant in "os"), strict=True):
            assert a == pytest.approx(b, abs=TOLERANCE)
        for variant, points in (("o", o), ("s", s)):
            *_, (recall, precision) = ng_points(trial, [*results, USELESS], variant)
            assert recall == points[-1][0]
            assert precision < points[-1][1] or points[-1][1] == 0


# --------------------------------------------------------------------------------------------
# Section 6: gains
# --------------------------------------------------------------------------------------------


@given(trees.campaigns(), picks)
@quick
def test_6_gains_are_bounded(campaign: Campaign, pick: int) -> None:
    """By the ideal list at every rank, if gains above ideal elements are charged to them, or if
    text directly inside elements does not count.
    """
    with tried(campaign) as trial:
        for quant in trial.relevant_quants(pick):
            for tie in ("ascendant", "deeper"):
                for bound in ("norm=overlap", "mixed=ignore"):
                    options = f"quant={quant},overlap=on,tie={tie},{bound}"
                    _below_ideal(*trial.gains(trial.results, options))
            for alpha in (0, 0.5):
                options = f"quant={quant},overlap=on,alpha={alpha},norm=overlap"
                xG, xI = trial.gains(trial.results, options)
                assert min(xG, default=0) >= 0
                assert sum(xG) <= sum(xI) * (1 + TOLERANCE)


def _below_ideal(xG: list[float], xI: list[float]) -> None:
    for k in range(1, len(xG) + 1):
        assert sum(xG[:k]) <= sum(xI[:k]) * (1 + TOLERANCE)


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


@given(trees.campaigns(), picks)
@quick
def test_6_overlap_that_does_not_matter(campaign: Campaign, pick: int) -> None:
    """Without alpha and norm, gains are thorough; with the clamp no element is worth more later."""
    with tried(campaign) as trial:
        distinct = once(trial.results)
        for quant in trial.relevant_quants(pick):
            thorough, _ = trial.gains(distinct, f"quant={quant}")
            unaware, _ = trial.gains(distinct, f"quant={quant},overlap=on,alpha=0,norm=none")
            assert unaware == pytest.approx(thorough, abs=TOLERANCE)
            for alpha in (0.3, 1):
                for mixed in ("text", "ignore"):
                    options = f"quant={quant},overlap=on,norm=none,alpha={alpha},mixed={mixed}"
                    later, _ = trial.gains(distinct, options)
                    both = zip(later, thorough, strict=True)
                    assert all(0 <= gain <= q + TOLERANCE for gain, q in both)


# --------------------------------------------------------------------------------------------
# Sections 7 to 9: what is made of gains
# --------------------------------------------------------------------------------------------

OFF, ON = "overlap=off", "overlap=on"
AT_RANK = ("xCG", "nxCG", "MAnxCG", "gr")
OVERALL = ("MAep", "iMAep", "Q", "Rmeasure")


@given(trees.campaigns(max_results=6), picks)
@quick
def test_7_ranks(campaign: Campaign, pick: int) -> None:
    with tried(campaign) as trial:
        results = [Result(*key_of(result)) for result in trial.results]
        for quant in trial.relevant_quants(pick):
            for overlap in (OFF, ON):
                options = f"quant={quant},{overlap}"
                _later_results_are_ignored(trial, results, options)
                _after_both_ends(trial, results, options)
                _swapped_neighbours(trial, results, options)


def _later_results_are_ignored(trial: Trial, results: list[Result], options: str) -> None:
    for k in (1, 3):
        for name in AT_RANK:
            measure = f"{name}({options})@{k}"
            assert trial.value(results[:k], measure) == same(trial.value(results, measure))


def _after_both_ends(trial: Trial, results: list[Result], options: str) -> None:
    """nxCG is gain-recall, and another result that gains nothing changes nothing."""
    end = max(len(results), len(trial.gains(results, options)[1]))
    for k in (end, end + 3):
        recall = trial.value(results, f"gr({options})@{k}")
        assert trial.value(results, f"nxCG({options})@{k}") == same(recall)
    for measure in (*(f"{name}({options})@{end + 1}" for name in AT_RANK),):
        assert trial.value([*results, USELESS], measure) == same(trial.value(results, measure))


def _swapped_neighbours(trial: Trial, results: list[Result], options: str) -> None:
    """Only the first of both ranks changes; with overlap=on, of results that do not overlap."""
    for i, (first, second) in enumerate(pairwise(results)):
        if ON in options and nested(first, second):
            continue
        swapped = [*results[:i], second, first, *results[i + 2 :]]
        for k in {*range(1, len(results) + 1)} - {i + 1}:
            measure = f"nxCG({options})@{k}"
            assert trial.value(swapped, measure) == same(trial.value(results, measure))


@given(trees.campaigns(), picks)
@quick
def test_8_and_9_bounds_and_useless_results(campaign: Campaign, pick: int) -> None:
    with tried(campaign) as trial:
        results = [Result(*key_of(result)) for result in trial.results]
        for quant in trial.relevant_quants(pick):
            for options in (f"quant={quant},{OFF}", f"quant={quant},{ON},norm=overlap"):
                _between_zero_and_one(trial, results, options)
                _useless_results(trial, results, options)


def _between_zero_and_one(trial: Trial, results: list[Result], options: str) -> None:
    xG, xI = (np.array(gains) for gains in trial.gains(results, options))
    line, step = (find_points(xG, cumulate(xI), mode).ep for mode in ("line", "step"))
    assert all(0 < a <= b + TOLERANCE for a, b in zip(line, step, strict=True))
    assert all(ep <= 1 + TOLERANCE for ep in (*line, *step))
    measures = [f"{name}({options})" for name in OVERALL]
    measures += [f"{name}({options})@{k}" for name in AT_RANK if name != "xCG" for k in (1, 4)]
    measures += [
        f"ep({options},between={between})@{x}"
        for between in ("line", "curve", "step")
        for x in ("0.01", "0.5", "1")
    ]
    values = {measure: trial.value(results, measure) for measure in measures}
    assert all(-TOLERANCE <= value <= 1 + TOLERANCE for value in values.values()), values


def _useless_results(trial: Trial, results: list[Result], options: str) -> None:
    """At the end they change nothing; before a result that gains they lower MAep."""
    for name in OVERALL:
        measure = f"{name}({options})"
        value = trial.value(results, measure)
        assert trial.value([*results, USELESS], measure) == same(value)
        assert trial.value([*results, *results[:1]], measure) == same(value)  # a repeat is one
    xG, _ = trial.gains(results, options)
    average = trial.value(results, f"MAep({options})")
    for i in range(len(results)):
        delayed = trial.value([*results[:i], USELESS, *results[i:]], f"MAep({options})")
        assert delayed < average if any(xG[i:]) else delayed == same(average)


@given(trees.campaigns(scales=("2005",)))
@quick
def test_8_the_scale_of_gains_does_not_matter_to_effort(campaign: Campaign) -> None:
    """gen5 goes up to 2 and genLifted up to 3, or with normalise=true to 1."""
    with tried(campaign) as trial:
        results = trial.results
        for quant in ("gen5", "genLifted"):
            for overlap in (OFF, ON):
                options = f"quant={quant},{overlap}"
                for measure in (
                    *(f"{name}({options}{{}})@{k}" for name in AT_RANK[1:] for k in (1, 2, 5)),
                    f"MAep({options}{{}})",
                    f"iMAep({options}{{}})",
                    f"ep({options}{{}})@0.3",
                ):
                    value = trial.value(results, measure.format(",normalise=true"))
                    assert trial.value(results, measure.format("")) == same(value)


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


@given(trees.campaigns())
@quick
def test_9_binary_gains(campaign: Campaign) -> None:
    with tried(campaign) as trial:
        assume(trial.any_strict())
        results = [Result(*key_of(result)) for result in trial.results]
        xG, xI = trial.gains(results, "quant=strict")
        r, found = len(xI), np.cumsum(xG)
        assert trial.value(results, "Rmeasure(quant=strict)") == same(sum(xG[:r]) / r)
        hits = [j for j, gain in enumerate(xG, start=1) if gain]
        terms = [2 * found[j - 1] / (min(j, r) + j) for j in hits]
        assert trial.value(results, "Q(quant=strict)") == same(sum(terms) / r)
        average = trial.value(results[:r], "MAep(quant=strict)")
        assert trial.value(results[:r], "Q(quant=strict)") == same(average)


# --------------------------------------------------------------------------------------------
# Section 10: Fetch & Browse
# --------------------------------------------------------------------------------------------


@given(trees.campaigns(), picks)
@quick
def test_10_documents_and_their_elements(campaign: Campaign, pick: int) -> None:
    with tried(campaign) as trial:
        results = [Result(*key_of(result)) for result in trial.results]
        order = list(dict.fromkeys(result.doc for result in results))
        roots = [Result(doc, f"/{trial.documents[doc].tree.tag}[1]") for doc in order]
        turned = [result for doc in reversed(order) for result in results if result.doc == doc]
        for quant in trial.relevant_quants(pick):
            article = f"FBarticle(quant={quant})"
            assert trial.value(roots, article) == same(trial.value(results, article))
            for overlap in (OFF, ON):
                for clusters in ("retrieved_relevant", "all_relevant", "retrieved"):
                    measure = f"FBelement(quant={quant},{overlap},clusters={clusters})"
                    assert trial.value(turned, measure) == same(trial.value(results, measure))


# --------------------------------------------------------------------------------------------
# Section 15 and 26: readers, the classic reduction, overlap
# --------------------------------------------------------------------------------------------


@given(trees.campaigns(scales=("2005", "2006"), max_results=6))
@quick
def test_15_readers_of_ideal_elements(campaign: Campaign) -> None:
    with tried(campaign) as trial:
        results = [Result(*key_of(result)) for result in trial.results]
        recall = [trial.value(results, f"GR(targets=ideal)@{k}") for k in range(1, 10)]
        assert all(0 <= a <= b + TOLERANCE <= 1 + 2 * TOLERANCE for a, b in pairwise(recall))
        for measure in ("EPRUM(targets=ideal)", "EPRUM(targets=ideal)@0.5"):
            value = trial.value(results, measure)
            assert 0 <= value <= 1 + TOLERANCE
            assert trial.value([*results, USELESS], measure) == same(value)
            assert trial.value([USELESS, *results], measure) <= value + TOLERANCE


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


@given(trees.campaigns(max_results=5), picks)
@quick
def test_26_overlap_positive_measures_reward_it(campaign: Campaign, pick: int) -> None:
    """Thorough XCG and inex_eval: elements whose text was all seen, but that were not returned."""
    with tried(campaign) as trial:
        results = once(trial.results)
        seen, end = text_of(trial, results), len(results) + 1
        for quant in trial.relevant_quants(pick):
            worth = trial.worth(quant)
            total, found = sum(worth.values()), sum(worth.get(key_of(r), 0) for r in results)
            for key, q in worth.items():
                again = Result(*key)
                if again in results or not q or text_of(trial, [again]) - seen:
                    continue
                more = [*results, again]
                for measure in (f"xCG(quant={quant})@{end}", f"gr(quant={quant})@{end}"):
                    assert trial.value(more, measure) > trial.value(results, measure)
                assert trial.value(more, f"MAep(quant={quant})") > trial.value(
                    results, f"MAep(quant={quant})"
                )
                # inex_eval looks at whole percents of recall: it is raised where one is reached.
                measure = f"inex_eval(quant={quant})"
                before, after = trial.value(results, measure), trial.value(more, measure)
                if math.floor(100 * (found + q) / total) > math.floor(100 * found / total + 1e-6):
                    assert after > before
                else:
                    assert after >= before - TOLERANCE
