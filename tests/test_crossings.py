"""The campaign "crossings": rebuilt to the byte, judged completely, its runs valid and unlike."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from examples import make_crossings
from examples.make_crossings import CAMPAIGN, CampaignError, Judgement, infer_grades
from hypothesis import given, settings
from hypothesis import strategies as st

import foveal
from command import call
from foveal.collection import Collection, build_index
from foveal.nexi import CAS, list_tags, matches, parse

DERIVED = ("judgements.jsonl", "judgements.qrels", "assessments", "runs")
PRESETS = {
    "articles.jsonl": "2009.BestInContext",
    "sections.xml": "2005.CO.Focussed",
    "paragraphs.run": "2009.Focused",
    "thorough.xml": "2005.CO.Thorough",
    "focused.jsonl": "2006.Focused",
    "windows.jsonl": "2009.RelevantInContext",
    "strict.xml": "2005.SSCAS",
    "noisy.jsonl": "2009.Focused",
}
"""The runs and a preset for the task that each of them declares."""


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("crossings") / "crossings.fvx"
    build_index(CAMPAIGN / "documents", path)
    return path


@pytest.fixture(scope="module")
def collection(index: Path) -> Collection:
    return Collection.open(index)


@pytest.fixture(scope="module")
def texts() -> dict[str, str]:
    return {
        path.stem: "".join(ET.parse(path).getroot().itertext())
        for path in (CAMPAIGN / "documents").iterdir()
    }


def files(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def copied(folder: Path, *leave_out: str) -> Path:
    target = folder / "copy"
    shutil.copytree(CAMPAIGN, target, ignore=shutil.ignore_patterns(*leave_out))
    return target


# -- rebuilding ----------------------------------------------------------------------------------


def test_a_rebuild_from_what_was_written_by_hand_gives_the_same_bytes(tmp_path: Path) -> None:
    rebuilt = copied(tmp_path, *DERIVED)
    assert not any((rebuilt / name).exists() for name in DERIVED)
    assert make_crossings.main([str(rebuilt)]) == 0
    expected = files(CAMPAIGN)
    assert files(rebuilt).keys() == expected.keys()
    assert [name for name, data in files(rebuilt).items() if data != expected[name]] == []


@pytest.mark.parametrize(
    ("found", "instead", "message"),
    [
        ("begin: The trick is to", "begin: The trick was to", "quotation not found"),
        ("begin: The trick is to hold the hull", "begin: the", "quotation occurs"),
        ("... sandstone cliffs of Saxony.", "... The trick is to", "ends before it begins"),
        ("passage: In the simplest", "passage: A kite works\npassage: In the simplest", "overlap"),
        ("\nexhaustivity: 2\n", "\nexhaustivity: 1\n", "more exhaustive than /article[1]"),
        ("\nexhaustivity: 2\n", "\n", "exhaustivity of the document is missing"),
        ("\nexhaustivity: 2\n", "\nexhaustivity: 3\n", "cannot read this line: exhaustivity: 3"),
        ("/sec[1]/p[2]", "/sec[4]/title[1]", "too small or holds no highlighted text"),
        ("== 1 chain-ferries", "== 1 chain-ferry", "unknown or repeated"),
        ("== 1 chain-ferries", "== 1 reaction-ferries", "unknown or repeated"),
        ("== 1 tides\n", "== 1 tides fords\n", "unknown or repeated"),
        ("== 1 tides\n", "== 1\n", "cannot read this line"),
        ("not driven by it.\nnothing", "not driven by it.", "give passages or 'nothing'"),
    ],
)  # fmt: skip
def test_what_was_written_by_hand_is_checked(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    found: str,
    instead: str,
    message: str,
) -> None:
    campaign = copied(tmp_path, *DERIVED)
    source = campaign / "judgements_source.txt"
    text = source.read_text(encoding="utf-8")
    assert found in text
    source.write_text(text.replace(found, instead, 1), encoding="utf-8")
    assert make_crossings.main([str(campaign)]) == 1
    assert message in capsys.readouterr().err
    assert not any((campaign / name).exists() for name in DERIVED)


def test_a_document_that_is_not_judged_is_missed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    campaign = copied(tmp_path, *DERIVED)
    shutil.copy(campaign / "documents" / "tides.xml", campaign / "documents" / "ebb.xml")
    assert make_crossings.main([str(campaign)]) == 1
    assert capsys.readouterr().err == "make_crossings: not judged: topic 1, ebb\n"


# -- topics --------------------------------------------------------------------------------------


def test_topics_with_and_without_structure_and_many_targets() -> None:
    topics = foveal.read_topics(CAMPAIGN / "topics.jsonl")
    assert [topic.id for topic in topics] == [str(n) for n in range(1, 13)]
    assert all(topic.title and topic.description and topic.narrative for topic in topics)
    queries = [parse(topic.castitle) for topic in topics if topic.castitle is not None]
    targets = {
        tag for query in queries if isinstance(query, CAS) for tag in query.target.steps[-1].names
    }
    assert (len(queries), len(topics) - len(queries)) == (7, 5)
    assert targets == {"sec", "ss1", "p", "article", "fig", "title"}


def test_castitles_name_elements_of_the_collection(
    capsys: pytest.CaptureFixture[str], index: Path
) -> None:
    outcome = call(capsys, "validate", str(CAMPAIGN / "topics.jsonl"), "-C", str(index))
    assert outcome.code == 0, outcome.out


# -- judgements ----------------------------------------------------------------------------------


def test_every_document_is_judged_for_every_topic(texts: dict[str, str]) -> None:
    judgements = foveal.read_judgements(CAMPAIGN / "judgements.jsonl")
    pairs = [
        (judgements.topics[topic], doc)
        for topic, doc in zip(judgements.topic.tolist(), judgements.doc, strict=True)
    ]
    assert len(texts) == 43
    assert sorted(pairs) == sorted(product(map(str, range(1, 13)), texts))
    relevant = [pair for pair, is_so in zip(pairs, judgements.relevant, strict=True) if is_so]
    per_topic = [sum(t == topic for t, _ in relevant) for topic in judgements.topics]
    assert (min(per_topic), max(per_topic), sum(per_topic)) == (3, 13, 77)


def test_every_quotation_stands_at_its_offsets(texts: dict[str, str]) -> None:
    judgements = foveal.read_judgements(CAMPAIGN / "judgements.jsonl")
    assert judgements.quotes is not None
    for row, start, end, quote in zip(
        judgements.row.tolist(),
        judgements.start.tolist(),
        judgements.end.tolist(),
        judgements.quotes["quote"],
        strict=True,
    ):
        assert texts[judgements.doc[row]][start:end] == quote
        assert quote == quote.strip()
    lengths = [len(texts[doc]) for doc in judgements.doc]
    assert judgements.length.tolist() == lengths


def test_qrels_and_assessments_say_the_same(index: Path) -> None:
    scores = [
        foveal.evaluate(
            CAMPAIGN / "runs" / "paragraphs.run",
            CAMPAIGN / name,
            ["AiP", "AgP(score=BEP)"],
            collection=index,
            overlap="drop",
            regroup=True,
        ).aggregate()
        for name in ("judgements.jsonl", "judgements.qrels", "assessments")
    ]
    assert scores[0] == scores[1] == scores[2]
    assert all(score > 0 for score in scores[0]["paragraphs"].values())


def assessed() -> Iterator[tuple[str, str, dict[str, ET.Element]]]:
    """Topic, document and the assessed elements by their paths, of relevant documents."""
    for pool in sorted((CAMPAIGN / "assessments").iterdir()):
        root = ET.parse(pool).getroot()
        for file in root.iter("file"):
            own = {element.get("path", ""): element for element in file.iter("element")}
            if own:
                yield root.get("topic", ""), file.get("name", ""), own


def test_assessed_are_just_the_elements_with_highlighted_characters(
    collection: Collection,
) -> None:
    judgements = foveal.read_judgements(CAMPAIGN / "judgements.qrels")
    highlighted: dict[tuple[str, str], set[int]] = {}
    spans = (column.tolist() for column in (judgements.row, judgements.start, judgements.end))
    for row, start, end in zip(*spans, strict=True):
        pair = judgements.topics[judgements.topic[row]], judgements.doc[row]
        highlighted.setdefault(pair, set()).update(range(start, end))
    sizes = {
        (topic, doc): {path: (e.get("size"), e.get("rsize")) for path, e in own.items()}
        for topic, doc, own in assessed()
    }
    assert sizes == {
        (topic, doc): {
            element.xpath: (str(element.end - element.start), str(len(inside)))
            for element in collection.all_elements(doc)
            if (inside := characters.intersection(range(element.start, element.end)))
        }
        for (topic, doc), characters in highlighted.items()
    }


def test_exhaustivity_follows_the_rules() -> None:
    seen = set()
    for _, _, own in assessed():
        for path, element in own.items():
            grade = element.get("exhaustivity", "")
            seen.add(grade)
            small = list_tags(path)[-1] in ("title", "emph", "link")
            assert (grade == "?") == (small or int(element.get("size", "")) < 60)
            above = own.get(path.rpartition("/")[0])
            if above is None or grade == "?":
                continue
            assert int(above.get("exhaustivity", "")) >= int(grade)
            if above.get("rsize") == element.get("rsize"):
                assert above.get("exhaustivity") == grade
    assert seen == {"1", "2", "?"}


def test_strict_quantisation_leaves_no_topic_empty() -> None:
    strict = {
        topic
        for topic, _, own in assessed()
        for element in own.values()
        if element.get("exhaustivity") == "2" and element.get("size") == element.get("rsize")
    }
    assert len(strict) == 12


# -- grades, inferred ----------------------------------------------------------------------------


@st.composite
def trees(draw: st.DrawFn) -> tuple[dict[str, int], dict[str, int]]:
    """Highlighted characters of the elements of a tree, and grades given to some of them."""
    rsizes: dict[str, int] = {}

    def grow(path: str, depth: int) -> int:
        rsizes[path] = 0  # parents stand first
        children = draw(st.integers(0, 3)) if depth < 4 else 0
        inside = sum(grow(f"{path}/e[{n}]", depth + 1) for n in range(1, children + 1))
        rsizes[path] = inside + draw(st.integers(0 if inside else 1, 2))
        return rsizes[path]

    grow("/article[1]", 0)
    some = st.dictionaries(st.sampled_from(sorted(rsizes)), st.integers(1, 2))
    return rsizes, {"/article[1]": draw(st.integers(1, 2)), **draw(some)}


@given(trees())
@settings(max_examples=60)
def test_inferred_grades_are_the_least_that_fit_the_rules(
    tree: tuple[dict[str, int], dict[str, int]],
) -> None:
    rsizes, given_grades = tree
    above = {path: path.rpartition("/")[0] for path in rsizes}
    least = {path: given_grades.get(path, 1) for path in rsizes}
    changed = True
    while changed:  # what any rule asks for, until nothing asks for more
        changed = False
        for path, parent in above.items():
            if parent not in rsizes:
                continue
            wanted = {parent: least[path]}
            if rsizes[parent] == rsizes[path]:
                wanted[path] = least[parent]
            for who, grade in wanted.items():
                changed |= least[who] < grade
                least[who] = max(least[who], grade)
    judgement = Judgement(1, "1", "d", grades=given_grades)
    if any(least[path] != grade for path, grade in given_grades.items()):
        with pytest.raises(CampaignError, match=r"^line 1, topic 1, d: /article"):
            infer_grades(judgement, rsizes)
    else:
        assert infer_grades(judgement, rsizes) == least


# -- runs ----------------------------------------------------------------------------------------


def test_there_are_eight_runs() -> None:
    assert {path.name for path in (CAMPAIGN / "runs").iterdir()} == set(PRESETS)


@pytest.mark.parametrize(("name", "preset"), PRESETS.items())
def test_runs_are_valid_for_the_task_they_declare(
    capsys: pytest.CaptureFixture[str], index: Path, name: str, preset: str
) -> None:
    path = CAMPAIGN / "runs" / name
    more = ("-C", str(index), "--topics-file", str(CAMPAIGN / "topics.jsonl"))
    outcome = call(capsys, "validate", str(path), "-t", preset, *more)
    assert outcome.code == 0, outcome.out
    # Lines of eight fields have no place for a task.
    assert (foveal.read_run(path).task is None) == (path.suffix == ".run")


def test_the_thorough_run_is_not_focused(capsys: pytest.CaptureFixture[str], index: Path) -> None:
    path = str(CAMPAIGN / "runs" / "thorough.xml")
    outcome = call(capsys, "validate", path, "-t", "2009.Focused", "-C", str(index))
    assert outcome.code == 1
    assert "overlaps the result" in outcome.out


def test_the_strict_run_holds_only_targets_of_structured_topics() -> None:
    run = foveal.read_run(CAMPAIGN / "runs" / "strict.xml")
    targets = {}
    for topic in foveal.read_topics(CAMPAIGN / "topics.jsonl"):
        if topic.castitle is not None and isinstance(query := parse(topic.castitle), CAS):
            targets[topic.id] = query.target
    assert set(run.topics) == set(targets)
    assert run.xpath is not None
    for topic, xpath in zip(run.topic.tolist(), run.xpath, strict=True):
        assert matches(targets[run.topics[topic]], list_tags(xpath))


def test_runs_differ_in_character(index: Path) -> None:
    scores = foveal.evaluate(
        [CAMPAIGN / "runs" / name for name in PRESETS],
        CAMPAIGN / "judgements.jsonl",
        ["AiP", "iP@0.00"],
        collection=index,
        overlap="drop",
    ).aggregate()
    mean = {name: own["AiP"] for name, own in scores.items()}
    early = {name: own["iP@0.00"] for name, own in scores.items()}
    assert all(value > 0.1 for value in mean.values())
    assert mean["noisy"] == min(mean.values())
    # Paragraphs are the most precise answers to begin with, articles the least.
    assert early["paragraphs"] == max(early.values())
    assert early["articles"] == min(early.values())
