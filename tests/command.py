"""Calling ``foveal`` in this process, as the shell would, on a toy campaign."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from foveal.cli import main
from timeouts import started

QRELS = """\
toy Q0 D1 40 100 10 10:30 70:10
toy Q0 D2 50 50 0 0:50
toy Q0 D3 0 40
"""
RUN = """\
toy Q0 D1 1 3 mine 20 20
toy Q0 D2 2 2 mine 0 50
"""


class Outcome(NamedTuple):
    """What a command left behind."""

    code: int
    out: str
    err: str


def call(capsys: pytest.CaptureFixture[str], *args: str) -> Outcome:
    capsys.readouterr()
    code = 0
    try:
        main(list(args))
    except SystemExit as stopped:
        code = stopped.code if isinstance(stopped.code, int) else int(stopped.code is not None)
    return Outcome(code, *capsys.readouterr())


def at_terminal(*args: str, folder: Path | None = None) -> tuple[int, str]:
    """Exit code and everything that a command writes to its terminal."""
    pty = pytest.importorskip("pty", reason="no pseudo-terminals here")
    leader, follower = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "200", "PYTHONUTF8": "1"}
    command = [sys.executable, "-m", "foveal", *args]
    found = b""
    with started(command, cwd=folder, stdout=follower, stderr=follower, env=environment) as process:
        os.close(follower)
        try:
            while part := os.read(leader, 65536):
                found += part
        except OSError:  # the process has closed its side
            pass
        code = process.wait(60)
    os.close(leader)
    return code, found.decode().replace("\r\n", "\n")


def write_toy(folder: Path) -> Path:
    """Good judgements in qrels and a good run in run."""
    (folder / "qrels").write_text(QRELS)
    (folder / "run").write_text(RUN)
    return folder


def evaluate(capsys: pytest.CaptureFixture[str], *args: str) -> Outcome:
    return call(capsys, "evaluate", *args, "-o", "out")


def assert_refused(outcome: Outcome, *lines: str) -> None:
    """Exit code 2, lines that start like these and no others, no output of any kind."""
    assert outcome.code == 2, outcome
    said = outcome.err.splitlines()
    assert len(said) == len(lines), outcome.err
    for found, expected in zip(said, lines, strict=True):
        assert found.startswith(expected)
    assert outcome.out == ""
    assert not Path("out").exists()
