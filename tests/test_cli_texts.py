"""Judgements and runs that need the texts of their documents: quotes, names, offsets in bytes."""

from __future__ import annotations

import json
import re
import zipfile
import zlib
from base64 import b64decode
from pathlib import Path
from typing import Any

import pytest

from command import Outcome, call

FAULTS = (
    "The breaker trips at 16 A. It\u2019s a \u201cslow\u201d fuse \u2013 replace it\n"
    "with care. The breaker hums.\n"
)
INSTALL = "Install the caf\u00e9 app \U0001d11e now. The fuse is co\u00adoled. The breaker hums."
RUN = [
    {"topic": "1", "doc": "faults.md", "start": 0, "end": 40},
    {"topic": "2", "doc": "install", "start": 0, "end": 10},
]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "faults.md").write_text(FAULTS, encoding="utf-8")
    (tmp_path / "docs" / "install.txt").write_text(INSTALL, encoding="utf-8")
    write("run.jsonl", *RUN)
    return tmp_path


def write(name: str, *records: dict[str, Any], **header: str) -> None:
    lines = [{"type": "header", **header}, *records] if header else records
    Path(name).write_text("".join(json.dumps(line) + "\n" for line in lines))


def converted(capsys: pytest.CaptureFixture[str], name: str, *args: str) -> list[dict[str, Any]]:
    """The lines of a file that is converted to JSON Lines, without the header."""
    outcome = call(capsys, "convert", name, "-", "--to", "jsonl", *(args or ("--texts", "docs")))
    assert outcome.code == 0, outcome.err
    header, *records = map(json.loads, outcome.out.splitlines())
    assert (header["unit"], header["end"]) == ("codepoint", "exclusive")
    return records


def spans(record: dict[str, Any]) -> list[tuple[int, int]]:
    return [(span["start"], span["end"]) for span in record["spans"]]


def scored(capsys: pytest.CaptureFixture[str], *args: str) -> Outcome:
    return call(capsys, "evaluate", "run.jsonl", "-m", "charR", "-m", "charP", "-q", *args)


def shown_documents() -> str:
    """Return the documents that report.html shows, as JSON."""
    page = Path("report.html").read_text()
    _, packed, _ = re.findall(r"<script[^>]*>(.*?)</script>", page, re.DOTALL)
    return zlib.decompress(b64decode(packed)).decode()


# -- quotes without offsets --------------------------------------------------------------------


def at(text: str, quote: str) -> tuple[int, int]:
    assert text.count(quote) == 1
    return text.index(quote), text.index(quote) + len(quote)


def test_quotes_score_as_their_offsets_do(capsys: pytest.CaptureFixture[str]) -> None:
    trips, care = "The breaker trips at 16 A.", "replace it\nwith care."
    offsets = [{"start": start, "end": end} for start, end in (at(FAULTS, trips), at(FAULTS, care))]
    app = dict(zip(("start", "end"), at(INSTALL, "Install the"), strict=True))
    write(
        "offsets.jsonl",
        {"topic": "1", "doc": "faults.md", "spans": offsets},
        {"topic": "2", "doc": "install", "spans": [app]},
    )
    expected = scored(capsys, "-j", "offsets.jsonl")
    assert expected.code == 0
    write(
        "lines.jsonl",
        {"topic": "1", "doc": "faults.md", "quote": trips},
        {"topic": "2", "doc": "install", "quote": "Install the"},
        {"topic": "1", "doc": "faults.md", "quote": care},
    )
    write(
        "spans.jsonl",
        {"topic": "1", "doc": "faults.md", "spans": [{"quote": trips}, offsets[1]]},
        {"topic": "2", "spans": [{"quote": "Install the"}]},
    )
    for name in ("lines.jsonl", "spans.jsonl"):
        found = scored(capsys, "-j", name, "--texts", "docs")
        assert (found.code, found.out) == (0, expected.out), found.err


@pytest.mark.parametrize(
    ("context", "start"),
    [
        ({"prefix": "care. "}, FAULTS.rindex("The breaker")),
        ({"suffix": "trips at"}, 0),
        ({"prefix": "with\ncare.", "suffix": " hums"}, FAULTS.rindex("The breaker")),
    ],
)
def test_context_chooses_among_several_places(
    context: dict[str, str], start: int, capsys: pytest.CaptureFixture[str]
) -> None:
    write(
        "j.jsonl", {"topic": "1", "doc": "faults", "spans": [{"quote": "The breaker", **context}]}
    )
    (record,) = converted(capsys, "j.jsonl")
    assert spans(record) == [(start, start + len("The breaker"))]


def refusal(capsys: pytest.CaptureFixture[str], record: dict[str, Any], *args: str) -> str:
    """The only line that evaluate, verify and convert print about a bad line 2."""
    write("bad.jsonl", record, format="foveal-judgements")
    said = set()
    for command in (
        ("evaluate", "run.jsonl", "-m", "charR", "-j", "bad.jsonl"),
        ("verify", "-j", "bad.jsonl"),
        ("convert", "bad.jsonl", "out", "--to", "jsonl"),
    ):
        outcome = call(capsys, *command, *args)
        assert (outcome.code, outcome.out) == (2, ""), command
        said.add(outcome.err)
    (line,) = said
    assert line.startswith("bad.jsonl:2: ")
    assert line.count("\n") == 1
    assert not Path("out").exists()
    return line


def test_a_quote_that_is_not_there_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    quote = "The breaker trips at 15 A. It's"
    said = refusal(capsys, {"topic": "1", "doc": "faults", "quote": quote}, "--texts", "docs")
    assert "is not in document 'faults'" in said
    said = refusal(capsys, {"topic": "1", "quote": "nothing of the kind"}, "--texts", "docs")
    assert "no document holds 'nothing of the kind'" in said


def test_quotes_of_several_places_or_documents_are_refused(
    capsys: pytest.CaptureFixture[str],
) -> None:
    said = refusal(
        capsys, {"topic": "1", "doc": "faults", "quote": "The breaker"}, "--texts", "docs"
    )
    assert f"at 0, {FAULTS.rindex('The breaker')};" in said
    assert "prefix" in said
    said = refusal(capsys, {"topic": "1", "quote": "The breaker hums."}, "--texts", "docs")
    assert "faults, install" in said
    apart = [{"quote": "16 A"}, {"quote": "Install"}]
    said = refusal(capsys, {"topic": "1", "spans": apart}, "--texts", "docs")
    assert "no document holds '16 A', 'Install'" in said


def test_an_index_with_its_documents_serves_as_well(capsys: pytest.CaptureFixture[str]) -> None:
    assert call(capsys, "index", "docs", "-o", "docs.fvx").code == 0
    write("j.jsonl", {"topic": "1", "doc": "faults.md", "quote": "16 A"})
    (record,) = converted(capsys, "j.jsonl", "-C", "docs.fvx", "--documents", "docs")
    assert spans(record) == [at(FAULTS, "16 A")]
    found = scored(capsys, "-j", "j.jsonl", "-C", "docs.fvx", "--documents", "docs")
    assert found.out == scored(capsys, "-j", "j.jsonl", "--texts", "docs").out
    verified = call(capsys, "verify", "-j", "j.jsonl", "-C", "docs.fvx", "--documents", "docs")
    assert verified.code == 0


@pytest.mark.parametrize(
    "command",
    [
        ("compare", "run.jsonl", "other.jsonl", "-m", "charR"),
        ("budget", "run.jsonl", "other.jsonl"),
        ("correlate", "run.jsonl", "other.jsonl", "-m", "charR", "-m", "charP"),
        ("plot", "iP", "run.jsonl", "-o", "iP.svg"),
        ("plot", "lengths", "run.jsonl", "-o", "lengths.svg"),
        ("report", "run.jsonl", "-m", "charR", "-o", "report.html"),
    ],
)
def test_other_commands_take_quotes_too(
    command: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    Path("runs").mkdir()
    for name in ("other.jsonl", "runs/other.jsonl"):
        write(name, {"topic": "1", "doc": "faults.md", "text": "16 A"}, RUN[1])
    write("runs/run.jsonl", *RUN)
    Path("orderings").write_text("other >= run\n")
    quotes = {"1": "16 A", "2": "Install the"}
    docs = {"1": "faults.md", "2": "install"}
    write("j.jsonl", *({"topic": t, "doc": docs[t], "quote": q} for t, q in quotes.items()))
    without = call(capsys, *command, "-j", "j.jsonl")
    assert without.code == 2
    assert "--texts" in without.err
    found = call(capsys, *command, "-j", "j.jsonl", "--texts", "docs")
    assert found.code == 0, found.err


def test_lines_of_one_document_agree_about_it(capsys: pytest.CaptureFixture[str]) -> None:
    first = {"topic": "1", "doc": "faults", "quote": "16 A", "bep": 3}
    write("j.jsonl", first, first | {"quote": "care", "bep": 4})
    outcome = call(capsys, "convert", "j.jsonl", "out", "--to", "jsonl", "--texts", "docs")
    assert outcome.code == 2
    assert outcome.err.startswith("j.jsonl:2: bep 4 of ")
    write("j.jsonl", first, first | {"quote": "care", "assessor": "ann"})
    assert len(converted(capsys, "j.jsonl")) == 2


# -- names with extensions ---------------------------------------------------------------------


@pytest.mark.parametrize("doc", ["faults", "faults.md"])
def test_documents_have_two_names(doc: str, capsys: pytest.CaptureFixture[str]) -> None:
    with zipfile.ZipFile("docs.zip", "w") as archive:
        archive.write("docs/faults.md", "manual/faults.md")
        archive.write("docs/install.txt", "manual/install.txt")
    start, end = at(FAULTS, "16 A")
    span = {"start": start, "end": end, "quote": "16 A"}
    write("j.jsonl", {"topic": "1", "doc": doc, "spans": [span]})
    for texts in ("docs", "docs.zip"):
        found = call(capsys, "verify", "-j", "j.jsonl", "--texts", texts, "-f", "json")
        assert found.code == 0
        assert [own["doc"] for own in json.loads(found.out)["spans"]] == [doc]
    write("run.jsonl", {"topic": "1", "doc": doc, "text": "at 16 A."})
    assert scored(capsys, "-j", "j.jsonl", "--texts", "docs").out.split()[7] == "1.0"


def test_the_extension_tells_two_files_apart(capsys: pytest.CaptureFixture[str]) -> None:
    Path("docs/faults.txt").write_text("At 16 A it trips.")
    write("j.jsonl", {"topic": "1", "doc": "faults.txt", "quote": "16 A"})
    assert spans(converted(capsys, "j.jsonl")[0]) == [(3, 7)]
    write("j.jsonl", {"topic": "1", "quote": "it trips"})
    assert converted(capsys, "j.jsonl")[0]["doc"] == "faults.txt"
    write("j.jsonl", {"topic": "1", "doc": "faults", "quote": "16 A"})
    outcome = call(capsys, "convert", "j.jsonl", "-", "--to", "jsonl", "--texts", "docs")
    assert outcome.code == 2
    assert outcome.err.startswith("faults.txt: ")
    assert "faults.md" in outcome.err


def test_a_name_that_two_files_may_mean_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    Path("docs/faults.md.txt").write_text("At 16 A it trips.")
    write("j.jsonl", {"topic": "1", "doc": "faults.md", "quote": "16 A"})
    outcome = call(capsys, "convert", "j.jsonl", "-", "--to", "jsonl", "--texts", "docs")
    assert outcome.err.startswith("faults.md.txt: a second, other text of document 'faults.md'")
    write("j.jsonl", {"topic": "1", "doc": "faults", "quote": "16 A"})
    assert spans(converted(capsys, "j.jsonl")[0]) == [at(FAULTS, "16 A")]


@pytest.mark.parametrize("doc", ["page", "page.html"])
def test_a_file_of_another_kind_is_not_read(doc: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("docs/page.html").write_text("<p>16 A</p>")
    write("j.jsonl", {"topic": "1", "doc": doc, "spans": [{"start": 3, "end": 7, "quote": "16 A"}]})
    outcome = call(capsys, "verify", "-j", "j.jsonl", "--texts", "docs")
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err.startswith("j.jsonl: ")
    shown = call(
        capsys, "report", "run.jsonl", "-j", "j.jsonl", "--texts", "docs",
        *("-m", "charR", "-o", "report.html"),
    )  # fmt: skip
    assert shown.code == 0
    assert "breaker hums" in shown_documents()


@pytest.mark.parametrize(
    "doc",
    ["", ".", "..", "../run.jsonl", "./faults.md", "docs/faults.md", "nowhere", "\0", "x" * 5000],
)
def test_other_names_are_not_among_the_texts(doc: str, capsys: pytest.CaptureFixture[str]) -> None:
    write("j.jsonl", {"topic": "1", "doc": doc, "quote": "1 kV"})
    outcome = call(capsys, "convert", "j.jsonl", "-", "--to", "jsonl", "--texts", "docs")
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err.startswith("j.jsonl:1: ")


def test_an_index_knows_names_with_extensions(capsys: pytest.CaptureFixture[str]) -> None:
    Path("xml").mkdir()
    Path("xml/a.xml").write_text("<a><p>one</p><p>two</p></a>")
    assert call(capsys, "index", "xml", "-o", "xml.fvx").code == 0
    write("run.jsonl", {"topic": "1", "doc": "a.xml", "xpath": "/a[1]/p[2]"})
    write("j.jsonl", {"topic": "1", "doc": "a.xml", "spans": [{"start": 3, "end": 6}]})
    found = scored(capsys, "-j", "j.jsonl", "-C", "xml.fvx")
    assert [line.split("\t")[3] for line in found.out.splitlines()[1:]] == ["1.0"] * 4
    page = call(
        capsys, "report", "run.jsonl", "-j", "j.jsonl", "-m", "charR",
        *("-C", "xml.fvx", "--documents", "xml", "-o", "report.html"),
    )  # fmt: skip
    assert page.code == 0, page.err
    assert "onetwo" in shown_documents()


@pytest.mark.parametrize("doc", ["faults", "faults.md"])
def test_the_report_shows_texts(doc: str, capsys: pytest.CaptureFixture[str]) -> None:
    write("j.jsonl", {"topic": "1", "doc": doc, "spans": [{"start": 0, "end": 26}]})
    command = ("report", "run.jsonl", "-j", "j.jsonl", "-m", "charR", "-o", "report.html")
    assert call(capsys, *command).code == 0
    assert "breaker hums" not in shown_documents()
    assert call(capsys, *command, "--texts", "docs").code == 0
    assert "breaker hums" in shown_documents()


def test_the_report_refuses_texts_that_were_not_judged(capsys: pytest.CaptureFixture[str]) -> None:
    command = ("report", "run.jsonl", "-j", "j.jsonl", "-m", "charR", "-o", "report.html")
    write("j.jsonl", {"topic": "1", "doc": "faults.md", "spans": [{"start": 0, "end": 2600}]})
    outcome = call(capsys, *command, "--texts", "docs")
    assert outcome.code == 2
    assert outcome.err.startswith("docs: document 'faults.md'")
    write("j.jsonl", {"topic": "1", "doc": "other", "spans": [{"start": 0, "end": 26}]})
    write("run.jsonl", {"topic": "1", "doc": "other", "start": 0, "end": 40})
    outcome = call(capsys, *command, "--texts", "docs")
    assert (outcome.code, outcome.err.count("'other'")) == (2, 1)


# -- offsets in bytes and UTF-16 units ---------------------------------------------------------


def in_unit(offset: int, unit: str) -> int:
    encoding, size = {"byte": ("utf-8", 1), "utf16": ("utf-16-le", 2)}[unit]
    return len(INSTALL[:offset].encode(encoding)) // size


@pytest.mark.parametrize("unit", ["byte", "utf16"])
@pytest.mark.parametrize("kind", ["exclusive", "inclusive"])
def test_commands_convert_other_units(
    unit: str, kind: str, capsys: pytest.CaptureFixture[str]
) -> None:
    start, end = at(INSTALL, "app \U0001d11e now")
    given = {"start": in_unit(start, unit), "end": in_unit(end, unit) - (kind == "inclusive")}
    assert given["start"] != start or unit == "utf16"
    line = {"topic": "2", "doc": "install", "length": in_unit(len(INSTALL), unit)}
    entry = {"bep": given["start"]}
    quoted = line | {"topic": "3", "spans": [{"quote": "app \U0001d11e now"}]}
    write(
        "j.jsonl", line | entry | {"spans": [given]}, quoted,
        format="foveal-judgements", unit=unit, end=kind,
    )  # fmt: skip
    write("run.jsonl", {"topic": "2", "doc": "install", **given}, unit=unit, end=kind)
    first, second = converted(capsys, "j.jsonl")
    assert (first["length"], first["bep"], spans(first)) == (len(INSTALL), start, [(start, end)])
    assert spans(second) == [(start, end)]
    (result,) = converted(capsys, "run.jsonl")
    assert (result["start"], result["end"]) == (start, end)
    options = [("--texts", "docs"), ("-C", "docs.fvx", "--documents", "docs")]
    assert call(capsys, "index", "docs", "-o", "docs.fvx").code == 0
    for own in options:
        assert [converted(capsys, name, *own) for name in ("j.jsonl", "run.jsonl")] == [
            [first, second],
            [result],
        ]
        found = scored(capsys, "-j", "j.jsonl", *own)
        assert found.out.splitlines()[1:3] == ["run\t2\tcharR\t1.0", "run\t2\tcharP\t1.0"]
        assert call(capsys, "verify", "-j", "j.jsonl", *own).code == 0


def test_other_units_without_texts_name_the_option(capsys: pytest.CaptureFixture[str]) -> None:
    record = {"topic": "2", "doc": "install", "spans": [{"start": 1, "end": 2}]}
    write("j.jsonl", record, format="foveal-judgements", unit="byte")
    for command in (
        ("evaluate", "run.jsonl", "-m", "charR", "-j", "j.jsonl"),
        ("convert", "j.jsonl", "out", "--to", "jsonl"),
    ):
        outcome = call(capsys, *command)
        assert (outcome.code, outcome.out) == (2, "")
        assert outcome.err.startswith("j.jsonl:2: ")
        assert "--texts" in outcome.err


def test_texts_count_white_space_as_the_judgements_declare(
    capsys: pytest.CaptureFixture[str],
) -> None:
    Path("docs/wide.txt").write_text("one   two   three")
    line = {"topic": "1", "doc": "wide", "quote": "three"}
    write("j.jsonl", line, format="foveal-judgements", whitespace="merge")
    assert spans(converted(capsys, "j.jsonl")[0]) == [(8, 13)]
