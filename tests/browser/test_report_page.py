"""The report page in a browser without a network: selected, linked, copied, zoomed, by keys too."""

from __future__ import annotations

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
GROUPS = {"early": [str(t) for t in range(1, 8)], "late": [str(t) for t in range(8, 13)]}


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
        groups=GROUPS,
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
        groups=GROUPS,
    )


def opened(browser: Any, path: Path, address: str = "", **options: Any) -> Any:
    """The page, offline; its complaints and requests are noted in ``page.said``."""
    given = {"viewport": {"width": 1280, "height": 800}, "offline": True} | options
    page = browser.new_context(**given).new_page()
    page.said = []
    page.on("console", lambda message: page.said.append(message.text))
    page.on("pageerror", lambda error: page.said.append(str(error)))
    page.on("request", lambda request: page.said.append(request.url))
    page.goto(path.as_uri() + address)
    assert page.said.pop(0).startswith(path.as_uri())
    if options.get("java_script_enabled", True):
        page.locator("body[data-ready=yes]").wait_for()
    return page


@pytest.fixture
def page(browser: Any, report: Path) -> Iterator[Any]:
    shown = opened(browser, report)
    yield shown
    assert shown.said == []
    shown.context.close()


def cells(page: Any, table: str, column: int) -> list[str]:
    """Texts of a column."""
    return page.locator(f"{table} tbody tr").evaluate_all(
        "(rows, column) => rows.map(row => row.cells[column].textContent)", column
    )


def means(page: Any) -> dict[str, str]:
    """The chosen measure of the runs that are shown, in the order of the table."""
    return dict(zip(cells(page, "#scores", 0), cells(page, "#scores", 1), strict=True))


def numbers(page: Any, part: str) -> None:
    """Open the table behind a graph, which is made only then."""
    page.locator(f"{part} details.data summary").click()
    page.locator(f"{part} details.data tbody tr").first.wait_for()


# -- the table of runs ---------------------------------------------------------------------------


def test_the_first_screen_answers_and_ranks(page: Any, scores: foveal.Results) -> None:
    best = sorted(scores.runs, key=lambda run: -scores[run, "AiP"])
    assert page.locator("#answer").inner_text().find(best[0]) > 0
    assert list(means(page).items()) == [(run, f"{scores[run, 'AiP']:.4f}") for run in best]
    for part in ("#answer", "#by", "#filter", "#scores tbody tr >> nth=4"):
        box = page.locator(part).bounding_box()
        assert box["y"] + box["height"] <= 800


def test_a_click_sorts_and_another_turns_it_over(page: Any, scores: foveal.Results) -> None:
    head = page.locator("#scores thead th", has_text="characters")
    head.get_by_role("button").click()
    assert head.get_attribute("aria-sort") == "ascending"
    first = cells(page, "#scores", 0)
    head.get_by_role("button").click()
    assert (head.get_attribute("aria-sort"), cells(page, "#scores", 0)) == (
        "descending",
        first[::-1],
    )
    page.get_by_role("button", name="run", exact=True).click()
    assert cells(page, "#scores", 0) == sorted(scores.runs)


def test_another_measure_leads_the_table_and_everything_else(
    page: Any, scores: foveal.Results
) -> None:
    page.locator("#scores thead").get_by_role("button", name="charP").click()
    assert page.locator("#answer").inner_text().startswith("By charP")
    assert means(page) == {run: f"{scores[run, 'charP']:.4f}" for run in means(page)}
    for part in ("#pairs figcaption", "#topic-table caption"):
        assert page.locator(part).inner_text().startswith("charP")
    page.locator("#by").select_option(label="ListOverlap")
    assert page.locator("#scores thead th").nth(1).get_attribute("aria-sort") == "ascending"


def test_differences_from_a_baseline_are_those_of_compare(
    page: Any, scores: foveal.Results
) -> None:
    page.locator("#baseline").select_option(label="noisy")
    found = foveal.compare(scores)["AiP"].table
    for row in page.locator("#scores tbody tr").evaluate_all(
        "rows => rows.map(row => [...row.cells].map(cell => cell.textContent))"
    ):
        if row[0] == "noisy":
            assert row[4:7] == ["baseline", "", ""]
            continue
        (pair,) = (
            own
            for own in found.iter_rows(named=True)
            if {own["run"], own["other"]} == {row[0], "noisy"}
        )
        sign = 1 if pair["run"] == row[0] else -1
        assert row[4] == f"{sign * pair['difference']:+.4f}".replace("-", "\N{MINUS SIGN}")
        assert row[5] == f"{pair['p_corrected']:.4f}"
        assert row[6] == ("better" if pair["significant"] else "may be chance")


def test_the_filter_leaves_runs_everywhere(page: Any) -> None:
    page.locator("#filter").fill("Sec")
    page.locator("#filtered", has_text="1 of 5 runs").wait_for()
    assert list(means(page)) == ["sections"]
    assert page.locator("#panel .legend li").count() == 1
    best = page.locator("#topic-table tbody td:last-child").all_inner_texts()
    assert set(best) <= {"sections", "-"}
    page.locator("#filter").fill("nothing like it")
    page.locator("#answer", has_text="No run has such a name").wait_for()


def test_ticked_runs_are_drawn_and_can_be_all_that_is_shown(page: Any) -> None:
    assert page.locator("#panel polyline.series").count() == 5
    page.get_by_label("Draw noisy").uncheck()
    assert page.locator("#panel polyline.series").count() == 4
    page.get_by_label("ticked runs only").check()
    assert "noisy" not in means(page)
    page.get_by_role("button", name="Reset").click()
    assert len(means(page)) == 5


# -- topics that are selected --------------------------------------------------------------------


def test_a_group_of_topics_has_the_numbers_of_evaluate(page: Any, scores: foveal.Results) -> None:
    page.locator("#group").select_option(label="group late")
    assert means(page) == {run: f"{scores[run, 'AiP[late]']:.4f}" for run in scores.runs}
    assert page.locator("#topic-table tbody tr").count() == 5
    assert page.locator("#pairs svg rect.bar").count() == 5


def test_a_search_gives_the_statistics_of_the_topics_found(page: Any, report: Path) -> None:
    page.locator("#find").fill("LATE")
    page.locator("#filtered", has_text="5 of 12 topics").wait_for()
    late = foveal.compare(
        foveal.evaluate(
            RUNS,
            str(CAMPAIGN / "judgements.jsonl"),
            "AiP",
            collection=report.with_name("crossings.fvx"),
            only_topics=GROUPS["late"],
        ),
        interval="t",
    )["AiP"]
    for row in late.runs.iter_rows(named=True):
        assert means(page)[row["run"]] == f"{row['mean']:.4f}"
    shown = dict(zip(cells(page, "#scores", 0), cells(page, "#scores", 2), strict=True))
    for row in late.runs.iter_rows(named=True):
        ends = [float(text) for text in shown[row["run"]].split("\N{EN DASH}")]
        assert ends == pytest.approx([row["low"], row["high"]], abs=2e-4)
    p = dict(zip(cells(page, "#scores", 0), cells(page, "#scores", 4), strict=True))
    best = next(iter(p))
    for pair in late.table.iter_rows(named=True):
        if best in (pair["run"], pair["other"]):
            other = pair["other"] if pair["run"] == best else pair["run"]
            assert float(p[other]) == pytest.approx(pair["p_corrected"], abs=2e-3)
    assert "computed in the page" in page.locator("#runs-table .note").inner_text()


# -- the address ---------------------------------------------------------------------------------


def test_a_link_opens_the_page_as_it_was(page: Any, browser: Any, report: Path) -> None:
    page.locator("#by").select_option(label="charP")
    page.locator("#group").select_option(label="group early")
    page.locator("#filter").fill("o")
    page.locator("#filtered", has_text="of 5 runs").wait_for()
    page.get_by_role("tab", name="Pairs of runs").click()
    page.locator("#pair-two").select_option(label="noisy")
    page.locator("#kind-regressed").click()
    page.locator("#topic-table tbody tr").nth(2).click()
    page.locator("#zoom-in").click()
    parts = ("#answer", "#scores", "#pairs-view", "#topic", "#panel", "#zoom-said")
    before = [page.locator(part).inner_text() for part in parts]
    again = opened(browser, report, page.url[page.url.index("#") :])
    assert [again.locator(part).inner_text() for part in parts] == before
    assert again.said == []
    again.context.close()
    page.get_by_role("button", name="Reset").click()
    assert "#" not in page.url


@pytest.mark.parametrize(
    "address", ["#measure=none&one=nobody&topic=x&graph=99&zoom=a&picked=[&kind=odd", "#topics"]
)
def test_a_link_to_what_is_not_there_opens_the_page(
    browser: Any, report: Path, address: str
) -> None:
    page = opened(browser, report, address)
    assert len(means(page)) == 5
    assert page.said == []
    page.context.close()


# -- copying -------------------------------------------------------------------------------------


def test_every_table_and_figure_is_copied(browser: Any, report: Path) -> None:
    page = opened(browser, report, permissions=["clipboard-read", "clipboard-write"])
    page.locator("#topic-table tbody tr").first.click()

    def copied(part: str, form: str) -> str:
        page.locator(f"{part} .copy").get_by_role("button", name=form).first.click()
        page.locator("#said", has_text=f"Copied as {form}").wait_for()
        text: str = page.evaluate("navigator.clipboard.readText()")
        page.evaluate("document.getElementById('said').textContent = ''")
        return text

    runs = cells(page, "#scores", 0)
    table = copied("#runs-table", "CSV").splitlines()
    assert table[0].startswith("run,AiP,95 % interval,group,difference,p,verdict")
    assert [line.split(",")[0] for line in table[1:]] == runs
    markdown = copied("#runs-table", "Markdown").splitlines()
    assert markdown[1].startswith("| --- | ---: |")
    assert len(markdown) == 2 + len(runs)
    latex = copied("#topic-list", "LaTeX")
    assert latex.startswith("\\begin{tabular}{l")
    assert latex.count("\\\\\n") == 13
    for tab in page.get_by_role("tab").all():
        tab.click()
        assert copied("#panel", "CSV").count("\n") > 2
        if tab.inner_text() != "What runs return":
            svg = copied("#panel", "SVG")
            assert svg.startswith("<svg ")
            assert 'xmlns="http://www.w3.org/2000/svg"' in svg
            assert "var(--" not in svg.replace('style="', "")
    for part in ("#pairs-view", "#topic", "#document-view"):
        assert copied(part, "CSV").count("\n") > 2
    assert copied("#pairs-view", "SVG").startswith("<svg ")
    assert copied("#document-view", "SVG").startswith("<svg ")
    page.context.close()


# -- graphs --------------------------------------------------------------------------------------

TABS = (
    "Curves",
    "Topics of each run",
    "Pairs of runs",
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


def test_every_curve_can_be_chosen(page: Any) -> None:
    for title in page.locator("#curve option").all_inner_texts():
        page.locator("#curve").select_option(label=title)
        assert page.locator("#panel figcaption").inner_text() == title
    numbers(page, "#panel")
    assert page.locator("#panel tbody tr").count() == 5


def test_the_matrix_has_each_pair_once(page: Any, scores: foveal.Results) -> None:
    page.get_by_role("tab", name="Pairs of runs").click()
    assert page.locator("#panel svg rect").count() == 10
    numbers(page, "#panel")
    found = foveal.compare(scores)["AiP"].table
    for run, other, difference, effect in zip(
        *(cells(page, "#panel", j) for j in range(4)), strict=True
    ):
        (pair,) = (
            own for own in found.iter_rows(named=True) if {own["run"], own["other"]} == {run, other}
        )
        sign = 1 if pair["run"] == run else -1
        values = [float(text.replace("\N{MINUS SIGN}", "-")) for text in (difference, effect)]
        expected = [sign * pair["difference"], sign * pair["effect"]]
        assert values == pytest.approx(expected, abs=1e-4)


# -- two runs, topics and documents --------------------------------------------------------------


def test_two_runs_lead_to_the_topics_on_which_they_differ(
    page: Any, scores: foveal.Results
) -> None:
    page.locator("#pair-one").select_option(label="articles")
    page.locator("#pair-two").select_option(label="noisy")
    gains = {
        t: round(scores["noisy", "AiP", t], 4) - round(scores["articles", "AiP", t], 4)
        for t in scores.topics
    }
    assert page.locator("#pairs svg rect.bar").count() == len(gains)
    assert page.locator("#kind-fixed").inner_text() == f"fixed {sum(g > 0 for g in gains.values())}"
    worst = [t for t in gains if gains[t] < 0]
    page.locator("#kind-regressed").click()
    shown = cells(page, "#pair-topics", 0)
    assert shown == sorted(worst, key=lambda t: gains[t])
    page.locator("#pair-topics tbody tr").first.click()
    assert page.locator("#document-text").evaluate("box => box.selectedOptions[0].text") == (
        "the two compared runs side by side"
    )
    assert page.locator("#document-view .sides h3").count() == 2
    assert page.locator("#topic h3").inner_text().startswith(f"Topic {shown[0]} ")
    page.locator("#pair-swap").click()
    assert page.locator("#pair-one").evaluate("box => box.selectedOptions[0].text") == "noisy"


def test_a_click_on_a_run_compares_it_with_the_baseline(page: Any) -> None:
    page.locator("#scores tbody tr").nth(2).locator("td").nth(0).click()
    runs = cells(page, "#scores", 0)
    chosen = [
        page.locator(f"#pair-{name}").evaluate("box => box.selectedOptions[0].text")
        for name in ("one", "two")
    ]
    assert chosen == [runs[0], runs[2]]


def test_topics_are_sorted_and_opened(page: Any, scores: foveal.Results) -> None:
    page.locator("#topic-table thead").get_by_role("button", name="mean").click()
    rows = cells(page, "#topic-table", 0)
    difficulty = {t: sum(scores[run, "AiP", t] for run in scores.runs) for t in scores.topics}
    assert rows == sorted(rows, key=lambda t: difficulty[t])
    page.locator("#topic-table tbody tr").nth(3).click()
    assert page.locator("#topic h3").inner_text().startswith(f"Topic {rows[3]} ")
    runs = cells(page, "#topic", 0)
    assert cells(page, "#topic", 1) == [f"{scores[run, 'AiP', rows[3]]:.4f}" for run in runs]
    page.locator("#topic1").click()
    assert page.locator("#topic h3").inner_text().startswith("Topic ")
    chosen = page.locator("#document-topic").evaluate("box => box.selectedOptions[0].text")
    assert page.locator("#topic h3").inner_text() == f"Topic {chosen}"


def test_a_document_shows_relevant_returned_and_missed_text(page: Any) -> None:
    truth = foveal.read_judgements(str(CAMPAIGN / "judgements.jsonl")).combined()
    name = page.locator("#document-doc").evaluate("box => box.selectedOptions[0].text")
    (row,) = (
        i for i in range(len(truth)) if truth.doc[i] == name and truth.topics[truth.topic[i]] == "1"
    )

    def text(kind: str) -> int:
        marks = page.locator(f"#document-view mark.{kind}")
        return sum(map(len, marks.evaluate_all("marks => marks.map(m => m.textContent)")))

    relevant = sum(end - start for start, end in truth.passages(row))
    assert text("relevant") == relevant
    assert page.locator("#document-view .entry").count() == 1
    page.locator("#document-text").select_option(label="noisy")
    run = foveal.read_run(RUNS[2]).to_frame().filter(topic="1", doc=name)
    returned = {
        at
        for _, start, end in run.select("rank", "start", "end").rows()
        for at in range(start, end)
    }
    judged = {at for start, end in truth.passages(row) for at in range(start, end)}
    expected = (len(returned & judged), len(judged - returned), len(returned - judged))
    assert (text("hit"), text("missed"), text("extra")) == expected


def test_a_strip_is_zoomed_by_buttons_keys_and_the_map(page: Any) -> None:
    def shown() -> list[int]:
        words = page.locator("#zoom-said").inner_text().replace(",", "").split()
        return [int(words[1]), int(words[3]), int(words[5])]

    page.locator("#zoom-whole").click()
    low, high, length = shown()
    assert (low, high) == (0, length)
    page.locator("#zoom-in").click()
    low, high, _ = shown()
    assert high - low == pytest.approx(length / 2, abs=2)
    page.locator("#zoom-right").click()
    assert shown()[0] > low
    page.locator("#strip").focus()
    page.keyboard.press("0")
    assert shown()[:2] == [0, length]
    page.keyboard.press("+")
    assert page.locator("#strip").evaluate("strip => strip === document.activeElement")
    page.keyboard.press("ArrowLeft")
    page.locator("#strip").scroll_into_view_if_needed()
    box = page.locator("#strip svg.map").bounding_box()
    page.mouse.move(box["x"] + box["width"] / 4, box["y"] + 10)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + 10, steps=4)
    page.mouse.up()
    low, high, _ = shown()
    assert (low / length, high / length) == (
        pytest.approx(0.25, abs=0.02),
        pytest.approx(0.5, abs=0.02),
    )


# -- large and odd campaigns ---------------------------------------------------------------------


def made(tmp_path: Path, runs: list[Run], truth: Judgements, **options: Any) -> Path:
    """A page about runs by one measure, and another for a second column."""
    path = tmp_path / "report.html"
    path.write_text(report_page(runs, truth, ["charR", "AiP"], **options).html, encoding="utf-8")
    return path


def test_many_runs_and_topics_are_listed_step_by_step(browser: Any, tmp_path: Path) -> None:
    names = [
        f"a-laboratory-somewhere-2009-focused-run-{i:02}-bm25-k1-1.2-b-0.75" for i in range(40)
    ]
    topics = [f"t{t:04}" for t in range(700)]
    runs = [
        Run.from_results(
            {t: [("D", 0, 5 + (7 * i + n) % 90)] for n, t in enumerate(topics)}, name=name
        )
        for i, name in enumerate(names)
    ]
    truth = Judgements.from_highlights(
        {topic: {"D": {"spans": [(0, 90)], "length": 1000}} for topic in topics}
    )
    page = opened(browser, made(tmp_path, runs, truth), viewport={"width": 900, "height": 800})
    head = page.locator("#scores thead th").nth(1).bounding_box()
    assert head["x"] + head["width"] <= 900  # the measure is in sight beside the names
    assert page.locator("#scores thead th", has_text="rank").count() == 1
    looks = page.eval_on_selector_all(
        "#panel polyline",
        "all => all.map(l => l.getAttribute('stroke') + l.getAttribute('stroke-dasharray'))",
    )
    assert len(looks) == len(set(looks)) == 8
    assert page.locator("#topic-table tbody tr").count() == 100
    page.locator("#topic-table-more").click()
    assert page.locator("#topic-table tbody tr").count() == 600
    page.locator("#find").fill("T0699")
    page.locator("#filtered", has_text="1 of 700 topics").wait_for()
    assert cells(page, "#topic-table", 0) == ["t0699"]
    page.get_by_role("button", name="Reset").click()
    page.get_by_role("tab", name="Topics of each run").click()
    labels = page.eval_on_selector_all(
        "#panel svg text[text-anchor=end]", "all => all.map(t => t.firstChild.data)"
    )
    assert len(labels) == len(set(labels)) == 30
    assert page.locator("#panel svg circle").count() == 0  # shapes, as topics are many
    assert page.said == []


def test_one_run_and_one_topic_look_intended(browser: Any, tmp_path: Path) -> None:
    truth = Judgements.from_highlights({"1": {"D": {"spans": [(0, 5)], "length": 9}}})
    run = Run.from_results({"1": [("D", 0, 5)]}, name="alone")
    page = opened(browser, made(tmp_path, [run], truth))
    assert not page.locator("#pairs").is_visible()
    for tab in page.get_by_role("tab").all():
        tab.click()
    assert page.said == []


def test_offsets_count_characters_not_units_of_a_string(browser: Any, tmp_path: Path) -> None:
    text = "\U0001f600\U0001f600 smile, <b>and</b> \U0001f601 again"
    (tmp_path / "D.txt").write_text(text, encoding="utf-8")
    start = text.index("smile")
    judged = {"spans": [(start, start + 5)], "bep": start, "length": len(text)}
    run = Run.from_results({"1": [("D", 0, 8)]}, name="mine")
    truth = Judgements.from_highlights({"1": {"D": judged}})
    page = opened(browser, made(tmp_path, [run], truth, documents=str(tmp_path)))
    assert "".join(page.locator("mark.relevant").all_inner_texts()) == "smile"
    assert page.locator(".text").evaluate("box => box.textContent").endswith(text[start + 5 :])
    assert page.locator(".text b").count() == 0
    assert page.said == []


def test_what_a_text_leaves_out_is_said_where_it_is(browser: Any, tmp_path: Path) -> None:
    folder = tmp_path / "docs"
    folder.mkdir()
    text = " ".join(f"word{i}" for i in range(12_000))
    (folder / "D.txt").write_text(text, encoding="utf-8")
    spans = [(40_000, 40_100), (80_000, 80_100)]
    truth = Judgements.from_highlights({"1": {"D": {"spans": spans, "length": len(text)}}})
    run = Run.from_results({"1": [("D", 40_050, 40_200)]}, name="mine")
    page = opened(browser, made(tmp_path, [run], truth, documents=str(folder)))
    page.locator("#document-text").select_option(label="mine")
    marked = "".join(page.locator("mark.relevant").all_text_contents())
    assert marked == text[40_000:40_100] + text[80_000:80_100]
    assert "".join(page.locator("mark.extra").all_text_contents()) == text[40_100:40_200]
    gaps = page.locator(".text .gap").all_inner_texts()
    left = [int(gap.replace(",", "").split(" character")[0].strip("\u2026 ")) for gap in gaps]
    shown = page.locator(".text").evaluate(
        "box => box.textContent.length - [...box.querySelectorAll('.gap, .entry')]"
        ".reduce((sum, one) => sum + one.textContent.length, 0)"
    )
    assert len(left) == 3
    assert sum(left) + shown == len(text)
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
    page.locator("#topic-table tbody tr").first.focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    assert page.locator("#topic h3").inner_text().startswith("Topic 3 ")


def test_the_head_of_a_table_is_sorted_by_keys(page: Any) -> None:
    page.locator("#scores thead button").first.focus()
    for _ in range(4):
        page.keyboard.press("ArrowRight")
    name = page.locator(":focus").inner_text()
    page.keyboard.press("Enter")
    assert page.locator("#scores th[aria-sort]").inner_text().startswith(name)
    assert page.locator(":focus").inner_text() == name


def test_help_and_filter_are_a_key_away(page: Any) -> None:
    page.keyboard.press("?")
    assert page.locator("#help").is_visible()
    page.keyboard.press("Escape")
    assert not page.locator("#help").is_visible()
    page.keyboard.press("/")
    page.keyboard.type("foc?")
    assert page.locator("#filter").input_value() == "foc?"
    assert not page.locator("#help").is_visible()


# -- every screen, and paper ---------------------------------------------------------------------


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
def test_nothing_sticks_out(browser: Any, report: Path, width: int, scheme: str) -> None:
    size = {"width": width, "height": 800}
    page = opened(browser, report, "#text=%3Apair&topic=2", viewport=size, color_scheme=scheme)
    for tab in page.get_by_role("tab").all():
        tab.click()
        assert page.evaluate("document.documentElement.scrollWidth") <= width
    background = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert background == ("rgb(255, 255, 255)" if scheme == "light" else "rgb(21, 23, 26)")
    assert page.said == []
    page.context.close()


@pytest.mark.parametrize("size", ["A4", "Letter"])
def test_print_shows_every_graph_on_the_paper(page: Any, size: str) -> None:
    names = page.locator("[role=tab]").all_inner_texts()
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    page.emulate_media(media="print")
    page.set_viewport_size({"width": {"A4": 688, "Letter": 710}[size], "height": 900})
    assert page.locator("#panel section.graph > h3").all_inner_texts() == names
    assert page.locator("#panel section.graph figure svg").count() >= len(names) - 1
    assert page.evaluate("document.documentElement.scrollWidth") <= {"A4": 688, "Letter": 710}[size]
    for part in ("nav", "#toolbar", ".copy >> nth=0"):
        assert not page.locator(part).is_visible()
    cut = page.evaluate(
        "[...document.querySelectorAll('.scroll, .text')].filter(box => "
        "box.scrollWidth > box.clientWidth + 1 || box.scrollHeight > box.clientHeight + 1)"
        ".map(box => box.getAttribute('aria-label'))"
    )
    assert cut == []
    page.emulate_media(media="screen")
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert page.locator("#panel section.graph").count() == 0


def test_without_scripts_the_table_and_the_answer_remain(browser: Any, report: Path) -> None:
    page = opened(browser, report, java_script_enabled=False)
    assert page.locator("#scores tbody tr").count() == len(RUNS)
    assert page.locator("noscript").is_visible()


@needs_axe
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_no_barrier(browser: Any, report: Path, scheme: str) -> None:
    page = opened(browser, report, color_scheme=scheme, bypass_csp=True)
    page.locator("#pair-topics tbody tr").first.click()
    for tab in page.get_by_role("tab").all():
        tab.click()
        page.evaluate("document.querySelectorAll('details').forEach(box => { box.open = true; })")
        page.wait_for_function(
            "![...document.querySelectorAll('details')].some(b => !b.children[1])"
        )
        assert barriers(page) == []
