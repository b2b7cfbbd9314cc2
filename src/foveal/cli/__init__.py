"""The command line: commands, loaded when they are called, and the process they run in."""

from __future__ import annotations

import atexit
import gc
import importlib
import io
import os
import signal
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from foveal._version import __version__
from foveal.errors import FovealError, FovealWarning, InputError, escape_controls

_COMMANDS = {
    "demo": ("demo", "Score the bundled examples and explain the figures."),
    "evaluate": ("evaluate", "Score runs against judgements."),
    "compare": ("compare", "Test whether runs differ significantly."),
    "correlate": ("correlate", "Correlate the rankings of systems by different measures."),
    "simulate": ("simulate", "Write the simulated runs of the S-R space."),
    "fidelity": ("fidelity_command", "Test measures on simulated runs of known order."),
    "pool": ("pool", "Choose the results to assess from runs."),
    "assess": ("assess", "Assess documents in the browser."),
    "verify": ("verify", "Check that judged spans still hold their text."),
    "agree": ("agree", "Measure the agreement of assessors."),
    "budget": ("budget", "Compare runs at the same amount of text or tokens."),
    "project": ("project", "Project judgements onto chunks, pages or elements."),
    "plot": ("plot", "Draw the graphs of the papers."),
    "report": ("report", "Write a report page: scores, graphs, topics."),
    "inex-eval": ("inex_eval", "Print the tables of the official evaluator 3.1."),
    "index": ("index", "Index the elements of a collection."),
    "validate": ("validate", "List all problems of runs."),
    "convert": ("convert", "Write runs, judgements or topics in another format."),
    "stats": ("stats", "Describe collections, topics, judgements and runs."),
    "recall-base": ("recall_base", "Draw the recall bases of a topic as trees."),
    "measures": ("measures", "List the measures, or explain one."),
    "formats": ("formats", "List the file formats, or explain one."),
    "axioms": ("axioms_command", "Test whether measures are sound."),
    "completion": ("completion", "Print the completion script of a shell."),
}
"""Name to module and summary, which the list of commands shows without importing the module."""
_MOST_PROBLEMS = 20
WORDS = "foveal.words"
"""Key in the context of a command for the words of the command line."""
WARNINGS = "foveal.warnings"
"""Key in the context of a command for the warnings to print when it ends."""
COMPLETE = "_FOVEAL_COMPLETE"
"""Variable by which a shell asks for its completion script, or for completions."""
_DEBUG = "FOVEAL_DEBUG"
_OBJECTS_AT_START = 200_000
"""More objects than importing NumPy, Polars and Foveal makes; none of them becomes garbage."""


class _CommandGroup(click.Group):
    """Commands that are listed by their summaries, and imported only when they run."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        del ctx  # click's signature
        return list(self.commands)  # in the order of the table

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name, command, rest = super().resolve_command(ctx, args)
        if name in _COMMANDS:
            command = importlib.import_module(f"foveal.cli.{_COMMANDS[name][0]}").command
        return name, command, rest


cli = _CommandGroup(
    "foveal",
    commands=[click.Command(name, short_help=text) for name, (_, text) in _COMMANDS.items()],
    help="Foveal: evaluation of focused retrieval, character by character.",
    epilog="Example: foveal evaluate my.run -j qrels.txt -t 2009.Focused",
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
click.version_option(__version__, prog_name="foveal", message="%(prog)s %(version)s")(cli)


def main(args: Sequence[str] | None = None) -> None:
    """Run the command line; an error that the user can mend is one line and exit code 2."""
    if args is None:  # this process is the command: do not look for garbage at start and end
        gc.set_threshold(_OBJECTS_AT_START)
        atexit.register(gc.freeze)
        # End as on an interruption: clean-ups run, other processes end.
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    for name in ("stdin", "stdout", "stderr"):
        if getattr(sys, name) is None:  # closed: no other file may get its number
            mode = "r" if name == "stdin" else "w"
            setattr(sys, name, Path(os.devnull).open(mode))  # noqa: SIM115
    try:
        if shell := os.environ.get(COMPLETE):
            from click.shell_completion import shell_complete

            sys.exit(shell_complete(cli, {}, "foveal", COMPLETE, shell))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FovealWarning)  # commands print those of results
            run_words(sys.argv[1:] if args is None else args)
    except click.exceptions.Exit as ended:
        sys.exit(ended.exit_code)
    except (KeyboardInterrupt, click.Abort):
        sys.exit(130)
    except BrokenPipeError:  # the reader has gone
        sys.exit(0)
    except (click.ClickException, FovealError, MemoryError, OSError) as error:
        for line in _describe_error(error):
            click.echo(line, err=True)
        sys.exit(2)


def run_words(words: Sequence[str], **settings: Any) -> None:
    """Run one command line, and print its warnings after everything else.

    Not `cli.main`, which would end a broken pipe with exit code 1. `settings` go to the context.
    """
    with cli.make_context("foveal", [*words]) as context:
        context.meta.update({WORDS: [*words], **settings})
        try:
            cli.invoke(context)
        finally:
            if context.meta.get(WARNINGS):
                from foveal.cli.shared import print_warnings

                print_warnings(context)


def _describe_error(error: Exception) -> Sequence[str]:
    """Return the lines to print; in debug mode also print where the system refused something."""
    if isinstance(error, InputError):
        return error.lines(_MOST_PROBLEMS)
    if isinstance(error, FovealError):
        return [f"foveal: {error}"]
    if isinstance(error, click.ClickException):
        shown = io.StringIO()
        error.show(shown)
        return [escape_controls(shown.getvalue().rstrip("\n"), keep="\n")]
    if os.environ.get(_DEBUG, "0") not in ("", "0"):
        import traceback

        traceback.print_exception(error)
    memory = isinstance(error, MemoryError)
    reason = "not enough memory" if memory else getattr(error, "strerror", None) or error
    place = getattr(error, "filename", None) or "foveal"
    return [escape_controls(f"{place}: {reason} ({_DEBUG}=1 shows the traceback)", keep="\n")]
