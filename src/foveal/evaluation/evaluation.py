"""Score runs against judgements: `Evaluation` is prepared once and scores any number of runs."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import ExitStack, nullcontext
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from foveal._version import __version__
from foveal.errors import InputError, Note, UsageError, plural, shorten_list
from foveal.evaluation import score_warnings
from foveal.evaluation.preparation import (
    AlignedRun,
    Options,
    align_run,
    prepare_gold,
    refuse_topics,
    resolve_settings,
    select_judgements,
)
from foveal.evaluation.rules import Counts, describe_counts
from foveal.files.source import STDIN, Provenance, given_limit, is_stream, limit_bytes
from foveal.formats import read_judgements, read_run
from foveal.measures.alignment import Bools, Floats
from foveal.measures.measure import Measure, Need
from foveal.model.judgements import Judgements
from foveal.model.results import Results
from foveal.model.run import Run, distinguish_names
from foveal.spans import Ints

if TYPE_CHECKING:
    from foveal.collection import Collection
    from foveal.evaluation.document_names import NameMatch
    from foveal.evaluation.topic_groups import Groups

T = TypeVar("T")
RunLike = Run | str | Path
Objects = Mapping[Any, Any] | Iterable[Any]
"""Objects that `foveal.run_of` and `foveal.judgements_of` take; pandas' frames have no type."""

_LARGE = 1 << 21  # bytes of a file that might take more than 256 MB of memory when it is compressed


@dataclass(frozen=True)
class Scores:
    """The scores of one run against the judgements of one assessor, or of all together."""

    name: str
    source: Provenance
    task: str | None
    values: Floats  # scores (topic, measure) on all judged topics; nan where undefined
    judged_shares: dict[str, float]
    """Share of judged documents in the top 10 of each topic, in the order of the run."""
    in_run: Bools  # True for judged topics with results
    unjudged_topics: int  # number of topics of the run that are not judged
    results: int  # number of results on judged topics
    judged_results: int  # number of these in documents that are judged for any topic
    names: NameMatch | None
    """Comparison of document names, where few results are in judged documents."""
    has_parts: bool  # True if some results are parts of documents
    notes: tuple[str, ...]  # notes of the reader of the run
    counts: Counts  # warnings by their form


class Evaluation:
    """Judgements prepared for measures, ready to score any number of runs.

    It can be pickled: a collection travels as its path, everything else whole. Relative paths of
    runs begin in the directory in which the evaluation was made.

    Parameters
    ----------
    judgements : Judgements, path, a sequence of paths, or objects as for `foveal.judgements_of`
    measures : text or Python forms of measures
    task : str, optional
        A preset such as ``2009.Focused``; its measures come before `measures`.
    collection : path, optional
        A collection index: gives the place of results that are XPaths, and document lengths.
    groups : mapping of group to topics, or path, optional
        Groups of topics: each measure also gets its scores on the topics of each group, as
        ``AiP[group]``. A file has lines ``topic<TAB>group``, or JSON Lines with topic and groups.
    retrieved : Run, path, or a sequence of them, optional
        The runs that answers were made from. With several, the answers name theirs.
    hashed : bool
        Keep the hashes of runs in `Results.meta`. They take a tenth of the time.
    **options
        The fields of `foveal.evaluation.Options`.

    Examples
    --------
    >>> truth = Judgements.from_highlights({"1": {"D2": {"spans": [(0, 50)], "length": 50}}})
    >>> evaluation = Evaluation(truth, ["charP", "charR"])
    >>> good = Run.from_results({"1": [("D2", 0, 40)]}, name="good")
    >>> poor = Run.from_results({"1": [("D1", 20, 30)]}, name="poor")
    >>> scores = [evaluation.score(run) for run in (good, poor)]
    >>> evaluation.results(scores).aggregate()
    {'good': {'charP': 1.0, 'charR': 0.8}, 'poor': {'charP': 0.0, 'charR': 0.0}}
    """

    def __init__(
        self,
        judgements: Judgements | str | Path | Sequence[str | Path] | Objects,
        measures: str | Measure | Sequence[str | Measure] = (),
        *,
        task: str | None = None,
        collection: str | Path | None = None,
        groups: Groups | str | Path | None = None,
        retrieved: RunLike | Sequence[RunLike] = (),
        hashed: bool = True,
        **options: Any,
    ) -> None:
        self.measures, self.options = resolve_settings(measures, task, options)
        own = self.options
        self.task = task
        averaged = (part for measure in self.measures for part in measure.averages)
        self.scored = tuple(dict.fromkeys([*self.measures, *averaged]))
        """The measures and those that they average."""
        self.collection = None if collection is None else str(collection)
        self.topic_groups: Groups | None = None
        if groups is not None:
            from foveal.evaluation.topic_groups import read_groups

            self.topic_groups = read_groups(groups) if isinstance(groups, (str, Path)) else groups
        self.hashed = hashed
        self._folder = str(Path.cwd())
        self.max_bytes = given_limit()
        behind = [retrieved] if isinstance(retrieved, RunLike) else retrieved
        self.retrieved = [own if isinstance(own, Run) else self.read_run(own) for own in behind]
        for asked, name in ((own.snap, "--snap"), (own.recompute, "--recompute")):
            if asked and collection is None:
                raise UsageError(f"{name} takes a collection (--collection)")
        files = [judgements] if isinstance(judgements, (str, Path)) else judgements
        if isinstance(files, Judgements):
            given = files
        elif isinstance(files, Sequence) and all(isinstance(file, (str, Path)) for file in files):
            given = read_judgements(list(files))
        else:
            from foveal.adapters import judgements_of

            given = judgements_of(files)
        self.warnings: list[str] = []
        topics = cas = None
        if own.topics_file is not None:
            from foveal.formats import read_topics

            topics = read_topics(own.topics_file)
        if own.cas or own.support_judgements or own.documents or own.name_from or own.tag_classes:
            from foveal.evaluation.cas_filter import CasFilter

            cas = CasFilter.from_options(own, topics)
        self.index: Collection | None = None  # the open collection index
        if collection is not None:
            self.__setstate__({})
        self.judgements = select_judgements(given, own, self.index, topics, self.warnings)
        self.sources = [("judgements", source) for source in self.judgements.sources]
        """Everything that was read, each with what it is."""
        if topics is not None:
            self.sources += [("topics", source) for source in topics.sources]
        if cas is not None and cas.support is not None:
            self.sources += [("support judgements", source) for source in cas.support.sources]
        if self.index is not None:
            self.sources.append(("collection", self.index.source))
        self.sources += [("retrieved", own.source) for own in self.retrieved]
        nested = [measure for measure in self.measures if measure.structural]
        if own.overlap == "union" and nested:
            shown = shorten_list(score_warnings.list_measures(nested))
            self.warnings.append(
                f"--overlap union is about text and changes nothing for {shown}; measures of "
                "elements have a parameter overlap"
            )
        self.mean_length, self.mean_length_source = math.nan, ""
        """The value of L=auto, and what it is the mean of; only if a measure needs it."""
        if any(Need.MEAN_LENGTH in measure.needs for measure in self.scored):
            # All judged documents, whatever is selected: a scale must not change with that.
            if self.index is not None:
                documents = plural(len(self.index), "document")
                self.mean_length = self.index.mean_length
                self.mean_length_source = f"mean length of {documents} of the collection"
            else:
                lengths = given.documents.length
                self.mean_length, self.mean_length_source = average_lengths(lengths, given)
        each = own.assessors == "each"
        self.assessors: Sequence[str | None] = self.judgements.assessors if each else (None,)
        """The assessors scored against one by one, or only None for all of them together."""
        self.golds = tuple(prepare_gold(self, assessor, cas) for assessor in self.assessors)
        """The prepared judgements of each of them."""
        self.warnings = [*dict.fromkeys(self.warnings)]
        self.every_topic = frozenset(given.topics)

    def __repr__(self) -> str:
        shown = shorten_list([measure.label for measure in self.measures])
        return f"<Evaluation: {plural(len(self.judgements.topics), 'topic')}, {shown}>"

    def __getstate__(self) -> dict[str, Any]:
        return vars(self) | {"index": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        if self.collection is not None:
            from foveal.collection.element_index import open_cached

            self.index = open_cached(self.locate(self.collection))

    # -- scoring --------------------------------------------------------------------------------

    def align(self, run: RunLike) -> tuple[AlignedRun, ...]:
        """Read, place and check a run; return its alignment with each assessor's judgements."""
        if isinstance(run, (str, Path)):
            run = self.read_run(run)
        elif not isinstance(run, Run):
            raise UsageError(
                f"{type(run).__name__} is not a run; expected a Run or a path, or "
                "foveal.run_of(results, name=...)"
            )
        aligned = []
        structural = any(measure.structural for measure in self.scored)
        for gold in self.golds:
            own = run
            if len(gold.topics) < len(self.every_topic):
                excluded = self.every_topic.difference(gold.topics)
                kept = np.array([topic not in excluded for topic in run.topics], dtype=bool)
                if run.topics and not kept.any() and not gold.is_part:
                    raise refuse_topics(run.source.path, run.topics, gold.topics, excluded=True)
                own = run if kept.all() else run.take(kept[run.topic])
            has_parts = own.xpath is not None or bool((own.end >= 0).any())
            if own.answers is not None and self.retrieved:
                own = own.with_columns(retrieved=self._find_retrieved(own))
            if self.index is not None:
                from foveal.collection.placement import place_elements, place_run

                snap, lenient = self.options.snap, self.options.lenient or own.answers is not None
                if structural:
                    own = place_elements(own, self.index, snap=snap, lenient=lenient)
                else:
                    own = place_run(own, self.index, lenient=lenient)
                if own.answers is not None and own.length is not None:
                    own = own.take(own.length >= 0)  # others cite no document, and are not valid
            aligned.append(align_run(own, gold, self.scored, self.options, has_parts=has_parts))
        return tuple(aligned)

    def _find_retrieved(self, run: Run) -> Run:
        """Return the run that answers were made from: the one they name, or the only one."""
        wanted = None if run.answers is None else run.answers.retrieved
        named = [own for own in self.retrieved if wanted in (None, own.name)]
        if len(named) != 1:
            given = shorten_list([own.name for own in self.retrieved])
            text = f"{run.source.path}: cannot tell which run the answers were made from; the "
            text += f"header names {wanted}, --retrieved gives {given}; expected one of them"
            raise UsageError(text)
        if self.index is None:
            return named[0]
        from foveal.collection.placement import place_run

        return place_run(named[0], self.index)

    def score(self, run: RunLike | tuple[AlignedRun, ...]) -> tuple[Scores, ...]:
        """Score a run, or a file, or what `align` returned, against each assessor's judgements."""
        scores = []
        for aligned in run if isinstance(run, tuple) else self.align(run):
            alignment, own = aligned.limited, aligned.limited.run
            in_run = np.zeros(len(aligned.gold.topics), dtype=bool)
            in_run[alignment.judged_topic] = True
            topic_at = aligned.gold.topic_at
            in_run[[topic_at[t] for t in own.topics_without_results if t in topic_at]] = True
            # The share of judged documents among the first 10 results of each topic.
            sizes = np.minimum(np.diff(own.bounds), score_warnings.TOP)
            top = np.arange(min(score_warnings.TOP, int(sizes.max(initial=0))))
            rows = np.minimum(own.bounds[:-1, None] + top, len(own) - 1)
            judged = alignment.document_row[own.documents.number[rows]] >= 0
            seen = (judged & (top < sizes[:, None])).sum(axis=1)
            shares = np.where(sizes > 0, seen, np.nan) / np.maximum(sizes, 1)
            names = None
            if not alignment.in_judgements.all():
                from foveal.evaluation.document_names import match_names

                names = match_names(alignment)
            scored = Scores(
                name=aligned.run.name,
                source=aligned.run.source,
                task=aligned.run.task,
                values=score_measures(aligned, self.scored),
                judged_shares=dict(zip(own.topics, shares.tolist(), strict=True)),
                in_run=in_run,
                unjudged_topics=len(aligned.run.topics) - len(own.topics),
                results=len(own),
                judged_results=len(own) if names is None else names.known,
                names=names,
                has_parts=aligned.has_parts,
                notes=aligned.run.notes,
                counts=aligned.counts,
            )
            scores.append(scored)
        return tuple(scores)

    def locate(self, path: str) -> str:
        """Return the path of a client's file as seen from this process."""
        here = path == STDIN or self._folder == str(Path.cwd())
        return path if here else str(Path(self._folder, path))

    def read_run(self, path: str | Path) -> Run:
        """Read a run; report its path as the user typed it, wherever this process runs."""
        place = self.locate(str(path))
        # Readers replace what is not UTF-8 in names.
        shown, long = (os.fsencode(name).decode(errors="replace") for name in (path, place))
        try:
            with nullcontext() if self.max_bytes is None else limit_bytes(self.max_bytes):
                run = read_run(place, hashed=self.hashed)
        except InputError as error:
            raise InputError(
                problem._replace(file=shown) if problem.file == long else problem
                for problem in error.problems
            ) from None
        return run if shown == long else replace(run, source=replace(run.source, path=shown))

    # -- results --------------------------------------------------------------------------------

    def results(self, scores: Iterable[tuple[Scores, ...]]) -> Results:
        """Return the table of the scores of all runs, with means, warnings and provenance."""
        by_run = list(scores)
        if not by_run:
            raise UsageError("no run given")
        shape = [(len(gold.topics), len(self.scored)) for gold in self.golds]
        good = (isinstance(own, tuple) and [s.values.shape for s in own] == shape for own in by_run)
        if not all(good):
            raise UsageError(
                "expected a list of what this evaluation's score() returned, one item per run"
            )
        options, topics, warnings = self.options, self.judgements.topics, list(self.warnings)
        preset = None
        if self.task is not None:
            from foveal.evaluation.presets import find_preset

            preset = find_preset(self.task)
        names = distinguish_names((own[0].name, own[0].source) for own in by_run)
        labels, blocks = list[str](), list[Floats]()
        masks, undefined = list[Bools](), list[Bools]()
        tasks: dict[str, str | None] = {}
        per_run: dict[str, Any] = {}
        shares: dict[str, float] = {}
        truth = self.judgements
        # Where measures are not asked: most on unanswerable topics, some on the others.
        unasked = np.array([topic in truth.unanswerable for topic in topics])[:, None] != np.array(
            [measure.on_unanswerable for measure in self.scored]
        )
        has_parts = bool(len(truth.start)) or truth.places is not None or truth.elements is not None
        columns = zip(*by_run, strict=True)  # the scores of all runs, by assessor
        for assessor, gold, column in zip(self.assessors, self.golds, columns, strict=True):
            # An assessor may not have judged every topic; those are not counted.
            place = np.array([topics.index(topic) for topic in gold.topics], dtype=np.int64)
            common = np.all([own.in_run for own in column], axis=0)
            if options.topics == "both" and not common.any():
                raise UsageError("the runs have no judged topic in common to average over")
            for name, own in zip(names, column, strict=True):
                in_mean = {"judged": True, "run": own.in_run, "both": common}[options.topics]
                label = name if assessor is None else f"{name}[{assessor}]"
                values = np.full((len(topics), len(self.scored)), np.nan)
                counts = np.zeros(len(topics), dtype=bool)
                counts[place] = in_mean
                values[place] = own.values
                values[~counts] = np.nan
                undefined.append(np.isnan(values) & counts[:, None] & ~unasked)
                if options.undefined == "zero":
                    values[undefined[-1]] = 0.0
                labels.append(label)
                blocks.append(values)
                masks.append(counts)
                tasks[label] = own.task
                share = own.judged_results / own.results if own.results else None
                per_run[label] = {
                    "in_run": int(own.in_run.sum()),
                    "not_judged": own.unjudged_topics,
                    "results_in_judged_documents": share,
                }
                known = [
                    share
                    for topic, share in own.judged_shares.items()
                    if not (math.isnan(share) or topic in truth.unanswerable)
                ]
                shares[label] = float(np.mean(known)) if known else math.nan
                has_parts = has_parts or own.has_parts
                if own.names is not None:
                    from foveal.evaluation.document_names import warn_about_names

                    warnings += warn_about_names(label, own.names, gold)
                notes = [*filter(None, own.notes), *describe_counts(own.counts)]
                if preset is not None and own.task and not preset.is_for(own.task):
                    notes.append(f"declares the task {own.task}, scored as {self.task}")
                absent = int((~own.in_run & ~gold.unanswerable).sum())
                if absent and options.topics == "judged":
                    notes.append(f"judged topics without a result, scored 0: {absent}")
                warnings += [Note(getattr(note, "code", "run.note"), note, label) for note in notes]
        values, in_means = np.stack(blocks), np.stack(masks)
        # The values on topic "all": means over the topics that count, sums where these are asked.
        used = in_means[:, :, None] & ~np.isnan(values)
        totals, numbers = np.where(used, values, 0.0).sum(axis=1), used.sum(axis=1)
        with np.errstate(invalid="ignore", divide="ignore"):
            overall = np.where([own.summed for own in self.scored], totals, totals / numbers)
        for measure in (own for own in self.scored if own.averages):
            parts = overall[:, [self.scored.index(part) for part in measure.averages]]
            means = np.nansum(parts, 1) / np.maximum((~np.isnan(parts)).sum(axis=1), 1)
            means[np.isnan(parts).all(axis=1)] = np.nan
            overall[:, self.scored.index(measure)] = means
        # Measures that were scored only to be averaged are not shown.
        shown = len(self.measures)
        measures = tuple(measure.label for measure in self.measures)
        for label, averaged in zip(labels, numbers[:, :shown].tolist(), strict=True):
            per_run[label]["averaged"] = dict(zip(measures, averaged, strict=True))
        anywhere, skipped = np.any(undefined, axis=0)[:, :shown], options.undefined == "skip"
        if anywhere.any():
            warnings += score_warnings.describe_undefined(
                anywhere, topics, self.measures, skipped=skipped
            )
        low = {label: share for label, share in shares.items() if share < 1}
        if low and score_warnings.has_negative_judgements(self.judgements):
            warnings.append(score_warnings.describe_unjudged(low))
        documents = [measure for measure in self.measures if measure.name in ("P", "R")]
        if has_parts and documents:
            warnings.append(score_warnings.explain_document_measures(documents))
        sources = [*self.sources, *(("run", own[0].source) for own in by_run)]
        default = asdict(Options())
        meta: dict[str, Any] = {
            "version": __version__,
            "measures": list(measures),
            "task": None if preset is None else preset.name,
            "tasks": tasks,
            "options": {k: v for k, v in asdict(options).items() if v != default[k]},
            "inputs": [
                {"kind": kind, "path": source.path, "sha256": source.sha256}
                | ({"ir_metadata": source.metadata} if source.metadata else {})
                for kind, source in sources
            ],
            "topics": {"judged": len(topics), "runs": per_run},
            "unjudged": {
                "k": score_warnings.TOP,
                "judged": {k: None if math.isnan(share) else share for k, share in shares.items()},
            },
            "warnings": warnings,
        }
        if any(Need.MEAN_LENGTH in measure.needs for measure in self.measures):
            meta["mean_length"] = {"L": self.mean_length, "source": self.mean_length_source}
            warnings.append(f"L=auto is {self.mean_length:.6g}: {self.mean_length_source}")
        lower = [measure.label for measure in self.measures if measure.higher_is_better is False]
        meta |= {"lower_is_better": lower} if lower else {}
        values, overall = values[:, :, :shown], overall[:, :shown]
        results = Results(tuple(labels), topics, measures, values, in_means, overall, meta)
        if self.topic_groups is not None:
            from foveal.evaluation.topic_groups import add_groups

            results = add_groups(results, self.topic_groups)
        return results


def average_lengths(length: Ints, given: Judgements) -> tuple[float, str]:
    """Return the mean of the known lengths of judged documents, and what it is the mean of."""
    known = length[length >= 0]
    documents = plural(len(known), "judged document")
    source = f"mean length of {documents} (all topics: {len(given.topics)})"
    return float(known.mean()) if len(known) else math.nan, source


def score_measures(aligned: AlignedRun, measures: Sequence[Measure]) -> Floats:
    """Return the scores (topic, measure) on all judged topics.

    Measures that differ only in their cut-offs are scored together, as points of a curve.
    """
    values = np.empty((len(aligned.gold.topics), len(measures)))
    curves: dict[Any, list[int]] = {}
    for column, measure in enumerate(measures):
        key = (aligned.overlaps[measure], type(measure), measure.key)
        curves.setdefault(key, []).append(column)
    for (overlap, kind, *_), columns in curves.items():
        points = [measures[column] for column in columns]
        values[:, columns] = kind.score_curve(points, aligned.limited.with_overlap(overlap))
    asked = [measure.on_unanswerable for measure in measures]
    values[aligned.gold.unanswerable[:, None] != np.array(asked)] = np.nan
    return values


# -- many runs -------------------------------------------------------------------------------------


def evaluate(
    runs: RunLike | Sequence[RunLike] | Objects,
    judgements: Judgements | str | Path | Sequence[str | Path] | Objects,
    measures: str | Measure | Sequence[str | Measure] = (),
    *,
    executor: Executor | None = None,
    progress: Callable[[], None] | None = None,
    memory: int | str | None = None,
    bounds: bool = False,
    **options: Any,
) -> Results:
    """Score runs against judgements.

    Parameters
    ----------
    runs : Run, path, a sequence of them, or Python objects
        Objects as `foveal.run_of` takes them are one run: ``{topic: [result, ...]}``, rows that
        name their topic, or a data frame, which may hold several in a column ``run``. Several
        others are a list of ``run_of(results, name=...)``.
    judgements, measures, **options
        The parameters of `foveal.Evaluation`, such as `task` and `collection`, and the fields of
        `foveal.evaluation.Options`. Without measures and task, the task is ``rag``.
    executor : concurrent.futures.Executor, optional
        Where runs are scored; by default in a thread per core. Other processes
        (`foveal.executors`) read the files themselves.
    progress : callable, optional
        Called for each run when it is scored.
    memory : int or str, optional
        What each task may use for a run, in bytes or as in ``"2G"``, by default a share of what is
        free; larger files are read in groups of topics, from temporary files in ``TMPDIR``.
    bounds : bool
        Also compute `Results.bounds`: the least and the greatest score over the unjudged text of
        all runs. These are in memory together, and are scored in this process.

    Examples
    --------
    >>> run = Run.from_results({"1": [("D1", 20, 40), ("D2", 0, 50)]}, name="mine")
    >>> truth = Judgements.from_highlights({"1": {"D2": {"spans": [(0, 50)], "length": 50}}})
    >>> evaluate(run, truth, ["iP@0.01", "charR"]).aggregate()
    {'mine': {'iP@0.01': 0.7142857142857143, 'charR': 1.0}}

    Results of a retriever and judged spans as they are:

    >>> chunks = [{"source": "D2", "start_index": 10, "text": "returned text"}]
    >>> evaluate({"1": chunks}, {"1": [("D2", 0, 50)]}, "charR").aggregate()
    {'run': {'charR': 0.26}}
    """
    given: list[RunLike]
    if isinstance(runs, (Run, str, Path)):
        given = [runs]
    elif isinstance(runs, (list, tuple)) and all(isinstance(r, (Run, str, Path)) for r in runs):
        given = list(runs)
    else:
        from foveal.adapters import runs_of

        given = runs_of(runs)
    if not given:
        raise UsageError("no run given")
    task, defaults = options.get("task"), list[str]()
    if (task is None and not measures) or str(task).casefold() == "rag":
        from foveal.evaluation.presets import DEFAULT, choose_rag

        options["task"] = choose_rag(given)
        defaults = [DEFAULT.format(options["task"])] if task is None else []
    evaluation: Evaluation
    threads = None
    score: Callable[[Evaluation, RunLike], tuple[Scores, ...]] = Evaluation.score
    files = [judgements] if isinstance(judgements, (str, Path)) else judgements
    inputs = [*given, *files] if isinstance(files, (list, tuple)) else given
    paths = [Path(file) for file in inputs if isinstance(file, (str, Path)) and file != STDIN]
    small = all(path.is_file() and path.stat().st_size <= _LARGE for path in paths)
    if bounds and memory is not None:
        raise UsageError("bounds need all runs in memory at once; leave out the memory limit")
    if not bounds and (memory is not None or not small):  # or missing, a folder, a pattern, a pipe
        from foveal.evaluation.large import GroupedEvaluation, prepare

        evaluation, score = prepare(judgements, measures, memory, options, given)
        if isinstance(evaluation, GroupedEvaluation):  # its temporary file is of this process
            threads, executor = 1, executor if isinstance(executor, ThreadPoolExecutor) else None
    else:
        evaluation = Evaluation(judgements, measures, **options)
    evaluation.warnings += defaults
    try:
        if bounds:
            from foveal.evaluation.bounding import score_with_bounds

            return score_with_bounds(evaluation, given, progress)
        scores = map_runs(score, evaluation, given, executor, progress, threads=threads)
        return evaluation.results(scores)
    except InputError as error:
        if defaults and error.problems[0].code.startswith("measure.needs_"):
            hint = "no measure is given, and -t rag cannot score these files; name measures (-m)"
            raise InputError(error.problems, summary=hint) from None
        raise


def map_runs(
    function: Callable[[Evaluation, RunLike], T],
    evaluation: Evaluation,
    runs: Sequence[RunLike],
    executor: Executor | None = None,
    progress: Callable[[], None] | None = None,
    threads: int | None = None,
) -> Iterator[T]:
    """Yield ``function(evaluation, run)`` for each run in order.

    Without an executor, runs are scored in `threads`, by default one per core.
    """
    if executor is None and len(runs) == 1:
        yield function(evaluation, runs[0])
        if progress is not None:
            progress()
        return
    from foveal.executors import count_cores, map_in_order

    with ExitStack() as stack:
        if executor is None:
            executor = stack.enter_context(
                ThreadPoolExecutor(threads or min(count_cores(), len(runs)))
            )
        else:
            # Other processes cannot read this one's standard input.
            runs = [
                evaluation.read_run(run) if not isinstance(run, Run) and is_stream(run) else run
                for run in runs
            ]
        for result in map_in_order(executor, function, runs, shared=evaluation):
            yield result
            if progress is not None:
                progress()
