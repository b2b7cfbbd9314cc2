"""What the XCG measures share: their parameters, and the cumulated gains of run and ideal list."""

from __future__ import annotations

from collections.abc import Hashable

import numpy as np
import numpy.typing as npt

from foveal.measures.alignment import Alignment, Gold, TopicView
from foveal.measures.base import Choice, Flag, Measure, Need, Number
from foveal.measures.gains import Settings, ideal_gains, run_gains
from foveal.model import Run
from foveal.recall.quantisation import QUANTISATIONS, find_quantisation

__all__ = ["XCG", "cumulated", "flat"]

Floats = npt.NDArray[np.float64]


def cumulated(gains: Floats) -> Floats:
    """Gains summed from rank 0, where there is nothing, on."""
    return np.concatenate([[0.0], np.cumsum(gains)])


def flat(curve: Floats, rank: int) -> float:
    """A cumulated curve at a rank; it stays flat after its end."""
    return float(curve[min(rank, len(curve) - 1)])


class XCG(Measure):
    """A measure of cumulated gain over elements that may be nested."""

    structural = True
    source = "Kazai and Lalmas, INEX 2005 evaluation measures"

    quant = Choice(*QUANTISATIONS, description="what an assessed element is worth")
    overlap_ = Choice(
        "off",
        "on",
        description="off: every element counts by itself; on: what was seen before gains nothing, "
        "near misses of an ideal element share its gain",
    )
    alpha = Number(1.0, "overlap=on: how much text seen before is discounted", high=1.0)
    base = Choice(
        "ideal", "maxsum", description="overlap=on: the ideal elements by paths, or by largest sum"
    )
    tie = Choice(
        "ascendant",
        "deeper",
        description="overlap=on: of equals on a path, the higher or the deeper one is ideal",
    )
    norm = Choice(
        "subtree",
        "overlap",
        "none",
        description="overlap=on: results in an ideal element share its gain; so do those that "
        "hold it; or nothing is shared",
    )
    mixed = Choice(
        "text",
        "ignore",
        description="overlap=on: text directly inside a partly seen element counts, or not",
    )
    formula_ = Choice(
        "inex2005",
        "encyclopedia",
        description="overlap=on: a partly seen element is worth what is left of its parts, or "
        "what its retrieved parts gained",
    )
    clamp = Flag(
        default=True,
        description="overlap=on: a partly seen element is never worth more than an unseen one",
    )
    normalise = Flag(
        default=False, description="divide gains by the largest the quantisation gives"
    )

    @property
    def needs(self) -> tuple[Need, ...]:
        sizes = (Need.ELEMENT_SIZES,) if self.overlap_ == "on" else ()
        return (Need.STRUCTURE, Need.ELEMENT_RESULTS, *sizes)

    def check_judged(self, judged: Gold) -> None:
        if judged.forest is not None:
            find_quantisation(self.quant, judged.forest.assessed.scale)

    def notes(self, judged: Gold) -> tuple[str, ...]:
        if judged.forest is None or self.settings_of_gains(judged).mixed == self.mixed:
            return ()
        note = (
            f"{self.name}: the text directly inside elements is not known without a collection; "
            "partly seen elements are scored with mixed=ignore"
        )
        return (note,)

    def settings_of_gains(self, judged: Gold) -> Settings:
        """The parameters that change gains, and what they are on these judgements."""
        key = ("settings of gains", type(self), self.key)
        return judged.memo(key, lambda: self._settings_of_gains(judged))

    def _settings_of_gains(self, judged: Gold) -> Settings:
        """As `settings_of_gains`.

        What the text directly inside an element is worth takes a collection, except where worth is
        counted in highlighted characters.
        """
        assert judged.forest is not None
        mixed = self.mixed
        if self.overlap_ == "on" and not judged.forest.complete and mixed == "text":
            function = find_quantisation(self.quant, judged.forest.assessed.scale)
            mixed = "text" if function.name == "spec" else "ignore"
        return Settings(
            self.quant,
            self.overlap_,
            self.alpha,
            self.base,
            self.tie,
            self.norm,
            mixed,
            self.formula_,
            self.clamp,
            self.normalise,
        )

    def gains_key(self, judged: Gold) -> Hashable:
        """What gains and ideal gains depend on: a class may have its own."""
        own = (type(self).gains, type(self).ideal_gains)
        return own, self.settings_of_gains(judged)

    def gains_of_run(self, run: Alignment, *, again: bool) -> Floats:
        """xG: the gain of each result, those of all topics at once."""
        if type(self).gains is XCG.gains:
            return run_gains(run, self.settings_of_gains(run.gold), again=again)
        own = [self.gains(run.topic(topic, again=again)) for topic in run.run.topics]
        return np.concatenate([np.zeros(0), *own])

    def gains(self, topic: TopicView) -> Floats:
        """xG: the gain of each result."""
        settings = self.settings_of_gains(topic.alignment.gold)
        return run_gains(topic.alignment, settings, again=topic.again)[topic.slice]

    def ideal_gains(self, topic: TopicView) -> Floats:
        """xI: the gains of the ideal list."""
        judged = topic.alignment.gold
        return ideal_gains(judged, self.settings_of_gains(judged), topic.at)

    def ideal_curves(self, judged: Gold) -> list[Floats]:
        """The xCI of each judged topic: gains of its ideal list summed up, once for all runs."""
        return judged.memo(("xCI", self.gains_key(judged)), lambda: self._ideal_curves(judged))

    def _ideal_curves(self, judged: Gold) -> list[Floats]:
        nothing = Alignment(Run.from_results({}), judged)
        topics = map(nothing.topic, judged.judgements.topics)
        return [cumulated(self.ideal_gains(topic)) for topic in topics]

    def ideal_curve(self, topic: TopicView) -> Floats:
        """xCI: the gains of the ideal list summed up."""
        return self.ideal_curves(topic.alignment.gold)[topic.at]

    def curve_of_run(self, topic: TopicView) -> Floats:
        """xCG: the gains of the results summed up, once for all measures of these gains."""
        key = ("xCG", self.gains_key(topic.alignment.gold))
        return topic.memo(key, lambda: cumulated(self.gains(topic)))

    def defined(self, topic: TopicView) -> bool:
        return len(self.ideal_gains(topic)) > 0
