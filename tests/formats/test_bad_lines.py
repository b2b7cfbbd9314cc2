"""Bad lines of every format of lines: each is named once, by its number and a code."""

from __future__ import annotations

import pytest

from foveal.formats import parse_file
from inputs import fault, read_judgements, read_run, text_source

# Each line is the code of a problem and a line that has it.
PASSAGES = """\
line.fields 1 Q0 D1 1 0.5 r 0
line.fields 1 Q0 D1 1 0.5 r 0 20 9
line.fields 1 Q0 D1 1 0.5  0 20
line.fields 1 Q0\tX D1 1 0.5 r 0 20
run.score 1 Q0 D1 1 high r 0 20
run.score 1 Q0 D1 1 nan r 0 20
run.score 1 Q0 D1 1 -inf r 0 20
run.score 1 Q0 D1 1 1e999 r 0 20
run.score 1 Q0 D1 1 \u0665 r 0 20
span.offset 1 Q0 D1 1 0.5 r -3 20
span.offset 1 Q0 D1 1 0.5 r 0 -5
span.offset 1 Q0 D1 1 0.5 r 0 9223372036854775807
span.offset 1 Q0 D1 1 0.5 r 9223372036854775807 5
line.number 1 Q0 D1 1 0.5 r X 20
line.number 1 Q0 D1 1 0.5 r 0 2.5
line.number 1 Q0 D1 1 0.5 r 0 99999999999999999999
topic.reserved all Q0 D1 1 0.5 r 0 20
"""
PASSAGE_JUDGEMENTS = """\
line.fields 1 Q0 D2 30
line.number 1 Q0 D2 x 100
line.number 1 Q0 D2 -5 100
line.number 1 Q0 D2 10 1e2
line.number 1 Q0 D2 0 9223372036854775807
line.number 1 Q0 D2 10 50 here 0:10
judgements.length 1 Q0 D2 60 50 0 0:60
judgements.length 1 Q0 D2 10 50 0 45:10
judgements.sum 1 Q0 D2 10 50 0 0:9
judgements.sum 1 Q0 D2 10 50
judgements.bep 1 Q0 D2 10 50 60 0:10
judgements.passage 1 Q0 D2 10 50 0 0-10
judgements.passage 1 Q0 D2 10 50 0 0:10:5
judgements.passage 1 Q0 D2 10 50 0 9223372036854775807:9
judgements.overlap 1 Q0 D2 10 50 0 0:5 4:5
judgements.repeated 1 Q0 D1 0 100
judgements.repeated 1 Q0 D1 30 100 10 10:30
topic.reserved all Q0 D2 0 50
"""
ELEMENTS = """\
line.fields 1 Q0 D1 1 0.5 r
line.fields 1 Q0 D1 1 0.5 r /a b
run.xpath 1 Q0 D1 1 0.5 r article[1]
run.score 1 Q0 D1 1 nan r /a
run.score 1 Q0 D1 1 x r /a
topic.reserved all Q0 D1 1 1 r /a
"""
DOCUMENTS = """\
line.fields 1 Q0 D2 1 0.5
line.fields 1 Q0 D2 1 0.5 r 7
line.fields 1 Q0 D2 1 0.5 r /a[1]
line.fields 1 Q0 D2 1 0.5 r a[1]/b
line.fields 1 Q0 D2 1 0.5 r 0 7
line.fields 1 Q0 D2 1 0.5 r X 7
run.score 1 Q0 D2 1 x r
run.score 1 Q0 D2 1 inf r
topic.reserved all Q0 D2 1 1 r
"""
DOCUMENT_JUDGEMENTS = """\
line.fields 1 0 B
line.fields 1 0 B 1 1
line.fields 1  B 1
line.number 1 0 B high
judgements.repeated 1 0 A 0
judgements.repeated 1 0 A 1
topic.reserved all 0 B 1
"""
OBJECTS = """\
topic.missing {"doc":"D"}
doc.missing {"topic":"1"}
doc.missing {"topic":"1","doc":""}
topic.reserved {"topic":"all","doc":"D"}
span.incomplete {"topic":"1","doc":"D","start":5}
span.incomplete {"topic":"1","doc":"D","end":5}
span.offset {"topic":"1","doc":"D","start":9,"end":5}
span.offset {"topic":"1","doc":"D","start":-1,"end":5}
span.offset {"topic":"1","doc":"D","start":0,"end":-1}
span.offset {"topic":"1","doc":"D","bep":-1}
span.offset {"topic":"1","doc":"D","start":0,"end":9223372036854775807}
json.value {"topic":"1","doc":"D","start":"0","end":5}
json.value {"topic":"1","doc":"D","start":0.5,"end":5}
json.value {"topic":"1","doc":"D","start":0,"end":1e15}
json.value {"topic":"1","doc":"D","score":"high"}
json.value {"topic":"1","doc":"D","score":1e999}
json.value {"topic":"1","doc":"D","rank":"1"}
json.value ["1","D"]
json.syntax {"topic":"1","doc":"D","score":NaN}
json.syntax {"topic":NaN,"doc":"D"}
json.syntax {"topic":"1","doc":"D"
json.syntax {"topic":"1","doc":"D"} {"topic":"1","doc":"E"}
run.rank {"topic":"1","doc":"D","rank":-1}
run.xpath {"topic":"1","doc":"D","xpath":"a/b"}
run.text_alone {"topic":"1","doc":"D","text":"words"}
json.header {"type":"header","format":"foveal-run","version":1,"run":"bm25-p"}
"""
JUDGED_OBJECTS = """\
topic.missing {"doc":"D","spans":[]}
doc.missing {"topic":"1","document":"D","spans":[]}
judgements.spans {"topic":"1","doc":"D"}
topic.reserved {"topic":"all","doc":"D","spans":[]}
json.value {"topic":"1","doc":"D","spans":5}
json.value {"topic":"1","doc":"D","spans":[[1,2]]}
json.value {"topic":"1","doc":"D","spans":[{"start":"a","end":1}]}
json.value {"topic":"1","doc":"D","spans":[{"start":0,"end":1,"grade":"high"}]}
json.value {"topic":"1","doc":"D","spans":[],"elements":[{"xpath":"/a","size":"9"}]}
span.incomplete {"topic":"1","doc":"D","spans":[{"start":1}]}
span.offset {"topic":"1","doc":"D","spans":[{"start":5,"end":1}]}
span.offset {"topic":"1","doc":"D","spans":[{"start":-5,"end":1}]}
span.offset {"topic":"1","doc":"D","spans":[{"start":0,"end":-1}]}
judgements.length {"topic":"1","doc":"D","length":9,"spans":[{"start":0,"end":10}]}
judgements.length {"topic":"1","doc":"D","length":-9,"spans":[]}
judgements.length {"topic":"1","doc":"D","length":4611686018427387904,"spans":[]}
judgements.bep {"topic":"1","doc":"D","bep":-9,"spans":[]}
judgements.bep {"topic":"1","doc":"D","length":8,"bep":9,"spans":[]}
span.names {"topic":"1","doc":"D","spans":[{"start":0,"end":1,"slots":[""]}]}
span.names {"topic":"1","doc":"D","spans":[{"start":0,"end":1,"sets":[null]}]}
span.names {"topic":"1","doc":"D","spans":[{"start":0,"end":1,"slots":[["x"]]}]}
judgements.repeated {"topic":"1","doc":"D1","spans":[]}
json.syntax {"topic":"1"
"""
TABLES = [
    ("run", "1 Q0 D1 1 0.5 mine 0 20", PASSAGES),
    ("judgements", "1 Q0 D1 30 100 10 10:30", PASSAGE_JUDGEMENTS),
    ("run", "1 Q0 D1 1 0.5 mine /article[1]/bdy[1]", ELEMENTS),
    ("run", "1 Q0 D1 1 0.5 mine", DOCUMENTS),
    ("judgements", "1 0 A 1", DOCUMENT_JUDGEMENTS),
    ("run", '{"topic":"1","doc":"D","start":0,"end":20}', OBJECTS),
    ("judgements", '{"topic":"1","doc":"D1","length":100,"spans":[]}', JUDGED_OBJECTS),
]


@pytest.mark.parametrize(("kind", "good", "table"), TABLES)
def test_a_bad_line_is_named_once(kind: str, good: str, table: str) -> None:
    read = {"run": read_run, "judgements": read_judgements}[kind]
    cases = [row.split(" ", 1) for row in table.splitlines()]
    for code, line in cases:
        assert fault(read, f"{good}\n# comment\n{line}\n") == (code, 3), line
    cases = [(code, line) for code, line in cases if code != "judgements.repeated"]
    lines = [good, *(line for _, line in cases)]
    found = parse_file(text_source("\n".join([*lines, good] if kind == "run" else lines)), kind)
    problems = sorted((own.line, own.code) for own in found.problems if "repeated" not in own.code)
    assert problems == [(number, code) for number, (code, _) in enumerate(cases, 2)]
    assert kind == "judgements" or len(found.content) == 2


def test_an_object_nested_too_deeply_is_named() -> None:
    assert fault(read_run, '{"topic":"1","doc":"D"}\n{"topic":' + "[" * 99_999) == (
        "json.syntax",
        2,
    )
