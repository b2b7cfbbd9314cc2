"""A browser for the tests of pages: which one, and what to say where there is none."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
CHROMIUM = Path(os.environ.get("CHROMIUM", "/usr/bin/chromium"))
AXE = Path(os.environ.get("AXE", ROOT / "node_modules" / "axe-core" / "axe.min.js"))
MISSING = [
    *(["playwright"] if importlib.util.find_spec("playwright") is None else []),
    *([] if CHROMIUM.exists() else [f"{CHROMIUM} (or another, named by CHROMIUM)"]),
]
CI = os.environ.get("CI") == "true"
"""There, a test of a page that is skipped is a failure."""

needs_browser = pytest.mark.skipif(
    bool(MISSING) and not CI, reason=f"no browser to test with: {', '.join(MISSING)} missing"
)
needs_axe = pytest.mark.skipif(
    not AXE.exists() and not CI, reason="axe-core is missing (npm install)"
)


class Complaints(list[str]):
    """What a page complained about on its console."""

    def hear(self, text: str) -> None:
        """Note it, unless a test was only quicker to click than the page to put the cursor."""
        if not text.startswith("Autofocus processing was blocked"):
            self.append(text)
