"""Passwords, the one-time link of a local server, and limits on failed log-ins.

No secret is stored in plain text: a password is stored as its scrypt hash with the parameters, a
token as its SHA-256.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import math
import secrets
import threading
import time
import unicodedata
from collections import OrderedDict, deque
from collections.abc import Callable

from foveal.errors import UsageError

FEWEST = 8
"""Smallest number of characters of a password."""

_COST, _BLOCK, _PARALLEL = 15, 8, 1
"""Recommended parameters of scrypt (log2 of the cost first): 32 MB and a tenth of a second."""
_MOST = 1024
"""Largest number of characters of a password; hashing takes time."""


# -- passwords ------------------------------------------------------------------------------------


def _hash(password: str, salt: bytes, cost: int, block: int, parallel: int) -> bytes:
    # The same word typed on two keyboards may be composed differently.
    secret = unicodedata.normalize("NFKC", password).encode("utf-8", "surrogatepass")
    memory = 2 * 128 * block * (1 << cost) * parallel
    return hashlib.scrypt(
        secret, salt=salt, n=1 << cost, r=block, p=parallel, maxmem=memory, dklen=32
    )


def encode_password(password: str, *, cost: int = _COST) -> str:
    """Return the text to store for a password: method, parameters, salt and hash.

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
    """Return True if this is the encoded password; takes as long if there is none.

    >>> check_password("correct horse", encode_password("correct horse", cost=4))
    True
    >>> check_password("wrong", encode_password("correct horse", cost=4))
    False
    """
    if len(password) > _MOST:
        password = ""
    parts = _split_encoded(encoded)
    if parts is None:
        # Spend the time of a check, so that timing does not reveal user names.
        _hash(password, bytes(16), _COST, _BLOCK, _PARALLEL)
        return False
    cost, block, parallel, salt, expected = parts
    return hmac.compare_digest(_hash(password, salt, cost, block, parallel), expected)


def _split_encoded(encoded: str | None) -> tuple[int, int, int, bytes, bytes] | None:
    """Return parameters, salt and hash, or None if this module did not write the text."""
    try:
        method, cost, block, parallel, salt, made = (encoded or "").split("$")
        numbers = int(cost), int(block), int(parallel)
        bounded = 1 <= numbers[0] <= 20 and 1 <= numbers[1] <= 32 and 1 <= numbers[2] <= 16
        if method != "scrypt" or not bounded:
            return None
        return *numbers, base64.b64decode(salt, validate=True), base64.b64decode(made)
    except (ValueError, binascii.Error):
        return None


# -- tokens ---------------------------------------------------------------------------------------


def digest(token: str) -> str:
    """Return the hash under which a token is stored: a random one needs no salt."""
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


def session_cookie(identity: str, port: int | None = None) -> str:
    """Return the name of the session's cookie: campaigns on one host need different ones.

    >>> session_cookie("0123456789abcdef0123456789abcdef", 8650)
    'foveal_0123456789ab_8650'
    """
    return f"foveal_{identity[:12]}" + ("" if port is None else f"_{port}")


class LocalAccess:
    """The link that a local server prints: it signs one person in, once.

    >>> access = LocalAccess("ann")
    >>> access.redeem("guessed"), access.redeem(access.token), access.redeem(access.token)
    (False, True, False)

    Parameters
    ----------
    user : str
        The user who signs in with it.
    organiser : bool
        Make this user an organiser, regardless of the role of the account.
    """

    def __init__(self, user: str, *, organiser: bool = True) -> None:
        self.user = user
        self.organiser = organiser
        self.token = secrets.token_urlsafe(32)
        self._used = False
        self._lock = threading.Lock()

    def redeem(self, token: str) -> bool:
        """Return True if this is the token and it has not been used before."""
        same = hmac.compare_digest(digest(token), digest(self.token))
        with self._lock:
            good = same and not self._used
            self._used = self._used or good
        return good


class RateLimit:
    """A limit on failed attempts per key (a name or an address) in a period of time.

    An attempt counts before its outcome is known, so that parallel attempts cannot exceed the
    limit. A successful one is taken back.

    >>> limit = RateLimit(2, 60, now=lambda: 0.0)
    >>> [limit.try_acquire("ann") for _ in range(3)]
    [0, 0, 60]

    Parameters
    ----------
    tries : int
        Attempts allowed in each period.
    seconds : float
        Length of the period.
    now : callable
        The clock.
    """

    _MOST_KEYS = 10_000
    """Number of keys remembered, so that invented names cannot fill the memory."""

    def __init__(
        self, tries: int, seconds: float, *, now: Callable[[], float] = time.monotonic
    ) -> None:
        self._tries = tries
        self._seconds = seconds
        self._now = now
        self._failed: OrderedDict[str, deque[float]] = OrderedDict()
        self._lock = threading.Lock()

    def try_acquire(self, key: str) -> int:
        """Count an attempt; return 0 if it is allowed, else the seconds to wait."""
        key, now = digest(key), self._now()
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

    def release(self, key: str) -> None:
        """Take back the last attempt, which was successful.

        Earlier ones still count, so that owners of an account cannot guess others' passwords
        without limit.
        """
        with self._lock:
            if failed := self._failed.get(digest(key)):
                failed.pop()
