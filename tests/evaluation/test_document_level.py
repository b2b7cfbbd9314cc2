"""Document-level measures count a document once, at its first passage."""

from __future__ import annotations

from pathlib import Path

import foveal
from foveal.formats import write_run

EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "crossings"


def test_a_passage_run_scores_like_its_documents(tmp_path: Path) -> None:
    """The document of a passage stands at the passage's first occurrence."""
    judgements = foveal.read_judgements(EXAMPLES / "judgements.jsonl")
    passages = foveal.read_run(EXAMPLES / "runs" / "paragraphs.run")
    run = tmp_path / "run"
    write_run(passages, run, "trec")
    both = foveal.evaluate([passages, run], judgements, ["AP", "P@5", "R@5"])
    assert both.overall[0].tolist() == both.overall[1].tolist()
