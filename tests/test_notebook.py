"""The notebook of ``examples`` runs from top to bottom, and each cell shows something."""

from __future__ import annotations

import ast
import json
from pathlib import Path
from typing import Any

import pytest

import foveal

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"


def run_cell(source: str, names: dict[str, Any]) -> object:
    """Execute a cell; returns the value of its last line, as a notebook shows it."""
    tree = ast.parse(source)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, "cell", "exec"), names)
    if last is None:
        return None
    return eval(compile(ast.Expression(last.value), "cell", "eval"), names)


def test_every_cell_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(EXAMPLES)
    notebook = json.loads(Path("compare_chunkers.ipynb").read_text())
    cells = ["".join(c["source"]) for c in notebook["cells"] if c["cell_type"] == "code"]
    names: dict[str, Any] = {}
    shown = [run_cell(cell, names) for cell in cells]
    assert all(value is not None for value in shown)
    scores = names["scores"]
    assert isinstance(scores, foveal.Results)
    assert scores.runs == ("200 characters", "500 characters", "sections")
    assert all(0 <= scores[run, "charR@5"] <= 1 for run in scores.runs)
    assert all(hasattr(value, "_repr_html_") for value in shown[-3:])
