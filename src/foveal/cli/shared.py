"""Shared parts of commands: options of scoring, inputs, workers, output and messages."""

from __future__ import annotations

import os
import shutil
import sys
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click
from click.core import ParameterSource

from foveal.cli.options import (
    Command,
    cas_options,
    collection_option,
    combine_options,
    judgements_option,
    parse_comma_list,
    parse_topics,
    worker_options,
)
from foveal.errors import InputError, UsageError, escape_controls
from foveal.evaluation import OVERLAP_POLICIES, TOPIC_POLICIES, UNDEFINED_POLICIES

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from foveal.evaluation.evaluation import RunLike
    from foveal.model import Judgements, Results
    from foveal.model.result_object import Result

__all__ = [
    "FORMATS",
    "STDIN",
    "TEXTS_USED",
    "check_saved",
    "choose_format",
    "choose_task",
    "emit",
    "emit_result",
    "exact_csv_option",
    "format_option",
    "given_options",
    "list_files",
    "open_inputs",
    "output_option",
    "progress_bar",
    "read_saved",
    "refuse_missing",
    "refuse_unused",
    "render_result",
    "say",
    "score_runs",
    "scoring_options",
    "start_workers",
    "warn",
]

STDIN = "-"
TEXTS_USED = "foveal.texts_used"
"""Key in the context of a command that has read the texts of documents for runs or judgements."""
_WORTH_PROCESSES = 256 << 20
"""Bytes of runs from which processes pay for their start.

On two cores 100 runs of passages, 889 MB, take threads 4.9 s and two processes 3.7, a third of
them 1.9 and 1.9 s, and 8 of them 1.1 and 1.3.
"""
_WORTH_KEEPING = 4 << 20
"""Bytes of runs from which keeping freed memory saves more time than it takes to set up."""
_READING_OPTIONS = ("texts",)
"""Options that are used up when runs are read."""
_PLACE_OPTIONS = ("dask",)
"""Options for where the work is done."""
_DEFAULTS = {
    "topics": TOPIC_POLICIES[0],
    "undefined": UNDEFINED_POLICIES[0],
    "assessors": "union",
}

# -- options of scoring ------------------------------------------------------------------------

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
        type=parse_topics,
        metavar="LIST|@FILE",
        help="Evaluate only these topics.",
    ),
    click.option(
        "--pools",
        type=parse_comma_list,
        metavar="LIST",
        help="Use only the assessments of these pools, as in 275,297.",
    ),
)
"""Options for the topics that count."""
_HOW = (
    click.option(
        "--texts",
        metavar="PATH",
        help="The documents' texts, for results and judgements given by text or in other units: a "
        'directory, an archive, or JSON Lines of "doc" and "text"; or give -C with --documents.',
    ),
    click.option(
        "--exclude-tags",
        type=parse_comma_list,
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
"""Options for how measures are applied."""


def scoring_options(
    *,
    collection: str = "where results are XPaths",
    topics: str = "--cas and for tasks on topics with a castitle",
    documents: str = "numbers in the queries of --cas VS and SS",
    one_measure: bool = False,
) -> Callable[[Command], Command]:
    """Return the options for judgements, measures, tasks and everything that decides a score.

    `collection`, `topics` and `documents` say in the help what these are used for. A command with
    `one_measure` has no task, and works in this process.
    """
    return combine_options(
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


# -- scoring -----------------------------------------------------------------------------------


def open_inputs(
    runs: Sequence[str], judgements: Sequence[str]
) -> tuple[list[RunLike], Judgements | list[str]]:
    """Return runs and judgements to score: their paths, unless they must be read here.

    Standard input must, and so must files that need the texts of the documents.
    """
    given = click.get_current_context().params
    texts, collection, documents = map(given.get, ("texts", "collection", "documents"))
    if (
        STDIN not in (*runs, *judgements)
        and texts is None
        and (collection is None or documents is None)
    ):
        return [*runs], [*judgements]
    from foveal.cli.texts import open_judgements, open_runs

    return open_runs(runs, *judgements), open_judgements(judgements)


def given_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of scoring that were given and differ from their defaults."""
    used = [*_READING_OPTIONS, *_PLACE_OPTIONS]
    if click.get_current_context().meta.get(TEXTS_USED) and not options.get("cas"):
        used += ["documents", "name_from"]
    return {
        name: value
        for name, value in options.items()
        if value not in (None, False, ()) and value != _DEFAULTS.get(name) and name not in used
    }


@contextmanager
def start_workers(
    workers: int | None, runs: Sequence[RunLike], steps: int | None = None
) -> Iterator[tuple[Executor | None, Callable[[], None] | None]]:
    """Start processes where the work is worth it, or a cluster, and a progress bar.

    Yields the executor, None for the library's own threads, and the function that advances the
    bar, None without a bar. `steps` is the length of the bar, by default the number of runs.
    """
    paths = [Path(run) for run in runs if isinstance(run, str | Path)]
    size = sum(path.stat().st_size for path in paths if path.is_file())
    dask = click.get_current_context().params.get("dask")
    executor: Executor | None = None
    advance = None
    with ExitStack() as stack:
        if workers is not None or dask is not None or size >= _WORTH_PROCESSES:
            from foveal.cli import executors

            executor = stack.enter_context(
                executors.executor(
                    workers,
                    worth=size >= _WORTH_PROCESSES,
                    ahead="foveal.evaluation.evaluation",
                    most=len(runs),
                )
            )
        if executor is None and workers == 1:  # asked for: one run after the other
            from concurrent.futures import ThreadPoolExecutor

            executor = stack.enter_context(ThreadPoolExecutor(1))
        if size >= _WORTH_KEEPING:
            from foveal.files.memory import keep_freed_memory

            keep_freed_memory()
        if (steps := steps or len(runs)) > 1:
            advance = stack.enter_context(progress_bar(steps, "scoring"))
        yield executor, advance


def score_runs(
    runs: Sequence[RunLike],
    judgements: Judgements | Sequence[str],
    measures: Sequence[Any],
    task: str | None,
    *,
    collection: str | None = None,
    workers: int | None = None,
    **options: Any,
) -> Results:
    """Score runs with a progress bar; `options` are the `given_options`."""
    with start_workers(workers, runs) as (executor, advance):
        from foveal.evaluation.evaluation import evaluate  # while other processes do the same

        return evaluate(
            runs,
            judgements,
            list(measures),
            task=task,
            collection=collection,
            executor=executor,
            progress=advance,
            **options,
        )


# -- arguments ---------------------------------------------------------------------------------


def choose_task(tasks: Sequence[str]) -> str | None:
    """Return the task of a command that takes one."""
    if len(tasks) > 1:
        raise UsageError("one task at a time; more measures go with --measure")
    return tasks[0] if tasks else None


def list_files(paths: Sequence[str]) -> list[str]:
    """Return files as they are, and all files in directories but hidden ones."""
    found: list[str] = []
    for path in paths:
        place = Path(path)
        if not place.is_dir():
            found.append(path)
            continue
        inside = sorted(p for p in place.rglob("*") if p.is_file() and p.name[0] != ".")
        if not inside:
            raise InputError.at("file.empty_directory", path, None, "the directory holds no file")
        found += map(str, inside)
    return found


def refuse_missing(context: click.Context, *names: str) -> NoReturn:
    """Report the first of these parameters that was not given."""
    for parameter in context.command.params:
        if parameter.name in names and not context.params[parameter.name]:
            raise click.MissingParameter(ctx=context, param=parameter)
    raise AssertionError(f"all of {names} were given")


def refuse_unused(context: click.Context, needed: Mapping[str, str]) -> None:
    """Refuse options that were given and change nothing: name to what it would be for."""
    spelled = {param.name: param.opts[-1] for param in context.command.params}
    for name, purpose in needed.items():
        if context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            raise UsageError(f"{spelled[name]} is for {purpose}, which is not asked for")


# -- saved results -----------------------------------------------------------------------------


def check_saved(task: object, options: Mapping[str, Any]) -> None:
    """Refuse options of scoring where nothing is scored."""
    other = any(options.get(name) for name in (*_READING_OPTIONS, *_PLACE_OPTIONS))
    if task or other or given_options(options):
        raise UsageError(
            "without judgements (--judgements) the files are saved results, which are not scored "
            "again; leave out the options of scoring"
        )


def read_saved(paths: Sequence[str]) -> list[Results]:
    """Read results saved before; the error for a run says that it needs judgements."""
    from foveal.formats import read_results

    found = []
    for path in paths:
        try:
            found.append(read_results(path))
        except InputError as error:
            if not Path(path).is_file():  # nothing that a run could be
                raise
            first = error.problems[0]
            hint = f"{first.text}; runs are scored against judgements, given with --judgements"
            raise InputError.at("results.format", first.file, first.line, hint) from None
    return found


_PICTURES = (".svg", ".png", ".pdf")
FORMATS = ("table", "tsv", "csv", "json", "jsonl", "parquet", "markdown", "latex", "html")
"""Formats of scores and result objects."""


# -- options of output -------------------------------------------------------------------------

output_option = click.option(
    "-o", "--output", metavar="FILE", help="Write here instead of standard output."
)


def _set_exact_csv(_: str) -> None:
    """Let csv hold names as they are until the command ends."""
    from foveal.formats.result_files import EXACT_CSV

    before = EXACT_CSV.set(True)
    click.get_current_context().call_on_close(lambda: EXACT_CSV.reset(before))


exact_csv_option = click.option(
    "--exact-csv",
    flag_value="on",
    type=_set_exact_csv,
    expose_value=False,
    help="In csv, write names that begin with = + - @ without the apostrophe that keeps "
    "spreadsheets from running them.",
)


def format_option(formats: Sequence[str], more: str = "") -> Callable[[Command], Command]:
    """Return the option for the format: by default a table on a terminal, tsv elsewhere."""
    form = click.option(
        "-f",
        "--format",
        "form",
        type=click.Choice(formats),
        help=f"Output format [default: table on a terminal, else tsv]{more}.",
    )
    return combine_options([form, exact_csv_option])


# -- messages ----------------------------------------------------------------------------------


def say(text: str) -> None:
    """Print lines to standard error, control characters escaped."""
    click.echo(escape_controls(text, keep="\n"), err=True)


def warn(warnings: Iterable[str]) -> None:
    """Print each warning on standard error."""
    for warning in warnings:
        say(f"warning: {warning}")


@contextmanager
def progress_bar(length: int, label: str) -> Iterator[Callable[[], None] | None]:
    """Show a progress bar on a terminal if there is more than one step to wait for."""
    if length < 2 or not sys.stderr.isatty():
        yield None
        return
    with click.progressbar(length=length, label=label, file=sys.stderr) as shown:
        yield lambda: shown.update(1)


# -- results -----------------------------------------------------------------------------------


def choose_format(form: str | None, output: str | None) -> str:
    """Return the given format; by default a table on a terminal, else tsv, but not in a picture."""
    if form is None and output is not None and Path(output).suffix.lower() in _PICTURES:
        raise UsageError(
            f"{output}: numbers cannot be written as a picture; 'foveal plot' draws graphs, and "
            "-f with another name of the file writes numbers"
        )
    return form or ("table" if sys.stdout.isatty() and output is None else "tsv")


def render_result(result: Result | Results, form: str, output: str | None, **shown: Any) -> Any:
    """Return a result in a format; a table fits the terminal it is printed on."""
    from foveal.formats.result_files import DATA_FORMATS
    from foveal.model.results import Results

    if isinstance(result, Results) and form in DATA_FORMATS:
        return DATA_FORMATS[form](result, **shown)  # without importing what draws tables
    from foveal.report.write import render

    to_terminal = sys.stdout.isatty() and output is None
    width = shutil.get_terminal_size((100, 24)).columns if form == "table" else None
    return render(result, form, width=width, bold=to_terminal, **shown)


def emit_result(result: Result, form: str | None, output: str | None, **shown: Any) -> None:
    """Write a result; its summary follows a table, and otherwise goes to standard error.

    An output such as ``graph.svg`` is a picture of the result's graphs.
    """
    suffix = "" if output is None or form else Path(output).suffix[1:].lower()
    summary = result.summary()
    if suffix in ("svg", "png", "pdf", "dat", "gp", "gnuplot"):
        from foveal.report.drawing import draw

        if not (graphs := result.graphs()):
            raise UsageError(f"{output}: there is no graph to draw; choose another kind of file")
        emit(draw(graphs, suffix), output)
    else:
        form = choose_format(form, output)
        content = render_result(result, form, output, **shown)
        if summary and form == "table":
            width = shutil.get_terminal_size((100, 24)).columns
            lines = escape_controls(summary, keep="\n").split("\n")
            content += "\n" + "".join(f"{textwrap.fill(line, width)}\n" for line in lines)
            summary = ""
        emit(content, output, styled=form == "table")
    if summary:
        say(summary)


def emit(content: str | bytes, path: str | None, *, styled: bool = False) -> None:
    """Write to a file, but never over one that was read; or to standard output.

    A terminal gets control characters escaped, in every format. `styled` text has bold letters,
    and its writer has escaped the names.
    """
    if path is not None:
        from foveal.files.atomic import write_file

        _check_not_read(path)
        write_file(path, content)
        return
    if sys.stdout.isatty() and not styled:
        text = content if isinstance(content, str) else content.decode(errors="surrogateescape")
        content = escape_controls(text, keep="\n\t")
    # As bytes: results are UTF-8 whatever the terminal's encoding.
    click.echo(content.encode() if isinstance(content, str) else content, nl=False)


def _check_not_read(path: str) -> None:
    """Refuse an output that the command was given as an input, or that lies in such a directory."""
    context, target = click.get_current_context(silent=True), Path(path)
    if context is None or not target.exists():
        return
    written = ("output", "heatmap", "stats", "cache")
    for name, value in context.params.items():
        for given in value if isinstance(value, tuple) else (value,):
            if name in written or not isinstance(given, str) or not Path(given).exists():
                continue
            place = Path(given)
            if place.samefile(target) or (
                place.is_dir()
                and Path(os.path.realpath(target)).is_relative_to(os.path.realpath(place))
            ):
                raise UsageError(f"{path} is read by this command; choose another file to write")
