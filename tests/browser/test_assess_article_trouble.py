"""The article page when the server changes under it: another campaign, a full disk."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from assess.serving import Page, Server, running
from assess.small_disk import LONG_NOTE, on_small_disk
from assess_site import make_campaign
from browser.article import Place, Tab
from browsing import needs_browser
from foveal.assess.store import Campaign

pytestmark = needs_browser


@pytest.fixture
def campaigns(tmp_path: Path) -> list[Path]:
    """Two campaigns with the same topics, documents and assessors."""
    return [make_campaign(tmp_path / name, blind=True) for name in ("first", "second")]


@pytest.fixture
def context(browser: Any) -> Iterator[Any]:
    made = browser.new_context(viewport={"width": 1280, "height": 800})
    yield made
    made.close()


def sign_in(context: Any, server: Server) -> None:
    with Page(server.url, "ann") as page:
        cookie = {"name": page.session, "value": page.http.cookies[page.session]}
    context.add_cookies([{**cookie, "url": server.url}])


@contextmanager
def opened(context: Any, server: Server, path: Path, doc: str = "ferries") -> Iterator[Tab]:
    """A page on a document; it may not raise anything."""
    with Campaign.open(path) as campaign:
        tab = Tab(context.new_page(), Place(campaign, None, server.url), doc)
        yield tab.open()
        assert tab.said == []


def change_campaign(context: Any, server: Server, path: Path) -> None:
    """End the server and serve another campaign at the same address."""
    if server.process is not None:
        server.end()
    server.campaign = path
    server.start()
    sign_in(context, server)


def look_again(tab: Tab) -> None:
    tab.page.evaluate("dispatchEvent(new Event('focus'))")


def status(tab: Tab, words: str) -> Any:
    shown = tab.page.locator("#save", has_text=words)
    shown.wait_for()
    return shown


def highlight_without_server(tab: Tab, server: Server, words: str) -> None:
    server.end()
    tab.drag(words).press("h")
    status(tab, "offline: 1 not yet saved")


def download(page: Any) -> dict[str, Any]:
    with page.expect_download() as started:
        page.get_by_role("dialog").get_by_role("button", name="Export").click()
    assert started.value.suggested_filename.endswith(".json")
    found: dict[str, Any] = json.loads(Path(started.value.path()).read_text(encoding="utf-8"))
    return found


def test_an_open_page_does_not_save_in_another_campaign(
    context: Any, campaigns: list[Path]
) -> None:
    first, second = campaigns
    with running(first) as server:
        sign_in(context, server)
        with opened(context, server, first) as tab:
            highlight_without_server(tab, server, "current")
            change_campaign(context, server, second)
            look_again(tab)
            status(tab, "another campaign is served here: 1 not yet saved").click()
            (action,) = download(tab.page)["actions"]
            text = tab.place.campaign.document("ferries").text
            start = text.index("current")
            assert action["action"] == {"kind": "highlight", "start": start, "end": start + 7}
            assert (action["campaign"], action["assessor"], action["topic"], action["doc"]) == (
                (tab.place.campaign.identity, "ann", "1", "ferries")
            )
            tab.press("Escape")
            tab.page.get_by_role("dialog").wait_for(state="detached")
            status(tab, "another campaign is served here: 1 not yet saved")
            with Campaign.open(second) as other:
                assert other.state("ann", "1", "ferries")[0] == 0
            change_campaign(context, server, first)
            look_again(tab)
            tab.saved()
            assert tab.place.exported("ferries") == ["current"]


def test_a_new_page_does_not_take_up_the_work_of_another_campaign(
    context: Any, campaigns: list[Path]
) -> None:
    first, second = campaigns
    with running(first) as server:
        sign_in(context, server)
        with opened(context, server, first) as tab:
            highlight_without_server(tab, server, "current")
            tab.page.close()
        change_campaign(context, server, second)
        with opened(context, server, second) as tab:
            dialog = tab.page.get_by_role("dialog")
            dialog.wait_for()
            assert "1 action: topic 1, document ferries, by ann" in dialog.inner_text()
            tab.press("Escape")
            dialog.wait_for(state="detached")
            status(tab, "saved; 1 action of another campaign not saved")
            # It is put off for this tab, which works as ever.
            tab.drag("river").press("h").saved()
            tab.page.reload()
            tab.ready()
            assert dialog.count() == 0
            assert tab.place.exported("ferries") == ["river"]
            assert len(unsaved(tab)) == 1
        change_campaign(context, server, first)
        with opened(context, server, first) as tab:
            tab.saved()
            assert tab.place.exported("ferries") == ["current"]
            assert unsaved(tab) == []


def test_the_work_of_another_campaign_is_discarded_only_when_asked(
    context: Any, campaigns: list[Path]
) -> None:
    first, second = campaigns
    with running(first) as server:
        sign_in(context, server)
        with opened(context, server, first) as tab:
            highlight_without_server(tab, server, "current")
            tab.page.close()
        change_campaign(context, server, second)
        with opened(context, server, second) as tab:
            assert [one["uuid"] for one in download(tab.page)["actions"]] == unsaved(tab)
            tab.page.get_by_role("dialog").get_by_role("button", name="Discard").click()
            tab.page.get_by_role("dialog").wait_for(state="detached")
            assert unsaved(tab) == []
            assert tab.saving == "✓ saved"


def unsaved(tab: Tab) -> list[str]:
    """The names of all actions that the browser keeps."""
    names: list[str] = tab.page.evaluate(
        """() => Object.keys(localStorage).filter(key => key.startsWith("foveal.queue."))
             .map(key => JSON.parse(localStorage.getItem(key)).uuid)"""
    )
    return names


def test_a_full_disk_is_told_and_the_work_saved_when_there_is_room(
    context: Any, campaigns: list[Path]
) -> None:
    with on_small_disk(campaigns[0]) as (server, disk):
        sign_in(context, server)
        with opened(context, server, campaigns[0]) as tab:
            disk.fill()
            tab.press("n").page.locator("textarea").fill(LONG_NOTE[:10_000])
            bar = status(tab, "the server's disk is full: 1 not yet saved")
            assert "kept in this browser" in tab.page.locator("#toast").inner_text()
            bar.click()
            dialog = tab.page.get_by_role("dialog")
            assert "The server's disk is full" in dialog.inner_text()
            disk.make_room()
            dialog.get_by_role("button", name="Try again").click()
            tab.saved()
            tab.page.reload()
            assert tab.ready().page.locator("textarea").input_value() == LONG_NOTE[:10_000]
