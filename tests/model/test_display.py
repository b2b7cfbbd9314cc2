"""What a notebook shows: escaped, short, self-contained, and in the colours of the page."""

from __future__ import annotations

import re
from html import escape
from html.parser import HTMLParser
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foveal import compare, correlate
from foveal.analysis.fidelity import fidelity
from foveal.analysis.recall_bases import recall_base
from foveal.measures import toy
from foveal.model import Judgements, Results, Run, Topic, Topics
from foveal.model.tables import Table, to_html

EVIL = '<script>alert("x")</script> & co'


class Page(HTMLParser):
    """Tags, texts of cells and all text of a piece of HTML, every element of which is closed."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.rows: list[list[str]] = []
        self.text = ""
        self.open: list[str] = []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert {name for name, _ in attrs} <= {"style"}
        self.tags.append(tag)
        self.open.append(tag)
        if tag == "tr":
            self.rows.append([])
        elif tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data
        if {"td", "th"} & set(self.open):
            self.rows[-1][-1] += data


def test_correlations_and_trials_show_themselves() -> None:
    scores = results(3, 2)
    shown = Page(correlate(scores)._repr_html_())
    assert shown.rows[:2] == [["measure", "m0"], ["m1", "1.000="]]
    judged = Judgements.from_highlights(
        {t: {d: {"spans": [(0, 9)] if d < "n" else [], "length": 20} for d in "abcn"} for t in "12"}
    )
    trial = fidelity(judged, measures=["gP@1"])
    shown = Page(trial._repr_html_())
    assert shown.rows[0][:3] == ["run", "gP@1"]
    assert trial.summary() in shown.text


def results(runs: int, measures: int) -> Results:
    rows = [
        (EVIL if i == 0 else f"r{i}", topic, f"m{k}", 0.25 * i)
        for i in range(runs)
        for topic in ("1", "2", "all")
        for k in range(measures)
    ]
    return Results.from_tidy(rows, {})


def shown() -> dict[str, Any]:
    scores = {"x": (0.1, 0.2, 0.4), EVIL: (0.5, 0.7, 0.9)}
    tidy = [(run, str(t), "AP", v) for run, vs in scores.items() for t, v in enumerate(vs)]
    return {
        "results": results(2, 2),
        "comparison": compare(Results.from_tidy(tidy, {})),
        "baseline": compare(Results.from_tidy(tidy, {}), baseline=EVIL),
        "recall base": recall_base(toy.judgements(), "toy"),
    }


@pytest.mark.parametrize("name", shown())
def test_what_is_shown_is_escaped_and_needs_nothing(name: str) -> None:
    html = shown()[name]._repr_html_()
    page = Page(html)
    assert not {"script", "style", "link", "img"} & set(page.tags)
    # Borders may be half transparent grey; no text has a colour that only one theme can carry.
    assert set(re.findall(r"(?<![-\w])(?:color|background):([^;\"]+)", html)) <= {
        "inherit",
        "transparent",
    }
    if name != "recall base":
        assert EVIL in page.text


@pytest.mark.parametrize(
    "shown",
    [
        Run.from_results({"1": [(EVIL, 0, 9)]}),
        Judgements.from_highlights({"1": {EVIL: {"spans": [(0, 9)]}}}),
        Topics.of([Topic("1", title=EVIL)]),
    ],
)
def test_inputs_show_their_rows_escaped(shown: Run | Judgements | Topics) -> None:
    html = shown._repr_html_()
    assert html.startswith(escape(repr(shown)))
    assert "<table" in html
    assert "<script" not in html


@settings(max_examples=40)
@given(st.text(max_size=12))
def test_cells_say_any_text_on_one_line(text: str) -> None:
    page = Page(to_html(Table(("a",), ((text,),), title=text)))
    controls = r"[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]"
    shown = re.sub(controls, lambda found: repr(found[0])[1:-1], text)
    assert page.rows[1] == [shown]


def test_long_texts_are_cut() -> None:
    ((_,), (cell,)) = Page(to_html(Table(("a",), (("x" * 500,),)), longest=80)).rows
    assert cell == "x" * 79 + "\N{HORIZONTAL ELLIPSIS}"


def test_results_show_at_most_twenty_runs_and_measures() -> None:
    page = Page(results(23, 21)._repr_html_())
    assert [len(row) for row in page.rows] == [21] * 21
    assert page.rows[0][:2] == ["run", "m0"]
    assert page.text.startswith("Results: 23 runs, 2 topics, 21 measures")
    assert page.text.endswith("and 3 more runsand 1 more measures")


def test_counts_have_no_decimals_and_the_undefined_no_number() -> None:
    rows = [("a", "all", "AP", 0.5), ("a", "all", "num_ret", 12.0), ("a", "all", "P@5", None)]
    page = Page(Results.from_tidy(rows, {})._repr_html_())
    assert page.rows[1] == ["a", "0.5000", "12", "\N{EN DASH}"]


def test_a_comparison_raises_its_letters_and_says_how_it_tested() -> None:
    page = Page(shown()["comparison"]._repr_html_())
    assert page.rows[:3] == [["run", "AP"], ["x", "0.2333b"], [EVIL, "0.7000a"]]
    assert "t test, two-sided, correction: holm" in page.text
    assert f"{EVIL} leads x by" in page.text
    marked = Page(shown()["baseline"]._repr_html_())
    assert marked.rows[1:3] == [["x", "0.2333-*"], [EVIL, "0.7000"]]


def test_a_recall_base_shows_its_trees() -> None:
    page = Page(recall_base(toy.judgements(), "toy", tie="deeper")._repr_html_())
    header, *rows = page.rows
    assert (header[0], header[-3:]) == ("element", ["worth", "ideal", "leaf"])
    assert [row[0] for row in rows[:3]] == ["D1", "a[1]", "├─ s[1]"]
    ideal = [row[0].split()[-1] for row in rows if row[-2] == "yes"]
    assert ideal == ["p[1]", "p[2]", "p[1]", "p[1]", "p[2]"]
    assert "5 ideal worth 4.0000" in page.text
