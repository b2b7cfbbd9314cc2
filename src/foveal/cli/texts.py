"""Runs and judgements that must be read before scoring.

They come from standard input, or need the texts of the documents (--texts, or -C with --documents).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import click

from foveal.cli.shared import STDIN, TEXTS_USED
from foveal.errors import UsageError

if TYPE_CHECKING:
    from foveal.collection import SourceTexts
    from foveal.evaluation.evaluation import RunLike
    from foveal.files.source import Source
    from foveal.model import Judgements, Run

_HEAD = 1 << 16


def find_texts(judgements: Iterable[str | None] = ()) -> SourceTexts | None:
    """Return the source of texts that --texts, or -C with --documents, names; else None.

    Without an index, white space counts as the header of the judgements declares.
    """
    context = click.get_current_context(silent=True)
    given = {} if context is None else context.params
    texts, collection, documents = map(given.get, ("texts", "collection", "documents"))
    if texts is None and (collection is None or documents is None):
        return None
    if texts is not None and documents is not None:
        raise UsageError("--texts and --documents both say where the texts are; give one")
    from foveal.collection import Collection, SourceTexts
    from foveal.files.source import Source, is_stream, list_files, read_head
    from foveal.formats.jsonl import read_whitespace_rule

    index = None if collection is None else Collection.open(collection)
    paths = [path for path in judgements if path is not None and not is_stream(path)]
    rules = (
        read_whitespace_rule(Source(str(file), read_head(str(file), _HEAD), None))
        for file in (list_files(paths, "judgements") if paths and collection is None else ())
    )
    rule = next(filter(None, rules), "keep") if index is None else index.whitespace
    source = texts or documents or ""
    return SourceTexts(source, given.get("name_from"), whitespace=rule, index=index)


def open_runs(paths: Sequence[str], *others: str | None) -> list[RunLike]:
    """Read the runs that need it: standard input, and with texts all of them.

    Results that are given by their text are located in the documents, and offsets in bytes or
    UTF-16 units converted. `others` are further inputs of the command.
    """
    from foveal.files.source import Source
    from foveal.formats import read_run

    if [*paths, *others].count(STDIN) > 1:
        raise UsageError("standard input can be read only once")
    if (texts := find_texts(others)) is not None:
        return [*locate_results([Source.open(path) for path in paths], texts)]
    return [read_run(path) if path == STDIN else path for path in paths]


def open_judgements(paths: Sequence[str]) -> Judgements | list[str]:
    """Read judgements from standard input or with texts; return the paths of others."""
    from foveal.files.source import Source
    from foveal.formats import read_judgements

    opened = [Source.open(path) if path == STDIN else path for path in paths]
    if (located := locate_judgements(opened)) is not None:
        return located
    return read_judgements(opened) if STDIN in paths else [*paths]


def locate_results(sources: Sequence[Source], texts: SourceTexts) -> list[Run]:
    """Read runs whose results may be given by their text, or by offsets in other units."""
    from foveal.formats import read_run

    read = needed_texts(sources, texts)
    return [read_run(source, texts=read) for source in sources]


def needed_texts(sources: Sequence[Source | str], texts: SourceTexts) -> dict[str, str]:
    """Return the texts of the documents that runs need."""
    from foveal.files.source import Source
    from foveal.formats.jsonl import find_needed_documents

    opened = [own if isinstance(own, Source) else Source.open(own) for own in sources]
    docs = frozenset[str]().union(*(find_needed_documents(source, "text")[0] for source in opened))
    return _read(texts, docs) if docs else {}


def locate_judgements(
    paths: Sequence[str | Source], *, thorough: bool = False
) -> Judgements | None:
    """Read judgements that need the texts which the options name; None if they need none."""
    texts = find_texts(path for path in paths if isinstance(path, str))
    if texts is None:
        return None
    from foveal.files.source import Source, list_files
    from foveal.formats import read_judgements
    from foveal.formats.jsonl import find_needed_documents

    sources = [
        file if isinstance(file, Source) else Source.open(file, thorough=thorough)
        for file in list_files(paths, "judgements")
    ]
    needed = [find_needed_documents(source, "quote") for source in sources]
    docs = frozenset[str]().union(*(names for names, _ in needed))
    every = any(own for _, own in needed)
    if not docs and not every:
        return None
    return read_judgements(sources, texts=_read(texts, docs, every=every))


def _read(texts: SourceTexts, docs: frozenset[str], *, every: bool = False) -> dict[str, str]:
    click.get_current_context().meta[TEXTS_USED] = True
    return {own.doc: own.text for own in texts.read(docs, every=every)}
