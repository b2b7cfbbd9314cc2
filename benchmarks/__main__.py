"""Time Foveal, Polars and ir_measures on one generated campaign and print the ratios.

python -m benchmarks [--topics N] [--results N] [--runs N] [--repeats N] [--data DIR]
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path

from benchmarks.campaign import Files, Size, add_size_options
from benchmarks.processes import ROOT, Measurement, compiled, measure
from benchmarks.report import Figures, markdown
from benchmarks.tasks import MEASURES, TASKS


def _foveal() -> list[str]:
    """The command as a user has it, else the module."""
    script = Path(sys.executable).parent / "foveal"
    return [str(script)] if script.exists() else [sys.executable, "-m", "foveal"]


def _commands(files: Files) -> dict[str, list[str]]:
    """Every process to be measured, by the name the report knows it by."""
    measures = [part for measure in MEASURES for part in ("-m", measure)]
    judged = ["-j", str(files.judgements), *measures]
    return {
        "floor": [sys.executable, "-c", "pass"],
        "version": [*_foveal(), "--version"],
        "short": [*_foveal(), "evaluate", str(files.short_run), *judged],
        "shell": [*_foveal(), "evaluate", *map(str, files.runs), *judged],
        **{
            name: [sys.executable, "-m", "benchmarks.tasks", name, str(files.root)]
            for name in TASKS
        },
    }


def _generated(root: Path, size: Size) -> Files:
    """The files of the campaign: those that are there, or new ones.

    Another process generates them: this one must not grow (see `benchmarks.campaign`).
    """
    files = Files(root)
    if files.size() != size:
        options = [f"--{name}={value}" for name, value in vars(size).items()]
        command = [sys.executable, "-m", "benchmarks.generate", str(root), *options]
        subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    return files


def _measured(files: Files, repeats: int) -> Figures:
    """All processes in turn, `repeats` times after a first round that only warms up."""
    commands = _commands(files)
    found: dict[str, list[Measurement]] = {name: [] for name in commands}
    with tempfile.TemporaryDirectory() as cache:
        environment = compiled(Path(cache))
        for repeat in range(repeats + 1):
            for name, command in commands.items():
                measurement = measure(command, environment, reports=name in TASKS)
                if repeat:
                    found[name].append(measurement)
            print(f"repeat {repeat} of {repeats} done", file=sys.stderr, flush=True)
    return Figures(found)


def _lines(path: Path) -> int:
    with path.open("rb") as file:
        return sum(1 for _ in file)


def _options(arguments: Sequence[str] | None) -> tuple[Namespace, Size]:
    parser = ArgumentParser(prog="python -m benchmarks", description=__doc__)
    add_size_options(parser)
    parser.add_argument("--repeats", type=int, default=5, metavar="N", help="(default 5)")
    parser.add_argument("--data", type=Path, metavar="DIR", help="keep the campaign here")
    parser.add_argument("--output", type=Path, metavar="FILE", help="write the report here too")
    options = parser.parse_args(arguments)
    if options.repeats < 1:
        parser.error("--repeats must be 1 or more")
    try:
        return options, Size.of(options)
    except ValueError as error:
        parser.error(str(error))


def main(arguments: Sequence[str] | None = None) -> None:
    options, size = _options(arguments)
    load = os.getloadavg()[0]
    place = tempfile.TemporaryDirectory() if options.data is None else nullcontext(options.data)
    with place as root:
        files = _generated(Path(root).resolve(), size)
        report = markdown(
            _measured(files, options.repeats),
            size,
            repeats=options.repeats,
            load=load,
            megabytes=sum(path.stat().st_size for path in files.runs) / 1e6,
            documents=sum(map(_lines, files.document_runs)),
        )
    print(report, end="")
    if options.output is not None:
        options.output.write_text(report)


if __name__ == "__main__":
    main()
