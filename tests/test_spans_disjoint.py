"""Which spans are kept: in rounds, in turn and naively, where few or many overlap."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foveal import spans
from foveal.spans import Ints

few = st.tuples(st.integers(0, 300), st.integers(0, 9))
many = st.tuples(st.integers(0, 30), st.integers(0, 30))


def naive(start: Ints, end: Ints) -> list[bool]:
    kept: list[range] = []
    keep = []
    for span in map(range, start.tolist(), end.tolist()):
        free = not any(set(span) & set(other) for other in kept)
        kept += [span] if free else []
        keep.append(free)
    return keep


@settings(max_examples=60)
@given(st.one_of(st.lists(few, max_size=40), st.lists(many, max_size=40)))
def test_all_ways_keep_the_same(items: list[tuple[int, int]]) -> None:
    start, size = np.array(items, dtype=np.int64).reshape(-1, 2).T
    expected = naive(start, start + size)
    assert spans.disjoint(start, start + size).tolist() == expected
    for rounds in (0, 10_000):  # one after the other, and however many rounds it takes
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(spans, "_ROUNDS", rounds)
            patch.setattr(spans, "_PAIRS", 10_000)
            assert spans.disjoint(start, start + size).tolist() == expected


@pytest.mark.parametrize("n", [1, 2, 50, 128, 400])
def test_stairs_on_which_each_waits_for_the_one_before(n: int) -> None:
    start = 2 * np.arange(n)
    assert spans.disjoint(start, start + 3).tolist() == [i % 2 == 0 for i in range(n)]
    backwards = spans.disjoint(start[::-1], start[::-1] + 3).tolist()
    assert backwards == [i % 2 == 0 for i in range(n)]


@pytest.mark.parametrize("n", [3, 60])
def test_one_inside_the_other(n: int) -> None:
    depth = np.arange(n)
    assert spans.disjoint(depth, 2 * n - depth).tolist() == [True] + [False] * (n - 1)
    assert spans.disjoint(depth[::-1], 2 * n - depth[::-1]).tolist() == [True] + [False] * (n - 1)
