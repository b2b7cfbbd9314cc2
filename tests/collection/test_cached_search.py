"""Texts that are looked up again: the same numbers as a search for each, and each searched once."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import polars as pl
from hypothesis import given, settings
from hypothesis import strategies as st

from foveal.collection.paths import CachedSearch
from foveal.spans import Ints

some_texts = st.lists(st.one_of(st.none(), st.text("ab/é", max_size=3)), max_size=12)


class Counted:
    """A search that notes what it was asked for."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def __call__(self, texts: pl.Series) -> Ints:
        self.asked += texts.to_list()
        return np.array([naive(text) for text in texts], dtype=np.int64)


def naive(text: str | None) -> int:
    return int.from_bytes((text or "").encode(), "big") - 1


def series(texts: list[str | None]) -> pl.Series:
    return pl.Series(texts, dtype=pl.String)


@settings(max_examples=60)
@given(st.lists(some_texts, max_size=5))
def test_every_text_is_found_and_searched_for_once(columns: list[list[str | None]]) -> None:
    search = Counted()
    numbers = CachedSearch(search)
    for texts in columns:
        assert numbers(series(texts)).tolist() == [naive(text) for text in texts]
    assert len(search.asked) == len(set(search.asked))
    assert set(search.asked) == {text or "" for texts in columns for text in texts}


@settings(max_examples=60)
@given(st.lists(some_texts, max_size=5), st.integers(0, 4))
def test_with_little_room_the_numbers_are_the_same(
    columns: list[list[str | None]], most: int
) -> None:
    numbers = CachedSearch(Counted(), most)
    for texts in columns:
        assert numbers(series(texts)).tolist() == [naive(text) for text in texts]


def test_what_is_too_much_is_forgotten() -> None:
    search = Counted()
    numbers = CachedSearch(search, most=2)
    numbers(series(["a", "b"]))
    numbers(series(["a", "b"]))
    assert search.asked == ["a", "b"]
    numbers(series(["c"]))
    numbers(series(["a"]))
    assert search.asked == ["a", "b", "c", "a"]


def test_threads_find_the_same() -> None:
    numbers = CachedSearch(Counted())
    columns = [[str(i * j % 97) for i in range(400)] for j in range(40)]
    with ThreadPoolExecutor(4) as threads:
        found = list(threads.map(lambda texts: numbers(series(texts)).tolist(), columns))
    assert found == [[naive(text) for text in texts] for texts in columns]
