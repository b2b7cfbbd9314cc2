"""The people of a campaign: accounts, assignments, invitations, tokens, and what they are told."""

from __future__ import annotations

import secrets
import sqlite3
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import NamedTuple

from foveal.assess.accounts import digest
from foveal.assess.database import Database, one
from foveal.errors import UsageError

__all__ = ["FINAL", "ROLES", "About", "ApiToken", "NewUser", "People", "User", "check_name"]

FINAL = "final"
"""The assessor name of adjudicated assessments; nobody can sign in with it."""
ROLES = ("assessor", "organiser")

_MOST_NAME = 64
_INVITED = timedelta(days=7)
"""Time in which an invitation can be used."""
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


class ApiToken(NamedTuple):
    """A token of the API, without its secret."""

    id: int
    user: str
    """The organiser in whose name it acts."""
    label: str
    created: str
    used: str | None
    """The day of the last use."""


class About(NamedTuple):
    """What an organiser tells the assessors."""

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
    """Accounts, assignments, invitations and tokens."""

    def users(self) -> list[User]:
        """Return all users in order of name."""
        rows = self.reading().execute("SELECT name, role, password, created FROM users ORDER BY 1")
        return [User(*row) for row in rows.fetchall()]

    def user(self, name: str) -> User | None:
        """Return one user, or None."""
        query = "SELECT name, role, password, created FROM users WHERE name = ?"
        row = one(self.reading(), query, name)
        return None if row is None else User(*row)

    def add_user(self, name: str, role: str = ROLES[0], password: str | None = None) -> None:
        """Add an account with an encoded password."""
        with self.writing() as connection:
            self._add_user(connection, name, role, password)

    def add_users(self, users: Iterable[NewUser]) -> None:
        """Add accounts without passwords and assign their topics; all or none."""
        with self.writing() as connection:
            for user in users:
                self._add_user(connection, user.name, user.role, None)
                for topic in user.topics:
                    self._check_topic(topic)
                    connection.execute(
                        "INSERT OR IGNORE INTO assignments VALUES (?, ?)", (topic, user.name)
                    )

    def _add_user(
        self, connection: sqlite3.Connection, name: str, role: str, password: str | None
    ) -> None:
        check_name(name)
        if role not in ROLES:
            raise UsageError(f"role {role!r} is not known; expected {' or '.join(ROLES)}")
        if one(connection, "SELECT 1 FROM users WHERE name = ?", name):
            raise UsageError(f"there is already a user {name!r}")
        connection.execute(
            "INSERT INTO users VALUES (?, ?, ?, ?)", (name, role, password, self._time())
        )

    def set_password(self, name: str, encoded: str | None) -> None:
        """Change the encoded password of a user; end the user's sessions and invitation."""
        with self.writing() as connection:
            self._set_password(connection, name, encoded)

    def _set_password(self, connection: sqlite3.Connection, name: str, encoded: str | None) -> None:
        changed = connection.execute(
            "UPDATE users SET password = ? WHERE name = ?", (encoded, name)
        )
        if not changed.rowcount:
            raise UsageError(f"no user {name!r} in the campaign")
        connection.execute("DELETE FROM sessions WHERE user = ?", (name,))
        connection.execute("DELETE FROM invitations WHERE user = ?", (name,))

    def set_role(self, name: str, role: str) -> None:
        """Change the role of a user."""
        if role not in ROLES:
            raise UsageError(f"role {role!r} is not known; expected {' or '.join(ROLES)}")
        with self.writing() as connection:
            changed = connection.execute("UPDATE users SET role = ? WHERE name = ?", (role, name))
            if not changed.rowcount:
                raise UsageError(f"no user {name!r} in the campaign")

    def assign(self, topic: str, assessor: str) -> None:
        """Assign a topic to an assessor; do nothing if it is assigned already."""
        self._check_topic(topic)
        with self.writing() as connection:
            if not one(connection, "SELECT 1 FROM users WHERE name = ?", assessor):
                raise UsageError(f"no user {assessor!r} in the campaign")
            connection.execute("INSERT OR IGNORE INTO assignments VALUES (?, ?)", (topic, assessor))

    def unassign(self, topic: str, assessor: str) -> None:
        """Remove an assignment; assessments stay."""
        with self.writing() as connection:
            connection.execute(
                "DELETE FROM assignments WHERE topic = ? AND assessor = ?", (topic, assessor)
            )

    def assigned(self, assessor: str) -> tuple[str, ...]:
        """Return the topics of an assessor, in the order of the topics."""
        rows = self.reading().execute(
            "SELECT topic FROM assignments JOIN topics USING (topic) WHERE assessor = ? "
            "ORDER BY position",
            (assessor,),
        )
        return tuple(row["topic"] for row in rows.fetchall())

    def assessors(self, topic: str) -> tuple[str, ...]:
        """Return the assessors of a topic in order of name."""
        rows = self.reading().execute(
            "SELECT assessor FROM assignments WHERE topic = ? ORDER BY assessor", (topic,)
        )
        return tuple(row["assessor"] for row in rows.fetchall())

    # -- invitations ------------------------------------------------------------------------------

    def invite(self, name: str) -> str:
        """Return the token of an invitation, which replaces an earlier one of the user.

        Only this call returns the token: the file has its hash.
        """
        token = secrets.token_urlsafe(32)
        expires = datetime.fromisoformat(self._time()) + _INVITED
        with self.writing() as connection:
            if not one(connection, "SELECT 1 FROM users WHERE name = ?", name):
                raise UsageError(f"no user {name!r} in the campaign")
            connection.execute(
                "INSERT OR REPLACE INTO invitations (user, token_hash, expires) VALUES (?, ?, ?)",
                (name, digest(token), expires.isoformat(timespec="milliseconds")),
            )
        return token

    def invitations(self) -> dict[str, str]:
        """Return the times at which the open invitations of users expire."""
        rows = self.reading().execute(
            "SELECT user, expires FROM invitations WHERE expires > ?", (self._time(),)
        )
        return {row["user"]: row["expires"] for row in rows.fetchall()}

    def invited(self, token: str) -> str | None:
        """Return the user of an open invitation, or None."""
        return self._invited(self.reading(), token)

    def _invited(self, connection: sqlite3.Connection, token: str) -> str | None:
        query = "SELECT user FROM invitations WHERE token_hash = ? AND expires > ?"
        row = one(connection, query, digest(token), self._time())
        return None if row is None else str(row["user"])

    def accept(self, token: str, encoded: str) -> str | None:
        """Set the password of the invited user, once; return None if the token is not valid."""
        with self.writing() as connection:
            name = self._invited(connection, token)
            if name is not None:
                self._set_password(connection, name, encoded)
        return name

    # -- tokens of the API ------------------------------------------------------------------------

    def create_token(self, user: str, label: str) -> str:
        """Return a new token, which acts in the name of a user; the file has its hash."""
        token = f"foveal_{secrets.token_urlsafe(32)}"
        with self.writing() as connection:
            connection.execute(
                "INSERT INTO tokens (user, label, token_hash, created) VALUES (?, ?, ?, ?)",
                (user, label, digest(token), self._time()),
            )
        return token

    def tokens(self) -> list[ApiToken]:
        """Return all tokens in order of creation."""
        query = "SELECT id, user, label, created, used FROM tokens ORDER BY id"
        return [ApiToken(*row) for row in self.reading().execute(query).fetchall()]

    def find_token(self, token: str) -> User | None:
        """Return the user in whose name a token acts, or None; note the day of its use."""
        hashed, today = digest(token), self._time()[:10]
        row = one(self.reading(), "SELECT id, user, used FROM tokens WHERE token_hash = ?", hashed)
        if row is None:
            return None
        if row["used"] != today:
            with self.writing() as connection:
                connection.execute("UPDATE tokens SET used = ? WHERE id = ?", (today, row["id"]))
        return self.user(row["user"])

    def revoke_token(self, number: int) -> None:
        """Delete a token, which is refused from now on."""
        with self.writing() as connection:
            if not connection.execute("DELETE FROM tokens WHERE id = ?", (number,)).rowcount:
                raise UsageError(f"there is no token {number}")

    # -- title and guidelines ---------------------------------------------------------------------

    def about(self) -> About:
        """Return the title, by default the name of the file, and the guidelines."""
        query = "SELECT key, value FROM meta WHERE key IN ('title', 'guidelines')"
        found = dict(self.reading().execute(query).fetchall())
        return About(found.get("title") or self.name, found.get("guidelines", ""))

    def set_about(self, title: str, guidelines: str) -> None:
        """Change the title and the guidelines."""
        if len(title) > _MOST_TITLE or len(guidelines) > _MOST_GUIDELINES:
            raise UsageError(
                f"expected a title of at most {_MOST_TITLE} characters and guidelines of at most "
                f"{_MOST_GUIDELINES}"
            )
        with self.writing() as connection:
            connection.executemany(
                "INSERT OR REPLACE INTO meta VALUES (?, ?)",
                [("title", title.strip()), ("guidelines", guidelines.strip())],
            )
