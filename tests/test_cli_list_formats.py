"""``foveal formats``: every format is listed by kind, and explained with an example."""

from __future__ import annotations

import json

import pytest

from command import call
from foveal.formats import list_formats

FORMATS = list(list_formats())


def test_every_format_is_listed_below_its_kind(capsys: pytest.CaptureFixture[str]) -> None:
    blocks = call(capsys, "formats").out.rstrip("\n").split("\n\n")
    listed = {
        (block.split("\n")[0], line.split()[0])
        for block in blocks
        for line in block.split("\n")[1:]
    }
    assert listed == {(form.kind, form.name) for form in FORMATS}


def test_a_format_is_explained_for_every_kind_that_has_it(
    capsys: pytest.CaptureFixture[str],
) -> None:
    shown = call(capsys, "formats", "fol").out
    for form in FORMATS:
        if form.name == "fol":
            assert f"fol ({form.kind})" in shown
            assert form.explanation in shown
            assert form.example in shown


def test_links_are_shown_by_their_words(capsys: pytest.CaptureFixture[str]) -> None:
    shown = call(capsys, "formats", "trec").out
    assert "as by trec_eval" in shown
    assert "](" not in shown


def test_json_holds_everything(capsys: pytest.CaptureFixture[str]) -> None:
    records = json.loads(call(capsys, "formats", "-f", "json").out)
    assert len(records) == len(FORMATS)
    (parquet,) = [record for record in records if record["name"] == "parquet"]
    assert (parquet["kind"], parquet["reads"], parquet["writes"]) == ("run", True, True)
    (written,) = [record for record in records if record["name"] == "inex2003"]
    assert (written["reads"], written["writes"]) == (False, True)


def test_an_unknown_format_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    outcome = call(capsys, "formats", "jsonlines")
    assert outcome.code == 2
    assert outcome.err[:50] == "foveal: unknown format 'jsonlines'; expected fol, "
