"""The JSON API of assessors; the assessor is taken from the session, never from the request."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from starlette.requests import Request
from starlette.responses import FileResponse, Response

from foveal.assess.actions import Action
from foveal.assess.images import IMAGE_TYPES, find_image
from foveal.assess.messages import (
    ActionMessage,
    Cue,
    Event,
    NewDocument,
    Setting,
    convert,
    read_json,
)
from foveal.assess.security import Refusal
from foveal.assess.site import CONDITIONS, Endpoint, Permission, Site, Visit, answer, quoted
from foveal.assess.store import FINAL, CollectionDocument, ConflictError

__all__ = ["ENDPOINTS", "MOST_FOUND", "query_text"]

MOST_FOUND = 20
"""Largest number of documents in one answer to a search."""

_MOST_BROWSED = 50
_MOST_PAYLOAD = 20_000
"""Largest number of characters of an event or a setting."""
_MOST_CUES, _MOST_SETTINGS = 100, 50
_LONGEST_STAY = 3600.0
"""Largest number of seconds in one report of time; pages report far more often."""


# -- documents ------------------------------------------------------------------------------------


def _document(site: Site, visit: Visit, request: Request) -> Response:
    """Answer with the content of the article page."""
    from foveal.assess.rendering import structure

    if "campaign" in request.query_params:  # from a page that is already open
        _check_campaign(site, request.query_params["campaign"])
    access, doc = site.view(visit, request), request.path_params["doc"]
    campaign = site.campaign
    document = site.document(doc)
    # A page that has the text already asks only for changes.
    text = request.query_params.get("text") != "0"
    history = campaign.history(access.assessor, access.topic, doc)
    documents = site.documents(access)
    names = list(documents)
    place = names.index(doc) if doc in names else None
    in_pool = campaign.in_pool(access.topic, doc)
    settings = campaign.settings(access.assessor, access.topic)
    topic = campaign.topics[access.topic]
    images = _image_address(site, access.topic, doc)
    asked: tuple[str, ...] = ()
    if campaign.procedure == "2003":
        # Pooled elements, and those enclosing pooled passages. A document that somebody added
        # has no pooled elements; it can be graded as a whole.
        pooled = campaign.pooled(access.topic, doc) if in_pool else ()
        asked = tuple(pooled or campaign.elements(doc).path[:1])
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
            "others": _list_other_assessments(site, access, doc),
            "topic": {
                field: getattr(topic, field)
                for field in ("id", "title", "description", "narrative", "castitle", "keywords")
            },
            "campaign": campaign.identity,
            "assessor": access.assessor,
            "csrf": visit.csrf,
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
        return site.url(f"/api/topics/{quoted(topic)}/images/{element}/{quoted(doc)}")

    return address


def _image(site: Site, visit: Visit, request: Request) -> Response:
    """Answer with the image that an element of a document names."""
    from foveal.assess.documents import add_markup
    from foveal.assess.rendering import name_image

    site.view(visit, request)
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


def _describe(site: Site, access: Permission, doc: str, found: Any) -> dict[str, Any]:
    """Return the state of an assessment, what it lacks, and its inferred grades.

    Parameters
    ----------
    found : History, Saved or ConflictError
    """
    content = {
        "state": found.state.to_json(),
        "version": found.version,
        "can_undo": found.can_undo,
        "can_redo": found.can_redo,
        "missing": [],
        "grades": {},
    }
    if site.campaign.in_pool(access.topic, doc):
        lacking = site.campaign.missing(access.topic, doc, found.state)
        content["missing"] = [one.reason for one in lacking]
        content["grades"] = site.campaign.grades(doc, found.state)
    return content


def _list_other_assessments(site: Site, access: Permission, doc: str) -> list[dict[str, Any]]:
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


def _act(site: Site, visit: Visit, request: Request) -> Response:
    """Save an action; it is on the disk before the answer is sent."""
    # First: topics of other campaigns are unknown.
    body = read_json(request, dict[str, Any])
    _check_campaign(site, body.get("campaign", ""))
    access, doc = site.change(visit, request), request.path_params["doc"]
    message = convert(body, ActionMessage)
    if isinstance(state := message.action.get("state"), dict):
        state["validated"] = False  # only the server decides whether a document is complete
    action = Action.from_json(message.action)
    if not site.campaign.in_pool(access.topic, doc):
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
            actor=None if visit.name == access.assessor else visit.name,
        )
    except ConflictError as conflict:
        found = _describe(site, access, doc, conflict)
        return answer({"error": "conflict", "reason": str(conflict), **found}, 409)
    found = _describe(site, access, doc, saved)
    return answer({**found, "repeated": saved.repeated, "left": site.left(access)[0]})


def _add(site: Site, visit: Visit, request: Request) -> Response:
    """Add a document that no run returned to the pool."""
    access = site.change(visit, request)
    doc = read_json(request, NewDocument).doc
    site.document(doc)
    added = site.campaign.add_document(access.topic, doc, visit.name)
    return answer({"doc": doc, "added": added, "left": site.left(access)[0]})


# -- topics ---------------------------------------------------------------------------------------


def _pool(site: Site, visit: Visit, request: Request) -> Response:
    access = site.view(visit, request)
    known = site.conditions(access)
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


def _history(site: Site, visit: Visit, request: Request) -> Response:
    access = site.view(visit, request)
    known = site.conditions(access)
    documents = [
        {**one._asdict(), "state": known[one.doc].kind}
        for one in site.campaign.viewed(access.assessor, access.topic)
    ]
    return answer({"topic": access.topic, "documents": documents})


def _event(site: Site, visit: Visit, request: Request) -> Response:
    """Log an event that a page reports: it was opened, time spent, settings."""
    access = site.view(visit, request)
    event = read_json(request, Event)
    payload = event.payload or {}
    if event.doc is not None and not site.campaign.in_pool(access.topic, event.doc):
        site.document(event.doc)
    _check_size(payload)
    if event.kind == "time":
        seconds: Any = payload.get("seconds")
        if type(seconds) not in (int, float) or not 0 <= seconds <= _LONGEST_STAY:
            raise Refusal(422, "message", f"Expected seconds from 0 to {_LONGEST_STAY:.0f}.")
    if access.adjudicates:
        payload = {**payload, "by": visit.name}
    if access.may_act:  # an organiser who only looks does no work
        site.campaign.log(access.assessor, access.topic, event.doc, event.kind, payload)
    return answer({"noted": access.may_act})


def _settings(site: Site, visit: Visit, request: Request) -> Response:
    access = site.change(visit, request)
    setting = read_json(request, Setting)
    key, value = setting.key, setting.value
    _check_size(value)
    if key == "cues":
        cues = convert(value, list[Cue])
        if len(cues) > _MOST_CUES:
            raise Refusal(422, "message", f"Expected at most {_MOST_CUES} cue words.")
        value = [
            {"pattern": cue.pattern, "colour": cue.colour, "style": cue.style, "on": cue.on}
            for cue in cues
        ]
    known = site.campaign.settings(access.assessor, access.topic)
    if key != "cues" and key not in known and len(known) >= _MOST_SETTINGS:
        raise Refusal(422, "message", "There are too many settings.")
    site.campaign.set_setting(access.assessor, access.topic, key, value)
    return answer({"key": key, "value": value})


def _check_size(value: Any) -> None:
    if len(json.dumps(value)) > _MOST_PAYLOAD:
        raise Refusal(422, "message", f"Expected at most {_MOST_PAYLOAD} characters.")


# -- the collection -------------------------------------------------------------------------------


def query_text(request: Request, name: str, most: int = 400) -> str:
    """Return a parameter of the address, or "" without it; refuse a long one."""
    value = request.query_params.get(name, "")
    if len(value) > most:
        raise Refusal(422, "message", f"{name} may have at most {most} characters.")
    return value


def _search(site: Site, visit: Visit, request: Request) -> Response:
    query = query_text(request, "q")
    offset = request.query_params.get("offset", "0")
    if not (offset.isascii() and offset.isdigit() and len(offset) < 7):
        raise Refusal(422, "message", "The offset is not a number.")
    found = site.campaign.search(query, MOST_FOUND, int(offset))
    return answer({"query": query, "documents": _list_documents(site, visit, request, found)})


def _browse(site: Site, visit: Visit, request: Request) -> Response:
    after = query_text(request, "after", 2000)
    found = site.campaign.browse(query_text(request, "prefix"), after, _MOST_BROWSED)
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
    site.view(visit, request, topic)
    return [{**one._asdict(), "in_pool": site.campaign.in_pool(topic, one.doc)} for one in found]


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
    Endpoint("GET", "/api/search", _search),
    Endpoint("GET", "/api/browse", _browse),
)
