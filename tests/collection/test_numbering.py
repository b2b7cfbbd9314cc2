"""Numbers of names and paths while an index grows: as a dict would give them."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from foveal.collection.index_writer import PathNumbers, SortedNumbers
from foveal.spans import Ints

KEYS = st.integers(-(2**63), 2**63 - 1)


@given(st.lists(st.lists(KEYS, max_size=30), max_size=12), st.lists(KEYS, max_size=10))
def test_numbers_are_those_of_a_dict(batches: list[list[int]], others: list[int]) -> None:
    numbers, naive = SortedNumbers(), dict[int, int]()
    for batch in batches:
        new = [key for key in dict.fromkeys(batch) if key not in naive]
        numbers.add(np.array(new, dtype=np.int64), len(naive) + np.arange(len(new)))
        naive |= {key: len(naive) + i for i, key in enumerate(new)}
        asked = [*naive, *others, *batch]
        found = numbers.find(np.array(asked, dtype=np.int64)).tolist()
        assert found == [naive.get(key, -1) for key in asked]


def test_many_batches_make_few_runs() -> None:
    """Else looking up would take longer and longer."""
    numbers = SortedNumbers()
    for i in range(3000):
        numbers.add(np.array([i * 7 % 3001]), np.array([i]))
    assert len(numbers._runs) < 8
    assert numbers.find(np.array([14, 3000 * 7 % 3001])).tolist() == [2, -1]


Table = list[tuple[int, int, int]]


@st.composite
def tables(draw: st.DrawFn) -> Table:
    """Parent, tag and ordinal of distinct paths, parents before their children in any order."""
    found: Table = []
    for _ in range(draw(st.integers(0, 14))):
        parent = draw(st.integers(-1, len(found) - 1))
        row = (parent, draw(st.integers(0, 2)), draw(st.integers(1, 3)))
        if row not in found:
            found.append(row)
    return found


def columns(table: Table) -> tuple[Ints, Ints, Ints]:
    parent, tag, ordinal = np.array(table, dtype=np.int64).reshape(-1, 3).T
    return parent, tag, ordinal


def texts(table: Table) -> list[str]:
    found: list[str] = []
    for i, (parent, tag, ordinal) in enumerate(table):
        assert parent < i
        found.append(f"{found[parent] if parent >= 0 else ''}/{tag}[{ordinal}]")
    return found


@given(st.lists(tables(), max_size=5))
def test_paths_are_numbered_as_they_come(batches: list[Table]) -> None:
    paths, naive = PathNumbers(), dict[str, int]()
    for table in batches:
        written = texts(table)
        before = set(naive)
        numbers = [naive.setdefault(text, len(naive)) for text in written]
        found, new = paths.number(*columns(table))
        assert found.tolist() == numbers
        assert [written[i] for i in new.tolist()] == [t for t in written if t not in before]
        assert len(paths) == len(naive)
