"""``foveal validate``: everything wrong with a run or with topics, before anything is scored."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Sequence

import click

from foveal.cli.options import (
    POSITIVE,
    TASK,
    Command,
    collection_option,
    max_bytes_option,
    option,
    tag_classes_option,
    topics_file_option,
)
from foveal.cli.shared import emit, say
from foveal.errors import Problem, counted

_MOST = 20
"""Lines that a table shows of one file."""


@click.command(
    "validate", cls=Command, examples=("foveal validate my.run -t 2009.Focused -C wiki.fvx",)
)
@click.argument("runs", nargs=-1, required=True, metavar="RUN...")
@option("-t --task=PRESET", "The task that the run is for.", type=TASK)
@collection_option("to check documents, paths and offsets")
@topics_file_option
@tag_classes_option
@max_bytes_option
@option("--max-results", "Most results of a topic.", type=POSITIVE, default=1500)
@option(
    "-f --format form",
    "Print 20 problems of each file, or all as JSON.",
    type=click.Choice(["table", "json"]),
    default="table",
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
    """List all problems of runs; the exit code is 1 if there are any.

    Foveal checks the format, the order of ranks and scores, repeated results and their number;
    with a task, given or declared by the run, its rules (overlap, interleaved documents, limits);
    with a collection the documents, paths and offsets; with topics the topic ids and, for strict
    CAS tasks, the targets of the castitles. In a topic file it checks the castitles. A table shows
    20 lines of each file and counts the others; json holds all.
    """
    from foveal.collection import Collection
    from foveal.evaluation import find_preset
    from foveal.evaluation.cas_filter import parse_tag_classes
    from foveal.evaluation.validation import UNCHECKED, validate
    from foveal.formats import read_topics

    preset = find_preset(task) if task else None
    classes = parse_tag_classes(tag_classes or ())
    index = Collection.open(collection) if collection else None
    topics = read_topics(topics_file) if topics_file else None
    by_file = [
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
