"""Options that many commands have, worded once."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import click

__all__ = [
    "Command",
    "collection_option",
    "exact_csv_option",
    "format_option",
    "judgements_option",
    "max_bytes_option",
    "output_option",
    "positive",
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


def _limit(context: click.Context, _: click.Parameter, value: str | None) -> None:
    if value is not None:
        from foveal.formats.streams import limit_bytes

        context.with_resource(limit_bytes(value))


max_bytes_option = click.option(
    "--max-bytes",
    metavar="SIZE",
    callback=_limit,
    expose_value=False,
    is_eager=True,  # before files named by other options are read
    help="Limit of what a compressed input may grow to, such as 4G [default: 1G or 100 times the "
    "file, at most the free memory].",
)


def judgements_option(*, required: bool = False) -> Option:
    """The judgements, from any number of files and directories, and how large they may grow."""
    given = click.option(
        "-j",
        "--judgements",
        multiple=True,
        required=required,
        metavar="PATH",
        help="File or directory of judgements; repeatable.",
    )
    return together((given, max_bytes_option))


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


def positive(text: str) -> int | None:
    """Return a whole number from 1; None if the text is not one, or is absurdly large.

    >>> positive("250"), positive("0"), positive("9" * 5000)
    (250, None, None)
    """
    return int(text) or None if re.fullmatch("[0-9]{1,15}", text) else None


def together(options: Sequence[Option]) -> Option:
    """Several options as one decorator, in the order of the help text."""

    def decorate(command: Command) -> Command:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate
