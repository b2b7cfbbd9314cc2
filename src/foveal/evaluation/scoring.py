"""Score runs: one after the other or in parallel, into one table of results."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from decimal import Decimal
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from warnings import warn

import numpy as np
import numpy.typing as npt

from foveal._version import __version__
from foveal.adapters import judgements_or_files, runs_of
from foveal.collection.opened import opened
from foveal.errors import FovealWarning, UsageError, some
from foveal.evaluation.document_names import name_warning
from foveal.evaluation.large_truth import JudgedSlices
from foveal.evaluation.options import Options
from foveal.evaluation.portions import Scores, joined, score_portion
from foveal.evaluation.preparation import without_topics
from foveal.evaluation.presets import find_preset
from foveal.evaluation.shares import Share, named_as, shares_of
from foveal.evaluation.standard import Given, Standard
from foveal.evaluation.streaming import (
    is_large,
    memory_of,
    score_held,
    score_large,
    truth_of,
)
from foveal.evaluation.truth import Truth
from foveal.evaluation.unjudged import unjudged_meta, unjudged_warning
from foveal.executors import Processes, cores, in_order, refuse_forks, workers_of
from foveal.formats import is_stream, read_judgements, read_run
from foveal.formats.streams import limit_bytes
from foveal.measures import Measure, Need, find_measure, parse_measures
from foveal.measures.alignment import Gold
from foveal.measures.base import CURVE
from foveal.model import Judgements, Results, Run
from foveal.model.provenance import distinct_names

__all__ = ["Scores", "evaluate", "plan", "score_run"]

_SHOWN = 5
Floats = npt.NDArray[np.float64]
RunLike = Run | str | Path
Objects = Mapping[Any, Any] | Iterable[Any]
"""What `foveal.run_of` and `foveal.judgements_of` take; pandas' frames too, which have no type."""


def score_run(
    run: RunLike,
    judged: Gold | JudgedSlices,
    measures: Sequence[Measure],
    options: Options,
    left_out: frozenset[str] = frozenset(),
    collection: str | None = None,
    memory: int | None = None,
    cache: str | None = None,
    *,
    hashed: bool = True,
) -> Scores:
    """Score one run, or read and score one file, on every judged topic.

    Results of topics that are `left_out` of the evaluation are not looked at. The `collection` is
    the path of an index: opening it again is cheaper than sending it to another process. A file
    that takes more than this `memory` is read in slices, others are kept in the `cache`. With
    `hashed`, the scores name the hash of the file.
    """
    if not isinstance(run, Run):
        scores = score_large(run, judged, measures, options, left_out, collection, memory=memory)
        if scores is not None:
            return scores
        run = read_run(run, cache=cache, hashed=hashed)
    if isinstance(judged, JudgedSlices):
        return score_held(run, judged, measures, options, left_out, memory=memory)
    topics = judged.judgements.topics
    run = without_topics(run, left_out, topics)
    index = None if collection is None else opened(collection)
    return joined([score_portion(run, judged, measures, options, index=index)], topics)


def score_share(share: Share) -> list[tuple[Scores, ...]]:
    """Score some runs against each part of the standard, in any process."""
    with limit_bytes(share.max_bytes):
        return _score_share(share)


def _score_share(share: Share) -> list[tuple[Scores, ...]]:
    parts = share.standard.parts
    collection = share.collection_here
    done = []
    for given, place in share.places:
        with named_as(given, place) as rename:
            # Read once, however many parts there are.
            one = len(parts) == 1 or is_large(place, share.memory)
            run = place if one else _read(place, share)
            scored = [
                score_run(
                    run,
                    part.judged,
                    share.measures,
                    share.options,
                    part.left_out,
                    collection,
                    share.memory,
                    share.cache,
                    hashed=share.hashed,
                )
                for part in parts
            ]
            done.append(tuple(replace(own, source=rename(own.source)) for own in scored))
    return done


def _read(run: RunLike, share: Share) -> Run:
    return run if isinstance(run, Run) else read_run(run, cache=share.cache, hashed=share.hashed)


def evaluate(
    runs: RunLike | Sequence[RunLike] | Objects,
    judgements: Judgements | str | Path | Sequence[str | Path] | Objects,
    measures: str | Measure | Sequence[str | Measure] = (),
    *,
    task: str | None = None,
    collection: str | Path | None = None,
    executor: Executor | None = None,
    progress: Callable[[], None] | None = None,
    memory: int | str | None = None,
    cache: str | Path | None = None,
    hashed: bool = True,
    **options: Any,
) -> Results:
    """Score runs against judgements.

    Parameters
    ----------
    runs : Run, path, a sequence of them, or Python objects
        Objects as `foveal.run_of` takes them are one run: ``{topic: [result, ...]}``, rows that
        name their topic, or a data frame, which may hold several in a column ``run``. Several
        others are a list of ``run_of(results, name=...)``.
    judgements : Judgements, path, a sequence of paths, or objects as for `foveal.judgements_of`
    measures : text or Python forms of measures
    task : str, optional
        A preset such as ``2009.Focused``; its measures come before `measures`.
    collection : path, optional
        A collection index: gives the place of results that are XPaths, and document lengths.
    executor : concurrent.futures.Executor, optional
        Where runs are scored; by default in a thread per core, which share reading and sorting.
        Other processes (`foveal.executors`) read the files themselves. The result is the same.
    progress : callable, optional
        Called for each run when it is scored.
    memory : int or str, optional
        What each task may use for a run, in bytes or as in ``"2G"``; larger files are read in
        slices of whole topics. By default a share of what is free. The result is the same.
    cache : path, optional
        A folder in which runs are kept as columns, so that scoring the same files again skips
        parsing. It is safe to delete, and never changes a score.
    hashed : bool
        Keep the hashes of runs in `Results.meta`. They take a tenth of the time, and where only
        scores are wanted nobody reads them. Those of judgements are kept in any case, and of runs
        that are read in slices.
    **options
        The fields of `foveal.evaluation.Options`.

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
    chosen, settings = plan(measures, task, options)
    limit = None if memory is None else memory_of(str(memory))
    run_list: list[RunLike] = [_readable(run) for run in runs_of(runs)]
    if not run_list:
        raise UsageError("no run given")
    given = _readable_again(judgements_or_files(judgements))
    averaged = (part for measure in chosen for part in measure.averages)
    scored = tuple(dict.fromkeys([*chosen, *averaged]))
    truth = truth_of(given, settings, collection, scored, limit)
    nested = [measure for measure in chosen if measure.structural]
    if settings.overlap == "union" and nested:
        truth.warnings.append(
            f"--overlap union is about text and changes nothing for {_listed(nested)}; measures of "
            "elements have a parameter overlap"
        )
    standard = Standard.of(truth, scored, given, collection, limit)
    place = None if collection is None else str(collection)
    kept = None if cache is None else str(Path(cache).absolute())
    share = partial(
        Share,
        standard,
        scored,
        settings,
        place,
        str(Path.cwd()),
        memory=limit,
        cache=kept,
        hashed=hashed,
    )
    done: list[tuple[Scores, ...]] = []
    with _pool(executor, run_list) as pool, _kept_for(pool, standard):
        shared = map(share, shares_of(run_list, 1 if pool is None else workers_of(pool)))
        for scores in in_order(pool, score_share, shared):
            done += scores
            if progress is not None:
                for _ in scores:
                    progress()
    by_part = zip(*done, strict=True)
    parts = [
        (part.assessor, part.judged, list(own))
        for part, own in zip(standard.parts, by_part, strict=True)
    ]
    return _results(parts, truth, scored, settings, task, shown=len(chosen))


def _readable(run: RunLike) -> RunLike:
    """A run that can be read again, and anywhere: what cannot is read here, once."""
    return read_run(run) if not isinstance(run, Run) and is_stream(run) else run


def _readable_again(given: Given) -> Given:
    """Judgements that other processes can read too."""
    if isinstance(given, Judgements):
        return given
    files = [given] if isinstance(given, (str, Path)) else given
    return read_judgements(files) if any(map(is_stream, files)) else given


@contextmanager
def _pool(executor: Executor | None, runs: Sequence[RunLike]) -> Iterator[Executor | None]:
    """The user's executor, or threads where there is more than one run to share out."""
    number = min(cores(), len(runs))
    if executor is not None:
        refuse_forks(executor)
    if executor is not None or number == 1:
        yield executor
        return
    with ThreadPoolExecutor(number) as threads:
        yield threads


@contextmanager
def _kept_for(pool: Executor | None, standard: Standard) -> Iterator[None]:
    """For processes of this machine, a folder from which they take what is prepared already."""
    with ExitStack() as stack:
        if isinstance(pool, Processes):
            with suppress(OSError):  # no room anywhere: they read what this process has read
                place = TemporaryDirectory(prefix="foveal-", ignore_cleanup_errors=True)
                standard.keep_in(stack.enter_context(place))
        yield


def plan(
    measures: str | Measure | Sequence[str | Measure], task: str | None, options: dict[str, Any]
) -> tuple[tuple[Measure, ...], Options]:
    """The distinct measures in order, and the options with the preset's own filled in."""
    given = [measures] if isinstance(measures, (str, Measure)) else list(measures)
    chosen: list[Measure] = []
    try:
        settings = Options(**options)
    except TypeError as error:
        raise UsageError(str(error).replace("Options.__init__() ", "")) from None
    if task is not None:
        preset = find_preset(task)
        chosen += preset.measures
        settings = replace(
            settings,
            overlap=settings.overlap or preset.overlap,
            topic_limit=settings.topic_limit or preset.topic_limit,
            document_limit=settings.document_limit or preset.document_limit,
            max_results=settings.max_results or preset.max_results,
            castitles_only=settings.castitles_only or preset.castitles_only,
            warn_overlap=preset.warn_overlap,
        )
    for item in given:
        chosen += parse_measures(item) if isinstance(item, str) else (item,)
    for measure in chosen:
        measure.check()
    if not chosen:
        raise UsageError("no measure given; name measures (-m) or an official task (-t)")
    return tuple(dict.fromkeys(chosen)), settings


def _results(
    parts: Sequence[tuple[str | None, Gold | JudgedSlices, list[Scores]]],
    truth: Truth,
    measures: tuple[Measure, ...],
    options: Options,
    task: str | None,
    *,
    shown: int,
) -> Results:
    """The first `shown` measures as a table; the others were scored to be averaged by them."""
    topics, warnings = truth.judgements.topics, truth.warnings
    runs: list[str] = []
    blocks: list[Floats] = []
    masks: list[npt.NDArray[np.bool_]] = []
    undefined: list[npt.NDArray[np.bool_]] = []
    per_run: dict[str, Any] = {}
    shares: dict[str, float] = {}
    names = distinct_names((scores.name, scores.source) for scores in parts[0][2])
    for assessor, judged, done in parts:
        # An assessor may not have judged every topic; those are not counted.
        place = np.array([topics.index(t) for t in judged.judgements.topics], dtype=np.int64)
        in_all = np.logical_and.reduce([s.in_run for s in done])
        if options.topics == "both" and not in_all.any():
            raise UsageError("the runs have no judged topic in common to average over")
        for name, scores in zip(names, done, strict=True):
            label = name if assessor is None else f"{name}[{assessor}]"
            values = np.full((len(topics), len(measures)), np.nan)
            counted = np.zeros(len(topics), dtype=bool)
            counted[place] = {"judged": True, "run": scores.in_run, "both": in_all}[options.topics]
            values[place] = scores.values
            values[~counted] = np.nan
            undefined.append(np.isnan(values) & counted[:, None])
            if options.undefined == "zero":
                values[undefined[-1]] = 0.0
            runs.append(label)
            blocks.append(values)
            masks.append(counted)
            per_run[label] = {
                "in_run": int(scores.in_run.sum()),
                "not_judged": scores.unjudged_topics,
                "results_in_judged_documents": scores.names.share,
            }
            shares[label] = scores.judged_share
            warnings += _run_warnings(label, scores, judged, options, task)
    values, counted = np.stack(blocks), np.stack(masks)
    overall, numbers = _overall(values, counted, measures)
    # What was scored only to be averaged is not asked for.
    measures, values = measures[:shown], values[:, :, :shown]
    overall, numbers = overall[:, :shown], numbers[:, :shown]
    fate = "not averaged" if options.undefined == "skip" else "counted as 0"
    undefined_anywhere = np.any(undefined, axis=0)[:, :shown]
    warnings += _undefined_warnings(undefined_anywhere, topics, measures, fate)
    unjudged = unjudged_warning(shares, truth.judgements)
    warnings += [unjudged] if unjudged else []
    if truth.has_parts or any(scores.has_parts for *_, done in parts for scores in done):
        warnings += _document_measure_notes(measures)
    labels = tuple(measure.label for measure in measures)
    for i, run in enumerate(runs):
        per_run[run]["averaged"] = dict(zip(labels, numbers[i].tolist(), strict=True))
    sources = [*truth.sources, *(("run", scores.source) for scores in parts[0][2])]
    meta = {
        "version": __version__,
        "measures": list(labels),
        "task": None if task is None else find_preset(task).name,
        "tasks": dict(zip(runs, (s.task for *_, done in parts for s in done), strict=True)),
        "options": options.changed(),
        "inputs": [
            {"kind": kind, "path": source.path, "sha256": source.sha256} for kind, source in sources
        ],
        "topics": {"judged": len(topics), "runs": per_run},
        "unjudged": unjudged_meta(shares),
        "warnings": warnings,
    }
    if any(Need.MEAN_LENGTH in measure.needs for measure in measures):
        meta["mean_length"] = {"L": truth.mean_length, "source": truth.mean_length_source}
        warnings.append(f"L=auto is {truth.mean_length:.6g}: {truth.mean_length_source}")
    lower = [measure.label for measure in measures if measure.higher_is_better is False]
    if lower:
        meta["lower_is_better"] = lower
    return Results(tuple(runs), topics, labels, values, counted, overall, meta)


def _run_warnings(
    label: str,
    scores: Scores,
    judged: Gold | JudgedSlices,
    options: Options,
    task: str | None,
) -> list[str]:
    """Return what is odd about a run; documents that are not judged are also a Python warning."""
    found = []
    misnamed = name_warning(scores.names, judged.names)
    if misnamed is not None:
        found.append(f"{label}: {misnamed}")
        warn(found[0], FovealWarning, stacklevel=4)  # where `evaluate` is called
    found += [f"{label}: {warning}" for warning in scores.warnings]
    if task is not None and scores.task and not find_preset(task).is_for(scores.task):
        found.append(f"{label}: declares the task {scores.task}, scored as {task}")
    absent = int((~scores.in_run).sum())
    if absent and options.topics == "judged":
        found.append(f"{label}: judged topics without a result, scored 0: {absent}")
    return found


def _overall(
    values: Floats, counted: npt.NDArray[np.bool_], measures: Sequence[Measure]
) -> tuple[Floats, npt.NDArray[np.int64]]:
    """The values on topic ``all`` by run and measure, and over how many topics they are."""
    used = counted[:, :, None] & ~np.isnan(values)
    totals = np.where(used, values, 0.0).sum(axis=1)
    numbers = used.sum(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        means = totals / numbers
    overall = np.where([measure.summed for measure in measures], totals, means)
    for k, measure in enumerate(measures):
        if measure.averages:
            own = overall[:, [measures.index(part) for part in measure.averages]]
            known = np.maximum((~np.isnan(own)).sum(axis=1), 1)
            overall[:, k] = np.where(np.isnan(own).all(axis=1), np.nan, np.nansum(own, 1) / known)
    return overall, numbers


def _undefined_warnings(
    undefined: npt.NDArray[np.bool_],
    topics: tuple[str, ...],
    measures: tuple[Measure, ...],
    fate: str,
) -> Iterator[str]:
    """Name the topics on which measures are `undefined`, and say what becomes of them."""
    by_topics: dict[tuple[str, ...], list[Measure]] = {}
    for k, measure in enumerate(measures):
        named = tuple(topic for topic, bad in zip(topics, undefined[:, k], strict=True) if bad)
        if named:
            by_topics.setdefault(named, []).append(measure)
    for named, those in by_topics.items():
        which = "all measures" if len(those) == len(measures) else _listed(those)
        yield f"topics with nothing relevant, {fate} ({which}), {len(named)}: {some(named)}"


def _document_measure_notes(measures: Sequence[Measure]) -> Iterator[str]:
    """Say that P and R count documents, if they are asked for, and which measures count text."""
    text = {"P": find_measure("charP"), "R": find_measure("charR")}
    own = [measure for measure in measures if measure.name in text]
    if own:
        shown = some([measure.label for measure in own])
        others = some([(text[measure.name] @ str(measure.at)).label for measure in own])
        s = "s" if len(own) == 1 else ""
        yield f"{shown} count{s} documents, not text; {others} count{s} text"


def _listed(measures: Sequence[Measure]) -> str:
    """Measures for reading: each once with all its cut-offs, a curve as such, only a few in all.

    >>> _listed(parse_measures("nxCG@curve") + parse_measures("nxCG@10") + parse_measures("MAep"))
    'nxCG@10,curve, MAep'
    """
    cutoffs: dict[Measure, list[Decimal]] = {}
    for measure in measures:
        own = cutoffs.setdefault(type(measure)(measure.settings), [])
        own += [] if measure.at is None else [measure.at]
    names = []
    for bare, given in cutoffs.items():
        points = [(bare @ point).at for point in bare.curve]
        whole = bool(points) and set(points) <= set(given)
        shown = [f"{at:f}" for at in given if not (whole and at in points)]
        shown += [CURVE] if whole else []
        names.append(f"{bare}@{','.join(shown)}" if shown else bare.label)
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more
