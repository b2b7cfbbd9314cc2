"""Options that many commands have, worded once.

A value that Click cannot convert by itself is converted by a function that is the type of its
option: Click calls it only where the option is given.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import click

from foveal.evaluation import CAS_READINGS

__all__ = [
    "Command",
    "cas_options",
    "collection_option",
    "combine_options",
    "judgements_option",
    "max_bytes_option",
    "parse_comma_list",
    "parse_positive",
    "parse_topics",
    "seed_option",
    "summary_option",
    "worker_options",
]

Command = Callable[..., Any]
Option = Callable[[Command], Command]


def combine_options(options: Sequence[Option]) -> Option:
    """Return several options as one decorator, in the order of the help text."""

    def decorate(command: Command) -> Command:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


# -- values ------------------------------------------------------------------------------------


def parse_comma_list(text: str) -> tuple[str, ...]:
    """Return the words of ``a,b,c``."""
    words = tuple(filter(None, (word.strip() for word in text.split(","))))
    if not words:
        raise click.BadParameter(f"nothing in {text!r}")
    return words


def parse_topics(text: str) -> tuple[str, ...]:
    """Return the topics of ``1,2,3``, or of ``@file`` with white space or commas between them."""
    names = text
    if text.startswith("@"):
        from foveal.files.source import Source

        source = Source.open(text[1:])
        source.check_utf8()
        names = source.data.decode()
    topics = tuple(names.replace(",", " ").split())
    if not topics:
        raise click.BadParameter(f"no topic in {text!r}")
    return topics


def parse_positive(text: str) -> int | None:
    """Return a whole number from 1; None if the text is not one, or is absurdly large.

    >>> parse_positive("250"), parse_positive("0"), parse_positive("9" * 5000)
    (250, None, None)
    """
    return int(text) or None if re.fullmatch("[0-9]{1,15}", text) else None


def _limit_bytes(size: str) -> None:
    """Limit what compressed inputs may grow to until the command ends."""
    from foveal.files.source import limit_bytes

    click.get_current_context().with_resource(limit_bytes(size))


# -- options -----------------------------------------------------------------------------------

seed_option = click.option(
    "--seed",
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    metavar="N",
    help="The same seed gives the same output.",
)
summary_option = click.option(
    "--summary",
    metavar="FILE|github",
    help="Append a short summary in GitHub's Markdown to this file; github is the one that "
    "$GITHUB_STEP_SUMMARY names.",
)
max_bytes_option = click.option(
    "--max-bytes",
    metavar="SIZE",
    type=_limit_bytes,
    expose_value=False,
    is_eager=True,  # before files named by other options are read
    help="Limit of what a compressed input may grow to, such as 4G [default: 1G or 100 times the "
    "file, at most the free memory].",
)
worker_options = combine_options(
    (
        click.option(
            "-w",
            "--workers",
            type=click.IntRange(min=1),
            metavar="N",
            help="Processes [default: one per core when the work is worth it].",
        ),
        click.option(
            "--dask",
            metavar="ADDRESS",
            help="Work on a Dask cluster instead: the address of its scheduler, as in "
            "tcp://10.0.0.1:8786, or file: and the path of its scheduler file.",
        ),
    )
)


def judgements_option(*, required: bool = False) -> Option:
    """Return the options for any number of judgement files, and how large they may grow."""
    given = click.option(
        "-j",
        "--judgements",
        multiple=True,
        required=required,
        metavar="PATH",
        help="File or directory of judgements; repeatable.",
    )
    return combine_options((given, max_bytes_option))


def collection_option(needed: str) -> Option:
    """Return the option for a collection index; `needed` says in the help where it is needed."""
    return click.option(
        "-C",
        "--collection",
        metavar="INDEX",
        help=f"A collection index ('foveal index'), needed {needed}.",
    )


def cas_options(
    topics_for: str, documents_for: str = "numbers in the queries of --cas VS and SS"
) -> Option:
    """Return the options of the CAS filter, which evaluating and converting share.

    `topics_for` and `documents_for` say in the help what topics and documents are used for.
    """
    return combine_options(
        (
            click.option(
                "--topics-file", metavar="PATH", help=f"The topic statements, for {topics_for}."
            ),
            click.option(
                "--cas",
                type=click.Choice(CAS_READINGS),
                help="Keep the assessed elements that fit the topics' structured queries: target, "
                "then support, each strictly (S) or vaguely (V).",
            ),
            click.option(
                "--support-judgements",
                multiple=True,
                metavar="PATH",
                help="Judgements of the sub-topics, for --cas VS and SS; repeatable.",
            ),
            click.option(
                "--documents",
                metavar="SOURCE",
                help=f"The directory or archive that was indexed, for {documents_for}.",
            ),
            click.option(
                "--name-from",
                metavar="TAG",
                help="Documents are named by their first such element, as in 'foveal index'.",
            ),
            click.option(
                "--tag-classes",
                type=parse_comma_list,
                metavar="LIST",
                help="Tags that --cas takes for each other: ieee, or as in sec=ss1=ss2,p=ip1.",
            ),
        )
    )
