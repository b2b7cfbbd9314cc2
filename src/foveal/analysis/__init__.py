"""Is a difference real, does a measure measure: significance, correlation, fidelity, pools."""

from __future__ import annotations

from foveal.analysis.aligned import Aligned, align

__all__ = ["Aligned", "align"]
