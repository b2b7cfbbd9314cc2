"""``foveal assess``: from an index, topics and a pool to judgements that a run is scored with."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assess.campaigns import TOPICS, act, index_of, pool_text
from command import Outcome, call
from foveal.assess.accounts import check_password
from foveal.assess.actions import EntryPoint, Highlight, Validate
from foveal.assess.adjudication import assign_evenly
from foveal.assess.store import Campaign
from foveal.formats import write_topics
from foveal.model import Topics

INIT = ("-C", "index.fvx", "--topics", "topics.jsonl", "--pool", "pool.jsonl")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with documents, index, topics and pool, where commands are called."""
    monkeypatch.chdir(tmp_path)
    index_of(tmp_path)
    write_topics(Topics.of(TOPICS), "topics.jsonl", "jsonl")
    (tmp_path / "pool.jsonl").write_text(pool_text())
    return tmp_path


class Assess:
    """Calls ``foveal assess``."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys

    def __call__(self, *args: str) -> Outcome:
        return call(self._capsys, "assess", *args)

    def done(self, *args: str) -> Outcome:
        outcome = self(*args)
        assert outcome.code == 0, outcome
        return outcome

    def refused(self, *args: str) -> list[str]:
        outcome = self(*args)
        assert (outcome.code, outcome.out) == (2, ""), outcome
        return outcome.err.splitlines()


@pytest.fixture
def assess(folder: Path, capsys: pytest.CaptureFixture[str]) -> Assess:
    return Assess(capsys)


@pytest.fixture
def made(assess: Assess) -> Assess:
    assess.done("init", "c", *INIT, "--assessor", "ann", "--assessor", "bob")
    return assess


def validated(*docs: str, assessor: str = "ann") -> None:
    """A few highlights, as the server saves them."""
    with Campaign.open("c") as campaign:
        for doc in docs:
            act(campaign, Highlight(2, 8), doc=doc, assessor=assessor)
            act(campaign, EntryPoint(3), doc=doc, assessor=assessor)
            act(campaign, Validate(), doc=doc, assessor=assessor)


# -- init -----------------------------------------------------------------------------------------


def test_init_makes_a_campaign(assess: Assess) -> None:
    outcome = assess.done("init", "c", *INIT, "--assessor", "ann", "--procedure", "2005", "--open")
    assert outcome.err == "c: 2 topics, 4 documents to assess, 1 assessor; procedure 2005\n"
    with Campaign.open("c") as campaign:
        assert (campaign.procedure, campaign.blind) == ("2005", False)
        assert campaign.list_assigned("ann") == ("1", "2")
        count = campaign.reading().execute("SELECT count(*) FROM documents").fetchone()[0]
        assert count == len(campaign.collection)


def test_a_campaign_without_people_says_what_comes_next(assess: Assess) -> None:
    first, following = assess.done("init", "c", *INIT).err.splitlines()
    assert first.endswith("0 assessors; procedure 2006")
    for command in ("serve c", "user c NAME", "assign c"):
        assert f"'foveal assess {command}'" in following


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("--root-path", "water"),
        ("--root-path", "/a b"),
        ("--root-path", "//evil.org"),
        ("--proxy", "proxy.example.org"),
        ("--proxy", "10.0.0.1/8"),
    ],
)
def test_serve_refuses_paths_and_addresses_that_cannot_be(
    made: Assess, option: str, value: str
) -> None:
    (said,) = made.refused("serve", "c", "--trusted-host", "a.org", option, value)
    assert said.startswith(f"foveal: {option} {value}: expected ")


def test_only_the_pooled_documents_are_stored_if_that_is_asked_for(assess: Assess) -> None:
    assess.done("init", "c", *INIT, "--store", "pooled")
    with Campaign.open("c") as campaign:
        rows = campaign.reading().execute("SELECT doc FROM documents ORDER BY doc").fetchall()
        assert [row[0] for row in rows] == ["deep/script", "music", "sea"]


def test_documents_that_are_not_beside_the_index_must_be_named(assess: Assess) -> None:
    Path("documents").rename("elsewhere")
    (said,) = assess.refused("init", "c", *INIT)
    assert said.startswith("index.fvx: was made from 'documents', which is not in its folder; give")
    assess.done("init", "c", *INIT, "--documents", "elsewhere")


# -- people ---------------------------------------------------------------------------------------


def test_users_are_added_and_changed(made: Assess) -> None:
    Path("secret").write_text("correct horse battery\nsecond line\n")
    said = made.done("user", "c", "cy", "--role", "organiser", "--password-file", "secret").err
    assert said == "cy: organiser, with a password\n"
    assert made.done("user", "c", "ann", "--role", "organiser").err.startswith("ann: organiser")
    with Campaign.open("c") as campaign:
        stored = campaign.user("cy").password
        assert "horse" not in stored
        assert check_password("correct horse battery", stored)
    assert "is reserved" in made.refused("user", "c", "final")[0]
    assert made.refused("user", "c", "x", "--password-file", "no")[0].startswith("no: ")
    Path("short").write_text("short")
    assert "expected at least" in made.refused("user", "c", "x", "--password-file", "short")[0]


def test_topics_are_assigned_and_taken_back(made: Assess) -> None:
    made.done("user", "c", "cy")
    made.done("assign", "c", "--topic", "2", "--assessor", "cy")
    made.done("assign", "c", "--topic", "1", "--assessor", "ann", "--remove")
    with Campaign.open("c") as campaign:
        assert campaign.list_assigned("cy") == ("2",)
        assert campaign.list_assigned("ann") == ("2",)
    assert made.done("assign", "c", "--each", "3").err == "assignments given: 2\n"
    for args, said in (
        (("--each", "4"), "but there are 3"),
        ((), "no assessor given"),
        (("--assessor", "eve"), "no user 'eve'"),
        (("--assessor", "ann", "--topic", "9"), "no topic '9'"),
        (("--each", "1", "--remove"), "give one of them"),
    ):
        assert said in made.refused("assign", "c", *args)[0]


@given(
    st.dictionaries(st.sampled_from("123456789"), st.integers(0, 50), min_size=1),
    st.integers(1, 4),
    st.integers(0, 2),
)
@settings(max_examples=40)
def test_topics_are_assign_evenly_evenly(work: dict[str, int], each: int, taken: int) -> None:
    names = ["ann", "bob", "cy", "dee", "eve"]
    present = dict.fromkeys(list(work)[:taken], names[:1])
    new = assign_evenly(work, names, each, present)
    every = new + [(topic, name) for topic, those in present.items() for name in those]
    assert len(set(every)) == len(every) == each * len(work)
    if not present:
        load = [sum(work[topic] for topic, name in new if name == one) for one in names]
        assert max(load) - min(load) <= max(work.values())


# -- out and in -----------------------------------------------------------------------------------


def test_an_export_scores_a_run(made: Assess, capsys: pytest.CaptureFixture[str]) -> None:
    validated("music", "sea")
    said = made.done("export", "c", "-o", "j.jsonl", "--assessor", "ann").err
    assert said == "2 documents judged, 2 of them relevant\n"
    Path("run").write_text("1 Q0 sea 1 2.0 mine 2 12\n1 Q0 music 2 1.0 mine 0 6\n")
    outcome = call(capsys, "evaluate", "run", "-j", "j.jsonl", "-m", "charP", "-f", "tsv")
    assert outcome.out.splitlines()[-1] == f"mine\tall\tcharP\t{10 / 18!r}"


def test_formats_without_assessors_want_to_know_whose(made: Assess) -> None:
    validated("sea")
    validated("sea", assessor="bob")
    assert "(--assessor)" in made.refused("export", "c", "-o", "j", "--to", "fol")[0]
    assert not Path("j").exists()
    made.done("export", "c", "-o", "j", "--to", "fol", "--combine", "union")
    made.done("export", "c", "-o", "k", "--to", "fol", "--assessor", "bob")
    assert Path("j").read_text() == Path("k").read_text()
    assert sorted(made.done("export", "c", "-o", "x", "--to", "inex2006").err.splitlines())
    assert sorted(p.name for p in Path("x").iterdir()) == ["1-ann.xml", "1-bob.xml"]


def test_what_cannot_be_exported_is_refused(made: Assess) -> None:
    for args, said in (
        ((), "nothing to export: no document is validated (--all takes the rest, too)"),
        (("--all",), "no document is assessed"),
        (("--final",), "nothing to export"),
        (("--assessor", "eve"), "no user 'eve' in the campaign (ann, bob)"),
        (("--topic", "9"), "no topic '9'"),
        (("--final", "--assessor", "ann"), "give one of them"),
    ):
        assert said in made.refused("export", "c", "-o", "j", *args)[0]
    assert "is read by this command" in made.refused("export", "c", "-o", "./c")[0]


def test_an_import_goes_on_from_an_export(made: Assess) -> None:
    validated("music", "sea")
    made.done("export", "c", "-o", "j.jsonl")
    said = made.done("import", "c", "j.jsonl", "--assessor", "bob").err
    assert said == "documents: 2 imported, 2 validated\n"
    assert made.done("import", "c", "j.jsonl", "--assessor", "bob").err == (
        "documents: 0 imported, 2 unchanged\n"
    )
    made.done("import", "c", "j.jsonl", "--final")
    made.done("export", "c", "-o", "f.jsonl", "--final")
    assert Path("f.jsonl").read_text() == Path("j.jsonl").read_text().replace('"ann"', '"final"')


def test_one_of_several_assessors_is_chosen_for_an_import(made: Assess) -> None:
    validated("sea")
    validated("sea", assessor="bob")
    made.done("export", "c", "-o", "j.jsonl")
    assert "choose one" in made.refused("import", "c", "j.jsonl", "--final")[0]
    made.done("import", "c", "j.jsonl", "--final", "--from", "ann")
    assert "owner" in made.refused("import", "c", "j.jsonl")[0]


# -- status and backup ----------------------------------------------------------------------------


def test_files_that_are_no_campaign_are_refused_by_every_command(assess: Assess) -> None:
    for command, *more in (
        ("status",),
        ("backup", "copy"),
        ("export", "-o", "out"),
        ("user", "ann"),
        ("assign", "--each", "1"),
    ):
        (said,) = assess.refused(command, "pool.jsonl", *more)
        assert said.startswith("pool.jsonl: is not a campaign")
        (said,) = assess.refused(command, "nothing", *more)
        assert said == "nothing: cannot be read: no such file"
    assert sorted(p.name for p in Path().iterdir()) == [
        "documents",
        "index.fvx",
        "pool.jsonl",
        "topics.jsonl",
    ]
