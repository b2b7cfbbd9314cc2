"""``foveal index``: build a collection index."""

from __future__ import annotations

import sys
from contextlib import closing, nullcontext
from pathlib import Path
from time import monotonic
from typing import Any

import click
from click.core import ParameterSource

from foveal.cli.options import LIMITS, POSITIVE, WORKERS, Command, option, worker_options
from foveal.cli.shared import open_executor, say
from foveal.collection import (
    WHITESPACE,
    BuildOptions,
    Collection,
    Limits,
    Shard,
    build_index,
    open_sources,
)
from foveal.collection.building import IndexSource
from foveal.errors import InputError, UsageError, counted, escape_controls
from foveal.files.memory import parse_size
from foveal.files.xml import BYTES_PER_ELEMENT

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


def _verify(paths: tuple[str, ...]) -> None:
    """Print for each index if it is whole; the exit code is 1 if one is not."""
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


@click.command(
    "index",
    cls=Command,
    daily="output whitespace name_from max_errors verify shard workers",
    examples=("foveal index articles/ -o articles.fvx",),
)
@click.argument("sources", nargs=-1, required=True, metavar="SOURCE...")
@option("-o --output=INDEX", "The index file to write.")
@option(
    "--whitespace",
    "Count white space as it is, runs as one, or not in text nodes of white space only "
    "[default: keep, or as in the indexes given].",
    type=click.Choice(WHITESPACE),
)
@option(
    "--name-from=path|TAG",
    "Name documents by their path, or by the text of their first TAG element.",
    default="path",
)
@option("--verify", "Build nothing: check that the indexes given are whole.")
@option(
    "--shard=K/N",
    "Index only the K-th of N equal shares; 'foveal index' merges their indexes.",
    WORKERS,
)
@option(
    "--max-errors",
    "Number of documents that may fail.",
    LIMITS,
    type=click.IntRange(min=0),
    default=0,
)
@option(
    "--max-depth", "Deepest nesting of elements.", LIMITS, type=POSITIVE, default=Limits().depth
)
@option(
    "--max-attribute", "Longest attribute value.", LIMITS, type=POSITIVE, default=Limits().attribute
)
@option(
    "--max-elements",
    f"Most elements of a document, and one more per {BYTES_PER_ELEMENT} bytes.",
    LIMITS,
    type=POSITIVE,
    default=Limits().elements,
)
@option(
    "--max-bytes=SIZE",
    "Longest document when unpacked.",
    LIMITS,
    callback=lambda _context, _option, value: parse_size(value, "limit"),
    default="1G",
)
@worker_options
def command(
    sources: tuple[str, ...],
    output: str | None,
    shard: str | None,
    whitespace: str | None,
    name_from: str,
    workers: int | None,
    *,
    verify: bool,
    **limits: Any,
) -> None:
    """Index the elements of a collection, so that results can be XPaths.

    SOURCE is a directory, a zip or tar file (also gz, bz2, xz, zst), or one file: XML, plain
    text, Markdown, or JSON Lines with doc and text. An index is also a source: this merges shards,
    or adds documents to an index, which may be the output. The index appears only when it is
    complete.
    """
    if verify:
        context = click.get_current_context()
        for name in context.params.keys() - {"sources", "verify"}:
            if context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
                raise UsageError("--verify builds nothing; expected only indexes with it")
        _verify(sources)
        return
    if output is None:
        raise click.UsageError("there is no place for the index; expected -o INDEX")
    share = None if shard is None else Shard.parse(shard)
    began = monotonic()
    opened = open_sources([Path(source) for source in sources])
    indexes = [source for source in opened if isinstance(source, IndexSource)]
    bounds = ("depth", "attribute", "elements", "bytes")
    options = BuildOptions(
        whitespace=whitespace or (indexes[0].header["whitespace"] if indexes else "keep"),
        name_tag=None if name_from == "path" else name_from,
        max_errors=limits["max_errors"],
        limits=Limits(*(limits[f"max_{name}"] for name in bounds)),
    )
    progress = _BuildProgress() if sys.stderr.isatty() else None
    documents = sum(source.size for source in opened if source not in indexes)
    worth = documents >= _WORTH_PROCESSES * (1 if share is None else share.of)
    shown = closing(progress) if progress else nullcontext()
    preload = "foveal.collection.building" if worth else None
    with open_executor(workers, worth=worth, preload=preload) as pool, shown:
        index = build_index(
            opened, Path(output), options, shard=share, executor=pool, progress=progress
        )
    header = index.header
    names = ("documents", "elements", "paths", "tags", "characters", "failures")
    figures = {name: header[name] for name in names}
    figures |= {name: len(header[name]) for name in ("tags", "failures")}
    if header["passed_over"]:  # a document may be among them
        total = sum(count for _, count in header["passed_over"])
        kinds = ", ".join(f"{what} {count}" for what, count in header["passed_over"])
        figures["not taken"] = f"{total}: {kinds}"
    size, seconds = Path(output).stat().st_size, monotonic() - began
    figures["index"] = f"{output}, {size} bytes, {seconds:.1f} s"
    for name, figure in figures.items():
        say(f"{name:10} {figure}")
    for place, message in header["failures"]:
        say(f"  {place}: {message}")
