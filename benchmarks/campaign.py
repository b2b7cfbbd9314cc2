"""The campaign of passages: how large it is and where its files are."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from benchmarks.sizes import CampaignFiles, CampaignSize, number

__all__ = ["Files", "Size"]


@dataclass(frozen=True)
class Size(CampaignSize):
    """What a campaign of passages is generated from."""

    short: int = number(18_000, "lines of the one short run")

    @property
    def drawn(self) -> int:
        # Every document holds at least one passage.
        return max(super().drawn, self.short // self.topics)


@dataclass(frozen=True)
class Files(CampaignFiles):
    """The files of a campaign of passages."""

    kind = Size

    @property
    def runs(self) -> list[Path]:
        """Passage runs, 8 fields."""
        return sorted((self.root / "passages").glob("*.run"))

    @property
    def judgements(self) -> Path:
        return self.root / "passages" / "judgements.qrels"

    @property
    def short_run(self) -> Path:
        return self.root / "short.run"

    @property
    def document_runs(self) -> list[Path]:
        """The same runs as TREC rankings of documents, each at its first passage."""
        return sorted((self.root / "documents").glob("*.run"))

    @property
    def document_judgements(self) -> Path:
        return self.root / "documents" / "judgements.qrels"
