"""PRUM: worked examples, and bounds of its two forms."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings

import campaigns
from foveal.measures import parse_measure
from foveal.measures.eprum import compute_reader_precision
from measures.test_eprum import RUN, THREE
from measures.test_user_model import find_hits, value

quick = settings(max_examples=40)


def prum(p: list[list[float]], *, read_on: bool = True) -> list[float]:
    return compute_reader_precision(find_hits(p), len(p[0]), len(p), read_on=read_on).tolist()


@pytest.mark.parametrize(
    ("measure", "expected"),
    [
        ("PRUM", (0.7554 + 0.5269) / 2),
        ("PRUM@0.5", 0.7554),
        ("PRUM@0", 0.7554),
        ("PRUM@1", 0.5269),
        ("PRUM(unreached=zero)@0.5", 0.7554 * 0.9614),
        ("PRUM(unreached=zero)@1", 0.5269 * 0.6192),
    ],
)
def test_best_entry_points_of_the_toy_campaign(measure: str, expected: float) -> None:
    assert value(RUN, measure) == pytest.approx(expected, abs=6e-5)


def test_three_targets() -> None:
    assert prum(THREE) == pytest.approx([0.6494, 0.6558, 0.6487], abs=5e-5)


def test_who_never_finds_enough_reads_to_the_end() -> None:
    """The second target is never found: one of two results shows something new."""
    p = [[1.0, 0.0], [0.0, 0.0]]
    assert prum(p) == [1.0, 0.5]
    assert prum(p, read_on=False) == [1.0, 0.0]


def test_results_that_lead_nowhere_are_consulted_too() -> None:
    p = [[0.0]] * 3 + [[1.0]] + [[0.0]] * 2
    assert prum(p) == [0.25]
    assert value("D3:0-40 D3:0-20", "PRUM") == 0


def test_elements_of_the_ideal_recall_base() -> None:
    """D1 s1 for certain, D2 with odds of one half, then p4 for certain."""
    run = "D1:/a/s[1] D2:/a/p[1] D1:/a/s[2]/p[1]"
    assert value(run, "PRUM(targets=ideal)@0.33") == 1
    assert value(run, "PRUM(targets=ideal)@0.66") == pytest.approx((1 + 0.5 + 0.5) / 2.5)
    assert value(run, "PRUM(targets=ideal)@1") == pytest.approx(2.5 / 3)


@given(campaigns.campaigns())
@quick
def test_between_none_and_all_and_never_more_without_those_who_fail(
    campaign: campaigns.Campaign,
) -> None:
    for setting in ("A=1", "targets=passages", "behaviour=t2i,T=4"):
        read_on, zero = (
            campaigns.score(parse_measure(f"PRUM({setting},unreached={u})"), *campaign)
            for u in ("read_on", "zero")
        )
        if not math.isnan(read_on):
            assert -1e-12 <= zero <= read_on + 1e-12
            assert read_on <= 1 + 1e-12
