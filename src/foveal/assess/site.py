"""State and helpers that all handlers of the server share: users, permissions, pages."""

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
    """A signed-in user."""

    name: str
    organiser: bool


class Visit(NamedTuple):
    """The user and session of a request."""

    user: Person
    session: Session
    token: str


class Access(NamedTuple):
    """The permissions of a request on a topic."""

    topic: str
    assessor: str
    """The assessor whose work it concerns: the user, or `FINAL` in adjudication."""
    may_act: bool
    """True if changes are allowed; organisers may view every topic."""
    adjudicates: bool = False


class Condition(NamedTuple):
    """The progress of an assessor on a document: a code, and words for people."""

    kind: str
    words: str


_NEW = Condition("new", "not seen")
_SEEN = Condition("seen", "seen")
_MARKED = Condition("marked", "marked, not validated")
_RELEVANT = Condition("relevant", "relevant")
_IRRELEVANT = Condition("irrelevant", "not relevant")
CONDITIONS = (_NEW, _SEEN, _MARKED, _RELEVANT, _IRRELEVANT)
"""All conditions, from not seen to judged."""

Work = Callable[["Site", Visit, Request, dict[str, Any]], Response]
"""A function that answers a request; the last argument is its body, which may be empty."""


def condition(summary: AssessmentSummary | None, *, viewed: bool) -> Condition:
    """Return the progress of an assessor on a document.

    >>> condition(AssessmentSummary(3, relevant=True, validated=False, spans=2), viewed=True).words
    'marked, not validated'
    """
    if summary is not None and summary.validated:
        return _RELEVANT if summary.relevant else _IRRELEVANT
    if summary is not None and summary.relevant:
        return _MARKED
    return _SEEN if viewed or summary is not None else _NEW


def quoted(name: str) -> str:
    """Quote a name for use in a URL.

    >>> quoted("a b/ü?")
    'a%20b/%C3%BC%3F'
    """
    return quote(name, safe="/", errors="replace")


def document_path(topic: str, doc: str, *, final: bool = False) -> str:
    """Return the URL path of an article page."""
    return f"/topics/{quoted(topic)}/documents/{quoted(doc)}" + (f"?as={FINAL}" if final else "")


def answer(content: Mapping[str, Any], status: int = 200) -> Response:
    """Return a JSON response; escape lone surrogates, which UTF-8 cannot encode."""
    text = json.dumps(content, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    try:
        body = text.encode()
    except UnicodeEncodeError:
        body = json.dumps(content, separators=(",", ":"), allow_nan=False).encode()
    return Response(body, status, media_type="application/json")


def _format_time(at: str) -> str:
    """Format a time of the log; scripts convert it to the reader's time zone.

    >>> _format_time("2009-12-07T09:30:12.345+00:00")
    '2009-12-07 09:30 UTC'
    """
    return datetime.fromisoformat(at).strftime("%Y-%m-%d %H:%M UTC")


def _make_environment() -> Environment:
    made = Environment(
        loader=FileSystemLoader(_HERE / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters["path"] = quoted
    made.filters["moment"] = _format_time
    return made


@dataclass(frozen=True)
class Site:
    """A served campaign.

    Parameters
    ----------
    campaign : Campaign
    sessions : Sessions
    local : LocalAccess, optional
        The one-time link of a local server.
    https : bool
        Cookies are for HTTPS only.
    cookie : str
        The name of the session's cookie. Servers on one machine need different names, since all
        ports share cookies.
    images : Path, optional
        The directory of the images that documents name.
    workers, door : ThreadPoolExecutor
        Long-lived threads, each with a connection to the database. Those of `door` hash passwords,
        32 MB each, so that many log-ins do not delay saving.
    addresses, tries, names : Limit
        Limits on failed log-ins: from an address, for a name from an address, and for a name from
        anywhere. The last is higher, or one address could lock a user out.
    """

    campaign: Campaign
    sessions: Sessions
    local: LocalAccess | None = None
    https: bool = False
    cookie: str = COOKIE
    images: Path | None = None
    workers: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(_WORKERS))
    door: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(_AT_THE_DOOR))
    addresses: Limit = field(default_factory=lambda: Limit(30, 300))
    tries: Limit = field(default_factory=lambda: Limit(10, 300))
    names: Limit = field(default_factory=lambda: Limit(60, 300))
    templates: Environment = field(default_factory=_make_environment)

    async def run(self, work: Callable[..., _T], *given: Any) -> _T:
        """Run a function that uses the database in a worker thread."""
        return await asyncio.get_running_loop().run_in_executor(self.workers, work, *given)

    async def run_at_door(self, work: Callable[..., _T], *given: Any) -> _T:
        """Run a function that hashes passwords in a thread of its own pool."""
        return await asyncio.get_running_loop().run_in_executor(self.door, work, *given)

    def close(self) -> None:
        """Finish pending work and close the sessions."""
        for pool in (self.door, self.workers):
            pool.shutdown()
        self.sessions.close()

    # -- users ----------------------------------------------------------------------------------

    def visit(self, request: Request) -> Visit | None:
        """Return user and session of a request; None without a session or an account."""
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
        """Return user and session of a request; refuse it if nobody is signed in."""
        visit = self.visit(request)
        if visit is None:
            raise Refusal(401, "login", "You are not signed in.")
        return visit

    def sign_in(self, request: Request, response: Response, user: str, how: str) -> None:
        """Begin a session with a new token."""
        old = request.cookies.get(self.cookie)
        token, _ = self.sessions.begin(user, instead_of=old)
        self.set_cookie(response, self.cookie, token)
        self.campaign.log(user, None, None, "login", {"how": how})

    def set_cookie(self, response: Response, name: str, value: str) -> None:
        """Set a cookie that scripts cannot read and other sites cannot send."""
        response.set_cookie(
            name, value, httponly=True, samesite="strict", secure=self.https, path="/"
        )

    # -- permissions and documents --------------------------------------------------------------

    def access(self, visit: Visit, request: Request) -> Access:
        """Return the user's permissions on the topic of a request; refuse it if there are none."""
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
        """Return the permissions as `access` does; refuse the request if changes are forbidden."""
        access = self.access(visit, request)
        if not access.may_act:
            raise Refusal(403, "assignment", "This topic is not assigned to you.")
        return access

    def organiser(self, visit: Visit) -> None:
        """Refuse users who are not organisers."""
        if not visit.user.organiser:
            raise Refusal(403, "role", "Only organisers may do that.")

    def documents(self, access: Access) -> dict[str, bool]:
        """Return the documents to judge in order, with whether each is validated.

        Assessors judge the whole pool; adjudicators the documents that somebody has validated.
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
        """Return the number of documents that are not validated yet, and of all documents."""
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
        """Render a page from a template."""
        text = self.templates.get_template(template).render(
            user=None if visit is None else visit.user,
            csrf=csrf if csrf is not None else "" if visit is None else visit.session.csrf,
            here=here,
            **given,
        )
        content = text.encode("utf-8", "replace")
        return Response(content, status, media_type="text/html; charset=utf-8")
