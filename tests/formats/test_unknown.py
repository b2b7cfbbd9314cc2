"""Fields that no reader knows: counted when a file is converted, not when it is scored."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import foveal
from command import call
from foveal.formats import Source
from inputs import judgement_losses, run_losses, topic_losses

RUN = '{"topic": "1", "doc": "a", "note": 1}\n{"topic": "1", "doc": "b", "tag": 2, "note": 3}\n'
JUDGED = '{"topic": "1", "doc": "a", "spans": [{"start": 0, "end": 3, "id": 7}], "note": 1}\n'
TOPICS = '{"topic": "1", "title": "x", "mood": "y"}\n{"topic": "2", "query": "z", "mood": "?"}\n'

KINDS: dict[str, tuple[str, Callable[..., Any], Callable[..., list[str]], dict[str, int]]] = {
    "run": (RUN, foveal.read_run, run_losses, {"note": 2, "tag": 1}),
    "judgements": (JUDGED, foveal.read_judgements, judgement_losses, {"note": 1}),
    "topics": (TOPICS, foveal.read_topics, topic_losses, {"mood": 2}),
}
each_kind = pytest.mark.parametrize(("text", "read", "losses", "said"), KINDS.values(), ids=KINDS)


@each_kind
def test_unknown_fields_are_counted_where_they_are_asked_for(
    tmp_path: Path,
    text: str,
    read: Callable[..., Any],
    losses: Callable[..., Any],
    said: dict[str, int],
) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(text)
    assert read(path).unread is None
    found = read(path, thorough=True)
    assert losses(found, "jsonl") == [f"unknown field {name}: {n}" for name, n in said.items()]


@pytest.mark.parametrize("text", [RUN, JUDGED, TOPICS], ids=KINDS)
def test_convert_says_the_same_of_a_file_and_of_standard_input(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.jsonl").write_text(text)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
    of_file, piped = (call(capsys, "convert", i, "out", "--to", "jsonl") for i in ("a.jsonl", "-"))
    assert of_file == piped
    (said,) = [kind[3] for kind in KINDS.values() if kind[0] == text]
    assert (of_file.code, of_file.out) == (0, "")
    for name, count in said.items():
        assert f"warning: not kept in jsonl: unknown field {name}: {count}\n" in of_file.err


@settings(max_examples=60)
@given(st.lists(st.dictionaries(st.sampled_from(["note", "tag", 'a":', "é"]), st.text(max_size=5))))
def test_every_name_is_counted_as_often_as_it_stands(more: list[dict[str, str]]) -> None:
    lines = [json.dumps({"topic": "1", "doc": f"d{i}", **own}) for i, own in enumerate(more)]
    run = foveal.read_run(
        Source.of_text("\n".join([*lines, '{"topic":"1","doc":"last"}']), thorough=True)
    )
    counts = {
        f"unknown field {name}": n
        for name in dict.fromkeys(name for own in more for name in own)
        if (n := sum(name in own for own in more))
    }
    assert (run.unread or {}) == counts
