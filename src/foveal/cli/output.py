"""Output of commands: its options, results to standard output or a file, messages to stderr."""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from foveal.cli.options import Command, combine_options
from foveal.errors import UsageError, escape_controls

if TYPE_CHECKING:
    from foveal.model import Results

__all__ = [
    "FORMATS",
    "GRIDS",
    "choose_format",
    "emit",
    "exact_csv_option",
    "format_option",
    "output_option",
    "progress_bar",
    "render_results",
    "say",
    "warn",
]

FORMATS = ("table", "tsv", "csv", "json", "jsonl", "parquet", "markdown", "latex", "html")
"""Formats of results: a table for the terminal, formats of data, formats of reports."""
GRIDS = ("table", "tsv", "csv", "json", "markdown", "latex", "html")
"""Formats of everything that is found out about results."""


# -- options -----------------------------------------------------------------------------------

output_option = click.option(
    "-o", "--output", metavar="FILE", help="Write here instead of standard output."
)


def _set_exact_csv(context: click.Context, _: click.Parameter, given: bool) -> None:  # noqa: FBT001 - click's signature
    """Let csv hold names as they are until the command ends."""
    if given:
        from foveal.formats.result_files import EXACT_CSV

        before = EXACT_CSV.set(True)
        context.call_on_close(lambda: EXACT_CSV.reset(before))


exact_csv_option = click.option(
    "--exact-csv",
    is_flag=True,
    expose_value=False,
    callback=_set_exact_csv,
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


@contextlib.contextmanager
def progress_bar(length: int, label: str) -> Iterator[Callable[[], None] | None]:
    """Show a progress bar on a terminal if there is more than one step to wait for."""
    if length < 2 or not sys.stderr.isatty():
        yield None
        return
    with click.progressbar(length=length, label=label, file=sys.stderr) as shown:
        yield lambda: shown.update(1)


# -- results -----------------------------------------------------------------------------------


def choose_format(form: str | None, *, to_file: bool) -> str:
    """Return the given format; by default a table on a terminal, else tsv."""
    return form or ("table" if sys.stdout.isatty() and not to_file else "tsv")


def render_results(results: Results, form: str, *, per_topic: bool, to_file: bool) -> str | bytes:
    """Return the results in a format."""
    from foveal.formats.result_files import DATA_FORMATS

    if form in DATA_FORMATS:
        return DATA_FORMATS[form](results, per_topic=per_topic)
    from foveal.report.tables import TABLE_FORMATS, plain

    if form == "table":
        width = shutil.get_terminal_size((100, 24)).columns
        terminal = sys.stdout.isatty() and not to_file
        return plain(results, per_topic=per_topic, width=width, bold=terminal)
    return TABLE_FORMATS[form](results, per_topic=per_topic)


def emit(content: str | bytes, path: str | None, *, styled: bool = False) -> None:
    """Write to a file, but never over one that was read; or to standard output.

    A terminal gets control characters escaped, in every format. `styled` text has bold letters,
    and its writer has escaped the names.
    """
    if path is not None:
        from foveal.files.atomic import write_file

        _check_not_read(path)
        write_file(path, content)
    else:  # as bytes: results are UTF-8 whatever the terminal's encoding
        from foveal.files.atomic import write_standard_output

        data = content.encode() if isinstance(content, str) else content
        write_standard_output(data, styled=styled)


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
