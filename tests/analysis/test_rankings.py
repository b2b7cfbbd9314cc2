"""System rankings compared by measure, by quantisation and by topics, averaged over tasks."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
import scipy.stats

from foveal.analysis.correlation import Correlations, correlate
from foveal.analysis.score_matrix import compute_ranking_scores
from foveal.analysis.tasks import drop_curves, group_by_task
from foveal.errors import UsageError
from foveal.evaluation import PRESETS
from foveal.evaluation.topic_groups import add_groups
from foveal.model import Results

RUNS = tuple("abcdef")
TOPICS = tuple(str(i) for i in range(1, 13))
TASKS_2005 = (
    *(f"2005.{topics}.{task}" for topics in ("CO", "COS") for task in ("Focussed", "Thorough")),
    *(f"2005.{task}" for task in ("SSCAS", "SVCAS", "VSCAS", "VVCAS")),
)


def random_results(
    measures: tuple[str, ...], seed: int = 1, task: str | None = None, runs: tuple[str, ...] = RUNS
) -> Results:
    random = np.random.default_rng(seed)
    values = random.random((len(runs), len(TOPICS), len(measures)))
    counted = np.ones((len(runs), len(TOPICS)), dtype=bool)
    meta = {"task": task}
    return Results(runs, TOPICS, measures, values, counted, values.mean(axis=1), meta)


def given(table: dict[str, list[float]], runs: tuple[str, ...] = RUNS) -> Results:
    """Results on one topic: measure to the scores of the runs."""
    rows = [
        (run, "1", measure, score)
        for measure, column in table.items()
        for run, score in zip(runs, column, strict=False)
    ]
    return Results.from_tidy(rows, {})


def by_task(parts: dict[str, Results]) -> list[Results]:
    """Results as if they were scored for these tasks."""
    return [replace(part, meta=dict(part.meta) | {"task": task}) for task, part in parts.items()]


def counts(found: Correlations) -> list[int]:
    return found.means.filter(pl.col("coefficient") == "tau_b")["count"].to_list()


def tau(x: np.ndarray, y: np.ndarray) -> float:
    return float(scipy.stats.kendalltau(x, y).statistic)


# -- by measure --------------------------------------------------------------------------------


def test_a_cell_is_the_mean_over_tasks() -> None:
    parts = [random_results(("AP", "AiP"), seed, task=f"2009.{t}") for seed, t in enumerate("xy")]
    with_tasks = {f"t{i}": part for i, part in enumerate(parts)}
    expected = np.mean([tau(part.overall[:, 0], part.overall[:, 1]) for part in parts])
    found = correlate(by_task(with_tasks))
    assert found.values("tau_b")[0, 1] == pytest.approx(expected)
    assert counts(found) == [2]
    assert found.tasks == {"t0": RUNS, "t1": RUNS}


def test_quantisations_are_variants_of_one_measure_and_meet_their_own_kind() -> None:
    labels = tuple(f"{m}(quant={q})" for q in ("gen5", "strict5") for m in ("MAep", "Q"))
    results = random_results(labels)
    found = correlate(results)
    at = {label: results.overall[:, i] for i, label in enumerate(labels)}
    expected = [tau(at[f"MAep(quant={q})"], at[f"Q(quant={q})"]) for q in ("gen5", "strict5")]
    assert found.labels == ("MAep", "Q")
    assert found.values("tau_b")[0, 1] == pytest.approx(np.mean(expected))
    assert found.singles["variant"].to_list() == ["gen5", "strict5"]
    assert found.singles["value"].to_list() == pytest.approx(expected)


def test_tables_of_2005_average_24_and_80_correlations() -> None:
    parts = []
    for seed, task in enumerate(TASKS_2005):
        labels = tuple(measure.label for measure in PRESETS[task].measures)
        parts.append(drop_curves(random_results(labels, seed, task)))
    by_measure, by_quant = correlate(parts), correlate(parts, by="quant")
    assert len(by_measure.labels) == 10
    assert set(counts(by_measure)) == {24}
    assert by_quant.labels == ("gen5", "strict5", "genLifted")
    assert set(counts(by_quant)) == {80}


def test_tasks_that_list_measures_in_another_order_are_still_averaged() -> None:
    parts = {"x": random_results(("AP", "AiP"), 1), "y": random_results(("AiP", "AP"), 2)}
    expected = np.mean([tau(part.overall[:, 0], part.overall[:, 1]) for part in parts.values()])
    found = correlate(by_task(parts), coefficients=("tau_b", "tau_ap"))
    assert found.means["count"].to_list() == [2, 2, 2]
    assert found.values("tau_b")[0, 1] == pytest.approx(expected)


def test_settings_are_joined_only_where_tasks_differ_in_them() -> None:
    both = ("AgP", "AgP(beta=0.25)")
    assert correlate(random_results(both)).labels == both
    apart = {"x": random_results(("AgP", "AP")), "y": random_results(("AgP(beta=0.25)", "AP"))}
    assert correlate(by_task(apart)).labels == ("AgP", "AP")
    three = correlate(by_task({**apart, "z": random_results((*both, "AP"))}))
    assert set(three.labels) == {*both, "AP"}


def test_measures_of_loss_are_turned_over() -> None:
    found = correlate(given({"AP": [0.1, 0.2, 0.3], "T2Ieffort@3": [300, 200, 100]}))
    assert found.values("tau_b")[0, 1] == 1


def test_of_ap_correlation_the_row_is_the_reference() -> None:
    found = correlate(given({"AP": [4, 3, 2, 1], "AiP": [2, 4, 3, 1]}), coefficients=["tau_ap"])
    assert found.values("tau_ap") == pytest.approx(np.array([[1, 1 / 3], [0, 1]]))


def test_sums_in_another_order_make_a_tie() -> None:
    rows = [("a", str(i), "AP", v) for i, v in enumerate((0.1, 0.2, 0.3))]
    rows += [("b", str(i), "AP", v) for i, v in enumerate((0.3, 0.2, 0.1))]
    found = compute_ranking_scores(Results.from_tidy(rows, {}), "AP")
    assert found[0] == found[1]


def test_runs_are_ranked_on_the_topics_they_share_and_the_others_are_said() -> None:
    rows = [("a", "1", "AP", 0.9), ("a", "2", "AP", 0.2), ("b", "2", "AP", 0.4)]
    rows += [(run, topic, "AiP", 0.5 * (run == "b")) for run, topic, _, _ in rows]
    found = correlate(Results.from_tidy(rows, {}))
    assert found.values("tau_b")[0, 1] == 1  # on topic 2 b is better by both
    assert "topics left out by some measures: 1" in found.notes


# -- by quantisation ---------------------------------------------------------------------------


def test_by_quant_compares_variants_and_averages_over_measures() -> None:
    labels = ("MAep", "MAep(quant=strict5)", "Q", "Q(quant=strict5)", "AP")
    results = random_results(labels)
    found = correlate(results, by="quant")
    values = results.overall
    expected = [tau(values[:, i], values[:, i + 1]) for i in (0, 2)]
    assert found.labels == ("spec", "strict5")
    assert found.values("tau_b")[0, 1] == pytest.approx(np.mean(expected))
    assert found.singles["variant"].to_list() == ["MAep", "Q"]


# -- by topics ---------------------------------------------------------------------------------


def test_the_same_seed_gives_the_same_numbers_whatever_else_is_asked() -> None:
    results = random_results(("AP", "AiP"))
    both = correlate(results, by="topics", samples=40, seed=7).means
    alone = correlate(results.only(["AiP"]), by="topics", samples=40, seed=7).means
    assert both.filter(pl.col("row") == "AiP").equals(alone)
    other = correlate(results, by="topics", samples=40, seed=8).means
    assert not both.equals(other)


def test_halves_are_disjoint_and_together_all_topics() -> None:
    """With two topics the halves are the topics themselves."""
    rows = [
        (run, t, "AP", v)
        for t, vs in (("1", (1, 2, 3)), ("2", (3, 1, 2)))
        for run, v in zip("abc", vs, strict=True)
    ]
    results = Results.from_tidy(rows, {})
    found = correlate(results, by="topics", samples=20)
    assert set(found.singles["value"].round(12).to_list()) == {round(tau([1, 2, 3], [3, 1, 2]), 12)}


def test_groups_of_topics_are_compared_as_measures() -> None:
    results = random_results(("AP", "MAep"))
    groups = {"early": TOPICS[:5], "late": TOPICS[5:]}
    found = correlate(add_groups(results, groups))
    expected = tau(results.values[:, :5, 0].mean(axis=1), results.values[:, 5:, 0].mean(axis=1))
    assert found.labels[:3] == ("AP", "AP[early]", "AP[late]")
    assert found.values("tau_b")[1, 2] == pytest.approx(expected)
    assert set(counts(found)) == {1}


# -- what cannot be correlated -----------------------------------------------------------------


def test_a_ranking_of_ties_is_not_counted() -> None:
    parts = {"x": given({"AP": [1, 2], "AiP": [3, 3]}), "y": given({"AP": [1, 2], "AiP": [1, 2]})}
    found = correlate(by_task(parts))
    (row,) = found.means.iter_rows(named=True)
    assert (row["value"], row["count"], row["undefined"]) == (1, 1, 1)
    alone = correlate(given({"AP": [1, 2], "AiP": [3, 3]}))
    assert math.isnan(alone.values("tau_b")[0, 1])
    assert counts(alone) == [0]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"by": "run"}, "unknown comparison 'run'; expected measure or quant or topics"),
        ({"coefficients": ["r"]}, "coefficients .'r',. are not possible; expected some of tau_b"),
        ({"coefficients": []}, "coefficients .* are not possible"),
        ({"by": "quant"}, "at least two quantisations of a measure"),
        ({"by": "topics", "samples": 0}, "0 samples"),
    ],
)
def test_wrong_use_is_refused(options: dict, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        correlate(random_results(("AP", "AiP")), **options)


def test_one_run_or_one_measure_is_refused() -> None:
    with pytest.raises(UsageError, match="nothing to rank, a single run: a"):
        correlate(given({"AP": [1], "AiP": [2]}))
    with pytest.raises(UsageError, match="two measures; measures that differ in quant"):
        correlate(random_results(("MAep", "MAep(quant=strict5)")))


def test_results_of_one_task_in_several_files_are_one_group() -> None:
    one = random_results(("AP", "AiP"), 1, "2009.Focused", ("a", "b"))
    two = random_results(("AP", "AiP"), 2, "2009.Focused", ("c", "d"))
    three = random_results(("AP", "AiP"), 3, None, ("e", "f"))
    groups = group_by_task([one, two, three], [])
    assert {task: part.runs for task, part in groups.items()} == {
        "2009.Focused": ("a", "b", "c", "d"),
        "": ("e", "f"),
    }


# -- tasks that runs declare -------------------------------------------------------------------

DECLARED = {"a": "Focused", "b": "Focused", "c": "FOCUSSED", "d": "Thorough", "e": "Thorough"}


def declaring(tasks: dict[str, str | None], seed: int = 1, **meta: object) -> Results:
    one = random_results(("AP", "AiP"), seed, runs=tuple(tasks))
    return Results.from_tidy(list(one.rows()), {"task": None, "tasks": tasks} | meta)


def test_saved_results_are_grouped_by_the_tasks_their_runs_declare() -> None:
    results = declaring(DECLARED)
    found = correlate(results)
    assert found.tasks == {"Focused": ("a", "b", "c"), "Thorough": ("d", "e")}
    apart = {
        "Focused": results.of_runs(["a", "b", "c"]),
        "Thorough": results.of_runs(["d", "e"]),
    }
    assert found.values("tau_b")[0, 1] == correlate(by_task(apart)).values("tau_b")[0, 1]
    assert counts(found) == [2]


@pytest.mark.parametrize(
    ("tasks", "groups", "note"),
    [
        (
            {"a": "Focused", "b": "Focused", "c": None},
            {"": ("a", "b", "c")},
            "runs without a task are ranked with those of Focused, 1: c",
        ),
        (
            {**DECLARED, "f": None},
            {"Focused": ("a", "b", "c"), "Thorough": ("d", "e")},
            "runs without a task are ranked by themselves, 1: f",
        ),
    ],
)
def test_what_becomes_of_runs_without_a_task_is_said(
    tasks: dict[str, str | None], groups: dict, note: str
) -> None:
    found = correlate(declaring(tasks))
    assert found.tasks == groups
    assert note in found.notes


def test_results_of_other_judgements_are_noted() -> None:
    def judged(sha256: str, runs: dict[str, str | None]) -> Results:
        inputs = [{"kind": "judgements", "path": "qrels", "sha256": sha256}]
        return declaring(runs, inputs=inputs)

    parts = [judged("1", {"a": None, "b": None}), judged("2", {"c": None})]
    assert "results scored with different judgements: a, b; c" in correlate(parts).meta["warnings"]


def test_results_by_assessor_are_refused() -> None:
    results = declaring({"a[x]": None, "a[y]": None}, options={"assessors": "each"})
    with pytest.raises(UsageError, match="union, majority, intersection or the name of one"):
        correlate(results)


# -- what has no topics ------------------------------------------------------------------------


def test_a_measure_of_one_topic_is_left_out_and_noted() -> None:
    results = random_results(("AP",))
    rows = [*results.rows(), *given({"AiP": [1, 2, 3, 4, 5, 6]}).rows()]
    found = correlate(Results.from_tidy(rows, {}), by="topics", samples=5)
    assert found.labels == ("AP",)
    assert "not used, no values on two topics that all runs share: AiP" in found.notes


def test_means_of_measures_are_ranked_by_their_own_value_and_never_by_topics() -> None:
    mean = "inex_eval(quant=mean7)"
    values = random_results((mean, "AP"))
    overall = np.column_stack([np.arange(6.0), values.overall[:, 1]])
    results = Results(RUNS, TOPICS, (mean, "AP"), values.values, values.counted, overall)
    assert compute_ranking_scores(results, mean).tolist() == np.arange(6.0).tolist()
    found = correlate(results, by="topics", samples=5)
    assert f"not used, no values on two topics that all runs share: {mean}" in found.notes
    assert mean not in found.singles["row"].to_list()


def test_measures_that_some_run_has_no_score_by_are_left_out_and_said() -> None:
    first = [("a", t, m, v) for t in ("1", "2") for m, v in (("AiP", 0.5), ("AP", 0.25))]
    second = [("b", t, m, v) for t in ("1", "2") for m, v in (("AiP", 0.4), ("charR", 1.0))]
    means = [("a", "all", "AiP", 0.5), ("a", "all", "AP", 0.25)]
    means += [("b", "all", "AiP", 0.4), ("b", "all", "charR", 1.0)]
    results = Results.from_tidy([*first, *second, *means], {})
    with pytest.raises(UsageError, match="two measures"):
        correlate(results)
    more = [(run, t, "iP@0.01", 0.5) for run in "ab" for t in ("1", "2", "all")]
    found = correlate(Results.from_tidy([*first, *second, *means, *more], {}))
    assert found.labels == ("AiP", "iP@0.01")
    assert "not used, runs without a score by it: AP, charR" in found.notes
