"""The golden files of BioASQ task B: snippets by article, section and offsets in the section."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from foveal.adapters.truths.building import Evidence, Question, build, check_quote
from foveal.adapters.truths.objects import Node, document, entries
from foveal.formats.source import Source
from foveal.model import Judgements, Topics

__all__ = ["looks_like", "read"]


def looks_like(source: Source) -> bool:
    """Whether questions have snippets with offsets in sections."""
    return b'"questions"' in source.data and b'"offsetInBeginSection"' in source.data


def read(source: Source, texts: Mapping[str, str] | None) -> tuple[Judgements, Topics]:
    """A section is a document, called ``ARTICLE/SECTION``: offsets count from its beginning.

    An article is called by the last part of its address. A snippet that ends in another section
    than it begins in is two spans, which takes the texts.
    """
    return build(_questions(source, texts), source, texts=texts)


def _questions(source: Source, texts: Mapping[str, str] | None) -> Iterator[Question]:
    for asked in entries(document(source), "questions"):
        question = Question(asked["id"].name, asked["body"].text, asked.line, asked.path)
        for snippet in asked.listed("snippets"):
            for found in _spans(snippet, texts):
                check_quote(source, asked.line, found, texts)
                question.evidence.append(found)
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
