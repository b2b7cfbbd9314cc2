"""Files larger than memory: one pass sorts their lines by topic, then groups of topics are scored.

A topic is scored on its own results and judgements. So the lines of a large file are written to a
temporary file in which those of each topic are found again, and the ordinary readers and the
ordinary `Evaluation` see one group of topics after the other. The scores of the groups add up to
those of the run. Temporary files are made where TMPDIR says; they have no name, so that nothing is
left of them however the process ends.
"""

from __future__ import annotations

import copy
import os
import pickle
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from functools import partial, reduce
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from foveal.collection.placement import CLIPPED, MAPPED, describe_missing
from foveal.errors import InputError, Problem, Tally
from foveal.evaluation.document_names import NameMatch
from foveal.evaluation.evaluation import Evaluation, RunLike, Scores, average_lengths
from foveal.evaluation.preparation import (
    NEED_TREES,
    UNJUDGED_TOPICS,
    list_notes,
    refuse_topics,
    resolve_settings,
)
from foveal.executors import count_cores
from foveal.files.memory import free_memory, give_back_memory, parse_size
from foveal.files.source import (
    Source,
    is_stream,
    is_xml,
    limit_bytes,
    list_files,
    read_codec,
    read_head,
)
from foveal.formats.base import MAGIC
from foveal.formats.by_topic import BUCKETS, Range, Spool, TopicFile, pack
from foveal.formats.jsonl import taken_whole
from foveal.formats.ranking import unscored
from foveal.formats.trec import ignored_text
from foveal.lookup import KeyTable
from foveal.measures.alignment import Gold
from foveal.model.judgements import (
    ASSESSOR_POLICIES,
    Judgements,
    share_documents,
)
from foveal.model.run import UNKNOWN, Run
from foveal.spans import Ints

NEED = 8
"""Bytes of memory per byte of a run: 5 are measured for passages, 6 for JSON Lines."""
NEED_OF_GROUPS = 12
"""The same for a run in groups, with memory that the groups before leave behind."""
NEED_OF_JUDGEMENTS = 16
Bools = npt.NDArray[np.bool_]

_SMALL = 1 << 28
"""Bytes that every machine has: files that need less are read at once unless a limit is given."""
_COMPRESSED = 12
"""Assumed ratio of the size of a file's content to its compressed size."""
_FEW = 10_000
"""Results up to which nothing is gained by giving back the memory of a group."""
_HEAD = 1 << 16
_LAST = np.iinfo(np.int64).max
_NOTES = (ignored_text, unscored, taken_whole, describe_missing, CLIPPED, MAPPED)
"""Counts that reading and placing a run may add to its notes, in their order."""


# -- runs ------------------------------------------------------------------------------------------


def estimate_need(path: str | Path) -> int:
    """Return the bytes of memory that reading and scoring a run takes; 0 for a stream."""
    if is_stream(path):
        return 0
    try:
        size = Path(path).stat().st_size
    except (OSError, ValueError):  # reported when it is read
        return 0
    return NEED * size * (_COMPRESSED if read_codec(path) else 1)


def share_memory() -> int:
    """Return a share of the free memory for one of as many tasks as there are cores."""
    return max(free_memory() // (2 * count_cores()), _SMALL)


def score_run(
    evaluation: Evaluation, run: RunLike, *, memory: int | None = None
) -> tuple[Scores, ...]:
    """Score a run as `Evaluation.score` does, in groups of topics if it does not fit `memory`."""
    codes, groups = dict[str, int](), [(0, BUCKETS)]
    if isinstance(evaluation, GroupedEvaluation):
        codes, groups = dict(evaluation.codes), evaluation.groups
    file = None if isinstance(run, Run) else _split_run(evaluation, run, memory, codes)
    if file is None and not isinstance(evaluation, GroupedEvaluation):
        return evaluation.score(run)
    if file is not None:
        with closing(file):
            room = (memory or share_memory()) // NEED_OF_GROUPS
            ranges = [pack(file.sizes, room, *group) for group in groups]
            return _score_ranges(evaluation, file, file.read_run, ranges)
    held = run if isinstance(run, Run) else evaluation.read_run(run)
    bucket = np.array([codes.setdefault(t, len(codes)) for t in held.topics]) % BUCKETS

    def take(low: int, high: int) -> Run:
        own = (bucket >= low) & (bucket < high)
        return replace(held.take(own[held.topic]), notes=())

    return _score_ranges(evaluation, held, take, [[group] for group in groups])


def _split_run(
    evaluation: Evaluation, path: str | Path, memory: int | None, codes: dict[str, int]
) -> TopicFile | None:
    """Sort the lines of a large run by topic; None if it is read at once.

    The numbers of topics without judgements are added to `codes`.
    A file that cannot be split is refused if a limit was given, and else read at once.
    """
    place = evaluation.locate(str(path))
    need = estimate_need(place)
    if need <= (memory or share_memory()):
        return None
    name = os.fsencode(path).decode(errors="replace")
    with limit_bytes(evaluation.max_bytes):
        head = Source(name, read_head(place, _HEAD), None)
        if head.data.startswith(MAGIC):
            reason = "Parquet and Arrow files must fit into it"
        elif is_xml(head) or head.data.lstrip().startswith(b"["):
            reason = "XML and JSON arrays must fit into it"
        else:
            file = TopicFile(place, "run", codes, name=name)
            if not evaluation.hashed:
                file.source = replace(file.source, sha256=None)
            if evaluation.collection is not None or not file.has_spans_and_paths:
                return file
            file.close()
            reason = "spans and paths in one run must fit into it without a collection (-C)"
    if memory is not None:
        raise head.error(
            "run.memory",
            None,
            f"takes up to {need >> 20} MB of memory, more than --memory allows; {reason} "
            "(foveal convert makes lines of it)",
        )
    return None


def _score_ranges(
    evaluation: Evaluation,
    whole: Run | TopicFile,
    read: Callable[[int, int], Run],
    ranges: Sequence[Sequence[Range]],
) -> tuple[Scores, ...]:
    """Read and score the ranges of buckets that belong to each group of judgements."""
    unreadable: list[InputError] = []
    refused: list[InputError] = []
    parts: list[list[tuple[Sequence[str], Scores]]] = [[] for _ in evaluation.golds]
    lines: list[tuple[int, str]] = []
    part = copy.copy(evaluation)
    for number, own_ranges in enumerate(ranges):
        if isinstance(evaluation, GroupedEvaluation):
            golds = evaluation.load(number)
        else:
            golds = [copy.copy(gold) for gold in evaluation.golds]
            for gold in golds:
                gold.is_part = True
        for own_range in own_ranges:
            # Errors are copied: theirs refer to everything that was in memory.
            try:
                run = read(*own_range)
            except InputError as error:
                unreadable.append(InputError(error.problems))
            if unreadable:
                continue  # these are reported first, and all of them
            lines.append((int(run.line.min(initial=_LAST)), run.name))
            try:
                for gold, own in zip(golds, parts, strict=True):
                    part.golds = (gold,)
                    (scores,) = part.score(run)
                    own.append((gold.topics, scores))
            except InputError as error:
                refused.append(InputError(error.problems))
            results = len(run)
            del run
            if results > _FEW:
                give_back_memory()
        del golds
    if unreadable:
        raise InputError.together(unreadable)
    path, topics = whole.source.path, tuple(whole.topics)
    present = [
        [topic for topic in topics if topic in gold.topic_at or topic not in evaluation.every_topic]
        for gold in evaluation.golds
    ]
    for gold, own_topics in zip(evaluation.golds, present, strict=True):
        if not own_topics:
            raise refuse_topics(path, topics, gold.topics, excluded=True)
    if refused:
        raise InputError.together(refused)
    for gold, own_topics in zip(evaluation.golds, present, strict=True):
        if gold.topic_at.keys().isdisjoint(own_topics):
            raise refuse_topics(path, own_topics, gold.topics)
    name = min(lines)[1]  # that of the first line of the file
    return tuple(
        replace(_merge(own, gold.topics, topics, whole.notes), name=name)
        for gold, own in zip(evaluation.golds, parts, strict=True)
    )


def _merge(
    parts: Sequence[tuple[Sequence[str], Scores]],
    judged: Sequence[str],
    topics: Sequence[str],
    notes: Sequence[str],
) -> Scores:
    """Return the scores on all `judged` topics; `topics` are those of the run in their order."""
    row, place = ({topic: i for i, topic in enumerate(own)} for own in (judged, topics))
    scores = [own for _, own in parts]
    values = np.full((len(judged), scores[0].values.shape[1]), np.nan)
    in_run, done = np.zeros(len(judged), dtype=bool), np.zeros(len(judged), dtype=bool)
    given, shares, counts = list(notes), dict[str, float](), Counter[str]()
    unjudged: list[str] = []
    for scored, own in parts:
        rows = np.array([row[topic] for topic in scored], dtype=np.int64)
        new = own.in_run | ~done[rows]  # the score of a topic without results is in any part
        values[rows[new]] = own.values[new]
        done[rows] = True
        in_run[rows] |= own.in_run
        shares |= own.judged_shares
        given += own.notes
        for form, count in own.counts.items():
            if isinstance(count, int):
                counts[form] += count
            else:
                unjudged += count
    by_form = [
        [note for note in given if isinstance(note, Tally) and note.form == form] for form in _NOTES
    ]
    names = None
    if any(own.names is not None for own in scores):
        matches = (
            own.names or NameMatch(int(own.in_run.sum()), own.results, own.judged_results)
            for own in scores
        )
        names = reduce(NameMatch.__add__, matches)
    return replace(
        max(scores, key=lambda own: own.results + own.unjudged_topics),
        values=values,
        judged_shares=dict(sorted(shares.items(), key=lambda item: place[item[0]])),
        in_run=in_run,
        unjudged_topics=sum(own.unjudged_topics for own in scores),
        results=sum(own.results for own in scores),
        judged_results=sum(own.judged_results for own in scores),
        names=names,
        has_parts=any(own.has_parts for own in scores),
        notes=(
            *dict.fromkeys(note for note in given if not isinstance(note, Tally)),
            *(reduce(Tally.__add__, own) for own in by_form if own),
        ),
        counts={UNJUDGED_TOPICS: sorted(unjudged, key=place.__getitem__), **counts},
    )


# -- judgements ------------------------------------------------------------------------------------


def prepare(
    judgements: Any, measures: Any, memory: int | str | None, options: dict[str, Any]
) -> tuple[Evaluation, Callable[[Evaluation, RunLike], tuple[Scores, ...]]]:
    """Return an evaluation within this memory, and the function that scores a run by it."""
    memory = None if memory is None else parse_size(str(memory), "memory")
    score = partial(score_run, memory=memory)
    paths = [judgements] if isinstance(judgements, (str, Path)) else judgements
    if isinstance(paths, (list, tuple)) and all(isinstance(path, (str, Path)) for path in paths):
        files = [str(file) for file in list_files(paths, "judgements")]
        limit = memory or share_memory()
        if sum(map(estimate_need, files)) // NEED * NEED_OF_JUDGEMENTS > limit:
            split = _split_judgements(files, measures, **options)
            if split is not None:
                room = limit // NEED_OF_JUDGEMENTS
                return GroupedEvaluation(split, measures, room, options), score
    return Evaluation(judgements, measures, **options), score


def _split_judgements(
    files: Sequence[str],
    measures: Any,
    *,
    task: str | None = None,
    collection: str | Path | None = None,
    cache: object = None,  # noqa: ARG001 - of runs
    hashed: bool = True,  # noqa: ARG001 - of runs
    **options: Any,
) -> list[TopicFile] | None:
    """Sort the lines of judgements by topic; None if they or the measures are about elements.

    XML and JSON arrays are read at once, too, and streams only once.
    """
    chosen, settings = resolve_settings(measures, task, options)
    if (
        collection is not None
        or any((settings.cas, settings.exclude_tags, settings.snap, settings.recompute))
        or not all(NEED_TREES.isdisjoint(measure.needs) for measure in chosen)
        or any(is_stream(file) for file in (*files, settings.topics_file) if file)
    ):
        return None
    heads = [Source("", read_head(file, _HEAD), None) for file in files]
    if any(is_xml(head) or head.data.lstrip().startswith(b"[") for head in heads):
        return None
    codes: dict[str, int] = {}
    split = [TopicFile(file, "judgements", codes) for file in files]
    return None if any(file.has_elements for file in split) else split


class _Combined(NamedTuple):
    """The combined judgements of one assessor, or of all together, in groups."""

    places: list[Range]
    documents: tuple[KeyTable, Ints]
    """All documents and their lengths."""
    no_bep: bool
    unmeasured: bool


class GroupedEvaluation(Evaluation):
    """Judgements that are never in memory at once, prepared in groups of topics.

    Its `judgements` are some of those in the files: for each topic one document of each combination
    of assessors, relevance and entry points. These show which topics and assessors there are, and
    everything that `results` reports about them.

    Parameters
    ----------
    files : sequence of TopicFile
    measures, options
        As for `Evaluation`.
    room : int
        Bytes of the files in a group.
    """

    def __init__(
        self, files: Sequence[TopicFile], measures: Any, room: int, options: dict[str, Any]
    ) -> None:
        self.codes = files[0].codes
        """The numbers of all topics."""
        self.groups = pack(np.sum([file.sizes for file in files], axis=0), room)
        """The range of buckets of each group."""
        self._spool = Spool(files[0].source.path)
        given = self._read_files(files)
        sources = tuple(file.source.provenance for file in files)
        parts = [own.only(_choose_rows(own)) for own in self._load(given)]
        few = Judgements.merged(parts, several=False, distinct=False)
        few = replace(
            few,
            length=np.full(len(few), UNKNOWN, dtype=np.int64),
            file=few.file % len(sources),
            sources=sources,
            notes=tuple(dict.fromkeys(few.notes)),
        )
        super().__init__(few, measures, **options)
        lengths = _list_documents(self._load(given))["longest"].fill_null(UNKNOWN).to_numpy()
        self.mean_length, self.mean_length_source = average_lengths(lengths, few)
        has_sets = any(own.sets is not None for own in self._load(given))
        chosen: list[Range] = []
        for own in self._load(given):
            pools = self.options.pools
            pooled = own if pools is None else own.only(_is_by(own, *pools))
            kept = pooled.for_topics(self.judgements.topics)
            chosen.append(self._put(replace(kept, has_text=self.judgements.has_text)))
        self._check_lengths(chosen)
        said = [note for gold in self.golds for note in list_notes(self.scored, gold)]
        self.warnings = [warning for warning in self.warnings if warning not in said]
        self._combined: list[_Combined] = []
        for assessor in self.assessors:
            self._combine(chosen, assessor or self.options.assessors, has_sets=has_sets)
        golds = zip(self.golds, self._combined, strict=True)
        self.golds = tuple(self._make_gold(gold.judgements, own) for gold, own in golds)

    def load(self, number: int) -> list[Gold]:
        """Return the judgements of a group, of each assessor."""
        golds = []
        for own in self._combined:
            (judgements,) = self._load([own.places[number]])
            golds.append(self._make_gold(judgements, own))
        return golds

    def _make_gold(self, judgements: Judgements, combined: _Combined) -> Gold:
        gold = Gold(judgements, mean_length=self.mean_length, documents=combined.documents)
        gold.no_bep, gold.unmeasured = combined.no_bep, combined.unmeasured
        gold.is_part = True
        return gold

    def _put(self, judgements: Judgements) -> Range:
        return self._spool.append(pickle.dumps(judgements, protocol=pickle.HIGHEST_PROTOCOL))

    def _load(self, places: Iterable[Range]) -> Iterator[Judgements]:
        for place in places:
            yield pickle.loads(self._spool.read(*place))  # noqa: S301 - written here

    def _read_files(self, files: Sequence[TopicFile]) -> list[Range]:
        """Read all groups of all files; return the place of each group's judgements."""
        by_file: list[list[Range]] = []
        for file in files:
            errors: list[InputError] = []
            own: list[Range | None] = [None] * len(self.groups)
            for number, (low, high) in enumerate(self.groups):
                if file.sizes[low:high].any():
                    try:
                        read: Judgements = file.read(low, high)
                    except InputError as error:
                        errors.append(error)
                    else:
                        own[number] = self._put(read)
            if errors:
                raise InputError.together(errors)
            nothing = self._put(read.for_topics(()))
            by_file.append([place or nothing for place in own])
            file.close()
        if len(files) == 1:
            return by_file[0]
        groups = list(zip(*by_file, strict=True))
        stacked = (
            Judgements.merged([*self._load(places)], several=False, distinct=False)
            for places in groups
        )
        several = any(share_documents(own.topic, own.doc, own.file) for own in stacked)
        merged, problems = list[Range](), list[Problem]()
        for places in groups:
            try:
                merged.append(self._put(Judgements.merged([*self._load(places)], several=several)))
            except InputError as error:
                problems += error.problems
        if problems:
            order = [file.source.path for file in files]
            raise InputError(sorted(problems, key=lambda p: (order.index(p.file), p.line or 0)))
        return merged

    def _check_lengths(self, groups: Sequence[Range]) -> None:
        """Refuse documents of two lengths, and spans past the end that another line tells."""
        length, reach = pl.col("longest"), pl.col("reach")
        wrong = (length != pl.col("shortest")) | (reach > length)
        bad = _list_documents(self._load(groups)).filter(wrong)["doc"].implode()
        rows = pl.concat(
            _list_rows(own).filter(pl.col("doc").is_in(bad)) for own in self._load(groups)
        ).sort("file", "line", maintain_order=True)
        once, sources = np.ones(len(rows), dtype=np.int64), self.judgements.sources
        judged = Judgements.from_rows(
            rows.with_columns(topic=pl.lit("")),
            once,
            0 * once,
            rows["reach"].to_numpy(),
            source=sources[0],
        )
        replace(judged, file=rows["file"].to_numpy(), sources=sources).check_lengths()

    def _combine(self, groups: Sequence[Range], policy: str, *, has_sets: bool) -> None:
        """Combine the judgements of one assessor, or by a policy those of all, in each group."""
        named = policy not in ASSESSOR_POLICIES
        several = (
            self.judgements.of_assessor(policy) if named else self.judgements
        ).several_assessors

        def load() -> Iterator[Judgements]:
            for own in self._load(groups):
                yield own.only(_is_by(own, policy)) if named else own

        docs = _list_documents(load())
        documents = KeyTable(docs["doc"]), docs["longest"].fill_null(UNKNOWN).to_numpy()
        labelled = has_sets or any(own.is_graded for own in load())
        places, notes = list[Range](), list[list[str]]()
        relevant = entries = unmeasured = False
        for own in load():
            # Where spans of any topic have sets or grades, all others are evidence, too.
            none = pl.Series([None] * len(own.start), dtype=pl.List(pl.String))
            marked = replace(own, sets=none) if labelled and own.sets is None else own
            one = marked.combined("union" if named else policy)
            one = replace(one, given=None) if several else one
            places.append(self._put(one))
            gold = Gold(one, mean_length=self.mean_length, documents=documents)
            relevant |= bool(one.relevant.any())
            entries |= bool(gold.beps.any())
            unmeasured |= gold.unmeasured
            notes.append(list(list_notes(self.scored, gold)))
        no_bep = relevant and not entries
        self._combined.append(_Combined(places, documents, no_bep, unmeasured))
        # What is true of all judgements is true of each group.
        true = [note for note in notes[0] if all(note in own for own in notes)]
        self.warnings += [note for note in true if note not in self.warnings]


def _is_by(judgements: Judgements, *assessors: str) -> Bools:
    """Return which rows are those of these assessors."""
    if judgements.assessor is None:
        return np.zeros(len(judgements), dtype=bool)
    return judgements.assessor.is_in(list(assessors)).fill_null(value=False).to_numpy()


def _choose_rows(judgements: Judgements) -> Bools:
    """Return the rows of one document of each kind that a topic has.

    Documents are of one kind if the same assessors find them relevant, and have entry points.
    """
    n, assessor = len(judgements), judgements.assessor
    rows = pl.DataFrame(
        {
            "topic": judgements.topic,
            "doc": judgements.doc,
            "assessor": pl.Series([""] * n) if assessor is None else assessor.fill_null(""),
            "relevant": judgements.relevant,
            "entry": judgements.bep >= 0,
        }
    )
    verdict = pl.format("{} {} {}", "relevant", "entry", "assessor").sort().str.join("\n")
    kind = rows.select("topic", "doc", kind=verdict.over("topic", "doc"))
    first = pl.col("doc").first().over("topic", "kind") == pl.col("doc")
    return kind.select(first).to_series().to_numpy()


def _list_rows(judgements: Judgements) -> pl.DataFrame:
    """Return length and furthest span of each row, and where it was read."""
    reach = np.zeros(len(judgements), dtype=np.int64)
    np.maximum.at(reach, judgements.row, judgements.end)
    length = pl.Series(judgements.length)
    return pl.DataFrame(
        {
            "doc": judgements.doc,
            "length": length.set(length < 0, None),
            "reach": reach,
            "file": judgements.file,
            "line": judgements.line,
        }
    )


def _list_documents(groups: Iterable[Judgements]) -> pl.DataFrame:
    """Return the documents of all groups: longest and shortest length given, furthest span."""
    table: list[pl.DataFrame] = []
    for own in groups:
        length = pl.col("length")
        rows = _list_rows(own).select("doc", longest=length, reach="reach", shortest=length)
        both = pl.concat([*table, rows]).group_by("doc", maintain_order=True)
        table = [both.agg(pl.col("longest", "reach").max(), pl.col("shortest").min())]
    return table[0]
