"""Creation of a campaign: check topics, pool and index against each other, and store documents.

A temporary file is written first and renamed when it is complete.
"""

from __future__ import annotations

import json
import os
import sqlite3
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from foveal._version import __version__
from foveal.assess.database import new_identity
from foveal.assess.holdings import insert_document, read_documents
from foveal.assess.people import check_name
from foveal.assess.procedure import PROCEDURES
from foveal.assess.schema import connect, prepare
from foveal.collection import Collection
from foveal.errors import InputError, Problem, UsageError
from foveal.files.source import Source
from foveal.formats.pool_files import Pool
from foveal.formats.xpaths import canonical
from foveal.model import Topics

__all__ = ["STORES", "create", "placed", "relative"]

STORES = ("all", "pooled")
"""Documents to store in a campaign: all, or those of the pool; others are read when needed."""

_MOST_STORED = 200_000_000
"""Largest number of characters of a collection that is stored whole by default."""

Support = list[dict[str, Any]]


def create(
    path: Path,
    *,
    collection: Collection,
    source: str | Path,
    topics: Topics,
    pool: Pool,
    assessors: Sequence[str] = (),
    procedure: str = PROCEDURES[0],
    blind: bool = True,
    name_tag: str | None = None,
    store: str | None = None,
    pool_path: str | None = None,
    progress: Callable[[float], None] | None = None,
) -> None:
    """Create the file of a campaign, completely or not at all.

    Parameters
    ----------
    path : Path
        The file to create; it must not exist.
    collection : Collection
        An index that keeps white space.
    source : path
        The documents that the index was built from.
    topics : Topics
        Topics without a pool are left out.
    pool : Pool
        Documents, spans or elements; assessors see whole documents in any case.
    assessors : sequence of str
        Names of assessors; each is assigned all topics.
    procedure : str
        One of `PROCEDURES`.
    blind : bool
        Hide assessors' work from each other.
    name_tag : str, optional
        The tag that holds the name of a document, as given to the index.
    store : {"all", "pooled"}, optional
        Documents to store; by default all, unless the collection is very large.
    pool_path : str, optional
        The file of the pool, for messages with line numbers.
    progress : callable, optional
        Called with the completed share of the work.
    """
    _check_options(collection, procedure, store, assessors)
    entries = _check_entries(collection, topics, pool, pool_path)
    wanted = set(entries["doc"].to_list())
    characters = int(collection.documents["length"].sum())
    if store == "all" or (store is None and characters <= _MOST_STORED):
        wanted = set(collection)
    with placed(path) as temporary, closing(connect(temporary)) as connection:
        connection.execute("PRAGMA synchronous = OFF")  # nobody uses it before it is complete
        connection.execute("PRAGMA journal_mode = MEMORY").fetchone()
        prepare(connection)
        connection.execute("BEGIN")
        meta = {
            "foveal": __version__,
            "identity": new_identity(),
            "index": relative(collection.path, path),
            "index_identity": collection.source.sha256,
            "source": relative(source, path),
            "pool": json.dumps({"unit": pool.unit, **pool.header}),
            "created": _time(),
            "name_tag": name_tag,
            "procedure": procedure,
            "blind": str(int(blind)),
        }
        connection.executemany(
            "INSERT INTO meta VALUES (?, ?)",
            [(key, value) for key, value in meta.items() if value is not None],
        )
        digests = {doc: own for doc, own in collection.digests().items() if doc in wanted}
        for own in read_documents(collection, source, name_tag, digests, progress):
            insert_document(connection, own)
        _insert_work(connection, topics, _group_by_document(collection, entries), assessors)
        connection.execute("COMMIT")
        connection.execute("PRAGMA journal_mode = WAL").fetchone()


def _insert_work(
    connection: sqlite3.Connection,
    topics: Topics,
    pooled: Iterator[tuple[str, str, int, Support]],
    assessors: Sequence[str],
) -> None:
    """Insert the topics that have a pool, their pools, the assessors and the assignments."""
    pool = list(pooled)
    with_pool = {topic for topic, *_ in pool}
    own = [topic for topic in topics if topic.id in with_pool]
    connection.executemany(
        "INSERT INTO topics VALUES (?, ?, ?)",
        [(topic.id, i, json.dumps(asdict(topic))) for i, topic in enumerate(own)],
    )
    connection.executemany(
        "INSERT INTO pool VALUES (?, ?, ?, NULL, ?)",
        [(topic, doc, priority, json.dumps(support)) for topic, doc, priority, support in pool],
    )
    names = list(dict.fromkeys(assessors))
    connection.executemany(
        "INSERT INTO users VALUES (?, 'assessor', NULL, ?)", [(name, _time()) for name in names]
    )
    connection.executemany(
        "INSERT INTO assignments VALUES (?, ?)",
        [(topic.id, name) for topic in own for name in names],
    )


def _time() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def _check_options(
    collection: Collection, procedure: str, store: str | None, assessors: Sequence[str]
) -> None:
    if procedure not in PROCEDURES:
        raise UsageError(
            f"procedure {procedure!r} is not known; expected {' or '.join(PROCEDURES)}"
        )
    if store not in (None, *STORES):
        raise UsageError(f"cannot store {store!r}; expected {' or '.join(STORES)}")
    for name in assessors:
        check_name(name)
    if collection.whitespace != "keep":
        raise InputError.at(
            "index.whitespace",
            collection.path,
            None,
            f"the index counts white space by the rule {collection.whitespace!r}; assessors see "
            "all of it, so build an index with --whitespace keep",
        )


# -- the pool -------------------------------------------------------------------------------------


def _check_entries(
    collection: Collection, topics: Topics, pool: Pool, pool_path: str | None
) -> pl.DataFrame:
    """Return a row with the span of each pooled result; raise InputError if entries are wrong."""
    rows = _list_results(pool)
    found, wrong = _resolve_places(collection, rows)
    unknown = {
        number: f"topic {topic!r} is not among the topics"
        for number, topic in enumerate(pool.entries["topic"].to_list())
        if topic not in topics
    }
    if wrong or unknown:
        raise InputError(_list_problems(pool, unknown, wrong, pool_path))
    return found


def _list_results(pool: Pool) -> pl.DataFrame:
    """Return every pooled result: entry, topic, doc, run, rank and place."""
    entries = pool.entries.with_row_index("entry").with_columns(pl.col("entry").cast(pl.Int64))
    key = ("entry", "topic", "doc", "priority")
    place = ("start", "end", "xpath")
    listed = "support" if pool.unit == "document" else "runs"
    # A null instead of an empty list, so that the entry keeps a row.
    some = pl.when(pl.col(listed).list.len() > 0).then(pl.col(listed)).alias(listed)
    own = entries.select(*key, *(() if listed == "support" else place), some)
    return own.explode(listed).unnest(listed).select(*key, "run", "rank", *place)


def _resolve_places(
    collection: Collection, rows: pl.DataFrame
) -> tuple[pl.DataFrame, dict[int, str]]:
    """Return the results with their spans, and the problem of each wrong entry."""
    docs = rows["doc"]
    length = collection.lengths(docs)
    entry = rows["entry"].to_numpy()
    start = rows["start"].fill_null(-1).to_numpy().copy()
    end = rows["end"].fill_null(-1).to_numpy().copy()
    wrong = {
        int(entry[i]): f"document {docs[i]!r} is not in the collection"
        for i in np.flatnonzero(length < 0).tolist()
    }
    by_path = np.flatnonzero((end < 0) & rows["xpath"].is_not_null().to_numpy() & (length >= 0))
    resolved = collection.resolve(docs.gather(by_path), rows["xpath"].gather(by_path))
    start[by_path], end[by_path] = resolved.start, resolved.end
    for i, message in resolved.problem.items():
        wrong.setdefault(int(entry[by_path[i]]), message)
    past = np.flatnonzero((length >= 0) & (end > length))
    for i in past.tolist():
        wrong.setdefault(
            int(entry[i]),
            f"a result ends at {end[i]}, past the end of document {docs[i]!r} of {length[i]} "
            "characters",
        )
    whole = (end < 0) & rows["run"].is_not_null().to_numpy() & rows["xpath"].is_null().to_numpy()
    start, end = np.where(whole, 0, start), np.where(whole, length, end)
    found = rows.with_columns(start=pl.Series(start), end=pl.Series(end), whole=pl.Series(whole))
    return found, wrong


def _list_problems(
    pool: Pool, unknown: Mapping[int, str], wrong: Mapping[int, str], pool_path: str | None
) -> Iterator[Problem]:
    lines = {} if pool_path is None else _find_lines(pool_path)
    keys = pool.entries.select("topic", "priority").rows()
    for messages in (unknown, wrong):
        for entry, message in sorted(messages.items()):
            yield Problem("pool.entry", pool_path or "pool", lines.get(keys[entry]), message)


def _find_lines(pool_path: str) -> dict[tuple[str, int], int]:
    """Return the line of each entry of a pool file."""
    lines: dict[tuple[str, int], int] = {}
    for number, line in enumerate(Source.open(pool_path).data.split(b"\n"), 1):
        if line.strip().startswith(b"{"):
            record = json.loads(line.removeprefix(b"\xef\xbb\xbf"))
            if "priority" in record:
                lines[str(record["topic"]), int(record["priority"])] = number
    return lines


def _group_by_document(
    collection: Collection, entries: pl.DataFrame
) -> Iterator[tuple[str, str, int, Support]]:
    """Yield topic, document, priority and support of each document, in order of priority."""
    roots = _find_roots(collection, entries.filter("whole")["doc"])
    support: dict[tuple[str, str], dict[tuple[int, int, str | None], list[dict[str, Any]]]] = {}
    for topic, doc, run, rank, start, end, xpath, whole in entries.select(
        "topic", "doc", "run", "rank", "start", "end", "xpath", "whole"
    ).iter_rows():
        places = support.setdefault((topic, doc), defaultdict(list))
        if run is None:  # a document without support
            continue
        path = roots[doc] if whole else canonical(xpath) if xpath else None
        places[start, end, path].append({"run": run, "rank": rank})
    priority: dict[str, int] = defaultdict(int)
    for (topic, doc), places in support.items():
        priority[topic] += 1
        ordered = sorted(places.items(), key=lambda one: (one[0][0], -one[0][1], one[0][2] or ""))
        yield (
            topic,
            doc,
            priority[topic],
            [
                {"start": start, "end": end, "path": path, "runs": runs}
                for (start, end, path), runs in ordered
            ],
        )


def _find_roots(collection: Collection, docs: pl.Series) -> dict[str, str]:
    """Return the path of the root of each document."""
    names = docs.unique(maintain_order=True)
    trees = collection.trees(names)
    own = collection.xpaths(trees.path[trees.bounds[:-1]])
    return dict(zip(names.to_list(), own.to_list(), strict=True))


# -- the file -------------------------------------------------------------------------------------


def relative(place: str | Path, campaign: str | Path) -> str:
    """Return a path relative to a campaign, so that both can be moved together."""
    target, folder = Path(place).resolve(), Path(campaign).resolve().parent
    try:
        return Path(os.path.relpath(target, folder)).as_posix()
    except ValueError:  # on another drive
        return str(target)


@contextmanager
def placed(path: Path) -> Iterator[Path]:
    """Yield a temporary file in the same folder, and rename it if no error occurs.

    Only its owner can read it, since it will hold hashes of passwords.
    """
    _check_place(path)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".new")
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        with temporary.open("rb+") as stream:
            os.fsync(stream.fileno())
        _move(temporary, path)
        _sync(path.parent)
    finally:
        for leftover in (temporary, *(Path(f"{name}-{end}") for end in ("wal", "shm", "journal"))):
            leftover.unlink(missing_ok=True)


def _sync(folder: Path) -> None:
    """Write the names in a folder to the disk, where the system supports it."""
    if os.name != "posix":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _move(temporary: Path, path: Path) -> None:
    """Rename a file; refuse to replace another one."""
    try:
        os.link(temporary, path)  # unlike a rename, this never replaces another file
    except FileExistsError:
        _check_place(path)
    except OSError:  # no hard links on this file system
        _check_place(path)
        temporary.replace(path)


def _check_place(path: Path) -> None:
    if os.path.lexists(path):
        raise InputError.at(
            "file.exists", str(path), None, "is there already; nothing is written over it"
        )
    if not path.parent.is_dir():
        raise InputError.at(
            "file.missing_directory", str(path), None, "its directory does not exist"
        )
