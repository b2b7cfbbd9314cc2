"""Where data came from: the name it was given by and the hash of its bytes."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Provenance"]


@dataclass(frozen=True, slots=True)
class Provenance:
    """The file behind a run or a judgement set; data made in Python has no hash."""

    path: str
    sha256: str | None = None
