"""Files sorted by topic: the lines of each group of topics, with their numbers in the file."""

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

from foveal.formats import Parsed, by_topic, read_run
from foveal.formats.by_topic import BUCKETS, TopicFile, pack
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


def show_groups(path: Path, chunk: int = 1 << 20) -> list[str]:
    """Each line of the first topic, and of all others, behind the number it has in the file."""
    shown = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(by_topic, "CHUNK", chunk)
        file = TopicFile(path, "run", {})
        patch.setattr(file, "_format", SHOW)
        for group in ((0, 1), (1, BUCKETS)):
            source = file.read(*group)
            lines = source.data.decode().removesuffix("\n").split("\n")
            numbered = zip(source.lines.tolist(), lines, strict=True)
            shown.append(" | ".join(f"{n}:{line[:8]}" for n, line in numbered))
        file.close()
    return shown


# -- topics and lines ------------------------------------------------------------------------------


@chunks
def test_a_group_has_the_lines_of_its_topics_with_their_numbers(chunk: int, tmp_path: Path) -> None:
    assert show_groups(written(tmp_path, TEXT), chunk) == [
        "1:# a comm | 2:1 Q0 A 1 | 3:1 Q0 B 2 | 4: | 6:1 Q0 C 3",
        "5:2 Q0 A 1 | 7:3 Q0 é 1",
    ]


@chunks
def test_a_header_goes_with_every_group(chunk: int, tmp_path: Path) -> None:
    assert show_groups(written(tmp_path, JSON), chunk) == [
        '1:# before | 2:{"type": | 3:{"topic" | 5:{"topic"',
        '1:# before | 2:{"type": | 4:{"topic"',
    ]


def test_topics_are_numbered_in_the_order_of_the_file(tmp_path: Path) -> None:
    apart = written(tmp_path, "2 Q0 A 1 1 x 0 5\n10 Q0 A 1 1 x 0 5\n2 Q0 B 1 1 x 0 5\n", "apart")
    codes = {"10": 0}
    with contextlib.closing(TopicFile(apart, "run", codes)) as file:
        assert (list(file.topics), codes) == (["2", "10"], {"10": 0, "2": 1})
        assert file.sizes[:2].tolist() == [18, 34]
        assert file.notes == read_run(apart).notes != ()
    together = written(tmp_path, "2 Q0 A 1 1 x 0 5\n2 Q0 B 1 1 x 0 5\n10 Q0 A 1 1 x 0 5\n")
    with contextlib.closing(TopicFile(together, "run", {})) as file:
        assert not file.notes


def test_a_byte_order_mark_is_no_part_of_a_topic(tmp_path: Path) -> None:
    path = written(tmp_path, b"\xef\xbb\xbf" + TEXT.encode())
    assert show_groups(path) == show_groups(written(tmp_path, TEXT, "other"))


@chunks
def test_fields_that_only_some_results_have_are_known_of_the_whole(
    chunk: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(by_topic, "CHUNK", chunk)
    with contextlib.closing(TopicFile(written(tmp_path, JSON), "run", {})) as file:
        assert [file.has_in_part(name) for name in ("score", "start", "rank")] == [
            True,
            False,
            False,
        ]


def test_a_line_that_is_no_object_stays_with_the_one_before_it(tmp_path: Path) -> None:
    path = written(tmp_path, JSON + "nonsense\n" + '{"topic": "3"}\n')
    assert show_groups(path)[0].endswith("6:nonsense")


@given(
    st.lists(st.tuples(st.sampled_from("abcde"), st.integers(0, 99)), min_size=1, max_size=30),
    st.sampled_from([1, 30, 1000]),
    st.integers(1, 120),
)
@settings(max_examples=60)
def test_every_line_is_in_one_group_in_the_order_of_the_file(
    rows: list[tuple[str, int]], chunk: int, room: int
) -> None:
    lines = [f"{topic} Q0 D{value} 1 1 mine {value} 5" for topic, value in rows]
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(by_topic, "CHUNK", chunk)
        file = TopicFile(written(Path(folder), "\n".join(lines)), "run", {})
        patch.setattr(file, "_format", SHOW)
        sources = [file.read(*group) for group in pack(file.sizes, room)]
        file.close()
    found = []
    for source in sources:
        assert (np.diff(source.lines) > 0).all()
        found += zip(source.lines.tolist(), source.data.decode().split("\n"), strict=False)
    assert sorted(found) == list(enumerate(lines, 1))


@given(st.lists(st.integers(0, 50), min_size=1, max_size=12), st.integers(1, 80))
@settings(max_examples=40)
def test_a_group_is_no_larger_than_the_room_unless_a_topic_is(sizes: list[int], room: int) -> None:
    groups = pack(np.array(sizes), room, 0, len(sizes))
    assert [bucket for group in groups for bucket in range(*group)] == list(range(len(sizes)))
    own = [[size for size in sizes[slice(*group)] if size] for group in groups]
    assert all(len(group) <= 1 or sum(group) <= room for group in own)


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
        assert refusal(TopicFile, path, "run", {}) == refusal(read_run, path)


@chunks
def test_what_is_not_utf8_is_named_with_its_line(
    chunk: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = written(tmp_path, TEXT.encode() + b"\n4 Q0 \xff 1 1 mine 0 5\n")
    monkeypatch.setattr(by_topic, "CHUNK", chunk)
    assert refusal(TopicFile, path, "run", {}) == refusal(read_run, path)


def test_a_missing_file_is_said_to_be_missing(tmp_path: Path) -> None:
    assert refusal(TopicFile, tmp_path / "none", "run", {}).endswith("none: no such file")


def test_a_full_disk_is_said_with_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Full(io.BytesIO):
        def write(self, data: object, /) -> int:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), data and None)

    path = written(tmp_path, gzip.compress(TEXT.encode()))
    monkeypatch.setattr(tempfile, "TemporaryFile", Full)
    message = refusal(TopicFile, path, "run", {})
    assert "cannot be written: No space left on device; TMPDIR names another place" in message


def test_temporary_files_have_no_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "tmp"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    path = written(tmp_path, gzip.compress(TEXT.encode()))
    with contextlib.closing(TopicFile(path, "run", {})) as file:
        assert len(file.read_run(0, 1)) == 3
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
    monkeypatch.setattr(by_topic, "CHUNK", chunk)
    with contextlib.closing(TopicFile(path, "run", {})) as file:
        parts = [file.read_run(0, 1), file.read_run(1, BUCKETS)]
        assert tuple(file.topics) == whole.topics
        assert (file.source.provenance, *file.notes) == (whole.source, *whole.notes)
    assert [row for part in parts for row in rows(part)] == rows(whole)
    assert {part.name for part in parts} == {whole.name}


def test_what_is_no_run_is_refused_in_the_same_words(tmp_path: Path) -> None:
    for text in ("1 2 3\n", '{"topic": "1", "doc": "D", "spans": []}\n', "\n\n", ""):
        path = written(tmp_path, text)
        assert refusal(TopicFile, path, "run", {}) == refusal(read_run, path)
