"""State shared by all handlers of the server: the campaign, users, permissions, pages."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from threading import Lock
from typing import Any, Literal, NamedTuple
from urllib.parse import quote

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.requests import Request
from starlette.responses import Response

from foveal.assess.accounts import LocalAccess, RateLimit
from foveal.assess.people import FINAL
from foveal.assess.security import Refusal
from foveal.assess.store import AssessmentSummary, Campaign
from foveal.errors import plural

_HERE = Path(__file__).parent
STATIC = _HERE / "static"


class Login(NamedTuple):
    """The signed-in user of a request, and the session."""

    name: str
    organiser: bool
    csrf: str
    token: str
    """That of the session; empty for a token of the API."""
    by_token: bool = False


Handler = Callable[["Site", Any, Request], Response]
"""A function that answers a request; its login is None if nobody is signed in."""


class Endpoint(NamedTuple):
    """An address of the server, who may use it, and the function that answers."""

    method: str
    path: str
    handler: Handler
    needs: Literal["nobody", "user", "organiser"] = "user"
    hashes: bool = False
    """True if it checks passwords, which takes time and memory."""
    by_token: bool = False
    """True if tokens of the API may use it."""


class Permission(NamedTuple):
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


def get_condition(summary: AssessmentSummary | None, *, viewed: bool) -> Condition:
    """Return the progress of an assessor on a document.

    >>> get_condition(AssessmentSummary(3, True, False, 2), viewed=True).words
    'marked, not validated'
    """
    if summary is not None and summary.validated:
        return _RELEVANT if summary.relevant else _IRRELEVANT
    if summary is not None and summary.relevant:
        return _MARKED
    return _SEEN if viewed or summary is not None else _NEW


def quote_name(name: str) -> str:
    """Quote a name for use in a URL.

    >>> quote_name("a b/ü?")
    'a%20b/%C3%BC%3F'
    """
    return quote(name, safe="/", errors="replace")


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


def format_duration(seconds: float) -> str:
    """Format seconds of work as minutes and hours.

    >>> format_duration(0), format_duration(59), format_duration(125), format_duration(7260)
    ('', '1 min', '2 min', '2 h 01 min')
    """
    minutes = round(seconds / 60)
    if not seconds:
        return ""
    return f"{minutes // 60} h {minutes % 60:02} min" if minutes >= 60 else f"{max(1, minutes)} min"


def client_address(request: Request) -> str:
    """Return the address of the browser."""
    return request.client.host if request.client else ""


class Site:
    """A served campaign; `foveal.assess.server.create_app` explains the parameters.

    `cookie` is the name of the session's cookie, by which browsers tell servers on one host apart.
    """

    def __init__(
        self,
        campaign: Campaign,
        local: LocalAccess | None,
        *,
        https: bool,
        cookie: str,
        root: str,
        images: Path | None = None,
    ) -> None:
        self.campaign = campaign
        self.local = local
        self.https = https
        self.cookie = cookie
        self.root = root
        self.images = images
        # Long-lived threads, each with a connection to the database. Those of `door` hash
        # passwords, 32 MB each, so that many log-ins do not delay saving.
        self.workers = ThreadPoolExecutor(8)
        self.door = ThreadPoolExecutor(2)
        # Failed log-ins: from an address, for a name from an address, and for a name from
        # anywhere. The last is higher, or one address could lock a user out.
        self.addresses = RateLimit(30, 300)
        self.tries = RateLimit(10, 300)
        self.names = RateLimit(60, 300)
        self.backing_up = Lock()
        self.templates = Environment(
            loader=FileSystemLoader(_HERE / "templates"),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        self.templates.filters.update(path=quote_name, moment=_format_time, clock=format_duration)
        self.templates.globals.update(url=self.url, root=root)

    def close(self) -> None:
        """Finish pending work."""
        for pool in (self.door, self.workers):
            pool.shutdown()

    # -- addresses --------------------------------------------------------------------------------

    def url(self, path: str) -> str:
        """Return the path of a page as browsers use it."""
        return self.root + path

    def topic_url(self, topic: str) -> str:
        """Return the path of the pool of a topic."""
        return self.url(f"/topics/{quote_name(topic)}")

    def document_url(self, topic: str, doc: str, *, final: bool = False) -> str:
        """Return the path of an article page."""
        return f"{self.topic_url(topic)}/documents/{quote_name(doc)}" + (f"?as={FINAL}" * final)

    # -- users ------------------------------------------------------------------------------------

    def find_login(self, request: Request) -> Login | None:
        """Return the user of a request; None without a session or an account."""
        token = request.cookies.get(self.cookie, "")
        session = self.campaign.find_session(token)
        user = None if session is None else self.campaign.user(session.user)
        if session is None or user is None:
            return None
        local = self.local
        owner = local is not None and local.organiser and local.user == user.name
        return Login(user.name, owner or user.role == "organiser", session.csrf, token)

    def find_token_login(self, request: Request) -> Login | None:
        """Return the organiser in whose name a token of the API acts; refuse an unknown token."""
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        if scheme.lower() != "bearer":
            return None
        with self.limit_attempts((self.addresses, client_address(request))):
            user = self.campaign.find_token(token.strip()[:200])
            if user is None:
                raise Refusal(401, "token", "This token is unknown or revoked.")
        return Login(user.name, user.role == "organiser", "", "", by_token=True)

    @contextmanager
    def limit_attempts(self, *limits: tuple[RateLimit, str]) -> Iterator[None]:
        """Refuse an attempt past one of the limits; an attempt without an error does not count."""
        for limit, key in limits:
            if wait := limit.try_acquire(key):
                minutes = -(-wait // 60)
                reason = f"Too many attempts. Please wait {plural(minutes, 'minute')}."
                raise Refusal(429, "attempts", reason, {"Retry-After": str(wait)})
        yield
        for limit, key in limits:
            limit.release(key)

    def sign_in(self, request: Request, response: Response, user: str, how: str) -> None:
        """Begin a session with a new token."""
        known = request.cookies.get(self.cookie)
        token, _ = self.campaign.begin_session(user, instead_of=known)
        self.set_cookie(response, self.cookie, token)
        self.campaign.log(user, None, None, "login", {"how": how})

    def set_cookie(self, response: Response, name: str, value: str) -> None:
        """Set a cookie that scripts cannot read and other sites cannot send."""
        path = self.url("/")
        response.set_cookie(
            name, value, httponly=True, samesite="strict", secure=self.https, path=path
        )

    # -- permissions and documents ----------------------------------------------------------------

    def permit_view(self, login: Login, request: Request) -> Permission:
        """Return the user's permissions on a topic; refuse the request if there are none."""
        topic = request.path_params["topic"]
        if topic not in self.campaign.topics:
            raise Refusal(404, "topic", "There is no such topic.")
        other = request.query_params.get("as")
        if other is not None:
            if other != FINAL or not login.organiser:
                raise Refusal(403, "role", "Only organisers adjudicate, and only as final.")
            return Permission(topic, FINAL, may_act=True, adjudicates=True)
        assigned = topic in self.campaign.list_assigned(login.name)
        if not assigned and not login.organiser:
            raise Refusal(403, "assignment", "This topic is not assigned to you.")
        return Permission(topic, login.name, may_act=assigned)

    def permit_change(self, login: Login, request: Request) -> Permission:
        """Return the permissions, as `permit_view`; refuse the request if changes are forbidden."""
        permission = self.permit_view(login, request)
        if not permission.may_act:
            raise Refusal(403, "assignment", "This topic is not assigned to you.")
        return permission

    def count_open(self, permission: Permission) -> int:
        """Return the number of documents that are not validated yet."""
        validated = self.campaign.to_judge(permission.assessor, permission.topic).values()
        return len(validated) - sum(validated)

    def get_conditions(self, permission: Permission) -> dict[str, Condition]:
        """Return the progress of an assessor on the documents of a topic that were seen."""
        states = self.campaign.states(permission.assessor, permission.topic)
        viewed = {
            one.doc for one in self.campaign.list_viewed(permission.assessor, permission.topic)
        }
        return {
            doc: get_condition(states.get(doc), viewed=doc in viewed) for doc in (*states, *viewed)
        }

    def document(self, doc: str) -> Any:
        """Return a document of the collection, or refuse the request."""
        try:
            return self.campaign.document(doc)
        except KeyError:
            raise Refusal(404, "document", "There is no such document.") from None

    # -- pages ------------------------------------------------------------------------------------

    def render(
        self,
        template: str,
        login: Login | None,
        *,
        status: int = 200,
        csrf: str = "",
        **given: Any,
    ) -> Response:
        """Render a page from a template."""
        here = template.removesuffix(".html")
        about = None if login is None else self.campaign.instructions()
        text = self.templates.get_template(template).render(
            user=login, about=about, csrf=csrf if login is None else login.csrf, here=here, **given
        )
        content = text.encode("utf-8", "replace")
        return Response(content, status, media_type="text/html; charset=utf-8")
