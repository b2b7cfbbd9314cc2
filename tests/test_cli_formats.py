"""What ``foveal evaluate -f`` prints, and what can be read back from it."""

from __future__ import annotations

import hashlib
import json
import re
from html import unescape
from pathlib import Path

import polars as pl
import pytest

import foveal
from command import QRELS, RUN, call, write_toy
from foveal.cli.options import FORMATS
from foveal.formats.result_files import DATA_FORMATS
from foveal.model.tables import TABLE_FORMATS

WORSE = "toy Q0 D3 1 3 poor_&_<b> 0 40\ntoy Q0 D2 2 2 poor_&_<b> 0 10\n"
ARGS = ("run", "poor", "-j", "qrels", "-m", "charR", "-m", "num_ret")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "poor").write_text(WORSE)
    return write_toy(tmp_path)


def printed(capsys: pytest.CaptureFixture[str], *args: str) -> str:
    outcome = call(capsys, "evaluate", *ARGS, *args)
    assert (outcome.code, outcome.err) == (0, "")
    return outcome.out


def test_without_a_terminal_the_format_is_tsv(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    expected = (
        "run\ttopic\tmeasure\tvalue\n"
        f"mine\tall\tcharR\t{70 / 90!r}\n"
        "mine\tall\tnum_ret\t2.0\n"
        f"poor_&_<b>\tall\tcharR\t{10 / 90!r}\n"
        "poor_&_<b>\tall\tnum_ret\t2.0\n"
    )
    assert printed(capsys) == expected
    assert printed(capsys, "-f", "tsv") == expected


def test_the_formats_that_are_offered_are_those_there_are() -> None:
    assert set(FORMATS) == {"table", *DATA_FORMATS, *TABLE_FORMATS}


def test_parquet_goes_to_standard_output_as_bytes(
    folder: Path, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    foveal.cli.main(["evaluate", *ARGS, "-f", "parquet"])
    columns = pl.read_parquet(capsysbinary.readouterr().out).columns
    assert columns == ["run", "topic", "measure", "value"]


def test_json_says_where_the_numbers_come_from(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    saved = json.loads(printed(capsys, "-f", "json", "--topics", "run"))
    meta = saved["meta"]
    assert meta["version"] == foveal.__version__
    assert meta["options"] == {"topics": "run"}
    assert meta["warnings"] == []
    assert [(i["kind"], i["path"], i["sha256"]) for i in meta["inputs"]] == [
        ("judgements", "qrels", hashlib.sha256(QRELS.encode()).hexdigest()),
        ("run", "run", hashlib.sha256(RUN.encode()).hexdigest()),
        ("run", "poor", hashlib.sha256(WORSE.encode()).hexdigest()),
    ]
    assert meta["topics"]["judged"] == 1
    assert meta["topics"]["runs"]["mine"] == {
        "in_run": 1,
        "not_judged": 0,
        "results_in_judged_documents": 1.0,
        "averaged": {"charR": 1, "num_ret": 1},
    }
    first = {"run": "mine", "topic": "toy", "measure": "charR", "value": 70 / 90}
    assert saved["results"][0] == first


def test_saved_results_are_read_back_without_scoring(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "qrels").write_text(QRELS + "void Q0 D3 0 40\n")
    call(capsys, "evaluate", *ARGS, "-f", "json", "-o", "saved.json")
    scored = foveal.evaluate(["run", "poor"], "qrels", ["charR", "num_ret"])
    for name in ("qrels", "run", "poor"):
        (folder / name).unlink()
    read = foveal.read_results("saved.json")
    assert read.tidy().equals(scored.tidy())
    assert read.aggregate() == scored.aggregate()
    assert read.meta == scored.meta
    assert (read.runs, read.topics, read.measures) == (scored.runs, scored.topics, scored.measures)


def test_a_table_has_four_decimals_and_whole_counts(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert printed(capsys, "-f", "table").splitlines() == [
        "run          charR  num_ret",
        "----------  ------  -------",
        "mine        0.7778        2",
        "poor_&_<b>  0.1111        2",
    ]


def test_a_table_of_topics_ends_each_run_with_all(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "qrels").write_text(QRELS + "void Q0 D3 0 40\n")
    outcome = call(capsys, "evaluate", *ARGS, "-q", "-f", "table")
    assert [line.split() for line in outcome.out.splitlines()[2:]] == [
        ["mine", "toy", "0.7778", "2"],
        ["mine", "void", "-", "0"],
        ["mine", "all", "0.7778", "2"],
        ["poor_&_<b>", "toy", "0.1111", "2"],
        ["poor_&_<b>", "void", "-", "0"],
        ["poor_&_<b>", "all", "0.1111", "2"],
    ]


def test_markdown_marks_the_best(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert printed(capsys, "-f", "markdown").splitlines() == [
        "**Scores of 2 runs, means over 1 topic, best in bold**",
        "",
        r"| run | charR | num\_ret |",
        "| --- | ---: | ---: |",
        "| mine | **0.7778** | 2 |",
        r"| poor\_&amp;\_&lt;b&gt; | 0.1111 | 2 |",
    ]


def test_latex_escapes_names_and_marks_the_best(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert printed(capsys, "-f", "latex").splitlines() == [
        r"% \usepackage{booktabs}",
        "",
        r"\begin{table}",
        r"\centering",
        r"\caption{Scores of 2 runs, means over 1 topic, best in bold.}",
        r"\label{tab:scores}",
        r"\begin{tabular}{lrr}",
        r"\toprule",
        r"run & charR & num\_ret \\",
        r"\midrule",
        r"mine & \textbf{0.7778} & 2 \\",
        r"poor\_\&\_\textless{}b\textgreater{} & 0.1111 & 2 \\",
        r"\bottomrule",
        r"\end{tabular}",
        r"\end{table}",
    ]


def test_html_is_one_page_with_escaped_names(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = printed(capsys, "-f", "html")
    cells = [unescape(re.sub("<.*?>", "", own)) for own in re.findall("<t[dh].*?</t[dh]>", page)]
    assert cells == ["run", "charR", "num_ret", "mine", "0.7778", "2", "poor_&_<b>", "0.1111", "2"]
    assert page.count("<b>") == 1
    assert not re.search("<(script|link|img)", page)
