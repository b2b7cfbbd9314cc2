"""From a run as read to the views that measures may calculate on.

Everything a task forbids is found here, before any score: results past the end of a document,
overlap, interleaved documents, missing inputs. What an option mends is mended and said.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum

import numpy as np
import numpy.typing as npt
import polars as pl

from foveal import spans
from foveal.errors import InputError, Problem, UsageError, some
from foveal.evaluation.elements import named, whole
from foveal.evaluation.options import Options
from foveal.measures import Measure, Need, OverlapRule
from foveal.measures.alignment import Alignment, Gold
from foveal.measures.gains import neighbours_meet
from foveal.model import Judgements, Run
from foveal.model.tallies import Tally
from foveal.spans import Ints

__all__ = [
    "WITHOUT_JUDGEMENTS",
    "Form",
    "Prepared",
    "all_left_out",
    "form_of",
    "nothing_in_common",
    "prepare",
    "without_topics",
]

Bools = npt.NDArray[np.bool_]
WITHOUT_JUDGEMENTS = "topics without judgements, {}: {}"


class Form(Enum):
    """The form of a run that a measure is calculated on."""

    AS_IT_IS = "as it is"
    UNION = "only new text counts"
    DISJOINT = "results that overlap an earlier one dropped"
    ONE_PER_DOCUMENT = "all but the first result of each document dropped"
    COUNTED_AGAIN = "as it is; an element returned again gains again"


@dataclass
class Prepared:
    """A run ready for scoring: its forms, which one each measure takes, and what was said."""

    alignment: Alignment
    form_of: list[Form]
    tallies: list[str] = field(default_factory=list)
    """All that may be said of a run, in order; empty where there is nothing to say of this one."""
    _dropped: dict[Form, Alignment] = field(default_factory=dict)

    @property
    def warnings(self) -> list[str]:
        """What is said."""
        return [tally for tally in self.tallies if tally]

    def aligned(self, form: Form) -> Alignment:
        """The alignment of one form of the run."""
        if form not in (Form.DISJOINT, Form.ONE_PER_DOCUMENT):
            return self.alignment
        if form not in self._dropped:
            run = self.alignment.run
            if form is Form.DISJOINT:
                keep = _kept(self.alignment)
            else:
                keep = run.first == np.arange(len(run))
            self.tallies.append(Tally(f"{form.value}: {{}}", len(run) - int(keep.sum())))
            self._dropped[form] = Alignment(run.take(keep), self.alignment.gold)
        return self._dropped[form]


def prepare(run: Run, judged: Gold, measures: Sequence[Measure], options: Options) -> Prepared:
    """Check a run against what the measures allow, mend what the options say."""
    warnings = list(run.notes)
    alignment = Alignment(run, judged)
    wanted = options.only_topics
    unjudged = [t for t in alignment.unjudged_topics if wanted is None or t in wanted]
    warnings.append(Tally(WITHOUT_JUDGEMENTS, len(unjudged), unjudged))
    if not len(alignment.run):
        raise nothing_in_common(run.source.path, run.topics, judged.judgements.topics)
    alignment = _cut(alignment, options, warnings)
    alignment = _clip(alignment, options, warnings)
    _check_needs(alignment, measures)
    alignment = _limit(alignment, options, warnings)
    prepared = Prepared(alignment, [form_of(measure, options) for measure in measures], warnings)
    _check_rules(alignment, measures, options, warnings)
    no_overlap = options.warn_overlap and not _warn_of_overlap(alignment, warnings)
    _warn_of_oddities(alignment, measures, warnings, no_overlap=no_overlap)
    return prepared


def nothing_in_common(path: str, topics: Sequence[str], judged: Sequence[str]) -> InputError:
    """What is wrong with a run of which no topic is judged."""
    return InputError.at(
        path,
        None,
        f"no topic in common with the judgements; the run has {some(topics) or 'none'}, "
        f"the judgements {some(judged)}",
    )


def all_left_out(path: str, topics: Sequence[str], evaluated: Sequence[str]) -> InputError:
    """What is wrong with a run of which no topic is evaluated."""
    return InputError.at(
        path,
        None,
        f"all topics of the run are left out of the evaluation; the run has "
        f"{some(topics)}, evaluated are {some(evaluated)}",
    )


def without_topics(run: Run, left_out: frozenset[str], evaluated: Sequence[str]) -> Run:
    """The run without the topics that are left out of the evaluation."""
    gone = left_out.intersection(run.topics)
    if not gone:
        return run
    kept = run.take(np.array([topic not in gone for topic in run.topics], dtype=bool)[run.topic])
    if not len(kept):
        raise all_left_out(run.source.path, run.topics, evaluated)
    return kept


def _again(alignment: Alignment, run: Run) -> Alignment:
    return Alignment(run, alignment.gold)


def _cut(alignment: Alignment, options: Options, warnings: list[str]) -> Alignment:
    """The first `max_results` of each topic."""
    run = alignment.run
    sizes = np.diff(run.bounds)
    if options.max_results is None:
        return alignment
    long = int((sizes > options.max_results).sum())
    warnings.append(Tally(f"topics cut at {options.max_results} results: {{}}", long))
    if not long:
        return alignment
    keep = np.arange(len(run)) - run.bounds[run.topic] < options.max_results
    return _again(alignment, run.take(keep))


def _clip(alignment: Alignment, options: Options, warnings: list[str]) -> Alignment:
    """Refuse results past the end of their document, or clip them."""
    run, length = alignment.run, alignment.length
    past = (length >= 0) & ((run.end > length) | (run.start > length))
    clipped = int(past.sum())
    warnings.append(Tally("results clipped at the end of their document: {}", clipped))
    if not clipped:
        return alignment
    if not options.lenient:
        raise InputError(
            Problem(
                run.source.path,
                int(run.line[i]),
                f"the result ends at {max(int(run.end[i]), int(run.start[i]))}, past the end of "
                f"document {run.doc[i]!r} of {length[i]} characters (--lenient clips)",
            )
            for i in np.flatnonzero(past).tolist()
        )
    start = np.where(past, np.minimum(run.start, length), run.start)
    end = np.where(past & (run.end >= 0), np.minimum(run.end, length), run.end)
    return _again(alignment, replace(run, start=start, end=end))


def _limit(alignment: Alignment, options: Options, warnings: list[str]) -> Alignment:
    """The character limits of the restricted tasks."""
    for limit, what in ((options.topic_limit, "topic"), (options.document_limit, "document")):
        if limit is None:
            continue
        run = alignment.run
        unknown = np.flatnonzero(~alignment.placed)
        if len(unknown):
            raise InputError(
                Problem(
                    run.source.path,
                    int(run.line[i]),
                    f"the length of this result of {run.doc[i]!r} is not known; the task allows "
                    f"{limit} characters per {what} (-C INDEX tells the length)",
                )
                for i in unknown.tolist()
            )
        group = run.topic if what == "topic" else run.first
        before = _size_before(group, alignment.size)
        over = np.flatnonzero(before + alignment.size > limit)
        cut = f"results cut at {limit} characters per {what}: {{}}"
        warnings.append(Tally(cut, len(over)))
        if not len(over):
            continue
        if not options.truncate:
            first = over[np.unique(group[over], return_index=True)[1]]
            raise InputError(
                Problem(
                    run.source.path,
                    int(run.line[i]),
                    f"more than {limit} characters are returned for this {what} from here on "
                    f"(topic {run.topics[run.topic[i]]!r}, document {run.doc[i]!r}); "
                    "the task forbids it (--truncate cuts)",
                )
                for i in first.tolist()
            )
        room = np.maximum(limit - before, 0)
        end = alignment.end.copy()
        end[over] = np.minimum(end[over], run.start[over] + room[over])
        shorter = run.cut(end, alignment.end)
        keep = (room > 0) | (alignment.size == 0)
        alignment = _again(alignment, shorter.take(keep))
    return alignment


def _size_before(group: Ints, size: Ints) -> Ints:
    """Characters of earlier results of the same group."""
    order = np.argsort(group, kind="stable")
    total = np.cumsum(size[order]) - size[order]
    opens = np.concatenate([[True], group[order][1:] != group[order][:-1]])
    start_of = np.maximum.accumulate(np.where(opens, np.arange(len(order)), 0))
    before = np.empty_like(total)
    before[order] = total - total[start_of]
    return before


def _check_needs(alignment: Alignment, measures: Sequence[Measure]) -> None:
    """Refuse measures whose inputs are missing, naming what would supply them."""
    missing = _missing(alignment, {need for measure in measures for need in measure.needs})
    judgements = alignment.gold.judgements
    for measure in measures:
        try:
            measure.check_gold(alignment.gold)
        except UsageError as error:
            raise InputError.at(judgements.sources[0].path, None, error.console_message) from None
        for need in measure.needs:
            if need in missing:
                message = f"{measure} needs {need.what}; it takes {need.supplied_by}"
                by_path = _places_by_path(judgements, need)
                if len(by_path):
                    row, line = by_path.select("row", "line").row(0)
                    which = "they" if need is Need.BEP else "the passages"
                    message = (
                        f"{measure} needs {need.what}; {which} are given as XPaths, which only a "
                        "collection index resolves: give it with -C INDEX ('foveal index' makes "
                        "one)"
                    )
                    raise InputError([judgements.problem(row, message, line=line)])
                raise InputError.at(*missing[need], message)


def _places_by_path(judgements: Judgements, need: Need) -> pl.DataFrame:
    """Return the judged places that are given as XPaths and would supply what a measure needs."""
    places = judgements.places
    if places is None or need not in (Need.TEXT, Need.BEP):
        return pl.DataFrame()
    return places.filter(pl.col("bep") if need is Need.BEP else ~pl.col("bep"))


def _missing(alignment: Alignment, wanted: set[Need]) -> dict[Need, tuple[str, int | None]]:
    """What the inputs do not hold of what is wanted, with the file and line where that shows."""
    judged, run = alignment.gold, alignment.run
    judgements, forest = judged.judgements, judged.forest
    absent: dict[Need, Callable[[], bool]] = {
        Need.TEXT: lambda: not judgements.has_text,
        Need.BEP: lambda: judged.no_bep,
        Need.RELEVANT_LENGTHS: lambda: judged.unmeasured,
        Need.MEAN_LENGTH: lambda: bool(np.isnan(judged.mean_length)),
        Need.ELEMENTS: lambda: not judged.element_size.any(),
        Need.STRUCTURE: lambda: forest is None,
        Need.ELEMENT_SIZES: lambda: forest is not None and not forest.placed,
        Need.COLLECTION_SIZE: lambda: judged.collection_elements is None,
    }
    lacking: dict[Need, Callable[[], Bools]] = {
        Need.SPANS: lambda: ~alignment.placed,
        Need.RELEVANT_SPANS: lambda: ~alignment.placed & alignment.relevant,
        Need.RELEVANT_STARTS: lambda: (run.start < 0) & alignment.relevant,
        Need.LENGTHS: lambda: alignment.length < 0,
        Need.ELEMENT_RESULTS: lambda: _no_elements(run),
    }
    missing: dict[Need, tuple[str, int | None]] = {}
    for need in wanted:
        if need in absent and absent[need]():
            missing[need] = (judgements.sources[0].path, None)
        elif need in lacking and (rows := lacking[need]()).any():
            missing[need] = (run.source.path, int(run.line[rows][0]))
    return missing


def _no_elements(run: Run) -> Bools:
    """Results that are no elements; on a collection all are, but those that it does not hold."""
    if run.length is not None:
        return np.zeros(len(run), dtype=bool)
    return ~named(run) & ~whole(run)


def form_of(measure: Measure, options: Options) -> Form:
    """The form of a run that a measure is calculated on."""
    one = measure.overlap_rule is OverlapRule.ONE_PER_DOCUMENT
    if options.overlap == "drop":
        return Form.ONE_PER_DOCUMENT if one else Form.DISJOINT
    if measure.structural:
        return Form.COUNTED_AGAIN if options.overlap == "allow" else Form.AS_IT_IS
    return Form.UNION if options.overlap == "union" and not one else Form.AS_IT_IS


def _check_rules(
    alignment: Alignment, measures: Sequence[Measure], options: Options, warnings: list[str]
) -> None:
    """Overlap, several results of a document, interleaved documents."""
    by_rule: dict[OverlapRule, Measure] = {}
    for measure in measures:
        by_rule.setdefault(measure.overlap_rule, measure)
    if options.overlap != "drop" and OverlapRule.ONE_PER_DOCUMENT in by_rule:
        _one_per_document(alignment, by_rule[OverlapRule.ONE_PER_DOCUMENT])
    strict = by_rule.get(OverlapRule.ERROR) or (measures[0] if options.overlap == "error" else None)
    if options.overlap in (None, "error") and strict is not None:
        _no_overlap(alignment, strict)
    grouped = next((measure for measure in measures if measure.grouped), None)
    if grouped is not None:
        _not_interleaved(alignment, grouped, options, warnings)


def _where(run: Run, i: int) -> str:
    return f"topic {run.topics[run.topic[i]]!r}, document {run.doc[i]!r}"


def _one_per_document(alignment: Alignment, measure: Measure) -> None:
    run = alignment.run
    again = run.repeats
    if len(again):
        raise InputError(
            Problem(
                run.source.path,
                int(run.line[i]),
                f"a second result of one document after line {int(run.line[run.first[i]])} "
                f"({_where(run, i)}); {measure} takes one (--overlap drop keeps the first)",
            )
            for i in again.tolist()
        )


def _no_overlap(alignment: Alignment, measure: Measure) -> None:
    run = alignment.run
    earlier, later = alignment.clashes
    # Results without text or place can still repeat each other.
    if len(later) or not alignment.all_have_text:
        pairs = np.concatenate([(earlier, later), run.duplicates], axis=1)
        pairs = pairs[:, np.lexsort((pairs[0], pairs[1]))]
        earlier, later = pairs[:, np.unique(pairs[1], return_index=True)[1]]
    if len(later):
        order = np.lexsort((run.line[earlier], run.line[later]))
        raise InputError(
            Problem(
                run.source.path,
                int(run.line[b]),
                f"{'repeats' if _same(run, a, b) else 'overlaps'} the result on line "
                f"{int(run.line[a])} ({_where(run, b)}); {measure} forbids it "
                "(--overlap drop, union or allow)",
            )
            for a, b in zip(earlier[order].tolist(), later[order].tolist(), strict=True)
        )


def _same(run: Run, a: int, b: int) -> bool:
    extent = bool(run.start[a] == run.start[b] and run.end[a] == run.end[b])
    return extent and (run.end[a] >= 0 or run.xpath is None or run.xpath[a] == run.xpath[b])


def _not_interleaved(
    alignment: Alignment, measure: Measure, options: Options, warnings: list[str]
) -> None:
    """Refuse interleaved documents; with `regroup` each stands at its first result anyway."""
    run = alignment.run
    first, back = run.first, run.returns
    if options.regroup:
        regrouped = int(np.count_nonzero(np.bincount(first[back])))
        warnings.append(Tally("interleaved documents regrouped: {}", regrouped))
    elif len(back):
        raise InputError(
            Problem(
                run.source.path,
                int(run.line[i]),
                f"results of one document are interleaved with others: {_where(run, i)}, first on "
                f"line {int(run.line[first[i]])}; {measure} forbids it (--regroup)",
            )
            for i in back.tolist()
        )


def _kept(alignment: Alignment) -> Bools:
    """Which results overlap no earlier one that is kept."""

    def calculate() -> Bools:
        run = alignment.run
        # Runs of tasks that forbid overlap mostly have none, which takes half of the time to tell.
        if not neighbours_meet(run.start, alignment.end, run.head_of) and (
            alignment.placed.all() and not len(alignment.conflicts[0])
        ):
            return np.ones(len(run), dtype=bool)
        return spans.disjoint(*alignment.nesting)

    return alignment.memo("kept", calculate)


def _warn_of_overlap(alignment: Alignment, warnings: list[str]) -> int:
    """The task forbade overlap; its measures score it, so it is only said, and how many do."""
    over = int((~_kept(alignment)).sum())
    warnings.append(Tally("results that overlap an earlier one, which the task forbids: {}", over))
    return over


def _warn_of_oddities(
    alignment: Alignment, measures: Sequence[Measure], warnings: list[str], *, no_overlap: bool
) -> None:
    """Duplicates and zero lengths are accepted where nothing forbids them, and said."""
    run = alignment.run
    empty = int(((run.start == run.end) & (run.start >= 0)).sum())
    entries = all(measure.overlap_rule is OverlapRule.ONE_PER_DOCUMENT for measure in measures)
    if not entries:  # an entry point has no length
        warnings.append(Tally("results without length: {}", empty))
    distinct = _surely_distinct(alignment, measures, no_overlap=no_overlap)
    duplicates = 0 if distinct else len(run.duplicates[0])
    warnings.append(Tally("results that repeat an earlier one: {}", duplicates))


def _surely_distinct(
    alignment: Alignment, measures: Sequence[Measure], *, no_overlap: bool
) -> bool:
    """Whether it is known already, or soon told, that no result repeats another.

    Results that repeat each other overlap, unless they are empty or without a place. But where
    elements have numbers these tell it in 3 ms for 171,000 results, while overlap takes 7 ms that
    only measures of text have a use for.
    """
    if no_overlap and alignment.all_have_text:
        return True
    known = "conflicts" in vars(alignment) or not all(measure.structural for measure in measures)
    if not known and alignment.run.element is not None and (alignment.run.element >= 0).all():
        return False
    return alignment.all_have_text and not len(alignment.conflicts[0])
