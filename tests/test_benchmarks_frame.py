"""What all benchmarks share: measured processes, memory of all children, reports, one command."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from benchmarks.__main__ import BENCHMARKS, main, report
from benchmarks.frame import Figures, measured
from benchmarks.graphs import draw
from benchmarks.growth import steps
from benchmarks.machine import machine, versions
from benchmarks.memory import Watch, family, proportional, resident
from benchmarks.outcome import Aim, Curve, Outcome, Table, exponent
from benchmarks.processes import Command, measure, timed

from benchmark_commands import ROOT, benchmark
from patience import finished

MB = 1_000_000
linux = pytest.mark.skipif(not Path("/proc/self/smaps_rollup").exists(), reason="needs Linux")

# -- memory ------------------------------------------------------------------------------------

HOLDS = """
import sys
held = bytearray(b"x") * 50_000_000
print("held", flush=True)
sys.stdin.readline()
"""
STARTS_TWO = f"""
import subprocess, sys
own, pipe = [sys.executable, "-c", {HOLDS!r}], subprocess.PIPE
held = [subprocess.Popen(own, stdin=pipe, stdout=pipe) for _ in range(2)]
for child in held:
    child.stdout.readline()
print("held", flush=True)
sys.stdin.readline()
for child in held:
    child.communicate(b"go\\n")
"""
FORKS_TWO = """
import os, sys
held = bytearray(b"x") * 50_000_000
children = []
for _ in range(2):
    read, write = os.pipe()
    pid = os.fork()
    if not pid:
        os.close(write)
        os.read(read, 1)
        os._exit(0)
    children.append((pid, write))
print("held", flush=True)
sys.stdin.readline()
for pid, write in children:
    os.write(write, b"x")
    os.waitpid(pid, 0)
"""


@contextmanager
def holding(program: str) -> Iterator[int]:
    """A process that has what it wants, and keeps it."""
    command = [sys.executable, "-c", program]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        yield process.pid
        process.communicate(b"go\n")
    assert process.returncode == 0


@linux
def test_memory_of_children_is_added_up() -> None:
    with holding(STARTS_TWO) as pid:
        watch = Watch(pid)
        watch.look()
        assert len(family(pid)) == watch.processes == 3
        assert 100 * MB < watch.peak < 150 * MB  # two of 50, and three interpreters
    watch.look()  # they are gone
    assert 100 * MB < watch.peak < 150 * MB
    assert resident(pid) == proportional(pid) == 0


@linux
def test_pages_that_children_share_are_counted_once() -> None:
    with holding(FORKS_TWO) as pid:
        watch = Watch(pid)
        watch.look()
        assert sum(map(resident, family(pid))) > 150 * MB
        assert 50 * MB < watch.peak < 90 * MB
        assert watch.processes == 3


def measured_memory(program: str) -> dict[str, float]:
    """What `measure` says of a program, asked in a small process: a child begins with our peak."""
    ask = "import json, os, sys; from benchmarks.processes import Command, measure; "
    ask += "print(json.dumps(measure(Command([sys.executable, '-c', sys.argv[1]]), os.environ)))"
    command = [sys.executable, "-c", ask, program]
    found: dict[str, float] = json.loads(finished(command, cwd=ROOT).stdout)
    return found


@linux
def test_measured_memory_is_that_of_the_whole_family() -> None:
    # They keep it for a second, which is as good as for ever to one that looks fifty times in it.
    hold = "import time; held = bytearray(b'x') * 50_000_000; time.sleep(1)"
    start = f"import subprocess, sys; own = [sys.executable, '-c', {hold!r}]; "
    start += "both = [subprocess.Popen(own) for _ in range(2)]; [one.wait() for one in both]"
    found = measured_memory(start)
    assert 100 < found["megabytes"] < 150
    assert found["processes"] == 3


def test_a_single_process_is_known_exactly() -> None:
    # It ends at once: what the system noted counts, whether somebody looked or not.
    found = measured_memory("held = bytearray(b'x') * 80_000_000")
    assert 80 < found["megabytes"] < 110


# -- processes ---------------------------------------------------------------------------------

SPINS = "import os\nwhile sum(os.times()[:2]) < 0.3: pass"


def test_processor_time_includes_children() -> None:
    start = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {SPINS!r}])"
    found = measure(Command([sys.executable, "-c", start]), os.environ)
    assert found["cpu"] >= 0.3
    inside = timed(lambda: subprocess.run([sys.executable, "-c", SPINS], check=True))
    assert inside["inside_cpu"] >= 0.3


def test_what_a_task_reports_comes_beside_what_is_seen() -> None:
    says = Command([sys.executable, "-c", "print('{\"found\": 7}')"], reports=True)
    found = measure(says, os.environ)
    assert found["found"] == 7
    assert set(found) == {"seconds", "cpu", "megabytes", "processes", "found"}


def test_a_command_that_fails_is_no_measurement() -> None:
    with pytest.raises(RuntimeError, match=r"ended with 1: .*no luck"):
        measure(Command([sys.executable, "-c", "raise SystemExit('no luck')"]), os.environ)


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="cores cannot be chosen here")
def test_cores_are_those_allowed() -> None:
    counts = "import os; print(json.dumps({'cores': len(os.sched_getaffinity(0))}))"
    own = [sys.executable, "-c", f"import json; {counts}"]
    assert measure(Command(own, reports=True, cores=1), os.environ)["cores"] == 1


def test_commands_run_in_turn_and_warm_ones_once_more(tmp_path: Path) -> None:
    log = tmp_path / "log"
    commands = {
        name: Command([sys.executable, "-c", f"open({str(log)!r}, 'a').write({name!r})"])
        for name in "ab"
    }
    found = measured(commands, 2, warm=["b"])
    assert log.read_text() == "babab"
    assert [len(own) for own in found.values()] == [2, 2]


def test_ratios_are_of_the_same_repeat() -> None:
    slow, slower = ({"seconds": s} for s in (2.0, 8.0))
    figures = Figures({"own": [slow, slower], "other": [{"seconds": 1.0}, {"seconds": 4.0}]})
    assert figures("own") == 5.0
    assert figures.ratio("own", "other") == 2.0


# -- reports -----------------------------------------------------------------------------------

FOUND = Outcome(
    "Things",
    ["two of them"],
    [Table(["task", "seconds"], [["read", "1.00"]], "Read:")],
    [Aim("read", 1.0, 2, "s"), Aim("read / second", 1.0, 1.5, "times", at_least=True)],
    [Curve("runs", [10, 20, 40], {"`read`": [1.0, 2.0, 4.0]})],
    ["A note."],
    {"read": [{"seconds": 1.0}]},
)


def test_an_outcome_is_the_same_after_a_file() -> None:
    again = Outcome.from_json(FOUND.as_json())
    assert again.markdown() == FOUND.markdown()
    assert again.measurements == FOUND.measurements


def test_an_outcome_for_reading() -> None:
    text = FOUND.markdown(2, "things.svg")
    assert text.startswith("## Things\n\n- two of them\n\nRead:\n\n| task | seconds |\n")
    assert "| read | under 2 s | 1.00 | met |" in text
    assert "| read / second | at least 1.5 times | 1.00 | not met |" in text
    assert "### Growth\n\n![Growth](things.svg)\n\nCPU seconds by runs:" in text
    assert "| `read` | 1.00 | 2.00 | 4.00 | 1.00 | 1.00 |" in text
    assert text.endswith("\n\nA note.\n")


def test_powers() -> None:
    assert exponent([10, 20, 40, 80], [3, 6, 12, 24]) == pytest.approx(1)
    assert exponent([10, 20, 40], [1, 4, 16]) == pytest.approx(2)
    assert exponent([10, 100], [7, 7]) == pytest.approx(0)


@pytest.mark.parametrize("most", [10, 20, 30, 999, 1000])
def test_steps_of_a_sweep_grow_to_the_last(most: int) -> None:
    found = steps(most)
    assert found == sorted(set(found))
    assert found[-1] == most


def test_graphs_are_the_same_for_the_same_figures(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    for name in ("a.svg", "b.svg"):
        assert draw(FOUND.curves, tmp_path / name)
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()
    assert b"<svg" in (tmp_path / "a.svg").read_bytes()


def test_the_machine_is_described() -> None:
    own = machine()
    assert set(own) == {"processor", "cores", "memory", "system", "load"}
    assert all(own.values())
    assert {"foveal", "polars", "ir_measures"} <= set(versions())


def test_the_whole_report_names_what_failed_and_what_was_missed() -> None:
    text = report({"one": FOUND, "two": "ended with 1: no luck"}, {}, ({}, {}), short=True)
    assert "| one | 1 of 2 | read / second (1.00) |" in text
    assert "| two |  | failed: ended with 1: no luck |" in text
    assert "\n## Things\n" in text
    assert "A short version" in text


# -- the command -------------------------------------------------------------------------------


@pytest.mark.parametrize("wrong", [["--only", "chunkers,speed"], ["--repeats", "0"]])
def test_what_makes_no_sense_is_refused(
    wrong: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(wrong)
    assert ended.value.code == 2
    assert "usage: python -m benchmarks" in capsys.readouterr().err


def test_one_command_writes_one_report(tmp_path: Path) -> None:
    only, output = "indexing,chunkers", tmp_path / "out" / "report.md"
    options = ("--short", "--repeats", "1", "--only", only, "--output", str(output))
    done = benchmark("benchmarks", *options)
    assert output.read_text() == done.stdout
    assert "- processor: " in done.stdout
    assert "\n## Chunkers\n" in done.stdout
    assert "| `foveal.evaluate`: charP@5, charR@5, charF@5, iP@0.10, AiP |" in done.stdout
    assert "| index, two processes |" in done.stdout
    assert "| 2009 | 2,666,190 | 102,000,000 | 50.7 |" in done.stdout
    assert "CPU seconds by elements:" in done.stdout
    assert "One process and two write the same index." in done.stdout
    assert "indexing (1 of 2)" in done.stderr
    raw = json.loads(output.with_suffix(".json").read_text())
    assert set(raw["benchmarks"]) == set(only.split(","))
    assert str(ROOT) not in done.stdout + output.with_suffix(".json").read_text()


def test_growth_is_measured_size_by_size(tmp_path: Path) -> None:
    raw = tmp_path / "raw.json"
    sizes = ["--runs=20", "--divide=10", "--points=2", "--only=judged", "--repeats=1"]
    done = benchmark("benchmarks.growth", *sizes, "--json", str(raw))
    found = Outcome.from_json(raw.read_text())
    assert [(own.size, own.unit) for own in found.curves] == [
        ("runs", "CPU seconds"),
        ("runs", "peak MB"),
        ("judged documents per topic", "CPU seconds"),
    ]
    assert [own.values for own in found.curves] == [[10, 20], [10, 20], [25, 50]]
    assert "of memory for one more run." in done.stdout
    # More than one process is seen, and all of them are counted.
    (alone,), (both,) = (found.measurements[f"sweep, 20 runs, -w {n}"] for n in (1, 2))
    assert alone["processes"] == 1 < 3 <= both["processes"]
    assert both["megabytes"] > alone["megabytes"]


def test_scores_are_the_same_whoever_computes_them(tmp_path: Path) -> None:
    raw = tmp_path / "raw.json"
    sizes = ["--topics=3", "--results=20", "--runs=2", "--repeats=1"]
    benchmark("benchmarks.scaling", *sizes, "--json", str(raw))
    (rows,) = (own.rows for own in Outcome.from_json(raw.read_text()).tables)
    written = [row[-1] for row in rows if row[-1]]
    assert len(written) >= 2
    assert len(set(written)) == 1


def test_every_benchmark_has_a_module_that_takes_its_options() -> None:
    for name, own in BENCHMARKS.items():
        text = benchmark(f"benchmarks.{own.module}", "--help").stdout
        for option in (*own.short, *own.full):
            if option.startswith("--"):
                assert option.partition("=")[0] in text, name
        assert ("--data" in text) == own.data
