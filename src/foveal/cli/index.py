"""``foveal index``: build a collection index."""

from __future__ import annotations

import os
import sys
from concurrent.futures import ProcessPoolExecutor
from contextlib import nullcontext
from multiprocessing import get_context
from pathlib import Path
from time import monotonic

import click

from foveal.collection import WHITESPACE, BuildOptions, Limits, Summary, build_index

__all__ = ["command"]

_WORTH_PROCESSES = 32 << 20
"""Bytes of source from which processes pay for their start."""


class _Progress:
    """Documents, rate and time left on one line of a terminal."""

    def __init__(self, source: Path) -> None:
        files = [source] if source.is_file() else [p for p in source.rglob("*") if p.is_file()]
        self.size = sum(path.stat().st_size for path in files)
        self.known_size = source.is_dir()
        self.began = monotonic()
        self.documents = self.bytes = 0

    def __call__(self, documents: int, size: int) -> None:
        self.documents += documents
        self.bytes += size
        seconds = max(monotonic() - self.began, 1e-3)
        rate = self.bytes / seconds
        left = f", {max(self.size - self.bytes, 0) / rate:.0f} s left" if self.known_size else ""
        text = f"{self.documents} documents, {rate / 1e6:.1f} MB/s{left}"
        click.echo(f"\rindexing: {text:60}", err=True, nl=False)

    def done(self) -> None:
        click.echo(err=True)


def _summary(summary: Summary, output: str, seconds: float) -> str:
    lines = [
        f"documents  {summary.documents}",
        f"elements   {summary.elements}",
        f"paths      {summary.paths}",
        f"tags       {summary.tags}",
        f"characters {summary.characters}",
        f"failures   {len(summary.failures)}",
        f"index      {output}, {Path(output).stat().st_size} bytes, {seconds:.1f} s",
    ]
    lines += [f"  {place}: {message}" for place, message in summary.failures]
    return "\n".join(lines)


@click.command("index", epilog="Example: foveal index articles/ -o articles.fvx")
@click.argument("source")
@click.option("-o", "--output", required=True, metavar="INDEX", help="The index file to write.")
@click.option(
    "--whitespace",
    type=click.Choice(WHITESPACE),
    default="keep",
    show_default=True,
    help="Count white space as it is, runs as one, or not in text nodes of white space only.",
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
    "-w",
    "--workers",
    type=click.IntRange(min=1),
    metavar="N",
    help="Processes [default: one per core when the work is worth it].",
)
def command(
    source: str,
    output: str,
    whitespace: str,
    name_from: str,
    max_errors: int,
    max_depth: int,
    max_attribute: int,
    workers: int | None,
) -> None:
    """Index the elements of a collection, so that results can be XPaths.

    SOURCE is a directory, a zip or tar file (also gz, bz2, xz, zst), or one file: XML, plain
    text, Markdown, or JSON Lines with doc and text. A build that was interrupted goes on where it
    stopped when it is started again.
    """
    options = BuildOptions(
        whitespace=whitespace,
        name_tag=None if name_from == "path" else name_from,
        max_errors=max_errors,
        limits=Limits(depth=max_depth, attribute=max_attribute),
    )
    progress = _Progress(Path(source)) if sys.stderr.isatty() else None
    if workers is None:
        size = (progress or _Progress(Path(source))).size
        workers = os.cpu_count() or 1 if size >= _WORTH_PROCESSES else 1
    began = monotonic()
    pool = ProcessPoolExecutor(workers, mp_context=get_context("spawn")) if workers > 1 else None
    with pool or nullcontext() as executor:
        summary = build_index(
            Path(source),
            Path(output),
            options,
            executor=executor,
            ahead=2 * workers,
            progress=progress,
        )
    if progress is not None:
        progress.done()
    click.echo(_summary(summary, output, monotonic() - began), err=True)
