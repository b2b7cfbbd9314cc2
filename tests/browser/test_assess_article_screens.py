"""The article page on every screen: narrow, dark, printed, and read aloud."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

from browser.article import (
    Place,
    Tab,
)
from browser.barriers import barriers
from browsing import ROOT, needs_axe, needs_browser

pytestmark = needs_browser


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 420])
def test_nothing_sticks_out_and_the_state_is_in_sight(
    place: Place, tabs: Any, width: int, scheme: str
) -> None:
    size = {"width": width, "height": 800}
    tab = tabs(place, "d38", viewport=size, color_scheme=scheme).open()
    tab.press("s", "e")
    assert tab.page.evaluate("document.documentElement.scrollWidth") <= width
    for part in ("#save", "#next-step"):
        box = tab.page.locator(part).bounding_box()
        assert 0 <= box["x"] <= width - box["width"]
        assert box["y"] + box["height"] <= 800


def test_a_line_is_comfortable_to_read(tab: Tab) -> None:
    widest = tab.page.evaluate(
        """() => {
          const style = getComputedStyle(document.querySelector("#text .r-paragraph"));
          const pen = document.createElement("canvas").getContext("2d");
          pen.font = style.font;
          const letters = "The ferry crosses a river by the push of the stream alone. ".repeat(3);
          const letter = pen.measureText(letters).width / letters.length;
          return document.querySelector(".sheet").clientWidth / letter;
        }"""
    )
    assert 55 <= widest <= 80


def test_print_leaves_out_what_only_a_screen_needs(tab: Tab) -> None:
    tab.page.emulate_media(media="print")
    for part in (".tools", ".status", "#side"):
        assert not tab.page.locator(part).is_visible()
    assert tab.page.locator("#text").is_visible()


@needs_axe
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_no_barrier(place_2005: Place, tabs: Any, scheme: str) -> None:
    tab = tabs(place_2005, color_scheme=scheme, bypass_csp=True).open()
    tab.drag("diesel").press("h", "b").click("diesel").press("s", "v", "n", "Escape", "e").saved()
    tab.press("Escape", "c")
    tab.page.get_by_role("button", name="Add a cue word").click()
    tab.page.keyboard.type("boat")
    tab.page.locator(".cues .said", has_text="2 matches").wait_for()
    assert barriers(tab.page) == []
    tab.press("Escape", "?")
    assert barriers(tab.page) == []


def test_benchmark_of_the_page_runs_to_its_end() -> None:
    sizes = ["--characters", "20000", "--highlights", "40", "--repeats", "1"]
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.assess_page", *sizes],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert "| open |" in done.stdout
    assert "| highlight, elements open |" in done.stdout
    assert str(ROOT) not in done.stdout
