"""Quotes and texts of a real corpus: all are found, and what is there twice is said to be."""

from __future__ import annotations

from collections import Counter

import pytest

import foveal
from foveal.analysis.anchors import Anchors, verify
from foveal.formats.locate import TextLocator
from foveal.model import Judgements
from shared_data import DATA

CORPUS = DATA / "chunking_evaluation"
pytestmark = pytest.mark.skipif(
    not CORPUS.is_dir(), reason="the data of chunking_evaluation are not beside the project"
)


@pytest.fixture(scope="module")
def texts() -> dict[str, str]:
    return {path.stem: path.read_text() for path in (CORPUS / "corpora").glob("*.md")}


@pytest.fixture(scope="module")
def quoted(texts: dict[str, str]) -> Judgements:
    """The judgements, which have offsets only, with quotes and context."""
    truth = foveal.read_judgements(CORPUS / "focused" / "qrels.jsonl")
    found = verify(truth, texts)
    assert found.unchecked == len(truth.start) == 790
    return found.repair(quote=True).judgements


def drifted(quoted: Judgements, texts: dict[str, str]) -> Anchors:
    """What becomes of the quotes if a licence is put in front of every document."""
    return verify(quoted, {doc: f"Licence: none.\n{text}" for doc, text in texts.items()})


def test_text_put_in_front_moves_all_but_what_is_there_twice(
    quoted: Judgements, texts: dict[str, str]
) -> None:
    """The corpus of finance repeats itself at length: 96 passages, context and all."""
    found = drifted(quoted, texts)
    assert found.counts["moved"] == 790 - 96
    assert found.counts["ambiguous"] == 96
    shifts = {found.shift(span) for span in range(790)}
    assert shifts == {15, None}
    ambiguous = [row["doc"] for row in found.rows() if row["kind"] == "ambiguous"]
    assert set(ambiguous) == {"finance"}


def test_chunks_of_a_run_are_found_by_their_text(texts: dict[str, str]) -> None:
    run = foveal.read_run(CORPUS / "reference" / "run_bm25_rcts-400-0.jsonl")
    locator, once = TextLocator(texts), Counter[bool]()
    for doc, start, end in zip(run.doc, run.start.tolist(), run.end.tolist(), strict=True):
        found = locator.find(doc, texts[doc][start:end])
        assert (start, end) in found
        once[len(found) == 1] += 1
    assert once == {True: 7718, False: 1722}
