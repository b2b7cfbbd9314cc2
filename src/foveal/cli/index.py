"""``foveal index``: build a collection index."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from concurrent.futures import Executor, ProcessPoolExecutor
from contextlib import closing, contextmanager, nullcontext
from multiprocessing import get_context, parent_process
from pathlib import Path
from threading import Thread
from time import monotonic

import click

from foveal.collection import WHITESPACE, BuildOptions, Limits, Source, Summary, build_index
from foveal.collection.safety import BYTES_PER_ELEMENT

__all__ = ["command"]

_WORTH_PROCESSES = 32 << 20
"""Bytes of source from which processes pay for their start."""


class _Progress:
    """Documents, rate and time left on one line of a terminal."""

    def __init__(self) -> None:
        self.began = monotonic()
        self.first: tuple[float, float] | None = None
        """When the first batch was done, and how much of the source then: an earlier attempt may
        have done a part."""
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


def _prepare_worker() -> None:
    """Leave an interruption to the parent, and end with it however it ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = parent_process()

    def follow() -> None:
        if parent is not None:
            parent.join()
            os._exit(1)

    Thread(target=follow, daemon=True).start()


@contextmanager
def _executor(workers: int) -> Iterator[Executor | None]:
    if workers == 1:
        yield None
        return
    context = get_context("spawn")
    with ProcessPoolExecutor(workers, context, initializer=_prepare_worker) as pool:
        yield pool


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
    type=click.IntRange(min=1),
    default=Limits().size,
    show_default=True,
    help="Longest document that is accepted, when it is no longer compressed.",
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
    max_expansion: int,
    max_elements: int,
    max_bytes: int,
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
        limits=Limits(max_depth, max_attribute, max_expansion, max_elements, max_bytes),
    )
    began = monotonic()
    collection = Source(Path(source))
    if workers is None:
        workers = os.cpu_count() or 1 if collection.size >= _WORTH_PROCESSES else 1
    progress = _Progress() if sys.stderr.isatty() else None
    with _executor(workers) as executor, closing(progress) if progress else nullcontext():
        summary = build_index(
            collection,
            Path(output),
            options,
            executor=executor,
            ahead=2 * workers,
            progress=progress,
        )
    click.echo(_summary(summary, output, monotonic() - began), err=True)
