"""Documents and paths to elements, many at a time, against one look at every element."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import polars as pl
from hypothesis import given, settings
from hypothesis import strategies as st

import xml_trees
from foveal.collection import Collection
from foveal.model import UNKNOWN

# Indexing takes longer than all look-ups: every example asks for everything, and twice.


def naive(collection: Collection) -> dict[tuple[str, str], tuple[int, int, int]]:
    """Place among its document's elements, start and end of every element."""
    order = {path: i for i, path in enumerate(collection.xpaths())}
    found = {}
    for doc in collection:
        own = sorted(collection.all_elements(doc), key=lambda element: order[element.xpath])
        for place, element in enumerate(own):
            found[doc, element.xpath] = (place, element.start, element.end)
    return found


@settings(max_examples=40)
@given(st.lists(xml_trees.trees, min_size=1, max_size=4), st.randoms(use_true_random=False))
def test_every_pair_of_document_and_path(trees: list[xml_trees.Tree], random: st.randoms) -> None:
    with tempfile.TemporaryDirectory() as folder:
        files: dict[str, str | bytes] = {
            f"{i}.xml": xml_trees.document(tree) for i, tree in enumerate(trees)
        }
        collection = xml_trees.index_of(Path(folder), files)
        known, docs = naive(collection), [*collection, "none"]
        paths = [*collection.xpaths(), "/zz[1]", "/zz[1]/b[2]"]
        asked = [(doc, path) for doc in docs for path in paths] * 2
        random.shuffle(asked)
        doc, xpath = (pl.Series(column, dtype=pl.String) for column in zip(*asked, strict=True))
        for _ in range(2):  # new ones, and known ones
            found = collection.resolve(doc, xpath)
            columns = (found.element, found.start, found.end)
            rows = list(zip(*(column.tolist() for column in columns), strict=True))
            assert rows == [known.get(pair, (UNKNOWN,) * 3) for pair in asked]
            assert set(found.problem) == {i for i, pair in enumerate(asked) if pair not in known}


def test_paths_that_are_no_element_written_out_have_a_place_but_no_number(tmp_path: Path) -> None:
    collection = xml_trees.index_of(tmp_path, {"d.xml": "<a><p x='1'>one</p><q/><p>two</p></a>"})
    paths = ["/a/p[2]", "/a[1]/p[1]/@x", "/a[1]/q[1]", "/a[1]/p[1]/text()[1].1", "p", None]
    found = collection.resolve(pl.Series(["d"] * len(paths)), pl.Series(paths))
    # Numbers follow the paths, and p[2] comes before q[1].
    assert found.element.tolist() == [-1, -1, 3, -1, -1, -1]
    assert found.start.tolist() == [3, 0, 3, 1, -1, -1]
    assert found.end.tolist() == [6, 0, 3, 1, -1, -1]
    assert list(found.problem) == [4, 5]


def test_nothing_is_asked_and_nothing_is_there(tmp_path: Path) -> None:
    collection = xml_trees.index_of(tmp_path, {"d.xml": "<a/>"})
    nothing = np.zeros(0, dtype=np.int64)
    assert collection.find(nothing, nothing).tolist() == []
    assert collection.find(np.array([0, -1, 0]), np.array([0, 0, -1])).tolist() == [0, -1, -1]
