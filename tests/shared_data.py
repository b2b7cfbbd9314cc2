"""Real data beside the project; tests that need it are skipped where it is absent."""

from __future__ import annotations

from pathlib import Path

import pytest

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
INEX = DATA / "inex2009"

needs_inex = pytest.mark.skipif(
    not (INEX / "qrels.txt").exists(), reason="the INEX 2009 data are not beside the project"
)
