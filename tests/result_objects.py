"""One result object of every kind, on a small campaign."""

from __future__ import annotations

from collections.abc import Callable

import foveal
from foveal import compare, correlate, pool
from foveal.analysis.agreement import agreement
from foveal.analysis.anchors import verify
from foveal.analysis.axioms import axioms
from foveal.analysis.budgets import budget_curves
from foveal.analysis.fidelity import fidelity
from foveal.analysis.projection import Projections, Segmentation, project
from foveal.analysis.recall_bases import recall_base
from foveal.analysis.statistics import Statistics, run_statistics
from foveal.measures import toy
from foveal.model import Judgements, Run
from foveal.model.result_object import Result

TEXTS = {f"d{i}": "abcdefghij" * 12 for i in range(4)}
TRUTH = Judgements.from_highlights(
    {
        topic: {
            doc: {"spans": [(10 * i, 10 * i + 20 + t)] if i < 3 else [], "length": 120}
            for i, doc in enumerate(TEXTS)
        }
        for t, topic in enumerate("123")
    }
)
RUNS = [
    Run.from_results(
        {
            topic: [(doc, step * t, step * t + size) for doc in TEXTS]
            for t, topic in enumerate("123")
        },
        name=name,
    )
    for name, size, step in (("small", 20, 3), ("large", 70, 2), ("odd", 33, 9))
]
SCORES = foveal.evaluate(RUNS, TRUTH, ["charP", "charR", "AP"])
QUOTED = foveal.judgements_of(
    [{"topic": "1", "doc": "d0", "start": 3, "end": 6, "text": "def"}], texts=TEXTS
)

OBJECTS: dict[str, Callable[[], Result]] = {
    "comparison": lambda: compare(SCORES, resamples=50),
    "baseline": lambda: compare(SCORES, baseline="odd", resamples=50),
    "correlations": lambda: correlate(SCORES, coefficients=["tau_b", "tau_ap"]),
    "halves": lambda: correlate(SCORES, by="topics", samples=5),
    "agreement": lambda: agreement({"ann": TRUTH, "bob": TRUTH}),
    "budgets": lambda: budget_curves(RUNS, TRUTH, budgets=[20, 60, 120]),
    "fidelity": lambda: fidelity(TRUTH, measures=["AgP", "AP"]),
    "pool": lambda: pool(RUNS).statistics,
    "projections": lambda: Projections(
        tuple(project(TRUTH, Segmentation.windows(dict.fromkeys(TEXTS, 120), n)) for n in (20, 50))
    ),
    "anchors": lambda: verify(QUOTED, TEXTS),
    "recall base": lambda: recall_base(toy.judgements(), "toy"),
    "axioms": lambda: axioms(["charF", "P@10"], campaigns=10),
    "statistics": lambda: Statistics({r.name: run_statistics(r) for r in RUNS}),
}
