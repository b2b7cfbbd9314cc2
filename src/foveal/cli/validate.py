"""``foveal validate``: everything wrong with a run or with topics, before anything is scored."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from foveal.cli.options import max_bytes_option, parse_comma_list
from foveal.cli.shared import emit, say

if TYPE_CHECKING:
    from foveal.evaluation.validation import Finding

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
    from foveal.evaluation.validation import validate_classes, validate_file
    from foveal.formats import read_topics

    preset = find_preset(task) if task else None
    classes = parse_tag_classes(tag_classes or ())
    index = Collection.open(collection) if collection else None
    topics = read_topics(topics_file) if topics_file else None
    findings = [] if index is None else [validate_classes(tag_classes or (), index)]
    findings += [
        validate_file(
            path,
            preset=preset,
            collection=index,
            topics=topics,
            classes=classes,
            max_results=max_results,
        )
        for path in runs
    ]
    every = [finding for own in findings for finding in own]
    if form == "json":
        emit(json.dumps([asdict(finding) for finding in every], indent=1) + "\n", None)
    else:
        emit("".join(f"{line}\n" for own in findings for line in _shown(own)), None)
        say(_summary(len(runs), every))
    if any(finding.is_fault for finding in every):
        sys.exit(1)


def _shown(findings: Sequence[Finding]) -> list[str]:
    """The findings of a file for reading: the first of each kind, then a count of the others."""
    seen: Counter[str] = Counter()
    place = []
    for number, finding in enumerate(findings):
        place.append((seen[finding.kind], number))
        seen[finding.kind] += 1
    chosen = sorted(number for _, number in sorted(place)[:_MOST])
    lines = [str(findings[number]) for number in chosen]
    hidden = seen - Counter(findings[number].kind for number in chosen)
    if hidden:
        file = findings[0].file
        lines.append(f"{file}: ... and {hidden.total()} more: {_counts(hidden)}; -f json has all")
    return lines


def _summary(files: int, findings: Sequence[Finding]) -> str:
    """How much was looked at, and how much of which kind is wrong."""
    looked = "1 file" if files == 1 else f"{files} files"
    kinds = Counter(finding.kind for finding in findings if finding.is_fault)
    said = "nothing wrong"
    if kinds:
        problems = "1 problem" if kinds.total() == 1 else f"{kinds.total()} problems"
        said = f"{problems}: {_counts(kinds)}"
    unchecked = len(findings) - kinds.total()
    return f"{looked}, {said}" + (f"; {unchecked} not checked" if unchecked else "")


def _counts(kinds: Counter[str]) -> str:
    return ", ".join(f"{kind} {count}" for kind, count in kinds.most_common())
