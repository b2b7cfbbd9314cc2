"""Answers: sentences that cite spans, quotes or whole documents."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import polars as pl

from foveal.errors import Problem
from foveal.spans import Floats

CITATION_COLUMNS = pl.Schema(
    {
        "topic": pl.String,
        "sentence": pl.Int64,
        "text": pl.String,
        **dict.fromkeys(("doc", "quote", "prefix", "suffix"), pl.String),
        **dict.fromkeys(("start", "end", "line"), pl.Int64),
        **dict.fromkeys(("code", "problem"), pl.String),
    }
)
"""The columns of `Answers.citations`."""


class AnswerCounts(NamedTuple):
    """Numbers of each topic; 0 where there is no answer."""

    sentences: Floats
    cited: Floats
    """Sentences with a citation, valid or not."""
    citations: Floats


@dataclass(frozen=True)
class Answers:
    """The answers of a run, whose results are their valid citations in order."""

    topics: tuple[str, ...]
    """The topics of all answers, also of those without a sentence."""
    citations: pl.DataFrame
    """A row for each citation, and one without ``doc`` for each sentence that cites nothing. In a
    topic, sentences are numbered from 1. ``start`` and ``end`` are in code points, null for quotes
    that are not found and whole documents; ``problem`` says why a citation is not valid."""
    retrieved: str | None = None
    """The name of the run that the answers were made from, as the file gives it."""

    def list_problems(self, path: str) -> list[Problem]:
        """Return a problem for each citation that is not valid."""
        wrong = self.citations.drop_nulls("problem")
        columns = wrong.select("code", "line", "sentence", "problem").iter_rows()
        return [
            Problem(code, path, line, f"sentence {sentence}: {text}")
            for code, line, sentence, text in columns
        ]

    def count(self, topics: Sequence[str]) -> AnswerCounts:
        """Count sentences and citations of the topics."""
        has_doc = pl.col("doc").is_not_null()
        counts = self.citations.group_by("topic").agg(
            sentences=pl.col("sentence").n_unique(),
            cited=pl.col("sentence").filter(has_doc).n_unique(),
            citations=has_doc.sum(),
        )
        asked = pl.DataFrame({"topic": topics}, schema={"topic": pl.String})
        found = asked.join(counts, on="topic", how="left", maintain_order="left").fill_null(0)
        columns = found.select(pl.col(AnswerCounts._fields).cast(pl.Float64))
        return AnswerCounts(*(column.to_numpy() for column in columns))
