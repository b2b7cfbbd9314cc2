"""Rules of runs: `evaluate` refuses a run if and only if `validate` lists a fault it refuses."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import NamedTuple

import pytest

from foveal import Evaluation, InputError, Judgements, Run, evaluate
from foveal.collection import Collection, build_index
from foveal.evaluation import PRESETS
from foveal.evaluation.rules import choose_rules, list_task_rules
from foveal.evaluation.validation import UNCHECKED, validate
from foveal.formats import Source, read_judgements

LONG = "x" * 600
DOCUMENT = f"<a><s><p>one two</p><p>{LONG}</p><b/></s><s><p>{LONG}</p></s></a>"
LENGTH = 7 + 600 + 600


class Result(NamedTuple):
    """A result by its path, with the place of that element."""

    doc: str
    path: str
    start: int
    end: int


A = Result("d", "/a[1]", 0, LENGTH)
P1 = Result("d", "/a[1]/s[1]/p[1]", 0, 7)
P2 = Result("d", "/a[1]/s[1]/p[2]", 7, 607)
B = Result("d", "/a[1]/s[1]/b[1]", 607, 607)
S1 = Result("d", "/a[1]/s[1]", 0, 607)
S2 = Result("d", "/a[1]/s[2]", 607, LENGTH)
E1 = P1._replace(doc="e")
E2 = P2._replace(doc="e")
PAST = Result("e", "", 7, LENGTH + 9)
UNKNOWN_DOCUMENT = P1._replace(doc="f")
UNKNOWN_ELEMENT = Result("e", "/a[1]/p[9]", -1, -1)

BREAKS = {
    "nothing": [P1, E1],
    "overlap": [P1, S1, E1],
    "overlap, the smaller one later": [S1, P2, E1],
    "an empty result inside another": [S1, B, E1],
    "repeat": [P1, E1, P1],
    "repeat of an empty result": [B, B, E1],
    "second result of a document": [P1, B, E1],
    "interleaved documents": [P1, E1, B],
    "characters of a document": [P2, E1],
    "characters of a topic": [P2, E2],
    "a whole document": [A, E1],
    "past the end": [P1, PAST],
    "unknown document": [P1, UNKNOWN_DOCUMENT],
    "unknown element": [P1, UNKNOWN_ELEMENT],
}


def by_offsets(results: list[Result]) -> str | None:
    if UNKNOWN_ELEMENT in results:
        return None
    rows = enumerate(results)
    return "".join(f"1 Q0 {r.doc} {i} {9 - i} m {r.start} {r.end - r.start}\n" for i, r in rows)


def by_elements(results: list[Result]) -> str | None:
    if PAST in results:
        return None
    return "".join(f"1 Q0 {r.doc} {i} {9 - i} m {r.path}\n" for i, r in enumerate(results))


def by_objects(results: list[Result]) -> str | None:
    if UNKNOWN_ELEMENT in results:
        return None
    return "".join(
        json.dumps({"topic": "1", "doc": r.doc, "start": r.start, "end": r.end}) + "\n"
        for r in results
    )


def by_object_paths(results: list[Result]) -> str | None:
    if PAST in results:
        return None
    return "".join(
        json.dumps({"topic": "1", "doc": r.doc, "xpath": r.path}) + "\n" for r in results
    )


def by_submission(results: list[Result]) -> str | None:
    if PAST in results:
        return None
    inside = "\n".join(
        f"<result><file>{r.doc}</file><path>{r.path}</path><rank>{i}</rank></result>"
        for i, r in enumerate(results, 1)
    )
    return f'<inex-submission run-id="m"><topic topic-id="1">\n{inside}\n</topic></inex-submission>'


def by_names(results: list[Result]) -> str | None:
    """Return a TREC run, which can only name whole documents."""
    if any(r.path != "/a[1]" for r in results):
        return None
    return "".join(f"1 Q0 {r.doc} {i} {9 - i} m\n" for i, r in enumerate(results, 1))


FORMATS = {
    "offsets": by_offsets,
    "elements": by_elements,
    "json": by_objects,
    "json paths": by_object_paths,
    "xml": by_submission,
    "trec": by_names,
}
WHOLE = [A, A._replace(doc="e"), A]
BREAKS["whole documents, one twice"] = WHOLE
BREAKS["whole documents"] = WHOLE[:2]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("rules")
    for name in ("d", "e"):
        (folder / f"{name}.xml").write_text(DOCUMENT)
    build_index([folder / "d.xml", folder / "e.xml"], folder / "index")
    return folder


GRADES = {
    "2002": {"relevance": "3", "coverage": "E"},
    "2003": {"exhaustivity": "3", "specificity": "3"},
    "2005": {"exhaustivity": "2", "size": 7, "rsize": 7},
}
"""A judged paragraph on the scales before 2006."""


def read_truth(task: str) -> Judgements:
    """Return judgements of both documents that the measures of a task accept."""
    scale = {"2004": "2003"}.get(task[:4], task[:4])
    judged = {"topic": "1", "length": LENGTH, "relevant": True}
    if scale in GRADES:
        judged["elements"] = [{"xpath": P1.path, **GRADES[scale]}]
    else:
        judged |= {"spans": [{"start": 0, "end": 20}], "bep": 0}
        scale = "2006"
    header = {"type": "header", "format": "foveal-judgements", "scale": scale}
    lines = [header, *({**judged, "doc": doc} for doc in ("d", "e"))]
    return read_judgements(
        Source.of_text("".join(json.dumps(line) + "\n" for line in lines), "truth")
    )


TRUTH = read_truth("2009.Focused")
ALWAYS = {
    "run.past_end",
    "collection.unknown_document",
    "collection.unknown_path",
}
"""Codes of faults that `evaluate` refuses in every task: results without a place."""


def refused_codes(task: str) -> set[str]:
    """Return the codes of faults that `evaluate` refuses in a task."""
    preset = PRESETS[task]
    codes = {rule.code for rule in choose_rules(preset.measures, preset.overlap)}
    limited = preset.topic_limit or preset.document_limit
    return codes | ALWAYS | ({"run.limit", "run.unknown_length"} if limited else set())


TASKS = [name for name, preset in PRESETS.items() if not preset.castitles_only]


@pytest.mark.untraced
@pytest.mark.parametrize("task", TASKS)
def test_evaluate_refuses_what_validate_lists(task: str, folder: Path) -> None:
    index, path = Collection.open(folder / "index"), str(folder / "run")
    evaluation = Evaluation(read_truth(task), task=task, collection=folder / "index")
    refusable = refused_codes(task)
    for (name, results), (form, write) in itertools.product(BREAKS.items(), FORMATS.items()):
        text = write(results)
        if text is None:  # the format cannot express it
            continue
        Path(path).write_text(text)
        found = validate(path, preset=PRESETS[task], collection=index)
        listed = {fault.code for fault in found if fault.code != UNCHECKED} & refusable
        refused = set()
        try:
            evaluation.score(path)
        except InputError as error:
            refused = {problem.code for problem in error.problems}
        # Of several broken rules `evaluate` may report the first ones only.
        assert bool(refused) == bool(listed), (name, form, refused, listed)
        assert refused <= listed, (name, form, refused, listed)


@pytest.mark.parametrize("task", PRESETS)
def test_validate_knows_every_rule_of_evaluate(task: str) -> None:
    preset = PRESETS[task]
    key = task.rpartition(".")[2].lower()
    rules = list_task_rules(key, preset.measures, preset.overlap)
    assert set(choose_rules(preset.measures, preset.overlap)) <= set(rules)


def test_one_result_per_document_needs_no_regrouping() -> None:
    run = Run.from_results({"1": [("a", 0, 9), ("b", 0, 9), ("a", 50, 60)]})
    truth = Judgements.from_highlights(
        {"1": {doc: {"spans": [(0, 5)], "length": 100, "bep": 0} for doc in "ab"}}
    )
    options = {"task": "2009.BestInContext", "overlap": "drop"}
    results = evaluate(run, truth, **options)
    assert results["run", "AgP(score=BEP)"] == 1
    with pytest.raises(InputError, match=r"interleaved .* AgP forbids it \(--regroup\)$"):
        evaluate(run, truth, "AgP", **options)


def test_every_overlap_is_named_with_the_first_result_it_meets() -> None:
    run = Run.from_results({"1": [("d", 10, 40), ("d", 20, 30), ("d", 0, 100), ("d", 20, 30)]})
    with pytest.raises(InputError) as refusal:
        evaluate(run, TRUTH, "AiP")
    assert [(problem.code, problem.line) for problem in refusal.value.problems] == [
        ("run.overlap", 2),
        ("run.overlap", 3),
        ("run.duplicate", 4),
    ]


def test_a_span_is_not_a_whole_document_because_other_results_have_paths() -> None:
    lines = [
        {"topic": "1", "doc": "d", "xpath": "/a[1]/p[1]"},
        {"topic": "1", "doc": "e", "start": 0, "end": 5},
        {"topic": "1", "doc": "e", "start": 5, "end": 9},
    ]
    text = "".join(json.dumps(line) + "\n" for line in lines)
    assert validate(Source.of_text(text, "r"), preset=PRESETS["2009.Focused"]) == []
