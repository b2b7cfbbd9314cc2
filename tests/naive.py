"""Naive reference implementation of the passage, document and reading measures.

An oracle for the tests: every function computes one measure of ONE topic directly from its
definition in the specification (METRICS.md, sections 1, 11-14, 16-18, 28 and 29), with sets of
characters, plain loops and exact fractions. Nothing here is fast and nothing is shared with the
package under test.

Every measure has the signature ``name(results, judged, **keywords) -> float``. It returns nan on
a topic without relevant text; ``P``, the overlap indicators, ``judged`` and the counts are defined
on every topic. Inputs are expected to be valid: offsets inside the documents, cut-offs >= 1.

Overlap policies: "allow" takes every result as it is, "union" leaves of a result only the
characters that no earlier result covered.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import wraps
from typing import Any, Literal, TypedDict, Unpack

Result = tuple[str, int, int]  # (document, start, end), half-open
Char = tuple[str, int]  # (document, offset): one character of the collection
Number = int | float | str | Fraction
Policy = Literal["allow", "union"]

NAN = float("nan")


@dataclass(frozen=True)
class Doc:
    """A judged document; overlapping or touching highlighted spans are united."""

    length: int
    spans: tuple[tuple[int, int], ...] = ()
    bep: int | None = None


Gold = Mapping[str, Doc]


# -- Text ------------------------------------------------------------------------------------------


def _exact(number: Number) -> Fraction:
    """A number as its decimal notation says: 0.29 is 29/100."""
    return number if isinstance(number, Fraction) else Fraction(str(number))


def _ratio(numerator: Number, denominator: Number) -> Fraction:
    """numerator / denominator, 0 if there is nothing to divide by."""
    return Fraction(numerator) / Fraction(denominator) if denominator else Fraction(0)


def _f_score(precision: Fraction, recall: Fraction, beta: Number = 1) -> Fraction:
    """(1 + b^2) P R / (b^2 P + R), 0 if P = R = 0."""
    b2 = _exact(beta) ** 2
    return _ratio((1 + b2) * precision * recall, b2 * precision + recall)


def _chars(result: Result) -> list[Char]:
    """The characters of a result in offset order."""
    doc, start, end = result
    return [(doc, offset) for offset in range(start, end)]


def _highlighted(doc: Doc) -> set[int]:
    """The highlighted offsets of a judged document."""
    return {offset for start, end in doc.spans for offset in range(start, end)}


def _relevant_chars(judged: Gold) -> set[Char]:
    """All highlighted characters of the topic; their number is Trel."""
    return {(name, offset) for name, doc in judged.items() for offset in _highlighted(doc)}


def _relevant_docs(judged: Gold) -> set[str]:
    """The documents with highlighted text; their number is Nrel."""
    return {name for name, doc in judged.items() if _highlighted(doc)}


def _nan_without_relevant_text(function: Callable[..., float]) -> Callable[..., float]:
    @wraps(function)
    def measure(results: Sequence[Result], judged: Gold, **options: Any) -> float:
        return function(results, judged, **options) if _relevant_chars(judged) else NAN

    return measure


def _contributions(results: Sequence[Result], policy: Policy) -> list[list[Char]]:
    """For each result the characters it contributes under the overlap policy, in offset order."""
    contributions: list[list[Char]] = []
    covered: set[Char] = set()
    for result in results:
        chars = _chars(result)
        if policy == "union":
            contributions.append([char for char in chars if char not in covered])
        else:
            contributions.append(chars)
        covered.update(chars)
    return contributions


# -- Document level (section 17) -------------------------------------------------------------------


def _ranked_docs(results: Sequence[Result]) -> list[str]:
    """The retrieved documents in the order of their first results."""
    ranking: list[str] = []
    for doc, _, _ in results:
        if doc not in ranking:
            ranking.append(doc)
    return ranking


def P(results: Sequence[Result], judged: Gold, *, k: int) -> float:
    """Relevant documents among the first k documents / k."""
    relevant = _relevant_docs(judged)
    hits = sum(doc in relevant for doc in _ranked_docs(results)[:k])
    return float(Fraction(hits, k))


@_nan_without_relevant_text
def R(results: Sequence[Result], judged: Gold, *, k: int) -> float:
    """Relevant documents among the first k documents / Nrel."""
    relevant = _relevant_docs(judged)
    hits = sum(doc in relevant for doc in _ranked_docs(results)[:k])
    return float(Fraction(hits, len(relevant)))


@_nan_without_relevant_text
def AP(results: Sequence[Result], judged: Gold) -> float:
    """Sum of the precisions at the relevant retrieved documents / Nrel."""
    relevant = _relevant_docs(judged)
    hits = 0
    total = Fraction(0)
    for rank, doc in enumerate(_ranked_docs(results), start=1):
        if doc in relevant:
            hits += 1
            total += Fraction(hits, rank)
    return float(total / len(relevant))


# -- HiXEval (section 11) --------------------------------------------------------------------------


class HiOptions(TypedDict, total=False):
    """Parameters of the HiXEval measures."""

    alpha: Number
    rval: Literal["general", "printed"]
    policy: Policy


def _hixeval(
    results: Sequence[Result],
    judged: Gold,
    k: int,
    *,
    alpha: Number = 1,
    rval: Literal["general", "printed"] = "general",
    policy: Policy = "allow",
) -> tuple[Fraction, Fraction]:
    """HiXEval precision and recall after k results (Trel > 0)."""
    a = _exact(alpha)
    relevant = _relevant_chars(judged)
    earlier: list[tuple[set[Char], Fraction]] = []  # characters and rval of each result so far
    size = 0
    for contribution in _contributions(results[:k], policy):
        chars = set(contribution)
        covered = {char for other, _ in earlier for char in other}
        rsize = len(chars & relevant)
        if rval == "general":
            value = rsize - a * len(chars & covered & relevant)
        elif not chars & covered:
            value = Fraction(rsize)
        elif chars <= covered:
            value = (1 - a) * rsize
        else:
            value = rsize - a * sum(v for other, v in earlier if other <= chars)
        earlier.append((chars, value))
        size += len(chars)
    total = sum((value for _, value in earlier), Fraction(0))
    return _ratio(total, size), _ratio(total, len(relevant))


@_nan_without_relevant_text
def HiP(results: Sequence[Result], judged: Gold, *, k: int, **options: Unpack[HiOptions]) -> float:
    """HiXEval precision; beyond the end of the run the value of the last result."""
    return float(_hixeval(results, judged, k, **options)[0])


@_nan_without_relevant_text
def HiR(results: Sequence[Result], judged: Gold, *, k: int, **options: Unpack[HiOptions]) -> float:
    """HiXEval recall with Trel the highlighted characters of the documents."""
    return float(_hixeval(results, judged, k, **options)[1])


@_nan_without_relevant_text
def HiF(results: Sequence[Result], judged: Gold, *, k: int, **options: Unpack[HiOptions]) -> float:
    """Harmonic mean of HiP and HiR (negative if both are, which rval=printed allows)."""
    return float(_f_score(*_hixeval(results, judged, k, **options)))


# -- Character precision and recall, iP, AiP (section 12) ------------------------------------------


class CharOptions(TypedDict, total=False):
    """What is read: the first k results within a budget of characters or results."""

    k: int | None
    budget: int | None
    unit: str
    policy: Policy


def _char_precision_recall(
    results: Sequence[Result],
    judged: Gold,
    *,
    k: int | None = None,
    budget: int | None = None,
    unit: str = "characters",
    policy: Policy = "allow",
) -> tuple[Fraction, Fraction]:
    """Precision and recall of the text of the first k results within the budget (Trel > 0)."""
    relevant = _relevant_chars(judged)
    text = [char for chars in _within(results[:k], budget, unit, policy) for char in chars]
    found = sum(char in relevant for char in text)
    return _ratio(found, len(text)), _ratio(found, len(relevant))


def _within(
    results: Sequence[Result], budget: int | None, unit: str, policy: Policy
) -> list[list[Char]]:
    """What each result contributes within a budget of characters or results."""
    if unit == "results":
        return list(_contributions(results[:budget], policy))
    # The budget is spent on contributed characters: under "union" repeated text is free.
    read: list[list[Char]] = []
    for chars in _contributions(results, policy):
        left = None if budget is None else max(budget - sum(map(len, read)), 0)
        read.append(list(chars)[:left])
    return read


@_nan_without_relevant_text
def charP(results: Sequence[Result], judged: Gold, **options: Unpack[CharOptions]) -> float:
    """Relevant characters / characters of the returned text."""
    return float(_char_precision_recall(results, judged, **options)[0])


@_nan_without_relevant_text
def charR(results: Sequence[Result], judged: Gold, **options: Unpack[CharOptions]) -> float:
    """Relevant characters of the returned text / Trel."""
    return float(_char_precision_recall(results, judged, **options)[1])


@_nan_without_relevant_text
def charF(
    results: Sequence[Result], judged: Gold, *, beta: Number = 1, **options: Unpack[CharOptions]
) -> float:
    """F_beta of charP and charR."""
    return float(_f_score(*_char_precision_recall(results, judged, **options), beta))


def _interpolated(points: Sequence[tuple[Fraction, Fraction]], x: Fraction) -> Fraction:
    """The best precision among (recall, precision) points with recall >= x, 0 if there is none."""
    return max((precision for recall, precision in points if recall >= x), default=Fraction(0))


def _char_points(
    results: Sequence[Result],
    judged: Gold,
    policy: Policy,
    budget: int | None = None,
    unit: str = "characters",
) -> list[tuple[Fraction, Fraction]]:
    """(R[r], P[r]) for every rank r of the run (Trel > 0)."""
    relevant = _relevant_chars(judged)
    points: list[tuple[Fraction, Fraction]] = []
    found = size = 0
    for chars in _within(results, budget, unit, policy):
        found += sum(char in relevant for char in chars)
        size += len(chars)
        points.append((_ratio(found, len(relevant)), _ratio(found, size)))
    return points


@_nan_without_relevant_text
def iP(
    results: Sequence[Result],
    judged: Gold,
    *,
    x: Number,
    budget: int | None = None,
    unit: str = "characters",
    policy: Policy = "allow",
) -> float:
    """Interpolated precision at recall x, which is compared exactly."""
    points = _char_points(results, judged, policy, budget, unit)
    return float(_interpolated(points, _exact(x)))


@_nan_without_relevant_text
def AiP(
    results: Sequence[Result], judged: Gold, *, points: int = 101, policy: Policy = "allow"
) -> float:
    """Mean of iP over equidistant recall points from 0 to 1 (at least two)."""
    curve = _char_points(results, judged, policy)
    grid = [Fraction(j, points - 1) for j in range(points)]
    return float(sum(_interpolated(curve, x) for x in grid) / points)


# -- In context (sections 13 and 14.2) -------------------------------------------------------------


class ScoreOptions(TypedDict, total=False):
    """Parameters of the score of one document."""

    score: Literal["F", "BEP", "T2I"]
    beta: Number
    n: Number
    irr: float
    stop: Literal["total", "consecutive"]
    policy: Policy


def _f_doc_score(parts: Sequence[Result], doc: Doc, beta: Number, policy: Policy) -> Fraction:
    """Section 13.1: F_beta of the returned parts of a relevant document."""
    highlighted = _highlighted(doc)
    offsets = [offset for chars in _contributions(parts, policy) for _, offset in chars]
    found = sum(offset in highlighted for offset in offsets)
    return _f_score(_ratio(found, len(offsets)), _ratio(found, len(highlighted)), beta)


def _bep_doc_score(parts: Sequence[Result], doc: Doc, n: Number) -> Fraction:
    """Section 14.2: nearness of the first returned part to the best entry point."""
    if doc.bep is None:
        return Fraction(0)
    # Several results of one document are an error by default: the first one in the run counts.
    distance = abs(parts[0][1] - doc.bep)
    return max(Fraction(0), (_exact(n) - distance) / _exact(n))


def _t2i_doc_score(
    parts: Sequence[Result],
    doc: Doc,
    irr: float,
    stop: Literal["total", "consecutive"],
    policy: Policy,
) -> Fraction:
    """Section 13.3: share of relevant text in what a reader of limited patience reads."""
    highlighted = _highlighted(doc)
    # Under "allow" text of overlapping parts is read (and counted) again, parts of equal start
    # shorter first; under "union" every character is read once.
    in_order = sorted(parts, key=lambda part: part[1:])
    inside = [offset for chars in _contributions(in_order, policy) for _, offset in chars]
    # The gaps before and between the parts in offset order, and the tail after them.
    outside = sorted(set(range(doc.length)) - set(inside))
    relevant_read = irrelevant_read = in_a_row = 0
    for offset in inside + outside:
        if (irrelevant_read if stop == "total" else in_a_row) >= irr:
            break
        if offset in highlighted:
            relevant_read += 1
            in_a_row = 0
        else:
            irrelevant_read += 1
            in_a_row += 1
    return _ratio(relevant_read, relevant_read + irrelevant_read)


def _doc_score(
    parts: Sequence[Result],
    doc: Doc | None,
    *,
    score: Literal["F", "BEP", "T2I"] = "F",
    beta: Number = 1,
    n: Number = 500,
    irr: float = 300,
    stop: Literal["total", "consecutive"] = "total",
    policy: Policy = "allow",
) -> Fraction:
    """S(d) from the returned parts of d in run order; 0 for a document without relevant text."""
    if doc is None or not _highlighted(doc):
        return Fraction(0)
    if score == "F":
        return _f_doc_score(parts, doc, beta, policy)
    if score == "BEP":
        return _bep_doc_score(parts, doc, n)
    if score == "T2I":
        return _t2i_doc_score(parts, doc, irr, stop, policy)
    raise ValueError(f"unknown score: {score!r}")


def _generalised_precisions(
    results: Sequence[Result], judged: Gold, **options: Unpack[ScoreOptions]
) -> list[Fraction]:
    """gP[1], gP[2], ... up to the number of retrieved documents."""
    precisions: list[Fraction] = []
    total = Fraction(0)
    for rank, name in enumerate(_ranked_docs(results), start=1):
        parts = [result for result in results if result[0] == name]
        total += _doc_score(parts, judged.get(name), **options)
        precisions.append(total / rank)
    return precisions


def _doc_recalls(results: Sequence[Result], judged: Gold) -> list[Fraction]:
    """gR[1], gR[2], ... up to the number of retrieved documents (Nrel > 0)."""
    relevant = _relevant_docs(judged)
    ranking = _ranked_docs(results)
    return [
        Fraction(len(relevant.intersection(ranking[:rank])), len(relevant))
        for rank in range(1, len(ranking) + 1)
    ]


def _size_recalls(results: Sequence[Result], judged: Gold) -> list[Fraction]:
    """gR'[1], gR'[2], ... up to the number of retrieved documents (Trel > 0)."""
    relevant = _relevant_chars(judged)
    ranking = _ranked_docs(results)
    return [
        Fraction(sum(name in ranking[:rank] for name, _ in relevant), len(relevant))
        for rank in range(1, len(ranking) + 1)
    ]


@_nan_without_relevant_text
def gP(
    results: Sequence[Result],
    judged: Gold,
    *,
    k: int,
    short: Literal["pad", "last"] = "pad",
    **options: Unpack[ScoreOptions],
) -> float:
    """Mean score of the first k documents; a shorter run is padded with 0 or keeps its last gP."""
    precisions = _generalised_precisions(results, judged, **options)
    if not precisions:
        return 0.0
    if k <= len(precisions):
        return float(precisions[k - 1])
    if short == "last":
        return float(precisions[-1])
    return float(precisions[-1] * len(precisions) / k)


@_nan_without_relevant_text
def gR(results: Sequence[Result], judged: Gold, *, k: int) -> float:
    """Share of the relevant documents among the first k documents."""
    recalls = _doc_recalls(results, judged)[:k]
    return float(recalls[-1]) if recalls else 0.0


@_nan_without_relevant_text
def gRw(results: Sequence[Result], judged: Gold, *, k: int) -> float:
    """gR': share of Trel that lies in the first k documents, wherever the results point."""
    recalls = _size_recalls(results, judged)[:k]
    return float(recalls[-1]) if recalls else 0.0


@_nan_without_relevant_text
def AgP(results: Sequence[Result], judged: Gold, **options: Unpack[ScoreOptions]) -> float:
    """Sum of gP at the ranks of relevant documents / Nrel."""
    relevant = _relevant_docs(judged)
    precisions = _generalised_precisions(results, judged, **options)
    pairs = zip(_ranked_docs(results), precisions, strict=True)
    return float(sum((gp for name, gp in pairs if name in relevant), Fraction(0)) / len(relevant))


def AgPw(
    results: Sequence[Result],
    judged: Gold,
    *,
    form: Literal["8", "11", "interpolated"] = "8",
    **options: Unpack[ScoreOptions],
) -> float:
    """AgP': AgP weighted by the amount of relevant text."""
    relevant = _relevant_docs(judged)
    if not relevant:
        return NAN
    ranking = _ranked_docs(results)
    precisions = _generalised_precisions(results, judged, **options)
    recalls = _size_recalls(results, judged)
    if form == "8":
        total = Fraction(0)
        for name, gp in zip(ranking, precisions, strict=True):
            if name in relevant:
                share = Fraction(len(_highlighted(judged[name])), len(_relevant_chars(judged)))
                total += share * gp
        return float(total)
    if form == "11":
        at_relevant = [gp for name, gp in zip(ranking, precisions, strict=True) if name in relevant]
        return float(recalls[-1] * sum(at_relevant) / len(at_relevant)) if at_relevant else 0.0
    if form == "interpolated":
        curve = list(zip(recalls, precisions, strict=True))
        return float(sum(_interpolated(curve, Fraction(j, 10)) for j in range(11)) / 11)
    raise ValueError(f"unknown form: {form!r}")


@_nan_without_relevant_text
def igP(
    results: Sequence[Result],
    judged: Gold,
    *,
    x: Number,
    recall: Literal["gR", "gRw"] = "gR",
    **options: Unpack[ScoreOptions],
) -> float:
    """max{gP[r] : recall at r >= x} over the ranks of the run, 0 if x is never reached."""
    recalls = (_doc_recalls if recall == "gR" else _size_recalls)(results, judged)
    precisions = _generalised_precisions(results, judged, **options)
    return float(_interpolated(list(zip(recalls, precisions, strict=True)), _exact(x)))


# -- BEPD (section 14.1) ---------------------------------------------------------------------------


def BEPD(
    results: Sequence[Result], judged: Gold, *, A: Number = 1, L: Number | None = None
) -> float:
    """Sum of the nearness of results to best entry points / number of best entry points.

    Without L the mean length of the judged documents is taken.
    """
    # As in 14.2 and [TOOL], the BEP of a document without relevant text is ignored.
    beps = {
        name: judged[name].bep for name in _relevant_docs(judged) if judged[name].bep is not None
    }
    if not beps:
        return NAN
    if L is None:
        L = Fraction(sum(doc.length for doc in judged.values()), len(judged))
    scale = _exact(A) * _exact(L)
    total = Fraction(0)
    for name in _ranked_docs(results):
        bep = beps.get(name)
        if bep is None:
            continue
        # Several results of one document are an error by default: the first one counts.
        start = next(start for doc, start, _ in results if doc == name)
        distance = abs(start - bep)
        total += scale / (scale + distance) if distance else 1
    return float(total / len(beps))


# -- T2I, tolerance to irrelevance (section 16) ----------------------------------------------------


class ReadOptions(TypedDict, total=False):
    """Parameters of the T2I measures; lengths of documents that are not judged."""

    T: int
    mode: Literal["first", "read"]
    reread: Literal["cost", "skip"]
    lengths: Mapping[str, int]


@dataclass(frozen=True)
class _Reading:
    """What reading on from one result brought."""

    read: int  # characters read, again or for the first time
    useful: int  # highlighted characters read for the first time
    new: int  # passages found


def _passage_of(char: Char, relevant: set[Char]) -> Char:
    """The first character of the passage, a maximal stretch of relevant text, around char."""
    name, offset = char
    while (name, offset - 1) in relevant:
        offset -= 1
    return name, offset


def _passages(judged: Gold) -> set[Char]:
    """The passages of the topic, each as its first character."""
    relevant = _relevant_chars(judged)
    return {_passage_of(char, relevant) for char in relevant}


def _readings(
    results: Sequence[Result],
    judged: Gold,
    *,
    T: int = 300,
    mode: Literal["first", "read"] = "first",
    reread: Literal["cost", "skip"] = "cost",
    lengths: Mapping[str, int] | None = None,
) -> list[_Reading]:
    """Simulate the user, result by result and character by character."""
    relevant = _relevant_chars(judged)
    seen: set[Char] = set()
    found: set[Char] = set()
    readings: list[_Reading] = []
    for name, start, _ in results:
        length = judged[name].length if name in judged else (lengths or {})[name]
        read = useful = useless_in_a_row = 0
        new: set[Char] = set()
        for offset in range(start, length):
            char = (name, offset)
            if reread == "skip" and char in seen:
                continue  # jumped over: neither effort nor an end of the useless stretch
            read += 1
            if char in relevant and char not in seen:
                useful += 1
                useless_in_a_row = 0
                new.add(_passage_of(char, relevant))
            else:
                useless_in_a_row += 1
            seen.add(char)
            if mode == "first" and useful:
                break  # also where the useful character belongs to a passage found before
            if useless_in_a_row == T:
                break
        readings.append(_Reading(read, useful, len(new - found)))
        found |= new
    return readings


@_nan_without_relevant_text
def T2I(results: Sequence[Result], judged: Gold, **options: Unpack[ReadOptions]) -> float:
    """Average precision over the passages."""
    hits = 0
    total = Fraction(0)
    for rank, reading in enumerate(_readings(results, judged, **options), start=1):
        hits += reading.new > 0
        total += Fraction(reading.new * hits, rank)
    return float(total / len(_passages(judged)))


@_nan_without_relevant_text
def T2IP(
    results: Sequence[Result], judged: Gold, *, k: int, **options: Unpack[ReadOptions]
) -> float:
    """Results among the first k that find a new passage / k."""
    hits = sum(reading.new > 0 for reading in _readings(results[:k], judged, **options))
    return float(Fraction(hits, k))


@_nan_without_relevant_text
def T2IR(
    results: Sequence[Result], judged: Gold, *, k: int, **options: Unpack[ReadOptions]
) -> float:
    """Share of the passages found from the first k results."""
    found = sum(reading.new for reading in _readings(results[:k], judged, **options))
    return float(Fraction(found, len(_passages(judged))))


@_nan_without_relevant_text
def T2Ieffort(
    results: Sequence[Result], judged: Gold, *, k: int, **options: Unpack[ReadOptions]
) -> float:
    """Characters read from the first k results, cumulated."""
    return float(sum(reading.read for reading in _readings(results[:k], judged, **options)))


@_nan_without_relevant_text
def T2IcharP(
    results: Sequence[Result], judged: Gold, *, k: int, **options: Unpack[ReadOptions]
) -> float:
    """Useful / read characters from the first k results, 0 if nothing was read."""
    readings = _readings(results[:k], judged, **options)
    return float(_ratio(sum(r.useful for r in readings), sum(r.read for r in readings)))


@_nan_without_relevant_text
def T2IcharR(
    results: Sequence[Result], judged: Gold, *, k: int, **options: Unpack[ReadOptions]
) -> float:
    """Useful characters read from the first k results / Trel."""
    relevant = _relevant_chars(judged)
    readings = _readings(results[:k], judged, **options)
    return float(Fraction(sum(r.useful for r in readings), len(relevant)))


# -- Overlap indicators (sections 18, 1.3 and 29) --------------------------------------------------


def _intersect(a: Result, b: Result) -> bool:
    """Whether two results share text; an empty one, whether the other holds its position."""
    if a[0] != b[0]:
        return False
    if a[1] == a[2]:
        return b[1] <= a[1] < b[2]  # never true of two empty results
    if b[1] == b[2]:
        return a[1] <= b[1] < a[2]
    return a[1] < b[2] and b[1] < a[2]


def SetOverlap(results: Sequence[Result], judged: Gold, *, k: int | None = None) -> float:
    """Share of the first k results that intersect a different one of them."""
    top = results[:k]
    # A repeat counts as a result of its own but is not "another" result for its original.
    hits = sum(any(_intersect(a, b) for b in top if b != a) for a in top)
    return float(_ratio(hits, len(top)))


def ListOverlap(results: Sequence[Result], judged: Gold, *, k: int | None = None) -> float:
    """Share of the first k results that intersect or repeat an earlier one."""
    top = results[:k]
    hits = sum(any(_intersect(a, b) or a == b for b in top[:i]) for i, a in enumerate(top))
    return float(_ratio(hits, len(top)))


def MeanOverlap(results: Sequence[Result], judged: Gold, *, k: int | None = None) -> float:
    """Mean of overlap(i), the share of result i that earlier results cover."""
    top = results[:k]
    covered: set[Char] = set()
    total = Fraction(0)
    for result in top:
        chars = _chars(result)
        if chars:
            total += Fraction(sum(char in covered for char in chars), len(chars))
        else:
            total += (result[0], result[1]) in covered
        covered.update(chars)
    return float(_ratio(total, len(top)))


def Redundancy(results: Sequence[Result], judged: Gold, *, k: int | None = None) -> float:
    """1 - |union| / sum of sizes of the first k results, 0 if they hold no text."""
    text = [char for result in results[:k] for char in _chars(result)]
    return float(1 - Fraction(len(set(text)), len(text))) if text else 0.0


# -- judged and the counts (sections 28 and 29) ----------------------------------------------------


def judged(results: Sequence[Result], judged: Gold, *, k: int) -> float:
    """Share of the first k results that are from judged documents; divides by the results had."""
    top = results[:k]
    return float(_ratio(sum(doc in judged for doc, _, _ in top), len(top)))


def num_ret(results: Sequence[Result], judged: Gold) -> float:
    """Retrieved documents."""
    return float(len(_ranked_docs(results)))


def num_rel(results: Sequence[Result], judged: Gold) -> float:
    """Relevant documents."""
    return float(len(_relevant_docs(judged)))


def num_rel_ret(results: Sequence[Result], judged: Gold) -> float:
    """Relevant documents retrieved, whether or not their relevant text is."""
    return float(len(_relevant_docs(judged).intersection(_ranked_docs(results))))


def ret_size(results: Sequence[Result], judged: Gold, *, policy: Policy = "allow") -> float:
    """Retrieved characters."""
    return float(sum(len(chars) for chars in _contributions(results, policy)))


def rel_size(results: Sequence[Result], judged: Gold) -> float:
    """Relevant characters."""
    return float(len(_relevant_chars(judged)))


def rel_ret_size(results: Sequence[Result], judged: Gold, *, policy: Policy = "allow") -> float:
    """Relevant characters retrieved."""
    relevant = _relevant_chars(judged)
    return float(
        sum(char in relevant for chars in _contributions(results, policy) for char in chars)
    )
