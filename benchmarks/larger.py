"""Score a run that is larger than the memory it may take, and compare memory and time.

python -m benchmarks.larger [--topics N] [--results N] [--memory SIZE] [--repeats N] [--data DIR]

The bound is the memory that the option allows plus that of an interpreter that has imported Foveal.
The time is compared with that of the same command without a limit, if the memory suffices for it.
"""

from __future__ import annotations

import os
import sys
from argparse import ArgumentParser
from collections.abc import Sequence

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
from benchmarks.large_run import LargeFiles, LargeSize
from benchmarks.outcome import Aim, Outcome, Table
from benchmarks.processes import Command

# This process must stay small: a child inherits its peak memory (see README.md).

MEASURES = ("AiP", "P@10")
WITHOUT_LIMIT = "100T"
"""More than any machine has, so that the run is read at once."""
NEEDED = 6
"""Bytes of memory that scoring at once takes for each byte of the run."""
UNITS = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
IMPORTS, LIMITED, AT_ONCE = "imports", "limited", "at once"


def parse_memory(text: str) -> int:
    """Return the bytes of a size such as 500M.

    >>> parse_memory("2K"), parse_memory("500M")
    (2048, 524288000)
    """
    return int(text[:-1]) * UNITS[text[-1].upper()]


def available_memory() -> int:
    """Return the bytes that the machine can spare."""
    return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def outcome(files: LargeFiles, size: LargeSize, memory: str, repeats: int) -> Outcome:
    """Measure the command with a limit, without one, and the imports alone."""
    load = os.getloadavg()[0]
    (run,) = files.runs
    length = run.stat().st_size
    asked = [part for measure in MEASURES for part in ("-m", measure)]
    scoring = ["evaluate", str(run), "-j", str(files.judgements), *asked]
    commands = {
        IMPORTS: Command([sys.executable, "-c", "import foveal; foveal.evaluate"]),
        LIMITED: Command.foveal(*scoring, "--memory", memory),
    }
    notes = []
    if available_memory() > NEEDED * length:
        commands[AT_ONCE] = Command.foveal(*scoring, "--memory", WITHOUT_LIMIT)
    else:
        notes.append("Not compared with the run read at once: too little memory is free for it.")
    found = measured(commands, repeats, warm=[IMPORTS])
    figures = Figures(found)
    bound = parse_memory(memory) / 1e6 + figures(IMPORTS, "megabytes")
    names = {
        IMPORTS: '`python -c "import foveal; foveal.evaluate"`',
        LIMITED: f"`foveal evaluate --memory {memory}`",
        AT_ONCE: "the same without a limit",
    }
    rows = [
        [
            text,
            f"{figures(task):.1f}",
            f"{figures.ratio(task, AT_ONCE):.2f}" if AT_ONCE in found else "",
            f"{figures(task, 'cpu'):.1f}",
            f"{figures.ratio(task, AT_ONCE, 'cpu'):.2f}" if AT_ONCE in found else "",
            f"{figures(task, 'megabytes'):.0f}",
            f"{figures(task, 'megabytes') / bound:.2f}",
        ]
        for task, text in names.items()
        if task in found
    ]
    head = (
        *("task", "seconds", "of no limit", "CPU seconds", "of no limit"),
        *("peak MB", f"of {memory} and imports"),
    )
    asked_for = f"{size.topics} topics x {size.results:,} results: {size.lines:,} passages"
    peak = figures(LIMITED, "megabytes") / bound
    return Outcome(
        "Larger than memory",
        [
            f"{asked_for}, {length / 1e6:,.0f} MB, seed {size.seed}",
            surroundings(repeats, load),
        ],
        [Table(head, rows, f"Scored by {', '.join(MEASURES)}:")],
        [Aim(f"peak memory / ({memory} + imports)", peak, 1.0, "times")],
        notes=notes,
        measurements=found,
    )


def main(arguments: Sequence[str] | None = None) -> None:
    parser = ArgumentParser(prog="python -m benchmarks.larger", description=__doc__)
    parser.add_argument(
        "--memory", default="500M", metavar="SIZE", help="of the command (default 500M)"
    )
    add_options(parser, repeats=1, kept="run")
    options = parse_options(parser, arguments, LargeSize)
    try:
        parse_memory(options.memory)
    except (ValueError, KeyError, IndexError):
        parser.error("--memory must be a size such as 500M")
    with folder_of(options) as root:
        files = generated(LargeFiles(root), options.size, "large_run")
        publish(outcome(files, options.size, options.memory, options.repeats), options)


if __name__ == "__main__":
    main()
