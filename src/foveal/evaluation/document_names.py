"""Warn about runs that name documents unlike the judgements, as 'install' and 'install.md'."""

from __future__ import annotations

import sys
import warnings
from typing import NamedTuple

import polars as pl

from foveal.errors import FovealWarning, counted
from foveal.lookup import gather
from foveal.measures.alignment import Alignment, Gold

TOPICS_PER_RESULT = 10
"""A run with fewer than one result in a judged document for so many topics is warned about.

Sparse judgements do not come near that: where each topic has one relevant document among millions,
a run that finds it for every third topic has more.
"""
_SHOWN = 2


class NameMatch(NamedTuple):
    """Counts of a run's results, or of a part of them, by whether their documents are judged."""

    topics: int
    results: int
    known: int  # results in documents that are judged for any topic
    unknown: tuple[str, ...] = ()  # the first names that are not judged
    pairs: tuple[tuple[str, str], ...] = ()
    """The first names of the run that are judged in another Unicode form, and these forms."""

    def combine(self, other: NameMatch) -> NameMatch:
        """Return the match of two parts of a run together."""
        return NameMatch(
            self.topics + other.topics,
            self.results + other.results,
            self.known + other.known,
            tuple(sorted({*self.unknown, *other.unknown})[:_SHOWN]),
            tuple(sorted({*self.pairs, *other.pairs})[:_SHOWN]),
        )


def match_names(alignment: Alignment) -> NameMatch:
    """Compare the names of a run's documents with those of the judged ones.

    >>> from foveal.model import Judgements, Run
    >>> truth = Judgements.from_highlights({"1": {"a.md": {"spans": [(0, 9)]}}})
    >>> run = Run.from_results({"1": [("docs/A", 0, 5), ("b", 0, 5)]})
    >>> match_names(Alignment(run, Gold(truth))).unknown
    ('b', 'docs/A')
    """
    run, gold, known = alignment.run, alignment.gold, alignment.in_judgements
    found = int(known[run.documents.number].sum())
    missing = gather(run.doc, run.documents.first_rows[~known])
    unknown, pairs = list[str](), list[tuple[str, str]]()
    if gold.is_part or found * TOPICS_PER_RESULT < len(run.topics):
        unknown = missing.unique().bottom_k(_SHOWN).sort().to_list()
    if len(judged := gold.cached(_list_forms)):
        names = pl.DataFrame({"name": missing.unique()}).with_columns(
            form=pl.col("name").str.normalize("NFC")
        )
        similar = names.join(judged, on="form").sort("name", "judged")
        pairs = similar.select("name", "judged").head(_SHOWN).rows()
    return NameMatch(len(run.topics), len(run), found, tuple(unknown), tuple(pairs))


def _list_forms(gold: Gold) -> pl.DataFrame:
    """Return the judged names that may be written in another Unicode form: not ASCII."""
    names = gold.docs.keys
    names = names.filter(names.str.len_bytes() > names.str.len_chars())
    return pl.DataFrame({"judged": names}).with_columns(form=names.str.normalize("NFC"))


def warn_about_names(label: str, match: NameMatch, gold: Gold) -> list[str]:
    """Warn if hardly any result is in a judged document, or names differ in Unicode form.

    Returns the warning, if any, and raises it as a Python warning.
    """
    few = match.known * TOPICS_PER_RESULT < match.topics
    if not match.results or not (few or match.pairs):
        return []
    first = gold.docs.keys.bottom_k(_SHOWN).sort().to_list()
    ours, theirs = zip(*match.pairs, strict=True) if match.pairs else (match.unknown, first)
    show = ascii if match.pairs else repr  # forms of one letter look the same
    verb = "is" if match.results == 1 else "are"
    text = (
        f"{label}: {match.known} of {counted(match.results, 'result')} {verb} in judged documents; "
        f"the run names {', '.join(map(show, ours))}, the judgements "
        f"{', '.join(map(show, theirs))}; use the same names in both"
    )
    level = 1  # where the user's code calls Foveal
    while sys._getframe(level).f_globals.get("__name__", "").startswith("foveal."):
        level += 1
    warnings.warn(text, FovealWarning, stacklevel=level + 1)
    return [text]
