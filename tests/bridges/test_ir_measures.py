"""Our measures in ir_measures: the same numbers as ours, whatever form the inputs have."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import ir_measures
import pandas as pd
import pytest
import pytrec_eval
from hypothesis import given, settings
from hypothesis import strategies as st

from foveal import evaluate, read_judgements, read_run
from foveal.bridges import ir_measures as bridge
from foveal.bridges.ir_measures import Passage, ScoredPassage, register
from foveal.errors import FovealError, UsageError
from foveal.files.source import Source
from foveal.measures import all_measures
from foveal.model import Judgements, Run

THEIRS = dict(ir_measures.measures.registry)  # before ours are registered
CROSSINGS = Path(__file__).resolve().parents[2] / "examples" / "crossings"
QRELS = [
    Passage("1", "D1", 1, 10, 40, length=100),
    Passage("1", "D1", 1, 70, 80, length=100),
    Passage("1", "D2", 1, 0, 50, length=50),
    Passage("1", "D3", 0, length=40),
    Passage("2", "D1", 1, 0, 20, length=100),
    Passage("3", "D2", 0, length=50),
]
RUN = [
    ScoredPassage("1", "D2", 2.0, 0, 50),
    ScoredPassage("1", "D1", 3.0, 20, 40),
    ScoredPassage("1", "D1", 1.0, 60, 90),
    ScoredPassage("3", "D2", 1.0, 0, 10),
]
TRUTH = Judgements.from_highlights(
    {
        "1": {
            "D1": {"length": 100, "spans": [(10, 40), (70, 80)]},
            "D2": {"length": 50, "spans": [(0, 50)]},
            "D3": {"length": 40},
        },
        "2": {"D1": {"length": 100, "spans": [(0, 20)]}},
        "3": {"D2": {"length": 50}},
    }
)
RESULTS = {"1": [("D1", 20, 40), ("D2", 0, 50), ("D1", 60, 90)], "3": [("D2", 0, 10)]}
LABELS = (
    "AiP",
    "iP@0.01",
    "charP@2",
    "charR",
    "charF",
    "HiF(alpha=0.5)@10",
    "foveal_AP",
    "num_ret",
)


@pytest.fixture(autouse=True)
def registries() -> Iterator[None]:
    """Everything that registering changes is put back."""
    measures, providers = ir_measures.measures.registry, ir_measures.providers.registry
    pipeline = ir_measures.DefaultPipeline.providers
    before = dict(measures), dict(providers), list(pipeline), set(dir(ir_measures))
    register()
    yield
    for registry, known in ((measures, before[0]), (providers, before[1])):
        registry.clear()
        registry.update(known)
    pipeline[:] = before[2]
    for name in set(dir(ir_measures)) - before[3]:
        delattr(ir_measures, name)


def ours(labels: tuple[str, ...] = LABELS) -> dict[str, float]:
    own = [label.replace("foveal_", "") for label in labels]
    results = evaluate(Run.from_results(RESULTS, name="r"), TRUTH, own)
    return {label: results["r", name] for label, name in zip(labels, own, strict=True)}


def calculated(qrels: Any, run: Any, labels: tuple[str, ...] = LABELS) -> dict[str, float]:
    measures = [ir_measures.parse_measure(label) for label in labels]
    found = ir_measures.calc_aggregate(measures, qrels, run)
    return {str(measure): value for measure, value in found.items()}


def test_every_measure_is_known_by_name() -> None:
    for measure in all_measures():
        theirs = THEIRS.get(measure.name)
        name = measure.name if theirs is None else f"foveal_{measure.name}"
        at = f"@{measure.cutoff.example}" if measure.cutoff.required else ""
        parsed = ir_measures.parse_measure(f"{name}{at}")
        assert str(parsed).partition("@")[0] == name
        assert parsed.foveal.name == measure.name
        assert parsed == ir_measures.measures.registry[name](**parsed.params)


def test_theirs_are_left_alone() -> None:
    assert type(ir_measures.parse_measure("AP")).__module__.startswith("ir_measures")
    assert ir_measures.AP is ir_measures.measures.registry["MAP"]


@pytest.mark.parametrize("form", ["tuples", "frames", "generators"])
def test_inputs_have_the_forms_of_ir_measures(form: str) -> None:
    if form == "frames":
        qrels, run = pd.DataFrame(QRELS), pd.DataFrame(RUN)
    elif form == "generators":
        qrels, run = (q for q in QRELS), (r for r in RUN)
    else:
        qrels, run = QRELS, RUN
    assert calculated(qrels, run) == pytest.approx(ours())


def test_dictionaries_have_whole_documents_only() -> None:
    qrels = {"1": {"D1": 1, "D2": 0}, "2": {"D9": 1}}
    run = {"1": {"D2": 0.9, "D1": 0.5}}
    assert calculated(qrels, run, ("foveal_AP",)) == {"foveal_AP": pytest.approx(0.25)}
    with pytest.raises(Exception, match="AiP needs relevant text"):
        calculated(qrels, run, ("AiP",))


def test_options_reach_the_evaluation() -> None:
    twice = [*RUN, ScoredPassage("1", "D1", 0.5, 20, 40)]
    with pytest.raises(Exception, match="repeats the result"):
        calculated(QRELS, twice, ("charR",))
    register(overlap="union")
    assert calculated(QRELS, twice, ("charR",)) == pytest.approx(ours(("charR",)))
    own = [p for p in ir_measures.DefaultPipeline.providers if p.NAME == "foveal"]
    assert len(own) == 1


def test_an_experiment_of_pyterrier() -> None:
    """With frames as systems it needs no Java; it takes measures, not their names."""
    import pyterrier

    names = {"query_id": "qid", "doc_id": "docno", "relevance": "label"}
    qrels = pd.DataFrame(QRELS).rename(columns=names)
    results = pd.DataFrame(RUN).rename(columns=names).assign(rank=0, query="words")
    topics = pd.DataFrame({"qid": sorted(set(results["qid"])), "query": "words"})
    metrics = [ir_measures.AiP, ir_measures.charR, ir_measures.nDCG @ 10]
    found = pyterrier.Experiment([results], topics, qrels, metrics, names=["ours"], perquery=True)
    for name in ("AiP", "charR"):
        values = found[found["measure"] == name]
        expected = evaluate(bridge.run_of(RUN), bridge.judgements_of(QRELS), name)
        by_topic = {t: v for _, t, _, v in expected.tidy().iter_rows() if t in set(topics["qid"])}
        assert dict(zip(values["qid"], values["value"], strict=True)) == pytest.approx(
            by_topic, nan_ok=True
        )
    assert set(found["measure"]) == {"AiP", "charR", "nDCG@10"}


def test_ids_that_hold_offsets() -> None:
    """As datasets with passage ids have them; ids are taken apart only where that is asked for."""
    qrels = [ir_measures.Qrel("1", "D1:10-40", 1), ir_measures.Qrel("1", "D2", 0)]
    run = [ir_measures.ScoredDoc("1", "D1:20-50", 0.5)]
    found = calculated(bridge.passages_of(qrels), bridge.passages_of(run), ("charP", "charR"))
    assert found == {"charP": pytest.approx(2 / 3), "charR": pytest.approx(2 / 3)}
    assert calculated(qrels, run, ("foveal_AP",)) == {"foveal_AP": 0.0}


class IrDatasetsQrel(tuple):
    """A qrel with fields of a dataset's own, as qrels_iter of ir_datasets yields them."""

    _fields = ("query_id", "doc_id", "relevance", "start", "end", "note")
    query_id, doc_id, relevance, start, end, note = (
        property(lambda self, i=i: self[i]) for i in range(6)
    )


def test_fields_of_a_dataset_are_taken_by_name() -> None:
    qrels = [
        IrDatasetsQrel(("1", "D1", 2, 10, 40, "x")),
        IrDatasetsQrel(("1", "D4", 0, -1, -1, "")),
    ]
    assert calculated(qrels, RUN[:2], ("charR",))["charR"] == pytest.approx(2 / 3)


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["1", "2"]),
            st.sampled_from(["D1", "D2"]),
            st.integers(0, 9),
            st.integers(1, 9),
            st.sampled_from([-1.0, 0.0, 0.5, 2.0]),
        ),
        max_size=8,
    )
)
@settings(max_examples=30)
def test_runs_come_by_score_then_document_then_place(rows: list[tuple[Any, ...]]) -> None:
    given_ = [ScoredPassage(q, d, score, s, s + n) for q, d, s, n, score in rows]
    run = bridge.run_of(given_)
    expected = sorted(given_, key=lambda row: (row.start, row.end))
    expected.sort(key=lambda row: (row.score, row.doc_id), reverse=True)
    for k, topic in enumerate(run.topics):
        own = [row for row in expected if row.query_id == topic]
        low, high = run.bounds[k], run.bounds[k + 1]
        assert run.doc[int(low) : int(high)].to_list() == [row.doc_id for row in own]
        assert run.start[low:high].tolist() == [row.start for row in own]


DOCS = ["a", "B", "D10", "D9", "é", "d-1"]


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["1", "2", "3"]),
            st.sampled_from(DOCS),
            st.sampled_from([-1.0, 0.0, 0.5, 0.5 + 1e-12, 2.0]),  # equal in single precision, too
        ),
        unique_by=lambda row: row[:2],
        min_size=1,
    ),
    st.dictionaries(st.sampled_from(DOCS), st.integers(0, 1), min_size=1),
    st.randoms(use_true_random=False),
)
@settings(max_examples=60)
def test_ties_are_broken_as_in_trec_eval(
    rows: list[tuple[str, str, float]], grades: dict[str, int], order: Any
) -> None:
    """Shuffled results score alike here, in trec_eval and from a file of six fields."""
    grades |= {"relevant": 1}
    qrels = {topic: grades for topic, _, _ in rows}
    run: dict[str, dict[str, float]] = {}
    for topic, doc, score in rows:
        run.setdefault(topic, {})[doc] = score
    official = pytrec_eval.RelevanceEvaluator(qrels, {"map"}).evaluate(run)
    expected = {topic: pytest.approx(found["map"]) for topic, found in official.items()}
    shuffled = order.sample(rows, len(rows))
    for given_ in (rows, shuffled):
        results = [ir_measures.ScoredDoc(*row) for row in given_]
        measure = ir_measures.parse_measure("foveal_AP")
        assert {m.query_id: m.value for m in measure.iter_calc(qrels, results)} == expected
    lines = "".join(f"{t} Q0 {d} 0 {score!r} r\n" for t, d, score in shuffled)
    judged = "".join(f"{t} 0 {d} {g}\n" for t, docs in qrels.items() for d, g in docs.items())
    own = evaluate(read_run(Source.of_text(lines)), bridge.judgements_of(qrels), "AP")
    again = evaluate(read_run(Source.of_text(lines)), read_judgements(Source.of_text(judged)), "AP")
    for results in (own, again):
        assert {topic: results["r", "AP", topic] for topic in run} == expected


@pytest.mark.parametrize("name", ["AiP", "foveal_AP", "AgP"])
def test_the_command_keeps_the_order_of_lines(name: str, tmp_path: Path) -> None:
    """Passages rank as the lines stand, whatever their scores, here and in evaluate."""
    (tmp_path / "qrels").write_text("1 Q0 A 5 10 0 0:5\n1 Q0 B 5 10 0 0:5\n1 Q0 C 0 10\n")
    (tmp_path / "run").write_text("1 Q0 A 1 0.5 r 5 5\n1 Q0 C 2 0.5 r 0 9\n1 Q0 B 3 0.9 r 0 5\n")
    files = str(tmp_path / "qrels"), str(tmp_path / "run")
    found = command(*files, name, "--places", "12").stdout.split()
    results = evaluate(read_run(files[1]), read_judgements(files[0]), name.replace("foveal_", ""))
    expected = results["r", name.replace("foveal_", "")]
    assert float(found[1]) == pytest.approx(expected, abs=1e-11)


@pytest.mark.parametrize(
    ("qrels", "message"),
    [
        (
            [Passage("1", "D1", 1, 0, 5), Passage("1", "D2", 1)],
            "qrels:2: relevant, but without start and end",
        ),
        ([("1", "D1", 1)], "the rows have no query_id, doc_id, relevance; expected named tuples"),
        (
            pd.DataFrame({"query_id": ["1"], "doc_id": ["D1"]}),
            "the rows have no relevance; expected",
        ),
    ],
)
def test_qrels_that_cannot_be_used_are_said(qrels: Any, message: str) -> None:
    with pytest.raises(FovealError, match=message):
        bridge.judgements_of(qrels)


@pytest.mark.parametrize(
    ("result", "message"),
    [
        (("1", "D1", float("nan"), 0, 5), "run:1: score is missing or not a finite number"),
        (("1", "D1", None, 0, 5), "run:1: score is missing or not a finite number"),
        (("1", None, 1.0, 0, 5), "run:1: query_id or doc_id is missing"),
        (("1", "D1", 1.0, 5, 2), "run:1: not a span; expected 0 <= start <= end"),
        (("1", "D1", 1.0, -5, 2), "run:1: not a span; expected 0 <= start <= end"),
        (("1", "D1", 1.0, 0.5, 2), "run:1: start, end: expected whole numbers"),
        (
            ("1", "D1", "high", 0, 5),
            "score, start, end: expected numbers; conversion from `str` to `f64` failed",
        ),
    ],
)
def test_results_that_other_readers_refuse_are_refused(result: Any, message: str) -> None:
    with pytest.raises(FovealError) as caught:
        bridge.run_of([ScoredPassage(*result)])
    assert str(caught.value).startswith(message)


def test_half_an_offset_is_refused() -> None:
    with pytest.raises(FovealError, match="a start without an end"):
        bridge.run_of([ScoredPassage("1", "D1", 1.0, start=3)])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: ir_measures.charF(gamma=3), "no parameter 'gamma'"),
        (lambda: ir_measures.iP, "needs a recall cut-off"),
        (lambda: ir_measures.iP @ 3, "expected a recall level"),
    ],
)
def test_wrong_parameters_are_said_as_we_say_them(call: Any, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        ir_measures.calc_aggregate([call()], QRELS, RUN)


# -- the command -------------------------------------------------------------------------------


def command(*args: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "foveal.bridges.ir_measures", *args],
        cwd=CROSSINGS,
        capture_output=True,
        text=True,
        timeout=60,
    )


def test_the_command_reads_json_lines_and_says_what_is_wrong() -> None:
    done = command("judgements.jsonl", "runs/focused.jsonl", "charR", "-q")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1].startswith("all\tcharR\t")
    refused = command("judgements.jsonl", "nothing.run", "charR")
    assert refused.returncode == 1
    assert "nothing.run" in refused.stderr
    assert "Traceback" not in refused.stderr
