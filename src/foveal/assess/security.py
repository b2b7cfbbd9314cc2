"""Checks of every request, and security headers of every response.

The Content-Security-Policy allows only scripts and files of the server, so mark-up that got into a
page could do nothing. Requests that change something must come from the server's own pages: the
browser sends their origin, and they carry a token that other sites cannot read.
"""

from __future__ import annotations

import hmac
import json
import logging
import math
from collections.abc import Sequence
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

__all__ = [
    "MOST_BYTES",
    "POLICY",
    "Guard",
    "Refusal",
    "check_token",
    "read_form",
    "read_json",
]

MOST_BYTES = 1_000_000
"""Largest size of a request's body."""
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; font-src 'self'; form-action 'self'; base-uri 'none'; "
    "frame-ancestors 'none'"
)
"""The Content-Security-Policy of every response."""

_LOG = logging.getLogger("foveal.assess")
_MOST_PATH = 4096
_DEEPEST = 12
"""Deepest nesting of a JSON body; pages send four levels."""
_SAFE = ("GET", "HEAD", "OPTIONS")
_OWN_PAGES = ("same-origin", "none")
"""Values of Sec-Fetch-Site for requests from the server's pages or the address bar."""


class Refusal(Exception):  # noqa: N818 - an answer rather than an error
    """A refused request: a status, a code for programs and a reason for people."""

    def __init__(
        self, status: int, error: str, reason: str, headers: dict[str, str] | None = None
    ) -> None:
        super().__init__(status, error, reason)
        self.status = status
        self.error = error
        self.reason = reason
        self.headers = headers or {}

    def json(self) -> Response:
        """Return the refusal as a response of the API."""
        content = {"error": self.error, "reason": self.reason}
        return JSONResponse(content, self.status, headers=self.headers)


class Guard:
    """Middleware that checks host, origin and size of requests, and adds security headers.

    Parameters
    ----------
    app : ASGI application
    hosts : sequence of str
        Host names of the server, without ports; ``*.example.org`` means every name below.
    https : bool
        Browsers use HTTPS, and must do so for the next year.
    """

    def __init__(self, app: ASGIApp, *, hosts: Sequence[str], https: bool = False) -> None:
        self.app = app
        self.hosts = tuple(host.lower().strip("[]") for host in hosts)
        self.https = https

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            if scope["type"] == "websocket":  # not supported
                await send({"type": "websocket.close", "code": 1003})
            else:
                await self.app(scope, receive, send)
            return

        started = False

        async def carry(message: Message) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                self._protect(MutableHeaders(scope=message), scope["path"])
            await send(message)

        try:
            headers = Headers(scope=scope)
            self._check(scope, headers)
            await self.app(scope, _limit_body(headers, receive), carry)
        except Refusal as refusal:
            await self._refuse(refusal, scope, receive, carry)
        except ClientDisconnect:
            pass  # nobody is left to answer
        except Exception:
            _LOG.exception("a request for %.200r failed", scope["path"])
            if started:
                raise
            failure = Refusal(500, "failure", "Something went wrong here.")
            await self._refuse(failure, scope, receive, carry)

    @staticmethod
    async def _refuse(refusal: Refusal, scope: Scope, receive: Receive, send: Send) -> None:
        """Send a refusal without a rendered page."""
        if scope["path"].startswith("/api/"):
            await refusal.json()(scope, receive, send)
        else:
            await PlainTextResponse(refusal.reason, refusal.status)(scope, receive, send)

    def _protect(self, headers: MutableHeaders, path: str) -> None:
        headers["Content-Security-Policy"] = POLICY
        headers["X-Content-Type-Options"] = "nosniff"
        headers["Referrer-Policy"] = "same-origin"
        headers["Cross-Origin-Opener-Policy"] = "same-origin"
        headers["Cross-Origin-Resource-Policy"] = "same-origin"
        headers["Cache-Control"] = "no-cache" if path.startswith("/static/") else "no-store"
        if self.https:
            headers["Strict-Transport-Security"] = "max-age=31536000"

    def _check(self, scope: Scope, headers: Headers) -> None:
        host = headers.get("host", "")
        if len(headers.getlist("host")) != 1 or not self.knows(host):
            raise Refusal(400, "host", "This server does not have that host name.")
        if len(scope.get("raw_path") or scope["path"]) > _MOST_PATH:
            raise Refusal(414, "path", "The address is too long.")
        fetched = headers.get("sec-fetch-site", "same-origin")
        is_page = scope["method"] in _SAFE and not scope["path"].startswith("/api/")
        if not is_page and fetched not in _OWN_PAGES:
            raise Refusal(403, "origin", "This request comes from another site.")
        origin = headers.get("origin")
        if scope["method"] not in _SAFE and origin is not None and not _is_same_host(origin, host):
            raise Refusal(403, "origin", "This request comes from another site.")

    def knows(self, host: str) -> bool:
        """Return True if this is a host name of the server, with or without a port.

        >>> guard = Guard(PlainTextResponse(""), hosts=["localhost", "::1", "*.example.org"])
        >>> [guard.knows(host) for host in ("LOCALHOST:8642", "[::1]:80", "a.example.org")]
        [True, True, True]
        >>> [guard.knows(host) for host in ("example.org", "localhost.evil.org", "", "a b", "@")]
        [False, False, False, False, False]
        """
        try:
            parts = urlsplit(f"//{host}")
            name, _ = parts.hostname, parts.port
        except ValueError:
            return False
        if not name or parts.netloc != host or "@" in host or any(c <= " " for c in host):
            return False
        return any(
            name == own or (own.startswith("*.") and name.endswith(own[1:])) for own in self.hosts
        )


def _is_same_host(origin: str, host: str) -> bool:
    """Return True if an origin is the host itself; the scheme may differ behind a proxy.

    >>> _is_same_host("https://a.org", "a.org:443"), _is_same_host("http://a.org:1", "a.org:2")
    (True, False)
    """
    try:
        ours, theirs = urlsplit(f"//{host}"), urlsplit(origin)
        usual = {"http": 80, "https": 443}.get(theirs.scheme)
        if usual is None:
            return False
        return (ours.hostname, ours.port or usual) == (theirs.hostname, theirs.port or usual)
    except ValueError:
        return False


def _limit_body(headers: Headers, receive: Receive) -> Receive:
    """Return a receiver that refuses bodies that are too large, regardless of their header."""
    too_much = Refusal(413, "size", f"A request may have at most {MOST_BYTES:,} bytes.")
    declared = headers.get("content-length", "0")
    if not (declared.isascii() and declared.isdigit()):
        raise Refusal(400, "length", "The length of the request is not a number.")
    if len(declared) > 12 or int(declared) > MOST_BYTES:
        raise too_much
    received = 0

    async def bounded() -> Message:
        nonlocal received
        message = await receive()
        received += len(message.get("body", b""))
        if received > MOST_BYTES:
            raise too_much
        return message

    return bounded


# -- bodies ---------------------------------------------------------------------------------------


def check_token(given: str | None, expected: str) -> None:
    """Refuse a request without the token of its session."""
    if given is None or not hmac.compare_digest(given.encode(), expected.encode()):
        raise Refusal(
            403, "csrf", "The token of this page is missing or old. Reload the page and try again."
        )


def _refuse_number(name: str) -> Any:
    raise ValueError(f"{name} is not a number of JSON")


def _parse_finite(digits: str) -> float:
    """Return a finite number: 1e999 would become infinite, which JSON cannot hold."""
    value = float(digits)
    return value if math.isfinite(value) else _refuse_number(digits)


async def read_json(request: Request) -> dict[str, Any]:
    """Return the JSON object in the body of a request; refuse anything else."""
    kind = request.headers.get("content-type", "").split(";")[0].strip().lower()
    if kind != "application/json":
        raise Refusal(400, "type", f"The body is {kind or 'untyped'!r}; expected application/json.")
    body = await request.body()
    try:
        found = json.loads(
            body.decode("utf-8"), parse_constant=_refuse_number, parse_float=_parse_finite
        )
    except (ValueError, RecursionError) as error:
        raise Refusal(400, "json", "The body is not JSON in UTF-8.") from error
    if not isinstance(found, dict):
        raise Refusal(400, "json", "The body is not a JSON object.")
    _check_depth(found)
    return found


def _check_depth(found: Any) -> None:
    """Refuse deep nesting, and text with lone surrogates or null characters."""
    level = [found]
    for _ in range(_DEEPEST):
        deeper: list[Any] = []
        for value in level:
            if isinstance(value, dict):
                deeper += value.keys()
                deeper += value.values()
            elif isinstance(value, list):
                deeper += value
            elif isinstance(value, str) and not _is_text(value):
                raise Refusal(400, "json", "A text holds invalid characters.")
        level = deeper
        if not level:
            return
    raise Refusal(400, "json", f"The body is nested more than {_DEEPEST} deep.")


def _is_text(value: str) -> bool:
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return "\0" not in value


async def read_form(request: Request) -> dict[str, str]:
    """Return the fields of a form; the first value of each name counts."""
    kind = request.headers.get("content-type", "").split(";")[0].strip().lower()
    if kind != "application/x-www-form-urlencoded":
        raise Refusal(400, "type", "Expected a form.")
    body = await request.body()
    try:
        pairs = parse_qsl(
            body.decode("ascii"), keep_blank_values=True, errors="strict", max_num_fields=50
        )
    except ValueError as error:
        raise Refusal(400, "form", "The form cannot be read.") from error
    fields: dict[str, str] = {}
    for name, value in pairs:
        fields.setdefault(name, value)
    return fields
