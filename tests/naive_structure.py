"""Naive reference implementation of the measures of structure: elements of trees, not spans.

An oracle for the tests: every function computes one measure of ONE topic directly from its
definition in the specification (METRICS.md, sections 1-10, 28 and 29), with sets of characters,
recursion over trees, plain loops and exact fractions. Nothing here is fast and nothing is shared
with the package under test.

Every measure has the signature ``name(results, documents, **keywords) -> float`` with the
parameters and defaults of section 28; a cut-off is the keyword ``k`` (a rank) or ``x`` (a recall
in (0, 1]). The value is nan on a topic without a relevant element. ``documents`` are all documents
of the collection, judged or not; a result is an element of one of them, in the run's order.

Below each measure is a function of bare numbers (``precall``, ``nxcg``, ``effort_precision``, ...),
so that examples that are given as lists of gains can be computed as well.

Readings chosen where the specification leaves more than one:

* an element without text has no value on any scale and is in no recall base (1.3, 6.2);
* ``inex_eval`` divides gen5 by 2 and genLifted by 3, for it needs values up to 1 (4);
* ``inex_eval(quant=mean7)`` of a topic is the mean of those of the seven values that are defined;
* a random tail is what the run left of the collection, so repeats and elements without text do
  not make it shorter (4);
* in ``inex_eval_ng(variant=s)`` a repeat adds nothing to recall; its text counts again in
  precision as all text seen before does in that variant (5);
* ``between=curve`` interpolates both curves and ``between=step`` neither, whatever ``ideal`` says:
  mixtures would exceed 1 or deny 1 to an ideal run (8);
* a function of quantisation is refused on the scale of another year; ``spec`` is one of 2005 too.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise
from math import ceil, isnan
from typing import Literal, NamedTuple, TypedDict, Unpack

Number = int | float | str | Fraction
Span = tuple[int, int]  # half-open
Key = tuple[str, str]  # (document, xpath): one element of the collection
Scale = Literal["2002", "2003", "2005", "2006"]
# 2002: (relevance, coverage); 2003: (exhaustivity, specificity); 2005: exhaustivity, one of ?012.
Assessment = tuple[int, str] | tuple[int, int] | str

NAN = float("nan")
ZERO = Fraction(0)
ONE = Fraction(1)


# --------------------------------------------------------------------------------------------
# Data (section 1.1)
# --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Node:
    """An element: text that is in no child is its mixed content."""

    tag: str
    start: int
    end: int
    children: tuple["Node", ...] = ()

    @property
    def size(self) -> int:
        return self.end - self.start


@dataclass(frozen=True)
class Document:
    """A document and what an assessor said of it.

    ``grades`` are by xpath; 2006 has none, and before 2005 nothing is highlighted. What is said of
    a document that is not ``judged`` is ignored.
    """

    tree: Node
    highlights: tuple[Span, ...] = ()
    bep: int | None = None
    grades: Mapping[str, Assessment] = field(default_factory=dict)
    scale: Scale = "2006"
    judged: bool = True


class Result(NamedTuple):
    """An element of a run. Equal scores, or without scores equal ranks, of neighbours are ties."""

    doc: str
    xpath: str
    rsv: float | None = None
    rank: int | None = None


Results = Sequence[Result]
Documents = Mapping[str, Document]


def paths(tree: Node) -> dict[str, Node]:
    """Every element of a tree by its xpath with all ordinals, in document order."""
    return dict(_walk(tree, f"/{tree.tag}[1]"))


def _walk(node: Node, path: str) -> Iterator[tuple[str, Node]]:
    yield path, node
    seen: dict[str, int] = {}
    for child in node.children:
        seen[child.tag] = seen.get(child.tag, 0) + 1
        yield from _walk(child, f"{path}/{child.tag}[{seen[child.tag]}]")


def child_paths(path: str, node: Node) -> list[tuple[str, Node]]:
    """The children of an element with their xpaths."""
    depth = path.count("/") + 1
    return [(below, child) for below, child in _walk(node, path) if below.count("/") == depth]


def elements(documents: Documents) -> dict[Key, Node]:
    """Every element of the collection."""
    return {
        (name, path): node
        for name, document in documents.items()
        for path, node in paths(document.tree).items()
    }


def is_below(key: Key, other: Key) -> bool:
    """Whether an element is a proper descendant of another."""
    return key[0] == other[0] and key[1].startswith(other[1] + "/")


def _keys(results: Results, documents: Documents) -> list[Key]:
    """The elements of a run; a result that is no element is an error (1.3)."""
    known = elements(documents)
    keys = [(result[0], result[1]) for result in results]
    for key in keys:
        if key not in known:
            raise ValueError(f"not an element of the collection: {key!r}")
    return keys


def _exact(number: Number) -> Fraction:
    """A number as its decimal notation says: 0.29 is 29/100."""
    return number if isinstance(number, Fraction) else Fraction(str(number))


def _one_of(value: object, *expected: object) -> None:
    if value not in expected:
        raise ValueError(f"unknown value {value!r}, expected one of {expected}")


def _recall_point(x: Number) -> Fraction:
    exact = _exact(x)
    if not 0 < exact <= 1:
        raise ValueError(f"invalid recall {x!r}, expected 0 < x <= 1")
    return exact


def _rank(k: int) -> int:
    if k < 1:
        raise ValueError(f"invalid rank {k!r}, expected 1 or more")
    return k


def _percents() -> list[Fraction]:
    """The 100 recall points .01, .02, ..., 1 of sections 4, 5 and 8."""
    return [Fraction(m, 100) for m in range(1, 101)]


def _mean(values: Sequence[Fraction]) -> Fraction:
    return sum(values, ZERO) / len(values)


def _cumulated(values: Sequence[Fraction], k: int) -> Fraction:
    """The sum of the first k values; flat after the last one (7)."""
    return sum(values[:k], ZERO)


# --------------------------------------------------------------------------------------------
# Text (sections 1.1 and 1.5)
# --------------------------------------------------------------------------------------------


def _chars(node: Node) -> set[int]:
    return set(range(node.start, node.end))


def _highlighted(document: Document) -> set[int]:
    if not document.judged:
        return set()
    return {offset for start, end in document.highlights for offset in range(start, end)}


def rsize(node: Node, document: Document) -> int:
    """The number of highlighted characters of an element."""
    return len(_chars(node) & _highlighted(document))


def spec(node: Node, document: Document) -> Fraction:
    """rsize / size; 0 for an element without text (1.3)."""
    return Fraction(rsize(node, document), node.size) if node.size else ZERO


def overlap(node: Node, seen: set[int]) -> Fraction:
    """Share of an element that earlier results covered (1.5).

    Without text it is 1 if its position is covered, else 0 (1.3).
    """
    if node.size == 0:
        return ONE if node.start in seen else ZERO
    return Fraction(len(_chars(node) & seen), node.size)


# --------------------------------------------------------------------------------------------
# Quantisation (section 2)
# --------------------------------------------------------------------------------------------

QUARTER, HALF, THREE_QUARTERS = Fraction(1, 4), Fraction(1, 2), Fraction(3, 4)
TENTH, NINE_TENTHS = Fraction(1, 10), Fraction(9, 10)

GRADES_2002: dict[tuple[int, str], Fraction] = {  # gen2; no other pair exists
    (3, "E"): ONE,
    (3, "L"): THREE_QUARTERS,
    (2, "E"): THREE_QUARTERS,
    (2, "L"): HALF,
    (2, "S"): HALF,
    (1, "E"): HALF,
    (1, "L"): QUARTER,
    (1, "S"): QUARTER,
    (0, "N"): ZERO,
}

GEN3: dict[tuple[int, int], Fraction] = {
    (3, 3): ONE,
    (3, 2): THREE_QUARTERS,
    (3, 1): THREE_QUARTERS,
    (2, 3): THREE_QUARTERS,
    (2, 2): HALF,
    (2, 1): HALF,
    (1, 3): HALF,
    (1, 2): QUARTER,
    (1, 1): QUARTER,
}

SOG: dict[tuple[int, int], Fraction] = {
    (3, 3): ONE,
    (3, 2): THREE_QUARTERS,
    (3, 1): QUARTER,
    (2, 3): NINE_TENTHS,
    (2, 2): HALF,
    (2, 1): TENTH,
    (1, 3): THREE_QUARTERS,
    (1, 2): QUARTER,
    (1, 1): TENTH,
}

SEVEN = ("strict3", "gen3", "sog", "e3s321", "e3s32", "s3e321", "s3e32")  # of INEX 2004

QUANTISATIONS: dict[str, tuple[str, ...]] = {  # scale -> its functions by their explicit names
    "2002": ("strict2", "gen2"),
    "2003": (*SEVEN, "enc_strict", "enc_gen"),
    "2005": ("strict5", "gen5", "genLifted", "enc_strict", "enc_gen", "spec"),
    "2006": ("spec", "strict6"),
}

RANGE = {"gen5": 2, "genLifted": 3}  # largest value where it is not 1


def scale_of(documents: Documents) -> Scale:
    """The scale of the judged documents; they have one in common."""
    scales = {document.scale for document in documents.values() if document.judged}
    if len(scales) > 1:
        raise ValueError(f"judgements of several scales: {sorted(scales)}")
    return scales.pop() if scales else "2006"


def resolve(quant: str, scale: Scale) -> str:
    """``strict`` and ``gen`` by the scale; a function of another scale is refused.

    The strict function of 2006, [spec = 1], has no name of its own; here it is ``strict6``.
    """
    own = {
        "2002": {"strict": "strict2", "gen": "gen2"},
        "2003": {"strict": "strict3", "gen": "gen3"},
        "2005": {"strict": "strict5", "gen": "gen5"},
        "2006": {"strict": "strict6", "gen": "spec"},
    }
    name = own[scale].get(quant, quant)
    if name not in QUANTISATIONS[scale]:
        raise ValueError(f"quantisation {quant!r} is unknown on the scale of {scale}")
    return name


def quant_2002(name: str, relevance: int, coverage: str) -> Fraction:
    """Relevance 0-3 with coverage exact, (too) large, (too) small, none."""
    if (relevance, coverage) not in GRADES_2002:
        raise ValueError(f"invalid grades of 2002: {relevance!r}, {coverage!r}")
    gen = GRADES_2002[relevance, coverage]
    return gen if name == "gen2" else Fraction(gen == 1)


def quant_2003(name: str, e: int, s: int) -> Fraction:
    """The seven functions of 2003/04 and the two of the encyclopedia on (e, s) in 0-3."""
    if e not in range(4) or s not in range(4) or (e == 0 and s > 0):
        raise ValueError(f"invalid grades of 2003: {e!r}, {s!r}")
    if e == 0 or s == 0:
        return ZERO
    match name:
        case "gen3":
            return GEN3[e, s]
        case "sog":
            return SOG[e, s]
        case "e3s321":
            return Fraction(e == 3)
        case "e3s32":
            return Fraction(e == 3 and s >= 2)
        case "s3e321":
            return Fraction(s == 3)
        case "s3e32":
            return Fraction(s == 3 and e >= 2)
        case "enc_gen":
            return Fraction(e, 3) * Fraction(s, 3)
    return Fraction(e == 3 and s == 3)  # strict3, enc_strict


def quant_2005(name: str, grade: str, s: Fraction) -> Fraction:
    """Exhaustivity ?, 0, 1 or 2 and a specificity in [0, 1]; ? counts as 0 ([S05] 1-3)."""
    if grade not in ("?", "0", "1", "2") or not 0 <= s <= 1:
        raise ValueError(f"invalid grades of 2005: {grade!r}, {s!r}")
    e = 0 if grade == "?" else int(grade)
    match name:
        case "gen5":
            return e * s
        case "genLifted":
            return ZERO if grade == "0" else (e + 1) * s
        case "enc_gen":
            return Fraction(e, 2) * s
    return Fraction(e == 2 and s == 1)  # strict5, enc_strict


def _value(name: str, path: str, node: Node, document: Document) -> Fraction:
    """The quantised value of one element; what was not judged is not relevant (1.3)."""
    if not document.judged or node.size == 0:
        return ZERO
    s = spec(node, document)
    if name == "spec":
        return s
    if name == "strict6":
        return Fraction(s == 1)
    grade = document.grades.get(path)
    if grade is None:
        return ZERO
    if document.scale == "2005":
        return quant_2005(name, str(grade), s)
    if document.scale == "2003":
        return quant_2003(name, int(grade[0]), int(grade[1]))
    return quant_2002(name, int(grade[0]), str(grade[1]))


def quantised(documents: Documents, quant: str, *, normalise: bool = False) -> dict[Key, Fraction]:
    """q(e) of every element of the collection."""
    name = resolve(quant, scale_of(documents))
    divisor = RANGE.get(name, 1) if normalise else 1
    return {
        (doc, path): _value(name, path, node, documents[doc]) / divisor
        for (doc, path), node in elements(documents).items()
    }


# --------------------------------------------------------------------------------------------
# Recall bases (section 3)
# --------------------------------------------------------------------------------------------

Base = Literal["ideal", "maxsum"]
Tie = Literal["ascendant", "deeper"]


def full_base(q: Mapping[Key, Fraction]) -> list[Key]:
    """F = {e : q(e) > 0} (3.1)."""
    return [key for key, value in q.items() if value > 0]


def ideal_base(
    documents: Documents, q: Mapping[Key, Fraction], *, base: Base = "ideal", tie: Tie = "ascendant"
) -> list[Key]:
    """Elements without overlap that an ideal run would return (3.2), in document order."""
    _one_of(base, "ideal", "maxsum")
    _one_of(tie, "ascendant", "deeper")
    if base == "maxsum":
        chosen: set[Key] = set()
        for name, document in documents.items():
            chosen |= _best_antichain(name, f"/{document.tree.tag}[1]", document.tree, q, tie)[1]
    else:
        winners = {
            _path_winner(leaf, q, tie)
            for leaf in full_base(q)
            if not any(is_below(other, leaf) for other in full_base(q))
        }
        chosen = {key for key in winners if not any(is_below(key, other) for other in winners)}
    return [key for key in q if key in chosen]


def _path_winner(leaf: Key, q: Mapping[Key, Fraction], tie: Tie) -> Key:
    """The relevant element of the highest value on the path from the root to the leaf."""
    path = [key for key in full_base(q) if key == leaf or is_below(leaf, key)]
    path.sort(key=lambda key: key[1].count("/"), reverse=tie == "deeper")
    return max(path, key=lambda key: q[key])  # max takes the first of equals


def _best_antichain(
    name: str, path: str, node: Node, q: Mapping[Key, Fraction], tie: Tie
) -> tuple[Fraction, set[Key]]:
    """The largest total without overlap below or at an element (3.2 note c, 29)."""
    below, chosen = ZERO, set[Key]()
    for child_path, child in child_paths(path, node):
        value, keys = _best_antichain(name, child_path, child, q, tie)
        below += value
        chosen |= keys
    own = q[name, path]
    if own > below or (own == below > 0 and tie == "ascendant"):
        return own, {(name, path)}
    return below, chosen


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
    _one_of(points, "intuitive", "ceiling")
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
        if _cumulated(values, k) >= t:
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
) -> float:
    """Precision at recall x, or its mean over 100 recall points."""
    _one_of(form, "precall", "encyclopedia")
    _one_of(unretrieved, "none", "random_tail")
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
            )
            for each in SEVEN
        ]
        defined = [value for value in seven if not isnan(value)]
        return sum(defined) / len(defined) if defined else NAN
    q = quantised(documents, quant, normalise=True)
    n = sum(q.values(), ZERO)
    if n == 0:
        return NAN
    if not results:
        return 0.0  # a topic that was not answered scores 0 (29), whatever a random list would
    keys = _keys(results, documents)
    values = [ZERO if key in keys[:i] else q[key] for i, key in enumerate(keys)]
    groups = [[values[position] for position in group] for group in tie_groups(results)]
    tail = None
    if unretrieved == "random_tail":
        with_text = {key for key, node in elements(documents).items() if node.size}
        size = len(with_text) if collection_size == "auto" else collection_size
        tail = size - len(with_text & set(keys))
    at = _percents() if x is None else [_recall_point(x)]
    if form == "encyclopedia":
        return float(_mean([encyclopedia_precision(values, n, y, points=points) for y in at]))
    return float(_mean([precall(groups, n, y, points=points, tail=tail) for y in at]))


# --------------------------------------------------------------------------------------------
# inex_eval_ng (section 5)
# --------------------------------------------------------------------------------------------

Variant = Literal["o", "s"]


def concept_grades(
    documents: Documents, quant: Literal["gen", "strict"]
) -> tuple[dict[Key, Fraction], dict[Key, Fraction]]:
    """(exh, spec) of every element, each dimension quantised by itself (2)."""
    _one_of(quant, "gen", "strict")
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
    _one_of(variant, "o", "s")
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
        seen[key[0]] |= _chars(node)
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
    points = ng_points(_keys(results, documents), documents, exh, specificity, variant)
    at = _percents() if x is None else [_recall_point(x)]
    return float(_mean([ng_precision(points, y) for y in at]))


# --------------------------------------------------------------------------------------------
# Gains of XCG (section 6)
# --------------------------------------------------------------------------------------------


class GainOptions(TypedDict, total=False):
    """Parameters that say what a result is worth."""

    quant: str
    overlap: Literal["off", "on"]
    alpha: Number
    base: Base
    tie: Tie
    norm: Literal["subtree", "overlap", "none"]
    mixed: Literal["text", "ignore"]
    formula: Literal["inex2005", "encyclopedia"]
    clamp: bool
    normalise: bool


@dataclass(frozen=True)
class Valuation:
    """What the value of a result in its list, rv, depends on besides the results before it."""

    documents: Documents
    q: Mapping[Key, Fraction]
    is_spec: bool  # whether q is the specificity, so that highlighted characters add up
    alpha: Fraction = ONE
    mixed: Literal["text", "ignore"] = "text"
    formula: Literal["inex2005", "encyclopedia"] = "inex2005"
    clamp: bool = True

    def rv(self, key: Key, seen: set[int], earlier: Sequence[tuple[Key, Fraction]]) -> Fraction:
        """The result-list dependent value ([S05] eq 7).

        ``seen`` are the characters of the document in earlier results, ``earlier`` those results
        with the gains that they were assigned.
        """
        nodes = elements(self.documents)
        node, q = nodes[key], self.q[key]
        if node.size == 0:
            return ZERO
        covered = overlap(node, seen)
        if covered == 0:
            return q
        if covered == 1:
            return (1 - self.alpha) * q
        if self.formula == "encyclopedia":
            inside = sum(
                (gain * nodes[other].size for other, gain in earlier if is_below(other, key)), ZERO
            )
        else:
            inside = self._direct(key, seen)
            for path, child in child_paths(key[1], node):
                inside += self.rv((key[0], path), seen, earlier) * child.size
        value = self.alpha * inside / node.size + (1 - self.alpha) * q
        return min(value, q) if self.clamp else value

    def _direct(self, key: Key, seen: set[int]) -> Fraction:
        """What the unseen text that is in no child is worth, in characters."""
        if self.mixed == "ignore":
            return ZERO
        node = elements(self.documents)[key]
        text = _chars(node) - seen
        for child in node.children:
            text -= _chars(child)
        if self.is_spec:
            return Fraction(len(text & _highlighted(self.documents[key[0]])))
        return self.q[key] * len(text)


def thorough_gains(keys: Sequence[Key], q: Mapping[Key, Fraction]) -> list[Fraction]:
    """xG with overlap=off: q(e), and nothing for a repeat (6.1)."""
    return [ZERO if key in keys[:i] else q[key] for i, key in enumerate(keys)]


def focused_gains(
    keys: Sequence[Key],
    valuation: Valuation,
    ideals: Sequence[Key],
    norm: Literal["subtree", "overlap", "none"] = "subtree",
) -> list[Fraction]:
    """xG with overlap=on: rv, limited by what is left of the ideals it serves ([S05] eq 8)."""
    _one_of(norm, "subtree", "overlap", "none")
    nodes = elements(valuation.documents)
    seen: dict[str, set[int]] = {name: set() for name in valuation.documents}
    left = {ideal: valuation.q[ideal] for ideal in ideals}
    earlier: list[tuple[Key, Fraction]] = []
    for key in keys:
        gain = valuation.rv(key, seen[key[0]], earlier)
        if norm != "none":
            above = [ideal for ideal in ideals if ideal == key or is_below(key, ideal)]
            served = above or [ideal for ideal in ideals if is_below(ideal, key)]
            budget = sum((left[ideal] for ideal in served), ZERO)
            gain = max(ZERO, min(gain, budget))
            if gain > 0 and (above or norm == "overlap"):
                for ideal in served:
                    left[ideal] -= gain * left[ideal] / budget
        earlier.append((key, gain))
        seen[key[0]] |= _chars(nodes[key])
    return [gain for _, gain in earlier]


def gains(
    results: Results,
    documents: Documents,
    *,
    quant: str = "spec",
    overlap: Literal["off", "on"] = "off",
    alpha: Number = 1,
    base: Base = "ideal",
    tie: Tie = "ascendant",
    norm: Literal["subtree", "overlap", "none"] = "subtree",
    mixed: Literal["text", "ignore"] = "text",
    formula: Literal["inex2005", "encyclopedia"] = "inex2005",
    clamp: bool = True,
    normalise: bool = False,
) -> tuple[list[Fraction], list[Fraction]]:
    """(xG, xI): the gains of the run in its order, those of the recall base decreasing."""
    _one_of(overlap, "off", "on")
    _one_of(mixed, "text", "ignore")
    _one_of(formula, "inex2005", "encyclopedia")
    if not 0 <= _exact(alpha) <= 1:
        raise ValueError(f"invalid alpha {alpha!r}, expected 0 <= alpha <= 1")
    keys = _keys(results, documents)
    q = quantised(documents, quant, normalise=normalise)
    if overlap == "off":
        return thorough_gains(keys, q), _decreasing(q[key] for key in full_base(q))
    ideals = ideal_base(documents, q, base=base, tie=tie)
    valuation = Valuation(
        documents,
        q,
        is_spec=resolve(quant, scale_of(documents)) == "spec",
        alpha=_exact(alpha),
        mixed=mixed,
        formula=formula,
        clamp=clamp,
    )
    return focused_gains(keys, valuation, ideals, norm), _decreasing(q[key] for key in ideals)


def _decreasing(values: Iterator[Fraction]) -> list[Fraction]:
    return sorted(values, reverse=True)


# --------------------------------------------------------------------------------------------
# Cumulated gain (section 7)
# --------------------------------------------------------------------------------------------


def nxcg(xG: Sequence[Fraction], xI: Sequence[Fraction], k: int) -> Fraction:
    """xCG[k] / xCI[k]."""
    return _cumulated(xG, k) / _cumulated(xI, k)


def xCG(results: Results, documents: Documents, *, k: int, **options: Unpack[GainOptions]) -> float:
    """The gain cumulated in the first k results."""
    xG, xI = gains(results, documents, **options)
    return float(_cumulated(xG, _rank(k))) if xI else NAN


def nxCG(
    results: Results, documents: Documents, *, k: int, **options: Unpack[GainOptions]
) -> float:
    """xCG[k] relative to an ideal run ([S05] eq 5)."""
    xG, xI = gains(results, documents, **options)
    return float(nxcg(xG, xI, _rank(k))) if xI else NAN


def MAnxCG(
    results: Results, documents: Documents, *, k: int, **options: Unpack[GainOptions]
) -> float:
    """The mean of nxCG over the ranks 1 to k ([S05] eq 6)."""
    xG, xI = gains(results, documents, **options)
    return float(_mean([nxcg(xG, xI, j) for j in range(1, _rank(k) + 1)])) if xI else NAN


# --------------------------------------------------------------------------------------------
# Effort-precision and gain-recall (section 8)
# --------------------------------------------------------------------------------------------

IdealSide = Literal["line", "step"]
Between = Literal["line", "curve", "step"]
Divisor = Literal["max", "n"]


class PointOptions(GainOptions, total=False):
    """Parameters of ep and iMAep."""

    ideal: IdealSide
    between: Between


class AverageOptions(GainOptions, total=False):
    """Parameters of MAep."""

    ideal: IdealSide
    divisor: Divisor


def _effort(gain: Fraction, values: Sequence[Fraction], side: IdealSide) -> Fraction:
    """How far a list is to be read until its cumulated gain is ``gain`` (> 0).

    ``step``: the first rank that reaches it; ``line``: the place on the straight line between that
    rank and the one before. A list that never reaches it is read to its end.
    """
    _one_of(side, "line", "step")
    reached = ZERO
    for m, value in enumerate(values, start=1):
        if reached + value >= gain:
            return Fraction(m) if side == "step" else m - 1 + (gain - reached) / value
        reached += value
    return Fraction(len(values))


def natural_points(
    xG: Sequence[Fraction], xI: Sequence[Fraction], ideal: IdealSide = "line"
) -> list[tuple[int, Fraction, Fraction]]:
    """(rank, gr, ep) of every rank that gains."""
    points = []
    for k, gain in enumerate(xG, start=1):
        if gain > 0:
            cumulated = _cumulated(xG, k)
            points.append((k, cumulated / sum(xI), _effort(cumulated, xI, ideal) / k))
    return points


def effort_precision(
    xG: Sequence[Fraction],
    xI: Sequence[Fraction],
    x: Fraction,
    *,
    ideal: IdealSide = "line",
    between: Between = "line",
) -> Fraction:
    """Effort-precision at gain-recall x; 0 beyond what the run reaches."""
    _one_of(ideal, "line", "step")
    _one_of(between, "line", "curve", "step")
    gain = x * sum(xI)
    if sum(xG, ZERO) < gain:
        return ZERO
    if between == "curve":
        return _effort(gain, xI, "line") / _effort(gain, xG, "line")
    if between == "step":
        return _effort(gain, xI, "step") / _effort(gain, xG, "step")
    points = natural_points(xG, xI, ideal)
    if x <= points[0][1]:
        return points[0][2]
    for (_, before, low), (_, after, high) in pairwise(points):
        if x <= after:
            return low + (high - low) * (x - before) / (after - before)
    raise AssertionError("the last natural point has all the gain")


def average_effort_precision(
    xG: Sequence[Fraction],
    xI: Sequence[Fraction],
    *,
    ideal: IdealSide = "line",
    divisor: Divisor = "max",
) -> Fraction:
    """Sum of ep over the natural points / D."""
    _one_of(divisor, "max", "n")
    points = natural_points(xG, xI, ideal)
    d = max(len(xI), len(points)) if divisor == "max" else len(xI)
    return sum((precision for _, _, precision in points), ZERO) / d


def interpolated_effort_precision(
    xG: Sequence[Fraction],
    xI: Sequence[Fraction],
    *,
    ideal: IdealSide = "line",
    between: Between = "line",
) -> Fraction:
    """The mean of ep over 100 recall points."""
    return _mean([effort_precision(xG, xI, x, ideal=ideal, between=between) for x in _percents()])


def gr(results: Results, documents: Documents, *, k: int, **options: Unpack[GainOptions]) -> float:
    """Gain-recall xCG[k] / xCI[n]."""
    xG, xI = gains(results, documents, **options)
    return float(_cumulated(xG, _rank(k)) / sum(xI)) if xI else NAN


def ep(
    results: Results,
    documents: Documents,
    *,
    x: Number,
    ideal: IdealSide = "line",
    between: Between = "line",
    **options: Unpack[GainOptions],
) -> float:
    """Effort-precision at gain-recall x."""
    xG, xI = gains(results, documents, **options)
    at = _recall_point(x)
    return float(effort_precision(xG, xI, at, ideal=ideal, between=between)) if xI else NAN


def MAep(
    results: Results,
    documents: Documents,
    *,
    ideal: IdealSide = "line",
    divisor: Divisor = "max",
    **options: Unpack[GainOptions],
) -> float:
    """Effort-precision averaged over the natural recall points."""
    xG, xI = gains(results, documents, **options)
    return float(average_effort_precision(xG, xI, ideal=ideal, divisor=divisor)) if xI else NAN


def iMAep(
    results: Results,
    documents: Documents,
    *,
    ideal: IdealSide = "line",
    between: Between = "line",
    **options: Unpack[GainOptions],
) -> float:
    """Effort-precision averaged over 100 recall points."""
    xG, xI = gains(results, documents, **options)
    return float(interpolated_effort_precision(xG, xI, ideal=ideal, between=between)) if xI else NAN


# --------------------------------------------------------------------------------------------
# Q and R measures (section 9)
# --------------------------------------------------------------------------------------------

Form = Literal["sakai", "printed"]


def _with_bonus(values: Sequence[Fraction]) -> list[Fraction]:
    """bg: one more for everything that gains."""
    return [value + 1 if value > 0 else ZERO for value in values]


def q_measure(
    xG: Sequence[Fraction],
    xI: Sequence[Fraction],
    *,
    divisor: Divisor = "max",
    form: Form = "sakai",
) -> Fraction:
    """(1/D) sum over gaining ranks j of cbg(j) / (cig(j) + j)."""
    _one_of(divisor, "max", "n")
    _one_of(form, "sakai", "printed")
    ideal = xI if form == "sakai" else _with_bonus(xI)
    bonus = _with_bonus(xG)
    ranks = [j for j, gain in enumerate(xG, start=1) if gain > 0]
    total = sum((_cumulated(bonus, j) / (_cumulated(ideal, j) + j) for j in ranks), ZERO)
    return total / (max(len(xI), len(ranks)) if divisor == "max" else len(xI))


def r_measure(xG: Sequence[Fraction], xI: Sequence[Fraction], *, form: Form = "sakai") -> Fraction:
    """cbg(R) / (cig(R) + R), or as printed with cbg(R) in both places."""
    _one_of(form, "sakai", "printed")
    r = len(xI)
    found = _cumulated(_with_bonus(xG), r)
    return found / ((sum(xI) if form == "sakai" else found) + r)


def Q(
    results: Results,
    documents: Documents,
    *,
    divisor: Divisor = "max",
    form: Form = "sakai",
    **options: Unpack[GainOptions],
) -> float:
    """Sakai's Q-measure."""
    xG, xI = gains(results, documents, **options)
    return float(q_measure(xG, xI, divisor=divisor, form=form)) if xI else NAN


def Rmeasure(
    results: Results,
    documents: Documents,
    *,
    divisor: Divisor = "max",
    form: Form = "sakai",
    **options: Unpack[GainOptions],
) -> float:
    """Sakai's R-measure. It divides by nothing that ``divisor`` could change."""
    _one_of(divisor, "max", "n")
    xG, xI = gains(results, documents, **options)
    return float(r_measure(xG, xI, form=form)) if xI else NAN


# --------------------------------------------------------------------------------------------
# Fetch & Browse (section 10)
# --------------------------------------------------------------------------------------------

Score = Literal["MAep", "iMAep"]


def _score(
    xG: Sequence[Fraction],
    xI: Sequence[Fraction],
    score: Score,
    ideal: IdealSide,
    divisor: Divisor = "max",
) -> Fraction:
    _one_of(score, "MAep", "iMAep")
    if score == "MAep":
        return average_effort_precision(xG, xI, ideal=ideal, divisor=divisor)
    return interpolated_effort_precision(xG, xI, ideal=ideal)


def _retrieved(results: Results) -> list[str]:
    """The documents of a run in the order of their first results."""
    return list(dict.fromkeys(result[0] for result in results))


def FBarticle(
    results: Results,
    documents: Documents,
    *,
    score: Score = "MAep",
    quant: str = "spec",
    article_gain: Literal["auto", "self", "max"] = "auto",
    ideal: IdealSide = "line",
) -> float:
    """How well whole documents are fetched."""
    _one_of(article_gain, "auto", "self", "max")
    _keys(results, documents)
    q = quantised(documents, quant)
    gain: dict[str, Fraction] = {}
    for name, document in documents.items():
        own = q[name, f"/{document.tree.tag}[1]"]
        largest = max(value for key, value in q.items() if key[0] == name)
        if article_gain == "max" or (article_gain == "auto" and own == 0):
            own = largest
        gain[name] = own
    xI = _decreasing(value for value in gain.values() if value > 0)
    if not xI:
        return NAN
    return float(_score([gain[name] for name in _retrieved(results)], xI, score, ideal))


def FBelement(
    results: Results,
    documents: Documents,
    *,
    score: Score = "MAep",
    ideal: IdealSide = "line",
    divisor: Divisor = "max",
    clusters: Literal["retrieved_relevant", "all_relevant", "retrieved"] = "retrieved_relevant",
    **options: Unpack[GainOptions],
) -> float:
    """How well the fetched documents are browsed: the mean over them, each by itself."""
    _one_of(clusters, "retrieved_relevant", "all_relevant", "retrieved")
    _keys(results, documents)
    scores: dict[str, Fraction | None] = {}  # None where nothing is relevant
    for name, document in documents.items():
        alone = {name: document}
        inside = [result for result in results if result[0] == name]
        if document.judged:
            xG, xI = gains(inside, alone, **options)
            scores[name] = _score(xG, xI, score, ideal, divisor) if xI else None
        else:
            scores[name] = None
    relevant = [name for name, value in scores.items() if value is not None]
    if not relevant:
        return NAN
    retrieved = _retrieved(results)
    if clusters == "retrieved":
        chosen = retrieved
    elif clusters == "all_relevant":
        chosen = relevant
    else:
        chosen = [name for name in retrieved if name in relevant]
    return float(_mean([scores[name] or ZERO for name in chosen])) if chosen else 0.0
