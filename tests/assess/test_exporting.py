"""Assessments out and in again: every exported span is the text that was selected."""

from __future__ import annotations

import itertools
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assess.campaigns import ANN, BOB, POOL, act, make, pool_of
from foveal.assess.actions import (
    Action,
    EntryPoint,
    Grade,
    Highlight,
    Replace,
    State,
    Undo,
    Validate,
    add_span,
)
from foveal.assess.exporting import add_format_data, import_judgements, judgements
from foveal.assess.people import FINAL
from foveal.assess.store import Campaign
from foveal.collection import Collection, build_index
from foveal.collection.placement import place_judgements
from foveal.errors import UsageError
from foveal.formats import read_judgements, write_judgements
from foveal.model import Judgements, Topic, Topics
from inputs import refusal, text_source
from shared_data import INEX

FORMS = ("jsonl", "fol", "inex2006")


@pytest.fixture
def campaign(tmp_path: Path):
    with make(tmp_path) as made:
        yield made


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory):
    with make(tmp_path_factory.mktemp("shared")) as made:
        yield made


def assess(
    campaign: Campaign, spans: list[tuple[int, int]], doc: str = "music", **given: Any
) -> State:
    """A document assessed from the beginning: highlighted, entered, validated."""
    united: tuple[tuple[int, int], ...] = ()
    for span in spans:
        united = add_span(united, *span)
    state = State(united, united[0][0] if united else None, validated=True)
    act(campaign, Replace(state=state), doc=doc, **given)
    return state


def rows(found: Judgements) -> list[tuple[str, str, str | None, int, list[tuple[int, int]]]]:
    """Topic, document, assessor, entry point and spans of each row, in any order."""
    assessors = [None] * len(found) if found.assessor is None else found.assessor.to_list()
    return sorted(
        (
            found.topics[found.topic[i]],
            str(found.doc[i]),
            assessors[i],
            int(found.bep[i]),
            found.passages(i),
        )
        for i in range(len(found))
    )


def read_back(found: Judgements, campaign: Campaign, form: str, folder: Path) -> Judgements:
    """Written in a format, read again and put on the text."""
    write_judgements(add_format_data(found, campaign.collection, form), folder / form, form)
    return place_judgements(read_judgements(folder / form), campaign.collection)


# -- out ------------------------------------------------------------------------------------------


@st.composite
def selections(draw: st.DrawFn, length: int) -> list[tuple[int, int]]:
    pairs = st.tuples(st.integers(0, length - 1), st.integers(1, length))
    return draw(st.lists(pairs.filter(lambda pair: pair[0] < pair[1]), min_size=1, max_size=6))


@pytest.mark.parametrize("doc", ["music", "deep/script"])
@given(data=st.data())
@settings(max_examples=20)
def test_exported_spans_are_the_text_that_was_selected(
    shared: Campaign, tmp_path_factory: pytest.TempPathFactory, doc: str, data: st.DataObject
) -> None:
    document = shared.document(doc)
    selected = data.draw(selections(document.length))
    state = assess(shared, selected, doc)
    found = judgements(shared, assessors=ANN)
    texts = [document.text[start:end] for start, end in state.spans]
    at = found.doc.to_list().index(doc)
    own = slice(int(found.bounds[at]), int(found.bounds[at + 1]))
    assert found.quotes is not None
    assert found.quotes["quote"].to_list()[own] == texts
    folder = tmp_path_factory.mktemp("out")
    for form in FORMS:
        again = read_back(found, shared, form, folder)
        at = again.doc.to_list().index(doc)
        assert [document.text[s:e] for s, e in again.passages(at)] == texts
        assert again.passages(at) == list(state.spans)
        assert again.bep[at] == state.bep
    characters = {i for start, end in selected for i in range(start, end)}
    assert characters == {i for start, end in state.spans for i in range(start, end)}


def test_only_what_is_validated_is_exported_unless_all_is_asked_for(campaign: Campaign) -> None:
    assess(campaign, [(0, 5)])
    act(campaign, Highlight(1, 3), doc="sea")
    act(campaign, Validate(), doc="deep/script", assessor=BOB)
    assert rows(judgements(campaign)) == [
        ("1", "deep/script", BOB, -1, []),
        ("1", "music", ANN, 0, [(0, 5)]),
    ]
    every = judgements(campaign, validated_only=False)
    assert ("1", "sea", ANN, -1, [(1, 3)]) in rows(every)
    assert len(rows(every)) == 3
    assert rows(judgements(campaign, assessors=[BOB])) == [("1", "deep/script", BOB, -1, [])]
    assert len(judgements(campaign, topics=["2"])) == 0
    assert len(judgements(campaign, assessors=())) == 0


def test_the_adjudicated_set_is_exported_on_its_own(campaign: Campaign) -> None:
    assess(campaign, [(0, 5)])
    assess(campaign, [(2, 4)], assessor=FINAL)
    assert rows(judgements(campaign)) == [("1", "music", ANN, 0, [(0, 5)])]
    assert rows(judgements(campaign, assessors=FINAL)) == [("1", "music", FINAL, 2, [(2, 4)])]


def test_quotations_come_with_what_is_around_them(campaign: Campaign) -> None:
    text = campaign.document("sea").text
    assess(campaign, [(8, 11)], "sea")
    (quote,) = judgements(campaign).quotes.to_dicts()
    assert quote == {"quote": text[8:11], "prefix": text[:8], "suffix": text[11:43]}


# -- 2005 and 2003 --------------------------------------------------------------------------------


def exhaustivity(path: str, value: str) -> Action:
    return Grade(path=path, grade={"exhaustivity": value})


def test_2005_exhaustivity_given_and_inferred_comes_out_with_sizes(tmp_path: Path) -> None:
    with make(tmp_path, procedure="2005") as campaign:
        p = campaign.collection.element("sea", "/doc/p[1]")
        act(campaign, Highlight(p.start, p.start + 7), doc="sea")
        act(campaign, EntryPoint(p.start), doc="sea")
        act(campaign, exhaustivity(p.xpath, "1"), doc="sea")
        act(campaign, Validate(), doc="sea")
        found = judgements(campaign)
        length = campaign.document("sea").length
        expected = [
            ("/doc[1]", "1", length, 7, "yes"),
            ("/doc[1]/p[1]", "1", p.end - p.start, 7, "no"),
        ]
        columns = ("xpath", "exhaustivity", "size", "rsize", "inferred")
        assert found.elements.select(columns).rows() == expected
        for form in ("jsonl", "inex2005"):
            again = read_back(found, campaign, form, tmp_path)
            assert again.elements.select(columns[:4]).rows() == [one[:4] for one in expected]
            assert again.header["scale"] == "2005"
            assert again.passages(0) == [(p.start, p.start + 7)]


def test_2003_grades_come_out_with_how_they_came_about(tmp_path: Path) -> None:
    with make(tmp_path, procedure="2003") as campaign:
        for path, pair in (("/doc[1]", "21"), ("/doc[1]/p[1]", "23"), ("/doc[1]/p[2]", "00")):
            grade = dict(zip(("exhaustivity", "specificity"), pair, strict=True))
            act(campaign, Grade(path=path, grade=grade), doc="sea")
        act(campaign, Validate(), doc="sea")
        found = judgements(campaign)
        assert not found.has_text
        assert found.relevant.tolist() == [True]
        columns = ("xpath", "exhaustivity", "specificity", "inpool", "inferred")
        expected = [
            ("/doc[1]", "2", "1", "yes", "no"),
            ("/doc[1]/p[1]", "2", "3", "no", "no"),
            ("/doc[1]/p[2]", "0", "0", "no", "no"),
        ]
        assert found.elements.select(columns).rows() == expected
        write_judgements(found, tmp_path / "x", "inex2003")
        again = read_judgements(tmp_path / "x")
        assert again.elements.select(columns).rows() == expected


@pytest.mark.parametrize("procedure", ["2005", "2003"])
def test_graded_assessments_go_out_and_in_and_out_again(tmp_path: Path, procedure: str) -> None:
    with make(tmp_path, procedure=procedure) as campaign:
        if procedure == "2005":
            act(campaign, Highlight(3, 14), doc="sea")
            act(campaign, EntryPoint(3), doc="sea")
            for path in ("/doc[1]/head[1]", "/doc[1]/p[1]"):
                act(campaign, exhaustivity(path, "?"), doc="sea")
        else:
            pair = {"exhaustivity": "0", "specificity": "0"}
            act(campaign, Grade(path="/doc[1]", grade=pair), doc="sea")
        act(campaign, Validate(), doc="sea")
        found = judgements(campaign)
        write_judgements(found, tmp_path / "j", "jsonl")
        counts = import_judgements(campaign, read_judgements(tmp_path / "j"), BOB)
        assert (counts["imported"], counts["validated"]) == (1, 1)
        assert campaign.state(BOB, "1", "sea")[1] == campaign.state(ANN, "1", "sea")[1]
        again = judgements(campaign, assessors=BOB)
        assert again.elements.equals(found.elements)


# -- in -------------------------------------------------------------------------------------------


@given(data=st.data())
@settings(max_examples=15)
def test_export_import_export_is_the_same(
    shared: Campaign, tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    folder = tmp_path_factory.mktemp("round")
    for doc in ("music", "sea"):
        assess(shared, data.draw(selections(shared.document(doc).length)), doc)
    before = judgements(shared, assessors=ANN)
    form = data.draw(st.sampled_from(FORMS))
    write_judgements(add_format_data(before, shared.collection, form), folder / "j", form)
    with make(folder, collection=shared.collection, source=shared.source) as other:
        read = read_judgements(folder / "j")
        counts = import_judgements(other, read, ANN)
        assert counts["imported"] == counts["validated"] == len(before)
        after = judgements(other)
        assert rows(after) == rows(before)
        assert after.quotes.equals(before.quotes)
        logged = len(other.actions(ANN, "1", "music"))
        again = import_judgements(other, read, ANN)
        assert again == {**dict.fromkeys(counts, 0), "unchanged": len(before)}
        assert len(other.actions(ANN, "1", "music")) == logged


def judged(text: str) -> Judgements:
    return read_judgements(text_source(text, "j"))


def test_documents_that_were_assessed_are_kept_unless_they_shall_be_replaced(
    campaign: Campaign,
) -> None:
    assess(campaign, [(0, 5)], "sea")
    given = judged("1 Q0 sea 3 40 7 7:3\n")
    length = campaign.document("sea").length
    given = replace(given, length=given.length * 0 + length)
    assert import_judgements(campaign, given, ANN)["kept"] == 1
    assert campaign.state(ANN, "1", "sea")[1].spans == ((0, 5),)
    assert import_judgements(campaign, given, ANN, replace=True)["imported"] == 1
    assert campaign.state(ANN, "1", "sea")[1].spans == ((7, 10),)
    assert act(campaign, Undo(), doc="sea").state.spans == ((0, 5),)


def test_what_lacks_an_entry_point_waits_for_the_assessor(campaign: Campaign) -> None:
    given = Judgements.from_highlights({"1": {"sea": {"spans": [(0, 4), (3, 9), (20, 22)]}}})
    counts = import_judgements(campaign, given, ANN)
    assert (counts["imported"], counts["validated"]) == (1, 0)
    assert campaign.state(ANN, "1", "sea")[1] == State(((0, 9), (20, 22)))


def test_documents_outside_the_pool_are_added_to_it_if_asked_for(campaign: Campaign) -> None:
    given = Judgements.from_highlights({"2": {"notes": {"spans": []}}})
    assert import_judgements(campaign, given, BOB)["outside"] == 1
    assert [e.doc for e in campaign.pool("2")] == ["sea"]
    assert import_judgements(campaign, given, BOB, add=True)["added"] == 1
    assert [(e.doc, e.added_by) for e in campaign.pool("2")] == [("sea", None), ("notes", BOB)]
    assert campaign.state(BOB, "2", "notes")[1] == State(validated=True)


def test_all_that_cannot_be_imported_is_told_and_nothing_is(campaign: Campaign) -> None:
    text = "9 Q0 sea 0 5\n1 Q0 lost 0 5\n1 Q0 sea 0 5\n"
    said = refusal(import_judgements, campaign, judged(text), ANN)
    assert said.splitlines() == [
        "j:1: topic '9' is not in the campaign",
        "j:2: document 'lost' is not in the collection",
    ]
    assert list(campaign.assessments()) == []


def test_a_quotation_that_is_not_the_text_is_refused(campaign: Campaign) -> None:
    line = '{"topic":"1","doc":"sea","spans":[{"start":0,"end":3,"quote":"the"}]}'
    said = refusal(import_judgements, campaign, judged(line), ANN)
    assert said == "j:1: 'the' is quoted from 0 to 3 of document 'sea', where the text is 'The'"


def test_judgements_of_another_kind_or_of_nobody_are_refused(campaign: Campaign) -> None:
    said = refusal(import_judgements, campaign, judged("1 0 sea 1\n"), ANN)
    assert "has no highlighted text" in said
    none = judged("1 0 sea 0\n")
    assert "no user 'eve'" in refusal(import_judgements, campaign, none, "eve", error=UsageError)
    two = judged(
        '{"topic":"1","doc":"sea","assessor":"x","spans":[]}\n'
        '{"topic":"1","doc":"sea","assessor":"y","spans":[]}'
    )
    assert "(x, y)" in refusal(import_judgements, campaign, two, ANN, error=UsageError)


def test_grades_that_contradict_each_other_are_told_with_their_line(tmp_path: Path) -> None:
    with make(tmp_path, procedure="2005") as campaign:
        size = campaign.document("sea").length
        line = (
            '{"topic":"1","doc":"sea","bep":8,"spans":[{"start":8,"end":12}],"elements":['
            f'{{"xpath":"/doc","exhaustivity":"1","size":{size},"rsize":4}},'
            '{"xpath":"/doc[1]/p[1]","exhaustivity":"2","size":9,"rsize":4},'
            '{"xpath":"/doc[1]/p[2]","exhaustivity":"0","size":9,"rsize":0}]}'
        )
        said = refusal(import_judgements, campaign, judged(line), ANN)
        assert said.startswith("j:1: document 'sea': /doc[1] cannot have exhaustivity 1")
        assert list(campaign.assessments()) == []
        better = line.replace('"exhaustivity":"1"', '"exhaustivity":"2"')
        assert import_judgements(campaign, judged(better), ANN)["validated"] == 1
        # The element without highlighted text has no grade: it is not asked for.
        assert sorted(campaign.state(ANN, "1", "sea")[1].grades) == ["/doc[1]", "/doc[1]/p[1]"]


def test_highlights_are_no_grades_of_elements(tmp_path: Path) -> None:
    with make(tmp_path, procedure="2003") as campaign:
        given = Judgements.from_highlights({"1": {"sea": {"spans": [(0, 4)]}}})
        assert "has no grades of 2003" in refusal(import_judgements, campaign, given, ANN)


# -- real documents -------------------------------------------------------------------------------


def _round_trip(source: Path, folder: Path) -> None:
    """Passages over element boundaries of real documents, out in every format and in again."""
    build_index(source, folder / "i.fvx")
    index = Collection.open(folder / "i.fvx")
    names = list(itertools.islice(index, 6))
    pool = [{**POOL[3], "doc": name, "priority": i} for i, name in enumerate(names, 1)]
    with make(
        folder,
        collection=index,
        source=source,
        pool=pool_of(pool),
        topics=Topics.of([Topic("2", title="all")]),
    ) as campaign:
        for name in names:
            elements = campaign.elements(name)
            middle = len(elements) // 2
            spans = {
                (int(elements.start[i]), int(elements.end[i + 3]))
                for i in range(middle, min(middle + 200, len(elements) - 4), 5)
                if elements.start[i] < elements.end[i + 3]
            }
            assess(campaign, sorted(spans), name, topic="2")
        before = judgements(campaign)
        assert len(before.start) > 20
        for form in FORMS:
            again = read_back(before, campaign, form, folder)
            assert [one[3:] for one in rows(again)] == [one[3:] for one in rows(before)]
            import_judgements(campaign, again.combined(), BOB, replace=True)
            after = judgements(campaign, assessors=BOB)
            assert after.quotes.equals(before.quotes)


@pytest.mark.skipif(not (INEX / "xml").is_dir(), reason="the INEX 2009 data are not there")
def test_articles_of_inex_2009(tmp_path: Path) -> None:
    _round_trip(INEX / "xml", tmp_path)
