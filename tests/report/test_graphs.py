"""Graphs: every point is a score, nxCG and ep are what the lines show, nothing is lost on paper."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import pairwise
from math import isnan
from pathlib import Path
from xml.etree import ElementTree as ET

import numpy as np
import pytest
from examples.make_crossings import CAMPAIGN
from hypothesis import given, settings
from hypothesis import strategies as st

import foveal
from foveal.collection import build_index
from foveal.errors import UsageError
from foveal.measures import Measure, find_measure, parse_measure
from foveal.measures.toy import PLACES, judgements, parse_run
from foveal.model import UNKNOWN, Judgements, Results, Run
from foveal.model.graphs import Axis, Graph, Line
from foveal.report.drawing import DASHES, MARKERS, PALETTE, draw, figure, form_of, gnuplot
from foveal.report.graph_kinds import (
    GRAPHS,
    average_curves,
    cumulate_gains,
    draw_aligned,
    find_graph,
    gain_graph,
    gain_measures,
    lengths_graph,
)

CURVES = [kind for kind in GRAPHS.values() if kind.source == "curves"]
ELEMENTS = [f"{doc}:{path}" for doc, paths in PLACES.items() for path in paths]
RUN = "D1:/a/s[1]/p[2] D2:/a D3:/a D1:/a/s[2]"


def toy_run(text: str, name: str = "mine") -> Run:
    return Run.from_frame(parse_run(text), name=name)


def results_of(*rows: tuple[str, str, str, float | None]) -> Results:
    return Results.from_tidy(rows, {})


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("crossings") / "crossings.fvx"
    build_index(CAMPAIGN / "documents", path)
    return path


# -- curves of scores ----------------------------------------------------------------------------


@pytest.mark.parametrize("kind", CURVES, ids=lambda kind: kind.name)
@pytest.mark.parametrize("topic", [None, "3"])
def test_every_point_is_a_score(kind, topic: str | None, index: Path) -> None:
    runs = [CAMPAIGN / "runs" / name for name in ("articles.jsonl", "paragraphs.run")]
    measures = kind.measures(ranks=30 if kind.x.label == "rank" else None)
    truth = CAMPAIGN / "judgements.jsonl"
    scores = foveal.evaluate(runs, truth, measures, collection=index, overlap="drop", regroup=True)
    labels = {parse_measure(label): label for label in scores.measures}
    graphs = kind.graphs(scores, topic)
    assert len(graphs) == len(kind.default)
    drawn = 0
    for graph, name in zip(graphs, kind.default, strict=True):
        assert [line.name for line in graph.lines] == list(scores.runs)
        for line in graph.lines:
            assert list(line.x) == sorted(set(line.x))
            for x, y in zip(line.x.tolist(), line.y.tolist(), strict=True):
                label = labels[at_place(kind, name, x)]
                expected = scores[line.name, label, topic] if topic else scores[line.name, label]
                assert y == expected
                drawn += 1
    assert drawn == 2 * len(measures) or kind.ends


def at_place(kind, name: str, x: float) -> Measure:
    """The measure whose score belongs at a place of the axis."""
    bare = find_measure(name)
    return bare(**{kind.varied: x}) if kind.varied else bare @ round(x, 2)


def test_what_is_left_out_at_the_end_is_flat(index: Path) -> None:
    """Articles are twenty at most: after rank 20 there is nothing to draw."""
    kind = GRAPHS["overlap"]
    truth = CAMPAIGN / "judgements.jsonl"
    names = ("thorough.xml", "articles.jsonl")
    runs = [CAMPAIGN / "runs" / name for name in names]
    scores = foveal.evaluate(runs, truth, kind.measures(), collection=index)
    (graph,) = kind.graphs(scores)
    last = graph.lines[0].x[-1]
    assert 120 <= last < 1500
    for line in graph.lines:
        for label in scores.measures:
            if float(label.partition("@")[2]) > last:
                assert scores[line.name, label] == line.y[-1]


def test_a_curve_is_drawn_of_the_points_that_are_saved() -> None:
    rows = [("mine", "all", f"iP@{x:.2f}", 1 - x) for x in (0.0, 0.5, 1.0)]
    (graph,) = GRAPHS["ip"].graphs(results_of(*rows, ("mine", "all", "AiP", 0.5)))
    assert graph.lines[0].x.tolist() == [0.0, 0.5, 1.0]
    assert graph.lines[0].y.tolist() == [1.0, 0.5, 0.0]


def test_measures_with_other_parameters_have_graphs_of_their_own() -> None:
    rows = [
        ("mine", "all", f"ep{inside}@{x}", value)
        for inside, value in (("", 0.25), ("(quant=strict5)", 0.5))
        for x in ("0.10", "0.20")
    ]
    first, second = GRAPHS["ep"].graphs(results_of(*rows))
    assert first.title.endswith(": ep, mean over topics")
    assert second.title.endswith(": ep(quant=strict5), mean over topics")
    assert (first.lines[0].y[0], second.lines[0].y[0]) == (0.25, 0.5)


@pytest.mark.parametrize(
    ("graph", "task", "expected"),
    [
        ("gpgr", "2009.RelevantInContext", ["igP(beta=0.25)"]),
        ("gpgr", "2009.BestInContext", ["igP(score=BEP)"]),
        ("ip", "2009.Focused", ["iP"]),
        ("bepd", "2006.BestInContext", ["BEPD"]),
        ("ep", "2006.Thorough", ["ep"]),
        ("nxcg", "2006.Focused", ["nxCG(overlap=on)", "nxCG"]),
        ("ip", "2006.Thorough", ["iP"]),
        (
            "gain",
            "2005.CO.Focussed",
            [f"nxCG(quant={quant},overlap=on)" for quant in ("gen5", "strict5", "genLifted")],
        ),
    ],
)
def test_a_task_gives_its_parameters(graph: str, task: str, expected: list[str]) -> None:
    assert [str(measure) for measure in GRAPHS[graph].drawn(task=task)] == expected


def test_what_is_asked_for_goes_before_the_task() -> None:
    found = GRAPHS["nxcg"].measures(["nxCG(quant=gen5)"], "2006.Focused", ranks=3)
    assert [str(measure) for measure in found] == [f"nxCG(quant=gen5)@{k}" for k in (1, 2, 3)]


@pytest.mark.parametrize(
    ("graph", "text", "message"),
    [
        ("ep", "nxCG", "the graph ep does not draw 'nxCG'; expected ep"),
        ("gain", "AiP", "the graph gain does not draw 'AiP'; expected nxCG"),
        ("effort", "charF", "the graph effort does not draw 'charF'; expected charR or charP"),
        ("ip", "iQ", "unknown measure 'iQ'"),
    ],
)
def test_measures_that_do_not_fit(graph: str, text: str, message: str) -> None:
    with pytest.raises(UsageError, match=f"^{re.escape(message)}"):
        GRAPHS[graph].drawn([text])


def test_results_without_the_curve() -> None:
    results = results_of(("mine", "1", "iP@0.01", 0.5), ("mine", "all", "iP@0.01", 0.5))
    with pytest.raises(UsageError, match=r"no point of the graph ip \(iP@curve\)"):
        GRAPHS["ip"].graphs(results)


def test_a_topic_that_is_not_there() -> None:
    rows = [("mine", topic, f"igP@{x}", 0.5) for topic in ("1", "all") for x in ("0.1", "0.2")]
    with pytest.raises(UsageError, match="no topic '7' in the results; they hold 1"):
        GRAPHS["gpgr"].graphs(results_of(*rows), "7")


def test_a_graph_is_found_by_its_name() -> None:
    assert find_graph("BEPD") is GRAPHS["bepd"]
    with pytest.raises(UsageError, match="unknown graph 'xyz'; expected gain, ep, nxcg"):
        find_graph("xyz")


# -- gains ---------------------------------------------------------------------------------------


def drawn_gains(text: str, bare: Measure, rank: int, level: float, **more) -> tuple[Graph, Results]:
    measures = gain_measures(bare, rank=rank, level=level)
    evaluation = foveal.Evaluation(judgements(), measures)
    aligned = evaluation.align(toy_run(text))
    scores = evaluation.results([evaluation.score(aligned)])
    curves = [cumulate_gains(aligned[0], measures[0])]
    return gain_graph(curves, scores, bare, rank=rank, level=level, **more), scores


def test_the_figure_of_the_papers() -> None:
    """Gains 1, 1, 0, 1/4 beside the ideal 1, 1, 1, 1, 1/2, ...: at rank 4 the run has 2.25 of 4."""
    graph, _ = drawn_gains(RUN, find_measure("nxCG"), 4, 0.25, topic="toy")
    run, ideal, upright, level, met = graph.lines
    assert run.y[:5].tolist() == [0.0, 1.0, 2.0, 2.0, 2.25]
    assert ideal.name == "ideal"
    assert ideal.y[:5].tolist() == [0.0, 1.0, 2.0, 3.0, 4.0]
    assert upright.x.tolist() == [4.0, 4.0]
    assert upright.y.tolist() == [0.0, 4.0]
    total = ideal.y[-1]
    assert level.y.tolist() == [total / 4, total / 4]
    assert met.y.tolist() == [2.25, total / 4]
    assert run.name.startswith("mine: nxCG@4 0.5625, ep@0.25 ")


@given(
    st.lists(st.sampled_from(ELEMENTS), min_size=1, max_size=8, unique=True),
    st.integers(1, 12),
    st.sampled_from([0.01, 0.1, 0.25, 0.5, 0.9]),
    st.sampled_from(["nxCG", "nxCG(overlap=on)", "nxCG(quant=gen5,overlap=on)"]),
)
@settings(max_examples=50)
def test_scores_are_the_quotients_that_the_lines_show(
    elements: list[str], rank: int, level: float, text: str
) -> None:
    """nxCG is where the upright meets the run, over where it ends; ep is left end over meeting."""
    bare = find_measure("nxCG")
    if "(" in text:
        measure = parse_measure(f"{text}@1")
        bare = type(measure)(measure.settings)
    graph, scores = drawn_gains(" ".join(elements), bare, rank, level, topic="toy")
    nxcg, ep = gain_measures(bare, rank=rank, level=level)
    run, ideal, upright, across, met = graph.lines
    assert scores["mine", nxcg.label] == pytest.approx(met.y[0] / upright.y[1])
    assert run.y[rank] == met.y[0]
    assert ideal.y[rank] == upright.y[1]
    if len(met.x) == 2:
        assert scores["mine", ep.label] == pytest.approx(across.x[0] / met.x[1], abs=1e-9)
    else:
        assert scores["mine", ep.label] == 0
        assert run.y[-1] < across.y[0]


@pytest.mark.parametrize(("policy", "ideals"), [("judged", 1), ("run", 2), ("both", 1)])
def test_the_mean_curve_is_the_mean_of_xcg(policy: str, ideals: int, index: Path) -> None:
    """Runs that are averaged over other topics have other ideals."""
    runs = [CAMPAIGN / "runs" / name for name in ("sections.xml", "strict.xml")]
    bare = find_measure("nxCG")(quant="gen5", overlap="on")
    ranks = (1, 5, 20, 100)
    measures = [*gain_measures(bare), *(find_measure("xCG")(**bare.settings) @ k for k in ranks)]
    evaluation = foveal.Evaluation(
        CAMPAIGN / "assessments", measures, collection=index, topics=policy
    )
    aligned = [evaluation.align(run) for run in runs]
    scores = evaluation.results(map(evaluation.score, aligned))
    for i, (own,) in enumerate(aligned):
        curves = cumulate_gains(own, measures[0])
        topics = [t for t, used in zip(scores.topics, scores.counted[i], strict=True) if used]
        curve = average_curves([curves[topic] for topic in topics if topic in curves]).xCG
        for k, measure in zip(ranks, measures[2:], strict=True):
            expected = pytest.approx(scores[scores.runs[i], measure.label])
            assert curve[min(k, len(curve) - 1)] == expected
    (graph,) = draw_aligned(GRAPHS["gain"], [own for (own,) in aligned], scores, [bare])
    assert sum(line.name.startswith("ideal") for line in graph.lines) == ideals


def test_a_topic_without_a_curve() -> None:
    with pytest.raises(UsageError, match="run 'mine' has no curve: nothing can be gained on topic"):
        drawn_gains(RUN, find_measure("nxCG"), 4, 0.25, topic="9")


# -- lengths -------------------------------------------------------------------------------------


@given(st.lists(st.integers(0, 60) | st.integers(0, 10**6), min_size=1, max_size=400))
@settings(max_examples=40)
def test_lengths_against_counting(lengths: list[int]) -> None:
    (line,) = lengths_graph({"mine": np.array(lengths)}).lines
    for x, y in zip(line.x.tolist(), line.y.tolist(), strict=True):
        assert y == sum(max(length, 1) <= x for length in lengths) / len(lengths)
    assert line.x[-1] == max(*lengths, 1)
    assert len(line.x) <= 201


def test_documents_without_text_have_lengths_too() -> None:
    """A whole document is as long as the judgements say."""
    truth = Judgements.from_highlights({"1": {"D": {"spans": [(0, 5)], "length": 50}}})
    run = replace(Run.from_results({"1": [("D", 0, 9)]}), end=np.array([UNKNOWN]))
    kind = GRAPHS["lengths"]
    evaluation = foveal.Evaluation(truth, kind.measures())
    aligned = evaluation.align(run)
    scores = evaluation.results([evaluation.score(aligned)])
    (graph,) = draw_aligned(kind, aligned, scores, [])
    assert graph.lines[0].x.tolist() == [50]
    assert scores["run", "ret_size"] == 50


# -- topics --------------------------------------------------------------------------------------

TWO = [
    ("a", "1", "AP", 0.5),
    ("a", "2", "AP", 0.1),
    ("a", "3", "AP", 0.3),
    ("a", "all", "AP", 0.3),
    ("b", "1", "AP", 0.25),
    ("b", "2", "AP", 0.35),
    ("b", "3", "AP", None),
    ("b", "all", "AP", 0.3),
]


def test_topics_as_points() -> None:
    (graph,) = GRAPHS["topics"].graphs(results_of(*TWO))
    points = {line.name: line for line in graph.lines if line.mark == "points"}
    assert points["a"].x.tolist() == [0.5, 0.1, 0.3]
    assert points["b"].x.tolist() == [0.25, 0.35]
    # The first run is on top, and a topic has the same height in each.
    assert graph.y.names == ("b", "a")
    assert (points["a"].y[:2] - points["b"].y).tolist() == [1.0, 1.0]
    means = [line.x[0] for line in graph.lines if line.mark == "level"]
    assert means == [0.3, 0.3]
    assert "a: from 0.1 to 0.5." in graph.text_alternative


@pytest.mark.parametrize(("measure", "best"), [("AP", "b"), ("T2Ieffort@3", "a")])
def test_the_best_run_is_on_top(measure: str, best: str) -> None:
    rows = [(run, t, measure, v) for run, v in (("a", 0.1), ("b", 0.2)) for t in ("1", "all")]
    (graph,) = GRAPHS["topics"].graphs(results_of(*rows))
    assert graph.y.names[-1] == best
    series = {line.name: line.series for line in graph.lines if line.mark == "points"}
    assert series == {"a": 0, "b": 1}  # the colours do not change with the order


def test_of_a_sum_the_mean_is_drawn() -> None:
    rows = [("a", "1", "num_ret", 2.0), ("a", "2", "num_ret", 4.0), ("a", "all", "num_ret", 6.0)]
    (graph,) = GRAPHS["topics"].graphs(results_of(*rows))
    assert [line.x[0] for line in graph.lines if line.mark == "level"] == [3.0]


def test_differences_from_the_largest_down() -> None:
    (graph,) = GRAPHS["differences"].graphs(results_of(*TWO))
    bars, mean = graph.lines
    assert graph.x.names == ("1", "2")
    assert bars.y.tolist() == pytest.approx([0.25, -0.25])
    assert mean.y.tolist() == pytest.approx([0.0, 0.0])
    assert "from -0.25 to 0.25" in graph.text_alternative


def test_differences_are_of_two_runs() -> None:
    with pytest.raises(UsageError, match="the graph differences is of two runs; 1 given: a"):
        GRAPHS["differences"].graphs(results_of(*TWO[:4]))


def test_runs_without_a_common_topic() -> None:
    rows = [("a", "1", "AP", 0.5), ("a", "2", "AP", None), ("b", "1", "AP", None)]
    with pytest.raises(UsageError, match="AP: a and b have no topic with a score in common"):
        GRAPHS["differences"].graphs(results_of(*rows, ("b", "2", "AP", 0.5)))


@pytest.mark.parametrize("name", ["topics", "differences"])
def test_which_scores_are_shown(name: str) -> None:
    kind = GRAPHS[name]
    assert [str(m) for m in kind.measures(["AiP", "iP@0.01"], "2006.Thorough")] == [
        "AiP",
        "iP@0.01",
    ]
    assert [str(m) for m in kind.measures(task="2006.Thorough")] == ["MAep"]
    with pytest.raises(UsageError, match=f"the graph {name} is of one measure or more"):
        kind.measures()


# -- on paper ------------------------------------------------------------------------------------

UGLY = ["a run", 'Kazai\'s <b>&"run"', "$x_1$", "_hidden", "tab\there", "𝄞", "n" * 200]


def ugly_graph() -> Graph:
    x = np.linspace(0, 1, 11)
    lines = tuple(Line(name, x, x * i / 9, series=i) for i, name in enumerate(UGLY))
    gap = Line("gap", x, np.where(x > 0.5, np.nan, x), series=len(UGLY))
    return Graph(
        "ep", "A 'title' & more", Axis("x", "m"), Axis("y", "s"), (*lines, gap), ("Note.",)
    )


def all_graphs() -> list[Graph]:
    bars = GRAPHS["differences"].graphs(results_of(*TWO))
    strips = GRAPHS["topics"].graphs(results_of(*TWO))
    lengths = lengths_graph({"mine": np.array([3, 40, 500])})
    gain, _ = drawn_gains(RUN, find_measure("nxCG"), 4, 0.25)
    return [ugly_graph(), *bars, *strips, lengths, gain]


@pytest.mark.parametrize("graph", all_graphs(), ids=lambda graph: graph.kind)
def test_pictures_of_every_graph(graph: Graph) -> None:
    svg = draw([graph], "svg")
    tree = ET.fromstring(svg)
    found = {child.tag.rpartition("}")[2]: child.text for child in tree}
    assert tree.get("role") == "img"
    assert found["title"] == graph.title.replace("\t", "\ufffd")
    assert found["desc"] == graph.text_alternative.replace("\t", "\ufffd")


@pytest.mark.parametrize(
    ("form", "magic"), [("svg", b"<?xml"), ("png", b"\x89PNG"), ("pdf", b"%PDF")]
)
def test_the_same_numbers_give_the_same_bytes(form: str, magic: bytes) -> None:
    graph = lengths_graph({"mine": np.array([3, 40, 500])})
    once = draw([graph], form)
    assert once.startswith(magic)
    assert draw([graph], form) == once


def test_every_run_is_in_the_legend_the_best_first() -> None:
    drawn = figure([ugly_graph()])
    (legend,) = drawn.subfigs[0].legends
    names = [text.get_text() for text in legend.get_texts()]
    assert len(names) == len(UGLY) + 1
    assert [name for name in names if name in UGLY] == ["𝄞", "_hidden", "$x_1$", UGLY[1], "a run"]
    assert max(map(len, names)) == 45


def labels_of(*ends: float, letters: int = 1) -> list[str]:
    """The names written at the ends of lines that end at these heights; empty for a legend."""
    x = np.linspace(0, 1, 5)
    lines = tuple(
        Line("abcdefghij"[i] * letters, x, x * end, series=i) for i, end in enumerate(ends)
    )
    drawn = figure([Graph("ep", "Lines", Axis("x"), Axis("y", "", 0.0, 1.0), lines)])
    drawn.draw_without_rendering()
    (axes,) = drawn.axes
    assert bool(drawn.subfigs[0].legends) != bool(axes.texts)
    boxes = sorted((own.get_window_extent() for own in axes.texts), key=lambda box: box.y0)
    for below, above in pairwise(boxes):
        assert below.y1 <= above.y0 + 1
    assert all(box.x1 <= drawn.bbox.x1 for box in boxes)
    return [own.get_text() for own in axes.texts]


def test_names_are_beside_the_lines_where_they_fit() -> None:
    assert labels_of(0.9, 0.2) == ["a", "b"]
    assert labels_of(0.5) == ["a"]
    assert labels_of(0.2, 0.5, 0.55) == ["c", "b", "a"]  # one of them a little higher
    assert labels_of(0.5, 0.5, 0.5) == []
    assert labels_of(*np.linspace(0.1, 0.9, 10)) == []
    assert labels_of(0.9, 0.2, letters=30) == []


def test_empty_and_single_cases_are_drawn() -> None:
    nothing = [("a", "1", "AP", float("nan")), ("a", "all", "AP", float("nan"))]
    single = [("a", "1", "AP", 0.5), ("a", "all", "AP", 0.5)]
    for rows, texts in ((nothing, ["nothing to draw"]), (single, [])):
        drawn = figure(GRAPHS["topics"].graphs(Results.from_tidy(rows, {})))
        assert [text.get_text() for text in drawn.axes[0].texts] == texts
    drawn = figure([lengths_graph({"empty": np.zeros(0, dtype=np.int64)})])
    assert [text.get_text() for text in drawn.axes[0].texts] == ["nothing to draw"]
    two = [*single, ("b", "1", "AP", 0.25), ("b", "all", "AP", 0.25)]
    (axes,) = figure(GRAPHS["differences"].graphs(Results.from_tidy(two, {}))).axes
    assert axes.patches[0].get_width() < 0.25 * np.ptp(axes.get_xlim())


@pytest.mark.parametrize(("topics", "named"), [(20, 20), (60, 0)])
def test_names_along_an_axis_do_not_meet(topics: int, named: int) -> None:
    rows = [
        (run, f"topic{t}", "AP", value / (t + 1))
        for run, value in (("a", 0.5), ("b", 0.25))
        for t in range(topics)
    ]
    drawn = figure(GRAPHS["differences"].graphs(Results.from_tidy(rows, {})))
    drawn.draw_without_rendering()
    (axes,) = drawn.axes
    boxes = [label.get_window_extent() for label in axes.get_xticklabels() if label.get_text()]
    assert len(boxes) == named
    assert all(one.x1 <= other.x0 for one, other in pairwise(boxes))
    assert str(topics) in axes.get_xlabel() or named


def wide_graphs() -> list[Graph]:
    """Long names, everywhere."""
    wide = "Retrieval-Run_" * 8
    rows = [(run, *row[1:]) for row in TWO for run in [{"a": wide, "b": f"{wide}w"}[row[0]]]]
    x, many = np.linspace(0, 1, 11), " ".join(["wide", "letters"] * 9)
    lines = tuple(Line(f"{wide}{i}", x, x, series=i) for i in range(9))
    curve = Graph("ep", many, Axis(many, "m"), Axis(many[:60], "s"), lines)
    bars, strips = (GRAPHS[name].graphs(results_of(*rows)) for name in ("differences", "topics"))
    return [*all_graphs()[1:], curve, *bars, *strips]


@pytest.mark.parametrize("width", [3.5, 7.0])
@pytest.mark.parametrize("graph", wide_graphs(), ids=lambda graph: graph.kind)
def test_nothing_is_cut(graph: Graph, width: float) -> None:
    """Titles, labels and names lie inside the picture."""
    drawn = figure([graph], width=width)
    drawn.draw_without_rendering()
    (body,), (legend,) = drawn.axes, drawn.subfigs[0].legends
    texts = [body.xaxis.label, body.yaxis.label, body.title, *body.texts]
    texts += [text for text in body.get_children() if getattr(text, "get_text", str)()]
    texts += body.get_xticklabels() if graph.x.names else []
    texts += body.get_yticklabels() if graph.y.names else []
    boxes = [text.get_window_extent() for text in texts if text.get_text()]
    boxes.append(legend.get_window_extent())
    inside = drawn.bbox
    for box in boxes:
        assert inside.x0 - 1 <= box.x0
        assert box.x1 <= inside.x1 + 1
        assert inside.y0 - 1 <= box.y0
        assert box.y1 <= inside.y1 + 1
    # The names leave room for what they name, and the legend stands below it.
    assert body.bbox.width > 0.4 * inside.width
    assert boxes[-1].y1 <= body.bbox.y0


def test_many_lines_differ_and_neighbours_in_everything() -> None:
    looks = [
        (PALETTE[i % len(PALETTE)], str(DASHES[i % len(DASHES)]), MARKERS[i % len(MARKERS)])
        for i in range(360)
    ]
    assert len(set(looks)) == 360
    for one, other in pairwise(looks):
        assert all(a != b for a, b in zip(one, other, strict=True))


VISION = {
    "protanopia": [[0.152, 1.053, -0.205], [0.115, 0.786, 0.099], [-0.004, -0.048, 1.052]],
    "deuteranopia": [[0.367, 0.861, -0.228], [0.280, 0.673, 0.047], [-0.012, 0.043, 0.969]],
    "tritanopia": [[1.256, -0.077, -0.179], [-0.078, 0.931, 0.148], [0.005, 0.691, 0.304]],
}
"""Machado, Oliveira and Fernandes 2009, full severity, on linear light."""


@pytest.mark.parametrize("kind", VISION)
def test_colours_are_told_apart(kind: str) -> None:
    rgb = np.array([[int(c[i : i + 2], 16) / 255 for i in (1, 3, 5)] for c in PALETTE])
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    seen = np.clip(linear @ np.array(VISION[kind]).T, 0, 1) ** (1 / 2.2)
    apart = np.linalg.norm(seen[:, None] - seen[None], axis=2)
    assert apart[np.triu_indices(len(PALETTE), 1)].min() > 0.1


def test_a_file_says_its_format() -> None:
    assert [form_of(f"x.{form}") for form in ("SVG", "png", "dat")] == ["svg", "png", "dat"]
    with pytest.raises(UsageError, match=r"x\.jpg: a graph is written as \.svg"):
        form_of("x.jpg")


# -- gnuplot -------------------------------------------------------------------------------------


def blocks(text: str) -> list[list[tuple[float, float]]]:
    """Data as gnuplot reads it: blocks between two blank lines, # begins a comment."""
    found = []
    for block in text.split("\n\n\n"):
        rows = [line.partition("#")[0].split() for line in block.splitlines()]
        found.append([(float(row[0]), float(row[1])) for row in rows if row])
    return found


@pytest.mark.parametrize("graph", all_graphs(), ids=lambda graph: graph.kind)
def test_data_reads_back_in_full(graph: Graph) -> None:
    found = blocks(gnuplot([graph, graph]))
    assert len(found) == 2 * len(graph.lines)
    for line, rows in zip(graph.lines * 2, found, strict=True):
        assert [x for x, _ in rows] == line.x.tolist()
        for (_, y), expected in zip(rows, line.y.tolist(), strict=True):
            assert y == expected or (isnan(y) and isnan(expected))


def test_points_without_a_place_have_no_name() -> None:
    graph = replace(
        all_graphs()[0], lines=(Line("a", np.array([np.nan, 0.0]), np.array([0.5, 0.5])),)
    )
    assert [isnan(x) for x, _ in blocks(gnuplot([graph]))[0]] == [True, False]
