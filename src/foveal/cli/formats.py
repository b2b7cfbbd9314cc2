"""``foveal formats``: list the file formats by kind, or explain one with an example."""

from __future__ import annotations

import json
import re

import click

from foveal.cli.options import FORMAT, Command, option
from foveal.cli.shared import emit, list_under_headings


@click.command("formats", cls=Command, examples=("foveal formats fol",))
@click.argument("name", required=False, type=FORMAT)
@option(
    "-f --format=text|json form",
    "Write text, or JSON with everything known about the formats.",
    default="text",
)
def command(name: str | None, form: str) -> None:
    """List the file formats by kind, or explain one: its fields and an example.

    Foveal recognises a file by its content. 'foveal convert --to NAME' writes the formats marked
    with w; r marks those that can be read.
    """
    from foveal.errors import UsageError
    from foveal.formats import list_formats

    known = list(list_formats())
    found = [one for one in known if name in (None, one.name)]
    if not found:
        names = ", ".join(dict.fromkeys(one.name for one in known))
        raise UsageError(f"unknown format {name!r}; expected {names}")
    lines: list[str] = []
    if form == "json":
        records = [
            {
                "kind": one.kind,
                "name": one.name,
                "reads": one.reads,
                "writes": one.write is not None,
                "explanation": one.explanation,
                "example": one.example,
            }
            for one in found
        ]
        lines.append(json.dumps(records, indent=1))
    elif name is None:
        marks = [("r" if one.reads else " ") + ("w" if one.write else " ") for one in found]
        rows = zip(found, marks, strict=True)
        lines = list_under_headings((f.kind, f.name, f"{mark}  {f.summary}") for f, mark in rows)
    else:
        for one in found:
            title = f"{one.name} ({one.kind})"
            # A terminal has no use for the targets of links.
            explanation = re.sub(r"\[([^]]+)\]\([^)]+\)", r"\1", one.explanation.strip())
            lines += [*([""] if lines else []), title, "=" * len(title), "", explanation]
            if one.example:
                lines += ["", "Example:", "", one.example.rstrip("\n")]
    emit("\n".join(lines) + "\n", None)
