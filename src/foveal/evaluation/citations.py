"""Citations that judgements or a collection show to be invalid, and the runs behind answers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from foveal.collection import Collection
from foveal.collection.placement import place_run, resolve_results
from foveal.errors import Note, UsageError, some
from foveal.evaluation import rules
from foveal.evaluation.rules import Counts
from foveal.measures.alignment import Alignment
from foveal.model.run import Run

PAST_END = "citations past the end of their document, not valid: {}"


def drop_past_end(alignment: Alignment, counts: Counts) -> Alignment:
    """Drop the citations past the end of their document, and count them."""
    wrong, _ = rules.PAST_END.broken(alignment)
    counts[PAST_END] = len(wrong)
    if not len(wrong):
        return alignment
    kept = np.ones(len(alignment.run), dtype=bool)
    kept[wrong] = False
    return Alignment(alignment.run.take(kept), alignment.gold)


def place_citations(run: Run, index: Collection) -> Run:
    """Return the citations on the text of a collection; drop those of unknown documents."""
    placed, problems = resolve_results(run, index)
    if not problems:
        return placed
    shown = some([f"line {problem.line}: {problem.text}" for problem in problems])
    note = Note("run.note", f"citations not valid, {len(problems)}: {shown}")
    assert placed.length is not None
    return placed.take(placed.length >= 0).with_columns(notes=(*run.notes, note))


def attach_retrieved(run: Run, given: Sequence[Run], index: Collection | None) -> Run:
    """Return answers with the run that they were made from: the one they name, or the only one."""
    assert run.answers is not None
    if not given:
        return run
    wanted = run.answers.retrieved
    named = [own for own in given if wanted is None or own.name == wanted]
    if len(named) != 1:
        names = some([own.name for own in given])
        expected = f"its header names {wanted!r}" if wanted else "its header names none"
        raise UsageError(
            f"{run.source.path}: cannot tell which run the answers were made from; {expected}, "
            f"--retrieved gives {names}. Name one as retrieved in the header"
        )
    return run.with_columns(retrieved=named[0] if index is None else place_run(named[0], index))
