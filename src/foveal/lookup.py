"""Hash tables for names and paths: group, number and look up millions of texts at once.

Every row writes its number into the slot that its hash names. Rows that find a row of another hash
in their slot try again with other bits of their hash; two or three rounds are enough. 171,000 rows
take 1.5 ms of one core, a tenth of what Polars needs to group the names.

Equal hashes are not yet equal names: the callers compare the names. Equal names have equal hashes
in one process only, so hashes are never stored or sent.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from foveal.spans import Ints

Hashes = npt.NDArray[np.uint64]

_ABSENT = -1
# 2^64 divided by the golden ratio: in the product, the upper bits depend on all of the hash.
_ODD = np.uint64(0x9E3779B97F4A7C15)
# Number of rows up to which `gather` avoids arrays.
_SHORT = 1 << 16
# Texts that a function keeps, some 100 bytes each; with more of them it starts again.
_MOST_CACHED = 1_000_000


def hash_keys(keys: pl.Series | npt.NDArray[Any]) -> Hashes:
    """Return a hash of each text; a number is its own."""
    if isinstance(keys, np.ndarray):
        return keys.view(np.uint64)
    return keys.to_frame().hash_rows().to_numpy()


def find_first_hashes(hashes: Hashes) -> Ints:
    """Return for each row the number of the first row with the same hash.

    >>> find_first_hashes(np.array([7, 5, 7, 5, 9], dtype=np.uint64)).tolist()
    [0, 1, 0, 1, 4]
    """
    bits = max(len(hashes).bit_length(), 1)  # one to two slots for each row
    holder = np.empty(1 << bits, dtype=np.int32 if bits < 32 else np.int64)  # small is fast
    first, rows = np.arange(len(hashes)), None
    while len(hashes):
        hashes = hashes * _ODD
        slot = (hashes >> np.uint64(64 - bits)).view(np.int64)
        # Of values assigned to one place the last one stays: backwards, that is the first row.
        holder[slot[::-1]] = np.arange(len(slot) - 1, -1, -1, dtype=holder.dtype)
        found = holder[slot].astype(np.int64)
        lost = np.flatnonzero(hashes[found] != hashes)
        if rows is None:  # the first round is about all rows
            first, rows = found, lost
        else:
            first[rows], rows = rows[found], rows[lost]
        hashes = hashes[lost]
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
    """The first row of each distinct key, and the key of each row as an index into them."""

    first_rows: Ints
    number: Ints


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
        else:
            opens[1:] |= key.ne_missing(key.shift())[1:].to_numpy()
    rows = np.flatnonzero(opens)
    if len(rows) < len(opens):
        keys = tuple(gather(key, rows) for key in keys)
    hashes = np.zeros(len(rows), dtype=np.uint64)
    for key in keys:
        hashes = (hashes ^ hashes >> np.uint64(32)) * _ODD + hash_keys(key)
    first = find_first_hashes(hashes)
    again = np.flatnonzero(first != np.arange(len(first)))
    for key in keys if len(again) else ():
        here, before = gather(key, again), gather(key, first[again])
        same = here == before if isinstance(key, np.ndarray) else here.eq_missing(before)
        if not same.all():  # different keys with one hash, which are very rare
            table = pl.DataFrame({str(i): column for i, column in enumerate(keys)})
            exact = table.with_row_index("row").select(pl.col("row").min().over(table.columns))
            first = exact.to_series().cast(pl.Int64).to_numpy()
            break
    is_first = first == np.arange(len(first))
    number = (np.cumsum(is_first) - 1)[first] if len(again) else first
    if len(rows) < len(opens):
        number = number[np.cumsum(opens) - 1]  # np.repeat takes twice the time
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
    """Numbers of distinct keys: looks up millions of texts or 64-bit numbers among as many.

    >>> KeyTable(np.array([70, 50, 90], dtype=np.uint64)).find(np.array([90, 60], dtype=np.uint64))
    array([ 2, -1])
    >>> KeyTable(pl.Series(["D1", "D2", "D3"])).find(pl.Series(["D3", "D9", "D1"])).tolist()
    [2, -1, 0]
    """

    def __init__(self, keys: pl.Series | Hashes) -> None:
        self.keys: Any = keys.rechunk() if isinstance(keys, pl.Series) else keys
        self._hashes = hash_keys(self.keys)
        self._rounds: list[tuple[int, npt.NDArray[Any]]] = []
        rows, kind = np.arange(len(keys)), np.int32 if len(keys) < 1 << 31 else np.int64
        hashes = self._hashes
        while len(rows):
            hashes = hashes * _ODD
            bits = len(rows).bit_length() + 1  # half of the slots stay free to detect absent keys
            slot = (hashes >> np.uint64(64 - bits)).view(np.int64)
            holder = np.full(1 << bits, _ABSENT, dtype=kind)
            holder[slot] = rows
            self._rounds.append((bits, holder))
            lost = np.flatnonzero(holder[slot] != rows)
            rows, hashes = rows[lost], hashes[lost]

    def __reduce__(self) -> tuple[type[KeyTable], tuple[pl.Series | Hashes]]:
        return KeyTable, (self.keys,)  # another process has other hashes

    def find(self, keys: pl.Series | Hashes) -> Ints:
        """Return the number of each key, -1 for absent ones."""
        number = np.full(len(keys), _ABSENT, dtype=np.int64)
        rows: Ints | slice = slice(None)  # those that are still looked for
        hashes = spread = hash_keys(keys)
        for bits, holder in self._rounds:
            spread = spread * _ODD
            found = holder[(spread >> np.uint64(64 - bits)).view(np.int64)].astype(np.int64)
            other = np.flatnonzero(self._hashes[found] != hashes)
            # No key of the table fell into an empty slot, so no later round has the key either.
            again = other[found[other] >= 0]
            found[other] = _ABSENT
            number[rows] = found
            rows = again if isinstance(rows, slice) else rows[again]
            spread, hashes = spread[again], hashes[again]
        if isinstance(keys, pl.Series):
            present, keys = np.flatnonzero(number >= 0), keys.rechunk()
            asked = keys if len(present) == len(keys) else gather(keys, present)
            wrong = gather(self.keys, number[present]).ne_missing(asked)
            if wrong.any():  # different texts of one hash, which are very rare
                number_of = {text: i for i, text in enumerate(self.keys)}
                present = present[wrong.to_numpy()]
                texts = gather(keys, present)
                number[present] = [number_of.get(text, _ABSENT) for text in texts]
        return number


class GrowingTable:
    """Numbers of texts in the order in which they are first seen; emptied if there are too many.

    The runs of a campaign name the same documents and elements over and over.
    """

    def __init__(self, most: int = _MOST_CACHED) -> None:
        self._most, self._lock = most, threading.Lock()
        self._keys, self._table = KeyTable(pl.Series([], dtype=pl.String)), object()
        self._latest: tuple[pl.Series, tuple[Ints, pl.Series, object]] | None = None

    def number(self, texts: pl.Series) -> tuple[Ints, pl.Series, object]:
        """Return the number of each text, all texts, and an object that changes with the numbering.

        Null is the empty text. The latest column is not looked up again.
        """
        latest = self._latest
        if latest is not None and latest[0] is texts:
            return latest[1]
        column = texts.cast(pl.String).fill_null("").rechunk()
        with self._lock:
            keys, table = self._keys, self._table
            number = keys.find(column)
            if (number < 0).any():
                # Part of a column keeps all of its text in memory, which would be every run's.
                new = column.filter(number < 0).unique(maintain_order=True).to_list()
                keys = KeyTable(pl.concat([keys.keys, pl.Series(new, dtype=pl.String)]))
                number = keys.find(column)
                if len(keys.keys) > self._most:
                    self._keys, self._table = KeyTable(pl.Series([], dtype=pl.String)), object()
                else:
                    self._keys = keys
        found = number, keys.keys, table
        self._latest = texts, found
        return found


class CachedTextFunction:
    """A function from texts to whole numbers, called once for each distinct text of a table.

    Functions of the same texts share a table, so that a column is looked up once for all of them.

    >>> lengths = CachedTextFunction(lambda texts: print(texts.to_list()) or texts.str.len_bytes())
    >>> lengths(pl.Series(["a", "bcd", "a"])).tolist(), lengths(pl.Series(["ef", "bcd"])).tolist()
    ['a', 'bcd']
    ['ef']
    ([1, 3, 1], [2, 3])
    """

    def __init__(
        self, function: Callable[[pl.Series], Any], table: GrowingTable | None = None
    ) -> None:
        self._function, self._table = function, table or GrowingTable()
        self._known: tuple[object, Ints] = None, np.empty(0, dtype=np.int64)

    def __call__(self, texts: pl.Series) -> Ints:
        """Return the value of each text; null is the empty text."""
        number, keys, table = self._table.number(texts)
        known, values = self._known
        if known is not table:
            values = values[:0]
        if len(values) < len(keys):
            new = np.array(self._function(keys[len(values) :]), dtype=np.int64)
            values = np.append(values, new)
            self._known = table, values
        return values[number]
