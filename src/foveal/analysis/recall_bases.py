"""The full and the ideal recall base of a topic, as a table of elements and as trees."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from foveal._version import __version__
from foveal.errors import InputError, UsageError, plural, shorten_list
from foveal.evaluation.evaluation import Evaluation
from foveal.formats import read_judgements
from foveal.model import Judgements
from foveal.model.result_object import Result
from foveal.model.tables import Table, format_cell
from foveal.recall import QUANTISATIONS, Forest, ideal_base
from foveal.recall.forest import COVERAGES, find_quantisation, find_scale

TIES = ("ascendant", "deeper")
BASES = ("ideal", "maxsum")
_NUMBERS = ("exhaustivity", "size", "rsize", "specificity", "worth")


@dataclass(frozen=True, eq=False, repr=False)
class RecallBase(Result):
    """The full and the ideal recall base of one topic."""

    elements: pl.DataFrame
    """Every element on a path to a relevant one, in document order: ``doc``, ``xpath``, ``depth``
    (the root's is 1), ``size``, ``rsize``, ``exhaustivity``, ``specificity``, ``worth``,
    ``relevant``, ``leaf`` (a relevant path ends here) and ``ideal``."""
    meta: Mapping[str, Any]
    """The settings of the bases; ``quant`` is the name of the function itself."""

    def rows(self) -> Iterator[dict[str, Any]]:
        return self.elements.iter_rows(named=True)

    def parts(self) -> dict[str, Any]:
        return {"elements": self.elements.to_dicts()}

    def summary(self) -> str:
        """Return the size and worth of both bases."""
        relevant, ideal = (self.elements.filter(name)["worth"] for name in ("relevant", "ideal"))
        full = f"{plural(len(relevant), 'relevant element')} worth {relevant.sum():.4f}"
        return f"{full}; {len(ideal)} ideal worth {ideal.sum():.4f}."

    def tables(self) -> list[Table]:
        """Return the trees, with ideal elements in bold."""
        columns = [name for name in _NUMBERS if self.elements[name].is_not_null().any()]
        rows: list[tuple[str, ...]] = []
        best: set[tuple[int, int]] = set()
        branches = _draw_branches(self.elements["depth"].to_list())
        for branch, element in zip(branches, self.rows(), strict=True):
            if element["depth"] == 1:
                rows.append((element["doc"], *[""] * (len(columns) + 2)))
            if element["ideal"]:
                best |= {(len(rows), j) for j in range(len(columns) + 1)}
            numbers = (format_cell(element[name]) for name in columns)
            marks = ("yes" if element[name] else "" for name in ("ideal", "leaf"))
            rows.append((branch + element["xpath"].rpartition("/")[2], *numbers, *marks))
        title = "Recall base of topic {topic}: worth by {quant}, {base} base, tie {tie}"
        header = ("element", *columns, "ideal", "leaf")
        notes = ("ideal: in the ideal recall base; leaf: a relevant path ends here.",)
        shown = tuple(rows)
        return [Table(header, shown, frozenset(best), 1, title.format(**self.meta), notes)]


def _draw_branches(depths: Sequence[int]) -> list[str]:
    """Return the branches before the lines of trees, from their depths."""
    drawn: list[str] = []
    followed: set[int] = set()  # depths at which another child comes later
    for depth in reversed(depths):
        before = "".join("│  " if level in followed else "   " for level in range(2, depth))
        last = "├─ " if depth in followed else "└─ "
        drawn.append(before + last if depth > 1 else "")
        followed = {level for level in followed if level < depth} | ({depth} - {1})
    return drawn[::-1]


def recall_base(
    judgements: Judgements | str | Path | Sequence[str | Path],
    topic: str,
    *,
    collection: str | Path | None = None,
    quant: str | None = None,
    base: str = "ideal",
    tie: str = "ascendant",
    assessors: str = "union",
    exclude_tags: Collection[str] = (),
    docs: Collection[str] = (),
) -> RecallBase:
    """Build the recall bases of a topic, as the measures do.

    Parameters
    ----------
    judgements : Judgements or paths
    topic : str
    collection : path, optional
        A collection index; needed if judgements list no elements.
    quant : str, optional
        One of `foveal.recall.QUANTISATIONS`; by default ``spec`` on scales of shares, else ``gen``.
    base : {"ideal", "maxsum"}
    tie : {"ascendant", "deeper"}
        See `foveal.recall.ideal_base`.
    assessors : str
        ``union``, ``majority``, ``intersection`` or the name of an assessor.
    exclude_tags : collection of str
        Elements of these tags are worth nothing.
    docs : collection of str
        Documents to show; by default all.

    Examples
    --------
    >>> from foveal.measures import toy
    >>> found = recall_base(toy.judgements(), "toy", tie="deeper")
    >>> found.elements.filter("ideal").select("doc", "xpath", "worth").rows()
    ... # doctest: +NORMALIZE_WHITESPACE
    [('D1', '/a[1]/s[1]/p[1]', 0.5), ('D1', '/a[1]/s[1]/p[2]', 1.0),
     ('D1', '/a[1]/s[2]/p[1]', 0.5), ('D2', '/a[1]/p[1]', 1.0), ('D2', '/a[1]/p[2]', 1.0)]
    """
    given = judgements if isinstance(judgements, Judgements) else read_judgements(judgements)
    # The scale is that of the whole set: one topic alone need not show every kind of grade.
    scale = find_scale(given)
    quant = quant or ("spec" if scale in ("2005", "2006") else "gen")
    allowed = {"topic": given.topics, "quant": QUANTISATIONS, "base": BASES, "tie": TIES}
    for (name, known), value in zip(allowed.items(), (topic, quant, base, tie), strict=True):
        if value not in known:
            raise UsageError(f"{name} {value!r} is not one of {shorten_list(known, 20)}")
    if assessors == "each":
        raise UsageError("a recall base takes one set of judgements; choose how assessors count")
    function = find_quantisation(quant, scale).name
    chosen = given.for_topics([topic])
    if unknown := [doc for doc in docs if doc not in chosen.doc]:
        raise UsageError(f"document {unknown[0]!r} is not judged for topic {topic!r}")
    if docs:
        chosen = chosen.only(chosen.doc.is_in(list(docs)).to_numpy())
    chosen = replace(chosen, header={**(given.header or {}), "scale": scale})
    # Any measure of recall bases will do: these are the trees that it is scored on.
    excluded = tuple(dict.fromkeys(exclude_tags))
    evaluation = Evaluation(
        chosen, "MAep", collection=collection, assessors=assessors, exclude_tags=excluded
    )
    (gold,) = evaluation.golds
    combined, forest = gold.judgements, gold.forest
    has_elements = chosen.places is not None or chosen.elements is not None
    if combined.relevant.any() and (forest is None or not (chosen.has_text or has_elements)):
        text = (
            "the judgements list no elements; give an index of the collection (--collection) with "
            "highlighted text, or assessments of elements (INEX XML, JSON Lines)"
        )
        raise InputError.at("judgements.no_elements", given.sources[0].path, None, text)
    warnings = [*evaluation.warnings]
    if forest is None:  # nothing is relevant
        forest = Forest.from_assessments(combined)
    absent = np.flatnonzero(combined.relevant & (np.diff(forest.bounds) == 0))
    if len(absent):
        names = shorten_list(combined.doc.gather(absent).to_list())
        warnings.append(f"relevant documents without listed elements, {len(absent)}: {names}")
    meta = {
        "version": __version__,
        "topic": topic,
        "scale": scale,
        "quant": function,
        "base": base,
        "tie": tie,
        "assessors": assessors,
        "exclude_tags": list(excluded),
        "docs": list(dict.fromkeys(docs)),
        "inputs": [{"path": source.path, "sha256": source.sha256} for source in given.sources],
        "warnings": list(dict.fromkeys(warnings)),
    }
    return RecallBase(_list_elements(combined, forest, function, base, tie), meta)


def _list_elements(
    judgements: Judgements, forest: Forest, function: str, base: str, tie: str
) -> pl.DataFrame:
    """Return the elements on paths to relevant ones, each followed by its descendants.

    Siblings are in document order, or by tag and number if assessments do not give offsets.
    """
    worth = forest.worth(function)
    relevant = worth > 0
    leads_on = np.zeros(len(forest), dtype=bool)  # something relevant is below
    for level in reversed(forest.levels[1:]):
        leads_on[forest.parent[level[relevant[level] | leads_on[level]]]] = True
    grades = forest.assessed
    frame = pl.DataFrame(
        {
            "doc": judgements.doc.gather(forest.row),
            "xpath": forest.xpath,
            "depth": forest.depth.astype(np.int64) + 1,
            "size": forest.size,
            "rsize": forest.rsize,
            "exhaustivity": grades.exhaustivity,
            "specificity": grades.specificity,
            "worth": worth,
            "relevant": relevant,
            "leaf": relevant & ~leads_on,
            "ideal": ideal_base(forest, worth, base=base, tie=tie).ideal,
        }
    )
    if forest.complete:
        order = np.lexsort((frame["depth"], -forest.end, forest.start, forest.row)).tolist()
    else:
        steps = [
            [(tag, len(number), number) for tag, number in re.findall(r"([^/\[]+)\[(\d+)\]", path)]
            for path in forest.xpath
        ]
        order = sorted(range(len(forest)), key=lambda i: (forest.row[i], steps[i]))
    exhaustivity: pl.Expr = pl.col("exhaustivity")
    specificity: pl.Expr = pl.col("specificity")
    if grades.scale == "2002":  # the coverage is a letter
        specificity = specificity.cast(pl.Int64).replace_strict(
            dict(enumerate(COVERAGES)), return_dtype=pl.String
        )
    elif grades.scale == "2003":
        specificity = specificity.cast(pl.Int64)
    else:
        specificity = pl.when(pl.col("rsize") >= 0).then("specificity").otherwise(None)
        # From 2006 on exhaustivity is not assessed; in 2005 it is a number, or ? for too small.
        too_small = pl.when(pl.Series(grades.too_small)).then(pl.lit("?"))
        graded = too_small.otherwise(exhaustivity.cast(pl.String))
        exhaustivity = graded if grades.scale == "2005" else pl.lit(None, dtype=pl.Int64)
    known = (pl.when(pl.col(name) >= 0).then(name).alias(name) for name in ("size", "rsize"))
    frame = frame.with_columns(*known, exhaustivity=exhaustivity, specificity=specificity)
    return frame[[i for i in order if relevant[i] or leads_on[i]]]
