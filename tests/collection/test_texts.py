"""The text of elements, from directories, archives and single files."""

from __future__ import annotations

import gzip
from collections.abc import Mapping
from pathlib import Path

import pytest

from foveal.collection import BuildOptions, Collection, SourceTexts, build_index
from inputs import refusal
from packing import tar_bytes, write_directory, write_zip

ARTICLES = {
    "co/r1.xml": "<article><fm><yr> 19<b>99</b> </yr><yr>1&#48;</yr></fm><p>1</p></article>",
    "co/r2.xml": "<article><fm><yr>1990</yr></fm></article>",
    "so/r1.xml": "<article><yr>2005</yr></article>",
    "note.txt": "2001",
}


def years(xpath: str) -> bool:
    return xpath.rpartition("/")[2].startswith("yr[")


def everything(xpath: str) -> bool:
    return True


def as_directory(folder: Path, files: Mapping[str, str]) -> Path:
    return write_directory(folder / "source", files)


def as_zip(folder: Path, files: Mapping[str, str]) -> Path:
    files = {f"ieee/xml/{name}": text for name, text in files.items()}
    return write_zip(folder / "source.zip", files)


def as_tar(folder: Path, files: Mapping[str, str]) -> Path:
    data = tar_bytes({f"./ieee/{name}": text for name, text in files.items()})
    (folder / "source.tar.gz").write_bytes(gzip.compress(data))
    return folder / "source.tar.gz"


@pytest.mark.parametrize("pack", [as_directory, as_zip, as_tar])
def test_texts_of_a_source(pack, tmp_path: Path) -> None:
    source = pack(tmp_path, ARTICLES)
    texts = SourceTexts(source)
    assert sorted(texts({"co/r1": years, "so/r1": years, "note": years})) == [
        ("co/r1", "/article[1]/fm[1]/yr[1]", " 1999 "),
        ("co/r1", "/article[1]/fm[1]/yr[2]", "10"),
        ("so/r1", "/article[1]/yr[1]", "2005"),
    ]
    build_index(source, tmp_path / "index", BuildOptions())
    index = Collection.open(tmp_path / "index")
    names = list(index)
    assert len(names) == 4
    found = list(texts(dict.fromkeys(names, everything)))
    assert {(doc, xpath) for doc, xpath, _ in found} == {
        (doc, element.xpath) for doc in names for element in index.all_elements(doc)
    }, "documents and elements are called as in the index"


def test_texts_of_lines_among_documents(tmp_path: Path) -> None:
    source = as_zip(tmp_path, ARTICLES | {"all.jsonl": '{"doc": "co/r9", "text": "1987"}'})
    build_index(source, tmp_path / "index")
    names = list(Collection.open(tmp_path / "index"))
    assert sorted(names) == ["co/r1", "co/r2", "co/r9", "note", "so/r1"]
    found = {doc: text for doc, _, text in SourceTexts(source)(dict.fromkeys(names, everything))}
    assert (found["co/r9"], found["note"], found["so/r1"]) == ("1987", "2001", "2005")


def test_documents_named_inside(tmp_path: Path) -> None:
    source = as_directory(
        tmp_path, {"x.xml": "<a><id>7</id><yr>3</yr></a>", "y.xml": "<a><id>8</id></a>"}
    )
    assert list(SourceTexts(source, name_tag="id")({"7": years, "8": years})) == [
        ("7", "/a[1]/yr[1]", "3")
    ]
    lines = as_directory(tmp_path / "l", {"all.jsonl": '{"doc": "q", "text": "12"}\n'})
    assert list(SourceTexts(lines)({"q": everything})) == [("q", "/text[1]", "12")]
    archive = as_zip(tmp_path, {"all.jsonl": '{"doc": "a/q", "text": "12"}\n'})
    assert list(SourceTexts(archive)({"a/q": everything})) == [("a/q", "/text[1]", "12")]


def test_documents_that_nobody_asks_for_are_not_parsed(tmp_path: Path) -> None:
    source = as_directory(tmp_path, ARTICLES | {"bad.xml": "<a>"})
    assert list(SourceTexts(source)({"co/r2": years})) == [
        ("co/r2", "/article[1]/fm[1]/yr[1]", "1990")
    ]
    assert "bad.xml:1: column 4: " in refusal(list, SourceTexts(source)({"bad": years}))


def test_documents_that_cannot_be_read(tmp_path: Path) -> None:
    source = as_directory(tmp_path, {"all.jsonl": '{"doc": "q", "text": "12"}\n'})
    (source / "latin.txt").write_bytes(b"caf\xe9")
    assert "latin.txt:1: column 4: byte 0xe9 is not UTF-8" in refusal(
        list, SourceTexts(source)({"latin": everything})
    )
    (source / "gone.xml").mkdir()
    assert "holds no document 'gone'" in refusal(list, SourceTexts(source)({"gone": everything}))


@pytest.mark.parametrize("pack", [as_directory, as_zip])
def test_a_document_that_is_not_there(pack, tmp_path: Path) -> None:
    source = pack(tmp_path, ARTICLES)
    message = refusal(list, SourceTexts(source)({"co/r9": years}))
    assert message == f"{source}: holds no document 'co/r9', which is judged"
    (tmp_path / "empty").mkdir()
    assert "holds no document" in refusal(list, SourceTexts(tmp_path / "empty")({"x": years}))
    assert "no such file" in refusal(list, SourceTexts(tmp_path / "nowhere")({"x": years}))
