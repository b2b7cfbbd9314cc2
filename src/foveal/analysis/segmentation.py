"""Segmentations of documents into chunks, windows or elements, with names and offsets."""

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
from foveal.formats.rows import NAME_RULES, RowRule, check_rules, list_offset_rules, raise_problems
from foveal.model import UNKNOWN, Run
from foveal.spans import Ints

_HAS_TEXT = (pl.col("start") < pl.col("end")).fill_null(value=False)
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
        for doc, start, end in frame.filter((pl.col("start") < 0) | ~_HAS_TEXT).rows():
            raise UsageError(f"chunk [{start},{end}) of document {doc!r} holds no text")
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
            if length < 0:
                raise UsageError(f"windows end with document {doc!r}, whose length is not known")
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

    def to_frame(self) -> pl.DataFrame:
        """Return the units: columns id, doc, start, end."""
        return pl.DataFrame({"id": self.id, "doc": self.doc, "start": self.start, "end": self.end})

    def named(self, run: Run) -> Run:
        """Replace the spans of a run with unit names, for tools that know only documents.

        Every result must be a unit of the segmentation.
        """
        places = pl.DataFrame({"doc": run.doc, "start": run.start, "end": run.end})
        whole = np.full(len(run), UNKNOWN, dtype=np.int64)
        names = self._find(run, places)["id"]
        return run.with_columns(doc=names, start=np.zeros_like(whole), end=whole, xpath=None)

    def placed(self, run: Run) -> Run:
        """Replace the unit names of a run with spans, the inverse of `named`."""
        found = self._find(run, pl.DataFrame({"id": run.doc}))
        start, end = (found[name].to_numpy().astype(np.int64) for name in ("start", "end"))
        return run.with_columns(doc=found["doc"], start=start, end=end)

    def _find(self, run: Run, keys: pl.DataFrame) -> pl.DataFrame:
        """Return the unit of each result by its name or place; refuse a run with other results."""
        by = keys.columns
        units = self.to_frame().unique(by, keep="first", maintain_order=True)
        found = keys.join(units, on=by, how="left", maintain_order="left")
        lost = found.select(pl.any_horizontal(pl.all().is_null())).to_series().arg_true()
        if len(lost):
            raise InputError(
                Problem(
                    "run.unknown_unit",
                    run.source.path,
                    int(run.line[i]),
                    f"{run.doc[i]!r} [{run.start[i]},{run.end[i]}) is not a unit of {self.name!r}",
                )
                for i in lost
            )
        return found


def _make_segmentation(name: str, places: pl.DataFrame, ids: pl.Series | None) -> Segmentation:
    """Make a segmentation; refuse none or equal names. Units without an id are named by place."""
    if not len(places):
        raise UsageError(f"the division {name!r} has no unit")
    by_place = pl.format("{}:{}-{}", "doc", "start", "end")
    given = pl.lit(None) if ids is None else ids
    ids = places.select(id=pl.coalesce(given, by_place)).to_series()
    if len(twice := ids.filter(ids.is_duplicated())):
        raise UsageError(f"two units of the division {name!r} are called {twice[0]!r}")
    start, end = (places[column].to_numpy().copy() for column in ("start", "end"))
    return Segmentation(name, places["doc"], start, end, ids)


_NO_TEXT = "start {start}, end {end}; expected the place of a unit, or results of a run with places"
_UNIT_RULES = (
    *NAME_RULES,
    *list_offset_rules(),
    RowRule("segmentation.offsets", ~_HAS_TEXT, _NO_TEXT),
)


def read_segmentation(path: str | Path) -> Segmentation:
    """Read units from JSON Lines: ``doc``, ``start``, ``end`` and optionally ``id`` of each.

    A run is read as the segmentation into its results, each once.
    """
    source = Source.open(str(path))
    header, line = read_header(source, **CODEPOINTS)
    table = tabulate_objects(source, {"topic": pl.String, **_PLACE, "id": pl.String}, line)
    frame = table.checked().frame.with_columns(pl.col("topic").fill_null("-"))
    raise_problems(check_rules(source.path, table.line, frame, _UNIT_RULES))
    units = frame.unique(["doc", "start", "end"], keep="first", maintain_order=True)
    try:
        return _make_segmentation(str(header.get("run") or source.stem), units, units["id"])
    except UsageError as error:
        raise source.error("segmentation.units", None, str(error)) from None
