"""The JSON API of assessors and organisers.

The assessor is taken from the session, never from the request. What organisers do is also open to
tokens (`Authorization: Bearer`), except the tokens themselves.
"""

from __future__ import annotations

import csv
import io
import json
import re
import secrets
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import msgspec
from starlette.requests import Request
from starlette.responses import FileResponse, Response, StreamingResponse

from foveal.assess import messages
from foveal.assess.accounts import encode_password
from foveal.assess.actions import Action
from foveal.assess.adjudication import adopt_agreed
from foveal.assess.documents import add_markup
from foveal.assess.exporting import check_known, export_judgements, judgements
from foveal.assess.messages import convert, read_json
from foveal.assess.people import ROLES, NewUser, check_name
from foveal.assess.rendering import IMAGE_TYPES, find_image, name_image, structure
from foveal.assess.security import Refusal
from foveal.assess.site import CONDITIONS, Endpoint, Login, Permission, Site, answer, quote_name
from foveal.assess.store import ConflictError, Saved
from foveal.errors import InputError, UsageError, plural

_MOST_PAYLOAD = 20_000
"""Largest number of characters of an event or a setting."""
_MOST_CUES, _MOST_SETTINGS = 100, 50
_LONGEST_STAY = 3600.0
"""Largest number of seconds in one report of time; pages report far more often."""

EXPORTS = {
    "jsonl": "foveal.jsonl",
    "fol": "fol.qrels",
    "trec": "trec.qrels",
    "inex2006": "inex2006.zip",
    "inex2005": "inex2005.zip",
    "inex2003": "inex2003.zip",
}
"""Formats of exports, with the end of the file's name."""
COMBINATIONS = ("union", "majority", "intersection")
"""Ways to combine assessors."""

_MOST_PROBLEMS = 50
_CHUNK = 1 << 18


# -- documents ------------------------------------------------------------------------------------


def _document(site: Site, login: Login, request: Request) -> Response:
    """Answer with the content of the article page."""
    if "campaign" in request.query_params:  # from a page that is already open
        _check_campaign(site, request.query_params["campaign"])
    access, doc = site.permit_view(login, request), request.path_params["doc"]
    campaign = site.campaign
    document = site.document(doc)
    # A page that has the text already asks only for changes.
    text = request.query_params.get("text") != "0"
    history = campaign.history(access.assessor, access.topic, doc)
    documents = campaign.to_judge(access.assessor, access.topic)
    names = list(documents)
    place = names.index(doc) if doc in names else None
    in_pool = campaign.is_pooled(access.topic, doc)
    settings = campaign.settings(access.assessor, access.topic)
    topic = campaign.topics[access.topic]
    images = _image_address(site, access.topic, doc)
    hidden = campaign.blind and not access.adjudicates
    others = [] if hidden else campaign.others(access.assessor, access.topic, doc)
    asked: tuple[str, ...] = ()
    if campaign.procedure == "2003":
        # Pooled elements, and those enclosing pooled passages. A document that somebody added
        # has no pooled elements; it can be graded as a whole.
        pooled = campaign.list_pooled(access.topic, doc) if in_pool else ()
        asked = pooled or campaign.elements(doc).path[:1]
    return answer(
        {
            "structure": structure(document, campaign.elements(doc), images) if text else None,
            **_describe(site, access, doc, history),
            "support": campaign.support(access.topic, doc) if in_pool else [],
            "suggestions": list(campaign.suggestions(access.assessor, access.topic, doc)),
            "in_pool": in_pool,
            "asked": asked,
            "may_act": access.may_act,
            "procedure": campaign.procedure,
            "cues": settings.pop("cues", []),
            "settings": settings,
            "previous": names[place - 1] if place else None,
            "next": names[place + 1] if place is not None and place + 1 < len(names) else None,
            "seconds": campaign.seconds(access.assessor, access.topic, doc),
            "others": others,
            "topic": {
                field: getattr(topic, field)
                for field in ("id", "title", "description", "narrative", "castitle", "keywords")
            },
            "campaign": campaign.identity,
            "assessor": access.assessor,
            "csrf": login.csrf,
            "left": len(names) - sum(documents.values()),
            "pooled": len(names),
        }
    )


def _image_address(site: Site, topic: str, doc: str) -> Callable[[int, str], str | None] | None:
    """Return a function from an element and the image it names to an address, if there is one."""
    directory = site.images
    if directory is None:
        return None
    base = site.url(f"/api/topics/{quote_name(topic)}/images")

    def address(element: int, name: str) -> str | None:
        found = find_image(directory, doc, name)
        return None if found is None else f"{base}/{element}/{quote_name(doc)}"

    return address


def _image(site: Site, login: Login, request: Request) -> Response:
    """Answer with the image that an element of a document names."""
    site.permit_view(login, request)
    doc, element = request.path_params["doc"], request.path_params["element"]
    document = site.document(doc)
    found = None
    if site.images is not None and document.markup is not None:
        marked = add_markup(site.campaign.elements(doc), document.markup)
        name = name_image(marked.attributes.get(element, {}))
        found = find_image(site.images, doc, name or "")
    if found is None:
        raise Refusal(404, "image", "There is no such image.")
    return FileResponse(found, media_type=IMAGE_TYPES[found.suffix.lower()])


def _check_campaign(site: Site, identity: str) -> None:
    """Refuse a page that was opened when another campaign was served at this address.

    The status is neither 409 nor 422: pages of all versions keep unsaved work on any other status.
    """
    if identity != site.campaign.identity:
        raise Refusal(412, "campaign", "Another campaign is served at this address now.")


def _describe(site: Site, access: Permission, doc: str, found: Saved) -> dict[str, Any]:
    """Return the state of an assessment, what it lacks, and its inferred grades."""
    content = {
        "state": found.state.to_json(),
        "version": found.version,
        "can_undo": found.can_undo,
        "can_redo": found.can_redo,
        "missing": [],
        "grades": {},
    }
    if site.campaign.is_pooled(access.topic, doc):
        lacking = site.campaign.list_missing(access.topic, doc, found.state)
        content["missing"] = [one.reason for one in lacking]
        content["grades"] = site.campaign.grades(doc, found.state)
    return content


def _act(site: Site, login: Login, request: Request) -> Response:
    """Save an action; it is on the disk before the answer is sent."""
    # First: topics of other campaigns are unknown.
    body = read_json(request, dict[str, Any])
    _check_campaign(site, body.get("campaign", ""))
    access, doc = site.permit_change(login, request), request.path_params["doc"]
    message = convert(body, messages.ActionMessage)
    if isinstance(state := message.action.get("state"), dict):
        state["validated"] = False  # only the server decides whether a document is complete
    action = Action.from_json(message.action)
    if not site.campaign.is_pooled(access.topic, doc):
        site.document(doc)
        raise Refusal(422, "pool", "This document is not in the pool; add it first.")
    if action.kind == "replace" and site.campaign.blind and not access.adjudicates:
        raise Refusal(422, "role", "Only adjudicators may start from another's assessment.")
    try:
        saved = site.campaign.act(
            access.assessor,
            access.topic,
            doc,
            message.uuid,
            message.base,
            action,
            length=message.length,
            digest=message.digest,
            client_at=None if message.at is None else str(message.at),
            actor=None if login.name == access.assessor else login.name,
        )
    except ConflictError as conflict:
        found = _describe(site, access, doc, conflict.newest)
        return answer({"error": "conflict", "reason": str(conflict), **found}, 409)
    found = _describe(site, access, doc, saved)
    return answer({**found, "repeated": saved.repeated, "left": site.count_open(access)})


def _add(site: Site, login: Login, request: Request) -> Response:
    """Add a document that no run returned to the pool."""
    access = site.permit_change(login, request)
    doc = read_json(request, messages.NewDocument).doc
    site.document(doc)
    added = site.campaign.add_document(access.topic, doc, login.name)
    return answer({"doc": doc, "added": added, "left": site.count_open(access)})


# -- topics ---------------------------------------------------------------------------------------


def _pool(site: Site, login: Login, request: Request) -> Response:
    access = site.permit_view(login, request)
    known = site.get_conditions(access)
    documents = [
        {
            "doc": entry.doc,
            "title": entry.title,
            "length": entry.length,
            "priority": entry.priority,
            "added": entry.added_by is not None,
            "state": known.get(entry.doc, CONDITIONS[0]).kind,
        }
        for entry in site.campaign.pool(access.topic)
    ]
    return answer({"topic": access.topic, "documents": documents})


def _history(site: Site, login: Login, request: Request) -> Response:
    access = site.permit_view(login, request)
    known = site.get_conditions(access)
    documents = [
        {**one._asdict(), "state": known[one.doc].kind}
        for one in site.campaign.list_viewed(access.assessor, access.topic)
    ]
    return answer({"topic": access.topic, "documents": documents})


def _event(site: Site, login: Login, request: Request) -> Response:
    """Log an event that a page reports: it was opened, time spent, settings."""
    access = site.permit_view(login, request)
    event = read_json(request, messages.Event)
    payload = event.payload or {}
    if event.doc is not None and not site.campaign.is_pooled(access.topic, event.doc):
        site.document(event.doc)
    _check_size(payload)
    if event.kind == "time":
        seconds: Any = payload.get("seconds")
        if type(seconds) not in (int, float) or not 0 <= seconds <= _LONGEST_STAY:
            raise Refusal(422, "message", f"Expected seconds from 0 to {_LONGEST_STAY:.0f}.")
    if access.adjudicates:
        payload = {**payload, "by": login.name}
    if access.may_act:  # an organiser who only looks does no work
        site.campaign.log(access.assessor, access.topic, event.doc, event.kind, payload)
    return answer({"noted": access.may_act})


def _settings(site: Site, login: Login, request: Request) -> Response:
    access = site.permit_change(login, request)
    setting = read_json(request, messages.Setting)
    key, value = setting.key, setting.value
    _check_size(value)
    if key == "cues":
        cues = convert(value, list[messages.Cue])
        if len(cues) > _MOST_CUES:
            raise Refusal(422, "message", f"Expected at most {_MOST_CUES} cue words.")
        value = msgspec.to_builtins(cues)
    known = site.campaign.settings(access.assessor, access.topic)
    if key != "cues" and key not in known and len(known) >= _MOST_SETTINGS:
        raise Refusal(422, "message", "There are too many settings.")
    site.campaign.set_setting(access.assessor, access.topic, key, value)
    return answer({"key": key, "value": value})


def _check_size(value: Any) -> None:
    if len(json.dumps(value)) > _MOST_PAYLOAD:
        raise Refusal(422, "message", f"Expected at most {_MOST_PAYLOAD} characters.")


# -- people ---------------------------------------------------------------------------------------


def _list_users(site: Site, _: Login, __: Request) -> Response:
    invited = site.campaign.invitations()
    users = [
        {
            "name": user.name,
            "role": user.role,
            "password": user.password is not None,
            "invited_until": invited.get(user.name),
            "topics": site.campaign.list_assigned(user.name),
        }
        for user in site.campaign.users()
    ]
    return answer({"users": users})


def _check_power(site: Site, login: Login, name: str, role: str | None) -> None:
    """Refuse a token that would make an organiser, or sign in as one: it could not be revoked."""
    known = site.campaign.user(name)
    if login.by_token and "organiser" in (role, known and known.role):
        raise Refusal(403, "role", "A token cannot change accounts of organisers.")


def _change_user(site: Site, login: Login, request: Request) -> Response:
    """Add or change an account; a new password ends its sessions."""
    given = read_json(request, messages.UserChange)
    _check_power(site, login, given.name, given.role)
    check_known(site.campaign, (), given.topics)
    encoded = encode_password(given.password) if given.password else None
    known = site.campaign.user(given.name)
    if known is None:
        site.campaign.add_user(given.name, given.role or ROLES[0], encoded)
    else:
        if given.role is not None and given.role != known.role:
            if given.name == login.name:
                raise Refusal(422, "role", "You cannot change your own role.")
            site.campaign.set_role(given.name, given.role)
        if encoded is not None:
            site.campaign.set_password(given.name, encoded)
    for topic in given.topics:
        site.campaign.assign(topic, given.name)
    change = {"name": given.name, "added": known is None, "password": encoded is not None}
    site.campaign.log(login.name, None, None, "account", change)
    own = known is not None and given.name == login.name
    return answer({**change, "signed_out": own and encoded is not None})


def _add_users(site: Site, login: Login, request: Request) -> Response:
    """Add the users of a CSV file: all of them, or none with the problem of each line."""
    given = read_json(request, messages.UserFile)
    users, problems = _read_users(site, given.csv)
    if problems:
        wrong = [{"line": line, "reason": reason} for line, reason in problems[:_MOST_PROBLEMS]]
        reason = f"{plural(len(problems), 'problem')}; nobody was added."
        return answer({"error": "csv", "reason": reason, "problems": wrong}, 422)
    for user in users:
        _check_power(site, login, user.name, user.role)
    site.campaign.add_users(users)
    for user in users:
        change = {"name": user.name, "added": True, "password": False}
        site.campaign.log(login.name, None, None, "account", change)
    added = [
        {
            "name": user.name,
            "role": user.role,
            "topics": user.topics,
            "link": _invite(site, login, request, user.name) if given.invite else None,
        }
        for user in users
    ]
    return answer({"added": added})


def _read_users(site: Site, text: str) -> tuple[list[NewUser], list[tuple[int, str]]]:
    """Return the users of a CSV file (name, role, topics), and the lines that are wrong."""
    users: dict[str, NewUser] = {}
    problems: list[tuple[int, str]] = []
    known = {user.name for user in site.campaign.users()}
    reader = csv.reader(io.StringIO(text.removeprefix("\ufeff"), newline=""), strict=True)
    try:
        for row in reader:
            cells = [cell.strip() for cell in row]
            if not any(cells) or (not users and cells[0].lower() == "name"):
                continue  # an empty line, or the heading
            try:
                if len(cells) > 3:
                    raise UsageError(f"{len(cells)} columns; expected name, role, topics")
                name, role, listed = (*cells, "", "")[:3]
                topics = tuple(re.split(r"[;\s]+", listed)) if listed else ()
                check_name(name)
                if name in known or name in users:
                    raise UsageError(f"there is already a user {name!r}")
                if role not in ("", *ROLES):
                    raise UsageError(f"role {role!r:.60}; expected {' or '.join(ROLES)}")
                for topic in topics:
                    if topic not in site.campaign.topics:
                        raise UsageError(f"no topic {topic!r:.60} in the campaign")
                users[name] = NewUser(name, role or ROLES[0], topics)
            except UsageError as error:
                problems.append((reader.line_num, str(error)))
    except csv.Error as error:
        problems.append((reader.line_num, f"not CSV: {error}"))
    if not users and not problems:
        problems.append((1, "no users; expected lines of name, role, topics"))
    return list(users.values()), problems


def _invite(site: Site, login: Login, request: Request, name: str) -> str:
    """Return the link of a new invitation.

    The token is in the fragment, which browsers send to no server: it is in nobody's log.
    """
    token = site.campaign.invite(name)
    site.campaign.log(login.name, None, None, "invitation", {"name": name})
    scheme = "https" if site.https else "http"
    return f"{scheme}://{request.headers['host']}{site.url('/join')}#{token}"


def _create_invitation(site: Site, login: Login, request: Request) -> Response:
    name = read_json(request, messages.Invitation).name
    _check_power(site, login, name, None)
    link = _invite(site, login, request, name)
    return answer({"name": name, "link": link, "expires": site.campaign.invitations()[name]})


# -- the campaign ---------------------------------------------------------------------------------


def _campaign(site: Site, _: Login, __: Request) -> Response:
    campaign = site.campaign
    topics = [
        {"id": topic.id, "title": topic.title, "documents": len(campaign.pool(topic.id))}
        for topic in campaign.topics
    ]
    return answer(
        {
            **campaign.instructions()._asdict(),
            "procedure": campaign.procedure,
            "blind": campaign.blind,
            "topics": topics,
        }
    )


def _change_about(site: Site, login: Login, request: Request) -> Response:
    """Change title and guidelines; the log keeps all versions, since they influence judgements."""
    given = read_json(request, messages.AboutChange)
    site.campaign.set_instructions(given.title, given.guidelines)
    about = site.campaign.instructions()._asdict()
    site.campaign.log(login.name, None, None, "about", about)
    return answer(about)


def _list_assignments(site: Site, _: Login, __: Request) -> Response:
    campaign = site.campaign
    pairs = [
        {"topic": topic, "assessor": name}
        for topic in campaign.topics.ids
        for name in campaign.assessors(topic)
    ]
    return answer({"assignments": pairs})


def _assign(site: Site, login: Login, request: Request) -> Response:
    given = read_json(request, messages.Assignment)
    change = site.campaign.assign if given.assigned else site.campaign.unassign
    change(given.topic, given.assessor)
    note = {"assessor": given.assessor, "assigned": given.assigned}
    site.campaign.log(login.name, given.topic, None, "assignment", note)
    return answer({"topic": given.topic, **note})


def _progress(site: Site, _: Login, __: Request) -> Response:
    return answer({"progress": [row._asdict() for row in site.campaign.progress()]})


def _agreement(site: Site, _: Login, __: Request) -> Response:
    from foveal.analysis.agreement import agreement

    return answer(agreement(judgements(site.campaign)).to_dict())


def _adopt(site: Site, login: Login, request: Request) -> Response:
    read_json(request, messages.Nothing)
    count = adopt_agreed(site.campaign, login.name)
    site.campaign.log(login.name, None, None, "adopt", {"documents": count})
    return answer({"adopted": count})


# -- downloads ------------------------------------------------------------------------------------


def _file_name(site: Site, end: str) -> dict[str, str]:
    """Return the header that makes a browser save a file."""
    name = re.sub(r"[^\w.-]+", "-", site.campaign.name, flags=re.ASCII) or "campaign"
    return {"Content-Disposition": f'attachment; filename="{name}-{end}"'}


def export(site: Site, login: Login, request: Request) -> Response:
    """Send the assessments as judgements in a format; formats that are folders as a zip file."""
    given = request.query_params
    form, combine = given.get("to", "jsonl"), given.get("combine") or None
    if form not in EXPORTS:
        raise Refusal(422, "format", f"The format is one of {', '.join(EXPORTS)}.")
    if combine not in (None, *COMBINATIONS):
        raise Refusal(422, "combine", f"Combine is one of {', '.join(COMBINATIONS)}.")
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "judgements"
        try:
            _, warnings = export_judgements(
                site.campaign,
                target,
                form,
                assessors=[name for name in given.getlist("assessor") if name],
                topics=[topic for topic in given.getlist("topic") if topic],
                final=given.get("final") == "1",
                combine=combine,
                everything=given.get("all") == "1",
            )
        except InputError as error:
            problem = error.problems[0]
            if problem.code == "campaign.damaged":
                raise
            if problem.code == "campaign.empty":
                raise Refusal(422, "empty", "There is nothing to export yet.") from None
            raise Refusal(422, "format", f"{form} cannot hold this: {problem.text}.") from None
        if target.is_dir():
            packed = io.BytesIO()
            with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
                for path in sorted(target.iterdir()):
                    archive.write(path, path.name)
            content = packed.getvalue()
        else:
            content = target.read_bytes()
    site.campaign.log(login.name, None, None, "export", {"to": form})
    kind = "application/zip" if EXPORTS[form].endswith("zip") else "text/plain; charset=utf-8"
    response = Response(content, media_type=kind, headers=_file_name(site, EXPORTS[form]))
    if warnings:
        response.headers["X-Foveal-Warnings"] = quote("; ".join(warnings))
    return response


def backup(site: Site, login: Login, _: Request) -> Response:
    """Send a consistent copy of the campaign, made while it is in use."""
    if not site.backing_up.acquire(blocking=False):
        raise Refusal(503, "busy", "Another backup is running; try again later.")
    try:
        # Beside the campaign, where there is room; the name is gone before the first byte is sent.
        copy = site.campaign.path.with_name(f".backup-{secrets.token_hex(8)}")
        try:
            site.campaign.backup(copy)
            size, stream = copy.stat().st_size, copy.open("rb")
        finally:
            copy.unlink(missing_ok=True)
    finally:
        site.backing_up.release()
    site.campaign.log(login.name, None, None, "backup", {"bytes": size})

    def read() -> Iterator[bytes]:
        with stream:
            while chunk := stream.read(_CHUNK):
                yield chunk

    headers = {"Content-Length": str(size), **_file_name(site, "backup.fva")}
    return StreamingResponse(read(), media_type="application/octet-stream", headers=headers)


# -- tokens ---------------------------------------------------------------------------------------


def _list_tokens(site: Site, _: Login, __: Request) -> Response:
    return answer({"tokens": [token._asdict() for token in site.campaign.tokens()]})


def _create_token(site: Site, login: Login, request: Request) -> Response:
    """Return a new token, which is shown only this once."""
    label = read_json(request, messages.NewToken).label.strip()
    user = site.campaign.user(login.name)
    if user is None or user.role != "organiser":  # such as the only assessor of a local server
        raise Refusal(422, "role", "Tokens act for organisers; your account is not an organiser.")
    if not label:
        raise Refusal(422, "message", "A token needs a name.")
    token = site.campaign.create_token(login.name, label)
    site.campaign.log(login.name, None, None, "token", {"label": label, "created": True})
    return answer({"label": label, "token": token})


def _revoke_token(site: Site, login: Login, request: Request) -> Response:
    number = request.path_params["number"]
    site.campaign.revoke_token(number)
    site.campaign.log(login.name, None, None, "token", {"id": number, "revoked": True})
    return answer({"revoked": number})


_TOPIC = "/api/topics/{topic}"
ENDPOINTS = (
    # Actions come before documents, since the name of a document may hold slashes.
    Endpoint("POST", f"{_TOPIC}/documents/{{doc:path}}/actions", _act),
    Endpoint("GET", f"{_TOPIC}/documents/{{doc:path}}", _document),
    Endpoint("POST", f"{_TOPIC}/documents", _add),
    Endpoint("GET", f"{_TOPIC}/images/{{element:int}}/{{doc:path}}", _image),
    Endpoint("GET", f"{_TOPIC}/pool", _pool),
    Endpoint("GET", f"{_TOPIC}/history", _history),
    Endpoint("POST", f"{_TOPIC}/events", _event),
    Endpoint("PUT", f"{_TOPIC}/settings", _settings),
    Endpoint("GET", "/api/users", _list_users, "organiser", by_token=True),
    Endpoint("POST", "/api/users", _change_user, "organiser", by_token=True, hashes=True),
    Endpoint("POST", "/api/users/import", _add_users, "organiser", by_token=True),
    Endpoint("POST", "/api/invitations", _create_invitation, "organiser", by_token=True),
    Endpoint("GET", "/api/campaign", _campaign, "organiser", by_token=True),
    Endpoint("PUT", "/api/campaign", _change_about, "organiser", by_token=True),
    Endpoint("GET", "/api/assignments", _list_assignments, "organiser", by_token=True),
    Endpoint("POST", "/api/assignments", _assign, "organiser", by_token=True),
    Endpoint("GET", "/api/progress", _progress, "organiser", by_token=True),
    Endpoint("GET", "/api/agreement", _agreement, "organiser", by_token=True),
    Endpoint("POST", "/api/adjudication/agreed", _adopt, "organiser", by_token=True),
    Endpoint("GET", "/api/export", export, "organiser", by_token=True),
    Endpoint("GET", "/api/backup", backup, "organiser", by_token=True),
    Endpoint("GET", "/api/tokens", _list_tokens, "organiser"),
    Endpoint("POST", "/api/tokens", _create_token, "organiser"),
    Endpoint("DELETE", "/api/tokens/{number:int}", _revoke_token, "organiser"),
)
