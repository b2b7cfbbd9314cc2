"""Indexes that stay open while a process scores run after run.

An open index has its arrays hashed and remembers the documents and paths that it was asked for.
It is opened anew when its file was replaced.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from foveal.collection.lookup import Collection

__all__ = ["opened"]

_MOST = 4
"""Indexes that are kept open."""


def opened(path: str | Path) -> Collection:
    """The index at this path, the same object as long as the file is the same.

    >>> import tempfile
    >>> from foveal.collection import build_index
    >>> folder = Path(tempfile.mkdtemp())
    >>> _ = (folder / "d.xml").write_text("<a>one</a>")
    >>> _ = build_index(folder, folder / "index")
    >>> opened(folder / "index") is opened(str(folder / "index"))
    True
    """
    return _opened(str(path), _identity(Path(path)))


def _identity(path: Path) -> tuple[int, ...]:
    """What changes when a file is replaced or rewritten; of several files, of each."""
    try:
        places = sorted(path.iterdir()) if path.is_dir() else [path]
        facts = [place.stat() for place in places]
    except OSError:
        return ()  # opening it will tell what is wrong
    return tuple(
        number
        for fact in facts
        for number in (fact.st_dev, fact.st_ino, fact.st_size, fact.st_mtime_ns, fact.st_ctime_ns)
    )


@lru_cache(maxsize=_MOST)
def _opened(path: str, identity: tuple[int, ...]) -> Collection:  # noqa: ARG001 - a key
    return Collection.open(path)
