"""Help on one screen, all options in ``--help-all``, and completion in shells."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from click.shell_completion import get_completion_class

from command import call
from foveal.cli import COMPLETE, cli

BASH = shutil.which("bash")
LINES, COLUMNS = 45, 80


def all_commands() -> Iterator[tuple[str, ...]]:
    """Return the words of every command and subcommand."""
    yield ()
    context = click.Context(cli)
    for name in cli.list_commands(context):
        _, command, _ = cli.resolve_command(context, [name])
        yield (name,)
        if isinstance(command, click.Group):
            for inner in command.list_commands(context):
                yield name, inner


def find_command(words: tuple[str, ...]) -> click.Command:
    command: click.Command = cli
    for word in words:
        assert isinstance(command, click.Group)
        _, found, _ = command.resolve_command(click.Context(command), [word])
        assert found is not None
        command = found
    return command


COMMANDS = list(all_commands())
LEAVES = [words for words in COMMANDS if not isinstance(find_command(words), click.Group)]


@pytest.fixture(autouse=True)
def narrow_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(COLUMNS))


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_help_fits_on_one_screen(
    words: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    outcome = call(capsys, *words, "--help")
    lines = outcome.out.splitlines()
    assert outcome.code == 0
    assert len(lines) <= LINES
    assert max(map(len, lines)) <= COLUMNS + 10  # an example is not broken
    assert "Example" in outcome.out


@pytest.mark.parametrize("words", LEAVES, ids=" ".join)
def test_all_options_are_in_the_long_help(
    words: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    outcome = call(capsys, *words, "--help-all")
    assert outcome.code == 0
    listed = outcome.out.replace(",", " ").split()
    short = call(capsys, *words, "--help").out
    options = [p for p in find_command(words).params if isinstance(p, click.Option)]
    for option in options:
        assert {*option.opts, *option.secondary_opts} <= {*listed, *"/".join(listed).split("/")}
        assert option.help
    # The short help names the long one if that has more.
    hidden = [option for option in options if option.opts[-1] not in short]
    assert ("--help-all shows" in short.splitlines()[-1]) == bool(hidden)


def test_a_command_has_no_options_that_it_does_not_use(
    capsys: pytest.CaptureFixture[str],
) -> None:
    run = ("budget", "my.run", "-j", "qrels")
    for option in ("--snap", "--truncate", "--recompute", "--dask=x", "--cas=VV", "--task=x"):
        outcome = call(capsys, *run, option)
        assert outcome.code == 2
        assert "No such option" in outcome.err
    for option in ("--max-depth=3", "--whitespace=keep", "-w1", "-ox"):
        outcome = call(capsys, "index", "my.fvx", "--verify", option)
        assert (outcome.code, outcome.err[:16]) == (2, "foveal: --verify")


# -- completion ------------------------------------------------------------------------------------


def complete(*words: str) -> list[str]:
    """Return the offers to bash for the last word."""
    environment = {
        **os.environ,
        COMPLETE: "bash_complete",
        "COMP_WORDS": " ".join(["foveal", *words]),
        "COMP_CWORD": str(len(words)),
    }
    done = subprocess.run(
        [sys.executable, "-m", "foveal"],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr == ""
    return done.stdout.split()


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (("eva",), "plain,evaluate"),
        (("evaluate", "--over"), "plain,--overlap"),
        (("evaluate", "--overlap", "dr"), "plain,drop"),
        (("evaluate", "my.run", "-m", "char"), "plain,charP"),
        (("axioms", "-m", "MA"), "plain,MAgP"),
        (("evaluate", "my.run", "-t", "2009.F"), "plain,2009.Focused"),
        (("validate", "my.run", "-t", "2009.F"), "plain,2009.Focused"),
        (("evaluate", "my.run", "-f", "js"), "plain,jsonl"),
        (("convert", "my.run", "x", "--to", "f"), "plain,fol"),
        (("formats", "f"), "plain,fol"),
        (("evaluate", "my"), "file,my"),
        (("plot", "g"), "plain,gain"),
        (("measures", "Ai"), "plain,AiP"),
        (("assess", "ser"), "plain,serve"),
        (("assess", "serve", "my"), "file,my"),
        (("completion", "f"), "plain,fish"),
    ],
)
def test_shells_complete(words: tuple[str, ...], offered: str) -> None:
    assert offered in complete(*words)


def test_measures_are_completed_without_importing_them() -> None:
    code = (
        "import os, sys\n"
        f"os.environ.update({COMPLETE}='bash_complete', COMP_CWORD='4',"
        " COMP_WORDS='foveal evaluate my.run -m charP')\n"
        "from foveal.cli import main\n"
        "try:\n    main()\n"
        "except SystemExit:\n"
        "    print(*{'polars', 'scipy', 'foveal.measures.characters'} & sys.modules.keys())\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["plain,charP"]


@pytest.mark.skipif(BASH is None, reason="no bash")
def test_the_completion_script_works_in_bash(tmp_path: Path) -> None:
    script = (
        'eval "$(foveal completion bash)"\n'
        "COMP_WORDS=(foveal evaluate my.run -m charP) COMP_CWORD=4\n"
        '_foveal_completion foveal\necho "${COMPREPLY[@]}"\n'
    )
    folder = str(Path(sys.executable).parent)
    done = subprocess.run(
        [str(BASH), "-c", script],
        cwd=tmp_path,
        env={**os.environ, "PATH": folder + os.pathsep + os.environ["PATH"]},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == ["charP"]


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells_get_a_script_and_offers(
    shell: str, capsys: pytest.CaptureFixture[str]
) -> None:
    outcome = call(capsys, "completion", shell)
    assert outcome.code == 0
    assert f"{COMPLETE}={shell}_complete" in outcome.out
    completion = get_completion_class(shell)
    assert completion is not None
    offers = completion(cli, {}, "foveal", COMPLETE).get_completions(["evaluate", "-m"], "evR")
    assert [offer.value for offer in offers] == ["evR", "evRR"]


def test_an_unknown_shell_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert call(capsys, "completion", "csh").code == 2


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is full")
def test_a_completion_script_that_cannot_be_written_is_one_line() -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "foveal", "completion", "bash"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert (done.returncode, len(done.stderr.splitlines())) == (2, 1)
