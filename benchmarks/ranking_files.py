"""Rankings of documents made of random numbers: one file of many topics, and its judgements.

    python -m benchmarks.ranking_files OUT --topics 2000 --results 1000

The scores of a topic differ from each other even as 32-bit numbers, which trec_eval compares, so
that no two programs order the documents differently.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.campaign import Files
from benchmarks.sizes import CampaignSize, generate_from_shell, number

__all__ = ["RankingFiles", "RankingSize", "generate"]

RELEVANT_SHARE = 0.2
"""Share of the judged documents that are relevant."""


@dataclass(frozen=True)
class RankingSize(CampaignSize):
    """The size of generated rankings."""

    topics: int = number(2000, "number of topics")
    results: int = number(1000, "documents per topic and run")
    runs: int = number(1, "number of runs")
    documents: int = number(8_000_000, "documents in the collection")
    judged: int = number(100, "judged documents per topic")


@dataclass(frozen=True)
class RankingFiles(Files):
    """The files of generated rankings; only `document_runs` and `document_judgements` exist."""

    kind = RankingSize


def generate(root: Path, size: RankingSize) -> RankingFiles:
    """Write rankings into a directory that is empty or does not exist."""
    import numpy as np
    import polars as pl

    from benchmarks.generate import write_run

    files = RankingFiles(root)
    files.new()
    (root / "documents").mkdir(parents=True)
    random = np.random.default_rng(size.seed)
    topics = np.arange(1, size.topics + 1)
    judged = np.stack([random.choice(size.documents, size.judged, replace=False) for _ in topics])
    grades = (random.random(judged.shape) < RELEVANT_SHARE).astype(np.int64)
    grades[:, 0] = 1  # AP is undefined for a topic without relevant documents
    pl.DataFrame(
        {
            "topic": np.repeat(topics, size.judged),
            "iteration": np.zeros(judged.size, dtype=np.int64),
            "doc": judged.ravel(),
            "grade": grades.ravel(),
        }
    ).with_columns(_names("doc")).write_csv(
        files.document_judgements, separator=" ", include_header=False
    )
    for run in range(1, size.runs + 1):
        ranked = np.stack([_rank(own, size, random) for own in judged])
        # Gaps of at least .001 between neighbours, counted from the last rank.
        gaps = random.integers(1, 40, ranked.shape)
        scores = np.cumsum(gaps[:, ::-1], axis=1)[:, ::-1] / 1000
        table = pl.DataFrame(
            {
                "topic": np.repeat(topics, size.results),
                "doc": ranked.ravel(),
                "rank": np.tile(np.arange(1, size.results + 1), size.topics),
                "rsv": scores.ravel(),
            }
        )
        name = f"system{run:04}"
        path = root / "documents" / f"{name}.run"
        write_run(table.with_columns(_names("doc")), name, path, decimals=3)
    files.complete(size)
    return files


def _rank(judged: Any, size: RankingSize, random: Any) -> Any:
    """Return the documents of a topic in order: half of the judged ones, mostly near the top."""
    import numpy as np

    drawn = random.choice(size.documents, size.results, replace=False)
    known = judged[random.random(len(judged)) < 0.5][: size.results]
    documents = np.concatenate([known, drawn[~np.isin(drawn, known)]])[: size.results]
    depth = random.random(len(documents)) * np.where(np.arange(len(documents)) < len(known), 0.3, 1)
    return documents[np.argsort(depth)]


def _names(column: str) -> Any:
    """Return an expression that writes numbers of documents as names of equal length."""
    import polars as pl

    return pl.concat_str(pl.lit("D"), pl.col(column).cast(pl.String).str.zfill(8)).alias(column)


def main(arguments: Sequence[str] | None = None) -> None:
    generate_from_shell(
        "python -m benchmarks.ranking_files", __doc__, generate, RankingSize, arguments
    )


if __name__ == "__main__":
    main()
