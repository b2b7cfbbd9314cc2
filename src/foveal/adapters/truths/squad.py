"""Questions of the SQuAD kind (SQuAD, COVID-QA): answers that begin somewhere in a context."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from foveal.adapters.truths.building import Evidence, Gold, Question
from foveal.adapters.truths.objects import Node, document, entries
from foveal.files.source import Source

__all__ = ["looks_like", "read", "texts_of"]


def looks_like(source: Source) -> bool:
    """Whether paragraphs have answers that start somewhere."""
    return all(word in source.data for word in (b'"data"', b'"paragraphs"', b'"answer_start"'))


def read(
    source: Source,
    texts: Mapping[str, str] | None,  # noqa: ARG001 - the file has them itself
) -> Gold:
    """A context is a document, called by its ``document_id``, else ``TITLE/NUMBER``.

    Different answers to a question are alternatives. A question that cannot be answered has its
    context judged, without a span.
    """
    root = document(source)
    return Gold(_questions(root), dict(_contexts(root)))


def texts_of(source: Source) -> dict[str, str]:
    """The contexts, by the names that judgements give them."""
    return dict(_contexts(document(source)))


def _paragraphs(root: Node) -> Iterator[tuple[str, Node]]:
    for number, article in enumerate(entries(root, "data")):
        title = article.optional_text("title") or str(number)
        for i, paragraph in enumerate(article["paragraphs"]):
            own = paragraph.get("document_id")
            yield f"{title}/{i}" if own is None else own.name, paragraph


def _contexts(root: Node) -> Iterator[tuple[str, str]]:
    known: dict[str, str] = {}
    for doc, paragraph in _paragraphs(root):
        context = paragraph["context"]
        if known.setdefault(doc, context.text) != context.text:
            raise context.fail(f"document {doc!r} has another text above")
        yield doc, context.text


def _questions(root: Node) -> Iterator[Question]:
    for doc, paragraph in _paragraphs(root):
        for asked in paragraph["qas"]:
            question = Question(
                asked["id"].name, asked["question"].text, asked.line, asked.path, judged=[doc]
            )
            places: dict[tuple[int, int], Evidence] = {}
            for answer in asked.listed("answers"):
                start, text = answer["answer_start"].number, answer["text"].text
                name = f"a{len(places) + 1}"
                place = start, start + len(text)
                found = Evidence(doc, *place, answer.path, quote=text, sets=(name,))
                places.setdefault(place, found)
            question.evidence += places.values()
            yield question
