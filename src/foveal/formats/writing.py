"""Writing runs, judgements and topics in any format."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from foveal.errors import UsageError
from foveal.files.atomic import write_file, write_folder
from foveal.files.source import STDIN
from foveal.formats import elements, fol, inex_runs, jsonl, jsonl_judgements, parquet, trec
from foveal.formats.inex_assessments import FOLDER_FORMATS
from foveal.formats.topic_files import TOPIC_FORMATS
from foveal.model import Judgements, Run, Topics

__all__ = [
    "JUDGEMENT_FORMATS",
    "RUN_FORMATS",
    "write_judgements",
    "write_run",
    "write_topics",
]

RUN_FORMATS: dict[str, Callable[[Run], str | bytes]] = {
    "fol": fol.write_run,
    "elements": elements.write_run,
    "trec": trec.write_run,
    "jsonl": jsonl.write_run,
    "parquet": parquet.write_run,
    "inex": inex_runs.write_run,
}
"""Name of a run format and the function that writes it."""

JUDGEMENT_FORMATS: dict[str, Callable[[Judgements], str]] = {
    "fol": fol.write_judgements,
    "trec": trec.write_judgements,
    "jsonl": jsonl_judgements.write_judgements,
}
"""Name of a judgement format and the function that writes it."""


def write_run(run: Run, path: str | Path, form: str) -> None:
    """Write a run in one of `RUN_FORMATS`, completely or not at all; ``-`` is the output."""
    write_file(path, _choose(RUN_FORMATS, form)(run))


def write_judgements(judgements: Judgements, path: str | Path, form: str) -> None:
    """Write judgements in one of `JUDGEMENT_FORMATS`, completely or not at all.

    The formats of `FOLDER_FORMATS` make a folder of complete files; ``-`` is standard output for
    the others.
    """
    if form in FOLDER_FORMATS:
        if str(path) == STDIN:
            raise UsageError(f"{form} is a folder of files; expected the name of one")
        write_folder(path, FOLDER_FORMATS[form](judgements))
    else:
        known = {**JUDGEMENT_FORMATS, **FOLDER_FORMATS}
        write_file(path, _choose(known, form)(judgements))


def write_topics(topics: Topics, path: str | Path, form: str) -> None:
    """Write topics in one of `TOPIC_FORMATS`, completely or not at all; ``-`` is the output."""
    write_file(path, _choose(TOPIC_FORMATS, form)(topics))


def _choose(known: Mapping[str, Callable[..., Any]], form: str) -> Callable[..., Any]:
    if form not in known:
        raise UsageError(f"unknown format {form!r}; expected {' or '.join(known)}")
    return known[form]
