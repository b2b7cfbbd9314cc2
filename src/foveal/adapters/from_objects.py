"""Runs and judgements from Python objects: results of frameworks, dicts, tuples, data frames."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from foveal.adapters.object_rows import (
    COLUMNS,
    KINDS,
    USUAL,
    DocOf,
    flatten_topics,
    frame_of,
    is_row,
    rows_of_frame,
    rows_of_objects,
    runs_in,
)
from foveal.errors import Problem, UsageError, counted, some
from foveal.files.source import Source
from foveal.formats.checks import (
    MAX_OFFSET,
    RULES,
    Defects,
    RowRule,
    check_rules,
    raise_problems,
    range_rule,
)
from foveal.formats.locate import EXPECTED_SPAN, TextLocator, TextSpan, UnplacedSpanError
from foveal.formats.ranking import ranked
from foveal.formats.xpaths import canonical_paths, is_root
from foveal.model import UNKNOWN, Judgements, Provenance, Run

_OF_RUN = ("doc", "start", "end", "score", "rank", "xpath", "text", "tokens")
_OF_JUDGEMENTS = ("doc", "start", "end", "grade", "text", "assessor", "length", "bep", "sets")
_OF_SPAN = ("start", "end", "grade", "text", "prefix", "suffix", "sets", "aspects")
_OF_DOCUMENT = (
    "spans",
    *(name for c in ("length", "bep", "sets", "assessor", "grade") for name in USUAL[c]),
)
"""Fields that the entry of a document may have."""


# -- runs ------------------------------------------------------------------------------------------


def run_of(
    results: Any,
    *,
    name: str | None = None,
    doc: DocOf = None,
    texts: Mapping[str, str] | None = None,
    ambiguous: str = "error",
    missing: str = "error",
) -> Run:
    """Return a run from what a retriever returned.

    Parameters
    ----------
    results : mapping, data frame or sequence of rows
        ``{topic: [result, ...]}``, each list in rank order. A result is an object of LangChain,
        LlamaIndex, Haystack or Chonkie, a dict, or a tuple ``(doc, start, end)`` with the score
        as an optional fourth; an object may be in a pair with its score. Or a frame of Polars
        or pandas, or a list of dicts or tuples that begin with the topic: rows are ordered by
        rank, else by descending score, else as given.
    name : str, optional
        The name of the run; by default the one in the column ``run`` of a frame, else ``run``.
    doc : str or callable, optional
        The field (of the metadata, the dict or the frame) that names the document, or a function
        of the result, where it is not the usual one of the framework.
    texts : mapping of str to str, optional
        The text of each document. Results with offsets and text are compared with it; results
        with nothing but their text are placed by it.
    ambiguous : {"error", "first", "empty"}
        A text that occurs more than once in its document is an error, is taken at its first
        place, or becomes a result that keeps its rank and holds nothing. Both are noted.
    missing : {"error", "empty"}
        The same for a text that is not in its document.

    Examples
    --------
    >>> run_of({"1": [("d1", 20, 40, 9.5), ("d2", 0, 50, 7.25)]}, name="mine").score.tolist()
    [9.5, 7.25]
    >>> chunks = [{"source": "d1", "start_index": 20, "text": "a reaction ferry"}]
    >>> run_of({"1": chunks}).to_frame().rows()
    [('1', 'd1', 1, 20, 36)]
    >>> run_of({"1": [{"doc": "d1", "text": "ferry"}]}, texts={"d1": "a ferry"}).start.tolist()
    [2]
    """
    locator, frame = TextLocator(texts, ambiguous, missing), frame_of(results)
    if frame is not None:
        names = runs_in(frame)
        if len(names) > 1:
            raise UsageError(
                f"the frame holds {len(names)} runs: {some(names)}; expected one. "
                "foveal.evaluate takes all of them"
            )
        name = name or (names[0] if names else "run")
        return _make_run(rows_of_frame(frame, _OF_RUN, name, doc), name, locator, is_ranked=False)
    name = name or "run"
    is_ranked = isinstance(results, Mapping)
    pairs: Iterable[tuple[Any, Any]]
    if is_ranked:
        known: dict[str, Any] = {}
        for topic in results:
            # 7 and "7" are one topic here as they are in a file; which list is first is unknown.
            other = known.setdefault(str(topic), topic)
            if other is not topic:
                raise UsageError(
                    f"{other!r} and {topic!r} are the same topic; expected one list for each topic"
                )
        pairs = flatten_topics(results)
    else:
        pairs = _as_rows(results, "a run (foveal.read_run reads files)", "result")
    return _make_run(rows_of_objects(pairs, _OF_RUN, name, doc), name, locator, is_ranked=is_ranked)


def runs_of(results: Any) -> list[Run | str | Path]:
    """Return the runs in anything that can be scored; files and runs stay as they are.

    One mapping, frame or list of rows is one run, and a frame with a column ``run`` is as many as
    it names. A sequence holds runs and names of files; several runs of Python objects are made
    with `run_of` and named there, so that no name of a run can be mistaken for a topic.

    >>> runs_of({"1": [("d1", 0, 40)]})
    [<Run 'run': 1 results, 1 topics>]
    >>> frame = pl.DataFrame({"run": ["a", "b"], "topic": "1", "doc": "d1", "start": 0, "end": 9})
    >>> runs_of(frame)
    [<Run 'a': 1 results, 1 topics>, <Run 'b': 1 results, 1 topics>]
    """
    if isinstance(results, (Run, str, Path)):
        return [results]
    frame = frame_of(results)
    if frame is not None and "run" in frame.columns:
        whose = frame["run"].cast(pl.String)
        return [run_of(frame.filter(whose == name), name=name) for name in runs_in(frame)]
    is_one = frame is not None or isinstance(results, (bytes, Mapping))
    if is_one or not isinstance(results, Iterable):
        return [run_of(results)]
    items = [*results]
    if all(isinstance(item, (Run, str, Path)) for item in items):
        return items
    if any(
        (isinstance(item, Mapping) and not is_row(item)) or frame_of(item) is not None
        for item in items
    ):
        raise UsageError(
            "runs of Python objects in a list have no names; give each its own: "
            "foveal.run_of(results, name=...)"
        )
    return [run_of(items)]


def _as_rows(objects: Any, what: str, item: str) -> Iterator[tuple[None, Any]]:
    """Yield rows that name their topic; refuse anything else."""
    is_list = isinstance(objects, Iterable) and not isinstance(objects, (str, bytes))
    rows = [*objects] if is_list else []
    if not is_list or not all(is_row(row) for row in rows):
        found = f"{item}s without topics" if is_list else type(objects).__name__
        raise UsageError(
            f"{found} cannot be {what}; expected {{topic: [{item}, ...]}}, a data frame, or rows "
            "that name their topic: dicts with a field topic, tuples (topic, doc, start, end)"
        )
    for row in rows:
        yield None, row


_RUN_RULES = [RULES[name] for name in ("score", "rank", "tokens", "xpath")]


def _make_run(frame: pl.DataFrame, name: str, locator: TextLocator, *, is_ranked: bool) -> Run:
    """Return the run of rows; those that are not ranked are ordered as in a JSON Lines file."""
    defects = Defects(Source(name, b"", ""), frame["line"].to_numpy())
    raise_problems(check_rules(name, defects.line, frame, _RUN_RULES))
    frame, notes = _place_rows(frame, defects, locator)
    frame = frame.with_columns(canonical_paths(frame["xpath"]))
    # A row without offsets is a whole document, or the place of an XPath, which is unknown.
    no_place = frame["start"].is_null()
    inside = no_place & frame["xpath"].is_not_null() & ~pl.Series(is_root(frame["xpath"]))
    whole = no_place & frame["xpath"].is_null()
    if whole.any():
        notes.append(f"results without start and end, taken as whole documents: {whole.sum()}")
    frame = frame.with_columns(
        start=pl.when(inside).then(UNKNOWN).otherwise(pl.col("start").fill_null(0)),
        end=pl.when(no_place & ~inside).then("size").otherwise("end").fill_null(UNKNOWN),
    )
    if is_ranked:
        before = frame["rank"].shift(1)
        early = (frame["rank"] < before) & (frame["topic"] == frame["topic"].shift(1))
        message = "rank {} after rank {}; expected a list in rank order"
        rows = early.fill_null(value=False).to_numpy()
        raise_problems([*defects.at("run.rank", rows, message, frame["rank"], before)])
        optional = [c for c in ("xpath", "tokens") if frame[c].count()]
        optional += [c for c in ("rank", "score") if frame[c].count() == len(frame) > 0]
        if 0 < frame["score"].count() < len(frame):
            unscored = frame["score"].null_count()
            notes.append(f"results without a score, so that all scores are left out: {unscored}")
        columns = frame.select("topic", "doc", "start", "end", "line", *optional)
        run = Run.from_frame(columns, name=name)
    else:
        columns = frame.select("topic", "doc", "start", "end", "rank", "score", "xpath", "tokens")
        run = ranked(columns, frame["line"].to_numpy(), defects, name=name)
    run = replace(run, notes=(*notes, *run.notes), source=Provenance(name))
    if locator.texts is None:
        return run
    length = np.full(len(frame) + 1, UNKNOWN, dtype=np.int64)
    length[frame["line"].to_numpy()] = frame["size"].to_numpy()
    return replace(run, length=length[run.line])


# -- judgements ------------------------------------------------------------------------------------


def judgements_of(
    objects: Any,
    *,
    name: str = "judgements",
    doc: DocOf = None,
    texts: Mapping[str, str] | None = None,
) -> Judgements:
    """Return judgements from Python objects.

    Parameters
    ----------
    objects : mapping, data frame or sequence of rows
        ``{topic: [span, ...]}`` where a span is a tuple ``(doc, start, end)`` with the grade as
        an optional fourth, a dict, which may name the evidence ``sets`` it belongs to, or an
        object of a framework; or ``{topic: {doc: [(start, end), ...]}}``, where an empty list is
        a document judged not relevant, and a dict of ``spans``, ``length`` and ``bep`` may replace
        a list. Or a frame of Polars or pandas, or a list of dicts or tuples that begin with the
        topic. Rows without start and end are documents judged not relevant, unless no row has
        them: then ``grade`` judges whole documents.
    name : str
        Their name in messages.
    doc : str or callable, optional
        The field that names the document, or a function of the object.
    texts : mapping of str to str, optional
        The text of each document. It gives their lengths; spans that quote it are compared with
        it, and spans that have nothing but the quote are placed by it.

    Examples
    --------
    >>> judgements_of({"1": [("d1", 10, 40)], "2": {"d1": [], "d2": [(0, 9)]}})
    <Judgements: 2 topics, 3 documents judged, 2 relevant>
    >>> truth = judgements_of({"1": [{"doc": "d1", "quote": "ferry"}]}, texts={"d1": "a ferry"})
    >>> truth.passages(0), truth.length.tolist()
    ([(2, 7)], [7])
    """
    locator, rows, empty = TextLocator(texts), frame_of(objects), list[str]()
    if rows is not None:
        rows = rows_of_frame(rows, _OF_JUDGEMENTS, name, doc)
    else:
        pairs: Iterable[tuple[Any, Any]]
        if isinstance(objects, Mapping):
            kinds = (list, tuple, Mapping)
            empty = [str(t) for t, own in objects.items() if isinstance(own, kinds) and not own]
            pairs = _flatten_documents(objects)
        else:
            pairs = _as_rows(objects, "judgements", "span")
        rows = rows_of_objects(pairs, _OF_JUDGEMENTS, name, doc)
    source = Source(name, b"", "")
    defects = Defects(source, rows["line"].to_numpy())
    placed, located = _place_rows(rows, defects, locator, is_judged=True)
    placed = placed.with_columns(length=pl.coalesce("length", "size"))
    notes = [f"topics without any judgement, left out: {some(empty)}"] if empty else []
    return group_spans(placed, source, notes=(*notes, *located))


def judgements_or_files(given: Any) -> Judgements | str | Path | Sequence[str | Path]:
    """Return judgements and names of files as they are, and other objects as judgements.

    >>> judgements_or_files("qrels.jsonl")
    'qrels.jsonl'
    >>> judgements_or_files({"1": [("d1", 10, 40)]})
    <Judgements: 1 topics, 1 documents judged, 1 relevant>
    """
    if isinstance(given, (Judgements, str, Path)):
        return given
    if isinstance(given, Sequence) and all(isinstance(one, (str, Path)) for one in given):
        return given
    return judgements_of(given)


def _flatten_documents(objects: Mapping[Any, Any]) -> Iterator[tuple[Any, Any]]:
    """Yield pairs of topic and span; a topic has a list of spans, or a list for each document."""
    for topic, own in objects.items():
        if not isinstance(own, Mapping):
            yield from flatten_topics({topic: own})
            continue
        for doc, entry in own.items():
            where = f"topic {topic!r}, document {doc!r}"
            about = dict(entry) if isinstance(entry, Mapping) else {"spans": entry}
            unknown = [key for key in about if key not in _OF_DOCUMENT]
            if unknown:
                # A misspelt "spans" would be a document that was judged not relevant.
                raise UsageError(
                    f"{where} has the field {unknown[0]!r}; expected {', '.join(_OF_DOCUMENT)}"
                )
            given = about.pop("spans", ())
            spans = [*given] if isinstance(given, Iterable) and not isinstance(given, str) else None
            sizes = [len(own) for own in spans or () if isinstance(own, (tuple, list))]
            mappings = [own for own in spans or () if isinstance(own, Mapping)]
            if spans is None or len(sizes) + len(mappings) != len(spans) or {*sizes} - {2, 3}:
                raise UsageError(
                    f"{where} has {given!r}; expected a list of (start, end) or (start, end, grade)"
                )
            sets = [*(about.pop("sets", None) or [None] * len(spans))]
            if len(sets) != len(spans):
                raise UsageError(
                    f"{where}: {counted(len(sets), 'list')} of sets for "
                    f"{counted(len(spans), 'span')}; expected one for each"
                )
            for span, own_sets in zip(spans, sets, strict=True):
                named = zip(("start", "end", "grade"), span, strict=False)
                fields = dict(span if isinstance(span, Mapping) else named)
                yield topic, about | {"sets": own_sets} | fields | {"doc": doc}
            if not spans:
                yield topic, about | {"doc": doc}


_PAST = "is past the document's length {length}"
_LENGTH_RULES = (
    range_rule("length", "judgements.length"),
    range_rule("bep", "judgements.bep"),
    RowRule("judgements.length", pl.col("reach") > pl.col("length"), f"end {{reach}} {_PAST}"),
    RowRule("judgements.bep", pl.col("bep") > pl.col("length"), f"bep {{bep}} {_PAST}"),
)


def group_spans(frame: pl.DataFrame, source: Source, **extra: Any) -> Judgements:
    """Return judgements from rows, one for each span; a row without start is a judged document.

    If no row has a start, grades above 0 tell which whole documents are relevant.
    """
    frame = frame.with_columns(
        pl.lit(None, dtype=COLUMNS.get(name, pl.String)).alias(name)
        for name in ("bep", *_OF_SPAN)
        if name not in frame.columns
    )
    defects, grade = Defects(source, frame["line"].to_numpy()), frame["grade"]
    has_text = bool(frame["start"].count()) or not grade.count()
    odd = ~grade.is_finite().fill_null(value=True).to_numpy()
    message = "grade {} is not a finite number"
    problems = [*defects.at("judgements.grade", odd, message, grade.cast(pl.String))]
    relevant = (grade > 0).fill_null(value=False)
    if has_text:
        message = "relevant by its grade, but without start and end; other spans have them"
        bare = (relevant & frame["start"].is_null()).to_numpy()
        problems += defects.at("judgements.grade", bare, message)
    raise_problems(problems)
    rows = (
        frame.with_columns(relevant=relevant)
        .group_by("topic", "doc", "assessor", maintain_order=True)
        .agg(
            pl.col("line").first(),
            pl.col("relevant").any(),
            *(pl.col(c).drop_nulls().first() for c in ("length", "bep")),
            *(pl.col(c).filter(pl.col("start").is_not_null()) for c in _OF_SPAN),
            several=pl.max_horizontal(pl.col("length", "bep").drop_nulls().n_unique()) > 1,
        )
    )
    defects = Defects(source, rows["line"].to_numpy())
    message = "topic {!r}, document {!r} has more than one length or best entry point"
    several = rows["several"].to_numpy()
    problems = [*defects.at("judgements.repeated", several, message, rows["topic"], rows["doc"])]
    raise_problems(problems)
    counts = rows["start"].list.len().cast(pl.Int64).to_numpy()
    flat = rows.select(_OF_SPAN).filter(pl.Series(counts > 0)).explode(_OF_SPAN)
    start, end = flat["start"].to_numpy().copy(), flat["end"].to_numpy().copy()
    reach = rows.select("length", "bep", reach=pl.col("end").list.max())
    raise_problems(check_rules(source.path, defects.line, reach, _LENGTH_RULES))
    keep = ["topic", "doc", "line", "length", "bep"]
    keep += ["assessor"] if rows["assessor"].count() else []
    keep += [] if has_text else ["relevant"]
    for name in ("sets", "aspects"):
        if (flat[name].list.len() > 0).any():
            extra[name] = flat[name]
    quotes = flat.select("prefix", "suffix", quote="text").select("quote", "prefix", "suffix")
    return Judgements.from_rows(
        rows.select(keep),
        counts,
        start,
        end,
        source=source.provenance,
        grade=flat["grade"].fill_null(1.0).to_numpy().copy() if flat["grade"].count() else None,
        has_text=has_text,
        quotes=quotes if any(column.count() for column in quotes) else None,
        **extra,
    )


# -- places ----------------------------------------------------------------------------------------


def _place_rows(
    frame: pl.DataFrame, defects: Defects, locator: TextLocator, *, is_judged: bool = False
) -> tuple[pl.DataFrame, list[str]]:
    """Return the rows with start, end and size of document, and notes on those placed by text.

    A row without start, end and text has no place: a whole document, or that of an XPath. With
    texts all rows are compared with them, else ``size`` is null.
    """
    start, end, text = pl.col("start"), pl.col("end"), pl.col("text")
    is_alone, length = locator.texts is None, text.str.len_chars().cast(pl.Int64)
    has_path = pl.col("xpath").is_not_null() if "xpath" in frame.columns else pl.lit(value=False)
    # Splitters write -1 where they did not find their own chunk again.
    frame = frame.with_columns(lost=(start == -1).fill_null(value=False) & text.is_not_null())
    frame = frame.with_columns(pl.when(~pl.col("lost")).then(pl.col("start", "end")).name.keep())
    by_text = start.is_null() & end.is_null() & text.is_not_null() & ~has_path
    frame = frame.with_columns(by_text=by_text).with_columns(end=pl.coalesce(end, start + length))
    unnamed = pl.col("doc").fill_null("") == ""
    if is_judged and not is_alone:
        unnamed &= ~pl.col("by_text")  # the quote says which document it is
    is_lost, no_start = pl.col("lost") & is_alone, pl.col("by_text") & is_alone
    is_half, differs = start.is_null() ^ end.is_null(), (end - start != length) & is_alone
    impossible = (start < 0) | (end < start) | (end > MAX_OFFSET)
    checks = [
        ("topic.missing", pl.col("topic").fill_null("") == "", "topic is missing"),
        ("doc.missing", unnamed, "the document is missing; {no_doc}"),
        ("span.needs_text", is_lost, "its start is -1, the splitter lost it; give texts="),
        ("span.needs_text", no_start, "its start is missing; {no_start}, or give texts="),
        ("span.incomplete", is_half, "start and end belong together; one is missing"),
        ("span.offset", impossible, f"[{{start}},{{end}}) is not a span; {EXPECTED_SPAN}"),
        ("span.quote", differs, "[{start},{end}) has length {size}, but its text has {length}"),
    ]
    found: dict[int, Problem] = {}

    def report(code: str, row: Mapping[str, Any], message: str) -> None:
        text = f"topic {row['topic']!r}, {row['kind']}: {message}"
        found.setdefault(row["line"], Problem(code, defects.source.path, row["line"], text))

    rows = frame.with_columns(size=end - start, length=length)
    for code, condition, message in checks:
        for row in rows.filter(condition).iter_rows(named=True):
            report(code, row, message.format_map(row | KINDS[row["kind"]]._asdict()))
    raise_problems(
        [*found.values(), *check_rules(defects.source.path, defects.line, frame, [RULES["topic"]])]
    )
    if locator.texts is None:
        return frame.with_columns(size=pl.lit(None, dtype=pl.Int64)), []
    placed, how = list[tuple[Any, ...]](), Counter[str]()
    for row in frame.iter_rows(named=True):
        span = TextSpan(row["doc"] or None, row["start"], row["end"], row["text"])
        place: Any = (span.doc, span.start, span.end)
        try:
            if span.doc is not None and span.doc not in locator.texts:
                message = f"document {span.doc!r} is not among the texts"
                raise UnplacedSpanError("span.unknown_document", message)
            if row["by_text"] or span.start is not None:
                *place, found_how = locator.place(span)
                how[found_how] += row["by_text"]
            placed.append((*place, len(locator.texts[place[0]])))
        except UnplacedSpanError as error:
            report(error.code, row, str(error))
    raise_problems([*found.values()])
    kinds = {"doc": pl.String, "start": pl.Int64, "end": pl.Int64, "size": pl.Int64}
    frame = frame.with_columns(pl.DataFrame(placed, schema=kinds, orient="row"))
    return frame, [*locator.describe(how)]
