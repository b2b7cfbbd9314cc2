"""Indexes as sources: put together, added to, and refused where they do not fit."""

from __future__ import annotations

import json
import tarfile
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foveal.collection import (
    BuildOptions,
    Collection,
    Shard,
    build_index,
    building,
    sources,
)
from foveal.errors import InputError
from inputs import refusal
from small_documents import documents

Found = dict[str, list[tuple[str, int, int]]]


@pytest.fixture(autouse=True, scope="module")
def small_batches() -> object:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(sources, "_BATCH_FILES", 3)
        patched.setattr(building, "_BLOCK_ELEMENTS", 12)
        yield


def content(path: Path) -> Found:
    """The elements of each document by their paths."""
    collection = Collection.open(path)
    return {doc: sorted(map(tuple, collection.all_elements(doc))) for doc in collection}


def write(folder: Path, documents: dict[str, str]) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in documents.items():
        (folder / f"{name}.xml").write_text(text)
    return folder


def some(first: int, after: int) -> dict[str, str]:
    return {
        f"d{i:02}": f"<a><t{i % 3}>{i}</t{i % 3}>{'<p/>' * (i % 4)}</a>"
        for i in range(first, after)
    }


@given(st.lists(st.lists(documents, min_size=1, max_size=4), min_size=1, max_size=4), st.randoms())
@settings(max_examples=20)
def test_any_split_and_any_order_give_the_same_collection(
    groups: list[list[str]], random: object
) -> None:
    with TemporaryDirectory() as name:
        root = Path(name)
        parts: list[Path] = []
        for g, group in enumerate(groups):
            folder = root / f"g{g}"
            folder.mkdir()
            for i, text in enumerate(group):
                (folder / f"d{g}-{i}.xml").write_text(text)
            build_index(folder, root / f"{g}.fvx")
            parts.append(root / f"{g}.fvx")
        folders = [root / f"g{g}" for g in range(len(groups))]
        build_index(folders, root / "whole")
        whole = content(root / "whole")
        random.shuffle(parts)  # type: ignore[attr-defined]
        build_index(parts, root / "merged")
        assert content(root / "merged") == whole
        parts[0].rename(root / "grown")
        for part in parts[1:]:
            build_index([root / "grown", part], root / "grown")
        assert content(root / "grown") == whole
        counts = Collection.open(root / "grown").header
        assert counts["elements"] == sum(map(len, whole.values()))
        assert counts["characters"] == Collection.open(root / "whole").header["characters"]


def test_documents_and_indexes_in_one_command(tmp_path: Path) -> None:
    old = write(tmp_path / "old", some(0, 9))
    build_index(old, tmp_path / "old.fvx")
    new = write(tmp_path / "new", some(9, 14))
    (tmp_path / "more.jsonl").write_text('{"doc": "line", "text": "x"}')
    build_index([tmp_path / "old.fvx", new, tmp_path / "more.jsonl"], tmp_path / "all")
    build_index([old, new, tmp_path / "more.jsonl"], tmp_path / "at-once")
    assert (tmp_path / "all").read_bytes() == (tmp_path / "at-once").read_bytes()
    header = Collection.open(tmp_path / "all").header
    assert header["source"] == "old, new, more.jsonl"
    assert list(Collection.open(tmp_path / "all"))[-3:] == ["d12", "d13", "line"]


# -- adding to an index ---------------------------------------------------------------------------


def test_an_index_grows_in_its_place(tmp_path: Path) -> None:
    index = tmp_path / "x.fvx"
    build_index(write(tmp_path / "old", some(0, 9)), index)
    parsed: list[int] = []
    new = write(tmp_path / "new", some(9, 11))
    build_index([index, new], index, progress=lambda n, *_: parsed.append(n))
    assert len(Collection.open(index)) == 11
    assert content(index) == content(index)
    assert Collection.open(index).element("d10", "/a/t1").end == 2
    assert sorted(path.name for path in tmp_path.iterdir()) == ["new", "old", "x.fvx"]


def test_adding_the_same_again_is_refused_and_changes_nothing(tmp_path: Path) -> None:
    index = tmp_path / "x.fvx"
    new = write(tmp_path / "new", some(0, 3))
    build_index(new, index)
    before = index.read_bytes()
    with pytest.raises(InputError) as error:
        build_index([index, new], index)
    message = f"is called 'd00' like {index}; expected one document of each name"
    assert (error.value.problems[0].file, error.value.problems[0].text) == (
        "new/d00.xml",
        message,
    )
    assert len(error.value.problems) == 3
    assert index.read_bytes() == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["new", "x.fvx"]


# -- names ----------------------------------------------------------------------------------------


def test_a_name_in_two_indexes(tmp_path: Path) -> None:
    build_index(write(tmp_path / "a", some(0, 9)), tmp_path / "a.fvx")
    build_index(write(tmp_path / "b", some(8, 12)), tmp_path / "b.fvx")
    both = [tmp_path / "a.fvx", tmp_path / "b.fvx"]
    message = f"is called 'd08' like {both[0]}; expected one document of each name"
    assert refusal(build_index, both, tmp_path / "x") == f"{both[1]}: {message}"
    assert refusal(build_index, both, tmp_path / "x", BuildOptions(max_errors=1)).endswith(message)
    assert not (tmp_path / "x").exists()


def archive(path: Path, prefix: str, names: list[str]) -> Path:
    root = path.with_suffix("")
    for name in names:
        file = root / prefix / f"{name}.xml"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"<a>{name}</a>")
    with tarfile.open(path, "w") as tar:
        tar.add(root, "")
    return path


def test_archives_lose_their_own_folders(tmp_path: Path) -> None:
    """What one archive leaves out has nothing to do with another."""
    first = archive(tmp_path / "1.tar", "wiki/pages", ["a/x", "b/y"])
    second = archive(tmp_path / "2.tar", "dump", ["wiki/pages/a/x", "c"])
    names = ["a/x", "b/y", "c", "wiki/pages/a/x"]
    build_index([first, second], tmp_path / "x")
    assert list(Collection.open(tmp_path / "x")) == names
    third = write(tmp_path / "3" / "wiki" / "pages" / "a", {"x": "<a/>"}).parents[2]
    build_index([first, third], tmp_path / "x")
    assert list(Collection.open(tmp_path / "x")) == ["a/x", "b/y", "wiki/pages/a/x"]


def test_a_name_in_two_archives(tmp_path: Path) -> None:
    first = archive(tmp_path / "1.tar", "one", ["x", "y"])
    second = archive(tmp_path / "2.tar", "two", ["z", "y"])
    message = (
        "2.tar/two/y.xml: is called 'y' like 1.tar/one/y.xml; expected one document of each name"
    )
    assert refusal(build_index, [first, second], tmp_path / "x") == message
    assert not (tmp_path / "x").exists()


# -- what does not fit ----------------------------------------------------------------------------


def test_white_space_must_be_the_same(tmp_path: Path) -> None:
    build_index(write(tmp_path / "a", some(0, 2)), tmp_path / "a.fvx", BuildOptions("merge"))
    message = "was built with white space 'merge', expected 'keep' as the others"
    call = [tmp_path / "a.fvx", write(tmp_path / "b", some(2, 4))]
    assert refusal(build_index, call, tmp_path / "x") == f"{call[0]}: {message}"
    build_index(call, tmp_path / "x", BuildOptions("merge"))
    assert Collection.open(tmp_path / "x").whitespace == "merge"


@pytest.mark.parametrize("section", ["path", "doc_names", "doc_digest", "path_tag"])
def test_a_damaged_index_is_not_taken_over(section: str, tmp_path: Path) -> None:
    index = tmp_path / "a.fvx"
    build_index(write(tmp_path / "a", some(0, 9)), index)
    data = bytearray(index.read_bytes())
    length = int.from_bytes(data[12:16], "little")
    entry = json.loads(data[32 : 32 + length])["sections"][section]
    data[-(-(32 + length) // 64) * 64 + entry["offset"]] ^= 1
    index.write_bytes(bytes(data))
    message = f"{index}: the index is damaged: section {section} differs"
    assert refusal(build_index, [index], tmp_path / "x") == message
    assert [path.name for path in tmp_path.iterdir() if path.name not in ("a", "a.fvx")] == []


def test_a_shard_can_only_grow_with_the_others(tmp_path: Path) -> None:
    source = write(tmp_path / "a", some(0, 9))
    build_index(source, tmp_path / "1.fvx", shard=Shard(1, 2))
    new = write(tmp_path / "b", some(9, 10))
    message = refusal(build_index, [tmp_path / "1.fvx", new], tmp_path / "1.fvx")
    assert message.startswith(f"{tmp_path / '1.fvx'}: the shards 1 of 2 of 'a'; expected each")


# -- what changes meanwhile -----------------------------------------------------------------------


def test_an_index_that_is_replaced_during_the_merge_is_read_as_it_was(tmp_path: Path) -> None:
    old, new, other = (tmp_path / f"{name}.fvx" for name in ("old", "new", "other"))
    build_index(write(tmp_path / "old", some(0, 12)), old)
    build_index(write(tmp_path / "new", dict.fromkeys(some(0, 12), "<a><b/></a>")), new)
    build_index(write(tmp_path / "other", some(12, 14)), other)
    build_index([old, other], tmp_path / "expected")

    def progress(*_: object) -> None:
        if new.exists():
            new.replace(old)

    build_index([old, other], tmp_path / "x", progress=progress)
    assert not new.exists()
    assert (tmp_path / "x").read_bytes() == (tmp_path / "expected").read_bytes()


@pytest.mark.parametrize("used", [False, True])
def test_an_open_index_is_verified_and_named_as_it_was(used: bool, tmp_path: Path) -> None:
    index, damaged = tmp_path / "x.fvx", tmp_path / "y.fvx"
    build_index(write(tmp_path / "a", some(0, 9)), index)
    collection = Collection.open(index)
    before = collection.source
    assert not used or len(collection) == 9  # which maps it
    data = bytearray(index.read_bytes())
    data[-64] ^= 1
    damaged.write_bytes(bytes(data))
    damaged.replace(index)
    collection.verify()
    assert collection.source == before
    assert "the index is damaged" in refusal(Collection.open(index).verify)


# -- places ---------------------------------------------------------------------------------------


def lines_of(path: Path, *docs: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps({"doc": doc, "text": doc}) + "\n" for doc in docs))
    return path


def test_a_place_and_a_name_from_within_in_one_archive(tmp_path: Path) -> None:
    """``wiki/a.xml`` is called ``a`` in the end, so that a line may be called ``wiki/a``."""
    lines_of(tmp_path / "1" / "wiki" / "z.jsonl", "wiki/a")
    path = archive(tmp_path / "1.tar", "wiki", ["a", "b"])
    build_index(path, tmp_path / "x")
    assert sorted(Collection.open(tmp_path / "x")) == ["a", "b", "wiki/a"]
    lines_of(tmp_path / "1" / "wiki" / "z.jsonl", "a")
    archive(path, "wiki", ["a", "b"])
    message = refusal(build_index, path, tmp_path / "y")
    assert message.endswith("is called 'a' like wiki/a.xml; expected one document of each name")


@pytest.mark.parametrize("batch", [1, 9])
def test_a_name_from_within_twice_in_one_archive(
    batch: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sources, "_BATCH_FILES", batch)
    lines_of(tmp_path / "1" / "wiki" / "z.jsonl", "q", "q")
    path = archive(tmp_path / "1.tar", "wiki", ["a"])
    message = "is called 'q' like wiki/z.jsonl:1; expected one document of each name"
    assert refusal(build_index, path, tmp_path / "x") == f"wiki/z.jsonl:2: {message}"


def test_places_in_several_sources_begin_with_the_source(tmp_path: Path) -> None:
    first, second = (write(tmp_path / name, {"d2": "<a/>"}) for name in ("one", "two"))
    message = "is called 'd2' like one/d2.xml; expected one document of each name"
    assert refusal(build_index, [first, second], tmp_path / "x") == f"two/d2.xml: {message}"
    (second / "d2.xml").write_text("<a>")
    assert refusal(build_index, [first, second], tmp_path / "x").startswith("two/d2.xml:1: ")


def test_places_in_single_files_have_the_file_once(tmp_path: Path) -> None:
    first, second = lines_of(tmp_path / "1.jsonl", "a", "b"), lines_of(tmp_path / "2.jsonl", "b")
    message = "is called 'b' like 1.jsonl:2; expected one document of each name"
    assert refusal(build_index, [first, second], tmp_path / "x") == f"2.jsonl:1: {message}"
