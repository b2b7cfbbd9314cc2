"""The user model: who leads where, how much has been seen, and GR, its recall."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import campaigns
import foveal
import naive
import naive_structure
import naive_user_model
import structures
import trees
from foveal.errors import InputError, UsageError
from foveal.measures import Measure, parse_measure, user_model
from foveal.measures.alignment import Alignment, Gold
from foveal.measures.toy import PLACES, judgements, parse_run
from foveal.measures.user_model import Hits, find_distributions
from foveal.model import Run
from foveal.recall import Forest
from scoring import score

quick = settings(max_examples=40)
CHANCES = st.sampled_from([0.0, 0.0, 1.0, 0.25, 0.5, 0.3, 0.9, 1e-9]) | st.floats(0, 1)


@st.composite
def matrices(draw: st.DrawFn, ranks: int = 4, targets: int = 3) -> list[list[float]]:
    """Probabilities with exact 0 and 1; at least one target, perhaps no rank."""
    n = draw(st.integers(1, targets))
    row = st.lists(CHANCES, min_size=n, max_size=n)
    return draw(st.lists(row, min_size=0, max_size=ranks)) or [[0.0] * n]


def find_hits(p: Any) -> Hits:
    """The hits of a matrix of probabilities: a row for each rank, a column for each target."""
    matrix = np.asarray(p, dtype=np.float64)
    at, target = np.nonzero(matrix)
    return Hits(at + 1, target, matrix[at, target])


def on_toy(run: str, *, collection: bool = False) -> Any:
    """The view of a run on the toy campaign with its assessed elements.

    With `collection` the elements are at their places in the text, as a collection would tell.
    """
    truth = judgements().combined()
    forest = Forest.from_assessments(truth)
    if collection:
        doc = truth.doc.gather(forest.row).to_list()
        at = [PLACES[d][x] for d, x in zip(doc, forest.xpath.to_list(), strict=True)]
        start, end = np.array(at, dtype=np.int64).T
        forest = replace(forest, start=start, end=end, complete=True)
    return Alignment(Run.from_frame(parse_run(run), name="toy"), Gold(truth, forest=forest)).topic(
        "toy"
    )


def value(run: str, measure: str, *, collection: bool = False) -> float:
    return score(parse_measure(measure), on_toy(run, collection=collection))


# -- worked examples ---------------------------------------------------------------------------


@pytest.mark.parametrize(("k", "expected"), [(1, 0.4318), (2, 0.4318), (3, 0.7903), (9, 0.7903)])
def test_gr_of_the_worked_example(k: int, expected: float) -> None:
    assert value("D1:20-40 D3:0-40 D2:25-50", f"GR@{k}") == pytest.approx(expected, abs=5e-5)


# D1 targets: passages [10,40) [70,80); D2: [0,50). Ideal elements: D1 s1 [0,60), p4 [60,80), D2 a.
@pytest.mark.parametrize(
    ("run", "measure", "expected"),
    [
        # |e and x| / |e or x|: 20/30 for the first passage
        ("D1:20-40", "GR(targets=passages)@1", (20 / 30) / 3),
        ("D1:0-100", "GR(targets=passages)@1", (30 / 100 + 10 / 100) / 3),
        ("D1:10-40", "GR(targets=passages,behaviour=classic)@1", 1 / 3),
        ("D1:10-41", "GR(targets=passages,behaviour=classic)@1", 0),
        ("D1:10-99", "GR(behaviour=classic)@1", 1 / 2),
        ("D1:11-99", "GR(behaviour=classic)@1", 0),
        # ten irrelevant characters before the first passage, thirty between the two
        ("D1:0-1", "GR(targets=passages,behaviour=t2i,T=10)@1", 0),
        ("D1:0-1", "GR(targets=passages,behaviour=t2i,T=11)@1", 1 / 3),
        ("D1:0-1", "GR(targets=passages,behaviour=t2i,T=30)@1", 1 / 3),
        ("D1:0-1", "GR(targets=passages,behaviour=t2i,T=31)@1", 2 / 3),
        ("D1:11-12", "GR(targets=passages,behaviour=t2i)@1", 1 / 3),  # the first is behind
        ("D1:10-12", "GR(behaviour=t2i)@1", 1 / 2),
        ("D1:70-80", "GR(targets=passages,behaviour=bep,L=60)@1", (1 + 60 / 120) / 3),
        # elements, by their XPaths
        ("D1:/a", "GR(targets=ideal)@1", (0.6 + 0.2) / 3),
        ("D1:/a/s[1]/p[2]", "GR(targets=ideal)@1", (20 / 60) / 3),
        ("D1:/a/s[1]", "GR(targets=ideal,behaviour=classic)@1", 1 / 3),
        ("D1:/a", "GR(targets=ideal,behaviour=classic)@1", 0),
        ("D1:/a", "GR(targets=ideal,weight=quant)@1", (0.5 * 0.6 + 0.5 * 0.2) / 2),
        ("D1:/a", "GR(targets=ideal,weight=exh)@1", (2 * 0.6 + 1 * 0.2) / 5),
        # strict: exhaustivity 2 and all highlighted, that is p2 of D1 and D2
        ("D1:/a/s[1]/p[2]", "GR(targets=ideal,quant=strict)@1", 1 / 2),
    ],
)
def test_gr_by_hand(run: str, measure: str, expected: float) -> None:
    assert value(run, measure) == pytest.approx(expected, abs=1e-12)


def test_an_entry_point_without_any_length_to_measure_by_is_still_itself() -> None:
    documents = {"A": naive.Doc(5, ((0, 5),), 0)}
    gold = Gold(campaigns.judgements_of(documents).combined(), mean_length=0.0)
    topic = Alignment(Run.from_results({"t": [("A", 0, 5)]}), gold).topic("t")
    assert score(parse_measure("GR@1"), topic) == 1


# -- how much has been seen --------------------------------------------------------------------


@given(matrices(ranks=6, targets=5), st.data())
@quick
def test_distributions_are_those_of_recomputing_at_every_rank(
    p: list[list[float]], data: st.DataObject
) -> None:
    n = len(p[0])
    units = data.draw(st.lists(st.integers(1, 4), min_size=n, max_size=n))
    ideality = data.draw(st.lists(CHANCES, min_size=n, max_size=n))
    slow = naive_user_model.Recursion(p, units, ideality)
    known = dict.fromkeys(range(len(p) + 1), np.ones(1))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(user_model, "_RANKS", data.draw(st.sampled_from([1, 2, 32])))
        hits = find_hits(p)
        blocks = list(find_distributions(hits, np.array(units), np.array(ideality)))
    for ranks, seen, _ in blocks:
        for rank, row in zip(ranks.tolist(), seen, strict=True):
            known |= dict.fromkeys(range(rank, len(p) + 1), row)
    for k, row in known.items():
        expected = np.array(slow.distribution[k], dtype=np.float64)
        assert np.abs(expected[: len(row)] - row).max() < 1e-12
        assert np.abs(expected[len(row) :]).max(initial=0) < 1e-12


def long_double_distribution(found: np.ndarray) -> np.ndarray:
    values = np.zeros(len(found) + 1, dtype=np.longdouble)
    values[0] = 1
    for x, q in enumerate(found):
        values[1 : x + 2] = values[1 : x + 2] * (1 - q) + values[: x + 1] * q
        values[0] *= 1 - q
    return values


@pytest.mark.parametrize("size", [1e-6, 0.02, 0.5, 1.0])
def test_300_targets_hit_again_and_again_at_500_ranks(size: float) -> None:
    """No precision is lost, in particular not where many targets are seen with odds of one half."""
    rng = np.random.default_rng(15)
    p = np.where(rng.random((500, 300)) < 0.02, size * rng.random((500, 300)), 0.0)
    p[rng.integers(0, 500, 20), rng.integers(0, 300, 20)] = 1.0
    p[:80] = 0.0  # where each target is new, before they are hit again
    p[np.arange(80), 2 * np.arange(80)] = 0.5
    found = 1 - np.cumprod(1 - p.astype(np.longdouble), axis=0)
    checked = 0
    for ranks, seen, _ in find_distributions(find_hits(p), np.ones(300, dtype=np.int64)):
        for rank, row in list(zip(ranks.tolist(), seen, strict=True))[::16]:
            expected = long_double_distribution(found[rank - 1])
            assert np.abs(expected[: len(row)] - row).max() < 1e-13
            assert abs(row.sum() - 1) < 1e-13
            large = row > 1e-30  # what is not dust is precise also relative to itself
            assert np.abs(row[large] / expected[: len(row)][large] - 1).max() < 1e-11
            checked += 1
    assert checked >= 30


# -- fast and naive ----------------------------------------------------------------------------

OPTIONS: list[dict[str, Any]] = [
    {},
    {"A": 0.01},
    {"A": 10, "L": 25},
    {"behaviour": "classic"},
    {"behaviour": "t2i", "T": 3},
    {"targets": "passages"},
    {"targets": "passages", "behaviour": "classic"},
    {"targets": "passages", "behaviour": "bep", "A": 0.2},
    {"targets": "passages", "behaviour": "t2i", "T": 5},
    {"targets": "passages", "behaviour": "t2i", "T": 1},
]
MEASURES: list[dict[str, Any]] = [
    {"name": "GR", "at": [1, 3, 30]},
    {"name": "EPRUM", "at": [None, "0.01", "0.34", "1"]},
    {"name": "EPRUM", "at": [None, "0.5"], "ideal": "greedy"},
    {"name": "EPRUM", "at": [None], "ratio": "of_means"},
    {"name": "EPRUMk", "at": [1, 2, 9]},
    {"name": "EPRUMk", "at": [1, 3], "rounding": "ceil"},
    {"name": "PRUM", "at": [None, "0.01", "0.5", "1"]},
    {"name": "PRUM", "at": [None, "1"], "unreached": "zero"},
]


def naive_value(measure: Measure, campaign: campaigns.Campaign, keywords: dict[str, Any]) -> float:
    results, documents = campaign
    lengths = [doc.length for doc in documents.values()]
    mean = Fraction(sum(lengths, campaigns.UNJUDGED_LENGTH), len(lengths) + 1)
    if measure.at is not None:
        keywords = keywords | {"x" if measure.cutoff.of_recall else "k": measure.at}
    if "k" in keywords:
        keywords["k"] = int(keywords["k"])
    function = getattr(naive_user_model, measure.name)
    return float(function(results, documents, **({"L": mean} | keywords)))


@pytest.mark.parametrize("kind", MEASURES, ids=lambda kind: "-".join(map(str, kind.values())))
@given(campaign=campaigns.campaigns())
@settings(max_examples=20)
def test_fast_equals_naive(kind: dict[str, Any], campaign: campaigns.Campaign) -> None:
    topic = campaigns.view(*campaign)
    own = {n: v for n, v in kind.items() if n not in ("name", "at")}
    for options in OPTIONS:
        keywords = options | own
        for at in kind["at"]:
            measure = parse_measure(kind["name"] + ("" if at is None else f"@{at}"))(**keywords)
            fast, slow = score(measure, topic), naive_value(measure, campaign, keywords)
            same = math.isnan(fast) if math.isnan(slow) else abs(fast - slow) < 1e-12
            assert same, f"{measure}: fast {fast}, naive {slow}"


# -- names, rules, needs -----------------------------------------------------------------------


def test_quantisations_and_distances_that_the_judgements_cannot_tell_are_refused() -> None:
    truth = judgements().combined()
    gold = Gold(truth, forest=Forest.from_assessments(truth))
    with pytest.raises(UsageError, match="quant=sog is a function of the scale of 2003"):
        parse_measure("EPRUM(targets=ideal,quant=sog)").check_gold(gold)
    with pytest.raises(UsageError, match="need a collection"):
        parse_measure("PRUM(targets=ideal,behaviour=t2i)").check_gold(gold)
    parse_measure("PRUM(targets=ideal)").check_gold(gold)
    parse_measure("EPRUM(quant=sog)").check_gold(gold)  # entry points have no quantisation


def test_passages_are_not_compared_with_elements_of_which_only_sizes_are_known() -> None:
    measure = parse_measure("GR(targets=ideal)@2")
    with pytest.raises(InputError) as refused:
        score(measure, on_toy("D1:/a D1:0-60"))
    assert [problem.code for problem in refused.value.problems] == ["run.passage"]
    assert score(measure, on_toy("D1:/a D3:0-40")) > 0  # nothing is assessed in D3
    assert score(measure, on_toy("D1:0-60", collection=True)) == pytest.approx(1 / 3)


ELEMENT_OPTIONS = [
    {"behaviour": b, "quant": q, "weight": w}
    for b in ("hierarchical", "classic", "bep", "t2i")
    for q in ("spec", "gen", "strict")
    for w in ("none", "quant")
]


def element_matrix(
    campaign: trees.Campaign, behaviour: str, quant: str, scale: Fraction
) -> tuple[list[Fraction], list[list[Fraction]]]:
    """The values of the ideal elements, and the probabilities that results lead to them."""
    documents = campaign.documents
    q = naive_structure.quantised(documents, quant)
    node = naive_structure.elements(documents)
    ideal = naive_structure.ideal_base(documents, q)
    targets = [(doc, node[doc, path].start, node[doc, path].end) for doc, path in ideal]
    text = {n: naive.Doc(d.tree.size, d.highlights) for n, d in documents.items()}
    roots = {name: f"/{d.tree.tag}[1]" for name, d in documents.items()}
    rows = []
    for result in campaign.results:
        at = node[result.doc, result.xpath or roots[result.doc]]
        place = (result.doc, at.start, at.end)
        if behaviour == "classic":  # elements of one extent are not the same element
            key = (result.doc, result.xpath or roots[result.doc])
            rows.append([Fraction(key == x) for x in ideal])
            continue
        rows.append(
            [naive_user_model.probability(place, x, text, behaviour, scale, 5) for x in targets]
        )
    return [q[key] for key in ideal], rows


@pytest.mark.parametrize("with_collection", [True, False])
@given(data=st.data())
@settings(max_examples=20)
def test_ideal_elements_of_random_trees(with_collection: bool, data: st.DataObject) -> None:
    campaign = data.draw(trees.campaigns(scales=("2005", "2006")))
    options = data.draw(st.lists(st.sampled_from(ELEMENT_OPTIONS), min_size=4, max_size=4))
    with structures.view(campaign, with_collection=with_collection) as topic:
        for option in options:
            if not with_collection and option["behaviour"] in ("bep", "t2i"):
                continue
            values, p = element_matrix(campaign, option["behaviour"], option["quant"], Fraction(20))
            common = {"targets": "ideal", "L": 20, "T": 5, **option}
            recall = score(parse_measure("GR@4")(**common), topic)
            plain = score(parse_measure("EPRUM")(**(common | {"weight": "none"})), topic)
            if not values:
                assert math.isnan(recall)
                assert math.isnan(plain)
                continue
            slow = naive_user_model.Recursion(p, [1] * len(values))
            weight = values if option["weight"] == "quant" else [Fraction(1)] * len(values)
            seen = zip(weight, slow.found[min(4, len(p))], strict=True)
            assert recall == pytest.approx(float(sum(w * f for w, f in seen) / sum(weight)))
            ranks = range(1, len(values) + 1)
            expected = sum(slow.expected_precision(r, r) for r in ranks) / len(values)
            assert plain == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(("patience", "found"), [(5, 1), (7, 1), (8, 3), (11, 3), (12, 4), (99, 4)])
def test_readers_go_on_from_passage_to_passage(patience: int, found: int) -> None:
    """Passages 7, 7 and 11 characters apart, read from the start of the first."""
    spans = [(0, 5), (12, 17), (24, 29), (40, 45)]
    truth = foveal.Judgements.from_highlights({"1": {"d": {"spans": spans, "length": 90}}})
    run = foveal.Run.from_results({"1": [("d", 0, 3)]}, name="mine")
    measure = f"GR(behaviour=t2i,T={patience},targets=passages)@1"
    assert foveal.evaluate([run], truth, [measure])["mine", measure] == found / 4
