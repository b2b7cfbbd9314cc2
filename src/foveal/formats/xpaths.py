"""The one way to write the path of an element: with every ordinal."""

from __future__ import annotations

import polars as pl

__all__ = ["ELEMENT", "canonical_paths"]

_STEP = r"/[^/\[\]@()\s]+(?:\[[1-9][0-9]*\])?"
ELEMENT = f"^(?:{_STEP})+$"
"""The path of an element, as it may be written: 1 need not be."""

_BARE = r"([^/\]])(/|$)"
"""The end of a step without an ordinal."""


def canonical_paths(paths: pl.Series) -> pl.Series:
    """Paths of elements with every ordinal; points in text, attributes and ranges as they are.

    >>> canonical_paths(pl.Series(["/a/b[2]", "/a[1]", "/a/text()[1].5", "/a /b"])).to_list()
    ['/a[1]/b[2]', '/a[1]', '/a/text()[1].5', '/a /b']
    """
    # Nearly all files write every ordinal: one look at the paths is all that they pay.
    bare = paths.str.contains(_BARE).fill_null(value=False)
    if not bare.any():
        return paths
    change = bare & paths.str.contains(ELEMENT)
    return paths.zip_with(~change, paths.str.replace_all(_BARE, "${1}[1]${2}"))
