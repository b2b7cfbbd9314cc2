"""Measures of other packages: found by their entry points, named like ours, refused if bad."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from foveal.errors import UsageError
from foveal.measures import all_measures
from foveal.measures.measure import GROUP, _load_entry_points

MODULE = """\
from foveal.measures import Measure
from foveal.measures.measure import Example

class Wasted(Measure):
    '''Share of the returned characters that nobody wants.'''

    name = "wasted"
    aliases = ("ballast",)
    formula = "wasted = 1 - charP"
    source = "a test"
    example = Example("D1:20-40 D3:0-40", 0.6667)
    higher_is_better = False

    def score_topic(self, topic):
        return 1 - topic.rsize.sum() / max(topic.size.sum(), 1)

class Bare(Measure):
    name = "bare"
    formula = "none"

class Usurper(Wasted):
    name = "iP"
    aliases = ()

class Second(Wasted):
    name = "second"
    aliases = ("wasted",)

something = 3
"""


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder that holds a package as an installer leaves it behind, and is on the path."""
    (tmp_path / "others_measures.py").write_text(MODULE)
    (tmp_path / "broken_measures.py").write_text("raise RuntimeError('out of order')\n")
    described = tmp_path / "others-1.0.dist-info"
    described.mkdir()
    (described / "METADATA").write_text("Metadata-Version: 2.1\nName: others\nVersion: 1.0\n")
    (described / "entry_points.txt").write_text(f"[{GROUP}]\nwasted = others_measures:Wasted\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    yield tmp_path
    for name in ("others_measures", "broken_measures"):
        sys.modules.pop(name, None)


def point(value: str, name: str = "one") -> EntryPoint:
    return EntryPoint(name, value, GROUP)


def foveal(*arguments: str, path: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "foveal", *arguments],
        cwd=path,
        env=os.environ | {"PYTHONPATH": str(path)},
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_measure_of_another_package_is_named_explained_and_scored(package: Path) -> None:
    (package / "my.run").write_text("1 Q0 d 1 2 near 0 10\n1 Q0 d 2 1 near 10 10\n")
    (package / "far.run").write_text("1 Q0 d 1 1 far 90 10\n")
    (package / "my.qrels").write_text("1 Q0 d 15 100 0 0:15\n")
    explained = foveal("measures", "ballast", path=package)
    assert explained.stdout.startswith("wasted\n======\n"), explained.stderr
    assert explained.stdout.endswith("  wasted = 0.6667\n")
    assert foveal("measures", path=package).stdout.splitlines()[-1].startswith("  wasted ")
    scored = foveal(
        *("evaluate", "my.run", "far.run", "-j", "my.qrels"),
        *("-m", "wasted", "-f", "markdown"),
        path=package,
    )
    # Lower is better by its declaration, so that the lower one is the best.
    assert scored.stdout.endswith("| near | **0.2500** |\n| far | 1.0000 |\n"), scored.stderr


def test_those_of_other_packages_come_in_the_order_of_their_names(package: Path) -> None:
    points = [point("others_measures:Wasted", "z"), point("others_measures:Usurper", "a")]
    found = _load_entry_points(points, own=())
    assert [measure.name for measure in found] == ["iP", "wasted"]
    assert _load_entry_points([], own=all_measures()) == []


@pytest.mark.parametrize(
    ("value", "why"),
    [
        ("absent_measures:Wasted", "cannot be used (ModuleNotFoundError: No module named"),
        ("others_measures:Absent", "cannot be used (AttributeError: "),
        ("broken_measures:Wasted", "cannot be used (RuntimeError: out of order)"),
        ("others_measures:something", "cannot be used ("),
        ("others_measures", "cannot be used (TypeError: 'module' object is not callable"),
        ("others_measures:Bare", "has no attribute 'source'"),
        ("others_measures:Usurper", "the name 'iP' is that of Foveal itself"),
    ],
)
def test_a_bad_one_is_refused_with_who_brought_it(package: Path, value: str, why: str) -> None:
    with pytest.raises(UsageError) as refused:
        _load_entry_points([point(value)], own=all_measures())
    assert str(refused.value).startswith(
        f"the measure of the entry point 'one = {value}' ({GROUP})"
    )
    assert why in str(refused.value)


def test_two_packages_cannot_bring_the_same_name(package: Path) -> None:
    points = [point("others_measures:Wasted", "a"), point("others_measures:Second", "b")]
    with pytest.raises(UsageError, match="'wasted' is that of a = others_measures:Wasted"):
        _load_entry_points(points, own=())


def test_the_command_says_which_entry_point_is_bad(package: Path) -> None:
    points = package / "others-1.0.dist-info" / "entry_points.txt"
    points.write_text(f"[{GROUP}]\nx = broken_measures:X\n")
    assert foveal("measures", "iP", path=package).returncode == 0  # it asks no other package
    done = foveal("measures", path=package)
    assert done.returncode == 2
    assert done.stderr.startswith("foveal: the measure of the entry point 'x = broken_measures:X'")
    assert done.stderr.count("\n") == 1
