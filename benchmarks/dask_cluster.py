"""Run a command of Foveal on a Dask cluster of this machine, started for it and ended after it.

    python -m benchmarks.dask_cluster 2 evaluate RUN... -j QRELS -m AiP -o FILE

starts a scheduler and two workers, each a process of its own on loopback, gives the command their
address, and prints as JSON the seconds that the command alone took.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from benchmarks.processes import Command, timed

__all__ = ["cluster", "main", "start"]

_PATIENCE = 120.0
"""Seconds in which the scheduler must be there."""
_FOLLOWS = """
import os, runpy, sys, threading
threading.Thread(target=lambda: os._exit(len(os.read(0, 1))), daemon=True).start()
runpy.run_module(sys.argv.pop(1), run_name="__main__", alter_sys=True)
"""
"""Runs a module, and ends when its standard input does: with the process that holds the other end,
however that one ends."""


def start(
    module: str,
    *options: str,
    folder: Path,
    log: Path,
    variables: Mapping[str, str] | None = None,
) -> subprocess.Popen[bytes]:
    """A scheduler or a worker on loopback that does not outlive this process."""
    command = [sys.executable, "-c", _FOLLOWS, f"distributed.cli.{module}", "--no-dashboard"]
    with log.open("wb") as said:
        return subprocess.Popen(
            [*command, "--host", "127.0.0.1", *options],
            cwd=folder,
            env={**os.environ, **(variables or {})},
            stdin=subprocess.PIPE,
            stdout=said,
            stderr=said,
        )


@contextmanager
def cluster(workers: int, folder: Path) -> Iterator[str]:
    """The address of a scheduler with so many workers of one thread each."""
    known, processes = folder / "scheduler.json", []
    file = ("--scheduler-file", str(known))
    try:
        log = folder / "scheduler.log"
        processes.append(start("dask_scheduler", "--port", "0", *file, folder=folder, log=log))
        _await(known, processes[0])
        for number in range(workers):
            own, log = folder / f"worker-{number}", folder / f"worker-{number}.log"
            own.mkdir()
            options = ("--nthreads", "1", "--no-nanny", "--local-directory", str(own), *file)
            processes.append(start("dask_worker", *options, folder=folder, log=log))
        yield f"file:{known}"
    finally:
        for process in reversed(processes):  # workers before their scheduler
            process.kill()
            process.communicate()


def _await(known: Path, scheduler: subprocess.Popen[bytes]) -> None:
    """Wait until the scheduler says where it is."""
    last = time.monotonic() + _PATIENCE
    while not known.exists():
        if scheduler.poll() is not None or time.monotonic() > last:
            raise RuntimeError(f"Dask's scheduler does not start (exit code {scheduler.poll()})")
        time.sleep(0.05)


def main(workers: str, *arguments: str) -> None:
    with tempfile.TemporaryDirectory() as folder, cluster(int(workers), Path(folder)) as address:
        command = Command.foveal(*arguments, "--dask", address)
        took = timed(lambda: subprocess.run(command.arguments, check=True, stdout=sys.stderr))
        print(json.dumps({"inside": took["inside"]}))


if __name__ == "__main__":
    main(*sys.argv[1:])
