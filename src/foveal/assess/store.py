"""A campaign: topics, pools, documents and the log of all actions, in one SQLite file.

Nothing is lost: an action is on the disk before it is acknowledged, and logged actions never
change. The state of each assessment can be computed from the log again.
"""

from __future__ import annotations

import json
import re
import sqlite3
import zlib
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, Literal, NamedTuple

from foveal.assess.actions import (
    Action,
    Decision,
    History,
    RefusedError,
    Replace,
    Spans,
    State,
    Validate,
)
from foveal.assess.creating import (
    create,
    create_file,
    insert_document,
    make_relative,
    read_documents,
)
from foveal.assess.database import check_integrity, connect, damage, encode_json, fetch_one
from foveal.assess.documents import (
    AssessedDocument,
    Elements,
    read_elements,
)
from foveal.assess.people import FINAL, People
from foveal.assess.procedure import Missing, infer_grades, is_relevant, list_missing, refuse
from foveal.assess.vocabularies import searchable
from foveal.collection import Collection
from foveal.errors import FovealError

_DOCUMENTS, _ELEMENTS, _HISTORIES = 16, 64, 64
"""Numbers of documents, element tables and histories cached."""
_ACTION_NAME = re.compile(r"[!-~]{1,100}")
_MOST_TIME = 40
_SNIPPET = 80
"""Characters shown on either side of a word found."""
_WORD = re.compile(r"\w+")

# Entries of the log cannot be repaired: one that is not JSON must not break the sum of time.
_SECONDS = (
    "coalesce(sum(CASE WHEN json_valid(payload) THEN json_extract(payload, '$.seconds') END), 0.0) "
    "AS seconds"
)
_PROGRESS = f"""
WITH pairs AS (
    SELECT topic, assessor FROM assignments UNION SELECT topic, assessor FROM assessments
)
SELECT topic, assessor,
    (SELECT count(*) FROM pool WHERE pool.topic = pairs.topic) AS pooled,
    (SELECT count(*) FROM (
        SELECT doc FROM events WHERE kind = 'view' AND events.topic = pairs.topic
            AND events.assessor = pairs.assessor
        UNION SELECT doc FROM assessments WHERE assessments.topic = pairs.topic
            AND assessments.assessor = pairs.assessor)) AS seen,
    (SELECT count(*) FROM assessments WHERE assessments.topic = pairs.topic
        AND assessments.assessor = pairs.assessor AND validated) AS validated,
    (SELECT count(*) FROM assessments WHERE assessments.topic = pairs.topic
        AND assessments.assessor = pairs.assessor AND relevant) AS relevant,
    (SELECT {_SECONDS} FROM events WHERE kind = 'time' AND events.topic = pairs.topic
        AND events.assessor = pairs.assessor) AS seconds
FROM pairs JOIN topics USING (topic) ORDER BY position, assessor
"""  # noqa: S608 - constants only

Key = tuple[str, str, str]
"""Assessor, topic and document."""


class Saved(NamedTuple):
    """The outcome of an action."""

    version: int
    state: State
    can_undo: bool
    can_redo: bool
    repeated: bool = False
    """True if the action was saved before; this is its outcome then."""


def _outcome(history: History) -> Saved:
    return Saved(history.version, history.state, history.can_undo, history.can_redo)


class ConflictError(FovealError):
    """An action that was based on an old version of an assessment."""

    def __init__(self, newest: Saved) -> None:
        self.newest = newest
        super().__init__(f"the assessment has changed meanwhile: it is at version {newest.version}")


class AssessmentSummary(NamedTuple):
    """The main figures of an assessment, without its state."""

    version: int
    relevant: bool
    validated: bool
    spans: int


class PoolEntry(NamedTuple):
    """A document to assess."""

    doc: str
    title: str
    length: int
    priority: int
    added_by: str | None
    """The user who added it; None if runs returned it."""
    support: list[dict[str, Any]]
    """Its results in runs: ``start``, ``end``, ``path`` (or None) and ``runs``."""


class CollectionDocument(NamedTuple):
    """A document found by search or browsing."""

    doc: str
    title: str
    snippet: str


class Viewed(NamedTuple):
    """A document that an assessor has viewed."""

    doc: str
    title: str
    views: int
    first: str
    last: str
    seconds: float


class Progress(NamedTuple):
    """The progress of an assessor on a topic."""

    topic: str
    assessor: str
    pooled: int
    seen: int
    validated: int
    relevant: int
    seconds: float


class Campaign(People):
    """An open campaign; `create` makes one, `open` opens one. Threads may share it."""

    def __init__(self, path: Path, collection: Collection | None) -> None:
        super().__init__(path, collection)
        self._histories: dict[Key, History] = {}
        """Histories of the documents used last, the most recent at the end."""
        self._cached_document = lru_cache(_DOCUMENTS)(self._load_document)
        self._cached_elements = lru_cache(_ELEMENTS)(
            lambda doc: read_elements(self.collection, doc)
        )

    @classmethod
    def create(cls, path: str | Path, **given: Any) -> Campaign:
        """Create a campaign and open it; takes the arguments of `creating.create`."""
        create(Path(path), **given)
        return cls.open(path, collection=given["collection"])

    @classmethod
    def open(cls, path: str | Path, *, collection: Collection | None = None) -> Campaign:
        """Open a campaign; its index is by default found by its path relative to the campaign."""
        return cls(Path(path), collection)

    # -- pools and documents ----------------------------------------------------------------------

    def pool(self, topic: str) -> list[PoolEntry]:
        """Return the documents of a topic in the order of assessment; added ones come last."""
        rows = self.rows(
            "SELECT doc, title, length, priority, added_by, support FROM pool "
            "JOIN documents USING (doc) WHERE topic = ? ORDER BY priority",
            topic,
        )
        return [
            PoolEntry(doc, title, length, priority, added_by, json.loads(support))
            for doc, title, length, priority, added_by, support in rows
        ]

    def support(self, topic: str, doc: str) -> list[dict[str, Any]]:
        """Return the results of runs in a pooled document; raise KeyError for any other."""
        rows = self.rows("SELECT support FROM pool WHERE topic = ? AND doc = ?", topic, doc)
        if not rows:
            raise KeyError(doc)
        support: list[dict[str, Any]] = json.loads(rows[0]["support"])
        return support

    def is_pooled(self, topic: str, doc: str) -> bool:
        """Return True if a document is in the pool of a topic."""
        return bool(self.rows("SELECT 1 FROM pool WHERE topic = ? AND doc = ?", topic, doc))

    def list_pooled(self, topic: str, doc: str) -> tuple[str, ...]:
        """Return the elements that runs returned, and the enclosing elements of passages."""
        elements = self.elements(doc)
        paths = {
            one["path"]
            if one["path"] in elements.number
            else elements.path[elements.around(one["start"], one["end"])]
            for one in self.support(topic, doc)
        }
        return tuple(path for path in elements.path if path in paths)

    def to_judge(self, assessor: str, topic: str) -> dict[str, bool]:
        """Return the documents to judge in order, with whether each is validated.

        Assessors judge the whole pool; adjudicators the documents that somebody has validated.
        """
        rows = self.reading().execute(
            "SELECT pool.doc, coalesce(own.validated, 0) AS validated FROM pool "
            "LEFT JOIN assessments AS own ON own.topic = pool.topic AND own.doc = pool.doc "
            "AND own.assessor = :assessor WHERE pool.topic = :topic "
            "AND (:assessor <> :final OR EXISTS (SELECT 1 FROM assessments AS given "
            "WHERE given.topic = pool.topic AND given.doc = pool.doc AND given.validated "
            "AND given.assessor <> :final)) ORDER BY priority",
            {"topic": topic, "assessor": assessor, "final": FINAL},
        )
        return {row["doc"]: bool(row["validated"]) for row in rows.fetchall()}

    def add_document(self, topic: str, doc: str, by: str) -> bool:
        """Add a document that no run returned to a pool; return False if it is there already."""
        self._check_topic(topic)
        self.document(doc)
        with self.writing() as connection:
            added = connection.execute(
                "INSERT OR IGNORE INTO pool SELECT ?, ?, 1 + coalesce(max(priority), 0), ?, '[]' "
                "FROM pool WHERE topic = ?",
                (topic, doc, by, topic),
            ).rowcount
            if added:
                self._log(connection, by, topic, doc, "add", {})
        return bool(added)

    def suggest(
        self,
        found: Iterable[tuple[str, str, str, Spans]],
        by: str,
        *,
        assessors: Iterable[str] = (),
        replace: bool = False,
    ) -> None:
        """Suggest highlights; new ones of the same source take the place of earlier ones.

        Parameters
        ----------
        found : iterable of tuples
            Topic, document, the source of the suggestion, and spans.
        by : str
            The user whom the log names.
        assessors : iterable of str
            Show the suggestions to these only; by default to all.
        replace : bool
            Take back the earlier suggestions of all sources. Decisions stay.
        """
        shown = tuple(assessors) or ("",)
        with self.writing() as connection:
            if replace:
                connection.execute("DELETE FROM suggestions")
            sources = set()
            for topic, doc, source, spans in found:
                sources.add(source)
                connection.executemany(
                    "INSERT OR REPLACE INTO suggestions VALUES (?, ?, ?, ?, ?)",
                    [(topic, doc, source, assessor, encode_json(spans)) for assessor in shown],
                )
            note = {"sources": sorted(sources), "assessors": list(assessors), "replace": replace}
            self._log(connection, by, None, None, "suggest", note)

    def suggestions(self, assessor: str, topic: str, doc: str) -> dict[tuple[int, int], list[str]]:
        """Return the spans suggested to an assessor in order, each with its sources.

        Nothing is suggested in adjudication.
        """
        rows = self.rows(
            "SELECT source, spans FROM suggestions WHERE topic = ? AND doc = ? "
            "AND assessor IN ('', ?) AND ? <> ? ORDER BY source",
            *(topic, doc, assessor, assessor, FINAL),
        )
        found: dict[tuple[int, int], list[str]] = {}
        for source, spans in rows:
            for start, end in json.loads(spans):
                found.setdefault((start, end), []).append(source)
        return dict(sorted(found.items()))

    def document(self, doc: str) -> AssessedDocument:
        """Return a document; raise KeyError if the collection lacks it.

        A document that is not in the file yet is read from the source of the index, and stored.
        """
        return self._cached_document(doc)

    def _load_document(self, doc: str) -> AssessedDocument:
        query = "SELECT title, text, length, digest, sha256, markup FROM documents WHERE doc = ?"
        rows = self.rows(query, doc)
        if not rows:
            digests = {doc: self._digests[doc]}
            name_tag = self.meta.get("name_tag")
            (found,) = read_documents(self.collection, self.source, name_tag, digests)
            with self.writing() as connection:
                if not fetch_one(connection, "SELECT 1 FROM documents WHERE doc = ?", doc):
                    insert_document(connection, *found)
            rows = self.rows(query, doc)
        title, stored, *rest = rows[0]
        text = zlib.decompress(stored).decode("utf-8", "surrogatepass")
        return AssessedDocument(doc, title, text, *rest)

    @property
    def source(self) -> Path:
        """Path of the documents that the index was built from."""
        return self.path.parent / self.meta["source"]

    @cached_property
    def _digests(self) -> dict[str, bytes]:
        return self.collection.digests()

    def elements(self, doc: str) -> Elements:
        """Return the elements of a document in order; raise KeyError if the collection lacks it."""
        return self._cached_elements(doc)

    @cached_property
    def _names(self) -> list[str]:
        """Sorted names of all documents of the collection."""
        return sorted(self.collection)

    def browse(
        self, prefix: str = "", after: str = "", limit: int = 50
    ) -> list[CollectionDocument]:
        """Return documents of the collection in order of name, after a given name."""
        first = bisect_right(self._names, after) if after else 0
        first = max(first, bisect_left(self._names, prefix))
        chosen = [n for n in self._names[first : first + limit] if n.startswith(prefix)]
        marks = ", ".join("?" * len(chosen))
        query = f"SELECT doc, title FROM documents WHERE doc IN ({marks})"  # noqa: S608 - marks only
        titles = {doc: title for doc, title in self.rows(query, *chosen)}  # noqa: C416 - rows
        return [CollectionDocument(name, titles.get(name, name), "") for name in chosen]

    def search(self, query: str, limit: int = 20, offset: int = 0) -> list[CollectionDocument]:
        """Return stored documents with all the words of a query, the best first.

        The query has no operators; its last word also matches as a prefix.
        """
        words = [word for word in _WORD.findall(query) if any(map(str.isalnum, word))]
        if not words:
            return []
        rows = self.rows(
            "SELECT doc, title FROM (SELECT rowid AS number, rank FROM words "
            "WHERE words MATCH ? ORDER BY rank, rowid LIMIT ? OFFSET ?) "
            "JOIN documents USING (number) ORDER BY rank, number",
            *(" ".join(f'"{word}"' for word in words) + "*", limit, offset),
        )
        pattern = re.compile("|".join(map(re.escape, words)), re.IGNORECASE)
        return [
            CollectionDocument(doc, title, self._cut_snippet(doc, pattern)) for doc, title in rows
        ]

    def _cut_snippet(self, doc: str, pattern: re.Pattern[str]) -> str:
        """Return the text around the first match, or the beginning of the text."""
        text = searchable(self.elements(doc), self.document(doc).text)
        text = " ".join(text.encode("utf-8", "replace").decode().split())
        found = pattern.search(text)
        at, end = found.span() if found else (0, 0)
        first, last = max(at - _SNIPPET, 0), end + _SNIPPET
        return f"{'…' if first else ''}{text[first:last]}{'…' if last < len(text) else ''}"

    # -- assessments ------------------------------------------------------------------------------

    def history(self, assessor: str, topic: str, doc: str) -> Saved:
        """Return the outcome of an assessor's last action on a document."""
        with self._lock:
            return _outcome(self._history(self.reading(), (assessor, topic, doc)))

    def _history(self, connection: sqlite3.Connection, key: Key) -> History:
        """Return the cached history, brought up to date; the caller must hold the lock."""
        found = self._histories.pop(key, None) or History()
        # Another process may have added actions.
        for action, _, _ in _read_actions(connection, key, after=found.version):
            found.add(action)
        self._histories[key] = found
        if len(self._histories) > _HISTORIES:
            del self._histories[next(iter(self._histories))]
        return found

    def actions(self, assessor: str, topic: str, doc: str) -> list[tuple[Action, str]]:
        """Return an assessor's actions on a document, with the times at which they were saved."""
        found = _read_actions(self.reading(), (assessor, topic, doc))
        return [(action, at) for action, _, at in found]

    def state(self, assessor: str, topic: str, doc: str) -> tuple[int, State]:
        """Return version and state of an assessment; version 0 before the first action."""
        rows = self.rows(
            "SELECT version, state FROM assessments WHERE assessor = ? AND topic = ? AND doc = ?",
            *(assessor, topic, doc),
        )
        return (rows[0]["version"], _read_state(rows[0])) if rows else (0, State())

    def states(self, assessor: str, topic: str) -> dict[str, AssessmentSummary]:
        """Return summaries of an assessor's assessments of a topic, by document."""
        rows = self.rows(
            "SELECT doc, version, relevant, validated, spans FROM assessments "
            "WHERE assessor = ? AND topic = ?",
            *(assessor, topic),
        )
        return {
            doc: AssessmentSummary(version, bool(relevant), bool(validated), spans)
            for doc, version, relevant, validated, spans in rows
        }

    def assessments(self) -> Iterator[tuple[str, str, str, int, State]]:
        """Yield assessor, topic, document, version and state of every assessment."""
        rows = self.rows(
            "SELECT assessor, topic, doc, version, state FROM assessments "
            "JOIN topics USING (topic) LEFT JOIN pool USING (topic, doc) "
            "ORDER BY position, priority, assessor"
        )
        for row in rows:
            yield row["assessor"], row["topic"], row["doc"], row["version"], _read_state(row)

    def others(self, assessor: str, topic: str, doc: str) -> list[dict[str, Any]]:
        """Return the assessments of a document by other assessors, as JSON."""
        rows = self.rows(
            "SELECT assessor, state FROM assessments WHERE topic = ? AND doc = ? "
            "AND assessor NOT IN (?, ?) ORDER BY assessor",
            *(topic, doc, assessor, FINAL),
        )
        return [{"assessor": name, "state": json.loads(state)} for name, state in rows]

    def list_missing(self, topic: str, doc: str, state: State) -> list[Missing]:
        """Return the reasons why a document in this state cannot be validated."""
        pooled: tuple[str, ...] = ()
        if self.procedure == "2003" and self.is_pooled(topic, doc):
            pooled = self.list_pooled(topic, doc)
        return list_missing(self.procedure, state, self.elements(doc), pooled)

    def grades(self, doc: str, state: State) -> dict[str, dict[str, str]]:
        """Return the given and inferred grades of elements."""
        return infer_grades(self.procedure, state, self.elements(doc))

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
        if not _ACTION_NAME.fullmatch(uuid):
            raise RefusedError(f"{uuid!r:.60} cannot name an action")
        if client_at is not None and not (client_at.isascii() and len(client_at) <= _MOST_TIME):
            raise RefusedError(f"{client_at!r:.60} is not a time")
        key = (assessor, topic, doc)
        with self._lock:
            with self.writing() as connection:
                saved = _find_repeated(connection, key, uuid, action)
                if saved is not None:
                    return saved
                _check_target(connection, key, length, digest)
                history = self._history(connection, key)
                if base != history.version:
                    raise ConflictError(_outcome(history))
                action.check(length)
                refuse(self.procedure, history.state, action, self.elements(doc))
                if isinstance(action, Decision) and (
                    (action.start, action.end) not in self.suggestions(*key)
                ):
                    raise RefusedError(
                        f"no suggestion from {action.start} to {action.end} exists (any more); "
                        "reload the page"
                    )
                state, version = history.next(action), history.version + 1
                if state.validated and isinstance(action, Validate | Replace):
                    lacking = self.list_missing(topic, doc, state)
                    if lacking:
                        more = f" (and {len(lacking) - 1} more)" if len(lacking) > 1 else ""
                        raise RefusedError(f"cannot be validated: {lacking[0].reason}{more}")
                payload = encode_json(action.to_json())
                connection.execute(
                    "INSERT INTO actions (uuid, assessor, topic, doc, version, kind, payload, at, "
                    "client_at, actor) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                    (uuid, *key, version, action.kind, payload, self._time(), client_at, actor),
                )
                figures = len(state.spans), is_relevant(self.procedure, state), state.validated
                connection.execute(
                    "INSERT OR REPLACE INTO assessments VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                    (*key, version, encode_json(state.to_json()), *figures),
                )
            history.add(action)  # only now: a commit may fail
            return _outcome(history)

    def set_state(
        self,
        assessor: str,
        topic: str,
        doc: str,
        uuid: str,
        base: int,
        state: State,
        *,
        actor: str | None = None,
    ) -> Saved:
        """Save a whole state as an action, as imports and adjudications do."""
        text = self.document(doc)
        sent: dict[str, Any] = {"length": text.length, "digest": text.sha256, "actor": actor}
        return self.act(assessor, topic, doc, uuid, base, Replace(state), **sent)

    # -- events: views, time spent, settings ------------------------------------------------------

    def log(
        self,
        assessor: str,
        topic: str | None,
        doc: str | None,
        kind: str,
        payload: Mapping[str, Any],
    ) -> None:
        """Log an event that is not an action: a view, time spent, a setting, a log-in."""
        with self.writing() as connection:
            self._log(connection, assessor, topic, doc, kind, payload)

    def _log(self, connection: sqlite3.Connection, *event: Any) -> None:
        *where, payload = event
        connection.execute(
            "INSERT INTO events (at, assessor, topic, doc, kind, payload) "
            "VALUES (?, ?, ?, ?, ?, ?)",
            (self._time(), *where, encode_json(payload)),
        )

    def entries(
        self,
        log: Literal["actions", "events"] = "events",
        *,
        assessor: str | None = None,
        topic: str | None = None,
        before: int | None = None,
        limit: int = 200,
    ) -> list[dict[str, Any]]:
        """Return the last entries of a log, the newest first."""
        rows = self.rows(
            f"SELECT * FROM {log} WHERE (?1 IS NULL OR assessor = ?1) "  # noqa: S608 - see the type
            "AND (?2 IS NULL OR topic = ?2) AND (?3 IS NULL OR id < ?3) ORDER BY id DESC LIMIT ?4",
            *(assessor, topic, before, limit),
        )
        return [{**dict(row), "payload": json.loads(row["payload"])} for row in rows]

    def list_viewed(self, assessor: str, topic: str) -> list[Viewed]:
        """Return the documents that an assessor has viewed, the most recent first."""
        rows = self.rows(
            f"SELECT doc, title, sum(kind = 'view') AS views, min(at), max(at), {_SECONDS} "  # noqa: S608 - a constant
            "FROM events JOIN documents USING (doc) "
            "WHERE assessor = ? AND topic = ? AND kind IN ('view', 'time') GROUP BY doc "
            "HAVING views > 0 ORDER BY max(CASE kind WHEN 'view' THEN id END) DESC",
            *(assessor, topic),
        )
        return [Viewed(*row) for row in rows]

    def seconds(self, assessor: str, topic: str, doc: str) -> float:
        """Return the seconds that an assessor has spent on a document."""
        rows = self.rows(
            f"SELECT {_SECONDS} FROM events "  # noqa: S608 - as above
            "WHERE assessor = ? AND topic = ? AND doc = ? AND kind = 'time'",
            *(assessor, topic, doc),
        )
        return float(rows[0]["seconds"])

    def progress(self) -> list[Progress]:
        """Return the progress by topic and assessor, including unassigned topics with work."""
        return [Progress(*row) for row in self.rows(_PROGRESS)]

    def settings(self, assessor: str, topic: str = "") -> dict[str, Any]:
        """Return the settings of an assessor for a topic, or for all topics."""
        query = "SELECT key, value FROM settings WHERE assessor = ? AND topic = ?"
        return {key: json.loads(value) for key, value in self.rows(query, assessor, topic)}

    def set_setting(self, assessor: str, topic: str, key: str, value: Any) -> None:
        """Change a setting, and log the change, since it may influence judgements."""
        with self.writing() as connection:
            connection.execute(
                "INSERT OR REPLACE INTO settings VALUES (?, ?, ?, ?)",
                (assessor, topic, key, encode_json(value)),
            )
            kind = "cues" if key == "cues" else "setting"
            change = {"key": key, "value": value}
            self._log(connection, assessor, topic or None, None, kind, change)

    # -- the file ---------------------------------------------------------------------------------

    def backup(
        self, path: str | Path, *, progress: Callable[[int, int], None] | None = None
    ) -> None:
        """Copy the campaign to a new file, also while it is in use.

        Raises InputError without leaving a copy if the campaign is damaged.
        """
        target = Path(path)
        with damage(target), create_file(target) as temporary:
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
                    place = make_relative(self.path.parent / self.meta[key], target)
                    copy.execute("UPDATE meta SET value = ? WHERE key = ?", (place, key))
                copy.execute("DELETE FROM sessions")
                copy.execute("PRAGMA journal_mode = WAL").fetchone()
            finally:
                copy.close()


def _read_actions(
    connection: sqlite3.Connection, key: Key, *, after: int = 0
) -> Iterator[tuple[Action, int, str]]:
    """Yield the logged actions after a version, with the version and time of each."""
    rows = connection.execute(
        "SELECT payload, version, at FROM actions WHERE assessor = ? AND topic = ? AND doc = ? "
        "AND version > ? ORDER BY version",
        (*key, after),
    )
    for payload, version, at in rows.fetchall():
        yield Action.from_json(json.loads(payload)), version, at


def _read_state(row: sqlite3.Row) -> State:
    return State.from_json(json.loads(row["state"]))


def _find_repeated(
    connection: sqlite3.Connection, key: Key, uuid: str, action: Action
) -> Saved | None:
    """Return the outcome of an action that was saved before, or None."""
    query = "SELECT assessor, topic, doc, version, payload FROM actions WHERE uuid = ?"
    row = fetch_one(connection, query, uuid)
    if row is None:
        return None
    if tuple(row[:3]) != key or Action.from_json(json.loads(row["payload"])) != action:
        raise RefusedError(f"{uuid!r:.60} already names another action")
    done, last = _read_actions(connection, key), row["version"]
    then = History(action for action, version, _ in done if version <= last)
    return _outcome(then)._replace(repeated=True)


def _check_target(connection: sqlite3.Connection, key: Key, length: int, digest: str) -> None:
    """Refuse an action by an unknown assessor, outside the pool, or on another text."""
    assessor, topic, doc = key
    if assessor != FINAL and not fetch_one(
        connection, "SELECT 1 FROM users WHERE name = ?", assessor
    ):
        raise RefusedError(f"unknown assessor {assessor!r}")
    row = fetch_one(
        connection,
        "SELECT length, sha256 FROM documents JOIN pool USING (doc) WHERE topic = ? AND doc = ?",
        *(topic, doc),
    )
    if row is None:
        raise RefusedError(f"document {doc!r} is not in the pool of topic {topic!r}")
    if (length, digest) != tuple(row):
        raise RefusedError(
            f"the text of {doc!r} differs from the assessed one: {length} characters, "
            f"expected {row['length']} of the same hash; nothing was saved"
        )
