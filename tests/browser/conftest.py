"""The browser and the served campaigns that tests of pages share.

They last as long as this package: a browser that were kept any longer would keep an event loop in
the thread of the tests, in which no other test could run one.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from browser.article import (
    ARTICLE,
    DOCUMENTS,
    P1,
    PLAIN,
    Place,
    Tab,
    serving,
    write_run,
)
from browsing import CHROMIUM
from foveal.collection import build_index


@pytest.fixture(scope="package")
def chromium() -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield opened
        opened.close()


@pytest.fixture(scope="module")
def browser(chromium: Any) -> Iterator[Any]:
    """The browser, in which nothing of another file is open."""
    yield chromium
    for context in chromium.contexts:
        context.close()


# -- article pages: a campaign for each procedure, with a new document for each test ---------------


@pytest.fixture(scope="package")
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
    write_run(folder, "one", names, P1)
    write_run(folder, "two", names, P1)
    write_run(folder, "three", [*names, "long"], "/article[1]")
    write_run(folder, "four", ["plain"], "/text[1]")
    return folder


@pytest.fixture(scope="package")
def place(collection: Path) -> Iterator[Place]:
    with serving(collection, "2006") as served:
        yield served


@pytest.fixture(scope="package")
def place_2005(collection: Path) -> Iterator[Place]:
    with serving(collection, "2005") as served:
        yield served


@pytest.fixture(scope="package")
def place_2003(collection: Path) -> Iterator[Place]:
    with serving(collection, "2003") as served:
        yield served


@pytest.fixture(scope="module")
def people(browser: Any) -> dict[tuple[str, str], Any]:
    """Browsers of those who work on a campaign, each with cookies and storage of its own."""
    return {}


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
        if page.url.startswith("http"):  # a test that failed early has opened none
            page.evaluate("localStorage.clear()")
        page.close()


@pytest.fixture
def tab(place: Place, tabs: Any) -> Tab:
    return tabs(place).open()
