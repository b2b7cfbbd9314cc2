"""The server as assessors and organisers use it, over real connections."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from assess_site import PASSWORD, Client, clients, make_campaign, served
from command import assert_refused, call
from foveal.assess.accounts import LocalAccess
from foveal.assess.exporting import judgements
from foveal.assess.people import FINAL
from foveal.assess.store import Campaign


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return make_campaign(tmp_path)


@pytest.fixture
def url(path: Path) -> Iterator[str]:
    with served(path) as address:
        yield address


@pytest.fixture
def ann(url: str) -> Iterator[Client]:
    with clients(url, "ann") as (client,):
        yield client


@pytest.fixture
def olga(url: str) -> Iterator[Client]:
    with clients(url, "olga") as (client,):
        yield client


def validated(client: Client, topic: str, doc: str, start: int, end: int, query: str = "") -> None:
    """Highlight, set the entry point, validate."""
    name = f"{client.token[:8]}-{topic}-{doc}"
    steps: list[dict[str, Any]] = [
        {"kind": "highlight", "start": start, "end": end},
        {"kind": "bep", "start": start},
        {"kind": "validate"},
    ]
    for i, step in enumerate(steps if end > start else steps[2:]):
        assert client.act(topic, doc, f"{name}-{i}", i, query, **step).status_code == 200


# -- documents and actions ------------------------------------------------------------------------


def test_a_document_comes_with_all_that_its_page_needs(ann: Client) -> None:
    found = ann.document("1", "ferries")
    assert found["structure"]["text"] == "FerriesA ferry crosses the river.The current moves it."
    assert found["state"] == {
        "spans": [], "bep": None, "grades": {}, "note": "", "validated": False,
    }  # fmt: skip
    assert (found["version"], found["can_undo"], found["can_redo"]) == (0, False, False)
    assert [(s["start"], s["end"], len(s["runs"])) for s in found["support"]] == [(7, 33, 2)]
    assert (found["previous"], found["next"]) == (None, "bridges")
    assert (found["left"], found["pooled"], found["seconds"]) == (2, 2, 0.0)
    assert (found["assessor"], found["csrf"], found["procedure"]) == ("ann", ann.token, "2006")
    assert found["topic"]["title"] == "ferries and currents"
    assert (found["missing"], found["grades"], found["cues"], found["others"]) == ([], {}, [], [])
    assert ann.document("1", "bridges")["previous"] == "ferries"


def test_an_assessment_from_highlight_to_validation(ann: Client, path: Path) -> None:
    saved = ann.act("1", "ferries", "uuid-0001", 0, kind="highlight", start=7, end=33).json()
    assert (saved["version"], saved["state"]["spans"], saved["can_undo"]) == (1, [[7, 33]], True)
    assert len(saved["missing"]) == 1
    early = ann.act("1", "ferries", "uuid-0002", 1, kind="validate")
    assert early.status_code == 422
    assert "entry point" in early.json()["reason"]
    assert ann.act("1", "ferries", "uuid-0003", 1, kind="bep", start=7).json()["missing"] == []
    done = ann.act("1", "ferries", "uuid-0004", 2, kind="validate").json()
    assert (done["state"]["validated"], done["left"]) == (True, 1)
    undone = ann.act("1", "ferries", "uuid-0005", 3, kind="undo").json()
    assert (undone["state"]["validated"], undone["can_redo"], undone["left"]) == (False, True, 2)
    assert ann.act("1", "ferries", "uuid-0006", 4, kind="redo").json()["state"]["validated"]
    with Campaign.open(path) as campaign:
        exported = judgements(campaign)
    assert (exported.doc.to_list(), exported.assessors) == (["ferries"], ("ann",))
    assert [tuple(span) for span in exported.passages(0)] == [(7, 33)]


def test_a_repeated_message_does_nothing_twice(ann: Client) -> None:
    first = ann.act("1", "ferries", "uuid-0001", 0, kind="highlight", start=7, end=33).json()
    ann.act("1", "ferries", "uuid-0002", 1, kind="bep", start=7)
    again = ann.act("1", "ferries", "uuid-0001", 0, kind="highlight", start=7, end=33).json()
    assert again.pop("repeated") is True
    assert first.pop("repeated") is False
    assert again == first
    assert ann.document("1", "ferries")["version"] == 2


def test_two_tabs_never_write_over_each_other(ann: Client) -> None:
    ann.act("1", "ferries", "uuid-0001", 0, kind="highlight", start=7, end=33)
    late = ann.act("1", "ferries", "uuid-0002", 0, kind="highlight", start=0, end=7)
    assert late.status_code == 409
    found = late.json()
    assert (found["error"], found["version"], found["state"]["spans"]) == ("conflict", 1, [[7, 33]])
    assert (
        ann.act("1", "ferries", "uuid-0002", 1, kind="highlight", start=0, end=7).status_code == 200
    )


def test_actions_of_another_campaign_are_refused(ann: Client, tmp_path: Path) -> None:
    """A page that was opened at the same address before; names of topics and documents agree."""
    other = make_campaign(tmp_path / "other", blind=True)
    action = {"kind": "highlight", "start": 0, "end": 4}
    body = ann.body_of("1", "ferries", "uuid-0001", 0, **action)
    without = {key: value for key, value in body.items() if key != "campaign"}
    with served(other) as address, clients(address, "ann") as (there,):
        for sent in (body, without):
            for doc in ("topics/1/documents/ferries", "topics/unknown/documents/unknown"):
                answer = there.send(f"/api/{doc}/actions", sent)
                assert (answer.status_code, answer.json()["error"]) == (412, "campaign")
        asked = there.get(f"/api/topics/1/documents/ferries?text=0&campaign={body['campaign']}")
        assert (asked.status_code, asked.json()["error"]) == (412, "campaign")
        assert there.document("1", "ferries")["version"] == 0
    assert ann.send("/api/topics/1/documents/ferries/actions", body).status_code == 200


def test_another_text_is_never_assessed(ann: Client) -> None:
    action = {"kind": "highlight", "start": 0, "end": 4}
    good = ann.body_of("1", "ferries", "uuid-0001", 0, **action)
    for change in ({"length": good["length"] - 1}, {"digest": "0" * 64}):
        body = {**good, **change}
        answer = ann.send("/api/topics/1/documents/ferries/actions", body)
        assert answer.status_code == 422
        assert "nothing was saved" in answer.json()["reason"]
    assert ann.document("1", "ferries")["version"] == 0


def test_a_document_that_no_run_returned_is_added_first(ann: Client) -> None:
    early = ann.act("1", "tunnels", "uuid-0001", 0, kind="highlight", start=0, end=7)
    assert (early.status_code, early.json()["error"]) == (422, "pool")
    assert ann.document("1", "tunnels")["in_pool"] is False
    added = ann.send("/api/topics/1/documents", {"doc": "tunnels"})
    assert added.json() == {"doc": "tunnels", "added": True, "left": 3}
    assert ann.send("/api/topics/1/documents", {"doc": "tunnels"}).json()["added"] is False
    again = ann.act("1", "tunnels", "uuid-0001", 0, kind="highlight", start=0, end=7)
    assert again.status_code == 200
    assert ann.send("/api/topics/1/documents", {"doc": "nothing"}).status_code == 404


def test_a_document_that_cannot_be_read_is_said_without_its_place(tmp_path: Path) -> None:
    made = make_campaign(tmp_path, store="pooled")
    (tmp_path / "documents" / "tunnels.xml").unlink()
    with served(made) as address, clients(address, "ann") as (ann,):
        for where in ("/api/topics/1/documents/tunnels", "/topics/1/documents/tunnels"):
            answer = ann.get(where)
            assert answer.status_code == 503
            assert "documents/tunnels.xml" not in answer.text
            assert str(tmp_path) not in answer.text
        assert ann.document("1", "ferries")["version"] == 0


# -- what else pages report and ask ---------------------------------------------------------------


def test_views_and_times_make_the_history(ann: Client) -> None:
    for body in (
        {"doc": "bridges", "kind": "view", "payload": {}},
        {"doc": "ferries", "kind": "view", "payload": {}},
        {"doc": "ferries", "kind": "time", "payload": {"seconds": 30}},
        {"doc": "ferries", "kind": "time", "payload": {"seconds": 12.5}},
    ):
        assert ann.send("/api/topics/1/events", body).json() == {"noted": True}
    history = ann.get("/api/topics/1/history").json()["documents"]
    assert [(one["doc"], one["seconds"], one["state"]) for one in history] == [
        ("ferries", 42.5, "seen"),
        ("bridges", 0.0, "seen"),
    ]
    assert ann.document("1", "ferries")["seconds"] == 42.5
    states = {d["doc"]: d["state"] for d in ann.get("/api/topics/1/pool").json()["documents"]}
    assert states == {"ferries": "seen", "bridges": "seen"}


@pytest.mark.parametrize("seconds", [-1, 1e9, "5", None, True, [1]])
def test_times_that_cannot_be_are_not_noted(ann: Client, seconds: object) -> None:
    body = {"doc": "ferries", "kind": "time", "payload": {"seconds": seconds}}
    assert ann.send("/api/topics/1/events", body).status_code == 422


def test_a_page_that_has_the_text_can_ask_for_the_state_alone(ann: Client) -> None:
    whole, brief = ann.document("1", "ferries"), ann.document("1", "ferries", "?text=0")
    assert brief == whole | {"structure": None}


def test_cue_words_are_kept_for_each_topic_and_logged(ann: Client, path: Path) -> None:
    cues = [{"pattern": "ferr(y|ies)", "colour": "green", "style": "underline", "on": True}]
    answer = ann.send("/api/topics/1/settings", {"key": "cues", "value": cues}, "PUT")
    assert answer.json()["value"] == cues
    ann.send("/api/topics/1/settings", {"key": "support", "value": False}, "PUT")
    found = ann.document("1", "ferries")
    assert (found["cues"], found["settings"]) == (cues, {"support": False})
    assert ann.document("2", "fords")["cues"] == []
    with Campaign.open(path) as campaign:
        kinds = [event["kind"] for event in campaign.entries() if event["topic"] == "1"]
    assert kinds == ["setting", "cues"]


@pytest.mark.parametrize(
    "value",
    [
        5,
        [5],
        [{}],
        [{"pattern": 5}],
        [{"pattern": "a", "colour": "url(x)"}],
        [{"pattern": "a", "style": "bold"}],
        [{"pattern": "a", "on": "yes"}],
        [{"pattern": "a", "more": 1}],
        [{"pattern": "a" * 501}],
        [{"pattern": "a"}] * 101,
    ],
)
def test_cue_words_have_a_shape(ann: Client, value: object) -> None:
    answer = ann.send("/api/topics/1/settings", {"key": "cues", "value": value}, "PUT")
    assert answer.status_code == 422


def test_the_collection_is_searched_and_browsed(ann: Client) -> None:
    def found(query: str) -> list[str]:
        page = ann.get(f"/topics/1/collection?{query}").text
        return re.findall(r'<th scope="row"><a href="/topics/1/documents/(\w+)"', page)

    assert set(found("q=ferry")) == {"ferries", "tunnels"}
    assert found("") == ["bridges", "ferries", "fords", "tunnels"]
    assert found("prefix=f&after=ferries") == ["fords"]
    assert 'data-doc="tunnels"' in (page := ann.get("/topics/1/collection?q=ferry").text)
    assert 'data-doc="ferries"' not in page
    for query in ('"', "*", "NEAR(", "a AND", "", "x" * 401, "%00"):
        answer = ann.get("/topics/1/collection", params={"q": query})
        assert answer.status_code == (422 if len(query) > 400 else 200)


# -- pages ----------------------------------------------------------------------------------------


def text_of(page: str) -> str:
    """What a page says, without its markup."""
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", page))


def test_home_shows_topics_and_what_is_next(ann: Client) -> None:
    page = text_of(ann.get("/").text)
    assert "Begin with topic 1 Enter ferries and currents: 2 of 2 documents left" in page
    ann.send("/api/topics/2/events", {"doc": "fords", "kind": "view"})
    assert "Go on with topic 2" in text_of(ann.get("/").text)
    validated(ann, "2", "fords", 0, 0)
    for doc in ("ferries", "bridges"):
        validated(ann, "1", doc, 0, 0)
    assert "Everything that is assigned to you is validated" in text_of(ann.get("/").text)


def test_the_pool_shows_states_and_what_is_next(ann: Client) -> None:
    page = text_of(ann.get("/topics/1").text)
    assert "How does a ferry move?" in page
    assert "Judge “Ferries”" in page
    validated(ann, "1", "ferries", 7, 33)
    page = text_of(ann.get("/topics/1").text)
    assert "Judge “Bridges”" in page
    assert re.search(r"1 Ferries ferries relevant 2 54", page)
    assert "1 left, 1 with relevant text" in page
    validated(ann, "1", "bridges", 0, 0)
    assert "All documents of this topic are validated." in text_of(ann.get("/topics/1").text)


def test_organisers_may_look_at_a_topic_but_not_judge_it(olga: Client) -> None:
    assert "not assigned to you" in olga.get("/topics/1").text
    assert olga.document("1", "ferries")["may_act"] is False
    answer = olga.act("1", "ferries", "uuid-0001", 0, kind="highlight", start=0, end=4)
    assert answer.status_code == 403
    assert olga.send("/api/topics/1/events", {"kind": "view"}).json() == {"noted": False}


def test_in_a_blind_campaign_nobody_learns_of_others(url: str) -> None:
    with clients(url, "ann", "bob") as (ann, bob):
        validated(ann, "1", "ferries", 7, 33)
        ann.send("/api/topics/1/documents", {"doc": "tunnels"})
        assert bob.document("1", "ferries")["others"] == []
        assert "added by another assessor" in bob.get("/topics/1").text
        assert "added by you" in ann.get("/topics/1").text
        for where in ("/", "/topics/1", "/topics/1/collection", "/topics/1/documents/ferries"):
            assert not re.search(r"\bann\b", bob.get(where).text)
        body: dict[str, Any] = {"spans": [[0, 4]], "bep": 0, "grades": {}, "note": ""}
        taken = bob.act(
            "1", "ferries", "uuid-0001", 0, kind="replace", state={**body, "validated": True}
        )
        assert taken.status_code == 422


def test_in_an_open_campaign_they_see_each_other(tmp_path: Path) -> None:
    made = make_campaign(tmp_path, blind=False)
    with served(made) as address, clients(address, "ann", "bob") as (ann, bob):
        validated(ann, "1", "ferries", 7, 33)
        (other,) = bob.document("1", "ferries")["others"]
        assert (other["assessor"], other["state"]["spans"]) == ("ann", [[7, 33]])


def test_a_page_that_is_not_there_says_no_more(ann: Client) -> None:
    for where in ("/nothing", "/topics/9", "/topics/1/documents/nothing", "/static/nothing.js"):
        answer = ann.get(where)
        assert answer.status_code == 404
        assert "Traceback" not in answer.text
    assert ann.get("/api/nothing").json() == {
        "error": "address",
        "reason": "There is no such page.",
    }


# -- organisers -----------------------------------------------------------------------------------


def test_assignments_are_made_and_taken_back(url: str, olga: Client) -> None:
    with clients(url, "bob") as (bob,):
        change = {"topic": "2", "assessor": "bob", "assigned": False}
        assert olga.send("/api/assignments", change).status_code == 200
        assert bob.get("/topics/2").status_code == 403
        assert olga.send("/api/assignments", {**change, "assigned": True}).status_code == 200
        assert bob.get("/topics/2").status_code == 200
    for wrong in ({"topic": "9"}, {"assessor": "nobody", "assigned": True}, {"assigned": 1}):
        assert (
            olga.send("/api/assignments", {**change, "assigned": True, **wrong}).status_code == 422
        )


def test_the_log_shows_actions_and_events(ann: Client, olga: Client) -> None:
    validated(ann, "1", "ferries", 7, 33)
    page = text_of(olga.get("/organise/log?assessor=ann&topic=1").text)
    assert re.search(r"ann 1 ferries validate .* ann 1 ferries highlight start 7, end 33", page)
    events = text_of(olga.get("/organise/log?of=events").text)
    assert 'login how "password"' in events.replace("&#34;", '"')
    assert PASSWORD not in events
    for query in ("before=x", "before=1", "assessor=%27", "topic=nothing", "of=sessions"):
        assert olga.get(f"/organise/log?{query}").status_code == 200


def test_agreement_and_adjudication_lead_to_a_final_set(url: str, olga: Client, path: Path) -> None:
    assert "validated by two assessors yet" in olga.get("/organise/agreement").text
    with clients(url, "ann", "bob") as (ann, bob):
        validated(ann, "1", "ferries", 7, 33)
        validated(bob, "1", "ferries", 7, 20)
        for client in (ann, bob):
            validated(client, "1", "bridges", 7, 23)
        validated(ann, "2", "fords", 0, 0)  # bob has not been there
        other = bob.document("1", "ferries")
        assert other["others"] == []
    found = olga.get("/api/agreement").json()
    assert found["assessors"] == ["ann", "bob"]
    page = text_of(olga.get("/organise/agreement").text)
    assert re.search(r"ann - bob pooled 1 2 0\.\d{3}", page)

    page = olga.get("/organise/adjudicate").text
    assert "Decide “Ferries”" in page
    assert "/topics/1/documents/ferries?as=final" in page
    assert "1 of 1 where assessors differ are open" in page
    assert olga.send("/api/adjudication/agreed", {}).json() == {"adopted": 1}
    assert olga.send("/api/adjudication/agreed", {}).json() == {"adopted": 0}

    case = olga.document("1", "ferries", "?as=final")
    assert [o["assessor"] for o in case["others"]] == ["ann", "bob"]
    assert (case["assessor"], case["left"], case["pooled"]) == (FINAL, 1, 2)
    begun = olga.act(
        "1", "ferries", "uuid-f001", 0, "?as=final",
        kind="replace", state={**case["others"][0]["state"], "validated": True},
    )  # fmt: skip
    assert begun.json()["state"]["validated"] is False  # that is for the adjudicator to say
    done = olga.act("1", "ferries", "uuid-f002", 1, "?as=final", kind="validate").json()
    assert (done["state"]["validated"], done["left"]) == (True, 0)
    assert "Nothing is open" in olga.get("/organise/adjudicate").text
    log = text_of(olga.get("/organise/log?assessor=final").text)
    assert re.search(r"final by olga 1 ferries validate", log)
    with Campaign.open(path) as campaign:
        final = judgements(campaign, assessors=FINAL)
        assert sorted(final.doc) == ["bridges", "ferries"]


# -- the command ----------------------------------------------------------------------------------


def started(path: Path, *options: str) -> tuple[subprocess.Popen[str], str]:
    """The real command, and the line that says where it is."""
    code = "from foveal.cli import main; main()"
    process = subprocess.Popen(
        [sys.executable, "-c", code, "assess", "serve", str(path), "--port", "0", *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )
    assert process.stdout is not None
    for line in process.stdout:
        found = re.search(r"http://\S+", line)
        if found:
            return process, found[0].rstrip(";")
    raise AssertionError(process.communicate())


def test_serve_prints_a_link_and_stops_in_peace(path: Path) -> None:
    process, link = started(path, "--as", "ann")
    try:
        with httpx.Client() as browser:
            assert browser.get(link).status_code == 303
            home = browser.get(str(httpx.URL(link).copy_with(raw_path=b"/")))
            assert "Your topics" in home.text
            assert "Organise" not in home.text
        assert httpx.get(link).status_code == 403
    finally:
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=30)
    assert (process.returncode, said) == (0, "Stopped. Everything is saved.\n")


@pytest.mark.parametrize(
    ("assessors", "who", "organiser"),
    [(("ann",), "ann", True), (("ann", "bob"), "olga", True), ((), "olga", True)],
)
def test_the_link_signs_in_the_only_assessor_or_the_organiser(
    tmp_path: Path, assessors: tuple[str, ...], who: str, organiser: bool
) -> None:
    from foveal.cli.assess import _local_access

    with Campaign.open(make_campaign(tmp_path, assessors=assessors)) as campaign:
        access = _local_access(campaign, None)
        assert (access.user, access.organiser) == (who, organiser)


def test_a_campaign_without_an_organiser_gets_one(path: Path) -> None:
    from foveal.cli.assess import ORGANISER, _local_access

    with Campaign.open(path) as campaign:
        campaign.set_role("olga", "assessor")
        assert _local_access(campaign, None).user == ORGANISER
        made = campaign.user(ORGANISER)
        assert made is not None
        assert (made.name, made.role) == (ORGANISER, "organiser")
        assert _local_access(campaign, "ann").organiser is False


def test_the_only_assessor_organises_too(tmp_path: Path) -> None:
    made, access = make_campaign(tmp_path, assessors=("ann",)), LocalAccess("ann")
    with served(made, local=access) as address, Client(address) as ann:
        ann.get(f"/start?token={access.token}")
        ann.learn_token()
        assert ann.get("/organise").status_code == 200
        assert ann.act("1", "ferries", "uuid-0001", 0, kind="bep", start=0).status_code == 200


def test_a_server_for_many_needs_passwords_and_names(
    path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with Campaign.open(path) as campaign:
        for user in campaign.users():
            campaign.set_password(user.name, None)
    serve = ("assess", "serve", str(path))
    assert_refused(
        call(capsys, *serve, "--trusted-host", "a.org"),
        f"foveal: nobody in {path} has a password, so nobody could sign in; set them with "
        f"'foveal assess user {path} NAME --password'",
    )
    assert_refused(call(capsys, *serve, "--host", "0.0.0.0"), "foveal: at 0.0.0.0 browsers may use")
    assert_refused(
        call(capsys, *serve, "--host", "10.0.0.1", "--as", "ann"),
        "foveal: --as and --open are for a server on this machine alone",
    )
    assert_refused(
        call(capsys, *serve, "--as", "zoe"),
        "foveal: --as zoe: nobody in the campaign has that name, only ann, bob, olga",
    )
    nowhere = call(capsys, "assess", "serve", str(path.with_name("nothing")))
    assert_refused(nowhere, f"{path.with_name('nothing')}: ")


def test_a_taken_port_is_said(path: Path, url: str, capsys: pytest.CaptureFixture[str]) -> None:
    port = url.rsplit(":", 1)[1]
    outcome = call(capsys, "assess", "serve", str(path), "--port", port)
    assert_refused(outcome, f"foveal: cannot listen at 127.0.0.1:{port}: ")


def test_a_server_for_many_answers_behind_a_proxy(path: Path) -> None:
    process, address = started(path, "--trusted-host", "assess.example.org", "--https")
    try:
        behind = {"Host": "assess.example.org", "X-Forwarded-For": "192.0.2.7"}
        answer = httpx.get(f"{address}login", headers=behind)
        assert answer.status_code == 200
        assert "Secure" in answer.headers["set-cookie"]
        assert httpx.get(f"{address}login").status_code == 400
    finally:
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=30)
