"""Quantisation functions: the worth of an assessed element, by the scale of its year."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from foveal.errors import UsageError
from foveal.spans import Ints

__all__ = [
    "COVERAGES",
    "MEAN7",
    "QUANTISATIONS",
    "ElementGrades",
    "Quantisation",
    "find_quantisation",
    "quantise_dimensions",
]

Bools = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]

COVERAGES = "NSLE"
"""The coverages of 2002 by their code: none, too small, too large, exact."""
_HIGHEST = {"2002": 3, "2003": 3, "2005": 2}
"""Scale to its highest grade."""


class ElementGrades(NamedTuple):
    """The assessments of elements as numbers; what is not assessed is not relevant.

    Parameters
    ----------
    scale : str
        ``2002``, ``2003``, ``2005`` or ``2006``.
    exhaustivity : int array
        The grade: relevance on the scale of 2002, and 1 for everything relevant on that of 2006.
    specificity : float array
        The grade on the scale of 2003, the code of the coverage on that of 2002, the share of
        highlighted characters on the later ones.
    too_small : bool array
        Elements of the scale of 2005 that are graded ``?``; their exhaustivity is 0.
    """

    scale: str
    exhaustivity: Ints
    specificity: Floats
    too_small: Bools


@dataclass(frozen=True)
class Quantisation:
    """A function from assessments to worth.

    Parameters
    ----------
    name : str
    scales : tuple of str
        The scales it is defined on.
    worth : callable
    maximum : float
        The largest value it takes.
    """

    name: str
    scales: tuple[str, ...]
    worth: Callable[[ElementGrades], Floats]
    maximum: float = 1.0


def _table(rows: Sequence[Sequence[float]]) -> Callable[[ElementGrades], Floats]:
    """Return a look-up by two grades from 0: a row for each first, a column for each second."""
    table = np.array(rows, dtype=np.float64)

    def worth(assessed: ElementGrades) -> Floats:
        values: Floats = table[assessed.exhaustivity, assessed.specificity.astype(np.int64)]
        return values

    return worth


def _grades(*pairs: str) -> list[list[float]]:
    """Return a table of 0 and 1 that is 1 at these grade pairs, written ``es``."""
    return [[float(f"{e}{s}" in pairs) for s in range(4)] for e in range(4)]


def _strict_spec(assessed: ElementGrades) -> Floats:
    return np.where(assessed.specificity == 1, 1.0, 0.0)


def _strict5(assessed: ElementGrades) -> Floats:
    return np.where((assessed.exhaustivity == 2) & (assessed.specificity == 1), 1.0, 0.0)


def _gen5(assessed: ElementGrades) -> Floats:
    return assessed.exhaustivity * assessed.specificity


def _gen_lifted(assessed: ElementGrades) -> Floats:
    relevant = (assessed.exhaustivity > 0) | assessed.too_small
    return np.where(relevant, (assessed.exhaustivity + 1) * assessed.specificity, 0.0)


def _shares(assessed: ElementGrades) -> tuple[Floats, Floats]:
    """Return both dimensions rescaled to [0, 1]."""
    top = _HIGHEST[assessed.scale]
    specificity = assessed.specificity / (top if assessed.scale == "2003" else 1)
    return assessed.exhaustivity / top, specificity


def _enc_strict(assessed: ElementGrades) -> Floats:
    exhaustivity, specificity = _shares(assessed)
    return np.where((exhaustivity == 1) & (specificity == 1), 1.0, 0.0)


def _enc_gen(assessed: ElementGrades) -> Floats:
    exhaustivity, specificity = _shares(assessed)
    return exhaustivity * specificity


_GEN2: Sequence[Sequence[float]] = [
    [0, 0, 0, 0],
    [0, 0.25, 0.25, 0.5],
    [0, 0.5, 0.5, 0.75],
    [0, 0, 0.75, 1],
]
_GEN3: Sequence[Sequence[float]] = [
    [0, 0, 0, 0],
    [0, 0.25, 0.25, 0.5],
    [0, 0.5, 0.5, 0.75],
    [0, 0.75, 0.75, 1],
]
_SOG: Sequence[Sequence[float]] = [
    [0, 0, 0, 0],
    [0, 0.1, 0.25, 0.75],
    [0, 0.1, 0.5, 0.9],
    [0, 0.25, 0.75, 1],
]

_FUNCTIONS = (
    Quantisation("spec", ("2005", "2006"), attrgetter("specificity")),
    Quantisation("strict2", ("2002",), _table(_grades("33"))),
    Quantisation("gen2", ("2002",), _table(_GEN2)),
    Quantisation("strict3", ("2003",), _table(_grades("33"))),
    Quantisation("gen3", ("2003",), _table(_GEN3)),
    Quantisation("sog", ("2003",), _table(_SOG)),
    Quantisation("e3s321", ("2003",), _table(_grades("33", "32", "31"))),
    Quantisation("e3s32", ("2003",), _table(_grades("33", "32"))),
    Quantisation("s3e321", ("2003",), _table(_grades("33", "23", "13"))),
    Quantisation("s3e32", ("2003",), _table(_grades("33", "23"))),
    Quantisation("strict5", ("2005",), _strict5),
    Quantisation("gen5", ("2005",), _gen5, 2.0),
    Quantisation("genLifted", ("2005",), _gen_lifted, 3.0),
    Quantisation("enc_strict", ("2003", "2005"), _enc_strict),
    Quantisation("enc_gen", ("2003", "2005"), _enc_gen),
)
_NAMED = {function.name: function for function in _FUNCTIONS}
_BY_SCALE = {
    "strict": {
        "2002": _NAMED["strict2"],
        "2003": _NAMED["strict3"],
        "2005": _NAMED["strict5"],
        "2006": Quantisation("strict", ("2006",), _strict_spec),
    },
    "gen": {
        "2002": _NAMED["gen2"],
        "2003": _NAMED["gen3"],
        "2005": _NAMED["gen5"],
        "2006": _NAMED["spec"],
    },
}
QUANTISATIONS = ("spec", "strict", "gen", *[name for name in _NAMED if name != "spec"])
"""The names of all functions; ``strict`` and ``gen`` are those of the judgements' own scale."""

MEAN7 = ("strict3", "gen3", "sog", "e3s321", "e3s32", "s3e321", "s3e32")
"""The functions of 2004, whose scores were also averaged."""


def find_quantisation(name: str, scale: str) -> Quantisation:
    """Return the function of this name; refuse one of another scale than the judgements'.

    >>> find_quantisation("gen", "2005").name
    'gen5'
    >>> none = np.zeros(2, dtype=bool)
    >>> grades = ElementGrades("2003", np.array([3, 2]), np.array([1.0, 3.0]), none)
    >>> find_quantisation("sog", "2003").worth(grades).tolist()
    [0.25, 0.9]
    """
    if name in _BY_SCALE:
        return _BY_SCALE[name][scale]
    function = _NAMED[name]
    if scale not in function.scales:
        fits = [n for n in QUANTISATIONS if n in _BY_SCALE or scale in _NAMED[n].scales]
        raise UsageError(
            f"quant={name} is a function of the scale of {' and '.join(function.scales)}, but the "
            f"elements are assessed on that of {scale}; expected one of {', '.join(fits)}"
        )
    return function


def quantise_dimensions(name: str, assessed: ElementGrades) -> tuple[Floats, Floats]:
    """Return exhaustivity and specificity quantised one by one, as inex_eval_ng takes them.

    ``gen`` rescales each to [0, 1], ``strict`` keeps only the highest grade.
    """
    if assessed.scale not in ("2003", "2005"):
        raise UsageError(
            "inex_eval_ng takes grades of exhaustivity, those of 2003 to 2005; the elements are "
            f"assessed on the scale of {assessed.scale}"
        )
    exhaustivity, specificity = _shares(assessed)
    if name == "strict":
        exhaustivity = np.where(exhaustivity == 1, 1.0, 0.0)
        specificity = np.where(specificity == 1, 1.0, 0.0)
    return exhaustivity, specificity
