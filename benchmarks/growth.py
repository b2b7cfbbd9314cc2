"""How the scoring of passages grows: with runs, results, topics and judgements, in time and memory.

python -m benchmarks.growth [--runs N] [--repeats N] [--data DIR]

One size grows at a time and the others stay as they are. A sweep over runs scores the first ten,
thirty, and so on, of the same runs: its time should be in proportion, its memory should not change.
"""

from __future__ import annotations

import os
from argparse import ArgumentParser, Namespace
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from benchmarks.campaign import KINDS, Files, Size
from benchmarks.frame import (
    Figures,
    add_growth_options,
    add_options,
    folder_of,
    generated,
    measured,
    parse_options,
    publish,
    surroundings,
)
from benchmarks.outcome import MEMORY, Aim, Curve, Outcome, slope
from benchmarks.processes import Command, Report
from benchmarks.tasks import MEASURES

# This process must stay small: a child inherits its peak memory (see README.md).

BASE = Size(topics=20, results=500, runs=10, kinds=1)
"""What the campaigns have in common."""
SERIES: dict[str, tuple[int, ...]] = {
    "results": (250, 500, 1000, 2000),
    "topics": (20, 40, 80, 160),
    "judged": (250, 500, 1000, 2000),
}
"""What grows in them, beginning to end."""
SIZES = {
    "runs": "runs",
    "results": "results per topic",
    "topics": "topics",
    "judged": "judged documents per topic",
}
SWEEP = Size(topics=20, results=200, runs=1000, kinds=1)
"""The campaign whose runs are scored in ever larger numbers."""
LIBRARY, READING = f"`foveal.evaluate`, {', '.join(MEASURES)}", "Polars reads the same"

Measurements = dict[str, list[Report]]


def steps(most: int) -> list[int]:
    """About three in every power of ten, from ten on, and the last one.

    >>> steps(1000), steps(40)
    ([10, 30, 100, 300, 1000], [10, 30, 40])
    """
    found = [unit * 10**power for power in range(1, 9) for unit in (1, 3)]
    return [*(number for number in found if number < most), most]


def _swept(files: Files, repeats: int) -> tuple[list[Curve], list[Aim], list[str], Measurements]:
    """More and more runs, with one process and with two."""
    numbers = steps(len(files.runs))
    judged = ["-j", str(files.judgements), *(p for m in MEASURES for p in ("-m", m))]
    commands = {}
    for number in numbers:
        runs = [str(run) for run in files.runs[:number]]
        for workers in ("1", "2"):
            own = Command.foveal("evaluate", *runs, *judged, "-w", workers)
            commands[f"sweep, {number} runs, -w {workers}"] = own
        read = Command.task("tasks", "polars", str(files.root), KINDS[0], str(number))
        commands[f"sweep, {number} runs, polars"] = read
    found = measured(commands, repeats, warm=list(commands)[:1])
    figures = Figures(found)

    def series(name: str, what: str) -> list[float]:
        return [figures(f"sweep, {number} runs, {what}", name) for number in numbers]

    shells = {f"`foveal evaluate -w {workers}`": f"-w {workers}" for workers in (1, 2)}
    cpu = {text: series("cpu", what) for text, what in shells.items()}
    memory = {text: series("megabytes", what) for text, what in shells.items()}
    time = Curve(SIZES["runs"], numbers, cpu | {READING: series("cpu", "polars")})
    curves = [time, Curve(SIZES["runs"], numbers, memory, MEMORY)]
    aims, notes = [], []
    for text in shells:
        aims.append(Aim(f"{text}: power of time at the last step", time.last(text), 1.1))
        grown = memory[text][-1] / memory[text][0]
        more = f"{numbers[-1]:,} runs / {numbers[0]}"
        aims.append(Aim(f"{text}: memory, {more}", grown, 1.25, "times"))
        notes.append(
            f"{text}: {1e3 * slope(numbers, cpu[text]):.1f} CPU milliseconds and "
            f"{1e3 * slope(numbers, memory[text]):.1f} KB of memory for one more run."
        )
    return curves, aims, notes, found


def _grown(
    place: Path, base: Size, series: Mapping[str, Sequence[int]], repeats: int
) -> tuple[list[Curve], Measurements]:
    """CPU seconds after imports, size by size."""
    commands = {}
    for what, values in series.items():
        for value in values:
            size = replace(base, **{what: value})
            files = generated(Files(place / f"{what}-{value}"), size, "generate")
            for task in ("foveal", "polars"):
                commands[f"{what} {value}, {task}"] = Command.task("tasks", task, str(files.root))
    found = measured(commands, repeats, warm=list(commands)[:1])
    figures = Figures(found)
    curves = [
        Curve(
            SIZES[what],
            values,
            {
                text: [figures(f"{what} {value}, {task}", "inside_cpu") for value in values]
                for text, task in ((LIBRARY, "foveal"), (READING, "polars"))
            },
        )
        for what, values in series.items()
        if values
    ]
    return curves, found


def _outcome(place: Path, options: Namespace, load: float) -> Outcome:
    """Measure everything, with sizes divided."""
    runs, divide, repeats = options.runs, options.divide, options.repeats
    sweep = replace(SWEEP, runs=runs, results=SWEEP.results // divide)
    base = replace(BASE, results=BASE.results // divide, judged=BASE.judged // divide)
    series = {
        what: [value // (1 if what == "topics" else divide) for value in values[: options.points]]
        for what, values in SERIES.items()
        if what in (options.only or SERIES)
    }
    files = generated(Files(place / "sweep"), sweep, "generate")
    curves, aims, notes, found = _swept(files, repeats)
    more, measurements = _grown(place, base, series, repeats)
    others = f"{base.topics} topics x {base.results} results x {base.runs} runs"
    others += f" and {base.judged} judged documents per topic"
    facts = [
        f"sweep: up to {runs:,} runs of {sweep.topics} topics x {sweep.results} results",
        f"the others: {others}, of which one grows",
        surroundings(repeats, load),
    ]
    if sweep != SWEEP:
        notes.append("The aims are set for the default size.")
    return Outcome(
        "Growth of passages",
        facts,
        aims=aims,
        curves=[*curves, *more],
        notes=notes,
        measurements=found | measurements,
    )


def main(arguments: Sequence[str] | None = None) -> None:
    parser = ArgumentParser(prog="python -m benchmarks.growth", description=__doc__)
    parser.add_argument(
        "--runs", type=int, default=SWEEP.runs, metavar="N", help="of the sweep, 20 or more"
    )
    parser.add_argument(
        "--only", action="append", choices=list(SERIES), metavar="SIZE", help="grows beside runs"
    )
    add_growth_options(parser)
    add_options(parser, repeats=3, kept="campaigns")
    options = parse_options(parser, arguments)
    if options.runs < 20:
        parser.error("expected 20 runs or more")
    load = os.getloadavg()[0]
    with folder_of(options) as place:
        publish(_outcome(place, options, load), options)


if __name__ == "__main__":
    main()
