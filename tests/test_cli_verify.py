"""``foveal verify`` and results given by their text: what is read, said, written and refused."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import pytest

from command import Outcome, assert_refused, call
from foveal.collection import build_index
from foveal.formats import read_judgements

OLD = "It was cold. It was dark. Nobody came."
NEW = f"Notice. {OLD}"
JUDGED = """\
{"topic":"1","doc":"d","length":38,"bep":13,"spans":[{"start":13,"end":25,"quote":"It was dark."}]}
{"topic":"1","doc":"e","spans":[{"start":0,"end":4}]}
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name, text in {"old": OLD, "new": NEW}.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "d.txt").write_text(text)
        (tmp_path / name / "e.txt").write_text("𝄞 end")
    (tmp_path / "j.jsonl").write_text(JUDGED)
    return tmp_path


def verified(capsys: pytest.CaptureFixture[str], *args: str) -> Outcome:
    return call(capsys, "verify", "-j", "j.jsonl", *args)


def rows(text: str) -> list[dict[str, str]]:
    header, *lines = (line.split("\t") for line in text.splitlines())
    return [dict(zip(header, line, strict=True)) for line in lines]


def test_all_in_place(capsys: pytest.CaptureFixture[str]) -> None:
    outcome = verified(capsys, "--texts", "old")
    assert outcome.code == 0
    assert [row["kind"] for row in rows(outcome.out)] == ["exact", "no quote"]
    assert outcome.err == (
        "warning: spans without a quote, checked only by offsets: 1\n"
        "All judged text is in its place: 2 spans, 1 exact, 1 no quote.\n"
    )


def test_something_moved(capsys: pytest.CaptureFixture[str]) -> None:
    outcome = verified(capsys, "--texts", "new")
    assert outcome.code == 1
    moved, _ = rows(outcome.out)
    assert (moved["kind"], moved["now_start"], moved["shift"]) == ("moved", "21", "8")


def test_the_table_lists_what_is_not_exact(capsys: pytest.CaptureFixture[str]) -> None:
    outcome = verified(capsys, "--texts", "new", "-f", "table")
    words = [line.split() for line in outcome.out.splitlines()]
    assert ["2", "0", "1", "0", "0", "0", "1"] in words
    assert ["j.jsonl:1", "1", "d", "[13,25)", "moved", "[21,33)"] in words


def test_json_holds_everything(capsys: pytest.CaptureFixture[str]) -> None:
    found = json.loads(verified(capsys, "--texts", "new", "-f", "json").out)
    assert found["counts"]["moved"] == 1
    assert found["sound"] is False
    assert found["spans"][0]["places"] == [[21, 33]]


def test_repair_moves_and_then_all_is_well(capsys: pytest.CaptureFixture[str]) -> None:
    outcome = verified(capsys, "--texts", "new", "--repair", "out.jsonl", "--quote")
    assert outcome.code == 0
    assert "out.jsonl: moved 1 span and 1 best entry point; quotes added: 1" in outcome.err
    mended = read_judgements("out.jsonl")
    assert (mended.start.tolist(), mended.bep.tolist()) == ([21, 0], [21, -1])
    again = call(capsys, "verify", "-j", "out.jsonl", "--texts", "new")
    assert (again.code, again.err) == (0, "All judged text is in its place: 2 spans, 2 exact.\n")


def test_repair_says_what_it_leaves(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    (folder / "new" / "d.txt").write_text("Something else.")
    outcome = verified(capsys, "--texts", "new", "--repair", "out.jsonl")
    assert outcome.code == 1
    assert "j.jsonl:1: span [13,25) of document 'd' not moved: lost" in outcome.err
    assert "j.jsonl:1: best entry point 13 of document 'd' not moved" in outcome.err


def test_texts_may_be_lines_or_an_archive(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    lines = [{"doc": "d", "text": OLD}, {"doc": "e", "text": "𝄞 end"}, {"doc": "f", "text": "x"}]
    (folder / "texts.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert verified(capsys, "--texts", "texts.jsonl").code == 0
    with zipfile.ZipFile(folder / "texts.zip", "w") as archive:
        archive.write(folder / "old" / "d.txt", "corpus/d.txt")
        archive.write(folder / "old" / "e.txt", "corpus/e.txt")
    assert verified(capsys, "--texts", "texts.zip").code == 0


def test_an_index_knows_the_hash_of_what_was_indexed(
    capsys: pytest.CaptureFixture[str], folder: Path
) -> None:
    build_index(folder / "old", folder / "old.fvx")
    assert verified(capsys, "-C", "old.fvx", "--documents", "old").code == 0
    outcome = verified(capsys, "-C", "old.fvx", "--documents", "new", "-f", "table")
    assert outcome.code == 1
    assert "documents whose text is not what was indexed, 1: d" in outcome.err


def test_white_space_counts_as_the_index_counts_it(
    capsys: pytest.CaptureFixture[str], folder: Path
) -> None:
    from foveal.collection import BuildOptions

    (folder / "old" / "d.txt").write_text(OLD.replace(" ", "  \n"))
    build_index(folder / "old", folder / "i.fvx", BuildOptions(whitespace="merge"))
    assert verified(capsys, "-C", "i.fvx", "--documents", "old").code == 0
    header = '{"type":"header","format":"foveal-judgements","whitespace":"keep"}\n'
    (folder / "j.jsonl").write_text(header + JUDGED)
    refused = verified(capsys, "-C", "i.fvx", "--documents", "old", "-o", "out")
    assert_refused(refused, "j.jsonl: offsets count white space by the rule 'keep'")


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ([], "foveal: no texts; give --texts"),
        (["--texts", "old", "--quote"], "foveal: --quote adds to the judgements that --repair"),
        (["--texts", "old", "--documents", "old"], "foveal: --texts and --documents both say"),
        (["--texts", "none"], "none: no such file or directory"),
        (["--texts", "old", "--repair", "j.jsonl"], "foveal: j.jsonl is read by this command"),
    ],
)
def test_wrong_use_is_refused(
    args: list[str], message: str, capsys: pytest.CaptureFixture[str], folder: Path
) -> None:
    assert_refused(verified(capsys, *args, "-o", "out"), message)
    assert (folder / "j.jsonl").read_text() == JUDGED


def test_texts_of_other_documents_are_refused(
    capsys: pytest.CaptureFixture[str], folder: Path
) -> None:
    (folder / "others").mkdir()
    (folder / "others" / "x.txt").write_text("x")
    assert_refused(
        verified(capsys, "--texts", "others", "-o", "out"),
        "j.jsonl: none of the 2 judged documents (d, ...) is among the texts",
    )


# --------------------------------------------------------------------------------------------
# Runs with texts
# --------------------------------------------------------------------------------------------

RUN = """\
{"topic":"1","doc":"d","text":"It was\\ndark."}
{"topic":"1","doc":"e","start":0,"end":1}
"""


def evaluated(capsys: pytest.CaptureFixture[str], *args: str) -> Outcome:
    return call(capsys, "evaluate", *args, "-j", "j.jsonl", "-m", "answered", "-m", "evR")


def test_results_given_by_their_text_are_placed(
    capsys: pytest.CaptureFixture[str], folder: Path
) -> None:
    (folder / "r.jsonl").write_text(RUN)
    outcome = evaluated(capsys, "r.jsonl", "--texts", "old")
    assert outcome.out.splitlines()[1:] == ["r\tall\tanswered\t0.0", f"r\tall\tevR\t{13 / 16}"]
    assert "spans located only with white space and characters normalised: 1" in outcome.err
    build_index(folder / "old", folder / "old.fvx")
    by_index = evaluated(capsys, "r.jsonl", "-C", "old.fvx", "--documents", "old")
    assert by_index.out == outcome.out


def test_without_texts_they_cannot_be_placed(
    capsys: pytest.CaptureFixture[str], folder: Path
) -> None:
    (folder / "r.jsonl").write_text(RUN)
    outcome = evaluated(capsys, "r.jsonl", "-o", "out")
    assert_refused(outcome, "r.jsonl:1: a result given by its text alone cannot be placed")


def test_saved_results_have_no_use_for_texts(
    capsys: pytest.CaptureFixture[str], folder: Path
) -> None:
    refused = call(capsys, "compare", "a.json", "--texts", "old")
    assert refused.code == 2
    assert "leave out the options of scoring" in refused.err
