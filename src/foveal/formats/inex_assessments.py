"""INEX XML assessments, 2002 to 2007: graded elements, passages and best entry points."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from foveal.errors import Problem
from foveal.formats.checks import TOO_FAR, Defects, check_names
from foveal.formats.fields import MAX_OFFSET
from foveal.formats.grades import check_grades, marked, relevant_rows
from foveal.formats.markup import BLANKS, Markup, read_markup
from foveal.formats.source import Source
from foveal.model import Judgements
from foveal.spans import Ints

__all__ = ["ROOT", "read_judgements"]

ROOT = "assessments"

_SIZED = ("2005", "2006")
_NAMES = {
    "exhaustivity": ("exhaustivity", "exhaustiveness"),
    "specificity": ("specificity",),
    "relevance": ("relevance",),
    "coverage": ("coverage",),
}
_STEP = r"/[^/\[\]@()\s]+(\[[1-9][0-9]*\])?"
_WHOLE = r"^[0-9]{1,3}(,[0-9]{3})+$|^[0-9]+$"


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
        elements=elements,
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


def _elements(
    markup: Markup, files: Ints
) -> tuple[pl.DataFrame, str | None, npt.NDArray[np.bool_]]:
    """The assessed elements, their scale, and which files have any judgement at all."""
    found = _children(markup, files, "element", "path")
    texts = {name: markup.values(found.number, *names) for name, names in _NAMES.items()}
    frame = pl.DataFrame(
        {"xpath": markup.values(found.number, "path"), **texts}
        | {name: markup.values(found.number, name) for name in ("size", "rsize")},
        schema=dict.fromkeys(("xpath", *_NAMES, "size", "rsize"), pl.String),
    ).with_columns(pl.all().str.strip_chars(BLANKS), row=pl.Series(found.row, dtype=pl.Int64))
    scale = _scale(frame, found.defects)
    problems = _check_paths(found.defects, frame)
    known = ~(frame["exhaustivity"].eq("U") | frame["specificity"].eq("U")).fill_null(value=False)
    if scale is not None:
        problems += check_grades(found.defects, frame, scale, known.to_numpy())
    frame, sizes = _sizes(found.defects, frame, required=scale in _SIZED)
    found.defects.raise_if(problems + sizes)
    # A document of which everything is unknown was not judged.
    judged = np.ones(len(files), dtype=bool)
    judged[found.row] = False
    judged[found.row[known.to_numpy()]] = True
    return frame.filter(known).with_columns(xpath=_canonical("xpath")), scale, judged


def _canonical(column: str) -> pl.Expr:
    """Paths with every ordinal."""
    return pl.col(column).str.replace_all(r"([^/\]])(/|$)", "${1}[1]${2}")


def _scale(frame: pl.DataFrame, defects: Defects) -> str | None:
    """The scale of the elements by the attributes they have; one file has one."""
    if not len(frame):
        return None
    scales = frame.select(
        pl.when(pl.col("relevance").is_not_null() | pl.col("coverage").is_not_null())
        .then(pl.lit("2002"))
        .when(pl.col("specificity").is_not_null())
        .then(pl.lit("2003"))
        .when(pl.col("exhaustivity").is_not_null())
        .then(pl.lit("2005"))
        .otherwise(pl.lit("2006"))
    ).to_series()
    first = str(scales[0])
    other = (scales != first).to_numpy()
    message = f"grades of the scale of {{}}, but the first element has those of {first}"
    defects.raise_if([*defects.at(np.flatnonzero(other)[:1], message, scales)])
    return first


def _check_paths(defects: Defects, frame: pl.DataFrame) -> list[Problem]:
    path = frame["xpath"]
    problems = [*defects.at(path.is_null().to_numpy(), "element without a path")]
    bad = ~path.str.contains(f"^(?:{_STEP})+$").fill_null(value=True).to_numpy()
    problems += defects.at(
        bad, "{!r} is not the path of an element; expected /path[1]/of[1]/element[2]", path
    )
    first = frame.select(pl.struct("row", _canonical("xpath")).is_first_distinct()).to_series()
    again = (~first & path.is_not_null()).to_numpy()
    return [*problems, *defects.at(again, "element {!r} comes twice in one file", path)]


def _sizes(
    defects: Defects, frame: pl.DataFrame, *, required: bool
) -> tuple[pl.DataFrame, list[Problem]]:
    """Sizes as numbers; they may have thousands separators."""
    problems: list[Problem] = []
    for name in ("size", "rsize"):
        problems += _check_size(defects, name, frame[name])
        if required:
            absent = frame[name].is_null().to_numpy()
            problems += defects.at(absent, f"{name} is missing; expected a number of characters")
    frame = frame.with_columns(
        pl.col("size", "rsize").str.replace_all(",", "").cast(pl.Int64, strict=False)
    )
    more = marked(frame["rsize"] > frame["size"])
    message = "rsize {} is more than size {}"
    return frame, [*problems, *defects.at(more, message, frame["rsize"], frame["size"])]


def _check_size(defects: Defects, name: str, size: pl.Series) -> list[Problem]:
    negative = marked(size.str.contains(r"^-[0-9,]+$"))
    problems = [*defects.at(negative, f"{name} {{}} is negative", size)]
    whole = size.str.contains(_WHOLE).fill_null(value=True).to_numpy()
    problems += defects.at(~whole & ~negative, f"{name} {{!r}} is not a whole number", size)
    number = size.str.replace_all(",", "").cast(pl.Float64, strict=False)
    return [
        *problems,
        *defects.at(marked(number > MAX_OFFSET) & whole, f"{name} {{}} {TOO_FAR}", size),
    ]


def _places(markup: Markup, files: Ints) -> pl.DataFrame:
    """Passages and best entry points, in the order of the rows, passages first."""
    passages = _children(markup, files, "passage")
    points = _children(markup, files, "best-entry-point")
    start, end, size = (markup.values(passages.number, name) for name in ("start", "end", "size"))
    entry = markup.values(points.number, "path", "start")
    problems = _check_points(passages.defects, start, "a start")
    problems += _check_points(passages.defects, end, "an end")
    column = pl.Series(size, dtype=pl.String).str.strip_chars(BLANKS)
    problems += _check_size(passages.defects, "size", column)
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
        },
        schema={"row": pl.Int64, "start": pl.String, "end": pl.String, "bep": pl.Boolean},
    )
    texts = pl.col("start", "end").str.strip_chars(BLANKS)
    return places.with_columns(texts).sort("row", maintain_order=True)


def _check_points(defects: Defects, values: list[str | None], what: str) -> list[Problem]:
    point = pl.Series(values, dtype=pl.String).str.strip_chars(BLANKS)
    problems = [*defects.at(point.is_null().to_numpy(), f"{what} is missing; expected an XPath")]
    bad = ~point.str.contains(rf"^/[^{BLANKS}]+$").fill_null(value=True).to_numpy()
    return [*problems, *defects.at(bad, "{!r} is not an XPath", point)]
