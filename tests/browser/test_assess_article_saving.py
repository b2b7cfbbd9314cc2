"""The article page on the real server: undo, tabs, conflicts, the network."""

from __future__ import annotations

from typing import Any

import pytest

from browser.article import (
    Place,
    Tab,
)
from browsing import needs_browser
from foveal.assess.actions import Highlight, State

pytestmark = needs_browser


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
    assert here.saving == "⚠ conflict: 1 not yet saved; click to decide"
    dialog.get_by_role("button", name=answer).click()
    here.saved()
    assert here.painted("relevant") == kept
    assert place.exported(here.doc) == kept


def test_escape_puts_a_conflict_off(place: Place, tabs: Any) -> None:
    here, there = tabs(place), tabs(place, "d00", viewport={"width": 1000, "height": 700})
    here.open()
    there.doc = here.doc
    there.open().drag("diesel").press("h").saved()
    here.drag("steam").press("h")
    dialog = here.page.get_by_role("dialog")
    for _ in range(2):  # also where nobody has touched the page yet
        dialog.wait_for()
        here.press("Escape")
        dialog.wait_for(state="detached")
        assert here.saving.startswith("⚠ conflict: 1 not yet saved")
        assert here.painted("relevant")[-1] == "steam"
        assert place.exported(here.doc) == ["diesel"]
        here.page.reload()
        here.ready()
    dialog.wait_for()
    here.press("Escape")
    here.drag("engine").press("h")  # work goes on, and waits too
    here.page.locator("#save", has_text="conflict: 2 not yet saved").click()
    dialog.get_by_role("button", name="Apply mine").click()
    here.saved()
    assert here.painted("relevant") == place.exported(here.doc) == ["engine", "diesel", "steam"]


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
    text = tab.place.campaign.document(tab.doc).text
    assert tab.place.state(tab.doc).bep == text.index("diesel")


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


def lose(route: Any) -> None:
    """The server hears, but its answer does not arrive."""
    route.fetch()
    route.abort()


def test_an_answer_that_is_lost_does_no_harm(tab: Tab) -> None:
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

    first.page.route("**/actions", lose)
    first.press("z")
    first.page.locator("#save", has_text="offline: 1").wait_for()
    first.page.close()
    document = place.campaign.document(first.doc)
    start = document.text.index("engine")
    place.campaign.act(
        "ann", "1", first.doc, f"elsewhere-{first.doc}", 3, Highlight(start, start + 6),
        length=document.length, digest=document.sha256,
    )  # fmt: skip
    again = tabs(place, first.doc).open().saved()
    assert again.painted("relevant") == place.exported(first.doc) == ["engine", "diesel"]


def test_what_was_saved_unheard_is_no_conflict(place: Place, tabs: Any) -> None:
    """The page is opened again, and goes on before it hears that the action was saved."""
    first = tabs(place).open()

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
    clock = tab.page.clock
    clock.install(time=0)
    tab.open()
    clock.pause_at(120_000)  # a clock that is only installed goes on, for as long as opening takes
    before = counted(tab)
    tab.press("t")
    with tab.page.expect_response("**/events"):
        clock.run_for(31_000)
    assert place.campaign.seconds("ann", "1", tab.doc) == 30
    clock.run_for(600_000)
    assert counted(tab) - before in (59, 60)


def counted(tab: Tab) -> int:
    """The seconds that the page shows."""
    minutes, seconds = tab.page.locator("#clock").inner_text().split(":")
    return 60 * int(minutes) + int(seconds)


def test_undoing_a_refused_validation_leaves_the_highlights(place_2005: Place, tabs: Any) -> None:
    """Made without a network, when the page could not know that grades are missing."""
    tab = tabs(place_2005).open()
    tab.drag("diesel").press("h").saved()
    tab.page.context.set_offline(True)
    tab.click("engine drives").press("b", "Enter", "f", "z")
    tab.page.locator("#save", has_text="offline: 3 not yet saved").wait_for()
    tab.page.context.set_offline(False)
    tab.page.get_by_role("dialog").get_by_role("button", name="Close").click()
    tab.saved()
    text = place_2005.campaign.document(tab.doc).text
    assert place_2005.state(tab.doc).bep == text.index("engine drives")
    assert place_2005.exported(tab.doc) == ["diesel"]
