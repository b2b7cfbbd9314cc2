"""Remarks that count something, so that those on parts of an input add up to one on the whole."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from foveal.errors import some

__all__ = ["Tally"]

Form = str | Callable[[int, Sequence[Any]], str]


class Tally(str):
    """A remark with its count; where nothing is counted it is empty, and nobody says it.

    Parameters
    ----------
    form : str or function
        Text in which ``{}`` stands for the count, and a second one for the names of what is
        counted. A function of count and items may return what it likes. Remarks of one form are
        about the same thing.
    count : int
    items : sequence, optional
        What is named in the text; some of it may be enough.

    Examples
    --------
    >>> Tally("results clipped: {}", 3) + Tally("results clipped: {}", 4)
    'results clipped: 7'
    >>> Tally("topics, {}: {}", 2, ("8", "9"))
    'topics, 2: 8, 9'
    >>> Tally("results clipped: {}", 0)
    ''
    """

    form: Form
    number: int
    items: tuple[Any, ...]

    def __new__(cls, form: Form, count: int, items: Iterable[Any] = ()) -> Tally:
        named = tuple(items)
        if not count:
            text = ""
        elif isinstance(form, str):
            text = form.format(count, some(named)) if named else form.format(count)
        else:
            text = form(count, named)
        self = super().__new__(cls, text)
        self.form, self.number, self.items = form, count, named
        return self

    # A str is made from one text, a tally from what it is put together of.
    def __getnewargs__(self) -> tuple[Form, int, tuple[Any, ...]]:  # type: ignore[override]
        return self.form, self.number, self.items

    def __add__(self, other: str) -> Tally:
        """The remark on both parts."""
        assert isinstance(other, Tally), other
        assert other.form == self.form, other
        return Tally(self.form, self.number + other.number, (*self.items, *other.items))
