"""The data of the page, as plain values: runs, scores, answers, graphs and document views."""

from __future__ import annotations

import json
import math
import platform
from collections.abc import Sequence
from dataclasses import replace
from importlib.metadata import version
from itertools import zip_longest
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from foveal._version import __version__
from foveal.analysis.comparison import Comparison
from foveal.analysis.correlation import kendall_tau_b
from foveal.analysis.pairs import Pairs, TestSettings
from foveal.analysis.score_matrix import compute_ranking_scores, parse_label, round_noise
from foveal.analysis.score_tables import tabulate_scores
from foveal.assess.documents import parsed_elements
from foveal.assess.rendering import keep_attributes, lay_out
from foveal.collection import Markup, SourceTexts
from foveal.errors import InputError, counted, some
from foveal.evaluation.evaluation import Evaluation, RunLike, Scores
from foveal.measures import Measure, parse_measure
from foveal.measures.alignment import Gold
from foveal.measures.xcg import Curves
from foveal.model import UNKNOWN, Judgements, Results, Run, Topics
from foveal.model.graphs import Graph
from foveal.report.graph_kinds import cumulate_gains
from foveal.spans import Floats, Ints

# -- runs --------------------------------------------------------------------------------------

OVERLAP = ("ListOverlap", "MeanOverlap", "Redundancy")
"""The indicators of a profile, of the run as it is (``--overlap allow``)."""
_TOP = 10
"""Ranks whose results are shown even in documents that are not relevant."""
_BINS = 18
"""Bins of lengths, each twice as wide as the one before: up to 128 K characters and beyond."""


class RunProfile(NamedTuple):
    """The scores of one run, and what the page shows of its results."""

    scores: tuple[Scores, ...]
    returned: dict[str, Any]
    """Number and lengths of its results."""
    overlap: Floats | None
    """The indicators (topic, measure); None if the span of a result is unknown."""
    results: pl.DataFrame
    """Topic, doc, rank, start, end of results in relevant documents and at the top ranks."""
    curves: dict[str, Curves]
    """Cumulated gains by topic, if the page draws them."""


def profile_run(evaluation: Evaluation, run: RunLike, gains: Measure | None = None) -> RunProfile:
    """Read and align a run once: score it and keep what a page shows of it."""
    (aligned,) = evaluation.align(run)
    gold, unlimited = aligned.gold, aligned.unlimited
    judged = np.array([topic in gold.topic_at for topic in aligned.run.topics], dtype=bool)
    own = aligned.run.take(judged[aligned.run.topic])
    # Characters of each result, -1 where they are unknown.
    whole = own.length
    if whole is None:
        whole = np.append(gold.doc_length, UNKNOWN)[gold.docs.find(own.doc)]
    end = np.where((own.end < 0) & (own.start == 0), whole, own.end)
    lengths = np.where((end >= 0) & (own.start >= 0), end - own.start, -1)
    returned: dict[str, Any] = {
        "results": len(own),
        "topics": len(own.topics),
        "length": None,
        "histogram": None,
    }
    known = lengths[lengths >= 0]
    if len(known):
        quartiles = np.percentile(known, [0, 25, 50, 75, 100])
        returned["length"] = [round(float(value), 1) for value in (known.mean(), *quartiles)]
        bins = np.minimum(np.log2(np.maximum(known, 1)).astype(np.int64), _BINS - 1)
        returned["histogram"] = np.bincount(bins, minlength=_BINS).tolist()
    overlap = None
    if unlimited.placed.all():
        overlap = np.column_stack([parse_measure(name).score_topics(unlimited) for name in OVERLAP])
    return RunProfile(
        evaluation.score((aligned,)),
        returned,
        overlap,
        _select_results(own, lengths, gold),
        {} if gains is None else cumulate_gains(aligned, gains),
    )


def _select_results(run: Run, lengths: Ints, gold: Gold) -> pl.DataFrame:
    """Return the results in relevant documents, then the others at the top ranks."""
    judgements = gold.judgements
    topics = pl.Series(judgements.topics, dtype=pl.String).gather(judgements.topic)
    relevant = pl.DataFrame({"topic": topics, "doc": judgements.doc}).filter(
        pl.Series(judgements.relevant)
    )
    frame = pl.DataFrame(
        {
            "topic": pl.Series(run.topics, dtype=pl.String).gather(run.topic),
            "doc": run.doc,
            "rank": run.position,
            "start": np.where(lengths >= 0, run.start, -1),
            "end": np.where(lengths >= 0, run.start + lengths, -1),
        },
        schema_overrides=dict.fromkeys(("rank", "start", "end"), pl.Int64),
    )
    top = frame.filter(pl.col("rank") <= _TOP)
    found = frame.join(relevant, on=["topic", "doc"], how="semi")
    return pl.concat([found, top.join(relevant, on=["topic", "doc"], how="anti")])


# -- scores ------------------------------------------------------------------------------------

_VALUES = 130_000
"""Scores of single topics that the page holds: about five bytes each."""
_MOST_POINTS = 100
"""Largest number of points of a line; more are not visible."""
_RULE = "paired t-test, two-sided, Holm's correction over all pairs, alpha 0.05"


def scaled(value: float) -> int | None:
    """Return a score in ten-thousandths, rounded as it is printed; None for an undefined one.

    The page must show what ``foveal evaluate`` prints, and other languages round halves otherwise.

    >>> scaled(0.03125), f"{0.03125:.4f}", scaled(float("nan"))
    (312, '0.0312', None)
    """
    return None if math.isnan(value) else int(f"{value:.4f}".replace(".", ""))


def direction(label: str) -> int:
    """Return 1 if higher is better, -1 if lower is, 0 if the measure does not rank runs.

    >>> direction("AiP"), direction("T2Ieffort@3"), direction("num_ret")
    (1, -1, 0)
    """
    measure = parse_label(label)
    better = True if measure is None else measure.higher_is_better
    return 0 if better is None else 1 if better else -1


def collect(
    results: Results,
    *,
    graphs: Sequence[Graph],
    comparison: Comparison | None,
    judgements: Judgements,
    profiles: Sequence[RunProfile],
    topics: Topics | None,
    by: str,
    command: str,
) -> dict[str, Any]:
    """Return the data of a page, all but the views of documents.

    `results` hold the measures of the table; the answer of the first screen uses the measure `by`.
    """
    table = tabulate_scores(results)
    labels, n = results.measures, len(results.runs)
    compared = {} if comparison is None else {own.measure: own for own in comparison.measures}
    # A run that is alone has intervals, too.
    alone = n == 1 and not np.isinf(results.values).any()
    letters, limits = [], []
    for label in labels:
        if comparison is not None and label in compared:
            found = comparison.signs(label)
            letters.append([found[run] for run in results.runs])
        else:
            letters.append([""] * n)
        has_intervals = alone or label in compared
        limits.append(_find_intervals(results, label) if has_intervals else [None] * n)
    overlaps = [
        None
        if own.overlap is None or not counted.any()
        else [scaled(mean) for mean in own.overlap[counted].mean(axis=0).tolist()]
        for own, counted in zip(profiles, results.counted, strict=True)
    ]
    relevant = np.bincount(
        judgements.topic[judgements.relevant], minlength=len(judgements.topics)
    ).tolist()
    counts = dict(zip(judgements.topics, relevant, strict=True))
    titles = {} if topics is None else {topic.id: topic.title for topic in topics}
    shares = results.meta["unjudged"]["judged"]
    return {
        "runs": list(results.runs),
        "tasks": [results.meta["tasks"].get(run) for run in results.runs],
        "topics": [
            {"id": topic, "title": titles.get(topic) or "", "relevant": counts.get(topic, 0)}
            for topic in results.topics
        ],
        "measures": [
            {
                "label": label,
                "sign": direction(label),
                "whole": own is not None and own.summed,
                "says": (own.__doc__ or "").strip().partition("\n")[0],
            }
            for label, own in zip(labels, map(parse_label, labels), strict=True)
        ],
        "by": labels.index(by),
        "cells": [list(row[1:]) for row in table.rows],
        "best": sorted([i, j - 1] for i, j in table.best),
        "overall": [[None if np.isnan(v) else v for v in row] for row in results.overall.tolist()],
        "averaged": results.averaged.tolist(),
        "letters": letters,
        "limits": limits,
        "p": [
            [scaled(p) for p in compared[label].adjusted["t"].tolist()]
            if label in compared
            else None
            for label in labels
        ],
        "rule": _RULE,
        "answers": [answer(results, compared.get(label), label) for label in labels],
        "values": [
            [[scaled(v) for v in row] for row in results.values[:, :, k].tolist()]
            for k in range(min(len(labels), max(_VALUES // max(results.counted.size, 1), 1)))
        ],
        "counted": results.counted.astype(int).tolist(),
        "curves": [_describe_graph(graph) for graph in graphs],
        "correlation": _correlate_measures(results),
        "profiles": [
            {**own.returned, "overlap": means}
            for own, means in zip(profiles, overlaps, strict=True)
        ],
        "overlap": list(OVERLAP),
        "unjudged": [
            None if (share := shares.get(run)) is None else scaled(1 - share)
            for run in results.runs
        ],
        "unjudged_k": results.meta["unjudged"]["k"],
        "warnings": [
            *results.meta["warnings"],
            *(() if comparison is None else comparison.warnings),
        ],
        "provenance": {
            "versions": {
                "foveal": __version__,
                "python": platform.python_version(),
                **{name: version(name) for name in ("numpy", "polars", "scipy")},
            },
            "task": results.meta["task"],
            "options": {
                name: list(value) if isinstance(value, tuple) else value
                for name, value in results.meta["options"].items()
            },
            "inputs": list(results.meta["inputs"]),
            "judged": len(results.topics),
        },
        "command": command,
    }


def answer(results: Results, pairs: Pairs | None, label: str) -> dict[str, Any]:
    """Return a sentence on the best run by a measure, and if the lead is sure: yes, no, unknown."""
    column, sign, sure = results.measures.index(label), direction(label), "unknown"
    means = results.overall[:, column]
    if not sign or np.isnan(means).all():
        return {"measure": label, "sure": sure, "text": f"{label} does not rank runs."}
    tested = pairs is not None and not pairs.is_too_small
    if pairs is not None and tested:
        # Means over the topics that all runs share: those of other topics may order them otherwise.
        order, means, topics = pairs.order, pairs.scores.means, len(pairs.scores.topics)
    else:
        order = np.argsort(np.where(np.isnan(means), np.inf, -sign * means), kind="stable")
        topics = int(results.averaged[order[0], column])
    best, *others = [f"{results.runs[i]} ({means[i]:.4f})" for i in order.tolist()]
    text = f"By {label}, over {counted(topics, 'topic')}, {best}"
    if not others:
        text += " is the only run."
    elif pairs is None or not tested:
        text += f" is best, before {others[0]}; too few topics to test the difference."
    else:
        p = pairs.square(pairs.adjusted["t"], np.nan)[order[0], order[1]]
        sure = "yes" if p < TestSettings().alpha else "no"
        verdict = "and" if sure == "yes" else "but not"
        chance = "p < 0.0001" if p < 0.00005 else f"p = {p:.4f}"
        text += f" is best, {verdict} significantly better than the next, {others[0]}; {chance}."
    return {"measure": label, "sure": sure, "text": text}


def _find_intervals(results: Results, label: str) -> list[list[int | None] | None]:
    """Return the bootstrap interval of each run's mean, over the topics of that mean.

    If all runs share their topics, these are the intervals of `compare`, corrected for the number
    of groups of topics where the measure is that of a group.
    """
    values = results.values[:, :, results.measures.index(label)]
    own = results.counted & ~np.isnan(values)
    found: list[list[int | None] | None] = [None] * len(values)
    groups = len(results.meta.get("groups", ())) if label.endswith("]") else 1
    settings = TestSettings(confidence=1 - 0.05 / groups)
    for topics in np.unique(own, axis=0):
        if np.count_nonzero(topics) < 2:
            continue
        rows = np.flatnonzero((own == topics).all(axis=1))
        part = np.ascontiguousarray(values[np.ix_(rows, topics)])
        part = round_noise(part, np.abs(part).max(axis=1, keepdims=True))
        low, high = settings.limits(part)
        for i, a, b in zip(rows.tolist(), low.tolist(), high.tolist(), strict=True):
            found[i] = [scaled(a), scaled(b)]
    return found


def _describe_graph(graph: Graph) -> dict[str, Any]:
    """Return a graph as plain values, y in ten-thousandths."""
    lines: list[dict[str, Any]] = []
    for line in graph.lines:
        shown = np.arange(len(line.x))
        if len(shown) > _MOST_POINTS + 1:
            shown = np.unique(np.linspace(0, len(shown) - 1, _MOST_POINTS + 1).round().astype(int))
        lines.append(
            {
                "name": line.name,
                "mark": line.mark,
                "series": line.series,
                "x": [float(f"{value:.6g}") for value in line.x[shown].tolist()],
                "y": [scaled(value) for value in line.y[shown].tolist()],
            }
        )
    shared = lines[0]["x"] if lines else []
    for values in lines:  # in most graphs all lines have the same x values
        if values["x"] == shared:
            del values["x"]
    return {
        "kind": graph.kind,
        "title": graph.title,
        "across": graph.x.text,
        "up": graph.y.text,
        "log": graph.x.log,
        "x": shared,
        "lines": lines,
        "notes": list(graph.notes),
    }


def _correlate_measures(results: Results) -> dict[str, Any] | None:
    """Return Kendall's tau of the rankings of runs by every two measures."""
    ranking = [label for label in results.measures if direction(label)]
    scores = {label: compute_ranking_scores(results, label) for label in ranking}
    scores = {label: values for label, values in scores.items() if not np.isnan(values).any()}
    if len(scores) < 2 or len(results.runs) < 3:
        return None
    tau = [
        [scaled(kendall_tau_b(one, other)) for other in scores.values()] for one in scores.values()
    ]
    return {"labels": list(scores), "tau": tau}


# -- documents ---------------------------------------------------------------------------------

_LONGEST = 100_000
"""Characters of the longest text shown: nobody reads a longer one in a page about runs."""


def document_views(
    judgements: Judgements,
    returned: pl.DataFrame,
    texts: SourceTexts | None,
    *,
    budget: int,
    partial: bool = False,
) -> dict[str, Any]:
    """Choose the documents worth looking at, topic by topic, within `budget` bytes.

    `returned` are results with topic, doc, run (its number), rank, start, end. Every topic gets its
    first document before any gets its second. Relevant documents come first, and among them those
    that more runs returned. Texts, if any, have what the views leave, at least half of the budget;
    their structures have what the texts leave, and a text without one is shown as plain lines.
    With `partial`, the source may lack documents.
    """
    candidates, judged = _list_candidates(judgements, returned), judgements.documents
    lengths = zip(judged.names, judged.length.tolist(), strict=True)
    known = {doc: size for doc, size in lengths if size >= 0}
    chosen: dict[str, list[dict[str, Any]]] = {topic: [] for topic in candidates}
    ends: dict[str, int] = {}
    """The end of the last relevant passage of each document."""
    reserved = 0 if texts is None else budget // 2
    room, left = budget - reserved, 0
    for level in zip_longest(*candidates.values()):
        for topic, view in zip(candidates, level, strict=True):
            if view is None:
                continue
            cost = len(json.dumps(view, separators=(",", ":")))
            if cost > room:
                left += 1
                continue
            room -= cost
            doc = view["doc"]
            ends[doc] = max([ends.get(doc, 0), *(end for _, end in view["spans"])])
            chosen[topic].append(view)
    asked = [doc for doc in ends if texts is not None and known.get(doc, 0) <= _LONGEST]
    found: dict[str, str] = {}
    markup: dict[str, Markup] = {}
    if texts is not None and asked:
        found, markup = _read_texts(texts, asked, partial=partial)
    odd = [
        doc
        for doc, text in found.items()
        if known.get(doc, len(text)) != len(text) or ends[doc] > len(text)
    ]
    if odd and len(odd) == len(asked):
        text = f"document {odd[0]!r} has another length than the document that was judged"
        raise InputError.at("collection.length", str(texts and texts.source), None, text)
    shown: dict[str, str] = {}
    room += reserved
    for doc in asked:
        text = found.get(doc, "")
        cost = len(text.encode()) + 5 * text.count("<")  # the page escapes it
        if doc in found and doc not in odd and len(text) <= _LONGEST and cost <= room:
            shown[doc] = text
            room -= cost
    structures: dict[str, dict[str, Any]] = {}
    for doc, text in shown.items():  # in the room that texts leave
        structure = lay_out(parsed_elements(markup[doc]), text)
        cost = len(json.dumps(structure, separators=(",", ":")))
        if cost <= room:
            structures[doc] = structure
            room -= cost
    known |= {doc: len(text) for doc, text in shown.items()}
    return {
        "views": {topic: views for topic, views in chosen.items() if views},
        "texts": shown,
        "structures": structures,
        "lengths": {doc: known[doc] for doc in ends if doc in known},
        "left_out": left,
        "without_text": len(ends) - len(shown),
        "notes": [f"texts of another length than judged, not shown: {some(odd)}"] if odd else [],
        "has_source": texts is not None,
    }


def _list_candidates(
    judgements: Judgements, returned: pl.DataFrame
) -> dict[str, list[dict[str, Any]]]:
    """Return the documents of each topic, the most interesting first."""
    views: dict[str, dict[str, dict[str, Any]]] = {topic: {} for topic in judgements.topics}
    for row in np.flatnonzero(judgements.relevant).tolist():
        doc, spans = judgements.doc[row], [list(span) for span in judgements.passages(row)]
        view = {"doc": doc, "spans": spans, "bep": int(judgements.bep[row]), "relevant": True}
        views[judgements.topics[judgements.topic[row]]][doc] = {**view, "results": []}
    columns = ("topic", "doc", "run", "rank", "start", "end")
    for topic, doc, *result in returned.sort("topic", "doc", "rank", "run").select(columns).rows():
        other = {"doc": doc, "spans": [], "bep": -1, "relevant": False, "results": []}
        views[topic].setdefault(doc, other)["results"].append(result)
    return {
        topic: sorted(
            own.values(),
            key=lambda view: (
                not view["relevant"],
                -len({result[0] for result in view["results"]}),
                view["doc"],
            ),
        )
        for topic, own in views.items()
    }


def _read_texts(
    texts: SourceTexts, docs: list[str], *, partial: bool
) -> tuple[dict[str, str], dict[str, Markup]]:
    """Read the whole texts of documents, and their mark-up."""
    markup: dict[str, Markup] = {}
    marked = replace(texts, keep=keep_attributes)
    found = {own.doc: own.text for own in marked.read(docs, markup=markup)}
    missing = [doc for doc in docs if doc not in found]
    if not found:
        raise InputError.at(
            "documents.missing",
            str(texts.source),
            None,
            f"holds no document of the report, such as {docs[0]!r}",
        )
    if missing and not partial:
        reason = f"holds no document {min(missing)!r}, which is judged"
        raise InputError.at("collection.unknown_document", str(texts.source), None, reason)
    return found, markup
