"""``foveal compare``: are the differences between runs real."""

from __future__ import annotations

import contextlib
import csv
import io
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from foveal.analysis.significance import CORRECTIONS, INTERVALS, TESTS
from foveal.cli.output import emit, warn
from foveal.cli.scoring import one_task, saved_or_scored, scoring_options
from foveal.errors import UsageError
from foveal.report.comparisons import PARTS, comparison_grids
from foveal.report.grids import GRID_FORMATS, plain

if TYPE_CHECKING:
    from foveal.analysis.comparison import Comparison
    from foveal.model import Results

__all__ = ["command"]

_TAILS = {"two-sided": 2, "better": 1}
_FORMATS = ("table", "tsv", "csv", "json", "markdown", "latex", "html")
_SHARE = click.FloatRange(0, 1, min_open=True, max_open=True)


@click.command(
    "compare",
    epilog="Examples: foveal compare runs/*.run -j qrels.txt -m AiP --baseline first; "
    "foveal compare results.json --test randomisation --seed 7 -f json",
)
@click.argument("runs", nargs=-1, required=True, metavar="RUN...|RESULTS.json...")
@scoring_options
@click.option(
    "--baseline",
    metavar="RUN",
    help="Compare every other run with this one, by its name or its file [default: all pairs].",
)
@click.option(
    "--test",
    "tests",
    multiple=True,
    type=click.Choice(list(TESTS)),
    default=("t",),
    show_default=True,
    help="Significance test; repeatable, and letters, marks and matrix go by the first.",
)
@click.option(
    "--correction",
    type=click.Choice(list(CORRECTIONS)),
    default="holm",
    show_default=True,
    help="For many pairs, over all pairs of one measure.",
)
@click.option(
    "--alternative",
    type=click.Choice(list(_TAILS)),
    default="two-sided",
    show_default=True,
    help="Test for any difference, or with one tail the better mean against the worse.",
)
@click.option(
    "--alpha",
    type=_SHARE,
    default=0.05,
    show_default=True,
    metavar="P",
    help="Significant is a corrected p below this.",
)
@click.option(
    "--confidence",
    type=_SHARE,
    default=0.95,
    show_default=True,
    metavar="P",
    help="Of the intervals.",
)
@click.option(
    "--interval",
    type=click.Choice(INTERVALS),
    default=INTERVALS[0],
    show_default=True,
    help="Confidence intervals by resampling topics or by Student's t.",
)
@click.option(
    "--resamples",
    type=click.IntRange(min=1),
    default=10_000,
    show_default=True,
    metavar="B",
    help="Of the randomisation and bootstrap tests and the bootstrap intervals.",
)
@click.option(
    "--seed",
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    metavar="N",
    help="The same seed gives the same output.",
)
@click.option(
    "--exact",
    is_flag=True,
    help="Let the randomisation test go through all 2^T flips of T topics, at most 20.",
)
@click.option(
    "--power",
    type=_SHARE,
    default=0.8,
    show_default=True,
    metavar="P",
    help="Chance of finding the difference that the number of topics needed stands for.",
)
@click.option(
    "--show",
    multiple=True,
    type=click.Choice(PARTS),
    help="Which tables; repeatable [default: all; a list of more than 45 pairs only if asked for].",
)
@click.option(
    "-f",
    "--format",
    "form",
    type=click.Choice(_FORMATS),
    help="Output format [default: table on a terminal, else tsv]; tsv and csv hold a row for each "
    "measure, pair and test, json also the runs and the settings.",
)
@click.option("-o", "--output", metavar="FILE", help="Write here instead of standard output.")
@click.pass_context
def command(
    context: click.Context,
    /,
    runs: tuple[str, ...],
    judgements: tuple[str, ...],
    measures: tuple[str, ...],
    tasks: tuple[str, ...],
    baseline: str | None,
    alternative: str,
    show: tuple[str, ...],
    form: str | None,
    output: str | None,
    **options: Any,
) -> None:
    """Test whether runs differ, topic by topic.

    Every pair of runs, or every run and the baseline, is compared on the topics that all runs
    have a score on. Without judgements (-j) the files are results that 'foveal evaluate -f json'
    saved, and nothing is scored again.
    """
    from foveal.analysis.comparison import compare

    own = ("tests", "correction", "alpha", "confidence", "interval", "resamples", "seed")
    settings = {name: options.pop(name) for name in (*own, "exact", "power")}
    if show and form in ("tsv", "csv", "json"):
        raise UsageError(f"--show chooses tables, and {form} holds everything; leave it out")
    results = _scores(context, runs, judgements, measures, one_task(tasks), baseline, options)
    warn(results.meta.get("warnings", ()))
    with _progress(len(results.measures)) as advance:
        found = compare(
            results,
            baseline=_name(results, baseline),
            tails=_TAILS[alternative],
            tested=advance,
            **settings,
        )
    warn(found.warnings)
    emit(_render(found, form, show, to_file=output is not None), output)


def _scores(
    context: click.Context,
    runs: tuple[str, ...],
    judgements: tuple[str, ...],
    measures: tuple[str, ...],
    task: str | None,
    baseline: str | None,
    options: dict[str, Any],
) -> Results:
    """Scores of the runs and of a baseline that is a file of its own."""
    # What was left at its default is no word on how to score.
    stated = {
        name: value
        for name, value in options.items()
        if context.get_parameter_source(name) is not ParameterSource.DEFAULT
    }
    if judgements:
        stated = {"collection": None, "workers": None} | stated
        if baseline is not None and Path(baseline).is_file() and not _given(baseline, runs):
            runs = (*runs, baseline)
        if len(runs) < 2:
            raise UsageError(f"one run given ({runs[0]}); expected at least two to compare")
    return saved_or_scored(runs, judgements, measures, task, **stated)


def _given(baseline: str, runs: tuple[str, ...]) -> bool:
    return any(Path(run).exists() and Path(run).samefile(baseline) for run in runs)


def _name(results: Results, baseline: str | None) -> str | None:
    """The name of the run that is meant by its name or by its file."""
    if baseline is None or baseline in results.runs or not Path(baseline).is_file():
        return baseline
    inputs = [part["path"] for part in results.meta.get("inputs", ()) if part["kind"] == "run"]
    if len(inputs) != len(results.runs):  # several assessors, a row for each
        return baseline
    places = [i for i, path in enumerate(inputs) if _given(baseline, (path,))]
    return results.runs[places[0]] if places else baseline


@contextlib.contextmanager
def _progress(length: int) -> Iterator[Callable[[], None] | None]:
    """A bar on a terminal, where there is more than one measure to wait for."""
    if length < 2 or not sys.stderr.isatty():
        yield None
        return
    with click.progressbar(length=length, label="testing", file=sys.stderr) as bar:
        yield lambda: bar.update(1)


def _render(found: Comparison, form: str | None, show: tuple[str, ...], *, to_file: bool) -> str:
    """The comparison in a format; by default a table on a terminal, else tsv."""
    terminal = sys.stdout.isatty() and not to_file
    if form is None:
        form = "table" if terminal or show else "tsv"
    if form == "json":
        return found.to_json()
    if form in ("tsv", "csv"):
        return _separated(found, tabs=form == "tsv")
    tables = comparison_grids(found, show)
    if form == "table":
        return "\n".join(plain(table, bold=terminal) for table in tables)
    return GRID_FORMATS[form](tables)


def _separated(found: Comparison, *, tabs: bool) -> str:
    """A row for each measure, pair and test, at full precision; what does not exist is none."""
    if tabs:
        for name in found.runs:
            if set("\t\n\r") & set(name):
                raise UsageError(f"{name!r} cannot be a field of tsv; csv and json can hold it")
    rows = list(found.pair_rows())
    table = [list(rows[0]), *([_field(value) for value in row.values()] for row in rows)]
    if tabs:
        return "".join("\t".join(row) + "\n" for row in table)
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(table)
    return text.getvalue()


def _field(value: Any) -> str:
    if value is None or isinstance(value, bool):
        return {None: "none", True: "true", False: "false"}[value]
    return str(value)
