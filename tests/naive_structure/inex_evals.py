"""The metrics of the first years: inex_eval and inex_eval_ng (sections 4 and 5)."""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from math import ceil, isnan
from typing import Literal

from naive_structure.bases import Tie, ideal_base
from naive_structure.quantisation import SEVEN, quant_2003, quant_2005, quantised, scale_of
from naive_structure.trees import (
    NAN,
    ONE,
    ZERO,
    Documents,
    Key,
    Number,
    Result,
    Results,
    chars,
    cumulate,
    elements,
    keys_of,
    mean,
    overlap,
    percents,
    recall_point,
    spec,
)

# --------------------------------------------------------------------------------------------
# inex_eval (section 4)
# --------------------------------------------------------------------------------------------

Points = Literal["intuitive", "ceiling"]


def tie_groups(results: Results) -> list[list[int]]:
    """Positions of the run in maximal blocks of neighbours of equal score, else rank (1.3)."""
    groups: list[list[int]] = []
    for position, result in enumerate(results):
        if position and _tied(Result(*results[position - 1]), Result(*result)):
            groups[-1].append(position)
        else:
            groups.append([position])
    return groups


def _tied(a: Result, b: Result) -> bool:
    if a.rsv is not None or b.rsv is not None:
        return a.rsv == b.rsv
    return a.rank is not None and a.rank == b.rank


def _target(n: Fraction, x: Fraction, points: Points) -> Fraction:
    """The relevant mass t that a user who wants recall x looks for."""
    return n * x if points == "intuitive" else Fraction(ceil(n * x))


def precall(
    groups: Sequence[Sequence[Fraction]],
    n: Fraction,
    x: Fraction,
    *,
    points: Points = "intuitive",
    tail: int | None = None,
) -> Fraction:
    """t / (t + esl_t) with esl_t = j + s i / (r + 1), from the values of the tie groups.

    ``tail`` is the number of elements that were not retrieved (unretrieved=random_tail).
    """
    t = _target(n, x, points)
    masses = [(sum(group, ZERO), sum((1 - q for q in group), ZERO)) for group in groups]
    if tail is not None:
        left = n - sum((r for r, _ in masses), ZERO)
        masses.append((left, max(ZERO, tail - left)))
    before = j = ZERO
    for r, i in masses:
        if before + r >= t:
            s = t - before
            return t / (t + j + s * i / (r + 1))
        before += r
        j += i
    return ZERO


def encyclopedia_precision(
    values: Sequence[Fraction], n: Fraction, x: Fraction, *, points: Points = "intuitive"
) -> Fraction:
    """The form without ties: t / k with k the first rank that reaches t."""
    t = _target(n, x, points)
    for k in range(1, len(values) + 1):
        if cumulate(values, k) >= t:
            return t / k
    return ZERO


def inex_eval(
    results: Results,
    documents: Documents,
    *,
    x: Number | None = None,
    quant: str = "gen",
    form: Literal["precall", "encyclopedia"] = "precall",
    points: Points = "intuitive",
    unretrieved: Literal["none", "random_tail"] = "none",
    collection_size: int | Literal["auto"] = "auto",
    base: Literal["full", "ideal"] = "full",
    tie: Tie = "ascendant",
) -> float:
    """Precision at recall x, or its mean over 100 recall points.

    With base=ideal, elements that are not ideal are worth 0.
    """
    if form == "encyclopedia" and unretrieved == "random_tail":
        raise ValueError("invalid: form=encyclopedia has no ties and so no random tail")
    if quant == "mean7":
        seven = [
            inex_eval(
                results,
                documents,
                x=x,
                quant=each,
                form=form,
                points=points,
                unretrieved=unretrieved,
                collection_size=collection_size,
                base=base,
                tie=tie,
            )
            for each in SEVEN
        ]
        defined = [value for value in seven if not isnan(value)]
        return sum(defined) / len(defined) if defined else NAN
    q = quantised(documents, quant, normalise=True)
    if base == "ideal":
        ideal = ideal_base(documents, q, tie=tie)
        q = {key: value if key in ideal else ZERO for key, value in q.items()}
    n = sum(q.values(), ZERO)
    if n == 0:
        return NAN
    if not results:
        return 0.0  # a topic that was not answered scores 0 (29), whatever a random list would
    keys = keys_of(results, documents)
    values = [ZERO if key in keys[:i] else q[key] for i, key in enumerate(keys)]
    groups = [[values[position] for position in group] for group in tie_groups(results)]
    tail = None
    if unretrieved == "random_tail":
        with_text = {key for key, node in elements(documents).items() if node.size}
        size = len(with_text) if collection_size == "auto" else collection_size
        tail = size - len(with_text & set(keys))
    at = percents() if x is None else [recall_point(x)]
    if form == "encyclopedia":
        return float(mean([encyclopedia_precision(values, n, y, points=points) for y in at]))
    return float(mean([precall(groups, n, y, points=points, tail=tail) for y in at]))


# --------------------------------------------------------------------------------------------
# inex_eval_ng (section 5)
# --------------------------------------------------------------------------------------------

Variant = Literal["o", "s"]


def concept_grades(
    documents: Documents, quant: Literal["gen", "strict"]
) -> tuple[dict[Key, Fraction], dict[Key, Fraction]]:
    """(exh, spec) of every element, each dimension quantised by itself (2)."""
    scale = scale_of(documents)
    if scale not in ("2003", "2005"):
        raise ValueError(f"the scale of {scale} is unknown to inex_eval_ng")
    exh: dict[Key, Fraction] = {}
    specificity: dict[Key, Fraction] = {}
    for (name, path), node in elements(documents).items():
        document = documents[name]
        grade = document.grades.get(path)
        e = s = ZERO
        if grade is None or not document.judged or node.size == 0:
            pass
        elif scale == "2003":
            quant_2003("gen3", int(grade[0]), int(grade[1]))  # refuses what is no grade
            e, s = Fraction(int(grade[0]), 3), Fraction(int(grade[1]), 3)
        else:
            quant_2005("gen5", str(grade), ZERO)
            e, s = Fraction(0 if grade == "?" else int(str(grade)), 2), spec(node, document)
        if quant == "strict":
            e, s = Fraction(e == 1), Fraction(s == 1)
        exh[name, path], specificity[name, path] = e, s
    return exh, specificity


def ng_points(
    keys: Sequence[Key],
    documents: Documents,
    exh: Mapping[Key, Fraction],
    specificity: Mapping[Key, Fraction],
    variant: Variant = "o",
) -> list[tuple[Fraction, Fraction]]:
    """(R(k), P(k)) at every rank ([ENC] eq 2); exh and spec are 0 where they are not given."""
    nodes = elements(documents)
    total = sum(exh.values(), ZERO)
    seen: dict[str, set[int]] = {name: set() for name in documents}
    found = relevant = size = ZERO
    points = []
    for i, key in enumerate(keys):
        node = nodes[key]
        if node.size:
            f = 1 - overlap(node, seen[key[0]]) if variant == "o" else ONE
            found += f * (ZERO if key in keys[:i] else exh.get(key, ZERO))
            relevant += f * node.size * specificity.get(key, ZERO)
            size += f * node.size
        seen[key[0]] |= chars(node)
        points.append((found / total, relevant / size if size else ZERO))
    return points


def ng_precision(points: Sequence[tuple[Fraction, Fraction]], x: Fraction) -> Fraction:
    """P(k) at the smallest k with R(k) >= x, else 0."""
    for recall, precision in points:
        if recall >= x:
            return precision
    return ZERO


def inex_eval_ng(
    results: Results,
    documents: Documents,
    *,
    x: Number | None = None,
    variant: Variant = "o",
    quant: Literal["gen", "strict"] = "gen",
) -> float:
    """Precision at recall x in the space of concepts, or its mean over 100 recall points."""
    exh, specificity = concept_grades(documents, quant)
    if not any(exh.values()):
        return NAN
    points = ng_points(keys_of(results, documents), documents, exh, specificity, variant)
    at = percents() if x is None else [recall_point(x)]
    return float(mean([ng_precision(points, y) for y in at]))
