"""Building: every kind of source, the same bytes however it is done, and what cannot be indexed."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
import os
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import pytest
import zstandard

from foveal.collection import (
    BuildOptions,
    Collection,
    DocumentSource,
    build_index,
    sources,
)
from foveal.errors import InputError, UsageError
from inputs import refusal
from packing import lengths, tar_bytes, write_directory, write_zip
from xml_trees import index_of

FILES = {
    "a/one.xml": "<a><p>one</p></a>",
    "a/two.nxml": "<a><p>two</p><p/></a>",
    "b/three.tei": "<TEI>three</TEI>",
    "b/four.txt": "four",
    "five.md": "# fünf",
}
NAMES = {"a/one": 3, "a/two": 3, "b/three": 5, "b/four": 4, "five": 6}
IGNORED = {"readme.pdf": "%PDF", ".hidden.xml": "<a>", "a/script.py": "x", "b/._one.xml": "\0"}

Compress = Callable[[bytes], bytes]
CODECS: dict[str, Compress] = {
    "tar": bytes,
    "tar.gz": gzip.compress,
    "tar.bz2": bz2.compress,
    "tar.xz": lzma.compress,
    "tar.zst": zstandard.ZstdCompressor().compress,
}


def built(source: Path, **options: object) -> dict[str, int]:
    """The names and lengths of the documents of an index."""
    output = source.parent / "index.fvx"
    build_index(source, output, BuildOptions(**options))
    return lengths(output)


# -- sources --------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["empty.xml", "empty.jsonl"])
def test_an_empty_file_is_refused(name: str, tmp_path: Path) -> None:
    (tmp_path / name).touch()
    with pytest.raises(InputError):
        build_index(tmp_path / name, tmp_path / "index")


def test_a_directory(tmp_path: Path) -> None:
    assert built(write_directory(tmp_path / "d", FILES | IGNORED)) == NAMES


@pytest.mark.parametrize("prefix", ["", "root/", "./", "root/deeper/"])
def test_a_zip_file_is_named_below_its_root(prefix: str, tmp_path: Path) -> None:
    files = {f"{prefix}{name}": content for name, content in (FILES | IGNORED).items()}
    assert built(write_zip(tmp_path / "x.zip", files)) == NAMES


@pytest.mark.parametrize("kind", CODECS)
@pytest.mark.parametrize("prefix", ["", "root/", "./root/"])
def test_a_tar_file_however_compressed(kind: str, prefix: str, tmp_path: Path) -> None:
    files = {f"{prefix}{name}": content for name, content in (FILES | IGNORED).items()}
    path = tmp_path / "no-extension"
    path.write_bytes(CODECS[kind](tar_bytes(files)))
    assert built(path) == NAMES


def test_folders_that_only_some_share_stay(tmp_path: Path) -> None:
    files = {"r/a/x.xml": "<a/>", "r/a/y.xml": "<a/>", "r/b/x.xml": "<a/>"}
    assert list(built(write_zip(tmp_path / "x.zip", files))) == ["a/x", "a/y", "b/x"]
    one = write_zip(tmp_path / "y.zip", {"r/a/x.xml": "<a/>"})
    assert list(built(one)) == ["x"]


@pytest.mark.parametrize(
    ("name", "content", "length"),
    [
        ("d.xml", "<a>é</a>", 1),
        ("d.txt", "\ufefftwo", 3),
        ("d.md", "# x", 3),
        ("d.x.xml", "<a/>", 0),
    ],
)
def test_a_single_file(name: str, content: str, length: int, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_text(content)
    assert built(path) == {name.rpartition(".")[0]: length}


LINES = '\ufeff{"doc": "x/1", "text": "one"}\n\n{"text": "zw\\u00f6lf", "doc": "x/2", "more": 1}\n'


@pytest.mark.parametrize("kind", CODECS)
def test_json_lines_however_compressed(kind: str, tmp_path: Path) -> None:
    path = tmp_path / f"docs.jsonl{kind.removeprefix('tar')}"
    path.write_bytes(CODECS[kind](LINES.encode()))
    assert built(path) == {"x/1": 3, "x/2": 5}


def test_json_lines_in_archives_keep_their_names(tmp_path: Path) -> None:
    expected = {"x/1": 3, "x/2": 5}
    assert built(write_directory(tmp_path / "d", {"r/all.jsonl": LINES})) == expected
    assert built(write_zip(tmp_path / "x.zip", {"r/all.jsonl": LINES})) == expected


MIXED = {"x/a.xml": "<a>1</a>", "x/all.jsonl": LINES, "x/y/b.txt": "22"}


@pytest.mark.parametrize("size", [1, 1000])
def test_json_lines_keep_their_names_and_leave_others_below_the_common_folder(
    size: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(sources, "_BATCH_FILES", size)
    expected = {"a": 1, "x/1": 3, "x/2": 5, "y/b": 2}
    assert built(write_zip(tmp_path / "x.zip", MIXED)) == expected
    source = write_zip(tmp_path / "y.zip", MIXED | {"all.jsonl": '{"doc":"top","text":""}'})
    assert set(built(source)) == {"x/a", "x/1", "x/2", "x/y/b", "top"}, "x does not hold all"


def test_a_document_that_fails_still_lies_in_its_folder(tmp_path: Path) -> None:
    source = write_zip(tmp_path / "x.zip", {"x/a.xml": "<a/>", "y/b.xml": "<a>"})
    assert list(built(source, max_errors=1)) == ["x/a"]


def test_a_name_from_within_may_be_that_of_another_document(tmp_path: Path) -> None:
    files = {"x/a.xml": "<a/>", "x/all.jsonl": '{"doc":"a","text":""}\n{"doc":"b","text":""}'}
    message = "is called 'a' like x/a.xml; expected one document of each name"
    assert refusal(built, write_zip(tmp_path / "x.zip", files)) == f"x/all.jsonl:1: {message}"
    assert [path.name for path in tmp_path.iterdir()] == ["x.zip"]


def test_a_byte_order_mark_within_json_is_text(tmp_path: Path) -> None:
    path = tmp_path / "d.jsonl"
    path.write_text(json.dumps({"doc": "d", "text": "\ufeffx"}))
    assert built(path) == {"d": 2}


def test_names_may_come_from_an_element(tmp_path: Path) -> None:
    files = {
        "p/1.xml": "<a><id> x/7 </id><id>8</id></a>",
        "p/2.xml": "<a><b><id>x/9</id></b></a>",
        "p/3.txt": "plain text has no elements",
    }
    assert list(built(write_zip(tmp_path / "x.zip", files), name_tag="id")) == ["x/7", "x/9", "3"]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda path: None, "no such file or directory"),
        (lambda path: path.mkdir(), "holds no document"),
        (
            lambda path: path.write_text("x"),
            "is not a collection; expected a directory, zip, tar, ",
        ),
        (
            lambda path: path.write_bytes(b""),
            "is not a collection; expected a directory, zip, tar, ",
        ),
        (lambda path: write_zip(path, {"x.pdf": "x"}), "holds no document"),
        (lambda path: path.write_bytes(tar_bytes({"x.pdf": "x"})), "holds no document"),
    ],
)
def test_what_is_no_collection(
    make: Callable[[Path], object], message: str, tmp_path: Path
) -> None:
    source = tmp_path / "source"
    make(source)
    assert refusal(built, source).startswith(f"{source}: {message}")
    assert {path.name for path in tmp_path.iterdir()} <= {"source"}


@pytest.mark.parametrize("kind", CODECS)
def test_a_truncated_archive_is_called_damaged(kind: str, tmp_path: Path) -> None:
    files = {f"{i}.xml": f"<a>{os.urandom(3000).hex()}</a>" for i in range(400)}
    data = CODECS[kind](tar_bytes(files))
    path = tmp_path / "x.tar"
    path.write_bytes(data[: len(data) // 2])
    assert refusal(built, path).startswith(f"{path}: damaged archive: ")
    assert [p.name for p in tmp_path.iterdir()] == ["x.tar"]


def test_a_zip_file_with_a_damaged_member(tmp_path: Path) -> None:
    path = write_zip(tmp_path / "x.zip", {"a.xml": "<a>some text that is long enough</a>"})
    data = bytearray(path.read_bytes())
    data[40] ^= 255
    path.write_bytes(bytes(data))
    assert refusal(built, path).startswith(f"{path}: damaged archive: ")


# -- documents that fail --------------------------------------------------------------------------

BAD_NAME = "the document's name is empty, holds a line break or is not UTF-8"
BROKEN = {
    "1.xml": "<a>\n<b></a>",
    "2.xml": "<a>good</a>",
    "3.txt": "good",
    "4.xml": "",
    "5.jsonl": '{"doc":"x","text":"good"}\n{"doc":7,"text":""}\nno\n{"doc":"","text":""}\n',
}
FAILURES = (
    ("1.xml:2", "column 6: mismatched tag"),
    ("4.xml:1", "column 1: the document breaks off here, before its root element is closed"),
    ("5.jsonl:2", 'not a document; expected {"doc": NAME, "text": TEXT} in UTF-8'),
    ("5.jsonl:3", 'not a document; expected {"doc": NAME, "text": TEXT} in UTF-8'),
    ("5.jsonl:4", BAD_NAME),
)


def test_failures_are_errors(tmp_path: Path) -> None:
    source = write_directory(tmp_path / "d", BROKEN)
    expected = "\n".join(f"{place}: {message}" for place, message in FAILURES)
    for allowed in (0, 4):
        with pytest.raises(InputError) as error:
            built(source, max_errors=allowed)
        assert str(error.value) == expected
    assert [path.name for path in tmp_path.iterdir()] == ["d"]


def test_failures_may_be_allowed_and_are_listed(tmp_path: Path) -> None:
    source = write_directory(tmp_path / "d", BROKEN)
    header = build_index(source, tmp_path / "x", BuildOptions(max_errors=5)).header
    counts = (header[name] for name in ("documents", "elements", "paths", "characters"))
    assert (*counts, len(header["tags"])) == (3, 3, 2, 12, 2)
    assert lengths(tmp_path / "x") == {"2": 4, "3": 4, "x": 4}
    assert header["failures"] == [list(failure) for failure in FAILURES]


def test_a_file_that_is_not_utf8(tmp_path: Path) -> None:
    (tmp_path / "d.txt").write_bytes("é\nü caf".encode() + b"\xe9")
    assert refusal(built, tmp_path / "d.txt") == "d.txt:2: column 6: byte 0xe9 is not UTF-8"
    (tmp_path / "d.jsonl").write_bytes(b'{"doc":"x","text":"1"}\n{"doc":"y","text":"\xe9"}\n')
    message = 'd.jsonl:2: not a document; expected {"doc": NAME, "text": TEXT} in UTF-8'
    assert refusal(built, tmp_path / "d.jsonl") == message


def test_two_documents_of_one_name_are_both_told_with_all_other_failures(tmp_path: Path) -> None:
    files = {"a.txt": "x", "a.xml": "<b><c/></b>", "b.xml": "<a/>", "c.xml": "<a>", "a.md": "d"}
    source = write_directory(tmp_path / "d", files)
    twice = "is called 'a' like {}; expected one document of each name"
    expected = [
        "c.xml:1: column 4: the document breaks off here, before its root element is closed",
        f"a.txt: {twice.format('a.md')}",
        f"a.xml: {twice.format('a.md')}",
    ]
    assert refusal(built, source).splitlines() == expected
    assert refusal(lambda: built(source, max_errors=9)).splitlines() == expected
    lines = tmp_path / "d.jsonl"
    lines.write_text('{"doc":"x","text":"1"}\n{"doc":"x","text":"2"}\n')
    message = "d.jsonl:2: is called 'x' like d.jsonl:1; expected one document of each name"
    assert refusal(built, lines) == message
    assert sorted(path.name for path in tmp_path.iterdir()) == ["d", "d.jsonl"]


def test_failures_of_all_batches_are_seen_in_one_go(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(sources, "_BATCH_FILES", 2)
    files = {f"{i:02}.xml": "<a>" if i % 5 == 0 else "<a/>" for i in range(20)} | {"07.txt": ""}
    source = write_directory(tmp_path / "d", files)
    found = refusal(built, source).splitlines()
    assert [line.partition(":")[0] for line in found] == [
        "00.xml", "05.xml", "10.xml", "15.xml", "07.xml",
    ]  # fmt: skip
    assert found[4] == "07.xml: is called '07' like 07.txt; expected one document of each name"


def test_a_build_does_not_look_for_failures_forever(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(sources, "_BATCH_FILES", 10)
    source = write_directory(tmp_path / "d", {f"{i:03}.xml": "<a>" for i in range(300)})
    with pytest.raises(InputError) as error:
        built(source, max_errors=5)
    assert len(error.value.problems) == 110


# -- what is taken, and what is passed over -------------------------------------------------------


def test_files_of_other_extensions_or_none_are_passed_over(tmp_path: Path) -> None:
    files = {"a.xml": "<a/>", "r1": "<a/>", "10.1016": "<a/>", ".b.xml": "<a/>", "c.PDF": ""}
    header = build_index(write_directory(tmp_path / "d", files), tmp_path / "x").header
    assert lengths(tmp_path / "x") == {"a": 0}
    assert header["passed_over"] == [[".pdf", 1], ["hidden files", 1], ["without extension", 2]]


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-be"])
def test_a_bare_file_in_another_encoding(encoding: str, tmp_path: Path) -> None:
    declared = encoding.upper().removesuffix("-BE")
    source = tmp_path / "v1.2"
    source.write_bytes(f"<?xml version='1.0' encoding='{declared}'?><a>é</a>".encode(encoding))
    assert built(source) == {"v1.2": 1}


def test_links_to_files_are_followed_and_links_to_directories_are_passed_over(
    tmp_path: Path,
) -> None:
    source = write_directory(tmp_path / "d", {"a/1.xml": "<a/>", "b/c/2.xml": "<a/>"})
    other = write_directory(tmp_path / "other", {"3.xml": "<a/>", "deep/4.xml": "<a/>"})
    (source / "5.xml").symlink_to(other / "3.xml")
    (source / "nowhere.xml").symlink_to(tmp_path / "no")
    for name, target in {"more": other, "self": source, "a/above": tmp_path}.items():
        (source / name).symlink_to(target)
    assert list(built(source)) == ["5", "a/1", "b/c/2"]
    assert DocumentSource(source).passed_over == {"links to directories": 3, "no files": 1}


def test_a_name_with_a_line_break(tmp_path: Path) -> None:
    source = write_directory(tmp_path / "d", {"a\nb.xml": "<a/>"})
    assert refusal(built, source) == f"a\\nb.xml: {BAD_NAME}"


def test_other_odd_names_are_kept(tmp_path: Path) -> None:
    names = ["a\rb", "c\x85d", "e\u2028f", " g ", "ü", "x.y"]
    files = {f"{name}.xml": "<a/>" for name in names}
    assert set(built(write_directory(tmp_path / "d", files))) == set(names)
    assert set(
        built(write_zip(tmp_path / "x.zip", {f"r/{n}": c for n, c in files.items()}))
    ) == set(names)


def test_a_file_name_that_is_no_text(tmp_path: Path) -> None:
    source = tmp_path / "d"
    source.mkdir()
    try:
        Path(os.fsdecode(os.fsencode(source) + b"/caf\xe9.xml")).write_text("<a/>")
    except OSError:
        pytest.skip("the file system takes only UTF-8 names")
    message = f"caf\N{REPLACEMENT CHARACTER}.xml: {BAD_NAME}"
    assert refusal(built, source) == message


def test_a_collection_of_failures_only(tmp_path: Path) -> None:
    source = write_directory(tmp_path / "d", {"a.xml": "<a>"})
    index = build_index(source, tmp_path / "x", BuildOptions(max_errors=1))
    assert (len(index), index.elements) == (0, 0)


def test_wrong_options() -> None:
    message = "white space 'squash' is not one of keep, merge, strip"
    assert refusal(lambda: BuildOptions(whitespace="squash"), error=UsageError) == message


# -- the output -----------------------------------------------------------------------------------


def test_an_output_that_cannot_be(tmp_path: Path) -> None:
    source = write_directory(tmp_path / "d", FILES)
    message = f"{tmp_path}: is a directory; expected a file name"
    assert refusal(build_index, source, tmp_path) == message
    lost = tmp_path / "no" / "index"
    assert refusal(build_index, source, lost) == f"{lost}: its directory does not exist"


def test_an_output_that_is_no_index_is_not_overwritten(tmp_path: Path) -> None:
    zipped = write_zip(tmp_path / "x.zip", FILES)
    folder = write_directory(tmp_path / "d", FILES)
    (tmp_path / "link").symlink_to(zipped)
    before = zipped.read_bytes()
    for source in (zipped, folder):
        for output in (zipped, tmp_path / "link", folder / "a/one.xml", folder / "five.md"):
            message = f"{output}: exists and is not an index; expected another place for the index"
            assert refusal(build_index, source, output) == message
    assert zipped.read_bytes() == before


@pytest.mark.parametrize("name", ["d/index.fvx", "d/a/index", "one.xml"])
def test_an_output_that_is_no_document_may_lie_anywhere(name: str, tmp_path: Path) -> None:
    source = write_directory(tmp_path / "d", FILES)
    for _ in range(2):  # an index of before is no document either
        build_index(source, tmp_path / name)
        assert lengths(tmp_path / name) == NAMES


def test_an_output_that_is_not_allowed(tmp_path: Path) -> None:
    if os.geteuid() == 0:
        pytest.skip("root may write anywhere")
    source = write_directory(tmp_path / "d", FILES)
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o500)
    assert "cannot be read or written" in refusal(build_index, source, closed / "index")


def test_an_existing_index_is_replaced_only_by_a_whole_one(tmp_path: Path) -> None:
    index_of(tmp_path, {"a.xml": "<a>1</a>"})
    before = (tmp_path / "index").read_bytes()
    (tmp_path / "source" / "b.xml").write_text("<a>")
    refusal(build_index, tmp_path / "source", tmp_path / "index")
    assert (tmp_path / "index").read_bytes() == before
    (tmp_path / "source" / "b.xml").write_text("<a/>")
    build_index(tmp_path / "source", tmp_path / "index")
    assert len(Collection.open(tmp_path / "index")) == 2


def test_the_header_says_what_was_indexed(tmp_path: Path) -> None:
    collection = index_of(tmp_path, {"d.xml": "<a>x<b>y</b></a>"}, whitespace="merge")
    assert collection.whitespace == "merge"
    assert collection.header["source"] == "source"
    assert collection.header["tags"] == ["a", "b"]
    assert (collection.header["documents"], collection.header["elements"]) == (1, 2)
    assert repr(collection).endswith("index': 1 documents, 2 elements>")


# -- the same bytes -------------------------------------------------------------------------------


@pytest.fixture
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "_BATCH_FILES", 7)


def many(count: int) -> dict[str, str]:
    tags = [f"t{i % 13}" for i in range(count)]
    return {
        f"{i % 10}/{i}.xml": f"<a><{t}>{i}</{t}><s>{'<p>x</p>' * (i % 7)}</s></a>"
        for i, t in enumerate(tags)
    }


def test_one_two_and_three_processes_write_the_same_bytes(
    small_batches: None, tmp_path: Path
) -> None:
    source = write_directory(tmp_path / "d", many(100))
    build_index(source, tmp_path / "one")
    with ThreadPoolExecutor(3) as threads:
        build_index(source, tmp_path / "threads", executor=threads)
    with ProcessPoolExecutor(2, get_context("spawn")) as processes:
        build_index(source, tmp_path / "two", executor=processes)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "threads").read_bytes()
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


def test_the_way_documents_come_makes_no_difference_to_what_is_found(
    small_batches: None, tmp_path: Path
) -> None:
    files = many(60)
    build_index(write_directory(tmp_path / "d", files), tmp_path / "one")
    build_index(write_zip(tmp_path / "x.zip", files), tmp_path / "two")
    one, two = Collection.open(tmp_path / "one"), Collection.open(tmp_path / "two")
    assert list(one) == list(two)
    assert all(one.all_elements(doc) == two.all_elements(doc) for doc in one)


def test_progress_tells_documents_bytes_and_share(small_batches: None, tmp_path: Path) -> None:
    files = many(20)
    size = sum(len(content) for content in files.values())
    directory = write_directory(tmp_path / "d", files)
    zipped = write_zip(tmp_path / "x.zip", files)
    (tmp_path / "x.tar.gz").write_bytes(gzip.compress(tar_bytes(files)))
    for source in (directory, zipped, tmp_path / "x.tar.gz"):
        seen: list[tuple[int, int, float]] = []
        record = seen.append
        build_index(
            DocumentSource(source), tmp_path / "o", progress=lambda *step, r=record: r(step)
        )
        assert [documents for documents, _, _ in seen] == [7, 7, 6]
        assert sum(step[1] for step in seen) == size
        shares = [step[2] for step in seen]
        assert shares == sorted(shares)
        assert shares[-1] == pytest.approx(1, abs=0.01) or source.name == "x.tar.gz"
        assert 0 < shares[0] <= 1
