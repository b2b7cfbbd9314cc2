"""Files split by topic: the lines of each group of topics, with their numbers in the file."""

from __future__ import annotations

import bz2
import contextlib
import errno
import gzip
import io
import lzma
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from foveal.evaluation import large
from foveal.evaluation.large import TopicFile, split_file
from foveal.formats import Parsed, read_run
from foveal.model import Run
from inputs import refusal

TEXT = """\
# a comment
1 Q0 A 1 3 mine 0 5
1 Q0 B 2 2 mine 0 5

2 Q0 A 1 1 other 0 5
1 Q0 C 3 1 mine 0 5
3 Q0 é 1 1 mine 0 5"""
JSON = """\
# before the header
{"type": "header", "run": "mine"}
{"topic": "1", "doc": "A", "start": 0, "end": 5, "score": 2}
{"topic": "2", "doc": "A", "start": 0, "end": 5, "score": 2}
{"topic": "1", "doc": "B", "start": 0, "end": 5}
"""
Codec = Callable[[bytes], bytes]
codecs = pytest.mark.parametrize(
    ("kind", "compress"),
    [
        ("gzip", gzip.compress),
        ("bzip2", bz2.compress),
        ("xz", lzma.compress),
        ("zstd", zstandard.ZstdCompressor().compress),
    ],
)
chunks = pytest.mark.parametrize("chunk", [1 << 20, 40])


def written(folder: Path, data: str | bytes, name: str = "run.txt") -> Path:
    path = folder / name
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    return path


SHOW = SimpleNamespace(parse=lambda source: Parsed(source, []))
"""A format that returns what it is given."""


def split(path: Path, count: int = 2) -> TopicFile:
    """The run in two groups: the first topic, and all others; or in more groups."""
    groups = dict.fromkeys(map(str, range(10)), 1) | {"1": 0}
    file = split_file(path, path, "run", groups if count == 2 else {}, count)
    assert file is not None
    return file


def lines_of(file: TopicFile, group: int) -> list[tuple[int, str]]:
    """The lines of a group with their numbers in the file."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(file, "_form", SHOW)
        source = file.parse(group).content
    lines = source.data.decode().split("\n")
    assert (np.diff(source.lines[:-1]) > 0).all()
    return list(zip(source.lines.tolist(), lines, strict=True))[:-1]


def show_groups(path: Path, chunk: int = 1 << 20) -> list[str]:
    """Each line of the first topic, and of all others, behind the number it has in the file."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(large, "CHUNK", chunk)
        with contextlib.closing(split(path)) as file:
            groups = [lines_of(file, group) for group in (0, 1)]
    return [" | ".join(f"{n}:{line[:8]}" for n, line in group) for group in groups]


# -- topics and lines ------------------------------------------------------------------------------


@chunks
def test_a_group_has_the_lines_of_its_topics_with_their_numbers(chunk: int, tmp_path: Path) -> None:
    assert show_groups(written(tmp_path, TEXT), chunk) == [
        "2:1 Q0 A 1 | 3:1 Q0 B 2 | 6:1 Q0 C 3",
        "5:2 Q0 A 1 | 7:3 Q0 é 1",
    ]


@chunks
def test_a_header_goes_with_every_group(chunk: int, tmp_path: Path) -> None:
    assert show_groups(written(tmp_path, JSON), chunk) == [
        '1:# before | 2:{"type": | 3:{"topic" | 5:{"topic"',
        '1:# before | 2:{"type": | 4:{"topic"',
    ]


def test_topics_are_in_the_order_of_the_file(tmp_path: Path) -> None:
    apart = written(tmp_path, "2 Q0 A 1 1 x 0 5\n10 Q0 A 1 1 x 0 5\n2 Q0 B 1 1 x 0 5\n", "apart")
    with contextlib.closing(split(apart, 3)) as file:
        assert list(file.topics) == ["2", "10"]
        assert file.groups == {"2": 0, "10": 1}
        assert file.sizes.tolist() == [34, 18, 0]
        assert file.notes == read_run(apart).notes != ()
    together = written(tmp_path, "2 Q0 A 1 1 x 0 5\n2 Q0 B 1 1 x 0 5\n10 Q0 A 1 1 x 0 5\n")
    with contextlib.closing(split(together)) as file:
        assert not file.notes


def test_a_byte_order_mark_is_no_part_of_a_topic(tmp_path: Path) -> None:
    path = written(tmp_path, b"\xef\xbb\xbf" + TEXT.encode())
    assert show_groups(path) == show_groups(written(tmp_path, TEXT, "other"))


@chunks
def test_fields_that_only_some_results_have_are_known_of_the_whole(
    chunk: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(large, "CHUNK", chunk)
    with contextlib.closing(split(written(tmp_path, JSON))) as file:
        assert [file.has_in_part(name) for name in ("score", "start", "rank")] == [
            True,
            False,
            False,
        ]


@given(
    st.lists(st.tuples(st.sampled_from("abcde"), st.integers(0, 99)), min_size=1, max_size=30),
    st.sampled_from([1, 30, 1000]),
    st.integers(1, 7),
)
@settings(max_examples=60)
def test_every_line_is_in_one_group_in_the_order_of_the_file(
    rows: list[tuple[str, int]], chunk: int, count: int
) -> None:
    lines = [f"{topic} Q0 D{value} 1 1 mine {value} 5" for topic, value in rows]
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(large, "CHUNK", chunk)
        path = written(Path(folder), "\n".join(lines))
        file = split_file(path, path, "run", {}, count)
        assert file is not None
        groups = [lines_of(file, group) for group in range(count)]
        file.close()
    assert sorted(line for group in groups for line in group) == list(enumerate(lines, 1))
    topics = [{line.split()[0] for _, line in group} for group in groups]
    assert sum(map(len, topics)) == len({topic for topic, _ in rows})


def test_groups_are_of_about_one_size(tmp_path: Path) -> None:
    sizes = np.random.default_rng(5).integers(1, 60, 40).tolist()
    lines = [f"{topic} Q0 D 1 1 mine 0 5" for topic, n in enumerate(sizes, 100) for _ in range(n)]
    with contextlib.closing(split(written(tmp_path, "\n".join(lines)), 7)) as file:
        assert file.sizes.max() - file.sizes.min() <= len(lines[0] + "\n") * max(sizes)


# -- streams ---------------------------------------------------------------------------------------


@codecs
def test_compressed_files_are_cut_as_others_are(kind: str, compress: Codec, tmp_path: Path) -> None:
    data = TEXT.encode()
    path = written(tmp_path, compress(data[:50]) + compress(data[50:]), kind)
    assert show_groups(path, 40)[1] == "5:2 Q0 A 1 | 7:3 Q0 é 1"


@codecs
def test_damage_is_said_as_where_a_file_is_read_at_once(
    kind: str, compress: Codec, tmp_path: Path
) -> None:
    data = compress(TEXT.encode() * 200)
    for broken in (data[: len(data) // 2], data[:40] + b"\x00\x01" * 20 + data[80:]):
        path = written(tmp_path, broken, kind)
        assert refusal(split, path) == refusal(read_run, path)


def test_a_full_disk_is_said_with_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Full(io.BytesIO):
        def write(self, data: object, /) -> int:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), data and None)

    path = written(tmp_path, gzip.compress(TEXT.encode()))
    monkeypatch.setattr(tempfile, "TemporaryFile", Full)
    message = refusal(split, path)
    assert "cannot be written: No space left on device; TMPDIR names another place" in message


def test_temporary_files_have_no_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "tmp"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    path = written(tmp_path, gzip.compress(TEXT.encode()))
    with contextlib.closing(split(path)) as file:
        assert len(file.parse(0).content) == 3
        assert not list(folder.iterdir())


# -- runs ------------------------------------------------------------------------------------------


def rows(run: Run) -> list[tuple[object, ...]]:
    return [(*row, line) for row, line in zip(run.to_frame().rows(), run.line, strict=True)]


@pytest.mark.parametrize("form", ["fol", "elements", "trec", "jsonl"])
@chunks
def test_the_groups_of_a_run_have_its_results(
    form: str, chunk: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    numbers = np.random.default_rng(3).integers(0, 4, 60).tolist()
    lines = {
        "fol": [f"{t} Q0 D{i % 7} 1 {i} me {i} 5" for i, t in enumerate(numbers)],
        "elements": [f"{t} Q0 D{i % 7} 1 {i} me /a[1]/b[{i + 1}]" for i, t in enumerate(numbers)],
        "trec": [f"{t} Q0 D{i} 1 {i % 9} me" for i, t in enumerate(numbers)],
        "jsonl": [
            f'{{"topic": "{t}", "doc": "D{i % 7}", "start": {i}, "end": {i + 5}, "rank": {60 - i}}}'
            for i, t in enumerate(numbers)
        ],
    }
    path = written(tmp_path, "\n".join(lines[form]))
    whole = read_run(path)
    monkeypatch.setattr(large, "CHUNK", chunk)
    with contextlib.closing(split(path)) as file:
        parts = [file.parse(group).content for group in (0, 1)]
        assert tuple(file.topics) == whole.topics
        assert (file.source, *file.notes) == (whole.source, *whole.notes)
    assert sorted(row for part in parts for row in rows(part)) == sorted(rows(whole))
    assert {part.name for part in parts} == {whole.name}
