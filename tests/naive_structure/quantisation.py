"""From assessments to values of elements (section 2)."""

from fractions import Fraction

from naive_structure.trees import ONE, ZERO, Document, Documents, Key, Node, Scale, elements, spec

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
