"""Axioms that measures of this package break on purpose, and the purpose.

A measure of another package declares its own as a class attribute ``axioms``, a mapping of the
axiom's name to the reason. A reason excuses nothing that does not fail: the tests hold every entry
against a counterexample.
"""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["REASONS"]

_OF_DOCUMENTS = "whatever is returned of a relevant document finds that document"
_NEAR = "an entry point counts by its distance from the best one, whatever text lies there"
_READS_ON = "a result is where a reader begins, who reads on past its end"
_STOPS = (
    "with mode=first the reader stops at the first relevant character that is new, so that each "
    "further result of a passage, a repeat too, brings one more"
)
_JUDGED = "tells which documents were judged, not which are relevant"

REASONS: Mapping[str, Mapping[str, str]] = {
    **{
        name: {"touching": _OF_DOCUMENTS}
        for name in ("FBarticle", "gR", "gRw", "P", "R", "AP", "gen_document")
    },
    **{name: {"touching": _NEAR} for name in ("BEPD", "GR", "EPRUM", "EPRUMk", "PRUM")},
    "T2I": {
        "touching": _READS_ON,
        "order": "the passage that a reader reaches first is the one that counts as found there",
    },
    **{name: {"touching": _READS_ON} for name in ("T2IP", "T2IR")},
    **{
        name: {"touching": _READS_ON, "duplicate": _STOPS, "split": _STOPS}
        for name in ("T2IcharP", "T2IcharR")
    },
    "judged": {"touching": _JUDGED, "document": _JUDGED},
}
"""Measure to axiom to reason."""
