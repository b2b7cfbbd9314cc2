"""Events besides actions (views, time spent, settings), and the progress of assessors.

Settings are logged because coloured words may influence judgements.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

from foveal.assess.database import Database, dumps, one

__all__ = ["Events", "Progress", "Viewed"]

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


class Events(Database):
    """The table of events, and summaries of it."""

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
            self._note(connection, assessor, topic, doc, kind, payload)

    def events(self, limit: int = 200, *, before: int | None = None) -> list[dict[str, Any]]:
        """Return the last events for the organiser, the newest first."""
        rows = self.reading().execute(
            "SELECT id, at, assessor, topic, doc, kind, payload FROM events "
            "WHERE ? IS NULL OR id < ? ORDER BY id DESC LIMIT ?",
            (before, before, limit),
        )
        return [{**dict(row), "payload": json.loads(row["payload"])} for row in rows.fetchall()]

    def viewed(self, assessor: str, topic: str) -> list[Viewed]:
        """Return the documents that an assessor has viewed, the most recent first."""
        rows = self.reading().execute(
            f"SELECT doc, title, sum(kind = 'view') AS views, min(at), max(at), {_SECONDS} "  # noqa: S608 - a constant
            "FROM events JOIN documents USING (doc) "
            "WHERE assessor = ? AND topic = ? AND kind IN ('view', 'time') GROUP BY doc "
            "HAVING views > 0 ORDER BY max(CASE kind WHEN 'view' THEN id END) DESC",
            (assessor, topic),
        )
        return [Viewed(*row) for row in rows.fetchall()]

    def seconds(self, assessor: str, topic: str, doc: str) -> float:
        """Return the seconds that an assessor has spent on a document."""
        row = one(
            self.reading(),
            f"SELECT {_SECONDS} FROM events "  # noqa: S608 - as above
            "WHERE assessor = ? AND topic = ? AND doc = ? AND kind = 'time'",
            assessor,
            topic,
            doc,
        )
        assert row is not None
        return float(row[0])

    def progress(self) -> list[Progress]:
        """Return the progress by topic and assessor, including unassigned topics with work."""
        rows = self.reading().execute(_PROGRESS)
        return [Progress(*row) for row in rows.fetchall()]

    def settings(self, assessor: str, topic: str = "") -> dict[str, Any]:
        """Return the settings of an assessor for a topic, or for all topics."""
        rows = self.reading().execute(
            "SELECT key, value FROM settings WHERE assessor = ? AND topic = ?", (assessor, topic)
        )
        return {row["key"]: json.loads(row["value"]) for row in rows.fetchall()}

    def setting(self, assessor: str, topic: str, key: str, default: Any = None) -> Any:
        """Return one setting of an assessor."""
        return self.settings(assessor, topic).get(key, default)

    def set_setting(self, assessor: str, topic: str, key: str, value: Any) -> None:
        """Change a setting, and log the change, since it may influence judgements."""
        with self.writing() as connection:
            connection.execute(
                "INSERT OR REPLACE INTO settings VALUES (?, ?, ?, ?)",
                (assessor, topic, key, dumps(value)),
            )
            kind = "cues" if key == "cues" else "setting"
            note = {"key": key, "value": value}
            self._note(connection, assessor, topic or None, None, kind, note)
