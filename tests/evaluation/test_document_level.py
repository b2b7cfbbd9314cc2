"""Document-level AP, P and R equal ir_measures (pytrec_eval) on the same files."""

from __future__ import annotations

from pathlib import Path

import ir_measures
import pytest

import foveal
from foveal.formats import write_judgements, write_run
from shared_data import INEX, needs_inex

EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "crossings"
PAIRS = {
    "AP": ir_measures.AP,
    "P@5": ir_measures.P @ 5,
    "P@10": ir_measures.P @ 10,
    "R@10": ir_measures.R @ 10,
    "R@1000": ir_measures.R @ 1000,
}


def _theirs(qrels: Path, run: Path) -> dict[tuple[str, str], float]:
    by_label = {str(measure): name for name, measure in PAIRS.items()}
    metrics = ir_measures.iter_calc(
        list(PAIRS.values()),
        list(ir_measures.read_trec_qrels(str(qrels))),
        list(ir_measures.read_trec_run(str(run))),
    )
    return {(by_label[str(m.measure)], m.query_id): m.value for m in metrics}


def _same(qrels: Path, run: Path) -> None:
    results = foveal.evaluate(run, qrels, list(PAIRS), topics="run")
    theirs = _theirs(qrels, run)
    ours = {
        (name, topic): value
        for name in PAIRS
        for topic, value in results.per_topic(name)[results.runs[0]].items()
    }
    assert ours == pytest.approx({key: theirs[key] for key in ours}, abs=1e-12)


@needs_inex
@pytest.mark.parametrize("name", ["article_indri", "passages_focused", "oracle_passages"])
def test_real_runs(name: str, tmp_path: Path) -> None:
    qrels, run = tmp_path / "qrels", tmp_path / "run"
    write_judgements(foveal.read_judgements(INEX / "qrels.txt").combined(), qrels, "trec")
    write_run(foveal.read_run(INEX / "runs" / f"{name}.run"), run, "trec")
    _same(qrels, run)


@pytest.mark.parametrize("name", ["articles.jsonl", "paragraphs.run", "windows.jsonl"])
def test_the_bundled_campaign(name: str, tmp_path: Path) -> None:
    qrels, run = tmp_path / "qrels", tmp_path / "run"
    write_judgements(
        foveal.read_judgements(EXAMPLES / "judgements.jsonl").combined(), qrels, "trec"
    )
    write_run(foveal.read_run(EXAMPLES / "runs" / name), run, "trec")
    _same(qrels, run)


def test_ties_are_broken_by_document_descending(tmp_path: Path) -> None:
    qrels, run = tmp_path / "qrels", tmp_path / "run"
    qrels.write_text("1 0 b 1\n1 0 d 2\n1 0 e 0\n")
    run.write_text("1 Q0 a 1 0.5 r\n1 Q0 b 2 0.5 r\n1 Q0 d 3 0.25 r\n1 Q0 c 4 0.5 r\n")
    _same(qrels, run)
    assert foveal.evaluate(run, qrels, "P@1")["r", "P@1"] == 0  # c, b, a, then d


def test_a_passage_run_scores_like_its_documents(tmp_path: Path) -> None:
    """The document of a passage stands at the passage's first occurrence."""
    judgements = foveal.read_judgements(EXAMPLES / "judgements.jsonl")
    passages = foveal.read_run(EXAMPLES / "runs" / "paragraphs.run")
    run = tmp_path / "run"
    write_run(passages, run, "trec")
    both = foveal.evaluate([passages, run], judgements, ["AP", "P@5", "R@5"])
    assert both.overall[0].tolist() == both.overall[1].tolist()
