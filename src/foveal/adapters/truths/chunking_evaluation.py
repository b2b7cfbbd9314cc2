"""The questions of chunking_evaluation: a CSV file with the references of each as JSON."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Mapping

from foveal.adapters.truths.building import Evidence, Gold, Question
from foveal.adapters.truths.objects import Node
from foveal.files.source import Source
from foveal.formats.objects import explain_json

__all__ = ["looks_like", "read"]

_COLUMNS = ("question", "references", "corpus_id")


def looks_like(source: Source) -> bool:
    """Whether the first line names the columns."""
    head = source.data.partition(b"\n")[0].strip().split(b",")
    return set(head) == {name.encode() for name in _COLUMNS}


def read(source: Source, texts: Mapping[str, str] | None) -> Gold:
    """Topics ``ce000``, ``ce001``, ... in the order of the file; a document is a corpus."""
    return Gold(_questions(source), texts)


def _questions(source: Source) -> Iterator[Question]:
    source.check_utf8()
    rows = csv.DictReader(io.StringIO(source.data.decode(), newline=""), strict=True)
    before = 0
    try:
        missing = [name for name in _COLUMNS if name not in (rows.fieldnames or ())]
        if missing:
            found = ", ".join(rows.fieldnames or ()) or "nothing"
            raise source.error(
                "unclassified",
                1,
                f"the columns are {found}; expected {', '.join(_COLUMNS)} ({missing[0]} lacks)",
            )
        before = rows.line_num
        for number, row in enumerate(rows):
            line, before = before + 1, rows.line_num
            yield _question(source, number, line, row)
    except csv.Error as error:
        raise source.error("unclassified", before + 1, f"not valid CSV: {error}") from None


def _question(source: Source, number: int, line: int, row: Mapping[str, str | None]) -> Question:
    if any(row.get(name) is None for name in _COLUMNS):
        raise source.error(
            "unclassified", line, f"fields are missing; expected {', '.join(_COLUMNS)}"
        )
    try:
        value = json.loads(row["references"] or "")
    except (ValueError, RecursionError) as error:
        raise source.error(
            "unclassified", line, f"references are not valid JSON: {explain_json(error)}"
        ) from None
    question = Question(f"ce{number:03d}", row["question"], line, f"question {number}")
    for reference in Node(source, line, "references", value):
        found = Evidence(
            row["corpus_id"] or "",
            reference["start_index"].number,
            reference["end_index"].number,
            reference.path,
            quote=reference.optional_text("content"),
        )
        question.evidence.append(found)
    return question
