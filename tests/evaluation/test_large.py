"""Runs and judgements in slices: the same bytes as at once, and the same refusals."""

from __future__ import annotations

import gzip
import json
import os
import random
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
from examples.make_crossings import CAMPAIGN
from hypothesis import given, settings
from hypothesis import strategies as st

import foveal
from foveal.collection import Collection, build_index
from foveal.collection.placement import place_elements
from foveal.errors import Tally
from foveal.evaluation.large import NEED_OF_JUDGEMENTS, GroupedEvaluation, prepare
from foveal.executors import Processes
from foveal.measures import Measure, Need, OverlapRule, all_measures, parse_measure
from foveal.measures.measure import Cutoff

SMALL = 300
"""Bytes of a slice."""
LINES = ("fol", "elements", "trec", "jsonl")


def everything() -> list[Measure]:
    """Every measure, at a cut-off where it has one."""
    labels = {Cutoff.RANK: "@5", Cutoff.RECALL: "@0.1"}
    return [parse_measure(own.name + labels.get(own.cutoff, "")) for own in all_measures()]


ALL = [m for m in everything() if m.name != "inex_eval_ng" and Need.ANSWERS not in m.needs]
"""But one, which takes grades that the campaign does not have, and those of answers."""
OF_TEXT = [m for m in ALL if {Need.STRUCTURE, Need.ELEMENTS, Need.LENGTHS}.isdisjoint(m.needs)]


def outcome(runs: Any, judgements: Any, measures: Any, size: int | None, **options: Any) -> str:
    """The results with everything about them, or why there are none."""
    memory = None if size is None else NEED_OF_JUDGEMENTS * size
    try:
        return foveal.evaluate(runs, judgements, measures, memory=memory, **options).to_json()
    except foveal.InputError as error:
        return "\n".join(error.lines())
    except foveal.FovealError as error:
        return f"{type(error).__name__}: {error}"


def agree(sliced: str, at_once: str) -> bool:
    """Whether they are the same; of what is wrong, slices may find more than the first check."""
    if at_once.startswith("{"):
        return sliced == at_once
    return set(at_once.splitlines()) <= set(sliced.splitlines())


def check(runs: Any, judgements: Any, measures: Any, *, good: bool, **options: Any) -> None:
    at_once = outcome(runs, judgements, measures, None, **options)
    assert at_once.startswith("{") == good, at_once
    for size in (1, 10 * SMALL):
        assert agree(outcome(runs, judgements, measures, size, **options), at_once)


# -- every measure on a real campaign ------------------------------------------------------------


@pytest.fixture(scope="module")
def crossings(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The campaign with an index, a run in all formats, and each of them with its lines mixed."""
    folder = tmp_path_factory.mktemp("crossings")
    build_index(CAMPAIGN / "documents", folder / "index")
    run = foveal.read_run(CAMPAIGN / "runs" / "noisy.jsonl")
    index = Collection.open(folder / "index")
    placed = place_elements(run, index, snap=True, lenient=True)
    for form in LINES:
        foveal.write_run(placed, folder / form, form)
        lines = (folder / form).read_text().splitlines()
        head = lines[:1] if form == "jsonl" else []
        mixed = lines[len(head) :]
        random.Random(form).shuffle(mixed)
        (folder / f"{form}-mixed").write_text("\n".join([*head, *mixed]))
    return folder


@pytest.mark.parametrize("name", [*LINES, *(f"{form}-mixed" for form in LINES)])
def test_every_measure_has_the_same_value_on_slices(name: str, crossings: Path) -> None:
    options = {"collection": crossings / "index", "snap": True, "lenient": True, "regroup": True}
    judgements = CAMPAIGN / "judgements.jsonl"
    whole = outcome(crossings / name, judgements, ALL, None, **options, overlap="drop")
    assert whole.startswith("{")
    assert outcome(crossings / name, judgements, ALL, SMALL, **options, overlap="drop") == whole


@pytest.mark.parametrize("overlap", ["union", "allow"])
@pytest.mark.parametrize("name", ["fol", "jsonl-mixed"])
def test_other_options_do_not_change_that(name: str, overlap: str, crossings: Path) -> None:
    check(
        crossings / name,
        CAMPAIGN / "judgements.jsonl",
        [measure for measure in ALL if measure.overlap_rule is not OverlapRule.ONE_PER_DOCUMENT],
        good=True,
        collection=crossings / "index",
        snap=True,
        lenient=True,
        regroup=True,
        overlap=overlap,
        only_topics=("2", "3", "none"),
        max_results=4,
        topics="run",
    )


# -- generated campaigns -------------------------------------------------------------------------


def generated(rng: random.Random, folder: Path) -> tuple[list[Path], Path]:
    """One or two files of judgements, and a run; lines in order or not, some of them wrong."""
    docs = {f"D{i}": rng.randint(20, 90) for i in range(8)}
    topics = [str(i) for i in rng.sample(range(1, 15), 6)]
    kind, wrong = rng.choice(["fol", "trec", "jsonl", "jsonl"]), rng.random()
    files = []
    for number in range(rng.choice([1, 1, 2])):
        lines = [
            line
            for topic in topics
            for doc in rng.sample(sorted(docs), rng.randint(1, 6))
            for line in judgement_lines(rng, kind, topic, doc, docs[doc] + (wrong < 0.05))
        ]
        if rng.random() < 0.4:
            rng.shuffle(lines)
        if 0.05 < wrong < 0.1:
            lines[len(lines) // 2] = "oops oops"
        files.append(folder / f"judgements{number}")
        files[-1].write_text("\n".join(lines))
    lines = []
    for topic in [*rng.sample(topics, rng.randint(3, 6)), *rng.choice([[], ["98", "99"]])]:
        for rank, doc in enumerate(rng.sample([*sorted(docs), "U"], rng.randint(1, 8)), 1):
            start = rng.randint(0, docs.get(doc, 30))
            end = rng.randint(start, docs.get(doc, 30)) + 9 * (rng.random() < 0.02)
            lines.append(f"{topic} Q0 {doc} {rank} {1 / rank} mine {start} {end - start}")
    if rng.random() < 0.3:
        rng.shuffle(lines)
    if 0.1 < wrong < 0.15:
        lines[-2:-2] = ["1 Q0 D 1 x mine 0 1", "all Q0 D 1 1 mine 0 1"]
    (folder / "run").write_text("\n".join(lines))
    return files, folder / "run"


def judgement_lines(
    rng: random.Random, kind: str, topic: str, doc: str, length: int
) -> Sequence[str]:
    cuts = sorted(rng.sample(range(length + 1), 2 * rng.randint(0, 3)))
    spans = list(zip(cuts[::2], cuts[1::2], strict=True))
    if kind == "trec":
        return [f"{topic} 0 {doc} {rng.randint(0, 2)}"]
    if kind == "fol":
        size = sum(end - start for start, end in spans)
        rest = " ".join(f"{start}:{end - start}" for start, end in spans)
        bep = spans[0][0] if spans and rng.random() < 0.7 else -1
        return [f"{topic} Q0 {doc} {size} {length}" + (f" {bep} {rest}" if size else "")]
    records = []
    for assessor in rng.sample(["ann", "bob", None], rng.choice([1, 1, 2])):
        marked: list[dict[str, Any]] = [{"start": start, "end": end} for start, end in spans]
        if marked and rng.random() < 0.1:
            marked[0] |= {"grade": rng.choice([0, 1, 2]), "sets": ["a"]}
        record: dict[str, Any] = {"topic": topic, "doc": doc, "spans": marked}
        record |= {"length": length} if rng.random() < 0.7 else {}
        record |= {"bep": spans[0][0]} if spans and rng.random() < 0.5 else {}
        records.append(json.dumps(record | ({"assessor": assessor} if assessor else {})))
    return records


@given(seed=st.integers(0, 10_000))
@settings(max_examples=30)
def test_generated_campaigns_have_the_same_results_or_refusals(
    seed: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    rng = random.Random(seed)
    judgements, run = generated(rng, tmp_path_factory.mktemp("generated"))
    options: dict[str, Any] = {
        "assessors": rng.choice(["union", "union", "each", "majority", "intersection", "ann"]),
        "pools": rng.choice([None, None, None, ("ann",)]),
        "only_topics": rng.choice([None, None, tuple("1234567"), ("99",)]),
        "overlap": rng.choice([None, "drop", "union", "allow"]),
        "topics": rng.choice(["judged", "run", "both"]),
        "lenient": rng.random() < 0.8,
        "regroup": rng.random() < 0.8,
    }
    measures = rng.sample(OF_TEXT, 5)
    at_once = outcome(run, judgements, measures, None, **options)
    for size in (60,):
        assert agree(outcome(run, judgements, measures, size, **options), at_once)


# -- what only the whole tells -------------------------------------------------------------------

QRELS = "".join(f"{t} Q0 D{d} 10 {90 + d} 5 5:10\n" for t in range(1, 6) for d in range(3))


def written(folder: Path, text: str, name: str = "x.run") -> Path:
    path = folder / name
    path.write_text(text)
    return path


def test_the_highest_grade_is_that_of_all_topics(tmp_path: Path) -> None:
    graded = "".join(f"{t} 0 D{d} {3 if t == 5 else 1}\n" for t in range(1, 6) for d in range(3))
    ranked = "".join(f"{t} Q0 D{d} {d} {9 - d} run\n" for t in range(1, 6) for d in range(3))
    qrels, run = written(tmp_path, graded, "qrels"), written(tmp_path, ranked)
    at_once = outcome(run, qrels, ["ERR@5"], None)
    assert outcome(run, qrels, ["ERR@5"], 60) == at_once
    assert at_once.startswith("{")


def run_of(*results: tuple[int, str], name: str = "mine") -> str:
    return "".join(f"{topic} Q0 {doc} 1 1 {name} 0 10\n" for topic, doc in results)


def test_topics_without_a_judged_document_stay(tmp_path: Path) -> None:
    lines = ['{"topic": "1", "spans": []}', '{"topic": "3", "spans": []}']
    lines.append(
        '{"topic": "2", "doc": "D", "length": 40, "bep": 0, "spans": [{"start": 0, "end": 9}]}'
    )
    judgements = written(tmp_path, "\n".join(lines), "j.jsonl")
    run = written(tmp_path, "".join(f'{{"topic": "{t}", "doc": "D"}}\n' for t in (1, 2, 4)))
    other = written(tmp_path, '{"topic": "3", "doc": "E", "length": 9, "spans": []}\n', "k.jsonl")
    check(run, judgements, OF_TEXT, good=True)
    check(run, [judgements, other], ["charP@1"], good=True)
    check(run, judgements, ["charP@1"], good=True, only_topics=("1", "2"))


def test_scores_and_ranks_that_only_some_results_have(tmp_path: Path) -> None:
    judgements = written(tmp_path, QRELS, "j")
    rows = [
        {"topic": str(t), "doc": f"D{d}", "start": 0, "end": 9, "rank": d + 1, "score": 1.0}
        for t in range(1, 5)
        for d in range(3)
    ]
    del rows[7]["score"]
    check(written(tmp_path, "\n".join(map(json.dumps, rows))), judgements, "AgP", good=True)
    for row in rows[6:9]:
        del row["rank"]
    check(written(tmp_path, "\n".join(map(json.dumps, rows))), judgements, "AgP", good=False)


def test_compressed_files_and_several_runs_give_the_same(tmp_path: Path) -> None:
    judgements = written(tmp_path, QRELS, "j")
    (tmp_path / "j.gz").write_bytes(gzip.compress(judgements.read_bytes()))
    runs = []
    for number in range(3):
        runs.append(tmp_path / f"{number}.run.gz")
        text = run_of((1, "D0"), (number + 2, "D1"), name=f"r{number}")
        runs[-1].write_bytes(gzip.compress(text.encode()))
    check(runs, tmp_path / "j.gz", ["P@1", "charR"], good=True, topics="both")
    whole = outcome(runs, judgements, "P@1", None)
    with ThreadPoolExecutor(2) as pool:
        assert outcome(runs, judgements, "P@1", 1, executor=pool) == whole
    # Processes split large runs themselves; large judgements stay in this process.
    with Processes(2) as pool:
        for size in (1, judgements.stat().st_size):
            assert outcome(runs, judgements, "P@1", size, executor=pool) == whole


# -- when, and what for --------------------------------------------------------------------------


def test_only_judgements_of_text_are_cut(tmp_path: Path) -> None:
    def is_cut(judgements: Path, measure: str, memory: int | None = 1, **options: Any) -> bool:
        return isinstance(prepare(judgements, measure, memory, options)[0], GroupedEvaluation)

    judgements = written(tmp_path, QRELS, "j")
    assert is_cut(judgements, "iP@0.1")
    assert not is_cut(judgements, "iP@0.1", None)
    element = '{"xpath": "/a[1]", "exhaustivity": "3", "specificity": "1"}'
    listed = written(tmp_path, f'{{"topic": "1", "doc": "D", "elements": [{element}]}}', "e")
    assert not is_cut(listed, "nxCG@5", overlap="allow")
    assert not is_cut(listed, "P@5")


def test_remarks_add_up() -> None:
    assert Tally("cut: {}", 2) + Tally("cut: {}", 0) + Tally("cut: {}", 3) == "cut: 5"
    names = Tally("topics, {}: {}", 4, "abcd") + Tally("topics, {}: {}", 3, "efg")
    assert names == "topics, 7: a, b, c, d, e and 2 more"


# -- what can be read only once ------------------------------------------------------------------


def fed(folder: Path, name: str, text: str) -> Path:
    """A named pipe that somebody writes this into, once."""
    pipe = folder / name
    os.mkfifo(pipe)
    threading.Thread(target=pipe.write_text, args=(text,), daemon=True).start()
    return pipe


@pytest.mark.parametrize("processes", [False, True])
def test_pipes_are_read_once_and_whole(tmp_path: Path, processes: bool) -> None:
    lines = run_of(*((topic, f"U{i}") for topic in range(1, 5) for i in range(300)))
    lines = run_of((1, "D0"), (2, "D1")) + lines
    files = written(tmp_path, lines), written(tmp_path, QRELS, "j")
    at_once = foveal.evaluate(*files, ["charR", "ret_size"], overlap="union")
    pipes = fed(tmp_path, "run", lines), fed(tmp_path, "qrels", QRELS)
    with Processes(2) if processes else nullcontext() as executor:
        found = foveal.evaluate(*pipes, ["charR", "ret_size"], overlap="union", executor=executor)
    assert found.values.tolist() == at_once.values.tolist()
    assert found["mine", "ret_size"] > 0


def test_only_the_first_whole_document_tells_of_unknown_fields(tmp_path: Path) -> None:
    judgements = written(tmp_path, QRELS, "j")
    lines = ['{"topic": "1", "doc": "D0"}', '{"topic": "2", "doc": "D0", "begin": 3}']
    check(written(tmp_path, "\n".join(lines)), judgements, "P@1", good=True)
    check(written(tmp_path, "\n".join(lines[::-1])), judgements, "P@1", good=True)


def test_all_lines_that_are_not_utf8_are_named(tmp_path: Path) -> None:
    run, judgements = tmp_path / "run", written(tmp_path, QRELS, "j")
    lines = [b"1 Q0 D0 1 1 x 0 9", b"2 Q0 \xff 1 1 x 0 9", b"3 Q0 D0 1 y x 0 9", b"\xfe Q0"]
    run.write_bytes(b"\n".join(lines))
    check(run, judgements, "P@1", good=False)
    check(judgements, run, "P@1", good=False)
