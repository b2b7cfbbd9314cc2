"""Losses of writing a format: what the file does not hold, for a warning."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np

from foveal.formats.inex_assessments import WITHOUT_GRADES
from foveal.formats.lines import join_words, keeps_scores
from foveal.model import Judgements, Run, Topics


def run_losses(run: Run, keeps: str) -> list[str]:
    """List what a file does not hold of a run, each as ``what: how many``.

    `keeps` names what it holds: results offsets xpaths tokens task header name topics answers.
    """
    held, counts, kept = keeps.split(), dict[str, int](), run
    if "results" not in held:
        kept = run.take(run.first == np.arange(len(run)))
        counts["results after the first of a document"] = len(run) - len(kept)
        if kept.score is not None and not keeps_scores(kept):
            counts["scores, which do not fall from each result to the next"] = len(kept)
    if "offsets" not in held:
        counts["offsets"] = int((kept.end >= 0).sum())
    if "xpaths" not in held and kept.xpath is not None:
        counts["XPaths"] = kept.xpath.count()
    if "tokens" not in held and kept.tokens is not None:
        counts["tokens"] = int((kept.tokens >= 0).sum())
    if "topics" not in held:
        counts["topics without results"] = len(run.topics_without_results)
    if "answers" not in held and run.answers is not None:
        citations = run.answers.citations
        counts["sentences of answers"] = citations.select("topic", "sentence").n_unique()
        counts["citations that are not valid"] = citations["problem"].count()
    losses = _list_counts(run.unread, counts)
    if "task" not in held and run.task is not None:
        losses.append(f"the task {run.task}")
    about = [name for name in run.header or {} if name != "result-type"]  # the results tell it, too
    if "header" not in held and about:
        losses.append(f"header of the submission: {', '.join(about)}")
    if "name" not in held and join_words(run.name) != run.name:
        losses.append(f"the name {run.name!r}, written as {join_words(run.name)!r}")
    return losses


def judgement_losses(judgements: Judgements, form: str) -> list[str]:
    """List what a file does not hold of judgements, each as ``what: how many``."""
    own, header, grade = judgements, judgements.header or {}, judgements.grade
    if form == "jsonl":  # holds nearly all
        sizes = None if own.places is None else own.places.get_column("size", default=None)
        return _list_counts(
            own.unread, {"sizes of passages": 0 if sizes is None else sizes.count()}
        )
    is_inex = form.startswith("inex")
    counts = {
        "unanswerable topics": len(own.unanswerable),
        "judged topics without a document": len({*own.topics_without_documents} - own.unanswerable),
        "quotes": 0 if own.quotes is None else own.quotes["quote"].count(),
        "spans of evidence sets": 0 if own.sets is None else int((own.sets.list.len() > 0).sum()),
        "spans with slots": 0 if own.slots is None else int((own.slots.list.len() > 0).sum()),
        "aspects of spans": 0 if own.aspects is None else int((own.aspects.list.len() > 0).sum()),
        "grades other than 1": 0 if grade is None else int(((grade != 1) & (grade > 0)).sum()),
        "spans that are not relevant": 0 if grade is None else int((grade <= 0).sum()),
    }
    if form == "trec" or (is_inex and own.places is None):
        counts["passages"] = len(own.start)
        counts["best entry points"] = int((own.bep >= 0).sum())
    if own.elements is not None and (header.get("scale"), form[4:]) == WITHOUT_GRADES:
        counts["exhaustivity of elements"] = own.elements["exhaustivity"].count()
    if not is_inex:
        counts["elements"] = 0 if own.elements is None else len(own.elements)
        counts["passages by XPath"] = 0 if own.places is None else len(own.places)
        counts["names of assessors"] = len(own.assessors)
    if form != "fol":
        counts["lengths of documents"] = int((own.length >= 0).sum())
    losses = _list_counts(own.unread, counts)
    kept = ("collection", "version") if is_inex else ()
    lost = (name for name in ("collection", "version") if name in header and name not in kept)
    return [*losses, *(f"the {name} {header[name]}" for name in lost)]


def topic_losses(topics: Topics, left_out: Collection[str] = ()) -> list[str]:
    """List what a file does not hold of topics, each as ``what: how many``."""
    counts = {n: sum(getattr(topic, n) is not None for topic in topics) for n in left_out}
    return _list_counts(topics.unread, counts)


def _list_counts(unread: Mapping[str, int] | None, counts: Mapping[str, int]) -> list[str]:
    """List what readers did not keep, then what else is counted."""
    return [f"{what}: {n}" for what, n in {**(unread or {}), **counts}.items() if n]
