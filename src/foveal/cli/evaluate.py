"""``foveal evaluate``: score runs against judgements."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from pathlib import Path

import click

from foveal.campaign.options import OVERLAP_POLICIES, TOPIC_POLICIES
from foveal.cli.output import FORMATS, emit, render, warn
from foveal.errors import UsageError

__all__ = ["command"]

_WORTH_PROCESSES = 512 * 1024 * 1024
"""Bytes of runs from which processes pay for their start."""


@contextlib.contextmanager
def _executor(workers: int | None, runs: tuple[str, ...]) -> Iterator[Executor | None]:
    """A pool of processes where the work is worth it; else the library's own threads."""
    if workers is None:
        size = sum(Path(run).stat().st_size for run in runs if Path(run).is_file())
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
    "evaluate", epilog="Example: foveal evaluate a.run b.jsonl -j qrels.txt -m iP@0.01 -m AiP"
)
@click.argument("runs", nargs=-1, required=True, metavar="RUN...")
@click.option(
    "-j",
    "--judgements",
    multiple=True,
    required=True,
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
@click.option("--truncate", is_flag=True, help="Cut what exceeds the limits of a restricted task.")
@click.option("--lenient", is_flag=True, help="Clip results past the end of their document.")
@click.option(
    "--max-results",
    type=click.IntRange(min=1),
    metavar="N",
    help="Cut each topic of a run at N results.",
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
def command(
    runs: tuple[str, ...],
    judgements: tuple[str, ...],
    measures: tuple[str, ...],
    collection: str | None,
    tasks: tuple[str, ...],
    form: str | None,
    output: str | None,
    workers: int | None,
    *,
    per_topic: bool,
    **options: object,
) -> None:
    """Score runs against judgements, topic by topic and over all topics.

    Runs and judgements may be in any format Foveal reads, compressed or not; - is standard
    input. 'foveal measures' lists the measures, 'foveal measures --presets' the official tasks.
    """
    from foveal.campaign import evaluate
    from foveal.formats import STDIN, read_run

    if len(tasks) > 1:
        raise UsageError("one task at a time; more measures go with -m")
    if [*runs, *judgements].count(STDIN) > 1:
        raise UsageError("standard input can be read only once")
    bar = contextlib.nullcontext(None)
    show = len(runs) > 1 and sys.stderr.isatty()
    with (
        _executor(workers, runs) as executor,
        click.progressbar(length=len(runs), label="scoring", file=sys.stderr) if show else bar as p,
    ):
        results = evaluate(
            [read_run(run) if run == STDIN else run for run in runs],
            list(judgements),
            list(measures),
            task=tasks[0] if tasks else None,
            collection=collection,
            executor=executor,
            progress=None if p is None else lambda: p.update(1),
            **options,
        )
    warn(results.meta["warnings"])
    emit(render(results, form, per_topic=per_topic, to_file=output is not None), output)
