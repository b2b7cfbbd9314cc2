"""``foveal evaluate``: score runs against judgements."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import click

from foveal.cli.options import (
    CHECKS,
    WORKERS,
    Command,
    format_option,
    groups_option,
    option,
    output_option,
    per_topic_option,
    scoring_options,
    summary_option,
)
from foveal.cli.shared import (
    check_summary,
    choose_format,
    choose_task,
    conclude,
    emit,
    given_options,
    open_inputs,
    refuse_missing,
    render_result,
    score_runs,
    start_workers,
    warn,
)
from foveal.errors import UsageError, some

if TYPE_CHECKING:
    from foveal.bridges.gates import Check
    from foveal.model import Results

_EVALJ = "Configuration of EvalJ"


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


@click.command(
    "evaluate",
    cls=Command,
    daily="judgements measures tasks collection overlap topics only_topics groups per_topic "
    "fail_under form output workers",
    examples=(
        "foveal evaluate a.run b.jsonl -j qrels.txt -m iP@0.01 -m AiP",
        "foveal evaluate runs/*.xml -j assessments/ -t 2005.COS.Thorough --topics-file topics.xml",
        "foveal evaluate --config inex2006.prop --define aPath=data",
        "foveal evaluate my.run -j qrels.txt --fail-under AiP=0.30 --summary github",
    ),
)
@click.argument("runs", nargs=-1, metavar="RUN...")
@scoring_options()
@groups_option
@option(
    "--config=FILE",
    "Configuration of EvalJ, properties or <metrics> XML, instead of -m and -t; RUN... and "
    "-j replace the paths it names.",
    _EVALJ,
)
@option(
    "--define=NAME=PATH",
    "Path that replaces $NAME in the paths of --config; repeatable.",
    _EVALJ,
    multiple=True,
    type=_parse_definition,
)
@option(
    "--fail-under=M=X",
    "Exit with code 1 if the mean of a run is worse than X; repeatable. Scores M even if -m "
    "does not name it.",
    CHECKS,
    multiple=True,
)
@option(
    "--memory=SIZE",
    "Memory for reading a run, such as 500M or 4G; larger files are read in slices of whole "
    "topics, with the same result [default: a share of the free memory].",
    WORKERS,
    type=_parse_memory,
)
@summary_option
@per_topic_option
@format_option(more="; json holds every topic and can be read back")
@output_option
@click.pass_context
def command(
    context: click.Context,
    /,
    runs: tuple[str, ...],
    judgements: tuple[str, ...],
    measures: tuple[str, ...],
    tasks: tuple[str, ...],
    config: str | None,
    define: tuple[tuple[str, str], ...],
    fail_under: tuple[str, ...],
    summary: str | None,
    form: str | None,
    output: str | None,
    *,
    per_topic: bool,
    **options: Any,
) -> None:
    """Score runs against judgements, topic by topic and over all topics.

    Runs and judgements may be in any format Foveal reads, compressed or not; - is standard
    input. 'foveal measures' lists the measures, 'foveal measures --presets' the official tasks.
    """
    if config is not None:
        if measures or tasks:
            raise UsageError("--config names the measures; leave out --measure and --task")
        if fail_under or summary:
            raise UsageError("--config scores block by block; leave out --fail-under and --summary")
        _evaluate_configuration(
            config, define, runs, judgements, form, output, options, per_topic=per_topic
        )
        return
    if not runs or not judgements:
        refuse_missing(context, "runs", "judgements")
    if define:
        raise UsageError("--define fills in the paths of a --config, and there is none")
    bounds: dict[str, float] = {}
    checks: tuple[Check, ...] = ()
    if fail_under:
        from foveal.bridges.gates import bounds_of

        bounds = bounds_of(fail_under)
    target = None if summary is None else check_summary(summary)
    form, task = choose_format(form, output), choose_task(tasks)
    opened, truth = open_inputs(runs, judgements)
    results = score_runs(
        opened,
        truth,
        (*measures, *(name.partition("[")[0] for name in bounds)),
        task,
        hashed=form == "json",  # no other format holds the hashes of the inputs
        **given_options(options),
    )
    if results.meta["warnings"]:
        warn(results.meta["warnings"])
    if bounds:
        from foveal.bridges.gates import at_least

        checks = at_least(results, bounds)
    if form == "table":
        texts = list(measures)
        if task is not None:
            from foveal.evaluation import find_preset

            texts += find_preset(task).texts
        content = _render_table(results, output, texts, per_topic=per_topic)
    else:
        content = render_result(results, form, output, per_topic=per_topic)
    emit(content, output, styled=form == "table")

    def summarise() -> str:
        from foveal.analysis.score_tables import tabulate_scores
        from foveal.bridges.gates import summary

        table = tabulate_scores(results, titled=True)
        return summary("Scores", checks, [table], results.meta["warnings"])

    if checks or target is not None:
        conclude(checks, target, summarise)


def _render_table(
    results: Results, output: str | None, texts: Iterable[str], *, per_topic: bool
) -> str:
    """Return scores as a table that calls measures as `texts` do, and leaves curves out."""
    from foveal.measures import parse_measures

    labels: dict[str, str] = {}
    single, curves = set[str](), dict[str, set[str]]()
    for text in texts:
        parsed = parse_measures(text)
        points = {measure.label for measure in parsed}
        if text.endswith("@curve"):
            curves[text] = points
            continue
        single |= points
        name = re.split("[(@]", text.strip(), maxsplit=1)[0]
        for measure in parsed:
            labels.setdefault(measure.label, name + measure.label.removeprefix(measure.name))
    left_out = set[str]().union(*curves.values()) - single
    for group in results.meta.get("groups", ()):
        labels |= {f"{label}[{group}]": f"{name}[{group}]" for label, name in labels.items()}
        left_out |= {f"{label}[{group}]" for label in left_out}
    note = ""
    if left_out:
        note = f"Not in the table: {some(list(curves), 3)}, {len(left_out)} points; see -f tsv.\n"
        results = results.only([label for label in results.measures if label not in left_out])
    if not results.measures:
        return note
    table = str(render_result(results, "table", output, per_topic=per_topic, labels=labels))
    return f"{table}\n{note}" if note else table


def _evaluate_configuration(
    config: str,
    define: tuple[tuple[str, str], ...],
    runs: tuple[str, ...],
    judgements: tuple[str, ...],
    form: str | None,
    output: str | None,
    options: dict[str, Any],
    *,
    per_topic: bool,
) -> None:
    """Score the blocks of a configuration of EvalJ (--config)."""
    from foveal.cli.texts import open_runs
    from foveal.evaluation import evalj

    paths = dict(define)
    if len(paths) < len(define):
        twice = next(name for i, (name, _) in enumerate(define) if name in dict(define[:i]))
        raise click.BadParameter(f"{twice} is defined twice", param_hint="'--define'")
    opened = open_runs(runs, *judgements, config)
    jobs = evalj.plan(
        evalj.read_configuration(config), runs=opened, judgements=judgements, define=paths
    )
    if len(jobs) > 1 and form in ("json", "parquet"):
        raise UsageError(f"{len(jobs)} blocks do not fit into one {form}; tsv can hold them")
    every = [run for job in jobs for run in job.runs]
    given = given_options(options)
    with start_workers(given.pop("workers", None), every) as (executor, advance):
        found = evalj.score(jobs, executor=executor, progress=advance, **given)
    form = choose_format(form, output)
    parts = []
    warn(text for results in found for text in results.meta["warnings"])
    for job, results in zip(jobs, found, strict=True):
        if form == "table":
            parts.append(_render_table(results, output, job.block.texts, per_topic=per_topic))
        else:
            parts.append(render_result(results, form, output, per_topic=per_topic))
    content = parts[0] if len(parts) == 1 else _join_blocks([str(part) for part in parts])
    emit(content, output, styled=form == "table")


def _join_blocks(parts: Sequence[str]) -> str:
    """Join blocks: tidy rows under one header, tables with an empty line between them."""
    header, _, _ = parts[0].partition("\n")
    if header in ("run\ttopic\tmeasure\tvalue", "run,topic,measure,value"):
        return parts[0] + "".join(part.partition("\n")[2] for part in parts[1:])
    return ("" if header.startswith("{") else "\n").join(parts)
