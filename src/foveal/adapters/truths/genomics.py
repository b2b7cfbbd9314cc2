"""TREC Genomics of 2006 and 2007 as ground truth: the gold passages with topics without words."""

from __future__ import annotations

from collections.abc import Mapping

from foveal.adapters.truths.building import Evidence, Gold, Question
from foveal.files.source import Source
from foveal.formats.trec_genomics import read_gold_passages

__all__ = ["read"]


def read(source: Source, texts: Mapping[str, str] | None) -> Gold:
    """Passages in the order of the file, which decides which of several a result meets first.

    `Judgements.aspects` holds the aspects of each. Topics have no words.
    """
    topics: dict[str, Question] = {}
    for line, topic, doc, start, end, aspects in read_gold_passages(source):
        question = topics.setdefault(topic, Question(topic, None, line, f"line {line}"))
        question.evidence.append(Evidence(doc, start, end, f"line {line}", aspects=aspects))
    return Gold(topics.values(), texts)
