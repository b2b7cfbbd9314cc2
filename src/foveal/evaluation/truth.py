"""From judgements as read to what runs are scored against: topics, pools, places, trees."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path

import numpy as np

from foveal.collection import Collection
from foveal.collection.opened import opened
from foveal.errors import UsageError, counted, some
from foveal.evaluation.cas import CasFilter
from foveal.evaluation.conversion import sizes_of_text, unknown_tags
from foveal.evaluation.options import Options
from foveal.evaluation.placing import place_judgements
from foveal.formats import read_judgements, read_topics
from foveal.measures import Measure, Need
from foveal.measures.alignment import Gold
from foveal.model import Judgements, Provenance, Topics
from foveal.model.judgements import ASSESSOR_POLICIES
from foveal.recall import Forest
from foveal.recall.forest import scale_of
from foveal.spans import Ints

__all__ = ["Truth", "notes_of"]

_OF_TREES = frozenset([Need.STRUCTURE, Need.ELEMENTS])
_SIZED = ("2005", "2006")
"""Scales on which the sizes of elements tell what they are worth."""


class Truth:
    """Judgements restricted to what is wanted, and with a collection placed on its text."""

    def __init__(
        self,
        judgements: Judgements | str | Path | Sequence[str | Path],
        options: Options,
        collection: str | Path | None,
    ) -> None:
        self.options = options
        for asked, name in ((options.snap, "--snap"), (options.recompute, "--recompute")):
            if asked and collection is None:
                raise UsageError(f"{name} takes a collection (-C)")
        given = judgements if isinstance(judgements, Judgements) else read_judgements(judgements)
        self.every_topic = frozenset(given.topics)
        self._given = given
        self.warnings: list[str] = []
        self.topics: Topics | None = None
        if options.topics_file is not None:
            self.topics = read_topics(options.topics_file)
        self.cas = CasFilter.of(options, self.topics)
        kept = self._of_pools(given)
        kept = self._of_topics(kept)
        kept.check_lengths()
        self.index = None if collection is None else opened(collection)
        kept = kept if self.index is None else place_judgements(kept, self.index)
        if not kept.relevant.any():
            # Where nothing is relevant, all of the relevant text is known.
            kept = replace(kept, has_text=True)
        self.judgements = kept
        self.warnings[:0] = self.judgements.notes

    @property
    def sources(self) -> Iterator[tuple[str, Provenance]]:
        """What was read, each with what it is."""
        yield from (("judgements", source) for source in self.judgements.sources)
        if self.topics is not None:
            yield from (("topics", source) for source in self.topics.sources)
        if self.cas is not None and self.cas.support is not None:
            yield from (("support judgements", source) for source in self.cas.support.sources)
        if self.index is not None:
            yield "collection", self.index.source

    # -- which judgements -----------------------------------------------------------------------

    def _of_pools(self, judgements: Judgements) -> Judgements:
        pools = self.options.pools
        if pools is None:
            return judgements
        unknown = [pool for pool in pools if pool not in judgements.assessors]
        if unknown:
            known = some(judgements.assessors) or "none is named"
            raise UsageError(f"pools not among the judgements: {', '.join(unknown)} ({known})")
        assert judgements.assessor is not None
        chosen = judgements.assessor.is_in(list(pools)).fill_null(value=False)
        return judgements.only(chosen.to_numpy())

    def _of_topics(self, judgements: Judgements) -> Judgements:
        options = self.options
        if options.castitles_only:
            if self.topics is None:
                raise UsageError(
                    "this task averages over the topics that have a castitle; give the topic "
                    "statements (--topics-file)"
                )
            with_structure = [t for t in judgements.topics if t in self.topics.castitles]
            if not with_structure:
                raise UsageError(f"no judged topic has a castitle in {options.topics_file}")
            judgements = judgements.for_topics(with_structure)
        if options.only_topics is None:
            return judgements
        lost = [topic for topic in options.only_topics if topic not in judgements.topics]
        unknown = [topic for topic in lost if topic not in self.every_topic]
        other = [topic for topic in lost if topic in self.every_topic]
        said = [
            *([f"topics wanted but not judged: {some(unknown)}"] if unknown else []),
            *([f"wanted topics of other pools or tasks: {some(other)}"] if other else []),
        ]
        if len(unknown) == len(options.only_topics):
            raise UsageError(f"none of the wanted topics is judged: {some(unknown)}")
        if len(lost) == len(options.only_topics):
            raise UsageError(f"none of the wanted topics is left; {'; '.join(said)}")
        self.warnings += said
        return judgements.for_topics(options.only_topics)

    @property
    def has_parts(self) -> bool:
        """True if parts of documents are judged: passages or elements."""
        own = self.judgements
        return bool(len(own.start)) or own.places is not None or own.elements is not None

    @property
    def assessors(self) -> Sequence[str | None]:
        """The assessors to score against one by one, or None for all of them together."""
        if self.options.assessors == "each":
            if not self.judgements.assessors:
                raise UsageError("--assessors each: the judgements name no assessor")
            return self.judgements.assessors
        if self.options.assessors == "union" and self.judgements.several_assessors:
            what = "highlights" if self.judgements.has_text else "judgements"
            self.warnings.append(
                f"{len(self.judgements.assessors)} assessors, several for some documents: their "
                f"{what} are united (--assessors chooses otherwise)"
            )
        return (None,)

    # -- what measures look at ------------------------------------------------------------------

    @cached_property
    def document_lengths(self) -> Ints:
        """Known lengths of all judged documents, whatever topics, pools and assessors are chosen.

        A scale that is taken from them must not change with the selection.
        """
        _, _, length = self._given.documents(strict=False)
        return length[length >= 0]

    @property
    def mean_length(self) -> float:
        """The value of L=auto: mean length of the collection's documents, else of the judged ones.

        It is nan if no length is known.
        """
        if self.index is not None:
            return self.index.mean_length
        known = self.document_lengths
        return float(known.mean()) if len(known) else float("nan")

    @property
    def mean_length_source(self) -> str:
        """Say what `mean_length` is the mean of."""
        if self.index is not None:
            return f"mean length of {counted(len(self.index), 'document')} of the collection"
        documents = counted(len(self.document_lengths), "judged document")
        return f"mean length of {documents} (all topics: {len(self.every_topic)})"

    def judged(self, assessor: str | None, measures: Sequence[Measure]) -> Gold:
        """The judgements of one assessor, or of all combined, as these measures need them."""
        combined = self.judgements.combined(assessor or self.options.assessors)
        needs = {need for measure in measures for need in measure.needs}
        count = self.index is not None and Need.COLLECTION_SIZE in needs
        judged = Gold(
            combined,
            mean_length=self.mean_length if Need.MEAN_LENGTH in needs else None,
            forest=self._forest(combined, measures),
            collection_elements=self.index.count_nonempty() if self.index and count else None,
        )
        for note in notes_of(measures, judged):
            if note not in self.warnings:
                self.warnings.append(note)
        return judged

    def _forest(self, combined: Judgements, measures: Sequence[Measure]) -> Forest | None:
        """The trees of the judged elements, less what the options leave out."""
        options, cas = self.options, self.cas
        of_text = [measure.label for measure in measures if _OF_TREES.isdisjoint(measure.needs)]
        for given, name in ((cas, "--cas"), (options.exclude_tags, "--exclude-tags")):
            if given and len(of_text) == len(measures):
                raise UsageError(f"{name} is for measures of elements; none is asked for")
            note = f"{name} leaves measures that are not about elements as they are: "
            if given and of_text and note + some(of_text) not in self.warnings:
                self.warnings.append(note + some(of_text))
        if len(of_text) == len(measures):
            return None
        self._warn_of_sizes(combined)
        if self.index is not None:
            forest = self._of_collection(combined, self.index)
        elif combined.elements is not None:
            forest = Forest.from_assessments(combined)
        else:
            return None
        if options.exclude_tags:
            said = unknown_tags(options.exclude_tags, forest.paths, self.index)
            self.warnings += [note for note in said if note not in self.warnings]
            forest = forest.without_tags(options.exclude_tags)
        if cas is not None:
            forest = forest.only(cas(combined, forest.row, forest.xpath))
            found = (forest.assessed.exhaustivity > 0) | forest.assessed.too_small
            if not (forest.counts & found).any():
                raise UsageError(f"--cas {cas.reading} leaves no relevant element of any topic")
        return forest

    def _counts_shared_text(self, combined: Judgements) -> bool:
        """Whether elements have the sizes of the text that several assessors agree on.

        Sizes are all that an element of 2006 has; before, grades and sizes of one assessor belong
        together unless they are recomputed.
        """
        whole = self.options.assessors in ASSESSOR_POLICIES and self.judgements.several_assessors
        counted = self.options.recompute or scale_of(combined) == "2006"
        return whole and counted and combined.has_text and self.index is not None

    def _warn_of_sizes(self, combined: Judgements) -> None:
        """Say that sizes are those of one assessor where the text they agree on has others."""
        elements, scale = combined.elements, scale_of(combined)
        if (
            self.options.assessors not in ASSESSOR_POLICIES
            or elements is None
            or scale not in _SIZED
            or self._counts_shared_text(combined)
            or not self.judgements.shared[elements["row"].to_numpy()].any()
        ):
            return
        mended = "without passages it cannot be counted"
        if self.judgements.has_text or self.judgements.places is not None:
            collection = [] if self.index is not None else ["a collection (-C)"]
            option = [] if scale == "2006" else ["--recompute"]
            mended = f"{' with '.join([*collection, *option])} counts it"
        self.warnings.append(
            "elements that several assessors list have the size of one of them, not that of the "
            f"text they agree on; {mended}"
        )

    def _of_collection(self, combined: Judgements, index: Collection) -> Forest:
        """The trees of relevant documents; where a judgement lists elements, only those count."""
        recompute, elements = self.options.recompute, combined.elements
        if recompute and scale_of(combined) in _SIZED and not combined.has_text:
            raise UsageError(
                "--recompute counts highlighted text, and the judgements have none; without it "
                "their own sizes are used"
            )
        if self._counts_shared_text(combined) and not recompute:
            shared = self.judgements.shared & combined.relevant
            combined = sizes_of_text(combined, index, shared)
        forest = Forest.from_collection(combined, index, recompute=recompute)
        if elements is None:
            return forest
        row = elements["row"].to_numpy()
        node = forest.find(row, elements["xpath"])
        listed = np.zeros(len(forest), dtype=bool)
        listed[node[node >= 0]] = True
        lists = np.zeros(len(combined), dtype=bool)
        lists[row] = True
        return forest.only(listed | ~lists[forest.row])


def notes_of(measures: Sequence[Measure], judged: Gold) -> Iterator[str]:
    """What the measures have to say of the judgements; what several of them say, once."""
    by_text: dict[str, list[str]] = {}
    for measure in measures:
        for note in measure.notes(judged):
            about, _, text = note.partition(": ")
            names = by_text.setdefault(text if about == measure.name else note, [])
            if about == measure.name and about not in names:
                names.append(about)
    for text, names in by_text.items():
        yield f"{', '.join(names)}: {text}" if names else text
