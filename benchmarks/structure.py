"""Time the measures of 2002 to 2006 on a campaign of trees, against the reading of its runs.

python -m benchmarks.structure [--topics N] ... [--only FAMILY] [--no-growth] [--data DIR]
"""

from __future__ import annotations

import math
import os
import sys
import tempfile
from argparse import ArgumentParser, Namespace
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from benchmarks import frame
from benchmarks.frame import (
    Report,
    add_options,
    folder_of,
    generated,
    parse_options,
    publish,
    reported,
    table,
)
from benchmarks.processes import compiled
from benchmarks.structure_tasks import FAMILIES, READINGS
from benchmarks.tree_campaign import Files, Size

# This process must stay small: a child inherits its peak memory (see README.md).

GROWTH = Size(topics=12, results=500, runs=4, documents=4000, relevant=100)
"""What the campaigns of the growth tables have in common."""
SERIES: dict[str, tuple[int, ...]] = {
    "results": (250, 500, 1000, 2000),
    "relevant": (50, 100, 200, 400),
    "elements": (50, 100, 200, 400),
}
"""What grows in them, beginning to end; relevant documents are also the targets of EPRUM."""
GROWING = (
    "thorough_spec",
    "focused_spec",
    "focused_gen5",
    "focused_gen5_alone",
    "curves",
    "browse_focused",
    "inex_eval",
    "ng",
    "eprum_bep",
    "eprum_passages",
    "eprum_ideal",
)


@dataclass(frozen=True)
class Figures(frame.Figures):
    """The medians of all tasks, and how they compare with reading."""

    def __call__(self, task: str, name: str = "cpu") -> float:
        return super().__call__(task, name)

    def ratio(self, task: str) -> float:
        """The whole call against the reading of the same runs."""
        return self(task) / self(FAMILIES[task].reading)

    def alone(self, task: str) -> float:
        """What the measures add to what any measure needs, against the reading."""
        family = FAMILIES[task]
        return (self(task) - self(family.preparation)) / self(family.reading)


# -- measuring ---------------------------------------------------------------------------------


def _generated(root: Path, size: Size) -> Files:
    return generated(Files(root), size, "benchmarks.trees")


def _run(task: str, files: Files, environment: dict[str, str], *options: str) -> Report:
    module = "benchmarks.structure_tasks"
    return reported(module, task, str(files.root), *options, environment=environment)


def _needed(families: Iterable[str]) -> list[str]:
    """These families in the order of the report, after what they are compared with."""
    chosen = set(families)
    chosen |= {FAMILIES[name].preparation for name in chosen}
    return [*READINGS, *(name for name in FAMILIES if name in chosen)]


def _measured(
    files: Files, tasks: Sequence[str], repeats: int, environment: dict[str, str]
) -> Figures:
    """Every task in a process of its own, one after the other, `repeats` times."""
    found: dict[str, list[Report]] = {task: [] for task in tasks}
    _run("read", files, environment)  # compiles the modules, fills the page cache
    for repeat in range(repeats):
        for task in tasks:
            found[task].append(_run(task, files, environment))
            print(f"{task} done", file=sys.stderr, flush=True)
        print(f"repeat {repeat + 1} of {repeats} done", file=sys.stderr, flush=True)
    return Figures(found)


def _grown(place: Path, environment: dict[str, str]) -> dict[str, list[Figures]]:
    """The CPU seconds of scoring alone, series by series, size by size."""
    found: dict[str, list[Figures]] = {}
    for what, values in SERIES.items():
        found[what] = []
        for value in values:
            size = replace(GROWTH, **{what: value})
            files = _generated(place / f"{what}-{value}", size)
            reports = {task: [_run(task, files, environment, "--scoring")] for task in GROWING}
            found[what].append(Figures(reports))
            print(f"{what} {value} done", file=sys.stderr, flush=True)
    return found


# -- the report --------------------------------------------------------------------------------


def _cells(figures: Figures, task: str) -> list[str]:
    return [f"{figures(task, 'seconds'):.2f}", f"{figures(task):.2f}"]


def _rows(figures: Figures) -> list[list[str]]:
    rows = []
    for task in figures.of:
        peak = f"{figures(task, 'megabytes'):.0f}"
        if task in READINGS:
            rows.append([READINGS[task][0], *_cells(figures, task), "", "", "", peak])
            continue
        family = FAMILIES[task]
        alone, aim = "", ""
        if task != family.preparation:
            alone = f"{figures.alone(task):.2f}"
        if family.bound is not None:
            met = "met" if figures.alone(task) < family.bound else "not met"
            aim = f"under {family.bound:g}: {met}"
        whole = f"{figures.ratio(task):.2f}"
        rows.append([family.text, *_cells(figures, task), whole, alone, aim, peak])
    return rows


def exponent(sizes: Sequence[int], seconds: Sequence[float]) -> float:
    """The power of its size that a time grows with: the slope of a line through the logarithms.

    >>> round(exponent([1, 2, 4], [3, 6, 12]), 2), round(exponent([1, 2, 4], [1, 4, 16]), 2)
    (1.0, 2.0)
    """
    x, y = [math.log(size) for size in sizes], [math.log(second) for second in seconds]
    mean_x, mean_y = sum(x) / len(x), sum(y) / len(y)
    spread = sum((a - mean_x) ** 2 for a in x)
    return sum((a - mean_x) * (b - mean_y) for a, b in zip(x, y, strict=True)) / spread


def _growth(what: str, figures: Sequence[Figures]) -> list[str]:
    values = SERIES[what]
    rows = []
    for task in GROWING:
        seconds = [each(task) for each in figures]
        last = math.log(seconds[-1] / seconds[-2], values[-1] / values[-2])
        cells = [f"{second:.2f}" for second in seconds]
        power = f"{exponent(values, seconds):.2f}"
        rows.append([FAMILIES[task].text, *cells, power, f"{last:.2f}"])
    unit = {"results": "results per topic", "relevant": "relevant documents per topic"}
    head = [unit.get(what, "elements per document"), *map(str, values), "power", "last"]
    return table(head, rows)


def markdown(
    figures: Figures,
    grown: dict[str, list[Figures]],
    size: Size,
    facts: Report,
    *,
    repeats: int,
    load: float,
) -> str:
    """The report."""
    campaign = (
        f"{size.topics} topics x {size.results} results x {size.runs} runs of elements, "
        f"{size.documents:,} documents with {facts['elements']:,.0f} elements up to "
        f"{facts['depth']:.0f} deep; per topic {size.relevant} relevant documents (best entry "
        f"points), {facts['passages per topic']:.0f} passages, "
        f"{facts['relevant elements per topic']:,.0f} relevant elements; {repeats} repeats, "
        f"{os.cpu_count()} cores, load {load:.2f} before."
    )
    head = ["task", "seconds", "CPU seconds", "whole", "alone", "aim for alone", "peak MB"]
    parts = [["# Structure"], [campaign], table(head, _rows(figures))]
    if grown:
        parts.append(["## Growth"])
        parts.append(["CPU seconds of scoring, runs and judgements already read."])
        parts += [_growth(what, each) for what, each in grown.items()]
    return "\n\n".join("\n".join(part) for part in parts) + "\n"


def _options(arguments: Sequence[str] | None) -> Namespace:
    parser = ArgumentParser(prog="python -m benchmarks.structure", description=__doc__)
    parser.add_argument(
        "--only", action="append", choices=list(FAMILIES), metavar="FAMILY", help="and no others"
    )
    parser.add_argument("--no-growth", action="store_true", help="leave out the growth tables")
    add_options(parser, repeats=1, kept="campaigns")
    return parse_options(parser, arguments, Size)


def main(arguments: Sequence[str] | None = None) -> None:
    options = _options(arguments)
    with folder_of(options) as folder, tempfile.TemporaryDirectory() as cache:
        environment = compiled(Path(cache))
        files = _generated(folder / "campaign", options.size)
        load = os.getloadavg()[0]
        tasks = _needed(options.only or FAMILIES)
        figures = _measured(files, tasks, options.repeats, environment)
        grown = {} if options.no_growth else _grown(folder, environment)
        report = markdown(
            figures, grown, options.size, files.facts, repeats=options.repeats, load=load
        )
    publish(report, options)


if __name__ == "__main__":
    main()
