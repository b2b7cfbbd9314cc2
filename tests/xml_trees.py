"""Random XML documents with what is to be found in them, and a naive reader of real ones."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from hypothesis import strategies as st
from lxml import etree

from foveal.collection import BuildOptions, Collection, build_index
from foveal.collection.parsing import Batch

Spans = dict[str, tuple[int, int]]
BLANK = " \t\n\r"


@dataclass(frozen=True)
class Piece:
    """Something without elements: how it is written, and the text that it is."""

    source: str
    text: str

    def __repr__(self) -> str:
        return repr(self.source[:80])


@dataclass(frozen=True)
class Tree:
    """An element."""

    tag: str
    attributes: str
    children: tuple[Tree | Piece, ...]

    @property
    def source(self) -> str:
        inside = "".join(child.source for child in self.children)
        if not inside:
            return f"<{self.tag}{self.attributes}/>"
        return f"<{self.tag}{self.attributes}>{inside}</{self.tag}>"


def document(tree: Tree) -> bytes:
    """As real ones are: a declaration, a DOCTYPE, comments around the root."""
    head = '<?xml version="1.0" encoding="UTF-8"?>\n<!-- x -->\n<!DOCTYPE a SYSTEM "../a.dtd">\n'
    return f"{head}{tree.source}\n<?end?>\n".encode()


_CHARACTERS = st.text(alphabet='ab<&>"é 中𝄞\N{NO-BREAK SPACE}\t\n ', min_size=1, max_size=8)
_TEXTS = st.one_of(
    _CHARACTERS.map(lambda t: Piece(etree_escaped(t), t)),
    st.sampled_from([" ", "\n  ", "\t\n"]).map(lambda t: Piece(t, t)),
    _CHARACTERS.map(lambda t: Piece("".join(f"&#x{ord(c):X};" for c in t), t)),
    _CHARACTERS.map(lambda t: Piece(f"<![CDATA[{t}]]>", t)),
    st.sampled_from(
        [
            Piece("&eacute;", "é"),
            Piece("&nbsp;", "\N{NO-BREAK SPACE}"),
            Piece("&#13;\r\n\r.", "\r\n\n."),
            Piece("&#32;", " "),
        ]
    ),
    st.integers(8180, 8200).map(lambda n: Piece("x" * n + " ", "x" * n + " ")),  # expat's buffer
)
_NO_TEXT = st.sampled_from(["<!-- <p> & -->", "<?php <p> ?>", "<![CDATA[]]>"])
_LEAVES = st.one_of(_TEXTS, _NO_TEXT.map(lambda source: Piece(source, "")))
_TAGS = st.sampled_from(["a", "b", "p", "m:math", "x-1.y", "é"])
_ATTRIBUTES = st.sampled_from(["", "", ' id="1 &lt; &eacute;"', " m:x='>'"])


def _elements(children: st.SearchStrategy[Tree | Piece]) -> st.SearchStrategy[Tree]:
    return st.builds(Tree, _TAGS, _ATTRIBUTES, st.lists(children, max_size=6).map(tuple))


trees = _elements(st.recursive(_LEAVES, lambda c: st.one_of(c, _elements(c)), max_leaves=25))


def etree_escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


Token = tuple[str, str]


def tokens(tree: Tree, path: str) -> list[Token]:
    """Opening and closing tags with their paths, and pieces of text, in order."""
    found = [("open", path)]
    seen: Counter[str] = Counter()
    for child in tree.children:
        if isinstance(child, Piece):
            found.append(("text", child.text))
        else:
            seen[child.tag] += 1
            found += tokens(child, f"{path}/{child.tag}[{seen[child.tag]}]")
    return [*found, ("close", path)]


def lxml_tokens(element: etree._Element, path: str) -> list[Token]:
    """The same of a document that lxml has parsed."""
    found = [("open", path), ("text", element.text or "")]
    seen: Counter[str] = Counter()
    for child in element:
        if isinstance(child.tag, str):
            tag = qualified(child)
            seen[tag] += 1
            found += lxml_tokens(child, f"{path}/{tag}[{seen[tag]}]")
        found.append(("text", child.tail or ""))
    return [*found, ("close", path)]


def qualified(element: etree._Element) -> str:
    local = etree.QName(element).localname
    return f"{element.prefix}:{local}" if element.prefix else local


def lay_out(found: list[Token], whitespace: str) -> tuple[str, Spans]:
    """The text as white space counts, and where each element is in it: FORMATS 1, naively."""
    text = ""
    spans: Spans = {}
    for is_text, group in groupby(found, key=lambda token: token[0] == "text"):
        if is_text:
            node = "".join(value for _, value in group)
            if whitespace == "strip" and not node.strip(BLANK):
                continue
            for character in node:
                if whitespace == "merge" and character in BLANK:
                    text += "" if text.endswith(" ") else " "
                else:
                    text += character
            continue
        for kind, path in group:
            if kind == "open":
                spans[path] = (len(text), len(text))
            else:
                spans[path] = (spans[path][0], len(text))
    return text, spans


def expected(tree: Tree, whitespace: str) -> tuple[str, Spans]:
    return lay_out(tokens(tree, f"/{tree.tag}[1]"), whitespace)


def batch_spans(batch: Batch) -> list[Spans]:
    """The elements of each document of a batch by their paths."""
    paths: list[str] = []
    for parent, tag, ordinal in zip(*batch.paths[:3], strict=True):
        above = paths[parent] if parent >= 0 else ""
        paths.append(f"{above}/{batch.paths.tags[tag]}[{ordinal}]")
    found: list[Spans] = [{} for _ in batch.documents]
    for document_, path, start, end in zip(
        batch.document, batch.path, batch.start, batch.end, strict=True
    ):
        assert paths[path] not in found[document_], "an element twice"
        found[document_][paths[path]] = (int(start), int(end))
    return found


def text_nodes(tree: Tree, path: str) -> dict[str, tuple[int, int]]:
    """Return the span of every text node by its path, naively."""
    found: dict[str, tuple[int, int]] = {}
    numbers: dict[str, int] = {}
    position = 0
    above: list[str] = []
    inside = False
    for kind, value in tokens(tree, path):
        if kind == "text":
            if not value:
                continue
            if not inside:
                numbers[above[-1]] = numbers.get(above[-1], 0) + 1
            name = f"{above[-1]}/text()[{numbers[above[-1]]}]"
            found[name] = (found.get(name, (position, 0))[0], position + len(value))
            position += len(value)
            inside = True
        else:
            inside = False
            if kind == "open":
                above.append(value)
            else:
                above.pop()
    return found


def index_of(folder: Path, files: dict[str, str | bytes], **options: object) -> Collection:
    """The index of some files."""
    source = folder / "source"
    for name, content in files.items():
        path = source / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    build_index(source, folder / "index", BuildOptions(**options))
    return Collection.open(folder / "index")
