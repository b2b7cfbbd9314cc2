"""Several assessors of one document as one: the text, elements and evidence they agree on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from foveal import spans
from foveal.model.judgements import point_to
from foveal.model.run import UNKNOWN
from foveal.spans import Floats, Ints

if TYPE_CHECKING:
    from foveal.model.judgements import Judgements

_NOWHERE = np.iinfo(np.int64).max
# Grades from weak to strong, in the order in which they decide; after them rsize does. A scale has
# some of these columns, and null in the others decides nothing.
_STRENGTH: dict[str, tuple[str, ...]] = {
    "relevance": ("0", "1", "2", "3"),
    "coverage": ("N", "S", "L", "E"),
    "exhaustivity": ("0", "?", "1", "2", "3"),
    "specificity": ("0", "1", "2", "3"),
}


def combine_columns(judgements: Judgements, policy: str) -> dict[str, Any]:
    """Return the fields of `Judgements` with one row for each topic and document."""
    rows, pair = judgements.pairs
    votes = np.bincount(pair, minlength=len(rows))
    policies = {"union": np.ones_like(votes), "majority": votes // 2 + 1, "intersection": votes}
    needed = policies[policy]
    length = np.full(len(rows), UNKNOWN, dtype=np.int64)
    np.maximum.at(length, pair, judgements.length)
    found = agree_spans(judgements, needed, pair)
    # All documents side by side on one axis.
    bep, extent = judgements.bep, np.zeros(len(rows), dtype=np.int64)
    np.maximum.at(extent, pair, np.maximum(judgements.reach, bep + 1))
    base = spans.lay_out(extent)
    own = np.repeat(base, np.diff(found["bounds"]))
    remaining = spans.Coverage(found["start"] + own, found["end"] + own)
    # The earliest best entry point; where text needs several votes, one inside the remaining text.
    first_bep, place = np.full(len(rows), _NOWHERE), base[pair] + np.maximum(bep, 0)
    inside = remaining.within(place, place + 1) > 0
    counts = (bep >= 0) & found["relevant"][pair] & (inside | (needed[pair] == 1))
    np.minimum.at(first_bep, pair[counts], bep[counts])
    places = judgements.places
    if places is not None:
        # Only the text, on which a collection puts places, shows which of them assessors share.
        places = point_to(places, pair)
        places = places.filter(pl.Series(needed[places["row"].to_numpy()] == 1))
    return {
        **found,
        **{name: judgements.columns[name][rows] for name in ("topic", "doc", "line", "file")},
        **dict.fromkeys(("declared", "assessor")),
        "document_grade": _choose_grades(judgements, needed, pair),
        "length": length,
        "bep": np.where(first_bep < _NOWHERE, first_bep, UNKNOWN),
        "elements": _choose_elements(judgements, needed, pair),
        "places": places,
        "evidence": _list_evidence(judgements, pair, base, remaining),
        "alternatives": _list_alternatives(judgements, pair, base, remaining),
    }


def agree_spans(judgements: Judgements, needed: Ints, pair: Ints) -> dict[str, Any]:
    """Return the spans that at least `needed` rows of each pair highlight, and relevance.

    `pair` numbers the topic and document of each row.
    """
    kept = slice(None) if judgements.grade is None else judgements.grade > 0
    start, end, row = judgements.start[kept], judgements.end[kept], judgements.row[kept]
    # An assessor who highlights a character twice has one vote: unite within rows first.
    start, end, row = _cover(start, end, row, np.ones(len(judgements), dtype=np.int64))
    start, end, owner = _cover(start, end, pair[row], needed)
    counts = np.bincount(owner, minlength=len(needed)).astype(np.int64)
    relevant = counts > 0
    if not judgements.has_text:
        relevant = np.bincount(pair, judgements.relevant, len(needed)) >= needed
    return {
        "bounds": np.concatenate([[0], np.cumsum(counts)]),
        "start": start,
        "end": end,
        "relevant": relevant,
        **dict.fromkeys(("grade", "quotes", "sets", "slots", "aspects")),
    }


def _cover(start: Ints, end: Ints, group: Ints, needed: Ints) -> tuple[Ints, Ints, Ints]:
    """Return the spans that at least `needed` spans of their group cover, and their groups."""
    extent = np.zeros(len(needed), dtype=np.int64)
    np.maximum.at(extent, group, end)
    base = spans.lay_out(extent)
    start, end = spans.find_covered(start + base[group], end + base[group], needed[group])
    group = np.searchsorted(base, start, side="right") - 1
    return start - base[group], end - base[group], group


def _choose_grades(judgements: Judgements, needed: Ints, pair: Ints) -> Floats | None:
    """Return the `needed`-th highest grade that assessors give each document."""
    grade = judgements.document_grade
    if grade is None:
        return None
    order = np.lexsort((-grade, pair))
    first = np.searchsorted(pair[order], np.arange(len(needed)))
    chosen: Floats = grade[order[first + needed - 1]]
    return chosen


def _choose_elements(judgements: Judgements, needed: Ints, pair: Ints) -> pl.DataFrame | None:
    """Return the elements of the combined rows with their `needed`-th strongest assessments.

    At least `needed` assessors find an element that strong. An assessor who judged the document
    and does not list the element finds it weaker than any who does: listed by too few, it is
    dropped.
    """
    elements = judgements.elements
    if elements is None:
        return None
    if "line" in elements.columns and "file" not in elements.columns:
        # A combined row may be from several files, so that lines need theirs.
        elements = elements.with_columns(file=judgements.file[elements["row"].to_numpy()])
    elements = point_to(elements, pair)
    strength = [
        pl.col(name).replace_strict(list(order), range(len(order)), default=None)
        for name, order in _STRENGTH.items()
        if name in elements.columns
    ]
    strength += [pl.col("^rsize$")]
    group = ("row", "xpath")
    needed_there = pl.Series(needed[elements["row"].to_numpy()])
    return (
        elements.with_columns(needed=needed_there, first=pl.int_range(pl.len()))
        .with_columns(pl.col("first").min().over(group))
        .sort("row", *strength, descending=[False, *[True] * len(strength)], nulls_last=True)
        .filter(pl.int_range(pl.len()).over(group) == pl.col("needed") - 1)
        .sort("row", "first")  # in the order of the first assessor who lists each
        .select(elements.columns)
    )


def _list_evidence(
    judgements: Judgements, pair: Ints, base: Ints, text: spans.Coverage
) -> pl.DataFrame | None:
    """Return the spans of every evidence set; None if spans have neither sets nor grades.

    A set belongs to one assessor, and spans all documents of the topic. A span that an assessor
    gives to no set belongs to all of their sets. An assessor without sets in a topic with some gets
    one set with all their spans. A topic without any set has a single one with all its text. The
    spans are cut to the `text` that the assessors agree on, on an axis on which the combined rows
    begin at `base`. `pair` is the combined row of each row.
    """
    if judgements.evidence is not None:
        return point_to(judgements.evidence, pair)
    grade = judgements.grade
    if judgements.sets is None and (grade is None or not ((grade > 0) & (grade != 1)).any()):
        return None
    named = _explode_spans(judgements, pair, "sets")
    maker = ("topic", "assessor")
    own = named.drop_nulls("sets").select(*maker, "sets").unique(maintain_order=True)
    # In a topic without any set all assessors have one in common.
    alone = ~pl.col("topic").is_in(own["topic"].unique().to_list())
    named = named.with_columns(assessor=pl.when(~alone).then("assessor"))
    everywhere = named.filter(pl.col("sets").is_null()).drop("sets")
    spread = everywhere.join(own, on=maker, how="left", nulls_equal=True, maintain_order="left")
    table = pl.concat([named.drop_nulls("sets"), spread.select(named.columns)]).with_columns(
        set=pl.struct(*maker, "sets").rank("dense").cast(pl.Int64) - 1
    )
    table = table.sort("set", "row", "start", "end", "grade").unique(maintain_order=True)
    return _cut_spans(table.select("row", "set", "start", "end", "grade"), base, text)


def _list_alternatives(
    judgements: Judgements, pair: Ints, base: Ints, text: spans.Coverage
) -> pl.DataFrame | None:
    """Return the spans that can fill each slot, cut to the `text`; None if no span names a slot.

    Assessors who use one name for a slot of a topic mean the same slot.
    """
    if judgements.alternatives is not None:
        return point_to(judgements.alternatives, pair)
    if judgements.slots is None or not judgements.slots.list.len().sum():
        return None
    named = _explode_spans(judgements, pair, "slots").drop_nulls("slots")
    slot = pl.struct("topic", "slots").rank("dense").cast(pl.Int64) - 1
    table = named.select("row", "start", "end", slot=slot).sort("slot", "row", "start", "end")
    return _cut_spans(table.unique(maintain_order=True), base, text)


def _explode_spans(judgements: Judgements, pair: Ints, label: str) -> pl.DataFrame:
    """Return the relevant spans, once for each of their sets or slots, null where they have none.

    ``row`` is the combined row.
    """
    row, assessor, names = judgements.row, judgements.assessor, getattr(judgements, label)
    missing = pl.Series([None] * len(row), dtype=pl.String)
    named = pl.DataFrame(
        {
            "topic": judgements.topic[row],
            "assessor": missing if assessor is None else assessor.gather(row),
            label: missing.cast(pl.List(pl.String)) if names is None else names,
            "row": pair[row],
            "start": judgements.start,
            "end": judgements.end,
            "grade": np.ones(len(row)) if judgements.grade is None else judgements.grade,
        }
    ).filter((pl.col("grade") > 0) & (pl.col("end") > pl.col("start")))
    return named.explode(label, keep_nulls=True, empty_as_null=True)


def _cut_spans(table: pl.DataFrame, base: Ints, text: spans.Coverage) -> pl.DataFrame:
    """Return the spans of combined rows cut to the text that the assessors agree on."""
    own = base[table["row"].to_numpy()]
    low, high = own + table["start"].to_numpy(), own + table["end"].to_numpy()
    span, part = spans.pair_overlaps(low, high, text.start, text.end)
    return table[span].with_columns(
        start=pl.Series(np.maximum(low[span], text.start[part]) - own[span], dtype=pl.Int64),
        end=pl.Series(np.minimum(high[span], text.end[part]) - own[span], dtype=pl.Int64),
    )
