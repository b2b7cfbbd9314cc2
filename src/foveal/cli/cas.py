"""The options of the CAS filter, which evaluating and converting share."""

from __future__ import annotations

from collections.abc import Callable

import click

from foveal.cli.options import Command, together
from foveal.evaluation.options import CAS_READINGS

__all__ = ["cas_options", "comma_list"]


def comma_list(_: click.Context, __: click.Parameter, value: str | None) -> tuple[str, ...] | None:
    """``a,b,c``."""
    if value is None:
        return None
    words = tuple(filter(None, (word.strip() for word in value.split(","))))
    if not words:
        raise click.BadParameter(f"nothing in {value!r}")
    return words


def cas_options(
    topics_for: str, documents_for: str = "numbers in the queries of --cas VS and SS"
) -> Callable[[Command], Command]:
    """Which elements count by the topics' queries; what topics and documents are for is said."""
    options = (
        click.option(
            "--topics-file", metavar="PATH", help=f"The topic statements, for {topics_for}."
        ),
        click.option(
            "--cas",
            type=click.Choice(CAS_READINGS),
            help="Keep the assessed elements that fit the topics' structured queries: target, then "
            "support, each strictly (S) or vaguely (V).",
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
            callback=comma_list,
            metavar="LIST",
            help="Tags that --cas takes for each other: ieee, or as in sec=ss1=ss2,p=ip1.",
        ),
    )
    return together(options)
