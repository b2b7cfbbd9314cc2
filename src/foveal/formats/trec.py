"""TREC: runs and judgements of whole documents."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import polars as pl

from foveal.errors import InputError, counted
from foveal.formats.checks import Defects, check_names, check_scores
from foveal.formats.fields import first_lines, read_fields
from foveal.formats.lines import as_lines, check_rows, one_word
from foveal.formats.source import Source
from foveal.model import UNKNOWN, Judgements, Run
from foveal.model.tallies import Tally

__all__ = [
    "has_trailing_text",
    "keeps_scores",
    "ranked",
    "read_judgements",
    "read_run",
    "write_judgements",
    "write_run",
]

RUN_FORM = "topic Q0 doc rank score runid"
JUDGEMENT_FORM = "topic iteration doc grade"
_NUMBER = re.compile(rb"[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?")
_PLACE = re.compile(rb"^[-+]?[0-9]+(:[0-9]+)?$|^X$|^/|\[[0-9]+\]")
"""What names a part of a document: offsets, an unresolved offset, XPaths."""

_RUN = {
    "topic": pl.String,
    "Q0": pl.String,
    "doc": pl.String,
    "rank": pl.String,
    "score": pl.Float64,
    "run": pl.String,
}
_JUDGEMENTS = {"topic": pl.String, "iteration": pl.String, "doc": pl.String, "grade": pl.Int64}


def has_trailing_text(fields: Sequence[bytes]) -> bool:
    """Return True if text that is not a place of a passage or element follows the six fields.

    >>> has_trailing_text(b"301 Q0 FR94 1 2.1 ours a comment".split())
    True
    >>> has_trailing_text(b"301 Q0 FR94 1 2.1 ours 20 15".split())
    False
    """
    if len(fields) <= 6 or not _NUMBER.fullmatch(fields[4]):
        return False
    # Passages have eight fields, elements seven.
    return not any(map(_PLACE.search, fields[6:8] if len(fields) <= 8 else fields[6:7]))


def ignored_text(number: int, first: Sequence[int]) -> str:
    """Say that text after the sixth field was ignored, as trec_eval ignores it."""
    lines = counted(number, "line")
    return f"text after the sixth field is ignored: {lines}, the first on line {min(first)}"


def _cut_trailing_text(source: Source) -> tuple[Source, list[int]]:
    """The source with no more than six fields in lines with trailing text, and these lines."""
    lines, cut = source.data.split(b"\n"), []
    for at, line in enumerate(lines):
        fields = line.split()
        if has_trailing_text(fields) and not fields[0].startswith(b"#"):
            lines[at] = b" ".join(fields[:6])
            cut.append(at + 1)
    numbers = source.numbered(np.array(cut, dtype=np.int64)).tolist() if cut else []
    return replace(source, data=b"\n".join(lines)), numbers


def read_run(source: Source) -> Run:
    """A document run, ordered as trec_eval does: by score, then by document, both descending.

    Text after the sixth field is ignored, as trec_eval does, with a warning.
    """
    keep, cut = ("topic", "doc", "score"), list[int]()
    try:
        table = read_fields(source, _RUN, keep, form=RUN_FORM)
    except InputError:
        source, cut = _cut_trailing_text(source)
        if not cut:
            raise
        table = read_fields(source, _RUN, keep, form=RUN_FORM)
    frame, defects = table.frame, Defects(source, table.line)
    problems = check_names(defects, frame["topic"])
    problems += check_scores(defects, frame["score"].to_numpy())
    defects.raise_if(problems)
    frame = frame.with_columns(
        pl.lit(0, dtype=pl.Int64).alias("start"),
        pl.lit(UNKNOWN, dtype=pl.Int64).alias("end"),
        pl.Series("line", table.line),
    )
    frame = ranked(frame, "doc")
    # Topics come in the order of the file, not of their best score.
    first = table.frame["topic"].unique(maintain_order=True)
    order = pl.DataFrame({"topic": first, "place": np.arange(len(first))})
    frame = frame.join(order, on="topic", maintain_order="left").sort("place", maintain_order=True)
    name = first_lines(source.data)[0][1].split()[5].decode()
    notes = (Tally(ignored_text, len(cut), [min(cut)]),) if cut else ()
    return Run.from_frame(frame, name=name, source=source.provenance, notes=notes)


def ranked(frame: pl.DataFrame, doc: str) -> pl.DataFrame:
    """Return the rows in the order of trec_eval: by ``score``, then by document, both descending.

    trec_eval keeps scores in single precision: scores that differ only beyond it are equal.
    """
    return frame.sort(pl.col("score").cast(pl.Float32), doc, descending=True, maintain_order=True)


def write_run(run: Run) -> str:
    """Documents at their first result, with scores that keep their order."""
    kept = run.take(run.first == np.arange(len(run)))
    frame = kept.to_frame().with_columns(rank=kept.position)
    score = pl.col("score") if keeps_scores(kept) else -pl.col("rank")
    fields = ("topic", pl.lit("Q0"), "doc", "rank", score, one_word(run.name))
    return as_lines(frame, fields, run.source.path)


def keeps_scores(run: Run) -> bool:
    """Whether scores alone give back the order, so that they can be written as they are."""
    if run.score is None:
        return False
    with np.errstate(over="ignore"):
        score = run.score.astype(np.float32)
    falls = (score[1:] < score[:-1]) | (run.topic[1:] != run.topic[:-1])
    return bool(falls.all())


def read_judgements(source: Source) -> Judgements:
    """Judgements of whole documents: grade above 0 is relevant."""
    keep = ("topic", "doc", "grade")
    table = read_fields(source, _JUDGEMENTS, keep, form=JUDGEMENT_FORM)
    frame, defects = table.frame, Defects(source, table.line)
    defects.raise_if(check_names(defects, frame["topic"]))
    none = np.zeros(0, dtype=np.int64)
    judgements = Judgements.from_rows(
        frame.select("topic", "doc", relevant=pl.col("grade") > 0, line=pl.Series(table.line)),
        np.zeros(len(frame), dtype=np.int64),
        none,
        none,
        source=source.provenance,
        has_text=False,
    )
    judgements.check_distinct()
    return judgements


def write_judgements(judgements: Judgements) -> str:
    """One line per document, grade 1 or 0; where the text is relevant is left behind."""
    check_rows(judgements, judgements.pair != np.arange(len(judgements)), "a second assessor")
    topic = pl.Series(judgements.topics, dtype=pl.String).gather(judgements.topic)
    grade = judgements.relevant.astype(np.int64)
    frame = pl.DataFrame({"topic": topic, "doc": judgements.doc, "grade": grade})
    path = judgements.sources[0].path
    return as_lines(frame, ("topic", pl.lit("0"), "doc", "grade"), path)
