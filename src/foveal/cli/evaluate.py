"""``foveal evaluate``: score runs against judgements."""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from foveal.cli.options import summary_option
from foveal.cli.shared import (
    FORMATS,
    choose_format,
    choose_task,
    emit,
    format_option,
    given_options,
    open_inputs,
    output_option,
    refuse_missing,
    render_result,
    say,
    score_runs,
    scoring_options,
    start_workers,
    warn,
)
from foveal.errors import UsageError

if TYPE_CHECKING:
    from pathlib import Path

    from foveal.bridges.gates import Check
    from foveal.model import Results

__all__ = ["command"]


def _parse_definition(text: str) -> tuple[str, str]:
    """Return name and path of ``name=path``."""
    name, equals, path = text.partition("=")
    if not (equals and path and re.fullmatch(r"\w+", name)):
        raise click.BadParameter(f"{text!r} is no definition; expected name=path")
    return name, path


def _parse_memory(text: str) -> int:
    """Return the bytes of ``500M`` or ``4G``."""
    from foveal.files.memory import parse_size

    return parse_size(text, "memory")


def _check_cache(folder: str) -> str | None:
    """Return the folder; if nothing can be written there, warn once, before any work."""
    from foveal.formats.cache import RunCache

    reason = RunCache(folder).refusal
    if reason is not None:
        warn([reason])
        return None
    return folder


@click.command(
    "evaluate",
    epilog="Examples: foveal evaluate a.run b.jsonl -j qrels.txt -m iP@0.01 -m AiP; "
    "foveal evaluate runs/*.xml -j assessments/ -t 2005.COS.Thorough --topics-file topics.xml; "
    "foveal evaluate --config inex2006.prop --define aPath=data; "
    "foveal evaluate my.run -j qrels.txt --fail-under AiP=0.30 --summary github",
)
@click.argument("runs", nargs=-1, metavar="RUN...")
@scoring_options()
@click.option(
    "--config",
    metavar="FILE",
    help="A configuration of EvalJ, properties or <metrics> XML, instead of -m and -t; RUN... and "
    "-j stand for the paths it names.",
)
@click.option(
    "--define",
    multiple=True,
    type=_parse_definition,
    metavar="NAME=PATH",
    help="What $NAME in the paths of --config stands for; repeatable.",
)
@click.option(
    "--fail-under",
    multiple=True,
    metavar="M=X",
    help="Exit code 1 if the mean of a run by this measure is worse than this; repeatable, and "
    "the measure need not be among those of -m.",
)
@click.option(
    "--memory",
    type=_parse_memory,
    metavar="SIZE",
    help="What reading a run may take, as in 500M or 4G; larger files are read in slices of whole "
    "topics, with the same result [default: a share of what is free].",
)
@click.option(
    "--cache",
    type=_check_cache,
    envvar="FOVEAL_CACHE",
    show_envvar=True,
    metavar="DIR",
    help="Keep runs as columns there, so that scoring the same files again skips parsing; safe to "
    "delete, and the scores are the same.",
)
@summary_option
@click.option("-q", "--per-topic", is_flag=True, help="A row per topic before the means.")
@format_option(FORMATS, "; json holds every topic and can be read back")
@output_option
@click.pass_context
def command(
    context: click.Context,
    /,
    runs: tuple[str, ...],
    judgements: tuple[str, ...],
    measures: tuple[str, ...],
    collection: str | None,
    tasks: tuple[str, ...],
    config: str | None,
    define: tuple[tuple[str, str], ...],
    fail_under: tuple[str, ...],
    summary: str | None,
    form: str | None,
    output: str | None,
    workers: int | None,
    *,
    per_topic: bool,
    **options: Any,
) -> None:
    """Score runs against judgements, topic by topic and over all topics.

    Runs and judgements may be in any format Foveal reads, compressed or not; - is standard
    input. 'foveal measures' lists the measures, 'foveal measures --presets' the official tasks.
    """
    if config is not None:
        _evaluate_configuration(**context.params)
        return
    if not runs or not judgements:
        refuse_missing(context, "runs", "judgements")
    if define:
        raise UsageError("--define fills in the paths of a --config, and there is none")
    bounds: dict[str, float] = {}
    checks: tuple[Check, ...] = ()
    target: Path | None = None
    if fail_under:
        from foveal.bridges.gates import bounds_of

        bounds = bounds_of(fail_under)
    if summary is not None:
        from foveal.cli.build_checks import check_summary

        target = check_summary(summary, (*runs, *judgements))
    form, task = choose_format(form, output), choose_task(tasks)
    opened, truth = open_inputs(runs, judgements)
    with warnings.catch_warnings(record=True) as caught:  # a cache that cannot be written
        results = score_runs(
            opened,
            truth,
            (*measures, *bounds),
            task,
            collection=collection,
            workers=workers,
            hashed=form == "json",  # no other format holds the hashes of the inputs
            **given_options(options),
        )
    warn([*results.meta["warnings"], *dict.fromkeys(str(one.message) for one in caught)])
    if bounds:
        from foveal.bridges.gates import at_least

        checks = at_least(results, bounds)
    content = render_result(results, form, output, per_topic=per_topic)
    emit(content, output, styled=form == "table")
    if checks or target is not None:
        from foveal.cli.build_checks import conclude

        conclude(checks, target, lambda: _summarise(results, checks))


def _summarise(results: Results, checks: Sequence[Check]) -> str:
    """Return scores and checks as the Markdown of --summary."""
    from foveal.analysis.score_tables import tabulate_scores
    from foveal.bridges.gates import summary

    table = tabulate_scores(results, titled=True)
    return summary("Scores", checks, [table], results.meta["warnings"])


def _evaluate_configuration(
    *,
    runs: tuple[str, ...],
    judgements: tuple[str, ...],
    measures: tuple[str, ...],
    collection: str | None,
    tasks: tuple[str, ...],
    config: str,
    define: tuple[tuple[str, str], ...],
    fail_under: tuple[str, ...],
    summary: str | None,
    form: str | None,
    output: str | None,
    workers: int | None,
    per_topic: bool,
    **options: Any,
) -> None:
    """Score the blocks of a configuration of EvalJ (--config).

    Results of blocks that name a folder are written there, those of the others to the output.
    """
    from foveal.cli.texts import open_runs
    from foveal.evaluation import evalj
    from foveal.evaluation.evalj_configuration import read_configuration

    if measures or tasks:
        raise UsageError("--config names the measures; leave out --measure and --task")
    if fail_under or summary:
        raise UsageError("--config scores block by block; leave out --fail-under and --summary")
    paths = dict(define)
    if len(paths) < len(define):
        twice = next(name for i, (name, _) in enumerate(define) if name in dict(define[:i]))
        raise click.BadParameter(f"{twice} is defined twice", param_hint="'--define'")
    opened = open_runs(runs, *judgements, config)
    jobs = evalj.plan(read_configuration(config), runs=opened, judgements=judgements, define=paths)
    printed = [job for job in jobs if job.results is None]
    if not printed and (form or output):
        raise UsageError("all results go to RESULTS_DIR as tsv; leave out -f and -o")
    if len(printed) > 1 and form in ("json", "parquet"):
        raise UsageError(f"{len(printed)} blocks do not fit into one {form}; tsv can hold them")
    every = [run for job in jobs for run in job.runs]
    with start_workers(workers, every) as (executor, advance):
        found = evalj.score(
            jobs,
            collection=collection,
            executor=executor,
            progress=advance,
            **given_options(options),
        )
    form = choose_format(form, output)
    scored = list(zip(jobs, found, strict=True))
    parts = [
        render_result(results, form, output, per_topic=per_topic)
        for job, results in scored
        if job.results is None
    ]
    files = [evalj.format_result_files(*own, per_topic=per_topic) for own in scored]
    for results in found:
        warn(results.meta["warnings"])
    for job, own in zip(jobs, files, strict=True):
        evalj.write_results(own)
        if own:
            say(f"{len(own)} files written to {job.results}")
    if parts:
        content = parts[0] if len(parts) == 1 else _join_blocks([str(part) for part in parts])
        emit(content, output, styled=form == "table")


def _join_blocks(parts: Sequence[str]) -> str:
    """Join blocks: tidy rows under one header, tables with an empty line between them."""
    header, _, _ = parts[0].partition("\n")
    if header in ("run\ttopic\tmeasure\tvalue", "run,topic,measure,value"):
        return parts[0] + "".join(part.partition("\n")[2] for part in parts[1:])
    return ("" if header.startswith("{") else "\n").join(parts)
