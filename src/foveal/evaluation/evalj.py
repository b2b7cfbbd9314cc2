"""Configurations of EvalJ, the evaluator of 2005 and 2006: read, planned and scored."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from foveal.errors import InputError, Problem, UsageError, some
from foveal.evaluation.evalj_metrics import Metric, near, read_metrics
from foveal.evaluation.evalj_properties import Block, Word, query_type, read_properties
from foveal.evaluation.presets import task_key
from foveal.evaluation.scoring import RunLike, evaluate
from foveal.formats import Source, read_judgements, read_run, read_topics, write_file
from foveal.formats.markup import is_xml, read_markup
from foveal.formats.results import DATA_FORMATS
from foveal.measures import Measure, parse_measures
from foveal.model import Judgements, Provenance, Results, Run

__all__ = [
    "MOST_RESULTS",
    "Configuration",
    "Job",
    "Outcome",
    "plan",
    "read_configuration",
    "result_files",
    "score",
    "write_results",
]

MOST_RESULTS = 1500
"""Results of a topic that EvalJ looked at."""

_NAME = re.compile(r"\$(?:\{(\w+)\}|(\w+))")
_MAGIC = re.compile(r"[*?[]")
_ROOT = re.compile(rb"<inex[-_]submission\b(?:[^>\"']|\"[^\"]*\"|'[^']*')*>", re.IGNORECASE)
_HEAD = 100_000
"""Bytes in which a submission opens."""
_UNSAFE = re.compile(r'[/\\:*?"<>|%\x00-\x1f\x7f]|^\.')


@dataclass(frozen=True)
class Configuration:
    """A configuration file: what to score, block by block."""

    source: Provenance
    blocks: tuple[Block, ...]

    def error(self, line: int, message: str) -> InputError:
        return InputError.at(self.source.path, line, message)


@dataclass(frozen=True)
class Job:
    """One block with the files it is about."""

    configuration: Configuration
    block: Block
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


@dataclass(frozen=True)
class Outcome:
    """A job and what it came to."""

    job: Job
    results: Results


def read_configuration(path: str | Path) -> Configuration:
    """Read a property file or ``<metrics>`` XML; which it is shows in its content."""
    source = Source.open(path)
    if not is_xml(source):
        return Configuration(source.provenance, read_properties(source))
    by_tasks: dict[tuple[str, ...], list[Metric]] = {}
    for metric in read_metrics(source):
        by_tasks.setdefault(metric.only, []).append(metric)
    blocks = (Block(own[0].line, tasks, tuple(own)) for tasks, own in by_tasks.items())
    return Configuration(source.provenance, tuple(blocks))


# -- which files -------------------------------------------------------------------------------


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
        Where given, they stand for what the file says.
    define : mapping of name to text, optional
        What ``$name`` in a path stands for.
    """
    define = define or {}
    written = [word for block in configuration.blocks for word in _paths(block)]
    used = {name for word in written for name in _names(word.text)}
    unused = [name for name in define if name not in used]
    if unused:
        raise UsageError(f"{configuration.source.path} has no path with ${unused[0]} to fill in")
    places = _Places(configuration, define)
    jobs: list[Job] = []
    problems: list[Problem] = []
    declared: dict[str, str | None] = {}
    for block in configuration.blocks:
        try:
            jobs.append(_job(configuration, block, places, runs, judgements, declared))
        except InputError as error:
            problems += error.problems
    if problems:
        raise InputError(dict.fromkeys(problems))
    return tuple(jobs)


def _paths(block: Block) -> Iterator[Word]:
    yield from block.assessments
    yield from block.runs
    if block.results is not None:
        yield block.results


def _names(text: str) -> list[str]:
    return [braced or plain for braced, plain in _NAME.findall(text)]


def _job(
    configuration: Configuration,
    block: Block,
    places: _Places,
    runs: Sequence[RunLike],
    judgements: Sequence[str],
    declared: dict[str, str | None],
) -> Job:
    for given, written, what in (
        (runs, block.runs, "no runs are named, neither here nor as RUN..."),
        (judgements, block.assessments, "no assessments are named, neither here nor by -j"),
    ):
        if not given and not written:
            raise configuration.error(block.line, what)
    every: Sequence[RunLike] = runs or places.files(block.runs)
    chosen, silent = _of_task(configuration, block, every, declared)
    left_out = f"runs that declare no task, left out: {len(silent)} ({some(silent, 3)})"
    return Job(
        configuration,
        block,
        tuple(chosen),
        tuple(judgements or places.files(block.assessments)),
        None if block.results is None else places.folder(block.results),
        (left_out,) if silent else (),
    )


def _of_task(
    configuration: Configuration,
    block: Block,
    runs: Sequence[RunLike],
    declared: dict[str, str | None],
) -> tuple[list[RunLike], list[str]]:
    """The runs that declare a task of the block, and the names of those that declare none."""
    if not block.tasks:
        return list(runs), []
    wanted = {_task(task) for task in block.tasks}
    chosen: list[RunLike] = []
    silent: list[str] = []
    others: dict[str, None] = {}
    for run in runs:
        task = run.task if isinstance(run, Run) else _declared(run, declared)
        if task is None:
            silent.append(run.name if isinstance(run, Run) else str(run))
        elif _task(task) in wanted:
            chosen.append(run)
        else:
            others[task] = None
    if not chosen:
        task = " or ".join(block.tasks)
        said = f"they declare {', '.join(others)}{near(task, others)}" if others else "none does"
        raise configuration.error(block.line, f"no run declares the task {task}; {said}")
    return chosen, silent


def _task(name: str) -> str:
    """A task without the year that may stand before it."""
    return task_key(re.sub(r"^\s*[0-9]{4}\.", "", name))


def _declared(run: str | Path, known: dict[str, str | None]) -> str | None:
    """The task that a file declares; it is read once."""
    name = str(run)
    if name not in known:
        known[name] = _task_of(Source.open(run))
    return known[name]


def _task_of(source: Source) -> str | None:
    """The declared task, of XML from the first tag alone: a folder may hold runs of many tasks."""
    opening = _ROOT.search(source.data, 0, _HEAD) if is_xml(source) else None
    if opening is not None and not opening[0].endswith(b"/>"):
        tag = opening[0][1:].split()[0].rstrip(b">")
        head = replace(source, data=source.data[: opening.end()] + b"</" + tag + b">")
        with suppress(InputError):  # the tag may stand in a comment
            return read_markup(head).attributes.get(0, {}).get("task", "").strip() or None
    return read_run(source).task


@dataclass(frozen=True)
class _Places:
    """Paths as a configuration writes them, found on the disk."""

    configuration: Configuration
    define: Mapping[str, str]

    def path(self, word: Word) -> Path:
        """With every ``$name`` filled in. A path is relative to the configuration's folder, but
        what stands for its first name was written on the command line: relative to where we are.
        """

        def filled(match: re.Match[str]) -> str:
            name = match[1] or match[2]
            if name not in self.define:
                raise self.configuration.error(
                    word.line, f"${name} is not defined; give --define {name}=PATH"
                )
            return self.define[name]

        text = _NAME.sub(filled, word.text)
        if word.text.startswith("$"):
            return Path(text)
        return Path(self.configuration.source.path).parent / text

    def files(self, words: Sequence[Word]) -> list[str]:
        """The files that the patterns fit, and all files of the folders that they fit."""
        found: dict[str, None] = {}
        for word in words:
            fitting = _fitting(self.path(word))
            if word.text.endswith("/"):
                fitting = [path for path in fitting if path.is_dir()]
            if not fitting:
                raise self.configuration.error(word.line, f"nothing fits {word.text!r}")
            files = [file for path in fitting for file in _inside(path)]
            if not files:
                raise self.configuration.error(word.line, f"{word.text!r} holds no file")
            found |= dict.fromkeys(files)
        return list(found)

    def folder(self, word: Word) -> Path:
        """The folder for results, which need not exist."""
        path = self.path(word)
        if path.exists() and not path.is_dir():
            raise self.configuration.error(word.line, f"{word.text!r} is a file, not a folder")
        return path


def _fitting(path: Path) -> list[Path]:
    if path.exists() or not _MAGIC.search(str(path)):
        return [path] if path.exists() else []
    first = next(i for i, part in enumerate(path.parts) if _MAGIC.search(part))
    pattern = str(Path(*path.parts[first:]))
    return sorted(found for found in Path(*path.parts[:first]).glob(pattern) if _shown(found))


def _inside(path: Path) -> list[str]:
    if not path.is_dir():
        return [str(path)]
    return [str(file) for file in sorted(path.rglob("*")) if file.is_file() and _shown(file)]


def _shown(path: Path) -> bool:
    return not path.name.startswith(".")


# -- scores ------------------------------------------------------------------------------------


def score(
    jobs: Sequence[Job],
    *,
    collection: str | Path | None = None,
    executor: Executor | None = None,
    progress: Callable[[], None] | None = None,
    **options: Any,
) -> tuple[Outcome, ...]:
    """Score jobs one after the other; the options are those of `foveal.evaluate`."""
    measures = [job.measures for job in jobs]
    options = {**options, "max_results": options.get("max_results") or MOST_RESULTS}
    read: dict[tuple[str, ...], _Truth] = {}
    outcomes = []
    for job, by_metric in zip(jobs, measures, strict=True):
        if job.judgements not in read:
            read[job.judgements] = _Truth(read_judgements(job.judgements))
        truth = read[job.judgements]
        results = evaluate(
            list(job.runs),
            truth.judgements,
            [measure for every in by_metric.values() for measure in every],
            collection=collection,
            executor=executor,
            progress=progress,
            **options | _selection(job, truth, options),
        )
        outcomes.append(Outcome(job, replace(results, meta=_meta(job, results))))
    _check_distinct(outcomes)
    return tuple(outcomes)


@dataclass(frozen=True)
class _Truth:
    """Assessments, and the types that they record of their topics."""

    judgements: Judgements

    @cached_property
    def kinds(self) -> dict[str, str]:
        """Topic to query type, where the assessments say it."""
        found = {}
        for path in dict.fromkeys(source.path for source in self.judgements.sources):
            source = Source.open(path) if Path(path).is_file() else None  # not of a pipe
            if source is None or not is_xml(source):
                continue
            markup = read_markup(source)
            (topic,) = markup.values(np.array([0]), "topic")
            for kind in markup.values(markup.named("inex-topic"), "query-type"):
                if topic and kind:
                    found[topic] = kind
        return found


def _selection(job: Job, truth: _Truth, options: Mapping[str, Any]) -> dict[str, Any]:
    """The topics and pools of the block, unless the options say other ones; the task's rule."""
    block, judgements = job.block, truth.judgements
    focused = any(_task(task).endswith("focused") for task in block.tasks)
    selected: dict[str, Any] = {"warn_overlap": focused}
    topics = judgements.topics
    if block.pools and not options.get("pools"):
        unknown = [word for word in block.pools if word.text not in judgements.assessors]
        if unknown:
            known = judgements.assessors
            raise InputError(
                Problem(
                    job.configuration.source.path,
                    word.line,
                    f"no assessments of pool {word.text!r}{near(word.text, known)}",
                )
                for word in unknown
            )
        selected["pools"] = tuple(word.text for word in block.pools)
        topics = _judged_in(judgements, selected["pools"])
    if block.query_types:
        wanted = _of_type(job, truth, topics, options.get("topics_file"))
        only = options.get("only_topics")
        selected["only_topics"] = tuple(t for t in wanted if only is None or t in only)
        if not selected["only_topics"]:
            raise UsageError("none of the wanted topics is of the wanted type")
    return selected


def _judged_in(judgements: Judgements, pools: Sequence[str]) -> tuple[str, ...]:
    assert judgements.assessor is not None
    return judgements.only(
        judgements.assessor.is_in(list(pools)).fill_null(value=False).to_numpy()
    ).topics


def _of_type(
    job: Job, truth: _Truth, topics: Sequence[str], topics_file: str | None
) -> tuple[str, ...]:
    """The topics of the block's query types."""
    line = job.block.query_types[0].line
    stated = {} if topics_file is None else read_topics(topics_file).kinds
    kinds = stated if all(topic in stated for topic in topics) else truth.kinds | stated
    lacking = next((topic for topic in topics if topic not in kinds), None)
    if lacking is not None:
        raise job.configuration.error(
            line,
            f"the query type of topic {lacking!r} is not known: the assessments do not record it "
            "(<inex_topic query_type>), nor does a --topics-file",
        )
    wanted = {word.text for word in job.block.query_types}
    found = tuple(topic for topic in topics if _kind(kinds[topic]) in wanted)
    if not found:
        others = ", ".join(sorted({kinds[topic] for topic in topics}))
        raise job.configuration.error(
            line, f"no topic is of type {' or '.join(sorted(wanted))}; they are {others}"
        )
    return found


def _kind(text: str) -> str:
    try:
        return query_type(text)
    except ValueError:  # no type of ours, and so none that is wanted
        return text


def _meta(job: Job, results: Results) -> dict[str, Any]:
    """The provenance of the results, with the configuration."""
    source = job.configuration.source
    mine = {"kind": "configuration", "path": source.path, "sha256": source.sha256}
    return {
        **results.meta,
        "inputs": [mine, *results.meta["inputs"]],
        "warnings": [*job.warnings, *results.meta["warnings"]],
    }


# -- results -----------------------------------------------------------------------------------


def _check_distinct(outcomes: Sequence[Outcome]) -> None:
    """Refuse two values of one run and measure that end up in one place."""
    seen: dict[tuple[str, ...], int] = {}
    for outcome in outcomes:
        job, results = outcome.job, outcome.results
        place = "" if job.results is None else str(job.results)
        names = (
            results.measures
            if job.results is None
            else [metric.name for metric in job.block.metrics]
        )
        for key in ((place, run, name) for run in results.runs for name in names):
            if key in seen:
                raise job.configuration.error(
                    job.block.line,
                    f"run {key[1]!r} has been scored by {key[2]} in the block on line {seen[key]}; "
                    "blocks of one task need a RESULTS_DIR, or a file, each of their own",
                )
            seen[key] = job.block.line


def result_files(outcome: Outcome, *, per_topic: bool) -> dict[Path, str]:
    """A file for each run and metric, where the block names a folder for them."""
    job, results = outcome.job, outcome.results
    if job.results is None:
        return {}
    columns = {
        metric.name: [results.measures.index(label) for label in dict.fromkeys(map(str, measures))]
        for metric, measures in job.measures.items()
    }
    files = {}
    for i, run in enumerate(results.runs):
        for metric, at in columns.items():
            own = Results(
                (run,),
                results.topics,
                tuple(results.measures[k] for k in at),
                results.values[i : i + 1][:, :, at],
                results.counted[i : i + 1].copy(),
                results.overall[i : i + 1][:, at],
                results.meta,
            )
            text = DATA_FORMATS["tsv"](own, per_topic=per_topic)
            name = f"{_file_name(run)}.{_file_name(metric.replace('/', '-'))}.tsv"
            files[job.results / name] = str(text)
    return files


def write_results(files: Mapping[Path, str]) -> None:
    """Write files into their folders, which are made where they are missing."""
    for folder in dict.fromkeys(path.parent for path in files):
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError.at(str(folder), None, f"cannot be made: {error.strerror}") from None
    for path, content in files.items():
        write_file(path, content)


def _file_name(text: str) -> str:
    return _UNSAFE.sub(lambda found: f"%{ord(found[0]):02X}", text)
