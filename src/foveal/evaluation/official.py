"""The tables of the official evaluator of INEX 2008-2010, ``inex_eval`` 3.1, number for number.

Its conventions differ from the measures of `foveal.measures` in places (recall buckets in
doubles, the last gP repeated for short lists, which topics are averaged); this module follows
the evaluator, and its quirks as far as the documentation of ``foveal inex-eval`` says.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal

import numpy as np

from foveal.errors import InputError, Problem
from foveal.evaluation.rules import INTERLEAVED, ONE_PER_DOCUMENT, SHARED_TEXT, refuse_broken
from foveal.files.source import Source
from foveal.formats.lines import parse_judgements, parse_run
from foveal.measures.alignment import Alignment, Bools, Floats, Gold, TopicView
from foveal.measures.in_context import reading_score
from foveal.model import Judgements, Run
from foveal.spans import Ints

_RULES = {
    "f": (SHARED_TEXT,),
    "r": (INTERLEAVED, SHARED_TEXT),
    "b": (INTERLEAVED, ONE_PER_DOCUMENT),
    "i": (INTERLEAVED, SHARED_TEXT),
}
"""The rules by which the official evaluator rejects runs of a task."""
_RANKS = (1, 2, 3, 5, 10, 25, 50)
_COUNTS = ("num_ret", "num_rel", "num_rel_ret", "ret_size", "rel_size", "rel_ret_size")
_UNRESOLVED_SIZE = 18  # characters that the official evaluator counts for a result of unknown place


@dataclass(frozen=True)
class OfficialTable:
    """The values of one run, by topic and overall."""

    run_id: str
    file: str
    topics: dict[str, dict[str, float]]
    overall: dict[str, float]
    warnings: tuple[str, ...]

    def text(self, *, per_topic: bool) -> str:
        """Return the block as the official evaluator prints it."""
        lines = [f'<eval run-id="{self.run_id}" file="{self.file}">']
        for topic, values in [*(self.topics.items() if per_topic else ()), ("all", self.overall)]:
            for name, value in values.items():
                gap = "\t" if len(name) >= 8 else "\t\t"
                shown = str(int(value)) if name in (*_COUNTS, "num_q") else format_double(value)
                lines.append(f"{name}{gap}{topic}\t{shown}")
        return "\n".join([*lines, "</eval>", ""])


def format_double(value: float) -> str:
    """Format a double as Java prints it.

    >>> format_double(0.5), format_double(0.00025), format_double(float("nan"))
    ('0.5', '2.5E-4', 'NaN')
    """
    if math.isnan(value):
        return "NaN"
    if value == 0 or 1e-3 <= abs(value) < 1e7:
        return repr(float(value))
    sign, digits, exponent = Decimal(repr(float(value))).as_tuple()
    shown = "".join(map(str, digits)).rstrip("0")
    power = len(digits) - 1 + int(exponent)
    return f"{'-' if sign else ''}{shown[0]}.{shown[1:] or '0'}E{power}"


class Evaluator:
    """Scores runs of one task against FOL judgements.

    Parameters
    ----------
    qrels : path or Source
    task : {"t", "f", "r", "b", "i"}
        Thorough, Focused, Relevant in Context by F, Best in Context, Relevant in Context by T2I.
    every_topic : bool
        ``-c``: average over all judged topics, those missing from a run as 0.
    n, beta, irr : float
        Largest distance of a best entry point that scores; weight of recall in F; irrelevant
        characters tolerated in T2I.
    lenient : bool
        Treat results of unknown place (``X``, ``-1``) as the official evaluator does.
    """

    def __init__(
        self,
        qrels: str | Source,
        task: str,
        *,
        every_topic: bool = False,
        n: float = 500,
        beta: float = 0.25,
        irr: int = 300,
        lenient: bool = False,
    ) -> None:
        source = qrels if isinstance(qrels, Source) else Source.open(qrels)
        read = parse_judgements(source, official=True).get_content()
        if not len(read):
            raise source.error("judgements.empty", None, "no judgements")
        assert read.declared is not None
        self.declared: Ints = read.declared
        self.judgements: Judgements = replace(read.combined(), bep=read.bep)
        self.judged = Gold(self.judgements, strict=False)
        self.task = task
        self.every_topic = every_topic
        self.n, self.beta, self.irr = n, beta, irr
        self.lenient = lenient
        self.in_context = task in "rbi"
        relevant = self.declared > 0
        size = len(read.topics)
        self.nrel = np.bincount(read.topic[relevant], minlength=size)
        self.trel = np.bincount(read.topic, self.declared, size).astype(np.int64)
        self.warnings = list(read.notes)
        barren = [t for t, count in zip(read.topics, self.nrel, strict=True) if not count]
        if barren:
            self.warnings.append(
                f"{source.path}: topics without relevant text are left out: {', '.join(barren)}"
            )

    def score(self, run: str | Source) -> OfficialTable:
        """Return the table of one run."""
        source = run if isinstance(run, Source) else Source.open(run)
        if source.head[0]:
            loaded: Run = parse_run(source, unresolved=True).get_content()
        elif self.every_topic:
            loaded = Run.from_results({}, name=source.stem)
        else:
            raise source.error("run.empty", None, "the run is empty (-c scores an empty run 0)")
        lost = loaded.start < 0
        if lost.any() and not self.lenient:
            text = (
                "the place of the result is not resolved (X or -1); expected start and length "
                "(--lenient scores it as inex_eval 3.1 did)"
            )
            lines = loaded.line[lost].tolist()
            raise InputError(Problem("run.unresolved", source.path, n, text) for n in lines)
        alignment = Alignment(loaded, self.judged)
        refuse_broken(alignment, dict.fromkeys(_RULES.get(self.task, ()), ""))
        # The size and relevant size of each result as the task counts them.
        size, rsize, lost = alignment.size, alignment.rsize, alignment.run.start < 0
        if self.task == "t":
            relevant = (alignment.row >= 0) & (self.declared[alignment.row] > 0)
            size = np.where(relevant, alignment.new_size, size)
            rsize = alignment.new_rsize
            lost &= ~relevant
        size = np.where(lost, _UNRESOLVED_SIZE, size)
        per_topic: dict[str, dict[str, float]] = {}
        curves: list[Floats] = []
        for at, topic in enumerate(self.judgements.topics):
            if not self.nrel[at] or not (topic in alignment.place or self.every_topic):
                continue
            view = alignment.topic(topic)
            own, own_rsize = size[view.slice], rsize[view.slice]
            docs = view.documents
            relevant = (docs.row >= 0) & (self.declared[docs.row] > 0)
            bic = self.task == "b"
            counts: dict[str, float] = {
                "num_ret": len(docs.head),
                "num_rel": int(self.nrel[at]),
                "num_rel_ret": int(relevant.sum()),
                "ret_size": 0 if bic else int(own.sum()),
                "rel_size": int(self.trel[at]),
                "rel_ret_size": 0 if bic else int(own_rsize.sum()),
            }
            if self.in_context:
                scores = self._score_documents(view, np.flatnonzero(relevant), own, own_rsize)
                values, curve = _average_documents(scores, relevant, int(self.nrel[at]))
            else:
                values, curve = _average_characters(counts, own, own_rsize)
            per_topic[topic] = counts | values
            curves.append(curve)
        if not per_topic:
            text = "nothing to average: no result for a judged topic with relevant text"
            raise source.error("run.unjudged_topics", None, text)
        overall = dict(self._average_topics(list(per_topic.values()), curves))
        run_id = _find_last_id(source) if len(loaded) else ""
        return OfficialTable(run_id, source.path, per_topic, overall, loaded.notes)

    def _score_documents(self, view: TopicView, wanted: Ints, size: Ints, rsize: Ints) -> Floats:
        """Return the score of each document of a topic; 0 for those not among the `wanted`."""
        docs = view.documents
        scores = np.zeros(len(docs.head))
        if self.task == "r":
            doc_size = np.bincount(docs.of_result, size, len(docs.head))
            doc_rsize = np.bincount(docs.of_result, rsize, len(docs.head))
            hit = wanted[doc_rsize[wanted] > 0]
            p, r = doc_rsize[hit] / doc_size[hit], doc_rsize[hit] / self.declared[docs.row[hit]]
            weight = self.beta * self.beta
            scores[hit] = (1 + weight) * p * r / (weight * p + r)
        elif self.task == "b":
            start, bep = view.start[docs.head[wanted]], self.judgements.bep[docs.row[wanted]]
            distance = np.abs(bep - start)
            good = (start >= 0) & (bep >= 0) & (distance <= self.n)
            scores[wanted[good]] = (self.n - distance[good]) / self.n
        else:
            for d in wanted.tolist():
                own = np.flatnonzero((docs.of_result == d) & (view.start >= 0))
                parts = sorted(zip(view.start[own].tolist(), view.end[own].tolist(), strict=True))
                row = int(docs.row[d])
                length = int(self.judgements.length[row])
                scores[d] = reading_score(parts, view.passages(row), length, self.irr)
        return scores

    def _average_topics(
        self, per_topic: Sequence[dict[str, float]], curves: Sequence[Floats]
    ) -> Iterator[tuple[str, float]]:
        number = len(per_topic)
        yield "num_q", number
        totals = {name: sum(int(values[name]) for values in per_topic) for name in _COUNTS}
        if self.in_context:
            totals["num_rel"], totals["rel_size"] = int(self.nrel.sum()), int(self.trel.sum())
        yield from totals.items()
        names = [name for name in per_topic[0] if name not in _COUNTS]
        if self.in_context:  # AgP comes first here, and last for a topic
            names = [*names[-1:], *names[:-1]]
        for name in names:
            mean = _sum(values[name] for values in per_topic) / number
            yield f"M{name}" if name in ("AgP", "AiP") else name, mean
        points = len(curves[0])
        for j in range(points):
            yield f"ircl_prn.{j / (points - 1):.2f}", _sum(c[j] for c in curves) / number


def _find_last_id(source: Source) -> str:
    """Return the run id on the last line, which the evaluator prints where lines differ in it."""
    data, _, line = source.data.rstrip().rpartition(b"\n")
    while line.lstrip().startswith(b"#"):
        data, _, line = data.rstrip().rpartition(b"\n")
    return line.split()[5].decode()


def _average_documents(
    scores: Floats, relevant: Bools, total: int
) -> tuple[dict[str, float], Floats]:
    """Return gP, gR and AgP of a topic with `total` relevant documents, and its curve."""
    gp = np.cumsum(scores) / np.arange(1, len(scores) + 1)
    found = np.cumsum(relevant)
    values: dict[str, float] = {}
    for rank in _RANKS:
        last = min(rank, len(scores)) - 1
        values[f"gP[{rank}]"] = float(gp[last]) if last >= 0 else 0.0
        values[f"gR[{rank}]"] = int(found[last]) / total if last >= 0 else 0.0
    values["AgP"] = _sum(gp[relevant]) / total
    return values, _interpolate(gp, found / total, 10)


def _average_characters(
    counts: dict[str, float], size: Ints, rsize: Ints
) -> tuple[dict[str, float], Floats]:
    """Return precision and recall of articles and characters, iP and AiP, and the curve."""
    read, found = np.cumsum(size), np.cumsum(rsize)
    curve = _interpolate(found / np.maximum(read, 1), found / counts["rel_size"], 100)
    values: dict[str, float] = {}
    for name, hits, returned, wanted in (
        ("art", "num_rel_ret", "num_ret", "num_rel"),
        ("char", "rel_ret_size", "ret_size", "rel_size"),
    ):
        p = counts[hits] / counts[returned] if counts[returned] else 0.0
        r = counts[hits] / counts[wanted]
        f1 = 2 * p * r / (p + r) if p + r else 0.0
        values |= {f"{name}_prec": p, f"{name}_rec": r, f"{name}_f1": f1}
    values |= {
        f"iP[{level:.2f}]": float(curve[round(100 * level)]) for level in (0, 0.01, 0.05, 0.1)
    }
    return values | {"AiP": _sum(curve) / len(curve)}, curve


def _interpolate(precision: Floats, recall: Floats, steps: int) -> Floats:
    """Return precision at 0, 1/steps, ..., 1: buckets in doubles, maximum from the right."""
    best = np.zeros(steps + 1)
    np.maximum.at(best, np.minimum(np.floor(steps * recall).astype(np.int64), steps), precision)
    return np.maximum.accumulate(best[::-1])[::-1]


def _sum(values: Iterator[float] | Floats) -> float:
    """Add from left to right, as the loops of the evaluator do."""
    total = 0.0
    for value in values:
        total += float(value)
    return total
