"""Read configurations of EvalJ: property files, and the ``<metrics>`` XML of 2006."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from foveal.errors import InputError, Problem
from foveal.evaluation.presets import normalise_task
from foveal.files.source import Source, is_xml
from foveal.formats.markup import BLANKS, read_markup
from foveal.model import Provenance
from foveal.model.topics import KINDS
from foveal.recall import QUANTISATIONS

CODE = "evalj.configuration"
"""The code of all problems of configurations."""


class Word(NamedTuple):
    """A value of a property and its line."""

    text: str
    line: int


class Metric(NamedTuple):
    """A metric of a configuration: its name and line in the file, and its measures in text form.

    `only` holds the declared tasks of the runs it is for; empty for all runs.
    """

    name: str
    texts: tuple[str, ...]
    line: int
    only: tuple[str, ...] = ()


@dataclass(frozen=True)
class TaskBlock:
    """The settings of one task.

    Parameters
    ----------
    line : int
        Where the task is named.
    tasks : tuple of str
        The runs that declare one of these tasks are scored; empty: all.
    metrics : tuple of Metric
    query_types : tuple of Word
        Topics of these types count; empty: all.
    pools : tuple of Word
        Assessments of these pools count; empty: all.
    assessments, runs : tuple of Word
        Patterns of files and folders; empty where the file does not name any.
    results : Word, optional
        The folder for the results.
    """

    line: int
    tasks: tuple[str, ...]
    metrics: tuple[Metric, ...]
    query_types: tuple[Word, ...] = ()
    pools: tuple[Word, ...] = ()
    assessments: tuple[Word, ...] = ()
    runs: tuple[Word, ...] = ()
    results: Word | None = None


@dataclass(frozen=True)
class Configuration:
    """The blocks of a configuration file."""

    source: Provenance
    blocks: tuple[TaskBlock, ...]

    def error(self, line: int, text: str) -> InputError:
        return InputError.at(CODE, self.source.path, line, text)


def read_configuration(path: str | Path) -> Configuration:
    """Read a property file or ``<metrics>`` XML, recognised by its content."""
    source = Source.open(path)
    if not is_xml(source):
        return Configuration(source.provenance, read_properties(source))
    by_tasks: dict[tuple[str, ...], list[Metric]] = {}
    for metric in read_metrics(source):
        by_tasks.setdefault(metric.only, []).append(metric)
    blocks = (TaskBlock(own[0].line, tasks, tuple(own)) for tasks, own in by_tasks.items())
    return Configuration(source.provenance, tuple(blocks))


def _match_word(word: str, known: Sequence[str]) -> str:
    """Return the known spelling of a word in any case; a ValueError lists the known words."""
    by_fold = {name.casefold(): name for name in known}
    if word.casefold() not in by_fold:
        raise ValueError(f"expected {' or '.join(known)}")
    return by_fold[word.casefold()]


def _parse_number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return float("nan")


# -- property files ----------------------------------------------------------------------------

_FIELDS = {
    "QUERY_TYPE": "query_types",
    "POOLS": "pools",
    "ASSESSMENTS_DIR": "assessments",
    "SUBMISSIONRUNS_DIR": "runs",
}
"""The keys that fields of a `TaskBlock` hold as they are."""
_WORDS: Mapping[str, Sequence[str]] = {
    "METRICS": ("nxCG", "ep/gr", "q"),
    "OVERLAP": ("on", "off"),
    "QUANT_FUNCTIONS": tuple(QUANTISATIONS),
    "QUERY_TYPE": KINDS,
}
"""The values of keys that have only a few."""
_REQUIRED = ("TASK", "METRICS", "OVERLAP", "QUANT_FUNCTIONS")
_KNOWN = (
    *("TASK", "METRICS", "ALPHA", "OVERLAP", "QUANT_FUNCTIONS", "DCV", "ASSESSMENTS_DIR"),
    *("QUERY_TYPE", "SUBMISSIONRUNS_DIR", "POOLS", "RESULTS_DIR"),
)
_ALIASES = {"POOL": "POOLS"}
_WITH_BLANKS = ("TASK", "ASSESSMENTS_DIR", "SUBMISSIONRUNS_DIR", "RESULTS_DIR")
"""Keys whose values may hold blanks; only a comma ends one."""

_KEY = re.compile(r"\s*([A-Za-z_][\w.-]*)\s*[:=](.*)", re.DOTALL)
_ANOTHER = re.compile(rf"(?:^|\s)({'|'.join((*_KNOWN, *_ALIASES))})(?:\s*[:=]|\s|$)")
_COMMENT = re.compile(r"(?:^|\s)#.*", re.DOTALL)


class _Property(NamedTuple):
    """A key of a block: its line and values."""

    line: int
    words: list[Word]

    @property
    def texts(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(word.text for word in self.words))


def read_value(key: str, text: str) -> str:
    """Return a value as measures and topics spell it; a ValueError says what was expected.

    >>> read_value("QUERY_TYPE", "COS"), read_value("OVERLAP", "ON")
    ('CO+S', 'on')
    """
    if key == "ALPHA" and not 0 <= _parse_number(text) <= 1:
        raise ValueError("expected a number from 0 to 1")
    if key == "DCV":
        if not re.fullmatch(r"[0-9]{1,9}", text) or int(text) < 1:
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
    >>> block.tasks, block.metrics[0].texts[:2]
    (('CO.Thorough',), ('Q(quant=gen,overlap=off)', 'Rmeasure(quant=gen,overlap=off)'))
    """
    source.check_utf8()
    blocks: list[dict[str, _Property]] = []
    wrong: list[tuple[int, str]] = []
    wrong_values: list[tuple[int, str]] = []
    key: str | None = None  # the key whose value goes on; empty after a refused one
    for line, content in enumerate(source.data.decode().removeprefix("\ufeff").split("\n"), 1):
        text = _COMMENT.sub("", content).strip()
        if not text:
            continue
        keyed = _KEY.fullmatch(text)
        if keyed is not None:
            name, text = keyed[1], keyed[2].strip()
            key = _ALIASES.get(name, name)
            if key in _KNOWN and (not blocks or (key == "TASK" and key in blocks[-1])):
                blocks.append({})
            if key not in _KNOWN:
                wrong.append((line, f"unknown key {name!r}; expected {', '.join(_KNOWN)}"))
                key = ""
            elif key in blocks[-1]:
                wrong.append((line, f"{name} is already given on line {blocks[-1][key].line}"))
                key = ""
            else:
                blocks[-1][key] = _Property(line, [])
        elif key is None:
            wrong.append((line, f"{text!r} belongs to no key; expected KEY: value"))
        another = _ANOTHER.search(text)
        if another is not None:
            message = f"{another[1]} within a value; expected a line KEY: value for each"
            wrong.append((line, message))
        elif key:
            pieces = text.split(",") if key in _WITH_BLANKS else re.split(r"[,\s]+", text)
            for value in filter(None, map(str.strip, pieces)):
                read = value
                try:
                    read = read_value(key, value)
                except ValueError as expected:
                    wrong_values.append((line, f"{key} {value!r} is not possible; {expected}"))
                blocks[-1][key].words.append(Word(read, line))
    if not wrong:  # after a misspelled key, do not call it missing too
        wrong_values += [problem for block in blocks for problem in _find_missing(block)]
    if wrong or wrong_values:
        problems = sorted([*wrong, *wrong_values], key=lambda problem: problem[0])
        raise InputError(Problem(CODE, source.path, line, message) for line, message in problems)
    if not blocks:
        raise source.error(CODE, None, "the configuration is empty; expected lines KEY: value")
    return tuple(
        TaskBlock(
            block["TASK"].line,
            (task,),
            tuple(
                Metric(name, _list_measures(name, block, task), block["METRICS"].line)
                for name in block["METRICS"].texts
            ),
            results=block["RESULTS_DIR"].words[0] if "RESULTS_DIR" in block else None,
            **{own: tuple(block[key].words) for key, own in _FIELDS.items() if key in block},
        )
        for block in blocks
        for task in block["TASK"].texts
    )


def _find_missing(block: Mapping[str, _Property]) -> list[tuple[int, str]]:
    """Find keys and values that a block needs."""
    start = block["TASK"].line if "TASK" in block else min(own.line for own in block.values())
    found = [(start, f"{key} is missing from this block") for key in _REQUIRED if key not in block]
    found += [(own.line, f"{key} has no value") for key, own in block.items() if not own.words]
    if "METRICS" in block and "nxCG" in block["METRICS"].texts and "DCV" not in block:
        found.append((block["METRICS"].line, "nxCG is measured at cut-offs; DCV is missing"))
    if "RESULTS_DIR" in block and len(block["RESULTS_DIR"].texts) > 1:
        message = "RESULTS_DIR names several folders; expected one"
        found.append((block["RESULTS_DIR"].line, message))
    return found


_MEASURES = {
    "nxCG": ("nxCG({})@{k}", "MAnxCG({})@{k}", "nxCG({})@curve"),
    "ep/gr": ("MAep({})", "iMAep({})", "ep({})@curve"),
    "q": ("Q({})", "Rmeasure({})"),
    "articles": (
        *("FBarticle(score=MAep,{})", "FBarticle(score=iMAep,{})", "FBarticle({})@curve"),
    ),
    "elements": (
        *("FBelement(score=MAep,{})", "FBelement(score=iMAep,{})", "FBelement({})@curve"),
        "ep({})@curve",
    ),
}
"""The measures of each metric; in Fetch & Browse, ep/gr scores articles and elements."""


def _list_measures(metric: str, block: Mapping[str, _Property], task: str) -> tuple[str, ...]:
    """Return the measures of a metric: all combinations of its parameters."""
    alphas = block["ALPHA"].texts if "ALPHA" in block else ("1",)
    cutoffs = block["DCV"].texts if "DCV" in block else ()
    browses = metric == "ep/gr" and normalise_task(task).endswith("fetchbrowse")
    texts: list[str] = []
    for quant in block["QUANT_FUNCTIONS"].texts:
        if browses:
            texts += [form.format(f"quant={quant}") for form in _MEASURES["articles"]]
        # Alpha weighs text that was seen before; without overlap there is none.
        settings = [
            f"quant={quant},overlap={overlap}" + (f",alpha={alpha}" if overlap == "on" else "")
            for overlap in block["OVERLAP"].texts
            for alpha in alphas
        ]
        texts += [
            form.format(inside, k=k)
            for inside in settings
            for form in _MEASURES["elements" if browses else metric]
            for k in (cutoffs if "{k}" in form else ("",))
        ]
    return tuple(dict.fromkeys(texts))


# -- the XML of 2006 ---------------------------------------------------------------------------

_TARGETS = {
    "BEPTargetGenerator": "bep",
    "IdealTargetGenerator": "ideal",
    "PassageTargetGenerator": "passages",
}
_BEHAVIOURS = {
    "BEPDistance": ("bep", ("A", "a")),
    "Classic": ("classic", ()),
    "Hierarchical": ("hierarchical", ()),
    "T2I": ("t2i", ("T", "t")),
}
"""EvalJ's name to ours, and the spellings of the parameter it takes."""
_NATURAL = {"bep": "bep", "ideal": "hierarchical", "passages": "hierarchical"}
"""The behaviour that a measure of these targets has by default."""
_ENTRIES = {"BEPD": ("a", "A"), "EPRUM": ("binary", "generator", "quantisation", "behaviour")}
"""The metrics, and the elements in each."""
_VALUES: Mapping[str, Sequence[str]] = {
    "binary": ("true", "false"),
    "generator": tuple(_TARGETS),
    "quantisation": ("Exh", *QUANTISATIONS),
    "behaviour": tuple(_BEHAVIOURS),
}
"""The values of elements that are not numbers."""


@dataclass(frozen=True)
class _MetricNode:
    """One element with its place."""

    path: str
    tag: str
    line: int
    attributes: Mapping[str, str]
    children: list[_MetricNode]

    def error(self, text: str) -> InputError:
        return InputError.at(CODE, self.path, self.line, text)

    def check(self, attributes: Sequence[str], children: Sequence[str]) -> None:
        """Refuse unknown attributes and children, and repeated children."""
        for name in self.attributes.keys() - set(attributes):
            expected = ", ".join(attributes) or "none"
            raise self.error(f"unknown attribute {name!r} of <{self.tag}>; expected {expected}")
        seen: set[str] = set()
        for child in self.children:
            if child.tag not in children:
                expected = ", ".join(f"<{tag}>" for tag in children) or "nothing"
                raise child.error(
                    f"unknown element <{child.tag}> in <{self.tag}>; expected {expected}"
                )
            if child.tag.casefold() in seen:
                raise child.error(f"a second <{child.tag}> in <{self.tag}>; expected one")
            seen.add(child.tag.casefold())

    def value(self, *tags: str) -> str | None:
        """Return the value of the child with one of these tags: a known word, or a number."""
        child = next((child for child in self.children if child.tag in tags), None)
        if child is None:
            return None
        tag, found = child.tag, child.attributes.get("value", "").strip()
        child.check(("value",), [own.tag for own in child.children] if tag == "behaviour" else ())
        try:
            if tag in _VALUES:
                return _match_word(found, _VALUES[tag])
            if not 0 < _parse_number(found) < float("inf"):
                raise ValueError("expected a number above 0")
        except ValueError as expected:
            raise child.error(f"{tag} {found!r} is not possible; {expected}") from None
        return found


def read_metrics(source: Source) -> tuple[Metric, ...]:
    """Return the entries of a ``<metrics>`` file.

    >>> file = '<metrics><BEPD only="BestInContext"><a value="10"/></BEPD></metrics>'
    >>> (entry,) = read_metrics(Source.of_text(file))
    >>> entry.texts, entry.only
    (('BEPD(A=10)',), ('BestInContext',))
    """
    markup = read_markup(source)
    nodes = [
        _MetricNode(source.path, tag, int(markup.line[i]), markup.attributes.get(i, {}), [])
        for i, tag in enumerate(markup.tags)
    ]
    root = nodes[0]
    if root.tag != "metrics":
        raise root.error(f"root element <{root.tag}>; expected <metrics>")
    above: list[_MetricNode] = []
    with_text: list[_MetricNode] = []
    texts = markup.texts(np.arange(len(nodes)))
    for node, depth, text in zip(nodes, markup.depth.tolist(), texts, strict=True):
        del above[depth:]
        if above:
            above[-1].children.append(node)
        above.append(node)
        if text.strip(BLANKS):
            with_text.append(node)
    if with_text:  # the last one is the innermost
        message = f"text in <{with_text[-1].tag}>; expected attributes and elements only"
        raise with_text[-1].error(message)
    found: list[Metric] = []
    problems: list[Problem] = []
    for node in root.children:
        try:
            found.append(_read_entry(node, found))
        except InputError as error:
            problems += error.problems
    if problems:
        raise InputError(problems)
    if root.attributes:
        raise root.error(f"unknown attribute {next(iter(root.attributes))!r} of <metrics>")
    if not found:
        raise root.error("<metrics> holds no entry; expected <EPRUM> or <BEPD>")
    return tuple(found)


def _read_entry(node: _MetricNode, earlier: Sequence[Metric]) -> Metric:
    if node.tag not in _ENTRIES:
        raise node.error(f"unknown metric <{node.tag}>; expected <EPRUM> or <BEPD>")
    node.check(("id", "only"), _ENTRIES[node.tag])
    if node.tag == "BEPD":
        distance = node.value("a", "A")
        settings = {} if distance is None else {"A": distance}
    else:
        settings = _read_eprum(node)
    inside = ",".join(f"{name}={value}" for name, value in settings.items())
    text = f"{node.tag}({inside})" if inside else node.tag
    name = node.attributes.get("id", "").strip() or node.tag
    if any(metric.name == name != node.tag for metric in earlier):
        raise node.error(f"a second entry with the id {name!r}; expected one")
    only = tuple(filter(None, map(str.strip, node.attributes.get("only", "").split(","))))
    if "only" in node.attributes and not only:
        raise node.error('only="" names no task; leave it out to score all runs')
    return Metric(name, (text,) if node.tag == "BEPD" else (text, f"{text}@curve"), node.line, only)


def _read_eprum(node: _MetricNode) -> dict[str, str]:
    """Return the parameters of EPRUM that differ from its defaults."""
    targets = _TARGETS[node.value("generator") or "BEPTargetGenerator"]
    settings: dict[str, str] = {}
    way = node.value("behaviour")
    if way is not None:
        behaviour, spellings = _BEHAVIOURS[way]
        own = next(child for child in node.children if child.tag == "behaviour")
        own.check(("value",), spellings)
        if behaviour != _NATURAL[targets]:
            settings["behaviour"] = behaviour
        given = own.value(*spellings)
        if given is not None:
            settings[spellings[0]] = given
    if targets != "bep":
        settings["targets"] = targets
    binary, grade = node.value("binary"), node.value("quantisation")
    if binary == "true" or (binary is None and grade is None):
        # Targets count alike, but the function still chooses the ideal elements.
        if targets == "ideal" and grade is not None and grade != "Exh":
            settings["quant"] = grade
        return settings
    if grade is None:
        raise node.error("<binary> is false, but there is no <quantisation> to weigh targets by")
    if grade != "Exh":
        return settings | {"weight": "quant", "quant": grade}
    # An entry point has the exhaustivity of its document, and 2006 has only one degree of that.
    return settings | ({} if targets == "bep" else {"weight": "exh"})
