"""``foveal budget``: runs at the same amount of text, tokens or results."""

from __future__ import annotations

from typing import Any

import click

from foveal.cli.options import (
    FORMATS,
    Command,
    format_option,
    output_option,
    parse_positive,
    scoring_options,
)
from foveal.cli.shared import emit_result, given_options, list_files, open_inputs, warn
from foveal.errors import UsageError


def parse_budgets(text: str) -> tuple[int, ...]:
    """Return the numbers of ``250,500,1000``."""
    parts = [parse_positive(part.strip()) for part in text.split(",")]
    if None in parts:
        raise click.BadParameter(f"{text!r} is no list of budgets; expected 250,500,1000")
    return tuple(part for part in parts if part)


@click.command(
    "budget",
    cls=Command,
    daily="judgements measure collection unit at up_to overlap per_topic form output",
    examples=(
        "foveal budget small.jsonl large.jsonl -j qrels.jsonl",
        "foveal budget runs/ -j qrels.jsonl --unit tokens --at 250,500,1000,2000 -m charF",
        "foveal budget a.jsonl b.jsonl -j qrels.jsonl --overlap union -o budget.svg",
    ),
)
@click.argument("runs", nargs=-1, required=True, metavar="RUN...")
@scoring_options(one_measure=True)
@click.option(
    "--unit",
    type=click.Choice(("characters", "tokens", "results")),
    default="characters",
    show_default=True,
    help="Unit of a budget; tokens are a field of the results.",
)
@click.option("--at", type=parse_budgets, metavar="LIST", help="These budgets, as in 250,500,1000.")
@click.option(
    "--up-to",
    type=click.IntRange(min=1),
    metavar="N",
    help="Twenty budgets up to N [default: up to what half of the topics of every run offer].",
)
@click.option("-q", "--per-topic", is_flag=True, help="A row per topic before the means.")
@format_option(FORMATS, "; json holds every topic and can be drawn by 'foveal plot budget'")
@output_option
def command(
    runs: tuple[str, ...],
    judgements: tuple[str, ...],
    measure: str | None,
    collection: str | None,
    unit: str,
    at: tuple[int, ...] | None,
    up_to: int | None,
    form: str | None,
    output: str | None,
    *,
    per_topic: bool,
    **options: Any,
) -> None:
    """Compare runs at the same amount of text, tokens or results.

    The measure (-m) is charR, charP, charF, iP@x, or gain, the relevant characters found; charR
    unless told. Lists are read from the top until the budget is spent, and the result that crosses
    it is cut. The table has a row per budget, the area under each curve, and in words which run is
    best where. A file such as -o budget.svg is a graph of the curves.
    """
    from foveal.analysis.budgets import budget_curves

    if not judgements:
        raise UsageError("runs are scored against judgements; give them with --judgements")
    opened, truth = open_inputs(list_files(runs), judgements)
    curves = budget_curves(
        opened,
        truth,
        *([measure] if measure else []),
        unit=unit,
        budgets=at,
        up_to=up_to,
        collection=collection,
        **given_options(options),
    )
    warn(curves.warnings)
    emit_result(curves, form, output, per_topic=per_topic)
