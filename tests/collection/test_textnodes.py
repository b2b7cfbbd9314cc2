"""Text nodes: the gaps between children, and points in them, many at once."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foveal.collection import Collection, element_index
from xml_trees import Tree, document, index_of, text_nodes, trees


def test_the_text_of_an_element_is_divided_by_its_children(tmp_path: Path) -> None:
    text = "<r><a>..<b>...</b>.<c/>....</a><d/><e>..</e><f><g>.</g></f></r>"
    trees = index_of(tmp_path, {"d.xml": text}).trees(pl.Series(["d"]))
    start, end, owner = trees.text_nodes()
    found = sorted(zip(start.tolist(), end.tolist(), trees.start[owner].tolist(), strict=True))
    assert found == [(0, 2, 0), (2, 5, 2), (5, 6, 0), (6, 10, 0), (10, 12, 10), (12, 13, 12)]
    assert owner.tolist() == sorted(owner.tolist())


def test_the_number_of_a_text_node_may_be_too_large(tmp_path: Path) -> None:
    collection = index_of(tmp_path, {"d.xml": "<a>..<b>...</b>.....<c/></a>"})
    paths = ["/a", "/a", "/a", "/a/c", "/a/b", "/a/b", "/a"]
    places = [f"{p}/text()[{k}]" for p, k in zip(paths, [1, 2, 3, 1, 1, 2, 1 << 62], strict=True)]
    found = collection.resolve(pl.Series(["d"] * len(places)), pl.Series(places))
    assert found.start.tolist() == [0, 5, -1, -1, 2, -1, -1]


def test_empty_children_at_one_place_divide_once(tmp_path: Path) -> None:
    collection = index_of(tmp_path, {"d.xml": "<a><b/>..<b/><b/>..<b/></a>"})
    start, end, _ = collection.trees(pl.Series(["d"])).text_nodes()
    assert (start.tolist(), end.tolist()) == ([0, 2], [2, 4])


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
        for path, (start, end) in text_nodes(tree, f"/{tree.tag}[1]").items():
            places = {*range(min(9, end - start)), end - start}
            points = {(str(i), f"{path}.{n}"): (start + n, start + n) for n in places}
            expected |= {(str(i), path): (start, end), **points}
    if not expected:
        return
    pairs = sorted(expected)[:2000]
    docs, points = zip(*pairs, strict=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(element_index, "_AT_ONCE", at_once)
        found = collection.resolve(pl.Series(docs), pl.Series(points))
        beyond = [f"{p.partition('.')[0]}.9999999" for p in points]
        past = collection.resolve(pl.Series(docs), pl.Series(beyond))
    assert found.problem == {}
    spans = zip(found.start.tolist(), found.end.tolist(), strict=True)
    assert list(spans) == [expected[pair] for pair in pairs]
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
    assert empty.problem == {0: "'/a/text()[1].0' is not a place in document 'e'"}
