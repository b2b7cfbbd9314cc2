"""``foveal demo``: a whole campaign on the bundled example, command by command."""

from __future__ import annotations

import contextlib
import os
import shlex
import shutil
import sys
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click

from foveal.cli.options import VERBOSE, Command, option
from foveal.cli.shared import say
from foveal.errors import FovealError, InputError, UsageError

if TYPE_CHECKING:
    from foveal.model import Results

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


class DemoStep(NamedTuple):
    """A command of the demo with the texts around it; ``{best}`` is the best run by AiP."""

    heading: str
    caption: str
    command: str
    leaders: tuple[str, str, str] | None = None
    """A file of results and two measures: who leads by each is printed after the command."""


_FOCUSED = """\
foveal evaluate runs/* -j judgements.jsonl -C crossings.fvx \\
    -t 2009.Focused --overlap drop"""
_STEPS = (
    DemoStep(
        "1. Index the documents, so that results can be XPaths",
        "",
        "foveal index documents -o crossings.fvx",
    ),
    DemoStep(
        "2. Is anything wrong with the runs?",
        "",
        "foveal validate runs/* -C crossings.fvx --topics-file topics.jsonl",
    ),
    DemoStep(
        "3. Score them: the Focused task of 2009, on marked characters",
        "Read from the top, how pure is the text? iP@x is the best precision once a share x of the "
        "relevant text has been met, AiP its average over all shares. The warning is about runs "
        "that were made for another task; -v would show all warnings.",
        f"{_FOCUSED} -f table",
    ),
    DemoStep(
        "",
        "The same once more into a file, with every topic, for the comparison below.",
        f"{_FOCUSED} -f json -o focused.json",
        ("focused.json", "iP@0.01", "AiP"),
    ),
    DemoStep(
        "4. The Thorough task of 2005, on graded elements",
        "Every relevant element counts here, also one within another, with grades for how "
        "exhaustive it is. The setting has curves of a thousand points; they go into a file, and "
        "three figures are looked at.",
        "foveal evaluate runs/*.xml -j assessments -t 2005.CO.Thorough -f json -o thorough.json",
    ),
    DemoStep(
        "",
        "",
        "foveal compare thorough.json \\\n"
        '    -m "nxCG(quant=gen5)@10" -m "MAep(quant=gen5)" -m "MAep(quant=strict5)" --show means',
        ("thorough.json", "nxCG(quant=gen5)@10", "MAep(quant=gen5)"),
    ),
    DemoStep(
        "5. Relevant in Context, 2009: documents are ranked, and each scores by its parts",
        "gP@k is how well the parts of the first k documents were found, AgP looks down to the "
        "last of them. The task wants the results of a document together: --regroup sees to it.",
        "foveal evaluate runs/paragraphs.run runs/sections.xml runs/windows.jsonl \\\n"
        "    -j judgements.jsonl -C crossings.fvx -t 2009.RelevantInContext --regroup -f table",
    ),
    DemoStep(
        "6. Is the best run really better?",
        "",
        "foveal compare focused.json -m AiP --baseline {best} --show means",
    ),
    DemoStep(
        "7. Can the measure be trusted?",
        "Simulated runs whose order is known are scored: too much text, too little, documents "
        "swapped (SR is perfect, every letter more a defect). A measure that reverses no order "
        "passes; one that is blind to something finds runs equal, as AP does, which knows "
        "documents only.",
        "foveal fidelity -j judgements.jsonl -C crossings.fvx -m AiP -m AP --table verdict "
        "-f table",
    ),
    DemoStep(
        "8. All of it on one page",
        "",
        "foveal report runs/* -j judgements.jsonl -C crossings.fvx --documents documents \\\n"
        "    --topics-file topics.jsonl -t 2009.Focused --overlap drop --by AiP -o report.html",
    ),
)


@click.command("demo", cls=Command, examples=("foveal demo -o crossings --no-open",))
@option("-o --output=DIR", "The directory to work in.", default="foveal-demo")
@option(
    "--open/--no-open to_open",
    "Show the report in the browser [default: at a terminal with a display].",
    default=None,
    show_default=False,
)
def command(output: str, *, to_open: bool | None) -> None:
    """Run a whole campaign on the bundled example.

    The example is copied into a directory: 43 documents, twelve topics, judgements and eight runs.
    Foveal indexes, validates, scores under three official settings, compares and tests it, and
    writes a report. Every command is shown before its output and works when it is pasted.

    A later demo in the same directory restores the files of the example and includes added ones:
    a run of your own in DIR/runs is validated, scored and reported with the others.
    """
    target = Path(output)
    _copy_campaign(find_campaign(), target)
    folder = shlex.quote(output)
    _print_text(
        "A campaign about crossing water: 43 documents, twelve topics, the relevant text marked by "
        f"hand, and eight runs by systems that return different things. Everything is in {folder}; "
        "each command below can be pasted there."
    )
    click.secho(f"\n$ cd {folder}", bold=True)
    with contextlib.chdir(target):
        for step in _STEPS:
            _take_step(step)
    report = target / "report.html"
    _print_text(
        f"Done. The report is {report}; open it in a browser: scores, graphs, topics, and the "
        "documents with what each run returned."
    )
    _print_text(
        f"What next? Put a run of your own into {target / 'runs'} and call the demo again. 'foveal "
        "measures AiP' explains a measure, 'foveal measures --presets' lists all official "
        "settings, 'foveal --help' all commands."
    )
    if to_open is None:
        screens = any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY"))
        to_open = sys.stdout.isatty() and (sys.platform in ("darwin", "win32") or screens)
    if to_open:
        import webbrowser

        if not webbrowser.open(report.resolve().as_uri()):
            say("No browser could be started.")


def find_campaign() -> Path:
    """Return the bundled campaign: beside the modules of an installed package, or in a checkout."""
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


def _copy_campaign(campaign: Path, target: Path) -> None:
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
            sources = [campaign / part, *sorted((campaign / part).rglob("[!.]*"))]
            for source in sources:
                place = target / source.relative_to(campaign)
                # Contents only: an installation may be read-only, and its copy is written again.
                if source.is_file():
                    shutil.copyfile(source, place)
                else:
                    place.mkdir(exist_ok=True)
    except OSError as error:
        where = str(error.filename or target)
        text = f"cannot be written: {error.strerror}"
        raise InputError.at("file.unwritable", where, None, text) from None


def _take_step(step: DemoStep) -> None:
    """Show a command with its texts, and run it in this process; a failure ends the demo."""
    from foveal.cli import run_words

    line = step.command
    if "{best}" in line:
        line = line.format(best=shlex.quote(_find_best(_read_saved("focused.json"), "AiP")))
    if step.heading:
        click.secho(f"\n{step.heading}", fg="cyan", bold=True)
    if step.caption:
        _print_text(step.caption)
    click.secho(f"\n$ {line}", bold=True)
    words: list[str] = []
    for word in shlex.split(line.replace("\\\n", "")):
        files = [str(path) for path in Path().glob(word) if path.name[0] != "."]
        words += sorted(files) if "*" in word else [word]
    code: object = 0
    try:
        run_words(words[1:], **{VERBOSE: False})
        sys.stdout.flush()
    except click.exceptions.Exit as stopped:
        code = stopped.exit_code
    except SystemExit as stopped:
        code = stopped.code
    if code:
        say(f"This command ended with exit code {code}, and the demo with it.")
        if " runs/" in line:
            say("Mend a faulty run in 'runs' or take it out, then call the demo again.")
        raise click.exceptions.Exit(code if isinstance(code, int) else 1)
    if step.leaders is not None:
        path, *measures = step.leaders
        _print_text(_name_leaders(_read_saved(path), *measures))


def _print_text(text: str) -> None:
    click.echo("\n" + textwrap.fill(text, _WIDTH, break_on_hyphens=False))


def _read_saved(path: str) -> Results:
    import foveal

    return foveal.read_results(path)


def _find_best(results: Results, measure: str) -> str:
    """Return the run with the highest mean, the first of equals."""
    return max(results.runs, key=lambda run: results[run, measure])


def _name_leaders(results: Results, first: str, second: str) -> str:
    """Return a sentence about the leading runs by two measures."""
    one, other = (_find_best(results, measure) for measure in (first, second))
    if one == other:
        return f"{one} leads, by {first} and by {second}."
    return (
        f"By {first} {one} leads ({results[one, first]:.4f}), by {second} {other} "
        f"({results[other, second]:.4f}): which system is best depends on what is asked."
    )
