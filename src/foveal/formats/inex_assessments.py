"""INEX XML assessments, 2002 to 2007: graded elements, passages and best entry points."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from foveal.errors import Problem
from foveal.formats.assessed import Assessed, assessed_elements
from foveal.formats.checks import TOO_FAR, Defects, check_names
from foveal.formats.fields import MAX_OFFSET
from foveal.formats.grades import marked, relevant_rows
from foveal.formats.markup import BLANKS, Markup, read_markup
from foveal.formats.source import Source
from foveal.model import Judgements
from foveal.model.judgements import PLACE_COLUMNS
from foveal.spans import Ints

__all__ = ["ROOT", "read_judgements"]

ROOT = "assessments"

_NAMES = {
    "exhaustivity": ("exhaustivity", "exhaustiveness"),
    "specificity": ("specificity",),
    "relevance": ("relevance",),
    "coverage": ("coverage",),
}
_WHOLE = r"^-?(?:[0-9]{1,3}(?:,[0-9]{3})+|[0-9]+)$"


@dataclass(frozen=True)
class _Children:
    """Elements of one kind, the files they belong to, and where to report their defects."""

    number: Ints
    row: Ints
    defects: Defects


def read_judgements(source: Source) -> Judgements:
    """The assessments of one pool; the pool is the assessor."""
    markup = read_markup(source)
    topic, pool = (markup.values(np.array([0]), name)[0] for name in ("topic", "pool"))
    if not topic:
        raise source.error(int(markup.line[0]), 'topic is missing; expected <assessments topic="">')
    files = markup.named("file")
    line = Defects(source, markup.line[files])
    doc = pl.Series(markup.values(files, "name", "file"), dtype=pl.String)
    problems = check_names(line, pl.Series([topic] * len(files), dtype=pl.String))
    problems += line.at((doc.fill_null("") == "").to_numpy(), "file without a name")
    line.raise_if(problems)
    if not len(files):
        raise source.error(None, "the judgements are empty: no document is judged")
    elements, scale, judged = _elements(markup, files)
    places = _places(markup, files)
    relevant = relevant_rows(elements, len(files), scale)
    relevant[places.filter(~pl.col("bep"))["row"].to_numpy()] = True
    none = np.zeros(0, dtype=np.int64)
    judgements = Judgements.from_rows(
        pl.DataFrame(
            {
                "topic": [topic] * len(files),
                "doc": doc,
                "line": line.line,
                "assessor": pl.Series([pool or None] * len(files), dtype=pl.String),
                "relevant": relevant,
            }
        ),
        np.zeros(len(files), dtype=np.int64),
        none,
        none,
        source=source.provenance,
        has_text=False,
        elements=elements if len(elements) else None,
        places=places if len(places) else None,
        header=_header(markup, scale),
    )
    judgements.check_distinct()
    return judgements if judged.all() else judgements.only(judged)


def _header(markup: Markup, scale: str | None) -> dict[str, Any]:
    (declared,) = markup.values(np.array([0]), "whitespace-text-node")
    header = {} if scale is None else {"scale": scale}
    return header | {"whitespace": "strip" if declared == "strip" else "keep"}


def _children(markup: Markup, files: Ints, *tags: str) -> _Children:
    number = markup.named(*tags)
    row = markup.owner(files, number)
    number, row = number[row >= 0], row[row >= 0]
    return _Children(number, row, Defects(markup.source, markup.line[number]))


def _elements(markup: Markup, files: Ints) -> Assessed:
    """The assessed elements, and which files have a judgement of any of theirs."""
    found = _children(markup, files, "element", "path")
    texts = {name: markup.values(found.number, *names) for name, names in _NAMES.items()}
    frame = pl.DataFrame(
        {"xpath": markup.values(found.number, "path"), **texts}
        | {name: markup.values(found.number, name) for name in ("size", "rsize")},
        schema=dict.fromkeys(("xpath", *_NAMES, "size", "rsize"), pl.String),
    ).with_columns(pl.all().str.strip_chars(BLANKS), row=pl.Series(found.row, dtype=pl.Int64))
    problems = [p for name in ("size", "rsize") for p in _check_size(found.defects, name, frame)]
    found.defects.raise_if(problems)
    sizes = pl.col("size", "rsize").str.replace_all(",", "").cast(pl.Int64)
    elements, scale, known = assessed_elements(frame.with_columns(sizes), found.defects, [])
    # A document of which everything is unknown was not judged.
    judged = np.ones(len(files), dtype=bool)
    judged[found.row] = False
    judged[found.row[known]] = True
    return Assessed(elements, scale, judged)


def _check_size(defects: Defects, name: str, frame: pl.DataFrame) -> list[Problem]:
    """Sizes that are no numbers; they may have thousands separators."""
    size = frame[name]
    whole = size.str.contains(_WHOLE).fill_null(value=True).to_numpy()
    problems = [*defects.at(~whole, f"{name} {{!r}} is not a whole number", size)]
    number = size.str.replace_all(",", "").cast(pl.Float64, strict=False)
    far = marked(number.abs() > MAX_OFFSET) & whole
    return [*problems, *defects.at(far, f"{name} {{}} {TOO_FAR}", size)]


def _places(markup: Markup, files: Ints) -> pl.DataFrame:
    """Passages and best entry points, in the order of the rows, passages first."""
    passages = _children(markup, files, "passage")
    points = _children(markup, files, "best-entry-point")
    start, end, size = (markup.values(passages.number, name) for name in ("start", "end", "size"))
    entry = markup.values(points.number, "path", "start")
    problems = _check_points(passages.defects, start, "a start")
    problems += _check_points(passages.defects, end, "an end")
    sizes = pl.DataFrame({"size": size}, schema={"size": pl.String})
    problems += _check_size(
        passages.defects, "size", sizes.select(pl.all().str.strip_chars(BLANKS))
    )
    passages.defects.raise_if(problems)
    problems = _check_points(points.defects, entry, "a path")
    again = np.flatnonzero(points.row[1:] == points.row[:-1]) + 1
    problems += points.defects.at(again, "a second best entry point in one file")
    points.defects.raise_if(problems)
    places = pl.DataFrame(
        {
            "row": np.concatenate([passages.row, points.row]),
            "start": [*start, *entry],
            "end": [*end, *[None] * len(entry)],
            "bep": np.arange(len(start) + len(entry)) >= len(start),
            "line": np.concatenate([passages.defects.line, points.defects.line]),
        },
        schema=PLACE_COLUMNS,
    )
    texts = pl.col("start", "end").str.strip_chars(BLANKS)
    return places.with_columns(texts).sort("row", maintain_order=True)


def _check_points(defects: Defects, values: list[str | None], what: str) -> list[Problem]:
    point = pl.Series(values, dtype=pl.String).str.strip_chars(BLANKS)
    problems = [*defects.at(point.is_null().to_numpy(), f"{what} is missing; expected an XPath")]
    bad = ~point.str.contains(rf"^/[^{BLANKS}]+$").fill_null(value=True).to_numpy()
    return [*problems, *defects.at(bad, "{!r} is not an XPath", point)]
