"""Evaluations: topic policy, provenance, presets, options that mend or refuse."""

from __future__ import annotations

import hashlib
import math
from pathlib import Path

import pytest

import foveal
from foveal import Judgements, Run
from foveal.errors import InputError, UsageError
from shared_data import INEX, needs_inex

TRUTH = Judgements.from_highlights(
    {
        "1": {
            "A": {"length": 100, "spans": [(10, 40), (70, 80)], "bep": 10},
            "B": {"length": 50, "spans": [(0, 50)], "bep": 0},
            "C": {"length": 40},
        },
        "2": {"A": {"length": 100, "spans": [(0, 20)], "bep": 0}},
        "9": {"C": {"length": 40}},
    }
)
RUN = Run.from_results({"1": [("A", 20, 40), ("C", 0, 40)], "7": [("A", 0, 5)]}, name="mine")


def warnings(results: foveal.Results) -> str:
    return "\n".join(results.meta["warnings"])


def test_missing_topics_score_zero_and_undefined_ones_are_not_averaged() -> None:
    results = foveal.evaluate(RUN, TRUTH, "charP")
    assert results.per_topic("charP")["mine"]["2"] == 0
    assert math.isnan(results.per_topic("charP")["mine"]["9"])
    assert results["mine", "charP"] == pytest.approx((20 / 60 + 0) / 2)
    assert results.averaged.tolist() == [[2]]
    assert "topics with nothing relevant, not averaged (all measures), 1: 9" in warnings(results)
    assert "topics without judgements, 1: 7" in warnings(results)


def test_provenance() -> None:
    meta = foveal.evaluate(RUN, TRUTH, ["charP", "num_ret"], max_results=1).meta
    assert meta["version"] == foveal.__version__
    assert meta["options"] == {"max_results": 1}
    assert [entry["kind"] for entry in meta["inputs"]] == ["judgements", "run"]
    assert meta["topics"] == {
        "judged": 3,
        "runs": {
            "mine": {
                "in_run": 1,
                "not_judged": 1,
                "results_in_judged_documents": 1.0,
                "averaged": {"charP": 2, "num_ret": 3},
            }
        },
    }


def test_files_are_named_by_their_hash(tmp_path: Path) -> None:
    path = tmp_path / "a.run"
    path.write_text("1 Q0 A 1 1 mine 20 20\n")
    entry = foveal.evaluate(path, TRUTH, "charP").meta["inputs"][1]
    assert entry["sha256"] == hashlib.sha256(path.read_bytes()).hexdigest()


OVERLAPPING = Run.from_results({"1": [("A", 20, 40), ("A", 0, 60), ("B", 0, 50)]}, name="o")


@pytest.mark.parametrize(
    ("policy", "recall", "precision"),
    [("union", 80 / 90, 80 / 110), ("drop", 70 / 90, 1.0), ("allow", 100 / 90, 100 / 130)],
)
def test_overlap_policies(policy: str, recall: float, precision: float) -> None:
    results = foveal.evaluate(OVERLAPPING, TRUTH, ["charR", "charP"], overlap=policy, topics="run")
    assert results.overall[0].tolist() == pytest.approx([recall, precision])


def test_overlap_is_each_measures_own_affair_by_default() -> None:
    assert foveal.evaluate(OVERLAPPING, TRUTH, ["HiR@3", "AP", "ListOverlap"]).runs == ("o",)
    for measure in ("iP@0.01", "AiP", "charP", "gP@5", "AgP(score=T2I)", "igP@0.5"):
        with pytest.raises(InputError, match="overlaps the result on line 1"):
            foveal.evaluate(OVERLAPPING, TRUTH, measure)
    with pytest.raises(InputError, match="overlaps"):
        foveal.evaluate(OVERLAPPING, TRUTH, "AP", overlap="error")


@pytest.mark.parametrize("measure", ["BEPD", "AgP(score=BEP)", "gP(score=BEP)@2"])
@pytest.mark.parametrize("policy", [None, "union", "allow", "error"])
def test_entry_point_measures_take_one_result_per_document(
    measure: str, policy: str | None
) -> None:
    run = Run.from_results({"1": [("A", 20, 40), ("A", 50, 60)]})
    with pytest.raises(InputError, match="a second result of one document"):
        foveal.evaluate(run, TRUTH, measure, overlap=policy)
    first = Run.from_results({"1": [("A", 20, 40)]})
    dropped = foveal.evaluate(run, TRUTH, measure, overlap="drop")
    assert dropped.overall.tolist() == foveal.evaluate(first, TRUTH, measure).overall.tolist()


def test_interleaved_documents_are_refused_or_regrouped() -> None:
    run = Run.from_results({"1": [("A", 20, 40), ("B", 0, 50), ("A", 70, 80)]})
    with pytest.raises(InputError, match="interleaved"):
        foveal.evaluate(run, TRUTH, "AgP")
    grouped = Run.from_results({"1": [("A", 20, 40), ("A", 70, 80), ("B", 0, 50)]})
    results = foveal.evaluate(run, TRUTH, "AgP", regroup=True)
    assert results.overall.tolist() == foveal.evaluate(grouped, TRUTH, "AgP").overall.tolist()
    assert "interleaved documents regrouped: 1" in warnings(results)


def test_results_past_the_end_are_refused_or_clipped() -> None:
    run = Run.from_results({"1": [("B", 20, 70), ("X", 0, 99999)]})
    with pytest.raises(InputError, match="past the end of document 'B' of 50 characters"):
        foveal.evaluate(run, TRUTH, "charP@1")
    results = foveal.evaluate(run, TRUTH, "charP@1", lenient=True, topics="run")
    assert results.overall.tolist() == [[1.0]]
    assert "results clipped at the end of their document: 1" in warnings(results)


def test_a_length_known_from_another_topic_counts_too() -> None:
    run = Run.from_results({"2": [("B", 20, 70)]})
    with pytest.raises(InputError, match="past the end of document 'B'"):
        foveal.evaluate(run, TRUTH, "charP")


def test_restricted_focused_refuses_or_truncates_what_exceeds_the_budget() -> None:
    truth = Judgements.from_highlights({"1": {"A": {"length": 3000, "spans": [(0, 900)]}}})
    run = Run.from_results({"1": [("A", 0, 800), ("A", 850, 1200), ("A", 2000, 2100)]})
    with pytest.raises(InputError, match=r"run:2: more than 1000 characters .* this topic"):
        foveal.evaluate(run, truth, task="2010.RestrictedFocused")
    results = foveal.evaluate(run, truth, task="2010.RestrictedFocused", truncate=True)
    assert results["run", "charP(budget=1000)"] == pytest.approx(850 / 1000)
    assert "results cut at 1000 characters per topic: 2" in warnings(results)


def test_restricted_relevant_in_context_limits_each_document() -> None:
    truth = Judgements.from_highlights(
        {"1": {d: {"length": 3000, "spans": [(0, 400)]} for d in "AB"}}
    )
    fits = Run.from_results({"1": [("A", 0, 500), ("B", 0, 400), ("B", 900, 1000)]})
    assert foveal.evaluate(fits, truth, task="2010.RestrictedRelevantInContext").runs == ("run",)
    more = Run.from_results({"1": [("A", 0, 500), ("B", 0, 400), ("B", 900, 1001)]})
    with pytest.raises(InputError, match=r"run:3: more than 500 characters .* this document"):
        foveal.evaluate(more, truth, task="2010.RestrictedRelevantInContext")
    cut = foveal.evaluate(
        more, truth, task="2010.RestrictedRelevantInContext", truncate=True, overlap="drop"
    )
    same = foveal.evaluate(fits, truth, task="2010.RestrictedRelevantInContext")
    assert cut.overall.tolist() == same.overall.tolist()


def test_topics_left_out_are_not_called_unjudged() -> None:
    run = Run.from_results({"1": [("A", 20, 40)], "2": [("A", 0, 20)], "7": [("A", 0, 5)]})
    assert "topics without judgements, 1: 7" in warnings(foveal.evaluate(run, TRUTH, "charP"))
    results = foveal.evaluate(run, TRUTH, "charP", only_topics=("1",))
    assert "topics without judgements" not in warnings(results)
    assert results.meta["topics"]["runs"]["run"]["not_judged"] == 1


@needs_inex
@pytest.mark.parametrize("number", range(1, 7))
def test_article_runs_of_the_t2i_campaign(number: int) -> None:
    """Counts and recall equal the official output; AgP is near, as the judgements were remapped."""
    folder = INEX / "t2i_campaign"
    official = {}
    for line in (folder / "official" / f"article_{number}.i.txt").read_text().splitlines():
        fields = line.replace(",", ".").split()
        if len(fields) == 3 and fields[1] == "all":
            official[fields[0]] = float(fields[2])
    labels = {"gR@1": "gR[1]", "gR@10": "gR[10]", "gR@50": "gR[50]", "num_rel_ret": "num_rel_ret"}
    results = foveal.evaluate(
        folder / "runs" / f"article_{number}.run",
        INEX / "qrels.txt",
        [*labels, "AgP(score=T2I)"],
        topics="run",
    )
    ours = results.aggregate()[f"article_{number}"]
    for label, name in labels.items():
        assert ours[label] == pytest.approx(official[name], abs=1e-9), label
    assert ours["AgP(score=T2I)"] == pytest.approx(official["MAgP"], abs=0.0014)


# -- what a review found ---------------------------------------------------------------------------


def test_truncating_does_not_invent_lengths(tmp_path: Path) -> None:
    run = tmp_path / "docs.run"
    run.write_text("1 Q0 X 1 2 docs\n1 Q0 B 2 1 docs\n")
    with pytest.raises(InputError, match=r"docs\.run:1: charP.* needs the place of every result"):
        foveal.evaluate(run, TRUTH, task="2010.RestrictedFocused", truncate=True)


def test_both_limits_at_once() -> None:
    truth = Judgements.from_highlights({"1": {"A": {"length": 3000, "spans": [(0, 900)]}}})
    run = Run.from_results({"1": [("A", 0, 800), ("A", 850, 1200)]})
    limits = {"topic_limit": 1000, "document_limit": 950, "truncate": True}
    results = foveal.evaluate(run, truth, ["ret_size", "rel_ret_size"], **limits)
    assert results.overall[0].tolist() == [950, 850]


def test_repeats_without_text_or_place_are_errors_where_overlap_is(tmp_path: Path) -> None:
    run = tmp_path / "docs.run"
    run.write_text("1 Q0 X 1 2 docs\n1 Q0 X 2 1 docs\n")
    with pytest.raises(InputError, match=r"docs\.run:2: repeats the result on line 1"):
        foveal.evaluate(run, TRUTH, "AP", overlap="error")
    empty = Run.from_results({"1": [("A", 10, 10), ("A", 10, 10)]})
    with pytest.raises(InputError, match="repeats the result on line 1"):
        foveal.evaluate(empty, TRUTH, "iP@0.1")
    assert "results that repeat an earlier one: 1" in warnings(foveal.evaluate(run, TRUTH, "AP"))


def test_two_lengths_of_one_document_are_refused_even_between_assessors(tmp_path: Path) -> None:
    path = tmp_path / "j.jsonl"
    line = (
        '{{"topic":"{}","doc":"A","length":{},"assessor":"{}","spans":[{{"start":{},"end":{}}}]}}\n'
    )
    path.write_text(line.format(1, 100, "a", 0, 9) + line.format(1, 90, "b", 0, 9))
    run = Run.from_results({"1": [("A", 0, 5)]})
    with pytest.raises(InputError, match=r"j\.jsonl:2: .*90 characters long here, but 100"):
        foveal.evaluate(run, path, "charR")
    other = line.format(2, 0, "a", 150, 200).replace('"length":0,', "")
    path.write_text(line.format(1, 100, "a", 0, 9) + other)
    with pytest.raises(InputError, match=r"j\.jsonl:2: a span ends at 200, past the 100"):
        foveal.evaluate(run, path, "charR")


def test_runs_without_a_common_topic_have_nothing_to_average_over() -> None:
    runs = [Run.from_results({t: [("A", 0, 5)]}, name=f"r{t}") for t in ("1", "2")]
    with pytest.raises(UsageError, match="no judged topic in common"):
        foveal.evaluate(runs, TRUTH, "AP", topics="both")


def test_elements_that_several_assessors_list_count_once(tmp_path: Path) -> None:
    path = tmp_path / "j.jsonl"
    line = (
        '{{"topic":"1","doc":"A","length":100,"assessor":"{}","spans":[{{"start":0,"end":{}}}],'
        '"elements":[{{"xpath":"/a[1]","size":100,"rsize":{}}}]}}\n'
    )
    path.write_text(line.format("a", 30, 30) + line.format("b", 40, 40))
    run = Run.from_results({"1": [("A", 0, 100)]})
    assert foveal.evaluate(run, path, "HiR(trel=elements)@1")["run", "HiR(trel=elements)@1"] == 1


def test_elements_without_sizes_do_not_serve_hixeval(tmp_path: Path) -> None:
    path = tmp_path / "j.jsonl"
    path.write_text(
        '{"topic":"1","doc":"A","length":100,"spans":[{"start":0,"end":9}],'
        '"elements":[{"xpath":"/a[1]","exhaustivity":2,"specificity":1}]}\n'
    )
    run = Run.from_results({"1": [("A", 0, 100)]})
    with pytest.raises(InputError, match="needs assessed elements with their rsize"):
        foveal.evaluate(run, path, "HiR(trel=elements)@1")


def test_measures_ask_only_for_what_they_use(tmp_path: Path) -> None:
    qrels, run = tmp_path / "qrels", tmp_path / "docs.run"
    qrels.write_text("1 0 A 1\n")
    run.write_text("1 Q0 X 1 2 docs\n1 Q0 A 2 1 docs\n")
    spans = Run.from_results({"1": [("A", 0, 5)]})
    assert foveal.evaluate(spans, qrels, "ret_size")["run", "ret_size"] == 5
    assert foveal.evaluate(run, TRUTH, ["rel_size", "BEPD", "T2I"])["docs", "rel_size"] == 110


@pytest.mark.parametrize("bad", [(40, 10), (-1, 5)])
def test_spans_made_by_hand_are_checked(bad: tuple[int, int]) -> None:
    with pytest.raises(UsageError, match="is not a span"):
        Run.from_results({"1": [("A", *bad)]})
