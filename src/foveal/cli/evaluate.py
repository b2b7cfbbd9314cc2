"""``foveal evaluate``: score runs against judgements."""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from foveal.cli.gates import check_summary, conclude, summary_option
from foveal.cli.options import format_option, output_option
from foveal.cli.output import FORMATS, bar, emit, form_of, render, say, warn
from foveal.cli.scoring import executor, one_task, runs_of, score, scoring_options, stated
from foveal.cli.texts import locate_judgements
from foveal.errors import UsageError

if TYPE_CHECKING:
    from foveal.bridges.gates import Check
    from foveal.evaluation.evalj import Outcome
    from foveal.evaluation.scoring import RunLike
    from foveal.model import Results

__all__ = ["command"]

_HEADERS = ("run\ttopic\tmeasure\tvalue", "run,topic,measure,value")
"""First lines of tsv and csv."""
_WHOLE = ("json", "parquet")
"""Formats of one table only."""


def _definitions(_: click.Context, __: click.Parameter, values: tuple[str, ...]) -> dict[str, str]:
    """``name=path`` of every ``--define``."""
    found: dict[str, str] = {}
    for value in values:
        name, equals, path = value.partition("=")
        if not (equals and path and re.fullmatch(r"\w+", name)):
            raise click.BadParameter(f"{value!r} is no definition; expected name=path")
        if name in found:
            raise click.BadParameter(f"{name} is defined twice")
        found[name] = path
    return found


def _memory(_: click.Context, __: click.Parameter, value: str | None) -> int | None:
    """Bytes of ``500M`` or ``4G``."""
    if value is None:
        return None
    from foveal.executors.memory import parse_size

    return parse_size(value, "memory")


def _cache(_: click.Context, __: click.Parameter, value: str | None) -> str | None:
    """The folder, unless nothing can be written there: that is said once, before any work."""
    if value is None:
        return None
    from foveal.formats.cache import RunCache

    reason = RunCache(value).refusal
    if reason is not None:
        warn([reason])
    return value if reason is None else None


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
    callback=_definitions,
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
    callback=_memory,
    metavar="SIZE",
    help="What reading a run may take, as in 500M or 4G; larger files are read in slices of whole "
    "topics, with the same result [default: a share of what is free].",
)
@click.option(
    "--cache",
    callback=_cache,
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
    define: dict[str, str],
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
    _check_given(context, config)
    bounds, target = _bounds(fail_under), check_summary(summary, (*runs, *judgements))
    task = one_task(tasks)
    taken = runs_of(runs, *judgements, config)
    if config is not None:
        options = stated(options)
        outcomes = _configured(
            config, define, taken, judgements, form, output, workers, collection, options
        )
        _deliver(outcomes, form, output, per_topic=per_topic)
        return
    asked, truth = (*measures, *bounds), locate_judgements(judgements)
    with warnings.catch_warnings(record=True) as said:  # of a cache that cannot be written
        results = score(
            taken,
            truth,
            asked,
            task,
            collection=collection,
            workers=workers,
            hashed=form == "json",  # no other format tells them
            **stated(options),
        )
    warn([*results.meta["warnings"], *dict.fromkeys(str(one.message) for one in said)])
    checks = _checks(results, bounds)
    form = form_of(form, to_file=output is not None)
    content = render(results, form, per_topic=per_topic, to_file=output is not None)
    emit(content, output, styled=form == "table")
    conclude(checks, target, lambda: _summary(results, checks))


# -- gates: loaded where there are any ---------------------------------------------------------


def _bounds(texts: tuple[str, ...]) -> dict[str, float]:
    if not texts:
        return {}
    from foveal.bridges.gates import bounds_of

    return bounds_of(texts)


def _checks(results: Results, bounds: dict[str, float]) -> tuple[Check, ...]:
    if not bounds:
        return ()
    from foveal.bridges.gates import at_least

    return at_least(results, bounds)


def _summary(results: Results, checks: Sequence[Check]) -> str:
    from foveal.bridges.gates import summary
    from foveal.report.tables import titled

    table = titled(results, per_topic=False)
    return summary("Scores", checks, [table], results.meta["warnings"])


def _check_given(context: click.Context, config: str | None) -> None:
    """Runs and judgements come from the command line, or the configuration may name them."""
    given = context.params
    if config is not None:
        if given["measures"] or given["tasks"]:
            raise UsageError("--config names the measures; leave out -m and -t")
        if given["fail_under"] or given["summary"]:
            raise UsageError("--config scores block by block; leave out --fail-under and --summary")
        return
    for parameter in context.command.params:
        if parameter.name in ("runs", "judgements") and not given[parameter.name]:
            raise click.MissingParameter(ctx=context, param=parameter)
    if given["define"]:
        raise UsageError("--define fills in the paths of a --config, and there is none")


# -- configurations of EvalJ -------------------------------------------------------------------


def _configured(
    config: str,
    define: dict[str, str],
    runs: Sequence[RunLike],
    judgements: Sequence[str],
    form: str | None,
    output: str | None,
    workers: int | None,
    collection: str | None,
    options: dict[str, Any],
) -> tuple[Outcome, ...]:
    """Score what the configuration asks for; what cannot be delivered is refused before."""
    from foveal.evaluation.evalj import plan, read_configuration
    from foveal.evaluation.evalj import score as score_jobs

    jobs = plan(read_configuration(config), runs=runs, judgements=judgements, define=define)
    printed = [job for job in jobs if job.results is None]
    if not printed and (form or output):
        raise UsageError("all results go to RESULTS_DIR as tsv; leave out -f and -o")
    if len(printed) > 1 and form in _WHOLE:
        raise UsageError(f"{len(printed)} blocks do not fit into one {form}; tsv can hold them")
    every = [run for job in jobs for run in job.runs]
    with executor(workers, every) as pool, bar(len(every), "scoring") as advance:
        return score_jobs(jobs, collection=collection, executor=pool, progress=advance, **options)


def _deliver(
    outcomes: Sequence[Outcome], form: str | None, output: str | None, *, per_topic: bool
) -> None:
    """Results of blocks that name a folder go there, those of the others to the output."""
    from foveal.evaluation.evalj import result_files, write_results

    to_file = output is not None
    printed = [outcome.results for outcome in outcomes if outcome.job.results is None]
    parts = [render(results, form, per_topic=per_topic, to_file=to_file) for results in printed]
    files = [result_files(outcome, per_topic=per_topic) for outcome in outcomes]
    for outcome in outcomes:
        warn(outcome.results.meta["warnings"])
    for outcome, own in zip(outcomes, files, strict=True):
        write_results(own)
        if own:
            say(f"{len(own)} files written to {outcome.job.results}")
    if parts:
        content = parts[0] if len(parts) == 1 else _joined([str(part) for part in parts])
        emit(content, output, styled=form_of(form, to_file=to_file) == "table")


def _joined(parts: Sequence[str]) -> str:
    """Blocks one after the other: tidy rows under one header, tables with a line between them."""
    header, _, _ = parts[0].partition("\n")
    if header in _HEADERS:
        return parts[0] + "".join(part.partition("\n")[2] for part in parts[1:])
    return ("" if header.startswith("{") else "\n").join(parts)
