"""Statistics of a collection, topics, judgements or a run, as in the overview papers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from foveal import spans
from foveal._version import __version__
from foveal.collection import Collection
from foveal.collection.placement import place_judgements, place_run
from foveal.collection.storage import is_index
from foveal.evaluation.conversion import list_elements_with_text
from foveal.formats import find_kind, read_judgements, read_run, read_topics
from foveal.formats.graded_elements import GRADES, mark_positive
from foveal.formats.xpaths import ELEMENT
from foveal.model import Judgements, Run, Topics
from foveal.model.result_object import Result
from foveal.model.tables import Table
from foveal.nexi import CAS, NexiError, parse
from foveal.spans import Ints

Figures = dict[str, Any]
"""Names of figures to numbers, texts, or mappings: counts by name, mean and extremes."""
_TOPIC_FIELDS = ("title", "castitle", "phrasetitle", "description", "narrative", "keywords")
_MOST_ROWS = 20  # counts of one figure in a table


@dataclass(frozen=True, eq=False)
class Statistics(Result):
    """The figures of some files; made by `describe_files`."""

    files: Mapping[str, Figures]
    meta: Mapping[str, Any] = field(default_factory=lambda: {"version": __version__})

    def rows(self) -> Iterator[dict[str, Any]]:
        """Yield a row for each number; `key` names what is counted, or is the text of a figure."""
        for path, figures in self.files.items():
            for figure, found in list(figures.items())[1:]:
                counts = found if isinstance(found, dict) else {"": found}
                if isinstance(found, str):
                    counts = {found: None}
                for key, value in counts.items() if found is not None else ():
                    row = {"path": path, "kind": figures["kind"], "figure": figure}
                    yield {**row, "key": key, "value": value}

    def parts(self) -> dict[str, Any]:
        return {"files": self.files}

    def tables(self) -> list[Table]:
        """Return a table for each file, with the first counts of each figure."""
        tables = []
        for path, rows in groupby(self.rows(), key=itemgetter("path")):
            lines, notes = [], []
            for figure, group in groupby(rows, key=itemgetter("figure")):
                counts = [(row["key"], row["value"]) for row in group]
                for i, (key, value) in enumerate(counts[:_MOST_ROWS]):
                    short = isinstance(value, float) and value < 1e6
                    number = f"{value:g}" if short else str("" if value is None else value)
                    lines.append(("" if i else figure, key, number))
                if len(counts) > _MOST_ROWS:
                    notes.append(f"{figure}: {len(counts) - _MOST_ROWS} more in other formats.")
            title = f"{path}: {self.files[path]['kind']}"
            header = ("figure", "of", "value")
            tables.append(Table(header, tuple(lines), labels=2, title=title, notes=tuple(notes)))
        return tables


def describe_files(paths: Sequence[str], collection: str | None = None) -> Statistics:
    """Describe collections, topics, judgements and runs, detected from their content.

    A `collection` index resolves XPaths, and adds figures of elements to those of judgements.
    """
    index = Collection.open(collection) if collection else None
    files: dict[str, Figures] = {}
    for path in paths:
        if is_index(Path(path)):
            described = Collection.open(path)
            described.verify()
            files[path] = collection_statistics(described)
        elif (kind := find_kind(path)) == "topics":
            files[path] = topic_statistics(read_topics(path))
        elif kind == "judgements":
            judgements = read_judgements(path)
            judgements = judgements if index is None else place_judgements(judgements, index)
            files[path] = judgement_statistics(judgements, index)
        else:
            run = read_run(path)
            run = run if index is None else place_run(run, index, lenient=True)
            files[path] = run_statistics(run)
    return Statistics(files)


def _spread(values: npt.NDArray[Any]) -> dict[str, float]:
    """Return mean, median and extremes."""
    if not len(values):
        return {}
    least, middle, most = np.quantile(values, (0, 0.5, 1)).tolist()
    return {"mean": round(float(np.mean(values)), 3), "median": middle, "min": least, "max": most}


def _spread_topics(topic: Ints, owner: Run | Judgements) -> dict[str, float]:
    """Return the spread of the numbers of items per topic."""
    return _spread(np.bincount(topic, minlength=len(owner.topics)))


def collection_statistics(collection: Collection) -> Figures:
    """Count articles, elements, depths and tags."""
    used = collection.path_counts()
    depth, tag = collection.path_depths(), collection.path_tags()
    elements = max(int(used.sum()), 1)
    counts = Counter[str]()
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
        "elements by tag": dict(counts.most_common()),
    }


def topic_statistics(topics: Topics) -> Figures:
    """Count types of topics, and targets of their structural constraints."""
    targets, support = Counter[str](), Counter[str]()
    for castitle in topics.castitles.values():
        with suppress(NexiError):
            query = parse(castitle, lenient=True)
            if isinstance(query, CAS):
                targets.update(query.target.steps[-1].names)
                support.update({name for path in query.support for name in path.steps[-1].names})
    fields = {name: topics.to_frame()[name].count() for name in _TOPIC_FIELDS}
    return {
        "kind": "topics",
        "topics": len(topics),
        "topics by type": dict(Counter(topics.kinds.values())),
        "topics with a field": {name: count for name, count in fields.items() if count},
        "castitles": len(topics.castitles),
        "castitles by target": dict(targets.most_common()),
        "castitles by support element": dict(support.most_common()),
    }


def run_statistics(run: Run) -> Figures:
    """Describe sizes, depths, tags and overlap of a run's results."""
    size = (run.end - run.start)[(run.start >= 0) & (run.end >= 0)]
    found: Figures = {
        "kind": "run",
        "run": run.name,
        "task": run.task,
        "topics": len(run.topics),
        "results": len(run),
        "results per topic": _spread(np.diff(run.bounds)),
        "documents per topic": _spread_topics(run.topic[run.first == np.arange(len(run))], run),
        "result length": _spread(size),
    }
    if len(size) == len(run) and len(run):
        start, end = spans.put_on_axis(run.start, run.end, run.first)
        shared = spans.Coverage(*spans.find_covered(start, end, 2)).within(start, end)
        pieces = spans.find_new_text(start, end)
        new = np.bincount(pieces.owner, pieces.end - pieces.start, len(run))
        for other, overlaps in (("another", shared > 0), ("an earlier", new < end - start)):
            share = round(float(overlaps.mean()), 4)
            found[f"share of results that overlap {other} one"] = share
    if run.xpath is not None:
        is_element = run.xpath.str.contains(ELEMENT)
        elements = run.xpath.filter(is_element.fill_null(value=False))
        found["results that are elements"] = len(elements)
        found["results between two points"] = int((~is_element).sum())
        if len(elements):
            found["depth of elements"] = _spread(elements.str.count_matches("/").to_numpy())
            found["results by tag"] = _count_tags(elements)
    return found


def _count_tags(xpath: pl.Series) -> dict[str, int]:
    """Count elements by tag, the most frequent first."""
    return dict(Counter(xpath.str.extract(r"/([^/\[]+)(?:\[\d+\])?$")).most_common())


def judgement_statistics(judgements: Judgements, collection: Collection | None = None) -> Figures:
    """Count relevant documents, passages and elements per topic, and whole elements by tag."""
    combined = judgements.combined()
    n = len(combined.topics)
    passages = np.bincount(combined.topic, np.diff(combined.bounds), n)
    relevant = np.bincount(combined.topic[combined.relevant], minlength=n)
    found: Figures = {
        "kind": "judgements",
        "topics": n,
        "topics with nothing relevant": int((relevant == 0).sum()),
        **({"unanswerable topics": len(given)} if (given := combined.unanswerable) else {}),
        "assessors": len(judgements.assessors),
        "documents with several assessors": int((np.bincount(judgements.pair) > 1).sum()),
        "documents judged": len(combined),
        "documents judged per topic": _spread_topics(combined.topic, combined),
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
    for what, names in (("evidence sets", judgements.sets), ("slots", judgements.slots)):
        if names is not None:
            named = pl.DataFrame({"topic": judgements.topic[judgements.row], "name": names})
            named = named.explode("name").drop_nulls("name")
            counts = named.unique().group_by("topic").len()["len"].to_numpy()
            found[f"topics with {what}"] = len(counts)
            found[f"{what.split()[-1]} of such a topic"] = _spread(counts)
    scale = (combined.header or {}).get("scale")
    if combined.elements is not None:
        found |= {"scale of elements": scale, "assessed elements": len(combined.elements)}
        found |= _element_statistics(combined, combined.elements, scale)
    elif collection is not None and combined.has_text:
        derived = list_elements_with_text(combined, collection)
        found |= _element_statistics(combined, derived, "2006")
    return found


def _element_statistics(
    judgements: Judgements, elements: pl.DataFrame, scale: str | None
) -> Figures:
    """Count relevant elements per topic, by tag and by grade, and fully highlighted ones."""
    grades = [name for name in GRADES.get(scale or "", ()) if name in elements.columns]
    relevant = elements.filter(mark_positive(elements, scale))
    topic = judgements.topic[relevant["row"].to_numpy()]
    found: Figures = {
        "relevant elements": len(relevant),
        "relevant elements per topic": _spread_topics(topic, judgements),
        "relevant elements by tag": _count_tags(relevant["xpath"]),
    }
    if grades:
        by_grade = Counter(elements.select(pl.concat_str(grades, separator=",")).to_series())
        found[f"elements by {', '.join(grades)}"] = dict(sorted(by_grade.items(), reverse=True))
    if {"size", "rsize"} <= set(relevant.columns):
        whole = relevant.filter((pl.col("rsize") == pl.col("size")) & (pl.col("size") > 0))
        counts = _count_tags(whole["xpath"])
        found |= {
            "fully highlighted elements": len(whole),
            "share of fully highlighted elements by tag": {
                tag: round(number / len(whole), 4) for tag, number in counts.items()
            },
        }
    return found
