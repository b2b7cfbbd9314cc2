"""Run all benchmarks and write one report: tables, aims, graphs, the machine and the versions.

python -m benchmarks [--only NAMES] [--short] [--data DIR] [--output FILE.md]

Beside the report come FILE.json with every measurement, and a graph of each benchmark's curves.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks.frame import say
from benchmarks.graphs import draw
from benchmarks.machine import machine, versions
from benchmarks.outcome import Outcome, table
from benchmarks.processes import ROOT

THOROUGH = ("thorough_spec", "thorough_gen5", "focused_spec", "focused_gen5")


@dataclass(frozen=True)
class Benchmark:
    """A module of this package, and what it is called with."""

    module: str
    short: Sequence[str]
    """For a version of a few seconds."""
    full: Sequence[str] = ()
    data: bool = True
    """Whether it generates files that can be kept."""


def _each(option: str, values: Sequence[str]) -> list[str]:
    return [part for value in values for part in (option, value)]


BENCHMARKS = {
    "passages": Benchmark("passages", ["--topics=20", "--results=500", "--runs=5", "--repeats=1"]),
    "twenty_runs": Benchmark(
        "passages",
        ["--topics=20", "--results=500", "--runs=2", "--kinds=1", "--campaign-only"],
        ["--runs=20", "--kinds=1", "--campaign-only"],
    ),
    "rankings": Benchmark("rankings", ["--topics=50", "--documents=10000", "--repeats=1"]),
    "starting": Benchmark("starting", ["--short=2000", "--judged=100", "--repeats=2"]),
    "larger": Benchmark("larger", ["--topics=20", "--results=5000", "--memory=5M"]),
    "growth": Benchmark("growth", ["--runs=20", "--divide=10", "--points=2", "--repeats=1"]),
    "scaling": Benchmark("scaling", ["--topics=20", "--results=500", "--runs=6", "--repeats=1"]),
    "elements": Benchmark(
        "structure",
        [
            *("--topics=6", "--results=200", "--runs=4", "--documents=600", "--judged=100"),
            *("--relevant=40", "--points=0", "--title=Elements"),
            *_each("--only", THOROUGH[:1]),
        ],
        ["--runs=100", "--points=0", "--title=Elements", *_each("--only", THOROUGH)],
    ),
    "structure": Benchmark(
        "structure",
        [
            *("--topics=4", "--results=100", "--runs=4", "--documents=400", "--judged=60"),
            *("--relevant=20", "--points=0"),
            *_each("--only", ("focused_gen5", "eprum_bep")),
        ],
    ),
    "indexing": Benchmark("indexing", ["--megabytes=2", "--points=2"], ["--megabytes=3072"]),
    "chunkers": Benchmark(
        "chunkers", ["--questions=40", "--chunkers=4", "--repeats=2"], data=False
    ),
    "t2i": Benchmark("t2i", ["--results=4000", "--points=2", "--repeats=1"], data=False),
    "report_page": Benchmark(
        "report_page",
        [
            *("--topics=5", "--results=20", "--runs=3", "--documents=2000", "--judged=10"),
            *("--short=50", "--many=30", "--repeats=1"),
        ],
    ),
    "assess_page": Benchmark(
        "assess_page", ["--characters=40000", "--highlights=100", "--repeats=1"], data=False
    ),
    "assess_load": Benchmark(
        "assess_load", ["--assessors=3", "--rate=200", "--minutes=0.05"], data=False
    ),
}
"""In the order they are run."""


def _run(name: str, place: Path, options: Namespace) -> Outcome | str:
    """What a benchmark found, or why it ended before."""
    benchmark, found = BENCHMARKS[name], place / f"{name}.json"
    command = [sys.executable, "-m", f"benchmarks.{benchmark.module}", "--json", str(found)]
    command += benchmark.short if options.short else benchmark.full
    if benchmark.data and options.data is not None:
        command += ["--data", str(options.data.resolve() / name)]
    if options.repeats is not None and name != "assess_load":
        command.append(f"--repeats={options.repeats}")
    with tempfile.TemporaryFile() as err:
        child = subprocess.Popen(
            command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
        )
        assert child.stderr is not None
        for line in child.stderr:  # what it says while it runs is shown, and kept for a failure
            err.write(line.encode())
            say(line.rstrip())
        if child.wait():
            err.seek(0)
            last = err.read().decode(errors="replace").strip().splitlines() or ["no message"]
            return f"ended with {child.returncode}: {last[-1]}"
    return Outcome.from_json(found.read_text())


# -- the report --------------------------------------------------------------------------------


def _summary(outcomes: dict[str, Outcome | str]) -> list[str]:
    """How many aims of each benchmark are met, and which are not."""
    rows = []
    for name, found in outcomes.items():
        if isinstance(found, str):
            rows.append([name, "", f"failed: {found}"])
            continue
        missed = [f"{aim.text} ({aim.cells()[2]})" for aim in found.aims if not aim.met]
        met = f"{len(found.aims) - len(missed)} of {len(found.aims)}"
        rows.append([name, met, "; ".join(missed)])
    return table(["benchmark", "aims met", "not met"], rows)


def report(
    outcomes: dict[str, Outcome | str],
    graphs: dict[str, str],
    about: tuple[dict[str, str], dict[str, str]],
    *,
    short: bool,
) -> str:
    """The whole of it as Markdown."""
    own, used = about
    parts = [
        ["# Benchmarks"],
        [f"- {name}: {value}" for name, value in own.items()]
        + [f"- versions: {', '.join(f'{name} {value}' for name, value in used.items())}"],
        *([["A short version: sizes at which the aims say little."]] if short else []),
        _summary(outcomes),
    ]
    for name, found in outcomes.items():
        if isinstance(found, str):
            parts.append([f"## {name}", "", f"It {found}"])
        else:
            parts.append([found.markdown(2, graphs.get(name)).rstrip("\n")])
    return "\n\n".join("\n".join(part) for part in parts) + "\n"


def _write(text: str, outcomes: dict[str, Outcome | str], about: object, output: Path) -> None:
    output.write_text(text)
    raw = {
        name: found if isinstance(found, str) else asdict(found) for name, found in outcomes.items()
    }
    every = {"machine and versions": about, "benchmarks": raw}
    output.with_suffix(".json").write_text(json.dumps(every, indent=1) + "\n")


def _options(arguments: Sequence[str] | None) -> Namespace:
    parser = ArgumentParser(
        prog="python -m benchmarks", description=__doc__, epilog=f"Names: {', '.join(BENCHMARKS)}."
    )
    parser.add_argument("--only", default=",".join(BENCHMARKS), metavar="NAMES", help="as in a,b")
    parser.add_argument("--short", action="store_true", help="small sizes")
    parser.add_argument("--repeats", type=int, metavar="N", help="(default: of each benchmark)")
    parser.add_argument("--data", type=Path, metavar="DIR", help="keep generated files here")
    parser.add_argument("--output", type=Path, metavar="FILE", help="write the report here too")
    options = parser.parse_args(arguments)
    options.only = [name.strip() for name in options.only.split(",")]
    unknown = [name for name in options.only if name not in BENCHMARKS]
    if unknown:
        parser.error(f"no benchmark {', '.join(unknown)}; expected some of {', '.join(BENCHMARKS)}")
    if options.repeats is not None and options.repeats < 1:
        parser.error("--repeats must be 1 or more")
    return options


def main(arguments: Sequence[str] | None = None) -> None:
    options = _options(arguments)
    about, outcomes = (machine(), versions()), {}
    with tempfile.TemporaryDirectory() as folder:
        for name in (name for name in BENCHMARKS if name in options.only):
            begin = time.perf_counter()
            say(f"{name} ({len(outcomes) + 1} of {len(options.only)})")
            outcomes[name] = _run(name, Path(folder), options)
            say(f"{name} took {time.perf_counter() - begin:.0f} s")
    graphs = {}
    if options.output is not None:
        options.output.parent.mkdir(parents=True, exist_ok=True)
        for name, found in outcomes.items():
            graph = options.output.with_name(f"{options.output.stem}-{name}.svg")
            if isinstance(found, Outcome) and found.curves and draw(found.curves, graph):
                graphs[name] = graph.name
    text = report(outcomes, graphs, about, short=options.short)
    print(text, end="")
    if options.output is not None:
        _write(text, outcomes, about, options.output)
    if any(isinstance(found, str) for found in outcomes.values()):
        raise SystemExit(1)


if __name__ == "__main__":
    main()
