"""A damaged campaign is reported in one line with what to do, and never served or copied."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from assess.campaigns import ANN, act, make
from command import call
from foveal.assess.actions import Highlight


@pytest.fixture
def campaign(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    with make(tmp_path) as made:
        act(made, Highlight(1, 4))
    return made.path


def damage(path: Path, table: str) -> None:
    """Overwrite the beginning of a table's first page, as a failing disk might."""
    with closing(sqlite3.connect(path)) as connection:
        (size,) = connection.execute("PRAGMA page_size").fetchone()
        query = "SELECT rootpage FROM sqlite_master WHERE name = ?"
        (page,) = connection.execute(query, (table,)).fetchone()
    with path.open("rb+") as stream:
        stream.seek(size * (page - 1))
        stream.write(b"\xff" * 100)


@pytest.mark.parametrize("table", ["actions", "events_of", "documents", "meta"])
@pytest.mark.parametrize("command", ["serve --no-open --port 0", "backup"])
def test_a_damaged_campaign_is_neither_served_nor_copied(
    campaign: Path, table: str, command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    damage(campaign, table)
    name, *options = command.split()
    copy = ["copy"] if name == "backup" else []
    outcome = call(capsys, "assess", name, campaign.name, *copy, *options)
    assert (outcome.code, outcome.out) == (2, "")
    (line,) = outcome.err.splitlines()
    assert line.startswith(f"{campaign.name}: the campaign is damaged")
    assert "foveal assess backup" in line
    assert not list(campaign.parent.glob("*copy*"))


@pytest.mark.parametrize(
    "command", ["status", "export --all -o out.jsonl", "user eve", "assign --assessor ann"]
)
def test_commands_that_meet_the_damage_say_so(
    campaign: Path, command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    for table in ("users", "assignments", "assessments"):
        damage(campaign, table)
    name, *options = command.split()
    outcome = call(capsys, "assess", name, campaign.name, *options)
    assert (outcome.code, outcome.out) == (2, "")
    (line,) = outcome.err.splitlines()
    assert line.startswith(f"{campaign.name}: the campaign is damaged")


@pytest.mark.parametrize("written", [b"\xff\xfe", b"no JSON"])
def test_stored_values_that_cannot_be_read_are_damage(
    campaign: Path, written: bytes, capsys: pytest.CaptureFixture[str]
) -> None:
    with closing(sqlite3.connect(campaign)) as connection, connection:
        connection.execute("UPDATE assessments SET state = CAST(? AS TEXT)", (written,))
    outcome = call(capsys, "assess", "export", campaign.name, "--all", "-o", "out.jsonl")
    assert outcome.code == 2
    (line,) = outcome.err.splitlines()
    assert line.startswith(f"{campaign.name}: the campaign is damaged")


def test_what_can_still_be_read_can_be_exported(
    campaign: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """As the message about the damage advises."""
    damage(campaign, "events")
    outcome = call(capsys, "assess", "export", campaign.name, "--all", "-o", "rescued.jsonl")
    assert outcome.code == 0, outcome
    with make(campaign.parent, name="new.campaign") as made:
        pass
    outcome = call(capsys, "assess", "import", "new.campaign", "rescued.jsonl", "--assessor", ANN)
    assert outcome.code == 0, outcome
    with made.open(made.path) as opened:
        assert opened.state(ANN, "1", "music")[1].spans == ((1, 4),)


def test_a_campaign_that_is_being_written_by_another_program_is_not_called_damaged(
    campaign: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("foveal.assess.database._PATIENCE", 0.0)
    with closing(sqlite3.connect(campaign, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        outcome = call(capsys, "assess", "user", campaign.name, "eve")
    assert outcome.code == 2
    assert outcome.err.startswith(f"{campaign.name}: another program is writing to it")
