"""Several judgement files as one set."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from foveal.errors import InputError, UsageError
from foveal.lookup import sort_topics
from foveal.spans import Ints

if TYPE_CHECKING:
    from foveal.model.judgements import Judgements

__all__ = ["merged_columns", "share_documents"]

_ALIKE = {
    "scale": "elements are graded on the scale of {found} here, but of {first} in {path}",
    "whitespace": "white space counts by the rule {found!r} here, but by {first!r} in {path}",
}
"""What files of one set must not say differently."""


def merged_columns(parts: Sequence[Judgements], *, several: bool | None = None) -> dict[str, Any]:
    """The fields of `Judgements` that hold what all parts hold.

    Whether `several` files judge one document of a topic is told, or found out here.
    """
    _check_alike(parts)
    topics = sort_topics(topic for part in parts for topic in part.topics)
    code = {topic: i for i, topic in enumerate(topics)}
    first_file = np.cumsum([0, *(len(part.sources) for part in parts[:-1])]).tolist()
    grades = [np.ones(len(part.start)) if part.grade is None else part.grade for part in parts]
    counts = np.concatenate([np.diff(part.bounds) for part in parts])
    topic = np.concatenate(
        [np.array([code[t] for t in p.topics], dtype=np.int64)[p.topic] for p in parts]
    )
    doc = pl.concat([part.doc for part in parts])
    file = np.concatenate(
        [part.file + shift for part, shift in zip(parts, first_file, strict=True)]
    )
    return {
        "topics": topics,
        "topic": topic,
        "doc": doc,
        **{
            name: np.concatenate([getattr(part, name) for part in parts])
            for name in ("length", "bep", "relevant", "start", "end", "line")
        },
        "bounds": np.concatenate([[0], np.cumsum(counts)]),
        "file": file,
        "sources": tuple(source for part in parts for source in part.sources),
        "has_text": parts[0].has_text,
        "grade": np.concatenate(grades),
        "assessor": _assessors(
            parts, several=share_documents(topic, doc, file) if several is None else several
        ),
        "quotes": _all_quotes(parts),
        "sets": _all_sets(parts),
        "aspects": _all_aspects(parts),
        "header": _shared([part.header or {} for part in parts]) | _declared(parts),
        "elements": _tables(parts, "elements"),
        "places": _tables(parts, "places"),
        "notes": tuple(note for part in parts for note in part.notes),
    }


def _check_alike(parts: Sequence[Judgements]) -> None:
    if len({part.has_text for part in parts}) > 1:
        raise UsageError(
            "judgements of whole documents (TREC) and of passages cannot be mixed; "
            "score them separately"
        )
    for name, message in _ALIKE.items():
        declared = [(part, value) for part in parts if (value := _says(part, name)) is not None]
        for part, found in declared:
            first_part, first = declared[0]
            if found != first:
                path = first_part.sources[0].path
                text = message.format(found=found, first=first, path=path)
                raise InputError.at("unclassified", part.sources[0].path, None, text)


def _says(part: Judgements, name: str) -> Any:
    """What a part declares; without a single element it has no say on their scale."""
    if name == "scale" and (part.elements is None or not len(part.elements)):
        return None
    return (part.header or {}).get(name)


def _declared(parts: Sequence[Judgements]) -> dict[str, Any]:
    """Scale and white space, also where a part has no say on them."""
    found = {name: [_says(part, name) for part in parts] for name in _ALIKE}
    return {name: said[0] for name, values in found.items() if (said := [v for v in values if v])}


def _assessors(parts: Sequence[Judgements], *, several: bool) -> pl.Series | None:
    """The assessor of each row, None if no row has one.

    Rows that do not name one are named after their file, but only if there are `several`: files
    that share no document of a topic may all be of one assessor.
    """
    stems = [part.sources[0].stem for part in parts]
    named = []
    for part, stem in zip(parts, stems, strict=True):
        own = pl.Series([None] * len(part)) if part.assessor is None else part.assessor
        own = own.cast(pl.String)
        if several:
            own = own.fill_null(stem if stems.count(stem) == 1 else part.sources[0].path)
        named.append(own)
    assessor = pl.concat(named)
    return None if assessor.null_count() == len(assessor) else assessor


def share_documents(topic: Ints, doc: pl.Series, file: Ints) -> bool:
    """Whether two files judge one document of a topic."""
    judged = pl.DataFrame({"topic": topic, "doc": doc, "file": file}).unique()
    return len(judged.select("topic", "doc").unique()) < len(judged)


def _tables(parts: Sequence[Judgements], name: str) -> pl.DataFrame | None:
    """The elements or places of all parts, pointing to the rows of the whole."""
    tables, offset = [], 0
    for part in parts:
        table: pl.DataFrame | None = getattr(part, name)
        if table is not None:
            tables.append(table.with_columns(pl.col("row") + offset))
        offset += len(part)
    return pl.concat(tables, how="diagonal") if tables else None


def _all_quotes(parts: Sequence[Judgements]) -> pl.DataFrame | None:
    """The quotes of all spans, null where a file has none."""
    if all(part.quotes is None for part in parts):
        return None
    schema = dict.fromkeys(("quote", "prefix", "suffix"), pl.String)
    return pl.concat(
        pl.DataFrame([[None] * len(part.start)] * 3, schema=schema)
        if part.quotes is None
        else part.quotes.select(*schema)
        for part in parts
    )


def _all_aspects(parts: Sequence[Judgements]) -> pl.Series | None:
    """The aspects of all spans, none where a file has none."""
    if all(part.aspects is None for part in parts):
        return None
    kind = pl.List(pl.String)
    return pl.concat(
        pl.Series([[]] * len(part.start), dtype=kind)
        if part.aspects is None
        else part.aspects.cast(kind)
        for part in parts
    )


def _all_sets(parts: Sequence[Judgements]) -> pl.Series | None:
    """The evidence sets of all spans, null where a file has none."""
    if all(part.sets is None for part in parts):
        return None
    kind = pl.List(pl.String)
    return pl.concat(
        pl.Series([None] * len(part.start), dtype=kind)
        if part.sets is None
        else part.sets.alias("")
        for part in parts
    )


def _shared(headers: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """What all headers say alike."""
    first = headers[0].items()
    return {name: value for name, value in first if all(h.get(name) == value for h in headers)}
