"""``foveal report``: a page about runs."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from typing import Any

import click
from click.core import ParameterSource

from foveal.cli.shared import (
    choose_task,
    emit,
    given_options,
    list_files,
    open_inputs,
    output_option,
    refuse_missing,
    scoring_options,
    start_workers,
    warn,
)

__all__ = ["command"]


@click.command(
    "report",
    epilog="Examples: foveal report runs/*.run -j qrels.txt -t 2009.Focused -o report.html; "
    "foveal report runs/ -j assessments/ -C inex.fvx --documents inex/ -m AiP -o report.html",
)
@click.argument("runs", nargs=-1, required=True, metavar="RUN...")
@scoring_options(
    collection="where results are XPaths, and to show where in their documents they are",
    topics="their titles, which are shown, for --cas and for tasks on topics with a castitle",
    documents="its texts, which are shown, and for numbers in the queries of --cas VS and SS",
)
@click.option(
    "--by",
    metavar="M",
    help="The measure that tells which run is best [default: the first that ranks].",
)
@output_option
@click.pass_context
def command(
    context: click.Context,
    /,
    runs: tuple[str, ...],
    judgements: tuple[str, ...],
    measures: tuple[str, ...],
    tasks: tuple[str, ...],
    collection: str | None,
    documents: str | None,
    name_from: str | None,
    by: str | None,
    workers: int | None,
    output: str | None,
    **options: Any,
) -> None:
    """Write a page about runs: which is best, is it sure, and why.

    The page is one file that opens in a browser without a network: a table of all scores with
    significance and confidence intervals, graphs, every topic, and with the texts (--texts, or a
    collection -C with its --documents) the text with what was relevant and what the runs returned.
    RUN is a file, or a directory of them.
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
            collection=collection,
            documents=documents,
            name_from=name_from,
            texts=texts,
            by=by,
            command=" ".join(["foveal report", *_given_words(context)]),
            executor=executor,
            progress=advance,
            **given_options(options),
        )
    warn(page.warnings)
    emit(page.html, output)


def _given_words(context: click.Context) -> Iterator[str]:
    """Yield the words that the command was called with, runs first, quoted for a shell."""
    for param in sorted(context.command.params, key=lambda p: p.param_type_name != "argument"):
        if context.get_parameter_source(param.name or "") is not ParameterSource.COMMANDLINE:
            continue
        if not param.expose_value:  # done with when the options are read: --max-bytes
            continue
        value = context.params[param.name or ""]
        if param.param_type_name == "argument":
            yield from map(shlex.quote, value)
        elif value is True:
            yield param.opts[0]
        else:
            for one in value if param.multiple else [value]:
                text = ",".join(one) if isinstance(one, tuple) else str(one)
                yield f"{param.opts[0]} {shlex.quote(text)}"
