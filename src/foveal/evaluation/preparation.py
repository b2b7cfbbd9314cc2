"""Prepare judgements and runs for scoring.

Judgements are selected, combined and made ready for look-up. A run is aligned with them; everything
a task forbids is refused here, before any score, or mended where an option allows it: results past
the end of a document, overlap, interleaved documents, missing inputs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from foveal import spans
from foveal.errors import InputError, Problem, Tally, UsageError, some
from foveal.evaluation.options import Options
from foveal.measures.alignment import Alignment, Gold, Overlap, find_disjoint
from foveal.measures.base import Measure, Need, OverlapRule
from foveal.model.judgements import ASSESSOR_POLICIES, Judgements
from foveal.model.run import Run
from foveal.spans import Ints

if TYPE_CHECKING:
    from foveal.collection import Collection
    from foveal.evaluation.cas import CasFilter
    from foveal.model.topics import Topics
    from foveal.recall.forest import Forest

__all__ = [
    "NEED_TREES",
    "UNJUDGED_TOPICS",
    "AlignedRun",
    "align_run",
    "choose_overlap",
    "drop_topics",
    "list_assessors",
    "list_notes",
    "prepare_gold",
    "refuse_excluded",
    "refuse_unjudged",
    "select_judgements",
]

Bools = npt.NDArray[np.bool_]
UNJUDGED_TOPICS = "topics without judgements, {}: {}"
NEED_TREES = frozenset([Need.STRUCTURE, Need.ELEMENTS])
_SIZED_SCALES = ("2005", "2006")
"""Scales on which the size of an element decides what it is worth."""


# -- judgements ------------------------------------------------------------------------------------


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
        from foveal.collection.placement import place_judgements

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
    of_text = [measure.label for measure in measures if NEED_TREES.isdisjoint(measure.needs)]
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


# -- runs ------------------------------------------------------------------------------------------


class AlignedRun:
    """A run that was checked and aligned with judgements, ready for measures.

    Parameters
    ----------
    run : Run
        The run as read, on the text of the collection if there is one.
    gold : Gold
    unlimited : Alignment
        The results on judged topics, before any character limit cut them.
    alignment : Alignment
        The results that count.
    overlaps : dict of Measure to Overlap
        How each measure sees overlapping results.
    warnings : list of str
        Each is a `Tally`, so that those about parts of a run add up; empty ones mean nothing.
    has_parts : bool
        True if some results are parts of documents.
    """

    def __init__(
        self,
        run: Run,
        unlimited: Alignment,
        alignment: Alignment,
        overlaps: dict[Measure, Overlap],
        warnings: list[str],
        *,
        has_parts: bool,
    ) -> None:
        self.run = run
        self.gold: Gold = alignment.gold
        self.unlimited = unlimited
        self._alignment = alignment
        self.overlaps = overlaps
        self.warnings = warnings
        self.has_parts = has_parts
        for overlap in dict.fromkeys(overlaps.values()):
            if overlap in (Overlap.DISJOINT, Overlap.FIRST_PER_DOCUMENT):
                dropped = len(alignment.run) - len(self.alignment(overlap).run)
                warnings.append(Tally(f"{overlap.value}: {{}}", dropped))

    def alignment(self, overlap: Overlap = Overlap.AS_IT_IS) -> Alignment:
        """Return the alignment under a treatment of overlap."""
        return self._alignment.with_overlap(overlap)

    def alignment_for(self, measure: Measure) -> Alignment:
        """Return the alignment that a measure is computed on."""
        return self.alignment(self.overlaps[measure])


def align_run(
    run: Run,
    gold: Gold,
    measures: Sequence[Measure],
    options: Options,
    *,
    has_parts: bool = True,
) -> AlignedRun:
    """Align a run with gold judgements, refusing what measures and options do not allow."""
    alignment = Alignment(run, gold)
    if not len(alignment.run) and not gold.is_part:
        raise refuse_unjudged(run.source.path, run.topics, gold.topics)
    wanted = options.only_topics
    unjudged = [t for t in alignment.unjudged_topics if wanted is None or t in wanted]
    warnings: list[str] = [*run.notes, Tally(UNJUDGED_TOPICS, len(unjudged), unjudged)]
    if options.max_results is not None:
        alignment = _cut_topics(alignment, options.max_results, warnings)
    length = alignment.length
    past = (length >= 0) & ((alignment.run.end > length) | (alignment.run.start > length))
    warnings.append(Tally("results clipped at the end of their document: {}", int(past.sum())))
    if past.any():
        alignment = _clip_results(alignment, past, lenient=options.lenient)
    _check_needs(alignment, measures)
    unlimited = alignment
    for limit, unit in ((options.topic_limit, "topic"), (options.document_limit, "document")):
        if limit is not None:
            alignment = _apply_limit(alignment, limit, unit, warnings, truncate=options.truncate)
    _check_rules(alignment, measures, options, warnings)
    _count_oddities(alignment, measures, options, warnings)
    overlaps = {measure: choose_overlap(measure, options) for measure in measures}
    return AlignedRun(run, unlimited, alignment, overlaps, warnings, has_parts=has_parts)


def choose_overlap(measure: Measure, options: Options) -> Overlap:
    """Return how a measure sees overlapping results under these options."""
    one = measure.overlap_rule is OverlapRule.ONE_PER_DOCUMENT
    if options.overlap == "drop":
        return Overlap.FIRST_PER_DOCUMENT if one else Overlap.DISJOINT
    if measure.structural:
        return Overlap.COUNT_REPEATS if options.overlap == "allow" else Overlap.AS_IT_IS
    return Overlap.UNION if options.overlap == "union" and not one else Overlap.AS_IT_IS


def drop_topics(run: Run, excluded: frozenset[str], gold: Gold) -> Run:
    """Return the run without the topics that are excluded from the evaluation."""
    if excluded.isdisjoint(run.topics):
        return run
    kept = np.array([topic not in excluded for topic in run.topics], dtype=bool)
    if not kept.any() and not gold.is_part:
        raise refuse_excluded(run.source.path, run.topics, gold.topics)
    return run.take(kept[run.topic])


def refuse_excluded(path: str, topics: Sequence[str], evaluated: Sequence[str]) -> InputError:
    """Return the error about a run whose topics are all excluded."""
    return InputError.at(
        "unclassified",
        path,
        None,
        f"all topics of the run are left out of the evaluation; the run has "
        f"{some(topics)}, evaluated are {some(evaluated)}",
    )


def refuse_unjudged(path: str, topics: Sequence[str], judged: Sequence[str]) -> InputError:
    """Return the error about a run without a judged topic."""
    return InputError.at(
        "unclassified",
        path,
        None,
        f"no topic in common with the judgements; the run has {some(topics) or 'none'}, "
        f"the judgements {some(judged)}",
    )


def _refuse_results(run: Run, rows: Iterable[int], describe: Callable[[int], str]) -> InputError:
    """Return the error that names the line of each of these results."""
    return InputError(
        Problem("unclassified", run.source.path, int(run.line[i]), describe(i)) for i in rows
    )


def _describe_place(run: Run, i: int) -> str:
    return f"topic {run.topics[run.topic[i]]!r}, document {run.doc[i]!r}"


# -- limits ----------------------------------------------------------------------------------------


def _cut_topics(alignment: Alignment, most: int, warnings: list[str]) -> Alignment:
    """Keep the first results of each topic."""
    run = alignment.run
    long = int((np.diff(run.bounds) > most).sum())
    warnings.append(Tally(f"topics cut at {most} results: {{}}", long))
    if not long:
        return alignment
    return Alignment(run.take(np.arange(len(run)) - run.bounds[run.topic] < most), alignment.gold)


def _clip_results(alignment: Alignment, past: Bools, *, lenient: bool) -> Alignment:
    """Clip the results that end past their document, or refuse them."""
    run, length = alignment.run, alignment.length
    if not lenient:
        raise _refuse_results(
            run,
            np.flatnonzero(past).tolist(),
            lambda i: (
                f"the result ends at {max(int(run.end[i]), int(run.start[i]))}, past the end of "
                f"document {run.doc[i]!r} of {length[i]} characters (--lenient clips)"
            ),
        )
    start = np.where(past, np.minimum(run.start, length), run.start)
    end = np.where(past & (run.end >= 0), np.minimum(run.end, length), run.end)
    return Alignment(replace(run, start=start, end=end), alignment.gold)


def _apply_limit(
    alignment: Alignment, limit: int, unit: str, warnings: list[str], *, truncate: bool
) -> Alignment:
    """Cut or refuse results beyond the character limit of a restricted task."""
    run, size = alignment.run, alignment.size
    unknown = np.flatnonzero(~alignment.placed)
    if len(unknown):
        raise _refuse_results(
            run,
            unknown.tolist(),
            lambda i: (
                f"the length of this result of {run.doc[i]!r} is not known; the task allows "
                f"{limit} characters per {unit} (-C INDEX tells the length)"
            ),
        )
    group = run.topic if unit == "topic" else run.first
    before = _sum_earlier(group, size)
    over = np.flatnonzero(before + size > limit)
    warnings.append(Tally(f"results cut at {limit} characters per {unit}: {{}}", len(over)))
    if not len(over):
        return alignment
    if not truncate:
        raise _refuse_results(
            run,
            over[np.unique(group[over], return_index=True)[1]].tolist(),
            lambda i: (
                f"more than {limit} characters are returned for this {unit} from here on "
                f"({_describe_place(run, i)}); the task forbids it (--truncate cuts)"
            ),
        )
    room = np.maximum(limit - before, 0)
    end = alignment.end.copy()
    end[over] = np.minimum(end[over], run.start[over] + room[over])
    shorter = run.cut(end, alignment.end)
    return Alignment(shorter.take((room > 0) | (size == 0)), alignment.gold)


def _sum_earlier(group: Ints, size: Ints) -> Ints:
    """Return the characters of earlier results of the same group."""
    order = np.argsort(group, kind="stable")
    total = np.cumsum(size[order]) - size[order]
    opens = np.concatenate([[True], group[order][1:] != group[order][:-1]])
    start_of = np.maximum.accumulate(np.where(opens, np.arange(len(order)), 0))
    before = np.empty_like(total)
    before[order] = total - total[start_of]
    return before


# -- needs of measures -----------------------------------------------------------------------------


def _check_needs(alignment: Alignment, measures: Sequence[Measure]) -> None:
    """Refuse measures whose inputs are missing, naming what would supply them."""
    judgements = alignment.gold.judgements
    missing = {
        need: place
        for need in {need for measure in measures for need in measure.needs}
        if (place := _find_missing(alignment, need)) is not None
    }
    for measure in measures:
        try:
            measure.check_gold(alignment.gold)
        except UsageError as error:
            raise InputError.at(
                "unclassified", judgements.sources[0].path, None, error.console_message
            ) from None
        for need in measure.needs:
            if need in missing:
                raise _refuse_measure(measure, need, judgements, missing[need])


def _find_missing(alignment: Alignment, need: Need) -> tuple[str, int | None] | None:
    """Return the file and line that show that a need is not met; None if it is met."""
    gold, run = alignment.gold, alignment.run
    rows: Bools | None = None
    absent = False
    match need:
        case Need.TEXT:
            absent = not gold.judgements.has_text
        case Need.BEP:
            absent = gold.no_bep
        case Need.RELEVANT_LENGTHS:
            absent = gold.unmeasured
        case Need.MEAN_LENGTH:
            absent = bool(np.isnan(gold.mean_length))
        case Need.ELEMENTS:
            absent = not gold.element_size.any()
        case Need.STRUCTURE:
            absent = gold.forest is None
        case Need.ELEMENT_SIZES:
            absent = gold.forest is not None and not gold.forest.placed
        case Need.COLLECTION_SIZE:
            absent = gold.collection_elements is None
        case Need.SPANS:
            rows = ~alignment.placed
        case Need.RELEVANT_SPANS:
            rows = ~alignment.placed & alignment.relevant
        case Need.RELEVANT_STARTS:
            rows = (run.start < 0) & alignment.relevant
        case Need.LENGTHS:
            rows = alignment.length < 0
        case Need.ELEMENT_RESULTS:
            if run.length is None:  # on a collection all are elements, or it does not hold them
                from foveal.collection.placement import is_element, is_whole_document

                rows = ~is_element(run) & ~is_whole_document(run)
    if rows is not None and rows.any():
        return run.source.path, int(run.line[rows][0])
    return (gold.judgements.sources[0].path, None) if absent else None


def _refuse_measure(
    measure: Measure, need: Need, judgements: Judgements, place: tuple[str, int | None]
) -> InputError:
    """Return the error about a measure that lacks a need."""
    places = judgements.places
    if places is not None and need in (Need.TEXT, Need.BEP):
        entry = places["bep"]
        by_path = places.filter(entry if need is Need.BEP else ~entry)
        if len(by_path):
            row, line = by_path.select("row", "line").row(0)
            which = "they" if need is Need.BEP else "the passages"
            message = (
                f"{measure} needs {need.what}; {which} are given as XPaths, which only a "
                "collection index resolves: give it with -C INDEX ('foveal index' makes one)"
            )
            return InputError([judgements.problem("unclassified", row, message, line=line)])
    return InputError.at(
        "unclassified", *place, f"{measure} needs {need.what}; it takes {need.supplied_by}"
    )


# -- rules of tasks --------------------------------------------------------------------------------


def _check_rules(
    alignment: Alignment, measures: Sequence[Measure], options: Options, warnings: list[str]
) -> None:
    """Refuse overlap, several results per document and interleaved documents where forbidden."""
    run = alignment.run
    by_rule: dict[OverlapRule, Measure] = {}
    for measure in measures:
        by_rule.setdefault(measure.overlap_rule, measure)
    one_only = by_rule.get(OverlapRule.ONE_PER_DOCUMENT)
    if options.overlap != "drop" and one_only is not None and len(run.repeats):
        raise _refuse_results(
            run,
            run.repeats.tolist(),
            lambda i: (
                f"a second result of one document after line {int(run.line[run.first[i]])} "
                f"({_describe_place(run, i)}); {one_only} takes one (--overlap drop keeps the "
                "first)"
            ),
        )
    strict = by_rule.get(OverlapRule.ERROR) or (measures[0] if options.overlap == "error" else None)
    if options.overlap in (None, "error") and strict is not None:
        _refuse_overlap(alignment, strict)
    grouped = next((measure for measure in measures if measure.grouped), None)
    if grouped is not None and options.regroup:
        # The measure takes each document at its first result anyway.
        moved = int(np.count_nonzero(np.bincount(run.first[run.documents.reopened_rows])))
        warnings.append(Tally("interleaved documents regrouped: {}", moved))
    elif grouped is not None and len(run.documents.reopened_rows):
        raise _refuse_results(
            run,
            run.documents.reopened_rows.tolist(),
            lambda i: (
                f"results of one document are interleaved with others: {_describe_place(run, i)}, "
                f"first on line {int(run.line[run.first[i]])}; {grouped} forbids it (--regroup)"
            ),
        )


def _refuse_overlap(alignment: Alignment, measure: Measure) -> None:
    """Refuse results that overlap or repeat earlier ones."""
    run = alignment.run
    earlier, later = alignment.conflicts
    if run.xpath is not None and not alignment.placed.all():  # overlap shows in the paths
        earlier, later = spans.conflicts(*alignment.overlap_axis)
    # Results without text or place can still repeat each other.
    if len(later) or not alignment.all_have_text:
        pairs = np.concatenate([(earlier, later), run.duplicates], axis=1)
        pairs = pairs[:, np.lexsort((pairs[0], pairs[1]))]
        earlier, later = pairs[:, np.unique(pairs[1], return_index=True)[1]]
    if not len(later):
        return
    order = np.lexsort((run.line[earlier], run.line[later]))
    before = dict(zip(later.tolist(), earlier.tolist(), strict=True))

    def describe(b: int) -> str:
        a = before[b]
        same = bool(run.start[a] == run.start[b] and run.end[a] == run.end[b])
        same &= bool(run.end[a] >= 0 or run.xpath is None or run.xpath[a] == run.xpath[b])
        return (
            f"{'repeats' if same else 'overlaps'} the result on line {int(run.line[a])} "
            f"({_describe_place(run, b)}); {measure} forbids it (--overlap drop, union or allow)"
        )

    raise _refuse_results(run, later[order].tolist(), describe)


def _count_oddities(
    alignment: Alignment, measures: Sequence[Measure], options: Options, warnings: list[str]
) -> None:
    """Count overlap that the task forbids, and empty or repeated results that nothing forbids."""
    run = alignment.run
    known_disjoint = False
    if options.warn_overlap:
        over = int((~alignment.cached(find_disjoint)).sum())
        text = "results that overlap an earlier one, which the task forbids: {}"
        warnings.append(Tally(text, over))
        known_disjoint = not over
    if any(measure.overlap_rule is not OverlapRule.ONE_PER_DOCUMENT for measure in measures):
        empty = int(((run.start == run.end) & (run.start >= 0)).sum())
        warnings.append(Tally("results without length: {}", empty))
    # Repeated results overlap, unless they are empty or without a place. Element numbers show
    # repeats in 3 ms for 171,000 results; overlap takes 7 ms that only measures of text need.
    by_number = (
        "conflicts" not in vars(alignment)
        and all(measure.structural for measure in measures)
        and run.element is not None
        and bool((run.element >= 0).all())
    )
    distinct = alignment.all_have_text and (
        known_disjoint or (not by_number and not len(alignment.conflicts[0]))
    )
    duplicates = 0 if distinct else len(run.duplicates[0])
    warnings.append(Tally("results that repeat an earlier one: {}", duplicates))
