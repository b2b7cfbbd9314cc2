"""Projections of judgements for reading and for programs."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from foveal.analysis.projection import LEVELS, Projection
from foveal.formats.result_files import separated
from foveal.model.run import ALL
from foveal.report.grids import Grid

__all__ = ["gains_text", "projection_data", "projection_grids", "projection_json", "units_text"]

Row = tuple[str, str, str, float]

_EVIDENCE = {
    "inside": "inside",
    "whole": "whole",
    "split": "split",
    "outside": "outside",
    "split_text": "split text",
    "units": "units",
    "purity": "purity",
}
_NOTES = (
    "inside: relevant characters in any unit; split text: those of passages that are cut.",
    "whole, split, outside: relevant passages that one unit holds, that are cut, that lie outside.",
    "units: how many hold relevant text; purity: relevant characters of all characters of these.",
)
_CEILINGS = (
    "The best scores of runs of units, none over another.",
    "Of two figures the first is reached and the second exceeded by none; single ones are exact.",
)


def projection_grids(found: Sequence[Projection], *, per_topic: bool = False) -> list[Grid]:
    """What becomes of the evidence, and the ceilings of each division."""
    evidence, ceilings = [], []
    pairs = [*(f"iP@{level:g}" for level in LEVELS), *_budgets(found[0])]
    for projection in found:
        own = projection.division
        mean_size = float((own.end - own.start).mean())
        for topic, figures in _figures(projection, per_topic=per_topic):
            head = (own.name, topic) if per_topic else (own.name,)
            numbers = (str(len(own)), f"{mean_size:.0f}")
            evidence.append((*head, *numbers, *(_cell(figures[name], name) for name in _EVIDENCE)))
            exact = (f"{figures[name]:.4f}" for name in ("inside", "best_P", "best_F"))
            ranges = (_range(figures[name], figures[f"{name} bound"]) for name in pairs)
            ceilings.append((*head, *exact, *ranges))
    head = ("division", "topic") if per_topic else ("division",)
    labels = len(head)
    return [
        Grid(
            (*head, "all units", "mean size", *_EVIDENCE.values()),
            tuple(evidence),
            labels=labels,
            title="Evidence in units" + ("" if per_topic else ", mean over topics"),
            notes=_NOTES,
        ),
        Grid(
            (*head, "charR", "charP", "charF", *pairs),
            tuple(ceilings),
            labels=labels,
            title="Ceilings" + ("" if per_topic else ", mean over topics"),
            notes=_CEILINGS,
        ),
    ]


def _budgets(projection: Projection) -> list[str]:
    names = projection.topics.columns
    return [n for n in names if n.startswith("charR@") and not n.endswith(" bound")]


def _figures(projection: Projection, *, per_topic: bool) -> Iterator[tuple[str, dict[str, float]]]:
    """Topic and figures, the means under the name of all topics last."""
    if per_topic:
        for row in projection.topics.iter_rows(named=True):
            yield row.pop("topic"), row
    yield ALL, projection.means


def _cell(value: float, name: str) -> str:
    return f"{value:.1f}" if name == "units" else f"{value:.4f}"


def _range(low: float, high: float) -> str:
    return f"{low:.4f}" if f"{low:.4f}" == f"{high:.4f}" else f"{low:.4f}-{high:.4f}"


def projection_data(found: Sequence[Projection], form: str, *, per_topic: bool = False) -> str:
    """Tidy rows as tsv or csv: division, topic, figure, value."""
    rows = (
        (projection.division.name, topic, name, value)
        for projection in found
        for topic, figures in _figures(projection, per_topic=per_topic)
        for name, value in figures.items()
    )
    return separated(("division", "topic", "figure", "value"), rows, form)


def projection_json(found: Sequence[Projection]) -> str:
    """Everything, by division: means and topics."""
    content = {
        projection.division.name: {
            "units": len(projection.division),
            "means": projection.means,
            "topics": projection.topics.to_dicts(),
        }
        for projection in found
    }
    return json.dumps(content, indent=1) + "\n"


def units_text(projection: Projection) -> str:
    """The units with their names as JSON Lines, which can be read as a division again."""
    rows = projection.division.to_frame().iter_rows(named=True)
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def gains_text(projection: Projection) -> str:
    """The relevant characters of every topic and unit, and their share, as tsv."""
    columns = ("topic", "unit", "size", "relevant", "share")
    return separated(columns, projection.gains.select(columns).iter_rows(), "tsv")
