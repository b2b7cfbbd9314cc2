"""``foveal index``: build a collection index."""

from __future__ import annotations

import sys
from pathlib import Path
from time import monotonic
from types import SimpleNamespace
from typing import Any

import click
from click.core import ParameterSource

from foveal import collection as col
from foveal.cli import options as opt
from foveal.cli.shared import open_executor, say, share_bar
from foveal.errors import InputError, UsageError, escape_controls, plural
from foveal.files.memory import parse_size
from foveal.files.xml import BYTES_PER_ELEMENT

_WORTH_PROCESSES = 32 << 20
"""Bytes of source from which processes pay for their start."""
_LIMITS = ("depth", "attribute", "elements")


def _verify(paths: tuple[str, ...]) -> None:
    """Print for each index if it is whole; the exit code is 1 if one is not."""
    damaged = False
    for path in paths:
        try:
            index = col.Collection.open(path)
            index.verify()
            size = f"{plural(len(index), 'document')}, {plural(index.elements, 'element')}"
            click.echo(f"{escape_controls(path)}: whole, {size}")
        except InputError as error:
            damaged = True
            click.echo("\n".join(map(str, error.problems)))
    sys.exit(int(damaged))


@click.command(
    "index",
    cls=opt.Command,
    daily="output whitespace name_from max_errors verify shard workers",
    examples=("foveal index articles/ -o articles.fvx",),
)
@click.argument("sources", nargs=-1, required=True, metavar="SOURCE...")
@opt.options(
    f"""
    -o --output=INDEX  The index file to write.
    --whitespace={"|".join(col.WHITESPACE)}  Count all white space, runs as one, or not in text
        nodes of white space only [default: keep, or as in the indexes given].
    --name-from=path|TAG  Name documents by their path, or by the text of their first TAG element.
    --verify  Build nothing; check that the given indexes are complete.

    Overlap and limits:
    --max-errors=COUNT  Number of documents that may fail.
    --max-depth=COUNT  Largest depth of nested elements.
    --max-attribute=COUNT  Longest attribute value.
    --max-elements=COUNT  Largest number of elements, plus one per {BYTES_PER_ELEMENT} bytes.
    --max-bytes=SIZE  Longest document when unpacked.

    Workers:
    --shard=K/N  Index only the K-th of N equal shares; 'foveal index' merges their indexes.
    """,
    name_from="path",
    max_errors=0,
    max_bytes="1G",
    **{f"max_{name}": getattr(col.Limits(), name) for name in _LIMITS},
)
@opt.worker_options
@click.pass_context
def command(context: click.Context, /, sources: tuple[str, ...], **options: Any) -> None:
    """Index the elements of a collection, so that results can be XPaths.

    SOURCE is a directory, a zip or tar file (also gz, bz2, xz, zst), or one file: XML, plain
    text, Markdown, or JSON Lines with doc and text. An index is also a source: this merges shards,
    or adds documents to an index, which may be the output. The index appears only when it is
    complete.
    """
    given = SimpleNamespace(**options)
    if given.verify:
        for name in context.params.keys() - {"sources", "verify"}:
            if context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
                raise UsageError("--verify builds nothing; expected only indexes with it")
        _verify(sources)
    if given.output is None:
        raise click.UsageError("the index needs a file to write to; expected -o INDEX")
    target = Path(given.output)
    share = None if given.shard is None else col.Shard.parse(given.shard)
    began = monotonic()
    opened = col.open_sources([Path(source) for source in sources])
    indexes = [source for source in opened if isinstance(source, col.Collection)]
    limits = col.Limits(*(options[f"max_{name}"] for name in _LIMITS))
    settings = col.BuildOptions(
        whitespace=given.whitespace or (indexes[0].header["whitespace"] if indexes else "keep"),
        name_tag=None if given.name_from == "path" else given.name_from,
        max_errors=given.max_errors,
        limits=limits._replace(size=parse_size(given.max_bytes, "limit")),
    )
    documents = sum(source.size for source in opened if source not in indexes)
    worth = documents >= _WORTH_PROCESSES * (1 if share is None else share.of)
    preload = "foveal.collection.building" if worth else None
    workers = open_executor(given.workers, worth=worth, preload=preload)
    with workers as executor, share_bar("indexing") as advance:

        def progress(_documents: int, _bytes: int, done: float) -> None:
            if advance is not None:
                advance(done)

        index = col.build_index(
            opened, target, settings, shard=share, executor=executor, progress=progress
        )
    for name in ("documents", "elements", "paths", "tags", "characters"):
        found = index.header[name]
        say(f"{name:10} {len(found) if name == 'tags' else found}")
    failures, passed_over = index.header["failures"], index.header["passed_over"]
    say(f"failures   {len(failures)}")
    if passed_over:  # a document may be among them
        kinds = ", ".join(f"{what} {count}" for what, count in passed_over)
        say(f"not taken  {sum(count for _, count in passed_over)}: {kinds}")
    size, seconds = target.stat().st_size, monotonic() - began
    say(f"index      {target}, {size} bytes, {seconds:.1f} s")
    for place, message in failures:
        say(f"  {place}: {message}")
