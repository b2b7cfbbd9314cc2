"""``foveal pool``: choose the documents, spans or elements of runs to assess."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import click

from foveal.cli.options import (
    FORMATS,
    Command,
    max_bytes_option,
    parse_positive,
    parse_topics,
)
from foveal.cli.shared import choose_format, say, warn
from foveal.cli.texts import open_runs
from foveal.errors import UsageError

_STRATEGIES = ("depth", "round-robin", "move-to-front", "hedge")
_UNITS = ("document", "span", "element")
_STDOUT = "-"


def _budget(
    _: click.Context, __: click.Parameter, values: tuple[str, ...]
) -> int | dict[str, int] | None:
    """Read ``N`` for every topic, and any number of ``TOPIC=N``, which take precedence."""
    own: dict[str, int] = {}
    for value in values:
        topic, equals, number = value.rpartition("=")
        size = parse_positive(number)
        if size is None or (equals and not topic):
            raise click.BadParameter(f"{value!r} is no budget; expected N or TOPIC=N")
        if topic in own:  # of all topics it is the empty name
            which = f"topic {topic}" if topic else "all topics"
            raise click.BadParameter(f"two budgets for {which}: {own[topic]} and {number}")
        own[topic] = size
    return own.get("") if set(own) == {""} else own or None


@click.command(
    "pool",
    cls=Command,
    daily="output strategy unit depth budget judgements collection only_topics stats per_topic",
    examples=(
        "foveal pool runs/*.run -o pool.jsonl --depth 50",
        "foveal pool runs/*.run -o next.jsonl --strategy hedge --budget 100 -j judged.jsonl",
    ),
)
@click.argument("runs", nargs=-1, required=True, metavar="RUN...")
@click.option(
    "-o", "--output", metavar="FILE", help="Write the pool here instead of standard output."
)
@click.option(
    "--strategy",
    type=click.Choice(_STRATEGIES),
    default="depth",
    show_default=True,
    help="Everything to a depth; turns of all runs; runs whose results prove relevant first; what "
    "runs agree on that did well so far.",
)
@click.option(
    "--unit",
    type=click.Choice(_UNITS),
    default="document",
    show_default=True,
    help="Unit to pool; equal spans and elements of two runs are one.",
)
@click.option(
    "--depth",
    type=click.IntRange(min=1),
    metavar="K",
    help="Look at the first K units of each run [default: 100; of a topic with a budget all, "
    "except for the strategy depth].",
)
@click.option(
    "--budget",
    multiple=True,
    callback=_budget,
    metavar="N|TOPIC=N",
    help="Units for each topic at most, or for one topic, as in --budget 50 --budget 7=100; "
    "repeatable.",
)
@click.option(
    "-j",
    "--judgements",
    multiple=True,
    metavar="PATH",
    help="Existing judgements: left out, and used by move-to-front and hedge; repeatable.",
)
@click.option(
    "--assessors",
    metavar="union|majority|intersection|NAME",
    help="What counts where several assessors judged a document [default: union].",
)
@click.option(
    "--include-judged",
    is_flag=True,
    help="Pool judged units, too, as if they were judged only now.",
)
@click.option(
    "--beta",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    help="How fast hedge learns: a loss of 1 multiplies the weight of a run by this "
    "[default: 0.1].",
)
@click.option("--only-topics", type=parse_topics, metavar="LIST|@FILE", help="Pool only these.")
@click.option(
    "-C",
    "--collection",
    metavar="INDEX",
    help="A collection index, which resolves XPaths to spans and spans to elements.",
)
@click.option(
    "--snap",
    is_flag=True,
    help="Replace a result that is not an element with the smallest enclosing element.",
)
@click.option(
    "--no-support", is_flag=True, help="Leave out the results of the runs in each document."
)
@click.option(
    "--stats",
    metavar="FILE|-",
    help="Write sizes, contributions of runs, their overlap and the growth with depth.",
)
@click.option(
    "-f",
    "--format",
    "form",
    type=click.Choice(FORMATS),
    help="Format of --stats [default: table on a terminal, else tsv].",
)
@max_bytes_option
@click.option("-q", "--per-topic", is_flag=True, help="Tables of --stats with a row per topic.")
def command(
    runs: tuple[str, ...],
    output: str | None,
    strategy: str,
    unit: str,
    depth: int | None,
    budget: int | dict[str, int] | None,
    judgements: tuple[str, ...],
    assessors: str | None,
    beta: float | None,
    only_topics: tuple[str, ...] | None,
    collection: str | None,
    stats: str | None,
    form: str | None,
    *,
    include_judged: bool,
    snap: bool,
    no_support: bool,
    per_topic: bool,
) -> None:
    """Choose from runs what is to be assessed, topic by topic, in the order of assessing.

    Ranks count units: the tenth document of a run is the tenth that it names, however many results
    it has of each. The pool is JSON Lines, one line for each document, span or element.
    """
    if stats == _STDOUT and output in (None, _STDOUT):
        raise UsageError("pool and statistics cannot both go to standard output; give -o FILE")
    if stats is None and (form or per_topic):
        raise UsageError("-f and -q are about the statistics; give --stats FILE or --stats -")
    if include_judged and not judgements:
        raise UsageError("--include-judged is about judgements, and there are none (--judgements)")
    if snap and (collection is None or unit != "element"):
        raise UsageError("--snap is for --unit element with a collection (--collection)")
    if beta is not None and strategy != "hedge":
        raise UsageError(f"--beta is how fast hedge learns; {strategy} has no use for it")
    if no_support and unit != "document":
        raise UsageError("--no-support is about pools of documents (--unit document)")
    _check_places(output, stats, [*runs, *judgements, *([collection] if collection else [])])
    from foveal.analysis.pooling import pool
    from foveal.files.atomic import write_files
    from foveal.formats.pool_files import pool_lines
    from foveal.report.write import render

    taken = open_runs(runs, *judgements)
    with _progress() as advance:
        found = pool(
            taken,
            strategy=strategy,
            unit=unit,
            depth=depth,
            budget=budget,
            judgements=judgements or None,
            assessors=assessors,
            include_judged=include_judged,
            **({} if beta is None else {"beta": beta}),
            topics=only_topics,
            collection=collection,
            snap=snap,
            support=not no_support,
            progress=advance,
        )
    warn(found.warnings)
    content: dict[str | Path, str | bytes] = {output or _STDOUT: pool_lines(found.pool)}
    if stats is not None:
        form = choose_format(form, None if stats == _STDOUT else stats)
        content[stats] = render(found.statistics, form, per_topic=per_topic)
    write_files(content)
    say(found.statistics.summary())


def _check_places(output: str | None, stats: str | None, inputs: Sequence[str]) -> None:
    """Refuse to write two things to one place, or over an input."""
    from foveal.files.atomic import same_file

    places = [place for place in (output, stats) if place not in (None, _STDOUT)]
    if len(places) == 2 and same_file(*places):
        raise UsageError(f"pool and statistics cannot both go to {output}")
    for place in places:
        for source in inputs:
            if source != _STDOUT and (same_file(place, source) or _holds(source, place)):
                raise UsageError(f"{place} would be written over, and it is read ({source})")


def _holds(folder: str, file: str) -> bool:
    """Return True if a file exists inside a folder of inputs."""
    return Path(file).exists() and Path(os.path.realpath(file)).is_relative_to(
        os.path.realpath(folder)
    )


@contextlib.contextmanager
def _progress() -> Iterator[Callable[[int, int], None] | None]:
    """Show a progress bar on a terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    with click.progressbar(length=1, label="pooling", file=sys.stderr) as bar:

        def advance(done: int, of: int) -> None:
            bar.length = of
            bar.update(done - bar.pos)

        yield advance
