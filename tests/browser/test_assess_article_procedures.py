"""The article page on the real server: procedures of other years, and adjudication."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from browser.article import (
    ARTICLE,
    NAMES,
    P1,
    Place,
    assessed,
    serving,
)
from browsing import needs_browser
from foveal.assess.documents import read_elements
from foveal.assess.people import FINAL
from foveal.collection import Collection, build_index

pytestmark = needs_browser


def test_exhaustivity_in_2005(place_2005: Place, tabs: Any) -> None:
    tab = tabs(place_2005).open()
    tab.drag("diesel").press("h", "b").click("diesel").saved().press("f")
    assert "has no grade of exhaustivity" in tab.page.get_by_role("dialog").inner_text()
    tab.press("Enter", "e")
    rows = tab.page.locator("#panel-elements tbody tr")
    names = [text.split("\t")[0] for text in rows.all_inner_texts()]
    assert names[-3:] == ["list[1]", "list-item[1]", "p[1]"]
    rows.nth(len(names) - 1).focus()
    tab.press("1").saved()
    path = next(iter(place_2005.state(tab.doc).grades))
    assert path.endswith("/list[1]/list-item[1]/p[1]")
    inferred = tab.page.locator("#panel-elements .follows")
    inferred.first.wait_for()
    assert inferred.all_inner_texts() == ["1"] * (len(names) - 1)
    # A parent is at least as exhaustive as its children.
    rows.first.focus()
    tab.press("0")
    tab.page.locator("#toast.bad", has_text="at least as exhaustive").wait_for()
    rows.first.focus()
    tab.press("2").saved().press("Escape", "f").saved()
    state = place_2005.state(tab.doc)
    assert state.validated
    assert [grade["exhaustivity"] for grade in state.grades.values()] == ["1", "2"]


def test_both_dimensions_in_2003(place_2003: Place, tabs: Any) -> None:
    tab = tabs(place_2003).open()
    tab.drag("diesel").press("h")
    assert "grades elements" in tab.page.locator("#toast").inner_text()
    tab.press("Escape", "e", "3", "2", "ArrowDown", "0").saved()
    assert dict(place_2003.state(tab.doc).grades) == {
        "/article[1]": {"exhaustivity": "3", "specificity": "2"},
        P1: {"exhaustivity": "0", "specificity": "0"},
    }
    tab.press("Escape", "f").saved()
    assert place_2003.state(tab.doc).validated


def test_in_2003_the_element_around_a_pooled_passage_is_graded(tmp_path: Path, tabs: Any) -> None:
    """And a document that was added, as a whole: neither has an element that a run returned."""
    (tmp_path / "docs").mkdir()
    for name in ("pooled", "added"):
        (tmp_path / "docs" / f"{name}.xml").write_text(ARTICLE, encoding="utf-8")
    build_index(tmp_path / "docs", tmp_path / "index.fvx")
    elements = read_elements(Collection.open(tmp_path / "index.fvx"), "pooled")
    start, end = (int(ends[elements.number[P1]]) for ends in (elements.start, elements.end))
    head = {"type": "header", "format": "foveal-run", "version": 1}
    row = {"topic": "1", "doc": "pooled", "rank": 1, "start": start + 1, "end": end - 1}
    for name in NAMES:
        lines = "\n".join(map(json.dumps, ({**head, "run": name}, row)))
        (tmp_path / f"{name}.jsonl").write_text(lines)
    with serving(tmp_path, "2003") as place:
        tab = tabs(place, "pooled", viewport={"width": 1280, "height": 800}).open()
        tab.press("f")
        assert P1 in tab.page.get_by_role("dialog").inner_text()
        tab.press("Enter", "e", "3", "2", "Escape").saved().press("f").saved()
        assert dict(place.state("pooled").grades) == {P1: {"exhaustivity": "3", "specificity": "2"}}
        assert place.state("pooled").validated
        other = tabs(place, "added", viewport={"width": 1280, "height": 800}).open()
        other.press("e", "2", "1")
        other.page.get_by_role("button", name="Add it").click()
        other.page.locator("#state", has_text="1 element graded").wait_for()
        other.saved()
        assert list(place.state("added").grades) == ["/article[1]"]
        for opened in (tab, other):
            opened.page.close()


# -- adjudication --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("key", "spans"),
    [("1", [(10, 30), (50, 60)]), ("u", [(10, 40), (50, 60)]), ("i", [(20, 30)])],
)
def test_adjudication_begins_with_others(
    place: Place, tabs: Any, key: str, spans: list[tuple[int, int]]
) -> None:
    doc = place.document()
    assessed(place, doc, "ann", [(10, 30), (50, 60)])
    assessed(place, doc, "bob", [(20, 40)])
    tab = tabs(place, doc, user="org").open("?as=final")
    text = place.campaign.document(doc).text
    assert tab.painted("other-0") == [text[10:30], text[50:60]]
    assert tab.painted("other-1") == [text[20:40]]
    tab.press("a", key).saved()
    state = place.state(doc, FINAL)
    assert list(state.spans) == spans
    assert state.bep == spans[0][0]
    tab.press("f").saved()
    assert place.state(doc, FINAL).validated


def test_who_is_blind_sees_no_others(place: Place, tabs: Any) -> None:
    doc = place.document()
    assessed(place, doc, "bob", [(20, 40)])
    tab = tabs(place, doc).open()
    assert tab.painted("other-0") == []
    assert tab.page.locator("#panel-others").count() == 0
