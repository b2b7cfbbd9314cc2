"""Score runs as configurations of EvalJ ask, the evaluator of 2005 and 2006.

A configuration is a property file, or the ``<metrics>`` XML of 2006. Its blocks say by which
measures the runs of a task are scored; property files also name the files.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from glob import glob
from pathlib import Path
from typing import Any, NamedTuple

from foveal.errors import InputError, Problem, UsageError, shorten_list
from foveal.evaluation.evaluation import RunLike, evaluate
from foveal.evaluation.presets import normalise_task
from foveal.files.source import Source, is_xml, list_files
from foveal.formats import read_judgements, read_run, read_topics
from foveal.formats.markup import read_markup
from foveal.measures import Measure, parse_measures
from foveal.model import Judgements, Provenance, Results, Run
from foveal.model.topics import KINDS
from foveal.recall import QUANTISATIONS

CODE = "evalj.configuration"  # of all problems of configurations
MOST_RESULTS = 1500  # results per topic that EvalJ looked at
Properties = Mapping[str, Mapping[str, int]]  # the values of each key, and their lines


class TaskBlock(NamedTuple):
    """The settings of one task."""

    source: Provenance  # the configuration
    line: int
    tasks: tuple[str, ...]  # the runs that declare one of these tasks are scored; empty: all
    texts: tuple[str, ...]  # the measures in text form
    properties: Properties

    def error(self, line: int, text: str) -> InputError:
        return InputError.at(CODE, self.source.path, line, text)


def read_configuration(path: str | Path | Source) -> tuple[TaskBlock, ...]:
    """Return the blocks of a property file or ``<metrics>`` XML, recognised by its content."""
    source = path if isinstance(path, Source) else Source.open(path)
    return read_metrics(source) if is_xml(source) else read_properties(source)


def _match_word(word: str, known: Sequence[str]) -> str:
    """Return the known spelling of a word in any case; a ValueError lists the known words."""
    for name in known:
        if name.casefold() == word.casefold():
            return name
    raise ValueError(f"expected {' or '.join(known)}")


# -- property files --------------------------------------------------------------------------------

_WORDS: Mapping[str, Sequence[str]] = {
    "METRICS": ("nxCG", "ep/gr", "q"),
    "OVERLAP": ("on", "off"),
    "QUANT_FUNCTIONS": tuple(QUANTISATIONS),
    "QUERY_TYPE": KINDS,
}
"""The values of keys that have only a few."""
_REQUIRED = ("TASK", "METRICS", "OVERLAP", "QUANT_FUNCTIONS")
_WITH_BLANKS = ("TASK", "ASSESSMENTS_DIR", "SUBMISSIONRUNS_DIR", "RESULTS_DIR")
"""Keys whose values may hold blanks; only a comma ends one."""
_KNOWN = (*_WITH_BLANKS, *_WORDS, "ALPHA", "DCV", "POOLS")
_KEY = re.compile(r"([A-Za-z_][\w.-]*)\s*[:=](.*)", re.DOTALL)
_COMMENT = re.compile(r"(?:^|\s)#.*", re.DOTALL)
_MEASURES = {
    "nxCG": ("nxCG({})@{k}", "MAnxCG({})@{k}", "nxCG({})@curve"),
    "ep/gr": ("MAep({})", "iMAep({})", "ep({})@curve"),
    "q": ("Q({})", "Rmeasure({})"),
    "articles": ("FBarticle(score=MAep,{})", "FBarticle(score=iMAep,{})", "FBarticle({})@curve"),
    "elements": (
        *("FBelement(score=MAep,{})", "FBelement(score=iMAep,{})", "FBelement({})@curve"),
        "ep({})@curve",
    ),
}
"""The measures of each metric; in Fetch & Browse, ep/gr scores articles and elements."""


def read_value(key: str, text: str) -> str:
    """Return a value as measures and topics spell it; a ValueError says what was expected.

    >>> read_value("QUERY_TYPE", "COS"), read_value("OVERLAP", "ON")
    ('CO+S', 'on')
    """
    if key == "ALPHA":
        with suppress(ValueError):
            if 0 <= float(text) <= 1:
                return text
        raise ValueError("expected a number from 0 to 1")
    if key == "DCV":
        if not re.fullmatch(r"0*[1-9][0-9]{0,8}", text):
            raise ValueError("expected a rank, a whole number from 1")
        return str(int(text))
    if key == "QUERY_TYPE" and text.casefold() == "cos":
        return "CO+S"  # as users of EvalJ write it
    return _match_word(text, _WORDS[key]) if key in _WORDS else text


def read_properties(source: Source) -> tuple[TaskBlock, ...]:
    r"""Return the blocks of a property file; the error lists everything wrong with it.

    The first TASK joins the keys before it; every other one starts a new block.

    >>> text = "TASK: CO.Thorough\nMETRICS: q\nOVERLAP: off\nQUANT_FUNCTIONS: gen, strict"
    >>> (block,) = read_properties(Source.of_text(text))
    >>> block.tasks, block.texts[:2]
    (('CO.Thorough',), ('Q(quant=gen,overlap=off)', 'Rmeasure(quant=gen,overlap=off)'))
    """
    source.check_utf8()
    blocks: list[dict[str, dict[str, int]]] = []
    begins: list[int] = []  # the line of each block
    wrong: list[tuple[int, str]] = []
    key: str | None = None  # the key whose value goes on
    values: dict[str, int] = {}
    for line, content in enumerate(source.data.decode().removeprefix("\ufeff").split("\n"), 1):
        text = _COMMENT.sub("", content).strip()
        keyed = _KEY.fullmatch(text)
        if keyed is not None:
            name, text = keyed.groups()
            key, values = "POOLS" if name == "POOL" else name, {}
            if not blocks or (key == "TASK" and key in blocks[-1]):
                blocks.append({})
                begins.append(line)
            if key == "TASK":
                begins[-1] = line
            if key not in _KNOWN:
                wrong.append((line, f"unknown key {name!r}; expected {', '.join(_KNOWN)}"))
            elif key in blocks[-1]:
                wrong.append((line, f"{name} is given twice in this block"))
            blocks[-1].setdefault(key, values)
        elif text and key is None:
            wrong.append((line, f"{text!r} belongs to no key; expected KEY: value"))
        pieces = text.split(",") if key in _WITH_BLANKS else re.split(r"[,\s]+", text)
        for value in filter(None, map(str.strip, pieces if key else ())):
            try:
                values.setdefault(read_value(str(key), value), line)
            except ValueError as expected:
                values[value] = line
                wrong.append((line, f"{key} {value!r} is not possible; {expected}"))
    for block, line in zip(blocks, begins, strict=True) if not wrong else ():
        empty = [key for key in dict.fromkeys([*_REQUIRED, *block]) if not block.get(key)]
        wrong += [(line, f"{key} has no value in this block") for key in empty]
        if "nxCG" in block.get("METRICS", ()) and "DCV" not in block:
            wrong.append((line, "nxCG is measured at cut-offs; DCV is missing"))
    if wrong:
        raise InputError(Problem(CODE, source.path, line, text) for line, text in wrong)
    if not blocks:
        raise source.error(CODE, None, "the configuration is empty; expected lines KEY: value")
    return tuple(
        TaskBlock(source.provenance, line, (task,), _list_measures(block, task), block)
        for block, line in zip(blocks, begins, strict=True)
        for task in block["TASK"]
    )


def _list_measures(block: Properties, task: str) -> tuple[str, ...]:
    """Return the measures of all metrics, for all combinations of their parameters."""
    texts: list[str] = []
    # Alpha weighs text that was seen before; without overlap there is none.
    alphas = {"on": [f",alpha={alpha}" for alpha in block.get("ALPHA", ("1",))], "off": [""]}
    for metric in block["METRICS"]:
        browses = metric == "ep/gr" and normalise_task(task).endswith("fetchbrowse")
        for quant in block["QUANT_FUNCTIONS"]:
            if browses:
                texts += [form.format(f"quant={quant}") for form in _MEASURES["articles"]]
            texts += [
                form.format(f"quant={quant},overlap={overlap}{alpha}", k=k)
                for overlap in block["OVERLAP"]
                for alpha in alphas[overlap]
                for form in _MEASURES["elements" if browses else metric]
                for k in (block.get("DCV", ()) if "{k}" in form else ("",))
            ]
    return tuple(dict.fromkeys(texts))


# -- the XML of 2006 -------------------------------------------------------------------------------

_TARGETS = {
    "BEPTargetGenerator": "bep",
    "IdealTargetGenerator": "ideal",
    "PassageTargetGenerator": "passages",
}
_BEHAVIOURS = {
    "BEPDistance": "bep",
    "Classic": "classic",
    "Hierarchical": "hierarchical",
    "T2I": "t2i",
}
"""EvalJ's names to ours."""
_VALUES: Mapping[str, Sequence[str]] = {
    "a": (),
    "t": (),
    "binary": ("true", "false"),
    "generator": tuple(_TARGETS),
    "quantisation": ("Exh", *QUANTISATIONS),
    "behaviour": tuple(_BEHAVIOURS),
}
"""The elements of entries, and their values where these are not numbers."""
_INSIDE = {
    "BEPD": ("a",),
    "EPRUM": ("binary", "generator", "quantisation", "behaviour"),
    "BEPDistance": ("a",),
    "T2I": ("t",),
}
"""The elements that may be in an entry, or in a behaviour."""


def read_metrics(source: Source) -> tuple[TaskBlock, ...]:
    """Return the entries of a ``<metrics>`` file, those for the same tasks in one block.

    >>> file = '<metrics><BEPD only="BestInContext"><a value="10"/></BEPD></metrics>'
    >>> (block,) = read_metrics(Source.of_text(file))
    >>> block.texts, block.tasks
    (('BEPD(A=10)',), ('BestInContext',))
    """
    markup = read_markup(source)

    def refuse(element: int, text: str) -> InputError:
        return source.error(CODE, int(markup.line[element]), text)

    if markup.tags[0] != "metrics":
        raise refuse(0, f"root element <{markup.tags[0]}>; expected <metrics>")
    by_tasks: dict[tuple[str, ...], tuple[int, list[str]]] = {}
    entry = 1
    while entry < len(markup.tags):
        tag, own, values = markup.tags[entry], markup.attributes.get(entry, {}), dict[str, str]()
        if tag not in ("EPRUM", "BEPD") or not own.keys() <= {"id", "only"}:
            shown = " ".join([tag, *own])
            text = f"unknown metric or attribute <{shown}>; expected <EPRUM> or <BEPD>, id and only"
            raise refuse(entry, text)
        for i in range(entry + 1, int(markup.end[entry])):
            name, value = markup.tags[i].lower(), markup.attributes.get(i, {}).get("value", "")
            level = int(markup.depth[i] - markup.depth[entry])
            within = {1: tag, 2: values.get("behaviour", "")}.get(level, "")
            if name not in _INSIDE.get(within, ()) or name in values:
                raise refuse(i, f"unknown or repeated element <{markup.tags[i]}> in <{tag}>")
            try:
                values[name] = _match_word(value, _VALUES[name]) if _VALUES[name] else value
            except ValueError as expected:
                raise refuse(i, f"{name} {value!r} is not possible; {expected}") from None
        if values.get("binary") == "false" and "quantisation" not in values:
            raise refuse(entry, "<binary> is false, but there is no <quantisation> of weights")
        settings = {} if tag == "BEPD" else _choose_targets(values)
        settings |= {name.upper(): values[name] for name in ("a", "t") if name in values}
        inside = ",".join(f"{name}={value}" for name, value in settings.items())
        text = f"{tag}({inside})" if inside else tag
        try:
            parse_measures(text)
        except UsageError as error:
            raise refuse(entry, str(error)) from None
        tasks = tuple(filter(None, map(str.strip, own.get("only", "").split(","))))
        _, texts = by_tasks.setdefault(tasks, (int(markup.line[entry]), []))
        texts += [text] if tag == "BEPD" else [text, f"{text}@curve"]
        entry = int(markup.end[entry])
    if not by_tasks:
        raise refuse(0, "<metrics> holds no entry; expected <EPRUM> or <BEPD>")
    return tuple(
        TaskBlock(source.provenance, line, tasks, tuple(texts), {})
        for tasks, (line, texts) in by_tasks.items()
    )


def _choose_targets(values: Mapping[str, str]) -> dict[str, str]:
    """Return the parameters of EPRUM that differ from its defaults."""
    targets = _TARGETS[values.get("generator", "BEPTargetGenerator")]
    natural = "bep" if targets == "bep" else "hierarchical"
    behaviour = _BEHAVIOURS[values["behaviour"]] if "behaviour" in values else natural
    settings = {} if behaviour == natural else {"behaviour": behaviour}
    settings |= {} if targets == "bep" else {"targets": targets}
    grade = values.get("quantisation", "Exh")
    if values.get("binary", "false" if "quantisation" in values else "true") == "true":
        # Targets count alike, but the function still chooses the ideal elements.
        return settings | ({"quant": grade} if targets == "ideal" and grade != "Exh" else {})
    if grade != "Exh":
        return settings | {"weight": "quant", "quant": grade}
    # An entry point has the exhaustivity of its document, and 2006 has only one degree of that.
    return settings | ({} if targets == "bep" else {"weight": "exh"})


# -- which files -----------------------------------------------------------------------------------

_NAME = re.compile(r"\$(?:\{(\w+)\}|(\w+))")


class Job(NamedTuple):
    """One block with its measures and files."""

    block: TaskBlock
    measures: tuple[Measure, ...]
    runs: tuple[RunLike, ...]
    judgements: tuple[str, ...]
    warnings: tuple[str, ...] = ()


def plan(
    blocks: Sequence[TaskBlock],
    *,
    runs: Sequence[RunLike] = (),
    judgements: Sequence[str] = (),
    define: Mapping[str, str] | None = None,
) -> tuple[Job, ...]:
    """Find the files of every block of a configuration, before any is scored.

    Runs and judgements, if given, replace those of the file; `define` has the texts that replace
    ``$name`` in paths.
    """
    jobs: list[Job] = []
    problems: list[Problem] = []
    declared: dict[str, str | None] = {}  # each run is read once for its task
    for block in blocks:
        try:
            every = runs or _find_files(block, "SUBMISSIONRUNS_DIR", define or {})
            assessments = judgements or _find_files(block, "ASSESSMENTS_DIR", define or {})
            chosen, warnings = _choose_runs(block, every, declared)
        except InputError as error:
            problems += error.problems
            continue
        if "RESULTS_DIR" in block.properties:
            warnings.append("RESULTS_DIR is ignored; all results go to the standard output or -o")
        measures = tuple(own for text in block.texts for own in parse_measures(text))
        jobs.append(Job(block, measures, tuple(chosen), tuple(assessments), tuple(warnings)))
    if problems:
        raise InputError(dict.fromkeys(problems))
    return tuple(jobs)


def _choose_runs(
    block: TaskBlock, runs: Sequence[RunLike], declared: dict[str, str | None]
) -> tuple[list[RunLike], list[str]]:
    """Return the runs that declare a task of the block, and a warning about undeclared ones."""
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
    left_out = f"runs that declare no task, left out: {len(silent)} ({shorten_list(silent, 3)})"
    return chosen, [left_out] if silent else []


def _drop_year(task: str) -> str:
    """Return the key of a task without the year that may precede it."""
    return normalise_task(re.sub(r"^\s*[0-9]{4}\.", "", task))


def _find_files(block: TaskBlock, key: str, define: Mapping[str, str]) -> list[str]:
    """Return the files that match the patterns, and all files of folders that match them.

    Paths are relative to the configuration's folder, unless they begin with a ``$name``: its value
    comes from the command line and is relative to the working directory.
    """
    if key not in block.properties:
        raise block.error(block.line, f"there is no {key}; give files on the command line")
    found: dict[str, None] = {}
    for given, line in block.properties[key].items():
        names = [one or other for one, other in _NAME.findall(given)]
        for name in names:
            if name not in define:
                raise block.error(line, f"${name} is not defined; give --define {name}=PATH")
        filled = _NAME.sub(lambda match: define[match[1] or match[2]], given)
        folder = Path() if given.startswith("$") else Path(block.source.path).parent
        path = str(folder / filled) + ("/" if given.endswith("/") else "")
        matching = [path]
        if not Path(path).exists():
            matching = sorted(glob(path, recursive=True))  # noqa: PTH207 - without hidden files
        if not matching:
            raise block.error(line, f"no file or folder matches {given!r}")
        found |= dict.fromkeys(map(str, list_files(matching, "file")))
    return list(found)


# -- scores ----------------------------------------------------------------------------------------


def score(jobs: Sequence[Job], **options: Any) -> tuple[Results, ...]:
    """Score jobs one after the other; the options are those of `foveal.evaluate`."""
    options["max_results"] = options.get("max_results") or MOST_RESULTS
    read: dict[tuple[str, ...], Judgements] = {}
    found: list[Results] = []
    scored: dict[tuple[str, str], int] = {}  # the line of the block of each run and measure
    for job in jobs:
        block = job.block
        if job.judgements not in read:
            read[job.judgements] = read_judgements(job.judgements)
        truth = read[job.judgements]
        chosen = options | _select(block, truth, options)
        results = evaluate(list(job.runs), truth, job.measures, **chosen)
        mine = {"kind": "configuration", "path": block.source.path, "sha256": block.source.sha256}
        meta = dict(results.meta) | {"inputs": [mine, *results.meta["inputs"]]}
        meta["warnings"] = [*job.warnings, *results.meta["warnings"]]
        found.append(replace(results, meta=meta))
        for key in ((run, name) for run in results.runs for name in results.measures):
            if scored.setdefault(key, block.line) != block.line:
                raise block.error(
                    block.line,
                    f"run {key[0]!r} has been scored by {key[1]} in the block on line "
                    f"{scored[key]}; blocks of one task need a file each of their own",
                )
    return tuple(found)


def _select(block: TaskBlock, judgements: Judgements, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of the block: its topics and pools, unless given, and the task's rule."""
    focused = any(_drop_year(task).endswith("focused") for task in block.tasks)
    selected: dict[str, Any] = {"warn_overlap": focused}
    pools, types = (block.properties.get(key, {}) for key in ("POOLS", "QUERY_TYPE"))
    if pools and not options.get("pools"):
        for text, line in pools.items():
            if text not in judgements.assessors:
                raise block.error(line, f"no assessments of pool {text!r}")
        selected["pools"] = tuple(pools)
        assert judgements.assessor is not None
        in_pools = judgements.assessor.is_in(list(pools)).fill_null(value=False)
        judgements = judgements.only(in_pools.to_numpy())
    if not types:
        return selected
    line, *_ = types.values()
    topics_file, only = options.get("topics_file"), options.get("only_topics")
    kinds = _read_query_types(judgements)
    kinds |= {} if topics_file is None else read_topics(topics_file).kinds
    lacking = next((topic for topic in judgements.topics if topic not in kinds), None)
    if lacking is not None:
        raise block.error(
            line,
            f"the query type of topic {lacking!r} is not known: the assessments do not record it "
            "(<inex_topic query_type>), nor does a --topics-file",
        )
    wanted = []
    for topic in judgements.topics:
        with suppress(ValueError):  # an unknown type is not a wanted one
            if read_value("QUERY_TYPE", kinds[topic]) in types and (only is None or topic in only):
                wanted.append(topic)
    if not wanted:
        others = ", ".join(sorted({kinds[topic] for topic in judgements.topics}))
        wish = " or ".join(sorted(types))
        raise block.error(line, f"no topic to score is of type {wish}; the types are {others}")
    return selected | {"only_topics": tuple(wanted)}


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
