"""Foveal's measures in ir_measures: a provider, and the command ``ir_measures`` with offsets.

ir_measures has no plug-ins: its measures and providers are objects in two registries and in the
list of its default pipeline. `register` adds ours to all three. From then on
``ir_measures.parse_measure("AiP")``, ``ir_measures.calc_aggregate`` and tools built on them, such
as ``Experiment`` of PyTerrier, know Foveal's measures. Judgements and runs are those of ir_measures
with two more fields, ``start`` and ``end``. ``python -m foveal.bridges.ir_measures`` is the command
``ir_measures`` with our measures, and with files in any format that Foveal reads.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from foveal.errors import InputError, UsageError
from foveal.files.source import Provenance
from foveal.formats.lines import rank_results
from foveal.measures import Measure, find_measure, registered
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
PREFIX = "foveal_"
"""Prefix of names that ir_measures uses for its own measures: P, R and AP."""
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


class _Mean(theirs.base.Agg):
    """The mean over the topics on which the measure is defined, as in Foveal."""

    def __init__(self) -> None:
        self.values: list[float] = []

    def add(self, value: float) -> None:
        if not math.isnan(value):
            self.values.append(value)

    def result(self) -> float:
        return sum(self.values) / len(self.values) if self.values else math.nan


class FovealMeasure(theirs.Measure):
    """A measure of Foveal as a measure of ir_measures."""

    AT_PARAM = "cutoff"
    OWN: str
    """Its name in Foveal."""

    def __init__(self, **params: Any) -> None:
        super().__init__(**params)
        # Refuse unknown parameters here: ir_measures cannot print a measure that has them.
        for name in params.keys() - self.SUPPORTED_PARAMS.keys():
            find_measure(self.OWN)(**{name: params[name]})

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
        """Check parameters as Foveal does, with messages that say what is expected."""
        if not self.validated:
            self.foveal  # noqa: B018 - checks the parameters
            self.validated = True

    def aggregator(self) -> theirs.base.Agg:
        summed = find_measure(self.OWN).summed
        return theirs.SumAgg() if summed else _Mean()


def _make_measure(name: str, measure: Measure) -> FovealMeasure:
    """Return one of our measures as an instance of a new class for ir_measures."""
    info: Any = theirs.ParamInfo  # has no types
    at = info(required=measure.cutoff.required, desc=measure.cutoff.value)
    parameters = {"cutoff": at} | {
        p.name: info(default=p.default, desc=p.description) for p in measure.parameters
    }
    fields = {
        "__name__": name,
        "__doc__": measure.__doc__,
        "NAME": name,
        "OWN": measure.name,
        "SUPPORTED_PARAMS": parameters,
    }
    made: FovealMeasure = type(f"_{name}", (FovealMeasure,), fields)()
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
    frame = _frame(qrels, "relevance", ("start", "end", "length", "bep"))
    relevant = pl.col("relevance") > 0
    placed = pl.col("start").is_not_null() & pl.col("end").is_not_null()
    with_text = bool(frame.select((relevant & placed).any()).item())
    if with_text:
        _check_placed(frame.with_row_index("number", offset=1).filter(relevant & ~placed))
    rows = frame.group_by("query_id", "doc_id", maintain_order=True).agg(
        pl.col("length").max(),
        pl.col("bep").drop_nulls().first(),
        relevant.any().alias("relevant"),
        pl.col("start").filter(relevant & placed),
        pl.col("end").filter(relevant & placed),
    )
    if not with_text:
        rows = rows.with_columns(
            start=pl.lit([], pl.List(pl.Int64)), end=pl.lit([], pl.List(pl.Int64))
        )
    table = rows.select(
        pl.col("query_id").alias("topic"),
        pl.col("doc_id").alias("doc"),
        "length",
        "bep",
        "relevant",
    ).with_row_index("line", offset=1)
    start, end = (rows[c].explode().drop_nulls().to_numpy().copy() for c in ("start", "end"))
    return Judgements.from_rows(
        table.with_columns(pl.col("line").cast(pl.Int64)),
        rows["start"].list.len().to_numpy().astype(np.int64),
        start.astype(np.int64),
        end.astype(np.int64),
        source=Provenance("qrels"),
        has_text=with_text,
    )


def _check_placed(lacking: pl.DataFrame) -> None:
    if len(lacking):
        number, query, doc = lacking.select("number", "query_id", "doc_id").row(0)
        raise UsageError(
            f"qrel {number}, query {query!r}, document {doc!r}: relevant, but without start and "
            "end; expected them in all relevant rows or in none"
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
    frame = _frame(run, "score", ("start", "end")).with_row_index("line", offset=1)
    frame = rank_results(frame.sort("start", "end"), doc="doc_id")
    part = (pl.col("start").is_null() != pl.col("end").is_null()).any()
    if frame.select(part).item():
        raise UsageError("a result has a start without an end, or an end without a start")
    return Run.from_columns(
        topic=frame["query_id"],
        doc=frame["doc_id"],
        start=frame["start"].fill_null(0).to_numpy(),
        end=frame["end"].fill_null(UNKNOWN).to_numpy(),
        score=frame["score"].to_numpy(),
        line=frame["line"].to_numpy().astype(np.int64),
        name=name,
        source=Provenance(name),
    )


def _frame(data: Any, value: str, optional: Sequence[str]) -> pl.DataFrame:
    """Return named tuples, a DataFrame or nested dicts as one table; missing values are null."""
    number = pl.Float64 if value == "score" else pl.Int64
    schema: dict[str, Any] = {"query_id": pl.String, "doc_id": pl.String, value: number}
    schema |= dict.fromkeys(optional, pl.Int64)
    columns: dict[str, Sequence[Any]]
    if isinstance(data, Mapping):
        rows = [(q, d, v) for q, docs in data.items() for d, v in docs.items()]
        columns = dict(zip(("query_id", "doc_id", value), zip(*rows, strict=True), strict=False))
    elif hasattr(data, "columns"):
        columns = {c: data[c].to_list() for c in data.columns if c in schema}
    else:
        columns = _read_tuples(data, schema)
    size = len(next(iter(columns.values()), ()))
    lacking = [c for c in ("query_id", "doc_id", value) if c not in columns]
    if size and lacking:
        raise UsageError(f"{', '.join(lacking)} not among the fields {', '.join(columns)}")
    filled = {
        c: [None if c in optional and _is_absent(v) else v for v in columns[c]]
        if c in columns
        else [None] * size
        for c in schema
    }
    frame = pl.DataFrame([_column(c, v, schema[c]) for c, v in filled.items()])
    return _check_rows(frame, value)


def _column(name: str, values: Sequence[Any], kind: Any) -> pl.Series:
    """Return a column of its type; refuse texts for numbers, and fractions for whole numbers."""
    given = pl.Series(name, values, strict=False)
    if kind == pl.String or given.dtype in (pl.Null, pl.Boolean):
        return given.cast(kind)
    if not given.dtype.is_numeric():
        raise UsageError(f"{name} holds {given.dtype}; expected numbers")
    if kind == pl.Int64:
        broken = given.filter(given != given.floor())
        if len(broken):
            raise UsageError(f"{name} holds {broken[0]}; expected whole numbers")
    return given.cast(kind)


def _check_rows(frame: pl.DataFrame, value: str) -> pl.DataFrame:
    """Return the table; refuse rows that the readers of files refuse, with their numbers."""
    wrong = {
        "query_id or doc_id is missing": pl.any_horizontal(pl.col("query_id", "doc_id").is_null()),
        f"{value} is missing or no finite number": ~pl.col(value)
        .is_finite()
        .fill_null(value=False),
        "no span; expected 0 <= start <= end": (pl.col("start") < 0)
        | (pl.col("end") < pl.col("start")),
    }
    for message, rows in wrong.items():
        bad = frame.select(rows.fill_null(value=False).arg_true()).to_series()
        if len(bad):
            number = int(bad[0]) + 1
            raise InputError.at(
                "frame.value", "run" if value == "score" else "qrels", number, message
            )
    return frame


def _read_tuples(data: Iterable[Any], schema: Mapping[str, Any]) -> dict[str, Sequence[Any]]:
    rows = list(data)
    if not rows:
        return {}
    fields = getattr(rows[0], "_fields", None)
    if fields is None:
        raise UsageError(
            f"{type(rows[0]).__name__} is not a row; expected named tuples with the fields "
            f"{', '.join(schema)}, a DataFrame with such columns, or a dict of dicts"
        )
    return {c: [getattr(row, c) for row in rows] for c in schema if c in fields}


def _is_absent(value: Any) -> bool:
    """Return True for a missing offset: None, nan from a DataFrame, or `UNKNOWN`."""
    return value is None or value == UNKNOWN or (isinstance(value, float) and math.isnan(value))


def passages_of(rows: Iterable[Any]) -> Iterator[Any]:
    """Yield passages from rows whose ids hold offsets, ``D1:10-40`` or ``D1#10-40``.

    This is for tools that keep only the id of a result, and for datasets with such ids. An id
    without offsets means a whole document. No other function interprets ids.

    >>> from ir_measures import Qrel, ScoredDoc
    >>> list(passages_of([ScoredDoc("1", "D1:10-40", 0.5)]))
    [ScoredPassage(query_id='1', doc_id='D1', score=0.5, start=10, end=40)]
    >>> list(passages_of([Qrel("1", "msmarco#7#0-20", 1)]))[0][:5]
    ('1', 'msmarco#7', 1, 0, 20)
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
        self.own = [(measure, measure.foveal) for measure in measures]
        self.judgements = judgements
        self.options = options

    def _iter_calc(self, run: Any) -> Iterator[Any]:
        from foveal.evaluation import evaluate

        read = run_of(run)
        if not set(read.topics) & set(self.judgements.topics):
            return  # ir_measures fills in its zeros
        results = evaluate(read, self.judgements, [own for _, own in self.own], **self.options)
        at = {label: k for k, label in enumerate(results.measures)}
        for j, topic in enumerate(results.topics):
            for measure, own in self.own:
                value = float(results.values[0, j, at[own.label]])
                yield ir_measures.Metric(query_id=topic, measure=measure, value=value)


def register(**options: Any) -> tuple[str, ...]:
    """Add our measures to ir_measures, and return their names there.

    Names that ir_measures uses itself get the prefix ``foveal_``. Another call changes only the
    options.

    Parameters
    ----------
    **options
        Options of `foveal.evaluate`, such as ``overlap="union"``.

    Examples
    --------
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
    for own, measure in registered().items():
        known = theirs.registry.get(own)
        taken = known is not None and not isinstance(known, FovealMeasure)
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
    from foveal.formats import read_judgements

    judged = read_judgements(path).combined()
    rows = []
    for i, doc in enumerate(judged.doc):
        topic, relevant = judged.topics[judged.topic[i]], int(judged.relevant[i])
        length, bep = (None if v == UNKNOWN else int(v) for v in (judged.length[i], judged.bep[i]))
        spans: list[tuple[int, int] | tuple[None, None]] = [*judged.passages(i)] or [(None, None)]
        rows += [Passage(topic, doc, relevant, s, e, length, bep) for s, e in spans]
    return rows


def _read_run(path: str) -> list[ScoredPassage]:
    """Read a run of any format; positions replace scores that do not give the run's order."""
    from foveal.formats import read_run

    run = read_run(path)
    if (run.start == UNKNOWN).any():
        raise UsageError(
            f"{path}: results that are XPaths have no offsets; convert it with --collection"
        )
    places = [
        (None, None) if e == UNKNOWN else (int(s), int(e))
        for s, e in zip(run.start, run.end, strict=True)
    ]

    def with_scores(scores: Any) -> list[ScoredPassage]:
        return [
            ScoredPassage(run.topics[t], doc, float(score), *place)
            for t, doc, score, place in zip(run.topic, run.doc, scores, places, strict=True)
        ]

    if run.score is not None:
        rows = with_scores(run.score)
        again = run_of(rows)  # its lines are the numbers of these rows
        if ((np.diff(again.line) > 0) | (np.diff(again.topic) != 0)).all():
            return rows
    return with_scores(-run.position.astype(np.float64))


def main() -> None:
    """Run the command of ir_measures with our measures, and files with offsets."""
    import sys

    from ir_measures.__main__ import main_cli

    from foveal.errors import FovealError

    register()
    # The command calls these two readers; its own ones know only the columns of TREC.
    ir_measures.read_trec_qrels, ir_measures.read_trec_run = _read_qrels, _read_run
    try:
        main_cli()
    except FovealError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
