"""A share of the runs: what an executor is given to do, with names of files rather than data."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from foveal.errors import InputError, some
from foveal.evaluation.options import Options
from foveal.evaluation.standard import Standard, located
from foveal.formats.streams import given_limit
from foveal.measures import Measure
from foveal.model import Provenance, Run

__all__ = ["Share", "named_as", "shares_of"]

_MOST_BYTES = 64 << 20
"""Of a share that holds more than one run: a second of work or more, which no sending outweighs."""
_PER_WORKER = 64
"""Shares for each worker, where runs are enough: those who end first do not wait long."""
_BYTES_PER_RESULT = 64
"""In a run that is in memory."""

RunLike = Run | str | Path


@dataclass(frozen=True)
class Share:
    """Some runs and all that is needed to score them."""

    standard: Standard
    measures: tuple[Measure, ...]
    options: Options
    collection: str | None
    folder: str
    """Where the client is: its relative names begin there."""
    runs: tuple[RunLike, ...]
    memory: int | None = None
    """What reading one of them may take."""
    cache: str | None = None
    """A folder in which runs are kept as columns, seen from everywhere by the same name."""
    hashed: bool = True
    """Whether the hashes of runs are wanted."""
    max_bytes: int | None = field(default_factory=given_limit)
    """What a compressed file may grow to, as set where the share was made."""

    @property
    def label(self) -> str:
        """For messages."""
        named = [run.source.path if isinstance(run, Run) else str(run) for run in self.runs]
        return f"scoring of {some(named)}"

    @property
    def places(self) -> Iterator[tuple[RunLike, RunLike]]:
        """The runs as they are called, and where they are seen from here."""
        for run in self.runs:
            yield run, run if isinstance(run, Run) else located(str(run), self.folder)

    @property
    def collection_here(self) -> str | None:
        return None if self.collection is None else located(self.collection, self.folder)


@contextmanager
def named_as(given: RunLike, place: RunLike) -> Iterator[Callable[[Provenance], Provenance]]:
    """Call a file as the user did, in errors and where it came from, wherever it was read.

    >>> with named_as("a.run", "runs/a.run") as rename:
    ...     rename(Provenance("runs/a.run"))
    Provenance(path='a.run', sha256=None)
    """
    if isinstance(given, Run) or str(given) == str(place):
        yield lambda source: source
        return
    shown, long = _printable(given), _printable(place)
    try:
        yield lambda source: replace(source, path=shown) if source.path == long else source
    except InputError as error:
        raise InputError(
            problem._replace(file=shown) if problem.file == long else problem
            for problem in error.problems
        ) from None


def _printable(path: RunLike) -> str:
    """A name as readers give it, who replace what is not UTF-8."""
    return os.fsencode(str(path)).decode(errors="replace")


def shares_of(runs: Sequence[RunLike], workers: int) -> Iterator[tuple[RunLike, ...]]:
    """Runs in their order, small ones together, large ones alone.

    >>> [len(share) for share in shares_of(["no such file"] * 3, workers=2)]
    [1, 1, 1]
    """
    sizes = [_size(run) for run in runs]
    most = min(_MOST_BYTES, sum(sizes) // (_PER_WORKER * workers))
    share: list[RunLike] = []
    held = 0
    for run, size in zip(runs, sizes, strict=True):
        if share and held + size > most:
            yield tuple(share)
            share, held = [], 0
        share.append(run)
        held += size
    if share:
        yield tuple(share)


def _size(run: RunLike) -> int:
    if isinstance(run, Run):
        return 1 + _BYTES_PER_RESULT * len(run)
    try:
        return 1 + Path(run).stat().st_size
    except OSError:  # said when it is read
        return 1
