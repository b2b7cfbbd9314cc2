"""Gates for continuous integration: is a run good enough, and no worse than before?

A gate checks results or a comparison and gives one sentence for each run and measure: the score
with its confidence interval, and if it passed, the loss that it would have detected.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from foveal.analysis.comparison import Comparison
from foveal.analysis.pairs import TestSettings
from foveal.analysis.score_matrix import parse_label, select_labels
from foveal.analysis.significance import detectable_effect
from foveal.errors import UsageError, plural, shorten_list
from foveal.evaluation.topic_groups import add_groups
from foveal.measures import parse_measure
from foveal.model import Results
from foveal.model.tables import Table, escape_markdown, format_tables

__all__ = ["Check", "check_bounds", "check_not_worse", "join_baseline", "parse_bounds", "summary"]

Floats = npt.NDArray[np.float64]
ALL = "all"
_DIGITS = 4
_ROUNDING = 1e-12  # a bound that only rounding misses is met


@dataclass(frozen=True)
class Check:
    """The verdict of a gate on one run by one measure.

    `detectable` is the smallest loss of the mean that the gate would have detected with the power
    of the settings; None if it failed, or if the spread over topics is unknown.
    """

    run: str
    measure: str
    passed: bool
    sentence: str
    detectable: float | None = None


def parse_bounds(texts: Sequence[str], *, default: float | None = None) -> dict[str, float]:
    """Return the number of each measure, from texts such as ``AiP=0.30``.

    With a `default` the number may be left out. Two bounds for one measure are refused.

    >>> parse_bounds(["AiP=0.30", "gP(beta=0.25)@10=0.2"])
    {'AiP': 0.3, 'gP(beta=0.25)@10': 0.2}
    >>> parse_bounds(["all", "AP=0.02"], default=0.0)
    {'all': 0.0, 'AP': 0.02}
    """
    found: dict[str, float] = {}
    for text in texts:
        measure, _, number = text.rpartition("=")
        try:
            bound = float(number) if measure else math.nan
        except ValueError:
            bound = math.nan
        if not math.isfinite(bound):
            if default is None:
                raise UsageError(f"cannot read {text!r}; expected measure=number, as in AiP=0.30")
            measure, bound = text, default
        name, bracket, group = measure.strip().partition("[")  # as in AiP[group]
        label = ALL if measure.strip() == ALL else parse_measure(name).label + bracket + group
        if label in found:
            raise UsageError(f"{label} is given two bounds: {found[label]:g} and {bound:g}")
        found[label] = bound
    return found


def _label_bounds(held: Sequence[str], bounds: Mapping[str, float]) -> dict[str, float]:
    """Return bounds by the labels of the results, for any spelling of the measures."""
    return {
        label: float(bound)
        for given, bound in bounds.items()
        for label in select_labels(held, [given])
    }


def _describe_interval(low: float, high: float, settings: TestSettings) -> str:
    return f"{100 * settings.confidence:g} % interval {low:.{_DIGITS}f} to {high:.{_DIGITS}f}"


def _describe_loss(loss: float | None, *, up: bool) -> str:
    if loss is None:
        return ""
    return f"; {'a loss' if up else 'an increase'} of {loss:.2g} would have been detected"


def _find_detectable_loss(
    values: Floats, allowed: float, settings: TestSettings, *, tests: int = 0
) -> float | None:
    """Return the smallest true loss that a gate detects with the power of the settings.

    `values` are scores or differences by topic, and `allowed` is the loss of their mean up to which
    the gate passes. `tests` t-tests are corrected together; 0 if the gate does not test. If all
    values are equal, they say nothing about the spread over topics.
    """
    from scipy.special import stdtrit

    topics, deviation = len(values), float(values.std(ddof=1))
    if np.ptp(values) <= _ROUNDING:
        return None
    loss = allowed + float(stdtrit(topics - 1, settings.power)) * deviation / math.sqrt(topics)
    if tests:
        # The first step of every correction compares the smallest p with alpha / tests.
        alpha = settings.alpha / (1 if settings.correction == "none" else tests)
        effect = detectable_effect(topics, power=settings.power, alpha=alpha, tails=settings.tails)
        loss = max(loss, effect * deviation)
    return loss


def check_bounds(
    results: Results, bounds: Mapping[str, float], settings: TestSettings | None = None
) -> tuple[Check, ...]:
    """Check that the mean of every run is as good as these bounds.

    For measures where lower is better, a bound is the maximum allowed value. The mean decides; the
    sentence shows its confidence interval.

    >>> rows = [("a", str(t), "AP", v) for t, v in enumerate([0.2, 0.3, 0.4])]
    >>> rows.append(("a", "all", "AP", 0.3))
    >>> for check in check_bounds(Results.from_tidy(rows, {}), {"AP": 0.5}):
    ...     print(check.sentence)
    a: AP 0.3000 is below 0.5 (95 % interval 0.2000 to 0.4000, 3 topics)
    """
    settings = settings or TestSettings()
    checks = []
    for label, bound in _label_bounds(results.measures, bounds).items():
        k, measure = results.measures.index(label), parse_label(label)
        up = measure is None or measure.higher_is_better is not False
        up = up and label not in results.lower_is_better
        for i, run in enumerate(results.runs):
            mean = float(results.overall[i, k])
            passed = mean >= bound - _ROUNDING if up else mean <= bound + _ROUNDING
            relation = (("below", "at least"), ("above", "at most"))[not up][passed]
            shown = f"{mean:.{_DIGITS}f} is {relation} {bound:g}"
            if math.isnan(mean):
                shown = f"has no score to compare with {bound:g}"
            values = results.values[i, :, k]
            values = values[~np.isnan(values) & results.counted[i]]
            basis, loss = plural(len(values), "topic"), None
            # Sums, and means of other measures' means, have no interval.
            own = sum(values) / max(len(values), 1)
            is_mean = math.isclose(own, mean) and not (measure is not None and measure.averages)
            if len(values) > 1 and is_mean:
                low, high = settings.limits(values[None, :])
                basis = f"{_describe_interval(low[0], high[0], settings)}, {basis}"
                if passed:
                    loss = _find_detectable_loss(values, abs(mean - bound), settings)
            sentence = f"{run}: {label} {shown} ({basis}){_describe_loss(loss, up=up)}"
            checks.append(Check(run, label, passed, sentence, loss))
    return tuple(checks)


def join_baseline(results: Results, saved: Results, path: str) -> tuple[Results, str]:
    """Join results and a run saved earlier; return them and the name of that run.

    A file of one run is the baseline; of several, the run with the name of the only run given.
    If both have the same name, the saved one is called ``NAME (baseline)``.
    """
    picked = saved.runs[0]
    if len(saved.runs) > 1:
        picked = results.runs[0]
        if len(results.runs) > 1 or picked not in saved.runs:
            raise UsageError(
                f"{path} holds {len(saved.runs)} runs, {shorten_list(saved.runs)}; expected one, "
                "or one with the name of the only run given"
            )
    groups = results.meta.get("groups") or saved.meta.get("groups")
    results, saved = results.without_groups(), saved.without_groups()
    shared = [label for label in results.measures if label in saved.measures]
    if not shared:
        held, scored = shorten_list(saved.measures), shorten_list(results.measures)
        raise UsageError(
            f"{path} holds {held}, and the runs are scored by {scored}: none in common"
        )
    name = picked if picked not in results.runs else f"{picked} (baseline)"
    while name in results.runs:
        name += "_"
    own = replace(saved.of_runs([picked]).only(shared), runs=(name,))
    joined = Results.joined([results, own])
    return add_groups(joined, groups) if groups else joined, name


def check_not_worse(
    found: Comparison, margins: Mapping[str, float], *, significantly: bool = True
) -> tuple[Check, ...]:
    """Check that no run is worse than the baseline of a comparison by more than a margin.

    In `margins`, ``all`` is for every measure that is not named. Unless `significantly` is False,
    a run is worse only if the first test of the comparison says so.

    >>> from foveal import compare
    >>> rows = [("old", str(t), "AP", 0.5 + t / 10) for t in range(4)]
    >>> rows += [("new", str(t), "AP", 0.4 + t / 9) for t in range(4)]
    >>> found = compare(Results.from_tidy(rows, {}), baseline="old")
    >>> (check,) = check_not_worse(found, {"AP": 0.01})
    >>> check.passed, check.sentence.partition(" (")[0]
    (False, "new: AP 0.5667 is significantly worse than old's 0.6500")
    """
    if found.baseline is None:
        raise UsageError("a run can be worse only than a baseline, and the comparison has none")
    held = [pairs.measure for pairs in found.measures]
    named = _label_bounds(held, {label: bound for label, bound in margins.items() if label != ALL})
    every = dict.fromkeys(held, float(margins[ALL])) if ALL in margins else {}
    checks = []
    for label, margin in (every | named).items():
        pairs = found[label]
        settings, up = pairs.settings, pairs.scores.higher_is_better
        test = settings.tests[0]
        rows = pairs.table.head(len(pairs.first)).iter_rows(named=True)  # of the first test
        for row, differences in zip(rows, pairs.differences, strict=True):
            other = f"{row['other']}'s {row['other_mean']:.{_DIGITS}f}"
            lost = row["difference"] * (-1 if up else 1)
            worse = row["better"] == row["other"] and lost > margin + _ROUNDING
            passed = not (worse and (row["significant"] or not significantly))
            if lost <= 0:
                verdict = f"no worse than {other}"
            elif not worse:
                verdict = f"worse than {other}, but by no more than {margin:g}"
            elif row["significant"]:
                verdict = f"significantly worse than {other}"
            else:
                verdict = f"worse than {other}, but not significantly"
            p = row["p_corrected"]
            chance = "< 0.0001" if p < 0.00005 else f"{p:.{_DIGITS}f}"
            sentence = (
                f"{row['run']}: {label} {row['mean']:.{_DIGITS}f} is {verdict} "
                f"(difference {row['difference']:+.{_DIGITS}f}, "
                f"{_describe_interval(row['low'], row['high'], settings)}, "
                f"corrected p {chance} ({test}), {plural(row['topics'], 'topic')})"
            )
            loss = None
            if pairs.is_too_small:
                sentence += "; too few topics to say"
            elif passed and (test == "t" or not significantly):  # only the t-test's power is known
                tests = len(pairs.first) * pairs.groups if significantly else 0
                loss = _find_detectable_loss(differences, margin, settings, tests=tests)
            sentence += _describe_loss(loss, up=up)
            checks.append(Check(row["run"], label, passed, sentence, loss))
    return tuple(checks)


def summary(
    title: str,
    checks: Sequence[Check],
    tables: Sequence[Table],
    warnings: Sequence[str] = (),
    details: Sequence[Table] = (),
) -> str:
    """Return a short text in GitHub's Markdown: verdict, sentences, tables, and details to unfold.

    >>> check = Check("a", "AP", False, "a: AP 0.2000 is below 0.3")
    >>> print(summary("Scores", [check], []), end="")
    ## :x: Scores: 1 of 1 checks failed
    <BLANKLINE>
    - :x: a: AP 0.2000 is below 0.3
    <BLANKLINE>
    """
    failed = sum(not check.passed for check in checks)
    verdict = f": {failed} of {len(checks)} checks failed" if failed else ": all checks passed"
    sign = ":x: " if failed else ":white_check_mark: "
    heading = f"{sign}{escape_markdown(title)}{verdict}" if checks else escape_markdown(title)
    parts = [f"## {heading}\n"]
    # What failed comes first: a summary is read from the top.
    sentences = [
        f"- {':white_check_mark:' if check.passed else ':x:'} {escape_markdown(check.sentence)}\n"
        for check in sorted(checks, key=lambda check: check.passed)
    ]
    parts += ["".join(sentences)] if sentences else []
    parts += [format_tables([table], "markdown") for table in tables]
    unfolded = {"Details": format_tables(details, "markdown") if details else ""}
    listed = "".join(f"- {escape_markdown(warning)}\n" for warning in warnings)
    unfolded[plural(len(warnings), "warning")] = listed
    parts += [
        f"<details><summary>{name}</summary>\n\n{body}\n</details>\n"
        for name, body in unfolded.items()
        if body
    ]
    return "\n".join(parts) + "\n"
