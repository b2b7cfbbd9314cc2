"""Creation of a campaign: check topics, pool and index against each other, and store documents.

A temporary file is written first and renamed when it is complete.
"""

from __future__ import annotations

import json
import os
import secrets
import sqlite3
import tempfile
import zlib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from foveal._version import __version__
from foveal.assess.database import connect, prepare
from foveal.assess.documents import (
    AssessedDocument,
    make_elements,
    page_digest,
    read_elements,
    store_markup,
)
from foveal.assess.people import check_name
from foveal.assess.procedure import PROCEDURES
from foveal.assess.rendering import keep_attributes
from foveal.assess.vocabularies import find_title, searchable
from foveal.collection import Collection, SourceTexts
from foveal.errors import InputError, Problem, UsageError
from foveal.files.source import Source
from foveal.formats.pool_files import Pool
from foveal.formats.xpaths import canonical
from foveal.model import Topics

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
    if procedure not in PROCEDURES:
        known = " or ".join(PROCEDURES)
        raise UsageError(f"procedure {procedure!r} is not known; expected {known}")
    if store not in (None, *STORES):
        raise UsageError(f"cannot store {store!r}; expected {' or '.join(STORES)}")
    names = list(dict.fromkeys(assessors))
    for name in names:
        check_name(name)
    if collection.whitespace != "keep":
        text = (
            f"the index counts white space by the rule {collection.whitespace!r}; assessors see "
            "all of it, so build an index with --whitespace keep"
        )
        raise InputError.at("index.whitespace", collection.path, None, text)
    entries = _check_entries(collection, topics, pool, pool_path)
    pooled = _group_by_document(collection, entries)
    with_pool = {topic for topic, *_ in pooled}
    own = [topic for topic in topics if topic.id in with_pool]
    wanted = {doc for _, doc, *_ in pooled}
    characters = int(collection.documents["length"].sum())
    if store == "all" or (store is None and characters <= _MOST_STORED):
        wanted = set(collection)
    now = datetime.now(UTC).isoformat(timespec="milliseconds")
    meta = {
        "foveal": __version__,
        "identity": secrets.token_hex(16),
        "index": make_relative(collection.path, path),
        "index_identity": collection.source.sha256,
        "source": make_relative(source, path),
        "pool": json.dumps({"unit": pool.unit, **pool.header}),
        "created": now,
        "procedure": procedure,
        "blind": str(int(blind)),
        **({} if name_tag is None else {"name_tag": name_tag}),
    }
    with create_file(path) as temporary, closing(connect(temporary)) as connection:
        connection.execute("PRAGMA synchronous = OFF")  # nobody uses it before it is complete
        connection.execute("PRAGMA journal_mode = MEMORY").fetchone()
        prepare(connection)
        connection.execute("BEGIN")
        insert = connection.executemany
        insert("INSERT INTO meta VALUES (?, ?)", meta.items())
        digests = {doc: digest for doc, digest in collection.digests().items() if doc in wanted}
        for document, words in read_documents(collection, source, name_tag, digests, progress):
            insert_document(connection, document, words)
        insert(
            "INSERT INTO topics VALUES (?, ?, ?)",
            [(topic.id, i, json.dumps(asdict(topic))) for i, topic in enumerate(own)],
        )
        insert(
            "INSERT INTO pool VALUES (?, ?, ?, NULL, ?)",
            [(*row, json.dumps(support)) for *row, support in pooled],
        )
        insert("INSERT INTO users VALUES (?, 'assessor', NULL, ?)", [(name, now) for name in names])
        insert(
            "INSERT INTO assignments VALUES (?, ?)", [(t.id, name) for t in own for name in names]
        )
        connection.execute("COMMIT")
        connection.execute("PRAGMA journal_mode = WAL").fetchone()


# -- the pool -------------------------------------------------------------------------------------


def _check_entries(
    collection: Collection, topics: Topics, pool: Pool, pool_path: str | None
) -> pl.DataFrame:
    """Return each pooled result with its span; raise InputError if entries are wrong."""
    entries = pool.entries.with_row_index("entry").with_columns(pl.col("entry").cast(pl.Int64))
    key, place = ("entry", "topic", "doc", "priority"), ("start", "end", "xpath")
    listed = "support" if pool.unit == "document" else "runs"
    # A null instead of an empty list, so that the entry keeps a row.
    some = pl.when(pl.col(listed).list.len() > 0).then(pl.col(listed)).alias(listed)
    rows = (
        entries.select(*key, *(() if listed == "support" else place), some)
        .explode(listed)
        .unnest(listed)
        .select(*key, "run", "rank", *place)
    )
    docs, entry = rows["doc"], rows["entry"].to_numpy()
    length = collection.lengths(docs)
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
    for i in np.flatnonzero((length >= 0) & (end > length)).tolist():
        wrong.setdefault(
            int(entry[i]),
            f"a result ends at {end[i]}, past the end of document {docs[i]!r} of {length[i]} "
            "characters",
        )
    unknown = {
        number: f"topic {topic!r} is not among the topics"
        for number, topic in enumerate(pool.entries["topic"].to_list())
        if topic not in topics
    }
    if wrong or unknown:
        raise InputError(_list_problems(pool, (unknown, wrong), pool_path))
    whole = (end < 0) & rows["run"].is_not_null().to_numpy() & rows["xpath"].is_null().to_numpy()
    start, end = np.where(whole, 0, start), np.where(whole, length, end)
    return rows.with_columns(start=pl.Series(start), end=pl.Series(end), whole=pl.Series(whole))


def _list_problems(
    pool: Pool, found: Iterable[Mapping[int, str]], pool_path: str | None
) -> Iterator[Problem]:
    """Yield the problems of entries, with the lines of the entries in the file of the pool."""
    lines: dict[tuple[str, int], int] = {}
    data = b"" if pool_path is None else Source.open(pool_path).data
    for number, line in enumerate(data.split(b"\n"), 1):
        if line.strip().startswith(b"{"):
            record = json.loads(line.removeprefix(b"\xef\xbb\xbf"))
            if "priority" in record:
                lines[str(record["topic"]), int(record["priority"])] = number
    keys = pool.entries.select("topic", "priority").rows()
    for messages in found:
        for entry, message in sorted(messages.items()):
            yield Problem("pool.entry", pool_path or "pool", lines.get(keys[entry]), message)


def _group_by_document(
    collection: Collection, entries: pl.DataFrame
) -> list[tuple[str, str, int, Support]]:
    """Return topic, document, priority and support of each document, in order of priority."""
    names = entries.filter("whole")["doc"].unique(maintain_order=True)
    trees = collection.trees(names)
    paths = collection.xpaths(trees.path[trees.bounds[:-1]])
    roots = dict(zip(names.to_list(), paths.to_list(), strict=True))
    support: dict[tuple[str, str], dict[tuple[int, int, str | None], list[dict[str, Any]]]] = {}
    for topic, doc, run, rank, start, end, xpath, whole in entries.select(
        "topic", "doc", "run", "rank", "start", "end", "xpath", "whole"
    ).iter_rows():
        places = support.setdefault((topic, doc), defaultdict(list))
        if run is None:  # a document without support
            continue
        path = roots[doc] if whole else canonical(xpath) if xpath else None
        places[start, end, path].append({"run": run, "rank": rank})
    priority = Counter[str]()
    found = []
    for (topic, doc), places in support.items():
        priority[topic] += 1
        ordered = sorted(places.items(), key=lambda one: (one[0][0], -one[0][1], one[0][2] or ""))
        results = [
            {"start": start, "end": end, "path": path, "runs": runs}
            for (start, end, path), runs in ordered
        ]
        found.append((topic, doc, priority[topic], results))
    return found


# -- the file -------------------------------------------------------------------------------------


def make_relative(place: str | Path, campaign: str | Path) -> str:
    """Return a path relative to a campaign, so that both can be moved together."""
    target, folder = Path(place).resolve(), Path(campaign).resolve().parent
    try:
        return Path(os.path.relpath(target, folder)).as_posix()
    except ValueError:  # on another drive
        return str(target)


@contextmanager
def create_file(path: Path) -> Iterator[Path]:
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
        try:
            os.link(temporary, path)  # unlike a rename, this never replaces another file
        except FileExistsError:
            _check_place(path)
        except OSError:  # no hard links on this file system
            _check_place(path)
            temporary.replace(path)
        if os.name == "posix":  # write the name of the file to the disk, too
            folder = os.open(path.parent, os.O_RDONLY)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)
    finally:
        for leftover in (temporary, *(Path(f"{name}-{end}") for end in ("wal", "shm", "journal"))):
            leftover.unlink(missing_ok=True)


def _check_place(path: Path) -> None:
    if os.path.lexists(path):
        text = "is there already; nothing is written over it"
        raise InputError.at("file.exists", str(path), None, text)
    if not path.parent.is_dir():
        text = "its directory does not exist"
        raise InputError.at("file.missing_directory", str(path), None, text)


# -- documents -------------------------------------------------------------------------------------


def read_documents(
    collection: Collection,
    source: str | Path,
    name_tag: str | None,
    digests: Mapping[str, bytes],
    progress: Callable[[float], object] | None = None,
) -> Iterator[tuple[AssessedDocument, str]]:
    """Yield the documents with these hashes from the source of the index, and their words."""
    texts = SourceTexts(source, name_tag, keep=keep_attributes)
    for doc, text, markup in texts.read_indexed(digests, progress=progress):
        elements = make_elements(markup)
        if elements.number.keys() != read_elements(collection, doc).number.keys():
            reason = f"the elements of document {doc!r} differ from those that were indexed"
            raise InputError.at("document.changed", str(source), None, reason)
        document = AssessedDocument(
            doc,
            find_title(elements, text, doc),
            text,
            len(text),
            digests[doc].hex(),
            page_digest(text),
            store_markup(markup),
        )
        yield document, searchable(elements, text)


def insert_document(connection: sqlite3.Connection, document: AssessedDocument, words: str) -> None:
    """Store a document and its words."""
    data = document.text.encode("utf-8", "surrogatepass")
    own = document.length, document.digest, document.sha256, zlib.compress(data, 6), document.markup
    number = connection.execute(
        "INSERT INTO documents (doc, title, length, digest, sha256, text, markup) "
        "VALUES (?, ?, ?, ?, ?, ?, ?)",
        (document.name, document.title, *own),
    ).lastrowid
    body = words.encode("utf-8", "replace").decode()
    connection.execute(
        "INSERT INTO words (rowid, doc, title, body) VALUES (?, ?, ?, ?)",
        (number, document.name, document.title, body),
    )
