"""Average precision of snippets equals the value of the official BioASQ program.

The reference below follows the published procedure step by step, with closed intervals: merge
overlapping snippets of a section, then sum the precision in characters at each snippet whose
article has a golden snippet.
"""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import foveal

Snippet = tuple[str, str, int, int]
"""Article, section, first and last offset."""
VERSIONS = ("2", "3", "5", "8", "9")
"""Values of the option ``-e`` of the official program."""


def merge(snippets: Sequence[Snippet]) -> list[Snippet]:
    """Merge snippets that share an offset, each at the place of the first of them."""
    left, i = list(snippets), 0
    while i < len(left):
        overlapping = [j for j in range(i + 1, len(left)) if shared(left[i], left[j])]
        if not overlapping:
            i += 1
            continue
        article, section, first, last = left.pop(overlapping[0])
        left[i] = article, section, min(left[i][2], first), max(left[i][3], last)
    return left


def shared(one: Snippet, other: Snippet) -> int:
    """Count the offsets that two snippets of one section share."""
    if one[:2] != other[:2]:
        return 0
    return max(0, min(one[3], other[3]) - max(one[2], other[2]) + 1)


def average_precision(
    returned: Sequence[Snippet], golden: Sequence[Snippet], version: str
) -> float:
    returned, golden = merge(returned), merge(golden)
    total, found, read = 0.0, 0, 0
    for snippet in returned:
        found += sum(shared(snippet, own) for own in golden)
        read += snippet[3] - snippet[2] + 1
        if snippet[0] in {article for article, *_ in golden}:
            total += found / read
    if version in {"3", "5"}:
        return total / 10
    return total / (len(golden) if version == "2" else min(10, len(golden)))


def score(
    returned: dict[str, list[Snippet]], golden: dict[str, list[Snippet]], *measures: str
) -> dict[str, list[float]]:
    """Return the scores of each question; a snippet's document is ``ARTICLE/SECTION``."""
    run, judged = (
        {q: [(f"{a}/{s}", first, last) for a, s, first, last in own] for q, own in given.items()}
        for given in (returned, golden)
    )
    results = foveal.evaluate(foveal.run_of(run), judged, list(measures))
    return {q: [results[results.runs[0], m, q] for m in results.measures] for q in golden}


snippets = st.builds(
    lambda article, section, first, length: (article, section, first, first + length),
    st.sampled_from(["11", "12", "13"]),
    st.sampled_from(["title", "abstract"]),
    st.integers(0, 30),
    st.integers(1, 12),
)


questions = st.fixed_dictionaries(
    {q: st.lists(snippets, min_size=1, max_size=14) for q in ("a", "b")}
)


@given(golden=questions, returned=questions)
@settings(max_examples=40)
def test_average_precision_equals_the_reference(
    golden: dict[str, list[Snippet]], returned: dict[str, list[Snippet]]
) -> None:
    found = score(returned, golden, *(f"bio_ap(version={version})" for version in VERSIONS))
    for question, own in golden.items():
        expected = [average_precision(returned[question], own, version) for version in VERSIONS]
        assert found[question] == pytest.approx(expected, abs=1e-12)


def test_one_character_in_common_is_an_overlap() -> None:
    truth = foveal.Judgements.from_highlights({"1": {"9/abstract": {"spans": [(0, 10)]}}})
    values = {}
    for start in (10, 11):  # the program counts the offset at the end as well
        run = foveal.Run.from_results({"1": [("9/abstract", start, 19)]}, name="mine")
        results = foveal.evaluate([run], truth, ["bio_ap(relevance=overlap)"])
        values[start] = next(iter(results.aggregate()["mine"].values()))
    assert values[10] == pytest.approx(1 / 10)
    assert values[11] == 0
