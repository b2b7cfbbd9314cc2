"""``foveal report``: a page about runs."""

from __future__ import annotations

import shlex
from typing import Any

import click

from foveal.cli import WORDS
from foveal.cli.options import Command, groups_option, option, output_option, scoring_options
from foveal.cli.shared import (
    choose_task,
    emit,
    given_options,
    list_files,
    open_inputs,
    refuse_missing,
    start_workers,
    warn,
)


@click.command(
    "report",
    cls=Command,
    daily="judgements measures tasks collection documents texts topics_file overlap by output",
    examples=(
        "foveal report runs/*.run -j qrels.txt -t 2009.Focused -o report.html",
        "foveal report runs/ -j assessments/ -C inex.fvx --documents inex/ -m AiP -o report.html",
    ),
)
@click.argument("runs", nargs=-1, required=True, metavar="RUN...")
@scoring_options()
@groups_option
@option("--by=M", "The measure that decides which run is best [default: the first].")
@output_option
@click.pass_context
def command(
    context: click.Context,
    /,
    runs: tuple[str, ...],
    judgements: tuple[str, ...],
    measures: tuple[str, ...],
    tasks: tuple[str, ...],
    by: str | None,
    workers: int | None,
    output: str | None,
    **options: Any,
) -> None:
    """Write a page about runs: which is best, how certain that is, and why.

    The page is one file that opens in a browser without a network: a table of all scores with
    significance and confidence intervals, graphs, every topic, and with the texts (--texts, or a
    collection -C with its --documents) the text with the relevant and the returned passages.
    RUN is a file, or a directory of runs.
    """
    from foveal.report.page import report_page

    if not judgements:
        refuse_missing(context, "judgements")
    opened, truth = open_inputs(list_files(runs), judgements)
    texts = None
    if options["texts"] is not None:
        from foveal.cli.texts import find_texts

        texts = find_texts(judgements)
    with start_workers(workers, opened) as (executor, advance):
        page = report_page(
            opened,
            truth,
            list(measures),
            task=choose_task(tasks),
            documents=options.pop("documents"),
            name_from=options.pop("name_from"),
            texts=texts,
            by=by,
            command=shlex.join(["foveal", *context.meta[WORDS]]),
            executor=executor,
            progress=advance,
            **given_options(options),
        )
    warn(page.warnings)
    emit(page.html, output)
