"""TREC Genomics: gold passages and runs, recognised by their content."""

from __future__ import annotations

from pathlib import Path

import pytest

import foveal
from command import call
from inputs import fault, read_judgements, read_run, results
from shared_data import DATA

GENOMICS = DATA / "trec_genomics_2007"
GOLD = "200\td1\t10\t20\tp53|BRCA1 GENE\n200\td2\t0\t5\t\n201\td1\t4\t4\tp53\n"
RUN = "200 d2 2 1.5 0 10 ours\n200 d1 1 2.5 15 10 ours\n201 d9 1 3 0 4 ours\n"
MEASURES = {
    "DOCUMENT": "gen_document",
    "PASSAGE": "gen_passage",
    "ASPECT": "gen_aspect",
    "PASSAGE2": "gen_passage2",
}


def test_gold_passages_are_judgements() -> None:
    gold = read_judgements(GOLD)
    assert gold.topics == ("200", "201")
    assert [gold.passages(i) for i in range(3)] == [[(10, 30)], [(0, 5)], [(4, 8)]]
    assert gold.aspects is not None
    assert gold.aspects.to_list() == [["p53", "BRCA1 GENE"], [], ["p53"]]
    assert read_judgements(f"# gold\n \n{GOLD}#\n").line.tolist() == [3, 4, 5]
    without = read_judgements("200\td2\t0\t5\t\n")  # no aspects on the first line
    assert without.passages(0) == [(0, 5)]


@pytest.mark.parametrize("tag", [" ours", ""])
@pytest.mark.parametrize("separator", [" ", "\t"])
def test_runs_have_a_tag_or_not(tag: str, separator: str) -> None:
    run = read_run(RUN.replace(" ours", tag).replace(" ", separator))
    assert results(run) == [("200", "d1", 15, 25), ("200", "d2", 0, 10), ("201", "d9", 0, 4)]
    assert run.name == ("ours" if tag else "x")


@pytest.mark.parametrize(
    "line",
    [
        "301 Q0 12345 1 100 7",
        "301 0 12345 1 100 7",
        "301 Q0 12345 1 100 7 /a[1]",
        "301 Q0 12345 1 100 7 0 20",
    ],
)
def test_other_runs_of_numbers_stay_what_they_are(line: str) -> None:
    assert read_run(line).doc.to_list() == ["12345"]


def test_judgements_of_numbers_stay_what_they_are() -> None:
    assert read_judgements("301 0 12345 20 100 7 7:20").passages(0) == [(7, 27)]
    assert read_judgements("301\tQ0\t12345\t0\t100").doc.to_list() == ["12345"]
    assert not read_judgements("301\t0\t12345\t1").has_text


@pytest.mark.parametrize(
    ("read", "text", "code", "line"),
    [
        (read_run, RUN + "200 d1 3 1 0 4\n", "line.fields", 4),
        (read_run, RUN + "200 d1 3 1 -5 4 ours\n", "span.offset", 4),
        (read_run, GOLD, "run.format", 1),
        (read_judgements, RUN, "judgements.format", 1),
        (read_judgements, GOLD + "201\td1\t4\tx\tp53\n", "line.number", 4),
        (read_judgements, GOLD + "201\td1\t4\n", "line.fields", 4),
        (read_judgements, GOLD + f"201\td1\t{'9' * 5000}\t1\tp53\n", "line.number", 4),
        (read_judgements, GOLD + "all\td1\t4\t4\tp53\n", "topic.reserved", 4),
    ],
)
def test_what_is_wrong_is_said_with_the_line(
    read: object, text: str, code: str, line: int | None
) -> None:
    assert fault(read, text) == (code, line)  # type: ignore[arg-type]


def test_commands_read_both(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("gold").write_text(GOLD)
    Path("run").write_text(RUN)
    outcome = call(capsys, "evaluate", "run", "-j", "gold", "-m", "charR", "-q", "-f", "tsv")
    assert outcome.code == 0, outcome
    values = dict(line.split("\t")[1::2] for line in outcome.out.splitlines()[1:])
    assert float(values["200"]) == pytest.approx(15 / 25)
    assert float(values["201"]) == 0
    assert call(capsys, "validate", "run").code == 0
    Path("apart").write_text(RUN + "201 d8 2 2 0 4 theirs\n")
    outcome = call(capsys, "validate", "apart")
    assert (outcome.code, outcome.out.split()[0]) == (1, "apart:4:")
    for name in ("run", "gold"):
        assert call(capsys, "convert", name, f"{name}.jsonl", "--to", "jsonl").code == 0
    again = call(capsys, "evaluate", "run.jsonl", "-j", "gold.jsonl", "-m", "gen_aspect")
    once = call(capsys, "evaluate", "run", "-j", "gold", "-m", "gen_aspect")
    assert again.out == once.out


@pytest.mark.skipif(not GENOMICS.exists(), reason="the TREC Genomics data are not there")
@pytest.mark.parametrize("number", ["01", "02"])
def test_official_scores_are_reproduced_without_converting(number: str) -> None:
    scores = foveal.evaluate(
        foveal.read_run(GENOMICS / f"run-{number}.txt"),
        foveal.read_judgements(GENOMICS / "gold.txt"),
        list(MEASURES.values()),
    )
    lines = (GENOMICS / f"official-{number}.per_topic.tsv").read_text().splitlines()[1:]
    official = [line.split("\t")[1:] for line in lines]
    topics = [row for row in official if row[1] != "MAP"]
    assert len(topics) == 4 * 36
    for measure, topic, value in topics:
        found = scores[scores.runs[0], MEASURES[measure.strip()], topic]
        assert found == pytest.approx(float(value), abs=1e-8)
