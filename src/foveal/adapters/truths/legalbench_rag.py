"""The benchmarks of LegalBench-RAG: tests with snippets, each a file and a span of characters."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from foveal.adapters.truths.building import Evidence, Gold, Question
from foveal.adapters.truths.objects import document, entries
from foveal.files.source import Source

__all__ = ["looks_like", "read"]


def looks_like(source: Source) -> bool:
    """Whether the file opens with a list of tests that have a query."""
    head = source.data[:4096].split()
    return head[:1] == [b"{"] and head[1:3] == [b'"tests":', b"["] and b'"query"' in source.data


def read(source: Source, texts: Mapping[str, str] | None) -> Gold:
    """Topics ``STEM-0000``, ... in the order of the file; a document is called as its file is."""
    return Gold(_questions(source), texts)


def _questions(source: Source) -> Iterator[Question]:
    for number, test in enumerate(entries(document(source), "tests")):
        name = f"{source.stem}-{number:04d}"
        question = Question(name, test["query"].text, test.line, test.path)
        for snippet in test["snippets"]:
            span = [offset.number for offset in snippet["span"]]
            if len(span) != 2:
                raise snippet["span"].fail(f"{len(span)} numbers found; expected start and end")
            found = Evidence(
                snippet["file_path"].text,
                span[0],
                span[1],
                snippet.path,
                quote=snippet.optional_text("answer"),
            )
            question.evidence.append(found)
        yield question
