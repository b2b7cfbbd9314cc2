"""What a measured process of the structure benchmark does: one family of measures on one campaign.

    python -m benchmarks.structure_tasks thorough_spec DIRECTORY [--scoring]

prints as JSON what the task took after its imports; with `--scoring` runs and judgements are read
before. Nothing here imports NumPy or Polars before a task runs: the process that measures the
others takes names from this module, and a child inherits its peak memory (see README.md).
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from benchmarks.processes import timed
from benchmarks.tree_campaign import Files

__all__ = ["FAMILIES", "POLARS", "READINGS", "Family", "work"]


XCG, EPRUM = 3.0, 10.0
"""The aims: the measures alone take less than so many times the reading of the same runs."""
WHOLE = 4.0
"""The aim for everything from files to scores, against Polars that only reads the runs."""


@dataclass(frozen=True)
class Family:
    """Measures that are timed together, in one call of `foveal.evaluate`."""

    text: str
    measures: tuple[str, ...] = ()
    task: str | None = None
    collection: bool = True
    entries: bool = False
    """Score the runs of entry points, not those of elements."""
    graded: bool = False
    """Score against the grades of 2003 and 2004."""
    bound: float | None = None
    whole_bound: float | None = None

    @property
    def reading(self) -> str:
        """The reading of the runs that the family is compared with."""
        return "read_entries" if self.entries else "read"

    @property
    def preparation(self) -> str:
        """The family that does no more than any measure must, on the same inputs."""
        name = "prepare_entries" if self.entries else "prepare"
        return name if self.collection else f"{name}_alone"


def _values(settings: str) -> tuple[str, ...]:
    """The single values that were reported of cumulated gain."""
    return (*(f"nxCG({settings})@{k}" for k in (10, 25, 50)), f"MAep({settings})")


def _curves(settings: str) -> tuple[str, ...]:
    return f"ep({settings})@curve", f"nxCG({settings})@curve"


_FOCUSED = {
    "spec": "quant=spec,overlap=on",
    "gen5": "quant=gen5,overlap=on",
    "half": "quant=gen5,overlap=on,alpha=0.5",
}


def _families() -> Iterator[tuple[str, Family]]:
    counted = ("num_ret",)
    yield "prepare", Family("reading, placing and checking all", counted)
    yield "prepare_alone", Family("the same, no collection", counted, collection=False)
    yield "prepare_entries", Family("the same, entry points", counted, entries=True)
    for quant in ("spec", "gen5", "strict5", "genLifted"):
        text = f"Thorough XCG, `quant={quant}`"
        yield (
            f"thorough_{quant}",
            Family(text, _values(f"quant={quant}"), bound=XCG, whole_bound=WHOLE),
        )
    for name, settings in _FOCUSED.items():
        text = f"Focused XCG, `{settings}`"
        yield f"focused_{name}", Family(text, _values(settings), bound=XCG, whole_bound=WHOLE)
        if name != "half":
            alone = Family(f"{text}, no collection", _values(settings), collection=False, bound=XCG)
            yield f"focused_{name}_alone", alone
    yield "curves", Family("ep and nxCG curves, Thorough", _curves("quant=spec"), bound=XCG)
    focused = _curves(_FOCUSED["gen5"])
    yield "curves_focused", Family("ep and nxCG curves, Focused", focused, bound=XCG)
    sakai = ("Q", "Rmeasure", "Q(overlap=on)", "Rmeasure(overlap=on)")
    yield "sakai", Family("Q and R, Thorough and Focused", sakai, bound=XCG)
    yield "fetch", Family("Fetch & Browse, articles", ("FBarticle(quant=gen5)",), bound=XCG)
    for name, overlap in (("browse", "off"), ("browse_focused", "on")):
        text, measure = f"Fetch & Browse, `overlap={overlap}`", f"FBelement(overlap={overlap})"
        yield name, Family(text, (measure,), bound=XCG)
    yield "inex_eval", Family("inex_eval, one function", ("inex_eval(quant=gen5)",))
    mean7 = ("inex_eval(quant=mean7)",)
    yield "inex_eval_7", Family("inex_eval, seven functions", mean7, collection=False, graded=True)
    concepts = ("inex_eval_ng(variant=o)", "inex_eval_ng(variant=s)")
    yield "ng", Family("inex_eval_ng, both variants", concepts)
    yield "bepd", Family("BEPD", ("BEPD",), entries=True)
    yield "eprum_bep", Family("EPRUM, entry points", ("EPRUM",), entries=True, bound=EPRUM)
    for targets in ("passages", "ideal"):
        measures = (f"EPRUM(targets={targets})",)
        yield f"eprum_{targets}", Family(f"EPRUM, {targets}", measures, bound=EPRUM)
    yield "prum_ideal", Family("PRUM, ideal", ("PRUM(targets=ideal)",))
    for task in ("2005.CO.Thorough", "2005.CO.Focussed", "2005.CO.FetchBrowse", "2006.Thorough"):
        name = f"preset_{task}"
        yield name, Family(f"preset {task}", task=task)
        yield f"{name}_alone", Family(f"preset {task}, no collection", task=task, collection=False)
    yield (
        "preset_2006.BestInContext",
        Family("preset 2006.BestInContext", task="2006.BestInContext", entries=True),
    )


FAMILIES: dict[str, Family] = dict(_families())
"""What is scored, in the order of the report."""

READINGS: dict[str, tuple[str, Callable[[Files], Sequence[Path]]]] = {
    "read": ("reading the runs", lambda files: files.runs),
    "read_entries": ("reading the runs of entry points", lambda files: files.entries),
    "read_inex": ("reading one run of each kind, INEX XML", lambda files: files.submissions),
    "read_fields": (
        "the same runs, 7 fields",
        lambda files: [path for path in files.runs if path.stem in _stems(files.submissions)],
    ),
    "polars": ("Polars reads the runs, `read_csv`", lambda files: files.runs),
    "polars_entries": ("Polars reads the runs of entry points", lambda files: files.entries),
}
"""What is read only, in a thread per core as `foveal.evaluate` does."""


POLARS = {"read": "polars", "read_entries": "polars_entries"}
"""What Polars reads, for the reading of the same runs."""


def _stems(paths: Sequence[Path]) -> set[str]:
    return {path.stem for path in paths}


def _reading(name: str, files: Files) -> Callable[[], object]:
    from foveal import read_run

    def read_csv(path: Path) -> None:
        import polars as pl

        pl.read_csv(path, separator=" ", has_header=False)

    def read(path: Path) -> int:
        return len(read_run(path))  # nothing of it is kept

    paths, task = READINGS[name][1](files), read_csv if name in POLARS.values() else read

    def work() -> object:
        with ThreadPoolExecutor(min(os.cpu_count() or 1, len(paths))) as threads:
            return list(threads.map(task, paths))

    return work


def _scoring(family: Family, files: Files, *, read_before: bool) -> Callable[[], object]:
    from foveal import evaluate, read_judgements, read_run

    judgements = files.grades if family.graded else files.judgements
    runs = files.entries if family.entries else files.runs
    collection = files.index if family.collection else None
    task, measures = family.task, family.measures
    if not read_before:
        return lambda: evaluate(runs, judgements, measures, task=task, collection=collection)
    known, truth = [read_run(path) for path in runs], read_judgements(judgements)
    return lambda: evaluate(known, truth, measures, task=task, collection=collection)


def work(name: str, files: Files, *, read_before: bool = False) -> Callable[[], object]:
    """What is to be timed; `read_before` reads runs and judgements beforehand."""
    if name in READINGS:
        return _reading(name, files)
    return _scoring(FAMILIES[name], files, read_before=read_before)


def main(name: str, root: str, *options: str) -> None:
    task = work(name, Files(Path(root)), read_before="--scoring" in options)
    print(json.dumps(timed(task)))


if __name__ == "__main__":
    main(*sys.argv[1:])
