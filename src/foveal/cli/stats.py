"""``foveal stats``: describe collections, topics, judgements and runs."""

from __future__ import annotations

import click

from foveal.cli import options as opt
from foveal.cli.shared import emit_result


@click.command(
    "stats", cls=opt.Command, examples=("foveal stats wiki.fvx topics.xml qrels.txt my.run",)
)
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@opt.collection_option("for elements")
@opt.max_bytes_option
@opt.format_option(more="; a table shows the first 20 counts of a figure")
@opt.shared_options("output")
def command(
    paths: tuple[str, ...], collection: str | None, form: str | None, output: str | None
) -> None:
    """Describe collections, topics, judgements and runs, detected from their content.

    Foveal checks every byte of a collection index.
    """
    from foveal.analysis.statistics import describe_files

    emit_result(describe_files(paths, collection), form, output)
