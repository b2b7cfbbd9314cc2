"""``foveal correlate``: do measures, quantisations or topics rank systems alike."""

from __future__ import annotations

from functools import partial
from typing import Any

import click

from foveal.cli.options import (
    FORMATS,
    POSITIVE,
    Command,
    format_option,
    groups_option,
    option,
    output_option,
    scoring_options,
)
from foveal.cli.shared import (
    check_saved,
    choose_format,
    emit_result,
    given_options,
    list_files,
    open_inputs,
    read_saved,
    refuse_unused,
    score_runs,
    warn,
)
from foveal.model.tables import TABLE_FORMATS

_COEFFICIENTS = ("tau_b", "tau_a", "tau_ap", "spearman")


@click.command(
    "correlate",
    cls=Command,
    daily="judgements measures tasks by coefficients overlap groups form output",
    examples=(
        "foveal correlate runs/ -j qrels.txt -m AP -m AiP -m iP@0.01",
        "foveal correlate runs2005/ -j assessments/ -t 2005.CO.Thorough --by quant",
        "foveal correlate scores.json -o agreement.svg",
    ),
)
@click.argument("runs", nargs=-1, required=True, metavar="RUN...")
@scoring_options()
@groups_option
@option(
    "--by",
    "What the compared rankings differ in: the measure, its quantisation, or random halves of the "
    "topics.",
    type=click.Choice(("measure", "quant", "topics")),
    default="measure",
)
@option(
    "-c --coefficient coefficients",
    "How rankings are correlated; repeatable.",
    type=click.Choice((*_COEFFICIENTS, "all")),
    multiple=True,
    default=("tau_b",),
)
@option("--samples", "Number of random halves.", type=POSITIVE, default=1000)
@option("--seed", "Seed of the random halves.", type=click.IntRange(min=0), default=2005)
@format_option(FORMATS)
@output_option
@click.pass_context
def command(
    context: click.Context,
    /,
    runs: tuple[str, ...],
    judgements: tuple[str, ...],
    measures: tuple[str, ...],
    tasks: tuple[str, ...],
    form: str | None,
    output: str | None,
    **options: Any,
) -> None:
    """Correlate the rankings of systems that measures, quantisations or topics give.

    RUN is a file, or a directory of them. Runs are ranked within the task they declare, and
    correlations averaged over tasks: those of -t, or else all that are declared. Without -j the
    files are results saved by 'foveal evaluate -f json'. An output such as agreement.svg is a heat
    map.
    """
    from foveal.analysis.correlation import correlate
    from foveal.evaluation.topic_groups import add_groups

    settings = {name: options.pop(name) for name in ("by", "coefficients", "samples", "seed")}
    if "all" in settings["coefficients"]:
        settings["coefficients"] = _COEFFICIENTS
    if settings["by"] != "topics":
        refuse_unused(context, dict.fromkeys(("samples", "seed"), "--by topics"))
    paths = list_files(runs)
    if judgements:
        opened, truth = open_inputs(paths, judgements)
        score = partial(score_runs, **{"task": None} | given_options(options))
        found = correlate(opened, truth, measures, task=tasks, score=score, **settings)
    else:
        groups = options.pop("groups")
        check_saved(tasks, options)
        saved = read_saved(paths)
        if groups is not None:
            saved = [add_groups(part, groups) for part in saved]
        found = correlate(saved, measures=measures, **settings)
    form = form or (None if output else choose_format(None, None))
    warn([*found.meta["warnings"], *(() if form in TABLE_FORMATS else found.notes)])
    emit_result(found, form, output)
