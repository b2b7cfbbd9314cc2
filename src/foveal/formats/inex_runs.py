"""INEX XML submissions, 2002 to 2006: ranked elements and passages named by XPaths."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from foveal.errors import InputError, Problem
from foveal.files.source import Source
from foveal.formats.base import Format, Parsed, lazy_losses
from foveal.formats.checks import Defects, check_names, check_ranks, check_scores
from foveal.formats.markup import (
    BLANKS,
    Markup,
    escape_xml,
    escape_xml_lines,
    find_root,
    find_unfit,
    read_markup,
)
from foveal.formats.ranking import ranked
from foveal.formats.xpaths import canonical_paths, is_root
from foveal.model import UNKNOWN, Run
from foveal.model.run import ALL
from foveal.spans import Ints

__all__ = ["FORMATS", "parse_run", "read_run", "write_run"]

_ROOT = "inex-submission"
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_PATH = rf"^/[^{BLANKS}]+$"
_PASSAGE = rf"^/[^{BLANKS}]+ /[^{BLANKS}]+$"
_PLACE = rf"^/[^{BLANKS}]+( /[^{BLANKS}]+)?$"
_LARGEST = 2**53
"""Up to here every whole number is exact as a float."""


class Submission(NamedTuple):
    """The header of a submission, its results as texts with their lines, and problems of others.

    The columns of the frame are topic, doc, path, passage (two paths), rank and score.
    """

    header: dict[str, Any]
    frame: pl.DataFrame
    line: Ints
    problems: list[Problem]


def read_run(source: Source) -> Run:
    """Read a submission, ordered by rank, else by descending rsv, else as in the file."""
    run: Run = parse_run(source).checked()
    return run


def parse_run(source: Source) -> Parsed:
    """Return the run of the good results of a submission, and the problems of the others."""
    try:
        header, texts, line, problems = read_regular(source) or read_any(source)
    except InputError as error:
        return Parsed(None, [*error.problems])
    declared = {name: header.get(name) or None for name in ("run-id", "task")}
    for name, value in declared.items():
        if value and _CONTROL.search(value):
            message = f"{name} {value!r} holds control characters; expected text"
            problems.append(Problem("run.header", source.path, None, message))
    stripped = texts.select(pl.col("topic"), pl.exclude("topic").str.strip_chars(BLANKS))
    texts = stripped.select(pl.when(pl.all() != "").then(pl.all()))
    number = pl.col("rank", "score").cast(pl.Float64, strict=False)
    frame = texts.with_columns(number)
    whole = (pl.col("rank") == pl.col("rank").round()) & (pl.col("rank").abs() < _LARGEST)
    frame = frame.with_columns(rank=pl.when(whole).then("rank").cast(pl.Int64))
    # Results may share a line: problems have the number of the row until the end.
    defects, found = Defects(source, np.arange(len(frame))), list[Problem]()
    good = np.ones(len(frame), dtype=bool)
    if frame.null_count().rows() != texts.null_count().rows() or frame.select(_IS_ODD.any()).item():
        found = _find_problems(defects, texts, frame)
        good = (texts["topic"] != ALL).fill_null(value=True).to_numpy().copy()
        good[[problem.line or 0 for problem in found]] = False
    order = next((name for name in ("rank", "score") if frame[name].count()), None)
    if order is not None and frame[order].null_count():
        missing = frame[order].is_null().to_numpy() & good
        message = f"{order} is missing here, but other results have one"
        found += defects.at(f"run.{order}_missing", missing, message)
        good &= ~missing
    problems += [problem._replace(line=int(line[problem.line or 0])) for problem in found]
    if problems:
        frame, line = frame.filter(good), line[good]
        if not len(frame):
            return Parsed(None, problems)
    xpath = canonical_paths(frame.select(pl.coalesce("path", "passage")).to_series())
    frame = frame.select("topic", "doc", "rank", "score").with_columns(
        xpath=xpath,
        start=pl.Series(np.where(is_root(xpath), 0, UNKNOWN)),
        end=pl.lit(UNKNOWN, dtype=pl.Int64),
    )
    name, task = declared["run-id"] or source.stem, declared["task"]
    run = ranked(frame, line, Defects(source, line), name=name, task=task)
    more = {about: value for about, value in header.items() if about not in declared}
    return Parsed(replace(run, header=more or None), problems)


_IS_ODD = pl.any_horizontal(
    pl.col("topic") == ALL,
    pl.col("doc").is_null(),
    pl.col("path").is_null() == pl.col("passage").is_null(),
    ~pl.col("path").str.contains(_PATH),
    ~pl.col("passage").str.contains(_PASSAGE),
    pl.col("rank") < 0,
    ~pl.col("score").is_finite(),
)
"""Results in which `_find_problems` finds one, unless a number cannot be read."""


def _find_problems(defects: Defects, texts: pl.DataFrame, frame: pl.DataFrame) -> list[Problem]:
    """Find results without a document or exactly one possible place, and impossible numbers.

    `frame` has the ranks and scores of `texts` as numbers.
    """
    path, passage = frame["path"], frame["passage"]
    no_path, no_passage = path.is_null().to_numpy(), passage.is_null().to_numpy()
    no_doc = frame["doc"].is_null().to_numpy()
    neither = "result without a <path> or a <passage>"
    both = "result with a <path> and a <passage>; expected one of them"
    no_xpath = "{!r} is not an XPath; expected /path[1]/of[1]/element[2]"
    no_pair = "the passage {!r} is not two XPaths; expected a start and an end"
    found = [
        *check_names(defects, texts["topic"].fill_null("")),
        *defects.at("doc.missing", no_doc, "result without a <file>"),
        *defects.at("run.place", no_path & no_passage, neither),
        *defects.at("run.place", ~no_path & ~no_passage, both),
        *defects.at("run.xpath", _unlike(path, _PATH), no_xpath, path),
        *defects.at("run.xpath", _unlike(passage, _PASSAGE), no_pair, passage),
    ]
    for name, tag, kind in (("rank", "rank", "a whole number"), ("score", "rsv", "a number")):
        bad = (frame[name].is_null() & texts[name].is_not_null()).to_numpy()
        found += defects.at(f"run.{name}", bad, f"{tag} {{!r}} is not {kind}", texts[name])
    found += check_ranks(defects, frame["rank"])
    return found + check_scores(defects, frame["score"].fill_null(0.0).to_numpy())


def _unlike(column: pl.Series, pattern: str) -> npt.NDArray[np.bool_]:
    unlike: npt.NDArray[np.bool_] = ~column.str.contains(pattern).fill_null(value=True).to_numpy()
    return unlike


# -- any submission --------------------------------------------------------------------------------


def read_any(source: Source) -> Submission:
    """Return the results of any submission, element by element."""
    markup = read_markup(source)
    results, topics = markup.named("result"), markup.named("topic")
    ids = markup.values(topics, "topic-id", "id")
    owner = markup.owner(topics, results)
    named = np.array([bool(name) for name in ids], dtype=bool)
    good = owner >= 0
    unnamed = 'topic without an id; expected <topic topic-id="...">'
    problems = [
        *Defects(source, markup.line[topics]).at("topic.missing", ~named, unnamed),
        *Defects(source, markup.line[results]).at(
            "topic.missing", ~good, "result outside of a topic"
        ),
    ]
    if len(topics):
        good &= named[owner]

    def place(tag: str, values: list[str | None]) -> list[str | None]:
        """Return the value of the element `tag` in each result."""
        elements = markup.named(tag)
        rows = markup.owner(results, elements)
        if np.array_equal(rows, np.arange(len(results))):  # one in every result
            return values
        column: list[str | None] = [None] * len(results)
        for element, row, value in zip(elements.tolist(), rows.tolist(), values, strict=True):
            if row < 0 or value is None:
                continue
            if column[row] is not None:
                good[row] = False
                line, message = int(markup.line[element]), f"a second <{tag}> in one result"
                problems.append(Problem("run.repeated_field", source.path, line, message))
            column[row] = value
        return column

    columns = {"topic": [ids[i] for i in owner.tolist()] if len(topics) else [None] * len(results)}
    for column, tag, names in (
        ("doc", "file", ("file", "name")),
        ("doc", "in", ("file", "name")),
        ("path", "path", ("path", "name")),
        ("rank", "rank", ()),
        ("score", "rsv", ()),
    ):
        elements = markup.named(tag)
        values: list[str | None] = [None] * len(elements)
        if tag != "in":
            values = [text if text.strip(BLANKS) else None for text in markup.texts(elements)]
        if names and None in values:
            # Older files give names as attributes: <in file="..."/>.
            other = markup.values(elements, *names)
            values = [a if b is None else b for a, b in zip(other, values, strict=True)]
        own = place(tag, values)
        pairs = zip(columns.get(column, own), own, strict=True)
        columns[column] = [before or value for before, value in pairs]
    passages = markup.named("passage")
    ends = (markup.values(passages, name) for name in ("start", "end"))
    columns["passage"] = place(
        "passage", [f"{start or ''} {end or ''}" for start, end in zip(*ends, strict=True)]
    )
    frame = pl.DataFrame(columns, schema=dict.fromkeys(_COLUMNS, pl.String))
    return Submission(
        _read_header(markup), frame.filter(good), markup.line[results][good], problems
    )


_COLUMNS = ("topic", "doc", "path", "passage", "rank", "score")


def _read_header(markup: Markup) -> dict[str, Any]:
    """Return the attributes of the root, and its children that are not topics."""
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
    return header


# -- regular submissions ---------------------------------------------------------------------------

# Nearly all programs write results in one way. One pattern that covers the topics to the last
# character reads them in a third of the time that the parser takes for every element.
_CONTROLS = r"\x00-\x08\x0b-\x1f\x{fffe}\x{ffff}"
_TEXT, _VALUE, _GAP = rf"([^<>&{_CONTROLS}]*)", rf"([^\"<&\t\n{_CONTROLS}]*)", r"(?:[ \t\n]|\r\n)*"
_TOPICS = rf"(?:</topic>{_GAP}<topic topic-id=\"([^\"<&\t\n{_CONTROLS}]+)\">{_GAP})*"
_RESULT = (
    rf"^{_GAP}<file>{_TEXT}</file>{_GAP}"
    rf"(?:<path>{_TEXT}</path>|<passage start=\"{_VALUE}\" end=\"{_VALUE}\" ?/>){_GAP}"
    rf"(?:<rank>{_TEXT}</rank>{_GAP})?(?:<rsv>{_TEXT}</rsv>{_GAP})?</result>{_GAP}{_TOPICS}$"
)
_FIELDS = ("doc", "path", "start", "end", "rank", "score", "next")
_END = f"</{_ROOT}>"
_CLOSING = re.compile(rf"</topic>{_GAP}{_END}{_GAP}")
_OTHER_ENCODING = re.compile(rb"\s*<\?xml[^>]*\bencoding=[\"'](?!utf-?8[\"'])", re.IGNORECASE)


def read_regular(source: Source) -> Submission | None:
    """Return the results of a regular submission; None if it is not one."""
    data = source.data
    if _OTHER_ENCODING.match(data) or data.count(b"\r") != data.count(b"\r\n"):
        return None
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return None
    first, last = text.find("<topic "), text.rfind("</topic>")
    if first < 0 or "<!ATTLIST" in text[:first] or not _CLOSING.fullmatch(text, max(last, 0)):
        return None
    try:
        head = read_markup(replace(source, data=(text[:first] + _END).encode()))
    except InputError:  # or an element other than the root is open
        return None
    if len(head.named("topic", "result")):
        return None
    parts = pl.Series(["</topic>" + text[first:last]]).str.split("<result>").explode()
    opening = parts[:1].str.extract_groups(f"^{_TOPICS}$").struct.unnest().to_series()
    found = parts[1:].str.extract_groups(_RESULT).struct.unnest()
    if not len(found) or opening.null_count() or found[:, 0].null_count():
        return None
    frame = found.rename(dict(zip(found.columns, _FIELDS, strict=True)))
    topic = pl.concat([opening, frame["next"].rename(opening.name)]).fill_null(strategy="forward")
    lines = parts.str.count_matches("\n", literal=True).cum_sum().to_numpy()[:-1]
    frame = frame.with_columns(topic=topic[:-1], passage=pl.format("{} {}", "start", "end")).select(
        _COLUMNS
    )
    before = text.count("\n", 0, first) + 1
    return Submission(_read_header(head), frame, lines.astype(np.int64) + before, [])


# -- writing ---------------------------------------------------------------------------------------


def write_run(run: Run) -> str:
    """Write the run as a submission; every result must have an XPath, or two for a passage."""
    xpath = pl.Series([None] * len(run), dtype=pl.String) if run.xpath is None else run.xpath
    _check_writable(run, xpath)
    frame = run.to_frame().with_columns(xpath=xpath)
    pair = pl.col("xpath").str.splitn(" ", 2)
    start, end = (escape_xml(pair.struct.field(name)) for name in ("field_0", "field_1"))
    place = pl.coalesce(
        pl.format('<passage start="{}" end="{}"/>', start, end),
        pl.format("<path>{}</path>", start),
    )
    rsv = pl.lit("") if run.score is None else pl.format("<rsv>{}</rsv>", pl.col("score"))
    lines = frame.select(
        pl.format(
            "    <result><file>{}</file>{}<rank>{}</rank>{}</result>\n",
            escape_xml(pl.col("doc")),
            place,
            "rank",
            rsv,
        )
    ).to_series()
    kind = "passage" if xpath.str.contains(" ", literal=True).any() else "element"
    parts = [*_write_header(run, kind)]
    for i, topic in enumerate(run.topics):
        own = lines[int(run.bounds[i]) : int(run.bounds[i + 1])]
        parts += [f'  <topic topic-id="{escape_xml(topic)}">\n', *own, "  </topic>\n"]
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{"".join(parts)}{_END}\n'


def _write_header(run: Run, kind: str) -> Iterator[str]:
    """Yield the root with its attributes, and the children before the topics.

    Values of the header that was read take precedence over those of the run.
    """

    def write_attributes(values: Mapping[str, str | None]) -> str:
        given = ((name, value) for name, value in values.items() if value is not None)
        return "".join(f' {name}="{escape_xml(value)}"' for name, value in given)

    header = run.header or {}
    attributes = {"run-id": run.name, "task": run.task, "result-type": kind}
    attributes |= {name: value for name, value in header.items() if isinstance(value, str)}
    about = attributes.pop("description", None)
    yield f"<{_ROOT}{write_attributes(attributes)}>\n"
    fields, names = header.get("topic-fields"), header.get("collections")
    if isinstance(fields, Mapping):
        yield f"  <topic-fields{write_attributes(fields)}/>\n"
    if about is not None:
        yield f"  <description>{escape_xml_lines(about)}</description>\n"
    if isinstance(names, list):
        inside = "".join(f"<collection>{escape_xml_lines(name)}</collection>" for name in names)
        yield f"  <collections>{inside}</collections>\n"


def _check_writable(run: Run, xpath: pl.Series) -> None:
    absent = np.flatnonzero(xpath.is_null().to_numpy())
    if len(absent):
        raise InputError.at(
            "write.no_xpath",
            run.source.path,
            int(run.line[absent[0]]),
            "result without an XPath; INEX XML names elements, which a collection can tell (-C)",
        )
    said = (str(value).strip(BLANKS) for value in (run.task, *(run.header or {}).values()) if value)
    names = [run.name, *run.topics, *filter(None, said)]
    for column in (pl.Series(names), run.doc, xpath):
        bad = find_unfit(column)
        if bad is None and column is xpath:
            bad = next(iter(xpath.filter(pl.Series(_unlike(xpath, _PLACE)))), None)
        if bad is not None:
            message = f"{bad!r} cannot be written in XML; JSON Lines can hold it"
            raise InputError.at("write.unfit", run.source.path, None, message)


_EXPLANATION = f"""INEX XML submissions, 2002 to 2006: ranked elements and passages.

The root is `<{_ROOT}>`, whose attributes give the name of the run (`run-id`) and its task. Each
`<topic topic-id="...">` holds `<result>` elements with the document (`<file>`), an XPath (`<path>`)
or two (`<passage start="..." end="..."/>`), the `<rank>` and the score (`<rsv>`). Ranks give the
order, else scores, else the file."""
_EXAMPLE = """<inex-submission run-id="ours" task="Focused">
<topic topic-id="289">
<result><file>9996</file><path>/article[1]/sec[2]/p[1]</path><rank>1</rank></result>
<result><file>9997</file><path>/article[1]/sec[1]</path><rank>2</rank></result>
</topic>
</inex-submission>
"""
FORMATS = (
    Format(
        "inex",
        "run",
        _EXPLANATION,
        _EXAMPLE,
        lambda source: find_root(source) == _ROOT,
        parse_run,
        write_run,
        lazy_losses("run_losses", keeps="results offsets xpaths task header name"),
    ),
)
