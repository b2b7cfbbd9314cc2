"""Score runs as configurations of EvalJ ask, the evaluator of 2005 and 2006."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from foveal.errors import InputError, Problem, UsageError, some
from foveal.evaluation.evalj_configuration import (
    CODE,
    Configuration,
    Metric,
    TaskBlock,
    Word,
    read_value,
)
from foveal.evaluation.evaluation import RunLike, evaluate
from foveal.evaluation.presets import normalise_task
from foveal.files.atomic import write_file
from foveal.files.source import Source, is_xml
from foveal.formats import read_judgements, read_run, read_topics
from foveal.formats.markup import read_markup
from foveal.formats.result_files import DATA_FORMATS
from foveal.measures import Measure, parse_measures
from foveal.model import Judgements, Results, Run

MOST_RESULTS = 1500
"""Results per topic that EvalJ looked at."""

# -- which files -------------------------------------------------------------------------------

_NAME = re.compile(r"\$(?:\{(\w+)\}|(\w+))")
_MAGIC = re.compile(r"[*?[]")
_UNSAFE = re.compile(r'[/\\:*?"<>|%\x00-\x1f\x7f]|^\.')


@dataclass(frozen=True)
class Job:
    """One block with its files."""

    configuration: Configuration
    block: TaskBlock
    runs: tuple[RunLike, ...]
    judgements: tuple[str, ...]
    results: Path | None
    warnings: tuple[str, ...] = ()

    @property
    def measures(self) -> dict[Metric, tuple[Measure, ...]]:
        """Each metric and its measures."""
        found = {}
        for metric in self.block.metrics:
            try:
                parsed = [measure for text in metric.texts for measure in parse_measures(text)]
            except UsageError as error:
                raise self.configuration.error(metric.line, f"{metric.name}: {error}") from None
            found[metric] = tuple(parsed)
        return found


class JobResults(NamedTuple):
    """A job and its results."""

    job: Job
    results: Results


def plan(
    configuration: Configuration,
    *,
    runs: Sequence[RunLike] = (),
    judgements: Sequence[str] = (),
    define: Mapping[str, str] | None = None,
) -> tuple[Job, ...]:
    """Find the files of every block, before any is scored.

    Parameters
    ----------
    configuration : Configuration
    runs, judgements : sequences of paths
        If given, they replace those of the file.
    define : mapping of name to text, optional
        The texts that replace ``$name`` in paths.
    """
    define = define or {}
    used = {
        match[1] or match[2]
        for block in configuration.blocks
        for word in (*block.assessments, *block.runs, block.results)
        if word is not None
        for match in _NAME.finditer(word.text)
    }
    unused = [name for name in define if name not in used]
    if unused:
        raise UsageError(f"{configuration.source.path} has no path with ${unused[0]} to fill in")
    jobs: list[Job] = []
    problems: list[Problem] = []
    declared: dict[str, str | None] = {}  # each run is read once for its task
    for block in configuration.blocks:
        try:
            for given, own, what in (
                (runs, block.runs, "no runs are named, neither here nor as RUN..."),
                (judgements, block.assessments, "no assessments are named, neither here nor by -j"),
            ):
                if not given and not own:
                    raise configuration.error(block.line, what)
            every: Sequence[RunLike] = runs or _find_files(configuration, block.runs, define)
            chosen, silent = _choose_runs(configuration, block, every, declared)
            assessments = judgements or _find_files(configuration, block.assessments, define)
            folder = None
            if block.results is not None:
                folder = _find_path(configuration, block.results, define)
                if folder.exists() and not folder.is_dir():
                    raise configuration.error(
                        block.results.line, f"{block.results.text!r} is a file, not a folder"
                    )
        except InputError as error:
            problems += error.problems
            continue
        left_out = f"runs that declare no task, left out: {len(silent)} ({some(silent, 3)})"
        warnings = (left_out,) if silent else ()
        jobs.append(Job(configuration, block, tuple(chosen), tuple(assessments), folder, warnings))
    if problems:
        raise InputError(dict.fromkeys(problems))
    return tuple(jobs)


def _choose_runs(
    configuration: Configuration,
    block: TaskBlock,
    runs: Sequence[RunLike],
    declared: dict[str, str | None],
) -> tuple[list[RunLike], list[str]]:
    """Return the runs that declare a task of the block, and the names of those without a task."""
    if not block.tasks:
        return list(runs), []
    wanted = set(map(_drop_year, block.tasks))
    chosen: list[RunLike] = []
    silent: list[str] = []
    others: dict[str, None] = {}
    for run in runs:
        if isinstance(run, Run):
            name, task = run.name, run.task
        else:
            name = str(run)
            if name not in declared:
                declared[name] = read_run(run).task
            task = declared[name]
        if task is None:
            silent.append(name)
        elif _drop_year(task) in wanted:
            chosen.append(run)
        else:
            others[task] = None
    if not chosen:
        task = " or ".join(block.tasks)
        hint = f"they declare {', '.join(others)}" if others else "none does"
        raise configuration.error(block.line, f"no run declares the task {task}; {hint}")
    return chosen, silent


def _drop_year(task: str) -> str:
    """Return the key of a task without the year that may precede it."""
    return normalise_task(re.sub(r"^\s*[0-9]{4}\.", "", task))


def _find_path(configuration: Configuration, word: Word, define: Mapping[str, str]) -> Path:
    """Return a path with every ``$name`` filled in.

    It is relative to the configuration's folder, unless it begins with a name: the value of that
    comes from the command line and is relative to the working directory.
    """

    def fill_in(match: re.Match[str]) -> str:
        name = match[1] or match[2]
        if name not in define:
            raise configuration.error(
                word.line, f"${name} is not defined; give --define {name}=PATH"
            )
        return define[name]

    text = _NAME.sub(fill_in, word.text)
    folder = Path() if word.text.startswith("$") else Path(configuration.source.path).parent
    return folder / text


def _find_files(
    configuration: Configuration, words: Sequence[Word], define: Mapping[str, str]
) -> list[str]:
    """Return the files that match the patterns, and all files of folders that match them."""
    found: dict[str, None] = {}
    for word in words:
        path = _find_path(configuration, word, define)
        matching = [path] if path.exists() else []
        if not matching and _MAGIC.search(str(path)):
            first = next(i for i, part in enumerate(path.parts) if _MAGIC.search(part))
            below = Path(*path.parts[:first]).glob(str(Path(*path.parts[first:])))
            matching = sorted(own for own in below if not own.name.startswith("."))
        if word.text.endswith("/"):
            matching = [own for own in matching if own.is_dir()]
        if not matching:
            raise configuration.error(word.line, f"nothing fits {word.text!r}")
        files = [
            str(file)
            for own in matching
            for file in (sorted(own.rglob("*")) if own.is_dir() else [own])
            if file is own or (file.is_file() and not file.name.startswith("."))
        ]
        if not files:
            raise configuration.error(word.line, f"{word.text!r} holds no file")
        found |= dict.fromkeys(files)
    return list(found)


# -- scores ------------------------------------------------------------------------------------


def score(
    jobs: Sequence[Job],
    *,
    collection: str | Path | None = None,
    executor: Executor | None = None,
    progress: Callable[[], None] | None = None,
    **options: Any,
) -> tuple[JobResults, ...]:
    """Score jobs one after the other; the options are those of `foveal.evaluate`."""
    measures = [job.measures for job in jobs]
    options = {**options, "max_results": options.get("max_results") or MOST_RESULTS}
    read: dict[tuple[str, ...], Judgements] = {}
    outcomes = []
    for job, by_metric in zip(jobs, measures, strict=True):
        if job.judgements not in read:
            read[job.judgements] = read_judgements(job.judgements)
        truth = read[job.judgements]
        results = evaluate(
            list(job.runs),
            truth,
            [measure for every in by_metric.values() for measure in every],
            collection=collection,
            executor=executor,
            progress=progress,
            **options | _select(job, truth, options),
        )
        source = job.configuration.source
        mine = {"kind": "configuration", "path": source.path, "sha256": source.sha256}
        meta = {
            **results.meta,
            "inputs": [mine, *results.meta["inputs"]],
            "warnings": [*job.warnings, *results.meta["warnings"]],
        }
        outcomes.append(JobResults(job, replace(results, meta=meta)))
    seen: dict[tuple[str, ...], int] = {}
    for job, results in outcomes:  # refuse two values of one run and measure in one place
        names = results.measures
        if job.results is not None:
            names = tuple(metric.name for metric in job.block.metrics)
        for key in ((str(job.results), run, name) for run in results.runs for name in names):
            if key in seen:
                raise job.configuration.error(
                    job.block.line,
                    f"run {key[1]!r} has been scored by {key[2]} in the block on line {seen[key]}; "
                    "blocks of one task need a RESULTS_DIR, or a file, each of their own",
                )
            seen[key] = job.block.line
    return tuple(outcomes)


def _select(job: Job, judgements: Judgements, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of the block: its topics and pools, unless given, and the task's rule."""
    block, error = job.block, job.configuration.error
    focused = any(_drop_year(task).endswith("focused") for task in block.tasks)
    selected: dict[str, Any] = {"warn_overlap": focused}
    topics = judgements.topics
    if block.pools and not options.get("pools"):
        known, path = judgements.assessors, job.configuration.source.path
        unknown = [
            Problem(CODE, path, line, f"no assessments of pool {text!r}")
            for text, line in block.pools
            if text not in known
        ]
        if unknown:
            raise InputError(unknown)
        selected["pools"] = tuple(word.text for word in block.pools)
        assert judgements.assessor is not None
        in_pools = judgements.assessor.is_in(list(selected["pools"])).fill_null(value=False)
        topics = judgements.only(in_pools.to_numpy()).topics
    if not block.query_types:
        return selected
    line, types = block.query_types[0].line, {word.text for word in block.query_types}
    topics_file = options.get("topics_file")
    kinds = {} if topics_file is None else read_topics(topics_file).kinds
    if any(topic not in kinds for topic in topics):
        kinds = _read_query_types(judgements) | kinds
    lacking = next((topic for topic in topics if topic not in kinds), None)
    if lacking is not None:
        raise error(
            line,
            f"the query type of topic {lacking!r} is not known: the assessments do not record it "
            "(<inex_topic query_type>), nor does a --topics-file",
        )
    wanted = []
    for topic in topics:
        with suppress(ValueError):  # an unknown type is not a wanted one
            if read_value("QUERY_TYPE", kinds[topic]) in types:
                wanted.append(topic)
    if not wanted:
        others = ", ".join(sorted({kinds[topic] for topic in topics}))
        wish = " or ".join(sorted(types))
        raise error(line, f"no topic is of type {wish}; they are {others}")
    only = options.get("only_topics")
    selected["only_topics"] = tuple(t for t in wanted if only is None or t in only)
    if not selected["only_topics"]:
        raise UsageError("none of the wanted topics is of the wanted type")
    return selected


def _read_query_types(judgements: Judgements) -> dict[str, str]:
    """Return the query types of topics that the files of the judgements record."""
    found = {}
    for path in dict.fromkeys(source.path for source in judgements.sources):
        source = Source.open(path) if Path(path).is_file() else None  # a pipe is read already
        if source is not None and is_xml(source):
            markup = read_markup(source)
            (topic,) = markup.values(np.array([0]), "topic")
            for kind in markup.values(markup.named("inex-topic"), "query-type"):
                if topic and kind:
                    found[topic] = kind
    return found


# -- results -----------------------------------------------------------------------------------


def format_result_files(outcome: JobResults, *, per_topic: bool) -> dict[Path, str]:
    """Return a file for each run and metric, if the block names a folder for them."""
    job, results = outcome
    files: dict[Path, str] = {}
    if job.results is None:
        return files
    for run in results.runs:
        for metric, measures in job.measures.items():
            own = results.of_runs([run]).only(list(map(str, measures)))
            text = DATA_FORMATS["tsv"](own, per_topic=per_topic)
            name = f"{_file_name(run)}.{_file_name(metric.name.replace('/', '-'))}.tsv"
            files[job.results / name] = str(text)
    return files


def write_results(files: Mapping[Path, str]) -> None:
    """Write files into their folders; missing folders are made."""
    for folder in dict.fromkeys(path.parent for path in files):
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError.at(
                "file.unwritable", str(folder), None, f"cannot be made: {error.strerror}"
            ) from None
    for path, content in files.items():
        write_file(path, content)


def _file_name(text: str) -> str:
    return _UNSAFE.sub(lambda found: f"%{ord(found[0]):02X}", text)
