"""Time one short run from the shell, also against an earlier checkout of the project.

python -m benchmarks.starting [--before DIR] [--short N] [--repeats N] [--data DIR]

DIR is a checkout with a virtual environment of its own (DIR/.venv). The commands take turns, and
the best time of each counts: other work on the machine makes a command slower, never faster.
"""

from __future__ import annotations

import os
import sys
from argparse import ArgumentParser
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from benchmarks.campaign import Files, Size
from benchmarks.frame import (
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
from benchmarks.tasks import MEASURES

# This process must stay small: a child inherits its peak memory (see README.md).

SIZE = Size(runs=1, results=10, kinds=1)
"""The short run needs no others beside it."""
RATIO = 0.6
"""The aim: at most so much of the time of the earlier checkout."""
IMPORTS, NOW, BEFORE = "imports", "now", "before"


def outcome(files: Files, size: Size, repeats: int, before: Path | None) -> Outcome:
    """Measure the command, its imports alone, and the command of the earlier checkout."""
    load = os.getloadavg()[0]
    asked = [part for measure in MEASURES for part in ("-m", measure)]
    scoring = ["evaluate", str(files.short_run), "-j", str(files.judgements), *asked]
    commands = {
        IMPORTS: Command([sys.executable, "-c", "import numpy, polars"]),
        NOW: Command.foveal(*scoring),
    }
    if before is not None:
        commands[BEFORE] = Command([str(before / ".venv" / "bin" / "foveal"), *scoring])
    found = measured(commands, repeats)
    best = {
        (task, name): min(report[name] for report in reports)
        for task, reports in found.items()
        for name in ("seconds", "cpu", "megabytes")
    }
    names = {
        IMPORTS: '`python -c "import numpy, polars"`',
        NOW: f"`foveal evaluate`, {', '.join(MEASURES)}",
        BEFORE: "the same, by the earlier checkout",
    }
    reference = NOW if before is None else BEFORE
    rows = [
        [
            text,
            f"{best[task, 'seconds']:.3f}",
            f"{best[task, 'seconds'] / best[reference, 'seconds']:.2f}",
            f"{best[task, 'cpu']:.3f}",
            f"{best[task, 'cpu'] / best[reference, 'cpu']:.2f}",
            f"{best[task, 'megabytes']:.0f}",
        ]
        for task, text in names.items()
        if task in found
    ]
    ratio = f"of {'the command' if before is None else 'the earlier'}"
    aims = []
    if before is not None:
        for name, text in (("seconds", "seconds"), ("cpu", "CPU seconds")):
            now = best[NOW, name] / best[BEFORE, name]
            aims.append(Aim(f"{text}, now / earlier checkout", now, RATIO, "times"))
    return Outcome(
        "One short run",
        [
            f"{size.short:,} lines, {size.topics} topics, {size.judged:,} judged documents each",
            surroundings(repeats, load).replace("median", "best"),
        ],
        [
            Table(
                ("task", "seconds", ratio, "CPU seconds", ratio, "MB"),
                rows,
                "Whole processes, as a shell sees them, the best of all repeats:",
            )
        ],
        aims,
        notes=[] if before else ["Not compared with an earlier checkout; --before names one."],
        measurements=found,
    )


def main(arguments: Sequence[str] | None = None) -> None:
    parser = ArgumentParser(prog="python -m benchmarks.starting", description=__doc__)
    parser.add_argument(
        "--before", type=Path, metavar="DIR", help="compare with this earlier checkout"
    )
    parser.add_argument(
        "--short", type=int, default=SIZE.short, metavar="N", help=f"lines (default {SIZE.short})"
    )
    parser.add_argument(
        "--judged",
        type=int,
        default=SIZE.judged,
        metavar="N",
        help=f"judged documents per topic (default {SIZE.judged})",
    )
    add_options(parser, repeats=15, kept="run")
    options = parse_options(parser, arguments)
    before = None if options.before is None else options.before.resolve()
    if before is not None and not (before / ".venv" / "bin" / "foveal").exists():
        parser.error("--before: no .venv/bin/foveal in this checkout")
    try:
        size = replace(SIZE, short=options.short, judged=options.judged)
    except ValueError as error:
        parser.error(str(error))
    with folder_of(options) as root:
        files = generated(Files(root), size, "generate")
        publish(outcome(files, size, options.repeats, before), options)


if __name__ == "__main__":
    main()
