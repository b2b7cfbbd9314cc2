"""The server of a campaign: routes, sign-in and error pages.

All work on the database runs in worker threads; the event loop only passes messages. Documents are
found by name in the index, never by a file path. The only files served are the package's own
static ones, and images that documents name, below one directory.
"""

from __future__ import annotations

import logging
import re
import secrets
import socket
import sqlite3
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from hmac import compare_digest
from pathlib import Path
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from foveal.assess.accounts import LocalAccess, Sessions, check_password
from foveal.assess.api import ENDPOINTS, Endpoint
from foveal.assess.connections import PATIENCE, impatient
from foveal.assess.pages import PAGES
from foveal.assess.schema import error_code
from foveal.assess.security import Guard, Refusal, check_token, read_form, read_json
from foveal.assess.site import COOKIE, STATIC, Site, Visit
from foveal.assess.store import Campaign
from foveal.errors import FovealError, InputError

__all__ = ["COOKIE", "LOOPBACK", "create_app", "listen", "serve", "web_server"]

LOOPBACK = ("127.0.0.1", "::1", "localhost")
"""Hosts that only this machine can reach."""

_LOG = logging.getLogger("foveal.assess")
_ENTRY = "foveal_login"
"""The cookie of the log-in page, which must match its form."""
_TITLES = {
    400: "That cannot be understood",
    403: "That is not open to you",
    404: "There is nothing here",
    405: "That is not possible here",
    422: "That cannot be done",
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

Handler = Callable[[Request], Awaitable[Response]]


def create_app(
    campaign: Campaign,
    *,
    local: LocalAccess | None = None,
    hosts: Sequence[str] = LOOPBACK,
    https: bool = False,
    cookie: str = COOKIE,
    images: Path | None = None,
    now: Callable[[], float] = time.time,
) -> Starlette:
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
    cookie : str
        The name of the session's cookie.
    images : Path, optional
        The directory of the images that documents name.
    now : callable
        The clock of the sessions.
    """
    sessions = Sessions(campaign.path, now)
    site = Site(campaign, sessions, local, https=https, cookie=cookie, images=images)

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        stopped = threading.Event()
        idle = threading.Thread(target=campaign.checkpoint_when_idle, args=(stopped,), daemon=True)
        idle.start()
        yield
        stopped.set()
        idle.join()
        site.close()

    async def refuse(request: Request, error: Exception) -> Response:
        return await site.run(_answer_error, site, request, error)

    app = Starlette(
        routes=[
            *(Route(e.path, _endpoint(site, e), methods=[e.method]) for e in ENDPOINTS),
            Route("/login", _login_page(site), methods=["GET"]),
            Route("/login", _login(site), methods=["POST"]),
            Route("/logout", _logout(site), methods=["POST"]),
            Route("/start", _start(site), methods=["GET"]),
            Route("/healthz", _healthy, methods=["GET"]),
            *(Route(path, _page(site, work), methods=["GET"]) for path, work in PAGES.items()),
            Mount("/static", StaticFiles(directory=STATIC)),
        ],
        middleware=[Middleware(Guard, hosts=hosts, https=https)],
        exception_handlers={
            Refusal: refuse,
            HTTPException: refuse,
            FovealError: refuse,
            sqlite3.Error: refuse,
        },
        lifespan=lifespan,
    )
    app.router.redirect_slashes = False
    app.state.site = site
    return app


async def _healthy(_: Request) -> Response:
    return PlainTextResponse("ok")


# -- errors ---------------------------------------------------------------------------------------


def _answer_error(site: Site, request: Request, error: Exception) -> Response:
    """Return JSON for the API, the log-in page, or a page that explains the error."""
    refusal = _make_refusal(error)
    path = request.scope["path"]
    if path.startswith("/api/"):
        return refusal.json()
    if refusal.status == 401:
        return RedirectResponse("/login", 303)
    try:
        visit = site.visit(request)
    except sqlite3.Error:
        visit = None
    title = _TITLES.get(refusal.status, "That did not work")
    page = site.render(
        "problem.html", visit, status=refusal.status, title=title, reason=refusal.reason
    )
    page.headers.update(refusal.headers)
    return page


def _make_refusal(error: Exception) -> Refusal:
    """Return the refusal for an error, without details of files and SQL."""
    match error:
        case Refusal():
            return error
        case HTTPException(status_code=404):
            return Refusal(404, "address", "There is no such page.")
        case HTTPException():
            return Refusal(
                error.status_code,
                "method",
                "This request is not allowed here.",
                dict(error.headers or {}),
            )
        case InputError():
            _LOG.error("the collection cannot be read: %s", error)
            return Refusal(503, "collection", "The document cannot be read from the collection.")
        case FovealError():
            reason = str(error)
            sentence = reason[:1].upper() + reason[1:] + ("" if reason.endswith(".") else ".")
            return Refusal(422, "refused", sentence)
        case _:
            _LOG.error("the campaign cannot be used: %s", error)
            return Refusal(503, *_PROBLEMS.get(error_code(error), _BUSY))


# -- requests of signed-in users ------------------------------------------------------------------


def _endpoint(site: Site, endpoint: Endpoint) -> Handler:
    async def handle(request: Request) -> Response:
        visit = await site.run(site.needed, request)
        body: dict[str, Any] = {}
        if endpoint.method != "GET":
            check_token(request.headers.get("x-csrf-token"), visit.session.csrf)
            body = await read_json(request)
        return await site.run(endpoint.work, site, visit, request, body)

    return handle


def _page(site: Site, work: Callable[[Site, Visit, Request], Response]) -> Handler:
    def make(request: Request) -> Response:
        return work(site, site.needed(request), request)

    async def handle(request: Request) -> Response:
        return await site.run(make, request)

    return handle


# -- signing in and out ---------------------------------------------------------------------------


def _login_form(
    site: Site, request: Request, problem: str = "", name: str = "", status: int = 200
) -> Response:
    # All tabs of a browser share the token, so that a second form leaves the first valid.
    token = request.cookies.get(_ENTRY, "")
    if not re.fullmatch(r"[\w-]{32}", token, re.ASCII):
        token = secrets.token_urlsafe(24)
    page = site.render(
        "login.html",
        None,
        status=status,
        csrf=token,
        problem=problem,
        name=name,
        local=site.local is not None,
        passwords=site.local is None
        or any(user.password is not None for user in site.campaign.users()),
    )
    site.set_cookie(page, _ENTRY, token)
    return page


def _login_page(site: Site) -> Handler:
    def make(request: Request) -> Response:
        if site.visit(request) is not None:
            return RedirectResponse("/", 303)
        return _login_form(site, request)

    async def handle(request: Request) -> Response:
        return await site.run(make, request)

    return handle


def _login(site: Site) -> Handler:
    async def handle(request: Request) -> Response:
        fields = await read_form(request)
        return await site.run_at_door(_check_login, site, request, fields)

    return handle


def _check_login(site: Site, request: Request, fields: dict[str, str]) -> Response:
    """Start a session if name and password are right; else show the form again."""
    known, given = request.cookies.get(_ENTRY, ""), fields.get("csrf", "")
    if not known or not compare_digest(known.encode(), given.encode()):
        return _login_form(site, request, "The form was too old. Please try again.", status=403)
    name, password = fields.get("name", ""), fields.get("password", "")
    address = request.client.host if request.client else ""
    # In this order: a blocked address must not use up the attempts of others.
    own = f"{name}\n{address}"
    wait = site.addresses.wait(address) or site.tries.wait(own) or site.names.wait(name)
    if wait:
        _LOG.warning("too many attempts to sign in from %s", address)
        minutes = -(-wait // 60)
        problem = f"Too many attempts. Please wait {minutes} minute{'s' * (minutes > 1)}."
        page = _login_form(site, request, problem, status=429)
        page.headers["Retry-After"] = str(wait)
        return page
    user = site.campaign.user(name)
    if not check_password(password, None if user is None else user.password) or user is None:
        return _login_form(site, request, "Name or password is wrong.", name[:200], status=401)
    for limit, key in ((site.addresses, address), (site.tries, own), (site.names, name)):
        limit.forgive(key)
    response = RedirectResponse("/", 303)
    site.sign_in(request, response, user.name, "password")
    response.delete_cookie(_ENTRY)
    return response


def _start(site: Site) -> Handler:
    """Return the handler of the one-time link of a local server."""

    def make(request: Request) -> Response:
        local = site.local
        if local is None:
            raise Refusal(404, "address", "There is no such page.")
        if request.method == "HEAD":  # a preview must not use up the link
            return Response()
        if local.redeem(request.query_params.get("token", "")):
            response = RedirectResponse("/", 303)
            site.sign_in(request, response, local.user, "link")
            return response
        if site.visit(request) is not None:  # the same link again, in the same browser
            return RedirectResponse("/", 303)
        return _login_form(
            site, request, "This link has been used, or belongs to another server.", status=403
        )

    async def handle(request: Request) -> Response:
        return await site.run(make, request)

    return handle


def _logout(site: Site) -> Handler:
    def end(request: Request, fields: dict[str, str]) -> Response:
        visit = site.visit(request)
        response = RedirectResponse("/login", 303)
        if visit is not None:
            given = request.headers.get("x-csrf-token") or fields.get("csrf")
            check_token(given, visit.session.csrf)
            site.sessions.end(visit.token)
            site.campaign.log(visit.user.name, None, None, "logout", {})
        response.delete_cookie(site.cookie)
        return response

    async def handle(request: Request) -> Response:
        fields: dict[str, str] = {}
        if request.headers.get("content-type", "").startswith("application/x-www-form-urlencoded"):
            fields = await read_form(request)
        return await site.run(end, request, fields)

    return handle


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


def web_server(
    app: Starlette, *, behind_proxy: bool = False, patience: float = PATIENCE
) -> uvicorn.Server:
    """Return an HTTP server for the application, not yet running.

    Addresses of browsers are taken from proxy headers only if `behind_proxy` is set, since anybody
    could send such headers; the proxy must run on this machine. A request that does not arrive
    within `patience` seconds is dropped.
    """
    config = uvicorn.Config(
        app,
        http=impatient(patience),
        ws="none",
        lifespan="on",
        log_level="warning",
        access_log=False,  # addresses may hold a one-time token
        server_header=False,
        proxy_headers=behind_proxy,
        forwarded_allow_ips="127.0.0.1,::1" if behind_proxy else "",
        timeout_keep_alive=75,
        timeout_graceful_shutdown=5,  # Docker kills a container after ten seconds
    )
    return uvicorn.Server(config)


def serve(app: Starlette, listening: socket.socket, *, behind_proxy: bool = False) -> None:
    """Serve until stopped; finish pending requests first."""
    web_server(app, behind_proxy=behind_proxy).run(sockets=[listening])
