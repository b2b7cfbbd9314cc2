"""INEX XML submissions: elements and passages, order, defects, round trips."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import foveal
from foveal.formats import parse_file
from inputs import (
    RUN_FORMATS,
    fault,
    read_run,
    results,
    run_losses,
    text_source,
)

quick = settings(max_examples=80)

SPECIFICATION = """\
<inex-submission participant-id="12" run-id="ours" task="Focused" query="automatic" result-type="element">
  <topic-fields title="yes" castitle="no" description="no" narrative="no"/>
  <description>...</description>
  <collections><collection>wikipedia</collection></collections>
  <topic topic-id="289">
    <result>
      <file>9996</file>
      <path>/article[1]/body[1]/section[2]/p[1]</path>
      <rank>1</rank> <rsv>0.9999</rsv>
    </result>
    <result><file>9997</file>
      <passage start="/article[1]/body[1]/p[1]/text()[1].5" end="/article[1]/body[1]/p[2]/text()[1].40"/>
      <rank>2</rank></result>
  </topic>
</inex-submission>
"""  # noqa: E501 - a usual submission has long lines


def submission(*answers: str, topic: str = "1") -> str:
    """One result a line, from line 2 on."""
    lines = "\n".join(f"<result>{answer}</result>" for answer in answers)
    opening = f'<inex-submission run-id="r"><topic topic-id="{topic}">'
    return f"{opening}\n{lines}\n</topic></inex-submission>"


def element(doc: str = "D", path: str = "/a[1]/b[1]", more: str = "") -> str:
    return f"<file>{doc}</file><path>{path}</path>{more}"


def test_the_example_of_the_specification() -> None:
    run = read_run(SPECIFICATION)
    assert (run.name, run.task, run.topics) == ("ours", "Focused", ("289",))
    assert run.xpath is not None
    assert run.xpath.to_list() == [
        "/article[1]/body[1]/section[2]/p[1]",
        "/article[1]/body[1]/p[1]/text()[1].5 /article[1]/body[1]/p[2]/text()[1].40",
    ]
    assert results(run) == [("289", "9996", None, None), ("289", "9997", None, None)]
    assert run.line.tolist() == [6, 11]
    assert run.score is None  # not all results have one
    assert run.header == {
        "participant-id": "12",
        "query": "automatic",
        "result-type": "element",
        "topic-fields": {"title": "yes", "castitle": "no", "description": "no", "narrative": "no"},
        "description": "...",
        "collections": ["wikipedia"],
    }
    assert read_run("1 Q0 D 1 1 m 0 4\n").header is None


@pytest.mark.parametrize(
    ("given_order", "wanted"),
    [
        (["<rank>2</rank><rsv>9</rsv>", "<rank>1</rank><rsv>1</rsv>", "<rank>1</rank>"], "BCA"),
        (["<rsv>0.5</rsv>", "<rsv>0.75</rsv>", "<rsv>0.5</rsv>"], "BAC"),
        (["", "", ""], "ABC"),
    ],
    ids=["rank", "rsv", "file"],
)
def test_results_are_ordered_by_rank_else_rsv_else_as_in_the_file(
    given_order: list[str], wanted: str
) -> None:
    rows = [element(doc, more=more) for doc, more in zip("ABC", given_order, strict=True)]
    assert read_run(submission(*rows)).doc.to_list() == list(wanted)


def test_a_rank_orders_within_its_topic() -> None:
    first = '<topic topic-id="{}"><result>{}</result></topic>'
    body = first.format(7, element("A", more="<rank>9</rank>"))
    body += first.format(3, element("B", more="<rank>1</rank>"))
    run = read_run(f"<inex-submission>{body}</inex-submission>")
    assert run.topics == ("7", "3")
    assert run.name == "x"  # the file's, where the run has no name


@pytest.mark.parametrize(
    "answer",
    [
        '<in file="co/2000/r7108"/><path>/a[1]/b[1]</path>',
        '<in>ieee</in><file>co/2000/r7108</file><path path="/a[1]/b[1]"/>',
        '<file name="co/2000/r7108"/><path>/a[1]/b[1]</path><other><deep>x</deep></other>',
        "<FILE>co/2000/r7108</FILE><Path>/a[1]/b[1]</Path>",
        "<path>/a[1]/b[1]</path><rank>1</rank><file>co/2000/r<!-- c -->7108</file>",
    ],
)
def test_older_spellings_are_understood(answer: str) -> None:
    run = read_run(submission(answer))
    assert run.to_frame().select("doc", "xpath").rows() == [("co/2000/r7108", "/a[1]/b[1]")]


BAD = [
    ("<path>/a/b</path>", "doc.missing"),
    ("<file> </file><path>/a/b</path>", "doc.missing"),
    ("<file>D</file>", "run.place"),
    (element(more='<passage start="/a" end="/b"/>'), "run.place"),
    (element(path="a/b"), "run.xpath"),
    (element(path="/a/ b"), "run.xpath"),
    ('<file>D</file><passage start="/a"/>', "run.xpath"),
    ('<file>D</file><passage start="/a" end="b"/>', "run.xpath"),
    (element(more="<rank>first</rank>"), "run.rank"),
    (element(more="<rank>nan</rank>"), "run.rank"),
    (element(more="<rank>1.5</rank>"), "run.rank"),
    (element(more="<rank>1e300</rank>"), "run.rank"),
    (element(more="<rank>-1</rank>"), "run.rank"),
    (element(more="<rank>1</rank><rsv>high</rsv>"), "run.score"),
    (element(more="<rank>1</rank><rsv>inf</rsv>"), "run.score"),
    (element(), "run.rank_missing"),
    (element(more="<rank>1</rank><rank>2</rank>"), "run.repeated_field"),
    (element(more="<file>E</file>"), "run.repeated_field"),
]


def test_a_bad_result_is_named_once() -> None:
    good = element(more="<rank>1</rank>")
    for answer, code in BAD:
        assert fault(read_run, submission(good, answer)) == (code, 3), answer
    answers = [answer for answer, _ in BAD]
    run, problems = parse_file(text_source(submission(good, *answers, good)), "run")
    assert run.line.tolist() == [2, len(BAD) + 3]
    found = sorted((problem.line, problem.code) for problem in problems)
    assert found == [(number, code) for number, (_, code) in enumerate(BAD, 3)]


@pytest.mark.parametrize(
    ("text", "code", "line"),
    [
        (submission(element()).replace(' topic-id="1"', ""), "topic.missing", 2),
        (
            submission(element()).replace("\n", "</topic>\n", 1).replace("</topic></", "</"),
            "topic.missing",
            2,
        ),
        (submission(element(), topic="all"), "topic.reserved", 2),
        (submission(element())[:-5], "xml.malformed", 3),
        ("<inex-submission/>", "run.empty", None),
    ],
)
def test_a_bad_submission_is_named(text: str, code: str, line: int | None) -> None:
    assert fault(read_run, text) == (code, line)


def test_a_run_is_written_as_a_submission(tmp_path: Path) -> None:
    foveal.write_run(read_run(SPECIFICATION), tmp_path / "out.xml", "inex")
    assert (tmp_path / "out.xml").read_text() == (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        '<inex-submission run-id="ours" task="Focused" result-type="element" participant-id="12" '
        'query="automatic">\n'
        '  <topic-fields title="yes" castitle="no" description="no" narrative="no"/>\n'
        "  <description>...</description>\n"
        "  <collections><collection>wikipedia</collection></collections>\n"
        '  <topic topic-id="289">\n'
        "    <result><file>9996</file><path>/article[1]/body[1]/section[2]/p[1]</path>"
        "<rank>1</rank></result>\n"
        '    <result><file>9997</file><passage start="/article[1]/body[1]/p[1]/text()[1].5" '
        'end="/article[1]/body[1]/p[2]/text()[1].40"/><rank>2</rank></result>\n'
        "  </topic>\n"
        "</inex-submission>\n"
    )


@pytest.mark.parametrize(
    ("path", "kind"), [("/a[1]/b[1]", "element"), ("/a[1]/b[1] /a[1]/b[2]", "passage")]
)
def test_a_run_that_says_nothing_of_its_results_is_named_by_them(path: str, kind: str) -> None:
    run = read_run(f'{{"topic":"1","doc":"D","xpath":"{path}"}}')
    assert f'<inex-submission run-id="x" result-type="{kind}">' in str(RUN_FORMATS["inex"](run))


@pytest.mark.parametrize("form", [form for form in RUN_FORMATS if form != "inex"])
def test_what_a_submission_says_of_itself_is_not_lost_without_a_word(form: str) -> None:
    what = "header of the submission: participant-id, query, topic-fields, description"
    assert f"{what}, collections" in run_losses(read_run(SPECIFICATION), form)
    assert run_losses(read_run(SPECIFICATION), "inex") == []


names = st.text("aé漢𝄞 <>&\"'\t\n\r]-", min_size=1, max_size=5).filter(
    lambda name: name == name.strip(" \t\r\n")
)
steps = st.text("aé:_-.&<'\"", min_size=1, max_size=4)
paths = st.lists(steps, min_size=1, max_size=3).map(
    lambda parts: "".join(f"/{p}[1]" for p in parts)
)
places = paths | st.tuples(paths, paths).map(" ".join)


attributes = st.dictionaries(st.sampled_from(["title", "castitle"]), names, min_size=1)
headers = st.fixed_dictionaries(
    {"result-type": st.sampled_from(["element", "passage", "FOL"])},
    optional={
        "participant-id": st.just("") | names,
        "query": names,
        "topic-fields": attributes,
        "description": names,
        "collections": st.lists(names, min_size=1, max_size=3),
    },
)


@st.composite
def runs(draw: st.DrawFn) -> foveal.Run:
    rows = draw(st.lists(st.tuples(names, names, places, st.floats(-1e9, 1e9)), min_size=1))
    frame = pl.DataFrame(rows, schema=["topic", "doc", "xpath", "score"], orient="row")
    whole = pl.col("xpath").str.contains("^/[^/]+$")
    frame = frame.with_columns(start=pl.when(whole).then(0).otherwise(-1), end=-1)
    if draw(st.booleans()):
        frame = frame.drop("score")
    run = foveal.Run.from_frame(frame, name=draw(steps), task=draw(st.none() | steps))
    return replace(run, header=draw(headers))


@quick
@given(runs())
def test_what_is_written_is_read_again(run: foveal.Run) -> None:
    read = foveal.read_run(text_source(RUN_FORMATS["inex"](run)))
    assert read.to_frame().equals(run.to_frame())
    assert (read.name, read.task, read.topics) == (run.name, run.task, run.topics)
    assert read.header == run.header


@pytest.mark.parametrize("encoding", ["UTF-16LE", "UTF-16BE"])
def test_utf_16_without_a_mark_is_read_by_its_declaration(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "run.xml"
    declared = f'<?xml version="1.0" encoding="{encoding}"?>\n'
    path.write_bytes((declared + submission(element(doc="Dé"))).encode(encoding))
    assert foveal.read_run(path).doc.to_list() == ["Dé"]
