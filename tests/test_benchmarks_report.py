"""The benchmark of the report page runs to its end and measures what its aims are about."""

from __future__ import annotations

from pathlib import Path

from benchmarks.__main__ import BENCHMARKS
from benchmarks.outcome import Outcome

from benchmark_commands import benchmark
from browsing import needs_browser


@needs_browser
def test_pages_of_both_campaigns_are_measured(tmp_path: Path) -> None:
    raw = tmp_path / "raw.json"
    short = [*BENCHMARKS["report_page"].short, "--data", str(tmp_path / "data")]
    benchmark("benchmarks.report_page", *short, "--json", str(raw))
    found = Outcome.from_json(raw.read_text())
    (table,) = found.tables
    assert [row[-1] for row in table.rows] == ["5 of 5", "30 of 30"]
    sizes = [(tmp_path / "data" / name).stat().st_size for name in ("runs.html", "topics.html")]
    assert [aim.value for aim in found.aims[:2]] == [size / 1e6 for size in sizes]
    assert len(found.aims) == 4
