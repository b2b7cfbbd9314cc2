"""A run laid against judgements, and the view of one topic that measures calculate on.

Whatever costs time is done once for the whole run, on one axis (`foveal.spans`): finding the
judgement of each result, the relevant characters in it, what it adds to the results before it.
A `TopicView` is a slice of that.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import cached_property
from typing import NamedTuple, TypeVar, cast

import numpy as np
import numpy.typing as npt

from foveal import spans
from foveal.model import UNKNOWN, Judgements, Run
from foveal.model.hashing import Hashes, Names, Slots
from foveal.recall import Forest
from foveal.spans import Ints

__all__ = ["Alignment", "Documents", "Gold", "TopicView"]

Bools = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]
T = TypeVar("T")


class Gold:
    """Combined judgements prepared for look-up: documents, highlighted text, totals by topic."""

    def __init__(
        self,
        judgements: Judgements,
        *,
        strict: bool = True,
        mean_length: float | None = None,
        forest: Forest | None = None,
        collection_elements: int | None = None,
    ) -> None:
        self.judgements = judgements
        self.forest = forest
        self.collection_elements = collection_elements
        """Elements of the collection that hold at least one character, where it is known."""
        self._mean_length = mean_length
        self._memo: dict[Hashable, object] = {}
        docs, code, length = judgements.documents(strict=strict)
        self.docs = Names(docs)
        self.names = self.docs
        """All judged documents, also those of other groups of topics."""
        self.doc_length = length
        """Of each document of `docs`, `UNKNOWN` where no judgement gives it."""
        self.topic_at = {topic: i for i, topic in enumerate(judgements.topics)}
        self.length = length[code]
        self._rows = Slots(self._pairs(judgements.topic, code))
        extent = np.maximum(judgements.length, 0)
        np.maximum.at(extent, judgements.row, judgements.end)
        self.base = spans.lay_out(extent)
        self.extent = extent
        self.highlighted = spans.Coverage(
            judgements.start + self.base[judgements.row], judgements.end + self.base[judgements.row]
        )
        self.passages = self.highlighted.regions(self.base, self.base + extent)
        """Of each row, the regions of `highlighted` that are its passages."""
        n = len(judgements.topics)
        relevant = judgements.relevant
        self.nrel = np.bincount(judgements.topic[relevant], minlength=n)
        self.trel = np.bincount(judgements.topic, judgements.rel_size, n).astype(np.int64)
        self.beps = np.bincount(judgements.topic[judgements.bep >= 0], minlength=n)

    def memo(self, key: Hashable, calculate: Callable[[], T]) -> T:
        """A value that several measures and runs share, calculated once."""
        if key not in self._memo:
            self._memo[key] = calculate()
        return cast("T", self._memo[key])

    @cached_property
    def mean_length(self) -> float:
        """Mean length of the collection's documents, else of the judged ones; nan if unknown."""
        if self._mean_length is not None:
            return self._mean_length
        known = self.doc_length[self.doc_length >= 0]
        return float(known.mean()) if len(known) else float("nan")

    @cached_property
    def no_bep(self) -> bool:
        """Whether there is relevant text, but nowhere a point to start reading."""
        judgements = self.judgements
        return bool(judgements.relevant.any()) and not (judgements.bep >= 0).any()

    @cached_property
    def unmeasured(self) -> bool:
        """Whether the length of any relevant document is not known."""
        return bool((self.length[self.judgements.relevant] < 0).any())

    @cached_property
    def element_size(self) -> Ints:
        """Sum of rsize over the assessed elements of each topic."""
        elements = self.judgements.elements
        n = len(self.judgements.topics)
        if self.forest is not None:
            counts = np.where(self.forest.counts, np.maximum(self.forest.rsize, 0), 0)
            topic = self.judgements.topic[self.forest.row]
            return np.bincount(topic, counts, n).astype(np.int64)
        if elements is None or "rsize" not in elements.columns:
            return np.zeros(n, dtype=np.int64)
        topic = self.judgements.topic[elements["row"].to_numpy()]
        sizes: Ints = elements["rsize"].fill_null(0).to_numpy()
        return np.bincount(topic, sizes, n).astype(np.int64)

    def find(self, topic: Ints, doc: Ints) -> Ints:
        """The row that judges each topic and document (codes), `UNKNOWN` where there is none."""
        return self._rows.find(self._pairs(topic, doc))

    def _pairs(self, topic: Ints, doc: Ints) -> Hashes:
        """One number for each pair of topic and document."""
        return (topic * len(self.doc_length) + doc).view(np.uint64)


class Alignment:
    """One run against judgements, restricted to judged topics, as arrays over all results."""

    def __init__(self, run: Run, judged: Gold) -> None:
        known = np.array([topic in judged.topic_at for topic in run.topics], dtype=bool)
        self.unjudged_topics = tuple(np.array(run.topics, dtype=object)[~known].tolist())
        self.run = run if known.all() else run.take(np.repeat(known, np.diff(run.bounds)))
        self.gold = judged
        self._memo: dict[Hashable, object] = {}
        self.place = {topic: i for i, topic in enumerate(self.run.topics)}
        heads, of = self.run.heads, self.run.head_of
        # Each document of a topic is looked up once: half of the results, or a third.
        code = judged.docs.find(self.run.doc.gather(heads))
        self.in_judgements: Bools = code >= 0
        """Which documents are judged for any topic, in the order of `Run.heads`."""
        some = np.flatnonzero(code >= 0)
        code = code[some]
        self.judged_topic = np.array([judged.topic_at[t] for t in self.run.topics], dtype=np.int64)
        """Of each topic of the run, its number in the judgements."""
        topic = self.judged_topic[self.run.topic[heads[some]]]
        self.document_row = np.full(len(heads), UNKNOWN, dtype=np.int64)
        """The judgement of each document of each topic, in the order of `Run.heads`."""
        self.document_row[some] = judged.find(topic, code)
        self.row = self.document_row[of]
        of_document = np.full(len(heads), UNKNOWN, dtype=np.int64)
        of_document[some] = judged.doc_length[code]
        length = of_document[of]
        own = self.run.length  # known from a collection
        self.length: Ints = length if own is None else np.where(length < 0, own, length)

    def memo(self, key: Hashable, calculate: Callable[[], T]) -> T:
        """A value of the whole run that several measures share, calculated once."""
        if key not in self._memo:
            self._memo[key] = calculate()
        return cast("T", self._memo[key])

    @cached_property
    def end(self) -> Ints:
        """Where results end; a whole document ends at its length where that is known."""
        whole = (self.run.end < 0) & (self.run.start >= 0)
        end: Ints = np.where(whole, self.length, self.run.end) if whole.any() else self.run.end
        return end

    @cached_property
    def placed(self) -> Bools:
        """Which results have a start and an end."""
        return (self.run.start >= 0) & (self.end >= 0)

    @cached_property
    def _relevant_documents(self) -> Bools:
        """Which documents are relevant, in the order of `Run.heads`."""
        row, relevant = self.document_row, self.gold.judgements.relevant
        return (row >= 0) & relevant[row] if len(relevant) else row >= 0

    @property
    def relevant(self) -> Bools:
        """Which results are of a relevant document."""
        return self._relevant_documents[self.run.head_of]

    @cached_property
    def all_have_text(self) -> bool:
        """True if every result has a place and at least one character."""
        return bool((self.end > self.run.start).all())  # both are -1 without a place

    @cached_property
    def size(self) -> Ints:
        size: Ints = np.maximum(self.end - self.run.start, 0)
        return size

    @cached_property
    def rsize(self) -> Ints:
        """Highlighted characters in each result."""
        return self.highlighted_in(None, self.run.start, self.end)

    def highlighted_in(self, result: Ints | None, start: Ints, end: Ints) -> Ints:
        """Highlighted characters of ``[start, end)`` in the documents of these results, or all."""
        count = np.zeros(len(start), dtype=np.int64)
        relevant = self._relevant_documents[self.run.head_of]
        text = np.flatnonzero(relevant if result is None else relevant[result])
        row = self.row[text if result is None else result[text]]
        base, extent = self.gold.base[row], self.gold.extent[row]
        left = np.minimum(np.maximum(start[text], 0), extent)
        right = np.maximum(np.minimum(end[text], extent), left)
        first, last = self.gold.passages
        own = (first[row], last[row])
        count[text] = self.gold.highlighted.within(base + left, base + right, own)
        return count

    @cached_property
    def axis(self) -> tuple[Ints, Ints]:
        """Start and end of each result on one axis, documents of all topics side by side."""
        return spans.side_by_side(self.run.start, self.end, self.run.first)

    @cached_property
    def _by_text(self) -> bool:
        """Whether overlap shows in the text: all of it is known, or nothing else is."""
        return self.run.xpath is None or bool(self.placed.all())

    @property
    def nesting(self) -> tuple[Ints, Ints]:
        """An axis on which overlap shows: of the text, or where no text is known of the paths."""
        return self.axis if self._by_text else self.run.nesting

    @cached_property
    def conflicts(self) -> tuple[Ints, Ints]:
        """Results whose texts overlap: (earlier, later)."""
        run = self.run
        if not len(run.returns) and spans.all_apart(run.start, self.end, run.head_of):
            return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
        return spans.conflicts(*self.axis)

    @property
    def clashes(self) -> tuple[Ints, Ints]:
        """Results that overlap by their text, or where none is known by their paths."""
        return self.conflicts if self._by_text else spans.conflicts(*self.nesting)

    @cached_property
    def pieces(self) -> spans.Pieces:
        """Newly covered text in rank order, in document offsets."""
        start, end = self.axis
        pieces = spans.newly_covered(start, end)
        shift = (start - np.maximum(self.run.start, 0))[pieces.owner]
        return spans.Pieces(pieces.start - shift, pieces.end - shift, pieces.owner)

    @cached_property
    def new_size(self) -> Ints:
        """Characters of each result that no earlier result of the topic covered."""
        if not len(self.conflicts[0]):
            return self.size
        sizes = self.pieces.end - self.pieces.start
        return np.bincount(self.pieces.owner, sizes, len(self.run)).astype(np.int64)

    @cached_property
    def new_rsize(self) -> Ints:
        """Highlighted characters of each result that no earlier result of the topic covered."""
        if not len(self.conflicts[0]):
            return self.rsize
        piece = self.pieces
        found = self.highlighted_in(piece.owner, piece.start, piece.end)
        return np.bincount(piece.owner, found, len(self.run)).astype(np.int64)

    def sizes(self, *, union: bool) -> tuple[Ints, Ints]:
        """Characters and relevant characters of each result that count."""
        return (self.new_size, self.new_rsize) if union else (self.size, self.rsize)

    def read(self, *, union: bool) -> Ints:
        """Characters returned up to each result of its topic."""
        return self.memo(("read", union), lambda: self._running(self._totals(union=union)[0]))

    def found(self, *, union: bool) -> Ints:
        """Relevant characters returned up to each result of its topic."""
        return self.memo(("found", union), lambda: self._running(self._totals(union=union)[1]))

    def _totals(self, *, union: bool) -> tuple[Ints, Ints]:
        """Characters and relevant characters before each result of the whole run, and in all.

        In whole numbers, so that any difference is exact.
        """
        return self.memo(
            ("totals", union),
            lambda: (_before(self.sizes(union=union)[0]), _before(self.sizes(union=union)[1])),
        )

    def found_before(self, *, union: bool) -> Ints:
        """Relevant characters before each result of the whole run, and in all of it."""
        return self._totals(union=union)[1]

    def _running(self, total: Ints) -> Ints:
        """Sums up to each result of its topic."""
        bounds = self.run.bounds
        return total[1:] - np.repeat(total[bounds[:-1]], np.diff(bounds))

    def precision(self, *, union: bool) -> Floats:
        """P[r] in characters up to each result of its topic; 0 before any text was read."""
        return self.memo(
            ("precision", union),
            lambda: self.found(union=union) / np.maximum(self.read(union=union), 1),
        )

    def documents(self, *, union: bool) -> Documents:
        """The documents of all topics, those of one topic side by side."""
        return self.memo(("documents", union), lambda: self._documents(union=union))

    def _documents(self, *, union: bool) -> Documents:
        judgements, row = self.gold.judgements, self.document_row
        head, of_result = self.run.heads, self.run.head_of
        relevant = self._relevant_documents
        return Documents(
            head,
            of_result,
            row,
            relevant,
            np.where(relevant, np.append(judgements.rel_size, 0)[row], 0),  # the 0 is for UNKNOWN
            *map(self._by_document, self.sizes(union=union), self._totals(union=union)),
        )

    def _by_document(self, values: Ints, total: Ints) -> Ints:
        """Sums over the results of each document; `total` is before each of them."""
        run = self.run
        if len(run.returns):
            return np.bincount(run.head_of, values, len(run.heads)).astype(np.int64)
        return np.diff(total[run.heads], append=total[-1])

    @cached_property
    def document_bounds(self) -> Ints:
        """Bounds as those of the run, of documents instead of results."""
        return np.searchsorted(self.run.heads, self.run.bounds)

    def topic(self, name: str, *, union: bool = False, again: bool = False) -> TopicView:
        """The view of one judged topic; a topic without results is an empty view."""
        return TopicView(self, name, union=union, again=again)


def _before(values: Ints) -> Ints:
    total = np.zeros(len(values) + 1, dtype=np.int64)
    np.cumsum(values, out=total[1:])
    return total


class Documents(NamedTuple):
    """Documents in order of their first result, of one topic or of several side by side."""

    head: Ints
    """Position of each document's first result."""
    of_result: Ints
    """Number of the document of each result."""
    row: Ints
    relevant: Bools
    rel_size: Ints
    size: Ints
    rsize: Ints


class TopicView:
    """The results of one topic, in rank order, beside what is relevant.

    `size` and `rsize` follow the overlap policy: as the results are, or under ``union`` only
    what no earlier result covered. With `again` (``--overlap allow``) an element that is returned
    twice gains twice where a measure is about elements.
    """

    def __init__(self, alignment: Alignment, name: str, *, union: bool, again: bool) -> None:
        self.alignment = alignment
        self.name = name
        self.union = union
        self.again = again
        self.place = place = alignment.place.get(name)
        bounds = alignment.run.bounds
        low, high = (0, 0) if place is None else (int(bounds[place]), int(bounds[place + 1]))
        self.slice = slice(low, high)
        self.n = high - low
        at = alignment.gold.topic_at[name]
        self.relevant_documents = int(alignment.gold.nrel[at])
        self.trel = int(alignment.gold.trel[at])
        self.beps = int(alignment.gold.beps[at])
        self.at = at
        self.element_size = int(alignment.gold.element_size[at])
        self._memo: dict[Hashable, object] = {}

    def memo(self, key: Hashable, calculate: Callable[[], T]) -> T:
        """A value that several measures share, calculated once for this topic."""
        if key not in self._memo:
            self._memo[key] = calculate()
        return cast("T", self._memo[key])

    @property
    def start(self) -> Ints:
        return self.alignment.run.start[self.slice]

    @property
    def end(self) -> Ints:
        return self.alignment.end[self.slice]

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

    @property
    def row(self) -> Ints:
        """The judgement of each result's document, `UNKNOWN` if unjudged."""
        return self.alignment.row[self.slice]

    @property
    def length(self) -> Ints:
        """Length of each result's document, `UNKNOWN` if not known."""
        return self.alignment.length[self.slice]

    @property
    def size(self) -> Ints:
        return self.alignment.sizes(union=self.union)[0][self.slice]

    @property
    def rsize(self) -> Ints:
        return self.alignment.sizes(union=self.union)[1][self.slice]

    @property
    def new_size(self) -> Ints:
        return self.alignment.new_size[self.slice]

    @property
    def new_rsize(self) -> Ints:
        return self.alignment.new_rsize[self.slice]

    @property
    def read(self) -> Ints:
        """Characters returned up to each rank."""
        return self.alignment.read(union=self.union)[self.slice]

    @property
    def found(self) -> Ints:
        """Relevant characters returned up to each rank."""
        return self.alignment.found(union=self.union)[self.slice]

    @property
    def precision(self) -> Floats:
        """P[r] in characters; 0 before any text was read."""
        return self.alignment.precision(union=self.union)[self.slice]

    @cached_property
    def parts(self) -> spans.Pieces:
        """The text that counts, in rank order: the results, or under ``union`` their new pieces."""
        if not self.union:
            return spans.Pieces(self.start, self.end, np.arange(self.n))
        return self.pieces

    @cached_property
    def pieces(self) -> spans.Pieces:
        """What each result adds to the text of those before it, in rank order."""
        pieces = self.alignment.pieces
        low, high = np.searchsorted(pieces.owner, [self.slice.start, self.slice.stop])
        own = slice(int(low), int(high))
        return spans.Pieces(
            pieces.start[own], pieces.end[own], pieces.owner[own] - self.slice.start
        )

    @cached_property
    def own_documents(self) -> slice:
        """Which documents of the run are this topic's."""
        if self.place is None:
            return slice(0, 0)
        low, high = self.alignment.document_bounds[self.place : self.place + 2].tolist()
        return slice(low, high)

    @property
    def relevant(self) -> Bools:
        """Which documents of this topic are relevant."""
        return self.alignment.documents(union=self.union).relevant[self.own_documents]

    @cached_property
    def documents(self) -> Documents:
        """The documents of this topic; heads and numbers count within it."""
        docs, own = self.alignment.documents(union=self.union), self.own_documents
        return Documents(
            docs.head[own] - self.slice.start,
            docs.of_result[self.slice] - own.start,
            docs.row[own],
            docs.relevant[own],
            docs.rel_size[own],
            docs.size[own],
            docs.rsize[own],
        )

    def passages(self, row: int) -> list[tuple[int, int]]:
        """The relevant passages of a judged document, disjoint and sorted."""
        return self.alignment.gold.judgements.passages(row)
