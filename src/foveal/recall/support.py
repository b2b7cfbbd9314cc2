"""Strict support of CAS topics: the documents in which the conditions of their queries hold.

Whether an about-clause holds was judged through a sub-topic; a comparison is decided on the text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from functools import reduce
from operator import eq, ge, gt, le, lt
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from foveal.errors import InputError, Problem, UsageError
from foveal.formats.graded_elements import mark_positive
from foveal.formats.xpaths import canonical_paths
from foveal.model import Judgements, Topics
from foveal.nexi import CAS, About, And, Compare, Or, Part, Path, Query, matches, tags_of
from foveal.nexi.query import Clause
from foveal.recall.forest import scale_of
from foveal.recall.queries import (
    Key,
    below,
    conditions,
    leaves,
    located,
    numbered_clauses,
    single_clause,
    try_query,
)
from foveal.spans import Ints

__all__ = ["Classes", "Conditions", "Texts", "compares", "without_ordinals"]

Bools = npt.NDArray[np.bool_]
Classes = tuple[frozenset[str], ...]
Texts = Callable[[Mapping[str, Callable[[str], bool]]], Iterable[tuple[str, str, str]]]
"""Gives the text of elements: from documents and which XPaths are wanted in each to document,
XPath and text of every such element."""

_ELEMENT = {"doc": pl.String, "xpath": pl.String}
_NUMBER = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)")
_OPERATORS: dict[str, Callable[[Any, Any], bool]] = {"<": lt, "<=": le, "=": eq, ">=": ge, ">": gt}


def without_ordinals(column: str) -> pl.Expr:
    """Return XPaths without their ordinals."""
    return pl.col(column).str.replace_all(r"\[[0-9]+\]", "")


def _parse_number(text: str) -> Decimal | None:
    """Parse a number as XPath writes them, with white space around it; None for anything else."""
    trimmed = text.strip()
    return Decimal(trimmed) if _NUMBER.fullmatch(trimmed) else None


def compares(comparison: Compare, text: str) -> bool:
    """Return True if a comparison holds for the text of an element.

    A constant that is not a number, as the dialect of 2003 allows, can only be equal.

    >>> compares(Compare(None, ">", "1998"), " 1999 "), compares(Compare(None, "<", "3"), "two")
    (True, False)
    """
    constant, value = _parse_number(comparison.value), _parse_number(text)
    if constant is not None:
        return value is not None and _OPERATORS[comparison.operator](value, constant)
    return comparison.operator == "=" and text.split() == comparison.value.split()


class Conditions:
    """The support conditions of topics, and the documents that satisfy them."""

    def __init__(
        self,
        topics: Topics,
        queries: Mapping[str, CAS],
        support: Judgements | None,
        groups: Classes,
        texts: Texts | None,
    ) -> None:
        self.groups, self.texts = groups, texts
        self.depths: dict[Path, dict[str, list[int]]] = {}
        """For each path and tag path that were looked at, how deep the path may start from."""
        self.parts = {
            name: parts for name, query in queries.items() if (parts := conditions(query))
        }
        self.queries = {name: queries[name] for name in self.parts}
        self._check_elements(topics)
        self._check_given(support)
        self.sub_topics = self._find_sub_topics(topics, support)
        self.relevant = _relevant(support if self.sub_topics else None)

    def _leaves(self, topic: str) -> Iterator[tuple[Path, About | Compare]]:
        """The conditions of a topic, each with the absolute path of its elements."""
        for above, part in located(self.parts[topic]):
            for leaf in leaves(part.clause):
                yield below(above, leaf.path), leaf

    def _check_elements(self, topics: Topics) -> None:
        problems = [
            topics.problem(
                "unclassified",
                topics.ids.index(name),
                f"topic {name!r}: {leaf} asks for an attribute; only elements can be told apart",
            )
            for name in self.parts
            for path, leaf in self._leaves(name)
            if any(step.attribute for step in path.steps)
        ]
        if problems:
            raise InputError(problems)

    def _check_given(self, support: Judgements | None) -> None:
        """Refuse what cannot be decided before anything is read."""
        for name in self.parts:
            for _, leaf in self._leaves(name):
                if isinstance(leaf, About) and support is None:
                    raise UsageError(
                        f"topic {name!r} has the condition {leaf}; strict support needs the "
                        "judgements of its sub-topics (--support-judgements)"
                    )
                if isinstance(leaf, Compare) and self.texts is None:
                    raise UsageError(
                        f"topic {name!r} has the condition {leaf}; strict support needs the text "
                        "of the documents, which no index holds: give the directory or archive "
                        "that they lie in (--documents)"
                    )

    def _find_sub_topics(
        self, topics: Topics, support: Judgements | None
    ) -> dict[tuple[str, Key], list[str]]:
        """Return the judged sub-topics of each condition of each topic."""
        judged = () if support is None else support.topics
        asking = _asking(topics)
        found: dict[tuple[str, Key], list[str]] = {}
        problems: list[Problem] = []
        for name, query in self.queries.items():
            parents = {name, query}
            numbers = numbered_clauses(query)
            for path, leaf in self._leaves(name):
                if not isinstance(leaf, About):
                    continue
                key = path, leaf.terms
                declared = [
                    child
                    for child, asks, of in asking
                    if asks == key and not parents.isdisjoint(of) and child in judged
                ]
                counted = [f"{name}.{n}" for n in numbers[key]]
                found[name, key] = declared or [child for child in counted if child in judged]
                if not found[name, key]:
                    asks = CAS((Part(path, About(None, leaf.terms)),))
                    message = (
                        f"topic {name!r}: no sub-topic is judged for {leaf}; expected judgements "
                        f"of a topic {asks} whose parent is {name!r}, or of topic {counted[0]!r}"
                    )
                    problems.append(topics.problem("unclassified", topics.ids.index(name), message))
        if problems:
            raise InputError(problems)
        return found

    def satisfied(self, judgements: Judgements, row: Ints) -> Bools:
        """Return which of the judgements in `row` are of documents that satisfy the conditions."""
        keep = np.ones(len(judgements), dtype=bool)
        asked = np.zeros(len(judgements), dtype=bool)
        asked[row] = True
        code = {name: i for i, name in enumerate(judgements.topics)}
        rows = {
            name: np.flatnonzero(asked & (judgements.topic == code[name])) for name in self.parts
        }
        docs = {name: judgements.doc.gather(rows[name]).unique() for name in self.parts}
        found = {
            name: {
                (path, leaf.terms): self._judged(name, (path, leaf.terms), docs[name])
                for path, leaf in self._leaves(name)
                if isinstance(leaf, About)
            }
            for name in self.parts
        }
        read = self._texts(docs, found)
        for name, parts in self.parts.items():
            fit = self._documents(parts, found[name], read)
            keep[rows[name]] = judgements.doc.gather(rows[name]).is_in(fit.implode()).to_numpy()
        return keep

    def _judged(self, topic: str, key: Key, docs: pl.Series) -> pl.DataFrame:
        """Return the elements of these documents that are relevant to a condition."""
        found = self.relevant.filter(pl.col("topic").is_in(self.sub_topics[topic, key]))
        return (
            found.join(docs.to_frame("doc"), on="doc", how="semi").select("doc", "xpath").unique()
        )

    def _texts(
        self, docs: Mapping[str, pl.Series], found: Mapping[str, Mapping[Key, pl.DataFrame]]
    ) -> pl.DataFrame:
        """Return the texts to compare, of documents that the judgements do not exclude."""
        paths: dict[str, set[Path]] = {}
        for name, query in self.queries.items():
            compared = {path for path, leaf in self._leaves(name) if isinstance(leaf, Compare)}
            if not compared:
                continue
            judged = conditions(query, numbers=False)
            none = pl.DataFrame(schema={**_ELEMENT, "text": pl.String})
            left = self._documents(judged, found[name], none) if judged else docs[name]
            for doc in left:
                paths.setdefault(doc, set()).update(compared)
        means = {each: _means(each, self.groups) for each in map(frozenset, paths.values())}
        asked = {doc: means[frozenset(own)] for doc, own in paths.items()}
        rows = [] if self.texts is None or not asked else list(self.texts(asked))
        return pl.DataFrame(rows, schema={**_ELEMENT, "text": pl.String}, orient="row")

    def _documents(
        self, parts: Sequence[Part], found: Mapping[Key, pl.DataFrame], read: pl.DataFrame
    ) -> pl.Series:
        """Return the documents in which elements can be chosen that satisfy all parts.

        From the last part up: the elements in which its clause holds make those above them fit
        that its path leads down from; of these, the clause of the part before must hold too. In
        the end it is the document itself that a path must lead down from.
        """
        fit: pl.DataFrame | None = None
        for above, part in reversed([*located(parts)]):
            if part.clause is not None:
                holding = self._holding(part.clause, above, found, read)
                fit = holding if fit is None else _both(fit, holding)
            assert fit is not None, "the last part has a condition"
            fit = self._lifted(part.path, fit)
        assert fit is not None, "there is a part"
        return fit.filter(pl.col("xpath") == "")["doc"]

    def _holding(
        self, clause: Clause, above: Path, found: Mapping[Key, pl.DataFrame], read: pl.DataFrame
    ) -> pl.DataFrame:
        """Return the elements in which a clause holds."""
        if isinstance(clause, And | Or):
            each = [self._holding(inner, above, found, read) for inner in clause.clauses]
            return reduce(_both, each) if isinstance(clause, And) else pl.concat(each).unique()
        if isinstance(clause, About):
            elements = found[below(above, clause.path), clause.terms]
        else:
            true = [compares(clause, text) for text in read["text"]]
            elements = read.filter(pl.Series(true, dtype=pl.Boolean)).select("doc", "xpath")
        return elements if clause.path is None else self._lifted(clause.path, elements)

    def _lifted(self, path: Path, elements: pl.DataFrame) -> pl.DataFrame:
        """Return the elements from which the path leads to these; a document's XPath is empty."""
        tagged = elements.filter(pl.col("xpath") != "").with_columns(tags=without_ordinals("xpath"))
        known = self.depths.setdefault(path, {})
        distinct = tagged["tags"].unique()
        for tags in distinct:
            if tags not in known:
                names = tags_of(tags)
                reach = range(len(names))
                known[tags] = [k for k in reach if matches(path, names[k:], self.groups)]
        table = pl.DataFrame(
            [(tags, k) for tags in distinct for k in known[tags]],
            schema={"tags": pl.String, "depth": pl.Int64},
            orient="row",
        )
        steps = pl.col("xpath").str.split("/").list.head(pl.col("depth") + 1)
        lifted = tagged.join(table, on="tags")
        return lifted.select("doc", xpath=steps.list.join("/")).unique()


def _both(one: pl.DataFrame, other: pl.DataFrame) -> pl.DataFrame:
    """Return the elements that both have."""
    return one.join(other, on=["doc", "xpath"], how="semi")


def _asking(topics: Topics) -> list[tuple[str, Key, set[str | Query]]]:
    """Return possible sub-topics: what each asks for, and its parent as a name and as a query."""
    found: list[tuple[str, Key, set[str | Query]]] = []
    for topic in topics:
        if topic.parent is None or topic.structure is None:
            continue
        query, parent = try_query(topic.structure), try_query(topic.parent)
        key = None if query is None else single_clause(query)
        if key is not None:
            found.append((topic.id, key, {topic.parent.strip(), *([parent] if parent else [])}))
    return found


def _relevant(support: Judgements | None) -> pl.DataFrame:
    """Return topic, document and XPath of every element that is relevant to a sub-topic."""
    if support is None or support.elements is None:
        if support is not None and support.relevant.any():
            raise UsageError(
                f"the support judgements ({support.sources[0].path}) hold no assessed elements; "
                "expected elements with grades or sizes"
            )
        return pl.DataFrame(schema={"topic": pl.String, **_ELEMENT})
    elements = support.elements.filter(mark_positive(support.elements, scale_of(support)))
    row, xpath = elements["row"].to_numpy(), canonical_paths(elements["xpath"])
    names = pl.Series(support.topics, dtype=pl.String)
    return pl.DataFrame(
        {"topic": names.gather(support.topic[row]), "doc": support.doc.gather(row), "xpath": xpath}
    )


def _means(paths: Iterable[Path], groups: Classes) -> Callable[[str], bool]:
    """Return a test for XPaths that one of the paths means; each tag path is matched once."""
    known: dict[tuple[str, ...], bool] = {}

    def meant(xpath: str) -> bool:
        tags = tags_of(xpath)
        if tags not in known:
            known[tags] = any(matches(path, tags, groups) for path in paths)
        return known[tags]

    return meant
