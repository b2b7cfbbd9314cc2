"""Paired tests, corrections, confidence intervals, effect sizes and power, on arrays.

Every function takes differences, an array (pair, topic) with a row for each pair of runs, and works
on all rows at once. The result for a row does not depend on other rows: resamples are drawn for
the topics, and all pairs use the same ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import scipy

from foveal.analysis.score_matrix import round_noise
from foveal.spans import Bools, Floats, Ints

_STREAMS = {"randomisation": 1, "bootstrap": 2, "interval": 3}
"""Each use of random numbers has its own stream for a seed, the same on every machine."""
_ROOM = 4_000_000
"""Numbers in memory at a time while resampling, 32 MB."""
_EXACT, _EXACT_TIED = 50, 13
"""Largest numbers of topics for an exact Wilcoxon test, without and with ties."""
_NOISE = 1e-12
"""Relative error of a sum that is due to rounding and the order of its terms."""


def paired_differences(values: Floats, first: Ints, second: Ints) -> Floats:
    """Return ``values[first] - values[second]`` without floating-point noise.

    In binary, .3 - .2 is not .2 - .1: ranks would have no ties, and equal sums would differ.
    `round_noise` therefore rounds the differences relative to the greatest score of the pair.

    >>> noisy = np.array([[0.3, 0.2], [0.2, 0.1]])
    >>> np.unique(paired_differences(noisy, np.array([0]), np.array([1]))).size
    1
    """
    greatest = np.abs(values).max(axis=1, initial=0.0)
    scale = np.maximum(greatest[first], greatest[second])[:, None]
    return round_noise(values[first] - values[second], scale)


# -- tests ---------------------------------------------------------------------------------------


def t_test(differences: Floats, *, tails: int = 2) -> Floats:
    """Student's paired t-test; without variance p is 1 for equal means, else 0.

    With one tail, all tests here test the better mean against the worse; p is 1 for equal means.

    >>> x = np.array([[0.42, 0.10, 0.55, 0.31, 0.70, 0.25], [0.40, 0.12, 0.45, 0.22, 0.61, 0.25]])
    >>> t_test(paired_differences(x, np.array([0]), np.array([1]))).round(4).tolist()
    [0.0826]
    """
    topics = differences.shape[1]
    statistic = np.abs(effect_sizes(differences) * float(np.sqrt(topics)))
    p = tails * scipy.special.stdtr(topics - 1, -statistic)
    return _correct_equal_means(p, differences, tails)


def wilcoxon_test(differences: Floats, *, tails: int = 2) -> Floats:
    """Wilcoxon's signed-rank test, topics without a difference dropped.

    Exact for at most 50 topics, or 13 if some differences are 0 or of equal size; else by the
    normal distribution with the variance corrected for ties, as in `scipy.stats.wilcoxon`.
    """
    ups, downs = np.ones((2, len(differences)))
    for i, row in enumerate(_orient(differences)):
        moved = row[row != 0]
        n = len(moved)
        if not n:
            continue
        _, place, counts = np.unique(np.abs(moved), return_inverse=True, return_counts=True)
        ranks = (np.cumsum(counts) - (counts - 1) / 2)[place]
        total = ranks[moved > 0].sum()
        if len(row) <= (_EXACT if len(counts) == len(row) else _EXACT_TIED):
            chances, at = _rank_sums(ranks), round(2 * total)
            ups[i], downs[i] = chances[at:].sum(), chances[: at + 1].sum()
        else:
            variance = n * (n + 1) * (2 * n + 1) / 24 - (counts**3 - counts).sum() / 48
            z = (total - n * (n + 1) / 4) / np.sqrt(variance)
            ups[i], downs[i] = scipy.special.ndtr(-z), scipy.special.ndtr(z)
    p = ups if tails == 1 else np.minimum(2 * np.minimum(ups, downs), 1.0)
    return _correct_equal_means(p, differences, tails)


def _rank_sums(ranks: Floats) -> Floats:
    """Chance of each sum of ranks with a positive sign, in halves: entry k is the sum k/2."""
    doubled = np.rint(2 * ranks).astype(np.int64)
    chances = np.zeros(int(doubled.sum()) + 1)
    chances[0] = 1.0
    for rank in doubled.tolist():
        chances[rank:] += chances[:-rank].copy()
        chances /= 2
    return chances


def sign_test(differences: Floats, *, tails: int = 2) -> Floats:
    """The exact sign test: topics won against topics lost, ties dropped.

    >>> sign_test(np.array([[0.02, -0.02, 0.1, 0.09, 0.09, 0.0]])).tolist()
    [0.375]
    """
    oriented = _orient(differences)
    won, lost = (oriented > 0).sum(axis=1), (oriented < 0).sum(axis=1)
    fewer = lost if tails == 1 else np.minimum(won, lost)
    p = np.minimum(tails * scipy.special.bdtr(fewer.astype(np.float64), won + lost, 0.5), 1.0)
    return _correct_equal_means(p, differences, tails)


def randomisation_test(
    differences: Floats, *, tails: int = 2, resamples: int = 10_000, seed: int = 0
) -> Floats:
    """Fisher's randomisation test of the mean: on every topic the runs may change places.

    Of B random flips of the signs, k have a mean at least as far from 0 as the observed one, and
    p = (k+1)/(B+1).
    """
    pairs, topics = differences.shape
    oriented = _orient(differences)
    least = oriented.sum(axis=1) - np.abs(oriented).sum(axis=1) * _NOISE
    extreme = np.zeros(pairs, dtype=np.int64)
    random = np.random.Generator(np.random.PCG64([seed, _STREAMS["randomisation"]]))
    most = max(1, _ROOM // (2 * topics + 2 * pairs))
    for start in range(0, resamples, most):
        size = min(most, resamples - start)
        sums = np.where(random.random((size, topics)) < 0.5, -1.0, 1.0) @ oriented.T
        extreme += np.count_nonzero((np.abs(sums) if tails == 2 else sums) >= least, axis=0)
    return _correct_equal_means((extreme + 1) / (resamples + 1), differences, tails)


def bootstrap_test(
    differences: Floats, *, tails: int = 2, resamples: int = 10_000, seed: int = 0
) -> Floats:
    """The bootstrap shift test of the mean in units of its standard error.

    Topics are drawn with replacement, the mean is moved to 0, and p = (k+1)/(B+1). Where topics are
    few, the mean alone would find too many differences, since resamples vary less than new topics.
    """
    topics = differences.shape[1]
    oriented = _orient(differences)
    centred = oriented - oriented.mean(axis=1, keepdims=True)
    centred[np.ptp(oriented, axis=1) == 0] = 0.0
    squares = centred**2
    noise = squares.sum(axis=1) * 1e-13
    least = effect_sizes(oriented) * float(np.sqrt(topics)) * (1 - _NOISE)
    extreme = np.zeros(len(differences), dtype=np.int64)
    for weights in _draws(topics, resamples, seed, "bootstrap", 4 * len(differences)):
        means = (weights @ centred.T) / topics
        spread = weights @ squares.T - topics * means**2
        # A resample without spread, such as one topic again and again, is as far out as can be.
        found = np.where(means == 0, 0.0, np.copysign(np.inf, means))
        error = np.sqrt(np.maximum(spread, 0.0) / (topics - 1) / topics)
        np.divide(means, error, out=found, where=spread > noise)
        extreme += np.count_nonzero((np.abs(found) if tails == 2 else found) >= least, axis=0)
    return _correct_equal_means((extreme + 1) / (resamples + 1), differences, tails)


def equivalence_test(differences: Floats, margin: float) -> Floats:
    """Two one-sided t-tests (TOST; Schuirmann 1987): p of a mean difference within `margin` of 0.

    The null hypothesis is a mean of `margin` or more in either direction; p is the greater of the
    two one-sided p values. Without variance p is 0 for a mean within the margin, else 1.

    >>> equivalence_test(np.array([[0.01, -0.02, 0.03, 0.0], [0.1, 0.1, 0.1, 0.1]]), 0.1).round(4)
    array([0.0014, 1.    ])
    """
    topics = differences.shape[1]
    beyond = np.abs(_means(differences)) - margin
    error = differences.std(axis=1, ddof=1) / np.sqrt(topics)
    # A constant difference of exactly the margin may be stored as slightly less.
    statistic = np.where(beyond < -_NOISE * margin, -np.inf, np.inf)
    np.divide(beyond, error, out=statistic, where=(np.ptp(differences, axis=1) > 0) & (error > 0))
    return np.asarray(scipy.special.stdtr(topics - 1, statistic), dtype=np.float64)


TESTS: dict[str, Callable[..., Floats]] = {
    "t": t_test,
    "wilcoxon": wilcoxon_test,
    "sign": sign_test,
    "randomisation": randomisation_test,
    "bootstrap": bootstrap_test,
}
"""The last two also take resamples and seed."""


def _means(differences: Floats) -> Floats:
    """Return the means, exactly 0 where only rounding errors are left."""
    sums, noise = differences.sum(axis=1), np.abs(differences).sum(axis=1) * _NOISE
    return np.where(np.abs(sums) <= noise, 0.0, sums / differences.shape[1])


def _correct_equal_means(p: Floats, differences: Floats, tails: int) -> Floats:
    """With one tail, equal means have a p of 1."""
    return p if tails == 2 else np.where(_means(differences) == 0, 1.0, p)


def _orient(differences: Floats) -> Floats:
    """Change the sign of rows with a negative mean."""
    return np.where(_means(differences) < 0, -1.0, 1.0)[:, None] * differences


# -- resamples -----------------------------------------------------------------------------------


def _draws(topics: int, resamples: int, seed: int, purpose: str, others: int) -> Iterator[Floats]:
    """Yield how often each topic is in a resample (resample, topic), drawn as by scipy."""
    random = np.random.Generator(np.random.PCG64([seed, _STREAMS[purpose]]))
    most = max(1, _ROOM // (3 * topics + others))
    for start in range(0, resamples, most):
        size = min(most, resamples - start)
        drawn = random.integers(0, topics, (size, topics)) + topics * np.arange(size)[:, None]
        counts = np.bincount(drawn.ravel(), minlength=size * topics)
        yield counts.reshape(size, topics).astype(np.float64)


def _resample_means(values: Floats, resamples: int, seed: int) -> Floats:
    """Return the mean of each row over resampled topics (row, resample)."""
    topics = values.shape[1]
    draws = _draws(topics, resamples, seed, "interval", len(values))
    means: Floats = np.hstack([values @ weights.T for weights in draws]) / topics
    return means


# -- intervals, effects, power -------------------------------------------------------------------


def bootstrap_interval(
    differences: Floats, *, confidence: float = 0.95, resamples: int = 10_000, seed: int = 0
) -> tuple[Floats, Floats]:
    """Return the percentile bootstrap interval of the mean, by resampling topics."""
    pairs = len(differences)
    low, high = np.empty((2, pairs))
    tail = (1 - confidence) / 2
    together = max(1, _ROOM // resamples)
    for start in range(0, pairs, together):
        part = slice(start, start + together)
        means = _resample_means(differences[part], resamples, seed)
        low[part], high[part] = np.quantile(means, [tail, 1 - tail], axis=1)
    return low, high


def rank_intervals(
    values: Floats, *, confidence: float = 0.95, resamples: int = 10_000, seed: int = 0
) -> tuple[Floats, Ints, Ints]:
    """Return for each run the probability of being best, and the interval of its rank.

    Topics are resampled, the same for all runs, and runs ranked by their mean: the greatest is
    best. Runs tied for the first place share it. In the interval, tied runs take the first of
    their ranks at the lower end and the last at the upper end.
    """
    greatest = float(np.abs(values).max(initial=0.0))
    means = round_noise(_resample_means(values, resamples, seed), greatest)
    best, (low, high) = np.zeros(len(values)), np.ones((2, len(values)), np.int64)
    tail = (1 - confidence) / 2
    for i, own in enumerate(means):
        above, tied = (means > own).sum(axis=0), (means == own).sum(axis=0)
        best[i] = np.where(above == 0, 1 / tied, 0.0).mean()
        low[i] = np.quantile(above + 1, tail, method="inverted_cdf")
        high[i] = np.quantile(above + tied, 1 - tail, method="inverted_cdf")
    return best, low, high


def t_interval(differences: Floats, *, confidence: float = 0.95) -> tuple[Floats, Floats]:
    """Return Student's t interval of the mean."""
    topics = differences.shape[1]
    reach = scipy.special.stdtrit(topics - 1, (1 + confidence) / 2) / np.sqrt(topics)
    half = reach * differences.std(axis=1, ddof=1)
    means = differences.mean(axis=1)
    return means - half, means + half


INTERVALS = ("bootstrap", "t")


def effect_sizes(differences: Floats) -> Floats:
    """Return Cohen's d of paired differences (d_z): mean over standard deviation.

    Without variance it is 0 for equal means, else infinite.

    >>> effect_sizes(np.array([[0.1, 0.2, 0.3], [0.0, 0.0, 0.0], [5.0, 5.0, 5.0]])).round(2)
    array([ 2.,  0., inf])
    """
    means = _means(differences)
    spread = differences.std(axis=1, ddof=1)
    effect = np.where(means == 0, 0.0, np.copysign(np.inf, means))
    varies = (np.ptp(differences, axis=1) > 0) & (spread > 0)
    np.divide(means, spread, out=effect, where=varies)
    return effect


def power_of(effect: Floats, topics: Floats, *, alpha: float = 0.05, tails: int = 2) -> Floats:
    """Return the power of a t-test with so many topics to find an effect of this size."""
    freedom, shift = topics - 1, np.abs(effect) * np.sqrt(topics)
    critical = scipy.special.stdtrit(freedom, 1 - alpha / tails)
    found = 1 - scipy.special.nctdtr(freedom, shift, critical)
    if tails == 2:
        # Rejections on the wrong side; scipy returns nan where the probability underflows.
        found = found + np.nan_to_num(scipy.special.nctdtr(freedom, shift, -critical))
    return np.asarray(found, dtype=np.float64)


def topics_needed(
    effect: Floats, *, power: float = 0.8, alpha: float = 0.05, tails: int = 2
) -> Floats:
    """Return the least number of topics with which a t-test finds effects of these sizes.

    It is infinite for an effect of 0.

    >>> topics_needed(np.array([0.5, 0.2, 0.0, np.inf])).tolist()
    [34.0, 199.0, inf, 2.0]
    """
    size = np.abs(effect)
    with np.errstate(divide="ignore", over="ignore"):
        z = float(scipy.special.ndtri(1 - alpha / tails) + scipy.special.ndtri(power))
        needed: Floats = np.ceil((z / size) ** 2)
    needed[np.isinf(size)] = 2.0
    # With a million topics the t distribution is practically normal.
    sought = np.isfinite(size) & (needed < 1e6)
    d = size[sought]
    few, enough = np.ones(len(d)), np.full(len(d), 2.0)
    while (short := power_of(d, enough, alpha=alpha, tails=tails) < power).any():
        few[short] = enough[short]
        enough[short] *= 2
    while (enough - few > 1).any():
        middle = np.floor((few + enough) / 2)  # a single topic has power nan, which is too little
        reached = power_of(d, middle, alpha=alpha, tails=tails) >= power
        few, enough = np.where(reached, few, middle), np.where(reached, middle, enough)
    needed[sought] = enough
    return needed


def detectable_effect(
    topics: int, *, power: float = 0.8, alpha: float = 0.05, tails: int = 2
) -> float:
    """Return the smallest effect size that a t-test with so many topics finds with this power."""
    critical = scipy.special.stdtrit(topics - 1, 1 - alpha / tails)
    return float(scipy.special.nctdtrinc(topics - 1, 1 - power, critical) / np.sqrt(topics))


# -- many pairs ----------------------------------------------------------------------------------


CORRECTIONS = ("holm", "bonferroni", "bh", "none")


def correct(p: Floats, correction: str = "holm", families: int = 1) -> Floats:
    """Adjust p values for their number, so that each can be compared with alpha.

    Holm and Bonferroni control the family-wise error rate, Benjamini and Hochberg (``bh``) the
    false discovery rate. If there are several `families` of p values, each is multiplied by their
    number.

    >>> correct(np.array([0.01, 0.04, 0.03])).tolist()
    [0.03, 0.06, 0.06]
    """
    if correction == "none":
        return p.copy()
    n, order = len(p), np.argsort(p, kind="stable")
    steps = p[order]
    if correction == "bonferroni":
        steps = steps * n
    elif correction == "holm":
        steps = np.maximum.accumulate(steps * np.arange(n, 0, -1))
    else:
        steps = np.minimum.accumulate((steps * (n / np.arange(1, n + 1)))[::-1])[::-1]
    adjusted = np.empty_like(p)
    adjusted[order] = np.minimum(steps * families, 1.0)
    return adjusted


def letters(different: Bools) -> tuple[str, ...]:
    """Return the compact letter display: two runs share a letter iff they do not differ.

    Runs must be given from best to worst, so that the best get the first letters.

    >>> apart = np.zeros((3, 3), dtype=bool)
    >>> apart[0, 2] = apart[2, 0] = True
    >>> letters(apart)
    ('a', 'ab', 'b')
    """
    runs = len(different)
    alike = ~different | np.eye(runs, dtype=bool)
    groups: list[set[int]] = []
    for i in range(runs):
        # A run apart from all others has a letter of its own.
        for j in (*range(i + 1, runs), i):
            if not alike[i, j] or any({i, j} <= group for group in groups):
                continue
            group = {i, j}
            for k in range(runs):
                if alike[k, [*group]].all():
                    group.add(k)
            groups.append(group)
    names = [""] * runs
    for number, group in enumerate(groups):
        again, place = divmod(number, 26)  # after z: a1, b1, ...
        for run in group:
            names[run] += chr(ord("a") + place) + (str(again) if again else "")
    return tuple(names)
