"""Home, pool, collection and organiser's pages in a browser: by mouse and keys, light and dark."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from assess_site import PASSWORD, clients, make_campaign, served
from browser.barriers import barriers
from browsing import Complaints, needs_axe, needs_browser
from foveal.assess.actions import EntryPoint, Highlight, Validate
from foveal.assess.store import Campaign

pytestmark = needs_browser

PAGES = {
    "ann": (
        "/", "/topics/1", "/topics/1/collection", "/topics/1/collection?q=ferry", "/account",
        "/nothing",
    ),
    "olga": (
        "/", "/topics/1", "/organise", "/organise/people", "/organise/campaign",
        "/organise/agreement", "/organise/adjudicate", "/organise/log", "/account",
    ),
}  # fmt: skip


def judged(path: Path) -> Path:
    """Ann and bob differ on one document and agree on another."""
    with Campaign.open(path) as campaign:
        for name, end in (("ann", 33), ("bob", 20)):
            for doc, start, stop in (("ferries", 7, end), ("bridges", 7, 23)):
                document = campaign.document(doc)
                steps = (
                    Highlight(start, stop), EntryPoint(start), Validate(),
                )  # fmt: skip
                for i, step in enumerate(steps):
                    campaign.act(
                        name, "1", doc, f"{name}-{doc}-{i}", i, step,
                        length=document.length, digest=document.sha256,
                    )  # fmt: skip
                campaign.log(name, "1", doc, "view", {})
                campaign.log(name, "1", doc, "time", {"seconds": 90})
        cues = [{"pattern": "ferry", "colour": "blue", "style": "underline", "on": True}]
        campaign.set_setting("ann", "1", "cues", cues)
        campaign.set_instructions(
            "Rivers", "Read the whole document.\n\nMark every sentence that answers."
        )
        campaign.add_user("new")
        campaign.invite("new")
        campaign.create_token("olga", "backup script")
    return path


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A campaign in which something was done; only looked at."""
    with served(judged(make_campaign(tmp_path_factory.mktemp("judged")))) as address:
        yield address


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return make_campaign(tmp_path)


@pytest.fixture
def url(path: Path) -> Iterator[str]:
    with served(path) as address:
        yield address


def arrived(browser: Any, url: str, name: str, **options: Any) -> Any:
    """A page of somebody who has signed in; complaints are in ``page.said``."""
    given = {"viewport": {"width": 1280, "height": 800}} | options
    page = browser.new_context(**given).new_page()
    page.said = Complaints()
    page.on("console", lambda message: page.said.hear(message.text))
    page.on("pageerror", lambda error: page.said.append(str(error)))
    with clients(url, name) as (client,):
        session = {"name": client.session, "value": client.http.cookies[client.session]}
    page.context.add_cookies([{**session, "url": url}])
    page.goto(f"{url}/")
    return page


@contextmanager
def at_home(browser: Any, url: str, name: str, **options: Any) -> Iterator[Any]:
    """The same, closed in the end; it has complained about nothing."""
    page = arrived(browser, url, name, **options)
    yield page
    assert page.said == []
    page.context.close()


@pytest.fixture
def ann(browser: Any, url: str) -> Iterator[Any]:
    with at_home(browser, url, "ann") as page:
        yield page


@pytest.fixture
def olga(browser: Any, url: str) -> Iterator[Any]:
    with at_home(browser, url, "olga") as page:
        yield page


def at(page: Any, path: str) -> None:
    """Wait until the page is there, and its scripts have run."""
    page.wait_for_url(re.compile(re.escape(path) + "$"))
    page.wait_for_load_state("load")


# -- signing in -----------------------------------------------------------------------------------


def test_a_wrong_password_can_be_mended(browser: Any, url: str) -> None:
    page = browser.new_context().new_page()
    page.goto(f"{url}/topics/1?from=a")
    at(page, "/login?next=%2Ftopics%2F1%3Ffrom%3Da")
    assert page.locator("#name:focus").count() == 1
    page.keyboard.type("ann")
    page.keyboard.press("Tab")
    page.keyboard.type("wrong word")
    page.keyboard.press("Enter")
    page.locator("[role=alert]").wait_for()
    assert page.locator("[role=alert]").inner_text() == "Name or password is wrong."
    assert page.locator("#name").input_value() == "ann"
    page.locator("#password:focus").wait_for()
    page.keyboard.type(PASSWORD)
    page.keyboard.press("Enter")
    at(page, "/topics/1?from=a")  # where the link led
    page.get_by_role("button", name="Sign out").click()
    at(page, "/login")
    page.goto(f"{url}/topics/1")
    at(page, "/login?next=%2Ftopics%2F1")
    page.context.close()


def test_everything_works_below_a_path_of_a_proxy(browser: Any, path: Path) -> None:
    with served(path, root="/water") as address:
        page = browser.new_context().new_page()
        said: list[str] = []
        page.on("response", lambda one: said.append(one.url) if one.status >= 400 else None)
        page.goto(f"{address}/water/topics/1")
        page.fill("#name", "olga")
        page.fill("#password", PASSWORD)
        page.keyboard.press("Enter")
        page.wait_for_url(f"{address}/water/topics/1")
        page.keyboard.press("2")
        page.wait_for_url(f"{address}/water/")
        page.keyboard.press("o")
        page.wait_for_url(f"{address}/water/organise")
        page.get_by_label("bob judges topic 2").click()
        page.locator("#said", has_text="✓ Topic 2 is taken from bob").wait_for()
        page.keyboard.press("u")
        page.wait_for_url(f"{address}/water/organise/people")
        page.get_by_role("button", name="Reset the password of ann").click()
        page.locator("#links-title:focus").wait_for()
        link = page.get_by_label("Link of ann", exact=True).input_value()
        assert link.startswith(f"{address}/water/join#")
        page.get_by_role("button", name="Sign out").click()
        page.wait_for_url(f"{address}/water/login")
        page.goto(link)
        page.locator("#new:focus").wait_for()
        page.keyboard.type("nine ferries")
        page.locator("#again").fill("nine ferries")
        page.keyboard.press("Enter")
        page.wait_for_url(f"{address}/water/")
        page.keyboard.press("Enter")
        page.wait_for_url(f"{address}/water/topics/1")
        page.keyboard.press("c")
        page.keyboard.type("ferry")
        page.locator("#said", has_text="✓ Saved").wait_for()
        page.keyboard.press("Escape")
        page.keyboard.press("s")
        page.wait_for_url(f"{address}/water/topics/1/collection")
        page.get_by_role("button", name="Add Tunnels").click()
        page.locator("#said", has_text="✓ Added").wait_for()
        page.goto(f"{address}/water/topics/1/documents/ferries")
        page.locator("body[data-ready]").wait_for()
        page.keyboard.press("Control+Shift+ArrowDown")
        page.keyboard.press("h")
        page.locator("#save", has_text="✓ saved").wait_for()
        page.locator("#state", has_text="1 passage").wait_for()
        page.keyboard.press("3")
        page.wait_for_url(f"{address}/water/topics/1/documents/bridges")
        page.locator("body[data-ready]").wait_for()
        page.keyboard.press("2")
        page.wait_for_url(f"{address}/water/topics/1")
        assert said == []
        page.context.close()


# -- home and pool --------------------------------------------------------------------------------


def test_keys_of_home_and_pool(ann: Any, url: str) -> None:
    ann.keyboard.press("Enter")
    at(ann, "/topics/1")
    statement = ann.locator(".statement dl")
    assert statement.is_visible()
    ann.keyboard.press("t")
    assert not statement.is_visible()
    ann.keyboard.press("ArrowDown")
    ann.keyboard.press("ArrowDown")
    assert "Bridges" in ann.locator("tr:focus th").inner_text()
    ann.keyboard.press("s")
    at(ann, "/topics/1/collection")
    ann.keyboard.press("2")
    at(ann, "/topics/1")
    ann.keyboard.press("3")
    at(ann, "/topics/1/documents/ferries")
    ann.locator("body[data-ready]").wait_for()
    ann.keyboard.press("2")
    at(ann, "/topics/1")
    ann.keyboard.press("Enter")
    at(ann, "/topics/1/documents/ferries")


def test_one_goes_back_to_what_was_viewed_last(browser: Any, finished: str) -> None:
    with at_home(browser, finished, "ann") as page:
        page.goto(f"{finished}/topics/1")
        assert page.locator(".viewed li").count() == 2
        page.keyboard.press("1")
        at(page, "/topics/1/documents/bridges")


def test_the_filter_leaves_documents_by_name_and_state(browser: Any, finished: str) -> None:
    page = arrived(browser, finished, "ann")
    page.goto(f"{finished}/topics/1")
    shown = page.locator("#documents tbody tr:visible")
    page.keyboard.press("/")
    page.keyboard.type("BRI?")
    assert shown.count() == 0
    page.keyboard.press("Backspace")
    assert shown.count() == 1
    assert page.locator("#filtered").inner_text() == "1 of 2 documents"
    page.keyboard.press("Escape")
    page.keyboard.press("ArrowDown")
    assert "Bridges" in page.locator("tr:focus th").inner_text()
    page.locator("#filter").fill("")
    page.locator("#state").select_option("relevant")
    assert shown.count() == 2
    assert page.locator("#help").is_hidden()
    page.context.close()


def test_cue_words_are_saved_as_they_are_typed(ann: Any, url: str, path: Path) -> None:
    ann.goto(f"{url}/topics/1")
    ann.keyboard.press("c")
    ann.keyboard.type("ferr(y|ies)")
    ann.get_by_label("Colour", exact=True).select_option("green")
    ann.get_by_label("Style").select_option("background")
    ann.locator("#said", has_text="✓ Saved").wait_for()
    ann.reload()
    assert ann.locator(".cues input[type=text]").input_value() == "ferr(y|ies)"
    with Campaign.open(path) as campaign:
        assert campaign.settings("ann", "1")["cues"] == [
            {"pattern": "ferr(y|ies)", "colour": "green", "style": "background", "on": True}
        ]
    ann.get_by_role("button", name="Remove ferr(y|ies)").click()
    ann.locator("#said", has_text="✓ Saved").wait_for()
    ann.reload()
    assert ann.locator(".cues li").count() == 0
    ann.keyboard.press("c")
    ann.keyboard.type("ferr(")
    word = ann.locator(".cues input[type=text]")
    assert word.get_attribute("aria-invalid") == "true"
    ann.keyboard.type("y)")
    assert word.get_attribute("aria-invalid") == "false"
    ann.goto(f"{url}/")  # at once
    ann.goto(f"{url}/topics/1")
    assert word.input_value() == "ferr(y)"


def test_a_server_that_is_gone_is_said(browser: Any, path: Path) -> None:
    with served(path) as address:
        page = arrived(browser, address, "ann")
        page.goto(f"{address}/topics/1")
    page.keyboard.press("c")
    page.keyboard.type("ferry")
    page.locator("#said.bad").wait_for()
    assert page.locator("#said").inner_text() == "The server does not answer."
    page.context.close()


# -- organisers -----------------------------------------------------------------------------------


def test_an_organiser_assigns_by_tick(olga: Any, url: str, path: Path) -> None:
    olga.keyboard.press("o")
    at(olga, "/organise")
    box = olga.get_by_label("bob judges topic 2")
    assert box.is_checked()
    olga.keyboard.press("a")  # ann, topic 1
    olga.keyboard.press("ArrowRight")
    olga.keyboard.press("ArrowDown")
    olga.keyboard.press("Space")
    olga.locator("#said", has_text="✓ Topic 2 is taken from bob").wait_for()
    with Campaign.open(path) as campaign:
        assert campaign.list_assigned("bob") == ("1",)
    box.click()
    olga.locator("#said", has_text="✓ Topic 2 is assigned to bob").wait_for()
    olga.reload()
    assert olga.get_by_label("bob judges topic 2").is_checked()


def test_an_organiser_adds_an_account(olga: Any, browser: Any, url: str) -> None:
    olga.goto(f"{url}/organise/people")
    olga.keyboard.press("u")
    olga.keyboard.type("cyd")
    for _ in range(3):
        olga.keyboard.press("Tab")
    olga.keyboard.type(PASSWORD)
    olga.keyboard.press("Enter")
    olga.locator("#users th", has_text="cyd").wait_for()
    page = arrived(browser, url, "cyd")
    assert "No topic is assigned to you yet" in page.locator("main").inner_text()
    page.context.close()


def test_what_is_refused_is_said_and_taken_back(olga: Any, url: str, path: Path) -> None:
    olga.goto(f"{url}/organise/people")
    olga.locator("#user-name").fill("final")
    olga.locator("#user button").click()
    olga.locator("#said.bad").wait_for()
    assert "reserved" in olga.locator("#said").inner_text()
    assert "422" in olga.said.pop()  # the browser's own word


def test_an_organiser_invites_and_the_invited_person_joins(
    olga: Any, browser: Any, url: str
) -> None:
    olga.goto(f"{url}/organise/people")
    olga.keyboard.press("u")
    olga.keyboard.type("cyd")
    olga.keyboard.press("Tab")
    olga.keyboard.press("Tab")
    olga.keyboard.type("2 1")
    olga.keyboard.press("Enter")
    olga.locator("#links-title:focus").wait_for()
    link = olga.get_by_label("Link of cyd", exact=True).input_value()
    row = olga.locator("#users tr", has_text="cyd").inner_text()
    assert "1, 2" in row
    assert "invited until" in row

    page = browser.new_context().new_page()
    requested: list[str] = []
    page.on("request", lambda request: requested.append(request.url))
    page.goto(link)
    page.locator("#new:focus").wait_for()
    assert page.locator("h1").inner_text() == "Welcome, cyd"
    assert page.url == f"{url}/join"  # without the token
    assert link.split("#")[1] not in "".join(r for r in requested if "#" not in r)
    page.keyboard.type("a long one")
    page.keyboard.press("Tab")
    page.keyboard.type("another one")
    page.keyboard.press("Enter")
    page.locator("[role=alert]", has_text="differ").wait_for()
    page.locator("#again").fill("a long one")
    page.keyboard.press("Enter")
    page.wait_for_url(f"{url}/")
    assert page.locator("#topics tbody tr").count() == 2
    page.goto(link.replace("join#", "join?again#"))
    page.locator("[role=alert]", has_text="was used").wait_for()
    assert page.locator("#join").is_hidden()
    page.context.close()


def test_everybody_changes_their_own_password(ann: Any, browser: Any, url: str) -> None:
    ann.get_by_role("link", name="ann", exact=True).click()
    at(ann, "/account")
    ann.locator("#old").fill("wrong one")
    ann.locator("#new").fill("nine ferries")
    ann.locator("#again").fill("nine ferries")
    ann.keyboard.press("Enter")
    ann.locator("[role=alert]", has_text="present password is wrong").wait_for()
    assert "422" in ann.said.pop()  # the browser's own word
    ann.locator("#old").fill(PASSWORD)
    ann.keyboard.press("Enter")
    at(ann, "/")
    assert ann.locator("h1").inner_text() == "Your topics"
    page = browser.new_context().new_page()
    page.goto(f"{url}/login")
    page.fill("#name", "ann")
    page.fill("#password", "nine ferries")
    page.keyboard.press("Enter")
    page.wait_for_url(f"{url}/")
    page.context.close()


# -- every page -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", list(PAGES))
def test_help_opens_and_closes_everywhere(browser: Any, finished: str, name: str) -> None:
    page = arrived(browser, finished, name)
    for path in PAGES[name]:
        page.goto(finished + path)
        page.keyboard.press("?")
        assert page.locator("#help").is_visible(), path
        page.keyboard.press("Enter")  # closes it, and opens nothing behind it
        assert page.locator("#help").is_hidden()
        assert page.url == finished + path
    page.context.close()


@pytest.mark.parametrize("name", list(PAGES))
def test_nothing_sticks_out(browser: Any, finished: str, name: str) -> None:
    page = arrived(browser, finished, name)
    for path in PAGES[name]:
        page.goto(finished + path)
        for width in (1280, 800, 400):
            page.set_viewport_size({"width": width, "height": 800})
            assert page.evaluate("document.documentElement.scrollWidth") <= width, (path, width)
    page.context.close()


@needs_axe
@pytest.mark.parametrize("name", list(PAGES))
def test_axe_finds_no_barrier(browser: Any, finished: str, name: str) -> None:
    page = arrived(browser, finished, name, bypass_csp=True)
    for path in (*PAGES[name], "/login"):
        if path == "/login":
            page.context.clear_cookies()
        page.goto(finished + path)
        for scheme, background in (("light", "rgb(255, 255, 255)"), ("dark", "rgb(21, 23, 26)")):
            page.emulate_media(color_scheme=scheme)
            assert page.evaluate("getComputedStyle(document.body).backgroundColor") == background
            assert (path, barriers(page)) == (path, [])
        if path != "/login":  # where a field has the focus
            page.keyboard.press("?")
            assert page.locator("#help").is_visible()
            assert (path, barriers(page)) == (path, [])
    page.context.close()


@needs_axe
def test_axe_finds_no_barrier_in_what_comes_up(browser: Any, path: Path) -> None:
    """Links, problems, tokens, guidelines, and the page of an invitation."""
    with served(judged(path)) as address:
        page = arrived(browser, address, "olga", bypass_csp=True)

        def check(what: str) -> None:
            for scheme in ("light", "dark"):
                page.emulate_media(color_scheme=scheme)
                assert (what, barriers(page)) == (what, [])

        page.goto(f"{address}/organise/people")
        page.locator("#csv").fill("ann\ncyd,king")
        page.locator("#import button").click()
        page.locator("#csv-problems li").first.wait_for()
        check("problems")
        page.locator("#csv").fill("cyd\ndee")
        page.locator("#import button").click()
        page.locator("#links-title:focus").wait_for()
        check("links")
        link = page.get_by_label("Link of cyd", exact=True).input_value()
        page.goto(f"{address}/organise/campaign")
        page.locator("#label").fill("nightly")
        page.keyboard.press("Enter")
        page.locator("#secret:focus").wait_for()
        check("token")
        page.locator("#secret").evaluate("node => node.blur()")
        page.keyboard.press("G")
        check("guidelines")
        page.goto(link)
        page.locator("#new:focus").wait_for()
        check("invitation")
        page.goto(link.replace("join#", "join?again#x"))
        page.locator("#problem").wait_for()
        check("no invitation")
        page.context.close()


def test_print_leaves_out_what_only_a_screen_needs(browser: Any, finished: str) -> None:
    page = arrived(browser, finished, "olga")
    page.goto(f"{finished}/organise")
    page.emulate_media(media="print")
    assert not page.locator(".top").is_visible()
    assert not page.get_by_role("button").first.is_visible()
    assert page.locator("#progress").is_visible()
    page.context.close()


def test_pages_can_be_read_without_scripts(browser: Any, finished: str) -> None:
    page = arrived(browser, finished, "ann", java_script_enabled=False)
    page.get_by_role("link", name="1", exact=True).click()
    assert page.locator("#documents tbody tr").count() == 2
    page.get_by_role("link", name="Search the collection").click()
    page.fill("#q", "bridge")
    page.get_by_role("button", name="Search").click()
    assert page.locator("#documents tbody tr").count() == 1
    page.context.close()


def test_no_page_asks_elsewhere_or_runs_what_is_not_ours(browser: Any, finished: str) -> None:
    page = arrived(browser, finished, "olga")
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    for path in PAGES["olga"]:
        page.goto(finished + path)
    assert {finished + path for path in PAGES["olga"]} <= set(asked)
    assert [one for one in asked if not one.startswith(finished + "/")] == []
    page.evaluate(
        """() => {
        const script = document.createElement("script");
        script.textContent = "window.ran = true";
        document.head.append(script);
        document.body.insertAdjacentHTML("beforeend", "<img src=x onerror='window.ran = true'>");
        }"""
    )
    page.wait_for_load_state("networkidle")
    assert page.evaluate("window.ran") is None
    page.context.close()
