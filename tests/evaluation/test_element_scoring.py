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
from foveal.errors import FovealError, InputError, UsageError
from toy_elements import (
    A1,
    A2,
    P1,
    P2,
    P4,
    S1,
    S2,
    assessments,
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


def test_passages_named_by_points_are_snapped_too(folder: Path, index: Path) -> None:
    points = "/a[1]/s[1]/p[2]/text()[1].{} /a[1]/s[1]/p[2]/text()[1].{}"
    whole, part = ({"doc": "D1", "xpath": points.format(a, b)} for a, b in ((0, 20), (5, 9)))
    (value,), said = scores(folder, run_lines([whole]), "gr@1", collection=index)
    assert (value, said) == (pytest.approx(1 / TOTAL), [])
    message = refusal(folder, run_lines([part]), "gr@1", collection=index)
    assert message.startswith(
        "run:2: [25,29) of 'D1' is not an element; the smallest around it is /a"
    )
    (value,), _ = scores(folder, run_lines([part]), "gr@1", collection=index, snap=True)
    assert value == pytest.approx(1 / TOTAL)


def test_results_past_the_end_are_refused_as_such_or_clipped(folder: Path, index: Path) -> None:
    results = run_lines([{"doc": "D2", "start": 25, "end": 70}])
    assert refusal(folder, results, "gr@1", collection=index) == (
        "run:2: the result ends at 70, past the end of document 'D2' of 50 characters "
        "(--lenient clips)"
    )
    (value,), said = scores(folder, results, "gr@1", collection=index, lenient=True)
    assert value == pytest.approx(1 / TOTAL)
    assert said == ["mine: results clipped at the end of their document: 1"]


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
    ("measure", "truth", "results", "expected"),
    [
        (
            "nxCG@10",
            "highlights.jsonl",
            run([P2]),
            "highlights.jsonl: nxCG@10 needs the elements of relevant documents; it takes",
        ),
        (
            "MAep",
            "elements.jsonl",
            run_lines([{"doc": "D2"}, {"doc": "D1", "start": 20, "end": 40}]),
            "run:3: MAep needs results that are elements; it takes an XPath for each, or a",
        ),
        (
            "Q(quant=gen,overlap=on)",
            "2003.jsonl",
            run([P2]),
            "2003.jsonl: Q(quant=gen,overlap=on) needs the sizes of assessed elements; it takes",
        ),
        (
            "inex_eval(unretrieved=random_tail)",
            "2003.jsonl",
            run([P2]),
            "2003.jsonl: inex_eval(unretrieved=random_tail) needs the number of elements in the ",
        ),
        (
            "nxCG@10",
            "2003.jsonl",
            run([P2]),
            "2003.jsonl: quant=spec is a function of the scale of 2005 and 2006, but the elements",
        ),
        (
            "FBarticle(quant=gen5)",
            "elements.jsonl",
            run([P2]),
            "elements.jsonl: quant=gen5 is a function of the scale of 2005, but the elements are",
        ),
        (
            "inex_eval_ng",
            "elements.jsonl",
            run([P2]),
            "elements.jsonl: inex_eval_ng takes grades of exhaustivity",
        ),
    ],
)
def test_what_is_missing_is_named_with_what_would_supply_it(
    measure: str, truth: str, results: str, expected: str, folder: Path
) -> None:
    assert refusal(folder, results, measure, truth).startswith(expected)


def test_a_collection_supplies_sizes_and_the_number_of_elements(folder: Path, index: Path) -> None:
    measures = ["Q(quant=gen,overlap=on)", "inex_eval(unretrieved=random_tail)"]
    values, said = scores(folder, [P2], measures, "2003.jsonl", collection=index)
    assert min(values) > 0
    assert said == []


def test_text_inside_elements_takes_a_collection_else_it_is_said_once(
    folder: Path, index: Path
) -> None:
    measures = ["nxCG(quant=gen5,overlap=on)@3", "MAep(quant=gen5,overlap=on)", "MAep(quant=gen5)"]
    _, said = scores(folder, [P2, S1], measures, "2005.jsonl")
    (warning,) = said
    assert warning == (
        "nxCG, MAep: the text directly inside elements is not known without a collection; partly "
        "seen elements are scored with mixed=ignore"
    )
    assert scores(folder, [P2, S1], measures, "2005.jsonl", collection=index)[1] == []
    assert scores(folder, [P2, S1], "nxCG(overlap=on)@3")[1] == []


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


def test_excluding_is_for_measures_of_elements(folder: Path, index: Path) -> None:
    options = {"truth": "highlights.jsonl", "collection": index, "exclude_tags": ("p",)}
    assert refusal(folder, [P2], "iP@0.01", **options) == (
        "--exclude-tags is for measures of elements; none is requested"
    )
    _, said = scores(folder, [P2], ["iP@0.01", "MAep"], **options)
    assert said == [
        "--exclude-tags leaves measures that are not about elements as they are: iP@0.01"
    ]


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

NESTED = [S1, P2, A2, P2]


@pytest.mark.parametrize("with_collection", [True, False])
@pytest.mark.parametrize(
    ("policy", "gained", "said"),
    [
        (None, 0.5 + 1 + 1, ["results that repeat an earlier one: 1"]),
        ("union", 0.5 + 1 + 1, ["results that repeat an earlier one: 1"]),
        ("allow", 0.5 + 1 + 1 + 1, ["results that repeat an earlier one: 1"]),
        ("drop", 0.5 + 1, ["results that overlap an earlier one dropped: 2"]),
    ],
)
def test_overlap_policies(
    policy: str | None,
    gained: float,
    said: list[str],
    with_collection: bool,
    folder: Path,
    index: Path,
) -> None:
    collection = index if with_collection else None
    (value,), heard = scores(folder, NESTED, "gr@4", overlap=policy, collection=collection)
    assert value == pytest.approx(gained / TOTAL)
    assert {f"mine: {each}" for each in said} <= set(heard)


@pytest.mark.parametrize("with_collection", [True, False])
def test_overlap_as_an_error_names_both_results(
    with_collection: bool, folder: Path, index: Path
) -> None:
    options = {"overlap": "error", "collection": index if with_collection else None}
    place = "(topic '1', document 'D1'); gr@4 forbids it (--overlap drop, union or allow)"
    lines = refusal(folder, [P2, A2, S1, P2], "gr@4", **options).splitlines()
    assert [line.replace(place, "...") for line in lines] == [
        "run:3: overlaps the result on line 1 ...",
        "run:4: repeats the result on line 1 ...",
    ]
    scores(folder, [P1, A2, S2], "gr@3", **options)


def test_an_element_returned_again_may_gain_again(folder: Path) -> None:
    """Without the rule that repeats gain nothing, gain-recall passes 1."""
    ranked = [A1, S1, P1, P2, S2, P4, A2, "D2 /a[1]/p[1]", "D2 /a[1]/p[2]"]
    for policy, expected in ((None, 1.0), ("allow", 2.0)):
        (value,), _ = scores(folder, ranked + ranked, "gr@18", overlap=policy)
        assert value == pytest.approx(expected)


@pytest.mark.parametrize("with_collection", [True, False])
@pytest.mark.parametrize(
    ("task", "truth"), [("2006.Focused", "elements.jsonl"), ("2005.CO.Focussed", "2005.jsonl")]
)
def test_the_focused_tasks_say_how_many_results_overlap(
    task: str, truth: str, with_collection: bool, folder: Path, index: Path
) -> None:
    options = {"task": task, "collection": index if with_collection else None}
    _, said = scores(folder, NESTED, [], truth, **options)
    assert "mine: results that overlap an earlier one, which the task forbids: 2" in said
    _, said = scores(folder, [P2, A2, P4], [], truth, **options)
    assert not [warning for warning in said if "overlap an earlier one" in warning]
    siblings = ["D1 /a[1]/s[1]", "D1 /a[1]/s[10]", "D1 /a[1]/s[1]/p[2]"]
    if not with_collection:
        _, said = scores(folder, siblings, [], truth, **options)
        assert "mine: results that overlap an earlier one, which the task forbids: 1" in said


# -- tasks and topics ------------------------------------------------------------------------------


@pytest.mark.parametrize("overlap", [None, "drop", "allow"])
def test_topics_beside_each_other_are_scored_as_each_alone(
    overlap: str | None, folder: Path, index: Path
) -> None:
    """Nothing of a topic shows in the sums, points and levels of another; one has no results."""
    lists = {"1": [P2, A2, S1, P2, A1], "2": [S1, P1, P2], "3": [], "4": [A1, P4, S2, P1]}
    measures = [
        f"{name}({setting}){at}"
        for setting in ("overlap=off", "overlap=on", "overlap=on,quant=gen")
        for name, at in (("nxCG", "@2"), ("nxCG", "@9"), ("MAep", ""), ("iMAep", ""), ("ep", "@.3"))
    ]
    measures += [f"{name}(ideal=step)" for name in ("MAep", "iMAep")]
    options: dict[str, Any] = {"collection": index, "overlap": overlap}

    def values(topics: list[str]) -> list[list[float]]:
        lines = [line for topic in topics for line in judgement_lines(topic=topic, elements=False)]
        (folder / "j").write_text(judgements(lines))
        (folder / "run").write_text(run({t: lists[t] for t in ["4", "2", "1"] if t in topics}))
        found = foveal.evaluate(folder / "run", folder / "j", measures, **options)
        return [list(row) for row in found.values[0].tolist()]

    together = values(["1", "2", "3", "4"])
    assert together[2] == [0.0] * len(measures)
    assert [*together[:2], together[3]] == [values([topic])[0] for topic in ("1", "2", "4")]


def test_tasks_up_to_2006_look_at_1500_results(folder: Path) -> None:
    ranked = [f"D1 /a[1]/s[1]/p[{n}]" for n in range(10, 1510)] + [P2]
    for options, cut in (({}, 1500), ({"max_results": 1501}, None), ({"max_results": 2}, 2)):
        (gained, *_), said = scores(folder, ranked, "xCG@2000", task="2006.Thorough", **options)
        assert said == ([f"mine: topics cut at {cut} results: 1"] if cut else [])
        (*_, gained), _ = scores(folder, ranked, "xCG@2000", task="2006.Thorough", **options)
        assert gained == (0 if cut else 1)
    assert scores(folder, ranked, "xCG@2000") == ([1.0], [])


def test_a_submission_for_another_task_is_said(folder: Path) -> None:
    for declared, warned in (("CO.Focussed", True), ("CO.Thorough", False)):
        text = inex2005.submission("mine", declared, {"1": [P2]})
        _, said = scores(folder, text, [], "2005.jsonl", task="2005.CO.Thorough")
        warning = "mine: declares the task CO.Focussed, scored as 2005.CO.Thorough"
        assert (warning in said) is warned


def test_cos_tasks_average_over_topics_with_a_castitle(folder: Path) -> None:
    lines = judgement_lines("2005", spans=False)
    other = [line | {"topic": "2"} for line in lines]
    (folder / "j").write_text(judgements(lines + other, "2005"))
    (folder / "topics").write_text(
        '{"topic":"1","title":"x"}\n{"topic":"2","title":"x","castitle":"//s[about(., x)]"}\n'
    )
    ranked = {"1": [P2], "2": [A2]}
    task = "2005.COS.Thorough"
    assert refusal(folder, ranked, [], "j", task=task) == (
        "this task averages over the topics that have a castitle; give the topic statements "
        "(--topics-file)"
    )
    (folder / "run").write_text(run(ranked))
    results = foveal.evaluate(
        folder / "run", folder / "j", task=task, topics_file=str(folder / "topics")
    )
    assert results.topics == ("2",)
    kinds = [entry["kind"] for entry in results.meta["inputs"]]
    assert kinds == ["judgements", "topics", "run"]
    (folder / "topics").write_text('{"topic":"1","title":"x"}\n{"topic":"3","title":"x"}\n')
    options = {"task": task, "topics_file": str(folder / "topics")}
    assert "no judged topic has a castitle in" in refusal(folder, ranked, [], "j", **options)


def test_a_run_without_a_topic_of_the_evaluation(folder: Path) -> None:
    lines = [line | {"topic": topic} for topic in "12" for line in judgement_lines(spans=False)]
    (folder / "j").write_text(judgements(lines))
    assert refusal(folder, {"1": [P2]}, "MAep", "j", only_topics=("2",)) == (
        "run: all topics of the run are left out of the evaluation; the run has 1, evaluated are 2"
    )
    assert refusal(folder, {"7": [P2]}, "MAep", "j") == (
        "run: no topic in common with the judgements; the run has 7, the judgements 1, 2"
    )


def test_the_points_of_a_curve_are_said_as_one(folder: Path) -> None:
    lines = judgement_lines("2005", spans=False)
    barren = {"topic": "2", "doc": "D3", "elements": []}
    (folder / "j").write_text(judgements([*lines, barren], "2005"))
    measures = ["ep(quant=gen5)@curve", "nxCG(quant=gen5)@curve", "MAep(quant=gen5)", "num_ret"]
    _, said = scores(folder, [P2], measures, "j")
    assert said[-1] == (
        "topics with nothing relevant, not averaged (ep(quant=gen5)@curve, "
        "nxCG(quant=gen5)@curve, MAep(quant=gen5)), 1: 2"
    )
    _, said = scores(folder, [P2], "num_ret", "j", task="2005.CO.Thorough")
    shown = [warning.partition("averaged ")[2] for warning in said if "averaged" in warning]
    strict = "(quant=strict5)"
    listed = f"nxCG{strict}@10,25,50,curve, MAnxCG{strict}@10,25,50, MAep{strict}, iMAep{strict}, "
    assert shown[-1] == f"({listed}Q{strict} and 2 more), 2: 1, 2"
    assert shown[0].endswith(" and 9 more), 1: 2")


def test_every_assessment_of_the_scale_of_2005_in_inex_xml(folder: Path) -> None:
    """The root of D1 has grade 2, the second paragraph 1, the first is too small (?)."""
    (folder / "pool.xml").write_text(assessments("2005"))
    measures = [f"xCG(quant={quant})@3" for quant in ("gen5", "spec", "genLifted")]
    values, _ = scores(folder, [A1, P2, P1], measures, "pool.xml")
    assert values == pytest.approx([2 * 0.4 + 1 + 0, 0.4 + 1 + 0.5, 3 * 0.4 + 2 + 0.5])


def test_input_errors_come_with_the_file(folder: Path) -> None:
    (folder / "run").write_text(run([P2]))
    with pytest.raises(InputError) as refused:
        foveal.evaluate(folder / "run", folder / "highlights.jsonl", "MAep")
    (problem,) = refused.value.problems
    assert (Path(problem.file).name, problem.line) == ("highlights.jsonl", None)
