"""The architecture page: every function it names on the path of a run exists."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[1] / "docs" / "architecture.md"
PATH = PAGE.read_text(encoding="utf-8").partition("## The path of a run")[2].partition("\n## ")[0]
STEPS = re.findall(r"^\d+\. ", PATH, re.MULTILINE)
NAMES = sorted(set(re.findall(r"`(foveal\.[\w.]+)`", PATH)))


def test_the_path_of_a_run_has_ten_steps() -> None:
    assert len(STEPS) == 10
    assert len(NAMES) > 15


@pytest.mark.parametrize("name", NAMES)
def test_what_the_path_of_a_run_names_exists(name: str) -> None:
    parts = name.split(".")
    for length in range(len(parts), 0, -1):
        try:
            found = import_module(".".join(parts[:length]))
        except ModuleNotFoundError:
            continue
        for part in parts[length:]:
            found = getattr(found, part)
        return
    pytest.fail(f"there is no {name}")
