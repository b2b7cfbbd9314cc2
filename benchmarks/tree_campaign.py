"""The campaign of trees: how large it is and where its files are."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from benchmarks.sizes import CampaignFiles, CampaignSize, number

__all__ = ["Files", "Size"]


@dataclass(frozen=True)
class Size(CampaignSize):
    """What a campaign of trees is generated from."""

    # Runs of entry points return a document once, so that `drawn` need not be more.
    documents: int = number(6000, "documents in the collection")
    elements: int = number(100, "elements of a document, from half to twice as many")
    relevant: int = number(200, "relevant documents per topic, each with a best entry point")
    seed: int = number(2005, "seed of the random numbers")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.relevant > self.judged:
            raise ValueError(f"{self.relevant} relevant documents, but only {self.judged} judged")


@dataclass(frozen=True)
class Files(CampaignFiles):
    """The files of a campaign of trees."""

    kind = Size

    @property
    def articles(self) -> Path:
        return self.root / "articles"

    @property
    def index(self) -> Path:
        return self.root / "articles.index"

    @property
    def judgements(self) -> Path:
        return self.root / "judgements.jsonl"

    @property
    def grades(self) -> Path:
        """Judgements of the same elements on the scale of 2003 and 2004."""
        return self.root / "grades.jsonl"

    @property
    def runs(self) -> list[Path]:
        """Ranked elements, 7 fields."""
        return sorted((self.root / "elements").glob("*.run"))

    @property
    def submissions(self) -> list[Path]:
        """The first run of each kind as INEX XML."""
        return sorted((self.root / "submissions").glob("*.xml"))

    @property
    def entries(self) -> list[Path]:
        """Runs with one element per document, for the task Best in Context; 7 fields."""
        return sorted((self.root / "entries").glob("*.run"))

    @property
    def facts(self) -> dict[str, float]:
        """What the generator counted."""
        found: dict[str, float] = json.loads((self.root / "facts.json").read_text())
        return found

    def note(self, facts: dict[str, float]) -> None:
        """Keep what the generator counted."""
        (self.root / "facts.json").write_text(json.dumps(facts, indent=2) + "\n")
