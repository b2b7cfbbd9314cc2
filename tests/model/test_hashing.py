"""Groups and look-ups by hash are those by the values themselves, however poor the hash."""

from __future__ import annotations

import gc
import pickle

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foveal.model.hashing import (
    HashOf,
    Lexicon,
    Names,
    OfTexts,
    Slots,
    Vocabulary,
    first_of_group,
    first_of_hash,
)

quick = settings(max_examples=60)
names = st.lists(st.text("ab漢", max_size=3), max_size=30)
keys = st.lists(st.integers(0, 2**64 - 1) | st.integers(0, 9), max_size=60)


def all_alike(keys: pl.DataFrame) -> pl.Series:
    return pl.Series(np.zeros(len(keys), dtype=np.uint64))


def by_length(keys: pl.DataFrame) -> pl.Series:
    """A hash that many different names share."""
    texts = keys.to_series(-1).fill_null("")
    return texts.str.len_bytes().cast(pl.UInt64)


HASHES = (pl.DataFrame.hash_rows, by_length, all_alike)


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


@quick
@given(st.lists(names, max_size=8), names)
def test_a_lexicon_that_grew_finds_what_one_table_does(
    added: list[list[str]], asked: list[str]
) -> None:
    lexicon, held = Lexicon(), list[str]()
    for some in added:
        new = [name for name in dict.fromkeys(some) if name not in held]
        lexicon, held = lexicon.with_names(pl.Series(new, dtype=pl.String)), held + new
    expected = [held.index(name) if name in held else -1 for name in [*asked, *held]]
    found = lexicon.find(pl.Series([*asked, *held], dtype=pl.String))
    assert found.tolist() == expected
    assert len(lexicon) == len(held)
    assert lexicon.gather(np.arange(len(held))).to_list() == held


def lengths(asked: list[str]) -> OfTexts:
    """What is asked for: the length of a text, -1 for the empty one."""

    def search(texts: pl.Series) -> list[int]:
        asked.extend(texts)
        return [len(text) or -1 for text in texts]

    return OfTexts(search)


@quick
@given(st.lists(names, max_size=8), st.integers(1, 20))
def test_what_is_known_of_texts_is_asked_for_once(columns: list[list[str]], most: int) -> None:
    asked: list[str] = []
    of_texts = lengths(asked)
    vocabulary, forgetful = Vocabulary(few=0), Vocabulary(few=0, most=most)
    met: set[str] = set()
    for column in columns:
        texts = pl.Series(column * 2, dtype=pl.String)
        expected = [len(text) or -1 for text in column * 2]
        for one, known in ((vocabulary, of_texts), (forgetful, lengths([]))):
            coded = one.numbered(texts)
            if coded is not None:
                assert known(coded).tolist() == expected
                assert coded.met.names.gather(coded.code).to_list() == column * 2
            if one is vocabulary and coded is not None:
                met.update(column)
    assert sorted(asked) == sorted(met)


def test_texts_that_were_added_at_the_same_time_are_not_mixed_up() -> None:
    """Two threads add to the same texts: the numbers of one mean nothing to the other."""
    vocabulary, of_texts = Vocabulary(few=0), lengths([])
    common = pl.Series(["a", "a", "bb", "bb"])
    first = vocabulary.numbered(common)
    before = vocabulary._met
    mine = vocabulary.numbered(pl.Series(["ccc", "ccc"]))
    vocabulary._met = before
    other = vocabulary.numbered(pl.Series(["dddd", "dddd"]))
    assert first is not None
    assert mine is not None
    assert other is not None
    assert mine.code.tolist() == other.code.tolist() == [2, 2]
    for _ in range(2):
        assert of_texts(first).tolist() == [1, 1, 2, 2]
        assert of_texts(mine).tolist() == [3, 3]
        assert of_texts(other).tolist() == [4, 4]
    again = pickle.loads(pickle.dumps(OfTexts(len_bytes)))
    assert again(other).tolist() == [4, 4]


def len_bytes(texts: pl.Series) -> pl.Series:
    return texts.str.len_bytes()


def test_few_texts_and_mostly_different_ones_are_not_numbered() -> None:
    vocabulary = Vocabulary(few=4)
    assert vocabulary.numbered(pl.Series(["a"] * 3)) is None
    assert vocabulary.numbered(pl.Series(["a", None, "a", "a"])) is None
    assert vocabulary.numbered(pl.Series([str(i) for i in range(9)])) is None
    assert vocabulary.numbered(pl.Series(["a"] * 4)) is not None


def test_a_column_is_remembered_while_it_is_in_use() -> None:
    vocabulary = Vocabulary(few=0)
    texts = pl.Series(["a", "a"])
    coded = vocabulary.numbered(texts)
    assert coded is not None
    vocabulary.remember(texts, coded)
    assert vocabulary.recall(texts) is coded
    assert vocabulary.recall(texts.clone()) is None
    del texts
    gc.collect()
    assert not vocabulary._remembered


def test_a_missing_name_is_nobodys() -> None:
    names = Names(pl.Series(["a", "b"]))
    assert names.find(pl.Series(["a", None, "b"])).tolist() == [0, -1, 1]
    assert names.find(pl.Series([None, None, "b"], dtype=pl.String)).tolist() == [-1, -1, 1]
