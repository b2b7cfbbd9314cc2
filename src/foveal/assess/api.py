"""The JSON API of the server; every request is checked for permission.

The assessor is taken from the session, never from the request.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, NamedTuple

from starlette.requests import Request
from starlette.responses import FileResponse, Response

from foveal.assess.accounts import encode_password
from foveal.assess.adjudication import adopt_agreed
from foveal.assess.images import IMAGE_TYPES, find_image
from foveal.assess.messages import EVENTS, action_message, fields, flag, name, text
from foveal.assess.security import Refusal
from foveal.assess.site import Access, Site, Visit, Work, answer, condition, quoted
from foveal.assess.store import FINAL, ROLES, CollectionDocument, ConflictError

__all__ = ["COLOURS", "ENDPOINTS", "MOST_FOUND", "STYLES", "Endpoint"]

COLOURS = ("blue", "orange", "green", "pink", "purple", "red")
"""Colours of cue words."""
STYLES = ("background", "underline", "text")
"""Styles of cue words."""
MOST_FOUND = 20
"""Largest number of documents in one answer to a search."""

_MOST_BROWSED = 50
_MOST_PAYLOAD = 20_000
"""Largest number of characters of an event or a setting."""
_MOST_CUES = 100
_LONGEST_STAY = 3600.0
"""Largest number of seconds in one report of time; pages report far more often."""


class Endpoint(NamedTuple):
    """A path of the API and the function that answers."""

    path: str
    method: str
    work: Work


# -- documents ------------------------------------------------------------------------------------


def _document(site: Site, visit: Visit, request: Request, _: dict[str, Any]) -> Response:
    """Answer with the content of the article page."""
    from foveal.assess.rendering import structure

    if "campaign" in request.query_params:  # from a page that is already open
        _check_campaign(site, request.query_params["campaign"])
    access, doc = site.access(visit, request), request.path_params["doc"]
    campaign = site.campaign
    document = _find_document(site, doc)
    # A page that has the text already asks only for changes.
    text = request.query_params.get("text") != "0"
    history = campaign.history(access.assessor, access.topic, doc)
    documents = site.documents(access)
    names = list(documents)
    place = names.index(doc) if doc in names else None
    settings = campaign.settings(access.assessor, access.topic)
    topic = campaign.topics[access.topic]
    return answer(
        {
            "structure": structure(
                document, campaign.elements(doc), _image_address(site, access.topic, doc)
            )
            if text
            else None,
            "state": history.state.to_json(),
            "version": history.version,
            "can_undo": history.can_undo,
            "can_redo": history.can_redo,
            "support": campaign.support(access.topic, doc)
            if campaign.in_pool(access.topic, doc)
            else [],
            "suggestions": list(campaign.suggestions(access.assessor, access.topic, doc)),
            "in_pool": campaign.in_pool(access.topic, doc),
            "asked": _list_elements_to_grade(site, access, doc),
            "may_act": access.may_act,
            "procedure": campaign.procedure,
            **_derive_from_state(site, access, doc, history.state),
            "cues": settings.pop("cues", []),
            "settings": settings,
            "previous": names[place - 1] if place else None,
            "next": names[place + 1] if place is not None and place + 1 < len(names) else None,
            "seconds": campaign.seconds(access.assessor, access.topic, doc),
            "others": _list_other_assessments(site, access, doc),
            "topic": {
                field: getattr(topic, field)
                for field in ("id", "title", "description", "narrative", "castitle", "keywords")
            },
            "campaign": campaign.identity,
            "assessor": access.assessor,
            "csrf": visit.session.csrf,
            "left": len(names) - sum(documents.values()),
            "pooled": len(names),
        }
    )


def _image_address(site: Site, topic: str, doc: str) -> Callable[[int, str], str | None] | None:
    """Return a function from an element and the image it names to an address, if there is one."""
    directory = site.images
    if directory is None:
        return None

    def address(element: int, name: str) -> str | None:
        if find_image(directory, doc, name) is None:
            return None
        return f"/api/topics/{quoted(topic)}/images/{element}/{quoted(doc)}"

    return address


def _image(site: Site, visit: Visit, request: Request, _: dict[str, Any]) -> Response:
    """Answer with the image that an element of a document names."""
    from foveal.assess.documents import add_markup
    from foveal.assess.rendering import name_image

    site.access(visit, request)
    doc, element = request.path_params["doc"], request.path_params["element"]
    document = _find_document(site, doc)
    found = None
    if site.images is not None and document.markup is not None:
        marked = add_markup(site.campaign.elements(doc), document.markup)
        name = name_image(marked.attributes.get(element, {}))
        found = find_image(site.images, doc, name or "")
    if found is None:
        raise Refusal(404, "image", "There is no such image.")
    return FileResponse(found, media_type=IMAGE_TYPES[found.suffix.lower()])


def _check_campaign(site: Site, identity: Any) -> None:
    """Refuse a page that was opened when another campaign was served at this address.

    The status is neither 409 nor 422: pages of all versions keep unsaved work on any other status.
    """
    if identity != site.campaign.identity:
        raise Refusal(412, "campaign", "Another campaign is served at this address now.")


def _find_document(site: Site, doc: str) -> Any:
    """Return a document of the collection, or refuse the request."""
    try:
        return site.campaign.document(doc)
    except KeyError:
        raise Refusal(404, "document", "There is no such document.") from None


def _derive_from_state(site: Site, access: Access, doc: str, state: Any) -> dict[str, Any]:
    """Return the missing parts and the inferred grades of a state."""
    if not site.campaign.in_pool(access.topic, doc):
        return {"missing": [], "grades": {}}
    lacking = site.campaign.missing(access.topic, doc, state)
    return {
        "missing": [one.reason for one in lacking],
        "grades": site.campaign.grades(doc, state),
    }


def _list_elements_to_grade(site: Site, access: Access, doc: str) -> list[str]:
    """Return the elements to grade in 2003: pooled elements, and those enclosing pooled passages.

    A document that somebody added has no pooled elements; it can be graded as a whole.
    """
    campaign = site.campaign
    if campaign.procedure != "2003":
        return []
    pooled = campaign.pooled(access.topic, doc) if campaign.in_pool(access.topic, doc) else ()
    return list(pooled or campaign.elements(doc).path[:1])


def _list_other_assessments(site: Site, access: Access, doc: str) -> list[dict[str, Any]]:
    """Return the assessments of others, if the user may see them."""
    if site.campaign.blind and not access.adjudicates:
        return []
    rows = site.campaign.reading().execute(
        "SELECT assessor, state FROM assessments WHERE topic = ? AND doc = ? "
        "AND assessor NOT IN (?, ?) ORDER BY assessor",
        (access.topic, doc, access.assessor, FINAL),
    )
    return [
        {"assessor": row["assessor"], "state": json.loads(row["state"])} for row in rows.fetchall()
    ]


def _act(site: Site, visit: Visit, request: Request, body: dict[str, Any]) -> Response:
    """Save an action; it is on the disk before the answer is sent."""
    _check_campaign(site, body.get("campaign"))  # first: topics of other campaigns are unknown
    access, doc = site.acting(visit, request), request.path_params["doc"]
    message = action_message(body)
    if not site.campaign.in_pool(access.topic, doc):
        _find_document(site, doc)
        raise Refusal(422, "pool", "This document is not in the pool; add it first.")
    if message.action.kind == "replace" and site.campaign.blind and not access.adjudicates:
        raise Refusal(422, "role", "Only adjudicators may start from another's assessment.")
    try:
        saved = site.campaign.act(
            access.assessor,
            access.topic,
            doc,
            message.uuid,
            message.base,
            message.action,
            length=message.length,
            digest=message.digest,
            client_at=message.at,
            actor=None if visit.user.name == access.assessor else visit.user.name,
        )
    except ConflictError as conflict:
        content = {
            "error": "conflict",
            "reason": str(conflict),
            "version": conflict.version,
            "state": conflict.state.to_json(),
            "can_undo": conflict.can_undo,
            "can_redo": conflict.can_redo,
            **_derive_from_state(site, access, doc, conflict.state),
        }
        return answer(content, 409)
    return answer(
        {
            "version": saved.version,
            "state": saved.state.to_json(),
            "can_undo": saved.can_undo,
            "can_redo": saved.can_redo,
            "repeated": saved.repeated,
            **_derive_from_state(site, access, doc, saved.state),
            "left": site.left(access)[0],
        }
    )


def _add(site: Site, visit: Visit, request: Request, body: dict[str, Any]) -> Response:
    """Add a document that no run returned to the pool."""
    access = site.acting(visit, request)
    doc = name("doc", fields(body, needed={"doc"})["doc"])
    _find_document(site, doc)
    added = site.campaign.add_document(access.topic, doc, visit.user.name)
    return answer({"doc": doc, "added": added, "left": site.left(access)[0]})


# -- topics ---------------------------------------------------------------------------------------


def _pool(site: Site, visit: Visit, request: Request, _: dict[str, Any]) -> Response:
    access = site.access(visit, request)
    states = site.campaign.states(access.assessor, access.topic)
    viewed = {one.doc for one in site.campaign.viewed(access.assessor, access.topic)}
    return answer(
        {
            "topic": access.topic,
            "documents": [
                {
                    "doc": entry.doc,
                    "title": entry.title,
                    "length": entry.length,
                    "priority": entry.priority,
                    "added": entry.added_by is not None,
                    "state": condition(states.get(entry.doc), viewed=entry.doc in viewed).kind,
                }
                for entry in site.campaign.pool(access.topic)
            ],
        }
    )


def _history(site: Site, visit: Visit, request: Request, _: dict[str, Any]) -> Response:
    access = site.access(visit, request)
    states = site.campaign.states(access.assessor, access.topic)
    return answer(
        {
            "topic": access.topic,
            "documents": [
                {**one._asdict(), "state": condition(states.get(one.doc), viewed=True).kind}
                for one in site.campaign.viewed(access.assessor, access.topic)
            ],
        }
    )


def _event(site: Site, visit: Visit, request: Request, body: dict[str, Any]) -> Response:
    """Log an event that a page reports: it was opened, time spent, settings."""
    access = site.access(visit, request)
    found = fields(body, needed={"kind"}, optional={"doc", "payload"})
    kind, doc, payload = found["kind"], found.get("doc"), found.get("payload") or {}
    if kind not in EVENTS:
        raise Refusal(422, "message", f"Unknown event {kind!r:.40}.")
    if doc is not None and not site.campaign.in_pool(access.topic, name("doc", doc)):
        _find_document(site, doc)
    if not isinstance(payload, dict) or len(json.dumps(payload)) > _MOST_PAYLOAD:
        reason = f"The payload must be an object of at most {_MOST_PAYLOAD} characters."
        raise Refusal(422, "message", reason)
    if kind == "time":
        seconds: Any = payload.get("seconds")
        if type(seconds) not in (int, float) or not 0 <= seconds <= _LONGEST_STAY:
            raise Refusal(422, "message", f"Expected seconds from 0 to {_LONGEST_STAY:.0f}.")
    if access.adjudicates:
        payload = {**payload, "by": visit.user.name}
    if access.may_act:  # an organiser who only looks does no work
        site.campaign.log(access.assessor, access.topic, doc, kind, payload)
    return answer({"noted": access.may_act})


def _settings(site: Site, visit: Visit, request: Request, body: dict[str, Any]) -> Response:
    access = site.acting(visit, request)
    found = fields(body, needed={"key", "value"})
    key, value = text("key", found["key"], 64), found["value"]
    if len(json.dumps(value)) > _MOST_PAYLOAD:
        raise Refusal(422, "message", f"A setting may have at most {_MOST_PAYLOAD} characters.")
    if key == "cues":
        value = _check_cues(value)
    elif not key or (
        key not in (known := site.campaign.settings(access.assessor, access.topic))
        and len(known) >= 50
    ):
        raise Refusal(422, "message", "There are too many settings.")
    site.campaign.set_setting(access.assessor, access.topic, key, value)
    return answer({"key": key, "value": value})


def _check_cues(value: Any) -> list[dict[str, Any]]:
    """Check cue words and fill in their defaults."""
    if not isinstance(value, list) or len(value) > _MOST_CUES:
        raise Refusal(422, "message", f"Expected at most {_MOST_CUES} cue words.")
    made = []
    for one in value:
        cue = fields(one, needed={"pattern"}, optional={"colour", "style", "on"})
        colour, style = cue.get("colour", COLOURS[0]), cue.get("style", STYLES[1])
        if colour not in COLOURS or style not in STYLES:
            raise Refusal(
                422,
                "message",
                f"A cue word is {', '.join(COLOURS[:-1])} or {COLOURS[-1]}, as {STYLES[0]}, "
                f"{STYLES[1]} or {STYLES[2]}.",
            )
        made.append(
            {
                "pattern": text("pattern", cue["pattern"], 500),
                "colour": colour,
                "style": style,
                "on": flag("on", cue.get("on", True)),
            }
        )
    return made


# -- the collection -------------------------------------------------------------------------------


def _search(site: Site, visit: Visit, request: Request, _: dict[str, Any]) -> Response:
    query = text("q", request.query_params.get("q", ""), 400)
    offset = request.query_params.get("offset", "0")
    if not (offset.isascii() and offset.isdigit() and len(offset) < 7):
        raise Refusal(422, "message", "The offset is not a number.")
    found = site.campaign.search(query, MOST_FOUND, int(offset))
    return answer({"query": query, "documents": _list_documents(site, visit, request, found)})


def _browse(site: Site, visit: Visit, request: Request, _: dict[str, Any]) -> Response:
    prefix = text("prefix", request.query_params.get("prefix", ""), 400)
    after = text("after", request.query_params.get("after", ""), 2000)
    found = site.campaign.browse(prefix, after, _MOST_BROWSED)
    return answer(
        {
            "documents": _list_documents(site, visit, request, found),
            "after": found[-1].doc if len(found) == _MOST_BROWSED else None,
        }
    )


def _list_documents(
    site: Site, visit: Visit, request: Request, found: list[CollectionDocument]
) -> list[dict[str, Any]]:
    """Return documents as JSON; if the request names a topic, add whether its pool has them."""
    topic = request.query_params.get("topic")
    if topic is None:
        return [one._asdict() for one in found]
    request.path_params["topic"] = topic
    access = site.access(visit, request)
    return [
        {**one._asdict(), "in_pool": site.campaign.in_pool(access.topic, one.doc)} for one in found
    ]


# -- organisers -----------------------------------------------------------------------------------


def _assign(site: Site, visit: Visit, _: Request, body: dict[str, Any]) -> Response:
    site.organiser(visit)
    found = fields(body, needed={"topic", "assessor", "assigned"})
    topic, assessor = name("topic", found["topic"]), name("assessor", found["assessor"])
    assigned = flag("assigned", found["assigned"])
    (site.campaign.assign if assigned else site.campaign.unassign)(topic, assessor)
    note = {"assessor": assessor, "assigned": assigned}
    site.campaign.log(visit.user.name, topic, None, "assignment", note)
    return answer({"topic": topic, "assessor": assessor, "assigned": assigned})


def _user(site: Site, visit: Visit, _: Request, body: dict[str, Any]) -> Response:
    """Add or change an account; a new password ends its sessions."""
    site.organiser(visit)
    found = fields(body, needed={"name"}, optional={"role", "password"})
    who, role = name("name", found["name"]), found.get("role")
    if role is not None and role not in ROLES:
        raise Refusal(422, "message", f"The role is {role!r:.40}; expected {' or '.join(ROLES)}.")
    password = found.get("password")
    encoded = encode_password(text("password", password, 1024)) if password else None
    known = site.campaign.user(who)
    if known is None:
        site.campaign.add_user(who, role or ROLES[0], encoded)
    else:
        if role is not None and role != known.role:
            if who == visit.user.name:
                raise Refusal(422, "role", "You cannot change your own role.")
            site.campaign.set_role(who, role)
        if encoded is not None:
            site.campaign.set_password(who, encoded)
    change = {"name": who, "added": known is None, "password": encoded is not None}
    site.campaign.log(visit.user.name, None, None, "account", change)
    return answer(
        {**change, "signed_out": known is not None and who == visit.user.name and bool(encoded)}
    )


def _progress(site: Site, visit: Visit, _: Request, __: dict[str, Any]) -> Response:
    site.organiser(visit)
    return answer({"progress": [row._asdict() for row in site.campaign.progress()]})


def _agreement(site: Site, visit: Visit, _: Request, __: dict[str, Any]) -> Response:
    from foveal.analysis.agreement import agreement
    from foveal.assess.exporting import judgements

    site.organiser(visit)
    return answer(agreement(judgements(site.campaign)).to_dict())


def _adopt(site: Site, visit: Visit, _: Request, __: dict[str, Any]) -> Response:
    site.organiser(visit)
    count = adopt_agreed(site.campaign, visit.user.name)
    site.campaign.log(visit.user.name, None, None, "adopt", {"documents": count})
    return answer({"adopted": count})


_TOPIC = "/api/topics/{topic}"
ENDPOINTS = (
    # Actions come before documents, since the name of a document may hold slashes.
    Endpoint(f"{_TOPIC}/documents/{{doc:path}}/actions", "POST", _act),
    Endpoint(f"{_TOPIC}/documents/{{doc:path}}", "GET", _document),
    Endpoint(f"{_TOPIC}/documents", "POST", _add),
    Endpoint(f"{_TOPIC}/images/{{element:int}}/{{doc:path}}", "GET", _image),
    Endpoint(f"{_TOPIC}/pool", "GET", _pool),
    Endpoint(f"{_TOPIC}/history", "GET", _history),
    Endpoint(f"{_TOPIC}/events", "POST", _event),
    Endpoint(f"{_TOPIC}/settings", "PUT", _settings),
    Endpoint("/api/search", "GET", _search),
    Endpoint("/api/browse", "GET", _browse),
    Endpoint("/api/assignments", "POST", _assign),
    Endpoint("/api/users", "POST", _user),
    Endpoint("/api/progress", "GET", _progress),
    Endpoint("/api/agreement", "GET", _agreement),
    Endpoint("/api/adjudication/agreed", "POST", _adopt),
)
