"""Measures of other tools: worked out by hand, shown where they mislead, on ugly inputs."""

from __future__ import annotations

from dataclasses import replace

import polars as pl
import pytest

import foveal
import naive
from campaigns import score
from foveal.cli import main
from foveal.measures import Measure, all_measures, parse_measure
from foveal.model import Judgements, Run

DOCUMENTS = {
    "A": naive.Doc(100, ((10, 20), (30, 50))),
    "B": naive.Doc(40, ((0, 10),)),
    "N": naive.Doc(60),
}
"""40 relevant characters in three passages."""
OTHERS = [m for m in all_measures() if m.section == "30"]


def get(measure: str, run: str, documents: dict[str, naive.Doc] | None = None) -> float:
    """The score of results written ``A:10-20``."""
    results = []
    for word in run.split():
        doc, _, place = word.partition(":")
        start, _, end = place.partition("-")
        results.append((doc, int(start), int(end)))
    return score(parse_measure(measure), results, documents or DOCUMENTS)


@pytest.mark.parametrize(
    ("measure", "run", "value"),
    [
        # 5 of [10,20) and all of B's 10 are found, 70 characters read, 25 missed.
        ("ce_recall", "A:0-15 N:0-45 B:0-10", 15 / 40),
        ("ce_precision", "A:0-15 N:0-45 B:0-10", 15 / 70),
        ("ce_iou", "A:0-15 N:0-45 B:0-10", 15 / (70 + 25)),
        # Chunks with relevant text: A [0,15), B [0,10); with the references A [0,20) [30,50), B.
        ("ce_precision_omega", "A:0-15 N:0-45 B:0-10", 15 / (20 + 20 + 10)),
        ("ce_recall@1", "A:0-15 B:0-10", 5 / 40),
        ("lbr_precision", "A:0-15 N:0-45 B:0-10", 15 / 70),
        ("lbr_recall", "A:0-15 N:0-45 B:0-10", 15 / 40),
        ("gen_document", "N:0-9 A:90-95 B:0-1", (1 / 2 + 2 / 3) / 2),
        # A:0-15 gives 5 of 15, B:0-10 another 10 of 70 in all; one passage is not found.
        ("gen_passage", "A:0-15 N:0-45 B:0-10", (5 / 15 + 15 / 70) / 3),
        # Aspect by passage: the first at rank 1, the second after one result without any.
        ("gen_aspect", "A:0-15 N:0-45 B:0-10", (1 + 2 / 3) / 3),
        # Characters 10 to 14 come at ranks 11 to 15; nothing else is found.
        ("gen_passage2", "A:0-15", sum((i + 1) / (11 + i) for i in range(5)) / 40),
        # [0,15] has 16 characters, 6 of them in [10,20]; [0,10] all 11; golden 11 + 21 + 11.
        ("bio_precision", "A:0-15 N:0-44 B:0-10", (6 + 11) / (16 + 45 + 11)),
        ("bio_recall", "A:0-15 N:0-44 B:0-10", (6 + 11) / 43),
        ("bio_f1", "A:0-15 N:0-44 B:0-10", 2 * 17 / (72 + 43)),
        ("bio_precision(ends=exclusive)", "A:0-15 N:0-45 B:0-10", 15 / 70),
        ("bio_recall(ends=exclusive)", "A:0-15 N:0-45 B:0-10", 15 / 40),
        ("bio_ap", "A:0-15 N:0-44 B:0-10", (6 / 16 + 17 / 72) / 3),
        ("bio_ap(version=3)", "A:0-15 N:0-44 B:0-10", (6 / 16 + 17 / 72) / 10),
        ("bio_ap(version=2)", "A:0-15 N:0-44 B:0-10", (6 / 16 + 17 / 72) / 3),
        # A:12-22 and A:20-32 become [12,32] with 9 + 3 of 21 characters, before B.
        ("bio_ap", "A:12-22 B:0-10 A:20-32", (12 / 21 + 23 / 32) / 3),
        # A:10-25 has 10 of 15 characters in common with [10,20); A:30-39 9 of 20.
        ("eraser_iou_p", "A:10-25 A:30-39 N:0-5", 1 / 3),
        ("eraser_iou_r", "A:10-25 A:30-39 N:0-5", 1 / 3),
        ("eraser_iou_f1", "A:10-25 A:30-39", 2 * (1 / 2) * (1 / 3) / (5 / 6)),
        ("eraser_iou_f1(threshold=0.45)", "A:10-25 A:30-39", 2 * 1 * (2 / 3) / (5 / 3)),
        # 25 characters, 20 of them among the 40.
        ("squad_f1", "A:30-55", 2 * 20 / (25 + 40)),
        ("squad_f1@1", "A:30-55 B:0-10", 2 * 20 / (25 + 40)),
    ],
)
def test_by_hand(measure: str, run: str, value: float) -> None:
    assert get(measure, run) == pytest.approx(value, abs=1e-15)


@pytest.mark.parametrize(
    ("measure", "run", "value"),
    [
        ("ce_precision", "A:10-20 A:30-50 A:40-50 B:0-10", 40 / 50),  # chunks that overlap
        ("ce_precision_omega", "A:10-20 A:20-30 A:30-50 B:0-10", 40 / 50),  # one that touches
        ("lbr_recall", "A:0-100 A:0-100 B:0-10", 70 / 40),
        ("gen_passage", "A:10-15 A:15-20", 2 / 4),  # a passage in pieces; 1/3 in one piece
        ("gen_aspect", "A:10-20 A:10-20 A:10-20 B:0-1", 2 / 3),  # repeats cost nothing
        ("bio_recall", "A:20-30", 2 / 43),  # the offsets 20 and 30
        ("bio_recall(ends=exclusive)", "A:20-30", 0),
        ("eraser_iou_r", "A:30-50 A:30-49 A:31-50 A:32-50", 4 / 3),
    ],
)
def test_where_they_mislead(measure: str, run: str, value: float) -> None:
    assert get(measure, run) == pytest.approx(value)


# -- as declared --------------------------------------------------------------------------------


@pytest.mark.parametrize("measure", OTHERS, ids=str)
def test_the_reason_is_shown(measure: Measure, capsys: pytest.CaptureFixture[str]) -> None:
    main(["measures", measure.name])
    explained = " ".join(capsys.readouterr().out.split())
    main(["measures"])
    listed = capsys.readouterr().out.splitlines()
    (line,) = [
        line for line in listed if line[2:].partition(" ")[0].partition("[")[0] == measure.name
    ]
    assert measure.unsound in explained
    assert ("unsound " in explained) == bool(measure.unsound)
    assert line.endswith("[unsound]") == bool(measure.unsound)


def test_our_own_measures_are_sound() -> None:
    own = [m for m in all_measures() if m not in OTHERS]
    assert not [m.name for m in own if m.unsound]


# -- aspects and answers ------------------------------------------------------------------------


def labelled(column: str, *labels: list[str] | None) -> Judgements:
    """Judgements of A with spans [0,10), [20,30), [40,50) that have these names."""
    plain = Judgements.from_highlights({"1": {"A": {"spans": [(0, 10), (20, 30), (40, 50)]}}})
    return replace(plain, **{column: pl.Series(labels, dtype=pl.List(pl.String))})


def evaluated(measure: str, judgements: Judgements, *spans: tuple[int, int]) -> float:
    run = Run.from_results({"1": [("A", *span) for span in spans]})
    return foveal.evaluate(run, judgements, [measure])["run", measure]


def test_aspects_are_shared_by_passages() -> None:
    judgements = labelled("aspects", ["p53", "mdm2"], ["p53"], ["atm"])
    # New: one, none, two of three aspects; the result that repeats p53 has no rank.
    spans = (20, 25), (24, 30), (0, 5), (90, 95), (40, 50)
    expected = (1 * 1 / 1 + 1 * 2 / 2 + 1 * 3 / 4) / 3
    assert evaluated("gen_aspect", judgements, *spans) == pytest.approx(expected)


def test_a_passage_without_aspects_is_one_of_its_own() -> None:
    judgements = labelled("aspects", ["p53"], None, [])
    assert evaluated("gen_aspect", judgements, (20, 25), (40, 45)) == pytest.approx(2 / 3)


def test_the_best_answer_counts() -> None:
    judgements = labelled("sets", ["a1"], ["a2"], None)
    # a1 is [0,10) with [40,50), a2 is [20,30) with [40,50).
    assert evaluated("squad_f1", judgements, (20, 30), (40, 50)) == 1
    assert evaluated("squad_f1", judgements, (20, 30)) == pytest.approx(2 * 10 / (10 + 20))
    assert evaluated("squad_f1", judgements, (0, 10), (20, 30)) == pytest.approx(2 * 10 / 40)
