"""``foveal evaluate``: score runs against judgements."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from foveal.cli import options as opt
from foveal.cli import shared
from foveal.errors import UsageError, shorten_list

if TYPE_CHECKING:
    from foveal.bridges.gates import Check
    from foveal.model import Results


@click.command(
    "evaluate",
    cls=opt.Command,
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
@opt.scoring_options()
@opt.options(
    """
    Workers:
    --memory=SIZE  Memory for reading a run, such as 500M; larger files are read in groups of
        topics, with the same result [default: a share of the free memory].

    Checks in a build:
    --fail-under=M=X...  Exit with code 1 if the mean of a run is worse than X; repeatable. Scores
        M even if -m does not name it.

    Configuration of EvalJ:
    --config=FILE  Configuration of EvalJ, properties or <metrics> XML, instead of -m and -t;
        RUN... and -j replace the paths it names.
    --define=NAME=PATH...  Path that replaces $NAME in the paths of --config; repeatable.
    """
)
@opt.shared_options("bounds groups summary per_topic output")
@opt.format_option(more="; json holds every topic and can be read back")
@click.pass_context
def command(
    context: click.Context,
    /,
    runs: tuple[str, ...],
    judgements: tuple[str, ...],
    measures: tuple[str, ...],
    fail_under: tuple[str, ...],
    **options: Any,
) -> None:
    """Score runs against judgements, topic by topic and over all topics.

    Runs and judgements may be in any format Foveal reads, compressed or not; - is standard
    input. 'foveal measures' lists the measures, 'foveal measures --presets' the presets. Without
    -m and -t the preset is rag.
    """
    config, define, tasks, summary, form, output, per_topic = map(
        options.pop, ("config", "define", "tasks", "summary", "form", "output", "per_topic")
    )
    shown = {"output": output, "per_topic": per_topic}
    if config is not None:
        if measures or tasks or fail_under or summary:
            unused = "--measure, --task, --fail-under and --summary"
            raise UsageError(f"--config names the measures; leave out {unused}")
        if options["bounds"]:
            raise UsageError("--bounds is for the measures of -m and -t, not of --config")
        _evaluate_configuration(config, define, runs, judgements, form, shown, options)
        return
    if not runs or not judgements:
        shared.refuse_missing(context, "runs", "judgements")
    if define:
        raise UsageError("--define needs --config")
    bounds: dict[str, float] = {}
    checks: tuple[Check, ...] = ()
    if fail_under:
        from foveal.bridges.gates import parse_bounds

        bounds = parse_bounds(fail_under)
    target = None if summary is None else shared.check_summary(summary)
    form, task = shared.choose_format(form, output), shared.choose_task(tasks)
    opened, truth = shared.open_inputs(runs, judgements)
    results = shared.score_runs(
        opened,
        truth,
        (*measures, *(name.partition("[")[0] for name in bounds)),
        task,
        hashed=form == "json",  # no other format holds the hashes of the inputs
        **shared.given_options(options),
    )
    shared.warn(results.meta["warnings"])
    if bounds:
        from foveal.bridges.gates import check_bounds

        checks = check_bounds(results, bounds)
    texts = list(measures)
    if task is not None and form == "table":
        from foveal.evaluation import find_preset

        texts += find_preset(task).texts
    content = _render(results, form, texts, shown)
    shared.emit(content, output, styled=form == "table")

    def summarise() -> str:
        from foveal.analysis.score_tables import tabulate_scores
        from foveal.bridges.gates import summary

        table = tabulate_scores(results, titled=True)
        return summary("Scores", checks, [table], results.meta["warnings"])

    if checks or target is not None:
        shared.conclude(checks, target, summarise)


def _render(results: Results, form: str, texts: Sequence[str], shown: dict[str, Any]) -> Any:
    """Return scores in a format; a table names measures as `texts` do, and leaves curves out."""
    if form != "table":
        return shared.render_result(results, form, **shown)
    from foveal.measures import parse_measures

    curves = [text for text in texts if text.endswith("@curve")]
    hidden = {measure.label for text in curves for measure in parse_measures(text)}
    names: dict[str, str] = {}
    for text in texts:
        asked = re.split("[(@]", text.strip(), maxsplit=1)[0]
        for measure in () if text in curves else parse_measures(text):
            hidden.discard(measure.label)
            names.setdefault(measure.label, asked + measure.label.removeprefix(measure.name))
    labels: dict[str, str] = {}
    for label in results.measures:
        own, bracket, group = label.partition("[")
        if own not in hidden:
            labels[label] = names.get(own, own) + bracket + group
    parts = []
    if labels:
        shown = shown | {"labels": labels}
        parts.append(shared.render_result(results.only([*labels]), form, **shown))
    if count := len(results.measures) - len(labels):
        parts.append(f"Not in the table: {shorten_list(curves, 3)}, {count} points; see -f tsv.\n")
    return "\n".join(parts)


def _evaluate_configuration(
    config: str,
    define: tuple[str, ...],
    runs: tuple[str, ...],
    judgements: tuple[str, ...],
    form: str | None,
    shown: dict[str, Any],
    options: dict[str, Any],
) -> None:
    """Score the blocks of a configuration of EvalJ (--config)."""
    from foveal.cli.texts import open_runs
    from foveal.evaluation import evalj

    paths = {}
    for text in define:
        name, _, paths[name] = text.partition("=")
        if not (name.isidentifier() and paths[name]):
            raise UsageError(f"--define {text!r} is not a definition; expected NAME=PATH")
    form = shared.choose_format(form, shown["output"])
    opened = open_runs(runs, *judgements, config)
    blocks = evalj.read_configuration(config)
    jobs = evalj.plan(blocks, runs=opened, judgements=judgements, define=paths)
    if len(jobs) > 1 and form in ("json", "parquet"):
        raise UsageError(f"{len(jobs)} blocks do not fit into one {form}; tsv can hold them")
    every = [run for job in jobs for run in job.runs]
    given = shared.given_options(options)
    with shared.start_workers(given.pop("workers", None), every) as (executor, advance):
        found = evalj.score(jobs, executor=executor, progress=advance, **given)
    shared.warn(text for results in found for text in results.meta["warnings"])
    parts: list[Any] = [
        _render(results, form, job.block.texts, shown)
        for job, results in zip(jobs, found, strict=True)
    ]
    if form in ("tsv", "csv"):  # one header for all blocks
        parts[1:] = [part.partition("\n")[2] for part in parts[1:]]
    between = "" if form in ("tsv", "csv", "jsonl") else "\n"
    content = parts[0] if len(parts) == 1 else between.join(parts)
    shared.emit(content, shown["output"], styled=form == "table")
