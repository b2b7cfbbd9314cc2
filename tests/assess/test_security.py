"""Attacks on a server that really runs: all are refused, and it answers afterwards."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from starlette.responses import PlainTextResponse

from assess.attacks import ACTIONS, CHANGES, path_as_is
from assess_site import Client, served
from foveal.assess.security import POLICY, Guard
from foveal.assess.server import ENDPOINTS
from foveal.assess.site import Endpoint

# -- what every answer carries --------------------------------------------------------------------


@pytest.mark.parametrize(
    "where",
    [
        "/",
        "/login",
        "/topics/1",
        "/organise",
        "/api/topics/1/pool",
        "/nothing",
        "/static/base.css",
        "/join",
        "/account",
    ],
)
def test_headers_of_safety_are_on_everything(ann: Client, where: str) -> None:
    headers = ann.get(where).headers
    assert headers["content-security-policy"] == POLICY
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "same-origin"
    assert headers["cross-origin-opener-policy"] == "same-origin"
    assert headers["cache-control"] == ("no-cache" if "static" in where else "no-store")
    assert "server" not in headers


def test_no_page_holds_script_or_style_of_its_own(people: list[Client]) -> None:
    for where in (
        "/", "/topics/1", "/topics/1/collection", "/organise", "/organise/log", "/account", "/join",
        "/organise/people", "/organise/campaign",
    ):  # fmt: skip
        page = people[2].get(where).text
        assert re.findall(r"<script(?![^>]* src=)", page) == []
        assert re.findall(r"<style|style=|\son\w+=", page) == []


def test_cookies_are_out_of_reach_of_scripts_and_other_sites(path: Path) -> None:
    with served(path, https=True) as address, Client(address) as client:
        entry = client.http.get("/login").headers["set-cookie"]
        assert {"HttpOnly", "SameSite=strict", "Secure", "Path=/"} <= set(entry.split("; "))
        assert "max-age" in client.http.get("/login").headers["strict-transport-security"]


def test_the_session_cookie_is_strict(url: str) -> None:
    with Client(url) as client:
        answer = client.login("ann")
        (cookie,) = (c for c in answer.headers.get_list("set-cookie") if f"{client.session}=" in c)
        assert {"HttpOnly", "SameSite=strict", "Path=/"} <= set(cookie.split("; "))


# -- documents ------------------------------------------------------------------------------------


def test_script_in_a_document_stays_text(ann: Client) -> None:
    assert ann.send("/api/topics/1/documents", {"doc": "evil"}).status_code == 200
    found = ann.document("1", "evil")["structure"]
    assert "<img src=x onerror=alert(5)>" in found["text"]
    data = json.dumps({key: value for key, value in found.items() if key not in ("text", "title")})
    assert "alert" not in data  # no attribute is passed on
    answer = ann.get("/api/topics/1/documents/evil")
    assert answer.headers["content-type"] == "application/json"
    for where in ("/topics/1", "/topics/1/collection", "/topics/1/documents/evil"):
        page = ann.get(where).text
        assert "<script>alert" not in page
        assert "<img" not in page


def test_script_in_names_and_searches_stays_text(ann: Client) -> None:
    wicked = "<script>alert(1)</script>"
    for where in ("/topics/1/collection?q=", "/topics/1/collection?prefix=", "/nothing/"):
        assert wicked not in ann.get(where + wicked).text
    assert wicked not in ann.get(f"/topics/{wicked}").text


@pytest.mark.parametrize(
    "where",
    [
        "/static/../server.py",
        "/static/%2e%2e/server.py",
        "/static/..%2fserver.py",
        "/static/%2e%2e%2f%2e%2e%2f%2e%2e%2fetc%2fpasswd",
        "/static//etc/passwd",
        "/static/%00",
        "/static/article/../../store.py",
        "/topics/1/documents/../../../../etc/passwd",
        "/topics/1/documents/%2e%2e/documents/secret.txt",
        "/topics/1/documents/secret.txt",
        "/topics/1/documents/secret",
        "/topics/1/documents//etc/passwd",
        "/topics/1/documents/%2fetc%2fpasswd",
        "/topics/1/documents/ferries.xml",
        "/topics/1/documents/ferries%00",
        "/topics/1/documents/%ff%fe",
        "/topics/1/documents/file:%2f%2f%2fetc%2fpasswd",
        "/api/topics/1/documents/%2e%2e%2f%2e%2e%2fdocuments%2fsecret.txt",
        "/api/topics/1/documents/..%5c..%5csecret",
        "/api/topics/1/documents/",
        "/api/topics/1/images/0/ferries",
        "/api/topics/1/images/0/%2e%2e%2fdocuments%2fsecret.txt",
        "/api/topics/1/images/-1/ferries",
        "/topics/%2e%2e/documents/ferries",
    ],
)
def test_nothing_outside_the_collection_is_served(ann: Client, where: str) -> None:
    assert path_as_is(ann, where) == 404


# -- other people's topics ------------------------------------------------------------------------


def test_another_assessors_topic_is_closed(ann: Client, bob: Client) -> None:
    before = ann.document("1", "ferries")["version"]
    for where in (
        "/topics/1",
        "/topics/1/collection",
        "/topics/1/documents/ferries",
        "/api/topics/1/documents/ferries",
        "/api/topics/1/documents/nothing",
        "/api/topics/1/pool",
        "/api/topics/1/history",
        "/api/topics/1/images/0/ferries",
    ):
        assert bob.get(where).status_code == 403, where
    body = ann.body_of("1", "ferries", "uuid-of-bob", before, kind="highlight", start=0, end=4)
    assert bob.send(ACTIONS, body).status_code == 403
    assert bob.send("/api/topics/1/documents", {"doc": "tunnels"}).status_code == 403
    assert bob.send("/api/topics/1/events", {"kind": "view", "doc": "ferries"}).status_code == 403
    assert bob.send("/api/topics/1/settings", {"key": "a", "value": 1}, "PUT").status_code == 403
    assert ann.document("1", "ferries")["version"] == before


def test_the_final_set_and_the_organisers_pages_are_closed_to_assessors(ann: Client) -> None:
    for where in (
        "/organise",
        "/organise/agreement",
        "/organise/adjudicate",
        "/organise/log",
        "/api/progress",
        "/api/agreement",
        "/topics/1/documents/ferries?as=final",
        "/api/topics/1/documents/ferries?as=final",
        "/api/topics/1/documents/ferries?as=bob",
        "/api/topics/1/documents/ferries?as=ann",
    ):
        assert ann.get(where).status_code == 403, where
    refused = [
        ann.send("/api/assignments", {"topic": "2", "assessor": "ann", "assigned": True}),
        ann.send("/api/users", {"name": "ann", "role": "organiser"}),
        ann.send("/api/adjudication/agreed", {}),
        ann.send(f"{ACTIONS}?as=final", {"campaign": ann.document("1", "ferries")["campaign"]}),
        ann.send(f"{ACTIONS}?as=final", ann.body_of("1", "ferries", "uuid-final", 0, kind="undo")),
    ]
    assert [answer.status_code for answer in refused] == [403] * 5
    assert ann.get("/topics/2").status_code == 403


def test_an_action_of_another_cannot_be_taken_up(ann: Client, bob: Client) -> None:
    version = ann.document("1", "ferries")["version"]
    mine = ann.act("1", "ferries", "uuid-shared", version, kind="highlight", start=0, end=3)
    assert mine.status_code == 200
    taken = bob.act("2", "fords", "uuid-shared", 0, kind="highlight", start=0, end=3)
    assert taken.status_code == 422
    assert bob.document("2", "fords")["version"] == 0


def test_without_a_session_there_is_nothing(ann: Client, url: str) -> None:
    with Client(url) as nobody:
        for where in ("/", "/topics/1", "/topics/1/documents/ferries", "/organise"):
            answer = nobody.get(where)
            back = "" if where == "/" else f"?{urlencode({'next': where})}"
            assert (answer.status_code, answer.headers["location"]) == (303, f"/login{back}")
        for where in ("/api/topics/1/documents/ferries", "/api/progress"):
            assert nobody.get(where).status_code == 401
        assert nobody.send(ACTIONS, {}).status_code == 401
        nobody.http.cookies.set(ann.session, "x" * 43)
        assert nobody.get("/api/topics/1/pool").status_code == 401
        nobody.http.cookies.set(ann.session, "' OR 1=1 --")
        assert nobody.get("/api/topics/1/pool").status_code == 401


# -- every address --------------------------------------------------------------------------------

OPEN = {
    "GET /login", "POST /login", "POST /logout", "GET /start", "GET /healthz", "GET /join",
    "POST /api/invitation", "POST /api/join",
}  # fmt: skip
"""All that answers without a session; each has tests of its own."""


def _ask(client: Client, endpoint: Endpoint, **options: Any) -> httpx.Response:
    path = endpoint.path.replace("{topic}", "1").replace("{doc:path}", "ferries")
    path = re.sub(r"\{\w+:int\}", "1", path)
    if endpoint.method == "GET":
        return client.get(path, **options)
    return client.send(path, {}, endpoint.method, **options)


def _name(endpoint: Endpoint) -> str:
    return f"{endpoint.method} {endpoint.path}"


def test_no_address_is_open_by_accident() -> None:
    assert {_name(e) for e in ENDPOINTS if e.needs == "nobody"} == OPEN
    changes = {_name(e) for e in ENDPOINTS if e.method != "GET"} - OPEN
    tried = {
        f"{method} {path}".replace("topics/1", "topics/{topic}")
        .replace("ferries", "{doc:path}")
        .replace("tokens/1", "tokens/{number:int}")
        for method, path in CHANGES
    }
    assert tried == changes
    for endpoint in ENDPOINTS:
        organises = endpoint.path.startswith("/organise")
        assert not organises or endpoint.needs == "organiser"
        if endpoint.by_token:
            assert endpoint.needs == "organiser"
            assert endpoint.path.startswith("/api/")
            assert "token" not in endpoint.path


@pytest.mark.parametrize("endpoint", [e for e in ENDPOINTS if e.needs != "nobody"], ids=_name)
def test_every_other_address_needs_a_session(url: str, endpoint: Endpoint) -> None:
    with Client(url) as nobody:
        for headers in ({}, {"X-CSRF-Token": "x"}, {"Authorization": "Basic YTpi"}):
            answer = _ask(nobody, endpoint, headers=headers)
            assert answer.status_code == (401 if endpoint.path.startswith("/api/") else 303)
        answer = _ask(nobody, endpoint, headers={"Authorization": "Bearer x"})
        assert answer.status_code in (401, 303, 429)


@pytest.mark.parametrize("endpoint", [e for e in ENDPOINTS if e.needs == "organiser"], ids=_name)
def test_every_address_of_organisers_is_closed_to_assessors(
    people: list[Client], endpoint: Endpoint
) -> None:
    ann, _, olga = people
    answer = _ask(ann, endpoint)
    assert answer.status_code == 403
    if endpoint.path.startswith("/api/"):
        assert answer.json()["error"] == "role"
    assert _ask(olga, endpoint).status_code in (200, 422)


# -- hosts ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "host", ["evil.example.org", "127.0.0.1.evil.example.org", "assess.example.org@evil", "", "a b"]
)
def test_a_server_answers_only_to_its_names(ann: Client, host: str) -> None:
    answer = ann.get("/", headers={"Host": host})
    assert answer.status_code == 400
    assert "evil" not in answer.text


def test_a_server_answers_to_every_name_it_has(ann: Client) -> None:
    for host in ("assess.example.org", "assess.example.org:443", "ASSESS.example.ORG"):
        assert ann.get("/healthz", headers={"Host": host}).status_code == 200


NAMES = st.sampled_from(["a.org", "A.Org", "a.org.b", "b.a.org", "[a.org]", "a.org@b"])
PORTS = st.sampled_from(["", ":", ":80", ":65536", ":x", "/"])


async def _never(*_: object) -> PlainTextResponse:
    raise AssertionError


@settings(max_examples=60)
@given(st.text(max_size=30) | st.builds("{}{}".format, NAMES, PORTS))
def test_no_host_breaks_the_check(host: str) -> None:
    known = {"a.org", "a.org:", "a.org:80"}
    guard = Guard(PlainTextResponse(""), _never, hosts=["a.org"])
    assert guard.knows(host) == (host.isascii() and host.lower() in known)
