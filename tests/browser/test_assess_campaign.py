"""A campaign from its making to the score of a run, as organiser and assessors go through it.

The commands are the real ones, the server is a process of its own that people sign in to with
passwords, and everybody has a browser of their own.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from contextlib import chdir, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import pytest

from assess.serving import Server, running
from browser.article import drag, points
from browsing import Complaints, needs_browser
from foveal.cli import main

pytestmark = needs_browser

PASSWORDS = {"olga": "one organiser", "ann": "first of two", "bob": "second of two"}
# Astral characters, CDATA and entities; no white space around elements, so that one can count.
DOCUMENTS = {
    # 7 characters of title, 33 of the first paragraph, 29 of the second.
    "ferries": '<!DOCTYPE article [<!ENTITY clef "&#x1D11E;">]><article><title>Ferries</title><sec>'
    "<p>The \U0001f6a2 is moved by the <i>push</i> of it.</p>"
    "<p><![CDATA[A <cable> &]]> a buoy &clef; hold it.</p></sec></article>",
    "bridges": "<article><title>Bridges</title><p>A bridge stands.</p></article>",  # 7 and 16
    "fords": "<article><title>Fords</title><p>One wades \U0001f600 through.</p></article>",  # 5, 20
}
FERRY, FORD = "The \U0001f6a2 is moved by the push of it.", "One wades \U0001f600 through."
ACROSS = "moved by the push of it.A <cable>"
"""What Ann highlights: it begins in one paragraph and ends in the next."""
FINAL = {"jsonl": "final.jsonl", "fol": "final.qrels", "inex2006": "final"}
"""The formats of the final judgements, and where they are written."""
RUN = (
    ("1", "ferries", "/article[1]/sec[1]/p[1]"),
    ("1", "bridges", "/article[1]"),
    ("1", "fords", "/article[1]"),
    ("2", "fords", "/article[1]/p[1]"),
)


# -- commands -------------------------------------------------------------------------------------


def foveal(folder: Path, *words: str) -> str:
    """What a command writes, called in a directory."""
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8") for _ in range(2))
    code: object = 0
    with chdir(folder), redirect_stdout(out), redirect_stderr(err):
        try:
            main(list(words))
        except SystemExit as ended:
            code = ended.code
    for stream in (out, err):
        stream.seek(0)
    assert code in (0, None), err.read()
    return out.read()


def write_lines(path: Path, *lines: dict[str, Any]) -> None:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")


def read_lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def result(number: int) -> dict[str, Any]:
    topic, doc, path = RUN[number]
    return {"topic": topic, "doc": doc, "rank": number + 1, "xpath": path}


@pytest.fixture(scope="module")
def campaign(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A campaign with an organiser and one assessor; nobody has a topic yet."""
    folder = tmp_path_factory.mktemp("campaign")
    (folder / "documents").mkdir()
    for name, text in DOCUMENTS.items():
        (folder / "documents" / f"{name}.xml").write_text(text, encoding="utf-8")
    head = {"type": "header", "format": "foveal-run", "version": 1, "run": "mine"}
    write_lines(folder / "run.jsonl", head, *map(result, range(len(RUN))))
    write_lines(
        folder / "topics.jsonl",
        {"topic": "1", "title": "crossings", "narrative": "What moves one across?"},
        {"topic": "2", "title": "wading"},
    )
    foveal(folder, "index", "documents", "-o", "index.fvx")
    foveal(folder, "pool", "run.jsonl", "-C", "index.fvx", "-o", "pool.jsonl")
    inputs = ("-C", "index.fvx", "--topics", "topics.jsonl", "--pool", "pool.jsonl")
    foveal(folder, "assess", "init", "my.fva", *inputs, "--documents", "documents")
    for name, role in (("olga", "organiser"), ("ann", "assessor")):
        (folder / "password").write_text(PASSWORDS[name] + "\n")
        secret = ("--role", role, "--password-file", "password")
        foveal(folder, "assess", "user", "my.fva", name, *secret)
    return folder / "my.fva"


@pytest.fixture(scope="module")
def server(campaign: Path) -> Iterator[Server]:
    with running(campaign) as started:
        yield started


# -- people ---------------------------------------------------------------------------------------


class Person:
    """Somebody at a browser, with a mouse and a keyboard."""

    def __init__(self, browser: Any, server: Server, name: str) -> None:
        self.name = name
        self.url = server.url
        self.context = browser.new_context(viewport={"width": 1280, "height": 900})
        self.context.set_default_timeout(20_000)
        self.page = self.context.new_page()
        self.said = Complaints()
        self.page.on("pageerror", lambda error: self.said.append(str(error)))
        self.page.on("console", lambda message: self.said.hear(message.text))

    def sign_in(self) -> Person:
        self.page.goto(self.url)
        self.page.get_by_label("Name").fill(self.name)
        self.page.get_by_label("Password").fill(PASSWORDS[self.name])
        self.page.keyboard.press("Enter")
        self.page.get_by_role("heading", name="Your topics").wait_for()
        return self

    def go(self, path: str) -> Person:
        self.page.goto(f"{self.url}{path}")
        return self

    def press(self, *keys: str) -> Person:
        for key in keys:
            self.page.keyboard.press(key)
        return self

    def opened(self, doc: str) -> Person:
        """Wait until the article page of a document can be used."""
        self.page.wait_for_url(f"**/documents/{doc}*")
        self.page.locator("body[data-ready=yes]").wait_for()
        return self

    def saved(self, state: str) -> Person:
        """Wait until the server has acknowledged everything, and the page says so."""
        self.page.locator("#state", has_text=state).wait_for()
        self.page.locator("#save", has_text="✓ saved").wait_for()
        return self

    def told(self, words: str) -> Person:
        """Wait until a page other than an article's says how it went."""
        self.page.locator("#said", has_text=words).wait_for()
        return self

    def drag(self, words: str) -> Person:
        drag(self.page, words)
        return self

    def click(self, words: str) -> Person:
        left, top, *_ = points(self.page, words)
        self.page.mouse.click(left, top)
        return self

    def rows(self, table: str) -> list[list[str]]:
        """The cells of a table, as they are read."""
        return self.page.evaluate(
            """table => [...document.querySelectorAll(`${table} tbody tr`)].map(row =>
              [...row.cells].map(cell => cell.innerText.replace(/\\s+/g, " ").trim()))""",
            table,
        )


@pytest.fixture
def people(server: Server, browser: Any) -> Iterator[Any]:
    made: list[Person] = []

    def person(name: str) -> Person:
        made.append(Person(browser, server, name))
        return made[-1]

    yield person
    assert [said for one in made for said in one.said] == []


# -- what they do ---------------------------------------------------------------------------------


def organise(olga: Person) -> None:
    """Add the second assessor, and give topic 1 to both and topic 2 to Ann."""
    page = olga.go("/").press("o").page
    page.wait_for_url("**/organise")
    olga.press("u")
    page.wait_for_url("**/organise/people")
    olga.press("u")
    page.keyboard.type("bob")
    page.locator("#user-password").fill(PASSWORDS["bob"])
    page.get_by_role("button", name="Save").click()
    page.locator("#users th", has_text="bob").wait_for()
    assert [row[:2] for row in olga.rows("#users")] == [
        ["ann", "assessor"],
        ["bob", "assessor"],
        ["olga", "organiser"],
    ]
    # With the mouse, and from there with keys.
    olga.press("2").page.wait_for_url("**/organise")
    page.get_by_label("ann judges topic 1").check()
    olga.told("✓ Topic 1 is assigned to ann").press("ArrowRight", "Space")
    olga.told("✓ Topic 1 is assigned to bob").press("ArrowDown", "ArrowLeft", "Space")
    olga.told("✓ Topic 2 is assigned to ann")


def judge_by_mouse(ann: Person) -> None:
    """Ann has two topics; in one she marks a passage that crosses elements."""
    assert [row[:2] for row in ann.go("/").rows("#topics")] == [["1", "crossings"], ["2", "wading"]]
    ann.go("/topics/1").page.get_by_role("link", name="Ferries", exact=True).click()
    ann.opened("ferries").drag(ACROSS)
    ann.page.locator("[data-do=highlight]").click()
    ann.saved("1 passage, 48% · no entry point")
    ann.page.get_by_role("button", name="Entry point").click()
    ann.click("moved").saved("entry point set · not validated")
    ann.page.get_by_role("button", name="Validate").click()
    ann.saved("✓ validated")


def judge_by_keys(person: Person) -> None:
    """On to the second document, where nothing is relevant, and to the third, where much is."""
    person.press("3").opened("bridges").press("f").saved("nothing highlighted · ✓ validated")
    person.press("3").opened("fords")
    mark_paragraph(person)


def mark_paragraph(person: Person) -> None:
    """The paragraph after the title, with the entry point at its beginning, by keys alone."""
    there = ("ArrowRight", *["Control+ArrowUp"] * 4, "Control+ArrowDown")
    person.press(*there, "g", "h").saved("1 passage")
    person.press(*there, "b", "Enter").saved("entry point set").press("f").saved("✓ validated")


def adjudicate(olga: Person) -> None:
    """What all agree on is taken over; of Ferries the union of both is final."""
    page = olga.go("/organise/adjudicate").page
    found = {row[1].split()[0]: row for row in olga.rows("#documents")}
    assert list(found) == ["Ferries", "Bridges", "Fords"]
    # 24 characters of both, 33 of each: 2 * 24 / 66.
    assert found["Ferries"][2:] == ["ann, bob", "text, entry point", "0.727", "open"]
    assert found["Fords"][3:5] == ["nothing", "1.000"]
    with page.expect_navigation():
        page.get_by_role("button", name="Take over 3 on which all agree").click()
    olga.press("Enter").opened("ferries")
    assert page.locator("#role").inner_text() == "final assessment"
    olga.press("a", "u").saved("1 passage, 61% · entry point set · not validated")
    olga.press("f").saved("✓ validated").press("2")
    page.get_by_text("Nothing is open").wait_for()
    assert [row[5] for row in olga.rows("#documents")] == ["relevant", "not relevant", "relevant"]


def agreement_shown(olga: Person) -> dict[str, str]:
    """The figures of the only pair, by the names above them."""
    olga.go("/organise/agreement")
    head = olga.page.locator("table").first.locator("thead th").all_inner_texts()
    (row,) = olga.rows("table:first-of-type")[:1]
    assert row[:2] == ["ann - bob", "pooled"]
    return dict(zip(head[1:], row[1:], strict=True))


# -- the whole way --------------------------------------------------------------------------------


def test_from_init_to_the_score_of_a_run(people: Any, server: Server) -> None:
    folder = server.campaign.parent
    olga, ann = people("olga").sign_in(), people("ann").sign_in()
    ann.page.get_by_text("No topic is assigned to you yet").wait_for()
    organise(olga)
    bob = people("bob").sign_in()
    assert [row[0] for row in bob.rows("#topics")] == ["1"]

    judge_by_mouse(ann)
    judge_by_keys(ann)
    ann.go("/topics/2/documents/fords").opened("fords")
    mark_paragraph(ann)
    bob.press("Enter").page.wait_for_url("**/topics/1")
    bob.press("Enter").opened("ferries")
    mark_paragraph(bob)
    judge_by_keys(bob)
    assert bob.context.request.get(f"{server.url}/topics/2").status == 403

    olga.go("/organise")
    labels = olga.page.locator("#progress progress").evaluate_all(
        "bars => bars.map(bar => [bar.ariaLabel, bar.value, bar.max])"
    )
    assert labels == [
        ["Validated of topic 1 by ann", 3, 3],
        ["Validated of topic 1 by bob", 3, 3],
        ["Validated of topic 2 by ann", 1, 1],
    ]
    # The first cells may span rows; seen, relevant and time are the last.
    assert [row[-3:-1] for row in olga.rows("#progress")] == [["3", "2"], ["3", "2"], ["1", "1"]]

    foveal(folder, "assess", "export", "my.fva", "-o", "both.jsonl")
    assert_both(folder)
    figures = json.loads(foveal(folder, "agree", "-j", "both.jsonl", "-f", "json"))
    assert_agreement(agreement_shown(olga), figures)

    adjudicate(olga)
    for form, out in FINAL.items():
        foveal(folder, "assess", "export", "my.fva", "--final", "--to", form, "-o", out)
    spans = {
        (line["topic"], line["doc"]): [(one["start"], one["end"]) for one in line["spans"]]
        for line in read_lines(folder / "final.jsonl")[1:]
    }
    assert spans == {
        ("1", "ferries"): [(7, 49)],
        ("1", "bridges"): [],
        ("1", "fords"): [(5, 25)],
        ("2", "fords"): [(5, 25)],
    }
    for out in FINAL.values():
        assert_scores(folder, out)


def assert_both(folder: Path) -> None:
    """What was exported of each assessor is the text that they selected, and where they entered."""
    found = {
        (line["assessor"], line["topic"], line["doc"]): (
            [one["quote"] for one in line["spans"]],
            [(one["start"], one["end"]) for one in line["spans"]],
            line.get("bep"),
        )
        for line in read_lines(folder / "both.jsonl")[1:]
    }
    fords = ([FORD], [(5, 25)], 5)
    assert found == {
        ("ann", "1", "ferries"): ([ACROSS], [(16, 49)], 16),
        ("bob", "1", "ferries"): ([FERRY], [(7, 40)], 7),
        ("ann", "1", "bridges"): ([], [], None),
        ("bob", "1", "bridges"): ([], [], None),
        ("ann", "1", "fords"): fords,
        ("bob", "1", "fords"): fords,
        ("ann", "2", "fords"): fords,
    }


def assert_agreement(shown: dict[str, str], figures: dict[str, Any]) -> None:
    """The page shows what `foveal agree` finds in the export, and that is right."""
    (row,) = (
        row for row in figures["rows"] if row["over"] == "pooled" and row["first"] is not None
    )
    names = {"kappa": "kappa", "f1": "F1", "alpha": "alpha", "doc_kappa": "doc kappa"}
    assert {names[name]: f"{row[name]:.4f}" for name in names}.items() <= shown.items()
    assert shown["docs"] == str(row["documents"]) == "3"
    # 24 characters of Ferries and 20 of Fords are of both, of 33 and 20 of each.
    assert shown["F1"] == f"{2 * 44 / 106:.4f}"
    # Of 117 characters both highlight 44 and neither 55; each has 53 of them.
    observed, chance = 99 / 117, (53**2 + 64**2) / 117**2
    assert shown["kappa"] == f"{(observed - chance) / (1 - chance):.4f}"
    assert shown["doc kappa"] == "1.0000"
    assert row["bep_median"] == 4.5  # 9 in Ferries, 0 in Fords


def assert_scores(folder: Path, judgements: str) -> None:
    """Topic 1 has 62 relevant characters; the run finds 33 of 33, 0 of 23 and 20 of 25.

    Precision is 1 up to a recall of 33/62, and 53/81 from there up to 53/62. Of topic 2 the run
    finds just the relevant text.
    """
    measures = ("-m", "AiP", "-m", "iP@0.01", "-q", "-f", "json")
    inputs = ("run.jsonl", "-j", judgements, "-C", "index.fvx")
    told = json.loads(foveal(folder, "evaluate", *inputs, *measures))
    scores = {(one["measure"], one["topic"]): one["value"] for one in told["results"]}
    first = (54 * 1 + 32 * 53 / 81) / 101
    assert scores == pytest.approx(
        {
            ("AiP", "1"): first,
            ("AiP", "2"): 1.0,
            ("AiP", "all"): (first + 1) / 2,
            ("iP@0.01", "1"): 1.0,
            ("iP@0.01", "2"): 1.0,
            ("iP@0.01", "all"): 1.0,
        }
    )
    assert first == pytest.approx(0.741963)
