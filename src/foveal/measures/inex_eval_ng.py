"""inex_eval_ng: recall by exhaustivity and precision by specificity, with sizes (INEX 2003)."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from foveal.measures.alignment import Gold, TopicView
from foveal.measures.base import Choice, Cutoff, Example, Measure, Need
from foveal.measures.effort import LEVELS
from foveal.measures.structure import first_returned, forest_of, nodes
from foveal.recall.quantisation import dimensions

__all__ = ["InexEvalNg"]

Floats = npt.NDArray[np.float64]
_TOLERANCE = 1e-12


class InexEvalNg(Measure):
    """Precision and recall in the space of concepts that topic and elements share.

    Variant o counts of every element only the share that earlier results did not cover, variant s
    counts all of it. Without a cut-off, the mean of precision over the recall levels .01 to 1.
    """

    name = "inex_eval_ng"
    section = "5"
    structural = True
    ideal = None
    cutoff = Cutoff.RECALL_OPTIONAL
    curve = (*(f"{p / 100:.2f}" for p in range(1, 100)), "1")
    formula = "P = sum spec size f / sum size f, R = sum exh f / sum exh of all; f = 1 - overlap"
    source = "Goevert, Fuhr, Lalmas and Kazai 2006"
    example = Example("D1:/a/s[1]/p[2] D2:/a D3:/a D1:/a/s[2]", 0.3173)

    variant = Choice("o", "s", description="text seen before is left out, or counted again")
    quant = Choice(
        "gen", "strict", description="grades rescaled to [0, 1], or only the highest counts"
    )

    @property
    def needs(self) -> tuple[Need, ...]:
        return (Need.STRUCTURE, Need.ELEMENT_RESULTS, Need.SPANS)

    def check_judged(self, judged: Gold) -> None:
        if judged.forest is not None:
            dimensions(self.quant, judged.forest.assessed)

    def _assessed(self, judged: Gold) -> tuple[Floats, Floats, Floats]:
        """Exhaustivity and specificity of each element; total exhaustivity of each topic."""

        def calculate() -> tuple[Floats, Floats, Floats]:
            forest = judged.forest
            assert forest is not None
            exhaustivity, specificity = dimensions(self.quant, forest.assessed)
            counts = forest.counts & (forest.size != 0)
            exhaustivity = np.where(counts, exhaustivity, 0.0)
            specificity = np.where(counts, specificity, 0.0)
            topic = judged.judgements.topic[forest.row]
            total = np.zeros(len(judged.judgements.topics))
            np.add.at(total, topic, exhaustivity)
            return exhaustivity, specificity, total

        return judged.memo(("ng", self.quant), calculate)

    def defined(self, topic: TopicView) -> bool:
        return bool(self._assessed(topic.alignment.gold)[2][topic.at] > 0)

    def _points(self, topic: TopicView) -> tuple[Floats, Floats]:
        """Recall and precision at every rank."""
        alignment = topic.alignment
        exhaustivity, specificity, total = self._assessed(alignment.gold)
        node = nodes(alignment)[topic.slice]
        fresh = first_returned(alignment)[topic.slice]
        known = (node >= 0) & (len(forest_of(alignment)) > 0)
        exh = np.where(known & fresh, exhaustivity[node], 0.0) if known.any() else node * 0.0
        spec = np.where(known, specificity[node], 0.0) if known.any() else node * 0.0
        size = alignment.size[topic.slice]
        weight = alignment.new_size[topic.slice] if self.variant == "o" else size
        share = weight / np.maximum(size, 1)
        recall = np.cumsum(exh * share) / total[topic.at]
        read = np.cumsum(weight)
        return recall, np.cumsum(spec * weight) / np.maximum(read, 1)

    def score_topic(self, topic: TopicView) -> float:
        key = ("inex_eval_ng", self.key)
        recall, precision = topic.memo(key, lambda: self._points(topic))
        levels = LEVELS if self.at is None else np.array([float(self.at)])
        at = np.searchsorted(recall, levels - _TOLERANCE)
        return float(np.append(precision, 0.0)[at].mean())
