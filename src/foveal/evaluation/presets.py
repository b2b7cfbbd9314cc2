"""Presets: the measures and rules of each year's official tasks, and those for RAG."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property
from pathlib import Path

from foveal.errors import InputError, UsageError
from foveal.evaluation.score_warnings import list_measures
from foveal.files.source import read_head
from foveal.measures import Measure, parse_measures
from foveal.model.run import Run


@dataclass(frozen=True)
class Preset:
    """The settings of one task."""

    name: str
    """``YEAR.Task``, or ``rag``."""
    texts: tuple[str, ...]
    """Measures in text form."""
    overlap: str | None = None
    """Overlap policy where it is not the measure's own."""
    topic_limit: int | None = None
    document_limit: int | None = None
    """Most characters that may be returned per topic, or per document of a topic."""
    max_results: int | None = None
    """Results per topic that were looked at, unless the user chooses another number."""
    warn_overlap: bool = False
    """The task forbade overlapping results, but its measures accept them: Foveal warns."""
    castitles_only: bool = False
    """Averages are over the topics that have a castitle, which takes the topic file."""

    @cached_property
    def measures(self) -> tuple[Measure, ...]:
        return tuple(measure for text in self.texts for measure in parse_measures(text))

    @property
    def limits(self) -> list[tuple[int, str]]:
        """Most characters, and of what: a topic or a document."""
        both = (self.topic_limit, "topic"), (self.document_limit, "document")
        return [(most, unit) for most, unit in both if most is not None]

    @property
    def summary(self) -> tuple[str, ...]:
        """The measures for display: each once, with all its cut-offs.

        >>> PRESETS["2009.Focused"].summary
        ('iP@0.00,0.01,0.05,0.10', 'AiP')
        """
        return list_measures(self.measures)

    @property
    def rules(self) -> tuple[str, ...]:
        """The rules and limits of the task for display."""
        return (
            *([f"--overlap {self.overlap}"] if self.overlap else []),
            *(f"at most {most} characters per {unit}" for most, unit in self.limits),
            *([f"--max-results {self.max_results}"] if self.max_results else []),
            *(["warns of overlapping results"] if self.warn_overlap else []),
            *(["only topics with a castitle (--topics-file)"] if self.castitles_only else []),
        )

    def is_for(self, declared: str) -> bool:
        """Return True if a run that declares this task is meant for the preset.

        >>> PRESETS["2005.CO.Focussed"].is_for("CO.Focused")
        True
        >>> PRESETS["2005.CO.Focussed"].is_for("COS.Focussed")
        False
        """
        task = normalise_task(declared)
        return task in (normalise_task(self.name), normalise_task(self.name.partition(".")[2]))


def normalise_task(name: str) -> str:
    """Return the key of a task, the same for the spellings of all years.

    >>> normalise_task("CO+S.Focussed") == normalise_task("cos.Focused")
    True
    >>> normalise_task("All in Context") == normalise_task("RelevantInContext")
    True
    """
    key = re.sub(r"[\s+_-]", "", name).casefold()
    return key.replace("focussed", "focused").replace("allincontext", "relevantincontext")


# -- the settings, year by year ----------------------------------------------------------------


def _list_presets() -> Iterator[Preset]:
    submitted = 1500  # results per topic in INEX submissions up to 2006

    # 2002 to 2004: inex_eval, in 2003 beside its successor.
    successor = tuple(
        f"inex_eval_ng(variant={variant},quant={quant})"
        for variant in ("o", "s")
        for quant in ("strict", "gen")
    )
    grades_2004 = ("strict3", "gen3", "sog", "e3s321", "e3s32", "s3e321", "s3e32", "mean7")
    for year, tasks, quants, more in (
        (2002, ("CO", "CAS"), ("strict2", "gen2"), ()),
        (2003, ("CO", "SCAS", "VCAS"), ("strict", "gen"), successor),
        (2004, ("CO", "VCAS"), grades_2004, ()),
    ):
        texts = (*(f"inex_eval(quant={quant})" for quant in quants), *more)
        for task in tasks:
            yield Preset(f"{year}.{task}", texts, max_results=submitted)

    # 2005: content-only topics, those of them with a castitle, and four readings of structure.
    for topics in ("CO", "COS"):
        for task, texts in (
            ("Thorough", _list_gains("off")),
            ("Focussed", _list_gains("on")),
            ("FetchBrowse", _list_fetch_and_browse()),
        ):
            yield Preset(
                f"2005.{topics}.{task}",
                texts,
                max_results=submitted,
                warn_overlap=task == "Focussed",
                castitles_only=topics == "COS",
            )
    for task in ("SSCAS", "SVCAS", "VSCAS", "VVCAS"):
        yield Preset(f"2005.{task}", _list_gains("off"), max_results=submitted)

    # 2006: specificity alone, and the first tasks in context.
    distances = ("0.01", "0.1", "1", "10", "100")
    entry_points = [f"BEPD(A={a})" for a in distances]
    entry_points += [f"EPRUM(A={a}){at}" for at in ("", "@curve") for a in distances]
    focused = [f"nxCG(overlap={overlap})@{k}" for overlap in ("on", "off") for k in _EARLY]
    yield Preset("2006.Thorough", ("MAep", "ep@curve"), max_results=submitted)
    yield Preset("2006.Focused", tuple(focused), max_results=submitted, warn_overlap=True)
    yield Preset("2006.RelevantInContext", _list_in_context(), max_results=submitted)
    yield Preset("2006.BestInContext", tuple(entry_points), max_results=submitted)

    # 2007 to 2010: highlighted text, character by character.
    passages = ("iP@0.00", "iP@0.01", "iP@0.05", "iP@0.10", "AiP")
    f_score, reading_score = map(_list_in_context, ("(beta=0.25)", "(score=T2I,irr=300)"))
    for year in (2007, 2008, 2009):
        yield Preset(f"{year}.Focused", passages)
        yield Preset(f"{year}.RelevantInContext", _list_in_context() if year == 2007 else f_score)
        n = 1000 if year == 2007 else 500
        yield Preset(f"{year}.BestInContext", _list_in_context(f"(score=BEP,n={n})"))
    yield Preset("2009.Thorough", passages, overlap="union")
    yield Preset("2010.Efficiency", passages, overlap="union")
    yield Preset("2010.RelevantInContext", reading_score)
    restricted = (*f_score, *reading_score)
    yield Preset("2010.RestrictedRelevantInContext", restricted, document_limit=500)
    yield Preset("2010.RestrictedFocused", ("charP(budget=1000)",), topic_limit=1000)

    # Chunks for a language model; text that overlapping chunks share counts once.
    for name, unit in ((RAG, ""), (RAG_TOKENS, ",unit=tokens")):
        yield Preset(name, tuple(text.format(unit=unit) for text in _RAG_TEXTS), overlap="union")


RAG, RAG_TOKENS = "rag", "rag.tokens"
_RAG_TEXTS = (
    "charR@5",
    "charP@5",
    "nDCG(unit=passage)@10",
    "RR(unit=passage)",
    "charR(budget=2000{unit})",
    "answered",
    "Redundancy",
)
DEFAULT = "no measure given, scored with the preset for RAG (-t {})"
"""The note where the preset is used because no measure and no task is named."""
_HEAD = 1 << 16

_EARLY = (5, 10, 25, 50)
_GRADES_2005 = ("gen5", "strict5", "genLifted")


def _list_in_context(settings: str = "") -> tuple[str, ...]:
    return (f"AgP{settings}", *(f"gP{settings}@{k}" for k in _EARLY))


def _list_gains(overlap: str) -> tuple[str, ...]:
    """Return the whole XCG family, as of 2005."""
    texts = []
    for quant in _GRADES_2005:
        inside = f"(quant={quant},overlap={overlap})"
        texts += [f"{name}{inside}@{k}" for name in ("nxCG", "MAnxCG") for k in (10, 25, 50)]
        texts += [f"{name}{inside}" for name in ("MAep", "iMAep", "Q", "Rmeasure")]
        texts += [f"{name}{inside}@curve" for name in ("ep", "nxCG")]
    return tuple(texts)


def _list_fetch_and_browse() -> tuple[str, ...]:
    texts = []
    for quant in _GRADES_2005:
        both = [f"quant={quant},overlap={overlap}" for overlap in ("on", "off")]
        for score in ("MAep", "iMAep"):
            texts.append(f"FBarticle(score={score},quant={quant})")
            texts += [f"FBelement(score={score},{inside})" for inside in both]
        texts.append(f"FBarticle(quant={quant})@curve")
        texts += [f"{name}({inside})@curve" for name in ("FBelement", "ep") for inside in both]
    return tuple(texts)


PRESETS = {
    preset.name: preset for preset in sorted(_list_presets(), key=lambda preset: preset.name)
}
"""Name to preset, in the order of listing."""


def find_preset(name: str) -> Preset:
    """Return the preset of this name, in any year's spelling of the task.

    >>> find_preset("2008.AllInContext").name, find_preset("2005.CO.Focused").name
    ('2008.RelevantInContext', '2005.CO.Focussed')
    """
    by_key = {normalise_task(preset): preset for preset in PRESETS}
    key = normalise_task(name)
    if key in by_key:
        return PRESETS[by_key[key]]
    near = get_close_matches(key, by_key, 3, 0.5)
    hint = f"; did you mean {' or '.join(by_key[match] for match in near)}?" if near else ""
    raise UsageError(f"unknown task {name!r}{hint} ('foveal measures --presets' lists them)")


def choose_rag(runs: Sequence[Run | str | Path]) -> str:
    """Return the RAG preset for these runs: in tokens if all of them give tokens.

    >>> choose_rag([Run.from_results({"1": [("d", 0, 9)]})])
    'rag'
    """
    return RAG_TOKENS if all(map(_has_tokens, runs)) else RAG


def _has_tokens(run: Run | str | Path) -> bool:
    """Return True if a run, or the first lines of its file, give tokens."""
    if isinstance(run, Run):
        return run.tokens is not None
    try:
        head = read_head(run, _HEAD)
    except (OSError, ValueError, InputError):  # reported when it is read
        return False
    if head.startswith(b"PAR1"):
        import polars as pl

        return "tokens" in pl.read_parquet_schema(run)
    return b'"tokens"' in head
