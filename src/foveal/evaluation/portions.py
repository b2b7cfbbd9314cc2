"""A portion of a run's topics and what came of it; portions joined are the scores of the run."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce

import numpy as np
import numpy.typing as npt

from foveal.collection import Collection
from foveal.evaluation.document_names import NameMatch, match_names
from foveal.evaluation.elements import CLIPPED, MAPPED, place_elements
from foveal.evaluation.options import Options
from foveal.evaluation.placing import not_held, place_run
from foveal.evaluation.preparation import WITHOUT_JUDGEMENTS, Form, Prepared, form_of, prepare
from foveal.evaluation.unjudged import judged_shares
from foveal.formats.jsonl import taken_whole
from foveal.formats.ranking import unscored
from foveal.measures import Measure
from foveal.measures.alignment import Alignment, Gold, TopicView
from foveal.model import Provenance, Run
from foveal.model.tallies import Form as Remark
from foveal.model.tallies import Tally

__all__ = ["Portion", "Scores", "joined", "score_portion", "without_results"]

Floats = npt.NDArray[np.float64]

_NOTES: tuple[Remark, ...] = (unscored, taken_whole, not_held, CLIPPED, MAPPED)
"""What may be noted of a run before it is scored, in this order."""


@dataclass(frozen=True)
class Scores:
    """What remains of a run once it is scored: small, and independent of its size."""

    name: str
    source: Provenance
    task: str | None
    values: Floats
    """(topic, measure) over all evaluated topics; ``nan`` where undefined."""
    in_run: npt.NDArray[np.bool_]
    unjudged_topics: int
    warnings: tuple[str, ...]
    judged_share: float
    """judged@10 over the topics of the run."""
    names: NameMatch
    has_parts: bool
    """Some results are parts of documents."""


@dataclass(frozen=True)
class Portion:
    """What remains of some topics of a run."""

    name: str
    source: Provenance
    task: str | None
    scored: tuple[str, ...]
    """The judged topics that were looked at, whether the run has them or not."""
    values: Floats
    """(topic, measure) over them."""
    shares: dict[str, float]
    """judged@10 of the topics that are judged and in the run, in the order of the run."""
    unjudged_topics: int
    notes: tuple[str, ...]
    tallies: tuple[str, ...]
    """What may be said, as `Prepared.tallies`."""
    names: NameMatch
    has_parts: bool


def score_portion(
    run: Run,
    judged: Gold,
    measures: Sequence[Measure],
    options: Options,
    *,
    index: Collection | None,
    topics: Sequence[str] | None = None,
) -> Portion:
    """Score a run on these judged topics, by default on all that are judged.

    A run without a judged topic is refused, except where it is told to be but a part by `topics`.
    """
    has_parts = run.xpath is not None or bool((run.end >= 0).any())
    if index is not None and any(measure.structural for measure in measures):
        run = place_elements(run, index, snap=options.snap, lenient=options.lenient)
    elif index is not None:
        run = place_run(run, index, lenient=options.lenient)
    if topics is not None and judged.topic_at.keys().isdisjoint(run.topics):
        return _unjudged(run, measures, options)
    scored = judged.judgements.topics if topics is None else tuple(topics)
    prepared = prepare(run, judged, measures, options)
    values = _values(prepared, measures, scored)
    present = prepared.alignment.run.topics
    shares = judged_shares(prepared.alignment).tolist()
    return Portion(
        name=run.name,
        source=run.source,
        task=run.task,
        scored=scored,
        values=values,
        shares=dict(zip(present, shares, strict=True)),
        unjudged_topics=len(run.topics) - len(present),
        notes=run.notes,
        tallies=tuple(prepared.tallies[len(run.notes) :]),
        names=match_names(prepared.alignment, is_part=topics is not None),
        has_parts=has_parts,
    )


def without_results(
    like: Portion,
    judged: Gold,
    measures: Sequence[Measure],
    options: Options,
    topics: Sequence[str],
) -> Portion:
    """A portion of topics to which the run that has the other portion gives no results."""
    nothing = Alignment(Run.from_results({}), judged)
    prepared = Prepared(nothing, [form_of(measure, options) for measure in measures])
    return replace(
        like,
        scored=tuple(topics),
        values=_values(prepared, measures, topics),
        shares={},
        unjudged_topics=0,
        notes=(),
        tallies=(),
        names=NameMatch(),
    )


def _unjudged(run: Run, measures: Sequence[Measure], options: Options) -> Portion:
    wanted = options.only_topics
    named = [topic for topic in run.topics if wanted is None or topic in wanted]
    return Portion(
        name=run.name,
        source=run.source,
        task=run.task,
        scored=(),
        values=np.zeros((0, len(measures))),
        shares={},
        unjudged_topics=len(run.topics),
        notes=run.notes,
        tallies=(Tally(WITHOUT_JUDGEMENTS, len(named), named),),
        names=NameMatch(),
        has_parts=False,
    )


def _values(prepared: Prepared, measures: Sequence[Measure], topics: Sequence[str]) -> Floats:
    """(topic, measure): each measure on the form of the run that it takes."""
    values = np.empty((len(topics), len(measures)))
    left = []
    for column, (measure, form) in enumerate(zip(measures, prepared.form_of, strict=True)):
        run = prepared.aligned(form)
        whole = measure.of_run(run, union=form is Form.UNION)
        if whole is None:
            left.append(column)
        else:
            values[:, column] = _of_topics(whole, run, topics)
    scores = _scores(prepared, measures, left)
    for form in dict.fromkeys(form for form, _, _ in scores):
        own = [(columns, score) for other, columns, score in scores if other is form]
        for i, topic in enumerate(topics):
            view = prepared.aligned(form).topic(
                topic, union=form is Form.UNION, again=form is Form.COUNTED_AGAIN
            )
            for columns, score in own:
                values[i, columns] = score(view)
    return values


def _of_topics(values: Floats, run: Alignment, topics: Sequence[str]) -> Floats:
    """Scores on the topics of a run, on these topics: 0 without results, nan with nothing to find.

    >>> from foveal.model import Judgements
    >>> truth = {"1": {"d": {"spans": [(0, 9)], "length": 9}}}
    >>> truth |= {"2": truth["1"], "3": {"d": {"spans": [], "length": 9}}}
    >>> judged = Gold(Judgements.from_highlights(truth))
    >>> run = Alignment(Run.from_results({"3": [("d", 0, 9)], "1": [("d", 0, 3)]}), judged)
    >>> _of_topics(np.array([0.7, 0.5]), run, ["1", "2", "3"]).tolist()
    [0.5, 0.0, nan]
    """
    judged = run.gold
    known = [float(value) for value in values] + [0.0]
    listed = np.array([known[run.place.get(topic, -1)] for topic in topics])
    nothing = [judged.nrel[judged.topic_at[topic]] == 0 for topic in topics]
    return np.where(nothing, np.nan, listed)


def _scores(
    prepared: Prepared, measures: Sequence[Measure], left: Sequence[int]
) -> list[tuple[Form, npt.NDArray[np.int64], Callable[[TopicView], Sequence[float]]]]:
    """What scores a topic by the measures that are `left`.

    The form it takes and the columns it fills; a curve is one of them.
    """
    columns: dict[tuple[Form, type[Measure], Hashable], list[int]] = {}
    for column in left:
        measure, form = measures[column], prepared.form_of[column]
        key = (form, type(measure), (measure.key, measure.at is None))
        columns.setdefault(key, []).append(column)
    return [
        (form, np.array(own), kind.together([measures[column] for column in own]))
        for (form, kind, _), own in columns.items()
    ]


def joined(
    portions: Sequence[Portion],
    topics: Sequence[str],
    *,
    order: Iterable[str] | None = None,
    notes: Sequence[str] = (),
) -> Scores:
    """The scores of a run on the judged `topics`.

    The topics of the run come in this `order`, by default in that of the portions; `notes` are
    about all of it.
    """
    first = portions[0]
    row = {topic: i for i, topic in enumerate(topics)}
    values = np.full((len(topics), first.values.shape[1]), np.nan)
    for portion in portions:
        values[[row[topic] for topic in portion.scored]] = portion.values
    shares = {topic: share for portion in portions for topic, share in portion.shares.items()}
    listed = np.array([shares[t] for t in order or shares if t in shares], dtype=np.float64)
    known = listed[~np.isnan(listed)]
    said = [*notes, *_noted(portions), *_added(portion.tallies for portion in portions)]
    return Scores(
        name=first.name,
        source=first.source,
        task=first.task,
        values=values,
        in_run=np.array([topic in shares for topic in topics], dtype=bool),
        unjudged_topics=sum(portion.unjudged_topics for portion in portions),
        warnings=tuple(remark for remark in said if remark),
        judged_share=float(known.mean()) if len(known) else float("nan"),
        names=reduce(NameMatch.__add__, (portion.names for portion in portions)),
        has_parts=any(portion.has_parts for portion in portions),
    )


def _noted(portions: Sequence[Portion]) -> Iterator[str]:
    """The notes of all portions, each thing once."""
    if len(portions) == 1:
        yield from portions[0].notes
        return
    notes = [note for portion in portions for note in portion.notes]
    yield from dict.fromkeys(note for note in notes if not isinstance(note, Tally))
    for form in _NOTES:
        own = [note for note in notes if isinstance(note, Tally) and note.form == form]
        if own:
            yield reduce(Tally.__add__, own)


def _added(lists: Iterable[Sequence[str]]) -> list[str]:
    """What is said of all portions.

    Each of them lists the same in the same order, but that one without a judged topic says nothing
    of what comes later.
    """
    added: list[str] = []
    for own in lists:
        both = [one + other for one, other in zip(added, own, strict=False)]
        added = [*both, *added[len(both) :], *own[len(both) :]]
    return added
