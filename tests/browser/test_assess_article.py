"""The article page on the real server: what an assessor does is what is exported."""

from __future__ import annotations

import json
import subprocess
import sys
import tarfile
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from hashlib import sha256
from itertools import count
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import foveal
from browsing import AXE, ROOT, needs_axe, needs_browser
from foveal.analysis.pools import pool
from foveal.assess.actions import Action, History, State, add_span, remove_span
from foveal.assess.documents import elements_of
from foveal.assess.exporting import judgements
from foveal.assess.server import create_app, listen
from foveal.assess.store import FINAL, Campaign
from foveal.collection import Collection, build_index
from foveal.model import Topic, Topics
from shared_data import DATA, INEX, needs_inex

pytestmark = needs_browser
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


# -- a server of a campaign for each procedure, with a new document for each test -----------------


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
        token, _ = self.app.state.site.sessions.begin(user)
        return {"name": "foveal_session", "value": token, "url": self.address}

    def state(self, doc: str, assessor: str = "ann") -> State:
        return self.campaign.state(assessor, "1", doc)[1]

    def exported(self, doc: str, assessor: str = "ann") -> list[str]:
        """The texts of the exported spans, cut out of the document by their offsets."""
        found = judgements(self.campaign, assessors=assessor, validated_only=False)
        text = self.campaign.document(doc).text
        (row,) = (i for i in range(len(found)) if found.doc[i] == doc)
        return [text[start:end] for start, end in found.passages(row)]


def run_of(folder: Path, name: str, docs: list[str], path: str) -> foveal.Run:
    head = {"type": "header", "format": "foveal-run", "version": 1, "run": name}
    rows = [{"topic": "1", "doc": doc, "rank": i, "xpath": path} for i, doc in enumerate(docs, 1)]
    (folder / f"{name}.jsonl").write_text("\n".join(json.dumps(row) for row in (head, *rows)))
    return foveal.read_run(folder / f"{name}.jsonl")


@pytest.fixture(scope="module")
def collection(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("article")
    (folder / "docs").mkdir()
    names = [f"d{i:02}" for i in range(DOCUMENTS)]
    for name in names:
        (folder / "docs" / f"{name}.xml").write_text(ARTICLE, encoding="utf-8")
    (folder / "docs" / "plain.txt").write_text(PLAIN, encoding="utf-8")
    long = "\n".join(f"<p>{'word ' * 80} paragraph {i} of many</p>" for i in range(300))
    (folder / "docs" / "long.xml").write_text(f"<article>{long}</article>", encoding="utf-8")
    (folder / "docs" / "outside.xml").write_text("<a><p>not pooled</p></a>", encoding="utf-8")
    build_index(folder / "docs", folder / "index.fvx")
    run_of(folder, "one", names, P1)
    run_of(folder, "two", names, P1)
    run_of(folder, "three", [*names, "long"], "/article[1]")
    run_of(folder, "four", ["plain"], "/text[1]")
    return folder


def serving(folder: Path, procedure: str) -> Iterator[Place]:
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
        app = create_app(campaign)
        listening = listen("127.0.0.1", 0)
        config = uvicorn.Config(app, log_level="error", access_log=False)
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        yield Place(campaign, app, f"http://127.0.0.1:{listening.getsockname()[1]}")
        server.should_exit = True
        thread.join()


@pytest.fixture(scope="module")
def place(collection: Path) -> Iterator[Place]:
    yield from serving(collection, "2006")


@pytest.fixture(scope="module")
def place_2005(collection: Path) -> Iterator[Place]:
    yield from serving(collection, "2005")


@pytest.fixture(scope="module")
def place_2003(collection: Path) -> Iterator[Place]:
    yield from serving(collection, "2003")


@pytest.fixture(scope="module")
def place_real(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    """An article of Wikipedia and one of PubMed Central."""
    folder = tmp_path_factory.mktemp("real")
    (folder / "docs").mkdir()
    (folder / "docs" / "inex.xml").write_bytes((INEX / "xml" / "627.xml").read_bytes())
    with tarfile.open(JATS, "r|xz") as archive:
        found = next(member for member in archive if member.isfile())
        held = archive.extractfile(found)
        assert held is not None
        (folder / "docs" / "jats.xml").write_bytes(held.read())
    build_index(folder / "docs", folder / "index.fvx")
    for name in NAMES:
        run_of(folder, name, ["inex", "jats"], "/article[1]")
    yield from serving(folder, "2006")


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
        """Where a stretch of the text is on the screen: left of its first and right of its last."""
        return self.page.evaluate(
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

    def drag(self, words: str) -> Tab:
        left, top, right, bottom = self.points(words)
        mouse = self.page.mouse
        mouse.move(left, top)
        mouse.down()
        mouse.move((left + right) / 2, (top + bottom) / 2)
        mouse.move(right, bottom)
        mouse.up()
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


@pytest.fixture(scope="module")
def people(browser: Any) -> Iterator[dict[tuple[str, str], Any]]:
    """Browsers of those who work on a campaign, each with cookies and storage of its own."""
    made: dict[tuple[str, str], Any] = {}
    yield made
    for context in made.values():
        context.close()


@pytest.fixture
def tabs(browser: Any, people: dict[tuple[str, str], Any]) -> Iterator[Any]:
    """Opens pages, with options in a browser of their own; none may raise anything."""
    opened: list[Tab] = []
    alone: list[Any] = []

    def context_of(place: Place, user: str, options: dict[str, Any]) -> Any:
        key = (place.address, user)
        if options or key not in people:
            made = browser.new_context(**{"viewport": {"width": 1280, "height": 800}} | options)
            made.add_cookies([place.cookie(user)])
            if options:
                alone.append(made)
                return made
            people[key] = made
        return people[key]

    def open_tab(place: Place, doc: str | None = None, user: str = "ann", **options: Any) -> Tab:
        context = context_of(place, user, options)
        opened.append(Tab(context.new_page(), place, doc or place.document()))
        return opened[-1]

    yield open_tab
    assert [said for tab in opened for said in tab.said] == []
    for context in alone:
        context.close()
    for page in (page for context in people.values() for page in context.pages):
        page.evaluate("localStorage.clear()")
        page.close()


@pytest.fixture
def tab(place: Place, tabs: Any) -> Tab:
    return tabs(place).open()


# -- the text ------------------------------------------------------------------------------------


@pytest.mark.parametrize("doc", ["d39", "plain"])
def test_the_text_of_the_page_is_the_text_of_the_document(
    place: Place, tabs: Any, doc: str
) -> None:
    tab = tabs(place, doc).open()
    shown = tab.page.evaluate("document.getElementById('text').textContent")
    assert shown == place.campaign.document(doc).text
    assert tab.saving == "✓ saved"


def test_nothing_of_a_document_runs(tab: Tab) -> None:
    assert "dataset.ran" in tab.page.locator("#text").inner_text()
    assert tab.page.evaluate("document.body.dataset.ran") is None
    assert tab.page.locator("#text script, #text [onclick]").count() == 0


def test_a_page_with_another_text_saves_nothing(tab: Tab) -> None:
    tab.page.evaluate("document.querySelector('#text .r-strong').firstChild.data = 'kein Kabel'")
    tab.page.locator("#problem").wait_for()
    assert tab.saving == "✗ cannot save: the text differs"
    tab.drag("diesel").press("h")
    assert tab.painted("relevant") == []
    assert tab.place.state(tab.doc) == State()


def test_a_text_that_differs_from_the_start_is_refused(place: Place, tabs: Any) -> None:
    tab = tabs(place)

    def altered(route: Any) -> None:
        answer = route.fetch()
        content = answer.json()
        content["structure"]["text"] = content["structure"]["text"].replace("cable", "chain")
        route.fulfill(response=answer, json=content)

    tab.page.route("**/api/topics/1/documents/*", altered)
    tab.open()
    assert tab.saving == "✗ cannot save: the text differs"
    assert "not the text that the server has" in tab.page.locator("#problem").inner_text()


# -- highlighting --------------------------------------------------------------------------------


def test_highlight_by_mouse_across_elements_and_astral_characters(tab: Tab) -> None:
    words = (
        "\U0001f6a2 crosses by the push of the stream: \U0001d11e by \U0001d11e,\nx<y & z.\nA <ca"
    )
    selected = tab.drag(words).selected
    assert selected == words
    tab.press("h").saved()
    assert tab.selected == ""
    assert tab.painted("relevant") == [words]
    assert tab.place.exported(tab.doc) == [words]


@pytest.mark.parametrize("beside", ["#side", ".status", ".top", ".tools"])
def test_a_drag_that_ends_beside_the_text_ends_in_the_line_there(
    place: Place, tabs: Any, beside: str
) -> None:
    """And does not take all the rest of a long document."""
    tab = tabs(place, "long").open()
    tab.page.evaluate("scrollTo(0, 2000)")
    box = tab.page.locator(beside).bounding_box()
    mouse = tab.page.mouse
    mouse.move(400, 400)
    mouse.down()
    mouse.move(600, 420)
    mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2, steps=4)
    mouse.up()
    assert 0 < len(tab.selected) < 4000
    tab.press("Escape")
    tab.page.locator("#panel-topic button").first.click()  # and panels can be used again


def test_highlight_by_keyboard_across_elements_and_astral_characters(tab: Tab) -> None:
    tab.click("by \U0001d11e").press("Control+ArrowLeft")
    tab.press("Shift+ArrowRight", "Shift+ArrowRight", *["Control+Shift+ArrowRight"] * 9)
    selected = tab.selected
    assert selected.startswith("\U0001d11e by") or "\U0001d11e" in selected
    assert "\n" in selected, "the selection stays within one paragraph"
    tab.press("h").saved()
    assert tab.place.exported(tab.doc) == [selected]


def test_by_character_a_pair_of_units_is_one_step(tab: Tab) -> None:
    tab.click("\U0001d11e by").press("Shift+ArrowRight")
    assert tab.selected == "\U0001d11e"
    tab.press("h").saved()
    assert tab.place.exported(tab.doc) == ["\U0001d11e"]


def test_lines_and_paragraphs_by_keys(tab: Tab) -> None:
    tab.click("There an engine").press("Shift+End")
    line = tab.selected
    assert line.startswith("There an engine")
    tab.press("Escape")
    tab.click("There an engine").press("Control+Shift+ArrowDown")
    assert tab.selected == "There an engine drives the boat, and no cable\nis needed.\n"


def test_touching_passages_merge_and_unhighlight_cuts(tab: Tab) -> None:
    tab.drag("There an").press("h").drag(" engine drives").press("h").saved()
    assert tab.place.exported(tab.doc) == ["There an engine drives"]
    tab.drag("an engine").press("u").saved()
    assert tab.place.exported(tab.doc) == ["There ", " drives"]
    tab.click("drives").press("u").saved()
    assert tab.place.exported(tab.doc) == ["There "]


def test_without_a_selection_nothing_is_highlighted(tab: Tab) -> None:
    tab.press("h")
    assert "Select the relevant text first" in tab.page.locator("#toast").inner_text()
    assert tab.place.state(tab.doc) == State()


def test_grow_takes_the_element_around_and_again(tab: Tab) -> None:
    text = tab.place.campaign.document(tab.doc).text
    elements = tab.place.campaign.elements(tab.doc)
    paths = ["/article[1]/body[1]/sec[1]/p[1]/italic[1]", P1, "/article[1]/body[1]/sec[1]"]
    tab.click("push")
    for path in paths:
        i = elements.number[path]
        tab.press("g")
        assert tab.selected == text[elements.start[i] : elements.end[i]]
    assert "body[1]/sec[1]" in tab.page.locator("#picked").inner_text()
    tab.press("h").saved()
    assert tab.place.exported(tab.doc) == [text[elements.start[i] : elements.end[i]]]


SELECT = """seed => {
  const walker = document.createTreeWalker(document.getElementById("text"), NodeFilter.SHOW_TEXT);
  const nodes = [];
  while (walker.nextNode()) nodes.push(walker.currentNode);
  const draw = below => { seed = (seed * 48271) % 2147483647; return seed % below; };
  const place = () => {
    const node = nodes[draw(nodes.length)];
    let at = draw(node.length + 1);
    if (at > 0 && node.data.codePointAt(at - 1) > 0xffff) at -= 1;  // between two characters
    return [node, at];
  };
  getSelection().setBaseAndExtent(...place(), ...place());
}"""


@needs_inex
@pytest.mark.skipif(not JATS.exists(), reason="no articles in JATS beside the project")
@pytest.mark.parametrize("kind", ["inex", "jats"])
def test_spans_of_real_documents_are_what_was_selected(
    place_real: Place, tabs: Any, kind: str
) -> None:
    tab = tabs(place_real, kind).open()
    text = place_real.campaign.document(kind).text
    for seed in range(1, 9):
        tab.page.evaluate(SELECT, seed * 7919)
        selected = tab.selected
        tab.press("h").saved()
        (exported,) = tab.place.exported(kind)
        assert exported == selected
        assert text.count(selected) >= 1
        tab.press("z").saved()


# -- best entry point and validation -------------------------------------------------------------


def test_entry_point_by_click(tab: Tab) -> None:
    tab.press("b")
    assert "where reading should begin" in tab.next_step
    tab.click("engine drives").saved()
    text = tab.place.campaign.document(tab.doc).text
    assert tab.place.state(tab.doc).bep == text.index("engine drives")
    mark, (left, *_) = tab.page.locator(".bep").bounding_box(), tab.points("engine drives")
    assert abs(mark["x"] - left) < 4
    tab.press("Shift+B").saved()
    assert tab.place.state(tab.doc).bep is None


def test_entry_point_by_keyboard(tab: Tab) -> None:
    text = tab.place.campaign.document(tab.doc).text
    tab.click("\U0001d11e by").press("ArrowRight", "b", "Enter").saved()
    assert tab.place.state(tab.doc).bep == text.index("\U0001d11e by") + 1
    tab.press("b", "Escape").click("diesel")
    assert tab.place.state(tab.doc).bep == text.index("\U0001d11e by") + 1


def test_after_a_highlight_its_start_is_two_keys_away(tab: Tab) -> None:
    text = tab.place.campaign.document(tab.doc).text
    tab.drag("There an engine").press("h", "b", "Enter").saved()
    assert tab.place.state(tab.doc).bep == text.index("There an engine")


def test_validation_needs_an_entry_point_and_any_change_takes_it_back(tab: Tab) -> None:
    tab.drag("diesel").press("h", "f")
    dialog = tab.page.get_by_role("dialog")
    assert "no best entry point" in dialog.inner_text()
    tab.press("Enter", "b").click("diesel").press("f").saved()
    assert tab.place.state(tab.doc).validated
    assert "next document" in tab.next_step
    tab.drag("steam").press("h").saved()
    assert not tab.place.state(tab.doc).validated


def test_next_previous_and_up(tab: Tab) -> None:
    order = [entry.doc for entry in tab.place.campaign.pool("1")]
    following = order[order.index(tab.doc) + 1]
    tab.press("f").saved().press("3")
    tab.page.wait_for_url(f"**/documents/{following}")
    tab.ready().press("1")
    tab.page.wait_for_url(f"**/documents/{tab.doc}")
    tab.ready().press("2")
    tab.page.wait_for_url("**/topics/1")


def test_what_is_left_is_counted(tab: Tab) -> None:
    before = int(tab.page.locator("#left").inner_text().split()[0])
    tab.press("f").saved()
    assert int(tab.page.locator("#left").inner_text().split()[0]) == before - 1


# -- undo, reload, tabs, conflicts, the network --------------------------------------------------


def test_undo_and_redo_also_after_a_reload(tab: Tab) -> None:
    tab.drag("diesel").press("h").drag("steam").press("h", "z").saved()
    assert tab.painted("relevant") == tab.place.exported(tab.doc) == ["diesel"]
    tab.page.reload()
    tab.ready().press("Control+Shift+Z").saved()
    assert tab.painted("relevant") == tab.place.exported(tab.doc) == ["diesel", "steam"]
    tab.press("Control+z", "z").saved()
    assert tab.painted("relevant") == tab.place.exported(tab.doc) == []
    tab.press("y").saved()
    assert tab.painted("relevant") == ["diesel"]


def test_another_tab_is_told(place: Place, tabs: Any) -> None:
    one = tabs(place).open()
    two = tabs(place, one.doc).open()
    one.drag("diesel").press("h").saved()
    two.page.locator("#toast", has_text="another tab").wait_for()
    assert two.painted("relevant") == ["diesel"]
    two.drag("steam").press("h").saved()
    assert place.exported(one.doc) == ["diesel", "steam"]


@pytest.mark.parametrize(
    ("answer", "kept"),
    [
        ("Apply mine to the newest", ["There", "diesel", "steam"]),
        ("Take the newest, drop mine", ["There", "diesel"]),
    ],
)
def test_a_conflict_is_shown_and_resolved(
    place: Place, tabs: Any, answer: str, kept: list[str]
) -> None:
    here, there = tabs(place), tabs(place, "d00", viewport={"width": 1000, "height": 700})
    here.open()
    there.doc = here.doc
    there.open()  # another browser: no message between tabs
    there.drag("diesel").press("h").drag("There").press("h").saved()
    here.drag("steam").press("h")
    dialog = here.page.get_by_role("dialog")
    dialog.wait_for()
    assert "2 passages" in dialog.inner_text()
    assert "highlight “steam”" in dialog.inner_text()
    assert here.saving == "⚠ conflict: 1 not yet saved"
    dialog.get_by_role("button", name=answer).click()
    here.saved()
    assert here.painted("relevant") == kept
    assert place.exported(here.doc) == kept


def test_offline_and_back(tab: Tab) -> None:
    context = tab.page.context
    context.set_offline(True)
    tab.drag("diesel").press("h").drag("steam").press("h").press("b").click("diesel")
    tab.page.locator("#save", has_text="offline: 3 not yet saved").wait_for()
    assert tab.painted("relevant") == ["diesel", "steam"]
    assert tab.place.state(tab.doc) == State()
    context.set_offline(False)
    tab.saved()
    assert tab.place.exported(tab.doc) == ["diesel", "steam"]
    assert tab.place.state(tab.doc).bep is not None


def test_what_was_done_offline_survives_the_closing_of_the_page(place: Place, tabs: Any) -> None:
    first = tabs(place).open()
    context = first.page.context
    context.set_offline(True)
    first.drag("diesel").press("h").drag("steam").press("h")
    first.page.locator("#save", has_text="offline: 2").wait_for()
    first.page.close()
    context.set_offline(False)
    second = tabs(place, first.doc).open().saved()
    assert second.painted("relevant") == place.exported(first.doc) == ["diesel", "steam"]
    assert place.campaign.state("ann", "1", first.doc)[0] == 2


def test_what_waits_for_another_document_is_sent_from_any(place: Place, tabs: Any) -> None:
    first = tabs(place).open()
    context = first.page.context
    context.set_offline(True)
    first.drag("diesel").press("h")
    first.page.locator("#save", has_text="offline: 1").wait_for()
    first.page.close()
    context.set_offline(False)
    second = tabs(place)
    with second.page.expect_response(f"**/{first.doc}/actions"):
        second.open()
    second.saved()
    assert place.exported(first.doc) == ["diesel"]


def test_a_page_that_is_looked_at_again_asks_for_what_is_new(place: Place, tabs: Any) -> None:
    here, there = tabs(place), tabs(place, "d00", viewport={"width": 1000, "height": 700})
    here.open()
    there.doc = here.doc
    there.open().drag("diesel").press("h").saved()
    here.page.evaluate("dispatchEvent(new Event('focus'))")
    here.page.locator("#state", has_text="1 passage").wait_for()
    assert here.painted("relevant") == ["diesel"]


def test_an_answer_that_is_lost_does_no_harm(tab: Tab) -> None:
    def lose(route: Any) -> None:
        route.fetch()
        route.abort()

    tab.page.route("**/actions", lose)
    tab.drag("diesel").press("h")
    tab.page.locator("#save", has_text="offline: 1").wait_for()
    tab.page.unroute("**/actions")
    tab.drag("steam").press("h")
    tab.page.locator("#save").click()
    tab.saved()
    assert tab.place.campaign.state("ann", "1", tab.doc)[0] == 2
    assert tab.place.exported(tab.doc) == ["diesel", "steam"]


def test_what_was_saved_unheard_is_not_shown_twice(place: Place, tabs: Any) -> None:
    """An undo is saved, its answer is lost, the page is closed, and another tab goes on."""
    first = tabs(place).open()
    first.drag("diesel").press("h").saved()
    first.drag("steam").press("h").saved()

    def lose(route: Any) -> None:
        route.fetch()
        route.abort()

    first.page.route("**/actions", lose)
    first.press("z")
    first.page.locator("#save", has_text="offline: 1").wait_for()
    first.page.close()
    document = place.campaign.document(first.doc)
    start = document.text.index("engine")
    place.campaign.act(
        "ann", "1", first.doc, f"elsewhere-{first.doc}", 3, Action("highlight", start, start + 6),
        length=document.length, digest=document.sha256,
    )  # fmt: skip
    again = tabs(place, first.doc).open().saved()
    assert again.painted("relevant") == place.exported(first.doc) == ["engine", "diesel"]


def test_what_was_saved_unheard_is_no_conflict(place: Place, tabs: Any) -> None:
    """The page is opened again, and goes on before it hears that the action was saved."""
    first = tabs(place).open()

    def lose(route: Any) -> None:
        route.fetch()
        route.abort()

    first.page.route("**/actions", lose)
    first.drag("diesel").press("h")
    first.page.locator("#save", has_text="offline: 1").wait_for()
    first.page.close()
    again = tabs(place, first.doc)
    held: list[Any] = []

    def hold(route: Any) -> None:
        held.append(route)

    again.page.route("**/actions", hold)
    again.open().drag("steam").press("h")
    again.page.locator("#save", has_text="saving 2").wait_for()
    held.pop().continue_()
    again.page.unroute("**/actions")
    again.saved()
    assert place.campaign.state("ann", "1", first.doc)[0] == 2
    assert place.exported(first.doc) == ["diesel", "steam"]


def test_signed_out_keeps_what_was_done(place: Place, tabs: Any) -> None:
    tab = tabs(place, viewport={"width": 1200, "height": 800}).open()
    tab.page.context.clear_cookies()
    tab.drag("diesel").press("h")
    tab.page.locator("#save", has_text="signed out: 1 not yet saved").wait_for()
    tab.page.context.add_cookies([place.cookie("ann")])
    tab.page.locator("#save").click()
    tab.page.get_by_role("button", name="Try again").click()
    tab.saved()
    assert place.exported(tab.doc) == ["diesel"]


def test_what_one_did_is_not_saved_as_anothers(place: Place, tabs: Any) -> None:
    tab = tabs(place, viewport={"width": 1200, "height": 800}).open()
    tab.page.context.clear_cookies()
    tab.page.context.add_cookies([place.cookie("bob")])
    tab.drag("diesel").press("h")
    tab.page.locator("#save", has_text="signed out: 1 not yet saved").wait_for()
    tab.page.locator("#save").click()
    tab.page.get_by_role("button", name="Try again").click()
    tab.page.locator("#save", has_text="signed out: 1 not yet saved").click()
    assert "Now bob is signed in here" in tab.page.get_by_role("dialog").inner_text()
    assert place.state(tab.doc, "ann") == place.state(tab.doc, "bob") == State()


def test_time_counts_only_while_somebody_works(place: Place, tabs: Any) -> None:
    tab = tabs(place, viewport={"width": 1100, "height": 800})
    tab.page.clock.install(time=0)
    tab.open().press("t")
    with tab.page.expect_response("**/events"):
        tab.page.clock.run_for(31_000)
    assert place.campaign.seconds("ann", "1", tab.doc) == 30
    tab.page.clock.run_for(600_000)
    assert tab.page.locator("#clock").inner_text() in ("0:59", "1:00")


def test_the_entry_point_is_found_again_in_a_long_document(place: Place, tabs: Any) -> None:
    document = place.campaign.document("long")
    at = document.text.index("paragraph 150 of")
    assessed(place, "long", "ann", [(at, at + 30)])
    tab = tabs(place, "long").open()
    left, top, *_ = tab.points("paragraph 150 of")
    mark = tab.page.locator(".bep").bounding_box()
    assert 0 < top < 750
    assert abs(mark["x"] - left) < 4
    assert mark["y"] <= top <= mark["y"] + mark["height"]


# -- panels --------------------------------------------------------------------------------------


def test_support_shows_what_was_returned_and_by_whom(tab: Tab) -> None:
    text = tab.place.campaign.document(tab.doc).text
    elements = tab.place.campaign.elements(tab.doc)
    i = elements.number[P1]
    assert tab.page.locator("#text .supported").count() == 0
    tab.press("s")
    bar = tab.page.locator("#text .supported[data-runs='2']")
    assert bar.evaluate("node => node.textContent") == text[elements.start[i] : elements.end[i]]
    entry = tab.page.locator("#panel-support li", has_text="p[1]")
    assert all(f"{run} (" in entry.inner_text() for run in ("one", "two"))
    entry.get_by_role("button").click()
    tab.press("h").saved()
    assert tab.place.exported(tab.doc) == [text[elements.start[i] : elements.end[i]]]
    tab.press("s")
    assert tab.page.locator("#text .supported").count() == 0


def test_cue_words_are_coloured_kept_and_bad_ones_reported(place: Place, tabs: Any) -> None:
    tab = tabs(place, user="bob").open()
    tab.press("c")
    for words in ("(the )?boat", "[open", r"(\w|\w\w|\s)+#"):
        tab.page.get_by_role("button", name="Add a cue word").click()
        tab.page.keyboard.type(words)
    said = tab.page.locator(".cues .said")
    said.nth(2).filter(has_text="too slow").wait_for()
    assert said.all_inner_texts()[0] == "2 matches"
    assert "not an expression" in said.all_inner_texts()[1]
    assert tab.painted("cue-blue-underline") == ["the boat", "the boat"]
    tab.page.locator(".cues select").nth(1).select_option("background")
    tab.page.locator(".cues button").nth(2).click()
    tab.page.wait_for_function("() => CSS.highlights.get('cue-blue-background')?.size === 2")
    assert tab.painted("cue-blue-underline") == []
    tab.page.wait_for_function(
        "async () => (await (await fetch('/api' + location.pathname)).json()).cues.length == 2"
    )
    tab.page.reload()
    tab.ready()
    tab.page.wait_for_function("() => CSS.highlights.get('cue-blue-background')?.size === 2")


def test_keys_in_a_note_are_letters_and_the_note_is_saved(tab: Tab) -> None:
    tab.drag("diesel").press("n")
    tab.page.keyboard.type("huh? \U0001f600 b3")
    tab.press("Escape").saved()
    assert tab.place.state(tab.doc) == State(note="huh? \U0001f600 b3")
    tab.page.reload()
    assert tab.ready().page.locator("textarea").input_value() == "huh? \U0001f600 b3"


def test_elements_show_their_specificity(tab: Tab) -> None:
    tab.drag("There an engine").press("h", "e")
    rows = tab.page.locator("#panel-elements tbody tr")
    cells = [row.split("\t") for row in rows.all_inner_texts()]
    assert [row[0] for row in cells] == ["article[1]", "body[1]", "sec[2]", "p[1]"]
    length = len("There an engine drives the boat, and no cable\nis needed.")
    assert cells[3][1:] == [str(length), "15", f"{15 / length:.2f}"]


def test_topic_history_and_help(tab: Tab) -> None:
    assert "What moves them?" in tab.page.locator("#panel-topic").inner_text()
    tab.press("t")
    assert not tab.page.locator("#panel-topic .body").is_visible()
    tab.press("t", "v")
    tab.page.locator("#panel-seen li.here").wait_for()
    tab.press("?")
    assert "best entry point" in tab.page.locator("dialog[open]").inner_text().lower()
    tab.press("h", "Escape")
    assert tab.place.state(tab.doc) == State()
    assert tab.page.locator("dialog[open]").count() == 0


def test_a_document_outside_the_pool_is_added_when_it_is_judged(place: Place, tabs: Any) -> None:
    tab = tabs(place, "outside").open()
    tab.drag("not pooled").press("h")
    tab.page.get_by_role("button", name="Add it").click()
    tab.page.locator("#state", has_text="1 passage").wait_for()
    tab.saved()
    assert place.exported("outside") == ["not pooled"]
    assert place.campaign.in_pool("1", "outside")


# -- other procedures ----------------------------------------------------------------------------


def test_exhaustivity_in_2005(place_2005: Place, tabs: Any) -> None:
    tab = tabs(place_2005).open()
    tab.drag("diesel").press("h", "b").click("diesel").saved().press("f")
    assert "has no grade of exhaustivity" in tab.page.get_by_role("dialog").inner_text()
    tab.press("Enter", "e")
    rows = tab.page.locator("#panel-elements tbody tr")
    names = [text.split("\t")[0] for text in rows.all_inner_texts()]
    assert names[-3:] == ["list[1]", "list-item[1]", "p[1]"]
    rows.nth(len(names) - 1).focus()
    tab.press("1").saved()
    path = next(iter(place_2005.state(tab.doc).grades))
    assert path.endswith("/list[1]/list-item[1]/p[1]")
    inferred = tab.page.locator("#panel-elements .follows")
    inferred.first.wait_for()
    assert inferred.all_inner_texts() == ["1"] * (len(names) - 1)
    # A parent is at least as exhaustive as its children.
    rows.first.focus()
    tab.press("0")
    tab.page.locator("#toast.bad", has_text="at least as exhaustive").wait_for()
    rows.first.focus()
    tab.press("2").saved().press("Escape", "f").saved()
    state = place_2005.state(tab.doc)
    assert state.validated
    assert [grade["exhaustivity"] for grade in state.grades.values()] == ["1", "2"]


def test_both_dimensions_in_2003(place_2003: Place, tabs: Any) -> None:
    tab = tabs(place_2003).open()
    tab.drag("diesel").press("h")
    assert "grades elements" in tab.page.locator("#toast").inner_text()
    tab.press("Escape", "e", "3", "2", "ArrowDown", "0").saved()
    assert dict(place_2003.state(tab.doc).grades) == {
        "/article[1]": {"exhaustivity": "3", "specificity": "2"},
        P1: {"exhaustivity": "0", "specificity": "0"},
    }
    tab.press("Escape", "f").saved()
    assert place_2003.state(tab.doc).validated


def test_in_2003_the_element_around_a_pooled_passage_is_graded(tmp_path: Path, tabs: Any) -> None:
    """And a document that was added, as a whole: neither has an element that a run returned."""
    (tmp_path / "docs").mkdir()
    for name in ("pooled", "added"):
        (tmp_path / "docs" / f"{name}.xml").write_text(ARTICLE, encoding="utf-8")
    build_index(tmp_path / "docs", tmp_path / "index.fvx")
    elements = elements_of(Collection.open(tmp_path / "index.fvx"), "pooled")
    start, end = (int(ends[elements.number[P1]]) for ends in (elements.start, elements.end))
    head = {"type": "header", "format": "foveal-run", "version": 1}
    row = {"topic": "1", "doc": "pooled", "rank": 1, "start": start + 1, "end": end - 1}
    for name in NAMES:
        lines = "\n".join(map(json.dumps, ({**head, "run": name}, row)))
        (tmp_path / f"{name}.jsonl").write_text(lines)
    for place in serving(tmp_path, "2003"):
        tab = tabs(place, "pooled", viewport={"width": 1280, "height": 800}).open()
        tab.press("f")
        assert P1 in tab.page.get_by_role("dialog").inner_text()
        tab.press("Enter", "e", "3", "2", "Escape").saved().press("f").saved()
        assert dict(place.state("pooled").grades) == {P1: {"exhaustivity": "3", "specificity": "2"}}
        assert place.state("pooled").validated
        other = tabs(place, "added", viewport={"width": 1280, "height": 800}).open()
        other.press("e", "2", "1")
        other.page.get_by_role("button", name="Add it").click()
        other.page.locator("#state", has_text="1 element graded").wait_for()
        other.saved()
        assert list(place.state("added").grades) == ["/article[1]"]
        for opened in (tab, other):
            opened.page.close()


# -- adjudication --------------------------------------------------------------------------------


def assessed(place: Place, doc: str, assessor: str, spans: list[tuple[int, int]]) -> None:
    document = place.campaign.document(doc)
    actions = [*(Action("highlight", *span) for span in spans), Action("bep", spans[0][0])]
    for base, action in enumerate([*actions, Action("validate")]):
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


@pytest.mark.parametrize(
    ("key", "spans"),
    [("1", [(10, 30), (50, 60)]), ("u", [(10, 40), (50, 60)]), ("i", [(20, 30)])],
)
def test_adjudication_begins_with_others(
    place: Place, tabs: Any, key: str, spans: list[tuple[int, int]]
) -> None:
    doc = place.document()
    assessed(place, doc, "ann", [(10, 30), (50, 60)])
    assessed(place, doc, "bob", [(20, 40)])
    tab = tabs(place, doc, user="org").open("?as=final")
    text = place.campaign.document(doc).text
    assert tab.painted("other-0") == [text[10:30], text[50:60]]
    assert tab.painted("other-1") == [text[20:40]]
    tab.press("a", key).saved()
    state = place.state(doc, FINAL)
    assert list(state.spans) == spans
    assert state.bep == spans[0][0]
    tab.press("f").saved()
    assert place.state(doc, FINAL).validated


def test_who_is_blind_sees_no_others(place: Place, tabs: Any) -> None:
    doc = place.document()
    assessed(place, doc, "bob", [(20, 40)])
    tab = tabs(place, doc).open()
    assert tab.painted("other-0") == []
    assert tab.page.locator("#panel-others").count() == 0


# -- the page's own arithmetic is the server's ---------------------------------------------------


@pytest.fixture(scope="module")
def modules(browser: Any, place: Place) -> Iterator[Any]:
    """A page on which the modules can be called."""
    context = browser.new_context(bypass_csp=True)
    page = context.new_page()
    page.goto(f"{place.address}/static/article.css")
    page.evaluate(
        """async () => {
          for (const name of ["spans", "history", "offsets", "sha256", "queue"]) {
            // History would hide the browser's own.
            window.foveal = { ...window.foveal, ...await import(`/static/article/${name}.js`) };
          }
          const { History: _, ...rest } = window.foveal;
          Object.assign(window, rest);
        }"""
    )
    yield page
    context.close()


shared = settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
pairs = st.tuples(st.integers(0, 30), st.integers(1, 9)).map(lambda at: (at[0], at[0] + at[1]))


@shared
@given(steps=st.lists(st.tuples(st.booleans(), pairs), max_size=12))
def test_spans_are_added_and_removed_alike(modules: Any, steps: list[Any]) -> None:
    expected: Any = ()
    for adds, (start, end) in steps:
        expected = (add_span if adds else remove_span)(expected, start, end)
    found, covered = modules.evaluate(
        """steps => {
          const change = (all, [adds, [a, b]]) => (adds ? addSpan : removeSpan)(all, a, b);
          const spans = steps.reduce(change, []);
          const cover = new Coverage(spans);
          return [spans, Array.from({ length: 40 }, (_, at) => cover.within(at, at + 3))];
        }""",
        steps,
    )
    assert [tuple(span) for span in found] == list(expected)
    lit = {at for start, end in expected for at in range(start, end)}
    assert covered == [len(lit & set(range(at, at + 3))) for at in range(40)]


@shared
@given(lists=st.lists(st.lists(pairs, max_size=4), min_size=1, max_size=3))
def test_union_and_intersection_are_those_of_sets(modules: Any, lists: list[Any]) -> None:
    disjoint: list[Any] = []
    for spans in lists:
        made: Any = ()
        for span in spans:
            made = add_span(made, *span)
        disjoint.append(made)
    sets = [{at for a, b in spans for at in range(a, b)} for spans in disjoint]
    found = modules.evaluate("lists => [union(lists), intersection(lists)]", disjoint)
    either, both = ({at for a, b in spans for at in range(a, b)} for spans in found)
    assert either == set.union(*sets)
    assert both == set.intersection(*sets)


actions = st.one_of(
    st.builds(lambda span: {"kind": "highlight", "start": span[0], "end": span[1]}, pairs),
    st.builds(lambda span: {"kind": "unhighlight", "start": span[0], "end": span[1]}, pairs),
    st.builds(lambda at: {"kind": "bep", "start": at}, st.integers(0, 30)),
    st.just({"kind": "bep"}),
    st.builds(
        lambda path, value: {"kind": "grade", "path": path, "grade": value},
        st.sampled_from(["/a[1]", "/a[1]/b[1]"]),
        st.sampled_from([{}, {"exhaustivity": "1"}, {"exhaustivity": "2"}]),
    ),
    st.builds(lambda text: {"kind": "note", "text": text}, st.text(max_size=3)),
    st.sampled_from([{"kind": kind} for kind in ("validate", "invalidate", "undo", "redo")]),
)


@shared
@given(log=st.lists(actions, max_size=14))
def test_states_follow_from_actions_alike(modules: Any, log: list[dict[str, Any]]) -> None:
    history, kept = History(), []
    for given_action in log:
        kind = given_action["kind"]
        if not {"undo": history.can_undo, "redo": history.can_redo}.get(kind, True):
            continue
        kept.append(given_action)
        history.add(Action.from_json(given_action))
    found = modules.evaluate(
        """log => {
          const own = new window.foveal.History({ ...EMPTY });
          log.forEach(action => own.add(action));
          return [own.state, own.canUndo, own.canRedo];
        }""",
        kept,
    )
    assert found == [history.state.to_json(), history.can_undo, history.can_redo]


@shared
@given(text=st.text(st.characters(exclude_categories=["Cs"]), max_size=200))
def test_offsets_and_hashes_are_pythons(modules: Any, text: str) -> None:
    units = [len(text[:at].encode("utf-16-le")) // 2 for at in range(len(text) + 1)]
    found = modules.evaluate(
        """text => {
          const offsets = new Offsets(text);
          const all = Array.from({ length: offsets.length + 1 }, (_, i) => i);
          const units = all.map(at => offsets.toUnits(at));
          return [offsets.length, units, units.map(at => offsets.toPoints(at)), sha256(text)];
        }""",
        text,
    )
    digest = sha256(text.encode()).hexdigest()
    assert found == [len(text), units, list(range(len(text) + 1)), digest]


@pytest.mark.parametrize("length", [0, 55, 56, 63, 64, 65, 119, 120, 1000])
def test_hashes_at_the_borders_of_blocks(modules: Any, length: int) -> None:
    text = "\u00e9" * (length // 2) + "a" * (length % 2)
    assert modules.evaluate("sha256", text) == sha256(text.encode()).hexdigest()


@pytest.mark.parametrize(
    ("kinds", "kept"),
    [
        ("validate undo highlight", [2]),
        ("validate undo redo highlight", [3]),
        ("validate highlight undo undo undo", [1, 2, 4]),
        ("validate note undo bep undo", [1, 3, 4]),
        ("validate undo bep redo", [2, 3]),
        ("note undo", [1]),
        ("validate highlight undo redo", [1, 2, 3]),
    ],
)
def test_the_undo_of_what_was_refused_takes_back_nothing_else(
    modules: Any, kinds: str, kept: list[int]
) -> None:
    entries = [{"at": at, "action": {"kind": kind}} for at, kind in enumerate(kinds.split())]
    found = modules.evaluate(
        """async ([first, ...later]) => {
          const { withoutRefused } = await import("/static/article/queue.js");
          return withoutRefused(first, later).map(entry => entry.at);
        }""",
        entries,
    )
    assert found == kept


def test_undoing_a_refused_validation_leaves_the_highlights(place_2005: Place, tabs: Any) -> None:
    """Made without a network, when the page could not know that grades are missing."""
    tab = tabs(place_2005).open()
    tab.drag("diesel").press("h").saved()
    tab.page.context.set_offline(True)
    tab.click("steam").press("b", "Enter", "f", "z")
    tab.page.locator("#save", has_text="offline: 3 not yet saved").wait_for()
    tab.page.context.set_offline(False)
    tab.page.get_by_role("dialog").get_by_role("button", name="Close").click()
    tab.saved()
    assert place_2005.state(tab.doc).bep is not None
    assert place_2005.exported(tab.doc) == ["diesel"]


def test_what_was_undone_among_itself_is_not_applied_elsewhere(modules: Any) -> None:
    h, note = {"kind": "highlight", "start": 0, "end": 1}, {"kind": "note", "text": "x"}
    undo, redo = {"kind": "undo"}, {"kind": "redo"}
    found = modules.evaluate(
        "lists => lists.map(settled)", [[h, note, undo], [undo, h], [h, undo, redo]]
    )
    assert found == [[note], [h], [h]]


# -- every screen --------------------------------------------------------------------------------


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 420])
def test_nothing_sticks_out_and_the_state_is_in_sight(
    place: Place, tabs: Any, width: int, scheme: str
) -> None:
    size = {"width": width, "height": 800}
    tab = tabs(place, "d38", viewport=size, color_scheme=scheme).open()
    tab.press("s", "e")
    assert tab.page.evaluate("document.documentElement.scrollWidth") <= width
    for part in ("#save", "#next-step"):
        box = tab.page.locator(part).bounding_box()
        assert 0 <= box["x"] <= width - box["width"]
        assert box["y"] + box["height"] <= 800


def test_a_line_is_comfortable_to_read(tab: Tab) -> None:
    widest = tab.page.evaluate(
        """() => {
          const style = getComputedStyle(document.querySelector("#text .r-paragraph"));
          const pen = document.createElement("canvas").getContext("2d");
          pen.font = style.font;
          const letters = "The ferry crosses a river by the push of the stream alone. ".repeat(3);
          const letter = pen.measureText(letters).width / letters.length;
          return document.querySelector(".sheet").clientWidth / letter;
        }"""
    )
    assert 55 <= widest <= 80


def test_print_leaves_out_what_only_a_screen_needs(tab: Tab) -> None:
    tab.page.emulate_media(media="print")
    for part in (".tools", ".status", "#side"):
        assert not tab.page.locator(part).is_visible()
    assert tab.page.locator("#text").is_visible()


@needs_axe
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_no_barrier(place_2005: Place, tabs: Any, scheme: str) -> None:
    tab = tabs(place_2005, color_scheme=scheme, bypass_csp=True).open()
    tab.drag("diesel").press("h", "b").click("diesel").press("s", "v", "n", "Escape", "e").saved()
    tab.press("Escape", "c")
    tab.page.get_by_role("button", name="Add a cue word").click()
    tab.page.keyboard.type("boat")
    tab.page.locator(".cues .said", has_text="2 matches").wait_for()
    tab.page.evaluate(AXE.read_text(encoding="utf-8"))
    found = tab.page.evaluate("axe.run(document)")["violations"]
    assert [(v["id"], v["nodes"][0]["html"]) for v in found] == []
    tab.press("Escape", "?")
    found = tab.page.evaluate("axe.run(document)")["violations"]
    assert [(v["id"], v["nodes"][0]["html"]) for v in found] == []


def test_benchmark_of_the_page_runs_to_its_end() -> None:
    sizes = ["--characters", "20000", "--highlights", "40", "--repeats", "1"]
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.assess_page", *sizes],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert "| open |" in done.stdout
    assert "| highlight, elements open |" in done.stdout
    assert str(ROOT) not in done.stdout
