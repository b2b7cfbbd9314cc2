"""The toy collection of the worked examples as XML, and its judgements and runs in every form.

Nothing here knows the package under test: texts are written as the formats are specified.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple


class Element(NamedTuple):
    """An element, how much of it is highlighted, and its grades on the older scales."""

    doc: str
    xpath: str
    start: int
    end: int
    rsize: int = 0
    exhaustivity: int = 0

    @property
    def size(self) -> int:
        return self.end - self.start

    @property
    def specificity(self) -> int:
        """Of 3, rounded up."""
        return -(-3 * self.rsize // self.size)


DOCUMENTS = {
    "D1": "<a><s><p>{20}</p><p>{20}</p><p>{20}</p></s><s><p>{20}</p><p>{20}</p></s></a>",
    "D2": "<a><p>{25}</p><p>{25}</p></a>",
    "D3": "<a><p>{20}</p><p>{20}</p></a>",
}
LENGTHS = {"D1": 100, "D2": 50, "D3": 40}
HIGHLIGHTS = {"D1": [(10, 40), (70, 80)], "D2": [(0, 50)], "D3": []}
ENTRIES = {"D1": 10, "D2": 0}
ELEMENTS = (
    Element("D1", "/a[1]", 0, 100, 40, 3),
    Element("D1", "/a[1]/s[1]", 0, 60, 30, 3),
    Element("D1", "/a[1]/s[1]/p[1]", 0, 20, 10, 1),
    Element("D1", "/a[1]/s[1]/p[2]", 20, 40, 20, 2),
    Element("D1", "/a[1]/s[1]/p[3]", 40, 60),
    Element("D1", "/a[1]/s[2]", 60, 100, 10, 1),
    Element("D1", "/a[1]/s[2]/p[1]", 60, 80, 10, 1),
    Element("D1", "/a[1]/s[2]/p[2]", 80, 100),
    Element("D2", "/a[1]", 0, 50, 50, 2),
    Element("D2", "/a[1]/p[1]", 0, 25, 25, 1),
    Element("D2", "/a[1]/p[2]", 25, 50, 25, 1),
    Element("D3", "/a[1]", 0, 40),
    Element("D3", "/a[1]/p[1]", 0, 20),
    Element("D3", "/a[1]/p[2]", 20, 40),
)
A1, S1, P1, P2, P3, S2, P4, P5, A2 = [f"{e.doc} {e.xpath}" for e in ELEMENTS[:9]]
"""The elements of D1 and the root of D2, as runs name them below.

By specificity: A1 .4, S1 .5, P1 .5, P2 1, P3 0, S2 .25, P4 .5, P5 0; all of D2 1: together 6.15.
"""


def write_documents(folder: Path) -> Path:
    source = folder / "documents"
    source.mkdir(parents=True)
    for name, text in DOCUMENTS.items():
        filled = text.replace("{20}", "x" * 20).replace("{25}", "x" * 25)
        (source / f"{name}.xml").write_text(filled)
    return source


# -- judgements ------------------------------------------------------------------------------------


def grades(element: Element, scale: str) -> dict[str, Any]:
    """What an assessor says of an element on a scale."""
    sizes = {"size": element.size, "rsize": element.rsize}
    if scale == "2002":
        full = element.rsize == element.size
        coverage = "E" if full else "L" if element.exhaustivity else "N"
        return {"relevance": element.exhaustivity, "coverage": coverage}
    if scale == "2003":
        return {"exhaustivity": element.exhaustivity, "specificity": element.specificity}
    if scale == "2005":
        grade = {0: 0, 1: "?", 2: 1, 3: 2}[element.exhaustivity]
        return {"exhaustivity": grade, **sizes}
    return sizes


def listed(doc: str, *, all_elements: bool = False) -> list[Element]:
    return [e for e in ELEMENTS if e.doc == doc and (e.rsize or all_elements)]


def judgement_lines(
    scale: str = "2006",
    *,
    topic: str = "1",
    spans: bool = True,
    elements: bool = True,
    assessor: str | None = None,
) -> list[dict[str, Any]]:
    """One object per document: highlighted spans, assessed elements, or both."""
    lines: list[dict[str, Any]] = []
    for doc, length in LENGTHS.items():
        line: dict[str, Any] = {"topic": topic, "doc": doc}
        if assessor is not None:
            line["assessor"] = assessor
        if spans:
            marked = [{"start": start, "end": end} for start, end in HIGHLIGHTS[doc]]
            line |= {"length": length, "spans": marked}
            if doc in ENTRIES:
                line["bep"] = ENTRIES[doc]
        if elements:
            line["elements"] = [{"xpath": e.xpath, **grades(e, scale)} for e in listed(doc)]
        lines.append(line)
    return lines


def judgements(lines: Iterable[Mapping[str, Any]], scale: str = "2006") -> str:
    header = {"type": "header", "format": "foveal-judgements", "version": 1, "scale": scale}
    return "".join(json.dumps(line) + "\n" for line in [header, *lines])


def assessments(scale: str, topic: str = "1", pool: str = "10") -> str:
    """INEX XML: the file of one pool."""
    name, file = ("path", "file") if scale in ("2002", "2003") else ("element", "name")
    parts = [f'<assessments pool="{pool}" topic="{topic}">\n']
    for doc in LENGTHS:
        parts.append(f'<file {file}="{doc}">\n')
        for element in listed(doc):
            said = "".join(f' {grade}="{value}"' for grade, value in grades(element, scale).items())
            parts.append(f'<{name} path="{element.xpath}"{said}/>\n')
        parts.append("</file>\n")
    return "".join([*parts, "</assessments>\n"])


# -- runs ------------------------------------------------------------------------------------------


def run(results: Mapping[str, Sequence[str]] | Sequence[str], name: str = "mine") -> str:
    """Seven fields: elements in TREC's clothes. Without topics, all are of topic 1."""
    by_topic = results if isinstance(results, Mapping) else {"1": results}
    lines = []
    for topic, ranked in by_topic.items():
        for rank, result in enumerate(ranked, 1):
            doc, xpath = result.split()
            lines.append(f"{topic} Q0 {doc} {rank} {9999 - rank} {name} {xpath}\n")
    return "".join(lines)


def run_lines(results: Sequence[Mapping[str, Any]], **header: Any) -> str:
    """JSON Lines, all of topic 1, in order."""
    lines = [{"type": "header", "format": "foveal-run", "version": 1, "run": "mine", **header}]
    lines += [{"topic": "1", "rank": rank, **result} for rank, result in enumerate(results, 1)]
    return "".join(json.dumps(line) + "\n" for line in lines)
