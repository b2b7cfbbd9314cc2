"""What is expected of runs whose order is known.

The orderings of the S-R space follow from how its runs are made (Pehcevski, Thom and Kamps, figure
3 and table 2); a user's own runs come with the user's own expectations.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from foveal.analysis.simulation import PARTS, RANKINGS
from foveal.formats import Source

__all__ = ["Ordering", "expected_orderings", "read_orderings"]

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
    parts: Sequence[str] = tuple(PARTS), rankings: Sequence[str] = tuple(RANKINGS)
) -> tuple[Ordering, ...]:
    """The orderings of the S-R space, in the order of table 2.

    More or less than the highlighted text is worse, and so is a non-relevant document put first,
    on every topic. That documents with more relevant text should come first is true on every topic
    only where all of them are scored alike, as with the part set S. Where a part set is missing,
    those around it are compared.

    >>> every = expected_orderings()
    >>> len(every), sum(ordering.every for ordering in every)
    (36, 28)
    >>> [str(ordering) for ordering in every[:4]]
    ['SR >= SLR', 'SR >= SSR', 'SR >= SRS', 'SR >= SRI']
    """
    found = []
    for part, ranking in _from_the_best():
        if part not in parts or ranking not in rankings:
            continue
        name = f"{part}{ranking}"
        found += [
            Ordering(name, f"{lower}{ranking}", aspect="parts") for lower in _lower(part, parts)
        ]
        for lower in _LOWER_RANKINGS[ranking]:
            if lower not in rankings:
                continue
            inserts = lower.count("I") > ranking.count("I")
            swap = "late swap" if "I" in ranking else "swap"
            aspect = "insertion" if inserts else swap
            found.append(Ordering(name, f"{part}{lower}", inserts or part == "S", aspect))
    return tuple(found)


def _from_the_best() -> Iterator[tuple[str, str]]:
    """Part sets and rankings as one step after the other leads away from the best run."""
    waiting = [("S", "R")]
    for part, ranking in waiting:  # which grows meanwhile
        yield part, ranking
        steps = [(lower, ranking) for lower in _LOWER_PARTS[part]]
        steps += [(part, lower) for lower in _LOWER_RANKINGS[ranking]]
        waiting += [step for step in steps if step not in waiting]


def _lower(part: str, parts: Sequence[str]) -> Iterator[str]:
    for lower in _LOWER_PARTS[part]:
        if lower in parts:
            yield lower
        else:
            yield from _lower(lower, parts)


# -- expectations of a user --------------------------------------------------------------------

_LINE = re.compile(r"(?P<better>\S+)\s+(?:>=\s+)?(?P<worse>\S+)(?:\s+(?P<kind>every|mean))?")


def read_orderings(path: str | Path, runs: Sequence[str]) -> tuple[Ordering, ...]:
    """Orderings of `runs` from a file with one on each line.

    A line is ``better worse`` or ``better >= worse``, and may end in ``every`` (topic, the default)
    or ``mean``. What follows a ``#`` is a comment.
    """
    source = Source.open(path)
    source.check_utf8()
    found: list[Ordering] = []
    for number, line in enumerate(source.data.decode().splitlines(), start=1):
        text = re.sub(r"(^|\s)#.*", "", line).strip()
        if not text:
            continue
        match = _LINE.fullmatch(text)
        if match is None or match["worse"] == ">=":
            raise source.error(
                number, f"{text!r} is no ordering; expected 'better >= worse [every|mean]'"
            )
        for name in (match["better"], match["worse"]):
            if name not in runs:
                raise source.error(number, f"no run {name!r}; the runs are {', '.join(runs)}")
        if match["better"] == match["worse"]:
            raise source.error(number, f"run {match['better']!r} is compared with itself")
        found.append(Ordering(match["better"], match["worse"], match["kind"] != "mean"))
    if not found:
        raise source.error(None, "no ordering in the file; expected 'better >= worse' on a line")
    return tuple(dict.fromkeys(found))
