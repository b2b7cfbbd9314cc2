"""Even assignment of topics to assessors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

__all__ = ["shared_out"]


def shared_out(
    work: Mapping[str, int],
    assessors: Sequence[str],
    each: int,
    present: Mapping[str, Sequence[str]],
) -> list[tuple[str, str]]:
    """Return the assignments needed for each topic to have `each` assessors.

    The largest topics are assigned first, to the assessors with the fewest documents. Present
    assignments stay, and count.

    >>> shared_out({"1": 50, "2": 30, "3": 30}, ["ann", "bob"], 1, {})
    [('1', 'ann'), ('2', 'bob'), ('3', 'bob')]

    Parameters
    ----------
    work : mapping
        Topic to the number of its documents.
    assessors : sequence of str
    each : int
    present : mapping
        Topic to its present assessors.
    """
    load = dict.fromkeys(assessors, 0)
    for topic, those in present.items():
        for name in those:
            if name in load:
                load[name] += work.get(topic, 0)
    found: list[tuple[str, str]] = []
    for topic in sorted(work, key=lambda topic: -work[topic]):
        those = present.get(topic, ())
        free = sorted((n for n in load if n not in those), key=load.__getitem__)
        for name in free[: max(each - len(those), 0)]:
            load[name] += work[topic]
            found.append((topic, name))
    return found
