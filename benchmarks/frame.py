"""The frame of a benchmark: options, a place for its files, tasks in processes, tables.

Nothing here imports NumPy or Polars (see `benchmarks.sizes`).
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import TypeVar

from benchmarks.processes import ROOT
from benchmarks.sizes import CampaignFiles, CampaignSize, add_size_options

__all__ = [
    "Figures",
    "Report",
    "add_options",
    "folder_of",
    "generated",
    "parse_options",
    "publish",
    "reported",
    "table",
]

Report = dict[str, float]
"""What a task says of itself: seconds, memory and the like by name."""
FilesT = TypeVar("FilesT", bound=CampaignFiles)


# -- options and files -------------------------------------------------------------------------


def add_options(parser: ArgumentParser, *, repeats: int, kept: str) -> None:
    """How often, where the generated files (`kept`) stay, where the report goes."""
    parser.add_argument(
        "--repeats", type=int, default=repeats, metavar="N", help=f"(default {repeats})"
    )
    parser.add_argument("--data", type=Path, metavar="DIR", help=f"keep the {kept} here")
    parser.add_argument("--output", type=Path, metavar="FILE", help="write the report here too")


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
        options = [f"--{name}={value}" for name, value in vars(size).items()]
        command = [sys.executable, "-m", module, str(files.root), *options]
        subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    return files


# -- tasks that report on themselves -----------------------------------------------------------


@dataclass(frozen=True)
class Figures:
    """What tasks reported, repeat by repeat; called for the median of one figure."""

    of: Mapping[str, Sequence[Report]]

    def __call__(self, task: str, name: str) -> float:
        return median(report[name] for report in self.of[task])


def reported(module: str, task: str, *arguments: str, environment: Mapping[str, str]) -> Report:
    """What a task of a module prints as JSON, in a process of its own."""
    command = [sys.executable, "-m", module, task, *arguments]
    done = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise RuntimeError(f"{task} ended with {done.returncode}: {done.stderr[-2000:]}")
    report: Report = json.loads(done.stdout)
    return report


# -- the report --------------------------------------------------------------------------------


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """The lines of a Markdown table: names on the left, numbers on the right.

    >>> table(["task", "s"], [["read", "1.5"]])
    ['| task | s |', '| :-- | --: |', '| read | 1.5 |']
    """
    rule = [":--", *["--:"] * (len(head) - 1)]
    return [f"| {' | '.join(row)} |" for row in (head, rule, *rows)]


def publish(report: str, options: Namespace) -> None:
    """Print the report, and write it where it is wanted."""
    print(report, end="")
    if options.output is not None:
        options.output.write_text(report)
