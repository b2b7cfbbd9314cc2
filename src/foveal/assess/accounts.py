"""Who is there: passwords, sessions, the one-time link of a local server, tries at the door.

Nothing that opens a door is stored as it is: of a password its scrypt hash with the parameters it
was made with, of a session's token its SHA-256. Times come from a clock that is given.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import math
import secrets
import sqlite3
import threading
import time
import unicodedata
from collections import OrderedDict, deque
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from foveal.errors import UsageError

__all__ = [
    "ABSOLUTE",
    "FEWEST",
    "IDLE",
    "Limit",
    "LocalAccess",
    "Session",
    "Sessions",
    "check_password",
    "encode_password",
    "waste_time",
]

IDLE = 12 * 3600.0
"""Seconds after which a session that nobody uses ends."""
ABSOLUTE = 7 * 24 * 3600.0
"""Seconds after which every session ends."""
FEWEST = 8
"""Characters that a password has at least."""

_COST, _BLOCK, _PARALLEL = 15, 8, 1
"""Of scrypt: the logarithm of the cost, and what its authors advise: 32 MB, a tenth of a second."""
_MOST = 1024
"""Characters of a password at most: nobody remembers more, and hashing takes time."""
_FRESH = 60.0
"""A session that was seen this recently is not written again."""

Clock = Callable[[], float]


# -- passwords ------------------------------------------------------------------------------------


def _hash(password: str, salt: bytes, cost: int, block: int, parallel: int) -> bytes:
    # The same word typed on two keyboards may be composed differently.
    secret = unicodedata.normalize("NFKC", password).encode("utf-8", "surrogatepass")
    memory = 2 * 128 * block * (1 << cost) * parallel
    return hashlib.scrypt(
        secret, salt=salt, n=1 << cost, r=block, p=parallel, maxmem=memory, dklen=32
    )


def encode_password(password: str, *, cost: int = _COST) -> str:
    """What to store of a password: method, parameters, salt and hash.

    >>> encode_password("correct horse", cost=4).rsplit("$", 2)[0]
    'scrypt$4$8$1'
    """
    if not FEWEST <= len(password) <= _MOST:
        raise UsageError(
            f"a password of {len(password)} characters; expected at least {FEWEST} and at most "
            f"{_MOST}"
        )
    salt = secrets.token_bytes(16)
    made = _hash(password, salt, cost, _BLOCK, _PARALLEL)
    words = (base64.b64encode(part).decode() for part in (salt, made))
    return "$".join(["scrypt", str(cost), str(_BLOCK), str(_PARALLEL), *words])


def check_password(password: str, encoded: str | None) -> bool:
    """Whether it is the password that was encoded; as slow where there is none.

    >>> check_password("correct horse", encode_password("correct horse", cost=4))
    True
    >>> check_password("wrong", encode_password("correct horse", cost=4))
    False
    """
    if len(password) > _MOST:
        password = ""
    parts = _parts(encoded)
    if parts is None:
        waste_time(password)
        return False
    cost, block, parallel, salt, expected = parts
    return hmac.compare_digest(_hash(password, salt, cost, block, parallel), expected)


def waste_time(password: str = "") -> None:
    """Take as long as a wrong password does, so that nobody learns which names there are."""
    _hash(password, bytes(16), _COST, _BLOCK, _PARALLEL)


def _parts(encoded: str | None) -> tuple[int, int, int, bytes, bytes] | None:
    """Parameters, salt and hash; nothing of what this module did not write."""
    try:
        method, cost, block, parallel, salt, made = (encoded or "").split("$")
        numbers = int(cost), int(block), int(parallel)
        bounded = 1 <= numbers[0] <= 20 and 1 <= numbers[1] <= 32 and 1 <= numbers[2] <= 16
        if method != "scrypt" or not bounded:
            return None
        return *numbers, base64.b64decode(salt, validate=True), base64.b64decode(made)
    except (ValueError, binascii.Error):
        return None


# -- sessions -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Session:
    """Somebody who has signed in.

    Parameters
    ----------
    user : str
    csrf : str
        What every request that changes something carries besides the cookie.
    expires : float
        When it ends at the latest.
    """

    user: str
    csrf: str
    expires: float


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


class Sessions:
    """The sessions in a campaign's file; a server that starts again still knows them.

    Parameters
    ----------
    path : Path
        The campaign.
    now : callable
        The clock, in seconds.
    """

    def __init__(self, path: Path, now: Clock = time.time) -> None:
        self._now = now
        self._lock = threading.Lock()
        # Of its own: a lost session is no loss, so nothing waits for the disk here.
        self._db = sqlite3.connect(
            path, isolation_level=None, check_same_thread=False, timeout=30.0
        )
        self._db.execute("PRAGMA synchronous = NORMAL")

    def close(self) -> None:
        """Let go of the file."""
        with self._lock:
            self._db.close()

    def begin(self, user: str, *, instead_of: str | None = None) -> tuple[str, Session]:
        """A new session and its token, which is told once; an earlier one of the browser ends."""
        token, csrf, now = secrets.token_urlsafe(32), secrets.token_urlsafe(24), self._now()
        session = Session(user, csrf, now + ABSOLUTE)
        with self._lock:
            self._db.execute(
                "DELETE FROM sessions WHERE expires <= ? OR seen <= ?", (now, now - IDLE)
            )
            if instead_of is not None:
                self._delete(instead_of)
            self._db.execute(
                "INSERT INTO sessions (token_hash, user, csrf, created, seen, expires) "
                "VALUES (?, ?, ?, ?, ?, ?)",
                (_digest(token), user, csrf, now, now, session.expires),
            )
        return token, session

    def find(self, token: str | None) -> Session | None:
        """The session of a token, unless it has ended."""
        if not token or len(token) > 200:
            return None
        now, digest = self._now(), _digest(token)
        with self._lock:
            row = self._db.execute(
                "SELECT user, csrf, seen, expires FROM sessions WHERE token_hash = ?", (digest,)
            ).fetchone()
            if row is None:
                return None
            user, csrf, seen, expires = row
            if now >= expires or now >= seen + IDLE:
                self._delete(token)
                return None
            if now - seen >= _FRESH:
                self._db.execute("UPDATE sessions SET seen = ? WHERE token_hash = ?", (now, digest))
        return Session(user, csrf, expires)

    def end(self, token: str) -> None:
        """Sign out."""
        with self._lock:
            self._delete(token)

    def end_all(self, user: str) -> None:
        """Sign a user out everywhere, as a new password does."""
        with self._lock:
            self._db.execute("DELETE FROM sessions WHERE user = ?", (user,))

    def _delete(self, token: str) -> None:
        self._db.execute("DELETE FROM sessions WHERE token_hash = ?", (_digest(token),))


# -- doors ----------------------------------------------------------------------------------------


class LocalAccess:
    """The link that a local server prints: it signs one person in, once.

    >>> access = LocalAccess("ann")
    >>> access.redeem("guessed"), access.redeem(access.token), access.redeem(access.token)
    (False, True, False)

    Parameters
    ----------
    user : str
        Who signs in with it.
    organiser : bool
        Whether this person organises the campaign too, whatever the role of the account is.
    """

    def __init__(self, user: str, *, organiser: bool = True) -> None:
        self.user = user
        self.organiser = organiser
        self.token = secrets.token_urlsafe(32)
        self._used = False
        self._lock = threading.Lock()

    def redeem(self, token: str) -> bool:
        """Whether this is the token, and nobody has used it before."""
        same = hmac.compare_digest(_digest(token), _digest(self.token))
        with self._lock:
            good = same and not self._used
            self._used = self._used or good
        return good


class Limit:
    """How often somebody may fail in a stretch of time, by a name or an address.

    A try is counted before its outcome is known, so that many at once gain nothing; a good one is
    taken back.

    >>> limit = Limit(2, 60, now=lambda: 0.0)
    >>> [limit.wait("ann") for _ in range(3)]
    [0, 0, 60]

    Parameters
    ----------
    tries : int
        In each stretch.
    seconds : float
        Its length.
    now : callable
        The clock.
    """

    _MOST_KEYS = 10_000
    """Whoever invents names must not fill the memory: the oldest is forgotten."""

    def __init__(self, tries: int, seconds: float, *, now: Clock = time.monotonic) -> None:
        self._tries = tries
        self._seconds = seconds
        self._now = now
        self._failed: OrderedDict[str, deque[float]] = OrderedDict()
        self._lock = threading.Lock()

    def wait(self, key: str) -> int:
        """Count a try: 0 if it may be made, else the seconds until the next may."""
        key, now = _digest(key), self._now()
        with self._lock:
            failed = self._failed.setdefault(key, deque())
            self._failed.move_to_end(key)
            while failed and failed[0] <= now - self._seconds:
                failed.popleft()
            if len(failed) >= self._tries:
                return max(1, math.ceil(failed[0] + self._seconds - now))
            failed.append(now)
            while len(self._failed) > self._MOST_KEYS:
                self._failed.popitem(last=False)
        return 0

    def forgive(self, key: str) -> None:
        """The last try was good. Those before it still count: who has an account of their own
        must not be able to try at others for ever.
        """
        with self._lock:
            if failed := self._failed.get(_digest(key)):
                failed.pop()
