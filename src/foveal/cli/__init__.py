"""The command line: thin commands, loaded when they are called."""

from __future__ import annotations

import importlib
import io
import os
import sys
import warnings
from typing import Any

import click
from click.shell_completion import CompletionItem, shell_complete

from foveal._version import __version__
from foveal.cli.process import (
    StandardOutputError,
    describe_failure,
    discard_output,
    exit_on_sigterm,
    guard_streams,
)
from foveal.errors import FovealError, FovealWarning, InputError, escape_controls

__all__ = ["cli", "main"]

_COMMANDS = {
    "demo": ("foveal.cli.demo", "Go through a whole campaign on the bundled example."),
    "evaluate": ("foveal.cli.evaluate", "Score runs against judgements."),
    "compare": ("foveal.cli.compare", "Test whether runs differ, topic by topic."),
    "correlate": ("foveal.cli.correlate", "Correlate the rankings of systems by measures."),
    "simulate": ("foveal.cli.simulate", "Write the simulated runs of the S-R space."),
    "fidelity": ("foveal.cli.fidelity", "Put measures on trial with simulated runs."),
    "pool": ("foveal.cli.pool", "Choose from runs what is to be assessed."),
    "assess": ("foveal.cli.assess", "Have people assess documents in the browser."),
    "verify": ("foveal.cli.verify", "Tell whether judged spans still hold their text."),
    "agree": ("foveal.cli.agree", "Tell how far assessors agree."),
    "budget": ("foveal.cli.budget", "Compare runs at the same amount of text or tokens."),
    "project": ("foveal.cli.project", "Project judgements on chunks, pages or elements."),
    "plot": ("foveal.cli.plot", "Draw the graphs of the papers."),
    "report": ("foveal.cli.report", "Write a page about runs: scores, graphs, topics."),
    "inex-eval": ("foveal.cli.inex_eval", "Print the tables of the official evaluator 3.1."),
    "index": ("foveal.cli.index", "Index the elements of a collection."),
    "validate": ("foveal.cli.validate", "List everything wrong with runs."),
    "convert": ("foveal.cli.convert", "Write runs, judgements or topics in another format."),
    "stats": ("foveal.cli.stats", "Describe collections, topics, judgements and runs."),
    "recall-base": ("foveal.cli.recall_base", "Draw the recall bases of a topic as trees."),
    "measures": ("foveal.cli.measures", "List the measures, or explain one."),
    "axioms": ("foveal.cli.axioms", "Test whether measures are sound."),
}
_MOST_PROBLEMS = 20
_COMPLETE = "_FOVEAL_COMPLETE"
"""Variable by which a shell asks for its completion script, or for completions."""


class _Lazy(click.Group):
    """Commands whose modules are imported only when they run."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        del ctx  # click's signature
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        command: click.Command = importlib.import_module(_COMMANDS[cmd_name][0]).command
        if ctx.resilient_parsing:  # for completion in the shell
            _set_completions(ctx, command)
        return command

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        if incomplete.startswith("-"):
            return super().shell_complete(ctx, incomplete)
        return [
            CompletionItem(name, help=text)
            for name, (_, text) in _COMMANDS.items()
            if name.startswith(incomplete)
        ]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        del ctx
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in _COMMANDS.items()])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        from difflib import get_close_matches

        name = args[0]
        if name not in _COMMANDS and not name.startswith("-"):
            near = get_close_matches(name, _COMMANDS, 1)
            hint = f" Did you mean {near[0]!r}?" if near else ""
            ctx.fail(f"No such command {name!r}.{hint}")
        return super().resolve_command(ctx, args)


def _set_completions(ctx: click.Context, command: click.Command) -> None:
    """Let the shell complete names of measures, tasks and graphs, and files in other places."""
    from foveal.evaluation.presets import PRESETS
    from foveal.measures import all_measures
    from foveal.report.graphs import GRAPHS

    if isinstance(command, click.Group):
        for name in command.list_commands(ctx):
            if inner := command.get_command(ctx, name):
                _set_completions(ctx, inner)
    known = {
        "measure": list(dict.fromkeys(measure.name for measure in all_measures())),
        "task": [preset.name for preset in PRESETS.values()],
        "graph": list(GRAPHS),
    }
    if command.name == "measures":
        known["name"] = known["measure"]
    for param in command.params:
        names = known.get((param.name or "").removesuffix("s"))
        if names is not None:
            param.type = click.Choice(names)
        elif param.type is click.STRING:
            param.type = click.Path()


@click.group(
    cls=_Lazy,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Example: foveal evaluate my.run -j qrels.txt -t 2009.Focused",
)
@click.version_option(__version__, prog_name="foveal", message="%(prog)s %(version)s")
@click.pass_context
def cli(context: click.Context) -> None:
    """Foveal: evaluation of focused retrieval, character by character."""
    context.with_resource(warnings.catch_warnings())
    warnings.simplefilter("ignore", FovealWarning)  # commands print the warnings of results


def main(args: list[str] | None = None) -> None:
    """Run the command line; every error that a user can mend is one line and exit code 2."""
    guard_streams()
    try:
        if shell := os.environ.get(_COMPLETE):
            sys.exit(shell_complete(cli, {}, "foveal", _COMPLETE, shell))
        with exit_on_sigterm():
            _invoke(sys.argv[1:] if args is None else list(args))
    except click.ClickException as error:
        said = io.StringIO()
        error.show(said)
        _complain([escape_controls(said.getvalue().rstrip("\n"), keep="\n")])
    except InputError as error:
        _complain(error.lines(_MOST_PROBLEMS))
    except FovealError as error:
        _complain([f"foveal: {error.console_message}"])
    except (KeyboardInterrupt, click.Abort):
        sys.exit(130)
    except BrokenPipeError:  # the reader has gone
        discard_output()
        sys.exit(0)
    except StandardOutputError as error:
        discard_output()
        _complain([f"foveal: {error}"], code=1)
    except (MemoryError, OSError) as error:
        _complain([escape_controls(describe_failure(error), keep="\n")])


def _invoke(args: list[str]) -> None:
    """Run a command and write out what it printed, whatever its exit code."""
    try:
        # Not cli.main, which would end a broken pipe with exit code 1.
        with cli.make_context("foveal", args) as context:
            cli.invoke(context)
    except click.exceptions.Exit as ended:
        sys.stdout.flush()
        sys.exit(ended.exit_code)
    except SystemExit:
        sys.stdout.flush()
        raise
    sys.stdout.flush()


def _complain(lines: list[str], code: int = 2) -> Any:
    for line in lines:
        click.echo(line, err=True)
    sys.exit(code)
