"""The golden files of BioASQ task B: snippets by article, section and offsets in the section."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from foveal.adapters.truths.building import Evidence, Gold, Question
from foveal.adapters.truths.objects import Node, document, entries
from foveal.files.source import Source

__all__ = ["looks_like", "read"]


def looks_like(source: Source) -> bool:
    """Whether questions have snippets with offsets in sections."""
    return b'"questions"' in source.data and b'"offsetInBeginSection"' in source.data


def read(source: Source, texts: Mapping[str, str] | None) -> Gold:
    """A section is a document, called ``ARTICLE/SECTION``: offsets count from its beginning.

    An article is called by the last part of its address. A snippet that ends in another section
    than it begins in is two spans, which takes the texts. A question without snippets is judged,
    and nothing is relevant to it.
    """
    return Gold(_questions(source, texts), texts)


def _questions(source: Source, texts: Mapping[str, str] | None) -> Iterator[Question]:
    for asked in entries(document(source), "questions"):
        question = Question(asked["id"].name, asked["body"].text, asked.line, asked.path)
        for snippet in asked.listed("snippets"):
            question.evidence += _spans(snippet, texts)
        yield question


def _spans(snippet: Node, texts: Mapping[str, str] | None) -> Iterator[Evidence]:
    article = snippet["document"].text.rstrip("/").rpartition("/")[2]
    if not article:
        raise snippet["document"].fail("the address has no last part to name the article by")
    opening, closing = snippet["beginSection"].text, snippet["endSection"].text
    start, end = snippet["offsetInBeginSection"].number, snippet["offsetInEndSection"].number
    first, last = f"{article}/{opening}", f"{article}/{closing}"
    if opening == closing:
        quote = snippet.optional_text("text")
        yield Evidence(first, start, end, snippet.path, quote=quote)
        return
    if texts is None or first not in texts:
        raise snippet.fail(
            f"it begins in section {opening!r} and ends in {closing!r}; where the first ends, only "
            f"the text of document {first!r} tells (--texts)"
        )
    yield Evidence(first, start, len(texts[first]), snippet.path)
    yield Evidence(last, 0, end, snippet.path)
