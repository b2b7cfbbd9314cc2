"""Reading and writing files: the format is told from the content, never only from the name."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from foveal.errors import InputError, UsageError
from foveal.formats import (
    elements,
    fol,
    inex_assessments,
    inex_runs,
    jsonl,
    jsonl_judgements,
    parquet,
    topics,
    trec,
    trec_genomics,
)
from foveal.formats.cache import CacheWarning, RunCache
from foveal.formats.detection import expect, found_kind
from foveal.formats.fields import first_lines
from foveal.formats.files import write_file, write_folder
from foveal.formats.inex_pools import FOLDER_FORMATS
from foveal.formats.markup import is_xml
from foveal.formats.pools import read_pool, write_pool
from foveal.formats.source import STDIN, Source, is_stream
from foveal.formats.topics import TOPIC_FORMATS
from foveal.model import Judgements, Results, Run, Topics

__all__ = [
    "FOLDER_FORMATS",
    "JUDGEMENT_FORMATS",
    "RUN_FORMATS",
    "STDIN",
    "TOPIC_FORMATS",
    "CacheWarning",
    "Source",
    "found_kind",
    "is_stream",
    "judgement_files",
    "judgement_reader",
    "kind_of",
    "read_judgements",
    "read_pool",
    "read_results",
    "read_run",
    "read_topics",
    "run_reader",
    "write_file",
    "write_judgements",
    "write_pool",
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
"""Name of a run format and what writes it."""

JUDGEMENT_FORMATS: dict[str, Callable[[Judgements], str]] = {
    "fol": fol.write_judgements,
    "trec": trec.write_judgements,
    "jsonl": jsonl_judgements.write_judgements,
}
"""Name of a judgement format and what writes it."""


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
        Keep the hash of the file in `Run.source`. It takes a tenth of the time of scoring.
    """
    hashed = hashed or cache is not None  # which finds a file by it
    source = _opened(path, thorough=thorough, hashed=hashed)
    if cache is None or texts is not None or source.whole is not None:
        return _run(source, texts)
    kept = RunCache(cache)
    run = kept.find(source)
    if run is None:
        run = _run(source, None)
        kept.keep(source, run)
    return run


def _run(source: Source, texts: Mapping[str, str] | None) -> Run:
    if source.data.startswith(parquet.MAGIC):
        return _not_empty(parquet.read_run(source))
    read = run_reader(source)
    return _not_empty(read(source, texts=texts) if read is jsonl.read_run else read(source))


def run_reader(source: Source) -> Callable[..., Run]:
    """What reads a run that begins like this one, unless it is a table."""
    number, first = _first(source, "run")
    if is_xml(source):
        expect(source, "run", root=inex_runs.ROOT)
        return inex_runs.read_run
    if first.startswith(b"{"):
        expect(source, "run")
        return jsonl.read_run
    fields = first.split()
    if trec_genomics.is_run_line(fields):
        return trec_genomics.read_run
    if trec_genomics.is_gold(source):
        raise source.error(number, "these are judgements (TREC Genomics gold); expected a run")
    if len(fields) == 6 or trec.has_trailing_text(fields):
        return trec.read_run
    if len(fields) == 8:
        return fol.read_run
    if len(fields) == 7 and fields[6].startswith(b"/"):
        return elements.read_run
    raise source.error(
        number,
        f"{len(fields)} fields found; a run has 8 ({fol.RUN_FORM}), 7 ({elements.FORM}, or of "
        f"TREC Genomics {trec_genomics.RUN_FORM}) or 6 ({trec.RUN_FORM})",
    )


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
    return Judgements.merged(
        [_judgements(_opened(path, thorough=thorough), texts) for path in judgement_files(paths)]
    )


def judgement_files(
    paths: str | Path | Source | Sequence[str | Path | Source],
) -> list[str | Path | Source]:
    """The files of one set of judgements, in their order."""
    if isinstance(paths, (str, Path, Source)):
        paths = [paths]
    found = [file for path in paths for file in _files(path)]
    if not found:
        raise UsageError("no judgements given")
    return found


def _files(path: str | Path | Source) -> Sequence[str | Path | Source]:
    """The file itself, all files of a directory, or those that a pattern fits."""
    if isinstance(path, Source):
        return [path]
    place = Path(path)
    try:
        is_folder = place.is_dir()
    except OSError as error:  # a name that is too long
        raise InputError.at(str(path), None, f"cannot be read: {error.strerror}") from None
    if is_folder:
        inside = sorted(p for p in place.rglob("*") if p.is_file() and p.name[0] != ".")
        if not inside:
            raise InputError.at(str(path), None, "the directory holds no file")
        return inside
    if set("*?[") & set(str(path)) and not place.exists():
        root = Path(place.anchor)
        fitting = sorted(p for p in root.glob(str(place.relative_to(root))) if p.is_file())
        if not fitting:
            raise InputError.at(str(path), None, "no file fits this pattern")
        return fitting
    return [path]


def _opened(path: str | Path | Source, *, thorough: bool, hashed: bool = True) -> Source:
    if isinstance(path, Source):
        return path.in_lines()
    return Source.open(path, thorough=thorough, hashed=hashed).in_lines()


def _judgements(source: Source, texts: Mapping[str, str] | None) -> Judgements:
    if source.data.startswith(parquet.MAGIC):
        raise source.error(None, "Parquet and Arrow files hold runs here; expected judgements")
    read = judgement_reader(source)
    if read is not jsonl_judgements.read_judgements:
        return read(source)
    judgements = read(source, texts=texts)
    if not judgements.topics:
        raise source.error(None, "the judgements are empty: no document is judged")
    return judgements


def judgement_reader(source: Source) -> Callable[..., Judgements]:
    """What reads judgements that begin like these."""
    number, first = _first(source, "judgements")
    if is_xml(source):
        expect(source, "judgements", root=inex_assessments.ROOT)
        return inex_assessments.read_judgements
    if first.startswith(b"{"):
        expect(source, "judgements")
        return jsonl_judgements.read_judgements
    if trec_genomics.is_gold(source):
        return trec_genomics.read_judgements
    fields = first.split()
    if trec_genomics.is_run_line(fields):
        raise source.error(number, "this is a run (TREC Genomics); expected judgements")
    if len(fields) == 4:
        return trec.read_judgements
    if len(fields) >= 5:
        return fol.read_judgements
    raise source.error(
        number,
        f"{len(fields)} fields found; judgements have 4 ({trec.JUDGEMENT_FORM}) "
        f"or more ({fol.JUDGEMENT_FORM}, or of TREC Genomics {trec_genomics.GOLD_FORM})",
    )


def _first(source: Source, what: str) -> tuple[int, bytes]:
    found = first_lines(source.data)
    if not found:
        verb = "is" if what == "run" else "are"
        raise source.error(None, f"the {what} {verb} empty: the file holds no line of data")
    if found[0][1].startswith(b"["):
        raise source.error(
            found[0][0],
            "a JSON array that is too large or holds no objects; expected JSON Lines, one object "
            "per line (jq -c '.[]' FILE writes them)",
        )
    return found[0]


def _not_empty(run: Run) -> Run:
    if not len(run):
        raise InputError.at(run.source.path, None, "the run is empty: it holds no result")
    return run


def read_topics(
    paths: str | Path | Source | Sequence[str | Path | Source], *, thorough: bool = False
) -> Topics:
    """Read topics of any format; several files, a directory or a pattern become one set.

    With `thorough`, fields that are not known are counted in `Topics.unread`.
    """
    if isinstance(paths, (str, Path, Source)):
        paths = [paths]
    found = [file for path in paths for file in _files(path)]
    if not found:
        raise UsageError("no topics given")
    return Topics.merged([_topics(_opened(path, thorough=thorough)) for path in found])


def _topics(source: Source) -> Topics:
    number, first = _first(source, "topics")
    if is_xml(source) or first.startswith(b"{"):
        expect(source, "topics")
        return (topics.read_xml if is_xml(source) else topics.read_json)(source)
    raise source.error(number, "these are no topics; expected INEX XML, TREC or JSON Lines")


def kind_of(path: str | Path | Source) -> str:
    """What a file or the first file of a directory holds: run, judgements or topics."""
    first = _files(path)[0]
    source = _opened(first, thorough=False)
    kind = found_kind(source)
    if kind is None:
        raise source.error(None, "cannot be told to be a run, judgements or topics")
    return kind


def read_results(path: str | Path) -> Results:
    """Read results saved by ``foveal evaluate -f json``, without scoring again."""
    source = Source.open(path)
    source.check_utf8()
    line = None
    try:
        results = Results.from_json(source.data)
        _check_meta(results.meta)
    except json.JSONDecodeError as error:
        line, found = error.lineno, f"no JSON ({error.msg} in column {error.colno})"
    except RecursionError:
        found = "brackets nested too deep"
    except (ValueError, UsageError) as error:
        found = str(error)
    else:
        if not results.runs:
            raise source.error(None, "the saved results are empty: they hold no score of a run")
        return results
    raise source.error(
        line, f"these are not saved results, as 'foveal evaluate -f json' writes them: {found}"
    )


_META: dict[str, type[Any]] = {
    **dict.fromkeys(("parts", "inputs", "warnings", "lower_is_better"), list),
    **dict.fromkeys(("options", "tasks", "topics"), dict),
}
"""What kind of JSON the parts of a meta are that are looked at again."""


def _check_meta(meta: Mapping[str, Any]) -> None:
    """Refuse provenance that is not of the kind which is written."""
    for name, kind in _META.items():
        if not isinstance(meta.get(name, kind()), kind):
            expected = "a list" if kind is list else "an object"
            raise ValueError(
                f"{name!r} of the meta is {json.dumps(meta[name])}; expected {expected}"
            )
    named = {"task": meta.get("task"), "assessors": meta.get("options", {}).get("assessors")}
    named |= {f"tasks of {run!r}": task for run, task in meta.get("tasks", {}).items()}
    for name, value in named.items():
        if not isinstance(value, str | None):
            raise ValueError(f"{name} in the meta is {json.dumps(value)}; expected a name")
    for item in (*meta.get("inputs", ()), *meta.get("parts", ())):
        if not isinstance(item, dict):
            raise ValueError(f"{json.dumps(item)} found in the meta; expected an object")
    for part in meta.get("parts", ()):
        _check_meta(part)


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
