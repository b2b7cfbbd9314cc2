"""Every number of the specification's worked examples of structure, by the real measures.

The toy collection is that of `test_worked_examples.py`, here with its elements: D1 a of s1 (p1 p2
p3) and s2 (p4 p5), D2 a of p1 p2, D3 a of p1 p2. Test names begin with the section. Examples that
are given as lists of values become documents of one element each, as long as it takes to have them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from itertools import pairwise

import numpy as np
import pytest

import structures
import trees
from foveal.measures import parse_measure
from foveal.measures.alignment import Alignment, Gold, TopicView
from foveal.measures.xcg import XCG
from foveal.recall import ElementGrades, Forest, ideal_base
from naive_structure import Assessment, Document, Node, Result, Scale, Span
from scoring import score


def row_of(tag: str, *borders: int) -> tuple[Node, ...]:
    """Neighbouring elements with the given borders."""
    return tuple(Node(tag, a, b) for a, b in pairwise(borders))


SECTIONS = (
    Node("s", 0, 60, row_of("p", 0, 20, 40, 60)),
    Node("s", 60, 100, row_of("p", 60, 80, 100)),
)
TOY = {
    "D1": Document(Node("a", 0, 100, SECTIONS), ((10, 40), (70, 80)), 10),
    "D2": Document(Node("a", 0, 50, row_of("p", 0, 25, 50)), ((0, 50),), 0),
    "D3": Document(Node("a", 0, 40, row_of("p", 0, 20, 40))),
}
NAMES = {
    "a": ("D1", "/a[1]"),
    "s1": ("D1", "/a[1]/s[1]"),
    "p1": ("D1", "/a[1]/s[1]/p[1]"),
    "p2": ("D1", "/a[1]/s[1]/p[2]"),
    "p3": ("D1", "/a[1]/s[1]/p[3]"),
    "s2": ("D1", "/a[1]/s[2]"),
    "p4": ("D1", "/a[1]/s[2]/p[1]"),
    "p5": ("D1", "/a[1]/s[2]/p[2]"),
    "D2.a": ("D2", "/a[1]"),
    "D2.p1": ("D2", "/a[1]/p[1]"),
    "D2.p2": ("D2", "/a[1]/p[2]"),
    "D3.a": ("D3", "/a[1]"),
    "D3.p1": ("D3", "/a[1]/p[1]"),
}
RUN = "p2 D2.a D3.a s2"
UP = "p2 s1 a"
BROWSING = "D2.p1 p2 D3.p1 s2"


def close(*expected: float) -> object:
    """Up to the four decimals of the specification."""
    return pytest.approx(expected[0] if len(expected) == 1 else list(expected), abs=5e-5)


def viewed(results: Sequence[Result], documents: Mapping[str, Document], **how: bool) -> TopicView:
    with structures.view(trees.Campaign(list(results), dict(documents)), **how) as topic:
        return topic


@cache
def toy(run: str, *, with_collection: bool = True) -> TopicView:
    results = [Result(*NAMES[name]) for name in run.split()]
    return viewed(results, TOY, with_collection=with_collection)


def value(topic: TopicView, measure: str) -> float:
    return score(parse_measure(measure), topic)


def xcg(settings: str = "") -> XCG:
    measure = parse_measure(f"xCG({settings})@1")
    assert isinstance(measure, XCG)
    return measure


def gains(topic: TopicView, settings: str = "") -> list[float]:
    """The gain of each result: what xCG has more than at the rank before."""
    totals = [value(topic, f"xCG({settings})@{k}") for k in range(1, topic.n + 1)]
    return [after - before for before, after in pairwise([0.0, *totals])]


def flat(
    worths: Sequence[float], ties: Sequence[int] | None = None, missed: Sequence[float] = ()
) -> TopicView:
    """Documents of one element of four characters, highlighted for so much as they are worth.

    Neighbours of one number in `ties` are tied; `missed` are relevant and not in the run.
    """
    documents = {
        f"D{i}": Document(Node("a", 0, 4), ((0, round(4 * worth)),) if worth else ())
        for i, worth in enumerate([*worths, *missed])
    }
    groups = ties or range(len(worths))
    run = [Result(f"D{i}", "/a[1]", 100.0 - group) for i, group in enumerate(groups)]
    return viewed(run, documents)


# -- Section 2: quantisation -----------------------------------------------------------------------

SEVEN = ("strict3", "gen3", "sog", "e3s321", "e3s32", "s3e321", "s3e32")
TABLE = """
3,3 1 1   1   1 1 1 1
3,2 0 .75 .75 1 1 0 0
3,1 0 .75 .25 1 0 0 0
2,3 0 .75 .9  0 0 1 1
2,2 0 .5  .5  0 0 0 0
2,1 0 .5  .1  0 0 0 0
1,3 0 .5  .75 0 0 1 0
1,2 0 .25 .25 0 0 0 0
1,1 0 .25 .1  0 0 0 0
"""


def graded(
    scale: Scale, assessments: Sequence[Assessment], spans: Sequence[Span] | None = None
) -> TopicView:
    """A run of documents of one element of ten characters, each with its assessment."""
    documents = {
        f"D{i}": Document(
            Node("a", 0, 10), (spans[i],) if spans else (), grades={"/a[1]": each}, scale=scale
        )
        for i, each in enumerate(assessments)
    }
    return viewed([Result(name, "/a[1]") for name in documents], documents)


def test_2_the_table_of_2003() -> None:
    rows = [line.split() for line in TABLE.strip().splitlines()]
    pairs = [(int(grades[0]), int(grades[2])) for grades, *_ in rows]
    topic = graded("2003", pairs)
    for column, name in enumerate(SEVEN, start=1):
        assert gains(topic, f"quant={name}") == pytest.approx([float(row[column]) for row in rows])
    assert gains(topic, "quant=gen") == gains(topic, "quant=gen3")
    assert gains(topic, "quant=strict") == gains(topic, "quant=strict3")
    # The encyclopedia's form: (3, 1) is worth a third, not .75.
    assert gains(topic, "quant=enc_gen") == pytest.approx([e * s / 9 for e, s in pairs])
    assert gains(topic, "quant=enc_strict") == [float(pair == (3, 3)) for pair in pairs]


def test_2_the_functions_of_2002() -> None:
    expected = {"3E": 1, "2E": 0.75, "3L": 0.75, "1E": 0.5, "2L": 0.5, "2S": 0.5}
    expected |= {"1L": 0.25, "1S": 0.25, "0N": 0}
    topic = graded("2002", [(int(relevance), coverage) for relevance, coverage in expected])
    assert gains(topic, "quant=gen2") == list(expected.values())
    assert gains(topic, "quant=strict2") == [float(value == 1) for value in expected.values()]


def test_2_the_functions_of_2005() -> None:
    topic = graded("2005", ["?", "0", "1", "2", "2"], [(0, 8)] * 4 + [(0, 10)])
    assert gains(topic, "quant=gen5") == pytest.approx([0, 0, 0.8, 1.6, 2])
    assert gains(topic, "quant=genLifted") == pytest.approx([0.8, 0, 1.6, 2.4, 3])
    assert gains(topic, "quant=strict5") == [0, 0, 0, 0, 1]
    assert gains(topic, "quant=enc_gen") == pytest.approx([0, 0, 0.4, 0.8, 1])
    assert gains(topic, "quant=genLifted,normalise=true")[-1] == 1


def test_2_gains_twice_and_thrice_as_large() -> None:
    """With every exhaustivity 2, gen5 is twice and genLifted thrice the specificity."""
    documents = {
        name: replace(document, scale="2005", grades=dict.fromkeys(_paths(name), "2"))
        for name, document in TOY.items()
    }
    topic = viewed([Result(*NAMES[name]) for name in RUN.split()], documents)
    scaled = ["quant=spec", "quant=gen5", "quant=genLifted"]
    assert [value(topic, f"Q({q},overlap=on)") for q in scaled] == close(0.8472, 0.8264, 0.8167)
    assert [value(topic, f"Rmeasure({q},overlap=on)") for q in scaled] == close(0.7, 0.7143, 0.7222)
    for measure in ("MAep({})", "nxCG({})@1", "nxCG({})@3", "iMAep({})"):
        values = [value(topic, measure.format(f"{q},overlap=on")) for q in scaled]
        assert values == pytest.approx([values[0]] * 3, abs=1e-12)
    for q in scaled:
        normalised = value(topic, f"Q({q},overlap=on,normalise=true)")
        assert normalised == close(0.8472)


def _paths(doc: str) -> list[str]:
    return [path for name, path in NAMES.values() if name == doc and doc != "D3"]


# -- Section 3: recall bases -----------------------------------------------------------------------


@pytest.mark.parametrize("with_collection", [True, False])
@pytest.mark.parametrize(
    ("settings", "expected", "total"),
    [
        ({}, "D2.a s1 p4", 2.0),
        ({"tie": "deeper"}, "D2.p1 D2.p2 p2 p1 p4", 4.0),
        ({"base": "maxsum"}, "D2.p1 D2.p2 p2 p1 p4", 4.0),
    ],
)
def test_3_2_ideal_elements(
    settings: dict[str, str], expected: str, total: float, *, with_collection: bool
) -> None:
    topic = toy(RUN, with_collection=with_collection)
    judged = topic.alignment.gold
    forest = judged.forest
    assert forest is not None
    worth = forest.worth("spec")
    chosen = np.flatnonzero(ideal_base(forest, worth, **settings).ideal)
    docs = judged.judgements.doc.gather(forest.row[chosen])
    found = set(zip(docs, forest.xpath.gather(chosen), strict=True))
    assert found == {NAMES[name] for name in expected.split()}
    assert worth[chosen].sum() == total
    assert xcg().gain_lists(topic)[1].gains.tolist() == close(1, 1, 1, 1, 0.5, 0.5, 0.5, 0.4, 0.25)


def test_3_2_what_the_ideal_lists_gain() -> None:
    assert xcg("overlap=on").gain_lists(toy(RUN))[1].gains.tolist() == [1, 0.5, 0.5]
    deeper = xcg("overlap=on,tie=deeper").gain_lists(toy(RUN))[1].gains.tolist()
    assert deeper == [1, 1, 1, 0.5, 0.5]


HOW = pytest.mark.parametrize("with_collection", [True, False], ids=["collection", "assessments"])


# -- Section 4: inex_eval --------------------------------------------------------------------------


def precisions(topic: TopicView, levels: str, settings: str = "") -> list[float]:
    return [value(topic, f"inex_eval({settings})@{x}") for x in levels.split()]


QUARTERS = ".25 .5 .75 1"


def test_4_groups_with_one_missed() -> None:
    groups = flat([1, 0, 1, 0, 1], ties=[0, 1, 1, 1, 2], missed=[1])
    assert precisions(groups, QUARTERS) == close(1, 0.6667, 0.6, 0)
    tail = "unretrieved=random_tail,collection_size=100"  # of which the run has 5
    assert precisions(groups, QUARTERS, tail) == close(1, 0.6667, 0.6, 0.0755)


def test_4_points_that_are_not_natural() -> None:
    order = flat([1, 0, 1])
    assert precisions(order, QUARTERS) == close(1, 1, 0.6, 0.6667)
    assert precisions(order, QUARTERS, "points=ceiling") == close(1, 1, 0.6667, 0.6667)
    assert precisions(order, QUARTERS, "form=encyclopedia") == close(0.5, 1, 0.5, 0.6667)
    assert value(order, "inex_eval") == close(0.7981)
    assert value(order, "inex_eval(points=ceiling)") == close(0.8333)
    assert value(order, "inex_eval(form=encyclopedia)") == close(0.5067)


def test_4_graded() -> None:
    four = flat([0.75, 0.25, 0, 1], missed=[0.5])
    assert precisions(four, ".2 .4 .6 .8 1") == close(0.875, 0.7143, 0.4286, 0.5, 0)
    assert value(four, "inex_eval") == close(0.5060)
    assert value(four, "inex_eval(form=encyclopedia)") == close(0.3119)


def test_4_a_graded_ideal_run_stays_below_one() -> None:
    ideal = flat([1, 0.5, 0.5])
    assert value(ideal, "inex_eval") == close(0.9224)
    assert value(ideal, "inex_eval(form=encyclopedia)") == close(0.5592)


@HOW
def test_4_ideal_elements_only(*, with_collection: bool) -> None:
    """Ideal: D2.a 1, s1 .5, p4 .5 of 2; the deeper ones are D2.p1, D2.p2, p2, p1 and p4 of 4."""
    topic = toy("D2.a p2 s1 p4", with_collection=with_collection)  # 1, 0, .5, .5 of 2
    halves = ".5 .75 1"
    assert precisions(topic, halves, "base=ideal") == close(1, 1.5 / (8 / 3), 2 / (11 / 3))
    simple = "base=ideal,form=encyclopedia"
    assert precisions(topic, halves, simple) == close(1, 0.5, 0.5)
    deeper = "base=ideal,tie=deeper"  # 0, 1, 0, .5 of 4
    assert precisions(topic, ".25 .375 .5", deeper) == close(0.5, 1.5 / (11 / 3), 0)
    near_miss = toy("p2", with_collection=with_collection)
    assert value(near_miss, "inex_eval(base=ideal)") == 0 < value(near_miss, "inex_eval")


# -- Section 5: inex_eval_ng -----------------------------------------------------------------------


def ng_topic(run: str) -> TopicView:
    """D1 with exhaustivities in thirds and the specificities of the toy collection.

    No scale has both, so the assessments are exchanged for grades of 2003 whose specificities are
    three times those of the highlights.
    """
    results = [Result(*NAMES[name]) for name in run.split()]
    topic = viewed(results, {"D1": TOY["D1"]})
    alignment = topic.alignment
    forest = alignment.gold.forest
    assert isinstance(forest, Forest)
    thirds = {"a": 3, "s1": 3, "p1": 1, "p2": 2, "s2": 1, "p4": 1}
    by_path = {NAMES[name][1]: grade for name, grade in thirds.items()}
    exhaustivity = np.array([by_path.get(path, 0) for path in forest.xpath])
    assert exhaustivity.sum() / 3 == close(3.6667)
    assessed = ElementGrades(
        "2003", exhaustivity, 3 * forest.assessed.specificity, forest.assessed.too_small
    )
    gold = Gold(alignment.gold.judgements, forest=replace(forest, assessed=assessed))
    return Alignment(alignment.run, gold).topic(topic.name)


@pytest.mark.parametrize(
    ("run", "variant", "points"),
    [
        ("p2 s1 a", "o", [(0.1818, 1), (0.3636, 0.6667), (0.4727, 0.56)]),
        ("p2 s1 a", "s", [(0.1818, 1), (0.4545, 0.625), (0.7273, 0.5)]),
        ("a s1 p2", "o", [(0.2727, 0.4)]),
        ("a s1 p2", "s", [(0.2727, 0.4), (0.5455, 0.4375), (0.7273, 0.5)]),
    ],
)
def test_5_points(run: str, variant: str, points: list[tuple[float, float]]) -> None:
    """Precision is that of a point up to its recall, and that of the next one after it."""
    topic = ng_topic(run)
    for (recall, here), (_, following) in pairwise([*points, (1, 0)]):
        before, after = (
            value(topic, f"inex_eval_ng(variant={variant})@{recall + step:.4f}")
            for step in (-0.0001, 0.0001)
        )
        assert (before, after) == (close(here), close(following))


# -- Section 6: gains ------------------------------------------------------------------------------


@HOW
@pytest.mark.parametrize(
    ("run", "settings", "expected"),
    [
        (RUN, "overlap=on,norm=none", [1, 1, 0, 0.25]),
        (RUN, "overlap=on", [0.5, 1, 0, 0.25]),
        (RUN, "", [1, 1, 0, 0.25]),
        (UP, "overlap=on,norm=none", [1, 0.1667, 0.1]),
        (UP, "overlap=on", [0.5, 0, 0.1]),
        (UP, "overlap=on,tie=deeper", [1, 0.1667, 0.1]),
        (UP, "overlap=on,norm=none,alpha=0.5", [1, 0.4167, 0.325]),
        (UP, "overlap=on,norm=none,alpha=0", [1, 0.5, 0.4]),
        # Contradiction C3: what is left of the parts, or what the parts gained.
        ("p1 s1", "overlap=on,norm=none", [0.5, 0.3333]),
        ("p1 s1", "overlap=on,norm=none,formula=encyclopedia", [0.5, 0.1667]),
        # All text seen piecewise is fully seen; by recursion a would be worth .75.
        ("D2.p1 D2.p2 D2.a", "overlap=on,norm=none,alpha=0.5", [1, 1, 0.5]),
        # What is charged to the ideal elements below a result (norm=overlap), or not.
        ("s2 a p4", "overlap=on,alpha=0,norm=overlap", [0.25, 0.4, 0.1167]),
        ("s2 a p4", "overlap=on,alpha=0,norm=subtree", [0.25, 0.4, 0.5]),
        # A repeat gains nothing.
        ("p2 p2", "", [1, 0]),
        ("p2 p2", "overlap=on,norm=none", [1, 0]),
    ],
)
def test_6_gains(run: str, settings: str, expected: list[float], *, with_collection: bool) -> None:
    topic = toy(run, with_collection=with_collection)
    assert gains(topic, settings) == close(*expected)


@HOW
def test_6_2_text_directly_inside_elements(*, with_collection: bool) -> None:
    tree = Node("p", 0, 100, (Node("link", 10, 15),))
    documents = {"D1": Document(tree, ((0, 10), (15, 100)))}
    run = [Result("D1", "/p[1]/link[1]"), Result("D1", "/p[1]")]
    topic = viewed(run, documents, with_collection=with_collection)
    assert gains(topic, "overlap=on") == close(0, 0.95)
    assert gains(topic, "overlap=on,mixed=ignore") == [0, 0]


def test_6_2_a_partly_seen_element_worth_more_than_an_unseen_one() -> None:
    """Contradiction C27: the parent is worth nothing, its two children 1 each."""
    grades = {"/a[1]": (3, 1), "/a[1]/p[1]": (3, 3), "/a[1]/p[2]": (3, 3)}
    tree = Node("a", 0, 10, row_of("p", 0, 5, 10))
    documents = {"D1": Document(tree, grades=grades, scale="2003")}
    root, child = Result("D1", "/a[1]"), Result("D1", "/a[1]/p[1]")
    raw = "quant=strict,overlap=on,norm=none"
    assert gains(viewed([root], documents), raw) == [0]
    topic = viewed([child, root], documents)
    assert gains(topic, f"{raw},clamp=false") == [1, 0.5]
    assert gains(topic, raw) == [1, 0]


def test_6_1_repeats_that_are_allowed_to_gain_again() -> None:
    """Contradiction C28, ``--overlap allow``: gain-recall reaches 2."""
    twice = [Result("D1", "/a[1]"), Result("D1", "/a[1]")]
    documents = {"D1": Document(Node("a", 0, 50), ((0, 50),))}
    assert value(viewed(twice, documents), "gr@2") == 1
    assert value(viewed(twice, documents, count_repeats=True), "gr@2") == 2


# -- Sections 7 to 10 ------------------------------------------------------------------------------

AT = [".01", ".1", ".25", ".5", ".75", ".85", ".875", ".9", "1"]
CASES = [
    # 7, nxCG
    (RUN, "nxCG(overlap=on)@1 .5", "nxCG(overlap=on)@2 1", "nxCG(overlap=on)@3 .75"),
    (RUN, "nxCG(overlap=on)@4 .875", "nxCG(overlap=on)@5 .875", "MAnxCG(overlap=on)@4 .7812"),
    (RUN, "MAxCG(overlap=on)@4 .7812", "nxCG@1 1", "nxCG@2 1", "nxCG@3 .6667", "nxCG@4 .5625"),
    # 8, effort-precision
    (RUN, "gr(overlap=on)@1 .25", "gr(overlap=on)@2 .75", "gr(overlap=on)@4 .875"),
    (RUN, "MAep(overlap=on) .7083", "MAep(overlap=on,ideal=step) .9167", "MAep .2847"),
    (RUN, "iMAep(overlap=on) .5991", "iMAep(overlap=on,between=curve) .5656"),
    (RUN, "iMAep(overlap=on,between=step) .7150"),
    # 9, Q and R measures
    (RUN, "Q(overlap=on) .8472", "Rmeasure(overlap=on) .7", "Q .2951"),
    (RUN, "Rmeasure(overlap=on,form=printed) .5385"),
    ("D2.a s1 p4", "Rmeasure(overlap=on,form=printed) .625", "Q(overlap=on) 1"),
    ("D2.a s1 p4", f"Q(overlap=on,form=printed) {(2 / 3 + 3.5 / 5.5 + 5 / 8) / 3}"),
    # 10, Fetch & Browse
    (BROWSING, "FBarticle 1", "FBelement .3125", "FBelement(overlap=on) .9375"),
    ("D2.p1", "FBelement .3333", "FBelement(overlap=on) 1"),
    ("p2 s2", "FBelement .2917", "FBelement(overlap=on) .875"),
    ("p2 D3.p1 s2", "FBelement(overlap=on,clusters=all_relevant) .4375"),
    ("p2 D3.p1 s2", "FBelement(overlap=on,clusters=retrieved) .4375"),
    ("p2 D3.p1 s2", "FBelement(overlap=on) .875"),
    # At levels of recall: D2.p1 brings a third of D2; p2 and s2 bring 1 and 1.25 of 3.15 in D1.
    ("D2.p1", "FBelement@.33 1", "FBelement@.34 0", "FBelement(clusters=all_relevant)@.33 .5"),
    (BROWSING, "FBarticle@.5 1", "FBarticle@1 1", "FBelement@.33 .98025", "FBelement@.35 .44875"),
    (BROWSING, "FBelement(score=iMAep)@.35 .44875", "FBelement(clusters=retrieved)@.35 .299167"),
    (BROWSING, "FBelement(overlap=on)@1 .5"),
    ("p1 D2.a", "FBarticle@.1 .4", "FBarticle@.5 .58", "FBarticle@1 1"),
    # Strict: the root of D1 is worth nothing, p2 inside it 1.
    ("D3.a p2 D2.a", "FBarticle(quant=strict) .5833"),
    ("D3.a p2 D2.a", "FBarticle(quant=strict,article_gain=self) .3333"),
    ("p1 D2.a", "FBarticle .7", "FBarticle(ideal=step) 1", "FBarticle(article_gain=max) 1"),
]


@HOW
@pytest.mark.parametrize(
    ("run", "measure", "expected"),
    [(run, *each.rsplit(" ", 1)) for run, *expectations in CASES for each in expectations],
)
def test_7_to_10(run: str, measure: str, expected: str, *, with_collection: bool) -> None:
    topic = toy(run, with_collection=with_collection)
    assert value(topic, measure) == close(float(expected))


@pytest.mark.parametrize(
    ("between", "expected"),
    [
        ("line", [0.5, 0.5, 0.5, 0.75, 1, 0.7, 0.625, 0, 0]),
        ("curve", [0.5, 0.5, 0.5, 0.6667, 1, 0.6316, 0.625, 0, 0]),
        ("step", [1, 1, 1, 0.5, 1, 0.75, 0.75, 0, 0]),
    ],
)
def test_8_effort_precision_at_recall(between: str, expected: list[float]) -> None:
    settings = f"overlap=on,between={between}"
    assert [value(toy(RUN), f"ep({settings})@{x}") for x in AT] == close(*expected)


@pytest.mark.parametrize(
    ("measure", "expected"),
    [
        ("MAep({})", 1 / 3),
        ("MAep({},divisor=n)", 1),
        ("Q({})", 0.7667),
        ("Q({},divisor=n)", 2.3),
    ],
)
def test_8_and_9_more_points_than_ideal_elements(measure: str, expected: float) -> None:
    """The ideal list gains 3 at once, the run three times 1: ep is a third at each rank."""
    tree = Node("a", 0, 9, row_of("p", 0, 3, 6, 9))
    parts = [f"/a[1]/p[{i}]" for i in (1, 2, 3)]
    grades = {"/a[1]": "2", **dict.fromkeys(parts, "?")}
    documents = {"D1": Document(tree, ((0, 9),), grades=grades, scale="2005")}
    topic = viewed([Result("D1", part) for part in parts], documents)
    settings = "quant=genLifted,overlap=on"
    assert gains(topic, settings) == [1, 1, 1]
    assert xcg(settings).gain_lists(topic)[1].gains.tolist() == [3]
    assert value(topic, measure.format(settings)) == close(expected)
