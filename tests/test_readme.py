"""Every example of the README and the documentation runs and prints what the page shows.

Pages are worked through from top to bottom beside copies of ``examples`` and ``docs/schemas``. A
``python`` block is a doctest; in a ``console`` block, lines after ``$`` go to a shell and the lines
below are what it prints, ``...`` standing for any. ``<!-- file: NAME -->`` before a block makes it
a file, and ``<!-- not run -->`` leaves it alone.
"""

from __future__ import annotations

import doctest
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).resolve().parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(
    r"(?:^<!-- (?P<note>not run|file: \S+) -->\n+)?^```(?P<kind>\w+)\n(?P<text>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
FLAGS = doctest.ELLIPSIS | doctest.REPORT_NDIFF


class Block(NamedTuple):
    """A fenced block of a page, and what the comment before it says."""

    kind: str
    note: str
    text: str
    line: int


def blocks(page: Path) -> list[Block]:
    text = page.read_text()
    return [
        Block(m["kind"], m["note"] or "", m["text"], text.count("\n", 0, m.start("text")) + 1)
        for m in BLOCK.finditer(text)
    ]


def check_console(block: Block, folder: Path) -> Path:
    """Run the commands of a block; returns the folder they end in."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    for part in re.split(r"^\$ ", block.text, flags=re.MULTILINE)[1:]:
        command, _, expected = part.partition("\n")
        if command.startswith("cd "):
            folder = folder / command[3:]
            continue
        done = subprocess.run(
            ["bash", "-c", command],
            cwd=folder,
            env=os.environ | {"PATH": path, "COLUMNS": "100"},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=60,
        )
        if not doctest.OutputChecker().check_output(expected, done.stdout, FLAGS):
            shown = f"expected:\n{expected}found:\n{done.stdout}"
            pytest.fail(f"block at line {block.line}: $ {command}\n{shown}", pytrace=False)
    return folder


def name(page: Path) -> str:
    return str(page.relative_to(ROOT).with_suffix(""))


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_examples_of_a_page(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    shutil.copytree(ROOT / "docs" / "schemas", tmp_path / "schemas")
    folder, names = tmp_path, {"__name__": "example"}
    runner = doctest.DocTestRunner(optionflags=FLAGS)
    for block in blocks(page):
        monkeypatch.chdir(folder)
        if block.note.startswith("file: "):
            (folder / block.note.removeprefix("file: ")).write_text(block.text)
        elif block.note:
            continue
        elif block.kind == "console":
            folder = check_console(block, folder)
        elif block.kind == "python":
            test = doctest.DocTestParser().get_doctest(
                block.text, names, page.name, str(page), block.line
            )
            assert test.examples, f"line {block.line}: a python block without >>>"
            failed = runner.run(test, clear_globs=False).failed
            names = test.globs
            assert not failed, capsys.readouterr().out


def test_make_demo_is_the_demo() -> None:
    assert "foveal demo\n" in (ROOT / "Makefile").read_text()


def test_the_readme_is_short_and_names_no_machine() -> None:
    assert len((ROOT / "README.md").read_text().splitlines()) < 170
    for page in [*PAGES, ROOT / "CHANGELOG.md"]:
        assert not re.search(r"(?<![\w.<])/(work|home|root|tmp|Users)/", page.read_text()), page
