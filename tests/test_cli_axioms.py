"""``foveal axioms``: tables, data, exit codes."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

from command import assert_refused, call
from foveal.analysis.axioms import AXIOMS


def test_the_table_has_a_row_for_each_measure(capsys: pytest.CaptureFixture[str]) -> None:
    outcome = call(capsys, "axioms", "-m", "charF", "-m", "AP", "-f", "table")
    assert (outcome.code, outcome.err) == (0, "")
    lines = outcome.out.splitlines()
    assert lines[0] == "Axioms: 2 measures"
    assert lines[2].split() == ["measure", *(axiom.name for axiom in AXIOMS)]
    assert lines[4].split() == ["charF", *["yes"] * 10]
    assert lines[5].split().count("(no)") == 1
    assert "Smallest counterexamples found" in lines


def test_strict_fails_on_what_is_not_by_design(capsys: pytest.CaptureFixture[str]) -> None:
    intended = call(capsys, "axioms", "-m", "AP", "--strict", "-f", "tsv")
    assert intended.code == 0
    assert intended.err == "No axiom fails unexpectedly.\n"
    failing = call(capsys, "axioms", "-m", "HiR(alpha=0)@10", "--strict", "-f", "table")
    assert failing.code == 1
    assert failing.out.endswith("\nFailed: HiR(alpha=0)@10 (duplicate).\n")
    assert "NO" in failing.out
    assert call(capsys, "axioms", "-m", "HiR(alpha=0)@10", "-f", "tsv").code == 0


def test_data_formats(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    rows = call(capsys, "axioms", "-m", "AiP", "-m", "P@10").out
    assert len(rows.splitlines()) == 1 + 2 * len(AXIOMS)
    read = list(csv.DictReader(io.StringIO(call(capsys, "axioms", "-m", "P@10", "-f", "csv").out)))
    (touching,) = [row for row in read if row["axiom"] == "touching"]
    assert touching["verdict"] == "by design"
    assert float(touching["changed_score"]) > 0
    target = tmp_path / "out.json"
    assert call(capsys, "axioms", "-m", "AiP", "-f", "json", "-o", str(target)).out == ""
    content = json.loads(target.read_text())
    assert {v["verdict"] for v in content["verdicts"]} == {"holds"}
    assert set(content["axioms"]) == {axiom.name for axiom in AXIOMS}


@pytest.mark.parametrize("form", ["markdown", "latex", "html"])
def test_tables_for_papers(capsys: pytest.CaptureFixture[str], form: str) -> None:
    outcome = call(capsys, "axioms", "-m", "AiP", "-f", form)
    assert outcome.code == 0
    assert "duplicate" in outcome.out


def test_definitions_need_no_measure(capsys: pytest.CaptureFixture[str]) -> None:
    outcome = call(capsys, "axioms")
    assert outcome.code == 0
    for axiom in AXIOMS:
        assert f"{axiom.name}\n    {axiom.words[:40]}" in outcome.out


def test_wrong_use_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert_refused(call(capsys, "axioms", "-m", "nix"), "foveal: unknown measure 'nix'")
    assert_refused(call(capsys, "axioms", "-m", "iP"), "foveal: iP needs a recall cut-off")


def test_the_seed_and_the_number_are_said(capsys: pytest.CaptureFixture[str]) -> None:
    args = ("--campaigns", "50", "--seed", "7", "-f", "table")
    out = call(capsys, "axioms", "-m", "charR", *args).out
    assert "no counterexample among 50 campaigns (seed 7)" in out
