"""Full and ideal recall bases (section 3)."""

from collections.abc import Mapping
from fractions import Fraction
from typing import Literal

from naive_structure.trees import ZERO, Documents, Key, Node, child_paths, is_below

Base = Literal["ideal", "maxsum"]
Tie = Literal["ascendant", "deeper"]


def full_base(q: Mapping[Key, Fraction]) -> list[Key]:
    """F = {e : q(e) > 0} (3.1)."""
    return [key for key, value in q.items() if value > 0]


def ideal_base(
    documents: Documents, q: Mapping[Key, Fraction], *, base: Base = "ideal", tie: Tie = "ascendant"
) -> list[Key]:
    """Elements without overlap that an ideal run would return (3.2), in document order."""
    if base == "maxsum":
        chosen: set[Key] = set()
        for name, document in documents.items():
            chosen |= _best_antichain(name, f"/{document.tree.tag}[1]", document.tree, q, tie)[1]
    else:
        winners = {
            path_winner(leaf, q, tie)
            for leaf in full_base(q)
            if not any(is_below(other, leaf) for other in full_base(q))
        }
        chosen = {key for key in winners if not any(is_below(key, other) for other in winners)}
    return [key for key in q if key in chosen]


def path_winner(leaf: Key, q: Mapping[Key, Fraction], tie: Tie) -> Key:
    """The relevant element of the highest value on the path from the root to the leaf."""
    path = [key for key in full_base(q) if key == leaf or is_below(leaf, key)]
    path.sort(key=lambda key: key[1].count("/"), reverse=tie == "deeper")
    return max(path, key=lambda key: q[key])  # max takes the first of equals


def _best_antichain(
    name: str, path: str, node: Node, q: Mapping[Key, Fraction], tie: Tie
) -> tuple[Fraction, set[Key]]:
    """The largest total without overlap below or at an element (3.2 note c, 29)."""
    below, chosen = ZERO, set[Key]()
    for child_path, child in child_paths(path, node):
        value, keys = _best_antichain(name, child_path, child, q, tie)
        below += value
        chosen |= keys
    own = q[name, path]
    if own > below or (own == below > 0 and tie == "ascendant"):
        return own, {(name, path)}
    return below, chosen
