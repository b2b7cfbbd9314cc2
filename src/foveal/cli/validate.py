"""``foveal validate``: everything wrong with a run or with topics, before anything is scored."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterable
from types import SimpleNamespace
from typing import Any

import click

from foveal.cli import options as opt
from foveal.cli.shared import emit, say
from foveal.errors import Problem, plural

_MOST = 20
"""Problems that a table shows of one file."""


@click.command(
    "validate", cls=opt.Command, examples=("foveal validate my.run -t 2009.Focused -C wiki.fvx",)
)
@click.argument("runs", nargs=-1, required=True, metavar="RUN...")
@opt.options(
    """
    -t --task=PRESET  The task that the run is for.
    --max-results=N  Most results of a topic.
    -f --format=table|json form  Print 20 problems of each file, or all as JSON.
    """,
    max_results=1500,
    form="table",
)
@opt.collection_option("to check documents, paths and offsets")
@opt.shared_options("topics_file tag_classes texts")
@opt.max_bytes_option
def command(runs: tuple[str, ...], form: str, **options: Any) -> None:
    """List all problems of runs; the exit code is 1 if there are any.

    Foveal checks the format, the order of ranks and scores, repeated results and their number;
    with a task, given or declared by the run, its rules (overlap, interleaved documents, limits);
    with a collection the documents, paths and offsets; with topics the topic ids and, for strict
    CAS tasks, the targets of the castitles. In a topic file it checks the castitles, in a file of
    answers the citations, with the texts of the documents.
    """
    from foveal.cli.texts import find_texts, needed_texts
    from foveal.collection import Collection
    from foveal.evaluation import find_preset
    from foveal.evaluation.cas_filter import parse_tag_classes
    from foveal.evaluation.validation import UNCHECKED, validate
    from foveal.formats import read_topics

    given = SimpleNamespace(**options)
    index = Collection.open(given.collection) if given.collection else None
    settings: dict[str, Any] = {
        "preset": find_preset(given.task) if given.task else None,
        "collection": index,
        "topics": read_topics(given.topics_file) if given.topics_file else None,
        "classes": parse_tag_classes(given.tag_classes or ()),
        "max_results": given.max_results,
    }
    if (texts := find_texts()) is not None:
        settings["texts"] = needed_texts(runs, texts)
    by_file = [validate(path, **settings) for path in runs]
    every = [problem for own in by_file for problem in own]
    faults = [problem for problem in every if problem.code != UNCHECKED]
    if form == "json":
        emit(json.dumps([problem._asdict() for problem in every], indent=1) + "\n", None)
    else:
        lines = []
        for own in by_file:
            for problem in own[:_MOST]:
                first, *more = str(problem).split("\n")  # a query, with a mark under the error
                lines += [f"{first} [{problem.code}]", *more]
            if rest := own[_MOST:]:
                count = f"{len(rest)} more: {_count_codes(rest)}"
                lines.append(f"{own[0].file}: ... and {count}; -f json has all")
        emit("".join(f"{line}\n" for line in lines), None)
        said = "nothing wrong"
        if faults:
            said = f"{plural(len(faults), 'problem')}: {_count_codes(faults)}"
        unchecked = len(every) - len(faults)
        said += f"; {unchecked} not checked" if unchecked else ""
        say(f"{plural(len(runs), 'file')}, {said}")
    if faults:
        sys.exit(1)


def _count_codes(problems: Iterable[Problem]) -> str:
    counts = Counter(problem.code for problem in problems).most_common()
    return ", ".join(f"{code} {count}" for code, count in counts)
