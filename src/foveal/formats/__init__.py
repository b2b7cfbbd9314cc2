"""Read and write files; the format is recognised by the content, never only by the name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from foveal.errors import InputError, Problem, UsageError
from foveal.files.source import STDIN, Source, list_files
from foveal.formats.base import (
    Format,
    Parsed,
    detect_format,
    find_format,
    found_kind,
    head_fields,
    list_formats,
)
from foveal.model import Judgements, Run

if TYPE_CHECKING:
    from foveal.formats.cache import CacheWarning
    from foveal.formats.pool_files import read_pool, write_pool
    from foveal.formats.result_files import read_results
    from foveal.formats.topic_files import read_topics
    from foveal.model import Topics

__all__ = [
    "CacheWarning",
    "Format",
    "Parsed",
    "Source",
    "detect_format",
    "find_format",
    "found_kind",
    "judgement_files",
    "kind_of",
    "list_formats",
    "parse_run",
    "read_judgements",
    "read_pool",
    "read_results",
    "read_run",
    "read_topics",
    "write_judgements",
    "write_pool",
    "write_run",
    "write_topics",
]

_HOME = {
    "CacheWarning": "cache",
    "read_pool": "pool_files",
    "read_results": "result_files",
    "read_topics": "topic_files",
    "write_pool": "pool_files",
}
"""Names that are loaded when they are asked for, and their modules."""


def __getattr__(name: str) -> Any:
    """Load what reading a run or judgements does not need."""
    if name in _HOME:
        return getattr(import_module(f"foveal.formats.{_HOME[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


# -- reading ---------------------------------------------------------------------------------------


def read_run(
    path: str | Path | Source,
    *,
    texts: Mapping[str, str] | None = None,
    thorough: bool = False,
    cache: str | Path | None = None,
    hashed: bool = True,
) -> Run:
    """Read a run of any format.

    Parameters
    ----------
    path : path, ``"-"`` for standard input, or Source
    texts : mapping of document name to text, optional
        Needed where offsets are declared in bytes or UTF-16 units.
    thorough : bool
        Count the fields that are not known, for `Run.unread`.
    cache : path, optional
        A folder in which runs are kept as columns, so that reading the same file again skips
        parsing. It is safe to delete. Not used with `texts`.
    hashed : bool
        Keep the hash of the file in `Run.source`. It takes a tenth of the time of scoring. A
        cache needs it.
    """
    source = path
    if not isinstance(source, Source):
        source = Source.open(source, thorough=thorough, hashed=hashed or cache is not None)
    if cache is None or texts is not None:
        parsed: tuple[Run, list[Problem]] = parse_run(source, texts=texts)
        if parsed[1]:
            raise InputError(parsed[1])
        return parsed[0]
    from foveal.formats.cache import RunCache

    source, kept = source.in_lines(), RunCache(cache)
    found = kept.find(source)
    if found is None:
        found = parse_run(source).checked()
        kept.keep(source, found)
    return found


def parse_run(source: Source, *, texts: Mapping[str, str] | None = None) -> Parsed:
    """Return the run of all good lines of a file, and everything wrong with the others.

    A file that is not a run at all is refused.

    >>> lines = "1 Q0 d 1 9 mine 0 4", "1 Q0 d 2 x mine 4 2", "1 Q0 e 3 7 mine -5 2"
    >>> parsed = parse_run(Source.of_text(chr(10).join(lines), "a.run"))
    >>> parsed.content
    <Run 'mine': 1 results, 1 topics>
    >>> for problem in parsed.problems:
    ...     print(problem.code, problem)
    line.number a.run:2: score 'x' is not a number
    span.offset a.run:3: start -5 is negative; expected an offset from 0
    """
    if source.head[1].startswith(b"["):
        source = source.in_lines()
    try:
        run, problems = detect_format(source, "run").read(source, texts)
    except InputError:
        if not (left := _drop_odd_opening(source)):
            raise
        problems = []
    else:
        left = _drop_odd_opening(source) if problems else None
    if left:
        source, odd = left
        run, problems = detect_format(source, "run").read(source, texts)
        problems = [*odd, *problems]
    if run is not None and not len(run):
        run = None
        if not problems:
            message = "the run is empty: it holds no result"
            problems = [Problem("run.empty", source.path, None, message)]
    return Parsed(run, sorted(problems, key=lambda problem: problem.line or 0))


def _drop_odd_opening(source: Source) -> tuple[Source, list[Problem]] | None:
    """Return a run of lines without first lines that have other fields than most, if any do."""
    if not head_fields(source):
        return None
    from foveal.formats.fields import drop_undecodable, find_odd_opening

    source, undecodable = drop_undecodable(source)
    odd = find_odd_opening(source)
    if not odd:
        return None
    lines = source.data.split(b"\n")
    for problem in odd:
        lines[source.place(problem.line or 0) - 1] = b""
    return replace(source, data=b"\n".join(lines)), [*undecodable, *odd]


def read_judgements(
    paths: str | Path | Source | Sequence[str | Path | Source],
    *,
    texts: Mapping[str, str] | None = None,
    thorough: bool = False,
) -> Judgements:
    """Read judgements of any format; several files, a directory or a pattern become one set.

    Parameters
    ----------
    paths : path, Source or a sequence of them
    texts : mapping of document name to text, optional
        Needed for spans that have a quote and no offsets, and where the header declares offsets in
        bytes or UTF-16 units.
    thorough : bool
        Count the fields that are not known, for `Judgements.unread`.
    """
    parts: list[Judgements] = []
    for path in list_files(paths, "judgements"):
        source = path if isinstance(path, Source) else Source.open(path, thorough=thorough)
        if source.head[1].startswith(b"["):
            source = source.in_lines()
        judgements = detect_format(source, "judgements").read(source, texts).checked()
        if not judgements.topics:
            message = "the judgements are empty: no document is judged"
            raise source.error("judgements.empty", None, message)
        parts.append(judgements)
    return parts[0] if len(parts) == 1 else Judgements.merged(parts)


def judgement_files(
    paths: str | Path | Source | Sequence[str | Path | Source],
) -> list[str | Path | Source]:
    """Return the files of one set of judgements, in their order."""
    return list_files(paths, "judgements")


def kind_of(path: str | Path | Source) -> str:
    """Return the kind of a file or of the first file of a directory: run, judgements or topics."""
    first = list_files(path, "files")[0]
    source = first if isinstance(first, Source) else Source.open(first)
    kind = found_kind(source.in_lines())
    if kind is None:
        message = "cannot be told to be a run, judgements or topics"
        raise source.error("file.format", None, message)
    return kind


# -- writing ---------------------------------------------------------------------------------------


def write_run(run: Run, path: str | Path, form: str) -> None:
    """Write a run in a format, completely or not at all; ``-`` is standard output."""
    _write(run, path, find_format(form, "run", to_write=True))


def write_judgements(judgements: Judgements, path: str | Path, form: str) -> None:
    """Write judgements in a format, completely or not at all; ``-`` is standard output.

    Formats of INEX make a folder of complete files.
    """
    _write(judgements, path, find_format(form, "judgements", to_write=True))


def write_topics(topics: Topics, path: str | Path, form: str) -> None:
    """Write topics in a format, completely or not at all; ``-`` is standard output."""
    _write(topics, path, find_format(form, "topics", to_write=True))


def _write(content: Any, path: str | Path, form: Format) -> None:
    from foveal.files.atomic import write_file, write_folder

    if form.is_folder and str(path) == STDIN:
        raise UsageError(f"{form.name} is a folder of files; expected the name of one")
    assert form.write is not None  # others are not found
    written = form.write(content)
    if isinstance(written, dict):
        write_folder(path, written)
    else:
        write_file(path, written)
