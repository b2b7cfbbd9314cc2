"""The property table says what experiments on small runs show, cell by cell.

Three documents. D1 has two highlighted paragraphs, p2 with a child that fills it and one inside
that, and p4; D2 has one, P; nothing in D3 is relevant. The highlighted paragraphs are the ideal
elements and passages at once, so that all families can be tried on the same runs.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

import foveal
import naive_structure
import trees
from foveal.analysis.properties import FAMILIES, OPINION, PAPER_COLUMNS, PROPERTIES, SIGNS, Family
from foveal.collection import build_index
from foveal.errors import InputError
from foveal.measures import (
    Cutoff,
    Measure,
    Need,
    OverlapRule,
    all_measures,
    find_measure,
    parse_measure,
)
from naive_structure import Document, Node, Result
from shared_data import DATA

LAST = 12
"""A rank after the end of every run and of every ideal list."""
ENCYCLOPEDIA = DATA.parent / "seeds" / "003_2f1fdd81854771c5.txt"
TOLERANCE = 1e-12


def node(tag: str, start: int, end: int, *children: Node) -> Node:
    return Node(tag, start, end, tuple(children))


ELEMENTS = {
    "a": ("D1", "/a[1]"),
    "s1": ("D1", "/a[1]/s[1]"),
    "p2": ("D1", "/a[1]/s[1]/p[2]"),
    "i": ("D1", "/a[1]/s[1]/p[2]/i[1]"),
    "b": ("D1", "/a[1]/s[1]/p[2]/i[1]/b[1]"),
    "s2": ("D1", "/a[1]/s[2]"),
    "p4": ("D1", "/a[1]/s[2]/p[1]"),
    "p5": ("D1", "/a[1]/s[2]/p[2]"),
    "b5": ("D1", "/a[1]/s[2]/p[2]/b[1]"),
    "A": ("D2", "/a[1]"),
    "S": ("D2", "/a[1]/s[1]"),
    "P": ("D2", "/a[1]/s[1]/p[1]"),
    "x": ("D3", "/a[1]/p[1]"),
}
EXHAUSTIVITY = {"a": 2, "s1": 2, "p2": 2, "i": 2, "b": 1, "s2": 1, "p4": 1, "A": 2, "S": 2, "P": 2}
TREES = {
    "D1": node(
        "a",
        0,
        400,
        node(
            "s",
            12,
            60,
            node("p", 12, 20),
            node("p", 20, 40, node("i", 20, 40, node("b", 20, 25))),
            node("p", 40, 60),
        ),
        node("s", 60, 100, node("p", 60, 80), node("p", 80, 100, node("b", 80, 85))),
    ),
    "D2": node("a", 0, 200, node("p", 0, 25), node("s", 25, 60, node("p", 25, 50))),
    "D3": node("a", 0, 60, node("p", 0, 20)),
}
HIGHLIGHTS = {"D1": ((20, 40), (60, 80)), "D2": ((25, 50),), "D3": ()}
ENTRIES = {"D1": 20, "D2": 25, "D3": None}
DOCUMENTS = {
    doc: Document(
        tree,
        HIGHLIGHTS[doc],
        ENTRIES[doc],
        {ELEMENTS[name][1]: str(e) for name, e in EXHAUSTIVITY.items() if ELEMENTS[name][0] == doc},
        "2005",
    )
    for doc, tree in TREES.items()
}


def at_ranks(label: str, ranks: Sequence[int] = (LAST,)) -> list[Measure]:
    """A measure as it is, or at ranks, or at half of recall, as its cut-off may be."""
    cutoff = find_measure(label.partition("(")[0]).cutoff
    if cutoff is Cutoff.RANK:
        return [parse_measure(f"{label}@{rank}") for rank in ranks]
    return [parse_measure(f"{label}@0.5" if cutoff is Cutoff.RECALL else label)]


LABELS = sorted(
    {label for family in FAMILIES for label in (*family.measures, *family.settings.values())}
    | {"HiR(alpha=0)", "MAep(overlap=on,alpha=0,norm=none)"}
)
EVERY = [measure for label in LABELS for measure in at_ranks(label, range(1, LAST + 1))]


class Laboratory:
    """Where runs are written, read and scored, each once for all measures of one rule."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "judgements").write_text(trees.json_lines(trees.judgement_objects(DOCUMENTS)))
        (folder / "documents").mkdir()
        for name, text in trees.xml_files(DOCUMENTS).items():
            (folder / "documents" / name).write_text(text)
        build_index(folder / "documents", folder / "index")
        self.evaluation = cache(self._evaluation)
        self.scores = cache(self._scores)

    def _evaluation(
        self, rule: OverlapRule, grouped: bool, policy: str | None
    ) -> foveal.Evaluation:
        own = [m for m in EVERY if m.overlap_rule is rule and m.grouped == grouped]
        truth, index = self.folder / "judgements", self.folder / "index"
        return foveal.Evaluation(truth, own, collection=index, overlap=policy)

    def _scores(
        self, run: str, rule: OverlapRule, grouped: bool, policy: str | None
    ) -> dict[Measure, float] | None:
        path = self.folder / "run"
        results = [Result(*ELEMENTS[name]) for name in run.split()]
        path.write_text(trees.json_lines(trees.run_objects(results)))
        evaluation = self.evaluation(rule, grouped, policy)
        try:
            (scores,) = evaluation.score(path)
        except InputError:
            return None
        return dict(zip(evaluation.scored, scores.values[0].tolist(), strict=True))

    def value(self, run: str, measure: Measure, *, union: bool = False) -> float | None:
        """The score of a run, or None if the measure refuses it.

        With `union`, text that was returned before does not count where overlap is an error.
        """
        rule = measure.overlap_rule
        policy = "union" if union and rule is OverlapRule.ERROR else None
        scores = self.scores(run, rule, measure.grouped, policy)
        return None if scores is None else scores[measure]

    def last(self, run: str, label: str, *, union: bool = False) -> float | None:
        """The score of a whole run."""
        (measure,) = at_ranks(label)
        return self.value(run, measure, union=union)

    def course(self, run: str, label: str, *, union: bool = False) -> tuple[float, float] | None:
        """The score of a whole run, and to decide between equals its mean over all ranks."""
        values = [
            self.value(run, measure, union=union) for measure in at_ranks(label, range(1, LAST + 1))
        ]
        known = [value for value in values if value is not None]
        return (known[-1], sum(known) / len(known)) if len(known) == len(values) else None


@pytest.fixture(scope="module")
def laboratory(tmp_path_factory: pytest.TempPathFactory) -> Laboratory:
    return Laboratory(tmp_path_factory.mktemp("laboratory"))


def less(a: float | None, b: float | None) -> bool:
    return a is not None and b is not None and a < b - TOLERANCE


def differ(a: float | None, b: float | None) -> bool:
    return less(a, b) or less(b, a)


# --------------------------------------------------------------------------------------------
# The experiments
# --------------------------------------------------------------------------------------------


def takes_entry_points(family: Family) -> bool:
    return at_ranks(family.measures[0])[0].overlap_rule is OverlapRule.ONE_PER_DOCUMENT


def takes_documents(family: Family) -> bool:
    return at_ranks(family.measures[0])[0].grouped and not takes_entry_points(family)


def everything(family: Family) -> str:
    """The ideal units in the family's own terms."""
    return "P p2" if takes_entry_points(family) else "P p2 p4"


def recall(family: Family, lab: Laboratory) -> str:
    rises = [less(lab.last("P", label), lab.last("P p2", label)) for label in family.measures]
    return "y" if any(rises) else "n"


def precision(family: Family, lab: Laboratory) -> str:
    ideal = everything(family)
    falls = [less(lab.last(f"x {ideal}", m), lab.last(ideal, m)) for m in family.measures]
    return "y" if any(falls) else "n"


def near(family: Family, lab: Laboratory) -> str:
    between = [
        less(lab.last("x", label), lab.last("s1", label))
        and less(lab.last("s1", label), lab.last("p2", label))
        for label in family.measures
    ]
    if not any(between):
        return "n"
    ideal, principal = everything(family), family.measures[0]
    more = [
        less(lab.last(ideal, principal), lab.last(f"{ideal} {n}", principal)) for n in ("s1", "S")
    ]
    return "i" if any(more) else "y"


AGAIN = [  # a run, what brings nothing new to it, something useless of the same size
    ("P p2", "p2", "p5"),
    ("P p2", "i", "p5"),
    ("P p2", "b", "b5"),
    ("P i", "p2", "p5"),
]


def overlap(family: Family, lab: Laboratory) -> str:
    found = set()
    for run, again, useless in AGAIN:
        for label in family.measures:
            alone, twice, other = (
                lab.last(text, label, union=True)
                for text in (run, f"{run} {again}", f"{run} {useless}")
            )
            if twice is None:
                found.add("n/a")
            else:
                found.add("+" if less(alone, twice) else "-" if less(twice, other) else "=")
    return next(sign for sign in ("n/a", "+", "-", "=") if sign in found)


def ideality(family: Family, lab: Laboratory) -> str:
    full, documents = (lab.last(run, family.measures[0]) for run in (everything(family), "A a"))
    assert full is not None
    return "y" if math.isclose(full, 1, abs_tol=TOLERANCE) and less(documents, 1) else "n"


def graded(family: Family, lab: Laboratory) -> str:
    """Pairs of ideal units: of different exhaustivity, and of different size."""
    if ideality(family, lab) == "n":
        return "n/a"
    pairs = [("p2", "p4"), ("P", "p2")]
    if takes_documents(family):
        pairs = [("p2 p4", "P")]
    elif takes_entry_points(family):
        pairs = [("p2", "P")]
    measure = family.find_measure("graded")
    return "y" if any(differ(lab.last(a, measure), lab.last(b, measure)) for a, b in pairs) else "n"


class Task(NamedTuple):
    """The best run of a task, runs with one mistake each, and pairs that are the same to it."""

    best: str
    mistakes: tuple[str, ...]
    same: tuple[tuple[str, str], ...] = ()


def without_one(run: str) -> tuple[str, ...]:
    names = run.split()
    return tuple(" ".join(names[:k] + names[k + 1 :]) for k in range(len(names)))


def relevant_elements() -> str:
    """All of them, best first."""
    worth = naive_structure.quantised(DOCUMENTS, "spec")
    names = {place: name for name, place in ELEMENTS.items()}
    return " ".join(
        names[key] for key in sorted(worth, key=lambda key: -worth[key]) if worth[key] > 0
    )


THOROUGH, FOCUSED = relevant_elements(), "p2 P p4"
TASKS = {
    "Thorough": Task(THOROUGH, (*without_one(THOROUGH), f"x {THOROUGH}")),
    "Focused": Task(
        FOCUSED,
        (*without_one(FOCUSED), f"x {FOCUSED}", "s1 P p4", "p2 S p4", "p2 s1 P p4", "p2 i P p4"),
    ),
    "RiC": Task(
        "p2 p4 P",
        ("p2 P", "p4 P", "p2 p4", "P", "x p2 p4 P", "p2 p4 x P", "s1 p4 P", "a P"),
        (("p2 p4 P", "p4 p2 P"), ("s1 p4 P", "p4 s1 P")),
    ),
    "BiC": Task(
        "p2 P",
        ("P", "p2", "x p2 P", "s1 P", "a P", "p4 P", "p2 A"),
        (("p2 P", "b P"), ("p2 P", "p2 S")),
    ),
}


def supported(task: str, family: Family, lab: Laboratory) -> str:
    measure, union = family.find_measure(task), task == "Thorough"
    best = lab.course(TASKS[task].best, measure, union=union)
    if best is None:
        return "n"
    noticed = []
    for run in TASKS[task].mistakes:
        score = lab.course(run, measure, union=union)
        end, mean = (0.0, 0.0) if score is None else score  # refused is noticed
        if less(best[0], end) or (not less(end, best[0]) and less(best[1], mean)):
            return "n"
        noticed.append(less(end, best[0]) or less(mean, best[1]))
    if not any(noticed):
        return "n"
    told_apart = [
        any(map(differ, lab.course(a, measure) or (0, 0), lab.course(b, measure) or (0, 0)))
        for a, b in TASKS[task].same
    ]
    return "y" if all(noticed) and not any(told_apart) else "i"


EXPERIMENTS: dict[str, Callable[[Family, Laboratory], str]] = {
    "recall": recall,
    "precision": precision,
    "near": near,
    "overlap": overlap,
    "ideality": ideality,
    "graded": graded,
    **{task: (lambda family, lab, task=task: supported(task, family, lab)) for task in TASKS},
}


@pytest.mark.parametrize("name", EXPERIMENTS)
@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_the_experiment_shows_what_the_table_says(
    family: Family, name: str, laboratory: Laboratory
) -> None:
    assert EXPERIMENTS[name](family, laboratory) == family.cells[name].value


# --------------------------------------------------------------------------------------------
# What the notes say
# --------------------------------------------------------------------------------------------


def family(name: str) -> Family:
    (found,) = [family for family in FAMILIES if family.name == name]
    return found


@pytest.mark.parametrize(
    "label",
    [
        *("nxCG", "MAnxCG", "MAep", "Q", "FBelement"),
        "MAep(overlap=on,alpha=0,norm=none)",
        "HiR(alpha=0)",
    ],
)
def test_settings_that_ignore_overlap_reward_it(label: str, laboratory: Laboratory) -> None:
    assert overlap(Family(label, (label,)), laboratory) == "+"


@pytest.mark.parametrize("name", ["GR", "PRUM", "EPRUM"])
def test_a_near_miss_returned_again_gains_again(name: str, laboratory: Laboratory) -> None:
    principal = family(name).measures[0]
    assert less(laboratory.last("s1", principal), laboratory.last("s1 s1", principal))


def test_prum_has_recall_only_if_those_who_never_find_enough_count_as_failures(
    laboratory: Laboratory,
) -> None:
    zero, read_on = family("PRUM").measures
    assert recall(Family("", (zero,)), laboratory) == "y"
    assert recall(Family("", (read_on,)), laboratory) == "n"


# --------------------------------------------------------------------------------------------
# The table itself
# --------------------------------------------------------------------------------------------


def test_every_measure_that_rewards_anything_is_in_the_table() -> None:
    named = {label.partition("(")[0] for family in FAMILIES for label in family.measures}
    rewarding = {m.name for m in all_measures() if m.higher_is_better}
    rewarding -= {m.name for m in all_measures() if Need.ANSWERS in m.needs}  # not about runs
    # What is judged, and which topics are answered, has nothing to do with what is returned.
    assert named == rewarding - {"judged", "rejected", "accepted"}


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_rows_are_complete(family: Family) -> None:
    cells = family.cells
    assert list(cells) == list(PROPERTIES)
    assert {cell.value for cell in cells.values()} <= set(SIGNS)
    assert {OPINION} == set(cells) - set(EXPERIMENTS)
    assert set(family.settings) <= set(PROPERTIES)
    for cell in cells.values():
        assert cell.note or not cell.disputed


PAPER = {
    "Recall": "recall",
    "Precision": "precision",
    "Near misses": "near",
    "Overlap": "overlap",
    "Ideality": "ideality",
    "Ideality graded scale": "graded",
    "Explicit user model": "user",
    "Thorough": "Thorough",
    "Focused": "Focused",
    "RiC": "RiC",
    "BiC": "BiC",
}


@pytest.mark.skipif(not ENCYCLOPEDIA.exists(), reason="the paper is not beside the project")
def test_the_paper_is_quoted_correctly() -> None:
    text = ENCYCLOPEDIA.read_text(encoding="utf-8")
    lines = text[text.index("Metric Property\t") :].split("\n\n")[0].splitlines()
    header = lines[0].split("\t")
    printed = {line.split("\t")[0]: line.split("\t") for line in lines}
    assert set(PAPER_COLUMNS.values()) == set(header[1:])
    for family in (family for family in FAMILIES if family.name in PAPER_COLUMNS):
        for row, name in PAPER.items():
            value = re.sub(r" *<sup>.*", "", printed[row][header.index(PAPER_COLUMNS[family.name])])
            assert family.cells[name].paper == value, f"{family.name}: {row}"
