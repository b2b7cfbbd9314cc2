"""The options of an evaluation that change numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from foveal.errors import UsageError

if TYPE_CHECKING:
    from foveal.measures.base import Measure

__all__ = [
    "CAS_READINGS",
    "OVERLAP_POLICIES",
    "TOPIC_POLICIES",
    "UNDEFINED_POLICIES",
    "Options",
    "resolve_settings",
]

TOPIC_POLICIES = ("judged", "run", "both")
UNDEFINED_POLICIES = ("skip", "zero")
OVERLAP_POLICIES = ("error", "drop", "union", "allow")
CAS_READINGS = ("VV", "SV", "VS", "SS")


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
        Documents are named by the text of their first such element, not by their path.
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

    topics: str = "judged"
    only_topics: tuple[str, ...] | None = None
    undefined: str = "skip"
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

    def changed(self) -> dict[str, Any]:
        """The options that differ from their defaults, for provenance."""
        default = asdict(Options())
        return {name: value for name, value in asdict(self).items() if value != default[name]}


def resolve_settings(
    measures: str | Measure | Sequence[str | Measure], task: str | None, options: dict[str, Any]
) -> tuple[tuple[Measure, ...], Options]:
    """Return the distinct measures in order, and the options completed from the task's preset."""
    from foveal.measures.base import Measure
    from foveal.measures.registry import parse_measures

    try:
        settings = Options(**options)
    except TypeError as error:
        raise UsageError(str(error).replace("Options.__init__() ", "")) from None
    chosen: list[Measure] = []
    if task is not None:
        from foveal.evaluation.presets import find_preset

        if not isinstance(task, str):
            raise UsageError(f"task {task!r} is not a text; expected one task such as 2009.Focused")

        preset = find_preset(task)
        chosen += preset.measures
        settings = replace(
            settings,
            overlap=settings.overlap or preset.overlap,
            topic_limit=settings.topic_limit or preset.topic_limit,
            document_limit=settings.document_limit or preset.document_limit,
            max_results=settings.max_results or preset.max_results,
            castitles_only=settings.castitles_only or preset.castitles_only,
            warn_overlap=preset.warn_overlap,
        )
    listed = measures if isinstance(measures, Sequence) and not isinstance(measures, str) else None
    for item in [measures] if listed is None else listed:
        if isinstance(item, str):
            chosen += parse_measures(item)
        elif isinstance(item, Measure):
            chosen.append(item)
        else:
            raise UsageError(f"{item!r} is not a measure; expected a text such as 'AiP'")
    for measure in chosen:
        measure.check()
    if not chosen:
        raise UsageError("no measure given; name measures (-m) or an official task (-t)")
    return tuple(dict.fromkeys(chosen)), settings
