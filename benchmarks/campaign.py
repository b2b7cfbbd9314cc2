"""A benchmark campaign: how large it is and where its files are.

Nothing here imports NumPy or Polars: on Linux a child process begins with the peak memory of its
parent, so the process that measures the others has to stay small.
"""

from __future__ import annotations

import json
from argparse import ArgumentParser, Namespace
from dataclasses import asdict, dataclass, fields
from pathlib import Path

__all__ = ["Files", "Size", "add_size_options"]


@dataclass(frozen=True)
class Size:
    """What a campaign is generated from; the same size gives the same bytes."""

    topics: int = 114
    results: int = 1500
    runs: int = 20
    documents: int = 200_000
    judged: int = 500
    short: int = 18_000
    seed: int = 2009

    def __post_init__(self) -> None:
        for name, value in asdict(self).items():
            if value < (0 if name == "seed" else 1):
                raise ValueError(f"{name} {value} is too small")
        # Every document holds at least one passage, so that many never run out.
        most = max(self.results, self.judged, self.short // self.topics)
        if self.documents < 2 * most:
            raise ValueError(f"{self.documents} documents are too few, expected {2 * most} or more")

    @classmethod
    def of(cls, options: Namespace) -> Size:
        """The size that `add_size_options` read."""
        return cls(**{field.name: getattr(options, field.name) for field in fields(cls)})

    @property
    def lines(self) -> int:
        return self.topics * self.results * self.runs


_HELP = {
    "topics": "number of topics",
    "results": "results per topic and run",
    "runs": "number of runs",
    "documents": "documents in the collection",
    "judged": "judged documents per topic",
    "short": "lines of the one short run",
    "seed": "seed of the random numbers",
}


def add_size_options(parser: ArgumentParser) -> None:
    """One option for each field of `Size`."""
    for field in fields(Size):
        parser.add_argument(
            f"--{field.name}",
            type=int,
            default=field.default,
            metavar="N",
            help=f"{_HELP[field.name]} (default {field.default})",
        )


@dataclass(frozen=True)
class Files:
    """The files of a campaign below one directory."""

    root: Path

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

    def size(self) -> Size | None:
        """The size of the campaign that is complete here, if one is."""
        try:
            return Size(**json.loads((self.root / "size.json").read_text()))
        except FileNotFoundError:
            return None

    def complete(self, size: Size) -> None:
        """Note that the files of a campaign of this size are all written."""
        (self.root / "size.json").write_text(json.dumps(asdict(size), indent=2) + "\n")
