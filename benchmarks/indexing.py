"""Time the indexing of a generated collection against a bare parse of the same files.

python -m benchmarks.indexing [--megabytes N] [--repeats N] [--data DIR] [--output FILE]
"""

from __future__ import annotations

import filecmp
import os
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from pathlib import Path

from benchmarks.articles import generate
from benchmarks.frame import (
    Figures,
    add_growth_options,
    add_options,
    folder_of,
    measured,
    parse_options,
    publish,
    say,
    surroundings,
)
from benchmarks.outcome import Aim, Curve, Outcome, Table
from benchmarks.processes import Command, Report

# This process must stay small: a child inherits its peak memory (see README.md).

COLLECTIONS = {
    "2006": (659_388, 52_000_000, 4.6e9),
    "2009": (2_666_190, 102_000_000, 50.7e9),
}
"""Articles, elements and bytes of the Wikipedias of INEX, which figures are projected to; of 2009
only elements of 50 characters and more are counted."""
TASKS = ("expat", "index_quarter", "index_1", "index_2", "lookup")
GROWTH = (1 / 64, 1 / 32, 1 / 16, 1 / 8)
"""Shares of the collection whose indexing shows how it grows."""


def _place(folder: Path, name: str, megabytes: float) -> Path:
    """A folder with so many megabytes of articles; those that are there are taken."""
    place = folder / name
    noted, size = place / "size.txt", f"{megabytes:g} MB\n"
    if noted.exists() and noted.read_text() == size:
        return place
    if (place / "articles").exists():
        raise SystemExit(f"{place} holds other articles than {size.strip()}; remove them first")
    say(f"generating {megabytes:,.1f} MB")
    generate(place / "articles", int(megabytes * 1e6))
    noted.write_text(size)  # last, so that an interrupted generation is noticed
    return place


def _grown(folder: Path, options: Namespace) -> tuple[Curve, dict[str, list[Report]]]:
    """Smaller collections, each twice the one before."""
    commands, shares = {}, GROWTH[: options.points]
    for share in shares:
        size = share * options.megabytes / options.divide
        place = str(_place(folder, f"growth-{share / options.divide:g}", size))
        for task in ("expat", "index_1"):
            commands[f"growth {share:g}, {task}"] = Command.task("indexing_tasks", task, place)
    found = measured(commands, options.repeats, warm=list(commands)[:1])
    figures = Figures(found)
    elements = [figures(f"growth {share:g}, index_1", "elements") for share in shares]
    texts = {"index, one process": "index_1", "pyexpat": "expat"}
    series = {
        text: [figures(f"growth {share:g}, {task}", "inside_cpu") for share in shares]
        for text, task in texts.items()
    }
    return Curve("elements", elements, series), found


# -- the report --------------------------------------------------------------------------------


def _tasks(figures: Figures) -> Table:
    names = {
        "expat": "pyexpat, calls that do nothing",
        "index_1": "index, one process",
        "index_2": "index, two processes",
    }
    rows = []
    for task, text in names.items():
        seconds = figures(task, "inside")
        rows.append(
            [
                text,
                f"{seconds:.1f}",
                f"{figures('index_1', 'bytes') / seconds / 1e6:.1f}",
                f"{figures('index_1', 'elements') / seconds / 1e3:.0f}",
                f"{figures.ratio(task, 'expat', 'inside'):.2f}",
                f"{figures(task, 'inside_cpu'):.1f}",
                f"{figures.ratio(task, 'expat', 'inside_cpu'):.2f}",
                f"{figures(task, 'megabytes'):.0f}",
            ]
        )
    head = ["task", "seconds", "MB/s", "1000 elements/s", "ratio", "CPU seconds", "ratio"]
    return Table([*head, "peak MB"], rows)


def _projected_memory(figures: Figures, articles: int) -> float:
    """Peak memory for so many articles, from what more documents took here."""
    here, quarter = figures("index_1", "documents"), figures("index_quarter", "documents")
    more = figures("index_1", "megabytes") - figures("index_quarter", "megabytes")
    slope = max(more, 0.0) / (here - quarter)
    return figures("index_1", "megabytes") + slope * (articles - here)


def _aims(figures: Figures) -> list[Aim]:
    size = figures("index_1", "index_bytes") / figures("index_1", "elements")
    projected = _projected_memory(figures, COLLECTIONS["2006"][0])

    def rate(name: str) -> float:
        return figures("lookup", name) / 1e6

    return [
        Aim("index / pyexpat", figures.ratio("index_1", "expat", "inside"), 2.5, "times"),
        Aim("index / pyexpat, CPU", figures.ratio("index_1", "expat", "inside_cpu"), 2.5, "times"),
        Aim(
            "two processes are faster",
            figures.ratio("index_1", "index_2", "inside"),
            1.7,
            "times",
            at_least=True,
        ),
        Aim("bytes per element", size, 25),
        Aim("resolved by number", rate("find"), 1.5, "M/s", at_least=True),
        Aim("resolved by name and XPath", rate("resolve"), 1.5, "M/s", at_least=True),
        Aim("peak, one process", figures("index_1", "megabytes"), 500, "MB"),
        Aim("peak, two processes, all together", figures("index_2", "megabytes"), 500, "MB"),
        Aim("peak, projected to 2006", projected, 500, "MB"),
    ]


def _projection(figures: Figures) -> Table:
    """What whole Wikipedias would take: time by elements or by bytes, whichever is more.

    The size of the index is by elements, memory by articles.
    """
    rows = []
    for year, (articles, elements, size) in COLLECTIONS.items():
        share = elements / figures("index_1", "elements")
        longer = max(share, size / figures("index_1", "bytes"))
        minutes = [figures(task, "inside") * longer / 60 for task in ("index_1", "index_2")]
        index = figures("index_1", "index_bytes") * share / 1e6
        memory = _projected_memory(figures, articles)
        counts = [year, f"{articles:,}", f"{elements:,}", f"{size / 1e9:.1f}"]
        rows.append([*counts, *(f"{m:.1f}" for m in minutes), f"{index:,.0f}", f"{memory:,.0f}"])
    head = ["Wikipedia of", "articles", "elements", "GB", "minutes", "minutes, two", "index MB"]
    return Table([*head, "peak MB"], rows, "Projected:")


def outcome(folder: Path, options: Namespace) -> Outcome:
    """Measure everything."""
    place, load = _place(folder, "whole", options.megabytes), os.getloadavg()[0]
    tasks = ("read", *TASKS)
    commands = {task: Command.task("indexing_tasks", task, str(place)) for task in tasks}
    found = measured(commands, options.repeats, warm=["read"])
    if not filecmp.cmp(place / "index", place / "index_2", shallow=False):
        raise RuntimeError("one process and two write different indexes")
    curves: list[Curve] = []
    if options.points:
        curve, more = _grown(folder, options)
        curves, found = [curve], found | more
    figures = Figures(found)
    counts = {"articles": "documents", "elements": "elements", "distinct paths": "paths"}
    collection = [f"{figures('index_1', own):,.0f} {text}" for text, own in counts.items()]
    collection.insert(1, f"{figures('index_1', 'bytes') / 1e6:,.0f} MB")
    opened, ready = figures("lookup", "open"), figures("lookup", "tables")
    note = f"The index opens in {opened * 1e3:.1f} ms; its names and paths are ready "
    note += f"{ready:.2f} s later, at the first resolution."
    return Outcome(
        "Indexing",
        [", ".join(collection), surroundings(options.repeats, load)],
        [_tasks(figures), _projection(figures)],
        _aims(figures),
        curves,
        ["One process and two write the same index.", note],
        found,
    )


def _options(arguments: Sequence[str] | None) -> Namespace:
    parser = ArgumentParser(prog="python -m benchmarks.indexing", description=__doc__)
    parser.add_argument("--megabytes", type=float, default=1024, metavar="N", help="(default 1024)")
    add_growth_options(parser)
    add_options(parser, repeats=1, kept="collection")
    options = parse_options(parser, arguments)
    if options.megabytes <= 0:
        parser.error("--megabytes must be positive")
    return options


def main(arguments: Sequence[str] | None = None) -> None:
    options = _options(arguments)
    with folder_of(options) as folder:
        publish(outcome(folder, options), options)


if __name__ == "__main__":
    main()
