"""Signing in and out: the form, one-time links, invitations, passwords of one's own."""

from __future__ import annotations

import logging
import re
import secrets
from hmac import compare_digest

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from foveal.assess.accounts import FEWEST, check_password, encode_password
from foveal.assess.messages import Join, JoinQuestion, PasswordChange, read_form, read_json
from foveal.assess.security import Refusal, is_own_path
from foveal.assess.site import Endpoint, Site, Visit, answer, client_address

__all__ = ["ENDPOINTS"]

_LOG = logging.getLogger("foveal.assess")
_NO_INVITATION = "This invitation was used, has expired or was replaced by a newer one."


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
    try:
        _check_password(site, request, name, password)
    except Refusal as refusal:
        if refusal.status == 429:
            _LOG.warning("too many attempts to sign in from %s", client_address(request))
        page = _login_form(site, request, refusal.reason, name[:200], back, refusal.status)
        page.headers.update(refusal.headers)
        return page
    response = _redirect(site, back)
    site.sign_in(request, response, name, "password")
    response.delete_cookie(_entry_cookie(site), path=site.url("/"))
    return response


def _check_password(site: Site, request: Request, name: str, password: str) -> None:
    """Refuse a wrong name or password, and attempts past the limits."""
    address = client_address(request)
    # In this order: a blocked address must not use up the attempts of others.
    own = f"{name}\n{address}"
    with site.limited((site.addresses, address), (site.tries, own), (site.names, name)):
        user = site.campaign.user(name)
        if not check_password(password, None if user is None else user.password):
            raise Refusal(401, "password", "Name or password is wrong.")


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


# -- passwords of one's own -----------------------------------------------------------------------


def _join_page(site: Site, visit: Visit | None, _: Request) -> Response:
    return site.render("join.html", visit, fewest=FEWEST)


def _invited(site: Site, _: Visit | None, request: Request) -> Response:
    """Answer whom an invitation is for."""
    token = read_json(request, JoinQuestion).token
    with site.limited((site.addresses, client_address(request))):
        name = site.campaign.invited(token)
        if name is None:
            raise Refusal(404, "invitation", _NO_INVITATION)
    return answer({"name": name})


def _join(site: Site, _: Visit | None, request: Request) -> Response:
    """Set the password of an invited person, who is signed in then; works once."""
    given = read_json(request, Join)
    with site.limited((site.addresses, client_address(request))):
        if site.campaign.invited(given.token) is None:  # before the password is hashed
            raise Refusal(404, "invitation", _NO_INVITATION)
    name = site.campaign.accept(given.token, encode_password(given.password))
    if name is None:
        raise Refusal(404, "invitation", _NO_INVITATION)
    response = answer({"name": name})
    site.sign_in(request, response, name, "invitation")
    return response


def _account(site: Site, visit: Visit, _: Request) -> Response:
    user = site.campaign.user(visit.name)
    has_password = user is not None and user.password is not None
    return site.render(
        "account.html", visit, here="account", fewest=FEWEST, has_password=has_password
    )


def _change_password(site: Site, visit: Visit, request: Request) -> Response:
    """Change one's own password; all other sessions end."""
    given = read_json(request, PasswordChange)
    user = site.campaign.user(visit.name)
    if user is None or user.password is not None:
        try:
            _check_password(site, request, visit.name, given.old)
        except Refusal as refusal:
            if refusal.status == 401:  # the session is fine
                raise Refusal(422, "password", "The present password is wrong.") from None
            raise
    site.campaign.set_password(visit.name, encode_password(given.new))
    site.campaign.log(visit.name, None, None, "password", {})
    response = answer({"name": visit.name})
    site.sign_in(request, response, visit.name, "new password")
    return response


ENDPOINTS = (
    Endpoint("GET", "/login", _login_page, "nobody"),
    Endpoint("POST", "/login", _login, "nobody", hashes=True),
    Endpoint("POST", "/logout", _logout, "nobody"),
    Endpoint("GET", "/start", _start, "nobody"),
    Endpoint("GET", "/join", _join_page, "nobody"),
    Endpoint("POST", "/api/invitation", _invited, "nobody"),
    Endpoint("POST", "/api/join", _join, "nobody", hashes=True),
    Endpoint("GET", "/account", _account),
    Endpoint("POST", "/api/account/password", _change_password, hashes=True),
)
