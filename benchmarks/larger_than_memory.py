"""Show the memory bound: a run larger than memory, scored within ``--memory``.

    python -m benchmarks.larger_than_memory [--gigabytes 2.1] [--memory 500M] [--shuffled]

The bound is the limit plus the memory of the same command on a small part of the run. With
``--shuffled`` the lines of each block of 20 topics are in random order.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from argparse import ArgumentParser
from itertools import islice
from pathlib import Path

from benchmarks.processes import Command, compiled, measure

LINES = 240_000
"""Results of a topic, about 13 MB."""
BLOCK = 20
SMALL = 20_000
"""Lines of the small part."""


def write_campaign(folder: Path, size: float, *, shuffled: bool) -> None:
    """Write a run of `size` bytes, its beginning, and judgements of its topics."""
    # A child inherits the peak memory of this process, which therefore imports no NumPy before.
    import numpy as np
    import polars as pl

    random, topic, written = np.random.default_rng(1), 0, 0
    with (folder / "run").open("wb") as run, (folder / "qrels").open("w") as qrels:
        while written < size:
            blocks = []
            for number in range(topic, topic + BLOCK):
                docs = random.integers(0, 5_000_000, LINES)
                start = random.integers(0, 300, LINES) * 500
                columns = {"doc": docs, "rank": np.arange(1, LINES + 1), "start": start}
                score = np.linspace(100, 1, LINES).round(6)
                blocks.append(pl.DataFrame(columns | {"topic": number, "score": score}))
                judged = np.unique(docs[:200])[:100]
                qrels.writelines(f"{number} Q0 {doc} 1000 200000 500 500:1000\n" for doc in judged)
            topic += BLOCK
            frame = pl.concat(blocks)
            frame = frame.sample(fraction=1, shuffle=True, seed=topic) if shuffled else frame
            line = pl.format(
                "{} Q0 {} {} {} large {} 400", *["topic", "doc", "rank", "score", "start"]
            )
            data = frame.select(line.str.join("\n")).item().encode()
            written += run.write(data + b"\n")
    with (folder / "run").open("rb") as run:
        (folder / "small").write_bytes(b"".join(islice(run, SMALL)))


def main() -> None:
    """Generate the files, score them and print the figures."""
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--gigabytes", type=float, default=2.1)
    parser.add_argument("--memory", default="500M")
    parser.add_argument("--shuffled", action="store_true")
    parser.add_argument("--write", type=Path, help="only write the files, into this folder")
    given = parser.parse_args()
    if given.write is not None:
        write_campaign(given.write, given.gigabytes * 1e9, shuffled=given.shuffled)
        return
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        options = [f"--gigabytes={given.gigabytes}", f"--write={folder}"]
        options += ["--shuffled"] if given.shuffled else []
        subprocess.run(
            [sys.executable, "-m", "benchmarks.larger_than_memory", *options], check=True
        )
        scoring = ["-j", str(folder / "qrels"), "-m", "AiP", "--overlap", "drop"]
        environment = compiled(folder / "compiled")
        for part, limit in (("small", ()), ("run", ("--memory", given.memory))):
            command = Command.foveal("evaluate", str(folder / part), *scoring, *limit)
            found = measure(command, environment)
            size = (folder / part).stat().st_size / 1e6
            print(
                f"{part}: {size:,.0f} MB, {found['megabytes']:,.0f} MB of memory, "
                f"{found['seconds']:.1f} s, {found['cpu']:.1f} s of all cores"
            )


if __name__ == "__main__":
    main()
