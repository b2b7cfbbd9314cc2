"""Tables for papers: names of any letters, numbers in line, marks raised, captions."""

from __future__ import annotations

import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from command import call
from foveal.analysis import compare, correlate
from foveal.analysis.comparison import Comparison
from foveal.analysis.score_tables import tabulate_scores
from foveal.model import Results
from foveal.model.tables import Table, escape_latex, format_tables, to_html, to_one_line

SPECIAL = "a_%&#\\~^{}$<>|\"`'-*[]+!?,=. 1"
NAMES = st.text(alphabet=SPECIAL, max_size=12) | st.text(max_size=8)
UGLY = ("a_b%c&d#e", r"\x~^{y}$z$", '[first] `q` "r"', "*star|<b>--''", "tab\tand\nline")


def markdown(*tables: Table) -> str:
    return format_tables(tables, "markdown")


def latex(*tables: Table) -> str:
    return format_tables(tables, "latex")


# -- escaping ----------------------------------------------------------------------------------

COMMANDS = {
    r"\textbackslash{}": "\\",
    r"\textasciitilde{}": "~",
    r"\textasciicircum{}": "^",
    r"\textless{}": "<",
    r"\textgreater{}": ">",
    r"\textbar{}": "|",
    r"\textasciigrave{}": "`",
    r"\textendash{}": "\N{EN DASH}",
    r"\symbol{34}": '"',
    "$-$": "\N{MINUS SIGN}",
    "{}": "",
} | {f"\\{c}": c for c in "&%$#_{}"}


def read_latex(text: str) -> str:
    """What LaTeX prints, for the commands that are used; anything else special is an error."""
    printed, at = "", 0
    while at < len(text):
        command = next((c for c in COMMANDS if text.startswith(c, at)), None)
        if command is None:
            assert text[at] not in '\\~^<>|"`$&%#_{}', f"{text[at]} is not escaped in {text}"
            assert text[at : at + 2] not in ("--", "''", ",,"), f"signs run together in {text}"
        printed += text[at] if command is None else COMMANDS[command]
        at += 1 if command is None else len(command)
    return printed


@settings(max_examples=60)
@given(NAMES)
def test_latex_prints_any_name(name: str) -> None:
    assert read_latex(escape_latex(name)) == to_one_line(name)


class Text(HTMLParser):
    """The text of every table cell, and the tags inside."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.cells: list[str] = []
        self.tags: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        if tag in ("td", "th"):
            self.cells.append("")

    def handle_data(self, data: str) -> None:
        if self.cells:
            self.cells[-1] += data.rstrip("\n")


def rendered(text: str, program: str) -> Text:
    """The table as a program for Markdown reads it."""
    if program == "markdown-it":
        module = pytest.importorskip("markdown_it")
        return Text(module.MarkdownIt("commonmark").enable(["table", "strikethrough"]).render(text))
    return Text(pytest.importorskip("markdown").markdown(text, extensions=["tables"]))


@pytest.mark.parametrize("program", ["markdown", "markdown-it"])
@settings(max_examples=50)
@given(name=st.text(alphabet=SPECIAL, max_size=12))
def test_markdown_shows_any_name(program: str, name: str) -> None:
    table = Table(("run", "AP"), ((f"x{name}x", "0.5"), ("b", "-0.25")), frozenset({(0, 1)}))
    page = rendered(markdown(replace(table, marks={(0, 1): "*", (1, 1): ""})), program)
    assert page.cells[2].split() == f"x{to_one_line(name)}x".split()
    assert page.cells[3:] == ["0.5*", "b", "\N{MINUS SIGN}0.25"]
    assert [tag for tag in page.tags if tag in ("strong", "sup", "em", "code", "a", "del")] == [
        *("strong", "sup")
    ]


def test_notes_are_no_lists_and_no_headings() -> None:
    table = Table(("run", "AP"), (("a", "1"),), notes=("+ better, - worse, * real", "# of topics"))
    assert markdown(table).endswith("\n\\+ better, - worse, \\* real\n\n\\# of topics\n")


def test_labels_are_plain() -> None:
    table = Table(("a",), (), title="%")
    assert r"\label{tab:table}" in latex(table)
    named = replace(table, name="pairs nxCG(quant=gen)@10")
    assert r"\label{tab:pairs-nxCG-quant-gen-10}" in latex(named)


# -- grids -------------------------------------------------------------------------------------

MARKED = Table(
    ("run", "AP", "P@5"),
    (("x", "0.5", "-0.25"), ("y", "-", "12.5")),
    frozenset({(0, 1)}),
    title="A title",
    notes=("No stop here", "None here either:"),
    marks={(0, 1): "ab", (1, 1): "b"},
)


def test_latex_has_a_caption_a_label_and_numbers_in_line() -> None:
    assert latex(MARKED).splitlines()[2:] == [
        r"\begin{table}",
        r"\centering",
        r"\caption{A title. No stop here. None here either:}",
        r"\label{tab:A-title}",
        r"\begin{tabular}{lr@{}lr}",
        r"\toprule",
        r"run & \multicolumn{2}{c}{AP} & P@5 \\",
        r"\midrule",
        r"x & \textbf{0.5} & \textsuperscript{ab} & $-$0.25 \\",
        r"y & \textendash{} & \textsuperscript{b} & 12.5 \\",
        r"\bottomrule",
        r"\end{tabular}",
        r"\end{table}",
    ]


def test_a_row_cannot_begin_with_what_latex_takes_for_an_option() -> None:
    rows = [
        line for line in latex(Table(("[a]",), (("*b",), ("[c]",)))).splitlines() if "{}" in line
    ]
    assert rows == [r"{}[a] \\", r"{}*b \\", r"{}[c] \\"]


def test_a_long_table_goes_over_pages_and_repeats_its_head() -> None:
    rows = tuple((f"r{i}", "0.5") for i in range(60))
    text = format_tables([Table(("run", "AP"), rows, title="Long")], "latex")
    assert text.startswith("% \\usepackage{booktabs,longtable}\n")
    assert text.count(r"run & AP \\") == 2
    assert text.index(r"\endhead") < text.index(r"\endfoot") < text.index("r0 &")
    assert r"\begin{table}" not in text


def test_every_table_has_a_label_of_its_own() -> None:
    text = format_tables([MARKED, MARKED, replace(MARKED, name="other")], "latex")
    assert re.findall(r"\\label\{(.*)\}", text) == ["tab:A-title", "tab:A-title-2", "tab:other"]


def test_marks_in_plain_text_follow_their_cells() -> None:
    lines = format_tables([MARKED], "table").splitlines()
    assert lines[2:6] == [
        "run     AP    P@5",
        "---  -----  -----",
        "x    0.5ab  -0.25",
        "y      -b    12.5",
    ]


def test_a_turned_table_keeps_its_marks() -> None:
    turned = MARKED.transpose()
    assert turned.header == ("measure", "x", "y")
    assert turned.marks == {(0, 1): "ab", (0, 2): "b"}
    assert turned.best == {(0, 1)}


def test_html_raises_marks_and_escapes_them() -> None:
    page = Text(to_html(replace(MARKED, marks={(0, 1): "<"})))
    assert page.cells[3:6] == ["x", "0.5<", "-0.25"]
    assert page.tags.count("sup") == 3  # room is kept in the head and the other row


# -- results and comparisons -------------------------------------------------------------------

X = (0.42, 0.10, 0.55, 0.31, 0.70, 0.25)
Y = (0.40, 0.12, 0.45, 0.22, 0.61, 0.25)
Z = tuple(v + 0.2 + t / 100 for t, v in enumerate(X))


def scores(*names: str) -> Results:
    rows = [
        (run, topic, "AP", value)
        for run, values in zip(names, (X, Y, Z), strict=True)
        for topic, value in [*((str(t), v) for t, v in enumerate(values)), ("all", sum(values) / 6)]
    ]
    return Results.from_tidy(rows, {})


@pytest.fixture
def letters() -> Comparison:
    return compare(scores("x", "y", "z"))


@pytest.fixture
def against() -> Comparison:
    return compare(scores("x_1", "y", "z"), baseline="z", tests="randomisation", correction="bh")


def test_means_with_letters(letters: Comparison) -> None:
    text = latex(*letters.tables(["means"]))
    assert r"x & 0.3883 & \textsuperscript{b} \\" in text
    assert r"z & \textbf{0.6133} & \textsuperscript{a} \\" in text
    assert (
        r"\caption{Means over 6 topics, best in bold. Runs that share a letter do not differ "
        "significantly: t test, two-sided, correction: holm, alpha 0.05.}"
    ) in text
    assert "| z | **0.6133**<sup>a</sup> |\n" in markdown(*letters.tables(["means"]))


def test_differences_from_a_baseline_are_marked(against: Comparison) -> None:
    text = markdown(*against.tables(["means"]))
    assert "| x\\_1 | 0.3883<sup>\N{MINUS SIGN}\\*</sup> |\n" in text
    assert "| z | **0.6133** |\n" in text
    assert text.endswith(
        "\nAgainst z: + better, - worse, = equal, \\* significant:\n\n"
        "randomisation test, two-sided, correction: bh, alpha 0.05.\n"
    )


def test_each_table_can_be_asked_for(letters: Comparison) -> None:
    text = latex(*letters.tables(("pairs", "summary")))
    assert re.findall(r"\\label\{(.*)\}", text) == ["tab:pairs-AP", "tab:pairs-that-differ"]
    assert r"$-$0.2250 & $-$0.2383" in text
    assert r"\textless{}0.0001 & \textsuperscript{*} & worse \\" in text


@pytest.mark.parametrize("baseline", [None, UGLY[3]])
def test_names_of_any_letters_break_no_row(baseline: str | None) -> None:
    found = compare(scores(*UGLY[2:]), baseline=baseline)
    text = latex(*found.tables(["means"]))
    rows = [line for line in text.splitlines() if line.endswith(r"\\")]
    names = [re.split(r"(?<!\\) & ", row)[0].removeprefix("{}") for row in rows]
    assert names == ["run", *map(escape_latex, UGLY[2:])]
    assert [len(re.findall(r"(?<!\\)&", row)) for row in rows[1:]] == [2, 2, 2]
    assert "\t" not in text


def test_the_title_counts_the_topics_of_means() -> None:
    def title(*rows: tuple[str, str, str, float | None]) -> str:
        return tabulate_scores(Results.from_tidy(rows, {}), titled=True).title

    one, two = ("a", "1", "AP", 0.5), ("a", "2", "AP", 0.5)
    assert title(one, two) == "Scores of one run, means over 2 topics"
    assert title(one, two, ("b", "1", "AP", 0.1)) == (
        "Scores of 2 runs, means over 1 to 2 topics, best in bold"
    )
    assert title(("a", "all", "AP", 0.5)) == "Scores of one run"


def test_the_command_line_writes_the_same(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], letters: Comparison
) -> None:
    saved = tmp_path / "saved.json"
    saved.write_text(scores("x", "y", "z").to_json())
    for form in ("latex", "markdown"):
        means = call(capsys, "compare", str(saved), "-f", form).out
        assert means == format_tables(letters.tables(["means"]), form)
        shown = call(capsys, "compare", str(saved), "-f", form, "--show", "pairs").out
        assert shown == format_tables(letters.tables(["pairs"]), form)


def test_correlations_raise_their_marks() -> None:
    rows = [
        (run, str(t), measure, value * factor)
        for measure, order in (("AP", "xyz"), ("AiP", "xyz"), ("P@5", "zyx"))
        for factor, run in enumerate(order, 1)
        for t, value in enumerate(X)
    ]
    (table,) = correlate(Results.from_tidy(rows, {})).tables()
    assert r"AiP & \textbf{1.000} & \textsuperscript{=} & & \\" in latex(table)
    assert "| P@5 | \N{MINUS SIGN}1.000<sup>!</sup> | \N{MINUS SIGN}1.000<sup>!</sup> |\n" in (
        markdown(table)
    )
    assert r"\label{tab:tau-b}" in latex(table)
    assert format_tables([table], "table").splitlines()[4:6] == [
        "AiP       1.000=",
        "P@5      -1.000!  -1.000!",
    ]
