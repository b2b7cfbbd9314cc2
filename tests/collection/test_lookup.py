"""From documents and XPaths to spans and back, against dictionaries of the same trees."""

from __future__ import annotations

import random
from itertools import pairwise
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foveal.collection import WHITESPACE, Collection, Element
from foveal.model import UNKNOWN
from xml_trees import Spans, Tree, document, expected, index_of, text_nodes, trees

ARTICLE = (
    "<article><title>On <b>mixed</b> content</title>"
    "<sec><p>One<br/>two<i>three</i>four</p><p>five</p></sec>"
    "<sec><p><i>six</i></p></sec></article>"
)
TEXT = "On mixed contentOnetwothreefourfivesix"


@pytest.fixture(scope="module")
def collection(tmp_path_factory: pytest.TempPathFactory) -> Collection:
    files: dict[str, str | bytes] = {"co/a.xml": ARTICLE, "b.txt": "plain", "c.xml": "<p/>"}
    return index_of(tmp_path_factory.mktemp("lookup"), files)


def resolve(collection: Collection, *pairs: tuple[str | None, str | None]) -> list[object]:
    """The span of each pair, or what is wrong with it."""
    docs, xpaths = (pl.Series(side, dtype=pl.String) for side in zip(*pairs, strict=True))
    found = collection.resolve(docs, xpaths)
    spans = zip(found.start.tolist(), found.end.tolist(), strict=True)
    for i in found.problem:
        assert (found.start[i], found.end[i]) == (UNKNOWN, UNKNOWN)
    return [found.problem.get(i, span) for i, span in enumerate(spans)]


# -- XPath to span --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("/article", TEXT),
        ("/article/title", "On mixed content"),
        ("/article[1]/title/b[1]", "mixed"),
        ("/article/sec/p", "Onetwothreefour"),
        ("/article[1]/sec[1]/p[2]", "five"),
        ("/article/sec/p/text()[1]", "One"),
        ("/article/sec/p/text()", "One"),
        ("/article/sec/p/text()[2]", "two"),
        ("/article/sec/p/text()[3]", "four"),
        ("/article/sec/p/text()[1].0 /article/sec/p/text()[1].2", "On"),
        ("/article/sec/p/text()[1].1 /article/sec/p/text()[3].4", "netwothreefour"),
        ("/article/sec/p/text()[3].0 /article/sec/p[2]", "fourfive"),
        ("/article/title/b /article/sec/p/i", "mixed contentOnetwothree"),
        ("/article/sec[1]/p[2]   /article/sec[2]", "fivesix"),
        ("/article/title/text()[2].3", ""),
        ("/article/sec/p/text()[1].3", ""),
        ("/article/sec/@id", ""),
        ("/article/sec/p/br", ""),
        ("/article/sec[2]/@id /article/sec[2]/p/i/text()[1].1", "s"),
    ],
)
def test_elements_points_attributes_and_ranges(
    collection: Collection, path: str, text: str
) -> None:
    (span,) = resolve(collection, ("co/a", path))
    assert isinstance(span, tuple), span
    assert TEXT[span[0] : span[1]] == text


@pytest.mark.parametrize(
    ("doc", "xpath", "message"),
    [
        ("a", "/article", "document 'a' is not in the collection"),
        ("", "/article", "document '' is not in the collection"),
        (None, "/article", "document None is not in the collection"),
        ("co/a", "/article[2]", "document 'co/a' has no element '/article[2]'"),
        ("co/a", "/article/sec[3]", "document 'co/a' has no element '/article/sec[3]'"),
        ("co/a", "/text[1]", "document 'co/a' has no element '/text[1]'"),
        ("co/a", "/unknown", "document 'co/a' has no element '/unknown'"),
        ("co/a", "/article /nowhere", "document 'co/a' has no element '/article /nowhere'"),
        ("co/a", "article", "'article' is not a place in document 'co/a'"),
        ("co/a", "//p", "'//p' is not a place in document 'co/a'"),
        ("co/a", "/article[0]", "'/article[0]' is not a place in document 'co/a'"),
        ("co/a", "/article[x]", "'/article[x]' is not a place in document 'co/a'"),
        ("co/a", "/article/", "'/article/' is not a place in document 'co/a'"),
        ("co/a", "/", "'/' is not a place in document 'co/a'"),
        ("co/a", "", "'' is not a place in document 'co/a'"),
        ("co/a", None, "None is not a place in document 'co/a'"),
        ("co/a", "/article /article /article", "'/article /article /article' is not a place"),
        ("co/a", "/article/sec/p[2] /article/title", "is not a place in document 'co/a'"),
        ("co/a", "/article/sec/p/text()[4]", "is not a place in document 'co/a'"),
        ("co/a", "/article/sec/p/text()[1].4", "is not a place in document 'co/a'"),
        ("co/a", "/article/sec/p/text()[1].-1", "is not a place in document 'co/a'"),
        ("co/a", "/article/q/text()[1].0", "is not a place in document 'co/a'"),
    ],
)
def test_what_cannot_be_found_is_said(
    collection: Collection, doc: str | None, xpath: str | None, message: str
) -> None:
    good = ("b", "/text")
    first, wrong, last = resolve(collection, good, (doc, xpath), good)
    assert first == last == (0, 5)
    assert isinstance(wrong, str)
    assert message in wrong


def test_points_in_text_need_the_white_space(tmp_path: Path) -> None:
    merged = index_of(tmp_path, {"d.xml": "<a>x <b> y</b> z</a>"}, whitespace="merge")
    found = resolve(merged, ("d", "/a/text()[2].1"), ("d", "/a/b /a"), ("d", "/a/@id"))
    message = "counts the characters of a text node, but the index merges white space"
    assert found == [f"'/a/text()[2].1' {message}", (2, 5), (0, 0)]


def test_text_nodes_that_are_stripped_do_not_count(tmp_path: Path) -> None:
    stripped = index_of(tmp_path, {"d.xml": "<a> <b>x</b> <b/> y</a>"}, whitespace="strip")
    assert resolve(stripped, ("d", "/a/text()[1].1 /a")) == [(2, 3)]


@settings(max_examples=40)
@given(trees)
def test_points_of_random_documents_lead_back(
    tmp_path_factory: pytest.TempPathFactory, tree: Tree
) -> None:
    nodes = {span: path for path, span in text_nodes(tree, f"/{tree.tag}[1]").items()}
    collection = index_of(tmp_path_factory.mktemp("points"), {"d.xml": document(tree)})
    length = int(collection.documents["length"][0])
    offsets = np.arange(length + 1)
    for closing in (False, True):
        points = collection.points(
            pl.Series(["d"] * len(offsets)), offsets, np.full(length + 1, closing)
        )
        assert resolve(collection, *(("d", point) for point in points)) == [
            (at, at) if length else (0, 0) for at in range(length + 1)
        ]
        for at, point in enumerate(points):
            inside = at - 1 if (closing and at) or at == length else at
            own = [path for (start, end), path in nodes.items() if start <= inside < end]
            assert point.rpartition(".")[0] in own if length else point == f"/{tree.tag}[1]"


# -- random collections ---------------------------------------------------------------------------


def shortened(path: str, rng: random.Random) -> str:
    """The path with some of its [1] left out."""
    steps = path.split("[1]")
    return "".join(step + rng.choice(["", "[1]"]) for step in steps[:-1]) + steps[-1]


@pytest.mark.parametrize("whitespace", WHITESPACE)
@settings(max_examples=25)
@given(
    st.lists(trees, min_size=1, max_size=5),
    st.integers(0, 1000),
)
def test_random_collections(
    whitespace: str,
    tmp_path_factory: pytest.TempPathFactory,
    some: list[Tree],
    seed: int,
) -> None:
    oracle = {f"d{i}": expected(tree, whitespace)[1] for i, tree in enumerate(some)}
    files: dict[str, str | bytes] = {f"d{i}.xml": document(tree) for i, tree in enumerate(some)}
    collection = index_of(tmp_path_factory.mktemp("random"), files, whitespace=whitespace)
    rng = random.Random(seed)
    everything = sorted({path for spans in oracle.values() for path in spans})
    pairs = [(doc, path) for doc in [*oracle, "none"] for path in [*everything, "/none[1]"]]
    rng.shuffle(pairs)
    found = resolve(collection, *((doc, shortened(path, rng)) for doc, path in pairs))
    for (doc, path), span in zip(pairs, found, strict=True):
        if path in oracle.get(doc, {}):
            assert span == oracle[doc][path]
        else:
            assert isinstance(span, str)
    check_numbers(collection, oracle)


def check_numbers(collection: Collection, oracle: dict[str, Spans]) -> None:
    """find: by the numbers of documents and paths."""
    names, paths = collection.documents["doc"].to_list(), collection.xpaths().to_list()
    doc, path = np.meshgrid(np.arange(-1, len(names)), np.arange(-1, len(paths)))
    found = collection.find(doc.ravel(), path.ravel())
    # The first question is answered by a binary search, later ones from slots.
    collection._asked = collection.elements  # enough for a slot for each element
    for find in (collection._find_in_order, collection.find):
        assert find(doc.ravel(), path.ravel()).tolist() == found.tolist()
    hits = 0
    for d, p, element in zip(doc.ravel(), path.ravel(), found, strict=True):
        there = d >= 0 and p >= 0 and paths[p] in oracle[names[d]]
        assert (element != UNKNOWN) == there
        hits += there
    assert hits == collection.elements == len(set(found.tolist()) - {UNKNOWN})
    assert sorted(paths) == sorted({path for spans in oracle.values() for path in spans})


@settings(max_examples=50)
@given(trees, st.integers(0, 60), st.integers(0, 60))
def test_the_way_back(
    tmp_path_factory: pytest.TempPathFactory, tree: Tree, one: int, other: int
) -> None:
    text, spans = expected(tree, "keep")
    collection = index_of(tmp_path_factory.mktemp("back"), {"d.xml": document(tree)})
    elements = {Element(path, start, end) for path, (start, end) in spans.items()}
    start, end = sorted((min(one, len(text)), min(other, len(text))))

    everything = collection.all_elements("d")
    assert set(everything) == elements
    assert len(everything) == len(elements)
    in_order(everything, list(spans))

    if start == end:  # test_empty_places.py
        end = min(start + 1, len(text))
        start = max(end - 1, 0)
    around = {e for e in elements if e.start <= start and end <= e.end}
    found = collection.smallest_around("d", start, end)
    assert found in around
    size = min(e.end - e.start for e in around)
    assert found.end - found.start == size
    if not text:
        return
    deepest = max(e.xpath.count("/") for e in around if e.end - e.start == size)
    assert found.xpath.count("/") == deepest


def in_order(found: list[Element], order: list[str]) -> None:
    """Document order, but for empty elements of different tags at one place."""
    place = {path: number for number, path in enumerate(order)}
    for before, after in pairwise(found):
        tie = (before.start, before.end) == (after.start, after.end) and before.start == before.end
        assert tie or place[before.xpath] < place[after.xpath]


def test_document_order_with_empty_elements(tmp_path: Path) -> None:
    collection = index_of(tmp_path, {"d.xml": "<a><b/><c><d/>x<e/></c><b/>y<b><f/></b></a>"})
    assert [element.xpath for element in collection.all_elements("d")] == [
        "/a[1]",
        "/a[1]/b[1]",
        "/a[1]/c[1]",
        "/a[1]/c[1]/d[1]",
        "/a[1]/c[1]/e[1]",
        "/a[1]/b[2]",
        "/a[1]/b[3]",
        "/a[1]/b[3]/f[1]",
    ]


# -- the rest -------------------------------------------------------------------------------------


def test_what_is_not_there_is_a_key_error(collection: Collection) -> None:
    with pytest.raises(KeyError, match="x"):
        collection.all_elements("x")
    with pytest.raises(KeyError, match="has no element"):
        collection.element("co/a", "/article/q")
    with pytest.raises(KeyError):
        collection.element("co/a", "/article/text()[1]")
    with pytest.raises(KeyError, match="no element of 'b' holds"):
        collection.smallest_around("b", 0, 6)


def test_a_collection_tells_its_documents(collection: Collection) -> None:
    assert list(collection) == ["b", "c", "co/a"]
    assert len(collection) == 3
    assert collection.mean_length == pytest.approx((5 + 0 + len(TEXT)) / 3)
    lengths = collection.lengths(pl.Series(["co/a", "x", None, "c", "b", "b"]))
    assert lengths.tolist() == [len(TEXT), UNKNOWN, UNKNOWN, 0, 5, 5]
    assert collection.element("b", "/text") == Element("/text[1]", 0, 5)


def test_an_empty_collection(tmp_path: Path) -> None:
    empty = index_of(tmp_path, {"d.xml": "<a>"}, max_errors=1)
    assert list(empty) == []
    assert resolve(empty, ("d", "/a")) == ["document 'd' is not in the collection"]
    assert np.isnan(empty.mean_length)
    assert empty.find(np.array([-1]), np.array([0])).tolist() == [UNKNOWN]


def test_no_pairs_at_all(collection: Collection) -> None:
    none = pl.Series([], dtype=pl.String)
    found = collection.resolve(none, none)
    assert (len(found.start), len(found.end), found.problem) == (0, 0, {})


def test_a_range_whose_ends_are_swapped_is_no_place(tmp_path: Path) -> None:
    collection = index_of(tmp_path, {"d.xml": "<a><p>one</p><p>two</p><e/><e/></a>"})
    ranges = ["/a/p[2] /a/p[1]", "/a/p[1] /a/p[2]", "/a/e[1] /a/e[2]", "/a/p[2] /a"]
    found = collection.resolve(pl.Series(["d"] * len(ranges)), pl.Series(ranges))
    assert list(found.problem) == [0]
    assert found.start.tolist()[1:] == [0, 6, 3]
    assert found.end.tolist()[1:] == [6, 6, 6]


def test_paths_that_are_no_element_written_out_have_a_place_but_no_number(tmp_path: Path) -> None:
    collection = index_of(tmp_path, {"d.xml": "<a><p x='1'>one</p><q/><p>two</p></a>"})
    paths = ["/a/p[2]", "/a[1]/p[1]/@x", "/a[1]/q[1]", "/a[1]/p[1]/text()[1].1", "p", None]
    found = collection.resolve(pl.Series(["d"] * len(paths)), pl.Series(paths))
    # Numbers follow the paths, and p[2] comes before q[1].
    assert found.element.tolist() == [-1, -1, 3, -1, -1, -1]
    assert found.start.tolist() == [3, 0, 3, 1, -1, -1]
    assert found.end.tolist() == [6, 0, 3, 1, -1, -1]
    assert list(found.problem) == [4, 5]
