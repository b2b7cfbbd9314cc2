"""Measure one child process: wall time, processor time, peak memory."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

__all__ = ["MEMORY_UNIT", "ROOT", "Measurement", "compiled", "measure"]

ROOT = Path(__file__).resolve().parent.parent
"""The project: children run here, so that they find this package."""

MEMORY_UNIT = 1 if sys.platform == "darwin" else 1024
"""Bytes in a unit of ``ru_maxrss``."""

_BYTE_CODE = ("PYTHONDONTWRITEBYTECODE", "PYTHONPYCACHEPREFIX")


@dataclass(frozen=True)
class Measurement:
    """What one process took, from start to end."""

    seconds: float
    cpu: float
    """Seconds of all cores, user and system: steadier than `seconds` on a busy machine."""
    megabytes: float
    inside: float | None = None
    """Seconds of the task alone, where the process reports them."""


def compiled(cache: Path) -> dict[str, str]:
    """An environment in which modules are compiled once, into `cache`, as an installation has them.

    Otherwise a setting of the caller, such as not to write byte code, would be measured too.
    """
    kept = {name: value for name, value in os.environ.items() if name not in _BYTE_CODE}
    return kept | {"PYTHONPYCACHEPREFIX": str(cache)}


def measure(
    command: Sequence[str], environment: Mapping[str, str], *, reports: bool = False
) -> Measurement:
    """Run a command to its end; with `reports` it prints the seconds of its task."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        begin = time.perf_counter()
        child = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=out, stderr=err)
        _, status, usage = os.wait4(child.pid, 0)
        seconds = time.perf_counter() - begin
        child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode:
            err.seek(0)
            message = err.read().decode(errors="replace")
            raise RuntimeError(f"{command[:4]} ended with {child.returncode}: {message[-2000:]}")
        out.seek(0)
        inside = float(out.read()) if reports else None
    return Measurement(
        seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * MEMORY_UNIT / 1e6, inside
    )
