"""Making a campaign: topics, pool and index checked against each other, documents stored.

The file is made beside its place and moved there when it is whole.
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
from foveal.assess.documents import elements_of
from foveal.assess.holdings import insert_document
from foveal.assess.people import check_name
from foveal.assess.procedure import PROCEDURES
from foveal.assess.schema import connect, prepare
from foveal.assess.vocabularies import title_of
from foveal.collection import Collection, SourceTexts
from foveal.errors import InputError, Problem, UsageError
from foveal.files.source import Source
from foveal.formats.pool_files import Pool
from foveal.formats.xpaths import canonical
from foveal.model import Topics

__all__ = ["STORES", "create", "placed", "relative"]

STORES = ("all", "pooled")
"""Which documents are stored in a campaign; others are read when they are asked for."""

_MOST_STORED = 200_000_000
"""Characters of a collection that is stored as a whole, unless the organiser says otherwise."""

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
    """Make a campaign, whole or not at all.

    Parameters
    ----------
    path : Path
        The file to make; it must not exist.
    collection : Collection
        An index that keeps white space.
    source : path
        What the index was made from.
    topics : Topics
        Those that have a pool are taken.
    pool : Pool
        Of documents, spans or elements; an assessor gets whole documents in any case.
    assessors : sequence of str
        Each gets all topics.
    procedure : str
        One of `PROCEDURES`.
    blind : bool
        Whether assessors do not see each other's work.
    name_tag : str, optional
        The tag that documents have their name from, as the index was told.
    store : {"all", "pooled"}, optional
        By default all documents, unless they are very many.
    pool_path : str, optional
        The file of the pool, for messages with line numbers.
    progress : callable, optional
        Called with the share of the work that is done.
    """
    _check_options(collection, procedure, store, assessors)
    entries = _checked_entries(collection, topics, pool, pool_path)
    wanted = set(entries["doc"].to_list())
    characters = int(collection.documents["length"].sum())
    if store == "all" or (store is None and characters <= _MOST_STORED):
        wanted = set(collection)
    with placed(path) as temporary, closing(connect(temporary)) as connection:
        connection.execute("PRAGMA synchronous = OFF")  # nobody has it before it is whole
        connection.execute("PRAGMA journal_mode = MEMORY").fetchone()
        prepare(connection)
        connection.execute("BEGIN")
        decided = {"name_tag": name_tag, "procedure": procedure, "blind": str(int(blind))}
        _insert_meta(connection, path, collection, source, pool, decided)
        texts = SourceTexts(source, name_tag)
        digests = {doc: own for doc, own in collection.digests().items() if doc in wanted}
        for doc, text in texts.documents(digests, progress=progress):
            title = title_of(elements_of(collection, doc), text, doc)
            insert_document(connection, doc, title, text, digests[doc])
        _insert_work(connection, topics, _pooled(collection, entries), assessors)
        connection.execute("COMMIT")
        connection.execute("PRAGMA journal_mode = WAL").fetchone()


def _insert_meta(
    connection: sqlite3.Connection,
    path: Path,
    collection: Collection,
    source: str | Path,
    pool: Pool,
    decided: Mapping[str, str | None],
) -> None:
    """What the campaign was made of, and what was decided about it."""
    meta = {
        "foveal": __version__,
        "identity": new_identity(),
        "index": relative(collection.path, path),
        "index_identity": collection.source.sha256,
        "source": relative(source, path),
        "pool": json.dumps({"unit": pool.unit, **pool.header}),
        "created": _time(),
        **decided,
    }
    connection.executemany(
        "INSERT INTO meta VALUES (?, ?)",
        [(key, value) for key, value in meta.items() if value is not None],
    )


def _insert_work(
    connection: sqlite3.Connection,
    topics: Topics,
    pooled: Iterator[tuple[str, str, int, Support]],
    assessors: Sequence[str],
) -> None:
    """The topics that have a pool, what is to be assessed, and by whom."""
    pool = list(pooled)
    those = {topic for topic, *_ in pool}
    own = [topic for topic in topics if topic.id in those]
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


def _checked_entries(
    collection: Collection, topics: Topics, pool: Pool, pool_path: str | None
) -> pl.DataFrame:
    """What runs returned, a row for each result: its place on the text resolved."""
    rows = _results(pool)
    found, wrong = _places(collection, rows)
    unknown = {
        number: f"topic {topic!r} is not among the topics"
        for number, topic in enumerate(pool.entries["topic"].to_list())
        if topic not in topics
    }
    if wrong or unknown:
        raise InputError(_problems(pool, unknown, wrong, pool_path))
    return found


def _results(pool: Pool) -> pl.DataFrame:
    """Every result that a run contributed to the pool: entry, topic, doc, run, rank and place."""
    entries = pool.entries.with_row_index("entry").with_columns(pl.col("entry").cast(pl.Int64))
    key = ("entry", "topic", "doc", "priority")
    place = ("start", "end", "xpath")
    listed = "support" if pool.unit == "document" else "runs"
    # An empty list must leave a row behind, whatever explode does with it.
    some = pl.when(pl.col(listed).list.len() > 0).then(pl.col(listed)).alias(listed)
    own = entries.select(*key, *(() if listed == "support" else place), some)
    return own.explode(listed).unnest(listed).select(*key, "run", "rank", *place)


def _places(collection: Collection, rows: pl.DataFrame) -> tuple[pl.DataFrame, dict[int, str]]:
    """The results with their spans and element paths; and what is wrong with entries."""
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


def _problems(
    pool: Pool, unknown: Mapping[int, str], wrong: Mapping[int, str], pool_path: str | None
) -> Iterator[Problem]:
    lines = {} if pool_path is None else _lines(pool_path)
    keys = pool.entries.select("topic", "priority").rows()
    for said in (unknown, wrong):
        for entry, message in sorted(said.items()):
            yield Problem("pool.entry", pool_path or "pool", lines.get(keys[entry]), message)


def _lines(pool_path: str) -> dict[tuple[str, int], int]:
    """Where each entry of a pool stands in its file."""
    lines: dict[tuple[str, int], int] = {}
    for number, line in enumerate(Source.open(pool_path).data.split(b"\n"), 1):
        if line.strip().startswith(b"{"):
            record = json.loads(line.removeprefix(b"\xef\xbb\xbf"))
            if "priority" in record:
                lines[str(record["topic"]), int(record["priority"])] = number
    return lines


def _pooled(
    collection: Collection, entries: pl.DataFrame
) -> Iterator[tuple[str, str, int, Support]]:
    """Topic, document, priority and support of each document to assess, in order of priority."""
    roots = _roots(collection, entries.filter("whole")["doc"])
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


def _roots(collection: Collection, docs: pl.Series) -> dict[str, str]:
    """Document to the path of its root."""
    names = docs.unique(maintain_order=True)
    trees = collection.trees(names)
    own = collection.xpaths(trees.path[trees.bounds[:-1]])
    return dict(zip(names.to_list(), own.to_list(), strict=True))


# -- the file -------------------------------------------------------------------------------------


def relative(place: str | Path, campaign: str | Path) -> str:
    """Where something is, seen from a campaign: both may be moved together."""
    target, folder = Path(place).resolve(), Path(campaign).resolve().parent
    try:
        return Path(os.path.relpath(target, folder)).as_posix()
    except ValueError:  # on another drive
        return str(target)


@contextmanager
def placed(path: Path) -> Iterator[Path]:
    """A new file beside its place, which is moved there when all went well.

    Only its owner can read it: it will hold what passwords were hashed to.
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
    """See to it that the names in a folder are on the disk, where the system can do that."""
    if os.name != "posix":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _move(temporary: Path, path: Path) -> None:
    """Put a file in its place, unless there is one by now."""
    try:
        os.link(temporary, path)  # unlike a rename, this never takes the place of another file
    except FileExistsError:
        _check_place(path)
    except OSError:  # where files cannot have two names
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
