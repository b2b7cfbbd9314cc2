"""``foveal stats``: what a collection, topic set, judgement set or run holds."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from foveal.cli.output import emit

__all__ = ["command"]


def _statistics(path: str, collection: str | None) -> dict[str, Any]:
    """Tell by the content what a path is, and describe it."""
    from foveal.campaign import statistics
    from foveal.campaign.placing import place_judgements, place_run
    from foveal.collection import Collection
    from foveal.collection.storage import MAGIC
    from foveal.formats import kind_of, read_judgements, read_run, read_topics

    if Path(path).is_file():
        with Path(path).open("rb") as stream:
            if stream.read(len(MAGIC)) == MAGIC:
                return statistics.collection_statistics(Collection.open(path))
    index = Collection.open(collection) if collection else None
    kind = kind_of(path)
    if kind == "topics":
        return statistics.topic_statistics(read_topics(path))
    if kind == "judgements":
        judgements = read_judgements(path)
        if index is not None:
            judgements = place_judgements(judgements, index)
        return statistics.judgement_statistics(judgements, index)
    run = read_run(path)
    return statistics.run_statistics(run if index is None else place_run(run, index, lenient=True))


def _text(path: str, found: dict[str, Any]) -> str:
    lines = [f"{path}: {found['kind']}"]
    for name, value in found.items():
        if name == "kind" or value is None:
            continue
        if isinstance(value, dict):
            lines.append(f"  {name}")
            lines += [f"    {key:24} {number:>12}" for key, number in value.items()]
        else:
            lines.append(f"  {name:42} {value:>12}")
    return "".join(f"{line}\n" for line in lines)


@click.command("stats", epilog="Example: foveal stats wiki.fvx topics.xml qrels.txt my.run")
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@click.option("-C", "--collection", metavar="INDEX", help="A collection index, for elements.")
@click.option(
    "-f",
    "--format",
    "form",
    type=click.Choice(["table", "json"]),
    default="table",
    show_default=True,
)
def command(paths: tuple[str, ...], collection: str | None, form: str) -> None:
    """Describe collections, topics, judgements and runs; the kind is told from the content."""
    found = {path: _statistics(path, collection) for path in paths}
    if form == "json":
        emit(json.dumps(found, indent=1, ensure_ascii=False) + "\n", None)
    else:
        emit("\n".join(_text(path, value) for path, value in found.items()), None)
