"""``foveal evaluate``: topics, assessors, overlap, cut, the order of its rows."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from command import call, write_toy

THREE_TOPICS = """\
10 Q0 A 10 20 0 0:10
9 Q0 A 5 20 0 0:5
1 Q0 B 0 30
"""
SOME = "9 Q0 A 1 3 some 0 10\n10 Q0 A 1 3 some 0 5\n"
OTHER = "9 Q0 A 1 3 other 0 5\n77 Q0 A 1 3 other 0 5\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "three").write_text(THREE_TOPICS)
    (tmp_path / "some").write_text(SOME)
    (tmp_path / "other").write_text(OTHER)
    return write_toy(tmp_path)


def rows(capsys: pytest.CaptureFixture[str], *args: str) -> list[tuple[str, ...]]:
    """The rows of the tsv that a command prints, without the header."""
    outcome = call(capsys, "evaluate", *args, "-f", "tsv")
    assert outcome.code == 0, outcome.err
    return [tuple(line.split("\t")) for line in outcome.out.splitlines()[1:]]


def values(capsys: pytest.CaptureFixture[str], *args: str) -> list[float]:
    return [float(row[3]) for row in rows(capsys, *args)]


def test_topics_that_are_not_all_numbers_come_by_code_point(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    topics = ["é", "t9", "t10", "9"]
    (folder / "named").write_text("".join(f"{t} Q0 A 5 20 0 0:5\n" for t in topics))
    (folder / "run").write_text("".join(f"{t} Q0 A 1 1 r 0 5\n" for t in topics))
    found = rows(capsys, "run", "-j", "named", "-m", "AP", "-q")
    assert [row[1] for row in found] == ["9", "t10", "t9", "é", "all"]


@pytest.mark.parametrize(
    ("policy", "some", "other"),
    [("judged", 0.75, 0.5), ("run", 0.75, 1.0), ("both", 1.0, 1.0)],
)
def test_the_topic_policy_says_which_topics_are_averaged(
    policy: str, some: float, other: float, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    args = ("some", "other", "-j", "three", "-m", "charR", "--topics", policy)
    assert values(capsys, *args) == [some, other]


@pytest.mark.parametrize("wanted", ["9,10", "9 10", "@list"])
def test_only_some_topics_are_evaluated(
    wanted: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "list").write_text("10\n9,\n")
    found = rows(capsys, "some", "-j", "three", "-m", "AP", "-q", "--only-topics", wanted)
    assert [row[1] for row in found] == ["9", "10", "all"]


def test_a_long_run_is_cut_with_a_warning(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    args = ("evaluate", "run", "-j", "qrels", "-m", "num_ret", "-m", "ret_size", "-f", "tsv")
    outcome = call(capsys, *args, "--max-results", "1")
    assert [line.split("\t")[3] for line in outcome.out.splitlines()[1:]] == ["1.0", "20.0"]
    assert outcome.err == "warning: mine: topics cut at 1 results: 1\n"
    assert call(capsys, *args, "--max-results", "2").err == ""


ASSESSED = """\
{"topic":"toy","doc":"D1","length":100,"assessor":"ann","spans":[{"start":0,"end":30}]}
{"topic":"toy","doc":"D1","length":100,"assessor":"bob","spans":[{"start":10,"end":40}]}
{"topic":"toy","doc":"D1","length":100,"assessor":"eve","spans":[{"start":20,"end":50}]}
"""


@pytest.mark.parametrize(
    ("policy", "relevant", "found"),
    [
        ("union", 50, 20),
        ("majority", 30, 20),
        ("intersection", 10, 10),
        ("ann", 30, 10),
        ("eve", 30, 20),
    ],
)
def test_assessors_are_combined_as_asked(
    policy: str, relevant: int, found: int, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "assessed").write_text(ASSESSED)
    args = ("run", "-j", "assessed", "-m", "rel_size", "-m", "rel_ret_size")
    assert values(capsys, *args, "--assessors", policy) == [relevant, found]


ENTERED = """\
{"topic":"toy","doc":"D1","length":100,"assessor":"ann","bep":5,"spans":[{"start":5,"end":30}]}
{"topic":"toy","doc":"D1","length":100,"assessor":"bob","bep":15,"spans":[{"start":10,"end":40}]}
{"topic":"toy","doc":"D1","length":100,"assessor":"eve","bep":22,"spans":[{"start":20,"end":50}]}
{"topic":"toy","doc":"D2","length":50,"assessor":"ann","bep":2,"spans":[{"start":2,"end":9}]}
{"topic":"toy","doc":"D2","length":50,"assessor":"bob","bep":6,"spans":[{"start":6,"end":20}]}
"""


@pytest.mark.parametrize(
    ("policy", "first", "second"),
    [
        ("union", 5, 2),
        # Two of three share [10, 40): 15 is the first entry point inside. Both share [6, 9).
        ("majority", 15, 6),
        ("intersection", 22, 6),
        ("ann", 5, 2),
    ],
)
def test_the_best_entry_point_lies_in_the_text_that_assessors_share(
    policy: str, first: int, second: int, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "assessed").write_text(ENTERED)
    (folder / "entries").write_text(
        f"toy Q0 D1 1 2 mine {first} 1\ntoy Q0 D2 2 1 mine {second} 1\n"
    )
    args = ("-j", "assessed", "-m", "BEPD(A=0.01)", "-m", "AgP(score=BEP,n=1)")
    assert values(capsys, "entries", *args, "--assessors", policy) == [1, 1]


def test_without_an_entry_point_in_the_shared_text_there_is_none(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "assessed").write_text(ENTERED.replace('"bep":22', '"bep":45'))
    (folder / "entries").write_text("toy Q0 D1 1 2 mine 22 1\ntoy Q0 D2 2 1 mine 6 1\n")
    args = ("entries", "-j", "assessed", "-m", "BEPD(A=0.01)", "-m", "AgP(score=BEP)")
    # BEPD counts documents with an entry point; AgP divides by all relevant ones.
    assert values(capsys, *args, "--assessors", "intersection") == [1, 0.25]


def test_judgements_come_from_a_directory_or_several_files(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "split").mkdir()
    for number, line in enumerate(THREE_TOPICS.splitlines()):
        (folder / "split" / f"part{number}").write_text(f"{line}\n")
    args = ("some", "-m", "charR", "-m", "num_rel", "-q")
    whole = rows(capsys, *args, "-j", "three")
    assert rows(capsys, *args, "-j", "split") == whole
    parts = [part for n in range(3) for part in ("-j", f"split/part{n}")]
    assert rows(capsys, *args, *parts) == whole


@pytest.mark.parametrize("options", [[], ["--memory", "1"], ["-w", "2"]])
def test_the_ir_metadata_of_a_run_is_kept(
    folder: Path, capsys: pytest.CaptureFixture[str], options: list[str]
) -> None:
    header = "# ir_metadata.start\n# platform:\n#   hardware: x\n# ir_metadata.end\n"
    for name in "ab":
        (folder / name).write_text(f"{header if name == 'a' else ''}1 Q0 d 1 0.5 {name}\n")
    (folder / "docs.qrels").write_text("1 0 d 1\n")
    arguments = ("evaluate", "a", "b", "-j", "docs.qrels", "-m", "AP", "-f", "json")
    inputs = json.loads(call(capsys, *arguments, *options).out)["meta"]["inputs"]
    found = [own.get("ir_metadata") for own in inputs]
    assert found == [None, "platform:\n  hardware: x\n", None]


def test_a_task_names_measures_and_a_run_that_declares_another_is_warned_about(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "run").write_text(
        '{"type":"header","format":"foveal-run","run":"mine","task":"BestInContext"}\n'
        '{"topic":"toy","doc":"D2","start":0,"end":50}\n'
    )
    args = ("-j", "qrels", "-t", "2009.Focussed", "-m", "AP", "-f", "tsv")
    outcome = call(capsys, "evaluate", "run", *args)
    found = [line.split("\t")[2] for line in outcome.out.splitlines()[1:]]
    assert found == ["iP@0.00", "iP@0.01", "iP@0.05", "iP@0.10", "AiP", "AP"]
    assert "warning: mine: declares the task BestInContext, scored as 2009.Focus" in outcome.err


@pytest.mark.parametrize("name", ["evaluate", "report"])
def test_help_loads_no_arrays(name: str) -> None:
    program = (
        "import sys, foveal.cli\n"
        f"try: foveal.cli.main([{name!r}, '--help'])\n"
        "except SystemExit: pass\n"
        "print({'numpy', 'polars', 'foveal.measures', 'foveal.formats'} & set(sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[-1] == "set()"
