"""TREC: runs and judgements of whole documents."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import polars as pl

from foveal.errors import InputError, Tally, counted
from foveal.files.source import Source
from foveal.formats.base import Format, head_fields, parse_with
from foveal.formats.detection import LINE_FORMS, has_trailing_text
from foveal.formats.fields import read_fields
from foveal.model import UNKNOWN, Judgements, Run
from foveal.model.run import ALL, group_topics
from foveal.spans import Ints

__all__ = [
    "FORMATS",
    "keeps_scores",
    "ranked",
    "read_judgements",
    "read_run",
    "write_judgements",
    "write_run",
]

_RUN = {
    "topic": pl.String,
    "Q0": pl.String,
    "doc": pl.String,
    "rank": pl.String,
    "score": pl.Float64,
    "run": pl.String,
}
_JUDGEMENTS = {"topic": pl.String, "iteration": pl.String, "doc": pl.String, "grade": pl.Int64}


def ignored_text(number: int, first: Sequence[int]) -> str:
    """Say that text after the sixth field was ignored, as trec_eval ignores it."""
    lines = counted(number, "line")
    return f"text after the sixth field is ignored: {lines}, the first on line {min(first)}"


def _cut_trailing_text(source: Source) -> tuple[Source, list[int]]:
    """Return the source with six fields in lines with trailing text, and these lines."""
    lines, cut = source.data.split(b"\n"), []
    for at, line in enumerate(lines):
        fields = line.split()
        if has_trailing_text(fields) and not fields[0].startswith(b"#"):
            lines[at] = b" ".join(fields[:6])
            cut.append(at + 1)
    numbers = source.numbered(np.array(cut, dtype=np.int64)).tolist() if cut else []
    return replace(source, data=b"\n".join(lines)), numbers


def read_run(source: Source) -> Run:
    """Read a document run, ordered as trec_eval does: by score, then by document, both descending.

    Text after the sixth field is ignored, as trec_eval does, with a warning.
    """
    keep, form, cut = ("topic", "doc", "score"), LINE_FORMS["trec run"], list[int]()
    try:
        table = read_fields(source, _RUN, keep, form=form)
    except InputError:
        source, cut = _cut_trailing_text(source)
        if not cut:
            raise
        table = read_fields(source, _RUN, keep, form=form)
    doc, score, line = table.frame["doc"].rechunk(), table.frame["score"].to_numpy(), table.line
    topics, code, counts = group_topics(table.frame["topic"])
    if ALL in topics or not np.isfinite(score).all():
        from foveal.formats.checks import Defects, check_names, check_scores

        defects = Defects(source, line)
        problems = check_names(defects, table.frame["topic"]) + check_scores(defects, score)
        defects.raise_if(problems)
    order = rank_documents(np.repeat(code, counts), score, doc)
    if order is not None:
        doc, score, line = doc.gather(order), score[order], line[order]
    bounds = np.concatenate([[0], np.cumsum(np.bincount(code, counts, len(topics)))])
    return Run(
        name=source.head[1].split()[5].decode() if len(doc) else source.stem,
        topics=topics,
        bounds=bounds.astype(np.int64),
        doc=doc,
        start=np.zeros(len(doc), dtype=np.int64),
        end=np.full(len(doc), UNKNOWN, dtype=np.int64),
        line=line,
        score=score,
        source=source.provenance,
        notes=(Tally(ignored_text, len(cut), [min(cut)]),) if cut else (),
    )


def rank_documents(topic: Ints, score: npt.NDArray[np.float64], doc: pl.Series) -> Ints | None:
    """Return the rows by topic, score and document, the latter two descending; None: they are.

    trec_eval keeps scores in single precision: scores that differ only beyond it are equal.
    """
    with np.errstate(over="ignore"):
        bits = (score.astype(np.float32) + np.float32(0)).view(np.uint32)  # -0 becomes 0
    # Numbers that ascend where scores descend, below the topic.
    falling = np.where(bits >> 31, bits, ~bits & np.uint32(0x7FFFFFFF))
    key = topic << 32 | falling
    order = None
    if (key[1:] < key[:-1]).any():
        order = np.argsort(key, kind="stable")
        key = key[order]
    tied = np.flatnonzero(key[1:] == key[:-1])
    first, second = (tied, tied + 1) if order is None else (order[tied], order[tied + 1])
    if (doc.gather(first) < doc.gather(second)).any():
        order = np.arange(len(key)) if order is None else order
        places = np.union1d(tied, tied + 1)
        ties = pl.DataFrame({"key": key[places], "doc": doc.gather(order[places])})
        order[places] = order[places][
            ties.select(pl.arg_sort_by("key", "doc", descending=[False, True], maintain_order=True))
            .to_series()
            .to_numpy()
        ]
    return order


def ranked(frame: pl.DataFrame, doc: str) -> pl.DataFrame:
    """Return the rows in the order of trec_eval: by ``score``, then by document, both descending.

    trec_eval keeps scores in single precision: scores that differ only beyond it are equal.
    """
    return frame.sort(pl.col("score").cast(pl.Float32), doc, descending=True, maintain_order=True)


def write_run(run: Run) -> str:
    """Write documents at their first result, with scores that keep their order."""
    from foveal.formats.lines import as_lines, one_word

    kept = run.take(run.first == np.arange(len(run)))
    frame = kept.to_frame().with_columns(rank=kept.position)
    score = pl.col("score") if keeps_scores(kept) else -pl.col("rank")
    fields = ("topic", pl.lit("Q0"), "doc", "rank", score, one_word(run.name))
    return as_lines(frame, fields, run.source.path)


def keeps_scores(run: Run) -> bool:
    """Return True if scores alone give back the order, so that they can be written."""
    if run.score is None:
        return False
    with np.errstate(over="ignore"):
        score = run.score.astype(np.float32)
    falls = (score[1:] < score[:-1]) | (run.topic[1:] != run.topic[:-1])
    return bool(falls.all())


def read_judgements(source: Source) -> Judgements:
    """Read judgements of whole documents: grade above 0 is relevant."""
    keep = ("topic", "doc", "grade")
    table = read_fields(source, _JUDGEMENTS, keep, form=LINE_FORMS["trec judgements"])
    frame = table.frame
    if (frame["topic"] == ALL).any():
        from foveal.formats.checks import Defects, check_names

        defects = Defects(source, table.line)
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
    """Write one line per document, grade 1 or 0; which text is relevant is left behind."""
    from foveal.formats.lines import as_lines, check_rows

    check_rows(judgements, judgements.pair != np.arange(len(judgements)), "a second assessor")
    topic = pl.Series(judgements.topics, dtype=pl.String).gather(judgements.topic)
    grade = judgements.relevant.astype(np.int64)
    frame = pl.DataFrame({"topic": topic, "doc": judgements.doc, "grade": grade})
    path = judgements.sources[0].path
    return as_lines(frame, ("topic", pl.lit("0"), "doc", "grade"), path)


# -- records ---------------------------------------------------------------------------------------


def _is_run(source: Source) -> bool:
    """Return True for six fields, and for more if text follows them."""
    fields = head_fields(source)
    if len(fields) != 6 and not has_trailing_text(fields):
        return False
    from foveal.formats.detection import is_genomics_run

    return fields[1] == b"Q0" or not is_genomics_run(fields)


FORMATS = (
    Format(
        "trec",
        "run",
        "TREC runs of whole documents: 6 fields.",
        "301 Q0 FR940202-2-00150 1 2.129133 mine\n",
        _is_run,
        parse_with(read_run),
        write_run,
    ),
    Format(
        "trec",
        "judgements",
        "TREC judgements of whole documents: 4 fields, the last a grade.",
        "301 0 FR940202-2-00150 1\n301 0 FR940104-0-00001 0\n",
        lambda source: len(head_fields(source)) == 4,
        parse_with(read_judgements),
        write_judgements,
    ),
)
