"""A small campaign of 2005: assessments of three pools, and runs that declare their tasks."""

from __future__ import annotations

from pathlib import Path

SIZES = {
    "/article[1]": (2, 100, 40),
    "/article[1]/sec[1]": (2, 50, 40),
    "/article[1]/sec[1]/p[1]": (1, 40, 40),
}
"""Exhaustivity, size and relevant size of the elements of document A: gen 0.8, 1.6 and 1."""

RUNS = {
    "thorough": ("CO.Thorough", {"202": ["A /article[1]/sec[1]", "A /article[1]"]}),
    "focussed": (
        "CO.Focussed",
        {"202": ["A /article[1]/sec[1]"], "203": ["A /article[1]", "B /article[1]"]},
    ),
    "structured": ("COS.Focussed", {"203": ["B /article[1]/sec[1]"]}),
    "browsed": ("CO.FetchBrowse", {"202": ["A /article[1]/sec[1]/p[1]", "A /article[1]/sec[1]"]}),
    "strict": ("SSCAS", {"250": ["B /article[1]"]}),
}
"""Run to the task it declares and the ranked elements of each topic."""


def assessments(topic: str, pool: str, docs: dict[str, dict[str, tuple[int, int, int]]]) -> str:
    """The file of one pool; its topic's type is not recorded."""
    files = []
    for doc, elements in docs.items():
        inside = "".join(
            f'<element path="{path}" exhaustivity="{e}" size="{size}" rsize="{rsize}"/>\n'
            for path, (e, size, rsize) in elements.items()
        )
        files.append(f'<file collection="ieee" name="{doc}">\n{inside}</file>\n')
    opening = f'<assessments pool="{pool}" topic="{topic}" version="2">\n'
    return f"{opening}{''.join(files)}</assessments>\n"


def with_type(text: str, kind: str) -> str:
    """Assessments that record the type of their topic."""
    opening, line, rest = text.partition("\n")
    return f'{opening}{line}<inex_topic topic_id="1" query_type="{kind}">x</inex_topic>\n{rest}'


def submission(name: str, task: str | None, results: dict[str, list[str]]) -> str:
    declared = "" if task is None else f' task="{task}"'
    parts = [f'<inex-submission participant-id="1" run-id="{name}"{declared}>\n']
    for topic, ranked in results.items():
        parts.append(f'<topic topic-id="{topic}">\n')
        for rank, result in enumerate(ranked, 1):
            doc, path = result.split()
            place = f"<file>{doc}</file><path>{path}</path><rank>{rank}</rank>"
            parts.append(f"<result>{place}</result>\n")
        parts.append("</topic>\n")
    return "".join([*parts, "</inex-submission>\n"])


def write_campaign(folder: Path) -> Path:
    """``official/`` with two CO+S pools and one of CAS, and ``runs/`` with a run of each task."""
    pools = {
        ("CO+S", "202", "297"): {"A": SIZES, "C": {}},
        ("CO+S", "203", "275"): {"B": {"/article[1]": (1, 60, 60)}},
        ("CAS", "250", "301"): {"B": {"/article[1]": (2, 60, 30)}},
    }
    for (kind, topic, pool), docs in pools.items():
        place = folder / "official" / kind / pool
        place.mkdir(parents=True)
        text = with_type(assessments(topic, pool, docs), kind)
        (place / f"topic{topic}.xml").write_text(text)
    (folder / "runs").mkdir()
    for name, (task, results) in RUNS.items():
        (folder / "runs" / f"{name}.xml").write_text(submission(name, task, results))
    return folder
