"""What compressed runs, judgements and topics may grow to."""

from __future__ import annotations

import bz2
import gzip
import lzma
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard

import foveal
from command import QRELS, RUN, assert_refused, call, write_toy

COMPRESS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "bzip2": bz2.compress,
    "xz": lzma.compress,
    "zstd": zstandard.ZstdCompressor().compress,
}
BLANK = b"\n" * 3_000_000
TOPICS = '{"topic": "toy", "title": "a title"}\n'


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return write_toy(tmp_path)


@pytest.fixture(params=COMPRESS)
def packed(request: pytest.FixtureRequest, folder: Path) -> str:
    """The kind of compression of files that grow to three million bytes."""
    for name, text in (("run", RUN), ("qrels", QRELS), ("topics", TOPICS)):
        data = COMPRESS[request.param](text.encode() + BLANK)
        (folder / f"{name}.packed").write_bytes(data)
    return str(request.param)


@pytest.mark.parametrize("more", [(), ("--memory", "1K")], ids=["at once", "in slices"])
@pytest.mark.parametrize("large", ["run", "qrels"])
def test_a_file_that_grows_beyond_the_limit_is_refused(
    packed: str, large: str, more: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    names = {"run": "run", "qrels": "qrels", large: f"{large}.packed"}
    args = ["evaluate", names["run"], "-j", names["qrels"], "-m", "charP", *more]
    outcome = call(capsys, *args, "--max-bytes", "1M", "-o", "out")
    assert_refused(outcome, f"{large}.packed: ")
    assert packed in outcome.err
    assert str(1 << 20) in outcome.err
    assert "--max-bytes" in outcome.err
    expected = call(capsys, "evaluate", "run", "-j", "qrels", "-m", "charP").out
    for allowed in ((), ("--max-bytes", "3.5M")):
        assert call(capsys, *args, *allowed).out == expected


@pytest.mark.parametrize(
    "args",
    [
        ("compare", "run.packed", "run", "-j", "qrels", "-m", "charP"),
        ("correlate", "run.packed", "run", "-j", "qrels", "-m", "charP", "-m", "AP"),
        ("report", "run.packed", "-j", "qrels", "-m", "charP", "-o", "out.html"),
        ("plot", "lengths", "run.packed", "-j", "qrels", "-o", "out.svg"),
        ("budget", "run.packed", "-j", "qrels"),
        ("pool", "run.packed", "-o", "out"),
        ("inex-eval", "-f", "qrels", "run.packed"),
        ("inex-eval", "-f", "qrels.packed", "run"),
        ("convert", "run.packed", "out", "--to", "jsonl"),
        ("convert", "qrels.packed", "out", "--to", "jsonl"),
        ("convert", "topics.packed", "out", "--to", "jsonl"),
        ("stats", "topics.packed"),
        ("recall-base", "-j", "qrels.packed", "--topic", "toy"),
        ("simulate", "-j", "qrels.packed", "-o", "out"),
        ("agree", "-j", "qrels.packed", "-j", "qrels"),
        ("project", "-j", "qrels.packed", "--window", "10"),
        ("verify", "-j", "qrels.packed", "--texts", "run"),
        ("evaluate", "run", "-j", "qrels", "-m", "charP", "--only-topics", "@topics.packed"),
    ],
    ids=lambda args: f"{args[0]} {next(arg for arg in args if 'packed' in arg)}",
)
def test_every_command_that_reads_has_the_limit(
    args: tuple[str, ...], folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, text in (("run", RUN), ("qrels", QRELS), ("topics", TOPICS)):
        (folder / f"{name}.packed").write_bytes(gzip.compress(text.encode() + BLANK))
    outcome = call(capsys, *args, "--max-bytes", "1M")
    assert_refused(outcome, next(arg for arg in args if "packed" in arg).lstrip("@"))
    assert str(1 << 20) in outcome.err


def test_processes_have_the_limit(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("a.run", "b.run"):
        (folder / name).write_bytes(gzip.compress(RUN.encode() + BLANK))
    args = ("evaluate", "a.run", "b.run", "-j", "qrels", "-m", "charP", "-w", "2")
    assert_refused(call(capsys, *args, "--max-bytes", "1M", "-o", "out"), "a.run: ")


def test_python_has_the_limit(packed: str) -> None:
    readers = {
        "run": foveal.read_run,
        "qrels": foveal.read_judgements,
        "topics": foveal.read_topics,
    }
    for name, read in readers.items():
        with (
            foveal.limit_bytes("1M"),
            pytest.raises(foveal.InputError, match=str(1 << 20)) as caught,
        ):
            read(f"{name}.packed")
        assert "limit_bytes" in str(caught.value)
        assert len(read(f"{name}.packed"))  # the limit is gone with its block
    with foveal.limit_bytes(1000), pytest.raises(foveal.InputError, match="1000 bytes"):
        foveal.evaluate(["run.packed", "run"], "qrels", "charP")
    with pytest.raises(foveal.UsageError, match="expected one such as 500M"):
        foveal.limit_bytes("much").__enter__()


def test_by_default_a_small_file_grows_to_a_gigabyte_and_no_more(folder: Path) -> None:
    frame = zstandard.ZstdCompressor().compress(b"\n" * (1 << 27))
    (folder / "bomb").write_bytes(frame * 9)
    assert (folder / "bomb").stat().st_size < 200_000
    with pytest.raises(foveal.InputError, match="grow to more than"):
        foveal.read_run("bomb")


def test_a_little_bzip2_is_not_expanded_far_beyond_the_limit(folder: Path) -> None:
    compressor = bz2.BZ2Compressor()
    blank = b"\n" * (1 << 24)
    data = b"".join(compressor.compress(blank) for _ in range(12)) + compressor.flush()
    (folder / "bomb").write_bytes(data)
    assert len(data) < 1000
    tracemalloc.start()
    try:
        with foveal.limit_bytes("1M"), pytest.raises(foveal.InputError, match="grow to more than"):
            foveal.read_run("bomb")
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < len(blank) * 4
