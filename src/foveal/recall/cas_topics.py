"""CAS topics taken strictly or vaguely: which elements of the judgements count.

The first letter of an interpretation is for the target: strict, only elements that the query asks
for count. The second is for the support: strict, only documents count in which the other conditions
of the query hold. An about-clause was judged through a sub-topic; a comparison is decided on the
text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from decimal import Decimal
from functools import lru_cache, partial
from itertools import accumulate
from operator import eq, ge, gt, le, lt
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from foveal import nexi
from foveal.errors import InputError, Problem, UsageError
from foveal.formats.graded_elements import mark_positive
from foveal.formats.xpaths import canonical_paths
from foveal.lookup import number_rows
from foveal.model import Judgements, Topics
from foveal.nexi import CAS, About, And, Compare, NexiError, Or, Part, Path, Query, Term
from foveal.nexi.query import Clause, locate_leaves
from foveal.recall.forest import find_scale
from foveal.spans import Ints

INTERPRETATIONS = ("VV", "SV", "VS", "SS")
"""Target first, then support; V is vague, S strict."""
Bools = npt.NDArray[np.bool_]
Key = tuple[Path, tuple[Term, ...]]
"""The request of an about-clause: the absolute path and the terms."""
Classes = tuple[frozenset[str], ...]
Elements = set[tuple[str, str]]
"""Documents and XPaths; the XPath of the document itself is empty."""
Texts = Callable[[Mapping[str, Callable[[str], bool]]], Iterable[tuple[str, str, str]]]
"""Gives the text of elements: from documents and which XPaths are wanted in each to document,
XPath and text of every such element."""

_matches = lru_cache(1 << 16)(nexi.matches)  # few paths and tag paths, asked for many elements
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
    row : int64 array
    xpath : polars.Series of str
        The elements: row of the judgements and canonical XPath of each.
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
        tags = xpath.str.replace_all(r"\[[0-9]+\]", "")
        numbered = number_rows(judgements.topic[row], tags)
        first = numbered.first_rows
        pairs = zip(judgements.topic[row[first]].tolist(), tags.gather(first), strict=True)
        found = [
            _matches(queries[judgements.topics[topic]].target, nexi.list_tags(own), groups)
            for topic, own in pairs
        ]
        keep &= np.array(found, dtype=bool)[numbered.number]
    if interpretation[1] == "S":
        conditions = {name: _list_conditions(query) for name, query in queries.items()}
        conditions = {name: parts for name, parts in conditions.items() if parts}
        _check_conditions(topics, conditions, support, texts)
        relevant = _find_relevant(topics, queries, conditions, support)
        satisfied = _find_satisfied(conditions, relevant, judgements, row, groups, texts)
        keep &= satisfied[row]
    return keep


# -- queries -------------------------------------------------------------------------------------


def _parse_any(text: str) -> Query:
    """Parse a query as NEXI, else in the dialects that were in use."""
    try:
        return nexi.parse(text)
    except NexiError:
        return nexi.parse(text, lenient=True)


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
        has = "no castitle" if query is None else f"no path in its castitle {query!r}"
        message = f"topic {name!r} has {has}; expected a query such as //sec[about(., words)]"
        try:
            parsed = None if query is None else _parse_any(query)
        except NexiError as error:
            parsed, message = None, f"castitle of topic {name!r}: {error}"
        if isinstance(parsed, CAS):
            found[name] = parsed
        else:
            problems.append(topics.problem("topics.castitle", place[name], message))
    if problems:
        raise InputError(problems)
    return found


def _extend_path(above: Path, path: Path | None) -> Path:
    """Return a path that goes on from another one."""
    return above if path is None else Path(above.steps + path.steps)


def _drop_judged(clause: Clause | None) -> Clause | None:
    """Return what a clause of the last part asks beyond the topic's own judgements, if anything."""
    if isinstance(clause, And | Or):
        inner = [_drop_judged(each) for each in clause.clauses]
        left = tuple(each for each in inner if each is not None)
        if not left or (isinstance(clause, Or) and len(left) < len(inner)):
            return None
        return left[0] if len(left) == 1 else type(clause)(left)
    return None if isinstance(clause, About) and clause.path is None else clause


def _list_conditions(query: CAS) -> list[Part]:
    """Return the parts with what they ask beyond the topic's own judgements."""
    *before, last = query.parts
    parts = [*before, Part(last.path, _drop_judged(last.clause))]
    while parts and parts[-1].clause is None:
        parts.pop()
    return parts


# -- strict support --------------------------------------------------------------------------------


def _check_conditions(
    topics: Topics,
    conditions: Mapping[str, Sequence[Part]],
    support: Judgements | None,
    texts: Texts | None,
) -> None:
    """Refuse conditions that cannot be decided, before anything is read."""
    for name, parts in conditions.items():
        for path, leaf in locate_leaves(parts):
            if any(step.attribute for step in path.steps):
                text = f"topic {name!r}: {leaf} asks for an attribute; only elements were judged"
                place = topics.ids.index(name)
                raise InputError([topics.problem("topics.attribute", place, text)])
            need = None
            if isinstance(leaf, About) and support is None:
                need = "judgements of its sub-topics (--support-judgements)"
            elif isinstance(leaf, Compare) and texts is None:
                need = "text of the documents (--documents), which no index holds"
            if need is not None:
                text = f"topic {name!r} has the condition {leaf}; strict support needs the {need}"
                raise UsageError(text)


def _find_relevant(
    topics: Topics,
    queries: Mapping[str, CAS],
    conditions: Mapping[str, Sequence[Part]],
    support: Judgements | None,
) -> dict[str, dict[Key, Elements]]:
    """Return the elements relevant to each about-clause of each topic, by its sub-topics."""
    if support is None:
        return {name: {} for name in conditions}
    asking = _list_sub_topics(topics)
    sub_topics: dict[str, dict[Key, list[str]]] = {name: {} for name in conditions}
    problems: list[Problem] = []
    for name, parts in conditions.items():
        query, numbers = queries[name], dict[Key, list[str]]()
        # About-clauses that are conditions are numbered in reading order.
        number = 0
        for path, leaf in locate_leaves(query.parts):
            if isinstance(leaf, About) and (leaf.path is not None or path != query.target):
                number += 1
                numbers.setdefault((path, leaf.terms), []).append(f"{name}.{number}")
        for path, leaf in locate_leaves(parts):
            if not isinstance(leaf, About):
                continue
            key = path, leaf.terms
            declared = [child for child, asks, of in asking if asks == key and of & {name, query}]
            given = [child for child in declared if child in support.topics]
            given = given or [child for child in numbers[key] if child in support.topics]
            sub_topics[name][key] = given
            if not given:
                asks = CAS((Part(path, About(None, leaf.terms)),))
                message = (
                    f"topic {name!r}: no sub-topic is judged for {leaf}; expected judgements of a "
                    f"topic {asks} whose parent is {name!r}, or of topic {numbers[key][0]!r}"
                )
                place = topics.ids.index(name)
                problems.append(topics.problem("topics.sub_topic", place, message))
    if problems:
        raise InputError(problems)
    relevant = _list_relevant(support) if any(sub_topics.values()) else {}
    return {
        name: {
            key: {element for child in children for element in relevant.get(child, ())}
            for key, children in own.items()
        }
        for name, own in sub_topics.items()
    }


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


def _list_relevant(support: Judgements) -> dict[str, Elements]:
    """Return the elements that are relevant to each sub-topic."""
    if support.elements is None:
        if not support.relevant.any():
            return {}
        raise UsageError(
            f"the support judgements ({support.sources[0].path}) hold no assessed elements; "
            "expected elements with grades or sizes"
        )
    elements = support.elements.filter(mark_positive(support.elements, find_scale(support)))
    row = elements["row"].to_numpy()
    found: dict[str, Elements] = {}
    columns = (support.topic[row].tolist(), support.doc.gather(row))
    for topic, doc, xpath in zip(*columns, canonical_paths(elements["xpath"]), strict=True):
        found.setdefault(support.topics[topic], set()).add((doc, xpath))
    return found


def _find_satisfied(
    conditions: Mapping[str, Sequence[Part]],
    relevant: Mapping[str, Mapping[Key, Elements]],
    judgements: Judgements,
    row: Ints,
    groups: Classes,
    texts: Texts | None,
) -> Bools:
    """Return which of the judgements in `row` are of documents that satisfy the conditions."""
    keep = np.ones(len(judgements), dtype=bool)
    asked = np.zeros(len(judgements), dtype=bool)
    asked[row] = True
    rows = {
        name: np.flatnonzero(asked & (judgements.topic == judgements.topics.index(name)))
        for name in conditions
    }
    # The texts that conditions compare.
    compared: dict[str, set[Path]] = {}
    for name, parts in conditions.items():
        paths = {path for path, leaf in locate_leaves(parts) if isinstance(leaf, Compare)}
        for doc in judgements.doc.gather(rows[name]) if paths else ():
            compared.setdefault(doc, set()).update(paths)

    def wants(paths: set[Path], xpath: str) -> bool:
        return any(_matches(path, nexi.list_tags(xpath), groups) for path in paths)

    wanted = {doc: partial(wants, paths) for doc, paths in compared.items()}
    read = [*texts(wanted)] if texts is not None and wanted else []
    for name, parts in conditions.items():
        docs = judgements.doc.gather(rows[name])
        fit = _find_documents(parts, relevant[name], set(docs), read, groups)
        keep[rows[name]] = [doc in fit for doc in docs]
    return keep


def _find_documents(
    parts: Sequence[Part],
    relevant: Mapping[Key, Elements],
    docs: set[str],
    read: Sequence[tuple[str, str, str]],
    groups: Classes,
) -> set[str]:
    """Return the documents in which elements can be chosen that satisfy all parts.

    From the last part up: the elements in which its clause holds make those above them fit that its
    path leads down from; of these, the clause of the part before must hold too. In the end it is
    the document itself that a path must lead down from.
    """

    def lift(path: Path, elements: Elements) -> Elements:
        """Return the elements from which the path leads to these."""
        found: Elements = set()
        for doc, xpath in elements:
            steps = xpath.split("/")
            tags = nexi.list_tags(xpath)
            for depth in range(len(steps) - 1):
                if _matches(path, tags[depth:], groups):
                    found.add((doc, "/".join(steps[: depth + 1])))
        return found

    def find_holding(clause: Clause, above: Path) -> Elements:
        """Return the elements in which a clause holds."""
        if isinstance(clause, And | Or):
            each = [find_holding(inner, above) for inner in clause.clauses]
            return set.intersection(*each) if isinstance(clause, And) else set.union(*each)
        if isinstance(clause, About):
            known = relevant[_extend_path(above, clause.path), clause.terms]
            elements = {element for element in known if element[0] in docs}
        else:
            elements = {(doc, x) for doc, x, text in read if doc in docs and _holds(clause, text)}
        return elements if clause.path is None else lift(clause.path, elements)

    fit: Elements | None = None
    above = accumulate((part.path for part in parts), _extend_path)
    for path, part in reversed([*zip(above, parts, strict=True)]):
        if part.clause is not None:
            holding = find_holding(part.clause, path)
            fit = holding if fit is None else fit & holding
        fit = lift(part.path, fit or set())
    return {doc for doc, xpath in fit or () if not xpath}


def _holds(comparison: Compare, text: str) -> bool:
    """Return True if a comparison holds for the text of an element.

    A constant that is not a number, as the dialect of 2003 allows, can only be equal.

    >>> _holds(Compare(None, ">", "1998"), " 1999 "), _holds(Compare(None, "<", "3"), "two")
    (True, False)
    """
    constant, value = comparison.value.strip(), text.strip()
    if _NUMBER.fullmatch(constant):
        holds = _OPERATORS[comparison.operator]
        return bool(_NUMBER.fullmatch(value)) and holds(Decimal(value), Decimal(constant))
    return comparison.operator == "=" and text.split() == comparison.value.split()
