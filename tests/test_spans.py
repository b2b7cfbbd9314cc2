"""Interval arithmetic against sets of characters."""

from __future__ import annotations

from itertools import combinations
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from foveal import spans
from foveal.spans import Ints

Span = tuple[int, int]

# Ends before starts are spans too: they are empty.
some_spans = st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30)), max_size=12)


def arrays(items: list[Span]) -> tuple[Ints, Ints]:
    pairs = np.array(items, dtype=np.int64).reshape(-1, 2)
    return pairs[:, 0].copy(), pairs[:, 1].copy()


def characters(start: Ints, end: Ints) -> set[int]:
    return {x for s, e in zip(start.tolist(), end.tolist(), strict=True) for x in range(s, e)}


def maximal(chars: set[int]) -> list[Span]:
    """The set as disjoint sorted spans."""
    starts = sorted(x for x in chars if x - 1 not in chars)
    ends = sorted(x + 1 for x in chars if x + 1 not in chars)
    return list(zip(starts, ends, strict=True))


def pairs(start: Ints, end: Ints) -> list[Span]:
    return list(zip(start.tolist(), end.tolist(), strict=True))


@given(some_spans)
def test_union_is_the_set_of_characters_as_maximal_spans(items: list[Span]) -> None:
    assert pairs(*spans.union(*arrays(items))) == maximal(characters(*arrays(items)))


@given(some_spans, st.integers(1, 4))
def test_at_least_counts_how_many_spans_cover(items: list[Span], depth: int) -> None:
    deep = {x for x in range(31) if sum(s <= x < e for s, e in items) >= depth}
    assert pairs(*spans.find_covered(*arrays(items), depth)) == maximal(deep)


@given(st.lists(st.tuples(some_spans, st.integers(1, 4)), max_size=4))
def test_groups_of_spans_may_need_different_depths(groups: list[tuple[list[Span], int]]) -> None:
    items = [(s + 40 * i, e + 40 * i) for i, (own, _) in enumerate(groups) for s, e in own]
    depths = np.array([depth for own, depth in groups for _ in own], dtype=np.int64)
    expected = [
        (s + 40 * i, e + 40 * i)
        for i, (own, depth) in enumerate(groups)
        for s, e in pairs(*spans.find_covered(*arrays(own), depth))
    ]
    assert pairs(*spans.find_covered(*arrays(items), depths)) == expected


@given(some_spans, st.lists(st.integers(0, 40), min_size=1, max_size=5))
def test_prefix_function_counts_covered_characters(items: list[Span], at: list[int]) -> None:
    covered = characters(*arrays(items))
    coverage = spans.Coverage(*arrays(items))
    expected = [sum(c < x for c in covered) for x in at]
    assert coverage.within(np.zeros_like(at), np.array(at)).tolist() == expected
    assert coverage.within(np.array([0]), np.array([31])).tolist() == [len(covered)]


@given(some_spans)
@settings(max_examples=300)
def test_newly_covered_pieces_in_rank_order(items: list[Span]) -> None:
    pieces = spans.find_new_text(*arrays(items))
    seen: set[int] = set()
    expected = []
    for owner, (start, end) in enumerate(items):
        new = set(range(start, end)) - seen
        seen |= new
        expected += [(s, e, owner) for s, e in maximal(new)]
    assert [tuple(map(int, piece)) for piece in zip(*pieces, strict=True)] == expected


@given(some_spans)
def test_conflicts_name_overlapping_pairs(items: list[Span]) -> None:
    earlier, later = (column.tolist() for column in spans.find_conflicts(*arrays(items)))
    texts = [set(range(s, e)) for s, e in items]
    assert all(a < b and texts[a] & texts[b] for a, b in zip(earlier, later, strict=True))
    overlap = any(texts[i] & texts[j] for i in range(len(items)) for j in range(i + 1, len(items)))
    assert bool(later) == overlap


@given(st.lists(some_spans, min_size=1, max_size=5), st.randoms(use_true_random=False))
@example([[(15, 30)], [(0, 5)]], Random(1))
def test_all_apart_is_said_only_where_nothing_overlaps(groups: list[list[Span]], rng: Any) -> None:
    """It may be missed, but not of groups in order whose spans all hold text."""
    rows = [(number, *span) for number, items in enumerate(groups) for span in items]
    rng.shuffle(rows)
    for ordered in (rows, sorted(rows, key=lambda row: row[0])):
        group, start, end = np.array(ordered, dtype=np.int64).reshape(-1, 3).T
        found = spans.are_apart(start, end, group)
        expected = not any(
            a[0] == b[0] and max(a[1], b[1]) < min(a[2], b[2]) for a, b in combinations(rows, 2)
        )
        if rows and (end > start).all():
            assert found == expected
        else:
            assert expected or not found


def test_all_apart_does_not_try_what_is_too_large_for_a_word() -> None:
    start, end = np.array([0, 1 << 40]), np.array([1 << 40, 1 << 41])
    assert spans.are_apart(start >> 20, end >> 20, np.array([0, 0]))
    assert not spans.are_apart(start, end, np.array([0, 1]))


few = st.tuples(st.integers(0, 300), st.integers(0, 9))
many = st.tuples(st.integers(0, 30), st.integers(-5, 30))


def keep_disjoint(start: Ints, end: Ints) -> list[bool]:
    kept: list[range] = []
    keep = []
    for span in map(range, start.tolist(), end.tolist()):
        free = not any(set(span) & set(other) for other in kept)
        kept += [span] if free else []
        keep.append(free)
    return keep


@settings(max_examples=60)
@given(st.one_of(st.lists(few, max_size=40), st.lists(many, max_size=40)))
def test_disjoint_keeps_a_span_unless_a_kept_one_before_it_overlaps(
    items: list[tuple[int, int]],
) -> None:
    start, size = np.array(items, dtype=np.int64).reshape(-1, 2).T
    expected = keep_disjoint(start, start + size)
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


@given(st.lists(st.integers(0, 20), min_size=1, max_size=8))
def test_documents_laid_out_never_touch(extents: list[int]) -> None:
    base = spans.lay_out(np.array(extents))
    ends = base + np.array(extents)
    assert (base[1:] > ends[:-1]).all()
    assert base[0] == 0


def test_deeply_nested_spans_need_no_quadratic_work() -> None:
    n = 20_000
    start, end = np.arange(n), 2 * n - np.arange(n)
    pieces = spans.find_new_text(start[::-1].copy(), end[::-1].copy())
    assert len(pieces.owner) == 2 * n - 1  # each ring adds one piece on either side
    assert int((pieces.end - pieces.start).sum()) == 2 * n


@given(st.lists(st.integers(0, 2**62) | st.integers(0, 3), max_size=40))
def test_order_digit_by_digit_is_the_stable_order(values: list[int]) -> None:
    array = np.array(values, dtype=np.int64)
    assert spans.argsort(array).tolist() == np.argsort(array, kind="stable").tolist()


@given(some_spans, some_spans)
def test_a_stretch_that_holds_all_that_begins_there_changes_nothing(
    items: list[Span], asked: list[Span]
) -> None:
    coverage = spans.Coverage(*arrays(items))
    start, end = arrays([(min(span), max(span)) for span in asked])
    first = np.searchsorted(coverage.start, start)
    own = (first, np.searchsorted(coverage.start, end, side="right"))
    assert coverage.within(start, end, own).tolist() == coverage.within(start, end).tolist()
