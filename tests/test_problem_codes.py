"""The table of problem codes: every code that the source uses, and no other."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import foveal
from foveal.problem_codes import CODES

SOURCE = Path(foveal.__file__).parent
CODE = re.compile(r"[a-z]+(_[a-z]+)*\.[a-z]+(_[a-z]+)*")
AREAS = {code.partition(".")[0] for code in CODES}
OTHERS = re.compile(r".*\.(html|jsonl?|xml|qrels|txt|css)|.*_source\..*")
"""Names of files, which look alike."""
MADE = {
    *(
        f"{kind}.{word}"
        for kind in ("run", "judgements", "topics", "pool", "results")
        for word in ("empty", "format")
    ),
    *(f"{field}.missing" for field in ("topic", "doc")),
}
"""Codes that are made of a kind of file or the name of a field."""


def list_codes() -> Iterator[tuple[str, str]]:
    """Yield texts of the source that are codes, with their places."""
    for path in sorted(SOURCE.rglob("*.py")):
        if path.name == "problem_codes.py":
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                text = node.value
                if CODE.fullmatch(text) and text.partition(".")[0] in AREAS:
                    yield text, f"{path.relative_to(SOURCE)}:{node.lineno}"


USED = {text: place for text, place in list_codes() if text in CODES or not OTHERS.fullmatch(text)}


def test_every_code_is_in_the_table() -> None:
    assert {code: place for code, place in USED.items() if code not in CODES} == {}


def test_every_code_of_the_table_is_used() -> None:
    assert set(CODES) - set(USED) - MADE == set()


@pytest.mark.parametrize("code", CODES)
def test_a_meaning_is_a_sentence(code: str) -> None:
    assert CODE.fullmatch(code)
    assert re.fullmatch(r"[A-Z].*\.", CODES[code])
