"""Documents too large for the limit or the memory: failures of their own, and others go on."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard

from foveal.collection import (
    BuildOptions,
    Limits,
    SourceTexts,
    build_index,
    sources,
)
from inputs import refusal
from packing import lengths, tar_bytes, write_directory, write_zip

SMALL = BuildOptions(max_errors=9, limits=Limits(size=1000))
TOO_LONG = "the document has more than 1000 bytes"
BOMB = "<a>" + "x" * 993 + "</a>"
FILES = {
    "a.xml": "<a>1</a>",
    "b.xml": BOMB + " ",
    "c.txt": "x" * 1001,
    "d.xml": BOMB,
}


def packed(kind: str, folder: Path) -> Path:
    source = folder / "source"
    if kind == "directory":
        return write_directory(source, FILES)
    if kind == "zip":
        return write_zip(source, FILES)
    source.write_bytes(gzip.compress(tar_bytes(FILES)))
    return source


@pytest.mark.parametrize("kind", ["directory", "zip", "tar"])
def test_a_document_of_too_many_bytes_is_a_failure_of_its_own(kind: str, tmp_path: Path) -> None:
    index = build_index(packed(kind, tmp_path), tmp_path / "x", SMALL)
    assert index.header["failures"] == [[name, TOO_LONG] for name in ("b.xml", "c.txt")]
    assert lengths(tmp_path / "x") == {"a": 1, "d": 993}


@pytest.mark.parametrize(
    "compress",
    [gzip.compress, bz2.compress, lzma.compress, zstandard.ZstdCompressor().compress],
)
def test_a_single_file_that_expands_to_too_much(
    compress: Callable[[bytes], bytes], tmp_path: Path
) -> None:
    source = tmp_path / "b.xml.z"
    source.write_bytes(compress(b"<a>" + b" " * 10_000_000))
    assert refusal(build_index, source, tmp_path / "x", BuildOptions(limits=SMALL.limits)) == (
        f"b.xml: {TOO_LONG}"
    )
    assert [path.name for path in tmp_path.iterdir()] == ["b.xml.z"]


def test_lines_that_are_too_long_are_passed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(sources, "_BLOCK", 64)
    source = tmp_path / "d.jsonl"
    sizes = [1, 10_000, 3, 1000 - len('{"doc": "3", "text": ""}\n'), 2000]
    rows = [json.dumps({"doc": str(i), "text": "x" * n}) for i, n in enumerate(sizes)]
    source.write_text("\n".join([rows[0], "", *rows[1:]]))
    index = build_index(source, tmp_path / "x", SMALL)
    assert index.header["failures"] == [["d.jsonl:3", TOO_LONG], ["d.jsonl:6", TOO_LONG]]
    assert lengths(tmp_path / "x") == {"0": 1, "2": 3, "3": sizes[3]}


def test_texts_of_too_many_bytes_are_told(tmp_path: Path) -> None:
    texts = SourceTexts(packed("zip", tmp_path), limits=SMALL.limits)
    assert refusal(lambda: list(texts({"b": lambda xpath: True}))).startswith(f"b.xml: {TOO_LONG}")


def test_a_tar_file_that_grows_is_read_in_little_memory(tmp_path: Path) -> None:
    source = tmp_path / "x.tar.zst"
    data = tar_bytes({"a.xml": "<a/>", "b.xml": "<a>" + " " * (400 << 20) + "</a>"})
    source.write_bytes(zstandard.ZstdCompressor().compress(data))
    del data
    tracemalloc.start()
    try:
        index = build_index(source, tmp_path / "x", SMALL)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert (len(index), index.header["failures"]) == (1, [["b.xml", TOO_LONG]])
    assert peak < 300e6
