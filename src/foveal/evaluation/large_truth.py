"""Judgements larger than memory: read, checked and prepared group by group of their topics.

Little about judgements is not of one topic: which topics and assessors there are, how long
documents are, and what is true of all or of any of them. Two passes find that out and leave the
groups in a temporary file, ready to be scored against.
"""

from __future__ import annotations

import pickle
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import IO, Any
from weakref import finalize

import numpy as np
import numpy.typing as npt
import polars as pl

from foveal.errors import InputError, Problem
from foveal.evaluation.options import Options
from foveal.evaluation.truth import Truth, notes_of
from foveal.formats import is_stream, judgement_files, judgement_reader
from foveal.formats.markup import is_xml
from foveal.formats.slices import LineSlices, groups_of, read_at
from foveal.formats.source import Source
from foveal.formats.streams import head_of
from foveal.measures import Measure, Need
from foveal.measures.alignment import Gold
from foveal.model import UNKNOWN, Judgements, Run
from foveal.model.evidence import is_graded
from foveal.model.hashing import Names
from foveal.model.judgements import ASSESSOR_POLICIES
from foveal.model.merging import merged_columns, share_documents
from foveal.model.ordering import topic_order
from foveal.spans import Ints

__all__ = ["JudgedSlices", "LargeTruth", "can_be_cut"]

Bools = npt.NDArray[np.bool_]

_OF_TREES = frozenset([Need.STRUCTURE, Need.ELEMENTS])
_ELEMENTS = frozenset([b'"elements"'])
"""What judgements of elements have in JSON Lines: their trees are not read in slices."""
_HEAD = 1 << 16


def can_be_cut(paths: Sequence[str | Path], options: Options, measures: Sequence[Measure]) -> bool:
    """Whether these files may be read in slices for these measures, as far as can be told."""
    other = (options.cas, options.exclude_tags, options.snap, options.recompute)
    of_text = all(_OF_TREES.isdisjoint(measure.needs) for measure in measures)
    if any(other) or not of_text or any(is_stream(p) for p in (*paths, options.topics_file) if p):
        return False
    files = judgement_files(list(paths))
    return not any(is_xml(Source("", head_of(str(file), _HEAD), "")) for file in files)


class _Shelf:
    """Objects in a temporary file, which has no name and is gone with the process."""

    def __init__(self) -> None:
        self._file: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - as long as this lives
        self._ends = [0]
        finalize(self, self._file.close)

    def put(self, thing: object) -> int:
        """Keep a thing; the number it is found by."""
        try:
            self._file.seek(self._ends[-1])
            pickle.dump(thing, self._file, protocol=pickle.HIGHEST_PROTOCOL)
            self._file.flush()
        except OSError as error:
            raise InputError.at(
                tempfile.gettempdir(),
                None,
                f"judgements too large for memory cannot be kept here: {error.strerror}; TMPDIR "
                "names another place, --memory allows more",
            ) from None
        self._ends.append(self._file.tell())
        return len(self._ends) - 2

    def __iter__(self) -> Iterator[Any]:
        return map(self.get, range(len(self._ends) - 1))

    def close(self) -> None:
        """Give everything up."""
        self._file.close()

    def get(self, number: int) -> Any:
        # Threads share the file, so nobody may rely on its position.
        start, end = self._ends[number : number + 2]
        return pickle.loads(read_at(self._file, end - start, start))  # noqa: S301 - our own


class JudgedSlices:
    """Prepared judgements of one assessor, or of all together, in groups of topics."""

    def __init__(
        self, judgements: Judgements, docs: pl.Series, lengths: pl.DataFrame, *, no_bep: bool
    ) -> None:
        self.judgements = judgements
        """A few of them, with all topics."""
        self.names = Names(docs)
        """All judged documents."""
        self.lengths = lengths
        """``doc`` and ``length`` of all judged documents whose length is known."""
        self.no_bep = no_bep
        self.unmeasured = False
        """What is true of all of them, as `Gold` has it."""
        self.groups: list[frozenset[str]] = []
        self._shelf = _Shelf()

    def length_of(self, docs: pl.Series) -> Ints:
        """The length of each document, `UNKNOWN` where no judgement gives it."""
        asked = pl.DataFrame({"doc": docs})
        found = asked.join(self.lengths, on="doc", how="left", maintain_order="left")
        return found["length"].fill_null(UNKNOWN).to_numpy()

    def with_lengths(self, run: Run) -> Run:
        """The run with the lengths of documents that are judged for whatever topic."""
        return replace(run, length=self.length_of(run.doc))

    def add(self, judged: Gold) -> None:
        self.groups.append(frozenset(judged.judgements.topics))
        self._shelf.put(judged)

    def load(self, number: int) -> Gold:
        judged: Gold = self._shelf.get(number)
        judged.no_bep, judged.unmeasured = self.no_bep, self.unmeasured
        judged.names = self.names
        return judged


class LargeTruth(Truth):
    """As `Truth`, of files that are never held at once.

    Its `judgements` are some of those in the files: for every topic one document for each
    combination of assessors, relevance and entry points that its documents have. That is enough to
    tell which topics and assessors there are, and what is said of them.

    Parameters
    ----------
    paths : sequence of paths
    options : Options
    room : int
        Bytes of the files that are read together.
    """

    def __init__(self, paths: Sequence[str | Path], options: Options, room: int) -> None:
        read = _Shelf()
        parts, empty = _read([str(file) for file in judgement_files(list(paths))], room, read)
        several = any(
            share_documents(own.topic, own.doc, own.file)
            for own in (_merged(read, numbers, empty, several=False) for numbers in parts)
        )
        kept: list[Judgements] = []
        whole = _Shelf()
        problems: list[Problem] = []
        for numbers in parts:
            try:
                own = _merged(read, numbers, empty, several=several, check=True)
            except InputError as error:
                problems += error.problems
                continue
            whole.put(own)
            kept.append(replace(own.only(_telling(own)), unread=None))
        if problems:
            order = [part.sources[0].path for part in empty]
            raise InputError(sorted(problems, key=lambda p: (order.index(p.file), p.line or 0)))
        few = _concatenated(kept)
        unknown = np.full(len(few), UNKNOWN, dtype=np.int64)
        super().__init__(replace(few, length=unknown), options, None)
        read.close()
        self._groups = _Shelf()
        lengths = _no_lengths()
        for own in whole:
            lengths = _known(lengths, own)
            self._groups.put(self._restricted(own))
        self.document_lengths = lengths["length"].to_numpy()
        whole.close()
        self._check_lengths()

    def _restricted(self, own: Judgements) -> Judgements:
        """A group without other pools and topics."""
        if self.options.pools is not None:
            own = own.only(_by(own, *self.options.pools))
        return own.for_topics(self.judgements.topics)

    def _check_lengths(self) -> None:
        """Refuse documents of two lengths, and spans past the end that another line tells."""
        table = _no_lengths().with_columns(least=pl.col("length"))
        reach = table.select("doc", "length")
        for own in self._groups:
            table = _extremes(table, own)
            reach = _furthest(reach, own)
        bad = table.filter(pl.col("least") != pl.col("length"))["doc"]
        if not len(bad):
            past = reach.join(table.select("doc", most="length"), on="doc")
            bad = past.filter(pl.col("length") > pl.col("most"))["doc"]
        if len(bad):
            found = [own.only(own.doc.is_in(bad.implode()).to_numpy()) for own in self._groups]
            _in_order(_concatenated(found)).check_lengths()

    # -- what measures look at ----------------------------------------------------------------

    def judged(  # type: ignore[override]  # in groups what a truth has whole: `Part` takes both
        self, assessor: str | None, measures: Sequence[Measure]
    ) -> JudgedSlices:
        """The judgements of one assessor, or of all combined, in groups."""
        few = self.judgements.combined(assessor or self.options.assessors)
        policy = assessor or self.options.assessors
        whole = policy in ASSESSOR_POLICIES
        chosen = self.judgements if whole else self.judgements.of_assessor(policy)
        labelled = any(own.sets is not None or is_graded(own) for own in self._of(policy))
        lengths, combined = _no_lengths(), _Shelf()
        docs = pl.Series(dtype=pl.String)
        relevant = entries = False
        for own in self._of(policy):
            given = None if chosen.several_assessors else own
            # Where spans of any topic have sets or grades, those of all others are evidence, too.
            marked = _with_sets(own) if labelled else own
            one = marked.combined(policy if policy in ASSESSOR_POLICIES else "union")
            one = replace(one, given=given, sources=self.judgements.sources)
            lengths = _known(lengths, one)
            docs = pl.concat([docs, one.doc]).unique()
            relevant |= bool(one.relevant.any())
            entries |= bool((one.bep >= 0).any())
            combined.put(one)
        slices = JudgedSlices(few, docs, lengths, no_bep=relevant and not entries)
        return self._prepared(slices, combined, measures)

    def _of(self, policy: str) -> Iterator[Judgements]:
        """The groups, of one assessor if `policy` names one; those that hold anything."""
        for group in self._groups:
            own = replace(group, has_text=self.judgements.has_text)
            if policy not in ASSESSOR_POLICIES:
                own = own.only(_by(own, policy))
            if own.topics:
                yield own

    def _prepared(
        self,
        slices: JudgedSlices,
        combined: _Shelf,
        measures: Sequence[Measure],
    ) -> JudgedSlices:
        said: list[str] | None = None
        for own in combined:
            elsewhere = slices.length_of(own.doc)
            length = np.where(own.length < 0, elsewhere, own.length)
            judged = Gold(replace(own, length=length), mean_length=self.mean_length)
            slices.unmeasured |= judged.unmeasured
            notes = list(notes_of(measures, judged))
            # What is true of all judgements is true of each group.
            said = notes if said is None else [note for note in said if note in notes]
            slices.add(judged)
        combined.close()
        self.warnings += [note for note in said or () if note not in self.warnings]
        return slices


class NotCutError(Exception):
    """Judgements that turn out not to be readable in slices."""


def _read(
    files: Sequence[str], room: int, shelf: _Shelf
) -> tuple[list[list[int | None]], list[Any]]:
    """For each group, the numbers of what each file has of it; and of each file nothing."""
    cut = [LineSlices(file, check=judgement_reader, look_for=_ELEMENTS) for file in files]
    if any(own.words for own in cut):
        raise NotCutError
    sizes = dict.fromkeys(topic_order(topic for own in cut for topic in own.topics), 0)
    for topic in sizes:
        sizes[topic] = sum(own.topics.get(topic, 0) for own in cut)
    groups = groups_of(sizes, room)
    parts: list[list[int | None]] = [[] for _ in groups]
    empty: list[Judgements] = []
    for own in cut:
        own.split(groups)
        reader, errors = judgement_reader(own.head), list[InputError]()
        for number, topics in enumerate(groups):
            if own.topics.keys().isdisjoint(topics):
                parts[number].append(None)
                continue
            try:
                read = reader(own.source(number))
            except InputError as error:
                errors.append(error)
                continue
            if len(empty) < len(parts[number]) + 1:
                empty.append(read.for_topics(()))
            parts[number].append(shelf.put(read))
        if errors:
            raise InputError.together(errors)
        own.close()
    return parts, empty


def _merged(
    shelf: _Shelf,
    numbers: Sequence[int | None],
    empty: Sequence[Judgements],
    *,
    several: bool,
    check: bool = False,
) -> Judgements:
    """The judgements of a group from all files."""
    own = [
        empty[file] if number is None else shelf.get(number) for file, number in enumerate(numbers)
    ]
    if check or len(own) == 1:
        return Judgements.merged(own, several=several)
    return Judgements(**merged_columns(own, several=several))


def _with_sets(judgements: Judgements) -> Judgements:
    """The judgements with a list of sets for each span, of none where none are given."""
    if judgements.sets is not None:
        return judgements
    none = pl.Series([None] * len(judgements.start), dtype=pl.List(pl.String))
    return replace(judgements, sets=none)


def _by(judgements: Judgements, *assessors: str) -> Bools:
    """The rows of these assessors."""
    if judgements.assessor is None:
        return np.zeros(len(judgements), dtype=bool)
    return judgements.assessor.is_in(list(assessors)).fill_null(value=False).to_numpy()


def _telling(judgements: Judgements) -> Bools:
    """The rows of a document of each kind that a topic has.

    Documents are of one kind if the same assessors find them relevant, and have entry points.
    """
    assessor = judgements.assessor
    said = [None] * len(judgements) if assessor is None else assessor
    rows = pl.DataFrame(
        {
            "topic": judgements.topic,
            "doc": judgements.doc,
            "assessor": pl.Series(said, dtype=pl.String).fill_null(""),
            "relevant": judgements.relevant,
            "entry": judgements.bep >= 0,
        }
    )
    verdict = pl.format("{} {} {}", "relevant", "entry", "assessor")
    kinds = rows.group_by("topic", "doc", maintain_order=True).agg(
        kind=verdict.sort().str.join("\n")
    )
    shown = kinds.unique(["topic", "kind"], keep="first", maintain_order=True)
    chosen = shown.select("topic", "doc", chosen=pl.lit(value=True))
    found = rows.join(chosen, on=["topic", "doc"], how="left", maintain_order="left")
    return found["chosen"].fill_null(value=False).to_numpy()


def _concatenated(parts: Sequence[Judgements]) -> Judgements:
    """Groups of topics of the same files as one."""
    if len(parts) == 1:
        return parts[0]
    sources = parts[0].sources
    whole = Judgements(**merged_columns(parts, several=False))
    return replace(whole, file=whole.file % len(sources), sources=sources)


def _in_order(judgements: Judgements) -> Judgements:
    """What lengths are checked on, in the order in which it was read."""
    order = np.lexsort((judgements.line, judgements.file))
    counts = np.diff(judgements.bounds)[order]
    bounds = np.concatenate([[0], np.cumsum(counts)])
    span = np.arange(bounds[-1]) + np.repeat(judgements.bounds[order] - bounds[:-1], counts)
    return replace(
        judgements,
        topic=judgements.topic[order],
        doc=judgements.doc.gather(order),
        **{
            name: getattr(judgements, name)[order]
            for name in ("length", "bep", "relevant", "line", "file")
        },
        bounds=bounds,
        start=judgements.start[span],
        end=judgements.end[span],
        grade=None,
        assessor=None,
        quotes=None,
        sets=None,
        aspects=None,
    )


def _no_lengths() -> pl.DataFrame:
    return pl.DataFrame(schema={"doc": pl.String, "length": pl.Int64})


def _known(lengths: pl.DataFrame, judgements: Judgements) -> pl.DataFrame:
    """The lengths of these documents too."""
    own = pl.DataFrame({"doc": judgements.doc, "length": judgements.length})
    return pl.concat([lengths, own.filter(pl.col("length") >= 0)]).unique("doc", keep="first")


def _extremes(table: pl.DataFrame, judgements: Judgements) -> pl.DataFrame:
    """The largest and the least length that is given for each document."""
    own = pl.DataFrame({"doc": judgements.doc, "length": judgements.length})
    own = own.filter(pl.col("length") >= 0).with_columns(least=pl.col("length"))
    both = pl.concat([table, own]).group_by("doc")
    return both.agg(pl.col("length").max(), pl.col("least").min())


def _furthest(table: pl.DataFrame, judgements: Judgements) -> pl.DataFrame:
    """How far the spans of each document reach."""
    own = pl.DataFrame({"doc": judgements.doc.gather(judgements.row), "length": judgements.end})
    return pl.concat([table, own]).group_by("doc").agg(pl.col("length").max())
