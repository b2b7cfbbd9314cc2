"""Foveal's measures in ir_measures: a provider, and the command ``ir_measures`` with offsets.

ir_measures has no plug-ins: `register` adds our measures to its registries. From then on
``ir_measures.parse_measure("AiP")``, ``ir_measures.calc_aggregate`` and tools built on them, such
as ``Experiment`` of PyTerrier, know Foveal's measures. Judgements and runs are those of ir_measures
with two more fields, ``start`` and ``end``. ``python -m foveal.bridges.ir_measures`` is the command
``ir_measures`` with our measures, and with files in any format that Foveal reads.
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from foveal.errors import FovealError, InputError, UsageError
from foveal.evaluation import evaluate
from foveal.files.source import Provenance
from foveal.formats import read_judgements, read_run
from foveal.formats.lines import rank_results
from foveal.measures import Measure, find_measure, load_registry
from foveal.model import UNKNOWN, Judgements, Run

try:
    import ir_measures
    from ir_measures import measures as theirs
    from ir_measures import providers
except ImportError:
    raise UsageError(
        "the bridge to ir_measures needs it; install it with pip install ir-measures"
    ) from None

__all__ = [
    "FovealProvider",
    "Passage",
    "ScoredPassage",
    "judgements_of",
    "main",
    "passages_of",
    "register",
    "run_of",
]

NAME = "foveal"
PREFIX = "foveal_"  # of names that ir_measures uses for its own measures, such as P and nDCG
_ID = re.compile(r"(?P<doc>.+)[:#](?P<start>\d+)-(?P<end>\d+)", re.DOTALL)


class Passage(NamedTuple):
    """A judged passage: a qrel of ir_measures with the offsets of the relevant text.

    A document has a row for each of its relevant passages, or one row of relevance 0.
    """

    query_id: str
    doc_id: str
    relevance: int
    start: int | None = None
    end: int | None = None
    length: int | None = None
    bep: int | None = None
    iteration: str = "0"


class ScoredPassage(NamedTuple):
    """A result: a scored document of ir_measures with the offsets of the returned part."""

    query_id: str
    doc_id: str
    score: float
    start: int | None = None
    end: int | None = None


# -- measures ----------------------------------------------------------------------------------


class _Mean(theirs.base.MeanAgg):
    """The mean over the topics on which the measure is defined, as in Foveal."""

    def add(self, value: float) -> None:
        if not math.isnan(value):
            super().add(value)


class FovealMeasure(theirs.Measure):
    """A measure of Foveal as a measure of ir_measures."""

    AT_PARAM = "cutoff"
    OWN: str  # its name in Foveal

    def __init__(self, **params: Any) -> None:
        super().__init__(**params)
        # Refuse unknown parameters here: ir_measures cannot print a measure that has them.
        unknown = params.keys() - self.SUPPORTED_PARAMS.keys()
        find_measure(self.OWN)(**{name: params[name] for name in unknown})

    @property
    def foveal(self) -> Measure:
        """The measure of Foveal, with checked parameters and cut-off."""
        given = dict(self.params)
        at = given.pop(self.AT_PARAM, None)
        measure = find_measure(self.OWN)(**given)
        measure = measure if at is None else measure @ at
        measure.check()
        return measure

    def validate_params(self) -> None:
        self.foveal  # noqa: B018 - checks the parameters

    def aggregator(self) -> theirs.base.Agg:
        return theirs.SumAgg() if find_measure(self.OWN).summed else _Mean()


def _make_measure(name: str, measure: Measure) -> FovealMeasure:
    """Return one of our measures as an instance of a new class for ir_measures."""
    info: Any = theirs.ParamInfo  # has no types
    parameters = {p.name: info(default=p.default, desc=p.description) for p in measure.parameters}
    parameters["cutoff"] = info(required=measure.cutoff.required, desc=measure.cutoff.value)
    fields = {"__name__": name, "__doc__": measure.__doc__, "NAME": name, "OWN": measure.name}
    kind = type(f"_{name}", (FovealMeasure,), fields | {"SUPPORTED_PARAMS": parameters})
    made: FovealMeasure = kind()
    return made


# -- inputs ------------------------------------------------------------------------------------


def judgements_of(qrels: Any) -> Judgements:
    """Return judgements from qrels in any form of ir_measures, with or without offsets.

    Parameters
    ----------
    qrels : iterable of named tuples, DataFrame, or query to document to relevance
        Fields ``query_id``, ``doc_id``, ``relevance`` and optionally ``start``, ``end``, ``length``
        and ``bep``; such as `Passage`. Either all relevant rows have offsets, or none.

    Examples
    --------
    >>> judgements_of([Passage("1", "D1", 1, 10, 40, length=100), Passage("1", "D2", 0)])
    <Judgements: 1 topics, 2 documents judged, 1 relevant>
    """
    frame = _read_rows(qrels, "relevance", ("start", "end", "length", "bep"))
    relevant, placed = pl.col("relevance") > 0, pl.col("start").is_not_null()
    with_text = bool(frame.select((relevant & placed).any()).item())
    lacking = frame.filter(relevant & ~placed)
    if with_text and len(lacking):
        message = "relevant, but without start and end; expected them in all relevant rows or none"
        raise InputError.at("frame.value", "qrels", lacking["line"][0], message)
    own = relevant & placed
    rows = frame.group_by("query_id", "doc_id", maintain_order=True).agg(
        pl.col("length").max(),
        pl.col("bep").drop_nulls().first(),
        relevant.any().alias("relevant"),
        pl.col("start", "end").filter(own),
        own.sum().alias("passages"),
    )
    line = pl.int_range(1, pl.len() + 1, dtype=pl.Int64)
    start, end = (rows[c].explode().drop_nulls().to_numpy().copy() for c in ("start", "end"))
    return Judgements.from_rows(
        rows.select("length", "bep", "relevant", topic="query_id", doc="doc_id", line=line),
        rows["passages"].to_numpy().astype(np.int64),
        start,
        end,
        source=Provenance("qrels"),
        has_text=with_text,
    )


def run_of(run: Any, name: str = "run") -> Run:
    """Return a run from results in any form of ir_measures, ordered as trec_eval orders them.

    Results come by descending score, equal scores by descending document name, and passages of one
    document by their offsets. The order of the input does not matter. A result without ``start``
    and ``end`` is a whole document.

    >>> results = [ScoredPassage("1", "D1", 0.5, 10, 40), ScoredPassage("1", "D2", 0.9, 0, 5)]
    >>> run_of(results).doc.to_list()
    ['D2', 'D1']
    """
    frame = _read_rows(run, "score", ("start", "end"))
    frame = rank_results(frame.sort("start", "end"), doc="doc_id")
    frame = frame.rename({"query_id": "topic", "doc_id": "doc"})
    return Run.from_frame(frame.with_columns(pl.col("start").fill_null(0)), name=name)


def _read_rows(data: Any, value: str, optional: Sequence[str]) -> pl.DataFrame:
    """Return named tuples, a DataFrame or nested dicts as one table with the number of each row.

    Missing offsets are null: None, nan from a DataFrame, or `UNKNOWN`.
    """
    names = ("query_id", "doc_id", value, *optional)
    columns: dict[str, Any]
    rows: Any = data
    if isinstance(data, Mapping):
        rows = [(q, d, v) for q, docs in data.items() for d, v in docs.items()]
        columns = dict(zip(names, zip(*rows, strict=True), strict=False))
    elif hasattr(data, "columns"):
        columns = {c: data[c].to_list() for c in data.columns if c in names}
    else:
        rows = list(data)
        given = getattr(rows[0], "_fields", ()) if rows else names
        columns = {c: [getattr(row, c) for row in rows] for c in names if c in given}
    missing = [c for c in names[:3] if c not in columns]
    if missing and len(rows) > 0:
        raise UsageError(
            f"the rows have no {', '.join(missing)}; expected named tuples with the fields "
            f"{', '.join(names)}, a DataFrame with such columns, or a dict of dicts"
        )
    size = len(columns.get(value, ()))
    frame = pl.DataFrame({c: columns.get(c, [None] * size) for c in names}, strict=False)
    try:
        frame = frame.select(
            pl.col("query_id", "doc_id").cast(pl.String),
            pl.col(value, *optional).cast(pl.Float64).fill_nan(None),
        )
    except pl.exceptions.PolarsError as error:
        reason = str(error).partition("\n")[0]
        raise UsageError(f"{value}, {', '.join(optional)}: expected numbers; {reason}") from None
    frame = frame.with_columns(pl.col(*optional).replace(UNKNOWN, None))
    whole = optional if value == "score" else (value, *optional)
    start, end = pl.col("start"), pl.col("end")
    # The readers of files refuse the same.
    wrong = {
        "query_id or doc_id is missing": pl.any_horizontal(pl.col("query_id", "doc_id").is_null()),
        f"{value} is missing or not a finite number": ~pl.col(value)
        .fill_null(math.inf)
        .is_finite(),
        "a start without an end, or an end without a start": start.is_null() != end.is_null(),
        "not a span; expected 0 <= start <= end": (start < 0) | (end < start),
        f"{', '.join(whole)}: expected whole numbers": pl.any_horizontal(
            pl.col(c) != pl.col(c).floor() for c in whole
        ),
    }
    for message, is_wrong in wrong.items():
        found = frame.select(is_wrong.fill_null(value=False).arg_true()).to_series()
        if len(found):
            file = "run" if value == "score" else "qrels"
            raise InputError.at("frame.value", file, int(found[0]) + 1, message)
    frame = frame.with_columns(pl.col(*whole).cast(pl.Int64))
    return frame.with_row_index("line", offset=1)


def passages_of(rows: Iterable[Any]) -> Iterator[Any]:
    """Yield passages from rows whose ids hold offsets, ``D1:10-40`` or ``D1#10-40``.

    An id without offsets means a whole document. No other function interprets ids.

    >>> from ir_measures import Qrel, ScoredDoc
    >>> list(passages_of([ScoredDoc("1", "D1:10-40", 0.5)]))
    [ScoredPassage(query_id='1', doc_id='D1', score=0.5, start=10, end=40)]
    """
    for row in rows:
        found = _ID.fullmatch(row.doc_id)
        doc = found["doc"] if found else row.doc_id
        start, end = (int(found["start"]), int(found["end"])) if found else (None, None)
        if hasattr(row, "relevance"):
            yield Passage(row.query_id, doc, row.relevance, start, end)
        else:
            yield ScoredPassage(row.query_id, doc, row.score, start, end)


# -- the provider ------------------------------------------------------------------------------


class FovealProvider(providers.Provider):
    """A provider of Foveal's measures; `options` are those of `foveal.evaluate`."""

    NAME = NAME

    def __init__(self, **options: Any) -> None:
        super().__init__()
        self.options = options

    def supports(self, measure: Any) -> bool:
        if not isinstance(measure, FovealMeasure):
            return False
        measure.validate_params()
        return True

    def _evaluator(self, measures: Iterable[Any], qrels: Any) -> FovealEvaluator:
        asked = list(measures)
        for measure in asked:
            if not self.supports(measure):
                raise ValueError(f"unsupported measure {measure}")
        return FovealEvaluator(asked, judgements_of(qrels), self.options)

    def run_inputs(self, measures: Iterable[Any]) -> list[str]:  # noqa: ARG002 - their signature
        return ["query_id", "doc_id", "score", "start", "end"]

    def qrel_inputs(self, measures: Iterable[Any]) -> list[str]:  # noqa: ARG002 - their signature
        return ["query_id", "doc_id", "relevance", "start", "end"]


class FovealEvaluator(providers.Evaluator):
    """Judgements prepared for any number of runs."""

    def __init__(
        self, measures: Sequence[FovealMeasure], judgements: Judgements, options: Mapping[str, Any]
    ) -> None:
        super().__init__(measures, set(judgements.topics))
        self.own = {measure: measure.foveal for measure in measures}
        self.judgements, self.options = judgements, options

    def _iter_calc(self, run: Any) -> Iterator[Any]:
        read = run_of(run)
        if not set(read.topics) & set(self.judgements.topics):
            return  # ir_measures fills in its zeros
        results = evaluate(read, self.judgements, [*self.own.values()], **self.options)
        for j, topic in enumerate(results.topics):
            for measure, own in self.own.items():
                value = float(results.values[0, j, results.measures.index(own.label)])
                yield ir_measures.Metric(query_id=topic, measure=measure, value=value)


def register(**options: Any) -> tuple[str, ...]:
    """Add our measures to ir_measures, and return their names there.

    Names that ir_measures uses itself get the prefix ``foveal_``. `options` are those of
    `foveal.evaluate`, such as ``overlap="union"``; another call changes only them.

    >>> names = register()
    >>> "AiP" in names, "AP" in names, "foveal_AP" in names
    (True, False, True)
    >>> qrels = [Passage("1", "D1", 1, 10, 40), Passage("2", "D1", 1, 0, 20)]
    >>> run = [ScoredPassage("1", "D1", 0.5, 20, 50)]
    >>> charR = ir_measures.parse_measure("charR")
    >>> ir_measures.calc_aggregate([charR], qrels, run)
    {charR: 0.3333333333333333}
    """
    names = []
    for own, measure in load_registry().items():
        taken = not isinstance(theirs.registry.get(own), FovealMeasure | None)
        name = PREFIX + own if taken else own
        if name not in theirs.registry:
            theirs.register(_make_measure(name, measure))
        if not hasattr(ir_measures, name):
            setattr(ir_measures, name, theirs.registry[name])
        names.append(name)
    provider = FovealProvider(**options)
    pipeline = ir_measures.DefaultPipeline.providers
    pipeline[:] = [*(p for p in pipeline if not isinstance(p, FovealProvider)), provider]
    providers.register(provider)
    return tuple(names)


# -- the command -------------------------------------------------------------------------------


def _read_qrels(path: str) -> list[Passage]:
    """Read judgements of any format into a row for each passage."""
    judged = read_judgements(path).combined()
    rows = []
    for i, doc in enumerate(judged.doc):
        topic, relevant = judged.topics[judged.topic[i]], int(judged.relevant[i])
        length, bep = (None if v == UNKNOWN else int(v) for v in (judged.length[i], judged.bep[i]))
        spans: list[tuple[int, int] | tuple[None, None]] = [*judged.passages(i)] or [(None, None)]
        rows += [Passage(topic, doc, relevant, s, e, length, bep) for s, e in spans]
    return rows


def _read_run(path: str) -> list[ScoredPassage]:
    """Read a run of any format; its order becomes the scores."""
    run = read_run(path)
    if (run.start == UNKNOWN).any():
        raise UsageError(
            f"{path}: results that are XPaths have no offsets; convert it with --collection"
        )
    offsets = zip(run.start.tolist(), run.end.tolist(), strict=True)
    places = [(None, None) if end == UNKNOWN else (start, end) for start, end in offsets]
    rows = zip(run.topic.tolist(), run.doc, (-run.position).tolist(), places, strict=True)
    return [ScoredPassage(run.topics[t], doc, score, *place) for t, doc, score, place in rows]


def main() -> None:
    """Run the command of ir_measures with our measures, and files with offsets."""
    from ir_measures.__main__ import main_cli

    register()
    # The command calls these two readers; its own ones know only the columns of TREC.
    ir_measures.read_trec_qrels, ir_measures.read_trec_run = _read_qrels, _read_run
    try:
        main_cli()
    except FovealError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
