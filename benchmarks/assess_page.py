"""Time the article page on a long document with many highlights, in a browser.

python -m benchmarks.assess_page [--characters N] [--highlights N] [--repeats N]

A document is generated, served by the real server on this machine, and opened in a fresh tab again
and again; in the last one text is highlighted by key. Times are the browser's own: from the start
of the navigation, or from the key, until the frame that shows the outcome is done.
"""

from __future__ import annotations

import os
import random
import tempfile
import threading
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.frame import add_options, parse_options, publish, say, surroundings
from benchmarks.outcome import Aim, Outcome, Table

CHROMIUM = os.environ.get("CHROMIUM", "/usr/bin/chromium")
SHORT = 10_000
"""Characters of the document that the long one is compared with."""
WORDS = ("the", "ferry", "crosses", "a", "river", "by", "push", "of", "its", "\U0001d11e", "stream")
LONGEST = 60_000
"""Milliseconds after which a step counts as hung."""

# The next frame, and what it sets off, is over when a task that was queued in it runs.
_FRAME = "new Promise(done => requestAnimationFrame(() => setTimeout(done)))"
_PRESS = f"""async ([start, end, key]) => {{
  const walker = document.createTreeWalker(document.getElementById("text"), NodeFilter.SHOW_TEXT);
  const place = at => {{
    while (walker.nextNode()) {{
      if (at <= walker.currentNode.length) return [walker.currentNode, at];
      at -= walker.currentNode.length;
    }}
    throw new Error("past the end");
  }};
  const from = place(start);
  walker.currentNode = document.getElementById("text");
  const to = place(end);
  from[0].parentElement.scrollIntoView({{ block: "center" }});
  getSelection().setBaseAndExtent(...from, ...to);
  await {_FRAME};
  const began = performance.now();
  document.body.dispatchEvent(new KeyboardEvent("keydown", {{ key, bubbles: true }}));
  const handled = performance.now() - began;
  await {_FRAME};
  return [handled, performance.now() - began];
}}"""


def _document(characters: int, seed: int = 7) -> str:
    """An article of sections and paragraphs of about so many characters."""
    chance, parts, size = random.Random(seed), ["<article><body>"], 0
    while size < characters:
        parts.append("<sec><title>A section of the article</title>")
        for _ in range(8):
            words = " ".join(chance.choices(WORDS, k=chance.randint(40, 140)))
            parts.append(f"<p>{words} <it>in italics</it> and on.</p>\n")
            size += len(words) + 20
        parts.append("</sec>")
    return "".join([*parts, "</body></article>"])


def _spans(length: int, count: int) -> tuple[tuple[int, int], ...]:
    """As many passages, evenly spread, some over the borders of elements."""
    step = length // count
    return tuple((i * step + 3, i * step + 3 + step * (i % 3 + 1) // 5) for i in range(count))


@contextmanager
def _served(folder: Path, options: Namespace) -> Iterator[tuple[Any, str]]:
    """A campaign of a long and a short document, as an assessor would find it."""
    import uvicorn

    from foveal.analysis.pooling import pool
    from foveal.assess.actions import Replace, State
    from foveal.assess.server import create_app, listen
    from foveal.assess.store import Campaign
    from foveal.collection import Collection, build_index
    from foveal.model import Run, Topic, Topics

    (folder / "docs").mkdir()
    sizes = {"long": options.characters, "short": SHORT}
    for name, size in sizes.items():
        (folder / "docs" / f"{name}.xml").write_text(_document(size), encoding="utf-8")
    build_index(folder / "docs", folder / "index")
    Campaign.create(
        folder / "campaign",
        collection=Collection.open(folder / "index"),
        source=folder / "docs",
        topics=Topics.of([Topic("1", title="ferries")]),
        pool=pool(Run.from_results({"1": [(name, 0, 99) for name in sizes]}, name="run")).pool,
        assessors=["ann"],
    ).close()
    with Campaign.open(folder / "campaign") as campaign:
        for name, size in sizes.items():
            document = campaign.document(name)
            many = max(1, options.highlights * size // options.characters)
            state = State(spans=_spans(document.length, many), bep=5)
            campaign.act(
                "ann",
                "1",
                name,
                f"benchmark-{name}",
                0,
                Replace(state=state),
                length=document.length,
                digest=document.sha256,
            )
            say(f"{name}: {document.length:,} characters, {many:,} highlights")
        app, listening = create_app(campaign), listen("127.0.0.1", 0)
        server = uvicorn.Server(uvicorn.Config(app, log_level="error", access_log=False))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        try:
            yield campaign, f"http://127.0.0.1:{listening.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join()


def _opened(page: Any, address: str, name: str) -> float:
    """Milliseconds from the start of the navigation until the highlights are painted."""
    page.goto(f"{address}/topics/1/documents/{name}")
    page.locator("body[data-ready=yes]").wait_for(timeout=LONGEST)
    return float(page.evaluate("performance.getEntriesByName('foveal-ready')[0].startTime"))


def _measured(
    campaign: Any, address: str, options: Namespace
) -> dict[tuple[str, str], list[float]]:
    from playwright.sync_api import sync_playwright

    from foveal.assess.accounts import session_cookie

    found: dict[tuple[str, str], list[float]] = {}
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        context = browser.new_context(viewport={"width": 1280, "height": 800})
        context.set_default_timeout(LONGEST)
        token, _ = campaign.begin_session("ann")
        cookie = {"name": session_cookie(campaign.identity), "value": token, "url": address}
        context.add_cookies([cookie])
        for name in ("short", "long"):
            for repeat in range(options.repeats + 1):
                page = context.new_page()
                seconds = _opened(page, address, name)
                if repeat:  # the first time fills caches
                    found.setdefault(("open", name), []).append(seconds)
                if repeat < options.repeats:
                    page.close()
            _press(page, name, options.repeats, found)
            page.close()
        browser.close()
    return found


def _press(page: Any, name: str, repeats: int, found: dict[tuple[str, str], list[float]]) -> None:
    """Highlight and take back at several places, with the panel of elements shut and open.

    The table of the panel is drawn after the frame that shows the highlight: it is not counted.
    """
    length = page.evaluate("document.getElementById('text').textContent.length")
    for task in ("highlight", "highlight, elements open"):
        for i in range(repeats):
            at = length * (i + 1) // (repeats + 2)
            for key in ("h", "z"):
                _, frame = page.evaluate(_PRESS, [at, min(length, at + 400), key])
                if key == "h":
                    found.setdefault((task, name), []).append(frame)
        page.evaluate("document.querySelector('#panel-elements button').click()")
    page.locator("#save", has_text="✓ saved").wait_for()


AIMS = {"open": 2000.0, "highlight": 100.0, "highlight, elements open": 100.0}
"""Milliseconds that the long document may take."""


def outcome(found: dict[tuple[str, str], list[float]], options: Namespace, load: float) -> Outcome:
    """The long document beside the short one."""
    rows, aims = [], []
    for task, bound in AIMS.items():
        short, long = median(found[task, "short"]), median(found[task, "long"])
        cells = [f"{ms:.0f}" for ms in (short, long, max(found[task, "long"]))]
        rows.append([task, *cells, f"{long / short:.1f}"])
        aims.append(Aim(f"{task}, long document", long, bound, "ms"))
    return Outcome(
        "The article page",
        [
            (
                f"{options.characters:,} characters, {options.highlights:,} highlights, "
                f"compared with {SHORT:,} characters"
            ),
            surroundings(options.repeats, load),
        ],
        [Table(["task", "short ms", "long ms", "slowest ms", "long / short"], rows)],
        aims,
        measurements={
            f"{task}, {name}": [{"milliseconds": ms} for ms in own]
            for (task, name), own in found.items()
        },
    )


def _options(arguments: Sequence[str] | None) -> Namespace:
    parser = ArgumentParser(prog="python -m benchmarks.assess_page", description=__doc__)
    parser.add_argument("--characters", type=int, default=900_000, metavar="N")
    parser.add_argument("--highlights", type=int, default=2000, metavar="N")
    add_options(parser, repeats=7)
    options = parse_options(parser, arguments)
    if options.highlights < 1 or options.characters < 10 * options.highlights:
        parser.error("sizes are 1 or more, and a highlight needs ten characters")
    return options


def main(arguments: Sequence[str] | None = None) -> None:
    options = _options(arguments)
    load = os.getloadavg()[0]
    with (
        tempfile.TemporaryDirectory() as folder,
        _served(Path(folder), options) as (campaign, address),
    ):
        found = _measured(campaign, address, options)
    publish(outcome(found, options, load), options)


if __name__ == "__main__":
    main()
