"""A campaign: topics, pools, documents and the log of all actions, in one SQLite file.

Nothing is lost: an action is on the disk before it is acknowledged, and logged actions never
change. The state of each assessment can be computed from the log again.
"""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from foveal.assess.actions import Action, History, RefusedError, State, check
from foveal.assess.database import Clock, Recent, dumps, now, one
from foveal.assess.documents import AssessedDocument, Elements
from foveal.assess.events import Events, Progress, Viewed
from foveal.assess.holdings import CollectionDocument, Holdings, PoolEntry
from foveal.assess.people import FINAL, ROLES, People, User, check_name
from foveal.assess.procedure import Missing, inferred, missing, refuse, relevant
from foveal.assess.schema import check_integrity, connect, damage
from foveal.collection import Collection
from foveal.errors import FovealError

__all__ = [
    "FINAL",
    "ROLES",
    "AssessedDocument",
    "AssessmentSummary",
    "Campaign",
    "CollectionDocument",
    "ConflictError",
    "Elements",
    "PoolEntry",
    "Progress",
    "Saved",
    "User",
    "Viewed",
    "check_name",
]

_HISTORIES = 64
"""Number of histories cached."""
_NAME = re.compile(r"[!-~]{1,100}")
"""Allowed names of actions."""
_MOST_TIME = 40

Key = tuple[str, str, str]
"""Assessor, topic and document."""


class ConflictError(FovealError):
    """An action that was based on an old version of an assessment."""

    def __init__(self, history: History) -> None:
        self.version, self.state = history.version, history.state
        self.can_undo, self.can_redo = history.can_undo, history.can_redo
        super().__init__(f"the assessment has changed meanwhile: it is at version {self.version}")


class Saved(NamedTuple):
    """The outcome of an action."""

    version: int
    state: State
    can_undo: bool
    can_redo: bool
    repeated: bool = False
    """True if the action was saved before; this is its outcome then."""


class AssessmentSummary(NamedTuple):
    """The main figures of an assessment, without its state."""

    version: int
    relevant: bool
    validated: bool
    spans: int


class Campaign(People, Holdings, Events):
    """An open campaign; `create` makes one, `open` opens one. Threads may share it."""

    def __init__(self, path: Path, collection: Collection | None, clock: Clock) -> None:
        super().__init__(path, collection, clock)
        self._histories: Recent[Key, History] = Recent(_HISTORIES)

    @classmethod
    def create(cls, path: str | Path, **given: Any) -> Campaign:
        """Create a campaign and open it; takes the arguments of `creating.create`."""
        from foveal.assess.creating import create

        create(Path(path), **given)
        return cls.open(path, collection=given["collection"])

    @classmethod
    def open(
        cls, path: str | Path, *, collection: Collection | None = None, clock: Clock = now
    ) -> Campaign:
        """Open a campaign.

        Parameters
        ----------
        path : path
        collection : Collection, optional
            Its index; by default it is opened from its path relative to the campaign.
        clock : callable
            Returns the present time.
        """
        return cls(Path(path), collection, clock)

    def history(self, assessor: str, topic: str, doc: str) -> History:
        """Return the history of an assessor's actions on a document."""
        with self._lock:
            return self._history(self.reading(), (assessor, topic, doc)).copy()

    def _history(self, connection: sqlite3.Connection, key: Key) -> History:
        """Return the cached history, brought up to date; the caller must hold the lock."""
        found = self._histories.get(key) or History()
        # Another process may have added actions.
        rows = connection.execute(
            "SELECT payload FROM actions WHERE assessor = ? AND topic = ? AND doc = ? "
            "AND version > ? ORDER BY version",
            (*key, found.version),
        )
        for row in rows.fetchall():
            found.add(_read_action(row))
        self._histories.put(key, found)
        return found

    def actions(self, assessor: str, topic: str, doc: str) -> list[tuple[Action, str]]:
        """Return an assessor's actions on a document, with the times at which they were saved."""
        rows = self.reading().execute(
            "SELECT payload, at FROM actions WHERE assessor = ? AND topic = ? AND doc = ? "
            "ORDER BY version",
            (assessor, topic, doc),
        )
        return [(_read_action(row), row["at"]) for row in rows.fetchall()]

    def state(self, assessor: str, topic: str, doc: str) -> tuple[int, State]:
        """Return version and state of an assessment; version 0 before the first action."""
        row = one(
            self.reading(),
            "SELECT version, state FROM assessments WHERE assessor = ? AND topic = ? AND doc = ?",
            assessor,
            topic,
            doc,
        )
        return (0, State()) if row is None else (row["version"], _read_state(row))

    def states(self, assessor: str, topic: str) -> dict[str, AssessmentSummary]:
        """Return summaries of an assessor's assessments of a topic, by document."""
        rows = self.reading().execute(
            "SELECT doc, version, relevant, validated, spans FROM assessments "
            "WHERE assessor = ? AND topic = ?",
            (assessor, topic),
        )
        return {
            row["doc"]: AssessmentSummary(
                row["version"], bool(row["relevant"]), bool(row["validated"]), row["spans"]
            )
            for row in rows.fetchall()
        }

    def assessments(self) -> Iterator[tuple[str, str, str, int, State]]:
        """Yield assessor, topic, document, version and state of every assessment."""
        rows = self.reading().execute(
            "SELECT assessor, topic, doc, version, state FROM assessments "
            "JOIN topics USING (topic) LEFT JOIN pool USING (topic, doc) "
            "ORDER BY position, priority, assessor"
        )
        for row in rows.fetchall():
            yield row["assessor"], row["topic"], row["doc"], row["version"], _read_state(row)

    def missing(self, topic: str, doc: str, state: State) -> list[Missing]:
        """Return the reasons why a document in this state cannot be validated."""
        if self.procedure == "2003":
            pooled = self.pooled(topic, doc)
            return missing(self.procedure, state, self.elements(doc), pooled)
        return missing(self.procedure, state, self.elements(doc))

    def grades(self, doc: str, state: State) -> dict[str, dict[str, str]]:
        """Return the given and inferred grades of elements."""
        return inferred(self.procedure, state, self.elements(doc))

    def act(
        self,
        assessor: str,
        topic: str,
        doc: str,
        uuid: str,
        base: int,
        action: Action,
        *,
        length: int,
        digest: str,
        client_at: str | None = None,
        actor: str | None = None,
    ) -> Saved:
        """Save an action; it is on the disk when this returns.

        Parameters
        ----------
        assessor, topic, doc : str
        uuid : str
            Name of the action. A name that was saved before is not saved again, for any `base`.
        base : int
            The version that the action is based on; raises `ConflictError` if it is not the last.
        action : Action
        length, digest : int, str
            `AssessedDocument.length` and `AssessedDocument.sha256` of the text that the assessor
            sees; an action on any other text is refused.
        client_at : str, optional
            The time of the action by the assessor's clock.
        actor : str, optional
            The user who acts in the assessor's name, such as an organiser who adjudicates.
        """
        if not _NAME.fullmatch(uuid):
            raise RefusedError(f"{uuid!r:.60} cannot name an action")
        if client_at is not None and not (client_at.isascii() and len(client_at) <= _MOST_TIME):
            raise RefusedError(f"{client_at!r:.60} is not a time")
        key = (assessor, topic, doc)
        payload = dumps(action.to_json())
        with self._lock:
            with self.writing() as connection:
                saved = self._repeated(connection, key, uuid, payload)
                if saved is not None:
                    return saved
                self._check_target(connection, key, length, digest)
                history = self._history(connection, key)
                if base != history.version:
                    raise ConflictError(history)
                check(action, length)
                self._check_procedure(topic, doc, history.state, action)
                state, version = history.next(action), history.version + 1
                connection.execute(
                    "INSERT INTO actions (uuid, assessor, topic, doc, version, kind, payload, at, "
                    "client_at, actor) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                    (uuid, *key, version, action.kind, payload, self._time(), client_at, actor),
                )
                self._keep(connection, key, version, state)
            history.add(action)  # only now: a commit may fail
            return Saved(version, state, history.can_undo, history.can_redo)

    def _repeated(
        self, connection: sqlite3.Connection, key: Key, uuid: str, payload: str
    ) -> Saved | None:
        """Return the outcome of an action that was saved before, or None."""
        query = "SELECT assessor, topic, doc, version, payload FROM actions WHERE uuid = ?"
        row = one(connection, query, uuid)
        if row is None:
            return None
        if (*row[:3], row["payload"]) != (*key, payload):
            raise RefusedError(f"{uuid!r:.60} already names another action")
        version = row["version"]
        rows = connection.execute(
            "SELECT payload FROM actions WHERE assessor = ? AND topic = ? AND doc = ? "
            "AND version <= ? ORDER BY version",
            (*key, version),
        )
        then = History(_read_action(row) for row in rows.fetchall())
        return Saved(version, then.state, then.can_undo, then.can_redo, repeated=True)

    def _check_target(
        self, connection: sqlite3.Connection, key: Key, length: int, digest: str
    ) -> None:
        """Refuse an action by an unknown assessor, outside the pool, or on another text."""
        assessor, topic, doc = key
        if assessor != FINAL and not one(
            connection, "SELECT 1 FROM users WHERE name = ?", assessor
        ):
            raise RefusedError(f"unknown assessor {assessor!r}")
        row = one(
            connection,
            "SELECT length, sha256 FROM documents JOIN pool USING (doc) "
            "WHERE topic = ? AND doc = ?",
            topic,
            doc,
        )
        if row is None:
            raise RefusedError(f"document {doc!r} is not in the pool of topic {topic!r}")
        if (length, digest) != (row["length"], row["sha256"]):
            raise RefusedError(
                f"the text of {doc!r} differs from the assessed one: {length} characters, "
                f"expected {row['length']} of the same hash; nothing was saved"
            )

    def _check_procedure(self, topic: str, doc: str, state: State, action: Action) -> None:
        """Refuse an action that the procedure forbids, such as validation of an incomplete one."""
        if self.procedure != "2006" or action.kind in ("grade", "replace"):
            refuse(self.procedure, state, action, self.elements(doc))
        if action.kind == "replace" and action.state is not None:
            state = action.state
            if not state.validated:
                return
        elif action.kind != "validate":
            return
        lacking = self.missing(topic, doc, state)
        if lacking:
            more = f" (and {len(lacking) - 1} more)" if len(lacking) > 1 else ""
            raise RefusedError(f"cannot be validated: {lacking[0].reason}{more}")

    def _keep(self, connection: sqlite3.Connection, key: Key, version: int, state: State) -> None:
        """Store the state that the log leads to."""
        connection.execute(
            "INSERT OR REPLACE INTO assessments VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            (
                *key,
                version,
                dumps(state.to_json()),
                len(state.spans),
                relevant(self.procedure, state),
                state.validated,
            ),
        )

    def rebuild(self) -> None:
        """Compute all states from the log again."""
        with self.writing() as connection:
            connection.execute("DELETE FROM assessments")
            rows = connection.execute("SELECT DISTINCT assessor, topic, doc FROM actions")
            for row in rows.fetchall():
                key = (row["assessor"], row["topic"], row["doc"])
                history = self._history(connection, key)
                self._keep(connection, key, history.version, history.state)

    def backup(
        self, path: str | Path, *, progress: Callable[[int, int], None] | None = None
    ) -> None:
        """Copy the campaign to a new file, also while it is in use.

        Raises InputError without leaving a copy if the campaign is damaged.
        """
        from foveal.assess.creating import placed, relative

        target = Path(path)
        with damage(target), placed(target) as temporary:
            copy = connect(temporary)
            try:

                def report(_: int, left: int, total: int) -> None:
                    if progress is not None:
                        progress(total - left, total)

                reading = self.reading()
                # A transaction of its own: otherwise every write would restart the copy.
                reading.execute("BEGIN")
                try:
                    reading.execute("SELECT 1 FROM meta").fetchone()
                    reading.backup(copy, pages=2000, progress=report)
                finally:
                    reading.execute("ROLLBACK")
                check_integrity(self.path, copy)  # the copy has the same pages as the campaign
                # The paths of index and documents are relative to the file.
                for key in ("index", "source"):
                    place = relative(self.path.parent / self.meta[key], target)
                    copy.execute("UPDATE meta SET value = ? WHERE key = ?", (place, key))
                copy.execute("DELETE FROM sessions")
                copy.execute("PRAGMA journal_mode = WAL").fetchone()
            finally:
                copy.close()


def _read_action(row: sqlite3.Row) -> Action:
    return Action.from_json(json.loads(row["payload"]))


def _read_state(row: sqlite3.Row) -> State:
    return State.from_json(json.loads(row["state"]))
