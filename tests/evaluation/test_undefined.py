"""Topics on which a measure is undefined: left out of the mean, or counted as 0."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

import foveal

pytrec_eval = pytest.importorskip("pytrec_eval", reason="pytrec_eval is not installed")

QRELS = """\
# judgements with comments; the next one follows without a blank line
1 0 a 1
1 0 b 0
# a document name may hold the sign
1 0 c#2 2
2 0 a 0
2 0 b 0
3 0 d 1
3 0 e 0
4 0 a 0
5 0 b 1
"""
"""Topics 2 and 4 have nothing relevant; topic 5 is missing from the run."""
RUN = """\
# our best run
1 Q0 a 1 0.9 mine
1 Q0 c#2 2 0.8 mine
1 Q0 x 3 0.8 mine
# half of the list
2 Q0 a 1 0.9 mine
2 Q0 b 2 0.5 mine
3 Q0 e 1 0.5 mine
3 Q0 d 2 0.5 mine
4 Q0 z 1 0.1 mine
"""
NAMES = {"AP": "map", "P@1": "P_1", "P@5": "P_5", "R@5": "recall_5"}


def write(folder: Path) -> tuple[Path, Path]:
    qrels, run = folder / "qrels", folder / "run"
    qrels.write_text(QRELS)
    run.write_text(RUN)
    return qrels, run


def theirs() -> dict[str, dict[str, float]]:
    """The scores of trec_eval, topic by topic."""
    qrels: dict[str, dict[str, int]] = {}
    run: dict[str, dict[str, float]] = {}
    for line in QRELS.splitlines():
        if not line.startswith("#"):
            topic, _, doc, grade = line.split()
            qrels.setdefault(topic, {})[doc] = int(grade)
    for line in RUN.splitlines():
        if not line.startswith("#"):
            topic, _, doc, _, score, _ = line.split()
            run.setdefault(topic, {})[doc] = float(score)
    scores = pytrec_eval.RelevanceEvaluator(qrels, {"map", "P_1,5", "recall_5"}).evaluate(run)
    return {topic: {own: by[name] for own, name in NAMES.items()} for topic, by in scores.items()}


def test_zero_gives_the_means_of_trec_eval(tmp_path: Path) -> None:
    qrels, run = write(tmp_path)
    expected = theirs()
    assert expected["2"]["AP"] == 0  # they score topics with nothing relevant
    results = foveal.evaluate(run, qrels, list(NAMES), topics="run", undefined="zero")
    for name in NAMES:
        ours = results.per_topic(name)["mine"]
        counted = {topic: value for topic, value in ours.items() if not math.isnan(value)}
        assert counted == pytest.approx({topic: by[name] for topic, by in expected.items()})
        mean = sum(by[name] for by in expected.values()) / len(expected)
        assert results["mine", name] == pytest.approx(mean)
    # trec_eval -c: all judged topics count.
    every = foveal.evaluate(run, qrels, list(NAMES), undefined="zero")
    for name in NAMES:
        assert every["mine", name] == pytest.approx(sum(by[name] for by in expected.values()) / 5)


def test_precision_at_a_rank_is_0_where_nothing_is_relevant(tmp_path: Path) -> None:
    qrels, run = write(tmp_path)
    results = foveal.evaluate(run, qrels, ["P@5", "R@5"])
    ours = results.per_topic("P@5")["mine"]
    assert ours["2"] == ours["4"] == 0
    assert math.isnan(results.per_topic("R@5")["mine"]["2"])
    assert results["mine", "P@5"] == pytest.approx((2 / 5 + 1 / 5) / 5)


def test_budgets_count_them_as_0_too() -> None:
    truth = foveal.Judgements.from_highlights(
        {"1": {"d": {"spans": [(0, 10)], "length": 20}}, "2": {"d": {"spans": [], "length": 20}}}
    )
    run = foveal.Run.from_results({"1": [("d", 0, 10)], "2": [("d", 0, 10)]})
    skipped = foveal.budget_curves(run, truth, budgets=[10])
    counted = foveal.budget_curves(run, truth, budgets=[10], undefined="zero")
    assert skipped.mean.tolist() == [[1.0]]
    assert counted.mean.tolist() == [[0.5]]
