"""Answers with citations as JSON Lines: an object per topic, a list of sentences in each."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

from foveal.errors import InputError, Note, Problem, counted
from foveal.files.source import Source
from foveal.formats import JSON_FORMATS, Format, Parsed, json_kind, lazy_losses, objects
from foveal.formats.locate import TextLocator, TextSpan, UnplacedSpanError
from foveal.formats.rows import RULES, RowRule, check_rules
from foveal.model import UNKNOWN, Run
from foveal.model.answers import CITATION_COLUMNS, Answers

_CITATION: dict[str, Any] = {
    **dict.fromkeys(("doc", "quote", "prefix", "suffix"), pl.String),
    **dict.fromkeys(("start", "end"), pl.Int64),
}
_SENTENCE: dict[str, Any] = {"text": pl.String, "citations": pl.List(pl.Struct(_CITATION))}
_ANSWER: dict[str, Any] = {
    **dict.fromkeys(("type", "topic"), pl.String),
    "answer": pl.List(pl.Struct(_SENTENCE)),
}
_MOST = 20  # citations that are not valid, in the warnings about a run
_RULES = [
    RowRule("json.header", pl.col("type") == "header", "a second header; expected one"),
    RULES["topic"],
    RowRule("topic.missing", pl.col("topic").fill_null("") == "", "topic is missing"),
    RowRule(
        "answers.answer",
        pl.col("answer").is_null(),
        "answer is missing; expected a list of sentences, [] if there is none",
    ),
    RowRule(
        "answers.repeated",
        ~pl.col("topic").is_first_distinct(),
        "a second answer to topic {topic}; expected one line for each topic",
    ),
]
_CITATION_RULES = [
    RowRule("doc.missing", pl.col("doc").fill_null("") == "", "a citation without doc"),
    RowRule(
        "span.incomplete",
        pl.col("start").is_null() != pl.col("end").is_null(),
        "a citation has start or end; expected both, or a quote, or neither",
    ),
]


def parse_answers(source: Source, *, texts: Mapping[str, str] | None = None) -> Parsed:
    """Parse answers; return a run whose results are the citations that are valid.

    With `texts`, quotes are located and ranges checked. Without them ranges are taken as they are,
    and a quote without a range is a problem.
    """
    header, header_line = objects.read_header(source, format=JSON_FORMATS["answers"])
    table = objects.tabulate_objects(source, _ANSWER, header_line).check(source.path, _RULES)
    frame, problems = table.frame, [*table.problems]
    sentences = frame.select("topic", "line", pl.col("answer")).explode("answer").drop_nulls()
    sentences = sentences.unnest("answer").with_columns(
        sentence=1 + pl.int_range(pl.len(), dtype=pl.Int64).over("topic")
    )
    rows = sentences.explode("citations", keep_nulls=True, empty_as_null=True)
    is_citation = rows["citations"].is_not_null()
    rows = rows.unnest("citations")
    problems += check_rules(source.path, rows.filter(is_citation), _CITATION_RULES)
    rows = rows.with_columns(pl.col("end") + int(header.get("end") == "inclusive"))
    unit = str(header.get("unit", "codepoint"))
    if problems:
        return Parsed(None, problems)
    return _place_citations(rows, frame["topic"], source, header, unit, texts)


def _place_citations(
    rows: pl.DataFrame,
    topics: pl.Series,
    source: Source,
    header: Mapping[str, Any],
    unit: str,
    texts: Mapping[str, str] | None,
) -> Parsed:
    """Return the run of the citations that have a place; the others keep the reason."""
    locator, problems = TextLocator(texts), list[Problem]()
    placed, sizes = list[dict[str, Any]](), list[int]()
    unchecked = 0
    for row in rows.select(name for name in CITATION_COLUMNS if name in rows).iter_rows(named=True):
        placed.append(row)
        if row["doc"] is None:
            continue
        try:
            row["start"], row["end"] = _place(row, locator, unit)
        except UnplacedSpanError as error:
            row["code"], row["problem"] = error.args
            if texts is None and row["code"] == "span.needs_text":
                problems.append(Problem(row["code"], source.path, row["line"], row["problem"]))
            continue
        unchecked += texts is None and row["quote"] is not None
        sizes.append(UNKNOWN if texts is None else len(texts[row["doc"]]))
    if problems:
        return Parsed(None, problems)
    citations = pl.DataFrame(placed, schema=CITATION_COLUMNS)
    answers = Answers(tuple(topics), citations, header.get("retrieved"))
    found = answers.list_problems(source.path)
    notes = [Note(own.code, f"line {own.line}, {own.text}") for own in found[:_MOST]]
    if found:
        rest = f", {len(found) - _MOST} of them not listed here" if found[_MOST:] else ""
        total = f"{counted(len(found), 'citation')} not valid{rest}"
        notes.insert(0, Note("run.note", f"{total} ('foveal validate' lists all)"))
    if unchecked:
        text = f"quotes not compared with the texts, which are not given (--texts): {unchecked}"
        notes.append(Note("run.unchecked", text))
    results = citations.filter(pl.col("doc").is_not_null() & pl.col("problem").is_null())
    size = pl.Series(sizes, dtype=pl.Int64)  # the end of whole documents
    results = results.with_columns(pl.col("start").fill_null(0), pl.col("end").fill_null(size))
    run = Run.from_frame(
        results.select("topic", "doc", "start", "end", "line"),
        name=str(header.get("run") or source.stem),
        source=source.provenance,
        task=header.get("task"),
        notes=tuple(notes),
    )
    held = {*run.topics}
    length = None if texts is None else size.to_numpy()
    nothing = tuple(topic for topic in answers.topics if topic not in held)
    return Parsed(replace(run, answers=answers, length=length, topics_without_results=nothing), [])


def _place(
    row: Mapping[str, Any], locator: TextLocator, unit: str
) -> tuple[int | None, int | None]:
    """Return the range of a citation, None for a whole document.

    Raises `UnplacedSpanError` with the code and the text of the problem.
    """
    doc, start, end, quote = (row[name] for name in ("doc", "start", "end", "quote"))
    text = locator.text(doc)
    if locator.texts is not None and text is None:
        message = f"document {doc!r} is not among the texts"
        raise UnplacedSpanError("span.unknown_document", message)
    if start is not None and unit != "codepoint":
        if text is None:
            message = f"offsets are declared as {unit}, which only texts can convert; "
            raise UnplacedSpanError("span.needs_text", message + objects.GIVE_TEXTS)
        units = objects.count_units(text, unit)
        at = np.searchsorted(units, (start, end))
        if not np.isin((start, end), units).all():
            message = f"[{start},{end}) in {unit} units is not a span of document {doc!r}"
            raise UnplacedSpanError("span.offset", message)
        start, end = at.tolist()
    context = {name: row[name] for name in ("prefix", "suffix")}
    try:
        if start is None and quote is not None and text is not None:
            places = locator.find(doc, quote, **context)
            if len(places) > 1:  # the text is there, wherever it was taken from
                return places[0]
        span = TextSpan(doc, start, end, quote, is_loose=True, **context)
        place = locator.place(span)
    except UnplacedSpanError as error:
        code, message = error.args
        if code in ("span.not_found", "span.quote") and text is not None:
            closest = find_closest(text, quote)
            if closest is None:
                message += "; no word of it is there"
            else:
                low, high = closest
                message += f"; closest is {text[low:high]!r} at [{low},{high})"
        raise UnplacedSpanError(code, message) from None
    if place.start is not None and place.start == place.end:
        message = f"[{place.start},{place.end}) of document {doc!r} holds no text"
        raise UnplacedSpanError("span.offset", message)
    return place.start, place.end


def find_closest(text: str, quote: str) -> tuple[int, int] | None:
    """Return the part of a text that shares most words with a quote; None if it shares none.

    Of all parts with as many words as the quote, the first best one, without words at its ends
    that the quote does not have.

    >>> find_closest("The bridge was opened in 1932, to great applause.", "it opened in 1932")
    (15, 29)
    """
    words = [(own[0].casefold(), *own.span()) for own in re.finditer(r"\w+", text)]
    wanted = Counter(re.findall(r"\w+", quote.casefold()))
    size = min(wanted.total(), len(words))
    inside, shared, best = Counter[str](), 0, (0, 0)
    for i, (word, *_) in enumerate(words):
        inside[word] += 1
        shared += inside[word] <= wanted[word]
        if i >= size:
            left = words[i - size][0]
            shared -= inside[left] <= wanted[left]
            inside[left] -= 1
        if shared > best[0]:
            best = shared, i
    if not best[0]:
        return None
    part = words[max(best[1] - size + 1, 0) : best[1] + 1]
    kept = [own for own in part if own[0] in wanted]
    return kept[0][1], kept[-1][2]


def list_documents(source: Source) -> frozenset[str]:
    """Return the documents that answers cite."""
    header_line = objects.header_of(source)[1]
    frame = objects.tabulate_objects(source, _ANSWER, header_line).frame
    sentences = frame["answer"].explode().drop_nulls().struct.field("citations")
    return frozenset(sentences.explode().drop_nulls().struct.field("doc").drop_nulls())


def write_answers(run: Run) -> str:
    """Write answers with a header; citations that were located have offsets, too."""
    if run.answers is None:
        text = "the run has no answers to write; expected a file of answers with citations"
        raise InputError.at("write.unheld", run.source.path, None, text)
    answers: dict[str, list[dict[str, Any]]] = {topic: [] for topic in run.answers.topics}
    for row in run.answers.citations.iter_rows(named=True):
        own = answers[row["topic"]]
        if row["sentence"] > len(own):
            own.append({"citations": []} if row["text"] is None else {"text": row["text"]})
        cited = own[-1].setdefault("citations", [])
        if row["doc"] is not None:
            cited.append({name: row[name] for name in _CITATION if row[name] is not None})
    about = {"run": run.name, "task": run.task, "retrieved": run.answers.retrieved}
    records = ({"topic": topic, "answer": own} for topic, own in answers.items())
    return objects.write_objects("answers", {**about, **objects.OFFSETS}, records)


FORMATS = (
    Format(
        "answers",
        "run",
        """Answers with citations: one object per topic, and optionally a header as the first line.

| Field | Meaning |
| --- | --- |
| `topic` | required; a topic has one answer |
| `answer` | required; the sentences in order, `[]` for no answer |
| `text` | the text of a sentence; it is not scored |
| `citations` | what the sentence cites; `[]` or missing if it cites nothing |
| `doc` | required; the document of a citation |
| `start`, `end` | the range that is cited; both or neither |
| `quote` | the words that are cited, with `prefix` and `suffix` if they occur more than once |
| none of these | the whole document is cited |

Header fields and their defaults: `run` (the stem of the file name),
`retrieved` (the name of the run that the answers were made from), `unit` (`codepoint`), `end`
(`exclusive`). See [Citations](citations.md). Other measures see a run of the valid citations.""",
        """\
{"type": "header", "format": "foveal-answers", "version": 1, "run": "model-a"}
{"topic": "1", "answer": [{"text": "It opened in 1932.", "citations": [\
{"doc": "tides", "start": 120, "end": 320}]}, {"text": "Nobody objected.", "citations": []}]}
{"topic": "2", "answer": []}
""",
        lambda source: json_kind(source) == "answers",
        parse_answers,
        write_answers,
        lazy_losses("run_losses", keeps="results offsets name task topics answers"),
        uses_texts=True,
    ),
)
