"""``foveal compare``: are the differences between runs real."""

from __future__ import annotations

from dataclasses import fields
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from foveal.analysis.pairs import TestSettings
from foveal.analysis.significance import CORRECTIONS, INTERVALS, TESTS
from foveal.cli import options as opt
from foveal.cli import shared
from foveal.errors import InputError, UsageError
from foveal.model.tables import PAPER_FORMATS, TABLE_FORMATS

if TYPE_CHECKING:
    from foveal.model import Results

_TAILS = {"two-sided": 2, "better": 1}
_WORSE = ("significantly", "at-all")


@click.command(
    "compare",
    cls=opt.Command,
    daily="judgements measures tasks baseline margin groups fail_if_worse show form output",
    examples=(
        "foveal compare runs/*.run -j qrels.txt -m AiP --baseline first",
        "foveal compare results.json --test randomisation --seed 7 -f json",
        "foveal compare my.run -j qrels.txt -m AiP --baseline main.json --fail-if-worse AiP=0.01",
    ),
)
@click.argument("runs", nargs=-1, required=True, metavar="RUN...|RESULTS.json...")
@opt.scoring_options()
@opt.options(
    f"""
    --baseline=RUN|RESULTS.json  Compare every other run with this one, by its name or its file, or
        with the run whose results were saved [default: all pairs].
    --fail-if-worse=M[=X]...  Exit code 1 if a run is worse than the baseline by this measure, by
        more than X if that is given; repeatable; all means every measure.
    --worse={"|".join(_WORSE)}  Count only significant differences as worse, or all of them.
    --test={"|".join(TESTS)}... tests  Significance test; repeatable, and verdicts, letters and
        marks go by the first.
    --correction={"|".join(CORRECTIONS)}  Correction of p values for the number of pairs, over all
        pairs of one measure.
    --alternative={"|".join(_TAILS)}  Test for any difference, or with one tail the better mean
        against the worse.
    --alpha=P  Significance level of corrected p values.
    --confidence=P  Confidence level of the intervals.
    --interval={"|".join(INTERVALS)}  Confidence intervals by resampling topics or by Student's t.
    --resamples=N  Number of resamples for tests, intervals and ranks.
    --seed=COUNT  Seed of the random numbers.
    --power=P  Power assumed when estimating the number of topics needed.
    --show=means|ranks|pairs|summary...  Which tables; repeatable [default: all, but in markdown and
        latex the means; a list of more than 45 pairs only if asked for].
    """,
    worse=_WORSE[0],
    alternative="two-sided",
    **{setting.name: setting.default for setting in fields(TestSettings)},
)
@opt.option(
    "--margin=X",
    "Test whether runs are equivalent: their means differ by less than X.",
    type=click.FloatRange(0, min_open=True),
)
@opt.shared_options("bounds groups summary output")
@opt.format_option(
    opt.FORMATS,
    "; tsv and csv hold a row for each measure, pair and test, json also the runs and the settings",
)
@click.pass_context
def command(
    context: click.Context,
    /,
    runs: tuple[str, ...],
    measures: tuple[str, ...],
    baseline: str | None,
    **options: Any,
) -> None:
    """Test whether runs differ, topic by topic.

    Every pair of runs, or every run and the baseline, is compared on the topics that all runs
    have a score on. RUN is a file, or a directory of them. Without judgements (-j) the files are
    results that 'foveal evaluate -f json' saved, and nothing is scored again. Runs are
    scored with -t rag if neither -m nor -t is given.
    """
    from foveal.analysis.comparison import compare
    from foveal.bridges import gates

    show, form, output, worse = map(options.pop, ("show", "form", "output", "worse"))
    margins = gates.parse_bounds(options.pop("fail_if_worse"), default=0.0)
    if margins and baseline is None:
        raise UsageError("--fail-if-worse compares with a baseline; name it with --baseline")
    if any(margin < 0 for margin in margins.values()):
        raise UsageError("--fail-if-worse M=X says how much worse a run may be; expected 0 or more")
    if options["judgements"] or measures:  # else all measures of saved results are compared
        scored_here = options["judgements"] or options["groups"]  # results may have groups already
        bounded = (label for label in margins if label != "all")
        measures += tuple(own.partition("[")[0] if scored_here else own for own in bounded)
    names = [field.name for field in fields(TestSettings) if field.name in options]
    settings = {name: options.pop(name) for name in names}
    settings["tails"] = _TAILS[options.pop("alternative")]
    if show and form is not None and form not in TABLE_FORMATS:
        raise UsageError(f"--show chooses tables, and {form} holds everything; leave it out")
    if not margins:
        shared.refuse_unused(context, {"worse": "--fail-if-worse"})
    target = shared.check_summary(options.pop("summary"))
    results, against = _take_or_score(shared.list_files(runs), measures, baseline, **options)
    shared.warn(results.meta.get("warnings", ()))
    found = compare(results, measures=results.measures, baseline=against, **settings)
    shared.warn(found.warnings)
    significantly = worse == _WORSE[0]
    checks = gates.check_not_worse(found, margins, significantly=significantly) if margins else ()
    if not show and form in PAPER_FORMATS:
        show = ("means",)
    shared.emit_result(found, form or ("table" if show else None), output, show=show)

    def text() -> str:
        means, *more = found.tables(("means", "pairs"))
        warnings = [*results.meta.get("warnings", ()), *found.warnings]
        return gates.summary("Comparison", checks, [means], warnings, more)

    shared.conclude(checks, target, text)


def _take_or_score(
    runs: list[str],
    measures: tuple[str, ...],
    baseline: str | None,
    *,
    judgements: tuple[str, ...],
    tasks: tuple[str, ...],
    **options: Any,
) -> tuple[Results, str | None]:
    """Return saved results or scores of the runs and the baseline, and the baseline's name.

    A baseline is the name of a run, one of the files given, or another file: a run or results.
    """
    from foveal.analysis.tasks import take_or_score
    from foveal.bridges.gates import join_baseline
    from foveal.evaluation.topic_groups import add_groups
    from foveal.model import Results

    task, saved, place = shared.choose_task(tasks), None, Path(baseline or "")
    if baseline and not place.exists() and (place.suffix == ".json" or len(place.parts) > 1):
        raise InputError.at("file.missing", baseline, None, "no such file; expected the baseline")
    is_file = baseline is not None and place.is_file()
    if is_file and not any(Path(run).exists() and place.samefile(run) for run in runs):
        if place.suffix == ".json":
            if options["bounds"]:
                text = "--bounds is about runs that are scored together; the baseline is saved"
                raise UsageError(f"{text}, give the run itself")
            (saved,) = shared.read_saved([str(place)])
        elif judgements:
            runs = [*runs, str(place)]
    if judgements:
        opened, truth = shared.open_inputs(runs, judgements)
        score = partial(shared.score_runs, task=task)
        given = shared.given_options(options)
        (results,) = take_or_score(opened, truth, measures, given, score=score)
    else:
        groups = options.pop("groups")
        shared.check_saved(task, options)
        (results,) = take_or_score(Results.joined(shared.read_saved(runs)), None, measures, {})
        results = results if groups is None else add_groups(results, groups)
    if saved is not None:
        return join_baseline(results, saved, str(baseline))
    for meta in results.meta.get("parts", [results.meta]) if is_file else ():
        files = (own["path"] for own in meta.get("inputs", ()) if own["kind"] == "run")
        for path, name in zip(files, meta["topics"]["runs"], strict=False):
            if Path(path).exists() and place.samefile(path) and baseline not in results.runs:
                baseline = name
    return results, baseline
