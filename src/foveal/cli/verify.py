"""``foveal verify``: check that judged spans still have their text."""

from __future__ import annotations

from typing import Any

import click

from foveal.cli import options as opt
from foveal.cli.shared import emit, emit_result, say, warn
from foveal.cli.texts import find_texts, open_judgements
from foveal.errors import InputError, UsageError, plural, shorten_list

_SHARE = click.FloatRange(0, 1, min_open=True)


@click.command(
    "verify",
    cls=opt.Command,
    daily="judgements texts collection documents repair quote similarity form output",
    examples=(
        "foveal verify -j qrels.jsonl --texts corpus/",
        "foveal verify -j qrels.jsonl -C wiki.fvx --documents wiki.zip",
        "foveal verify -j old.jsonl --texts corpus/ --repair new.jsonl",
    ),
)
@opt.judgements_option(required=True)
@opt.collection_option("to compare the hashes of documents; takes --documents")
@opt.shared_options("texts documents name_from output")
@opt.option("--similarity", "Least similarity of a changed quote.", type=_SHARE, default=0.7)
@opt.options(
    """
    --repair=OUT  Write judgements (JSON Lines) with moved spans in their new places.
    --quote  With --repair: give spans without a quote one, with context.
    """
)
@opt.format_option(more="; json holds everything")
def command(judgements: tuple[str, ...], repair: str | None, **options: Any) -> None:
    """Check that judged spans still hold the text they quote.

    Foveal looks up every quote in its document. A quote is exact at its offset; moved if it occurs
    elsewhere, once or with the same context; ambiguous in several places; changed if only a similar
    text exists; else lost. A span without a quote must lie within its document. With an index,
    Foveal also compares the hash of every document. The exit code is 1 if anything has changed;
    with --repair, if anything was not repaired. Uncertain spans are listed and not moved.
    """
    from foveal.analysis.anchors import verify
    from foveal.formats import read_judgements
    from foveal.formats.jsonl import write_judgements

    quote, similarity = options["quote"], options["similarity"]
    if quote and repair is None:
        raise UsageError("--quote adds to the judgements that --repair writes; give it, too")
    located = open_judgements(judgements)
    truth = read_judgements(located) if isinstance(located, list) else located
    source = find_texts(judgements)
    if source is None:
        raise UsageError("no texts; give --texts PATH, or --collection with --documents SOURCE")
    rule = (truth.header or {}).get("whitespace")
    if rule is not None and rule != source.whitespace:
        text = (
            f"offsets count white space by the rule {rule!r}, but the index {source.whitespace!r}"
        )
        raise InputError.at("index.whitespace", truth.sources[0].path, None, text)
    found = verify(truth, source.read(frozenset(truth.doc)), similarity=similarity)
    mended = None if repair is None else found.repair(quote=quote)
    if mended is not None:
        emit(write_judgements(mended.judgements), repair)
    if found.changed:
        names = shorten_list(sorted(found.changed))
        warn([f"documents whose text is not what was indexed, {len(found.changed)}: {names}"])
    if found.unchecked:
        warn([f"spans without a quote, checked only by offsets: {found.unchecked}"])
    emit_result(found, options["form"], options["output"])
    sound = found.is_sound
    if mended is not None:
        sound = not mended.left
        done = [plural(mended.spans, "span"), plural(mended.entry_points, "best entry point")]
        say(f"{repair}: moved {' and '.join(done)}; quotes added: {mended.quotes}")
        for line in InputError(mended.left).lines(limit=20):
            say(line)
    if not sound:
        raise click.exceptions.Exit(1)
