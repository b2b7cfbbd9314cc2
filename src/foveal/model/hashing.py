"""Grouping, ordering and looking up names: by hash, all rows at once and without a sort.

Every row writes its number into the slot that its hash names. Rows that find a row of another hash
in their slot try again with other bits of their hash; in a table of this size they are few, and two
or three rounds are enough. 171,000 rows take 1.5 ms of one core. NumPy needs 7 ms to sort the
hashes, Polars 14 ms to group the names and 8 ms to join them.

Equal hashes are not yet equal names: the callers compare the names, which takes half a millisecond.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from foveal.spans import Ints

__all__ = [
    "Coded",
    "HashOf",
    "Hashes",
    "Lexicon",
    "Names",
    "OfTexts",
    "Slots",
    "Vocabulary",
    "changes",
    "first_of_group",
    "first_of_hash",
    "topic_order",
]

Hashes = npt.NDArray[np.uint64]
HashOf = Callable[[pl.DataFrame], pl.Series]
"""A hash of each row of a frame, by default that of Polars.

Equal rows have equal hashes in one process only: Polars promises nothing between its versions or
between machines, so hashes are never stored or sent.
"""

_NOBODY = -1
_ODD = np.uint64(0x9E3779B97F4A7C15)
"""2^64 divided by the golden ratio: in the product, the upper bits depend on all of the hash."""


def first_of_hash(hashes: Hashes) -> Ints:
    """Return for each row the number of the first row with the same hash.

    >>> first_of_hash(np.array([7, 5, 7, 5, 9], dtype=np.uint64)).tolist()
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


def first_of_group(keys: pl.DataFrame, hash_of: HashOf = pl.DataFrame.hash_rows) -> Ints:
    """Return for each row the number of the first row with the same keys.

    >>> first_of_group(pl.DataFrame({"doc": ["a", "b", "a"]})).tolist()
    [0, 1, 0]
    """
    keys = keys.rechunk()
    first = first_of_hash(hash_of(keys).to_numpy())
    again = np.flatnonzero(first != np.arange(len(first)))
    if all(column.gather(again).eq_missing(column.gather(first[again])).all() for column in keys):
        return first
    exact = keys.with_row_index("row").select(pl.col("row").min().over(keys.columns))
    return exact.to_series().cast(pl.Int64).to_numpy()


def changes(column: pl.Series) -> npt.NDArray[np.bool_]:
    """Mark the rows whose value differs from the row before; the first row is marked.

    >>> changes(pl.Series(["a", "a", "b", None, None])).tolist()
    [True, False, True, True, False]
    """
    differs = np.ones(len(column), dtype=bool)
    at, last = 0, None
    # Piece by piece as the parser made them: to join them takes longer than to compare.
    for piece in column.get_chunks():
        if at and len(piece):
            differs[at] = piece[0] != last
        here, before = piece[1:], piece[:-1]
        # Six times as fast as the comparison that knows of missing values.
        other = here.ne_missing(before) if piece.null_count() else here != before
        differs[at + 1 : at + len(piece)] = other.to_numpy()
        at, last = at + len(piece), piece[-1] if len(piece) else last
    return differs


def topic_order(topics: Iterable[str]) -> tuple[str, ...]:
    """Return the distinct topics in their canonical order.

    >>> topic_order(["10", "9", "9"])
    ('9', '10')
    >>> topic_order(["t10", "t9"])
    ('t10', 't9')
    """
    distinct = sorted(set(topics))
    if all(topic.isascii() and topic.isdigit() for topic in distinct):
        # By value, however many digits: int() takes 4,300 at most.
        distinct.sort(key=lambda digits: (len(digits.lstrip("0")), digits.lstrip("0")))
    return tuple(distinct)


class Slots:
    """Numbers of 64-bit keys: looks up millions of keys among as many.

    >>> Slots(np.array([70, 50, 90], dtype=np.uint64)).find(np.array([90, 60], dtype=np.uint64))
    array([ 2, -1])
    """

    def __init__(self, keys: Hashes) -> None:
        self._keys = keys
        self._rounds: list[tuple[int, npt.NDArray[Any]]] = []
        rows, kind = np.arange(len(keys)), np.int32 if len(keys) < 1 << 31 else np.int64
        while len(rows):
            keys = keys * _ODD
            bits = len(rows).bit_length() + 1  # half stays free: an absent key is soon known
            slot = (keys >> np.uint64(64 - bits)).view(np.int64)
            holder = np.full(1 << bits, _NOBODY, dtype=kind)
            holder[slot] = rows
            self._rounds.append((bits, holder))
            lost = np.flatnonzero(holder[slot] != rows)
            rows, keys = rows[lost], keys[lost]

    def find(self, keys: Hashes) -> Ints:
        """The number of each key, -1 for those that are not there."""
        number, rows = np.full(len(keys), _NOBODY, dtype=np.int64), None
        spread = keys
        for bits, holder in self._rounds:
            spread = spread * _ODD
            slot = (spread >> np.uint64(64 - bits)).view(np.int64)
            found = holder[slot].astype(np.int64)
            other = np.flatnonzero(self._keys[found] != keys)
            # A slot that is empty was nobody's, so no later round has the key either.
            again = other[found[other] >= 0]
            found[other] = _NOBODY
            if rows is None:
                number, rows = found, again
            else:
                number[rows] = found
                rows = rows[again]
            spread, keys = spread[again], keys[again]
        return number


class Names:
    """Distinct names, each with a number, in which millions of names are looked up.

    >>> names = Names(pl.Series(["D1", "D2", "D3"]))
    >>> names.find(pl.Series(["D3", "D9", "D1", "D3"])).tolist()
    [2, -1, 0, 2]
    """

    def __init__(self, names: pl.Series, hash_of: HashOf = pl.DataFrame.hash_rows) -> None:
        self.names = names.rechunk()
        self._hash_of = hash_of
        hashes = hash_of(self.names.to_frame()).to_numpy()
        # Two names of one hash are hardly ever met; if they are, names are joined.
        distinct = (first_of_hash(hashes) == np.arange(len(names))).all()
        self._slots = Slots(hashes) if distinct else None

    def __reduce__(self) -> tuple[type[Names], tuple[pl.Series, HashOf]]:
        return Names, (self.names, self._hash_of)  # another process has other hashes

    def find(self, names: pl.Series) -> Ints:
        """The number of each name, -1 for those that are not among these."""
        if self._slots is None:
            return self._joined(names)
        names = names.rechunk()
        number = self._slots.find(self._hash_of(names.to_frame()).to_numpy())
        # Equal hashes are not yet equal names. To gather long texts takes as long as to compare
        # them, so that all are compared where most are present: what is absent differs from any.
        rows = np.flatnonzero(number >= 0)
        asked = names if 2 * len(rows) > len(names) else names.gather(rows)
        found = self.names.gather(np.maximum(number, 0) if asked is names else number[rows])
        other = found.ne_missing(asked) if asked.null_count() else found != asked
        if asked is names:
            number[other.to_numpy()] = _NOBODY
        elif other.any():
            number[rows[other.to_numpy()]] = _NOBODY
        return number

    def _joined(self, names: pl.Series) -> Ints:
        numbered = pl.DataFrame({"name": self.names, "number": np.arange(len(self.names))})
        asked = pl.DataFrame({"name": names})
        found = asked.join(numbered, on="name", how="left", maintain_order="left")
        return found["number"].fill_null(_NOBODY).to_numpy().copy()


class Lexicon:
    """Distinct names that grow in number: as `Names`, but those that are added cost no more.

    They make a level of their own, which is joined with the one before it when it gets a quarter
    of its size. So a name is hashed again a few times only, however often others are added: with
    105,000 of them, to do it for all takes 10 ms.

    >>> lexicon = Lexicon().with_names(pl.Series(["D1", "D2"])).with_names(pl.Series(["D3"]))
    >>> lexicon.find(pl.Series(["D3", "D9", "D1"])).tolist(), len(lexicon)
    ([2, -1, 0], 3)
    >>> lexicon.gather(np.array([2, 1])).to_list()
    ['D3', 'D2']
    """

    def __init__(self, levels: Sequence[Names] = ()) -> None:
        self._levels = tuple(levels)
        self._size = sum(len(level.names) for level in self._levels)

    def __len__(self) -> int:
        return self._size

    def with_names(self, names: pl.Series) -> Lexicon:
        """These and others, which are not among them."""
        levels = list(self._levels)
        # A part of a column keeps all of its text in memory, which would be that of every run.
        names = pl.Series(names.to_list(), dtype=pl.String)
        while levels and _SHARE * len(names) > len(levels[-1].names):
            names = pl.concat([levels.pop().names, names])
        return Lexicon([*levels, Names(names)])

    def find(self, names: pl.Series) -> Ints:
        """The number of each name, -1 for those that are not among these."""
        if not self._levels:
            return np.full(len(names), _NOBODY, dtype=np.int64)
        number, before = self._levels[0].find(names), len(self._levels[0].names)
        for level in self._levels[1:]:
            left = np.flatnonzero(number < 0)
            if not len(left):
                break
            found = level.find(names.gather(left))
            number[left] = np.where(found < 0, _NOBODY, found + before)
            before += len(level.names)
        return number

    def gather(self, numbers: Ints) -> pl.Series:
        """The names of these numbers, of which there are not many."""
        names = [level.names for level in self._levels]
        return pl.concat(names, rechunk=False).gather(numbers) if names else _no_names()


_SHARE = 4
"""A level is joined with the one before it when it gets this part of its size."""


def _no_names() -> pl.Series:
    return pl.Series([], dtype=pl.String)


_FEW = 1 << 12
"""Texts that are looked at one by one faster than they are numbered."""
_MOST = 1 << 18
"""Texts that a vocabulary holds, with some 100 bytes each; with more of them it begins anew."""


class _Met(NamedTuple):
    """The texts of a vocabulary at some time."""

    names: Lexicon
    history: tuple[object, ...]
    """A mark for each time that texts were added. A beginning in common means that texts have the
    same numbers; of two threads that add to the same texts, each goes its own way."""


class Coded(NamedTuple):
    """A column as numbers of its distinct texts."""

    code: Ints
    met: _Met


class Vocabulary:
    """Numbers of texts that columns have in common, as the paths of a campaign's runs.

    What is known of a text need not be found out again (`OfTexts`): to number 171,000 paths takes
    6 to 9 ms, and after that what is asked about them takes half a millisecond. Whoever has
    numbered a column may `remember` it, so that others need not do it again.

    >>> vocabulary, lengths = Vocabulary(few=0), OfTexts(lambda texts: texts.str.len_bytes())
    >>> paths = pl.Series(["/a[1]", "/a[1]/b[1]"] * 2)
    >>> coded = vocabulary.numbered(paths)
    >>> coded.code.tolist(), lengths(coded).tolist()
    ([0, 1, 0, 1], [5, 10, 5, 10])
    >>> vocabulary.remember(paths, coded)
    >>> vocabulary.recall(paths) is coded, vocabulary.recall(paths.clone()) is None
    (True, True)
    """

    def __init__(self, few: int = _FEW, most: int = _MOST) -> None:
        self._few, self._most = few, most
        self._met = _no_texts()
        self._remembered: dict[int, tuple[weakref.ref[pl.Series], Coded]] = {}

    def numbered(self, texts: pl.Series) -> Coded | None:
        """The numbers of texts; None where they are few, many differ, or some are null."""
        met = self._met
        if len(texts) < max(self._few, len(met.names) >> 2) or texts.null_count():
            return None
        texts = texts.rechunk()
        code = met.names.find(texts)
        new = np.flatnonzero(code < 0)
        if len(new):
            added = texts.gather(new)
            distinct = added.unique(maintain_order=True)
            if 2 * len(distinct) > max(len(texts), 2 * self._few):
                return None
            met = self._learned(met, distinct)
            code[new] = met.names.find(added)
        return Coded(code, met)

    def _learned(self, met: _Met, texts: pl.Series) -> _Met:
        """What was met and these; nothing is changed, so threads need not wait for each other."""
        learned = _Met(met.names.with_names(texts), (*met.history, object()))
        self._met = learned if len(learned.names) <= self._most else _no_texts()
        return learned

    def remember(self, texts: pl.Series, coded: Coded) -> None:
        """Keep the numbers of this column for as long as it is in use."""
        key, kept = id(texts), self._remembered
        kept[key] = (weakref.ref(texts, lambda _: kept.pop(key, None)), coded)

    def recall(self, texts: pl.Series) -> Coded | None:
        """The numbers of a column that are remembered; an equal column is another one."""
        found = self._remembered.get(id(texts))
        return found[1] if found is not None and found[0]() is texts else None


def _no_texts() -> _Met:
    return _Met(Lexicon(), ())


_NOT_ASKED = -2


class OfTexts:
    """What is known of each text of a vocabulary: a number from -1 on, asked for once."""

    def __init__(self, search: Callable[[pl.Series], Any]) -> None:
        self._search = search
        self._known: tuple[tuple[object, ...], Ints] = ((), np.zeros(0, dtype=np.int64))

    def __getstate__(self) -> dict[str, Any]:
        return {"_search": self._search, "_known": ((), np.zeros(0, dtype=np.int64))}

    def __call__(self, coded: Coded) -> Ints:
        """What is known of each text of a column."""
        (history, table), met = self._known, coded.met
        common = min(len(history), len(met.history))
        if history[:common] != met.history[:common]:
            history, table = (), table[:0]
        more = len(met.names) - len(table)
        if more > 0:
            history, table = met.history, np.concatenate([table, np.full(more, _NOT_ASKED)])
        found: Ints = table[coded.code]
        new = np.flatnonzero(found == _NOT_ASKED)
        if len(new):
            asked = np.unique(coded.code[new])
            table[asked] = self._search(met.names.gather(asked))
            found = table[coded.code]
        self._known = history, table
        return found
