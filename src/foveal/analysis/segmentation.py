"""Segmentations of documents into chunks, windows, pages or elements, with names and offsets."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from foveal import spans
from foveal.collection import Collection
from foveal.errors import InputError, Problem, UsageError
from foveal.files.source import Source
from foveal.formats.objects import CODEPOINTS, loads, read_header, tabulate_objects
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

_CHUNK: dict[str, Any] = {
    "topic": pl.String,
    "doc": pl.String,
    "start": pl.Int64,
    "end": pl.Int64,
    "id": pl.String,
}
_MEANT_ALL = "without topic all chunks of a document, with topics a run"


@dataclass(frozen=True, eq=False)
class Segmentation:
    """Units of documents, which may leave out text and may overlap.

    Parameters
    ----------
    name : str
    doc : polars.Series of str
    start, end : int64 arrays
        The place of each unit in code points.
    id : polars.Series of str
        The unique name of each unit.
    """

    name: str
    doc: pl.Series
    start: Ints
    end: Ints
    id: pl.Series

    @classmethod
    def of(
        cls, chunks: Iterable[tuple[str, int, int]], *, name: str = "chunks", ids: Any = None
    ) -> Segmentation:
        """Make a segmentation from ``(doc, start, end)``; by default offsets name a unit.

        >>> Segmentation.of([("D1", 0, 40), ("D1", 40, 90)]).id.to_list()
        ['D1:0-40', 'D1:40-90']
        """
        rows = list(chunks)
        for chunk in rows:
            if not 0 <= chunk[1] < chunk[2]:
                raise UsageError(
                    f"chunk [{chunk[1]},{chunk[2]}) of document {chunk[0]!r} is no text; expected "
                    "0 <= start < end"
                )
        doc = pl.Series([row[0] for row in rows], dtype=pl.String)
        start, end = (np.array([row[k] for row in rows], dtype=np.int64) for k in (1, 2))
        return _make_segmentation(
            name, doc, start, end, None if ids is None else pl.Series(list(ids))
        )

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
        doc = docs.gather(of_doc)
        ids = doc + collection.xpaths(trees.path[chosen])
        return _make_segmentation(",".join(tags), doc, trees.start[chosen], trees.end[chosen], ids)

    def __len__(self) -> int:
        return len(self.doc)

    def __repr__(self) -> str:
        return f"<Segmentation {self.name!r}: {len(self)} units of {self.doc.n_unique()} documents>"

    @cached_property
    def overlapping(self) -> bool:
        """True if any two units share text."""
        code = self.doc.cast(pl.Categorical).to_physical().to_numpy().astype(np.int64)
        first = np.unique(code, return_index=True)[1][np.unique(code, return_inverse=True)[1]]
        return bool(len(spans.conflicts(*spans.side_by_side(self.start, self.end, first))[0]))

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
        return replace(run, doc=found["id"], start=np.zeros_like(whole), end=whole, xpath=None)

    def placed(self, run: Run) -> Run:
        """Replace the unit names of a run with spans, the inverse of `named`."""
        found = pl.DataFrame({"id": run.doc}).join(
            self.to_frame(), on="id", how="left", maintain_order="left"
        )
        self._check_found(run, found["doc"], "{2!r} is the name of no unit of the division")
        start, end = (found[name].to_numpy().astype(np.int64) for name in ("start", "end"))
        return replace(run, doc=found["doc"], start=start, end=end)

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


def _make_segmentation(
    name: str, doc: pl.Series, start: Ints, end: Ints, ids: pl.Series | None
) -> Segmentation:
    """Make a segmentation; refuse none or equal names."""
    if not len(doc):
        raise UsageError(f"the division {name!r} has no unit")
    if ids is None:
        places = pl.DataFrame({"doc": doc, "start": start, "end": end})
        ids = places.select(pl.format("{}:{}-{}", "doc", "start", "end")).to_series()
    twice = ids.filter(ids.is_duplicated())
    if len(twice):
        raise UsageError(f"two units of the division {name!r} are called {twice[0]!r}")
    return Segmentation(name, doc.rename("doc"), start, end, ids.rename("id"))


_UNIT_RULES = (
    *NAME_RULES,
    *list_offset_rules(),
    RowRule(
        "segmentation.offsets",
        pl.all_horizontal(pl.col("start", "end").is_null()),
        f"start and end are missing; expected {_MEANT_ALL}",
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
    table = tabulate_objects(source, _CHUNK, line).checked()
    frame = table.frame.with_columns(pl.col("topic").fill_null("-"))
    raise_problems(check_rules(source.path, table.line, frame, _UNIT_RULES))
    units = frame.unique(["doc", "start", "end"], keep="first", maintain_order=True)
    name = str(header.get("run") or source.stem)
    ids = units["id"]
    if ids.null_count() not in (0, len(ids)):
        raise source.error(
            "segmentation.ids", None, "some units have an id and others none; expected all or none"
        )
    if not len(units):
        raise source.error(
            "segmentation.empty", None, "holds no unit; expected doc, start and end on each line"
        )
    places = (units["start"].to_numpy().copy(), units["end"].to_numpy().copy())
    try:
        return _make_segmentation(name, units["doc"], *places, None if ids.null_count() else ids)
    except UsageError as error:
        raise source.error("segmentation.ids", None, str(error)) from None


def read_pages(path: str | Path, lengths: Mapping[str, int]) -> Segmentation:
    """Read pages from JSON Lines: ``doc`` and the ``offsets`` at which its pages begin.

    The last page ends with the document, whose ``length`` is in the line or in `lengths`.
    """
    source = Source.open(str(path))
    source.check_utf8()
    chunks: list[tuple[str, int, int]] = []
    ids: list[str] = []
    for number, line in enumerate(source.data.split(b"\n"), 1):
        if not line.strip():
            continue
        try:
            value = loads(line)
        except ValueError as error:
            raise source.error("json.syntax", number, f"not valid JSON: {error}") from None
        page = value if isinstance(value, dict) else {}
        doc, offsets = page.get("doc"), page.get("offsets")
        if not (
            isinstance(doc, str)
            and isinstance(offsets, list)
            and offsets
            and all(type(at) is int and at >= 0 for at in offsets)
            and all(a < b for a, b in pairwise(offsets))
        ):
            raise source.error(
                "segmentation.pages",
                number,
                'expected {"doc": NAME, "offsets": [0, 1800, ...]} with rising offsets',
            )
        length = page.get("length", lengths.get(doc))
        if type(length) is not int or length <= offsets[-1]:
            raise source.error(
                "segmentation.length",
                number,
                f"the last page of {doc!r} has no end; give the length of the document",
            )
        chunks += [(doc, a, b) for a, b in zip(offsets, [*offsets[1:], length], strict=True)]
        ids += [f"{doc}:page{n}" for n in range(1, len(offsets) + 1)]
    if not chunks:
        raise source.error("segmentation.empty", None, "holds no page")
    return Segmentation.of(chunks, name=source.stem, ids=ids)
