"""``foveal plot``: one graph of the papers, as a picture or as gnuplot data."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import click

from foveal.cli import options as opt
from foveal.cli import shared
from foveal.errors import UsageError


@click.command(
    "plot",
    cls=opt.Command,
    daily="judgements measures tasks collection overlap topic ranks title output",
    examples=(
        "foveal plot ip a.run b.run -j qrels.txt -o ip.svg",
        "foveal plot ep runs/*.xml -j assessments/ -t 2005.CO.Thorough -o ep.pdf",
        "foveal plot topics saved.json -m AiP -o topics.png",
    ),
)
@click.argument("graph", type=opt.GRAPH, metavar="GRAPH")
@click.argument("runs", nargs=-1, required=True, metavar="RUN...")
@opt.scoring_options()
@opt.options(
    """
    --topic=T  Draw this topic instead of the mean over topics.
    --ranks=N  The last rank of gain, nxcg and overlap.
    --title=TEXT  The title; '' for none, as captions replace it.
    -o --output=FILE  A .svg, .png or .pdf picture, or .dat for gnuplot. [required]
    """
)
@opt.option("--width=INCHES", "Width of a picture.", type=click.FloatRange(2, 20), default=3.5)
def command(
    graph: str, runs: tuple[str, ...], judgements: tuple[str, ...], output: str, **options: Any
) -> None:
    """Draw the graphs of the papers.

    GRAPH is gain, ep, nxcg, inex_eval, ip, gpgr, eprum, bepd, effort, budget, topics, differences,
    lengths or overlap. Every run is a line, and every point a score that 'foveal evaluate' prints.
    RUN is a file, or a directory of them. Without judgements (-j) the files are results that
    'foveal evaluate -f json' saved. A task (-t) gives the graph the parameters of its measures, one
    graph below the other where they are several; -m chooses.
    """
    from foveal.analysis.score_matrix import check_assessors, select_labels
    from foveal.analysis.tasks import drop_curves
    from foveal.evaluation import Evaluation
    from foveal.model import Results
    from foveal.report import graph_kinds
    from foveal.report.drawing import draw, form_of

    measures, tasks, topic, ranks, title, width = map(
        options.pop, ("measures", "tasks", "topic", "ranks", "title", "width")
    )
    kind, task, form = graph_kinds.find_graph(graph), shared.choose_task(tasks), form_of(output)
    from_runs = kind.source in ("gains", "lengths")
    if topic is not None and kind.source in ("topics", "lengths"):
        raise UsageError(f"the graph {kind.name} is about all topics; leave out --topic")
    files, given = shared.list_files(runs), shared.given_options(options)
    if not judgements:
        shared.check_saved(task, options)
        if from_runs:
            raise UsageError(f"the graph {kind.name} is not made of scores; give --judgements")
        results = Results.joined(shared.read_saved(files))
        if kind.source == "topics":
            found = select_labels(results.measures, measures)
            results = results.only(found or drop_curves(results).measures[:1])
        elif measures:
            points = [measure.label for measure in kind.measures(measures)]
            results = results.only([label for label in points if label in results.measures])
        graphs = kind.graphs(results, topic)
    elif not from_runs:
        wanted = [measure.label for measure in kind.measures(measures, task, ranks=ranks)]
        results = shared.score_runs(*shared.open_inputs(files, judgements), wanted, task, **given)
        graphs = kind.graphs(results.only(wanted), topic)
    else:
        check_assessors(options)
        given.pop("workers", None)
        opened, truth = shared.open_inputs(files, judgements)
        evaluation = Evaluation(truth, kind.measures(measures, task), task=task, **given)
        aligned = [own for run in opened for own in evaluation.align(run)]
        results = evaluation.results(evaluation.score((own,)) for own in aligned)
        graphs = graph_kinds.draw_aligned(
            kind, aligned, results, kind.drawn(measures, task), topic=topic, ranks=ranks
        )
    shared.warn(results.meta.get("warnings", ()))
    for note in dict.fromkeys(note for own in graphs for note in own.notes):
        shared.say(note)
    if title is not None:
        graphs = tuple(replace(own, title=title) for own in graphs)
    shared.emit(draw(graphs, form, width=width), output)
