"""The crossings campaign for retrieval of chunks: texts, questions, and a ranking by rare words."""

from __future__ import annotations

import importlib
import math
import os
import re
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any, TypeVar
from xml.etree import ElementTree as ET

import pytest

import foveal

CAMPAIGN = Path(__file__).resolve().parents[2] / "examples" / "crossings"
JUDGEMENTS = CAMPAIGN / "judgements.jsonl"
Chunk = TypeVar("Chunk")


class framework:
    """A development dependency; where it is absent tests are skipped, but never in CI.

    It is imported when something of it is used: that takes seconds, and most processes that collect
    the tests run none of these.
    """

    def __init__(self, module: str) -> None:
        self._module = module

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):  # asked by those who only look around
            raise AttributeError(name)
        if os.environ.get("CI"):
            return getattr(importlib.import_module(self._module), name)
        reason = f"{self._module} is not installed (pip install --group dev)"
        return getattr(pytest.importorskip(self._module, reason=reason), name)


@cache
def texts() -> dict[str, str]:
    return {
        path.stem: "".join(ET.parse(path).getroot().itertext())
        for path in sorted((CAMPAIGN / "documents").glob("*.xml"))
    }


@cache
def questions() -> dict[str, str]:
    topics = foveal.read_topics(CAMPAIGN / "topics.jsonl")
    return {topic.id: f"{topic.title} {topic.description}" for topic in topics}


def words(text: str) -> set[str]:
    return set(re.findall("[a-z]{4,}", text.lower()))


def retrieved(
    chunks: Sequence[Chunk], text_of: Callable[[Chunk], str], k: int = 20
) -> dict[str, list[tuple[Chunk, float]]]:
    """For each topic the `k` chunks that share the rarest words with it, and their scores."""
    bags = [words(text_of(chunk)) for chunk in chunks]
    held = Counter(word for bag in bags for word in bag)
    found = {}
    for topic, question in questions().items():
        asked = words(question)
        score = [sum(math.log(len(bags) / held[word]) for word in asked & bag) for bag in bags]
        best = sorted(range(len(chunks)), key=lambda i: (-score[i], i))[:k]
        found[topic] = [(chunks[i], score[i]) for i in best]
    return found
