"""What organisers do over HTTP: people, invitations, guidelines, downloads, tokens, proxies."""

from __future__ import annotations

import io
import json
import logging
import sqlite3
import zipfile
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx
import pytest

from assess_site import PASSWORD, Client, answering, clients, make_campaign, served
from foveal.assess.accounts import LocalAccess
from foveal.assess.server import create_app
from foveal.assess.store import Campaign
from foveal.errors import UsageError
from foveal.formats import read_judgements


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return make_campaign(tmp_path)


@pytest.fixture
def url(path: Path) -> Iterator[str]:
    with served(path) as address:
        yield address


@pytest.fixture
def olga(url: str) -> Iterator[Client]:
    with clients(url, "olga") as (client,):
        yield client


def validated(client: Client, doc: str, end: int) -> None:
    steps = ({"kind": "highlight", "start": 0, "end": end}, {"kind": "bep", "start": 0},
             {"kind": "validate"})  # fmt: skip
    for base, step in enumerate(steps):
        answer = client.act("1", doc, f"{client.token[:8]}-{doc}-{base}", base, **step)
        assert answer.status_code == 200


# -- people ---------------------------------------------------------------------------------------


def test_people_of_a_file_are_added_with_topics_and_links(olga: Client, path: Path) -> None:
    text = '\ufeffName,Role,Topics\r\ncyd,,1; 2\r\n\r\n"Doe, Jo",organiser\r\n'
    answer = olga.send("/api/users/import", {"csv": text, "invite": True}).json()
    assert [(a["name"], a["role"], a["topics"]) for a in answer["added"]] == [
        ("cyd", "assessor", ["1", "2"]),
        ("Doe, Jo", "organiser", []),
    ]
    assert all(a["link"].startswith(f"{olga.url}/join#") for a in answer["added"])
    users = {user["name"]: user for user in olga.get("/api/users").json()["users"]}
    assert users["cyd"]["topics"] == ["1", "2"]
    assert users["cyd"]["invited_until"] > users["cyd"]["invited_until"][:4]
    assert not users["cyd"]["password"]


def test_wrong_lines_of_a_file_are_named_and_nobody_is_added(olga: Client) -> None:
    text = "cyd\nann\n,assessor\ndee,king\neve,assessor,1 9\ncyd\nfinal\na,b,c,d\n"
    answer = olga.send("/api/users/import", {"csv": text})
    assert (answer.status_code, answer.json()["error"]) == (422, "csv")
    assert [problem["line"] for problem in answer.json()["problems"]] == [2, 3, 4, 5, 6, 7, 8]
    assert len(olga.get("/api/users").json()["users"]) == 3
    for nothing in ("", "name,role,topics\n", 'x"y"\n"open'):
        assert olga.send("/api/users/import", {"csv": nothing}).status_code == 422
    many = "\n".join(["ann"] * 200)
    assert len(olga.send("/api/users/import", {"csv": many}).json()["problems"]) == 50


def test_an_invitation_works_once(olga: Client, url: str, path: Path) -> None:
    assert olga.send("/api/users", {"name": "cyd", "topics": ["1"]}).json()["added"]
    first = olga.send("/api/invitations", {"name": "cyd"}).json()["link"].split("#")[1]
    token = olga.send("/api/invitations", {"name": "cyd"}).json()["link"].split("#")[1]
    with closing(sqlite3.connect(path)) as database:
        assert token not in str(database.execute("SELECT * FROM invitations").fetchall())
        assert token not in str(database.execute("SELECT * FROM events").fetchall())
    with Client(url) as cyd:
        for wrong in ("", first, token[:-1], "x" * 500):
            assert cyd.send("/api/invitation", {"token": wrong}).status_code == 404
            body = {"token": wrong, "password": "a long one"}
            assert cyd.send("/api/join", body).status_code == 404
        assert cyd.send("/api/invitation", {"token": token}).json() == {"name": "cyd"}
        assert cyd.send("/api/join", {"token": token, "password": "short"}).status_code == 422
        body = {"token": token, "password": "a long one"}
        assert cyd.send("/api/join", body).status_code == 200
        assert "Your topics" in cyd.get("/").text
        with Client(url) as thief:
            assert thief.send("/api/join", body).status_code == 404
            assert thief.get("/").status_code == 303
            assert thief.login("cyd", "a long one").status_code == 303
    assert olga.send("/api/invitations", {"name": "nobody"}).status_code == 422


def test_an_invitation_expires_and_ends_with_a_password(path: Path) -> None:
    now = [datetime(2026, 1, 1, tzinfo=UTC)]
    with Campaign.open(path) as campaign:
        campaign.clock = lambda: now[0].timestamp()  # noqa: PLW0108 - the time changes
        token = campaign.invite("ann")
        now[0] += timedelta(days=7) - timedelta(seconds=1)
        assert campaign.find_invited(token) == "ann"
        assert campaign.user("ann").password is not None
        now[0] += timedelta(seconds=1)
        assert (campaign.find_invited(token), campaign.accept(token, "encoded")) == (None, None)
        assert campaign.invitations() == {}
        token = campaign.invite("ann")
        campaign.set_password("ann", "encoded")
        assert campaign.find_invited(token) is None
        with pytest.raises(UsageError):
            campaign.invite("nobody")


def test_guessing_invitations_and_tokens_has_an_end(url: str) -> None:
    with Client(url) as client:
        seen = [
            client.send("/api/invitation", {"token": f"guess {i}"}).status_code for i in range(32)
        ]
        assert seen == [404] * 30 + [429] * 2
        headers = {"Authorization": "Bearer guess"}
        assert client.get("/api/progress", headers=headers).status_code == 429


def test_a_password_of_ones_own_needs_the_present_one(url: str) -> None:
    with clients(url, "ann", "ann") as (ann, elsewhere):
        change = {"old": "wrong", "new": "nine ferries"}
        assert ann.send("/api/account/password", change).status_code == 422
        assert ann.send("/api/account/password", {"old": PASSWORD, "new": "x"}).status_code == 422
        change["old"] = PASSWORD
        assert ann.send("/api/account/password", change).status_code == 200
        assert ann.get("/").status_code == 200
        assert elsewhere.get("/").status_code == 303
        assert elsewhere.login("ann").status_code == 401
        assert elsewhere.login("ann", "nine ferries").status_code == 303


def test_guessing_the_present_password_has_an_end(url: str) -> None:
    with clients(url, "ann") as (ann,):
        change = {"old": "wrong", "new": "nine ferries"}
        seen = [ann.send("/api/account/password", change).status_code for _ in range(12)]
        assert seen == [422] * 10 + [429] * 2


# -- the campaign ---------------------------------------------------------------------------------


def test_title_and_guidelines_are_shown_and_logged(olga: Client, url: str, path: Path) -> None:
    change = {"title": " Rivers ", "guidelines": "Read <all>.\n\nThen mark."}
    about = olga.send("/api/campaign", change, "PUT").json()
    assert about == {"title": "Rivers", "guidelines": "Read <all>.\n\nThen mark."}
    assert olga.get("/api/campaign").json()["topics"][0] == {
        "id": "1", "title": "ferries and currents", "documents": 2,
    }  # fmt: skip
    with clients(url, "ann") as (ann,):
        for where in ("/", "/topics/1", "/topics/1/documents/ferries"):
            assert "Read &lt;all&gt;." in ann.get(where).text
    with Campaign.open(path) as campaign:
        assert [e["payload"] for e in campaign.entries() if e["kind"] == "about"] == [about]
    too_long = {"title": "x" * 201, "guidelines": ""}
    assert olga.send("/api/campaign", too_long, "PUT").status_code == 422


@pytest.mark.parametrize("form", ["jsonl", "fol", "trec", "inex2006"])
def test_judgements_are_downloaded_in_every_format(
    olga: Client, url: str, tmp_path: Path, form: str
) -> None:
    empty = olga.get(f"/api/export?to={form}")
    assert (empty.status_code, empty.json()["error"]) == (422, "empty")
    with clients(url, "ann") as (ann,):
        validated(ann, "ferries", 9)
    answer = olga.get(f"/api/export?to={form}&assessor=ann&topic=1")
    assert answer.status_code == 200, answer.text
    assert f"campaign-{form}".removesuffix("jsonl") in answer.headers["content-disposition"]
    target = tmp_path / "out"
    if form == "inex2006":
        zipfile.ZipFile(io.BytesIO(answer.content)).extractall(target)
    else:
        target.write_bytes(answer.content)
    found = read_judgements(target)
    assert (found.doc.to_list(), found.relevant.tolist()) == (["ferries"], [True])


def test_an_export_that_cannot_be_is_refused(olga: Client, url: str) -> None:
    with clients(url, "ann", "bob") as people:
        for client in people:
            validated(client, "ferries", 9)
    for query, status in (
        ("to=fol", 422), ("to=fol&combine=union", 200), ("to=nothing", 422), ("combine=no", 422),
        ("assessor=nobody", 422), ("topic=9", 422), ("final=1", 422), ("final=1&assessor=ann", 422),
        ("to=inex2003", 422), ("all=1&to=jsonl&assessor=&topic=", 200),
    ):  # fmt: skip
        for where in ("/api/export", "/organise/export"):
            assert olga.get(f"{where}?{query}").status_code == status, query


def test_a_backup_is_a_whole_campaign_and_leaves_nothing(olga: Client, path: Path) -> None:
    answer = olga.get("/api/backup")
    assert 'filename="campaign-backup.fva"' in answer.headers["content-disposition"]
    assert [p.name for p in path.parent.iterdir() if p.name.startswith(".")] == []
    (path.parent / "copy").write_bytes(answer.content)
    with Campaign.open(path.parent / "copy") as copy:
        copy.check_integrity()
        assert [user.name for user in copy.users()] == ["ann", "bob", "olga"]
        assert copy.document("ferries").length == 54
        assert copy.reading().execute("SELECT count(*) FROM sessions").fetchone()[0] == 0


# -- tokens ---------------------------------------------------------------------------------------


@pytest.fixture
def program(olga: Client, url: str) -> Iterator[httpx.Client]:
    token = olga.send("/api/tokens", {"label": "nightly"}).json()["token"]
    headers = {"Authorization": f"Bearer {token}"}
    with httpx.Client(base_url=url, headers=headers) as client:
        yield client


def test_a_program_with_a_token_organises(program: httpx.Client, path: Path) -> None:
    people = {"csv": "cyd,assessor,2\n"}
    assert program.post("/api/users/import", json=people).status_code == 200
    assert program.post("/api/users", json={"name": "dee"}).json()["added"]
    change = {"topic": "1", "assessor": "cyd", "assigned": True}
    assert program.post("/api/assignments", json=change).status_code == 200
    pairs = program.get("/api/assignments").json()["assignments"]
    assert {"topic": "2", "assessor": "cyd"} in pairs
    assert program.get("/api/progress").json()["progress"][0]["assessor"] == "ann"
    assert program.get("/api/backup").content.startswith(b"SQLite format 3")
    about = {"title": "T", "guidelines": "G"}
    assert program.put("/api/campaign", json=about).json() == about
    token = program.headers["authorization"].split()[1]
    with closing(sqlite3.connect(path)) as database:
        for table in ("tokens", "events"):
            rows = database.execute(f"SELECT * FROM {table}").fetchall()
            assert token not in str(rows)


def test_a_token_opens_nothing_else(program: httpx.Client, olga: Client) -> None:
    """Not the pages, not tokens, no assessments, and no way to become an organiser."""
    for where in ("/", "/topics/1", "/organise", "/organise/backup", "/account"):
        assert program.get(where).status_code == 303
    for where in ("/api/tokens", "/api/topics/1/pool", "/api/topics/1/history"):
        assert program.get(where).status_code == 401
    assert program.post("/api/tokens", json={"label": "another"}).status_code == 401
    for where, body in (
        ("/api/users", {"name": "cyd", "role": "organiser"}),
        ("/api/users", {"name": "ann", "role": "organiser"}),
        ("/api/users", {"name": "olga", "password": "a long one"}),
        ("/api/invitations", {"name": "olga"}),
        ("/api/users/import", {"csv": "cyd\neve,organiser\n"}),
    ):
        assert program.post(where, json=body).status_code == 403, body
    assert [u["name"] for u in olga.get("/api/users").json()["users"]] == ["ann", "bob", "olga"]


def test_a_token_ends_when_it_is_revoked_or_its_owner_organises_no_more(
    program: httpx.Client, olga: Client, path: Path
) -> None:
    (token,) = olga.get("/api/tokens").json()["tokens"]
    assert (token["label"], token["user"], token["used"]) == ("nightly", "olga", None)
    assert program.get("/api/users").status_code == 200
    (token,) = olga.get("/api/tokens").json()["tokens"]
    assert token["used"] is not None
    with Campaign.open(path) as campaign:
        campaign.set_role("olga", "assessor")
        assert program.get("/api/users").status_code == 403
        campaign.set_role("olga", "organiser")
    assert program.get("/api/users").status_code == 200
    assert olga.send(f"/api/tokens/{token['id']}", {}, "DELETE").status_code == 200
    assert program.get("/api/users").json()["error"] == "token"
    assert olga.send(f"/api/tokens/{token['id']}", {}, "DELETE").status_code == 422
    assert olga.send("/api/tokens", {"label": " "}).status_code == 422


def test_tokens_do_not_help_other_sites(program: httpx.Client) -> None:
    headers = {"Sec-Fetch-Site": "cross-site", "Origin": "https://evil.example.org"}
    body = {"topic": "1", "assessor": "ann", "assigned": False}
    assert program.post("/api/assignments", json=body, headers=headers).status_code == 403
    assert program.get("/api/users", headers=headers).status_code == 403


def test_secrets_are_in_no_log(olga: Client, url: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    link = olga.send("/api/invitations", {"name": "ann"}).json()["link"]
    token = olga.send("/api/tokens", {"label": "nightly"}).json()["token"]
    with httpx.Client(base_url=url, headers={"Authorization": f"Bearer {token}"}) as client:
        client.get("/api/users")
        client.post("/api/users", json={"name": "zoe", "password": "the secret word"})
        client.post("/api/join", json={"token": link.split("#")[1], "password": "the secret word"})
    ours = "\n".join(r.getMessage() for r in caplog.records if not r.name.startswith("http"))
    for secret in (link.split("#")[1], token, "the secret word", PASSWORD):
        assert secret not in ours
        assert secret not in olga.get("/organise/log?of=events").text


# -- servers --------------------------------------------------------------------------------------


@pytest.mark.parametrize("stripped", [False, True], ids=["as it is", "stripped"])
def test_a_campaign_is_served_below_a_path(path: Path, stripped: bool) -> None:
    before = "" if stripped else "/water"
    with served(path, root="/water") as address, Client(address) as client:
        answer = client.get(f"{before}/topics/1?a=b")
        assert answer.headers["location"] == "/water/login?next=%2Ftopics%2F1%3Fa%3Db"
        page = client.get(f"{before}/login?next=/topics/1").text
        fields = {"name": "ann", "password": PASSWORD, "next": "/topics/1"}
        fields["csrf"] = page.split('name="csrf" value="')[1].split('"')[0]
        cookies = {cookie.name: cookie.value for cookie in client.http.cookies.jar}
        headers = {"Cookie": "; ".join(f"{k}={v}" for k, v in cookies.items())}
        answer = client.http.post(f"{before}/login", data=fields, headers=headers)
        assert answer.headers["location"] == "/water/topics/1"
        cookie = answer.headers.get_list("set-cookie")[0]
        assert "Path=/water/;" in cookie
        headers = {"Cookie": cookie.split(";")[0]}
        for where in ("/", "/topics/1", "/topics/1/collection", "/account"):
            page = client.get(before + where, headers=headers).text
            links = [
                part.split('"')[0]
                for name in ("href", "src", "action")
                for part in page.split(f' {name}="')[1:]
            ]
            assert links
            assert [link for link in links if link[:1] == "/" and link[:7] != "/water/"] == []
        assert client.get(f"{before}/static/base.css").status_code == 200
        assert client.get(f"{before}/healthz").text == "ok"
    if not stripped:
        with served(path, root="/water") as address:
            assert httpx.get(f"{address}/water").headers["location"] == "/water/"
            assert httpx.get(f"{address}/waterfall").status_code == 404


@pytest.mark.parametrize(
    "back", ["//evil.org", "https://evil.org", "/\\evil.org", "evil", "/a\r\nX: y", "javascript:1"]
)
def test_after_signing_in_nobody_is_sent_elsewhere(url: str, back: str) -> None:
    with Client(url) as client:
        assert "evil" not in client.http.get("/login", params={"next": back}).text
        fields = {"name": "ann", "password": PASSWORD, "csrf": client.form_token(), "next": back}
        assert client.http.post("/login", data=fields).headers["location"] == "/"
        found = client.http.get("/login", params={"next": back})
        assert found.headers["location"] == "/"


def test_two_campaigns_on_one_host_do_not_sign_each_other_out(path: Path, tmp_path: Path) -> None:
    other = make_campaign(tmp_path / "other", blind=True)
    with served(path) as first, served(other) as second, clients(first, "ann") as (ann,):
        with Client(second) as client:
            client.http.cookies.update(ann.http.cookies)
            assert client.login("ann").status_code == 303
            ann.http.cookies.update(client.http.cookies)
        assert ann.get("/").status_code == 200


def test_health_tells_whether_the_campaign_can_be_read(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Campaign.open(path) as campaign, answering(create_app(campaign)) as address:
        assert httpx.get(f"{address}/healthz").text == "ok"

        def broken() -> sqlite3.Connection:
            raise sqlite3.DatabaseError("disk image is malformed")

        monkeypatch.setattr(campaign, "reading", broken)
        assert httpx.get(f"{address}/healthz").status_code == 503


def test_an_assessor_whom_the_command_names_stays_blind(tmp_path: Path) -> None:
    """Ann is the only assessor, but another has judged; the link gives her no more than that."""
    from foveal.cli.assess import _local_access

    made = make_campaign(tmp_path, assessors=("ann",))
    with Campaign.open(made) as campaign:
        access: LocalAccess = _local_access(campaign, "ann")
        assert not access.organiser
        assert _local_access(campaign, "olga").organiser
    with served(made, local=access) as address, Client(address) as ann:
        ann.get(f"/start?token={access.token}")
        ann.learn_token()
        for where in ("/organise", "/organise/backup", "/api/progress", "/api/backup"):
            assert ann.get(where).status_code == 403
        assert ann.get("/topics/1/documents/ferries?as=final").status_code == 403
        assert json.dumps(ann.document("1", "ferries")["others"]) == "[]"
        assert "Agreement" not in ann.get("/").text
