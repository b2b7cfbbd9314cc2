"""The command line: commands, loaded when they are called, and the process they run in."""

from __future__ import annotations

import atexit
import errno
import gc
import importlib
import io
import os
import signal
import sys
import threading
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NoReturn

import click

from foveal._version import __version__
from foveal.errors import FovealError, FovealWarning, InputError, escape_controls

if TYPE_CHECKING:
    from types import FrameType

    from click.shell_completion import CompletionItem

_COMMANDS = {
    "demo": ("demo", "Run a whole campaign on the bundled example."),
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
_TERMINATED = 128 + signal.SIGTERM


# -- commands ----------------------------------------------------------------------------------


class _CommandGroup(click.Group):
    """Commands whose modules are imported only when they run."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        del ctx  # click's signature
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name in _COMMANDS:
            module = importlib.import_module(f"foveal.cli.{_COMMANDS[cmd_name][0]}")
            command: click.Command = module.command
            if ctx.resilient_parsing:  # the shell asks for completions
                from foveal.cli.options import complete_files

                return complete_files(command)
            return command
        if not ctx.resilient_parsing and not cmd_name.startswith("-"):
            from difflib import get_close_matches

            near = get_close_matches(cmd_name, _COMMANDS, 1)
            hint = f" Did you mean {near[0]!r}?" if near else ""
            ctx.fail(f"No such command {cmd_name!r}.{hint}")
        return None

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        from click.shell_completion import CompletionItem

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


cli = _CommandGroup(
    "foveal",
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
    words = sys.argv[1:] if args is None else [*args]
    _guard_streams()
    try:
        if shell := os.environ.get(COMPLETE):
            from click.shell_completion import shell_complete

            sys.exit(shell_complete(cli, {}, "foveal", COMPLETE, shell))
        with _exit_on_sigterm(), warnings.catch_warnings():
            warnings.simplefilter("ignore", FovealWarning)  # commands print those of results
            try:
                run_words(words)
            except click.exceptions.Exit as ended:
                sys.stdout.flush()
                sys.exit(ended.exit_code)
            except SystemExit:
                sys.stdout.flush()
                raise
            sys.stdout.flush()
    except click.ClickException as error:
        shown = io.StringIO()
        error.show(shown)
        _complain([escape_controls(shown.getvalue().rstrip("\n"), keep="\n")])
    except InputError as error:
        _complain(error.lines(_MOST_PROBLEMS))
    except FovealError as error:
        _complain([f"foveal: {error}"])
    except (KeyboardInterrupt, click.Abort):
        sys.exit(130)
    except BrokenPipeError:  # the reader has gone
        _discard_output()
        sys.exit(0)
    except _StandardOutputError as error:
        _discard_output()
        _complain([f"foveal: {error}"], code=1)
    except (MemoryError, OSError) as error:
        _complain([escape_controls(_describe_failure(error), keep="\n")])


def run_words(words: Sequence[str], **settings: Any) -> None:
    """Run one command line, and print its warnings after everything else.

    Not `cli.main`, which would end a broken pipe with exit code 1. `settings` go to the context.
    """
    with cli.make_context("foveal", [*words]) as context:
        context.meta.update({WORDS: [*words], **settings})
        try:
            cli.invoke(context)
        finally:
            if WARNINGS in context.meta:
                from foveal.cli.shared import print_warnings

                print_warnings(context)


def _complain(lines: list[str], code: int = 2) -> NoReturn:
    for line in lines:
        click.echo(line, err=True)
    sys.exit(code)


def _describe_failure(error: MemoryError | OSError) -> str:
    """Return what the system refused; in debug mode also print where."""
    if os.environ.get(_DEBUG, "0") not in ("", "0"):
        import traceback

        traceback.print_exception(error)
    if isinstance(error, MemoryError):
        reason = "foveal: not enough memory for this command"
    elif error.filename is not None:
        reason = f"{error.filename}: {error.strerror}"
    else:
        reason = f"foveal: {error.strerror or error}"
    return f"{reason} ({_DEBUG}=1 shows the traceback)"


# -- streams and signals -----------------------------------------------------------------------


class _StandardOutputError(Exception):
    """Standard output cannot be written: it is full or closed."""


class _StandardOutput(io.FileIO):
    """Standard output, whose errors are not mistaken for those of a file."""

    def write(self, data: Any) -> int:
        try:
            return super().write(data)
        except BrokenPipeError:
            raise
        except OSError as error:
            reason = "it is closed" if error.errno == errno.EBADF else error.strerror
            raise _StandardOutputError(f"standard output cannot be written: {reason}") from None


class _StandardError(io.FileIO):
    """Standard error; a message that cannot be written is dropped, the exit code remains."""

    def write(self, data: Any) -> int:
        try:
            return super().write(data)
        except OSError:
            return len(data)


def _guard_streams() -> None:
    """Open standard streams that the caller closed, and report errors of standard output.

    A closed stream would leave its number to the next file that is opened. The null device takes
    it: where data would be lost it is opened so that using it fails.
    """
    closed = {
        0: (sys.stdin, os.O_WRONLY),
        1: (sys.stdout, os.O_RDONLY),
        2: (sys.stderr, os.O_WRONLY),
    }
    for number, (stream, flags) in closed.items():
        if stream is None:
            opened = os.open(os.devnull, flags)
            if opened != number:
                os.dup2(opened, number)
                os.close(opened)
            os.set_inheritable(number, True)  # noqa: FBT003 - as of any standard stream
    if sys.stdin is None:
        sys.stdin = io.TextIOWrapper(io.BufferedReader(io.FileIO(0, closefd=False)))
    # Not where a test or a caller has put a stream of its own.
    if sys.stdout is sys.__stdout__:
        sys.stdout = _open_text(_StandardOutput(1, "w", closefd=False), sys.stdout)
    if sys.stderr is sys.__stderr__:
        sys.stderr = _open_text(
            _StandardError(2, "w", closefd=False), sys.stderr, "backslashreplace"
        )


def _open_text(raw: io.FileIO, like: Any, errors: str = "strict") -> io.TextIOWrapper:
    """Return a text stream with encoding and buffering of another, which may be None."""
    if like is not None:
        like.flush()
    unbuffered = getattr(like, "write_through", False)  # PYTHONUNBUFFERED
    stream: Any = raw if unbuffered else io.BufferedWriter(raw)
    return io.TextIOWrapper(
        stream,
        encoding=getattr(like, "encoding", "utf-8"),
        errors=getattr(like, "errors", errors),
        line_buffering=raw.fileno() == 2 or raw.isatty(),
        write_through=unbuffered,
    )


def _discard_output() -> None:
    """Send standard output to the null device, so that Python can close it without an error."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


@contextmanager
def _exit_on_sigterm() -> Iterator[None]:
    """End a command on SIGTERM as on an interruption: clean-ups run, other processes end."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def end(_signal: int, _frame: FrameType | None) -> NoReturn:
        sys.exit(_TERMINATED)

    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
