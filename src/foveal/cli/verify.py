"""``foveal verify``: check that judged spans still have their text."""

from __future__ import annotations

import click

from foveal.cli import options as opt
from foveal.cli.shared import emit, emit_result, say, warn
from foveal.cli.texts import find_texts, open_judgements
from foveal.errors import InputError, UsageError, counted, some


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
@opt.documents_option
@opt.texts_option
@opt.name_from_option
@opt.option(
    "--similarity",
    "Least similarity of a text that counts as a changed quote.",
    type=click.FloatRange(0, 1, min_open=True),
    default=0.7,
)
@opt.option(
    "--repair=OUT", "Write judgements (JSON Lines) in which moved spans are where they are now."
)
@opt.option("--quote", "With --repair: give spans without a quote one, with context.")
@opt.format_option(more="; json holds everything")
@opt.output_option
def command(
    judgements: tuple[str, ...],
    similarity: float,
    repair: str | None,
    form: str | None,
    output: str | None,
    *,
    quote: bool,
    **_: str | None,
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
    from foveal.formats.jsonl import write_judgements

    if quote and repair is None:
        raise UsageError("--quote adds to the judgements that --repair writes; give it, too")
    located = open_judgements(judgements)
    truth = read_judgements(located) if isinstance(located, list) else located
    source = find_texts(judgements)
    if source is None:
        raise UsageError(
            "the texts of the documents are needed; give --texts PATH, or --collection INDEX with "
            "--documents SOURCE (an index holds no texts)"
        )
    rule = (truth.header or {}).get("whitespace")
    if rule is not None and rule != source.whitespace:
        text = (
            f"offsets count white space by the rule {rule!r}, but the index {source.whitespace!r}"
        )
        raise InputError.at("index.whitespace", truth.sources[0].path, None, text)
    found = verify(truth, source.read(frozenset(truth.doc)), similarity=similarity)
    mended = None if repair is None else found.repaired(quote=quote)
    if mended is not None:
        emit(write_judgements(mended.judgements), repair)
    if found.changed:
        names = some(sorted(found.changed))
        warn([f"documents whose text is not what was indexed, {len(found.changed)}: {names}"])
    if found.unchecked:
        warn([f"spans without a quote, of which only offsets are checked: {found.unchecked}"])
    emit_result(found, form, output)
    sound = found.is_sound
    if mended is not None:
        sound = not mended.left
        done = [counted(mended.spans, "span"), counted(mended.entry_points, "best entry point")]
        say(f"{repair}: moved {' and '.join(done)}; quotes added: {mended.quotes}")
        for line in InputError(mended.left).lines(limit=20):
            say(line)
    if not sound:
        raise click.exceptions.Exit(1)
