"""Rules of runs: `evaluate` refuses a run if and only if `validate` lists a fault it refuses."""

from __future__ import annotations

import io
import itertools
import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl
import pytest

from foveal import Evaluation, InputError, Judgements, Run, evaluate
from foveal.collection import Collection, build_index
from foveal.evaluation import PRESETS, rules
from foveal.evaluation.rules import (
    CONTRADICTION,
    IMPOSSIBLE_PATH,
    ORDER,
    TOO_MANY,
    UNKNOWN_TOPIC,
    Rule,
    choose_rules,
    list_task_rules,
)
from foveal.evaluation.validation import validate
from foveal.formats import Source, list_formats, read_judgements, read_run
from foveal.model.topics import Topic, Topics

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


def by_parquet(results: list[Result]) -> bytes | None:
    text = by_objects(results)
    if text is None:
        return None
    held = io.BytesIO()
    pl.read_ndjson(text.encode()).write_parquet(held)
    return held.getvalue()


def by_genomics(results: list[Result]) -> str | None:
    if UNKNOWN_ELEMENT in results:
        return None
    rows = enumerate(results, 1)
    return "".join(f"1 {r.doc} {i} {9 - i} {r.start} {r.end - r.start} m\n" for i, r in rows)


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


WRITERS: dict[str, Callable[[list[Result]], str | bytes | None]] = {
    "offsets": by_offsets,
    "elements": by_elements,
    "json": by_objects,
    "json paths": by_object_paths,
    "parquet": by_parquet,
    "xml": by_submission,
    "trec": by_names,
    "genomics": by_genomics,
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
    (folder / "topics.jsonl").write_text('{"topic": "1", "castitle": "//p[about(., x)]"}\n')
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
LISTED_ONLY = {ORDER, UNKNOWN_TOPIC, IMPOSSIBLE_PATH, CONTRADICTION, TOO_MANY}
"""Rules about files that `evaluate` does not enforce; it cuts topics of too many results."""
ENFORCED = {rule.code for rule in vars(rules).values() if isinstance(rule, Rule)}
ENFORCED -= {rule.code for rule in LISTED_ONLY}


def refused_codes(task: str) -> set[str]:
    """Return the codes of faults that `evaluate` refuses in a task."""
    preset = PRESETS[task]
    codes = {rule.code for rule in choose_rules(preset.measures, preset.overlap)}
    return codes | ALWAYS | ({"run.limit", "run.unknown_length"} if preset.limits else set())


@cache
def write_run(folder: Path, name: str, form: str) -> Run | None:
    """Write a case in a format and read it again, once for all tasks."""
    content, path = WRITERS[form](BREAKS[name]), folder / f"{name}.{form}"
    if content is None:
        return None
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return read_run(path)


def compare_codes(
    task: str, folder: Path, truth: Judgements, index: Path | None
) -> Iterator[tuple[str, str, set[str], set[str]]]:
    """Yield each case, its format, the codes that `evaluate` refuses and `validate` lists."""
    collection = None if index is None else Collection.open(index)
    topics = str(folder / "topics.jsonl") if PRESETS[task].castitles_only else None
    evaluation = Evaluation(truth, task=task, collection=index, topics_file=topics)
    refusable = refused_codes(task)
    for name, form in itertools.product(BREAKS, WRITERS):
        run = write_run(folder, name, form)
        if run is None:  # the format cannot express it
            continue
        found = validate(run.source.path, preset=PRESETS[task], collection=collection)
        refused = set()
        try:
            evaluation.align(run)
        except InputError as error:
            refused = {problem.code for problem in error.problems}
        yield name, form, refused, {fault.code for fault in found} & refusable


def test_the_grid_is_complete() -> None:
    readable = {form.name for form in list_formats("run") if form.parse is not None}
    results = {"fol", "elements", "trec", "jsonl", "parquet", "inex", "trec-genomics"}
    assert readable == results | {"answers"}  # answers have no task
    seen = set().union(*map(refused_codes, PRESETS))
    assert seen >= ENFORCED


@pytest.mark.untraced
@pytest.mark.parametrize("task", PRESETS)
def test_evaluate_refuses_what_validate_lists(task: str, folder: Path) -> None:
    for *case, refused, listed in compare_codes(task, folder, read_truth(task), folder / "index"):
        # Of several broken rules `evaluate` may report the first ones only.
        assert bool(refused) == bool(listed), (case, refused, listed)
        assert refused <= listed, (case, refused, listed)


BY_RULES = {
    (*choose_rules(preset.measures, preset.overlap), *preset.limits, task[:4] in GRADES): task
    for task, preset in PRESETS.items()
}
"""A task for each choice of rules, with graded elements or highlighted text."""


@pytest.mark.untraced
@pytest.mark.parametrize("task", BY_RULES.values())
def test_they_agree_without_a_collection(task: str, folder: Path) -> None:
    """Lengths of documents are unknown to both; `evaluate` may miss an input of a measure first."""
    truth = read_truth(task)
    truth = replace(truth, length=np.full(len(truth), -1))
    for *case, refused, listed in compare_codes(task, folder, truth, None):
        if any(code.startswith("measure.needs_") for code in refused):
            continue
        assert bool(refused) == bool(listed), (case, refused, listed)
        assert refused <= listed, (case, refused, listed)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("1 Q0 d 1 1 m\n1 Q0 e 2 2 m\n", ORDER.code),
        ("2 Q0 d 1 1 m\n1 Q0 d 1 1 m\n", UNKNOWN_TOPIC.code),
        ("1 Q0 d 1 1 m /a[0]\n", IMPOSSIBLE_PATH.code),
        (f'{{"topic":"1","doc":"d","xpath":"{P2.path}","start":0,"end":7}}', CONTRADICTION.code),
        ("1 Q0 d 1 3 m\n1 Q0 e 2 2 m\n1 Q0 c 3 1 m\n", TOO_MANY.code),
    ],
)
def test_rules_of_files_are_listed_only(folder: Path, text: str, code: str) -> None:
    index = folder / "index" if code == CONTRADICTION.code else None
    found = validate(
        Source.of_text(text, "r"),
        collection=index and Collection.open(index),
        topics=Topics.of([Topic("1")]),
        max_results=2,
    )
    assert [fault.code for fault in found if fault.code != "run.note"] == [code]
    (folder / "run").write_text(text)
    Evaluation(TRUTH, "P@1", collection=index, max_results=2).align(folder / "run")


@pytest.mark.parametrize("task", PRESETS)
def test_validate_knows_every_rule_of_evaluate(task: str) -> None:
    preset = PRESETS[task]
    key = task.rpartition(".")[2].lower()
    listed = list_task_rules(key, preset.measures, preset.overlap)
    assert set(choose_rules(preset.measures, preset.overlap)) <= set(listed)


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
