"""``foveal recall-base``: the full and ideal recall base of a topic as trees."""

from __future__ import annotations

from typing import Any

import click

from foveal.analysis.recall_bases import BASES, TIES
from foveal.cli import options as opt
from foveal.cli.shared import emit_result, open_inputs, warn
from foveal.recall.forest import QUANTISATIONS


@click.command(
    "recall-base",
    cls=opt.Command,
    daily="judgements topic collection quant tie base docs form output",
    examples=("foveal recall-base -j qrels.txt -C wiki.fvx --topic 2009011 --tie deeper",),
)
@opt.judgements_option(required=True)
@opt.collection_option("where judgements list no elements")
@opt.options(
    f"""
    --topic=T  The topic. [required]
    --tie={"|".join(TIES)}  Which of two elements of a path that are worth the same is ideal: the
        higher or the deeper.
    --base={"|".join(BASES)}  The best element of each relevant path, less those inside another; or
        the elements without overlap that are worth most together.
    --doc=NAME... docs  Show only this document; repeatable.
    -f --format=text|{"|".join(opt.FORMATS)} form  Output format; text is the same as table.
    """,
    tie=TIES[0],
    base=BASES[0],
    form="text",
)
@opt.option(
    "--quant",
    "What an element is worth [default: spec where specificity is a share of the text, else gen]: "
    f"{', '.join(QUANTISATIONS)}.",
    type=click.Choice(QUANTISATIONS),
    metavar="Q",
)
@opt.assessors_option()
@opt.shared_options("exclude_tags output")
def command(
    judgements: tuple[str, ...], topic: str, form: str, output: str | None, **options: Any
) -> None:
    """Draw the recall bases of a topic: what each element is worth, and which are ideal.

    The full recall base is every element that is worth something, the ideal one those that a
    focused system should return. Each document is a tree of the elements on the paths to relevant
    ones.
    """
    from foveal.analysis.recall_bases import recall_base

    _, truth = open_inputs([], judgements)
    excluded = options.pop("exclude_tags") or ()
    found = recall_base(truth, topic, exclude_tags=excluded, **options)
    warn(found.meta["warnings"])
    emit_result(found, "table" if form == "text" else form, output)
