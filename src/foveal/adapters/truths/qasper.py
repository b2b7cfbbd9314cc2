"""Questions of the QASPER kind: evidence is whole paragraphs of a paper, found by their text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from foveal.adapters.alignment import Aligner
from foveal.adapters.truths.building import Evidence, Gold, Question
from foveal.adapters.truths.objects import Node, document
from foveal.files.source import Source

__all__ = ["looks_like", "read", "texts_of"]

_FLOAT = "FLOAT SELECTED"
_UNREAD = "evidence in figures and tables"
_BETWEEN = "\n\n"


def looks_like(source: Source) -> bool:
    """Whether papers stand with their full text beside questions and evidence."""
    return all(word in source.data for word in (b'"full_text"', b'"qas"', b'"evidence"'))


def read(source: Source, texts: Mapping[str, str] | None) -> Gold:
    """A paper is a document, called by its id; the answers of annotators are alternatives.

    Its text is abstract, headings and paragraphs as the file has them, an empty line between,
    unless `texts` say otherwise. A paragraph that is in it more than once is evidence at its
    first place if all of them are whole paragraphs, as they hold the same words; else an error.
    """
    root = document(source)
    known = texts_of(source) if texts is None else texts
    unread: Counter[str] = Counter()
    questions = list(_questions(root, Aligner(known), unread))
    return Gold(questions, known, unread)


def texts_of(source: Source) -> dict[str, str]:
    """The text of each paper."""
    return {name: _BETWEEN.join(_parts(paper)) for name, paper in document(source).items()}


def _parts(paper: Node) -> Iterator[str]:
    abstract = paper.optional_text("abstract")
    if abstract:
        yield abstract
    for section in paper["full_text"]:
        heading = section.optional_text("section_name")
        yield from [heading] if heading else []
        yield from (paragraph.text for paragraph in section["paragraphs"] if paragraph.text)


def _questions(root: Node, aligner: Aligner, unread: Counter[str]) -> Iterator[Question]:
    for name, paper in root.items():
        for asked in paper["qas"]:
            question = Question(
                asked["question_id"].name,
                asked["question"].text,
                asked.line,
                asked.path,
                judged=[name],
            )
            places: dict[tuple[int, int], dict[str, str]] = {}
            for number, answer in enumerate(asked["answers"], 1):
                for evidence in answer["answer"].listed("evidence"):
                    if evidence.text.startswith(_FLOAT):
                        unread[_UNREAD] += 1
                    elif evidence.text.strip():
                        place = _place(evidence, name, aligner)
                        places.setdefault(place, {})[f"a{number}"] = evidence.path
            for (start, end), sets in places.items():
                where = next(iter(sets.values()))
                quote = aligner.texts[name][start:end]
                question.evidence.append(
                    Evidence(name, start, end, where, quote=quote, sets=tuple(sets))
                )
            yield question


def _place(evidence: Node, doc: str, aligner: Aligner) -> tuple[int, int]:
    found = aligner.find(doc, evidence.text)
    whole = [place for place in found.places if _stands_alone(aligner.texts[doc], *place)]
    if not found.placed and len(whole) != len(found.places):
        # Where it stands between empty lines only once, there it is.
        if len(whole) == 1:
            return whole[0]
        raise evidence.fail(aligner.message(doc, evidence.text))
    if not found.places:
        raise evidence.fail(aligner.message(doc, evidence.text))
    return found.places[0]


def _stands_alone(text: str, start: int, end: int) -> bool:
    """Whether it is a whole paragraph."""
    before, after = text[:start].rstrip(" "), text[end:].lstrip(" ")
    return (not before or before.endswith("\n")) and (not after or after.startswith("\n"))
