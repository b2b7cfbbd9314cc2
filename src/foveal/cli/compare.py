"""``foveal compare``: are the differences between runs real."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from foveal.analysis.significance import CORRECTIONS, INTERVALS, TESTS
from foveal.cli.options import (
    FORMATS,
    Command,
    format_option,
    output_option,
    scoring_options,
    seed_option,
    summary_option,
)
from foveal.cli.shared import (
    check_saved,
    check_summary,
    choose_task,
    conclude,
    emit_result,
    given_options,
    list_files,
    open_inputs,
    progress_bar,
    read_saved,
    refuse_unused,
    score_runs,
    warn,
)
from foveal.errors import InputError, UsageError
from foveal.model.tables import PAPER_FORMATS, TABLE_FORMATS

if TYPE_CHECKING:
    from foveal.model import Results


_TABLES = ("means", "pairs", "matrix", "summary")
_TAILS = {"two-sided": 2, "better": 1}
_WORSE = ("significantly", "at-all")
_SHARE = click.FloatRange(0, 1, min_open=True, max_open=True)


@click.command(
    "compare",
    cls=Command,
    daily="judgements measures tasks baseline tests overlap fail_if_worse show form output",
    examples=(
        "foveal compare runs/*.run -j qrels.txt -m AiP --baseline first",
        "foveal compare results.json --test randomisation --seed 7 -f json",
        "foveal compare my.run -j qrels.txt -m AiP --baseline main.json --fail-if-worse AiP=0.01",
    ),
)
@click.argument("runs", nargs=-1, required=True, metavar="RUN...|RESULTS.json...")
@scoring_options()
@click.option(
    "--baseline",
    metavar="RUN|RESULTS.json",
    help="Compare every other run with this one, by its name or its file, or with the run whose "
    "results were saved [default: all pairs].",
)
@click.option(
    "--fail-if-worse",
    multiple=True,
    metavar="M[=X]",
    help="Exit code 1 if a run is worse than the baseline by this measure, by more than X if that "
    "is given; repeatable, and all stands for every measure.",
)
@click.option(
    "--worse",
    type=click.Choice(_WORSE),
    default=_WORSE[0],
    show_default=True,
    help="Count only a significant difference as worse, or any.",
)
@summary_option
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
    help="Correction for multiple tests, over all pairs of one measure.",
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
    help="Level of significance, for corrected p-values.",
)
@click.option(
    "--confidence",
    type=_SHARE,
    default=0.95,
    show_default=True,
    metavar="P",
    help="Confidence level of the intervals.",
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
    help="Number of resamples in randomisation and bootstrap tests and bootstrap intervals.",
)
@seed_option
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
    help="Statistical power assumed when estimating the number of topics needed.",
)
@click.option(
    "--show",
    multiple=True,
    type=click.Choice(_TABLES),
    help="Which tables; repeatable [default: all, but in markdown and latex the means; a list of "
    "more than 45 pairs only if asked for].",
)
@format_option(
    FORMATS,
    "; tsv and csv hold a row for each measure, pair and test, json also the runs and the settings",
)
@output_option
@click.pass_context
def command(
    context: click.Context,
    /,
    runs: tuple[str, ...],
    judgements: tuple[str, ...],
    measures: tuple[str, ...],
    tasks: tuple[str, ...],
    baseline: str | None,
    fail_if_worse: tuple[str, ...],
    worse: str,
    summary: str | None,
    alternative: str,
    show: tuple[str, ...],
    form: str | None,
    output: str | None,
    **options: Any,
) -> None:
    """Test whether runs differ, topic by topic.

    Every pair of runs, or every run and the baseline, is compared on the topics that all runs
    have a score on. RUN is a file, or a directory of them. Without judgements (-j) the files are
    results that 'foveal evaluate -f json' saved, and nothing is scored again.
    """
    from foveal.analysis.comparison import compare
    from foveal.bridges.gates import bounds_of, not_worse
    from foveal.bridges.gates import summary as summary_of

    margins = bounds_of(fail_if_worse, default=0.0)
    if margins and baseline is None:
        raise UsageError("--fail-if-worse compares with a baseline; name it with --baseline")
    _check_margins(margins)
    if judgements or measures:  # else all measures of saved results are compared
        measures = (*measures, *(label for label in margins if label != "all"))
    own = ("tests", "correction", "alpha", "confidence", "interval", "resamples", "seed")
    settings = {name: options.pop(name) for name in (*own, "exact", "power")}
    if show and form is not None and form not in TABLE_FORMATS:
        raise UsageError(f"--show chooses tables, and {form} holds everything; leave it out")
    refuse_unused(context, _unused(settings) | _unused_gate(margins))
    target = check_summary(summary)
    results, against = _scores(
        list_files(runs), judgements, measures, choose_task(tasks), baseline, options
    )
    warn(results.meta.get("warnings", ()))
    with progress_bar(len(results.measures), "testing") as advance:
        found = compare(
            results,
            measures=results.measures,
            baseline=against,
            tails=_TAILS[alternative],
            tested=advance,
            **settings,
        )
    warn(found.warnings)
    checks = not_worse(found, margins, significantly=worse == _WORSE[0]) if margins else ()
    if not show and form in PAPER_FORMATS:
        show = ("means",)
    emit_result(found, form or ("table" if show else None), output, show=show)

    def text() -> str:
        means, *more = found.tables(("means", "pairs"))
        warnings = [*results.meta.get("warnings", ()), *found.warnings]
        return summary_of("Comparison", checks, [means], warnings, more)

    conclude(checks, target, text)


def _check_margins(margins: Mapping[str, float]) -> None:
    for measure, margin in margins.items():
        if margin < 0:
            raise UsageError(
                f"--fail-if-worse {measure}={margin:g}: a margin is how much worse a run may be; "
                "expected 0 or more"
            )


def _unused_gate(margins: Mapping[str, float]) -> dict[str, str]:
    return {} if margins else {"worse": "--fail-if-worse"}


def _unused(settings: Mapping[str, Any]) -> dict[str, str]:
    """Options that have nothing to do, and what would give them something."""
    tests, exact = settings["tests"], settings["exact"]
    drawn = "bootstrap" in (*tests, settings["interval"])
    found = {}
    if "randomisation" not in tests:
        found["exact"] = "--test randomisation"
    if not drawn and (exact or "randomisation" not in tests):
        found |= dict.fromkeys(("resamples", "seed"), "tests and intervals that draw at random")
    return found


def _scores(
    runs: list[str],
    judgements: tuple[str, ...],
    measures: tuple[str, ...],
    task: str | None,
    baseline: str | None,
    options: dict[str, Any],
) -> tuple[Results, str | None]:
    """Scores of the runs, or scores saved before, and of a baseline that is a file of its own.

    With them the name of the baseline.
    """
    from foveal.bridges.gates import with_baseline

    saved = None
    if baseline is not None:
        _check_baseline(baseline)
    if baseline is not None and _is_saved(baseline) and not _given(baseline, runs):
        (saved,) = read_saved([baseline])
    results = _of_runs(runs, judgements, measures, task, None if saved else baseline, options)
    if saved is None:
        if len(results.runs) < 2 and judgements:
            raise UsageError(f"one run given ({runs[0]}); expected at least two to compare")
        return results, _name(results, baseline)
    return with_baseline(results, saved, str(baseline))


def _check_baseline(baseline: str) -> None:
    """Refuse a file that is not there; a name without a place may be that of a run."""
    path = Path(baseline)
    if not path.exists() and (path.suffix == ".json" or len(path.parts) > 1):
        raise InputError.at("file.missing", baseline, None, "no such file; expected the baseline")


def _is_saved(baseline: str) -> bool:
    """Return True for a file of saved results, False for a run."""
    return Path(baseline).suffix == ".json" and Path(baseline).is_file()


def _of_runs(
    runs: list[str],
    judgements: tuple[str, ...],
    measures: tuple[str, ...],
    task: str | None,
    baseline: str | None,
    options: dict[str, Any],
) -> Results:
    """Scores of the runs and of a baseline that is a run, or scores saved before."""
    from foveal.analysis.score_matrix import check_assessors, select_labels
    from foveal.analysis.tasks import without_curves
    from foveal.measures import parse_measures
    from foveal.model import Results

    if not judgements:
        check_saved(task, options)
        results = Results.joined(read_saved(runs), runs)
        return results.only(
            select_labels(results.measures, measures) or without_curves(results).measures
        )
    check_assessors(options)
    if baseline is not None and Path(baseline).is_file() and not _given(baseline, runs):
        runs = [*runs, baseline]
    own = [measure.label for text in measures for measure in parse_measures(text)]
    opened, truth = open_inputs(runs, judgements)
    results = score_runs(opened, truth, measures, task, **given_options(options))
    return without_curves(results, own)


def _given(baseline: str, runs: Sequence[str]) -> bool:
    return any(Path(run).exists() and Path(run).samefile(baseline) for run in runs)


def _name(results: Results, baseline: str | None) -> str | None:
    """The name of the run that is meant by its name or by its file."""
    if baseline is None or baseline in results.runs or not Path(baseline).is_file():
        return baseline
    for meta in results.meta.get("parts", [results.meta]):
        paths = [part["path"] for part in meta.get("inputs", ()) if part["kind"] == "run"]
        names = list(meta.get("topics", {}).get("runs", ()))
        if len(paths) == len(names):
            for path, name in zip(paths, names, strict=True):
                if _given(baseline, (path,)):
                    return str(name)
    return baseline
