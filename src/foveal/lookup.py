"""Hash tables for names and paths: group, number and look up millions of texts at once.

Every row writes its number into the slot that its hash names. Rows that find a row of another hash
in their slot try again with other bits of their hash; two or three rounds are enough. 171,000 rows
take 1.5 ms of one core. NumPy needs 7 ms to sort the hashes, Polars 14 ms to group the names and
8 ms to join them.

Equal hashes are not yet equal names: the callers compare the names, which takes half a millisecond.
Equal names have equal hashes in one process only: Polars promises nothing between its versions or
between machines, so hashes are never stored or sent.
"""

from __future__ import annotations

import sys
import weakref
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from foveal.spans import Ints

__all__ = [
    "CachedTextFunction",
    "GrowingNameTable",
    "Hashes",
    "KeyTable",
    "NameTable",
    "NumberedRows",
    "NumberedTexts",
    "TextNumbers",
    "find_first_hashes",
    "gather",
    "number_rows",
    "sort_topics",
]

Hashes = npt.NDArray[np.uint64]

_ABSENT = -1
_ODD = np.uint64(0x9E3779B97F4A7C15)
"""2^64 divided by the golden ratio: in the product, the upper bits depend on all of the hash."""

_SHORT = 1 << 16
"""Number of rows up to which `gather` avoids arrays."""


def find_first_hashes(hashes: Hashes) -> Ints:
    """Return for each row the number of the first row with the same hash.

    >>> find_first_hashes(np.array([7, 5, 7, 5, 9], dtype=np.uint64)).tolist()
    [0, 1, 0, 1, 4]
    """
    bits = max(len(hashes).bit_length(), 1)  # one to two slots for each row
    holder = np.empty(1 << bits, dtype=np.int32 if bits < 32 else np.int64)  # small is fast
    first = rows = np.arange(len(hashes))
    while len(rows):
        hashes = hashes * _ODD
        slot = (hashes >> np.uint64(64 - bits)).view(np.int64)
        # Of values assigned to one place the last one stays: backwards, that is the first row.
        holder[slot[::-1]] = np.arange(len(slot) - 1, -1, -1, dtype=holder.dtype)
        found = holder[slot].astype(np.int64)
        lost = np.flatnonzero(hashes[found] != hashes)
        if len(rows) == len(first):
            first = found
        else:
            first[rows] = rows[found]
        rows, hashes = rows[lost], hashes[lost]
    return first


def gather(values: Any, rows: Ints) -> Any:
    """Return the values of these rows, of an array or a Polars column.

    Polars loads `numpy.ma` when it first gets an array. That takes 7 ms, longer than handing over
    the numbers of a short array one by one.
    """
    if isinstance(values, pl.Series):
        is_short = len(rows) < _SHORT and "numpy.ma" not in sys.modules
        return values.gather(pl.Series(rows.data, dtype=pl.Int64) if is_short else rows)
    return values[rows]


class NumberedRows(NamedTuple):
    """Rows with the numbers of their keys; distinct keys are numbered as they first occur."""

    first_rows: Ints
    """The first row of each distinct key."""
    number: Ints
    """The key of each row, an index into `first_rows`."""


def number_rows(*keys: pl.Series | Ints) -> NumberedRows:
    """Number rows by their keys, given as columns.

    >>> found = number_rows(pl.Series(["a", "a", "b", None, "a"]), np.array([7, 8, 7, 7, 7]))
    >>> found.first_rows.tolist(), found.number.tolist()
    ([0, 1, 2, 3], [0, 1, 2, 3, 0])
    """
    # Neighbours with equal keys are looked up as one stretch. Runs that bring the parts of a
    # document together have half as many stretches as results.
    opens = np.zeros(len(keys[0]), dtype=bool)
    opens[:1] = True
    for key in keys:
        if isinstance(key, np.ndarray):
            opens[1:] |= key[1:] != key[:-1]
            continue
        at = 0
        # Piece by piece as the parser made them: joining them takes longer than comparing.
        for piece in key.get_chunks():
            differs = (piece[1:] != piece[:-1]).fill_null(value=True)
            opens[at : at + 1] = True
            opens[at + 1 : at + len(piece)] |= differs.to_numpy()
            at += len(piece)
    rows = np.flatnonzero(opens)
    if len(rows) < len(opens):
        keys = tuple(gather(key, rows) for key in keys)
    hashes = np.zeros(len(rows), dtype=np.uint64)
    for key in keys:
        hashes = (hashes ^ hashes >> np.uint64(32)) * _ODD
        if isinstance(key, np.ndarray):
            hashes += key.view(np.uint64)
        else:
            hashes += key.to_frame().hash_rows().to_numpy()
    first = find_first_hashes(hashes)
    again = np.flatnonzero(first != np.arange(len(first)))
    for key in keys:
        here, before = gather(key, again), gather(key, first[again])
        same = here == before if isinstance(key, np.ndarray) else here.eq_missing(before)
        if not same.all():
            table = pl.DataFrame({str(i): column for i, column in enumerate(keys)})
            exact = table.with_row_index("row").select(pl.col("row").min().over(table.columns))
            first = exact.to_series().cast(pl.Int64).to_numpy()
            break
    is_first = first == np.arange(len(first))
    number = (np.cumsum(is_first) - 1)[first]
    if len(rows) < len(opens):
        number = np.repeat(number, np.diff(rows, append=len(opens)))
    return NumberedRows(rows[is_first], number)


def sort_topics(topics: Iterable[str]) -> tuple[str, ...]:
    """Return the distinct topics in their canonical order.

    >>> sort_topics(["10", "9", "9"])
    ('9', '10')
    >>> sort_topics(["t10", "t9"])
    ('t10', 't9')
    """
    distinct = sorted(set(topics))
    if all(topic.isascii() and topic.isdigit() for topic in distinct):
        # By value, however many digits: int() takes 4,300 at most.
        distinct.sort(key=lambda digits: (len(digits.lstrip("0")), digits.lstrip("0")))
    return tuple(distinct)


class KeyTable:
    """Numbers of distinct 64-bit keys: looks up millions of keys among as many.

    >>> KeyTable(np.array([70, 50, 90], dtype=np.uint64)).find(np.array([90, 60], dtype=np.uint64))
    array([ 2, -1])
    """

    def __init__(self, keys: Hashes) -> None:
        self._keys = keys
        self._rounds: list[tuple[int, npt.NDArray[Any]]] = []
        rows, kind = np.arange(len(keys)), np.int32 if len(keys) < 1 << 31 else np.int64
        while len(rows):
            keys = keys * _ODD
            bits = len(rows).bit_length() + 1  # half of the slots stay free to detect absent keys
            slot = (keys >> np.uint64(64 - bits)).view(np.int64)
            holder = np.full(1 << bits, _ABSENT, dtype=kind)
            holder[slot] = rows
            self._rounds.append((bits, holder))
            lost = np.flatnonzero(holder[slot] != rows)
            rows, keys = rows[lost], keys[lost]

    def find(self, keys: Hashes) -> Ints:
        """Return the number of each key, -1 for absent ones."""
        number, rows = np.full(len(keys), _ABSENT, dtype=np.int64), None
        spread = keys
        for bits, holder in self._rounds:
            spread = spread * _ODD
            slot = (spread >> np.uint64(64 - bits)).view(np.int64)
            found = holder[slot].astype(np.int64)
            other = np.flatnonzero(self._keys[found] != keys)
            # No key of the table fell into an empty slot, so no later round has the key either.
            again = other[found[other] >= 0]
            found[other] = _ABSENT
            if rows is None:
                number, rows = found, again
            else:
                number[rows] = found
                rows = rows[again]
            spread, keys = spread[again], keys[again]
        return number


class NameTable:
    """Distinct names, each with a number, in which millions of names are looked up.

    >>> table = NameTable(pl.Series(["D1", "D2", "D3"]))
    >>> table.find(pl.Series(["D3", "D9", "D1", "D3"])).tolist()
    [2, -1, 0, 2]
    """

    def __init__(self, names: pl.Series) -> None:
        self.names = names.rechunk()
        hashes = self.names.to_frame().hash_rows().to_numpy()
        # Two names with the same hash are very rare; if there are any, names are joined.
        distinct = (find_first_hashes(hashes) == np.arange(len(names))).all()
        self._keys = KeyTable(hashes) if distinct else None

    def __reduce__(self) -> tuple[type[NameTable], tuple[pl.Series]]:
        return NameTable, (self.names,)  # another process has other hashes

    def find(self, names: pl.Series) -> Ints:
        """Return the number of each name, -1 for absent ones."""
        if self._keys is None:
            numbered = pl.DataFrame({"name": self.names, "number": np.arange(len(self.names))})
            asked = pl.DataFrame({"name": names})
            joined = asked.join(numbered, on="name", how="left", maintain_order="left")
            return joined["number"].fill_null(_ABSENT).to_numpy().copy()
        names = names.rechunk()
        number = self._keys.find(names.to_frame().hash_rows().to_numpy())
        # Equal hashes are not yet equal names. Gathering long texts takes as long as comparing
        # them, so all are compared where most are present: an absent name differs from any.
        rows = np.flatnonzero(number >= 0)
        asked_for = names if 2 * len(rows) > len(names) else gather(names, rows)
        at = np.maximum(number, 0) if asked_for is names else number[rows]
        found = gather(self.names, at)
        other = found.ne_missing(asked_for) if asked_for.null_count() else found != asked_for
        if asked_for is names:
            number[other.to_numpy()] = _ABSENT
        elif other.any():
            number[rows[other.to_numpy()]] = _ABSENT
        return number


class GrowingNameTable:
    """Names as in `NameTable`, to which more can be added cheaply.

    Added names make a level of their own, which is joined with the level before it when it gets a
    quarter of its size. So a name is hashed again a few times only, however often others are
    added: hashing 105,000 names takes 10 ms. Tables are not changed, so threads need no locks.

    >>> table = GrowingNameTable().with_names(pl.Series(["D1", "D2"])).with_names(pl.Series(["D3"]))
    >>> table.find(pl.Series(["D3", "D9", "D1"])).tolist(), len(table)
    ([2, -1, 0], 3)
    >>> table.gather(np.array([2, 1])).to_list()
    ['D3', 'D2']
    """

    def __init__(self, levels: Sequence[NameTable] = (), history: tuple[object, ...] = ()) -> None:
        self._levels = tuple(levels)
        self._size = sum(len(level.names) for level in self._levels)
        self.history = history
        """A mark for each time that names were added. Two tables give the same numbers to the
        names of the beginning that their histories share."""

    def __len__(self) -> int:
        return self._size

    def with_names(self, names: pl.Series) -> GrowingNameTable:
        """Return a table with these names added, which must be new to it."""
        levels = list(self._levels)
        # A part of a column keeps all of its text in memory, which would be that of every run.
        names = pl.Series(names.to_list(), dtype=pl.String)
        while levels and _LEVEL_RATIO * len(names) > len(levels[-1].names):
            names = pl.concat([levels.pop().names, names])
        return GrowingNameTable([*levels, NameTable(names)], (*self.history, object()))

    def find(self, names: pl.Series) -> Ints:
        """Return the number of each name, -1 for absent ones."""
        if not self._levels:
            return np.full(len(names), _ABSENT, dtype=np.int64)
        number, before = self._levels[0].find(names), len(self._levels[0].names)
        for level in self._levels[1:]:
            left = np.flatnonzero(number < 0)
            if not len(left):
                break
            found = level.find(names.gather(left))
            number[left] = np.where(found < 0, _ABSENT, found + before)
            before += len(level.names)
        return number

    def gather(self, numbers: Ints) -> pl.Series:
        """Return the names with these numbers."""
        names = [level.names for level in self._levels] or [pl.Series([], dtype=pl.String)]
        return pl.concat(names, rechunk=False).gather(numbers)


_LEVEL_RATIO = 4
"""A level is joined with the one before it when that is less than this many times as large."""
_FEW = 1 << 12
"""Number of texts up to which numbering them costs more than looking at them one by one."""
_MOST_SHARED = 1 << 18
_MOST_CACHED = 1_000_000
"""Number of texts kept, some 100 bytes each; with more of them a table starts again."""


class NumberedTexts(NamedTuple):
    """A column as numbers of its distinct texts."""

    number: Ints
    table: GrowingNameTable


class TextNumbers:
    """Numbers of texts that columns share, such as the paths of a campaign's runs.

    A `CachedTextFunction` of numbered texts is fast: numbering 171,000 paths takes 6 to 9 ms, each
    function of them after that half a millisecond. `remember` keeps the numbers of a column for
    later users of the same column.

    >>> numbers, lengths = TextNumbers(few=0), CachedTextFunction(lambda t: t.str.len_bytes())
    >>> paths = pl.Series(["/a[1]", "/a[1]/b[1]"] * 2)
    >>> numbered = numbers.number_repeated(paths)
    >>> numbered.number.tolist(), lengths(numbered).tolist()
    ([0, 1, 0, 1], [5, 10, 5, 10])
    >>> numbers.remember(paths, numbered)
    >>> numbers.recall(paths) is numbered, numbers.recall(paths.clone()) is None
    (True, True)
    """

    def __init__(self, few: int = _FEW, most: int = _MOST_SHARED) -> None:
        self._few, self._most = few, most
        self._table = GrowingNameTable()
        self._remembered: dict[int, tuple[weakref.ref[pl.Series], NumberedTexts]] = {}

    def number_repeated(self, texts: pl.Series) -> NumberedTexts | None:
        """Return the numbers of texts; None if they are few, mostly distinct, or some are null."""
        if len(texts) < max(self._few, len(self._table) >> 2) or texts.null_count():
            return None
        return self.number(texts, most_new=max(len(texts), 2 * self._few) // 2)

    def number(self, texts: pl.Series, most_new: int | None = None) -> NumberedTexts | None:
        """Return the numbers of texts; None if more than `most_new` distinct ones are new."""
        table, texts = self._table, texts.rechunk()
        number = table.find(texts)
        new = np.flatnonzero(number < 0)
        if len(new):
            added = texts.gather(new)
            distinct = added.unique(maintain_order=True)
            if most_new is not None and len(distinct) > most_new:
                return None
            # Of two threads that add at the same time one is forgotten, and adds again later.
            table = table.with_names(distinct)
            self._table = table if len(table) <= self._most else GrowingNameTable()
            number[new] = table.find(added)
        return NumberedTexts(number, table)

    def remember(self, texts: pl.Series, numbered: NumberedTexts) -> None:
        """Keep the numbers of this column for as long as it is in use."""
        key, kept = id(texts), self._remembered
        kept[key] = (weakref.ref(texts, lambda _: kept.pop(key, None)), numbered)

    def recall(self, texts: pl.Series) -> NumberedTexts | None:
        """Return the numbers of a remembered column; an equal column is another one."""
        found = self._remembered.get(id(texts))
        return found[1] if found is not None and found[0]() is texts else None


_NOT_ASKED = -2


class CachedTextFunction:
    """A function from texts to whole numbers from -1 on, called once for each distinct text.

    The runs of a campaign name the same documents and elements over and over.

    >>> lengths = CachedTextFunction(lambda texts: print(texts.to_list()) or texts.str.len_bytes())
    >>> lengths(pl.Series(["a", "bcd", "a"])).tolist(), lengths(pl.Series(["ef", "bcd"])).tolist()
    ['a', 'bcd']
    ['ef']
    ([1, 3, 1], [2, 3])
    """

    def __init__(self, function: Callable[[pl.Series], Any], most: int = _MOST_CACHED) -> None:
        self._function, self._most = function, most
        self._texts = TextNumbers(most=most)
        self._known: tuple[tuple[object, ...], Ints] = ((), np.zeros(0, dtype=np.int64))

    def __reduce__(self) -> tuple[type[CachedTextFunction], tuple[Any, int]]:
        return CachedTextFunction, (self._function, self._most)

    def __call__(self, texts: pl.Series | NumberedTexts) -> Ints:
        """Return the value of each text of a column; null is the empty text.

        Numbered texts should all come from the same `TextNumbers`: others start the cache again.
        """
        if isinstance(texts, pl.Series):
            own = self._texts.number(texts.cast(pl.String).fill_null(""))
            assert own is not None  # it has no limit of new texts
            texts = own
        (history, values), (number, table) = self._known, texts
        common = min(len(history), len(table.history))
        if history[:common] != table.history[:common]:
            history, values = (), values[:0]
        more = len(table) - len(values)
        if more > 0:
            history, values = table.history, np.concatenate([values, np.full(more, _NOT_ASKED)])
        found: Ints = values[number]
        new = np.flatnonzero(found == _NOT_ASKED)
        if len(new):
            asked = np.unique(number[new])
            values[asked] = self._function(table.gather(asked))
            found = values[number]
        self._known = history, values
        return found
