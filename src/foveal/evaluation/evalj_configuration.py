"""Read configurations of EvalJ: property files, and the ``<metrics>`` XML of 2006."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from foveal.errors import InputError, Problem
from foveal.evaluation.presets import normalise_task
from foveal.files.source import Source, is_xml
from foveal.formats.markup import BLANKS, Markup, read_markup
from foveal.model import Provenance
from foveal.model.topics import KINDS
from foveal.recall import QUANTISATIONS

CODE = "evalj.configuration"  # of all problems of configurations
Properties = Mapping[str, Mapping[str, int]]
"""The values of each key, and their lines."""


class Metric(NamedTuple):
    """A metric of a configuration: its name and line in the file, and its measures in text form."""

    name: str
    texts: tuple[str, ...]
    line: int


@dataclass(frozen=True)
class TaskBlock:
    """The settings of one task."""

    source: Provenance
    """The configuration."""
    line: int
    """Where the task is named."""
    tasks: tuple[str, ...]
    """The runs that declare one of these tasks are scored; empty: all."""
    metrics: tuple[Metric, ...]
    properties: Properties

    def error(self, line: int, text: str) -> InputError:
        return InputError.at(CODE, self.source.path, line, text)


def read_configuration(path: str | Path | Source) -> tuple[TaskBlock, ...]:
    """Return the blocks of a property file or ``<metrics>`` XML, recognised by its content."""
    source = path if isinstance(path, Source) else Source.open(path)
    return read_metrics(source) if is_xml(source) else read_properties(source)


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
    blocks: list[dict[str, dict[str, int]]] = []
    lines: list[dict[str, int]] = []  # of the keys of each block
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
                lines.append({})
            if key not in _KNOWN:
                wrong.append((line, f"unknown key {name!r}; expected {', '.join(_KNOWN)}"))
                key = ""
            elif key in blocks[-1]:
                wrong.append((line, f"{name} is already given on line {lines[-1][key]}"))
                key = ""
            else:
                blocks[-1][key], lines[-1][key] = {}, line
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
                blocks[-1][key].setdefault(read, line)
    if not wrong:  # after a misspelled key, do not call it missing too
        for block, at in zip(blocks, lines, strict=True):
            start, missing = (
                at.get("TASK", min(at.values())),
                [k for k in _REQUIRED if k not in block],
            )
            wrong_values += [(start, f"{key} is missing from this block") for key in missing]
            wrong_values += [(at[key], f"{key} has no value") for key in block if not block[key]]
            if "nxCG" in block.get("METRICS", ()) and "DCV" not in block:
                message = "nxCG is measured at cut-offs; DCV is missing"
                wrong_values.append((at["METRICS"], message))
            if len(block.get("RESULTS_DIR", ())) > 1:
                message = "RESULTS_DIR names several folders; expected one"
                wrong_values.append((at["RESULTS_DIR"], message))
    if wrong or wrong_values:
        problems = sorted([*wrong, *wrong_values], key=lambda problem: problem[0])
        raise InputError(Problem(CODE, source.path, line, message) for line, message in problems)
    if not blocks:
        raise source.error(CODE, None, "the configuration is empty; expected lines KEY: value")
    return tuple(
        TaskBlock(
            source.provenance,
            at["TASK"],
            (task,),
            tuple(
                Metric(name, _list_measures(name, block, task), at["METRICS"])
                for name in block["METRICS"]
            ),
            block,
        )
        for block, at in zip(blocks, lines, strict=True)
        for task in block["TASK"]
    )


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


def _list_measures(metric: str, block: Properties, task: str) -> tuple[str, ...]:
    """Return the measures of a metric: all combinations of its parameters."""
    browses = metric == "ep/gr" and normalise_task(task).endswith("fetchbrowse")
    texts: list[str] = []
    for quant in block["QUANT_FUNCTIONS"]:
        if browses:
            texts += [form.format(f"quant={quant}") for form in _MEASURES["articles"]]
        # Alpha weighs text that was seen before; without overlap there is none.
        settings = [
            f"quant={quant},overlap={overlap}" + (f",alpha={alpha}" if overlap == "on" else "")
            for overlap in block["OVERLAP"]
            for alpha in block.get("ALPHA", ("1",))
        ]
        texts += [
            form.format(inside, k=k)
            for inside in settings
            for form in _MEASURES["elements" if browses else metric]
            for k in (block.get("DCV", ()) if "{k}" in form else ("",))
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
_ENTRIES = {"BEPD": ("a", "A"), "EPRUM": ("binary", "generator", "quantisation", "behaviour")}
"""The metrics, and the elements in each."""
_VALUES: Mapping[str, Sequence[str]] = {
    "binary": ("true", "false"),
    "generator": tuple(_TARGETS),
    "quantisation": ("Exh", *QUANTISATIONS),
    "behaviour": tuple(_BEHAVIOURS),
}
"""The values of elements that are not numbers."""


def read_metrics(source: Source) -> tuple[TaskBlock, ...]:
    """Return the entries of a ``<metrics>`` file, those for the same tasks in one block.

    >>> file = '<metrics><BEPD only="BestInContext"><a value="10"/></BEPD></metrics>'
    >>> (block,) = read_metrics(Source.of_text(file))
    >>> block.metrics[0].texts, block.tasks
    (('BEPD(A=10)',), ('BestInContext',))
    """
    markup = read_markup(source)
    if markup.tags[0] != "metrics":
        raise _refuse(markup, 0, f"root element <{markup.tags[0]}>; expected <metrics>")
    for i in reversed(range(len(markup.tags))):  # the innermost first
        if markup.texts([i])[0].strip(BLANKS):
            text = f"text in <{markup.tags[i]}>; expected attributes and elements only"
            raise _refuse(markup, i, text)
    by_tasks: dict[tuple[str, ...], list[Metric]] = {}
    problems: list[Problem] = []
    ids: set[str] = set()
    for entry in _list_children(markup, 0):
        try:
            only, metric = _read_entry(markup, entry)
            if metric.name in ids:
                text = f"a second entry with the id {metric.name!r}; expected one"
                raise _refuse(markup, entry, text)
        except InputError as error:
            problems += error.problems
            continue
        ids |= {metric.name} - {markup.tags[entry]}
        by_tasks.setdefault(only, []).append(metric)
    if problems:
        raise InputError(problems)
    for name in markup.attributes.get(0, ()):
        raise _refuse(markup, 0, f"unknown attribute {name!r} of <metrics>")
    if not by_tasks:
        raise _refuse(markup, 0, "<metrics> holds no entry; expected <EPRUM> or <BEPD>")
    return tuple(
        TaskBlock(source.provenance, own[0].line, tasks, tuple(own), {})
        for tasks, own in by_tasks.items()
    )


def _refuse(markup: Markup, element: int, text: str) -> InputError:
    """Return the error about an element of a configuration."""
    return markup.source.error(CODE, int(markup.line[element]), text)


def _list_children(markup: Markup, parent: int) -> list[int]:
    """Return the elements directly inside an element."""
    inside = range(parent + 1, int(markup.end[parent]))
    return [i for i in inside if markup.depth[i] == markup.depth[parent] + 1]


def _read_values(
    markup: Markup, parent: int, tags: Sequence[str], attributes: Sequence[str]
) -> dict[str, str]:
    """Return the values of the elements inside an element, by their tags in lower case.

    Attributes and elements that are not among these are refused, and repeated elements.
    """
    within = f"<{markup.tags[parent]}>"
    for name in markup.attributes.get(parent, {}).keys() - set(attributes):
        text = f"unknown attribute {name!r} of {within}; expected {', '.join(attributes)}"
        raise _refuse(markup, parent, text)
    values: dict[str, str] = {}
    for child in _list_children(markup, parent):
        tag, value = markup.tags[child], markup.attributes.get(child, {}).get("value", "").strip()
        if tag not in tags:
            expected = ", ".join(f"<{known}>" for known in tags) or "nothing"
            text = f"unknown element <{tag}> in {within}; expected {expected}"
            raise _refuse(markup, child, text)
        if tag.lower() in values:
            raise _refuse(markup, child, f"a second <{tag}> in {within}; expected one")
        try:
            if tag in _VALUES:
                value = _match_word(value, _VALUES[tag])
            elif not 0 < _parse_number(value) < float("inf"):
                raise ValueError("expected a number above 0")
        except ValueError as expected:
            text = f"{tag} {value!r} is not possible; {expected}"
            raise _refuse(markup, child, text) from None
        values[tag.lower()] = value
        values |= _read_values(markup, child, _BEHAVIOURS.get(value, ("", ()))[1], ("value",))
    return values


def _read_entry(markup: Markup, entry: int) -> tuple[tuple[str, ...], Metric]:
    """Return the tasks that an entry is for, and its metric."""
    tag, own = markup.tags[entry], markup.attributes.get(entry, {})
    if tag not in _ENTRIES:
        raise _refuse(markup, entry, f"unknown metric <{tag}>; expected <EPRUM> or <BEPD>")
    values = _read_values(markup, entry, _ENTRIES[tag], ("id", "only"))
    settings = {} if tag == "BEPD" else _choose_targets(values)
    settings |= {name.upper(): values[name] for name in ("a", "t") if name in values}
    if values.get("binary") == "false" and "quantisation" not in values:
        text = "<binary> is false, but there is no <quantisation> to weigh targets by"
        raise _refuse(markup, entry, text)
    inside = ",".join(f"{name}={value}" for name, value in settings.items())
    text = f"{tag}({inside})" if inside else tag
    only = tuple(filter(None, map(str.strip, own.get("only", "").split(","))))
    if "only" in own and not only:
        raise _refuse(markup, entry, 'only="" names no task; leave it out to score all runs')
    texts = (text,) if tag == "BEPD" else (text, f"{text}@curve")
    return only, Metric(own.get("id", "").strip() or tag, texts, int(markup.line[entry]))


def _choose_targets(values: Mapping[str, str]) -> dict[str, str]:
    """Return the parameters of EPRUM that differ from its defaults."""
    targets = _TARGETS[values.get("generator", "BEPTargetGenerator")]
    natural = "bep" if targets == "bep" else "hierarchical"
    behaviour = _BEHAVIOURS[values["behaviour"]][0] if "behaviour" in values else natural
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
