"""``foveal convert``: the same judgements, runs and topics in other forms."""

from __future__ import annotations

import json
import tempfile
from functools import cache
from itertools import pairwise
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import foveal
from command import call
from foveal.collection import BuildOptions, Collection, build_index
from foveal.collection.placement import place_judgements, place_run
from foveal.errors import InputError, UsageError
from foveal.evaluation.conversion import (
    derive_elements,
    focus,
    recompute_sizes,
)
from inputs import FOLDER_FORMATS, highlights, read_judgements, read_run, text_source

CAMPAIGN = Path(__file__).resolve().parents[2] / "examples" / "crossings"


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("index") / "campaign.fvx"
    build_index(CAMPAIGN / "documents", path)
    return str(path)


@pytest.fixture(scope="module")
def collection(index: str) -> Collection:
    return Collection.open(index)


def test_focus_works_by_paths_where_no_place_is_known() -> None:
    paths = ["/a[1]/b[1]", "/a[1]/b[10]/c[1]", "/a[1]/b[1]/c[1]", "/a[1]/b[10]", "/a[1]/b[2]"]
    lines = "".join(f"1 Q0 d 1 1 m {path}\n" for path in paths)
    run = read_run(lines)
    xpath = focus(run).xpath
    assert xpath is not None
    assert [paths.index(path) for path in xpath] == [0, 1, 4]
    assert len(focus(read_run("1 Q0 d 1 2 m\n1 Q0 d 2 1 m\n1 Q0 e 3 1 m\n"))) == 2
    with pytest.raises(
        InputError, match=r"x:2: the place of the result is not known; .*--collection"
    ):
        focus(read_run(lines.replace("/a[1]/b[10]/c[1]", "/a/text()[1]")))


EMPTIES = "<a><br/>one<b/><c><d/><e/></c><f>two<br/></f><br/></a>"


@given(
    st.lists(
        st.sampled_from(
            ["/a", "/a/br", "/a/b", "/a/c", "/a/c/d", "/a/c/e", "/a/f", "/a/f/br", "/a/br[2]"]
        ),
        min_size=1,
        max_size=8,
    )
)
@settings(max_examples=60)
def test_nested_elements_overlap_unless_a_collection_shows_them_empty(
    paths: list[str],
) -> None:
    run = read_run("".join(f"1 Q0 d 1 1 m {path}\n" for path in paths))
    alone = focus(run)
    assert alone.xpath is not None
    full = [f"{path}/" for path in alone.xpath]
    assert not any(a.startswith(b) for i, a in enumerate(full) for b in full[:i] + full[i + 1 :])
    with_text = {"/a", "/a/f"} & set(paths)  # which overlap each other
    empty = set(paths) - with_text
    assert len(focus(place_run(run, empties()))) == len(empty) + bool(with_text)


@cache
def empties() -> Collection:
    """A document with empty elements beside, within and at the ends of others."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "d.xml").write_text(EMPTIES)
        build_index(Path(folder), Path(folder) / "index")
        return Collection.open(Path(folder) / "index")


def test_assessments_keep_the_rule_by_which_white_space_was_counted(tmp_path: Path) -> None:
    (tmp_path / "d.xml").write_text("<a><b>one</b>  <c>two</c></a>")
    judged = read_judgements('{"topic":"1","doc":"d","spans":[{"start":0,"end":5}]}')
    indices = {}
    for rule in ("keep", "merge"):
        build_index(tmp_path / "d.xml", tmp_path / rule, BuildOptions(whitespace=rule))
        indices[rule] = Collection.open(tmp_path / rule)
    derived = derive_elements(place_judgements(judged, indices["merge"]), indices["merge"])
    foveal.write_judgements(derived, tmp_path / "out", "inex2006")
    again = foveal.read_judgements(tmp_path / "out")
    elements = place_judgements(again, indices["merge"]).elements
    assert elements is not None
    # Two blanks count as one: <a> holds seven characters, five of them relevant.
    assert elements.select("xpath", "size", "rsize").rows() == [
        ("/a[1]", 7, 5),
        ("/a[1]/b[1]", 3, 3),
        ("/a[1]/c[1]", 3, 1),
    ]
    with pytest.raises(InputError, match=r"by the rule 'merge', but the index .* with 'keep'"):
        place_judgements(again, indices["keep"])


def test_ranks_have_no_gaps_after_focusing_and_ties_stay() -> None:
    rows = [("d", 0, 1), ("d", 0, 2), ("e", 0, 3), ("f", 0, 3), ("g", 0, 9)]
    text = "".join(
        json.dumps({"topic": "1", "doc": d, "start": s, "end": 9, "rank": r}) + "\n"
        for d, s, r in rows
    )
    left = focus(read_run(text))
    assert left.rank is not None
    assert left.rank.tolist() == [1, 2, 2, 4]


def test_a_submission_names_windows_by_their_points(
    index: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    windows = CAMPAIGN / "runs" / "windows.jsonl"
    for source, target, form in ((windows, "w.xml", "inex"), (tmp_path / "w.xml", "w.run", "fol")):
        args = (str(source), str(tmp_path / target), "--to", form, "-C", index)
        assert call(capsys, "convert", *args).code == 0
    columns = ("topic", "doc", "start", "end", "score")
    again = foveal.read_run(tmp_path / "w.run").to_frame().select(columns)
    assert again.equals(foveal.read_run(windows).to_frame().select(columns))


def test_derived_assessments_keep_assessors_apart(collection: Collection) -> None:
    doc = collection.documents["doc"][0]
    lines = [
        {"topic": "1", "doc": doc, "assessor": name, "bep": start, "spans": spans}
        for name, start, spans in (
            ("ann", 30, [{"start": 30, "end": 90}, {"start": 60, "end": 95}]),
            ("bob", 40, [{"start": 40, "end": 50}, {"start": 900, "end": 950, "grade": 0}]),
            ("eve", 0, []),
        )
    ]
    judgements = read_judgements("".join(json.dumps(line) + "\n" for line in lines))
    derived = derive_elements(judgements, collection)
    assert derived.assessors == ("ann", "bob", "eve")
    assert derived.elements is not None
    roots = derived.elements.filter(xpath="/article[1]")
    assert roots.select("row", "rsize").rows() == [(0, 65), (1, 10)]
    assert derived.places is not None
    assert derived.places.select("row", "bep", "line").rows() == [
        (0, False, 1),
        (0, True, 1),
        (1, False, 2),
        (1, True, 2),
        (2, True, 3),
    ]
    assert derived.notes == (
        "passages that overlap, written as one with those they share text with: 1",
    )
    files = FOLDER_FORMATS["inex2006"](derived)
    assert list(files) == ["1-ann.xml", "1-bob.xml", "1-eve.xml"]
    sources = [text_source(text, name) for name, text in files.items()]
    placed = place_judgements(foveal.read_judgements(sources), collection)
    assert highlights(placed) == highlights(judgements.united())


def test_sizes_are_derived_where_white_space_is_merged_but_no_points(tmp_path: Path) -> None:
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / "d.xml").write_text("<a>  <p>x  y</p>  </a>")
    build_index(tmp_path / "d", tmp_path / "i", BuildOptions(whitespace="merge"))
    text = '{"topic":"1","doc":"d","spans":[{"start":1,"end":4}]}\n'
    derived = derive_elements(read_judgements(text), Collection.open(tmp_path / "i"))
    assert derived.elements is not None
    assert derived.elements.select("xpath", "size", "rsize").rows() == [
        ("/a[1]", 5, 3),
        ("/a[1]/p[1]", 3, 3),
    ]
    assert derived.places is None
    assert "passages and entry points left out" in derived.notes[0]


def test_a_best_entry_point_may_be_the_end_of_a_document(tmp_path: Path) -> None:
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / "d.xml").write_text("<a>one<p>two</p></a>")
    (tmp_path / "d" / "e.xml").write_text("<a/>")
    build_index(tmp_path / "d", tmp_path / "i")
    collection = Collection.open(tmp_path / "i")
    at_start = np.array([False])
    points = collection.points(pl.Series(["e", "d", "e"]), np.array([0, 6, 0]), at_start.repeat(3))
    assert points == ["/a[1]", "/a[1]/p[1]/text()[1].3", "/a[1]"]
    with pytest.raises(KeyError, match="no text of 'd' at 7"):
        collection.points(pl.Series(["d"]), np.array([7]), at_start)


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """A folder with the index of one document of three paragraphs of three characters."""
    (tmp_path / "documents").mkdir()
    (tmp_path / "documents" / "d.xml").write_text("<a><p>one</p><p>two</p><link>six</link></a>")
    build_index(tmp_path / "documents", tmp_path / "index")
    return tmp_path


def convert(capsys: pytest.CaptureFixture[str], folder: Path, form: str, *args: str) -> list[str]:
    """Convert the file ``in`` to ``out``; what was said."""
    place = (str(folder / "in"), str(folder / "out"), "--to", form)
    outcome = call(capsys, "convert", *place, "-C", str(folder / "index"), *args)
    assert (outcome.code, outcome.out) == (0, ""), outcome.err
    return outcome.err.splitlines()


def test_listed_elements_do_not_hide_passages_and_entry_points(
    small: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    spans = [{"start": 0, "end": 3}, {"start": 3, "end": 5}, {"start": 6, "end": 7, "grade": 0}]
    elements = [{"xpath": "/a[1]/p[1]", "size": 3, "rsize": 3}]
    lines = [
        {"topic": "1", "doc": "d", "bep": 3, "spans": spans, "elements": elements},
        {"topic": "2", "doc": "d", "bep": 9, "spans": []},
    ]
    (small / "in").write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert convert(capsys, small, "inex2006") == [
        "warning: not kept in inex2006: spans that are not relevant: 1"
    ]
    assert (small / "out" / "1.xml").read_text().splitlines()[3:7] == [
        '    <passage start="/a[1]/p[1]/text()[1].0" end="/a[1]/p[1]/text()[1].3"/>',
        '    <passage start="/a[1]/p[2]/text()[1].0" end="/a[1]/p[2]/text()[1].2"/>',
        '    <best-entry-point path="/a[1]/p[2]/text()[1].0"/>',
        '    <element path="/a[1]/p[1]" size="3" rsize="3"/>',
    ]
    placed = place_judgements(
        foveal.read_judgements(small / "out"), Collection.open(small / "index")
    )
    assert placed.to_frame().select("topic", "bep", "start", "end").rows() == [
        ("1", 3, 0, 3),
        ("1", 3, 3, 5),
        ("2", 9, None, None),
    ]


@st.composite
def highlighted(draw: st.DrawFn, length: int) -> list[dict[str, int]]:
    """Passages in reading order, some of which touch."""
    cuts = draw(st.lists(st.integers(0, length), min_size=2, max_size=8, unique=True))
    pairs = [*pairwise(sorted(cuts))]
    kept = draw(st.lists(st.booleans(), min_size=len(pairs), max_size=len(pairs)))
    return [{"start": a, "end": b} for (a, b), keep in zip(pairs, kept, strict=True) if keep]


@settings(max_examples=40)
@given(data=st.data())
def test_passages_and_entry_points_survive_the_way_through_xpaths(
    collection: Collection, data: st.DataObject
) -> None:
    doc, length = data.draw(st.sampled_from(collection.documents.select("doc", "length").rows()))
    line = {"topic": "1", "doc": doc, "assessor": "a", "spans": data.draw(highlighted(length))}
    bep = data.draw(st.none() | st.integers(0, length))
    given_line = line if bep is None else {**line, "bep": bep}
    judgements = read_judgements(json.dumps(given_line))
    files = FOLDER_FORMATS["inex2006"](derive_elements(judgements, collection))
    read = foveal.read_judgements([text_source(text, name) for name, text in files.items()])
    columns = ("topic", "doc", "bep", "start", "end")
    placed = place_judgements(read, collection).to_frame().select(columns)
    assert placed.equals(judgements.to_frame().select(columns))


def test_the_type_of_the_results_is_not_kept_when_they_change(
    small: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Passages that are mapped to elements are none any more; all else is still true."""
    place = '<passage start="/a[1]/p[1]/text()[1].1" end="/a[1]/p[1]/text()[1].2"/>'
    (small / "in").write_text(
        '<inex-submission run-id="r" result-type="passage" participant-id="9"><topic topic-id="1">'
        f"<result><file>d</file>{place}</result></topic></inex-submission>"
    )
    opening = '<inex-submission run-id="r" result-type="{}" participant-id="9">'
    assert convert(capsys, small, "inex") == []
    assert (small / "out").read_text().splitlines()[1] == opening.format("passage")
    assert convert(capsys, small, "inex", "--snap") == [
        "warning: results mapped to the smallest element around them: 1"
    ]
    written = (small / "out").read_text()
    assert written.splitlines()[1] == opening.format("element")
    assert "<path>/a[1]/p[1]</path>" in written


@pytest.mark.parametrize(
    ("form", "kept"),
    [
        ("elements", [("/a[1]/p[2]", None), ("/a[1]/p[1]", None)]),
        ("inex", [("/a[1]/p[2]", None), ("/a[1]/p[1]", None)]),
        ("fol", [(None, 3), (None, 3)]),
        ("jsonl", [("/a[1]/p[2]", 3), ("/a[1]/p[1]", 3)]),
        ("parquet", [("/a[1]/p[2]", 3), ("/a[1]/p[1]", 3)]),
    ],
)
def test_an_xpath_that_contradicts_its_offsets_is_said(
    form: str,
    kept: list[tuple[str | None, int | None]],
    small: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Like an evaluation, a conversion takes such a result; unlike it, it is about its place."""
    paths = ("/a/p[2]", "/a/p[1]")
    rows = [{"topic": "1", "doc": "d", "start": 3, "end": 6, "xpath": path} for path in paths]
    (small / "in").write_text("".join(json.dumps(row) + "\n" for row in rows))
    said = convert(capsys, small, form)[0]
    assert said == (
        "warning: results whose XPath and offsets contradict each other: 1 "
        "(line 2: /a[1]/p[1] is at [0,3), but the result gives [3,6))"
    )
    frame = foveal.read_run(small / "out").to_frame()
    xpath = frame["xpath"] if "xpath" in frame.columns else [None, None]
    assert [*zip(xpath, frame["start"], strict=True)] == kept


def test_sizes_are_recomputed_and_grades_kept(collection: Collection) -> None:
    doc = collection.documents["doc"][0]
    elements = [
        {"xpath": "/article/title", "exhaustivity": "?", "size": 1, "rsize": 1},
        {"xpath": "/article", "exhaustivity": 2, "size": 2, "rsize": 2},
    ]
    line = {"topic": "1", "doc": doc, "spans": [{"start": 0, "end": 9}], "elements": elements}
    again = recompute_sizes(read_judgements(json.dumps(line)), collection).elements
    assert again is not None
    found = dict(
        zip(again["xpath"], again.select("exhaustivity", "size", "rsize").rows(), strict=True)
    )
    title, root = (collection.element(doc, path) for path in ("/article/title", "/article"))
    inside = min(9, title.end) - title.start
    assert found[title.xpath] == ("?", title.end - title.start, inside)
    assert found[root.xpath] == ("2", root.end, 9)
    elements[0]["xpath"] = "/article/nothing"
    with pytest.raises(InputError, match=r"x:1: .* has no element"):
        recompute_sizes(read_judgements(json.dumps(line)), collection)
    graded = '{"topic":"1","doc":"d","elements":[{"xpath":"/a","relevance":1,"coverage":"E"}]}'
    with pytest.raises(UsageError, match="on the scale of 2002 have no sizes"):
        recompute_sizes(read_judgements(graded), collection)


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
    # A folder is read by the names of its files, and 10.xml stands before 2.xml.
    both = [j.to_frame().drop("length") for j in (placed.combined(), original)]
    assert sorted(both[0].rows()) == sorted(both[1].rows())
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
        (("runs/paragraphs.run", "--to", "elements"), "no XPath"),
        (("topics.jsonl", "--to", "inex", "--focus"), "--focus is for runs; "),
        (("judgements.jsonl", "--to", "fol", "--snap"), "holds judgements"),
        (("runs/paragraphs.run", "--to", "fol", "--exclude-tags", "p"), "is for judgements; "),
        (
            ("runs/windows.jsonl", "--to", "elements", "--snap"),
            "--snap takes a collection (--collection)",
        ),
        (
            ("judgements.jsonl", "--to", "inex2006", "--recompute"),
            "takes a collection (--collection)",
        ),
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


def test_overlap_of_a_document_is_not_that_of_other_topics() -> None:
    """Topic 1 has elements of x alone, so that their paths decide, whatever topic 2 has."""
    lines = [
        {"topic": "1", "doc": "x", "xpath": "/article[1]/e[1]", "start": 4, "end": 4},
        {"topic": "1", "doc": "x", "xpath": "/article[1]/p[2]", "start": 4, "end": 6},
    ]
    other = {"topic": "2", "doc": "x", "start": 0, "end": 1}
    for results in (lines, [*lines, other]):
        run = read_run("".join(json.dumps(line) + "\n" for line in results))
        assert len(focus(run)) == len(results)


def test_an_xpath_without_a_place_overlaps_nothing() -> None:
    lines = [
        {"topic": "1", "doc": "x", "xpath": "/article[1]", "start": 0, "end": 9},
        {"topic": "1", "doc": "x", "xpath": "//p", "start": 0, "end": 0},
    ]
    run = read_run("".join(json.dumps(line) + "\n" for line in lines))
    assert len(focus(run)) == 2
