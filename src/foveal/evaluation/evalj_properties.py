"""EvalJ's property files: which runs, topics and assessments to score, and by which metrics."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from foveal.errors import InputError, Problem
from foveal.evaluation.evalj_metrics import GAIN_METRICS, OVERLAPS, Gains, Metric, chosen, near
from foveal.evaluation.presets import task_key
from foveal.formats import Source
from foveal.model.topics import KINDS
from foveal.recall import QUANTISATIONS

__all__ = ["Block", "Word", "query_type", "read_properties"]


class Word(NamedTuple):
    """A value as it is written, and its line."""

    text: str
    line: int


@dataclass(frozen=True)
class Block:
    """What one task asks for.

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
        Patterns of files and folders; empty where the file does not say.
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


def query_type(text: str) -> str:
    """A type of topics as topics name it; EvalJ's users also write COS.

    >>> query_type("COS")
    'CO+S'
    """
    return "CO+S" if text.casefold() == "cos" else chosen(text, KINDS)


def _metric(text: str) -> str:
    return chosen(text, GAIN_METRICS)


def _alpha(text: str) -> str:
    try:
        inside = 0 <= float(text) <= 1
    except ValueError:
        inside = False
    if not inside:
        raise ValueError("expected a number from 0 to 1")
    return text


def _cutoff(text: str) -> str:
    if not re.fullmatch(r"[0-9]{1,9}", text) or int(text) < 1:
        raise ValueError("expected a rank, a whole number from 1")
    return str(int(text))


_READERS: Mapping[str, Callable[[str], str]] = {
    "TASK": str,
    "METRICS": _metric,
    "ALPHA": _alpha,
    "OVERLAP": lambda text: chosen(text, OVERLAPS),
    "QUANT_FUNCTIONS": lambda text: chosen(text, QUANTISATIONS),
    "DCV": _cutoff,
    "ASSESSMENTS_DIR": str,
    "QUERY_TYPE": query_type,
    "SUBMISSIONRUNS_DIR": str,
    "POOLS": str,
    "RESULTS_DIR": str,
}
"""Key to what reads one of its values; it raises ValueError with what was expected."""

_ALIASES = {"POOL": "POOLS"}
_KEYS = (*_READERS, *_ALIASES)
_WITH_BLANKS = ("TASK", "ASSESSMENTS_DIR", "SUBMISSIONRUNS_DIR", "RESULTS_DIR")
"""Values that may hold blanks; only a comma ends one."""
_REQUIRED = ("TASK", "METRICS", "OVERLAP", "QUANT_FUNCTIONS")

_KEY = re.compile(r"\s*([A-Za-z_][\w.-]*)\s*[:=](.*)", re.DOTALL)
_ANOTHER = re.compile(rf"(?:^|\s)({'|'.join(_KEYS)})(?:\s*[:=]|\s|$)")
_COMMENT = re.compile(r"(?:^|\s)#.*", re.DOTALL)


@dataclass
class _Entries:
    """The keys of one block as they are read, each with its line and its values."""

    lines: dict[str, int] = field(default_factory=dict)
    words: dict[str, list[Word]] = field(default_factory=dict)

    def texts(self, key: str) -> tuple[str, ...]:
        return tuple(dict.fromkeys(word.text for word in self.words.get(key, ())))


def read_properties(source: Source) -> tuple[Block, ...]:
    r"""The blocks of a property file; everything wrong with it is said at once.

    >>> text = "TASK: CO.Thorough\nMETRICS: q\nOVERLAP: off\nQUANT_FUNCTIONS: gen, strict"
    >>> (block,) = read_properties(Source.of_text(text))
    >>> block.tasks, block.metrics[0].texts[:2]
    (('CO.Thorough',), ('Q(quant=gen,overlap=off)', 'Rmeasure(quant=gen,overlap=off)'))
    """
    source.check_utf8()
    lines = _Lines(source)
    for number, line in enumerate(source.data.decode().removeprefix("\ufeff").split("\n"), 1):
        text = _COMMENT.sub("", line).strip()
        if text:
            lines.read(text, number)
    problems = lines.problems
    complete = not problems  # a key that was misspelled is not missing, too
    for entries in lines.blocks:
        problems += _canonical(source, entries)
        problems += _missing(source, entries) if complete else []
    if problems:
        raise InputError(sorted(problems, key=lambda problem: problem.line or 0))
    if not lines.blocks:
        raise source.error(None, "the configuration is empty; expected lines KEY: value")
    return tuple(block for entries in lines.blocks for block in _blocks(entries))


class _Lines:
    """Keys and values, line by line.

    The first TASK joins the keys that stand before it; every other one starts a new block.
    """

    def __init__(self, source: Source) -> None:
        self.source = source
        self.blocks: list[_Entries] = []
        self.problems: list[Problem] = []
        self.key: str | None = None
        """The key whose value goes on; empty after one that is refused."""

    def wrong(self, line: int, message: str) -> None:
        self.problems.append(Problem(self.source.path, line, message))

    def read(self, text: str, line: int) -> None:
        keyed = _KEY.fullmatch(text)
        if keyed is not None:
            self.key, text = self._opened(keyed[1], line), keyed[2].strip()
        elif self.key is None:
            self.wrong(line, f"{text!r} belongs to no key; expected KEY: value")
        another = _ANOTHER.search(text)
        if another is not None:
            self.wrong(line, f"{another[1]} within a value; expected a line KEY: value for each")
        elif self.key:
            pieces = text.split(",") if self.key in _WITH_BLANKS else re.split(r"[,\s]+", text)
            words = [Word(piece.strip(), line) for piece in pieces if piece.strip()]
            self.blocks[-1].words.setdefault(self.key, []).extend(words)

    def _opened(self, name: str, line: int) -> str:
        key = _ALIASES.get(name, name)
        if name not in _KEYS:
            self.wrong(
                line, f"unknown key {name!r}{near(name, _KEYS)} (known: {', '.join(_READERS)})"
            )
            return ""
        if not self.blocks or (key == "TASK" and key in self.blocks[-1].lines):
            self.blocks.append(_Entries())
        lines = self.blocks[-1].lines
        if key in lines:
            self.wrong(line, f"{name} is already given on line {lines[key]}")
            return ""
        lines[key] = line
        return key


def _canonical(source: Source, entries: _Entries) -> list[Problem]:
    """Bring values into their own spelling; returns those that have none."""
    problems = []
    for key, words in entries.words.items():
        for i, word in enumerate(words):
            try:
                words[i] = Word(_READERS[key](word.text), word.line)
            except ValueError as expected:
                message = f"{key} {word.text!r} is not possible; {expected}"
                problems.append(Problem(source.path, word.line, message))
    return problems


def _missing(source: Source, entries: _Entries) -> list[Problem]:
    """Keys and values that a block needs."""
    lines = entries.lines
    start = lines.get("TASK", min(lines.values()))
    found = [(start, f"{key} is missing from this block") for key in _REQUIRED if key not in lines]
    found += [
        (line, f"{key} has no value") for key, line in lines.items() if not entries.texts(key)
    ]
    if "nxCG" in entries.texts("METRICS") and "DCV" not in lines:
        found.append((lines["METRICS"], "nxCG is measured at cut-offs; DCV is missing"))
    if len(entries.texts("RESULTS_DIR")) > 1:
        found.append((lines["RESULTS_DIR"], "RESULTS_DIR names several folders; expected one"))
    return [Problem(source.path, line, message) for line, message in found]


def _blocks(entries: _Entries) -> list[Block]:
    """A block for each of the tasks."""
    gains = Gains(
        quantisations=entries.texts("QUANT_FUNCTIONS"),
        overlaps=entries.texts("OVERLAP"),
        alphas=entries.texts("ALPHA") or ("1",),
        cutoffs=entries.texts("DCV"),
    )
    selected: dict[str, Sequence[Word]] = {
        key: tuple(entries.words.get(key, ()))
        for key in ("QUERY_TYPE", "POOLS", "ASSESSMENTS_DIR", "SUBMISSIONRUNS_DIR")
    }
    results = entries.words.get("RESULTS_DIR", [])
    blocks = []
    for task in entries.texts("TASK"):
        browse = task_key(task).endswith("fetchbrowse")
        metrics = tuple(
            Metric(name, gains.texts(name, fetch_and_browse=browse), entries.lines["METRICS"])
            for name in entries.texts("METRICS")
        )
        blocks.append(
            Block(
                line=entries.lines["TASK"],
                tasks=(task,),
                metrics=metrics,
                query_types=tuple(selected["QUERY_TYPE"]),
                pools=tuple(selected["POOLS"]),
                assessments=tuple(selected["ASSESSMENTS_DIR"]),
                runs=tuple(selected["SUBMISSIONRUNS_DIR"]),
                results=results[0] if results else None,
            )
        )
    return blocks
