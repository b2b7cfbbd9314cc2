"""Scores side by side: the runs on the topics that count for all of them, by one measure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from foveal.errors import UsageError, some
from foveal.measures import Measure, parse_measure, parse_measures
from foveal.model import Results

__all__ = [
    "Aligned",
    "align",
    "averages_others",
    "check_assessors",
    "chosen",
    "free_name",
    "higher_is_better",
    "rounded",
]

Floats = npt.NDArray[np.float64]

_BITS = 40


@dataclass(frozen=True, eq=False)
class Aligned:
    """What paired tests and rank correlations start from.

    Parameters
    ----------
    measure : str
    runs, topics : tuple of str
        The axes of `values`.
    values : float64 array (run, topic)
        Never ``nan`` and never infinite.
    left_out : tuple of str
        Topics that some run is not counted on, or has no defined score on.
    higher_is_better : bool
        Whether a greater value is the better one.
    """

    measure: str
    runs: tuple[str, ...]
    topics: tuple[str, ...]
    values: Floats
    left_out: tuple[str, ...] = ()
    higher_is_better: bool = True

    @property
    def means(self) -> Floats:
        """The mean of each run over the topics that all share."""
        return np.asarray(self.values.mean(axis=1), dtype=np.float64)

    @property
    def greatest(self) -> float:
        """The greatest score regardless of its sign, which says how far rounding reaches."""
        return float(np.abs(self.values).max(initial=0.0))


def rounded(values: Floats, greatest: Floats | float) -> Floats:
    """Numbers free of the noise of floating point, which is relative to the `greatest` score.

    What differs by less than about 1e-12 of it becomes equal, however large or small scores are.
    The numbers left are multiples of one power of two, so that their sums are exact.

    >>> means = np.array([0.1 + 0.2, 0.3])
    >>> (means == means[0]).tolist(), (rounded(means, 1.0) == rounded(means, 1.0)[0]).tolist()
    ([True, False], [True, True])
    """
    scale = np.maximum(greatest, np.finfo(np.float64).tiny)
    # Scores next to the smallest number there is would underflow; they are taken as they are.
    step = np.ldexp(1.0, np.maximum(np.frexp(scale)[1] - _BITS, -1000))
    return np.asarray(np.rint(values / step) * step, dtype=np.float64)


def _parsed(label: str) -> Measure | None:
    try:
        return parse_measure(label)
    except UsageError:  # a user's own column
        return None


def higher_is_better(label: str) -> bool:
    """Of a measure by its label; of one that only counts, and of a user's own column, yes.

    >>> higher_is_better("AiP"), higher_is_better("T2Ieffort@3"), higher_is_better("my own")
    (True, False, True)
    """
    measure = _parsed(label)
    return measure is None or measure.higher_is_better is not False


def averages_others(label: str) -> bool:
    """Whether a measure is a mean of the means of others, and not of its values by topic.

    >>> averages_others("inex_eval(quant=mean7)"), averages_others("inex_eval(quant=strict)")
    (True, False)
    """
    measure = _parsed(label)
    return measure is not None and bool(measure.averages)


def chosen(known: Sequence[str], measures: Iterable[str | Measure]) -> list[str]:
    """Labels of the measures asked for, each once, in any spelling; or the names of own columns.

    >>> chosen(["iP@0.01", "AP", "my own"], ["AP", "my own", "iP@.01", "AP"])
    ['AP', 'my own', 'iP@0.01']
    """
    found: list[str] = []
    for given in measures:
        try:
            labels = [m.label for m in parse_measures(str(given))]
        except UsageError:
            labels = [str(given)]
        if not set(labels) <= set(known) and str(given) in known:
            labels = [str(given)]
        for label in labels:
            if label not in known:
                raise UsageError(f"no measure {label!r} in the results; they hold {some(known)}")
        found += labels
    return list(dict.fromkeys(found))


def check_assessors(options: Mapping[str, object]) -> None:
    """Refuse results by assessor, where every run stands once for each of them.

    Assessors judge different topics by different standards: runs are neither ranked nor paired
    across them.
    """
    if options.get("assessors") == "each":
        raise UsageError(
            "with assessors 'each' every run is several, one for each assessor, and these cannot "
            "be compared; choose union, majority, intersection or the name of one"
        )


def free_name(name: str, taken: Iterable[str]) -> str:
    """The name, with as many lines below it as make it new.

    >>> free_name("run", ["a", "run", "run_"])
    'run__'
    """
    used = set(taken)
    while name in used:
        name += "_"
    return name


def align(results: Results, measure: str, runs: Sequence[str] | None = None) -> Aligned:
    """The scores of runs by a measure, topics matched by their ids.

    Examples
    --------
    >>> saved = Results.from_tidy(
    ...     [("a", "1", "AP", 0.5), ("a", "2", "AP", 0.25), ("b", "2", "AP", 1.0)], {}
    ... )
    >>> both = align(saved, "AP")
    >>> both.topics, both.values.tolist(), both.left_out
    (('2',), [[0.25], [1.0]], ('1',))
    """
    part = results.only([measure])
    part = part if runs is None else part.of_runs(runs)
    values = part.values[:, :, 0]
    if np.isinf(values).any():
        i, j = np.argwhere(np.isinf(values))[0].tolist()
        raise UsageError(
            f"{measure}: the score of run {part.runs[i]!r} on topic {part.topics[j]} is "
            f"{values[i, j]}; expected a finite number"
        )
    shared = np.logical_and.reduce(~np.isnan(values) & part.counted)
    return Aligned(
        measure=part.measures[0],
        runs=part.runs,
        topics=tuple(t for t, kept in zip(part.topics, shared, strict=True) if kept),
        values=np.ascontiguousarray(values[:, shared]),
        left_out=tuple(t for t, kept in zip(part.topics, shared, strict=True) if not kept),
        higher_is_better=part.measures[0] not in part.lower_is_better
        and higher_is_better(part.measures[0]),
    )
