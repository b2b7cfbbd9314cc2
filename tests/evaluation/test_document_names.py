"""Runs that name documents unlike the judgements: the share of matching results, and warnings."""

from __future__ import annotations

import json
import unicodedata
import warnings
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

import foveal
from command import call

SHARE = "results_in_judged_documents"


def gold(*names: str) -> dict[str, list[tuple[str, int, int]]]:
    """Judgements as for RAG: one relevant passage of one document for each topic."""
    return {str(i): [(name, 0, 50)] for i, name in enumerate(names, 1)}


def returned(*names: Iterable[str]) -> dict[str, list[tuple[str, int, int]]]:
    """A run: the first characters of these documents, topic by topic."""
    return {str(i): [(doc, 0, 50) for doc in docs] for i, docs in enumerate(names, 1)}


def scored(
    run: dict[str, Any], judgements: dict[str, Any], **options: Any
) -> tuple[float, float, list[str]]:
    """The score, the share of results in judged documents, and the warnings about names."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        results = foveal.evaluate(run, judgements, "charR", **options)
    python = [str(one.message) for one in caught if one.category is foveal.FovealWarning]
    assert [line for line in results.meta["warnings"] if line in python] == python
    return results["run", "charR"], results.meta["topics"]["runs"]["run"][SHARE], python


NAMES = ("docs/Café Guide.md", "docs/install.md", "docs/setup.md")


@pytest.mark.parametrize(
    "change",
    [
        lambda name: name.removesuffix(".md"),
        lambda name: name.replace(".md", ".markdown"),
        lambda name: name.removeprefix("docs/"),
        lambda name: "/data/" + name,
        lambda name: name.replace("docs/", "C:\\docs\\"),
        str.upper,
        lambda name: name.replace(".md", ".MD"),
    ],
)
def test_a_systematic_difference_is_shown_by_examples(change: Callable[[str], str]) -> None:
    run = returned(*([change(name), "other"] for name in NAMES))
    value, share, (text,) = scored(run, gold(*NAMES))
    assert (value, share) == (0, 0)
    first, second = sorted(map(change, NAMES))[:2]
    assert all(repr(name) in text for name in (first, second, *sorted(NAMES)[:2]))


def test_one_name_in_another_unicode_form_is_enough() -> None:
    composed = unicodedata.normalize("NFC", NAMES[0])
    decomposed = unicodedata.normalize("NFD", NAMES[0])
    for ours, theirs in ((composed, decomposed), (decomposed, composed)):
        run = returned([ours], *([name] * 5 for name in NAMES[1:]))
        value, share, (text,) = scored(run, gold(theirs, *NAMES[1:]), overlap="allow")
        assert value == pytest.approx(2 * 5 / 3)  # counted again with --overlap allow
        assert share == 10 / 11
        assert ascii(ours) in text
        assert ascii(theirs) in text


@pytest.mark.parametrize("found", [10, 5])
def test_files_of_one_name_in_many_directories_are_no_reason_to_warn(found: int) -> None:
    """A run over code: every directory has a ``utils.py``, and one of them is relevant."""
    files = [f"{i}.py" for i in range(10)]
    others = [[f"app{k}/{file}" for k in range(1, 20)] for file in files]
    right = [[f"app0/{file}"] if i < found else [] for i, file in enumerate(files)]
    run = returned(*(one + more for one, more in zip(right, others, strict=True)))
    value, _, said = scored(run, gold(*(f"app0/{file}" for file in files)))
    assert (value, said) == (found / 10, [])


def test_sparse_judgements_are_no_reason_to_warn() -> None:
    """One relevant document for each topic, found for one topic in five, among many others."""
    names = [f"{i}" for i in range(20)]
    found = [
        [*(f"other-{i}-{k}" for k in range(99)), *([name] if i % 5 == 0 else [])]
        for i, name in enumerate(names)
    ]
    value, share, said = scored(returned(*found), gold(*names))
    assert value == pytest.approx(0.2)
    assert share == pytest.approx(4 / (20 * 99 + 4))
    assert said == []


@pytest.mark.parametrize("names", [("a.md", "b.md"), ("other", "x")])
def test_slices_say_the_same(tmp_path: Path, names: tuple[str, ...]) -> None:
    rows = [
        {"topic": str(i), "doc": f"{name}{i}", "start": 0, "end": 9}
        for i in range(4)
        for name in ("b", "a")
    ]
    (tmp_path / "run.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    judged = [
        {"topic": str(i), "doc": f"{stem}{i}{dot}{end}", "spans": [{"start": 0, "end": 9}]}
        for i in range(4)
        for stem, dot, end in (name.partition(".") for name in names)
    ]
    (tmp_path / "gold.jsonl").write_text("".join(json.dumps(row) + "\n" for row in judged))
    said = []
    for memory in (None, 1):
        with pytest.warns(foveal.FovealWarning) as caught:
            results = foveal.evaluate(
                tmp_path / "run.jsonl", tmp_path / "gold.jsonl", "charR", memory=memory
            )
        assert results.meta["topics"]["runs"]["run"][SHARE] == 0
        said.append([str(one.message) for one in caught])
    assert said[0] == said[1]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    topics = range(1, 7)
    (tmp_path / "gold.jsonl").write_text(
        "".join(
            f'{{"topic":"{t}","doc":"page{t}.md","spans":[{{"start":0,"end":{9 + t}}}]}}\n'
            for t in topics
        )
    )
    for name, doc in (("right", "page{}.md"), ("wrong", "page{}")):
        (tmp_path / f"{name}.jsonl").write_text(
            "".join(
                f'{{"topic":"{t}","doc":"{doc.format(t)}","start":0,"end":{5 + t}}}\n'
                for t in topics
            )
        )
    return tmp_path


@pytest.mark.parametrize(
    "arguments",
    [
        ("evaluate", "-m", "charR"),
        ("compare", "-m", "charR"),
        ("correlate", "-m", "charR", "-m", "charP"),
        ("report", "-m", "charR", "-o", "report.html"),
        ("budget",),
        ("plot", "topics", "-m", "charR", "-o", "graph.dat"),
    ],
    ids=lambda arguments: arguments[0],
)
def test_every_command_that_scores_warns_once(
    arguments: tuple[str, ...], folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    del folder
    command, *rest = arguments
    graph = [rest.pop(0)] if command == "plot" else []
    runs = ["right.jsonl", "wrong.jsonl"]
    outcome = call(capsys, command, *graph, *runs, "-j", "gold.jsonl", *rest)
    assert outcome.code == 0, outcome.err
    (line,) = (line for line in outcome.err.splitlines() if "judged documents" in line)
    assert line.startswith("warning: wrong: 0 of 6 results")
    assert "the run names 'page1', 'page2', the judgements 'page1.md', 'page2.md'" in line
