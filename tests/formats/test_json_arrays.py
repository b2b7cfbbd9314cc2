"""A JSON array of results or judgements instead of JSON Lines."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from command import assert_refused, call, evaluate, write_toy

ROWS = [
    {"topic": "toy", "doc": "D1", "start": 20, "end": 40},
    {"topic": "toy", "doc": "D2", "start": 0, "end": 50},
]
ARRAYS = {
    "one line": json.dumps(ROWS),
    "an item per line": "[\n" + ",\n".join(map(json.dumps, ROWS)) + "\n]\n",
    "indented": json.dumps(ROWS, indent=2),
    "Windows lines": "\ufeff" + json.dumps(ROWS, indent=2).replace("\n", "\r\n"),
    "with a header": json.dumps([{"type": "header", "run": "run"}, *ROWS], indent=1),
}


@pytest.mark.parametrize("name", ARRAYS)
def test_a_json_array_is_read_as_json_lines_are(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(write_toy(tmp_path))
    Path("lines").write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    Path("run").write_text(ARRAYS[name])
    scores = ["-j", "qrels", "-m", "AiP", "-m", "charR"]
    lines, array = (call(capsys, "evaluate", file, *scores) for file in ("lines", "run"))
    assert (array.code, array.err) == (0, "")
    assert array.out == lines.out.replace("lines\t", "run\t")
    assert call(capsys, "validate", "run").code == 0
    assert call(capsys, "convert", "run", "out.jsonl", "--to", "jsonl").code == 0
    again = call(capsys, "evaluate", "out.jsonl", *scores)
    assert again.out == array.out
    judged = {"topic": "toy", "doc": "D1", "spans": [{"start": 20, "end": 30}]}
    Path("judged").write_text(json.dumps([judged], indent=1))
    outcome = call(capsys, "evaluate", "run", "-j", "judged", "-m", "charR")
    assert float(outcome.out.split()[-1]) == 1


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (json.dumps(ROWS, indent=1).replace('"start": 0', '"start": "x"'), 8),
        ("[\n" + ",\n".join(map(json.dumps, ROWS)) + ",\n7]", 4),
        (json.dumps(ROWS, indent=1)[:-20], None),
        ('[{"topic": ' + "[" * 100_000, None),
    ],
    ids=["a bad value", "not an object", "cut off", "nested too deep"],
)
def test_a_bad_json_array_is_refused_with_the_line(
    text: str,
    line: int | None,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(write_toy(tmp_path))
    Path("run").write_text(text)
    where = "run: " if line is None else f"run:{line}: "
    outcome = evaluate(capsys, "run", "-j", "qrels", "-m", "AiP")
    assert_refused(outcome, where)
    outcome = call(capsys, "validate", "run")
    assert outcome.code == 1
    assert outcome.out.startswith(where)
