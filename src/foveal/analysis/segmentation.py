"""Segmentations of documents into chunks, windows, pages or elements, with names and offsets."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from foveal.collection import Collection
from foveal.errors import InputError, Problem, UsageError
from foveal.files.source import Source
from foveal.formats.objects import CODEPOINTS, read_header, tabulate_objects
from foveal.formats.rows import (
    NAME_RULES,
    RowRule,
    check_rules,
    list_offset_rules,
    raise_problems,
)
from foveal.model import UNKNOWN, Run
from foveal.spans import Ints

__all__ = ["Segmentation", "read_pages", "read_segmentation"]

_PLACE = {"doc": pl.String, "start": pl.Int64, "end": pl.Int64}


@dataclass(frozen=True, eq=False)
class Segmentation:
    """Units of documents, which may leave out text and may overlap."""

    name: str
    doc: pl.Series
    start: Ints
    end: Ints
    """The place of each unit in code points."""
    id: pl.Series
    """The unique name of each unit."""

    @classmethod
    def of(
        cls, chunks: Iterable[tuple[str, int, int]], *, name: str = "chunks", ids: Any = None
    ) -> Segmentation:
        """Make a segmentation from ``(doc, start, end)``; by default offsets name a unit.

        >>> Segmentation.of([("D1", 0, 40), ("D1", 40, 90)]).id.to_list()
        ['D1:0-40', 'D1:40-90']
        """
        frame = pl.DataFrame(list(chunks), schema=_PLACE, orient="row")
        for doc, start, end in frame.filter(
            (pl.col("start") < 0) | (pl.col("end") <= pl.col("start"))
        ).rows():
            raise UsageError(
                f"chunk [{start},{end}) of document {doc!r} is no text; expected 0 <= start < end"
            )
        return _make_segmentation(name, frame, None if ids is None else pl.Series(list(ids)))

    @classmethod
    def windows(
        cls, lengths: Mapping[str, int], size: int, step: int | None = None, *, name: str = ""
    ) -> Segmentation:
        """Make windows of a fixed size; the last one of a document ends with it.

        >>> division = Segmentation.windows({"D1": 100}, 50, 30)
        >>> list(zip(division.start.tolist(), division.end.tolist()))
        [(0, 50), (30, 80), (60, 100)]
        """
        step = size if step is None else step
        if size < 1 or step < 1:
            raise UsageError(f"windows of {size} every {step} characters; expected 1 or more")
        chunks = []
        for doc, length in lengths.items():
            # A window that starts after the one before has reached the end adds nothing new.
            last = max(length - size + step, 1) if step < size else length
            places = range(0, min(last, length), step)
            chunks += [(doc, at, min(at + size, length)) for at in places]
        over = "" if step == size else f"/{step}"
        return cls.of(chunks, name=name or f"windows {size}{over}")

    @classmethod
    def elements(cls, collection: Collection, tags: Sequence[str]) -> Segmentation:
        """Return the elements of these tags with text, named by document and XPath."""
        known = np.array(collection.path_tags(), dtype=object)
        missing = [tag for tag in tags if tag not in known]
        if missing:
            raise UsageError(f"the collection has no element {missing[0]!r}")
        wanted = np.isin(known, list(tags))
        docs = collection.documents["doc"]
        trees = collection.trees(docs)
        chosen = np.flatnonzero(wanted[trees.path] & (trees.end > trees.start))
        of_doc = np.repeat(np.arange(len(docs)), np.diff(trees.bounds))[chosen]
        start, end = trees.start[chosen], trees.end[chosen]
        places = pl.DataFrame({"doc": docs.gather(of_doc), "start": start, "end": end})
        ids = places["doc"] + collection.xpaths(trees.path[chosen])
        return _make_segmentation(",".join(tags), places, ids)

    def __len__(self) -> int:
        return len(self.doc)

    def __repr__(self) -> str:
        return f"<Segmentation {self.name!r}: {len(self)} units of {self.doc.n_unique()} documents>"

    def to_frame(self) -> pl.DataFrame:
        """Return the units: columns id, doc, start, end."""
        return pl.DataFrame({"id": self.id, "doc": self.doc, "start": self.start, "end": self.end})

    def named(self, run: Run) -> Run:
        """Replace the spans of a run with unit names, for tools that know only documents.

        Every result must be a unit of the segmentation.
        """
        frame = run.to_frame().select("doc", "start", "end")
        units = self.to_frame().unique(["doc", "start", "end"], keep="first", maintain_order=True)
        found = frame.join(units, on=["doc", "start", "end"], how="left", maintain_order="left")
        self._check_found(run, found["id"], "[{},{}) of document {!r} is no unit of the division")
        whole = np.full(len(run), UNKNOWN, dtype=np.int64)
        return run.with_columns(doc=found["id"], start=np.zeros_like(whole), end=whole, xpath=None)

    def placed(self, run: Run) -> Run:
        """Replace the unit names of a run with spans, the inverse of `named`."""
        found = pl.DataFrame({"id": run.doc}).join(
            self.to_frame(), on="id", how="left", maintain_order="left"
        )
        self._check_found(run, found["doc"], "{2!r} is the name of no unit of the division")
        start, end = (found[name].to_numpy().astype(np.int64) for name in ("start", "end"))
        return run.with_columns(doc=found["doc"], start=start, end=end)

    def _check_found(self, run: Run, found: pl.Series, message: str) -> None:
        """Refuse a run with results that are not units."""
        lost = np.flatnonzero(found.is_null().to_numpy())
        if len(lost):
            raise InputError(
                Problem(
                    "run.unknown_unit",
                    run.source.path,
                    int(run.line[i]),
                    message.format(int(run.start[i]), int(run.end[i]), run.doc[i])
                    + f" {self.name!r}",
                )
                for i in lost.tolist()
            )


def _make_segmentation(name: str, places: pl.DataFrame, ids: pl.Series | None) -> Segmentation:
    """Make a segmentation; refuse none or equal names."""
    if not len(places):
        raise UsageError(f"the division {name!r} has no unit")
    if ids is None:
        ids = places.select(pl.format("{}:{}-{}", "doc", "start", "end")).to_series()
    if len(twice := ids.filter(ids.is_duplicated())):
        raise UsageError(f"two units of the division {name!r} are called {twice[0]!r}")
    start, end = (places[column].to_numpy().copy() for column in ("start", "end"))
    return Segmentation(name, places["doc"], start, end, ids.rename("id"))


_UNIT_RULES = (
    *NAME_RULES,
    *list_offset_rules(),
    RowRule(
        "segmentation.offsets",
        pl.all_horizontal(pl.col("start", "end").is_null()),
        "start and end are missing; expected without topic all chunks of a document, with topics "
        "a run",
    ),
    RowRule(
        "segmentation.empty_unit",
        pl.col("start") == pl.col("end"),
        "a unit without text at {start}",
    ),
)


def read_segmentation(path: str | Path) -> Segmentation:
    """Read units from JSON Lines: ``doc``, ``start``, ``end`` and optionally ``id`` of each.

    A run is read as the segmentation into its results, each once.
    """
    source = Source.open(str(path))
    header, line = read_header(source, **CODEPOINTS)
    schema = {"topic": pl.String, **_PLACE, "id": pl.String}
    table = tabulate_objects(source, schema, line).checked()
    frame = table.frame.with_columns(pl.col("topic").fill_null("-"))
    raise_problems(check_rules(source.path, table.line, frame, _UNIT_RULES))
    units = frame.unique(["doc", "start", "end"], keep="first", maintain_order=True)
    ids = units["id"]
    if ids.null_count() not in (0, len(ids)):
        raise source.error(
            "segmentation.ids", None, "some units have an id and others none; expected all or none"
        )
    if not len(units):
        raise source.error(
            "segmentation.empty", None, "holds no unit; expected doc, start and end on each line"
        )
    try:
        name = str(header.get("run") or source.stem)
        return _make_segmentation(name, units, None if ids.null_count() else ids)
    except UsageError as error:
        raise source.error("segmentation.ids", None, str(error)) from None


_OFFSETS = pl.col("offsets").list
_PAGE_RULES = (
    RowRule(
        "segmentation.pages",
        pl.col("doc").is_null()
        | (_OFFSETS.len().fill_null(0) == 0)
        | _OFFSETS.eval(pl.element().is_null() | (pl.element() < 0)).list.any()
        | (_OFFSETS.diff(null_behavior="drop").list.min() <= 0),
        'expected {{"doc": NAME, "offsets": [0, 1800, ...]}} with rising offsets',
    ),
    RowRule(
        "segmentation.length",
        pl.col("length").is_null() | (pl.col("length") <= _OFFSETS.last()),
        "the last page of {doc} has no end; give the length of the document",
    ),
)


def read_pages(path: str | Path, lengths: Mapping[str, int]) -> Segmentation:
    """Read pages from JSON Lines: ``doc`` and the ``offsets`` at which its pages begin.

    The last page ends with the document, whose ``length`` is in the line or in `lengths`.
    """
    source = Source.open(str(path))
    schema = {"doc": pl.String, "offsets": pl.List(pl.Int64), "length": pl.Int64}
    table = tabulate_objects(source, schema, 0).checked()
    known = pl.col("doc").replace_strict(lengths, default=None, return_dtype=pl.Int64)
    frame = table.frame.with_columns(pl.coalesce("length", known))
    raise_problems(check_rules(source.path, table.line, frame, _PAGE_RULES))
    if not len(frame):
        raise source.error("segmentation.empty", None, "holds no page")
    pages = frame.select(
        "doc",
        pl.col("offsets").alias("start"),
        pl.concat_list(_OFFSETS.slice(1), "length").alias("end"),
        pl.int_ranges(1, _OFFSETS.len() + 1).alias("page"),
    ).explode("start", "end", "page")
    ids = pages.select(pl.format("{}:page{}", "doc", "page")).to_series()
    return _make_segmentation(source.stem, pages, ids)
