"""Topics: INEX XML of all years, JSON Lines, TREC; what is refused; round trips."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import foveal
from foveal.model import Topic, Topics
from inputs import TOPIC_FORMATS, fault, refusal, text_source
from shared_data import DATA

CAS_2003 = """\
<inex_topic topic_id="76" query_type="CAS">
<title>
  //article[(./fm//yr = '2000' OR ./fm//yr = '1999') AND about(., '"intelligent transportation
  system"')]//sec[about(.,'automation +vehicle')]
</title>
<description>
  Automated vehicle applications in articles from 1999 or 2000.
</description>
<keywords>vehicle, <b>automation</b></keywords>
</inex_topic>
"""
COS_2005 = """\
<?xml version="1.0" encoding="ISO-8859-1"?>
<!DOCTYPE inex_topic SYSTEM "topic.dtd">
<inex_topic topic_id="231" query_type="CO+S" ct_no="98">
  <InitialTopicStatement>I have just finished.</InitialTopicStatement>
  <title>markov chains in graph related algorithms</title>
  <castitle>//article//sec[about(.,+"markov chains" +algorithm +graphs)]
</castitle>
  <parent>12</parent>
</inex_topic>
"""
TREC = """\
<top>
<num> Number: 301
<title> International Organized Crime

<desc> Description:
Identify organizations that
participate.

<narr> Narrative:
A relevant document must ...
</top>

<top>
<head> Tipster Topic Description
<num> Number:  051
<dom> Domain: International Economics
<title> Topic:  Airbus Subsidies
<desc> Description: Document will discuss &amp; mention.
<con> Concept(s):
1. Airbus
</top>
"""


def read(text: str | bytes) -> Topics:
    return foveal.read_topics(text_source(text))


def test_a_cas_topic_of_2003() -> None:
    (topic,) = read(CAS_2003)
    assert topic.id == "76"
    assert topic.title is not None
    assert topic.title.startswith("//article[(./fm//yr = '2000' OR")
    assert topic.description == "Automated vehicle applications in articles from 1999 or 2000."
    assert topic.keywords == "vehicle, automation"
    assert (topic.castitle, topic.narrative, topic.ct_no) == (None, None, None)
    assert topic.kind == "CAS"


def test_a_topic_of_2005_with_both_titles() -> None:
    topics = read(COS_2005)
    topic = topics["231"]
    assert (topic.kind, topic.ct_no, topic.parent) == ("CO+S", "98", "12")
    assert topics.castitles == {
        "231": '//article//sec[about(.,+"markov chains" +algorithm +graphs)]'
    }
    assert topics.line == (3,)


def test_the_titles_of_2002_keep_their_mark_up() -> None:
    (topic,) = read(
        '<INEX-Topic topic-id="01" query-type="CAS" ct-no="3"><Title><te>article/fm/au</te> '
        "<cw>software cost</cw><ce>tig</ce></Title><Keywords>cost</Keywords></INEX-Topic>"
    )
    assert topic.title == "<te>article/fm/au</te> <cw>software cost</cw> <ce>tig</ce>"
    assert (topic.id, topic.kind, topic.ct_no, topic.keywords) == ("01", "CAS", "3", "cost")


@pytest.mark.parametrize(
    ("topic", "kind"),
    [
        (Topic("1", title="yoga +exercise"), "CO"),
        (Topic("1"), "CO"),
        (Topic("1", title="yoga", castitle="//p"), "CO+S"),
        (Topic("1", castitle="//p"), "CAS"),
        (Topic("1", title="//p[about(., yoga)]"), "CAS"),
        (Topic("1", title="yoga", query_type="CAS"), "CAS"),
        (Topic("1", title="yoga", query_type="adhoc"), "CO"),
    ],
)
def test_the_kind_is_as_declared_else_by_content(topic: Topic, kind: str) -> None:
    assert Topics.of([topic]).kinds == {"1": kind}


def test_many_topics_in_one_file_keep_their_order() -> None:
    topics = read('<x><topic id="9"><title>a</title></topic>\n<topic id="10"/></x>')
    assert topics.ids == ("9", "10")
    assert topics.line == (1, 2)
    assert len(topics) == 2
    assert "9" in topics
    assert topics.to_frame().select("id", "title").rows() == [("9", "a"), ("10", None)]


def test_fields_of_other_elements_and_topics_within_topics_are_not_taken() -> None:
    text = '<topics><topic id="1"><x><title>no</title></x><topic id="2"/><title/></topic></topics>'
    assert [*read(text)] == [Topic("1")]


def test_trec_topics_leave_tags_open() -> None:
    first, second = read(TREC)
    assert first == Topic(
        "301",
        title="International Organized Crime",
        description="Identify organizations that\nparticipate.",
        narrative="A relevant document must ...",
    )
    assert second == Topic(
        "051",
        title="Airbus Subsidies",
        description="Document will discuss &amp; mention.",
        keywords="1. Airbus",
    )
    assert read(TREC).line == (1, 13)


def test_trec_topics_may_close_their_tags() -> None:
    text = "<top><num>1</num><title>a < b</title>\n<desc></desc><narr>c</narr></top>"
    assert [*read(text)] == [Topic("1", title="a < b", narrative="c")]
    assert [*read("<TOP><NUM>1<TITLE>a<top><num>2")] == [Topic("1", title="a"), Topic("2")]


def test_topics_in_json_lines() -> None:
    topics = read(
        '# c\n{"topic":"a","query":" yoga ","doc":"D"}\n{"topic":5,"title":"x","ct_no":7}\n'
    )
    assert [*topics] == [Topic("a", title="yoga"), Topic("5", title="x", ct_no="7")]
    assert topics.line == (2, 3)


@pytest.mark.parametrize(
    ("text", "code", "line"),
    [
        (CAS_2003[:-8], "xml.malformed", 10),
        ("<topics>\n<topic/></topics>", "topic.missing", 2),
        ('<topic id=" "/>', "topic.missing", 1),
        ("<topics/>", "topics.empty", None),
        ('<topic id="all"/>', "topic.reserved", 1),
        ('<t><topic id="1"/>\n<topic id="1"/></t>'.replace("t>", "topics>"), "topics.repeated", 2),
        ('<topic id="1"><title>a</title>\n<title>b</title></topic>', "topics.repeated_field", 2),
        ("<top>\n</top>", "topic.missing", 1),
        ("<top>\n<num>1\n<top>\n<num>2<num>3", "topics.repeated_field", 3),
        (b"<top>\n<num>\xff", "file.encoding", 2),
        ('{"title":"a"}', "topic.missing", 1),
        ('{"topic":"1","title":"a"}\n{', "json.syntax", 2),
        ('{"type":"header","format":"foveal-topics"}', "topics.empty", None),
    ],
)
def test_bad_topics_are_named(text: str | bytes, code: str, line: int | None) -> None:
    assert fault(read, text) == (code, line)


def test_a_directory_of_topics_is_one_set(tmp_path: Path) -> None:
    (tmp_path / "076.xml").write_text(CAS_2003)
    (tmp_path / "231.xml").write_text(COS_2005)
    topics = foveal.read_topics(tmp_path)
    assert topics.ids == ("76", "231")
    assert foveal.read_topics(tmp_path / "*.xml").ids == topics.ids
    (tmp_path / "again.jsonl").write_text('{"topic":"76","title":"x"}\n')
    message = refusal(foveal.read_topics, tmp_path)
    place = f"{tmp_path / 'again.jsonl'}:1"
    assert message == f"{place}: topic '76' is already given on line 1 of {tmp_path / '076.xml'}"
    assert refusal(foveal.read_topics, [], error=foveal.UsageError) == "no topics given"


def test_an_unknown_topic_is_an_error() -> None:
    message = refusal(read(CAS_2003).__getitem__, "9", error=foveal.UsageError)
    assert message == "no topic '9' among the 1 topics"


def test_topics_are_written_as_inex_xml(tmp_path: Path) -> None:
    foveal.write_topics(read(COS_2005), tmp_path / "out.xml", "inex")
    assert (tmp_path / "out.xml").read_text() == (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        "<inex-topic-file>\n"
        '<topic id="231" ct_no="98" query_type="CO+S">\n'
        "  <title>markov chains in graph related algorithms</title>\n"
        "  <castitle>//article//sec[about(.,+&quot;markov chains&quot; +algorithm +graphs)]"
        "</castitle>\n"
        "  <parent>12</parent>\n"
        "</topic>\n"
        "</inex-topic-file>\n"
    )


def test_trec_topics_are_written_with_their_labels() -> None:
    written = TOPIC_FORMATS["trec"](read(TREC))
    assert written.startswith(
        "<top>\n<num> Number: 301\n<title> International Organized Crime\n"
        "<desc> Description: Identify organizations that\nparticipate.\n<narr> Narrative: A rel"
    )


words = st.text("aé漢𝄞 <>&\"'+-:/\t\n\r", max_size=8).map(lambda text: text.strip(" \t\r\n"))
labels = st.sampled_from(["Topic: a", "Number: 5", "Description:", "Narrative : x", "Concepts: y"])
texts = st.none() | (words | labels).filter(bool)
ids = words.filter(lambda name: name and name != "all")


@st.composite
def topic_sets(draw: st.DrawFn) -> Topics:
    fields = ("title", "castitle", "description", "narrative", "keywords", "phrasetitle", "parent")
    every = [
        Topic(name, **{field: draw(texts) for field in (*fields, "query_type", "ct_no")})
        for name in draw(st.lists(ids, min_size=1, max_size=3, unique=True))
    ]
    return Topics.of(every)


@pytest.mark.parametrize("form", ["inex", "jsonl"])
@settings(max_examples=80)
@given(topics=topic_sets())
def test_everything_in_xml_and_json_lines(topics: Topics, form: str) -> None:
    assert read(TOPIC_FORMATS[form](topics)).topics == topics.topics


@settings(max_examples=150)
@given(topics=topic_sets())
def test_what_trec_has_a_field_for(topics: Topics) -> None:
    again = read(TOPIC_FORMATS["trec"](topics))
    kept = ("id", "title", "description", "narrative", "keywords")
    assert again.to_frame().select(kept).equals(topics.to_frame().select(kept))


real = pytest.mark.skipif(not DATA.exists(), reason="the real data are not beside the project")


@real
def test_the_topics_of_2009_as_they_are() -> None:
    topics = foveal.read_topics(DATA / "inex2009" / "topics.xml")
    assert len(topics) == 115
    assert set(topics.kinds.values()) == {"CO+S"}
    assert topics["2009001"] == Topic(
        "2009001",
        title="Nobel prize",
        castitle="//article[about(., Nobel prize)]",
        phrasetitle='"Nobel prize"',
        description="information about Nobel prize",
        narrative=topics["2009001"].narrative,
        ct_no="186",
    )
    assert topics["2009006"].title == "opera singer italian spanish -soprano"
    assert not any("&" in (value or "") for value in topics.castitles.values())
    again = read(TOPIC_FORMATS["inex"](topics))
    assert again.topics == topics.topics
