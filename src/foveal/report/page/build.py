"""One HTML file from data, style, script and template, which loads nothing from the network."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Mapping
from functools import cache
from hashlib import sha256
from html import escape
from importlib.resources import files
from string import Template
from typing import Any

__all__ = ["LARGEST", "html", "size_of"]

LARGEST = 2_000_000
"""Largest size of a page in bytes."""
_CELL = 110
"""Approximate bytes of a cell of the summary."""
_LONG = 40
"""Characters of a run name that stay on one line; longer names wrap to keep scores in view."""
_SCRIPTS = (
    "elements",
    "tables",
    "summary",
    "axes",
    "lines",
    "squares",
    "graphs",
    "topics",
    "documents",
    "start",
)
"""The parts of the script, in the order of their dependencies."""


@cache
def _read_assets() -> tuple[str, str, str]:
    """Return the style, the script (all parts in one scope) and the template."""
    folder = files(__package__)
    paths = ["style.css", "template.html", *(f"script/{name}.js" for name in _SCRIPTS)]
    style, template, *parts = (folder.joinpath(path).read_text(encoding="utf-8") for path in paths)
    script = "\n".join(parts)
    return style, f'"use strict";\n(() => {{\n{script}}})();\n', template


def _json(data: Mapping[str, Any]) -> str:
    """Write data as JSON that cannot end its script element."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def size_of(data: Mapping[str, Any]) -> int:
    """Return an upper estimate of the bytes of a page without views of documents."""
    cells = len(data["runs"]) * len(data["measures"])
    return len((_json(data) + "".join(_read_assets())).encode()) + cells * _CELL


def html(data: Mapping[str, Any]) -> str:
    """Return the page.

    Its policy allows one script and one style, by their hashes. The browser loads and runs nothing
    else, not even markup in the name of a run.
    """
    style, script, template = _read_assets()
    hashes = [b64encode(sha256(text.encode()).digest()).decode() for text in (script, style)]
    policy = (
        f"default-src 'none'; script-src 'sha256-{hashes[0]}'; style-src 'sha256-{hashes[1]}'; "
        "base-uri 'none'; form-action 'none'"
    )
    best, task = data["answers"][data["by"]], data["provenance"]["task"]
    title = f"{len(data['runs'])} runs, {len(data['topics'])} topics"
    warnings = "".join(f"<li>{escape(line)}</li>" for line in data["warnings"])
    return Template(template).substitute(
        policy=escape(policy),
        style=style,
        script=script,
        data=_json(data),
        title=escape(f"{task}: {title}" if task else title),
        sure=best["sure"],
        answer=escape(best["text"]),
        rule=escape(data["rule"]),
        summary=_summary(data),
        warnings=f"<ul>{warnings}</ul>" if warnings else "<p>Nothing was odd about the inputs.</p>",
        provenance=_provenance(data["provenance"]),
        command=escape(data["command"] or "(called from Python)"),
    )


def _summary(data: Mapping[str, Any]) -> str:
    """Return the table of runs and measures, which needs no script."""
    best = {(i, j) for i, j in data["best"]}
    head = ""
    for j, measure in enumerate(data["measures"]):
        label = escape(measure["label"])
        for mark, breakable in (("(", "<wbr>("), (",", ",<wbr>"), (")@", ")<wbr>@")):
            label = label.replace(mark, breakable)
        head += (
            f'<th scope="col" class="n" data-column="{j}" title="{escape(measure["says"])}">'
            f'<button type="button">{label}</button></th>'
        )
    rows = []
    for i, run in enumerate(data["runs"]):
        cells = []
        for j, text in enumerate(data["cells"][i]):
            letters, limits = data["letters"][j][i], data["limits"][j][i]
            shown = f"<b>{escape(text)}</b>" if (i, j) in best else escape(text)
            shown += f"<sup>{escape(letters)}</sup>" if letters else ""
            if limits:
                low, high = (f"{end / 10_000:.4f}" for end in limits)
                shown += f"<small>{low}&ndash;{high}</small>"
            cells.append(f'<td class="n">{shown}</td>')
        kind = ' class="long"' if len(run) > _LONG else ""
        name = f'<th scope="row"{kind}>{escape(run)}</th>'
        rows.append(f'<tr data-run="{i}">{name}{"".join(cells)}</tr>')
    return (
        '<thead><tr><th scope="col" data-column="-1"><button type="button">run</button></th>'
        f"{head}</tr></thead>\n<tbody>\n" + "\n".join(rows) + "\n</tbody>"
    )


def _provenance(known: Mapping[str, Any]) -> str:
    """Return the versions, task, options and inputs."""
    versions = ", ".join(f"{name} {number}" for name, number in known["versions"].items())
    options = ", ".join(
        f"{name} = {json.dumps(value, ensure_ascii=False)}"
        for name, value in known["options"].items()
    )
    facts = {
        "Versions": versions,
        "Task": known["task"] or "none",
        "Options": options or "all as by default",
    }
    listed = "".join(f"<dt>{k}</dt><dd>{escape(v)}</dd>" for k, v in facts.items())
    inputs = "".join(
        f"<tr><td>{escape(part['kind'])}</td><td>{escape(part['path'])}</td>"
        f"<td><code>{part['sha256'] or 'made in Python'}</code></td></tr>"
        for part in known["inputs"]
    )
    return (
        f"<dl>{listed}</dl>\n"
        '<div class="scroll" tabindex="0" role="region" aria-label="Inputs">'
        "<table><caption>Inputs</caption>"
        '<thead><tr><th scope="col">kind</th><th scope="col">path</th>'
        f'<th scope="col">SHA-256</th></tr></thead>\n<tbody>{inputs}</tbody></table></div>'
    )
