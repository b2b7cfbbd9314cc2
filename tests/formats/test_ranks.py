"""Ranks and tokens that a file gives are kept; without scores, equal ranks are ties."""

from __future__ import annotations

import io
import json
from pathlib import Path

import polars as pl
import pytest

import foveal
from inputs import RUN_FORMATS, fault, read_run, rewritten

ROWS = [("A", 3), ("B", 1), ("C", 1), ("D", 7)]


def in_xml() -> str:
    results = "".join(
        f"<result><file>{doc}</file><path>/a[1]/b[1]</path><rank>{rank}</rank></result>"
        for doc, rank in ROWS
    )
    return f'<inex-submission><topic topic-id="1">{results}</topic></inex-submission>'


def in_json() -> str:
    lines = [{"topic": "1", "doc": doc, "rank": rank, "xpath": "/a/b"} for doc, rank in ROWS]
    return "".join(json.dumps(line) + "\n" for line in lines)


def in_parquet() -> bytes:
    columns = {"topic": ["1"] * 4, "doc": [d for d, _ in ROWS], "rank": [r for _, r in ROWS]}
    buffer = io.BytesIO()
    pl.DataFrame({**columns, "xpath": ["/a/b"] * 4}).write_parquet(buffer)
    return buffer.getvalue()


@pytest.fixture(params=[in_xml, in_json, in_parquet])
def run(request: pytest.FixtureRequest) -> foveal.Run:
    return read_run(request.param())


def ranks(run: foveal.Run) -> list[tuple[str, int]]:
    assert run.rank is not None
    return list(zip(run.doc, run.rank.tolist(), strict=True))


def test_ranks_are_read_with_their_ties(run: foveal.Run) -> None:
    assert ranks(run) == [("B", 1), ("C", 1), ("A", 3), ("D", 7)]
    assert run.score is None


@pytest.mark.parametrize("form", ["inex", "jsonl", "parquet"])
def test_ranks_are_written_again(run: foveal.Run, form: str, tmp_path: Path) -> None:
    assert ranks(rewritten(run, tmp_path, form)) == ranks(run)


def test_lines_keep_ties_in_their_scores(run: foveal.Run, tmp_path: Path) -> None:
    again = rewritten(run, tmp_path, "elements")
    assert again.score is not None
    assert again.score.tolist() == [-1, -1, -3, -7]
    assert again.rank is None


def test_documents_in_trec_are_ranked_by_their_order(run: foveal.Run) -> None:
    lines = str(RUN_FORMATS["trec"](run)).splitlines()
    found = [" ".join(line.split()[2:5]) for line in lines]
    assert found == ["B 1 -1", "C 2 -2", "A 3 -3", "D 4 -4"]


# -- tokens --------------------------------------------------------------------------------------

TOKENS = """\
{"topic": "1", "doc": "a", "rank": 2, "start": 0, "end": 5, "tokens": 3}
{"topic": "2", "doc": "a", "rank": 1, "start": 0, "end": 9}
{"topic": "1", "doc": "b", "rank": 1, "start": 10, "end": 50, "tokens": 9}
"""


def test_tokens_follow_their_results_and_come_back(tmp_path: Path) -> None:
    run = read_run(TOKENS)
    for own in (run, rewritten(run, tmp_path, "jsonl"), rewritten(run, tmp_path, "parquet")):
        assert own.to_frame()["tokens"].to_list() == [9, 3, None]
        assert own.unread is None


def test_tokens_that_are_no_numbers_are_refused() -> None:
    for wrong, code in (('"many"', "json.value"), ("-2", "run.tokens")):
        assert fault(read_run, TOKENS.replace('"tokens": 9', f'"tokens": {wrong}')) == (code, 3)
    frame = pl.DataFrame({"topic": ["1"], "doc": ["a"], "start": [0], "end": [5], "tokens": [1.5]})
    buffer = io.BytesIO()
    frame.write_parquet(buffer)
    assert fault(read_run, buffer.getvalue()) == ("run.columns", 1)
