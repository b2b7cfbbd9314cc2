"""The NEXI parser: one pass, no backtracking, errors with position and expected symbol."""

from __future__ import annotations

import re

from foveal.errors import UsageError
from foveal.nexi.query import CAS, CO, About, And, Clause, Compare, Or, Part, Path, Step, Term

MAX_DEPTH = 100
"""Deepest nesting of parentheses."""

_NAME = r"[^\W\d][\w.\-]*"
_WORD = r"\d+\.\d+(?![\w.])|[^\W_](?:[^\W_]|-(?=[^\W_])|['\u2019](?=[^\W_]))*"
_NUMBER = r"[+-]?\d+(?:\.\d+)?(?![\w.])"
_OPERATOR = r"<=|>=|<|>|="
_QUOTED = r"'[^']*'|\"[^\"]*\""


class NexiError(UsageError):
    """A syntax error with its position in the query and the expected symbol.

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


def parse(text: str, *, lenient: bool = False) -> CO | CAS:
    """Parse a CO or CAS query.

    `lenient` also accepts older queries: the 2003 dialect (single slashes, quoted constants,
    ``about(., 'text')``), more than two parts, and a last path without a filter.

    >>> query = parse("//article[about(., xml)]//sec[about(.//p, +retrieval)]")
    >>> str(query.target), [str(path) for path in query.support]
    ('//article//sec', ['//article', '//article//sec//p'])
    """
    return _Parser(text, lenient=lenient).parse_query()


class _Parser:
    def __init__(self, text: str, *, lenient: bool) -> None:
        self.text, self.lenient, self.at, self.depth = text, lenient, 0, 0
        self.take("")

    def fail(self, message: str) -> NexiError:
        found = "the end" if self.at >= len(self.text) else repr(self.text[self.at])
        return NexiError(self.text, self.at, f"{message}, found {found}")

    def follows(self, literal: str) -> bool:
        return self.text.startswith(literal, self.at)

    def take(self, pattern: str) -> str | None:
        """Consume and return a match of the pattern, and white space after it; None if none."""
        found = re.compile(rf"({pattern})\s*").match(self.text, self.at)
        if found is None:
            return None
        self.at = found.end()
        return found[1]

    def expect(self, pattern: str, message: str) -> str:
        found = self.take(pattern)
        if found is None:
            raise self.fail(f"expected {message}")
        return found

    # -- the grammar ----------------------------------------------------------------------------

    def parse_query(self) -> CO | CAS:
        if not self.follows("/"):
            return CO(self.parse_terms(r"\Z"))
        parts: list[Part] = []
        while self.follows("/"):
            if len(parts) == 2 and not self.lenient:
                raise self.fail("expected the end: a query has at most two filtered paths")
            path = self.parse_path()
            if self.lenient and parts and self.at >= len(self.text):
                parts.append(Part(path, None))
                break
            self.expect(r"\[", "'[' and a filter")
            parts.append(Part(path, self.parse_clause()))
            self.expect("]", "']'")
        self.expect(r"\Z", "the end of the query")
        return CAS(tuple(parts))

    def parse_path(self) -> Path:
        steps: list[Step] = []
        while self.follows("/"):
            if steps and steps[-1].attribute:
                raise self.fail("an attribute ends its path")
            child = self.expect("//?" if self.lenient else "//", "'//'") == "/"
            attribute = self.take("@") is not None
            if attribute and not steps and not self.depth:
                raise self.fail("expected an element before the attribute")
            steps.append(Step(self.parse_names(attribute=attribute), child, attribute))
        return Path(tuple(steps))

    def parse_names(self, *, attribute: bool) -> tuple[str, ...]:
        if not attribute and self.take(r"\*"):
            return ("*",)
        if attribute or not self.take(r"\("):
            return (self.expect(_NAME, "a tag name"),)
        names = [self.expect(_NAME, "a tag name")]
        while not (len(names) > 1 and self.take(r"\)")):
            self.expect(r"\|", "'|' and another name")
            names.append(self.expect(_NAME, "a tag name"))
        return tuple(names)

    def parse_clause(self) -> Clause:
        """Parse clauses joined by ``or``, each of clauses joined by ``and``, which binds closer."""
        choices: list[Clause] = []
        while not choices or self.take(r"(?:or|OR)(?![^\W_])"):
            clauses = [self.parse_filter()]
            while self.take(r"(?:and|AND)(?![^\W_])"):
                clauses.append(self.parse_filter())
            choices.append(clauses[0] if len(clauses) == 1 else And(tuple(clauses)))
        return choices[0] if len(choices) == 1 else Or(tuple(choices))

    def parse_filter(self) -> Clause:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise self.fail(f"more than {MAX_DEPTH} nested parentheses")
        clause: Clause
        if self.take(r"\("):
            clause = self.parse_clause()
            self.expect(r"\)", "')'")
        elif self.take(r"(?:about|ABOUT)(?![^\W_])"):
            self.expect(r"\(", "'('")
            path = self.parse_relative()
            self.expect(",", "','")
            if self.lenient and self.take("'"):  # as the 2003 dialect writes terms
                clause = About(path, self.parse_terms("'"))
                self.expect(r"\)", "')'")
            else:
                clause = About(path, self.parse_terms(r"\)"))
        elif self.follows("."):
            clause = self.parse_comparison()
        else:
            raise self.fail("expected about(...), a comparison or '('")
        self.depth -= 1
        return clause

    def parse_relative(self) -> Path | None:
        self.expect(r"\.", "'.'")
        path = self.parse_path()
        return path if path.steps else None

    def parse_comparison(self) -> Compare:
        path = self.parse_relative()
        operator = self.expect(_OPERATOR, "a comparison: < <= = >= or >")
        value = self.expect(f"{_NUMBER}|{_QUOTED}" if self.lenient else _NUMBER, "a number")
        if value.startswith(("'", '"')):
            return Compare(path, operator, value[1:-1], quoted=True)
        return Compare(path, operator, value)

    def parse_terms(self, closing: str) -> tuple[Term, ...]:
        """Parse at least one term, and the closing pattern after them."""
        terms: list[Term] = []
        while not terms or self.take(closing) is None:
            sign = self.take("[+-]") or ""
            phrase = self.take('"') is not None
            words = [self.expect(_WORD, "a word")]
            while phrase and not self.take('"'):
                words.append(self.expect(_WORD, "a word or a closing quote"))
            terms.append(Term(tuple(words), sign, phrase))
        return tuple(terms)
