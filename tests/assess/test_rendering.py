"""What a page gets of a document: its text to the letter, and nothing that can run."""

from __future__ import annotations

import itertools
import json
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assess.campaigns import PLAIN, index_of, make, tree
from foveal.assess.documents import AssessedDocument, Elements, elements_of, page_digest
from foveal.assess.rendering import structure
from foveal.assess.vocabularies import ROLES, VOCABULARIES, roles_of, title_of, vocabulary_of
from foveal.collection import Collection, SourceTexts, build_index
from shared_data import DATA, INEX

JATS_DATA = DATA / "evidence_inference_v2" / "xml_files.tar.xz"


def text_of_page(page: dict[str, Any]) -> str:
    """The text of the nodes that a page makes: pieces between the tags of its elements."""
    children: dict[int, list[int]] = {i: [] for i in range(-1, len(page["tag"]))}
    for i, parent in enumerate(page["parent"]):
        children[parent].append(i)
    pieces: list[str] = []

    def build(element: int) -> None:
        at = page["start"][element]
        for child in children[element]:
            pieces.append(page["text"][at : page["start"][child]])
            build(child)
            at = page["end"][child]
        pieces.append(page["text"][at : page["end"][element]])

    for root in children[-1]:
        build(root)
    return "".join(pieces)


def check_page(page: dict[str, Any]) -> None:
    """What every page relies on."""
    columns = ("tag", "parent", "start", "end", "ordinal", "role")
    assert len({len(page[name]) for name in columns}) == 1
    assert page["parent"][0] == -1
    assert (page["start"][0], page["end"][0]) == (0, page["length"])
    before: dict[int, int] = {}
    for i, parent in enumerate(page["parent"][1:], 1):
        assert 0 <= parent < i
        assert page["start"][parent] <= page["start"][i] <= page["end"][i] <= page["end"][parent]
        assert before.get(parent, 0) <= page["start"][i]  # siblings do not overlap
        before[parent] = page["end"][i]
    assert set(page["role"]) <= set(ROLES)
    assert page["vocabulary"] in VOCABULARIES
    assert page["digest"] == page_digest(page["text"])
    assert page["length"] == len(page["text"])
    assert text_of_page(page) == page["text"]


def page_of(xml: str, folder: Path) -> dict[str, Any]:
    index = index_of(folder, {"d.xml": xml})
    ((_, text),) = SourceTexts(folder / "documents").documents(index.digests())
    elements = elements_of(index, "d")
    title = title_of(elements, text, "d")
    return structure(AssessedDocument("d", title, text, len(text), "", page_digest(text)), elements)


def roles(page: dict[str, Any]) -> list[tuple[str, str]]:
    return [(page["tags"][t], role) for t, role in zip(page["tag"], page["role"], strict=True)]


def test_the_text_of_a_page_is_the_text_that_offsets_count_on(tmp_path: Path) -> None:
    with make(tmp_path) as campaign:
        for name in campaign.collection:
            page = structure(campaign.document(name), campaign.elements(name))
            check_page(page)
            json.dumps(page)
        assert "<b>raw & ready</b>" in campaign.document("music").text
        assert "not text" not in campaign.document("music").text


def test_nothing_of_the_mark_up_reaches_the_page_but_names_of_tags(tmp_path: Path) -> None:
    with make(tmp_path) as campaign:
        page = structure(campaign.document("deep/script"), campaign.elements("deep/script"))
    sent = json.dumps({name: value for name, value in page.items() if name != "text"})
    for word in ("alert", "onload", "onclick", "<"):
        assert word not in sent
    assert page["text"] == "<script>alert(3)</script>alert(4)plain sea"
    assert page["tags"] == ["doc", "p", "script"]


def test_jats_looks_like_an_article(tmp_path: Path) -> None:
    with make(tmp_path) as campaign:
        page = structure(campaign.document("music"), campaign.elements("music"))
    assert page["vocabulary"] == "jats"
    assert page["title"] == "Music & sea \U0001f30a"
    found = roles(page)
    for pair in (
        ("article-title", "title"),
        ("sec", "block"),
        ("title", "heading"),
        ("p", "paragraph"),
        ("bold", "strong"),
        ("mml:math", "math"),
        ("mml:mi", "math"),
        ("fig", "figure"),
        ("caption", "caption"),
    ):
        assert pair in found


def test_plain_text_keeps_its_lines(tmp_path: Path) -> None:
    with make(tmp_path) as campaign:
        page = structure(campaign.document("notes"), campaign.elements("notes"))
    assert roles(page) == [("text", "plain")]
    assert page["text"] == PLAIN


@pytest.mark.parametrize(
    ("xml", "vocabulary", "title"),
    [
        ("<article><front><article-title>T</article-title></front></article>", "jats", "T"),
        ("<TEI><teiHeader><titleStmt><title>A\n book</title></titleStmt></teiHeader></TEI>",
         "tei", "A book"),
        ("<article><header><title>Yoga</title><id>7</id></header><bdy>x</bdy></article>",
         "inex-wikipedia", "Yoga"),
        ("<article><name>Yoga</name><conversionwarning>0</conversionwarning></article>",
         "inex-wikipedia", "Yoga"),
        ("<article><fno>C1</fno><fm><tig><atl>Chips</atl></tig></fm><bdy>x</bdy></article>",
         "ieee", "Chips"),
        ("<article><title>Ferries</title><body><p>x</p></body></article>", "generic", "Ferries"),
        ("<story><p>x</p></story>", "generic", "d"),
        ("<story><title> </title></story>", "generic", "d"),
    ],
)  # fmt: skip
def test_vocabularies_are_told_and_titles_found(
    xml: str, vocabulary: str, title: str, tmp_path: Path
) -> None:
    page = page_of(xml, tmp_path)
    assert (page["vocabulary"], page["title"]) == (vocabulary, title)


def test_an_unknown_tag_stands_in_the_line_where_there_is_text_around_it(tmp_path: Path) -> None:
    page = page_of(
        "<play><act> <line>To <stress>be <deep>now</deep></stress></line> <line>or not</line>"
        "</act></play>",
        tmp_path,
    )
    assert roles(page) == [
        ("play", "block"),
        ("act", "block"),
        ("line", "block"),
        ("stress", "inline"),
        ("deep", "inline"),
        ("line", "block"),
    ]


def test_what_an_element_looks_like_may_depend_on_what_it_stands_in(tmp_path: Path) -> None:
    page = page_of(
        "<article><front/><body><sec><title>S</title></sec><fig><caption><title>F</title>"
        "<p>c</p></caption></fig></body></article>",
        tmp_path,
    )
    assert [role for tag, role in roles(page) if tag == "title"] == ["heading", "strong"]


def test_every_role_of_every_vocabulary_is_one_that_style_sheets_know() -> None:
    used = {role for one in VOCABULARIES.values() for role in one.roles.values()}
    assert used <= set(ROLES)
    assert {"hidden-meta", "title", "math"} <= used


def test_a_long_title_is_cut(tmp_path: Path) -> None:
    page = page_of(f"<doc><title>{'long ' * 100}</title></doc>", tmp_path)
    assert len(page["title"]) == 201
    assert page["title"].endswith("…")


def test_the_element_around_a_span_is_the_smallest_and_of_equals_the_deepest() -> None:
    elements = tree(("/a[1]", 0, 9), ("/a[1]/b[1]", 0, 9), ("/a[1]/b[1]/c[1]", 2, 5))
    assert [elements.around(*span) for span in ((2, 5), (3, 4), (1, 5), (0, 9))] == [2, 2, 1, 1]


# -- generated documents --------------------------------------------------------------------------

_TEXTS = st.text(alphabet="ab \n&<>\u00e9\U0001f600\U0001d11e", max_size=4)


@st.composite
def documents(draw: st.DrawFn, depth: int = 3) -> ET.Element:
    element = ET.Element(draw(st.sampled_from(["p", "sec", "emph", "x"])))
    element.text = draw(_TEXTS)
    if depth:
        for _ in range(draw(st.integers(0, 3))):
            child = draw(documents(depth=depth - 1))
            child.tail = draw(_TEXTS)
            element.append(child)
    return element


def naive_elements(root: ET.Element) -> list[tuple[str, int, int]]:
    """Tag and span of every element, by walking the tree."""
    found: list[tuple[str, int, int]] = []

    def walk(element: ET.Element, at: int) -> int:
        place = len(found)
        found.append((element.tag, at, at))
        end = at + len(element.text or "")
        for child in element:
            end = walk(child, end) + len(child.tail or "")
        found[place] = (element.tag, at, end)
        return end

    walk(root, 0)
    return found


@given(st.lists(documents(), min_size=1, max_size=4))
@settings(max_examples=30)
def test_structures_are_those_of_the_trees(
    tmp_path_factory: pytest.TempPathFactory, roots: list[ET.Element]
) -> None:
    folder = tmp_path_factory.mktemp("trees")
    index = index_of(
        folder, {f"{i}.xml": ET.tostring(root, "unicode") for i, root in enumerate(roots)}
    )
    texts = dict(SourceTexts(folder / "documents").documents(index.digests()))
    for i, root in enumerate(roots):
        text = texts[str(i)]
        assert text == "".join(root.itertext())
        elements = elements_of(index, str(i))
        page = structure(
            AssessedDocument(str(i), "", text, len(text), "", page_digest(text)), elements
        )
        check_page(page)
        spans = zip(elements.tag, elements.start.tolist(), elements.end.tolist(), strict=True)
        own, naive = list(spans), naive_elements(root)
        assert sorted(own) == sorted(naive)
        full = [one for one in own if one[1] < one[2]]
        assert full == [one for one in naive if one[1] < one[2]]  # in document order, too
        own_text = naive_own_text(root)
        assert has_text(elements, text) == own_text


def has_text(elements: Elements, text: str) -> dict[tuple[str, int, int], bool]:
    """Which elements make an unknown tag in them stand in the line, as far as the roles show."""
    from foveal.assess.vocabularies import _has_text

    flags = _has_text(elements, text).tolist()
    keys = zip(elements.tag, elements.start.tolist(), elements.end.tolist(), strict=True)
    found: dict[tuple[str, int, int], bool] = {}
    for key, flag in zip(keys, flags, strict=True):
        found[key] = found.get(key, False) or flag
    return found


def naive_own_text(root: ET.Element) -> dict[tuple[str, int, int], bool]:
    found: dict[tuple[str, int, int], bool] = {}
    for key, element in zip(naive_elements(root), root.iter(), strict=True):
        own = [element.text or "", *(child.tail or "" for child in element)]
        flag = bool("".join(own).strip(" \t\r\n"))
        found[key] = found.get(key, False) or flag
    return found


# -- real documents -------------------------------------------------------------------------------


@pytest.mark.skipif(not (INEX / "xml").is_dir(), reason="the INEX 2009 data are not there")
def test_articles_of_inex_2009(tmp_path: Path) -> None:
    build_index(INEX / "xml", tmp_path / "i.fvx")
    _check_real(Collection.open(tmp_path / "i.fvx"), INEX / "xml", "inex-wikipedia", 13)


@pytest.mark.skipif(not JATS_DATA.exists(), reason="the medical articles are not there")
def test_articles_in_jats(tmp_path: Path) -> None:
    import tarfile

    with tarfile.open(JATS_DATA) as archive:
        for member in itertools.islice((m for m in archive if m.isfile()), 8):
            (tmp_path / Path(member.name).name).write_bytes(archive.extractfile(member).read())
    build_index(tmp_path, tmp_path / "i.fvx")
    _check_real(Collection.open(tmp_path / "i.fvx"), tmp_path, "jats", 8)


def _check_real(index: Collection, source: Path, vocabulary: str, count: int) -> None:
    texts = dict(SourceTexts(source).documents(index.digests()))
    assert len(texts) == count
    for name, text in texts.items():
        elements = elements_of(index, name)
        assert vocabulary_of(elements) == vocabulary
        title = title_of(elements, text, name)
        assert title != name
        page = structure(
            AssessedDocument(name, title, text, len(text), "", page_digest(text)), elements
        )
        check_page(page)
        shown = roles_of(elements, text, vocabulary)
        assert shown.count("paragraph") > 5
        assert shown.count("title") == 1
        assert np.count_nonzero(np.array(shown) == "heading") >= 1
