"""Losses of writing a format: what the file does not hold, for a warning."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict

import numpy as np

from foveal.formats.fields import one_word
from foveal.formats.inex_assessments import WITHOUT_GRADES
from foveal.formats.objects import UNKNOWN_FIELD
from foveal.model import Judgements, Run, Topics

_TREC_TOPIC = ("id", "title", "description", "narrative", "keywords")


def run_losses(run: Run, keeps: str) -> list[str]:
    """List what a file does not hold of a run, each as ``what: how many``.

    `keeps` names what its format holds, of: results offsets xpaths tokens task header name.

    >>> run = Run.from_results({"1": [("d", 0, 5), ("d", 7, 9), ("e", 0, 4)]})
    >>> run_losses(run, keeps="tokens")
    ['results after the first of a document: 1', 'offsets: 2']
    """
    held, found = keeps.split(), list[tuple[str, int]]()
    kept = np.ones(len(run), dtype=bool)
    if "results" not in held:
        kept = run.first == np.arange(len(run))
        found.append(("results after the first of a document", int((~kept).sum())))
        left = run.take(kept)
        if left.score is not None and not keeps_scores(left):
            found.append(("scores, which do not fall from each result to the next", len(left)))
    if "offsets" not in held:
        found.append(("offsets", int((run.end[kept] >= 0).sum())))
    if "xpaths" not in held and run.xpath is not None:
        found.append(("XPaths", int(run.xpath.is_not_null().to_numpy()[kept].sum())))
    if "tokens" not in held and run.tokens is not None:
        found.append(("tokens", int((run.tokens[kept] >= 0).sum())))
    losses = [*_list_unread(run.unread), *(f"{what}: {count}" for what, count in found if count)]
    if "task" not in held and run.task is not None:
        losses.append(f"the task {run.task}")
    about = [name for name in run.header or {} if name != "result-type"]  # the results tell it, too
    if "header" not in held and about:
        losses.append(f"what the submission says of itself: {', '.join(about)}")
    if "name" not in held and one_word(run.name) != run.name:
        losses.append(f"the name {run.name!r}, written as {one_word(run.name)!r}")
    return losses


def keeps_scores(run: Run) -> bool:
    """Return True if scores in single precision keep the order, so that they can be written."""
    if run.score is None:
        return False
    with np.errstate(over="ignore"):
        score = run.score.astype(np.float32)
    falls = (score[1:] < score[:-1]) | (run.topic[1:] != run.topic[:-1])
    return bool(falls.all())


def judgement_losses(judgements: Judgements, form: str) -> list[str]:
    """List what a file does not hold of judgements, each as ``what: how many``."""
    counts = _count_sizes(judgements) if form == "jsonl" else _count_unheld(judgements, form)
    losses = [*_list_unread(judgements.unread), *(f"{what}: {n}" for what, n in counts if n)]
    header = {} if form == "jsonl" else judgements.header or {}
    for name in ("collection", "version"):
        value = header.get(name)
        if value is not None and not (form.startswith("inex") and isinstance(value, str)):
            losses.append(f"the {name} {value}")
    return losses


def _list_unread(unread: Mapping[str, int] | None) -> Iterator[str]:
    """Yield what readers did not keep; fields that are not known come last, together."""
    names = {}
    for what, count in (unread or {}).items():
        if what.startswith(UNKNOWN_FIELD):
            names[what.removeprefix(UNKNOWN_FIELD)] = count
        else:
            yield f"{what}: {count}"
    if names:
        yield UNKNOWN_FIELD + ", ".join(f"{name} ({count})" for name, count in names.items())


def _count_sizes(judgements: Judgements) -> Iterator[tuple[str, int]]:
    if judgements.places is not None and "size" in judgements.places:
        yield "sizes of passages", judgements.places["size"].count()


def _count_unheld(judgements: Judgements, form: str) -> Iterator[tuple[str, int]]:
    """Yield what only JSON Lines hold, and how often it occurs."""
    own, is_inex = judgements, form.startswith("inex")
    yield "judged topics without a document", len(own.topics_without_documents)
    yield "quotes", 0 if own.quotes is None else own.quotes["quote"].count()
    for what, labels in (("spans of evidence sets", own.sets), ("aspects of spans", own.aspects)):
        yield what, 0 if labels is None else int((labels.list.len() > 0).sum())
    if own.grade is not None:
        yield "grades other than 1", int(((own.grade != 1) & (own.grade > 0)).sum())
        yield "spans that are not relevant", int((own.grade <= 0).sum())
    if form == "trec" or (is_inex and own.places is None):
        yield "passages", len(own.start)
        yield "best entry points", int((own.bep >= 0).sum())
    scale = (own.header or {}).get("scale")
    if own.elements is not None and (scale, form.removeprefix("inex")) == WITHOUT_GRADES:
        yield "exhaustivity of elements", own.elements["exhaustivity"].count()
    if not is_inex:
        for what, table in (("elements", own.elements), ("passages by XPath", own.places)):
            yield what, 0 if table is None else len(table)
        yield "names of assessors", len(own.assessors)
    if form != "fol":
        yield "lengths of documents", int((own.length >= 0).sum())


def topic_losses(topics: Topics, form: str) -> list[str]:
    """List what a file does not hold of topics, each as ``what: how many``."""
    losses = [*_list_unread(topics.unread)]
    if form == "trec":
        rows = [asdict(topic) for topic in topics]
        counts = {name: sum(row[name] is not None for row in rows) for name in (rows or [{}])[0]}
        losses += [f"{name}: {n}" for name, n in counts.items() if n and name not in _TREC_TOPIC]
    return losses
