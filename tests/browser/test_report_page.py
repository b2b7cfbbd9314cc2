"""The report page in a browser without a network: sorted, filtered, opened, by mouse and keys."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import foveal
from browser.barriers import barriers
from browsing import ROOT, needs_axe, needs_browser
from foveal.collection import build_index
from foveal.model import Judgements, Run
from foveal.report.page import report_page

pytestmark = needs_browser
CAMPAIGN = ROOT / "examples" / "crossings"
NAMES = ("articles.jsonl", "focused.jsonl", "noisy.jsonl", "paragraphs.run", "sections.xml")
RUNS = [str(CAMPAIGN / "runs" / name) for name in NAMES]
MEASURES = ["AiP", "charP", "ListOverlap"]


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("report")
    build_index(CAMPAIGN / "documents", folder / "crossings.fvx")
    made = report_page(
        RUNS,
        str(CAMPAIGN / "judgements.jsonl"),
        MEASURES,
        collection=folder / "crossings.fvx",
        documents=str(CAMPAIGN / "documents"),
        topics_file=str(CAMPAIGN / "topics.jsonl"),
        command="foveal report ...",
    )
    path = folder / "report.html"
    path.write_text(made.html, encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def scores(report: Path) -> foveal.Results:
    return foveal.evaluate(
        RUNS,
        str(CAMPAIGN / "judgements.jsonl"),
        MEASURES,
        collection=report.with_name("crossings.fvx"),
    )


def opened(browser: Any, path: Path, **options: Any) -> Any:
    """The page, offline; whatever it complains about or asks for is noted in ``page.said``."""
    given = {"viewport": {"width": 1280, "height": 800}, "offline": True} | options
    page = browser.new_context(**given).new_page()
    page.said = []
    page.on("console", lambda message: page.said.append(message.text))
    page.on("pageerror", lambda error: page.said.append(str(error)))
    page.on("request", lambda request: page.said.append(request.url))
    page.goto(path.as_uri())
    assert page.said.pop(0) == path.as_uri()
    return page


@pytest.fixture
def page(browser: Any, report: Path) -> Iterator[Any]:
    shown = opened(browser, report)
    yield shown
    assert shown.said == []
    shown.context.close()


def cells(page: Any, table: str, column: int) -> list[str]:
    """Texts of a column, of the rows that are shown, without letters and intervals."""
    return page.evaluate(
        """([table, column]) => [...document.querySelectorAll(`${table} tbody tr`)]
        .filter(row => !row.hidden).map(row => {
          const cell = row.cells[column].cloneNode(true);
          cell.querySelectorAll("sup, small").forEach(part => part.remove());
          return cell.textContent;
        })""",
        [table, column],
    )


def numbers(page: Any, part: str) -> None:
    """Open the table behind a graph, which is made only then."""
    page.locator(f"{part} details.data summary").click()
    page.locator(f"{part} details.data tbody tr").first.wait_for()


# -- the first screen ----------------------------------------------------------------------------


def test_the_first_screen_answers_and_ranks(page: Any, scores: foveal.Results) -> None:
    best = sorted(scores.runs, key=lambda run: -scores[run, "AiP"])
    assert page.locator("#answer").inner_text().find(best[0]) > 0
    assert cells(page, "#scores", 0) == best
    assert cells(page, "#scores", 1) == [f"{scores[run, 'AiP']:.4f}" for run in best]
    for part in ("#answer", "#by", "#filter", "#scores tbody tr >> nth=0"):
        box = page.locator(part).bounding_box()
        assert box["y"] + box["height"] <= 800


def test_a_click_sorts_and_another_turns_it_over(page: Any, scores: foveal.Results) -> None:
    head = page.locator("#scores thead th").nth(2)
    head.get_by_role("button").click()
    best = sorted(scores.runs, key=lambda run: -scores[run, "charP"])
    assert cells(page, "#scores", 0) == best
    assert head.get_attribute("aria-sort") == "descending"
    head.get_by_role("button").click()
    assert cells(page, "#scores", 0) == best[::-1]
    page.get_by_role("button", name="run", exact=True).click()
    assert cells(page, "#scores", 0) == sorted(scores.runs)


def test_less_is_first_where_less_is_better(page: Any) -> None:
    head = page.locator("#scores thead th").nth(3)
    head.get_by_role("button").click()
    assert head.get_attribute("aria-sort") == "ascending"


def test_another_measure_gives_another_answer(page: Any) -> None:
    page.locator("#by").select_option(label="charP")
    assert page.locator("#answer").inner_text().startswith("By charP")
    column = cells(page, "#scores", 2)
    assert column == sorted(column, reverse=True)


def test_the_filter_leaves_runs_by_name(page: Any) -> None:
    page.locator("#filter").fill("S")
    assert sorted(cells(page, "#scores", 0)) == [
        "articles", "focused", "noisy", "paragraphs", "sections",
    ]  # fmt: skip
    page.locator("#filter").fill("Sec")
    assert cells(page, "#scores", 0) == ["sections"]
    assert page.locator("#filtered").inner_text() == "1 of 5 runs"
    page.locator("#filter").fill("nothing like it")
    assert cells(page, "#scores", 0) == []


def test_intervals_can_be_hidden(page: Any) -> None:
    interval = page.locator("#scores td small").first
    assert re.fullmatch(r"\d\.\d{4}–\d\.\d{4}", interval.inner_text())  # noqa: RUF001 - a dash
    page.locator("#intervals").uncheck()
    assert not interval.is_visible()


# -- graphs --------------------------------------------------------------------------------------

TABS = (
    "Curves",
    "Topics of each run",
    "Two runs",
    "Significance",
    "Correlation of measures",
    "What runs return",
)


def test_every_graph_opens_has_words_and_a_table(page: Any) -> None:
    assert page.get_by_role("tab").all_inner_texts() == list(TABS)
    for name in TABS:
        page.get_by_role("tab", name=name, exact=True).click()
        panel = page.locator("#panel")
        assert panel.locator("svg[role=img]").first.get_attribute("aria-label")
        if name != "What runs return":  # which is a table itself
            numbers(page, "#panel")
        assert panel.locator("tbody tr").count() > 1


def test_the_table_behind_a_curve_holds_its_points(page: Any, scores: foveal.Results) -> None:
    numbers(page, "#panel")
    assert sorted(cells(page, "#panel", 0)) == sorted(scores.runs)
    assert page.locator("#panel polyline.series").count() == 5
    page.locator("#panel .legend input").first.uncheck()
    assert page.locator("#panel polyline.series").count() == 4


def test_every_curve_can_be_chosen(page: Any) -> None:
    choice = page.locator("#panel select")
    for title in choice.locator("option").all_inner_texts():
        page.locator("#panel select").select_option(label=title)
        assert page.locator("#panel figcaption").inner_text() == title


def test_two_runs_differ_by_what_the_table_says(page: Any, scores: foveal.Results) -> None:
    page.get_by_role("tab", name="Two runs").click()
    page.locator("#panel select").nth(1).select_option(label="noisy")
    page.locator("#panel select").nth(2).select_option(label="articles")
    assert page.locator("#panel rect.bar").count() == len(scores.topics)
    numbers(page, "#panel")
    first = page.locator("#panel tbody tr").first.inner_text().split()
    one, other = scores["noisy", "AiP", first[0]], scores["articles", "AiP", first[0]]
    assert first[1:3] == [f"{one:.4f}", f"{other:.4f}"]
    assert float(first[3]) == pytest.approx(one - other, abs=1.1e-4)


# -- topics and documents ------------------------------------------------------------------------


def test_a_topic_opens_with_its_runs(page: Any, scores: foveal.Results) -> None:
    page.locator("#topic-list tbody tr").nth(3).click()
    topic = scores.topics[3]
    assert page.locator("#topic h3").inner_text().startswith(f"Topic {topic} ")
    runs = cells(page, "#topic", 0)
    assert cells(page, "#topic", 1) == [f"{scores[run, 'AiP', topic]:.4f}" for run in runs]
    assert runs == sorted(runs, key=lambda run: -scores[run, "AiP", topic])
    page.get_by_role("button", name=f"Documents of topic {topic}").click()
    chosen = page.locator("#document-view select").first
    assert chosen.evaluate("box => box.selectedOptions[0].text").startswith(f"{topic} ")


def test_a_document_shows_its_relevant_text_and_what_runs_returned(page: Any) -> None:
    truth = foveal.read_judgements(str(CAMPAIGN / "judgements.jsonl")).combined()
    name = (
        page.locator("#document-view select").nth(1).evaluate("box => box.selectedOptions[0].text")
    )
    (row,) = (
        i for i in range(len(truth)) if truth.doc[i] == name and truth.topics[truth.topic[i]] == "1"
    )
    marked = page.locator("#document-view mark.relevant")
    shown = "".join(marked.evaluate_all("marks => marks.map(m => m.textContent)"))
    assert len(shown) == sum(end - start for start, end in truth.passages(row))
    assert page.locator("#document-view .entry").count() == 1
    numbers(page, "#document-view")
    assert page.locator("#document-view tbody tr").count() > 3
    page.locator("#document-view select").nth(2).select_option(label="noisy")
    words = marked.first.get_attribute("title")
    assert words in ("relevant, returned by 0 runs", "relevant, returned by 1 runs")


def test_many_runs_of_long_names_are_told_apart(browser: Any, tmp_path: Path) -> None:
    names = [
        f"a-laboratory-somewhere-2009-focused-run-{i:02}-bm25-k1-1.2-b-0.75" for i in range(30)
    ]
    # The first run given and the 29th are the best, and would share a colour and a dash by number.
    runs = [
        Run.from_results({"1": [("D", 0, 100 + 10 * (i % 28))], "2": [("D", 0, 100)]}, name=name)
        for i, name in enumerate(names)
    ]
    truth = Judgements.from_highlights(
        {topic: {"D": {"spans": [(0, 100)], "length": 1000}} for topic in "12"}
    )
    path = tmp_path / "report.html"
    path.write_text(report_page(runs, truth, ["AiP"]).html, encoding="utf-8")
    page = opened(browser, path, viewport={"width": 800, "height": 800})
    head = page.locator("#scores thead th").last.bounding_box()
    assert head["x"] + head["width"] <= 800  # scores are in sight beside the names
    drawn = page.eval_on_selector_all(
        "#panel polyline", "all => all.map(l => getComputedStyle(l).stroke)"
    )
    assert len(drawn) == len(set(drawn)) == 7
    page.get_by_role("tab", name="Topics of each run").click()
    labels = page.eval_on_selector_all(
        "#panel svg text[text-anchor=end]", "all => all.map(t => t.firstChild.data)"
    )
    assert sorted(labels) == [f"…{i:02}-bm25-k1-1.2-b-0.75" for i in range(30)]
    assert cells(page, "#topic-list", 3) == ["2 runs", "30 runs"]
    assert page.said == []


def test_offsets_count_characters_not_units_of_a_string(browser: Any, tmp_path: Path) -> None:
    text = "\U0001f600\U0001f600 smile, <b>and</b> \U0001f601 again"
    (tmp_path / "D.txt").write_text(text, encoding="utf-8")
    start = text.index("smile")
    judged = {"spans": [(start, start + 5)], "bep": start, "length": len(text)}
    made = report_page(
        [Run.from_results({"1": [("D", 0, 8)]}, name="mine")],
        Judgements.from_highlights({"1": {"D": judged}}),
        ["AiP"],
        documents=str(tmp_path),
    )
    (tmp_path / "page.html").write_text(made.html, encoding="utf-8")
    page = opened(browser, tmp_path / "page.html")
    assert page.locator("mark.relevant").all_inner_texts() == ["smile"]
    assert page.locator(".text").evaluate("box => box.textContent").endswith(text[start:])
    assert page.locator(".text b").count() == 0
    assert page.said == []


# -- keys ----------------------------------------------------------------------------------------


def test_arrows_go_through_graphs(page: Any) -> None:
    page.get_by_role("tab", name="Curves").focus()
    for name in (*TABS[1:], TABS[0]):
        page.keyboard.press("ArrowRight")
        focused = page.locator("[role=tab]:focus")
        assert (focused.inner_text(), focused.get_attribute("aria-selected")) == (name, "true")
    page.keyboard.press("End")
    assert page.locator("[role=tab]:focus").inner_text() == TABS[-1]


def test_arrows_go_through_rows_and_enter_opens(page: Any) -> None:
    page.locator("#topic-list tbody tr").first.focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    assert page.locator("#topic h3").inner_text().startswith("Topic 3 ")


def test_the_head_of_a_table_is_sorted_by_keys(page: Any) -> None:
    page.locator("#scores thead button").first.focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    assert page.locator("#scores th[aria-sort]").inner_text().startswith("charP")


def test_help_and_filter_are_a_key_away(page: Any) -> None:
    page.keyboard.press("?")
    assert page.locator("#help").is_visible()
    page.keyboard.press("Escape")
    assert not page.locator("#help").is_visible()
    page.keyboard.press("/")
    page.keyboard.type("foc?")
    assert page.locator("#filter").input_value() == "foc?"
    assert not page.locator("#help").is_visible()


# -- every screen --------------------------------------------------------------------------------


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 400])
def test_nothing_sticks_out(browser: Any, report: Path, width: int, scheme: str) -> None:
    size = {"width": width, "height": 800}
    page = opened(browser, report, viewport=size, color_scheme=scheme)
    for tab in page.get_by_role("tab").all():
        tab.click()
        assert page.evaluate("document.documentElement.scrollWidth") <= width
    background = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert background == ("rgb(255, 255, 255)" if scheme == "light" else "rgb(21, 23, 26)")
    assert page.said == []
    page.context.close()


def test_print_leaves_out_what_only_a_screen_needs(page: Any) -> None:
    page.emulate_media(media="print")
    assert not page.locator("nav").is_visible()
    assert not page.locator("#filter").is_visible()
    assert page.locator("#scores").is_visible()
    assert page.locator("#command").is_visible()


def test_print_shows_every_graph_and_the_screen_comes_back(page: Any) -> None:
    names = page.locator("[role=tab]").all_inner_texts()
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert page.locator("#panel section.graph > h3").all_inner_texts() == names
    assert page.locator("#panel section.graph figure svg").count() >= len(names) - 1
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert page.locator("#panel section.graph").count() == 0
    assert page.locator("#panel figure").count() == 1


def test_without_scripts_the_table_and_the_answer_remain(browser: Any, report: Path) -> None:
    page = opened(browser, report, java_script_enabled=False)
    assert page.locator("#scores tbody tr").count() == len(RUNS)
    assert page.locator("noscript").is_visible()


@needs_axe
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_no_barrier(browser: Any, report: Path, scheme: str) -> None:
    page = opened(browser, report, color_scheme=scheme, bypass_csp=True)
    page.locator("#topic-list tbody tr").first.click()
    for tab in page.get_by_role("tab").all():
        tab.click()
        for behind in page.locator("#panel details:not([open]) > summary").all():
            behind.click()
        assert barriers(page) == []
