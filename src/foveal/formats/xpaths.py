"""Paths of elements: the one way to write them, with every ordinal; and those of roots."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import polars as pl

_STEP = r"/[^/\[\]@()\s]+(?:\[[1-9][0-9]*\])?"
ELEMENT = f"^(?:{_STEP})+$"  # the path of an element, as it may be written: 1 need not be
_BARE = r"([^/\]])(/|$)"  # the end of a step without an ordinal
_ROOT = r"^/[^/\[\]@()\s]+(?:\[1\])?$"


def canonical_paths(paths: pl.Series) -> pl.Series:
    """Return paths of elements with every ordinal; points, attributes and ranges as they are.

    >>> canonical_paths(pl.Series(["/a/b[2]", "/a[1]", "/a/text()[1].5", "/a /b"])).to_list()
    ['/a[1]/b[2]', '/a[1]', '/a/text()[1].5', '/a /b']
    """
    bare = paths.str.contains(_BARE).fill_null(value=False)
    if not bare.any():
        return paths
    change = bare & paths.str.contains(ELEMENT)
    return paths.zip_with(~change, paths.str.replace_all(_BARE, "${1}[1]${2}"))


def is_root(xpath: pl.Series) -> npt.NDArray[np.bool_]:
    """Mark paths of the root element: the whole document whatever its length.

    >>> is_root(pl.Series(["/a[1]/b[1]", "/a[1]", "/a", "/b[1]", "/a[2]", None])).tolist()
    [False, True, True, True, False, False]
    """
    return xpath.str.contains(_ROOT).fill_null(value=False).to_numpy()
