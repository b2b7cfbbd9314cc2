"""``foveal inex-eval``: the official evaluator of 2008-2010, same options, same lines."""

from __future__ import annotations

import sys
from typing import Any

import click

from foveal.cli import options as opt
from foveal.cli.shared import emit, warn
from foveal.errors import InputError, UsageError

_TASKS = {
    "t": "Thorough.",
    "f": "Focused.",
    "r": "Relevant in Context, F score.",
    "b": "Best in Context.",
    "i": "Relevant in Context, T2I.",
}


@click.command("inex-eval", cls=opt.Command, examples=("foveal inex-eval -f -q qrels.txt my.run",))
@click.argument("qrels")
@click.argument("runs", nargs=-1, required=True, metavar="RUN...")
@opt.combine_options(
    *(opt.option(f"-{n} tasks", _TASKS[n], flag_value=n, multiple=True) for n in _TASKS)
)
@opt.options(
    """
    -c every_topic  Average over all topics of the qrels; topics missing from a run score 0.
    -q per_topic  Print lines per topic before those on 'all'.
    --lenient  Score results without a place (X or -1) as the official evaluator did.
    -n=CHARACTERS  Largest distance of a best entry point that still scores.
    -beta=WEIGHT  Weight of recall in F.
    -irr=N  Irrelevant characters tolerated in T2I.
    """,
    n=500.0,
    beta=0.25,
    irr=300,
)
@opt.input_options
def command(
    qrels: str, runs: tuple[str, ...], tasks: tuple[str, ...], *, per_topic: bool, **options: Any
) -> None:
    """Print the output of inex_eval 3.1, the evaluator of INEX 2008-2010.

    QRELS and RUN are in the passage format of these years; the order of the lines is the
    ranking. Not to be confused with the measure inex_eval of 2002-2004.

    A run that cannot be scored is reported and left out; the exit code is then 2.
    """
    from foveal.evaluation.official import Evaluator

    if not (0 < options["n"] <= 1e12 and 0 <= options["beta"] <= 1e6):
        raise UsageError("expected -n above 0, up to 1e12, and -beta from 0 to 1e6")
    if len(set(tasks)) != 1:
        raise UsageError("inex-eval takes one of -t, -f, -r, -b and -i")
    evaluator = Evaluator(qrels, tasks[0], **options)
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
    if rejected:
        click.echo("\n".join(map(str, rejected)), err=True)
        sys.exit(2)
