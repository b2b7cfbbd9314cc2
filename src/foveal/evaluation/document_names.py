"""Warn about runs that name documents unlike the judgements, as 'install' and 'install.md'."""

from __future__ import annotations

import sys
import unicodedata
import warnings
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import polars as pl

from foveal.errors import FovealWarning, plural
from foveal.lookup import gather
from foveal.measures.alignment import Alignment, Gold

LOW = 0.25
"""Names are compared where a smaller share of the results than this is in judged documents."""
TOPICS_PER_RESULT = 10
"""A run with fewer than one result in a judged document for so many topics is warned about.

Sparse judgements do not come near that: where each topic has one relevant document among millions,
a run that finds it for every third topic has more.
"""
_SHOWN = 2


@dataclass(frozen=True)
class NameMatch:
    """Counts of a run's results, or of a part of them, by whether their documents are judged."""

    topics: int
    results: int
    known: int
    """Results in documents that are judged for any topic."""
    similar: int = 0
    """Results in documents whose name only resembles a judged one."""
    unknown: tuple[str, ...] = ()
    """The first names that are not judged."""
    pairs: tuple[tuple[str, str], ...] = ()
    """The first similar names of run and judgements; differences in Unicode form come first."""

    def __add__(self, other: NameMatch) -> NameMatch:
        """Return the match of two parts of a run together."""
        pairs = sorted({*self.pairs, *other.pairs}, key=lambda own: (not _same_letters(*own), own))
        return NameMatch(
            self.topics + other.topics,
            self.results + other.results,
            self.known + other.known,
            self.similar + other.similar,
            unknown=tuple(sorted({*self.unknown, *other.unknown})[:_SHOWN]),
            pairs=tuple(pairs[:_SHOWN]),
        )


def match_names(alignment: Alignment) -> NameMatch:
    """Compare the names of a run's documents with those of the judged ones.

    >>> from foveal.model import Judgements, Run
    >>> truth = Judgements.from_highlights({"1": {"a.md": {"spans": [(0, 9)]}}})
    >>> run = Run.from_results({"1": [("docs/A", 0, 5), ("b", 0, 5)]})
    >>> match_names(Alignment(run, Gold(truth))).pairs
    (('docs/A', 'a.md'),)
    """
    run, gold, known = alignment.run, alignment.gold, alignment.in_judgements
    found = int(known[run.documents.number].sum())
    match = NameMatch(len(run.topics), len(run), found)
    if found >= LOW * len(run) and not gold.is_part and gold.cached(_has_one_form):
        return match
    missing = gather(run.doc, run.documents.first_rows[~known])
    if gold.is_part or found * TOPICS_PER_RESULT < len(run.topics):
        match = replace(match, unknown=tuple(missing.unique().bottom_k(_SHOWN).sort()))
    upper, lower, special = gold.cached(_find_judged_letters) | _find_letters(missing)
    if not special and not (upper and lower):
        return match  # names that differ at all differ in more than their spelling
    results = np.bincount(run.documents.number, minlength=len(known))
    others = pl.DataFrame({"name": missing, "results": results[~known]}).group_by("name").sum()
    similar = others.with_columns(key=_normalise("name")).join(
        gold.cached(_index_judged_names), on="key"
    )
    composed = pl.col("name").str.normalize("NFC") == pl.col("judged").str.normalize("NFC")
    # Files of other directories may be called like a judged one: they are other documents if the
    # run returns the judged one, too, or if several have its name.
    returned = gather(run.doc, run.documents.first_rows[known]).unique().implode()
    alone = pl.col("key").is_unique() & ~pl.col("judged").is_in(returned)
    similar = similar.with_columns(form=composed).filter(pl.col("form") | alone)
    similar = similar.sort("form", "name", descending=[True, False])
    return replace(
        match,
        similar=int(similar["results"].sum()),
        pairs=tuple(similar.select("name", "judged").head(_SHOWN).rows()),
    )


def _same_letters(one: str, other: str) -> bool:
    """Return True if two names differ at most in their Unicode form."""
    return unicodedata.normalize("NFC", one) == unicodedata.normalize("NFC", other)


def _has_one_form(gold: Gold) -> bool:
    """Return True if no judged name can be written in another Unicode form: all are ASCII."""
    names = gold.docs.keys
    return bool((names.str.len_bytes() == names.str.len_chars()).all())


def _find_judged_letters(gold: Gold) -> npt.NDArray[np.bool_]:
    return _find_letters(gold.docs.keys)


def _find_letters(names: pl.Series) -> npt.NDArray[np.bool_]:
    """Return whether names have capitals, small letters, and parts that `_normalise` changes."""
    kinds = ("[A-Z]", "[a-z]", r"[/\\.]|[^\x00-\x7f]")
    return np.array([bool(names.str.contains(kind).any()) for kind in kinds])


def _index_judged_names(gold: Gold) -> pl.DataFrame:
    """Return the judged names by their keys, without keys that several names share."""
    table = pl.DataFrame({"judged": gold.docs.keys}).with_columns(key=_normalise("judged"))
    return table.filter(pl.col("key").is_unique())


def _normalise(column: str) -> pl.Expr:
    """Return a name without directory, extension and capital letters, in one Unicode form."""
    name = pl.col(column).str.normalize("NFC").str.replace(r"^.*[/\\]([^/\\]+)$", "$1")
    return name.str.replace(r"(.)\.[A-Za-z][A-Za-z0-9]{0,7}$", "$1").str.to_lowercase()


def warn_about_names(label: str, match: NameMatch, gold: Gold) -> list[str]:
    """Warn if hardly any result is in a judged document, or names differ in spelling.

    Returns the warning, if any, and raises it as a Python warning.
    """
    few = match.known * TOPICS_PER_RESULT < match.topics
    misspelled = match.known < LOW * match.results and match.similar > match.known
    pairs = [own for own in match.pairs if few or misspelled or _same_letters(*own)]
    if not match.results or not (few or misspelled or pairs):
        return []
    first = gold.docs.keys.bottom_k(_SHOWN).sort().to_list()
    ours, theirs = zip(*pairs, strict=True) if pairs else (match.unknown, first)
    # Forms of one letter look the same.
    show = ascii if any(_same_letters(*own) for own in pairs) else repr
    verb = "is" if match.results == 1 else "are"
    text = (
        f"{label}: {match.known} of {plural(match.results, 'result')} {verb} in judged documents; "
        f"the run names {', '.join(map(show, ours))}, the judgements "
        f"{', '.join(map(show, theirs))}; use the same names in both"
    )
    level = 1  # where the user's code calls Foveal
    while sys._getframe(level).f_globals.get("__name__", "").startswith("foveal."):
        level += 1
    warnings.warn(text, FovealWarning, stacklevel=level + 1)
    return [text]
