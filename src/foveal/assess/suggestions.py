"""Suggestions: highlights that a run or a model proposes, and what assessors decide about them."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

from foveal.assess.actions import Decision
from foveal.assess.exporting import describe_misquotes, relevant_spans
from foveal.assess.store import Campaign
from foveal.collection.placement import place_judgements
from foveal.errors import InputError, Problem
from foveal.model import Judgements

DECISIONS = ("accept", "adjust", "reject", "undecided")


def suggest(
    campaign: Campaign,
    judged: Judgements,
    by: str,
    *,
    assessors: Collection[str] = (),
    replace: bool = False,
) -> dict[str, int]:
    """Suggest the relevant text of judgements to assessors; nothing is stored if any is wrong.

    Parameters
    ----------
    campaign : Campaign
    judged : Judgements
        Its assessors, or else the name of the file, name the source of each suggestion.
    by : str
        The user whom the log names.
    assessors : collection of str
        Show the suggestions to these only; by default to all.
    replace : bool
        Take back all earlier suggestions. Decisions stay.

    Returns
    -------
    dict
        Numbers of ``passages`` and ``documents``, and of judgements left out because their topic
        is not in the campaign (``unknown_topic``).
    """
    path = judged.sources[0].path
    if campaign.procedure == "2003":
        text = "cannot be suggested; the campaign grades elements (2003) and has no highlights"
        raise InputError.at("campaign.procedure", path, None, text)
    placed = place_judgements(judged, campaign.collection)
    if not placed.has_text:
        text = "has no highlighted text to suggest"
        raise InputError.at("campaign.procedure", path, None, text)
    lengths = campaign.collection.lengths(placed.doc)
    rows, problems = [], list[Problem]()
    counts = {"passages": 0, "documents": 0, "unknown_topic": 0}
    for row in range(len(placed)):
        topic, doc = placed.topics[placed.topic[row]], str(placed.doc[row])
        if topic not in campaign.topics:
            counts["unknown_topic"] += 1
            continue
        if lengths[row] < 0:
            message = f"document {doc!r} is not in the collection"
            problems.append(placed.problem("collection.unknown_document", row, message))
            continue
        if placed.quotes is not None:
            problems += (
                placed.problem("judgements.quote", row, message)
                for message in describe_misquotes(placed, row, campaign.document(doc))
            )
        spans = relevant_spans(placed, row)
        source = None if placed.assessor is None else placed.assessor[row]
        rows.append((topic, doc, source or Path(path).stem, spans))
        counts["passages"] += len(spans)
        counts["documents"] += bool(spans)
    if problems:
        raise InputError(problems)
    campaign.suggest(rows, by, assessors=assessors, replace=replace)
    return counts


def list_decisions(
    campaign: Campaign,
    *,
    assessors: Collection[str] | None = None,
    topics: Collection[str] | None = None,
    validated_only: bool = True,
) -> Iterator[dict[str, Any]]:
    """Yield what each assessor decided about each suggestion, in documents that were assessed.

    A decision has its suggestion (``start``, ``end`` and ``sources``), the text that is highlighted
    for it (``highlight``, or None) and the time of the action (``at``). Decisions that were undone
    or replaced by later ones are in the log only.
    """
    for assessor, topic, doc, _, state in campaign.assessments():
        if (
            (assessors is not None and assessor not in assessors)
            or (topics is not None and topic not in topics)
            or (validated_only and not state.validated)
        ):
            continue
        suggested = campaign.suggestions(assessor, topic, doc)
        decided = {(one.start, one.end): one for one in state.decisions}
        logged = campaign.actions(assessor, topic, doc)
        times = {action: at for action, at in logged if isinstance(action, Decision)}
        for start, end in sorted(suggested.keys() | decided.keys()):
            decision = decided.get((start, end))
            yield {
                "topic": topic,
                "doc": doc,
                "assessor": assessor,
                "start": start,
                "end": end,
                "sources": suggested.get((start, end), []),
                "decision": "undecided" if decision is None else decision.kind,
                "highlight": None if decision is None else decision.result,
                "at": None if decision is None else times[decision],
                "validated": state.validated,
            }
