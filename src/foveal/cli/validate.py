"""``foveal validate``: everything wrong with a run or with topics, before anything is scored."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Sequence

import click

from foveal.cli.options import max_bytes_option, parse_comma_list
from foveal.cli.shared import emit, say
from foveal.errors import Problem, counted

__all__ = ["command"]

_MOST = 20
"""Lines that a table shows of one file."""


@click.command("validate", epilog="Example: foveal validate my.run -t 2009.Focused -C wiki.fvx")
@click.argument("runs", nargs=-1, required=True, metavar="RUN...")
@click.option("-t", "--task", metavar="PRESET", help="The task the run is meant for.")
@click.option("-C", "--collection", metavar="INDEX", help="A collection index.")
@click.option("--topics-file", metavar="F", help="The topics, with their castitles.")
@click.option(
    "--tag-classes",
    type=parse_comma_list,
    metavar="LIST",
    help="Tags that strict targets take for each other: ieee, or as in sec=ss1=ss2,p=ip1; "
    "by default every tag stands for itself.",
)
@max_bytes_option
@click.option("--max-results", type=click.IntRange(min=1), default=1500, show_default=True)
@click.option(
    "-f",
    "--format",
    "form",
    type=click.Choice(["table", "json"]),
    default="table",
    show_default=True,
)
def command(
    runs: tuple[str, ...],
    task: str | None,
    collection: str | None,
    topics_file: str | None,
    tag_classes: tuple[str, ...] | None,
    max_results: int,
    form: str,
) -> None:
    """List everything wrong with runs; exit code 1 if there is anything.

    Checked are the format, the order of ranks and scores, repeated results and their number; with
    a task, given or declared by the run, what it forbids (overlap, interleaved documents, limits);
    with a collection the documents, paths and offsets; with topics the topic ids and, for strict
    CAS tasks, the targets of the castitles. A topic file in place of a run is checked for castitles
    that are not NEXI. A table shows 20 lines of each file and counts the others; json holds all.
    """
    from foveal.collection import Collection
    from foveal.evaluation import find_preset
    from foveal.evaluation.cas_filter import parse_tag_classes
    from foveal.evaluation.validation import UNCHECKED, validate, validate_classes
    from foveal.formats import read_topics

    preset = find_preset(task) if task else None
    classes = parse_tag_classes(tag_classes or ())
    index = Collection.open(collection) if collection else None
    topics = read_topics(topics_file) if topics_file else None
    by_file = [] if index is None else [validate_classes(tag_classes or (), index)]
    by_file += [
        validate(
            path,
            preset=preset,
            collection=index,
            topics=topics,
            classes=classes,
            max_results=max_results,
        )
        for path in runs
    ]
    every = [problem for own in by_file for problem in own]
    faults = Counter(problem.code for problem in every if problem.code != UNCHECKED)
    if form == "json":
        emit(json.dumps([problem._asdict() for problem in every], indent=1) + "\n", None)
    else:
        emit("".join(f"{line}\n" for own in by_file for line in _list_first(own)), None)
        said = "nothing wrong"
        if faults:
            said = f"{counted(faults.total(), 'problem')}: {_list_codes(faults)}"
        unchecked = len(every) - faults.total()
        said += f"; {unchecked} not checked" if unchecked else ""
        say(f"{counted(len(runs), 'file')}, {said}")
    if faults:
        sys.exit(1)


def _list_first(problems: Sequence[Problem]) -> list[str]:
    """Return the first problems of each code in a file, then a count of the others."""
    seen: Counter[str] = Counter()
    place = []
    for number, problem in enumerate(problems):
        place.append((seen[problem.code], number))
        seen[problem.code] += 1
    chosen = [problems[i] for i in sorted(number for _, number in sorted(place)[:_MOST])]
    lines = []
    for problem in chosen:
        first, *more = str(problem).split("\n")  # a query, with a mark under the error
        lines += [f"{first} [{problem.code}]", *more]
    hidden = seen - Counter(problem.code for problem in chosen)
    if hidden:
        rest = f"... and {hidden.total()} more: {_list_codes(hidden)}; -f json has all"
        lines.append(f"{problems[0].file}: {rest}")
    return lines


def _list_codes(codes: Counter[str]) -> str:
    return ", ".join(f"{code} {count}" for code, count in codes.most_common())
