"""Paths of elements: the one way to write them, with every ordinal; and those of roots."""

from __future__ import annotations

import re

import numpy as np
import numpy.typing as npt
import polars as pl

from foveal.lookup import TextNumbers

__all__ = ["ELEMENT", "PATHS", "canonical_paths", "is_root"]

_STEP = r"/[^/\[\]@()\s]+(?:\[[1-9][0-9]*\])?"
ELEMENT = f"^(?:{_STEP})+$"
"""The path of an element, as it may be written: 1 need not be."""

PATHS = TextNumbers()
"""Paths that runs have named."""

_BARE = r"([^/\]])(/|$)"
"""The end of a step without an ordinal."""

_ROOT = r"^/[^/\[\]@()\s]+(?:\[1\])?$"
_ROOT_OF = re.compile("/[^/]+/")
"""The first step of a path that has more."""

_BLOCK = 1 << 17
"""Bytes looked at together; what fits into the cache is fastest."""


def canonical_paths(paths: pl.Series) -> pl.Series:
    """Return paths of elements with every ordinal; points, attributes and ranges as they are.

    >>> canonical_paths(pl.Series(["/a/b[2]", "/a[1]", "/a/text()[1].5", "/a /b"])).to_list()
    ['/a[1]/b[2]', '/a[1]', '/a/text()[1].5', '/a /b']
    """
    # Nearly all files write every ordinal. Then, in all paths as one text, only the slashes that
    # paths begin with follow something else than a bracket. To see that takes a third of the time
    # of the regular expression, which must look into each path by itself.
    if paths.str.ends_with("]").all():
        text = np.frombuffer((paths.str.join("\n").item() or "").encode(), dtype=np.uint8)
        opening = int(text[:1].tobytes() == b"/")
        for at in range(0, len(text), _BLOCK):
            block = text[at : at + _BLOCK + 1]
            opening += int(np.count_nonzero((block[1:] == ord("/")) & (block[:-1] != ord("]"))))
        if opening == int(paths.str.starts_with("/").sum()):
            return paths
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
    root = np.zeros(len(xpath), dtype=bool)
    # Nearly all go down from one root: what begins like that needs no further look.
    begin = _ROOT_OF.match(str(xpath[0])) if len(xpath) else None
    if begin is None:
        rows, left = np.arange(len(xpath)), xpath
    else:
        inside = xpath.str.starts_with(begin.group()).fill_null(value=True).to_numpy()
        rows = np.flatnonzero(~inside)
        left = xpath.gather(rows)
    root[rows] = left.str.contains(_ROOT).fill_null(value=False).to_numpy()
    return root
