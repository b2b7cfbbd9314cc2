"""The JSON API of organisers: people, assignments, progress, agreement, export and backup.

All of it is also open to tokens (`Authorization: Bearer`), except the tokens themselves.
"""

from __future__ import annotations

import csv
import io
import re
import secrets
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from foveal.assess.accounts import encode_password
from foveal.assess.adjudication import adopt_agreed
from foveal.assess.exporting import check_known, export_judgements, judgements
from foveal.assess.messages import (
    AboutChange,
    Assignment,
    Invitation,
    NewToken,
    Nothing,
    UserChange,
    UserFile,
    read_json,
)
from foveal.assess.people import NewUser, check_name
from foveal.assess.security import Refusal
from foveal.assess.site import Endpoint, Site, Visit, answer
from foveal.assess.store import ROLES
from foveal.errors import InputError, UsageError, counted

__all__ = ["COMBINATIONS", "ENDPOINTS", "EXPORTS", "backup", "export"]

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


# -- people ---------------------------------------------------------------------------------------


def _list_users(site: Site, _: Visit, __: Request) -> Response:
    invited = site.campaign.invitations()
    users = [
        {
            "name": user.name,
            "role": user.role,
            "password": user.password is not None,
            "invited_until": invited.get(user.name),
            "topics": site.campaign.assigned(user.name),
        }
        for user in site.campaign.users()
    ]
    return answer({"users": users})


def _check_power(site: Site, visit: Visit, name: str, role: str | None) -> None:
    """Refuse a token that would make an organiser, or sign in as one: it could not be revoked."""
    known = site.campaign.user(name)
    if visit.by_token and "organiser" in (role, known and known.role):
        raise Refusal(403, "role", "A token cannot change accounts of organisers.")


def _change_user(site: Site, visit: Visit, request: Request) -> Response:
    """Add or change an account; a new password ends its sessions."""
    given = read_json(request, UserChange)
    _check_power(site, visit, given.name, given.role)
    check_known(site.campaign, (), given.topics)
    encoded = encode_password(given.password) if given.password else None
    known = site.campaign.user(given.name)
    if known is None:
        site.campaign.add_user(given.name, given.role or ROLES[0], encoded)
    else:
        if given.role is not None and given.role != known.role:
            if given.name == visit.name:
                raise Refusal(422, "role", "You cannot change your own role.")
            site.campaign.set_role(given.name, given.role)
        if encoded is not None:
            site.campaign.set_password(given.name, encoded)
    for topic in given.topics:
        site.campaign.assign(topic, given.name)
    change = {"name": given.name, "added": known is None, "password": encoded is not None}
    site.campaign.log(visit.name, None, None, "account", change)
    own = known is not None and given.name == visit.name
    return answer({**change, "signed_out": own and encoded is not None})


def _add_users(site: Site, visit: Visit, request: Request) -> Response:
    """Add the users of a CSV file: all of them, or none with the problem of each line."""
    given = read_json(request, UserFile)
    users, problems = _read_users(site, given.csv)
    if problems:
        wrong = [{"line": line, "reason": reason} for line, reason in problems[:_MOST_PROBLEMS]]
        reason = f"{counted(len(problems), 'problem')}; nobody was added."
        return answer({"error": "csv", "reason": reason, "problems": wrong}, 422)
    for user in users:
        _check_power(site, visit, user.name, user.role)
    site.campaign.add_users(users)
    for user in users:
        change = {"name": user.name, "added": True, "password": False}
        site.campaign.log(visit.name, None, None, "account", change)
    added = [
        {
            "name": user.name,
            "role": user.role,
            "topics": user.topics,
            "link": _invite(site, visit, request, user.name) if given.invite else None,
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


def _invite(site: Site, visit: Visit, request: Request, name: str) -> str:
    """Return the link of a new invitation.

    The token is in the fragment, which browsers send to no server: it is in nobody's log.
    """
    token = site.campaign.invite(name)
    site.campaign.log(visit.name, None, None, "invitation", {"name": name})
    scheme = "https" if site.https else "http"
    return f"{scheme}://{request.headers['host']}{site.url('/join')}#{token}"


def _create_invitation(site: Site, visit: Visit, request: Request) -> Response:
    name = read_json(request, Invitation).name
    _check_power(site, visit, name, None)
    link = _invite(site, visit, request, name)
    return answer({"name": name, "link": link, "expires": site.campaign.invitations()[name]})


# -- the campaign ---------------------------------------------------------------------------------


def _describe(site: Site, _: Visit, __: Request) -> Response:
    campaign = site.campaign
    topics = [
        {"id": topic.id, "title": topic.title, "documents": len(campaign.pool(topic.id))}
        for topic in campaign.topics
    ]
    return answer(
        {
            **campaign.about()._asdict(),
            "procedure": campaign.procedure,
            "blind": campaign.blind,
            "topics": topics,
        }
    )


def _change_about(site: Site, visit: Visit, request: Request) -> Response:
    """Change title and guidelines; the log keeps all versions, since they influence judgements."""
    given = read_json(request, AboutChange)
    site.campaign.set_about(given.title, given.guidelines)
    about = site.campaign.about()._asdict()
    site.campaign.log(visit.name, None, None, "about", about)
    return answer(about)


def _list_assignments(site: Site, _: Visit, __: Request) -> Response:
    campaign = site.campaign
    pairs = [
        {"topic": topic, "assessor": name}
        for topic in campaign.topics.ids
        for name in campaign.assessors(topic)
    ]
    return answer({"assignments": pairs})


def _assign(site: Site, visit: Visit, request: Request) -> Response:
    given = read_json(request, Assignment)
    change = site.campaign.assign if given.assigned else site.campaign.unassign
    change(given.topic, given.assessor)
    note = {"assessor": given.assessor, "assigned": given.assigned}
    site.campaign.log(visit.name, given.topic, None, "assignment", note)
    return answer({"topic": given.topic, **note})


def _progress(site: Site, _: Visit, __: Request) -> Response:
    return answer({"progress": [row._asdict() for row in site.campaign.progress()]})


def _agreement(site: Site, _: Visit, __: Request) -> Response:
    from foveal.analysis.agreement import agreement

    return answer(agreement(judgements(site.campaign)).to_dict())


def _adopt(site: Site, visit: Visit, request: Request) -> Response:
    read_json(request, Nothing)
    count = adopt_agreed(site.campaign, visit.name)
    site.campaign.log(visit.name, None, None, "adopt", {"documents": count})
    return answer({"adopted": count})


# -- downloads ------------------------------------------------------------------------------------


def _file_name(site: Site, end: str) -> dict[str, str]:
    """Return the header that makes a browser save a file."""
    name = re.sub(r"[^\w.-]+", "-", site.campaign.name, flags=re.ASCII) or "campaign"
    return {"Content-Disposition": f'attachment; filename="{name}-{end}"'}


def export(site: Site, visit: Visit, request: Request) -> Response:
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
    site.campaign.log(visit.name, None, None, "export", {"to": form})
    kind = "application/zip" if EXPORTS[form].endswith("zip") else "text/plain; charset=utf-8"
    response = Response(content, media_type=kind, headers=_file_name(site, EXPORTS[form]))
    if warnings:
        response.headers["X-Foveal-Warnings"] = quote("; ".join(warnings))
    return response


def backup(site: Site, visit: Visit, _: Request) -> Response:
    """Send a consistent copy of the campaign, made while it is in use."""
    if not site.backing_up.acquire(blocking=False):
        raise Refusal(503, "busy", "Another backup is being made; try again in a while.")
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
    site.campaign.log(visit.name, None, None, "backup", {"bytes": size})

    def read() -> Iterator[bytes]:
        with stream:
            while chunk := stream.read(_CHUNK):
                yield chunk

    headers = {"Content-Length": str(size), **_file_name(site, "backup.fva")}
    return StreamingResponse(read(), media_type="application/octet-stream", headers=headers)


# -- tokens ---------------------------------------------------------------------------------------


def _list_tokens(site: Site, _: Visit, __: Request) -> Response:
    return answer({"tokens": [token._asdict() for token in site.campaign.tokens()]})


def _create_token(site: Site, visit: Visit, request: Request) -> Response:
    """Return a new token, which is shown only this once."""
    label = read_json(request, NewToken).label.strip()
    user = site.campaign.user(visit.name)
    if user is None or user.role != "organiser":  # such as the only assessor of a local server
        raise Refusal(422, "role", "Tokens act for accounts of organisers; yours is another.")
    if not label:
        raise Refusal(422, "message", "A token needs a name.")
    token = site.campaign.create_token(visit.name, label)
    site.campaign.log(visit.name, None, None, "token", {"label": label, "created": True})
    return answer({"label": label, "token": token})


def _revoke_token(site: Site, visit: Visit, request: Request) -> Response:
    number = request.path_params["number"]
    site.campaign.revoke_token(number)
    site.campaign.log(visit.name, None, None, "token", {"id": number, "revoked": True})
    return answer({"revoked": number})


ENDPOINTS = (
    Endpoint("GET", "/api/users", _list_users, "organiser", by_token=True),
    Endpoint("POST", "/api/users", _change_user, "organiser", by_token=True, hashes=True),
    Endpoint("POST", "/api/users/import", _add_users, "organiser", by_token=True),
    Endpoint("POST", "/api/invitations", _create_invitation, "organiser", by_token=True),
    Endpoint("GET", "/api/campaign", _describe, "organiser", by_token=True),
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
