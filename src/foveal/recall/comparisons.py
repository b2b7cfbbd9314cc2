"""Comparisons of NEXI queries: whether the text of an element is the number that is asked for."""

from __future__ import annotations

import re
from collections.abc import Callable
from decimal import Decimal
from operator import eq, ge, gt, le, lt
from typing import Any

from foveal.nexi import Compare

__all__ = ["compares"]

_NUMBER = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)")
_OPERATORS: dict[str, Callable[[Any, Any], bool]] = {"<": lt, "<=": le, "=": eq, ">=": ge, ">": gt}


def _number(text: str) -> Decimal | None:
    """A number as XPath writes them, with white space around it; None for anything else."""
    trimmed = text.strip()
    return Decimal(trimmed) if _NUMBER.fullmatch(trimmed) else None


def compares(filter_: Compare, text: str) -> bool:
    """Whether a comparison holds for the text of an element.

    A constant that is no number, as the dialect of 2003 allows, can only be equal.

    >>> compares(Compare(None, ">", "1998"), " 1999 "), compares(Compare(None, "<", "3"), "two")
    (True, False)
    """
    constant, value = _number(filter_.value), _number(text)
    if constant is not None:
        return value is not None and _OPERATORS[filter_.operator](value, constant)
    return filter_.operator == "=" and text.split() == filter_.value.split()
