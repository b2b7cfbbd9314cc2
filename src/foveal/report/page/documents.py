"""Views of documents: relevant passages, results of runs, and the text, within a budget."""

from __future__ import annotations

import json
from itertools import groupby, zip_longest
from operator import itemgetter
from typing import Any

import polars as pl

from foveal.collection import SourceTexts
from foveal.collection.document_texts import TextSource
from foveal.errors import InputError
from foveal.model import Judgements

__all__ = ["document_views"]

_LONGEST = 100_000
"""Characters of the longest text shown: nobody reads a longer one in a page about runs."""

_ASSUMED = 5_000
"""Assumed length of a document whose length is unknown until its text is read."""

_WIDTH = 1.1
"""Expected bytes of a character; if there are more, the last texts are left out."""


def document_views(
    judgements: Judgements,
    returned: pl.DataFrame,
    texts: SourceTexts | TextSource | None,
    *,
    budget: int,
) -> dict[str, Any]:
    """Choose the documents worth looking at, topic by topic, within `budget` bytes.

    `returned` are results with topic, doc, run (its number), rank, start, end. Every topic gets its
    first document before any gets its second. Relevant documents come first, and among them those
    that more runs returned.
    """
    candidates = _list_candidates(judgements, returned)
    documents, _, sizes = judgements.documents(strict=False)
    known = {
        doc: size
        for doc, size in zip(documents.to_list(), sizes.tolist(), strict=True)
        if size >= 0
    }
    assumed = _ASSUMED if isinstance(texts, TextSource) else 0
    chosen: dict[str, list[dict[str, Any]]] = {topic: [] for topic in candidates}
    used = left = 0
    expected: dict[str, int] = {}
    """Expected length of the text of each document; 0 for no text."""
    ends: dict[str, int] = {}
    """The end of the last relevant passage of each document."""
    for level in zip_longest(*candidates.values()):
        for topic, view in zip(candidates, level, strict=True):
            if view is None:
                continue
            doc = view["doc"]
            text = known.get(doc, assumed) if texts is not None and doc not in expected else 0
            text = text if text <= _LONGEST else 0
            cost = len(json.dumps(view, separators=(",", ":"))) + int(_WIDTH * text)
            if used + cost > budget:
                left += 1
                continue
            used += cost
            expected[doc] = expected.get(doc, 0) or text
            ends[doc] = max([ends.get(doc, 0), *(end for _, end in view["spans"])])
            chosen[topic].append(view)
    room = budget - (used - int(_WIDTH * sum(expected.values())))
    asked = [doc for doc, length in expected.items() if length]
    shown: dict[str, str] = {}
    odd: list[str] = []
    if texts is not None and asked:
        found = _read_texts(texts, asked)
        for doc, text in found.items():
            if known.get(doc, len(text)) != len(text) or ends[doc] > len(text):
                odd.append(doc)
            elif len(text) <= _LONGEST:
                room -= len(text.encode()) + 5 * text.count("<")  # the page escapes it
                if room >= 0:
                    shown[doc] = text
        if len(odd) == len(asked):
            raise InputError.at(
                "unclassified",
                str(texts.source),
                None,
                f"document {odd[0]!r} has another length than the judgements or the index say; "
                "these are not the documents that were judged",
            )
    known |= {doc: len(text) for doc, text in shown.items()}
    return {
        "views": {topic: views for topic, views in chosen.items() if views},
        "texts": shown,
        "lengths": {doc: known[doc] for doc in expected if doc in known},
        "left_out": left,
        "without_text": len(expected) - len(shown),
        "notes": [f"texts of another length than judged, not shown: {', '.join(odd[:5])}"]
        if odd
        else [],
        "has_source": texts is not None,
    }


def _list_candidates(
    judgements: Judgements, returned: pl.DataFrame
) -> dict[str, list[dict[str, Any]]]:
    """Return the documents of each topic, the most interesting first."""
    views: dict[str, dict[str, dict[str, Any]]] = {topic: {} for topic in judgements.topics}
    for row, (code, doc) in enumerate(
        zip(judgements.topic.tolist(), judgements.doc.to_list(), strict=True)
    ):
        if judgements.relevant[row]:
            spans = [list(span) for span in judgements.passages(row)]
            bep = int(judgements.bep[row])
            view = {"doc": doc, "spans": spans, "bep": bep, "relevant": True, "results": []}
            views[judgements.topics[code]][doc] = view
    rows = returned.sort("topic", "doc", "rank", "run").select(
        "topic", "doc", "run", "rank", "start", "end"
    )
    for (topic, doc), results in groupby(rows.iter_rows(), key=itemgetter(0, 1)):
        other = {"doc": doc, "spans": [], "bep": -1, "relevant": False}
        views[topic].setdefault(doc, other)["results"] = [list(row[2:]) for row in results]
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


def _read_texts(texts: SourceTexts | TextSource, docs: list[str]) -> dict[str, str]:
    """Read the whole texts of documents."""
    if isinstance(texts, TextSource):
        found = {own.doc: own.text for own in texts.read(docs)}
    else:
        # The root element is the whole document.
        wanted = dict.fromkeys(docs, lambda xpath: xpath.count("/") == 1)
        found = {doc: text for doc, _, text in texts(wanted)}
    if not found:
        raise InputError.at(
            "unclassified",
            str(texts.source),
            None,
            f"holds no document of the report, such as {docs[0]!r}",
        )
    return found
