"""``foveal validate``: everything wrong with a run or with topics, before anything is scored."""

from __future__ import annotations

import json
import sys
from collections import Counter
from dataclasses import asdict

import click

from foveal.cli.output import emit

__all__ = ["command"]


@click.command("validate", epilog="Example: foveal validate my.run -t 2009.Focused -C wiki.fvx")
@click.argument("runs", nargs=-1, required=True, metavar="RUN...")
@click.option("-t", "--task", metavar="PRESET", help="The task the run is meant for.")
@click.option("-C", "--collection", metavar="INDEX", help="A collection index.")
@click.option("--topics-file", metavar="F", help="The topics, with their castitles.")
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
    max_results: int,
    form: str,
) -> None:
    """List everything wrong with runs; exit code 1 if there is anything.

    Checked are the format, the order of ranks and scores, repeated results and their number; with
    a task, given or declared by the run, what it forbids (overlap, interleaved documents, limits);
    with a collection the documents, paths and offsets; with topics the topic ids and, for strict
    CAS tasks, the targets of the castitles. A topic file in place of a run is checked for castitles
    that are not NEXI.
    """
    from foveal.campaign import find_preset
    from foveal.campaign.validation import validate, validate_topics
    from foveal.collection import Collection
    from foveal.formats import Source, found_kind, read_topics

    preset = find_preset(task) if task else None
    index = Collection.open(collection) if collection else None
    topics = read_topics(topics_file) if topics_file else None
    findings = []
    for path in runs:
        source = Source.open(path)
        if found_kind(source) == "topics":
            findings += validate_topics(source)
            continue
        findings += validate(
            source,
            preset=preset,
            collection=index,
            topics=None if topics is None else topics.ids,
            castitles=None if topics is None else topics.castitles,
            max_results=max_results,
        )
    if form == "json":
        emit(json.dumps([asdict(finding) for finding in findings], indent=1) + "\n", None)
    else:
        emit("".join(f"{finding}\n" for finding in findings), None)
        click.echo(_summary(len(runs), [finding.kind for finding in findings]), err=True)
    if findings:
        sys.exit(1)


def _summary(files: int, kinds: list[str]) -> str:
    """How much was looked at, and how much of which kind is wrong."""
    looked = "1 file" if files == 1 else f"{files} files"
    if not kinds:
        return f"{looked}, nothing wrong"
    problems = "1 problem" if len(kinds) == 1 else f"{len(kinds)} problems"
    counts = ", ".join(f"{kind} {count}" for kind, count in Counter(kinds).most_common())
    return f"{looked}, {problems}: {counts}"
