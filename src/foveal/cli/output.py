"""Where results go: standard output or a file, whole or not at all; warnings to standard error."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterable

import click

from foveal.formats import write_file
from foveal.formats.results import DATA_FORMATS
from foveal.model import Results
from foveal.report.tables import TABLE_FORMATS, plain

__all__ = ["FORMATS", "emit", "render", "warn"]

FORMATS = ("table", *DATA_FORMATS, "markdown", "latex", "html")


def warn(warnings: Iterable[str]) -> None:
    """Say what was odd but acceptable."""
    for warning in warnings:
        click.echo(f"warning: {warning}", err=True)


def render(results: Results, form: str | None, *, per_topic: bool, to_file: bool) -> str | bytes:
    """The results in a format; by default a table on a terminal, else tsv."""
    terminal = sys.stdout.isatty() and not to_file
    if form is None:
        form = "table" if terminal else "tsv"
    if form in DATA_FORMATS:
        return DATA_FORMATS[form](results, per_topic=per_topic)
    if form == "table":
        width = shutil.get_terminal_size((100, 24)).columns
        return plain(results, per_topic=per_topic, width=width, bold=terminal)
    return TABLE_FORMATS[form](results, per_topic=per_topic)


def emit(content: str | bytes, path: str | None) -> None:
    """Write to a file, or to standard output."""
    if path is not None:
        write_file(path, content)
    else:  # as bytes: results are UTF-8 whatever the terminal's encoding
        sys.stdout.flush()
        sys.stdout.buffer.write(content.encode() if isinstance(content, str) else content)
