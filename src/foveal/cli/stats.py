"""``foveal stats``: describe collections, topics, judgements and runs."""

from __future__ import annotations

import click

from foveal.cli.options import FORMATS, Command, format_option, max_bytes_option, output_option
from foveal.cli.shared import emit_result


@click.command(
    "stats",
    cls=Command,
    examples=("foveal stats wiki.fvx topics.xml qrels.txt my.run",),
)
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@click.option("-C", "--collection", metavar="INDEX", help="A collection index, for elements.")
@max_bytes_option
@format_option(FORMATS, "; a table shows the first 20 counts of a figure")
@output_option
def command(
    paths: tuple[str, ...], collection: str | None, form: str | None, output: str | None
) -> None:
    """Describe collections, topics, judgements and runs, detected from their content.

    A collection index is checked to its last byte.
    """
    from foveal.analysis.statistics import describe_files

    emit_result(describe_files(paths, collection), form, output)
