"""The file of a campaign: its tables, connections, transactions, integrity and upgrades.

It is one SQLite database. Two tables log the work of assessors, `actions` and `events`; triggers
forbid any change of logged rows. Everything else comes from the organiser or can be computed from
the log again. One connection writes, guarded by a lock; every thread reads through its own.
Commands can open the file while a server uses it.
"""

from __future__ import annotations

import json
import sqlite3
import threading
import time
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import fields
from datetime import UTC, datetime, timedelta
from functools import cached_property
from pathlib import Path
from typing import Any, Self
from weakref import WeakSet

from foveal.collection import Collection
from foveal.errors import InputError, UsageError
from foveal.model import Topic, Topics

APPLICATION = 0x464F5641
"""``FOVA`` in ASCII, which identifies the file as a campaign."""
VERSION = 2
"""Version of the tables."""
_MAGIC = b"SQLite format 3\0"
_PATIENCE = 10.0
"""Seconds to wait for another writer, such as a command while the server runs."""

_SUGGESTIONS = """
CREATE TABLE suggestions (
    topic TEXT NOT NULL REFERENCES topics, doc TEXT NOT NULL, source TEXT NOT NULL,
    assessor TEXT NOT NULL, spans TEXT NOT NULL,
    PRIMARY KEY (topic, doc, source, assessor)
) WITHOUT ROWID;
"""
_PEOPLE = """
CREATE TABLE IF NOT EXISTS invitations (
    user TEXT PRIMARY KEY REFERENCES users (name), token_hash TEXT NOT NULL UNIQUE,
    expires TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS tokens (
    id INTEGER PRIMARY KEY AUTOINCREMENT, user TEXT NOT NULL REFERENCES users (name),
    label TEXT NOT NULL, token_hash TEXT NOT NULL UNIQUE, created TEXT NOT NULL, used TEXT
);
"""
_TABLES = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE topics (
    topic TEXT PRIMARY KEY, position INTEGER NOT NULL UNIQUE, json TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE documents (
    number INTEGER PRIMARY KEY, doc TEXT NOT NULL UNIQUE, title TEXT NOT NULL,
    length INTEGER NOT NULL, digest TEXT NOT NULL, sha256 TEXT NOT NULL, text BLOB NOT NULL,
    markup BLOB
);
CREATE VIRTUAL TABLE words USING fts5 (
    doc, title, body, content='', tokenize='unicode61 remove_diacritics 2'
);
CREATE TABLE pool (
    topic TEXT NOT NULL REFERENCES topics, doc TEXT NOT NULL REFERENCES documents (doc),
    priority INTEGER NOT NULL, added_by TEXT, support TEXT NOT NULL,
    PRIMARY KEY (topic, doc), UNIQUE (topic, priority)
) WITHOUT ROWID;
CREATE TABLE users (
    name TEXT PRIMARY KEY, role TEXT NOT NULL CHECK (role IN ('assessor', 'organiser')),
    password TEXT, created TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE assignments (
    topic TEXT NOT NULL REFERENCES topics, assessor TEXT NOT NULL REFERENCES users (name),
    PRIMARY KEY (topic, assessor)
) WITHOUT ROWID;
CREATE TABLE actions (
    id INTEGER PRIMARY KEY AUTOINCREMENT, uuid TEXT NOT NULL UNIQUE, assessor TEXT NOT NULL,
    topic TEXT NOT NULL REFERENCES topics, doc TEXT NOT NULL, version INTEGER NOT NULL,
    kind TEXT NOT NULL, payload TEXT NOT NULL, at TEXT NOT NULL, client_at TEXT, actor TEXT,
    UNIQUE (assessor, topic, doc, version)
);
CREATE TABLE events (
    id INTEGER PRIMARY KEY AUTOINCREMENT, at TEXT NOT NULL, assessor TEXT NOT NULL, topic TEXT,
    doc TEXT, kind TEXT NOT NULL, payload TEXT NOT NULL
);
CREATE INDEX events_of ON events (assessor, topic, kind);
CREATE TABLE assessments (
    assessor TEXT NOT NULL, topic TEXT NOT NULL REFERENCES topics, doc TEXT NOT NULL,
    version INTEGER NOT NULL, state TEXT NOT NULL, spans INTEGER NOT NULL,
    relevant INTEGER NOT NULL, validated INTEGER NOT NULL,
    PRIMARY KEY (assessor, topic, doc)
) WITHOUT ROWID;
CREATE TABLE settings (
    assessor TEXT NOT NULL, topic TEXT NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL,
    PRIMARY KEY (assessor, topic, key)
) WITHOUT ROWID;
CREATE TABLE sessions (
    token_hash TEXT PRIMARY KEY, user TEXT NOT NULL, csrf TEXT NOT NULL, created REAL NOT NULL,
    seen REAL NOT NULL, expires REAL NOT NULL
) WITHOUT ROWID;
"""

_IDENTITY = "INSERT OR IGNORE INTO meta VALUES ('identity', lower(hex(randomblob(16))));"
_MARKUP = "ALTER TABLE documents ADD COLUMN markup BLOB;"
MIGRATIONS: dict[int, str] = {
    1: _IDENTITY + _MARKUP + _SUGGESTIONS + _PEOPLE,
}
"""Statements that upgrade each version of the tables to the next one."""

_ONLY_GROW = """
CREATE TRIGGER {table}_stay BEFORE UPDATE ON {table}
BEGIN SELECT RAISE(ABORT, '{table} are never changed'); END;
CREATE TRIGGER {table}_last BEFORE DELETE ON {table}
BEGIN SELECT RAISE(ABORT, '{table} are never deleted'); END;
"""


def connect(path: Path) -> sqlite3.Connection:
    """Open a connection that waits for other writers and commits durably."""
    connection = sqlite3.connect(
        path, timeout=_PATIENCE, isolation_level=None, check_same_thread=False
    )
    connection.row_factory = sqlite3.Row
    connection.execute("PRAGMA foreign_keys = ON")
    connection.execute("PRAGMA synchronous = FULL")
    return connection


def prepare(connection: sqlite3.Connection) -> None:
    """Create the tables of a new campaign."""
    logs = (_ONLY_GROW.format(table=name) for name in ("actions", "events"))
    connection.executescript("".join((_TABLES, _SUGGESTIONS, _PEOPLE, *logs)))
    connection.execute(f"PRAGMA application_id = {APPLICATION}")
    connection.execute(f"PRAGMA user_version = {VERSION}")


@contextmanager
def damage(path: Path) -> Iterator[None]:
    """Turn errors of SQLite into errors about the file, with advice."""
    try:
        yield
    except (UnicodeDecodeError, json.JSONDecodeError, zlib.error) as error:
        raise _make_damage_error(path, str(error)) from None
    except sqlite3.DatabaseError as error:
        match error_code(error):
            case sqlite3.SQLITE_CORRUPT | sqlite3.SQLITE_NOTADB:
                raise _make_damage_error(path, str(error)) from None
            case None if isinstance(error, sqlite3.OperationalError):  # text that is not UTF-8
                raise _make_damage_error(path, str(error)) from None
            case sqlite3.SQLITE_FULL:
                reason = "cannot be written, the disk is full; make room and try again"
            case sqlite3.SQLITE_BUSY:
                reason = "another program is writing to it; try again when that has finished"
            case _:
                reason = f"cannot be used as a campaign: {error}"
        raise InputError.at("campaign.unusable", str(path), None, reason) from None


def error_code(error: Exception) -> int | None:
    """Return the primary result code of an error of SQLite, or None for any other error."""
    code: int | None = getattr(error, "sqlite_errorcode", None)
    return None if code is None else code & 0xFF


def check_integrity(path: Path, connection: sqlite3.Connection) -> None:
    """Refuse a file in which SQLite finds damage."""
    with damage(path):
        found = str(connection.execute("PRAGMA integrity_check(1)").fetchone()[0])
    if found != "ok":
        raise _make_damage_error(path, found)


def _make_damage_error(path: Path, found: str) -> InputError:
    """Return the error for a damaged campaign, with the damage found and advice."""
    reason = " ".join(found.split())
    text = (
        f"the campaign is damaged ({reason:.200}); keep the file and go on with the newest "
        "copy that 'foveal assess backup' made; without one, export what can be read "
        "('foveal assess export --all') and import it into a new campaign"
    )
    return InputError.at("campaign.damaged", str(path), None, text)


def upgrade(path: Path, connection: sqlite3.Connection) -> None:
    """Upgrade an old campaign; refuse other files and campaigns of a newer version."""
    if connection.execute("PRAGMA application_id").fetchone()[0] != APPLICATION:
        raise make_format_error(path)
    found = int(connection.execute("PRAGMA user_version").fetchone()[0])
    if found > VERSION:
        text = (
            f"is a campaign of version {found}, expected {VERSION} or older; a newer Foveal can "
            "open it"
        )
        raise InputError.at("campaign.version", str(path), None, text)
    if found == VERSION:
        return
    connection.execute("BEGIN IMMEDIATE")
    try:
        # Read again, since another process may have upgraded it meanwhile.
        found = int(connection.execute("PRAGMA user_version").fetchone()[0])
        for version in range(found, VERSION):
            for statement in MIGRATIONS[version].split(";"):
                connection.execute(statement)
        connection.execute(f"PRAGMA user_version = {VERSION}")
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def check_file(path: Path) -> None:
    """Refuse a file that is not a campaign by its first bytes, before SQLite opens it."""
    try:
        with path.open("rb") as stream:
            head = stream.read(len(_MAGIC))
    except IsADirectoryError:
        text = "is a directory; expected a campaign"
        raise InputError.at("file.is_directory", str(path), None, text) from None
    except OSError as error:
        reason = "no such file" if isinstance(error, FileNotFoundError) else error.strerror
        text = f"cannot be read: {reason}"
        raise InputError.at("file.unreadable", str(path), None, text) from None
    if head != _MAGIC:
        raise make_format_error(path)


def make_format_error(path: Path) -> InputError:
    """Return the error for a file that is not a campaign."""
    text = "is not a campaign; expected a file that 'foveal assess init' made"
    return InputError.at("campaign.format", str(path), None, text)


def fetch_one(connection: sqlite3.Connection, query: str, *given: object) -> sqlite3.Row | None:
    """Return the first row of a query's result, or None."""
    row: sqlite3.Row | None = connection.execute(query, given).fetchone()
    return row


def encode_json(data: Any) -> str:
    """Return data as JSON for the database: ASCII only, which also holds lone surrogates.

    Infinite numbers raise ValueError, since SQLite cannot read them.
    """
    return json.dumps(data, ensure_ascii=True, separators=(",", ":"), allow_nan=False)


class _ThreadConnection:
    """The connection of a thread, closed when the thread ends."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.connection = connection

    def __del__(self) -> None:
        self.connection.close()


class Database:
    """The file and its index.

    Parameters
    ----------
    path : Path
    collection : Collection, optional
        The index; by default it is opened from its path relative to the file.
    """

    def __init__(self, path: Path, collection: Collection | None) -> None:
        self.path = path
        self.clock: Callable[[], float] = time.time
        self._lock = threading.RLock()
        self._local = threading.local()
        self._readers: WeakSet[_ThreadConnection] = WeakSet()
        # Not the writer's lock: a new reading thread would wait for a save in progress.
        self._entering = threading.Lock()
        check_file(path)
        with damage(path):
            self._writer = connect(path)
            try:
                upgrade(path, self._writer)
                self._writer.execute("PRAGMA journal_mode = WAL").fetchone()
                rows = self._writer.execute("SELECT key, value FROM meta").fetchall()
                self.meta: Mapping[str, str] = dict(rows)
                self.collection = self._open_index(collection)
            except BaseException:
                self._writer.close()
                raise

    def _open_index(self, collection: Collection | None) -> Collection:
        """Return the index that the campaign was created with; refuse any other."""
        if collection is None:
            place = self.path.parent / self.meta["index"]
            if not place.exists():
                text = f"its index is not at {place}; say where it is (--collection)"
                raise InputError.at("campaign.index_missing", str(self.path), None, text)
            collection = Collection.open(place)
        if collection.source.sha256 != self.meta["index_identity"]:
            text = f"is not the index of the campaign {self.path}"
            raise InputError.at("campaign.index_differs", collection.path, None, text)
        return collection

    def close(self) -> None:
        """Close all connections; the file then holds everything without its -wal file."""
        with self._lock, self._entering:
            for reader in self._readers:
                reader.connection.close()
            # The last connection checkpoints by itself, but another process may have one open.
            # On a full disk this fails, and everything stays in the -wal file.
            with suppress(sqlite3.Error):
                self._writer.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
            self._writer.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def checkpoint_when_idle(self, stopped: threading.Event, pause: float = 1.0) -> None:
        """Move the newest actions into the main file whenever nobody writes, until stopped.

        Otherwise SQLite keeps them in the -wal file, and a plain copy of the campaign's file
        would lack them.

        Parameters
        ----------
        stopped : threading.Event
        pause : float
            Seconds without a change after which the campaign counts as idle.
        """
        with closing(connect(self.path)) as connection:
            known = moved = None
            while not stopped.wait(pause):
                with suppress(sqlite3.Error):  # a full disk, for example: try again
                    # It differs whenever another connection, of any process, has written.
                    version = connection.execute("PRAGMA data_version").fetchone()[0]
                    if version == known != moved:
                        checkpoint = connection.execute("PRAGMA wal_checkpoint(PASSIVE)")
                        _, pages, written = checkpoint.fetchone()
                        moved = version if pages == written else None
                    known = version

    def check_integrity(self) -> None:
        """Raise InputError if the file is damaged."""
        check_integrity(self.path, self.reading())

    def reading(self) -> sqlite3.Connection:
        """Return the connection of the calling thread."""
        reader: _ThreadConnection | None = getattr(self._local, "reader", None)
        if reader is None:
            reader = self._local.reader = _ThreadConnection(connect(self.path))
            with self._entering:
                self._readers.add(reader)
        return reader.connection

    def rows(self, query: str, *given: object) -> list[sqlite3.Row]:
        """Return all rows of a query's result."""
        return self.reading().execute(query, given).fetchall()

    def change(self, query: str, *given: object) -> int:
        """Run one statement in a transaction of its own; return the number of changed rows."""
        with self.writing() as connection:
            return connection.execute(query, given).rowcount

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """Run a transaction; it is on the disk when the block ends without an error."""
        with self._lock:
            self._writer.execute("BEGIN IMMEDIATE")
            try:
                yield self._writer
                self._writer.execute("COMMIT")
            except BaseException:
                if self._writer.in_transaction:
                    self._writer.execute("ROLLBACK")
                raise

    def _time(self, later: timedelta = timedelta(0)) -> str:
        """Return the present time, or a later one, as the file holds times."""
        at = datetime.fromtimestamp(self.clock(), UTC) + later
        return at.isoformat(timespec="milliseconds")

    @property
    def name(self) -> str:
        """The name of the campaign: that of its file."""
        return self.path.stem

    @property
    def identity(self) -> str:
        """The random identity of the campaign; its backups have the same."""
        return self.meta["identity"]

    @property
    def procedure(self) -> str:
        """One of `foveal.assess.procedure.PROCEDURES`."""
        return self.meta["procedure"]

    @property
    def blind(self) -> bool:
        """True if assessors do not see each other's assessments."""
        return self.meta["blind"] == "1"

    @cached_property
    def topics(self) -> Topics:
        """The topics that have a pool."""
        known = [field.name for field in fields(Topic)]
        rows = self.rows("SELECT json FROM topics ORDER BY position")
        stored = [json.loads(row["json"]) for row in rows]
        return Topics.of(Topic(**{name: one.get(name) for name in known}) for one in stored)

    def _check_topic(self, topic: str) -> None:
        if topic not in self.topics:
            raise UsageError(f"no topic {topic!r} in the campaign")
