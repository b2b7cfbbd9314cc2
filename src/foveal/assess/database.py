"""The open file of a campaign: its connections, transactions, settings and index.

One connection writes, guarded by a lock; every thread reads through its own. Commands can open the
file while a server uses it.
"""

from __future__ import annotations

import json
import sqlite3
import threading
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import fields
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any, Self
from weakref import WeakSet

from foveal.assess.schema import check_file, check_integrity, connect, damage, upgrade
from foveal.collection import Collection
from foveal.errors import InputError, UsageError
from foveal.model import Topic, Topics


def one(connection: sqlite3.Connection, query: str, *given: object) -> sqlite3.Row | None:
    """Return the first row of a query's result, or None."""
    row: sqlite3.Row | None = connection.execute(query, given).fetchone()
    return row


def dumps(data: Any) -> str:
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

    def _time(self) -> str:
        return datetime.now(UTC).isoformat(timespec="milliseconds")

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
