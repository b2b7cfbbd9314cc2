"""Gates of commands: sentences to standard error, a summary for the build, the exit code."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from foveal.cli.shared import say
from foveal.errors import UsageError

if TYPE_CHECKING:
    from foveal.bridges.gates import Check

__all__ = ["check_summary", "conclude"]

_GITHUB = "github"
_VARIABLE = "GITHUB_STEP_SUMMARY"


def check_summary(given: str | None, inputs: Sequence[str]) -> Path | None:
    """Return the file for the summary; refuse it, before anything is scored, if it is an input."""
    if given is None:
        return None
    if given == _GITHUB and not os.environ.get(_VARIABLE):
        raise UsageError(f"--summary github: ${_VARIABLE} is not set; name a file instead")
    target = Path(os.environ[_VARIABLE] if given == _GITHUB else given)
    if target.exists():
        for name in inputs:
            if Path(name).exists() and Path(name).samefile(target):
                raise UsageError(f"{target} is read by this command; choose another file to write")
    return target


def conclude(checks: Sequence[Check], target: Path | None, text: Callable[[], str]) -> None:
    """Print which checks passed, append the summary, and exit with 1 if any check failed."""
    if target is not None:
        from foveal.files.atomic import write_file

        before = target.read_bytes() if target.is_file() else b""
        write_file(target, before + text().encode())
    for check in checks:
        say(f"{'passed' if check.passed else 'failed'}: {check.sentence}")
    if not all(check.passed for check in checks):
        raise click.exceptions.Exit(1)
