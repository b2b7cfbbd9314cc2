"""``foveal axioms``: the table and exit codes."""

from __future__ import annotations

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


def test_definitions_need_no_measure(capsys: pytest.CaptureFixture[str]) -> None:
    outcome = call(capsys, "axioms")
    assert outcome.code == 0
    for axiom in AXIOMS:
        assert f"{axiom.name}\n    {axiom.words[:40]}" in outcome.out


def test_wrong_use_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert_refused(call(capsys, "axioms", "-m", "nix"), "foveal: unknown measure 'nix'")
    assert_refused(call(capsys, "axioms", "-m", "iP"), "foveal: iP needs a recall cut-off")
