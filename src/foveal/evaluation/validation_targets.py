"""Whether results are what the castitles of strict tasks ask for, and whether tags exist."""

from __future__ import annotations

from collections.abc import Collection as Names
from collections.abc import Iterable, Iterator, Mapping
from difflib import get_close_matches
from itertools import chain, islice

import numpy as np
import polars as pl

from foveal.collection import Collection
from foveal.collection.lookup import held
from foveal.collection.xpaths import owners
from foveal.evaluation.validation_rules import UNCHECKED, Fault
from foveal.formats.xpaths import ELEMENT
from foveal.model import Run
from foveal.nexi import CAS, IEEE_CLASSES, NexiError, Path, matches, parse, tags_of
from foveal.spans import Ints

__all__ = ["Classes", "off_target", "tags_in", "unknown_tags"]

Classes = tuple[frozenset[str], ...]

_DOCUMENTS = 1000
"""Documents whose elements are looked up together."""


def unknown_tags(tags: Iterable[str], collection: Collection, classes: Classes = ()) -> list[str]:
    """What to say of the tags that no element of the collection has, nor one of their class."""
    known = set(collection.header["tags"])
    said = []
    for tag in dict.fromkeys(tags):
        if known.isdisjoint({tag}.union(*(group for group in classes if tag in group))):
            near = get_close_matches(tag, sorted(known), 1)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            said.append(f"no element of the collection has the tag {tag!r}{hint}")
    return said


def tags_in(path: Path) -> list[str]:
    """The tags that a path of a query names.

    >>> tags_in(parse("//article//(sec|p)[about(., x)]").target)
    ['article', 'sec', 'p']
    """
    steps = (step.names for step in path.steps if not step.attribute)
    return [name for name in chain.from_iterable(steps) if name != "*"]


def off_target(
    run: Run,
    castitles: Mapping[str, str],
    *,
    topics: Names[str] | None = None,
    classes: Classes = (),
    collection: Collection | None = None,
    skipped: Names[int] = (),
) -> Iterator[Fault]:
    """Results that the castitle of their topic does not ask for, and what could not be checked.

    Parameters
    ----------
    run : Run
        On the text of `collection`, if there is one.
    castitles : mapping of topic to NEXI query
    topics : collection of str, optional
        All topics there are; of others nothing is said.
    classes : sets of tags that are taken for each other
    collection : Collection, optional
        Tells which elements results are that do not say so themselves.
    skipped : collection of int
        Lines of results that have no place.
    """
    element = np.zeros(len(run), dtype=bool)
    if run.xpath is not None:
        element = run.xpath.str.contains(ELEMENT).fill_null(value=False).to_numpy()
    skip = np.isin(run.line, list(skipped))
    unnamed: list[int] = []
    for number, topic in enumerate(run.topics):
        start, end = int(run.bounds[number]), int(run.bounds[number + 1])
        if topics is not None and topic not in topics:
            continue
        query = _query(topic, castitles)
        if not isinstance(query, CAS):
            yield query[0], start, query[1]
            continue
        if collection is not None:
            for said in unknown_tags(tags_in(query.target), collection, classes):
                yield "tag", start, f"castitle of topic {topic!r}: {said}"
        rows = np.arange(start, end)
        yield from _named(run, rows[element[start:end]], query, classes)
        others = rows[~(element | skip)[start:end]]
        if collection is None:
            unnamed += others.tolist()
        else:
            yield from _placed(run, others, query, classes, collection)
    if unnamed:
        what = f"targets of {len(unnamed)} results that are not named as elements were not checked"
        yield UNCHECKED, unnamed[0], f"{what}; a collection (-C) tells which elements they are"


def _query(topic: str, castitles: Mapping[str, str]) -> CAS | tuple[str, str]:
    """The structured query of a topic; or kind and message of what there is instead."""
    if topic not in castitles:
        return UNCHECKED, f"topic {topic!r} has no castitle; targets were not checked"
    try:
        query = parse(castitles[topic], lenient=True)
    except NexiError as error:
        return "castitle", f"castitle of topic {topic!r}: {error}"
    if isinstance(query, CAS):
        return query
    what = "asks for no structure; targets were not checked"
    return UNCHECKED, f"castitle of topic {topic!r} {what}"


def _named(run: Run, rows: Ints, query: CAS, classes: Classes) -> Iterator[Fault]:
    """Results that are elements by their path."""
    assert run.xpath is not None or not len(rows)
    fits: dict[tuple[str, ...], str | None] = {}
    for row in rows.tolist():
        path = run.xpath[row] if run.xpath is not None else ""
        tags = tags_of(path)
        if tags not in fits:
            fits[tags] = _misfit([tags], query, classes)
        if fits[tags] is not None:
            yield "target", row, f"{path} is {fits[tags]}"


def _placed(
    run: Run, rows: Ints, query: CAS, classes: Classes, collection: Collection
) -> Iterator[Fault]:
    """Results that are spans: the elements of that extent count, else the smallest around."""
    for row, own, exact in _elements(run, rows, collection):
        said = _misfit([tags_of(path) for path in own], query, classes)
        if said is not None:
            verb = "is" if exact else "lies in"
            yield "target", row, f"[{run.start[row]},{run.end[row]}) {verb} {own[-1]}, {said}"


def _misfit(elements: Iterable[tuple[str, ...]], query: CAS, classes: Classes) -> str | None:
    """What to say if none of the elements is a target."""
    paths = list(elements)
    if any(matches(query.target, tags, classes) for tags in paths):
        return None
    alike = any(matches(query.target, tags, (*classes, *IEEE_CLASSES)) for tags in paths)
    hint = "; with --tag-classes ieee it is one" if alike else ""
    return f"not a target of {query}{hint}"


def _elements(
    run: Run, rows: Ints, collection: Collection
) -> Iterator[tuple[int, list[str], bool]]:
    """The elements of each result from the outside in, and whether they are all of it.

    Results past the end of their document have none. An attribute or a point is in the element of
    its path, any other place without extent in the one that holds the character after it.
    """
    assert run.length is not None
    rows = rows[(run.start[rows] >= 0) & (run.end[rows] <= run.length[rows])]
    if run.xpath is not None:
        owner = owners(run.xpath.gather(rows))
        named = owner.is_not_null().to_numpy()
        for row, path in zip(rows[named].tolist(), owner.drop_nulls(), strict=True):
            yield row, [path], False
        rows = rows[~named]
    first, last = held(run.start, run.end, run.length)
    docs = run.doc.gather(rows).unique(maintain_order=True)
    by_doc = pl.DataFrame({"doc": run.doc.gather(rows), "row": rows}).partition_by(
        "doc", as_dict=True, maintain_order=True
    )
    for at in range(0, len(docs), _DOCUMENTS):
        some = docs[at : at + _DOCUMENTS]
        trees = collection.trees(some)
        found: list[tuple[int, list[int], bool]] = []
        for i, doc in enumerate(some):
            own = slice(int(trees.bounds[i]), int(trees.bounds[i + 1]))
            start, end, path = trees.start[own], trees.end[own], trees.path[own]
            for row in by_doc[doc,]["row"].to_list():
                around = np.flatnonzero((start <= first[row]) & (end >= last[row]))
                if not len(around):
                    continue
                size = end[around] - start[around]
                # Parents come before their children, and of one extent they lie in each other.
                least = around[size == size.min()]
                exact = bool(size.min() == run.end[row] - run.start[row])
                found.append((row, path[least].tolist(), exact))
        numbers = np.array(list(chain.from_iterable(paths for _, paths, _ in found)), dtype=int)
        texts = iter(collection.xpaths(numbers))
        yield from ((row, list(islice(texts, len(paths))), exact) for row, paths, exact in found)
