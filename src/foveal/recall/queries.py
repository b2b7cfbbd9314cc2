"""Structured queries of topics, taken apart: targets, conditions, and what sub-topics ask for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from foveal.errors import InputError, Problem
from foveal.model import Topics
from foveal.nexi import CAS, About, And, Compare, NexiError, Or, Part, Path, Query, Term, parse
from foveal.nexi.query import Clause

__all__ = [
    "Key",
    "below",
    "conditions",
    "leaves",
    "located",
    "numbered_clauses",
    "single_clause",
    "structured_queries",
    "try_query",
]

Key = tuple[Path, tuple[Term, ...]]
"""The request of an about-clause: the absolute path and the terms."""


def _read(text: str) -> Query:
    """Parse a query as NEXI, else in the dialects that were in use."""
    try:
        return parse(text)
    except NexiError:
        return parse(text, lenient=True)


def try_query(text: str) -> Query | None:
    """Parse a query; None if the text is not one."""
    try:
        return _read(text)
    except NexiError:
        return None


def structured_queries(topics: Topics, names: Sequence[str]) -> dict[str, CAS]:
    """Return the structured query of each topic."""
    place = {name: i for i, name in enumerate(topics.ids)}
    castitles = topics.castitles
    found: dict[str, CAS] = {}
    problems: list[Problem] = []
    for name in names:
        if name not in place:
            files = ", ".join(source.path for source in topics.sources)
            message = f"topic {name!r} is judged but not given here; its structured query is needed"
            problems.append(Problem("unclassified", files, None, message))
            continue
        query = castitles.get(name)
        try:
            parsed = None if query is None else _read(query)
        except NexiError as error:
            problems.append(
                topics.problem("unclassified", place[name], f"castitle of topic {name!r}: {error}")
            )
            continue
        if isinstance(parsed, CAS):
            found[name] = parsed
        else:
            has = "no castitle" if parsed is None else f"no path in its castitle {query!r}"
            message = f"topic {name!r} has {has}; expected a query such as //sec[about(., words)]"
            problems.append(topics.problem("unclassified", place[name], message))
    if problems:
        raise InputError(problems)
    return found


def leaves(clause: Clause | None) -> Iterator[About | Compare]:
    """Yield the simple clauses that a clause combines, in reading order."""
    if isinstance(clause, And | Or):
        for inner in clause.clauses:
            yield from leaves(inner)
    elif clause is not None:
        yield clause


def below(above: Path, path: Path | None) -> Path:
    """Return a path that goes on from another one."""
    return above if path is None else Path(above.steps + path.steps)


def located(parts: Sequence[Part]) -> Iterator[tuple[Path, Part]]:
    """Yield the parts of a query with their absolute paths."""
    above = Path(())
    for part in parts:
        above = below(above, part.path)
        yield above, part


def _beyond(clause: Clause | None, *, last: bool, numbers: bool) -> Clause | None:
    """Return what a clause asks beyond the topic's own judgements; None if it asks nothing more.

    Unless `numbers`, comparisons are taken to hold.
    """
    if isinstance(clause, And | Or):
        inner = [_beyond(each, last=last, numbers=numbers) for each in clause.clauses]
        left = tuple(each for each in inner if each is not None)
        if not left or (isinstance(clause, Or) and len(left) < len(inner)):
            return None
        return left[0] if len(left) == 1 else type(clause)(left)
    own = last and isinstance(clause, About) and clause.path is None
    given = isinstance(clause, Compare) and not numbers
    return None if own or given else clause


def conditions(query: CAS, *, numbers: bool = True) -> tuple[Part, ...]:
    """Return the parts with what they ask beyond the topic's own judgements."""
    last = len(query.parts) - 1
    parts = [
        Part(part.path, _beyond(part.clause, last=i == last, numbers=numbers))
        for i, part in enumerate(query.parts)
    ]
    while parts and parts[-1].clause is None:
        parts.pop()
    return tuple(parts)


def numbered_clauses(query: CAS) -> dict[Key, list[int]]:
    """Number the about-clauses that are conditions, in reading order."""
    found: dict[Key, list[int]] = {}
    number = 0
    for i, (above, part) in enumerate(located(query.parts)):
        last = i == len(query.parts) - 1
        for leaf in leaves(part.clause):
            if isinstance(leaf, About) and not (last and leaf.path is None):
                number += 1
                found.setdefault((below(above, leaf.path), leaf.terms), []).append(number)
    return found


def single_clause(query: Query) -> Key | None:
    """Return the request of a query of one about-clause; None for any other."""
    if not isinstance(query, CAS) or len(query.parts) != 1:
        return None
    path, clause = query.parts[0].path, query.parts[0].clause
    return (below(path, clause.path), clause.terms) if isinstance(clause, About) else None
