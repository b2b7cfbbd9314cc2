"""INEX XML assessments, 2002 to 2007: graded elements, passages and best entry points.

A file holds one pool: the documents that one assessor judged for one topic. They are written as a
folder with a file for each topic and assessor.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial

import numpy as np
import polars as pl

from foveal.errors import InputError, Problem
from foveal.files.source import Source
from foveal.formats.base import Format, Parsed, lazy_losses, never
from foveal.formats.checks import TOO_FAR, Defects, check_names
from foveal.formats.fields import MAX_OFFSET
from foveal.formats.graded_elements import (
    GRADES,
    OF_POOLS,
    UNKNOWN_GRADES,
    RowRule,
    check_elements,
    check_rules,
    mark_positive,
    mark_relevant,
)
from foveal.formats.markup import BLANKS, Markup, escape_xml, find_root, find_unfit, read_markup
from foveal.formats.objects import unknown_attributes
from foveal.model import Judgements
from foveal.model.judgements import PLACE_COLUMNS
from foveal.model.run import ALL
from foveal.spans import Ints

__all__ = ["FOLDER_FORMATS", "FORMATS", "WITHOUT_GRADES", "parse_judgements", "read_judgements"]

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
"""All attributes that are read."""
_WHITESPACE = ("keep", "merge", "strip")
"""Rules for white space; a file without one keeps it."""
_SIZES = ("size", "rsize")


# -- reading ---------------------------------------------------------------------------------------


def _parse_number(name: str) -> pl.Expr:
    """Return a size as a number; it may have thousands separators."""
    return pl.col(name).str.replace_all(",", "", literal=True).cast(pl.Int64, strict=False)


def _size_rules(name: str) -> tuple[RowRule, ...]:
    whole = pl.col(name).str.contains(r"^-?(?:[0-9]{1,3}(?:,[0-9]{3})+|[0-9]+)$")
    digits = pl.col(name).str.replace_all(",", "", literal=True)
    far = digits.cast(pl.Float64, strict=False).abs() > MAX_OFFSET
    return (
        RowRule("element.size", ~whole, f"{name} {{!r}} is not a whole number", (name,)),
        RowRule("element.size", whole & far, f"{name} {{}} {TOO_FAR}", (name,)),
    )


_SIZE_RULES = tuple(rule for name in _SIZES for rule in _size_rules(name))
_BEP, _MISSING = pl.col("bep"), "is missing; expected an XPath"
_PLACE_RULES = (
    RowRule("passage.path", pl.col("start").is_null() & ~_BEP, f"a start {_MISSING}"),
    RowRule("passage.path", pl.col("end").is_null() & ~_BEP, f"an end {_MISSING}"),
    RowRule("passage.path", pl.col("start").is_null() & _BEP, f"a path {_MISSING}"),
    *(
        RowRule(
            "passage.path",
            ~pl.col(name).str.contains(rf"^/[^{BLANKS}]+$"),
            "{!r} is not an XPath",
            (name,),
        )
        for name in ("start", "end")
    ),
    *_size_rules("size"),
)


def read_judgements(source: Source) -> Judgements:
    """Read the assessments of one pool; the pool is the assessor."""
    judgements: Judgements = parse_judgements(source).checked()
    return judgements


def parse_judgements(source: Source) -> Parsed:
    """Return the judgements of files without a problem, and the problems of the others."""
    try:
        markup = read_markup(source)
    except InputError as error:
        return Parsed(None, [*error.problems])
    topic, pool, version, rule = (
        markup.values(np.array([0]), name)[0]
        for name in ("topic", "pool", "version", "whitespace-text-node")
    )
    root = Defects(source, markup.line[:1])
    if not topic:
        message = 'topic is missing; expected <assessments topic="">'
        return Parsed(None, [*root.at("topic.missing", np.array([0]), message)])
    files = markup.named("file")
    if not len(files):
        message = "the judgements are empty: no document is judged"
        return Parsed(None, [Problem("judgements.empty", source.path, None, message)])
    of_files = Defects(source, markup.line[files])
    doc = pl.Series(markup.values(files, "name", "file"), dtype=pl.String).fill_null("")
    problems = check_names(of_files, pl.Series([topic] * len(files), dtype=pl.String))
    problems += of_files.at("doc.missing", (doc == "").to_numpy(), "file without a name")
    if (rule or _WHITESPACE[0]) not in _WHITESPACE:
        message = f"whitespace-text-node {rule!r} is not known; expected {' or '.join(_WHITESPACE)}"
        problems += root.at("judgements.header", np.array([0]), message)

    # Elements, passages and best entry points belong to the file around them.
    def find_children(*tags: str) -> tuple[Ints, Ints]:
        number = markup.named(*tags)
        row = markup.owner(files, number)
        return number[row >= 0], row[row >= 0]

    number, row = find_children("element", "path")
    columns = {name: _texts(markup, number, *names) for name, names in _NAMES.items()}
    frame = pl.DataFrame(columns, schema=dict.fromkeys(_NAMES, pl.String))
    of_elements = Defects(source, markup.line[number])
    wrong = check_rules(of_elements, frame, _SIZE_RULES)
    frame = frame.with_columns(map(_parse_number, _SIZES)).hstack(
        [pl.Series("row", row, pl.Int64), pl.Series("line", of_elements.line, pl.Int64)]
    )
    elements, scale, known, more = check_elements(frame, of_elements)
    problems += wrong or more
    passages, points = find_children("passage"), find_children("best-entry-point")
    places, more = _read_places(markup, *passages, *points)
    problems += more
    relevant = mark_relevant(elements, len(files), scale)
    # A document is not judged if the grades of all its elements are unknown.
    judged = np.ones(len(files), dtype=bool)
    judged[row] = False
    judged[row[known]] = True
    if places is not None:
        relevant[places["row"].to_numpy()[~places["bep"].to_numpy()]] = True
    header = {} if scale is None else {"scale": scale}
    header["whitespace"] = rule if rule in _WHITESPACE else _WHITESPACE[0]
    collections = pl.Series(markup.values(files, "collection"), dtype=pl.String)
    if collections.n_unique() == 1 and collections[0]:
        header["collection"] = collections[0]
    header |= {"version": version} if version else {}
    read = np.concatenate([[0], files, *(find_children(tag)[0] for tag in _READ)]).tolist()
    unread = {
        UNKNOWN_GRADES: len(frame) - len(elements),
        "names of collections, which are not the same in all files": (
            collections.count() if collections.n_unique() > 1 else 0
        ),
        "statements of topics": len(markup.named("inex-topic")),
        **unknown_attributes(
            [markup.attributes[i] for i in read if i in markup.attributes], _ATTRIBUTES
        ),
    }
    none = np.zeros(0, dtype=np.int64)
    judgements = Judgements.from_rows(
        pl.DataFrame(
            {
                "topic": [topic] * len(files),
                "doc": doc,
                "line": of_files.line,
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
        header=header,
        unread={what: n for what, n in unread.items() if n} or None,
    )
    try:
        judgements.check_distinct()
    except InputError as error:
        problems += error.problems
    if problems:
        bad = [problem.line or 0 for problem in problems]
        judged &= ~np.isin(of_files.line, bad) & (topic != ALL)
        children, row = find_children(*_READ)
        judged[row[np.isin(markup.line[children], bad)]] = False
        if not judged.any():
            return Parsed(None, problems)
    return Parsed(judgements if judged.all() else judgements.only(judged), problems)


def _texts(markup: Markup, numbers: Ints, *names: str) -> list[str | None]:
    """Return the values of an attribute without the blanks around them."""
    values = markup.values(numbers, *names)
    return [None if value is None else value.strip(BLANKS) for value in values]


def _read_places(
    markup: Markup, passages: Ints, passage_row: Ints, points: Ints, point_row: Ints
) -> tuple[pl.DataFrame | None, list[Problem]]:
    """Return passages and best entry points in the order of the rows, passages first."""
    number, row = np.concatenate([passages, points]), np.concatenate([passage_row, point_row])
    if not len(number):
        return None, []
    start, end, size = (_texts(markup, passages, name) for name in ("start", "end", "size"))
    entry, none = _texts(markup, points, "path", "start"), [None] * len(points)
    frame = pl.DataFrame(
        {"row": row, "start": start + entry, "end": end + none}
        | {"bep": np.arange(len(row)) >= len(passages)}
        | {"line": markup.line[number], "size": size + none},
        schema={**PLACE_COLUMNS, "size": pl.String},
    )
    problems = check_rules(Defects(markup.source, markup.line[number]), frame, _PLACE_RULES)
    again = np.flatnonzero(point_row[1:] == point_row[:-1]) + 1
    problems += Defects(markup.source, markup.line[points]).at(
        "judgements.bep", again, "a second best entry point in one file"
    )
    places = frame.with_columns(_parse_number("size"))[np.argsort(row, kind="stable")]
    return (places if places["size"].count() else places.drop("size")), problems


# -- writing ---------------------------------------------------------------------------------------

_COLUMNS = ("exhaustivity", "specificity", "relevance", "coverage", *_SIZES)
_WRITTEN = {
    "2002": {"relevance": "relevance", "coverage": "coverage"},
    "2003": {"exhaustiveness": "exhaustivity", "specificity": "specificity"},
    "2005": {"exhaustivity": "exhaustivity", "size": "size", "rsize": "rsize"},
    "2006": {"size": "size", "rsize": "rsize"},
}
"""Scale to the attributes of an element, and the columns they hold."""
WITHOUT_GRADES = ("2005", "2006")
"""A scale, and another that is the same without grades."""
_BY_GRADES = ("2002", "2003")
"""Scales of files without passages and sizes."""
_UNSAFE = re.compile(r'[/\\:*?"<>|%\x00-\x1f\x7f]|^\.')
_UNHELD = "this format cannot hold it, JSON Lines can"


def _write_pools(judgements: Judgements, scale: str) -> dict[str, str]:
    """Return the files of a folder by name; refuse judgements that the format cannot hold."""
    elements = _check_writable(judgements, scale)

    def write_optional(name: str) -> pl.Expr:
        """Return an attribute, or nothing where the column is null."""
        return pl.format(f' {name}="{{}}"', escape_xml(pl.col(name).cast(pl.String))).fill_null("")

    columns = {"path": "xpath", **_WRITTEN[scale]}
    tag = "path" if scale in _BY_GRADES else "element"
    attributes = " ".join(f'{name}="{{}}"' for name in columns)
    values = (escape_xml(pl.col(column).cast(pl.String)) for column in columns.values())
    children = elements.select(
        "row",
        text=pl.format(
            f"    <{tag} {attributes}{{}}{{}}/>\n", *values, *map(write_optional, OF_POOLS)
        ),
    )
    if judgements.places is not None:
        start, end = escape_xml(pl.col("start")), escape_xml(pl.col("end"))
        size = write_optional("size") if "size" in judgements.places else pl.lit("")
        places = judgements.places.select(
            "row",
            text=pl.when("bep")
            .then(pl.format('    <best-entry-point path="{}"/>\n', start))
            .otherwise(pl.format('    <passage start="{}" end="{}"{}/>\n', start, end, size)),
        )
        children = pl.concat([places, children])
    inside = dict(children.group_by("row").agg(pl.col("text").str.join("")).iter_rows())

    def write_header(name: str, attribute: str) -> str:
        value = (judgements.header or {}).get(name)
        return f' {attribute}="{escape_xml(value)}"' if isinstance(value, str) else ""

    version, collection = (write_header(name, name) for name in ("version", "collection"))
    graded = scale in _BY_GRADES
    blanks = "" if graded else write_header("whitespace", "whitespace-text-node")
    files: dict[str, list[str]] = {}
    assessors = [None] * len(judgements) if judgements.assessor is None else judgements.assessor
    for row, assessor in enumerate(assessors):
        topic = judgements.topics[judgements.topic[row]]
        pool = "" if assessor is None else f' pool="{escape_xml(assessor)}"'
        opening = f'<assessments{pool} topic="{escape_xml(topic)}"{version}{blanks}>\n'
        # A name must be one file in one folder, and another for every topic and assessor.
        name = _UNSAFE.sub(_escape_sign, topic)
        if assessor is not None:
            name = f"{name.replace('-', '%2D')}-{_UNSAFE.sub(_escape_sign, assessor)}"
        doc = escape_xml(str(judgements.doc[row]))
        opened = f'  <file{collection} {"file" if graded else "name"}="{doc}"'
        text = f"{opened}>\n{inside[row]}  </file>\n" if row in inside else f"{opened}/>\n"
        files.setdefault(name, [f'<?xml version="1.0" encoding="UTF-8"?>\n{opening}']).append(text)
    return {f"{name}.xml": f"{''.join(parts)}</assessments>\n" for name, parts in files.items()}


def _escape_sign(found: re.Match[str]) -> str:
    return f"%{ord(found[0]):02X}"


def _check_writable(judgements: Judgements, scale: str) -> pl.DataFrame:
    """Return the elements with all columns, if the format can hold the judgements."""

    def refuse(code: str, rows: pl.Series, message: str) -> None:
        if len(rows):
            rows = rows.unique().sort()
            raise InputError(judgements.problem(code, row, message) for row in rows)

    schema: dict[str, type[pl.DataType]] = {
        **dict.fromkeys(("xpath", *_COLUMNS, *OF_POOLS), pl.String),
        **dict.fromkeys(("row", *_SIZES), pl.Int64),
    }
    given = pl.DataFrame(schema=schema) if judgements.elements is None else judgements.elements
    elements = given.select(
        pl.col(name) if name in given.columns else pl.lit(None, dtype=kind).alias(name)
        for name, kind in schema.items()
    )
    header, places = judgements.header or {}, judgements.places
    declared = header.get("scale", scale)
    if (declared, scale) == WITHOUT_GRADES:
        elements = elements.with_columns(exhaustivity=pl.lit(None, dtype=pl.String))
        declared = scale
    if len(elements) and declared != scale:
        message = (
            f"the elements are graded on the scale of {declared}; this format is that of {scale}"
        )
        raise InputError.at("write.scale", judgements.sources[0].path, None, message)
    found = elements.filter(mark_positive(elements, scale))["row"].to_list()
    if places is not None:
        if scale in _BY_GRADES and len(places):
            message = f"a passage or entry point: {_UNHELD}"
            raise InputError(
                judgements.problem("write.unheld", row, message, line=line)
                for row, line in places.select("row", "line").rows()
            )
        found += places.filter(~pl.col("bep"))["row"].to_list()
    lacking = pl.Series(np.setdiff1d(np.flatnonzero(judgements.relevant), found))
    message = "relevant, but without assessed elements; a collection is needed to derive them"
    refuse("write.no_elements", lacking, message)
    for name in _COLUMNS:
        column = elements[name]
        if name not in _WRITTEN[scale].values():
            rows = elements["row"].filter(column.is_not_null())
            refuse("write.unheld", rows, f"{name} of elements: {_UNHELD}")
            continue
        bad = column.is_null()
        if name in GRADES[scale]:
            bad |= ~column.str.contains(f"^{GRADES[scale][name]}$")
        message = f"elements without {name} on the scale of {scale}, as needed"
        refuse("write.scale", elements["row"].filter(bad), message)
    said = [value for name in ("collection", "version") if (value := header.get(name))]
    texts = [pl.Series(judgements.topics), judgements.doc, elements["xpath"]]
    texts += [elements[name].drop_nulls() for name in OF_POOLS]
    texts.append(pl.Series([value for value in said if isinstance(value, str)], dtype=pl.String))
    if judgements.assessor is not None:
        texts.append(judgements.assessor.drop_nulls())
    if places is not None:
        texts += [places["start"], places["end"].drop_nulls()]
    for text in (find_unfit(column) for column in texts):
        if text is not None:
            message = f"{text!r} cannot be written in XML; JSON Lines can hold it"
            raise InputError.at("write.unfit", judgements.sources[0].path, None, message)
    twice = elements.filter(~pl.struct("row", "xpath").is_first_distinct())["row"]
    message = "an element comes twice; write each assessor's own elements"
    refuse("element.repeated", twice, message)
    return elements


FOLDER_FORMATS: dict[str, Callable[[Judgements], dict[str, str]]] = {
    f"inex{scale}": partial(_write_pools, scale=scale) for scale in _WRITTEN
}
"""The writers of formats of many files, by name; each returns the files by name."""


# -- formats ---------------------------------------------------------------------------------------

_EXPLANATION = """INEX XML assessments, 2002 to 2007: graded elements, passages and entry points.

A file is the pool of one assessor and one topic: `<assessments pool="..." topic="...">`. Each
`<file name="...">` is a judged document. It holds `<element path="..." .../>` with the grades of
its year, `<passage start="..." end="..."/>` and at most one `<best-entry-point path="..."/>`. A
file without any of them is not relevant. Grades are `relevance` and `coverage` in 2002,
`exhaustiveness` and `specificity` in 2003 and 2004, `exhaustivity`, `size` and `rsize` in 2005, and
sizes alone in 2006 and 2007."""
_EXAMPLE = """<assessments pool="297" topic="203">
<file name="co/2000/r7108">
<element path="/article[1]" exhaustivity="2" size="35760" rsize="812"/>
</file>
<file name="co/1999/r1010"/>
</assessments>
"""


def _declare_folder(scale: str) -> Format:
    return Format(
        f"inex{scale}",
        "judgements",
        f"INEX XML assessments on the scale of {scale}, a file for each pool.",
        "",
        never,  # recognised as the format inex, whatever the scale
        parse_judgements,
        FOLDER_FORMATS[f"inex{scale}"],
        lazy_losses("judgement_losses", form=f"inex{scale}"),
        is_folder=True,
    )


FORMATS = (
    Format(
        "inex",
        "judgements",
        _EXPLANATION,
        _EXAMPLE,
        lambda source: find_root(source) == "assessments",
        parse_judgements,
    ),
    *map(_declare_folder, _WRITTEN),
)
