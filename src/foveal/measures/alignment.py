"""A run aligned with judgements, and the view of one topic that measures are computed on.

Everything costly is done once for the whole run, on one axis (`foveal.spans`): finding the
judgement of each result, the relevant characters in it, and the text it adds to earlier results.
A `TopicView` is a slice of that.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Hashable
from enum import Enum
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, cast

import numpy as np
import numpy.typing as npt

from foveal import spans
from foveal.lookup import KeyTable, gather
from foveal.model.judgements import Judgements
from foveal.model.run import UNKNOWN, Run
from foveal.spans import Ints

if TYPE_CHECKING:
    from foveal.recall.forest import Forest

Bools = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]
T = TypeVar("T")


class Overlap(Enum):
    """A treatment of results that overlap earlier ones."""

    UNCHANGED = "unchanged"
    UNION = "only new text counts"
    DISJOINT = "results that overlap an earlier one dropped"
    FIRST_PER_DOCUMENT = "all but the first result of each document dropped"
    COUNT_REPEATS = "unchanged; an element returned again gains again"


class _WithCache:
    """An object that remembers what was computed from it."""

    _cache: dict[Hashable, object]

    def cached(self, function: Callable[..., T], *key: Hashable) -> T:
        """Return ``function(self, *key)``, computed once."""
        slot = (function, *key)
        if slot not in self._cache:
            self._cache[slot] = function(self, *key)
        return cast("T", self._cache[slot])

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_cache": {}}


class Gold(_WithCache):
    """Combined judgements prepared for look-up: documents, highlighted text, totals by topic.

    Parameters
    ----------
    judgements : Judgements
        One judgement for each topic and document.
    strict : bool
        Refuse two lengths of one document.
    mean_length : float, optional
        By default the mean of the known lengths of the judged documents.
    forest : Forest, optional
        The trees of the assessed elements, where a measure is about elements.
    collection_elements : int, optional
        Number of elements in the collection that hold at least one character.
    documents : pair of KeyTable and int64 array, optional
        All judged documents and their lengths, if the judgements are only a group of topics.
    """

    def __init__(
        self,
        judgements: Judgements,
        *,
        strict: bool = True,
        mean_length: float | None = None,
        forest: Forest | None = None,
        collection_elements: int | None = None,
        documents: tuple[KeyTable, Ints] | None = None,
    ) -> None:
        self._cache = {}
        self.judgements = judgements
        self.topics = judgements.topics
        self.topic_at = {topic: i for i, topic in enumerate(judgements.topics)}
        self.forest = forest
        self.trees = cast("Forest", forest)
        """The same, for measures that need it: preparation has made sure that there is one."""
        self.collection_elements = collection_elements
        if documents is None:
            if strict:
                judgements.check_lengths(ends=False)
            docs, code, length, _ = judgements.documents
            self.docs = KeyTable(docs)
        else:
            self.docs, length = documents
            code = self.docs.find(judgements.doc)
        self.is_part = False
        """True if a run is scored in groups of topics: there may be results of other topics."""
        self.doc_length = length
        """Length of each document in `docs`, `UNKNOWN` where no judgement gives it."""
        self.length = length[code]
        self.pairs = KeyTable((judgements.topic * len(length) + code).view(np.uint64))
        """Judgements by topic and document: ``topic * len(doc_length) + document``."""
        extent = np.maximum(judgements.length, 0)
        np.maximum.at(extent, judgements.row, judgements.end)
        self.base = spans.lay_out(extent)
        self.extent = extent
        self.highlighted = spans.Coverage(
            judgements.start + self.base[judgements.row], judgements.end + self.base[judgements.row]
        )
        regions = self.highlighted.start
        self.passages = (
            np.searchsorted(regions, self.base),
            np.searchsorted(regions, self.base + extent, side="right"),
        )
        """First region of `highlighted` for each judgement, and the one after the last."""
        n, relevant = len(judgements.topics), judgements.relevant
        self.nrel = np.bincount(judgements.topic[relevant], minlength=n)
        """Relevant documents of each topic."""
        self.trel = np.bincount(judgements.topic, judgements.rel_size, n).astype(np.int64)
        """Relevant characters of each topic."""
        self.unanswerable = np.array(
            [t in judgements.unanswerable for t in self.topics], dtype=bool
        )
        """True for topics that no document answers."""
        self.beps = np.bincount(judgements.topic[judgements.bep >= 0], minlength=n)
        """Best entry points of each topic."""
        self.no_bep = bool(relevant.any()) and not bool(self.beps.any())
        """True if there is relevant text but no best entry point."""
        self.unmeasured = bool((self.length[relevant] < 0).any())
        """True if the length of a relevant document is unknown."""
        if mean_length is None:
            known = length[length >= 0]
            mean_length = float(known.mean()) if len(known) else float("nan")
        self.mean_length = mean_length

    @cached_property
    def highest_grade(self) -> float:
        """Highest grade of a document or passage, in all judgements if these are a part."""
        judged = self.judgements
        highest = float(judged.relevant.any())
        if judged.document_grade is not None:
            highest = max(highest, judged.document_grade.max(initial=0.0))
        if judged.evidence is not None:
            highest = max(highest, judged.evidence["grade"].to_numpy().max(initial=0.0))
        return highest

    @cached_property
    def element_size(self) -> Ints:
        """Sum of rsize over the assessed elements of each topic."""
        elements, n = self.judgements.elements, len(self.topics)
        if self.forest is not None:
            counts = np.where(self.forest.counts, np.maximum(self.forest.rsize, 0), 0)
            topic = self.judgements.topic[self.forest.row]
        elif elements is None or "rsize" not in elements.columns:
            return np.zeros(n, dtype=np.int64)
        else:
            counts = elements["rsize"].fill_null(0).to_numpy()
            topic = self.judgements.topic[elements["row"].to_numpy()]
        return np.bincount(topic, counts, n).astype(np.int64)


class Documents(NamedTuple):
    """Documents in order of their first result, of one topic or of all topics in turn."""

    head: Ints  # position of each document's first result
    of_result: Ints  # number of the document of each result
    row: Ints
    relevant: Bools
    rel_size: Ints
    size: Ints
    rsize: Ints


class Totals(NamedTuple):
    """Characters and relevant characters summed over the results of a run."""

    read_before: Ints  # characters before each result of the whole run, and their total
    found_before: Ints
    read: Ints  # characters up to each result of its topic
    found: Ints
    precision: Floats
    """P[r] in characters up to each result of its topic; 0 before any text was read."""


class Alignment(_WithCache):
    """One run against judgements, restricted to judged topics, as arrays over all results.

    `size`, `rsize` and what is summed from them depend on `overlap`: under ``UNION`` they count
    only text that no earlier result of the topic covered. `with_overlap` returns the alignment of
    the same run under another treatment of overlap.
    """

    def __init__(self, run: Run, gold: Gold, overlap: Overlap = Overlap.UNCHANGED) -> None:
        self._cache = {}
        known = np.array([topic in gold.topic_at for topic in run.topics], dtype=bool)
        self.unjudged_topics = [
            t for t, judged in zip(run.topics, known, strict=True) if not judged
        ]
        self.run = run = run if known.all() else run.take(np.repeat(known, np.diff(run.bounds)))
        self.gold = gold
        self.overlap = overlap
        self.place = {topic: i for i, topic in enumerate(run.topics)}
        self.judged_topic = np.array([gold.topic_at[t] for t in run.topics], dtype=np.int64)
        """Number of each topic of the run in the judgements."""
        # Each document of a topic is looked up once: a half or a third of the results.
        code = gold.docs.find(gather(run.doc, run.documents.first_rows))
        self.in_judgements: Bools = code >= 0
        """True for documents that are judged for any topic, in the order of `Run.documents`."""
        some = np.flatnonzero(self.in_judgements)
        self.document_row = np.full(len(code), UNKNOWN, dtype=np.int64)
        """The judgement of each document of each topic, in the order of `Run.documents`."""
        topic = self.judged_topic[run.topic[run.documents.first_rows[some]]]
        pair = topic * len(gold.doc_length) + code[some]
        self.document_row[some] = gold.pairs.find(pair.view(np.uint64))
        self.relevant_documents: Bools = np.append(gold.judgements.relevant, False)[
            self.document_row
        ]
        """True for relevant documents, in the order of `Run.documents`."""
        # The last length is for documents without a judgement.
        length = np.append(gold.doc_length, UNKNOWN)[code][run.documents.number]
        self.length: Ints = (
            length if run.length is None else np.where(length < 0, run.length, length)
        )
        """Length of each result's document, `UNKNOWN` where neither side knows it."""
        whole = (run.end < 0) & (run.start >= 0)
        self.end: Ints = np.where(whole, self.length, run.end) if whole.any() else run.end
        """End of each result; a whole document ends at its length where that is known."""
        self.full_size: Ints = np.maximum(self.end - run.start, 0)
        """Characters of each result, whatever `overlap` says."""
        self.all_have_text = bool((self.end > run.start).all())  # both are -1 without a place
        """True if every result has a place and at least one character."""

    def with_overlap(self, overlap: Overlap) -> Alignment:
        """Return the alignment of this run under another treatment of overlap, made once."""
        if overlap is self.overlap:
            return self
        made = self._cache.get(overlap)
        if isinstance(made, Alignment):
            return made
        run, kept = self.run, np.ones(1, dtype=bool)
        if overlap is Overlap.DISJOINT:
            kept = self.cached(find_disjoint)
        elif overlap is Overlap.FIRST_PER_DOCUMENT:
            kept = run.first == np.arange(len(run))
        if kept.all():
            made = copy.copy(self)  # shares all that does not depend on `overlap`
            made.overlap = overlap
            for name in ("totals", "documents"):
                vars(made).pop(name, None)
        else:
            made = Alignment(run.take(kept), self.gold, overlap)
        self._cache[overlap] = made
        return made

    def topic(self, name: str) -> TopicView:
        """Return the view of a judged topic; it is empty if the run has no results for it."""
        return TopicView(self, name)

    @cached_property
    def row(self) -> Ints:
        """The judgement of each result's document, `UNKNOWN` if unjudged."""
        return self.document_row[self.run.documents.number]

    @cached_property
    def placed(self) -> Bools:
        """True for results that have a start and an end."""
        return (self.run.start >= 0) & (self.end >= 0)

    @property
    def relevant(self) -> Bools:
        """True for results in a relevant document."""
        return self.relevant_documents[self.run.documents.number]

    @cached_property
    def document_bounds(self) -> Ints:
        """First document of each topic, and the number of documents."""
        return np.searchsorted(self.run.documents.first_rows, self.run.bounds)

    # -- text -----------------------------------------------------------------------------------

    @cached_property
    def full_rsize(self) -> Ints:
        """Highlighted characters in each result, whatever `overlap` says."""
        return self.count_highlighted(None, self.run.start, self.end)

    def count_highlighted(self, result: Ints | None, start: Ints, end: Ints) -> Ints:
        """Count highlighted characters of ``[start, end)`` in the documents of these results."""
        count = np.zeros(len(start), dtype=np.int64)
        head = self.run.documents.number if result is None else self.run.documents.number[result]
        text = np.flatnonzero(self.relevant_documents[head])
        row = self.document_row[head[text]]
        base, extent = self.gold.base[row], self.gold.extent[row]
        left = np.minimum(np.maximum(start[text], 0), extent)
        right = np.maximum(np.minimum(end[text], extent), left)
        first, last = self.gold.passages
        own = (first[row], last[row])
        count[text] = self.gold.highlighted.within(base + left, base + right, own)
        return count

    # -- overlap --------------------------------------------------------------------------------

    @cached_property
    def axis(self) -> tuple[Ints, Ints]:
        """Start and end of each result on one axis, documents of all topics side by side."""
        return spans.put_on_axis(self.run.start, self.end, self.run.first)

    @property
    def overlap_axis(self) -> tuple[Ints, Ints]:
        """An axis on which overlap shows: of the text, or of the paths where text is unknown."""
        by_text = self.run.xpath is None or bool(self.placed.all())
        return self.axis if by_text else self.run.nesting

    @cached_property
    def conflicts(self) -> tuple[Ints, Ints]:
        """Pairs of results whose texts overlap: (earlier, later)."""
        run = self.run
        if not len(run.documents.reopened_rows) and spans.are_apart(
            run.start, self.end, run.documents.number
        ):
            return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
        return spans.find_conflicts(*self.axis)

    @cached_property
    def pieces(self) -> spans.Pieces:
        """Newly covered text in rank order, in document offsets."""
        start, end = self.axis
        pieces = spans.find_new_text(start, end)
        shift = (start - np.maximum(self.run.start, 0))[pieces.owner]
        return spans.Pieces(pieces.start - shift, pieces.end - shift, pieces.owner)

    @cached_property
    def new_size(self) -> Ints:
        """Characters of each result that no earlier result of the topic covered."""
        if not len(self.conflicts[0]):
            return self.full_size
        sizes = self.pieces.end - self.pieces.start
        return np.bincount(self.pieces.owner, sizes, len(self.run)).astype(np.int64)

    @cached_property
    def new_rsize(self) -> Ints:
        """Highlighted characters of each result that no earlier result of the topic covered."""
        if not len(self.conflicts[0]):
            return self.full_rsize
        piece = self.pieces
        found = self.count_highlighted(piece.owner, piece.start, piece.end)
        return np.bincount(piece.owner, found, len(self.run)).astype(np.int64)

    # -- what counts under `overlap` ------------------------------------------------------------

    @property
    def size(self) -> Ints:
        """Characters of each result that count."""
        return self.new_size if self.overlap is Overlap.UNION else self.full_size

    @property
    def rsize(self) -> Ints:
        """Highlighted characters of each result that count."""
        return self.new_rsize if self.overlap is Overlap.UNION else self.full_rsize

    @cached_property
    def totals(self) -> Totals:
        """Sums of `size` and `rsize` in whole numbers, so that any difference is exact."""
        bounds, union = self.run.bounds, self.overlap is Overlap.UNION
        sums = np.zeros((2, len(self.run) + 1), dtype=np.int64)
        np.cumsum(self.new_size if union else self.full_size, out=sums[0, 1:])
        np.cumsum(self.new_rsize if union else self.full_rsize, out=sums[1, 1:])
        read, found = sums[:, 1:] - np.repeat(sums[:, bounds[:-1]], np.diff(bounds), axis=1)
        return Totals(sums[0], sums[1], read, found, found / np.maximum(read, 1))

    @cached_property
    def documents(self) -> Documents:
        """The documents of all topics, those of one topic side by side."""
        run, row, relevant = self.run, self.document_row, self.relevant_documents
        documents = run.documents
        if len(documents.reopened_rows):  # documents are interleaved
            size, rsize = (
                np.bincount(documents.number, values, len(row)).astype(np.int64)
                for values in (self.size, self.rsize)
            )
        else:
            size, rsize = (
                np.diff(total[documents.first_rows], append=total[-1]) for total in self.totals[:2]
            )
        rel_size = np.append(self.gold.judgements.rel_size, 0)[row]  # the 0 is for UNKNOWN
        rel_size = np.where(relevant, rel_size, 0)
        first, number = documents.first_rows, documents.number
        return Documents(first, number, row, relevant, rel_size, size, rsize)

    def spread_topics(self, values: Floats | Ints) -> Floats:
        """Spread scores of the run's topics over all judged ones; 0 for a topic without results."""
        scores = np.zeros(len(self.gold.topics))
        scores[self.judged_topic] = values
        return scores

    def fill_topics(self, values: Floats | Ints) -> Floats:
        """Spread scores of the run's topics over all judged ones.

        A topic without results scores 0; where nothing is relevant, the score is undefined (nan).

        >>> truth = {"1": {"d": {"spans": [(0, 9)], "length": 9}}}
        >>> truth |= {"2": truth["1"], "3": {"d": {"spans": [], "length": 9}}}
        >>> run = Run.from_results({"3": [("d", 0, 9)], "1": [("d", 0, 3)]})
        >>> alignment = Alignment(run, Gold(Judgements.from_highlights(truth)))
        >>> alignment.fill_topics(np.array([0.7, 0.5])).tolist()
        [0.5, 0.0, nan]
        """
        scores = np.where(self.gold.nrel == 0, np.nan, 0.0)
        scores[self.judged_topic] += values
        return scores


def match_pairs(some: Ints, others: Ints) -> tuple[Ints, Ints]:
    """Return all pairs (i, j) with ``some[i] == others[j]``, by i then j; `others` is sorted.

    >>> [places.tolist() for places in match_pairs(np.array([7, 5]), np.array([5, 7, 7]))]
    [[0, 0, 1], [1, 2, 0]]
    """
    low = np.searchsorted(others, some)
    counts = np.searchsorted(others, some, side="right") - low
    i = np.repeat(np.arange(len(some)), counts)
    j = np.arange(len(i)) - np.repeat(np.cumsum(counts) - counts - low, counts)
    return i, j


def neighbours_meet(start: Ints, end: Ints, group: Ints) -> bool:
    """Return True if any span meets the one before it in the same group.

    A run with overlap mostly has such a pair: this look spares looking for all overlap only to
    learn that there is some.
    """
    meet = (start[1:] < end[:-1]) & (start[:-1] < end[1:])
    meet &= group[1:] == group[:-1]
    return bool(meet.any())


def find_disjoint(alignment: Alignment) -> Bools:
    """Return which results overlap no earlier one that is kept."""
    run = alignment.run
    # Runs of tasks that forbid overlap mostly have none, which takes half of the time to find out.
    if (
        not neighbours_meet(run.start, alignment.end, run.documents.number)
        and alignment.placed.all()
        and not len(alignment.conflicts[0])
    ):
        return np.ones(len(run), dtype=bool)
    return spans.disjoint(*alignment.overlap_axis)


class TopicView:
    """The results of one topic in rank order, and its relevant text."""

    # The parts of the alignment's arrays that belong to this topic.
    end: Ints
    row: Ints
    length: Ints
    size: Ints
    rsize: Ints
    full_size: Ints
    full_rsize: Ints
    new_size: Ints
    new_rsize: Ints
    read: Ints
    found: Ints
    precision: Floats

    def __init__(self, alignment: Alignment, name: str) -> None:
        self.alignment = alignment
        self.name = name
        self.place = place = alignment.place.get(name)
        """Number of the topic in the run; None without results."""
        bounds = alignment.run.bounds
        low, high = (0, 0) if place is None else (int(bounds[place]), int(bounds[place + 1]))
        self.slice = slice(low, high)
        self.n = high - low  # number of results
        self.start = alignment.run.start[self.slice]
        self.at = at = alignment.gold.topic_at[name]  # number of the topic in the judgements
        self.relevant_documents = int(alignment.gold.nrel[at])
        self.trel = int(alignment.gold.trel[at])

    def cached(self, function: Callable[..., T], *key: Hashable) -> T:
        """Return ``function(self, *key)``, computed once for this topic of the alignment."""
        return cast("T", self.alignment.cached(_apply_to_topic, self.name, function, *key))

    def __getattr__(self, name: str) -> Any:
        """Return the part of an array of the alignment that belongs to this topic."""
        if name not in TopicView.__annotations__:
            raise AttributeError(name)
        owner = self.alignment.totals if name in Totals._fields else self.alignment
        return getattr(owner, name)[self.slice]

    @cached_property
    def ties(self) -> Ints:
        """The tie group of each result: adjacent ones of equal score, else of equal rank."""
        run = self.alignment.run
        by: Floats | Ints | None = run.score if run.score is not None else run.rank
        if by is None or not self.n:
            return np.arange(self.n)
        own = by[self.slice]
        opens = own[1:] != own[:-1]
        if run.score is None:
            opens |= own[1:] < 0  # a rank that is not given ties with nothing
        return np.concatenate([[0], np.cumsum(opens)])

    @cached_property
    def pieces(self) -> spans.Pieces:
        """The text that each result adds to earlier ones, in rank order."""
        start, end, owner = self.alignment.pieces
        low, high = np.searchsorted(owner, [self.slice.start, self.slice.stop])
        return spans.Pieces(start[low:high], end[low:high], owner[low:high] - self.slice.start)

    @cached_property
    def own_documents(self) -> slice:
        """The documents of this topic, as a slice of the run's documents."""
        if self.place is None:
            return slice(0, 0)
        return slice(*self.alignment.document_bounds[self.place : self.place + 2].tolist())

    @cached_property
    def documents(self) -> Documents:
        """The documents of this topic; heads and numbers count within it."""
        docs, own = self.alignment.documents, self.own_documents
        head, of_result = docs.head[own] - self.slice.start, docs.of_result[self.slice] - own.start
        return Documents._make([head, of_result, *(column[own] for column in docs[2:])])

    def passages(self, row: int) -> list[tuple[int, int]]:
        """Return the relevant passages of a judged document, disjoint and sorted."""
        return self.alignment.gold.judgements.passages(row)


def _apply_to_topic(alignment: Alignment, name: str, function: Callable[..., T], *key: Any) -> T:
    return function(alignment.topic(name), *key)
