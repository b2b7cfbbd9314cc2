"""The people of a campaign: accounts, assignments, sessions, invitations, tokens, instructions."""

from __future__ import annotations

import secrets
import sqlite3
from collections.abc import Iterable
from datetime import timedelta
from typing import NamedTuple

from foveal.assess.accounts import digest
from foveal.assess.database import Database, fetch_one
from foveal.errors import UsageError

FINAL = "final"
"""The assessor name of adjudicated assessments; nobody can sign in with it."""
ROLES = ("assessor", "organiser")
IDLE = 12 * 3600.0
"""Seconds without a request after which a session ends."""
ABSOLUTE = 7 * 24 * 3600.0
"""Seconds after which every session ends."""

_FRESH = 60.0
"""Seconds before the time of a session's last request is written again."""
_INVITED = timedelta(days=7)
"""Time in which an invitation can be used."""
_MOST_NAME = 64
_MOST_TITLE, _MOST_GUIDELINES = 200, 50_000


class User(NamedTuple):
    """A user with an account."""

    name: str
    role: str
    password: str | None
    """Encoded password; None if the user cannot sign in with a password."""
    created: str


class NewUser(NamedTuple):
    """A user to add, with the topics to assign."""

    name: str
    role: str
    topics: tuple[str, ...] = ()


class Session(NamedTuple):
    """The session of a signed-in user."""

    user: str
    csrf: str
    """Token that every request that changes something carries in addition to the cookie."""
    expires: float
    """Latest time at which it ends."""


class ApiToken(NamedTuple):
    """A token of the API, without its secret."""

    id: int
    user: str
    """The organiser in whose name it acts."""
    label: str
    created: str
    used: str | None
    """The day of the last use."""


class Instructions(NamedTuple):
    """The title and guidelines that an organiser writes for the assessors."""

    title: str
    guidelines: str
    """Plain text; empty lines separate paragraphs."""


def check_name(name: str) -> None:
    """Raise UsageError if a user cannot have this name."""
    if name == FINAL:
        raise UsageError(f"the name {FINAL!r} is reserved for adjudication; choose another")
    if not name or name != name.strip() or len(name) > _MOST_NAME or not name.isprintable():
        raise UsageError(
            f"{name!r:.80} is not a name; expected 1 to {_MOST_NAME} printable characters without "
            "blanks around them"
        )


class People(Database):
    """The users of a campaign. The file holds only hashes of tokens."""

    # -- accounts ---------------------------------------------------------------------------------

    def users(self) -> list[User]:
        """Return all users in order of name."""
        rows = self.rows("SELECT name, role, password, created FROM users ORDER BY name")
        return [User(*row) for row in rows]

    def user(self, name: str) -> User | None:
        """Return one user, or None."""
        found = self.rows("SELECT name, role, password, created FROM users WHERE name = ?", name)
        return User(*found[0]) if found else None

    def add_user(self, name: str, role: str = ROLES[0], password: str | None = None) -> None:
        """Add an account with an encoded password."""
        with self.writing() as connection:
            self._add_user(connection, name, role, password)

    def add_users(self, users: Iterable[NewUser]) -> None:
        """Add accounts without passwords and assign their topics; all or none."""
        with self.writing() as connection:
            for name, role, topics in users:
                self._add_user(connection, name, role, None)
                for topic in topics:
                    self._check_topic(topic)
                    connection.execute(
                        "INSERT OR IGNORE INTO assignments VALUES (?, ?)", (topic, name)
                    )

    def _add_user(
        self, connection: sqlite3.Connection, name: str, role: str, password: str | None
    ) -> None:
        check_name(name)
        _check_role(role)
        if fetch_one(connection, "SELECT 1 FROM users WHERE name = ?", name):
            raise UsageError(f"there is already a user {name!r}")
        given = (name, role, password, self._time())
        connection.execute("INSERT INTO users VALUES (?, ?, ?, ?)", given)

    def set_role(self, name: str, role: str) -> None:
        """Change the role of a user."""
        _check_role(role)
        self._check_user(name)
        self.change("UPDATE users SET role = ? WHERE name = ?", role, name)

    def set_password(self, name: str, encoded: str | None) -> None:
        """Change the encoded password of a user; end the user's sessions and invitation."""
        self._check_user(name)
        with self.writing() as connection:
            _set_password(connection, name, encoded)

    def _check_user(self, name: str) -> None:
        if self.user(name) is None:
            raise UsageError(f"no user {name!r} in the campaign")

    # -- assignments ------------------------------------------------------------------------------

    def assign(self, topic: str, assessor: str) -> None:
        """Assign a topic to an assessor; do nothing if it is assigned already."""
        self._check_topic(topic)
        self._check_user(assessor)
        self.change("INSERT OR IGNORE INTO assignments VALUES (?, ?)", topic, assessor)

    def unassign(self, topic: str, assessor: str) -> None:
        """Remove an assignment; assessments stay."""
        self.change("DELETE FROM assignments WHERE topic = ? AND assessor = ?", topic, assessor)

    def list_assigned(self, assessor: str) -> tuple[str, ...]:
        """Return the topics of an assessor, in the order of the topics."""
        rows = self.rows(
            "SELECT topic FROM assignments JOIN topics USING (topic) WHERE assessor = ? "
            "ORDER BY position",
            assessor,
        )
        return tuple(row["topic"] for row in rows)

    def assessors(self, topic: str) -> tuple[str, ...]:
        """Return the assessors of a topic in order of name."""
        query = "SELECT assessor FROM assignments WHERE topic = ? ORDER BY assessor"
        return tuple(row["assessor"] for row in self.rows(query, topic))

    # -- sessions ---------------------------------------------------------------------------------

    def begin_session(self, user: str, *, instead_of: str | None = None) -> tuple[str, Session]:
        """Return the token of a new session, and the session; end the browser's earlier one."""
        token, csrf, now = secrets.token_urlsafe(32), secrets.token_urlsafe(24), self.clock()
        session = Session(user, csrf, now + ABSOLUTE)
        with self.writing() as connection:
            connection.execute(
                "DELETE FROM sessions WHERE expires <= ? OR seen <= ? OR token_hash = ?",
                (now, now - IDLE, digest(instead_of or "")),
            )
            connection.execute(
                "INSERT INTO sessions (token_hash, user, csrf, created, seen, expires) "
                "VALUES (?, ?, ?, ?, ?, ?)",
                (digest(token), user, csrf, now, now, session.expires),
            )
        return token, session

    def find_session(self, token: str | None) -> Session | None:
        """Return the session of a token, or None if it has ended."""
        if not token or len(token) > 200:
            return None
        now, hashed = self.clock(), digest(token)
        query = "SELECT user, csrf, seen, expires FROM sessions WHERE token_hash = ?"
        rows = self.rows(query, hashed)
        if not rows:
            return None
        user, csrf, seen, expires = rows[0]
        if now >= expires or now >= seen + IDLE:
            self.end_session(token)
            return None
        if now - seen >= _FRESH:
            self.change("UPDATE sessions SET seen = ? WHERE token_hash = ?", now, hashed)
        return Session(user, csrf, expires)

    def end_session(self, token: str) -> None:
        """End the session of a token."""
        self.change("DELETE FROM sessions WHERE token_hash = ?", digest(token))

    # -- invitations ------------------------------------------------------------------------------

    def invite(self, name: str) -> str:
        """Return the token of an invitation, which replaces an earlier one of the user."""
        self._check_user(name)
        token = secrets.token_urlsafe(32)
        query = "INSERT OR REPLACE INTO invitations (user, token_hash, expires) VALUES (?, ?, ?)"
        self.change(query, name, digest(token), self._time(_INVITED))
        return token

    def invitations(self) -> dict[str, str]:
        """Return the times at which the open invitations of users expire."""
        query = "SELECT user, expires FROM invitations WHERE expires > ?"
        return {row["user"]: row["expires"] for row in self.rows(query, self._time())}

    def find_invited(self, token: str) -> str | None:
        """Return the user of an open invitation, or None."""
        return self._find_invited(self.reading(), token)

    def _find_invited(self, connection: sqlite3.Connection, token: str) -> str | None:
        query = "SELECT user FROM invitations WHERE token_hash = ? AND expires > ?"
        row = fetch_one(connection, query, digest(token), self._time())
        return None if row is None else str(row["user"])

    def accept(self, token: str, encoded: str) -> str | None:
        """Set the password of the invited user, once; return None if the token is not valid."""
        with self.writing() as connection:
            name = self._find_invited(connection, token)
            if name is not None:
                _set_password(connection, name, encoded)
        return name

    # -- tokens of the API ------------------------------------------------------------------------

    def create_token(self, user: str, label: str) -> str:
        """Return a new token, which acts in the name of a user."""
        token = f"foveal_{secrets.token_urlsafe(32)}"
        query = "INSERT INTO tokens (user, label, token_hash, created) VALUES (?, ?, ?, ?)"
        self.change(query, user, label, digest(token), self._time())
        return token

    def tokens(self) -> list[ApiToken]:
        """Return all tokens in order of creation."""
        rows = self.rows("SELECT id, user, label, created, used FROM tokens ORDER BY id")
        return [ApiToken(*row) for row in rows]

    def find_token(self, token: str) -> User | None:
        """Return the user in whose name a token acts, or None; note the day of its use."""
        rows = self.rows("SELECT id, user, used FROM tokens WHERE token_hash = ?", digest(token))
        if not rows:
            return None
        number, user, used = rows[0]
        if used != (today := self._time()[:10]):
            self.change("UPDATE tokens SET used = ? WHERE id = ?", today, number)
        return self.user(user)

    def revoke_token(self, number: int) -> None:
        """Delete a token, which is refused from now on."""
        if not self.change("DELETE FROM tokens WHERE id = ?", number):
            raise UsageError(f"token {number} does not exist")

    # -- title and guidelines ---------------------------------------------------------------------

    def instructions(self) -> Instructions:
        """Return the title, by default the name of the file, and the guidelines."""
        query = "SELECT key, value FROM meta WHERE key IN ('title', 'guidelines')"
        found = dict(self.reading().execute(query).fetchall())
        return Instructions(found.get("title") or self.name, found.get("guidelines", ""))

    def set_instructions(self, title: str, guidelines: str) -> None:
        """Change the title and the guidelines."""
        if len(title) > _MOST_TITLE or len(guidelines) > _MOST_GUIDELINES:
            raise UsageError(
                f"expected a title of at most {_MOST_TITLE} characters and guidelines of at most "
                f"{_MOST_GUIDELINES}"
            )
        query = "INSERT OR REPLACE INTO meta VALUES ('title', ?), ('guidelines', ?)"
        self.change(query, title.strip(), guidelines.strip())


def _check_role(role: str) -> None:
    if role not in ROLES:
        raise UsageError(f"role {role!r} is not known; expected {' or '.join(ROLES)}")


def _set_password(connection: sqlite3.Connection, name: str, encoded: str | None) -> None:
    connection.execute("UPDATE users SET password = ? WHERE name = ?", (encoded, name))
    connection.execute("DELETE FROM sessions WHERE user = ?", (name,))
    connection.execute("DELETE FROM invitations WHERE user = ?", (name,))
