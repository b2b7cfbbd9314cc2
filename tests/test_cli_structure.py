"""``foveal evaluate`` and ``foveal convert`` on elements: warnings, filters and refusals."""

from __future__ import annotations

from pathlib import Path

import pytest

import cas_campaign
import inex2005
import toy_elements
from command import assert_refused, call, evaluate
from foveal.collection import build_index
from toy_elements import A2, P2, P4, S1

TOTAL = 6.15


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The toy collection, its judgements and a run."""
    monkeypatch.chdir(tmp_path)
    build_index(toy_elements.write_documents(tmp_path), tmp_path / "index")
    highlights = toy_elements.judgement_lines(elements=False)
    elements = toy_elements.judgement_lines(spans=False)
    (tmp_path / "highlights").write_text(toy_elements.judgements(highlights))
    (tmp_path / "elements").write_text(toy_elements.judgements(elements))
    (tmp_path / "run").write_text(toy_elements.run([P2, A2, S1]))
    (tmp_path / "spans").write_text(
        toy_elements.run_lines([{"doc": "D1", "start": 20, "end": 45}, {"doc": "D2"}])
    )
    return tmp_path


@pytest.fixture
def structured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A campaign of structured topics."""
    monkeypatch.chdir(tmp_path)
    cas_campaign.write(tmp_path)
    build_index(tmp_path / "documents", tmp_path / "index")
    return tmp_path


def scored(capsys: pytest.CaptureFixture[str], *args: str) -> tuple[list[float], list[str]]:
    """The values over all topics, and the warnings."""
    outcome = call(capsys, "evaluate", *args, "-f", "tsv")
    assert outcome.code == 0, outcome.err
    rows = [line.split("\t") for line in outcome.out.splitlines()[1:]]
    said = [line.removeprefix("warning: ") for line in outcome.err.splitlines()]
    return [float(row[3]) for row in rows if row[1] == "all"], said


def test_snapping_is_counted(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    args = ("spans", "-j", "elements", "-C", "index", "-m", "gr@2")
    assert_refused(
        evaluate(capsys, *args), "spans:2: [20,45) of 'D1' is not an element; the smallest"
    )
    assert scored(capsys, *args, "--snap") == (
        [pytest.approx(1.5 / TOTAL)],
        ["mine: results mapped to the smallest element around them: 1"],
    )


def test_pools_of_inex_assessments(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "pools").mkdir()
    for pool, grade in (("7", 1), ("8", 2)):
        text = inex2005.assessments("1", pool, {"D2": {"/a[1]": (grade, 50, 50)}})
        (folder / "pools" / f"{pool}.xml").write_text(text)
    args = ("run", "-j", "pools", "-m", "xCG(quant=gen5)@3")
    (both,), said = scored(capsys, *args)
    assert both == 2
    assert said[0].startswith("2 assessors, several for some documents")
    assert scored(capsys, *args, "--pools", "7") == ([1.0], [])
    values, _ = scored(capsys, *args, "--assessors", "each")
    assert values == [1.0, 2.0]
    refused = evaluate(capsys, *args, "--pools", "9")
    assert_refused(refused, "foveal: pools not among the judgements: 9 (7, 8)")


# -- structured topics -----------------------------------------------------------------------------

SUPPORT = ("--support-judgements", "support.jsonl", "--documents", "documents")
GAINS = tuple(word for k in range(1, 7) for word in ("-m", f"xCG@{k}"))


def steps(values: list[float]) -> list[float]:
    return [b - a for a, b in zip([0.0, *values], values, strict=False)]


@pytest.mark.parametrize("reading", cas_campaign.KEPT)
def test_evaluating_and_converting_filter_alike(
    reading: str, structured: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cas = ("--cas", reading, "--topics-file", "topics.jsonl", *SUPPORT)
    for truth, index in (("elements.jsonl", []), ("highlights.jsonl", ["-C", "index"])):
        values, _ = scored(capsys, "run", "-j", truth, *GAINS, *cas, *index)
        assert steps(values) == cas_campaign.KEPT[reading]
        for form in ("jsonl", "inex2006"):
            outcome = call(capsys, "convert", truth, f"{form}.out", "--to", form, *cas, *index)
            assert outcome.code == 0, outcome.err
            for again in ([], ["-C", "index"]):
                values, _ = scored(capsys, "run", "-j", f"{form}.out", *GAINS, *again)
                assert steps(values) == cas_campaign.KEPT[reading]


def test_conversions_that_cannot_be_filtered(
    structured: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cas = ("--cas", "SV", "--topics-file", "topics.jsonl")
    for args, message in (
        (("elements.jsonl", "--cas", "SV"), "foveal: --cas needs the topics' queries; give them"),
        (("highlights.jsonl", *cas), "foveal: there are no assessed elements to leave out; derive"),
        (("run", *cas), "foveal: --cas is for judgements; run holds a run"),
        (("elements.jsonl", "--tag-classes", "ieee"), "foveal: --tag-classes is for --cas"),
    ):
        refused = call(capsys, "convert", args[0], "out", "--to", "jsonl", *args[1:])
        assert_refused(refused, message)


def test_excluded_tags_stay_excluded_with_a_collection(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The highlights are still there, but the organiser's list of elements decides."""
    args = ("highlights", "filtered", "--to", "inex2006", "-C", "index", "--exclude-tags", "p")
    assert call(capsys, "convert", *args).code == 0
    for index in ([], ["-C", "index"]):
        values, _ = scored(capsys, "run", "-j", "filtered", "-m", "gr@3", *index)
        assert values == [pytest.approx(1.5 / 2.15)]


def test_runs_of_offsets_become_elements(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A whole document is its root, an exact span its element, anything else is snapped."""
    (folder / "by-offset").write_text(
        toy_elements.run_lines(
            [{"doc": "D2"}, {"doc": "D1", "start": 60, "end": 80}, {"doc": "D1", "end": 5}]
        ).replace('"end": 5', '"start": 0, "end": 5')
    )
    args = ("by-offset", "out", "--to", "elements", "-C", "index")
    refused = call(capsys, "convert", *args)
    assert_refused(
        refused, "by-offset:4: [0,5) of 'D1' is not an element; the smallest around it is "
    )
    outcome = call(capsys, "convert", *args, "--snap")
    assert outcome.code == 0
    assert "warning: results mapped to the smallest element around them: 1\n" in outcome.err
    paths = [line.split()[-1] for line in (folder / "out").read_text().splitlines()]
    assert paths == ["/a[1]", P4.split()[1], "/a[1]/s[1]/p[1]"]


def test_assessed_elements_that_do_not_exist_are_named_with_their_lines(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Two assessors list elements of one document; each is reported where it was read."""
    pool = """\
<assessments pool="{pool}" topic="toy">
  <file collection="toy" name="D1">
    <passage start="/a[1]/s[1]/p[2]/text()[1].0" end="/a[1]/s[1]/p[2]" size="20"/>
    <element path="/a[1]" exhaustivity="2" size="100" rsize="20"/>
    <element path="/a[1]/{missing}[7]" exhaustivity="2" size="9" rsize="9"/>
  </file>
</assessments>
"""
    (folder / "pools").mkdir()
    (folder / "pools" / "one.xml").write_text(pool.format(pool=1, missing="s"))
    (folder / "pools" / "two.xml").write_text("\n" * 3 + pool.format(pool=2, missing="t"))
    for option in ((), ("--recompute",)):
        outcome = evaluate(capsys, "run", "-j", "pools", "-C", "index", "-m", "nxCG@3", *option)
        assert_refused(outcome, "pools/one.xml:5: ", "pools/two.xml:8: ")
        for line, path in zip(outcome.err.splitlines(), ("/a[1]/s[7]", "/a[1]/t[7]"), strict=True):
            assert repr(path) in line
    outcome = call(
        capsys, "convert", "pools", "out", "--to", "inex2005", "-C", "index", "--recompute"
    )
    assert_refused(outcome, "pools/one.xml:5: ", "pools/two.xml:8: ")
