"""What a collection, a topic set, judgements or a run hold, as the overview papers report it."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from foveal import spans
from foveal.collection import Collection
from foveal.measures.view import Judged
from foveal.model import Judgements, Run, Topics
from foveal.nexi import CAS, NexiError, parse, tags_of
from foveal.spans import Ints

__all__ = ["collection_statistics", "judgement_statistics", "run_statistics", "topic_statistics"]

Statistics = dict[str, Any]
_MOST_TAGS = 20


def _spread(values: Ints | npt.NDArray[np.float64]) -> dict[str, float]:
    """Mean, median and extremes."""
    if not len(values):
        return {}
    return {
        "mean": round(float(np.mean(values)), 3),
        "median": float(np.median(values)),
        "min": float(np.min(values)),
        "max": float(np.max(values)),
    }


def _most_common(counts: Counter[str]) -> dict[str, int]:
    return dict(counts.most_common(_MOST_TAGS))


def collection_statistics(collection: Collection) -> Statistics:
    """Articles, elements, depths and tags."""
    used = collection.path_counts()
    depth, tag = collection.path_depths(), collection.path_tags()
    elements = max(int(used.sum()), 1)
    counts: Counter[str] = Counter()
    for name, number in zip(tag, used.tolist(), strict=True):
        counts[name] += number
    return {
        "kind": "collection",
        "documents": len(collection),
        "elements": collection.elements,
        "elements per document": round(collection.elements / max(len(collection), 1), 3),
        "mean depth of elements": round(float((depth * used).sum()) / elements, 3),
        "distinct paths": len(used),
        "distinct tags": len(counts),
        "characters": int(collection.header["characters"]),
        "document length": _spread(collection.documents["length"].to_numpy()),
        "white space": collection.whitespace,
        "documents that failed": len(collection.header["failures"]),
        "elements by tag": _most_common(counts),
    }


def topic_statistics(topics: Topics) -> Statistics:
    """Types of topics and what their structural constraints ask for."""
    targets: Counter[str] = Counter()
    support = refused = 0
    for castitle in topics.castitles.values():
        try:
            query = parse(castitle, lenient=True)
        except NexiError:
            refused += 1
            continue
        if isinstance(query, CAS):
            targets.update(query.target.steps[-1].names)
            support += bool(query.support)
    return {
        "kind": "topics",
        "topics": len(topics),
        "topics by type": dict(Counter(topics.kinds.values())),
        "castitles": len(topics.castitles),
        "castitles with support elements": support,
        "castitles that are not NEXI": refused,
        "castitles by target": _most_common(targets),
    }


def run_statistics(run: Run) -> Statistics:
    """Sizes, depths, tags and overlap of a run's results."""
    size = (run.end - run.start)[(run.start >= 0) & (run.end >= 0)]
    found: Statistics = {
        "kind": "run",
        "run": run.name,
        "task": run.task,
        "topics": len(run.topics),
        "results": len(run),
        "results per topic": _spread(np.diff(run.bounds)),
        "documents per topic": _spread(
            np.bincount(run.topic[run.first == np.arange(len(run))], minlength=len(run.topics))
        ),
        "result length": _spread(size),
    }
    if len(size) == len(run):
        start, end = spans.side_by_side(run.start, run.end, run.first)
        pieces = spans.newly_covered(start, end)
        new = np.bincount(pieces.owner, pieces.end - pieces.start, len(run))
        found["share of results that overlap an earlier one"] = round(
            float((new < size).mean()) if len(run) else 0.0, 4
        )
    if run.xpath is not None:
        tags = [tags_of(path) for path in run.xpath.drop_nulls().to_list()]
        found["result depth"] = _spread(np.array([len(path) for path in tags]))
        found["results by tag"] = _most_common(Counter(path[-1] for path in tags))
    return found


def judgement_statistics(
    judgements: Judgements, collection: Collection | None = None
) -> Statistics:
    """Relevant documents, passages and elements per topic; fully highlighted elements by tag."""
    combined = judgements.combined()
    n = len(combined.topics)
    passages = np.bincount(combined.topic, np.diff(combined.bounds), n)
    relevant = np.bincount(combined.topic[combined.relevant], minlength=n)
    found: Statistics = {
        "kind": "judgements",
        "topics": n,
        "assessors": len(judgements.assessors),
        "documents judged": len(combined),
        "documents judged per topic": _spread(np.bincount(combined.topic, minlength=n)),
        "relevant documents": int(combined.relevant.sum()),
        "relevant documents per topic": _spread(relevant),
    }
    if combined.has_text:
        found |= {
            "relevant passages": int(passages.sum()),
            "relevant passages per topic": _spread(passages),
            "passage length": _spread(combined.end - combined.start),
            "relevant characters": int(combined.rel_size.sum()),
            "documents with a best entry point": int((combined.bep >= 0).sum()),
        }
    elements = combined.elements
    if elements is not None and {"size", "rsize"} <= set(elements.columns):
        sized = elements.drop_nulls(["size", "rsize"])
        tags = [tags_of(path)[-1] for path in sized["xpath"].to_list()]
        found |= _element_shares(tags, sized["size"].to_numpy(), sized["rsize"].to_numpy())
    elif collection is not None and combined.has_text:
        found |= _element_shares(*_assessed_elements(combined, collection))
    return found


def _assessed_elements(
    judgements: Judgements, collection: Collection
) -> tuple[list[str], Ints, Ints]:
    """Tag, size and highlighted size of every element with highlighted text."""
    tags: list[str] = []
    sizes, rsizes = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    judged = Judged(judgements, strict=False)
    known = pl.Series(judgements.doc).is_in(collection.documents["doc"].implode()).to_numpy()
    for row in np.flatnonzero(judgements.relevant & known).tolist():
        everything = collection.all_elements(str(judgements.doc[row]))
        start = np.array([element.start for element in everything], dtype=np.int64)
        end = np.array([element.end for element in everything], dtype=np.int64)
        base, extent = judged.base[row], judged.extent[row]
        inside = judged.highlighted.within(
            np.minimum(start, extent) + base, np.minimum(end, extent) + base
        )
        hit = np.flatnonzero(inside > 0)
        tags += [tags_of(everything[i].xpath)[-1] for i in hit.tolist()]
        sizes.append((end - start)[hit])
        rsizes.append(inside[hit])
    return tags, np.concatenate(sizes), np.concatenate(rsizes)


def _element_shares(tags: list[str], size: Ints, rsize: Ints) -> Statistics:
    relevant = rsize > 0
    full = relevant & (rsize == size)
    counts = Counter(tag for tag, yes in zip(tags, relevant.tolist(), strict=True) if yes)
    whole = Counter(tag for tag, yes in zip(tags, full.tolist(), strict=True) if yes)
    total = max(sum(whole.values()), 1)
    return {
        "relevant elements": int(relevant.sum()),
        "fully highlighted elements": int(full.sum()),
        "relevant elements by tag": _most_common(counts),
        "share of fully highlighted elements by tag": {
            tag: round(number / total, 4) for tag, number in whole.most_common(_MOST_TAGS)
        },
    }
