"""What all handlers of the server share: who asks, for which topic, and what is left to judge."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple, TypeVar
from urllib.parse import quote

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.requests import Request
from starlette.responses import Response

from foveal.assess.accounts import Limit, LocalAccess, Session, Sessions
from foveal.assess.security import Refusal
from foveal.assess.store import FINAL, AssessmentSummary, Campaign

__all__ = [
    "CONDITIONS",
    "COOKIE",
    "STATIC",
    "Access",
    "Condition",
    "Person",
    "Site",
    "Visit",
    "Work",
    "answer",
    "condition",
    "document_path",
    "quoted",
]

COOKIE = "foveal_session"
_HERE = Path(__file__).parent
STATIC = _HERE / "static"
_WORKERS, _AT_THE_DOOR = 8, 2
_T = TypeVar("_T")


class Person(NamedTuple):
    """Who asks."""

    name: str
    organiser: bool


class Visit(NamedTuple):
    """A request of somebody who has signed in."""

    user: Person
    session: Session
    token: str


class Access(NamedTuple):
    """What a visit may do with a topic."""

    topic: str
    assessor: str
    """In whose name: the visitor's, or that of the final set."""
    may_act: bool
    """Whether it may change anything; organisers may look at every topic."""
    adjudicates: bool = False


class Condition(NamedTuple):
    """How far an assessor is with a document, for programs and for people."""

    kind: str
    words: str


_NEW = Condition("new", "not seen")
_SEEN = Condition("seen", "seen")
_MARKED = Condition("marked", "marked, not validated")
_RELEVANT = Condition("relevant", "relevant")
_IRRELEVANT = Condition("irrelevant", "not relevant")
CONDITIONS = (_NEW, _SEEN, _MARKED, _RELEVANT, _IRRELEVANT)
"""All there are, from nothing done to all done."""

Work = Callable[["Site", Visit, Request, dict[str, Any]], Response]
"""What answers a request; the last argument is its body, empty if there is none."""


def condition(summary: AssessmentSummary | None, *, viewed: bool) -> Condition:
    """How far an assessor is with a document.

    >>> condition(AssessmentSummary(3, relevant=True, validated=False, spans=2), viewed=True).words
    'marked, not validated'
    """
    if summary is not None and summary.validated:
        return _RELEVANT if summary.relevant else _IRRELEVANT
    if summary is not None and summary.relevant:
        return _MARKED
    return _SEEN if viewed or summary is not None else _NEW


def quoted(name: str) -> str:
    """A name as a part of an address.

    >>> quoted("a b/ü?")
    'a%20b/%C3%BC%3F'
    """
    return quote(name, safe="/", errors="replace")


def document_path(topic: str, doc: str, *, final: bool = False) -> str:
    """The address of an article page."""
    return f"/topics/{quoted(topic)}/documents/{quoted(doc)}" + (f"?as={FINAL}" if final else "")


def answer(content: Mapping[str, Any], status: int = 200) -> Response:
    """JSON; half a surrogate pair in a document is escaped, for UTF-8 has no bytes for it."""
    text = json.dumps(content, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    try:
        body = text.encode()
    except UnicodeEncodeError:
        body = json.dumps(content, separators=(",", ":"), allow_nan=False).encode()
    return Response(body, status, media_type="application/json")


def _moment(at: str) -> str:
    """A time of the log; scripts show it in the time zone of the reader.

    >>> _moment("2009-12-07T09:30:12.345+00:00")
    '2009-12-07 09:30 UTC'
    """
    return datetime.fromisoformat(at).strftime("%Y-%m-%d %H:%M UTC")


def _environment() -> Environment:
    made = Environment(
        loader=FileSystemLoader(_HERE / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters["path"] = quoted
    made.filters["moment"] = _moment
    return made


@dataclass(frozen=True)
class Site:
    """A campaign that is served.

    Parameters
    ----------
    campaign : Campaign
    sessions : Sessions
    local : LocalAccess, optional
        The one-time link of a local server.
    https : bool
        Whether cookies are for HTTPS only.
    cookie : str
        The name of the session's cookie; ports share cookies, so servers on one machine differ.
    workers, door : ThreadPoolExecutor
        Threads that stay, for each keeps a connection to the database. Those at the door hash
        passwords, 32 MB each; a crowd there keeps nobody from saving.
    addresses, tries, names : Limit
        Of failed log-ins: from an address, at a name from an address, and at a name from anywhere.
        The last is more than one address has, or anybody could keep anybody else out.
    """

    campaign: Campaign
    sessions: Sessions
    local: LocalAccess | None = None
    https: bool = False
    cookie: str = COOKIE
    workers: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(_WORKERS))
    door: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(_AT_THE_DOOR))
    addresses: Limit = field(default_factory=lambda: Limit(30, 300))
    tries: Limit = field(default_factory=lambda: Limit(10, 300))
    names: Limit = field(default_factory=lambda: Limit(60, 300))
    templates: Environment = field(default_factory=_environment)

    async def run(self, work: Callable[..., _T], *given: Any) -> _T:
        """Do something with the database, away from the event loop."""
        return await asyncio.get_running_loop().run_in_executor(self.workers, work, *given)

    async def run_at_door(self, work: Callable[..., _T], *given: Any) -> _T:
        """Do something that takes its time on purpose."""
        return await asyncio.get_running_loop().run_in_executor(self.door, work, *given)

    def close(self) -> None:
        """Finish what is under way."""
        for pool in (self.door, self.workers):
            pool.shutdown()
        self.sessions.close()

    # -- who ------------------------------------------------------------------------------------

    def visit(self, request: Request) -> Visit | None:
        """Who asks, if they have signed in and their account still exists."""
        token = request.cookies.get(self.cookie, "")
        session = self.sessions.find(token)
        if session is None:
            return None
        user = self.campaign.user(session.user)
        if user is None:
            return None
        local = self.local
        owner = local is not None and local.organiser and local.user == user.name
        return Visit(Person(user.name, owner or user.role == "organiser"), session, token)

    def needed(self, request: Request) -> Visit:
        """Who asks; refuses those who have not signed in."""
        visit = self.visit(request)
        if visit is None:
            raise Refusal(401, "login", "You are not signed in.")
        return visit

    def sign_in(self, request: Request, response: Response, user: str, how: str) -> None:
        """Begin a session with a token that nobody can have known before."""
        old = request.cookies.get(self.cookie)
        token, _ = self.sessions.begin(user, instead_of=old)
        self.set_cookie(response, self.cookie, token)
        self.campaign.log(user, None, None, "login", {"how": how})

    def set_cookie(self, response: Response, name: str, value: str) -> None:
        """A cookie that scripts cannot read and other sites cannot send."""
        response.set_cookie(
            name, value, httponly=True, samesite="strict", secure=self.https, path="/"
        )

    # -- what -----------------------------------------------------------------------------------

    def access(self, visit: Visit, request: Request) -> Access:
        """What the visitor may do with the topic of the address; refuses who may nothing."""
        topic = request.path_params["topic"]
        if topic not in self.campaign.topics:
            raise Refusal(404, "topic", "There is no such topic.")
        other = request.query_params.get("as")
        if other is not None:
            if other != FINAL or not visit.user.organiser:
                raise Refusal(403, "role", "Only organisers adjudicate, and only as final.")
            return Access(topic, FINAL, may_act=True, adjudicates=True)
        assigned = topic in self.campaign.assigned(visit.user.name)
        if not assigned and not visit.user.organiser:
            raise Refusal(403, "assignment", "This topic is not assigned to you.")
        return Access(topic, visit.user.name, may_act=assigned)

    def acting(self, visit: Visit, request: Request) -> Access:
        """As `access`, for what changes something."""
        access = self.access(visit, request)
        if not access.may_act:
            raise Refusal(403, "assignment", "This topic is not assigned to you.")
        return access

    def organiser(self, visit: Visit) -> None:
        """Refuse who does not organise the campaign."""
        if not visit.user.organiser:
            raise Refusal(403, "role", "Only organisers may do that.")

    def documents(self, access: Access) -> dict[str, bool]:
        """What there is to judge, in its order, and whether it is validated.

        That is the pool; who adjudicates has what somebody has validated of it.
        """
        rows = self.campaign.reading().execute(
            "SELECT pool.doc, coalesce(own.validated, 0) AS validated FROM pool "
            "LEFT JOIN assessments AS own ON own.topic = pool.topic AND own.doc = pool.doc "
            "AND own.assessor = :assessor WHERE pool.topic = :topic "
            "AND (NOT :final OR EXISTS (SELECT 1 FROM assessments AS given "
            "WHERE given.topic = pool.topic AND given.doc = pool.doc AND given.validated "
            "AND given.assessor <> :assessor)) ORDER BY priority",
            {"topic": access.topic, "assessor": access.assessor, "final": access.adjudicates},
        )
        return {row["doc"]: bool(row["validated"]) for row in rows.fetchall()}

    def left(self, access: Access) -> tuple[int, int]:
        """How many documents are not validated yet, and how many there are."""
        validated = self.documents(access).values()
        return len(validated) - sum(validated), len(validated)

    # -- pages ----------------------------------------------------------------------------------

    def render(
        self,
        template: str,
        visit: Visit | None,
        *,
        status: int = 200,
        here: str = "",
        csrf: str | None = None,
        **given: Any,
    ) -> Response:
        """A page."""
        text = self.templates.get_template(template).render(
            user=None if visit is None else visit.user,
            csrf=csrf if csrf is not None else "" if visit is None else visit.session.csrf,
            here=here,
            **given,
        )
        content = text.encode("utf-8", "replace")
        return Response(content, status, media_type="text/html; charset=utf-8")
