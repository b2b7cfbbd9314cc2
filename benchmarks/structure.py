"""Time the measures of 2002 to 2006 on a campaign of trees, against the reading of its runs.

python -m benchmarks.structure [--topics N] ... [--only FAMILY] [--points N] [--data DIR]
"""

from __future__ import annotations

import os
from argparse import ArgumentParser, Namespace
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from benchmarks import frame
from benchmarks.frame import (
    add_growth_options,
    add_options,
    folder_of,
    generated,
    measured,
    parse_options,
    publish,
    surroundings,
)
from benchmarks.outcome import Aim, Curve, Outcome, Table
from benchmarks.processes import Command, Report
from benchmarks.structure_tasks import FAMILIES, POLARS, READINGS, WHOLE
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


COMMANDS = ("2006.Thorough", "2006.Focused")
"""Official tasks that are timed as whole commands, too, from the shell and back."""
SIZES = {
    "results": "results per topic",
    "relevant": "relevant documents per topic (targets of EPRUM)",
    "elements": "elements per document",
}


@dataclass(frozen=True)
class Figures(frame.Figures):
    """The medians of all tasks, and how they compare with reading."""

    def __call__(self, task: str, name: str = "inside_cpu") -> float:
        return super().__call__(task, name)

    def whole(self, task: str) -> float:
        """The whole call against the reading of the same runs."""
        return self.ratio(task, FAMILIES[task].reading, "inside_cpu")

    def alone(self, task: str) -> float:
        """What the measures add to what any measure needs, against the reading."""
        family = FAMILIES[task]
        return (self(task) - self(family.preparation)) / self(family.reading)


# -- measuring ---------------------------------------------------------------------------------


def _command(files: Files, task: str) -> Command:
    given = ("-j", str(files.judgements), "-C", str(files.index), "-t", task)
    return Command.foveal("evaluate", *map(str, files.runs), *given)


def _needed(families: Iterable[str]) -> list[str]:
    """These families in the order of the report, after what they are compared with."""
    chosen = set(families)
    chosen |= {FAMILIES[name].preparation for name in chosen}
    return [*READINGS, *(name for name in FAMILIES if name in chosen)]


def _grown(place: Path, options: Namespace) -> tuple[list[Curve], dict[str, list[Report]]]:
    """The CPU seconds of scoring alone, series by series, size by size."""
    divide = options.divide
    base = replace(GROWTH, results=GROWTH.results // divide, relevant=GROWTH.relevant // divide)
    series = {
        what: [value // divide for value in values[: options.points]]
        for what, values in SERIES.items()
    }
    commands = {}
    for what, values in series.items():
        for value in values:
            files = generated(
                Files(place / f"{what}-{value}"), replace(base, **{what: value}), "trees"
            )
            for task in GROWING:
                commands[f"{what} {value}, {task}"] = Command.task(
                    "structure_tasks", task, str(files.root), "--scoring"
                )
    found = measured(commands, options.repeats, warm=list(commands)[:1])
    figures = Figures(found)
    curves = [
        Curve(
            SIZES[what],
            values,
            {
                FAMILIES[task].text: [figures(f"{what} {value}, {task}") for value in values]
                for task in GROWING
            },
            "CPU seconds of scoring, runs and judgements read before,",
        )
        for what, values in series.items()
    ]
    return curves, found


# -- the report --------------------------------------------------------------------------------


def _row(figures: Figures, task: str) -> list[str]:
    seconds, cpu = f"{figures(task, 'inside'):.2f}", f"{figures(task):.2f}"
    peak = f"{figures(task, 'megabytes'):.0f}"
    if task in READINGS:
        return [READINGS[task][0], seconds, cpu, "", "", "", peak]
    family = FAMILIES[task]
    alone = "" if task == family.preparation else f"{figures.alone(task):.2f}"
    csv = f"{figures.ratio(task, POLARS[family.reading], 'inside_cpu'):.2f}"
    return [family.text, seconds, cpu, csv, f"{figures.whole(task):.2f}", alone, peak]


def _command_row(figures: Figures, task: str, text: str) -> list[str]:
    wall, cpu = figures.ratios(task, "polars")
    seconds, own = figures(task, "seconds"), figures(task, "cpu")
    return [text, f"{seconds:.2f}", wall, f"{own:.2f}", cpu, f"{figures(task, 'megabytes'):.0f}"]


def _aims(figures: Figures) -> list[Aim]:
    aims = [
        Aim(f"`-t {task}`: seconds of reading", figures.ratio(task, "polars"), WHOLE, "times")
        for task in COMMANDS
    ]
    for task in figures.of:
        if task not in FAMILIES:
            continue
        family = FAMILIES[task]
        if family.bound is not None:
            text = f"{family.text}: alone / reading"
            aims.append(Aim(text, figures.alone(task), family.bound, "times"))
        if family.whole_bound is not None:
            ratio = figures.ratio(task, POLARS[family.reading], "inside_cpu")
            text = f"{family.text}: all / Polars reads"
            aims.append(Aim(text, ratio, family.whole_bound, "times"))
    return aims


def outcome(folder: Path, options: Namespace) -> Outcome:
    """Measure everything."""
    size, load = options.size, os.getloadavg()[0]
    files = generated(Files(folder / "campaign"), size, "trees")
    commands = {
        task: Command.task("structure_tasks", task, str(files.root))
        for task in _needed(options.only or FAMILIES)
    }
    whole = {task: _command(files, task) for task in COMMANDS}
    found = measured(commands | whole, options.repeats, warm=["read"])
    figures = Figures(found)
    curves: list[Curve] = []
    if options.points:
        curves, more = _grown(folder, options)
        found |= more
    facts = files.facts
    head = ["task", "seconds", "CPU seconds", "of Polars", "of reading", "alone", "peak MB"]
    outside = ["command", "seconds", "of reading", "CPU seconds", "of reading", "peak MB"]
    asked = {"polars": "Polars reads the runs"} | {t: f"`foveal evaluate -t {t}`" for t in COMMANDS}
    return Outcome(
        options.title,
        [
            (
                f"{size.topics} topics x {size.results} results x {size.runs} runs of elements, "
                f"{size.lines:,} in all; {size.documents:,} documents with "
                f"{facts['elements']:,.0f} elements up to {facts['depth']:.0f} deep"
            ),
            (
                f"per topic {size.relevant} relevant documents (best entry points), "
                f"{facts['passages per topic']:.0f} passages, "
                f"{facts['relevant elements per topic']:,.0f} relevant elements"
            ),
            surroundings(options.repeats, load),
        ],
        [
            Table(head, [_row(figures, task) for task in commands]),
            Table(
                outside,
                [_command_row(figures, task, text) for task, text in asked.items()],
                "Whole processes, as a shell sees them:",
            ),
        ],
        _aims(figures),
        curves,
        measurements=found,
    )


def _options(arguments: Sequence[str] | None) -> Namespace:
    parser = ArgumentParser(prog="python -m benchmarks.structure", description=__doc__)
    parser.add_argument(
        "--only", action="append", choices=list(FAMILIES), metavar="FAMILY", help="and no others"
    )
    add_growth_options(parser)
    parser.add_argument("--title", default="Structure", help="of the report")
    add_options(parser, repeats=1, kept="campaigns")
    return parse_options(parser, arguments, Size)


def main(arguments: Sequence[str] | None = None) -> None:
    options = _options(arguments)
    with folder_of(options) as folder:
        publish(outcome(folder, options), options)


if __name__ == "__main__":
    main()
