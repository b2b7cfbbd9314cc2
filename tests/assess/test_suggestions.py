"""Suggested highlights: who sees them, what is decided about them, and how it is reported."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from assess.campaigns import (
    ANN,
    BOB,
    TOPICS,
    act,
    index_of,
    make,
    pool_text,
    replay,
)
from assess_site import clients, make_campaign, served
from command import Outcome, call
from foveal.assess.actions import (
    Accept,
    Adjust,
    EntryPoint,
    Redo,
    RefusedError,
    Reject,
    Undo,
    Validate,
)
from foveal.assess.adjudication import adopt_agreed
from foveal.assess.exporting import list_decisions, suggest
from foveal.assess.people import FINAL
from foveal.assess.store import Campaign
from foveal.errors import InputError
from foveal.formats import read_judgements, write_topics
from foveal.model import Judgements, Topics

MODEL = (
    {"topic": "1", "doc": "music", "spans": [[0, 5], [10, 20]]},
    {"topic": "1", "doc": "sea", "spans": []},
    {"topic": "2", "doc": "sea", "spans": [[4, 7]]},
)


def judged(folder: Path, *rows: dict, name: str = "model") -> Judgements:
    """Judgements as a file has them, its spans as pairs."""
    head = {"type": "header", "format": "foveal-judgements", "version": 1}
    names = ("start", "end", "quote")
    rows = tuple(
        row | {"spans": [dict(zip(names, span, strict=False)) for span in row["spans"]]}
        for row in rows
    )
    (folder / f"{name}.jsonl").write_text("\n".join(map(json.dumps, (head, *rows))))
    return read_judgements(folder / f"{name}.jsonl")


@pytest.fixture
def campaign(tmp_path: Path) -> Iterator[Campaign]:
    with make(tmp_path) as made:
        found = suggest(made, judged(tmp_path, *MODEL), "olga")
        assert found == {"passages": 3, "documents": 2, "unknown_topic": 0}
        yield made


# -- storing --------------------------------------------------------------------------------------


def test_suggestions_are_for_all_assessors_and_not_for_adjudication(campaign: Campaign) -> None:
    spans = {(0, 5): ["model"], (10, 20): ["model"]}
    assert campaign.suggestions(ANN, "1", "music") == spans
    assert campaign.suggestions(BOB, "1", "music") == spans
    assert campaign.suggestions(FINAL, "1", "music") == {}
    assert campaign.suggestions(ANN, "1", "sea") == {}
    assert campaign.state(ANN, "1", "music")[0] == 0  # nothing is decided
    (event,) = campaign.entries()
    assert (event["kind"], event["assessor"]) == ("suggest", "olga")
    assert event["payload"]["sources"] == ["model"]


def test_suggestions_of_several_sources_and_for_some(campaign: Campaign, tmp_path: Path) -> None:
    more = judged(tmp_path, {"topic": "1", "doc": "music", "spans": [[10, 20], [30, 31]]}, name="b")
    suggest(campaign, more, "olga", assessors=[ANN])
    suggest(campaign, more, "olga", assessors=[ANN])
    assert campaign.suggestions(ANN, "1", "music") == {
        (0, 5): ["model"],
        (10, 20): ["b", "model"],
        (30, 31): ["b"],
    }
    assert len(campaign.suggestions(BOB, "1", "music")) == 2
    suggest(campaign, more, "olga", replace=True)
    assert list(campaign.suggestions(BOB, "1", "music")) == [(10, 20), (30, 31)]
    assert campaign.suggestions(BOB, "2", "sea") == {}


@pytest.mark.parametrize(
    ("row", "code"),
    [
        ({"doc": "lost", "spans": [[0, 5]]}, "collection.unknown_document"),
        ({"doc": "sea", "spans": [[0, 9_999]]}, "collection.length"),
        ({"doc": "sea", "spans": [[0, 3, "The"]]}, None),
        ({"doc": "sea", "spans": [[0, 3, "Thy"]]}, "judgements.quote"),
    ],
)
def test_suggestions_on_another_text_are_refused(
    campaign: Campaign, tmp_path: Path, row: dict, code: str | None
) -> None:
    known = {"topic": "1", "doc": "music", "spans": [[40, 42]]}
    given = judged(tmp_path, known, {"topic": "1", **row}, name="other")
    if code is None:
        suggest(campaign, given, "olga")
        return
    with pytest.raises(InputError) as refused:
        suggest(campaign, given, "olga")
    assert [problem.code for problem in refused.value.problems] == [code]
    assert len(campaign.suggestions(ANN, "1", "music")) == 2


def test_a_campaign_of_elements_has_no_suggestions(tmp_path: Path) -> None:
    with make(tmp_path, procedure="2003") as campaign, pytest.raises(InputError) as refused:
        suggest(campaign, judged(tmp_path, *MODEL), "olga")
    assert [problem.code for problem in refused.value.problems] == ["campaign.procedure"]


# -- deciding -------------------------------------------------------------------------------------


def test_decisions_make_highlights_and_can_be_undone(campaign: Campaign) -> None:
    assert act(campaign, Accept(0, 5)).state.spans == ((0, 5),)
    saved = act(campaign, Adjust(10, 20, (12, 30)))
    assert saved.state.spans == ((0, 5), (12, 30))
    assert saved.state.decisions == (Accept(0, 5), Adjust(10, 20, (12, 30)))
    assert act(campaign, Reject(10, 20)).state.spans == ((0, 5),)
    assert act(campaign, Undo()).state == saved.state
    assert act(campaign, Redo()).state.decisions == (Accept(0, 5), Reject(10, 20))
    assert list(campaign.assessments()) == replay(campaign)
    assert campaign.state(BOB, "1", "music")[1].decisions == ()


@pytest.mark.parametrize("action", [Accept(0, 6), Reject(40, 41), Adjust(0, 5, (3, 3))])
def test_only_suggestions_can_be_decided(campaign: Campaign, action: Accept) -> None:
    with pytest.raises(RefusedError):
        act(campaign, action)
    with pytest.raises(RefusedError):
        act(campaign, Accept(0, 5), assessor=FINAL)
    assert campaign.state(ANN, "1", "music")[0] == 0


def test_decisions_are_reported_with_time_and_result(campaign: Campaign) -> None:
    for action in (Accept(0, 5), Undo(), Accept(0, 5), EntryPoint(0), Validate()):
        act(campaign, action)
    act(campaign, Adjust(4, 7, (4, 9)), topic="2", doc="sea", assessor=BOB)
    logged = campaign.actions(ANN, "1", "music")
    first, second = list_decisions(campaign)
    assert first == {
        "topic": "1",
        "doc": "music",
        "assessor": ANN,
        "start": 0,
        "end": 5,
        "sources": ["model"],
        "decision": "accept",
        "highlight": (0, 5),
        "at": logged[2][1],
        "validated": True,
    }
    assert (second["start"], second["decision"], second["highlight"]) == (10, "undecided", None)
    found = list(list_decisions(campaign, validated_only=False, topics=["2"]))
    assert [(one["decision"], one["highlight"]) for one in found] == [("adjust", (4, 9))]
    assert [*list_decisions(campaign, assessors=[BOB])] == []


# -- the page's data ------------------------------------------------------------------------------


def test_a_page_gets_suggestions_and_sends_decisions(tmp_path: Path) -> None:
    path = make_campaign(tmp_path)
    with Campaign.open(path) as campaign:
        given = judged(tmp_path, {"topic": "1", "doc": "ferries", "spans": [[7, 33]]})
        suggest(campaign, given, "olga", assessors=["ann"])
    with served(path) as url, clients(url, "ann", "bob", "olga") as (ann, bob, olga):
        assert ann.document("1", "ferries")["suggestions"] == [[7, 33]]
        assert bob.document("1", "ferries")["suggestions"] == []
        assert olga.document("1", "ferries", "?as=final")["suggestions"] == []
        answer = ann.act("1", "ferries", "accept-1", 0, kind="accept", start=7, end=33)
        state = answer.json()["state"]
        assert state["spans"] == [[7, 33]]
        assert state["decisions"] == [{"kind": "accept", "start": 7, "end": 33}]
        assert ann.document("1", "ferries")["state"] == state
        refused = bob.act("1", "ferries", "accept-2", 0, kind="accept", start=7, end=33)
        assert refused.status_code == 422
        wrong = {"kind": "adjust", "start": 7, "end": 33, "highlight": [8, 9, 10]}
        assert ann.act("1", "ferries", "adjust-1", 1, **wrong).status_code == 422


# -- commands -------------------------------------------------------------------------------------


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    """Call ``foveal assess`` in a folder with all that a campaign is made of."""
    monkeypatch.chdir(tmp_path)
    index_of(tmp_path)
    write_topics(Topics.of(TOPICS), "topics.jsonl", "jsonl")
    (tmp_path / "pool.jsonl").write_text(pool_text())
    judged(tmp_path, *MODEL)

    def command(*args: str) -> Outcome:
        if args[0] == "init":
            given = ("-C", "index.fvx", "--topics", "topics.jsonl", "--pool", "pool.jsonl")
            args = (*args, *given, "--assessor", ANN)
        return call(capsys, "assess", *args)

    return command


def test_init_takes_suggestions_and_export_writes_decisions(run, tmp_path: Path) -> None:
    assert run("init", "a.campaign", "--suggest", "model.jsonl").code == 0
    with Campaign.open("a.campaign") as campaign:
        for action in (Accept(0, 5), EntryPoint(0), Validate()):
            act(campaign, action)
    outcome = run("export", "a.campaign", "--decisions", "-o", "out.jsonl")
    assert outcome.code == 0, outcome
    found = [json.loads(line) for line in Path("out.jsonl").read_text().splitlines()]
    assert [one["decision"] for one in found] == ["accept", "undecided"]
    assert outcome.err.split() == ["2", "suggestions:", "1", "accept,", "1", "undecided"]
    assert run("export", "a.campaign", "--decisions", "--topic", "2", "-o", "-").code == 2
    assert run("export", "a.campaign", "--decisions", "--to", "fol", "-o", "x").code == 2
    assert run("export", "a.campaign", "--decisions", "--final", "-o", "x").code == 2


def test_init_with_wrong_suggestions_makes_nothing(run, tmp_path: Path) -> None:
    judged(tmp_path, {"topic": "1", "doc": "lost", "spans": [[0, 2]]}, name="wrong")
    before = sorted(tmp_path.iterdir())
    for files in (("wrong.jsonl",), ("model.jsonl", "wrong.jsonl"), ("pool.jsonl",)):
        given = [part for file in files for part in ("--suggest", file)]
        assert run("init", "a.campaign", *given).code == 2
        assert sorted(tmp_path.iterdir()) == before


def test_suggest_adds_to_a_campaign(run, tmp_path: Path) -> None:
    assert run("init", "a.campaign").code == 0
    assert run("suggest", "a.campaign", "model.jsonl", "--assessor", "eve").code == 2
    other = {"topic": "9", "doc": "sea", "spans": [[1, 2]]}
    judged(tmp_path, *MODEL, other, name="more")
    outcome = run("suggest", "a.campaign", "model.jsonl", "more.jsonl", "--assessor", ANN)
    assert outcome.code == 0, outcome
    assert "not in the campaign, left out: 1" in outcome.err
    with Campaign.open("a.campaign") as campaign:
        assert campaign.suggestions(ANN, "2", "sea") == {(4, 7): ["model", "more"]}
    assert run("suggest", "a.campaign", "more.jsonl", "--replace").code == 0
    with Campaign.open("a.campaign") as campaign:
        assert campaign.suggestions(ANN, "2", "sea") == {(4, 7): ["more"]}


def test_a_document_with_decisions_becomes_final_if_assessors_agree(campaign: Campaign) -> None:
    for name in (ANN, BOB):
        for action in (Accept(0, 5), Reject(10, 20), EntryPoint(0), Validate()):
            act(campaign, action, assessor=name)
    assert adopt_agreed(campaign, "olga") == 1
    final = campaign.state(FINAL, "1", "music")[1]
    assert (final.spans, final.validated, final.decisions) == (((0, 5),), True, ())
