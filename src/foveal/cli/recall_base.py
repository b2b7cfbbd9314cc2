"""``foveal recall-base``: the full and ideal recall base of a topic as trees."""

from __future__ import annotations

from typing import Any

import click

from foveal.analysis.recall_bases import BASES, TIES
from foveal.cli.options import (
    FORMATS,
    Command,
    assessors_option,
    collection_option,
    judgements_option,
    option,
    output_option,
    shared_options,
)
from foveal.cli.shared import emit_result, open_inputs, warn
from foveal.recall.forest import QUANTISATIONS


@click.command(
    "recall-base",
    cls=Command,
    daily="judgements topic collection quant tie base docs form output",
    examples=("foveal recall-base -j qrels.txt -C wiki.fvx --topic 2009011 --tie deeper",),
)
@judgements_option(required=True)
@collection_option("where judgements list no elements")
@option("--topic=T", "The topic.", required=True)
@option(
    "--quant=Q",
    "What an element is worth [default: spec where specificity is a share of the text, else gen]: "
    f"{', '.join(QUANTISATIONS)}.",
    type=click.Choice(QUANTISATIONS),
)
@option(
    "--tie",
    "Which of two elements of a path that are worth the same is ideal: the higher or the deeper.",
    type=click.Choice(TIES),
    default=TIES[0],
)
@option(
    "--base",
    "The best element of each relevant path, less those inside another; or the elements without "
    "overlap that are worth most together.",
    type=click.Choice(BASES),
    default=BASES[0],
)
@option("--doc=NAME docs", "Show only this document; repeatable.", multiple=True)
@assessors_option()
@shared_options("exclude_tags")
@option(
    "-f --format form",
    "Output format; text is the same as table [default: text].",
    type=click.Choice(("text", *FORMATS)),
)
@output_option
def command(
    judgements: tuple[str, ...],
    topic: str,
    exclude_tags: tuple[str, ...] | None,
    form: str | None,
    output: str | None,
    **options: Any,
) -> None:
    """Draw the recall bases of a topic: what each element is worth, and which are ideal.

    The full recall base is every element that is worth something, the ideal one those that a
    focused system should return. Each document is a tree of the elements on the paths to relevant
    ones.
    """
    from foveal.analysis.recall_bases import recall_base

    _, truth = open_inputs([], judgements)
    found = recall_base(truth, topic, exclude_tags=exclude_tags or (), **options)
    warn(found.meta["warnings"])
    emit_result(found, "table" if form in (None, "text") else form, output)
