"""``foveal evaluate``: score runs against judgements."""

from __future__ import annotations

import contextlib
import os
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from foveal.campaign.options import OVERLAP_POLICIES, TOPIC_POLICIES
from foveal.cli.cas import cas_options, comma_list
from foveal.cli.output import FORMATS, emit, render, warn
from foveal.errors import UsageError

if TYPE_CHECKING:
    from foveal.campaign.evalj import Outcome
    from foveal.campaign.scoring import RunLike

__all__ = ["command"]

_WORTH_PROCESSES = 512 * 1024 * 1024
"""Bytes of runs from which processes pay for their start."""
_HEADERS = ("run\ttopic\tmeasure\tvalue", "run,topic,measure,value")
"""First lines of tsv and csv."""
_WHOLE = ("json", "parquet")
"""Formats of one table only."""


@contextlib.contextmanager
def _executor(workers: int | None, runs: Sequence[RunLike]) -> Iterator[Executor | None]:
    """A pool of processes where the work is worth it; else the library's own threads."""
    if workers is None:
        files = [Path(run) for run in runs if isinstance(run, (str, Path))]
        size = sum(file.stat().st_size for file in files if file.is_file())
        workers = min(os.cpu_count() or 1, len(runs)) if size >= _WORTH_PROCESSES else 1
    elif workers == 1:  # asked for: one run after the other
        with ThreadPoolExecutor(1) as one:
            yield one
        return
    if workers == 1:
        yield None
        return
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_context

    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        yield pool


@contextlib.contextmanager
def _progress(length: int) -> Iterator[Callable[[], None] | None]:
    """A bar on a terminal, where there is more than one run to wait for."""
    if length < 2 or not sys.stderr.isatty():
        yield None
        return
    with click.progressbar(length=length, label="scoring", file=sys.stderr) as bar:
        yield lambda: bar.update(1)


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


def _topics(_: click.Context, __: click.Parameter, value: str | None) -> tuple[str, ...] | None:
    """``1,2,3`` or ``@file`` with topics separated by white space or commas."""
    if value is None:
        return None
    text = value
    if value.startswith("@"):
        from foveal.formats import Source

        source = Source.open(value[1:])
        source.check_utf8()
        text = source.data.decode()
    topics = tuple(text.replace(",", " ").split())
    if not topics:
        raise click.BadParameter(f"no topic in {value!r}")
    return topics


@click.command(
    "evaluate",
    epilog="Examples: foveal evaluate a.run b.jsonl -j qrels.txt -m iP@0.01 -m AiP; "
    "foveal evaluate runs/*.xml -j assessments/ -t 2005.COS.Thorough --topics-file topics.xml; "
    "foveal evaluate --config inex2006.prop --define aPath=data",
)
@click.argument("runs", nargs=-1, metavar="RUN...")
@click.option(
    "-j",
    "--judgements",
    multiple=True,
    metavar="PATH",
    help="File or directory of judgements; repeatable.",
)
@click.option(
    "-C",
    "--collection",
    metavar="INDEX",
    help="A collection index ('foveal index'), needed where results are XPaths.",
)
@click.option(
    "-m",
    "--measure",
    "measures",
    multiple=True,
    metavar="M",
    help="A measure, such as iP@0.01 or 'gP(beta=0.25)@10'; repeatable.",
)
@click.option(
    "-t",
    "--task",
    "tasks",
    multiple=True,
    metavar="PRESET",
    help="Official settings, such as 2009.Focused.",
)
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
@click.option("-q", "--per-topic", is_flag=True, help="A row per topic before the means.")
@click.option(
    "--topics",
    type=click.Choice(TOPIC_POLICIES),
    default="judged",
    show_default=True,
    help="Average over all judged topics (missing ones score 0), those in the run, or "
    "those in all runs.",
)
@click.option(
    "--only-topics", callback=_topics, metavar="LIST|@FILE", help="Evaluate only these topics."
)
@click.option(
    "--pools",
    callback=comma_list,
    metavar="LIST",
    help="Use only the assessments of these pools, as in 275,297.",
)
@cas_options("--cas and for tasks on topics with a castitle")
@click.option(
    "--exclude-tags",
    callback=comma_list,
    metavar="LIST",
    help="Drop these elements from the judgements, as in collectionlink,outsidelink.",
)
@click.option(
    "--assessors",
    default="union",
    show_default=True,
    metavar="union|majority|intersection|each|NAME",
    help="What counts where several assessors judged a document.",
)
@click.option(
    "--overlap",
    type=click.Choice(OVERLAP_POLICIES),
    help="What to do with overlapping results [default: the measure's own rule].",
)
@click.option("--regroup", is_flag=True, help="Bring interleaved results of a document together.")
@click.option(
    "--snap", is_flag=True, help="Take for a result that is no element the smallest around it."
)
@click.option("--truncate", is_flag=True, help="Cut what exceeds the limits of a restricted task.")
@click.option(
    "--lenient",
    is_flag=True,
    help="Clip results past the end of their document; those that the collection does not hold "
    "keep their rank and hold nothing.",
)
@click.option(
    "--recompute",
    is_flag=True,
    help="Take the sizes of assessed elements from the collection, not from the judgements.",
)
@click.option(
    "--max-results",
    type=click.IntRange(min=1),
    metavar="N",
    help="Cut each topic of a run at N results [default: no cut; tasks up to 2006 and --config: "
    "1500].",
)
@click.option(
    "-f",
    "--format",
    "form",
    type=click.Choice(FORMATS),
    help="Output format [default: table on a terminal, else tsv]; json holds every "
    "topic and can be read back.",
)
@click.option("-o", "--output", metavar="FILE", help="Write here instead of standard output.")
@click.option(
    "-w",
    "--workers",
    type=click.IntRange(min=1),
    metavar="N",
    help="Processes [default: one per core when the work is worth it].",
)
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
    from foveal.campaign import evaluate
    from foveal.formats import STDIN, read_run

    _check_given(context, config)
    if len(tasks) > 1:
        raise UsageError("one task at a time; more measures go with -m")
    if [*runs, *judgements, config].count(STDIN) > 1:
        raise UsageError("standard input can be read only once")
    taken: list[RunLike] = [read_run(run) if run == STDIN else run for run in runs]
    # What is not given keeps the default of the library.
    options = {name: value for name, value in options.items() if value not in (None, False, ())}
    if config is not None:
        outcomes = _configured(
            config, define, taken, judgements, form, output, workers, collection, options
        )
        _deliver(outcomes, form, output, per_topic=per_topic)
        return
    with _executor(workers, taken) as executor, _progress(len(taken)) as progress:
        results = evaluate(
            taken,
            list(judgements),
            list(measures),
            task=tasks[0] if tasks else None,
            collection=collection,
            executor=executor,
            progress=progress,
            **options,
        )
    warn(results.meta["warnings"])
    emit(render(results, form, per_topic=per_topic, to_file=output is not None), output)


def _check_given(context: click.Context, config: str | None) -> None:
    """Runs and judgements come from the command line, or the configuration may name them."""
    given = context.params
    if config is not None:
        if given["measures"] or given["tasks"]:
            raise UsageError("--config names the measures; leave out -m and -t")
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
    from foveal.campaign.evalj import plan, read_configuration, score

    jobs = plan(read_configuration(config), runs=runs, judgements=judgements, define=define)
    printed = [job for job in jobs if job.results is None]
    if not printed and (form or output):
        raise UsageError("all results go to RESULTS_DIR as tsv; leave out -f and -o")
    if len(printed) > 1 and form in _WHOLE:
        raise UsageError(f"{len(printed)} blocks do not fit into one {form}; tsv can hold them")
    every = [run for job in jobs for run in job.runs]
    with _executor(workers, every) as executor, _progress(len(every)) as progress:
        return score(jobs, collection=collection, executor=executor, progress=progress, **options)


def _deliver(
    outcomes: Sequence[Outcome], form: str | None, output: str | None, *, per_topic: bool
) -> None:
    """Results of blocks that name a folder go there, those of the others to the output."""
    from foveal.campaign.evalj import result_files, write_results

    to_file = output is not None
    printed = [outcome.results for outcome in outcomes if outcome.job.results is None]
    parts = [render(results, form, per_topic=per_topic, to_file=to_file) for results in printed]
    files = [result_files(outcome, per_topic=per_topic) for outcome in outcomes]
    for outcome in outcomes:
        warn(outcome.results.meta["warnings"])
    for outcome, own in zip(outcomes, files, strict=True):
        write_results(own)
        if own:
            click.echo(f"{len(own)} files written to {outcome.job.results}", err=True)
    if parts:
        emit(parts[0] if len(parts) == 1 else _joined([str(part) for part in parts]), output)


def _joined(parts: Sequence[str]) -> str:
    """Blocks one after the other: tidy rows under one header, tables with a line between them."""
    header, _, _ = parts[0].partition("\n")
    if header in _HEADERS:
        return parts[0] + "".join(part.partition("\n")[2] for part in parts[1:])
    return ("" if header.startswith("{") else "\n").join(parts)
