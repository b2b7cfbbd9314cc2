"""Runs in JSON Lines whose results are given by their text."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from foveal.formats import Source, read_run
from foveal.formats.locate import TextLocator
from foveal.model import Run


def locate_results(
    run: str | Path | Source,
    texts: Mapping[str, str] | TextLocator,
    *,
    ambiguous: str = "error",
    missing: str = "error",
) -> Run:
    """Read a run of JSON Lines in which results may be given by their `text` alone.

    Parameters
    ----------
    run : path or Source
        Results with offsets keep them; a run of another format is read as it is.
    texts : mapping of str to str, or TextLocator
        The text of each document. A locator remembers what it found for the next run.
    ambiguous, missing : str
        Texts without exactly one place, as for `foveal.run_of`.

    Examples
    --------
    >>> line = '{"topic": "1", "doc": "d", "text": "or not"}'
    >>> run = locate_results(Source.of_text(line, "a.jsonl"), {"d": "To be, or not to be."})
    >>> run.start.tolist(), run.end.tolist(), run.notes
    ([7], [13], ('spans located by their text: 1',))
    """
    locator = texts if isinstance(texts, TextLocator) else TextLocator(texts, ambiguous, missing)
    return read_run(run, texts=locator)


align = locate_results
"""The name that `foveal` exports."""
