"""Errors and remarks: what was wrong, where, and what was expected."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

# C0, DEL, C1, the bidirectional embeddings, overrides and isolates, and undecodable bytes.
_CONTROLS = "[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
# Some messages have several lines: a query with a mark under the place of its error.
_BREAK = "\n"


def escape_controls(text: str, keep: str = "") -> str:
    r"""Return text that is safe on a terminal: each control character as ``\x1b`` or ``\u202e``.

    Everything that people read passes through here: tables, warnings, errors and progress.
    Characters of `keep`, such as line breaks between lines of a message, stay as they are.

    >>> print(escape_controls("a\x1b[2Jb\u202ec\n"))
    a\x1b[2Jb\u202ec\n
    """

    def escape(found: re.Match[str]) -> str:
        return found[0] if found[0] in keep else found[0].encode("unicode_escape").decode("ascii")

    return re.sub(_CONTROLS, escape, text)


class Problem(NamedTuple):
    """One thing wrong with an input, printed as ``file:line: text``.

    `code` is a stable identifier such as ``run.overlap``; programs match it, never the text.
    """

    code: str
    file: str
    line: int | None
    text: str

    def __str__(self) -> str:
        where = escape_controls(self.file) + ("" if self.line is None else f":{self.line}")
        return f"{where}: {escape_controls(self.text, keep=_BREAK)}"


class FovealError(Exception):
    """Base of every error that a user can cause and mend."""

    def __str__(self) -> str:
        return escape_controls(super().__str__(), keep=_BREAK)


class FovealWarning(UserWarning):
    """Inputs that can be scored, but whose scores hardly mean what they seem to."""


class UsageError(FovealError):
    """A wrong option, measure or combination of them; no file is to blame."""


class InputError(FovealError):
    """One or more defects of the input files, and a last line about all of them if there is one.

    >>> print(InputError([Problem("run.score", "a.run", 3, "score 'x' is not a number")]))
    a.run:3: score 'x' is not a number
    """

    def __init__(self, problems: Iterable[Problem], *, summary: str | None = None) -> None:
        self.problems = tuple(problems)
        self.summary = summary
        super().__init__(self.problems)

    @classmethod
    def at(cls, code: str, file: str, line: int | None, text: str) -> InputError:
        return cls([Problem(code, file, line, text)])

    @classmethod
    def together(cls, errors: Iterable[InputError]) -> InputError:
        """Return the problems of the parts of one input by their lines, each once.

        >>> parts = [InputError.at("run.odd", "a.run", line, "odd") for line in (7, 3)]
        >>> InputError.together(parts).lines()
        ['a.run:3: odd', 'a.run:7: odd']
        """
        problems = dict.fromkeys(problem for error in errors for problem in error.problems)
        return cls(sorted(problems, key=lambda problem: problem.line or 0))

    def lines(self, limit: int | None = None) -> list[str]:
        """Return the messages, at most `limit` of them followed by a count of the rest."""
        shown = [str(problem) for problem in self.problems[:limit]]
        hidden = len(self.problems) - len(shown)
        shown += [f"... and {hidden} more problems"] if hidden else []
        return shown if self.summary is None else [*shown, self.summary]

    def __str__(self) -> str:
        return "\n".join(self.lines(limit=20))


def plural(number: int, noun: str) -> str:
    """Return a number with its noun.

    >>> plural(1, "topic"), plural(3, "topic")
    ('1 topic', '3 topics')
    """
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def shorten_list(names: Sequence[str], most: int = 5) -> str:
    """Return the first of many names and how many more there are, for messages.

    >>> shorten_list(["a", "b", "c"]), shorten_list(["a", "b", "c"], most=2)
    ('a, b, c', 'a, b and 1 more')
    """
    more = len(names) - most
    return ", ".join(names[:most]) + (f" and {more} more" if more > 0 else "")


class Note(str):
    """A remark with a code, such as ``run.grouping``, which programs match.

    As text it begins with the name of the run, if it is about one.

    >>> Note("run.empty", "results without length: 3", "mine")
    'mine: results without length: 3'
    """

    code: str
    text: str
    run: str | None

    def __new__(cls, code: str, text: str, run: str | None = None) -> Note:
        self = super().__new__(cls, text if run is None else f"{run}: {text}")
        self.code, self.text, self.run = code, text, run
        return self

    def __getnewargs__(self) -> tuple[str, str, str | None]:  # type: ignore[override]
        return self.code, self.text, self.run


TallyForm = str | Callable[[int, Sequence[Any]], str]


class Tally(str):
    """A remark with its count; empty if nothing is counted.

    `form` is a text in which ``{}`` is the count and a second one the names of what is counted, or
    a function of count and `items`. Remarks of one form are about the same thing and can be added.

    >>> Tally("results clipped: {}", 3) + Tally("results clipped: {}", 4)
    'results clipped: 7'
    >>> Tally("topics, {}: {}", 2, ("8", "9"))
    'topics, 2: 8, 9'
    >>> Tally("results clipped: {}", 0)
    ''
    """

    form: TallyForm
    number: int
    items: tuple[Any, ...]

    def __new__(cls, form: TallyForm, count: int, items: Iterable[Any] = ()) -> Tally:
        named = tuple(items)
        if not count:
            text = ""
        elif isinstance(form, str):
            text = form.format(count, shorten_list(named)) if named else form.format(count)
        else:
            text = form(count, named)
        self = super().__new__(cls, text)
        self.form, self.number, self.items = form, count, named
        return self

    def __getnewargs__(self) -> tuple[TallyForm, int, tuple[Any, ...]]:  # type: ignore[override]
        return self.form, self.number, self.items

    def __add__(self, other: str) -> Tally:
        """Return the remark on both parts."""
        assert isinstance(other, Tally), other
        assert other.form == self.form, other
        return Tally(self.form, self.number + other.number, (*self.items, *other.items))
