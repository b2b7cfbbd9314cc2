"""Runs, judgements, topics and results: immutable, columnar, documented."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from foveal.files.source import Provenance
from foveal.lookup import sort_topics
from foveal.model.judgements import Judgements
from foveal.model.run import UNKNOWN, Run

if TYPE_CHECKING:
    from foveal.model.results import Results
    from foveal.model.topics import Topic, Topics

__all__ = [
    "UNKNOWN",
    "Judgements",
    "Provenance",
    "Results",
    "Run",
    "Topic",
    "Topics",
    "sort_topics",
]


def __getattr__(name: str) -> Any:
    """Load topics and results only when they are asked for."""
    homes = {"Results": "results", "Topic": "topics", "Topics": "topics"}
    if name not in homes:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{homes[name]}"), name)
