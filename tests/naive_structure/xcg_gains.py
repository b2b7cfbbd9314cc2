"""What each result adds to the gain of XCG (section 6)."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from naive_structure.bases import Base, Tie, full_base, ideal_base
from naive_structure.quantisation import quantised, resolve, scale_of
from naive_structure.trees import (
    ONE,
    ZERO,
    Documents,
    Key,
    Number,
    Results,
    as_fraction,
    chars,
    child_paths,
    elements,
    highlighted_in,
    is_below,
    keys_of,
    overlap,
)


@dataclass(frozen=True)
class Valuation:
    """What the value of a result in its list, rv, depends on besides the results before it."""

    documents: Documents
    q: Mapping[Key, Fraction]
    is_spec: bool  # whether q is the specificity, so that highlighted characters add up
    alpha: Fraction = ONE
    mixed: Literal["text", "ignore"] = "text"
    formula: Literal["inex2005", "encyclopedia"] = "inex2005"
    clamp: bool = True

    def rv(self, key: Key, seen: set[int], earlier: Sequence[tuple[Key, Fraction]]) -> Fraction:
        """The result-list dependent value ([S05] eq 7).

        ``seen`` are the characters of the document in earlier results, ``earlier`` those results
        with the gains that they were assigned.
        """
        nodes = elements(self.documents)
        node, q = nodes[key], self.q[key]
        if node.size == 0:
            return ZERO
        covered = overlap(node, seen)
        if covered == 0:
            return q
        if covered == 1:
            return (1 - self.alpha) * q
        if self.formula == "encyclopedia":
            inside = sum(
                (gain * nodes[other].size for other, gain in earlier if is_below(other, key)), ZERO
            )
        else:
            inside = self._direct(key, seen)
            for path, child in child_paths(key[1], node):
                inside += self.rv((key[0], path), seen, earlier) * child.size
        value = self.alpha * inside / node.size + (1 - self.alpha) * q
        return min(value, q) if self.clamp else value

    def _direct(self, key: Key, seen: set[int]) -> Fraction:
        """What the unseen text that is in no child is worth, in characters."""
        if self.mixed == "ignore":
            return ZERO
        node = elements(self.documents)[key]
        text = chars(node) - seen
        for child in node.children:
            text -= chars(child)
        if self.is_spec:
            return Fraction(len(text & highlighted_in(self.documents[key[0]])))
        return self.q[key] * len(text)


def thorough_gains(keys: Sequence[Key], q: Mapping[Key, Fraction]) -> list[Fraction]:
    """xG with overlap=off: q(e), and nothing for a repeat (6.1)."""
    return [ZERO if key in keys[:i] else q[key] for i, key in enumerate(keys)]


def focused_gains(
    keys: Sequence[Key],
    valuation: Valuation,
    ideals: Sequence[Key],
    norm: Literal["subtree", "overlap", "none"] = "subtree",
) -> list[Fraction]:
    """xG with overlap=on: rv, limited by what is left of the ideals it serves ([S05] eq 8)."""
    nodes = elements(valuation.documents)
    seen: dict[str, set[int]] = {name: set() for name in valuation.documents}
    left = {ideal: valuation.q[ideal] for ideal in ideals}
    earlier: list[tuple[Key, Fraction]] = []
    for key in keys:
        gain = valuation.rv(key, seen[key[0]], earlier)
        if norm != "none":
            above = [ideal for ideal in ideals if ideal == key or is_below(key, ideal)]
            served = above or [ideal for ideal in ideals if is_below(ideal, key)]
            budget = sum((left[ideal] for ideal in served), ZERO)
            gain = max(ZERO, min(gain, budget))
            if gain > 0 and (above or norm == "overlap"):
                for ideal in served:
                    left[ideal] -= gain * left[ideal] / budget
        earlier.append((key, gain))
        seen[key[0]] |= chars(nodes[key])
    return [gain for _, gain in earlier]


def gains(
    results: Results,
    documents: Documents,
    *,
    quant: str = "spec",
    overlap: Literal["off", "on"] = "off",
    alpha: Number = 1,
    base: Base = "ideal",
    tie: Tie = "ascendant",
    norm: Literal["subtree", "overlap", "none"] = "subtree",
    mixed: Literal["text", "ignore"] = "text",
    formula: Literal["inex2005", "encyclopedia"] = "inex2005",
    clamp: bool = True,
    normalise: bool = False,
) -> tuple[list[Fraction], list[Fraction]]:
    """(xG, xI): the gains of the run in its order, those of the recall base decreasing."""
    if not 0 <= as_fraction(alpha) <= 1:
        raise ValueError(f"invalid alpha {alpha!r}, expected 0 <= alpha <= 1")
    keys = keys_of(results, documents)
    q = quantised(documents, quant, normalise=normalise)
    if overlap == "off":
        return thorough_gains(keys, q), decreasing(q[key] for key in full_base(q))
    ideals = ideal_base(documents, q, base=base, tie=tie)
    valuation = Valuation(
        documents,
        q,
        is_spec=resolve(quant, scale_of(documents)) == "spec",
        alpha=as_fraction(alpha),
        mixed=mixed,
        formula=formula,
        clamp=clamp,
    )
    return focused_gains(keys, valuation, ideals, norm), decreasing(q[key] for key in ideals)


def decreasing(values: Iterator[Fraction]) -> list[Fraction]:
    return sorted(values, reverse=True)
