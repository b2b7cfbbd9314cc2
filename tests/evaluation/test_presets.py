"""Presets: what each official task of 2002 to 2010 and `rag` expand to, and for which runs."""

from __future__ import annotations

from pathlib import Path

import pytest

import foveal
from foveal import Judgements
from foveal.errors import InputError, UsageError
from foveal.evaluation import PRESETS, Preset, find_preset
from foveal.files.source import Source

OFFICIAL = tuple(name for name in PRESETS if name[0].isdigit())


def labels(name: str) -> list[str]:
    return [measure.label for measure in PRESETS[name].measures]


def plain(name: str) -> list[str]:
    """The labels without the points of curves."""
    texts = [text for text in PRESETS[name].texts if not text.endswith("@curve")]
    return [measure.label for measure in Preset(name, tuple(texts)).measures]


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("2005.CO.Focused", "2005.CO.Focussed"),
        ("2005.CO.Focussed", "2005.CO.Focussed"),
        ("2005.CO+S.Focused", "2005.COS.Focussed"),
        ("2005.sscas", "2005.SSCAS"),
        ("2006.Focussed", "2006.Focused"),
        ("2006.AllInContext", "2006.RelevantInContext"),
        ("2006.allincontext", "2006.RelevantInContext"),
        ("2006.Best in Context", "2006.BestInContext"),
        ("2005.CO.Fetch-Browse", "2005.CO.FetchBrowse"),
    ],
)
def test_every_spelling_of_a_task_is_known(written: str, name: str) -> None:
    assert find_preset(written).name == name


@pytest.mark.parametrize(
    ("written", "meant"),
    [("2005.Thorough", "2005.CO.Thorough"), ("2004.SCAS", "2004.VCAS"), ("06.Focus", "2006.Fo")],
)
def test_an_unknown_task_gets_suggestions(written: str, meant: str) -> None:
    with pytest.raises(UsageError, match=rf"unknown task '{written}'; did you mean .*{meant}"):
        find_preset(written)


@pytest.mark.parametrize(
    ("declared", "preset", "fits"),
    [
        ("CO.Focused", "2005.CO.Focussed", True),
        ("CO+S.Thorough", "2005.COS.Thorough", True),
        ("2005.SSCAS", "2005.SSCAS", True),
        ("vvcas", "2005.VVCAS", True),
        ("AllInContext", "2006.RelevantInContext", True),
        ("Relevant in Context", "2009.RelevantInContext", True),
        ("CO", "2003.CO", True),
        ("COS.Thorough", "2005.CO.Thorough", False),
        ("Thorough", "2005.CO.Thorough", False),
        ("SVCAS", "2005.VSCAS", False),
        ("Focused", "2010.RestrictedFocused", False),
        ("2005.Thorough", "2006.Thorough", False),
    ],
)
def test_a_run_is_for_the_task_it_declares(declared: str, preset: str, fits: bool) -> None:
    assert PRESETS[preset].is_for(declared) == fits


@pytest.mark.parametrize("preset", PRESETS.values(), ids=lambda preset: preset.name)
def test_the_summary_holds_every_measure_once(preset: Preset) -> None:
    """Each item, with its cut-offs taken apart, gives the measures again."""
    texts = []
    for item in preset.summary:
        bare, _, cutoffs = item.partition("@")
        texts += [f"{bare}@{at}" for at in cutoffs.split(",")] if cutoffs else [bare]
    again = Preset(preset.name, tuple(texts))
    assert sorted(map(str, again.measures)) == sorted(map(str, preset.measures))
    assert len(texts) == len(preset.texts)


# -- RAG -------------------------------------------------------------------------------------------

RAG = [
    *("charR@5", "charP@5", "nDCG(unit=passage)@10", "RR(unit=passage)", "charR(budget=2000)"),
    *("answered", "Redundancy"),
]
IN_TOKENS = [label.replace("2000", "2000,unit=tokens") for label in RAG]
TRUTH = {"1": {"d": {"spans": [(10, 50)], "length": 100}}}
# Two chunks with 20 characters in common.
CHUNKS = '{"topic": "1", "doc": "d", "start": %d, "end": %d%s}\n'
PLAIN = CHUNKS % (0, 40, "") + CHUNKS % (20, 60, "")
COUNTED = CHUNKS % (0, 40, ', "tokens": 9') + CHUNKS % (20, 60, ', "tokens": 8')


def test_rag_has_seven_measures_in_characters_or_tokens() -> None:
    assert labels("rag") == RAG
    assert labels("rag.tokens") == IN_TOKENS
    assert {PRESETS[name].overlap for name in ("rag", "rag.tokens")} == {"union"}
    assert set(PRESETS) - set(OFFICIAL) == {"rag", "rag.tokens"}


def test_rag_scores_text_that_chunks_share_once() -> None:
    run = foveal.read_run(Source.of_text(PLAIN, "plain.jsonl"))
    results = foveal.evaluate(run, Judgements.from_highlights(TRUTH), task="rag")
    expected = [1.0, 2 / 3, 1.0, 1.0, 1.0, 1.0, 0.25]
    assert results.aggregate() == {"plain": dict(zip(RAG, expected, strict=True))}
    assert not [text for text in results.meta["warnings"] if "no measure" in text]


@pytest.mark.parametrize("suffix", ["jsonl", "jsonl.gz", "parquet"])
def test_rag_counts_tokens_if_all_runs_give_them(tmp_path: Path, suffix: str) -> None:
    truth, files = Judgements.from_highlights(TRUTH), []
    for name, text in (("plain", PLAIN), ("counted", COUNTED)):
        run = foveal.read_run(Source.of_text(text, f"{name}.jsonl"))
        files.append(tmp_path / f"{name}.{suffix}")
        foveal.write_run(run, files[-1], suffix.partition(".")[0])
    for runs, task, measures in (
        (files[1:], "rag.tokens", IN_TOKENS),
        (files, "rag", RAG),
        ([foveal.read_run(file) for file in files[1:]], "rag.tokens", IN_TOKENS),
    ):
        found = foveal.evaluate(runs, truth, task="RAG")
        assert (found.meta["task"], list(found.measures)) == (task, measures)


def test_rag_is_the_default_and_a_note_says_so() -> None:
    run = foveal.read_run(Source.of_text(PLAIN, "plain.jsonl"))
    truth = Judgements.from_highlights(TRUTH)
    found = foveal.evaluate(run, truth)
    assert found.values.tolist() == foveal.evaluate(run, truth, task="rag").values.tolist()
    assert [text for text in found.meta["warnings"] if "no measure given" in text]


def test_the_default_for_whole_documents_is_refused_with_what_to_do() -> None:
    judgements = foveal.read_judgements(Source.of_text("1 0 d 1\n", "qrels"))
    run = foveal.read_run(Source.of_text("1 Q0 d 1 3 x\n", "run"))
    with pytest.raises(InputError) as refused:
        foveal.evaluate(run, judgements)
    assert [problem.code for problem in refused.value.problems] == ["measure.needs_text"]
    assert "-m" in str(refused.value.summary)
