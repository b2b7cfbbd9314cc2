"""Assessments as judgements, judgements as assessments, and judgements as suggestions."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any
from uuid import UUID

import numpy as np
import polars as pl

from foveal.assess.actions import Decision, RefusedError, Replace, Spans, State, add_span
from foveal.assess.documents import AssessedDocument
from foveal.assess.people import FINAL
from foveal.assess.procedure import (
    GRADES,
    infer_grades,
    is_relevant,
    mark_elements_to_grade,
    refuse,
)
from foveal.assess.store import Campaign
from foveal.collection import Collection
from foveal.collection.placement import place_judgements
from foveal.errors import InputError, Problem, UsageError
from foveal.evaluation.conversion import derive_elements, name_passages
from foveal.formats import find_format, write_judgements
from foveal.formats.graded_elements import ELEMENT_COLUMNS
from foveal.formats.xpaths import canonical_paths
from foveal.model import Judgements, Provenance
from foveal.spans import Coverage

_AROUND = 32
"""Characters kept before and after a quotation, to find it in a changed text."""
_WITH_PASSAGES = ("inex2005", "inex2006")
_ROW = {
    **dict.fromkeys(("topic", "doc", "assessor"), pl.String),
    **dict.fromkeys(("length", "bep", "line"), pl.Int64),
    "relevant": pl.Boolean,
}
_QUOTES = dict.fromkeys(("quote", "prefix", "suffix"), pl.String)


def judgements(
    campaign: Campaign,
    *,
    assessors: str | Iterable[str] | None = None,
    validated_only: bool = True,
    topics: Iterable[str] | None = None,
) -> Judgements:
    """Return the assessments of a campaign as judgements, separate for each assessor.

    Parameters
    ----------
    campaign : Campaign
    assessors : str or iterable of str, optional
        Assessors to export; `FINAL` is the adjudicated set. By default all but `FINAL`.
    validated_only : bool
        Leave out assessments that are not validated.
    topics : iterable of str, optional
        Topics to export; by default all.
    """
    procedure = campaign.procedure
    has_text = procedure != "2003"
    chosen: list[tuple[str, str, State]] = []
    rows, flat, counts = [], list[tuple[int, int]](), list[int]()
    quotes: list[tuple[str, str, str]] = []
    for assessor, topic, doc, state in _choose(
        campaign, assessors, topics, validated_only=validated_only
    ):
        chosen.append((topic, doc, state))
        document = campaign.document(doc)
        text, spans = document.text, state.spans if has_text else ()
        flat += spans
        counts.append(len(spans))
        for start, end in spans:
            before = text[max(start - _AROUND, 0) : start]
            quotes.append((text[start:end], before, text[end : end + _AROUND]))
        # An entry point counts only with highlighted text.
        bep = state.bep if spans else None
        found = is_relevant(procedure, state)
        rows.append((topic, doc, assessor, document.length, bep, len(chosen), found))
    pairs = np.array(flat, dtype=np.int64).reshape(-1, 2)
    return Judgements.from_rows(
        pl.DataFrame(rows, schema=_ROW, orient="row"),
        np.array(counts, dtype=np.int64),
        pairs[:, 0].copy(),
        pairs[:, 1].copy(),
        source=Provenance(str(campaign.path)),
        has_text=has_text,
        quotes=pl.DataFrame(quotes, schema=_QUOTES, orient="row") if quotes else None,
        elements=_elements(campaign, chosen),
        header={"scale": procedure, "whitespace": campaign.collection.whitespace},
    )


def _choose(
    campaign: Campaign,
    assessors: str | Iterable[str] | None,
    topics: Iterable[str] | None,
    *,
    validated_only: bool,
) -> Iterator[tuple[str, str, str, State]]:
    """Yield assessor, topic, document and state of the assessments that are asked for."""
    given = (assessors,) if isinstance(assessors, str) else assessors
    whose = None if given is None else frozenset(given)
    which = frozenset(campaign.topics.ids if topics is None else topics)
    for assessor, topic, doc, _, state in campaign.assessments():
        wanted = assessor != FINAL if whose is None else assessor in whose
        if wanted and topic in which and (state.validated or not validated_only):
            yield assessor, topic, doc, state


def _elements(campaign: Campaign, chosen: Sequence[tuple[str, str, State]]) -> pl.DataFrame | None:
    """Return the elements with given or inferred grades; None in 2006."""
    wanted = GRADES[campaign.procedure]
    if not wanted:
        return None
    rows: list[dict[str, Any]] = []
    for number, (topic, doc, state) in enumerate(chosen):
        elements = campaign.elements(doc)
        spans = np.array(state.spans, dtype=np.int64).reshape(-1, 2)
        size = elements.end - elements.start
        rsize = Coverage(spans[:, 0], spans[:, 1]).within(elements.start, elements.end)
        pooled = frozenset(campaign.list_pooled(topic, doc) if campaign.procedure == "2003" else ())
        for path, grade in infer_grades(campaign.procedure, state, elements).items():
            if set(grade) != set(wanted):
                continue  # only some of its grades are known
            one: dict[str, Any] = {"row": number, "xpath": path, **grade}
            if campaign.procedure == "2003":
                one["inpool"] = "yes" if path in pooled else "no"
            else:
                at = elements.number[path]
                one |= {"size": int(size[at]), "rsize": int(rsize[at])}
            one["inferred"] = "no" if path in state.grades else "yes"
            rows.append(one)
    schema: dict[str, type[pl.DataType]] = {"row": pl.Int64, **ELEMENT_COLUMNS}
    if not rows:
        return None
    frame = pl.DataFrame(rows, schema=schema)
    return frame.select(name for name in schema if frame[name].null_count() < len(frame))


def add_format_data(found: Judgements, collection: Collection, form: str) -> Judgements:
    """Add what an INEX format needs: sizes of elements, XPaths of passages."""
    if found.elements is None and found.has_text and form.startswith("inex"):
        found = derive_elements(found, collection)
    return name_passages(found, collection) if form in _WITH_PASSAGES else found


def check_known(campaign: Campaign, assessors: Iterable[str], topics: Iterable[str]) -> None:
    """Raise UsageError if an assessor or a topic is not of the campaign."""
    known = [user.name for user in campaign.users()]
    for name in assessors:
        if name not in known:
            raise UsageError(f"no user {name!r} in the campaign ({', '.join(known) or 'nobody'})")
    for topic in topics:
        if topic not in campaign.topics:
            raise UsageError(f"no topic {topic!r} in the campaign")


def export_judgements(
    campaign: Campaign,
    target: str | Path,
    form: str,
    *,
    assessors: Sequence[str] = (),
    topics: Sequence[str] = (),
    final: bool = False,
    combine: str | None = None,
    everything: bool = False,
) -> tuple[Judgements, list[str]]:
    """Write assessments as judgements; return them, and warnings about what was left out.

    Parameters
    ----------
    campaign : Campaign
    target : str or path
        File to write, or folder for the formats of INEX; ``-`` for standard output.
    form : str
        The format.
    assessors, topics : sequence of str
        What to export; by default the assessments of all, separate for each assessor.
    final : bool
        Export the adjudicated assessments.
    combine : str, optional
        Combine assessors: ``"union"``, ``"majority"`` or ``"intersection"``.
    everything : bool
        Export assessments that are not validated, too.
    """
    if final and assessors:
        raise UsageError("--final excludes --assessor; give one of them")
    check_known(campaign, assessors, topics)
    found = judgements(
        campaign,
        assessors=FINAL if final else assessors or None,
        validated_only=not everything,
        topics=topics or None,
    )
    if not len(found):
        what = "assessed" if everything else "validated (--all takes the rest, too)"
        text = f"there is nothing to export: no document is {what}"
        raise InputError.at("campaign.empty", str(campaign.path), None, text)
    if combine is not None:
        found = found.combined(combine)
    elif form in ("fol", "trec") and found.several_assessors:  # which name no assessor
        raise UsageError(
            f"{form} holds one judgement per document, and several people assessed some; choose "
            "an assessor (--assessor), the adjudicated assessments (--final) or --combine"
        )
    found = add_format_data(found, campaign.collection, form)
    write_judgements(found, target, form)
    losses = find_format(form, "judgements").list_losses(found)
    return found, [*found.notes, *(f"not kept in {form}: {loss}" for loss in losses)]


# -- import ---------------------------------------------------------------------------------------


def import_judgements(
    campaign: Campaign,
    judged: Judgements,
    assessor: str,
    *,
    replace: bool = False,
    add: bool = False,
    progress: Callable[[], None] | None = None,
) -> dict[str, int]:
    """Import judgements as the assessments of one assessor.

    All judgements are checked before the first is imported. A second import of the same judgements
    changes nothing.

    Parameters
    ----------
    campaign : Campaign
    judged : Judgements
        One row for each topic and document.
    assessor : str
        The assessor who gets the assessments.
    replace : bool
        Replace assessments that exist already; their history stays.
    add : bool
        Add documents outside the pools to the pools of all assessors.
    progress : callable, optional
        Called after each document.

    Returns
    -------
    dict
        Numbers of documents: ``imported``, ``unchanged`` (the assessment is the same), ``kept``
        (another assessment exists), ``outside`` (in no pool), ``validated`` (imported and complete
        by the rules of the campaign) and ``added`` to a pool.
    """
    if assessor != FINAL and campaign.user(assessor) is None:
        raise UsageError(f"no user {assessor!r} in the campaign")
    if judged.several_assessors:
        raise UsageError(
            f"several assessors judged the same documents ({', '.join(judged.assessors)}); "
            "choose one of them"
        )
    lengths = campaign.collection.lengths(judged.doc)
    problems: list[Problem] = []
    for row in range(len(judged)):
        topic = judged.topics[judged.topic[row]]
        if topic not in campaign.topics:
            message = f"topic {topic!r} is not in the campaign"
            problems.append(judged.problem("campaign.unknown_topic", row, message))
        if lengths[row] < 0:
            message = f"document {judged.doc[row]!r} is not in the collection"
            problems.append(judged.problem("collection.unknown_document", row, message))
    if problems:
        raise InputError(problems)
    placed = place_judgements(judged, campaign.collection)
    if campaign.procedure == "2003":
        lacks = (placed.header or {}).get("scale") != "2003"
        text = "has no grades of 2003; the campaign grades elements (2003)"
    else:
        lacks = not placed.has_text
        text = f"has no highlighted text; the campaign ({campaign.procedure}) needs it"
    if lacks and bool(placed.relevant.any()):
        raise InputError.at("campaign.procedure", placed.sources[0].path, None, text)
    states = _make_states(campaign, placed)
    counts = Counter[str]()
    for topic, doc, state in states:
        if add or campaign.is_pooled(topic, doc):
            version, present = campaign.state(assessor, topic, doc)
            if version and present == state:
                counts["unchanged"] += 1
            elif version and not replace:
                counts["kept"] += 1
            else:
                counts["added"] += campaign.add_document(topic, doc, assessor)
                # Named after its content only. Names from pages have no colon.
                content = repr((assessor, topic, doc, version, sorted(state.to_json().items())))
                digest = hashlib.sha256(content.encode("utf-8", "backslashreplace")).digest()
                name = f"imported:{UUID(bytes=digest[:16])}"
                campaign.set_state(assessor, topic, doc, name, version, state)
                counts["imported"] += 1
                counts["validated"] += state.validated
        else:
            counts["outside"] += 1
        if progress is not None:
            progress()
    names = ("imported", "unchanged", "kept", "outside", "validated", "added")
    return {name: counts[name] for name in names}


def _make_states(campaign: Campaign, judged: Judgements) -> list[tuple[str, str, State]]:
    """Return topic, document and state of each row, or raise InputError with all problems.

    A state that is complete by the rules of the campaign is validated.
    """
    grades = _read_grades(campaign, judged)
    found: list[tuple[str, str, State]] = []
    problems: list[Problem] = []
    for row in range(len(judged)):
        topic, doc = judged.topics[judged.topic[row]], str(judged.doc[row])
        document = campaign.document(doc)
        problems += (
            judged.problem("judgements.quote", row, message)
            for message in describe_misquotes(judged, row, document)
        )
        spans = relevant_spans(judged, row)
        bep = int(judged.bep[row]) if spans and judged.bep[row] >= 0 else None
        state = State(spans, bep)
        graded = grades.get(row, {})
        if campaign.procedure == "2005":
            # Only elements with highlighted text are graded; all others count as 0.
            elements = campaign.elements(doc)
            live, number = mark_elements_to_grade("2005", state, elements), elements.number
            graded = {p: g for p, g in graded.items() if p not in number or live[number[p]]}
        state = State(spans, bep, graded)
        try:
            state.check(document.length)
            refuse(campaign.procedure, State(), Replace(state), campaign.elements(doc))
        except RefusedError as error:
            problems.append(judged.problem("campaign.refused", row, f"document {doc!r}: {error}"))
            continue
        complete = not campaign.list_missing(topic, doc, state)
        found.append((topic, doc, State(spans, bep, graded, validated=complete)))
    if problems:
        raise InputError(problems)
    return found


def relevant_spans(judged: Judgements, row: int) -> Spans:
    """Return the relevant spans of a row of judgements, merged where they touch."""
    spans: Spans = ()
    for k in range(int(judged.bounds[row]), int(judged.bounds[row + 1])):
        if judged.end[k] > judged.start[k] and (judged.grade is None or judged.grade[k] > 0):
            spans = add_span(spans, int(judged.start[k]), int(judged.end[k]))
    return spans


def _read_grades(campaign: Campaign, judged: Judgements) -> dict[int, dict[str, dict[str, str]]]:
    """Return the graded elements of each row, without inferred grades."""
    wanted = GRADES[campaign.procedure]
    elements = judged.elements
    if not wanted or elements is None or not set(wanted) <= set(elements.columns):
        return {}
    rows: dict[int, dict[str, dict[str, str]]] = {}
    given = elements.with_columns(path=canonical_paths(elements["xpath"]))
    for one in given.iter_rows(named=True):
        grade = {name: one[name] for name in wanted}
        if None not in grade.values() and one.get("inferred") != "yes":
            rows.setdefault(one["row"], {})[one["path"]] = grade
    return rows


def describe_misquotes(judged: Judgements, row: int, document: AssessedDocument) -> Iterator[str]:
    """Describe each quotation that differs from the text at its place."""
    if judged.quotes is None:
        return
    for k in range(int(judged.bounds[row]), int(judged.bounds[row + 1])):
        quote, start, end = judged.quotes["quote"][k], int(judged.start[k]), int(judged.end[k])
        if quote is not None and document.text[start:end] != quote:
            yield (
                f"{quote!r:.60} is quoted from {start} to {end} of document {document.name!r}, "
                f"where the text is {document.text[start:end]!r:.60}"
            )


# -- suggestions -----------------------------------------------------------------------------------

DECISIONS = ("accept", "adjust", "reject", "undecided")


def suggest(
    campaign: Campaign,
    judged: Judgements,
    by: str,
    *,
    assessors: Iterable[str] = (),
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
    assessors: Iterable[str] | None = None,
    topics: Iterable[str] | None = None,
    validated_only: bool = True,
) -> Iterator[dict[str, Any]]:
    """Yield what each assessor decided about each suggestion, in documents that were assessed.

    A decision has its suggestion (``start``, ``end`` and ``sources``), the text that is highlighted
    for it (``highlight``, or None) and the time of the action (``at``). Decisions that were undone
    or replaced by later ones are in the log only.
    """
    for assessor, topic, doc, state in _choose(
        campaign, assessors, topics, validated_only=validated_only
    ):
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
