"""``foveal inex-eval``: the official evaluator of 2008-2010, same options, same lines."""

from __future__ import annotations

import math
import sys

import click

from foveal.cli.options import max_bytes_option
from foveal.cli.shared import emit, warn
from foveal.errors import InputError, UsageError

__all__ = ["command"]


@click.command("inex-eval", epilog="Example: foveal inex-eval -f -q qrels.txt my.run")
@click.argument("qrels")
@click.argument("runs", nargs=-1, required=True, metavar="RUN...")
@click.option("-t", "tasks", flag_value="t", multiple=True, help="Thorough.")
@click.option("-f", "tasks", flag_value="f", multiple=True, help="Focused.")
@click.option("-r", "tasks", flag_value="r", multiple=True, help="Relevant in Context, F score.")
@click.option("-b", "tasks", flag_value="b", multiple=True, help="Best in Context.")
@click.option("-i", "tasks", flag_value="i", multiple=True, help="Relevant in Context, T2I.")
@click.option(
    "-c",
    "every_topic",
    is_flag=True,
    help="Average over all topics of the qrels; those missing from a run score 0.",
)
@max_bytes_option
@click.option("-q", "per_topic", is_flag=True, help="Lines per topic before those on 'all'.")
@click.option(
    "-n",
    type=click.FloatRange(min=0, min_open=True, max=1e12),
    default=500,
    show_default=True,
    help="Largest distance of a best entry point that still scores.",
)
@click.option(
    "-beta",
    type=click.FloatRange(min=0, max=1e6),
    default=0.25,
    show_default=True,
    help="Weight of recall in F.",
)
@click.option(
    "-irr",
    type=click.IntRange(min=1),
    default=300,
    show_default=True,
    help="Irrelevant characters tolerated in T2I.",
)
@click.option(
    "--lenient",
    is_flag=True,
    help="Score results without a place (X or -1) as the official evaluator did.",
)
def command(
    qrels: str,
    runs: tuple[str, ...],
    tasks: tuple[str, ...],
    n: float,
    beta: float,
    irr: int,
    *,
    every_topic: bool,
    per_topic: bool,
    lenient: bool,
) -> None:
    """Print what inex_eval 3.1, the evaluator of INEX 2008-2010, prints.

    QRELS and RUN are in the passage format of these years; the order of the lines is the
    ranking. Not to be confused with the measure inex_eval of 2002-2004.

    A run that cannot be scored is reported and left out; the exit code is then 2.
    """
    from foveal.evaluation.official import Evaluator

    if math.isnan(n) or math.isnan(beta):
        raise UsageError("-n and -beta are numbers")
    if len(set(tasks)) != 1:
        raise UsageError("inex-eval takes one of -t, -f, -r, -b and -i")
    evaluator = Evaluator(
        qrels, tasks[0], every_topic=every_topic, n=n, beta=beta, irr=irr, lenient=lenient
    )
    warn(evaluator.warnings)
    tables, rejected = [], []
    for run in runs:
        try:
            tables.append(evaluator.score(run))
        except InputError as error:
            rejected.append(error)
    for table in tables:
        warn(f"{table.file}: {warning}" for warning in table.warnings)
    emit("".join(table.text(per_topic=per_topic) for table in tables), None)
    for problem in rejected:
        click.echo(problem, err=True)
    if rejected:
        sys.exit(2)
