"""The tasks of KILT: outputs with provenance in paragraphs of Wikipedia pages, as JSON Lines."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from foveal.adapters.truths.building import Evidence, Gold, Question
from foveal.adapters.truths.objects import Node, json_lines
from foveal.files.source import Source
from foveal.formats.fields import first_lines

__all__ = ["looks_like", "read"]

_NOWHERE = "provenances that name a page only"


def looks_like(source: Source) -> bool:
    """Whether the first line has an input, and outputs with provenance."""
    lines = first_lines(source.data)
    found = lines[0][1] if lines else b""
    return found.startswith(b"{") and all(
        word in found for word in (b'"input"', b'"output"', b'"provenance"')
    )


def read(source: Source, texts: Mapping[str, str] | None) -> Gold:
    """A paragraph is a document, called ``PAGE/NUMBER``: characters count from its beginning.

    Outputs with evidence are alternatives; the provenances of one of them belong together. What
    names only a page has no place and is counted as not read; a question of which nothing is left
    is left out.
    """
    unread: Counter[str] = Counter()
    questions = [
        question for line in json_lines(source) for question in _asked(line, texts, unread)
    ]
    return Gold(questions, texts, unread)


def _asked(line: Node, texts: Mapping[str, str] | None, unread: Counter[str]) -> Iterator[Question]:
    question = Question(line["id"].name, line["input"].text, line.line, "the question")
    for number, output in enumerate(line.listed("output"), 1):
        for provenance in output.listed("provenance"):
            if provenance.get("start_paragraph_id") is None:
                unread[_NOWHERE] += 1
            else:
                question.evidence += _spans(provenance, f"a{number}", texts)
    if question.evidence:
        yield question


def _spans(provenance: Node, name: str, texts: Mapping[str, str] | None) -> Iterator[Evidence]:
    page = provenance["wikipedia_id"].name
    first = provenance["start_paragraph_id"].number
    closing = provenance.get("end_paragraph_id")
    last = first if closing is None else closing.number
    if last < first:
        raise provenance.fail(f"it ends in paragraph {last}, before paragraph {first}")
    for number in range(first, last + 1):
        doc = f"{page}/{number}"
        start = provenance["start_character"].number if number == first else 0
        if number == last:
            end = provenance["end_character"].number
        elif texts is not None and doc in texts:
            end = len(texts[doc])
        else:
            raise provenance.fail(
                f"it goes on after paragraph {number}; where that ends, only the text of document "
                f"{doc!r} tells (--texts)"
            )
        yield Evidence(doc, start, end, provenance.path, sets=(name,))
