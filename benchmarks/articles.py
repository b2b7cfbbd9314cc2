"""A generated collection that resembles the Wikipedia of INEX 2006: its size, tags and nesting.

An article has 7 KB and 80 elements on average, most of them links and emphasis within
paragraphs, some in tables and lists; a few elements have tags that hardly any other has.
"""

from __future__ import annotations

from pathlib import Path
from random import Random

__all__ = ["PARTS", "generate"]

PARTS = ("part-0", "part-1", "part-2", "part-3")
"""Folders of about equal size."""

_FILES_PER_FOLDER = 1000
_POOL = 3000
_SYLLABLES = ("ka", "lo", "mi", "ter", "an", "dor", "shu", "ve", "né", "ost", "qua", "τα", "北")
_DOCTYPE = '<?xml version="1.0" encoding="UTF-8"?>\n<!DOCTYPE article SYSTEM "../article.dtd">\n'


def _text(random: Random, words: int) -> str:
    def word() -> str:
        return "".join(random.choices(_SYLLABLES, k=random.randint(1, 4)))

    return " ".join(word() for _ in range(words))


def _inline(random: Random, text: str) -> str:
    target, rare = random.randrange(10**6), int(random.paretovariate(0.8)) % 1200
    forms = {
        f'<collectionlink xlink:type="simple" xlink:href="{target}.xml">{text}</collectionlink>': 2,
        f'<collectionlink xlink:href="{target}.xml">{text}</collectionlink>': 8,
        f'<unknownlink src="{text}">{text}</unknownlink>': 3,
        f"<emph2>{text}</emph2>": 4,
        f"<emph3>{text}</emph3>": 2,
        "<br/>": 1,
        f"<template-{rare}>{text}</template-{rare}>": 1,
    }
    return random.choices(list(forms), weights=list(forms.values()))[0]


def _paragraph(random: Random) -> str:
    parts = []
    for _ in range(random.randint(2, 9)):
        parts.append(_text(random, random.randint(2, 9)))
        parts.append(_inline(random, _text(random, random.randint(1, 3))))
    return f"<p>{' '.join(parts)}.</p>\n"


def _block(random: Random) -> str:
    """A list, a table or a figure."""
    kind = random.choice(("list", "table", "figure"))
    if kind == "list":
        item = f"<item>{_text(random, 6)} {_inline(random, _text(random, 1))}</item>\n"
        return f"<normallist>\n{item * random.randint(2, 9)}</normallist>\n"
    if kind == "table":
        columns = random.randint(2, 6)
        cells = "".join(f"<cell>{_text(random, 2)}</cell>" for _ in range(columns))
        rows = f"<row>{cells}</row>\n" * random.randint(2, 7)
        return f"<table>\n{rows}</table>\n"
    image = f'<image width="150px" src="{_text(random, 1)}.jpg"/>'
    return f"<figure>{image}<caption>{_text(random, 6)}</caption></figure>\n"


def _section(random: Random, paragraphs: list[str], blocks: list[str], depth: int) -> str:
    parts = [f"<section>\n<title>{random.choice(_SYLLABLES)}</title>\n"]
    parts += random.choices(paragraphs, k=min(int(random.paretovariate(1.6)), 40))
    if random.random() < 0.3:
        parts.append(random.choice(blocks))
    if depth < 4:
        below = int(random.random() * 1.6)
        parts += (_section(random, paragraphs, blocks, depth + 1) for _ in range(below))
    return f"{''.join(parts)}</section>\n"


def _article(random: Random, number: int, paragraphs: list[str], blocks: list[str]) -> str:
    sections = (
        _section(random, paragraphs, blocks, 1)
        for _ in range(min(int(random.paretovariate(1.5)), 60))
    )
    lead = "".join(random.choices(paragraphs, k=random.randint(1, 4)))
    name = f'<name id="{number}">{random.choice(_SYLLABLES)}</name>'
    return (
        f'{_DOCTYPE}<article xmlns:xlink="http://www.w3.org/1999/xlink">\n{name}\n'
        f"<conversionwarning>0</conversionwarning>\n<body>\n{lead}{''.join(sections)}"
        f"</body>\n</article>\n"
    )


def generate(root: Path, size: int, seed: int = 0) -> int:
    """Write about `size` bytes of articles; the same arguments give the same bytes."""
    random = Random(seed)
    paragraphs = [_paragraph(random) for _ in range(_POOL)]
    blocks = [_block(random) for _ in range(_POOL // 10)]
    number = 0
    for part in PARTS:
        written = 0
        while written < size / len(PARTS):
            folder = root / part / f"{number // _FILES_PER_FOLDER:04}"
            folder.mkdir(parents=True, exist_ok=True)
            data = _article(random, number, paragraphs, blocks).encode()
            (folder / f"{number}.xml").write_bytes(data)
            written += len(data)
            number += 1
    return number
