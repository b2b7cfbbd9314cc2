"""Signing in and out: the form, the one-time link of a local server, the end of a session."""

from __future__ import annotations

import logging
import re
import secrets
from hmac import compare_digest

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from foveal.assess.accounts import check_password
from foveal.assess.messages import read_form
from foveal.assess.security import Refusal, is_own_path
from foveal.assess.site import Endpoint, Site, Visit

__all__ = ["ENDPOINTS"]

_LOG = logging.getLogger("foveal.assess")


def _entry_cookie(site: Site) -> str:
    """Return the name of the cookie of the log-in page, which must match its form."""
    return f"{site.cookie}_login"


def _login_form(
    site: Site,
    request: Request,
    problem: str = "",
    name: str = "",
    back: str = "",
    status: int = 200,
) -> Response:
    # All tabs of a browser share the token, so that a second form leaves the first valid.
    token = request.cookies.get(_entry_cookie(site), "")
    if not re.fullmatch(r"[\w-]{32}", token, re.ASCII):
        token = secrets.token_urlsafe(24)
    page = site.render(
        "login.html",
        None,
        status=status,
        csrf=token,
        problem=problem,
        name=name,
        back=back,
        local=site.local is not None,
        passwords=site.local is None
        or any(user.password is not None for user in site.campaign.users()),
    )
    site.set_cookie(page, _entry_cookie(site), token)
    return page


def _redirect(site: Site, back: str) -> Response:
    """Redirect to a page of the server; to the home page if the address is not of the server."""
    return RedirectResponse(site.url(back if is_own_path(back) else "/"), 303)


def _login_page(site: Site, visit: Visit | None, request: Request) -> Response:
    back = request.query_params.get("next", "")
    if visit is not None:
        return _redirect(site, back)
    return _login_form(site, request, back=back if is_own_path(back) else "")


def _login(site: Site, _: Visit | None, request: Request) -> Response:
    """Start a session if name and password are right; else show the form again."""
    fields = read_form(request)
    back = fields.get("next", "")
    known, given = request.cookies.get(_entry_cookie(site), ""), fields.get("csrf", "")
    if not known or not compare_digest(known.encode(), given.encode()):
        problem = "The form was too old. Please try again."
        return _login_form(site, request, problem, back=back, status=403)
    name, password = fields.get("name", ""), fields.get("password", "")
    address = request.client.host if request.client else ""
    # In this order: a blocked address must not use up the attempts of others.
    limits = (
        (site.addresses, address), (site.tries, f"{name}\n{address}"), (site.names, name)
    )  # fmt: skip
    for limit, key in limits:
        if wait := limit.try_acquire(key):
            _LOG.warning("too many attempts to sign in from %s", address)
            minutes = -(-wait // 60)
            problem = f"Too many attempts. Please wait {minutes} minute{'s' * (minutes > 1)}."
            page = _login_form(site, request, problem, back=back, status=429)
            page.headers["Retry-After"] = str(wait)
            return page
    user = site.campaign.user(name)
    if not check_password(password, None if user is None else user.password) or user is None:
        problem = "Name or password is wrong."
        return _login_form(site, request, problem, name[:200], back, status=401)
    for limit, key in limits:
        limit.release(key)
    response = _redirect(site, back)
    site.sign_in(request, response, user.name, "password")
    response.delete_cookie(_entry_cookie(site), path=site.url("/"))
    return response


def _start(site: Site, visit: Visit | None, request: Request) -> Response:
    """Sign in by the one-time link of a local server."""
    local = site.local
    if local is None:
        raise Refusal(404, "address", "There is no such page.")
    if request.method == "HEAD":  # a preview must not use up the link
        return Response()
    if local.redeem(request.query_params.get("token", "")):
        response = _redirect(site, "/")
        site.sign_in(request, response, local.user, "link")
        return response
    if visit is not None:  # the same link again, in the same browser
        return _redirect(site, "/")
    problem = "This link has been used, or belongs to another server."
    return _login_form(site, request, problem, status=403)


def _logout(site: Site, visit: Visit | None, _: Request) -> Response:
    response = _redirect(site, "/login")
    if visit is not None:
        site.sessions.end(visit.token)
        site.campaign.log(visit.name, None, None, "logout", {})
    response.delete_cookie(site.cookie, path=site.url("/"))
    return response


ENDPOINTS = (
    Endpoint("GET", "/login", _login_page, "nobody"),
    Endpoint("POST", "/login", _login, "nobody", hashes=True),
    Endpoint("POST", "/logout", _logout, "nobody"),
    Endpoint("GET", "/start", _start, "nobody"),
)
