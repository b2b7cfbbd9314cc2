"""Real articles: every element's text and path against lxml, which has its own parser."""

from __future__ import annotations

import tarfile
from collections.abc import Iterator
from html.entities import name2codepoint
from itertools import islice
from pathlib import Path

import polars as pl
import pytest
from lxml import etree

from foveal.collection import BuildOptions, Collection, build_index
from foveal.collection.parsing import text_digest
from shared_data import DATA, INEX
from xml_trees import lay_out, lxml_tokens, qualified

ARTICLES = INEX / "xml"
JATS = DATA / "evidence_inference_v2" / "xml_files.tar.xz"
SAMPLE = 183
"""Of the 915 articles; all of them take a while."""

needs_articles = pytest.mark.skipif(
    not ARTICLES.exists(), reason="the INEX 2009 articles are not beside the project"
)
needs_jats = pytest.mark.skipif(
    not JATS.exists(), reason="the JATS articles are not beside the project"
)


ENTITIES = "".join(f'<!ENTITY {name} "&#{code};">' for name, code in name2codepoint.items())


def parsed(data: bytes) -> etree._Element:
    """By lxml, which must be told the entities that the DTD would declare."""
    subset = f" [{ENTITIES}]>".encode()
    data = data.replace(b' SYSTEM "../article.dtd">', subset, 1)
    parser = etree.XMLParser(
        load_dtd=False, no_network=True, dtd_validation=False, huge_tree=True, strip_cdata=True
    )
    return etree.fromstring(data, parser)


def path_of(element: etree._Element) -> str:
    """What getpath() would say if it never left an ordinal out."""
    steps = []
    while element is not None:
        tag = qualified(element)
        before = [e for e in element.itersiblings(preceding=True) if isinstance(e.tag, str)]
        steps.append(f"/{tag}[{1 + sum(qualified(e) == tag for e in before)}]")
        element = element.getparent()
    return "".join(reversed(steps))


def check(collection: Collection, doc: str, data: bytes) -> int:
    root = parsed(data)
    text = str(root.xpath("string()"))
    spans = {e.xpath: (e.start, e.end) for e in collection.all_elements(doc)}
    elements = [e for e in root.iter() if isinstance(e.tag, str)]
    assert len(spans) == len(elements)
    paths = lxml_tokens(root, f"/{qualified(root)}[1]")
    for element, (_, path) in zip(elements, (t for t in paths if t[0] == "open"), strict=True):
        start, end = spans[path]
        assert text[start:end] == element.xpath("string()")
    return len(elements)


@needs_articles
def test_inex_articles(tmp_path: Path) -> None:
    collection = build_index(ARTICLES, tmp_path / "index")
    assert (len(collection), collection.header["failures"]) == (13, [])
    found = 0
    for path in ARTICLES.glob("*.xml"):
        data = path.read_bytes()
        found += check(collection, path.stem, data)
        root = parsed(data)
        for element in islice(root.iter("p"), 20):
            assert path_of(element) in {e.xpath for e in collection.all_elements(path.stem)}
    assert found == collection.elements == 15_293


@needs_articles
def test_inex_articles_are_named_by_their_id(tmp_path: Path) -> None:
    build_index(ARTICLES, tmp_path / "index", BuildOptions(name_tag="id"))
    names = set(Collection.open(tmp_path / "index"))
    assert names == {path.stem for path in ARTICLES.glob("*.xml")}


@needs_articles
@pytest.mark.parametrize("whitespace", ["merge", "strip"])
def test_inex_articles_with_other_white_space(whitespace: str, tmp_path: Path) -> None:
    build_index(ARTICLES, tmp_path / "index", BuildOptions(whitespace=whitespace))
    collection = Collection.open(tmp_path / "index")
    for path in sorted(ARTICLES.glob("*.xml"))[:4]:
        root = parsed(path.read_bytes())
        text, spans = lay_out(lxml_tokens(root, f"/{qualified(root)}[1]"), whitespace)
        assert {e.xpath: (e.start, e.end) for e in collection.all_elements(path.stem)} == spans
        assert collection.lengths(pl.Series([path.stem])).tolist() == [len(text)]


def articles() -> Iterator[tuple[str, bytes]]:
    with tarfile.open(JATS) as archive:
        for member in archive:
            stream = archive.extractfile(member) if member.isfile() else None
            if stream is not None:
                yield Path(member.name).stem, stream.read()


@pytest.fixture(scope="module")
def jats(tmp_path_factory: pytest.TempPathFactory) -> Collection:
    collection = build_index(JATS, tmp_path_factory.mktemp("jats") / "index")
    assert (len(collection), collection.header["failures"]) == (915, [])
    assert collection.elements == 1_257_696
    return collection


@needs_jats
def test_jats_articles(jats: Collection) -> None:
    step = 915 // SAMPLE
    for number, (name, data) in enumerate(articles()):
        if number % step == 0:
            check(jats, name, data)


@needs_jats
def test_all_jats_articles_have_the_length_and_hash_of_their_text(jats: Collection) -> None:
    lengths = dict(zip(jats.documents["doc"], jats.documents["length"], strict=True))
    digests = jats.digests()
    for name, data in articles():
        text = str(parsed(data).xpath("string()"))
        assert lengths[name] == len(text)
        assert digests[name] == text_digest(text)
