"""Scripts for gnuplot run through it without a complaint, and hold what they plot."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from html import unescape
from pathlib import Path

import numpy as np
import pytest

from foveal.model.graphs import Axis, Graph, Line
from foveal.report.drawing import PALETTE, gnuplot

PROGRAM = shutil.which("gnuplot")
needs_gnuplot = pytest.mark.skipif(PROGRAM is None, reason="gnuplot is not installed")

X = np.linspace(0, 1, 40)
CURVES = Graph(
    "ip",
    "Curves",
    Axis("recall", "share", low=0, high=1),
    Axis("precision", low=0),
    (
        *(Line(f"run {i}", X, (1 - X) / (i + 1), series=i) for i in range(11)),
        Line("ideal", X, 1 - X / 2),
        Line("", np.array([0.5, 0.5]), np.array([0, 1.0]), "aid"),
    ),
)
STEPS = Graph(
    "lengths",
    "Steps",
    Axis("length", log=True),
    Axis("share", low=0, high=1),
    (Line("a", np.array([10.0, 100, 1000]), np.array([0.1, 0.5, 1]), "steps", series=0),),
)
BARS = Graph(
    "differences",
    'it\'s "quoted" `echo` @a %s \\n',
    Axis("topic", names=("t'1", 't"2', "<&> 50%: %s")),
    Axis("difference"),
    (
        Line("a - b", np.arange(3.0), np.array([0.5, np.nan, -0.25]), "bars", series=0),
        Line("mean", np.array([-0.5, 2.5]), np.array([0.125, 0.125]), "level"),
    ),
)
POINTS = Graph(
    "topics",
    "Points",
    Axis("score", low=0),
    Axis("run", low=-0.5, high=1.5, names=("a", "b_1")),
    (Line("a", np.array([0.1, 0.4]), np.array([0, 0.1]), "points", series=0),),
)
FLAT = Graph(
    "overlap", "Flat", Axis("rank"), Axis("share", low=0), (Line("z", X, 0 * X, series=0),)
)
VOID = Graph("ep", "Void", Axis("rank"), Axis("ep"), (Line("n", X, X + np.nan, series=0),))
GRAPHS = {
    graph.title.split()[0]: (graph,) for graph in (CURVES, STEPS, BARS, POINTS, FLAT, VOID)
} | {"several": (BARS, POINTS, CURVES)}


def plotted(script: str) -> tuple[str, str]:
    """What gnuplot draws as SVG, and what it complains about."""
    assert PROGRAM is not None
    done = subprocess.run(
        [PROGRAM, "-e", "set term svg size 900,1200", "-"],
        input=script,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout, done.stderr


@needs_gnuplot
@pytest.mark.parametrize("name", GRAPHS)
def test_gnuplot_draws_every_kind_without_a_word(name: str) -> None:
    picture, complaints = plotted(gnuplot(GRAPHS[name], "gnuplot"))
    assert complaints == ""
    words = unescape(re.sub(r"<[^>]+>", "", picture))
    for graph in GRAPHS[name]:
        assert graph.title in words
        assert graph.x.text in words
        for line in graph.lines:
            assert line.name in words or np.isnan(line.y).all()
        for text in (*graph.x.names, *graph.y.names):
            assert text in words


@needs_gnuplot
def test_a_script_from_the_command_line_is_a_picture(tmp_path: Path) -> None:
    (tmp_path / "run").write_text("".join(f"1 Q0 D{i} {i} {9 - i} mine 0 9\n" for i in range(1, 5)))
    (tmp_path / "qrels").write_text("1 Q0 D2 9 20 0 0:9\n")
    command = [sys.executable, "-m", "foveal", "plot", "ip", "run", "-j", "qrels", "-o", "ip.gp"]
    subprocess.run(command, cwd=tmp_path, check=True)
    picture, complaints = plotted((tmp_path / "ip.gp").read_text())
    assert complaints == ""
    assert "mine" in picture


def test_a_run_has_one_colour_that_all_eyes_tell_apart() -> None:
    script = gnuplot([CURVES], "gp")
    styles = re.findall(r"^set style line (\d+) lc rgb '(#\w+)'", script, re.MULTILINE)
    assert styles == [(str(i + 1), PALETTE[i % len(PALETTE)]) for i in range(11)]
    looks = re.findall(r"^set style line \d+ (.*)$", script, re.MULTILINE)
    assert len(set(looks)) == 11
    assert re.findall(r"with (\w+) (ls \d+)", script) == [
        ("linespoints", f"ls {i + 1}") for i in range(11)
    ]


def test_dense_lines_mark_some_of_their_points() -> None:
    assert " pi 5 title 'run 0'" in gnuplot([CURVES], "gp")
    assert " pi " not in gnuplot([STEPS], "gp")


def test_what_is_no_run_is_a_black_line() -> None:
    assert "with lines lt -1 lw 2 title 'ideal'" in gnuplot([CURVES], "gp")
    assert "with lines lt -1 lw 2 title 'mean'" in gnuplot([BARS], "gp")
