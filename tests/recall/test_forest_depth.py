"""Trees of assessed elements that are very deep: closed upwards level by level."""

from __future__ import annotations

import polars as pl
from hypothesis import given, settings
from hypothesis import strategies as st

from foveal.recall.forest import close_upwards

STEPS = st.lists(st.sampled_from(["a[1]", "b[1]", "b[2]"]), min_size=1, max_size=5)


@settings(max_examples=60)
@given(st.lists(st.tuples(st.integers(0, 2), STEPS), max_size=8))
def test_every_element_above_is_there_once_and_before_those_below(
    listed: list[tuple[int, list[str]]],
) -> None:
    rows = [(row, "/" + "/".join(steps)) for row, steps in listed]
    frame = pl.DataFrame(rows, schema={"row": pl.Int64, "xpath": pl.String}, orient="row")
    expected = {
        (row, "/" + "/".join(steps[:n])) for row, steps in listed for n in range(1, len(steps) + 1)
    }
    closed = close_upwards(frame.unique()).rows()
    assert closed == sorted(expected, key=lambda e: (e[0], e[1].count("/"), e[1]))


def test_a_path_of_two_thousand_steps() -> None:
    deep = pl.DataFrame({"row": [0], "xpath": ["/a[1]" * 2000]})
    assert close_upwards(deep)["xpath"].str.count_matches("/").to_list() == list(range(1, 2001))
