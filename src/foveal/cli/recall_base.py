"""``foveal recall-base``: the full and ideal recall base of a topic as trees."""

from __future__ import annotations

import click

from foveal.analysis.recall_bases import BASES, TIES
from foveal.cli.options import (
    FORMATS,
    Command,
    collection_option,
    judgements_option,
    output_option,
    parse_comma_list,
)
from foveal.cli.shared import choose_format, emit_result, warn
from foveal.errors import UsageError
from foveal.recall.forest import QUANTISATIONS


@click.command(
    "recall-base",
    cls=Command,
    daily="judgements topic collection quant tie base docs form output",
    examples=("foveal recall-base -j qrels.txt -C wiki.fvx --topic 2009011 --tie deeper",),
)
@judgements_option(required=True)
@collection_option("where judgements list no elements")
@click.option("--topic", required=True, metavar="T", help="The topic.")
@click.option(
    "--quant",
    type=click.Choice(QUANTISATIONS),
    metavar="Q",
    help="What an element is worth [default: spec where specificity is a share of the text, else "
    f"gen]: {', '.join(QUANTISATIONS)}.",
)
@click.option(
    "--tie",
    type=click.Choice(TIES),
    default=TIES[0],
    show_default=True,
    help="Which of two elements of a path that are worth the same is ideal: the higher or the "
    "deeper one.",
)
@click.option(
    "--base",
    type=click.Choice(BASES),
    default=BASES[0],
    show_default=True,
    help="The best element of each relevant path, less those inside another; or the elements "
    "without overlap that are worth most together.",
)
@click.option(
    "--doc", "docs", multiple=True, metavar="NAME", help="Show only this document; repeatable."
)
@click.option(
    "--assessors",
    default="union",
    show_default=True,
    metavar="union|majority|intersection|each|NAME",
    help="Text that counts where several assessors judged a document.",
)
@click.option(
    "--exclude-tags",
    type=parse_comma_list,
    metavar="LIST",
    help="Drop these elements from the judgements, as in collectionlink,outsidelink.",
)
@click.option(
    "-f",
    "--format",
    "form",
    type=click.Choice(("text", *FORMATS)),
    help="text, the same as table: trees to look at; data formats hold all numbers in full "
    "[default: text].",
)
@output_option
def command(
    judgements: tuple[str, ...],
    collection: str | None,
    topic: str,
    quant: str | None,
    tie: str,
    base: str,
    docs: tuple[str, ...],
    assessors: str,
    exclude_tags: tuple[str, ...] | None,
    form: str | None,
    output: str | None,
) -> None:
    """Draw the recall bases of a topic: what each element is worth, and which are ideal.

    The full recall base is every element that is worth something, the ideal one those that a
    focused system should return. Each document is a tree of the elements on the paths to relevant
    ones.
    """
    from foveal.analysis.recall_bases import recall_base
    from foveal.files.source import STDIN
    from foveal.formats import read_judgements

    if judgements.count(STDIN) > 1:
        raise UsageError("standard input can be read only once")
    choose_format(form, output)  # refuses a picture
    found = recall_base(
        read_judgements(list(judgements)),
        topic,
        collection=collection,
        quant=quant,
        base=base,
        tie=tie,
        assessors=assessors,
        exclude_tags=exclude_tags or (),
        docs=docs,
    )
    warn(found.meta["warnings"])
    emit_result(found, "table" if form in (None, "text") else form, output)
