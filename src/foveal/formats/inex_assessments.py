"""INEX XML assessments, 2002 to 2007: graded elements, passages and best entry points."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from foveal.formats.assessed import OF_POOLS, UNKNOWN_GRADES, Assessed, assessed_elements
from foveal.formats.checks import TOO_FAR, Defects, check_names
from foveal.formats.fields import MAX_OFFSET
from foveal.formats.grades import Rule, check_rules, relevant_rows
from foveal.formats.markup import BLANKS, Markup, read_markup
from foveal.formats.objects import unknown_attributes
from foveal.formats.source import Source
from foveal.model import Judgements
from foveal.model.judgements import PLACE_COLUMNS
from foveal.spans import Ints

__all__ = ["read_judgements"]


_NAMES = {
    "xpath": ("path",),
    "exhaustivity": ("exhaustivity", "exhaustiveness"),
    "specificity": ("specificity",),
    "relevance": ("relevance",),
    "coverage": ("coverage",),
    "size": ("size",),
    "rsize": ("rsize",),
    **{name: (name,) for name in OF_POOLS},
}
"""Columns and the attributes that hold them."""
_READ = ("element", "path", "passage", "best-entry-point")
_ATTRIBUTES = frozenset(
    [name for names in _NAMES.values() for name in names]
    + ["topic", "pool", "version", "whitespace-text-node", "name", "file", "collection"]
    + ["start", "end"]
)
"""Everything that is read of these, of files and of the root."""
_RULES = ("keep", "merge", "strip")
"""How white space counts; files that do not say keep it."""
_SIZES = ("size", "rsize")
_WHOLE = r"^-?(?:[0-9]{1,3}(?:,[0-9]{3})+|[0-9]+)$"


def _digits(name: str) -> pl.Expr:
    """A size without its thousands separators."""
    return pl.col(name).str.replace_all(",", "", literal=True)


def _number(name: str) -> pl.Expr:
    return _digits(name).cast(pl.Int64)


def _size_rules(name: str) -> tuple[Rule, ...]:
    whole = pl.col(name).str.contains(_WHOLE)
    far = _digits(name).cast(pl.Float64, strict=False).abs() > MAX_OFFSET
    return (
        Rule(~whole, f"{name} {{!r}} is not a whole number", (name,)),
        Rule(whole & far, f"{name} {{}} {TOO_FAR}", (name,)),
    )


_SIZE_RULES = tuple(rule for name in _SIZES for rule in _size_rules(name))
_BEP, _MISSING = pl.col("bep"), "is missing; expected an XPath"
_POINT_RULES = (
    Rule(pl.col("start").is_null() & ~_BEP, f"a start {_MISSING}"),
    Rule(pl.col("end").is_null() & ~_BEP, f"an end {_MISSING}"),
    Rule(pl.col("start").is_null() & _BEP, f"a path {_MISSING}"),
    *(
        Rule(~pl.col(name).str.contains(rf"^/[^{BLANKS}]+$"), "{!r} is not an XPath", (name,))
        for name in ("start", "end")
    ),
)


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
        raise source.error(
            "unclassified", int(markup.line[0]), 'topic is missing; expected <assessments topic="">'
        )
    files = markup.named("file")
    line = Defects(source, markup.line[files])
    doc = pl.Series(markup.values(files, "name", "file"), dtype=pl.String)
    problems = check_names(line, pl.Series([topic] * len(files), dtype=pl.String))
    unnamed = np.array([not name for name in doc.to_list()], dtype=bool)
    line.raise_if([*problems, *line.at("unclassified", unnamed, "file without a name")])
    if not len(files):
        raise source.error("unclassified", None, "the judgements are empty: no document is judged")
    elements, scale, judged = _elements(markup, files)
    places = _places(markup, files)
    relevant = relevant_rows(elements, len(files), scale)
    if places is not None:
        relevant[places["row"].to_numpy()[~places["bep"].to_numpy()]] = True
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
        places=places,
        header=_header(markup, files, scale),
        unread=_unread(markup, files, len(elements)),
    )
    judgements.check_distinct()
    return judgements if judged.all() else judgements.only(judged)


def _header(markup: Markup, files: Ints, scale: str | None) -> dict[str, Any]:
    rule, version = (
        markup.values(np.array([0]), name)[0] for name in ("whitespace-text-node", "version")
    )
    header = {} if scale is None else {"scale": scale}
    header["whitespace"] = rule or _RULES[0]
    if header["whitespace"] not in _RULES:
        raise markup.source.error(
            "unclassified",
            int(markup.line[0]),
            f"whitespace-text-node {rule!r} is not known; expected {' or '.join(_RULES)}",
        )
    collections = set(markup.values(files, "collection"))
    if len(collections) == 1 and (name := collections.pop()):
        header["collection"] = name
    return header | ({"version": version} if version else {})


def _unread(markup: Markup, files: Ints, assessed: int) -> dict[str, int] | None:
    """What the pool says that judgements do not keep."""
    collections = pl.Series(markup.values(files, "collection"), dtype=pl.String)
    several = collections.n_unique() > 1
    found = {
        UNKNOWN_GRADES: len(_children(markup, files, "element", "path").number) - assessed,
        "names of collections, which are not the same in all files": (
            collections.count() if several else 0
        ),
        "statements of topics": len(markup.named("inex-topic")),
    }
    read = np.concatenate([[0], files, *(_children(markup, files, tag).number for tag in _READ)])
    own = [markup.attributes[number] for number in read.tolist() if number in markup.attributes]
    found |= unknown_attributes(own, _ATTRIBUTES)
    return {what: n for what, n in found.items() if n} or None


def _children(markup: Markup, files: Ints, *tags: str) -> _Children:
    number = markup.named(*tags)
    row = markup.owner(files, number)
    number, row = number[row >= 0], row[row >= 0]
    return _Children(number, row, Defects(markup.source, markup.line[number]))


def _texts(markup: Markup, numbers: Ints, *names: str) -> list[str | None]:
    """Values of attributes without the blanks around them."""
    values = markup.values(numbers, *names)
    return [None if value is None else value.strip(BLANKS) for value in values]


def _elements(markup: Markup, files: Ints) -> Assessed:
    """The assessed elements, and which files have a judgement of any of theirs."""
    found = _children(markup, files, "element", "path")
    frame = pl.DataFrame(
        {name: _texts(markup, found.number, *names) for name, names in _NAMES.items()},
        schema=dict.fromkeys(_NAMES, pl.String),
    )
    found.defects.raise_if(check_rules(found.defects, frame, _SIZE_RULES))
    frame = frame.with_columns(map(_number, _SIZES)).hstack(
        [
            pl.Series("row", found.row, dtype=pl.Int64),
            pl.Series("line", found.defects.line, dtype=pl.Int64),
        ]
    )
    elements, scale, known = assessed_elements(frame, found.defects, [])
    # A document of which everything is unknown was not judged.
    judged = np.ones(len(files), dtype=bool)
    judged[found.row] = False
    judged[found.row[known]] = True
    return Assessed(elements, scale, judged)


def _places(markup: Markup, files: Ints) -> pl.DataFrame | None:
    """Passages and best entry points, in the order of the rows, passages first."""
    passages = _children(markup, files, "passage")
    points = _children(markup, files, "best-entry-point")
    number = np.concatenate([passages.number, points.number])
    if not len(number):
        return None
    row = np.concatenate([passages.row, points.row])
    bep = np.arange(len(row)) >= len(passages.row)
    start, end, size = (_texts(markup, passages.number, name) for name in ("start", "end", "size"))
    entry, none = _texts(markup, points.number, "path", "start"), [None] * len(points.number)
    frame = pl.DataFrame(
        {"row": row, "start": start + entry, "end": end + none, "bep": bep}
        | {"line": markup.line[number], "size": size + none},
        schema={**PLACE_COLUMNS, "size": pl.String},
    )
    defects = Defects(markup.source, markup.line[number])
    problems = check_rules(defects, frame, (*_POINT_RULES, *_size_rules("size")))
    again = np.flatnonzero(points.row[1:] == points.row[:-1]) + 1
    problems += points.defects.at("unclassified", again, "a second best entry point in one file")
    defects.raise_if(problems)
    places = frame.with_columns(_number("size"))[np.argsort(row, kind="stable")]
    return places if places["size"].count() else places.drop("size")
