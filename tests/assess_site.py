"""A small campaign that is really served, and clients who really ask it."""

from __future__ import annotations

import atexit
import re
import shutil
import tempfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import httpx

from foveal.assess.accounts import LocalAccess, encode_password
from foveal.assess.server import create_app, listen, web_server
from foveal.assess.store import Campaign
from foveal.collection import Collection, build_index
from foveal.files.source import Source
from foveal.formats.pool_files import read_pool
from foveal.model import Topic, Topics

PASSWORD = "seven ferries"
ENCODED = encode_password(PASSWORD, cost=4)
"""Cheap to check: tests sign in often."""

DOCUMENTS = {
    "ferries": "<article><title>Ferries</title><sec><p>A ferry crosses the river.</p>"
    "<p>The current moves it.</p></sec></article>",
    "fords": "<article><title>Fords</title>"
    "<p>One wades \U0001f600 through &lt;b&gt;water.</p></article>",
    "bridges": "<article><title>Bridges</title><p>A bridge stands.</p></article>",
    "tunnels": "<article><title>Tunnels</title><p>Nobody pooled this ferry tunnel.</p></article>",
}
TOPICS = (
    Topic("1", title="ferries and currents", description="How does a ferry move?"),
    Topic("2", title="fords", narrative="Wading is relevant."),
)
POOL = """\
{"type":"header","format":"foveal-pool","version":1,"pooled":"document"}
{"topic":"1","doc":"ferries","priority":1,"rank":1,"runs":[{"run":"a","rank":1}],\
"support":[{"run":"a","rank":1,"start":7,"end":33},{"run":"b","rank":4,"start":7,"end":33}]}
{"topic":"1","doc":"bridges","priority":2,"rank":2,"runs":[{"run":"a","rank":2}]}
{"topic":"2","doc":"fords","priority":1,"rank":1,"runs":[{"run":"b","rank":1}]}
"""


@cache
def _template() -> Path:
    """The campaign of most tests, made once for all that this process runs."""
    folder = Path(tempfile.mkdtemp(prefix="foveal-campaign-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    _create(folder / "made")
    return folder / "made"


def make_campaign(folder: Path, **given: Any) -> Path:
    """A campaign of a few documents, with an organiser and assessors who have a password.

    Without options it is a copy, which has the identity of all other copies.
    """
    if given:
        return _create(folder, **given)
    shutil.copytree(_template(), folder, dirs_exist_ok=True)
    return folder / "campaign.fva"


def _create(
    folder: Path,
    *,
    documents: Mapping[str, str] = DOCUMENTS,
    topics: tuple[Topic, ...] = TOPICS,
    pool: str = POOL,
    assessors: tuple[str, ...] = ("ann", "bob"),
    **options: Any,
) -> Path:
    source = folder / "documents"
    source.mkdir(parents=True)
    for name, text in documents.items():
        (source / f"{name}.xml").write_text(text, encoding="utf-8")
    build_index(source, folder / "collection.fvx")
    path = folder / "campaign.fva"
    with Campaign.create(
        path,
        collection=Collection.open(folder / "collection.fvx"),
        source=source,
        topics=Topics.of(topics),
        pool=read_pool(Source.of_text(pool)),
        assessors=assessors,
        **options,
    ) as campaign:
        campaign.add_user("olga", "organiser")
        for user in campaign.users():
            campaign.set_password(user.name, ENCODED)
    return path


class Client:
    """Somebody with a browser of their own: cookies are kept, redirections shown."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.http = httpx.Client(base_url=url, timeout=30)
        self.token = ""

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.http.close()

    @property
    def session(self) -> str:
        """The name of the session's cookie."""
        names = (name for name in self.http.cookies if name.startswith("foveal_"))
        return next(names).removesuffix("_login")

    def form_token(self) -> str:
        """What the form to sign in has hidden."""
        found = re.search(r'name="csrf" value="([^"]+)"', self.http.get("/login").text)
        assert found is not None
        return found[1]

    def login(self, name: str, password: str = PASSWORD) -> httpx.Response:
        fields = {"name": name, "password": password, "csrf": self.form_token()}
        answer = self.http.post("/login", data=fields)
        if answer.status_code == 303:
            self.learn_token()
        return answer

    def learn_token(self) -> None:
        """What the pages of a session carry."""
        found = re.search(r'<meta name="csrf" content="([^"]+)"', self.http.get("/").text)
        assert found is not None
        self.token = found[1]

    def get(self, path: str, **options: Any) -> httpx.Response:
        return self.http.get(path, **options)

    def send(self, path: str, body: Any, method: str = "POST", **options: Any) -> httpx.Response:
        headers = {"X-CSRF-Token": self.token, **options.pop("headers", {})}
        return self.http.request(method, path, json=body, headers=headers, **options)

    def document(self, topic: str, doc: str, query: str = "") -> dict[str, Any]:
        found: dict[str, Any] = self.get(f"/api/topics/{topic}/documents/{doc}{query}").json()
        return found

    def body_of(
        self, topic: str, doc: str, uuid: str, base: int, query: str = "", **action: Any
    ) -> dict[str, Any]:
        """An action as the page sends it, with the length and hash of its text."""
        found = self.document(topic, doc, query)
        text = found["structure"]
        return {
            "campaign": found["campaign"],
            "uuid": uuid,
            "base": base,
            "length": text["length"],
            "digest": text["digest"],
            "at": "2009-12-07T09:30:00Z",
            "action": action,
        }

    def act(
        self, topic: str, doc: str, uuid: str, base: int, query: str = "", **action: Any
    ) -> httpx.Response:
        body = self.body_of(topic, doc, uuid, base, query, **action)
        return self.send(f"/api/topics/{topic}/documents/{doc}/actions{query}", body)


@contextmanager
def answering(app: Any, **options: Any) -> Iterator[str]:
    """The address of a server of an application, as the command runs one, in a thread."""
    with listen("127.0.0.1", 0) as listening:
        server = web_server(app, **options)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join(30)


@contextmanager
def served(
    path: Path,
    *,
    local: LocalAccess | None = None,
    hosts: tuple[str, ...] = ("127.0.0.1",),
    **options: Any,
) -> Iterator[str]:
    """The address of a server of the campaign; it is stopped in the end."""
    with (
        Campaign.open(path) as campaign,
        answering(create_app(campaign, local=local, hosts=hosts, **options)) as address,
    ):
        yield address


@contextmanager
def clients(url: str, *names: str) -> Iterator[list[Client]]:
    """Several people who have signed in, each in a browser of their own."""
    made = [Client(url) for _ in names]
    try:
        for client, name in zip(made, names, strict=True):
            assert client.login(name).status_code == 303
        yield made
    finally:
        for client in made:
            client.http.close()
