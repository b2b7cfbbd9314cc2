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

from assess.campaigns import (
    PLAIN,
    POOL,
    index_of,
    make,
    make_version_1,
    pool_of,
    tree,
    write_documents,
)
from foveal.assess.documents import (
    AssessedDocument,
    Elements,
    add_markup,
    make_elements,
    page_digest,
    read_elements,
    store_markup,
)
from foveal.assess.rendering import find_image, keep_attributes, structure
from foveal.assess.store import Campaign
from foveal.assess.vocabularies import (
    ROLES,
    VOCABULARIES,
    find_roles,
    find_title,
    find_vocabulary,
    searchable,
)
from foveal.collection import Collection, SourceTexts, build_index
from foveal.errors import InputError
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
    texts = SourceTexts(folder / "documents", keep=keep_attributes)
    ((_, text, markup),) = texts.read_indexed(index.digests())
    elements = read_elements(index, "d")
    title = find_title(elements, text, "d")
    stored = store_markup(markup)
    document = AssessedDocument("d", title, text, len(text), "", page_digest(text), stored)
    return structure(document, elements)


def test_words_to_search_for_are_apart_and_metadata_comes_last(tmp_path: Path) -> None:
    xml = (
        "<article><front><article-meta><article-id>F17</article-id><title-group><article-title>"
        "Ferries</article-title></title-group><kwd-group><kwd>heparins</kwd><kwd>embolism</kwd>"
        "</kwd-group></article-meta></front><body><sec><title>Results</title><p>H<sub>2</sub>O, "
        "<italic>very</italic>wide 10<sup>3</sup></p></sec></body></article>"
    )
    index = index_of(tmp_path, {"d.xml": xml})
    ((_, text, _),) = SourceTexts(tmp_path / "documents").read_indexed(index.digests())
    words = searchable(read_elements(index, "d"), text).split()
    assert " ".join(words) == "Ferries heparins embolism Results H2O, verywide 10 3 F17"


def looks(page: dict[str, Any], tag: str) -> list[dict[str, Any]]:
    """The looks of the elements of a tag, in document order."""
    own = [i for i, t in enumerate(page["tag"]) if page["tags"][t] == tag]
    return [page["looks"].get(str(i), {}) for i in own]


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


def test_nothing_of_the_mark_up_reaches_the_page_but_tags_and_checked_words(
    tmp_path: Path,
) -> None:
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
    assert {"hidden-meta", "title", "tex"} <= used


def test_cells_have_their_spans_and_nothing_else_of_their_attributes(tmp_path: Path) -> None:
    page = page_of(
        "<doc><table><tr><td colspan='2' rowspan='0' style='x' onclick='y' align='RIGHT'>a</td>"
        "<td colspan='-3' rowspan='1e9' align='url(z)'>b</td><td colspan='99999'/></tr></table>"
        "</doc>",
        tmp_path,
    )
    assert looks(page, "td") == [
        {"colspan": 2, "rowspan": 0, "align": "right"},
        {},
        {"colspan": 1000},
    ]


def test_cells_of_cals_skip_the_columns_that_they_do_not_name(tmp_path: Path) -> None:
    page = page_of(
        "<doc><table><tgroup cols='4'><colspec colname='a' align='center'/><colspec colname='b'/>"
        "<colspec colnum='4' colname='d'/><spanspec spanname='s' namest='a' nameend='b'/><tbody>"
        "<row><entry morerows='1'>1</entry><entry colname='d'>2</entry></row>"
        "<row><entry colname='d'>3</entry></row><row><entry spanname='s'>4</entry>"
        "<entry namest='nothing'>5</entry><entry colname='a'>6</entry></row>"
        "</tbody></tgroup></table></doc>",
        tmp_path,
    )
    assert looks(page, "entry") == [
        {"rowspan": 2, "align": "center"},
        {"skip": 2},
        {"skip": 2},
        {"colspan": 2, "align": "center"},
        {},
        {},
    ]
    assert ("table", "block") in roles(page)
    assert ("tgroup", "table") in roles(page)


def test_formulas_have_checked_names_and_attributes_only(tmp_path: Path) -> None:
    page = page_of(
        "<article><front/><p><math><mi mathvariant='bold' href='javascript:x' onclick='y'>v</mi>"
        "<script>z</script><mspace width='2em'/><mspace width='expression(1)'/></math>"
        "<math>\\sqrt 2</math></p></article>",
        tmp_path,
    )
    found = roles(page)
    assert found.count(("math", "math")) == 1
    assert found.count(("math", "tex")) == 1
    assert looks(page, "mi") == [{"math": "mi", "attributes": {"mathvariant": "bold"}}]
    assert looks(page, "script") == [{"math": "mrow", "attributes": {}}]
    assert [one["attributes"] for one in looks(page, "mspace")] == [{"width": "2em"}, {}]


def test_lists_have_kinds_and_first_numbers(tmp_path: Path) -> None:
    page = page_of(
        "<doc><ol start='3' type='i'><li>a</li></ol><ul><li>b</li></ul><list type='x y'/></doc>",
        tmp_path,
    )
    assert looks(page, "ol") == [{"list": "lower-roman", "first": 3}]
    assert looks(page, "ul") == looks(page, "list") == [{"list": "disc"}]


def test_languages_and_directions_are_words_that_are_known(tmp_path: Path) -> None:
    page = page_of(
        "<doc><p xml:lang='ar'>\u0639\u0628 <i xml:lang='en'>x</i></p><p xml:lang='a\"b'>y</p>"
        "<p dir='rtl'>z</p><p dir='up'>w</p><p xml:lang='ar'>only Latin</p></doc>",
        tmp_path,
    )
    rtl = {"lang": "ar", "dir": "rtl"}
    assert looks(page, "p") == [rtl, {}, {"dir": "rtl"}, {}, {"lang": "ar"}]
    assert looks(page, "i") == [{"lang": "en", "dir": "auto"}]


def test_a_campaign_of_an_earlier_version_shows_its_documents(tmp_path: Path) -> None:
    make(tmp_path).close()
    make_version_1(tmp_path / "a.campaign")
    with Campaign.open(tmp_path / "a.campaign") as campaign:
        document = campaign.document("music")
        page = structure(document, campaign.elements("music"))
    assert document.markup is None
    check_page(page)


def test_mark_up_that_changed_since_it_was_indexed_is_refused(tmp_path: Path) -> None:
    index = index_of(tmp_path, {"music.xml": "<doc><p>a</p><p>b</p></doc>"})
    write_documents(tmp_path, {"music.xml": "<doc><p>a</p><q>b</q></doc>"})
    with pytest.raises(InputError) as caught:
        make(tmp_path, collection=index, pool=pool_of([{**POOL[0], "support": []}]))
    assert caught.value.problems[0].code == "document.changed"


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("a.png", "a.png"),
        ("a", "a.png"),
        ("own", "d/own.jpg"),
        ("../secret.png", None),
        ("link.png", None),
        ("/etc/passwd", None),
        ("a.svg", None),
        ("http://x/a.png", None),
        ("", None),
        ("a" * 5000, None),
        ("nul\0.png", None),
    ],
)
def test_only_images_below_the_directory_are_found(
    name: str, found: str | None, tmp_path: Path
) -> None:
    images = tmp_path / "images"
    (images / "d").mkdir(parents=True)
    for place in ("secret.png", "images/a.png", "images/a.svg", "images/d/own.jpg"):
        (tmp_path / place).write_bytes(b"x")
    (images / "link.png").symlink_to(tmp_path / "secret.png")
    expected = None if found is None else images / found
    assert find_image(images, "d", name) == expected
    assert find_image(images, "../images", name) in (None, expected, images / "a.png")
    assert find_image(tmp_path / "nowhere", "d", name) is None


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
    found = SourceTexts(folder / "documents").read_indexed(index.digests())
    texts = {doc: text for doc, text, _ in found}
    for i, root in enumerate(roots):
        text = texts[str(i)]
        assert text == "".join(root.itertext())
        elements = read_elements(index, str(i))
        page = structure(
            AssessedDocument(str(i), "", text, len(text), "", page_digest(text)), elements
        )
        check_page(page)
        spans = zip(elements.tag, elements.start.tolist(), elements.end.tolist(), strict=True)
        own, naive = list(spans), naive_elements(root)
        assert sorted(own) == sorted(naive)
        ((_, _, markup),) = SourceTexts(folder / "documents").read_indexed(
            {str(i): index.digests()[str(i)]}
        )
        marked, parsed = add_markup(elements, store_markup(markup)), make_elements(markup)
        assert marked.path == parsed.path
        columns = (marked.tag, marked.start.tolist(), marked.end.tolist())
        assert [*zip(*columns, strict=True)] == naive
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
    texts = {doc: text for doc, text, _ in SourceTexts(source).read_indexed(index.digests())}
    assert len(texts) == count
    for name, text in texts.items():
        elements = read_elements(index, name)
        assert find_vocabulary(elements) == vocabulary
        title = find_title(elements, text, name)
        assert title != name
        page = structure(
            AssessedDocument(name, title, text, len(text), "", page_digest(text)), elements
        )
        check_page(page)
        shown = find_roles(elements, text, vocabulary)
        assert shown.count("paragraph") > 5
        assert shown.count("title") == 1
        assert np.count_nonzero(np.array(shown) == "heading") >= 1
