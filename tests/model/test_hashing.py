"""Groups and look-ups by hash are those by the values themselves, however poor the hash."""

from __future__ import annotations

import pickle

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foveal.model.hashing import Hashes, HashOf, Names, Slots, first_of_hash, hash_of_rows
from foveal.model.ordering import first_of_group

quick = settings(max_examples=60)
names = st.lists(st.text("ab漢", max_size=3), max_size=30)
keys = st.lists(st.integers(0, 2**64 - 1) | st.integers(0, 9), max_size=60)


def all_alike(keys: pl.DataFrame) -> Hashes:
    return np.zeros(len(keys), dtype=np.uint64)


def by_length(keys: pl.DataFrame) -> Hashes:
    """A hash that many different names share."""
    texts = keys.to_series(-1).fill_null("")
    return texts.str.len_bytes().cast(pl.UInt64).to_numpy()


HASHES = (hash_of_rows, by_length, all_alike)


@quick
@given(keys)
def test_the_first_row_of_each_hash(keys: list[int]) -> None:
    first = first_of_hash(np.array(keys, dtype=np.uint64))
    assert first.tolist() == [keys.index(key) for key in keys]


@pytest.mark.parametrize("n", [1, 2, 255, 256, 5000])
def test_hashes_that_differ_in_few_bits_are_told_apart(n: int) -> None:
    for shift in (0, 30, 64 - n.bit_length()):
        hashes = np.arange(n, dtype=np.uint64) << np.uint64(shift)
        assert first_of_hash(np.concatenate([hashes, hashes[::-1]])).tolist() == [
            *range(n),
            *reversed(range(n)),
        ]


@quick
@given(keys, keys)
def test_a_key_is_found_where_it_stands(held: list[int], asked: list[int]) -> None:
    held = list(dict.fromkeys(held))
    found = Slots(np.array(held, dtype=np.uint64)).find(np.array([*asked, *held], dtype=np.uint64))
    assert found.tolist() == [held.index(k) if k in held else -1 for k in [*asked, *held]]


@pytest.mark.parametrize("hash_of", HASHES)
@quick
@given(held=names, asked=names)
def test_a_name_is_found_whatever_its_hash(
    hash_of: HashOf, held: list[str], asked: list[str]
) -> None:
    held = list(dict.fromkeys(held))
    series = pl.Series(held, dtype=pl.String)
    found = Names(series, hash_of).find(pl.Series([*asked, *held], dtype=pl.String))
    assert found.tolist() == [held.index(k) if k in held else -1 for k in [*asked, *held]]


def test_a_name_of_the_same_hash_is_not_the_same_name() -> None:
    held = Names(pl.Series(["a", "bb"]), by_length)
    assert held.find(pl.Series(["z", "bb", "zz", "zzz"])).tolist() == [-1, 1, -1, -1]


def test_hashes_do_not_travel_to_another_process() -> None:
    sent = pickle.dumps(Names(pl.Series(["a", "b"])))
    assert b"_slots" not in sent
    assert pickle.loads(sent).find(pl.Series(["b", "c"])).tolist() == [1, -1]


@pytest.mark.parametrize("hash_of", HASHES)
@quick
@given(
    st.lists(st.tuples(st.integers(0, 2), st.none() | st.text("ab", max_size=2)), max_size=40),
    st.integers(0, 40),
)
def test_groups_have_equal_keys(
    hash_of: HashOf, rows: list[tuple[int, str | None]], at: int
) -> None:
    schema = {"topic": pl.Int64, "doc": pl.String}
    frame = pl.DataFrame(rows, schema=schema, orient="row")
    frame = pl.concat([frame[:at], frame[at:]], rechunk=False)
    assert first_of_group(frame, hash_of).tolist() == [rows.index(row) for row in rows]
