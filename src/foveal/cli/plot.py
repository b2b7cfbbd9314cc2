"""``foveal plot``: one graph of the papers, as a picture or as gnuplot data."""

from __future__ import annotations

from dataclasses import replace
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
    from foveal.model.graphs import Graph
    from foveal.report.graph_kinds import GraphKind


def _list(context: click.Context, _: click.Parameter, value: bool) -> None:  # noqa: FBT001 - click's signature
    """Print the graphs, with what each shows and needs."""
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
    from foveal.report.drawing import draw, form_of
    from foveal.report.graph_kinds import find_graph, gain_graph, gain_measures, lengths_graph

    kind, task, form = find_graph(graph), choose_task(tasks), form_of(output)
    refuse_unused(context, _list_unused(kind))
    files = list_files(runs)
    given = given_options(options)
    if not judgements:
        check_saved(task, options)
        graphs = _draw_saved(kind, files, measures, topic)
    elif kind.source == "results":
        wanted = [measure.label for measure in kind.measures(measures, task, ranks=ranks)]
        results = score_runs(*open_inputs(files, judgements), wanted, task, **given)
        warn(results.meta["warnings"])
        graphs = kind.graphs(results.only(wanted), topic)
    elif kind.source == "gains":
        from foveal.analysis.gain_curves import gain_curves
        from foveal.formats import read_judgements

        drawn = kind.drawn(measures, task)
        opened, truth = open_inputs(files, judgements)
        truth = read_judgements(truth) if isinstance(truth, list) else truth
        read_off = [measure for bare in drawn for measure in gain_measures(bare, rank, level)]
        scores = score_runs(opened, truth, read_off, task, **given)
        warn(scores.meta["warnings"])
        given.pop("workers", None)
        shown: dict[str, Any] = {"rank": rank, "level": level, "topic": topic, "ranks": ranks}
        graphs = tuple(
            gain_graph(
                gain_curves(opened, truth, bare @ rank, task=task, **given), scores, bare, **shown
            )
            for bare in drawn
        )
    else:
        from foveal.analysis.gain_curves import result_lengths

        given.pop("workers", None)
        lengths = result_lengths(*open_inputs(files, judgements), task=task, **given)
        warn(text for own in lengths for text in own.warnings)
        graphs = (lengths_graph(lengths),)
    for note in dict.fromkeys(note for graph in graphs for note in graph.notes):
        say(note)
    if title is not None:
        graphs = tuple(replace(graph, title=title) for graph in graphs)
    emit(draw(graphs, form, width=width), output)


def _list_unused(kind: GraphKind) -> dict[str, str]:
    """Return the options that have no effect in a graph, and what they are for."""
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


def _draw_saved(
    kind: GraphKind, files: list[str], measures: tuple[str, ...], topic: str | None
) -> tuple[Graph, ...]:
    """Return the graph of results saved before, of all points or those of some measures."""
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
    wanted = [measure.label for measure in kind.measures(measures)]
    points = [label for label in wanted if label in results.measures]
    if not points:
        raise UsageError(f"the results hold no point of {', '.join(measures)}")
    return kind.graphs(results.only(points), topic)
