"""From judgements as read to the gold that runs are scored against."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from foveal.errors import UsageError, some
from foveal.evaluation.options import Options
from foveal.measures.alignment import Gold
from foveal.measures.base import Measure, Need
from foveal.model.judgements import ASSESSOR_POLICIES, Judgements

if TYPE_CHECKING:
    from foveal.collection import Collection
    from foveal.evaluation.cas import CasFilter
    from foveal.model.topics import Topics
    from foveal.recall.forest import Forest

__all__ = ["list_assessors", "list_notes", "prepare_gold", "select_judgements"]

_NEED_TREES = frozenset([Need.STRUCTURE, Need.ELEMENTS])
_SIZED_SCALES = ("2005", "2006")
"""Scales on which the size of an element decides what it is worth."""


def select_judgements(
    judgements: Judgements,
    options: Options,
    index: Collection | None,
    topics: Topics | None,
    warnings: list[str],
) -> Judgements:
    """Return the judgements of the chosen pools and topics, placed on the collection's text."""
    kept = judgements
    if options.pools is not None:
        kept = _select_pools(kept, options.pools)
    if options.castitles_only:
        kept = _select_castitles(kept, topics, options.topics_file)
    if options.only_topics is not None:
        kept = _select_topics(kept, options.only_topics, judgements.topics, warnings)
    kept.check_lengths()
    if index is not None:
        from foveal.evaluation.placing import place_judgements

        kept = place_judgements(kept, index)
    if not kept.relevant.any():
        # Where nothing is relevant, all of the relevant text is known.
        kept = replace(kept, has_text=True)
    warnings[:0] = kept.notes
    return kept


def _select_pools(judgements: Judgements, pools: Sequence[str]) -> Judgements:
    unknown = [pool for pool in pools if pool not in judgements.assessors]
    if unknown:
        known = some(judgements.assessors) or "none is named"
        raise UsageError(f"pools not among the judgements: {', '.join(unknown)} ({known})")
    assert judgements.assessor is not None
    chosen = judgements.assessor.is_in(list(pools)).fill_null(value=False)
    return judgements.only(chosen.to_numpy())


def _select_castitles(
    judgements: Judgements, topics: Topics | None, topics_file: str | None
) -> Judgements:
    if topics is None:
        raise UsageError(
            "this task averages over the topics that have a castitle; give the topic "
            "statements (--topics-file)"
        )
    with_structure = [topic for topic in judgements.topics if topic in topics.castitles]
    if not with_structure:
        raise UsageError(f"no judged topic has a castitle in {topics_file}")
    return judgements.for_topics(with_structure)


def _select_topics(
    judgements: Judgements, wanted: Sequence[str], every_topic: Sequence[str], warnings: list[str]
) -> Judgements:
    lost = [topic for topic in wanted if topic not in judgements.topics]
    unknown = [topic for topic in lost if topic not in every_topic]
    other = [topic for topic in lost if topic in every_topic]
    notes = [f"topics wanted but not judged: {some(unknown)}"] if unknown else []
    notes += [f"wanted topics of other pools or tasks: {some(other)}"] if other else []
    if len(unknown) == len(wanted):
        raise UsageError(f"none of the wanted topics is judged: {some(unknown)}")
    if len(lost) == len(wanted):
        raise UsageError(f"none of the wanted topics is left; {'; '.join(notes)}")
    warnings += notes
    return judgements.for_topics(wanted)


def list_assessors(
    judgements: Judgements, options: Options, warnings: list[str]
) -> Sequence[str | None]:
    """Return the assessors to score against one by one, or None for all of them together."""
    if options.assessors == "each":
        if not judgements.assessors:
            raise UsageError("--assessors each: the judgements name no assessor")
        return judgements.assessors
    if options.assessors == "union" and judgements.several_assessors:
        what = "highlights" if judgements.has_text else "judgements"
        warnings.append(
            f"{len(judgements.assessors)} assessors, several for some documents: their "
            f"{what} are united (--assessors chooses otherwise)"
        )
    return (None,)


def prepare_gold(
    judgements: Judgements,
    assessor: str | None,
    measures: Sequence[Measure],
    options: Options,
    *,
    index: Collection | None,
    cas: CasFilter | None,
    mean_length: float,
    warnings: list[str],
) -> Gold:
    """Prepare the judgements of one assessor, or of all together, for these measures."""
    combined = judgements.combined(assessor or options.assessors)
    needs = {need for measure in measures for need in measure.needs}
    of_text = [measure.label for measure in measures if _NEED_TREES.isdisjoint(measure.needs)]
    for given, name in ((cas, "--cas"), (options.exclude_tags, "--exclude-tags")):
        if given and len(of_text) == len(measures):
            raise UsageError(f"{name} is for measures of elements; none is asked for")
        note = f"{name} leaves measures that are not about elements as they are: {some(of_text)}"
        if given and of_text and note not in warnings:
            warnings.append(note)
    forest = None
    if len(of_text) < len(measures):
        forest = _build_forest(judgements, combined, options, index, cas, warnings)
    size_needed = index is not None and Need.COLLECTION_SIZE in needs
    gold = Gold(
        combined,
        mean_length=mean_length if Need.MEAN_LENGTH in needs else None,
        forest=forest,
        collection_elements=index.count_nonempty() if index and size_needed else None,
    )
    warnings += [note for note in list_notes(measures, gold) if note not in warnings]
    return gold


def list_notes(measures: Sequence[Measure], gold: Gold) -> Iterator[str]:
    """Yield the measures' notes on these judgements; one that several share is yielded once."""
    by_text: dict[str, list[str]] = {}
    for measure in measures:
        for note in measure.notes(gold):
            about, _, text = note.partition(": ")
            names = by_text.setdefault(text if about == measure.name else note, [])
            if about == measure.name and about not in names:
                names.append(about)
    for text, names in by_text.items():
        yield f"{', '.join(names)}: {text}" if names else text


# -- the trees of the assessed elements ------------------------------------------------------------


def _build_forest(
    judgements: Judgements,
    combined: Judgements,
    options: Options,
    index: Collection | None,
    cas: CasFilter | None,
    warnings: list[str],
) -> Forest | None:
    """Build the trees of the judged elements, without those that the options exclude."""
    from foveal.recall.forest import Forest, scale_of

    scale = scale_of(combined)
    together = options.assessors in ASSESSOR_POLICIES
    # Sizes are all that an element of 2006 has; before, the grades and sizes of one assessor belong
    # together unless they are recomputed.
    count_shared_text = (
        together
        and judgements.several_assessors
        and (options.recompute or scale == "2006")
        and combined.has_text
        and index is not None
    )
    elements = combined.elements
    if (
        together
        and elements is not None
        and scale in _SIZED_SCALES
        and not count_shared_text
        and judgements.shared[elements["row"].to_numpy()].any()
    ):
        warnings.append(_describe_sizes(judgements, scale, index))
    if index is not None:
        if options.recompute and scale in _SIZED_SCALES and not combined.has_text:
            raise UsageError(
                "--recompute counts highlighted text, and the judgements have none; without it "
                "their own sizes are used"
            )
        forest = _build_from_collection(
            judgements, combined, index, options, count_shared_text=count_shared_text
        )
    elif elements is not None:
        forest = Forest.from_assessments(combined)
    else:
        return None
    if options.exclude_tags:
        from foveal.evaluation.conversion import unknown_tags

        notes = unknown_tags(options.exclude_tags, forest.paths, index)
        warnings += [note for note in notes if note not in warnings]
        forest = forest.without_tags(options.exclude_tags)
    if cas is not None:
        forest = forest.only(cas(combined, forest.row, forest.xpath))
        found = (forest.assessed.exhaustivity > 0) | forest.assessed.too_small
        if not (forest.counts & found).any():
            raise UsageError(f"--cas {cas.reading} leaves no relevant element of any topic")
    return forest


def _describe_sizes(judgements: Judgements, scale: str, index: Collection | None) -> str:
    """Explain that sizes are those of one assessor where the text they agree on has others."""
    remedy = "without passages it cannot be counted"
    if judgements.has_text or judgements.places is not None:
        collection = [] if index is not None else ["a collection (-C)"]
        option = [] if scale == "2006" else ["--recompute"]
        remedy = f"{' with '.join([*collection, *option])} counts it"
    return (
        "elements that several assessors list have the size of one of them, not that of the "
        f"text they agree on; {remedy}"
    )


def _build_from_collection(
    judgements: Judgements,
    combined: Judgements,
    index: Collection,
    options: Options,
    *,
    count_shared_text: bool,
) -> Forest:
    """Build the trees of relevant documents; where a judgement lists elements, only those count."""
    from foveal.recall.forest import Forest

    elements = combined.elements
    if count_shared_text and not options.recompute:
        from foveal.evaluation.conversion import sizes_of_text

        combined = sizes_of_text(combined, index, judgements.shared & combined.relevant)
    forest = Forest.from_collection(combined, index, recompute=options.recompute)
    if elements is None:
        return forest
    row = elements["row"].to_numpy()
    node = forest.find(row, elements["xpath"])
    listed = np.zeros(len(forest), dtype=bool)
    listed[node[node >= 0]] = True
    lists = np.zeros(len(combined), dtype=bool)
    lists[row] = True
    return forest.only(listed | ~lists[forest.row])
