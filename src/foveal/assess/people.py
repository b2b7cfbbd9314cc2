"""The users of a campaign, and the topics assigned to them."""

from __future__ import annotations

from typing import NamedTuple

from foveal.assess.database import Database, one
from foveal.errors import UsageError

__all__ = ["FINAL", "ROLES", "People", "User", "check_name"]

FINAL = "final"
"""The assessor name of adjudicated assessments; nobody can sign in with it."""
ROLES = ("assessor", "organiser")

_MOST_NAME = 64


class User(NamedTuple):
    """A user with an account."""

    name: str
    role: str
    password: str | None
    """Encoded password; None if the user cannot sign in with a password."""
    created: str


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
    """Accounts and assignments."""

    def users(self) -> list[User]:
        """Return all users in order of name."""
        rows = self.reading().execute("SELECT name, role, password, created FROM users ORDER BY 1")
        return [User(*row) for row in rows.fetchall()]

    def user(self, name: str) -> User | None:
        """Return one user, or None."""
        return next((user for user in self.users() if user.name == name), None)

    def add_user(self, name: str, role: str = ROLES[0], password: str | None = None) -> None:
        """Add an account with an encoded password."""
        check_name(name)
        if role not in ROLES:
            raise UsageError(f"role {role!r} is not known; expected {' or '.join(ROLES)}")
        with self.writing() as connection:
            if one(connection, "SELECT 1 FROM users WHERE name = ?", name):
                raise UsageError(f"there is already a user {name!r}")
            connection.execute(
                "INSERT INTO users VALUES (?, ?, ?, ?)", (name, role, password, self._time())
            )

    def set_password(self, name: str, encoded: str | None) -> None:
        """Change the encoded password of a user, and end the user's sessions."""
        with self.writing() as connection:
            changed = connection.execute(
                "UPDATE users SET password = ? WHERE name = ?", (encoded, name)
            )
            if not changed.rowcount:
                raise UsageError(f"no user {name!r} in the campaign")
            connection.execute("DELETE FROM sessions WHERE user = ?", (name,))

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
