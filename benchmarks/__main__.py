"""Time Foveal, Polars and ir_measures on one generated campaign and print the ratios.

python -m benchmarks [--topics N] [--results N] [--runs N] [--repeats N] [--data DIR]
"""

from __future__ import annotations

import os
import sys
import tempfile
from argparse import ArgumentParser
from collections.abc import Sequence
from pathlib import Path

from benchmarks.campaign import Files, Size
from benchmarks.frame import add_options, folder_of, generated, parse_options, publish
from benchmarks.processes import Measurement, compiled, measure
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


def main(arguments: Sequence[str] | None = None) -> None:
    parser = ArgumentParser(prog="python -m benchmarks", description=__doc__)
    add_options(parser, repeats=5, kept="campaign")
    options = parse_options(parser, arguments, Size)
    load = os.getloadavg()[0]
    with folder_of(options) as root:
        files = generated(Files(root), options.size, "benchmarks.generate")
        report = markdown(
            _measured(files, options.repeats),
            options.size,
            repeats=options.repeats,
            load=load,
            megabytes=sum(path.stat().st_size for path in files.runs) / 1e6,
            documents=sum(map(_lines, files.document_runs)),
        )
    publish(report, options)


if __name__ == "__main__":
    main()
