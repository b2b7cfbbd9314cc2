"""``foveal project``: judgements of characters on chunks, windows, pages or elements."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click

from foveal.cli.budget import parse_budgets
from foveal.cli.options import (
    FORMATS,
    Command,
    collection_option,
    format_option,
    judgements_option,
    output_option,
    parse_comma_list,
    parse_positive,
)
from foveal.cli.shared import emit, emit_result, warn
from foveal.errors import UsageError
from foveal.formats.result_files import separated

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from foveal.analysis.projection import Projection
    from foveal.analysis.segmentation import Segmentation
    from foveal.model import Judgements


_FILES = ("qrels", "gains", "units")


def _windows(
    _: click.Context, __: click.Parameter, values: tuple[str, ...]
) -> tuple[tuple[int, int], ...]:
    """Read ``400`` or ``400/200``."""
    found = []
    for value in values:
        size, slash, step = value.partition("/")
        length, distance = parse_positive(size), parse_positive(step if slash else size)
        if length is None or distance is None:
            raise click.BadParameter(f"{value!r} is no window; expected SIZE or SIZE/STEP")
        found.append((length, distance))
    return tuple(found)


@click.command(
    "project",
    cls=Command,
    daily="judgements divisions windows pages collection tags at per_topic form output",
    examples=(
        "foveal project -j qrels.jsonl --window 200 --window 800/400",
        "foveal project -j qrels.jsonl --division chunks.jsonl -f qrels -o chunks.qrels",
        "foveal project -j qrels.jsonl -C wiki.fvx --tags p,sec --at 1000,2000",
    ),
)
@judgements_option(required=True)
@click.option(
    "--division",
    "divisions",
    multiple=True,
    metavar="FILE",
    help="Units as JSON Lines (doc, start, end and optionally id), or a run of them; repeatable.",
)
@click.option(
    "--window",
    "windows",
    multiple=True,
    callback=_windows,
    metavar="SIZE[/STEP]",
    help="Windows of SIZE characters, one every STEP; repeatable.",
)
@click.option(
    "--pages",
    multiple=True,
    metavar="FILE",
    help="Pages as JSON Lines (doc, and the offsets where they begin); repeatable.",
)
@collection_option("for --tags, and for the lengths of documents that judgements do not give")
@click.option(
    "--tags", type=parse_comma_list, metavar="LIST", help="Elements of the collection, as in p,sec."
)
@click.option(
    "--at", type=parse_budgets, metavar="LIST", help="Ceilings of recall at these many characters."
)
@click.option(
    "--assessors",
    default="union",
    show_default=True,
    metavar="union|majority|intersection|NAME",
    help="Text that counts where several assessors judged a document.",
)
@click.option(
    "--grades",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    metavar="N",
    help="qrels: a unit has the grade N times its relevant share, rounded up.",
)
@click.option(
    "--threshold",
    type=click.FloatRange(0, 1),
    default=0.0,
    show_default=True,
    metavar="X",
    help="qrels: leave out units of a smaller relevant share.",
)
@click.option("-q", "--per-topic", is_flag=True, help="A row per topic before the means.")
@format_option(
    (*FORMATS, *_FILES),
    "; qrels: TREC judgements of units; gains: relevant characters of topics and units; units: "
    "names and places",
)
@output_option
def command(
    judgements: tuple[str, ...],
    divisions: tuple[str, ...],
    windows: tuple[tuple[int, int], ...],
    pages: tuple[str, ...],
    collection: str | None,
    tags: tuple[str, ...] | None,
    at: tuple[int, ...] | None,
    assessors: str,
    grades: int,
    threshold: float,
    form: str | None,
    output: str | None,
    *,
    per_topic: bool,
) -> None:
    """Project judgements of characters on units of the documents.

    What a division into chunks, windows, pages or elements makes of the relevant text: how much of
    it lies inside units, which passages are cut, how pure units are, and the best that a run of
    them could score whatever the retriever does. With -f qrels, judgements of units for tools that
    know only documents.
    """
    from foveal.analysis.projection import Projections, project
    from foveal.formats import read_judgements

    truth = read_judgements(list(judgements))
    warn(truth.notes)
    taken = list(_divisions(truth, divisions, windows, pages, collection, tags))
    if not taken:
        raise UsageError("no division given; expected --division, --window, --pages or --tags")
    if form in _FILES and len(taken) > 1:
        raise UsageError(f"{form} are of one division; {len(taken)} given")
    found = [project(truth, one, budgets=at or (), assessors=assessors) for one in taken]
    if form in _FILES:
        emit(_write_file(found[0], form, grades, threshold), output)
    else:
        emit_result(Projections(tuple(found)), form, output, per_topic=per_topic)


def _divisions(
    truth: Judgements,
    files: tuple[str, ...],
    windows: tuple[tuple[int, int], ...],
    pages: tuple[str, ...],
    collection: str | None,
    tags: tuple[str, ...] | None,
) -> Iterator[Segmentation]:
    from foveal.analysis.segmentation import Segmentation, read_pages, read_segmentation
    from foveal.collection import Collection

    for path in files:
        yield read_segmentation(path)
    lengths = _lengths(truth, collection) if windows or pages else {}
    for size, step in windows:
        unknown = [doc for doc, length in lengths.items() if length < 0]
        if unknown:
            raise UsageError(
                f"windows end with their document, and the length of {unknown[0]!r} is not known; "
                "give judgements that tell it, or a collection (--collection)"
            )
        yield Segmentation.windows(lengths, size, step)
    for path in pages:
        yield read_pages(path, lengths)
    if tags is not None:
        if collection is None:
            raise UsageError("--tags takes a collection (--collection)")
        yield Segmentation.elements(Collection.open(collection), tags)


def _lengths(truth: Judgements, collection: str | None) -> Mapping[str, int]:
    """Return the lengths of the judged documents, from the judgements or else the collection."""
    from foveal.collection import Collection

    truth.check_lengths(ends=False)
    docs, length = truth.documents.names, truth.documents.length.tolist()
    if collection is not None:
        of_index = Collection.open(collection).lengths(docs).tolist()
        length = [a if a >= 0 else b for a, b in zip(length, of_index, strict=True)]
    return dict(zip(docs.to_list(), length, strict=True))


def _write_file(found: Projection, form: str, grades: int, threshold: float) -> str:
    """Return the judgements of units, their gains, or the units themselves."""
    if form == "qrels":
        return found.qrels(grades=grades, threshold=threshold)
    if form == "gains":
        columns = ("topic", "unit", "size", "relevant", "share")
        return separated(columns, found.gains.select(columns).iter_rows(), "tsv")
    rows = found.division.to_frame().iter_rows(named=True)
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
