"""Documents in the article page as they are printed: tables, formulas, direction, front matter."""

from __future__ import annotations

import os
import random
import struct
import tarfile
import xml.etree.ElementTree as ET
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from browser.article import JATS, NAMES, Place, Tab, assessed, serving, write_run
from browser.barriers import barriers
from browser.rendered import DOCUMENTS
from browsing import needs_axe, needs_browser
from foveal.assess.documents import make_elements
from foveal.assess.rendering import keep_attributes, lay_out
from foveal.collection import build_index
from foveal.collection.parsing import Recorder
from foveal.model import Judgements, Run
from foveal.report.page import report_page

pytestmark = needs_browser

EVERY = int(os.environ.get("FOVEAL_JATS_EVERY", "25"))
"""Of the real articles, each so manieth is looked at; 1 takes some minutes."""


def png() -> bytes:
    """A picture of one grey point."""

    def chunk(name: bytes, data: bytes) -> bytes:
        check = struct.pack(">I", zlib.crc32(name + data))
        return struct.pack(">I", len(data)) + name + data + check

    head = struct.pack(">IIBBBBB", 1, 1, 8, 0, 0, 0, 0)
    parts = ((b"IHDR", head), (b"IDAT", zlib.compress(b"\0\x80")), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunk(*part) for part in parts)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    folder = tmp_path_factory.mktemp("rendered")
    (folder / "docs").mkdir()
    for name, text in DOCUMENTS.items():
        (folder / "docs" / f"{name}.xml").write_text(text, encoding="utf-8")
    (folder / "secret.png").write_bytes(png())
    (folder / "images").mkdir()
    (folder / "images" / "swan-g001.png").write_bytes(png())
    build_index(folder / "docs", folder / "index.fvx")
    for name in NAMES:
        write_run(folder, name, [*DOCUMENTS], "/article[1]")
    with serving(folder, "2006", images=folder / "images") as served:
        yield served


@pytest.fixture
def shown(place: Place, tabs: Any) -> Any:
    """Opens a document, whose text must be that of the server."""

    def opened(doc: str, **options: Any) -> Tab:
        tab: Tab = tabs(place, doc, **options).open()
        text = tab.page.evaluate("document.getElementById('text').textContent")
        assert text == place.campaign.document(doc).text
        assert tab.saving == "✓ saved"
        return tab

    return opened


def content(tab: Tab, selector: str, pseudo: str) -> str:
    """What the style sheet adds to an element."""
    return tab.page.locator(selector).first.evaluate(
        "(node, pseudo) => getComputedStyle(node, pseudo).content", pseudo
    )


def eventually(tab: Tab, happened: Callable[[], bool]) -> None:
    """Wait until something has happened in a page."""
    for _ in range(200):
        if happened():
            return
        tab.page.wait_for_timeout(50)
    pytest.fail("it has not happened after ten seconds")


# -- tables ---------------------------------------------------------------------------------------


class Cell(NamedTuple):
    """A cell where it belongs by the source: table, rows and columns (ends not included)."""

    table: int
    top: int
    left: int
    right: int
    text: str


def local(tag: str) -> str:
    return tag.rpartition("}")[2]


def html_grid(root: ET.Element) -> list[Cell]:
    """Cells of the tables of HTML in a document, by the rules of HTML."""
    found: list[Cell] = []
    tables = [one for one in root.iter() if local(one.tag) == "table"]
    for number, table in enumerate(tables):
        groups = [one for one in table if local(one.tag) in ("thead", "tbody", "tfoot")]
        row = 0
        for group in groups or [table]:
            rows = [one for one in group if local(one.tag) == "tr"]
            taken: set[tuple[int, int]] = set()
            for y, own in enumerate(rows):
                x = 0
                for cell in own:
                    if local(cell.tag) not in ("td", "th"):
                        continue
                    while (y, x) in taken:
                        x += 1
                    wide, high = (int(cell.get(name, "1") or 1) for name in ("colspan", "rowspan"))
                    high = high or len(rows)
                    taken |= {(y + j, x + i) for i in range(wide) for j in range(high)}
                    found.append(Cell(number, row + y, x, x + wide, "".join(cell.itertext())))
                    x += wide
            row += len(rows)
    return found


BOXES = """root => [...root.querySelectorAll(".r-table table")].flatMap((table, number) =>
  [...table.querySelectorAll("td:not(.filler), th")].filter(c => c.closest("table") === table)
    .map(cell => {
      const { left, right, top } = cell.getBoundingClientRect();
      return [number, left, right, top, cell.textContent];
    }))"""


def check_grid(cells: list[Cell], boxes: list[list[Any]]) -> None:
    """Compare where cells belong with where the browser puts them."""
    assert [(cell.table, cell.text) for cell in cells] == [(box[0], box[4]) for box in boxes]
    lefts: dict[tuple[int, int], list[float]] = {}
    rights: dict[tuple[int, int], list[float]] = {}
    tops: dict[tuple[int, int], list[float]] = {}
    for cell, (_, left, right, top, _) in zip(cells, boxes, strict=True):
        lefts.setdefault((cell.table, cell.left), []).append(left)
        rights.setdefault((cell.table, cell.right), []).append(right)
        tops.setdefault((cell.table, cell.top), []).append(top)
    for places in (lefts, rights, tops):
        for key, found in places.items():
            assert max(found) - min(found) < 2, (key, found)
        ordered = sorted(places)
        for (table, _), (other, _), a, b in zip(
            ordered, ordered[1:], ordered, ordered[1:], strict=False
        ):
            if table == other:
                assert places[a][0] < places[b][0] + 0.5, (a, b)


def test_cells_are_in_the_columns_of_their_headings(shown: Any) -> None:
    tab = shown("tables")
    root = ET.fromstring(DOCUMENTS["tables"])
    cells = [one for one in html_grid(root) if one.table == 0]
    boxes = tab.page.locator("#text").evaluate(BOXES)
    check_grid(cells, [box for box in boxes if box[0] == 0])
    assert len({cell.right for cell in cells}) == 6


def test_cells_of_cals_are_in_the_columns_they_name(shown: Any) -> None:
    tab = shown("tables")
    boxes = [box for box in tab.page.locator("#text").evaluate(BOXES) if box[0] == 1]
    places = [
        (0, 1),
        (1, 3),
        (3, 4),
        (1, 2),
        (2, 3),
        (3, 4),
        (0, 1),
        (2, 3),
        (3, 4),
        (0, 1),
        (1, 4),
    ]
    rows = [0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3]
    cells = [
        Cell(1, row, *place, box[4]) for row, place, box in zip(rows, places, boxes, strict=True)
    ]
    check_grid(cells, boxes)
    swan = next(box for box in boxes if box[4] == "7.5")
    width = next(box for box in boxes if box[4] == "width")
    assert swan[1] == pytest.approx(width[1], abs=1)


def test_a_wide_table_scrolls_by_keys_and_a_click_in_it_is_in_the_text(shown: Any) -> None:
    tab = shown("tables")
    frame = tab.page.locator(".scroll").nth(2)
    frame.evaluate("node => node.scrollIntoView({ block: 'center' })")
    tab.click("number 1")
    assert tab.page.evaluate("document.activeElement.id") == "text"
    tab.press("ArrowRight")
    tab.page.locator(".cursor").wait_for()
    frame.focus()
    tab.press("ArrowRight", "ArrowRight")
    eventually(tab, lambda: frame.evaluate("node => node.scrollLeft") > 0)
    narrow = tab.page.locator(".scroll").nth(0)
    narrow.scroll_into_view_if_needed()
    eventually(tab, lambda: narrow.get_attribute("tabindex") is None)


def test_a_wide_table_uses_the_room_beside_the_text(shown: Any) -> None:
    tab = shown("tables", viewport={"width": 1440, "height": 900})
    boxes = [
        tab.page.locator(css).first.bounding_box()
        for css in (".sheet", ".scroll >> nth=2", "#side")
    ]
    sheet, frame, side = ((box["x"], box["x"] + box["width"]) for box in boxes)
    assert sheet[1] + 100 < frame[1] <= side[0]
    assert frame[0] == pytest.approx(sheet[0], abs=2)


@pytest.mark.skipif(not JATS.exists(), reason="the medical articles are not beside the project")
def test_tables_of_real_articles_are_laid_out_as_their_sources_say(shown: Any) -> None:
    page = shown("ieee").page
    page.evaluate("""async () => {
      const { Structure, TextDom } = await import("/static/article/textdom.js");
      window.render = made => {
        const root = document.createElement("div"), old = document.getElementById("text");
        root.id = "text";
        root.className = "text v-jats";
        old.replaceWith(root);
        const dom = new TextDom(new Structure(made), root);
        root.querySelectorAll(".chunk").forEach(n => { n.style.contentVisibility = "visible"; });
        return root.textContent === made.text && dom.nodes.map(n => n.data).join("") === made.text;
      };
    }""")
    tables = spanned = 0
    with tarfile.open(JATS, "r|xz") as archive:
        for number, member in enumerate(one for one in archive if one.isfile()):
            if number % EVERY:
                continue
            held = archive.extractfile(member)
            assert held is not None
            data = held.read()
            recorder = Recorder(keep=keep_attributes)
            text = recorder.add(member.name, data)
            elements = make_elements(recorder.markup())
            made = {**lay_out(elements, text), "text": text, "ordinal": elements.ordinal.tolist()}
            assert page.evaluate("made => render(made)", made), member.name
            cells = html_grid(ET.fromstring(data))
            check_grid(cells, page.locator("#text").evaluate(BOXES))
            tables += len({cell.table for cell in cells})
            spanned += any(cell.right - cell.left > 1 for cell in cells)
    assert tables > 1800 / EVERY
    assert spanned > 400 / EVERY


# -- formulas -------------------------------------------------------------------------------------


def test_formulas_are_mathml_around_the_same_text(shown: Any) -> None:
    tab = shown("formulas")
    names = tab.page.evaluate("""() => [...document.querySelectorAll("math, math *")].map(node =>
      [node.namespaceURI === "http://www.w3.org/1998/Math/MathML", node.localName])""")
    assert all(native for native, _ in names)
    assert {"mfrac", "msup", "msubsup", "munderover", "msqrt", "mtable"} <= {n for _, n in names}
    assert "script" not in {name for _, name in names}
    allowed = {"class", "display", "mathvariant", "data-mark"}
    assert set(tab.page.evaluate(
        "[...document.querySelectorAll('math *')].flatMap(node => node.getAttributeNames())"
    )) <= allowed  # fmt: skip
    (top, bottom) = tab.page.evaluate("""() => [...document.querySelector("mfrac").children].map(
      node => node.getBoundingClientRect().top)""")
    assert top + 5 < bottom
    base, power = (
        tab.page.evaluate("""() => [...document.querySelector("msup").children].map(node => {
      const { top, height } = node.getBoundingClientRect(); return top + height; })""")
    )
    assert power < base
    assert content(tab, ".fence", "::before") == '"["'
    stray = tab.page.locator("mtext", has_text="alert(3)")
    assert stray.bounding_box()["width"] > 20
    assert [key for key in tab.page.evaluate("Object.keys(window)") if key == "ran"] == []


def test_tex_is_text_that_is_marked_as_a_formula(shown: Any) -> None:
    tab = shown("formulas")
    assert tab.page.locator(".r-tex").first.inner_text() == r"\frac{{1}}{{3}} < x^2".replace(
        "{{", "{"
    ).replace("}}", "}")
    assert content(tab, ".r-tex", "::before") == '"TeX "'
    # The second is another form of a formula that is shown.
    assert tab.page.locator(".r-tex").nth(1).is_hidden()


def test_fractions_in_text_have_a_bar(shown: Any) -> None:
    tab = shown("ieee")
    assert content(tab, ".r-fraction > :last-child", "::before") == '"\u2044"'
    assert tab.page.locator(".r-fraction").inner_text() == "13"


# -- direction ------------------------------------------------------------------------------------


def test_blocks_run_in_the_direction_of_their_language(shown: Any) -> None:
    tab = shown("mixed")
    found = dict(
        tab.page.evaluate("""() => [...document.querySelectorAll(
          "#text :is(.r-paragraph, .r-heading, .r-item, table, [lang])")].map(node =>
          [node.textContent.trim().slice(0, 9), getComputedStyle(node).direction])""")
    )
    for words, direction in {
        "عبور النه": "rtl",
        "تعبر العب": "rtl",
        "Heron هي ": "rtl",  # begins with a Latin word, in an Arabic section
        "This para": "ltr",
        "القاربالط": "rtl",
        "In Englis": "ltr",
        "The word ": "ltr",
        "עברית": None,
        "שלום, the": "rtl",
        "Set from ": "rtl",
    }.items():
        assert found.get(words) == direction, words
    arabic = tab.page.locator("span[lang=ar]").nth(1)
    assert arabic.evaluate("node => getComputedStyle(node).unicodeBidi") == "isolate"
    # The number in brackets follows the Arabic word to the right, as in English text.
    assert tab.points("(4)")[0] > tab.points("عبّارات")[0]
    first, second = (tab.points(words)[0] for words in ("القارب", "الطول"))
    assert first > second


# -- front matter, lists, headings, images --------------------------------------------------------


def test_metadata_is_one_line_that_keys_open(shown: Any) -> None:
    tab = shown("tables")
    meta = tab.page.locator(".r-hidden-meta")
    assert meta.count() >= 8
    assert not any(one.is_visible() for one in meta.all())
    fold = tab.page.get_by_role("button", name="Journal, dates")
    assert fold.bounding_box()["height"] < 40
    fold.focus()
    tab.press("Enter")
    assert fold.get_attribute("aria-expanded") == "true"
    assert meta.first.is_visible()
    tab.press("Space")
    assert fold.get_attribute("aria-expanded") == "false"
    assert not meta.first.is_visible()


def test_words_of_neighbours_are_apart(shown: Any) -> None:
    tab = shown("tables")
    assert "heparinspulmonary" in tab.place.campaign.document("tables").text
    for one, other in (
        ("heparins", "pulmonary embolism"),
        ("Okafor", "Ada"),
        ("Crossings by group", "Values"),
    ):
        left, right = tab.points(one), tab.points(other)
        assert right[0] - left[2] > 3, (one, other)
    assert content(tab, "[data-tag=kwd]:nth-child(2)", "::before") == '"· "'
    size = "node => parseFloat(getComputedStyle(node).fontSize)"
    mark, name = (
        tab.page.locator(f"[data-tag=contrib] {css}").first.evaluate(size)
        for css in ("[data-tag=sup]", "[data-tag=name]")
    )
    assert mark == pytest.approx(0.75 * name)  # a raised number, once smaller


def test_lists_are_numbered_as_their_kind_says(shown: Any) -> None:
    tab = shown("tables")
    markers = tab.page.evaluate("""() => [...document.querySelectorAll(".r-item")].map(node =>
      [getComputedStyle(node, "::marker").content, getComputedStyle(node).counterReset])""")
    assert markers == [
        ['counter(item) ". "', "item 1"],
        ['counter(item) ". "', "item 2"],
        ['counter(item, lower-alpha) ". "', "item 1"],
        ['counter(item, lower-alpha) ". "', "item 2"],
    ]


def test_headings_of_ieee_articles_look_like_headings(shown: Any) -> None:
    tab = shown("ieee")
    sizes = tab.page.evaluate("""() => [...document.querySelectorAll(
        ":is([data-tag=st], [data-tag=ti])")]
      .filter(node => node.offsetParent).map(node => [node.textContent,
        getComputedStyle(node).fontWeight, parseFloat(getComputedStyle(node).fontSize)])""")
    assert [text for text, *_ in sizes] == ["Introduction", "History", "Old times"]
    assert {weight for _, weight, _ in sizes} == {"700"}
    assert sizes[0][2] > sizes[1][2]


def test_images_of_the_directory_are_shown_and_others_framed(shown: Any) -> None:
    tab = shown("tables")
    picture = tab.page.get_by_role("img", name="Image: swan-g001")
    picture.scroll_into_view_if_needed()
    eventually(tab, lambda: picture.evaluate("node => node.naturalWidth") == 1)
    frame = tab.page.get_by_role("img", name="Image: secret.png")
    assert frame.evaluate("node => node.localName") == "span"
    assert "secret.png" in content(tab, "span.graphic", "::before")


def test_an_entry_point_in_folded_metadata_opens_it(shown: Any, place: Place) -> None:
    at = place.campaign.document("ieee").text.index("COMPUTER")
    assessed(place, "ieee", "bob", [(at, at + 8)])
    assert shown("ieee").page.locator(".r-hidden-meta").first.is_hidden()
    tab = shown("ieee", user="bob")
    assert tab.page.locator(".r-hidden-meta").first.is_visible()
    assert tab.page.locator(".bep").is_visible()


@needs_axe
@pytest.mark.parametrize("doc", [*DOCUMENTS])
def test_nothing_keeps_anybody_out(shown: Any, doc: str) -> None:
    tab = shown(doc, viewport={"width": 390, "height": 844})
    assert barriers(tab.page) == []
    wide = tab.page.evaluate("document.documentElement.scrollWidth")
    assert wide <= 390


# -- the report -----------------------------------------------------------------------------------


def test_a_report_shows_documents_in_the_same_way(
    browser: Any, place: Place, tmp_path: Path
) -> None:
    texts = {doc: place.campaign.document(doc).text for doc in DOCUMENTS}
    spans = {}
    for doc, words in {"tables": "Turned back914", "formulas": "x 2", "mixed": "Heron هي"}.items():
        start = texts[doc].index(words)
        spans[doc] = {
            "spans": [(start, start + len(words))],
            "bep": start,
            "length": len(texts[doc]),
        }
    run = Run.from_results(
        {"1": [(doc, 0, own["bep"] + 3) for doc, own in spans.items()]}, name="r"
    )
    made = report_page(
        [run],
        Judgements.from_highlights({"1": spans}),
        ["AiP"],
        documents=str(place.campaign.source),
    )
    (tmp_path / "report.html").write_text(made.html, encoding="utf-8")
    said: list[str] = []
    page = browser.new_context(offline=True).new_page()
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.goto((tmp_path / "report.html").as_uri())
    for doc, own in spans.items():
        page.locator("#document-view select").nth(1).select_option(label=doc)
        shown = page.locator(".text")
        entry = shown.locator(".entry")
        assert entry.is_visible()
        entry.evaluate("node => node.remove()")
        assert shown.evaluate("node => node.textContent") == texts[doc]
        ((start, end),) = own["spans"]
        marked = "".join(shown.locator("mark.relevant").all_text_contents())
        assert marked.split() == texts[doc][start:end].split() or marked == texts[doc][start:end]
        if doc == "tables":
            cells = [one for one in html_grid(ET.fromstring(DOCUMENTS[doc])) if one.table == 0]
            check_grid(cells, [box for box in shown.evaluate(BOXES) if box[0] == 0])
            assert shown.locator("img").count() == 0
            assert shown.get_by_role("img", name="Image: swan-g001").is_visible()
        if doc == "formulas":
            assert (
                shown.locator("mfrac")
                .first.evaluate("node => node.namespaceURI")
                .endswith("MathML")
            )
    assert said == []
    page.context.close()


# -- selections -----------------------------------------------------------------------------------

WHERE = {"tables": ".r-table", "formulas": "#text [data-tag=sec]", "mixed": "#text [data-tag=sec]"}
SELECT = """([from, to]) => {
  const walker = document.createTreeWalker(document.getElementById("text"), NodeFilter.SHOW_TEXT);
  const place = (points, isEnd) => {
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
      const letters = [...node.data];
      if (isEnd ? points <= letters.length : points < letters.length) {
        return [node, letters.slice(0, points).join("").length];
      }
      points -= letters.length;
    }
  };
  const root = document.getElementById("text");
  walker.currentNode = root;
  const start = place(from, false);
  walker.currentNode = root;
  getSelection().setBaseAndExtent(...start, ...place(to, true));
}"""


@pytest.mark.parametrize("doc", [*WHERE])
def test_random_selections_export_what_was_selected(shown: Any, doc: str) -> None:
    """Of 201 selections, every third is made by mouse."""
    tab = shown(doc)
    place, chance = tab.place, random.Random(doc)
    text = place.campaign.document(doc).text
    boxes = tab.page.evaluate(
        """css => [...document.querySelectorAll(css)].map(node => {
          const { left, top, right, bottom } = node.getBoundingClientRect();
          return [left, top + scrollY, right, bottom + scrollY];
        })""",
        WHERE[doc],
    )
    tab.page.set_viewport_size({"width": 1280, "height": 2600})
    ranges = tab.page.evaluate(
        """css => [...document.querySelectorAll(css)].map(node => {
          const before = document.createRange();
          before.setStart(document.getElementById("text"), 0);
          before.setEndBefore(node);
          const at = [...before.toString()].length;
          return [at, at + [...node.textContent].length];
        })""",
        WHERE[doc],
    )
    done = 0
    while done < 67:
        number = chance.randrange(len(boxes))
        if done % 3:
            start, end = sorted(chance.sample(range(ranges[number][0], ranges[number][1] + 1), 2))
            tab.page.evaluate(SELECT, [start, end])
            assert tab.selected == text[start:end]
        else:
            left, top, right, bottom = boxes[number]
            mouse = tab.page.mouse
            spot = [(chance.uniform(left, right), chance.uniform(top, bottom)) for _ in range(2)]
            mouse.move(*spot[0])
            mouse.down()
            mouse.move(*spot[1], steps=3)
            mouse.up()
        selected = tab.selected
        if not selected:
            continue
        tab.press("h").saved()
        assert place.exported(doc) == [selected]
        ((start, end),) = place.state(doc).spans
        assert text[start:end] == selected
        assert tab.painted("relevant") == [selected]
        tab.press("z").saved()
        assert place.state(doc).spans == ()
        done += 1
