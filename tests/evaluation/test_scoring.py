"""Evaluations: topic policy, provenance, presets, options that mend or refuse."""

from __future__ import annotations

import hashlib
import math
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import foveal
import toy_elements
from foveal import Judgements, Run
from foveal.collection import build_index
from foveal.errors import InputError, UsageError
from foveal.evaluation import PRESETS, find_preset
from shared_data import DATA, INEX, needs_inex

CAMPAIGN = Path(__file__).resolve().parents[2] / "examples" / "crossings"
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


def test_topics_of_the_run_only() -> None:
    results = foveal.evaluate(RUN, TRUTH, "charP", topics="run")
    assert results.per_topic("charP")["mine"] == {"1": pytest.approx(20 / 60)}


def test_topics_of_all_runs() -> None:
    other = Run.from_results({"1": [("B", 0, 50)], "2": [("A", 0, 20)]}, name="other")
    results = foveal.evaluate([RUN, other], TRUTH, "charP", topics="both")
    assert list(results.per_topic("charP")["other"]) == ["1"]
    assert results["other", "charP"] == 1


def test_counts_are_summed_over_all_topics_of_the_policy() -> None:
    results = foveal.evaluate(RUN, TRUTH, ["num_ret", "num_rel", "rel_size", "ret_size"])
    assert results.overall[0].tolist() == [2, 3, 110, 60]


def test_only_some_topics() -> None:
    results = foveal.evaluate(RUN, TRUTH, "charP", only_topics=("1", "5"))
    assert results.topics == ("1",)
    assert "not judged: 5" in warnings(results)
    with pytest.raises(UsageError, match="none of the wanted topics"):
        foveal.evaluate(RUN, TRUTH, "charP", only_topics=("5",))


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


def test_any_executor_gives_the_same_numbers() -> None:
    runs = [Run.from_results({"1": [("A", i, 40)]}, name=f"r{i}") for i in range(5)]
    here = foveal.evaluate(runs, TRUTH, ["iP@0.01", "AgP"])
    with ThreadPoolExecutor(2) as pool:
        there = foveal.evaluate(runs, TRUTH, ["iP@0.01", "AgP"], executor=pool)
    assert there.to_json() == here.to_json()


def test_progress_is_told_after_each_run() -> None:
    told: list[int] = []
    foveal.evaluate([RUN], TRUTH, "charP", progress=lambda: told.append(1))
    assert told == [1]


def test_a_measure_is_scored_once_however_it_is_written() -> None:
    assert foveal.evaluate(RUN, TRUTH, ["MAgP", "AgP", "AgP(beta=1)"]).measures == ("AgP",)


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


def test_long_topics_are_cut_with_a_warning() -> None:
    results = foveal.evaluate(RUN, TRUTH, "charP", max_results=1, topics="run")
    assert results["mine", "charP"] == 1
    assert "topics cut at 1 results: 1" in warnings(results)


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


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("index") / "campaign.fvx"
    build_index(CAMPAIGN / "documents", path)
    return path


RECENT = [name for name in PRESETS if name[:4] > "2005" and name != "rag.tokens"]
"""Presets for highlighted text; the runs of the campaign do not give tokens."""


@pytest.mark.parametrize("name", RECENT)
def test_every_preset_since_2006_scores_the_bundled_campaign(name: str, index: Path) -> None:
    results = foveal.evaluate(
        [CAMPAIGN / "runs" / name for name in ("paragraphs.run", "sections.xml", "windows.jsonl")],
        CAMPAIGN / "judgements.jsonl",
        task=name,
        collection=index,
        truncate=True,
        regroup=True,
        snap=True,
        overlap="drop" if name.endswith("BestInContext") else None,
    )
    assert results.measures == tuple(m.label for m in find_preset(name).measures)
    assert ((results.overall >= 0) & (results.overall <= 1)).all()


SCALES = {"2002": "2002", "2003": "2003", "2004": "2003", "2005": "2005"}
"""Year to the scale of its assessments."""


@pytest.mark.parametrize("name", [name for name in PRESETS if name[:4] <= "2005"])
def test_every_preset_until_2005_scores_graded_elements(name: str, tmp_path: Path) -> None:
    scale = SCALES[name[:4]]
    (tmp_path / "pool").mkdir()
    (tmp_path / "pool" / "10.xml").write_text(toy_elements.assessments(scale))
    (tmp_path / "topics.jsonl").write_text('{"topic":"1","castitle":"//s[about(., x)]"}\n')
    ranked = [toy_elements.P2, toy_elements.A2, toy_elements.S1, toy_elements.P5]
    (tmp_path / "run").write_text(toy_elements.run(ranked))
    build_index(toy_elements.write_documents(tmp_path), tmp_path / "index")
    results = foveal.evaluate(
        tmp_path / "run",
        tmp_path / "pool",
        task=name,
        topics_file=str(tmp_path / "topics.jsonl"),
        collection=tmp_path / "index",
    )
    assert results.measures == tuple(m.label for m in find_preset(name).measures)
    assert ((results.overall >= 0) & (results.overall <= 1) | np.isnan(results.overall)).all()
    strict = [label for label in results.measures if "strict" in label and "ng" not in label]
    undefined = {label for label in results.measures if np.isnan(results["mine", label])}
    assert undefined == set(strict), "nothing is highly relevant and nothing else"


def test_presets_expand_to_what_was_reported() -> None:
    labels = {name: [m.label for m in preset.measures] for name, preset in PRESETS.items()}
    assert labels["2008.Focused"] == ["iP@0.00", "iP@0.01", "iP@0.05", "iP@0.10", "AiP"]
    assert labels["2007.RelevantInContext"][:2] == ["AgP", "gP@5"]
    assert labels["2009.RelevantInContext"][:2] == ["AgP(beta=0.25)", "gP(beta=0.25)@5"]
    assert labels["2007.BestInContext"][0] == "AgP(score=BEP,n=1000)"
    assert labels["2009.BestInContext"][-1] == "gP(score=BEP)@50"
    assert labels["2010.RelevantInContext"][0] == "AgP(score=T2I)"
    assert find_preset("2007.Focussed").name == "2007.Focused"
    with pytest.raises(UsageError, match=r"did you mean 2009\.Focused"):
        find_preset("2009.Focus")


def test_a_run_that_declares_another_task_is_warned_about(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(
        '{"type":"header","format":"foveal-run","version":1,"task":"Thorough"}\n'
        '{"topic":"1","doc":"A","start":20,"end":40}\n'
    )
    results = foveal.evaluate(path, TRUTH, task="2009.Focused")
    assert "a: declares the task Thorough, scored as 2009.Focused" in warnings(results)


@pytest.mark.parametrize(
    ("declared", "task", "warned"),
    [
        ("AllInContext", "2009.RelevantInContext", False),
        ("Focussed", "2009.focused", False),
        ("Focused", "2010.RestrictedFocused", True),
    ],
)
def test_declared_tasks_are_compared_by_meaning(
    declared: str, task: str, warned: bool, tmp_path: Path
) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(
        f'{{"type":"header","task":"{declared}"}}\n{{"topic":"1","doc":"A","start":20,"end":40}}\n'
    )
    results = foveal.evaluate(path, TRUTH, task=task)
    assert ("declares the task" in warnings(results)) is warned


def test_topics_left_out_are_not_called_unjudged() -> None:
    run = Run.from_results({"1": [("A", 20, 40)], "2": [("A", 0, 20)], "7": [("A", 0, 5)]})
    assert "topics without judgements, 1: 7" in warnings(foveal.evaluate(run, TRUTH, "charP"))
    results = foveal.evaluate(run, TRUTH, "charP", only_topics=("1",))
    assert "topics without judgements" not in warnings(results)
    assert results.meta["topics"]["runs"]["run"]["not_judged"] == 1


def test_runs_of_one_name_are_told_apart_by_the_stems_of_their_files(tmp_path: Path) -> None:
    for name in ("sys.1.run", "sys.2.run"):
        (tmp_path / name).write_text("1 Q0 A 1 1 mine 20 20\n")
    results = foveal.evaluate(sorted(tmp_path.iterdir()), TRUTH, "charP")
    assert results.runs == ("sys.1", "sys.2")


def test_wrong_options_are_named() -> None:
    for options, gist in (
        ({"topics": "some"}, "judged, run, both"),
        ({"overlap": "maybe"}, "error, drop, union, allow"),
        ({"max_results": 0}, "expected 1 or more"),
        ({"colour": "red"}, "colour"),
    ):
        with pytest.raises(UsageError, match=gist):
            foveal.evaluate(RUN, TRUTH, "charP", **options)
    with pytest.raises(UsageError, match="no run given"):
        foveal.evaluate([], TRUTH, "charP")


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


@pytest.mark.skipif(not DATA.exists(), reason="the evidence inference data are not at hand")
def test_several_assessors_of_real_judgements() -> None:
    folder = DATA / "evidence_inference_v2"
    judgements = foveal.read_judgements(folder / "xml_qrels.jsonl")
    run = foveal.read_run(folder / "run_bm25_win400.jsonl.xz")
    united = foveal.evaluate(run, judgements, ["charR", "AP"])
    assert "assessors, several for some documents" in warnings(united)
    common = foveal.evaluate(run, judgements, ["charR", "AP"], assessors="intersection")
    assert common.averaged[0, 0] < united.averaged[0, 0]
    each = foveal.evaluate(run, judgements, "charR", assessors="each")
    assert each.runs == tuple(f"run_bm25_win400[{name}]" for name in judgements.assessors)


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


def test_fields_that_look_like_offsets_but_are_not_are_pointed_out(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"topic":"1","doc":"A","start_char":20,"end_char":40}\n')
    results = foveal.evaluate(path, TRUTH, "charP")
    assert "not understood on line 1: start_char, end_char" in warnings(results)


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


def test_a_declared_task_may_be_the_whole_preset_or_in_words() -> None:
    preset = find_preset("2009.RelevantInContext")
    assert preset.is_for("2009.RelevantInContext")
    assert preset.is_for("Relevant in Context")
    assert not preset.is_for("Focused")
