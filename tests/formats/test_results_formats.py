"""Results as data: tsv, csv, json, jsonl and parquet at full precision."""

from __future__ import annotations

import csv
import io
import json
import math
import re
from functools import partial
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import foveal
from foveal.formats.result_files import DATA_FORMATS
from inputs import refusal

THIRD = 1 / 3


def saved(
    runs: tuple[str, ...] = ("a", "b"), topics: tuple[str, ...] = ("9", "10")
) -> foveal.Results:
    values = np.array([[[THIRD, 3.0], [np.nan, 0.0]], [[1e-17, 4.0], [0.1 + 0.2, 5.0]]])
    overall = np.array([[THIRD, 3.0], [0.15, 9.0]])
    return foveal.Results(
        runs, topics, ("iP@0.01", "num_ret"), values, np.ones((2, 2), dtype=bool), overall, {"k": 1}
    )


@pytest.mark.parametrize("name", ["a\tb", "a\nb"])
def test_tsv_refuses_names_that_would_break_its_lines(name: str) -> None:
    tsv = partial(DATA_FORMATS["tsv"], per_topic=True)
    for odd in (saved(runs=(name, "b")), saved(topics=(name, "b"))):
        message = refusal(tsv, odd, error=foveal.UsageError)
        assert message == f"{name!r} cannot be a field of tsv; csv and json can hold it"


@pytest.mark.parametrize(
    "text",
    [
        *("", "not json", "[]", "5", "{}", '{"results":5}', '{"results":[5]}', "[" * 99_999),
        '{"results":[{"run":"a"}]}',
        '{"results":[{"run":"a","topic":5,"measure":"m","value":1}]}',
        '{"results":[{"run":["a"],"topic":"5","measure":"m","value":1}]}',
        '{"results":[{"run":"a","topic":"5","measure":"m","value":"high"}]}',
    ],
)
def test_what_is_no_saved_result_is_refused(text: str, tmp_path: Path) -> None:
    path = tmp_path / "results.json"
    path.write_text(text)
    message = refusal(foveal.read_results, path)
    assert message.startswith(f"{path}:")
    assert "these are not saved results" in message


@pytest.mark.parametrize(
    ("meta", "said"),
    [
        ({"tasks": {"a": 3}}, "Expected `str | null`, got `int` - at `$.tasks[...]`"),
        ({"task": 5}, "got `int` - at `$.task`"),
        ({"options": {"assessors": ["each"]}}, "at `$.options.assessors`"),
        ({"parts": [{"inputs": [3]}]}, "Expected `object`, got `int` - at `$.parts[0].inputs[0]`"),
    ],
)
def test_a_damaged_meta_is_refused(meta: dict[str, object], said: str, tmp_path: Path) -> None:
    row = {"run": "a", "topic": "1", "measure": "AP", "value": 0.5}
    (tmp_path / "saved.json").write_text(json.dumps({"meta": meta, "results": [row]}))
    with pytest.raises(foveal.InputError, match=re.escape(said)):
        foveal.read_results(tmp_path / "saved.json")


NAMES = st.text(st.sampled_from("ab ,\"'\\é"), min_size=1, max_size=4)
SCORES = st.floats(0, 100) | st.sampled_from([math.nan, math.inf, 5e-324, 1e16])


@st.composite
def results(draw: st.DrawFn) -> foveal.Results:
    """Results of any names, some topics not counted for some runs."""
    runs, topics, measures = (
        tuple(draw(st.lists(NAMES, min_size=1, max_size=3, unique=True))) for _ in range(3)
    )
    shape = (len(runs), len(topics), len(measures))
    values = draw(st.lists(SCORES, min_size=math.prod(shape), max_size=math.prod(shape)))
    means = draw(st.lists(SCORES, min_size=shape[0] * shape[2], max_size=shape[0] * shape[2]))
    cells = shape[0] * shape[1]
    counted = draw(st.lists(st.booleans(), min_size=cells, max_size=cells))
    return foveal.Results(
        runs,
        topics,
        measures,
        np.array(values).reshape(shape),
        np.array(counted).reshape(shape[:2]),
        np.array(means).reshape(shape[0], shape[2]),
    )


def naive_rows(found: foveal.Results, *, per_topic: bool) -> list[tuple[str, str, str, float]]:
    rows = []
    for i, run in enumerate(found.runs):
        topics = [
            (t, found.values[i, j]) for j, t in enumerate(found.topics) if found.counted[i, j]
        ]
        for topic, values in [*(topics if per_topic else []), ("all", found.overall[i])]:
            rows += [(run, topic, m, float(v)) for m, v in zip(found.measures, values, strict=True)]
    return rows


def undefined(value: float) -> float | None:
    return None if math.isnan(value) else value


@given(results(), st.booleans())
@settings(max_examples=60)
def test_every_form_has_the_same_rows_as_one_written_row_by_row(
    found: foveal.Results, per_topic: bool
) -> None:
    rows = naive_rows(found, per_topic=per_topic)
    texts = [(run, topic, measure, repr(value)) for run, topic, measure, value in rows]
    assert [(*row[:3], repr(row[3])) for row in found.rows(per_topic=per_topic)] == texts
    written = {form: write(found, per_topic=per_topic) for form, write in DATA_FORMATS.items()}
    assert written["tsv"].splitlines()[1:] == ["\t".join(row) for row in texts]
    assert list(csv.reader(io.StringIO(written["csv"])))[1:] == [list(row) for row in texts]
    fields = ("run", "topic", "measure", "value")
    objects = [dict(zip(fields, (*row[:3], undefined(row[3])), strict=True)) for row in rows]
    assert written["jsonl"] == "".join(
        f"{json.dumps(row, ensure_ascii=False)}\n" for row in objects
    )
    frame = pl.read_parquet(io.BytesIO(written["parquet"]))
    assert [(*row[:3], repr(row[3])) for row in frame.iter_rows()] == texts
    if per_topic:
        assert json.loads(written["json"])["results"] == json.loads(json.dumps(objects))
