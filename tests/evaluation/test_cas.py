"""CAS topics in evaluations and conversions: the same elements count either way."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cas_campaign
import foveal
from foveal.collection import BuildOptions, build_index
from foveal.errors import FovealError, UsageError
from foveal.evaluation.cas_filter import CasFilter
from foveal.evaluation.conversion import filter_by_structure
from foveal.evaluation.preparation import Options
from foveal.formats import write_judgements

GAINS = [f"xCG@{k}" for k in range(1, 7)]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    cas_campaign.write(tmp_path)
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


@pytest.mark.parametrize("reading", cas_campaign.KEPT)
def test_readings_in_an_evaluation(reading: str, folder: Path) -> None:
    chosen = options(folder, reading)
    expected = cas_campaign.KEPT[reading]
    assert gains(folder, "elements.jsonl", **chosen) == expected
    for truth in ("elements.jsonl", "highlights.jsonl"):
        assert gains(folder, truth, collection=folder / "index", **chosen) == expected


@pytest.mark.parametrize("reading", cas_campaign.KEPT)
@pytest.mark.parametrize("form", ["jsonl", "inex2006"])
def test_filtered_assessments_score_like_filtering(
    reading: str, form: str, folder: Path, tmp_path: Path
) -> None:
    cas = CasFilter.from_options(Options(**options(folder, reading)))
    assert cas is not None
    filtered = filter_by_structure(foveal.read_judgements(folder / "elements.jsonl"), cas)
    write_judgements(filtered, folder / "filtered", form)
    for collection in (None, folder / "index"):
        assert gains(folder, "filtered", collection=collection) == cas_campaign.KEPT[reading]


def test_highlights_do_not_bring_back_what_was_filtered(folder: Path) -> None:
    """A document that nothing is left of loses its passages with its elements."""
    lines = [
        {
            **cas_campaign.judged("1", doc, cas_campaign.SEC, cas_campaign.P),
            "spans": [{"start": 20, "end": 30}],
            "bep": 20,
        }
        for doc in cas_campaign.YEARS
    ]
    (folder / "both.jsonl").write_text(cas_campaign.json_lines(*lines))
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
        assert gains(folder, "filtered.jsonl", collection=collection) == cas_campaign.KEPT["SS"]


def test_relevant_documents_without_assessed_elements_cannot_be_filtered(folder: Path) -> None:
    cas = CasFilter.from_options(Options(**options(folder, "SV")))
    assert cas is not None
    with pytest.raises(UsageError, match="no assessed elements to leave out; derive them first"):
        filter_by_structure(foveal.read_judgements(folder / "highlights.jsonl"), cas)
    spans = {"spans": [{"start": 20, "end": 30}]}
    (folder / "mixed.jsonl").write_text(
        cas_campaign.json_lines(
            cas_campaign.judged("1", "lace", cas_campaign.SEC) | spans,
            {"topic": "1", "doc": "rope", **spans},
        )
    )
    with pytest.raises(FovealError, match=r"mixed\.jsonl:2: document 'rope' is relevant, but no e"):
        filter_by_structure(foveal.read_judgements(folder / "mixed.jsonl"), cas)


def test_a_topic_that_nothing_is_left_of_is_undefined(folder: Path) -> None:
    (folder / "two.jsonl").write_text(
        cas_campaign.json_lines(
            cas_campaign.judged("1", "lace", cas_campaign.SEC),
            cas_campaign.judged("3", "net", cas_campaign.P),
        )
    )
    (folder / "topics.jsonl").write_text(
        cas_campaign.json_lines(
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
        cas_campaign.json_lines({"topic": "1", "castitle": "//fm[about(., x)]"})
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
        for doc, year in cas_campaign.YEARS.items():
            archive.writestr(f"articles/{doc}.xml", cas_campaign.document(year))
    chosen = options(folder, "SS", documents=str(folder / "all.zip"))
    assert gains(folder, "elements.jsonl", **chosen) == cas_campaign.KEPT["SS"]
    (folder / "numbered").mkdir()
    for number, (doc, year) in enumerate(cas_campaign.YEARS.items()):
        text = cas_campaign.document(year).replace("<fm>", f"<fm><id>{doc}</id>")
        (folder / "numbered" / f"{number}.xml").write_text(text)
    build_index(folder / "numbered", folder / "named", BuildOptions(name_tag="id"))
    chosen = options(folder, "SS", documents=str(folder / "numbered"))
    assert "holds no document 'lace', which is judged" in refusal(folder, **chosen)
    chosen["name_from"] = "id"
    assert gains(folder, "elements.jsonl", **chosen) == cas_campaign.KEPT["SS"]


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
        assert gains(folder, "elements.jsonl", **bare) == cas_campaign.KEPT[reading]


def test_tags_that_are_taken_for_each_other(folder: Path) -> None:
    expected = {
        (): cas_campaign.KEPT["SV"],
        ("sec=p",): cas_campaign.KEPT["VV"],
        ("ieee",): cas_campaign.KEPT["SV"],
    }
    for classes, kept in expected.items():
        chosen = options(folder, "SV", tag_classes=classes)
        assert gains(folder, "elements.jsonl", **chosen) == kept
