"""Place runs and judgements on the text of a collection: XPaths become spans, lengths known."""

from __future__ import annotations

import numpy as np
import polars as pl

from foveal.collection.element_index import NO_DOCUMENT, Collection
from foveal.errors import InputError, Problem, Tally, shorten_list
from foveal.formats.xpaths import ELEMENT, owners
from foveal.lookup import number_rows
from foveal.model import UNKNOWN, Judgements, Run
from foveal.spans import Bools, Ints

# Notes on results.
MISSING = "results that the collection does not hold: {} ({})"
CLIPPED = "results clipped at the end of their document: {}"
MAPPED = "results mapped to the smallest element around them: {}"


def place_run(run: Run, collection: Collection, *, lenient: bool = False) -> Run:
    """Return the run with every result on the text of its document.

    Documents and paths that the collection does not hold are errors with the line; with `lenient`
    such results keep their rank, hold nothing, and are counted.
    """
    placed, problems = resolve_results(run, collection)
    if not problems:
        return placed
    if not lenient:
        raise InputError(problems)
    shown = [f"line {p.line}: {p.text}" for p in problems]
    return placed.with_columns(notes=(*run.notes, Tally(MISSING, len(problems), shown)))


def resolve_results(run: Run, collection: Collection) -> tuple[Run, list[Problem]]:
    """Return the run on the collection's text, and the results without a place (left empty)."""
    # Each document of a topic is looked up once: half of the results, or a third.
    number = collection.numbers(run.doc.gather(run.documents.first_rows))
    length = collection.lengths(number)[run.documents.number]
    number = number[run.documents.number]
    start, end, element = run.start.copy(), run.end.copy(), np.full(len(run), UNKNOWN)
    text = {i: NO_DOCUMENT.format(doc=run.doc[i]) for i in np.flatnonzero(length < 0).tolist()}
    # A path of one step is the whole document only if the root has that name.
    whole = (run.end < 0) & ~run.has_path
    end[whole] = length[whole]
    by_path = np.flatnonzero((run.end < 0) & run.has_path & (length >= 0))
    if len(by_path) and run.xpath is not None:
        doc, xpath = run.doc, run.xpath
        rows: Ints | slice = slice(None)
        # To gather long texts takes as long as to look them up, and mostly it is all of them.
        if len(by_path) < len(run):
            rows, doc, xpath = by_path, doc.gather(by_path), xpath.gather(by_path)
        found = collection.resolve(doc, xpath, number[rows])
        start[rows], end[rows], element[rows] = found.start, found.end, found.element
        text |= {int(by_path[i]): message for i, message in found.problem.items()}
    nowhere = end < 0
    start[nowhere] = end[nowhere] = 0
    problems = []
    for i in sorted(text):
        code = "collection.unknown_document" if length[i] < 0 else "collection.unknown_path"
        problems.append(Problem(code, run.source.path, int(run.line[i]), text[i]))
    return run.with_columns(start=start, end=end, length=length, element=element), problems


def place_judgements(judgements: Judgements, collection: Collection) -> Judgements:
    """Return the judgements on the collection's text: lengths checked, XPaths as passages."""
    doc, length, file = judgements.doc, collection.lengths(judgements.doc), judgements.sources[0]
    declared = (judgements.header or {}).get("whitespace", collection.whitespace)
    if declared != collection.whitespace:
        message = f"offsets count white space by the rule {declared!r}, but the index "
        message += f"{collection.path} was built with {collection.whitespace!r}"
        raise InputError.at("index.whitespace", file.path, None, message)
    unknown, reach = length < 0, judgements.reach
    differs = ~unknown & (judgements.length >= 0) & (judgements.length != length)
    beyond = ~unknown & ~differs & (reach > length)
    problems = []
    for i in [*np.flatnonzero(differs).tolist(), *np.flatnonzero(beyond).tolist()]:
        text = f"a span ends at {reach[i]}, past the end of document {doc[i]!r} of {length[i]} "
        text += "characters in the collection"
        if differs[i]:
            text = f"document {doc[i]!r} is {judgements.length[i]} characters long here, but "
            text += f"{length[i]} in the collection; the index is of other documents or white space"
        problems.append(judgements.problem("collection.length", i, text))
    if problems:
        raise InputError(problems)
    notes = judgements.notes
    if unknown.all() and len(unknown):
        message = f"none of the judged documents ({doc[0]}, ...) is in the index {collection.path}"
        message += "; it is of another collection"
        raise InputError.at("collection.unknown_document", file.path, None, message)
    if unknown.any():
        missing = doc.filter(pl.Series(unknown)).unique(maintain_order=True)
        names = shorten_list(missing.to_list())
        note = f"judged documents not in the collection, {len(missing)}: {names}"
        notes = (*notes, note)
    length = np.where(unknown, judgements.length, length)
    judgements = judgements.with_columns(length=length, notes=notes)
    if judgements.places is None:
        return judgements
    # Passages and best entry points that are XPaths become offsets.
    places = judgements.places.sort("row", maintain_order=True)
    row, line = places["row"].to_numpy(), places["line"].to_list()
    xpath = places.select(pl.concat_str("start", "end", separator=" ", ignore_nulls=True))
    found = collection.resolve(doc.gather(row), xpath.to_series())
    if found.problem:
        code = "collection.unknown_path"
        raise InputError(
            judgements.problem(code, int(row[i]), found.problem[i], line=line[i])
            for i in sorted(found.problem)
        )
    entry = places["bep"].to_numpy()
    bep = judgements.bep.copy()
    bep[row[entry]] = found.start[entry]
    counts = np.bincount(row[~entry], minlength=len(judgements))
    lost = doc.filter(pl.Series(judgements.relevant & (counts == 0))).to_list()
    if lost:
        note = "documents with relevant elements but no relevant passage, taken as not relevant"
        notes = (*notes, f"{note}, {len(lost)}: {shorten_list(lost)}")
    return judgements.with_columns(
        notes=notes,
        bep=bep,
        bounds=np.concatenate([[0], np.cumsum(counts)]),
        start=found.start[~entry],
        end=found.end[~entry],
        relevant=counts > 0,
        has_text=True,
        grade=None,
        quotes=None,
    )


def is_element(run: Run) -> Bools:
    """Return which results name an element by its XPath."""
    if run.xpath is None:
        return np.zeros(len(run), dtype=bool)
    return run.xpath.str.contains(ELEMENT).fill_null(value=False).to_numpy()


def is_whole_document(run: Run) -> Bools:
    """Return which results are whole documents, as long as no collection gave them an end."""
    article: Bools = (run.start == 0) & (run.end < 0) & ~run.has_path
    return article


def place_elements(
    run: Run,
    collection: Collection,
    *,
    snap: bool = False,
    lenient: bool = False,
    passages: bool = False,
) -> Run:
    """Return the run on the text of a collection, every result with the XPath of an element.

    Of elements with the same extent Foveal takes the deepest; a whole document is its root. A
    result past the end of its document is left for the measures to refuse.

    A result that is not an element becomes the smallest enclosing element with `snap`, and is named
    by the points where it starts and ends with `passages`; without both it is an error. `lenient`
    clips results past the end of their document and leaves those empty that are not there.
    """
    placed = place_run(run, collection, lenient=lenient)
    length, numbers = placed.length, placed.element
    assert length is not None
    assert numbers is not None
    past = (length >= 0) & (placed.end > length)
    if lenient and past.any():
        end = np.where(past, length, placed.end)
        notes = (*placed.notes, Tally(CLIPPED, int(past.sum())))
        placed = placed.with_columns(start=np.minimum(placed.start, end), end=end, notes=notes)
        past[:] = False
    # Which results need the name of an element? Those without a place get none.
    done = run.has_path if passages else numbers >= 0
    if not done.all():
        done = done | is_element(run)
    lost = run.has_path & (run.end < 0) & (placed.end == 0) & lenient
    left = np.flatnonzero(~done & ~lost & ~past & (length >= 0))
    if not len(left):
        return placed
    docs, start, end = placed.doc.gather(left), placed.start[left], placed.end[left]
    numbered = number_rows(docs)
    trees, tree = collection.trees(docs.gather(numbered.first_rows)), numbered.number
    # The deepest element with the extent of each result is the last of them: count from the end.
    owner = np.repeat(np.arange(len(trees.bounds) - 1), np.diff(trees.bounds))
    both = zip((owner[::-1], trees.start[::-1], trees.end[::-1]), (tree, start, end), strict=True)
    extents = number_rows(*(np.concatenate(columns) for columns in both))
    last = len(owner) - 1 - extents.first_rows[extents.number[len(owner) :]]
    element = np.maximum(last, UNKNOWN)
    if snap:  # a place without extent is a point, not an empty element there
        element[start == end] = UNKNOWN
    articles = is_whole_document(run)[left]
    element[articles] = trees.bounds[tree[articles]]
    xpath = np.full(len(run), None, dtype=object)
    if placed.xpath is not None:
        xpath[:] = placed.xpath.to_list()
    notes, odd = placed.notes, np.flatnonzero(element < 0)
    odd_docs = docs.gather(odd)
    if len(odd) and passages and not snap:
        opening = collection.points(odd_docs, start[odd], np.zeros(len(odd), dtype=bool))
        closing = collection.points(odd_docs, end[odd], (end > start)[odd])
        xpath[left[odd]] = [f"{first} {last}" for first, last in zip(opening, closing, strict=True)]
    elif len(odd):
        around = trees.find_enclosing(tree[odd], start[odd], end[odd])
        if placed.xpath is not None:  # an attribute or a point is in the element of its path
            own = collection.resolve(odd_docs, owners(placed.xpath.gather(left[odd]))).element
            around = np.where(own < 0, around, trees.bounds[tree[odd]] + own)
        if not snap:
            problems, texts = [], collection.xpaths(trees.path[around])
            for row, text in zip(left[odd].tolist(), texts, strict=True):
                message = f"[{placed.start[row]},{placed.end[row]}) of {run.doc[row]!r} is not an "
                message += f"element; the smallest around it is {text} (--snap takes it)"
                line = int(run.line[row])
                problems.append(Problem("run.element", run.source.path, line, message))
            raise InputError(problems)
        element[odd] = around
        notes = (*notes, Tally(MAPPED, len(odd)))
    start, end, numbers = placed.start.copy(), placed.end.copy(), numbers.copy()
    known = np.flatnonzero(element >= 0)
    rows, found = left[known], element[known]
    xpath[rows] = collection.xpaths(trees.path[found]).to_list()
    start[rows], end[rows] = trees.start[found], trees.end[found]
    numbers[rows] = found - trees.bounds[tree[known]]
    series = pl.Series(xpath.tolist(), dtype=pl.String)
    return placed.with_columns(xpath=series, start=start, end=end, element=numbers, notes=notes)
