"""Views of documents: what is relevant, what runs returned, and the text, within a budget."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import zip_longest
from typing import Any

from foveal.collection import SourceTexts
from foveal.collection.document_texts import TextSource
from foveal.errors import InputError
from foveal.model import Judgements
from foveal.report.page.returned import Returned, rows_of

__all__ = ["document_views"]

_LONGEST = 100_000
"""Characters from which a text is left out: nobody reads it in a page about runs."""

_ASSUMED = 5_000
"""Characters assumed of a document whose length is not known until its text is read."""

_WIDTH = 1.1
"""Bytes that a character is expected to take; where they take more, the last texts are left out."""


def document_views(
    judgements: Judgements,
    found: Returned,
    texts: SourceTexts | TextSource | None,
    *,
    budget: int,
) -> dict[str, Any]:
    """The documents worth looking at, topic by topic, as many as fit into `budget` bytes.

    Every topic gets its first document before any gets its second. Relevant documents come before
    others, and those that more runs returned before those that fewer did.
    """
    candidates = _candidates(judgements, found)
    known = _lengths(judgements)
    assumed = _ASSUMED if isinstance(texts, TextSource) else 0
    chosen: dict[str, list[dict[str, Any]]] = {topic: [] for topic in candidates}
    used = left = 0
    named: dict[str, int] = {}
    for level in zip_longest(*candidates.values()):
        for topic, view in zip(candidates, level, strict=True):
            if view is None:
                continue
            doc = view["doc"]
            text = known.get(doc, assumed) if texts is not None and doc not in named else 0
            text = text if text <= _LONGEST else 0
            cost = len(json.dumps(view, separators=(",", ":"))) + int(_WIDTH * text)
            if used + cost > budget:
                left += 1
                continue
            used += cost
            named[doc] = named.get(doc, 0) or text
            chosen[topic].append(view)
    views = used - int(_WIDTH * sum(named.values()))
    reach = _reach(view for own in chosen.values() for view in own)
    shown, odd = _texts(texts, named, known, reach, room=budget - views)
    known |= {doc: len(text) for doc, text in shown.items()}
    return {
        "views": {topic: views for topic, views in chosen.items() if views},
        "texts": shown,
        "lengths": {doc: known[doc] for doc in named if doc in known},
        "left_out": left,
        "without_text": len(named) - len(shown),
        "notes": odd,
        "has_source": texts is not None,
    }


def _candidates(judgements: Judgements, found: Returned) -> dict[str, list[dict[str, Any]]]:
    """For each topic its documents, the most interesting first."""
    views: dict[str, dict[str, dict[str, Any]]] = {topic: {} for topic in judgements.topics}
    for row, (code, doc) in enumerate(
        zip(judgements.topic.tolist(), judgements.doc.to_list(), strict=True)
    ):
        if judgements.relevant[row]:
            spans = [list(span) for span in judgements.passages(row)]
            bep = int(judgements.bep[row])
            view = {"doc": doc, "spans": spans, "bep": bep, "relevant": True, "results": []}
            views[judgements.topics[code]][doc] = view
    for topic, doc, results in rows_of(found.results):
        other = {"doc": doc, "spans": [], "bep": -1, "relevant": False, "results": []}
        views[topic].setdefault(doc, other)["results"] = results
    return {
        topic: sorted(
            of_topic.values(),
            key=lambda view: (
                not view["relevant"],
                -len({result[0] for result in view["results"]}),
                view["doc"],
            ),
        )
        for topic, of_topic in views.items()
    }


def _lengths(judgements: Judgements) -> dict[str, int]:
    documents, _, length = judgements.documents(strict=False)
    pairs = zip(documents.to_list(), length.tolist(), strict=True)
    return {doc: size for doc, size in pairs if size >= 0}


def _reach(views: Iterable[dict[str, Any]]) -> dict[str, int]:
    """Return the end of the last relevant span of each document."""
    reach: dict[str, int] = {}
    for view in views:
        ends = [end for _, end in view["spans"]]
        reach[view["doc"]] = max([reach.get(view["doc"], 0), *ends])
    return reach


def _texts(
    texts: SourceTexts | TextSource | None,
    named: Mapping[str, int],
    known: Mapping[str, int],
    reach: Mapping[str, int],
    *,
    room: int,
) -> tuple[dict[str, str], list[str]]:
    """The texts of chosen documents, as far as the room goes and offsets fit them."""
    asked = [doc for doc, room in named.items() if room]
    if texts is None or not asked:
        return {}, []
    found = dict(_read(texts, asked))
    if not found:
        raise InputError.at(
            str(texts.source), None, f"holds no document of the report, such as {asked[0]!r}"
        )
    shown, odd = {}, []
    for doc, text in found.items():
        if known.get(doc, len(text)) != len(text) or reach[doc] > len(text):
            odd.append(doc)
        elif len(text) <= _LONGEST:
            room -= len(text.encode()) + 5 * text.count("<")  # which the page writes as an escape
            if room >= 0:
                shown[doc] = text
    if len(odd) == len(asked):
        raise InputError.at(
            str(texts.source),
            None,
            f"document {odd[0]!r} has another length than the judgements or the index say; these "
            "are not the documents that were judged",
        )
    notes = [f"texts of another length than judged, not shown: {', '.join(odd[:5])}"] if odd else []
    return shown, notes


def _read(texts: SourceTexts | TextSource, docs: Collection[str]) -> Iterator[tuple[str, str]]:
    """Yield documents and their whole texts."""
    if isinstance(texts, TextSource):
        yield from ((own.doc, own.text) for own in texts.read(docs))
    else:
        yield from ((doc, text) for doc, _, text in texts(dict.fromkeys(docs, _is_root)))


def _is_root(xpath: str) -> bool:
    return xpath.count("/") == 1
