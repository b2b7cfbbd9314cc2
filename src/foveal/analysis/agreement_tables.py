"""Judgements side by side: who judged what with whom, and all figures of topics and pairs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from foveal import spans
from foveal.analysis.agreement_figures import (
    REACH,
    Sections,
    Tables,
    distances,
    expected_disagreement,
    ranges,
    ratio,
    sums,
    weighted_kappa,
)
from foveal.errors import InputError, UsageError, some
from foveal.model import Judgements
from foveal.spans import Ints

__all__ = ["COUNTS", "FIGURES", "Compared"]

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

COUNTS = ("topics", "documents", "alone", "characters", "bep_documents", "elements")
"""What figures are of, as columns."""
FIGURES = (
    *("observed", "kappa", "f1", "jaccard", "alpha", "doc_observed", "doc_kappa"),
    *("bep_mean", "bep_median", *(f"bep_{reach}" for reach in REACH), "grade_kappa"),
)
"""The figures, as columns."""

_GRADES = ("exhaustivity", "relevance")
"""Columns of assessed elements that say how much of the topic they treat; the first found."""
_MOST = 4
"""Grades of the longest scale, 0 to 3."""


class Couples(NamedTuple):
    """Pairs of rows that judge one document of one topic, the assessors in their order."""

    first: Ints
    second: Ints
    cell: Ints
    """Which topic and pair of assessors each is of."""
    one_line: Bools
    """Whether one line of a file names both: what it says once is not the word of either."""


class Compared:
    """Judgements side by side; every figure is of some groups of cells, a topic and a pair each."""

    def __init__(self, judgements: Judgements) -> None:
        assert judgements.assessor is not None
        self.judgements = judgements
        self.assessors = judgements.assessors
        code = {name: i for i, name in enumerate(self.assessors)}
        self.assessor = judgements.assessor.replace_strict(code, return_dtype=pl.Int64).to_numpy()
        _, document, length = judgements.documents()
        self.length = length[document]
        self.several = np.bincount(judgements.pair, minlength=len(judgements))[judgements.pair]
        """How many assessors judged the document of each row."""
        if not (self.several > 1).any():
            raise UsageError(
                f"no document was judged by two of the {len(self.assessors)} assessors "
                f"({some(self.assessors)}) for the same topic; there is nothing to compare"
            )
        self._couple()
        self.sized = self._check_sizes()

    def _couple(self) -> None:
        frame = pl.DataFrame(
            {
                "document": self.judgements.pair,
                "assessor": self.assessor,
                "row": np.arange(len(self.judgements)),
            }
        ).filter(pl.Series(self.several > 1))
        both = (
            frame.join(frame, on="document", suffix="_2")
            .filter(pl.col("assessor") < pl.col("assessor_2"))
            .sort("row", "row_2")
        )
        first, second = both["row"].to_numpy(), both["row_2"].to_numpy()
        n = len(self.assessors)
        named = self.assessor[first] * n + self.assessor[second]
        keys, cell = np.unique(self.judgements.topic[first] * n * n + named, return_inverse=True)
        line, file = self.judgements.line, self.judgements.file
        one_line = (line[first] == line[second]) & (file[first] == file[second])
        self.couples = Couples(first, second, cell, one_line)
        self.cell_topic = keys // (n * n)
        pairs, self.cell_pair = np.unique(keys % (n * n), return_inverse=True)
        self.pairs = [divmod(key, n) for key in pairs.tolist()]
        self.shared_topics, self.cell_shared = np.unique(self.cell_topic, return_inverse=True)

    def _check_sizes(self) -> bool:
        """Whether lengths are known; of some documents and not of others is refused."""
        judgements, compared = self.judgements, self.several > 1
        lost = compared & (self.length < 0)
        if not judgements.has_text or (lost == compared).all():
            return False
        if lost.any():
            rows = np.unique(judgements.pair[lost]).tolist()
            raise InputError(
                judgements.problem(
                    "unclassified",
                    row,
                    f"the length of document {judgements.doc[row]!r} is not known, but that of "
                    "others is; expected a length for all, or a collection (-C) that knows it",
                )
                for row in rows
            )
        return True

    def notes(self) -> Iterator[str]:
        """What was left out, and what cannot be told."""
        judgements = self.judgements
        documents = np.unique(judgements.pair[self.several == 1])
        if len(documents):
            yield (
                f"documents that only one assessor judged for a topic: {len(documents)}; they are "
                "left out"
            )
        n = len(self.assessors)
        judged = np.zeros((len(judgements.topics), n), dtype=bool)
        judged[judgements.topic, self.assessor] = True
        met = np.zeros((n, n), dtype=bool)
        met[tuple(np.array(self.pairs).T)] = True
        together = judged.astype(np.int64).T @ judged.astype(np.int64) > 0
        apart = [
            f"{self.assessors[i]} and {self.assessors[j]}"
            for i, j in np.argwhere(np.triu(together & ~met, 1)).tolist()
        ]
        if apart:
            yield f"assessors of one topic with no document in common: {some(apart)}"
        if not judgements.has_text:
            mend = "; a collection (-C) places it" if judgements.places is not None else ""
            yield f"no highlighted text is known: only documents are compared{mend}"
        elif not self.sized:
            yield (
                "no document has a length: observed agreement, kappa and alpha of characters are "
                "not defined; a collection (-C) knows lengths"
            )

    # -- sums of every cell --------------------------------------------------------------------

    @cached_property
    def shared_text(self) -> Ints:
        """Characters that both of each couple highlighted."""
        first, second, *_ = self.couples
        start, end, owner = (
            np.concatenate(columns)
            for columns in zip(self._spans(first), self._spans(second), strict=True)
        )
        start, end, base = self._apart(start, end, owner)
        start, end = spans.at_least(start, end, 2)
        of = np.searchsorted(base, start, side="right") - 1
        return np.bincount(of, end - start, len(first)).astype(np.int64)

    @cached_property
    def difference(self) -> Floats:
        """Krippendorff's difference of each couple, summed over its units, either way once.

        Units that overlap differ by the squares of the distances of their ends, a unit that meets
        none by the square of its length.
        """
        first, second, *_ = self.couples
        a_start, a_end, a_owner = self._spans(first)
        b_start, b_end, b_owner = self._spans(second)
        start, end, _ = self._apart(
            np.concatenate([a_start, b_start]),
            np.concatenate([a_end, b_end]),
            np.concatenate([a_owner, b_owner]),
        )
        n = len(a_start)
        a_start, a_end, b_start, b_end = start[:n], end[:n], start[n:], end[n:]
        left = np.searchsorted(b_end, a_start, side="right")
        right = np.maximum(np.searchsorted(b_start, a_end, side="left"), left)
        of, met = ranges(left, right)
        squares = (a_start[of] - b_start[met]) ** 2 + (a_end[of] - b_end[met]) ** 2
        total = sums(squares, a_owner[of], len(first))
        for length, owner, alone in (
            (a_end - a_start, a_owner, right == left),
            (b_end - b_start, b_owner, np.bincount(met, minlength=len(b_start)) == 0),
        ):
            total += sums(length[alone].astype(np.float64) ** 2, owner[alone], len(first))
        return total

    def _spans(self, rows: Ints) -> tuple[Ints, Ints, Ints]:
        """The spans of these rows one after the other, and the place of the row in the list."""
        bounds = self.judgements.bounds
        owner, at = ranges(bounds[rows], bounds[rows + 1])
        return self.judgements.start[at], self.judgements.end[at], owner

    def _apart(self, start: Ints, end: Ints, owner: Ints) -> tuple[Ints, Ints, Ints]:
        """Spans of all couples on one axis, and where each couple begins."""
        extent = np.zeros(len(self.couples.cell), dtype=np.int64)
        np.maximum.at(extent, owner, end)
        base = spans.lay_out(extent)
        return start + base[owner], end + base[owner], base

    def _of_cells(self, values: npt.NDArray[Any]) -> Floats:
        """Values of couples, added up cell by cell."""
        return sums(values, self.couples.cell, len(self.cell_topic))

    @cached_property
    def characters(self) -> Tables:
        """How many characters either highlighted, and both, of each cell."""
        first, second, *_ = self.couples
        size = self.judgements.rel_size
        known = self.length[first] if self.sized else np.full(len(first), np.nan)
        return Tables(*map(self._of_cells, (known, size[first], size[second], self.shared_text)))

    @cached_property
    def documents(self) -> Tables:
        """How many documents either found relevant, and both, of each cell."""
        first, second, *_ = self.couples
        a, b = (self.judgements.relevant[rows] for rows in (first, second))
        return Tables(*map(self._of_cells, (np.ones(len(first)), a, b, a & b)))

    @cached_property
    def entries(self) -> tuple[Ints, Ints]:
        """Distances of the best entry points of documents that both find relevant; their cells."""
        first, second, cell, one_line = self.couples
        judgements = self.judgements
        told = judgements.relevant & (judgements.bep >= 0)
        both = told[first] & told[second] & ~one_line
        apart = np.abs(judgements.bep[first[both]] - judgements.bep[second[both]])
        return apart, cell[both]

    @cached_property
    def grades(self) -> tuple[Ints, Ints, Ints]:
        """The grades of elements that both of a couple graded; their cells."""
        elements = self.judgements.elements
        name = next((g for g in _GRADES if elements is not None and g in elements.columns), None)
        none = np.zeros(0, dtype=np.int64)
        if elements is None or name is None:
            return none, none, none
        graded = (
            elements.filter(pl.col(name).is_not_null())
            .select("row", "xpath", grade=pl.col(name).cast(pl.String).replace("?", "0"))
            .with_columns(pl.col("grade").cast(pl.Int64))
            .unique(("row", "xpath"), keep="first", maintain_order=True)
        )
        first, second, cell, one_line = self.couples
        both = (
            pl.DataFrame({"row": first, "other": second, "cell": cell})
            .filter(pl.Series(~one_line))
            .join(graded, on="row")
            .join(graded.rename({"row": "other", "grade": "grade_2"}), on=["other", "xpath"])
        )
        return both["grade"].to_numpy(), both["grade_2"].to_numpy(), both["cell"].to_numpy()

    @cached_property
    def sections(self) -> tuple[tuple[Ints, Ints], tuple[Ints, Ints]]:
        """Lengths of the units of all rows and of the gaps between, each with its bounds.

        A gap ends with its document: units have room in one document or not at all.
        """
        judgements = self.judgements
        start, end, bounds = judgements.start, judgements.end, judgements.bounds
        count = np.diff(bounds)
        # Each row has a gap before every unit and one behind the last; an empty one has no room.
        places = np.arange(len(start)) + judgements.row
        gaps = np.zeros(len(start) + len(count), dtype=np.int64)
        gaps[places] = start
        tails = bounds[1:] + np.arange(len(count))
        gaps[tails] = self.length
        gaps[places + 1] -= end
        return (end - start, bounds), (gaps, bounds + np.arange(len(bounds)))

    # -- figures of groups of cells ------------------------------------------------------------

    def tables(self) -> tuple[pl.DataFrame, pl.DataFrame]:
        """The rows of an `Agreement`, and the number of topics behind the means."""
        cells, pairs, topics = len(self.cell_topic), len(self.pairs), len(self.shared_topics)
        first, second = ([self.assessors[pair[side]] for pair in self.pairs] for side in (0, 1))
        topic = [self.judgements.topics[t] for t in self.shared_topics.tolist()]
        each = self._figures(np.arange(cells), np.arange(cells), joint=False)
        by_pair = self._figures(self.cell_pair, np.arange(pairs), joint=False)
        by_topic = self._figures(np.arange(cells), self.cell_shared, joint=True)
        whole = self._figures(self.cell_pair, np.zeros(pairs, dtype=np.int64), joint=True)
        for found, alone in zip((each, by_pair, by_topic, whole), self._alone(), strict=True):
            found["alone"] = alone
        pair_means, pair_counts = _means(each, self.cell_pair, pairs)
        means, counts = _means(by_topic, np.zeros(topics, dtype=np.int64), 1)
        of, who = self.cell_shared.tolist(), self.cell_pair.tolist()
        all_topics, all_pairs = [None] * pairs, [None] * topics
        blocks = (
            ("topic", [topic[t] for t in of], [first[p] for p in who], [second[p] for p in who]),
            ("pooled", all_topics, first, second),
            ("mean", all_topics, first, second),
            ("topic", topic, all_pairs, all_pairs),
            ("pooled", [None], [None], [None]),
            ("mean", [None], [None], [None]),
        )
        figures = (each, by_pair, by_pair | pair_means, by_topic, whole, whole | means)
        frame = pl.concat(
            _rows(*block, found) for block, found in zip(blocks, figures, strict=True)
        )
        order = {name: i for i, name in enumerate(topic)}
        averaged = pl.concat(
            _labelled({"first": a, "second": b}).with_columns(**found)
            for a, b, found in ((first, second, pair_counts), ([None], [None], counts))
        )
        return (
            frame.with_columns(
                number=pl.col("topic").replace_strict(order, return_dtype=pl.Int64),
                rank=pl.col("over").replace_strict({"topic": 0, "pooled": 1, "mean": 2}),
            )
            .sort("first", "second", "number", "rank", nulls_last=True, maintain_order=True)
            .drop("number", "rank"),
            averaged,
        )

    def _figures(self, inner: Ints, outer: Ints, *, joint: bool) -> dict[str, npt.NDArray[Any]]:
        """Counts and figures of groups: cells are pooled to `inner` ones, these to `outer` ones.

        Tables of one pair of assessors add up; those of several pairs join by their disagreement,
        which has no first and second. For alpha all assessors of a `joint` group count at once.
        """
        groups = int(outer.max()) + 1
        of = outer[inner]
        characters = self.characters.pooled(inner, len(outer))
        either = sums(characters.first + characters.second, outer, groups)
        both = sums(characters.both, outer, groups)
        told = np.where(self.judgements.has_text, 1.0, np.nan)
        observed, kappa = characters.agreement(outer, groups)
        documents = self.documents.pooled(inner, len(outer))
        doc_observed, doc_kappa = documents.agreement(outer, groups)
        apart, entry = self.entries
        a, b, graded = self.grades
        return {
            **self._counts(of, groups, joint=joint),
            "bep_documents": np.bincount(of[entry], minlength=groups),
            "elements": np.bincount(of[graded], minlength=groups),
            "observed": observed,
            "kappa": kappa,
            "f1": told * ratio(2 * both, either),
            "jaccard": told * ratio(both, either - both),
            "alpha": self._alpha(of, groups, joint=joint),
            "doc_observed": doc_observed,
            "doc_kappa": doc_kappa,
            **distances(apart, of[entry], groups),
            "grade_kappa": weighted_kappa(a, b, inner[graded], outer, groups, _MOST),
        }

    def _topic_groups(self, of: Ints) -> Ints:
        """The joint group of every topic, -1 where no document is in common."""
        group = np.full(len(self.judgements.topics), -1, dtype=np.int64)
        group[self.cell_topic] = of
        return group

    def _counts(self, of: Ints, groups: int, *, joint: bool) -> dict[str, npt.NDArray[Any]]:
        """Topics, documents and characters compared."""
        if joint:
            rows = np.arange(len(self.judgements))
            heads = np.flatnonzero((self.judgements.pair == rows) & (self.several > 1))
            topic_group = self._topic_groups(of)
            group = topic_group[self.judgements.topic[heads]]
            topics = np.bincount(topic_group[self.shared_topics], minlength=groups)
            size = sums(self.length[heads], group, groups)
        else:
            group = of[self.couples.cell]
            topics = np.bincount(of, minlength=groups)
            size = sums(self.characters.total, of, groups)
        return {
            "topics": topics,
            "documents": np.bincount(group, minlength=groups),
            "characters": size if self.sized else np.full(groups, np.nan),
        }

    def _alone(self) -> tuple[Ints, Ints, Ints, Ints]:
        """Documents that only one assessor judged, in topics that others judged as well.

        Of topics and pairs, pairs, topics, and of all.
        """
        judgements = self.judgements
        judged = np.zeros((len(judgements.topics), len(self.assessors)), dtype=np.int64)
        np.add.at(judged, (judgements.topic, self.assessor), 1)
        a, b = (judged[:, side] for side in np.array(self.pairs).T)
        either = np.where((a > 0) & (b > 0), a + b, 0)
        both = np.bincount(self.couples.cell, minlength=len(self.cell_topic))
        lone = np.bincount(
            judgements.topic[self.several == 1], minlength=len(judgements.topics)
        ) * ((judged > 0).sum(axis=1) > 1)
        of_pair = np.bincount(self.cell_pair, both, len(self.pairs)).astype(np.int64)
        return (
            either[self.cell_topic, self.cell_pair] - 2 * both,
            either.sum(axis=0) - 2 * of_pair,
            lone[self.shared_topics],
            lone.sum(keepdims=True),
        )

    def _alpha(self, of: Ints, groups: int, *, joint: bool) -> Floats:
        """Krippendorff's unitised alpha of two assessors, or of all who judged the documents."""
        if not self.sized:
            return np.full(groups, np.nan)
        first, second, cell, _ = self.couples
        if joint:
            rows = np.flatnonzero(self.several > 1)
            group = self._topic_groups(of)[self.judgements.topic[rows]]
            weight = 2 / (self.several[first] - 1)
        else:
            rows, group = np.concatenate([first, second]), np.tile(of[cell], 2)
            weight = np.full(len(first), 2.0)
        size = sums(self.length[rows], group, groups)
        units, gaps = (
            Sections(length[at], group[owner])
            for length, bounds in self.sections
            for owner, at in [ranges(bounds[rows], bounds[rows + 1])]
        )
        observed = ratio(sums(weight * self.difference, of[cell], groups), size)
        return 1 - ratio(observed, expected_disagreement(units, gaps, size))


def _means(
    figures: Mapping[str, npt.NDArray[Any]], group: Ints, groups: int
) -> tuple[dict[str, Floats], dict[str, Ints]]:
    """The means of the figures that are defined, and how many there are."""
    means, counts = {}, {}
    for name in FIGURES:
        known = ~np.isnan(figures[name])
        counts[name] = np.bincount(group[known], minlength=groups).astype(np.int64)
        means[name] = ratio(
            sums(figures[name][known], group[known], groups), counts[name].astype(np.float64)
        )
    return means, counts


def _labelled(labels: Mapping[str, Sequence[str | None]]) -> pl.DataFrame:
    return pl.DataFrame(labels, schema=dict.fromkeys(labels, pl.String))


def _rows(
    over: str,
    topic: Sequence[str | None],
    first: Sequence[str | None],
    second: Sequence[str | None],
    figures: Mapping[str, npt.NDArray[Any]],
) -> pl.DataFrame:
    """Rows of an `Agreement`."""
    frame = _labelled({"topic": topic, "first": first, "second": second})
    return frame.with_columns(
        pl.lit(over).alias("over"),
        *(_count(name, figures[name]) for name in COUNTS),
        *(pl.Series(name, figures[name], dtype=pl.Float64) for name in FIGURES),
    )


def _count(name: str, values: npt.NDArray[Any]) -> pl.Series:
    """Whole numbers, null where they are not known."""
    return pl.Series(name, values.astype(np.float64)).fill_nan(None).cast(pl.Int64)
