"""Runs and judgements from Python objects: results of frameworks, dicts, tuples, data frames."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from foveal.adapters.object_rows import DocOf, frame_of, is_row, read_rows
from foveal.errors import UsageError, some
from foveal.files.source import Source
from foveal.formats.columns import parse_results
from foveal.formats.jsonl import build_judgements
from foveal.formats.locate import TextLocator, place_rows
from foveal.formats.rows import (
    NAME_RULES,
    RowRule,
    RowTable,
    check_rules,
    list_offset_rules,
    raise_problems,
)
from foveal.model import Judgements, Provenance, Run


def run_of(
    results: Any,
    *,
    name: str | None = None,
    doc: DocOf = None,
    texts: Mapping[str, str] | None = None,
    unplaced: str = "error",
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
        The field that names the document, or a function of the result, if it is not a usual one.
    texts : mapping of str to str, optional
        The text of each document. Results with offsets and text are compared with it; results
        with nothing but their text are placed by it.
    unplaced : {"error", "empty"}
        A text that is not in its document, or occurs there more than once, is an error, or becomes
        a result that keeps its rank and holds nothing, which is noted.

    Examples
    --------
    >>> run_of({"1": [("d1", 20, 40, 9.5), ("d2", 0, 50, 7.25)]}, name="mine").score.tolist()
    [9.5, 7.25]
    >>> run_of({"1": [{"doc": "d1", "text": "ferry"}]}, texts={"d1": "a ferry"}).start.tolist()
    [2]
    """
    locator, frame = TextLocator(texts, unplaced=unplaced), frame_of(results)
    if name is None and frame is not None and "run" in frame.columns and len(frame):
        names = frame["run"].cast(pl.String).unique(maintain_order=True).to_list()
        if len(names) > 1 or None in names:
            raise UsageError(
                f"the frame names the runs {some([*map(str, names)])}; expected one name in all "
                "rows. foveal.evaluate takes several runs"
            )
        name = names[0]
    name = name or "run"
    rows = read_rows(results if frame is None else frame, name, doc, is_run=True)
    rank, line = pl.col("rank"), rows["line"].to_numpy()
    if frame is None and isinstance(results, Mapping):  # the list is the order
        rows = rows.with_columns(
            pl.when(rank.null_count() == 0)
            .then(rank)
            .otherwise(pl.int_range(1, pl.len() + 1).over("topic"))
        )
        falls = (rank < rank.shift(1)) & (pl.col("topic") == pl.col("topic").shift(1))
        message = "rank {rank} after a higher one; expected a list in rank order"
        raise_problems(check_rules(name, line, rows, [RowRule("run.rank", falls, message)]))
    rows, notes = _place_rows(rows, name, locator)
    whole = pl.col("start").is_null() & pl.col("xpath").is_null()
    if number := rows.select(whole.sum()).item():
        notes += (f"results without start and end, taken as whole documents: {number}",)
    if texts is not None:
        start, end = (pl.when(~whole).then(name) for name in ("start", "end"))
        rows = rows.with_columns(start=start.otherwise(0), end=end.otherwise("size"))
    rows = rows.with_columns(bep=pl.lit(None, dtype=pl.Int64))
    run: Run = parse_results(RowTable(rows, line), Source(name, b"", ""), name=name).checked()
    length = None if texts is None else rows["size"].to_numpy()[run.line - 1]
    notes = (*notes, *run.notes)
    return run.with_columns(length=length, notes=notes, source=Provenance(name))


def runs_of(results: Any) -> list[Run | str | Path]:
    """Return the runs in anything that can be scored; files and runs stay as they are.

    One mapping, frame or list of rows is one run, and a frame with a column ``run`` is as many as
    it names. A sequence holds runs and names of files; several runs of Python objects are made
    with `run_of` and named there, so that no name of a run can be mistaken for a topic.

    >>> frame = pl.DataFrame({"run": ["a", "b"], "topic": "1", "doc": "d1", "start": 0, "end": 9})
    >>> runs_of(frame)
    [<Run 'a': 1 results, 1 topics>, <Run 'b': 1 results, 1 topics>]
    """
    frame = frame_of(results)
    if frame is not None and "run" in frame.columns:
        return [run_of(own) for own in frame.partition_by("run", maintain_order=True)]
    if isinstance(results, (Run, str, Path)):
        return [results]
    is_one = frame is not None or isinstance(results, (bytes, Mapping))
    items = [results] if is_one or not isinstance(results, Iterable) else [*results]
    if items and all(isinstance(item, (Run, str, Path)) for item in items):
        return items
    named = [isinstance(item, Mapping) and not is_row(item) for item in items]
    if not is_one and (any(named) or any(frame_of(item) is not None for item in items)):
        raise UsageError(
            "runs of Python objects in a list have no names; give each its own: "
            "foveal.run_of(results, name=...)"
        )
    return [run_of(results if is_one else items)]


def judgements_of(
    objects: Any,
    *,
    name: str = "judgements",
    doc: DocOf = None,
    texts: Mapping[str, str] | None = None,
) -> Judgements:
    """Return judgements from Python objects, called `name` in messages.

    `objects` are ``{topic: [span, ...]}`` where a span is a tuple ``(doc, start, end)`` with the
    grade as an optional fourth, a dict, which may name the evidence ``sets`` it belongs to, or an
    object of a framework; or ``{topic: {doc: [(start, end), ...]}}``, where an empty list is a
    document judged not relevant, and a dict of ``spans``, ``length`` and ``bep`` may replace a
    list. Or a frame of Polars or pandas, or a list of dicts or tuples that begin with the topic.
    Rows without start and end are documents judged not relevant, unless no row has them: then
    ``grade`` judges whole documents. `doc` is the field that names the document, or a function of
    the object. `texts` of documents give their lengths; spans are compared with them or placed by
    them as in `run_of`.

    >>> judgements_of({"1": [("d1", 10, 40)], "2": {"d1": [], "d2": [(0, 9)]}})
    <Judgements: 2 topics, 3 documents judged, 2 relevant>
    >>> truth = judgements_of({"1": [{"doc": "d1", "quote": "ferry"}]}, texts={"d1": "a ferry"})
    >>> truth.passages(0), truth.length.tolist()
    ([(2, 7)], [7])
    """
    rows = read_rows(objects, name, doc, is_run=False)
    rows, notes = _place_rows(rows, name, TextLocator(texts), is_judged=True)
    lists = objects.items() if isinstance(objects, Mapping) else ()
    if empty := [str(topic) for topic, own in lists if not own]:
        notes = (f"topics without any judgement, left out: {some(empty)}", *notes)
    rows = rows.with_columns(length=pl.coalesce("length", "size"))
    return group_spans(rows, Source(name, b"", ""), notes=notes)


def judgements_or_files(given: Any) -> Judgements | str | Path | Sequence[str | Path]:
    """Return judgements and names of files as they are, and other objects as judgements.

    >>> judgements_or_files("qrels.jsonl"), judgements_or_files({"1": [("d1", 10, 40)]})
    ('qrels.jsonl', <Judgements: 1 topics, 1 documents judged, 1 relevant>)
    """
    files = given if isinstance(given, Sequence) else [given]
    is_read = all(isinstance(own, (Judgements, str, Path)) for own in files)
    return given if is_read else judgements_of(given)


_SPAN_RULES = [
    RowRule(
        "judgements.grade", ~pl.col("grade").is_finite(), "grade {grade} is not a finite number"
    ),
    RowRule(
        "judgements.grade",
        pl.col("has_text") & pl.col("relevant") & pl.col("start").is_null(),
        "relevant by its grade, but without start and end; other spans have them",
    ),
]


def group_spans(frame: pl.DataFrame, source: Source, **extra: Any) -> Judgements:
    """Return judgements from rows, one for each span; a row without start is a judged document.

    If no row has a start, grades above 0 tell which whole documents are relevant.
    """
    has_text = bool(frame["start"].count()) or not frame["grade"].count()
    frame = frame.with_columns(
        has_text=has_text, relevant=(pl.col("grade") > 0).fill_null(value=False)
    )
    raise_problems(check_rules(source.path, frame["line"].to_numpy(), frame, _SPAN_RULES))
    judged = frame.with_row_index("object").with_columns(
        pl.col("object").first().over("topic", "doc", "assessor"), owner="assessor"
    )
    judged = judged.drop("has_text", *(["relevant"] if has_text else []))
    judgements = build_judgements(judged, source, has_text=has_text, **extra)
    return judgements if frame["grade"].count() else judgements.with_columns(grade=None)


def _place_rows(
    frame: pl.DataFrame, path: str, locator: TextLocator, *, is_judged: bool = False
) -> tuple[pl.DataFrame, tuple[str, ...]]:
    """Return the rows with start, end and size of document, and notes on those placed by text.

    A row without start, end and text has no place: a whole document, or that of an XPath. With
    texts all rows are compared with them, else ``size`` is null.
    """
    start, end, text, texts = pl.col("start"), pl.col("end"), pl.col("text"), locator.texts
    has_path = pl.col("xpath").is_not_null() if "xpath" in frame.columns else pl.lit(value=False)
    # Splitters write -1 where they did not find their own chunk again.
    lost = ((start == -1) & text.is_not_null()).fill_null(value=False)
    frame = frame.with_columns(pl.when(~lost).then(pl.col("start", "end")).name.keep())
    by_text = start.is_null() & end.is_null() & text.is_not_null() & ~has_path
    frame = frame.with_columns(by_text=by_text, chars=text.str.len_chars().cast(pl.Int64))
    frame = frame.with_columns(end=pl.coalesce(end, start + pl.col("chars")))
    frame = frame.with_columns(size=end - start)
    unnamed, rules = pl.col("doc").fill_null("") == "", [*NAME_RULES[:2], *list_offset_rules()]
    if texts is None:
        differs = "[{start},{end}) has length {size}, but its text has {chars}"
        rules.append(RowRule("span.quote", pl.col("size") != pl.col("chars"), differs))
    else:
        docs = [doc for doc in frame["doc"].unique() if doc and doc not in texts]
        message = "document {doc} is not among the texts"
        rules.append(RowRule("span.unknown_document", pl.col("doc").is_in(docs), message))
        unnamed &= ~(pl.col("by_text") & is_judged)  # the quote says which document it is
    message = "topic {topic}: the document is missing; name it doc, source or metadata['source'], "
    rules.append(RowRule("doc.missing", unnamed, f"{message}or give its field: doc='...'"))
    message = "topic {topic}: the start is missing or -1; let the splitter note it (LangChain: "
    message += "add_start_index=True), or give start and end, or texts="
    rules.append(RowRule("span.needs_text", pl.col("by_text") & (texts is None), message))
    raise_problems(check_rules(path, frame["line"].to_numpy(), frame, rules))
    if texts is None:
        return frame.with_columns(size=pl.lit(None, dtype=pl.Int64)), ()
    quote = pl.when(pl.col("by_text") | start.is_not_null()).then(text)
    return place_rows(frame.with_columns(text=quote), path, locator, where="topic {topic!r}: ")
