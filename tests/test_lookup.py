"""Groups and look-ups by hash equal those by the values themselves, however poor the hash."""

from __future__ import annotations

import pickle
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foveal.lookup import (
    CachedTextFunction,
    GrowingTable,
    KeyTable,
    find_first_hashes,
    gather,
    number_rows,
)
from foveal.spans import Ints

quick = settings(max_examples=60)
names = st.lists(st.text("ab漢", max_size=3), max_size=30)
keys = st.lists(st.integers(0, 2**64 - 1) | st.integers(0, 9), max_size=60)


def hash_alike(frame: pl.DataFrame) -> pl.Series:
    return pl.Series(np.zeros(len(frame), dtype=np.uint64))


def hash_length(frame: pl.DataFrame) -> pl.Series:
    """Return a hash that many different names share."""
    return frame.to_series(-1).fill_null("").str.len_bytes().cast(pl.UInt64)


HASHES = (pl.DataFrame.hash_rows, hash_length, hash_alike)


@quick
@given(keys)
def test_the_first_row_of_each_hash(keys: list[int]) -> None:
    first = find_first_hashes(np.array(keys, dtype=np.uint64))
    assert first.tolist() == [keys.index(key) for key in keys]


@pytest.mark.parametrize("n", [1, 2, 255, 256, 5000])
def test_hashes_that_differ_in_few_bits_are_distinguished(n: int) -> None:
    for shift in (0, 30, 64 - n.bit_length()):
        hashes = np.arange(n, dtype=np.uint64) << np.uint64(shift)
        assert find_first_hashes(np.concatenate([hashes, hashes[::-1]])).tolist() == [
            *range(n),
            *reversed(range(n)),
        ]


@quick
@given(keys, keys)
def test_a_key_is_found_by_its_number(held: list[int], asked: list[int]) -> None:
    held = list(dict.fromkeys(held))
    table = KeyTable(np.array(held, dtype=np.uint64))
    found = table.find(np.array([*asked, *held], dtype=np.uint64))
    assert found.tolist() == [held.index(k) if k in held else -1 for k in [*asked, *held]]


@pytest.mark.parametrize("hash_rows", HASHES)
@quick
@given(held=names, asked=names)
def test_a_name_is_found_whatever_its_hash(
    hash_rows: Callable[[pl.DataFrame], pl.Series], held: list[str], asked: list[str]
) -> None:
    held = list(dict.fromkeys(held))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pl.DataFrame, "hash_rows", hash_rows)
        table = KeyTable(pl.Series(held, dtype=pl.String))
        found = table.find(pl.Series([*asked, *held], dtype=pl.String))
    assert found.tolist() == [held.index(k) if k in held else -1 for k in [*asked, *held]]


def test_a_missing_name_is_absent() -> None:
    table = KeyTable(pl.Series(["a", "b"]))
    assert table.find(pl.Series(["a", None, "b"])).tolist() == [0, -1, 1]
    assert table.find(pl.Series([None, None, "b"], dtype=pl.String)).tolist() == [-1, -1, 1]


def test_hashes_are_not_sent_to_another_process() -> None:
    sent = pickle.dumps(KeyTable(pl.Series(["a", "b"])))
    assert b"_hashes" not in sent
    assert pickle.loads(sent).find(pl.Series(["b", "c"])).tolist() == [1, -1]


@pytest.mark.parametrize("hash_rows", HASHES)
@quick
@given(
    st.lists(st.tuples(st.integers(0, 2), st.none() | st.text("ab", max_size=2)), max_size=40),
    st.integers(0, 40),
)
def test_groups_have_equal_keys(
    hash_rows: Callable[[pl.DataFrame], pl.Series], rows: list[tuple[int, str | None]], at: int
) -> None:
    schema = {"topic": pl.Int64, "doc": pl.String}
    frame = pl.DataFrame(rows, schema=schema, orient="row")
    frame = pl.concat([frame[:at], frame[at:]], rechunk=False)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pl.DataFrame, "hash_rows", hash_rows)
        first_rows, number = number_rows(frame["topic"].to_numpy(), frame["doc"])
        assert number_rows(*frame).number.tolist() == number.tolist()
    assert first_rows[number].tolist() == [rows.index(row) for row in rows]
    assert first_rows.tolist() == sorted(set(first_rows[number].tolist()))


@pytest.mark.parametrize("is_loaded", [True, False])
def test_rows_are_gathered_with_and_without_arrays(
    monkeypatch: pytest.MonkeyPatch, *, is_loaded: bool
) -> None:
    if not is_loaded:
        monkeypatch.delitem(sys.modules, "numpy.ma", raising=False)
    column = pl.Series(["a", "b", None])
    for rows in ([2, 0, 0], []):
        found = gather(column, np.array(rows, dtype=np.int64))
        assert found.to_list() == [column[row] for row in rows]


class Recorder:
    """A function of texts that notes its arguments."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def __call__(self, texts: pl.Series) -> Ints:
        self.asked += texts.to_list()
        return naives(texts)


def naive(text: str | None) -> int:
    return int.from_bytes((text or "").encode()[:7], "big") - 1


def naives(texts: pl.Series) -> Ints:
    return np.array([naive(text) for text in texts], dtype=np.int64)


def series(texts: list[str | None] | list[str]) -> pl.Series:
    return pl.Series(texts, dtype=pl.String)


some_texts = st.lists(st.one_of(st.none(), st.text("ab/é", max_size=3)), max_size=12)


@quick
@given(st.lists(some_texts, max_size=5), st.integers(0, 4))
def test_a_function_is_called_once_for_each_text(
    columns: list[list[str | None]], most: int
) -> None:
    function = Recorder()
    large, small = CachedTextFunction(function), CachedTextFunction(naives, GrowingTable(most))
    for texts in columns:
        expected = [naive(text) for text in texts]
        assert large(series(texts)).tolist() == small(series(texts)).tolist() == expected
    assert len(function.asked) == len(set(function.asked))
    assert set(function.asked) == {text or "" for texts in columns for text in texts}


def test_a_cache_starts_again_when_it_is_full() -> None:
    function = Recorder()
    cached = CachedTextFunction(function, GrowingTable(most=2))
    cached(series(["a", "b"]))
    cached(series(["a", "b"]))
    assert function.asked == ["a", "b"]
    cached(series(["c"]))
    cached(series(["a"]))
    assert function.asked == ["a", "b", "c", "a"]


def test_functions_of_one_table_know_their_own_values() -> None:
    table, asked = GrowingTable(most=3), [["a", "bb"], ["bb", "c"], ["dddd"], ["a", "c"]]
    length, is_b = (
        CachedTextFunction(f, table) for f in (len_bytes, lambda texts: texts.str.contains("b"))
    )
    for texts in map(series, asked):
        assert length(texts).tolist() == [len(text) for text in texts]
        assert is_b(texts).tolist() == ["b" in text for text in texts]


def test_threads_get_the_same_values() -> None:
    cached = CachedTextFunction(Recorder())
    columns = [[str(i * j % 97) for i in range(400)] for j in range(40)]
    with ThreadPoolExecutor(4) as threads:
        found = list(threads.map(lambda texts: cached(series(texts)).tolist(), columns))
    assert found == [[naive(text) for text in texts] for texts in columns]


def len_bytes(texts: pl.Series) -> pl.Series:
    return texts.str.len_bytes()
