"""``foveal correlate``: do measures, quantisations or topics rank systems alike."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from foveal.cli.options import (
    FORMATS,
    Command,
    format_option,
    output_option,
    parse_positive,
    scoring_options,
)
from foveal.cli.shared import (
    check_saved,
    choose_format,
    emit,
    emit_result,
    given_options,
    list_files,
    open_inputs,
    progress_bar,
    read_saved,
    refuse_unused,
    score_runs,
    warn,
)
from foveal.errors import InputError, UsageError

if TYPE_CHECKING:
    from foveal.model import Results


_COEFFICIENTS = ("tau_b", "tau_a", "tau_ap", "spearman", "rbo")


def _parse_sizes(text: str) -> tuple[int, ...]:
    """Return the numbers of ``5,10,25``, sorted."""
    parts = [parse_positive(part) for part in text.replace(",", " ").split()]
    if not parts or None in parts:
        raise click.BadParameter(f"{text!r} is no list of sizes; expected one as in 5,10,25")
    return tuple(sorted({part for part in parts if part}))


@click.command(
    "correlate",
    cls=Command,
    daily="judgements measures tasks by coefficients overlap stability power heatmap form output",
    examples=(
        "foveal correlate runs/ -j qrels.txt -m AP -m AiP -m iP@0.01",
        "foveal correlate runs2005/ -j assessments/ -t 2005.CO.Thorough --by quant",
        "foveal correlate scores.json --by topics --heatmap agreement.svg",
    ),
)
@click.argument("runs", nargs=-1, required=True, metavar="RUN...")
@scoring_options()
@click.option(
    "--by",
    type=click.Choice(("measure", "quant", "topics")),
    default="measure",
    show_default=True,
    help="Compare rankings by measure, by quantisation, or by topics.",
)
@click.option(
    "-c",
    "--coefficient",
    "coefficients",
    type=click.Choice((*_COEFFICIENTS, "all")),
    multiple=True,
    default=("tau_b",),
    help="How rankings are correlated; repeatable  [default: tau_b].",
)
@click.option(
    "--rbo-p",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    default=0.9,
    show_default=True,
    help="Persistence of RBO: the smaller, the more the top counts.",
)
@click.option(
    "--topic-sets",
    metavar="FILE",
    help="With --by topics: sets to compare instead of random halves, on each line a name and "
    "its topics.",
)
@click.option(
    "--samples",
    type=click.IntRange(min=1),
    default=1000,
    show_default=True,
    help="Random draws of topics, for --by topics and --stability.",
)
@click.option(
    "--seed", type=int, default=2005, show_default=True, help="Seed of the random numbers."
)
@click.option(
    "--stability", is_flag=True, help="Add the swap rate of each measure by number of topics."
)
@click.option(
    "--sizes",
    type=_parse_sizes,
    metavar="LIST",
    help="Numbers of topics for --stability  [default: ten up to half of the topics].",
)
@click.option(
    "--discriminative-power",
    "power",
    is_flag=True,
    help="Add the share of pairs of runs that differ significantly, by measure.",
)
@click.option(
    "--alpha",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    default=0.05,
    show_default=True,
    help="Level of significance for --discriminative-power.",
)
@click.option(
    "--tails",
    type=click.IntRange(1, 2),
    default=1,
    show_default=True,
    help="Tails of the test for --discriminative-power.",
)
@click.option(
    "--heatmap", metavar="FILE", help="Draw the matrix as .svg, .png or .pdf (needs matplotlib)."
)
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
    by: str,
    coefficients: tuple[str, ...],
    rbo_p: float,
    topic_sets: str | None,
    samples: int,
    seed: int,
    sizes: tuple[int, ...] | None,
    alpha: float,
    tails: int,
    heatmap: str | None,
    form: str | None,
    output: str | None,
    *,
    stability: bool,
    power: bool,
    **options: Any,
) -> None:
    """Correlate the rankings of systems that measures, quantisations or topics give.

    RUN is a file, or a directory of them. Runs are ranked within the task they declare, and
    correlations averaged over tasks: those of -t, or else all that are declared. Without -j the
    files are results saved by 'foveal evaluate -f json'.
    """
    from foveal.analysis import rankings
    from foveal.analysis import stability as stable
    from foveal.analysis.correlation_results import Correlations
    from foveal.analysis.rankings import correlate

    chosen = _COEFFICIENTS if "all" in coefficients else tuple(dict.fromkeys(coefficients))
    halves = by == "topics" and topic_sets is None
    _check(heatmap, topic_sets, by)
    unused = _unused(chosen, sampled=halves or stability, stability=stability, power=power)
    refuse_unused(context, unused)
    _check_outputs(output, heatmap)
    warnings: list[str] = []
    sets = None if topic_sets is None else _read_sets(topic_sets)
    results = _results(list_files(runs), judgements, measures, tasks, warnings, options)
    number = sum(len(part.measures) for part in results.values())
    found = Correlations.without_pairs(by)
    alone = by == "measure" and len(rankings.measure_names(results)) < 2
    if not (alone and (stability or power)):
        with progress_bar(number if halves else 0, "sampling") as advance:
            found = correlate(
                results,
                by=by,
                coefficients=chosen,
                rbo_p=rbo_p,
                topic_sets=sets,
                samples=samples,
                seed=seed,
                progress=advance,
            )
    left_out: list[str] = []
    used = dict(found.meta.get("options", {}))
    if stability:
        used |= {"samples": samples, "seed": seed}
        with progress_bar(number, "sampling") as advance:
            swaps = stable.swaps_of(
                results,
                sizes=sizes,
                samples=samples,
                seed=seed,
                progress=advance,
                warnings=left_out,
            )
        found = replace(found, swap_rates=swaps)
    if power:
        used |= {"alpha": alpha, "tails": tails}
        powers = stable.power_of(results, alpha=alpha, tails=tails, warnings=left_out)
        found = replace(found, discriminative_power=powers)
    warnings += [line for line in dict.fromkeys(left_out) if line not in found.notes]
    found = replace(found, meta=_describe_inputs(results, used, found.notes, warnings))
    if heatmap is not None:
        from foveal.report.drawing import draw

        if not found.coefficients:
            raise UsageError("--heatmap draws correlations, and one measure alone has none")
        emit(draw(found.graphs(), Path(heatmap).suffix[1:].lower()), heatmap)
    form = choose_format(form, to_file=output is not None)
    warn([*warnings, *(found.notes if form in ("tsv", "csv") else ())])
    emit_result(found, form, output)


def _unused(
    coefficients: Sequence[str], *, sampled: bool, stability: bool, power: bool
) -> dict[str, str]:
    """Options that have nothing to do, and what would give them something."""
    found = {} if "rbo" in coefficients else {"rbo_p": "-c rbo"}
    if not sampled:
        halves = "random halves (--by topics without --topic-sets) or --stability"
        found |= dict.fromkeys(("samples", "seed"), halves)
    if not stability:
        found["sizes"] = "--stability"
    if not power:
        found |= dict.fromkeys(("alpha", "tails"), "--discriminative-power")
    return found


def _check_outputs(*paths: str | None) -> None:
    """Refuse before anything is scored files that cannot be written: there is no half result."""
    given = [path for path in paths if path is not None and path != "-"]
    targets = [Path(os.path.realpath(path)) for path in given]
    if len(set(targets)) < len(targets):
        raise UsageError(f"{given[0]}: both the output and the picture; expected two files")
    for path, target in zip(given, targets, strict=True):
        if target.is_dir():
            raise InputError.at(
                "file.is_directory", path, None, "is a directory; expected a file name"
            )
        if target.exists() and not target.is_file():
            continue  # a device or a pipe
        try:
            with tempfile.TemporaryFile(dir=target.parent):
                pass
        except OSError as error:
            raise InputError.at(
                "file.unwritable", path, None, f"cannot be written: {error.strerror}"
            ) from None


def _check(heatmap: str | None, topic_sets: str | None, by: str) -> None:
    """Refuse before anything is scored what would be refused after."""
    if topic_sets is not None and by != "topics":
        raise UsageError("--topic-sets names sets to compare; it goes with --by topics")
    if heatmap is None:
        return
    if by == "topics" and topic_sets is None:
        raise UsageError(
            "random halves make no matrix; --heatmap needs --topic-sets, or another --by"
        )
    if Path(heatmap).suffix.lower() not in (".svg", ".png", ".pdf"):
        raise UsageError(
            f"{heatmap}: no picture of this kind can be drawn; expected .svg, .png or .pdf"
        )


# -- inputs ------------------------------------------------------------------------------------


def _read_sets(path: str) -> dict[str, tuple[str, ...]]:
    """A name and its topics on each line, separated by blanks or commas; # starts a comment."""
    from foveal.files.source import Source

    source = Source.open(path)
    source.check_utf8()
    sets: dict[str, tuple[str, ...]] = {}
    for number, line in enumerate(source.data.decode().splitlines(), 1):
        name, *topics = line.replace(",", " ").split() or [""]
        if not name or name.startswith("#"):
            continue
        if not topics:
            raise source.error(
                "topic_sets.empty", number, f"the set {name!r} has no topic; expected NAME TOPIC..."
            )
        if name in sets:
            raise source.error(
                "topic_sets.duplicate", number, f"a second set {name!r}; expected every name once"
            )
        sets[name] = tuple(dict.fromkeys(topics))
    if len(sets) < 2:
        raise source.error(
            "topic_sets.too_few", None, f"{len(sets)} sets of topics found; expected at least two"
        )
    return sets


def _results(
    paths: list[str],
    judgements: Sequence[str],
    measures: Sequence[str],
    tasks: Sequence[str],
    warnings: list[str],
    options: Mapping[str, Any],
) -> dict[str, Results]:
    """Task to results, scored or saved before."""
    if judgements:
        return _scored(paths, judgements, measures, tasks, warnings, options)
    check_saved(tasks, options)
    return _saved(paths, measures, warnings)


def _saved(
    paths: Sequence[str], measures: Sequence[str], warnings: list[str]
) -> dict[str, Results]:
    from foveal.analysis.rankings import only_measures
    from foveal.analysis.tasks import results_by_task

    parts = read_saved(paths)
    warnings += dict.fromkeys(line for part in parts for line in part.meta.get("warnings", ()))
    return only_measures(results_by_task(parts, warnings, paths), measures)


def _scored(
    paths: Sequence[str],
    judgements: Sequence[str],
    measures: Sequence[str],
    tasks: Sequence[str],
    warnings: list[str],
    options: Mapping[str, Any],
) -> dict[str, Results]:
    """Runs scored with those of their task; a run that fits no task is said to be left out."""
    from foveal.analysis.score_matrix import check_assessors
    from foveal.analysis.tasks import scored_by_task
    from foveal.formats import read_run
    from foveal.measures import parse_measures
    from foveal.model import Run

    check_assessors(options)
    own = [m.label for text in measures for m in parse_measures(text)]
    opened, truth = open_inputs(paths, judgements)
    runs = [run if isinstance(run, Run) else read_run(run) for run in opened]

    def scored(members: list[Run], preset: str | None) -> Results:
        return score_runs(members, truth, measures, preset, **given_options(options))

    return scored_by_task(runs, tasks, own, scored, warnings)


def _describe_inputs(
    results: Mapping[str, Results],
    used: Mapping[str, Any],
    notes: Sequence[str],
    warnings: list[str],
) -> dict[str, Any]:
    """Return the meta: version, options that decided the numbers, and the inputs of every task."""
    from foveal._version import __version__

    inputs: dict[tuple[Any, ...], dict[str, Any]] = {}
    options: dict[str, Any] = {}
    for part in results.values():
        for meta in part.meta.get("parts", [part.meta]):
            options |= meta.get("options", {})
            for item in meta.get("inputs", ()):
                inputs[tuple(item.values())] = dict(item)
    return {
        "version": __version__,
        "options": {**options, **used},
        "tasks": {task: list(part.runs) for task, part in results.items()},
        "measures": {task: list(part.measures) for task, part in results.items()},
        "inputs": list(inputs.values()),
        "notes": list(notes),
        "warnings": warnings,
    }
