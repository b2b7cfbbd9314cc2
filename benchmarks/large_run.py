"""One run of passages that is larger than memory, written piece by piece, and its judgements.

    python -m benchmarks.large_run OUT --topics 750 --results 60000

The process that writes never holds more than the results of a few topics.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.campaign import KINDS
from benchmarks.sizes import CampaignFiles, CampaignSize, generate_from_shell, number

__all__ = ["LargeFiles", "LargeSize", "generate"]

PIECE = 10
"""Topics that are written together."""


@dataclass(frozen=True)
class LargeSize(CampaignSize):
    """The size of a large run: a line has about 54 bytes."""

    topics: int = number(750, "number of topics")
    results: int = number(60_000, "results per topic")
    runs: int = number(1, "number of runs; there is 1")
    judged: int = number(200, "judged documents per topic")


@dataclass(frozen=True)
class LargeFiles(CampaignFiles):
    """The files of a large run."""

    kind = LargeSize

    @property
    def runs(self) -> list[Path]:
        return [self.root / "large.run"]

    @property
    def judgements(self) -> Path:
        return self.root / "judgements.qrels"


def generate(root: Path, size: LargeSize) -> LargeFiles:
    """Write a run into a directory that is empty or does not exist."""
    import numpy as np

    from benchmarks.generate import draw_run, draw_truth, format_judgements, write_passages

    files = LargeFiles(root)
    files.new()
    root.mkdir(parents=True, exist_ok=True)
    documents, topics = draw_truth(size)
    files.judgements.write_text(format_judgements(documents, topics))
    with files.runs[0].open("wb") as target:
        for first in range(0, size.topics, PIECE):
            random = np.random.default_rng([size.seed, 2, first])
            own = topics[first : first + PIECE]
            run = draw_run(documents, own, size.results, KINDS[0], random)
            write_passages(run, "large", target)
    files.complete(size)
    return files


def main(arguments: Sequence[str] | None = None) -> None:
    generate_from_shell("python -m benchmarks.large_run", __doc__, generate, LargeSize, arguments)


if __name__ == "__main__":
    main()
