"""INEX XML assessments of all years: elements, passages, pools, defects, round trips."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import foveal
from inputs import (
    FOLDER_FORMATS,
    JUDGEMENT_FORMATS,
    fault,
    judgement_losses,
    read_judgements,
    refusal,
    text_source,
)

SPECIFICATION = """\
<!DOCTYPE assessments SYSTEM "../../assessments.dtd">
<assessments pool="297" topic="203" version="2" whitespace-text-node="keep">
  <inex_topic topic_id="203" query_type="CO+S" ct_no="11"><title>a</title></inex_topic>
  <file collection="ieee" name="co/2000/r7108">
    <best-entry-point path="/article[1]/bdy[1]/sec[1]/p[1]"/>
    <passage start="/article[1]/bdy[1]/p[1]/text()[1].0" end="/article[1]/bdy[1]/p[2]" size="812"/>
    <element path="/article[1]" exhaustivity="2" size="35,760" rsize="812"/>
    <element path="/article[1]/bdy[1]/sec[1]/p[1]" exhaustivity="?" size="400" rsize="400"/>
  </file>
  <file collection="ieee" name="co/1999/r1010"/>     <!-- judged, nothing relevant -->
</assessments>
"""
GRADED = """\
<assessments pool="9" topic="61">
  <file file="co/2000/r7108">
    <path path="/article[1]" exhaustiveness="3" specificity="2" inpool="yes" inferred="no"/>
    <path path="/article/bdy[1]/sec" exhaustiveness="0" specificity="0" inferred="yes"/>
    <path path="/article[1]/fm[1]" exhaustiveness="U" specificity="U"/>
  </file>
  <file file="unknown"><path path="/article[1]" exhaustiveness="U" specificity="1"/></file>
  <file file="other"><path path="/article[1]" exhaustiveness="0" specificity="0"/></file>
</assessments>
"""


UNSAID = {"whitespace": "keep"}


def pool(*lines: str, topic: str = "1", name: str = "7") -> str:
    """A pool of one file; its elements start on line 3."""
    body = "".join(f"{line}\n" for line in lines)
    return (
        f'<assessments pool="{name}" topic="{topic}">\n<file name="D">\n{body}</file></assessments>'
    )


def sized(path: str = "/a[1]", size: str = "9", rsize: str = "4", more: str = "") -> str:
    return f'<element path="{path}" size="{size}" rsize="{rsize}" {more}/>'


def graded(e: str, s: str, path: str = "/a") -> str:
    return f'<path path="{path}" exhaustiveness="{e}" specificity="{s}"/>'


def elements(judgements: foveal.Judgements, *columns: str) -> list[tuple[Any, ...]]:
    assert judgements.elements is not None
    return judgements.elements.select("row", "xpath", *columns).rows()


def test_the_example_of_the_specification() -> None:
    judgements = read_judgements(SPECIFICATION)
    assert judgements.topics == ("203",)
    assert judgements.doc.to_list() == ["co/2000/r7108", "co/1999/r1010"]
    assert judgements.relevant.tolist() == [True, False]
    assert judgements.assessors == ("297",)
    assert judgements.line.tolist() == [4, 10]
    assert judgements.header == {
        "scale": "2005",
        "whitespace": "keep",
        "collection": "ieee",
        "version": "2",
    }
    assert judgements.unread == {"statements of topics": 1}
    assert not judgements.has_text
    assert elements(judgements, "exhaustivity", "size", "rsize") == [
        (0, "/article[1]", "2", 35760, 812),
        (0, "/article[1]/bdy[1]/sec[1]/p[1]", "?", 400, 400),
    ]
    assert judgements.places is not None
    assert judgements.places.rows() == [
        (0, "/article[1]/bdy[1]/p[1]/text()[1].0", "/article[1]/bdy[1]/p[2]", False, 6, 812),
        (0, "/article[1]/bdy[1]/sec[1]/p[1]", None, True, 5, None),
    ]


def test_grades_of_2003_unknown_ones_are_not_judged() -> None:
    judgements = read_judgements(GRADED)
    assert judgements.header == {"scale": "2003", "whitespace": "keep"}
    assert judgements.doc.to_list() == ["co/2000/r7108", "other"]
    assert judgements.relevant.tolist() == [True, False]
    assert judgements.places is None
    assert judgements.unread == {"elements of unknown grade (U)": 2}
    assert elements(judgements, "exhaustivity", "specificity", "inpool", "inferred") == [
        (0, "/article[1]", "3", "2", "yes", "no"),
        (0, "/article[1]/bdy[1]/sec[1]", "0", "0", None, "yes"),
        (1, "/article[1]", "0", "0", None, None),
    ]


@pytest.mark.parametrize(
    ("declared", "rule"),
    [("strip", "strip"), ("keep", "keep"), ("merge", "merge"), ("", "keep")],
)
def test_the_rule_for_white_space_is_kept(declared: str, rule: str) -> None:
    text = (
        f'<assessments topic="1" whitespace-text-node="{declared}"><file name="D"/></assessments>'
    )
    assert read_judgements(text).header == {"whitespace": rule}


@pytest.mark.parametrize(
    ("line", "code"),
    [
        (sized(rsize="10"), "element.size"),
        (sized(size="-9"), "element.size"),
        (sized(rsize="many"), "element.size"),
        (sized(size="9" * 30), "element.size"),
        (sized(size="9" * 13), "element.size"),
        ('<element path="/a" size="9"/>', "element.size"),
        (sized("a/b"), "element.path"),
        (sized("/a/text()[1]"), "element.path"),
        (sized("/a[0]"), "element.path"),
        ('<element size="9" rsize="1"/>', "element.path"),
        (sized(more='exhaustivity="3"'), "element.grade"),
        (graded("4", "1"), "element.grade"),
        (graded("1", ""), "element.grade"),
        (graded("0", "2"), "element.grade"),
        ('<path path="/a" specificity="2"/>', "element.grade"),
        ('<path path="/a" relevance="3" coverage="S"/>', "element.grade"),
        ('<path path="/a" relevance="1" coverage="N"/>', "element.grade"),
        ('<path path="/a" relevance="0" coverage="E"/>', "element.grade"),
        ('<path path="/a" relevance="3" coverage="X"/>', "element.grade"),
        ('<path path="/a" coverage="E"/>', "element.grade"),
        ('<passage start="/a"/>', "passage.path"),
        ('<passage start="a" end="/b"/>', "passage.path"),
        ('<passage start="/a" end="/b" size="some"/>', "element.size"),
        ("<best-entry-point/>", "passage.path"),
    ],
)
def test_a_bad_assessment_is_named(line: str, code: str) -> None:
    assert fault(read_judgements, pool(line)) == (code, 3)


@pytest.mark.parametrize(
    ("lines", "code"),
    [
        ([sized(), sized("/a")], "element.repeated"),
        ([sized(), graded("1", "1", "/b")], "element.scale"),
        (['<best-entry-point path="/a"/>'] * 2, "judgements.bep"),
    ],
)
def test_assessments_that_contradict_each_other_are_named(lines: list[str], code: str) -> None:
    assert fault(read_judgements, pool(*lines)) == (code, 4)


@pytest.mark.parametrize(
    ("text", "code", "line"),
    [
        ('<assessments pool="1"><file name="D"/></assessments>', "topic.missing", 1),
        (pool(topic="all"), "topic.reserved", 1),
        ('<assessments topic="1">\n<file/></assessments>', "doc.missing", 2),
        ('<assessments topic="1"/>', "judgements.empty", None),
        (
            '<assessments topic="1"><file name="D"/>\n<file name="D"/></assessments>',
            "judgements.repeated",
            2,
        ),
        (pool()[:-3], "xml.malformed", 3),
        (
            "\n" + pool().replace("topic=", 'whitespace-text-node="squeeze" topic='),
            "judgements.header",
            2,
        ),
    ],
)
def test_a_bad_pool_is_named(text: str, code: str, line: int | None) -> None:
    assert fault(read_judgements, text) == (code, line)


def test_every_problem_of_a_file_is_reported() -> None:
    files = [sized(), sized(size="x"), '<passage start="/a" end="/b"/>', "<best-entry-point/>"]
    lines = "".join(f'<file name="{i}">\n{line}\n</file>\n' for i, line in enumerate(files))
    text = f'<assessments topic="1">\n{lines}<file/>\n</assessments>'
    with pytest.raises(foveal.InputError) as caught:
        read_judgements(text)
    assert [problem.code for problem in caught.value.problems] == [
        "element.size",
        "passage.path",
        "doc.missing",
    ]


def folder(place: Path, **texts: str) -> Path:
    for name, text in texts.items():
        (place / f"{name}.xml").write_text(text)
    return place


def test_a_directory_of_pools_is_one_set(tmp_path: Path) -> None:
    (tmp_path / "ieee").mkdir()
    folder(tmp_path / "ieee", a=pool(sized(), topic="10"))
    folder(tmp_path, b=pool(sized("/b"), '<passage start="/b" end="/c"/>', topic="9"))
    judgements = foveal.read_judgements(tmp_path)
    assert judgements.topics == ("9", "10")
    assert judgements.header == {"scale": "2006", "whitespace": "keep"}
    assert elements(judgements) == [(0, "/b[1]"), (1, "/a[1]")]
    assert judgements.places is not None
    assert judgements.places.rows() == [(0, "/b", "/c", False, 4)]


def test_several_pools_of_a_topic_are_several_assessors(tmp_path: Path) -> None:
    passage = '<passage start="/a/b" end="/c"/>'
    path = folder(
        tmp_path, a=pool(passage, name="1"), b=pool(sized("/b"), name="2"), c=pool(name="3")
    )
    judgements = foveal.read_judgements(path)
    assert judgements.assessors == ("1", "2", "3")
    assert judgements.combined().relevant.tolist() == [True]
    assert judgements.combined("majority").relevant.tolist() == [True]
    assert judgements.combined("intersection").relevant.tolist() == [False]
    alone = judgements.of_assessor("2")
    assert alone.places is not None
    assert (elements(alone), len(alone.places)) == ([(0, "/b[1]")], 0)
    united = judgements.combined()
    assert united.places is not None
    assert united.places["row"].to_list() == [0]


STRIPPED = pool(name="2").replace("<assessments", '<assessments whitespace-text-node="strip"')


@pytest.mark.parametrize(
    ("two", "message"),
    [
        (pool(graded("1", "1"), name="2"), "scale is '2003' here; expected '2006'"),
        (pool(sized(more='exhaustivity="1"'), name="2"), "scale is '2005' here; expected '2006'"),
        (STRIPPED, "whitespace is 'strip' here; expected 'keep'"),
    ],
)
def test_scales_and_rules_for_white_space_do_not_mix(
    two: str, message: str, tmp_path: Path
) -> None:
    found = refusal(foveal.read_judgements, folder(tmp_path, a=pool(sized(), name="1"), b=two))
    assert found.startswith(f"{tmp_path / 'b.xml'}: {message}")


def test_a_pool_without_elements_has_no_scale(tmp_path: Path) -> None:
    path = folder(tmp_path, a=pool(name="1"), b=pool(graded("1", "1"), name="2"))
    assert foveal.read_judgements(path).header == {"scale": "2003", "whitespace": "keep"}


def test_the_grades_of_2005_are_a_loss_in_the_format_of_2006(tmp_path: Path) -> None:
    graded_2005 = read_judgements(SPECIFICATION)
    foveal.write_judgements(graded_2005, tmp_path / "out", "inex2006")
    again = foveal.read_judgements(tmp_path / "out")
    assert again.header is not None
    assert again.header["scale"] == "2006"
    assert again.elements is not None
    assert graded_2005.elements is not None
    sizes = ("xpath", "size", "rsize")
    assert again.elements.select(sizes).equals(graded_2005.elements.select(sizes))
    assert "exhaustivity of elements: 2" in judgement_losses(graded_2005, "inex2006")
    assert not any("exhaustivity" in said for said in judgement_losses(graded_2005, "inex2005"))


def test_a_pool_is_written_as_it_was(tmp_path: Path) -> None:
    foveal.write_judgements(read_judgements(SPECIFICATION), tmp_path / "out", "inex2005")
    (written,) = (tmp_path / "out").iterdir()
    assert written.name == "203-297.xml"
    assert written.read_text() == (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        '<assessments pool="297" topic="203" version="2" whitespace-text-node="keep">\n'
        '  <file collection="ieee" name="co/2000/r7108">\n'
        '    <passage start="/article[1]/bdy[1]/p[1]/text()[1].0" end="/article[1]/bdy[1]/p[2]" '
        'size="812"/>\n'
        '    <best-entry-point path="/article[1]/bdy[1]/sec[1]/p[1]"/>\n'
        '    <element path="/article[1]" exhaustivity="2" size="35760" rsize="812"/>\n'
        '    <element path="/article[1]/bdy[1]/sec[1]/p[1]" exhaustivity="?" size="400" '
        'rsize="400"/>\n'
        "  </file>\n"
        '  <file collection="ieee" name="co/1999/r1010"/>\n'
        "</assessments>\n"
    )


OF_TREC = "elements: 2, passages by XPath: 2, names of assessors: 1, the collection ieee"
TWO_COLLECTIONS = SPECIFICATION.replace('"ieee" name="co/1999', '"wikipedia" name="co/1999')


@pytest.mark.parametrize(
    ("text", "form", "lost"),
    [
        (GRADED, "jsonl", "elements of unknown grade (U): 2"),
        (SPECIFICATION, "inex2005", "statements of topics: 1"),
        (SPECIFICATION, "trec", f"statements of topics: 1, {OF_TREC}, the version 2"),
        (TWO_COLLECTIONS, "inex2005", "different names of collections: 2, statements of topics: 1"),
    ],
)
def test_what_of_a_pool_is_not_written_is_said(text: str, form: str, lost: str) -> None:
    assert ", ".join(judgement_losses(read_judgements(text), form)) == lost


ASSESSED = '{"topic":"1","doc":"D","elements":[{"xpath":"/a","size":3,%s}]}'


@pytest.mark.parametrize(
    ("text", "form", "code", "line"),
    [
        ("1 Q0 D 4 9 0 0:4", "inex2006", "write.unheld", 1),
        ("1 0 D 1", "inex2003", "write.unheld", 1),
        (SPECIFICATION, "inex2003", "write.scale", None),
        (GRADED, "inex2006", "write.scale", None),
        (pool('<passage start="/a" end="/b"/>'), "inex2003", "write.unheld", 2),
        (ASSESSED % '"rsize":3', "inex2005", "write.scale", None),
        (ASSESSED % '"relevance":0,"coverage":"N"', "inex2002", "write.unheld", 1),
        ('{"topic":"1","doc":" D","spans":[]}', "inex2006", "write.unfit", None),
    ],
)
def test_what_a_pool_lacks_or_cannot_hold_is_said(
    text: str, form: str, code: str, line: int | None, tmp_path: Path
) -> None:
    judgements = read_judgements(text)
    found = fault(foveal.write_judgements, judgements, tmp_path / "out", form)
    assert found == (code, line)
    assert not (tmp_path / "out").exists()


def test_every_topic_and_assessor_has_a_file_of_its_own(tmp_path: Path) -> None:
    texts = [
        pool(name=name, topic=topic).replace('"D"', f'"{i}"')
        for i, (topic, name) in enumerate([("a-b", "c"), ("a", "b-c"), (".", "/"), ("é%", "?")])
    ]
    judgements = foveal.read_judgements([text_source(text, str(i)) for i, text in enumerate(texts)])
    foveal.write_judgements(judgements, tmp_path / "out", "inex2006")
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert names == {"a%2Db-c.xml", "a-b-c.xml", "%2E-%2F.xml", "é%25-%3F.xml"}
    assert foveal.read_judgements(tmp_path / "out").topics == judgements.topics


def test_passages_by_xpath_cannot_pass_through_json_lines() -> None:
    message = refusal(JUDGEMENT_FORMATS["jsonl"], read_judgements(SPECIFICATION))
    assert message.startswith("x:4: a passage or entry point by XPath, which a collection")


names = st.text("aé漢𝄞 <&\"'\n-/", min_size=1, max_size=4).filter(lambda n: n == n.strip(" \n"))
steps = st.text("aé:_-.&\"'", min_size=1, max_size=3)
paths = st.lists(steps, min_size=1, max_size=3).map(lambda p: "".join(f"/{s}[2]" for s in p))
grades = {
    "inex2002": st.sampled_from(["0N", "1E", "1L", "1S", "2E", "2L", "2S", "3E", "3L"]).map(
        lambda pair: {"relevance": pair[0], "coverage": pair[1]}
    ),
    "inex2003": st.fixed_dictionaries(
        {"exhaustivity": st.sampled_from("123"), "specificity": st.sampled_from("0123")}
    ),
    "inex2005": st.fixed_dictionaries(
        {"exhaustivity": st.sampled_from("012?"), "size": st.just(90), "rsize": st.integers(0, 90)}
    ),
    "inex2006": st.fixed_dictionaries({"size": st.just(90), "rsize": st.integers(0, 90)}),
}


answers = st.sampled_from(["yes", "no", None])
pooled = st.fixed_dictionaries({}, optional={"inpool": answers, "inferred": answers})
declared = st.fixed_dictionaries({}, optional={"collection": names, "version": names})


@st.composite
def assessed(draw: st.DrawFn, form: str) -> foveal.Judgements:
    keys = draw(st.lists(st.tuples(names, names, names), min_size=1, max_size=4, unique=True))
    found: list[dict[str, Any]] = []
    places: list[tuple[int, str, str | None, bool, int | None]] = []
    for row in range(len(keys)):
        for path in draw(st.lists(paths, max_size=3, unique=True)):
            found.append({"row": row, "xpath": path, **draw(grades[form]), **draw(pooled)})
        if form not in ("inex2002", "inex2003"):
            places += [
                (row, "/a/text()[1].4", end, False, draw(st.none() | st.integers(0, 9999)))
                for end in draw(st.lists(paths, max_size=2))
            ]
            places += [
                (row, start, None, True, None) for start in draw(st.lists(paths, max_size=1))
            ]
    relevant = [
        any(
            f["row"] == row
            and (f.get("rsize") or (f.get("exhaustivity") or f.get("relevance")) in list("123"))
            for f in found
        )
        or any(p[0] == row and not p[3] for p in places)
        for row in range(len(keys))
    ]
    frame = pl.DataFrame(keys, schema=["topic", "doc", "assessor"], orient="row")
    none = pl.Series([], dtype=pl.Int64).to_numpy()
    text = ("xpath", "exhaustivity", "specificity", "relevance", "coverage", "inpool", "inferred")
    schema = dict.fromkeys(text, pl.String) | dict.fromkeys(("size", "rsize", "row"), pl.Int64)
    columns = {"row": pl.Int64, "start": pl.String, "end": pl.String, "bep": pl.Boolean}
    columns |= {"size": pl.Int64}
    return foveal.Judgements.from_rows(
        frame.with_columns(line=pl.int_range(1, pl.len() + 1), relevant=pl.Series(relevant)),
        frame.select(pl.lit(0).repeat_by(pl.len()).explode()).to_series().to_numpy(),
        none,
        none,
        source=foveal.model.Provenance("x"),
        has_text=False,
        elements=pl.DataFrame(found, schema=schema),
        places=pl.DataFrame(places, schema=columns, orient="row").with_columns(line=pl.col("row")),
        header={"scale": form[-4:], "whitespace": "keep", **draw(declared)},
    )


def _said(row: dict[str, Any]) -> list[tuple[str, Any]]:
    """What a row of a table says, whichever columns its table has."""
    told = [(k, v) for k, v in row.items() if v is not None and k not in ("row", "line")]
    return sorted(told)


def facts(judgements: foveal.Judgements) -> list[tuple[Any, ...]]:
    """Everything that a pool says, in an order that does not depend on files."""
    topic = pl.Series(judgements.topics, dtype=pl.String).gather(judgements.topic)
    rows = pl.DataFrame({"topic": topic, "doc": judgements.doc, "assessor": judgements.assessor})
    rows = rows.with_columns(relevant=pl.Series(judgements.relevant))
    every = []
    for row, key in enumerate(rows.rows()):
        of_row = [
            [] if table is None else [*map(_said, table.filter(row=row).to_dicts())]
            for table in (judgements.elements, judgements.places)
        ]
        every.append((key, *of_row))
    return sorted(every, key=str)


@pytest.mark.parametrize("form", FOLDER_FORMATS)
@settings(max_examples=40)
@given(data=st.data())
def test_what_is_written_is_read_again(form: str, data: st.DataObject) -> None:
    judgements = data.draw(assessed(form))
    files = FOLDER_FORMATS[form](judgements)
    again = foveal.read_judgements([text_source(text, name) for name, text in files.items()])
    assert facts(again) == facts(judgements)
    assert again.header is not None
    assert again.header.get("scale", form[-4:]) == form[-4:]
    assert judgements.header is not None
    for name in ("collection", "version"):
        assert again.header.get(name) == judgements.header.get(name)
