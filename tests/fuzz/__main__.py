"""The long run of the fuzzer: ``make fuzz``, or one input again with ``--number``."""

from __future__ import annotations

import resource
import sys
import tempfile
from pathlib import Path

import click

from fuzz.harness import Fuzzer
from fuzz.seeds import make_seeds

SAVED = Path("build") / "fuzz"
MEMORY = 8 << 30
"""Bytes that the process may take."""


@click.command()
@click.option("--seed", default=0, show_default=True, help="Seed of the damage.")
@click.option("--inputs", default=10_000, show_default=True, help="Number of damaged files.")
@click.option("--first", default=0, show_default=True, help="Number of the first input.")
@click.option("--number", type=int, help="Check this input alone.")
@click.option("--most", default=20, show_default=True, help="Stop after so many failures.")
def main(seed: int, inputs: int, first: int, number: int | None, most: int) -> None:
    """Check the seeds, then damaged files; exit code 1 if a command does not cope with one."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, resource.RLIM_INFINITY))
    numbers = range(first, first + inputs) if number is None else range(number, number + 1)
    failures = 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        fuzzer = Fuzzer(folder, make_seeds(folder / "base"), seed)
        for failure in fuzzer.check_seeds():
            click.echo(f"seed does not pass: {failure}")
            failures += 1
        if failures:
            sys.exit(1)
        with click.progressbar(numbers, label="fuzzing", file=sys.stderr) as shown:
            for one in shown:
                if failure := fuzzer.check(one):
                    failures += 1
                    click.echo(f"\n{failure}")
                    click.echo(f"kept in {fuzzer.save(failure, SAVED)}; to reproduce it:")
                    click.echo(f"PYTHONPATH=tests python -m fuzz --seed {seed} --number {one}")
                    if failures >= most:
                        break
    click.echo(f"{len(numbers)} inputs, {failures} failures")
    sys.exit(int(failures > 0))


if __name__ == "__main__":
    main()
