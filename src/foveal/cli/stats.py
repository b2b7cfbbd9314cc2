"""``foveal stats``: what a collection, topic set, judgement set or run holds."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from foveal.cli.options import Command, max_bytes_option
from foveal.cli.shared import emit

_NAMES = 46
"""Columns for the name of a figure."""
_MOST_ROWS = 20


def _statistics(path: str, collection: str | None) -> dict[str, Any]:
    """Tell by the content what a path is, and describe it."""
    from foveal.analysis import statistics
    from foveal.collection import Collection
    from foveal.collection.placement import place_judgements, place_run
    from foveal.collection.storage import is_index
    from foveal.formats import kind_of, read_judgements, read_run, read_topics

    if is_index(Path(path)):
        described = Collection.open(path)
        described.verify()
        return statistics.collection_statistics(described)
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
        if name == "kind" or value is None or value == {}:
            continue
        if not isinstance(value, dict):
            lines.append(f"  {name:{_NAMES}}{_number(value)}")
        elif "median" in value:
            spread = "  ".join(f"{key} {_number(number)}" for key, number in value.items())
            lines.append(f"  {name:{_NAMES}}{spread}")
        else:
            lines.append(f"  {name}")
            shown = list(value.items())[:_MOST_ROWS]
            lines += [f"    {key:{_NAMES - 2}}{_number(number)}" for key, number in shown]
            if len(value) > len(shown):
                lines.append(f"    ... and {len(value) - len(shown)} more (all with -f json)")
    return "".join(f"{line}\n" for line in lines)


def _number(value: Any) -> str:
    """Whole numbers without a point; names as they are."""
    return f"{value:g}" if isinstance(value, float) and abs(value) < 1e6 else str(value)


@click.command(
    "stats",
    cls=Command,
    examples=("foveal stats wiki.fvx topics.xml qrels.txt my.run",),
)
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@click.option("-C", "--collection", metavar="INDEX", help="A collection index, for elements.")
@max_bytes_option
@click.option(
    "-f",
    "--format",
    "form",
    type=click.Choice(["table", "json"]),
    default="table",
    show_default=True,
    help="Print a table, or everything as JSON.",
)
def command(paths: tuple[str, ...], collection: str | None, form: str) -> None:
    """Describe collections, topics, judgements and runs, detected from their content.

    A collection index is checked to its last byte.
    """
    found = {path: _statistics(path, collection) for path in paths}
    if form == "json":
        emit(json.dumps(found, indent=1, ensure_ascii=False) + "\n", None)
    else:
        emit("\n".join(_text(path, value) for path, value in found.items()), None)
