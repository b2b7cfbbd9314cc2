"""Targets of castitles: results of strict tasks must match them, and their tags must exist."""

from __future__ import annotations

from collections.abc import Collection as Names
from collections.abc import Iterable, Iterator, Mapping
from difflib import get_close_matches
from itertools import chain, islice

import numpy as np
import polars as pl

from foveal.collection import Collection
from foveal.collection.element_index import held
from foveal.collection.paths import owners
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
    """Describe the tags that no element of the collection has, nor one of their class."""
    known = set(collection.header["tags"])
    messages = []
    for tag in dict.fromkeys(tags):
        if known.isdisjoint({tag}.union(*(group for group in classes if tag in group))):
            near = get_close_matches(tag, sorted(known), 1)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            messages.append(f"no element of the collection has the tag {tag!r}{hint}")
    return messages


def tags_in(path: Path) -> list[str]:
    """Return the tags that a path of a query names.

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
    """Find results that the castitle of their topic does not ask for, and impossible checks.

    Parameters
    ----------
    run : Run
        On the text of `collection`, if there is one.
    castitles : mapping of topic to NEXI query
    topics : collection of str, optional
        All known topics; results of others are not checked.
    classes : sets of tags that are taken for each other
    collection : Collection, optional
        Needed to find the elements of results that are given by offsets.
    skipped : collection of int
        Lines of results that have no place.
    """
    is_element = np.zeros(len(run), dtype=bool)
    if run.xpath is not None:
        is_element = run.xpath.str.contains(ELEMENT).fill_null(value=False).to_numpy()
    is_skipped = np.isin(run.line, list(skipped))
    unnamed: list[int] = []
    for topic, start, end in zip(
        run.topics, run.bounds[:-1].tolist(), run.bounds[1:].tolist(), strict=True
    ):
        if topics is not None and topic not in topics:
            continue
        if topic not in castitles:
            yield UNCHECKED, start, f"topic {topic!r} has no castitle; targets were not checked"
            continue
        try:
            query = parse(castitles[topic], lenient=True)
        except NexiError as error:
            yield "castitle", start, f"castitle of topic {topic!r}: {error}"
            continue
        if not isinstance(query, CAS):
            message = "asks for no structure; targets were not checked"
            yield UNCHECKED, start, f"castitle of topic {topic!r} {message}"
            continue
        if collection is not None:
            for message in unknown_tags(tags_in(query.target), collection, classes):
                yield "tag", start, f"castitle of topic {topic!r}: {message}"
        # Each result with the elements it may be, and the beginning of a message about it.
        candidates: list[tuple[int, list[str], str]] = []
        rows = np.arange(start, end)
        if run.xpath is not None:
            named = rows[is_element[start:end]].tolist()
            candidates += [(row, [run.xpath[row]], f"{run.xpath[row]} is") for row in named]
        others = rows[~(is_element | is_skipped)[start:end]]
        if collection is None:
            unnamed += others.tolist()
        else:
            for row, paths, exact in _find_elements(run, others, collection):
                place = f"[{run.start[row]},{run.end[row]})"
                verb = "is" if exact else "lies in"
                candidates.append((row, paths, f"{place} {verb} {paths[-1]},"))
        hints: dict[tuple[tuple[str, ...], ...], str | None] = {}
        for row, paths, beginning in candidates:
            tags = tuple(map(tags_of, paths))
            if tags not in hints:
                hints[tags] = _find_hint(tags, query, classes)
            if hints[tags] is not None:
                yield "target", row, f"{beginning} not a target of {query}{hints[tags]}"
    if unnamed:
        what = f"targets of {len(unnamed)} results that are not named as elements were not checked"
        yield UNCHECKED, unnamed[0], f"{what}; a collection (-C) tells which elements they are"


def _find_hint(elements: Iterable[tuple[str, ...]], query: CAS, classes: Classes) -> str | None:
    """Return None if one of the elements is a target; else a hint, which may be empty."""
    if any(matches(query.target, tags, classes) for tags in elements):
        return None
    alike = any(matches(query.target, tags, (*classes, *IEEE_CLASSES)) for tags in elements)
    return "; with --tag-classes ieee it is one" if alike else ""


def _find_elements(
    run: Run, rows: Ints, collection: Collection
) -> Iterator[tuple[int, list[str], bool]]:
    """Yield the elements of each result from the outside in, and whether they equal it.

    They are the elements of the same extent, else the smallest around. Results past the end of
    their document have none. An attribute or a point is in the element of its path, any other
    place without extent in the one that holds the character after it.
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
