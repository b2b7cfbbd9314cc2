"""Checks of every request, and security headers of every response.

The Content-Security-Policy allows only scripts and files of the server, so mark-up that got into a
page could do nothing. Requests that change something must come from the server's own pages: the
browser sends their origin, and they carry a token that other sites cannot read.
"""

from __future__ import annotations

import hmac
from collections.abc import Awaitable, Callable, Sequence
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import ClientDisconnect
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

MOST_BYTES = 1_000_000
"""Largest size of a request's body."""
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; font-src 'self'; form-action 'self'; base-uri 'none'; "
    "frame-ancestors 'none'"
)
"""The Content-Security-Policy of every response."""
SAFE = ("GET", "HEAD", "OPTIONS")
"""Methods that change nothing."""

_MOST_PATH = 4096
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


class Guard:
    """The outermost application: it checks host, origin and size, and adds security headers.

    Parameters
    ----------
    app : ASGI application
        Gets paths without `root`.
    explain : callable
        Returns the response for an error, from the scope of the request and the error.
    hosts : sequence of str
        Host names of the server, without ports; ``*.example.org`` means every name below.
    https : bool
        Browsers use HTTPS, and must do so for the next year.
    root : str
        The prefix of all paths behind a proxy, which may strip it or not.
    """

    def __init__(
        self,
        app: ASGIApp,
        explain: Callable[[Scope, Exception], Awaitable[Response]],
        *,
        hosts: Sequence[str],
        https: bool = False,
        root: str = "",
    ) -> None:
        self.app = app
        self.explain = explain
        self.hosts = tuple(host.lower().strip("[]") for host in hosts)
        self.https = https
        self.root = root

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            if scope["type"] == "websocket":  # not supported
                await send({"type": "websocket.close", "code": 1003})
            else:
                await self.app(scope, receive, send)
            return

        started = False
        path = scope["path"]
        if self.root and path.startswith(f"{self.root}/"):
            path = path[len(self.root) :]
        scope = {**scope, "path": path, "root_path": "", "app": self, "state": {}}

        async def carry(message: Message) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                self._protect(MutableHeaders(scope=message), path)
            await send(message)

        try:
            headers = Headers(scope=scope)
            self._check(scope, headers)
            if self.root and path == self.root:
                await RedirectResponse(f"{self.root}/")(scope, receive, carry)
            else:
                await self.app(scope, _limit_body(headers, receive), carry)
        except ClientDisconnect:
            pass  # nobody is left to answer
        except Exception as error:
            response = await self.explain(scope, error)
            if started:
                raise
            await response(scope, receive, carry)

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
        if scope["path"] == "/healthz":  # load balancers ask by address, and learn nothing
            return
        host = headers.get("host", "")
        if len(headers.getlist("host")) != 1 or not self.knows(host):
            raise Refusal(400, "host", "This server does not have that host name.")
        if len(scope.get("raw_path") or scope["path"]) > _MOST_PATH:
            raise Refusal(414, "path", "The address is too long.")
        fetched = headers.get("sec-fetch-site", "same-origin")
        is_page = scope["method"] in SAFE and not scope["path"].startswith("/api/")
        if not is_page and fetched not in _OWN_PAGES:
            raise Refusal(403, "origin", "This request comes from another site.")
        origin = headers.get("origin")
        if scope["method"] not in SAFE and origin is not None and not _is_same_host(origin, host):
            raise Refusal(403, "origin", "This request comes from another site.")

    def knows(self, host: str) -> bool:
        """Return True if this is a host name of the server, with or without a port."""
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


def check_token(given: str | None, expected: str) -> None:
    """Refuse a request without the token of its session."""
    if given is None or not hmac.compare_digest(given.encode(), expected.encode()):
        raise Refusal(
            403, "csrf", "The token of this page is missing or old. Reload the page and try again."
        )


def is_own_path(path: str) -> bool:
    r"""Return True if a browser that follows this path stays on the server.

    >>> [is_own_path(path) for path in ("/", "/topics/1?q=a", "/topics/a%20b")]
    [True, True, True]
    >>> [is_own_path(path) for path in ("//evil.org", "/\\evil.org", "https://evil.org", "", "a")]
    [False, False, False, False, False]
    """
    return (
        path.startswith("/")
        and not path.startswith("//")
        and "\\" not in path
        and path.isascii()
        and path.isprintable()
        and len(path) <= _MOST_PATH
    )
