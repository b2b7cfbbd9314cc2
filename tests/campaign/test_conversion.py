"""``foveal convert`` and ``foveal stats``: the same judgements and runs in other forms."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import foveal
from command import call
from foveal import Run
from foveal.campaign.conversion import derive_elements, exclude_tags, focus, name_elements
from foveal.campaign.placing import place_judgements, place_run
from foveal.collection import Collection, build_index
from foveal.errors import InputError, UsageError

CAMPAIGN = Path(__file__).resolve().parents[2] / "examples" / "campaign"


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("index") / "campaign.fvx"
    build_index(CAMPAIGN / "documents", path)
    return str(path)


@pytest.fixture(scope="module")
def collection(index: str) -> Collection:
    return Collection.open(index)


def test_focus_keeps_one_of_overlapping_results() -> None:
    run = Run.from_results({"1": [("d", 0, 90), ("d", 10, 20), ("d", 15, 40), ("e", 0, 5)]})
    kept = {k: focus(run, k).to_frame()["start"].to_list() for k in ("rank", "deeper", "higher")}
    assert kept == {"rank": [0, 0], "deeper": [10, 0], "higher": [0, 0]}
    with pytest.raises(UsageError, match="rank or deeper or higher"):
        focus(run, "longer")


def test_paragraph_spans_are_named_by_their_elements(collection: Collection) -> None:
    run = foveal.read_run(CAMPAIGN / "runs" / "paragraphs.run")
    named = name_elements(run, collection)
    assert named.xpath is not None
    assert named.xpath.str.contains(r"/p\[\d+\]$").all()
    by_path = Run.from_frame(
        named.to_frame()
        .with_columns(start=-1, end=-1)
        .select("topic", "doc", "start", "end", "xpath"),
        name="p",
    )
    back = place_run(by_path, collection)
    assert back.start.tolist() == run.start.tolist()
    assert back.end.tolist() == run.end.tolist()


def test_windows_are_no_elements_unless_they_are_snapped(collection: Collection) -> None:
    run = foveal.read_run(CAMPAIGN / "runs" / "windows.jsonl")
    with pytest.raises(InputError, match="is no element; the smallest around it is /article"):
        name_elements(run, collection)
    snapped = name_elements(run, collection, snap=True)
    assert ((snapped.start <= run.start) & (snapped.end >= run.end)).all()


def test_derived_assessments_give_back_the_highlights(collection: Collection) -> None:
    judgements = foveal.read_judgements(CAMPAIGN / "judgements.jsonl")
    derived = derive_elements(judgements, collection)
    assert derived.elements is not None
    roots = derived.elements.filter(derived.elements["xpath"] == "/article[1]")
    assert roots["rsize"].to_list() == derived.rel_size[derived.relevant].tolist()
    links = exclude_tags(derived, {"link", "emph"})
    assert links.elements is not None
    assert not links.elements["xpath"].str.contains(r"/(link|emph)\[\d+\]$").any()
    with pytest.raises(UsageError, match="no assessed elements"):
        exclude_tags(judgements, {"link"})


def test_scores_do_not_depend_on_the_format_of_the_judgements(
    index: str, collection: Collection, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for source, target, form in (
        ("judgements.jsonl", "pools", "inex2006"),
        ("judgements.jsonl", "fol", "fol"),
        ("runs/paragraphs.run", "p.xml", "inex"),
        ("runs/paragraphs.run", "q.elements", "elements"),
        ("topics.jsonl", "topics.xml", "inex"),
    ):
        args = (str(CAMPAIGN / source), str(tmp_path / target), "--to", form, "-C", index)
        assert call(capsys, "convert", *args).code == 0
    placed = place_judgements(foveal.read_judgements(tmp_path / "pools"), collection)
    original = foveal.read_judgements(CAMPAIGN / "judgements.jsonl").combined()
    assert (
        placed.combined().to_frame().drop("length").rows()
        == original.to_frame().drop("length").rows()
    )
    runs = [CAMPAIGN / "runs" / "paragraphs.run", tmp_path / "p.xml", tmp_path / "q.elements"]
    measures = ["iP@0.01", "AiP", "AgP", "AP"]
    scores = {}
    for truth in ("pools", "fol"):
        found = foveal.evaluate(runs, tmp_path / truth, measures, collection=index, regroup=True)
        scores[truth] = found.overall.tolist()
    assert scores["pools"] == scores["fol"]
    assert scores["fol"][0] == scores["fol"][1] == scores["fol"][2]
    topics = foveal.read_topics(tmp_path / "topics.xml")
    assert topics.castitles == foveal.read_topics(CAMPAIGN / "topics.jsonl").castitles


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("runs/paragraphs.run", "--to", "xls"), "unknown format 'xls'"),
        (("runs/paragraphs.run", "--to", "elements"), "no XPath"),
        (("topics.jsonl", "--to", "inex", "--focus", "rank"), "--focus and --snap are for runs"),
        (("missing", "--to", "fol"), "no such file"),
        (("judgements.jsonl", "--to", "inex2006"), "elements"),
    ],
)
def test_what_cannot_be_converted_is_said(
    args: tuple[str, ...], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "out"
    outcome = call(capsys, "convert", str(CAMPAIGN / args[0]), str(target), *args[1:])
    assert outcome.code == 2
    assert message in outcome.err
    assert not target.exists()


def test_converting_can_remove_overlap(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run, out = tmp_path / "r", tmp_path / "out"
    run.write_text("1 Q0 d 1 9 m 0 4\n1 Q0 d 2 8 m 2 4\n")
    outcome = call(capsys, "convert", str(run), str(out), "--to", "fol", "--focus", "rank")
    assert outcome.err == "results removed because they overlap: 1\n"
    assert out.read_text() == "1 Q0 d 1 9.0 m 0 4\n"


def test_statistics_of_all_kinds(index: str, capsys: pytest.CaptureFixture[str]) -> None:
    names = ("judgements.jsonl", "topics.jsonl", "runs/paragraphs.run")
    paths = [index, *(str(CAMPAIGN / name) for name in names)]
    outcome = call(capsys, "stats", *paths, "-C", index, "-f", "json")
    found = {entry["kind"]: entry for entry in json.loads(outcome.out).values()}
    assert set(found) == {"collection", "judgements", "topics", "run"}
    assert found["collection"]["documents"] == 12
    assert found["collection"]["elements by tag"]["article"] == 12
    assert found["judgements"]["relevant documents"] == 17
    assert found["judgements"]["relevant characters"] == 20299
    shares = found["judgements"]["share of fully highlighted elements by tag"]
    assert sum(shares.values()) == pytest.approx(1, abs=1e-3)
    assert found["topics"]["topics by type"] == {"CO+S": 5}
    assert found["run"]["results per topic"]["mean"] == 20
    text = call(capsys, "stats", *paths).out
    assert "elements per document" in text
    assert "castitles by target" in text


def test_derived_sizes_are_those_of_the_elements(collection: Collection) -> None:
    """Size and rsize against a character set, for one document."""
    judgements = foveal.read_judgements(CAMPAIGN / "judgements.jsonl").combined()
    derived = derive_elements(judgements, collection)
    assert derived.elements is not None
    row = int(derived.elements["row"][0])
    relevant = {x for s, e in derived.passages(row) for x in range(s, e)}
    for element in derived.elements.filter(derived.elements["row"] == row).iter_rows(named=True):
        place = collection.element(derived.doc[row], element["xpath"])
        text = set(range(place.start, place.end))
        assert (element["size"], element["rsize"]) == (len(text), len(text & relevant))
