"""charP, charR, charF: the returned text as a set of characters, whole, to a rank or a budget."""

from __future__ import annotations

import numpy as np

from foveal.measures.base import Cutoff, Example, Measure, Number, OptionalNumber, Overlap
from foveal.measures.view import Topic

__all__ = ["CharacterF", "CharacterPrecision", "CharacterRecall"]


class _Characters(Measure):
    section = "12"
    place = 2
    source = "INEX 2007 and later (char_prec, char_rec); Restricted Focused 2010 for the budget"
    cutoff = Cutoff.RANK_OPTIONAL

    budget = OptionalNumber(
        "none", "characters read; the result that crosses it is cut there", whole=True
    )
    beta = Number(1.0, "charF: weight of recall")

    @property
    def overlap(self) -> Overlap:
        return Overlap.ERROR

    def totals(self, topic: Topic) -> tuple[int, int]:
        """(relevant characters, characters) returned within rank and budget."""
        return topic.memo(("char", self.rank, self.budget), lambda: self._totals(topic))

    def _totals(self, topic: Topic) -> tuple[int, int]:
        rank = topic.n if self.rank is None else min(self.rank, topic.n)
        if self.budget is None:
            return int(topic.rsize[:rank].sum()), int(topic.size[:rank].sum())
        parts = topic.parts
        kept = parts.owner < rank
        start, owner = parts.start[kept], parts.owner[kept]
        size = np.maximum(parts.end[kept] - start, 0)
        left = np.maximum(int(self.budget) - (np.cumsum(size) - size), 0)
        size = np.minimum(size, left)
        found = topic.alignment.highlighted_in(owner + topic.slice.start, start, start + size)
        return int(found.sum()), int(size.sum())

    def precision(self, topic: Topic) -> float:
        found, read = self.totals(topic)
        return found / read if read else 0.0

    def recall(self, topic: Topic) -> float:
        return self.totals(topic)[0] / topic.trel


class CharacterPrecision(_Characters):
    """Share of the returned characters that are relevant."""

    name = "charP"
    aliases = ("char_prec",)
    formula = "charP = sum rsize(i) / sum size(i)"
    example = Example("D1:20-40 D2:0-50 D3:0-40 D1:60-100", 0.5333)

    def calculate(self, topic: Topic) -> float:
        return self.precision(topic)


class CharacterRecall(_Characters):
    """Share of the relevant characters that are returned."""

    name = "charR"
    aliases = ("char_rec",)
    formula = "charR = sum rsize(i) / Trel"
    example = Example("D1:20-40 D2:0-50 D3:0-40 D1:60-100", 0.8889)

    def calculate(self, topic: Topic) -> float:
        return self.recall(topic)


class CharacterF(_Characters):
    """Weighted harmonic mean of charP and charR."""

    name = "charF"
    aliases = ("char_f1",)
    formula = "charF = (1 + beta^2) P R / (beta^2 P + R)"
    example = Example("D1:20-40 D2:0-50 D3:0-40 D1:60-100", 0.6667)

    def calculate(self, topic: Topic) -> float:
        p, r = self.precision(topic), self.recall(topic)
        weight = self.beta**2
        return (1 + weight) * p * r / (weight * p + r) if p * r else 0.0
