"""Attacks on a server that really runs: requests that are forged, too large, or make no sense."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assess.attacks import ACTIONS, CHANGES, path_as_is, raw, served_as
from assess_site import PASSWORD, Client, clients
from foveal.assess.security import MOST_BYTES, POLICY
from foveal.assess.store import Campaign

# -- forged requests ------------------------------------------------------------------------------


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
    answer = ann.send(where, {**ann.body_of("1", "bridges", "x", 0), **GOOD, **change})
    assert answer.status_code == 422
    assert answer.json()["reason"]
    assert ann.document("1", "bridges")["version"] == version == 0


@pytest.mark.parametrize("left_out", ["uuid", "base", "length", "digest", "action"])
def test_a_missing_field_is_refused(ann: Client, left_out: str) -> None:
    good = {**ann.body_of("1", "ferries", "x", 0), **GOOD}
    body = {key: value for key, value in good.items() if key != left_out}
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
    identity = {"campaign": people[0].document("1", "ferries")["campaign"]}
    headers = {"X-CSRF-Token": people[0].token, "Content-Type": "application/json"}
    for method, where in CHANGES:
        named = where == ACTIONS and isinstance(body, dict)
        content = json.dumps({**body, **identity} if named else body).encode()
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


@pytest.mark.parametrize("where", ["/api/topics/1/pool", "/topics/1"])
def test_our_own_mistakes_are_told_to_the_log_alone(
    ann: Client, where: str, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def mistaken(*_: object) -> None:
        raise ZeroDivisionError("the secret")

    monkeypatch.setattr(Campaign, "pool", mistaken)
    answer = ann.get(where)
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
    with served_as(path, timeout=0.2) as address:
        parts = urlsplit(address)
        with socket.create_connection((parts.hostname, parts.port), timeout=60) as connection:
            connection.sendall(begun)
            while connection.recv(65536):
                pass  # and then it is closed, not by us
        assert httpx.get(f"{address}/healthz").text == "ok"
