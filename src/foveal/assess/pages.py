"""The pages of the server; only the content of the article page comes from the API."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import Any
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import Response

from foveal.assess.accounts import FEWEST
from foveal.assess.adjudication import Case, cases
from foveal.assess.api import MOST_FOUND, query_text
from foveal.assess.organising import COMBINATIONS, EXPORTS, backup, export
from foveal.assess.procedure import relevant
from foveal.assess.site import CONDITIONS, Condition, Endpoint, Site, Visit
from foveal.assess.store import FINAL, CollectionDocument
from foveal.errors import UsageError

__all__ = ["ENDPOINTS"]

_VIEWED = 12
"""Number of documents in the list of recent ones."""
_BROWSED = 50
_LOGGED = 100
_MOST_DETAILS = 160
"""Largest number of characters shown for an entry of the log."""


# -- assessors ------------------------------------------------------------------------------------


def _home(site: Site, visit: Visit, _: Request) -> Response:
    rows = {row.topic: row for row in site.campaign.progress() if row.assessor == visit.name}
    topics = [rows[topic] for topic in site.campaign.assigned(visit.name)]
    # Topics in progress go first.
    waiting = sorted(
        (row for row in topics if row.validated < row.pooled), key=lambda r: not r.seen
    )
    return site.render(
        "home.html",
        visit,
        here="home",
        topics=topics,
        titles={topic.id: topic.title or "" for topic in site.campaign.topics},
        next=waiting[0] if waiting else None,
    )


def _pool(site: Site, visit: Visit, request: Request) -> Response:
    access = site.view(visit, request)
    campaign, known = site.campaign, site.conditions(access)
    documents: list[dict[str, Any]] = []
    for entry in campaign.pool(access.topic):
        added_by = entry.added_by or ""
        if added_by == access.assessor:
            added_by = "you"
        elif added_by and campaign.blind:
            added_by = "another assessor"
        documents.append(
            {
                **entry._asdict(),
                "runs": len({one["run"] for part in entry.support for one in part["runs"]}),
                "added_by": added_by,
                "state": known.get(entry.doc, CONDITIONS[0]),
                "href": site.document_url(access.topic, entry.doc),
            }
        )
    counted = Counter(one["state"].kind for one in documents)
    waiting = [one for one in documents if one["state"].kind not in ("relevant", "irrelevant")]
    viewed = campaign.viewed(access.assessor, access.topic)
    return site.render(
        "pool.html",
        visit,
        here="pool",
        topic=campaign.topics[access.topic],
        may_act=access.may_act,
        documents=documents,
        states=[(state.words, counted[state.kind]) for state in CONDITIONS if counted[state.kind]],
        next=waiting[0] if waiting else None,
        left=len(waiting),
        relevant=counted["relevant"] + counted["marked"],
        seconds=sum(one.seconds for one in viewed),
        cues=json.dumps(campaign.setting(access.assessor, access.topic, "cues", [])),
        viewed=[
            {
                **one._asdict(),
                "href": site.document_url(access.topic, one.doc),
                "state": known[one.doc],
            }
            for one in viewed[:_VIEWED]
        ],
    )


def _collection(site: Site, visit: Visit, request: Request) -> Response:
    """Show documents of the collection, found by search or browsing."""
    access = site.view(visit, request)
    given = request.query_params
    q, prefix = query_text(request, "q").strip(), query_text(request, "prefix")
    known, pooled = site.conditions(access), site.documents(access)
    more: dict[str, Any] | None = None
    if q:
        offset = int(given["offset"]) if re.fullmatch("[0-9]{1,6}", given.get("offset", "")) else 0
        found = site.campaign.search(q, MOST_FOUND, offset)
        if len(found) == MOST_FOUND:
            more = {"q": q, "offset": offset + MOST_FOUND}
    else:
        found = site.campaign.browse(prefix, given.get("after", ""), _BROWSED)
        if len(found) == _BROWSED:
            more = {"prefix": prefix, "after": found[-1].doc}
    return site.render(
        "collection.html",
        visit,
        here="collection",
        topic=site.campaign.topics[access.topic],
        may_act=access.may_act,
        q=q,
        prefix=prefix,
        found=[
            {
                "doc": one.doc,
                "title": one.title,
                "href": site.document_url(access.topic, one.doc),
                "snippet": list(_mark_words(one, q)),
                "state": known.get(one.doc, CONDITIONS[0]) if one.doc in pooled else None,
            }
            for one in found
        ],
        more=more and f"?{urlencode(more, errors='replace')}",
    )


def _mark_words(found: CollectionDocument, q: str) -> Iterator[tuple[str, bool]]:
    """Yield the pieces of a snippet, each with whether it is a word of the query."""
    words = re.findall(r"\w+", q)
    if not words or not found.snippet:
        yield found.snippet or found.title, False
        return
    pattern = re.compile("(" + "|".join(map(re.escape, words)) + ")", re.IGNORECASE)
    for i, part in enumerate(pattern.split(found.snippet)):
        if part:
            yield part, i % 2 == 1


def _article(site: Site, visit: Visit, request: Request) -> Response:
    """Render the frame of the article page; its script fetches the content."""
    site.view(visit, request)
    site.document(request.path_params["doc"])
    return site.render("article.html", visit, here="article")


# -- organisers -----------------------------------------------------------------------------------


def _organise(site: Site, visit: Visit, _: Request) -> Response:
    campaign, users = site.campaign, site.campaign.users()
    progress = campaign.progress()
    assigned = {
        (topic.id, name) for topic in campaign.topics for name in campaign.assessors(topic.id)
    }
    judging = {name for _, name in assigned} | {u.name for u in users if u.role == "assessor"}
    return site.render(
        "organise.html",
        visit,
        here="organise",
        campaign=campaign,
        pooled=sum(len(campaign.pool(topic.id)) for topic in campaign.topics),
        progress=progress,
        rows_of=Counter(row.topic for row in progress),
        assessors=sorted(judging),
        assigned=assigned,
    )


def _people(site: Site, visit: Visit, _: Request) -> Response:
    campaign = site.campaign
    return site.render(
        "people.html",
        visit,
        here="people",
        users=campaign.users(),
        topics_of={user.name: campaign.assigned(user.name) for user in campaign.users()},
        invited=campaign.invitations(),
        fewest=FEWEST,
    )


def _settings(site: Site, visit: Visit, _: Request) -> Response:
    return site.render(
        "campaign.html",
        visit,
        here="campaign",
        formats=EXPORTS,
        combinations=COMBINATIONS,
        names=[user.name for user in site.campaign.users()],
        topics=site.campaign.topics.ids,
        tokens=site.campaign.tokens(),
    )


def _agreement(site: Site, visit: Visit, _: Request) -> Response:
    from foveal.analysis.agreement import agreement
    from foveal.assess.exporting import judgements

    try:
        found = agreement(judgements(site.campaign))
    except UsageError:  # no document has two assessors yet
        problem = "No document of a topic was validated by two assessors yet."
        return site.render("agreement.html", visit, here="agreement", problem=problem, tables=[])
    together, tables = found.tables(), found.tables()
    for table, known in zip(found.tables(per_topic=True), together, strict=True):
        rows = tuple(row for row in table.rows if row not in known.rows)
        tables.append(replace(table, title=f"{table.title}, by topic", rows=rows, notes=()))
    problem = " ".join(found.notes)
    return site.render("agreement.html", visit, here="agreement", problem=problem, tables=tables)


def _adjudicate(site: Site, visit: Visit, _: Request) -> Response:
    every = cases(site.campaign)
    rows: list[dict[str, Any]] = [
        {
            "case": case,
            "title": site.campaign.document(case.doc).title,
            "href": site.document_url(case.topic, case.doc, final=True),
            "differ": case.differ,
            "state": _describe_decision(case, site.campaign.procedure),
        }
        for case in every
        if len(case.states) > 1
    ]
    decided = ("relevant", "irrelevant")
    rows.sort(key=lambda row: (not row["differ"], row["state"].kind in decided))  # open ones first
    waiting = [row for row in rows if row["differ"] and row["state"].kind not in decided]
    return site.render(
        "adjudicate.html",
        visit,
        here="adjudicate",
        rows=rows,
        next=waiting[0] if waiting else None,
        open=len(waiting),
        differ=sum(bool(row["differ"]) for row in rows),
        agreed=sum(case.final is None and case.complete and not case.differ for case in every),
    )


def _describe_decision(case: Case, procedure: str) -> Condition:
    """Return the progress of the adjudication of a case."""
    if case.final is None:
        return Condition("open", "open") if case.differ else Condition("seen", "agreed so far")
    if not case.final.validated:
        return Condition("marked", "begun")
    if relevant(procedure, case.final):
        return Condition("relevant", "relevant")
    return Condition("irrelevant", "not relevant")


def _log(site: Site, visit: Visit, request: Request) -> Response:
    given, campaign = request.query_params, site.campaign
    of = "events" if given.get("of") == "events" else "actions"
    assessor, topic = given.get("assessor") or None, given.get("topic") or None
    before = int(given["before"]) if re.fullmatch("[0-9]{1,15}", given.get("before", "")) else None
    rows = campaign.reading().execute(
        f"SELECT * FROM {of} "  # noqa: S608 - one of two constants
        "WHERE (:assessor IS NULL OR assessor = :assessor) AND (:topic IS NULL OR topic = :topic) "
        "AND (:before IS NULL OR id < :before) ORDER BY id DESC LIMIT :most",
        {"assessor": assessor, "topic": topic, "before": before, "most": _LOGGED},
    )
    found = [
        {"actor": None, **dict(row), "details": _format_details(row["payload"])}
        for row in rows.fetchall()
    ]
    query = {"assessor": assessor or "", "topic": topic or "", "of": of}
    more = {**query, "before": found[-1]["id"]} if len(found) == _LOGGED else None
    return site.render(
        "log.html",
        visit,
        here="log",
        names=[*(user.name for user in campaign.users()), FINAL],
        topics=campaign.topics.ids,
        assessor=assessor,
        topic=topic,
        of=of,
        rows=found,
        more=more and f"?{urlencode(more, errors='replace')}",
    )


def _format_details(payload: str) -> str:
    """Format an entry of the log, cut to a fixed length."""
    data = json.loads(payload)
    data.pop("kind", None)
    words = ", ".join(
        f"{key} {json.dumps(value, ensure_ascii=False)}" for key, value in data.items()
    )
    return words if len(words) <= _MOST_DETAILS else words[: _MOST_DETAILS - 1] + "…"


ENDPOINTS = (
    Endpoint("GET", "/", _home),
    Endpoint("GET", "/topics/{topic}", _pool),
    Endpoint("GET", "/topics/{topic}/collection", _collection),
    Endpoint("GET", "/topics/{topic}/documents/{doc:path}", _article),
    Endpoint("GET", "/organise", _organise, "organiser"),
    Endpoint("GET", "/organise/people", _people, "organiser"),
    Endpoint("GET", "/organise/campaign", _settings, "organiser"),
    Endpoint("GET", "/organise/export", export, "organiser"),
    Endpoint("GET", "/organise/backup", backup, "organiser"),
    Endpoint("GET", "/organise/agreement", _agreement, "organiser"),
    Endpoint("GET", "/organise/adjudicate", _adjudicate, "organiser"),
    Endpoint("GET", "/organise/log", _log, "organiser"),
)
