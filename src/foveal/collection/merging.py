"""Indexes as sources of another one: shards are put together, documents added to what is there.

An index is read in blocks of documents, and each of its paths gets the number it has in the new
index; nothing is parsed again.
"""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from foveal.collection.partial import Block
from foveal.collection.storage import identity, open_sections
from foveal.errors import InputError
from foveal.spans import Ints

__all__ = ["IndexSource", "arranged"]

_BLOCK_ELEMENTS = 500_000
_BLOCK_DOCUMENTS = 20_000
_DIGEST = 16
_PATH = ("parent", "tag", "ordinal")


class IndexSource:
    """An index whose documents become part of another one.

    Attributes
    ----------
    path : Path
    header : mapping
    fingerprint : str
        Tells whether the index is still the one that a build began with.
    size : int
        Bytes on the disk.
    passed_over : Counter
    failures : tuple
        What was wrong with documents that it lacks.
    """

    archive = False
    folders = None

    def __init__(self, path: Path) -> None:
        self.path = path
        self.header, self._sections = open_sections(path)
        self.fingerprint = self._sections.identity
        self.size = path.stat().st_size
        self.passed_over = Counter(dict(self.header["passed_over"]))
        self.failures = tuple((place, text) for place, text in self.header["failures"])

    def check_in_place(self) -> None:
        """Refuse if the file has become another one: what that holds would be lost by appending."""
        try:
            same = identity(self.path) == self.fingerprint
        except (OSError, struct.error):
            same = False
        if not same:
            message = "changed since this command began; start again"
            raise InputError.at("unclassified", str(self.path), None, message)

    def verify(self) -> None:
        """Hash the whole index: what is damaged must not get a hash of its own elsewhere."""
        self._sections.verify()

    def paths(self) -> tuple[Sequence[str], tuple[Ints, Ints, Ints]]:
        """Tags; parent, tag and ordinal of each path."""
        parent, tag, ordinal = (self._whole(f"path_{name}") for name in _PATH)
        return self.header["tags"], (parent, tag, ordinal)

    def _whole(self, name: str) -> Ints:
        return self._sections.read(name, 0, self._sections.size(name)).astype(np.int64)

    def blocks(self, skipped: int) -> Iterator[Block]:
        """The documents in blocks, always cut at the same places, without the first ones."""
        bounds = self._whole("doc_bounds")
        names = self._names()
        first = number = 0
        while first < len(bounds) - 1:
            full = int(np.searchsorted(bounds, bounds[first] + _BLOCK_ELEMENTS))
            after = min(max(full, first + 1), first + _BLOCK_DOCUMENTS, len(bounds) - 1)
            documents = tuple(next(names) for _ in range(after - first))
            if number >= skipped:
                yield self._block(documents, first, bounds[first : after + 1])
            first, number = after, number + 1

    def _block(self, documents: tuple[str, ...], first: int, bounds: Ints) -> Block:
        read, last = self._sections.read, first + len(documents)
        low, high = int(bounds[0]), int(bounds[-1])
        return Block(
            documents=documents,
            lengths=read("doc_length", first, last).astype(np.int64),
            digests=read("doc_digest", _DIGEST * first, _DIGEST * last).tobytes(),
            counts=np.diff(bounds),
            path=read("path", low, high),
            start=read("start", low, high),
            end=read("end", low, high),
            done=last / self._sections.size("doc_length"),
        )

    def _names(self) -> Iterator[str]:
        size, begun = self._sections.size("doc_names"), b""
        for first in range(0, size, 1 << 20):
            data = self._sections.read("doc_names", first, min(first + (1 << 20), size))
            *lines, begun = (begun + data.tobytes()).split(b"\n")
            yield from (line.decode() for line in lines)


def arranged(headers: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Indexes in the order in which they make one, by their headers.

    Shards stand in the order of their numbers, at the place of the first of them; all of them must
    be there.

    >>> one = {"source": "a", "shard": {"number": 1, "of": 2, "batches": [0, 7]}}
    >>> two = {"source": "a", "shard": {"number": 2, "of": 2, "batches": [7, 9]}}
    >>> arranged({"2.fvx": two, "x.fvx": {"source": "x"}, "1.fvx": one})
    ['1.fvx', '2.fvx', 'x.fvx']
    """
    sets: dict[tuple[str, int], dict[int, str]] = {}
    places: list[str | tuple[str, int]] = []
    for path, header in headers.items():
        shard = header.get("shard")
        if shard is None:
            places.append(path)
            continue
        key = header["source"], shard["of"]
        if key not in sets:
            places.append(key)
        other = sets.setdefault(key, {}).setdefault(shard["number"], path)
        if other != path:
            message = f"is shard {_name(header)} like {other}; expected one of each"
            raise InputError.at("unclassified", path, None, message)
    order: list[str] = []
    for place in places:
        order += [place] if isinstance(place, str) else _whole(sets[place], headers)
    return order


def _whole(shards: Mapping[int, str], headers: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """The shards of a source in their order; raises unless they are all and fit together."""
    numbers = sorted(shards)
    first = headers[shards[numbers[0]]]
    missing = [str(n) for n in range(1, first["shard"]["of"] + 1) if n not in shards]
    if missing:
        message = f"is shard {_name(first)}, but not there: {', '.join(missing)}; expected all"
        raise InputError.at("unclassified", shards[numbers[0]], None, message)
    after = first["shard"]["batches"][0]
    for number in numbers:
        shard = headers[shards[number]]["shard"]
        if shard.get("cut_from") != first["shard"].get("cut_from"):
            message = (
                f"shard {_name(headers[shards[number]])} is of other documents or options than "
                f"{shards[1]}: the shards were not cut from the same source"
            )
            raise InputError.at("unclassified", shards[number], None, message)
        begin, end = shard["batches"]
        if begin != after:
            name = _name(headers[shards[number]])
            message = (
                f"shard {name} begins with batch {begin}, expected {after}: "
                "the shards were not cut from the same source"
            )
            raise InputError.at("unclassified", shards[number], None, message)
        after = end
    return [shards[number] for number in numbers]


def _name(header: Mapping[str, Any]) -> str:
    return f"{header['shard']['number']}/{header['shard']['of']} of {header['source']!r}"
