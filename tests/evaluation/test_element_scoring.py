"""Evaluations of elements: what counts, what is refused and what is said, on the toy collection.

Expected values are shares of the gains of `toy_elements`: with specificity, 6.15 in all.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

import foveal
import inex2005
from foveal.collection import build_index
from foveal.errors import FovealError, UsageError
from toy_elements import (
    A2,
    P2,
    S1,
    judgement_lines,
    judgements,
    run,
    run_lines,
    write_documents,
)

TOTAL = 6.15


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("toy")
    build_index(write_documents(folder), folder / "index")
    return folder / "index"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Judgements as highlights, as elements, and with grades of 2003 and 2005."""
    (tmp_path / "highlights.jsonl").write_text(judgements(judgement_lines(elements=False)))
    (tmp_path / "elements.jsonl").write_text(judgements(judgement_lines(spans=False)))
    for scale in ("2003", "2005"):
        lines = judgement_lines(scale, spans=False)
        (tmp_path / f"{scale}.jsonl").write_text(judgements(lines, scale))
    return tmp_path


def scores(
    folder: Path,
    results: str | Sequence[str] | Mapping[str, Sequence[str]],
    measures: str | Sequence[str],
    truth: str = "elements.jsonl",
    **options: Any,
) -> tuple[list[float], list[str]]:
    """Scores of a run over all topics, and what was said."""
    text = results if isinstance(results, str) else run(results)
    (folder / "run").write_text(text)
    found = foveal.evaluate(folder / "run", folder / truth, measures, **options)
    return found.overall[0].tolist(), found.meta["warnings"]


def refusal(
    folder: Path, results: Any, measures: str | Sequence[str], truth: str = "", **options: Any
) -> str:
    """The message of a refusal, without the folder."""
    with pytest.raises(FovealError) as refused:
        scores(folder, results, measures, truth or "elements.jsonl", **options)
    return str(refused.value).replace(f"{folder}/", "")


# -- results and elements --------------------------------------------------------------------------


@pytest.mark.parametrize("truth", ["elements.jsonl", "highlights.jsonl"])
def test_elements_by_xpath_by_offset_and_whole_documents(
    truth: str, folder: Path, index: Path
) -> None:
    by_path = run([P2, A2, S1])
    by_offset = run_lines([{"doc": "D1", "start": 20, "end": 40}, {"doc": "D2"}, {"doc": "D1"}])
    for text, expected in ((by_path, 2.5), (by_offset, 2.4)):
        (value,), said = scores(folder, text, "gr@3", truth, collection=index)
        assert value == pytest.approx(expected / TOTAL)
        assert said == []


def test_of_equal_extent_the_deepest_is_meant_but_a_document_is_its_root(tmp_path: Path) -> None:
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / "D.xml").write_text("<a><b><c>xxxx</c></b></a>")
    build_index(tmp_path / "d", tmp_path / "index")
    line = {"topic": "1", "doc": "D", "spans": [{"start": 0, "end": 4}]}
    (tmp_path / "truth").write_text(json.dumps(line) + "\n")
    for result, excluded, expected in (
        ({"doc": "D", "start": 0, "end": 4}, "c", 0.0),
        ({"doc": "D", "start": 0, "end": 4}, "a", 0.5),
        ({"doc": "D"}, "a", 0.0),
        ({"doc": "D"}, "c", 0.5),
    ):
        options = {"collection": tmp_path / "index", "exclude_tags": (excluded,)}
        (value,), _ = scores(tmp_path, run_lines([result]), "gr@1", "truth", **options)
        assert value == expected


def test_a_result_that_is_no_element_is_refused_or_snapped(folder: Path, index: Path) -> None:
    results = run_lines(
        [
            {"doc": "D1", "start": 20, "end": 45},
            {"doc": "D1", "start": 30, "end": 35},
            {"doc": "D2", "start": 0, "end": 25},
        ]
    )
    assert refusal(folder, results, "gr@3", collection=index).splitlines() == [
        f"run:{line}: {span} of 'D1' is not an element; the smallest around it is {xpath} "
        "(--snap takes it)"
        for line, span, xpath in (
            (2, "[20,45)", "/a[1]/s[1]"),
            (3, "[30,35)", "/a[1]/s[1]/p[2]"),
        )
    ]
    (value,), said = scores(folder, results, "gr@3", collection=index, snap=True)
    assert value == pytest.approx((0.5 + 1 + 1) / TOTAL)
    assert said == ["mine: results mapped to the smallest element around them: 2"]


def test_what_the_collection_does_not_hold_keeps_its_rank_if_lenient(
    folder: Path, index: Path
) -> None:
    results = run_lines(
        [
            {"doc": "D9", "start": 0, "end": 4},
            {"doc": "D1", "xpath": "/a[1]/x[1]"},
            {"doc": "D1", "xpath": "/a[1]/x[1]/text()[1].0 /a[1]/x[1]/text()[1].3"},
            {"doc": "D2", "xpath": "/a[1]"},
        ]
    )
    assert len(refusal(folder, results, "gr@4", collection=index).splitlines()) == 3
    (three, four), said = scores(
        folder, results, ["gr@3", "gr@4"], collection=index, lenient=True, snap=True
    )
    assert (three, four) == (0, pytest.approx(1 / TOTAL))
    assert said[0].startswith("mine: results that the collection does not hold: 3 (line 2: docu")


# -- what a measure needs --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"doc": "D7"}, "j:3: document 'D7' is relevant, but not in the collection"),
        (
            {"elements": [{"xpath": "/a[1]/x[1]", "size": 9, "rsize": 9}]},
            "j:3: document 'D2' has no element '/a[1]/x[1]' in the collection",
        ),
    ],
)
def test_judgements_of_another_collection(
    change: dict[str, Any], expected: str, folder: Path, index: Path
) -> None:
    lines = judgement_lines(spans=False)
    lines[1] |= change
    (folder / "j").write_text(judgements(lines))
    assert refusal(folder, [P2], "MAep", "j", collection=index) == expected


# -- what counts -----------------------------------------------------------------------------------


@pytest.mark.parametrize("truth", ["elements.jsonl", "highlights.jsonl"])
def test_excluded_tags_gain_nothing_and_leave_the_recall_base(
    truth: str, folder: Path, index: Path
) -> None:
    options = {"collection": index, "exclude_tags": ("p",)}
    (value, best), _ = scores(folder, [P2, A2, S1], ["gr@3", "nxCG@3"], truth, **options)
    assert value == pytest.approx((0 + 1 + 0.5) / (1 + 0.5 + 0.4 + 0.25))
    assert best == pytest.approx(1.5 / 1.9)


@pytest.mark.parametrize("with_collection", [True, False])
def test_an_excluded_tag_that_nothing_has_is_named(
    with_collection: bool, folder: Path, index: Path
) -> None:
    options = {"collection": index if with_collection else None, "exclude_tags": ("pp", "s")}
    _, (warning,) = scores(folder, [P2], "gr@1", **options)
    assert "'pp'" in warning


def test_where_judgements_list_elements_only_those_count(folder: Path, index: Path) -> None:
    """Highlighted text does not bring back what an organiser left out of the list."""
    lines = judgement_lines()
    for line in lines:
        line["elements"] = [e for e in line["elements"] if "/p[" not in e["xpath"]]
    (folder / "listed.jsonl").write_text(judgements(lines))
    for options in ({}, {"collection": index}, {"collection": index, "recompute": True}):
        (value,), _ = scores(folder, [P2, A2, S1], "gr@3", "listed.jsonl", **options)
        assert value == pytest.approx(1.5 / 2.15)


def test_the_sizes_of_the_file_are_used_unless_they_are_recomputed(
    folder: Path, index: Path
) -> None:
    lines = judgement_lines()
    root = lines[1]["elements"][0]
    assert root["xpath"] == "/a[1]"
    root |= {"size": 100}  # white space that the collection does not count
    (folder / "j").write_text(judgements(lines))
    for recompute, worth in ((False, 0.5), (True, 1.0)):
        options = {"collection": index, "recompute": recompute}
        (value,), _ = scores(folder, [A2], "xCG@1", "j", **options)
        assert value == worth
    assert (
        refusal(folder, [A2], "xCG@1", recompute=True)
        == "--recompute takes a collection (--collection)"
    )
    assert refusal(folder, [A2], "xCG@1", recompute=True, collection=index) == (
        "--recompute counts highlighted text, and the judgements have none; without it their own "
        "sizes are used"
    )
    assert refusal(folder, [A2], "xCG@1", snap=True) == "--snap takes a collection (--collection)"


GRADED = {
    "ann": {"/a[1]": (2, 50), "/a[1]/p[1]": (2, 25), "/a[1]/p[2]": (1, 25)},
    "bob": {"/a[1]": (1, 25), "/a[1]/p[1]": (1, 25)},
    "eve": {"/a[1]": (2, 25), "/a[1]/p[1]": (2, 25)},
}
"""Exhaustivity and rsize of the elements of D2 by three assessors."""


@pytest.mark.parametrize(
    ("policy", "gained"),
    [
        ("union", {"run": [2.0, 2.0, 1.0]}),
        ("majority", {"run": [1.0, 2.0, 0.0]}),
        ("intersection", {"run": [0.5, 1.0, 0.0]}),
        ("bob", {"run": [0.5, 1.0, 0.0]}),
        (
            "each",
            {
                "run[ann]": [2.0, 2.0, 1.0],
                "run[bob]": [0.5, 1.0, 0.0],
                "run[eve]": [1.0, 2.0, 0.0],
            },
        ),
    ],
)
def test_several_assessors_of_graded_elements(
    policy: str, gained: dict[str, list[float]], folder: Path, index: Path
) -> None:
    lines = []
    for name, grades in GRADED.items():
        elements = [
            {"xpath": x, "exhaustivity": e, "size": 50 if x == "/a[1]" else 25, "rsize": r}
            for x, (e, r) in grades.items()
        ]
        lines.append({"topic": "1", "doc": "D2", "assessor": name, "elements": elements})
    (folder / "j").write_text(judgements(lines, "2005"))
    (folder / "run").write_text(run([A2, "D2 /a[1]/p[1]", "D2 /a[1]/p[2]"], name="run"))
    measures = [f"xCG(quant=gen5)@{k}" for k in (1, 2, 3)]
    for collection in (None, index):
        results = foveal.evaluate(
            folder / "run", folder / "j", measures, assessors=policy, collection=collection
        )
        steps = {
            name: [row[0], row[1] - row[0], row[2] - row[1]]
            for name, row in zip(results.runs, results.overall.tolist(), strict=True)
        }
        assert steps == gained


def test_pools_choose_among_the_assessors(tmp_path: Path) -> None:
    for pool, exhaustivity in (("297", 2), ("298", 1)):
        docs = {"A": {"/article[1]": (exhaustivity, 10, 10)}}
        (tmp_path / f"{pool}.xml").write_text(inex2005.assessments("202", pool, docs))
    other = inex2005.assessments("203", "275", {"B": {"/article[1]": (1, 60, 60)}})
    (tmp_path / "275.xml").write_text(other)
    truth = [tmp_path / f"{pool}.xml" for pool in ("297", "298", "275")]
    ranked = {"202": ["A /article[1]"], "203": ["B /article[1]"]}
    (tmp_path / "run").write_text(run(ranked))

    def gains(**options: Any) -> dict[str, float]:
        results = foveal.evaluate(tmp_path / "run", truth, "xCG(quant=gen5)@1", **options)
        return results.per_topic("xCG(quant=gen5)@1")["mine"]

    assert gains() == {"202": 2, "203": 1}
    assert gains(pools=("298", "275")) == {"202": 1, "203": 1}
    assert gains(pools=("297",)) == {"202": 2}
    with pytest.raises(UsageError, match=r"pools not among the judgements: 7 \(275, 297, 298\)"):
        gains(pools=("7",))
    with pytest.raises(UsageError, match="none of the wanted topics is left; wanted topics of oth"):
        gains(pools=("297",), only_topics=("203",))


# -- overlap ---------------------------------------------------------------------------------------


# -- tasks and topics ------------------------------------------------------------------------------


def test_tasks_up_to_2006_look_at_1500_results(folder: Path) -> None:
    ranked = [f"D1 /a[1]/s[1]/p[{n}]" for n in range(10, 1510)] + [P2]
    for options, cut in (({}, 1500), ({"max_results": 1501}, None), ({"max_results": 2}, 2)):
        (gained, *_), said = scores(folder, ranked, "xCG@2000", task="2006.Thorough", **options)
        assert said == ([f"mine: topics cut at {cut} results: 1"] if cut else [])
        (*_, gained), _ = scores(folder, ranked, "xCG@2000", task="2006.Thorough", **options)
        assert gained == (0 if cut else 1)
    assert scores(folder, ranked, "xCG@2000") == ([1.0], [])
