"""Where data came from: the name it was given by and the hash of its bytes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import PurePath

from foveal.errors import InputError

__all__ = ["Provenance", "distinct_names"]


@dataclass(frozen=True, slots=True)
class Provenance:
    """The file behind a run or a judgement set; data made in Python has no hash."""

    path: str
    sha256: str | None = None

    @property
    def stem(self) -> str:
        """The file's name without its directory, compression and extension.

        >>> Provenance("runs/system.2.run.gz").stem
        'system.2'
        """
        name = PurePath(self.path)
        if name.suffix in _COMPRESSED:
            name = name.with_suffix("")
        return name.stem or self.path


_COMPRESSED = (".gz", ".bz2", ".xz", ".zst")


def distinct_names(runs: Iterable[tuple[str, Provenance]]) -> tuple[str, ...]:
    """The names of runs; those that share one are told apart by the stems of their files.

    >>> first, second = Provenance("a/bm25.run"), Provenance("b/dense.run")
    >>> distinct_names([("mine", first), ("mine", second), ("other", Provenance("c.run"))])
    ('bm25', 'dense', 'other')
    """
    listed = list(runs)
    given = [name for name, _ in listed]
    names = [source.stem if given.count(name) > 1 else name for name, source in listed]
    for i, name in enumerate(names):
        if name in names[:i]:
            other = listed[names.index(name)][1].path
            raise InputError.at(
                listed[i][1].path, None, f"run name {name!r} is already used by {other}"
            )
    return tuple(names)
