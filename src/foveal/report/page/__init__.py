"""A self-contained page about runs: which is best, how certain that is, and why."""

from __future__ import annotations

import json
import re
from base64 import b64encode
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import suppress
from functools import partial
from hashlib import sha256
from html import escape
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import Any, NamedTuple

from foveal.analysis.comparison import compare
from foveal.analysis.score_matrix import check_assessors, select_labels
from foveal.analysis.score_tables import tabulate_bounds
from foveal.collection import SourceTexts
from foveal.errors import UsageError
from foveal.evaluation import find_preset
from foveal.evaluation.evaluation import (
    Evaluation,
    RunLike,
    evaluate,
    map_runs,
)
from foveal.evaluation.presets import DEFAULT, choose_rag
from foveal.formats import read_judgements, read_topics
from foveal.measures import Measure, find_measure, parse_measures
from foveal.measures.measure import CURVE, OverlapRule
from foveal.measures.xcg import Cumulated
from foveal.model import Judgements, Results
from foveal.model.graphs import Graph
from foveal.report.graph_kinds import GRAPHS, GraphKind, gain_graph, gain_measures
from foveal.report.page.data import collect, direction, profile_run
from foveal.report.page.document_views import document_views

_CURVES = 12
"""Largest number of graphs of curves in a page."""
_EFFORT, _EFFORT_POINTS = "charR", 7
_READ = ("iP", "AiP")
"""Measures of text read in order, which the graph of reading effort explains."""
_RANKS = 100
"""The last rank in the graph of cumulated gain."""
LARGEST, _PER_TOPIC = 2_000_000, 2_000
"""Largest size of a page in bytes; a page about more than 1,000 topics has more for each topic."""
_DOCUMENTS, _DOCUMENTS_PER_TOPIC = 600_000, 1_500
"""Bytes of the documents, if the rest of the page leaves that much; for many topics more."""


class Page(NamedTuple):
    """The page as HTML, its data, and warnings."""

    html: str
    data: dict[str, Any]
    warnings: tuple[str, ...]


def report_page(
    runs: Sequence[RunLike],
    judgements: Judgements | str | Path | Sequence[str | Path],
    measures: Sequence[str] = (),
    *,
    task: str | None = None,
    collection: str | Path | None = None,
    documents: str | None = None,
    name_from: str | None = None,
    texts: SourceTexts | None = None,
    by: str | None = None,
    command: str = "",
    executor: Executor | None = None,
    progress: Callable[[], None] | None = None,
    bounds: bool = False,
    **options: Any,
) -> Page:
    """Score runs and write a page about them.

    Parameters
    ----------
    runs, judgements, task, collection, executor, progress, bounds, **options
        As for `foveal.evaluate`.
    measures : texts of measures
        ``@curve`` makes a graph, not columns of the table.
    documents, name_from : str, optional
        The directory or archive that was indexed, whose texts the page shows, and the element that
        names a document, as in ``foveal index``.
    texts : SourceTexts, optional
        Texts to show without an index.
    by : str, optional
        The measure that decides which run is best; by default the first that ranks runs.
    command : str
        The command line, for the end of the page.

    Examples
    --------
    >>> from foveal.model import Run
    >>> run = Run.from_results({"1": [("D2", 0, 50)]}, name="mine")
    >>> truth = Judgements.from_highlights({"1": {"D2": {"spans": [(0, 50)], "length": 50}}})
    >>> report_page([run], truth, ["AiP"]).data["answers"][0]["text"]
    'By AiP, over 1 topic, mine (1.0000) is the only run.'
    """
    check_assessors(options)
    if options.get("cas"):
        options |= {"documents": documents, "name_from": name_from}
    given = judgements if isinstance(judgements, Judgements) else read_judgements(judgements)
    defaults: list[str] = []
    if (task is None and not measures) or str(task).casefold() == "rag":
        named, task = task, choose_rag(runs)
        defaults = [] if named else [DEFAULT.format(task)]
    preset = None if task is None else find_preset(task)
    single = [
        text
        for text in (*(() if preset is None else preset.texts), *measures)
        if not text.endswith(f"@{CURVE}")
    ]
    columns = list(dict.fromkeys(m.label for text in single for m in parse_measures(text)))
    if not columns and (measures or task):
        raise UsageError("only curves are asked for; name a measure that is one number, as in AiP")

    # Score each run once, by the measures of the table and by the points of the graphs.
    known = () if preset is None else preset.measures
    known += tuple(measure for text in measures for measure in parse_measures(text))
    curves = _choose_graphs(known)
    gained = next((GRAPHS["gain"].adapt(m) for m in known if isinstance(m, Cumulated)), None)
    points = [point for _, own in curves for point in own]
    points += () if gained is None else gain_measures(gained)
    evaluation = Evaluation(
        given, [*measures, *points], task=task, collection=collection, **options
    )
    evaluation.warnings += defaults
    profile = partial(profile_run, gains=None if gained is None else gain_measures(gained)[0])
    profiles = list(map_runs(profile, evaluation, list(runs), executor, progress))
    everything = evaluation.results([own.scores for own in profiles])
    groups = everything.meta.get("groups", ())
    every = [own for label in columns for own in (label, *(f"{label}[{g}]" for g in groups))]
    results = everything.only(every)
    leading = _choose_leading(results, by)
    (gold,) = evaluation.golds

    graphs: list[Graph] = []
    for kind, own in curves:
        graphs += kind.graphs(everything.only([point.label for point in own]))
    if gained is not None:
        gains = [own.curves for own in profiles]
        graphs.append(gain_graph(gains, everything, gained, ranks=_RANKS))
    comparison = None
    ranking = [label for label in results.measures if direction(label)]
    if len(results.runs) > 1 and ranking:
        with suppress(UsageError):  # runs share too few topics, by every measure
            # The page shows no intervals of differences, and bootstrapping all pairs takes long.
            comparison = compare(results, measures=ranking, interval="t")
    topics_file = options.get("topics_file")
    data = collect(
        results,
        graphs=graphs,
        comparison=comparison,
        judgements=gold.judgements,
        profiles=profiles,
        topics=None if topics_file is None else read_topics(topics_file),
        by=leading,
        command=command,
    )
    if bounds:
        options |= {"task": task, "collection": collection}
        bounded = evaluate(list(runs), given, columns, bounds=True, **options)
        (table,) = tabulate_bounds(bounded.only(results.measures))
        data["bounds"] = {"header": table.header, "rows": table.rows, "notes": table.notes}
    n = len(results.topics)
    source = texts if documents is None else SourceTexts(documents, name_tag=name_from)
    left = max(LARGEST, _PER_TOPIC * n) - len(render_page(data, "").encode())
    data["documents"], packed = document_views(
        gold,
        [own.results for own in profiles],
        source,
        budget=max(min(left, max(_DOCUMENTS, _DOCUMENTS_PER_TOPIC * n)), 0),
        partial=documents is None,
    )
    return Page(render_page(data, packed), data, tuple(data["warnings"]))


def _choose_graphs(measures: Sequence[Measure]) -> list[tuple[GraphKind, tuple[Measure, ...]]]:
    """Return the graphs that belong to measures, each with the scores that are its points.

    A graph needs nothing that its measure does not need: all points can be calculated wherever the
    measure can.

    >>> from foveal.measures import AiP
    >>> [(kind.name, str(points[0])) for kind, points in _choose_graphs([AiP])]
    [('ip', 'iP@0.00'), ('effort', 'charR(budget=100)')]
    """
    found: dict[tuple[str, str], tuple[GraphKind, tuple[Measure, ...]]] = {}
    for measure in measures:
        if measure.averages:
            continue
        drawn = [
            (kind, kind.adapt(measure))
            for kind in GRAPHS.values()
            if kind.source == "curves" and measure.name in kind.family
        ]
        if measure.name in _READ:
            drawn.append((GRAPHS["effort"], find_measure(_EFFORT)))
        for kind, bare in drawn:
            points = tuple(kind.list_points(bare))
            if kind.name == "effort":  # every point is scored separately, which takes time
                points = points[:: len(points) // _EFFORT_POINTS or 1]
            if all(
                set(point.needs) <= set(measure.needs)
                and point.overlap_rule in (measure.overlap_rule, OverlapRule.ALLOW)
                and point.grouped <= measure.grouped
                and point.structural == measure.structural
                for point in (points[0], points[-1])
            ):
                found.setdefault((kind.name, bare.label), (kind, points))
    return list(found.values())[:_CURVES]


def _choose_leading(results: Results, by: str | None) -> str:
    """Return the measure of the first screen."""
    if by is None:
        ranking = [label for label in results.measures if direction(label)]
        return (ranking or results.measures)[0]
    label, *more = select_labels(results.measures, [by])
    if more:
        raise UsageError(f"{by} is several measures; expected one to tell which run is best")
    if not direction(label):
        raise UsageError(f"{label} counts and does not rank; expected a measure that does")
    return label


# -- HTML --------------------------------------------------------------------------------------

_SCRIPTS = (
    "elements data statistics state copying tables axes runs lines squares graphs pairs topics "
    "strips documents start"
)
"""The parts of the script, in the order of their dependencies."""
_MODULES = "offsets rendering"
"""Modules of the assessment tool that show documents, in the order of their dependencies."""
_MODULE_LINE = re.compile(r"^import .*\n|^export (?=const|class|function)", re.MULTILINE)


def render_page(data: Mapping[str, Any], documents: str) -> str:
    """Return the page; `documents` are packed.

    Its policy allows one script and one style, by their hashes. The browser loads and runs nothing
    else, not even markup in the name of a run.
    """
    folder, shared = files(__package__), files("foveal.assess").joinpath("static")
    paths = ["style.css", "template.html", *(f"script/{name}.js" for name in _SCRIPTS.split())]
    style, template, *parts = (folder.joinpath(path).read_text(encoding="utf-8") for path in paths)
    style += shared.joinpath("document.css").read_text(encoding="utf-8")
    modules = [
        _MODULE_LINE.sub("", shared.joinpath(f"article/{name}.js").read_text(encoding="utf-8"))
        for name in _MODULES.split()
    ]
    # All in one scope.
    script = '"use strict";\n(() => {\n' + "\n".join([*modules, *parts]) + "})();\n"
    plain = {name: value for name, value in data.items() if name != "documents"}
    text = json.dumps(plain, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    for unsafe in "<\u2028\u2029":  # the data must not end their script element
        text = text.replace(unsafe, f"\\u{ord(unsafe):04x}")
    hashes = [b64encode(sha256(text.encode()).digest()).decode() for text in (script, style)]
    policy = (
        f"default-src 'none'; script-src 'sha256-{hashes[0]}'; style-src 'sha256-{hashes[1]}'; "
        "base-uri 'none'; form-action 'none'"
    )
    best, task = data["answers"][data["by"]], data["provenance"]["task"]
    title = f"{len(data['runs'])} runs, {len(data['topics']['id'])} topics"
    warnings = "".join(f"<li>{escape(line)}</li>" for line in data["warnings"])
    return Template(template).substitute(
        policy=escape(policy),
        style=style,
        script=script,
        data=text,
        documents=documents,
        title=escape(f"{task}: {title}" if task else title),
        sure=best["sure"],
        answer=escape(best["text"]),
        rule=escape(data["rule"]),
        summary=_summary(data),
        bounds=_bounds(data["bounds"]) if "bounds" in data else "",
        warnings=f"<ul>{warnings}</ul>" if warnings else "<p>No warnings.</p>",
        provenance=_provenance(data["provenance"]),
        command=escape(data["command"] or "(called from Python)"),
    )


def _summary(data: Mapping[str, Any]) -> str:
    """Return the table of runs and measures, which needs no script."""
    best = {(i, j) for i, j in data["best"]}
    head = "".join(
        f'<th scope="col" class="n">{escape(measure["label"])}</th>' for measure in data["measures"]
    )
    rows = []
    for i, run in enumerate(data["runs"]):
        cells = (
            f'<td class="n">{f"<b>{escape(text)}</b>" if (i, j) in best else escape(text)}</td>'
            for j, text in enumerate(data["cells"][i])
        )
        rows.append(f'<tr><th scope="row">{escape(run)}</th>{"".join(cells)}</tr>')
    return (
        f'<thead><tr><th scope="col">run</th>{head}</tr></thead>\n<tbody>\n'
        + "\n".join(rows)
        + "\n</tbody>"
    )


def _bounds(table: Mapping[str, Any]) -> str:
    """Return the section with the bounds of scores over the unjudged text."""
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in table["header"])
    rows = "\n".join(
        f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in table["rows"]
    )
    notes = "".join(f'<p class="note">{escape(note)}.</p>' for note in table["notes"])
    return (
        "<h3>Least and greatest scores over the unjudged text</h3>\n"
        '<div class="scroll" tabindex="0" role="region" aria-label="Bounds of scores">'
        f"<table><thead><tr>{head}</tr></thead>\n<tbody>{rows}</tbody></table></div>{notes}"
    )


def _provenance(known: Mapping[str, Any]) -> str:
    """Return the versions, task, options and inputs."""
    versions = ", ".join(f"{name} {number}" for name, number in known["versions"].items())
    options = ", ".join(
        f"{name} = {json.dumps(value, ensure_ascii=False)}"
        for name, value in known["options"].items()
    )
    facts = {
        "Versions": versions,
        "Task": known["task"] or "none",
        "Options": options or "all as by default",
    }
    listed = "".join(f"<dt>{k}</dt><dd>{escape(v)}</dd>" for k, v in facts.items())
    inputs = "".join(
        f"<tr><td>{escape(part['kind'])}</td><td>{escape(part['path'])}</td>"
        f"<td><code>{part['sha256'] or 'made in Python'}</code></td></tr>"
        for part in known["inputs"]
    )
    return (
        f"<dl>{listed}</dl>\n"
        '<div class="scroll" tabindex="0" role="region" aria-label="Inputs">'
        "<table><caption>Inputs</caption>"
        '<thead><tr><th scope="col">kind</th><th scope="col">path</th>'
        f'<th scope="col">SHA-256</th></tr></thead>\n<tbody>{inputs}</tbody></table></div>'
    )
