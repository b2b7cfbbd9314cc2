"""Shared parts of commands: inputs, workers, checks, messages and output."""

from __future__ import annotations

import os
import shutil
import sys
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from foveal.cli import WARNINGS
from foveal.cli.options import VERBOSE
from foveal.errors import InputError, UsageError, escape_controls

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from foveal.bridges.gates import Check
    from foveal.evaluation.evaluation import RunLike
    from foveal.model import Judgements, Results
    from foveal.model.result_object import Result

STDIN = "-"
TEXTS_USED = "foveal.texts_used"
"""Key in the context of a command that has read the texts of documents for runs or judgements."""
_WORTH_PROCESSES = 256 << 20
"""Bytes of runs from which processes pay for their start, measured on two cores."""
_WORTH_KEEPING = 4 << 20
"""Bytes of runs from which keeping freed memory saves more time than it takes to set up."""
_NOT_SCORING = ("texts", "dask")
"""Options that are used up when runs are read, or say where the work is done."""
_DEFAULTS = {"topics": "judged", "undefined": "skip", "assessors": "union"}


# -- scoring -----------------------------------------------------------------------------------


def open_inputs(
    runs: Sequence[str], judgements: Sequence[str]
) -> tuple[list[RunLike], Judgements | list[str]]:
    """Return runs and judgements to score: their paths, unless they must be read here.

    Standard input must, and so must files that need the texts of the documents.
    """
    given = click.get_current_context().params
    has_texts = given.get("texts") or (given.get("collection") and given.get("documents"))
    if not has_texts and STDIN not in (*runs, *judgements):
        return [*runs], [*judgements]
    from foveal.cli.texts import open_judgements, open_runs

    return open_runs(runs, *judgements), open_judgements(judgements)


def given_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of scoring that were given and differ from their defaults."""
    used = [*_NOT_SCORING]
    if click.get_current_context().meta.get(TEXTS_USED) and not options.get("cas"):
        used += ["documents", "name_from"]
    given = {
        name: value
        for name, value in options.items()
        if value not in (None, False, ()) and value != _DEFAULTS.get(name) and name not in used
    }
    if "retrieved" in given:
        from foveal.cli.texts import open_runs  # they may need texts

        given["retrieved"] = open_runs(given["retrieved"])
    return given


@contextmanager
def open_executor(
    workers: int | None, *, worth: bool, preload: str | None = None, most: int | None = None
) -> Iterator[Executor | None]:
    """Yield the executor that -w or --dask asks for; None for this process.

    By default there is a process per core if the work is `worth` starting them, but never more
    than `most`, the number of tasks. Processes import the module `preload` at once.
    """
    address: str | None = click.get_current_context().params.get("dask")
    if address is not None:
        if workers is not None:
            raise UsageError("-w is for processes here, --dask for a cluster; give one of them")
        from foveal.executors.cluster import connect

        with connect(address) as cluster:
            yield cluster
        return
    from foveal import executors

    if workers is None:
        workers = executors.count_cores() if worth else 1
    workers = min(workers, most or workers)
    if workers == 1:
        yield None
        return
    with executors.Processes(workers, preload=preload) as processes:
        yield processes


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
    worth = size >= _WORTH_PROCESSES
    dask = click.get_current_context().params.get("dask")
    executor: Executor | None = None
    advance = None
    with ExitStack() as stack:
        if worth or workers is not None or dask is not None:  # else do not import executors
            preload = "foveal.evaluation.evaluation"
            opened = open_executor(workers, worth=worth, preload=preload, most=len(runs))
            executor = stack.enter_context(opened)
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
    workers: int | None = None,
    **options: Any,
) -> Results:
    """Score runs with a progress bar; `options` are the `given_options`."""
    with start_workers(workers, runs) as (executor, advance):
        from foveal.evaluation.evaluation import evaluate  # while other processes do the same

        scored = {"task": task, "executor": executor, "progress": advance, **options}
        return evaluate(runs, judgements, list(measures), **scored)


# -- arguments ---------------------------------------------------------------------------------


def choose_task(tasks: Sequence[str]) -> str | None:
    """Return the task of a command that takes one."""
    if len(tasks) > 1:
        raise UsageError("one task at a time; more measures go with --measure")
    return tasks[0] if tasks else None


def list_files(paths: Sequence[str]) -> list[str]:
    """Return files as they are, and all files in directories but hidden ones."""
    from foveal.files.source import list_files as list_inputs

    return [str(path) for path in list_inputs(paths, "runs")] if paths else []


def refuse_missing(context: click.Context, *names: str) -> None:
    """Report the first of these parameters that was not given."""
    for parameter in context.command.params:
        if parameter.name in names and not context.params[parameter.name]:
            raise click.MissingParameter(ctx=context, param=parameter)


def refuse_unused(context: click.Context, needed: Mapping[str, str]) -> None:
    """Refuse options that were given and change nothing: name to what it would be for."""
    for param in context.command.params:
        source = context.get_parameter_source(str(param.name))
        if param.name in needed and source is ParameterSource.COMMANDLINE:
            purpose = needed[param.name]
            raise UsageError(f"{param.opts[-1]} is for {purpose}, which was not requested")


def check_saved(task: object, options: Mapping[str, Any]) -> None:
    """Refuse options of scoring where nothing is scored."""
    if task or any(map(options.get, _NOT_SCORING)) or given_options(options):
        raise UsageError(
            "without judgements (--judgements) the files are saved results, which are not scored "
            "again; leave out the options of scoring"
        )


def read_saved(paths: Sequence[str]) -> list[Results]:
    """Read results saved before; the error for a run says that it needs judgements."""
    from foveal.formats import read_results

    try:
        return [read_results(path) for path in paths]
    except InputError as error:
        code, file, line, text = error.problems[0]
        if not code.startswith("results."):
            raise
        hint = "runs are scored against judgements, given with --judgements"
        raise InputError.at(code, file, line, f"{text}; {hint}") from None


# -- messages ----------------------------------------------------------------------------------


def say(text: str) -> None:
    """Print lines to standard error, after the warnings; control characters are escaped."""
    if context := click.get_current_context(silent=True):
        print_warnings(context)
    click.echo(escape_controls(text, keep="\n"), err=True)


def warn(warnings: Iterable[str]) -> None:
    """Keep warnings, to print them after the result of the command."""
    click.get_current_context().meta.setdefault(WARNINGS, []).extend(warnings)


def print_warnings(context: click.Context) -> None:
    """Print all warnings of a command; without -v, a terminal gets the first and their number."""
    warnings = list(dict.fromkeys(context.meta.pop(WARNINGS, ())))
    if len(warnings) > 1 and not context.meta.get(VERBOSE, not sys.stderr.isatty()):
        warnings = [f"{warnings[0]} (and {len(warnings) - 1} more; -v shows all)"]
    for warning in warnings:
        say(f"warning: {warning}")


def list_under_headings(rows: Iterable[tuple[str, str, str]]) -> list[str]:
    """Return lines of names and texts, those of each heading below it."""
    groups: dict[str, list[tuple[str, str]]] = {}
    for heading, name, text in rows:
        groups.setdefault(heading, []).append((name, text))
    width = max(len(name) for own in groups.values() for name, _ in own)
    lines: list[str] = []
    for heading, own in groups.items():
        lines += ["", heading] if lines else [heading]
        lines += [f"  {name:{width}}  {text}" for name, text in own]
    return lines


@contextmanager
def progress_bar(length: int, label: str) -> Iterator[Callable[[], None] | None]:
    """Show a progress bar on a terminal if there is more than one step to wait for."""
    if length < 2 or not sys.stderr.isatty():
        yield None
        return
    with click.progressbar(length=length, label=label, file=sys.stderr) as shown:
        yield lambda: shown.update(1)


@contextmanager
def share_bar(label: str) -> Iterator[Callable[[float], None] | None]:
    """Show a progress bar on a terminal for work whose finished share is known."""
    if not sys.stderr.isatty():
        yield None
        return
    with click.progressbar(length=1000, label=label, file=sys.stderr) as bar:
        yield lambda share: bar.update(int(1000 * share) - bar.pos)


# -- checks in a build -------------------------------------------------------------------------


def check_summary(given: str | None) -> Path | None:
    """Return the file of --summary; refuse it, before anything is scored, if it is an input."""
    if given is None:
        return None
    target = os.environ.get("GITHUB_STEP_SUMMARY", "") if given == "github" else given
    if not target:
        raise UsageError("--summary github: $GITHUB_STEP_SUMMARY is not set; name a file instead")
    _check_not_read(target)
    return Path(target)


def conclude(checks: Sequence[Check], target: Path | None, text: Callable[[], str]) -> None:
    """Print which checks passed, append the summary, and exit with 1 if any check failed."""
    if target is not None:
        from foveal.files.atomic import write_file

        before = target.read_bytes() if target.is_file() else b""
        write_file(target, before + text().encode())
    for check in checks:
        say(f"{'passed' if check.passed else 'failed'}: {check.sentence}")
    if not all(check.passed for check in checks):
        raise click.exceptions.Exit(1)


# -- results -----------------------------------------------------------------------------------


def choose_format(form: str | None, output: str | None) -> str:
    """Return the given format; by default a table on a terminal, else tsv, but not in a picture."""
    if form is None and output and Path(output).suffix.lower() in (".svg", ".png", ".pdf"):
        raise UsageError(f"{output}: numbers cannot be written as a picture; see 'foveal plot'")
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
    if suffix in ("svg", "png", "pdf", "dat"):
        from foveal.report.drawing import draw

        if not (graphs := result.graphs()):
            raise UsageError(f"{output}: this result has no graph; choose another kind of file")
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
    context, target = click.get_current_context(silent=True), Path(os.path.realpath(path))
    if context is None or not Path(path).exists():
        return
    for name, value in context.params.items():
        if name in ("output", "heatmap", "stats", "summary", "repair"):
            continue
        given = (own for own in (value if isinstance(value, tuple) else (value,)) if own)
        paths = (os.path.realpath(own) for own in given if isinstance(own, str))
        if any(target.is_relative_to(own) for own in paths):
            raise UsageError(f"{path} is read by this command; choose another file to write")
