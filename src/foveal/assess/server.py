"""The server of a campaign: routes, dispatch and errors.

All work on the database runs in worker threads; the event loop only passes messages. Documents are
found by name in the index, never by a file path. The only files served are the package's own
static ones, and images that documents name, below one directory.
"""

from __future__ import annotations

import asyncio
import logging
import socket
import sqlite3
import threading
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import h11
import uvicorn
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import Mount, Route, Router
from starlette.staticfiles import StaticFiles
from starlette.types import Scope
from uvicorn.protocols.http.h11_impl import H11Protocol

from foveal.assess import api, pages
from foveal.assess.accounts import LocalAccess, session_cookie
from foveal.assess.database import error_code
from foveal.assess.messages import is_form, read_form
from foveal.assess.security import SAFE, Guard, Refusal, check_token
from foveal.assess.site import STATIC, Endpoint, Login, Site, quote_name
from foveal.assess.store import Campaign
from foveal.errors import FovealError, InputError, Problem

LOOPBACK = ("127.0.0.1", "::1", "localhost")
"""Hosts that only this machine can reach."""

TIMEOUT = 30.0
"""Seconds in which a whole request must arrive."""

_LOG = logging.getLogger("foveal.assess")
_TITLES = {
    400: "That cannot be understood",
    403: "That is not open to you",
    404: "There is nothing here",
    405: "That is not possible here",
    422: "That cannot be done",
    500: "Something went wrong",
    503: "That is not possible at the moment",
}
_KEPT = "Unsaved work is kept in this browser and sent again later. Please tell the organiser."
_DAMAGED = ("damaged", f"The campaign on the server is damaged. {_KEPT}")
_PROBLEMS: dict[int | None, tuple[str, str]] = {
    sqlite3.SQLITE_FULL: ("full", f"The server's disk is full. {_KEPT}"),
    sqlite3.SQLITE_IOERR: ("disk", f"The server cannot use its disk. {_KEPT}"),
    sqlite3.SQLITE_CORRUPT: _DAMAGED,
    sqlite3.SQLITE_NOTADB: _DAMAGED,
}
"""Permanent errors of SQLite: a code for programs and a reason for people."""
_BUSY = ("busy", "The campaign cannot be used at the moment; try again.")


def _health(site: Site, _: Login | None, __: Request) -> Response:
    """Answer ok if the campaign can be read."""
    site.campaign.reading().execute("SELECT 1 FROM meta").fetchone()
    return PlainTextResponse("ok")


ENDPOINTS: tuple[Endpoint, ...] = (
    *api.ENDPOINTS,
    *pages.ENDPOINTS,
    Endpoint("GET", "/healthz", _health, "nobody"),
)
"""All addresses but those of static files."""


def create_app(
    campaign: Campaign,
    *,
    local: LocalAccess | None = None,
    hosts: Sequence[str] = LOOPBACK,
    https: bool = False,
    root: str = "",
    port: int | None = None,
    images: Path | None = None,
) -> Guard:
    """Return the application that serves a campaign.

    Parameters
    ----------
    campaign : Campaign
    local : LocalAccess, optional
        The one-time link by which one person signs in on this machine.
    hosts : sequence of str
        Host names of the server; requests for others are refused.
    https : bool
        Browsers use HTTPS (through a proxy), so cookies are for HTTPS only.
    root : str
        The prefix of all paths behind a proxy, such as ``/water``.
    port : int, optional
        Part of the cookies' names: browsers send cookies to every port of a machine, so two servers
        of one campaign must differ.
    images : Path, optional
        The directory of the images that documents name.
    """
    cookie = session_cookie(campaign.identity, port)
    site = Site(campaign, local, https=https, cookie=cookie, root=root, images=images)

    @asynccontextmanager
    async def lifespan(_: Any) -> AsyncIterator[None]:
        stopped = threading.Event()
        idle = threading.Thread(target=campaign.checkpoint_when_idle, args=(stopped,), daemon=True)
        idle.start()
        yield
        stopped.set()
        idle.join()
        site.close()

    async def explain(scope: Scope, error: Exception) -> Response:
        if scope["state"].get("login") is None:  # nothing to read from the database
            return _explain(site, scope, error)
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(site.workers, _explain, site, scope, error)

    routes = [Route(e.path, _dispatch(site, e), methods=[e.method]) for e in ENDPOINTS]
    static = Mount("/static", StaticFiles(directory=STATIC))
    router = Router([*routes, static], redirect_slashes=False, lifespan=lifespan)
    return Guard(router, explain, hosts=hosts, https=https, root=root)


def _dispatch(site: Site, endpoint: Endpoint) -> Callable[[Request], Any]:
    """Return the function that checks a request and has its handler answer in a worker thread."""

    def work(request: Request) -> Response:
        by_token = site.find_token_login(request) if endpoint.by_token else None
        login = request.state.login = by_token or site.find_login(request)
        if login is None:
            if endpoint.needs != "nobody":
                raise Refusal(401, "login", "You are not signed in.")
            return endpoint.handler(site, None, request)
        # The form to sign in has a token of its own: there may be no session yet.
        if endpoint.method not in SAFE and endpoint.path != "/login" and not login.by_token:
            token = request.headers.get("x-csrf-token")
            if token is None and is_form(request):
                token = read_form(request).get("csrf")
            check_token(token, login.csrf)
        if endpoint.needs == "organiser" and not login.organiser:
            raise Refusal(403, "role", "Only organisers may do that.")
        return endpoint.handler(site, login, request)

    async def handle(request: Request) -> Response:
        request.state.body = await request.body()
        pool = site.door if endpoint.hashes else site.workers
        return await asyncio.get_running_loop().run_in_executor(pool, work, request)

    return handle


# -- errors ---------------------------------------------------------------------------------------


def _explain(site: Site, scope: Scope, error: Exception) -> Response:
    """Return JSON for the API, the log-in page, or a page that explains the error."""
    refusal = _make_refusal(error, scope["path"])
    path = scope["path"]
    if path.startswith("/api/"):
        content = {"error": refusal.error, "reason": refusal.reason}
        return JSONResponse(content, refusal.status, headers=refusal.headers)
    if refusal.status == 401:
        query = scope["query_string"].decode("ascii", "replace")
        back = f"{quote_name(path)}?{query}".rstrip("?")
        where = "/login" if back == "/" else f"/login?{urlencode({'next': back})}"
        return RedirectResponse(site.url(where), 303)
    title = _TITLES.get(refusal.status, "That did not work")
    given: dict[str, Any] = {"status": refusal.status, "title": title, "reason": refusal.reason}
    try:
        page = site.render("problem.html", scope["state"].get("login"), **given)
    except sqlite3.Error:
        page = site.render("problem.html", None, **given)
    page.headers.update(refusal.headers)
    return page


def _make_refusal(error: Exception, path: str) -> Refusal:
    """Return the refusal for an error, without details of files and SQL."""
    match error:
        case Refusal():
            return error
        case HTTPException(status_code=404):
            return Refusal(404, "address", "There is no such page.")
        case HTTPException(status_code=status, headers=headers):
            reason = "This request is not allowed here."
            return Refusal(status, "method", reason, dict(headers or {}))
        case InputError(problems=[Problem(code="campaign.damaged"), *_]):
            _LOG.error("the campaign is damaged: %s", error)
            return Refusal(503, *_DAMAGED)
        case InputError():
            _LOG.error("the collection cannot be read: %s", error)
            return Refusal(503, "collection", "The document cannot be read from the collection.")
        case FovealError():
            reason = str(error)
            sentence = reason[:1].upper() + reason[1:] + ("" if reason.endswith(".") else ".")
            return Refusal(422, "refused", sentence)
        case sqlite3.Error():
            _LOG.error("the campaign cannot be used: %s", error)
            return Refusal(503, *_PROBLEMS.get(error_code(error), _BUSY))
        case _:
            _LOG.error("a request for %.200r failed", path, exc_info=error)
            return Refusal(500, "failure", "Something went wrong here.")


# -- running --------------------------------------------------------------------------------------


def listen(host: str, port: int) -> socket.socket:
    """Return a listening socket; raise OSError if that fails."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # Name TCP explicitly: otherwise asyncio delays small answers by 40 ms.
    made = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind((host, port))
        made.listen(128)  # requests that come before the server runs wait
    except BaseException:
        made.close()
        raise
    return made


def with_request_timeout(seconds: float = TIMEOUT) -> type[H11Protocol]:
    """Return uvicorn's protocol class with a time limit on the arrival of each request.

    Without it the server waits forever for the rest of a request: a thousand silent connections
    would use up the file handles of the process and lock everybody out.
    """

    class TimedProtocol(H11Protocol):
        clock: asyncio.TimerHandle | None = None

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            self.watch()

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            self.watch()

        def connection_lost(self, exc: Exception | None) -> None:
            self.rest()
            super().connection_lost(exc)

        def watch(self) -> None:
            # Each byte does not restart the clock: a request must not trickle in.
            if self.conn.their_state not in (h11.IDLE, h11.SEND_BODY):
                self.rest()
            elif self.clock is None:
                self.clock = self.loop.call_later(seconds, self.transport.close)

        def rest(self) -> None:
            if self.clock is not None:
                self.clock.cancel()
                self.clock = None

    return TimedProtocol


def web_server(
    app: Guard, *, proxies: Sequence[str] = (), timeout: float = TIMEOUT
) -> uvicorn.Server:
    """Return an HTTP server for the application, not yet running.

    Parameters
    ----------
    app : Guard
    proxies : sequence of str
        Addresses and networks of proxies whose headers name the addresses of browsers. Headers of
        others are ignored, since anybody could send them.
    timeout : float
        Seconds after which a request that has not arrived is dropped.
    """
    config = uvicorn.Config(
        app,
        http=with_request_timeout(timeout),
        ws="none",
        lifespan="on",
        log_level="warning",
        access_log=False,  # addresses may hold a one-time token
        server_header=False,
        proxy_headers=bool(proxies),
        forwarded_allow_ips=list(proxies),
        timeout_keep_alive=75,
        timeout_graceful_shutdown=5,  # Docker kills a container after ten seconds
    )
    return uvicorn.Server(config)


def serve(app: Guard, listening: socket.socket, *, proxies: Sequence[str] = ()) -> None:
    """Serve until stopped; finish pending requests first."""
    web_server(app, proxies=proxies).run(sockets=[listening])
