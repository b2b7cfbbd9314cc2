"""NEXI queries as values, with their printed form.

The printed form is canonical: parsing it gives the same query again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

ANY = "*"


@dataclass(frozen=True)
class Term:
    """A word, or a phrase of several, that may be wanted (``+``) or unwanted (``-``)."""

    words: tuple[str, ...]
    sign: str = ""
    phrase: bool = False

    def __str__(self) -> str:
        text = " ".join(self.words)
        return f'{self.sign}"{text}"' if self.phrase else f"{self.sign}{text}"


@dataclass(frozen=True)
class Step:
    """One step of a path: tag names to choose from, or ``*``.

    `child` is the single slash of the 2003 dialect: a child instead of any descendant.
    """

    names: tuple[str, ...]
    child: bool = False
    attribute: bool = False

    def __str__(self) -> str:
        name = self.names[0] if len(self.names) == 1 else f"({'|'.join(self.names)})"
        return f"{'/' if self.child else '//'}{'@' if self.attribute else ''}{name}"

    def accepts(self, tag: str) -> bool:
        return ANY in self.names or tag in self.names


@dataclass(frozen=True)
class Path:
    """Steps from anywhere down to the element itself."""

    steps: tuple[Step, ...]

    def __str__(self) -> str:
        return "".join(map(str, self.steps))


@dataclass(frozen=True)
class About:
    """``about(.//path, terms)``; without a path the element itself."""

    path: Path | None
    terms: tuple[Term, ...]

    def __str__(self) -> str:
        return f"about(.{self.path or ''}, {' '.join(map(str, self.terms))})"


@dataclass(frozen=True)
class Compare:
    """``.//path <= 1999``; a quoted constant (2003 dialect) is kept as text.

    >>> print(Compare(None, "=", "O'Neill", quoted=True))
    . = "O'Neill"
    """

    path: Path | None
    operator: str
    value: str
    quoted: bool = False

    def __str__(self) -> str:
        # The language cannot escape a quote, so use the other kind around the text.
        mark = '"' if "'" in self.value else "'"
        value = f"{mark}{self.value}{mark}" if self.quoted else self.value
        return f".{self.path or ''} {self.operator} {value}"


@dataclass(frozen=True)
class And:
    """Clauses that must all hold."""

    clauses: tuple[Clause, ...]

    def __str__(self) -> str:
        inner = (f"({c})" if isinstance(c, (And, Or)) else str(c) for c in self.clauses)
        return " and ".join(inner)


@dataclass(frozen=True)
class Or:
    """Alternative clauses: at least one must hold."""

    clauses: tuple[Clause, ...]

    def __str__(self) -> str:
        # "and" binds closer, so only an "or" inside an "or" needs its parentheses.
        inner = (f"({c})" if isinstance(c, Or) else str(c) for c in self.clauses)
        return " or ".join(inner)


Clause = About | Compare | And | Or


@dataclass(frozen=True)
class Part:
    """A path and the condition on its elements."""

    path: Path
    clause: Clause | None

    def __str__(self) -> str:
        return f"{self.path}[{self.clause}]" if self.clause else str(self.path)


@dataclass(frozen=True)
class CO:
    """A content-only query: terms, no structure."""

    terms: tuple[Term, ...]

    def __str__(self) -> str:
        return " ".join(map(str, self.terms))


@dataclass(frozen=True)
class CAS:
    """A content-and-structure query, such as ``//article[about(., a)]//sec[about(., b)]``."""

    parts: tuple[Part, ...]

    def __str__(self) -> str:
        return "".join(map(str, self.parts))

    @property
    def target(self) -> Path:
        """The path of the elements to return: all steps of all parts."""
        return Path(tuple(step for part in self.parts for step in part.path.steps))

    @property
    def support(self) -> tuple[Path, ...]:
        """Paths of the elements that only support the answer, from the root down.

        These are the elements of all parts but the last, and the elements named in clauses.
        """
        found: list[Path] = []
        above: tuple[Step, ...] = ()
        for part in self.parts:
            above += part.path.steps
            if part is not self.parts[-1]:
                found.append(Path(above))
            found += [
                Path(above + leaf.path.steps) for leaf in list_leaves(part.clause) if leaf.path
            ]
        return tuple(dict.fromkeys(found))

    @property
    def compares(self) -> bool:
        """True if a clause compares something with a constant."""
        return any(isinstance(leaf, Compare) for _, leaf in locate_leaves(self.parts))


Query = CO | CAS


def locate_leaves(parts: Sequence[Part]) -> Iterator[tuple[Path, About | Compare]]:
    """Yield the simple clauses of parts in order, each with the absolute path of its elements."""
    above: tuple[Step, ...] = ()
    for part in parts:
        above += part.path.steps
        for leaf in list_leaves(part.clause):
            yield Path(above + (leaf.path.steps if leaf.path else ())), leaf


def list_leaves(clause: Clause | None) -> Iterator[About | Compare]:
    """Yield the simple clauses that a clause combines, in reading order."""
    if isinstance(clause, (And, Or)):
        for inner in clause.clauses:
            yield from list_leaves(inner)
    elif clause is not None:
        yield clause
