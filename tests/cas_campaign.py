"""A campaign of structured topics: two articles, one topic with two conditions, its sub-topic.

Everything judged relevant is worth 1, so that gains tell which elements count.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

QUERY = "//article[about(.//abs, bobbin lace) and .//yr > 1990]//sec[about(., knots)]"
YEARS = {"lace": 1999, "rope": 1987, "net": 2004}
SEC, P = "/article[1]/sec[1]", "/article[1]/sec[1]/p[1]"
RANKED = [f"{doc} {xpath}" for doc in YEARS for xpath in (SEC, P)]
KEPT = {
    "VV": [1, 1, 1, 1, 1, 1],
    "SV": [1, 0, 1, 0, 1, 0],
    "VS": [1, 1, 0, 0, 0, 0],
    "SS": [1, 0, 0, 0, 0, 0],
}
"""What the ranked elements gain: rope is too old, and the abstract of net was not judged."""


def document(year: int) -> str:
    front = f"<fm><yr>{year}</yr><abs>{'a' * 16}</abs></fm>"
    return f"<article>{front}<sec><p>{'x' * 10}</p></sec></article>"


def json_lines(*objects: dict[str, Any]) -> str:
    return "".join(json.dumps(each) + "\n" for each in objects)


def judged(topic: str, doc: str, *xpaths: str, size: int = 10) -> dict[str, Any]:
    elements = [{"xpath": xpath, "size": size, "rsize": size} for xpath in xpaths]
    return {"topic": topic, "doc": doc, "elements": elements}


def write(folder: Path) -> Path:
    """Documents, topics, a run, and judgements: as elements, as highlights, of the sub-topic."""
    (folder / "documents").mkdir()
    for doc, year in YEARS.items():
        (folder / "documents" / f"{doc}.xml").write_text(document(year))
    header = {"type": "header", "format": "foveal-judgements", "scale": "2006"}
    elements = [judged("1", doc, SEC, P) for doc in YEARS]
    (folder / "elements.jsonl").write_text(json_lines(header, *elements))
    spans = [{"topic": "1", "doc": doc, "spans": [{"start": 20, "end": 30}]} for doc in YEARS]
    (folder / "highlights.jsonl").write_text(json_lines(header, *spans))
    abstracts = [judged("2", doc, "/article[1]/fm[1]/abs[1]", size=16) for doc in ("lace", "rope")]
    (folder / "support.jsonl").write_text(json_lines(header, *abstracts))
    (folder / "topics.jsonl").write_text(
        json_lines(
            {"topic": "1", "castitle": QUERY},
            {"topic": "2", "castitle": "//article//abs[about(., bobbin lace)]", "parent": "1"},
        )
    )
    lines = [
        f"1 Q0 {result.split()[0]} {rank} {9 - rank} mine {result.split()[1]}\n"
        for rank, result in enumerate(RANKED, 1)
    ]
    (folder / "run").write_text("".join(lines))
    return folder
