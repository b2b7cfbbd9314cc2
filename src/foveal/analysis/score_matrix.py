"""Scores of runs on the topics they share, by one measure, and the measures to choose from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from foveal.errors import UsageError, shorten_list
from foveal.measures import Measure, parse_measure, parse_measures
from foveal.model import Results
from foveal.spans import Floats

_BITS = 40


@dataclass(frozen=True, eq=False)
class ScoreMatrix:
    """Scores of runs by one measure, on the topics that count for all of them.

    The values (run, topic) are never ``nan`` and never infinite. `left_out` names the topics that
    some run is not counted on, or has no defined score on; `group` the group of topics that the
    measure is restricted to. A measure that averages the means of others is not a mean of values by
    topic.
    """

    measure: str
    runs: tuple[str, ...]
    topics: tuple[str, ...]
    values: Floats
    left_out: tuple[str, ...] = ()
    group: str | None = None
    higher_is_better: bool = True
    averages_others: bool = False

    @classmethod
    def from_results(
        cls, results: Results, measure: str, runs: Sequence[str] | None = None
    ) -> ScoreMatrix:
        """Match the topics of runs by their ids.

        >>> saved = Results.from_tidy(
        ...     [("a", "1", "AP", 0.5), ("a", "2", "AP", 0.25), ("b", "2", "AP", 1.0)], {}
        ... )
        >>> both = ScoreMatrix.from_results(saved, "AP")
        >>> both.topics, both.values.tolist(), both.left_out
        (('2',), [[0.25], [1.0]], ('1',))
        """
        part = results.only([measure])
        part = part if runs is None else part.of_runs(runs)
        values, topics = part.values[:, :, 0], np.array(part.topics, dtype=object)
        for i, j in np.argwhere(np.isinf(values))[:1].tolist():
            raise UsageError(
                f"{measure}: the score of run {part.runs[i]!r} on topic {topics[j]} is "
                f"{values[i, j]}; expected a finite number"
            )
        shared = np.logical_and.reduce(~np.isnan(values) & part.counted)
        (label,) = part.measures
        groups = part.meta.get("groups", {})
        group = next((name for name in groups if label.endswith(f"[{name}]")), None)
        asked = topics if group is None else groups[group]
        parsed = parse_label(label)
        lower = label in part.lower_is_better or (parsed and parsed.higher_is_better is False)
        return cls(
            measure=label,
            runs=part.runs,
            topics=tuple(topics[shared]),
            values=np.ascontiguousarray(values[:, shared]),
            left_out=tuple(topic for topic in topics[~shared] if topic in asked),
            group=group,
            higher_is_better=not lower,
            averages_others=parsed is not None and bool(parsed.averages),
        )

    @property
    def sign(self) -> int:
        """1 if higher is better, else -1."""
        return 1 if self.higher_is_better else -1

    @property
    def means(self) -> Floats:
        """The mean of each run over the shared topics."""
        return np.asarray(self.values.mean(axis=1), dtype=np.float64)

    def orient(self, means: Floats) -> Floats:
        """Return means to rank by: greater is better, and rounding errors make no difference."""
        greatest = float(np.abs(self.values).max(initial=0.0))
        return round_noise(self.sign * means, greatest)


def round_noise(values: Floats, greatest: Floats | float) -> Floats:
    """Remove floating-point noise, which is relative to the `greatest` score.

    Numbers that differ by less than about 1e-12 of it become equal, on any scale. The results are
    multiples of one power of two, so that their sums are exact.

    >>> means = np.array([0.1 + 0.2, 0.3])
    >>> len(np.unique(means)), len(np.unique(round_noise(means, 1.0)))
    (2, 1)
    """
    scale = np.maximum(greatest, np.finfo(np.float64).tiny)
    # Scores next to the smallest float would underflow and are not rounded.
    step = np.ldexp(1.0, np.maximum(np.frexp(scale)[1] - _BITS, -1000))
    return np.asarray(np.rint(values / step) * step, dtype=np.float64)


def parse_label(label: str) -> Measure | None:
    """Return the measure of a label, also one of a group of topics; None for a user's column.

    >>> parse_label("AiP[short]"), parse_label("my column")
    (AiP, None)
    """
    try:
        return parse_measure(label.partition("[")[0])
    except UsageError:
        return None


def compute_ranking_scores(results: Results, label: str) -> Floats:
    """Return the scores that rank the runs: their means over shared topics, greater is better.

    A measure that averages the means of others is ranked by its value over all topics. Each run's
    value is then over the topics that count for that run, even if other runs lack them.
    """
    scores = ScoreMatrix.from_results(results, label)
    if scores.averages_others:
        part = results.only([label])
        greatest = float(np.nanmax(np.abs(part.values), initial=0.0))
        return round_noise(part.overall[:, 0], greatest)
    return scores.orient(scores.means) if scores.topics else np.full(len(results.runs), np.nan)


def select_labels(known: Sequence[str], measures: Iterable[str | Measure]) -> list[str]:
    """Return the labels of measures in any spelling, or the names of own columns, each once.

    >>> select_labels(["iP@0.01", "AP", "my own"], ["AP", "my own", "iP@.01", "AP"])
    ['AP', 'my own', 'iP@0.01']
    """
    found: list[str] = []
    for text in map(str, measures):
        try:
            labels = [measure.label for measure in parse_measures(text)]
        except UsageError:
            labels = [text]
        found += [text] if text in known and not set(labels) <= set(known) else labels
    if unknown := [label for label in found if label not in known]:
        raise UsageError(
            f"no measure {unknown[0]!r} in the results; they hold {shorten_list(known)}"
        )
    return list(dict.fromkeys(found))


def check_assessors(given: Mapping[str, object] | Results) -> None:
    """Refuse options or results with one score per assessor.

    Assessors judge different topics by different standards: runs are neither ranked nor paired
    across them.
    """
    if isinstance(given, Results):
        for meta in given.meta.get("parts", [given.meta]):
            check_assessors(meta.get("options", {}))
    elif given.get("assessors") == "each":
        raise UsageError(
            "with assessors 'each' every run is several, one for each assessor, and these cannot "
            "be compared; choose union, majority, intersection or the name of one"
        )
