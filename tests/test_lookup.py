"""Groups and look-ups by hash equal those by the values themselves, however poor the hash."""

from __future__ import annotations

import gc
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
    GrowingNameTable,
    KeyTable,
    NameTable,
    TextNumbers,
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
        table = NameTable(pl.Series(held, dtype=pl.String))
        found = table.find(pl.Series([*asked, *held], dtype=pl.String))
    assert found.tolist() == [held.index(k) if k in held else -1 for k in [*asked, *held]]


def test_a_name_of_the_same_hash_is_another_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pl.DataFrame, "hash_rows", hash_length)
    table = NameTable(pl.Series(["a", "bb"]))
    assert table.find(pl.Series(["z", "bb", "zz", "zzz"])).tolist() == [-1, 1, -1, -1]


def test_a_missing_name_is_absent() -> None:
    table = NameTable(pl.Series(["a", "b"]))
    assert table.find(pl.Series(["a", None, "b"])).tolist() == [0, -1, 1]
    assert table.find(pl.Series([None, None, "b"], dtype=pl.String)).tolist() == [-1, -1, 1]


def test_hashes_are_not_sent_to_another_process() -> None:
    sent = pickle.dumps(NameTable(pl.Series(["a", "b"])))
    assert b"_keys" not in sent
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


@quick
@given(st.lists(names, max_size=8), names)
def test_a_table_that_grew_finds_what_one_table_does(
    added: list[list[str]], asked: list[str]
) -> None:
    table, held = GrowingNameTable(), list[str]()
    for some in added:
        new = [name for name in dict.fromkeys(some) if name not in held]
        table, held = table.with_names(pl.Series(new, dtype=pl.String)), held + new
    expected = [held.index(name) if name in held else -1 for name in [*asked, *held]]
    found = table.find(pl.Series([*asked, *held], dtype=pl.String))
    assert found.tolist() == expected
    assert len(table) == len(held)
    assert table.gather(np.arange(len(held))).to_list() == held


class Recorder:
    """A function of texts that notes its arguments."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def __call__(self, texts: pl.Series) -> Ints:
        self.asked += texts.to_list()
        return np.array([naive(text) for text in texts], dtype=np.int64)


def naive(text: str | None) -> int:
    return int.from_bytes((text or "").encode()[:7], "big") - 1


def series(texts: list[str | None] | list[str]) -> pl.Series:
    return pl.Series(texts, dtype=pl.String)


some_texts = st.lists(st.one_of(st.none(), st.text("ab/é", max_size=3)), max_size=12)


@quick
@given(st.lists(some_texts, max_size=5))
def test_a_function_is_called_once_for_each_text(columns: list[list[str | None]]) -> None:
    function = Recorder()
    cached = CachedTextFunction(function)
    for texts in columns:
        assert cached(series(texts)).tolist() == [naive(text) for text in texts]
    assert len(function.asked) == len(set(function.asked))
    assert set(function.asked) == {text or "" for texts in columns for text in texts}


@quick
@given(st.lists(some_texts, max_size=5), st.integers(0, 4))
def test_a_small_cache_gives_the_same_values(columns: list[list[str | None]], most: int) -> None:
    cached = CachedTextFunction(Recorder(), most)
    for texts in columns:
        assert cached(series(texts)).tolist() == [naive(text) for text in texts]


def test_a_cache_starts_again_when_it_is_full() -> None:
    function = Recorder()
    cached = CachedTextFunction(function, most=2)
    cached(series(["a", "b"]))
    cached(series(["a", "b"]))
    assert function.asked == ["a", "b"]
    cached(series(["c"]))
    cached(series(["a"]))
    assert function.asked == ["a", "b", "c", "a"]


def test_threads_get_the_same_values() -> None:
    cached = CachedTextFunction(Recorder())
    columns = [[str(i * j % 97) for i in range(400)] for j in range(40)]
    with ThreadPoolExecutor(4) as threads:
        found = list(threads.map(lambda texts: cached(series(texts)).tolist(), columns))
    assert found == [[naive(text) for text in texts] for texts in columns]


@quick
@given(st.lists(names, max_size=8), st.integers(1, 20))
def test_a_function_of_numbered_texts_is_called_once_for_each(
    columns: list[list[str]], most: int
) -> None:
    function = Recorder()
    cached, small = CachedTextFunction(function), CachedTextFunction(Recorder())
    shared, forgetful = TextNumbers(few=0), TextNumbers(few=0, most=most)
    met: set[str] = set()
    for column in columns:
        texts = series(column * 2)
        expected = [naive(text) for text in column * 2]
        for numbers, values in ((shared, cached), (forgetful, small)):
            numbered = numbers.number_repeated(texts)
            if numbered is not None:
                assert values(numbered).tolist() == expected
                assert numbered.table.gather(numbered.number).to_list() == column * 2
            if numbers is shared and numbered is not None:
                met.update(column)
    assert sorted(function.asked) == sorted(met)


def test_texts_added_by_two_threads_are_not_mixed_up() -> None:
    """Two threads add to the same texts: the numbers of one mean nothing to the other."""
    shared, cached = TextNumbers(few=0), CachedTextFunction(Recorder())
    first = shared.number_repeated(pl.Series(["a", "a", "bb", "bb"]))
    before = shared._table
    mine = shared.number_repeated(pl.Series(["ccc", "ccc"]))
    shared._table = before
    other = shared.number_repeated(pl.Series(["dddd", "dddd"]))
    assert first is not None
    assert mine is not None
    assert other is not None
    assert mine.number.tolist() == other.number.tolist() == [2, 2]
    for _ in range(2):
        assert cached(first).tolist() == [naive(text) for text in ("a", "a", "bb", "bb")]
        assert cached(mine).tolist() == [naive("ccc")] * 2
        assert cached(other).tolist() == [naive("dddd")] * 2
    again = pickle.loads(pickle.dumps(CachedTextFunction(len_bytes)))
    assert again(other).tolist() == [4, 4]


def len_bytes(texts: pl.Series) -> pl.Series:
    return texts.str.len_bytes()


def test_few_texts_and_mostly_distinct_ones_are_not_numbered() -> None:
    numbers = TextNumbers(few=4)
    assert numbers.number_repeated(pl.Series(["a"] * 3)) is None
    assert numbers.number_repeated(pl.Series(["a", None, "a", "a"])) is None
    assert numbers.number_repeated(pl.Series([str(i) for i in range(9)])) is None
    assert numbers.number_repeated(pl.Series(["a"] * 4)) is not None


def test_a_column_is_remembered_while_it_is_in_use() -> None:
    numbers = TextNumbers(few=0)
    texts = pl.Series(["a", "a"])
    numbered = numbers.number_repeated(texts)
    assert numbered is not None
    numbers.remember(texts, numbered)
    assert numbers.recall(texts) is numbered
    assert numbers.recall(texts.clone()) is None
    del texts
    gc.collect()
    assert not numbers._remembered
