"""Scores do not depend on how the same judgements came in: INEX XML, JSON Lines, highlights."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import foveal
import trees
from foveal.collection import Collection, build_index
from foveal.collection.placement import place_judgements
from foveal.evaluation.conversion import derive_elements
from foveal.measures import Measure, Need, all_measures
from naive_structure import Scale

STRUCTURAL = [
    measure if not measure.cutoff.required else measure @ ("0.3" if measure.name == "ep" else "3")
    for measure in all_measures()
    if measure.structural
]
QUANTS = {"2005": ("spec", "gen5", "genLifted", "strict5"), "2006": ("spec", "strict")}


def variants(scale: Scale) -> list[Measure]:
    """All measures of elements, thorough and focused, by every function of the scale.

    What text directly inside an element is worth by grades takes a collection (mixed=text).
    """
    found = []
    for measure in STRUCTURAL:
        names = {parameter.name for parameter in measure.parameters}
        if measure.name == "inex_eval_ng":
            found += [measure(variant=v) for v in "os" if scale == "2005"]
            continue
        for quant in QUANTS[scale]:
            normal = {"normalise": True} if measure.name == "inex_eval" else {}
            chosen = measure(quant=quant, **{n: v for n, v in normal.items() if n in names})
            found.append(chosen)
            if "overlap" in names:
                mixed = "text" if quant == "spec" else "ignore"
                found.append(chosen(overlap="on", mixed=mixed))
                found.append(chosen(overlap="on", mixed="ignore", norm="overlap", tie="deeper"))
    return found


def as_xml(lines: list[dict[str, Any]]) -> str:
    """The elements of judgement objects as an assessment file of 2005."""
    parts = ['<assessments pool="1" topic="t">\n']
    for line in lines[1:]:
        parts.append(f'<file name="{line["doc"]}">\n')
        for element in line.get("elements", ()):
            said = {"path" if k == "xpath" else k: v for k, v in element.items()}
            parts.append("<element " + " ".join(f'{k}="{v}"' for k, v in said.items()) + "/>\n")
        parts.append("</file>\n")
    return "".join([*parts, "</assessments>\n"])


def without(lines: list[dict[str, Any]], *keys: str) -> list[dict[str, Any]]:
    return [{k: v for k, v in line.items() if k not in keys} for line in lines]


def with_text(lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Only elements with highlighted text, as assessors list them."""
    return [
        {**line, "elements": [e for e in line["elements"] if e["rsize"] > 0]}
        if "elements" in line
        else line
        for line in lines
    ]


def scores(
    folder: Path, files: Mapping[str, str], measures: list[Measure], index: Path | None
) -> dict[str, dict[str, float]]:
    """Scores by each of the files of judgements."""
    found = {}
    for name, text in files.items():
        (folder / name).write_text(text)
        results = foveal.evaluate(folder / "run.jsonl", folder / name, measures, collection=index)
        way = f"{name} {'with' if index else 'without'} a collection"
        found[way] = dict(zip(results.measures, results.overall[0].tolist(), strict=True))
    return found


@pytest.mark.parametrize("scale", ["2005", "2006"])
@given(data=st.data())
@settings(max_examples=12)
def test_every_way_gives_the_same_scores(scale: Scale, data: st.DataObject) -> None:
    campaign = data.draw(trees.campaigns(scales=[scale]))
    assume(campaign.results)
    full = trees.judgement_objects(campaign.documents, list_elements=True)
    some = with_text(full)
    listed = {
        "all.xml": as_xml(full),
        "all.jsonl": trees.json_lines(without(full, "spans", "bep")),
        "spans.jsonl": trees.json_lines(full),
    }
    relevant = {
        "some.xml": as_xml(some),
        "some.jsonl": trees.json_lines(without(some, "spans", "bep")),
    }
    highlights = {"some-spans.jsonl": trees.json_lines(some)}
    if scale == "2006":
        highlights["highlights.jsonl"] = trees.json_lines(without(full, "elements"))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "documents").mkdir()
        for file, text in trees.xml_files(campaign.documents).items():
            (folder / "documents" / file).write_text(text)
        build_index(folder / "documents", folder / "index")
        (folder / "run.jsonl").write_text(trees.json_lines(trees.run_objects(campaign.results)))
        measures = variants(scale)
        index = folder / "index"
        found = scores(folder, {**listed, **relevant, **highlights}, measures, index)
        alone = [measure for measure in measures if Need.SPANS not in measure.needs]
        found |= scores(folder, listed, alone, None)
        found |= scores(folder, relevant, [m for m in alone if counts_highlights(m)], None)
        expected, *_ = found.values()
        for way, values in found.items():
            same = {label: expected[label] for label in values}
            assert values == pytest.approx(same, abs=1e-12, nan_ok=True), way


@pytest.mark.parametrize("policy", ["union", "majority", "intersection"])
@given(data=st.data())
@settings(max_examples=8)
def test_several_assessors_agree_on_text_and_sizes_follow(policy: str, data: st.DataObject) -> None:
    """Highlights of three assessors, and the assessments of elements that follow from them."""
    campaign = data.draw(trees.campaigns(scales=["2006"]))
    assume(campaign.results)
    lines = without(trees.judgement_objects(campaign.documents, list_elements=False), "elements")
    judged = [lines[0]]
    for line in lines[1:]:
        ends = st.integers(0, line.get("length", 0))
        for name in "abc":
            pairs = data.draw(st.lists(st.tuples(ends, ends), max_size=2))
            spans = [{"start": min(pair), "end": max(pair)} for pair in pairs]
            own = {"topic": line["topic"], "doc": line["doc"], "length": line["length"]}
            judged.append({**own, "assessor": name, "spans": spans})
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "documents").mkdir()
        for file, text in trees.xml_files(campaign.documents).items():
            (folder / "documents" / file).write_text(text)
        build_index(folder / "documents", folder / "index")
        (folder / "run.jsonl").write_text(trees.json_lines(trees.run_objects(campaign.results)))
        (folder / "judged.jsonl").write_text(trees.json_lines(judged))
        collection = Collection.open(folder / "index")
        read = place_judgements(foveal.read_judgements(folder / "judged.jsonl"), collection)
        derived = derive_elements(read, collection)
        foveal.write_judgements(derived, folder / "xml", "inex2006")
        foveal.write_judgements(derived, folder / "both.jsonl", "jsonl")
        found = [
            foveal.evaluate(
                folder / "run.jsonl",
                folder / file,
                variants("2006"),
                collection=folder / "index",
                assessors=policy,
            )
            for file in ("judged.jsonl", "both.jsonl", "xml")
        ]
        expected = found[0].overall[0].tolist()
        for results in found[1:]:
            assert results.overall[0].tolist() == pytest.approx(expected, abs=1e-12, nan_ok=True)


TWO_ASSESSORS = [
    {"topic": "1", "doc": "d", "assessor": name, "spans": [{"start": 1, "end": 5}, other]}
    for name, other in (("a", {"start": 8, "end": 12}), ("b", {"start": 12, "end": 16}))
]


@pytest.fixture
def two_assessors(tmp_path: Path) -> Path:
    """Highlights of two assessors, their assessments as XML, a run of the whole document."""
    (tmp_path / "documents").mkdir()
    (tmp_path / "documents" / "d.xml").write_text(f"<a><b>{'x' * 6}</b>{'y' * 14}</a>")
    build_index(tmp_path / "documents", tmp_path / "index")
    collection = Collection.open(tmp_path / "index")
    (tmp_path / "judged.jsonl").write_text(trees.json_lines(TWO_ASSESSORS))
    (tmp_path / "run").write_text("1 Q0 d 1 1 r /a[1]\n")
    read = place_judgements(foveal.read_judgements(tmp_path / "judged.jsonl"), collection)
    foveal.write_judgements(derive_elements(read, collection), tmp_path / "xml", "inex2006")
    return tmp_path


@pytest.mark.parametrize(("policy", "rsize"), [("union", 12), ("intersection", 4)])
def test_the_size_of_what_two_assessors_agree_on(
    two_assessors: Path, policy: str, rsize: int
) -> None:
    for file in ("judged.jsonl", "xml"):
        results = foveal.evaluate(
            two_assessors / "run",
            two_assessors / file,
            "xCG@1",
            collection=two_assessors / "index",
            assessors=policy,
        )
        assert results.overall[0, 0] == pytest.approx(rsize / 20)
        said = [w for w in results.meta["warnings"] if "assessors" in w]
        united = "2 assessors, several for some documents: their highlights are united"
        assert [w.partition(" (")[0] for w in said] == [united] * (policy == "union")


def test_without_the_text_sizes_are_said_to_be_one_assessors(two_assessors: Path) -> None:
    def said(judgements: Path, **options: Any) -> list[str]:
        results = foveal.evaluate(two_assessors / "run", judgements, "xCG@1", **options)
        return [w for w in results.meta["warnings"] if "several assessors list" in w]

    one = (
        "elements that several assessors list have the size of one of them, not that of the text "
        "they agree on (--collection with --recompute counts it where there are passages)"
    )
    xml = two_assessors / "xml"
    for policy in ("union", "majority", "intersection"):
        assert said(xml, assessors=policy) == [one]
    assert said(xml, assessors="a") == said(xml, assessors="each") == []
    graded = two_assessors / "graded"
    graded.mkdir()
    for file in xml.iterdir():
        text = file.read_text().replace(' size="', ' exhaustivity="2" size="')
        (graded / file.name).write_text(text)
    index = two_assessors / "index"
    assert said(graded) == [one]
    assert said(graded, collection=index) == [one]
    assert said(graded, collection=index, recompute=True) == []


def counts_highlights(measure: Measure) -> bool:
    """Whether elements that are not listed make no difference, whatever their sizes."""
    own = measure.settings
    return own.get("overlap", "off") == "off" or (
        own.get("quant", "spec") == "spec" and own.get("mixed", "text") == "text"
    )
