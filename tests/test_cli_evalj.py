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


def test_json_of_one_block_holds_the_configuration(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    outcome = evaluate(capsys, "--config", "a.prop", "-f", "json")
    meta = json.loads(outcome.out)["meta"]
    kinds = [source["kind"] for source in meta["inputs"]]
    assert kinds == ["configuration", *["judgements"] * 3, "run"]
    assert meta["options"] == {"max_results": 1500}


def test_runs_and_judgements_of_the_command_line_come_first(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "mine.xml").write_text(submission("mine", "CO.Thorough", RUNS["thorough"][1]))
    args = ("mine.xml", "-j", "official/CO+S", "--config", "a.prop", "-q")
    found = values(evaluate(capsys, *args).out)
    assert {(run, topic) for run, topic, _ in found} == {
        ("mine", topic) for topic in ("202", "203", "all")
    }


@pytest.mark.parametrize("workers", ["1", "2"])
def test_workers_change_nothing(
    folder: Path, capsys: pytest.CaptureFixture[str], workers: str
) -> None:
    (folder / "a.prop").write_text(CONFIGURED.replace("CO.Thorough", "CO.Thorough, CO.Focussed"))
    expected = evaluate(capsys, "--config", "a.prop", "-q")
    assert evaluate(capsys, "--config", "a.prop", "-q", "-w", workers) == expected


@pytest.mark.parametrize(
    ("args", "problem"),
    [
        (("--config", "a.prop", "-m", "AP"), "foveal: --config names the measures; leave out --m"),
        (("--config", "a.prop", "-t", "2006.Thorough"), "foveal: --config names the measures"),
        (("--config", "b.prop"), "b.prop: no such file"),
        (("--config", "topics.xml"), "topics.xml:1: root element <inex_topics>; expected <metric"),
        (("--config", "m.xml"), "m.xml:1: there is no SUBMISSIONRUNS_DIR"),
        (("runs/strict.xml", "--config", "m.xml"), "m.xml:1: there is no ASSESSMENTS_DIR"),
        (
            ("runs/strict.xml", "-j", "official", "--config", "m.xml"),
            "m.xml:1: no run declares the task BestInContext; they declare SSCAS",
        ),
        (("--config", "two.prop", "-f", "json"), "foveal: 2 blocks do not fit into one json"),
        (("runs/strict.xml", "-j", "x", "--define", "a=b"), "foveal: --define is for --config"),
        (("-", "-j", "-", "--config", "a.prop"), "foveal: standard input can be read only once"),
    ],
)
def test_wrong_use_is_refused(
    folder: Path, capsys: pytest.CaptureFixture[str], args: tuple[str, ...], problem: str
) -> None:
    (folder / "m.xml").write_text('<metrics><BEPD only="BestInContext"/></metrics>')
    (folder / "two.prop").write_text(CONFIGURED.replace("CO.Thorough", "CO.Thorough, SSCAS"))
    assert_refused(evaluate(capsys, *args), problem)


@pytest.mark.parametrize("value", ["x", "=y", "x=", "a b=c"])
def test_a_definition_that_is_none_is_explained(
    folder: Path, capsys: pytest.CaptureFixture[str], value: str
) -> None:
    outcome = evaluate(capsys, "--config", "a.prop", "--define", value)
    assert outcome.code == 2
    assert f"{value!r} is not a definition; expected NAME=PATH" in outcome.err


def test_more_than_twenty_problems_end_in_a_count(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "a.prop").write_text("".join(f"KEY{i}: x\n" for i in range(30)))
    outcome = evaluate(capsys, "--config", "a.prop")
    assert outcome.code == 2
    assert len(outcome.err.splitlines()) == 21
    assert outcome.err.splitlines()[-1] == "... and 10 more problems"


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


def test_excluded_tags_leave_the_judgements(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without the article and the paragraph only the first of the two results gains."""
    args = ("runs/thorough.xml", "-j", "official/CO+S/297", "-m", "xCG(quant=gen)@2")
    outcome = evaluate(capsys, *args, "--exclude-tags", "p,article")
    assert values(outcome.out)["thorough", "all", "xCG(quant=gen)@2"] == pytest.approx(1.6)


@pytest.fixture
def index(folder: Path, capsys: pytest.CaptureFixture[str]) -> str:
    """Document A, whose elements are as large as the assessments say."""
    (folder / "collection").mkdir()
    text = f"<article><sec><p>{'p' * 40}</p>{'s' * 10}</sec>{'a' * 50}</article>"
    (folder / "collection" / "A.xml").write_text(text)
    assert call(capsys, "index", "collection", "-o", "a.fvx").code == 0
    return "a.fvx"


def test_a_result_that_is_no_element_is_refused_or_snapped(
    folder: Path, index: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "p.run").write_text("202 Q0 A 1 1 passages 5 40\n")
    args = ("p.run", "-j", "official/CO+S/297", "-C", index, "-m", "xCG(quant=gen)@1")
    outcome = evaluate(capsys, *args)
    assert outcome.code == 2
    assert "p.run:1: " in outcome.err
    snapped = evaluate(capsys, *args, "--snap")
    assert values(snapped.out)["passages", "all", "xCG(quant=gen)@1"] == pytest.approx(1.6)


def test_sizes_are_those_of_the_file_unless_recomputed(
    folder: Path, index: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """The file says 60 of 100 characters of the section, the text has 40 of 50."""
    passage = '<passage start="/article[1]/sec[1]/p[1]" end="/article[1]/sec[1]/p[1]"/>'
    element = '<element path="/article[1]/sec[1]" exhaustivity="2" size="100" rsize="60"/>'
    (folder / "j.xml").write_text(
        f'<assessments topic="202"><file name="A">{passage}{element}</file></assessments>'
    )
    args = ("runs/thorough.xml", "-j", "j.xml", "-C", index, "-m", "xCG(quant=gen)@1")
    key = ("thorough", "all", "xCG(quant=gen)@1")
    assert values(evaluate(capsys, *args).out)[key] == pytest.approx(2 * 0.6)
    recomputed = evaluate(capsys, *args, "--recompute")
    assert values(recomputed.out)[key] == pytest.approx(2 * 0.8)


@pytest.mark.parametrize(
    "entry",
    [
        '<BEPD><generator value="PassageTargetGenerator"/><a value="10"/></BEPD>',
        '<EPRUM><a value="10"/></EPRUM>',
        '<EPRUM><behaviour value="BEPDistance"><t value="2"/></behaviour></EPRUM>',
        '<EPRUM><behaviour value="Classic"><a value="2"/></behaviour></EPRUM>',
    ],
)
def test_an_element_where_it_has_no_meaning_is_refused(
    entry: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "m.xml").write_text(f"<metrics>{entry}</metrics>")
    outcome = evaluate(capsys, "runs/strict.xml", "-j", "x", "--config", "m.xml")
    assert_refused(outcome, "m.xml:1: unknown or repeated element <")
