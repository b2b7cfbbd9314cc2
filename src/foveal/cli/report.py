"""``foveal report``: a page about runs."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from typing import Any

import click
from click.core import ParameterSource

from foveal.cli.options import output_option
from foveal.cli.output import bar, emit, warn
from foveal.cli.scoring import (
    executor,
    files_of,
    one_task,
    runs_of,
    scoring_options,
    stated,
)
from foveal.cli.texts import locate_judgements, source_of_texts

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
        raise click.MissingParameter(ctx=context, param=_parameter(context, "judgements"))
    taken, truth = runs_of(files_of(runs), *judgements), locate_judgements(judgements)
    with executor(workers, taken) as pool, bar(len(taken), "scoring") as advance:
        page = report_page(
            taken,
            truth,
            list(measures),
            task=one_task(tasks),
            collection=collection,
            documents=documents,
            name_from=name_from,
            texts=None if options["texts"] is None else source_of_texts(judgements),
            by=by,
            command=" ".join(["foveal report", *_given(context)]),
            executor=pool,
            progress=advance,
            **stated(options),
        )
    warn(page.warnings)
    emit(page.html, output)


def _parameter(context: click.Context, name: str) -> click.Parameter:
    (found,) = (param for param in context.command.params if param.name == name)
    return found


def _given(context: click.Context) -> Iterator[str]:
    """The words that the command was called with, runs first, quoted for a shell."""
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
