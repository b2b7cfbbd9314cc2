"""``foveal budget``: runs at the same amount of text, tokens or results."""

from __future__ import annotations

from pathlib import PurePath
from typing import TYPE_CHECKING, Any

import click

from foveal.cli.options import parse_positive
from foveal.cli.shared import (
    FORMATS,
    choose_format,
    emit,
    format_option,
    given_options,
    list_files,
    open_inputs,
    output_option,
    render_results,
    say,
    scoring_options,
    warn,
)
from foveal.errors import UsageError

if TYPE_CHECKING:
    from foveal.analysis.budgets import BudgetCurves

__all__ = ["command", "parse_budgets"]


def parse_budgets(text: str) -> tuple[int, ...]:
    """Return the numbers of ``250,500,1000``."""
    parts = [parse_positive(part.strip()) for part in text.split(",")]
    if None in parts:
        raise click.BadParameter(f"{text!r} is no list of budgets; expected 250,500,1000")
    return tuple(part for part in parts if part)


@click.command(
    "budget",
    epilog="Examples: foveal budget small.jsonl large.jsonl -j qrels.jsonl; foveal budget runs/ -j "
    "qrels.jsonl --unit tokens --at 250,500,1000,2000 -m charF; foveal budget a.jsonl b.jsonl -j "
    "qrels.jsonl --overlap union -o budget.svg",
)
@click.argument("runs", nargs=-1, required=True, metavar="RUN...")
@scoring_options(one_measure=True)
@click.option(
    "--unit",
    type=click.Choice(("characters", "tokens", "results")),
    default="characters",
    show_default=True,
    help="What a budget counts; tokens are a field of the results.",
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
        raise UsageError("runs are scored against judgements; give them with -j")
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
    content = _drawn(curves, output, form) or _table(curves, form, output, per_topic=per_topic)
    warn(curves.warnings)
    emit(content, output)


def _drawn(curves: BudgetCurves, output: str | None, form: str | None) -> str | bytes | None:
    """A graph, if the name of the output asks for one."""
    from foveal.report.budgets import budget_sentences
    from foveal.report.drawing import PICTURES, picture
    from foveal.report.drawing import form_of as graph_form
    from foveal.report.gnuplot import GNUPLOT_FORMATS, gnuplot
    from foveal.report.graphs import budget_graph

    suffix = "" if output is None else PurePath(output).suffix[1:].lower()
    if form is not None or output is None or suffix not in (*PICTURES, *GNUPLOT_FORMATS):
        return None
    suffix = graph_form(output)
    notes = tuple(budget_sentences(curves))
    for note in notes:
        say(note)
    graphs = (budget_graph(curves, notes),)
    return picture(graphs, suffix) if suffix in PICTURES else gnuplot(graphs, suffix)


def _table(
    curves: BudgetCurves, form: str | None, output: str | None, *, per_topic: bool
) -> str | bytes:
    from foveal.report.budgets import budget_grid
    from foveal.report.grids import GRID_FORMATS

    to_file = output is not None
    form = choose_format(form, to_file=to_file)
    if form in GRID_FORMATS and not per_topic:
        return GRID_FORMATS[form]([budget_grid(curves)])
    return render_results(curves.to_results(), form, per_topic=per_topic, to_file=to_file)
