"""Comparisons of runs: pairs, letters, marks, counts, what is refused."""

from __future__ import annotations

import itertools
import math

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import foveal
from foveal.analysis.comparison import Comparison, compare
from foveal.analysis.score_matrix import ScoreMatrix
from foveal.errors import UsageError
from foveal.measures import Measure
from foveal.measures.alignment import TopicView
from foveal.model import Judgements, Results, Run
from foveal.report.drawing import figure
from foveal.report.write import render

X = (0.42, 0.10, 0.55, 0.31, 0.70, 0.25)
Y = (0.40, 0.12, 0.45, 0.22, 0.61, 0.25)


def results(scores: dict[str, list[float] | tuple[float, ...]], measure: str = "AP") -> Results:
    """Scores of runs on topics 1, 2, ..."""
    rows = [
        (run, str(t), measure, value)
        for run, values in scores.items()
        for t, value in enumerate(values, 1)
    ]
    return Results.from_tidy(rows, {})


def random_results(runs: int, topics: int, seed: int = 0) -> Results:
    random = np.random.default_rng(seed)
    base = random.beta(1, 2, topics)
    return results(
        {
            f"run{i}": (base + random.normal(0.03 * i, 0.1, topics)).clip(0, 1).tolist()
            for i in range(runs)
        }
    )


def only_row(found: Comparison) -> dict:
    (row,) = found.rows()
    return row


class Wasted(Measure):
    """A measure of somebody else's, which no registry knows."""

    name = "wasted"
    formula = "wasted = 1 - charP"
    higher_is_better = False

    def score_topic(self, topic: TopicView) -> float:
        return float(1 - topic.rsize.sum() / topic.size.sum())


def test_a_measure_that_nobody_registered_keeps_its_direction() -> None:
    truth = Judgements.from_highlights({t: {"d": {"spans": [(0, 10)]}} for t in "12"})
    pure = Run.from_results({t: [("d", 0, 10)] for t in "12"}, name="pure")
    half = Run.from_results({t: [("d", 0, 20)] for t in "12"}, name="half")
    scores = foveal.evaluate([half, pure], truth, [Wasted()])
    assert scores.overall[:, 0].tolist() == [0.5, 0.0]
    for part in (scores, Results.joined([scores.of_runs(["half"]), scores.of_runs(["pure"])])):
        aligned = ScoreMatrix.from_results(part, "wasted")
        assert (aligned.runs, aligned.higher_is_better) == (("half", "pure"), False)
    assert "<b>0.0000</b>" in render(scores, "html")


def test_the_worked_example() -> None:
    """METRICS 21: t = 2.1654, p = .0826; sign 4:1, p = .375."""
    found = compare(results({"x": X, "y": Y}), tests=["t", "sign"])
    t, sign = found.rows()
    assert t["p"] == pytest.approx(0.0826, abs=5e-5) == t["p_corrected"]
    assert t["effect"] * math.sqrt(6) == pytest.approx(2.1654, abs=5e-5)
    assert (sign["p"], sign["test"]) == (0.375, "sign")
    assert (t["wins"], t["ties"], t["losses"]) == (4, 1, 1)
    assert t["difference"] == pytest.approx(0.28 / 6)
    assert t["low"] <= t["difference"] <= t["high"]
    assert (t["better"], t["significant"], t["topics"]) == ("x", False, 6)
    assert t["topics_needed"] == 13  # d = .884: the tables say 13 for .8 at .05, two-sided


def test_marks_say_better_or_worse_and_significant() -> None:
    up = [value + 0.2 + t / 100 for t, value in enumerate(X)]
    down = [value - 0.2 - t / 100 for t, value in enumerate(X)]
    found = compare(
        results({"x": X, "up": up, "y": Y, "down": down, "same": X}),
        baseline="x",
        correction="none",
    )
    assert found.signs("AP") == {"up": "+*", "y": "-", "down": "-*", "same": "="}


def test_letters_go_from_best_to_worst() -> None:
    up = [value + 0.2 + t / 100 for t, value in enumerate(X)]
    found = compare(results({"x": X, "y": Y, "up": up}))
    assert found.signs("AP") == {"up": "a", "x": "b", "y": "b"}
    assert found.runs_frame()["run"].to_list() == ["up", "x", "y"]


def test_a_smaller_value_may_be_better() -> None:
    found = compare(results({"x": X, "y": Y}, measure="T2Ieffort@3"))
    row = only_row(found)
    assert (row["better"], row["wins"], row["losses"]) == ("y", 1, 4)
    assert row["difference"] > 0
    assert list(found.signs("T2Ieffort@3")) == ["y", "x"]
    assert compare(results({"x": X, "y": Y}, "T2Ieffort@3"), baseline="x").signs("T2Ieffort@3") == {
        "y": "+"
    }


def test_topics_are_matched_by_their_names_and_undefined_ones_left_out() -> None:
    rows = [("x", str(t), "AP", value) for t, value in enumerate(X)]
    rows += [("y", str(t), "AP", value) for t, value in reversed(list(enumerate(Y)))]
    rows += [("x", "new", "AP", 0.9), ("x", "odd", "AP", None), ("y", "odd", "AP", 0.4)]
    found = compare(Results.from_tidy(rows, {}))
    assert only_row(found)["p"] == pytest.approx(0.0826, abs=5e-5)
    assert found.warnings == (
        "AP: topics on which some run has no score, not compared, 2: new, odd",
    )
    assert found.meta["left_out"] == {"AP": ["new", "odd"]}
    again = [(run, topic, "AiP", value) for run, topic, _, value in rows]
    both = compare(Results.from_tidy(rows + again, {}))
    assert both.warnings == (
        "AP, AiP: topics on which some run has no score, not compared, 2: new, odd",
    )


def test_identical_runs_give_p_1_by_every_test() -> None:
    tests = ["t", "wilcoxon", "sign", "randomisation", "bootstrap"]
    for tails in (1, 2):
        found = compare(results({"x": X, "y": X}), tests=tests, tails=tails)
        rows = list(found.rows())
        assert [row["p"] for row in rows] == [1.0] * 5
        assert {row["better"] for row in rows} == {None} == {row["topics_needed"] for row in rows}
        assert found.signs("AP") == {"x": "a", "y": "a"}


@pytest.mark.parametrize("runs", [2, 3, 7])
def test_significant_pairs_are_counted_one_tailed_and_uncorrected(runs: int) -> None:
    """METRICS 21; here pair by pair with scipy."""
    scored = random_results(runs, 25, seed=runs)
    values = scored.values[:, :, 0]
    naive = 0
    for i, j in itertools.combinations(range(runs), 2):
        worse, better = sorted((values[i], values[j]), key=np.mean)
        naive += stats.ttest_rel(better, worse, alternative="greater").pvalue < 0.05
    (row,) = compare(scored).summary_rows()
    assert (row["one_tailed"], row["pairs"]) == (naive, runs * (runs - 1) // 2)
    assert row["significant"] <= naive
    (row,) = compare(scored, tails=1, correction="none").summary_rows()
    assert row["significant"] == naive


@given(st.integers(2, 6), st.integers(2, 9), st.integers(0, 99))
@settings(max_examples=30)
def test_what_always_holds(runs: int, topics: int, seed: int) -> None:
    scored = random_results(runs, topics, seed)
    found = compare(scored, resamples=99, tests=["t", "randomisation"])
    frame = found.to_frame()
    assert len(frame) == runs * (runs - 1)
    assert (frame["wins"] + frame["ties"] + frame["losses"] == topics).all()
    assert (frame["low"] <= frame["high"]).all()
    assert (frame["p_corrected"] >= frame["p"]).all()
    given_back = frame.filter(pl.col("difference") > 0)
    assert (given_back["better"] == given_back["run"]).all()
    letters = found.signs("AP")
    for row in found.rows():
        if row["test"] == "t":
            assert bool(set(letters[row["run"]]) & set(letters[row["other"]])) != row["significant"]


def test_the_p_of_a_pair_does_not_depend_on_other_runs_or_measures() -> None:
    scored = random_results(6, 15)
    options = {"tests": ["randomisation", "bootstrap", "wilcoxon"], "resamples": 500}
    kept = [row for row in scored.rows() if row[0] in ("run4", "run2")]
    kept += [(run, topic, "P", value / 2) for run, topic, _, value in kept]
    alone = compare(Results.from_tidy(kept[::-1], {}), measures="AP", **options).to_frame()
    among = compare(scored, **options).to_frame()
    among = among.filter(pl.col("run") == "run2", pl.col("other") == "run4")
    assert alone["p"].to_list() == among["p"].to_list()
    limits = ["low", "high", "effect"]
    there, back = alone.select(limits).row(0), among.select(limits).row(0)
    assert (-there[1], -there[0], -there[2]) == pytest.approx(back, abs=0.02)


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("measures", "P@5"),
        ("tests", "u"),
        ("tests", ()),
        ("correction", "fdr"),
        ("interval", "z"),
        ("tails", 3),
        ("alpha", 0),
        ("confidence", 95),
        ("power", 0.01),
        ("resamples", 0),
        ("seed", -1),
    ],
)
def test_wrong_options_are_named(option: str, value: object) -> None:
    with pytest.raises(UsageError, match=option.removesuffix("s")):
        compare(results({"x": X, "y": Y}), **{option: value})


@pytest.mark.parametrize(
    ("scores", "options", "message"),
    [
        ({"x": X[:1], "y": Y[:1]}, {}, r"AP: .* on 1 topic, and two are needed"),
        ({"x": X}, {}, r"only one run to compare \(x\); expected at least two"),
        ({"x": X, "y": Y}, {"baseline": "z"}, "no run 'z' for the baseline; the runs are x, y"),
        ({"x": X, "y": Y}, {"judgements": "qrels"}, "results are not scored again"),
        ({"x": X, "y": Y}, {"task": "2009.Focused"}, "results are not scored again"),
    ],
)
def test_wrong_use_is_refused(scores, options: dict, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        compare(results(scores), **options)


def test_runs_without_judgements_or_alone_are_refused() -> None:
    run = Run.from_results({"1": [("D", 0, 5)]})
    truth = Judgements.from_highlights({"1": {"D": {"spans": [(0, 5)], "length": 9}}})
    with pytest.raises(UsageError, match="runs need judgements"):
        compare([run, run])
    with pytest.raises(UsageError, match=r"only one run to compare \(run\)"):
        compare(run, truth, "AP")


# -- what is compared --------------------------------------------------------------------------


def several(columns: dict[str, dict[str, list[float]]], meta: dict | None = None) -> Results:
    """Measure to run to scores on topics 1, 2, ..."""
    rows = [
        (run, str(t), measure, value)
        for measure, scores in columns.items()
        for run, values in scores.items()
        for t, value in enumerate(values, 1)
    ]
    return Results.from_tidy(rows, meta or {})


PAIR = {"x": list(X), "y": list(Y)}


def test_a_mean_of_other_measures_is_left_out() -> None:
    """inex_eval(quant=mean7) is a mean of seven means, not of its values by topic."""
    mean = "inex_eval(quant=mean7)"
    found = compare(several({mean: PAIR, "AP": PAIR}))
    assert [pairs.measure for pairs in found.measures] == ["AP"]
    (line,) = found.warnings
    assert line.startswith(f"{mean}: not compared, a mean of other measures")
    with pytest.raises(UsageError, match="a mean of other measures"):
        compare(several({mean: PAIR}))


def test_a_measure_that_some_runs_lack_does_not_stop_the_others() -> None:
    found = compare(several({"AP": PAIR, "AiP": {"x": list(X)}}))
    assert [pairs.measure for pairs in found.measures] == ["AP"]
    (line,) = found.warnings
    assert line == "AiP: not compared, all runs have scores on 0 topics, and two are needed"


@pytest.mark.parametrize("given", ["iP@.01", "iP@0.01", ["iP@.01", "iP@0.010"]])
def test_measures_are_found_in_any_spelling_and_counted_once(given: str | list[str]) -> None:
    scored = several({"iP@0.01": PAIR, "AP": PAIR})
    found = compare(scored, measures=given)
    assert [pairs.measure for pairs in found.measures] == ["iP@0.01"]
    assert found["iP@.01"] is found.measures[0]


def test_points_of_curves_are_compared_only_if_asked_for() -> None:
    scored = several({"MAep": PAIR, "ep@0.10": PAIR}, {"task": "2006.Thorough"})
    assert [pairs.measure for pairs in compare(scored).measures] == ["MAep"]
    asked = compare(scored, measures=["ep@0.10"])
    assert [pairs.measure for pairs in asked.measures] == ["ep@0.10"]


def test_assessors_are_not_runs() -> None:
    scored = several({"AP": PAIR}, {"options": {"assessors": "each"}})
    with pytest.raises(UsageError, match="union, majority, intersection or the name of one"):
        compare(scored)
    with pytest.raises(UsageError, match="union, majority, intersection or the name of one"):
        compare(["a", "b"], "qrels", "AP", assessors="each")


# -- numbers -----------------------------------------------------------------------------------


def test_differences_are_exact_and_ties_are_rounded() -> None:
    fine = [0.1 + 1e-14 * t for t in range(6)]
    row = only_row(
        compare(results({"x": X, "fine": [v + f for v, f in zip(X, fine, strict=True)]}))
    )
    exact = np.mean(np.subtract(X, [v + f for v, f in zip(X, fine, strict=True)]))
    assert row["difference"] == exact  # not a multiple of some step
    assert row["low"] <= row["difference"] <= row["high"]
    noisy = only_row(compare(results({"x": [0.1 + 0.2] * 3, "y": [0.3] * 3})))
    assert (noisy["difference"], noisy["ties"], noisy["better"]) == (0.0, 3, None)


@given(st.integers(2, 5), st.integers(2, 12), st.integers(0, 99), st.sampled_from([-40, -13, 6]))
@settings(max_examples=30)
def test_the_scale_of_scores_changes_no_finding(
    runs: int, topics: int, seed: int, power: int
) -> None:
    scored = random_results(runs, topics, seed)
    scaled = [(run, t, m, value * 2.0**power) for run, t, m, value in scored.rows() if t != "all"]
    p = ["p", "wins", "ties", "better", "effect"]
    there = compare(Results.from_tidy(scaled, {}), resamples=9).to_frame().select(p)
    assert there.equals(compare(scored, resamples=9).to_frame().select(p))


def test_infinite_scores_are_refused() -> None:
    with pytest.raises(UsageError, match="score of run 'y' on topic 2 is inf; expected a finite"):
        compare(results({"x": [0.1, 0.2, 0.3], "y": [0.1, math.inf, 0.3]}))


# -- odd names and types -----------------------------------------------------------------------


def test_what_is_no_run_is_refused() -> None:
    with pytest.raises(UsageError, match="saved results are read by read_results"):
        compare("saved.json")
    with pytest.raises(UsageError, match="5 is not a run"):
        compare(5, "qrels", "AP")


# -- pictures ----------------------------------------------------------------------------------


def test_a_figure_has_a_panel_for_each_measure_and_a_point_for_each_run() -> None:
    pytest.importorskip("matplotlib")
    up = [value + 0.2 + t / 100 for t, value in enumerate(X)]
    found = compare(several({"AP": {**PAIR, "up": up}, "T2Ieffort@3": {**PAIR, "up": up}}))
    panels = [axes for axes in figure(found.graphs()).axes if axes.get_title(loc="left")]
    assert [panel.get_title(loc="left") for panel in panels] == [
        "AP, 6 topics",
        "T2Ieffort@3, 6 topics, smaller is better",
    ]
    names = [[label.get_text() for label in panel.get_yticklabels()] for panel in panels]
    assert names == [["y (b)", "x (b)", "up (a)"], ["up (b)", "x (a)", "y (a)"]]
    points = panels[0].get_lines()[-1]
    assert points.get_xdata() == pytest.approx([np.mean(Y), np.mean(X), np.mean(up)])
    (graph,) = compare(results({"x": X, "up": up}), baseline="x").graphs()
    assert graph.y.names == ("x", "up (+*)")
