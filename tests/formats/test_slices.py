"""Files cut into groups of topics: bytes, topics and lines of the file, whatever the way."""

from __future__ import annotations

import bz2
import errno
import gzip
import hashlib
import io
import lzma
import os
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from foveal.errors import InputError
from foveal.formats import read_run
from foveal.formats.run_slices import is_sliceable, open_run
from foveal.formats.slices import LineSlices, groups_of
from foveal.formats.streams import Stream, head_of
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
WAYS = [(1 << 20, 100), (40, 100), (1 << 20, 0), (40, 0)]
"""Sizes of chunks, and of places that are remembered: 0 brings lines together."""

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
ways = pytest.mark.parametrize(("chunk", "places"), WAYS)


def written(folder: Path, data: str | bytes, name: str = "run.txt") -> Path:
    path = folder / name
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    return path


def slices_of(path: Path, chunk: int, places: int, *groups: tuple[str, ...]) -> list[str]:
    """Each line of every slice behind the number it has in the file."""
    cut = LineSlices(path, chunk=chunk, places=places)
    cut.split(groups)
    shown = []
    for number in range(len(groups)):
        source = cut.source(number)
        assert source.whole is not None
        lines = source.data.decode().removesuffix("\n").split("\n")
        numbered = zip(source.whole.line.tolist(), lines, strict=True)
        shown.append(" | ".join(f"{n}:{line[:8]}" for n, line in numbered))
    cut.close()
    return shown


# -- topics and lines ------------------------------------------------------------------------------


@ways
def test_a_slice_has_the_lines_of_its_topics_with_their_numbers(
    chunk: int, places: int, tmp_path: Path
) -> None:
    path = written(tmp_path, TEXT)
    assert slices_of(path, chunk, places, ("1",), ("2", "3")) == [
        "1:# a comm | 2:1 Q0 A 1 | 3:1 Q0 B 2 | 4: | 6:1 Q0 C 3",
        "5:2 Q0 A 1 | 7:3 Q0 é 1",
    ]


@ways
def test_a_header_goes_with_every_slice(chunk: int, places: int, tmp_path: Path) -> None:
    path = written(tmp_path, JSON)
    assert slices_of(path, chunk, places, ("1",), ("2",)) == [
        '1:# before | 2:{"type": | 3:{"topic" | 5:{"topic"',
        '1:# before | 2:{"type": | 4:{"topic"',
    ]


def test_topics_come_with_their_sizes_in_the_order_of_the_file(tmp_path: Path) -> None:
    cut = LineSlices(written(tmp_path, "2 x\n10 yy\n2 z\n"))
    assert list(cut.topics.items()) == [("2", 8), ("10", 6)]
    assert not cut.together
    assert LineSlices(written(tmp_path, "2 x\n2 z\n10 yy\n")).together


def test_a_byte_order_mark_is_no_part_of_a_topic(tmp_path: Path) -> None:
    path = written(tmp_path, b"\xef\xbb\xbf1 a\n2 b\n")
    assert slices_of(path, 100, 100, ("1",), ("2",)) == ["1:1 a", "2:2 b"]


def test_fields_that_only_some_results_have_are_known_of_the_whole(tmp_path: Path) -> None:
    whole = LineSlices(written(tmp_path, JSON), chunk=40).whole
    assert (whole.given, whole.ragged) == ({"score", "start"}, {"score"})


def test_a_line_that_is_no_object_stays_with_the_one_before_it(tmp_path: Path) -> None:
    path = written(tmp_path, JSON + "nonsense\n" + '{"topic": "3"}\n')
    assert slices_of(path, 1000, 100, ("1",), ("2", "3"))[0].endswith("6:nonsense")


@given(
    st.lists(st.tuples(st.sampled_from("abcde"), st.integers(0, 99)), min_size=1, max_size=30),
    st.sampled_from([1, 7, 30, 1000]),
    st.sampled_from([0, 3, 1000]),
    st.integers(1, 60),
)
@settings(max_examples=60)
def test_every_line_is_in_one_slice_in_the_order_of_the_file(
    rows: list[tuple[str, int]], chunk: int, places: int, room: int
) -> None:
    lines = [f"{topic} {value}" for topic, value in rows]
    with tempfile.TemporaryDirectory() as folder:
        cut = LineSlices(written(Path(folder), "\n".join(lines)), chunk=chunk, places=places)
        groups = groups_of(cut.topics, room)
        cut.split(groups)
        sources = [cut.source(number) for number in range(len(groups))]
        cut.close()
    for group, source in zip(groups, sources, strict=True):
        assert source.whole is not None
        expected = [(n, line) for n, line in enumerate(lines, 1) if line[0] in group]
        found = zip(source.whole.line.tolist(), source.data.decode().split("\n"), strict=False)
        assert list(found) == expected


@given(st.lists(st.integers(1, 50), min_size=1, max_size=12), st.integers(1, 80))
@settings(max_examples=40)
def test_a_group_is_no_larger_than_the_room_unless_a_topic_is(sizes: list[int], room: int) -> None:
    topics = {str(i): size for i, size in enumerate(sizes)}
    groups = groups_of(topics, room)
    assert [topic for group in groups for topic in group] == list(topics)
    assert all(len(g) == 1 or sum(topics[t] for t in g) <= room for g in groups)


# -- streams ---------------------------------------------------------------------------------------


@codecs
def test_compressed_files_are_cut_as_others_are(kind: str, compress: Codec, tmp_path: Path) -> None:
    data = TEXT.encode()
    path = written(tmp_path, compress(data[:50]) + compress(data[50:]), kind)
    assert slices_of(path, 40, 0, ("2",)) == ["5:2 Q0 A 1"]
    stream = Stream(path)
    assert b"".join(stream.pieces()) == data
    assert stream.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()


@codecs
def test_damage_is_said_as_where_a_file_is_read_at_once(
    kind: str, compress: Codec, tmp_path: Path
) -> None:
    data = compress(TEXT.encode() * 200)
    for broken in (data[: len(data) // 2], data[:40] + b"\x00\x01" * 20 + data[80:]):
        path = written(tmp_path, broken, kind)
        assert refusal(LineSlices, path) == refusal(read_run, path)


def test_what_is_not_utf8_is_named_with_its_line(tmp_path: Path) -> None:
    path = written(tmp_path, TEXT.encode() + b"\n4 Q0 \xff 1 1 mine 0 5\n")
    assert refusal(lambda: LineSlices(path, chunk=30)) == refusal(read_run, path)


def test_the_head_is_whole_lines(tmp_path: Path) -> None:
    assert head_of(written(tmp_path, TEXT), 20) == b"# a comment\n"


def test_a_missing_file_is_said_to_be_missing(tmp_path: Path) -> None:
    assert refusal(LineSlices, tmp_path / "none").endswith("none: no such file")


def test_a_full_disk_is_said_with_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Full(io.BytesIO):
        def write(self, data: object, /) -> int:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), data and None)

    path = written(tmp_path, gzip.compress(TEXT.encode()))
    monkeypatch.setattr(tempfile, "TemporaryFile", Full)
    message = refusal(LineSlices, path)
    assert "cannot be written: No space left on device; TMPDIR names another place" in message


def test_nothing_is_left_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "tmp"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    path = written(tmp_path, gzip.compress(TEXT.encode()))
    with open_run(path, chunk=40, places=0) as slices:
        slices.split([("1",), ("2", "3")])
        assert len(slices.run(0)) == 3
    assert not list(folder.iterdir())


# -- runs ------------------------------------------------------------------------------------------


def rows(run: Run) -> list[tuple[object, ...]]:
    return [(*row, line) for row, line in zip(run.to_frame().rows(), run.line, strict=True)]


@pytest.mark.parametrize("form", ["fol", "elements", "trec", "jsonl", "parquet", "arrow"])
@ways
def test_the_slices_of_a_run_have_its_results(
    form: str, chunk: int, places: int, tmp_path: Path
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
    path = written(tmp_path, "\n".join(lines.get(form, lines["jsonl"])))
    if form in ("parquet", "arrow"):
        frame = read_run(path).to_frame()
        frame = frame.sample(fraction=1, shuffle=True, seed=1)
        (frame.write_parquet if form == "parquet" else frame.write_ipc)(path)
    whole = read_run(path)
    with open_run(path, chunk=chunk, places=places) as slices:
        assert tuple(slices.topics) == whole.topics
        slices.split([whole.topics[:1], whole.topics[1:]])
        parts = [slices.run(0), slices.run(1)]
        assert (slices.provenance, *slices.notes) == (whole.source, *whole.notes)
    assert [row for part in parts for row in rows(part)] == rows(whole)
    assert {part.name for part in parts} == {whole.name}


def test_only_xml_cannot_be_cut(tmp_path: Path) -> None:
    assert is_sliceable(written(tmp_path, TEXT))
    assert not is_sliceable(written(tmp_path, "<?xml version='1.0'?><inex-submission/>"))


def test_what_is_no_run_is_refused_in_the_same_words(tmp_path: Path) -> None:
    for text in ("1 2 3\n", '{"topic": "1", "doc": "D", "spans": []}\n', "\n\n"):
        path = written(tmp_path, text)

        def cut(file: Path) -> None:
            with open_run(file):
                raise AssertionError("not a run")

        assert refusal(cut, path, error=InputError) == refusal(read_run, path)
