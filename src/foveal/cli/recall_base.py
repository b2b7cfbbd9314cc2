"""``foveal recall-base``: the full and ideal recall base of a topic as trees."""

from __future__ import annotations

import shutil
import sys

import click

from foveal.analysis.recall_bases import BASES, TIES
from foveal.cli.options import Command, collection_option, judgements_option, output_option
from foveal.cli.shared import emit, say, warn
from foveal.errors import UsageError
from foveal.recall.forest import QUANTISATIONS
from foveal.report.trees import BASE_FORMATS


def _tags(_: click.Context, __: click.Parameter, value: str | None) -> tuple[str, ...]:
    """``a,b,c``."""
    if value is None:
        return ()
    tags = tuple(filter(None, (tag.strip() for tag in value.split(","))))
    if not tags:
        raise click.BadParameter(f"nothing in {value!r}")
    return tags


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
    callback=_tags,
    metavar="LIST",
    help="Drop these elements from the judgements, as in collectionlink,outsidelink.",
)
@click.option(
    "-f",
    "--format",
    "form",
    type=click.Choice(list(BASE_FORMATS)),
    default="text",
    show_default=True,
    help="Trees to look at, or all numbers in full for programs.",
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
    exclude_tags: tuple[str, ...],
    form: str,
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
    given = read_judgements(list(judgements))
    each = assessors == "each" and topic in given.topics
    wanted = given.for_topics([topic]).assessors if each else (assessors,)
    if not wanted:
        raise UsageError(f"--assessors each: no assessor of topic {topic!r} is named")
    found = [
        recall_base(
            given,
            topic,
            collection=collection,
            quant=quant,
            base=base,
            tie=tie,
            assessors=name,
            exclude_tags=exclude_tags,
            docs=docs,
        )
        for name in wanted
    ]
    warn(dict.fromkeys(warning for one in found for warning in one.warnings))
    if form == "text":
        content = BASE_FORMATS["text"](
            found,
            named=each,
            width=shutil.get_terminal_size((100, 24)).columns,
            styled=sys.stdout.isatty() and output is None,
        )
    else:
        for note in filter(None, (one.note for one in found)):
            say(note)
        content = BASE_FORMATS[form](found, named=each)
    emit(content, output, styled=form == "text")
