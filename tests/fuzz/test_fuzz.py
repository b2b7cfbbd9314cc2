"""A short run of the fuzzer; ``make fuzz`` makes the long one."""

from __future__ import annotations

from pathlib import Path

import pytest

from fuzz.harness import Failure, Fuzzer
from fuzz.seeds import make_seeds

SEED = 1
INPUTS = 400


@pytest.fixture(scope="module")
def fuzzer(tmp_path_factory: pytest.TempPathFactory) -> Fuzzer:
    folder = tmp_path_factory.mktemp("fuzz")
    return Fuzzer(folder, make_seeds(folder / "base"), SEED)


def test_every_seed_passes_and_damage_is_met_with_a_message(fuzzer: Fuzzer) -> None:
    assert [str(failure) for failure in fuzzer.check_seeds()] == []
    found = [failure for number in range(INPUTS) if (failure := fuzzer.check(number))]
    for failure in found:
        fuzzer.save(failure, Path("build") / "fuzz")
    assert not found, "\n".join(map(_report, found))


def _report(failure: Failure) -> str:
    again = f"PYTHONPATH=tests python -m fuzz --seed {SEED} --number {failure.number}"
    return f"{failure}\nkept in build/fuzz; to reproduce it: {again}"


def test_the_same_number_gives_the_same_input(fuzzer: Fuzzer) -> None:
    assert [fuzzer.draw(n) for n in range(50)] == [fuzzer.draw(n) for n in range(50)]
    assert any(fuzzer.draw(n)[2] != fuzzer.draw(n)[0].content for n in range(50))


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("raise KeyError('x')", "KeyError"),
        ("raise SystemExit(3)", "exit code 3"),
        ("raise SystemExit(2)", "without a message"),
        ("open('output', 'w').close(); sys.stderr.write('bad'); raise SystemExit(2)", "written"),
        ("open('.foveal-1', 'w').close()", "files left"),
        ("tempfile.mkstemp()", "temporary files left"),
        ("sys.stderr.write('\\x1b[2J')", "control characters"),
        ("open('output', 'w').write(WRONG)", "its range is"),
    ],
)
def test_misbehaviour_is_noticed(
    body: str, said: str, fuzzer: Fuzzer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The fuzzer itself can fail: a command that does what the body says does not pass."""
    import sys
    import tempfile

    row = '{"run": "r", "topic": "1", "measure": "AiP", "value": 1.5}'
    wrong = f'{{"meta": {{}}, "results": [{row}]}}'

    def misbehave(_: list[str]) -> None:
        exec(body, {"sys": sys, "tempfile": tempfile, "WRONG": wrong})

    monkeypatch.setattr("fuzz.harness.main", misbehave)
    number = next(n for n in range(100) if fuzzer.draw(n)[1][0] == "evaluate")
    failure = fuzzer.check(number)
    assert failure is not None
    assert said in failure.problem
