"""The campaign of passages: how large it is and where its files are."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from benchmarks.sizes import CampaignFiles, CampaignSize, number

__all__ = ["DOCUMENT_RUNS", "KINDS", "Files", "Size"]

KINDS = ("context", "focused", "entries", "thorough")
"""What runs are like: passages without overlap, grouped by document; the same in any order; one per
document, for the sake of where it begins; passages one inside the other."""
DOCUMENT_RUNS = 10
"""So many of the runs of the first kind are written as rankings of documents, too."""


@dataclass(frozen=True)
class Size(CampaignSize):
    """What a campaign of passages is generated from."""

    runs: int = number(100, "number of runs of each kind")
    kinds: int = number(len(KINDS), f"so many kinds of runs, the first of {', '.join(KINDS)}")
    short: int = number(18_000, "lines of the one short run")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.kinds > len(KINDS):
            raise ValueError(f"{self.kinds} kinds of runs, but there are {len(KINDS)}")

    @property
    def drawn(self) -> int:
        # Every document holds at least one passage.
        return max(super().drawn, self.short // self.topics)


@dataclass(frozen=True)
class Files(CampaignFiles):
    """The files of a campaign of passages."""

    kind = Size

    def runs_of(self, kind: str) -> list[Path]:
        """Passage runs of one kind, 8 fields."""
        return sorted((self.root / kind).glob("*.run"))

    @property
    def runs(self) -> list[Path]:
        """Those of the first kind."""
        return self.runs_of(KINDS[0])

    @property
    def judgements(self) -> Path:
        return self.root / "judgements.qrels"

    @property
    def short_run(self) -> Path:
        return self.root / "short.run"

    @property
    def document_runs(self) -> list[Path]:
        """Some of the first runs as TREC rankings of documents, each at its first passage."""
        return sorted((self.root / "documents").glob("*.run"))

    @property
    def document_judgements(self) -> Path:
        return self.root / "documents" / "judgements.qrels"
