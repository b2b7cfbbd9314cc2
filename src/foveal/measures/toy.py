"""The toy campaign on which every measure's example runs.

Three documents of 100, 50 and 40 characters. In D1 the passages [10,40) and [70,80) are relevant
and the best entry point is 10; D2 is relevant throughout, entered at 0; D3 is not relevant. D1 is
an element a with sections s of 60 and 40 characters, which hold three and two paragraphs p of 20;
D2 and D3 have two paragraphs each. Exhaustivity is graded as in 2005.
"""

from __future__ import annotations

import json
from typing import Any

import polars as pl

from foveal.files.source import Source
from foveal.formats import answers
from foveal.formats.xpaths import canonical
from foveal.measures.alignment import Alignment, Gold
from foveal.measures.measure import Example, Measure, Need
from foveal.model import Judgements, Run
from foveal.recall import Forest

JUDGEMENTS: dict[str, dict[str, dict[str, Any]]] = {
    "toy": {
        "D1": {"length": 100, "bep": 10, "spans": [(10, 40), (70, 80)]},
        "D2": {"length": 50, "bep": 0, "spans": [(0, 50)]},
        "D3": {"length": 40, "spans": []},
    }
}
PLACES = {
    "D1": {
        "/a[1]": (0, 100),
        "/a[1]/s[1]": (0, 60),
        "/a[1]/s[1]/p[1]": (0, 20),
        "/a[1]/s[1]/p[2]": (20, 40),
        "/a[1]/s[1]/p[3]": (40, 60),
        "/a[1]/s[2]": (60, 100),
        "/a[1]/s[2]/p[1]": (60, 80),
        "/a[1]/s[2]/p[2]": (80, 100),
    },
    "D2": {"/a[1]": (0, 50), "/a[1]/p[1]": (0, 25), "/a[1]/p[2]": (25, 50)},
    "D3": {"/a[1]": (0, 40), "/a[1]/p[1]": (0, 20), "/a[1]/p[2]": (20, 40)},
}
"""Start and end of the elements of each document."""
_GRADES = {"D1": "22120110", "D2": "212"}  # exhaustivity of these elements; D3 is not assessed
ELEMENTS = {
    doc: [
        (xpath, grade, end - start, sum(max(0, min(end, b) - max(start, a)) for a, b in spans))
        for (xpath, (start, end)), grade in zip(PLACES[doc].items(), grades, strict=True)
    ]
    for doc, grades in _GRADES.items()
    for spans in [JUDGEMENTS["toy"][doc]["spans"]]
}
"""XPath, exhaustivity, size and rsize of the assessed elements."""


def judgements() -> Judgements:
    """Return the toy judgements: highlights, best entry points and assessed elements."""
    highlights = Judgements.from_highlights(JUDGEMENTS)
    place = {doc: row for row, doc in enumerate(highlights.doc)}
    assessed = [(place[doc], *element) for doc, listed in ELEMENTS.items() for element in listed]
    columns = ["row", "xpath", "exhaustivity", "size", "rsize"]
    elements = pl.DataFrame(assessed, schema=columns, orient="row")
    return highlights.with_columns(elements=elements, header={"scale": "2005"})


def parse_run(text: str) -> pl.DataFrame:
    """Parse results written as ``D1:20-40`` or ``D1:/a/s[1]``, with or without the ordinal 1.

    >>> parse_run("D1:20-40 D2:/a").rows()
    [('toy', 'D1', 20, 40, None), ('toy', 'D2', 0, 50, '/a[1]')]
    """
    results: list[tuple[str, str, int, int, str | None]] = []
    for item in text.split():
        doc, _, place = item.partition(":")
        xpath = canonical(place)
        if xpath is not None:
            results.append(("toy", doc, *PLACES[doc][xpath], xpath))
        else:
            start, _, end = place.partition("-")
            results.append(("toy", doc, int(start), int(end), None))
    columns = {"topic": pl.String, "doc": pl.String, "start": pl.Int64, "end": pl.Int64}
    return pl.DataFrame(results, schema=columns | {"xpath": pl.String}, orient="row")


def parse_answers(text: str) -> Run:
    """Parse the sentences of an answer and, after ``|``, the results that it was made from.

    A sentence is ``-`` or lists its citations with commas. Document D4 does not exist.

    >>> run = parse_answers("D1:20-40,D2:0-50 - D4:0-9 | D1:0-100")
    >>> len(run), len(run.answers.citations), len(run.retrieved)
    (2, 4, 1)
    """
    answer, _, retrieved = text.partition("|")
    cited = (parse_run(own.strip("-").replace(",", " ")) for own in answer.split())
    sentences = [{"citations": own.select("doc", "start", "end").to_dicts()} for own in cited]
    line = json.dumps({"topic": "toy", "answer": sentences})
    texts = {doc: "x" * judged["length"] for doc, judged in JUDGEMENTS["toy"].items()}
    run: Run = answers.parse_answers(Source.of_text(line, "answers"), texts=texts).get_content()
    return run.with_columns(retrieved=Run.from_frame(parse_run(retrieved), name="retrieved"))


def run_example(measure: Measure, example: Example) -> float:
    """Return the score of an example's run on the toy campaign.

    >>> from foveal.measures import AiP
    >>> round(run_example(AiP, AiP.example), 4)
    0.8304
    """
    truth = judgements().combined()
    gold = Gold(truth, forest=Forest.from_assessments(truth))
    if Need.ANSWERS in measure.needs:
        run = parse_answers(example.run)
    else:
        run = Run.from_frame(parse_run(example.run), name="example")
    return float(measure.score_topics(Alignment(run, gold))[0])
