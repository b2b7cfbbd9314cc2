"""Shards: shares of a source that several machines index, and that make one index together."""

from __future__ import annotations

import json
import os
import tarfile
import zipfile
from pathlib import Path

import pytest

from foveal.collection import BuildOptions, Collection, Limits, Shard, build_index, sources
from foveal.errors import UsageError
from inputs import refusal

DOCUMENTS = 40


@pytest.fixture(autouse=True)
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "_BATCH_FILES", 3)


def text_of(i: int) -> str:
    return f"<a><t{i % 7}>{'x' * (i % 5)}</t{i % 7}>{'<p>y</p>' * (i % 4)}</a>"


def directory(root: Path) -> Path:
    folder = root / "articles"
    for i in range(DOCUMENTS):
        place = folder / "wiki" / "ab"[i > 25] / f"{i:02}.xml"
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text_of(i))
    (folder / "wiki" / "notes.pdf").write_text("x")
    return folder


def tar(root: Path) -> Path:
    """Documents of the first shards share a folder that the others do not."""
    path = root / "articles.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        archive.add(directory(root) / "wiki", "wiki")
    return path


def zipped(root: Path) -> Path:
    path = root / "articles.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for file in sorted(directory(root).rglob("*.*")):
            archive.write(file, file.relative_to(root))
    return path


def lines(root: Path) -> Path:
    path = root / "articles.jsonl"
    rows = (json.dumps({"doc": f"d{i}", "text": "x" * i}) for i in range(DOCUMENTS))
    path.write_text("\n".join(rows))
    return path


SOURCES = {"directory": directory, "tar": tar, "zip": zipped, "lines": lines}


def shards(source: list[Path], root: Path, of: int) -> list[Path]:
    """The indexes of all shards."""
    found = []
    for number in range(1, of + 1):
        found.append(root / f"shard-{number}.fvx")
        build_index(source, found[-1], shard=Shard(number, of))
    return found


@pytest.mark.parametrize("kind", SOURCES)
@pytest.mark.parametrize("of", [1, 2, 3, 8, 30])
def test_shards_together_are_the_whole_to_the_byte(kind: str, of: int, tmp_path: Path) -> None:
    source = SOURCES[kind](tmp_path)
    build_index(source, tmp_path / "whole")
    build_index(shards([source], tmp_path, of)[::-1], tmp_path / "merged")
    assert (tmp_path / "merged").read_bytes() == (tmp_path / "whole").read_bytes()


def test_every_document_is_in_one_shard_and_they_are_alike(tmp_path: Path) -> None:
    found = [list(Collection.open(path)) for path in shards([directory(tmp_path)], tmp_path, 4)]
    assert sorted(doc for docs in found for doc in docs) == [doc for docs in found for doc in docs]
    assert sum(map(len, found)) == DOCUMENTS
    assert all(abs(len(docs) - DOCUMENTS / 4) <= 3 for docs in found)  # a batch


def test_shards_of_several_sources(tmp_path: Path) -> None:
    given_ = [lines(tmp_path), tar(tmp_path), tmp_path / "articles" / "wiki"]
    (tmp_path / "articles" / "wiki" / "extra.xml").write_text("<b/>")
    wiki = given_[2]
    for file in wiki.rglob("*.xml"):
        file.rename(file.with_stem(f"x{file.stem}"))
    build_index(given_, tmp_path / "whole")
    assert len(Collection.open(tmp_path / "whole")) == 3 * DOCUMENTS + 1
    build_index(shards(given_, tmp_path, 5), tmp_path / "merged")
    assert (tmp_path / "merged").read_bytes() == (tmp_path / "whole").read_bytes()


def test_there_may_be_more_shards_than_batches(tmp_path: Path) -> None:
    (tmp_path / "d.xml").write_text("<a>x</a>")
    found = shards([tmp_path / "d.xml"], tmp_path, 3)
    assert sorted(len(Collection.open(path)) for path in found) == [0, 0, 1]
    build_index(tmp_path / "d.xml", tmp_path / "whole")
    build_index(found, tmp_path / "merged")
    assert (tmp_path / "merged").read_bytes() == (tmp_path / "whole").read_bytes()


def test_failures_of_shards_stay_listed(tmp_path: Path) -> None:
    source = directory(tmp_path)
    for name in ("00", "39"):
        (next(source.rglob(f"{name}.xml"))).write_text("<a>")
    options = BuildOptions(max_errors=2)
    whole = build_index(source, tmp_path / "whole", options)
    parts = []
    for number in (1, 2, 3):
        parts.append(tmp_path / f"{number}.fvx")
        build_index(source, parts[-1], options, shard=Shard(number, 3))
    assert (
        build_index(parts, tmp_path / "merged").header == whole.header
    )  # they were let pass already
    assert (tmp_path / "merged").read_bytes() == (tmp_path / "whole").read_bytes()
    assert [place for place, _ in whole.header["failures"]] == [
        "wiki/a/00.xml:1",
        "wiki/b/39.xml:1",
    ]


@pytest.mark.parametrize(
    "text",
    ["0/3", "4/3", "1/0", "x", "1", "1/2/3", "-1/3", "1 / 2", "\N{ARABIC-INDIC DIGIT ONE}/2"],
)
def test_what_is_no_shard(text: str) -> None:
    message = refusal(Shard.parse, text, error=UsageError)
    assert "such as 3/8" in message


# -- shards that do not make one index ------------------------------------------------------------


def test_a_shard_that_is_missing_or_given_twice(tmp_path: Path) -> None:
    found = shards([directory(tmp_path)], tmp_path, 4)
    for given, numbers in ((found[::2], "1, 3"), ([*found, found[3]], "1, 2, 3, 4, 4")):
        message = refusal(build_index, given, tmp_path / "x")
        begin = f"{found[0]}: the shards {numbers} of 4 of 'articles'; expected each"
        assert message.startswith(begin)


def test_a_shard_of_an_index(tmp_path: Path) -> None:
    build_index(directory(tmp_path), tmp_path / "x.fvx")
    message = f"{tmp_path / 'x.fvx'}: is an index; only documents can be sharded"
    call = lambda: build_index(tmp_path / "x.fvx", tmp_path / "y", shard=Shard(1, 2))  # noqa: E731
    assert refusal(call) == message


def test_a_source_that_changes_between_shards(tmp_path: Path) -> None:
    source = directory(tmp_path)
    build_index(source, tmp_path / "1.fvx", shard=Shard(1, 2))
    # As many batches, cut elsewhere.
    next(source.rglob("00.xml")).unlink()
    (source / "wiki" / "b" / "99.xml").write_text("<a/>")
    build_index(source, tmp_path / "2.fvx", shard=Shard(2, 2))
    found = [tmp_path / "1.fvx", tmp_path / "2.fvx"]
    message = refusal(build_index, found, tmp_path / "x")
    assert message.endswith("of the same documents and options")


def merge(folder: Path) -> Collection:
    return build_index(sorted(folder.glob("*.fvx")), folder / "merged")


def test_shards_of_different_directories_of_one_name(tmp_path: Path) -> None:
    for name in ("A", "B"):
        directory(tmp_path / name)
    changed = tmp_path / "B" / "articles" / "wiki" / "a" / "00.xml"
    changed.write_text("<a>of another length</a>")
    for number, name in enumerate("AB", 1):
        source = tmp_path / name / "articles"
        build_index(source, tmp_path / f"{number}.fvx", shard=Shard(number, 2))
    assert "of the same documents and options" in refusal(merge, tmp_path)


@pytest.mark.parametrize(
    "options", [BuildOptions(name_tag="a", max_errors=99), BuildOptions(limits=Limits(depth=7))]
)
def test_shards_of_different_options(options: BuildOptions, tmp_path: Path) -> None:
    source = directory(tmp_path)
    build_index(source, tmp_path / "1.fvx", BuildOptions(max_errors=5), shard=Shard(1, 2))
    build_index(source, tmp_path / "2.fvx", options, shard=Shard(2, 2))
    assert "of the same documents and options" in refusal(merge, tmp_path)


def test_shards_of_copies_fit_whatever_their_times(tmp_path: Path) -> None:
    source = directory(tmp_path)
    build_index(source, tmp_path / "1.fvx", shard=Shard(1, 2))
    for file in source.rglob("*.xml"):
        os.utime(file, (1, 1))
    build_index(source, tmp_path / "2.fvx", BuildOptions(max_errors=1), shard=Shard(2, 2))
    assert len(merge(tmp_path)) == DOCUMENTS
