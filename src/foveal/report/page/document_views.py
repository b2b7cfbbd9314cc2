"""The documents of the page: relevant passages, results of runs, and excerpts of texts."""

from __future__ import annotations

import json
import zlib
from base64 import b64encode
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from foveal.assess.documents import make_elements
from foveal.assess.rendering import keep_attributes, lay_out
from foveal.collection import Markup, SourceTexts
from foveal.errors import InputError, shorten_list
from foveal.measures.alignment import Alignment, Gold
from foveal.model import Judgements
from foveal.spans import Bools, Ints

Span = tuple[int, int]

_TOP = 10
"""Ranks whose results are shown even in documents that are not relevant."""
_RELEVANT, _OTHERS = 30, 5
"""Largest numbers of relevant and of other documents of a topic."""
_EACH = 10
"""Largest number of results of a run in a document."""
_RESULT_BYTES, _VIEW_BYTES, _TEXT_BYTES = 7, 40, 600
"""What a result, a view and its text take in the page, compressed: a first guess."""
_STORED = 50_000
"""Bytes up to which the documents of a page are not compressed."""


class Excerpts(NamedTuple):
    """Limits of the parts of texts that are shown; the first of `_EXCERPTS` that fits is taken."""

    whole: int
    """Characters of a text that is shown whole."""
    context: int
    """Characters around a relevant passage."""
    passage: int
    """Characters of a relevant passage; of a longer one the beginning and the end are shown."""
    results: int
    """Results of each run that are listed and shown; with 0 the first is listed."""
    result: int
    """Characters of a result; of a longer one the beginning and the end are shown."""


_EXCERPTS = (
    Excerpts(20_000, 400, 3_000, 10, 2_000),
    Excerpts(3_000, 300, 2_000, 3, 1_000),
    Excerpts(1_000, 200, 1_000, 2, 500),
    Excerpts(0, 120, 500, 1, 300),
    Excerpts(0, 60, 250, 0, 0),
)
_FULL = 2
"""The excerpts at which documents are left out before they get shorter still."""
_GAP = 100
"""Characters between two parts that are shown rather than left out."""
_WORD = 30
"""Characters within which a part looks for the border of a word."""


def choose_relevant(gold: Gold) -> Bools:
    """Return the judgements that a page may show: of each topic those with most relevant text."""
    judgements = gold.judgements
    rows = np.flatnonzero(judgements.relevant)
    rows = rows[np.lexsort((-judgements.rel_size[rows], judgements.topic[rows]))]
    topic = judgements.topic[rows]
    found = np.zeros(len(judgements), dtype=bool)
    found[rows[np.arange(len(rows)) - np.searchsorted(topic, topic) < _RELEVANT]] = True
    return found


def select_results(alignment: Alignment, lengths: Ints) -> pl.DataFrame:
    """Return the results in relevant documents, and those at the top ranks.

    Columns are topic (its number), row (of the judgement, -1 without one), doc (null with one),
    rank, start and end.
    """
    run, gold, row = alignment.run, alignment.gold, alignment.row
    shown = np.append(gold.cached(choose_relevant), False)[row] | (run.position <= _TOP)
    kept = np.flatnonzero(shown)
    frame = pl.DataFrame(
        {
            "topic": alignment.judged_topic[run.topic[kept]],
            "row": row[kept],
            "rank": run.position[kept],
            "start": np.where(lengths >= 0, run.start, -1)[kept],
            "end": np.where(lengths >= 0, run.start + lengths, -1)[kept],
            "number": run.documents.number[kept],
        },
        schema=dict.fromkeys(("topic", "row", "rank", "start", "end", "number"), pl.Int32),
    )
    unjudged = pl.when(pl.col("row") < 0).then(run.doc.gather(kept)).alias("doc")
    frame = frame.with_columns(unjudged)
    return frame.filter(pl.int_range(pl.len()).over("number") < _EACH).drop("number")


def document_views(
    gold: Gold,
    profiles: Iterable[pl.DataFrame],
    texts: SourceTexts | None,
    *,
    budget: int,
    partial: bool = False,
) -> tuple[dict[str, Any], str]:
    """Return documents worth looking at, topic by topic, and the same packed for a page.

    `profiles` are the results that `select_results` returns for each run. Every topic gets its
    first document before any gets its second. Relevant documents come first, and among them those
    that more runs returned. The packed form has at most `budget` bytes. With `partial`, the source
    of the `texts` may lack documents.
    """
    judgements = gold.judgements
    returned = pl.concat(
        own.with_columns(pl.lit(number, pl.Int32).alias("run"))
        for number, own in enumerate(profiles)
    )
    judged_docs = pl.col("row").replace_strict(
        pl.int_range(len(judgements), eager=True), judgements.doc, default=None
    )
    returned = returned.with_columns(pl.col("doc").fill_null(judged_docs))
    size = _VIEW_BYTES + (0 if texts is None else _TEXT_BYTES)
    views, candidates = _choose_views(gold, returned, size, budget)
    least = len({view["topic"] for view in views})
    sources: dict[str, tuple[str, dict[str, Any]]] = {}
    odd: list[str] = []
    if texts is not None and views:
        sources, odd = _read_texts(judgements, views, texts, partial=partial)
    step, kept = 0, len(views)
    while True:
        limits = _EXCERPTS[step]
        each = max(limits.results, 1)
        shown = [
            view | {"results": [found[:4] for found in view["results"] if found[4] < each]}
            for view in views[:kept]
        ]
        data: dict[str, Any] = {
            "views": shown,
            "texts": _cut_texts(sources, shown, limits) if sources else {},
            "each": each,
            "left_out": candidates - len(shown),
            "has_source": texts is not None,
            "notes": [f"texts of another length than judged, not shown: {shorten_list(odd)}"]
            * bool(odd),
        }
        data["without_text"] = len({own["doc"] for own in shown}) - len(data["texts"])
        data["is_cut"] = any(len(own["parts"]) > 2 for own in data["texts"].values())
        text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
        raw = text.encode(errors="replace")
        # What is small is stored: versions of zlib compress to other bytes.
        packed = b64encode(zlib.compress(raw, 6 if len(raw) > _STORED else 0)).decode()
        if len(packed) <= budget or not shown:
            return data, packed
        # First less of each document, then fewer documents, down to one for each topic; then less
        # again, then fewer texts.
        share = budget / len(packed)
        if step < _FULL or (kept <= least and step < len(_EXCERPTS) - 1):
            step += 1
        elif kept <= least and sources:
            fewer = min(len(sources) - 1, int(len(sources) * share))
            sources = dict(islice(sources.items(), fewer))
        else:
            kept = max(min(kept - 1, int(kept * share)), least if kept > least else 0)


def _choose_views(
    gold: Gold, returned: pl.DataFrame, size: int, budget: int
) -> tuple[list[dict[str, Any]], int]:
    """Return documents to show, the most interesting first, and how many there are to choose from.

    A view has the relevant spans of a document, and of each result run, rank, start, end and its
    number among those of its run. A view takes `size` bytes beside its results.
    """
    judgements = gold.judgements
    rows = np.flatnonzero(gold.cached(choose_relevant))
    relevant = pl.DataFrame(
        {"topic": judgements.topic[rows], "row": rows},
        schema={"topic": pl.Int32, "row": pl.Int32},
    ).with_columns(judgements.doc.gather(rows).alias("doc"), relevant=True)
    found = returned.group_by("topic", "doc").agg(
        pl.col("run").n_unique().alias("runs"), pl.len().alias("results")
    )
    both = found.join(relevant, on=["topic", "doc"], how="full", coalesce=True).with_columns(
        pl.col("relevant").fill_null(value=False), pl.col("runs", "results").fill_null(0)
    )
    ranked = both.sort(
        ["topic", "relevant", "runs", "doc"], descending=[False, True, True, False]
    ).with_columns(
        level=pl.int_range(pl.len()).over("topic"),
        other=(~pl.col("relevant")).cum_sum().over("topic"),
    )
    ranked = ranked.filter(pl.col("other") <= _OTHERS).sort("level", "topic")
    least = ranked["topic"].n_unique()
    total = np.cumsum(size + _RESULT_BYTES * ranked["results"].to_numpy())
    chosen = ranked.head(max(int(np.searchsorted(total, budget, side="right")), least))
    lengths = dict(zip(judgements.documents.names, judgements.documents.length, strict=True))
    views: dict[tuple[int, str], dict[str, Any]] = {}
    for topic, doc, is_relevant, row in chosen.select("topic", "doc", "relevant", "row").rows():
        views[topic, doc] = {
            "topic": judgements.topics[topic],
            "doc": doc,
            "relevant": is_relevant,
            "length": int(lengths.get(doc, -1)),
            "spans": [list(span) for span in judgements.passages(row)] if is_relevant else [],
            "bep": int(judgements.bep[row]) if is_relevant else -1,
            "results": [],
        }
    shown = returned.join(chosen, on=["topic", "doc"], how="semi").sort("run", "rank")
    nth = pl.int_range(pl.len()).over("topic", "doc", "run").alias("nth")
    columns = shown.select("topic", "doc", "run", "rank", "start", "end", nth)
    for topic, doc, *result in columns.iter_rows():
        views[topic, doc]["results"].append(result)
    return list(views.values()), len(ranked)


# -- texts -------------------------------------------------------------------------------------


def _read_texts(
    judgements: Judgements, views: list[dict[str, Any]], texts: SourceTexts, *, partial: bool
) -> tuple[dict[str, tuple[str, dict[str, Any]]], list[str]]:
    """Return the texts of documents with their elements, and the documents of another length."""
    ends: dict[str, int] = {}
    for view in views:
        last = max((end for _, end in view["spans"]), default=0)
        ends[view["doc"]] = max(ends.get(view["doc"], 0), last)
    docs = list(ends)
    markup: dict[str, Markup] = {}
    marked = replace(texts, keep=keep_attributes)
    found = {own.doc: own.text for own in marked.read(docs, markup=markup)}
    missing = [doc for doc in docs if doc not in found]
    if not found:
        reason = f"holds no document of the report, such as {docs[0]!r}"
        raise InputError.at("documents.missing", str(texts.source), None, reason)
    if missing and not partial:
        reason = f"holds no document {min(missing)!r}, which is judged"
        raise InputError.at("collection.unknown_document", str(texts.source), None, reason)
    known = dict(zip(judgements.documents.names, judgements.documents.length, strict=True))
    odd = [
        doc
        for doc, text in found.items()
        if known.get(doc, -1) not in (-1, len(text)) or ends[doc] > len(text)
    ]
    if odd and len(odd) == len(found):
        reason = f"document {odd[0]!r} has another length than the document that was judged"
        raise InputError.at("collection.length", str(texts.source), None, reason)
    return {
        doc: (text, lay_out(make_elements(markup[doc]), text))
        for doc, text in found.items()
        if doc not in odd
    }, odd


def _cut_texts(
    sources: Mapping[str, tuple[str, dict[str, Any]]],
    views: Iterable[Mapping[str, Any]],
    limits: Excerpts,
) -> dict[str, dict[str, Any]]:
    """Return excerpts of documents: their parts as places in the document, text and elements."""
    wanted: dict[str, list[Span]] = {}
    for view in views:
        if view["doc"] in sources:
            wanted.setdefault(view["doc"], []).extend(_choose_parts(view, limits))
    found: dict[str, dict[str, Any]] = {}
    for doc, spans in wanted.items():
        text, structure = sources[doc]
        parts = _join_parts(spans, text)
        if len(text) <= limits.whole or not parts:
            parts = [(0, max(min(len(text), max(limits.whole, limits.context)), 1))]
        shown = "".join(text[start:end] for start, end in parts)
        own = _cut_structure(structure, parts)
        bounds = [place for part in parts for place in part]
        found[doc] = {"length": len(text), "parts": bounds, "text": shown, "structure": own}
    return found


def _choose_parts(view: Mapping[str, Any], limits: Excerpts) -> Iterator[Span]:
    """Yield the parts of a document that show relevant passages and the first results."""
    for start, end in view["spans"]:
        around = start - limits.context, end + limits.context
        yield from _shorten(around, limits.passage + 2 * limits.context)
    for _, _, start, end in view["results"] if limits.results else ():
        if start >= 0:
            yield from _shorten((start, end), limits.result)


def _shorten(span: Span, most: int) -> Iterator[Span]:
    """Yield the span, or of a long one the beginning and the end.

    >>> list(_shorten((0, 90), 30)), list(_shorten((0, 20), 30))
    ([(0, 20), (80, 90)], [(0, 20)])
    """
    start, end = span
    if end - start <= most:
        yield span
    else:
        yield start, start + 2 * most // 3
        yield end - most // 3, end


def _join_parts(spans: Iterable[Span], text: str) -> list[Span]:
    """Return disjoint parts in order, from word to word; those that nearly meet are one.

    >>> _join_parts([(900, 1200), (-50, 20), (60, 200)], "x" * 1000)
    [(0, 250), (850, 1000)]
    """
    parts: list[Span] = []
    for first, last in sorted(spans):
        start, end = max(first - _GAP // 2, 0), min(last + _GAP // 2, len(text))
        if start >= _GAP:
            start = text.find(" ", start, start + _WORD) + 1 or start
        if end <= len(text) - _GAP:
            end = max(text.rfind(" ", end - _WORD, end), 0) or end
        start, end = (0 if start < _GAP else start), (len(text) if end > len(text) - _GAP else end)
        if parts and start <= parts[-1][1]:
            parts[-1] = parts[-1][0], max(parts[-1][1], end)
        elif start < end:
            parts.append((start, end))
    return parts


def _cut_structure(structure: dict[str, Any], parts: list[Span]) -> dict[str, Any]:
    """Return the elements that have text in some part, at their places in the excerpt."""
    bounds = np.array(parts, dtype=np.int64)
    sizes = bounds[:, 1] - bounds[:, 0]
    places = np.column_stack([np.cumsum(sizes) - sizes, np.cumsum(sizes)]).ravel()
    start, end = np.array(structure["start"]), np.array(structure["end"])
    # Empty elements, such as images, are kept inside of a part.
    part = np.minimum(np.searchsorted(bounds[:, 1], start), len(bounds) - 1)
    inside = (bounds[part, 0] < start) & (start < bounds[part, 1])
    first, last = (np.interp(at, bounds.ravel(), places).astype(int) for at in (start, end))
    kept = np.flatnonzero((first < last) | ((start == end) & inside))
    number = np.full(len(start) + 1, -1)
    number[kept] = np.arange(len(kept))
    looks = structure["looks"]
    return structure | {
        "tag": np.array(structure["tag"])[kept].tolist(),
        "parent": number[np.array(structure["parent"])[kept]].tolist(),
        "start": first[kept].tolist(),
        "end": last[kept].tolist(),
        "role": [structure["role"][i] for i in kept.tolist()],
        "looks": {str(number[int(i)]): look for i, look in looks.items() if number[int(i)] >= 0},
    }
