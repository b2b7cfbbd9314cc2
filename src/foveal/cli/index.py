"""``foveal index``: build a collection index."""

from __future__ import annotations

import sys
from contextlib import closing, nullcontext
from pathlib import Path
from time import monotonic

import click

from foveal.cli.executors import executor
from foveal.cli.options import worker_options
from foveal.cli.shared import say
from foveal.collection import (
    WHITESPACE,
    BuildOptions,
    Collection,
    Limits,
    Shard,
    Summary,
    build_index,
    open_sources,
)
from foveal.collection.building import IndexSource
from foveal.errors import InputError, UsageError, counted, escape_controls
from foveal.files.memory import parse_size
from foveal.files.xml import BYTES_PER_ELEMENT

__all__ = ["command"]

_WORTH_PROCESSES = 32 << 20
"""Bytes of source from which processes pay for their start."""


class _BuildProgress:
    """Documents, rate and time left on one line of a terminal."""

    def __init__(self) -> None:
        self.began = monotonic()
        self.first: tuple[float, float] | None = None
        """When the first batch was done, and the share of the source then."""
        self.documents = self.bytes = 0

    def __call__(self, documents: int, size: int, done: float) -> None:
        self.documents += documents
        self.bytes += size
        now = monotonic()
        rate = self.bytes / max(now - self.began, 1e-3) / 1e6
        when, before = self.first = self.first or (now, done)
        left = (
            f", {(now - when) * (1 - done) / (done - before):.0f} s left" if done > before else ""
        )
        text = f"{done:4.0%}, {self.documents} documents, {rate:.1f} MB/s{left}"
        click.echo(f"\rindexing: {text:60}", err=True, nl=False)

    def close(self) -> None:
        if self.first is not None:
            click.echo(err=True)


def _summary(summary: Summary, output: str, seconds: float) -> str:
    lines = [
        f"documents  {summary.documents}",
        f"elements   {summary.elements}",
        f"paths      {summary.paths}",
        f"tags       {summary.tags}",
        f"characters {summary.characters}",
        f"failures   {len(summary.failures)}",
        *_passed_over(summary),
        f"index      {output}, {Path(output).stat().st_size} bytes, {seconds:.1f} s",
    ]
    lines += [f"  {place}: {message}" for place, message in summary.failures]
    return "\n".join(lines)


def _passed_over(summary: Summary) -> list[str]:
    """A line on what was not taken, where there is anything: a document may be among it."""
    if not summary.passed_over:
        return []
    total = sum(count for _, count in summary.passed_over)
    kinds = ", ".join(f"{what} {count}" for what, count in summary.passed_over)
    return [f"not taken  {total}: {kinds}"]


def _verify(paths: tuple[str, ...]) -> None:
    """Say of each index whether it is whole, and end with exit code 1 if one is not."""
    damaged = False
    for path in paths:
        try:
            index = Collection.open(path)
            index.verify()
        except InputError as error:
            damaged = True
            for problem in error.problems:
                click.echo(str(problem))
        else:
            documents = counted(len(index), "document")
            click.echo(
                f"{escape_controls(path)}: whole, {documents}, {counted(index.elements, 'element')}"
            )
    if damaged:
        sys.exit(1)


@click.command("index", epilog="Example: foveal index articles/ -o articles.fvx")
@click.argument("sources", nargs=-1, required=True, metavar="SOURCE...")
@click.option("-o", "--output", metavar="INDEX", help="The index file to write.")
@click.option(
    "--shard",
    metavar="K/N",
    help="Index only the K-th of N shares, as large as the others; all of them make one index.",
)
@click.option(
    "--verify", is_flag=True, help="Build nothing: check that the indexes given are whole."
)
@click.option(
    "--whitespace",
    type=click.Choice(WHITESPACE),
    help="Count white space as it is, runs as one, or not in text nodes of white space only "
    "[default: keep, or as in the indexes given].",
)
@click.option(
    "--name-from",
    default="path",
    show_default=True,
    metavar="path|TAG",
    help="Name documents by their path, or by the text of their first TAG element (id).",
)
@click.option(
    "--max-errors",
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    help="Documents that may fail before the build does.",
)
@click.option(
    "--max-depth",
    type=click.IntRange(min=1),
    default=Limits().depth,
    show_default=True,
    help="Deepest nesting of elements that is accepted.",
)
@click.option(
    "--max-attribute",
    type=click.IntRange(min=1),
    default=Limits().attribute,
    show_default=True,
    help="Longest attribute value that is accepted.",
)
@click.option(
    "--max-expansion",
    type=click.IntRange(min=0),
    default=Limits().expansion,
    show_default=True,
    help="Characters that entities may add to a document.",
)
@click.option(
    "--max-elements",
    type=click.IntRange(min=1),
    default=Limits().elements,
    show_default=True,
    help=f"Elements of any document; a longer one may have one more per {BYTES_PER_ELEMENT} bytes.",
)
@click.option(
    "--max-bytes",
    callback=lambda _context, _option, value: parse_size(value, "limit"),
    default="1G",
    show_default=True,
    metavar="SIZE",
    help="Longest document that is accepted, when it is no longer compressed.",
)
@worker_options
def command(
    sources: tuple[str, ...],
    output: str | None,
    shard: str | None,
    verify: bool,  # noqa: FBT001 - click passes it by name
    whitespace: str | None,
    name_from: str,
    max_errors: int,
    max_depth: int,
    max_attribute: int,
    max_expansion: int,
    max_elements: int,
    max_bytes: int,
    workers: int | None,
    dask: str | None,
) -> None:
    """Index the elements of a collection, so that results can be XPaths.

    SOURCE is a directory, a zip or tar file (also gz, bz2, xz, zst), or one file: XML, plain
    text, Markdown, or JSON Lines with doc and text. An index is taken over without parsing its
    documents again: so shards are put together, and documents added to an index, which may be
    the output. The index appears only when it is complete.
    """
    if verify:
        if output is not None or shard is not None:
            raise UsageError("--verify builds nothing; expected only indexes with it")
        _verify(sources)
        return
    if output is None:
        raise click.UsageError("there is no place for the index; expected -o INDEX")
    share = None if shard is None else Shard.parse(shard)
    began = monotonic()
    opened = open_sources([Path(source) for source in sources])
    indexes = [source for source in opened if isinstance(source, IndexSource)]
    options = BuildOptions(
        whitespace=whitespace or (indexes[0].header["whitespace"] if indexes else "keep"),
        name_tag=None if name_from == "path" else name_from,
        max_errors=max_errors,
        limits=Limits(max_depth, max_attribute, max_expansion, max_elements, max_bytes),
    )
    del dask  # which `executor` looks up
    progress = _BuildProgress() if sys.stderr.isatty() else None
    documents = sum(source.size for source in opened if source not in indexes)
    worth = documents >= _WORTH_PROCESSES * (1 if share is None else share.of)
    shown = closing(progress) if progress else nullcontext()
    ahead = "foveal.collection.building" if worth else None
    with executor(workers, worth=worth, ahead=ahead) as pool, shown:
        summary = build_index(
            opened,
            Path(output),
            options,
            shard=share,
            executor=pool,
            progress=progress,
        )
    say(_summary(summary, output, monotonic() - began))
