"""Nothing that was acknowledged is ever lost: killed servers, full disks, copies, two servers."""

from __future__ import annotations

import json
import random
import resource
import signal
import socket
import sqlite3
import subprocess
import sys
import threading
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager, suppress
from itertools import groupby, pairwise
from pathlib import Path
from typing import Any, NamedTuple
from uuid import UUID

import pytest

import foveal
from assess.serving import PAUSE, TRIES, Answer, Page, Server, running
from assess.small_disk import LONG_NOTE, on_small_disk
from assess_site import make_campaign
from foveal.assess.actions import EntryPoint
from foveal.assess.store import Campaign

ACTIONS = 1000
KILLS = 10
PATIENCE = 150.0
"""Seconds after which everybody gives up and the test fails: far more than it takes."""
TOPIC = "1"
DOCUMENTS = ("ferries", "bridges")
ASSESSORS = ("ann", "bob", "cyd", "dan")


class Acknowledged(NamedTuple):
    """An action of which a client was told that it is saved."""

    assessor: str
    doc: str
    version: int
    uuid: str
    action: dict[str, Any]
    state: dict[str, Any]
    repeated: bool


# -- what assessors do ----------------------------------------------------------------------------


class Failed(Exception):
    """One of the clients has failed: nobody needs to wait any longer."""


class Crowd:
    """Clients that act at the same time, and what they were told."""

    def __init__(self) -> None:
        self.acknowledged: list[Acknowledged] = []
        self.refused: set[str] = set()
        self.conflicts = 0
        self.given_up = threading.Event()
        self.failed = False
        self._changed = threading.Condition()

    def told(self, one: Acknowledged) -> None:
        with self._changed:
            self.acknowledged.append(one)
            self._changed.notify_all()

    def reach(self, count: int) -> None:
        """Wait until so many actions are acknowledged."""
        with self._changed:
            enough = self._changed.wait_for(
                lambda: self.failed or len(self.acknowledged) >= count, PATIENCE
            )
            assert enough, f"{len(self.acknowledged)} actions were acknowledged in all this time"
            if self.failed:
                raise Failed

    def run(self, url: str, name: str, seed: int, count: int) -> None:
        """`work`, of whose failure the others hear."""
        try:
            self.work(url, name, seed, count)
        except BaseException:
            with self._changed:
                self.failed = True
                self._changed.notify_all()
            self.given_up.set()
            raise

    def work(self, url: str, name: str, seed: int, count: int) -> None:
        """One tab of an assessor: it acts until `count` of its actions are acknowledged.

        As a page does, it goes on from the version that it knows, repeats an action under its name
        until it hears of it, and makes it on the newest version where another tab was faster.
        """
        chance = random.Random(seed)
        with Page(url, name, given_up=self.given_up) as page:
            known = {doc: page.open(TOPIC, doc)["version"] for doc in DOCUMENTS}
            done = 0
            while done < count:
                doc = chance.choice(DOCUMENTS)
                action = drawn(chance, page.measured[doc]["length"])
                uuid = str(UUID(int=chance.getrandbits(128)))
                answer = self._settled(page, doc, uuid, known, action)
                if answer is None:
                    return
                if answer.status == 422:
                    self.refused.add(uuid)
                    continue
                assert answer.status == 200, answer
                told = answer.content
                known[doc] = max(known[doc], told["version"])
                done += 1
                self.told(
                    Acknowledged(
                        name, doc, told["version"], uuid, action, told["state"], told["repeated"]
                    )
                )

    def _settled(
        self, page: Page, doc: str, uuid: str, known: dict[str, int], action: dict[str, Any]
    ) -> Answer | None:
        while True:
            answer = page.save(TOPIC, doc, uuid, known[doc], action)
            if answer is None or answer.status != 409:
                return answer
            assert answer.content["version"] > known[doc]
            known[doc] = answer.content["version"]
            self.conflicts += 1


@contextmanager
def crowd(urls: Sequence[str], names: Sequence[str], count: int) -> Iterator[Crowd]:
    """Each name acts at each address until it has `count` actions; then everybody has ended."""
    made = Crowd()
    places = [(url, name) for url in urls for name in names]
    with ThreadPoolExecutor(len(places)) as pool:
        work = [pool.submit(made.run, *place, seed, count) for seed, place in enumerate(places)]
        try:
            with suppress(Failed):  # the result of whoever has failed says more
                yield made
            for one in work:
                one.result(PATIENCE)
        finally:
            made.given_up.set()


def drawn(chance: random.Random, length: int) -> dict[str, Any]:
    """An action that may be refused: nothing to undo, nothing complete to validate."""
    kinds = ("highlight", "unhighlight", "bep", "note", "undo", "redo", "validate", "invalidate")
    kind = chance.choices(kinds, (50, 15, 8, 5, 8, 5, 5, 4))[0]
    start, end = sorted(chance.sample(range(length), 2))
    return {
        "highlight": {"kind": kind, "start": start, "end": end},
        "unhighlight": {"kind": kind, "start": start, "end": end},
        "bep": {"kind": kind, "start": start},
        "note": {"kind": kind, "text": f"\U0001f600 {start}"},
    }.get(kind, {"kind": kind})


# -- what must have come of it --------------------------------------------------------------------


def folded(actions: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """The state after each action, character by character."""
    before: list[tuple[frozenset[int], int | None, bool]] = []
    undone: list[tuple[frozenset[int], int | None, bool]] = []
    marked, bep, validated, note = frozenset[int](), None, False, ""
    for action in actions:
        kind, now = action["kind"], (marked, bep, validated)
        if kind == "undo":
            undone.append(now)
            marked, bep, validated = before.pop()
        elif kind == "redo":
            before.append(now)
            marked, bep, validated = undone.pop()
        elif kind == "note":
            note = action["text"]
        else:
            before.append(now)
            undone.clear()
            if kind == "highlight":
                marked |= set(range(action["start"], action["end"]))
            elif kind == "unhighlight":
                marked -= set(range(action["start"], action["end"]))
            elif kind == "bep":
                bep = action["start"]
            if kind in ("validate", "invalidate"):
                validated = kind == "validate"
            elif (marked, bep) != now[:2]:
                validated = False
        yield {
            "spans": runs(marked),
            "bep": bep,
            "grades": {},
            "note": note,
            "validated": validated,
        }


def runs(marked: Iterable[int]) -> list[list[int]]:
    """Characters as spans.

    >>> runs({0, 1, 2, 5})
    [[0, 3], [5, 6]]
    """
    found = []
    for _, group in groupby(enumerate(sorted(marked)), lambda pair: pair[1] - pair[0]):
        places = [place for _, place in group]
        found.append([places[0], places[-1] + 1])
    return found


def logged(path: Path) -> list[sqlite3.Row]:
    """The log of actions, read past the project's own code; the file must be whole."""
    with closing(sqlite3.connect(path)) as connection:
        connection.row_factory = sqlite3.Row
        assert [row[0] for row in connection.execute("PRAGMA integrity_check")] == ["ok"]
        assert connection.execute("PRAGMA foreign_key_check").fetchall() == []
        return connection.execute("SELECT * FROM actions ORDER BY id").fetchall()


def logs(path: Path) -> dict[tuple[str, str], list[sqlite3.Row]]:
    """Assessor and document to its actions; versions count from one without gaps."""
    found = defaultdict(list)
    for row in logged(path):
        found[row["assessor"], row["doc"]].append(row)
    for rows in found.values():
        assert [row["version"] for row in rows] == list(range(1, len(rows) + 1))
    return found


def assert_whole(path: Path) -> dict[tuple[str, str], dict[str, Any]]:
    """States are what the log leads to, in the file and in the export; returns them."""
    states = {}
    for key, rows in logs(path).items():
        *_, states[key] = folded(json.loads(row["payload"]) for row in rows)
    with Campaign.open(path) as campaign:
        kept = {(one, doc): state.to_json() for one, _, doc, _, state in campaign.assessments()}
    assert kept == states
    return states


def assert_exported(path: Path, states: dict[tuple[str, str], dict[str, Any]]) -> None:
    """`foveal assess export` has every state, with the text of its highlights."""
    out = path.with_name("export.jsonl")
    command = [sys.executable, "-m", "foveal", "assess", "export", str(path), "-o", str(out)]
    subprocess.run([*command, "--all"], check=True, capture_output=True, timeout=PATIENCE)
    assert len(foveal.read_judgements(str(out))) == len(states)
    with Campaign.open(path) as campaign:
        texts = {doc: campaign.document(doc).text for doc in DOCUMENTS}
    _, *lines = map(json.loads, out.read_text(encoding="utf-8").splitlines())
    found = {}
    for line in lines:
        text, spans = texts[line["doc"]], [[one["start"], one["end"]] for one in line["spans"]]
        assert [one["quote"] for one in line["spans"]] == [text[s:e] for s, e in spans]
        found[line["assessor"], line["doc"]] = (spans, line.get("bep"))
    assert len(found) == len(lines)
    assert found == {  # an entry point into nothing is none
        key: (state["spans"], state["bep"] if state["spans"] else None)
        for key, state in states.items()
    }


def assert_kept(path: Path, made: Crowd) -> None:
    """All that was acknowledged is in the log, once, as it was told; and nothing else is."""
    told = {one.uuid: one for one in made.acknowledged}
    assert len(told) == len(made.acknowledged)
    found = {}
    for key, rows in logs(path).items():
        actions = [json.loads(row["payload"]) for row in rows]
        for row, action, state in zip(rows, actions, folded(actions), strict=True):
            found[row["uuid"]] = (*key, row["version"], action, state)
    assert found == {
        uuid: (one.assessor, one.doc, one.version, one.action, one.state)
        for uuid, one in told.items()
    }
    assert made.refused.isdisjoint(found)
    assert_exported(path, assert_whole(path))


@pytest.fixture
def campaign(tmp_path: Path) -> Path:
    return make_campaign(tmp_path, assessors=ASSESSORS)


@pytest.fixture
def server(campaign: Path) -> Iterator[Server]:
    with running(campaign) as started:
        yield started


# -- killed ---------------------------------------------------------------------------------------


def test_a_server_that_is_ended_again_and_again_loses_nothing(server: Server) -> None:
    """Two tabs of each of four assessors act, and nobody waits for the server to be ready.

    It is killed and asked to stop in turn; when asked, it leaves everything in the file itself.
    """
    two_tabs = (server.url, server.url)
    with crowd(two_tabs, ASSESSORS, ACTIONS // 8) as everybody:
        for kill in range(1, KILLS + 1):
            everybody.reach(ACTIONS * kill // (KILLS + 1))
            if kill % 2:
                assert server.end() == -signal.SIGKILL
            else:
                assert server.end(signal.SIGTERM) == 0
                kept = set(copied_alone(server.campaign))
                assert {one.uuid for one in list(everybody.acknowledged)} <= kept
            server.start()
    assert len(everybody.acknowledged) == ACTIONS
    assert everybody.conflicts > 0  # two tabs, so that the test would notice a lost update
    assert_kept(server.campaign, everybody)


def test_what_was_saved_but_never_acknowledged_is_not_saved_twice(server: Server) -> None:
    """The answer is lost with the server: the page sends the action again."""
    action = {"kind": "highlight", "start": 2, "end": 9}
    with Page(server.url, "ann") as page, Campaign.open(server.campaign) as campaign:
        page.open(TOPIC, "ferries")
        uuid = "the-answer-is-lost"
        with socket.create_connection(("127.0.0.1", server.port), timeout=30) as line:
            line.sendall(raw(page, server, "ferries", uuid, action))
            while campaign.state("ann", TOPIC, "ferries")[0] == 0:
                page.waiting.wait(0.01)
            server.end()
        server.start()
        answer = page.save(TOPIC, "ferries", uuid, 0, action)
        assert answer is not None
        assert (answer.status, answer.content["repeated"], answer.content["version"]) == (
            200,
            True,
            1,
        )
        second = page.once(TOPIC, "ferries", uuid, 1, action)
        assert (second.status_code, second.json()["repeated"]) == (200, True)
    assert [row["uuid"] for row in logged(server.campaign)] == [uuid]


def raw(page: Page, server: Server, doc: str, uuid: str, action: dict[str, Any]) -> bytes:
    """A request to act, as bytes."""
    body = json.dumps(page.message(doc, uuid, 0, action)).encode()
    cookies = "; ".join(f"{name}={value}" for name, value in page.http.cookies.items())
    head = [
        f"POST /api/topics/{TOPIC}/documents/{doc}/actions HTTP/1.1",
        f"Host: 127.0.0.1:{server.port}",
        f"Cookie: {cookies}",
        f"X-CSRF-Token: {page.token}",
        "Content-Type: application/json",
        f"Content-Length: {len(body)}",
    ]
    return "\r\n".join([*head, "", ""]).encode() + body


def copied_alone(path: Path) -> list[str]:
    """The actions in a plain copy of the campaign's file, without its -wal file."""
    copy = path.with_name("copied-alone.fva")
    copy.write_bytes(path.read_bytes())
    try:
        return [row["uuid"] for row in logged(copy)]
    finally:
        copy.unlink()


def test_a_server_that_is_asked_to_stop_leaves_a_whole_file_beside_another_process(
    server: Server,
) -> None:
    """Only the last connection to a file moves everything into it unasked."""
    with Page(server.url, "ann") as page, closing(sqlite3.connect(server.campaign)) as other:
        other.execute("SELECT count(*) FROM actions").fetchone()
        page.open(TOPIC, "ferries")
        action = {"kind": "bep", "start": 1}
        assert page.once(TOPIC, "ferries", "before-the-end", 0, action).is_success
        assert server.end(signal.SIGTERM) == 0
        assert copied_alone(server.campaign) == ["before-the-end"]


def test_when_nobody_writes_a_plain_copy_has_everything(server: Server) -> None:
    with Page(server.url, "ann") as page:
        page.open(TOPIC, "ferries")
        for base, uuid in enumerate(["first-action", "second-action"]):
            action = {"kind": "bep", "start": base}
            assert page.once(TOPIC, "ferries", uuid, base, action).is_success
            for _ in range(TRIES):
                if uuid in copied_alone(server.campaign):
                    break
                page.waiting.wait(PAUSE)
            else:
                raise AssertionError(f"{uuid} is not in the file itself")


# -- no room --------------------------------------------------------------------------------------


@contextmanager
def no_room(server: Server) -> Iterator[None]:
    """No file of the server can grow beyond 4 KiB, as if the disk were full."""
    before = resource.prlimit(server.pid, resource.RLIMIT_FSIZE)
    resource.prlimit(server.pid, resource.RLIMIT_FSIZE, (4096, before[1]))
    try:
        yield
    finally:
        resource.prlimit(server.pid, resource.RLIMIT_FSIZE, before)


@pytest.mark.skipif(not hasattr(resource, "prlimit"), reason="limits of others are set on Linux")
def test_on_a_full_disk_nothing_is_acknowledged_and_the_page_can_try_again(server: Server) -> None:
    first, second = ({"kind": "highlight", "start": start, "end": 9} for start in (2, 0))
    with Page(server.url, "ann") as page:
        page.open(TOPIC, "ferries")
        assert page.once(TOPIC, "ferries", "there-is-room", 0, first).is_success
        with no_room(server):
            for _ in range(3):
                answer = page.once(TOPIC, "ferries", "there-is-none", 1, second)
                assert (answer.status_code, answer.json()["error"]) == (503, "disk")
            # What is there can still be read.
            found = page.document(TOPIC, "ferries")
            assert (found["version"], found["state"]["spans"]) == (1, [[2, 9]])
        assert [row["uuid"] for row in logged(server.campaign)] == ["there-is-room"]
        answer = page.once(TOPIC, "ferries", "there-is-none", 1, second)
        assert (answer.status_code, answer.json()["repeated"]) == (200, False)
        assert answer.json()["state"]["spans"] == [[0, 9]]
    assert_whole(server.campaign)


def test_assessors_are_told_that_the_disk_is_full(campaign: Path) -> None:
    with on_small_disk(campaign) as (server, disk), Page(server.url, "ann") as page:
        page.open(TOPIC, "ferries")
        disk.fill()
        note = {"kind": "note", "text": LONG_NOTE}
        answer = page.once(TOPIC, "ferries", "there-is-no-room", 0, note)
        assert (answer.status_code, answer.json()["error"]) == (503, "full")
        assert "disk is full" in answer.json()["reason"]
        assert page.document(TOPIC, "ferries")["version"] == 0
        disk.make_room()
        answer = page.once(TOPIC, "ferries", "there-is-no-room", 0, note)
        assert (answer.status_code, answer.json()["version"]) == (200, 1)


def test_a_save_waits_for_a_command_that_writes(server: Server) -> None:
    action = {"kind": "highlight", "start": 2, "end": 9}
    with ExitStack() as stack:
        page, other = (stack.enter_context(Page(server.url, name)) for name in ("ann", "bob"))
        page.open(TOPIC, "ferries")
        writer = stack.enter_context(
            closing(sqlite3.connect(server.campaign, isolation_level=None))
        )
        pool = stack.enter_context(ThreadPoolExecutor(1))
        writer.execute("BEGIN IMMEDIATE")
        saved = pool.submit(page.once, TOPIC, "ferries", "it-has-to-wait", 0, action)
        # Reading waits for nobody.
        assert other.get(f"/api/topics/{TOPIC}/pool").status_code == 200
        assert not saved.done()
        writer.execute("COMMIT")
        assert saved.result(PATIENCE).json()["version"] == 1
    assert [row["uuid"] for row in logged(server.campaign)] == ["it-has-to-wait"]


# -- copies ---------------------------------------------------------------------------------------


def test_a_backup_while_four_write_is_a_whole_campaign(server: Server) -> None:
    with (
        Campaign.open(server.campaign) as campaign,
        crowd([server.url], ASSESSORS, 50) as everybody,
    ):
        copies = []
        for part in (20, 60, 100):
            everybody.reach(part)
            before = {one.uuid for one in list(everybody.acknowledged)}
            copy = server.campaign.with_name(f"copy-{part}.fva")
            campaign.backup(copy)
            copies.append((copy, before))
    assert_kept(server.campaign, everybody)
    last = [row["uuid"] for row in logged(server.campaign)]
    for copy, before in copies:
        assert_whole(copy)
        found = [row["uuid"] for row in logged(copy)]
        assert before <= set(found)
        assert found == last[: len(found)]  # a moment of the campaign
    sizes = [len(logged(copy)) for copy, _ in copies]
    assert all(one < other for one, other in pairwise(sizes))


def test_a_backup_does_not_begin_again_whenever_somebody_writes(campaign: Path) -> None:
    """A large campaign is copied in steps; what is saved between them is for the next copy."""
    with closing(sqlite3.connect(campaign)) as connection:
        connection.execute("CREATE TABLE ballast AS SELECT zeroblob(30000000) AS weight")
        connection.commit()
    copy, steps = campaign.with_name("copy.fva"), list[int]()
    with Campaign.open(campaign) as copied, Campaign.open(campaign) as used:
        document = used.document("ferries")
        measured = {"length": document.length, "digest": document.sha256}

        def act() -> None:
            action, number = EntryPoint(len(steps)), len(steps)
            used.act("ann", TOPIC, "ferries", f"action-{number}", number, action, **measured)

        def between(done: int, total: int) -> None:
            steps.append(done)
            assert len(steps) < 20
            act()

        act()
        copied.backup(copy, progress=between)
    assert len(steps) > 2
    assert all(one < other for one, other in pairwise(steps))
    assert [row["uuid"] for row in logged(copy)] == ["action-0"]
    assert len(logged(campaign)) == 1 + len(steps)
    assert_whole(copy)


# -- two servers ----------------------------------------------------------------------------------


def test_two_servers_of_one_campaign_lose_nothing(server: Server) -> None:
    with (
        running(server.campaign) as other,
        crowd([server.url, other.url], ASSESSORS[:2], 40) as everybody,
    ):
        pass
    assert everybody.conflicts > 0
    assert len(everybody.acknowledged) == 2 * 2 * 40
    assert_kept(server.campaign, everybody)
