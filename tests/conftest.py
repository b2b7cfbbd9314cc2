"""Hypothesis looks for new examples at every run; in CI at the same ones, a third as many.

No example has a deadline: how long one takes is the machine's affair. But no test may hang.
"""

import os
from collections.abc import Callable, Generator
from fnmatch import fnmatch
from pathlib import Path

import pytest
from hypothesis import Phase, settings

from timeouts import limited

settings.register_profile("here", deadline=None)
settings.register_profile("ci", derandomize=True, deadline=None)
# A mutant is killed by any failing example: no need to look for a smaller one.
settings.register_profile(
    "mutants", derandomize=True, deadline=None, phases=[Phase.explicit, Phase.generate]
)
settings.load_profile(
    os.environ.get("HYPOTHESIS_PROFILE") or ("ci" if os.environ.get("CI") else "here")
)

_SETTINGS = "_hypothesis_internal_use_settings"
"""Where a property keeps its settings; Hypothesis has no way to change them from outside."""
_UNTRACED = (
    "browser",
    "test_benchmarks*.py",
    "test_cli_workers.py",
    "test_naive*.py",
    "test_readme.py",
    "test_image.py",
    "test_wheel.py",
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what would take nearly twice as long under coverage and shows no line of its own."""
    here = Path(__file__).parent
    properties = set()
    for item in items:
        below = item.path.relative_to(here).parts if item.path.is_relative_to(here) else ("",)
        drawn = getattr(getattr(item, "obj", None), "is_hypothesis_test", False)
        if drawn or any(fnmatch(below[0], pattern) for pattern in _UNTRACED):
            item.add_marker("untraced")
        if drawn:
            properties.add(item.obj)
    if os.environ.get("CI"):
        for test in properties:
            _shorten(test)


def _shorten(test: Callable[..., None]) -> None:
    """A third of the examples of a property: CI has a quarter of an hour for everything."""
    own = getattr(test, _SETTINGS, settings())
    setattr(test, _SETTINGS, settings(own, max_examples=max(own.max_examples // 3, 10)))


def _limit(item: pytest.Item) -> Generator[None, object, object]:
    with limited(item.name):
        return (yield)


# In each phase for itself: what is raised elsewhere would end the session, not the test.
pytest_runtest_setup = pytest.hookimpl(wrapper=True)(_limit)
pytest_runtest_call = pytest.hookimpl(wrapper=True)(_limit)
pytest_runtest_teardown = pytest.hookimpl(wrapper=True)(_limit)
