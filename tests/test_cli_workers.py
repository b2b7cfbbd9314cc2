"""``-w``: the same bytes whatever the number of processes, and whatever happens to them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import Executor
from contextlib import nullcontext, suppress
from functools import partial
from pathlib import Path

import pytest

import foveal
from command import Outcome, assert_refused, call
from crossings_commands import COMMANDS, EVALUATE, RUNS, copy_campaign
from executor_tasks import Gate, Wrapped, kill_at
from foveal.executors import LostTaskError, Processes
from timeouts import WAIT_LIMIT, finished, started, until

HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return copy_campaign(tmp_path_factory.mktemp("workers"))


@pytest.fixture
def here(place: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(place)
    return place


@pytest.fixture(scope="module")
def processes() -> Iterator[Processes]:
    with Processes(2) as pool:
        yield pool


@pytest.fixture
def kept(processes: Processes, monkeypatch: pytest.MonkeyPatch) -> None:
    """``-w 2`` works in processes that are there already: starting them takes longer than all."""
    pools = {2: processes}
    monkeypatch.setattr("foveal.executors.Processes", lambda n, **_: nullcontext(pools[n]))


# -- the same bytes ----------------------------------------------------------------------------


@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS)
def test_bytes_are_the_same_whatever_the_number(
    here: Path, kept: None, capsys: pytest.CaptureFixture[str], command: tuple[str, ...]
) -> None:
    expected = call(capsys, *command)
    assert expected.code in (0, 2)
    assert call(capsys, *command, "-w", "1") == expected
    assert call(capsys, *command, "-w", "2") == expected


def test_the_library_with_processes(here: Path, processes: Processes) -> None:
    """Files and objects, assessors one by one, judgements of a directory."""
    runs = [foveal.read_run(path) for path in RUNS[1:3]]
    truth = foveal.read_judgements("judgements.jsonl")
    for given, judged in (
        (list(RUNS[1:3]), "judgements.jsonl"),
        (runs, "judgements.jsonl"),
        (list(RUNS[1:3]), truth),
        (runs, truth),
        ([Path(RUNS[1]), runs[1]], [Path("judgements.jsonl")]),
    ):
        expected = foveal.evaluate(given, judged, ["AiP", "charP"])
        found = foveal.evaluate(given, judged, ["AiP", "charP"], executor=processes)
        assert found.to_json() == expected.to_json()


def test_what_is_prepared_is_kept_for_processes_while_they_need_it(
    here: Path, processes: Processes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    truth = tmp_path / "truth.jsonl"
    truth.write_bytes(Path("judgements.jsonl").read_bytes())
    seen: list[list[str]] = []

    def look() -> None:
        seen.append([path.name for path in tmp_path.glob("*/*")])
        truth.unlink(missing_ok=True)  # nobody reads it again

    runs = list(RUNS[1:3])
    expected = foveal.evaluate(runs, truth, ["AiP", "charP"])
    found = foveal.evaluate(runs, truth, ["AiP", "charP"], executor=processes, progress=look)
    assert found.to_json() == expected.to_json()
    assert seen == [["call"]] * 2
    assert list(tmp_path.iterdir()) == []


def test_no_more_processes_than_runs(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked: list[int] = []

    def processes(number: int, **_: object) -> nullcontext[None]:
        asked.append(number)
        return nullcontext()

    monkeypatch.setattr("foveal.executors.Processes", processes)
    assert call(capsys, "evaluate", *RUNS[1:3], *EVALUATE_WITH, "-w", "6").code == 0
    assert call(capsys, "evaluate", RUNS[1], *EVALUATE_WITH, "-w", "6").code == 0
    assert asked == [2]


EVALUATE_WITH = ("-j", "judgements.jsonl", "-m", "AiP")
ASSESSORS = """\
{"type": "header", "format": "foveal-judgements", "version": 1}
{"topic": "1", "doc": "a", "length": 90, "spans": [{"start": 0, "end": 40}], "assessor": "Ann"}
{"topic": "2", "doc": "b", "length": 90, "spans": [{"start": 0, "end": 10}], "assessor": "Ann"}
{"topic": "1", "doc": "a", "length": 90, "spans": [{"start": 20, "end": 60}], "assessor": "Ben"}
"""


def test_each_assessor_in_processes(
    tmp_path: Path, processes: Processes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("truth.jsonl").write_text(ASSESSORS)
    for name in ("one", "two"):
        Path(name).write_text(f"1 Q0 a 1 3 {name} 0 50\n2 Q0 b 1 3 {name} 5 30\n")
    told: list[int] = []
    expected = foveal.evaluate(["one", "two"], "truth.jsonl", "charP", assessors="each")
    assert expected.runs == ("one[Ann]", "two[Ann]", "one[Ben]", "two[Ben]")
    found = foveal.evaluate(
        ["one", "two"],
        "truth.jsonl",
        "charP",
        assessors="each",
        executor=processes,
        progress=lambda: told.append(1),
    )
    assert found.to_json() == expected.to_json()
    assert len(told) == 2


def test_standard_input_in_processes(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["evaluate", *RUNS[1:3], "-m", "AiP", "-j"]
    expected = call(capsys, *command, "judgements.jsonl")
    with Path("judgements.jsonl").open("rb") as truth:
        own = [sys.executable, "-m", "foveal", *command, "-", "-w", "2"]
        found = finished(own, stdin=truth)
    assert found.returncode == 0, found.stderr
    assert found.stdout == expected.out != ""


# -- what may happen meanwhile -----------------------------------------------------------------


def test_judgements_that_change_meanwhile_change_no_score(
    here: Path, processes: Processes, tmp_path: Path
) -> None:
    truth = tmp_path / "truth.jsonl"
    truth.write_bytes(Path("judgements.jsonl").read_bytes())
    expected = foveal.evaluate(list(RUNS[1:3]), truth, "AiP")

    class Replaced(Executor):
        def submit(self, fn, /, *args, **kwargs):  # type: ignore[no-untyped-def]
            truth.write_bytes(b"oops")
            return processes.submit(fn, *args, **kwargs)

    found = foveal.evaluate(list(RUNS[1:3]), truth, "AiP", executor=Replaced())
    assert found.to_json() == expected.to_json()


def test_a_process_is_killed_while_it_scores(
    here: Path, processes: Processes, tmp_path: Path
) -> None:
    expected = foveal.evaluate(list(RUNS[:4]), "judgements.jsonl", "charP", overlap="drop")
    with Gate(processes, tmp_path) as gate:
        found = foveal.evaluate(
            list(RUNS[:4]), "judgements.jsonl", "charP", overlap="drop", executor=gate
        )
    assert found.to_json() == expected.to_json()
    assert gate.killed


def test_a_run_that_always_kills_its_worker_is_named(here: Path, processes: Processes) -> None:
    deadly = Wrapped(processes, partial(kill_at, RUNS[2]))
    with pytest.raises(LostTaskError, match=f"{RUNS[2]}: given up, .* 3 times"):
        foveal.evaluate(
            list(RUNS[:4]), "judgements.jsonl", "charP", overlap="drop", executor=deadly
        )


@pytest.mark.parametrize("moment", ["at the start", "while they score"])
@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_all_processes_and_leaves_no_file(
    tmp_path: Path, end: signal.Signals, moment: str
) -> None:
    lines = (f"{t} Q0 D{r} {r} 1 mine 0 9\n" for t in range(100) for r in range(1, 1000))
    (tmp_path / "run").write_text("".join(lines))
    lines = (f"{t} Q0 D{r} 9 99 0 0:9\n" for t in range(100) for r in range(1, 50))
    (tmp_path / "qrels").write_text("".join(lines))
    room = tmp_path / "room"
    room.mkdir()
    command = [sys.executable, "-m", "foveal", "evaluate", *["run"] * 200, "-j", "qrels"]
    command += ["-m", "AiP", "-w", "2", "-o", "out"]
    with started(
        command,
        cwd=tmp_path,
        env={**os.environ, "TMPDIR": str(room)},
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        if moment == "at the start":
            until(lambda: len(_group(process.pid)) > 2, "the start of workers")
        else:
            until(lambda: any(room.glob("*/*")), "a temporary file")
        if end is signal.SIGINT:  # as a terminal does, to all of them
            os.killpg(process.pid, end)
        else:
            process.send_signal(end)
        _, said = process.communicate(timeout=WAIT_LIMIT)
        assert (process.returncode, said) == (128 + end, "")
        until(lambda: not _group(process.pid), "the end of its processes")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["qrels", "room", "run"]
    assert list(room.iterdir()) == []


def _group(group: int) -> list[str]:
    """Return the processes of a group that still run."""
    found = []
    for place in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):  # it has ended
            fields = place.read_text().rpartition(")")[2].split()
            if fields[2] == str(group) and fields[0] != "Z":
                found.append(place.parent.name)
    return found


# -- where results go --------------------------------------------------------------------------


BEFORE = b"FOVEALIX, an index of before"
"""The first bytes are those of an index: ``foveal index`` replaces no other file."""


@pytest.mark.parametrize("command", [(*EVALUATE, "-f", "json"), ("index", "documents")])
def test_a_full_disk(here: Path, tmp_path: Path, command: tuple[str, ...]) -> None:
    """No more than a few bytes can be written: said in a line, and nothing is left."""
    output = tmp_path / "out"
    output.write_bytes(BEFORE)
    own = [sys.executable, str(HERE / "full_disk.py"), *command, "-w", "2", "-o", str(output)]
    done = finished(own)
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1].endswith("File too large")
    assert output.read_bytes() == BEFORE
    assert list(tmp_path.iterdir()) == [output]


def test_a_device_without_room(here: Path, kept: None, capsys: pytest.CaptureFixture[str]) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("there is no /dev/full")
    found = call(capsys, *EVALUATE, "-w", "2", "-o", "/dev/full")
    assert found.code == 2
    assert found.err.splitlines()[-1] == "/dev/full: cannot be written: No space left on device"


def test_either_processes_or_a_cluster(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for command in (EVALUATE, ("index", "documents", "-o", "out")):
        outcome = call(capsys, *command, "-w", "2", "--dask", "tcp://127.0.0.1:1")
        assert_refused(outcome, "foveal: -w is for processes here, --dask for a cluster; give one")


def test_no_command_loads_dask_unless_it_is_asked_to(here: Path) -> None:
    code = (
        "import sys; from foveal.cli import main\n"
        "for arguments in (['--version'], sys.argv[1:]):\n"
        "    try: main(arguments)\n"
        "    except SystemExit: pass\n"
        "loaded = {name.partition('.')[0] for name in sys.modules}\n"
        "print(sorted(loaded & {'dask', 'distributed', 'tornado'}))\n"
    )
    evaluate = ["evaluate", RUNS[1], "-j", "judgements.jsonl", "-m", "AiP"]
    said = finished([sys.executable, "-c", code, *evaluate])
    version, *scores, loaded = said.stdout.splitlines()
    assert version == f"foveal {foveal.__version__}"
    assert len(scores) == 2, said.stderr
    assert loaded == "[]"


def test_a_cluster_without_the_package_is_said(
    here: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "distributed.py").write_text("raise ModuleNotFoundError('no', name=__name__)\n")
    done = finished(
        [sys.executable, "-m", "foveal", *EVALUATE, "--dask", "tcp://127.0.0.1:1"],
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
    )
    outcome = Outcome(done.returncode, done.stdout, done.stderr)
    assert_refused(outcome, "foveal: --dask takes the package ")
    assert 'pip install -e ".[dask]"' in outcome.err
