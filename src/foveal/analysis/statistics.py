"""What a collection, a topic set, judgements or a run hold, as the overview papers report it."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from foveal import spans
from foveal.collection import Collection
from foveal.evaluation.conversion import elements_with_text
from foveal.formats.graded_elements import GRADES, mark_positive
from foveal.formats.xpaths import ELEMENT
from foveal.model import Judgements, Run, Topics
from foveal.nexi import CAS, NexiError, parse
from foveal.spans import Ints

__all__ = ["collection_statistics", "judgement_statistics", "run_statistics", "topic_statistics"]

Statistics = dict[str, Any]
_TOPIC_FIELDS = ("title", "castitle", "phrasetitle", "description", "narrative", "keywords")


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


def _by_count(counts: Counter[str]) -> dict[str, int]:
    """The most frequent first."""
    return dict(counts.most_common())


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
        "mean depth of elements (root 1)": round(float((depth * used).sum()) / elements, 3),
        "distinct paths": len(used),
        "distinct tags": len(counts),
        "characters": int(collection.header["characters"]),
        "document length": _spread(collection.documents["length"].to_numpy()),
        "white space": collection.whitespace,
        "documents that failed": len(collection.header["failures"]),
        "elements by tag": _by_count(counts),
    }


def topic_statistics(topics: Topics) -> Statistics:
    """Types of topics and what their structural constraints ask for."""
    targets: Counter[str] = Counter()
    support: Counter[str] = Counter()
    forms: Counter[str] = Counter()
    for castitle in topics.castitles.values():
        query, form = _parsed(castitle)
        forms[form] += 1
        if query is not None:
            targets.update(query.target.steps[-1].names)
            support.update({name for path in query.support for name in path.steps[-1].names})
            forms["with support elements"] += bool(query.support)
            forms["with a comparison"] += query.compares
    fields = {name: topics.to_frame()[name].count() for name in _TOPIC_FIELDS}
    return {
        "kind": "topics",
        "topics": len(topics),
        "topics by type": dict(Counter(topics.kinds.values())),
        "topics with a field": {name: count for name, count in fields.items() if count},
        "castitles": len(topics.castitles),
        "castitles by form": {form: count for form, count in forms.items() if count},
        "castitles by target": _by_count(targets),
        "castitles by support element": _by_count(support),
    }


def _parsed(castitle: str) -> tuple[CAS | None, str]:
    """The query if it is structured, and in which dialect it is written."""
    for form, lenient in (("NEXI", False), ("NEXI in lenient mode only", True)):
        try:
            query = parse(castitle, lenient=lenient)
        except NexiError:
            continue
        return (query, form) if isinstance(query, CAS) else (None, "without structure")
    return None, "no NEXI"


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
    if len(size) == len(run) and len(run):
        found |= _overlap(run)
    if run.xpath is not None:
        found |= _paths(run.xpath)
    return found


def _overlap(run: Run) -> Statistics:
    """How many results share text with another one, and with an earlier one."""
    start, end = spans.side_by_side(run.start, run.end, run.first)
    pieces = spans.newly_covered(start, end)
    new = np.bincount(pieces.owner, pieces.end - pieces.start, len(run))
    some = np.flatnonzero(end > start)  # empty results share text with none
    order = some[np.lexsort((-end[some], start[some]))]
    first, last = start[order], end[order]
    meets = np.zeros(len(run), dtype=bool)
    meets[order[1:]] = first[1:] < np.maximum.accumulate(last)[:-1]
    meets[order[:-1]] |= first[1:] < last[:-1]
    return {
        "share of results that overlap another one": _share(meets),
        "share of results that overlap an earlier one": _share(new < end - start),
    }


def _share(of: npt.NDArray[np.bool_]) -> float:
    return round(float(of.mean()), 4)


def _paths(xpath: pl.Series) -> Statistics:
    """Depths and tags of results that are elements; how many are something else."""
    is_element = xpath.str.contains(ELEMENT)
    elements = xpath.filter(is_element.fill_null(value=False))
    found: Statistics = {
        "results that are elements": len(elements),
        "results between two points": int((~is_element).sum()),
    }
    if len(elements):
        found["depth of elements"] = _spread(elements.str.count_matches("/").to_numpy())
        found["results by tag"] = _by_count(Counter(_tags(elements)))
    return found


def _tags(xpath: pl.Series) -> list[str]:
    """The tag of each element."""
    return xpath.str.extract(r"/([^/\[]+)(?:\[\d+\])?$").to_list()


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
        "topics with nothing relevant": int((relevant == 0).sum()),
        "assessors": len(judgements.assessors),
        "documents with several assessors": int((np.bincount(judgements.pair) > 1).sum()),
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
    if judgements.sets is not None:
        topic = np.repeat(judgements.topic, np.diff(judgements.bounds))
        named = pl.DataFrame({"topic": topic, "sets": judgements.sets})
        named = named.explode("sets").drop_nulls("sets")
        counts = named.unique().group_by("topic").len()["len"].to_numpy()
        found |= {"topics with evidence sets": len(counts), "sets of such a topic": _spread(counts)}
    scale = (combined.header or {}).get("scale")
    if combined.elements is not None:
        found |= {"scale of elements": scale, "assessed elements": len(combined.elements)}
        found |= _element_statistics(combined, combined.elements, scale)
    elif collection is not None and combined.has_text:
        derived = elements_with_text(combined, collection)
        found |= _element_statistics(combined, derived, "2006")
    return found


def _element_statistics(
    judgements: Judgements, elements: pl.DataFrame, scale: str | None
) -> Statistics:
    """Relevant elements per topic and by tag, by grade where they have one, and whole ones."""
    grades = [name for name in GRADES.get(scale or "", ()) if name in elements.columns]
    relevant = elements.filter(mark_positive(elements, scale))
    topic = judgements.topic[relevant["row"].to_numpy()]
    found: Statistics = {
        "relevant elements": len(relevant),
        "relevant elements per topic": _spread(
            np.bincount(topic, minlength=len(judgements.topics))
        ),
        "relevant elements by tag": _by_count(Counter(_tags(relevant["xpath"]))),
    }
    if grades:
        by_grade = Counter(elements.select(pl.concat_str(grades, separator=",")).to_series())
        found[f"elements by {', '.join(grades)}"] = dict(sorted(by_grade.items(), reverse=True))
    if {"size", "rsize"} <= set(relevant.columns):
        whole = relevant.filter((pl.col("rsize") == pl.col("size")) & (pl.col("size") > 0))
        counts = Counter(_tags(whole["xpath"]))
        found |= {
            "fully highlighted elements": len(whole),
            "share of fully highlighted elements by tag": {
                tag: round(number / len(whole), 4) for tag, number in counts.most_common()
            },
        }
    return found
