"""Runs, judgements, topics and results: immutable, columnar, documented."""

from foveal.model.judgements import Judgements
from foveal.model.ordering import topic_order
from foveal.model.provenance import Provenance
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
    "topic_order",
]
