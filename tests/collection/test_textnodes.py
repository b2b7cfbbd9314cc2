"""Text nodes: the gaps between children, and points in them, many at once."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foveal.collection import Collection, element_index
from foveal.collection.paths import TextNodes, text_nodes
from foveal.model import UNKNOWN
from xml_trees import Tree, document, index_of, tokens, trees


def nodes(elements: list[tuple[int, int]], children: list[tuple[int, int, int]]) -> TextNodes:
    columns = np.array(elements, dtype=np.int64).reshape(-1, 2).T
    return text_nodes(*columns, *np.array(children, dtype=np.int64).reshape(-1, 3).T)


def test_the_text_of_an_element_is_divided_by_its_children() -> None:
    # <a>..<b>...</b>.<c/>....</a> and, apart from it, <d/>, <e>..</e> and <f><g>.</g></f>
    found = nodes([(0, 10), (20, 20), (30, 32), (40, 41)], [(3, 40, 41), (0, 6, 6), (0, 2, 5)])
    assert found.start.tolist() == [0, 5, 6, 30]
    assert found.end.tolist() == [2, 6, 10, 32]
    assert found.owner.tolist() == [0, 0, 0, 2]
    assert found.ordinals().tolist() == [1, 2, 3, 1]


def test_the_number_of_a_text_node_may_be_too_large() -> None:
    found = nodes([(0, 10), (20, 20), (30, 32)], [(0, 2, 5)])
    element, number = np.array([0, 0, 0, 1, 2, 2, 0]), np.array([1, 2, 3, 1, 1, 2, 1 << 62])
    assert found.find(element, number).tolist() == [0, 1, -1, -1, 2, -1, -1]
    assert nodes([], []).find(np.array([0]), np.array([1])).tolist() == [UNKNOWN]


def test_empty_children_at_one_place_divide_once() -> None:
    found = nodes([(0, 4)], [(0, 2, 2), (0, 2, 2), (0, 0, 0), (0, 4, 4)])
    assert (found.start.tolist(), found.end.tolist()) == ([0, 2], [2, 4])


def naive_points(tree: Tree, doc: str) -> dict[tuple[str, str], tuple[int, int]]:
    """Each point of each text node, character by character through the tags."""
    found: dict[tuple[str, str], tuple[int, int]] = {}
    above: list[str] = []
    numbers: dict[str, int] = {}
    at, inside = 0, 0
    for kind, value in tokens(tree, f"/{tree.tag}[1]"):
        if kind != "text":
            inside = 0
            above.append(value) if kind == "open" else above.pop()
        elif value:
            numbers[above[-1]] = numbers.get(above[-1], 0) + (inside == 0)
            for offset in {*range(min(9, len(value))), len(value)}:
                path = f"{above[-1]}/text()[{numbers[above[-1]]}].{inside + offset}"
                found[doc, path] = (at + offset, at + offset)
            at, inside = at + len(value), inside + len(value)
    return found


@pytest.mark.parametrize("at_once", [1, 40, 1_000_000])
@settings(max_examples=20)
@given(st.lists(trees, min_size=1, max_size=4))
def test_points_of_several_documents_at_once(
    at_once: int, tmp_path_factory: pytest.TempPathFactory, some: list[Tree]
) -> None:
    folder = tmp_path_factory.mktemp("nodes")
    files: dict[str, str | bytes] = {f"{i}.xml": document(tree) for i, tree in enumerate(some)}
    collection = index_of(folder, files)
    expected: dict[tuple[str, str], tuple[int, int]] = {}
    for i, tree in enumerate(some):
        expected |= naive_points(tree, str(i))
    if not expected:
        return
    pairs = sorted(expected)[:2000]
    docs, points = zip(*pairs, strict=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(element_index, "_AT_ONCE", at_once)
        found = collection.resolve(pl.Series(docs), pl.Series(points))
        past = collection.resolve(pl.Series(docs), pl.Series([f"{p}9999999" for p in points]))
    assert found.problem == {}
    assert found.start.tolist() == found.end.tolist() == [expected[pair][0] for pair in pairs]
    assert list(past.problem) == list(range(len(pairs)))


def test_ranges_from_any_point_to_any_other(tmp_path: Path) -> None:
    collection: Collection = index_of(
        tmp_path, {"d.xml": "<a>xy<b>z</b><c/>w</a>", "e.xml": "<a/>"}
    )
    places = {
        "/a/text()[1].0": (0, 0),
        "/a/text()[1]": (0, 2),
        "/a/b/text()[1].1": (3, 3),
        "/a/text()[2].1": (4, 4),
        "/a/c/@i": (3, 3),
        "/a/b": (2, 3),
    }
    pairs = list(product(places, places))
    found = collection.resolve(
        pl.Series(["d"] * len(pairs)), pl.Series([f"{first} {last}" for first, last in pairs])
    )
    for i, (first, last) in enumerate(pairs):
        start, (since, end) = places[first][0], places[last]
        if start < end or start == end == since:
            assert (found.start[i], found.end[i]) == (start, end)
        else:
            assert i in found.problem
    assert 0 < len(found.problem) < len(pairs)
    empty = collection.resolve(pl.Series(["e"]), pl.Series(["/a/text()[1].0"]))
    assert empty.problem == {0: "'/a/text()[1].0' is no place in document 'e'"}
