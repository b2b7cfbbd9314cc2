"""CAS interpretations: worked cases of target and support, refusals, and a naive twin."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace
from pathlib import Path as FilePath

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import foveal
from foveal.collection import SourceTexts
from foveal.errors import InputError, UsageError
from foveal.model import Judgements, Provenance, Topic, Topics
from foveal.nexi import (
    CAS,
    IEEE_CLASSES,
    About,
    And,
    Compare,
    Or,
    Part,
    Path,
    Step,
    Term,
    list_tags,
    matches,
    parse,
)
from foveal.nexi.query import Clause
from foveal.recall.cas_topics import INTERPRETATIONS, select_elements
from inputs import read_judgements, refusal
from shared_data import INEX, needs_inex

Relevant = Mapping[str, Mapping[str, Collection[str]]]
"""Topic to document to the elements that are relevant."""
Asked = Mapping[str, Callable[[str], bool]]
"""Document to whether the text of an element is asked for."""


def judged(relevant: Relevant) -> Judgements:
    """Judgements that list these elements; a document without any is judged too."""
    lines = [json.dumps({"type": "header", "format": "foveal-judgements", "scale": "2006"})]
    for topic, docs in relevant.items():
        for doc, xpaths in docs.items():
            elements = [{"xpath": xpath, "size": 9, "rsize": 5} for xpath in xpaths]
            lines.append(json.dumps({"topic": topic, "doc": doc, "elements": elements}))
    return read_judgements("\n".join(lines))


def statements(*topics: Topic) -> Topics:
    return Topics.of(topics, source=Provenance("topics.xml"))


def kept(
    interpretation: str, query: str, relevant: Mapping[str, Collection[str]], **options: object
) -> dict[str, list[str]]:
    """What stays of one topic: document to elements, without documents that have none left."""
    topics = options.pop("topics", statements(Topic("1", castitle=query)))
    judgements = judged({"1": relevant})
    elements = judgements.elements
    assert elements is not None
    row, xpath = elements["row"].to_numpy(), elements["xpath"]
    stay = select_elements(interpretation, topics, judgements, row, xpath, **options)
    left: dict[str, list[str]] = {}
    for i in np.flatnonzero(stay).tolist():
        left.setdefault(judgements.doc[int(row[i])], []).append(xpath[i])
    return left


SEC, P, ABS = (
    "/article[1]/bdy[1]/sec[1]",
    "/article[1]/bdy[1]/sec[1]/p[1]",
    "/article[1]/fm[1]/abs[1]",
)
ABSTRACT = "//article[about(.//abs, lace)]//sec[about(., knots)]"


# -- the four interpretations ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("interpretation", "expected"),
    [
        ("VV", {"D1": [SEC, P], "D2": [SEC, "/article[1]"], "D3": [SEC]}),
        ("SV", {"D1": [SEC], "D2": [SEC], "D3": [SEC]}),
        ("VS", {"D1": [SEC, P]}),
        ("SS", {"D1": [SEC]}),
    ],
)
def test_target_first_then_support(interpretation: str, expected: dict[str, list[str]]) -> None:
    support = judged({"1.1": {"D1": [ABS], "D2": [], "D4": [ABS]}})
    relevant = {"D1": [SEC, P], "D2": [SEC, "/article[1]"], "D3": [SEC]}
    assert kept(interpretation, ABSTRACT, relevant, support=support) == expected


def test_the_vaguest_needs_nothing() -> None:
    topics = statements()
    assert kept("VV", "", {"D1": [SEC]}, topics=topics) == {"D1": [SEC]}


def test_without_conditions_every_document_satisfies() -> None:
    query = "//article//sec[about(., knots)]"
    assert kept("VS", query, {"D1": [SEC, P]}) == {"D1": [SEC, P]}
    assert kept("SS", query, {"D1": [SEC, P]}) == {"D1": [SEC]}


def test_no_element_at_all() -> None:
    judgements, none = judged({"1": {"D1": []}}), np.zeros(0, dtype=np.int64)
    for interpretation in INTERPRETATIONS:
        stay = select_elements(
            interpretation, statements(), judgements, none, pl.Series([], dtype=pl.String)
        )
        assert stay.dtype == bool
        assert len(stay) == 0


def test_each_topic_has_its_own_query() -> None:
    topics = statements(
        Topic("1", castitle="//sec[about(., x)]"),
        Topic("2", castitle="//p[about(., x)]"),
        Topic("3", castitle="//article[about(.//abs, y)]"),
    )
    judgements = judged({"1": {"D": [SEC, P]}, "2": {"D": [SEC, P]}, "3": {"D": ["/article[1]"]}})
    row = np.array([0, 0, 1, 1, 2])
    xpath = pl.Series([SEC, P, SEC, P, "/article[1]"])
    assert select_elements("SV", topics, judgements, row, xpath).tolist() == [
        True,
        False,
        False,
        True,
        True,
    ]
    support = judged({"3.1": {"D": [SEC]}})
    stay = select_elements("VS", topics, judgements, row, xpath, support=support)
    assert stay.tolist() == [True, True, True, True, False]


def test_tags_of_one_class() -> None:
    ss1, ilrj = "/article[1]/bdy[1]/ss1[1]", "/article[1]/bdy[1]/ss1[1]/ilrj[1]"
    query = "//article//sec[about(.//p, x)]"
    assert kept("SV", query, {"D": [ss1, ilrj]}) == {}
    assert kept("SV", query, {"D": [ss1, ilrj]}, classes=IEEE_CLASSES) == {"D": [ss1]}
    support = judged({"1.1": {"D": [ilrj]}})
    assert kept("SS", query, {"D": [ss1]}, support=support) == {}
    assert kept("SS", query, {"D": [ss1]}, support=support, classes=IEEE_CLASSES) == {"D": [ss1]}


# -- conditions ------------------------------------------------------------------------------------


def supported(query: str, *clauses: Collection[str], **options: object) -> bool:
    """Whether a document satisfies, its elements relevant to the first clause, the second, ..."""
    support = judged(
        {f"1.{n}": {"D": found} for n, found in enumerate(clauses, 1)} or {"x": {"D": []}}
    )
    return bool(kept("VS", query, {"D": ["/x[1]"]}, support=support, **options))


A1, A2 = "/doc[1]/a[1]", "/doc[1]/a[2]"


@pytest.mark.parametrize(
    ("query", "clauses", "expected"),
    [
        # the element itself, in a part before the last
        ("//a[about(., x)]//c[about(., y)]", [[A1]], True),
        ("//a[about(., x)]//c[about(., y)]", [[f"{A1}/b[1]"]], False),
        # an element below
        ("//a[about(.//b, x)]", [[f"{A1}/b[1]"]], True),
        ("//a[about(.//*, x)]", [[A1]], False),
        ("//a[about(.//(b|c), x)]", [[f"{A1}/c[1]"]], True),
        # several clauses
        ("//a[about(.//b, x) and about(.//c, y)]", [[f"{A1}/b[1]"], [f"{A1}/c[1]"]], True),
        ("//a[about(.//b, x) and about(.//c, y)]", [[f"{A1}/b[1]"], []], False),
        ("//a[about(.//b, x) or about(.//c, y)]", [[], [f"{A1}/c[1]"]], True),
        # of one and the same element
        ("//a[about(.//b, x) and about(.//c, y)]", [[f"{A1}/b[1]"], [f"{A2}/c[1]"]], False),
        ("//doc[about(.//b, x) and about(.//c, y)]", [[f"{A1}/b[1]"], [f"{A2}/c[1]"]], True),
        ("//a[about(., x) and about(.//b, y)]//c[about(., z)]", [[A1], [f"{A2}/b[1]"]], False),
        # and of parts within it
        ("//a[about(.//b, x)]//c[about(.//d, y)]", [[f"{A1}/b[1]"], [f"{A1}/c[1]/d[1]"]], True),
        ("//a[about(.//b, x)]//c[about(.//d, y)]", [[f"{A1}/b[1]"], [f"{A2}/c[1]/d[1]"]], False),
        ("//a[about(.//b, x)]//a[about(.//b, y)]", [[f"{A1}/b[1]"], [f"{A1}/b[1]"]], False),
        # the judgements of the topic itself are no condition, and make up for others
        ("//a[about(., x)]", [], True),
        ("//a[about(., x) and about(.//b, y)]", [[f"{A1}/b[1]"]], True),
        ("//a[about(.//b, x)]//c[about(., y) or about(.//d, z)]", [[f"{A1}/b[1]"]], True),
        # more parts than NEXI has, and a last one without a filter
        ("//a[about(., x)]//c", [[A1]], True),
        ("//doc[about(., x)]//a[about(., y)]//c[about(., z)]", [["/doc[1]"], [A1]], True),
        ("//doc[about(., x)]//a[about(., y)]//c[about(., z)]", [["/doc[1]"], []], False),
    ],
)
def test_conditions(query: str, clauses: list[list[str]], expected: bool) -> None:
    assert supported(query, *clauses) is expected


def test_ordinals_may_be_left_out() -> None:
    assert supported("//a[about(., x) and about(.//b, y)]", ["/doc/a/b[2]"])


def test_elements_that_are_judged_and_not_relevant_support_nothing() -> None:
    lines = ['{"type": "header", "format": "foveal-judgements", "scale": "2003"}']
    for doc, grades in {"D1": ("0", "0"), "D2": ("1", "3")}.items():
        element = {"xpath": "/a[1]/b[1]", "exhaustivity": grades[0], "specificity": grades[1]}
        lines.append(json.dumps({"topic": "1.1", "doc": doc, "elements": [element]}))
    found = {"D1": ["/a[1]"], "D2": ["/a[1]"]}
    support = read_judgements("\n".join(lines))
    assert kept("VS", "//a[about(.//b, x)]", found, support=support) == {"D2": ["/a[1]"]}


def test_sizes_alone_tell_what_is_relevant() -> None:
    """Elements derived from highlights carry no grade."""
    support = judged({"1.1": {"D": ["/a[1]/b[1]"]}})
    assert support.elements is not None
    bare = replace(support, elements=support.elements.select("row", "xpath", "size", "rsize"))
    assert kept("VS", "//a[about(.//b, x)]", {"D": ["/a[1]"]}, support=bare) == {"D": ["/a[1]"]}


# -- sub-topics ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "parent", ["1", " 1 ", ABSTRACT, "  //article[about( .//abs,lace)] //sec[about(.,\n knots)]"]
)
@pytest.mark.parametrize(
    "asks", ["//article//abs[about(., lace)]", "//article[about(.//abs, lace)]"]
)
def test_a_sub_topic_names_its_parent_and_asks_for_a_clause(parent: str, asks: str) -> None:
    topics = statements(Topic("1", castitle=ABSTRACT), Topic("77", castitle=asks, parent=parent))
    support = judged({"77": {"D1": [ABS]}, "1.1": {"D2": [ABS]}})
    relevant = {"D1": [SEC], "D2": [SEC]}
    assert kept("SS", "", relevant, topics=topics, support=support) == {"D1": [SEC]}


@pytest.mark.parametrize(
    "other",
    [
        Topic("77", castitle="//article//abs[about(., lace)]"),
        Topic("77", castitle="//article//abs[about(., lace)]", parent="2"),
        Topic("77", castitle="//article//abs[about(., rope)]", parent="1"),
        Topic("77", castitle="//article//bdy[about(., lace)]", parent="1"),
        Topic("77", castitle="//article//abs[about(., lace) or about(., rope)]", parent="1"),
        Topic("77", castitle="lace", parent="1"),
        Topic("77", castitle="//article[", parent="1"),
        Topic("77", title="lace", parent="1"),
    ],
)
def test_no_other_topic_serves(other: Topic) -> None:
    topics = statements(Topic("1", castitle=ABSTRACT), other)
    support = judged({"77": {"D": [ABS]}})
    message = refusal(lambda: kept("VS", "", {"D": [SEC]}, topics=topics, support=support))
    assert message == (
        "topics.xml:1: topic '1': no sub-topic is judged for about(.//abs, lace); expected "
        "judgements of a topic //article//abs[about(., lace)] whose parent is '1', or of topic "
        "'1.1'"
    )


def test_two_sub_topics_for_one_clause_are_united() -> None:
    asks = "//article//abs[about(., lace)]"
    children = (Topic(name, castitle=asks, parent="1") for name in ("77", "78", "79"))
    topics = statements(Topic("1", castitle=ABSTRACT), *children)
    support = judged({"77": {"D1": [ABS]}, "78": {"D2": [ABS]}})
    relevant = {name: [SEC] for name in ("D1", "D2", "D3")}
    left = kept("SS", "", relevant, topics=topics, support=support)
    assert left == {"D1": [SEC], "D2": [SEC]}


def test_clauses_are_counted_in_reading_order() -> None:
    query = (
        "//a[about(.//b, x) and (about(., y) or about(.//b, x))]//c[about(., z) and about(.//d, w)]"
    )
    b, d = f"{A1}/b[1]", f"{A1}/c[1]/d[1]"
    assert supported(query, [b], [], [], [d])
    assert supported(query, [], [], [b], [d]), "the third repeats the first"
    assert not supported(query, [b], [], [], [b])
    assert not supported(query, [], [A1], [], [d])


def test_a_clause_that_nobody_judged() -> None:
    query = "//a[about(.//b, x) and about(.//c, y) and about(.//d, z)]"
    message = refusal(lambda: supported(query, [A1]))
    assert [line.partition("; ")[0] for line in message.split("\n")] == [
        "topics.xml:1: topic '1': no sub-topic is judged for about(.//c, y)",
        "topics.xml:1: topic '1': no sub-topic is judged for about(.//d, z)",
    ]


def test_strict_support_needs_judgements_of_sub_topics() -> None:
    message = refusal(lambda: kept("VS", ABSTRACT, {"D": [SEC]}), error=UsageError)
    assert message == (
        "topic '1' has the condition about(.//abs, lace); strict support needs the judgements of "
        "its sub-topics (--support-judgements)"
    )
    assert kept("SV", ABSTRACT, {"D": [SEC]}) == {"D": [SEC]}


def test_support_without_elements() -> None:
    support = Judgements.from_highlights({"1.1": {"D": {"spans": [(0, 5)]}}}, name="s.qrels")

    def ask() -> object:
        return kept("VS", ABSTRACT, {"D": [SEC]}, support=support)

    assert "(s.qrels) hold no assessed elements" in refusal(ask, error=UsageError)


# -- refusals --------------------------------------------------------------------------------------


NO_QUERY = "topics.xml:1: topic '1' has {}; expected a query such as //sec[about(., words)]"
NOT_GIVEN = "topics.xml: topic '1' is judged but not given here; its structured query is needed"
NOT_NEXI = """\
topics.xml:1: castitle of topic '1': not a NEXI query, character 15: expected ',', found 'l'
  //sec[about(. lace)]
                ^"""


@pytest.mark.parametrize("interpretation", ["SV", "VS", "SS"])
@pytest.mark.parametrize(
    ("topic", "expected"),
    [
        (Topic("1", title="lace"), NO_QUERY.format("no castitle")),
        (Topic("1", castitle="lace tea"), NO_QUERY.format("no path in its castitle 'lace tea'")),
        (Topic("2", castitle=ABSTRACT), NOT_GIVEN),
        (Topic("1", castitle="//sec[about(. lace)]"), NOT_NEXI),
    ],
)
def test_topics_without_a_query(interpretation: str, topic: Topic, expected: str) -> None:
    relevant = {"D": [SEC]}
    topics = statements(topic)
    assert refusal(lambda: kept(interpretation, "", relevant, topics=topics)) == expected
    assert kept("VV", "", relevant, topics=topics) == relevant


def test_all_defects_at_once() -> None:
    topics = statements(Topic("1", title="x"), Topic("2", castitle="//"), Topic("3", title="y"))
    judgements = judged({name: {"D": [SEC]} for name in ("1", "2", "3", "4")})
    row, xpath = np.array([0, 1, 3]), pl.Series([SEC, SEC, SEC])
    with pytest.raises(InputError) as refused:
        select_elements("SV", topics, judgements, row, xpath)
    assert [(problem.code, problem.line) for problem in refused.value.problems] == [
        ("topics.castitle", 1),
        ("topics.castitle", 2),
        ("topics.unknown_topic", None),
    ], "3 is not asked"


def test_no_such_interpretation() -> None:
    message = refusal(lambda: kept("ss", ABSTRACT, {"D": [SEC]}), error=UsageError)
    assert message == "no CAS interpretation 'ss'; expected one of VV, SV, VS, SS"


def test_attributes_are_not_judged() -> None:
    message = refusal(lambda: supported("//a[about(.//@id, x)]", [A1]))
    assert "topic '1': about(.//@id, x) asks for an attribute" in message
    assert kept("SV", "//a//@id[about(., x)]", {"D": [A1]}) == {}


# -- comparisons with numbers ----------------------------------------------------------------------


def holding(elements: Mapping[str, str]):
    """Texts of one document's elements, as a collection would give them."""

    def texts(asked: Asked) -> Iterable[tuple[str, str, str]]:
        for doc, meant in asked.items():
            for xpath, text in elements.items():
                if meant(xpath):
                    yield doc, xpath, text

    return texts


YEAR = "/article[1]/fm[1]/yr[1]"


@pytest.mark.parametrize(
    ("condition", "text", "expected"),
    [
        (".//yr > 1998", "1999", True),
        (".//yr > 1998", "1998", False),
        (".//yr >= 1998", "\n 1998\t", True),
        (".//yr <= 1998", "+1998.0", True),
        (".//yr < 1998", "-3", True),
        (".//yr = 0.1", ".10", True),
        (".//yr = 9007199254740993", "9007199254740992", False),
        (".//yr > 1998", "1999 A.D.", False),
        (".//yr > 1998", "", False),
        (".//yr < 1998", "nan", False),
        (".//yr > 1998", "inf", False),
        (".//yr > 1998", "1e9", False),
        (".//yr > 1998", "1_999", False),
        (".//vol > 1998", "1999", False),
        (".//yr = '1999'", "1999", True),
        (".//yr = 'May  1999'", " May\n1999 ", True),
        (".//yr = 'May 1999'", "June 1999", False),
        (".//yr < 'May'", "1", False),
    ],
)
def test_numbers(condition: str, text: str, expected: bool) -> None:
    query = f"//article[{condition}]//sec[about(., x)]"
    texts = holding({YEAR: text, SEC: "words"})
    assert supported(query, texts=texts) is expected


def test_numbers_and_words_of_one_element() -> None:
    query = "//a[.//n > 5 and about(.//b, x)]"
    texts = holding({f"{A1}/n[1]": "4", f"{A2}/n[1]": "6"})
    assert supported(query, [f"{A2}/b[1]"], texts=texts)
    assert not supported(query, [f"{A1}/b[1]"], texts=texts)
    either = query.replace("and", "or")
    assert supported(either, [f"{A1}/b[1]"], texts=texts)
    assert supported(either, [], texts=texts)


def test_the_number_of_the_element_itself() -> None:
    texts = holding({f"{A1}/n[1]": "4", f"{A1}/m[1]": "9"})
    assert supported("//a//n[. < 5]", texts=texts)
    assert not supported("//a//n[. > 5]", texts=texts)


def test_numbers_of_one_class() -> None:
    texts = holding({"/a[1]/ss1[1]": "7"})
    assert not supported("//a[.//sec > 5]", texts=texts)
    assert supported("//a[.//sec > 5]", texts=texts, classes=IEEE_CLASSES)


def test_numbers_need_the_documents() -> None:
    query = "//article[.//yr > 1998]//sec[about(., x)]"
    message = refusal(lambda: kept("VS", query, {"D": [SEC]}), error=UsageError)
    assert message.startswith("topic '1' has the condition .//yr > 1998; strict support needs the")
    assert message.endswith("text of the documents (--documents), which no index holds")
    for interpretation in ("VV", "SV"):
        assert kept(interpretation, query, {"D": [SEC]}) == {"D": [SEC]}


def test_a_query_of_2003() -> None:
    query = """//article[(./fm//yr = '2000' OR ./fm//yr = '1999') AND about(.,
      '"intelligent transportation system"')]//sec[about(.,'automation +vehicle')]"""
    topics = statements(Topic("1", title=query))
    relevant = {"D": [SEC, P]}
    assert kept("SV", "", relevant, topics=topics) == {"D": [SEC]}
    support = judged({"1.1": {"D": ["/article[1]"]}})
    for year, place, expected in [
        ("1999", YEAR, {"D": [SEC]}),
        ("1998", YEAR, {}),
        ("1999", "/article[1]/bm[1]/fm[1]/yr[1]", {}),
    ]:
        texts = holding({place: year})
        assert kept("SS", "", relevant, topics=topics, support=support, texts=texts) == expected


def test_a_campaign_with_its_documents(tmp_path: FilePath) -> None:
    for name, year in {"r1": "1999", "r2": "1990"}.items():
        (tmp_path / f"{name}.xml").write_text(f"<article><yr>{year}</yr></article>")
    query = "//article[.//yr > 1998]//sec[about(., x)]"
    texts = SourceTexts(tmp_path)
    assert kept("SS", query, {"r1": [SEC], "r2": [SEC]}, texts=texts) == {"r1": [SEC]}


# -- naive and fast --------------------------------------------------------------------------------

TAGS = ("a", "b", "c")


@st.composite
def trees(draw: st.DrawFn) -> list[str]:
    """The elements of a small document."""
    found = ["/a[1]"]
    for _ in range(draw(st.integers(0, 9))):
        above, tag = draw(st.sampled_from(found)), draw(st.sampled_from(TAGS))
        siblings = sum(
            1 for x in found if x.startswith(f"{above}/{tag}") and "/" not in x[len(above) + 1 :]
        )
        found.append(f"{above}/{tag}[{siblings + 1}]")
    return found


steps = st.builds(
    Step,
    st.sampled_from([("a",), ("b",), ("c",), ("*",), ("a", "b")]),
    st.sampled_from([False, False, True]),
)
paths = st.lists(steps, min_size=1, max_size=2).map(lambda found: Path(tuple(found)))
leaves = st.builds(About, st.none() | paths, st.just((Term(("x",)),))) | st.builds(
    Compare, st.none() | paths, st.sampled_from(["<", ">", "="]), st.sampled_from(["1", "2"])
)
clauses = st.recursive(
    leaves,
    lambda inner: st.builds(
        lambda kind, found: kind(tuple(found)),
        st.sampled_from([And, Or]),
        st.lists(inner, min_size=2, max_size=3),
    ),
    max_leaves=4,
)
queries = st.lists(st.builds(Part, paths, clauses), min_size=1, max_size=3).map(
    lambda parts: CAS(tuple(parts))
)


class Naive:
    """Section 20 to the letter: all elements of a document are tried."""

    def __init__(
        self,
        query: CAS,
        elements: list[str],
        relevant: Mapping[str, Collection[str]],
        texts: Mapping[str, str],
    ) -> None:
        self.query, self.elements, self.relevant, self.texts = query, elements, relevant, texts

    def satisfied(self, i: int = 0, anchor: str = "") -> bool:
        parts = self.query.parts[i:]
        if all(self.truth(part.clause, None, k == len(parts) - 1) for k, part in enumerate(parts)):
            return True
        return any(
            self.leads(anchor, parts[0].path, element)
            and self.truth(parts[0].clause, element, len(parts) == 1)
            and self.satisfied(i + 1, element)
            for element in self.elements
        )

    @staticmethod
    def leads(anchor: str, path: Path, element: str) -> bool:
        below = element.startswith(f"{anchor}/")
        return below and matches(path, list_tags(element[len(anchor) :]))

    def truth(self, clause: Clause | None, element: str | None, last: bool) -> bool:
        """Whether a clause holds in an element; in none, only what is no condition does."""
        if isinstance(clause, And):
            return all(self.truth(each, element, last) for each in clause.clauses)
        if isinstance(clause, Or):
            return any(self.truth(each, element, last) for each in clause.clauses)
        if clause is None or (last and isinstance(clause, About) and clause.path is None):
            return True
        if element is None:
            return False
        meant = (
            [element]
            if clause.path is None
            else [x for x in self.elements if self.leads(element, clause.path, x)]
        )
        if isinstance(clause, About):
            return any(x in self.relevant[clause.terms[0].words[0]] for x in meant)
        compare = {"<": float.__lt__, ">": float.__gt__, "=": float.__eq__}[clause.operator]
        return any(
            self.texts[x] and compare(float(self.texts[x]), float(clause.value)) for x in meant
        )


def renamed(query: CAS) -> tuple[CAS, list[str]]:
    """The query with other words in each clause, and the words of those that are conditions."""
    names: list[str] = []
    count = iter(range(99))

    def walk(clause: Clause, last: bool) -> Clause:
        if isinstance(clause, And | Or):
            return type(clause)(tuple(walk(each, last) for each in clause.clauses))
        if isinstance(clause, Compare):
            return clause
        word = f"w{next(count)}"
        if not (last and clause.path is None):
            names.append(word)
        return About(clause.path, (Term((word,)),))

    last = len(query.parts) - 1
    parts = [Part(part.path, walk(part.clause, i == last)) for i, part in enumerate(query.parts)]
    return CAS(tuple(parts)), names


@settings(max_examples=50)
@given(queries, st.lists(trees(), min_size=1, max_size=3), st.data())
def test_fast_and_naive_agree_and_interpretations_nest(
    query: CAS, documents: list[list[str]], data: st.DataObject
) -> None:
    query, words = renamed(query)
    docs = {f"D{i}": elements for i, elements in enumerate(documents)}
    subsets = {doc: st.lists(st.sampled_from(tree), unique=True) for doc, tree in docs.items()}
    relevant = {word: {doc: data.draw(subsets[doc]) for doc in docs} for word in words}
    texts = {
        doc: {x: data.draw(st.sampled_from(["", "1", "2"])) for x in tree}
        for doc, tree in docs.items()
    }

    def read(asked: Asked) -> Iterable[tuple[str, str, str]]:
        return [row for doc in asked for row in holding(texts[doc])({doc: asked[doc]})]

    support = judged(
        {f"1.{n}": relevant[word] for n, word in enumerate(words, 1)} or {"x": {"D": []}}
    )
    judgements = judged({"1": docs})
    assert judgements.elements is not None
    row, xpath = judgements.elements["row"].to_numpy(), judgements.elements["xpath"]
    topics = statements(Topic("1", castitle=str(query)))
    stay = {
        name: select_elements(name, topics, judgements, row, xpath, support=support, texts=read)
        for name in INTERPRETATIONS
    }
    assert stay["VV"].all()
    assert not (stay["SS"] & ~stay["SV"]).any()
    assert (stay["SS"] == (stay["SV"] & stay["VS"])).all()
    fit = {
        doc: Naive(query, tree, {w: relevant[w][doc] for w in words}, texts[doc]).satisfied()
        for doc, tree in docs.items()
    }
    assert stay["VS"].tolist() == [fit[judgements.doc[int(i)]] for i in row]
    assert stay["SV"].tolist() == [matches(query.target, list_tags(x)) for x in xpath]


@settings(max_examples=25)
@given(st.lists(paths, min_size=1, max_size=3), st.integers(0, 2**32 - 1))
def test_targets_of_many_elements(targets: list[Path], seed: int) -> None:
    random = np.random.default_rng(seed)
    n = 1000
    xpaths = [
        "".join(
            f"/{TAGS[t]}[{o}]"
            for t, o in zip(random.integers(0, 3, d), random.integers(1, 4, d), strict=True)
        )
        for d in random.integers(1, 5, n).tolist()
    ]
    names = [str(i) for i in range(len(targets))]
    topics = statements(
        *(
            Topic(name, castitle=f"{path}[about(., x)]")
            for name, path in zip(names, targets, strict=True)
        )
    )
    judgements = judged({name: {"D1": [], "D2": []} for name in names})
    row = random.integers(0, len(judgements), n)
    groups = (frozenset({"b", "c"}), frozenset({"c", "z"}))
    expected = [
        matches(targets[judgements.topic[i]], list_tags(xpath), groups)
        for i, xpath in zip(row.tolist(), xpaths, strict=True)
    ]
    stay = select_elements("SV", topics, judgements, row, pl.Series(xpaths), classes=groups)
    assert stay.tolist() == expected


@needs_inex
def test_the_castitles_of_2009() -> None:
    """Every query has a target; conditions are named where nobody judged them."""
    topics = foveal.read_topics(INEX / "topics.xml")
    judgements = judged({name: {"D": []} for name in topics.castitles})
    row = np.arange(len(judgements))
    xpath = pl.Series(["/article[1]/sec[1]"] * len(row))
    stay = select_elements("SV", topics, judgements, row, xpath)
    expected = {
        name: matches(query.target, ("article", "sec"))
        for name, text in topics.castitles.items()
        if isinstance(query := parse(text, lenient=True), CAS)
    }
    assert dict(zip(judgements.topics, stay.tolist(), strict=True)) == expected
    assert 0 < stay.sum() < len(stay)
    with pytest.raises(InputError) as refused:
        select_elements("VS", topics, judgements, row, xpath, support=judged({"x": {"D": []}}))
    assert {each.code for each in refused.value.problems} == {"topics.sub_topic"}
    assert any("topic '2009004': no sub-topic" in str(each) for each in refused.value.problems)
    assert not any("topic '2009001'" in str(each) for each in refused.value.problems)
