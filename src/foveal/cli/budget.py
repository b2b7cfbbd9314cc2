"""``foveal budget``: runs at the same amount of text, tokens or results."""

from __future__ import annotations

from typing import Any

import click

from foveal.cli import options as opt
from foveal.cli.shared import emit_result, given_options, list_files, open_inputs, warn
from foveal.errors import UsageError


def parse_budgets(text: str) -> tuple[int, ...]:
    """Return the numbers of ``250,500,1000``."""
    found = [opt.parse_positive(part.strip()) for part in text.split(",")]
    if None in found:
        raise click.BadParameter(f"{text!r} is not a list of budgets; expected 250,500,1000")
    return tuple(part for part in found if part)


@click.command(
    "budget",
    cls=opt.Command,
    daily="judgements measure collection unit at up_to overlap per_topic form output",
    examples=(
        "foveal budget small.jsonl large.jsonl -j qrels.jsonl",
        "foveal budget runs/ -j qrels.jsonl --unit tokens --at 250,500,1000,2000 -m charF",
        "foveal budget a.jsonl b.jsonl -j qrels.jsonl --overlap union -o budget.svg",
    ),
)
@click.argument("runs", nargs=-1, required=True, metavar="RUN...")
@opt.scoring_options(one_measure=True)
@opt.option("--at=LIST", "These budgets, as in 250,500,1000.", type=parse_budgets)
@opt.options(
    """
    --unit=characters|tokens|results  Unit of a budget; results give tokens.
    --up-to=N  Twenty budgets up to N [default: as lists end].
    """,
    unit="characters",
)
@opt.shared_options("per_topic output")
@opt.format_option(more="; json holds every topic and can be drawn by 'foveal plot budget'")
def command(runs: tuple[str, ...], judgements: tuple[str, ...], **options: Any) -> None:
    """Compare runs at the same amount of text, tokens or results.

    The measure (-m) is charR (the default), charP, charF or iP@x. Lists are read from the top until
    the budget is spent, and the result that crosses it is cut. The table has a row per budget, the
    area under each curve, and the best run at each budget. A file such as -o budget.svg is a graph.
    """
    from foveal.analysis.budgets import budget_curves

    if not judgements:
        raise UsageError("runs are scored against judgements; give them with --judgements")
    names = ("measure", "at", "form", "output", "per_topic")
    measure, at, form, output, per_topic = map(options.pop, names)
    if len(measure) > 1:
        raise UsageError("a budget curve is of one measure; give one of them (--measure)")
    inputs = open_inputs(list_files(runs), judgements)
    given = given_options(options)
    curves = budget_curves(*inputs, measure[0], budgets=at, **given)
    warn(curves.meta["warnings"])
    emit_result(curves, form, output, per_topic=per_topic)
