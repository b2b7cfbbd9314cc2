"""The benchmark of T2I grows what it says, and reports the power of its time."""

from __future__ import annotations

from pathlib import Path

from benchmarks.outcome import Outcome
from benchmarks.t2i import campaign

from benchmark_commands import benchmark


def test_results_and_relevant_documents_grow_together() -> None:
    for results, documents in ((100, 2), (400, 8)):
        highlights, ranked = campaign(results)
        assert len(highlights["1"]) == documents
        assert len(set(ranked["1"])) == results


def test_time_is_reported_by_size_and_against_aip(tmp_path: Path) -> None:
    raw = tmp_path / "raw.json"
    sizes = ["--results=400", "--points=2", "--repeats=1"]
    benchmark("benchmarks.t2i", *sizes, "--json", str(raw))
    found = Outcome.from_json(raw.read_text())
    (curve,) = found.curves
    assert curve.values == [200, 400]
    assert set(curve.series) == {"T2I", "AiP"}
    assert len(found.aims) == 2
