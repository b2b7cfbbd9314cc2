"""The one exception family of Foveal: what was wrong, where, and what was expected."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

__all__ = [
    "FovealError",
    "FovealWarning",
    "InputError",
    "Problem",
    "UsageError",
    "counted",
    "some",
]


class Problem(NamedTuple):
    """One thing wrong with an input, printed as ``file:line: message``."""

    file: str
    line: int | None
    message: str

    def __str__(self) -> str:
        where = self.file if self.line is None else f"{self.file}:{self.line}"
        return f"{where}: {self.message}"


class FovealError(Exception):
    """Base of every error that a user can cause and mend."""


class FovealWarning(UserWarning):
    """Inputs that can be scored, but whose scores hardly mean what they seem to."""


class UsageError(FovealError):
    """A wrong option, measure or combination of them; no file is to blame."""


class InputError(FovealError):
    """One or more defects of the input files.

    >>> print(InputError([Problem("a.run", 3, "score 'x' is not a number")]))
    a.run:3: score 'x' is not a number
    """

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__(self.problems)

    @classmethod
    def at(cls, file: str, line: int | None, message: str) -> InputError:
        return cls([Problem(file, line, message)])

    @classmethod
    def together(cls, errors: Iterable[InputError]) -> InputError:
        """What is wrong with the parts of one input, line by line; what several say, once.

        >>> parts = [InputError.at("a.run", 7, "odd"), InputError.at("a.run", 3, "odd")]
        >>> InputError.together(parts).lines()
        ['a.run:3: odd', 'a.run:7: odd']
        """
        problems = dict.fromkeys(problem for error in errors for problem in error.problems)
        return cls(sorted(problems, key=lambda problem: problem.line or 0))

    def lines(self, limit: int | None = None) -> list[str]:
        """The messages, at most `limit` of them followed by a count of the rest."""
        shown = [str(problem) for problem in self.problems[:limit]]
        hidden = len(self.problems) - len(shown)
        return [*shown, f"... and {hidden} more problems"] if hidden else shown

    def __str__(self) -> str:
        return "\n".join(self.lines(limit=20))


def counted(number: int, noun: str) -> str:
    """A number with its noun.

    >>> counted(1, "topic"), counted(3, "topic")
    ('1 topic', '3 topics')
    """
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def some(names: Sequence[str], most: int = 5) -> str:
    """The first of many names and how many more there are, for messages.

    >>> some(["a", "b", "c"]), some(["a", "b", "c"], most=2)
    ('a, b, c', 'a, b and 1 more')
    """
    more = len(names) - most
    return ", ".join(names[:most]) + (f" and {more} more" if more > 0 else "")
