"""Several assessors: assignment of topics, differences, and a final set where they agree."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from msgspec.structs import replace

from foveal.assess.actions import RefusedError, Spans, State
from foveal.assess.people import FINAL
from foveal.assess.store import Campaign, ConflictError
from foveal.spans import Coverage


def assign_evenly(
    work: Mapping[str, int],
    assessors: Sequence[str],
    each: int,
    present: Mapping[str, Sequence[str]],
) -> list[tuple[str, str]]:
    """Return the assignments needed for each topic to have `each` assessors.

    The largest topics are assigned first, to the assessors with the fewest documents. Present
    assignments stay, and count.

    >>> assign_evenly({"1": 50, "2": 30, "3": 30}, ["ann", "bob"], 1, {})
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


@dataclass(frozen=True, slots=True)
class Case:
    """A document that at least one assessor has validated.

    Parameters
    ----------
    topic, doc : str
    states : mapping
        Assessor to the validated state.
    complete : bool
        True if all assessors of the topic have validated it.
    final : State or None
        The adjudicated state so far.
    """

    topic: str
    doc: str
    states: Mapping[str, State]
    complete: bool
    final: State | None

    @property
    def differ(self) -> tuple[str, ...]:
        """Aspects in which the assessors differ."""
        return differences(list(self.states.values()))

    @property
    def f1(self) -> float:
        """Smallest F1 of the highlighted text over all pairs of assessors."""
        pairs = combinations(self.states.values(), 2)
        return min((f1(one.spans, other.spans) for one, other in pairs), default=1.0)


def f1(one: Spans, other: Spans) -> float:
    """Return the F1 of two sets of spans, in characters; 1 if both are empty.

    >>> f1(((0, 40),), ((20, 50),))
    0.5714285714285714
    """
    sizes = sum(end - start for start, end in (*one, *other))
    if not sizes:
        return 1.0
    first, second = (np.array(spans, dtype=np.int64).reshape(-1, 2) for spans in (one, other))
    both = int(Coverage(first[:, 0], first[:, 1]).within(second[:, 0], second[:, 1]).sum())
    return 2 * both / sizes


def differences(states: Sequence[State]) -> tuple[str, ...]:
    """Name the aspects in which states differ; notes are ignored.

    >>> differences([State(spans=((0, 9),), bep=0), State(spans=((0, 9),), bep=5)])
    ('entry point',)
    >>> differences([State(spans=((0, 9),), bep=0), State()])
    ('relevance',)
    """
    found = []
    if len({bool(state.spans) for state in states}) > 1:
        found.append("relevance")
    else:
        if len({state.spans for state in states}) > 1:
            found.append("text")
        if len({state.bep for state in states}) > 1:
            found.append("entry point")
    if any(state.grades != states[0].grades for state in states[1:]):
        found.append("grades")
    return tuple(found)


def cases(campaign: Campaign) -> list[Case]:
    """Return all documents with a validated assessment, in the order of topics and pools."""
    validated: dict[tuple[str, str], dict[str, State]] = {}
    final: dict[tuple[str, str], State] = {}
    for assessor, topic, doc, _, state in campaign.assessments():
        if assessor == FINAL:
            final[topic, doc] = state
        elif state.validated:
            validated.setdefault((topic, doc), {})[assessor] = state
    assigned = {topic.id: set(campaign.assessors(topic.id)) for topic in campaign.topics}
    return [
        Case(topic, doc, states, assigned[topic] <= states.keys(), final.get((topic, doc)))
        for (topic, doc), states in validated.items()
    ]


def adopt_agreed(campaign: Campaign, actor: str) -> int:
    """Make assessments final on which all assessors of a topic agree; return their number.

    Documents whose adjudication has begun are left alone. The log names `actor`.
    """
    count = 0
    for case in cases(campaign):
        if case.final is not None or not case.complete or case.differ:
            continue
        state = replace(next(iter(case.states.values())), note="", decisions=())
        name = "\0".join([FINAL, case.topic, case.doc, repr(state)])
        # Names from pages have no colon, so no page can send or guess this one.
        uuid = "adopted:" + hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:32]
        try:
            campaign.set_state(FINAL, case.topic, case.doc, uuid, 0, state, actor=actor)
        except (ConflictError, RefusedError):
            continue  # adjudication has begun meanwhile, or is needed
        count += 1
    return count
