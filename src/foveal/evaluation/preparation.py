"""The options of an evaluation; prepare judgements and runs for scoring.

Judgements are selected, combined and made ready for look-up. A run is aligned with them; whatever
breaks a rule (`foveal.evaluation.rules`) is refused here, before any score, or mended where an
option allows it. Measures whose inputs are missing are refused, too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from foveal.errors import InputError, Note, UsageError, shorten_list
from foveal.evaluation import (
    CAS_READINGS,
    OVERLAP_POLICIES,
    TOPIC_POLICIES,
    UNDEFINED_POLICIES,
    rules,
)
from foveal.evaluation.rules import Counts
from foveal.measures.alignment import Alignment, Bools, Gold, Overlap, find_disjoint
from foveal.measures.measure import Measure, Need, OverlapRule, parse_measures
from foveal.model.judgements import ASSESSOR_POLICIES, Judgements
from foveal.model.run import Run

if TYPE_CHECKING:
    from foveal.collection import Collection
    from foveal.evaluation.cas_filter import CasFilter
    from foveal.evaluation.evaluation import Evaluation
    from foveal.model.topics import Topics
    from foveal.recall.forest import Forest

UNJUDGED_TOPICS = "topics without judgements, {}: {}"
EMPTY_RESULTS = Note("run.empty", "results without length: {}")
NEED_TREES = frozenset([Need.STRUCTURE, Need.ELEMENTS])
_SIZED_SCALES = ("2005", "2006")  # scales on which the size of an element decides what it is worth


# -- settings --------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Options:
    """Options of an evaluation: preparation of runs, and topics that count.

    Parameters
    ----------
    topics : {"judged", "run", "both"}
        Average over all judged topics (those missing from a run score 0), over those in the run,
        or over those in all runs.
    only_topics : tuple of str, optional
        Restrict the evaluation to these.
    undefined : {"skip", "zero"}
        Topics on which a measure is undefined, such as recall where nothing is relevant: leave
        them out of its mean, or count them as 0 as trec_eval does.
    assessors : str
        ``union``, ``majority``, ``intersection``, ``each`` or the name of an assessor.
    overlap : {"error", "drop", "union", "allow"}, optional
        Treatment of overlapping results; by default the measure's own rule.
    regroup : bool
        Bring interleaved results of a document together instead of refusing them.
    truncate : bool
        Cut what exceeds the limits of a restricted task instead of refusing it.
    lenient : bool
        Clip results past the end of their document, and keep results whose XPath a collection
        does not hold as empty ones, instead of refusing them.
    max_results : int, optional
        Results per topic that are looked at.
    topic_limit, document_limit : int, optional
        Most characters per topic and per document of a topic (restricted tasks).
    topics_file : str, optional
        The topic statements.
    castitles_only : bool
        Only topics whose statement has a castitle.
    pools : tuple of str, optional
        Only judgements of these pools, that is assessors.
    cas : {"VV", "SV", "VS", "SS"}, optional
        Vague or strict reading of target and support elements of the topics' queries; assessed
        elements that do not match are left out.
    support_judgements : tuple of str
        Judgements of the sub-topics, for strict support.
    documents : str, optional
        The directory or archive of the documents, for numbers in the topics' queries.
    name_from : str, optional
        Name documents by the text of their first element with this tag, not by their path.
    tag_classes : tuple of str
        Tags that are equivalent in queries: ``ieee``, or as in ``sec=ss1=ss2``.
    exclude_tags : tuple of str
        Elements left out of the recall bases.
    snap : bool
        Replace a result that is not an element with the smallest enclosing element, where a
        measure is about elements.
    recompute : bool
        Count sizes of elements on the collection instead of using those of the assessments.
    warn_overlap : bool
        Warn how many results overlap although the task forbids it.
    """

    topics: str = TOPIC_POLICIES[0]
    only_topics: tuple[str, ...] | None = None
    undefined: str = UNDEFINED_POLICIES[0]
    assessors: str = "union"
    overlap: str | None = None
    regroup: bool = False
    truncate: bool = False
    lenient: bool = False
    max_results: int | None = None
    topic_limit: int | None = None
    document_limit: int | None = None
    topics_file: str | None = None
    castitles_only: bool = False
    pools: tuple[str, ...] | None = None
    cas: str | None = None
    support_judgements: tuple[str, ...] = ()
    documents: str | None = None
    name_from: str | None = None
    tag_classes: tuple[str, ...] = ()
    exclude_tags: tuple[str, ...] = ()
    snap: bool = False
    recompute: bool = False
    warn_overlap: bool = False

    def __post_init__(self) -> None:
        for name, allowed in (
            ("topics", TOPIC_POLICIES),
            ("undefined", UNDEFINED_POLICIES),
            ("overlap", (None, *OVERLAP_POLICIES)),
            ("cas", (None, *CAS_READINGS)),
        ):
            if getattr(self, name) not in allowed:
                words = ", ".join(word for word in allowed if word)
                raise UsageError(f"{name} {getattr(self, name)!r} is not one of {words}")
        if self.max_results is not None and self.max_results < 1:
            raise UsageError(f"max_results {self.max_results} is not possible; expected 1 or more")


def resolve_settings(
    measures: str | Measure | Sequence[str | Measure], task: str | None, options: dict[str, Any]
) -> tuple[tuple[Measure, ...], Options]:
    """Return the distinct measures in order, and the options completed from the task's preset."""
    try:
        settings = Options(**options)
    except TypeError as error:
        raise UsageError(str(error).replace("Options.__init__() ", "")) from None
    chosen: list[Measure] = []
    if task is not None:
        from foveal.evaluation.presets import find_preset

        preset = find_preset(str(task))
        chosen += preset.measures
        names = ("overlap", "topic_limit", "document_limit", "max_results", "castitles_only")
        completed = {name: getattr(settings, name) or getattr(preset, name) for name in names}
        settings = replace(settings, **completed, warn_overlap=preset.warn_overlap)
    for item in [measures] if isinstance(measures, (str, Measure)) else measures:
        if isinstance(item, str):
            chosen += parse_measures(item)
        elif isinstance(item, Measure):
            chosen.append(item)
        else:
            raise UsageError(f"{item!r} is not a measure; expected a text such as 'AiP'")
    for measure in chosen:
        measure.check()
    if not chosen:
        raise UsageError("no measure given; name measures (--measure) or an official task (--task)")
    return tuple(dict.fromkeys(chosen)), settings


# -- judgements ------------------------------------------------------------------------------------


def select_judgements(
    judgements: Judgements,
    options: Options,
    index: Collection | None,
    topics: Topics | None,
    warnings: list[str],
) -> Judgements:
    """Return the judgements of the chosen pools and topics, placed on the collection's text.

    Warns if several assessors judged a document and nobody chose how they count.
    """
    kept = judgements
    if options.pools is not None:
        unknown = [pool for pool in options.pools if pool not in kept.assessors]
        if unknown:
            known = shorten_list(kept.assessors) or "none is named"
            raise UsageError(f"pools not among the judgements: {', '.join(unknown)} ({known})")
        assert kept.assessor is not None
        kept = kept.only(kept.assessor.is_in(options.pools).fill_null(value=False).to_numpy())
    if options.castitles_only:
        if topics is None:
            raise UsageError(
                "this task averages over the topics that have a castitle; give the topic "
                "statements (--topics-file)"
            )
        with_structure = [topic for topic in kept.topics if topic in topics.castitles]
        if not with_structure:
            raise UsageError(f"no judged topic has a castitle in {options.topics_file}")
        kept = kept.for_topics(with_structure)
    if options.only_topics is not None:
        wanted = options.only_topics
        unknown = [topic for topic in wanted if topic not in judgements.topics]
        other = [t for t in wanted if t in judgements.topics and t not in kept.topics]
        notes = [f"topics wanted but not judged: {shorten_list(unknown)}"] if unknown else []
        notes += [f"wanted topics of other pools or tasks: {shorten_list(other)}"] if other else []
        if len(unknown) + len(other) == len(wanted):
            raise UsageError(f"none of the wanted topics is left; {'; '.join(notes)}")
        warnings += notes
        kept = kept.for_topics(wanted)
    kept.check_lengths()
    if index is not None:
        from foveal.collection.placement import place_judgements

        kept = place_judgements(kept, index)
    if not kept.relevant.any():
        # Where nothing is relevant, all of the relevant text is known.
        kept = replace(kept, has_text=True)
    warnings[:0] = kept.notes
    if options.assessors == "each" and not kept.assessors:
        raise UsageError("--assessors each: the judgements name no assessor")
    if options.assessors == "union" and kept.several_assessors:
        what = "highlights" if kept.has_text else "judgements"
        warnings.append(
            f"{len(kept.assessors)} assessors, several for some documents: their "
            f"{what} are united (--assessors chooses otherwise)"
        )
    return kept


def prepare_gold(evaluation: Evaluation, assessor: str | None, cas: CasFilter | None) -> Gold:
    """Prepare the judgements of one assessor, or of all together, for an evaluation's measures."""
    measures, options, index = evaluation.scored, evaluation.options, evaluation.index
    warnings = evaluation.warnings
    combined = evaluation.judgements.combined(assessor or options.assessors)
    of_text = [measure.label for measure in measures if NEED_TREES.isdisjoint(measure.needs)]
    for given, name in ((cas, "--cas"), (options.exclude_tags, "--exclude-tags")):
        if given and len(of_text) == len(measures):
            raise UsageError(f"{name} is for measures of elements; none is requested")
        if given and of_text:
            left = f"{name} leaves measures that are not about elements as they are: "
            warnings.append(left + shorten_list(of_text))
    forest = size = None
    if len(of_text) < len(measures):
        forest = _build_forest(evaluation, combined, cas)
    if index is not None and any(Need.COLLECTION_SIZE in measure.needs for measure in measures):
        size = index.count_nonempty()
    gold = Gold(
        combined, mean_length=evaluation.mean_length, forest=forest, collection_elements=size
    )
    warnings += list_notes(measures, gold)
    return gold


def list_notes(measures: Sequence[Measure], gold: Gold) -> Iterator[str]:
    """Yield the measures' notes on these judgements; one that several share is yielded once."""
    by_text: dict[str, dict[str, None]] = {}
    for measure in measures:
        for text in measure.notes(gold):
            by_text.setdefault(text, {})[measure.name] = None
    yield from (f"{', '.join(names)}: {text}" for text, names in by_text.items())


# -- the trees of the assessed elements ------------------------------------------------------------


def _build_forest(
    evaluation: Evaluation, combined: Judgements, cas: CasFilter | None
) -> Forest | None:
    """Build the trees of the judged elements, without those that the options exclude."""
    from foveal.recall.forest import Forest, find_scale

    judgements, options, index = evaluation.judgements, evaluation.options, evaluation.index
    warnings = evaluation.warnings
    scale, elements = find_scale(combined), combined.elements
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
    if (
        together
        and elements is not None
        and scale in _SIZED_SCALES
        and not count_shared_text
        and judgements.shared[elements["row"].to_numpy()].any()
    ):
        warnings.append(
            "elements that several assessors list have the size of one of them, not that of the "
            "text they agree on (--collection with --recompute counts it where there are passages)"
        )
    if index is not None:
        if options.recompute and scale in _SIZED_SCALES and not combined.has_text:
            raise UsageError(
                "--recompute counts highlighted text, and the judgements have none; without it "
                "their own sizes are used"
            )
        if count_shared_text and not options.recompute:
            from foveal.evaluation.conversion import count_sizes

            combined = count_sizes(combined, index, judgements.shared & combined.relevant)
        forest = Forest.from_collection(combined, index, recompute=options.recompute)
        if elements is not None:  # where a judgement lists elements, only those count
            row = elements["row"].to_numpy()
            node = forest.find(row, elements["xpath"])
            listed, lists = np.zeros(len(forest), dtype=bool), np.zeros(len(combined), dtype=bool)
            listed[node[node >= 0]] = True
            lists[row] = True
            forest = forest.only(listed | ~lists[forest.row])
    elif elements is not None:
        forest = Forest.from_assessments(combined)
    else:
        return None
    if options.exclude_tags:
        from foveal.evaluation.conversion import describe_unknown_exclusions

        warnings += describe_unknown_exclusions(options.exclude_tags, forest.paths, index)
        forest = forest.without_tags(options.exclude_tags)
    if cas is not None:
        forest = forest.only(cas(combined, forest.row, forest.xpath))
        found = (forest.assessed.exhaustivity > 0) | forest.assessed.too_small
        if not (forest.counts & found).any():
            raise UsageError(f"--cas {cas.reading} leaves no relevant element of any topic")
    return forest


# -- runs ------------------------------------------------------------------------------------------


@dataclass(eq=False)
class AlignedRun:
    """A run that was checked and aligned with judgements, ready for measures."""

    run: Run  # the run as read, on the text of the collection if there is one
    gold: Gold
    unlimited: Alignment  # the results on judged topics, before any character limit cut them
    limited: Alignment  # the results that count
    overlaps: dict[Measure, Overlap]  # the treatment of overlapping results by each measure
    counts: Counts  # warnings by their form; those about parts of a run add up
    has_parts: bool  # True if some results are parts of documents

    def alignment(self, overlap: Overlap = Overlap.UNCHANGED) -> Alignment:
        """Return the alignment under a treatment of overlap."""
        return self.limited.with_overlap(overlap)

    def alignment_for(self, measure: Measure) -> Alignment:
        """Return the alignment that a measure is computed on."""
        return self.alignment(self.overlaps[measure])

    @property
    def warnings(self) -> list[str]:
        """Everything to say about the run: notes of its reader, and counts above 0."""
        return [*filter(None, self.run.notes), *rules.describe_counts(self.counts)]


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
    found = len(alignment.run) or gold.topic_at.keys() & run.topics_without_results
    if not (found or gold.is_part):
        topics = [*run.topics, *run.topics_without_results]
        raise refuse_topics(run.source.path, topics, gold.topics)
    wanted = options.only_topics
    unjudged = [t for t in alignment.unjudged_topics if wanted is None or t in wanted]
    counts: Counts = {UNJUDGED_TOPICS: unjudged}
    if options.max_results is not None:
        alignment = rules.TOO_MANY.repair(alignment, counts, options.max_results)
    if options.lenient or run.answers is not None:
        past_end = rules.PAST_END if run.answers is None else rules.CITED_PAST_END
        alignment = past_end.repair(alignment, counts)
    else:
        rules.refuse_broken(alignment, {rules.PAST_END: f" ({rules.PAST_END.option})"})
    _check_needs(alignment, measures)
    unlimited = alignment
    for limit, unit in ((options.topic_limit, "topic"), (options.document_limit, "document")):
        if limit is not None:
            rules.refuse_broken(alignment, {rules.UNKNOWN_LENGTH: ""}, limit, unit)
            if options.truncate:
                alignment = rules.LIMIT.repair(alignment, counts, limit, unit)
            else:
                reason = f"; the task forbids it ({rules.LIMIT.option})"
                rules.refuse_broken(alignment, {rules.LIMIT: reason}, limit, unit)
    forbidden = rules.choose_rules(measures, options.overlap)
    if options.regroup and forbidden.pop(rules.INTERLEAVED, ""):
        rules.INTERLEAVED.repair(alignment, counts)
    rules.refuse_broken(alignment, forbidden)
    # Count overlap that the task forbids, and empty or repeated results that nothing forbids.
    if options.warn_overlap:
        over = int((~alignment.cached(find_disjoint)).sum())
        counts["results that overlap an earlier one, which the task forbids: {}"] = over
    if {measure.overlap_rule for measure in measures} != {OverlapRule.ONE_PER_DOCUMENT}:
        start, end = alignment.run.start, alignment.run.end
        counts[EMPTY_RESULTS] = int(((start == end) & (start >= 0)).sum())
    if rules.DUPLICATE not in forbidden and run.answers is None:  # sentences may cite the same
        repeats = len(rules.DUPLICATE.broken(alignment)[0])
        counts["results that repeat an earlier one: {}"] = repeats
    overlaps = dict.fromkeys(measures, Overlap.UNCHANGED)
    # Measures of citations count all of them, and unite their text.
    for measure in (own for own in measures if Need.ANSWERS not in own.needs):
        one = measure.overlap_rule is OverlapRule.ONE_PER_DOCUMENT
        if options.overlap == "drop":
            overlaps[measure] = Overlap.FIRST_PER_DOCUMENT if one else Overlap.DISJOINT
        elif options.overlap == "allow" and measure.structural:
            overlaps[measure] = Overlap.COUNT_REPEATS
        elif options.overlap == "union" and not one and not measure.structural:
            overlaps[measure] = Overlap.UNION
    for overlap in dict.fromkeys(overlaps.values()):
        if overlap in (Overlap.DISJOINT, Overlap.FIRST_PER_DOCUMENT):
            dropped = len(alignment.run) - len(alignment.with_overlap(overlap).run)
            counts[f"{overlap.value}: {{}}"] = dropped
    return AlignedRun(run, gold, unlimited, alignment, overlaps, counts, has_parts)


def refuse_topics(
    path: str, topics: Sequence[str], judged: Sequence[str], *, excluded: bool = False
) -> InputError:
    """Return the error about a run without a judged topic, or whose topics are all `excluded`."""
    has = f"the run has {shorten_list(topics) or 'none'}"
    if excluded:
        what = "all topics of the run are left out of the evaluation"
        text = f"{what}; {has}, evaluated are {shorten_list(judged)}"
        return InputError.at("run.excluded_topics", path, None, text)
    text = f"no topic in common with the judgements; {has}, the judgements {shorten_list(judged)}"
    return InputError.at("run.unjudged_topics", path, None, text)


def _mark_passages(run: Run) -> Bools:
    """Return a mask of the results that are neither elements nor whole documents."""
    from foveal.collection.placement import is_element, is_whole_document

    return ~is_element(run) & ~is_whole_document(run)


def _check_needs(alignment: Alignment, measures: Sequence[Measure]) -> None:
    """Refuse measures whose inputs are missing, naming what would supply them."""
    gold, run = alignment.gold, alignment.run
    judgements, forest = gold.judgements, gold.forest
    needs = {need for measure in measures for need in measure.needs}
    # What the judgements lack, and the results that lack something.
    absent: dict[Need, Callable[[], bool | Bools]] = {
        Need.TEXT: lambda: not judgements.has_text,
        Need.BEP: lambda: gold.no_bep,
        Need.RELEVANT_LENGTHS: lambda: gold.unmeasured,
        Need.MEAN_LENGTH: lambda: bool(np.isnan(gold.mean_length)),
        Need.ELEMENTS: lambda: not gold.element_size.any(),
        Need.STRUCTURE: lambda: forest is None,
        Need.ANSWERS: lambda: run.answers is None,
        Need.RETRIEVED: lambda: (
            run.retrieved is None or not Alignment(run.retrieved, gold).placed.all()
        ),
        Need.ELEMENT_SIZES: lambda: forest is not None and not forest.placed,
        Need.COLLECTION_SIZE: lambda: gold.collection_elements is None,
        Need.SPANS: lambda: not alignment.all_have_text and ~alignment.placed,
        Need.LENGTHS: lambda: alignment.length < 0,
        Need.RELEVANT_SPANS: lambda: ~alignment.placed & alignment.relevant,
        Need.RELEVANT_STARTS: lambda: (run.start < 0) & alignment.relevant,
        # A collection has refused results that are not elements.
        Need.ELEMENT_RESULTS: lambda: run.length is None and _mark_passages(run),
    }
    lacks = {need: absent[need]() for need in needs}
    missing = {need: lack for need, lack in lacks.items() if np.any(lack)}
    path = judgements.sources[0].path
    for measure in measures:
        try:
            measure.check_gold(gold)
        except UsageError as error:
            raise InputError.at("judgements.unsuitable", path, None, str(error)) from None
        need = next((need for need in measure.needs if need in missing), None)
        if need is None:
            continue
        code = f"measure.needs_{need.name.lower()}"
        if need in (Need.ANSWERS, Need.RETRIEVED):
            path = run.source.path
        text, lack = f"{measure} needs {need.what}; it takes {need.supplied_by}", missing[need]
        if judgements.places is not None and need in (Need.TEXT, Need.BEP):
            by_path = judgements.places.filter(judgements.places["bep"] == (need is Need.BEP))
            if len(by_path):
                row, at = by_path.select("row", "line").row(0)
                text = f"{measure} needs {need.what}; XPaths take a collection: --collection INDEX"
                raise InputError([judgements.problem(code, row, text, line=at)])
        if isinstance(lack, np.ndarray):
            raise InputError.at(code, run.source.path, int(run.line[lack][0]), text)
        raise InputError.at(code, path, None, text)
