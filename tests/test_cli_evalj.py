"""``foveal evaluate --config`` from the command line, and the options for structured tasks."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from command import Outcome, assert_refused, call
from evalj_files import BROWSE, FOCUSSED, PLACES, POOLS, SMALL, STRICT, STRUCTURED, THOROUGH
from inex2005 import RUNS, submission, write_campaign

OURS = {
    "../adhoc2005/official/CO+S*/": "$data/official/CO+S/*/",
    "../official/SSCAS/ #or ../SVCAS/, ../VSCAS/, ../VVCAS/": "$data/official/CAS/",
    "../inex2005_runs*/": "$data/runs*/",
    POOLS: "275,\n   297",
}
"""Only paths and pools are ours; the settings are official, as printed."""
CO_PLACES = "\n".join(FOCUSSED.splitlines()[-3:]) + "\n"
PROPERTIES = "\n".join([FOCUSSED, STRUCTURED, THOROUGH, BROWSE + CO_PLACES, STRICT])
for printed, ours in OURS.items():
    PROPERTIES = PROPERTIES.replace(printed, ours)
CONFIGURED = SMALL + PLACES
TOPICS = """\
<inex_topics>
<inex_topic topic_id="202" query_type="CO+S"><title>x</title>
  <castitle>//article//sec[about(., x)]</castitle></inex_topic>
<inex_topic topic_id="203" query_type="CO+S"><title>y</title></inex_topic>
<inex_topic topic_id="250" query_type="CAS"><castitle>//p[about(., y)]</castitle></inex_topic>
</inex_topics>
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "topics.xml").write_text(TOPICS)
    (tmp_path / "a.prop").write_text(CONFIGURED)
    return write_campaign(tmp_path)


def evaluate(capsys: pytest.CaptureFixture[str], *args: str) -> Outcome:
    return call(capsys, "evaluate", *args)


def values(tsv: str) -> dict[tuple[str, str, str], float]:
    header, *lines = tsv.splitlines()
    assert header == "run\ttopic\tmeasure\tvalue"
    rows = [line.split("\t") for line in lines]
    found = {(run, topic, measure): float(value) for run, topic, measure, value in rows}
    assert len(found) == len(rows)
    return found


def test_a_whole_campaign_of_2005_runs_in_one_command(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "inex2005.prop").write_text(PROPERTIES)
    outcome = evaluate(capsys, "--config", "inex2005.prop", "--define", "data=.")
    assert outcome.code == 0, outcome.err
    found = values(outcome.out)
    assert list(dict.fromkeys(run for run, _, _ in found)) == [
        *("focussed", "structured", "thorough", "browsed", "strict")
    ]
    labels = {run: [m for r, _, m in found if r == run] for run in RUNS}
    assert [len(labels[run]) for run in RUNS] == [630, 630, 630, 3 * (6 + 500), 630]
    presets = [
        ("thorough", "2005.CO.Thorough"),
        ("focussed", "2005.CO.Focussed"),
        ("browsed", "2005.CO.FetchBrowse"),
    ]
    for run, preset in presets:
        args = (f"runs/{run}.xml", "-j", "official/CO+S", "-t", preset)
        official = values(evaluate(capsys, *args).out)
        ours = {
            measure.replace("gen5", "gen").replace("strict5", "strict"): value
            for (_, _, measure), value in official.items()
        }
        for measure in labels[run]:
            assert found[run, "all", measure] == pytest.approx(ours[measure], nan_ok=True)
    assert found["thorough", "all", "MAep(quant=gen)"] == pytest.approx((1 + 0.9) / 3 / 2)
    assert found["strict", "all", "MAep(quant=gen)"] == 1


@pytest.mark.parametrize("form", ["tsv", "csv", "jsonl", "table", "markdown", "latex", "html"])
def test_several_blocks_print_one_after_the_other(
    folder: Path, capsys: pytest.CaptureFixture[str], form: str
) -> None:
    (folder / "a.prop").write_text(CONFIGURED.replace("CO.Thorough", "CO.Thorough, CO.Focussed"))
    outcome = evaluate(capsys, "--config", "a.prop", "-f", form)
    assert outcome.code == 0
    assert outcome.out.index("thorough") < outcome.out.index("focussed")
    if form == "jsonl":
        assert [json.loads(line)["run"] for line in outcome.out.splitlines()] == [
            *("thorough", "thorough", "focussed", "focussed")
        ]
    elif form in ("tsv", "csv"):
        assert len(outcome.out.splitlines()) == 5


# -- options for structured tasks --------------------------------------------------------------


def test_cos_tasks_average_over_topics_with_a_castitle(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "s.xml").write_text(submission("s", "COS.Thorough", RUNS["thorough"][1]))
    args = ("s.xml", "-j", "official/CO+S", "-t", "2005.COS.Thorough", "-q")
    outcome = evaluate(capsys, *args, "--topics-file", "topics.xml")
    assert outcome.code == 0, outcome.err
    assert {topic for _, topic, _ in values(outcome.out)} == {"202", "all"}
    without = evaluate(capsys, *args)
    assert without.code == 2
    assert "--topics-file" in without.err


def test_pools_choose_assessments(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    args = ("runs/thorough.xml", "-j", "official", "-m", "MAep(quant=gen)", "-q")
    outcome = evaluate(capsys, *args, "--pools", "297, 301")
    assert {topic for _, topic, _ in values(outcome.out)} == {"202", "250", "all"}
    assert evaluate(capsys, *args, "--pools", "1").code == 2
    assert "nothing in ','" in evaluate(capsys, *args, "--pools", ",").err


def test_cas_keeps_the_targets_of_the_query(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Only the section fits //article//sec, so the ideal list is that section alone."""
    args = ("runs/thorough.xml", "-j", "official/CO+S/297", "-m", "nxCG(quant=gen)@2")
    key = ("thorough", "all", "nxCG(quant=gen)@2")
    vague = evaluate(capsys, *args, "--cas", "VV", "--topics-file", "topics.xml")
    assert values(vague.out)[key] == pytest.approx(2.4 / 2.6)
    strict = evaluate(capsys, *args, "--cas", "SV", "--topics-file", "topics.xml")
    assert values(strict.out)[key] == 1
    assert evaluate(capsys, *args, "--cas", "XX").code == 2
    support = evaluate(
        capsys,
        *(*args, "--cas", "SS", "--topics-file", "topics.xml"),
        *("--support-judgements", "missing.xml"),
    )
    assert_refused(support, "missing.xml: no such file")
