"""Rules of runs: each is one record, which `evaluate` enforces and `validate` lists.

A rule finds the results that break it, says what is wrong with each, and may mend them. Runs are
seen through their alignment with judgements; `align_alone` makes one where there are none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from collections.abc import Collection as Names
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from foveal import spans
from foveal.errors import InputError, Note, Problem, shorten_list
from foveal.measures.alignment import Alignment, Bools, Gold
from foveal.measures.measure import Measure, OverlapRule
from foveal.model.judgements import Judgements
from foveal.model.run import Run
from foveal.spans import Ints

if TYPE_CHECKING:
    from foveal.collection import Collection

Broken = tuple[Ints, Iterable[str]]  # the rows that break a rule, and a text about each
Counts = dict[str, int | list[str]]
"""Warnings about a run by their form: the number, or the names, of the things they count."""


@dataclass(frozen=True, eq=False)
class Rule:
    """A rule of runs; it may depend on something `given`, such as a limit."""

    code: str  # the code of its problems
    broken: Callable[..., Broken]
    """``broken(alignment, *given)`` finds the results that break the rule."""
    names_place: bool = False  # True if topic and document are added to the texts
    option: str | None = None  # the option of ``evaluate`` that accepts or mends such results
    mend: Callable[..., tuple[Alignment, int]] | None = None
    """``mend(alignment, *given)`` returns the mended alignment and the number of changes."""
    mended: str = ""  # the warning with that number; it may name `given`

    def list_problems(self, alignment: Alignment, *given: Any, reason: str = "") -> list[Problem]:
        """Return a problem for each result that breaks the rule; `reason` ends their texts."""
        run, problems = alignment.run, []
        rows, texts = self.broken(alignment, *given)
        for row, text in zip(rows.tolist(), texts, strict=True):
            place = f" (topic {run.topics[run.topic[row]]!r}, document {run.doc[row]!r})"
            full = text + (place if self.names_place else "") + reason
            problems.append(Problem(self.code, run.source.path, int(run.line[row]), full))
        return problems

    def repair(self, alignment: Alignment, counts: Counts, *given: Any) -> Alignment:
        """Mend the results that break the rule, and count the changes."""
        changes = 0
        if self.mend is not None and len(self.broken(alignment, *given)[0]):
            alignment, changes = self.mend(alignment, *given)
        counts[self.mended.format(*given)] = changes
        return alignment


def refuse_broken(alignment: Alignment, rules: dict[Rule, str], *given: Any) -> None:
    """Refuse all results that break one of these rules, each with the reason to give."""
    broken = [rule for rule in rules if len(rule.broken(alignment, *given)[0])]
    if broken:
        raise InputError.together(
            InputError(rule.list_problems(alignment, *given, reason=rules[rule])) for rule in broken
        )


def describe_counts(counts: Counts) -> Iterator[str]:
    """Describe what was counted in a run, where it is more than nothing.

    >>> list(describe_counts({"cut: {}": 2, "clipped: {}": 0, "topics, {}: {}": ["7", "8"]}))
    ['cut: 2', 'topics, 2: 7, 8']
    """
    for form, count in counts.items():
        if count:
            values = (count,) if isinstance(count, int) else (len(count), shorten_list(count))
            text = form.format(*values)
            yield Note(form.code, text) if isinstance(form, Note) else text


def align_alone(run: Run) -> Alignment:
    """Return the alignment of a run without judgements."""
    nothing = replace(Judgements.from_highlights({}), topics=run.topics)
    return Alignment(run, Gold(nothing))


# -- overlap and documents -------------------------------------------------------------------------

_NOTHING: Broken = (np.zeros(0, dtype=np.int64), ())


def find_overlap_extents(run: Run) -> tuple[Ints, Ints, Bools]:
    """Return start and end of each result on an axis that shows overlap, and which have them.

    Results overlap if they share text, so an empty one overlaps nothing. A whole document overlaps
    every other result of it that is not empty. In documents without any known place the paths of
    elements decide. Any other result without a place has no extent.

    >>> run = Run.from_results({"1": [("d", 0, 9), ("d", 9, 12), ("d", 4, 4)]})
    >>> [column.tolist() for column in find_overlap_extents(run)[:2]]
    [[0, 9, 4], [9, 12, 4]]
    """
    whole = (run.start == 0) & (run.end < 0)
    placed = (run.start >= 0) & (run.end >= 0)
    known = placed | whole
    reach = np.ones(len(run), dtype=np.int64)
    np.maximum.at(reach, run.first, run.end)
    ends = np.where(whole, reach[run.first], run.end)
    start, end = spans.put_on_axis(run.start, ends, run.first)
    if known.all() or run.xpath is None:
        return start, end, known
    from foveal.formats.xpaths import ELEMENT

    element = whole | run.xpath.str.contains(ELEMENT).fill_null(value=False).to_numpy()
    has_places = np.zeros(len(run), dtype=bool)
    has_places[run.first[placed]] = True
    by_path = element & ~has_places[run.first]
    outer, inner = run.nesting
    beyond = 0 if by_path.all() else int(end.max(initial=0))
    start, end = np.where(by_path, (outer + beyond, inner + beyond), (start, end))
    return start, end, known | by_path


def _find_shared_text(alignment: Alignment, *, repeats: bool = True) -> Broken:
    """Find results that share text with an earlier one, or that repeat one if `repeats`."""
    run = alignment.run
    if (alignment.all_have_text or alignment.placed.all()) and not len(alignment.conflicts[0]):
        return _NOTHING
    start, end, known = find_overlap_extents(run.with_columns(end=alignment.end))
    rows = np.flatnonzero(known)
    pieces = spans.find_new_text(start[rows], end[rows])
    new = np.bincount(pieces.owner, pieces.end - pieces.start, len(rows))
    order = rows[np.argsort(run.first[rows], kind="stable")]
    opens, closes = (
        np.searchsorted(run.first[order], run.first, side=side) for side in ("left", "right")
    )
    over = rows[new < (end - start)[rows]]
    if not repeats:
        over = np.setdiff1d(over, run.duplicates[1])
    found: dict[int, int] = {}
    for row in over.tolist():
        own = order[opens[row] : closes[row]]
        own = own[: np.searchsorted(own, row)]
        meets = np.minimum(end[own], end[row]) > np.maximum(start[own], start[row])
        found[row] = int(run.line[own[meets][0]])
    texts = (f"overlaps the result on line {line}" for line in found.values())
    return np.array([*found], dtype=np.int64), texts


def _find_duplicates(alignment: Alignment) -> Broken:
    """Find results that repeat an earlier one."""
    run = alignment.run
    # Repeated results overlap, unless they are empty or without a place. Element numbers show
    # repeats in 3 ms for 171,000 results; overlap takes 7 ms that only measures of text need.
    by_number = (
        "conflicts" not in vars(alignment)
        and run.element is not None
        and bool((run.element >= 0).all())
    )
    if alignment.all_have_text and not by_number and not len(alignment.conflicts[0]):
        return _NOTHING
    earlier, later = run.duplicates
    return later, (f"repeats the result on line {line}" for line in run.line[earlier])


def _find_repeated_documents(alignment: Alignment) -> Broken:
    """Find results that are not the first of their document."""
    run = alignment.run
    first = run.line[run.first[run.repeats]]
    return run.repeats, (f"a second result of one document after line {line}" for line in first)


def _find_interleaved(alignment: Alignment) -> Broken:
    """Find results that come back to a document after results of others."""
    run, rows = alignment.run, alignment.run.documents.reopened_rows
    text = "results of one document are interleaved with others, first on line"
    return rows, (f"{text} {line}" for line in run.line[run.first[rows]])


def _count_regrouped(alignment: Alignment) -> tuple[Alignment, int]:
    """Count interleaved documents; measures take each document at its first result anyway."""
    run = alignment.run
    return alignment, len(np.unique(run.first[run.documents.reopened_rows]))


OVERLAP = Rule(
    "run.overlap",
    partial(_find_shared_text, repeats=False),
    names_place=True,
    option="--overlap drop, union or allow",
)
DUPLICATE = replace(OVERLAP, code="run.duplicate", broken=_find_duplicates)
SHARED_TEXT = replace(OVERLAP, broken=_find_shared_text)
"""Overlap in which the same text twice counts too."""
ONE_PER_DOCUMENT = Rule(
    "run.second_result",
    _find_repeated_documents,
    names_place=True,
    option="--overlap drop keeps the first",
)
INTERLEAVED = Rule(
    "run.interleaved",
    _find_interleaved,
    names_place=True,
    option="--regroup",
    mend=_count_regrouped,
    mended="interleaved documents regrouped: {{}}",
)

# The rules of tasks, by their names without year and kind of topics.
BY_DOCUMENT = ("relevantincontext", "fetchbrowse")
_TASK_RULES = {
    "focused": (OVERLAP,),
    "relevantincontext": (OVERLAP, INTERLEAVED),
    "fetchbrowse": (INTERLEAVED,),
    "bestincontext": (ONE_PER_DOCUMENT,),
}


def choose_rules(measures: Sequence[Measure], overlap: str | None) -> dict[Rule, str]:
    """Return the rules that measures set under an overlap policy, each with its reason."""
    by_rule = {measure.overlap_rule: measure for measure in reversed(measures)}  # the first of each
    strict = by_rule.get(OverlapRule.ERROR) or (measures[0] if overlap == "error" else None)
    # Where one result is left of each document, none are interleaved.
    alone = OverlapRule.ONE_PER_DOCUMENT if overlap == "drop" else None
    grouped = next((m for m in measures if m.grouped and m.overlap_rule is not alone), None)
    forbidding: dict[Rule, Measure | None] = {}
    if overlap != "drop":
        forbidding[ONE_PER_DOCUMENT] = by_rule.get(OverlapRule.ONE_PER_DOCUMENT)
    if overlap in (None, "error"):
        forbidding |= {OVERLAP: strict, DUPLICATE: strict}
    forbidding[INTERLEAVED] = grouped
    return {
        rule: f"; {measure.label} forbids it ({rule.option})"
        for rule, measure in forbidding.items()
        if measure is not None
    }


def list_task_rules(task: str, measures: Sequence[Measure], overlap: str | None) -> list[Rule]:
    """Return the rules of a task and of its measures for `validate`, under the task's overlap."""
    rules = dict.fromkeys([*choose_rules(measures, overlap), *_TASK_RULES.get(task, ())])
    return [rule for rule in rules if overlap is None or rule is not OVERLAP]


# -- limits ----------------------------------------------------------------------------------------


def _find_excess(alignment: Alignment, most: int) -> Broken:
    """Find the first result of each topic beyond the number that is accepted."""
    run, sizes = alignment.run, np.diff(alignment.run.bounds)
    topics = np.flatnonzero(sizes > most)
    texts = (f"topic {run.topics[t]!r} has {sizes[t]} results, more than {most}" for t in topics)
    return run.bounds[topics] + most, texts


def _cut_topics(alignment: Alignment, most: int) -> tuple[Alignment, int]:
    """Keep the first results of each topic."""
    run = alignment.run
    kept = run.take(np.arange(len(run)) - run.bounds[run.topic] < most)
    return Alignment(kept, alignment.gold), int((np.diff(run.bounds) > most).sum())


def _find_past_end(alignment: Alignment) -> Broken:
    """Find results that start or end after their document."""
    run, length = alignment.run, alignment.length
    rows = np.flatnonzero((length >= 0) & ((run.end > length) | (run.start > length)))
    return rows, (
        f"the result ends at {max(run.end[i], run.start[i])}, past the end of document "
        f"{run.doc[i]!r} of {length[i]} characters"
        for i in rows.tolist()
    )


def _clip_results(alignment: Alignment) -> tuple[Alignment, int]:
    """Clip results at the end of their document."""
    run, (rows, _) = alignment.run, _find_past_end(alignment)
    start, end = run.start.copy(), run.end.copy()
    for offset in (start, end):
        offset[rows] = np.minimum(offset[rows], alignment.length[rows])
    return Alignment(run.with_columns(start=start, end=end), alignment.gold), len(rows)


def _drop_past_end(alignment: Alignment) -> tuple[Alignment, int]:
    """Drop the results past the end of their document."""
    kept = np.isin(np.arange(len(alignment.run)), _find_past_end(alignment)[0], invert=True)
    return Alignment(alignment.run.take(kept), alignment.gold), int((~kept).sum())


def _find_unknown_lengths(alignment: Alignment, most: int, unit: str) -> Broken:
    """Find results whose length is unknown, so that it cannot count against a limit."""
    rows = np.flatnonzero(~alignment.placed)
    return rows, (
        f"the length of this result of {alignment.run.doc[i]!r} is not known; the task allows "
        f"{most} characters per {unit} (--collection INDEX tells the length)"
        for i in rows.tolist()
    )


def _sum_earlier(alignment: Alignment, unit: str) -> tuple[Ints, Ints]:
    """Return the topic or document of each result, and the characters of its earlier results."""
    group = alignment.run.topic if unit == "topic" else alignment.run.first
    size = alignment.size
    order = np.argsort(group, kind="stable")
    total = np.cumsum(size[order]) - size[order]
    opens = np.concatenate([[True], group[order][1:] != group[order][:-1]])
    start_of = np.maximum.accumulate(np.where(opens, np.arange(len(order)), 0))
    before = np.empty_like(total)
    before[order] = total - total[start_of]
    return group, before


def _find_over_limit(alignment: Alignment, most: int, unit: str) -> Broken:
    """Find the results with which a topic or document passes its limit of characters.

    A whole document counts with its length.
    """
    group, before = _sum_earlier(alignment, unit)
    over = np.flatnonzero(before + alignment.size > most)
    rows = over[np.unique(group[over], return_index=True)[1]]
    text = f"more than {most} characters are returned for this {unit} from here on"
    return rows, [text] * len(rows)


def _truncate(alignment: Alignment, most: int, unit: str) -> tuple[Alignment, int]:
    """Cut off the text beyond a limit of characters."""
    run, size = alignment.run, alignment.size
    _, before = _sum_earlier(alignment, unit)
    over, room = before + size > most, np.maximum(most - before, 0)
    end = np.where(over, np.minimum(alignment.end, run.start + room), alignment.end)
    tokens = run.tokens
    if tokens is not None:  # a result that is cut costs its share of the tokens
        share = (end - run.start) / np.maximum(alignment.end - run.start, 1)
        is_cut = (end < alignment.end) & (tokens >= 0)
        tokens = np.where(is_cut, np.ceil(tokens * share), tokens).astype(np.int64)
    kept = run.with_columns(end=end, tokens=tokens).take((room > 0) | (size == 0))
    return Alignment(kept, alignment.gold), int(over.sum())


TOO_MANY = Rule(
    "run.too_many", _find_excess, mend=_cut_topics, mended="topics cut at {} results: {{}}"
)
PAST_END = Rule(
    "run.past_end",
    _find_past_end,
    option="--lenient clips",
    mend=_clip_results,
    mended="results clipped at the end of their document: {{}}",
)
CITED_PAST_END = replace(
    PAST_END, mend=_drop_past_end, mended="citations past the end of their document: {{}}"
)
UNKNOWN_LENGTH = Rule("run.unknown_length", _find_unknown_lengths)
LIMIT = Rule(
    "run.limit",
    _find_over_limit,
    names_place=True,
    option="--truncate cuts",
    mend=_truncate,
    mended="results cut at {} characters per {}: {{}}",
)


# -- files -----------------------------------------------------------------------------------------


def _find_disorder(alignment: Alignment, rank: Ints | None, by_score: bool) -> Broken:  # noqa: FBT001 - as every rule
    """Find scores that rise down the ranking, and ranks that fall."""
    run, found = alignment.run, list[tuple[int, str]]()
    same = run.topic[1:] == run.topic[:-1]
    if run.score is not None and by_score:
        for row in (np.flatnonzero((run.score[1:] > run.score[:-1]) & same) + 1).tolist():
            before, score = float(run.score[row - 1]), float(run.score[row])
            found.append((row, f"score {score} is above {before} of the result ranked before it"))
        same &= run.score[1:] != run.score[:-1]  # equal scores may come in any order
    if rank is not None:
        for row in (np.flatnonzero((rank[1:] < rank[:-1]) & same) + 1).tolist():
            text = f"rank {rank[row]} after {rank[row - 1]}; the order of results is another"
            found.append((row, text))
    return np.array([row for row, _ in found], dtype=np.int64), (text for _, text in found)


def _find_unknown_topics(alignment: Alignment, topics: Names[str]) -> Broken:
    """Find topics that are not in the topic file."""
    run = alignment.run
    unknown = [i for i, topic in enumerate(run.topics) if topic not in topics]
    texts = (f"topic {run.topics[i]!r} is not in the topic file" for i in unknown)
    return run.bounds[:-1][np.array(unknown, dtype=np.int64)], texts


def _find_impossible_paths(alignment: Alignment) -> Broken:
    """Find paths that no document can have: steps without a name, numbers from 0."""
    xpath = alignment.run.xpath
    if xpath is None:
        return _NOTHING
    from foveal.formats.xpaths import parse_ranges

    named = np.flatnonzero(xpath.is_not_null().to_numpy())
    ends = parse_ranges(xpath.gather(named))
    rows = named[np.logical_or.reduce([points.element.is_null().to_numpy() for points in ends])]
    expected = "expected /path[1]/of[1]/element[2]"
    return rows, (f"no document has {path!r}; {expected}" for path in xpath.gather(rows))


def _find_contradictions(alignment: Alignment, collection: Collection) -> Broken:
    """Find results whose XPath and offsets name different places.

    An element that its document does not hold is also reported; points that the index cannot
    resolve are not.
    """
    run, xpath = alignment.run, alignment.run.xpath
    if xpath is None:
        return _NOTHING
    from foveal.collection.placement import is_element

    both = (run.end >= 0) & xpath.is_not_null().to_numpy()
    rows = np.flatnonzero(both & (collection.lengths(run.doc) >= 0))
    found = collection.resolve(run.doc.gather(rows), xpath.gather(rows))
    apart = (found.start != run.start[rows]) | (found.end != run.end[rows])
    apart &= (found.start >= 0) | is_element(run)[rows]
    texts = []
    for i in np.flatnonzero(apart).tolist():
        row = int(rows[i])
        place = found.problem.get(i, f"{xpath[row]} is at [{found.start[i]},{found.end[i]})")
        texts.append(f"{place}, but the result gives [{run.start[row]},{run.end[row]})")
    return rows[apart], texts


ORDER = Rule("run.order", _find_disorder)
UNKNOWN_TOPIC = Rule("run.unknown_topic", _find_unknown_topics)
IMPOSSIBLE_PATH = Rule("run.impossible_path", _find_impossible_paths)
CONTRADICTION = Rule("run.contradiction", _find_contradictions)
