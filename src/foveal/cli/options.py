"""Options that many commands have, worded once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import click

__all__ = [
    "Command",
    "collection_option",
    "exact_csv_option",
    "format_option",
    "judgements_option",
    "output_option",
    "seed_option",
    "together",
]

Command = Callable[..., Any]
Option = Callable[[Command], Command]

output_option = click.option(
    "-o", "--output", metavar="FILE", help="Write here instead of standard output."
)
seed_option = click.option(
    "--seed",
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    metavar="N",
    help="The same seed gives the same output.",
)


def _set_exact_csv(_: click.Context, __: click.Parameter, value: bool) -> None:  # noqa: FBT001 - click's signature
    from foveal.formats.results import EXACT_CSV

    EXACT_CSV.set(value)


exact_csv_option = click.option(
    "--exact-csv",
    is_flag=True,
    expose_value=False,
    callback=_set_exact_csv,
    help="In csv, write names that begin with = + - @ without the apostrophe that keeps "
    "spreadsheets from running them.",
)


def judgements_option(*, required: bool = False) -> Option:
    """The judgements, from any number of files and directories."""
    return click.option(
        "-j",
        "--judgements",
        multiple=True,
        required=required,
        metavar="PATH",
        help="File or directory of judgements; repeatable.",
    )


def collection_option(needed: str) -> Option:
    """A collection index, and what it is `needed` for."""
    return click.option(
        "-C",
        "--collection",
        metavar="INDEX",
        help=f"A collection index ('foveal index'), needed {needed}.",
    )


def format_option(forms: Sequence[str], more: str = "") -> Option:
    """The format of the output: a table for people at a terminal, tsv for programs elsewhere."""
    form = click.option(
        "-f",
        "--format",
        "form",
        type=click.Choice(forms),
        help=f"Output format [default: table on a terminal, else tsv]{more}.",
    )
    return together([form, exact_csv_option])


def together(options: Sequence[Option]) -> Option:
    """Several options as one decorator, in the order of the help text."""

    def decorate(command: Command) -> Command:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate
