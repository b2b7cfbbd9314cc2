"""Runs from Python objects: results of frameworks, dicts, tuples, data frames."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from foveal.adapters.frames import frame_of, frame_rows, runs_in
from foveal.adapters.placing import Texts, defects_of, placed, sizes
from foveal.adapters.rows import DocOf, is_row, listed, rows_of
from foveal.errors import UsageError, some
from foveal.formats.checks import Defects, check_ranks, check_scores, check_xpaths, is_root
from foveal.formats.ranking import ranked, with_costs
from foveal.formats.xpaths import canonical_paths
from foveal.model import UNKNOWN, Provenance, Run

__all__ = ["run_of", "runs_of"]

_COLUMNS = ("doc", "start", "end", "score", "rank", "xpath", "text", "tokens")
_NAME = "run"


def run_of(
    results: Any,
    *,
    name: str | None = None,
    doc: DocOf = None,
    texts: Mapping[str, str] | None = None,
    ambiguous: str = "error",
    missing: str = "error",
) -> Run:
    """A run from what a retriever returned.

    Parameters
    ----------
    results : mapping, data frame or sequence of rows
        ``{topic: [result, ...]}``, each list in rank order. A result is an object of LangChain,
        LlamaIndex, Haystack or Chonkie, a dict, or a tuple ``(doc, start, end)`` with the score
        as an optional fourth; objects may stand in pairs with their score. Or a frame of Polars
        or pandas, or a list of dicts or tuples that begin with the topic: rows are ordered by
        rank, else by descending score, else as they stand.
    name : str, optional
        The name of the run; by default what the column ``run`` of a frame says, else ``run``.
    doc : str or callable, optional
        The field (of the metadata, the dict or the frame) that tells the document, or a function
        of the result, where it is not the usual one of the framework.
    texts : mapping of str to str, optional
        The text of each document. Results that tell their text are compared with it; those that
        tell nothing else are placed by it.
    ambiguous : {"error", "first", "empty"}
        What becomes of a text that is in its document more than once: the first of its places is
        taken, or the result keeps its rank and holds nothing. Both are noted.
    missing : {"error", "empty"}
        The same for a text that is not in its document.

    Examples
    --------
    >>> run_of({"1": [("d1", 20, 40, 9.5), ("d2", 0, 50, 7.25)]}, name="mine").score.tolist()
    [9.5, 7.25]
    >>> chunks = [{"source": "d1", "start_index": 20, "text": "a reaction ferry"}]
    >>> run_of({"1": chunks}).to_frame().rows()
    [('1', 'd1', 1, 20, 36)]
    >>> run_of({"1": [{"doc": "d1", "text": "ferry"}]}, texts={"d1": "a ferry"}).start.tolist()
    [2]
    """
    given = Texts(texts, ambiguous, missing)
    frame = frame_of(results)
    if frame is not None:
        names = runs_in(frame)
        if len(names) > 1:
            raise UsageError(
                f"the frame holds {len(names)} runs: {some(names)}; expected one. "
                "foveal.evaluate takes all of them"
            )
        name = name or (names[0] if names else _NAME)
        if callable(doc):
            raise UsageError("doc is a function; for a frame it is the name of a column")
        return _ordered(frame_rows(frame, _COLUMNS, doc), name, given)
    name = name or _NAME
    if isinstance(results, Mapping):
        return _listed(listed(results, _COLUMNS, name, doc), name, given)
    rows = _sequence(results)
    if not all(is_row(row) for row in rows):
        raise UsageError(
            "results without topics; expected {topic: [result, ...]}, or rows that name their "
            "topic: dicts with a field topic, tuples (topic, doc, start, end)"
        )
    return _ordered(rows_of(((None, row) for row in rows), _COLUMNS, name, doc), name, given)


def runs_of(results: Any) -> list[Run | str | Path]:
    """The runs in anything that can be scored; files and runs stay what they are.

    One mapping, frame or list of rows is one run, and a frame with a column ``run`` is as many as
    it names. A sequence holds runs and names of files; several runs of Python objects are made
    with `run_of` and named there, so that no name of a run can be mistaken for a topic.

    >>> runs_of({"1": [("d1", 0, 40)]})
    [<Run 'run': 1 results, 1 topics>]
    >>> frame = pl.DataFrame({"run": ["a", "b"], "topic": "1", "doc": "d1", "start": 0, "end": 9})
    >>> runs_of(frame)
    [<Run 'a': 1 results, 1 topics>, <Run 'b': 1 results, 1 topics>]
    """
    if isinstance(results, (Run, str, Path)):
        return [results]
    frame = frame_of(results)
    if frame is not None:
        names = runs_in(frame)
        if len(names) > 1:
            whose = frame["run"].cast(pl.String)
            return [run_of(frame.filter(whose == name), name=name) for name in names]
        return [run_of(frame)]
    if isinstance(results, Mapping):
        return [run_of(results)]
    items = _sequence(results)
    if all(isinstance(item, (Run, str, Path)) for item in items):
        return items
    if any(isinstance(item, Mapping) and not is_row(item) for item in items) or any(
        frame_of(item) is not None for item in items
    ):
        raise UsageError(
            "runs of Python objects in a list have no names; give each its own: "
            "foveal.run_of(results, name=...)"
        )
    return [run_of(items)]


def _sequence(results: Any) -> list[Any]:
    if isinstance(results, (str, bytes)) or not isinstance(results, Iterable):
        raise UsageError(
            f"{type(results).__name__} cannot be a run; expected {{topic: [result, ...]}}, a data "
            "frame, or rows that name their topic (foveal.read_run reads files)"
        )
    return list(results)


def _listed(frame: pl.DataFrame, name: str, given: Texts) -> Run:
    """A run of lists, which are in rank order."""
    frame, notes = _results(frame, name, given)
    defects = defects_of(frame, name)
    same = (frame["topic"] == frame["topic"].shift(1)).fill_null(value=False)
    early = ((frame["rank"] < frame["rank"].shift(1)) & same).fill_null(value=False)
    before = frame["rank"].shift(1)
    message = "rank {} after rank {}; expected a list in rank order"
    defects.raise_if(
        [*defects.at("unclassified", early.to_numpy(), message, frame["rank"], before)]
    )
    optional = [c for c in ("xpath",) if frame[c].count()]
    optional += [c for c in ("rank",) if frame[c].count() == len(frame) > 0]
    unscored = frame["score"].null_count()
    if not unscored:
        optional.append("score")
    elif unscored < len(frame):
        notes.append(f"results without a score, so that all scores are left out: {unscored}")
    run = Run.from_frame(
        frame.select("topic", "doc", "start", "end", "line", *optional), name=name, notes=(*notes,)
    )
    return _finished(run, frame, defects, name)


def _ordered(frame: pl.DataFrame, name: str, given: Texts) -> Run:
    """A run of rows, ordered as those of a JSON Lines file are."""
    frame, notes = _results(frame, name, given)
    defects = defects_of(frame, name)
    columns = ("topic", "doc", "start", "end", "rank", "score", "xpath")
    run = ranked(frame.select(columns), frame["line"].to_numpy(), defects, name=name)
    run = replace(run, notes=(*notes, *run.notes))
    return _finished(run, frame, defects, name)


def _results(frame: pl.DataFrame, name: str, given: Texts) -> tuple[pl.DataFrame, list[str]]:
    """The rows with places as runs have them: `UNKNOWN` where a document is whole or a path."""
    defects = defects_of(frame, name)
    score = frame["score"]
    problems = check_scores(defects, score.fill_null(0.0).to_numpy())
    problems += check_ranks(defects, frame["rank"])
    problems += check_xpaths(defects, frame["xpath"])
    defects.raise_if(problems)
    frame, notes = placed(frame, name, given)
    frame = frame.with_columns(canonical_paths(frame["xpath"]))
    no_place = frame["start"].is_null()
    inside = no_place & frame["xpath"].is_not_null() & ~pl.Series(is_root(frame["xpath"]))
    whole = no_place & frame["xpath"].is_null()
    if whole.any():
        notes.append(f"results without start and end, taken as whole documents: {whole.sum()}")
    start = pl.when(inside).then(UNKNOWN).otherwise(pl.col("start").fill_null(0))
    end = pl.col("end")
    if "size" in frame.columns:
        end = pl.when(no_place & ~inside).then("size").otherwise(end)
    return frame.with_columns(start=start, end=end.fill_null(UNKNOWN)), notes


def _finished(run: Run, frame: pl.DataFrame, defects: Defects, name: str) -> Run:
    """The run with what readers of files do not know: lengths by the texts, no file."""
    run = replace(with_costs(run, frame["tokens"], defects), source=Provenance(name))
    length = sizes(frame)
    if length is None:
        return run
    of_line = np.full(len(frame) + 1, UNKNOWN, dtype=np.int64)
    of_line[frame["line"].to_numpy()] = length
    return replace(run, length=of_line[run.line])
