"""``foveal correlate``: do measures, quantisations or topics rank systems alike."""

from __future__ import annotations

from functools import partial
from typing import Any

import click

from foveal.cli import options as opt
from foveal.cli import shared
from foveal.model.tables import TABLE_FORMATS

_COEFFICIENTS = ("tau_b", "tau_a", "tau_ap", "spearman")


@click.command(
    "correlate",
    cls=opt.Command,
    daily="judgements measures tasks by coefficients overlap groups form output",
    examples=(
        "foveal correlate runs/ -j qrels.txt -m AP -m AiP -m iP@0.01",
        "foveal correlate runs2005/ -j assessments/ -t 2005.CO.Thorough --by quant",
        "foveal correlate scores.json -o agreement.svg",
    ),
)
@click.argument("runs", nargs=-1, required=True, metavar="RUN...")
@opt.scoring_options()
@opt.options(
    f"""
    --by=measure|quant|topics  What to vary between rankings: the measure, its quantisation, or
        random halves of the topics.
    -c --coefficient={"|".join(_COEFFICIENTS)}|all... coefficients  Correlation coefficient;
        repeatable.
    --samples=N  Number of random halves.
    --seed=COUNT  Seed of the random halves.
    """,
    by="measure",
    coefficients=("tau_b",),
    samples=1000,
    seed=2005,
)
@opt.shared_options("groups output")
@opt.format_option()
@click.pass_context
def command(
    context: click.Context, /, runs: tuple[str, ...], judgements: tuple[str, ...], **options: Any
) -> None:
    """Correlate rankings of systems by measures, quantisations or topics.

    RUN is a file, or a directory of them. Runs are ranked within the task they declare, and
    correlations averaged over tasks: those of -t, or else all that are declared. Without -j the
    files are results saved by 'foveal evaluate -f json'. An output such as agreement.svg is a heat
    map.
    """
    from foveal.analysis.correlation import correlate
    from foveal.evaluation.topic_groups import add_groups

    measures, tasks, form, output = map(options.pop, ("measures", "tasks", "form", "output"))
    settings = {name: options.pop(name) for name in ("by", "coefficients", "samples", "seed")}
    if "all" in settings["coefficients"]:
        settings["coefficients"] = _COEFFICIENTS
    if settings["by"] != "topics":
        shared.refuse_unused(context, dict.fromkeys(("samples", "seed"), "--by topics"))
    paths = shared.list_files(runs)
    if judgements:
        opened, truth = shared.open_inputs(paths, judgements)
        score = partial(shared.score_runs, **{"task": None} | shared.given_options(options))
        found = correlate(opened, truth, measures, task=tasks, score=score, **settings)
    else:
        groups = options.pop("groups")
        shared.check_saved(tasks, options)
        saved = shared.read_saved(paths)
        if groups is not None:
            saved = [add_groups(part, groups) for part in saved]
        found = correlate(saved, measures=measures, **settings)
    form = form or (None if output else shared.choose_format(None, None))
    shared.warn([*found.meta["warnings"], *(() if form in TABLE_FORMATS else found.notes)])
    shared.emit_result(found, form, output)
