"""Cut the handbook into chunks in three ways, rank them for every question, and write the runs.

    python examples/make_handbook.py

A run has the text of each chunk, as retrievers for language models return it; Foveal finds the
place of the text in the documents. The ranking is BM25.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from pathlib import Path

FOLDER = Path(__file__).parent / "handbook"
DOCUMENTS = {path.stem: path.read_text() for path in sorted((FOLDER / "documents").glob("*.md"))}
LISTED = 10


def cut_characters(text: str, size: int = 250) -> list[str]:
    """Cut a text every `size` characters."""
    return [text[start : start + size] for start in range(0, len(text), size)]


def cut_sections(text: str) -> list[str]:
    """Cut a text at its headings."""
    return [part.strip() for part in re.split(r"^(?=#)", text, flags=re.MULTILINE) if part.strip()]


def cut_sentences(text: str) -> list[str]:
    """Cut a text after its sentences, and leave out headings."""
    parts = re.split(r"(?<=[.:])\s+|\n\n+", text)
    return [part for part in parts if part.strip() and not part.startswith("#")]


def list_words(text: str) -> list[str]:
    """Return the words in lower case, cut to six letters so that plurals match."""
    return [word[:6] for word in re.findall(r"[a-z0-9]+", text.lower())]


def rank(question: str, chunks: list[tuple[str, str]]) -> list[tuple[float, str, str]]:
    """Return the best chunks by BM25 with their scores."""
    bags = [Counter(list_words(text)) for _, text in chunks]
    mean = sum(bag.total() for bag in bags) / len(bags)
    scores = [0.0] * len(bags)
    for word in set(list_words(question)):
        holders = sum(word in bag for bag in bags)
        idf = math.log(1 + (len(bags) - holders + 0.5) / (holders + 0.5))
        for i, bag in enumerate(bags):
            length = 0.25 + 0.75 * bag.total() / mean
            scores[i] += idf * bag[word] * 2.2 / (bag[word] + 1.2 * length)
    best = sorted(range(len(chunks)), key=lambda i: (-scores[i], i))[:LISTED]
    return [(scores[i], *chunks[i]) for i in best if scores[i] > 0]


def main() -> None:
    """Write a run for each way to cut."""
    lines = (FOLDER / "questions.jsonl").read_text().splitlines()
    questions = {own["topic"]: own["title"] for own in map(json.loads, lines)}
    for cut in (cut_characters, cut_sections, cut_sentences):
        chunks = [(doc, part) for doc, text in DOCUMENTS.items() for part in cut(text)]
        rows = [
            {"topic": topic, "doc": doc, "score": round(score, 3), "text": text}
            for topic, question in questions.items()
            for score, doc, text in rank(question, chunks)
        ]
        path = FOLDER / "runs" / f"{cut.__name__.removeprefix('cut_')}.jsonl"
        path.parent.mkdir(exist_ok=True)
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))


if __name__ == "__main__":
    main()
