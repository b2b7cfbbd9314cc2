"""How far assessors agree: on characters, on passages, on documents, on where to start reading."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import polars as pl

from foveal._version import __version__
from foveal.analysis.agreement_tables import COUNTS, FIGURES, Compared
from foveal.collection import Collection
from foveal.collection.placement import place_judgements
from foveal.errors import UsageError, some
from foveal.formats import read_judgements
from foveal.model import Judgements, Provenance

__all__ = ["Agreement", "agreement"]

Given = Judgements | str | Path


@dataclass(frozen=True, eq=False)
class Agreement:
    """What assessors agree on, topic by topic and pair by pair.

    Parameters
    ----------
    assessors, topics : tuple of str
        Whose judgements on what were compared.
    frame : polars.DataFrame
        A row for each ``topic`` (null: all of them) and each pair of assessors, ``first`` and
        ``second`` (null: all of them). ``over`` says what a row is of: a ``topic``, all topics
        ``pooled``, or the ``mean`` of the topics that have a figure. Then come `COUNTS` and
        `FIGURES`, which are nan where they are not defined.
    averaged : polars.DataFrame
        For each row of means the number of topics behind each figure.
    notes : tuple of str
        What was odd, and why figures are not defined.
    sources : tuple of Provenance
        What was read.
    """

    assessors: tuple[str, ...]
    topics: tuple[str, ...]
    frame: pl.DataFrame
    averaged: pl.DataFrame
    notes: tuple[str, ...] = ()
    sources: tuple[Provenance, ...] = ()

    def __repr__(self) -> str:
        return f"<Agreement: {len(self.assessors)} assessors, {len(self.topics)} topics>"

    def value(
        self,
        figure: str,
        *,
        topic: str | None = None,
        pair: tuple[str, str] | None = None,
        mean: bool = False,
    ) -> float:
        """A figure of a topic and a pair of assessors; by default pooled over all of both.

        It is nan where it is not defined, and for a count that is not known.
        """
        if figure not in (*COUNTS, *FIGURES):
            raise UsageError(f"no figure {figure!r}; expected {', '.join((*COUNTS, *FIGURES))}")
        first, second = sorted(pair) if pair is not None else (None, None)
        over = "topic" if topic is not None else "mean" if mean else "pooled"
        row = self.frame.filter(
            pl.col("over").eq(over)
            & pl.col("topic").eq_missing(topic)
            & pl.col("first").eq_missing(first)
            & pl.col("second").eq_missing(second)
        )
        if not len(row):
            whom = "the assessors" if pair is None else f"{first!r} and {second!r}"
            where = "any topic" if topic is None else f"topic {topic!r}"
            raise UsageError(f"{whom} have no document of {where} in common")
        found = row[figure][0]
        return math.nan if found is None else float(found)

    def rows(self, *, per_topic: bool = True) -> pl.DataFrame:
        """The rows of the frame, on request without those of single topics."""
        return self.frame if per_topic else self.frame.filter(pl.col("over") != "topic")

    def to_dict(self) -> dict[str, Any]:
        """Everything, as JSON can hold it: null where a figure is not defined."""
        return {
            "meta": {
                "version": __version__,
                "inputs": [{"path": s.path, "sha256": s.sha256} for s in self.sources],
                "warnings": list(self.notes),
            },
            "assessors": list(self.assessors),
            "topics": list(self.topics),
            "rows": [
                {name: _nulled(value) for name, value in row.items()}
                for row in self.frame.iter_rows(named=True)
            ],
            "averaged": self.averaged.to_dicts(),
        }

    def to_json(self) -> str:
        """`to_dict` as text."""
        return json.dumps(self.to_dict(), indent=1, ensure_ascii=False) + "\n"


def _nulled(value: Any) -> Any:
    return None if isinstance(value, float) and math.isnan(value) else value


def agreement(
    judgements: Given | Sequence[Given] | Mapping[str, Given],
    *,
    collection: str | Path | None = None,
    topics: Iterable[str] | None = None,
    assessors: Iterable[str] | None = None,
) -> Agreement:
    """Compare the judgements of two or more assessors.

    An assessor is who the judgements name. Those that name none are of one assessor, with the name
    of the file or directory, or the key of the mapping. Only documents that two assessors judged
    for a topic are compared. `docs/agreement.md` has the definitions.

    Parameters
    ----------
    judgements : Judgements, path, a sequence of them, or a mapping of names to them
    collection : path, optional
        A collection index, which places XPaths and knows how long documents are.
    topics, assessors : iterable of str, optional
        Only these.

    Examples
    --------
    Of 100 characters ann marks the first 40 and bob 20 to 50. They agree on 70 characters, and by
    chance would on 54:

    >>> ann = Judgements.from_highlights({"1": {"D": {"spans": [(0, 40)], "length": 100}}})
    >>> bob = Judgements.from_highlights({"1": {"D": {"spans": [(20, 50)], "length": 100}}})
    >>> found = agreement({"ann": ann, "bob": bob})
    >>> found.value("observed"), round(found.value("kappa"), 4), round(found.value("f1"), 4)
    (0.7, 0.3478, 0.5714)

    The units differ by 20 at their beginnings and 10 at their ends:

    >>> round(found.value("alpha"), 4)
    0.4019
    """
    given = _only(_read(judgements), topics, assessors)
    given.check_lengths()
    if collection is not None:
        given = place_judgements(given, Collection.open(collection))
    if not given.relevant.any():
        given = replace(given, has_text=True)  # where nothing is relevant, all relevant text is
    compared = Compared(given.united())
    frame, averaged = compared.tables()
    return Agreement(
        compared.assessors,
        given.topics,
        frame,
        averaged,
        (*given.notes, *compared.notes()),
        given.sources,
    )


# -- who judged what ---------------------------------------------------------------------------


def _read(judgements: Given | Sequence[Given] | Mapping[str, Given]) -> Judgements:
    """One set of judgements in which every row has an assessor."""
    if isinstance(judgements, Mapping):
        names, given = list(judgements), list(judgements.values())
    else:
        given = [judgements] if isinstance(judgements, Given) else list(judgements)
        names = _names(given)
    if not given:
        raise UsageError("no judgements given")
    parts = []
    for name, item in zip(names, given, strict=True):
        part = item if isinstance(item, Judgements) else read_judgements(item)
        own = pl.Series([None] * len(part)) if part.assessor is None else part.assessor
        parts.append(replace(part, assessor=own.cast(pl.String).fill_null(name)))
    merged = Judgements.merged(parts)
    merged.check_distinct()
    return merged


def _names(given: Sequence[Given]) -> list[str]:
    """What an assessor without a name is called: by the stem, or by the path if two share it."""
    places = [item.sources[0].path if isinstance(item, Judgements) else str(item) for item in given]
    for place in places:
        if places.count(place) > 1:
            raise UsageError(f"{place} is given twice; expected the judgements of another assessor")
    stems = [Path(p).name if Path(p).is_dir() else Provenance(p).stem for p in places]
    return [
        stem if stems.count(stem) == 1 else place for stem, place in zip(stems, places, strict=True)
    ]


def _only(
    judgements: Judgements, topics: Iterable[str] | None, assessors: Iterable[str] | None
) -> Judgements:
    """The judgements of the wanted topics and assessors, of whom there must be two."""
    if topics is not None:
        wanted = list(topics)
        unknown = [topic for topic in wanted if topic not in judgements.topics]
        if unknown:
            raise UsageError(f"topics wanted but not judged: {some(unknown)}")
        judgements = judgements.for_topics(wanted)
    if assessors is not None:
        named = list(assessors)
        strange = [name for name in named if name not in judgements.assessors]
        if strange:
            known = some(judgements.assessors)
            raise UsageError(f"assessors not among the judgements: {some(strange)} ({known})")
        assert judgements.assessor is not None
        judgements = judgements.only(judgements.assessor.is_in(named).to_numpy())
    if len(judgements.assessors) < 2:
        who = judgements.assessors[0] if judgements.assessors else "nobody"
        raise UsageError(
            f"all judgements are of one assessor, {who!r}; agreement is between two or more, each "
            "in a file of their own or named in the judgements"
        )
    return judgements
