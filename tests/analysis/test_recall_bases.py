"""Recall bases as tables and trees against the naive definitions, on drawn campaigns."""

from __future__ import annotations

import re
import tempfile
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive_structure as naive
import trees
from foveal.analysis.recall_bases import BASES, TIES, RecallBase, recall_base
from foveal.collection import build_index
from foveal.errors import UsageError
from foveal.measures import toy
from foveal.report.write import render


def built(campaign: trees.Campaign, folder: Path, *, indexed: bool, **options: str) -> RecallBase:
    """The bases of a drawn campaign, with an index or from the listed elements alone."""
    listed = trees.judgement_objects(campaign.documents, list_elements=not indexed)
    judged_in = folder / "judgements.jsonl"
    judged_in.write_text(trees.json_lines(listed))
    if not indexed:
        return recall_base(judged_in, "t", **options)
    (folder / "documents").mkdir()
    for name, content in trees.xml_files(campaign.documents).items():
        (folder / "documents" / name).write_text(content)
    build_index(folder / "documents", folder / "index")
    return recall_base(judged_in, "t", collection=folder / "index", **options)


def steps(xpath: str) -> list[tuple[str, int]]:
    return [(tag, int(number)) for tag, number in re.findall(r"/([^/\[]+)\[(\d+)\]", xpath)]


def drawn_paths(base: RecallBase) -> list[tuple[str, str]]:
    """Document and XPath of every element, read off the drawing."""
    found, doc, above = [], "", [""]
    for row in base.tables()[0].rows:
        branches, label = re.fullmatch(r"((?:[│├└ ][─ ] )*)(.*)", row[0]).groups()
        if not any(row[1:]):
            doc = label
        else:
            depth = len(branches) // 3 + 1
            above[depth:] = [f"{above[depth - 1]}/{label}"]
            found.append((doc, above[depth]))
    return found


@settings(max_examples=50)
@given(
    trees.campaigns(max_results=0),
    st.booleans(),
    st.sampled_from(["gen", "strict"]),
    st.sampled_from(BASES),
    st.sampled_from(TIES),
)
def test_tables_and_trees_hold_what_the_definitions_say(
    campaign: trees.Campaign, indexed: bool, quant: str, base: str, tie: str
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        found = built(campaign, Path(folder), indexed=indexed, quant=quant, base=base, tie=tie)
    q = naive.quantised(campaign.documents, quant)
    full = naive.full_base(q)
    ideal = naive.ideal_base(campaign.documents, q, base=base, tie=tie)
    rows = list(found.elements.iter_rows(named=True))
    keys = [(row["doc"], row["xpath"]) for row in rows]

    on_paths = [k for k in q if k in full or any(naive.is_below(other, k) for other in full)]
    if indexed:
        assert keys == on_paths  # both in document order
    else:
        assert keys == sorted(on_paths, key=lambda key: (key[0], steps(key[1])))
    for key, row in zip(keys, rows, strict=True):
        assert row["worth"] == pytest.approx(float(q[key]), abs=1e-15)
        assert row["relevant"] == (key in full)
        assert row["ideal"] == (key in ideal)
        ends = key in full and not any(naive.is_below(other, key) for other in full)
        assert row["leaf"] == ends
        assert row["depth"] == len(steps(key[1]))
        node = naive.paths(campaign.documents[key[0]].tree)[key[1]]
        assert row["size"] in ((node.size,) if indexed else (node.size, None))

    worth = float(sum(q[key] for key in ideal))
    assert found.summary().endswith(f"{len(ideal)} ideal worth {worth:.4f}.")
    if rows:
        assert drawn_paths(found) == keys
        shown = str(render(found, "table"))
        assert re.sub(r"\033\[\d*m", "", str(render(found, "table", bold=True))) == shown


def test_deep_trees_are_drawn_to_the_end() -> None:
    deep = "/a[1]" + "/b[1]" * 250
    element = pl.DataFrame(
        {"row": [0], "xpath": [deep], "exhaustivity": ["2"], "size": [9], "rsize": [9]}
    )
    base = recall_base(replace(toy.judgements(), elements=element), "toy", docs=["D1"])
    assert base.elements["depth"].to_list() == list(range(1, 252))
    assert drawn_paths(base)[-1] == ("D1", deep)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"quant": "sogg"}, "quant 'sogg' is not one of spec, strict, gen"),
        ({"tie": "first"}, "tie 'first' is not one of ascendant, deeper"),
        ({"base": "best"}, "base 'best' is not one of ideal, maxsum"),
        ({"assessors": "each"}, "takes one set of judgements"),
    ],
)
def test_wrong_options_are_refused(options: dict[str, str], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        recall_base(toy.judgements(), "toy", **options)
