"""``foveal project``: judgements of characters on chunks, windows or elements."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from foveal.cli import options as opt
from foveal.cli.budget import parse_budgets
from foveal.cli.shared import emit, emit_result, refuse_unused, warn
from foveal.errors import UsageError
from foveal.formats.result_files import format_separated

if TYPE_CHECKING:
    from collections.abc import Iterator

    from foveal.model import Judgements

_FILES = ("qrels", "gains", "units")


def _parse_window(text: str) -> tuple[int, int]:
    """Read ``400`` or ``400/200``."""
    size, slash, step = text.partition("/")
    length, distance = opt.parse_positive(size), opt.parse_positive(step if slash else size)
    if length is None or distance is None:
        raise click.BadParameter(f"{text!r} is not a window; expected SIZE or SIZE/STEP")
    return length, distance


@click.command(
    "project",
    cls=opt.Command,
    daily="judgements divisions windows collection tags at per_topic form output",
    examples=(
        "foveal project -j qrels.jsonl --window 200 --window 800/400",
        "foveal project -j qrels.jsonl -C wiki.fvx --tags p,sec --at 1000,2000",
    ),
)
@opt.judgements_option(required=True)
@opt.option(
    "--division=FILE divisions",
    "Units as JSON Lines (doc, start, end and optionally id), or a run of them; repeatable.",
    multiple=True,
)
@opt.option(
    "--window=SIZE[/STEP] windows",
    "Windows of SIZE characters, one every STEP; repeatable.",
    multiple=True,
    type=_parse_window,
)
@opt.collection_option("for --tags, and for the lengths of documents that judgements do not give")
@opt.option("--tags=LIST", "Elements of the collection, as in p,sec.", type=opt.parse_comma_list)
@opt.option(
    "--at=LIST",
    "Also give the highest recall possible at these numbers of characters.",
    type=parse_budgets,
)
@opt.assessors_option()
@opt.option("--grades", "qrels: grade N times the share, rounded up.", type=opt.POSITIVE, default=1)
@opt.option("--threshold", "qrels: least relevant share.", type=click.FloatRange(0, 1), default=0.0)
@opt.shared_options("per_topic output")
@opt.format_option((*opt.FORMATS, *_FILES))
def command(judgements: tuple[str, ...], **options: Any) -> None:
    """Project judged text onto units of the documents.

    Show how a division into chunks, windows or elements fits the relevant text: how much of it lies
    inside units, which passages are cut, how pure units are, and bounds of the scores of any run.
    With -f qrels, print TREC judgements of units; with gains, their relevant characters; with
    units, their names and places.
    """
    from foveal.analysis.projection import Projections, project
    from foveal.formats import read_judgements

    names = ("at", "assessors", "grades", "threshold", "per_topic", "form", "output")
    at, assessors, grades, threshold, per_topic, form, output = map(options.pop, names)
    if form != "qrels":
        refuse_unused(click.get_current_context(), {"grades": "qrels", "threshold": "qrels"})
    truth = read_judgements(list(judgements))
    warn(truth.notes)
    taken = list(_list_divisions(truth, **options))
    if not taken:
        raise UsageError("no division given; expected --division, --window or --tags")
    if form in _FILES and len(taken) > 1:
        raise UsageError(f"{form} are of one division; {len(taken)} given")
    found = [project(truth, one, budgets=at or (), assessors=assessors) for one in taken]
    if form == "qrels":
        emit(found[0].qrels(grades=grades, threshold=threshold), output)
    elif form == "gains":
        columns = ("topic", "unit", "size", "relevant", "share")
        emit(format_separated(columns, found[0].gains.select(columns).iter_rows(), "tsv"), output)
    elif form == "units":
        rows = taken[0].to_frame().iter_rows(named=True)
        emit("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), output)
    else:
        emit_result(Projections(tuple(found)), form, output, per_topic=per_topic)


def _list_divisions(
    truth: Judgements,
    divisions: tuple[str, ...],
    windows: tuple[tuple[int, int], ...],
    collection: str | None,
    tags: tuple[str, ...] | None,
) -> Iterator[Any]:
    from foveal.analysis.projection import Segmentation, read_segmentation
    from foveal.collection import Collection

    yield from map(read_segmentation, divisions)
    index = None if collection is None else Collection.open(collection)
    if windows:
        truth.check_lengths(ends=False)
        docs, lengths = truth.documents.names.to_list(), truth.documents.length.tolist()
        if index is not None:
            known = index.lengths(truth.documents.names).tolist()
            lengths = [a if a >= 0 else b for a, b in zip(lengths, known, strict=True)]
        for size, step in windows:
            yield Segmentation.windows(dict(zip(docs, lengths, strict=True)), size, step)
    if tags is not None:
        if index is None:
            raise UsageError("--tags takes a collection (--collection)")
        yield Segmentation.elements(index, tags)
