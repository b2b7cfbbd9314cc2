"""A campaign that is served for article pages, and the hands of an assessor on one of them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

import foveal
from assess_site import answering
from foveal.analysis.pooling import pool
from foveal.assess.accounts import session_cookie
from foveal.assess.actions import EntryPoint, Highlight, State, Validate
from foveal.assess.exporting import judgements
from foveal.assess.server import create_app
from foveal.assess.store import Campaign
from foveal.collection import Collection
from foveal.model import Topic, Topics
from shared_data import DATA

ASSESSORS = ("ann", "bob")
JATS = DATA / "evidence_inference_v2" / "xml_files.tar.xz"

ARTICLE = """<article><front><article-meta><title-group><article-title>Ferries</article-title>
</title-group></article-meta></front><body>
<sec><title>On the river</title>
<p>The \U0001f6a2 crosses by the <italic>push</italic> of the stream: \U0001d11e by \U0001d11e,
x&lt;y &amp; z.</p>
<p><![CDATA[A <cable> holds]]> the boat. It &#x1F600; turns, caf\u00e9 e\u0301t\u00e9, and back.</p>
</sec>
<sec><title>On the lake</title><p>There an engine drives the boat, and <bold>no cable</bold>
is needed.</p>
<list><list-item><p>diesel</p></list-item> <list-item><p>steam</p></list-item></list></sec>
</body><back><script>document.body.dataset.ran = "yes"</script></back></article>
"""
PLAIN = (
    "First line of a plain file.\nSecond line, with \U0001f600 in it.\n\nA paragraph after a gap.\n"
)
DOCUMENTS = 50
P1 = "/article[1]/body[1]/sec[1]/p[1]"
NAMES = ("one", "two", "three", "four")


@dataclass
class Place:
    """A campaign that is served."""

    campaign: Campaign
    app: Any
    address: str
    numbers: Iterator[int] = field(default_factory=count)

    def document(self) -> str:
        """The name of one that no test has touched."""
        return f"d{next(self.numbers):02}"

    def cookie(self, user: str) -> dict[str, str]:
        token, _ = self.campaign.begin_session(user)
        name = session_cookie(self.campaign.identity)
        return {"name": name, "value": token, "url": self.address}

    def state(self, doc: str, assessor: str = "ann") -> State:
        return self.campaign.state(assessor, "1", doc)[1]

    def exported(self, doc: str, assessor: str = "ann") -> list[str]:
        """The texts of the exported spans, cut out of the document by their offsets."""
        found = judgements(self.campaign, assessors=assessor, validated_only=False)
        text = self.campaign.document(doc).text
        (row,) = (i for i in range(len(found)) if found.doc[i] == doc)
        return [text[start:end] for start, end in found.passages(row)]


def write_run(folder: Path, name: str, docs: list[str], path: str) -> None:
    """A run that returns the same element of each document."""
    head = {"type": "header", "format": "foveal-run", "version": 1, "run": name}
    rows = [{"topic": "1", "doc": doc, "rank": i, "xpath": path} for i, doc in enumerate(docs, 1)]
    (folder / f"{name}.jsonl").write_text("\n".join(json.dumps(row) for row in (head, *rows)))


@contextmanager
def serving(folder: Path, procedure: str, images: Path | None = None) -> Iterator[Place]:
    """A campaign of the documents and runs in a folder, by the procedure of a year."""
    index, path = folder / "index.fvx", folder / f"campaign{procedure}"
    runs = [foveal.read_run(folder / f"{name}.jsonl") for name in NAMES]
    statement = {"description": "What moves them?", "narrative": "Say how."}
    Campaign.create(
        path,
        collection=Collection.open(index),
        source=folder / "docs",
        topics=Topics.of([Topic("1", title="ferries", **statement)]),
        pool=pool(runs, collection=index).pool,
        assessors=ASSESSORS,
        procedure=procedure,
    ).close()
    with Campaign.open(path) as campaign:
        campaign.add_user("org", "organiser")
        app = create_app(campaign, images=images)
        with answering(app) as address:
            yield Place(campaign, app, address)


def points(page: Any, words: str) -> Any:
    """Return where words of the text are on the screen: left of the first, right of the last."""
    return page.evaluate(
        """words => {
          const root = document.getElementById("text");
          const from = root.textContent.indexOf(words), to = from + words.length;
          const range = document.createRange();
          const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
          let at = 0;
          while (walker.nextNode()) {
            const node = walker.currentNode, end = at + node.length;
            if (at <= from && from < end) range.setStart(node, from - at);
            if (at < to && to <= end) { range.setEnd(node, to - at); break; }
            at = end;
          }
          const boxes = [...range.getClientRects()].filter(box => box.width);
          const first = boxes[0], last = boxes[boxes.length - 1];
          return [first.left + .5, first.top + first.height / 2,
            last.right - .5, last.top + last.height / 2];
        }""",
        words,
    )


def drag(page: Any, words: str) -> None:
    """Select words of the text with the mouse."""
    left, top, right, bottom = points(page, words)
    page.mouse.move(left, top)
    page.mouse.down()
    page.mouse.move((left + right) / 2, (top + bottom) / 2)
    page.mouse.move(right, bottom)
    page.mouse.up()


class Tab:
    """An article page in a browser, with the hands of an assessor."""

    def __init__(self, page: Any, place: Place, doc: str) -> None:
        self.page = page
        self.place = place
        self.doc = doc
        self.said: list[str] = []
        page.on("pageerror", lambda error: self.said.append(str(error)))

    def open(self, query: str = "") -> Tab:
        self.page.goto(f"{self.place.address}/topics/1/documents/{self.doc}{query}")
        return self.ready()

    def ready(self) -> Tab:
        self.page.locator("body[data-ready]").wait_for()
        return self

    def press(self, *keys: str) -> Tab:
        for key in keys:
            self.page.keyboard.press(key)
        return self

    def points(self, words: str) -> Any:
        return points(self.page, words)

    def drag(self, words: str) -> Tab:
        drag(self.page, words)
        return self

    def click(self, words: str) -> Tab:
        left, top, *_ = self.points(words)
        self.page.mouse.click(left, top)
        return self

    def saved(self) -> Tab:
        """Everything is acknowledged by the server."""
        self.page.locator("#save", has_text="✓ saved").wait_for()
        return self

    @property
    def selected(self) -> str:
        """What is selected, as the text has it (line ends and all)."""
        return self.page.evaluate(
            """() => {
              const selection = getSelection();
              if (!selection.rangeCount) return "";
              return selection.getRangeAt(0).cloneContents().textContent;
            }"""
        )

    @property
    def saving(self) -> str:
        return self.page.locator("#save").inner_text()

    @property
    def next_step(self) -> str:
        return self.page.locator("#next-step").inner_text()

    def painted(self, layer: str) -> list[str]:
        """The texts that a layer of the page colours."""
        return self.page.evaluate(
            """layer => [...CSS.highlights.get(layer) ?? []].map(({ startContainer, startOffset,
              endContainer, endOffset }) => {
              const range = document.createRange();
              range.setStart(startContainer, startOffset);
              range.setEnd(endContainer, endOffset);
              return range;
            }).sort((one, other) => one.compareBoundaryPoints(Range.START_TO_START, other))
              .map(range => range.cloneContents().textContent)""",
            layer,
        )


def assessed(place: Place, doc: str, assessor: str, spans: list[tuple[int, int]]) -> None:
    """An assessor is done with a document, without a page."""
    document = place.campaign.document(doc)
    actions = [*(Highlight(*span) for span in spans), EntryPoint(spans[0][0])]
    for base, action in enumerate([*actions, Validate()]):
        place.campaign.act(
            assessor,
            "1",
            doc,
            f"{doc}-{assessor}-{base:04}",
            base,
            action,
            length=document.length,
            digest=document.sha256,
        )
