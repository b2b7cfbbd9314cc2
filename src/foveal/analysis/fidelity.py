"""The S-R space: runs of known quality, and whether measures order them as expected.

Five ways to choose the parts of a relevant document and four ways to rank the documents make 20
runs, which are made from judgements (Pehcevski, Thom and Kamps, section 4). `expected_orderings`
lists which must be better, and `fidelity` tests measures with them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from foveal import spans
from foveal._version import __version__
from foveal.analysis.score_matrix import ScoreMatrix
from foveal.analysis.score_tables import tabulate_scores
from foveal.analysis.significance import t_test
from foveal.collection import Collection
from foveal.collection.element_index import open_cached
from foveal.errors import InputError, UsageError, shorten_list
from foveal.evaluation import Options, evaluate, find_preset
from foveal.evaluation.preparation import select_judgements
from foveal.formats import read_judgements, read_topics
from foveal.measures import Measure, parse_measures
from foveal.measures.measure import OverlapRule
from foveal.model import Judgements, Results, Run
from foveal.model.result_object import Result
from foveal.model.tables import Table, format_cell
from foveal.spans import Ints

JudgementsLike = Judgements | str | Path | Sequence[str | Path]

# -- simulated runs ----------------------------------------------------------------------------

PARTS = ("S", "SL", "SLD", "SS", "SST")
"""Part sets: of a relevant document they return the highlighted passages; the smallest element
around each; the whole document; the largest elements inside each passage; and the elements inside
them that hold no other element."""
ELEMENTS = PARTS[1:]
"""Part sets that on a collection return elements only."""
RANKINGS = ("R", "RS", "RI", "RSI")
"""Rankings of the documents: by decreasing highlighted text; the first two swapped; a non-relevant
document put first; both."""
EMPTY = ("keep", "omit")
"""Treatments of a relevant document without parts in a part set."""


class Simulation(NamedTuple):
    """Simulated runs, named by part set and ranking as in ``SLDRSI``, with their topics.

    `skipped` are topics without a non-relevant document to put first; `notes` say what else was
    left out.
    """

    runs: tuple[Run, ...]
    topics: tuple[str, ...]
    skipped: tuple[str, ...]
    notes: tuple[str, ...]


def simulate(
    judgements: JudgementsLike,
    collection: str | Path | None = None,
    *,
    parts: Sequence[str] = PARTS,
    empty: str = EMPTY[0],
    **options: Any,
) -> Simulation:
    """Make the runs of the S-R space for any judgements of text.

    Parameters
    ----------
    judgements : Judgements, path, or a sequence of paths
    collection : path, optional
        A collection index; without it the part sets made of elements are left out.
    parts : sequence of str
        Some of `PARTS`.
    empty : {"keep", "omit"}
        Keep a document without parts in the ranking, with a result without length at the start of
        its first passage, or leave it out.
    **options
        Options of `foveal.evaluate` that choose topics, pools and assessors.

    Examples
    --------
    >>> truth = Judgements.from_highlights(
    ...     {
    ...         "1": {
    ...             "D1": {"spans": [(10, 40), (70, 80)], "length": 100},
    ...             "D2": {"spans": [(0, 50)], "length": 50},
    ...             "D3": {"spans": [], "length": 40},
    ...         }
    ...     }
    ... )
    >>> made = simulate(truth)
    >>> [run.name for run in made.runs]
    ['SR', 'SRS', 'SRI', 'SRSI', 'SLDR', 'SLDRS', 'SLDRI', 'SLDRSI']
    >>> made.runs[3].to_frame().select("doc", "start", "end").rows()
    [('D3', 0, 40), ('D1', 10, 40), ('D1', 70, 80), ('D2', 0, 50)]
    >>> made.notes
    ('no collection (--collection): runs of SL, SS, SST are left out',)
    """
    for name, known in ((empty, EMPTY), *((part, PARTS) for part in parts)):
        if name not in known:
            raise UsageError(f"unknown {name!r}; expected one of {', '.join(known)}")
    settings = Options(**options)
    if settings.assessors == "each":
        raise UsageError("a simulation takes one set of judgements; choose how assessors count")
    given = judgements if isinstance(judgements, Judgements) else read_judgements(judgements)
    index = None if collection is None else open_cached(collection)
    notes: list[str] = []
    topics = None if settings.topics_file is None else read_topics(settings.topics_file)
    selected = select_judgements(given, settings, index, topics, notes)
    combined = selected.combined(settings.assessors)
    if not combined.has_text:
        text = "no text is highlighted; expected judged passages"
        raise InputError.at("judgements.no_text", combined.sources[0].path, None, text)
    docs, kept, skipped = _rank_documents(combined, index)
    nothing = [topic for topic in combined.topics if topic not in {*kept, *skipped}]
    if nothing:
        notes.append(f"topics left out, nothing relevant: {shorten_list(nothing, 20)}")
    if skipped:
        notes.append(f"topics left out, no non-relevant document: {shorten_list(skipped, 20)}")
    sets = _list_parts(combined, docs, index)
    inserted = sets["SLD"].join(docs.filter(place=0), on="unit", how="semi")
    begins = sets["S"].group_by("unit").agg(start=pl.col("start").min(), end=pl.col("start").min())
    runs = []
    for part in (part for part in parts if part in sets):
        own = pl.concat([sets[part].join(inserted, on="unit", how="anti"), inserted])
        bare = begins.join(own, on="unit", how="anti")
        if len(bare):
            what = "kept without text" if empty == "keep" else "left out"
            lost = f"relevant documents with nothing returned, {what}: {len(bare)}"
            notes.append(f"{part}: {lost}")
        if empty == "keep":
            own = pl.concat([own, bare], how="diagonal")
        runs += [_make_run(f"{part}{ranking}", own, docs, kept, ranking) for ranking in RANKINGS]
    if left_out := [part for part in parts if part not in sets]:
        notes.append(f"no collection (--collection): runs of {', '.join(left_out)} are left out")
    return Simulation(tuple(runs), kept, skipped, tuple(notes))


def _rank_documents(
    combined: Judgements, index: Collection | None
) -> tuple[pl.DataFrame, tuple[str, ...], tuple[str, ...]]:
    """Return the documents of the runs, their topics, and the topics skipped.

    ``place`` is the rank in R, and 0 for the document put first. That is the first judged
    non-relevant document by name, else the first of the collection that is not judged; without a
    collection, of the documents judged for other topics.
    """
    judged = pl.DataFrame(
        {
            "row": np.arange(len(combined)),
            "topic": combined.topic,
            "doc": combined.doc,
            "size": combined.rel_size,
        }
    )
    relevant = judged.filter(pl.col("size") > 0)
    free = judged.filter(pl.col("size") == 0)
    if index is not None:
        lost = relevant.filter(pl.Series(index.lengths(relevant["doc"]) < 0))
        if len(lost):
            code, text = (
                "collection.unknown_document",
                "relevant document {!r} is not in the collection",
            )
            rows = lost.select("row", "doc").rows()
            raise InputError(combined.problem(code, row, text.format(doc)) for row, doc in rows)
        free = free.filter(pl.Series(index.lengths(free["doc"]) >= 0))
    wanted = relevant["topic"].unique().sort().to_list()
    first = dict(free.group_by("topic").agg(pl.col("doc").min()).rows())
    others = combined.doc if index is None else index.documents["doc"]
    names = others.unique().sort().to_list()
    for topic in set(wanted) - first.keys():
        own = set(judged.filter(topic=topic)["doc"])
        if unjudged := [name for name in names if name not in own]:
            first[topic] = unjudged[0]
    kept = [topic for topic in wanted if topic in first]
    skipped = tuple(combined.topics[topic] for topic in wanted if topic not in first)
    if not kept:
        lacking = f"{len(skipped)} without a non-relevant document to put first"
        raise UsageError(f"no topic to simulate: {lacking if skipped else 'nothing is relevant'}")
    ranked = relevant.filter(pl.col("topic").is_in(kept)).sort(
        "topic", "size", "doc", descending=[False, True, False]
    )
    ranked = ranked.with_columns(place=pl.int_range(1, pl.len() + 1).over("topic"))
    inserted = pl.DataFrame({"topic": kept, "doc": [first[topic] for topic in kept], "place": 0})
    docs = pl.concat([ranked, inserted], how="diagonal_relaxed")
    if index is None:
        combined.check_lengths(ends=False)
        known = {"doc": combined.documents.names, "length": combined.documents.length}
        docs = docs.join(pl.DataFrame(known), on="doc", how="left", maintain_order="left")
    else:
        docs = docs.with_columns(length=index.lengths(docs["doc"]))
    docs = docs.with_columns(
        topic=pl.col("topic").rank("dense") - 1, unit=pl.int_range(pl.len(), dtype=pl.Int64)
    )
    return docs, tuple(combined.topics[topic] for topic in kept), skipped


def _list_parts(
    combined: Judgements, docs: pl.DataFrame, index: Collection | None
) -> dict[str, pl.DataFrame]:
    """Return the parts of each part set: unit, start, end and XPath."""
    columns = {"row": combined.row, "start": combined.start, "end": combined.end}
    passages = pl.DataFrame(columns).join(docs.select("row", "unit"), on="row")
    no_path = pl.lit(None, dtype=pl.String)
    passages = passages.select("unit", "start", "end", xpath=no_path)
    whole = docs.select("unit", start=pl.lit(0, dtype=pl.Int64), end="length", xpath=no_path)
    if index is None:
        return {"S": passages, "SLD": whole}
    trees = index.trees(docs["doc"])
    unit = np.repeat(np.arange(len(docs)), np.diff(trees.bounds))
    base = spans.lay_out(docs["length"].to_numpy())
    own, start, end = (passages[name].to_numpy() for name in ("unit", "start", "end"))
    # Passages are apart from each other, so an element of highlighted text lies in one of them.
    highlighted = spans.Coverage(start + base[own], end + base[own])
    size = trees.end - trees.start
    inside = highlighted.within(trees.start + base[unit], trees.end + base[unit]) == size
    inside &= size > 0
    has_parent = trees.parent >= 0
    is_leaf = np.ones(len(unit), dtype=bool)
    is_leaf[trees.parent[has_parent]] = False

    def list_elements(element: Ints) -> pl.DataFrame:
        places = {"unit": unit[element], "start": trees.start[element], "end": trees.end[element]}
        return pl.DataFrame({**places, "xpath": index.xpaths(trees.path[element])})

    # Of SL, drop elements inside another one of the same document.
    smallest = list_elements(np.unique(trees.find_enclosing(own, start, end)))
    smallest = smallest.sort("unit", "start", "end", descending=[False, False, True])
    reach = pl.col("end").cum_max().shift(1, fill_value=-1).over("unit")
    return {
        "S": passages,
        "SL": smallest.filter(pl.col("end") > reach),
        "SLD": list_elements(trees.bounds[:-1]),
        "SS": list_elements(np.flatnonzero(inside & ~(has_parent & inside[trees.parent]))),
        "SST": list_elements(np.flatnonzero(inside & is_leaf)),
    }


def _make_run(
    name: str, parts: pl.DataFrame, docs: pl.DataFrame, topics: Sequence[str], ranking: str
) -> Run:
    """Return a run of the parts of each document, in the order of the ranking."""
    place = pl.col("place")
    if "S" in ranking:  # the place of a single document does not matter
        place = place.replace({1: 2, 2: 1})
    ranked = docs.with_columns(place=place)
    if "I" not in ranking:
        ranked = ranked.filter(pl.col("place") > 0)
    results = ranked.join(parts, on="unit").sort("topic", "place", "start", "end")
    topic = pl.Series(topics, dtype=pl.String).gather(results["topic"])
    xpath = ["xpath"] if results["xpath"].count() else []
    results = results.select("doc", "start", "end", *xpath, topic=topic)
    return Run.from_frame(results, name=name)


class Ordering(NamedTuple):
    """An expectation: the first run is at least as good, on `every` topic or only on average."""

    better: str
    worse: str
    every: bool = True
    aspect: str = "given"

    def __str__(self) -> str:
        return f"{self.better} >= {self.worse}"


_PART_CHAINS = (("S", "SL", "SLD"), ("S", "SS", "SST"))
_ASPECTS = {
    ("R", "RS"): "swap",
    ("R", "RI"): "insertion",
    ("RS", "RSI"): "insertion",
    ("RI", "RSI"): "late swap",
}


def expected_orderings(
    parts: Sequence[str] = PARTS, *, empty: str = EMPTY[0]
) -> tuple[Ordering, ...]:
    """Return the orderings of the S-R space, in the order of table 2.

    More or less than the highlighted text is worse, and so is a non-relevant document put first,
    on every topic. Documents with more relevant text should come first on average; on every topic
    only with the part set S, where all documents are scored alike. With ``empty="omit"`` a
    document without parts in SS or SST makes room for others, which may more than compensate:
    only the average is expected then. Where a part set is missing, its neighbours are compared.

    >>> every = expected_orderings()
    >>> len(every), sum(ordering.every for ordering in every)
    (36, 28)
    >>> sum(ordering.every for ordering in expected_orderings(empty="omit"))
    20
    """
    chains = [[part for part in chain if part in parts] for chain in _PART_CHAINS]
    runs = list(dict.fromkeys((chain[0], "R") for chain in chains if chain))
    found: list[Ordering] = []
    for part, ranking in runs:  # from the best, step by step; the list grows meanwhile
        name = f"{part}{ranking}"
        for lower in (low for chain in chains for up, low in pairwise(chain) if up == part):
            every = empty == EMPTY[0] or lower not in ("SS", "SST")
            found.append(Ordering(name, f"{lower}{ranking}", every, "parts"))
            runs += [] if (lower, ranking) in runs else [(lower, ranking)]
        for (upper, lower), aspect in _ASPECTS.items():
            if upper == ranking:
                every = aspect == "insertion" or part == "S"
                found.append(Ordering(name, f"{part}{lower}", every, aspect))
                runs += [] if (part, lower) in runs else [(part, lower)]
    return tuple(found)


# -- tests of measures -------------------------------------------------------------------------

SCORED = (
    *("gP@1", "gP@2", "gP@10", "gR@1", "gR@2", "gR@10", "AgP"),
    *("gRw@1", "gRw@2", "gRw@10", "AgPw", "AP"),
)
"""The columns of table 1."""
TESTED = ("AgP", "AgPw", "AP")
"""The overall figures among them, which are tested unless others are named."""
TOLERANCE = 1e-12
"""Scores that differ by less are equal; relative to scores above 1."""
LEVEL = 0.05
"""A mean is reversed if it is significantly so at this level (paired t-test, two-sided)."""
VERDICTS = ("holds", "equal", "broken", "reversed", "below")
_CHOICE = ("only_topics", "pools", "assessors", "topics_file", "castitles_only")
"""Options that choose judgements; the others are about scoring."""
_ALTERING = (
    *("overlap", "regroup", "snap", "truncate", "lenient"),
    *("max_results", "topic_limit", "document_limit"),
)
"""Options that change runs."""


class OrderingOutcome(NamedTuple):
    """The outcome of one expected ordering by a measure; a row of the result.

    `expected` is ``every`` topic or the ``mean`` over topics. `difference` is the mean over topics
    by which the first run is better, and `p` that of the paired t-test, two-sided, not corrected;
    ``nan`` with fewer than two topics. The `verdict` is ``holds``; ``equal`` on all topics;
    ``broken`` on a topic although it must hold on every one; expected on average, but ``reversed``
    significantly, or only ``below``.
    """

    measure: str
    better: str
    worse: str
    expected: str
    aspect: str
    difference: float
    wins: int
    ties: int
    losses: int
    p: float
    verdict: str


@dataclass(frozen=True, eq=False, repr=False)
class Fidelity(Result):
    """Scores of the simulated runs and the outcome of every ordering, measure by measure."""

    scores: Results
    """Scores of all runs by all measures, tested or not."""
    outcomes: tuple[OrderingOutcome, ...]
    meta: Mapping[str, Any]

    @property
    def passed(self) -> bool:
        """No measure breaks an ordering that must hold on every topic."""
        return all(outcome.verdict != "broken" for outcome in self.outcomes)

    def rows(self, *, table: str | None = None) -> Iterator[dict[str, Any]]:
        """Yield a row for each outcome, or the rows of the table ``scores`` or ``verdict``."""
        if table == "scores":
            for run, topic, measure, value in self.scores.rows(per_topic=False):
                yield {"run": run, "topic": topic, "measure": measure, "value": value}
        elif table == "verdict":
            for measure in dict.fromkeys(o.measure for o in self.outcomes):
                own = [o for o in self.outcomes if o.measure == measure]
                for aspect in ("all", *dict.fromkeys(o.aspect for o in own)):
                    found = [o.verdict for o in own if aspect in ("all", o.aspect)]
                    row = {"measure": measure, "aspect": aspect, "passed": "broken" not in found}
                    yield {**row, **{verdict: found.count(verdict) for verdict in VERDICTS}}
        else:
            yield from (outcome._asdict() for outcome in self.outcomes)

    def parts(self) -> dict[str, Any]:
        parts = {"scores": "scores", "orderings": None, "verdicts": "verdict"}
        return {name: list(self.rows(table=table)) for name, table in parts.items()}

    def summary(self) -> str:
        """Return which measures break an ordering that must hold on every topic."""
        broken = [o for o in self.outcomes if o.verdict == "broken"]
        if broken:
            named = shorten_list([f"{o.measure} ({o.better} >= {o.worse})" for o in broken])
            return f"Orderings that must hold on every topic are broken by {named}."
        return "All orderings that must hold on every topic hold."

    def tables(self, *, table: str | None = None) -> list[Table]:
        """Return the tables ``scores``, ``orderings`` and ``verdict``, or one of them."""
        notes = (
            f">, ==, <: topics with the first run better, equal (within {TOLERANCE:g}) and worse.",
            "p: paired t-test, two-sided, not corrected.",
            f"reversed: below on average (p < {LEVEL:g}); below: not significantly.",
        )
        outcomes: list[tuple[str, ...]] = []
        for o in self.outcomes:
            counts = map(str, (o.wins, o.ties, o.losses))
            difference = f"{100 * o.difference:+.2f}"
            names = (o.measure, f"{o.better} >= {o.worse}", o.expected)
            outcomes.append((*names, difference, *counts, format_cell(o.p), o.verdict))
        header = ("measure", "ordering", "on", "diff %", ">", "==", "<", "p", "verdict")
        title = "Expected orderings"
        orderings = Table(
            header, tuple(outcomes), labels=3, title=title, notes=notes, name="orderings"
        )
        verdicts = tuple(
            (measure, aspect, "passes" if passed else "fails", *map(str, counts))
            for measure, aspect, passed, *counts in (r.values() for r in self.rows(table="verdict"))
        )
        columns = ("measure", "aspect", "verdict", *VERDICTS)
        verdict = Table(columns, verdicts, labels=3, title="Verdict", name="verdict")
        tables = (tabulate_scores(self.scores, titled=True), orderings, verdict)
        return [each for each in tables if table in (None, each.name)]


def fidelity(
    judgements: JudgementsLike,
    collection: str | Path | None = None,
    measures: str | Measure | Sequence[str | Measure] = (),
    *,
    task: str | None = None,
    executor: Executor | None = None,
    progress: Callable[[], None] | None = None,
    **options: Any,
) -> Fidelity:
    """Test measures with the runs of the S-R space, whose order is known.

    Parameters
    ----------
    judgements : Judgements, path, or a sequence of paths
    collection : path, optional
        A collection index; without it only S and SLD are simulated.
    measures : text or Python forms of measures
        All of them are scored and tested, except counts. Default: `SCORED` are scored, `TESTED`
        are tested. Measures of elements are tested with the part sets that are elements.
    task : str, optional
        A preset whose measures are tested, too; its limits are not applied.
    executor, progress, **options
        As in `foveal.evaluate`. Options that would change the simulated runs are refused.

    Examples
    --------
    >>> truth = Judgements.from_highlights(
    ...     {
    ...         "1": {
    ...             "D1": {"spans": [(0, 50)], "length": 100},
    ...             "D2": {"spans": [(0, 20)], "length": 50},
    ...             "D3": {"spans": [], "length": 40},
    ...         }
    ...     }
    ... )
    >>> found = fidelity(truth, measures="AP")
    >>> found.passed, {o.verdict for o in found.outcomes if o.aspect == "parts"}
    (True, {'equal'})
    """
    if altering := [name for name in _ALTERING if options.get(name)]:
        option = altering[0].replace("_", "-")
        raise UsageError(f"--{option} would change the simulated runs; leave it out")
    given = judgements if isinstance(judgements, Judgements) else read_judgements(judgements)
    listed = [measures] if isinstance(measures, (str, Measure)) else list(measures)
    if task is not None:
        preset = find_preset(task)
        single = [text for text in preset.texts if not text.endswith("@curve")]
        listed = [*(single or preset.texts), *listed]
        options |= {"castitles_only": preset.castitles_only}
    parsed = [
        measure
        for item in listed or SCORED
        for measure in (parse_measures(item) if isinstance(item, str) else (item,))
    ]
    better = [measure.label for measure in parsed if measure.higher_is_better is not None]
    tested = better if listed else TESTED
    is_structural = any(measure.structural for measure in parsed)
    for measure in parsed:
        if measure.overlap_rule is OverlapRule.ONE_PER_DOCUMENT:
            reason = "takes one result of each document, and simulated runs return several"
            raise UsageError(f"{measure.label} {reason}")
        if is_structural and not measure.structural:
            raise UsageError(f"{measure.label} is about text; test measures of elements separately")
    if is_structural and collection is None:
        raise UsageError(f"{parsed[0].label} is about elements, which needs --collection")
    if not tested:
        raise UsageError(f"{parsed[0].label}: it has no better direction")
    parts = ELEMENTS if is_structural else PARTS
    empty = EMPTY[1 if is_structural else 0]  # an element is never empty
    chosen = {option: value for option, value in options.items() if option in _CHOICE}
    made = simulate(given, collection, parts=parts, empty=empty, **chosen)
    scores = evaluate(
        made.runs,
        given,
        parsed,
        collection=collection,
        executor=executor,
        progress=progress,
        **options | {"only_topics": made.topics},
    )
    names = {run.name for run in made.runs}
    orderings = expected_orderings([part for part in parts if f"{part}R" in names], empty=empty)
    # Simulated runs return unjudged text on purpose, and a warning about one run is about many.
    warnings = [
        getattr(note, "text", note)
        for note in scores.meta.get("warnings", ())
        if getattr(note, "code", "") not in ("run.empty", "run.unjudged")
    ]
    meta = {
        "version": __version__,
        "options": {**options, "task": task, "measures": list(scores.measures), "empty": empty},
        "tolerance": TOLERANCE,
        "inputs": scores.meta.get("inputs", []),
        "topics": len(scores.topics),
        "skipped": list(made.skipped),
        "warnings": list(dict.fromkeys([*made.notes, *warnings])),
    }
    return Fidelity(scores, try_measures(scores, orderings, tested), meta)


def try_measures(
    results: Results, orderings: Sequence[Ordering], measures: Sequence[str] | None = None
) -> tuple[OrderingOutcome, ...]:
    """Test how each measure orders any scored runs, measure by measure.

    Examples
    --------
    >>> saved = Results.from_tidy(
    ...     [
    ...         *[("a", "1", "AP", 1.0), ("a", "2", "AP", 0.7)],
    ...         *[("b", "1", "AP", 0.5), ("b", "2", "AP", 0.8)],
    ...     ],
    ...     {},
    ... )
    >>> every, mean = try_measures(saved, [Ordering("a", "b"), Ordering("a", "b", every=False)])
    >>> every.verdict, mean.verdict, mean.wins, mean.losses
    ('broken', 'holds', 1, 1)
    """
    names = tuple(dict.fromkeys(n for o in orderings for n in (o.better, o.worse)))
    first = [names.index(o.better) for o in orderings]
    second = [names.index(o.worse) for o in orderings]
    found = []
    for measure in results.measures if measures is None else measures:
        scores = ScoreMatrix.from_results(results, measure, names)
        if not scores.topics:
            raise UsageError(f"{scores.measure} is defined on no topic for all runs")
        one, two = scores.values[first], scores.values[second]
        scale = np.maximum(1.0, np.maximum(np.abs(one), np.abs(two)))
        difference = np.where(np.abs(one - two) <= TOLERANCE * scale, 0.0, one - two) * scores.sign
        several = len(scores.topics) > 1
        p = t_test(difference) if several else np.full(len(orderings), np.nan)
        for ordering, own, chance in zip(orderings, difference, p.tolist(), strict=True):
            mean, wins, losses = float(own.mean()), int((own > 0).sum()), int((own < 0).sum())
            if not wins and not losses:
                verdict = "equal"
            elif ordering.every:
                verdict = "broken" if losses else "holds"
            elif mean >= 0:
                verdict = "holds"
            else:
                verdict = "reversed" if chance < LEVEL else "below"
            ties = len(own) - wins - losses
            expected = "every" if ordering.every else "mean"
            runs = (ordering.better, ordering.worse)
            row = (scores.measure, *runs, expected, ordering.aspect, mean, wins, ties, losses)
            found.append(OrderingOutcome(*row, chance, verdict))
    return tuple(found)
