"""The pages of the server, and signing in and out.

Only the content of the article page comes from the API.
"""

from __future__ import annotations

import json
import logging
import re
import secrets
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from hmac import compare_digest
from typing import Any, Literal
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from foveal.assess.accounts import FEWEST, check_password, encode_password
from foveal.assess.adjudication import Case, cases
from foveal.assess.api import COMBINATIONS, EXPORTS, backup, export
from foveal.assess.exporting import judgements
from foveal.assess.messages import Join, JoinQuestion, PasswordChange, read_form, read_json
from foveal.assess.people import FINAL
from foveal.assess.procedure import is_relevant
from foveal.assess.security import Refusal, is_own_path
from foveal.assess.site import CONDITIONS, Condition, Endpoint, Login, Site, answer, client_address
from foveal.assess.store import CollectionDocument
from foveal.errors import UsageError

_LOG = logging.getLogger("foveal.assess")
_NO_INVITATION = "This invitation was used, has expired or was replaced by a newer one."
_VIEWED = 12
"""Number of documents in the list of recent ones."""
_FOUND, _BROWSED = 20, 50
"""Numbers of documents on a page of search and of browsing."""
_MOST_QUERY = 400
_LOGGED = 100
_MOST_DETAILS = 160
"""Largest number of characters shown for an entry of the log."""


# -- assessors ------------------------------------------------------------------------------------


def _home(site: Site, login: Login, _: Request) -> Response:
    rows = {row.topic: row for row in site.campaign.progress() if row.assessor == login.name}
    topics = [rows[topic] for topic in site.campaign.list_assigned(login.name)]
    # Topics in progress go first.
    waiting = sorted(
        (row for row in topics if row.validated < row.pooled), key=lambda r: not r.seen
    )
    return site.render(
        "home.html",
        login,
        topics=topics,
        titles={topic.id: topic.title or "" for topic in site.campaign.topics},
        next=waiting[0] if waiting else None,
    )


def _pool(site: Site, login: Login, request: Request) -> Response:
    access = site.permit_view(login, request)
    campaign, known = site.campaign, site.get_conditions(access)
    documents: list[dict[str, Any]] = []
    for entry in campaign.pool(access.topic):
        added_by = entry.added_by or ""
        if added_by == access.assessor:
            added_by = "you"
        elif added_by and campaign.blind:
            added_by = "another assessor"
        documents.append(
            {
                **entry._asdict(),
                "runs": len({one["run"] for part in entry.support for one in part["runs"]}),
                "added_by": added_by,
                "state": known.get(entry.doc, CONDITIONS[0]),
                "href": site.document_url(access.topic, entry.doc),
            }
        )
    counted = Counter(one["state"].kind for one in documents)
    waiting = [one for one in documents if one["state"].kind not in ("relevant", "irrelevant")]
    viewed = campaign.list_viewed(access.assessor, access.topic)
    return site.render(
        "pool.html",
        login,
        topic=campaign.topics[access.topic],
        may_act=access.may_act,
        documents=documents,
        states=[(state.words, counted[state.kind]) for state in CONDITIONS if counted[state.kind]],
        next=waiting[0] if waiting else None,
        left=len(waiting),
        relevant=counted["relevant"] + counted["marked"],
        seconds=sum(one.seconds for one in viewed),
        cues=json.dumps(campaign.settings(access.assessor, access.topic).get("cues", [])),
        viewed=[
            {
                **one._asdict(),
                "href": site.document_url(access.topic, one.doc),
                "state": known[one.doc],
            }
            for one in viewed[:_VIEWED]
        ],
    )


def _collection(site: Site, login: Login, request: Request) -> Response:
    """Show documents of the collection, found by search or browsing."""
    access = site.permit_view(login, request)
    given = request.query_params
    q, prefix = (given.get(name, "") for name in ("q", "prefix"))
    if max(len(q), len(prefix)) > _MOST_QUERY:
        raise Refusal(422, "message", f"A query may have at most {_MOST_QUERY} characters.")
    q = q.strip()
    known, pooled = (
        site.get_conditions(access),
        site.campaign.to_judge(access.assessor, access.topic),
    )
    more: dict[str, Any] | None = None
    if q:
        offset = int(given["offset"]) if re.fullmatch("[0-9]{1,6}", given.get("offset", "")) else 0
        found = site.campaign.search(q, _FOUND, offset)
        if len(found) == _FOUND:
            more = {"q": q, "offset": offset + _FOUND}
    else:
        found = site.campaign.browse(prefix, given.get("after", ""), _BROWSED)
        if len(found) == _BROWSED:
            more = {"prefix": prefix, "after": found[-1].doc}
    return site.render(
        "collection.html",
        login,
        topic=site.campaign.topics[access.topic],
        may_act=access.may_act,
        q=q,
        prefix=prefix,
        found=[
            {
                "doc": one.doc,
                "title": one.title,
                "href": site.document_url(access.topic, one.doc),
                "snippet": list(_mark_words(one, q)),
                "state": known.get(one.doc, CONDITIONS[0]) if one.doc in pooled else None,
            }
            for one in found
        ],
        more=more and f"?{urlencode(more, errors='replace')}",
    )


def _mark_words(found: CollectionDocument, q: str) -> Iterator[tuple[str, bool]]:
    """Yield the pieces of a snippet, each with whether it is a word of the query."""
    words = re.findall(r"\w+", q)
    if not words or not found.snippet:
        yield found.snippet or found.title, False
        return
    pattern = re.compile("(" + "|".join(map(re.escape, words)) + ")", re.IGNORECASE)
    for i, part in enumerate(pattern.split(found.snippet)):
        if part:
            yield part, i % 2 == 1


def _article(site: Site, login: Login, request: Request) -> Response:
    """Render the frame of the article page; its script fetches the content."""
    site.permit_view(login, request)
    site.document(request.path_params["doc"])
    return site.render("article.html", login)


# -- organisers -----------------------------------------------------------------------------------


def _organise(site: Site, login: Login, _: Request) -> Response:
    campaign, users = site.campaign, site.campaign.users()
    progress = campaign.progress()
    assigned = {
        (topic.id, name) for topic in campaign.topics for name in campaign.assessors(topic.id)
    }
    judging = {name for _, name in assigned} | {u.name for u in users if u.role == "assessor"}
    return site.render(
        "organise.html",
        login,
        campaign=campaign,
        pooled=sum(len(campaign.pool(topic.id)) for topic in campaign.topics),
        progress=progress,
        rows_of=Counter(row.topic for row in progress),
        assessors=sorted(judging),
        assigned=assigned,
    )


def _people(site: Site, login: Login, _: Request) -> Response:
    campaign = site.campaign
    return site.render(
        "people.html",
        login,
        users=campaign.users(),
        topics_of={user.name: campaign.list_assigned(user.name) for user in campaign.users()},
        invited=campaign.invitations(),
        fewest=FEWEST,
    )


def _settings(site: Site, login: Login, _: Request) -> Response:
    return site.render(
        "campaign.html",
        login,
        formats=EXPORTS,
        combinations=COMBINATIONS,
        names=[user.name for user in site.campaign.users()],
        topics=site.campaign.topics.ids,
        tokens=site.campaign.tokens(),
    )


def _agreement(site: Site, login: Login, _: Request) -> Response:
    from foveal.analysis.agreement import agreement

    try:
        found = agreement(judgements(site.campaign))
    except UsageError:  # no document has two assessors yet
        problem = "No document of a topic was validated by two assessors yet."
        return site.render("agreement.html", login, problem=problem, tables=[])
    together, tables = found.tables(), found.tables()
    for table, known in zip(found.tables(per_topic=True), together, strict=True):
        rows = tuple(row for row in table.rows if row not in known.rows)
        tables.append(replace(table, title=f"{table.title}, by topic", rows=rows, notes=()))
    problem = " ".join(found.notes)
    return site.render("agreement.html", login, problem=problem, tables=tables)


def _adjudicate(site: Site, login: Login, _: Request) -> Response:
    every = cases(site.campaign)
    rows: list[dict[str, Any]] = [
        {
            "case": case,
            "title": site.campaign.document(case.doc).title,
            "href": site.document_url(case.topic, case.doc, final=True),
            "differ": case.differ,
            "state": _describe_decision(case, site.campaign.procedure),
        }
        for case in every
        if len(case.states) > 1
    ]
    decided = ("relevant", "irrelevant")
    rows.sort(key=lambda row: (not row["differ"], row["state"].kind in decided))  # open ones first
    waiting = [row for row in rows if row["differ"] and row["state"].kind not in decided]
    return site.render(
        "adjudicate.html",
        login,
        rows=rows,
        next=waiting[0] if waiting else None,
        open=len(waiting),
        differ=sum(bool(row["differ"]) for row in rows),
        agreed=sum(case.final is None and case.complete and not case.differ for case in every),
    )


def _describe_decision(case: Case, procedure: str) -> Condition:
    """Return the progress of the adjudication of a case."""
    if case.final is None:
        return Condition("open", "open") if case.differ else Condition("seen", "agreed so far")
    if not case.final.validated:
        return Condition("marked", "begun")
    if is_relevant(procedure, case.final):
        return Condition("relevant", "relevant")
    return Condition("irrelevant", "not relevant")


def _log(site: Site, login: Login, request: Request) -> Response:
    given, campaign = request.query_params, site.campaign
    of: Literal["actions", "events"] = "events" if given.get("of") == "events" else "actions"
    assessor, topic = given.get("assessor") or None, given.get("topic") or None
    before = int(given["before"]) if re.fullmatch("[0-9]{1,15}", given.get("before", "")) else None
    entries = campaign.entries(of, assessor=assessor, topic=topic, before=before, limit=_LOGGED)
    found = [{"actor": None, **entry, "details": _format_details(entry)} for entry in entries]
    query = {"assessor": assessor or "", "topic": topic or "", "of": of}
    more = {**query, "before": found[-1]["id"]} if len(found) == _LOGGED else None
    return site.render(
        "log.html",
        login,
        names=[*(user.name for user in campaign.users()), FINAL],
        topics=campaign.topics.ids,
        assessor=assessor,
        topic=topic,
        of=of,
        rows=found,
        more=more and f"?{urlencode(more, errors='replace')}",
    )


def _format_details(entry: dict[str, Any]) -> str:
    """Format what an entry of the log holds, cut to a fixed length."""
    words = ", ".join(
        f"{key} {json.dumps(value, ensure_ascii=False)}"
        for key, value in entry["payload"].items()
        if key != "kind"
    )
    return words if len(words) <= _MOST_DETAILS else words[: _MOST_DETAILS - 1] + "…"


# -- signing in ------------------------------------------------------------------------------------


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


def _login_page(site: Site, login: Login | None, request: Request) -> Response:
    back = request.query_params.get("next", "")
    if login is not None:
        return _redirect(site, back)
    return _login_form(site, request, back=back if is_own_path(back) else "")


def _login(site: Site, _: Login | None, request: Request) -> Response:
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
    with site.limit_attempts((site.addresses, address), (site.tries, own), (site.names, name)):
        user = site.campaign.user(name)
        if not check_password(password, None if user is None else user.password):
            raise Refusal(401, "password", "Name or password is wrong.")


def _start(site: Site, login: Login | None, request: Request) -> Response:
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
    if login is not None:  # the same link again, in the same browser
        return _redirect(site, "/")
    problem = "This link has been used, or belongs to another server."
    return _login_form(site, request, problem, status=403)


def _logout(site: Site, login: Login | None, _: Request) -> Response:
    response = _redirect(site, "/login")
    if login is not None:
        site.campaign.end_session(login.token)
        site.campaign.log(login.name, None, None, "logout", {})
    response.delete_cookie(site.cookie, path=site.url("/"))
    return response


# -- passwords of one's own -----------------------------------------------------------------------


def _join_page(site: Site, login: Login | None, _: Request) -> Response:
    return site.render("join.html", login, fewest=FEWEST)


def _check_invitation(site: Site, _: Login | None, request: Request) -> Response:
    """Answer whom an invitation is for."""
    token = read_json(request, JoinQuestion).token
    with site.limit_attempts((site.addresses, client_address(request))):
        name = site.campaign.find_invited(token)
        if name is None:
            raise Refusal(404, "invitation", _NO_INVITATION)
    return answer({"name": name})


def _join(site: Site, _: Login | None, request: Request) -> Response:
    """Set the password of an invited person, who is signed in then; works once."""
    given = read_json(request, Join)
    with site.limit_attempts((site.addresses, client_address(request))):
        if site.campaign.find_invited(given.token) is None:  # before the password is hashed
            raise Refusal(404, "invitation", _NO_INVITATION)
    name = site.campaign.accept(given.token, encode_password(given.password))
    if name is None:
        raise Refusal(404, "invitation", _NO_INVITATION)
    response = answer({"name": name})
    site.sign_in(request, response, name, "invitation")
    return response


def _account(site: Site, login: Login, _: Request) -> Response:
    user = site.campaign.user(login.name)
    has_password = user is not None and user.password is not None
    return site.render("account.html", login, fewest=FEWEST, has_password=has_password)


def _change_password(site: Site, login: Login, request: Request) -> Response:
    """Change one's own password; all other sessions end."""
    given = read_json(request, PasswordChange)
    user = site.campaign.user(login.name)
    if user is None or user.password is not None:
        try:
            _check_password(site, request, login.name, given.old)
        except Refusal as refusal:
            if refusal.status == 401:  # the session is fine
                raise Refusal(422, "password", "The present password is wrong.") from None
            raise
    site.campaign.set_password(login.name, encode_password(given.new))
    site.campaign.log(login.name, None, None, "password", {})
    response = answer({"name": login.name})
    site.sign_in(request, response, login.name, "new password")
    return response


ENDPOINTS = (
    Endpoint("GET", "/", _home),
    Endpoint("GET", "/topics/{topic}", _pool),
    Endpoint("GET", "/topics/{topic}/collection", _collection),
    Endpoint("GET", "/topics/{topic}/documents/{doc:path}", _article),
    Endpoint("GET", "/organise", _organise, "organiser"),
    Endpoint("GET", "/organise/people", _people, "organiser"),
    Endpoint("GET", "/organise/campaign", _settings, "organiser"),
    Endpoint("GET", "/organise/export", export, "organiser"),
    Endpoint("GET", "/organise/backup", backup, "organiser"),
    Endpoint("GET", "/organise/agreement", _agreement, "organiser"),
    Endpoint("GET", "/organise/adjudicate", _adjudicate, "organiser"),
    Endpoint("GET", "/organise/log", _log, "organiser"),
    Endpoint("GET", "/login", _login_page, "nobody"),
    Endpoint("POST", "/login", _login, "nobody", hashes=True),
    Endpoint("POST", "/logout", _logout, "nobody"),
    Endpoint("GET", "/start", _start, "nobody"),
    Endpoint("GET", "/join", _join_page, "nobody"),
    Endpoint("POST", "/api/invitation", _check_invitation, "nobody"),
    Endpoint("POST", "/api/join", _join, "nobody", hashes=True),
    Endpoint("GET", "/account", _account),
    Endpoint("POST", "/api/account/password", _change_password, hashes=True),
)
