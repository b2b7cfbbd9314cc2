"""The arithmetic of the article page, in the browser, is the server's in Python."""

from __future__ import annotations

import json
from collections.abc import Iterator
from hashlib import sha256
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from browser.article import (
    Place,
)
from browsing import needs_browser
from foveal.assess.actions import Action, History, add_span, remove_span

pytestmark = needs_browser


@pytest.fixture(scope="module")
def modules(browser: Any, place: Place) -> Iterator[Any]:
    """A page on which the modules can be called."""
    context = browser.new_context(bypass_csp=True)
    page = context.new_page()
    page.goto(f"{place.address}/static/article.css")
    page.evaluate(
        """async () => {
          for (const name of ["spans", "history", "offsets", "sha256", "queue"]) {
            // History would hide the browser's own.
            window.foveal = { ...window.foveal, ...await import(`/static/article/${name}.js`) };
          }
          const { History: _, ...rest } = window.foveal;
          Object.assign(window, rest);
        }"""
    )
    yield page
    context.close()


shared = settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
pairs = st.tuples(st.integers(0, 30), st.integers(1, 9)).map(lambda at: (at[0], at[0] + at[1]))


@shared
@given(steps=st.lists(st.tuples(st.booleans(), pairs), max_size=12))
def test_spans_are_added_and_removed_alike(modules: Any, steps: list[Any]) -> None:
    expected: Any = ()
    for adds, (start, end) in steps:
        expected = (add_span if adds else remove_span)(expected, start, end)
    found, covered = modules.evaluate(
        """steps => {
          const change = (all, [adds, [a, b]]) => (adds ? addSpan : removeSpan)(all, a, b);
          const spans = steps.reduce(change, []);
          const cover = new Coverage(spans);
          return [spans, Array.from({ length: 40 }, (_, at) => cover.within(at, at + 3))];
        }""",
        steps,
    )
    assert [tuple(span) for span in found] == list(expected)
    lit = {at for start, end in expected for at in range(start, end)}
    assert covered == [len(lit & set(range(at, at + 3))) for at in range(40)]


@shared
@given(lists=st.lists(st.lists(pairs, max_size=4), min_size=1, max_size=3))
def test_union_and_intersection_are_those_of_sets(modules: Any, lists: list[Any]) -> None:
    disjoint: list[Any] = []
    for spans in lists:
        made: Any = ()
        for span in spans:
            made = add_span(made, *span)
        disjoint.append(made)
    sets = [{at for a, b in spans for at in range(a, b)} for spans in disjoint]
    found = modules.evaluate("lists => [union(lists), intersection(lists)]", disjoint)
    either, both = ({at for a, b in spans for at in range(a, b)} for spans in found)
    assert either == set.union(*sets)
    assert both == set.intersection(*sets)


actions = st.one_of(
    st.builds(lambda span: {"kind": "highlight", "start": span[0], "end": span[1]}, pairs),
    st.builds(lambda span: {"kind": "unhighlight", "start": span[0], "end": span[1]}, pairs),
    st.builds(lambda at: {"kind": "bep", "start": at}, st.integers(0, 30)),
    st.just({"kind": "bep"}),
    st.builds(
        lambda path, value: {"kind": "grade", "path": path, "grade": value},
        st.sampled_from(["/a[1]", "/a[1]/b[1]"]),
        st.sampled_from([{}, {"exhaustivity": "1"}, {"exhaustivity": "2"}]),
    ),
    st.builds(lambda text: {"kind": "note", "text": text}, st.text(max_size=3)),
    st.sampled_from(
        [
            {"kind": kind, "start": start, "end": start + 5} | more
            for start in (2, 5, 20)
            for kind, more in (
                ("accept", {}),
                ("adjust", {"highlight": [start + 1, start + 9]}),
                ("reject", {}),
            )
        ]
    ),
    st.sampled_from([{"kind": kind} for kind in ("validate", "invalidate", "undo", "redo")]),
)


@shared
@given(log=st.lists(actions, max_size=14))
def test_states_follow_from_actions_alike(modules: Any, log: list[dict[str, Any]]) -> None:
    history, kept = History(), []
    for given_action in log:
        kind = given_action["kind"]
        if not {"undo": history.can_undo, "redo": history.can_redo}.get(kind, True):
            continue
        kept.append(given_action)
        history.add(Action.from_json(given_action))
    found = modules.evaluate(
        """log => {
          const own = new window.foveal.History({ ...EMPTY });
          log.forEach(action => own.add(action));
          return [own.state, own.canUndo, own.canRedo];
        }""",
        kept,
    )
    state = json.loads(json.dumps(history.state.to_json()))
    assert found == [state, history.can_undo, history.can_redo]


@shared
@given(text=st.text(st.characters(exclude_categories=["Cs"]), max_size=200))
def test_offsets_and_hashes_are_pythons(modules: Any, text: str) -> None:
    units = [len(text[:at].encode("utf-16-le")) // 2 for at in range(len(text) + 1)]
    found = modules.evaluate(
        """text => {
          const offsets = new Offsets(text);
          const all = Array.from({ length: offsets.length + 1 }, (_, i) => i);
          const units = all.map(at => offsets.toUnits(at));
          return [offsets.length, units, units.map(at => offsets.toPoints(at)), sha256(text)];
        }""",
        text,
    )
    digest = sha256(text.encode()).hexdigest()
    assert found == [len(text), units, list(range(len(text) + 1)), digest]


@pytest.mark.parametrize("length", [0, 55, 56, 63, 64, 65, 119, 120, 1000])
def test_hashes_at_the_borders_of_blocks(modules: Any, length: int) -> None:
    text = "\u00e9" * (length // 2) + "a" * (length % 2)
    assert modules.evaluate("sha256", text) == sha256(text.encode()).hexdigest()


@pytest.mark.parametrize(
    ("kinds", "kept"),
    [
        ("validate undo highlight", [2]),
        ("validate undo redo highlight", [3]),
        ("validate highlight undo undo undo", [1, 2, 4]),
        ("validate note undo bep undo", [1, 3, 4]),
        ("validate undo bep redo", [2, 3]),
        ("note undo", [1]),
        ("validate highlight undo redo", [1, 2, 3]),
    ],
)
def test_the_undo_of_what_was_refused_takes_back_nothing_else(
    modules: Any, kinds: str, kept: list[int]
) -> None:
    entries = [{"at": at, "action": {"kind": kind}} for at, kind in enumerate(kinds.split())]
    found = modules.evaluate(
        """async ([first, ...later]) => {
          const { withoutRefused } = await import("/static/article/queue.js");
          return withoutRefused(first, later).map(entry => entry.at);
        }""",
        entries,
    )
    assert found == kept


def test_what_was_undone_among_itself_is_not_applied_elsewhere(modules: Any) -> None:
    h, note = {"kind": "highlight", "start": 0, "end": 1}, {"kind": "note", "text": "x"}
    undo, redo = {"kind": "undo"}, {"kind": "redo"}
    found = modules.evaluate(
        "lists => lists.map(settled)", [[h, note, undo], [undo, h], [h, undo, redo]]
    )
    assert found == [[note], [h], [h]]


def test_queues_of_other_assessors_and_campaigns_are_told_apart(modules: Any) -> None:
    found = modules.evaluate(
        """() => {
          localStorage.clear();
          const names = [["a1", "ann"], ["a1", "ann.b"], ["b2", "ann"], ["a1", "ann?as=final"]];
          const queues = names.map(name => new Queue(...name, localStorage));
          queues.forEach((queue, i) => queue.add({ uuid: `uuid${i}` }));
          localStorage.setItem("foveal.queue.ann.000000000000000001.old", '{"uuid": "old"}');
          const uuids = entries => entries.map(entry => entry.uuid).sort();
          const all = queues.map(queue => [uuids(queue.entries()), uuids(queue.foreign())]);
          localStorage.clear();
          return all;
        }"""
    )
    assert [own for own, _ in found] == [[f"uuid{i}"] for i in range(4)]
    elsewhere = [foreign for _, foreign in found]
    assert elsewhere == [["old", "uuid2"]] * 2 + [["old", "uuid0", "uuid1", "uuid3"]] + [
        ["old", "uuid2"]
    ]
