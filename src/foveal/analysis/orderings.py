"""What is expected of runs whose order is known.

The orderings of the S-R space follow from how its runs are made (Pehcevski, Thom and Kamps, figure
3 and table 2); a user's own runs come with the user's own expectations.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from foveal.analysis.simulation import EMPTY, MAY_BE_EMPTY, PARTS, RANKINGS
from foveal.files.source import Source

__all__ = ["Ordering", "expected_orderings", "orderings_between", "part_of", "read_orderings"]

_LOWER_PARTS = {"S": ("SL", "SS"), "SL": ("SLD",), "SLD": (), "SS": ("SST",), "SST": ()}
_LOWER_RANKINGS = {"R": ("RS", "RI"), "RS": ("RSI",), "RI": ("RSI",), "RSI": ()}


@dataclass(frozen=True)
class Ordering:
    """An expectation: the first run is at least as good as the second.

    >>> print(Ordering("SR", "SLR"))
    SR >= SLR
    """

    better: str
    worse: str
    every: bool = True
    """On every topic, or only on average."""
    aspect: str = "given"

    def __str__(self) -> str:
        return f"{self.better} >= {self.worse}"


def expected_orderings(
    parts: Sequence[str] = tuple(PARTS),
    rankings: Sequence[str] = tuple(RANKINGS),
    *,
    empty: str = EMPTY[0],
) -> tuple[Ordering, ...]:
    """The orderings of the S-R space, in the order of table 2.

    More or less than the highlighted text is worse, and so is a non-relevant document put first,
    on every topic. That documents with more relevant text should come first is true on every topic
    only where all of them are scored alike, as with the part set S. With ``empty="omit"`` a
    document of which SS or SST returns nothing makes room for others, which may more than make up
    for it: of these two nothing but the average is expected then.

    >>> every = expected_orderings()
    >>> len(every), sum(ordering.every for ordering in every)
    (36, 28)
    >>> [str(ordering) for ordering in every[:4]]
    ['SR >= SLR', 'SR >= SSR', 'SR >= SRS', 'SR >= SRI']
    >>> sum(ordering.every for ordering in expected_orderings(empty="omit"))
    20
    """
    return orderings_between([f"{p}{r}" for p in parts for r in rankings], empty=empty)


def orderings_between(names: Sequence[str], *, empty: str = EMPTY[0]) -> tuple[Ordering, ...]:
    """The orderings of the S-R space between some of its runs.

    Where a run is missing, those around it are compared.

    >>> [str(ordering) for ordering in orderings_between(["SR", "SLDR", "SRSI"])]
    ['SR >= SLDR', 'SR >= SRSI']
    """
    there = set(names)
    found = []
    for part, ranking in _from_the_best():
        name = f"{part}{ranking}"
        if name not in there:
            continue
        for lower in _next(part, _LOWER_PARTS, [p for p in PARTS if f"{p}{ranking}" in there]):
            every = empty == EMPTY[0] or lower not in MAY_BE_EMPTY
            found.append(Ordering(name, f"{lower}{ranking}", every, "parts"))
        for lower in _next(ranking, _LOWER_RANKINGS, [r for r in RANKINGS if part + r in there]):
            inserts, swaps = (kind in lower and kind not in ranking for kind in ("I", "S"))
            late = "late swap" if "I" in ranking else "swap"
            aspect = ("insertion and swap" if swaps else "insertion") if inserts else late
            found.append(Ordering(name, f"{part}{lower}", not swaps or part == "S", aspect))
    return tuple(found)


def _from_the_best() -> Iterator[tuple[str, str]]:
    """Part sets and rankings as one step after the other leads away from the best run."""
    waiting = [("S", "R")]
    for part, ranking in waiting:  # which grows meanwhile
        yield part, ranking
        steps = [(lower, ranking) for lower in _LOWER_PARTS[part]]
        steps += [(part, lower) for lower in _LOWER_RANKINGS[ranking]]
        waiting += [step for step in steps if step not in waiting]


def _next(one: str, below: Mapping[str, Sequence[str]], there: Sequence[str]) -> list[str]:
    """The next lower ones that there are, past those that are missing."""
    found: dict[str, None] = {}
    for lower in below[one]:
        found |= dict.fromkeys([lower] if lower in there else _next(lower, below, there))
    # What one of them leads to anyway is not next.
    return [lower for lower in found if not any(lower in below[other] for other in found)]


def part_of(name: str) -> str:
    """The part set of a run of the space.

    >>> part_of("SSTRSI"), part_of("SRS")
    ('SST', 'S')
    """
    return name.removesuffix(max((r for r in RANKINGS if name.endswith(r)), key=len))


# -- expectations of a user --------------------------------------------------------------------

_NAME = r"""(?:"[^"]*"|'[^']*'|[^\s"'#]\S*?)"""
"""A name with blanks in it stands in quotes."""
_LINE = re.compile(
    rf"(?P<better>{_NAME})(?:\s*>=\s*|\s+)(?P<worse>{_NAME})(?:\s+(?P<kind>every|mean))?(?:\s+#.*)?"
)


def read_orderings(path: str | Path, runs: Sequence[str]) -> tuple[Ordering, ...]:
    """Orderings of `runs` from a file with one on each line.

    A line is ``better worse`` or ``better >= worse``, and may end in ``every`` (topic, the default)
    or ``mean``. A name that holds blanks stands in quotes. What follows a ``#`` is a comment.
    """
    source = Source.open(path)
    source.check_utf8()
    found: list[Ordering] = []
    for number, line in enumerate(source.data.decode().splitlines(), start=1):
        text = line.strip()
        if not text or text.startswith("#"):
            continue
        match = _LINE.fullmatch(text)
        if match is None or match["worse"] == ">=":
            raise source.error(
                "unclassified",
                number,
                f"{text!r} is no ordering; expected 'better >= worse [every|mean]', names with "
                "blanks in quotes",
            )
        better, worse = (_unquoted(match[side]) for side in ("better", "worse"))
        for name in (better, worse):
            if name not in runs:
                raise source.error(
                    "unclassified", number, f"no run {name!r}; the runs are {', '.join(runs)}"
                )
        if better == worse:
            raise source.error("unclassified", number, f"run {better!r} is compared with itself")
        found.append(Ordering(better, worse, match["kind"] != "mean"))
    if not found:
        raise source.error(
            "unclassified", None, "no ordering in the file; expected 'better >= worse' on a line"
        )
    return tuple(dict.fromkeys(found))


def _unquoted(name: str) -> str:
    return name[1:-1] if name[0] in "\"'" and name[-1] == name[0] and len(name) > 1 else name
