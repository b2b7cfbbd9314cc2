"""Tokens of results survive reading, ordering and writing."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import foveal
from foveal.errors import InputError

LINES = """\
{"topic": "1", "doc": "a", "rank": 2, "start": 0, "end": 5, "tokens": 3}
{"topic": "2", "doc": "a", "rank": 1, "start": 0, "end": 9}
{"topic": "1", "doc": "b", "rank": 1, "start": 10, "end": 50, "tokens": 9}
"""


@pytest.fixture
def run(tmp_path: Path) -> foveal.Run:
    (tmp_path / "mine.jsonl").write_text(LINES)
    return foveal.read_run(tmp_path / "mine.jsonl")


def test_tokens_follow_their_results(run: foveal.Run) -> None:
    assert run.tokens is not None
    assert run.tokens.tolist() == [9, 3, -1]
    assert run.to_frame()["tokens"].to_list() == [9, 3, None]


@pytest.mark.parametrize("form", ["jsonl", "parquet"])
def test_tokens_come_back(run: foveal.Run, form: str, tmp_path: Path) -> None:
    path = tmp_path / f"again.{form}"
    foveal.write_run(run, path, form)
    again = foveal.read_run(path)
    assert again.tokens is not None
    assert again.tokens.tolist() == [9, 3, -1]
    assert again.unread is None


def test_tokens_that_are_no_numbers_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "bad.jsonl"
    path.write_text(LINES.replace('"tokens": 9', '"tokens": "many"'))
    with pytest.raises(InputError, match=r"bad.jsonl:3: Expected .*`\$\.tokens`"):
        foveal.read_run(path)
    frame = pl.DataFrame({"topic": ["1"], "doc": ["a"], "start": [0], "end": [5], "tokens": [1.5]})
    frame.write_parquet(tmp_path / "bad.parquet")
    with pytest.raises(InputError, match=r"tokens 1.5 is not a whole number"):
        foveal.read_run(tmp_path / "bad.parquet")
