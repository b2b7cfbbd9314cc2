"""Assertions about runs for test suites: ``assert_at_least``, ``assert_not_worse``.

They need no plugin. A failure gives the score, the bound, the interval and the number of topics.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from foveal.analysis.comparison import Comparison, compare
from foveal.analysis.tasks import take_or_score
from foveal.bridges.gates import ALL, Check, check_bounds, check_not_worse, join_baseline
from foveal.errors import UsageError
from foveal.evaluation.evaluation import RunLike
from foveal.formats import read_results
from foveal.measures import Measure
from foveal.model import Judgements, Results, Run

__all__ = ["assert_at_least", "assert_not_worse"]

JudgementsLike = Judgements | str | Path | Sequence[str | Path]


def assert_at_least(
    runs: Results | RunLike | Sequence[RunLike],
    judgements: JudgementsLike | None = None,
    bounds: Mapping[str, float] | None = None,
    **options: Any,
) -> Results:
    """Assert that the mean of every run is as good as the bound of each measure; return the scores.

    `runs` are results, or with `judgements` and `options` those of `foveal.evaluate`. A bound is
    the minimum of a measure, or the maximum where lower is better.

    >>> run = Run.from_results({"1": [("D", 0, 40)], "2": [("D", 0, 10)]}, name="mine")
    >>> spans = {"D": {"spans": [(0, 20)], "length": 50}}
    >>> truth = Judgements.from_highlights({"1": spans, "2": spans})
    >>> assert_at_least(run, truth, {"charR": 0.7})
    <Results: 1 runs x 2 topics x 1 measures>
    >>> assert_at_least(run, truth, {"charR": 0.8})
    Traceback (most recent call last):
    AssertionError: mine: charR 0.7500 is below 0.8 (95 % interval 0.5000 to 1.0000, 2 topics)
    """
    __tracebackhide__ = True
    if not bounds:
        raise UsageError("no bounds given; expected measure to number, as in {'AiP': 0.3}")
    results = Results.joined(take_or_score(runs, judgements, list(bounds), options))
    _assert(check_bounds(results, bounds))
    return results


def assert_not_worse(
    runs: Results | RunLike | Sequence[RunLike],
    judgements: JudgementsLike | None = None,
    measures: str | Measure | Sequence[str | Measure] = (),
    *,
    baseline: Results | Run | str | Path,
    margin: float | Mapping[str, float] = 0.0,
    significantly: bool = True,
    tests: str | Sequence[str] = ("t",),
    alpha: float = 0.05,
    **options: Any,
) -> Comparison:
    """Assert that no run is worse than a baseline by more than a margin; return the comparison.

    Parameters
    ----------
    runs, judgements, measures, **options
        As for `foveal.evaluate`; of `Results`, `measures` chooses some.
    baseline : Results, Run, path
        A run, the results of one, or the ``.json`` file that they were saved in.
    margin : float, or mapping of measure to float
        Greatest loss that passes.
    significantly : bool
        Only a significant difference counts; else any that is greater than the margin.
    tests, alpha
        See `foveal.compare`.

    Examples
    --------
    >>> old = Run.from_results({t: [("D", 0, 20)] for t in "1234"}, name="old")
    >>> new = Run.from_results({t: [("D", 0, 10 + int(t))] for t in "1234"}, name="new")
    >>> truth = Judgements.from_highlights(
    ...     {t: {"D": {"spans": [(0, 20)], "length": 50}} for t in "1234"}
    ... )
    >>> assert_not_worse(new, truth, "charR", baseline=old)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    AssertionError: new: charR 0.6250 is significantly worse than old's 1.0000 (difference...
    >>> assert_not_worse(new, truth, "charR", baseline=old, margin=0.5)  # doctest: +ELLIPSIS
    <Comparison: old leads new by 0.38 charR; with 4 topics the difference is significant, p ...
    """
    __tracebackhide__ = True
    results = Results.joined(take_or_score(runs, judgements, measures, options))
    saved: Any = baseline
    if isinstance(baseline, (str, Path)) and Path(baseline).suffix == ".json":
        saved = read_results(baseline)
    elif not isinstance(baseline, Results):
        saved = Results.joined(take_or_score(baseline, judgements, results.measures, options))
    where = str(baseline) if isinstance(baseline, (str, Path)) else "the baseline"
    joined, name = join_baseline(results, saved, where)
    found = compare(joined, baseline=name, tests=tests, alpha=alpha)
    margins = dict(margin) if isinstance(margin, Mapping) else {ALL: float(margin)}
    _assert(check_not_worse(found, {ALL: 0.0} | margins, significantly=significantly))
    return found


def _assert(checks: Sequence[Check]) -> None:
    __tracebackhide__ = True
    failed = [check.sentence for check in checks if not check.passed]
    if failed:
        raise AssertionError("\n".join(failed))
