"""``foveal correlate``: do measures, quantisations or topics rank systems alike."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from foveal.cli.options import (
    FORMATS,
    PROBABILITY,
    Command,
    Decorator,
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


def _value(name: str, kind: Any, default: Any, text: str) -> Decorator:
    """Return an option with a default, which its help shows."""
    return click.option(name, type=kind, default=default, show_default=True, help=text)


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
@_value(
    "--by",
    click.Choice(("measure", "quant", "topics")),
    "measure",
    "What the compared rankings differ in: the measure, its quantisation, or the topics.",
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
@_value("--rbo-p", PROBABILITY, 0.9, "Persistence of RBO: the smaller, the more the top counts.")
@click.option(
    "--topic-sets",
    metavar="FILE",
    help="With --by topics: sets to compare instead of random halves, on each line a name and "
    "its topics.",
)
@_value(
    "--samples",
    click.IntRange(min=1),
    1000,
    "Random draws of topics, for --by topics and --stability.",
)
@_value("--seed", int, 2005, "Seed of the random numbers.")
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
@_value("--alpha", PROBABILITY, 0.05, "Level of significance for --discriminative-power.")
@_value("--tails", click.IntRange(1, 2), 1, "Tails of the test for --discriminative-power.")
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
    from foveal.analysis.correlation import Correlations, correlate
    from foveal.analysis.rankings import Rankings, only_measures
    from foveal.analysis.score_matrix import check_assessors
    from foveal.analysis.stability import power_of, swaps_of
    from foveal.analysis.tasks import results_by_task, score_by_task

    # Refuse before anything is scored what would be refused after.
    chosen = _COEFFICIENTS if "all" in coefficients else tuple(dict.fromkeys(coefficients))
    halves = by == "topics" and topic_sets is None
    if topic_sets is not None and by != "topics":
        raise UsageError("--topic-sets names sets to compare; it goes with --by topics")
    if heatmap is not None and halves:
        raise UsageError(
            "random halves make no matrix; --heatmap needs --topic-sets, or another --by"
        )
    if heatmap is not None and Path(heatmap).suffix.lower() not in (".svg", ".png", ".pdf"):
        raise UsageError(
            f"{heatmap}: no picture of this kind can be drawn; expected .svg, .png or .pdf"
        )
    unused = {} if "rbo" in chosen else {"rbo_p": "-c rbo"}
    if not (halves or stability):
        drawn = "random halves (--by topics without --topic-sets) or --stability"
        unused |= dict.fromkeys(("samples", "seed"), drawn)
    unused |= {} if stability else {"sizes": "--stability"}
    unused |= {} if power else dict.fromkeys(("alpha", "tails"), "--discriminative-power")
    refuse_unused(context, unused)
    _check_outputs(output, heatmap)
    sets = None if topic_sets is None else _read_sets(topic_sets)

    warnings: list[str] = []
    paths = list_files(runs)
    if judgements:
        check_assessors(options)
        opened, truth = open_inputs(paths, judgements)
        score = partial(score_runs, **given_options(options))
        results = score_by_task(opened, truth, measures, tasks, score, warnings)
    else:
        check_saved(tasks, options)
        saved = read_saved(paths)
        warnings += dict.fromkeys(line for part in saved for line in part.meta.get("warnings", ()))
        results = only_measures(results_by_task(saved, warnings, paths), measures)
    number = sum(len(part.measures) for part in results.values())
    found, left_out = Correlations(by), list[str]()
    alone = by == "measure" and len(set(Rankings(results).name.values())) < 2
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
    used = dict(found.meta.get("options", {}))
    if stability:
        used |= {"samples": samples, "seed": seed}
        with progress_bar(number, "sampling") as advance:
            swaps = swaps_of(
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
        powers = power_of(results, alpha=alpha, tails=tails, warnings=left_out)
        found = replace(found, discriminative_power=powers)
    warnings += [line for line in dict.fromkeys(left_out) if line not in found.notes]
    found = replace(found, meta=_describe_inputs(results, used, found.notes, warnings))
    if heatmap is not None:
        from foveal.report.drawing import draw

        if not found.coefficients:
            raise UsageError("--heatmap draws correlations, and one measure alone has none")
        emit(draw(found.graphs(), Path(heatmap).suffix[1:].lower()), heatmap)
    form = choose_format(form, output)
    warn([*warnings, *(found.notes if form in ("tsv", "csv") else ())])
    emit_result(found, form, output)


def _check_outputs(*paths: str | None) -> None:
    """Refuse files that cannot be written, before anything is scored."""
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


def _read_sets(path: str) -> dict[str, tuple[str, ...]]:
    """Read a name and its topics from each line, split at blanks or commas; # starts a comment."""
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
