"""The options of an evaluation that change numbers."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from foveal.errors import UsageError

__all__ = ["OVERLAP_POLICIES", "TOPIC_POLICIES", "Options"]

TOPIC_POLICIES = ("judged", "run", "both")
OVERLAP_POLICIES = ("error", "drop", "union", "allow")


@dataclass(frozen=True, kw_only=True)
class Options:
    """How runs are prepared and which topics count.

    Parameters
    ----------
    topics : {"judged", "run", "both"}
        Average over all judged topics (those missing from a run score 0), over those in the run,
        or over those in all runs.
    only_topics : tuple of str, optional
        Restrict the evaluation to these.
    assessors : str
        ``union``, ``majority``, ``intersection``, ``each`` or the name of an assessor.
    overlap : {"error", "drop", "union", "allow"}, optional
        What to do with overlapping results; by default the measure's own rule.
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
    """

    topics: str = "judged"
    only_topics: tuple[str, ...] | None = None
    assessors: str = "union"
    overlap: str | None = None
    regroup: bool = False
    truncate: bool = False
    lenient: bool = False
    max_results: int | None = None
    topic_limit: int | None = None
    document_limit: int | None = None

    def __post_init__(self) -> None:
        for name, allowed in (
            ("topics", TOPIC_POLICIES),
            ("overlap", (None, *OVERLAP_POLICIES)),
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
