"""Attacks on a server that really runs: all are refused, and it answers afterwards."""

from __future__ import annotations

import asyncio
import http.client
import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from starlette.responses import PlainTextResponse

from assess_site import DOCUMENTS, PASSWORD, Client, clients, make_campaign, served
from foveal.assess.accounts import LocalAccess
from foveal.assess.security import MOST_BYTES, POLICY, Guard
from foveal.assess.server import create_app, listen, web_server
from foveal.assess.store import Campaign

EVIL = (
    "<article><title>&lt;script&gt;alert(1)&lt;/script&gt;</title>"
    '<script onload="alert(2)">alert(3)</script><p style="x" onclick="alert(4)">'
    "&quot;&gt;&lt;img src=x onerror=alert(5)&gt; A ferry.</p></article>"
)
ACTIONS = "/api/topics/1/documents/ferries/actions"


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Ann has topic 1, bob has topic 2."""
    made = make_campaign(tmp_path_factory.mktemp("campaign"), documents={**DOCUMENTS, "evil": EVIL})
    (made.parent / "documents" / "secret.txt").write_text("the secret")
    with Campaign.open(made) as campaign:
        campaign.unassign("2", "ann")
        campaign.unassign("1", "bob")
    return made


@pytest.fixture(scope="module")
def url(path: Path) -> Iterator[str]:
    with served(path, hosts=("127.0.0.1", "assess.example.org")) as address:
        yield address


@pytest.fixture(scope="module")
def people(url: str) -> Iterator[list[Client]]:
    with clients(url, "ann", "bob", "olga") as made:
        yield made


@pytest.fixture
def ann(people: list[Client]) -> Iterator[Client]:
    yield people[0]
    assert people[0].get("/healthz").text == "ok"
    assert people[0].document("1", "ferries")["structure"]["length"] == 54


@pytest.fixture
def bob(people: list[Client]) -> Client:
    return people[1]


@contextmanager
def served_as(path: Path, **options: Any) -> Iterator[str]:
    """The address of a server that is behind a proxy, or has little patience."""
    with Campaign.open(path) as campaign, listen("127.0.0.1", 0) as listening:
        server = web_server(create_app(campaign), **options)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join(30)


def raw(url: str, request: bytes) -> bytes:
    """What the server answers to bytes."""
    parts = urlsplit(url)
    with socket.create_connection((parts.hostname, parts.port), timeout=10) as connection:
        connection.sendall(request)
        connection.shutdown(socket.SHUT_WR)
        answer = b""
        while part := connection.recv(65536):
            answer += part
    return answer


def path_as_is(client: Client, path: str) -> int:
    """The status of a path that no library tidies up first."""
    parts = urlsplit(client.url)
    connection = http.client.HTTPConnection(str(parts.hostname), parts.port, timeout=10)
    cookies = "; ".join(f"{name}={value}" for name, value in client.http.cookies.items())
    connection.putrequest("GET", path, skip_accept_encoding=True)
    connection.putheader("Cookie", cookies)
    connection.endheaders()
    answer = connection.getresponse()
    body = answer.read()
    connection.close()
    assert b"the secret" not in body
    assert b"root:" not in body
    return answer.status


# -- what every answer carries --------------------------------------------------------------------


@pytest.mark.parametrize(
    "where",
    ["/", "/login", "/topics/1", "/organise", "/api/topics/1/pool", "/nothing", "/static/base.css"],
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
    import re

    for where in ("/", "/topics/1", "/topics/1/collection", "/organise", "/organise/log"):
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
        (cookie,) = (c for c in answer.headers.get_list("set-cookie") if "foveal_session=" in c)
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
        "/api/search?q=ferry&topic=1",
    ):
        assert bob.get(where).status_code == 403, where
    text = ann.document("1", "ferries")["structure"]
    body = {
        "uuid": "uuid-of-bob",
        "base": before,
        "length": text["length"],
        "digest": text["digest"],
        "action": {"kind": "highlight", "start": 0, "end": 4},
    }
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
        ann.act("1", "ferries", "uuid-final", 0, kind="highlight", start=0, end=4),
        ann.send("/api/assignments", {"topic": "2", "assessor": "ann", "assigned": True}),
        ann.send("/api/users", {"name": "ann", "role": "organiser"}),
        ann.send("/api/adjudication/agreed", {}),
    ][1:]
    assert [answer.status_code for answer in refused] == [403, 403, 403]
    assert ann.send(f"{ACTIONS}?as=final", {}).status_code == 403
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
            assert (answer.status_code, answer.headers["location"]) == (303, "/login")
        for where in ("/api/topics/1/documents/ferries", "/api/search?q=ferry", "/api/progress"):
            assert nobody.get(where).status_code == 401
        assert nobody.send(ACTIONS, {}).status_code == 401
        nobody.http.cookies.set("foveal_session", "x" * 43)
        assert nobody.get("/api/topics/1/pool").status_code == 401
        nobody.http.cookies.set("foveal_session", "' OR 1=1 --")
        assert nobody.get("/api/topics/1/pool").status_code == 401


# -- forged requests ------------------------------------------------------------------------------

CHANGES = [
    ("POST", ACTIONS),
    ("POST", "/api/topics/1/documents"),
    ("POST", "/api/topics/1/events"),
    ("PUT", "/api/topics/1/settings"),
    ("POST", "/api/assignments"),
    ("POST", "/api/users"),
    ("POST", "/api/adjudication/agreed"),
]


@pytest.mark.parametrize(("method", "where"), CHANGES)
def test_a_change_needs_the_token_of_its_session(
    ann: Client, bob: Client, method: str, where: str
) -> None:
    for token in (None, "", "x", ann.token[:-1], bob.token, "é"):
        headers = {} if token is None else {"X-CSRF-Token": token.encode()}
        answer = ann.http.request(method, where, json={}, headers=headers)
        assert answer.status_code == 403
        assert answer.json()["error"] == "csrf"


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://evil.example.org"},
        {"Origin": "null"},
        {"Origin": "http://127.0.0.1:1"},
        {"Origin": "http://127.0.0.1.evil.example.org"},
        {"Origin": "http://[broken"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
    ],
)
def test_a_change_from_another_site_is_refused_even_with_the_token(
    ann: Client, headers: dict[str, str]
) -> None:
    body = {"kind": "view", "doc": "ferries"}
    assert ann.send("/api/topics/1/events", body).status_code == 200
    answer = ann.send("/api/topics/1/events", body, headers=headers)
    assert (answer.status_code, answer.json()["error"]) == (403, "origin")
    login = ann.http.post("/login", data={"name": "ann"}, headers=headers)
    assert login.status_code == 403


def test_a_change_from_our_own_pages_passes(ann: Client, url: str) -> None:
    headers = {"Origin": url, "Sec-Fetch-Site": "same-origin"}
    answer = ann.send("/api/topics/1/events", {"kind": "view"}, headers=headers)
    assert answer.status_code == 200


def test_other_sites_cannot_read_the_api(ann: Client) -> None:
    for site in ("cross-site", "same-site"):
        headers = {"Sec-Fetch-Site": site}
        assert ann.get("/api/topics/1/pool", headers=headers).status_code == 403
    # A link from elsewhere may open a page.
    assert ann.get("/login", headers={"Sec-Fetch-Site": "cross-site"}).status_code == 303


def test_signing_out_needs_the_token_too(url: str) -> None:
    with clients(url, "ann") as (client,):
        assert client.http.post("/logout").status_code == 403
        assert client.http.post("/logout", data={"csrf": "x"}).status_code == 403
        assert client.get("/").status_code == 200
        assert client.http.post("/logout", data={"csrf": client.token}).status_code == 303
        assert client.get("/").status_code == 303


def test_a_form_of_another_browser_does_not_sign_in(url: str) -> None:
    with Client(url) as client, Client(url) as other:
        fields = {"name": "ann", "password": PASSWORD, "csrf": other.form_token()}
        assert client.http.post("/login", data=fields).status_code == 403
        client.form_token()
        assert client.http.post("/login", data=fields).status_code == 403
        assert client.http.post("/login", data={**fields, "csrf": ""}).status_code == 403


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


@settings(max_examples=60)
@given(st.text(max_size=30))
def test_no_host_breaks_the_check(host: str) -> None:
    guard = Guard(PlainTextResponse(""), hosts=["a.org"])
    assert guard.knows(host) == (host.lower().rsplit(":")[0] == "a.org" and guard.knows(host))


# -- size and shape -------------------------------------------------------------------------------


def test_an_oversized_request_is_refused(ann: Client, url: str) -> None:
    body = {"kind": "view", "payload": {"x": "x" * MOST_BYTES}}
    assert ann.send("/api/topics/1/events", body).status_code == 413
    declared = f"POST {ACTIONS} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 99999999999\r\n\r\n"
    assert b" 413 " in raw(url, declared.encode()).splitlines()[0]


def test_an_oversized_request_in_chunks_is_refused(ann: Client) -> None:
    def chunks() -> Iterator[bytes]:
        for _ in range(30):
            yield b" " * 65536

    headers = {"X-CSRF-Token": ann.token, "Content-Type": "application/json"}
    answer = ann.http.post("/api/topics/1/events", content=chunks(), headers=headers)
    assert answer.status_code == 413


def test_an_endless_address_is_refused(ann: Client) -> None:
    assert ann.get(f"/topics/{'x' * 5000}").status_code == 414
    assert path_as_is(ann, f"/{'x' * 100_000}") in (400, 414, 431)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b"1e999999",
        b'"text"',
        b"\xff\xfe",
        b'{"a": NaN}',
        b'{"a": "\\ud800"}',
        b'{"\\ud800": 1}',
        b'{"a": "\\u0000"}',
        b'{"a":' * 100_000,
        b'{"a":' * 100 + b"1" + b"}" * 100,
        b'{"a": ' + b"9" * 10_000 + b"}",
    ],
)
@pytest.mark.parametrize(("method", "where"), CHANGES[:4])
def test_a_malformed_body_is_refused(ann: Client, method: str, where: str, body: bytes) -> None:
    headers = {"X-CSRF-Token": ann.token, "Content-Type": "application/json"}
    answer = ann.http.request(method, where, content=body, headers=headers)
    assert answer.status_code in (400, 422)
    assert answer.json()["reason"]


def test_a_body_that_is_not_json_by_its_type_is_refused(ann: Client) -> None:
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""):
        headers = {"X-CSRF-Token": ann.token, "Content-Type": kind}
        answer = ann.http.post("/api/topics/1/events", content=b'{"kind":"view"}', headers=headers)
        assert answer.status_code == 400


GOOD: dict[str, Any] = {
    "uuid": "uuid-of-a-bad-one",
    "base": 0,
    "length": 54,
    "digest": "0" * 64,
    "at": None,
    "action": {"kind": "highlight", "start": 0, "end": 4},
}
WRONG = [
    {"uuid": 5},
    {"uuid": "short"},
    {"uuid": "x" * 65},
    {"uuid": "uuid;DROP TABLE actions"},
    {"base": "0"},
    {"base": -1},
    {"base": True},
    {"base": 2**70},
    {"base": 0.5},
    {"length": None},
    {"digest": "x" * 64},
    {"digest": ["0" * 64]},
    {"at": {"a": 1}},
    {"at": "x" * 100},
    {"more": 1},
    {"action": None},
    {"action": []},
    {"action": {}},
    {"action": {"kind": "explode"}},
    {"action": {"kind": ["highlight"]}},
    {"action": {"kind": "highlight", "start": "0", "end": 4}},
    {"action": {"kind": "highlight", "start": True, "end": 4}},
    {"action": {"kind": "highlight", "start": 4, "end": 2}},
    {"action": {"kind": "highlight", "start": -4, "end": 2}},
    {"action": {"kind": "highlight", "start": 0, "end": 2**80}},
    {"action": {"kind": "bep", "start": 1e300}},
    {"action": {"kind": "note", "text": 7}},
    {"action": {"kind": "grade", "path": "/article[1]", "grade": {"exhaustivity": 2}}},
    {"action": {"kind": "grade", "path": "/article[1]", "grade": "2"}},
    {"action": {"kind": "replace", "state": {"spans": [[0]]}}},
    {"action": {"kind": "replace", "state": "x"}},
    {"action": {"kind": "undo"}},
]


@pytest.mark.parametrize("change", WRONG, ids=str)
def test_a_wrong_field_is_refused_and_nothing_saved(ann: Client, change: dict[str, Any]) -> None:
    version = ann.document("1", "bridges")["version"]
    where = "/api/topics/1/documents/bridges/actions"
    answer = ann.send(where, {**GOOD, **change})
    assert answer.status_code == 422
    assert answer.json()["reason"]
    assert ann.document("1", "bridges")["version"] == version == 0


@pytest.mark.parametrize("left_out", ["uuid", "base", "length", "digest", "action"])
def test_a_missing_field_is_refused(ann: Client, left_out: str) -> None:
    body = {key: value for key, value in GOOD.items() if key != left_out}
    answer = ann.send(ACTIONS, body)
    assert (answer.status_code, left_out in answer.json()["reason"]) == (422, True)


@settings(max_examples=30)
@given(
    st.recursive(
        st.none()
        | st.booleans()
        | st.integers()
        | st.floats(allow_nan=False)
        | st.text(max_size=8),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(st.sampled_from([*GOOD, "kind", "payload", "doc", "key"]), inner)
        ),
        max_leaves=8,
    )
)
def test_whatever_is_sent_the_server_says_what_is_wrong(people: list[Client], body: object) -> None:
    # As bytes of ASCII: half a surrogate pair is sent as JSON writes it.
    content = json.dumps(body).encode()
    headers = {"X-CSRF-Token": people[0].token, "Content-Type": "application/json"}
    for method, where in CHANGES:
        answer = people[0].http.request(method, where, content=content, headers=headers)
        assert answer.status_code in (200, 400, 403, 404, 422)


@pytest.mark.parametrize(
    ("method", "allowed"), [("OPTIONS", 405), ("DELETE", 405), ("TRACE", 405), ("HEAD", 200)]
)
def test_other_methods_are_answered_with_sense(ann: Client, method: str, allowed: int) -> None:
    for where in ("/", "/topics/1", "/api/topics/1/pool"):
        answer = ann.http.request(method, where)
        assert answer.status_code == allowed
        if allowed == 405:
            assert "GET" in answer.headers["allow"]
        else:
            assert answer.content == b""


def test_garbage_on_the_line_harms_nothing(ann: Client, url: str) -> None:
    for garbage in (
        b"\x16\x03\x01\x02\x00\x01\x00",
        b"GET\r\n\r\n",
        b"GET / HTTP/1.1\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
        b"POST /login HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: x\r\n\r\n",
        b"GET /\xff HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n",
    ):
        assert b" 200 " not in raw(url, garbage)[:40]


@pytest.mark.parametrize("where", ["/api/topics", "/topics"])
def test_our_own_mistakes_are_told_to_the_log_alone(
    where: str, caplog: pytest.LogCaptureFixture
) -> None:
    async def mistaken(*_: object) -> None:
        raise ZeroDivisionError("the secret")

    async def asked() -> httpx.Response:
        transport = httpx.ASGITransport(Guard(mistaken, hosts=["a.org"]))
        async with httpx.AsyncClient(transport=transport, base_url="http://a.org") as client:
            return await client.get(where)

    answer = asyncio.run(asked())
    assert (answer.status_code, "secret" in answer.text) == (500, False)
    assert answer.headers["content-security-policy"] == POLICY
    assert "the secret" in caplog.text


@pytest.mark.parametrize("number", ["1e999", "-1e999", "Infinity", "9" * 400])
def test_numbers_without_end_stop_nobodys_pages(people: list[Client], number: str) -> None:
    """The log cannot be mended, so one of them in it would stay for ever."""
    ann, _, olga = people
    headers = {"X-CSRF-Token": ann.token, "Content-Type": "application/json"}
    for method, where, body in (
        ("PUT", "settings", f'{{"key": "wide", "value": {number}}}'),
        ("POST", "events", f'{{"kind": "time", "payload": {{"seconds": 1, "x": {number}}}}}'),
        ("POST", "events", f'{{"kind": "time", "payload": {{"seconds": {number}}}}}'),
    ):
        answer = ann.http.request(method, f"/api/topics/1/{where}", content=body, headers=headers)
        assert answer.status_code in (200, 400, 422)
        assert answer.status_code != 200 or number.isdigit()
    for client, page in (
        (ann, "/"),
        (ann, "/topics/1"),
        (olga, "/organise"),
        (olga, "/api/progress"),
    ):
        assert client.get(page).status_code == 200
    assert ann.get("/api/topics/1/documents/ferries").status_code == 200


@pytest.mark.parametrize(
    "begun",
    [
        b"",
        b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX: ",
        b"POST /login HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 9\r\n\r\nna",
    ],
)
def test_a_request_that_does_not_come_to_its_end_is_given_up(path: Path, begun: bytes) -> None:
    with served_as(path, patience=0.2) as address:
        parts = urlsplit(address)
        with socket.create_connection((parts.hostname, parts.port), timeout=60) as connection:
            connection.sendall(begun)
            while connection.recv(65536):
                pass  # and then it is closed, not by us
        assert httpx.get(f"{address}/healthz").text == "ok"


# -- the door -------------------------------------------------------------------------------------


def test_a_session_given_beforehand_is_never_used(url: str) -> None:
    with Client(url) as client:
        client.http.cookies.set("foveal_session", "chosen-by-somebody-else")
        assert client.login("ann").status_code == 303
        tokens = [c.value for c in client.http.cookies.jar if c.name == "foveal_session"]
        assert "chosen-by-somebody-else" not in tokens[-1:]
    with Client(url) as thief:
        thief.http.cookies.set("foveal_session", "chosen-by-somebody-else")
        assert thief.get("/").status_code == 303


def test_signing_in_changes_the_token_and_ends_the_old_session(url: str) -> None:
    with clients(url, "ann") as (client,), Client(url) as thief:
        old = client.http.cookies["foveal_session"]
        client.http.cookies.set("foveal_login", "known")
        fields = {"name": "ann", "password": PASSWORD, "csrf": "known"}
        headers = {"Cookie": f"foveal_session={old}; foveal_login=known"}
        assert httpx.post(f"{url}/login", data=fields, headers=headers).status_code == 303
        thief.http.cookies.set("foveal_session", old)
        assert thief.get("/").status_code == 303


def test_a_wrong_password_and_a_wrong_name_look_the_same(url: str) -> None:
    with Client(url) as client:
        password, name = client.login("ann", "wrong"), client.login("nobody", "wrong")
        assert password.status_code == name.status_code == 401
        tidy = [a.text.replace("nobody", "ann") for a in (password, name)]
        assert [t.split('name="csrf"')[0] for t in tidy] == [tidy[0].split('name="csrf"')[0]] * 2
        assert "Name or password is wrong." in name.text
        assert client.login("final", "").status_code == 401
        assert client.login("", "").status_code == 401


def test_guessing_passwords_has_an_end(path: Path) -> None:
    with served(path) as address, Client(address) as client:
        seen = [client.login("ann", f"guess {i}").status_code for i in range(12)]
        assert seen == [401] * 10 + [429] * 2
        last = client.login("ann")  # not even with the right one
        assert last.status_code == 429
        assert int(last.headers["retry-after"]) > 0
        assert client.login("bob").status_code == 303  # others are not kept out


def test_guessing_names_has_an_end_too(path: Path) -> None:
    with served(path) as address, Client(address) as client:
        fields = {"password": "wrong", "csrf": client.form_token()}
        seen = []
        for i in range(32):
            answer = client.http.post("/login", data={**fields, "name": f"name {i}"})
            fields["csrf"] = answer.text.split('name="csrf" value="')[1].split('"')[0]
            seen.append(answer.status_code)
        assert seen[:3] == [401] * 3
        assert seen[-2:] == [429] * 2


def test_guessing_keeps_nobody_else_out(path: Path) -> None:
    """From elsewhere all names can sign in, also those that were guessed at without end."""
    with served_as(path, behind_proxy=True) as address, Client(address) as client:
        mine = {"X-Forwarded-For": "192.0.2.1"}
        fields = {"password": "wrong", "csrf": client.form_token()}
        for name in ["olga"] * 40 + ["bob"] * 40:
            answer = client.http.post("/login", data={**fields, "name": name}, headers=mine)
        assert answer.status_code == 429
        for name in ("olga", "bob"):
            right = {**fields, "name": name, "password": PASSWORD}
            elsewhere = {"X-Forwarded-For": "192.0.2.2"}
            with Client(address) as other:
                right["csrf"] = other.form_token()
                answer = other.http.post("/login", data=right, headers=elsewhere)
            assert answer.status_code == 303


def test_guessing_from_many_addresses_has_an_end(path: Path) -> None:
    with served_as(path, behind_proxy=True) as address, Client(address) as client:
        fields = {"name": "bob", "password": "wrong", "csrf": client.form_token()}
        seen = [
            client.http.post(
                "/login", data=fields, headers={"X-Forwarded-For": f"192.0.2.{i}"}
            ).status_code
            for i in range(62)
        ]
        assert seen == [401] * 60 + [429] * 2


@pytest.mark.parametrize(
    "content", [b"", b"%", b"name=%ff", b"&" * 1000 + b"a=1", b"\xff\xfe", b"name=ann"]
)
def test_a_broken_form_is_refused(ann: Client, content: bytes) -> None:
    headers = {"Content-Type": "application/x-www-form-urlencoded"}
    for where in ("/login", "/logout"):
        answer = ann.http.post(where, content=content, headers=headers)
        assert answer.status_code in (400, 403)
    assert ann.http.post("/login", json={}).status_code == 400


def test_the_one_time_link_works_once(path: Path) -> None:
    access = LocalAccess("ann", organiser=False)
    with served(path, local=access) as url, Client(url) as client, Client(url) as thief:
        for token in ("", "x", access.token[:-1]):
            assert client.get(f"/start?token={token}").status_code == 403
        link = f"/start?token={access.token}"
        assert thief.http.head(link).status_code == 200  # which tells and takes nothing
        assert thief.get("/").status_code == 303
        assert client.get(link).status_code == 303
        assert client.get("/").status_code == 200
        assert client.get(link).status_code == 303  # a reload in the same browser
        assert thief.get(link).status_code == 403
        assert thief.get("/").status_code == 303


def test_a_server_with_accounts_has_no_link(ann: Client) -> None:
    assert ann.get("/start?token=x").status_code == 404


def test_a_new_password_ends_the_sessions(url: str, people: list[Client]) -> None:
    with clients(url, "bob") as (bob,):
        changed = people[2].send("/api/users", {"name": "bob", "password": "another ferry"})
        assert changed.status_code == 200
        assert bob.get("/").status_code == 303
        assert bob.login("bob").status_code == 401
        assert bob.login("bob", "another ferry").status_code == 303
    people[2].send("/api/users", {"name": "bob", "password": PASSWORD})
    assert people[1].login("bob").status_code == 303


def test_an_organiser_cannot_lose_the_role_by_accident(people: list[Client]) -> None:
    answer = people[2].send("/api/users", {"name": "olga", "role": "assessor"})
    assert answer.status_code == 422
    assert people[2].send("/api/users", {"name": "final"}).status_code == 422
    assert people[2].send("/api/users", {"name": "x", "role": "king"}).status_code == 422
    assert people[2].send("/api/users", {"name": "x", "password": "short"}).status_code == 422
