"""Compare the document names of a run with those of the judgements.

A run that returns ``install`` where ``install.md`` was judged scores 0 on every topic, and nothing
else is wrong with it. Judgements of relevant documents alone cannot show the mistake as unjudged
results. So Foveal counts the results in documents that were judged for any topic, and those that
would be if extension, directory, case and Unicode form were ignored.
"""

from __future__ import annotations

import re
import sys
import unicodedata
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import polars as pl

from foveal.errors import FovealWarning, counted
from foveal.lookup import NameTable
from foveal.measures.alignment import Alignment, Gold

Bools = npt.NDArray[np.bool_]

LOW = 0.25
"""Names are compared where a smaller share of the results than this is in judged documents."""
TOPICS_PER_RESULT = 10
"""A run with fewer than one result in a judged document for so many topics is warned about.

Sparse judgements do not come near that: where each topic has one relevant document among millions,
a run that finds it for every third topic has more.
"""
_SHOWN = 2

_DIRECTORY = r"^.*[/\\]([^/\\]+)$"
_EXTENSION = r"(.)\.[A-Za-z][A-Za-z0-9]{0,7}$"
_SPECIAL = r"[/\\.]|[^\x00-\x7f]"
"""Characters besides case in which two spellings of a name can differ."""
_REMEDIES = {
    "extension": "use the same extension in both, or none",
    "directory": "use the same directory in both, or none",
    "case": "use the same case in both",
    "Unicode form": "normalise both to NFC",
}


@dataclass(frozen=True)
class NameMatch:
    """Counts of a run's results, or of a part of them, by whether their documents are judged."""

    topics: int = 0
    results: int = 0
    known: int = 0
    """Results in documents that are judged for any topic."""
    similar: int = 0
    """Results in documents whose name only resembles a judged one."""
    form_only: int = 0
    """Similar results whose names differ only in Unicode form."""
    unknown: tuple[str, ...] = ()
    """The first names that are not judged."""
    pairs: tuple[tuple[str, str], ...] = ()
    """The first similar names of run and judgements; differences in Unicode form come first."""

    def __add__(self, other: NameMatch) -> NameMatch:
        """Return the match of two parts of a run together."""
        pairs = sorted({*self.pairs, *other.pairs})
        pairs.sort(key=lambda pair: not _differ_only_in_form(*pair))
        return NameMatch(
            self.topics + other.topics,
            self.results + other.results,
            self.known + other.known,
            self.similar + other.similar,
            self.form_only + other.form_only,
            unknown=tuple(sorted({*self.unknown, *other.unknown})[:_SHOWN]),
            pairs=tuple(pairs[:_SHOWN]),
        )

    @property
    def share(self) -> float | None:
        """Share of the results that are in judged documents; None without results."""
        return self.known / self.results if self.results else None


def match_names(alignment: Alignment) -> NameMatch:
    """Compare the names of a run's documents with those of the judged ones.

    Names are only normalised where few of them match, in a part of a run (the rest may match), or
    where judged names have several Unicode forms.

    >>> from foveal.model import Judgements, Run
    >>> truth = Judgements.from_highlights({"1": {"a.md": {"spans": [(0, 9)]}}})
    >>> run = Run.from_results({"1": [("docs/A", 0, 5), ("b", 0, 5)]})
    >>> match_names(Alignment(run, Gold(truth))).pairs
    (('docs/A', 'a.md'),)
    """
    run, gold, known = alignment.run, alignment.gold, alignment.in_judgements
    found = int(known[run.documents.number].sum())
    match = NameMatch(len(run.topics), len(run), found)
    if not gold.is_part and found >= LOW * len(run) and not gold.cached(_have_other_forms):
        return match
    names = run.doc.gather(run.documents.first_rows)
    missing = names.filter(pl.Series(~known))
    if gold.is_part or found * TOPICS_PER_RESULT < len(run.topics):
        match = replace(match, unknown=tuple(missing.unique().bottom_k(_SHOWN).sort()))
    judged_letters = gold.cached(_find_judged_letters)
    upper, lower, special = np.logical_or(judged_letters, _find_letters(missing))
    if not special and not (upper and lower):
        return match  # names that differ at all differ in more than their spelling
    results = np.bincount(run.documents.number, minlength=len(known))
    others = pl.DataFrame({"name": missing, "results": results[~known]})
    others = (
        others.group_by("name").agg(pl.col("results").sum()).with_columns(key=_normalise("name"))
    )
    similar = others.join(gold.cached(_list_judged_keys), on="key")
    composed = similar["name"].str.normalize("NFC") == similar["judged"].str.normalize("NFC")
    # Files of other directories may be called like a judged one: they are other documents if the
    # run returns the judged one, too, or if several have its name.
    returned = names.filter(pl.Series(known)).unique().implode()
    alone = pl.col("key").is_unique() & ~pl.col("judged").is_in(returned)
    similar = similar.with_columns(form=composed).filter(pl.col("form") | alone)
    similar = similar.sort("form", "name", descending=[True, False])
    return replace(
        match,
        similar=int(similar["results"].sum()),
        form_only=int(similar.filter("form")["results"].sum()),
        pairs=tuple(similar.select("name", "judged").head(_SHOWN).rows()),
    )


def _find_judged_letters(gold: Gold) -> list[bool]:
    return _find_letters(gold.docs.names)


def _find_letters(names: pl.Series) -> list[bool]:
    """Return whether names have capitals, small letters, and directories or other special parts."""
    return [bool(names.str.contains(kind).any()) for kind in ("[A-Z]", "[a-z]", _SPECIAL)]


def _differ_only_in_form(one: str, other: str) -> bool:
    return unicodedata.normalize("NFC", one) == unicodedata.normalize("NFC", other)


def _have_other_forms(gold: Gold) -> bool:
    """Return True if a judged name can be written in another Unicode form."""
    names = gold.docs.names
    names = names.filter(names.str.len_bytes() != names.str.len_chars())  # not ASCII
    return bool((names.str.normalize("NFC") != names.str.normalize("NFD")).any())


def _list_judged_keys(gold: Gold) -> pl.DataFrame:
    """Return the judged names by their keys, without keys that several names share."""
    table = pl.DataFrame({"judged": gold.docs.names}).with_columns(key=_normalise("judged"))
    return table.filter(pl.col("key").is_unique())


def _normalise(column: str) -> pl.Expr:
    """Return a name without directory, extension and capital letters, in one Unicode form."""
    name = pl.col(column).str.normalize("NFC").str.replace(_DIRECTORY, "$1")
    return name.str.replace(_EXTENSION, "$1").str.to_lowercase()


def name_warning(match: NameMatch, judged: NameTable) -> str | None:
    """Return a warning if hardly any result is in a judged document, or names differ in spelling.

    >>> match = NameMatch(1, 3, 0, 3, 0, ("install", "setup"), (("install", "install.md"),))
    >>> print(name_warning(match, NameTable(pl.Series(["install.md", "setup.md"]))))
    0 of 3 results are in judged documents; the run names 'install', the judgements 'install.md': \
they differ by extension (use the same extension in both, or none)
    """
    few = match.known * TOPICS_PER_RESULT < match.topics
    misspelled = match.known < LOW * match.results and match.similar > match.known
    if not match.results or not (few or misspelled or match.form_only):
        return None
    text = (
        f"{match.known} of {counted(match.results, 'result')} "
        f"{'is' if match.results == 1 else 'are'} in judged documents"
    )
    pairs = match.pairs
    if not (few or misspelled):
        pairs = tuple(pair for pair in pairs if _differ_only_in_form(*pair))
    if not pairs:
        first = judged.names.bottom_k(_SHOWN).sort()
        return (
            f"{text}; the run names {_quote(match.unknown)}, the judgements {_quote(first)}: "
            "check that both use the same names"
        )
    kinds = [kind for kind in _REMEDIES if any(kind in find_differences(*pair) for pair in pairs)]
    show = ascii if "Unicode form" in kinds else repr  # forms of one letter look the same
    own, others = zip(*pairs, strict=True)
    return (
        f"{text}; the run names {_quote(own, show)}, the judgements {_quote(others, show)}: they "
        f"differ by {' and '.join(kinds)} ({'; '.join(_REMEDIES[kind] for kind in kinds)})"
    )


def warn_about_names(label: str, match: NameMatch, gold: Gold) -> list[str]:
    """Return the warning about a run's document names, if any, and raise it as a Python warning."""
    text = name_warning(match, gold.docs)
    if text is None:
        return []
    level = 1  # where the user's code calls Foveal
    while sys._getframe(level).f_globals.get("__name__", "").startswith("foveal."):
        level += 1
    warnings.warn(f"{label}: {text}", FovealWarning, stacklevel=level + 1)
    return [f"{label}: {text}"]


def find_differences(one: str, other: str) -> set[str]:
    """Return how two names of one key differ.

    >>> sorted(find_differences("docs/Install", "install.md"))
    ['case', 'directory', 'extension']
    """
    parts = []
    for name in (one, other):
        composed = unicodedata.normalize("NFC", name)
        base = re.sub(_DIRECTORY, r"\1", composed)
        stem = re.sub(_EXTENSION, r"\1", base)
        parts.append((composed == name, composed.removesuffix(base), base.removeprefix(stem), stem))
    (form, *own), (other_form, *others) = parts
    found = {"Unicode form"} if form != other_form or _differ_only_in_form(one, other) else set()
    for kind, a, b in zip(("directory", "extension", "case"), own, others, strict=True):
        if a != b:
            found.add("case" if a.lower() == b.lower() else kind)
    return found


def _quote(names: Iterable[str], show: Callable[[str], str] = repr) -> str:
    return ", ".join(map(show, names))
