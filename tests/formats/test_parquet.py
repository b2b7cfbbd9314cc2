"""Parquet and Arrow runs: columns by name, missing values, types that do not fit."""

from __future__ import annotations

import io
import os
from contextlib import suppress
from typing import Any

import polars as pl
import pytest

import foveal
from foveal.formats.columns import catch_panics
from inputs import fault, read_run, refusal, results, run_losses

BASE: dict[str, Any] = {"topic": ["1", "1"], "doc": ["A", "B"], "start": [0, 5], "end": [9, 8]}


def parquet(columns: dict[str, Any] | pl.DataFrame) -> bytes:
    buffer = io.BytesIO()
    pl.DataFrame(columns).write_parquet(buffer)
    return buffer.getvalue()


def test_parquet_and_arrow_files_hold_the_same_run() -> None:
    buffer = io.BytesIO()
    pl.DataFrame(BASE).write_ipc(buffer)
    for data in (parquet(BASE), buffer.getvalue()):
        assert results(read_run(data)) == [("1", "A", 0, 9), ("1", "B", 5, 8)]


def test_results_are_offsets_paths_or_whole_documents() -> None:
    columns = {
        "topic": [7, 7, 7, 7],
        "doc": ["A", "B", "C", "D"],
        "start": [1.0, None, None, 0.0],
        "end": [4.0, None, None, None],
        "xpath": [None, "/a[1]/b[1]", None, None],
    }
    assert results(read_run(parquet(columns))) == [
        ("7", "A", 1, 4),
        ("7", "B", None, None),
        ("7", "C", 0, None),
        ("7", "D", 0, None),
    ]


def test_the_column_run_names_the_run_else_the_file() -> None:
    assert read_run(parquet(BASE | {"run": ["mine", None]})).name == "mine"
    assert read_run(parquet(BASE)).name == "x"


@pytest.mark.parametrize(
    ("change", "code", "line"),
    [
        ({"topic": ["1", None]}, "topic.missing", 2),
        ({"doc": ["A", ""]}, "doc.missing", 2),
        ({"end": [9, None]}, "span.incomplete", 2),
        ({"start": [0.0, 0.5]}, "run.columns", 2),
        ({"start": [0.0, float("nan")]}, "run.columns", 2),
        ({"start": ["0", "x"]}, "run.columns", 2),
        ({"score": [1.0, float("nan")]}, "run.score", 2),
        ({"score": [1.0, None]}, "run.score_missing", 2),
        ({"rank": [None, 1]}, "run.rank_missing", 1),
        ({"topic": [["1"], ["1"]]}, "run.columns", None),
        ({"run": ["a", "b"]}, "run.name", None),
    ],
)
def test_a_bad_row_or_column_is_named(change: dict[str, Any], code: str, line: int | None) -> None:
    assert fault(read_run, parquet(BASE | change)) == (code, line)


def test_a_missing_column_is_named() -> None:
    assert refusal(read_run, parquet({"doc": ["A"], "end": [3]})) == (
        "x: column topic is missing; found doc, end"
    )


def test_an_empty_table_is_an_empty_run() -> None:
    data = parquet(pl.DataFrame(BASE).clear())
    assert refusal(read_run, data) == "x: the run is empty: it holds no result"


@pytest.mark.parametrize("cut", [4, 30, -10])
def test_a_truncated_file_is_damaged(cut: int) -> None:
    assert refusal(read_run, parquet(BASE)[:cut]).startswith("x: damaged Parquet or Arrow file: ")


def test_a_damaged_file_is_told_in_one_sentence_of_ours(capfd: pytest.CaptureFixture[str]) -> None:
    good, said = parquet(BASE), []
    for place in range(4, len(good), 5):
        bad = good[:place] + bytes([good[place] ^ 0xFF]) + good[place + 1 :]
        try:
            read_run(bad)
        except foveal.InputError as error:
            said.append(str(error))
    assert "x: damaged Parquet or Arrow file: its columns cannot be decoded" in said
    assert not any("unwrap" in message for message in said)
    assert capfd.readouterr().err == ""


def test_nothing_is_printed_while_a_file_is_read(capfd: pytest.CaptureFixture[str]) -> None:
    with catch_panics():
        os.write(2, b"first\n")
    with suppress(ValueError), catch_panics():
        os.write(2, b"second\n\nthread 'x' (7) panicked at here:\nwhy\n")
        raise ValueError
    os.write(2, b"third\n")
    assert capfd.readouterr().err == "third\n"


def test_columns_that_are_not_known_are_said() -> None:
    frame = pl.DataFrame(
        {"topic": ["1", "1"], "doc": ["a", "b"], "start": [0, 0], "end": [4, 4]}
        | {"text": ["what", None], "note": ["y", "z"]}
    )
    buffer = io.BytesIO()
    frame.write_parquet(buffer)
    said = ["unknown field note: 2", "texts of results: 1"]
    assert run_losses(read_run(buffer.getvalue()), "jsonl") == said
