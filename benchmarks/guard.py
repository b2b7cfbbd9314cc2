"""One figure that tests can watch: the CPU seconds of scoring passages over those of reading them.

    python -m benchmarks.guard [--repeats N]

prints the ratio. A process on one core does both in turn, several
times, and the least of each counts: what else goes on may slow a repeat down, but speeds none up.
"""

from __future__ import annotations

import json
import sys
import tempfile
from argparse import ArgumentParser
from collections.abc import Sequence
from pathlib import Path

from benchmarks.campaign import KINDS, Files, Size
from benchmarks.processes import Command, Report, compiled, measure, timed

__all__ = ["BOUND", "SIZE", "least", "ratio"]

SIZE = Size(topics=30, results=1000, runs=5, kinds=1, documents=20_000)
"""Large enough that starting counts for little, and over in a few seconds."""
REPEATS = 7
BOUND = 8.0
"""How far the ratio may go: twice what it is (see README.md)."""


def least(root: Path, repeats: int) -> Report:
    """The least CPU seconds of reading by Polars and of scoring, and their ratio."""
    from benchmarks.tasks import TASKS

    files = Files(root)
    works = {name: TASKS[name](files, KINDS[0], None) for name in ("polars", "foveal")}
    found: dict[str, list[float]] = {name: [] for name in works}
    for _ in range(repeats):
        for name, work in works.items():
            found[name].append(timed(work)["inside_cpu"])
    low = {name: min(seconds) for name, seconds in found.items()}
    return {**low, "ratio": low["foveal"] / low["polars"]}


def ratio(repeats: int = REPEATS) -> Report:
    """Generate a campaign and measure it, in processes of their own."""
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as cache:
        environment = compiled(Path(cache))
        sizes = [f"--{name}={value}" for name, value in vars(SIZE).items()]
        campaign = [sys.executable, "-m", "benchmarks.generate", f"{folder}/campaign", *sizes]
        measure(Command(campaign), environment)
        own = Command.task("guard", "--in", f"{folder}/campaign", f"--repeats={repeats}", cores=1)
        return measure(own, environment)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = ArgumentParser(prog="python -m benchmarks.guard", description=__doc__)
    parser.add_argument("--repeats", type=int, default=REPEATS, metavar="N")
    parser.add_argument("--in", dest="root", type=Path, metavar="DIR", help="a campaign")
    options = parser.parse_args(arguments)
    if options.root is not None:
        print(json.dumps(least(options.root, options.repeats)))
        return
    found = ratio(options.repeats)
    print(f"{found['ratio']:.2f}, expected under {BOUND:g}")


if __name__ == "__main__":
    main()
