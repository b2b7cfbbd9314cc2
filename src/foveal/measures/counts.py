"""judged: how much of a run's top was seen by an assessor."""

from __future__ import annotations

from foveal.measures.alignment import TopicView
from foveal.measures.base import Cutoff, Example, Measure, Need

__all__ = ["Count", "JudgedShare"]


class JudgedShare(Measure):
    """Share of the first k results that are from judged documents.

    A low share says that the other scores of the run are guesses: unjudged text counts as not
    relevant.
    """

    name = "judged"
    section = "29"
    cutoff = Cutoff.RANK
    formula = "judged[k] = (results of judged documents among the first k) / min(k, results)"
    source = "practice; ir_measures has the same for documents"
    example = Example("D1:20-40 D9:0-10", 0.5, "judged@2")
    always_defined = True

    @property
    def needs(self) -> tuple[Need, ...]:
        return ()

    def score_topic(self, topic: TopicView) -> float:
        top = topic.row[: self.rank]
        return float((top >= 0).mean()) if len(top) else 0.0


_RUN = "D1:20-40 D2:0-50 D3:0-40 D1:60-100"


class Count(Measure):
    """A count, defined on every topic and summed over topics."""

    section = "29"
    source = "trec_eval and inex_eval 3.1"
    summed = True
    always_defined = True
    range = (0.0, None)
    ideal = None
    higher_is_better = None


class _Documents(Count):
    @property
    def needs(self) -> tuple[Need, ...]:
        return ()


class DocumentsReturned(_Documents):
    """Distinct documents returned."""

    name = "num_ret"
    formula = "number of documents with a result"
    example = Example(_RUN, 3)

    def score_topic(self, topic: TopicView) -> float:
        return len(topic.documents.head)


class DocumentsRelevant(_Documents):
    """Relevant documents of the topic."""

    name = "num_rel"
    formula = "number of documents with relevant text"
    example = Example(_RUN, 2)

    def score_topic(self, topic: TopicView) -> float:
        return topic.relevant_documents


class DocumentsRelevantReturned(_Documents):
    """Relevant documents returned, whether or not their results hit the relevant text."""

    name = "num_rel_ret"
    formula = "number of documents with a result and with relevant text"
    example = Example(_RUN, 2)

    def score_topic(self, topic: TopicView) -> float:
        return int(topic.documents.relevant.sum())


class CharactersReturned(Count):
    """Characters returned."""

    name = "ret_size"
    formula = "sum size(i)"
    example = Example(_RUN, 150)

    @property
    def needs(self) -> tuple[Need, ...]:
        return (Need.SPANS,)

    def score_topic(self, topic: TopicView) -> float:
        return int(topic.size.sum())


class CharactersRelevant(Count):
    """Relevant characters of the topic."""

    name = "rel_size"
    formula = "Trel"
    example = Example(_RUN, 90)

    @property
    def needs(self) -> tuple[Need, ...]:
        return (Need.TEXT,)

    def score_topic(self, topic: TopicView) -> float:
        return topic.trel


class CharactersRelevantReturned(Count):
    """Relevant characters returned."""

    name = "rel_ret_size"
    formula = "sum rsize(i)"
    example = Example(_RUN, 80)

    def score_topic(self, topic: TopicView) -> float:
        return int(topic.rsize.sum())


MEASURES = (
    JudgedShare,
    DocumentsReturned,
    DocumentsRelevant,
    DocumentsRelevantReturned,
    CharactersReturned,
    CharactersRelevant,
    CharactersRelevantReturned,
)
