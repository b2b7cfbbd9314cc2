"""Time one campaign with one process, with two, and on Dask's workers: the same bytes come out.

python -m benchmarks.scaling [--topics N] [--results N] [--runs N] [--repeats N] [--data DIR]

One process is bound to one core and compared with Polars on one core; two have all the cores, as
has Polars then. Dask's scheduler and two workers are processes of their own on this machine.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from argparse import ArgumentParser
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from benchmarks.campaign import KINDS, Files, Size
from benchmarks.frame import (
    Figures,
    add_options,
    folder_of,
    generated,
    measured,
    parse_options,
    publish,
    surroundings,
)
from benchmarks.outcome import Aim, Outcome, Table
from benchmarks.processes import Command
from benchmarks.sizes import number
from benchmarks.tasks import MEASURES

# This process must stay small: a child inherits its peak memory (see README.md).

FASTER = 1.7
"""The aim for two processes; the rest is starting, and what one alone must do."""


DASK = "dask 2"


@dataclass(frozen=True)
class ScalingSize(Size):
    """A fifth of the runs of the campaign of passages, of one kind."""

    runs: int = number(20, "number of runs")
    kinds: int = number(1, "kinds of runs")


@dataclass(frozen=True)
class ScalingFiles(Files):
    """The files of such a campaign."""

    kind = ScalingSize


def _commands(files: Files, place: Path) -> tuple[dict[str, Command], list[str]]:
    """Every way to score the runs; each writes a file of its name."""
    runs = [str(run) for run in files.runs]
    asked = [*runs, "-j", str(files.judgements), *(p for m in MEASURES for p in ("-m", m))]
    asked += ["-f", "json", "-o"]
    found = {}
    for processes in (1, 2):
        read = ("tasks", "polars", str(files.root), KINDS[0])
        found[f"polars {processes}"] = Command.task(*read, cores=processes)
        own = [*asked, str(place / f"workers {processes}"), "-w", str(processes)]
        found[f"workers {processes}"] = Command.foveal("evaluate", *own, cores=processes)
    if find_spec("distributed") is None:
        return found, ["Not compared: Dask is not installed, which `foveal[dask]` brings."]
    found[DASK] = Command.task("dask_cluster", "2", "evaluate", *asked, str(place / DASK))
    return found, []


# -- the report --------------------------------------------------------------------------------


TEXTS = {
    "polars 1": "Polars reads, one core",
    "workers 1": "`-w 1`, one core",
    "polars 2": "Polars reads, two cores",
    "workers 2": "`-w 2`, two cores",
    DASK: "`--dask`, two workers that are there already",
}


def _rows(figures: Figures, digests: dict[str, str]) -> list[list[str]]:
    rows = []
    for task in figures.of:
        wall, cpu = figures.ratios(task, "polars 1" if task.endswith("1") else "polars 2")
        same = digests.get(task)
        # Of a cluster the command alone is timed, but processor time and memory are of all.
        seconds = figures(task, "inside" if task == DASK else "seconds")
        rows.append(
            [
                TEXTS[task],
                f"{seconds:.2f}",
                "" if task == DASK else wall,
                f"{figures(task, 'cpu'):.2f}",
                cpu,
                f"{figures(task, 'megabytes'):.0f}",
                f"{figures(task, 'processes'):.0f}",
                "" if same is None else same[:12],
            ]
        )
    return rows


def outcome(files: Files, size: Size, repeats: int) -> Outcome:
    """Measure everything; refuse to report if the bytes differ."""
    load = os.getloadavg()[0]
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        commands, notes = _commands(files, place)
        found = measured(commands, repeats, warm=["polars 2"])
        written = [task for task in commands if not task.startswith("polars")]
        digests = {
            task: hashlib.sha256((place / task).read_bytes()).hexdigest() for task in written
        }
    if len(set(digests.values())) > 1:
        raise RuntimeError(f"the scores depend on who computes them: {digests}")
    figures = Figures(found)
    head = ("scored by", "seconds", "of reading", "CPU seconds", "of reading", "peak MB")
    return Outcome(
        "Processes",
        [
            f"{size.topics} topics x {size.results} results x {size.runs} runs: {size.lines:,}",
            surroundings(repeats, load),
        ],
        [Table((*head, "processes", "SHA-256 of the scores"), _rows(figures, digests))],
        [
            Aim(
                "two processes are faster",
                figures.ratio("workers 1", "workers 2"),
                FASTER,
                "times",
                at_least=True,
            )
        ],
        notes=notes,
        measurements=found,
    )


def main(arguments: Sequence[str] | None = None) -> None:
    parser = ArgumentParser(prog="python -m benchmarks.scaling", description=__doc__)
    add_options(parser, repeats=3, kept="campaign")
    options = parse_options(parser, arguments, ScalingSize)
    with folder_of(options) as root:
        files = generated(ScalingFiles(root), options.size, "generate")
        publish(outcome(files, options.size, options.repeats), options)


if __name__ == "__main__":
    main()
