"""The pages of the server; only the content of the article page comes from the API."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import Response

from foveal.assess.accounts import FEWEST
from foveal.assess.adjudication import Case, cases
from foveal.assess.api import MOST_FOUND
from foveal.assess.messages import text
from foveal.assess.procedure import relevant
from foveal.assess.security import Refusal
from foveal.assess.site import (
    CONDITIONS,
    Access,
    Condition,
    Site,
    Visit,
    condition,
    document_path,
    quoted,
)
from foveal.assess.store import FINAL, CollectionDocument, PoolEntry
from foveal.errors import UsageError

__all__ = ["PAGES", "clock"]

_VIEWED = 12
"""Number of documents in the list of recent ones."""
_BROWSED = 50
_LOGGED = 100
_MOST_DETAILS = 160
"""Largest number of characters shown for an entry of the log."""


class Next(NamedTuple):
    """The suggested next step: its address, the label of its button, and the reason."""

    href: str
    words: str
    why: str = ""


def clock(seconds: float) -> str:
    """Format seconds of work as minutes and hours.

    >>> clock(0), clock(59), clock(125), clock(7260)
    ('', '1 min', '2 min', '2 h 01 min')
    """
    minutes = round(seconds / 60)
    if not seconds:
        return ""
    return f"{minutes // 60} h {minutes % 60:02} min" if minutes >= 60 else f"{max(1, minutes)} min"


# -- assessors ------------------------------------------------------------------------------------


def _home(site: Site, visit: Visit, _: Request) -> Response:
    campaign, name = site.campaign, visit.user.name
    done = {row.topic: row for row in campaign.progress() if row.assessor == name}
    topics = []
    following = None
    for topic in campaign.assigned(name):
        row, title = done[topic], campaign.topics[topic].title or ""
        left, pooled = site.left(Access(topic, name, may_act=True))
        begun = row.seen > 0
        topics.append(
            {
                "id": topic,
                "title": title,
                "pooled": pooled,
                "validated": pooled - left,
                "relevant": row.relevant,
                "left": left,
                "time": clock(row.seconds),
            }
        )
        # Topics in progress go first.
        if left and (following is None or (begun and not following[0])):
            words = f"{'Go on with' if begun else 'Begin with'} topic {topic}"
            why = f"{title}: {left} of {pooled} documents left" if title else f"{left} left"
            following = (begun, Next(f"/topics/{quoted(topic)}", words, why))
    return site.render(
        "home.html", visit, here="home", topics=topics, next=following and following[1]
    )


def _states(site: Site, access: Access) -> Mapping[str, Condition]:
    """Return the progress of an assessor on the documents of a topic."""
    states = site.campaign.states(access.assessor, access.topic)
    viewed = {one.doc for one in site.campaign.viewed(access.assessor, access.topic)}
    return {doc: condition(states.get(doc), viewed=doc in viewed) for doc in (*states, *viewed)}


def _name_adder(site: Site, access: Access, entry: PoolEntry) -> str:
    """Name the user who added a document, unless assessors work blind."""
    if entry.added_by is None:
        return ""
    if entry.added_by == access.assessor:
        return "you"
    return "another assessor" if site.campaign.blind else entry.added_by


def _pool(site: Site, visit: Visit, request: Request) -> Response:
    access = site.access(visit, request)
    campaign, topic = site.campaign, site.campaign.topics[access.topic]
    known = _states(site, access)
    documents: list[dict[str, Any]] = []
    for entry in campaign.pool(access.topic):
        runs = {one["run"] for part in entry.support for one in part["runs"]}
        documents.append(
            {
                "doc": entry.doc,
                "title": entry.title,
                "priority": entry.priority,
                "length": entry.length,
                "runs": len(runs),
                "added_by": _name_adder(site, access, entry),
                "state": known.get(entry.doc, CONDITIONS[0]),
                "href": document_path(access.topic, entry.doc),
            }
        )
    counted = Counter(one["state"] for one in documents)
    waiting = [one for one in documents if one["state"].kind not in ("relevant", "irrelevant")]
    following = None
    if waiting:
        begun = waiting[0]["state"].kind != "new"
        words = f"{'Go on with' if begun else 'Judge'} “{waiting[0]['title'] or waiting[0]['doc']}”"
        following = Next(waiting[0]["href"], words)
    viewed = campaign.viewed(access.assessor, access.topic)
    return site.render(
        "pool.html",
        visit,
        here="pool",
        topic=topic,
        may_act=access.may_act,
        documents=documents,
        states=[(state.words, counted[state]) for state in CONDITIONS if counted[state]],
        next=following,
        counts={
            "pooled": len(documents),
            "validated": len(documents) - len(waiting),
            "left": len(waiting),
            "relevant": sum(one["state"].kind in ("relevant", "marked") for one in documents),
        },
        time=clock(sum(one.seconds for one in viewed)) or "no time yet",
        cues=json.dumps(campaign.setting(access.assessor, access.topic, "cues", [])),
        viewed=[
            {
                "doc": one.doc,
                "title": one.title,
                "href": document_path(access.topic, one.doc),
                "state": known[one.doc],
                "at": one.last,
                "time": clock(one.seconds),
            }
            for one in viewed[:_VIEWED]
        ],
    )


def _collection(site: Site, visit: Visit, request: Request) -> Response:
    """Show documents of the collection, found by search or browsing."""
    access = site.access(visit, request)
    given = request.query_params
    q = text("q", given.get("q", ""), 400).strip()
    prefix, after = text("prefix", given.get("prefix", ""), 400), given.get("after", "")
    known, pooled = _states(site, access), site.documents(access)
    here, more = f"/topics/{quoted(access.topic)}/collection", None
    if q:
        offset = int(given["offset"]) if re.fullmatch("[0-9]{1,6}", given.get("offset", "")) else 0
        found = site.campaign.search(q, MOST_FOUND, offset)
        heading = f"Documents with “{q}”"
        if len(found) == MOST_FOUND:
            more = {"q": q, "offset": offset + MOST_FOUND}
    else:
        found = site.campaign.browse(prefix, after, _BROWSED)
        heading = f"Documents whose names begin with “{prefix}”" if prefix else "All documents"
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
        heading=heading,
        found=[
            {
                "doc": one.doc,
                "title": one.title,
                "href": document_path(access.topic, one.doc),
                "snippet": list(_mark_words(one, q)),
                "state": known.get(one.doc, CONDITIONS[0]) if one.doc in pooled else None,
            }
            for one in found
        ],
        more=more and f"{here}?{urlencode(more, errors='replace')}",
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
    access, doc = site.access(visit, request), request.path_params["doc"]
    try:
        document = site.campaign.document(doc)
    except KeyError:
        raise Refusal(404, "document", "There is no such document.") from None
    suffix = f"?as={FINAL}" if access.adjudicates else ""
    return site.render(
        "article.html",
        visit,
        here="article",
        topic=site.campaign.topics[access.topic],
        doc=doc,
        title=document.title,
        assessor=access.assessor,
        may_act=access.may_act,
        adjudicates=access.adjudicates,
        procedure=site.campaign.procedure,
        api=f"/api/topics/{quoted(access.topic)}/documents/{quoted(doc)}{suffix}",
        up="/organise/adjudicate" if access.adjudicates else f"/topics/{quoted(access.topic)}",
    )


# -- organisers -----------------------------------------------------------------------------------


def _organise(site: Site, visit: Visit, _: Request) -> Response:
    site.organiser(visit)
    campaign = site.campaign
    users = campaign.users()
    progress = campaign.progress()
    rows_of = Counter(row.topic for row in progress)
    assigned = {
        (topic.id, name) for topic in campaign.topics for name in campaign.assessors(topic.id)
    }
    judging = {name for _, name in assigned} | {u.name for u in users if u.role == "assessor"}
    pooled = campaign.reading().execute("SELECT count(*) FROM pool").fetchone()[0]
    return site.render(
        "organise.html",
        visit,
        here="organise",
        campaign=campaign.name,
        procedure=campaign.procedure,
        blind=campaign.blind,
        pooled=pooled,
        topics=[{"id": t.id, "title": t.title or ""} for t in campaign.topics],
        progress=[
            {
                **row._asdict(),
                "of_topic": rows_of.pop(row.topic, 0),  # only in the first row of a topic
                "title": campaign.topics[row.topic].title or "",
                "time": clock(row.seconds),
            }
            for row in progress
        ],
        assessors=sorted(judging),
        assigned=assigned,
        users=[
            {"name": user.name, "role": user.role, "password": user.password is not None}
            for user in users
        ],
        fewest=FEWEST,
    )


class Column(NamedTuple):
    """A column of a table: its heading and an explanation."""

    name: str
    explained: str = ""
    number: bool = True


_AGREEMENT = {
    "documents": Column("Documents", "validated by both"),
    "kappa": Column("Kappa", "Cohen's kappa of characters"),
    "f1": Column("F1", "of highlighted characters"),
    "alpha": Column("Alpha", "Krippendorff's alpha of passages"),
    "doc_kappa": Column("Kappa of documents", "relevant or not"),
    "bep_median": Column("Entry points apart", "median distance in characters"),
    "grade_kappa": Column("Kappa of grades", "weighted"),
}


def _agreement(site: Site, visit: Visit, _: Request) -> Response:
    from foveal.analysis.agreement import agreement
    from foveal.assess.exporting import judgements

    site.organiser(visit)
    try:
        found = agreement(judgements(site.campaign))
    except UsageError:  # no document has two assessors yet
        problem = "No document of a topic was validated by two assessors yet."
        return site.render("agreement.html", visit, here="agreement", problem=problem, tables=[])
    rows = found.frame.to_dicts()
    shown = [
        name
        for name in _AGREEMENT
        if any(row[name] is not None and row[name] == row[name] for row in rows)
    ]
    if len(found.assessors) == 2:  # one pair only: leave out the rows of all pairs
        rows = [row for row in rows if row["first"] is not None]
    order = {topic: i for i, topic in enumerate(found.topics)}
    per_topic = [row for row in rows if row["over"] == "topic"]
    per_topic.sort(key=lambda row: order[row["topic"]])
    pooled = [row for row in rows if row["over"] == "pooled"]
    tables = [
        {"title": "Pairs of assessors, all topics together", **_table(("Pair",), pooled, shown)},
        {"title": "Topics", **_table(("Topic", "Pair"), per_topic, shown)},
    ]
    problem = " ".join(found.notes)
    return site.render("agreement.html", visit, here="agreement", problem=problem, tables=tables)


def _table(
    heads: tuple[str, ...], rows: Iterable[dict[str, Any]], shown: list[str]
) -> dict[str, Any]:
    """Return columns and rows of a table of agreement."""
    made = []
    for row in rows:
        pair = "all pairs" if row["first"] is None else f"{row['first']} and {row['second']}"
        head = [pair] if row["topic"] is None else [row["topic"], pair]
        made.append([*head, *(_format_figure(name, row[name]) for name in shown)])
    columns = [*(Column(h, number=False) for h in heads), *(_AGREEMENT[name] for name in shown)]
    return {"columns": columns, "rows": made}


def _format_figure(name: str, value: float | None) -> str:
    if value is None or value != value:  # noqa: PLR0124 - nan
        return ""
    if name == "bep_median":
        return f"{value:g}"  # the median of an even number of values may end in .5
    return f"{value:.0f}" if name == "documents" else f"{value:.3f}"


def _adjudicate(site: Site, visit: Visit, _: Request) -> Response:
    site.organiser(visit)
    every = cases(site.campaign)
    several = [case for case in every if len(case.states) > 1]
    several.sort(key=lambda case: (not case.differ, _is_decided(case)))  # open cases first
    waiting = [case for case in several if case.differ and not _is_decided(case)]
    rows = [
        {
            "topic": case.topic,
            "doc": case.doc,
            "title": site.campaign.document(case.doc).title,
            "href": document_path(case.topic, case.doc, final=True),
            "assessors": sorted(case.states),
            "differ": ", ".join(case.differ),
            "f1": f"{case.f1:.3f}",
            "state": _describe_decision(case, site.campaign.procedure),
        }
        for case in several
    ]
    following = None
    if waiting:
        title = rows[several.index(waiting[0])]["title"] or waiting[0].doc
        following = Next(
            document_path(waiting[0].topic, waiting[0].doc, final=True), f"Decide “{title}”"
        )
    return site.render(
        "adjudicate.html",
        visit,
        here="adjudicate",
        rows=rows,
        next=following,
        open=len(waiting),
        differ=sum(bool(case.differ) for case in several),
        agreed=sum(case.final is None and case.complete and not case.differ for case in every),
    )


def _is_decided(case: Case) -> bool:
    return case.final is not None and case.final.validated


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
    site.organiser(visit)
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
    more = None
    if len(found) == _LOGGED:
        query = {"assessor": assessor or "", "topic": topic or "", "of": of}
        more = "/organise/log?" + urlencode({**query, "before": found[-1]["id"]}, errors="replace")
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
        more=more,
    )


def _format_details(payload: str) -> str:
    """Format an entry of the log, cut to a fixed length."""
    data = json.loads(payload)
    data.pop("kind", None)
    words = ", ".join(
        f"{key} {json.dumps(value, ensure_ascii=False)}" for key, value in data.items()
    )
    return words if len(words) <= _MOST_DETAILS else words[: _MOST_DETAILS - 1] + "…"


PAGES = {
    "/": _home,
    "/topics/{topic}": _pool,
    "/topics/{topic}/collection": _collection,
    "/topics/{topic}/documents/{doc:path}": _article,
    "/organise": _organise,
    "/organise/agreement": _agreement,
    "/organise/adjudicate": _adjudicate,
    "/organise/log": _log,
}
"""The function that renders each address."""
