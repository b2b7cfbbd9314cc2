"""``foveal verify``: check that judged spans still have their text."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from foveal.cli.options import (
    FORMATS,
    Command,
    collection_option,
    format_option,
    judgements_option,
    output_option,
)
from foveal.cli.shared import emit_result, say, warn
from foveal.cli.texts import open_judgements
from foveal.errors import InputError, UsageError, counted

if TYPE_CHECKING:
    from foveal.analysis.anchors import Anchors, Repair
    from foveal.collection import SourceTexts
    from foveal.model import Judgements


_MOST = 20
"""Lines about what is not mended."""


@click.command(
    "verify",
    cls=Command,
    daily="judgements texts collection documents repair quote similarity form output",
    examples=(
        "foveal verify -j qrels.jsonl --texts corpus/",
        "foveal verify -j qrels.jsonl -C wiki.fvx --documents wiki.zip",
        "foveal verify -j old.jsonl --texts corpus/ --repair new.jsonl",
    ),
)
@judgements_option(required=True)
@collection_option("to compare the hashes of documents; takes --documents")
@click.option("--documents", metavar="SOURCE", help="The directory or archive that was indexed.")
@click.option(
    "--texts",
    metavar="PATH",
    help='Without an index: a directory or archive of documents, or JSON Lines of "doc", "text".',
)
@click.option(
    "--name-from",
    metavar="TAG",
    help="Documents are named by their first such element, as in 'foveal index'.",
)
@click.option(
    "--similarity",
    type=click.FloatRange(0, 1, min_open=True),
    default=0.7,
    show_default=True,
    help="Least similarity of a text that counts as a changed quote.",
)
@click.option(
    "--repair",
    metavar="OUT",
    help="Write judgements (JSON Lines) in which moved spans are where they are now.",
)
@click.option(
    "--quote", is_flag=True, help="With --repair: give spans without a quote one, with context."
)
@format_option(FORMATS, "; json holds everything")
@output_option
def command(
    judgements: tuple[str, ...],
    collection: str | None,
    documents: str | None,
    texts: str | None,
    name_from: str | None,
    similarity: float,
    repair: str | None,
    *,
    quote: bool,
    form: str | None,
    output: str | None,
) -> None:
    """Do judged spans still hold the text they quote?

    Every span of the judgements is looked up in its document: exact, where the quote is at its
    offset; moved, where it is elsewhere, once or with the context it had; ambiguous, where it is
    in several places; changed, where something like it is; lost. A span without a quote is only
    checked to be within its document. With an index, the hash of every document is compared, too.

    The exit code is 1 if something is not as it was; with --repair, if something is left so.
    Entry points move with the spans around them. What is not certain is listed and left alone.
    """
    from foveal.analysis.anchors import verify
    from foveal.formats import read_judgements

    if quote and repair is None:
        raise UsageError("--quote adds to the judgements that --repair writes; give it, too")
    if repair is not None:
        _check_not_read(repair, judgements)
    if texts is not None and collection is not None:
        raise UsageError(
            "--texts is for documents without an index; with --collection give --documents"
        )
    located = open_judgements(judgements)
    truth = read_judgements(located) if isinstance(located, list) else located
    source = _source(truth, texts, collection, documents, name_from)
    found = verify(truth, source.read(frozenset(truth.doc)), similarity=similarity)
    warn(_warnings(found))
    emit_result(found, form, output)
    sound = found.is_sound
    if repair is not None:
        mended = found.repaired(quote=quote)
        sound = not mended.left
        _deliver(mended, repair)
    if not sound:
        sys.stdout.flush()
        sys.exit(1)


def _check_not_read(path: str, judgements: tuple[str, ...]) -> None:
    """Refuse to write over the judgements that are read."""
    target = Path(os.path.realpath(path))
    for given in judgements:
        place = Path(os.path.realpath(given))
        if target == place or (place.is_dir() and target.is_relative_to(place)):
            raise UsageError(f"{path} is read as judgements; --repair takes another file")


def _source(
    truth: Judgements,
    texts: str | None,
    collection: str | None,
    documents: str | None,
    name_from: str | None,
) -> SourceTexts:
    """Return the source of the texts, with the white space rule of the judgements."""
    from foveal.collection import SourceTexts

    rule = (truth.header or {}).get("whitespace")
    source = SourceTexts.given(
        texts, collection, documents, name_tag=name_from, whitespace=rule or "keep"
    )
    if source is None:
        raise UsageError(
            "the texts of the documents are needed; give --texts PATH, or --collection INDEX with "
            "--documents SOURCE (an index holds no texts)"
        )
    if rule is not None and rule != source.whitespace:
        raise InputError.at(
            "index.whitespace",
            truth.sources[0].path,
            None,
            f"offsets count white space by the rule {rule!r}, but the index {collection} was built "
            f"with {source.whitespace!r}",
        )
    return source


def _warnings(found: Anchors) -> list[str]:
    other = [doc for doc, own in found.documents.items() if own.as_indexed is False]
    said = []
    if other:
        named = ", ".join(other[:3]) + (", ..." if len(other) > 3 else "")
        said.append(f"documents whose text is not what was indexed, {len(other)}: {named}")
    if found.unchecked:
        said.append(f"spans without a quote, of which only offsets are checked: {found.unchecked}")
    return said


def _deliver(mended: Repair, path: str) -> None:
    """Write the repaired judgements, and print what was repaired and what was not."""
    from foveal.formats import write_judgements

    write_judgements(mended.judgements, path, "jsonl")
    done = [counted(mended.spans, "span"), counted(mended.entry_points, "best entry point")]
    quotes = f"; quotes added: {mended.quotes}" if mended.quotes else ""
    say(f"{path}: moved {' and '.join(done)}{quotes}")
    for line in mended.left[:_MOST]:
        say(line)
    if len(mended.left) > _MOST:
        say(f"... and {len(mended.left) - _MOST} more left as they are")
