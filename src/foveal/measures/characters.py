"""charP, charR, charF: the returned text as a set of characters, whole, to a rank or a budget."""

from __future__ import annotations

from foveal.measures.alignment import TopicView
from foveal.measures.base import Cutoff, Example, Measure, Number, OverlapRule
from foveal.measures.reading import ALL_RESULTS, budget_parameter, read_of, unit_parameter

__all__ = ["CharacterF", "CharacterPrecision", "CharacterRecall", "f_score"]


def f_score(precision: float, recall: float, beta: float = 1.0) -> float:
    """The weighted harmonic mean of precision and recall; 0 if either is.

    >>> round(f_score(0.5, 1.0), 4)
    0.6667
    """
    if not precision * recall:
        return 0.0
    return (1 + beta**2) * precision * recall / (beta**2 * precision + recall)


class _Characters(Measure):
    section = "12"
    source = "INEX 2007 and later (char_prec, char_rec); Restricted Focused 2010 for the budget"
    cutoff = Cutoff.RANK_OPTIONAL

    budget = budget_parameter()
    unit = unit_parameter()
    beta = Number(1.0, "charF: weight of recall")

    @property
    def overlap_rule(self) -> OverlapRule:
        return OverlapRule.ERROR

    def totals(self, topic: TopicView) -> tuple[int, int]:
        """(relevant characters, characters) returned within rank and budget."""
        if self.budget is None:
            within = read_of(topic, self.rank or ALL_RESULTS, "results")
        else:
            within = read_of(topic, int(self.budget), self.unit, self.rank)
        return within.found, within.read

    def precision(self, topic: TopicView) -> float:
        found, read = self.totals(topic)
        return found / read if read else 0.0

    def recall(self, topic: TopicView) -> float:
        return self.totals(topic)[0] / topic.trel


class CharacterPrecision(_Characters):
    """Share of the returned characters that are relevant."""

    name = "charP"
    aliases = ("char_prec",)
    formula = "charP = sum rsize(i) / sum size(i)"
    example = Example("D1:20-40 D2:0-50 D3:0-40 D1:60-100", 0.5333)

    def score_topic(self, topic: TopicView) -> float:
        return self.precision(topic)


class CharacterRecall(_Characters):
    """Share of the relevant characters that are returned."""

    name = "charR"
    aliases = ("char_rec",)
    formula = "charR = sum rsize(i) / Trel"
    example = Example("D1:20-40 D2:0-50 D3:0-40 D1:60-100", 0.8889)

    def score_topic(self, topic: TopicView) -> float:
        return self.recall(topic)


class CharacterF(_Characters):
    """Weighted harmonic mean of charP and charR."""

    name = "charF"
    aliases = ("char_f1",)
    formula = "charF = (1 + beta^2) P R / (beta^2 P + R)"
    example = Example("D1:20-40 D2:0-50 D3:0-40 D1:60-100", 0.6667)

    def score_topic(self, topic: TopicView) -> float:
        found, read = self.totals(topic)
        return f_score(found / read if read else 0.0, found / topic.trel, self.beta)


MEASURES = (CharacterPrecision, CharacterRecall, CharacterF)
