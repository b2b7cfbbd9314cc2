"""Submissions read to their end: each bad result once, and the run of the good ones."""

from __future__ import annotations

import pytest

from foveal.files.source import Source
from foveal.formats import parse_file


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


def test_a_topic_without_an_id_does_not_hide_the_others() -> None:
    result = "<result><file>{}</file><path>{}</path></result>\n"
    text = (
        f"<inex-submission>\n<topic>\n{result.format('d', '/a')}</topic>\n"
        f'<topic topic-id="2">\n{result.format("e", "/a")}{result.format("f", "a")}</topic>\n'
        "</inex-submission>"
    )
    lines = {3: "topic is missing", 7: "path 'a', passage missing"}
    assert_told(text, lines, ["e"])


def submission(*results: str, sep: str = "\n") -> str:
    return sep.join(
        ['<inex-submission><topic topic-id="1">', *results, "</topic></inex-submission>"]
    )


def result(doc: str, rank: object = 1) -> str:
    return f"<result><file>{doc}</file><path>/a</path><rank>{rank}</rank></result>"


def test_what_comments_and_character_data_say_of_results_is_no_result() -> None:
    lines = {3: "rank 'x' is not a whole number from", 5: "rank 'y' is not a whole number from"}
    for aside in (
        *("<!-- <result> was here -->", "<!-- </result> -->", "<?note <result> ?>"),
        *("<![CDATA[<result><file>x</file>]]>", "<topic-note>no <em>result</em></topic-note>"),
    ):
        text = submission(aside, result("d", "x"), result("e", 2), result("f", "y"))
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
