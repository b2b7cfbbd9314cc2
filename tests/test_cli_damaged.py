"""Damaged files that the fuzzer found a command not to cope with."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from command import call


def test_an_ordinal_of_any_length_has_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    ordinals = ["10", "9223372036854775808", "9"]
    paths = [f'<path path="/a[1]/p[{n}]" exhaustivity="3" specificity="3"/>' for n in ordinals]
    text = f'<assessments topic="1"><file file="d">{"".join(paths)}</file></assessments>'
    Path("a.xml").write_text(text)
    outcome = call(capsys, "recall-base", "-j", "a.xml", "--topic", "1", "-f", "json")
    assert outcome.code == 0, outcome.err
    found = [element["xpath"] for element in json.loads(outcome.out)["elements"]]
    assert found[1:] == [f"/a[1]/p[{n}]" for n in sorted(ordinals, key=int)]


def test_a_document_of_deeply_nested_json_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    nested = '{"a":' * 100_000
    Path("texts.jsonl").write_text(f'{{"doc": "a", "text": "One."}}\n{nested}\n')
    outcome = call(capsys, "index", "texts.jsonl", "-o", "out")
    assert outcome.code == 2
    assert outcome.err.startswith("texts.jsonl:2: ")
    assert not Path("out").exists()
