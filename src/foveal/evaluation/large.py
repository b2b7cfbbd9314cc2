"""Files larger than memory: one pass sorts their lines by topic, then groups of topics are scored.

A topic is scored on its own results and judgements. So the lines of a large file are split into
groups of topics, and the ordinary readers and the ordinary `Evaluation` see one group after the
other, as a `Source` that knows the numbers of its lines. The scores of the groups add up to those
of the run. Temporary files are made where TMPDIR says; they have no name, so that nothing is left
of them however a process ends.
"""

from __future__ import annotations

import copy
import hashlib
import os
import pickle
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from functools import partial, reduce
from pathlib import Path
from typing import Any
from weakref import finalize

import numpy as np
import polars as pl

from foveal.collection.placement import CLIPPED, MAPPED, MISSING
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
    limit_bytes,
    list_files,
    read_chunks,
    read_codec,
    read_head,
    show_name,
)
from foveal.formats import Format, Kind, Parsed, detect_format
from foveal.formats.columns import describe_unscored
from foveal.formats.jsonl import describe_whole_documents
from foveal.formats.lines import GROUPED, describe_ignored_text
from foveal.formats.objects import find_header, parse_objects
from foveal.lookup import KeyTable
from foveal.measures.alignment import Gold
from foveal.model.judgements import Judgements, share_documents
from foveal.model.run import UNKNOWN, Run
from foveal.spans import Ints

# Bytes of memory per byte of a run: 5 are measured for passages, 6 for JSON Lines; more for a run
# in groups, with memory that the groups before leave behind.
NEED, NEED_OF_GROUPS, NEED_OF_JUDGEMENTS = 8, 12, 16
LINE_FORMATS = ("fol", "elements", "trec", "jsonl")  # each line names its topic
CHUNK = 1 << 22  # bytes of lines that are sorted together
_MOST_GROUPS = 1024
_SMALL = 1 << 28  # bytes that every machine has: files that need less are read at once
_COMPRESSED = 12  # assumed ratio of the size of a file's content to its compressed size
_FEW = 10_000  # results up to which nothing is gained by giving back the memory of a group
_HEAD = 1 << 16
# Counts that reading and placing a run may add to its notes, in their order.
_NOTES = (
    describe_ignored_text,
    describe_unscored,
    describe_whole_documents,
    MISSING,
    CLIPPED,
    MAPPED,
)
# The first field of a line that is neither blank nor a comment.
_WORD = r"^[ \t\x0b\x0c\r]*([^ \t\x0b\x0c\r#][^ \t\x0b\x0c\r]*)"
# The topic, and fields for which it matters if any result of a JSON Lines run has them.
_FIELDS: dict[str, Any] = {
    **dict.fromkeys(("topic", "xpath"), pl.String),
    **dict.fromkeys(("rank", "start", "bep"), pl.Int64),
    "score": pl.Float64,
}
Range = tuple[int, int]


def estimate_size(path: str | Path) -> int:
    """Return the bytes of a file's content, assumed if it is compressed; 0 for a stream."""
    try:
        size = 0 if is_stream(path) else Path(path).stat().st_size
    except (OSError, ValueError):  # reported when it is read
        return 0
    return size * _COMPRESSED if size and read_codec(path) else size


def share_memory() -> int:
    """Return a share of the free memory for one of as many tasks as there are cores."""
    return max(free_memory() // (2 * count_cores()), _SMALL)


def count_groups(size: int, need: int, limit: int) -> int:
    """Return the number of groups of a file that takes `need` bytes of memory per byte."""
    return min(-(-size * need // limit), _MOST_GROUPS)


# -- groups of topics ------------------------------------------------------------------------------


def split_file(
    path: str | Path, name: str | Path, kind: Kind, groups: dict[str, int], count: int
) -> TopicFile | None:
    """Split a run or judgements into groups; None if the lines are not of `LINE_FORMATS`."""
    head = Source(show_name(name), read_head(path, _HEAD), None)
    if head.data.lstrip().startswith(b"["):  # a JSON array
        return None
    form = detect_format(head, kind)
    return TopicFile(path, head, form, groups, count) if form.name in LINE_FORMATS else None


class Spool:
    """A temporary file without a name that bytes are appended to."""

    def __init__(self, what: str) -> None:
        self._what, self._size = what, 0
        self._file = self._attempt(tempfile.TemporaryFile)
        self.close = finalize(self, self._file.close)

    def _attempt(self, function: Callable[..., Any], *arguments: Any) -> Any:
        try:
            return function(*arguments)
        except OSError as error:
            text = (
                f"too large for memory, and a temporary copy in {tempfile.gettempdir()} cannot be "
                f"written: {error.strerror}; TMPDIR names another place, --memory allows more"
            )
            raise InputError.at("file.temporary", self._what, None, text) from None

    def append(self, data: bytes) -> tuple[int, int]:
        """Append bytes; return where they begin and end."""
        self._attempt(self._file.write, data)
        self._attempt(self._file.flush)
        self._size += len(data)
        return self._size - len(data), self._size

    def read(self, start: int, end: int) -> bytes:
        """Return the bytes of a range; threads may do so at the same time."""
        parts = []
        while start < end and (data := os.pread(self._file.fileno(), end - start, start)):
            parts.append(data)  # the system returns two gigabytes at most
            start += len(data)
        return b"".join(parts)


class TopicFile(Spool):
    """The lines of a run or of judgements, sorted into groups of topics.

    `head` has the first lines of the file, under the name that the user typed. `groups` tells the
    group of each topic, a number below `count`; new topics are added, each to the smallest group.
    """

    def __init__(
        self, path: str | Path, head: Source, form: Format, groups: dict[str, int], count: int
    ) -> None:
        super().__init__(head.path)
        self.groups, self._form = groups, form
        self._chunks = list[tuple[int, Ints, Ints]]()
        self.sizes = np.zeros(count, dtype=np.int64)  # bytes of each group
        self.topics: dict[str, None] = {}  # topics in the order of their first lines
        self.counts = Counter[str]()  # number of objects of JSON Lines that have each of `_FIELDS`
        self.problems: list[Problem] = []  # the lines that are not UTF-8
        header_line = find_header(head)[1] if form.name == "jsonl" else 0
        self._header = head.data.split(b"\n")[:header_line]
        digest, line, blocks, last = hashlib.sha256(), 1, 0, None
        for data in read_chunks(path, CHUNK, digest):
            number = np.arange(line, line + data.count(b"\n") + 1, dtype=np.int64)
            line = int(number[-1])
            source, undecodable = replace(head, data=data, lines=number).drop_undecodable()
            self.problems += undecodable
            lines = pl.Series([source.data.decode()]).str.split("\n").explode()
            topic = lines.str.extract(_WORD)
            kept = topic.is_not_null() & pl.Series(number > header_line)
            if not kept.any():
                continue
            lines, topic, number = lines.filter(kept), topic.filter(kept), number[kept.to_numpy()]
            topic = self._find_topics(lines) if form.name == "jsonl" else topic
            blocks += int(topic.ne_missing(topic.shift(1, fill_value=last)).sum())
            last = topic[-1]
            sized = pl.DataFrame({"topic": topic, "size": lines.str.len_bytes().cast(pl.Int64) + 1})
            own = dict[str, int]()
            for name, size in sized.group_by("topic", maintain_order=True).sum().iter_rows():
                own[name] = groups.setdefault(name, int(self.sizes.argmin()))
                self.sizes[own[name]] += size
            self.topics |= dict.fromkeys(own)
            group = topic.replace_strict(own, return_dtype=pl.Int64).to_numpy()
            order = np.argsort(group, kind="stable")
            text = lines[order].str.join("\n").item().encode() + b"\n"
            start, end = self.append(number[order].tobytes() + text)
            first = np.searchsorted(group[order], np.arange(count + 1))
            offset = np.append(0, np.cumsum(sized["size"].to_numpy()[order]))[first]
            self._chunks.append((start, first, offset + end - len(text)))
        self.notes = (
            (GROUPED,) if form.name in ("fol", "elements") and blocks != len(self.topics) else ()
        )
        """The note about topics whose lines are not together."""
        self._last = line
        self._whole = replace(head, sha256=digest.hexdigest(), given=frozenset(+self.counts))
        self.source = self._whole.provenance

    def _find_topics(self, lines: pl.Series) -> pl.Series:
        """Return the topics of JSON objects, empty where there is none; count their fields."""
        data = lines.str.join("\n").item().encode()
        frame = parse_objects(data, _FIELDS)
        if frame is None or len(frame) != len(lines):  # a line is wrong; its reader says which
            paths = (
                pl.col("line").str.json_path_match(f"$.{name}").alias(name) for name in _FIELDS
            )
            frame = lines.to_frame("line").select(paths)
        self.counts.update({column.name: column.count() for column in frame})
        for name in ("elements", "results"):
            self.counts[name] += data.count(f'"{name}"'.encode())
        return frame["topic"].fill_null("")

    def has_in_part(self, field: str) -> bool:
        """Return True if some results of JSON Lines have a field and others lack it."""
        return 0 < self.counts[field] < self.counts["topic"] - self.counts["results"]

    def parse(self, group: int) -> Parsed:
        """Parse the lines of a group by the file's own format."""
        texts = [line + b"\n" for line in self._header]
        numbers = [np.arange(1, len(texts) + 1)]
        for at, first, offset in self._chunks:
            i, j = first[group : group + 2].tolist()
            if i < j:
                numbers.append(np.frombuffer(self.read(at + 8 * i, at + 8 * j), np.int64))
                texts.append(self.read(*offset[group : group + 2].tolist()))
        lines = np.concatenate([*numbers, [self._last]])  # also nothing has a line
        return self._form.parse(replace(self._whole, data=b"".join(texts), lines=lines))


# -- runs ------------------------------------------------------------------------------------------


def score_run(
    evaluation: Evaluation, run: RunLike, *, memory: int | None = None
) -> tuple[Scores, ...]:
    """Score a run as `Evaluation.score` does, in groups of topics if it does not fit `memory`."""
    is_grouped = isinstance(evaluation, GroupedEvaluation)
    if not isinstance(run, Run) and (file := _split_run(evaluation, run, memory)) is not None:
        with closing(file):
            # New topics go to the smallest group, so that empty ones are last.
            count = len(file.sizes) if is_grouped else np.count_nonzero(file.sizes)
            return _score_groups(evaluation, file, file.parse, int(count))
    if not isinstance(evaluation, GroupedEvaluation):
        return evaluation.score(run)
    held = run if isinstance(run, Run) else evaluation.read_run(run)
    group = np.array([evaluation.groups.get(topic, 0) for topic in held.topics], dtype=np.int64)

    def take(number: int) -> Parsed:
        return Parsed(replace(held.take((group == number)[held.topic]), notes=()), [])

    return _score_groups(evaluation, held, take, evaluation.count)


def _split_run(evaluation: Evaluation, path: str | Path, memory: int | None) -> TopicFile | None:
    """Split a large run into groups of topics; None if it is read at once.

    A file that cannot be split is refused if a limit was given, and else read at once.
    """
    place, limit = evaluation.locate(str(path)), memory or share_memory()
    size = estimate_size(place)
    if NEED * size <= limit:
        return None
    groups, count = dict[str, int](), count_groups(size, NEED_OF_GROUPS, limit)
    if isinstance(evaluation, GroupedEvaluation):
        groups, count = dict(evaluation.groups), evaluation.count
    with limit_bytes(evaluation.max_bytes):
        file = split_file(place, path, "run", groups, count)
    # Where spans and paths are mixed, overlap shows in the paths of all results, of all topics.
    is_mixed = file is not None and (file.has_in_part("start") or file.has_in_part("bep"))
    if file is not None and (
        evaluation.collection is not None or not (is_mixed and file.counts["xpath"])
    ):
        return file if file.topics else None
    if memory is not None:
        text = (
            f"takes up to {NEED * size >> 20} MB of memory, more than --memory allows; only FOL, "
            "elements, TREC and JSON Lines are read in parts (foveal convert makes them), and "
            "spans and paths in one run only with a collection (--collection)"
        )
        raise InputError.at("run.memory", str(path), None, text)
    return None


def _score_groups(
    evaluation: Evaluation, whole: Run | TopicFile, parse: Callable[[int], Parsed], count: int
) -> tuple[Scores, ...]:
    """Parse and score the groups of a run; refuse what the whole run would be refused for."""
    golds = [copy.copy(gold) for gold in evaluation.golds]
    for gold in golds:
        gold.is_part = True
    unreadable = [*whole.problems] if isinstance(whole, TopicFile) else []
    refused, names = list[InputError](), list[tuple[int, str]]()
    parts: list[list[tuple[Gold, Scores]]] = [[] for _ in golds]
    part = copy.copy(evaluation)
    for number in range(count):
        run, problems = parse(number)
        unreadable += problems
        if unreadable:
            continue  # these are reported first, and all of them
        if isinstance(whole, TopicFile) and whole.has_in_part("score"):
            run = replace(run, score=None)
        names += [(int(run.line.min()), run.name)] if len(run) else []
        if isinstance(evaluation, GroupedEvaluation):
            golds = evaluation.load(number)
        try:
            for gold, own in zip(golds, parts, strict=True):
                part.golds = (gold,)
                own.append((gold, part.score(run)[0]))
        except InputError as error:
            refused.append(InputError(error.problems))  # a copy, without what is in memory
        results = len(run)
        del run
        if results > _FEW:
            give_back_memory()
    if unreadable:
        raise InputError.together([InputError(unreadable)])
    path, topics, every = whole.source.path, tuple(whole.topics), evaluation.every_topic
    for gold in evaluation.golds:
        left = [topic for topic in topics if topic in gold.topic_at or topic not in every]
        if not left:
            raise refuse_topics(path, topics, gold.topics, excluded=True)
        if refused:
            raise InputError.together(refused)
        if gold.topic_at.keys().isdisjoint(left):
            raise refuse_topics(path, left, gold.topics)
    source = whole.source if evaluation.hashed else replace(whole.source, sha256=None)
    return tuple(
        replace(_merge(own, gold.topics, whole), name=min(names)[1], source=source)
        for gold, own in zip(evaluation.golds, parts, strict=True)
    )


def _merge(
    parts: Sequence[tuple[Gold, Scores]], judged: Sequence[str], whole: Run | TopicFile
) -> Scores:
    """Return the scores of all groups of a run on all `judged` topics."""
    row, order = ({topic: i for i, topic in enumerate(own)} for own in (judged, whole.topics))
    scores = [own for _, own in parts]
    values = np.full((len(judged), scores[0].values.shape[1]), np.nan)
    in_run, shares, counts = np.zeros(len(judged), dtype=bool), dict[str, float](), dict[str, Any]()
    for gold, own in parts:
        rows = np.array([row[topic] for topic in gold.topics], dtype=np.int64)
        new = own.in_run | ~in_run[rows]  # the score of a topic without results is in any part
        values[rows[new]] = own.values[new]
        in_run[rows] |= own.in_run
        shares |= own.judged_shares
        for form, count in own.counts.items():
            counts[form] = counts[form] + count if form in counts else count
    counts[UNJUDGED_TOPICS] = sorted(counts[UNJUDGED_TOPICS], key=order.__getitem__)
    notes = [*whole.notes, *(note for own in scores for note in own.notes)]
    tallies = [note for note in notes if isinstance(note, Tally)]
    by_form = ([note for note in tallies if note.form == form] for form in _NOTES)
    matches = [
        own.names or NameMatch(int(own.in_run.sum()), own.results, own.judged_results)
        for own in scores
    ]
    return replace(
        scores[0],
        values=values,
        judged_shares=dict(sorted(shares.items(), key=lambda item: order[item[0]])),
        in_run=in_run,
        unjudged_topics=sum(own.unjudged_topics for own in scores),
        results=sum(own.results for own in scores),
        judged_results=sum(own.judged_results for own in scores),
        names=reduce(NameMatch.__add__, matches) if any(own.names for own in scores) else None,
        has_parts=any(own.has_parts for own in scores),
        notes=(
            *dict.fromkeys(note for note in notes if not isinstance(note, Tally)),
            *(reduce(Tally.__add__, own) for own in by_form if own),
        ),
        counts=counts,
    )


# -- judgements ------------------------------------------------------------------------------------


def prepare(
    judgements: Any,
    measures: Any,
    memory: int | str | None,
    options: dict[str, Any],
    runs: Sequence[RunLike] = (),
) -> tuple[Evaluation, Callable[[Evaluation, RunLike], tuple[Scores, ...]]]:
    """Return an evaluation within this memory, and the function that scores a run by it."""
    memory = None if memory is None else parse_size(str(memory), "memory")
    limit, score = memory or share_memory(), partial(score_run, memory=memory)
    paths = [judgements] if isinstance(judgements, (str, Path)) else judgements
    if isinstance(paths, (list, tuple)) and all(isinstance(path, (str, Path)) for path in paths):
        files = [str(file) for file in list_files(paths, "judgements")]
        count = count_groups(sum(map(estimate_size, files)), NEED_OF_JUDGEMENTS, limit)
        chosen, _ = resolve_settings(measures, options.get("task"), {})
        if (
            count > 1
            and options.get("collection") is None
            and all(NEED_TREES.isdisjoint(measure.needs) for measure in chosen)
            and not any(is_stream(file) for file in files)  # they can be read only once
        ):
            sizes = [estimate_size(run) for run in runs if not isinstance(run, Run)]
            count = max(count, count_groups(max(sizes, default=0), NEED_OF_GROUPS, limit))
            groups = dict[str, int]()
            split = [split_file(file, file, "judgements", groups, count) for file in files]
            large = [file for file in split if file is not None and not file.counts["elements"]]
            if len(large) == len(files):
                return GroupedEvaluation(large, measures, options), score
    return Evaluation(judgements, measures, **options), score


class GroupedEvaluation(Evaluation):
    """Judgements that are never in memory at once, prepared in groups of topics.

    Its `judgements` are a sample of the files: for each topic one document of each combination
    of assessors, relevance and grades. These show which topics and assessors there are, and
    everything that `results` reports about them.
    """

    def __init__(self, files: Sequence[TopicFile], measures: Any, options: dict[str, Any]) -> None:
        self.groups, self.count = files[0].groups, max(files[0].groups.values()) + 1
        self._spool = Spool(files[0].source.path)
        given = self._read_files(files)
        few = Judgements.merged(
            [_choose_rows(own) for own in self._load(given)], several=False, distinct=False
        )
        few = few.with_columns(
            length=np.full(len(few), UNKNOWN, dtype=np.int64),
            file=few.file % len(files),
            sources=tuple(file.source for file in files),
            notes=tuple(dict.fromkeys(few.notes)),
        )
        super().__init__(few, measures, **options)
        length = _list_documents(self._load(given))["length"].to_numpy()
        self.mean_length, self.mean_length_source = average_lengths(length, few)
        few, pools, chosen = self.judgements, self.options.pools, list[Range]()
        for own in self._load(given):
            kept = own.for_topics(few.topics)
            if pools is not None:
                by = pl.Series([""] * len(kept)) if kept.assessor is None else kept.assessor
                kept = kept.only(by.is_in(pools).fill_null(value=False).to_numpy())
            chosen.append(self._put(replace(kept, has_text=few.has_text)))
        self._check_lengths(chosen)
        self._prepared: list[tuple[list[Range], dict[str, Any], dict[str, Any]]] = []
        said, true = set[str](), set[str]()
        for gold, assessor in zip(self.golds, self.assessors, strict=True):
            notes, places, highest = set(list_notes(self.scored, gold)), list[Range](), 0.0
            said |= notes
            for own in self._load(chosen):
                # The rows of other topics show what is true of all judgements.
                others = few.for_topics(set(few.topics).difference(own.topics))
                every = Judgements.merged([others, own], several=False, distinct=False)
                combined = every.combined(assessor or self.options.assessors)
                one = Gold(combined, mean_length=self.mean_length)
                highest = max(highest, one.highest_grade)
                notes.intersection_update(list_notes(self.scored, one))
                places.append(self._put(one.judgements.for_topics(own.topics)))
            true |= notes
            table = _list_documents(self._load(places))
            length, relevant = (table[name].to_numpy() for name in ("length", "relevant"))
            documents = {"documents": (KeyTable(table["doc"]), length)}
            facts = {
                "is_part": True,
                "highest_grade": highest,
                "no_bep": bool(relevant.any()) and not table["entry"].any(),
                "unmeasured": bool((length[relevant] < 0).any()),
            }
            self._prepared.append((places, documents, facts))
        self.warnings = [note for note in self.warnings if note not in said or note in true]

    def load(self, number: int) -> list[Gold]:
        """Return the judgements of a group, of each assessor."""
        golds = []
        for places, documents, facts in self._prepared:
            (own,) = self._load([places[number]])
            golds.append(Gold(own, mean_length=self.mean_length, **documents))
            vars(golds[-1]).update(facts)
        return golds

    def _put(self, content: Judgements | Gold) -> Range:
        return self._spool.append(pickle.dumps(content, protocol=pickle.HIGHEST_PROTOCOL))

    def _load(self, places: Iterable[Range]) -> Iterator[Any]:
        for place in places:
            yield pickle.loads(self._spool.read(*place))  # noqa: S301 - written here

    def _read_files(self, files: Sequence[TopicFile]) -> list[Range]:
        """Read all groups of all files; return the place of each group's judgements.

        They are read again if two files judge one document, which names the assessors of all rows.
        """
        sources = tuple(file.source for file in files)
        for several in (False, True):
            places, is_shared = list[Range](), False
            problems = [problem for file in files for problem in file.problems]
            for number in range(self.count):
                present = [i for i, file in enumerate(files) if file.sizes[number]]
                parsed = [files[i].parse(number) for i in present]
                wrong = [problem for own in parsed for problem in own.problems]
                if wrong:
                    problems += wrong
                    continue
                own = parsed[0].content
                if len(files) > 1:
                    contents = [part.content for part in parsed]
                    own = Judgements.merged(contents, several=several, distinct=False)
                    is_shared = is_shared or share_documents(own.topic, own.doc, own.file)
                    problems += own.find_repeated() if several else []
                own = replace(own, file=np.array(present)[own.file], sources=sources)
                places.append(self._put(own))
            if problems:
                order = [source.path for source in sources]
                raise InputError(sorted(problems, key=lambda p: (order.index(p.file), p.line or 0)))
            if not is_shared:
                break
        for file in files:
            file.close()
        return places

    def _check_lengths(self, groups: Sequence[Range]) -> None:
        """Refuse documents of two lengths, and spans past the end that another line tells."""
        length, reach = pl.col("length"), pl.col("reach")
        wrong = (length != pl.col("shortest")) | ((reach > length) & (length >= 0))
        bad = _list_documents(self._load(groups)).filter(wrong)["doc"].implode()
        rows = pl.concat(
            _list_rows(own).filter(pl.col("doc").is_in(bad)) for own in self._load(groups)
        ).sort("file", "line", maintain_order=True)
        once, reached = np.ones(len(rows), dtype=np.int64), rows["reach"].to_numpy()
        named = rows.select("doc", "length", "relevant", "line", topic=pl.lit(""))
        sources = self.judgements.sources
        judged = Judgements.from_rows(named, once, 0 * once, reached, source=sources[0])
        judged.with_columns(file=rows["file"].to_numpy(), sources=sources).check_lengths()


def _choose_rows(judgements: Judgements) -> Judgements:
    """Return one document of each kind that a topic has.

    Documents are of one kind if the same assessors find them relevant and grade them.
    """
    is_graded = np.zeros(len(judgements), dtype=bool)
    if judgements.grade is not None:
        is_graded[judgements.row[(judgements.grade > 0) & (judgements.grade != 1)]] = True
    columns = {"topic": judgements.topic, "pair": judgements.pair, "assessor": judgements.assessor}
    rows = pl.DataFrame(columns | {"relevant": judgements.relevant, "graded": is_graded})
    verdict = pl.concat_str("relevant", "graded", "assessor", ignore_nulls=True).sort()
    kinds = rows.group_by("topic", "pair", maintain_order=True).agg(verdict.str.join("\n"))
    first = kinds.unique(["topic", "relevant"], keep="first", maintain_order=True)["pair"]
    return judgements.only(np.isin(judgements.pair, first.to_numpy()))


def _list_rows(judgements: Judgements) -> pl.DataFrame:
    """Return the document of each row, its length and furthest span, and where it was read."""
    reach = np.zeros(len(judgements), dtype=np.int64)
    np.maximum.at(reach, judgements.row, judgements.end)
    return pl.DataFrame(
        {
            "doc": judgements.doc,
            "length": judgements.length,
            "reach": reach,
            "relevant": judgements.relevant,
            "entry": judgements.bep >= 0,
            "file": judgements.file,
            "line": judgements.line,
        }
    ).with_columns(shortest=pl.when(pl.col("length") >= 0).then("length"))


def _list_documents(groups: Iterable[Judgements]) -> pl.DataFrame:
    """Return the documents of all groups: longest and shortest length given, furthest span."""
    table: list[pl.DataFrame] = []
    for own in groups:
        rows = _list_rows(own).drop("file", "line")
        both = pl.concat([*table, rows]).group_by("doc", maintain_order=True)
        table = [both.agg(pl.exclude("shortest").max(), pl.col("shortest").min())]
    return table[0]
