"""Reading a run to its end: every bad line of every kind once, and the run of the good ones."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foveal.files.source import Source
from foveal.formats import parse_file

FIELDS = {
    "1 Q0 {} 1 9 m 0 4": None,
    "2 Q0 {} x 9 m 5 1": None,
    "1 Q0 {} 1": "4 fields found",
    "1 Q0 {} 1 9 m 0 4 0": "9 fields found",
    "1 Q0 {} 1 x m 0 4": "score 'x' is not a finite number",
    "1 Q0 {} 1 inf m 0 4": "score 'inf' is not a finite number",
    "1 Q0 {} 1 9 m -3 4": "start -3 is not a whole number from",
    "1 Q0 {} 1 9 m 0 -4": "length -4 is not a whole number from",
    "1 Q0 \xff{} 1 9 m 0 4": "byte 0xff is not valid UTF-8",
}
OBJECTS = {
    '{{"topic":"1","doc":"{}","start":0,"end":4,"rank":1}}': None,
    '{{"topic":"2","doc":"{}","xpath":"/a/b","rank":2}}': None,
    '{{"topic":"1","doc":"{}","rank":1': "not valid JSON",
    '["{}"]': "Expected `object`",
    '{{"topic":"1","doc":"{}","rank":"x"}}': "Expected `int | null`, got `str` - at `$.rank`",
    '{{"doc":"{}","rank":1}}': "topic is missing",
    '{{"topic":"1","doc":"{}","start":5,"rank":1}}': "start and end belong together",
    '{{"topic":"1","doc":"{}","start":5,"end":3,"rank":1}}': "end 3 is before start 5",
    '{{"topic":"1","doc":"{}","xpath":"b","rank":1}}': "'b' is not an XPath",
    '{{"topic":"1","doc":"{}"}}': "rank is missing here",
    '{{"type":"header","run":"{}"}}': "a second header",
    '{{"topic":"1","doc":"\xff{}","rank":1}}': "byte 0xff is not valid UTF-8",
}
RESULTS = {
    "<file>{}</file><path>/a</path><rank>1</rank>": None,
    "\n<file>{}</file>\n<passage start='/a' end='/b'/><rank>2</rank>": None,
    "<path>/a</path><rank>1</rank>": "doc is missing",
    "<file>{}</file><rank>1</rank>": "result with path missing and passage missing",
    "<file>{}</file><path>a</path><rank>1</rank>": "path 'a', passage missing",
    "<file>{}</file><file>e</file><path>/a</path><rank>1</rank>": "a second <file>",
    "<file>{}</file><path>/a</path><rank>x</rank>": "rank 'x' is not a whole number from",
    "<file>{}</file><path>/a</path>": "rank is missing here",
}


def source(text: str) -> Source:
    """Text whose ÿ are bytes that UTF-8 does not know."""
    return Source("r", text.encode("latin-1"), "no hash")


def assert_told(text: str, lines: dict[int, str], docs: list[str]) -> None:
    """The documents that were read are `docs`, and the problems those of `lines`, one of each."""
    run, problems = parse_file(source(text), "run")
    said = [(problem.line, problem.text) for problem in problems]
    assert len(said) == len(lines), said
    assert all(text.startswith(lines[line or 0]) for line, text in said), said
    assert ([] if run is None else sorted(run.doc.to_list())) == sorted(docs)


@settings(max_examples=60)
@given(st.lists(st.sampled_from([*FIELDS]), max_size=9))
def test_every_bad_line_of_fields_is_told_once(lines: list[str]) -> None:
    rows = [next(iter(FIELDS)), *lines]
    text = "".join(row.format(f"d{i}") + "\n" for i, row in enumerate(rows))
    bad = {i + 1: str(FIELDS[row]) for i, row in enumerate(rows) if FIELDS[row]}
    assert_told(text, bad, [f"d{i}" for i, row in enumerate(rows) if FIELDS[row] is None])


@settings(max_examples=60)
@given(st.lists(st.sampled_from([*OBJECTS]), max_size=9), st.booleans())
def test_every_bad_object_is_told_once(lines: list[str], header: bool) -> None:
    rows = ['{{"type":"header"}}'] * header + [next(iter(OBJECTS)), *lines]
    text = "".join(row.format(f"d{i}") + "\n" for i, row in enumerate(rows))
    bad = {i + 1: str(OBJECTS[row]) for i, row in enumerate(rows) if OBJECTS.get(row)}
    good = [f"d{i}" for i, row in enumerate(rows) if row in OBJECTS and OBJECTS[row] is None]
    assert_told(text, bad, good)


@settings(max_examples=60)
@given(st.lists(st.sampled_from([*RESULTS]), max_size=9))
def test_every_bad_result_of_a_submission_is_told_once(lines: list[str]) -> None:
    rows = [next(iter(RESULTS)), *lines]
    text, bad, good = '<inex-submission>\n<topic topic-id="1">\n', {}, []
    for i, row in enumerate(rows):
        if RESULTS[row] is None:
            good.append(f"d{i}")
        else:
            bad[text.count("\n") + 1] = str(RESULTS[row])
        text += f"<result>{row.format(f'd{i}')}</result>\n"
    assert_told(text + "</topic>\n</inex-submission>\n", bad, good)


def test_a_topic_without_an_id_does_not_hide_the_others() -> None:
    result = "<result><file>{}</file><path>{}</path></result>\n"
    text = (
        f"<inex-submission>\n<topic>\n{result.format('d', '/a')}</topic>\n"
        f'<topic topic-id="2">\n{result.format("e", "/a")}{result.format("f", "a")}</topic>\n'
        "</inex-submission>"
    )
    lines = {3: "topic is missing", 7: "path 'a', passage missing"}
    assert_told(text, lines, ["e"])


@pytest.mark.parametrize(
    "text",
    [
        "all Q0 d 1 9 m 0 4\n" + "1 Q0 e 1 9 m 0 4\n1 Q0 f 1 9 m 0 -4\n",
        '{"topic":"all","doc":"d"}\n{"topic":"1","doc":"e"}\n{"topic":"1","doc":"e","start":5,"end":4}\n',
    ],
    ids=["fields", "objects"],
)
def test_a_topic_called_all_is_told_once(text: str) -> None:
    assert_told(text, {1: "a topic may not be called 'all'", 3: ""}, ["e"])


def submission(*results: str, sep: str = "\n") -> str:
    return sep.join(
        ['<inex-submission><topic topic-id="1">', *results, "</topic></inex-submission>"]
    )


def result(doc: str, rank: object = 1) -> str:
    return f"<result><file>{doc}</file><path>/a</path><rank>{rank}</rank></result>"


@pytest.mark.parametrize(
    "aside",
    [
        "<!-- <result> was here -->",
        "<!-- </result> -->",
        "<![CDATA[<result><file>x</file>]]>",
        "<?note <result> ?>",
        "<topic-note>no <em>result</em></topic-note>",
    ],
)
def test_what_comments_and_character_data_say_of_results_is_no_result(aside: str) -> None:
    text = submission(aside, result("d", "x"), result("e", 2), result("f", "y"))
    lines = {3: "rank 'x' is not a whole number from", 5: "rank 'y' is not a whole number from"}
    assert_told(text, lines, ["e"])


def test_a_document_type_with_entities_is_passed_over() -> None:
    text = submission(result("d", "x"), result("&e;", 2))
    subset = '<!DOCTYPE inex-submission [\n<!ENTITY e "<result>">\n<!ENTITY e2 "z">\n]>\n'
    text = subset + text.replace("&e;", "&e2;")
    assert_told(text, {6: "rank 'x' is not a whole number from"}, ["z"])


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("declared", ["", '<?xml version="1.0" encoding="UTF-16"?>\n'])
def test_submissions_in_utf16_are_looked_at_to_the_end(encoding: str, declared: str) -> None:
    text = declared + submission(result("d", "x"), "<result><rank>1</rank></result>", result("é"))
    reading = parse_file(Source("r", text.encode(encoding), "no hash"), "run")
    assert reading.content is not None
    assert reading.content.doc.to_list() == ["é"]
    first = 2 + bool(declared)
    assert {problem.line for problem in reading.problems} == {first, first + 1}


def test_the_lines_of_old_machines_count() -> None:
    text = submission(result("d", "x"), result("e"), sep="\r")
    assert_told(text, {2: "rank 'x' is not a whole number from"}, ["e"])


def test_a_result_in_a_result_is_taken_out_with_it() -> None:
    inner = result("e", "x")
    text = submission(f"<result>\n{inner}\n<file>d</file><rank>y</rank></result>", result("f"))
    run, problems = parse_file(source(text), "run")
    assert run.doc.to_list() == ["f"]
    assert not any("not valid XML" in problem.text for problem in problems)
