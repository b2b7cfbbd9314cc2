"""Places without extent: the element that holds them is not the one that ends there."""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given, settings

from foveal.collection import Collection, Element
from foveal.collection.placement import place_run
from foveal.evaluation.validation import find_off_target
from foveal.formats.xpaths import owners
from foveal.model import Run
from foveal.model.topics import Topic, Topics
from xml_trees import Tree, document, expected, index_of, trees

KNOTS = "<article><title>Knots</title><pb/><sec id='s'><p>One rope.</p></sec><end/></article>"


@pytest.fixture(scope="module")
def knots(tmp_path_factory: pytest.TempPathFactory) -> Collection:
    files: dict[str, str | bytes] = {"d.xml": KNOTS, "none.xml": "<a><b/><c/></a>"}
    return index_of(tmp_path_factory.mktemp("knots"), files)


@pytest.mark.parametrize(
    ("offset", "xpath"),
    [
        (0, "/article[1]/title[1]"),
        (4, "/article[1]/title[1]"),
        (5, "/article[1]/sec[1]/p[1]"),  # where the title ends, and beside <pb/>
        (13, "/article[1]/sec[1]/p[1]"),
        (14, "/article[1]/sec[1]/p[1]"),  # the end of the text
    ],
)
def test_a_place_belongs_to_the_element_of_the_character_after_it(
    knots: Collection, offset: int, xpath: str
) -> None:
    assert knots.smallest_around("d", offset, offset).xpath == xpath


def test_without_text_it_is_the_root(knots: Collection) -> None:
    assert knots.smallest_around("none", 0, 0) == Element("/a[1]", 0, 0)


@pytest.mark.parametrize("offset", [-1, 15])
def test_past_the_text_there_is_no_element(knots: Collection, offset: int) -> None:
    with pytest.raises(KeyError, match=rf"no element of 'd' holds \[{offset},{offset}\)"):
        knots.smallest_around("d", offset, offset)


@settings(max_examples=40)
@given(trees)
def test_every_place_of_random_documents(
    tmp_path_factory: pytest.TempPathFactory, tree: Tree
) -> None:
    text, spans = expected(tree, "keep")
    collection = index_of(tmp_path_factory.mktemp("places"), {"d.xml": document(tree)})
    for at in {*range(min(len(text), 20)), len(text)}:
        character = min(at, max(len(text) - 1, 0))
        holders = [path for path, (s, e) in spans.items() if s <= character < e]
        # The holders of one character lie in each other.
        inmost = max(holders, key=lambda path: path.count("/")) if text else f"/{tree.tag}[1]"
        assert collection.smallest_around("d", at, at).xpath == inmost


def test_owners_of_attributes_and_points() -> None:
    paths = {
        "/article/sec/@id": "/article[1]/sec[1]",
        "/article[1]/sec[2]/@id[1]": "/article[1]/sec[2]",
        " /a/p/text()[1].0 ": "/a[1]/p[1]",
        "/a/p/text()[2].7": "/a[1]/p[1]",
        "/a/p": None,
        "/a/p/text()[2]": None,
        "/a/@x /a/p": None,
        "//p/@id": None,
        "": None,
    }
    found = owners(pl.Series([*paths, None], dtype=pl.String))
    assert found.to_list() == [*paths.values(), None]
    assert len(owners(pl.Series([], dtype=pl.String))) == 0


@pytest.mark.parametrize(
    ("place", "element"),
    [
        ({"start": 5, "end": 5}, "/article[1]/sec[1]/p[1]"),
        ({"start": 14, "end": 14}, "/article[1]/sec[1]/p[1]"),
        ({"start": 5, "end": 5, "xpath": "/article/sec/@id"}, "/article[1]/sec[1]"),
        ({"start": 5, "end": 5, "xpath": "/article/title/text()[1].5"}, "/article[1]/title[1]"),
    ],
)
def test_the_targets_of_strict_tasks(
    knots: Collection, place: dict[str, object], element: str
) -> None:
    run = Run.from_frame(pl.DataFrame([{"topic": "1", "doc": "d"} | place]), name="r")
    run = place_run(run, knots)
    fits = f"//{element.rpartition('/')[2][:-3]}[about(., x)]"
    good, bad = (Topics.of([Topic("1", castitle=t)]) for t in (fits, "//pb[about(., x)]"))
    assert list(find_off_target(run, good, knots)) == []
    at = place["start"]
    assert list(find_off_target(run, bad, knots)) == [
        ("run.target", 0, f"[{at},{at}) lies in {element}, not a target of //pb[about(., x)]")
    ]
