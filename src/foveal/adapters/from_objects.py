"""Runs and judgements from Python objects: results of frameworks, dicts, tuples, data frames."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from foveal.adapters.object_rows import (
    DICT,
    FRAMEWORKS,
    USUAL,
    DocOf,
    flatten_topics,
    frame_of,
    is_row,
    rows_of_frame,
    rows_of_objects,
    runs_in,
)
from foveal.adapters.text_spans import TextPlacer, TextSpan, UnplacedSpanError
from foveal.errors import Problem, UsageError, counted, some
from foveal.files.source import Source
from foveal.formats.checks import (
    Defects,
    check_lengths,
    check_names,
    check_ranks,
    check_scores,
    check_spans,
    check_xpaths,
)
from foveal.formats.locate import shorten_text
from foveal.formats.ranking import ranked, with_costs
from foveal.formats.xpaths import canonical_paths, is_root
from foveal.model import UNKNOWN, Judgements, Provenance, Run

__all__ = ["judgements_of", "judgements_or_files", "run_of", "runs_of"]

_OF_RUN = ("doc", "start", "end", "score", "rank", "xpath", "text", "tokens")
_OF_JUDGEMENTS = ("doc", "start", "end", "grade", "text", "assessor", "length", "bep", "sets")
_OF_SPAN = ("start", "end", "grade", "text", "sets")
_OF_DOCUMENT = (
    "spans",
    *(name for c in ("length", "bep", "sets", "assessor", "grade") for name in USUAL[c]),
)
"""Fields that the entry of a document may have."""
_REMEDIES = {kind.name: kind for kind in FRAMEWORKS}


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
    placer = TextPlacer(texts, ambiguous, missing)
    frame = frame_of(results)
    if frame is not None:
        names = runs_in(frame)
        if len(names) > 1:
            raise UsageError(
                f"the frame holds {len(names)} runs: {some(names)}; expected one. "
                "foveal.evaluate takes all of them"
            )
        name = name or (names[0] if names else "run")
        return _make_run(rows_of_frame(frame, _OF_RUN, doc), name, placer, is_ranked=False)
    name = name or "run"
    if isinstance(results, Mapping):
        known: dict[str, Any] = {}
        for topic in results:
            # 7 and "7" are one topic here as they are in a file; which list is first is unknown.
            other = known.setdefault(str(topic), topic)
            if other is not topic:
                raise UsageError(
                    f"{other!r} and {topic!r} are the same topic; expected one list for each topic"
                )
        rows = rows_of_objects(flatten_topics(results), _OF_RUN, name, doc)
        return _make_run(rows, name, placer, is_ranked=True)
    items = _as_rows(results, "a run", "result", " (foveal.read_run reads files)")
    pairs = ((None, row) for row in items)
    rows = rows_of_objects(pairs, _OF_RUN, name, doc)
    return _make_run(rows, name, placer, is_ranked=False)


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
    if frame is not None:
        names = runs_in(frame)
        if len(names) > 1:
            whose = frame["run"].cast(pl.String)
            return [run_of(frame.filter(whose == name), name=name) for name in names]
        return [run_of(frame)]
    if isinstance(results, (bytes, Mapping)) or not isinstance(results, Iterable):
        return [run_of(results)]
    items = list(results)
    if all(isinstance(item, (Run, str, Path)) for item in items):
        return items
    if any(isinstance(item, Mapping) and not is_row(item) for item in items) or any(
        frame_of(item) is not None for item in items
    ):
        raise UsageError(
            "runs of Python objects in a list have no names; give each its own: "
            "foveal.run_of(results, name=...)"
        )
    return [run_of(items)]


def _as_rows(objects: Any, what: str, item: str, more: str = "") -> list[Any]:
    """Return a list of rows that name their topic; refuse anything else."""
    if isinstance(objects, (str, bytes)) or not isinstance(objects, Iterable):
        raise UsageError(
            f"{type(objects).__name__} cannot be {what}; expected {{topic: [{item}, ...]}}, a data "
            f"frame, or rows that name their topic{more}"
        )
    rows = list(objects)
    if not all(is_row(row) for row in rows):
        raise UsageError(
            f"{item}s without topics; expected {{topic: [{item}, ...]}}, or rows that name their "
            "topic: dicts with a field topic, tuples (topic, doc, start, end)"
        )
    return rows


def _make_run(frame: pl.DataFrame, name: str, placer: TextPlacer, *, is_ranked: bool) -> Run:
    """Return the run of rows; those that are not ranked are ordered as in a JSON Lines file."""
    defects = Defects(Source(name, b"", ""), frame["line"].to_numpy())
    problems = check_scores(defects, frame["score"].fill_null(0.0).to_numpy())
    problems += check_ranks(defects, frame["rank"])
    problems += check_xpaths(defects, frame["xpath"])
    defects.raise_if(problems)
    frame, notes = _place_rows(frame, defects, placer)
    frame = frame.with_columns(canonical_paths(frame["xpath"]))
    # A row without offsets is a whole document, or the place of an XPath, which is unknown.
    no_place = frame["start"].is_null()
    inside = no_place & frame["xpath"].is_not_null() & ~pl.Series(is_root(frame["xpath"]))
    whole = no_place & frame["xpath"].is_null()
    if whole.any():
        notes.append(f"results without start and end, taken as whole documents: {whole.sum()}")
    start = pl.when(inside).then(UNKNOWN).otherwise(pl.col("start").fill_null(0))
    end = pl.col("end")
    if "size" in frame.columns:
        end = pl.when(no_place & ~inside).then("size").otherwise(end)
    frame = frame.with_columns(start=start, end=end.fill_null(UNKNOWN))
    if is_ranked:
        before = frame["rank"].shift(1)
        early = (frame["rank"] < before) & (frame["topic"] == frame["topic"].shift(1))
        message = "rank {} after rank {}; expected a list in rank order"
        rows = early.fill_null(value=False).to_numpy()
        defects.raise_if([*defects.at("run.rank", rows, message, frame["rank"], before)])
        optional = [c for c in ("xpath",) if frame[c].count()]
        optional += [c for c in ("rank",) if frame[c].count() == len(frame) > 0]
        unscored = frame["score"].null_count()
        if not unscored:
            optional.append("score")
        elif unscored < len(frame):
            notes.append(f"results without a score, so that all scores are left out: {unscored}")
        columns = frame.select("topic", "doc", "start", "end", "line", *optional)
        run = Run.from_frame(columns, name=name)
    else:
        columns = frame.select("topic", "doc", "start", "end", "rank", "score", "xpath")
        run = ranked(columns, frame["line"].to_numpy(), defects, name=name)
    run = replace(run, notes=(*notes, *run.notes))
    run = replace(with_costs(run, frame["tokens"], defects), source=Provenance(name))
    if "size" not in frame.columns:
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
    placer = TextPlacer(texts)
    frame = frame_of(objects)
    notes: list[str] = []
    if frame is not None:
        return _make_judgements(rows_of_frame(frame, _OF_JUDGEMENTS, doc), name, placer, notes)
    pairs: Iterable[tuple[Any, Any]]
    if isinstance(objects, Mapping):
        kinds = (list, tuple, Mapping)
        empty = [str(topic) for topic, own in objects.items() if isinstance(own, kinds) and not own]
        if empty:
            notes.append(f"topics without any judgement, left out: {some(empty)}")
        pairs = _flatten_documents(objects)
    else:
        pairs = ((None, row) for row in _as_rows(objects, "judgements", "span"))
    rows = rows_of_objects(pairs, _OF_JUDGEMENTS, name, doc)
    return _make_judgements(rows, name, placer, notes)


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
            if isinstance(given, str) or not isinstance(given, Iterable):
                raise UsageError(f"{where} has {given!r}; expected a list of (start, end)")
            spans = []
            for span in given:
                if not isinstance(span, (Mapping, tuple, list)) or (
                    not isinstance(span, Mapping) and len(span) not in (2, 3)
                ):
                    raise UsageError(
                        f"{where}: {span!r} is no span; expected (start, end) or "
                        "(start, end, grade)"
                    )
                named = zip(("start", "end", "grade"), span, strict=False)
                spans.append(dict(span if isinstance(span, Mapping) else named))
            sets = list(about.pop("sets", None) or [None] * len(spans))
            if len(sets) != len(spans):
                raise UsageError(
                    f"{where}: {counted(len(sets), 'list')} of sets for "
                    f"{counted(len(spans), 'span')}; expected one for each"
                )
            for fields, own_sets in zip(spans, sets, strict=True):
                yield topic, about | {"sets": own_sets} | fields | {"doc": doc}
            if not spans:
                yield topic, about | {"doc": doc}


def _make_judgements(
    frame: pl.DataFrame, name: str, placer: TextPlacer, notes: list[str]
) -> Judgements:
    """Return one row per topic, document and assessor, with its spans."""
    defects = Defects(Source(name, b"", ""), frame["line"].to_numpy())
    frame, located = _place_rows(frame, defects, placer, is_judged=True)
    grade = frame["grade"]
    odd = ~grade.is_finite().fill_null(value=True).to_numpy()
    message = "grade {} is not a finite number"
    defects.raise_if([*defects.at("judgements.grade", odd, message, grade.cast(pl.String))])
    has_text = bool(frame["start"].count()) or not grade.count()
    graded = (grade > 0).fill_null(value=False)
    if has_text:
        bare = (graded & frame["start"].is_null()).to_numpy()
        message = "relevant by its grade, but without start and end; other spans have them"
        defects.raise_if([*defects.at("judgements.grade", bare, message)])
    frame = frame.with_columns(relevant=graded)
    if "size" in frame.columns:
        frame = frame.with_columns(length=pl.coalesce("length", "size"))
    rows = frame.group_by("topic", "doc", "assessor", maintain_order=True).agg(
        pl.col("line").first(),
        pl.col("relevant").any(),
        *(pl.col(c).drop_nulls().first() for c in ("length", "bep")),
        *(pl.col(c).drop_nulls().n_unique().alias(f"{c}s") for c in ("length", "bep")),
        *(pl.col(c).filter(pl.col("start").is_not_null()) for c in _OF_SPAN),
    )
    defects = defects._replace(line=rows["line"].to_numpy())
    for what, column in (("length", "lengths"), ("best entry point", "beps")):
        several = (rows[column] > 1).to_numpy()
        message = f"topic {{!r}}, document {{!r}} has more than one {what}"
        problems = defects.at("judgements.repeated", several, message, rows["topic"], rows["doc"])
        defects.raise_if([*problems])
    counts = rows["start"].list.len().cast(pl.Int64).to_numpy()
    flat = rows.select(_OF_SPAN).filter(pl.Series(counts > 0)).explode(_OF_SPAN)
    start, end = flat["start"].to_numpy().copy(), flat["end"].to_numpy().copy()
    check_lengths(defects, rows, np.repeat(np.arange(len(rows), dtype=np.int64), counts), end)
    nothing = pl.lit(None, dtype=pl.String)
    quotes = flat.select(quote="text", prefix=nothing, suffix=nothing)
    keep = ["topic", "doc", "line", "length", "bep"]
    keep += ["assessor"] if rows["assessor"].count() else []
    keep += [] if has_text else ["relevant"]
    return Judgements.from_rows(
        rows.select(keep),
        counts,
        start,
        end,
        source=Provenance(name),
        grade=flat["grade"].fill_null(1.0).to_numpy().copy() if flat["grade"].count() else None,
        has_text=has_text,
        quotes=quotes if flat["text"].count() else None,
        sets=flat["sets"] if (flat["sets"].list.len() > 0).any() else None,
        notes=(*notes, *located),
    )


# -- places ----------------------------------------------------------------------------------------


def _place_rows(
    frame: pl.DataFrame, defects: Defects, placer: TextPlacer, *, is_judged: bool = False
) -> tuple[pl.DataFrame, list[str]]:
    """Return the rows with start and end, and notes on those that were placed by their text.

    A row without start, end and text has none: a whole document, or the place of an XPath. With
    texts all rows are compared with them, and ``size`` is the length of their documents.
    """
    name = defects.source.path
    # Splitters write -1 where they did not find their own chunk again.
    lost = (frame["start"] == -1).fill_null(value=False) & frame["text"].is_not_null()
    sides = {side: pl.when(~lost).then(side) for side in ("start", "end")}
    frame = frame.with_columns(**sides, lost=lost)
    by_text = frame["start"].is_null() & frame["end"].is_null() & frame["text"].is_not_null()
    if "xpath" in frame.columns:
        by_text &= frame["xpath"].is_null()
    unnamed = frame["doc"].fill_null("") == ""
    if is_judged and placer.texts is not None:
        unnamed &= ~by_text  # the quote says which document it is
    problems = []
    for row in frame.filter(unnamed | (frame["topic"].fill_null("") == "")).iter_rows(named=True):
        if not row["topic"]:
            text = f"{row['kind']}: topic is missing"
            problems.append(Problem("row.topic", name, row["line"], text))
        else:
            remedy = _REMEDIES.get(row["kind"], DICT).no_doc
            text = f"the document is missing; {remedy}"
            problems.append(_describe("row.document", name, row, text))
    defects.raise_if(problems)
    defects.raise_if(check_names(defects, frame["topic"]))
    if placer.texts is None:
        for row in frame.filter(by_text).iter_rows(named=True):
            text = "its start is -1: the splitter changed the text and did not find it again;"
            if not row["lost"]:
                remedy = _REMEDIES.get(row["kind"], DICT).no_start
                text = f"the start of its text is missing; {remedy}, or"
            text += " give the texts of the documents (texts=)"
            problems.append(_describe("span.needs_text", name, row, text))
        defects.raise_if(problems)
    size = pl.col("text").str.len_chars().cast(pl.Int64)
    frame = frame.with_columns(end=pl.coalesce("end", pl.col("start") + size))
    half = (frame["start"].is_null() ^ frame["end"].is_null()).to_numpy()
    message = "start and end belong together; one is missing"
    defects.raise_if([*defects.at("span.offset", half, message)])
    start, end = (frame[side].fill_null(UNKNOWN).to_numpy() for side in ("start", "end"))
    negative = frame["start"].is_not_null().to_numpy() & ((start < 0) | (end < 0))
    message = "[{},{}) is no span; expected offsets from 0"
    problems = [
        *defects.at("span.offset", negative, message, start, end),
        *check_spans(defects, np.where(negative, 0, start), np.where(negative, 0, end)),
    ]
    defects.raise_if(problems)
    if placer.texts is None:
        differs = (frame["end"] - frame["start"] != frame.select(size).to_series()).fill_null(
            value=False
        )
        for row in frame.filter(differs).iter_rows(named=True):
            text = (
                f"[{row['start']},{row['end']}) are {row['end'] - row['start']} characters, but "
                f"its text has {len(row['text'])}; expected the text of the document as it was cut "
                "there"
            )
            problems.append(_describe("span.quote", name, row, text))
        defects.raise_if(problems)
        return frame.drop("lost"), []
    frame = _place_in_texts(frame.drop("lost"), by_text, defects, placer, placer.texts)
    return frame, [*placer.describe_located()]


def _describe(code: str, name: str, row: Mapping[str, Any], text: str) -> Problem:
    """Return a problem with a row, by its topic and kind of object."""
    return Problem(code, name, row["line"], f"topic {row['topic']!r}, {row['kind']}: {text}")


def _place_in_texts(
    frame: pl.DataFrame,
    by_text: pl.Series,
    defects: Defects,
    placer: TextPlacer,
    texts: Mapping[str, str],
) -> pl.DataFrame:
    """Return the rows at their places in the texts, with the lengths of their documents."""
    problems: list[Problem] = []
    placed: list[tuple[Any, ...]] = []
    sizes: dict[str, int] = {}
    columns = frame.select("doc", "start", "end", "text", located=by_text)
    for i, (doc, start, end, text, is_located) in enumerate(columns.iter_rows()):
        place, problem = (doc, start, end), None
        if doc and doc not in sizes:
            sizes[doc] = len(texts[doc]) if doc in texts else UNKNOWN
        if doc and sizes[doc] < 0:
            problem = "span.unknown_document", f"document {doc!r} is not among the texts"
        elif end is not None and end > sizes[doc]:
            message = f"ends at {end}, past the {sizes[doc]} characters of document {doc!r}"
            problem = "span.past_end", message
        elif is_located or (
            text is not None and start is not None and texts[doc][start:end] != text
        ):
            try:
                place = placer.place(TextSpan(doc or None, start, end, text)) or place
            except UnplacedSpanError as error:
                problem = error.code, str(error)
                if error.code == "span.quote":
                    message = f"document {doc!r} holds {shorten_text(texts[doc][start:end])} at "
                    message += f"[{start},{end}); its text is {shorten_text(text)}"
                    problem = error.code, message
        if problem is not None:
            row = frame.row(i, named=True)
            problems.append(_describe(problem[0], defects.source.path, row, problem[1]))
        else:
            placed.append((*place, sizes.get(place[0]) or len(texts[place[0]])))
    defects.raise_if(problems)
    kinds = {"doc": pl.String, "start": pl.Int64, "end": pl.Int64, "size": pl.Int64}
    return frame.with_columns(pl.DataFrame(placed, schema=kinds, orient="row"))
