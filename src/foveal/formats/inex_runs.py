"""INEX XML submissions, 2002 to 2006: ranked elements and passages named by XPaths."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import polars as pl

from foveal.errors import InputError, Problem
from foveal.files.source import Source
from foveal.formats import Format, Parsed, lazy_losses
from foveal.formats import markup as xml
from foveal.formats.columns import RESULT_COLUMNS, parse_results
from foveal.formats.rows import RowRule, RowTable, check_rules, range_rule
from foveal.model import Run

_ROOT = "inex-submission"
_SCORE = pl.col("rsv").cast(pl.Float64, strict=False)
_PASSAGE = rf"^/[^{xml.BLANKS}]+ /[^{xml.BLANKS}]+$"
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
_RULES = (
    RowRule(
        "run.place",
        pl.col("path").is_null() == pl.col("passage").is_null(),
        "result with path {path} and passage {passage}; expected one of them",
    ),
    RowRule(
        "run.xpath",
        ~pl.col("path").str.contains(xml.XPATH) | ~pl.col("passage").str.contains(_PASSAGE),
        "path {path}, passage {passage}; expected XPaths as /path[1]/of[1]/element[2]",
    ),
    range_rule("rank", "run.rank"),
    RowRule(
        "run.score",
        pl.col("rsv").is_not_null() & ~_SCORE.is_finite().fill_null(value=False),
        "rsv {rsv} is not a finite number",
    ),
)


# -- reading ---------------------------------------------------------------------------------------


def parse_run(source: Source) -> Parsed:
    """Parse a submission, ordered by rank, else by descending rsv, else as in the file.

    The header has the attributes of the root, and its children that are not topics.
    """
    markup = xml.read_markup(source)
    header: dict[str, Any] = dict(markup.attributes.get(0, {}))
    for number in markup.named("topic-fields").tolist():
        header["topic-fields"] = markup.attributes.get(number, {})
    about = markup.named("description")
    for text in markup.texts(about[markup.depth[about] == 1]):
        header["description"] = text.strip(xml.BLANKS)
    if names := [text.strip(xml.BLANKS) for text in markup.texts(markup.named("collection"))]:
        header["collections"] = names
    run_id, task = (header.pop(name, None) or None for name in ("run-id", "task"))
    table = _read_results(markup).check(source.path, _RULES)
    others = dict.fromkeys(("start", "end", "text", "bep", "tokens"), pl.lit(None))
    xpath = pl.coalesce("path", "passage")
    frame = table.frame.select("topic", "doc", "rank", "line", score=_SCORE, xpath=xpath, **others)
    table = table._replace(frame=frame.cast(pl.Schema(RESULT_COLUMNS)))
    run, problems = parse_results(table, source, name=run_id or source.stem, task=task)
    if run is not None:
        run = replace(run, header=header or None)
    return Parsed(run, problems)


def _read_results(markup: xml.ElementTable) -> RowTable:
    """Return the results as texts, without those that have a field twice."""
    source, problems = markup.source, list[Problem]()
    results, topics = markup.named("result"), markup.named("topic")
    names = [*markup.values(topics, "topic-id", "id"), None]  # the last is for results outside
    columns = {"topic": [names[i] or None for i in markup.owner(topics, results)]}
    columns |= {column: [None] * len(results) for column, *_ in _FIELDS}
    for column, tag, attributes in _FIELDS:
        numbers, rows = (each.tolist() for each in markup.inside(results, tag))
        texts = [""] * len(numbers) if tag in _TEXTLESS else markup.texts(numbers)
        for number, row, text in zip(numbers, rows, texts, strict=True):
            value = text.strip(xml.BLANKS)
            if attributes and not value:
                value = (markup.values([number], *attributes)[0] or "").strip(xml.BLANKS)
            if value and columns[column][row] not in (None, value):
                message, line = f"a second <{tag}> in one result", int(markup.line[results[row]])
                problems.append(Problem("run.repeated_field", source.path, line, message))
            columns[column][row] = value or columns[column][row]
    frame = pl.DataFrame(columns, schema=dict.fromkeys(columns, pl.String))
    ends = pl.concat_str(pl.col("start", "end").fill_null(""), separator=" ").str.strip_chars(" ")
    frame = frame.with_columns(
        passage=pl.when(ends != "").then(ends), line=pl.Series(markup.line[results])
    )
    return RowTable(frame).without(problems)


def find_repeated_topics(markup: xml.ElementTable) -> list[Problem]:
    """Find topics of a submission that have more than one element."""
    topics = markup.named("topic")
    names = pl.Series("name", markup.values(topics, "topic-id", "id"), dtype=pl.String)
    frame, name = names.to_frame().with_columns(line=markup.line[topics]), pl.col("name")
    text = "a second <topic> of {name}; expected one for each topic"
    is_again = ~name.str.strip_chars().is_first_distinct() & name.is_not_null()
    return check_rules(markup.source.path, frame, [RowRule("run.repeated_topic", is_again, text)])


# -- writing ---------------------------------------------------------------------------------------


def write_run(run: Run) -> str:
    """Write the run as a submission; every result must have an XPath, or two for a passage."""
    xpath = pl.Series([None] * len(run), dtype=pl.String) if run.xpath is None else run.xpath
    if xpath.null_count():
        line = int(run.line[xpath.is_null().arg_true()[0]])
        text = "result without an XPath; INEX XML names elements, which a collection can tell "
        raise InputError.at("write.no_xpath", run.source.path, line, f"{text}(--collection)")
    # Values of the header that was read take precedence over those of the run.
    is_passage = xpath.str.contains(" ", literal=True)
    kind = "passage" if is_passage.any() else "element"
    attributes = {"run-id": run.name, "task": run.task, "result-type": kind, **(run.header or {})}
    fields, about = attributes.pop("topic-fields", {}), attributes.pop("description", "")
    collections = attributes.pop("collections", ())
    given = (*attributes.values(), *fields.values(), about, *collections)
    names = pl.Series([*filter(None, given), *run.topics])
    names = names.str.strip_chars(xml.BLANKS)
    xml.refuse_unfit(run.source.path, None, names, run.doc, xpath)
    xml.refuse_unfit(run.source.path, None, xpath, fit=f"{xml.XPATH}|{_PASSAGE}")
    pair = pl.col("xpath").str.splitn(" ", 2)
    start, end = (xml.escape_xml(pair.struct.field(name)) for name in ("field_0", "field_1"))
    place = pl.coalesce(
        pl.format('<passage start="{}" end="{}"/>', start, end), pl.format("<path>{}</path>", start)
    )
    rsv = pl.lit("") if run.score is None else pl.format("<rsv>{}</rsv>", pl.col("score"))
    result = "    <result><file>{}</file>{}<rank>{}</rank>{}</result>\n"
    doc = xml.escape_xml(pl.col("doc"))
    lines = run.to_frame().select(pl.format(result, doc, place, "rank", rsv)).to_series()
    parts = [
        f'<?xml version="1.0" encoding="UTF-8"?>\n<{_ROOT}{xml.write_attributes(attributes)}>\n'
    ]
    if fields:
        parts.append(f"  <topic-fields{xml.write_attributes(fields)}/>\n")
    if about:
        parts.append(f"  <description>{xml.escape_xml_lines(about)}</description>\n")
    if collections:
        inside = (f"<collection>{xml.escape_xml_lines(own)}</collection>" for own in collections)
        parts.append(f"  <collections>{''.join(inside)}</collections>\n")
    for i, topic in enumerate(run.topics):
        own = lines[int(run.bounds[i]) : int(run.bounds[i + 1])]
        parts += [f'  <topic topic-id="{xml.escape_xml(topic)}">\n', *own, "  </topic>\n"]
    return "".join([*parts, f"</{_ROOT}>\n"])


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
        lambda source: xml.find_root(source) == _ROOT,
        parse_run,
        write_run,
        lazy_losses("run_losses", keeps="results offsets xpaths task header name"),
    ),
)
