"""TREC: runs and judgements of whole documents."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import polars as pl

from foveal.errors import Tally, counted
from foveal.files.source import Source
from foveal.formats.base import Format, Parsed, head_fields, lazy_losses
from foveal.formats.rows import (
    RUN_COLUMNS,
    as_lines,
    check_rows,
    drop_bad,
    has_trailing_text,
    is_genomics,
    one_word,
    tabulate,
)
from foveal.lookup import gather, number_rows
from foveal.model import UNKNOWN, Judgements, Run
from foveal.spans import Ints

_RUN_LINE = "topic Q0 doc rank score runid"
_JUDGEMENT_LINE = "topic iteration doc grade"
_JUDGEMENTS = dict.fromkeys(("topic", "iteration", "doc"), pl.String) | {"grade": pl.Int64}


# -- runs ------------------------------------------------------------------------------------------


def parse_run(source: Source) -> Parsed:
    """Parse a document run, ordered as by trec_eval: by score, then document, both descending.

    Text after the sixth field is ignored, as by trec_eval, with a warning.
    """
    keep, cut = ("topic", "doc", "score"), list[int]()
    table = tabulate(source, RUN_COLUMNS, keep, _RUN_LINE)
    if table.problems:
        lines = source.data.split(b"\n")
        for at, text in enumerate(lines):
            fields = text.split()
            if has_trailing_text(fields) and not fields[0].startswith(b"#"):
                lines[at] = b" ".join(fields[:6])
                cut.append(at + 1)
        table = tabulate(replace(source, data=b"\n".join(lines)), RUN_COLUMNS, keep, _RUN_LINE)
    doc, score, line = table.frame["doc"].rechunk(), table.frame["score"].to_numpy(), table.line
    first_rows, number = number_rows(table.frame["topic"])
    order = rank_documents(number, score, doc)
    if order is not None:
        doc, score, line = doc.gather(order), score[order], line[order]
    first_cut = source.numbered(np.array(cut[:1], dtype=np.int64)).tolist()
    run = Run(
        name=head_fields(source)[5].decode(errors="replace") if len(doc) else source.stem,
        topics=tuple(gather(table.frame["topic"], first_rows).to_list()),
        bounds=np.concatenate([[0], np.cumsum(np.bincount(number))]),
        doc=doc,
        start=np.zeros(len(doc), dtype=np.int64),
        end=np.full(len(doc), UNKNOWN, dtype=np.int64),
        line=line,
        score=score,
        source=source.provenance,
        notes=(Tally(ignored_text, len(cut), first_cut),) if cut else (),
    )
    return Parsed(run, [*table.problems])


def ignored_text(number: int, first: Sequence[int]) -> str:
    """Say that text after the sixth field was ignored, as trec_eval ignores it."""
    lines = counted(number, "line")
    return f"text after the sixth field is ignored: {lines}, the first on line {min(first)}"


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
    from foveal.formats.losses import keeps_scores

    kept = run.take(run.first == np.arange(len(run)))
    frame = kept.to_frame().with_columns(rank=kept.position)
    score = pl.col("score") if keeps_scores(kept) else -pl.col("rank")
    fields = ("topic", pl.lit("Q0"), "doc", "rank", score, pl.lit(one_word(run.name)))
    return as_lines(frame, fields, run.source.path)


# -- judgements ------------------------------------------------------------------------------------


def parse_judgements(source: Source) -> Parsed:
    """Parse judgements of whole documents: grade above 0 is relevant."""
    keep = ("topic", "doc", "grade")
    frame, line, problems = tabulate(source, _JUDGEMENTS, keep, _JUDGEMENT_LINE)
    rows = frame.select("topic", "doc", relevant=pl.col("grade") > 0, line=pl.Series(line))
    none = np.zeros(len(frame), dtype=np.int64)
    judgements = Judgements.from_rows(
        rows, none, none[:0], none[:0], source=source.provenance, has_text=False
    )
    problems += tuple(judgements.find_repeated())
    return drop_bad(judgements, problems) if problems else Parsed(judgements, [])


def write_judgements(judgements: Judgements) -> str:
    """Write one line per document, grade 1 or 0; which text is relevant is left behind."""
    check_rows(judgements, judgements.pair != np.arange(len(judgements)), "a second assessor")
    topic = pl.Series(judgements.topics, dtype=pl.String).gather(judgements.topic)
    grade = judgements.relevant.astype(np.int64)
    frame = pl.DataFrame({"topic": topic, "doc": judgements.doc, "grade": grade})
    path = judgements.sources[0].path
    return as_lines(frame, ("topic", pl.lit("0"), "doc", "grade"), path)


# -- formats ---------------------------------------------------------------------------------------


def _is_run(source: Source) -> bool:
    """Return True for six fields, and for more if text follows them."""
    fields = head_fields(source)
    if len(fields) != 6 and not has_trailing_text(fields):
        return False
    return fields[1] == b"Q0" or not is_genomics(source)


def _is_judgements(source: Source) -> bool:
    """Return True for four fields."""
    return len(head_fields(source)) == 4 and (
        b"\t" not in source.head[1] or not is_genomics(source)
    )


FORMATS = (
    Format(
        "trec",
        "run",
        """TREC runs of whole documents: 6 fields.

`topic Q0 doc rank score runid`

Results are ordered as trec_eval orders them: by score, and where scores are equal by document
name, both descending. Scores count in single precision,
[as in trec_eval](decisions.md#trec-ties). The rank is ignored. Text after the sixth field is
ignored as well, with a warning, unless it may be an offset or an XPath: that is an error.

Measures of text need the length of a returned document; passage judgements give it for every
judged document.""",
        "301 Q0 FR940202-2-00150 1 2.129133 STANDARD\n",
        _is_run,
        parse_run,
        write_run,
        lazy_losses("run_losses", keeps=""),
    ),
    Format(
        "trec",
        "judgements",
        """TREC judgements of whole documents (qrels): 4 fields.

`topic iteration doc grade`

The second field is ignored. A grade above 0 is relevant. Such judgements serve the measures on
documents.""",
        "301 0 FR940202-2-00150 1\n301 0 FR940104-0-00001 0\n",
        _is_judgements,
        parse_judgements,
        write_judgements,
        lazy_losses("judgement_losses", form="trec"),
    ),
)
