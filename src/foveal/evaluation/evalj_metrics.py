"""EvalJ's metrics as measures: the words of its property files, the entries of its XML."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches

import numpy as np

from foveal.errors import InputError, Problem
from foveal.formats import Source
from foveal.formats.markup import BLANKS, Markup, read_markup
from foveal.recall import QUANTISATIONS

__all__ = [
    "GAIN_METRICS",
    "OVERLAPS",
    "Gains",
    "Metric",
    "chosen",
    "near",
    "read_metrics",
]

GAIN_METRICS = ("nxCG", "ep/gr", "q")
OVERLAPS = ("on", "off")

_FETCH = ("MAep", "iMAep")


@dataclass(frozen=True)
class Metric:
    """One metric of a configuration, and the measures it stands for.

    Parameters
    ----------
    name : str
        As the file names it.
    texts : tuple of str
        Measures in text form.
    line : int
        Where it stands.
    only : tuple of str
        The declared tasks of the runs it is for; empty: all runs.
    """

    name: str
    texts: tuple[str, ...]
    line: int
    only: tuple[str, ...] = ()


def near(word: str, known: Iterable[str]) -> str:
    """A question after a word that was probably meant, or nothing."""
    by_fold = {name.casefold(): name for name in known}
    found = get_close_matches(word.casefold(), by_fold, 1, 0.6)
    return f"; did you mean {by_fold[found[0]]}?" if found else ""


def chosen(word: str, known: Sequence[str]) -> str:
    """The word as it is spelled here, case apart; ValueError with what is possible."""
    by_fold = {name.casefold(): name for name in known}
    if word.casefold() not in by_fold:
        listed = f"{', '.join(known[:-1])} or {known[-1]}" if len(known) > 1 else known[0]
        raise ValueError(f"expected {listed}{near(word, known)}")
    return by_fold[word.casefold()]


@dataclass(frozen=True)
class Gains:
    """The parameters of the XCG metrics; measures are made of all their combinations.

    >>> gains = Gains(("gen",), ("on", "off"), ("1.0",), ("10",))
    >>> gains.texts("q")[:2]
    ('Q(quant=gen,overlap=on,alpha=1.0)', 'Rmeasure(quant=gen,overlap=on,alpha=1.0)')
    """

    quantisations: tuple[str, ...]
    overlaps: tuple[str, ...]
    alphas: tuple[str, ...] = ("1",)
    cutoffs: tuple[str, ...] = ()

    def texts(self, metric: str, *, fetch_and_browse: bool = False) -> tuple[str, ...]:
        """The measures of one metric; in Fetch & Browse, ep/gr scores articles and elements."""
        texts = []
        for quant in self.quantisations:
            if metric == "ep/gr" and fetch_and_browse:
                texts += [f"FBarticle(score={score},quant={quant})" for score in _FETCH]
                texts.append(f"FBarticle(quant={quant})@curve")
            for inside in self._settings(quant):
                texts += self._measures(metric, inside, fetch_and_browse=fetch_and_browse)
        return tuple(dict.fromkeys(texts))

    def _settings(self, quant: str) -> list[str]:
        """Overlap, and with it alpha: without overlap nothing was seen before."""
        return [
            f"quant={quant},overlap={overlap}" + (f",alpha={alpha}" if overlap == "on" else "")
            for overlap, alpha in itertools.product(self.overlaps, self.alphas)
        ]

    def _measures(self, metric: str, inside: str, *, fetch_and_browse: bool) -> list[str]:
        if metric == "nxCG":
            at = [f"{name}({inside})@{k}" for name in ("nxCG", "MAnxCG") for k in self.cutoffs]
            return [*at, f"nxCG({inside})@curve"]
        if metric == "q":
            return [f"Q({inside})", f"Rmeasure({inside})"]
        if fetch_and_browse:
            means = [f"FBelement(score={score},{inside})" for score in _FETCH]
            means.append(f"FBelement({inside})@curve")
        else:
            means = [f"MAep({inside})", f"iMAep({inside})"]
        return [*means, f"ep({inside})@curve"]


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
    """One element with its place; everything is asked for by name, so nothing goes unread."""

    path: str
    tag: str
    line: int
    attributes: Mapping[str, str]
    children: list[_Node]

    def error(self, message: str) -> InputError:
        return InputError.at(self.path, self.line, message)

    def check(self, attributes: Sequence[str], children: Sequence[str]) -> None:
        """Refuse what is not known, and what comes twice."""
        for name in self.attributes:
            if name not in attributes:
                expected = ", ".join(attributes) or "none"
                raise self.error(
                    f"unknown attribute {name!r} of <{self.tag}>; expected {expected}"
                    f"{near(name, attributes)}"
                )
        seen: dict[str, int] = {}
        for child in self.children:
            if child.tag not in children:
                expected = ", ".join(f"<{tag}>" for tag in children) or "nothing"
                raise child.error(
                    f"unknown element <{child.tag}> in <{self.tag}>; expected {expected}"
                    f"{near(child.tag, children)}"
                )
            name = child.tag.casefold()
            if name in seen:
                raise child.error(f"a second <{child.tag}>; the first is on line {seen[name]}")
            seen[name] = child.line

    def child(self, *tags: str) -> _Node | None:
        return next((child for child in self.children if child.tag in tags), None)

    def value(self, known: Sequence[str] | None = None, children: Sequence[str] = ()) -> str:
        """The attribute ``value``, one of the `known` if these are given."""
        self.check(("value",), children)
        found = self.attributes.get("value", "").strip()
        if not found:
            raise self.error(f'<{self.tag}> without a value; expected <{self.tag} value="...">')
        if known is None:
            return found
        try:
            return chosen(found, known)
        except ValueError as expected:
            raise self.error(f"{self.tag} {found!r} is not known; {expected}") from None

    def number(self) -> str:
        """The value as it is written, if it is a number above 0."""
        text = self.value()
        try:
            number = float(text)
        except ValueError:
            number = float("nan")
        if not 0 < number < float("inf"):
            raise self.error(f"{self.tag} {text!r} is not possible; expected a number above 0")
        return text


def read_metrics(source: Source) -> tuple[Metric, ...]:
    """The entries of a ``<metrics>`` file.

    >>> file = '<metrics><BEPD only="BestInContext"><a value="10"/></BEPD></metrics>'
    >>> (entry,) = read_metrics(Source.of_text(file))
    >>> entry.texts, entry.only
    (('BEPD(A=10)',), ('BestInContext',))
    """
    markup = read_markup(source)
    if markup.tags[0] != "metrics":
        line = int(markup.line[0])
        raise source.error(line, f"root element <{markup.tags[0]}>; expected <metrics>")
    root = _tree(markup)
    found: list[Metric] = []
    problems: list[Problem] = []
    for node in root.children:
        try:
            found.append(_entry(node, found))
        except InputError as error:
            problems += error.problems
    if root.attributes:
        problems += root.error(f"unknown attribute {next(iter(root.attributes))!r}").problems
    if problems:
        raise InputError(sorted(problems, key=lambda problem: problem.line or 0))
    if not found:
        raise root.error("<metrics> holds no entry; expected <EPRUM> or <BEPD>")
    return tuple(found)


def _tree(markup: Markup) -> _Node:
    """The elements as nodes; text between them is refused, EvalJ's files have none."""
    for number in reversed(range(len(markup.tags))):
        (text,) = markup.texts(np.array([number]))
        if text.strip(BLANKS):
            tag = markup.tags[number]
            raise markup.source.error(
                int(markup.line[number]),
                f"text {text.strip(BLANKS)!r} in <{tag}>; expected attributes and elements only",
            )
    nodes = [
        _Node(markup.source.path, tag, int(markup.line[i]), markup.attributes.get(i, {}), [])
        for i, tag in enumerate(markup.tags)
    ]
    above: list[_Node] = []
    for node, depth in zip(nodes, markup.depth.tolist(), strict=True):
        del above[depth:]
        if above:
            above[-1].children.append(node)
        above.append(node)
    return nodes[0]


def _entry(node: _Node, earlier: Sequence[Metric]) -> Metric:
    readers = {"EPRUM": _eprum, "BEPD": _bepd}
    if node.tag not in readers:
        expected = " or ".join(f"<{tag}>" for tag in readers)
        raise node.error(
            f"unknown metric <{node.tag}>; expected {expected}{near(node.tag, readers)}"
        )
    texts = readers[node.tag](node)
    name = node.attributes.get("id", "").strip() or node.tag
    again = next((metric for metric in earlier if metric.name == name != node.tag), None)
    if again is not None:
        raise node.error(f"id {name!r} is already that of the entry on line {again.line}")
    only = tuple(
        filter(None, (task.strip() for task in node.attributes.get("only", "").split(",")))
    )
    if "only" in node.attributes and not only:
        raise node.error('only="" names no task; leave it out to score all runs')
    return Metric(name, texts, node.line, only)


def _bepd(node: _Node) -> tuple[str, ...]:
    node.check(("id", "only"), ("a", "A"))
    distance = node.child("a", "A")
    return ("BEPD",) if distance is None else (f"BEPD(A={distance.number()})",)


def _eprum(node: _Node) -> tuple[str, ...]:
    """Average and curve."""
    node.check(("id", "only"), ("binary", "generator", "quantisation", "behaviour"))
    generator = node.child("generator")
    targets = _TARGETS[generator.value(list(_TARGETS))] if generator is not None else "bep"
    settings = _behaviour(node.child("behaviour"), targets)
    if targets != "bep":
        settings["targets"] = targets
    settings |= _weights(node, targets)
    inside = ",".join(f"{name}={value}" for name, value in settings.items())
    text = f"EPRUM({inside})" if inside else "EPRUM"
    return text, f"{text}@curve"


def _behaviour(node: _Node | None, targets: str) -> dict[str, str]:
    """How a reader goes from a result to a target; the natural way needs no word."""
    if node is None:
        return {}
    behaviour, parameter = _BEHAVIOURS[
        node.value(list(_BEHAVIOURS), [child.tag for child in node.children])
    ]
    spellings = () if parameter is None else (parameter, parameter.lower())
    node.check(("value",), spellings)
    settings = {} if behaviour == _NATURAL[targets] else {"behaviour": behaviour}
    given = node.child(*spellings)
    if parameter is not None and given is not None:
        settings[parameter] = given.number()
    return settings


def _weights(node: _Node, targets: str) -> dict[str, str]:
    """Targets count alike if binary; else by their grade."""
    binary, function = node.child("binary"), node.child("quantisation")
    alike = function is None if binary is None else binary.value(("true", "false")) == "true"
    grade = None if function is None else function.value(("Exh", *QUANTISATIONS))
    if alike:  # the function still chooses the ideal elements
        chooses = targets == "ideal" and grade not in (None, "Exh")
        return {"quant": str(grade)} if chooses else {}
    if grade is None:
        raise node.error("<binary> is false, but there is no <quantisation> to weigh targets by")
    if grade != "Exh":
        return {"weight": "quant", "quant": grade}
    # An entry point has the exhaustivity of its document, and of that 2006 knows one degree.
    return {} if targets == "bep" else {"weight": "exh"}
