"""Whether pages can be tested at all."""

from __future__ import annotations

from typing import Any

from browser.barriers import barriers
from browsing import MISSING, needs_axe, needs_browser


@needs_browser
def test_there_is_a_browser() -> None:
    assert not MISSING, f"pages cannot be tested: {', '.join(MISSING)} missing"


@needs_browser
@needs_axe
def test_a_barrier_is_found(browser: Any) -> None:
    page = browser.new_context().new_page()
    page.set_content("<html lang=en><title>t</title><main><h1>h</h1><p><img src=x></p></main>")
    assert barriers(page) == [["image-alt", '<img src="x">']]
    page.set_content("<html lang=en><title>t</title><main><h1>h</h1><p>text</p></main>")
    assert barriers(page) == []
