"""What the figures were measured on: the machine, and the versions of everything involved."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from benchmarks.references import java, trec_eval

__all__ = ["machine", "versions"]

PACKAGES = (
    "foveal",
    "numpy",
    "polars",
    "ir_measures",
    "pytrec_eval-terrier",
    "click",
    "dask",
    "distributed",
    "matplotlib",
    "uvicorn",
    "starlette",
    "playwright",
)
"""Those that are not installed are not listed."""


def _told(path: str, name: str) -> str | None:
    """The value of the first line ``name : value`` of a file of the system."""
    try:
        lines = Path(path).read_text().splitlines()
    except OSError:
        return None
    found = (line.partition(":")[2].strip() for line in lines if line.startswith(name))
    return next(found, None)


def machine() -> dict[str, str]:
    """Processor, cores, memory and system, as far as the system tells."""
    cores = str(os.cpu_count())
    if hasattr(os, "sched_getaffinity"):
        cores += f", {len(os.sched_getaffinity(0))} of them usable"
    memory = _told("/proc/meminfo", "MemTotal")
    return {
        "processor": _told("/proc/cpuinfo", "model name") or platform.processor() or "unknown",
        "cores": cores,
        "memory": f"{int(memory.split()[0]) * 1024 / 1e9:.1f} GB" if memory else "unknown",
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
        "load": f"{os.getloadavg()[0]:.1f} before",
    }


def versions() -> dict[str, str]:
    """Of Python, of packages and of other programs that are compared with."""
    found = {platform.python_implementation(): platform.python_version()}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    programs = {
        "trec_eval": [str(trec_eval()), "--version"] if trec_eval() else None,
        "java": [java(), "-version"] if shutil.which(java()) else None,
    }
    for name, command in programs.items():
        if command is not None:
            found[name] = _first_line(command)
    return found


def _first_line(command: list[str]) -> str:
    """What a program says of its version, on whichever output."""
    done = subprocess.run(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )
    return (done.stdout.strip().splitlines() or ["version unknown"])[0]
