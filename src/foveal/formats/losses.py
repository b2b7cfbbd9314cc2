"""What a format leaves behind on purpose, so that whoever converts is told."""

from __future__ import annotations

from dataclasses import asdict

import numpy as np

from foveal.formats.inex_pools import FOLDER_FORMATS
from foveal.formats.lines import one_word_of
from foveal.model import Judgements, Run, Topics

__all__ = ["judgement_losses", "run_losses", "topic_losses"]

_LINES = ("fol", "elements", "trec")
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
    if form == "trec":  # where a result is named by its XPath, nothing is lost
        found.append(("offsets", int((run.end[kept] >= 0).sum())))
    if form in ("trec", "fol") and run.xpath is not None:
        found.append(("XPaths", int(run.xpath.is_not_null().to_numpy()[kept].sum())))
    losses = [f"{what}: {count}" for what, count in found if count]
    if form in (*_LINES, "parquet") and run.task is not None:
        losses.append(f"the task {run.task}")
    if form in _LINES and one_word_of(run.name) != run.name:
        losses.append(f"the name {run.name!r}, written as {one_word_of(run.name)!r}")
    return losses


def judgement_losses(judgements: Judgements, form: str) -> list[str]:
    """What of the judgements is not in the file, each as ``what: how many``."""
    if form == "jsonl":
        return []
    found = [("quotes", 0 if judgements.quotes is None else judgements.quotes["quote"].count())]
    if judgements.grade is not None:
        other = (judgements.grade != 1) & (judgements.grade > 0)
        found.append(("grades other than 1", int(other.sum())))
    unnamed = form in FOLDER_FORMATS and judgements.places is None
    if form == "trec" or unnamed:
        found += [
            ("passages", len(judgements.start)),
            ("best entry points", int((judgements.bep >= 0).sum())),
        ]
    if form not in FOLDER_FORMATS:
        tables = (("elements", judgements.elements), ("passages by XPath", judgements.places))
        found += [(what, 0 if table is None else len(table)) for what, table in tables]
        found.append(("names of assessors", len(judgements.assessors)))
    if form != "fol":
        found.append(("lengths of documents", int((judgements.length >= 0).sum())))
    return [f"{what}: {count}" for what, count in found if count]


def topic_losses(topics: Topics, form: str) -> list[str]:
    """What of the topics is not in the file, each as ``what: how many``."""
    if form != "trec":
        return []
    rows = [asdict(topic) for topic in topics]
    counts = {name: sum(row[name] is not None for row in rows) for name in (rows or [{}])[0]}
    return [f"{name}: {n}" for name, n in counts.items() if n and name not in _TREC_TOPIC]
