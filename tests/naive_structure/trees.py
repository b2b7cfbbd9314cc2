"""Trees of elements, judged text and results (sections 1.1 and 1.5)."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Literal, NamedTuple

Number = int | float | str | Fraction
Span = tuple[int, int]  # half-open
Key = tuple[str, str]  # (document, xpath): one element of the collection
Scale = Literal["2002", "2003", "2005", "2006"]
# 2002: (relevance, coverage); 2003: (exhaustivity, specificity); 2005: exhaustivity, one of ?012.
Assessment = tuple[int, str] | tuple[int, int] | str

NAN = float("nan")
ZERO = Fraction(0)
ONE = Fraction(1)


@dataclass(frozen=True)
class Node:
    """An element: text that is in no child is its mixed content."""

    tag: str
    start: int
    end: int
    children: tuple["Node", ...] = ()

    @property
    def size(self) -> int:
        return self.end - self.start


@dataclass(frozen=True)
class Document:
    """A document and what an assessor said of it.

    ``grades`` are by xpath; 2006 has none, and before 2005 nothing is highlighted. What is said of
    a document that is not ``judged`` is ignored.
    """

    tree: Node
    highlights: tuple[Span, ...] = ()
    bep: int | None = None
    grades: Mapping[str, Assessment] = field(default_factory=dict)
    scale: Scale = "2006"
    judged: bool = True


class Result(NamedTuple):
    """An element of a run. Equal scores, or without scores equal ranks, of neighbours are ties."""

    doc: str
    xpath: str
    rsv: float | None = None
    rank: int | None = None


Results = Sequence[Result]
Documents = Mapping[str, Document]


def paths(tree: Node) -> dict[str, Node]:
    """Every element of a tree by its xpath with all ordinals, in document order."""
    return dict(_walk(tree, f"/{tree.tag}[1]"))


def _walk(node: Node, path: str) -> Iterator[tuple[str, Node]]:
    yield path, node
    seen: dict[str, int] = {}
    for child in node.children:
        seen[child.tag] = seen.get(child.tag, 0) + 1
        yield from _walk(child, f"{path}/{child.tag}[{seen[child.tag]}]")


def child_paths(path: str, node: Node) -> list[tuple[str, Node]]:
    """The children of an element with their xpaths."""
    depth = path.count("/") + 1
    return [(below, child) for below, child in _walk(node, path) if below.count("/") == depth]


def elements(documents: Documents) -> dict[Key, Node]:
    """Every element of the collection."""
    return {
        (name, path): node
        for name, document in documents.items()
        for path, node in paths(document.tree).items()
    }


def is_below(key: Key, other: Key) -> bool:
    """Whether an element is a proper descendant of another."""
    return key[0] == other[0] and key[1].startswith(other[1] + "/")


def keys_of(results: Results, documents: Documents) -> list[Key]:
    """The elements of a run; a result that is no element is an error (1.3)."""
    known = elements(documents)
    keys = [(result[0], result[1]) for result in results]
    for key in keys:
        if key not in known:
            raise ValueError(f"not an element of the collection: {key!r}")
    return keys


def as_fraction(number: Number) -> Fraction:
    """A number as its decimal notation says: 0.29 is 29/100."""
    return number if isinstance(number, Fraction) else Fraction(str(number))


def recall_point(x: Number) -> Fraction:
    exact = as_fraction(x)
    if not 0 < exact <= 1:
        raise ValueError(f"invalid recall {x!r}, expected 0 < x <= 1")
    return exact


def rank_of(k: int) -> int:
    if k < 1:
        raise ValueError(f"invalid rank {k!r}, expected 1 or more")
    return k


def percents() -> list[Fraction]:
    """The 100 recall points .01, .02, ..., 1 of sections 4, 5 and 8."""
    return [Fraction(m, 100) for m in range(1, 101)]


def mean(values: Sequence[Fraction]) -> Fraction:
    return sum(values, ZERO) / len(values)


def cumulate(values: Sequence[Fraction], k: int) -> Fraction:
    """The sum of the first k values; flat after the last one (7)."""
    return sum(values[:k], ZERO)


def chars(node: Node) -> set[int]:
    return set(range(node.start, node.end))


def highlighted_in(document: Document) -> set[int]:
    if not document.judged:
        return set()
    return {offset for start, end in document.highlights for offset in range(start, end)}


def rsize(node: Node, document: Document) -> int:
    """The number of highlighted characters of an element."""
    return len(chars(node) & highlighted_in(document))


def spec(node: Node, document: Document) -> Fraction:
    """rsize / size; 0 for an element without text (1.3)."""
    return Fraction(rsize(node, document), node.size) if node.size else ZERO


def overlap(node: Node, seen: set[int]) -> Fraction:
    """Share of an element that earlier results covered (1.5).

    Without text it is 1 if its position is covered, else 0 (1.3).
    """
    if node.size == 0:
        return ONE if node.start in seen else ZERO
    return Fraction(len(chars(node) & seen), node.size)
