"""Runs larger than memory: scored group by group of their topics, with the same result.

A topic is scored on its own results and judgements and on nothing else. So a large run is read in
slices of whole topics, and what remains of them is joined. What depends on the whole run, as its
name, the order of its topics or whether all results have a score, the first pass over the file has
found out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import numpy as np

from foveal.collection import Collection
from foveal.collection.opened import opened
from foveal.errors import InputError
from foveal.evaluation.large_truth import JudgedSlices, LargeTruth, NotCutError, can_be_cut
from foveal.evaluation.options import Options
from foveal.evaluation.portions import Portion, Scores, joined, score_portion, without_results
from foveal.evaluation.preparation import all_left_out, nothing_in_common
from foveal.evaluation.truth import Truth
from foveal.executors import cores
from foveal.executors.memory import free_memory, parse_size
from foveal.formats import is_stream, judgement_files
from foveal.formats.run_slices import HeldRun, RunSlices, is_sliceable, open_run
from foveal.formats.slices import groups_of
from foveal.formats.streams import compression
from foveal.measures import Measure
from foveal.measures.alignment import Gold
from foveal.model import Judgements, Run

__all__ = [
    "NEED",
    "NEED_OF_JUDGEMENTS",
    "is_large",
    "memory_of",
    "score_held",
    "score_large",
    "score_slices",
    "truth_of",
]

NEED = 8
"""Bytes of memory that reading and scoring takes for each byte of a run: five are measured for
passages, six for JSON Lines."""

NEED_OF_JUDGEMENTS = 16
"""The same of judgements."""

_SMALL = 1 << 28
"""Bytes that any machine has: below nobody asks how much is free."""

_COMPRESSED = 12
"""How much larger than a compressed file its content may be."""


def memory_of(text: str) -> int:
    """Return the bytes that a ``--memory`` option allows."""
    return parse_size(text, "memory")


def needed_by(path: str | Path) -> int:
    """Bytes of memory that a file takes when it is read at once; a guess where it is compressed."""
    if is_stream(path):  # to look at its beginning would be to take that away
        return 0
    try:
        size = Path(path).stat().st_size
    except OSError:  # said when it is read
        return 0
    return NEED * size * (_COMPRESSED if compression(path) else 1)


def _share() -> int:
    """A fair share of the memory that is free, for one of as many tasks as there are cores."""
    return free_memory() // (2 * cores())


def is_large(run: Run | str | Path, memory: int | None) -> bool:
    """Whether reading a run at once may take more than this memory."""
    if isinstance(run, Run):
        return False
    need = needed_by(run)
    return need > _SMALL and need > _share() if memory is None else need > memory


def truth_of(
    judgements: Judgements | str | Path | Sequence[str | Path],
    options: Options,
    collection: str | Path | None,
    measures: Sequence[Measure],
    memory: int | None,
) -> Truth:
    """What runs are scored against; in groups of topics if that is too large and possible."""
    if not isinstance(judgements, Judgements) and collection is None:
        files = [judgements] if isinstance(judgements, (str, Path)) else judgements
        sizes = (needed_by(str(file)) // NEED for file in judgement_files(list(files)))
        need = NEED_OF_JUDGEMENTS * sum(sizes)
        limit = memory or max(_share(), _SMALL)
        if need > limit and can_be_cut(files, options, measures):
            try:
                return LargeTruth(files, options, limit // NEED_OF_JUDGEMENTS)
            except NotCutError:
                pass
    return Truth(judgements, options, collection)


def score_large(
    path: str | Path,
    judged: Gold | JudgedSlices,
    measures: Sequence[Measure],
    options: Options,
    left_out: frozenset[str] = frozenset(),
    collection: str | None = None,
    *,
    memory: int | None = None,
) -> Scores | None:
    """Score a file as `score_run` does, in slices; None if it is not large.

    Where no `memory` is given, neither is a file that cannot be cut, whatever it takes.
    """
    if not is_large(path, memory):
        return None
    if not is_sliceable(path):
        _refuse(path, memory, "XML is one tree, which is read at once")
        return None
    with open_run(path) as slices:
        if _is_mixed(slices) and collection is None:
            why = "it holds spans and paths, which only a collection (-C) can compare"
            _refuse(path, memory, why)
            return None
        index = None if collection is None else opened(collection)
        room = _room(memory)
        return score_slices(
            slices, judged, measures, options, left_out=left_out, index=index, room=room
        )


def _room(memory: int | None) -> int:
    """Bytes of a slice."""
    return (memory or _share()) // NEED


def _refuse(path: str | Path, memory: int | None, why: str) -> None:
    """Say that a file cannot be read within the memory, if somebody has set a limit."""
    if memory is not None:
        raise InputError.at(
            str(path),
            None,
            f"takes up to {needed_by(path) >> 20} MB of memory, more than --memory allows, and "
            f"cannot be read in slices: {why} (foveal convert makes lines of it)",
        )


def score_held(
    run: Run,
    judged: JudgedSlices,
    measures: Sequence[Measure],
    options: Options,
    left_out: frozenset[str] = frozenset(),
    *,
    memory: int | None = None,
) -> Scores:
    """Score a run in memory against judgements that come in groups of topics."""
    held, room = HeldRun(run), _room(memory)
    return score_slices(held, judged, measures, options, left_out=left_out, room=room)


def score_slices(
    slices: RunSlices,
    judged: Gold | JudgedSlices,
    measures: Sequence[Measure],
    options: Options,
    *,
    left_out: frozenset[str] = frozenset(),
    index: Collection | None = None,
    room: int,
) -> Scores:
    """Score a run in slices of about `room` bytes."""
    path, topics = slices.provenance.path, judged.judgements.topics
    standards = judged if isinstance(judged, JudgedSlices) else _Alone(judged)
    steps = list(_steps(slices.topics, standards.groups, room))
    slices.split([step.topics for step in steps])
    found = _Found()
    last, own = -1, None
    absent: list[str] = []
    for number, step in enumerate(steps):
        with found.noting(found.unreadable):
            run = slices.run(number)
        if found.unreadable:
            continue  # that comes first, and all of it
        if step.standard != last or own is None:
            last, own = step.standard, standards.load(step.standard)
            absent = [topic for topic in own.judgements.topics if topic not in slices.topics]
        with found.noting(found.refused):
            portion = score_portion(
                standards.with_lengths(_without(run, left_out)),
                own,
                measures,
                options,
                index=index,
                topics=[*(t for t in own.judgements.topics if t in step.topics), *absent],
            )
            absent = [] if portion.scored else absent
            found.portions.append(portion)
    if found.unreadable:
        raise InputError.together(found.unreadable)
    present = [topic for topic in slices.topics if topic not in left_out]
    if not present:
        raise all_left_out(path, list(slices.topics), topics)
    if found.refused:
        raise InputError.together(found.refused)
    if frozenset(topics).isdisjoint(present):
        raise nothing_in_common(path, present, topics)
    done = frozenset(topic for portion in found.portions for topic in portion.scored)
    for number, group in enumerate(standards.groups):
        missing = [topic for topic in topics if topic in group and topic not in done]
        if missing:
            own = standards.load(number)
            found.portions.append(
                without_results(found.portions[0], own, measures, options, missing)
            )
    return joined(found.portions, topics, order=slices.topics, notes=slices.notes)


class _Step(NamedTuple):
    """Topics of a run that are scored together, and the number of their judgements."""

    topics: frozenset[str]
    standard: int


def _steps(
    sizes: Mapping[str, int], groups: Sequence[frozenset[str]], room: int
) -> Iterator[_Step]:
    """The topics of a run, those of one group of judgements after the other.

    Topics that nobody has judged go with any, and where there is one group, all with it.
    """
    judged = {topic: number for number, group in enumerate(groups) for topic in group}
    usual = 0 if len(groups) == 1 else -1
    for wanted in sorted({judged.get(topic, usual) for topic in sizes}):
        own = {t: size for t, size in sizes.items() if judged.get(t, usual) == wanted}
        for one in groups_of(own, room):
            yield _Step(frozenset(one), max(wanted, 0))


class _Alone:
    """Judgements that are held at once, as a single group."""

    def __init__(self, judged: Gold) -> None:
        self.groups = [frozenset(judged.judgements.topics)]
        self._judged = judged

    def load(self, number: int) -> Gold:  # noqa: ARG002 - there is one
        return self._judged

    def with_lengths(self, run: Run) -> Run:
        return run


class _Found:
    """What came of the slices of a run: portions, or what is wrong with them."""

    def __init__(self) -> None:
        self.portions: list[Portion] = []
        self.unreadable: list[InputError] = []
        self.refused: list[InputError] = []

    @contextmanager
    def noting(self, errors: list[InputError]) -> Iterator[None]:
        """Keep what is wrong with a slice among these errors, and go on."""
        try:
            yield
        except InputError as error:
            errors.append(error)


def _is_mixed(slices: RunSlices) -> bool:
    """Whether some results are spans and others paths.

    Without a collection, whether results overlap shows in their paths as soon as one of them, of
    whatever topic, has no place.
    """
    whole = slices.whole
    return "xpath" in whole.given and not whole.ragged.isdisjoint(("start", "bep"))


def _without(run: Run, left_out: frozenset[str]) -> Run:
    """The run without these topics, maybe without any."""
    if left_out.isdisjoint(run.topics):
        return run
    kept = np.array([topic not in left_out for topic in run.topics], dtype=bool)
    return run.take(kept[run.topic])
