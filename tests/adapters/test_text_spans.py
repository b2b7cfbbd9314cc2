"""Results given by their text: found exactly, found normalised, and never guessed."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import foveal
from foveal.errors import InputError, UsageError
from foveal.files.source import Source
from foveal.formats.jsonl import find_needed_documents
from foveal.formats.locate import Normalised, TextLocator

TEXT = "The café  closed at noon.\nNobody came;\tthe café\u00a0closed again. 𝄞 ﬁn"
TEXTS = {"d": TEXT, "e": "one two one"}


@pytest.mark.parametrize(
    ("text", "places"),
    [
        ("closed at noon.", ["closed at noon."]),
        ("closed  at noon.\n\nNobody", ["closed at noon.\nNobody"]),
        ("came; the", ["came;\tthe"]),
        ("  Nobody came  ", ["Nobody came"]),
        ("cafe\u0301 closed at", ["café  closed at"]),
        ("caf\u00e9 closed again", ["café\u00a0closed again"]),
        ("fin", ["ﬁn"]),
        ("𝄞 fin", ["𝄞 ﬁn"]),
        ("Nobody\u00ad came", ["Nobody came"]),
        ("café", ["café", "café"]),
        ("cafe\u0301 closed", ["café  closed", "café\u00a0closed"]),
        ("caf", ["caf", "caf"]),
        ("nobody", []),
        ("", []),
        (" \n", []),
    ],
)
def test_where_a_text_is(text: str, places: list[str]) -> None:
    found = TextLocator(TEXTS).find("d", text)
    assert [TEXT[start:end] for start, end in found] == places


def test_half_a_ligature_and_a_letter_without_its_accent_are_not_there() -> None:
    assert Normalised("ﬁn").find("in") == []
    assert Normalised("caf\u00e9").find("cafe") == []
    assert Normalised("cafe\u0301 s").find("cafe") == []
    assert Normalised("cafe\u0301 s").find("caf\u00e9") == [(0, 5)]


words = st.text(st.sampled_from("aé\u0301e𝄞ﬁ \n\u00a0\u00ad한ᄒ\u1161"), min_size=1, max_size=12)


@given(words, words, words)
@settings(max_examples=60)
def test_what_was_cut_from_a_document_is_found_in_it(before: str, own: str, after: str) -> None:
    assume(own.strip())
    places = TextLocator({"d": before + own + after}).find("d", own)
    assert (len(before), len(before) + len(own)) in places


@given(words, words, words, st.sampled_from(["NFC", "NFD", "NFKC", "NFKD"]))
@settings(max_examples=60)
def test_a_place_holds_the_text_however_it_is_written(
    before: str, own: str, after: str, form: Any
) -> None:
    """Whatever is found is the same text once both are normalised, and nothing smaller is."""
    text = before + own + after
    wanted = " ".join(unicodedata.normalize(form, own).split())
    plain = Normalised(wanted).text.strip()
    assume(plain)
    for start, end in Normalised(text).find(wanted):
        assert Normalised(text[start:end]).text == plain
        assert Normalised(text[start : end - 1]).text != plain
        assert Normalised(text[start + 1 : end]).text != plain


# --------------------------------------------------------------------------------------------
# Runs
# --------------------------------------------------------------------------------------------


def run(*results: dict[str, Any], header: dict[str, Any] | None = None) -> Source:
    lines = [{"type": "header", **header}] if header else []
    lines += [{"topic": "1", "doc": "d", **result} for result in results]
    text = "\n".join(json.dumps(line, ensure_ascii=False) for line in lines)
    return Source.of_text(f"{text}\n", "a.jsonl")


def align(source: Source, texts: Mapping[str, str]) -> foveal.Run:
    return foveal.read_run(source, texts=texts)


def test_results_with_places_keep_them() -> None:
    placed = align(
        run({"text": "at noon"}, {"start": 3, "end": 9, "text": "café"}, {"xpath": "/a[1]/p[1]"}),
        TEXTS,
    )
    assert placed.start.tolist() == [TEXT.index("at noon"), 3, -1]
    assert placed.notes == ()


@pytest.mark.parametrize("unit", ["codepoint", "byte", "utf16"])
@pytest.mark.parametrize("end", ["exclusive", "inclusive"])
def test_other_results_may_count_otherwise(unit: str, end: str) -> None:
    header = {"format": "foveal-run", "unit": unit, "end": end}
    placed = align(run({"text": "fin"}, {"text": "𝄞"}, header=header), TEXTS)
    assert [TEXT[s:e] for s, e in zip(placed.start, placed.end, strict=True)] == ["ﬁn", "𝄞"]


def test_every_text_without_a_place_is_reported_with_its_line() -> None:
    with pytest.raises(InputError) as caught:
        align(
            run({"text": "café"}, {"text": "noon"}, {"text": "x" * 90}, {"text": "a", "doc": "f"}),
            TEXTS,
        )
    first, second, third = str(caught.value).splitlines()
    assert first == (
        "a.jsonl:1: the text 'café' is in document 'd' 2 times, at 4, 43; give start and end, or "
        "the prefix or suffix of a quote"
    )
    assert second == f"a.jsonl:3: the text '{'x' * 37}...' is not in document 'd'"
    assert third == "a.jsonl:4: document 'f' is not among the texts"


def test_results_without_a_place_may_become_empty_ones() -> None:
    results = [{"doc": "d", "text": text} for text in ("café", "noon", "x")]
    given = {"1": results}
    placed = foveal.run_of(given, texts=TEXTS, unplaced="empty")
    noon = TEXT.index("noon")
    assert placed.start.tolist() == [0, noon, 0]
    assert placed.end.tolist() == [0, noon + 4, 0]
    assert placed.notes == ("texts without a place of their own in their document, left empty: 2",)
    with pytest.raises(UsageError, match="'last' is not one of error, empty"):
        foveal.run_of(given, texts=TEXTS, unplaced="last")


def test_the_documents_that_are_needed_are_known_before() -> None:
    source = run({"text": "a"}, {"text": "b", "doc": "e"}, {"start": 1, "end": 2, "doc": "f"})
    assert find_needed_documents(source, "text")[0] == {"d", "e"}
    lines = Source.of_text("1 Q0 d 1 2 mine 4 4\n", "a.run")
    assert find_needed_documents(lines, "text")[0] == frozenset()
    assert align(lines, {}).start.tolist() == [4]
    header = {"format": "foveal-run", "unit": "byte"}  # all are needed
    source = run({"text": "fin"}, {"start": 1, "end": 2, "doc": "e"}, header=header)
    assert find_needed_documents(source, "text")[0] == {"d", "e"}
    assert align(source, TEXTS).start.tolist() == [TEXT.index("ﬁ"), 1]


def test_a_quote_tells_document_and_length_of_all_spans_of_its_line() -> None:
    spans = [{"start": 0, "end": 3, "assessor": "ann"}, {"quote": "𝄞 fin", "assessor": "bob"}]
    lines = [{"type": "header", "unit": "utf16"}, {"topic": "1", "spans": spans}]
    source = Source.of_text("\n".join(map(json.dumps, lines)), "j.jsonl")
    judgements = foveal.read_judgements(source, texts=TEXTS)
    assert judgements.doc.to_list() == ["d", "d"]
    assert judgements.length.tolist() == [len(TEXT)] * 2
    assert judgements.passages(0) == [(0, 3)]
    assert judgements.passages(1) == [(TEXT.index("𝄞"), len(TEXT))]
