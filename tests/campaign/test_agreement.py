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
import toy_elements
import trees
from foveal.collection import build_index
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
@settings(max_examples=12, deadline=None)
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


def counts_highlights(measure: Measure) -> bool:
    """Whether elements that are not listed make no difference, whatever their sizes."""
    own = measure.settings
    return own.get("overlap", "off") == "off" or (
        own.get("quant", "spec") == "spec" and own.get("mixed", "text") == "text"
    )


def test_the_toy_collection_by_hand(tmp_path: Path) -> None:
    """The same campaign without drawing: three ways in, values from the worked examples."""
    build_index(toy_elements.write_documents(tmp_path), tmp_path / "index")
    (tmp_path / "run.jsonl").write_text(
        toy_elements.run([toy_elements.P2, toy_elements.A2, toy_elements.S1])
    )
    lines = toy_elements.judgement_lines()
    files = {
        "xml": toy_elements.assessments("2006"),
        "elements": toy_elements.judgements(without(lines, "spans", "bep", "length")),
    }
    highlights = {"highlights": toy_elements.judgements(without(lines, "elements"))}
    gr, nxcg = foveal.parse_measure("gr@3"), foveal.parse_measure("nxCG(overlap=on)@3")
    found = scores(tmp_path, files, [gr, nxcg], None)
    found |= scores(tmp_path, {**files, **highlights}, [gr, nxcg], tmp_path / "index")
    assert len(found) == 5
    # p2 1 and then s1 what is left of it, 10 of 60 characters; s1 is ideal and worth .5.
    for values in found.values():
        assert values[gr.label] == pytest.approx(2.5 / 6.15)
        assert values[nxcg.label] == pytest.approx((0.5 + 1) / 2)
