"""The score of one topic, for tests of measures."""

from __future__ import annotations

from foveal.measures import Measure
from foveal.measures.alignment import TopicView


def score(measure: Measure, topic: TopicView) -> float:
    """Return the score of a measure on one topic; nan where it is undefined."""
    return float(measure.score_topics(topic.alignment)[topic.at])
