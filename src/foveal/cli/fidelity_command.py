"""``foveal fidelity``: test measures with runs whose order is known."""

from __future__ import annotations

from typing import Any

import click

from foveal.cli import options as opt
from foveal.cli import shared
from foveal.errors import UsageError

_RUNS = 20


@click.command(
    "fidelity",
    cls=opt.Command,
    daily="judgements measures collection tasks table form output",
    examples=(
        "foveal fidelity -j qrels.jsonl -C wiki.fvx",
        "foveal fidelity -j qrels.jsonl -C wiki.fvx -m AiP -m 'AgP(beta=0.25)'",
    ),
)
@opt.scoring_options()
@opt.options(
    """
    --table=scores|orderings|verdict  Only this table [default: all; tsv and csv hold one, the
        orderings].
    """
)
@opt.format_option(more="; json holds everything")
@opt.shared_options("output")
def command(judgements: tuple[str, ...], measures: tuple[str, ...], **options: Any) -> None:
    """Test measures on simulated runs of known order.

    Measures score the runs of the S-R space ('foveal simulate'), whose order is known: returning
    too much or too little of a relevant document must not pay, nor a non-relevant document before
    it. The exit code is 1 if a measure breaks an ordering that must hold on every topic.

    Without -m and -t the measures are those of the study by Pehcevski, Thom and Kamps. SL, SS and
    SST need a collection (-C). Measures of elements are tested without S, on their own. Options
    that would change the simulated runs are refused.
    """
    from foveal.analysis.fidelity import fidelity

    if not judgements:
        raise UsageError("no judgements given (--judgements)")
    _, truth = shared.open_inputs([], judgements)
    names = ("tasks", "workers", "table", "form", "output")
    tasks, workers, table, form, output = map(options.pop, names)
    task = shared.choose_task(tasks)
    given = shared.given_options(options)
    with shared.start_workers(workers, [], _RUNS) as (executor, advance):
        result = fidelity(
            truth, measures=measures, task=task, executor=executor, progress=advance, **given
        )
    shared.warn(result.meta["warnings"])
    shared.emit_result(result, form, output, table=table)
    if not result.passed:
        raise click.exceptions.Exit(1)
