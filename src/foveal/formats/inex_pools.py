"""INEX XML assessments written: a folder with a file for each topic and assessor."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import partial

import numpy as np
import polars as pl

from foveal.errors import InputError
from foveal.formats.assessed import OF_POOLS
from foveal.formats.grades import GRADES, positive
from foveal.formats.markup import escaped, unfit
from foveal.model import Judgements

__all__ = ["FOLDER_FORMATS", "WITHOUT_GRADES"]

_COLUMNS = ("exhaustivity", "specificity", "relevance", "coverage", "size", "rsize")
_WRITTEN = {
    "2002": {"relevance": "relevance", "coverage": "coverage"},
    "2003": {"exhaustiveness": "exhaustivity", "specificity": "specificity"},
    "2005": {"exhaustivity": "exhaustivity", "size": "size", "rsize": "rsize"},
    "2006": {"size": "size", "rsize": "rsize"},
}
"""Scale to the attributes of an element, and the columns they hold."""
WITHOUT_GRADES = ("2005", "2006")
"""The scale of elements, and the one that is the same but for their grades."""
_BY_GRADES = ("2002", "2003")
"""Scales of the files that knew no passages and no sizes."""

_UNSAFE = re.compile(r'[/\\:*?"<>|%\x00-\x1f\x7f]|^\.')
_UNHELD = "this format cannot hold it, JSON Lines can"


def _pools(judgements: Judgements, scale: str) -> dict[str, str]:
    """File names and contents; refuses what the format lacks or cannot hold."""
    elements = _checked(judgements, scale)
    children = elements.select(
        "row", text=_element(scale, "path" if scale in _BY_GRADES else "element")
    )
    if judgements.places is not None:
        places = judgements.places.select("row", text=_place(sized="size" in judgements.places))
        children = pl.concat([places, children])
    inside = dict(children.group_by("row").agg(pl.col("text").str.join("")).iter_rows())
    files = _files(judgements, scale, inside)
    return {
        name: f'<?xml version="1.0" encoding="UTF-8"?>\n{opening}{"".join(parts)}</assessments>\n'
        for name, (opening, parts) in files.items()
    }


def _files(
    judgements: Judgements, scale: str, inside: Mapping[int, str]
) -> dict[str, tuple[str, list[str]]]:
    """File name to the opening tag and what stands between it and the end."""
    files: dict[str, tuple[str, list[str]]] = {}
    attribute = "file" if scale in _BY_GRADES else "name"
    collection = _attribute(judgements, "collection")
    assessors = [None] * len(judgements) if judgements.assessor is None else judgements.assessor
    for row, assessor in enumerate(assessors):
        topic = judgements.topics[judgements.topic[row]]
        doc = escaped(str(judgements.doc[row]))
        opened = f'  <file{collection} {attribute}="{doc}"'
        text = f"{opened}>\n{inside[row]}  </file>\n" if row in inside else f"{opened}/>\n"
        opening = _opening(judgements, scale, topic, assessor)
        files.setdefault(_file_name(topic, assessor), (opening, []))[1].append(text)
    return files


def _opening(judgements: Judgements, scale: str, topic: str, assessor: str | None) -> str:
    pool = "" if assessor is None else f' pool="{escaped(assessor)}"'
    version = _attribute(judgements, "version")
    blanks = ""
    if scale not in _BY_GRADES:
        blanks = _attribute(judgements, "whitespace", "whitespace-text-node")
    return f'<assessments{pool} topic="{escaped(topic)}"{version}{blanks}>\n'


def _attribute(judgements: Judgements, name: str, written: str | None = None) -> str:
    """What the header says, as an attribute; nothing if it does not."""
    value = (judgements.header or {}).get(name)
    return f' {written or name}="{escaped(value)}"' if isinstance(value, str) else ""


def _file_name(topic: str, assessor: str | None) -> str:
    """A name that is one file in one folder, and another for every topic and assessor."""
    safe = _percent(_UNSAFE, topic)
    if assessor is None:
        return f"{safe}.xml"
    return f"{safe.replace('-', '%2D')}-{_percent(_UNSAFE, assessor)}.xml"


def _percent(pattern: re.Pattern[str], text: str) -> str:
    return pattern.sub(lambda found: f"%{ord(found[0]):02X}", text)


def _element(scale: str, tag: str) -> pl.Expr:
    columns = {"path": "xpath", **_WRITTEN[scale]}
    form = " ".join(f'{name}="{{}}"' for name in columns)
    values = (escaped(pl.col(c).cast(pl.String)) for c in columns.values())
    return pl.format(f"    <{tag} {form}{{}}{{}}/>\n", *values, *map(_if_said, OF_POOLS))


def _if_said(name: str) -> pl.Expr:
    """An attribute, or nothing where the column is null."""
    value = escaped(pl.col(name).cast(pl.String))
    return pl.format(f' {name}="{{}}"', value).fill_null("")


def _place(*, sized: bool) -> pl.Expr:
    start, end = escaped(pl.col("start")), escaped(pl.col("end"))
    size = _if_said("size") if sized else pl.lit("")
    return (
        pl.when("bep")
        .then(pl.format('    <best-entry-point path="{}"/>\n', start))
        .otherwise(pl.format('    <passage start="{}" end="{}"{}/>\n', start, end, size))
    )


def _checked(judgements: Judgements, scale: str) -> pl.DataFrame:
    """The elements with all columns, if the format can hold the judgements."""
    elements = _complete(judgements.elements)
    declared = (judgements.header or {}).get("scale", scale)
    if (declared, scale) == WITHOUT_GRADES:
        elements = elements.with_columns(exhaustivity=pl.lit(None, dtype=pl.String))
        declared = scale
    if len(elements) and declared != scale:
        raise InputError.at(
            "unclassified",
            judgements.sources[0].path,
            None,
            f"the elements are graded on the scale of {declared}; this format is that of {scale}",
        )
    found = elements.filter(positive(elements, scale))["row"].to_list()
    if judgements.places is not None:
        if scale in _BY_GRADES and len(judgements.places):
            raise InputError(
                judgements.problem(
                    "unclassified", row, f"a passage or entry point: {_UNHELD}", line=line
                )
                for row, line in judgements.places.select("row", "line").rows()
            )
        found += judgements.places.filter(~pl.col("bep"))["row"].to_list()
    lacking = pl.Series(np.setdiff1d(np.flatnonzero(judgements.relevant), found))
    _refuse(
        judgements,
        lacking,
        "relevant, but without assessed elements; a collection is needed to derive them",
    )
    _check_columns(judgements, elements, scale)
    _check_names(judgements, elements)
    return elements


def _complete(elements: pl.DataFrame | None) -> pl.DataFrame:
    names = ("xpath", *_COLUMNS, *OF_POOLS)
    schema: dict[str, type[pl.DataType]] = dict.fromkeys(names, pl.String)
    schema |= dict.fromkeys(("row", "size", "rsize"), pl.Int64)
    given = pl.DataFrame(schema=schema) if elements is None else elements
    return given.select(
        pl.col(name) if name in given.columns else pl.lit(None, dtype=kind).alias(name)
        for name, kind in schema.items()
    )


def _check_columns(judgements: Judgements, elements: pl.DataFrame, scale: str) -> None:
    written = _WRITTEN[scale].values()
    for name in _COLUMNS:
        column = elements[name]
        if name not in written:
            rows = elements["row"].filter(column.is_not_null())
            _refuse(judgements, rows, f"{name} of elements: {_UNHELD}")
            continue
        bad = column.is_null()
        if name in GRADES[scale]:
            bad |= ~column.str.contains(f"^{GRADES[scale][name]}$")
        rows = elements["row"].filter(bad)
        _refuse(judgements, rows, f"elements without {name} on the scale of {scale}, as needed")


def _check_names(judgements: Judgements, elements: pl.DataFrame) -> None:
    named = [pl.Series(judgements.topics), judgements.doc, elements["xpath"]]
    named += [elements[name].drop_nulls() for name in OF_POOLS]
    header = judgements.header or {}
    said = [value for name in ("collection", "version") if (value := header.get(name))]
    named.append(pl.Series([value for value in said if isinstance(value, str)], dtype=pl.String))
    if judgements.assessor is not None:
        named.append(judgements.assessor.drop_nulls())
    if judgements.places is not None:
        named += [judgements.places["start"], judgements.places["end"].drop_nulls()]
    for names in named:
        bad = unfit(names)
        if bad is not None:
            raise InputError.at(
                "unclassified",
                judgements.sources[0].path,
                None,
                f"{bad!r} cannot be written in XML; JSON Lines can hold it",
            )
    twice = elements.filter(~pl.struct("row", "xpath").is_first_distinct())["row"]
    _refuse(judgements, twice, "an element comes twice; write each assessor's own elements")


def _refuse(judgements: Judgements, rows: pl.Series, message: str) -> None:
    """An error for each of these rows, if there is any."""
    if len(rows):
        raise InputError(
            judgements.problem("unclassified", row, message) for row in rows.unique().sort()
        )


FOLDER_FORMATS: dict[str, Callable[[Judgements], dict[str, str]]] = {
    f"inex{scale}": partial(_pools, scale=scale) for scale in _WRITTEN
}
"""Name of a format of many files, and what gives their names and contents."""
