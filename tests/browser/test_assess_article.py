"""The article page on the real server: what an assessor does is what is exported."""

from __future__ import annotations

from typing import Any

import pytest

from browser.article import (
    P1,
    Place,
    Tab,
)
from browsing import needs_browser
from foveal.assess.actions import State

pytestmark = needs_browser


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
    assert tab.place.campaign.document(tab.doc).text.count(selected) == 1
    assert "\U0001d11e" in selected
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
    paragraph = "There an engine drives the boat, and no cable\nis needed.\n"
    line = tab.selected
    assert line.startswith("There an engine")
    assert paragraph.startswith(line)
    tab.press("Escape")
    tab.click("There an engine").press("Control+Shift+ArrowDown")
    assert tab.selected == paragraph


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


def test_validation_needs_an_entry_point_and_any_change_takes_it_back(tab: Tab) -> None:
    tab.drag("diesel").press("h", "f")
    dialog = tab.page.get_by_role("dialog")
    assert "no best entry point" in dialog.inner_text()
    tab.press("Enter", "b").click("diesel").press("f").saved()
    assert tab.place.state(tab.doc).validated
    assert "next document" in tab.next_step
    tab.drag("steam").press("h").saved()
    assert not tab.place.state(tab.doc).validated


def test_what_is_left_is_counted(tab: Tab) -> None:
    before = int(tab.page.locator("#left").inner_text().split()[0])
    tab.press("f").saved()
    assert int(tab.page.locator("#left").inner_text().split()[0]) == before - 1


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
    # The last one tries some 10^10 ways to cut the longest clause of the document.
    for words in ("(the )?boat", "[open", r"(\w|\w\w|\w\w\w|\s|\s\w)+#"):
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
    assert place.campaign.is_pooled("1", "outside")
