"""Score runs as configurations of EvalJ ask, the evaluator of 2005 and 2006."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from foveal.errors import InputError, Problem, UsageError, some
from foveal.evaluation.evalj_configuration import (
    CODE,
    Metric,
    TaskBlock,
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


class Job(NamedTuple):
    """One block with its files, and the folder for its results."""

    block: TaskBlock
    runs: tuple[RunLike, ...]
    judgements: tuple[str, ...]
    results: Path | None
    warnings: tuple[str, ...] = ()

    def list_measures(self) -> dict[Metric, tuple[Measure, ...]]:
        """Return each metric and its measures."""
        found = {}
        for metric in self.block.metrics:
            try:
                parsed = [measure for text in metric.texts for measure in parse_measures(text)]
            except UsageError as error:
                raise self.block.error(metric.line, f"{metric.name}: {error}") from None
            found[metric] = tuple(parsed)
        return found


def plan(
    blocks: Sequence[TaskBlock],
    *,
    runs: Sequence[RunLike] = (),
    judgements: Sequence[str] = (),
    define: Mapping[str, str] | None = None,
) -> tuple[Job, ...]:
    """Find the files of every block of a configuration, before any is scored.

    Parameters
    ----------
    blocks : sequence of TaskBlock
    runs, judgements : sequences of paths
        If given, they replace those of the file.
    define : mapping of name to text, optional
        The texts that replace ``$name`` in paths.
    """
    define = define or {}
    keys = ("ASSESSMENTS_DIR", "SUBMISSIONRUNS_DIR", "RESULTS_DIR")
    paths = [path for block in blocks for key in keys for path in block.properties.get(key, ())]
    used = {match[1] or match[2] for path in paths for match in _NAME.finditer(path)}
    unused = [name for name in define if name not in used]
    if unused:
        raise UsageError(f"{blocks[0].source.path} has no path with ${unused[0]} to fill in")
    jobs: list[Job] = []
    problems: list[Problem] = []
    declared: dict[str, str | None] = {}  # each run is read once for its task
    for block in blocks:
        try:
            if not runs and "SUBMISSIONRUNS_DIR" not in block.properties:
                raise block.error(block.line, "no runs are named, neither here nor as RUN...")
            if not judgements and "ASSESSMENTS_DIR" not in block.properties:
                raise block.error(
                    block.line, "no assessments are named, neither here nor by --judgements"
                )
            every: Sequence[RunLike] = runs or _find_files(block, "SUBMISSIONRUNS_DIR", define)
            chosen, silent = _choose_runs(block, every, declared)
            assessments = judgements or _find_files(block, "ASSESSMENTS_DIR", define)
            folder = None
            for path, line in block.properties.get("RESULTS_DIR", {}).items():
                folder = _find_path(block, path, line, define)
                if folder.exists() and not folder.is_dir():
                    raise block.error(line, f"{path!r} is a file, not a folder")
        except InputError as error:
            problems += error.problems
            continue
        left_out = f"runs that declare no task, left out: {len(silent)} ({some(silent, 3)})"
        warnings = (left_out,) if silent else ()
        jobs.append(Job(block, tuple(chosen), tuple(assessments), folder, warnings))
    if problems:
        raise InputError(dict.fromkeys(problems))
    return tuple(jobs)


def _choose_runs(
    block: TaskBlock, runs: Sequence[RunLike], declared: dict[str, str | None]
) -> tuple[list[RunLike], list[str]]:
    """Return the runs that declare a task of the block, and the names of those without a task."""
    if not block.tasks:
        return list(runs), []
    wanted = set(map(_drop_year, block.tasks))
    chosen: list[RunLike] = []
    silent: list[str] = []
    others: dict[str, None] = {}
    for run in runs:
        name = run.name if isinstance(run, Run) else str(run)
        if not isinstance(run, Run) and name not in declared:
            declared[name] = read_run(run).task
        task = run.task if isinstance(run, Run) else declared[name]
        if task is None:
            silent.append(name)
        elif _drop_year(task) in wanted:
            chosen.append(run)
        else:
            others[task] = None
    if not chosen:
        task = " or ".join(block.tasks)
        hint = f"they declare {', '.join(others)}" if others else "none does"
        raise block.error(block.line, f"no run declares the task {task}; {hint}")
    return chosen, silent


def _drop_year(task: str) -> str:
    """Return the key of a task without the year that may precede it."""
    return normalise_task(re.sub(r"^\s*[0-9]{4}\.", "", task))


def _find_path(block: TaskBlock, given: str, line: int, define: Mapping[str, str]) -> Path:
    """Return a path with every ``$name`` filled in.

    It is relative to the configuration's folder, unless it begins with a name: the value of that
    comes from the command line and is relative to the working directory.
    """

    def fill_in(match: re.Match[str]) -> str:
        name = match[1] or match[2]
        if name not in define:
            raise block.error(line, f"${name} is not defined; give --define {name}=PATH")
        return define[name]

    folder = Path() if given.startswith("$") else Path(block.source.path).parent
    return folder / _NAME.sub(fill_in, given)


def _find_files(block: TaskBlock, key: str, define: Mapping[str, str]) -> list[str]:
    """Return the files that match the patterns, and all files of folders that match them."""
    found: dict[str, None] = {}
    for given, line in block.properties[key].items():
        path = _find_path(block, given, line, define)
        matching = [path] if path.exists() else []
        if not matching and _MAGIC.search(str(path)):
            root = Path(path.anchor)
            below = root.glob(str(path.relative_to(root)))
            matching = sorted(own for own in below if not own.name.startswith("."))
        if given.endswith("/"):
            matching = [own for own in matching if own.is_dir()]
        if not matching:
            raise block.error(line, f"nothing fits {given!r}")
        files = [
            str(file)
            for own in matching
            for file in (sorted(own.rglob("*")) if own.is_dir() else [own])
            if file is own or (file.is_file() and not file.name.startswith("."))
        ]
        if not files:
            raise block.error(line, f"{given!r} holds no file")
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
) -> tuple[Results, ...]:
    """Score jobs one after the other; the options are those of `foveal.evaluate`."""
    measures = [[own for every in job.list_measures().values() for own in every] for job in jobs]
    options = {**options, "max_results": options.get("max_results") or MOST_RESULTS}
    read: dict[tuple[str, ...], Judgements] = {}
    found: list[Results] = []
    for job, wanted in zip(jobs, measures, strict=True):
        if job.judgements not in read:
            read[job.judgements] = read_judgements(job.judgements)
        truth = read[job.judgements]
        results = evaluate(
            list(job.runs),
            truth,
            wanted,
            collection=collection,
            executor=executor,
            progress=progress,
            **options | _select(job.block, truth, options),
        )
        source = job.block.source
        mine = {"kind": "configuration", "path": source.path, "sha256": source.sha256}
        meta = {
            **results.meta,
            "inputs": [mine, *results.meta["inputs"]],
            "warnings": [*job.warnings, *results.meta["warnings"]],
        }
        found.append(replace(results, meta=meta))
    seen: dict[tuple[str, ...], int] = {}
    for job, results in zip(jobs, found, strict=True):  # refuse two values in one place
        block, names = job.block, results.measures
        if job.results is not None:
            names = tuple(metric.name for metric in block.metrics)
        for key in ((str(job.results), run, name) for run in results.runs for name in names):
            if key in seen:
                raise block.error(
                    block.line,
                    f"run {key[1]!r} has been scored by {key[2]} in the block on line {seen[key]}; "
                    "blocks of one task need a RESULTS_DIR, or a file, each of their own",
                )
            seen[key] = block.line
    return tuple(found)


def _select(block: TaskBlock, judgements: Judgements, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of the block: its topics and pools, unless given, and the task's rule."""
    focused = any(_drop_year(task).endswith("focused") for task in block.tasks)
    selected: dict[str, Any] = {"warn_overlap": focused}
    topics = judgements.topics
    pools, types = (block.properties.get(key, {}) for key in ("POOLS", "QUERY_TYPE"))
    if pools and not options.get("pools"):
        unknown = [
            Problem(CODE, block.source.path, line, f"no assessments of pool {text!r}")
            for text, line in pools.items()
            if text not in judgements.assessors
        ]
        if unknown:
            raise InputError(unknown)
        selected["pools"] = tuple(pools)
        assert judgements.assessor is not None
        in_pools = judgements.assessor.is_in(list(selected["pools"])).fill_null(value=False)
        topics = judgements.only(in_pools.to_numpy()).topics
    if not types:
        return selected
    line, *_ = types.values()
    topics_file = options.get("topics_file")
    kinds = {} if topics_file is None else read_topics(topics_file).kinds
    if any(topic not in kinds for topic in topics):
        kinds = _read_query_types(judgements) | kinds
    lacking = next((topic for topic in topics if topic not in kinds), None)
    if lacking is not None:
        raise block.error(
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
        raise block.error(line, f"no topic is of type {wish}; they are {others}")
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
            (topic,) = markup.values([0], "topic")
            for kind in markup.values(markup.named("inex-topic"), "query-type"):
                if topic and kind:
                    found[topic] = kind
    return found


# -- results -----------------------------------------------------------------------------------


def format_result_files(job: Job, results: Results, *, per_topic: bool) -> dict[Path, str]:
    """Return a file for each run and metric, if the block names a folder for them."""
    files: dict[Path, str] = {}
    if job.results is None:
        return files
    for run in results.runs:
        for metric, measures in job.list_measures().items():
            own = results.of_runs([run]).only(list(map(str, measures)))
            text = DATA_FORMATS["tsv"](own, per_topic=per_topic)
            first, last = (
                _UNSAFE.sub(lambda found: f"%{ord(found[0]):02X}", name)
                for name in (run, metric.name.replace("/", "-"))
            )
            files[job.results / f"{first}.{last}.tsv"] = str(text)
    return files


def write_results(files: Mapping[Path, str]) -> None:
    """Write files into their folders; missing folders are made."""
    for folder in dict.fromkeys(path.parent for path in files):
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            text = f"cannot be made: {error.strerror}"
            raise InputError.at("file.unwritable", str(folder), None, text) from None
    for path, content in files.items():
        write_file(path, content)
