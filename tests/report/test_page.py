"""The report page: numbers as evaluated, one file that needs nothing else, answers in words."""

from __future__ import annotations

import json
import re
import shlex
import zlib
from base64 import b64decode, b64encode
from hashlib import sha256
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import foveal
from command import RUN, assert_refused, call, write_toy
from foveal.collection import SourceTexts, build_index
from foveal.errors import InputError
from foveal.measures.alignment import Gold
from foveal.model import Judgements, Results, Run
from foveal.report.drawing import PALETTE
from foveal.report.page import _SCRIPTS, LARGEST, report_page
from foveal.report.page.data import answer, pack, scaled
from foveal.report.page.document_views import document_views

ROOT = Path(__file__).resolve().parents[2]
CAMPAIGN = ROOT / "examples" / "crossings"
RUNS = [str(CAMPAIGN / "runs" / name) for name in ("articles.jsonl", "focused.jsonl", "strict.xml")]
JUDGED = str(CAMPAIGN / "judgements.jsonl")


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("page") / "crossings.fvx"
    build_index(CAMPAIGN / "documents", path)
    return str(path)


@pytest.fixture(scope="module")
def page(index: str) -> Any:
    return report_page(
        RUNS,
        JUDGED,
        ["charP", "num_rel_ret"],
        task="2009.Focused",
        collection=index,
        documents=str(CAMPAIGN / "documents"),
        by="AiP",
        overlap="drop",
        topics_file=str(CAMPAIGN / "topics.jsonl"),
    )


def arguments(index: str) -> list[str]:
    return [*RUNS, "-j", JUDGED, "-C", index, "--overlap", "drop"]


class Reader(HTMLParser):
    """Rows of the table of scores, scripts, and all attributes."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.rows: list[list[str]] = []
        self.content: dict[str, list[str]] = {"script": [], "style": [], "pre": []}
        self.attributes: list[tuple[str, str, str | None]] = []
        self._open: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.attributes += [(tag, name, value) for name, value in attrs]
        if tag in ("meta", "input", "wbr"):
            return
        self._open.append(tag)
        if tag == "tr":
            self.rows.append([])
        if tag in ("th", "td"):
            self.rows[-1].append("")
        if tag in self.content:
            self.content[tag].append("")

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        tag = self._open[-1] if self._open else ""
        if tag in self.content:
            self.content[tag][-1] += data
        elif {"th", "td"} & set(self._open) and not {"sup", "small"} & set(self._open):
            self.rows[-1][-1] += data


def unpack(packed: list[Any]) -> list[float | None]:
    """Numbers in ten-thousandths, as the page reads them."""
    low, size, text = packed
    codes = np.frombuffer(b64decode(text), "<f8" if size == 8 else f"<u{size}").tolist()
    return [int(code) + low - 1 if code else None for code in codes]


def values_of(data: dict[str, Any], label: str) -> list[list[float | None]]:
    """Scores on topics of each run."""
    (found,) = (unpack(own["values"]) for own in data["measures"] if own["label"] == label)
    n = len(data["topics"]["id"])
    return [found[i : i + n] for i in range(0, len(found), n)]


# -- numbers -------------------------------------------------------------------------------------


def test_the_table_holds_what_evaluate_prints(
    page: Any, index: str, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = ("-t", "2009.Focused", "-m", "charP", "-m", "num_rel_ret", "-f", "markdown")
    printed = call(capsys, "evaluate", *arguments(index), *asked).out.splitlines()[2:]
    cells = [[c.strip(" *").replace("\\", "") for c in line.split("|")[1:-1]] for line in printed]
    assert Reader(page.html).rows[:4] == [cells[0], *cells[2:]]


def test_scores_on_topics_are_those_that_evaluate_prints(
    page: Any, index: str, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = ("-m", "AiP", "-m", "num_rel_ret", "-q", "-f", "markdown")
    printed = call(capsys, "evaluate", *arguments(index), *asked).out.splitlines()
    rows = [[c.strip(" *") for c in line.split("|")[1:-1]] for line in printed[4:]]
    data = page.data
    aip, count = values_of(data, "AiP"), values_of(data, "num_rel_ret")
    topics = data["topics"]["id"]
    for run, topic, precision, number in (row for row in rows if row[1] != "all"):
        i, t = data["runs"].index(run), topics.index(topic)
        assert f"{aip[i][t] / 1e4:.4f}" == precision
        assert count[i][t] == 10_000 * int(number)


def test_points_of_curves_are_scores(page: Any, index: str) -> None:
    (curve, effort) = page.data["curves"]
    scores = foveal.evaluate(RUNS, JUDGED, "iP@curve", collection=index, overlap="drop")
    assert curve["x"] == [float(label.partition("@")[2]) for label in scores.measures]
    for line, run in zip(curve["lines"], scores.runs, strict=True):
        assert line["name"] == run
        assert unpack(line["y"]) == [scaled(scores[run, label]) for label in scores.measures]
    assert effort["kind"] == "effort"


def test_the_graph_of_gains_has_the_ideal_list_beside_the_runs() -> None:
    made = report_page(RUNS[1:2], str(CAMPAIGN / "assessments"), ["MAep(quant=gen5)"])
    (ep, gain) = made.data["curves"]
    assert (ep["kind"], gain["kind"]) == ("ep", "gain")
    (own, ideal) = (line for line in gain["lines"] if line["mark"] == "line")
    assert ideal["name"] == "ideal"
    drawn, best = unpack(own["y"]), unpack(ideal["y"])
    assert all(ours <= most for ours, most in zip(drawn, best, strict=True))
    assert drawn[0] == 0 < drawn[-1]


def test_letters_intervals_p_values_and_effects_are_those_of_compare(
    page: Any, index: str, capsys: pytest.CaptureFixture[str]
) -> None:
    done = call(capsys, "compare", *arguments(index), "-m", "AiP", "-f", "json")
    expected, data = json.loads(done.out), page.data
    (own,) = (measure for measure in data["measures"] if measure["label"] == "AiP")
    for row in expected["runs"]:
        i = data["runs"].index(row["run"])
        assert own["letters"][i] == row["letters"]
        assert own["limits"][i] == [scaled(row["low"]), scaled(row["high"])]
        assert own["means"][i] == row["mean"]
    assert unpack(own["p"]) == [scaled(row["p_corrected"]) for row in expected["pairs"]]
    assert unpack(own["effect"]) == [scaled(row["effect"]) for row in expected["pairs"]]


def test_more_runs_than_letters_tell_apart_have_the_ranks_of_compare() -> None:
    runs = [
        Run.from_results({str(t): [("D", 0, 50 + i * t)] for t in range(1, 9)}, name=f"r{i}")
        for i in range(9)
    ]
    truth = Judgements.from_highlights(
        {str(t): {"D": {"spans": [(0, 60)], "length": 1000}} for t in range(1, 9)}
    )
    (own,) = report_page(runs, truth, ["charP"]).data["measures"]
    assert "letters" not in own
    found = foveal.compare(foveal.evaluate(runs, truth, ["charP"]))["charP"].runs
    assert own["ranks"] == [list(row) for row in found.select("rank_low", "rank_high").rows()]


def test_runs_of_different_topics_are_compared_on_those_they_share() -> None:
    """A mean stands beside its own interval; the sentence has the means that were tested."""
    ends = {
        "early": {t: 100 if t < 6 else 980 + t for t in range(1, 11)},
        "late": {t: 900 - 10 * t for t in range(6, 11)},
        "even": {t: 700 if t < 6 else 300 for t in range(1, 11)},
    }
    runs = [
        Run.from_results({str(t): [("D", 0, end)] for t, end in of.items()}, name=name)
        for name, of in ends.items()
    ]
    truth = Judgements.from_highlights(
        {str(t): {"D": {"spans": [(0, 100)], "length": 1000}} for t in range(1, 11)}
    )
    data = report_page(runs, truth, ["charP"], topics="run").data
    for (cell,), (low, high) in zip(data["cells"], data["measures"][0]["limits"], strict=True):
        assert low <= 10_000 * float(cell) <= high
    shared = foveal.evaluate(runs, truth, ["charP"], topics="both")
    assert data["answers"][0]["text"] == (
        f"By charP, over 5 topics, even ({shared['even', 'charP']:.4f}) is best, and "
        f"significantly better than the next, late ({shared['late', 'charP']:.4f}); p < 0.0001."
    )


def test_profiles_are_those_of_the_runs_as_they_are(page: Any, index: str) -> None:
    names = page.data["overlap"]
    scores = foveal.evaluate(RUNS, JUDGED, [*names, "ret_size"], collection=index, overlap="allow")
    for run, profile in zip(scores.runs, page.data["profiles"], strict=True):
        assert profile["overlap"] == [scaled(scores[run, name]) for name in names]
        assert sum(profile["histogram"]) == profile["results"]
        mean = scores[run, "ret_size"] / profile["results"]
        assert profile["length"][0] == pytest.approx(mean, abs=0.06)
    topics = len(page.data["topics"]["id"])
    characters = unpack(page.data["amount"])
    for i, run in enumerate(scores.runs):
        assert sum(characters[i * topics : (i + 1) * topics]) == scores[run, "ret_size"]


@given(st.floats(-2, 2, allow_nan=False) | st.sampled_from([0.03125, 0.09375, 1.0, -0.0]))
@settings(max_examples=60)
def test_a_scaled_score_is_shown_as_it_is_printed(value: float) -> None:
    assert float(f"{scaled(value) / 1e4:.4f}") == float(f"{value:.4f}")


@given(st.lists(st.floats(-1e6, 1e6) | st.sampled_from([float("nan"), float("inf")])))
@settings(max_examples=60)
def test_packed_numbers_are_those_packed(values: list[float]) -> None:
    assert unpack(pack(values)) == [scaled(value) for value in values]


def test_scores_on_topics_are_left_out_where_they_would_fill_the_page(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("foveal.report.page.data._VALUES", 8)
    run = Run.from_results({str(t): [("D", 0, 9)] for t in range(4)}, name="mine")
    truth = Judgements.from_highlights(
        {str(t): {"D": {"spans": [(0, 9)], "length": 20}} for t in range(4)}
    )
    data = report_page([run], truth, ["charP", "charR", "AiP"]).data
    assert [own["values"] is not None for own in data["measures"]] == [True, True, False]


# -- the answer ----------------------------------------------------------------------------------


def told(scores: dict[str, list[float]], measure: str = "AP") -> dict[str, Any]:
    """The answer by scores of runs on topics 0, 1, ..."""
    rows = [
        (run, topic, measure, value)
        for run, values in scores.items()
        for topic, value in [
            *((str(t), value) for t, value in enumerate(values)),
            ("all", sum(values) / len(values)),
        ]
    ]
    results = Results.from_tidy(rows, {})
    found = None
    if len(scores) > 1 and len(next(iter(scores.values()))) > 1:
        found = foveal.compare(results)[measure]
    return answer(results, found, measure)


HIGH, LOW = [0.8, 0.7, 0.9, 0.75, 0.85, 0.8], [0.2, 0.15, 0.3, 0.2, 0.2, 0.25]


def test_a_clear_winner_is_sure() -> None:
    assert told({"low": LOW, "high": HIGH}) == {
        "measure": "AP",
        "sure": "yes",
        "text": "By AP, over 6 topics, high (0.8000) is best, and significantly better than the "
        "next, low (0.2167); p < 0.0001.",
    }


def test_where_less_is_better_the_least_wins() -> None:
    said = told({"low": LOW, "high": HIGH}, "T2Ieffort@3")
    assert said["sure"] == "yes"
    assert "low (0.2167) is best" in said["text"]


def test_a_close_race_is_not_sure() -> None:
    near = [value + (-1) ** t * 0.05 for t, value in enumerate(HIGH)]
    said = told({"a": HIGH, "b": near, "c": near[::-1], "d": LOW})
    assert said["sure"] == "no"
    assert "is best, but not significantly better than the next" in said["text"]


def test_one_topic_cannot_be_tested() -> None:
    said = told({"a": [0.2], "b": [0.3]})
    assert said["sure"] == "unknown"
    assert said["text"] == (
        "By AP, over 1 topic, b (0.3000) is best, before a (0.2000); too few topics to test the "
        "difference."
    )


def test_counts_rank_nothing() -> None:
    assert told({"a": [1.0, 2.0]}, "num_ret")["text"] == "num_ret does not rank runs."


def test_the_answer_is_by_the_measure_asked_for(page: Any) -> None:
    assert page.data["answers"][page.data["by"]]["measure"] == "AiP"
    assert page.data["answers"][page.data["by"]]["text"] in page.html


# -- documents -----------------------------------------------------------------------------------


def test_views_of_documents_hold_passages_results_and_text(page: Any, index: str) -> None:
    truth = foveal.read_judgements(JUDGED).combined()
    frame = foveal.read_run(RUNS[1]).to_frame()
    documents = page.data["documents"]
    seen = 0
    for view in (view for view in documents["views"] if view["relevant"]):
        (row,) = (
            i
            for i in range(len(truth))
            if truth.doc[i] == view["doc"] and truth.topics[truth.topic[i]] == view["topic"]
        )
        assert view["spans"] == [list(span) for span in truth.passages(row)]
        assert view["bep"] == truth.bep[row]
        text = documents["texts"][view["doc"]]
        assert text["parts"] == [0, truth.length[row]]
        assert len(text["text"]) == text["length"] == truth.length[row]
        chosen = frame.filter(topic=view["topic"], doc=view["doc"])
        own = chosen.select("rank", "start", "end").rows()
        ours = [tuple(result[1:]) for result in view["results"] if result[0] == 1]
        assert ours == own[:10]
        seen += len(ours)
    assert seen > 50
    assert documents["left_out"] == 0


def highlights(topics: int, documents: int) -> Judgements:
    return Judgements.from_highlights(
        {
            f"{t}": {f"D{d}": {"spans": [(0, 5)], "length": 40} for d in range(documents)}
            for t in range(topics)
        }
    )


NOTHING = pl.DataFrame(
    schema={"doc": pl.String} | dict.fromkeys(("topic", "row", "rank", "start", "end"), pl.Int32)
)
"""Results of a run that returned nothing."""


def show(
    truth: Judgements, texts: Path | None = None, *, budget: int = 10**6, **options: Any
) -> tuple[dict[str, Any], str]:
    """The documents of a page without any result."""
    source = None if texts is None else SourceTexts(texts)
    return document_views(Gold(truth.combined()), [NOTHING], source, budget=budget, **options)


def test_every_topic_gets_a_document_before_one_gets_two() -> None:
    truth = highlights(6, 4)
    _, whole = show(truth)
    for budget in range(200, len(whole), 20):
        views, packed = show(truth, budget=budget)
        sizes = [sum(view["topic"] == str(t) for view in views["views"]) for t in range(6)]
        assert max(sizes) - min(sizes) <= 1
        assert len(packed) <= budget
        assert views["left_out"] == 24 - sum(sizes)
    assert show(truth)[0]["left_out"] == 0


def test_documents_that_were_not_indexed_are_refused(tmp_path: Path) -> None:
    (tmp_path / "D0.xml").write_text("<a>other</a>")
    with pytest.raises(InputError, match="'D0' has another length"):
        show(highlights(1, 1), tmp_path)


WORDS = "".join(f"<p>Paragraph {i} says {'something ' * (i % 7)}.</p>" for i in range(4000))


def test_of_a_long_text_a_page_holds_the_parts_around_what_is_relevant(tmp_path: Path) -> None:
    (tmp_path / "D.xml").write_text(f"<a>{WORDS}</a>")
    (text,) = (own.text for own in SourceTexts(tmp_path).read(["D"]))
    spans = [(50_000, 50_090), (90_000, 99_000)]
    truth = Judgements.from_highlights({"1": {"D": {"spans": spans, "length": len(text)}}})
    own = show(truth, tmp_path)[0]["texts"]["D"]
    parts = list(zip(own["parts"][::2], own["parts"][1::2], strict=True))
    assert "".join(text[start:end] for start, end in parts) == own["text"]
    assert len(own["text"]) < 6000 < own["length"] == len(text)
    assert any(start < 50_000 - 300 and end > 50_090 + 300 for start, end in parts)
    assert all(text[start - 1] == " " for start, _ in parts)
    # The passage of 9,000 characters is shown by its beginning and its end.
    assert [any(start <= at < end for start, end in parts) for at in (90_500, 95_000, 98_900)] == [
        True,
        False,
        True,
    ]
    # Every element has the text it has in the document, as far as that is shown.
    structure = own["structure"]
    assert structure["parent"][0] == -1
    paragraphs = [
        own["text"][start:end]
        for start, end, tag in zip(*(structure[n] for n in ("start", "end", "tag")), strict=True)
        if structure["tags"][tag] == "p"
    ]
    assert len(paragraphs) > 50
    assert sum(words.startswith("Paragraph ") for words in paragraphs) >= len(paragraphs) - 3


def test_texts_are_cut_shorter_before_a_document_is_left_out(tmp_path: Path) -> None:
    (tmp_path / "D.xml").write_text(f"<a>{WORDS}</a>")
    (text,) = (own.text for own in SourceTexts(tmp_path).read(["D"]))
    highlighted = {
        str(t): {"D": {"spans": [(9000 * t, 9000 * t + 200)], "length": len(text)}}
        for t in range(8)
    }
    truth = Judgements.from_highlights(highlighted)
    shown, packed = show(truth, tmp_path)
    shorter, tight = show(truth, tmp_path, budget=len(packed) * 2 // 3)
    assert len(tight) <= len(packed) * 2 // 3
    assert (len(shorter["views"]), shorter["left_out"]) == (8, 0)
    assert len(shorter["texts"]["D"]["text"]) < len(shown["texts"]["D"]["text"])


def test_a_full_campaign_stays_small(page: Any) -> None:
    assert len(page.html.encode()) < LARGEST
    runs, topics = 50, 114
    results = {str(t): [(f"D{d}", 0, 20) for d in range(8)] for t in range(topics)}
    many = [Run.from_results(results, name=f"run{i:02}") for i in range(runs)]
    made = report_page(many, highlights(topics, 12), ["charP", "charR", "AP", "P@5"])
    assert len(made.html.encode()) < LARGEST
    views = made.data["documents"]["views"]
    assert {view["topic"] for view in views} == set(map(str, range(topics)))


# -- one file, and a safe one --------------------------------------------------------------------


def test_nothing_is_fetched_and_only_the_page_s_own_script_runs(page: Any) -> None:
    read = Reader(page.html)
    assert not [a for a in read.attributes if a[1] in ("src", "srcset", "style", "onclick")]
    assert all(value.startswith("#") for _, name, value in read.attributes if name == "href")
    (policy,) = (v for tag, name, v in read.attributes if tag == "meta" and "default-src" in v)
    assert policy.startswith("default-src 'none'; ")
    for text, kind in ((read.content["script"][2], "script"), (read.content["style"][0], "style")):
        digest = b64encode(sha256(text.encode()).digest()).decode()
        assert f"{kind}-src 'sha256-{digest}'" in policy
    assert len(read.content["script"]) == 3


def test_the_data_in_the_page_are_the_data(page: Any) -> None:
    plain, packed, _ = Reader(page.html).content["script"]
    assert {**json.loads(plain), "documents": page.data["documents"]} == page.data
    assert json.loads(zlib.decompress(b64decode(packed))) == page.data["documents"]


def test_runs_have_the_colours_of_pictures() -> None:
    style = (ROOT / "src" / "foveal" / "report" / "page" / "style.css").read_text()
    light = dict(re.findall(r"--c(\d): (#\w{6})", style.partition("@media")[0]))
    assert tuple(light[str(i)] for i in range(len(PALETTE))) == PALETTE


@given(st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=12))
@settings(max_examples=20)
def test_names_bring_no_markup(name: str) -> None:
    for called in (name, f"</script><script>{name}", f"<!--<script>{name}", f'"><b>{name}&amp;'):
        run = Run.from_results({"1": [("<i>", 0, 5)]}, name=called)
        truth = Judgements.from_highlights({"1": {"<i>": {"spans": [(0, 5)], "length": 9}}})
        made = report_page([run], truth, ["AiP"], command=called)
        read = Reader(made.html)
        assert len(read.content["script"]) == 3
        assert json.loads(read.content["script"][0])["runs"] == [called]
        assert read.rows[1][0] == called
        assert read.content["pre"] == [called]


def test_the_same_input_gives_the_same_bytes(index: str) -> None:
    first, second = (
        report_page(RUNS, JUDGED, ["AiP"], collection=index, overlap="drop").html for _ in "12"
    )
    assert first == second


# -- the command ---------------------------------------------------------------------------------


def test_the_command_in_the_page_makes_the_same_page(
    tmp_path: Path, index: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    asked = ("-m", "AiP", "-m", "gP(beta=0.25)@5", "--regroup", "--only-topics", "2, 3 7")
    done = call(capsys, "report", *arguments(index), *asked, "-o", "a page.html")
    assert (done.code, done.out) == (0, "")
    written = Path("a page.html").read_text(encoding="utf-8")
    (command,) = Reader(written).content["pre"]
    words = shlex.split(command)
    assert words[:2] == ["foveal", "report"]
    assert words[words.index("--only-topics") + 1] == "2, 3 7"
    Path("a page.html").unlink()
    assert call(capsys, *words[1:]).code == 0
    assert Path("a page.html").read_text(encoding="utf-8") == written


def test_a_page_on_standard_output(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(write_toy(tmp_path))
    done = call(capsys, "report", "run", "-j", "qrels", "-m", "AiP")
    assert done.code == 0
    assert done.out.startswith("<!DOCTYPE html>")
    assert "mine (" in Reader(done.out).content["script"][0]


def test_a_directory_of_runs_and_files_that_share_a_name(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(write_toy(tmp_path))
    (tmp_path / "runs").mkdir()
    for name in ("a.run", "b.run"):
        (tmp_path / "runs" / name).write_text(RUN)
    done = call(capsys, "report", "runs", "-j", "qrels", "-m", "AiP")
    assert json.loads(Reader(done.out).content["script"][0])["runs"] == ["a", "b"]


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("run", "-j", "qrels", "-m", "iP@curve"), "foveal: only curves are asked for"),
        (("run", "-j", "qrels", "-m", "AiP", "--by", "AP"), "foveal: no measure 'AP' in the res"),
        (("run", "-j", "qrels", "-m", "num_ret", "--by", "num_ret"), "foveal: num_ret counts"),
        (("run", "-j", "qrels", "-m", "AiP", "-t", "2009.Focused", "-t", "2008.Focused"), "foveal"),
        (("run", "-j", "qrels", "-m", "AiP", "--assessors", "each"), "foveal: with assessors"),
        (("run", "-j", "qrels", "-m", "AiP", "--documents", "none"), "none: no such file"),
        (("nothing", "-j", "qrels", "-m", "AiP"), "nothing: "),
        (("-", "-j", "-", "-m", "AiP"), "foveal: standard input can be read only once"),
    ],
)
def test_what_is_refused(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    args: tuple[str, ...],
    message: str,
) -> None:
    monkeypatch.chdir(write_toy(tmp_path))
    assert_refused(call(capsys, "report", *args, "-o", "out"), message)


def test_judgements_must_be_given(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(write_toy(tmp_path))
    done = call(capsys, "report", "run", "-m", "AiP")
    assert done.code == 2
    assert "Missing option '-j'" in done.err


# -- ugly inputs ---------------------------------------------------------------------------------


def test_whole_documents_judged_without_text(tmp_path: Path) -> None:
    (tmp_path / "qrels").write_text("1 0 D1 1\n1 0 D2 0\n")
    (tmp_path / "run").write_text("1 Q0 D1 1 2.0 mine\n1 Q0 D3 2 1.0 mine\n")
    data = report_page([tmp_path / "run"], tmp_path / "qrels", ["P@2", "judged@2"]).data
    assert data["cells"] == [["0.5000", "0.5000"]]
    assert data["profiles"][0]["unjudged"] == 5000
    assert unpack(data["unjudged"]) == [5000]
    assert [view["relevant"] for view in data["documents"]["views"]] == [True, False]


def test_results_that_nothing_places_have_no_length(tmp_path: Path) -> None:
    path = tmp_path / "elements.jsonl"
    path.write_text('{"topic": "1", "doc": "D1", "xpath": "/a[1]/p[2]", "score": 1}\n')
    truth = Judgements.from_highlights({"1": {"D1": {"spans": [(0, 5)], "length": 9}}})
    data = report_page([path], truth, ["P@5"]).data
    (profile,) = data["profiles"]
    assert (profile["length"], profile["overlap"]) == (None, None)
    assert unpack(data["amount"]) == [None]
    assert data["documents"]["views"][0]["results"] == [[0, 1, -1, -1]]


def test_runs_that_all_give_tokens_are_compared_in_tokens() -> None:
    truth = Judgements.from_highlights({"1": {"D1": {"spans": [(0, 5)], "length": 90}}})
    rows = {"topic": ["1", "1"], "doc": ["D1", "D1"], "start": [0, 20], "end": [9, 40]}
    plain = pl.DataFrame(rows)
    counted = Run.from_frame(plain.with_columns(tokens=pl.Series([3, 4])), name="counted")
    data = report_page([counted], truth, ["charP"]).data
    assert (data["unit"], unpack(data["amount"])) == ("tokens", [7])
    data = report_page([counted, Run.from_frame(plain, name="plain")], truth, ["charP"]).data
    assert (data["unit"], unpack(data["amount"])) == ("characters", [29, 29])


def test_a_topic_with_nothing_relevant_is_undefined_and_shown() -> None:
    truth = Judgements.from_highlights(
        {"1": {"D": {"spans": [(0, 5)], "length": 9}}, "2": {"D": {"spans": [], "length": 9}}}
    )
    run = Run.from_results({"1": [("D", 0, 5)], "2": [("D", 0, 5)]}, name="mine")
    data = report_page([run], truth, ["AiP"]).data
    assert values_of(data, "AiP") == [[10_000, None]]
    assert any("nothing relevant" in line for line in data["warnings"])
    assert [view["topic"] for view in data["documents"]["views"]] == ["1", "2"]


@pytest.mark.parametrize(
    ("texts", "labels"),
    [
        (["iP@0.01", "iP@curve"], ["iP@0.01"]),
        (["iP@curve", "AiP", "AiP"], ["AiP"]),
        (["gP(beta=0.5)@5", "gP@5"], ["gP(beta=0.5)@5", "gP@5"]),
    ],
)
def test_curves_are_not_columns(texts: list[str], labels: list[str]) -> None:
    run = Run.from_results({"0": [("D0", 0, 5)]}, name="mine")
    data = report_page([run], highlights(1, 1), texts).data
    assert [measure["label"] for measure in data["measures"]] == labels
    assert len(data["cells"][0]) == len(labels)


def test_every_asset_is_free_of_addresses() -> None:
    folder = ROOT / "src" / "foveal" / "report" / "page"
    assets = [folder / "style.css", folder / "template.html", *folder.glob("script/*.js")]
    assert len(assets) == 2 + len(_SCRIPTS.split())
    found = re.findall(r"https?://[^\s\"')]+", "".join(path.read_text() for path in assets))
    assert found == ["http://www.w3.org/2000/svg"]  # a name of the language, never fetched
