"""Random small campaigns of structure, and their way into files that real readers read.

A campaign has one to three documents that are trees, judgements on one of the four scales, and a
run of elements. The ugly cases are drawn on purpose: mixed content, parents that their only child
fills, elements without text, highlights that end inside elements, repeats, overlap, ties, results
of documents that are judged not relevant or not judged at all.

Nothing here knows the package under test: documents become XML text, judgements and runs become
plain objects and JSON Lines as the formats are specified (FORMATS.md, sections 2 and 3).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from hypothesis import strategies as st

from naive_structure import Assessment, Document, Node, Result, Scale, Span, paths, rsize

SCALES: tuple[Scale, ...] = ("2002", "2003", "2005", "2006")
UNJUDGED = "U"
ROOT = "a"
TAGS = ("s", "p", "b")
MAX_DEPTH = 4


class Campaign(NamedTuple):
    """The run and the documents of one topic."""

    results: list[Result]
    documents: dict[str, Document]


# --------------------------------------------------------------------------------------------
# Documents
# --------------------------------------------------------------------------------------------


class Piece(NamedTuple):
    """An element to be: where it goes, and how much text there is before, in and after it."""

    parent: int  # of those before it that are not too deep
    tag: str
    before: int
    first: int
    last: int
    wrapped: bool = False  # in another element that it fills


_LENGTHS = st.sampled_from([0, 0, 1, 2, 5])
_AROUND = st.sampled_from(  # before, last, wrapped: few draws keep the tests quick
    [(0, 0, False), (0, 0, True), (2, 0, False), (0, 5, False), (1, 1, False), (1, 0, True)]
)
_PIECES = st.builds(
    lambda parent, tag, first, around: Piece(parent, tag, around[0], first, *around[1:]),
    st.integers(0, 8),
    st.sampled_from(TAGS),
    st.integers(0, 6),
    _AROUND,
)


@st.composite
def trees(draw: st.DrawFn) -> Node:
    """A document of at least one character."""
    pieces = draw(st.lists(_PIECES, min_size=draw(st.integers(0, 6)), max_size=9))
    tree = planted([Piece(0, ROOT, 0, draw(_LENGTHS), draw(_LENGTHS)), *pieces])
    return tree if tree.size else replace(tree, end=draw(st.integers(1, 6)))


def planted(pieces: Sequence[Piece]) -> Node:
    """The tree of the pieces; the first one is the root."""
    depth = [1]
    below: list[list[int]] = [[] for _ in pieces]
    for i, piece in enumerate(pieces[1:], start=1):
        levels = 2 if piece.wrapped else 1
        able = [j for j in range(i) if depth[j] + levels <= MAX_DEPTH]
        parent = able[piece.parent % len(able)]
        depth.append(depth[parent] + levels)
        below[parent].append(i)

    def grown(i: int, start: int) -> Node:
        at = start + pieces[i].first
        children = []
        for j in below[i]:
            children.append(grown(j, at + pieces[j].before))
            at = children[-1].end
        node = Node(pieces[i].tag, start, at + pieces[i].last, tuple(children))
        return Node(TAGS[0], node.start, node.end, (node,)) if pieces[i].wrapped else node

    return grown(0, 0)


@st.composite
def highlights(draw: st.DrawFn, tree: Node) -> tuple[Span, ...]:
    """Disjoint spans that do not touch: some are elements, others end anywhere."""
    extents = sorted({(node.start, node.end) for node in paths(tree).values() if node.size})
    anywhere = st.integers(0, tree.size - 1).flatmap(
        lambda start: st.tuples(st.just(start), st.integers(start + 1, tree.size))
    )
    drawn = draw(st.lists(st.sampled_from(extents) | anywhere, min_size=1, max_size=3))
    return united((start, end) for start, end in drawn)


def united(spans: Iterable[Span]) -> tuple[Span, ...]:
    """The same characters as spans that neither overlap nor touch."""
    chars = sorted({offset for start, end in spans for offset in range(start, end)})
    found: list[Span] = []
    for offset in chars:
        if found and found[-1][1] == offset:
            found[-1] = (found[-1][0], offset + 1)
        else:
            found.append((offset, offset + 1))
    return tuple(found)


Grades = st.SearchStrategy[Assessment | None]  # None: no grade

_2002: Grades = st.sampled_from(
    [None, (0, "N"), (1, "S"), (1, "L"), (1, "E"), (2, "S"), (2, "L"), (2, "E"), (3, "L"), (3, "E")]
)
_2003: Grades = st.sampled_from([None, (0, 0), *((e, s) for e in (1, 2, 3) for s in (1, 2, 3))])
_EXTREME: Grades = st.sampled_from(
    [None, (0, 0), (3, 3), (3, 1), (1, 3)]
)  # for the strict functions
_GRADES: dict[str, list[Grades]] = {"2002": [_2002], "2003": [_2003, _2003, _EXTREME]}
_NOT_RELEVANT: dict[str, list[Grades]] = {
    "2002": [st.sampled_from([None, (0, "N")])],
    "2003": [st.sampled_from([None, (0, 0)])],
}
_HIGHLIGHTED_2005 = st.sampled_from("?012")
_OTHERS_2005 = st.sampled_from([None, "0"])


@st.composite
def documents(draw: st.DrawFn, scale: Scale, *, relevant: bool = True) -> Document:
    """A judged document; ``relevant=False``: one in which nothing is.

    Elements without text have no grade. On the scale of 2005 all elements with highlighted text
    have one, others may be said to be 0. Before, any element may be without.
    """
    tree = draw(trees())
    with_text = {path: node for path, node in paths(tree).items() if node.size}
    if scale in ("2002", "2003"):
        choices = _GRADES[scale] if relevant else _NOT_RELEVANT[scale]
        each = draw(st.sampled_from(choices))
        drawn = {path: draw(each) for path in with_text}
        return Document(tree, grades=_without_none(drawn), scale=scale)
    spans = draw(highlights(tree)) if relevant else ()
    bep = draw(st.none() | st.integers(0, tree.size - 1)) if spans else None
    marked = Document(tree, highlights=spans, bep=bep, scale=scale)
    if scale == "2006":
        return marked
    grades = {
        path: draw(_HIGHLIGHTED_2005 if rsize(node, marked) else _OTHERS_2005)
        for path, node in with_text.items()
    }
    return Document(tree, spans, bep, _without_none(grades), scale)


def _without_none(grades: Mapping[str, Assessment | None]) -> dict[str, Assessment]:
    return {path: grade for path, grade in grades.items() if grade is not None}


@st.composite
def collections(draw: st.DrawFn, scale: Scale) -> dict[str, Document]:
    """One to three documents, D1 judged; perhaps one not relevant, perhaps one not judged, U."""
    found = {"D1": draw(documents(scale))}
    if draw(st.booleans()):
        found["D2"] = draw(documents(scale, relevant=draw(st.booleans())))
    if draw(st.booleans()):
        found[UNJUDGED] = Document(draw(trees()), scale=scale, judged=False)
    return found


# --------------------------------------------------------------------------------------------
# Runs
# --------------------------------------------------------------------------------------------


@st.composite
def runs(
    draw: st.DrawFn, documents: Mapping[str, Document], *, max_results: int = 8
) -> list[Result]:
    """Elements of the documents with overlap and repeats, as a list with or without ties.

    Scores decrease, and equal ones are ties; without scores equal ranks are; or there is neither.
    """
    every = [(name, path) for name, document in documents.items() for path in paths(document.tree)]
    least = draw(st.integers(0, min(6, max_results)))
    keys = draw(st.lists(st.sampled_from(every), min_size=least, max_size=max_results))
    for again in draw(st.lists(st.sampled_from(keys), max_size=2)) if keys else []:
        keys.insert(draw(st.integers(0, len(keys))), again)
    kind = draw(st.sampled_from(["rsv", "rank", "none"]))
    new = draw(st.lists(st.integers(0, 1), min_size=len(keys), max_size=len(keys)))
    level = 0
    found = []
    for (doc, xpath), step in zip(keys, new, strict=True):
        level += step
        rsv = 100 - level / 2 if kind == "rsv" else None
        found.append(Result(doc, xpath, rsv, 1 + level if kind == "rank" else None))
    return found


@st.composite
def campaigns(
    draw: st.DrawFn, *, scales: Sequence[Scale] = SCALES, max_results: int = 8
) -> Campaign:
    """A topic on one of the scales."""
    found = draw(collections(draw(st.sampled_from(list(scales)))))
    return Campaign(draw(runs(found, max_results=max_results)), found)


# --------------------------------------------------------------------------------------------
# Files
# --------------------------------------------------------------------------------------------


def xml_text(tree: Node, character: str = "x") -> str:
    """The document with the same character everywhere, so that offsets are those of the tree."""
    at = tree.start
    inside = ""
    for child in tree.children:
        inside += character * (child.start - at) + xml_text(child, character)
        at = child.end
    inside += character * (tree.end - at)
    return f"<{tree.tag}>{inside}</{tree.tag}>" if inside else f"<{tree.tag}/>"


def xml_files(documents: Mapping[str, Document], character: str = "x") -> dict[str, str]:
    """File name to content of the whole collection, unjudged documents included."""
    return {
        f"{name}.xml": xml_text(document.tree, character) for name, document in documents.items()
    }


def judgement_objects(
    documents: Mapping[str, Document], topic: str = "t", *, list_elements: bool = False
) -> list[dict[str, Any]]:
    """The header and one object per judged document.

    Elements are those with a grade, each with its grades, on the scale of 2005 with its sizes.
    ``list_elements`` adds, from 2005 on, all other elements with their sizes, as an assessment file
    that is to be enough without a collection must.
    """
    judged = {name: document for name, document in documents.items() if document.judged}
    scales = sorted({document.scale for document in judged.values()})
    header = {
        "type": "header",
        "format": "foveal-judgements",
        "version": 1,
        "unit": "codepoint",
        "end": "exclusive",
        "scale": scales[0],
    }
    return [header, *(_judged(topic, n, d, list_elements=list_elements) for n, d in judged.items())]


def _judged(topic: str, name: str, document: Document, *, list_elements: bool) -> dict[str, Any]:
    line: dict[str, Any] = {"topic": topic, "doc": name, "length": document.tree.size}
    if document.scale in ("2005", "2006"):
        line["spans"] = [{"start": start, "end": end} for start, end in document.highlights]
    if document.bep is not None:
        line["bep"] = document.bep
    listed: list[dict[str, Any]] = []
    for path, node in paths(document.tree).items():
        grade = document.grades.get(path)
        sizes = {"size": node.size, "rsize": rsize(node, document)}
        if document.scale == "2002" and grade is not None:
            listed.append({"xpath": path, "relevance": grade[0], "coverage": grade[1]})
        elif document.scale == "2003" and grade is not None:
            listed.append({"xpath": path, "exhaustivity": grade[0], "specificity": grade[1]})
        elif document.scale == "2005" and (grade is not None or list_elements):
            exhaustivity = "?" if grade == "?" else int(str(grade or 0))
            listed.append({"xpath": path, "exhaustivity": exhaustivity, **sizes})
        elif document.scale == "2006" and list_elements:
            listed.append({"xpath": path, **sizes})
    if listed or document.scale in ("2002", "2003"):
        line["elements"] = listed
    return line


def run_objects(results: Sequence[Result], topic: str = "t") -> list[dict[str, Any]]:
    """The header and one object per result; ranks are those of the list where it has none."""
    header = {"type": "header", "format": "foveal-run", "version": 1, "run": "drawn"}
    lines: list[dict[str, Any]] = [header]
    for place, result in enumerate(results, start=1):
        rank = place if result.rank is None else result.rank
        line = {"topic": topic, "doc": result.doc, "rank": rank, "xpath": result.xpath}
        lines.append(line if result.rsv is None else {**line, "score": result.rsv})
    return lines


def json_lines(objects: Iterable[Mapping[str, Any]]) -> str:
    return "".join(json.dumps(each) + "\n" for each in objects)
