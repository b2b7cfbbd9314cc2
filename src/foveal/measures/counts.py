"""judged, num_ret, ret_size and others: how much is returned, judged and relevant."""

from __future__ import annotations

import numpy as np

from foveal.measures.alignment import Alignment, Floats
from foveal.measures.base import Cutoff, Example, Measure, Need
from foveal.measures.documents import count_relevant
from foveal.measures.totals import sum_first

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

    needs = ()

    def score_topics(self, alignment: Alignment) -> Floats:
        bounds = alignment.run.bounds
        results = np.minimum(np.diff(bounds), self.rank or 1)
        return alignment.spread_topics(sum_first(alignment.row >= 0, bounds, self.rank) / results)


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
    needs: tuple[Need, ...] = ()


class DocumentsReturned(Count):
    """Distinct documents returned."""

    name = "num_ret"
    formula = "number of documents with a result"
    example = Example(_RUN, 3)

    def score_topics(self, alignment: Alignment) -> Floats:
        return alignment.spread_topics(np.diff(alignment.document_bounds))


class DocumentsRelevant(Count):
    """Relevant documents of the topic."""

    name = "num_rel"
    formula = "number of documents with relevant text"
    example = Example(_RUN, 2)

    def score_topics(self, alignment: Alignment) -> Floats:
        return alignment.gold.nrel.astype(np.float64)


class DocumentsRelevantReturned(Count):
    """Relevant documents returned, whether or not their results hit the relevant text."""

    name = "num_rel_ret"
    formula = "number of documents with a result and with relevant text"
    example = Example(_RUN, 2)

    def score_topics(self, alignment: Alignment) -> Floats:
        return alignment.spread_topics(count_relevant(alignment))


class CharactersReturned(Count):
    """Characters returned."""

    name = "ret_size"
    formula = "sum size(i)"
    example = Example(_RUN, 150)
    needs = (Need.SPANS,)

    def score_topics(self, alignment: Alignment) -> Floats:
        return alignment.spread_topics(sum_first(alignment.size, alignment.run.bounds))


class CharactersRelevant(Count):
    """Relevant characters of the topic."""

    name = "rel_size"
    formula = "Trel"
    example = Example(_RUN, 90)
    needs = (Need.TEXT,)

    def score_topics(self, alignment: Alignment) -> Floats:
        return alignment.gold.trel.astype(np.float64)


class CharactersRelevantReturned(Count):
    """Relevant characters returned."""

    name = "rel_ret_size"
    formula = "sum rsize(i)"
    example = Example(_RUN, 80)
    needs = (Need.TEXT, Need.SPANS)

    def score_topics(self, alignment: Alignment) -> Floats:
        return alignment.spread_topics(sum_first(alignment.rsize, alignment.run.bounds))


MEASURES = (
    JudgedShare,
    DocumentsReturned,
    DocumentsRelevant,
    DocumentsRelevantReturned,
    CharactersReturned,
    CharactersRelevant,
    CharactersRelevantReturned,
)
