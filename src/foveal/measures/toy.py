"""The toy campaign on which every measure's example runs.

Three documents of 100, 50 and 40 characters. In D1 the passages [10,40) and [70,80) are relevant
and the best entry point is 10; D2 is relevant throughout, entered at 0; D3 is not relevant.
"""

from __future__ import annotations

from typing import Any

from foveal.measures.base import Example, Measure
from foveal.measures.view import Alignment, Judged
from foveal.model import Judgements, Run

__all__ = ["JUDGEMENTS", "run_example"]

JUDGEMENTS: dict[str, dict[str, dict[str, Any]]] = {
    "toy": {
        "D1": {"length": 100, "bep": 10, "spans": [(10, 40), (70, 80)]},
        "D2": {"length": 50, "bep": 0, "spans": [(0, 50)]},
        "D3": {"length": 40, "spans": []},
    }
}


def parse_run(text: str) -> list[tuple[str, int, int]]:
    """Results written as ``D1:20-40 D2:0-50``.

    >>> parse_run("D1:20-40")
    [('D1', 20, 40)]
    """
    results = []
    for item in text.split():
        doc, _, place = item.partition(":")
        start, _, end = place.partition("-")
        results.append((doc, int(start), int(end)))
    return results


def run_example(measure: Measure, example: Example) -> float:
    """The score of an example's run on the toy campaign.

    >>> from foveal.measures import AiP
    >>> round(run_example(AiP, AiP.example), 4)
    0.8304
    """
    judged = Judged(Judgements.from_highlights(JUDGEMENTS).combined())
    run = Run.from_results({"toy": parse_run(example.run)})
    return measure.value(Alignment(run, judged).topic("toy"))
