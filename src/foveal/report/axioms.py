"""Verdicts of axioms for people: measures by axioms, counterexamples, the axioms in words."""

from __future__ import annotations

from collections.abc import Sequence

from foveal.analysis.axioms import AXIOMS, AxiomOutcome, Axioms, AxiomVerdict
from foveal.errors import UsageError, counted, some
from foveal.report.grids import Grid

__all__ = ["PARTS", "axiom_grids"]

PARTS = ("verdicts", "counterexamples", "axioms")
"""Tables of a trial."""
_SIGNS = {
    AxiomOutcome.HOLDS: "yes",
    AxiomOutcome.FAILS: "NO",
    AxiomOutcome.INTENDED: "(no)",
    AxiomOutcome.NOT_APPLICABLE: "-",
}
_MOST = 6
"""Measures that a note names."""


def axiom_grids(found: Axioms, parts: Sequence[str] = ()) -> list[Grid]:
    """The tables of a trial; by default the verdicts, and where there are any counterexamples."""
    for part in parts:
        if part not in PARTS:
            raise UsageError(f"no table {part!r}; expected {' or '.join(PARTS)}")
    broken = [verdict for verdict in found.verdicts if verdict.counterexample is not None]
    wanted = parts or ("verdicts", *(["counterexamples"] if broken else []))
    tables = []
    if "verdicts" in wanted:
        tables.append(_verdicts(found))
    if "counterexamples" in wanted:
        tables.append(_counterexamples(broken))
    if "axioms" in wanted:
        tables.append(_axioms())
    return tables


def _verdicts(found: Axioms) -> Grid:
    """Measures by axioms, and below it the reasons."""
    rows = tuple(
        (measure, *(_SIGNS[verdict.outcome] for verdict in found.of(measure)))
        for measure in found.measures
    )
    tried = f"{counted(found.campaigns, 'campaign')} (seed {found.seed})"
    signs = f"yes: no counterexample among {tried}; NO: fails; (no): fails by design"
    notes = (
        f"{signs}; -: does not apply.",
        *_reasons(found, AxiomOutcome.INTENDED),
        *_reasons(found, AxiomOutcome.NOT_APPLICABLE),
        *(f"{measure} is marked unsound: {why}." for measure, why in found.unsound.items()),
    )
    return Grid(
        ("measure", *(axiom.name for axiom in AXIOMS)),
        rows,
        labels=len(AXIOMS) + 1,
        title=f"Axioms: {counted(len(found.measures), 'measure')}",
        notes=notes,
        name="axioms",
    )


def _reasons(found: Axioms, outcome: AxiomOutcome) -> list[str]:
    """Each reason once, with the axioms and measures that it is for."""
    alike: dict[str, list[AxiomVerdict]] = {}
    for verdict in found.verdicts:
        if verdict.outcome is outcome:
            alike.setdefault(verdict.reason, []).append(verdict)
    return [
        f"{_SIGNS[outcome]} {', '.join(dict.fromkeys(v.axiom for v in verdicts))}: {reason} "
        f"[{some(list(dict.fromkeys(v.measure for v in verdicts)), _MOST)}]."
        for reason, verdicts in alike.items()
    ]


def _counterexamples(broken: Sequence[AxiomVerdict]) -> Grid:
    """The smallest campaign found for everything that fails."""
    rows = []
    for verdict in broken:
        example = verdict.counterexample
        assert example is not None  # asked for by the caller
        compared = example.before != example.after
        rows.append(
            (
                verdict.measure,
                verdict.axiom,
                example.judged,
                example.before if compared else "",
                f"{example.score:.4f}" if compared else "",
                example.after,
                f"{example.changed:.4f}",
            )
        )
    return Grid(
        ("measure", "axiom", "relevant", "list", "score", "becomes", "score"),
        tuple(rows),
        labels=4,
        title="Smallest counterexamples found",
        notes=("A:0-10 is the text of document A from offset 0 up to, and without, 10.",),
        name="counterexamples",
    )


def _axioms() -> Grid:
    """What each axiom asks for."""
    rows = tuple((axiom.name, axiom.title, axiom.words) for axiom in AXIOMS)
    return Grid(
        ("axiom", "in short", "definition"), rows, labels=3, title="The axioms", name="words"
    )
