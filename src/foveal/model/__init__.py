"""Runs, judgements, topics and results: immutable, columnar, documented."""

from foveal.files.source import Provenance
from foveal.lookup import sort_topics
from foveal.model.judgements import Judgements
from foveal.model.results import Results
from foveal.model.run import UNKNOWN, Run
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
