"""Size, making time and opening time of the report page.

python -m benchmarks.report_page [--runs N] [--topics N] [--many N] [--repeats N] [--data DIR]

Two campaigns: many runs, whose page is made in a multiple of the time of `foveal evaluate` on the
same files, and many topics with the texts of their documents. Each page is opened in Chromium again
and again; its own clock tells when everything is drawn.
"""

from __future__ import annotations

import json
import os
import random
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from statistics import median

from benchmarks.assess_page import CHROMIUM, LONGEST
from benchmarks.campaign import Files, Size
from benchmarks.frame import (
    Figures,
    add_options,
    folder_of,
    generated,
    measured,
    parse_options,
    publish,
    say,
    surroundings,
)
from benchmarks.outcome import Aim, Outcome, Table
from benchmarks.processes import Command

MEASURES = ("AiP", "iP@0.01", "charP", "charR", "nDCG@10")
RUNS_OF_MANY = 4
TIMES, BYTES, BYTES_OF_MANY, MILLISECONDS = 3.0, 2.0, 5.0, 1000.0
"""The aims: times `foveal evaluate`, megabytes of the pages, and until a page is drawn."""
SEED = 7

_COUNT = """() => {
  const topics = new Set([...document.querySelectorAll("#document-topic option")].map(o => o.text));
  return topics.size;
}"""


def write_texts(judgements: Path, path: Path) -> None:
    """Write a text of random words for each judged document, of its length, as JSON Lines."""
    chance = random.Random(SEED)
    words = " ".join(
        "".join(chance.choices("etaoinshrdlu", k=chance.randint(2, 9))) for _ in range(60_000)
    )
    written: set[str] = set()
    with path.open("w", encoding="utf-8") as out:
        for line in judgements.read_text().splitlines():
            _, _, doc, _, length, *_ = line.split()
            if doc not in written:
                written.add(doc)
                start = chance.randrange(len(words) - int(length))
                text = words[start : start + int(length)]
                out.write(json.dumps({"doc": doc, "text": text}) + "\n")


def _commands(runs: Sequence[Path], judgements: Path, page: Path, *more: str) -> list[Command]:
    """Scoring runs, and making a page about them."""
    asked = [str(run) for run in runs] + ["-j", str(judgements), *more]
    asked += [part for measure in MEASURES for part in ("-m", measure)]
    return [Command.foveal("evaluate", *asked), Command.foveal("report", *asked, "-o", str(page))]


def open_pages(pages: Sequence[Path], repeats: int) -> tuple[list[list[float]], list[int]]:
    """Return the milliseconds until each page is drawn, and the topics that have documents."""
    from playwright.sync_api import sync_playwright

    times: list[list[float]] = []
    topics: list[int] = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        for path in pages:
            own = []
            for _ in range(repeats + 1):
                page = browser.new_page(viewport={"width": 1440, "height": 900})
                page.goto(path.as_uri(), timeout=LONGEST)
                page.locator("body[data-ready=yes]").wait_for(timeout=LONGEST)
                mark = "performance.getEntriesByName('foveal-ready')[0].startTime"
                own.append(float(page.evaluate(mark)))
                found = int(page.evaluate(_COUNT))
                page.close()
            times.append(own[1:])  # the first time fills caches
            topics.append(found)
        browser.close()
    return times, topics


def outcome(root: Path, options: Namespace) -> Outcome:
    """Measure the pages about both campaigns."""
    load, size = os.getloadavg()[0], options.size
    many = replace(
        size, topics=options.many, runs=RUNS_OF_MANY, results=20, judged=2, short=options.many
    )
    runs = generated(Files(root / "runs"), size, "generate")
    topics = generated(Files(root / "topics"), many, "generate")
    texts = root / "texts.jsonl"
    if not texts.exists():
        write_texts(topics.judgements, texts)
    pages = [root / "runs.html", root / "topics.html"]
    names = [f"{size.runs} runs x {size.topics} topics", f"{many.runs} runs x {many.topics} topics"]
    commands: dict[str, Command] = {}
    for name, files, page, more in zip(
        names, (runs, topics), pages, ((), ("--texts", str(texts))), strict=True
    ):
        own = _commands(files.runs, files.judgements, page, *more)
        commands |= zip((f"evaluate, {name}", f"report, {name}"), own, strict=True)
    found = measured(commands, options.repeats, warm=list(commands)[:1])
    figures = Figures(found)
    say("opening the pages")
    times, reached = open_pages(pages, options.repeats)
    rows, aims = [], list[Aim]()
    for name, page, own, shown, own_size, largest in zip(
        names, pages, times, reached, (size, many), (BYTES, BYTES_OF_MANY), strict=True
    ):
        task, reference = f"report, {name}", f"evaluate, {name}"
        megabytes = page.stat().st_size / 1e6
        rows.append(
            [
                name,
                f"{megabytes:.2f}",
                f"{figures(task):.1f}",
                *figures.ratios(task, reference),
                f"{median(own):.0f}",
                f"{shown} of {own_size.topics}",
            ]
        )
        aims.append(Aim(f"{name}: size", megabytes, largest, "MB"))
    ratio = figures.ratio(f"report, {names[0]}", f"evaluate, {names[0]}", "cpu")
    aims.append(Aim(f"{names[0]}: drawn", median(times[0]), MILLISECONDS, "ms"))
    aims.append(Aim(f"{names[0]}: CPU seconds of `foveal evaluate`", ratio, TIMES, "times"))
    head = ["campaign", "MB", "seconds", "of evaluate", "CPU of evaluate", "ms to draw"]
    return Outcome(
        "The report page",
        [f"measures {', '.join(MEASURES)}", surroundings(options.repeats, load)],
        [Table([*head, "topics with documents"], rows)],
        aims,
        notes=[]
        if size == replace(Size(), kinds=1)
        else ["The aims are set for the default size."],
        measurements=found,
    )


def main(arguments: Sequence[str] | None = None) -> None:
    parser = ArgumentParser(prog="python -m benchmarks.report_page", description=__doc__)
    parser.add_argument("--many", type=int, default=2444, metavar="N", help="topics of the second")
    add_options(parser, repeats=3, kept="campaigns")
    parser.set_defaults(kinds=1)
    options = parse_options(parser, arguments, Size)
    options.size = replace(options.size, kinds=1)
    with folder_of(options) as root:
        publish(outcome(root, options), options)


if __name__ == "__main__":
    main()
