"""A campaign's file: what it is made of, who works on it, and that nothing foreign is opened."""

from __future__ import annotations

import json
import sqlite3
import zipfile
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assess.campaigns import (
    ANN,
    BOB,
    DOCUMENTS,
    PLAIN,
    POOL,
    TOPICS,
    act,
    index_of,
    make,
    make_version_1,
    pool_of,
    pool_text,
    write_documents,
)
from foveal.assess import database
from foveal.assess.actions import Highlight, Validate
from foveal.assess.documents import page_digest
from foveal.assess.store import Campaign
from foveal.collection import BuildOptions, Collection, build_index
from foveal.errors import InputError, UsageError
from foveal.model import Topics
from inputs import refusal


@pytest.fixture
def campaign(tmp_path: Path):
    with make(tmp_path) as made:
        yield made


# -- making one -----------------------------------------------------------------------------------


def test_a_campaign_holds_what_it_was_made_of(campaign: Campaign) -> None:
    assert campaign.topics.ids == ("1", "2")
    assert campaign.topics["1"] == TOPICS[0]
    assert (campaign.procedure, campaign.blind) == ("2006", True)
    assert [user.name for user in campaign.users()] == [ANN, BOB]
    assert campaign.list_assigned(ANN) == ("1", "2")
    assert [(e.doc, e.title, e.added_by) for e in campaign.pool("1")] == [
        ("music", "Music & sea \U0001f30a", None),
        ("sea", "The sea", None),
        ("deep/script", "deep/script", None),
    ]


def test_support_is_on_the_text_with_all_who_returned_it(campaign: Campaign) -> None:
    music, sea, script = campaign.pool("1")
    path = "/article[1]/body[1]/sec[1]/p[2]"
    element = campaign.collection.element("music", path)
    assert {(s["start"], s["end"], s["path"]) for s in music.support} == {
        (element.start, element.end, path),
        (5, 20, None),
    }
    assert sea.support == [
        {"start": 0, "end": sea.length, "path": "/doc[1]", "runs": [{"run": "a", "rank": 3}]}
    ]
    assert script.support == []


@pytest.mark.parametrize("unit", ["element", "span"])
def test_pools_of_elements_and_spans_become_documents_with_support(
    tmp_path: Path, unit: str
) -> None:
    places = {
        "element": [{"xpath": "/doc/p[2]"}, {"xpath": "/doc[1]/p[1]"}],
        "span": [{"start": 5, "end": 9}, {"start": 0, "end": 7}],
    }[unit]
    rows = [
        {"topic": "2", "doc": "sea", "priority": i, "runs": [("a", i), ("b", 3)], **place}
        for i, place in enumerate(places, 1)
    ]
    with make(tmp_path, pool=pool_of(rows, pooled=unit)) as campaign:
        assert campaign.topics.ids == ("2",)  # the other has no pool
        (entry,) = campaign.pool("2")
        assert len(entry.support) == 2
        assert entry.support[0]["runs"] == [{"run": "a", "rank": 2}, {"run": "b", "rank": 3}]
        paths = [one["path"] for one in entry.support]
        assert paths == (["/doc[1]/p[1]", "/doc[1]/p[2]"] if unit == "element" else [None, None])


def test_all_that_does_not_fit_is_told_at_once_with_its_line(tmp_path: Path) -> None:
    wrong = (
        {**POOL[0], "topic": "9"},
        {**POOL[0], "support": [("a", 1, None, None, "/article/nowhere")]},
        {**POOL[1], "doc": "lost"},
        {**POOL[3], "support": [("a", 1, 0, 9_999, None)]},
    )
    (tmp_path / "pool.jsonl").write_text(pool_text(wrong))
    index = index_of(tmp_path)
    with pytest.raises(InputError) as refused:
        make(
            tmp_path,
            collection=index,
            pool=pool_of(wrong),
            pool_path=str(tmp_path / "pool.jsonl"),
        )
    sea = index.element("sea", "/doc").end
    said = [str(problem).removeprefix(f"{tmp_path}/") for problem in refused.value.problems]
    assert sorted(said) == [
        "pool.jsonl:2: topic '9' is not among the topics",
        "pool.jsonl:3: document 'music' has no element '/article/nowhere'",
        "pool.jsonl:4: document 'lost' is not in the collection",
        f"pool.jsonl:5: a result ends at 9999, past the end of document 'sea' of {sea} characters",
    ]
    assert sorted(p.name for p in tmp_path.iterdir()) == ["documents", "index.fvx", "pool.jsonl"]


def test_an_index_that_does_not_count_white_space_as_seen_is_refused(tmp_path: Path) -> None:
    index = index_of(tmp_path, options=BuildOptions(whitespace="merge"))
    assert "--whitespace keep" in refusal(lambda: make(tmp_path, collection=index))


def test_documents_that_have_changed_since_are_refused_and_nothing_is_left(tmp_path: Path) -> None:
    index = index_of(tmp_path)
    (tmp_path / "documents" / "sea.xml").write_text("<doc><p>The lake.</p></doc>")
    said = refusal(lambda: make(tmp_path, collection=index))
    assert "holds no document 'sea' with the text that was indexed" in said
    assert sorted(p.name for p in tmp_path.iterdir()) == ["documents", "index.fvx"]


def test_nothing_is_written_over(campaign: Campaign, tmp_path: Path) -> None:
    assert "is there already" in refusal(lambda: make(tmp_path, collection=campaign.collection))
    campaign.backup(tmp_path / "copy")
    assert "is there already" in refusal(lambda: campaign.backup(tmp_path / "copy"))


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"procedure": "1999"}, "procedure '1999' is not known"),
        ({"store": "some"}, "cannot store 'some'"),
        ({"assessors": ("final",)}, "'final' is reserved"),
        ({"assessors": (" ann",)}, "is not a name"),
        ({"assessors": ("",)}, "is not a name"),
        ({"assessors": ("a\nb",)}, "is not a name"),
    ],
)
def test_wrong_use_is_refused(tmp_path: Path, wrong: dict, said: str) -> None:
    assert said in refusal(lambda: make(tmp_path, **wrong), error=UsageError)


def test_names_in_archives_are_those_of_the_index(tmp_path: Path) -> None:
    folder = write_documents(tmp_path)
    with zipfile.ZipFile(tmp_path / "all.zip", "w") as archive:
        for file in sorted(folder.rglob("*.*")):
            archive.write(file, f"top/{file.relative_to(folder)}")
    build_index(tmp_path / "all.zip", tmp_path / "zip.fvx")
    index = Collection.open(tmp_path / "zip.fvx")
    with make(tmp_path, collection=index, source=tmp_path / "all.zip", store="pooled") as campaign:
        assert campaign.document("notes").text == PLAIN
        assert campaign.document("deep/script").text.endswith("plain sea")


def test_names_from_within(tmp_path: Path) -> None:
    folder = write_documents(tmp_path, {"x.xml": "<d><id> sea </id><p>text</p></d>"})
    build_index(folder, tmp_path / "i.fvx", BuildOptions(name_tag="id"))
    index = Collection.open(tmp_path / "i.fvx")
    with make(tmp_path, collection=index, pool=pool_of(POOL[3:]), name_tag="id") as campaign:
        assert campaign.document("sea").text == " sea text"


# -- documents ------------------------------------------------------------------------------------


def test_texts_are_those_of_the_index_whether_stored_or_read(tmp_path: Path) -> None:
    with make(tmp_path, store="pooled") as campaign:
        digests = campaign.collection.digests()
        for name in campaign.collection:
            document = campaign.document(name)
            assert document.length == len(document.text)
            assert document.digest == digests[name].hex()
            assert document.sha256 == page_digest(document.text)
            for path, start, end in campaign.collection.all_elements(name):
                elements = campaign.elements(name)
                at = elements.number[path]
                assert (elements.start[at], elements.end[at]) == (start, end)
        with pytest.raises(KeyError):
            campaign.document("../../etc/passwd")
        with pytest.raises(KeyError):
            campaign.elements("nothing")


def test_a_document_that_was_read_once_stays(tmp_path: Path) -> None:
    with make(tmp_path, store="pooled") as campaign:
        assert campaign.document("notes").text == PLAIN
    (tmp_path / "documents" / "notes.txt").unlink()
    with Campaign.open(tmp_path / "a.campaign") as campaign:
        assert campaign.document("notes").text == PLAIN
        assert "holds no document 'empty'" in refusal(lambda: _without_source(campaign))


def _without_source(campaign: Campaign) -> None:
    (campaign.source / "empty.xml").unlink()
    campaign.document("empty")


def test_half_a_surrogate_pair_is_kept_and_hashed_as_a_browser_does(tmp_path: Path) -> None:
    (tmp_path / "documents").mkdir()
    line = json.dumps({"doc": "sea", "text": "half \ud83d of a pair"})
    (tmp_path / "documents" / "d.jsonl").write_text(line)
    build_index(tmp_path / "documents", tmp_path / "i.fvx")
    index = Collection.open(tmp_path / "i.fvx")
    with make(tmp_path, collection=index, pool=pool_of(POOL[3:])) as campaign:
        document = campaign.document("sea")
        assert document.text == "half \ud83d of a pair"
        assert document.sha256 == page_digest("half \ufffd of a pair")
        assert [found.doc for found in campaign.search("pair")] == ["sea"]


def test_documents_can_be_added_to_a_pool_once(campaign: Campaign) -> None:
    assert campaign.add_document("2", "music", ANN)
    assert not campaign.add_document("2", "music", BOB)
    assert [(e.doc, e.priority, e.added_by) for e in campaign.pool("2")] == [
        ("sea", 1, None),
        ("music", 2, ANN),
    ]
    with pytest.raises(KeyError):
        campaign.add_document("2", "nothing", ANN)
    assert "no topic '3'" in refusal(campaign.add_document, "3", "sea", ANN, error=UsageError)


def test_search_finds_words_and_names_and_no_query_is_an_error(campaign: Campaign) -> None:
    assert {found.doc for found in campaign.search("sea")} == {"music", "sea", "deep/script"}
    assert [found.doc for found in campaign.search("wide very")] == ["sea"]
    assert [found.doc for found in campaign.search("astr")] == ["notes"]  # as it is typed
    assert [found.doc for found in campaign.search("deep")] == ["deep/script"]
    assert "very wide" in campaign.search("wide")[0].snippet
    assert len(campaign.search("sea", limit=1)) == 1
    assert campaign.search("sea", limit=5, offset=3) == []


@given(st.text(max_size=20) | st.sampled_from(['"', "a AND", "NEAR(", "* ^ -", "x:y", "\0", "_"]))
@settings(max_examples=60)
def test_no_query_breaks_the_search(searched: Campaign, query: str) -> None:
    for found in searched.search(query):
        assert found.doc in searched.collection.documents["doc"]


@pytest.fixture(scope="module")
def searched(tmp_path_factory: pytest.TempPathFactory):
    with make(tmp_path_factory.mktemp("searched")) as made:
        yield made


# -- people, events, settings ---------------------------------------------------------------------


def test_accounts_and_assignments(campaign: Campaign) -> None:
    campaign.add_user("cy", "organiser", "encoded")
    assert campaign.user("cy")[:3] == ("cy", "organiser", "encoded")
    assert "already a user" in refusal(campaign.add_user, "cy", error=UsageError)
    assert "role 'boss'" in refusal(campaign.add_user, "dee", "boss", error=UsageError)
    campaign.set_password("cy", "other")
    campaign.set_role("cy", "assessor")
    assert campaign.user("cy")[1:3] == ("assessor", "other")
    assert "no user 'eve'" in refusal(campaign.set_password, "eve", "x", error=UsageError)
    campaign.assign("2", "cy")
    campaign.assign("2", "cy")
    assert campaign.assessors("2") == (ANN, BOB, "cy")
    campaign.unassign("2", ANN)
    assert campaign.list_assigned(ANN) == ("1",)
    assert "no topic '9'" in refusal(campaign.assign, "9", ANN, error=UsageError)
    assert "no user 'eve'" in refusal(campaign.assign, "1", "eve", error=UsageError)


def test_progress_counts_what_was_seen_validated_and_found(campaign: Campaign) -> None:
    campaign.log(ANN, "1", "sea", "view", {})
    campaign.log(ANN, "1", "sea", "view", {})
    campaign.log(ANN, "1", "sea", "time", {"seconds": 12.5})
    campaign.log(ANN, "1", "music", "view", {})
    campaign.log(ANN, "1", "sea", "time", {"seconds": 2})
    act(campaign, Highlight(1, 4))
    act(campaign, Validate(), doc="deep/script")
    campaign.unassign("2", BOB)
    assert campaign.progress() == [
        ("1", ANN, 3, 3, 1, 1, 14.5),
        ("1", BOB, 3, 0, 0, 0, 0.0),
        ("2", ANN, 1, 0, 0, 0, 0.0),
    ]
    viewed = campaign.list_viewed(ANN, "1")
    assert [(v.doc, v.title, v.views, v.seconds) for v in viewed] == [
        ("music", "Music & sea \U0001f30a", 1, 0.0),
        ("sea", "The sea", 2, 14.5),
    ]
    assert campaign.seconds(ANN, "1", "sea") == 14.5
    assert campaign.seconds(BOB, "1", "sea") == 0.0


# -- the file -------------------------------------------------------------------------------------


def test_a_backup_is_a_campaign_that_finds_its_index(campaign: Campaign, tmp_path: Path) -> None:
    act(campaign, Highlight(1, 4))
    (tmp_path / "away" / "far").mkdir(parents=True)
    campaign.backup(tmp_path / "away" / "far" / "copy")
    act(campaign, Highlight(8, 9))
    with Campaign.open(tmp_path / "away" / "far" / "copy") as copy:
        assert copy.state(ANN, "1", "music")[1].spans == ((1, 4),)
        assert copy.document("music") == campaign.document("music")
        assert copy.source.resolve() == campaign.source.resolve()
    assert [p.name for p in (tmp_path / "away" / "far").iterdir()] == ["copy"]


def test_every_campaign_has_an_identity_of_its_own_which_backups_keep(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    given = {"blind": True}  # made, not copied
    with make(tmp_path, **given) as campaign, make(tmp_path / "other", **given) as other:
        assert campaign.identity != other.identity
        campaign.backup(tmp_path / "copy")
        with Campaign.open(tmp_path / "copy") as copy:
            assert copy.identity == campaign.identity


def test_a_campaign_of_an_older_foveal_gets_an_identity_for_good(campaign: Campaign) -> None:
    campaign.close()
    make_version_1(campaign.path)
    with Campaign.open(campaign.path) as one, Campaign.open(campaign.path) as two:
        assert len(one.identity) == 32
        assert one.identity == two.identity != campaign.identity


def test_commits_wait_for_the_disk_and_for_each_other(campaign: Campaign) -> None:
    for connection in (campaign.reading(), campaign._writer):
        assert connection.execute("PRAGMA journal_mode").fetchone()[0] == "wal"
        assert connection.execute("PRAGMA synchronous").fetchone()[0] == 2  # FULL
        assert connection.execute("PRAGMA busy_timeout").fetchone()[0] >= 5000
        assert connection.execute("PRAGMA foreign_keys").fetchone()[0] == 1


def test_files_that_are_no_campaign_are_refused(tmp_path: Path) -> None:
    assert "no such file" in refusal(Campaign.open, tmp_path / "nothing")
    assert "is a directory" in refusal(Campaign.open, tmp_path)
    for content in (b"", b"not a database", b"SQLite format 3\0" + b"x" * 4000):
        (tmp_path / "x").write_bytes(content)
        assert "campaign" in refusal(Campaign.open, tmp_path / "x")
    with closing(sqlite3.connect(tmp_path / "other")) as other, other:
        other.execute("CREATE TABLE meta (key, value)")
    assert "is not a campaign" in refusal(Campaign.open, tmp_path / "other")
    assert not list(tmp_path.glob("*-wal"))


def test_a_damaged_campaign_is_refused(campaign: Campaign) -> None:
    campaign.close()
    data = bytearray(campaign.path.read_bytes())
    data[1024:] = b"\xff" * (len(data) - 1024)
    campaign.path.write_bytes(data)
    assert "is damaged" in refusal(Campaign.open, campaign.path)


def test_a_campaign_of_the_future_is_refused_and_stays_as_it_is(campaign: Campaign) -> None:
    campaign.close()
    with closing(sqlite3.connect(campaign.path)) as other, other:
        other.execute(f"PRAGMA user_version = {database.VERSION + 1}")
    said = refusal(Campaign.open, campaign.path)
    assert f"of version {database.VERSION + 1}, expected {database.VERSION} or older" in said


def test_an_old_campaign_is_brought_up_step_by_step(
    campaign: Campaign, monkeypatch: pytest.MonkeyPatch
) -> None:
    campaign.close()
    now = database.VERSION
    monkeypatch.setattr(database, "VERSION", now + 2)
    monkeypatch.setitem(database.MIGRATIONS, now, "ALTER TABLE pool ADD COLUMN one TEXT;")
    monkeypatch.setitem(database.MIGRATIONS, now + 1, "ALTER TABLE pool ADD COLUMN two TEXT;")
    with Campaign.open(campaign.path) as opened:
        (row,) = opened.reading().execute("SELECT one, two FROM pool LIMIT 1").fetchall()
        assert tuple(row) == (None, None)
        assert opened.reading().execute("PRAGMA user_version").fetchone()[0] == now + 2


def test_a_migration_that_fails_leaves_the_file_as_it_was(
    campaign: Campaign, monkeypatch: pytest.MonkeyPatch
) -> None:
    campaign.close()
    now = database.VERSION
    monkeypatch.setattr(database, "VERSION", now + 1)
    monkeypatch.setitem(
        database.MIGRATIONS, now, "ALTER TABLE pool ADD COLUMN one TEXT; DROP TABLE nothing;"
    )
    assert "cannot be used as a campaign" in refusal(Campaign.open, campaign.path)
    monkeypatch.undo()
    with Campaign.open(campaign.path) as opened:
        columns = opened.reading().execute("PRAGMA table_info(pool)").fetchall()
        assert "one" not in [column["name"] for column in columns]


def test_another_index_is_refused(campaign: Campaign, tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    other = index_of(tmp_path / "b", {**DOCUMENTS, "sea.xml": "<doc><p>lake</p></doc>"})
    said = refusal(lambda: Campaign.open(campaign.path, collection=other))
    assert "is not the index of" in said
    campaign.close()
    (tmp_path / "index.fvx").rename(tmp_path / "moved.fvx")
    assert "say where it is (--collection)" in refusal(Campaign.open, campaign.path)
    moved = Collection.open(tmp_path / "moved.fvx")
    with Campaign.open(campaign.path, collection=moved) as opened:
        assert opened.document("sea").title == "The sea"


def test_topics_keep_all_their_fields(tmp_path: Path) -> None:
    full = replace(TOPICS[0], castitle="//p[about(., sea)]", keywords="a\U0001f600", ct_no="7")
    with make(tmp_path, topics=Topics.of([full]), pool=pool_of(POOL[:3])) as campaign:
        assert campaign.topics["1"] == full
