"""``foveal measures``: list measures, presets and properties, or explain one measure."""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Mapping
from typing import TYPE_CHECKING

import click

from foveal.errors import UsageError

if TYPE_CHECKING:
    from foveal.analysis.properties import Family

__all__ = ["command"]


@click.command("measures", epilog="Example: foveal measures iP")
@click.argument("name", required=False)
@click.option("--presets", is_flag=True, help="List the official settings instead.")
@click.option(
    "--properties", is_flag=True, help="Compare families of measures by what they reward instead."
)
def command(name: str | None, *, presets: bool, properties: bool) -> None:
    """List the measures, or explain one: formula, parameters, source, example."""
    wanted = [
        word
        for word, given in (("NAME", name), ("--presets", presets), ("--properties", properties))
        if given
    ]
    if len(wanted) > 1:
        raise UsageError(f"{' and '.join(wanted)} ask for different things; give one of them")
    if presets:
        _list_presets()
    elif properties:
        click.echo(_property_table(), nl=False)
    elif name is None:
        _list_measures()
    else:
        click.echo(_explained(name), nl=False)


def _list_measures() -> None:
    from foveal.measures import all_measures

    measures = all_measures()
    width = max(len(measure.spelling) for measure in measures)
    for measure in measures:
        text = inspect.cleandoc(measure.__doc__ or "").split("\n")[0]
        mark = " [unsound]" if measure.unsound else ""
        click.echo(f"{measure.spelling:{width}}  {text}{mark}")


def _list_presets() -> None:
    from foveal.evaluation import PRESETS

    width = max(map(len, PRESETS))
    for preset in PRESETS.values():
        note = f"  [{'; '.join(preset.rules)}]" if preset.rules else ""
        click.echo(f"{preset.name:{width}}  {' '.join(preset.summary)}{note}")


def _property_table() -> str:
    """The families by their properties, with what the signs mean and where the paper differs."""
    from foveal.analysis.properties import FAMILIES, PROPERTIES, SIGNS, TASKS

    numbers: dict[str, int] = {}
    rows = [["family", *PROPERTIES]]
    for family in FAMILIES:
        row = [family.name]
        for name in PROPERTIES:
            cell = family.cells[name]
            says = f"the paper says {cell.paper}" if cell.disputed else ""
            note = "; ".join(part for part in (says, cell.note) if part)
            holder = ("*" if cell.paper else "~") if cell.opinion else ""
            number = f" {numbers.setdefault(note, len(numbers) + 1)}" if note else ""
            row.append(f"{cell.value}{holder}{number}")
        rows.append(row)
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = [_aligned(row, widths) for row in rows]
    signs = ", ".join(f"{sign} {meaning}" for sign, meaning in SIGNS.items())
    lines += ["", *_paragraph(f"{signs}; numbers are notes, see below"), ""]
    lines += _listed(PROPERTIES)
    lines += ["", *_paragraph(TASKS), "", *_paragraph(_ESTABLISHED), ""]
    lines += _listed({f"{number:2}": note for note, number in numbers.items()})
    lines += ["", "The rows are about these settings:"]
    lines += _listed({family.name: _settings(family) for family in FAMILIES})
    return "".join(f"{line}\n" for line in lines)


_WIDTH = 100
_ESTABLISHED = (
    "Every cell is what experiments on small runs show, except those marked * (the opinion of the "
    "paper) and ~ (our own). The paper is Pehcevski and Piwowarski, Evaluation Metrics, "
    "Encyclopedia of Database Systems, Table 2; where an experiment shows something else than it "
    "says, a note gives both."
)


def _aligned(cells: list[str], widths: list[int]) -> str:
    return "  ".join(f"{c:{w}}" for c, w in zip(cells, widths, strict=True)).rstrip()


def _paragraph(text: str, indent: int = 0) -> list[str]:
    return textwrap.wrap(text, _WIDTH, subsequent_indent=" " * indent, break_on_hyphens=False)


def _listed(meanings: Mapping[str, str]) -> list[str]:
    """Words and their meanings, side by side."""
    width = max(map(len, meanings))
    return [
        line
        for word, text in meanings.items()
        for line in _paragraph(f"{word:{width}}  {text}", width + 2)
    ]


def _settings(family: Family) -> str:
    """The measures of a family as the table takes them, and by property where that differs."""
    own = " ".join(family.measures)
    return "; ".join([own, *(f"{name}: {measure}" for name, measure in family.settings.items())])


def _tree(doc: str) -> list[str]:
    """The elements of a document of the example, with what was assessed of each."""
    from foveal.measures.toy import ELEMENTS, PLACES

    found = []
    assessed = {path: (grade, size, rsize) for path, grade, size, rsize in ELEMENTS.get(doc, [])}
    for path, (start, end) in PLACES[doc].items():
        step = path.rsplit("/", 1)[1]
        grade, size, rsize = assessed.get(path, ("0", end - start, 0))
        text = f"exhaustivity {grade}, {rsize} of {size} characters relevant"
        found.append(f"      {'  ' * (path.count('/') - 1)}{step:6} [{start},{end})  {text}")
    return found


def _explained(name: str) -> str:
    """Everything there is to say of one measure."""
    from foveal.measures import find_measure, parse_measure
    from foveal.measures.toy import JUDGEMENTS, run_example

    measure = find_measure(name.partition("@")[0].partition("(")[0])
    lines = [measure.spelling, "=" * len(measure.spelling), ""]
    lines += [*inspect.cleandoc(measure.__doc__ or "").split("\n"), ""]
    if measure.unsound:
        lines += [*_paragraph(f"unsound     {measure.unsound}", 12), ""]
    lines.append(f"formula     {measure.formula}")
    lines.append(f"source      {measure.source}")
    lines.append(f"cut-off     {measure.cutoff.value}")
    if measure.curve:
        first, last = measure.curve[0], measure.curve[-1]
        lines.append(f"curve       {measure.name}@curve: {first} ... {last}")
    if measure.aliases:
        lines.append(f"aliases     {', '.join(measure.aliases)}")
    low, high = measure.range
    lines.append(f"range       {low:g} to {'any' if high is None else f'{high:g}'}")
    lines.append(f"over topics {'sum' if measure.summed else 'mean'}")
    lines.append(f"overlap     {measure.overlap_rule.value}")
    if measure.needs:
        lines.append(f"needs       {'; '.join(need.what for need in measure.needs)}")
    if measure.parameters:
        lines += ["", "parameters"]
        for parameter in measure.parameters:
            lines.append(f"  {parameter.name}={parameter.allowed}")
            lines.append(f"      {parameter.description}")
    example = measure.example
    shown = parse_measure(example.measure or measure.name)
    lines += ["", "example"]
    for doc, entry in JUDGEMENTS["toy"].items():
        spans = ", ".join(f"[{s},{e})" for s, e in entry["spans"]) or "nothing"
        bep = f", best entry point {entry['bep']}" if "bep" in entry else ""
        lines.append(f"  {doc}: {entry['length']} characters, relevant {spans}{bep}")
        lines += _tree(doc) if shown.structural else []
    lines.append(f"  run: {example.run}")
    lines.append(f"  {shown} = {run_example(shown, example):.4f}")
    return "".join(f"{line}\n" for line in lines)
