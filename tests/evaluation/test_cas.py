"""CAS topics in evaluations and conversions: the same elements count either way."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import foveal
import lace
from foveal.collection import BuildOptions, build_index
from foveal.errors import FovealError, UsageError
from foveal.evaluation.cas_filter import CasFilter, parse_tag_classes
from foveal.evaluation.conversion import filter_by_structure
from foveal.evaluation.preparation import Options
from foveal.formats import write_judgements
from foveal.nexi import IEEE_CLASSES

GAINS = [f"xCG@{k}" for k in range(1, 7)]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    lace.write(tmp_path)
    build_index(tmp_path / "documents", tmp_path / "index")
    return tmp_path


def options(folder: Path, reading: str, **others: Any) -> dict[str, Any]:
    return {
        "cas": reading,
        "topics_file": str(folder / "topics.jsonl"),
        "support_judgements": (str(folder / "support.jsonl"),),
        "documents": str(folder / "documents"),
        **others,
    }


def gains(folder: Path, truth: Any, **others: Any) -> list[int]:
    """What each of the ranked elements gains; nothing where the topic has nothing left."""
    truth = folder / truth if isinstance(truth, str) else truth
    found = foveal.evaluate(folder / "run", truth, GAINS, **others).overall[0]
    return np.diff(np.nan_to_num(found), prepend=0).round(12).astype(int).tolist()


def refusal(folder: Path, **others: Any) -> str:
    with pytest.raises(FovealError) as refused:
        gains(folder, "elements.jsonl", **others)
    return str(refused.value).replace(f"{folder}/", "")


@pytest.mark.parametrize("reading", lace.KEPT)
def test_readings_in_an_evaluation(reading: str, folder: Path) -> None:
    chosen = options(folder, reading)
    expected = lace.KEPT[reading]
    assert gains(folder, "elements.jsonl", **chosen) == expected
    for truth in ("elements.jsonl", "highlights.jsonl"):
        assert gains(folder, truth, collection=folder / "index", **chosen) == expected


@pytest.mark.parametrize("reading", lace.KEPT)
@pytest.mark.parametrize("form", ["jsonl", "inex2006"])
def test_filtered_assessments_score_like_filtering(
    reading: str, form: str, folder: Path, tmp_path: Path
) -> None:
    cas = CasFilter.from_options(Options(**options(folder, reading)))
    assert cas is not None
    filtered = filter_by_structure(foveal.read_judgements(folder / "elements.jsonl"), cas)
    write_judgements(filtered, folder / "filtered", form)
    for collection in (None, folder / "index"):
        assert gains(folder, "filtered", collection=collection) == lace.KEPT[reading]


def test_highlights_do_not_bring_back_what_was_filtered(folder: Path) -> None:
    """A document that nothing is left of loses its passages with its elements."""
    lines = [
        {**lace.judged("1", doc, lace.SEC, lace.P), "spans": [{"start": 20, "end": 30}], "bep": 20}
        for doc in lace.YEARS
    ]
    (folder / "both.jsonl").write_text(lace.json_lines(*lines))
    cas = CasFilter.from_options(Options(**options(folder, "SS")))
    assert cas is not None
    filtered = filter_by_structure(foveal.read_judgements(folder / "both.jsonl"), cas)
    assert filtered.relevant.tolist() == [True, False, False]
    assert filtered.bep.tolist() == [20, -1, -1]
    assert filtered.passages(0) == [(20, 30)]
    assert filtered.passages(1) == []
    note = "documents that no assessed element is left of, not relevant now: 2"
    assert filtered.notes == (note,)
    write_judgements(filtered, folder / "filtered.jsonl", "jsonl")
    for collection in (None, folder / "index"):
        assert gains(folder, "filtered.jsonl", collection=collection) == lace.KEPT["SS"]


def test_relevant_documents_without_assessed_elements_cannot_be_filtered(folder: Path) -> None:
    cas = CasFilter.from_options(Options(**options(folder, "SV")))
    assert cas is not None
    with pytest.raises(UsageError, match="no assessed elements to leave out; derive them first"):
        filter_by_structure(foveal.read_judgements(folder / "highlights.jsonl"), cas)
    spans = {"spans": [{"start": 20, "end": 30}]}
    (folder / "mixed.jsonl").write_text(
        lace.json_lines(
            lace.judged("1", "lace", lace.SEC) | spans, {"topic": "1", "doc": "rope", **spans}
        )
    )
    with pytest.raises(FovealError, match=r"mixed\.jsonl:2: document 'rope' is relevant, but no e"):
        filter_by_structure(foveal.read_judgements(folder / "mixed.jsonl"), cas)


def test_a_topic_that_nothing_is_left_of_is_undefined(folder: Path) -> None:
    (folder / "two.jsonl").write_text(
        lace.json_lines(lace.judged("1", "lace", lace.SEC), lace.judged("3", "net", lace.P))
    )
    (folder / "topics.jsonl").write_text(
        lace.json_lines(
            {"topic": "1", "castitle": "//sec[about(., x)]"},
            {"topic": "3", "castitle": "//sec[about(., x)]"},
        )
    )
    results = foveal.evaluate(
        folder / "run",
        folder / "two.jsonl",
        "gr@1",
        cas="SV",
        topics_file=str(folder / "topics.jsonl"),
    )
    assert results.per_topic("gr@1")["mine"] == pytest.approx({"1": 1, "3": np.nan}, nan_ok=True)
    said = "topics with nothing relevant, not averaged (all measures), 1: 3"
    assert said in results.meta["warnings"]
    kinds = [entry["kind"] for entry in results.meta["inputs"]]
    assert kinds == ["judgements", "topics", "run"]


@pytest.mark.parametrize("collection", [False, True])
def test_a_filter_that_leaves_nothing_at_all(collection: bool, folder: Path) -> None:
    (folder / "topics.jsonl").write_text(
        lace.json_lines({"topic": "1", "castitle": "//fm[about(., x)]"})
    )
    chosen = {"cas": "SV", "topics_file": str(folder / "topics.jsonl")}
    index = folder / "index" if collection else None
    message = refusal(folder, collection=index, **chosen)
    assert message == "--cas SV leaves no relevant element of any topic"
    cas = CasFilter.from_options(Options(**chosen))
    assert cas is not None
    with pytest.raises(UsageError, match="leaves no relevant element"):
        filter_by_structure(foveal.read_judgements(folder / "elements.jsonl"), cas)


def test_documents_in_an_archive_or_named_inside(folder: Path) -> None:
    with zipfile.ZipFile(folder / "all.zip", "w") as archive:
        for doc, year in lace.YEARS.items():
            archive.writestr(f"articles/{doc}.xml", lace.document(year))
    chosen = options(folder, "SS", documents=str(folder / "all.zip"))
    assert gains(folder, "elements.jsonl", **chosen) == lace.KEPT["SS"]
    (folder / "numbered").mkdir()
    for number, (doc, year) in enumerate(lace.YEARS.items()):
        text = lace.document(year).replace("<fm>", f"<fm><id>{doc}</id>")
        (folder / "numbered" / f"{number}.xml").write_text(text)
    build_index(folder / "numbered", folder / "named", BuildOptions(name_tag="id"))
    chosen = options(folder, "SS", documents=str(folder / "numbered"))
    assert "holds no document 'lace', which is judged" in refusal(folder, **chosen)
    chosen["name_from"] = "id"
    assert gains(folder, "elements.jsonl", **chosen) == lace.KEPT["SS"]


def test_numbers_need_the_documents_and_clauses_the_sub_topics(folder: Path) -> None:
    assert refusal(folder, **options(folder, "VS", documents=None)) == (
        "topic '1' has the condition .//yr > 1990; strict support needs the text of the documents "
        "(--documents), which no index holds"
    )
    assert refusal(folder, **options(folder, "VS", support_judgements=())) == (
        "topic '1' has the condition about(.//abs, bobbin lace); strict support needs the "
        "judgements of its sub-topics (--support-judgements)"
    )
    for reading in ("VV", "SV"):
        bare = options(folder, reading, documents=None, support_judgements=())
        assert gains(folder, "elements.jsonl", **bare) == lace.KEPT[reading]


def test_tags_that_are_taken_for_each_other(folder: Path) -> None:
    expected = {(): lace.KEPT["SV"], ("sec=p",): lace.KEPT["VV"], ("ieee",): lace.KEPT["SV"]}
    for classes, kept in expected.items():
        chosen = options(folder, "SV", tag_classes=classes)
        assert gains(folder, "elements.jsonl", **chosen) == kept


def test_classes_of_tags() -> None:
    assert parse_tag_classes(["ieee", "a = b=c"]) == (*IEEE_CLASSES, frozenset("abc"))
    assert parse_tag_classes([]) == ()
    for bad in ("sec", "a==b", "=", ""):
        with pytest.raises(
            UsageError, match="is not a class of tags; expected ieee, or tags as in"
        ):
            parse_tag_classes([bad])


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"cas": "SV"}, "--cas needs the topics' queries; give them (--topics-file)"),
        ({"support_judgements": ("s",)}, "--support-judgements is for --cas, which is not given"),
        ({"documents": "d"}, "--documents is for --cas, which is not given"),
        ({"tag_classes": ("ieee",)}, "--tag-classes is for --cas, which is not given"),
        ({"name_from": "title"}, "--name-from is for --documents, which is not given"),
        ({"cas": "SX"}, "cas 'SX' is not one of VV, SV, VS, SS"),
    ],
)
def test_options_that_make_no_sense(given: dict[str, Any], expected: str, folder: Path) -> None:
    assert refusal(folder, **given) == expected


def test_measures_of_text_are_not_filtered(folder: Path) -> None:
    chosen = options(folder, "SV", collection=folder / "index")
    with pytest.raises(UsageError, match="--cas is for measures of elements; none is requested"):
        foveal.evaluate(folder / "run", folder / "highlights.jsonl", "AP", **chosen)
    results = foveal.evaluate(folder / "run", folder / "highlights.jsonl", ["AP", "MAep"], **chosen)
    said = "--cas leaves measures that are not about elements as they are: AP"
    assert said in results.meta["warnings"]
    kinds = [entry["kind"] for entry in results.meta["inputs"]]
    assert kinds == ["judgements", "topics", "support judgements", "collection", "run"]
