"""Run one command on one damaged file, and tell whether it behaved."""

from __future__ import annotations

import contextlib
import io
import json
import math
import random
import re
import resource
import shlex
import shutil
import signal
import sys
import tempfile
import traceback
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from foveal.cli import main
from foveal.measures import parse_measure
from fuzz.mutations import mutate
from fuzz.seeds import BASE, INPUT, OUTPUT, Command, Seed

__all__ = ["Failure", "Fuzzer"]

SECONDS = 60.0
"""After which a command hangs; an input takes a few milliseconds."""
GROWTH = 1 << 20
"""Kilobytes by which one input may raise the memory of the process."""
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


class Failure(NamedTuple):
    """An input that a command did not cope with."""

    number: int
    seed: str
    command: Command
    problem: str

    def __str__(self) -> str:
        command = shlex.join(("foveal", *self.command))
        return f"input {self.number} ({self.seed}): {command}\n{self.problem}"


class _TooSlowError(BaseException):
    """Not an Exception: nothing on the way may catch it."""


class Outcome(NamedTuple):
    """Exit code and outputs of a command, and what it raised."""

    code: int | None
    out: str
    err: str
    raised: str


class Fuzzer:
    """Damages seeds by numbers: the same seed and number give the same input."""

    def __init__(self, folder: Path, seeds: list[Seed], seed: int) -> None:
        self.folder, self.seeds, self.seed = folder, seeds, seed
        self.contents = [one.content for one in seeds]
        self.expected: dict[Command, str] = {}

    def check_seeds(self) -> Iterator[Failure]:
        """Run every command on its sound file; all must succeed."""
        for one in self.seeds:
            for command in one.commands:
                problem = self._check(one, command, one.content, sound=True)
                if problem:
                    yield Failure(-1, one.name, command, problem)

    def check(self, number: int) -> Failure | None:
        """Run one command on one damaged file."""
        one, command, content = self.draw(number)
        problem = self._check(one, command, content)
        return Failure(number, one.name, command, problem) if problem else None

    def draw(self, number: int) -> tuple[Seed, Command, bytes]:
        """Return the seed, the command and the damaged file of a number."""
        draw = random.Random(f"{self.seed}:{number}")
        one = self.seeds[number % len(self.seeds)]
        return one, draw.choice(one.commands), mutate(one.content, draw, self.contents)

    def _check(self, one: Seed, command: Command, content: bytes, *, sound: bool = False) -> str:
        """Return what is wrong with the behaviour of a command, or nothing."""
        work = Path(tempfile.mkdtemp(dir=self.folder))
        (work / "input" / one.file).parent.mkdir(parents=True)
        (work / "input" / one.file).write_bytes(content)
        (work / "temporary").mkdir()
        places = {INPUT: f"input/{one.file}", OUTPUT: "output", BASE: str(self.folder / "base")}
        args = [_filled(word, places) for word in command]
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        try:
            with contextlib.chdir(work):
                outcome = _call(args, work / "temporary")
            grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
            return (
                _misbehaviour(outcome, grown)
                or _leftovers(work, one, outcome)
                or _odd_scores(work / "output", command)
                or self._differing(one, command, outcome, work / "output", sound=sound)
            )
        finally:
            shutil.rmtree(work)

    def _differing(
        self, one: Seed, command: Command, outcome: Outcome, output: Path, *, sound: bool
    ) -> str:
        if sound:
            if outcome.code != 0:
                return f"exit code {outcome.code} for a sound file: {outcome.err}"
            self.expected[command] = _scores(output)
        elif one.is_checked and outcome.code == 0 and _scores(output) != self.expected[command]:
            return "other scores than those of the sound file, without a word"
        return ""

    def save(self, failure: Failure, folder: Path) -> Path:
        """Keep a failing input with its command, and return where."""
        one, command, content = self.draw(failure.number)
        place = folder / f"{self.seed}-{failure.number}"
        (place / one.file).parent.mkdir(parents=True, exist_ok=True)
        (place / one.file).write_bytes(content)
        (place / "command.txt").write_text(f"foveal {shlex.join(command)}\n\n{failure.problem}\n")
        return place


def _filled(word: str, places: dict[str, str]) -> str:
    for name, place in places.items():
        word = word.replace(name, place)
    return word


def _call(args: list[str], temporary: Path) -> Outcome:
    """Run a command in this process, as the shell would, within the time limit."""

    def stop(*_: object) -> None:
        raise _TooSlowError

    out, err = io.TextIOWrapper(io.BytesIO(), "utf-8"), io.StringIO()
    code, raised = None, ""
    before, tempfile.tempdir = tempfile.tempdir, str(temporary)
    handler = signal.signal(signal.SIGALRM, stop)
    remaining, _ = signal.setitimer(signal.ITIMER_REAL, SECONDS)
    try:
        with (
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(err),
            warnings.catch_warnings(),
        ):
            warnings.simplefilter("ignore")
            warnings.simplefilter("error", RuntimeWarning)
            main(args)
            code = 0
    except SystemExit as stopped:
        code = stopped.code if isinstance(stopped.code, int) else int(stopped.code is not None)
    except _TooSlowError:
        raised = f"not done after {SECONDS:g} s\n{traceback.format_exc()}"
    except BaseException:  # whatever it is, no user should see it
        raised = traceback.format_exc()
    finally:
        signal.setitimer(signal.ITIMER_REAL, remaining)
        signal.signal(signal.SIGALRM, handler)
        tempfile.tempdir = before
    out.flush()
    printed = out.buffer.getvalue()  # type: ignore[attr-defined]
    return Outcome(code, printed.decode(errors="replace"), err.getvalue(), raised)


def _misbehaviour(outcome: Outcome, grown: int) -> str:
    if outcome.raised:
        return outcome.raised
    if outcome.code not in (0, 1, 2):
        return f"exit code {outcome.code}: {outcome.err}"
    if outcome.code == 2 and not outcome.err.strip():
        return "exit code 2 without a message"
    if "Traceback" in outcome.err:
        return outcome.err
    if _CONTROL.search(outcome.err):
        return f"control characters on standard error: {outcome.err!r}"
    if grown > GROWTH:
        return f"the process grew by {grown >> 10} MB"
    return ""


def _leftovers(work: Path, one: Seed, outcome: Outcome) -> str:
    """Name files that a command should not have left, and outputs of a failure."""
    found = {path.name for path in work.iterdir()} - {"input", "temporary"}
    if outcome.code == 2 and found:
        return f"exit code 2, and yet files were written: {sorted(found)}"
    if extra := sorted(found - {"output", "output.dat"}):
        return f"files left: {extra}"
    if left := sorted(path.name for path in (work / "temporary").rglob("*")):
        return f"temporary files left: {left}"
    inputs = [path for path in (work / "input").rglob("*") if path.is_file()]
    if one.name != "cache" and len(inputs) != 1:
        return f"files left beside the input: {sorted(path.name for path in inputs)}"
    return ""


def _scores(output: Path) -> str:
    """The scores of an output of evaluate, without what tells where they come from."""
    if not output.is_file() or not output.read_bytes().startswith(b'{"meta"'):
        return ""
    return json.dumps(json.loads(output.read_bytes()).get("results"))


def _odd_scores(output: Path, command: Command) -> str:
    """Name a score that is not a number in the range of its measure."""
    if command[0] != "evaluate" or not output.is_file():
        return ""
    text = output.read_text(encoding="utf-8")
    if text.startswith("{"):
        rows = [(row["topic"], row["measure"], row["value"]) for row in json.loads(text)["results"]]
    else:
        fields = [line.split("\t") for line in text.splitlines()[1:]]
        rows = [(topic, measure, float(value)) for _, topic, measure, value in fields]
    for topic, label, value in rows:
        if value is None or math.isnan(value):
            continue
        measure = parse_measure(label)
        least, most = measure.range
        if most is None or (measure.summed and topic == "all"):
            most = sys.float_info.max
        if not least - 1e-9 <= value <= most + 1e-9:
            return f"{label} is {value} on topic {topic!r}; its range is [{least}, {most}]"
    return ""
