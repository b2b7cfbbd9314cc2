"""Read configurations of EvalJ: property files, and the ``<metrics>`` XML of 2006."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import NamedTuple

import numpy as np

from foveal.errors import InputError, Problem
from foveal.evaluation.presets import task_key
from foveal.files.source import Source
from foveal.formats.markup import BLANKS, is_xml, read_markup
from foveal.model import Provenance
from foveal.model.topics import KINDS
from foveal.recall import QUANTISATIONS

__all__ = [
    "Block",
    "Configuration",
    "Metric",
    "Word",
    "find_query_type",
    "read_configuration",
    "read_metrics",
    "read_properties",
    "suggest",
]


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
class Block:
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
    blocks: tuple[Block, ...]

    def error(self, code: str, line: int, text: str) -> InputError:
        return InputError.at(code, self.source.path, line, text)


def read_configuration(path: str | Path) -> Configuration:
    """Read a property file or ``<metrics>`` XML, recognised by its content."""
    source = Source.open(path)
    if not is_xml(source):
        return Configuration(source.provenance, read_properties(source))
    by_tasks: dict[tuple[str, ...], list[Metric]] = {}
    for metric in read_metrics(source):
        by_tasks.setdefault(metric.only, []).append(metric)
    blocks = (Block(own[0].line, tasks, tuple(own)) for tasks, own in by_tasks.items())
    return Configuration(source.provenance, tuple(blocks))


def suggest(word: str, known: Iterable[str]) -> str:
    """Return a question after the most similar known word, or nothing."""
    by_fold = {name.casefold(): name for name in known}
    found = get_close_matches(word.casefold(), by_fold, 1, 0.6)
    return f"; did you mean {by_fold[found[0]]}?" if found else ""


def _match_word(word: str, known: Sequence[str]) -> str:
    """Return the known spelling of a word in any case; a ValueError lists the known words."""
    by_fold = {name.casefold(): name for name in known}
    if word.casefold() not in by_fold:
        listed = f"{', '.join(known[:-1])} or {known[-1]}" if len(known) > 1 else known[0]
        raise ValueError(f"expected {listed}{suggest(word, known)}")
    return by_fold[word.casefold()]


# -- property files ----------------------------------------------------------------------------


def find_query_type(text: str) -> str:
    """Return the type of topics as topics name it; users of EvalJ also write COS.

    >>> find_query_type("COS")
    'CO+S'
    """
    return "CO+S" if text.casefold() == "cos" else _match_word(text, KINDS)


def _check_alpha(text: str) -> str:
    try:
        inside = 0 <= float(text) <= 1
    except ValueError:
        inside = False
    if not inside:
        raise ValueError("expected a number from 0 to 1")
    return text


def _check_cutoff(text: str) -> str:
    if not re.fullmatch(r"[0-9]{1,9}", text) or int(text) < 1:
        raise ValueError("expected a rank, a whole number from 1")
    return str(int(text))


_READERS: Mapping[str, Callable[[str], str]] = {
    "TASK": str,
    "METRICS": lambda text: _match_word(text, ("nxCG", "ep/gr", "q")),
    "ALPHA": _check_alpha,
    "OVERLAP": lambda text: _match_word(text, ("on", "off")),
    "QUANT_FUNCTIONS": lambda text: _match_word(text, QUANTISATIONS),
    "DCV": _check_cutoff,
    "ASSESSMENTS_DIR": str,
    "QUERY_TYPE": find_query_type,
    "SUBMISSIONRUNS_DIR": str,
    "POOLS": str,
    "RESULTS_DIR": str,
}
"""The reader of each key's values; it raises ValueError with what was expected."""

_ALIASES = {"POOL": "POOLS"}
_KEYS = (*_READERS, *_ALIASES)
_WITH_BLANKS = ("TASK", "ASSESSMENTS_DIR", "SUBMISSIONRUNS_DIR", "RESULTS_DIR")
"""Keys whose values may hold blanks; only a comma ends one."""
_REQUIRED = ("TASK", "METRICS", "OVERLAP", "QUANT_FUNCTIONS")

_KEY = re.compile(r"\s*([A-Za-z_][\w.-]*)\s*[:=](.*)", re.DOTALL)
_ANOTHER = re.compile(rf"(?:^|\s)({'|'.join(_KEYS)})(?:\s*[:=]|\s|$)")
_COMMENT = re.compile(r"(?:^|\s)#.*", re.DOTALL)


class _Property(NamedTuple):
    """A key of a block: its line and values."""

    line: int
    words: list[Word]

    @property
    def texts(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(word.text for word in self.words))


def read_properties(source: Source) -> tuple[Block, ...]:
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
            if key in _READERS and (not blocks or (key == "TASK" and key in blocks[-1])):
                blocks.append({})
            if key not in _READERS:
                known = f"(known: {', '.join(_READERS)})"
                wrong.append((line, f"unknown key {name!r}{suggest(name, _KEYS)} {known}"))
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
                    read = _READERS[key](value)
                except ValueError as expected:
                    wrong_values.append((line, f"{key} {value!r} is not possible; {expected}"))
                blocks[-1][key].words.append(Word(read, line))
    if not wrong:  # after a misspelled key, do not call it missing too
        wrong_values += [problem for block in blocks for problem in _find_missing(block)]
    if wrong or wrong_values:
        problems = sorted([*wrong, *wrong_values], key=lambda problem: problem[0])
        raise InputError(
            Problem("unclassified", source.path, line, message) for line, message in problems
        )
    if not blocks:
        raise source.error(
            "unclassified", None, "the configuration is empty; expected lines KEY: value"
        )
    return tuple(_make_block(block, task) for block in blocks for task in block["TASK"].texts)


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


def _make_block(block: Mapping[str, _Property], task: str) -> Block:
    """Return the block of one of the tasks."""
    words = {key: tuple(block[key].words) if key in block else () for key in _READERS}
    metrics = block["METRICS"]
    return Block(
        line=block["TASK"].line,
        tasks=(task,),
        metrics=tuple(
            Metric(name, _list_measures(name, block, task), metrics.line) for name in metrics.texts
        ),
        query_types=words["QUERY_TYPE"],
        pools=words["POOLS"],
        assessments=words["ASSESSMENTS_DIR"],
        runs=words["SUBMISSIONRUNS_DIR"],
        results=words["RESULTS_DIR"][0] if words["RESULTS_DIR"] else None,
    )


def _list_measures(metric: str, block: Mapping[str, _Property], task: str) -> tuple[str, ...]:
    """Return the measures of a metric: all combinations of its parameters.

    In Fetch & Browse, ep/gr scores articles and elements.
    """
    alphas = block["ALPHA"].texts if "ALPHA" in block else ("1",)
    cutoffs = block["DCV"].texts if "DCV" in block else ()
    browses = metric == "ep/gr" and task_key(task).endswith("fetchbrowse")
    scores = ("MAep", "iMAep")
    texts: list[str] = []
    for quant in block["QUANT_FUNCTIONS"].texts:
        if browses:
            texts += [f"FBarticle(score={score},quant={quant})" for score in scores]
            texts.append(f"FBarticle(quant={quant})@curve")
        # Alpha weighs text that was seen before; without overlap there is none.
        settings = [
            f"quant={quant},overlap={overlap}" + (f",alpha={alpha}" if overlap == "on" else "")
            for overlap in block["OVERLAP"].texts
            for alpha in alphas
        ]
        for inside in settings:
            if metric == "nxCG":
                texts += [f"{name}({inside})@{k}" for name in ("nxCG", "MAnxCG") for k in cutoffs]
                texts.append(f"nxCG({inside})@curve")
            elif metric == "q":
                texts += [f"Q({inside})", f"Rmeasure({inside})"]
            elif browses:
                texts += [f"FBelement(score={score},{inside})" for score in scores]
                texts += [f"FBelement({inside})@curve", f"ep({inside})@curve"]
            else:
                texts += [f"MAep({inside})", f"iMAep({inside})", f"ep({inside})@curve"]
    return tuple(dict.fromkeys(texts))


# -- the XML of 2006 ---------------------------------------------------------------------------

_TARGETS = {
    "BEPTargetGenerator": "bep",
    "IdealTargetGenerator": "ideal",
    "PassageTargetGenerator": "passages",
}
_BEHAVIOURS = {
    "BEPDistance": ("bep", "A"),
    "Classic": ("classic", None),
    "Hierarchical": ("hierarchical", None),
    "T2I": ("t2i", "T"),
}
"""EvalJ's name to ours, and the parameter it takes."""

_NATURAL = {"bep": "bep", "ideal": "hierarchical", "passages": "hierarchical"}
"""The behaviour that a measure of these targets has by default."""


@dataclass(frozen=True)
class _Node:
    """One element with its place. Unknown attributes and children are errors."""

    path: str
    tag: str
    line: int
    attributes: Mapping[str, str]
    children: list[_Node]

    def error(self, code: str, text: str) -> InputError:
        return InputError.at(code, self.path, self.line, text)

    def check(self, attributes: Sequence[str], children: Sequence[str]) -> None:
        """Refuse unknown attributes and children, and repeated children."""
        for name in self.attributes:
            if name not in attributes:
                expected = f"{', '.join(attributes)}{suggest(name, attributes)}"
                raise self.error(
                    "unclassified",
                    f"unknown attribute {name!r} of <{self.tag}>; expected {expected}",
                )
        seen: dict[str, int] = {}
        for child in self.children:
            if child.tag not in children:
                expected = ", ".join(f"<{tag}>" for tag in children) or "nothing"
                raise child.error(
                    "unclassified",
                    f"unknown element <{child.tag}> in <{self.tag}>; expected {expected}"
                    f"{suggest(child.tag, children)}",
                )
            name = child.tag.casefold()
            if name in seen:
                raise child.error(
                    "unclassified", f"a second <{child.tag}>; the first is on line {seen[name]}"
                )
            seen[name] = child.line

    def child(self, *tags: str) -> _Node | None:
        return next((child for child in self.children if child.tag in tags), None)

    def value(self, known: Sequence[str] | None = None, children: Sequence[str] = ()) -> str:
        """Return the attribute ``value``, one of the `known` if these are given."""
        self.check(("value",), children)
        found = self.attributes.get("value", "").strip()
        if not found:
            raise self.error(
                "unclassified", f'<{self.tag}> without a value; expected <{self.tag} value="...">'
            )
        if known is None:
            return found
        try:
            return _match_word(found, known)
        except ValueError as expected:
            raise self.error(
                "unclassified", f"{self.tag} {found!r} is not known; {expected}"
            ) from None

    def number(self) -> str:
        """Return the text of the value, which must be a number above 0."""
        text = self.value()
        try:
            number = float(text)
        except ValueError:
            number = float("nan")
        if not 0 < number < float("inf"):
            raise self.error(
                "unclassified", f"{self.tag} {text!r} is not possible; expected a number above 0"
            )
        return text


def read_metrics(source: Source) -> tuple[Metric, ...]:
    """Return the entries of a ``<metrics>`` file.

    >>> file = '<metrics><BEPD only="BestInContext"><a value="10"/></BEPD></metrics>'
    >>> (entry,) = read_metrics(Source.of_text(file))
    >>> entry.texts, entry.only
    (('BEPD(A=10)',), ('BestInContext',))
    """
    markup = read_markup(source)
    nodes = [
        _Node(source.path, tag, int(markup.line[i]), markup.attributes.get(i, {}), [])
        for i, tag in enumerate(markup.tags)
    ]
    root = nodes[0]
    if root.tag != "metrics":
        raise root.error("unclassified", f"root element <{root.tag}>; expected <metrics>")
    above: list[_Node] = []
    for node, depth in zip(nodes, markup.depth.tolist(), strict=True):
        del above[depth:]
        if above:
            above[-1].children.append(node)
        above.append(node)
    texts = markup.texts(np.arange(len(nodes)))
    for node, text in reversed([*zip(nodes, texts, strict=True)]):  # the innermost first
        if text.strip(BLANKS):
            message = f"text {text.strip(BLANKS)!r} in <{node.tag}>"
            raise node.error("unclassified", f"{message}; expected attributes and elements only")
    found: list[Metric] = []
    problems: list[Problem] = []
    for node in root.children:
        try:
            found.append(_read_entry(node, found))
        except InputError as error:
            problems += error.problems
    if root.attributes:
        problems += root.error(
            "unclassified", f"unknown attribute {next(iter(root.attributes))!r}"
        ).problems
    if problems:
        raise InputError(sorted(problems, key=lambda problem: problem.line or 0))
    if not found:
        raise root.error("unclassified", "<metrics> holds no entry; expected <EPRUM> or <BEPD>")
    return tuple(found)


def _read_entry(node: _Node, earlier: Sequence[Metric]) -> Metric:
    texts: tuple[str, ...]
    if node.tag == "BEPD":
        node.check(("id", "only"), ("a", "A"))
        distance = node.child("a", "A")
        texts = ("BEPD",) if distance is None else (f"BEPD(A={distance.number()})",)
    elif node.tag == "EPRUM":
        settings = ",".join(f"{name}={value}" for name, value in _read_eprum(node).items())
        text = f"EPRUM({settings})" if settings else "EPRUM"
        texts = (text, f"{text}@curve")
    else:
        expected = f"<EPRUM> or <BEPD>{suggest(node.tag, ('EPRUM', 'BEPD'))}"
        raise node.error("unclassified", f"unknown metric <{node.tag}>; expected {expected}")
    name = node.attributes.get("id", "").strip() or node.tag
    again = next((metric for metric in earlier if metric.name == name != node.tag), None)
    if again is not None:
        raise node.error(
            "unclassified", f"id {name!r} is already that of the entry on line {again.line}"
        )
    tasks = (task.strip() for task in node.attributes.get("only", "").split(","))
    only = tuple(filter(None, tasks))
    if "only" in node.attributes and not only:
        raise node.error("unclassified", 'only="" names no task; leave it out to score all runs')
    return Metric(name, texts, node.line, only)


def _read_eprum(node: _Node) -> dict[str, str]:
    """Return the parameters of EPRUM that differ from its defaults."""
    node.check(("id", "only"), ("binary", "generator", "quantisation", "behaviour"))
    generator, way = node.child("generator"), node.child("behaviour")
    targets = _TARGETS[generator.value(list(_TARGETS))] if generator is not None else "bep"
    settings: dict[str, str] = {}
    if way is not None:
        name = way.value(list(_BEHAVIOURS), [child.tag for child in way.children])
        behaviour, parameter = _BEHAVIOURS[name]
        spellings = () if parameter is None else (parameter, parameter.lower())
        way.check(("value",), spellings)
        if behaviour != _NATURAL[targets]:
            settings["behaviour"] = behaviour
        given = way.child(*spellings)
        if parameter is not None and given is not None:
            settings[parameter] = given.number()
    if targets != "bep":
        settings["targets"] = targets
    binary, function = node.child("binary"), node.child("quantisation")
    alike = function is None if binary is None else binary.value(("true", "false")) == "true"
    grade = None if function is None else function.value(("Exh", *QUANTISATIONS))
    if alike:  # targets count alike, but the function still chooses the ideal elements
        chooses = targets == "ideal" and grade not in (None, "Exh")
        return settings | ({"quant": str(grade)} if chooses else {})
    if grade is None:
        raise node.error(
            "unclassified", "<binary> is false, but there is no <quantisation> to weigh targets by"
        )
    if grade != "Exh":
        return settings | {"weight": "quant", "quant": grade}
    # An entry point has the exhaustivity of its document, and 2006 has only one degree of that.
    return settings | ({} if targets == "bep" else {"weight": "exh"})
