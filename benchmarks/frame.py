"""The frame of a benchmark: options, a place for its files, tasks in processes, the report.

Nothing here imports NumPy or Polars (see `benchmarks.sizes`).
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from argparse import ArgumentParser, Namespace
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import TypeVar

from benchmarks.outcome import Outcome
from benchmarks.processes import ROOT, Command, Report, compiled, measure
from benchmarks.sizes import CampaignFiles, CampaignSize, add_size_options

__all__ = [
    "Figures",
    "add_growth_options",
    "add_options",
    "add_output_options",
    "folder_of",
    "generated",
    "measured",
    "parse_options",
    "publish",
    "say",
    "surroundings",
]

FilesT = TypeVar("FilesT", bound=CampaignFiles)


# -- options and files -------------------------------------------------------------------------


def add_options(parser: ArgumentParser, *, repeats: int, kept: str | None = None) -> None:
    """How often, where the generated files (`kept`) stay, where the report goes."""
    parser.add_argument(
        "--repeats", type=int, default=repeats, metavar="N", help=f"(default {repeats})"
    )
    if kept is not None:
        parser.add_argument("--data", type=Path, metavar="DIR", help=f"keep the {kept} here")
    add_output_options(parser)


def add_output_options(parser: ArgumentParser) -> None:
    """Where the report goes."""
    parser.add_argument("--output", type=Path, metavar="FILE", help="write the report here too")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every measurement here")


def add_growth_options(parser: ArgumentParser) -> None:
    """How much is measured of how figures grow."""
    parser.add_argument(
        "--points", type=int, default=4, metavar="N", help="sizes of each kind, 0 or 2 to 4"
    )
    parser.add_argument(
        "--divide", type=int, default=1, metavar="N", help="these sizes by this (default 1)"
    )


def parse_options(
    parser: ArgumentParser,
    arguments: Sequence[str] | None,
    size: type[CampaignSize] | None = None,
) -> Namespace:
    """What the command line says, checked; with a campaign, its `size` as one of the options."""
    if size is not None:
        add_size_options(parser, size)
    options = parser.parse_args(arguments)
    if options.repeats < 1:
        parser.error("--repeats must be 1 or more")
    if "points" in options and (
        options.points not in (0, 2, 3, 4) or options.divide not in range(1, 11)
    ):
        parser.error("expected 0 or 2 to 4 points, and a divisor from 1 to 10")
    if size is not None:
        try:
            options.size = size.of(options)
        except ValueError as error:
            parser.error(str(error))
    return options


@contextmanager
def folder_of(options: Namespace) -> Iterator[Path]:
    """The directory of the generated files: the one asked for, or one that goes away."""
    place = tempfile.TemporaryDirectory() if options.data is None else nullcontext(options.data)
    with place as root:
        yield Path(root).resolve()


def generated(files: FilesT, size: CampaignSize, module: str) -> FilesT:
    """The files of a campaign: those that are there, or new ones.

    Another process generates them, by `module`: this one must not grow.
    """
    if files.size() != size:
        say(f"generating {size.lines:,} results")
        options = [f"--{name}={value}" for name, value in vars(size).items()]
        command = [sys.executable, "-m", f"benchmarks.{module}", str(files.root), *options]
        subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    return files


# -- measuring ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Figures:
    """What was measured of every task, repeat by repeat; called for the median of one figure."""

    of: Mapping[str, Sequence[Report]]

    def __call__(self, task: str, name: str = "seconds") -> float:
        return median(report[name] for report in self.of[task])

    def ratio(self, task: str, reference: str, name: str = "seconds") -> float:
        """The median of the ratios of each repeat: what ran in the same minute is compared."""
        pairs = zip(self.of[task], self.of[reference], strict=True)
        return median(own[name] / other[name] for own, other in pairs)

    def ratios(self, task: str, reference: str) -> list[str]:
        """Seconds and CPU seconds against the reference, for a table."""
        if task == reference:
            return ["reference", "reference"]
        return [f"{self.ratio(task, reference, name):.2f}" for name in ("seconds", "cpu")]


def say(text: str) -> None:
    """Tell how far it is."""
    print(text, file=sys.stderr, flush=True)


def measured(
    commands: Mapping[str, Command], repeats: int, *, warm: Iterable[str] | None = None
) -> dict[str, list[Report]]:
    """All commands in turn, `repeats` times.

    Those of `warm` (all if not said) run once before and are not counted: they compile the modules
    and bring the files into memory.
    """
    found: dict[str, list[Report]] = {name: [] for name in commands}
    with tempfile.TemporaryDirectory() as cache:
        environment = compiled(Path(cache))
        for name in commands if warm is None else warm:
            measure(commands[name], environment)
        for repeat in range(1, repeats + 1):
            for name, command in commands.items():
                found[name].append(measure(command, environment))
                say(f"  {repeat} of {repeats}: {name} {found[name][-1]['seconds']:.1f} s")
    return found


def surroundings(repeats: int, load: float) -> str:
    """How often and how undisturbed a benchmark was measured, for its facts."""
    often = "once" if repeats == 1 else f"median of {repeats}"
    return f"{often}, tasks in turn, {os.cpu_count()} cores, load average {load:.1f} at the start"


# -- the report --------------------------------------------------------------------------------


def publish(outcome: Outcome, options: Namespace) -> None:
    """Print the report, and write it and the measurements where they are wanted."""
    report = outcome.markdown()
    print(report, end="")
    if options.output is not None:
        options.output.write_text(report)
    if options.json is not None:
        options.json.write_text(outcome.as_json())
