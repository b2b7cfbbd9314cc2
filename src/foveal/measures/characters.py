"""charP, charR, charF: the returned text as a set of characters, whole, to a rank or a budget."""

from __future__ import annotations

from foveal.measures.alignment import Alignment, Floats
from foveal.measures.base import Cutoff, Example, Number, OverlapRule
from foveal.measures.reading import BUDGET, UNIT, read_within
from foveal.measures.totals import PrecisionRecall, TopicCounts, sum_first

__all__ = ["CharacterF", "CharacterPrecision", "CharacterRecall"]


class _Characters(PrecisionRecall):
    section = "12"
    source = "INEX 2007 and later (char_prec, char_rec); Restricted Focused 2010 for the budget"
    cutoff = Cutoff.RANK_OPTIONAL

    budget = BUDGET
    unit = UNIT
    beta = Number(1.0, "charF: weight of recall")

    @property
    def overlap_rule(self) -> OverlapRule:
        return OverlapRule.ERROR

    def totals(self, alignment: Alignment) -> TopicCounts:
        if self.budget is None:
            bounds = alignment.run.bounds
            found = sum_first(alignment.rsize, bounds, self.rank)
            read = sum_first(alignment.size, bounds, self.rank)
        else:
            found, read = alignment.cached(read_within, int(self.budget), self.unit, self.rank)
        return TopicCounts(found, read, alignment.gold.trel)


class CharacterPrecision(_Characters):
    """Share of the returned characters that are relevant."""

    name = "charP"
    aliases = ("char_prec",)
    formula = "charP = sum rsize(i) / sum size(i)"
    example = Example("D1:20-40 D2:0-50 D3:0-40 D1:60-100", 0.5333)

    def score_topics(self, alignment: Alignment) -> Floats:
        return self.precision(alignment)


class CharacterRecall(_Characters):
    """Share of the relevant characters that are returned."""

    name = "charR"
    aliases = ("char_rec",)
    formula = "charR = sum rsize(i) / Trel"
    example = Example("D1:20-40 D2:0-50 D3:0-40 D1:60-100", 0.8889)

    def score_topics(self, alignment: Alignment) -> Floats:
        return self.recall(alignment)


class CharacterF(_Characters):
    """Weighted harmonic mean of charP and charR."""

    name = "charF"
    aliases = ("char_f1",)
    formula = "charF = (1 + beta^2) P R / (beta^2 P + R)"
    example = Example("D1:20-40 D2:0-50 D3:0-40 D1:60-100", 0.6667)

    def score_topics(self, alignment: Alignment) -> Floats:
        return self.f_score(alignment, self.beta)


MEASURES = (CharacterPrecision, CharacterRecall, CharacterF)
