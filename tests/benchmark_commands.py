"""Benchmarks as commands, with modules that are compiled once for all of them."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.processes import compiled

from timeouts import finished

__all__ = ["ROOT", "benchmark", "environment"]

ROOT = Path(__file__).parent.parent


@cache
def _folder() -> TemporaryDirectory[str]:
    """Compiled modules, until this process ends: to compile them takes longer than most tests."""
    return TemporaryDirectory()


def environment() -> dict[str, str]:
    return compiled(Path(_folder().name))


def benchmark(
    module: str, *options: str, variables: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a benchmark to its end, which must be a good one."""
    command = [sys.executable, "-m", module, *options]
    done = finished(command, cwd=ROOT, env={**environment(), **(variables or {})})
    assert done.returncode == 0, done.stderr
    return done
