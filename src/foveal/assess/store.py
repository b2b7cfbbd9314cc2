"""A campaign: topics, pools, documents and the log of all that was done, in one SQLite file.

Nothing is lost: an action is on the disk before anybody hears that it was saved, the log of actions
only grows, and what else there is (the state of each assessment) can be worked out from it again.
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
"""How many are kept at hand."""
_NAME = re.compile(r"[!-~]{1,100}")
"""What may name an action."""
_MOST_TIME = 40

Key = tuple[str, str, str]
"""Assessor, topic and document."""


class ConflictError(FovealError):
    """An action on a version of an assessment that is no longer the last one."""

    def __init__(self, history: History) -> None:
        self.version, self.state = history.version, history.state
        self.can_undo, self.can_redo = history.can_undo, history.can_redo
        super().__init__(f"the assessment has changed meanwhile: it is at version {self.version}")


class Saved(NamedTuple):
    """What came of an action."""

    version: int
    state: State
    can_undo: bool
    can_redo: bool
    repeated: bool = False
    """Whether it was saved before, and this is what came of it then."""


class AssessmentSummary(NamedTuple):
    """What is known of an assessment without looking into it."""

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
        """Make a campaign, whole or not at all, and open it: see `creating.create`."""
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
            Its index; by default it is where it was, seen from the campaign.
        clock : callable
            Tells when things happen.
        """
        return cls(Path(path), collection, clock)

    def history(self, assessor: str, topic: str, doc: str) -> History:
        """All that an assessor did to a document."""
        with self._lock:
            return self._history(self.reading(), (assessor, topic, doc)).copy()

    def _history(self, connection: sqlite3.Connection, key: Key) -> History:
        """The history as the log has it; only who holds the lock may go on with it."""
        found = self._histories.get(key) or History()
        # Another process may have gone on with it.
        rows = connection.execute(
            "SELECT payload FROM actions WHERE assessor = ? AND topic = ? AND doc = ? "
            "AND version > ? ORDER BY version",
            (*key, found.version),
        )
        for row in rows.fetchall():
            found.add(_action(row))
        self._histories.put(key, found)
        return found

    def actions(self, assessor: str, topic: str, doc: str) -> list[tuple[Action, str]]:
        """The actions of an assessor on a document, with when they were saved."""
        rows = self.reading().execute(
            "SELECT payload, at FROM actions WHERE assessor = ? AND topic = ? AND doc = ? "
            "ORDER BY version",
            (assessor, topic, doc),
        )
        return [(_action(row), row["at"]) for row in rows.fetchall()]

    def state(self, assessor: str, topic: str, doc: str) -> tuple[int, State]:
        """Version and state of an assessment; version 0 if nothing was done yet."""
        row = one(
            self.reading(),
            "SELECT version, state FROM assessments WHERE assessor = ? AND topic = ? AND doc = ?",
            assessor,
            topic,
            doc,
        )
        return (0, State()) if row is None else (row["version"], _state(row))

    def states(self, assessor: str, topic: str) -> dict[str, AssessmentSummary]:
        """The documents of a topic that an assessor has done something to."""
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
        """Assessor, topic, document, version and state of everything that was assessed."""
        rows = self.reading().execute(
            "SELECT assessor, topic, doc, version, state FROM assessments "
            "JOIN topics USING (topic) LEFT JOIN pool USING (topic, doc) "
            "ORDER BY position, priority, assessor"
        )
        for row in rows.fetchall():
            yield row["assessor"], row["topic"], row["doc"], row["version"], _state(row)

    def missing(self, topic: str, doc: str, state: State) -> list[Missing]:
        """What keeps a document in this state from being validated."""
        if self.procedure == "2003":
            pooled = self.pooled(topic, doc)
            return missing(self.procedure, state, self.elements(doc), pooled)
        return missing(self.procedure, state, self.elements(doc))

    def grades(self, doc: str, state: State) -> dict[str, dict[str, str]]:
        """The grades of elements, given and inferred."""
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
        """Save an action; when this returns, it is on the disk.

        Parameters
        ----------
        assessor, topic, doc : str
        uuid : str
            Names the action. One that was saved before is not saved again, whatever `base` is.
        base : int
            The version that the action goes on from; raises `ConflictError` if it is not the last.
        action : Action
        length, digest : int, str
            `AssessedDocument.length` and `AssessedDocument.sha256` of the text that the assessor
            sees; an action on any other text is refused.
        client_at : str, optional
            When it was done, by the assessor's clock.
        actor : str, optional
            Who did it in the assessor's name, such as the organiser who adjudicates.
        """
        _check_written(uuid, client_at)
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
        """What came of an action when it was saved the first time."""
        query = "SELECT assessor, topic, doc, version, payload FROM actions WHERE uuid = ?"
        row = one(connection, query, uuid)
        if row is None:
            return None
        if (*row[:3], row["payload"]) != (*key, payload):
            raise RefusedError(f"{uuid!r:.60} already names another action")
        return self._outcome(connection, key, row["version"])._replace(repeated=True)

    def _outcome(self, connection: sqlite3.Connection, key: Key, version: int) -> Saved:
        """What came of the action that made a version."""
        rows = connection.execute(
            "SELECT payload FROM actions WHERE assessor = ? AND topic = ? AND doc = ? "
            "AND version <= ? ORDER BY version",
            (*key, version),
        )
        then = History(_action(row) for row in rows.fetchall())
        return Saved(version, then.state, then.can_undo, then.can_redo)

    def _check_target(
        self, connection: sqlite3.Connection, key: Key, length: int, digest: str
    ) -> None:
        """Refuse an action by nobody, outside the pool, or on another text."""
        assessor, topic, doc = key
        if assessor != FINAL and not one(
            connection, "SELECT 1 FROM users WHERE name = ?", assessor
        ):
            raise RefusedError(f"there is no assessor {assessor!r}")
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
                f"the text of {doc!r} is not the one that is assessed: {length} characters, "
                f"expected {row['length']} of the same hash; nothing was saved"
            )

    def _check_procedure(self, topic: str, doc: str, state: State, action: Action) -> None:
        """Refuse what the procedure does not allow, such as to validate what is not complete."""
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
        """Note the state that a log has led to."""
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
        """Work out all states from the log again."""
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
        """Copy the campaign while it is used, whole or not at all; never over another file.

        Raises InputError if the campaign is damaged.
        """
        from foveal.assess.creating import placed, relative

        target = Path(path)
        with damage(target), placed(target) as temporary:
            copy = connect(temporary)
            try:

                def told(_: int, left: int, total: int) -> None:
                    if progress is not None:
                        progress(total - left, total)

                reading = self.reading()
                # What is written meanwhile would make the copy begin again, each time.
                reading.execute("BEGIN")
                try:
                    reading.execute("SELECT 1 FROM meta").fetchone()
                    reading.backup(copy, pages=2000, progress=told)
                finally:
                    reading.execute("ROLLBACK")
                check_integrity(self.path, copy)  # its pages are those of the campaign
                # Where index and documents are is told as seen from the file.
                for key in ("index", "source"):
                    place = relative(self.path.parent / self.meta[key], target)
                    copy.execute("UPDATE meta SET value = ? WHERE key = ?", (place, key))
                copy.execute("DELETE FROM sessions")
                copy.execute("PRAGMA journal_mode = WAL").fetchone()
            finally:
                copy.close()


def _action(row: sqlite3.Row) -> Action:
    return Action.from_json(json.loads(row["payload"]))


def _state(row: sqlite3.Row) -> State:
    return State.from_json(json.loads(row["state"]))


def _check_written(uuid: str, client_at: str | None) -> None:
    """Refuse names and times that are none."""
    if not _NAME.fullmatch(uuid):
        raise RefusedError(f"{uuid!r:.60} cannot name an action")
    if client_at is not None and not (client_at.isascii() and len(client_at) <= _MOST_TIME):
        raise RefusedError(f"{client_at!r:.60} is no time")
