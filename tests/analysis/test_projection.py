"""Judgements on units: gains, cut evidence, ceilings that no run exceeds, qrels of units."""

from __future__ import annotations

from itertools import combinations, permutations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import foveal
from foveal.analysis.projection import LEVELS, Segmentation, project, read_segmentation
from foveal.errors import InputError, UsageError

ROOT = Path(__file__).resolve().parents[2]
CAMPAIGN = ROOT / "examples" / "crossings"
TRUTH = foveal.Judgements.from_highlights(
    {
        "1": {"A": {"spans": [(10, 30), (50, 60)], "length": 100}},
        "2": {"A": {"spans": [(95, 100)], "length": 100}, "B": {"spans": [(0, 5)], "length": 50}},
        "3": {"B": {"spans": [], "length": 50}},
    }
)
HALVES = Segmentation.from_chunks([("A", 0, 20), ("A", 20, 60), ("A", 60, 90)], name="halves")


# -- worked examples ---------------------------------------------------------------------------


def test_what_becomes_of_passages() -> None:
    one, two = project(TRUTH, HALVES).topics.to_dicts()
    assert one["inside"] == 1.0
    assert (one["whole"], one["split"], one["outside"]) == (0.5, 0.5, 0.0)
    assert one["split_text"] == 20 / 30
    assert one["purity"] == 0.5
    assert one["units"] == 2
    # Nothing of topic 2 lies in a unit, and topic 3 has nothing that could.
    assert (two["inside"], two["outside"], two["best_F"], two["iP@0.1 bound"]) == (0, 1, 0, 0)


def test_graded_qrels() -> None:
    found = project(TRUTH, Segmentation.from_chunks([("A", 10, 30), ("A", 45, 65), ("A", 29, 39)]))
    assert found.qrels(grades=3) == "1 0 A:10-30 3\n1 0 A:45-65 2\n1 0 A:29-39 1\n"
    assert found.qrels() == "1 0 A:10-30 1\n1 0 A:45-65 1\n1 0 A:29-39 1\n"
    assert found.qrels(threshold=0.5) == "1 0 A:10-30 1\n1 0 A:45-65 1\n"
    with pytest.raises(UsageError, match="grades 0 is not possible"):
        found.qrels(grades=0)
    spaced = project(TRUTH, Segmentation.from_chunks([("A", 0, 100)], ids=["a chunk"]))
    with pytest.raises(UsageError, match="names with white space"):
        spaced.qrels()


def test_classic_tools_score_units_as_we_score_their_text(tmp_path: Path) -> None:
    """P@k of unit names is the share of results with relevant text."""
    import ir_measures

    truth = foveal.read_judgements(CAMPAIGN / "judgements.jsonl")
    judged = truth.documents
    lengths = dict(zip(judged.names, judged.length.tolist(), strict=True))
    division = Segmentation.windows(lengths, 300)
    found = project(truth, division)
    frame = division.to_frame()
    rng = np.random.default_rng(7)
    ranked = {
        topic: [frame.row(int(i))[1:] for i in rng.choice(len(division), 10, replace=False)]
        for topic in truth.topics
    }
    run = foveal.Run.from_results(ranked, name="windows")
    foveal.write_run(division.name_units(run), tmp_path / "named.run", "trec")
    (tmp_path / "units.qrels").write_text(found.qrels())
    qrels = ir_measures.read_trec_qrels(str(tmp_path / "units.qrels"))
    scored = ir_measures.iter_calc(
        [ir_measures.P @ 10], qrels, ir_measures.read_trec_run(str(tmp_path / "named.run"))
    )
    held = set(found.gains.select("topic", "doc", "start", "end").iter_rows())
    for metric in scored:
        hits = sum((metric.query_id, *unit) in held for unit in ranked[metric.query_id])
        assert metric.value == pytest.approx(hits / 10)


def test_runs_of_names_and_of_places_are_one(tmp_path: Path) -> None:
    run = foveal.Run.from_results({"1": [("A", 20, 60), ("A", 0, 20)]}, name="mine")
    named = HALVES.name_units(run)
    assert named.doc.to_list() == ["A:20-60", "A:0-20"]
    foveal.write_run(named, tmp_path / "mine.trec", "trec")
    back = HALVES.place_units(foveal.read_run(tmp_path / "mine.trec"))
    for name in ("doc", "start", "end"):
        assert list(getattr(back, name)) == list(getattr(run, name))
    other = foveal.Run.from_results({"1": [("A", 20, 61)]}, name="mine")
    with pytest.raises(InputError, match=r"mine:1: 'A' \[20,61\) is not a unit of 'halves'"):
        HALVES.name_units(other)
    with pytest.raises(InputError, match="is not a unit of 'halves'"):
        HALVES.place_units(run)


# -- divisions ---------------------------------------------------------------------------------


@given(st.integers(1, 60), st.integers(1, 25), st.integers(1, 25))
def test_windows_cover_documents_and_none_is_inside_another(
    length: int, size: int, step: int
) -> None:
    division = Segmentation.windows({"D": length}, size, step)
    places = list(zip(division.start.tolist(), division.end.tolist(), strict=True))
    covered = {at for a, b in places for at in range(a, b)}
    if step <= size:
        assert covered == set(range(length))
    assert all(b - a == size for a, b in places[:-1])
    assert not any(a <= c and d <= b for (a, b), (c, d) in permutations(places, 2))


def test_divisions_are_read(tmp_path: Path) -> None:
    path = tmp_path / "chunks.jsonl"
    path.write_text(
        '{"doc": "A", "start": 0, "end": 20, "id": "x"}\n'
        '{"doc": "A", "start": 20, "end": 60, "id": "y"}\n'
    )
    division = read_segmentation(path)
    assert (division.name, division.id.to_list()) == ("chunks", ["x", "y"])
    run = foveal.Run.from_results({"1": [("A", 0, 20)], "2": [("A", 0, 20), ("B", 0, 5)]}, name="r")
    foveal.write_run(run, tmp_path / "run.jsonl", "jsonl")
    assert read_segmentation(tmp_path / "run.jsonl").id.to_list() == ["A:0-20", "B:0-5"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"doc": "A", "start": 0}\n', ":1: start and end belong together"),
        ('{"doc": "A"}\n', ":1: start missing, end missing; expected the place"),
        (
            '{"type": "header", "end": "inclusive"}\n{"doc": "A", "start": 0, "end": 9}\n',
            ":1: header says end 'inclusive'; expected exclusive",
        ),
        ('{"doc": "A", "start": 9, "end": 5}\n', ":1: end 5 is before start 9"),
        ('{"doc": "A", "start": 5, "end": 5}\n', ":1: start 5, end 5; expected the place"),
        ('{"start": 0, "end": 5}\n', ":1: doc is missing"),
        ("", "has no unit"),
        (
            "\n".join(f'{{"doc": "A", "start": 0, "end": {end}, "id": "x"}}' for end in (5, 9)),
            "are called 'x'",
        ),
    ],
)
def test_bad_divisions_are_refused(text: str, expected: str, tmp_path: Path) -> None:
    path = tmp_path / "chunks.jsonl"
    path.write_text(text)
    with pytest.raises(InputError) as refused:
        read_segmentation(path)
    assert expected in str(refused.value)


def test_impossible_divisions_are_refused() -> None:
    with pytest.raises(UsageError, match=r"chunk \[5,5\) of document 'A' holds no text"):
        Segmentation.from_chunks([("A", 5, 5)])
    with pytest.raises(UsageError, match="has no unit"):
        Segmentation.from_chunks([])
    with pytest.raises(UsageError, match="windows of 0 every 0 characters"):
        Segmentation.windows({"A": 10}, 0)


def test_judgements_of_documents_have_nothing_to_project(tmp_path: Path) -> None:
    (tmp_path / "qrels").write_text("1 0 A 1\n")
    with pytest.raises(UsageError, match="no relevant text"):
        project(tmp_path / "qrels", HALVES)
    with pytest.raises(UsageError, match="whole numbers of characters from 1"):
        project(TRUTH, HALVES, budgets=[0])


# -- naive against fast ------------------------------------------------------------------------

LENGTH = 40
intervals = st.tuples(st.integers(0, LENGTH - 1), st.integers(1, 15)).map(
    lambda pair: (pair[0], min(sum(pair), LENGTH))
)


@st.composite
def cases(draw: st.DrawFn, *, apart: bool) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    """Relevant passages and at most five units of one document."""
    passages = draw(st.lists(intervals, min_size=1, max_size=3))
    units = sorted(set(draw(st.lists(intervals, min_size=1, max_size=5))))
    if apart:
        kept: list[tuple[int, int]] = []
        for unit in units:
            if not kept or unit[0] >= kept[-1][1]:
                kept.append(unit)
        units = kept
    return passages, units


def relevant_of(passages: list[tuple[int, int]]) -> set[int]:
    return {at for a, b in passages for at in range(a, b)}


def lists_of(units: list[tuple[int, int]]) -> list[list[tuple[int, int]]]:
    """Every set of units that do not overlap."""
    found = []
    for size in range(1, len(units) + 1):
        for chosen in combinations(units, size):
            if all(b <= c or d <= a for (a, b), (c, d) in combinations(chosen, 2)):
                found.append(list(chosen))
    return found


@pytest.mark.parametrize("apart", [True, False])
@settings(max_examples=50)
@given(data=st.data(), budgets=st.lists(st.integers(1, 45), min_size=1, max_size=3, unique=True))
def test_ceilings_hold_for_every_run_of_units(
    apart: bool, data: st.DataObject, budgets: list[int]
) -> None:
    passages, units = data.draw(cases(apart=apart))
    relevant = relevant_of(passages)
    truth = foveal.Judgements.from_highlights({"1": {"D": {"spans": passages, "length": LENGTH}}})
    found = project(
        truth, Segmentation.from_chunks([("D", *unit) for unit in units]), budgets=budgets
    )
    (row,) = found.topics.to_dicts()
    assert row["inside"] == len(relevant & relevant_of(units)) / len(relevant)
    held = {unit: len(relevant & set(range(*unit))) for unit in units}
    gained = {(r[0], r[1]): r[2] for r in found.gains.select("start", "end", "relevant").rows()}
    assert gained == {unit: count for unit, count in held.items() if count}

    best_p = best_f = 0.0
    best_ip = dict.fromkeys(LEVELS, 0.0)
    best_r = dict.fromkeys(budgets, 0.0)
    for chosen in lists_of(units):
        got, read = sum(held[u] for u in chosen), sum(b - a for a, b in chosen)
        best_p = max(best_p, got / read)
        best_f = max(best_f, 2 * got / (read + len(relevant)))
        for level in LEVELS:
            if got >= level * len(relevant) - 1e-9 and got:
                best_ip[level] = max(best_ip[level], got / read)
        for budget in budgets:
            for last in chosen:  # the order matters only in which one is cut
                before = [u for u in chosen if u != last]
                left = budget - sum(b - a for a, b in before)
                if left >= 0:
                    cut = set(range(last[0], min(last[0] + left, last[1])))
                    score = (sum(held[u] for u in before) + len(relevant & cut)) / len(relevant)
                    best_r[budget] = max(best_r[budget], score)
    assert row["best_P"] == pytest.approx(best_p)
    assert row["best_F"] == pytest.approx(best_f)
    for level, best in best_ip.items():
        assert best <= row[f"iP@{level:g} bound"] + 1e-12
    for budget, best in best_r.items():
        assert best <= row[f"charR@{budget} bound"] + 1e-12
