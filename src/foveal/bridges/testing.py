"""Assertions about runs for test suites: ``assert_at_least``, ``assert_not_worse``.

They are plain functions and need no plugin. A failure says the score, what was expected, the
confidence interval and how many topics it rests on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from foveal.analysis.comparison import Comparison, compare
from foveal.analysis.tasks import take_or_score
from foveal.bridges.gates import ALL, Check, at_least, not_worse, with_baseline
from foveal.errors import UsageError
from foveal.evaluation import evaluate
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
    """Assert that the mean of every run is as good as the bound of each measure.

    Parameters
    ----------
    runs : Results, or runs as for `foveal.evaluate`
    judgements : as for `foveal.evaluate`
        Needed where `runs` are not results.
    bounds : mapping of measure to float
        Minimum of each measure, or the maximum where lower is better.
    **options
        Those of `foveal.evaluate`.

    Returns
    -------
    Results
        The scores, for further assertions.

    Examples
    --------
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
    if isinstance(runs, Results):
        if judgements is not None or options:
            raise UsageError("results are not scored again; leave out judgements and options")
        results = runs
    elif judgements is None:
        raise UsageError("runs need judgements to be scored against, and there are none")
    else:
        results = evaluate(runs, judgements, list(bounds), **options)
    _assert(at_least(results, bounds))
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
    """Assert that no run is worse than a baseline by more than a margin.

    Parameters
    ----------
    runs, judgements, measures
        As for `foveal.evaluate`; of `Results`, `measures` chooses some.
    baseline : Results, Run, path
        A run, the results of one, or the ``.json`` file that they were saved in.
    margin : float, or mapping of measure to float
        Greatest loss that passes.
    significantly : bool
        Only a significant difference counts; else any that is greater than the margin.
    tests, alpha
        See `foveal.compare`.
    **options
        Those of `foveal.evaluate`.

    Returns
    -------
    Comparison
        With the baseline, for further assertions.

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
    >>> assert_not_worse(new, truth, "charR", baseline=old, margin=0.5)
    <Comparison: 2 runs, 1 pairs, 1 measures>
    """
    __tracebackhide__ = True
    results = Results.joined(take_or_score(runs, judgements, measures, options))
    saved, where = _baseline(baseline, judgements, results.measures, options)
    joined, name = with_baseline(results, saved, where)
    found = compare(joined, baseline=name, tests=tests, alpha=alpha)
    margins = dict(margin) if isinstance(margin, Mapping) else {ALL: float(margin)}
    _assert(not_worse(found, {ALL: 0.0} | margins, significantly=significantly))
    return found


def _baseline(
    baseline: Results | Run | str | Path,
    judgements: JudgementsLike | None,
    measures: Sequence[str],
    options: dict[str, Any],
) -> tuple[Results, str]:
    """Return the scores of the baseline, and its name in messages."""
    if isinstance(baseline, Results):
        return baseline, "the baseline"
    if isinstance(baseline, (str, Path)) and Path(baseline).suffix == ".json":
        return read_results(baseline), str(baseline)
    if judgements is None:
        raise UsageError("a baseline that is a run needs judgements to be scored against")
    where = baseline.name if isinstance(baseline, Run) else str(baseline)
    return evaluate(baseline, judgements, list(measures), **options), where


def _assert(checks: Sequence[Check]) -> None:
    __tracebackhide__ = True
    failed = [check.sentence for check in checks if not check.passed]
    if failed:
        raise AssertionError("\n".join(failed))
