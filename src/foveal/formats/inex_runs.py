"""INEX XML submissions, 2002 to 2006: ranked elements and passages named by XPaths."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

from foveal.errors import InputError, Problem, Tally
from foveal.files.source import Source
from foveal.formats.base import Format, Parsed, lazy_losses
from foveal.formats.columns import RESULT_COLUMNS, parse_results
from foveal.formats.markup import (
    BLANKS,
    Markup,
    escape_xml,
    escape_xml_lines,
    find_root,
    find_unfit,
    read_markup,
    write_attributes,
)
from foveal.formats.rows import RowRule, RowTable, check_rules
from foveal.model import Run
from foveal.spans import Ints

_ROOT = "inex-submission"
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_PATH, _PASSAGE = rf"^/[^{BLANKS}]+$", rf"^/[^{BLANKS}]+ /[^{BLANKS}]+$"
_FIELDS = (  # columns, the elements that hold them, and the attributes where the text does not
    ("doc", "file", ("file", "name")),
    ("doc", "in", ("file", "name")),
    ("path", "path", ("path", "name")),
    ("rank", "rank", ()),
    ("rsv", "rsv", ()),
    ("start", "passage", ("start",)),
    ("end", "passage", ("end",)),
)
_TEXTLESS = ("in", "passage")
_RANK = pl.col("rank").cast(pl.Float64, strict=False)
_SCORE = pl.col("rsv").cast(pl.Float64, strict=False)
_LARGEST = 2**53  # up to here every whole number is exact as a float
_RULES = (
    RowRule(
        "topic.missing",
        pl.col("topic").is_null(),
        'result without a topic; expected <topic topic-id="..."> around it',
    ),
    RowRule("doc.missing", pl.col("doc").is_null(), "result without a <file>"),
    RowRule(
        "run.place",
        pl.col("path").is_null() == pl.col("passage").is_null(),
        "result with path {path} and passage {passage}; expected one of them",
    ),
    RowRule(
        "run.xpath",
        ~pl.col("path").str.contains(_PATH),
        "{path} is not an XPath; expected /path[1]/of[1]/element[2]",
    ),
    RowRule(
        "run.xpath",
        ~pl.col("passage").str.contains(_PASSAGE),
        "the passage {passage} is not two XPaths; expected a start and an end",
    ),
    RowRule(
        "run.rank",
        pl.col("rank").is_not_null()
        & ~((_RANK % 1 == 0) & (_RANK.abs() < _LARGEST)).fill_null(value=False),
        "rank {rank} is not a whole number",
    ),
    RowRule(
        "run.score",
        pl.col("rsv").is_not_null() & ~_SCORE.is_finite().fill_null(value=False),
        "rsv {rsv} is not a finite number",
    ),
)


# -- reading ---------------------------------------------------------------------------------------


def parse_run(source: Source) -> Parsed:
    """Parse a submission, ordered by rank, else by descending rsv, else as in the file."""
    try:
        markup = read_markup(source)
    except InputError as error:
        return Parsed(None, [*error.problems])
    # The header has the attributes of the root, and its children that are not topics.
    header: dict[str, Any] = dict(markup.attributes.get(0, {}))
    fields, about, collections = (
        numbers[markup.depth[numbers] == depth]
        for tag, depth in (("topic-fields", 1), ("description", 1), ("collection", 2))
        for numbers in [markup.named(tag)]
    )
    if len(fields):
        header["topic-fields"] = markup.attributes.get(int(fields[0]), {})
    if len(about):
        header["description"] = markup.texts(about)[0].strip(BLANKS)
    if len(collections):
        header["collections"] = [text.strip(BLANKS) for text in markup.texts(collections)]
    problems = list[Problem]()
    run_id, task = (header.pop(name, None) or None for name in ("run-id", "task"))
    for name, value in (("run-id", run_id), ("task", task)):
        if value and _CONTROL.search(value):
            message = f"{name} {value!r} holds control characters; expected text"
            problems.append(Problem("run.header", source.path, None, message))
    texts, line, repeated = _read_results(markup)
    # Results may share a line: problems have the numbers of results, from 1, until the end.
    table = RowTable(texts, np.arange(1, len(texts) + 1), tuple(problems)).without(repeated)
    table = table.without(check_rules(source.path, table.line, table.frame, _RULES))
    others = dict.fromkeys(("start", "end", "text", "bep", "tokens"), pl.lit(None))
    xpath = pl.coalesce("path", "passage")
    frame = table.frame.select("topic", "doc", rank=_RANK, score=_SCORE, xpath=xpath, **others)
    kinds = (pl.col(name).cast(kind) for name, kind in RESULT_COLUMNS.items())
    table = table._replace(frame=frame.select(kinds))
    run, problems = parse_results(table, source, name=run_id or source.stem, task=task)
    problems = [
        each._replace(line=int(line[each.line - 1])) if each.line else each for each in problems
    ]
    if run is None:
        return Parsed(None, problems)
    notes = [
        Tally(note.form, note.number, line[np.array(note.items) - 1].tolist()) for note in run.notes
    ]
    run = replace(run, line=line[run.line - 1], notes=tuple(notes), header=header or None)
    return Parsed(run, problems)


def _read_results(markup: Markup) -> tuple[pl.DataFrame, Ints, list[Problem]]:
    """Return the results as texts, their lines, and problems of fields that come twice."""
    source, problems = markup.source, list[Problem]()
    results, topics = markup.named("result"), markup.named("topic")
    names = [*markup.values(topics, "topic-id", "id"), None]  # the last is for results outside
    columns = {"topic": [names[i] or None for i in markup.owner(topics, results)]}
    columns |= {column: [None] * len(results) for column, *_ in _FIELDS}
    for column, tag, attributes in _FIELDS:
        numbers, rows = (each.tolist() for each in markup.inside(results, tag))
        texts = [""] * len(numbers) if tag in _TEXTLESS else markup.texts(numbers)
        for number, row, text in zip(numbers, rows, texts, strict=True):
            value = text.strip(BLANKS)
            if attributes and not value:
                value = (markup.values([number], *attributes)[0] or "").strip(BLANKS)
            if value and columns[column][row] not in (None, value):
                message = f"a second <{tag}> in one result"
                problems.append(Problem("run.repeated_field", source.path, row + 1, message))
            columns[column][row] = value or columns[column][row]
    frame = pl.DataFrame(columns, schema=dict.fromkeys(columns, pl.String))
    ends = pl.concat_str(pl.col("start", "end").fill_null(""), separator=" ").str.strip_chars(" ")
    frame = frame.with_columns(passage=pl.when(ends != "").then(ends))
    return frame, markup.line[results], problems


# -- writing ---------------------------------------------------------------------------------------


def write_run(run: Run) -> str:
    """Write the run as a submission; every result must have an XPath, or two for a passage."""
    xpath = pl.Series([None] * len(run), dtype=pl.String) if run.xpath is None else run.xpath
    header = run.header or {}
    if xpath.null_count():
        raise InputError.at(
            "write.no_xpath",
            run.source.path,
            int(run.line[xpath.is_null().arg_true()[0]]),
            "result without an XPath; INEX XML names elements, which a collection can tell "
            "(--collection)",
        )
    said = (str(value).strip(BLANKS) for value in (run.task, *header.values()) if value)
    names = pl.Series([run.name, *run.topics, *filter(None, said)])
    odd = xpath.filter(~xpath.str.contains(f"{_PATH}|{_PASSAGE}"))
    unfit = odd[0] if len(odd) else find_unfit(names, run.doc, xpath)
    if unfit is not None:
        message = f"{unfit!r} cannot be written in XML; JSON Lines can hold it"
        raise InputError.at("write.unfit", run.source.path, None, message)
    pair = pl.col("xpath").str.splitn(" ", 2)
    start, end = (escape_xml(pair.struct.field(name)) for name in ("field_0", "field_1"))
    place = pl.coalesce(
        pl.format('<passage start="{}" end="{}"/>', start, end),
        pl.format("<path>{}</path>", start),
    )
    rsv = pl.lit("") if run.score is None else pl.format("<rsv>{}</rsv>", pl.col("score"))
    result = "    <result><file>{}</file>{}<rank>{}</rank>{}</result>\n"
    doc = escape_xml(pl.col("doc"))
    lines = run.to_frame().select(pl.format(result, doc, place, "rank", rsv)).to_series()
    # Values of the header that was read take precedence over those of the run.
    kind = "passage" if xpath.str.contains(" ", literal=True).any() else "element"
    attributes = {"run-id": run.name, "task": run.task, "result-type": kind}
    attributes |= {name: value for name, value in header.items() if isinstance(value, str)}
    about = attributes.pop("description", None)
    parts = [f"<{_ROOT}{write_attributes(attributes)}>\n"]
    fields, collections = header.get("topic-fields"), header.get("collections")
    if isinstance(fields, Mapping):
        parts.append(f"  <topic-fields{write_attributes(fields)}/>\n")
    if about is not None:
        parts.append(f"  <description>{escape_xml_lines(about)}</description>\n")
    if isinstance(collections, list):
        inside = (f"<collection>{escape_xml_lines(name)}</collection>" for name in collections)
        parts.append(f"  <collections>{''.join(inside)}</collections>\n")
    for i, topic in enumerate(run.topics):
        own = lines[int(run.bounds[i]) : int(run.bounds[i + 1])]
        parts += [f'  <topic topic-id="{escape_xml(topic)}">\n', *own, "  </topic>\n"]
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{"".join(parts)}</{_ROOT}>\n'


FORMATS = (
    Format(
        "inex",
        "run",
        f"""INEX XML submissions, 2002 to 2006: ranked elements and passages.

The root is `<{_ROOT}>`, whose attributes give the name of the run (`run-id`) and its task. Each
`<topic topic-id="...">` holds `<result>` elements with the document (`<file>`), an XPath (`<path>`)
or two (`<passage start="..." end="..."/>`), the `<rank>` and the score (`<rsv>`). Ranks give the
order, else scores, else the file.""",
        """<inex-submission run-id="ours" task="Focused">
<topic topic-id="289">
<result><file>9996</file><path>/article[1]/sec[2]/p[1]</path><rank>1</rank></result>
<result><file>9997</file><path>/article[1]/sec[1]</path><rank>2</rank></result>
</topic>
</inex-submission>
""",
        lambda source: find_root(source) == _ROOT,
        parse_run,
        write_run,
        lazy_losses("run_losses", keeps="results offsets xpaths task header name"),
    ),
)
