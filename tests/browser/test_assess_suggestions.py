"""Suggested highlights on the article page: accepted, adjusted, rejected by key or touch."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from browser.article import Place, Tab, serving
from browser.barriers import barriers
from browsing import needs_axe, needs_browser
from foveal.assess.actions import Accept, Adjust, Reject

pytestmark = needs_browser

WORDS = ("The \U0001f6a2 crosses", "the stream", "A <cable> holds")


@pytest.fixture(scope="module")
def suggested(collection: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    """A campaign of its own: suggestions are for ann only."""
    folder = tmp_path_factory.mktemp("suggested") / "copy"
    shutil.copytree(collection, folder, ignore=shutil.ignore_patterns("campaign*"))
    with serving(folder, "2006") as place:
        docs = [entry.doc for entry in place.campaign.pool("1") if entry.doc.startswith("d")]
        spans = [span_of(place, docs[0], words) for words in WORDS]
        found = [("1", doc, "model", tuple(spans)) for doc in docs]
        place.campaign.suggest(found, "org", assessors=["ann"])
        yield place


def span_of(place: Place, doc: str, words: str) -> tuple[int, int]:
    start = place.campaign.document(doc).text.index(words)
    return (start, start + len(words))


def decisions(tab: Tab) -> tuple[Any, ...]:
    return tab.saved().place.state(tab.doc).decisions


def test_each_decision_takes_one_key(suggested: Place, tabs: Any) -> None:
    tab = tabs(suggested).open()
    crosses, stream, cable = (span_of(suggested, tab.doc, words) for words in WORDS)
    assert tab.painted("suggested") == list(WORDS)
    assert tab.painted("relevant") == []
    tab.press("p")
    assert tab.selected == WORDS[0]
    assert tab.painted("suggested-here") == [WORDS[0]]
    tab.press("k", "p")
    assert tab.selected == WORDS[1]
    assert tab.painted("relevant") == [WORDS[0]]
    tab.press("Shift+ArrowRight", "Shift+ArrowRight", "j", "p", "x")
    wider = (stream[0], stream[1] + 2)
    assert decisions(tab) == (Accept(*crosses), Adjust(*stream, wider), Reject(*cable))
    assert tab.painted("relevant") == [WORDS[0], f"{WORDS[1]}: "]
    assert tab.painted("suggested") == []
    tab.press("p")
    assert "have a decision" in tab.page.locator("#toast").inner_text()
    assert suggested.exported(tab.doc) == [WORDS[0], f"{WORDS[1]}: "]
    # Undo takes a decision back; the page and the server agree after a reload.
    tab.press("z")
    assert decisions(tab) == (Accept(*crosses), Adjust(*stream, wider))
    tab.page.reload()
    assert tab.ready().painted("suggested") == [WORDS[2]]


def test_the_key_decides_where_the_cursor_is(suggested: Place, tabs: Any) -> None:
    tab = tabs(suggested).open()
    tab.press("k")
    assert "Go to a suggestion first" in tab.page.locator("#toast.bad").inner_text()
    tab.click("stream").press("x").click("crosses").press("k", "z", "y")
    assert [type(one) for one in decisions(tab)] == [Accept, Reject]
    tab.press("p", "j")  # nothing else is selected
    assert "Select the relevant text" in tab.page.locator("#toast.bad").inner_text()
    # Another mind: what was accepted is rejected, and its highlight goes.
    tab.click("crosses").press("x")
    assert [type(one) for one in decisions(tab)] == [Reject, Reject]
    assert suggested.state(tab.doc).spans == ()


def test_the_panel_lists_suggestions_with_buttons(suggested: Place, tabs: Any) -> None:
    tab = tabs(suggested).open()
    panel = tab.page.locator("#panel-suggestions")
    assert panel.locator(".decision").all_inner_texts() == ["undecided"] * 3
    panel.get_by_role("button", name=WORDS[2]).click()
    panel.get_by_role("button", name="Reject").click()
    assert [type(one) for one in decisions(tab)] == [Reject]
    assert panel.locator(".decision").all_inner_texts() == ["undecided", "undecided", "rejected"]
    tab.press("?")
    assert "Accept the suggestion" in tab.page.get_by_role("dialog").inner_text()


def test_others_see_no_suggestions(suggested: Place, tabs: Any) -> None:
    tab = tabs(suggested, user="bob").open()
    assert tab.page.locator("#panel-suggestions").count() == 0
    assert tab.painted("suggested") == []
    tab.press("p", "k", "x")  # keys that do nothing
    assert suggested.state(tab.doc, "bob").decisions == ()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_phone_has_all_of_it(suggested: Place, tabs: Any, scheme: str) -> None:
    size = {"width": 390, "height": 800}
    tab = tabs(suggested, viewport=size, color_scheme=scheme, has_touch=True).open()
    tab.page.locator("#panel-suggestions h2 button").tap()
    tab.page.locator("#panel-suggestions li button").first.tap()
    tab.page.locator("#panel-suggestions .decide button").first.tap()
    assert [type(one) for one in decisions(tab)] == [Accept]
    assert tab.page.evaluate("document.documentElement.scrollWidth") <= 390


@needs_axe
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_no_barrier(suggested: Place, tabs: Any, scheme: str) -> None:
    tab = tabs(suggested, color_scheme=scheme, bypass_csp=True).open()
    tab.press("p", "k", "p", "x", "p").saved()
    assert barriers(tab.page) == []
