"""Read and write files; the format is recognised by the content, never only by the name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from foveal.errors import InputError
from foveal.files.source import Source, is_xml, list_files
from foveal.formats.detection import (
    JSON_FORMATS,
    LINE_FORMS,
    MAGIC,
    describe_missing_line,
    expect,
    found_kind,
    has_trailing_text,
    is_genomics_gold,
    is_genomics_run,
)
from foveal.model import Judgements, Run

if TYPE_CHECKING:
    from foveal.formats.cache import CacheWarning
    from foveal.formats.inex_assessments import FOLDER_FORMATS
    from foveal.formats.pool_files import read_pool, write_pool
    from foveal.formats.result_files import read_results
    from foveal.formats.topic_files import TOPIC_FORMATS, read_topics
    from foveal.formats.writing import (
        JUDGEMENT_FORMATS,
        RUN_FORMATS,
        write_judgements,
        write_run,
        write_topics,
    )

__all__ = [
    "FOLDER_FORMATS",
    "JUDGEMENT_FORMATS",
    "RUN_FORMATS",
    "TOPIC_FORMATS",
    "CacheWarning",
    "Source",
    "find_format",
    "found_kind",
    "judgement_files",
    "kind_of",
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
    "cache": ("CacheWarning",),
    "inex_assessments": ("FOLDER_FORMATS",),
    "pool_files": ("read_pool", "write_pool"),
    "result_files": ("read_results",),
    "topic_files": ("TOPIC_FORMATS", "read_topics"),
    "writing": (
        "JUDGEMENT_FORMATS",
        "RUN_FORMATS",
        "write_judgements",
        "write_run",
        "write_topics",
    ),
}
"""Modules that are loaded when one of these names is asked for."""


def __getattr__(name: str) -> Any:
    """Load what reading a run or judgements does not need."""
    for module, names in _HOME.items():
        if name in names:
            return getattr(import_module(f"foveal.formats.{module}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


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
    if source.head[1].startswith(b"["):
        source = source.in_lines()
    kept = None
    if cache is not None and texts is None:
        from foveal.formats.cache import RunCache

        kept = RunCache(cache)
        found = kept.find(source)
        if found is not None:
            return found
    form = find_format(source, "run")
    read = import_module(f"foveal.formats.{form}").read_run
    run: Run = read(source, texts=texts) if form == "jsonl" else read(source)
    if not len(run):
        raise InputError.at(
            "unclassified", run.source.path, None, "the run is empty: it holds no result"
        )
    if kept is not None:
        kept.keep(source, run)
    return run


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
        form = find_format(source, "judgements")
        read = import_module(f"foveal.formats.{form}").read_judgements
        if form == "jsonl_judgements":
            parts.append(read(source, texts=texts))
            if not parts[-1].topics:
                raise source.error(
                    "unclassified", None, "the judgements are empty: no document is judged"
                )
        else:
            parts.append(read(source))
    return parts[0] if len(parts) == 1 else Judgements.merged(parts)


def find_format(source: Source, kind: str) -> str:
    """Return the module that reads this run or these judgements; refuse anything else."""
    number, first = source.head
    is_run = kind == "run"
    if first.split(None, 2)[1:2] != [b"Q0"] or first.startswith((b"<", b"{", b"[")):
        if source.data.startswith(MAGIC):
            if is_run:
                return "parquet"
            raise source.error(
                "unclassified", None, "Parquet and Arrow files hold runs here; expected judgements"
            )
        if first[:1] in (b"", b"["):
            raise describe_missing_line(source, kind)
        if first.startswith(b"{"):
            from foveal.formats.objects import header_of

            if header_of(source)[0].get("format") not in JSON_FORMATS[kind]:
                expect(source, kind)
            return "jsonl" if is_run else "jsonl_judgements"
        if is_xml(source):
            expect(source, kind)
            return "inex_runs" if is_run else "inex_assessments"
        genomics_run, genomics_gold = is_genomics_run(first.split()), is_genomics_gold(source)
        if genomics_run if is_run else genomics_gold:
            return "trec_genomics"
        if genomics_run:
            raise source.error(
                "unclassified", number, "this is a run (TREC Genomics); expected judgements"
            )
        if genomics_gold:
            raise source.error(
                "unclassified", number, "these are judgements (TREC Genomics gold); expected a run"
            )
    fields = first.split()
    if not is_run:
        if len(fields) < 4:
            raise source.error(
                "unclassified",
                number,
                f"{len(fields)} fields found; judgements have 4 ({LINE_FORMS['trec judgements']}) "
                f"or more ({LINE_FORMS['fol judgements']}, or of TREC Genomics "
                f"{LINE_FORMS['genomics gold']})",
            )
        return "trec" if len(fields) == 4 else "fol"
    is_passage = len(fields) == 8 and fields[6].isdigit() and fields[7].isdigit()
    if not is_passage and (len(fields) == 6 or has_trailing_text(fields)):
        return "trec"
    if len(fields) == 8:
        return "fol"
    if len(fields) == 7 and fields[6].startswith(b"/"):
        return "elements"
    raise source.error(
        "unclassified",
        number,
        f"{len(fields)} fields found; a run has 8 ({LINE_FORMS['fol run']}), 7 "
        f"({LINE_FORMS['elements']}, or of TREC Genomics {LINE_FORMS['genomics run']}) or 6 "
        f"({LINE_FORMS['trec run']})",
    )


def judgement_files(
    paths: str | Path | Source | Sequence[str | Path | Source],
) -> list[str | Path | Source]:
    """Return the files of one set of judgements, in their order."""
    return list_files(paths, "judgements")


def kind_of(path: str | Path | Source) -> str:
    """Return what a file or the first file of a directory holds: run, judgements or topics."""
    first = list_files(path, "files")[0]
    source = first if isinstance(first, Source) else Source.open(first)
    kind = found_kind(source.in_lines())
    if kind is None:
        raise source.error("unclassified", None, "cannot be told to be a run, judgements or topics")
    return kind
