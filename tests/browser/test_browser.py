"""Whether pages can be tested at all."""

from __future__ import annotations

from browsing import MISSING, needs_browser


@needs_browser
def test_there_is_a_browser() -> None:
    assert not MISSING, f"pages cannot be tested: {', '.join(MISSING)} missing"
