"""Answers with citations as JSON Lines: an object per topic, a list of sentences in each."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import polars as pl

from foveal.errors import InputError, Note, Problem
from foveal.files.source import Source
from foveal.formats import JSON_FORMATS, Format, Parsed, json_kind, lazy_losses, objects
from foveal.formats.locate import TextLocator, TextSpan, UnplacedSpanError
from foveal.formats.rows import NAME_RULES, RowRule, check_rules
from foveal.model.run import CITATION_COLUMNS, UNKNOWN, Answers, Run

_CITATION: dict[str, Any] = {"doc": pl.String, "start": pl.Int64, "end": pl.Int64}
_CITATION |= dict.fromkeys(("quote", "prefix", "suffix"), pl.String)
_SENTENCE: dict[str, Any] = {"text": pl.String, "citations": pl.List(pl.Struct(_CITATION))}
_ANSWER: dict[str, Any] = {
    **dict.fromkeys(("type", "topic"), pl.String),
    "answer": pl.List(pl.Struct(_SENTENCE)),
}
_MOST = 20  # citations that are not valid, in the warnings about a run
_RULES = [
    *NAME_RULES[:2],
    RowRule("json.header", pl.col("type") == "header", "a second header; expected one"),
    RowRule(
        "answers.answer",
        pl.col("answer").is_null(),
        "answer is missing; expected a list of sentences, [] if there is none",
    ),
    RowRule(
        "answers.answer",
        pl.col("answer").list.eval(pl.element().is_null()).list.any(),
        "answer holds null; expected sentences",
    ),
    RowRule(
        "answers.repeated",
        ~pl.col("topic").is_first_distinct(),
        "a second answer to topic {topic}; expected one line for each topic",
    ),
]
_SENTENCE_RULES = [
    RowRule(
        "answers.answer",
        pl.col("citations").list.eval(pl.element().is_null()).list.any(),
        "citations holds null; expected citations, [] if there is none",
    )
]
_CITATION_RULES = [
    RowRule(
        "doc.missing", pl.col("cites") & (pl.col("doc").fill_null("") == ""), "no doc is cited"
    ),
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
    allowed = {"format": JSON_FORMATS["answers"], **objects.CODEPOINTS}
    header, header_line = objects.read_header(source, **allowed)
    table = objects.tabulate_objects(source, _ANSWER, header_line).check(source.path, _RULES)
    rows = table.frame.explode("answer").drop_nulls("answer").unnest("answer")
    rows = rows.with_columns(sentence=1 + pl.int_range(pl.len()).over("topic"))
    problems = [*table.problems, *check_rules(source.path, rows, _SENTENCE_RULES)]
    rows = rows.explode("citations", keep_nulls=True, empty_as_null=True)
    rows = rows.with_columns(cites=pl.col("citations").is_not_null()).unnest("citations")
    problems += check_rules(source.path, rows, _CITATION_RULES)
    locator, placed, sizes = TextLocator(texts), list[dict[str, Any]](), list[int]()
    for row in rows.drop("type", "cites").iter_rows(named=True):
        placed.append(row)
        if row["doc"] is None:
            continue
        try:
            row["start"], row["end"] = _place(row, locator)
            sizes.append(UNKNOWN if texts is None else len(texts[row["doc"]]))
        except UnplacedSpanError as error:
            row["code"], row["problem"] = error.args
            if texts is None and row["code"] == "span.needs_text":
                problems.append(Problem(row["code"], source.path, row["line"], row["problem"]))
    if problems:
        return Parsed(None, problems)
    answers = Answers(
        tuple(table.frame["topic"]),
        pl.DataFrame(placed, schema=CITATION_COLUMNS),
        header.get("retrieved"),
    )
    valid = answers.citations.filter(pl.col("doc").is_not_null() & pl.col("problem").is_null())
    size = pl.Series(sizes, dtype=pl.Int64)  # the end of whole documents
    valid = valid.with_columns(pl.col("start").fill_null(0), pl.col("end").fill_null(size))
    run = Run.from_frame(
        valid.select("topic", "doc", "start", "end", "line"),
        name=str(header.get("run") or source.stem),
        source=source.provenance,
        task=header.get("task"),
        notes=tuple(_list_notes(answers, 0 if texts is not None else valid["quote"].count())),
    )
    run = replace(
        run,
        answers=answers,
        length=None if texts is None else size.to_numpy(),
        topics_without_results=tuple(t for t in answers.topics if t not in {*run.topics}),
    )
    return Parsed(run, [])


def _list_notes(answers: Answers, unchecked: int) -> Iterator[Note]:
    """Yield notes on the first citations that are not valid, and on quotes not compared."""
    found = answers.list_problems("")
    yield from (Note(own.code, f"line {own.line}, {own.text}") for own in found[:_MOST])
    if found[_MOST:]:
        yield Note("run.note", f"citations not valid: {len(found)}; 'foveal validate' lists all")
    if unchecked:
        text = f"quotes not compared with the texts, which are not given (--texts): {unchecked}"
        yield Note("run.unchecked", text)


def _place(row: Mapping[str, Any], locator: TextLocator) -> tuple[int | None, int | None]:
    """Return the range of a citation, None for a whole document.

    Raises `UnplacedSpanError` with the code and the text of the problem.
    """
    doc, start, end, quote, prefix, suffix = (row[name] for name in _CITATION)
    text = locator.text(doc)
    if locator.texts is not None and text is None:
        message = f"document {doc!r} is not among the texts"
        raise UnplacedSpanError("span.unknown_document", message)
    if start is None and quote is not None and text is not None:
        places = locator.find(doc, quote, prefix=prefix, suffix=suffix)
        if places:  # wherever the text was taken from, it is there
            return places[0]
    try:
        place = locator.place(TextSpan(doc, start, end, quote, is_loose=True))
    except UnplacedSpanError as error:
        code, message = error.args
        if code in ("span.not_found", "span.quote") and text is not None:
            low, high = find_closest(text, quote)
            message += f"; closest is {text[low:high]!r} at [{low},{high})" if high else ""
        raise UnplacedSpanError(code, message) from None
    if place.start is not None and place.start == place.end:
        message = f"[{place.start},{place.end}) of document {doc!r} holds no text"
        raise UnplacedSpanError("span.offset", message)
    return place.start, place.end


def find_closest(text: str, quote: str) -> tuple[int, int]:
    """Return the part of a text that shares most words with a quote, an empty one if none does.

    Of all parts with as many words as the quote, it is the first best one, without words at its
    ends that the quote does not have.

    >>> find_closest("The bridge was opened in 1932, to great applause.", "it opened in 1932")
    (15, 29)
    """
    words = [(own[0].casefold(), *own.span()) for own in re.finditer(r"\w+", text)]
    wanted = Counter(re.findall(r"\w+", quote.casefold()))
    size, inside, shared, most, last = wanted.total(), Counter[str](), 0, 0, 0
    for i, (word, *_) in enumerate(words):
        inside[word] += 1
        shared += inside[word] <= wanted[word]
        if i >= size:
            left = words[i - size][0]
            shared -= inside[left] <= wanted[left]
            inside[left] -= 1
        if shared > most:
            most, last = shared, i
    part = [own for own in words[max(last + 1 - size, 0) : last + 1] if own[0] in wanted]
    return (part[0][1], part[-1][2]) if part else (0, 0)


def list_documents(source: Source) -> frozenset[str]:
    """Return the documents that answers cite."""
    header_line = objects.find_header(source)[1]
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

Header fields and their defaults: `run` (the stem of the file name), `retrieved` (the run that the
answers were made from; none). Offsets are code points, the end is exclusive. See
[Citations](citations.md). Other measures see a run of the valid citations.""",
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
