"""CAS topics taken strictly or vaguely: which elements of the judgements count.

The first letter of an interpretation is for the target: strict, only elements that the query asks
for count. The second is for the support: strict, only documents count in which the other conditions
of the query hold. An about-clause was judged through a sub-topic; a comparison is decided on the
text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from decimal import Decimal
from functools import lru_cache, partial, reduce
from operator import eq, ge, gt, le, lt
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from foveal.errors import InputError, Problem, UsageError
from foveal.formats.graded_elements import mark_positive
from foveal.formats.xpaths import canonical_paths
from foveal.model import Judgements, Topics
from foveal.nexi import (
    CAS,
    About,
    And,
    Compare,
    NexiError,
    Or,
    Part,
    Path,
    Query,
    Term,
    matches,
    parse,
    tags_of,
)
from foveal.nexi.query import Clause, list_leaves
from foveal.recall.forest import scale_of
from foveal.spans import Ints

INTERPRETATIONS = ("VV", "SV", "VS", "SS")
"""Target first, then support; V is vague, S strict."""
Bools = npt.NDArray[np.bool_]
Key = tuple[Path, tuple[Term, ...]]
"""The request of an about-clause: the absolute path and the terms."""
Classes = tuple[frozenset[str], ...]
Texts = Callable[[Mapping[str, Callable[[str], bool]]], Iterable[tuple[str, str, str]]]
"""Gives the text of elements: from documents and which XPaths are wanted in each to document,
XPath and text of every such element."""

_matches = lru_cache(1 << 16)(matches)  # few paths and tag paths, asked for many elements
_ELEMENT = {"doc": pl.String, "xpath": pl.String}
_NUMBER = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)")
_OPERATORS: dict[str, Callable[[Any, Any], bool]] = {"<": lt, "<=": le, "=": eq, ">=": ge, ">": gt}


def select_elements(
    interpretation: str,
    topics: Topics,
    judgements: Judgements,
    row: Ints,
    xpath: pl.Series,
    *,
    support: Judgements | None = None,
    classes: Iterable[frozenset[str]] = (),
    texts: Texts | None = None,
) -> Bools:
    """Return which elements stay under an interpretation of the topics' structured queries.

    Parameters
    ----------
    interpretation : {"VV", "SV", "VS", "SS"}
        Target first, then support. With a strict target, elements must match the target path; with
        strict support, their documents must satisfy all conditions besides ``about(., terms)`` of
        the last part, which is what the topic's own judgements say.
    topics : Topics
        The statements of the judged topics and, where there are any, of their sub-topics.
    judgements : Judgements
        Whose rows the elements point to.
    row : int64 array
    xpath : polars.Series of str
        The elements: judgement and canonical XPath of each.
    support : Judgements, optional
        Assessed elements of the sub-topics. A sub-topic names its topic, or the query of it, as
        `parent` and asks for one of its clauses; or else it is called ``T.n`` for the n-th
        about-clause of topic T that is a condition.
    classes : iterable of sets of tags, optional
        Tags of one class count as the same tag.
    texts : callable, optional
        Gives the text of elements, which comparisons need; see `foveal.collection.SourceTexts`.

    Examples
    --------
    >>> from foveal.model import Topic
    >>> topics = Topics.of([Topic("1", castitle="//article//sec[about(., lace)]")])
    >>> judged = Judgements.from_highlights({"1": {"D1": {}}})
    >>> paths = pl.Series(["/article[1]/sec[2]", "/article[1]/sec[2]/p[1]"])
    >>> select_elements("SV", topics, judged, np.array([0, 0]), paths).tolist()
    [True, False]
    """
    if interpretation not in INTERPRETATIONS:
        known = ", ".join(INTERPRETATIONS)
        raise UsageError(f"no CAS interpretation {interpretation!r}; expected one of {known}")
    keep = np.ones(len(row), dtype=bool)
    if interpretation == "VV":
        return keep
    groups = tuple(classes)
    names = [judgements.topics[code] for code in np.unique(judgements.topic[row]).tolist()]
    queries = _parse_castitles(topics, names)
    if interpretation[0] == "S":
        keep &= _match_targets(queries, judgements, row, xpath, groups)
    if interpretation[1] == "S":
        conditions = _Conditions(topics, queries, support, groups, texts)
        keep &= conditions.find_satisfied(judgements, row)[row]
    return keep


def _match_targets(
    queries: Mapping[str, CAS], judgements: Judgements, row: Ints, xpath: pl.Series, groups: Classes
) -> Bools:
    """Return which elements the target paths of their topics mean."""
    frame = pl.DataFrame({"topic": judgements.topic[row], "xpath": xpath})
    frame = frame.select("topic", tags=_strip_ordinals("xpath"))
    distinct = frame.unique()
    found = [
        _matches(queries[judgements.topics[topic]].target, tags_of(tags), groups)
        for topic, tags in distinct.iter_rows()
    ]
    distinct = distinct.with_columns(found=pl.Series(found, dtype=pl.Boolean))
    joined = frame.join(distinct, on=["topic", "tags"], how="left", maintain_order="left")
    result: Bools = joined["found"].to_numpy()
    return result


# -- queries -------------------------------------------------------------------------------------


def _parse_any(text: str) -> Query:
    """Parse a query as NEXI, else in the dialects that were in use."""
    try:
        return parse(text)
    except NexiError:
        return parse(text, lenient=True)


def _parse_castitles(topics: Topics, names: Sequence[str]) -> dict[str, CAS]:
    """Return the structured query of each topic."""
    place = {name: i for i, name in enumerate(topics.ids)}
    castitles = topics.castitles
    found: dict[str, CAS] = {}
    problems: list[Problem] = []
    for name in names:
        if name not in place:
            files = ", ".join(source.path for source in topics.sources)
            message = f"topic {name!r} is judged but not given here; its structured query is needed"
            problems.append(Problem("topics.unknown_topic", files, None, message))
            continue
        query = castitles.get(name)
        try:
            parsed = None if query is None else _parse_any(query)
        except NexiError as error:
            problems.append(
                topics.problem(
                    "topics.castitle", place[name], f"castitle of topic {name!r}: {error}"
                )
            )
            continue
        if isinstance(parsed, CAS):
            found[name] = parsed
        else:
            has = "no castitle" if parsed is None else f"no path in its castitle {query!r}"
            message = f"topic {name!r} has {has}; expected a query such as //sec[about(., words)]"
            problems.append(topics.problem("topics.castitle", place[name], message))
    if problems:
        raise InputError(problems)
    return found


def _extend_path(above: Path, path: Path | None) -> Path:
    """Return a path that goes on from another one."""
    return above if path is None else Path(above.steps + path.steps)


def _locate_parts(parts: Sequence[Part]) -> Iterator[tuple[Path, Part]]:
    """Yield the parts of a query with their absolute paths."""
    above = Path(())
    for part in parts:
        above = _extend_path(above, part.path)
        yield above, part


def _drop_judged(clause: Clause | None, *, last: bool, numbers: bool) -> Clause | None:
    """Return what a clause asks beyond the topic's own judgements; None if it asks nothing more.

    Unless `numbers`, comparisons are taken to hold.
    """
    if isinstance(clause, And | Or):
        inner = [_drop_judged(each, last=last, numbers=numbers) for each in clause.clauses]
        left = tuple(each for each in inner if each is not None)
        if not left or (isinstance(clause, Or) and len(left) < len(inner)):
            return None
        return left[0] if len(left) == 1 else type(clause)(left)
    own = last and isinstance(clause, About) and clause.path is None
    given = isinstance(clause, Compare) and not numbers
    return None if own or given else clause


def _list_conditions(query: CAS, *, numbers: bool = True) -> tuple[Part, ...]:
    """Return the parts with what they ask beyond the topic's own judgements."""
    last = len(query.parts) - 1
    parts = [
        Part(part.path, _drop_judged(part.clause, last=i == last, numbers=numbers))
        for i, part in enumerate(query.parts)
    ]
    while parts and parts[-1].clause is None:
        parts.pop()
    return tuple(parts)


def _number_clauses(query: CAS) -> dict[Key, list[int]]:
    """Number the about-clauses that are conditions, in reading order."""
    found: dict[Key, list[int]] = {}
    number = 0
    for i, (above, part) in enumerate(_locate_parts(query.parts)):
        last = i == len(query.parts) - 1
        for leaf in list_leaves(part.clause):
            if isinstance(leaf, About) and not (last and leaf.path is None):
                number += 1
                found.setdefault((_extend_path(above, leaf.path), leaf.terms), []).append(number)
    return found


# -- strict support --------------------------------------------------------------------------------


def _strip_ordinals(column: str) -> pl.Expr:
    """Return XPaths without their ordinals."""
    return pl.col(column).str.replace_all(r"\[[0-9]+\]", "")


def _holds_for(comparison: Compare, text: str) -> bool:
    """Return True if a comparison holds for the text of an element.

    A constant that is not a number, as the dialect of 2003 allows, can only be equal.

    >>> _holds_for(Compare(None, ">", "1998"), " 1999 "), _holds_for(Compare(None, "<", "3"), "two")
    (True, False)
    """
    constant, value = comparison.value.strip(), text.strip()
    if _NUMBER.fullmatch(constant):
        holds = _OPERATORS[comparison.operator]
        return bool(_NUMBER.fullmatch(value)) and holds(Decimal(value), Decimal(constant))
    return comparison.operator == "=" and text.split() == comparison.value.split()


class _Conditions:
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
        self.parts = {
            name: parts for name, query in queries.items() if (parts := _list_conditions(query))
        }
        self.queries = {name: queries[name] for name in self.parts}
        self._check(topics, support)
        self.sub_topics = self._find_sub_topics(topics, support)
        self.relevant = _list_relevant(support if self.sub_topics else None)

    def _leaves(self, topic: str) -> Iterator[tuple[Path, About | Compare]]:
        """Yield the conditions of a topic, each with the absolute path of its elements."""
        for above, part in _locate_parts(self.parts[topic]):
            for leaf in list_leaves(part.clause):
                yield _extend_path(above, leaf.path), leaf

    def _check(self, topics: Topics, support: Judgements | None) -> None:
        """Refuse conditions that cannot be decided, before anything is read."""
        leaves = [(name, *found) for name in self.parts for found in self._leaves(name)]
        problems = [
            topics.problem(
                "topics.attribute",
                topics.ids.index(name),
                f"topic {name!r}: {leaf} asks for an attribute; only elements can be told apart",
            )
            for name, path, leaf in leaves
            if any(step.attribute for step in path.steps)
        ]
        if problems:
            raise InputError(problems)
        for name, _, leaf in leaves:
            need = ""
            if isinstance(leaf, About) and support is None:
                need = "judgements of its sub-topics (--support-judgements)"
            elif isinstance(leaf, Compare) and self.texts is None:
                need = (
                    "text of the documents, which no index holds: give the directory or archive "
                    "that they lie in (--documents)"
                )
            if need:
                raise UsageError(
                    f"topic {name!r} has the condition {leaf}; strict support needs the {need}"
                )

    def _find_sub_topics(
        self, topics: Topics, support: Judgements | None
    ) -> dict[tuple[str, Key], list[str]]:
        """Return the judged sub-topics of each condition of each topic."""
        judged = () if support is None else support.topics
        asking = _list_sub_topics(topics)
        found: dict[tuple[str, Key], list[str]] = {}
        problems: list[Problem] = []
        for name, query in self.queries.items():
            parents = {name, query}
            numbers = _number_clauses(query)
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
                    problems.append(
                        topics.problem("topics.sub_topic", topics.ids.index(name), message)
                    )
        if problems:
            raise InputError(problems)
        return found

    def find_satisfied(self, judgements: Judgements, row: Ints) -> Bools:
        """Return which of the judgements in `row` are of documents that satisfy the conditions."""
        keep = np.ones(len(judgements), dtype=bool)
        asked = np.zeros(len(judgements), dtype=bool)
        asked[row] = True
        code = {name: i for i, name in enumerate(judgements.topics)}
        rows = {
            name: np.flatnonzero(asked & (judgements.topic == code[name])) for name in self.parts
        }
        docs = {name: judgements.doc.gather(rows[name]).unique() for name in self.parts}
        # The elements of these documents that are relevant to each condition.
        found: dict[str, dict[Key, pl.DataFrame]] = {name: {} for name in self.parts}
        for (name, key), sub_topics in self.sub_topics.items():
            judged = self.relevant.filter(pl.col("topic").is_in(sub_topics))
            judged = judged.join(docs[name].to_frame("doc"), on="doc", how="semi")
            found[name][key] = judged.select("doc", "xpath").unique()
        read = self._read_texts(docs, found)
        for name, parts in self.parts.items():
            fit = self._find_documents(parts, found[name], read)
            keep[rows[name]] = judgements.doc.gather(rows[name]).is_in(fit.implode()).to_numpy()
        return keep

    def _read_texts(
        self, docs: Mapping[str, pl.Series], found: Mapping[str, Mapping[Key, pl.DataFrame]]
    ) -> pl.DataFrame:
        """Return the texts to compare, of documents that the judgements do not exclude."""
        paths: dict[str, set[Path]] = {}
        for name, query in self.queries.items():
            compared = {path for path, leaf in self._leaves(name) if isinstance(leaf, Compare)}
            if not compared:
                continue
            judged = _list_conditions(query, numbers=False)
            none = pl.DataFrame(schema={**_ELEMENT, "text": pl.String})
            left = self._find_documents(judged, found[name], none) if judged else docs[name]
            for doc in left:
                paths.setdefault(doc, set()).update(compared)

        def wants(compared: set[Path], xpath: str) -> bool:
            return any(_matches(path, tags_of(xpath), self.groups) for path in compared)

        asked = {doc: partial(wants, own) for doc, own in paths.items()}
        rows = [] if self.texts is None or not asked else list(self.texts(asked))
        return pl.DataFrame(rows, schema={**_ELEMENT, "text": pl.String}, orient="row")

    def _find_documents(
        self, parts: Sequence[Part], found: Mapping[Key, pl.DataFrame], read: pl.DataFrame
    ) -> pl.Series:
        """Return the documents in which elements can be chosen that satisfy all parts.

        From the last part up: the elements in which its clause holds make those above them fit
        that its path leads down from; of these, the clause of the part before must hold too. In
        the end it is the document itself that a path must lead down from.
        """
        fit: pl.DataFrame | None = None
        for above, part in reversed([*_locate_parts(parts)]):
            if part.clause is not None:
                holding = self._find_holding(part.clause, above, found, read)
                fit = holding if fit is None else _intersect(fit, holding)
            assert fit is not None, "the last part has a condition"
            fit = self._lift(part.path, fit)
        assert fit is not None, "there is a part"
        return fit.filter(pl.col("xpath") == "")["doc"]

    def _find_holding(
        self, clause: Clause, above: Path, found: Mapping[Key, pl.DataFrame], read: pl.DataFrame
    ) -> pl.DataFrame:
        """Return the elements in which a clause holds."""
        if isinstance(clause, And | Or):
            each = [self._find_holding(inner, above, found, read) for inner in clause.clauses]
            return reduce(_intersect, each) if isinstance(clause, And) else pl.concat(each).unique()
        if isinstance(clause, About):
            elements = found[_extend_path(above, clause.path), clause.terms]
        else:
            true = [_holds_for(clause, text) for text in read["text"]]
            elements = read.filter(pl.Series(true, dtype=pl.Boolean)).select("doc", "xpath")
        return elements if clause.path is None else self._lift(clause.path, elements)

    def _lift(self, path: Path, elements: pl.DataFrame) -> pl.DataFrame:
        """Return the elements from which the path leads to these; a document's XPath is empty."""
        tagged = elements.filter(pl.col("xpath") != "").with_columns(tags=_strip_ordinals("xpath"))
        depths = [
            (tags, depth)
            for tags in tagged["tags"].unique()
            for depth in range(tags.count("/"))
            if _matches(path, tags_of(tags)[depth:], self.groups)
        ]
        table = pl.DataFrame(depths, {"tags": pl.String, "depth": pl.Int64}, orient="row")
        steps = pl.col("xpath").str.split("/").list.head(pl.col("depth") + 1)
        lifted = tagged.join(table, on="tags")
        return lifted.select("doc", xpath=steps.list.join("/")).unique()


def _intersect(one: pl.DataFrame, other: pl.DataFrame) -> pl.DataFrame:
    """Return the elements that both have."""
    return one.join(other, on=["doc", "xpath"], how="semi")


def _list_sub_topics(topics: Topics) -> list[tuple[str, Key, set[str | Query]]]:
    """Return topics of one about-clause: its request, and the parent as a name and as a query."""
    found: list[tuple[str, Key, set[str | Query]]] = []
    for topic in topics:
        if topic.parent is None or topic.structure is None:
            continue
        parents: set[str | Query] = {topic.parent.strip()}
        with suppress(NexiError):
            parents.add(_parse_any(topic.parent))
        with suppress(NexiError):
            query = _parse_any(topic.structure)
            if isinstance(query, CAS) and len(query.parts) == 1:
                path, clause = query.parts[0].path, query.parts[0].clause
                if isinstance(clause, About):
                    key = _extend_path(path, clause.path), clause.terms
                    found.append((topic.id, key, parents))
    return found


def _list_relevant(support: Judgements | None) -> pl.DataFrame:
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
