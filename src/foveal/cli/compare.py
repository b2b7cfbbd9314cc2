"""``foveal compare``: are the differences between runs real."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from foveal.analysis.pairs import TestSettings
from foveal.analysis.significance import CORRECTIONS, INTERVALS, TESTS
from foveal.cli.options import (
    FORMATS,
    PROBABILITY,
    Command,
    Decorator,
    format_option,
    groups_option,
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


_TABLES = ("means", "ranks", "pairs", "matrix", "summary")
_TAILS = {"two-sided": 2, "better": 1}
_WORSE = ("significantly", "at-all")


def _setting(name: str, kind: Any, text: str, metavar: str | None = None) -> Decorator:
    """Return the option of a test setting, with the default of `TestSettings`."""
    default = getattr(TestSettings, name)
    return click.option(
        f"--{name}", type=kind, default=default, show_default=True, metavar=metavar, help=text
    )


@click.command(
    "compare",
    cls=Command,
    daily="judgements measures tasks baseline margin groups fail_if_worse show form output",
    examples=(
        "foveal compare runs/*.run -j qrels.txt -m AiP --baseline first",
        "foveal compare results.json --test randomisation --seed 7 -f json",
        "foveal compare my.run -j qrels.txt -m AiP --baseline main.json --fail-if-worse AiP=0.01",
    ),
)
@click.argument("runs", nargs=-1, required=True, metavar="RUN...|RESULTS.json...")
@scoring_options()
@groups_option
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
    "is given; repeatable; all means every measure.",
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
@_setting(
    "correction",
    click.Choice(CORRECTIONS),
    "Correction of p values for the number of pairs, over all pairs of one measure.",
)
@click.option(
    "--alternative",
    type=click.Choice(list(_TAILS)),
    default="two-sided",
    show_default=True,
    help="Test for any difference, or with one tail the better mean against the worse.",
)
@_setting("alpha", PROBABILITY, "A difference is significant if its corrected p is below P.", "P")
@_setting("confidence", PROBABILITY, "Confidence level of the intervals.", "P")
@_setting(
    "interval",
    click.Choice(INTERVALS),
    "Confidence intervals by resampling topics or by Student's t.",
)
@_setting(
    "resamples",
    click.IntRange(min=1),
    "Number of resamples for randomisation and bootstrap tests, intervals and ranks.",
    "B",
)
@seed_option
@click.option(
    "--exact",
    is_flag=True,
    help="Let the randomisation test go through all 2^T flips of T topics, at most 20.",
)
@_setting(
    "power",
    PROBABILITY,
    "Statistical power assumed when estimating the number of topics needed.",
    "P",
)
@click.option(
    "--margin",
    type=click.FloatRange(0, min_open=True),
    metavar="X",
    help="Test whether runs are equivalent: their means differ by less than X.",
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
    for measure, margin in margins.items():
        if margin < 0:
            raise UsageError(
                f"--fail-if-worse {measure}={margin:g}: a margin is how much worse a run may be; "
                "expected 0 or more"
            )
    if judgements or measures:  # else all measures of saved results are compared
        scored_here = judgements or options["groups"]  # saved results may have groups already
        bounded = (label for label in margins if label != "all")
        bounded = (own.partition("[")[0] if scored_here else own for own in bounded)
        measures = (*measures, *bounded)
    settings = {
        field.name: options.pop(field.name)
        for field in fields(TestSettings)
        if field.name in options
    }
    settings["tails"] = _TAILS[alternative]
    if show and form is not None and form not in TABLE_FORMATS:
        raise UsageError(f"--show chooses tables, and {form} holds everything; leave it out")
    unused = {} if margins else {"worse": "--fail-if-worse"}
    if "randomisation" not in settings["tests"]:
        unused["exact"] = "--test randomisation"
    refuse_unused(context, unused)
    target = check_summary(summary)
    task, paths = choose_task(tasks), list_files(runs)
    results, against = _take_or_score(paths, judgements, measures, task, baseline, options)
    warn(results.meta.get("warnings", ()))
    with progress_bar(len(results.measures), "testing") as advance:
        options = {"baseline": against, "tested": advance, **settings}
        found = compare(results, measures=results.measures, **options)
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


def _take_or_score(
    runs: list[str],
    judgements: tuple[str, ...],
    measures: tuple[str, ...],
    task: str | None,
    baseline: str | None,
    options: dict[str, Any],
) -> tuple[Results, str | None]:
    """Return saved results or scores of the runs and the baseline, and the baseline's name."""
    from foveal.analysis.score_matrix import check_assessors
    from foveal.analysis.tasks import take_or_score, without_curves
    from foveal.bridges.gates import with_baseline
    from foveal.evaluation.topic_groups import add_groups
    from foveal.measures import parse_measures
    from foveal.model import Results

    # A baseline is the name of a run, one of the files given, or another file: a run or results.
    saved, place = None, Path(baseline or "")
    if baseline and not place.exists() and (place.suffix == ".json" or len(place.parts) > 1):
        raise InputError.at("file.missing", baseline, None, "no such file; expected the baseline")
    is_other = baseline is not None and place.is_file() and not _is_among(baseline, runs)
    if baseline is not None and is_other and place.suffix == ".json":
        (saved,) = read_saved([baseline])
    if judgements:
        check_assessors(options)
        if baseline is not None and is_other and saved is None:
            runs = [*runs, baseline]
        own = [measure.label for text in measures for measure in parse_measures(text)]
        opened, truth = open_inputs(runs, judgements)
        results = score_runs(opened, truth, measures, task, **given_options(options))
        results = without_curves(results, own)
    else:
        groups = options.pop("groups")
        check_saved(task, options)
        results = take_or_score(Results.joined(read_saved(runs), runs), None, measures, {})
        results = results if groups is None else add_groups(results, groups)
    if saved is not None:
        return with_baseline(results, saved, str(baseline))
    if len(results.runs) < 2 and judgements:
        raise UsageError(f"one run given ({runs[0]}); expected at least two to compare")
    if baseline is None or baseline in results.runs or not place.is_file():
        return results, baseline
    for meta in results.meta.get("parts", [results.meta]):
        paths = [part["path"] for part in meta.get("inputs", ()) if part["kind"] == "run"]
        names = list(meta.get("topics", {}).get("runs", ()))
        if len(paths) == len(names):
            for path, name in zip(paths, names, strict=True):
                if _is_among(baseline, [path]):
                    return results, str(name)
    return results, baseline


def _is_among(file: str, others: Sequence[str]) -> bool:
    return any(Path(other).exists() and Path(other).samefile(file) for other in others)
