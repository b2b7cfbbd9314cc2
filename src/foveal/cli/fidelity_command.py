"""``foveal fidelity``: put measures on trial with runs whose order is known."""

from __future__ import annotations

import sys
from typing import Any

import click

from foveal.cli.options import FORMATS, Command, format_option, output_option, scoring_options
from foveal.cli.shared import (
    choose_task,
    emit_result,
    given_options,
    list_files,
    open_inputs,
    say,
    start_workers,
    warn,
)
from foveal.errors import UsageError

_TABLES = ("scores", "orderings", "verdict")
_SIMULATED = 20


@click.command(
    "fidelity",
    cls=Command,
    daily="judgements measures collection tasks runs expect table form output",
    examples=(
        "foveal fidelity -j qrels.jsonl -C wiki.fvx",
        "foveal fidelity -j qrels.jsonl -C wiki.fvx -m AiP -m 'AgP(beta=0.25)'",
        "foveal fidelity -j qrels.jsonl --runs mine --expect orderings.txt -m iP@0.01",
    ),
)
@scoring_options()
@click.option(
    "--runs",
    metavar="DIR",
    help="Own simulated runs instead of those of the S-R space: a folder, or one file.",
)
@click.option(
    "--expect",
    metavar="FILE",
    help="Own expectations, a line each: better >= worse, on 'every' topic (default) or of the "
    "'mean'; names with blanks in quotes; # begins a comment.",
)
@click.option(
    "--empty",
    type=click.Choice(("keep", "omit")),
    help="A document of which a simulated run returns nothing keeps its rank, or is left out "
    "[default: keep; for measures of elements omit].",
)
@click.option(
    "--level",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    default=0.05,
    show_default=True,
    help="Level of significance at which an average counts as reversed.",
)
@click.option(
    "--table",
    type=click.Choice(_TABLES),
    help="Only this table [default: all; tsv and csv hold one, the orderings].",
)
@format_option(FORMATS, "; json holds everything")
@output_option
def command(
    judgements: tuple[str, ...],
    measures: tuple[str, ...],
    collection: str | None,
    tasks: tuple[str, ...],
    runs: str | None,
    expect: str | None,
    empty: str | None,
    level: float,
    table: str | None,
    form: str | None,
    output: str | None,
    workers: int | None,
    **options: Any,
) -> None:
    """Does a measure measure what it should?

    Measures score the runs of the S-R space ('foveal simulate'), whose order is known: returning
    too much or too little of a relevant document must not pay, nor a non-relevant document before
    it. Every expected ordering is looked at topic by topic, and the verdict is said in words. The
    exit code is 1 if a measure breaks an ordering that must hold on every topic.

    Without -m and -t the measures are those of the study by Pehcevski, Thom and Kamps. SL, SS and
    SST take a collection (-C). Measures of elements are tried without S. Options that would alter
    the simulated runs are refused; own runs (--runs) take all of them.
    """
    from foveal.analysis.fidelity import fidelity

    if not judgements:
        raise UsageError("no judgements given (--judgements)")
    if form == "json" and table is not None:
        raise UsageError("json holds everything; leave out --table")
    own, truth = open_inputs([] if runs is None else list_files([runs]), judgements)
    task = choose_task(tasks)
    with start_workers(workers, own, len(own) or _SIMULATED) as (executor, advance):
        trial = fidelity(
            truth,
            collection,
            measures,
            runs=own,
            orderings=expect,
            task=task,
            level=level,
            empty=empty,
            executor=executor,
            progress=advance,
            **given_options(options),
        )
    warn(trial.notes)
    emit_result(trial, form, output, table=table)
    as_table = form is None and output is None and sys.stdout.isatty()
    if form in (None, "tsv", "csv") and not as_table and table != "verdict":
        for sentence in trial.sentences:  # the rows hold numbers only
            say(sentence)
    if not trial.passed:
        raise click.exceptions.Exit(1)
