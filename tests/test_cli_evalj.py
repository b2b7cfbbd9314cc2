"""``foveal evaluate --config`` from the command line, and the options for structured tasks."""

from __future__ import annotations

from pathlib import Path

import pytest

from command import Outcome, call
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
