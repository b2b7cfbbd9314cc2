"""The index file: what is written is read, and what is not whole is refused."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from foveal.collection import Collection, build_index, open_sources
from foveal.collection.storage import (
    MAGIC,
    VERSION,
    is_index,
    open_sections,
    write_sections,
)
from foveal.errors import InputError
from inputs import refusal
from xml_trees import index_of

DTYPES = ("<u4", "<i4", "<u8", "|u1")


@pytest.fixture
def index(tmp_path: Path) -> Path:
    index_of(tmp_path, {"d.xml": "<a>x<b>y</b></a>", "e.xml": "<a/>"})
    return tmp_path / "index"


def changed(index: Path, at: int, byte: int) -> Path:
    data = bytearray(index.read_bytes())
    data[at] ^= byte
    index.write_bytes(bytes(data))
    return index


def header_length(index: Path) -> int:
    length: int = struct.unpack_from("<I", index.read_bytes(), 12)[0]
    return length


@given(
    st.dictionaries(
        st.text(min_size=1, max_size=5),
        st.tuples(st.sampled_from(DTYPES), st.lists(st.integers(0, 100), max_size=100)),
    ),
    st.dictionaries(
        st.text().filter(lambda key: key not in ("sections", "hashes")), st.text(), max_size=3
    ),
)
def test_round_trip(
    tmp_path_factory: pytest.TempPathFactory,
    content: dict[str, tuple[str, list[int]]],
    header: dict[str, str],
) -> None:
    path = tmp_path_factory.mktemp("index") / "x"
    arrays = {name: np.array(values, dtype=dtype) for name, (dtype, values) in content.items()}
    write_sections(path, header, arrays)
    found, sections = open_sections(path)
    assert {key: found[key] for key in header} == header
    assert list(sections.layout) == list(arrays)
    for name, array in arrays.items():
        assert sections[name].dtype == array.dtype
        assert sections[name].tolist() == array.tolist()
        assert not sections[name].flags.writeable
    sections.verify()


def test_a_missing_file_and_a_directory(tmp_path: Path) -> None:
    no = tmp_path / "no"
    assert refusal(Collection.open, no) == f"{no}: no such file"
    message = refusal(Collection.open, tmp_path)
    assert message.startswith(
        f"{tmp_path}: is a directory; expected an index file (merge the shards"
    )


@pytest.mark.parametrize("data", [b"", b"FOVEAL", b"FOVEALIX", b"1 Q0 D 1 0.5 r 0 9\n" * 9])
def test_a_foreign_file(data: bytes, tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(data)
    assert refusal(Collection.open, path) == f"{path}: is not a collection index of Foveal"


def test_another_version(index: Path) -> None:
    changed(index, len(MAGIC), 8)
    expected = f"{index}: index of version {VERSION ^ 8}, expected {VERSION}; build it anew"
    assert refusal(Collection.open, index) == expected


def test_every_bit_of_prefix_and_header_counts(index: Path) -> None:
    whole = index.read_bytes()
    for at in range(32 + header_length(index)):
        changed(index, at, 1 << at % 8)
        with pytest.raises(InputError, match=r"damaged|not a collection index|version"):
            Collection.open(index)
        index.write_bytes(whole)
    Collection.open(index)


def test_every_truncation_is_noticed(index: Path) -> None:
    whole = index.read_bytes()
    for size in range(len(whole)):
        index.write_bytes(whole[:size])
        with pytest.raises(InputError, match=r"damaged|not a collection index"):
            Collection.open(index)


def test_what_was_added_to_a_file_is_noticed(index: Path) -> None:
    size = index.stat().st_size
    index.write_bytes(index.read_bytes() + b"\n")
    message = f"{index}: the index is damaged: it has {size + 1} bytes, expected {size}"
    assert refusal(Collection.open, index) == message


def test_verifying_finds_any_changed_byte_of_a_section(index: Path) -> None:
    Collection.open(index).verify()
    whole = index.read_bytes()
    length = header_length(index)
    begin = -(-(32 + length) // 64) * 64
    for name, section in json.loads(whole[32 : 32 + length])["sections"].items():
        for at in range(section["bytes"]):
            changed(index, begin + section["offset"] + at, 1 << at % 8)
            message = f"{index}: the index is damaged: section {name} differs"
            assert refusal(Collection.open(index).verify) == message
            index.write_bytes(whole)


def resolved(collection: Collection) -> object:
    return collection.resolve(pl.Series(["d"]), pl.Series(["/a/b/text()[1].0"]))


USES: dict[str, Callable[[Collection], object]] = {
    "doc_bounds": len,
    "path": resolved,
    "start": resolved,
    "end": resolved,
    "doc_length": lambda collection: collection.mean_length,
    "doc_digest": Collection.digests,
    "doc_names": list,
    "path_parent": Collection.path_depths,
    "path_tag": Collection.path_tags,
    "path_ordinal": resolved,
}


def test_a_damaged_section_is_refused_by_its_name_when_it_is_first_used(index: Path) -> None:
    whole = index.read_bytes()
    length = header_length(index)
    begin = -(-(32 + length) // 64) * 64
    layout = json.loads(whole[32 : 32 + length])["sections"]
    assert set(layout) == set(USES)
    for name, section in layout.items():
        changed(index, begin + section["offset"] + section["bytes"] - 1, 128)
        collection = Collection.open(index)
        message = f"{index}: the index is damaged: section {name} differs"
        assert refusal(USES[name], collection) == message
        assert refusal(USES[name], collection) == message, "also the second time"
        index.write_bytes(whole)
        USES[name](Collection.open(index))


def test_opening_hashes_no_section(index: Path) -> None:
    changed(index, index.stat().st_size - 64, 1)
    changed(index, -(-(32 + header_length(index)) // 64) * 64, 1)
    collection = Collection.open(index)
    assert collection.whitespace == "keep"
    assert "doc_bounds differs" in refusal(repr, collection)


def test_nothing_is_left_behind_when_writing_fails(
    index: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, files = index.read_bytes(), sorted(index.parent.iterdir())

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    message = f"{index}: cannot be read or written: No space left on device"
    assert refusal(build_index, [index], index) == message
    assert index.read_bytes() == before
    assert sorted(index.parent.iterdir()) == files


def test_a_name_that_is_too_long_for_the_system(tmp_path: Path) -> None:
    path = tmp_path / ("x" * 300)
    message = f"{path}: cannot be read: File name too long"
    assert refusal(Collection.open, path) == message
    assert refusal(build_index, path, tmp_path / "y") == message
    assert refusal(open_sources, [path]) == message
    assert refusal(is_index, path) == message
