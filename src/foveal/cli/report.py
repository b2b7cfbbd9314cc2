"""``foveal report``: a page about runs."""

from __future__ import annotations

import shlex
from typing import Any

import click

from foveal.cli import WORDS, shared
from foveal.cli import options as opt
from foveal.cli.texts import find_texts


@click.command(
    "report",
    cls=opt.Command,
    daily="judgements measures tasks collection documents texts topics_file overlap by output",
    examples=(
        "foveal report runs/*.run -j qrels.txt -t 2009.Focused -o report.html",
        "foveal report runs/ -j assessments/ -C inex.fvx --documents inex/ -m AiP -o report.html",
    ),
)
@click.argument("runs", nargs=-1, required=True, metavar="RUN...")
@opt.scoring_options()
@opt.option("--by=M", "The measure that decides which run is best [default: the first].")
@opt.shared_options("bounds groups output")
@click.pass_context
def command(
    context: click.Context, /, runs: tuple[str, ...], judgements: tuple[str, ...], **options: Any
) -> None:
    """Write a page about runs: which is best, how certain that is, and why.

    The page is one file that opens in a browser without a network: a table of all scores with
    significance and confidence intervals, graphs, every topic, and with the texts (--texts, or a
    collection -C with its --documents) the text with the relevant and the returned passages.
    RUN is a file, or a directory of runs. Without -m and -t the preset is rag.
    """
    from foveal.report.page import report_page

    if not judgements:
        shared.refuse_missing(context, "judgements")
    measures, tasks, by, workers, output, documents, name_from = map(
        options.pop,
        ("measures", "tasks", "by", "workers", "output", "documents", "name_from"),
    )
    opened, truth = shared.open_inputs(shared.list_files(runs), judgements)
    with shared.start_workers(workers, opened) as (executor, advance):
        page = report_page(
            opened,
            truth,
            list(measures),
            task=shared.choose_task(tasks),
            documents=documents,
            name_from=name_from,
            texts=find_texts(judgements) if options["texts"] else None,
            by=by,
            command=shlex.join(["foveal", *context.meta[WORDS]]),
            executor=executor,
            progress=advance,
            **shared.given_options(options),
        )
    shared.warn(page.warnings)
    shared.emit(page.html, output)
