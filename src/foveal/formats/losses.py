"""What a format leaves behind on purpose, so that whoever converts is told."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict

import numpy as np

from foveal.formats.inex_assessments import FOLDER_FORMATS, WITHOUT_GRADES
from foveal.formats.lines import one_word_of
from foveal.formats.trec import keeps_scores
from foveal.formats.unknown import UNKNOWN_FIELD
from foveal.model import Judgements, Run, Topics

__all__ = ["judgement_losses", "run_losses", "topic_losses"]

_LINES = ("fol", "elements", "trec")
_TOLD = ("result-type",)
"""What of a submission's header the results tell, too."""
_TREC_TOPIC = ("id", "title", "description", "narrative", "keywords")


def run_losses(run: Run, form: str) -> list[str]:
    """What of the run is not in the file, each as ``what: how many``.

    >>> run = Run.from_results({"1": [("d", 0, 5), ("d", 7, 9), ("e", 0, 4)]})
    >>> run_losses(run, "trec")
    ['results after the first of a document: 1', 'offsets: 2']
    """
    found = []
    kept = np.ones(len(run), dtype=bool)
    if form == "trec":
        kept = run.first == np.arange(len(run))
        found.append(("results after the first of a document", int((~kept).sum())))
        left = run.take(kept)
        if left.score is not None and not keeps_scores(left):
            found.append(("scores, which do not fall from each result to the next", len(left)))
    if form == "trec":  # where a result is named by its XPath, nothing is lost
        found.append(("offsets", int((run.end[kept] >= 0).sum())))
    if form in ("trec", "fol") and run.xpath is not None:
        found.append(("XPaths", int(run.xpath.is_not_null().to_numpy()[kept].sum())))
    if form not in ("jsonl", "parquet") and run.tokens is not None:
        found.append(("tokens", int((run.tokens[kept] >= 0).sum())))
    losses = [*_counted(run.unread), *(f"{what}: {count}" for what, count in found if count)]
    if form in (*_LINES, "parquet") and run.task is not None:
        losses.append(f"the task {run.task}")
    about = [name for name in run.header or {} if name not in _TOLD]
    if form != "inex" and about:
        losses.append(f"what the submission says of itself: {', '.join(about)}")
    if form in _LINES and one_word_of(run.name) != run.name:
        losses.append(f"the name {run.name!r}, written as {one_word_of(run.name)!r}")
    return losses


def judgement_losses(judgements: Judgements, form: str) -> list[str]:
    """What of the judgements is not in the file, each as ``what: how many``."""
    if form == "jsonl":
        found = [("sizes of passages", _sizes(judgements))]
    else:
        found = [*_unheld(judgements, form)]
    losses = [
        *_counted(judgements.unread),
        *(f"{what}: {count}" for what, count in found if count),
    ]
    header = {} if form == "jsonl" else judgements.header or {}
    for name in ("collection", "version"):
        value = header.get(name)
        if value is not None and not (form in FOLDER_FORMATS and isinstance(value, str)):
            losses.append(f"the {name} {value}")
    return losses


def _counted(unread: Mapping[str, int] | None) -> Iterator[str]:
    """What no format gets, because the reader did not keep it; fields not known all at once."""
    names = {}
    for what, count in (unread or {}).items():
        if what.startswith(UNKNOWN_FIELD):
            names[what.removeprefix(UNKNOWN_FIELD)] = count
        else:
            yield f"{what}: {count}"
    if names:
        yield UNKNOWN_FIELD + ", ".join(f"{name} ({count})" for name, count in names.items())


def _sizes(judgements: Judgements) -> int:
    places = judgements.places
    return 0 if places is None or "size" not in places else places["size"].count()


def _unheld(judgements: Judgements, form: str) -> Iterator[tuple[str, int]]:
    """What any format but JSON Lines leaves behind."""
    yield "judged topics without a document", len(judgements.topics_without_documents)
    yield "quotes", 0 if judgements.quotes is None else judgements.quotes["quote"].count()
    sets = judgements.sets
    yield "spans of evidence sets", 0 if sets is None else int((sets.list.len() > 0).sum())
    aspects = judgements.aspects
    yield "aspects of spans", 0 if aspects is None else int((aspects.list.len() > 0).sum())
    if judgements.grade is not None:
        other = (judgements.grade != 1) & (judgements.grade > 0)
        yield "grades other than 1", int(other.sum())
        yield "spans that are not relevant", int((judgements.grade <= 0).sum())
    if form == "trec" or (form in FOLDER_FORMATS and judgements.places is None):
        yield "passages", len(judgements.start)
        yield "best entry points", int((judgements.bep >= 0).sum())
    scale = (judgements.header or {}).get("scale")
    if judgements.elements is not None and (scale, form.removeprefix("inex")) == WITHOUT_GRADES:
        yield "exhaustivity of elements", judgements.elements["exhaustivity"].count()
    if form not in FOLDER_FORMATS:
        tables = (("elements", judgements.elements), ("passages by XPath", judgements.places))
        yield from ((what, 0 if table is None else len(table)) for what, table in tables)
        yield "names of assessors", len(judgements.assessors)
    if form != "fol":
        yield "lengths of documents", int((judgements.length >= 0).sum())


def topic_losses(topics: Topics, form: str) -> list[str]:
    """What of the topics is not in the file, each as ``what: how many``."""
    losses = [*_counted(topics.unread)]
    if form == "trec":
        rows = [asdict(topic) for topic in topics]
        counts = {name: sum(row[name] is not None for row in rows) for name in (rows or [{}])[0]}
        losses += [f"{name}: {n}" for name, n in counts.items() if n and name not in _TREC_TOPIC]
    return losses
