"""Where results go: standard output or a file, whole or not at all; warnings to standard error."""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from foveal.errors import UsageError, escape_controls

if TYPE_CHECKING:
    from foveal.model import Results

__all__ = ["FORMATS", "GRIDS", "bar", "emit", "form_of", "render", "say", "warn"]

FORMATS = ("table", "tsv", "csv", "json", "jsonl", "parquet", "markdown", "latex", "html")
"""Of results: a table for the terminal, the formats of data, those of reports."""
GRIDS = ("table", "tsv", "csv", "json", "markdown", "latex", "html")
"""Of what is found out about results."""


def say(text: str) -> None:
    """Print lines to standard error, control characters escaped."""
    click.echo(escape_controls(text, keep="\n"), err=True)


def warn(warnings: Iterable[str]) -> None:
    """Print each warning on standard error."""
    for warning in warnings:
        say(f"warning: {warning}")


@contextlib.contextmanager
def bar(length: int, label: str) -> Iterator[Callable[[], None] | None]:
    """A progress bar on a terminal, where there is more than one thing to wait for."""
    if length < 2 or not sys.stderr.isatty():
        yield None
        return
    with click.progressbar(length=length, label=label, file=sys.stderr) as shown:
        yield lambda: shown.update(1)


def form_of(form: str | None, *, to_file: bool) -> str:
    """The format asked for; by default a table on a terminal, else tsv."""
    return form or ("table" if sys.stdout.isatty() and not to_file else "tsv")


def render(results: Results, form: str | None, *, per_topic: bool, to_file: bool) -> str | bytes:
    """The results in a format; by default a table on a terminal, else tsv."""
    from foveal.formats.results import DATA_FORMATS
    from foveal.report.tables import TABLE_FORMATS, plain

    terminal = sys.stdout.isatty() and not to_file
    form = form_of(form, to_file=to_file)
    if form in DATA_FORMATS:
        return DATA_FORMATS[form](results, per_topic=per_topic)
    if form == "table":
        width = shutil.get_terminal_size((100, 24)).columns
        return plain(results, per_topic=per_topic, width=width, bold=terminal)
    return TABLE_FORMATS[form](results, per_topic=per_topic)


def emit(content: str | bytes, path: str | None, *, styled: bool = False) -> None:
    """Write to a file, but never over one that was read; or to standard output.

    A terminal gets control characters escaped, in every format. `styled` text has bold letters,
    and its writer has escaped the names.
    """
    if path is not None:
        from foveal.formats import write_file

        _check_not_read(path)
        write_file(path, content)
    else:  # as bytes: results are UTF-8 whatever the terminal's encoding
        from foveal.formats.files import write_standard_output

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
