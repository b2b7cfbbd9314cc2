"""How runs are scored: the options that every command which scores has, and the scoring itself."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from foveal.cli import executors
from foveal.cli.cas import cas_options, comma_list
from foveal.cli.executors import worker_options
from foveal.cli.options import Command, collection_option, judgements_option, together
from foveal.cli.output import bar
from foveal.cli.texts import locate_results, source_of_texts, texts_were_used
from foveal.errors import InputError, UsageError
from foveal.evaluation.options import (
    OVERLAP_POLICIES,
    TOPIC_POLICIES,
    UNDEFINED_POLICIES,
    Options,
)
from foveal.executors.memory import keep_freed_memory

if TYPE_CHECKING:
    from foveal.evaluation.scoring import RunLike
    from foveal.model import Judgements, Results

__all__ = [
    "check_saved",
    "executor",
    "files_of",
    "one_task",
    "read_saved",
    "refuse_unused",
    "runs_of",
    "score",
    "scoring_options",
    "stated",
    "topic_list",
]


_WORTH_PROCESSES = 256 << 20
"""Bytes of runs from which processes pay for their start.

On two cores 100 runs of passages, 889 MB, take threads 4.9 s and two processes 3.7, a third of
them 1.9 and 1.9 s, and 8 of them 1.1 and 1.3.
"""
_STDIN = "-"
_SCORING = "foveal.evaluation.scoring"
"""The module that processes import while they wait for work."""


def topic_list(_: click.Context, __: click.Parameter, value: str | None) -> tuple[str, ...] | None:
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


_MEASURES = (
    click.option(
        "-m",
        "--measure",
        "measures",
        multiple=True,
        metavar="M",
        help="A measure, such as iP@0.01 or 'gP(beta=0.25)@10'; repeatable.",
    ),
    click.option(
        "-t",
        "--task",
        "tasks",
        multiple=True,
        metavar="PRESET",
        help="Official settings, such as 2009.Focused.",
    ),
)


def _at_most_one(_: click.Context, __: click.Parameter, values: tuple[str, ...]) -> str | None:
    if len(values) > 1:
        raise click.BadParameter("one measure at a time has a curve; give one")
    return values[0] if values else None


_ONE_MEASURE = (
    click.option(
        "-m",
        "--measure",
        multiple=True,
        callback=_at_most_one,
        metavar="M",
        help="The measure [default: charR].",
    ),
)
_WHICH = (
    click.option(
        "--topics",
        type=click.Choice(TOPIC_POLICIES),
        default="judged",
        show_default=True,
        help="Average over all judged topics (missing ones score 0), those in the run, or "
        "those in all runs.",
    ),
    click.option(
        "--undefined",
        type=click.Choice(UNDEFINED_POLICIES),
        default="skip",
        show_default=True,
        help="Topics on which a measure is undefined, as recall is where nothing is relevant: "
        "leave them out of the mean, or count them as 0 as trec_eval does.",
    ),
    click.option(
        "--only-topics",
        callback=topic_list,
        metavar="LIST|@FILE",
        help="Evaluate only these topics.",
    ),
    click.option(
        "--pools",
        callback=comma_list,
        metavar="LIST",
        help="Use only the assessments of these pools, as in 275,297.",
    ),
)
"""Which topics."""
_HOW = (
    click.option(
        "--texts",
        metavar="PATH",
        help="The documents' texts, for results and judgements given by text or in other units: a "
        'directory, an archive, or JSON Lines of "doc" and "text"; or give -C with --documents.',
    ),
    click.option(
        "--exclude-tags",
        callback=comma_list,
        metavar="LIST",
        help="Drop these elements from the judgements, as in collectionlink,outsidelink.",
    ),
    click.option(
        "--assessors",
        default="union",
        show_default=True,
        metavar="union|majority|intersection|each|NAME",
        help="What counts where several assessors judged a document.",
    ),
    click.option(
        "--overlap",
        type=click.Choice(OVERLAP_POLICIES),
        help="What to do with overlapping results [default: the measure's own rule].",
    ),
    click.option(
        "--regroup", is_flag=True, help="Bring interleaved results of a document together."
    ),
    click.option(
        "--snap",
        is_flag=True,
        help="Take for a result that is no element the smallest around it.",
    ),
    click.option(
        "--truncate", is_flag=True, help="Cut what exceeds the limits of a restricted task."
    ),
    click.option(
        "--lenient",
        is_flag=True,
        help="Clip results past the end of their document; those that the collection does not hold "
        "keep their rank and hold nothing.",
    ),
    click.option(
        "--recompute",
        is_flag=True,
        help="Take the sizes of assessed elements from the collection, not from the judgements.",
    ),
    click.option(
        "--max-results",
        type=click.IntRange(min=1),
        metavar="N",
        help="Cut each topic of a run at N results [default: no cut; tasks up to 2006 and "
        "--config: 1500].",
    ),
)
"""How measures are applied."""


def scoring_options(
    *,
    collection: str = "where results are XPaths",
    topics: str = "--cas and for tasks on topics with a castitle",
    documents: str = "numbers in the queries of --cas VS and SS",
    one_measure: bool = False,
) -> Callable[[Command], Command]:
    """Judgements, measures, tasks and everything that decides how a run is scored.

    The words say what index, topic statements and documents are for, in commands with more uses.
    Where there is but one measure, there is no task either, and the work is done in this process.
    """
    return together(
        (
            judgements_option(),
            collection_option(collection),
            *(_ONE_MEASURE if one_measure else _MEASURES),
            *_WHICH,
            cas_options(topics, documents),
            *_HOW,
            *(() if one_measure else (worker_options,)),
        )
    )


_USUAL = {field.name: field.default for field in fields(Options)}
_OF_READING: tuple[str, ...] = ("texts",)
"""Options that have done their work when runs are read (`runs_of`)."""
_OF_PLACE: tuple[str, ...] = ("dask",)
"""Options of where the work is done (`executor`)."""


def stated(options: dict[str, Any]) -> dict[str, Any]:
    """Without what is not given, or given as it is anyway, or for the reading of runs only."""
    done = (*_OF_READING, *_OF_PLACE)
    if texts_were_used() and not options.get("cas"):
        done += ("documents", "name_from")
    return {
        name: value
        for name, value in options.items()
        if value not in (None, False, ()) and value != _USUAL.get(name) and name not in done
    }


def one_task(tasks: Sequence[str]) -> str | None:
    """The task, of commands that take one."""
    if len(tasks) > 1:
        raise UsageError("one task at a time; more measures go with -m")
    return tasks[0] if tasks else None


def files_of(paths: Sequence[str]) -> list[str]:
    """Files as they are, and of directories all files but hidden ones."""
    found: list[str] = []
    for path in paths:
        place = Path(path)
        if not place.is_dir():
            found.append(path)
            continue
        inside = sorted(p for p in place.rglob("*") if p.is_file() and p.name[0] != ".")
        if not inside:
            raise InputError.at(path, None, "the directory holds no file")
        found += map(str, inside)
    return found


def runs_of(paths: Sequence[str], *others: str | None) -> list[RunLike]:
    """The runs to read; standard input is read here, and can be read only once.

    Where the texts of documents are given, results that are given by their text are placed, and
    offsets in bytes or UTF-16 units converted.
    """
    if [*paths, *others].count(_STDIN) > 1:
        raise UsageError("standard input can be read only once")
    texts = source_of_texts(others)
    if texts is None and _STDIN not in paths:
        return list(paths)
    from foveal.formats import Source, read_run

    if texts is None:
        return [read_run(path) if path == _STDIN else path for path in paths]
    return [*locate_results([Source.open(path) for path in paths], texts)]


@contextlib.contextmanager
def executor(workers: int | None, runs: Sequence[RunLike]) -> Iterator[Executor | None]:
    """Processes where the work is worth it, or a cluster; else the library's own threads."""
    worth = _bytes_of(runs) >= _WORTH_PROCESSES
    with executors.executor(
        workers, worth=worth, ahead=_SCORING, most=len(runs), here=True
    ) as pool:
        keep_freed_memory()
        if pool is None and workers == 1:  # asked for: one run after the other
            with ThreadPoolExecutor(1) as one:
                yield one
        else:
            yield pool


def _bytes_of(runs: Sequence[RunLike]) -> int:
    """Bytes of the runs that are files."""
    files = [Path(run) for run in runs if isinstance(run, (str, Path)) and Path(run).is_file()]
    return sum(file.stat().st_size for file in files)


def score(
    runs: Sequence[RunLike],
    judgements: Judgements | Sequence[str],
    measures: Sequence[str],
    task: str | None,
    *,
    collection: str | None = None,
    workers: int | None = None,
    **options: Any,
) -> Results:
    """Score runs with a bar to watch; `options` are those that were `stated`."""
    with executor(workers, runs) as pool, bar(len(runs), "scoring") as advance:
        from foveal.evaluation import evaluate  # while other processes do the same

        return evaluate(
            runs,
            judgements,
            list(measures),
            task=task,
            collection=collection,
            executor=pool,
            progress=advance,
            **options,
        )


def check_saved(task: object, options: dict[str, Any]) -> None:
    """Refuse options of scoring where nothing is scored."""
    if task or stated(options) or any(options.get(name) for name in (*_OF_READING, *_OF_PLACE)):
        raise UsageError(
            "without judgements (-j) the files are saved results, which are not scored again; "
            "leave out the options of scoring"
        )


def read_saved(paths: Sequence[str]) -> list[Results]:
    """Results saved before; who meant runs is told what they need."""
    from foveal.formats import read_results

    found = []
    for path in paths:
        try:
            found.append(read_results(path))
        except InputError as error:
            if not Path(path).is_file():  # nothing that a run could be
                raise
            first = error.problems[0]
            hint = f"{first.message}; runs are scored against judgements, given with -j"
            raise InputError.at(first.file, first.line, hint) from None
    return found


def refuse_unused(context: click.Context, needed: Mapping[str, str]) -> None:
    """Refuse options that were given and change nothing: name to what it would be for."""
    spelled = {param.name: param.opts[0] for param in context.command.params}
    for name, purpose in needed.items():
        if context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            raise UsageError(f"{spelled[name]} is for {purpose}, which is not asked for")
