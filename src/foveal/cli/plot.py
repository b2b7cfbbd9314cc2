"""``foveal plot``: one graph of the papers, as a picture or as gnuplot data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from foveal.cli.options import GRAPH, Command, scoring_options
from foveal.cli.shared import (
    check_saved,
    choose_task,
    emit,
    given_options,
    list_files,
    open_inputs,
    read_saved,
    refuse_unused,
    say,
    score_runs,
    warn,
)
from foveal.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from foveal.measures import Measure
    from foveal.model.graphs import Graph
    from foveal.report.graph_kinds import GraphKind


def _list(context: click.Context, _: click.Parameter, value: bool) -> None:  # noqa: FBT001 - click's signature
    """Print the graphs with what they show and need."""
    if not value or context.resilient_parsing:
        return
    from foveal.model.tables import Table, format_tables
    from foveal.report.graph_kinds import GRAPHS

    rows = tuple((kind.name, kind.description, kind.needs) for kind in GRAPHS.values())
    table = Table(("graph", "shows", "needs"), rows, labels=3)
    click.echo(format_tables([table], "table"), nl=False)
    context.exit()


def _check_graph(context: click.Context, _: click.Parameter, value: str) -> str:
    """Refuse an unknown graph before anything that is missing."""
    from foveal.report.graph_kinds import find_graph

    if not context.resilient_parsing:
        find_graph(value)
    return value


@click.command(
    "plot",
    cls=Command,
    daily="judgements measures tasks collection overlap topic ranks title output",
    examples=(
        "foveal plot ip a.run b.run -j qrels.txt -o ip.svg",
        "foveal plot ep runs/*.xml -j assessments/ -t 2005.CO.Thorough -o ep.pdf",
        "foveal plot topics saved.json -m AiP -o topics.png",
    ),
)
@click.argument("graph", type=GRAPH, metavar="GRAPH", callback=_check_graph)
@click.argument("runs", nargs=-1, required=True, metavar="RUN...")
@scoring_options()
@click.option("--topic", metavar="T", help="Draw this topic instead of the mean over topics.")
@click.option(
    "--ranks",
    type=click.IntRange(min=1),
    metavar="N",
    help="The last rank of gain, nxcg and overlap [default: where nothing changes any more].",
)
@click.option(
    "--rank",
    type=click.IntRange(min=1),
    default=10,
    show_default=True,
    metavar="K",
    help="gain: where nxCG is read off.",
)
@click.option(
    "--level",
    type=click.FloatRange(0, 1, min_open=True),
    default=0.5,
    show_default=True,
    metavar="X",
    help="gain: where ep is read off, as a share of all there is to gain.",
)
@click.option(
    "--title", metavar="TEXT", help="A title of your own; '' for none, as captions replace it."
)
@click.option(
    "--width",
    type=click.FloatRange(2, 20),
    default=3.5,
    show_default=True,
    metavar="INCHES",
    help="Width of a picture; letters keep their size.",
)
@click.option(
    "-o",
    "--output",
    required=True,
    metavar="FILE",
    help="Where to: .svg, .png or .pdf (needs matplotlib), .gnuplot for a script with its data, "
    ".dat for the data.",
)
@click.option(
    "--list",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_list,
    help="List the graphs, with what they show and need.",
)
@click.pass_context
def command(
    context: click.Context,
    /,
    graph: str,
    runs: tuple[str, ...],
    judgements: tuple[str, ...],
    measures: tuple[str, ...],
    tasks: tuple[str, ...],
    topic: str | None,
    ranks: int | None,
    rank: int,
    level: float,
    title: str | None,
    width: float,
    output: str,
    **options: Any,
) -> None:
    """Draw the graphs of the papers: 'foveal plot --list' names them.

    Every run is a line, and every point a score that 'foveal evaluate' prints. RUN is a file, or a
    directory of them. Without judgements (-j) the files are results that 'foveal evaluate -f json'
    saved. Of a task (-t) the graph takes the parameters of its measures, and draws one below the
    other where they are several; -m chooses.
    """
    from foveal.report.drawing import form_of
    from foveal.report.graph_kinds import find_graph

    kind, task, form = find_graph(graph), choose_task(tasks), form_of(output)
    refuse_unused(context, _unused(kind))
    files = list_files(runs)
    if not judgements:
        check_saved(task, options)
        graphs = _of_saved(kind, files, measures, topic)
    elif kind.source == "results":
        wanted = kind.measures(measures, task, ranks=ranks)
        opened, truth = open_inputs(files, judgements)
        results = score_runs(opened, truth, _texts(wanted), task, **given_options(options))
        warn(results.meta["warnings"])
        graphs = kind.graphs(results.only(_texts(wanted)), topic)
    elif kind.source == "gains":
        drawn = kind.drawn(measures, task)
        graphs = _gains(files, judgements, drawn, task, rank, level, topic, ranks, options)
    else:
        graphs = _lengths(files, judgements, task, options)
    _write(graphs, form, title, width, output)


def _unused(kind: GraphKind) -> dict[str, str]:
    """Options that have nothing to do in a graph, and what they are for."""
    found: dict[str, str] = {}
    if kind.source != "gains":
        found |= dict.fromkeys(("rank", "level"), "the graph gain")
    if not (kind.source == "gains" or (kind.source == "results" and kind.x.label == "rank")):
        found["ranks"] = "the graphs gain, nxcg and overlap"
    if kind.special is not None or kind.source == "lengths":
        found["topic"] = "graphs of curves"
    if kind.source == "lengths":
        found["measures"] = "graphs of scores"
    return found


def _texts(measures: Sequence[Measure]) -> list[str]:
    return [measure.label for measure in measures]


def _of_saved(
    kind: GraphKind, files: list[str], measures: tuple[str, ...], topic: str | None
) -> tuple[Graph, ...]:
    """The graph of results saved before, of all points or those of some measures."""
    from foveal.analysis.score_matrix import select_labels
    from foveal.analysis.tasks import without_curves
    from foveal.model import Results

    if kind.source != "results":
        raise UsageError(f"the graph {kind.name} is not made of scores; give runs and --judgements")
    results = Results.joined(read_saved(files), files)
    warn(results.meta.get("warnings", ()))
    if kind.special is not None:
        first = without_curves(results).measures[:1]
        return kind.graphs(results.only(select_labels(results.measures, measures) or first))
    if not measures:
        return kind.graphs(results, topic)
    held = set(results.measures)
    points = [label for label in _texts(kind.measures(measures)) if label in held]
    if not points:
        raise UsageError(f"the results hold no point of {', '.join(measures)}")
    return kind.graphs(results.only(points), topic)


def _gains(
    files: list[str],
    judgements: tuple[str, ...],
    drawn: Sequence[Measure],
    task: str | None,
    rank: int,
    level: float,
    topic: str | None,
    ranks: int | None,
    options: dict[str, Any],
) -> tuple[Graph, ...]:
    from foveal.analysis.gain_curves import gain_curves
    from foveal.formats import read_judgements
    from foveal.report.graph_kinds import gain_graph, gain_measures

    opened, located = open_inputs(files, judgements)
    truth = read_judgements(located) if isinstance(located, list) else located
    given = given_options(options)
    read_off = [measure for bare in drawn for measure in gain_measures(bare, rank, level)]
    scores = score_runs(opened, truth, read_off, task, **given)
    warn(scores.meta["warnings"])
    given.pop("workers", None)
    return tuple(
        gain_graph(
            gain_curves(opened, truth, bare @ rank, task=task, **given),
            scores,
            bare,
            rank=rank,
            level=level,
            topic=topic,
            ranks=ranks,
        )
        for bare in drawn
    )


def _lengths(
    files: list[str],
    judgements: tuple[str, ...],
    task: str | None,
    options: dict[str, Any],
) -> tuple[Graph, ...]:
    from foveal.analysis.gain_curves import result_lengths
    from foveal.report.graph_kinds import lengths_graph

    runs, truth = open_inputs(files, judgements)
    given = given_options(options)
    given.pop("workers", None)
    found = result_lengths(runs, truth, task=task, **given)
    warn(text for own in found for text in own.warnings)
    return (lengths_graph(found),)


def _write(
    graphs: tuple[Graph, ...], form: str, title: str | None, width: float, output: str
) -> None:
    from dataclasses import replace

    from foveal.report.drawing import PICTURES, picture
    from foveal.report.gnuplot import gnuplot

    for note in dict.fromkeys(note for graph in graphs for note in graph.notes):
        say(note)
    if title is not None:
        graphs = tuple(replace(graph, title=title) for graph in graphs)
    emit(picture(graphs, form, width=width) if form in PICTURES else gnuplot(graphs, form), output)
