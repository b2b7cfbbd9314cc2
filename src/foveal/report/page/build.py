"""One HTML file from data, style, script and template: nothing is fetched from anywhere."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Iterable, Mapping
from hashlib import sha256
from html import escape
from importlib.resources import files
from string import Template
from typing import Any

__all__ = ["LARGEST", "html", "size_of"]

LARGEST = 2_000_000
"""Bytes that a page should not exceed."""
_CELL = 110
"""Bytes of a cell of the summary, about."""
_LONG = 40
"""Signs from which the name of a run goes on in a next line, so that scores stay in sight."""


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
"""The parts of the script, in the order in which they need each other."""


def _asset(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8")


def _script() -> str:
    """One script of all parts, in a scope of its own."""
    parts = "\n".join(_asset(f"script/{name}.js") for name in _SCRIPTS)
    return f'"use strict";\n(() => {{\n{parts}}})();\n'


def _json(data: Mapping[str, Any]) -> str:
    """Data that cannot end the script element it stands in."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def size_of(data: Mapping[str, Any]) -> int:
    """Bytes of a page without views of documents, estimated from above."""
    cells = len(data["runs"]) * len(data["measures"])
    assets = _script() + _asset("style.css") + _asset("template.html")
    return len(_json(data).encode()) + cells * _CELL + len(assets.encode())


def html(data: Mapping[str, Any]) -> str:
    """The page.

    Its policy allows one script and one style, by their hashes; whatever else a browser might be
    tempted to load or run, such as a name that holds markup, is forbidden.
    """
    script, style = _script(), _asset("style.css")
    policy = (
        f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}'; "
        "base-uri 'none'; form-action 'none'"
    )
    best = data["answers"][data["by"]]
    return Template(_asset("template.html")).substitute(
        policy=escape(policy),
        style=style,
        script=script,
        data=_json(data),
        title=escape(_title(data)),
        sure=best["sure"],
        answer=escape(best["text"]),
        rule=escape(data["rule"]),
        summary=_summary(data),
        warnings=_warnings(data["warnings"]),
        provenance=_provenance(data["provenance"]),
        command=escape(data["command"] or "(called from Python)"),
    )


def _hash(text: str) -> str:
    return f"sha256-{b64encode(sha256(text.encode()).digest()).decode()}"


def _title(data: Mapping[str, Any]) -> str:
    task = data["provenance"]["task"]
    about = f"{len(data['runs'])} runs, {len(data['topics'])} topics"
    return f"{task}: {about}" if task else about


def _summary(data: Mapping[str, Any]) -> str:
    """The table of runs and measures, complete without any script."""
    best = {(i, j) for i, j in data["best"]}
    head = "".join(
        f'<th scope="col" class="n" data-column="{j}" title="{escape(measure["says"])}">'
        f'<button type="button">{_breakable(measure["label"])}</button></th>'
        for j, measure in enumerate(data["measures"])
    )
    rows = []
    for i, run in enumerate(data["runs"]):
        cells = []
        for j, text in enumerate(data["cells"][i]):
            letters, limits = data["letters"][j][i], data["limits"][j][i]
            shown = f"<b>{escape(text)}</b>" if (i, j) in best else escape(text)
            shown += f"<sup>{escape(letters)}</sup>" if letters else ""
            if limits:
                shown += f"<small>{_four(limits[0])}&ndash;{_four(limits[1])}</small>"
            cells.append(f'<td class="n">{shown}</td>')
        kind = ' class="long"' if len(run) > _LONG else ""
        name = f'<th scope="row"{kind}>{escape(run)}</th>'
        rows.append(f'<tr data-run="{i}">{name}{"".join(cells)}</tr>')
    return (
        '<thead><tr><th scope="col" data-column="-1"><button type="button">run</button></th>'
        f"{head}</tr></thead>\n<tbody>\n" + "\n".join(rows) + "\n</tbody>"
    )


def _breakable(label: str) -> str:
    """A long name that may go on in the next line after what separates its parts.

    >>> _breakable("ep(quant=gen5)@0.1")
    'ep<wbr>(quant=gen5)<wbr>@0.1'
    """
    text = escape(label)
    for mark, split in (("(", "<wbr>("), (",", ",<wbr>"), (")@", ")<wbr>@")):
        text = text.replace(mark, split)
    return text


def _four(value: int) -> str:
    return f"{value / 10_000:.4f}"


def _warnings(warnings: Iterable[str]) -> str:
    items = "".join(f"<li>{escape(line)}</li>" for line in warnings)
    return f"<ul>{items}</ul>" if items else "<p>Nothing was odd about the inputs.</p>"


def _provenance(known: Mapping[str, Any]) -> str:
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
