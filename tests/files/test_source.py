"""Files as bytes: compression by content, standard input, hashes, what cannot be read."""

from __future__ import annotations

import bz2
import gzip
import hashlib
import io
import lzma
import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard

import foveal
from foveal.files.source import Source, read_blocks, read_chunks, read_head
from inputs import fault, refusal

TEXT = "1 Q0 thé 1 0.5 r 0 20\n1 Q0 𝄞 2 0.4 r 0 20\n".encode()
ZSTD = zstandard.ZstdCompressor().compress

Codec = Callable[[bytes], bytes]
codecs = pytest.mark.parametrize(
    ("kind", "compress"),
    [("gzip", gzip.compress), ("bzip2", bz2.compress), ("xz", lzma.compress), ("zstd", ZSTD)],
)


def written(folder: Path, data: bytes, name: str = "run.txt") -> Path:
    path = folder / name
    path.write_bytes(data)
    return path


@codecs
def test_compression_shows_in_the_content_not_in_the_name(
    kind: str, compress: Codec, tmp_path: Path
) -> None:
    assert Source.open(written(tmp_path, compress(TEXT))).data == TEXT


@codecs
def test_several_members_are_one_file(kind: str, compress: Codec, tmp_path: Path) -> None:
    assert Source.open(written(tmp_path, compress(TEXT) + compress(TEXT))).data == TEXT * 2


@codecs
def test_a_truncated_file_names_the_line_where_it_breaks_off(
    kind: str, compress: Codec, tmp_path: Path
) -> None:
    lines = b"".join(b"%d Q0 D 1 0.5 r 0 20\n" % hash(str(i)) for i in range(5000))
    data = compress(lines)
    path = written(tmp_path, data[: len(data) // 2])
    message = refusal(Source.open, path)
    assert message.startswith(f"{path}:")
    assert message.endswith(f": the {kind} data end too early; the file is truncated")


@codecs
def test_a_damaged_file_is_called_so(kind: str, compress: Codec, tmp_path: Path) -> None:
    data = bytearray(compress(TEXT * 50))
    data[len(data) // 2 :] = bytes(255 - byte for byte in data[len(data) // 2 :])
    path = written(tmp_path, bytes(data))
    assert refusal(Source.open, path).startswith(f"{path}: damaged {kind} data: ")


def test_padding_after_the_data_is_allowed(tmp_path: Path) -> None:
    for compress in (gzip.compress, lzma.compress):
        assert Source.open(written(tmp_path, compress(TEXT) + bytes(512))).data == TEXT


def test_a_byte_order_mark_is_removed_once(tmp_path: Path) -> None:
    run = foveal.read_run(written(tmp_path, b"\xef\xbb\xbf" + TEXT))
    assert run.topics == ("1",)
    twice = Source.open(written(tmp_path, b"\xef\xbb\xbf" * 2 + TEXT))
    assert twice.data == b"\xef\xbb\xbf" + TEXT


def test_the_hash_is_of_the_file_as_it_lies_on_the_disk(tmp_path: Path) -> None:
    data = gzip.compress(TEXT)
    path = written(tmp_path, data)
    assert foveal.read_run(path).source == foveal.model.Provenance(
        str(path), hashlib.sha256(data).hexdigest()
    )


def test_a_dash_is_standard_input_compressed_or_not(monkeypatch: pytest.MonkeyPatch) -> None:
    for data in (TEXT, gzip.compress(TEXT)):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
        run = foveal.read_run("-")
        assert run.doc.to_list() == ["thé", "𝄞"]
        assert run.source.path == "<stdin>"


def test_the_stem_is_the_name_without_folder_and_extensions() -> None:
    stems = {"a/b.run": "b", "b.run.gz": "b", "b": "b", ".hidden": ".hidden", "<stdin>": "<stdin>"}
    assert {path: Source(path, b"", "").stem for path in stems} == stems


def test_a_file_name_that_is_no_text_does_not_spoil_messages(tmp_path: Path) -> None:
    path = os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9.jsonl")
    try:
        Path(path).write_text('{"topic":"1","doc":"D"}\n')
    except OSError:
        pytest.skip("the file system takes only UTF-8 names")
    assert foveal.read_run(path).name == "caf\N{REPLACEMENT CHARACTER}"


def test_a_missing_file_and_a_directory_are_refused(tmp_path: Path) -> None:
    assert refusal(Source.open, tmp_path / "no") == f"{tmp_path / 'no'}: no such file"
    assert refusal(Source.open, tmp_path) == f"{tmp_path}: is a directory; expected a file"


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("compress", [bytes, gzip.compress])
def test_lines_in_utf16_are_refused_as_such(encoding: str, compress: Codec, tmp_path: Path) -> None:
    path = written(tmp_path, compress(TEXT.decode().encode(encoding)))
    for read in (foveal.read_run, foveal.read_judgements):
        assert refusal(read, path) == f"{path}: the file is UTF-16; expected UTF-8 text"


RUNS = ("1 Q0 A 1 0.5 r 0 9", "1 Q0 A 1 0.5 r /a", "1 Q0 A 1 0.5 r", '{"topic":"1","doc":"A"}')
JUDGEMENTS = ("1 Q0 A 0 9", "1 0 A 0", '{"topic":"1","doc":"A","spans":[]}')


def test_invalid_utf8_is_named_with_its_line(tmp_path: Path) -> None:
    for read, lines in ((foveal.read_run, RUNS), (foveal.read_judgements, JUDGEMENTS)):
        for good in lines:
            path = written(tmp_path, f"{good}\n# caf".encode() + b"\xe9\n")
            assert fault(read, path) == ("file.encoding", 2), good


# -- files that are read in pieces -----------------------------------------------------------------


@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
@codecs
def test_blocks_are_the_content_and_the_hash_is_of_the_file(
    kind: str, compress: Codec, mark: bytes, tmp_path: Path
) -> None:
    packed = compress(mark[:1]) + compress(mark[1:] + TEXT)
    for data in (mark + TEXT, packed):
        path, digest = written(tmp_path, data, kind), hashlib.sha256()
        assert b"".join(read_blocks(path, digest)) == TEXT
        assert digest.hexdigest() == hashlib.sha256(data).hexdigest()


def test_chunks_are_whole_lines(tmp_path: Path) -> None:
    path = written(tmp_path, b"1\n" * (1 << 20) + b"2")
    chunks = [*read_chunks(path, 1 << 19)]
    assert b"".join(chunks) == path.read_bytes()
    assert len(chunks) == 5
    assert all(chunk.endswith(b"\n") for chunk in chunks[:-1])
    assert [*read_chunks(written(tmp_path, b""), 9)] == []


def test_the_head_is_whole_lines(tmp_path: Path) -> None:
    path = written(tmp_path, b"# a comment\n" + TEXT)
    assert read_head(path, 10) == path.read_bytes()
    assert read_head(path, 1000) == path.read_bytes()
