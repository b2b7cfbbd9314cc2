"""The naive references give some numbers of the specification's worked examples (METRICS.md).

All of these numbers are checked with the real measures in `measures/test_worked_examples*.py`.
The specification prints four decimals, hence the tolerance. The toy collection is that of 1.4.
"""

from typing import Any

import pytest

import naive
import naive_structure
from measures.test_worked_examples_structure import NAMES, TOY
from naive_structure import Result

JUDGED = {name: naive.Doc(doc.tree.size, doc.highlights, doc.bep) for name, doc in TOY.items()}
SPANS: dict[str, naive.Result] = {
    "a": ("D1", 0, 100),
    "s1": ("D1", 0, 60),
    "s2": ("D1", 60, 100),
    "p1": ("D1", 0, 20),
    "p2": ("D1", 20, 40),
    "p4": ("D1", 60, 80),
    "D2": ("D2", 0, 50),
    "D2.p1": ("D2", 0, 25),
    "D3": ("D3", 0, 40),
    "@20": ("D1", 20, 20),
    "@0": ("D3", 0, 0),
    "@25": ("D2", 25, 25),
    "^0": ("D1", 0, 0),
    "^60": ("D1", 60, 60),
}
FOCUSED, IN_CONTEXT, OVERLAPPING = "p2 D2 D3 s2", "D3 p2 s2 D2.p1", "p2 s1 p4 D2 p1"
BEST, ENTRIES = "@20 @0 @25", "^0 @0 @25 ^60"
OF_TEXT: list[tuple[str, str, dict[str, Any], float]] = [
    ("charP", "p2 s1 D2", {"k": 3, "policy": "union"}, 0.7273),
    ("charR", "p2 s1 D2", {"policy": "allow"}, 1.1111),
    ("HiP", "p2 s1 a", {"k": 3}, 0.2222),
    ("HiF", "p2 s1 a", {"k": 3}, 0.2963),
    ("iP", FOCUSED, {"x": "0.80"}, 0.5333),
    ("AiP", FOCUSED, {}, 0.8304),
    ("gP", IN_CONTEXT, {"k": 3}, 0.4222),
    ("gRw", IN_CONTEXT, {"k": 2}, 0.4444),
    ("AgP", IN_CONTEXT, {}, 0.3611),
    ("AgPw", IN_CONTEXT, {"form": "8"}, 0.3679),
    ("igP", IN_CONTEXT, {"x": "0.5"}, 0.4222),
    ("gP", "p2 s2", {"k": 1, "score": "T2I", "irr": 15}, 0.6667),
    ("BEPD", BEST, {"A": 10}, 0.9732),
    ("AgP", BEST, {"score": "BEP", "n": 500}, 0.8117),
    ("T2I", ENTRIES, {"T": 15, "mode": "read"}, 0.8056),
    ("T2IcharR", ENTRIES, {"k": 4, "T": 15, "mode": "read"}, 0.7222),
    ("AP", "D3 p2 s2 D2", {}, 0.5833),
    ("SetOverlap", OVERLAPPING, {}, 0.6),
    ("MeanOverlap", OVERLAPPING, {}, 0.2667),
    ("Redundancy", OVERLAPPING, {}, 0.2353),
]
RUN, BROWSING = "p2 D2.a D3.a s2", "D2.p1 p2 D3.p1 s2"
OF_STRUCTURE: list[tuple[str, str, dict[str, Any], float]] = [
    ("inex_eval", "D3.a p2", {"x": "0.1"}, 0.615 / 1.615),
    ("inex_eval", "p2 p2 D2.a", {"x": "0.5", "quant": "strict"}, 2 / 3),
    ("xCG", RUN, {"k": 4, "overlap": "on"}, 1.75),
    ("nxCG", RUN, {"k": 4}, 0.5625),
    ("MAnxCG", RUN, {"k": 4, "overlap": "on"}, 0.78125),
    ("gr", RUN, {"k": 2, "overlap": "on"}, 0.75),
    ("MAep", RUN, {"overlap": "on"}, 0.7083),
    ("MAep", RUN, {"overlap": "on", "ideal": "step"}, 0.9167),
    ("ep", RUN, {"x": "0.5", "overlap": "on"}, 0.75),
    ("iMAep", RUN, {"overlap": "on", "between": "curve"}, 0.5656),
    ("Q", RUN, {"overlap": "on"}, 0.8472),
    ("Rmeasure", RUN, {"overlap": "on", "form": "printed"}, 0.5385),
    ("FBarticle", BROWSING, {}, 1),
    ("FBelement", BROWSING, {"overlap": "on"}, 0.9375),
]


@pytest.mark.parametrize(("measure", "run", "options", "expected"), OF_TEXT)
def test_measures_of_text(measure: str, run: str, options: Any, expected: float) -> None:
    results = [SPANS[name] for name in run.split()]
    found = getattr(naive, measure)(results, JUDGED, **options)
    assert found == pytest.approx(expected, abs=5e-5)


@pytest.mark.parametrize(("measure", "run", "options", "expected"), OF_STRUCTURE)
def test_measures_of_structure(measure: str, run: str, options: Any, expected: float) -> None:
    results = [Result(*NAMES[name]) for name in run.split()]
    found = getattr(naive_structure, measure)(results, TOY, **options)
    assert found == pytest.approx(expected, abs=5e-5)
