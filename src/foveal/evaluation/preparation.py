"""Align a run with judgements: refuse what the measures forbid, or mend what an option allows.

Everything a task forbids is found here, before any score: results past the end of a document,
overlap, interleaved documents, missing inputs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from foveal import spans
from foveal.errors import InputError, Problem, UsageError, some
from foveal.evaluation.options import Options
from foveal.measures.alignment import Alignment, Gold, Overlap, find_disjoint
from foveal.measures.base import Measure, Need, OverlapRule
from foveal.model.judgements import Judgements
from foveal.model.run import Run
from foveal.model.tallies import Tally
from foveal.spans import Ints

__all__ = ["UNJUDGED_TOPICS", "AlignedRun", "align_run", "choose_overlap", "drop_topics"]
__all__ += ["refuse_excluded", "refuse_unjudged"]

Bools = npt.NDArray[np.bool_]
UNJUDGED_TOPICS = "topics without judgements, {}: {}"


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
        path,
        None,
        f"all topics of the run are left out of the evaluation; the run has "
        f"{some(topics)}, evaluated are {some(evaluated)}",
    )


def refuse_unjudged(path: str, topics: Sequence[str], judged: Sequence[str]) -> InputError:
    """Return the error about a run without a judged topic."""
    return InputError.at(
        path,
        None,
        f"no topic in common with the judgements; the run has {some(topics) or 'none'}, "
        f"the judgements {some(judged)}",
    )


def _refuse_results(run: Run, rows: Iterable[int], describe: Callable[[int], str]) -> InputError:
    """Return the error that names the line of each of these results."""
    return InputError(Problem(run.source.path, int(run.line[i]), describe(i)) for i in rows)


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
            raise InputError.at(judgements.sources[0].path, None, error.console_message) from None
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
                from foveal.evaluation.elements import is_element, is_whole_document

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
            return InputError([judgements.problem(row, message, line=line)])
    return InputError.at(*place, f"{measure} needs {need.what}; it takes {need.supplied_by}")


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
        moved = int(np.count_nonzero(np.bincount(run.first[run.returns])))
        warnings.append(Tally("interleaved documents regrouped: {}", moved))
    elif grouped is not None and len(run.returns):
        raise _refuse_results(
            run,
            run.returns.tolist(),
            lambda i: (
                f"results of one document are interleaved with others: {_describe_place(run, i)}, "
                f"first on line {int(run.line[run.first[i]])}; {grouped} forbids it (--regroup)"
            ),
        )


def _refuse_overlap(alignment: Alignment, measure: Measure) -> None:
    """Refuse results that overlap or repeat earlier ones."""
    run = alignment.run
    by_text = alignment.overlaps_by_text
    earlier, later = alignment.conflicts if by_text else spans.conflicts(*alignment.overlap_axis)
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
