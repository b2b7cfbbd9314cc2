"""Ways through a document: find, steps, outline, marks, pages; and all of it on a phone."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from browser.article import Place, Tab, serving, write_run
from browser.barriers import barriers
from browsing import needs_axe, needs_browser
from foveal.assess.actions import Replace, State
from foveal.collection import build_index

pytestmark = needs_browser

SECTIONS = 12
FERRIES = 3
"""Times that each section names the ferry, in three spellings."""
PHONE = {"viewport": {"width": 390, "height": 780}, "has_touch": True}
TABLET = {"viewport": {"width": 820, "height": 1100}, "has_touch": True}


def long_article(sections: int) -> str:
    """An article of sections with two subsections each; the words to find are spread over them."""
    filler = "<p>" + "Nothing of note is told in this long paragraph. " * 12 + "</p>"
    parts = ["<article><front><article-meta><title-group><article-title>Crossings"]
    parts.append("</article-title></title-group></article-meta></front><body>")
    for i in range(1, sections + 1):
        parts += [
            f"<sec><title>Section {i}</title>{filler}",
            f"<sec><title>Means {i}</title><p>The ferry\nboat \U0001d11e number {i}.</p>{filler}",
            f"</sec><sec><title>Ends {i}</title><p>A FERRY <italic>bo</italic>at, a Ferry</p>",
            f"{filler}</sec></sec>\n",
        ]
    return "".join([*parts, "</body></article>"])


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    """A campaign of long articles; three runs return parts of each."""
    folder = tmp_path_factory.mktemp("navigation")
    (folder / "docs").mkdir()
    names = [f"d{i:02}" for i in range(30)]
    for name in names:
        (folder / "docs" / f"{name}.xml").write_text(long_article(SECTIONS), encoding="utf-8")
    (folder / "docs" / "huge.xml").write_text(long_article(420), encoding="utf-8")
    build_index(folder / "docs", folder / "index.fvx")
    body = "/article[1]/body[1]"
    paths = (f"{body}/sec[2]", f"{body}/sec[2]/p[1]", f"{body}/sec[9]/sec[1]/p[1]", "/article[1]")
    for name, path in zip(("one", "two", "three", "four"), paths, strict=True):
        write_run(folder, name, [*names, "huge"], path)
    with serving(folder, "2006") as served:
        yield served


def begin_with(place: Place, doc: str, spans: list[tuple[int, int]]) -> None:
    """Highlight spans before the page is opened."""
    document = place.campaign.document(doc)
    action = Replace(State(spans=tuple(spans)))
    own = f"before-{doc}"
    place.campaign.act(
        "ann", "1", doc, own, 0, action, length=document.length, digest=document.sha256
    )


def text_of(tab: Tab) -> str:
    return tab.place.campaign.document(tab.doc).text


def settle(tab: Tab) -> None:
    """Wait until scrolling has come to rest."""
    tab.page.evaluate(
        """async () => {
          let last = null;
          for (let calm = 0; calm < 3;) {
            await new Promise(done => setTimeout(done, 60));
            calm = scrollY === last ? calm + 1 : 0;
            last = scrollY;
          }
        }"""
    )


def in_view(tab: Tab, words: str) -> bool:
    """A stretch of the text is on the screen, and neither bars nor panels cover it."""
    _, top, _, bottom = tab.points(words)
    return bool(
        tab.page.evaluate(
            """([top, bottom, x]) => [top, bottom].every(y =>
              document.elementFromPoint(x, y)?.closest("#text"))""",
            [top, bottom, tab.points(words)[0]],
        )
    )


def scroll_of(tab: Tab) -> float:
    return float(tab.page.evaluate("scrollY"))


# -- find ----------------------------------------------------------------------------------------


def count(tab: Tab) -> str:
    return str(tab.page.locator("#find-count").inner_text())


def test_find_goes_through_the_whole_text_and_around(tab: Tab) -> None:
    tab.press("/")
    tab.page.keyboard.type("ferry")
    total = SECTIONS * FERRIES
    assert count(tab) == f"1 of {total}"
    found = tab.painted("found")
    assert {words.lower() for words in found} == {"ferry"}
    assert len(found) == total
    assert set(found) == {"ferry", "FERRY", "Ferry"}
    tab.press("Enter", "Enter")
    assert count(tab) == f"3 of {total}"
    tab.press("Shift+Enter", "Shift+Enter", "Shift+Enter")
    assert count(tab) == f"{total} of {total}"
    settle(tab)
    assert tab.painted("found-here") == ["Ferry"]
    assert in_view(tab, f"Ends {SECTIONS}")
    tab.press("Enter")
    assert count(tab) == f"1 of {total}"


def test_spaces_are_any_white_space_and_elements_no_borders(tab: Tab) -> None:
    tab.press("/")
    tab.page.keyboard.type("ferry boat")
    assert set(tab.painted("found")) == {"ferry\nboat", "FERRY boat"}
    assert count(tab) == f"1 of {2 * SECTIONS}"
    tab.page.locator("#find-words").fill("boat (.*")
    assert count(tab) == "not found"
    assert tab.painted("found") == []


def test_what_was_found_is_selected_and_highlighted_without_the_mouse(tab: Tab) -> None:
    tab.press("/")
    tab.page.keyboard.type("\U0001d11e number 7")
    tab.press("Escape")
    assert tab.selected == "\U0001d11e number 7"
    assert tab.painted("found") == []
    tab.press("h").saved()
    assert tab.place.exported(tab.doc) == ["\U0001d11e number 7"]


def test_matches_are_stepped_through_from_the_text(tab: Tab) -> None:
    tab.press("/")
    tab.page.keyboard.type("ferry")
    settle(tab)
    tab.click("Section 1")
    tab.press("m", "m")
    assert tab.selected == "FERRY"
    assert count(tab).startswith("2 of")
    tab.press("Shift+M")
    assert tab.selected == "ferry"
    tab.press("Escape")
    assert tab.page.locator("#find").is_visible()
    tab.press("Escape")
    assert not tab.page.locator("#find").is_visible()
    assert tab.painted("found-here") == []
    tab.press("m")
    assert tab.page.locator("#find").is_visible()
    assert tab.selected.lower() == "ferry"


def test_a_selection_is_what_to_find_and_keys_are_letters_there(tab: Tab) -> None:
    tab.drag("Means 1").press("/")
    assert tab.page.locator("#find-words").input_value() == "Means 1"
    assert count(tab) == "1 of 4"  # and 10 to 12
    tab.page.keyboard.type("hub?3")
    assert tab.page.locator("#find-words").input_value() == "hub?3"
    assert tab.place.state(tab.doc) == State()
    assert tab.page.locator("dialog[open]").count() == 0


def test_the_find_of_the_browser_is_left_alone(tab: Tab) -> None:
    prevented = tab.page.evaluate(
        """() => !document.body.dispatchEvent(new KeyboardEvent("keydown",
          { key: "f", ctrlKey: true, bubbles: true, cancelable: true }))"""
    )
    assert not prevented
    assert tab.place.state(tab.doc) == State()


# -- steps ---------------------------------------------------------------------------------------


def test_highlights_are_stepped_through_in_order_and_around(place: Place, tabs: Any) -> None:
    tab = tabs(place)
    text = text_of(tab)
    words = ["Section 2", "number 5", "Ends 11"]
    begin_with(place, tab.doc, [(text.index(w), text.index(w) + len(w)) for w in words])
    tab.open()
    for expected in [*words, words[0]]:
        tab.press("l")
        settle(tab)
        assert tab.selected == expected
        assert in_view(tab, expected)
    assert "Highlight 1 of 3" in tab.page.locator("#picked").inner_text()
    for expected in (words[2], words[1]):
        tab.page.get_by_role("button", name="Previous highlight").click()
        assert tab.selected == expected
    settle(tab)
    tab.page.evaluate("scrollTo(0, 0)")  # from what is in view, and not from where one was
    settle(tab)
    tab.press("l")
    assert tab.selected == words[0]


def test_cue_matches_and_returned_elements_are_stepped_through(tab: Tab) -> None:
    tab.press("w")
    assert "cue word" in tab.page.locator("#toast").inner_text()
    tab.press("c")
    tab.page.get_by_role("button", name="Add a cue word").click()
    tab.page.keyboard.type(r"number \d+")
    tab.page.locator(".cues .said", has_text=f"{SECTIONS} matches").wait_for()
    tab.press("Escape", "Escape")
    tab.page.evaluate("scrollTo(0, 0)")
    settle(tab)
    for i in (1, 2):
        tab.press("w")
        settle(tab)
        assert tab.selected == f"number {i}"
    tab.press("Shift+W")
    assert tab.selected == "number 1"
    settle(tab)
    text, elements = text_of(tab), tab.place.campaign.elements(tab.doc)
    body = "/article[1]/body[1]"
    paths = [f"{body}/sec[2]", f"{body}/sec[2]/p[1]", f"{body}/sec[9]/sec[1]/p[1]"]
    returned = [text[elements.start[i] : elements.end[i]] for i in map(elements.number.get, paths)]
    for expected in [*returned, returned[0]]:
        tab.press("r")
        settle(tab)
        assert tab.selected == expected
    assert tab.page.locator("#text .supported").count() == 4
    tab.page.get_by_role("button", name="Previous element").click()
    assert tab.selected == returned[2]


# -- outline -------------------------------------------------------------------------------------


def current(tab: Tab) -> str:
    return str(tab.page.locator("#panel-outline [aria-current]").inner_text()).strip()


def test_the_outline_follows_reading_and_leads_to_headings(tab: Tab) -> None:
    tab.press("o")
    rows = tab.page.locator("#panel-outline [role=treeitem]")
    assert rows.count() == 1 + 3 * SECTIONS
    assert [row.strip() for row in rows.all_inner_texts()[:4]] == [
        "Crossings",
        "Section 1",
        "Means 1",
        "Ends 1",
    ]
    tab.page.get_by_role("treeitem", name="Means 8").click()
    settle(tab)
    assert in_view(tab, "Means 8")
    assert current(tab) == "Means 8"
    x, y, *_ = tab.points("number 8")
    tab.page.mouse.move(x, y)
    tab.page.mouse.wheel(0, 450)
    tab.page.locator("#panel-outline [aria-current]", has_text="Ends 8").wait_for()
    row = tab.page.locator("#panel-outline [aria-current]").bounding_box()
    assert 0 < row["y"] < 800 - row["height"]


def test_the_outline_by_keyboard(tab: Tab) -> None:
    tab.press("o")
    focused = tab.page.locator("[role=treeitem]:focus")
    focused.wait_for()
    tab.press("Home", "ArrowDown")
    assert focused.inner_text().strip() == "Section 1"
    tab.press("ArrowLeft")
    assert focused.get_attribute("aria-expanded") == "false"
    assert not tab.page.get_by_role("treeitem", name="Means 1", exact=True).is_visible()
    tab.press("ArrowDown")
    assert focused.inner_text().strip() == "Section 2"
    tab.press("ArrowUp", "ArrowRight", "ArrowRight")
    assert focused.inner_text().strip() == "Means 1"
    tab.press("ArrowLeft")
    assert focused.inner_text().strip() == "Section 1"
    tab.press("End", "Enter")
    settle(tab)
    assert in_view(tab, f"Ends {SECTIONS}")
    tab.press("Shift+End", "h").saved()
    assert tab.place.exported(tab.doc)[0].strip() == f"Ends {SECTIONS}"
    tab.press("o", "o", "ArrowLeft", "ArrowLeft")
    settle(tab)
    # What is read is in a closed section now: that one is marked.
    assert current(tab) == f"Section {SECTIONS}"


# -- marks beside the scroll bar -----------------------------------------------------------------


def colours(tab: Tab) -> list[list[int]]:
    """Rows of the strip in which each third of it has a colour."""
    tab.page.wait_for_timeout(400)
    return list(
        tab.page.evaluate(
            """() => {
              const canvas = document.querySelector("#overview canvas");
              const { width, height } = canvas, pen = canvas.getContext("2d");
              const { data } = pen.getImageData(0, 0, width, height);
              return [2, 7, 12].map(x => Array.from({ length: height }, (_, y) => y)
                .filter(y => data[4 * (y * width + Math.floor(x * width / 14)) + 3] > 0));
            }"""
        )
    )


def test_marks_show_highlights_cues_support_and_found_text(place: Place, tabs: Any) -> None:
    tab = tabs(place, user="bob").open()  # who has no cue words yet
    assert colours(tab) == [[], [], []]
    tab.drag("Section 1").press("h").saved()
    highlights, support, cues = colours(tab)
    assert highlights
    assert support == cues == []
    tab.press("s")
    assert colours(tab)[1]
    tab.press("s")
    assert colours(tab)[1] == []
    tab.press("c")
    tab.page.get_by_role("button", name="Add a cue word").click()
    tab.page.keyboard.type("Means")
    tab.page.locator(".cues .said", has_text=f"{SECTIONS} matches").wait_for()
    assert len(colours(tab)[2]) >= SECTIONS
    tab.page.locator(".cues li button").click()
    tab.press("Escape", "/")
    tab.page.keyboard.type("number 12")
    assert all(colours(tab))
    tab.press("Escape", "z").saved()
    assert colours(tab)[:2] == [[], []]


def test_a_click_on_a_mark_goes_there(place: Place, tabs: Any) -> None:
    tab = tabs(place)
    text = text_of(tab)
    words = ["number 3", "number 7", "number 11"]
    begin_with(place, tab.doc, [(text.index(w), text.index(w) + len(w)) for w in words])
    tab.open()
    strip = tab.page.locator("#overview").bounding_box()
    for i in (2, 0, 1):
        rows = colours(tab)[0]
        marks = [y for y in rows if y - 1 not in rows]
        assert len(marks) == 3
        tab.page.mouse.click(strip["x"] + 5, marks[i] + 1)
        settle(tab)
        assert in_view(tab, words[i])
    # Elsewhere, a click goes to that part of the document.
    tab.page.mouse.click(strip["x"] + 5, strip["height"] - 3)
    settle(tab)
    assert in_view(tab, f"Ends {SECTIONS}")


def test_a_huge_document_with_many_highlights_stays_fast(place: Place, tabs: Any) -> None:
    tab = tabs(place, "huge")
    length = len(text_of(tab))
    assert length > 700_000
    step = length // 2000
    begin_with(place, "huge", [(i * step, i * step + step // 3) for i in range(2000)])
    tab.open().press("o")
    colours(tab)
    slowest = tab.page.evaluate(
        """async () => {
          const frame = () => new Promise(done => requestAnimationFrame(() => setTimeout(done)));
          const press = key => document.body.dispatchEvent(
            new KeyboardEvent("keydown", { key, bubbles: true }));
          const field = document.getElementById("find-words"), times = [];
          const time = async act => {
            const began = performance.now();
            act();
            await frame();
            times.push(performance.now() - began);
            await new Promise(done => setTimeout(done, 500));
          };
          for (const key of ["l", "l", "PageDown", " ", "/"]) await time(() => press(key));
          for (const words of ["e", "ferry", "nothing of note"]) {
            await time(() => { field.value = words; field.dispatchEvent(new Event("input")); });
          }
          return Math.max(...times);
        }"""
    )
    assert slowest < 1000  # about 40 on an idle machine; a test must not fail on a busy one


# -- the reading position ------------------------------------------------------------------------


def test_reading_goes_on_where_it_ended_for_each_user_and_document(place: Place, tabs: Any) -> None:
    tab = tabs(place).open()
    tab.press("/")
    tab.page.keyboard.type("number 6")
    settle(tab)
    tab.press("Escape")
    tab.page.wait_for_timeout(400)
    before = tab.points("number 6")[1]
    tab.page.reload()
    tab.ready()
    settle(tab)
    assert in_view(tab, "number 6")
    assert abs(tab.points("number 6")[1] - before) < 40
    other = tabs(place).open()
    settle(other)
    assert scroll_of(other) == 0
    stranger = tabs(place, tab.doc, user="bob").open()
    settle(stranger)
    assert scroll_of(stranger) == 0


def test_without_a_last_visit_reading_begins_at_the_entry_point(place: Place, tabs: Any) -> None:
    tab = tabs(place).open()
    tab.press("/")
    tab.page.keyboard.type("number 9")
    tab.press("Escape", "h", "b", "Enter").saved()
    tab.page.wait_for_timeout(400)
    tab.page.evaluate("localStorage.clear()")
    tab.page.reload()
    tab.ready()
    settle(tab)
    assert in_view(tab, "number 9")


# -- pages ---------------------------------------------------------------------------------------


def cursor(tab: Tab) -> tuple[float, int]:
    """Height of the cursor in the window, and its place in the text."""
    settle(tab)
    box = tab.page.locator(".cursor").bounding_box()
    assert box is not None, "there is no cursor in view"
    at = tab.page.evaluate(
        """() => {
          const range = document.createRange();
          range.setStart(document.getElementById("text"), 0);
          const { focusNode, focusOffset } = getSelection();
          range.setEnd(focusNode, focusOffset);
          return [...range.toString()].length;
        }"""
    )
    return box["y"] + box["height"] / 2, at


@pytest.mark.parametrize(("down", "up"), [("PageDown", "PageUp"), ("Space", "Shift+Space")])
def test_the_cursor_goes_with_pages(tab: Tab, down: str, up: str) -> None:
    tab.click("Means 1")
    height, first = cursor(tab)
    places = [first]
    for _ in range(3):
        before = scroll_of(tab)
        tab.press(down)
        y, at = cursor(tab)
        assert abs(y - height) < 60  # the nearest line, over the gap at a heading
        assert scroll_of(tab) > before + 300
        places.append(at)
    assert places == sorted(set(places))
    for expected in places[2::-1]:
        tab.press(up)
        y, at = cursor(tab)
        assert abs(y - height) < 60  # the nearest line, over the gap at a heading
        assert abs(at - expected) < 200
    tab.press("ArrowDown", "Shift+End", "h").saved()
    assert len(tab.place.exported(tab.doc)) == 1


def test_pages_end_with_the_text_and_keep_what_is_selected(tab: Tab) -> None:
    tab.click("Section 1").press("Control+End")
    _, end = cursor(tab)
    assert end == len(text_of(tab))
    tab.press("Control+Home")
    assert cursor(tab)[1] == 0
    tab.press("PageUp")
    assert cursor(tab)[1] < 100
    tab.drag("Section 1").press("PageDown")
    settle(tab)
    assert tab.selected == "Section 1"
    tab.press("Escape").click("Section 1").press("Shift+PageDown")
    settle(tab)
    assert tab.selected.startswith("Section 1")
    assert len(tab.selected) > 600


# -- by touch ------------------------------------------------------------------------------------


def touch_select(tab: Tab) -> str:
    """Tap into the text and select from there to the end of the word.

    Chromium without a window knows no long press, so a script moves the end of the selection as
    the handles of a phone do.
    """
    left, top, *_ = tab.points("Nothing of note")
    tab.page.touchscreen.tap(left, top)
    tab.page.evaluate("getSelection().modify('extend', 'forward', 'word')")
    return tab.selected


@pytest.mark.parametrize("screen", [PHONE, TABLET], ids=["phone", "tablet"])
def test_a_document_is_assessed_by_touch(place: Place, tabs: Any, screen: dict[str, Any]) -> None:
    tab = tabs(place, **screen).open()
    width, height = screen["viewport"]["width"], screen["viewport"]["height"]
    bar = {
        name: tab.page.locator(f"[data-do={name}]")
        for name in ("highlight", "entry", "undo", "validate")
    }
    for button in bar.values():
        box = button.bounding_box()
        assert box["y"] > height - 60
        assert box["height"] >= 40
        assert 0 <= box["x"] <= width - box["width"]
    assert not tab.page.locator("#panel-topic .body").is_visible()
    valid = tab.page.locator("#state .valid")
    assert valid.inner_text() == "not validated"
    # Some browsers drop the selection when a finger touches something else.
    tab.page.evaluate(
        """() => document.getElementById("tools").addEventListener("touchstart",
          () => getSelection().removeAllRanges())"""
    )
    assert touch_select(tab) == "Nothing"
    bar["highlight"].tap()
    tab.saved()
    assert tab.place.exported(tab.doc) == ["Nothing"]
    bar["undo"].tap()
    tab.saved()
    assert tab.place.state(tab.doc).spans == ()
    touch_select(tab)
    bar["highlight"].tap()
    bar["entry"].tap()
    assert "Tap where reading should begin" in tab.next_step
    left, top, *_ = tab.points("Nothing of note")
    tab.page.touchscreen.tap(left, top)
    tab.saved()
    assert tab.place.state(tab.doc).bep == text_of(tab).index("Nothing of note")
    bar["validate"].tap()
    tab.saved()
    assert tab.place.state(tab.doc).validated
    assert valid.inner_text() == "✓ validated"
    assert valid.is_visible()
    assert tab.page.locator("[data-do=next]").is_visible()  # in the place of Validate
    assert not bar["validate"].is_visible()
    assert tab.page.evaluate("document.documentElement.scrollWidth") <= width


def test_the_topic_and_all_else_are_a_tap_away_on_a_phone(place: Place, tabs: Any) -> None:
    tab = tabs(place, **PHONE).open()
    tab.page.get_by_role("button", name="Topic", exact=True).tap()
    assert "What moves them?" in tab.page.locator("#panel-topic-body").inner_text()
    tab.page.get_by_role("button", name="Outline", exact=True).tap()
    assert not tab.page.locator("#panel-topic-body").is_visible()
    tab.page.get_by_role("treeitem", name="Section 6").tap()
    settle(tab)
    assert in_view(tab, "Section 6")
    tab.page.get_by_role("button", name="Outline", exact=True).tap()
    assert not tab.page.get_by_role("button", name="Find").is_visible()
    tab.page.get_by_role("button", name="More").tap()
    tab.page.get_by_role("button", name="Find").tap()
    tab.page.keyboard.type("number 10")
    assert count(tab) == "1 of 1"
    tab.page.get_by_role("button", name="Close").tap()
    tab.page.get_by_role("button", name="Grow").tap()
    tab.page.locator("[data-do=highlight]").tap()
    tab.saved()
    (grown,) = tab.place.exported(tab.doc)
    assert grown == "The ferry\nboat \U0001d11e number 10."


# -- barriers ------------------------------------------------------------------------------------


@needs_axe
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("screen", [{}, PHONE], ids=["desktop", "phone"])
def test_axe_finds_no_barrier_in_navigation(
    place: Place, tabs: Any, screen: dict[str, Any], scheme: str
) -> None:
    tab = tabs(place, color_scheme=scheme, bypass_csp=True, **screen).open()
    if screen:
        tab.page.get_by_role("button", name="More").tap()
    tab.press("s", "Escape", "c", "Escape", "o", "Escape", "/")
    tab.page.keyboard.type("ferry")
    assert barriers(tab.page) == []
    tab.page.locator("#find-words").fill("nowhere")
    tab.press("Escape", "?")
    assert barriers(tab.page) == []
