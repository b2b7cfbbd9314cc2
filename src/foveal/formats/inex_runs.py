"""INEX XML submissions, 2002 to 2006: ranked elements and passages named by XPaths."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from foveal.errors import InputError, Problem
from foveal.formats.base import ROOTS
from foveal.formats.checks import Defects, check_names, check_ranks, check_scores, is_root
from foveal.formats.inex_regular import Results, declared, regular_results
from foveal.formats.markup import BLANKS, Markup, escaped, escaped_lines, read_markup, unfit
from foveal.formats.ranking import ranked
from foveal.formats.source import Source
from foveal.formats.xpaths import canonical_paths
from foveal.model import UNKNOWN, Run
from foveal.spans import Ints

__all__ = ["ROOT", "parsed_results", "read_run", "write_run"]

ROOT = ROOTS["run"]

_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_PATH = rf"^/[^{BLANKS}]+$"
_LARGEST = 2**53
"""Up to here every whole number is one as a float, too."""
_PLACE = rf"^/[^{BLANKS}]+( /[^{BLANKS}]+)?$"


def read_run(source: Source) -> Run:
    """A submission, ordered by rank, else by descending rsv, else as in the file."""
    header, texts, line = regular_results(source) or parsed_results(source)
    defects = Defects(source, line)
    stripped = texts.select(pl.col("topic"), pl.exclude("topic").str.strip_chars(BLANKS))
    frame = stripped.select(pl.when(pl.all() != "").then(pl.all()))
    problems = check_names(defects, texts["topic"])
    problems += _check_places(defects, frame)
    frame, unreadable = _numbers(defects, frame)
    defects.raise_if(problems + unreadable)
    xpath = canonical_paths(frame.select(pl.coalesce("path", "passage")).to_series())
    frame = frame.select("topic", "doc", "rank", "score").with_columns(
        xpath=xpath,
        start=pl.Series(np.where(is_root(xpath), 0, UNKNOWN)),
        end=pl.lit(UNKNOWN, dtype=pl.Int64),
    )
    name, task = (_declared(source, header, attribute) for attribute in ("run-id", "task"))
    run = ranked(frame, line, defects, name=name or source.stem, task=task)
    more = {about: value for about, value in header.items() if about not in ("run-id", "task")}
    return replace(run, header=more or None)


def parsed_results(source: Source) -> Results:
    """The results of any submission, element by element."""
    markup = read_markup(source)
    results = markup.named("result")
    frame = pl.DataFrame({"topic": _topics(markup, results), **_fields(markup, results)})
    columns = ("topic", "doc", "path", "passage", "rank", "score")
    return Results(declared(markup), frame.select(columns), markup.line[results])


def _declared(source: Source, header: Mapping[str, Any], attribute: str) -> str | None:
    """What the submission says of itself."""
    value: str | None = header.get(attribute)
    if value and _CONTROL.search(value):
        raise source.error(
            "unclassified", None, f"{attribute} {value!r} holds control characters; expected text"
        )
    return value or None


def _topics(markup: Markup, results: Ints) -> pl.Series:
    """The topic of each result."""
    topics = markup.named("topic")
    names = pl.Series(markup.values(topics, "topic-id", "id"), dtype=pl.String)
    above = Defects(markup.source, markup.line[topics])
    above.raise_if(
        [
            *above.at(
                "unclassified",
                (names.fill_null("") == "").to_numpy(),
                'topic without an id; expected <topic topic-id="...">',
            )
        ]
    )
    of_result = markup.owner(topics, results)
    defects = Defects(markup.source, markup.line[results])
    defects.raise_if([*defects.at("unclassified", of_result < 0, "result outside of a topic")])
    return names.gather(of_result)


def _fields(markup: Markup, results: Ints) -> dict[str, pl.Series]:
    """What each result says, null where it says nothing."""
    texts = {"file": "doc", "path": "path", "rank": "rank", "rsv": "score"}
    found = {
        column: _column(markup, results, tag, markup.texts(markup.named(tag)))
        for tag, column in texts.items()
    }
    for tag, column in (("file", "doc"), ("in", "doc"), ("path", "path")):
        given = found[column].str.strip_chars(BLANKS).fill_null("") != ""
        if not given.all():
            # Older files give names as attributes: <in file="..."/>.
            other = markup.values(markup.named(tag), "path" if tag == "path" else "file", "name")
            found[column] = found[column].zip_with(given, _column(markup, results, tag, other))
    passages = markup.named("passage")
    ends = [markup.values(passages, name) for name in ("start", "end")]
    pairs = [f"{first or ''} {last or ''}" for first, last in zip(*ends, strict=True)]
    found["passage"] = _column(markup, results, "passage", pairs)
    return found


def _column(
    markup: Markup, results: Ints, tag: str, values: list[str] | list[str | None]
) -> pl.Series:
    """The values of the elements `tag` at the results they belong to."""
    elements = markup.named(tag)
    owner = markup.owner(results, elements)
    inside = owner >= 0
    again = np.flatnonzero(inside[1:] & (owner[1:] == owner[:-1])) + 1
    again = again[[values[i] is not None for i in again.tolist()]] if len(again) else again
    defects = Defects(markup.source, markup.line[elements])
    defects.raise_if([*defects.at("unclassified", again, f"a second <{tag}> in one result")])
    column = pl.Series(values, dtype=pl.String)
    if len(elements) != len(results) or not inside.all():
        row = np.full(len(results), -1, dtype=np.int64)
        row[owner[inside]] = np.flatnonzero(inside)
        at = pl.Series(np.where(row < 0, 0, row))
        column = column.extend_constant(None, 1) if not len(column) else column
        column = column.gather(at).set(pl.Series(row < 0), None)
    return column


def _check_places(defects: Defects, frame: pl.DataFrame) -> list[Problem]:
    path, passage = frame["path"], frame["passage"]
    problems = [
        *defects.at("unclassified", frame["doc"].is_null().to_numpy(), "result without a <file>")
    ]
    neither = (path.is_null() & passage.is_null()).to_numpy()
    problems += defects.at("unclassified", neither, "result without a <path> or a <passage>")
    both = (path.is_not_null() & passage.is_not_null()).to_numpy()
    problems += defects.at(
        "unclassified", both, "result with a <path> and a <passage>; expected one of them"
    )
    problems += defects.at(
        "unclassified",
        _unlike(path, _PATH),
        "{!r} is not an XPath; expected /path[1]/of[1]/element[2]",
        path,
    )
    problems += defects.at(
        "unclassified",
        _unlike(passage, rf"^/[^{BLANKS}]+ /[^{BLANKS}]+$"),
        "the passage {!r} is not two XPaths; expected a start and an end",
        passage,
    )
    return problems


def _unlike(column: pl.Series, pattern: str) -> npt.NDArray[np.bool_]:
    unlike: npt.NDArray[np.bool_] = ~column.str.contains(pattern).fill_null(value=True).to_numpy()
    return unlike


def _numbers(defects: Defects, frame: pl.DataFrame) -> tuple[pl.DataFrame, list[Problem]]:
    """Ranks and scores as numbers, and those that are none."""
    problems: list[Problem] = []
    for name, tag in (("rank", "rank"), ("score", "rsv")):
        number = frame[name].cast(pl.Float64, strict=False)
        what = "a number"
        if name == "rank":
            whole = (number == number.round()) & (number.abs() < _LARGEST)
            number = number.set(~whole, None).cast(pl.Int64)
            what = "a whole number"
        bad = (number.is_null() & frame[name].is_not_null()).to_numpy()
        problems += defects.at("unclassified", bad, f"{tag} {{!r}} is not {what}", frame[name])
        frame = frame.with_columns(number.alias(name))
    problems += check_ranks(defects, frame["rank"])
    return frame, problems + check_scores(defects, frame["score"].fill_null(0.0).to_numpy())


def write_run(run: Run) -> str:
    """The run as a submission; every result must have an XPath, or two for a passage."""
    xpath = pl.Series([None] * len(run), dtype=pl.String) if run.xpath is None else run.xpath
    _check_writable(run, xpath)
    frame = run.to_frame().with_columns(xpath=xpath)
    pair = pl.col("xpath").str.splitn(" ", 2)
    start, end = (escaped(pair.struct.field(name)) for name in ("field_0", "field_1"))
    place = pl.coalesce(
        pl.format('<passage start="{}" end="{}"/>', start, end),
        pl.format("<path>{}</path>", start),
    )
    rsv = pl.lit("") if run.score is None else pl.format("<rsv>{}</rsv>", pl.col("score"))
    lines = frame.select(
        pl.format(
            "    <result><file>{}</file>{}<rank>{}</rank>{}</result>\n",
            escaped(pl.col("doc")),
            place,
            "rank",
            rsv,
        )
    ).to_series()
    kind = "passage" if xpath.str.contains(" ", literal=True).any() else "element"
    parts = [*_opening(run, kind)]
    for i, topic in enumerate(run.topics):
        own = lines[int(run.bounds[i]) : int(run.bounds[i + 1])]
        parts += [f'  <topic topic-id="{escaped(topic)}">\n', *own, "  </topic>\n"]
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{"".join(parts)}</{ROOT}>\n'


def _opening(run: Run, kind: str) -> Iterator[str]:
    """The root and what it says of the run; what the file said goes before what we can tell."""
    header = run.header or {}
    attributes = {"run-id": run.name, "task": run.task, "result-type": kind}
    attributes |= {name: value for name, value in header.items() if isinstance(value, str)}
    about = attributes.pop("description", None)
    yield f"<{ROOT}{_attributes(attributes)}>\n"
    fields, names = header.get("topic-fields"), header.get("collections")
    if isinstance(fields, Mapping):
        yield f"  <topic-fields{_attributes(fields)}/>\n"
    if about is not None:
        yield f"  <description>{escaped_lines(about)}</description>\n"
    if isinstance(names, list):
        inside = "".join(f"<collection>{escaped_lines(name)}</collection>" for name in names)
        yield f"  <collections>{inside}</collections>\n"


def _attributes(values: Mapping[str, str | None]) -> str:
    given = ((name, value) for name, value in values.items() if value is not None)
    return "".join(f' {name}="{escaped(value)}"' for name, value in given)


def _check_writable(run: Run, xpath: pl.Series) -> None:
    absent = np.flatnonzero(xpath.is_null().to_numpy())
    if len(absent):
        raise InputError.at(
            "unclassified",
            run.source.path,
            int(run.line[absent[0]]),
            "result without an XPath; INEX XML names elements, which a collection can tell (-C)",
        )
    said = (str(value).strip(BLANKS) for value in (run.task, *(run.header or {}).values()) if value)
    names = [run.name, *run.topics, *filter(None, said)]
    for column in (pl.Series(names), run.doc, xpath):
        bad = unfit(column)
        if bad is None and column is xpath:
            bad = next(iter(xpath.filter(pl.Series(_unlike(xpath, _PLACE)))), None)
        if bad is not None:
            raise InputError.at(
                "unclassified",
                run.source.path,
                None,
                f"{bad!r} cannot be written in XML; JSON Lines can hold it",
            )
