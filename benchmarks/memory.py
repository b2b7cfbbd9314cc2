"""The memory of a process and all its children together, looked up while they run.

Linux tells it of every process in ``/proc``. Pages that processes share are counted once: each has
its part of them (the *proportional* set). Elsewhere only the largest process is known.
"""

from __future__ import annotations

import threading
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

__all__ = ["Watch", "family", "proportional", "resident"]

_PROC = Path("/proc")
_PAGE = 4096
_BETWEEN = 0.02
"""Seconds between two looks."""
_MORE = 1.01
"""The shares of pages are counted when the processes have grown by so much: that takes longer."""


def family(pid: int) -> list[int]:
    """A process and all that descend from it, as far as they are there."""
    found = [pid]
    for parent in found:
        # The process or one of its threads may end between any two of these lines.
        with suppress(OSError):
            for thread in (_PROC / str(parent) / "task").iterdir():
                with suppress(OSError):
                    found += map(int, (thread / "children").read_text().split())
    return found


def resident(pid: int) -> int:
    """Bytes of a process that are in memory, shared ones included; 0 if it has ended."""
    try:
        return int((_PROC / str(pid) / "statm").read_text().split()[1]) * _PAGE
    except (OSError, IndexError):
        return 0


def proportional(pid: int) -> int:
    """Bytes of a process that are in memory, shared ones in parts; 0 if it has ended."""
    try:
        for line in (_PROC / str(pid) / "smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) * 1024
    except OSError:
        pass
    return 0


class Watch:
    """Watches a process and its children from a thread; `peak` is the most they had at one time."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.peak = 0
        """In bytes; 0 where the system does not tell."""
        self.processes = 1
        """The most that there were at one time."""
        self._resident = 0
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def look(self) -> None:
        """Count once."""
        pids = family(self.pid)
        self.processes = max(self.processes, len(pids))
        held = sum(map(resident, pids))
        if held > self._resident * _MORE:
            self._resident = held
            self.peak = max(self.peak, sum(map(proportional, pids)))

    def _watch(self) -> None:
        while not self._ended.wait(_BETWEEN):
            self.look()

    def __enter__(self) -> Self:
        if _PROC.is_dir():
            self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._ended.set()
        if self._thread.ident is not None:
            self._thread.join()
