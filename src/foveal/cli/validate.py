"""``foveal validate``: everything wrong with a run, before it is scored."""

from __future__ import annotations

import json
import sys
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

    Checked are the format, the order of scores, repeated results and their number; with a task
    what it forbids (overlap, interleaved documents, limits); with a collection the documents and
    paths; with topics the topic ids and, for strict CAS tasks, the targets of the castitles.
    """
    from foveal.campaign import find_preset
    from foveal.campaign.validation import validate
    from foveal.collection import Collection
    from foveal.formats import read_topics

    preset = find_preset(task) if task else None
    index = Collection.open(collection) if collection else None
    topics = read_topics(topics_file) if topics_file else None
    findings = [
        finding
        for run in runs
        for finding in validate(
            run,
            preset=preset,
            collection=index,
            topics=None if topics is None else topics.ids,
            castitles=None if topics is None else topics.castitles,
            max_results=max_results,
        )
    ]
    if form == "json":
        emit(json.dumps([asdict(finding) for finding in findings], indent=1) + "\n", None)
    else:
        emit("".join(f"{finding}\n" for finding in findings), None)
        verdict = f"{len(findings)} problems" if findings else "nothing wrong"
        click.echo(f"{len(runs)} runs, {verdict}", err=True)
    if findings:
        sys.exit(1)
