"""A Dask scheduler and its workers as processes of their own on loopback, for tests."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from pathlib import Path

from benchmarks.dask_cluster import start

from timeouts import until

__all__ = ["DaskCluster"]


class DaskCluster:
    """Processes that are started one by one, and all ended by `close`, or with this process."""

    def __init__(self, folder: Path, environment: Mapping[str, str] | None = None) -> None:
        folder.mkdir(exist_ok=True)
        self.folder = folder
        self.file = folder / "scheduler.json"
        self.processes: list[subprocess.Popen[bytes]] = []
        options = ("--port", "0", "--scheduler-file", str(self.file))
        self._start("dask_scheduler", *options, environment=environment)
        until(self.file.exists, "the start of a scheduler")

    @property
    def address(self) -> str:
        return f"file:{self.file}"

    def worker(self, environment: Mapping[str, str] | None = None) -> subprocess.Popen[bytes]:
        """One more worker of one thread; it works in a folder of its own."""
        own = self.folder / f"worker{len(self.processes)}"
        own.mkdir()
        return self._start(
            "dask_worker",
            *("--scheduler-file", str(self.file), "--nthreads", "1", "--no-nanny"),
            *("--local-directory", str(own)),
            cwd=own,
            environment=environment or {},
        )

    def _start(
        self,
        module: str,
        *options: str,
        cwd: Path | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> subprocess.Popen[bytes]:
        log = self.folder / f"{len(self.processes)}.log"
        folder = cwd or self.folder
        process = start(module, *options, folder=folder, log=log, variables=environment)
        self.processes.append(process)
        return process

    def close(self) -> None:
        for process in reversed(self.processes):  # workers before their scheduler
            process.kill()
            process.communicate()
