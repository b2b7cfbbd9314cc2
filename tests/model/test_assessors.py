"""Elements that several assessors judge: which of their assessments is taken."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foveal import Judgements
from inputs import FOLDER_FORMATS, highlights, read_judgements

POLICIES = {
    "union": lambda votes: 1,
    "majority": lambda votes: votes // 2 + 1,
    "intersection": lambda votes: votes,
}
GRADES = ("relevance", "coverage", "exhaustivity", "specificity", "rsize")


def judged(*assessors: dict[str, dict[str, Any]]) -> Judgements:
    """One document; each assessor lists paths and their grades."""
    lines = [
        {
            "topic": "1",
            "doc": "D",
            "assessor": f"a{i}",
            "elements": [{"xpath": path, **grades} for path, grades in listed.items()],
        }
        for i, listed in enumerate(assessors)
    ]
    return read_judgements("".join(json.dumps(line) + "\n" for line in lines))


def taken(judgements: Judgements, policy: str) -> dict[str, tuple[Any, ...]]:
    elements = judgements.combined(policy).elements
    assert elements is not None
    assert set(elements["row"]) <= {0}
    return {
        row["xpath"]: tuple(row[name] for name in GRADES if row[name] is not None)
        for row in elements.iter_rows(named=True)
    }


def sized(rsize: int, **grades: object) -> dict[str, Any]:
    return {"size": 100, "rsize": rsize, **grades}


def test_elements_follow_their_document() -> None:
    lines = [
        {"topic": "1", "doc": "A", "assessor": "a", "elements": []},
        {"topic": "1", "doc": "A", "assessor": "b", "elements": [{"xpath": "/a", **sized(1)}]},
        {"topic": "1", "doc": "B", "elements": [{"xpath": "/b", **sized(1)}]},
    ]
    elements = read_judgements("\n".join(map(json.dumps, lines))).combined().elements
    assert elements is not None
    assert elements.select("row", "xpath").rows() == [(0, "/a[1]"), (1, "/b[1]")]


STRONG = {
    "2002": [("relevance", "0123"), ("coverage", "NSLE")],
    "2003": [("exhaustivity", "0123"), ("specificity", "0123")],
    "2005": [("exhaustivity", "0?12"), ("rsize", "012")],
    "2006": [("rsize", "0123")],
}


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("scale", STRONG)
@settings(max_examples=30)
@given(data=st.data())
def test_elements_combine_one_by_one(policy: str, scale: str, data: st.DataObject) -> None:
    order = STRONG[scale]
    grade = st.tuples(*(st.sampled_from(values) for _, values in order)).filter(
        lambda pair: scale != "2003" or pair[0] != "0" or pair[1] == "0"
    )
    if scale == "2002":
        grade = grade.filter(lambda p: p != ("3", "S") and (p[0] == "0") == (p[1] == "N"))
    listed = st.dictionaries(st.sampled_from(["/a[1]", "/b[1]", "/c[1]"]), grade, max_size=3)
    assessors = data.draw(st.lists(listed, min_size=1, max_size=4).filter(any))
    judgements = judged(
        *(
            {
                path: {"size": 9, "rsize": 9} | dict(zip([n for n, _ in order], pair, strict=True))
                if scale in ("2005", "2006")
                else dict(zip([n for n, _ in order], pair, strict=True))
                for path, pair in own.items()
            }
            for own in ({p: _numbers(order, g) for p, g in o.items()} for o in assessors)
        )
    )
    needed = POLICIES[policy](len(assessors))
    expected = {}
    for path in {path for own in assessors for path in own}:
        found = sorted(
            (own[path] for own in assessors if path in own),
            key=lambda pair: [v.index(g) for (_, v), g in zip(order, pair, strict=True)],
            reverse=True,
        )
        if len(found) >= needed:
            expected[path] = _numbers(order, found[needed - 1])
    assert taken(judgements, policy) == expected


def _numbers(order: list[tuple[str, str]], grade: tuple[str, ...]) -> tuple[Any, ...]:
    """Sizes as numbers, grades as they are."""
    return tuple(
        int(g) if name == "rsize" else g for (name, _), g in zip(order, grade, strict=True)
    )


def test_uniting_a_row_keeps_assessors_apart() -> None:
    judgements = read_judgements(
        '{"topic":"1","doc":"A","assessor":"a","spans":[{"start":5,"end":9},{"start":0,"end":6},'
        '{"start":20,"end":30,"grade":0}]}\n'
        '{"topic":"1","doc":"A","assessor":"b","spans":[{"start":3,"end":4}]}\n'
    )
    united = judgements.united()
    assert highlights(united) == [("1", "A", 0, 9), ("1", "A", 3, 4)]
    assert united.assessors == ("a", "b")
    assert united.line.tolist() == [1, 2]


def test_places_of_several_assessors_are_kept_where_one_is_enough() -> None:
    pool = (
        '<assessments pool="{}" topic="1">'
        '<file name="D"><passage start="/a" end="/b"/></file></assessments>'
    )
    parts = [read_judgements(pool.format(name)) for name in "xy"]
    both = Judgements.merged(parts)
    for policy, places in (("union", 2), ("majority", 0), ("intersection", 0)):
        found = both.combined(policy)
        assert found.places is not None
        assert len(found.places) == places
        assert found.relevant.tolist() == [True]
    assert set(FOLDER_FORMATS["inex2006"](both)) == {"1-x.xml", "1-y.xml"}


def test_elements_of_other_columns_are_united_too() -> None:
    """Elements made in Python may have a path only."""
    part = judged({"/a": sized(1)}, {"/a": sized(2)})
    assert part.elements is not None
    bare = replace(part, elements=part.elements.select("row", "xpath"))
    found = bare.combined().elements
    assert found is not None
    assert found.equals(pl.DataFrame({"row": [0], "xpath": ["/a[1]"]}))
