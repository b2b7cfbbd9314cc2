"""The browser that tests of pages share, one for each file."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from browsing import CHROMIUM


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield opened
        opened.close()
