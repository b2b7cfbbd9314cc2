"""``foveal pool``: choose the documents, spans or elements of runs to assess."""

from __future__ import annotations

from typing import Any

import click

from foveal.cli import shared
from foveal.cli.options import (
    FORMATS,
    POSITIVE,
    Command,
    assessors_option,
    max_bytes_option,
    option,
    shared_options,
)
from foveal.cli.texts import open_runs
from foveal.errors import UsageError
from foveal.formats.pool_files import UNITS, pool_lines

_STRATEGIES = ("depth", "round-robin", "move-to-front", "hedge")


@click.command(
    "pool",
    cls=Command,
    daily="output strategy unit depth budget judgements collection only_topics stats per_topic",
    examples=(
        "foveal pool runs/*.run -o pool.jsonl --depth 50",
        "foveal pool runs/*.run -o next.jsonl --strategy hedge --budget 100 -j judged.jsonl",
    ),
)
@click.argument("runs", nargs=-1, required=True, metavar="RUN...")
@option("-o --output=FILE", "Write the pool here instead of standard output.")
@option(
    "--strategy",
    "Everything to a depth; turns of all runs; runs whose results prove relevant first; what runs "
    "agree on that did well so far.",
    type=click.Choice(_STRATEGIES),
    default="depth",
)
@option(
    "--unit",
    "Unit to pool; equal spans and elements of two runs are one.",
    type=click.Choice(UNITS),
    default="document",
)
@option(
    "--depth=K",
    "Look at the first K units of each run [default: 100; with a budget all, except for the "
    "strategy depth].",
    type=POSITIVE,
)
@option("--budget=N", "Units for each topic at most.", type=POSITIVE)
@option(
    "-j --judgements=PATH",
    "Existing judgements: left out, and used by move-to-front and hedge; repeatable.",
    multiple=True,
)
@assessors_option()
@shared_options("only_topics")
@option(
    "-C --collection=INDEX",
    "A collection index, which resolves XPaths to spans and spans to elements.",
)
@shared_options("snap")
@option("--stats=FILE|-", "Write sizes, contributions of runs and the growth with depth.")
@option(
    "-f --format form",
    "Format of --stats [default: table on a terminal, else tsv, a row for each run].",
    type=click.Choice(FORMATS),
)
@max_bytes_option
@option("-q --per-topic", "A row per topic in --stats.")
def command(
    runs: tuple[str, ...],
    output: str | None,
    judgements: tuple[str, ...],
    only_topics: tuple[str, ...] | None,
    stats: str | None,
    form: str | None,
    *,
    per_topic: bool,
    **options: Any,
) -> None:
    """Choose from runs what is to be assessed, topic by topic, in the order of assessing.

    Ranks count units: the tenth document of a run is the tenth that it names, however many results
    it has of each. The pool is JSON Lines, one line for each document, span or element.
    """
    from foveal.analysis.pooling import pool

    if stats is not None and stats == (output or "-"):
        raise UsageError("pool and statistics cannot go to one place; give two files")
    opened = open_runs(runs, *judgements)
    found = pool(opened, judgements=judgements or None, topics=only_topics, **options)
    shared.warn(found.warnings)
    if stats is not None:
        target = None if stats == "-" else stats
        shared.emit_result(found.statistics, form, target, per_topic=per_topic)
    shared.emit(pool_lines(found.pool), output)
    if stats is None:
        shared.say(found.statistics.summary())
