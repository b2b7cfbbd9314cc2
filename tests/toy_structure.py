"""The toy collection of METRICS.md 1.4 as trees, and random campaigns, for the naive reference."""

from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import assume, settings
from hypothesis import strategies as st

import naive_structure as ns
import trees
from naive_structure import Document, Key, Node, Result
from trees import Campaign


def paragraphs(*borders: int) -> tuple[Node, ...]:
    """Neighbouring elements p with the given borders."""
    return tuple(Node("p", a, b) for a, b in pairwise(borders))


S1_NODE = Node("s", 0, 60, paragraphs(0, 20, 40, 60))
S2_NODE = Node("s", 60, 100, paragraphs(60, 80, 100))
TOY: dict[str, Document] = {
    "D1": Document(Node("a", 0, 100, (S1_NODE, S2_NODE)), ((10, 40), (70, 80)), 10),
    "D2": Document(Node("a", 0, 50, paragraphs(0, 25, 50)), ((0, 50),), 0),
    "D3": Document(Node("a", 0, 40, paragraphs(0, 20, 40))),
}
A = Result("D1", "/a[1]")
S1 = Result("D1", "/a[1]/s[1]")
P1 = Result("D1", "/a[1]/s[1]/p[1]")
P2 = Result("D1", "/a[1]/s[1]/p[2]")
P3 = Result("D1", "/a[1]/s[1]/p[3]")
S2 = Result("D1", "/a[1]/s[2]")
P4 = Result("D1", "/a[1]/s[2]/p[1]")
P5 = Result("D1", "/a[1]/s[2]/p[2]")
D2A = Result("D2", "/a[1]")
D2P1 = Result("D2", "/a[1]/p[1]")
D2P2 = Result("D2", "/a[1]/p[2]")
D3A = Result("D3", "/a[1]")
D3P1 = Result("D3", "/a[1]/p[1]")

RUN = [P2, D2A, D3A, S2]  # of sections 6 to 9
BROWSING = [D2P1, P2, D3P1, S2]  # of section 10

EXAMPLES = settings(max_examples=30)


def close(*expected: float) -> object:
    """The expected value or values up to the four decimals of the specification."""
    return pytest.approx(expected[0] if len(expected) == 1 else list(expected), abs=5e-5)


def exact(*numbers: float | str) -> list[Fraction]:
    return [Fraction(str(number)) for number in numbers]


def floats(values: Sequence[Fraction]) -> list[float]:
    return [float(value) for value in values]


def keys(results: Sequence[Result]) -> list[Key]:
    return [(result.doc, result.xpath) for result in results]


def toy_gains(results: Sequence[Result], **options: Any) -> list[float]:
    return floats(ns.gains(results, TOY, **options)[0])


def graded_2003(**grades: tuple[int, int]) -> dict[str, Document]:
    """The first toy document with grades by the names that the examples use, and the last."""
    named = {"a": A, "s1": S1, "p1": P1, "p2": P2, "p3": P3, "s2": S2, "p4": P4, "p5": P5}
    by_path = {named[name].xpath: grade for name, grade in grades.items()}
    return {
        "D1": Document(TOY["D1"].tree, grades=by_path, scale="2003"),
        "D3": Document(TOY["D3"].tree, scale="2003"),
    }


def ideal_run(documents: dict[str, Document], quant: str, **options: Any) -> list[Result]:
    """The recall base by decreasing value."""
    q = ns.quantised(documents, quant)
    overlap = options.pop("overlap", "off")
    base = ns.full_base(q) if overlap == "off" else ns.ideal_base(documents, q, **options)
    return [Result(*key) for key in sorted(base, key=lambda key: -q[key])]


def quantisations(campaign: Campaign) -> list[str]:
    """Every function that the scale of a campaign has."""
    names = set(ns.QUANTISATIONS[ns.scale_of(campaign.documents)]) - {"strict6"}
    return [*sorted(names), "strict", "gen"]


@st.composite
def quantised_campaigns(draw: st.DrawFn, **options: Any) -> tuple[Campaign, str]:
    """A campaign in which something is relevant, and a function of its scale."""
    campaign = draw(trees.campaigns(**options))
    quant = draw(st.sampled_from(quantisations(campaign)))
    assume(ns.full_base(ns.quantised(campaign.documents, quant)))
    return campaign, quant


gain_lists = st.lists(st.sampled_from(exact(0, 0, "0.25", "0.5", "0.75", 1)), max_size=7)
ideal_lists = st.lists(
    st.sampled_from(exact("0.25", "0.5", "0.75", 1)), min_size=1, max_size=6
).map(lambda values: sorted(values, reverse=True))
binary_lists = st.lists(st.sampled_from(exact(0, 1)), max_size=8)
