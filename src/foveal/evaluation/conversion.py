"""Runs without overlap, and assessments of elements: derived from highlights, filtered."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Collection as Names
from dataclasses import replace
from difflib import get_close_matches

import numpy as np
import numpy.typing as npt
import polars as pl

from foveal import spans
from foveal.collection import Collection
from foveal.collection.placement import is_element
from foveal.errors import InputError, UsageError
from foveal.evaluation.cas import CasFilter
from foveal.formats.grades import relevant_rows
from foveal.formats.xpaths import ELEMENT
from foveal.model import UNKNOWN, Judgements, Run
from foveal.model.judgements import PLACE_COLUMNS
from foveal.recall.forest import scale_of
from foveal.spans import Ints

__all__ = [
    "FOCUS",
    "contradictions",
    "derive_elements",
    "elements_with_text",
    "exclude_tags",
    "filter_by_structure",
    "focus",
    "name_passages",
    "overlap_extents",
    "recompute_sizes",
    "sizes_of_text",
    "unknown_tags",
]

Bools = npt.NDArray[np.bool_]

FOCUS = ("rank", "deeper", "higher")
"""Which of two overlapping results stays: the better ranked, the smaller, or the larger one."""

_MERGED = "passages and entry points left out: no XPath names them where white space is merged"


def focus(run: Run, keep: str = "rank") -> Run:
    """The run without overlap: of overlapping results one is kept.

    >>> run = Run.from_results({"1": [("d", 0, 90), ("d", 10, 20), ("d", 30, 40)]})
    >>> focus(run).to_frame()["end"].to_list(), focus(run, "deeper").to_frame()["end"].to_list()
    ([90], [20, 40])
    """
    if keep not in FOCUS:
        raise UsageError(f"cannot keep the {keep!r} result; expected {' or '.join(FOCUS)}")
    start, end, known = overlap_extents(run)
    nowhere = np.flatnonzero(~known)
    if len(nowhere):
        raise InputError.at(
            run.source.path,
            int(run.line[nowhere[0]]),
            "the place of the result is not known; removing overlap takes a collection (-C)",
        )
    order = np.arange(len(run))
    if keep != "rank":
        # Of equal extent, the element with the longer path is the deeper one.
        depth = np.zeros(len(run), dtype=np.int64)
        if run.xpath is not None:
            depth = run.xpath.str.count_matches("/").fill_null(0).to_numpy().astype(np.int64)
        small = np.lexsort((order, -depth, end - start))
        large = np.lexsort((order, depth, start - end))
        order = small if keep == "deeper" else large
    kept = np.empty(len(run), dtype=bool)
    kept[order] = spans.disjoint(start[order], end[order])
    kept[run.duplicates[1]] = False  # empty results overlap nothing, but may be repeated
    left = run.take(kept)
    return left if left.rank is None else replace(left, rank=_ranks(left))


def overlap_extents(run: Run) -> tuple[Ints, Ints, Bools]:
    """Return start and end of each result on an axis that shows overlap, and which have them.

    Results overlap if they share text, so an empty one overlaps nothing. A whole document overlaps
    every other result of it that is not empty. In documents without any known place the paths of
    elements decide. Any other result without a place has no extent.

    >>> run = Run.from_results({"1": [("d", 0, 9), ("d", 9, 12), ("d", 4, 4)]})
    >>> [column.tolist() for column in overlap_extents(run)[:2]]
    [[0, 9, 4], [9, 12, 4]]
    >>> places = {"topic": ["1"] * 3, "doc": ["d"] * 3, "start": [-1] * 3, "end": [-1] * 3}
    >>> frame = pl.DataFrame({**places, "xpath": ["/a[1]/p[2]", "/a[1]/p[2]/b[1]", "/a[1]/p[1]"]})
    >>> [column.tolist() for column in overlap_extents(Run.from_frame(frame, name="r"))]
    [[3, 4, 1], [6, 5, 2], [True, True, True]]
    """
    whole = (run.start == 0) & (run.end < 0)
    placed = (run.start >= 0) & (run.end >= 0)
    known = placed | whole
    reach = np.ones(len(run), dtype=np.int64)
    np.maximum.at(reach, run.first, run.end)
    start, end = spans.side_by_side(
        run.start, np.where(whole, reach[run.first], run.end), run.first
    )
    if known.all() or run.xpath is None:
        return start, end, known
    element = whole | run.xpath.str.contains(ELEMENT).fill_null(value=False).to_numpy()
    has_places = np.zeros(len(run), dtype=bool)
    has_places[run.first[placed]] = True
    by_path = element & ~has_places[run.first]
    outer, inner = run.nesting
    beyond = 0 if by_path.all() else int(end.max(initial=0))
    return (
        np.where(by_path, outer + beyond, start),
        np.where(by_path, inner + beyond, end),
        known | by_path,
    )


def _ranks(run: Run) -> Ints:
    """Ranks without gaps for results that were left out; ties stay ties."""
    assert run.rank is not None
    opens = np.ones(len(run), dtype=bool)
    opens[1:] = (run.rank[1:] != run.rank[:-1]) | (run.topic[1:] != run.topic[:-1])
    return (
        np.maximum.accumulate(np.where(opens, np.arange(len(run)), 0)) - run.bounds[run.topic] + 1
    )


def contradictions(run: Run, collection: Collection) -> list[tuple[int, str]]:
    """Results whose XPath and offsets name different places: row, and what each of them says.

    An element that its document does not hold is such a place, too; points that the index cannot
    tell are not.
    """
    if run.xpath is None:
        return []
    both = (run.end >= 0) & run.xpath.is_not_null().to_numpy()
    rows = np.flatnonzero(both & (collection.lengths(run.doc) >= 0))
    found = collection.resolve(run.doc.gather(rows), run.xpath.gather(rows))
    apart = (found.start != run.start[rows]) | (found.end != run.end[rows])
    apart &= (found.start >= 0) | is_element(run)[rows]
    said = []
    for i in np.flatnonzero(apart).tolist():
        row = int(rows[i])
        place = found.problem.get(i, f"{run.xpath[row]} is at [{found.start[i]},{found.end[i]})")
        said.append((row, f"{place}, but the result gives [{run.start[row]},{run.end[row]})"))
    return said


def _highlighted(judgements: Judgements) -> Callable[[Ints, Ints, Ints], Ints]:
    """How many characters are highlighted in a span of a judgement's document."""
    extent = np.zeros(len(judgements), dtype=np.int64)
    np.maximum.at(extent, judgements.row, judgements.end)
    base = spans.lay_out(extent)
    text = spans.Coverage(
        judgements.start + base[judgements.row], judgements.end + base[judgements.row]
    )

    def within(row: Ints, start: Ints, end: Ints) -> Ints:
        reach = extent[row]
        return text.within(np.minimum(start, reach) + base[row], np.minimum(end, reach) + base[row])

    return within


def elements_with_text(judgements: Judgements, collection: Collection) -> pl.DataFrame:
    """Every element that holds highlighted text: ``row``, ``xpath``, ``size`` and ``rsize``.

    In document order, row by row; the spans of a row must be disjoint. Documents that are not in
    the collection have none.
    """
    rows = np.flatnonzero(judgements.relevant)
    trees = collection.trees(judgements.doc.gather(rows))
    counts = np.diff(trees.bounds)
    row = np.repeat(rows, counts)
    inside = _highlighted(judgements)(row, trees.start, trees.end)
    hit = np.flatnonzero(inside > 0)
    # Parents come before their children, so this is document order.
    hit = hit[np.lexsort((-trees.end[hit], trees.start[hit], row[hit]))]
    return pl.DataFrame(
        {
            "row": row[hit],
            "xpath": collection.xpaths(trees.path[hit]),
            "size": (trees.end - trees.start)[hit],
            "rsize": inside[hit],
        }
    )


def derive_elements(judgements: Judgements, collection: Collection) -> Judgements:
    """Assessments of elements from highlighted text: size and rsize of every element it touches.

    Passages and best entry points get their XPaths too, as far as the index can name them.
    Assessors stay apart.
    """
    truth = judgements.united()
    lost = truth.relevant & (collection.lengths(truth.doc) < 0)
    if lost.any():
        raise InputError(
            truth.problem(row, f"document {truth.doc[row]!r} is not in the collection")
            for row in np.flatnonzero(lost).tolist()
        )
    derived = replace(
        judgements,
        elements=elements_with_text(truth, collection),
        header={
            **(judgements.header or {}),
            "scale": "2006",
            "whitespace": collection.whitespace,
        },
    )
    return name_passages(derived, collection)


def recompute_sizes(judgements: Judgements, collection: Collection) -> Judgements:
    """The assessed elements with the sizes that collection and highlighted text give them.

    On the scale of 2006 all elements with highlighted text are derived; on that of 2005 those that
    were assessed keep their exhaustivity.
    """
    scale = (judgements.header or {}).get("scale", "2006")
    if scale not in ("2005", "2006"):
        raise UsageError(f"elements graded on the scale of {scale} have no sizes to recompute")
    if not judgements.has_text:
        raise UsageError("sizes can only be recomputed from highlighted text; there is none")
    if scale == "2006" or judgements.elements is None:
        return derive_elements(judgements, collection)
    return sizes_of_text(judgements, collection, np.ones(len(judgements), dtype=bool))


def sizes_of_text(judgements: Judgements, collection: Collection, rows: Bools) -> Judgements:
    """The same assessed elements; those of the marked rows with the sizes that the text gives."""
    if judgements.elements is None:
        return judgements
    truth, elements = judgements.united(), judgements.elements
    wanted = pl.Series(rows[elements["row"].to_numpy()])
    counted = elements.filter(wanted)
    row = counted["row"].to_numpy()
    found = collection.resolve(truth.doc.gather(row), counted["xpath"])
    if found.problem:
        line, file = (
            counted[name] if name in counted.columns else [None] * len(counted)
            for name in ("line", "file")
        )
        raise InputError(
            truth.problem(int(row[i]), found.problem[i], line=line[i], file=file[i])
            for i in sorted(found.problem)
        )
    rsize = _highlighted(truth)(row, found.start, found.end)
    sizes = {"size": found.end - found.start, "rsize": rsize}
    spread = np.zeros((len(sizes), len(elements)), dtype=np.int64)
    spread[:, wanted.to_numpy()] = [*sizes.values()]
    columns = zip(sizes, spread, strict=True)
    return replace(
        judgements,
        elements=elements.with_columns(
            pl.Series(name, own).zip_with(wanted, elements[name]) for name, own in columns
        ),
    )


def name_passages(judgements: Judgements, collection: Collection) -> Judgements:
    """The judgements with their relevant passages and entry points as XPaths, too.

    Those that were XPaths in the file stay as they are. Passages of a row that overlap become one,
    and what the index cannot name is left out; both are noted.
    """
    if judgements.places is not None or not judgements.has_text:
        return judgements
    if collection.whitespace == "merge":
        return _noting(judgements, _MERGED)
    row, start, end, united = _passages(judgements)
    entry = np.flatnonzero(judgements.bep >= 0)
    length = collection.lengths(judgements.doc)
    past = entry[(length[entry] >= 0) & (judgements.bep[entry] > length[entry])]
    if len(past):
        raise InputError(
            judgements.problem(
                i,
                f"best entry point {judgements.bep[i]} is past the end of document "
                f"{judgements.doc[i]!r} of {length[i]} characters in the collection",
            )
            for i in past.tolist()
        )
    here, there = length[row] >= 0, length[entry] >= 0
    nowhere = int((~here).sum() + (~there).sum())
    notes = (
        ("passages that overlap, written as one with those they share text with", united),
        ("passages and entry points of documents that the collection lacks, left out", nowhere),
    )
    places = _named(judgements, collection, row[here], start[here], end[here], entry[there])
    return _noting(replace(judgements, places=places), *(f"{what}: {n}" for what, n in notes if n))


def _noting(judgements: Judgements, *notes: str) -> Judgements:
    """With these notes, each once."""
    return replace(judgements, notes=tuple(dict.fromkeys((*judgements.notes, *notes))))


def _passages(judgements: Judgements) -> tuple[Ints, Ints, Ints, int]:
    """Row, start and end of the relevant passages, and how many share text with an earlier one."""
    truth = judgements.united()
    text = judgements.end > judgements.start
    if judgements.grade is not None:
        text &= judgements.grade > 0
    row, start, end = (c[text] for c in (judgements.row, judgements.start, judgements.end))
    extent = np.zeros(len(judgements), dtype=np.int64)
    np.maximum.at(extent, row, end)
    base = spans.lay_out(extent)[row] if len(row) else start
    _, later = spans.conflicts(start + base, end + base)
    shares = np.zeros(len(judgements), dtype=bool)
    shares[row[later]] = True
    # Where passages only touch they stay apart, as they were marked.
    own, whole = ~shares[row], shares[truth.row]
    every = (
        np.concatenate([row[own], truth.row[whole]]),
        np.concatenate([start[own], truth.start[whole]]),
        np.concatenate([end[own], truth.end[whole]]),
    )
    order = np.argsort(every[0], kind="stable")
    return every[0][order], every[1][order], every[2][order], len(np.unique(later))


def _named(
    judgements: Judgements, collection: Collection, row: Ints, start: Ints, end: Ints, entry: Ints
) -> pl.DataFrame:
    """These passages and the best entry points of the rows `entry` as XPaths."""
    n, rows = len(row), np.concatenate([row, row, entry])
    wanted = pl.DataFrame(
        {
            "doc": judgements.doc.gather(rows),
            "offset": np.concatenate([start, end, judgements.bep[entry]]),
            "closing": np.repeat([False, True, False], [n, n, len(entry)]),
            "at": np.arange(len(rows)),
        }
    )
    points = np.empty(len(wanted), dtype=object)
    for (doc,), own in wanted.group_by("doc"):
        asked = own["offset"].to_numpy(), own["closing"].to_numpy()
        points[own["at"].to_numpy()] = collection.points(str(doc), *asked)
    return pl.DataFrame(
        {
            "row": np.concatenate([row, entry]),
            "start": [*points[:n], *points[2 * n :]],
            "end": [*points[n : 2 * n], *[None] * len(entry)],
            "bep": np.repeat([False, True], [n, len(entry)]),
            "line": judgements.line[np.concatenate([row, entry])],
        },
        schema=PLACE_COLUMNS,
    ).sort("row", maintain_order=True)


def unknown_tags(
    tags: Names[str], paths: pl.Series, collection: Collection | None = None
) -> list[str]:
    """What to say of excluded tags that no element has: each is probably misspelt.

    The elements are those of the collection, or without one of these paths.

    >>> unknown_tags(["p", "lnik"], pl.Series(["/a[1]", "/a[1]/link[1]", "/a[1]/p[2]"]))
    ["--exclude-tags: no judged element is called 'lnik' (link?)"]
    """
    where = "judged element" if collection is None else "element of the collection"
    if collection is None:
        known = paths.str.extract_all(r"/[^/\[]+").explode().str.slice(1).unique().drop_nulls()
    else:
        known = pl.Series(collection.header["tags"], dtype=pl.String)
    said = []
    for tag in dict.fromkeys(tags):
        if not (known == tag).any():
            near = get_close_matches(tag, sorted(known), cutoff=0.7)
            meant = f" ({' or '.join(near)}?)" if near else ""
            said.append(f"--exclude-tags: no {where} is called {tag!r}{meant}")
    return said


def exclude_tags(judgements: Judgements, tags: Names[str]) -> Judgements:
    """The judgements without the elements of these tags (the link experiment of 2006)."""
    last = _listed(judgements)["xpath"].str.extract(r"/([^/\[]+)(?:\[[^/]*)?$")
    return _only_elements(judgements, ~last.is_in(list(tags)).fill_null(value=False))


def filter_by_structure(judgements: Judgements, cas: CasFilter) -> Judgements:
    """The judgements with only the elements that fit the structured queries of their topics."""
    elements = _listed(judgements)
    lists = np.zeros(len(judgements), dtype=bool)
    lists[elements["row"].to_numpy()] = True
    unlisted = np.flatnonzero(judgements.relevant & ~lists)
    if len(unlisted):
        raise InputError(
            judgements.problem(
                row,
                f"document {judgements.doc[row]!r} is relevant, but no element of it is assessed; "
                "derive them first (--recompute -C)",
            )
            for row in unlisted.tolist()
        )
    keep = cas(judgements, elements["row"].to_numpy(), elements["xpath"])
    left = _only_elements(judgements, pl.Series(keep))
    if not left.relevant.any():
        raise UsageError(f"--cas {cas.reading} leaves no relevant element of any topic")
    return left


def _listed(judgements: Judgements) -> pl.DataFrame:
    if judgements.elements is None:
        raise UsageError("there are no assessed elements to leave out; derive them first (-C)")
    return judgements.elements


def _only_elements(judgements: Judgements, keep: pl.Series) -> Judgements:
    """Only some of the assessed elements; a document left without any is not relevant any more.

    Of documents with some left, passages stay: elements that are not listed do not count.
    """
    before, n = _listed(judgements), len(judgements)
    elements, scale = before.filter(keep), scale_of(judgements)
    lost = relevant_rows(before, n, scale) & ~relevant_rows(elements, n, scale)
    if not lost.any():
        return replace(judgements, elements=elements)
    span, places = ~lost[judgements.row], judgements.places
    kept, evidence = pl.Series(span), judgements.evidence
    return replace(
        judgements,
        elements=elements,
        relevant=judgements.relevant & ~lost,
        bep=np.where(lost, UNKNOWN, judgements.bep),
        bounds=np.concatenate([[0], np.cumsum(np.where(lost, 0, np.diff(judgements.bounds)))]),
        start=judgements.start[span],
        end=judgements.end[span],
        grade=None if judgements.grade is None else judgements.grade[span],
        quotes=None if judgements.quotes is None else judgements.quotes.filter(kept),
        sets=None if judgements.sets is None else judgements.sets.filter(kept),
        aspects=None if judgements.aspects is None else judgements.aspects.filter(kept),
        places=None if places is None else places.filter(~lost[places["row"].to_numpy()]),
        evidence=None if evidence is None else evidence.filter(~lost[evidence["row"].to_numpy()]),
        given=None,
        notes=(
            *judgements.notes,
            f"documents that no assessed element is left of, not relevant now: {int(lost.sum())}",
        ),
    )
