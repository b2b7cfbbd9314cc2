"""Time the indexing of a generated collection against a bare parse of the same files.

python -m benchmarks.indexing [--megabytes N] [--repeats N] [--data DIR] [--output FILE]
"""

from __future__ import annotations

import os
import sys
import tempfile
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from pathlib import Path

from benchmarks.articles import PARTS, generate
from benchmarks.frame import (
    Figures,
    Report,
    add_options,
    folder_of,
    parse_options,
    publish,
    reported,
    table,
)
from benchmarks.processes import compiled

# This process must stay small: a child inherits its peak memory (see README.md).

WIKIPEDIA_ARTICLES, WIKIPEDIA_ELEMENTS = 659_388, 52_000_000
TASKS = ("expat", "index_quarter", "index_1", "index_2", "lookup")


def _measured(folder: Path, repeats: int) -> Figures:
    """Every task in a process of its own, one after the other, `repeats` times."""
    found: dict[str, list[Report]] = {task: [] for task in TASKS}
    with tempfile.TemporaryDirectory() as cache:
        environment = compiled(Path(cache))

        def run(task: str) -> Report:
            module = "benchmarks.indexing_tasks"
            return reported(module, task, str(folder), environment=environment)

        run("read")  # compiles the modules, fills the page cache
        for repeat in range(repeats):
            for task in TASKS:
                found[task].append(run(task))
            print(f"repeat {repeat + 1} of {repeats} done", file=sys.stderr, flush=True)
    return Figures(found)


def _task_rows(figures: Figures) -> list[list[str]]:
    names = {
        "expat": "pyexpat, calls that do nothing",
        "index_1": "index, one process",
        "index_2": "index, two processes",
    }
    rows = []
    for task, text in names.items():
        seconds = figures(task, "seconds")
        rows.append(
            [
                text,
                f"{seconds:.1f}",
                f"{figures('index_1', 'bytes') / seconds / 1e6:.1f}",
                f"{figures('index_1', 'elements') / seconds / 1e3:.0f}",
                f"{seconds / figures('expat', 'seconds'):.2f}",
                f"{figures(task, 'cpu'):.1f}",
                f"{figures(task, 'megabytes'):.0f}",
            ]
        )
    return rows


def _projected_memory(figures: Figures) -> float:
    """Peak memory for the whole Wikipedia, from what more documents took here."""
    here, quarter = figures("index_1", "documents"), figures("index_quarter", "documents")
    more = figures("index_1", "megabytes") - figures("index_quarter", "megabytes")
    slope = max(more, 0.0) / (here - quarter)
    return figures("index_1", "megabytes") + slope * (WIKIPEDIA_ARTICLES - here)


def _aims(figures: Figures) -> list[list[str]]:
    ratio = figures("index_1", "seconds") / figures("expat", "seconds")
    faster = figures("index_1", "seconds") / figures("index_2", "seconds")
    size = figures("index_1", "index_bytes") / figures("index_1", "elements")
    find, resolve = figures("lookup", "find"), figures("lookup", "resolve")
    memory, memory_2 = figures("index_1", "megabytes"), figures("index_2", "megabytes")
    projected = _projected_memory(figures)

    def row(text: str, aim: str, value: str, *, met: bool) -> list[str]:
        return [text, aim, value, "met" if met else "not met"]

    return [
        row("index / pyexpat, one process", "2.5 times", f"{ratio:.2f}", met=ratio <= 2.5),
        row("two processes are faster", "1.7 times", f"{faster:.2f}", met=faster >= 1.7),
        row("bytes per element", "under 25", f"{size:.1f}", met=size < 25),
        row("resolved by number", "1.5 M/s", f"{find / 1e6:.2f}", met=find > 1.5e6),
        row("resolved by name and XPath", "1.5 M/s", f"{resolve / 1e6:.2f}", met=resolve > 1.5e6),
        row("peak MB, one process", "under 500", f"{memory:.0f}", met=memory < 500),
        row(
            "peak MB, two processes, all three", "under 500", f"{memory_2:.0f}", met=memory_2 < 500
        ),
        row("peak MB, projected", "under 500", f"{projected:.0f}", met=projected < 500),
    ]


def _projection(figures: Figures) -> str:
    share = WIKIPEDIA_ELEMENTS / figures("index_1", "elements")
    one, two = figures("index_1", "seconds") * share, figures("index_2", "seconds") * share
    size = figures("index_1", "index_bytes") * share / 1e6
    return (
        f"Projected to {WIKIPEDIA_ARTICLES:,} articles and {WIKIPEDIA_ELEMENTS:,} elements: "
        f"{one:.0f} s with one process, {two:.0f} s with two, an index of {size:.0f} MB, "
        f"{_projected_memory(figures):.0f} MB of memory with one process."
    )


def markdown(figures: Figures, *, repeats: int, load: float) -> str:
    """The report."""
    lookup = figures.of["lookup"][0]
    collection = (
        f"{figures('index_1', 'documents'):,.0f} articles, "
        f"{figures('index_1', 'bytes') / 1e6:,.0f} MB, "
        f"{figures('index_1', 'elements'):,.0f} elements, "
        f"{figures('index_1', 'paths'):,.0f} distinct paths; {repeats} repeats, "
        f"{os.cpu_count()} cores, load {load:.2f} before."
    )
    opening = (
        f"The index opens in {lookup['open'] * 1e3:.1f} ms; its names and paths are ready "
        f"{lookup['tables']:.2f} s later, at the first resolution."
    )
    head = ["task", "seconds", "MB/s", "1000 elements/s", "ratio", "CPU seconds", "peak MB"]
    parts = [
        ["# Indexing"],
        [collection],
        table(head, _task_rows(figures)),
        [opening],
        table(["figure", "aim", "measured", ""], _aims(figures)),
        [_projection(figures)],
    ]
    return "\n\n".join("\n".join(part) for part in parts) + "\n"


def _options(arguments: Sequence[str] | None) -> Namespace:
    parser = ArgumentParser(prog="python -m benchmarks.indexing", description=__doc__)
    parser.add_argument("--megabytes", type=float, default=1024, metavar="N", help="(default 1024)")
    add_options(parser, repeats=1, kept="collection")
    options = parse_options(parser, arguments)
    if options.megabytes <= 0:
        parser.error("--megabytes must be positive")
    return options


def main(arguments: Sequence[str] | None = None) -> None:
    options = _options(arguments)
    with folder_of(options) as folder:
        if not (folder / "articles" / PARTS[-1]).exists():
            print("generating", file=sys.stderr, flush=True)
            generate(folder / "articles", int(options.megabytes * 1e6))
        load = os.getloadavg()[0]
        report = markdown(_measured(folder, options.repeats), repeats=options.repeats, load=load)
    publish(report, options)


if __name__ == "__main__":
    main()
