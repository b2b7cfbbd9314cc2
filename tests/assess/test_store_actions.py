"""Actions in a campaign's file: nothing is lost, nothing is saved twice."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest

from assess.campaigns import (
    ANN,
    BOB,
    act,
    make,
    replay,
)
from foveal.assess.actions import (
    EntryPoint,
    Grade,
    Highlight,
    RefusedError,
    Replace,
    State,
    Undo,
    Unhighlight,
    Validate,
)
from foveal.assess.documents import page_digest
from foveal.assess.people import FINAL
from foveal.assess.store import Campaign, ConflictError
from foveal.errors import UsageError
from inputs import refusal


@pytest.fixture
def campaign(tmp_path: Path):
    with make(tmp_path) as made:
        yield made


def test_an_action_is_there_after_the_file_is_opened_again(campaign: Campaign) -> None:
    saved = act(campaign, Highlight(3, 9))
    assert (saved.version, saved.state.spans, saved.can_undo) == (1, ((3, 9),), True)
    with Campaign.open(campaign.path) as other:
        assert other.state(ANN, "1", "music") == (1, saved.state)
        assert other.history(ANN, "1", "music").can_undo
    assert campaign.state(BOB, "1", "music") == (0, State())


def test_the_same_action_again_is_saved_once_and_answered_alike(campaign: Campaign) -> None:
    first = act(campaign, Highlight(3, 9), uuid="x")
    act(campaign, Highlight(20, 30))
    for base in (0, 1, 2, 77):
        again = act(campaign, Highlight(3, 9), uuid="x", base=base)
        assert again == first._replace(repeated=True)
    assert campaign.state(ANN, "1", "music")[0] == 2


def test_one_name_for_two_actions_is_refused(campaign: Campaign) -> None:
    act(campaign, Highlight(3, 9), uuid="x")
    for other in ({"doc": "sea"}, {"assessor": BOB}, {}):
        action = Highlight(3, 9) if other else Highlight(3, 10)
        with pytest.raises(RefusedError, match="already names another action"):
            act(campaign, action, uuid="x", **other)


def test_an_action_on_an_old_version_is_a_conflict_that_tells_the_last(campaign: Campaign) -> None:
    act(campaign, Highlight(3, 9))
    with pytest.raises(ConflictError) as conflict:
        act(campaign, EntryPoint(3), base=0)
    newest = conflict.value.newest
    assert (newest.version, newest.state.spans) == (1, ((3, 9),))
    assert (newest.can_undo, newest.can_redo) == (True, False)
    assert campaign.state(ANN, "1", "music")[0] == 1


def test_an_action_on_another_text_is_refused(campaign: Campaign) -> None:
    document = campaign.document("music")
    for length, digest in (
        (document.length + 1, document.sha256),
        (document.length, document.digest),
        (document.length, page_digest("other")),
    ):
        with pytest.raises(RefusedError, match="nothing was saved"):
            campaign.act(ANN, "1", "music", "x", 0, EntryPoint(1), length=length, digest=digest)
    assert campaign.actions(ANN, "1", "music") == []


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"assessor": "eve"}, "unknown assessor 'eve'"),
        ({"topic": "9"}, "not in the pool of topic '9'"),
        ({"topic": "2"}, "'music' is not in the pool of topic '2'"),
        ({"uuid": "a\nb"}, "cannot name an action"),
        ({"uuid": "x" * 101}, "cannot name an action"),
    ],
)
def test_actions_by_nobody_and_on_nothing_are_refused(
    campaign: Campaign, given: dict, said: str
) -> None:
    with pytest.raises(RefusedError, match=said):
        act(campaign, EntryPoint(1), **given)


def test_the_clock_of_a_page_is_noted_and_must_be_one(campaign: Campaign) -> None:
    document = campaign.document("sea")
    sent = {"length": document.length, "digest": document.sha256}
    with pytest.raises(RefusedError, match="is not a time"):
        campaign.act(ANN, "1", "sea", "x", 0, EntryPoint(1), client_at="\ud800", **sent)
    campaign.act(ANN, "1", "sea", "x", 0, EntryPoint(1), client_at="2026-01-01T00:00Z", **sent)
    (row,) = campaign.reading().execute("SELECT at, client_at FROM actions").fetchall()
    assert row["client_at"] == "2026-01-01T00:00Z"
    assert row["at"].endswith("+00:00")


def test_what_is_not_complete_is_not_validated(campaign: Campaign) -> None:
    act(campaign, Highlight(3, 9))
    with pytest.raises(RefusedError, match=r"cannot be validated: .* best entry point is missing"):
        act(campaign, Validate())
    with pytest.raises(RefusedError, match="best entry point is missing"):
        act(campaign, Replace(state=State(((1, 2),), validated=True)))
    act(campaign, EntryPoint(4))
    assert act(campaign, Validate()).state.validated
    assert campaign.states(ANN, "1") == {"music": (3, True, True, 1)}
    assert not act(campaign, Unhighlight(3, 5)).state.validated
    assert act(campaign, Undo()).state.validated
    assert act(campaign, Validate(), doc="sea").state.validated  # nothing relevant


def test_grades_are_looked_at_with_the_elements_of_the_document(tmp_path: Path) -> None:
    with make(tmp_path, procedure="2005") as campaign:
        act(campaign, Highlight(8, 30), doc="sea")
        act(campaign, EntryPoint(8), doc="sea")
        with pytest.raises(RefusedError, match=r"has no grade of exhaustivity \(and 3 more\)"):
            act(campaign, Validate(), doc="sea")
        for path, value in (("/doc[1]/p[1]/i[1]", "?"), ("/doc[1]/p[1]", "2")):
            grade = {"exhaustivity": value}
            act(campaign, Grade(path=path, grade=grade), doc="sea")
        with pytest.raises(RefusedError, match="at least as exhaustive"):
            act(
                campaign,
                Grade(path="/doc[1]", grade={"exhaustivity": "1"}),
                doc="sea",
            )
        (lacking,) = campaign.list_missing("1", "sea", campaign.state(ANN, "1", "sea")[1])
        assert lacking.path == "/doc[1]/p[2]"


def test_2003_asks_for_what_runs_returned(tmp_path: Path) -> None:
    with make(tmp_path, procedure="2003") as campaign:
        path = "/article[1]/body[1]/sec[1]/p[2]"
        around = campaign.collection.smallest_around("music", 5, 20).xpath
        assert set(campaign.list_pooled("1", "music")) == {path, around}
        assert campaign.list_pooled("1", "sea") == ("/doc[1]",)
        none = {"exhaustivity": "0", "specificity": "0"}
        act(campaign, Grade(path="/doc[1]", grade=none), doc="sea")
        act(campaign, Validate(), doc="sea")
        assert campaign.states(ANN, "1")["sea"] == (2, False, True, 0)


def test_a_new_thread_reads_while_somebody_writes(campaign: Campaign) -> None:
    with ThreadPoolExecutor(1) as pool, campaign.writing():
        asked = pool.submit(campaign.pool, "1")
        try:
            docs = [entry.doc for entry in asked.result(20)]
        except TimeoutError:
            docs = None  # told below, when the thread can end
    assert docs == [entry.doc for entry in campaign.pool("1")]


def test_a_commit_that_fails_leaves_nothing(campaign: Campaign) -> None:
    act(campaign, Highlight(1, 4))
    with closing(sqlite3.connect(campaign.path)) as other, other:
        other.execute(
            "CREATE TRIGGER full BEFORE INSERT ON assessments BEGIN SELECT RAISE(ABORT, 'x'); END"
        )
    with pytest.raises(sqlite3.IntegrityError):
        act(campaign, Highlight(8, 9))
    with closing(sqlite3.connect(campaign.path)) as other, other:
        other.execute("DROP TRIGGER full")
    assert campaign.history(ANN, "1", "music").version == 1
    assert act(campaign, Highlight(8, 9)).state.spans == ((1, 4), (8, 9))


_WORKER = """
import sys
from assess.campaigns import act
from foveal.assess.actions import Highlight
from foveal.assess.store import Campaign

campaign = Campaign.open(sys.argv[1])
for number in range(int(sys.argv[2]), 100_000):
    act(campaign, Highlight(number % 60, number % 60 + 2), uuid=f"n{number}")
    print(f"n{number}", flush=True)
"""


def test_what_was_acknowledged_survives_a_kill_and_is_there_once(campaign: Campaign) -> None:
    campaign.close()
    acknowledged: list[str] = []
    folders = os.pathsep.join(path for path in sys.path if path)
    for turn in range(3):
        with subprocess.Popen(
            [sys.executable, "-c", _WORKER, str(campaign.path), str(1000 * turn)],
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": folders},
        ) as worker:
            for _, line in zip(range(15), worker.stdout, strict=False):
                acknowledged.append(line.strip())
            worker.kill()
            # What was on its way out when it was killed was acknowledged, too.
            acknowledged += worker.stdout.read().split()
        with Campaign.open(campaign.path) as again:
            rows = again.reading().execute("SELECT uuid FROM actions ORDER BY version").fetchall()
            saved = [row["uuid"] for row in rows]
            assert len(set(saved)) == len(saved) == again.state(ANN, "1", "music")[0]
            assert set(acknowledged) <= set(saved)
            assert list(again.assessments()) == replay(again)
    assert len(acknowledged) >= 45


def test_the_log_only_grows(campaign: Campaign) -> None:
    act(campaign, Highlight(1, 4))
    campaign.log(ANN, "1", "music", "view", {})
    for table in ("actions", "events"):
        for statement in (f"UPDATE {table} SET assessor = 'eve'", f"DELETE FROM {table}"):
            with (
                closing(sqlite3.connect(campaign.path)) as other,
                pytest.raises(sqlite3.IntegrityError, match="never"),
            ):
                other.execute(statement)


def test_the_adjudicated_set_needs_no_account(campaign: Campaign) -> None:
    act(campaign, Highlight(1, 4), assessor=FINAL)
    assert campaign.state(FINAL, "1", "music")[0] == 1
    assert campaign.user(FINAL) is None
    assert "is reserved" in refusal(campaign.add_user, FINAL, error=UsageError)
