"""Where data came from: the name it was given by and the hash of its bytes."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePath

__all__ = ["Provenance"]


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
