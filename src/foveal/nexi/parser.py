"""The NEXI parser: one pass, no backtracking, errors with the place and what was expected."""

from __future__ import annotations

import re
from collections.abc import Callable

from foveal.errors import UsageError
from foveal.nexi.query import (
    ANY,
    CAS,
    CO,
    About,
    And,
    Clause,
    Compare,
    Or,
    Part,
    Path,
    Query,
    Step,
    Term,
)

__all__ = ["MAX_DEPTH", "NexiError", "parse"]

MAX_DEPTH = 100
"""Parentheses within parentheses; no person writes a deeper query."""

_BLANK = re.compile(r"\s*")
_NAME = re.compile(r"[^\W\d][\w.\-]*")
_WORD = re.compile(r"[^\W_](?:[^\W_]|-(?=[^\W_])|['\u2019](?=[^\W_]))*")
_DECIMAL = re.compile(r"\d+\.\d+(?![\w.])")
_NUMBER = re.compile(r"[+-]?\d+(?:\.\d+)?(?![\w.])")
_OPERATOR = re.compile(r"<=|>=|<|>|=")
_QUOTED = re.compile(r"'([^']*)'|\"([^\"]*)\"")


class NexiError(UsageError):
    """A syntax error: the query, the place, what was expected there.

    >>> print(NexiError("//sec[about(.)]", 13, "expected ','"))
    not a NEXI query, character 14: expected ','
      //sec[about(.)]
                   ^
    """

    def __init__(self, query: str, position: int, message: str) -> None:
        self.query, self.position, self.message = query, position, message
        line_start = query.rfind("\n", 0, position) + 1
        line = query[line_start:].split("\n", 1)[0].replace("\t", " ")
        super().__init__(
            f"not a NEXI query, character {position + 1}: {message}\n"
            f"  {line}\n  {' ' * (position - line_start)}^"
        )

    def __reduce__(self) -> tuple[type[NexiError], tuple[str, int, str]]:
        return type(self), (self.query, self.position, self.message)


def parse(text: str, *, lenient: bool = False) -> Query:
    """Parse a CO or CAS query.

    Parameters
    ----------
    text : str
    lenient : bool
        Also accept what is not NEXI but was used: the 2003 dialect (single slashes, quoted
        constants, ``about(., 'text')``), more than two parts, and a last path without a filter.

    Examples
    --------
    >>> query = parse("//article[about(., xml)]//sec[about(.//p, +retrieval)]")
    >>> str(query.target), [str(path) for path in query.support]
    ('//article//sec', ['//article', '//article//sec//p'])
    """
    return _Parser(text, lenient=lenient).query()


class _Parser:
    def __init__(self, text: str, *, lenient: bool) -> None:
        self.text = text
        self.lenient = lenient
        self.at = 0
        self.depth = 0
        self._skip()

    # -- characters -----------------------------------------------------------------------------

    def _skip(self) -> None:
        blank = _BLANK.match(self.text, self.at)
        assert blank is not None
        self.at = blank.end()

    def _fail(self, message: str) -> NexiError:
        found = "the end" if self.at >= len(self.text) else repr(self.text[self.at])
        return NexiError(self.text, self.at, f"{message}, found {found}")

    def _peek(self, literal: str) -> bool:
        return self.text.startswith(literal, self.at)

    def _take(self, literal: str) -> bool:
        if not self._peek(literal):
            return False
        self.at += len(literal)
        self._skip()
        return True

    def _expect(self, literal: str) -> None:
        if not self._take(literal):
            raise self._fail(f"expected {literal!r}")

    def _match(self, pattern: re.Pattern[str]) -> str | None:
        found = pattern.match(self.text, self.at)
        if found is None:
            return None
        self.at = found.end()
        return found.group()

    def _keyword(self, *words: str) -> bool:
        """Take one of these words of the language, if it follows."""
        for word in words:
            end = self.at + len(word)
            if self._peek(word) and not (end < len(self.text) and self.text[end].isalnum()):
                self.at = end
                self._skip()
                return True
        return False

    # -- the grammar ----------------------------------------------------------------------------

    def query(self) -> Query:
        structured = self._peek("/")
        query: Query = self._cas() if structured else CO(self._terms(self._at_end))
        if not self._at_end():
            raise self._fail("expected the end of the query")
        return query

    def _at_end(self) -> bool:
        return self.at >= len(self.text)

    def _cas(self) -> CAS:
        parts: list[Part] = []
        while self._peek("/"):
            if len(parts) == 2 and not self.lenient:
                raise self._fail("expected the end: a query has at most two filtered paths")
            path = self._path()
            if self._take("["):
                clause = self._clause()
                self._expect("]")
                parts.append(Part(path, clause))
            elif self.lenient and parts and self._at_end():
                parts.append(Part(path, None))
            else:
                raise self._fail("expected '[' and a filter")
        return CAS(tuple(parts))

    def _path(self) -> Path:
        steps: list[Step] = []
        while self._peek("/"):
            if steps and steps[-1].attribute:
                raise self._fail("an attribute ends its path")
            child = not self._take("//")
            if child and not (self.lenient and self._take("/")):
                raise self._fail("expected '//'")
            attribute = self._take("@")
            if attribute and not steps and not self.depth:
                raise self._fail("expected an element before the attribute")
            steps.append(Step(self._names(attribute=attribute), child, attribute))
        return Path(tuple(steps))

    def _names(self, *, attribute: bool) -> tuple[str, ...]:
        if not attribute and self._take("*"):
            return (ANY,)
        if attribute or not self._take("("):
            return (self._name(),)
        names = [self._name()]
        while self._take("|"):
            names.append(self._name())
        if len(names) == 1:
            raise self._fail("expected '|' and another name")
        self._expect(")")
        return tuple(names)

    def _name(self) -> str:
        name = self._match(_NAME)
        if name is None:
            raise self._fail("expected a tag name")
        self._skip()
        return name

    def _clause(self) -> Clause:
        return self._joined(self._conjunction, Or, "or", "OR")

    def _conjunction(self) -> Clause:
        return self._joined(self._filter, And, "and", "AND")

    def _joined(
        self, operand: Callable[[], Clause], kind: type[And] | type[Or], *words: str
    ) -> Clause:
        clauses = [operand()]
        while self._keyword(*words):
            clauses.append(operand())
        return clauses[0] if len(clauses) == 1 else kind(tuple(clauses))

    def _filter(self) -> Clause:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise self._fail(f"more than {MAX_DEPTH} nested parentheses")
        try:
            if self._take("("):
                clause = self._clause()
                self._expect(")")
                return clause
            if self._keyword("about", "ABOUT"):
                return self._about()
            if self._peek("."):
                return self._compare()
        finally:
            self.depth -= 1
        raise self._fail("expected about(...), a comparison or '('")

    def _relative(self) -> Path | None:
        self._expect(".")
        path = self._path()
        return path if path.steps else None

    def _about(self) -> About:
        self._expect("(")
        path = self._relative()
        self._expect(",")
        if self.lenient and self._peek("'"):
            return About(path, self._quoted_terms())
        terms = self._terms(lambda: self._peek(")"))
        self._expect(")")
        return About(path, terms)

    def _quoted_terms(self) -> tuple[Term, ...]:
        """Read terms in single quotes, as the 2003 dialect writes them."""
        end = self.text.find("'", self.at + 1)
        if end < 0:
            raise self._fail("the quote is not closed")
        self._take("'")
        terms = self._terms(lambda: self.at >= end)
        self._expect("'")
        self._expect(")")
        return terms

    def _compare(self) -> Compare:
        path = self._relative()
        operator = self._match(_OPERATOR)
        if operator is None:
            raise self._fail("expected a comparison: < <= = >= or >")
        self._skip()
        number = self._match(_NUMBER)
        if number is not None:
            self._skip()
            return Compare(path, operator, number)
        quoted = _QUOTED.match(self.text, self.at) if self.lenient else None
        if quoted is None:
            raise self._fail("expected a number")
        self.at = quoted.end()
        self._skip()
        return Compare(path, operator, quoted[1] or quoted[2] or "", quoted=True)

    def _terms(self, done: Callable[[], bool]) -> tuple[Term, ...]:
        terms: list[Term] = []
        while not done():
            terms.append(self._term())
        if not terms:
            raise self._fail("expected a word")
        return tuple(terms)

    def _term(self) -> Term:
        sign = next((s for s in "+-" if self._take(s)), "")
        if not self._take('"'):
            return Term((self._word(),), sign)
        words: list[str] = []
        while not self._take('"'):
            if self._at_end():
                raise self._fail("the quote is not closed")
            words.append(self._word())
        if not words:
            self.at -= 1
            raise self._fail("expected a word between the quotes")
        return Term(tuple(words), sign, phrase=True)

    def _word(self) -> str:
        word = self._match(_DECIMAL) or self._match(_WORD)
        if word is None:
            raise self._fail("expected a word")
        self._skip()
        return word
