"""Every result object holds the same numbers in every format."""

from __future__ import annotations

import csv
import io
import json
import math
import re
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import foveal
from foveal.analysis import compare
from foveal.errors import UsageError
from foveal.model import Results
from foveal.model.result_object import Result
from foveal.model.tables import TABLE_FORMATS, format_tables
from foveal.report.drawing import draw
from foveal.report.write import FORMATS, render
from result_objects import OBJECTS, SCORES

FOUND: dict[str, Result] = {}


@pytest.fixture(params=OBJECTS)
def found(request: pytest.FixtureRequest) -> Result:
    return FOUND.setdefault(request.param, OBJECTS[request.param]())


def as_text(value: Any) -> str:
    """Return a value as tsv and csv hold it."""
    words = {None: "none", True: "true", False: "false"}
    if isinstance(value, bool) or value is None:
        return words[value]
    return value if isinstance(value, str) else repr(value)


def as_json(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row as JSON holds it: undefined numbers are null."""
    undefined = [k for k, v in row.items() if isinstance(v, float) and not math.isfinite(v)]
    return {**row, **dict.fromkeys(undefined)}


def list_numbers(content: Any) -> set[float]:
    """Return all numbers in JSON content."""
    if isinstance(content, dict):
        return set().union(*map(list_numbers, content.values()))
    if isinstance(content, list):
        return set().union(*map(list_numbers, content))
    return (
        {content} if isinstance(content, int | float) and not isinstance(content, bool) else set()
    )


def test_data_formats_hold_the_same_rows(found: Result) -> None:
    rows = [dict(row) for row in found.rows()]
    assert rows
    for form, separator in (("tsv", "\t"), ("csv", ",")):
        text = str(render(found, form))
        header, *lines = csv.reader(io.StringIO(text), delimiter=separator)
        assert header == list(rows[0])
        assert lines == [[as_text(value) for value in row.values()] for row in rows]
    lines = str(render(found, "jsonl")).splitlines()
    assert [json.loads(line) for line in lines] == [as_json(row) for row in rows]
    frame = pl.read_parquet(io.BytesIO(bytes(render(found, "parquet"))))
    stored = [as_json(row) for row in frame.to_dicts()]
    assert stored == [as_json(row) for row in rows]


def test_json_holds_every_number_of_the_rows(found: Result) -> None:
    content = json.loads(found.to_json())
    assert content["meta"]["version"] == foveal.__version__
    rows = [as_json(row) for row in found.rows()]
    assert list_numbers(rows) <= list_numbers(content)
    assert json.loads(json.dumps(found.to_dict())).keys() >= {"meta"}


@pytest.mark.parametrize("form", TABLE_FORMATS)
def test_tables_are_the_same_in_every_format(found: Result, form: str) -> None:
    assert render(found, form) == format_tables(found.tables(), form)
    for table in found.tables():
        assert {len(row) for row in table.rows} == {len(table.header)}


def test_text_and_notebooks_end_with_the_answer(found: Result) -> None:
    summary = found.summary()
    assert str(found).endswith(summary)
    assert summary == "" or summary.endswith(".")
    assert found._repr_html_().count("<table") == len(found.tables())


def test_graphs_can_be_drawn_and_told(found: Result) -> None:
    pytest.importorskip("matplotlib")
    graphs = found.graphs()
    if graphs:
        assert b"<svg" in bytes(draw(graphs, "svg"))
        assert all(graph.text_alternative for graph in graphs)


def test_a_choice_holds_for_every_format() -> None:
    curves = OBJECTS["budgets"]()
    tsv, lines, parquet = (
        render(curves, form, per_topic=True) for form in ("tsv", "jsonl", "parquet")
    )
    number = len(str(lines).splitlines())
    assert number == len(str(tsv).splitlines()) - 1
    assert number == len(pl.read_parquet(io.BytesIO(bytes(parquet))))


def test_an_unknown_format_is_refused() -> None:
    for result in (SCORES, OBJECTS["pool"]()):
        with pytest.raises(UsageError, match=r"unknown format 'xml'; expected table or tsv"):
            render(result, "xml")


@pytest.mark.parametrize("form", FORMATS)
def test_scores_are_written_in_every_format(form: str) -> None:
    assert render(SCORES, form)


@pytest.mark.parametrize(
    ("values", "answer"),
    [
        ({"a": [0.5] * 6, "b": [0.5] * 6}, "a and b have the same mean AP over 6 topics."),
        (
            {"a": [0.5] * 6, "b": [1.0, 0.0, 1.0, 0.0, 0.9, 0.1], "c": [0.3, 0.31] * 3},
            "a and b have the same mean AP over 6 topics.",
        ),
        (
            {"a": [0.5, 0.52] * 3, "b": [0.1, 0.1, 0.12] * 2},
            "a leads b by 0.4 AP; with 6 topics the difference is significant, p < ",
        ),
    ],
)
def test_the_answer_of_a_comparison(values: dict[str, list[float]], answer: str) -> None:
    for order in (values, dict(reversed(values.items()))):
        rows = [
            (run, str(topic), "AP", value)
            for run, own in order.items()
            for topic, value in enumerate(own)
        ]
        summary = compare(Results.from_tidy(rows, {}), resamples=20).summary()
        assert summary.replace("b and a", "a and b").startswith(answer)


@pytest.mark.untraced
@pytest.mark.skipif(
    shutil.which("pdflatex") is None,
    reason="pdflatex is not installed (Debian: texlive-latex-recommended)",
)
def test_latex_tables_of_every_result_compile(tmp_path: Path) -> None:
    results = [SCORES, *(FOUND.setdefault(name, make()) for name, make in OBJECTS.items())]
    tables = [str(render(result, "latex")) for result in results]
    tables.append(str(render(SCORES, "latex", per_topic=True)))
    packages = "\\usepackage{booktabs,longtable}\n\\usepackage[margin=2.5cm]{geometry}"
    page = tmp_path / "tables.tex"
    page.write_text(
        f"\\documentclass{{article}}\n{packages}\n\\begin{{document}}\n"
        + "\n\\clearpage\n".join(tables)
        + "\n\\end{document}\n"
    )
    done = subprocess.run(
        ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", page.name],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stdout[-2000:]
    assert (tmp_path / "tables.pdf").stat().st_size > 10_000
    too_wide = re.findall(r"Overfull \\hbox \((\d+)", done.stdout)
    assert all(int(points) < 60 for points in too_wide), too_wide
