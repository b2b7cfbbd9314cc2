"""Agreement between assessors: by hand, against counting characters, and on what cannot be told."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise, permutations
from math import isnan, nan
from pathlib import Path
from statistics import mean, median
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foveal import Judgements, UsageError, agreement
from foveal.analysis.agreement import FIGURES, Agreement
from foveal.collection import build_index
from foveal.errors import InputError

Gold = dict[str, dict[str, dict[str, Any]]]
"""Topic to document to spans, length and entry point."""


def compared(judged: Mapping[str, Gold], **options: Any) -> Agreement:
    """The agreement of assessors given as Python objects."""
    return agreement(
        {name: Judgements.from_highlights(own) for name, own in judged.items()}, **options
    )


def one_document(length: int | None, *spans: Sequence[tuple[int, int]]) -> dict[str, Gold]:
    """One topic and one document, judged by as many assessors as there are lists of spans."""
    return {f"a{i}": {"1": {"D": {"spans": own, "length": length}}} for i, own in enumerate(spans)}


# -- by hand -----------------------------------------------------------------------------------


PUBLISHED = {
    "c": ([(225, 295), (370, 400)], [(220, 300), (355, 375), (400, 420)]),
    "k": ([(180, 240), (300, 350)], [(180, 240), (300, 350)]),
}
"""The two categories of the example of Krippendorff (2004), on a continuum from 150 to 450."""


@pytest.mark.parametrize(
    ("category", "observed", "expected"), [("c", 0.0144, 0.0532), ("k", 0.0, 0.0490)]
)
def test_the_published_example_of_unitised_alpha(
    category: str, observed: float, expected: float
) -> None:
    units = [[(start - 150, end - 150) for start, end in own] for own in PUBLISHED[category]]
    found = compared(one_document(300, *units)).value("alpha")
    continua = [Continuum(300, tuple(own)) for own in units]
    assert naive_observed([continua]) / 300 == pytest.approx(observed, abs=5e-5)
    assert naive_expected([continua]) / 300 == pytest.approx(expected, abs=5e-5)
    assert found == pytest.approx(1 - naive_observed([continua]) / naive_expected([continua]))
    assert found == pytest.approx(1 - observed / expected, abs=2e-3)


def test_entry_points_by_hand() -> None:
    """Distances 0, 40 and 700; a document that one finds without relevant text does not count."""
    judged: dict[str, Gold] = {"ann": {"1": {}}, "bob": {"1": {}}}
    for doc, a, b in (("x", 10, 10), ("y", 60, 20), ("z", 0, 700)):
        judged["ann"]["1"][doc] = {"spans": [(0, 5)], "length": 1000, "bep": a}
        judged["bob"]["1"][doc] = {"spans": [(0, 9)], "length": 1000, "bep": b}
    judged["ann"]["1"]["none"] = {"spans": [(0, 5)], "length": 10, "bep": 3}
    judged["bob"]["1"]["none"] = {"spans": [], "length": 10, "bep": 9}
    judged["ann"]["1"]["open"] = {"spans": [(0, 5)], "length": 10, "bep": 3}
    judged["bob"]["1"]["open"] = {"spans": [(0, 5)], "length": 10}
    found = compared(judged)
    assert found.value("bep_documents") == 3
    assert found.value("bep_mean") == pytest.approx(740 / 3)
    assert found.value("bep_median") == 40
    shares = [found.value(f"bep_{reach}") for reach in (0, 100, 500, 1000)]
    assert shares == pytest.approx([1 / 3, 2 / 3, 2 / 3, 1])


def test_documents_of_one_assessor_are_left_out_and_counted() -> None:
    marked = {"spans": [(0, 5)], "length": 10}
    found = compared(
        {
            "ann": {"1": {"a": marked, "b": marked}, "2": {"c": marked}, "3": {"a": marked}},
            "bob": {"1": {"a": marked, "d": marked, "e": marked}, "2": {"d": marked}},
        }
    )
    for pair in (None, ("ann", "bob")):
        assert found.value("documents", pair=pair) == 1
    assert found.notes == (
        "documents that only one assessor judged for a topic: 6; they are left out",
    )
    with pytest.raises(UsageError, match="no document in common: topic 2"):
        found.value("f1", topic="2")


# -- files and what they name ------------------------------------------------------------------


def write(path: Path, *lines: Mapping[str, Any]) -> Path:
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    return path


def test_grades_of_elements_by_hand(tmp_path: Path) -> None:
    """Grades 0 1 2 2 and 0 2 2 1 differ by 2, by chance by 14/4; one element only ann grades."""
    header = {"type": "header", "format": "foveal-judgements", "version": 1, "scale": "2003"}
    for name, grades in (("ann", "01223"), ("bob", "0221")):
        elements = [
            {"xpath": f"/a[1]/p[{i}]", "exhaustivity": int(g), "specificity": int(g > "0")}
            for i, g in enumerate(grades, start=1)
        ]
        line = {"topic": "1", "doc": "D", "length": 50, "elements": elements}
        write(tmp_path / f"{name}.jsonl", header, line)
    found = agreement([tmp_path / "ann.jsonl", tmp_path / "bob.jsonl"])
    assert found.value("elements") == 4
    assert found.value("grade_kappa") == pytest.approx(1 - 2 / 3.5)
    assert found.assessors == ("ann", "bob")


def test_assessors_are_those_named_else_the_files(tmp_path: Path) -> None:
    line = {"topic": "1", "doc": "D", "length": 50, "spans": [{"start": 0, "end": 10}]}
    (tmp_path / "carl.d").mkdir()
    (tmp_path / "other").mkdir()
    named = write(tmp_path / "x.jsonl", line | {"assessor": "ann"}, line | {"assessor": "bob"})
    folder = write(tmp_path / "carl.d" / "1.jsonl", line).parent
    first = write(tmp_path / "same.jsonl", line)
    second = write(tmp_path / "other" / "same.jsonl", line)
    assert agreement(named).assessors == ("ann", "bob")
    assert agreement([named, folder]).assessors == ("ann", "bob", "carl.d")
    assert agreement([first, second]).assessors == tuple(sorted(map(str, (first, second))))
    found = agreement({"eve": first, "dan": second, "x": named})
    assert found.assessors == ("ann", "bob", "dan", "eve")
    assert found.value("f1") == 1


def test_what_a_line_says_once_for_two_assessors_is_of_neither(tmp_path: Path) -> None:
    spans = [{"start": 0, "end": 10, "assessor": who} for who in ("ann", "bob")]
    line = {"topic": "1", "doc": "D", "length": 50, "bep": 0, "spans": spans}
    found = agreement(write(tmp_path / "x.jsonl", line))
    assert found.value("f1") == 1
    assert found.value("bep_documents") == 0
    assert isnan(found.value("bep_mean"))


POOL = """\
<assessments pool="{pool}" topic="7">
  <file collection="c" name="d"><passage start="/a[1]/p[{p}]/text()[1].0" \
end="/a[1]/p[2]/text()[1].4" size="4"/></file>
</assessments>
"""


def test_a_collection_places_xpaths_and_knows_lengths(tmp_path: Path) -> None:
    """p1 is [0, 6), p2 [6, 10): pool 1 marks all ten characters, pool 2 the last four."""
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "d.xml").write_text("<a><p>before</p><p>last</p></a>")
    build_index(tmp_path / "docs", tmp_path / "index")
    (tmp_path / "pools").mkdir()
    for pool in (1, 2):
        (tmp_path / "pools" / f"{pool}.xml").write_text(POOL.format(pool=pool, p=pool))
    found = agreement(tmp_path / "pools", collection=tmp_path / "index")
    assert found.assessors == ("1", "2")
    assert found.value("observed") == pytest.approx(0.4)
    assert found.value("kappa") == 0
    assert found.value("f1") == pytest.approx(8 / 14)
    unplaced = agreement(tmp_path / "pools")
    assert isnan(unplaced.value("f1"))
    assert unplaced.value("doc_observed") == 1
    assert unplaced.notes[0].startswith("no highlighted text is known")


# -- counted character by character ------------------------------------------------------------


@dataclass(frozen=True)
class Continuum:
    """A document as one assessor divides it."""

    length: int
    units: tuple[tuple[int, int], ...]

    @property
    def sections(self) -> list[tuple[int, int, bool]]:
        """Begin, length and whether it is a unit, of all sections in their order."""
        cuts = sorted({0, self.length, *(cut for unit in self.units for cut in unit)})
        return [(a, b - a, (a, b) in self.units) for a, b in pairwise(cuts)]


def difference(one: tuple[int, int, bool], other: tuple[int, int, bool]) -> int:
    """Krippendorff's delta squared, case by case."""
    (b, size, w), (c, room, v) = one, other
    if w and v and -size < b - c < room:
        return (b - c) ** 2 + (b + size - c - room) ** 2
    if w and not v and room - size >= b - c >= 0:
        return size**2
    if v and not w and room - size <= b - c <= 0:
        return room**2
    return 0


def naive_observed(documents: Sequence[Sequence[Continuum]]) -> float:
    """The observed disagreement, times the length, of documents with their assessors."""
    n = sum(one.length for continua in documents for one in continua)
    total = sum(
        difference(x, y) / (len(continua) - 1)
        for continua in documents
        for one, other in permutations(continua, 2)
        for x in one.sections
        for y in other.sections
    )
    return total / n if n else nan


def naive_expected(documents: Sequence[Sequence[Continuum]]) -> float:
    """Every section laid upon every other in all ways, over all pairs of characters.

    A pair of characters of one unit cannot meet: no unit is laid upon itself.
    """
    sections = [s for continua in documents for one in continua for s in one.sections]
    total = sum(
        difference((shift, size, w), (0, room, v))
        for (_, size, w), (_, room, v) in permutations(sections, 2)
        if w or v
        for shift in range(-size - room, size + room + 1)
    )
    owner = [i if w else None for i, (_, n, w) in enumerate(sections) for _ in range(n)]
    pairs = sum(a is None or a != b for a, b in permutations(owner, 2))
    return total / pairs if pairs else nan


def quotient(above: float, below: float) -> float:
    return above / below if below else nan


def marks(entry: Mapping[str, Any]) -> np.ndarray:
    """Which characters of a document are highlighted."""
    found = np.zeros(entry["length"], dtype=bool)
    for start, end in entry["spans"]:
        found[start:end] = True
    return found


def continuum(entry: Mapping[str, Any]) -> Continuum:
    """The units: runs of highlighted characters."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], marks(entry), [False]]).astype(int)))
    return Continuum(
        entry["length"], tuple(zip(*(edges[i::2].tolist() for i in (0, 1)), strict=True))
    )


def disagreement(a: np.ndarray, b: np.ndarray) -> tuple[float, float, int]:
    """How many differ, how many would by chance, of how many."""
    chance = quotient(a.sum() * (~b).sum() + b.sum() * (~a).sum(), len(a)) if len(a) else 0
    return float((a != b).sum()), chance, len(a)


def kappa_of(tables: Sequence[tuple[np.ndarray, np.ndarray]]) -> tuple[float, float]:
    """Observed agreement and kappa of the tables of some pairs."""
    differ, chance, total = (sum(c) for c in zip(*(disagreement(*t) for t in tables), strict=True))
    return 1 - quotient(differ, total), 1 - quotient(differ, chance)


def naive(
    judged: Mapping[str, Gold], topics: Sequence[str], pairs: Sequence[tuple[str, str]]
) -> dict[str, float]:
    """All figures of some topics and pairs; more than one pair means all assessors at once."""
    text, relevant, apart, both, either = [], [], [], 0, 0
    shared: dict[tuple[str, str], set[str]] = {}
    for pair in pairs:
        a, b = (judged[name] for name in pair)
        found = [(t, d) for t in topics for d in a.get(t, {}) if d in b.get(t, {})]
        if not found:
            continue
        for t, d in found:
            shared.setdefault((t, d), set()).update(pair)
            x, y = a[t][d], b[t][d]
            both += int((marks(x) & marks(y)).sum())
            either += int(marks(x).sum() + marks(y).sum())
            if marks(x).any() and marks(y).any() and None not in (x["bep"], y["bep"]):
                apart.append(abs(x["bep"] - y["bep"]))
        text.append(tuple(np.concatenate([marks(one[t][d]) for t, d in found]) for one in (a, b)))
        relevant.append(
            tuple(np.array([marks(one[t][d]).any() for t, d in found]) for one in (a, b))
        )
    documents = [
        [continuum(judged[name][t][d]) for name in sorted(who)] for (t, d), who in shared.items()
    ]
    observed, kappa = kappa_of(text)
    doc_observed, doc_kappa = kappa_of(relevant)
    return {
        "documents": len(shared),
        "characters": sum(judged[min(who)][t][d]["length"] for (t, d), who in shared.items()),
        "bep_documents": len(apart),
        "observed": observed,
        "kappa": kappa,
        "f1": quotient(2 * both, either),
        "jaccard": quotient(both, either - both),
        "alpha": 1 - quotient(naive_observed(documents), naive_expected(documents)),
        "doc_observed": doc_observed,
        "doc_kappa": doc_kappa,
        "bep_mean": mean(apart) if apart else nan,
        "bep_median": median(apart) if apart else nan,
        "bep_0": quotient(sum(x == 0 for x in apart), len(apart)),
    }


LENGTHS = {"D1": 6, "D2": 3, "D3": 1, "D4": 0}


@st.composite
def judgements(draw: st.DrawFn) -> dict[str, Gold]:
    """Two or three assessors of two topics and four documents, of which they judge some."""
    names = draw(st.sampled_from([("ann", "bob"), ("ann", "bob", "carl")]))
    judged: dict[str, Gold] = {name: {} for name in names}
    for name in names:
        for topic in ("1", "2"):
            for doc in draw(st.lists(st.sampled_from(sorted(LENGTHS)), unique=True)):
                cuts = st.integers(0, LENGTHS[doc])
                spans = draw(st.lists(st.tuples(cuts, cuts).map(sorted).map(tuple), max_size=3))
                bep = draw(st.none() | cuts)
                entry = {"spans": spans, "length": LENGTHS[doc], "bep": bep}
                judged[name].setdefault(topic, {})[doc] = entry
    for name in names[:2]:  # these have one document in common
        judged[name].setdefault("1", {}).setdefault(
            "D1", {"spans": [(0, 2)], "length": LENGTHS["D1"], "bep": 0}
        )
    return judged


def rows(found: Agreement) -> Iterator[dict[str, Any]]:
    yield from found.frame.iter_rows(named=True)


def same(one: float, other: float) -> bool:
    return one == pytest.approx(other, nan_ok=True, abs=1e-12)


@settings(max_examples=30)
@given(judgements())
def test_every_row_is_what_counting_characters_gives(judged: dict[str, Gold]) -> None:
    found = compared(judged)
    every = list(combinations(sorted(judged), 2))
    seen = 0
    for row in rows(found):
        pairs = every if row["first"] is None else [(row["first"], row["second"])]
        if row["over"] == "mean":
            topics = {
                t: naive(judged, [t], pairs) for t in ("1", "2") if in_common(judged, t, pairs)
            }
            for figure in ("observed", "kappa", "f1", "alpha", "doc_kappa", "bep_median"):
                values = [own[figure] for own in topics.values() if not isnan(own[figure])]
                assert same(row[figure], mean(values) if values else nan), figure
            continue
        topics = ["1", "2"] if row["topic"] is None else [row["topic"]]
        for figure, value in naive(judged, topics, pairs).items():
            assert same(row[figure], value), (figure, row)
        seen += 1
    assert seen >= 4


def in_common(judged: Mapping[str, Gold], topic: str, pairs: Sequence[tuple[str, str]]) -> bool:
    return any(judged[a].get(topic, {}).keys() & judged[b].get(topic, {}).keys() for a, b in pairs)


# -- what holds always -------------------------------------------------------------------------


def test_long_documents_do_not_overflow() -> None:
    """The cube of a unit of ten million characters is past 64 bits."""
    size = 10_000_000
    found = compared(one_document(size, [(0, size)], [(0, size - 1)]))
    assert 0.999 < found.value("alpha") < 1


# -- what is refused or not defined ------------------------------------------------------------


def test_unknown_names_are_refused() -> None:
    judged = one_document(10, [(0, 5)], [(0, 6)])
    with pytest.raises(UsageError, match="topics wanted but not judged: 9"):
        compared(judged, topics=["9"])
    with pytest.raises(UsageError, match="no figure 'tau'; expected topics, documents"):
        compared(judged).value("tau")


def test_empty_documents_and_nothing_highlighted() -> None:
    found = compared(one_document(0, [], []))
    undefined = [name for name in FIGURES if isnan(found.value(name))]
    assert undefined == [name for name in FIGURES if name != "doc_observed"]
    nothing = compared(one_document(9, [], []))
    assert nothing.value("observed") == 1
    assert isnan(nothing.value("kappa"))
    assert isnan(nothing.value("alpha"))
    everything = compared(one_document(9, [(0, 9)], [(0, 9)]))
    assert isnan(everything.value("kappa"))  # by chance they would agree on all, too
    assert everything.value("alpha") == 1


def test_without_any_length_kappa_and_alpha_are_not_defined() -> None:
    found = compared(one_document(None, [(0, 40)], [(20, 50)]))
    assert found.value("f1") == pytest.approx(40 / 70)
    undefined = ("observed", "kappa", "alpha", "characters")
    assert all(isnan(found.value(name)) for name in undefined)
    assert found.frame["characters"].null_count() == len(found.frame)
    assert found.notes == (
        (
            "documents have no length: observed agreement, kappa and alpha of characters are not "
            "defined; a collection (--collection) knows lengths"
        ),
    )


def test_two_lengths_of_one_document_are_refused() -> None:
    judged = one_document(50, [(0, 40)], [(20, 50)])
    judged["a1"]["1"]["D"]["length"] = 51
    with pytest.raises(InputError, match="document 'D' is 51 characters long here, but 50"):
        compared(judged)
