"""Measure one child process: wall time, processor time, peak memory with all that it starts."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.memory import Watch

__all__ = ["ROOT", "Command", "Report", "compiled", "measure", "timed"]

ROOT = Path(__file__).resolve().parent.parent
"""The project: children run here, so that they find this package."""

Report = dict[str, float]
"""What is known of one process by name: seconds, memory, and what it says of itself."""

_MEMORY_UNIT = 1 if sys.platform == "darwin" else 1024
"""Bytes in a unit of ``ru_maxrss``."""
_NOT_COMPILED = "PYTHONDONTWRITEBYTECODE"


@dataclass(frozen=True)
class Command:
    """A process to be measured."""

    arguments: Sequence[str]
    reports: bool = False
    """Whether it prints figures of its own, as JSON."""
    cores: int | None = None
    """On how many cores it may run; on all of them if not said."""
    variables: Mapping[str, str] = field(default_factory=dict)
    """Of its environment, beside those that are there."""

    @classmethod
    def task(cls, module: str, *arguments: str, cores: int | None = None) -> Command:
        """A task of a module of this package that reports on itself."""
        own = [sys.executable, "-m", f"benchmarks.{module}"]
        return cls([*own, *arguments], reports=True, cores=cores)

    @classmethod
    def foveal(cls, *arguments: str, cores: int | None = None) -> Command:
        """The command as a user has it, else the module."""
        script = Path(sys.executable).parent / "foveal"
        own = [str(script)] if script.exists() else [sys.executable, "-m", "foveal"]
        return cls([*own, *arguments], cores=cores)


def compiled(cache: Path) -> dict[str, str]:
    """An environment in which modules are compiled once, as an installation has them.

    They go into `cache`, or where the caller keeps those of several benchmarks. A setting not to
    write byte code is dropped: it would be measured too.
    """
    kept = {name: value for name, value in os.environ.items() if name != _NOT_COMPILED}
    return {"PYTHONPYCACHEPREFIX": str(cache)} | kept


def measure(command: Command, environment: Mapping[str, str]) -> Report:
    """Run a command to its end; what it reports itself comes beside what is seen from outside.

    The seconds are of the whole process as a shell sees it. ``cpu`` are seconds of all cores, user
    and system, of the process and the children it waited for: steadier than ``seconds`` on a busy
    machine. ``megabytes`` are those of all its processes together when they had most; they are
    never less than what the largest one had, which the system knows exactly.
    """
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        begin = time.perf_counter()
        child = subprocess.Popen(
            _on_cores(command),
            cwd=ROOT,
            env={**environment, **command.variables},
            stdout=out,
            stderr=err,
        )
        with Watch(child.pid) as watch:
            _, status, usage = os.wait4(child.pid, 0)
            seconds = time.perf_counter() - begin
        child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode:
            err.seek(0)
            message = err.read().decode(errors="replace")
            shown = " ".join(map(str, command.arguments[:4]))
            raise RuntimeError(f"{shown} ended with {child.returncode}: {message[-2000:]}")
        out.seek(0)
        said: Report = json.loads(out.read()) if command.reports else {}
    largest = usage.ru_maxrss * _MEMORY_UNIT
    return {
        "seconds": seconds,
        "cpu": usage.ru_utime + usage.ru_stime,
        "megabytes": max(watch.peak, largest) / 1e6,
        "processes": watch.processes,
    } | said


def _on_cores(command: Command) -> list[str]:
    """The command, bound to the first of the cores that this process may use."""
    if command.cores is None:
        return list(command.arguments)
    allowed = sorted(os.sched_getaffinity(0))[: command.cores]
    bind = (
        f"import os, sys; os.sched_setaffinity(0, {allowed}); os.execvp(sys.argv[1], sys.argv[1:])"
    )
    return [sys.executable, "-S", "-c", bind, *command.arguments]


def timed(work: Callable[[], object]) -> Report:
    """What a task takes after its imports: seconds and those of all cores, ended children too."""
    begin, before = time.perf_counter(), _used()
    work()
    return {"inside": time.perf_counter() - begin, "inside_cpu": _used() - before}


def _used() -> float:
    """CPU seconds of this process and of its children that have ended."""
    own = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in own)
