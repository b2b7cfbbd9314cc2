"""``foveal demo``: a whole campaign on the bundled example, command by command."""

from __future__ import annotations

import contextlib
import io
import os
import shlex
import shutil
import sys
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING

import click

from foveal.cli.shared import say
from foveal.errors import FovealError, InputError, UsageError

if TYPE_CHECKING:
    from foveal.model import Results

__all__ = ["campaign_folder", "command"]

_PARTS = (
    "README.md",
    "documents",
    "topics.jsonl",
    "judgements.jsonl",
    "judgements.qrels",
    "judgements_source.txt",
    "assessments",
    "runs",
)
"""What is copied: trying out the README in a checkout leaves other files there."""
_MARK = ".foveal-demo"
"""A file by which a later demo knows a directory as its own."""
_WIDTH = 88

_FOCUSED = """\
foveal evaluate runs/* -j judgements.jsonl -C crossings.fvx \\
    -t 2009.Focused --overlap drop"""
_THOROUGH = ("nxCG(quant=gen5)@10", "MAep(quant=gen5)", "MAep(quant=strict5)")


def campaign_folder() -> Path:
    """The bundled campaign: in an installed package beside its modules, else in the checkout."""
    import foveal

    package = Path(foveal.__file__).resolve().parent
    places = [place / "examples" / "crossings" for place in (package, package.parents[1])]
    for place in places:
        if all((place / part).exists() for part in _PARTS):
            return place
    raise FovealError(
        "the example campaign is missing from this installation; expected it in "
        + " or ".join(map(str, places))
    )


@click.command("demo", epilog="Example: foveal demo -o crossings --no-open")
@click.option(
    "-o",
    "--output",
    metavar="DIR",
    default="foveal-demo",
    show_default=True,
    help="The directory to work in.",
)
@click.option(
    "--open/--no-open",
    "to_open",
    default=None,
    help="Show the report in the browser [default: at a terminal with a display].",
)
def command(output: str, *, to_open: bool | None) -> None:
    """Go through a whole campaign on the bundled example.

    The example is copied into a directory: 43 documents, twelve topics, judgements and eight runs.
    There it is indexed, validated, scored under three official settings, compared, put on trial
    and reported. Every command is shown before its output and works when it is pasted.

    A later demo in the same directory puts the files of the example back and takes in what was
    added: a run of your own in DIR/runs is validated, scored and reported with the others.
    """
    target = Path(output)
    campaign = campaign_folder()
    _prepare(target, campaign)
    with contextlib.chdir(target):
        _walk(shlex.quote(output))
    report = target / "report.html"
    _tell(
        f"""Done. The report is {report}; open it in a browser: scores, graphs, topics, and the
        documents with what each run returned."""
    )
    _tell(
        f"""What next? Put a run of your own into {target / "runs"} and call the demo again.
        'foveal measures AiP' explains a measure, 'foveal measures --presets' lists all official
        settings, 'foveal --help' all commands."""
    )
    if _at_a_display() if to_open is None else to_open:
        _show(report.resolve())


# -- the directory -----------------------------------------------------------------------------


def _prepare(target: Path, campaign: Path) -> None:
    """Copy the campaign into a directory that is new, empty or an earlier demo's."""
    if target.exists() and not target.is_dir():
        raise UsageError(f"{target} is a file; expected a directory for the demo (-o)")
    try:
        if target.is_dir() and any(target.iterdir()) and not (target / _MARK).is_file():
            raise UsageError(
                f"{target} holds files that are not of a demo; expected a new or empty directory "
                "(-o)"
            )
        target.mkdir(parents=True, exist_ok=True)
        # First of all, so that a demo that was interrupted here can be started again.
        (target / _MARK).write_text("made by foveal demo\n")
        for part in _PARTS:
            _copy(campaign / part, target / part)
    except OSError as error:
        where = str(error.filename or target)
        raise InputError.at(
            "file.unwritable", where, None, f"cannot be written: {error.strerror}"
        ) from None


def _copy(source: Path, target: Path) -> None:
    """Contents only: an installation may be read-only, and its copy is written again."""
    if source.is_file():
        shutil.copyfile(source, target)
        return
    target.mkdir(exist_ok=True)
    for inside in sorted(source.iterdir()):
        if inside.name[0] != ".":
            _copy(inside, target / inside.name)


# -- the commands ------------------------------------------------------------------------------


def _walk(folder: str) -> None:
    """Go through a campaign from the documents to the report."""
    shell = _Shell()
    _tell(
        f"""A campaign about crossing water: 43 documents, twelve topics, the relevant text marked
        by hand, and eight runs by systems that return different things. Everything is in {folder};
        each command below can be pasted there."""
    )
    shell.show(f"cd {folder}")
    _head("1. Index the documents, so that results can be XPaths")
    shell.run("foveal index documents -o crossings.fvx")

    _head("2. Is anything wrong with the runs?")
    shell.run("foveal validate runs/* -C crossings.fvx --topics-file topics.jsonl")

    _head("3. Score them: the Focused task of 2009, on marked characters")
    _tell(
        """Read from the top, how pure is the text? iP@x is the best precision once a share x of
        the relevant text has been met, AiP its average over all shares. Warnings say what was done
        to runs that were made for another task."""
    )
    shell.run(f"{_FOCUSED} -f table")
    _tell("The same once more into a file, with every topic, for the comparison below.")
    shell.run(f"{_FOCUSED} -f json -o focused.json")
    focused = _kept("focused.json")
    _tell(_leaders(focused, "iP@0.01", "AiP"))

    _head("4. The Thorough task of 2005, on graded elements")
    _tell(
        """Every relevant element counts here, also one within another, with grades for how
        exhaustive it is. The setting has curves of a thousand points; they go into a file, and
        three figures are looked at."""
    )
    shell.run(
        "foveal evaluate runs/*.xml -j assessments -t 2005.CO.Thorough -f json -o thorough.json"
    )
    shown = " ".join(f'-m "{measure}"' for measure in _THOROUGH)
    shell.run(f"foveal compare thorough.json \\\n    {shown} --show means")
    _tell(_leaders(_kept("thorough.json"), *_THOROUGH[:2]))

    _head("5. Relevant in Context, 2009: documents are ranked, and each scores by its parts")
    shell.run(
        "foveal evaluate runs/paragraphs.run runs/sections.xml runs/windows.jsonl \\\n"
        "    -j judgements.jsonl -C crossings.fvx -t 2009.RelevantInContext --regroup -f table"
    )
    _tell(
        """gP@k is how well the parts of the first k documents were found, AgP looks down to the
        last of them. The task wants the results of a document together: --regroup sees to it."""
    )

    _head("6. Is the best run really better?")
    best = _best(focused, "AiP")
    shell.run(f"foveal compare focused.json -m AiP --baseline {shlex.quote(best)} --show means")

    _head("7. Can the measure be trusted?")
    _tell(
        """Simulated runs whose order is known are scored: too much text, too little, documents
        swapped (SR is perfect, every letter more a defect). A measure that reverses no order
        passes; one that is blind to something finds runs equal, as AP does, which knows documents
        only."""
    )
    shell.run(
        "foveal fidelity -j judgements.jsonl -C crossings.fvx -m AiP -m AP --table verdict -f table"
    )

    _head("8. All of it on one page")
    shell.run(
        "foveal report runs/* -j judgements.jsonl -C crossings.fvx --documents documents \\\n"
        "    --topics-file topics.jsonl -t 2009.Focused --overlap drop --by AiP -o report.html"
    )


class _Shell:
    """Runs commands in this process and shows them as a terminal would.

    What a command says beside its data comes after it, and a line that was said before only once:
    most commands read the same runs, and would warn of the same things.
    """

    def __init__(self) -> None:
        self.said: set[str] = set()

    def show(self, line: str) -> None:
        click.secho(f"\n$ {line}", bold=True)

    def run(self, line: str) -> None:
        from foveal.cli import cli

        self.show(line)
        words = [word for part in _words(line) for word in _expanded(part)]
        aside, code = io.StringIO(), 0
        try:
            # Not cli.main, which would end a broken pipe with exit code 1.
            with (
                contextlib.redirect_stderr(aside),
                cli.make_context(words[0], words[1:]) as context,
            ):
                cli.invoke(context)
            sys.stdout.flush()
        except click.exceptions.Exit as stopped:
            code = stopped.exit_code
        except SystemExit as stopped:
            code = stopped.code if isinstance(stopped.code, int) else 1
        finally:
            self._repeat(aside.getvalue().splitlines())
        if code:
            say(f"This command ended with exit code {code}, and the demo with it.")
            if " runs/" in line:
                say("Mend a faulty run in 'runs' or take it out, then call the demo again.")
            raise click.exceptions.Exit(code)

    def _repeat(self, lines: list[str]) -> None:
        new = [line for line in lines if line not in self.said]
        self.said.update(new)
        if len(new) < len(lines):
            new.append(f"(warnings as before: {len(lines) - len(new)})")
        for line in new:
            say(line)


def _words(line: str) -> list[str]:
    r"""The words of a command, as a shell would split them.

    >>> _words('foveal measures \\\n    "iP@0.01"')
    ['foveal', 'measures', 'iP@0.01']
    """
    return shlex.split(line.replace("\\\n", ""))


def _expanded(word: str) -> list[str]:
    """Files in place of a pattern, hidden ones left out, as a shell does it."""
    if "*" not in word:
        return [word]
    return sorted(str(path) for path in Path().glob(word) if path.name[0] != ".")


# -- sentences ---------------------------------------------------------------------------------


def _head(text: str) -> None:
    click.secho(f"\n{text}", fg="cyan", bold=True)


def _tell(text: str) -> None:
    click.echo("\n" + textwrap.fill(" ".join(text.split()), _WIDTH, break_on_hyphens=False))


def _kept(path: str) -> Results:
    """Results that a command has saved."""
    import foveal

    return foveal.read_results(path)


def _best(results: Results, measure: str) -> str:
    """The run with the highest mean, the first of equals."""
    return max(results.runs, key=lambda run: results[run, measure])


def _leaders(results: Results, first: str, second: str) -> str:
    """Name the leading run by each of two measures."""
    one, other = (_best(results, measure) for measure in (first, second))
    if one == other:
        return f"{one} leads, by {first} and by {second}."
    return (
        f"By {first} {one} leads ({results[one, first]:.4f}), by {second} {other} "
        f"({results[other, second]:.4f}): which system is best depends on what is asked."
    )


# -- the browser -------------------------------------------------------------------------------


def _at_a_display() -> bool:
    if not sys.stdout.isatty():
        return False
    screens = ("DISPLAY", "WAYLAND_DISPLAY")
    return sys.platform in ("darwin", "win32") or any(os.environ.get(name) for name in screens)


def _show(report: Path) -> None:
    import webbrowser

    if not webbrowser.open(report.as_uri()):
        say("No browser could be started.")
