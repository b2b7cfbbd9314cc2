"""Paths by their numbers and back, against all of them written out."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foveal.collection import Collection
from foveal.collection.element_index import PathIndex
from foveal.collection.parsing import PathTable
from foveal.model import UNKNOWN
from xml_trees import index_of

TAGS = ["a", "p", "m:math"]


@st.composite
def tables(draw: st.DrawFn) -> list[tuple[int, int, int]]:
    """Parent, tag and ordinal of distinct paths, parents first."""
    rows: list[tuple[int, int, int]] = []
    for _ in range(draw(st.integers(0, 20))):
        parent = draw(st.integers(-1, len(rows) - 1))
        row = (parent, draw(st.integers(0, 2)), draw(st.sampled_from([1, 2, 10, 2**32 - 1])))
        if row not in rows:
            rows.append(row)
    return rows


def of_rows(rows: list[tuple[int, int, int]]) -> PathIndex:
    columns = np.array(rows, dtype=np.int64).reshape(-1, 3).T
    kinds = enumerate(("<i4", "<u4", "<u4"))
    return PathIndex(PathTable(*(columns[i].astype(kind) for i, kind in kinds), tuple(TAGS)))


def written(rows: list[tuple[int, int, int]]) -> list[str]:
    """Every path, naively."""
    texts: list[str] = []
    for parent, tag, ordinal in rows:
        texts.append(f"{texts[parent] if parent >= 0 else ''}/{TAGS[tag]}[{ordinal}]")
    return texts


@settings(max_examples=60)
@given(tables(), st.data())
def test_numbers_and_texts_lead_to_each_other(
    rows: list[tuple[int, int, int]], data: st.DataObject
) -> None:
    paths, texts = of_rows(rows), written(rows)
    some = st.lists(st.integers(0, len(rows) - 1), max_size=30) if rows else st.just([])
    asked = data.draw(some)
    assert paths.texts(np.array(asked, dtype=np.int64)).to_list() == [texts[i] for i in asked]
    others = [f"{text}/p[3]" for text in texts] + [f"{text}/q[1]" for text in texts]
    found = paths.numbers(pl.Series(texts + others + texts, dtype=pl.String)).tolist()
    numbers = list(range(len(rows)))
    assert found == numbers + [UNKNOWN] * len(others) + numbers


@pytest.mark.parametrize(
    "xpath",
    [None, "", "/", "//", "a[1]", "/a", "/a[01]", "/a[1]/", "//a[1]", "/a[1]//p[2]", "/a[1] ",
     "/a[1]/p[99999999999999999999]", "/a[1]/p[-2]", "/p[2]", "/p[1]", "/a[1]/p[2]/a[1]"],
)  # fmt: skip
def test_what_is_no_path_of_the_index_has_no_number(xpath: str | None) -> None:
    paths = of_rows([(-1, 0, 1), (0, 1, 1), (0, 1, 2)])
    found = paths.numbers(pl.Series(["/a[1]/p[2]", xpath], dtype=pl.String))
    assert found.tolist() == [2, UNKNOWN]


def test_paths_that_are_not_asked_for_are_not_written(tmp_path: Path) -> None:
    text = f"<r>{'<a>' * 500}{'<b/>' * 3000}{'</a>' * 500}</r>"
    index_of(tmp_path, {"d.xml": text})
    collection = Collection.open(tmp_path / "index")
    deepest = f"/r[1]{'/a[1]' * 500}/b[3000]"
    assert sum(map(len, collection.xpaths())) > 7_000_000
    # In a process of its own: XPaths that other tests looked up are kept in memory.
    program = """
import sys, tracemalloc
from foveal.collection import Collection
collection, deepest = Collection.open(sys.argv[1]), sys.argv[2]
tracemalloc.start()
assert collection.element("d", deepest).xpath == deepest
assert collection.smallest_around("d", 0, 0).xpath == "/r[1]"
print(tracemalloc.get_traced_memory()[1])
"""
    command = [sys.executable, "-c", program, str(tmp_path / "index"), deepest]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert int(done.stdout) < 4_000_000
