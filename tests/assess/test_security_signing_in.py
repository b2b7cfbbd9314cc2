"""Attacks on a server that really runs: sessions, passwords, and one-time links."""

from __future__ import annotations

from pathlib import Path

import httpx
import pytest

from assess.attacks import served_as
from assess_site import PASSWORD, Client, clients, served
from foveal.assess.accounts import LocalAccess


def test_a_session_given_beforehand_is_never_used(url: str) -> None:
    with clients(url, "ann") as (other,):
        name = other.session
    with Client(url) as client:
        client.http.cookies.set(name, "chosen-by-somebody-else")
        assert client.login("ann").status_code == 303
        tokens = [c.value for c in client.http.cookies.jar if c.name == name]
        assert "chosen-by-somebody-else" not in tokens[-1:]
    with Client(url) as thief:
        thief.http.cookies.set(name, "chosen-by-somebody-else")
        assert thief.get("/").status_code == 303


def test_signing_in_changes_the_token_and_ends_the_old_session(url: str) -> None:
    with clients(url, "ann") as (client,), Client(url) as thief:
        old = client.http.cookies[client.session]
        fields = {"name": "ann", "password": PASSWORD, "csrf": "known"}
        headers = {"Cookie": f"{client.session}={old}; {client.session}_login=known"}
        assert httpx.post(f"{url}/login", data=fields, headers=headers).status_code == 303
        thief.http.cookies.set(client.session, old)
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
    with served_as(path, proxies=["127.0.0.1"]) as address, Client(address) as client:
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
    with served_as(path, proxies=["127.0.0.1"]) as address, Client(address) as client:
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
