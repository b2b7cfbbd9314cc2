"""``foveal pool``: choose the documents, spans or elements of runs to assess."""

from __future__ import annotations

from typing import Any

import click

from foveal.cli import options as opt
from foveal.cli import shared
from foveal.cli.texts import open_runs
from foveal.errors import UsageError
from foveal.formats.pool_files import UNITS, pool_lines


@click.command(
    "pool",
    cls=opt.Command,
    daily="output strategy unit depth budget judgements collection only_topics stats per_topic",
    examples=(
        "foveal pool runs/*.run -o pool.jsonl --depth 50",
        "foveal pool runs/*.run -o next.jsonl --strategy hedge --budget 100 -j judged.jsonl",
    ),
)
@click.argument("runs", nargs=-1, required=True, metavar="RUN...")
@opt.options(
    f"""
    -o --output=FILE  Write the pool here instead of standard output.
    --strategy=depth|round-robin|move-to-front|hedge  All units to a depth; runs in turn; runs
        with relevant results first; units that several successful runs return.
    --unit={"|".join(UNITS)}  Unit to pool; equal spans and elements of two runs are one.
    --depth=N  Look at the first N units of each run [default: 100; with a budget all, except for
        the strategy depth].
    --budget=N  Units for each topic at most.
    -j --judgements=PATH...  Existing judgements: left out, and used by move-to-front and hedge;
        repeatable.
    -C --collection=INDEX  A collection index, which resolves XPaths to spans and spans to elements.
    --stats=FILE|-  Write the size of the pool and the contributions of the runs.
    -f --format={"|".join(opt.FORMATS)} form  Format of --stats [default: table on a terminal, else
        tsv, a row for each run].
    -q --per-topic  A row per topic in --stats.
    """,
    strategy="depth",
    unit="document",
)
@opt.assessors_option()
@opt.shared_options("only_topics snap")
@opt.max_bytes_option
def command(runs: tuple[str, ...], judgements: tuple[str, ...], **options: Any) -> None:
    """Choose the results of runs to assess, topic by topic, in the order of assessment.

    Ranks count units: the tenth document of a run is its tenth distinct document, however many
    results each has. The pool is JSON Lines, one line for each document, span or element.
    """
    from foveal.analysis.pooling import pool

    stats, output, form, per_topic, topics = map(
        options.pop, ("stats", "output", "form", "per_topic", "only_topics")
    )
    if stats is not None and stats == (output or "-"):
        raise UsageError("pool and statistics cannot go to one place; give two files")
    opened = open_runs(runs, *judgements)
    found = pool(opened, judgements=judgements or None, topics=topics, **options)
    shared.warn(found.warnings)
    if stats is not None:
        target = None if stats == "-" else stats
        shared.emit_result(found.statistics, form, target, per_topic=per_topic)
    shared.emit(pool_lines(found.pool), output)
    if stats is None:
        shared.say(found.statistics.summary())
