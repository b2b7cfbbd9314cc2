"""Hypothesis looks for new examples at every run; in CI it looks at the same ones each time.

No example has a deadline: how long one takes is the machine's affair.
"""

import os
from pathlib import Path

import pytest
from hypothesis import settings

settings.register_profile("here", deadline=None)
settings.register_profile("ci", derandomize=True, deadline=None)
settings.load_profile("ci" if os.environ.get("CI") else "here")

_UNTRACED = ("browser", "test_readme.py")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what would take nearly twice as long under coverage and shows no line of its own."""
    here = Path(__file__).parent
    for item in items:
        below = item.path.relative_to(here).parts if item.path.is_relative_to(here) else ("",)
        drawn = getattr(getattr(item, "obj", None), "is_hypothesis_test", False)
        if drawn or below[0] in _UNTRACED:
            item.add_marker("untraced")
