"""INEX XML assessments, 2002 to 2007: assessed elements, passages and best entry points.

A file holds one pool: the documents that one assessor judged for one topic. They are written as a
folder with a file for each topic and assessor.
"""

from __future__ import annotations

import re
from collections import Counter
from functools import partial

import numpy as np
import polars as pl

from foveal.errors import InputError
from foveal.files.source import Source
from foveal.formats import Format, lazy_losses, never, parse_with
from foveal.formats import graded_elements as graded
from foveal.formats import markup as xml
from foveal.formats.rows import (
    RESERVED,
    RowRule,
    check_rows,
    check_rules,
    raise_problems,
    range_rule,
)
from foveal.model import Judgements
from foveal.model.judgements import PLACE_COLUMNS
from foveal.model.run import ALL

# Columns of elements, passages and best entry points, and the attributes that hold them.
_COLUMNS: dict[str, tuple[str, ...]] = {name: (name,) for name in (*graded.ELEMENT_COLUMNS, "end")}
_COLUMNS |= {"xpath": ("path",), "start": ("start", "path")}
_COLUMNS |= {"exhaustivity": ("exhaustivity", "exhaustiveness")}

# -- reading ---------------------------------------------------------------------------------------


_PLACE_RULES = (
    RowRule(
        "passage.path",
        ~pl.col("start").str.contains(xml.XPATH).fill_null(value=False),
        "start {start} of a passage or entry point; expected an XPath",
    ),
    RowRule(
        "passage.path",
        ~pl.col("end").str.contains(xml.XPATH).fill_null(value=False) & ~pl.col("bep"),
        "end {end} of a passage; expected an XPath",
    ),
    RowRule(
        "judgements.bep",
        pl.col("bep") & ~pl.struct("row", "bep").is_first_distinct(),
        "a second best entry point in one file",
    ),
    range_rule("size", "element.size"),
)


def read_judgements(source: Source) -> Judgements:
    """Read the judgements of one assessor on one topic."""
    markup = xml.read_markup(source)
    topic, pool, version, rule = (
        markup.values([0], name)[0] for name in ("topic", "pool", "version", "whitespace-text-node")
    )
    files, rule = markup.named("file"), rule or "keep"
    line = int(markup.line[0])
    if not topic:
        text = 'topic is missing; expected <assessments topic="">'
        raise source.error("topic.missing", line, text)
    if topic == ALL:
        raise source.error("topic.reserved", line, RESERVED)
    if rule not in graded.WHITESPACE:
        text = f"whitespace-text-node {rule!r}; expected {' or '.join(graded.WHITESPACE)}"
        raise source.error("judgements.header", line, text)
    doc = pl.Series(markup.values(files, "name", "file"), dtype=pl.String).fill_null("")
    judged = pl.DataFrame({"doc": doc, "line": markup.line[files]})
    nameless = RowRule("doc.missing", pl.col("doc") == "", "file without a name")
    problems = check_rules(source.path, judged, [nameless])
    number, row = markup.inside(files, "element", "path", "passage", "best-entry-point")
    columns = {name: markup.values(number, *own) for name, own in _COLUMNS.items()}
    frame = pl.DataFrame(columns, schema=dict.fromkeys(columns, pl.String)).with_columns(
        pl.all().str.strip_chars(xml.BLANKS), row=row, line=markup.line[number]
    )
    # Sizes may have thousands separators.
    frame = frame.with_columns(pl.col(graded.SIZES).str.replace_all(",", "", literal=True))
    is_entry = np.isin(number, markup.named("best-entry-point"))
    is_place = is_entry | np.isin(number, markup.named("passage"))
    listed = frame.filter(~is_place).drop("start", "end")
    places = frame.with_columns(bep=is_entry).filter(is_place).select(*PLACE_COLUMNS, "size")
    elements, scale, known, wrong = graded.check_elements(listed, source.path)
    raise_problems([*problems, *wrong, *check_rules(source.path, places, _PLACE_RULES)])
    places = places.cast({"size": pl.Int64}).sort("row", "bep", maintain_order=True)
    relevant = graded.mark_relevant(elements, len(files), scale)
    relevant[places.filter(~pl.col("bep"))["row"].to_numpy()] = True
    places = places.drop([] if places["size"].count() else ["size"])
    collections = pl.Series(markup.values(files, "collection"), dtype=pl.String)
    collection = collections[0] if collections.n_unique() == 1 else None
    header = {"scale": scale, "whitespace": rule, "collection": collection, "version": version}
    unread = {
        graded.UNKNOWN_GRADES: int((~known).sum()),
        "different names of collections": collections.count() * (collections.n_unique() > 1),
        "statements of topics": len(markup.named("inex-topic")),
    }
    assessor = pl.lit(pool or None, dtype=pl.String)
    rows = judged.with_columns(topic=pl.lit(topic), assessor=assessor, relevant=relevant)
    none = np.zeros_like(files)
    judgements = Judgements.from_rows(
        rows,
        none,
        none[:0],
        none[:0],
        source=source.provenance,
        has_text=False,
        elements=elements if len(elements) else None,
        places=places if len(places) else None,
        header={name: value for name, value in header.items() if value},
        unread=+Counter(unread) or None,
    )
    raise_problems(judgements.find_repeated())
    # A document is not judged if all its grades are unknown.
    assessed = listed["row"].to_numpy()
    unknown = np.isin(range(len(files)), np.setdiff1d(assessed, assessed[known]))
    return judgements.only(~unknown) if unknown.any() else judgements


# -- writing ---------------------------------------------------------------------------------------

_WRITTEN = {  # scale to the attributes of an element, and the columns they hold
    "2002": {"relevance": "relevance", "coverage": "coverage"},
    "2003": {"exhaustiveness": "exhaustivity", "specificity": "specificity"},
    "2005": {"exhaustivity": "exhaustivity", "size": "size", "rsize": "rsize"},
    "2006": {"size": "size", "rsize": "rsize"},
}
WITHOUT_GRADES = ("2005", "2006")  # a scale, and another that is the same without grades
_BY_GRADES = ("2002", "2003")  # scales of files without passages and sizes
_UNSAFE = re.compile(r'[/\\:*?"<>|%\x00-\x1f\x7f]|^\.')


def _write_pools(judgements: Judgements, scale: str) -> dict[str, str]:
    """Return the files of a folder by name; refuse judgements that the format cannot hold."""
    elements, places = _check_writable(judgements, scale), judgements.places
    by_grades = scale in _BY_GRADES

    def write_tags(tag: str, names: dict[str, str]) -> pl.Expr:
        """Return empty tags with attributes of columns, without those that are null."""
        values = ((n, xml.escape_xml(pl.col(own).cast(pl.String))) for n, own in names.items())
        attributes = (pl.format(f' {n}="{{}}"', value).fill_null("") for n, value in values)
        return pl.format(f"    <{tag}{{}}/>\n", pl.concat_str(attributes))

    columns = {"path": "xpath"} | _WRITTEN[scale] | {name: name for name in graded.OF_POOLS}
    text = write_tags("path" if by_grades else "element", columns)
    children = elements.select("row", text=text)
    if places is not None:
        columns = {name: name for name in ("start", "end", "size") if name in places}
        entry = write_tags("best-entry-point", {"path": "start"})
        text = pl.when("bep").then(entry).otherwise(write_tags("passage", columns))
        children = pl.concat([places.select("row", text=text), children])
    inside = dict(children.group_by("row").agg(pl.col("text").str.join("")).iter_rows())
    header = {n: own for n, own in (judgements.header or {}).items() if isinstance(own, str)}
    whitespace = None if by_grades else header.get("whitespace")
    version = {"version": header.get("version"), "whitespace-text-node": whitespace}
    files: dict[str, list[str]] = {}
    assessors = [None] * len(judgements) if judgements.assessor is None else judgements.assessor
    for row, assessor in enumerate(assessors):
        topic = judgements.topics[judgements.topic[row]]
        # A name must be one file in one folder, and another for every topic and assessor.
        name = _escape_name(topic)
        if assessor is not None:
            name = f"{name.replace('-', '%2D')}-{_escape_name(assessor)}"
        head = xml.write_attributes({"pool": assessor, "topic": topic, **version})
        opening = f'<?xml version="1.0" encoding="UTF-8"?>\n<assessments{head}>\n'
        doc = {"file" if by_grades else "name": judgements.doc[row]}
        file = f"  <file{xml.write_attributes({'collection': header.get('collection'), **doc})}"
        file += f">\n{inside[row]}  </file>\n" if row in inside else "/>\n"
        files.setdefault(name, [opening]).append(file)
    return {f"{name}.xml": f"{''.join(parts)}</assessments>\n" for name, parts in files.items()}


def _escape_name(name: str) -> str:
    return _UNSAFE.sub(lambda found: f"%{ord(found[0]):02X}", name)


def _check_writable(judgements: Judgements, scale: str) -> pl.DataFrame:
    """Return the elements with all columns, if the format can hold the judgements."""
    elements = pl.DataFrame(schema={**graded.ELEMENT_COLUMNS, "row": pl.Int64})
    if judgements.elements is not None:
        both = pl.concat([elements, judgements.elements], how="diagonal")
        elements = both.select(elements.columns)
    header, places = judgements.header or {}, judgements.places
    places = pl.DataFrame(schema=PLACE_COLUMNS) if places is None else places
    declared, path = header.get("scale", scale), judgements.sources[0].path
    if (declared, scale) == WITHOUT_GRADES:
        elements = elements.with_columns(exhaustivity=pl.lit(None, dtype=pl.String))
        declared = scale
    if len(elements) and declared != scale:
        message = f"the elements have grades of {declared}; expected the scale of {scale}"
        raise InputError.at("write.scale", path, None, message)
    relevant = graded.mark_relevant(elements, len(judgements), scale)
    relevant[places.filter(~pl.col("bep"))["row"].to_numpy()] = True
    what = "relevant, but without assessed elements, which a collection can derive"
    check_rows(judgements, judgements.relevant & ~relevant, what)
    if scale in _BY_GRADES:
        sized = elements.filter(pl.any_horizontal(pl.col(graded.SIZES).is_not_null()))
        for rows, what in ((places, "a passage or entry point"), (sized, "the size of an element")):
            check_rows(judgements, np.isin(range(len(judgements)), rows["row"]), what)
    wrong = graded.find_wrong_elements(path, elements.with_columns(line="row"), scale)
    raise_problems(judgements.problem(each.code, each.line or 0, each.text) for each in wrong)
    values = [value for value in header.values() if value and isinstance(value, str)]
    names = pl.Series([*judgements.topics, *judgements.assessors, *values], dtype=pl.String)
    texts = [*elements.select(pl.col(pl.String)), *places.select("start", "end")]
    xml.refuse_unfit(path, None, names, judgements.doc, *texts)
    return elements


# -- formats ---------------------------------------------------------------------------------------

_EXPLANATION = """INEX XML assessments, 2002 to 2007: assessed elements, passages and entry points.

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

FORMATS = (
    Format(
        "inex",
        "judgements",
        _EXPLANATION,
        _EXAMPLE,
        lambda source: xml.find_root(source) == "assessments",
        parse_with(read_judgements),
    ),
    *(
        Format(
            f"inex{scale}",
            "judgements",
            f"INEX XML assessments on the scale of {scale}, a file for each pool.",
            "",
            never,  # recognised as the format inex, whatever the scale
            parse_with(read_judgements),
            partial(_write_pools, scale=scale),
            lazy_losses("judgement_losses", form=f"inex{scale}"),
            is_folder=True,
        )
        for scale in _WRITTEN
    ),
)
