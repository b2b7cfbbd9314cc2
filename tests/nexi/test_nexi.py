"""NEXI: what is accepted, what is refused and where, printing, and which elements are meant."""

from __future__ import annotations

import pickle
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foveal.nexi import (
    CAS,
    CO,
    About,
    And,
    Compare,
    NexiError,
    Or,
    Part,
    Path,
    Step,
    Term,
    matches,
    parse,
)
from shared_data import INEX, needs_inex

FIGURE_1 = """//article[(./fm//yr = '2000' OR ./fm//yr = '1999') AND about(.,
  '"intelligent transportation system"')]//sec[about(.,'automation
  +vehicle')]"""
FIGURE_2 = '//article//sec[about(.,+"markov chains" +algorithm +graphs)]'
UNFILTERED = "//article[about(., x)]//(person|chemist)"


def test_content_only() -> None:
    assert parse('+xml -"query language" retrieval') == CO(
        (Term(("xml",), "+"), Term(("query", "language"), "-", phrase=True), Term(("retrieval",)))
    )


def test_content_and_structure() -> None:
    sec, article = Step(("sec",)), Step(("article",))
    assert parse("//article[about(., a) and .//yr >= 1999]//sec[about(.//*, b)]") == CAS(
        (
            Part(
                Path((article,)),
                And(
                    (
                        About(None, (Term(("a",)),)),
                        Compare(Path((Step(("yr",)),)), ">=", "1999"),
                    )
                ),
            ),
            Part(Path((sec,)), About(Path((Step(("*",)),)), (Term(("b",)),))),
        )
    )


def test_and_binds_closer_than_or() -> None:
    query = parse("//a[about(., x) or about(., y) and about(., z)]")
    assert isinstance(query, CAS)
    clause = query.parts[0].clause
    assert isinstance(clause, Or)
    assert isinstance(clause.clauses[1], And)


@pytest.mark.parametrize(
    "text",
    [
        FIGURE_2,
        "//*[about(., D-Day valentine's bisphenol-A 3D 1989 3.5)]",
        "//a//@id[about(., x)]",
        "//a[about(.//b//@id, x)]",
        "//a[ABOUT(., x) AND (about(., y) OR .//n < 3)]",
        "//classical_music[about(., x-1)]",
        "  //a  //(b|c) [ about( . // d , x ) ] //e[about(.,y)]  ",
        "//a[about(., about and or)]",
        "about and or",
        "Überraschung naïve 日本",
    ],
)
def test_accepted(text: str) -> None:
    query = parse(text)
    assert parse(str(query)) == query


@pytest.mark.parametrize(
    ("text", "position", "expected"),
    [
        ("", 0, "expected a word"),
        ("//", 2, "expected a tag name"),
        ("//a", 3, "expected '['"),
        ("//a[]", 4, "expected about"),
        ("//a[about(.,)]", 12, "expected a word"),
        ("//a[about(x, y)]", 10, "expected '.'"),
        ("//a[about(., x)", 15, "expected ']'"),
        ("//a[about(., x) and]", 19, "expected about"),
        ("//(a)[about(., x)]", 4, "expected '|'"),
        ("//a[.//yr < x]", 12, "expected a number"),
        ("//a[.//yr ~ 3]", 10, "expected a comparison"),
        ('//a[about(., "")]', 14, "expected a word"),
        ('"never closed', 13, "expected a word or a closing quote"),
        ("x]", 1, "expected a word"),
        ("++x", 1, "expected a word"),
        ("//a[about(., x)]]", 16, "expected the end"),
        ("//@id[about(., x)]", 3, "expected an element before the attribute"),
        ("//a//@id//b[about(., x)]", 8, "an attribute ends its path"),
        ("//a[about(., x)]//b[about(., y)]//c[about(., z)]", 32, "at most two"),
        ("/a[about(., x)]", 0, "expected '//'"),
        (FIGURE_1, 12, "expected '//'"),
        (UNFILTERED, len(UNFILTERED), "expected '['"),
        ("//a[" + "(" * 200 + "about(., x)" + ")" * 200 + "]", 104, "nested parentheses"),
    ],
)
def test_refused_at_the_place(text: str, position: int, expected: str) -> None:
    with pytest.raises(NexiError) as caught:
        parse(text)
    assert expected in caught.value.message
    assert caught.value.position == position
    *_, line, caret = str(caught.value).split("\n")
    shown = text[text.rfind("\n", 0, position) + 1 :].split("\n", maxsplit=1)[0]
    assert line == f"  {shown}"
    assert caret.index("^") == 2 + position - (text.rfind("\n", 0, position) + 1)
    # Without its frames, which some libraries teach pickle to take along.
    alone = caught.value.with_traceback(None)
    assert str(pickle.loads(pickle.dumps(alone))) == str(alone)


@pytest.mark.parametrize(
    "text", [FIGURE_1, UNFILTERED, "//a[about(., x)]//b[about(., y)]//c[about(., z)]", FIGURE_2]
)
def test_lenient_accepts_the_dialects_in_use(text: str) -> None:
    query = parse(text, lenient=True)
    assert parse(str(query), lenient=True) == query


@pytest.mark.parametrize("text", ["//a", "//a[about(., 'x)]", "//a[.//yr = 'x]", "//a[about(., x]"])
def test_lenient_is_not_careless(text: str) -> None:
    with pytest.raises(NexiError):
        parse(text, lenient=True)


@needs_inex
def test_the_castitles_of_2009() -> None:
    text = (INEX / "topics.xml").read_text(encoding="utf-8")
    castitles = re.findall(r"<castitle>(.*?)</castitle>", text, re.DOTALL)
    refused = []
    for castitle in castitles:
        try:
            parse(castitle)
        except NexiError:
            refused.append(castitle)
            assert isinstance(parse(castitle, lenient=True), CAS)
    assert len(castitles) == 115
    assert len(refused) == 1
    assert "//(person|chemist|" in refused[0]


# -- the language, generated from its grammar ------------------------------------------------------

names = st.from_regex(r"[a-z][a-z0-9_.\-]{0,6}", fullmatch=True)
words = st.from_regex(r"[a-zA-Z0-9é]+(-[a-z0-9]+)?('[a-z]+)?", fullmatch=True)
terms = st.builds(
    lambda sign, found, phrase: Term(tuple(found if phrase else found[:1]), sign, phrase),
    st.sampled_from(["", "+", "-"]),
    st.lists(words, min_size=1, max_size=3),
    st.booleans(),
)
steps = st.builds(
    Step,
    st.just(("*",))
    | st.builds(lambda name: (name,), names)
    | st.lists(names, min_size=2, max_size=3).map(tuple),
)
paths = st.builds(Path, st.lists(steps, min_size=1, max_size=3).map(tuple))
leaves = st.builds(
    About, st.none() | paths, st.lists(terms, min_size=1, max_size=3).map(tuple)
) | st.builds(
    Compare,
    st.none() | paths,
    st.sampled_from(["<", "<=", "=", ">=", ">"]),
    st.from_regex(r"-?[0-9]{1,4}(\.[0-9]{1,2})?", fullmatch=True),
)
clauses = st.recursive(
    leaves,
    lambda inner: st.builds(
        lambda kind, found: kind(tuple(found)),
        st.sampled_from([And, Or]),
        st.lists(inner, min_size=2, max_size=3),
    ),
    max_leaves=6,
)
queries = st.builds(
    CAS, st.lists(st.builds(Part, paths, clauses), min_size=1, max_size=2).map(tuple)
) | st.builds(CO, st.lists(terms, min_size=1, max_size=4).map(tuple))


@given(queries)
@settings(max_examples=300)
def test_printing_and_parsing_are_inverse(query: CAS | CO) -> None:
    assert parse(str(query)) == query
    assert parse(str(query), lenient=True) == query


# -- and the dialects in use ----------------------------------------------------------------------

constants = st.text(max_size=8).map(lambda text: text.replace('"', "'")) | st.text(max_size=8).map(
    lambda text: text.replace("'", '"')
)
named = st.builds(lambda name: (name,), names)
lenient_steps = st.builds(Step, named | st.just(("*",)), st.booleans())
attribute = st.builds(Step, named, st.booleans(), st.just(True))
lenient_paths = st.builds(
    lambda found, last: Path((*found, *last)),
    st.lists(lenient_steps, min_size=1, max_size=2),
    st.lists(attribute, max_size=1),
)
lenient_clauses = st.builds(
    Compare, st.none() | lenient_paths, st.sampled_from(["<", "="]), constants, st.just(True)
) | st.builds(About, st.none() | lenient_paths, st.lists(terms, min_size=1, max_size=2).map(tuple))
lenient_queries = st.builds(
    lambda first, more, last: CAS((first, *more, *last)),
    st.builds(Part, lenient_paths, lenient_clauses),
    st.lists(st.builds(Part, lenient_paths, lenient_clauses), max_size=2),
    st.lists(st.builds(Part, lenient_paths, st.none()), max_size=1),
)


@given(lenient_queries)
@settings(max_examples=60)
def test_printing_and_parsing_are_inverse_in_the_dialects(query: CAS) -> None:
    assert parse(str(query), lenient=True) == query


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("//a[.//au = 'Ann']", "//a[.//au = 'Ann']"),
        ('//a[.//au = "Ann"]', "//a[.//au = 'Ann']"),
        ('//a[.//au = "O\'Neill"]', '//a[.//au = "O\'Neill"]'),
        ("//a[.//au = 'the \"old\" one']", "//a[.//au = 'the \"old\" one']"),
        ("//a[.//au = '']", "//a[.//au = '']"),
    ],
)
def test_a_constant_is_printed_in_quotes_that_it_does_not_hold(text: str, printed: str) -> None:
    query = parse(text, lenient=True)
    assert str(query) == printed
    assert parse(printed, lenient=True) == query


@given(st.text(alphabet="/@*()[]|.,\"'+-<>=ab1 aboutandor\n", max_size=40), st.booleans())
@settings(max_examples=500)
def test_any_text_parses_or_is_refused_at_a_place(text: str, lenient: bool) -> None:
    try:
        query = parse(text, lenient=lenient)
    except NexiError as error:
        position = error.position
    else:
        position = 0
        assert parse(str(query), lenient=lenient) == query
    assert 0 <= position <= len(text)


# -- which elements are meant ---------------------------------------------------------------------


def target(text: str) -> Path:
    query = parse(text, lenient=True)
    assert isinstance(query, CAS)
    return query.target


@pytest.mark.parametrize(
    ("path", "tags", "expected"),
    [
        ("//article//sec", "article/bdy/sec", True),
        ("//article//sec", "article/bdy/sec/p", False),
        ("//article//sec", "article/bdy/ss1", False),
        ("//article//sec", "sec", False),
        ("//*", "article/bdy", True),
        ("//(p|sec)", "article/sec", True),
        ("//sec//sec", "article/sec", False),
        ("//sec//sec", "article/sec/p/sec", True),
        ("//a//b//a", "a/b/c/a", True),
        ("//a//b//a", "b/a/a", False),
        ("/article/sec", "article/sec", True),
        ("/article/sec", "article/bdy/sec", False),
        ("//bdy/sec", "article/bdy/sec", True),
        ("//article//@id", "article", False),
    ],
)
def test_matching(path: str, tags: str, expected: bool) -> None:
    assert matches(target(f"{path}[about(., x)]"), tags.split("/")) is expected


def test_target_and_support() -> None:
    query = parse("//a[about(.//b, x) and about(., y)]//c[about(.//d, z) or .//e > 3]")
    assert isinstance(query, CAS)
    assert str(query.target) == "//a//c"
    assert [str(path) for path in query.support] == ["//a", "//a//b", "//a//c//d", "//a//c//e"]
