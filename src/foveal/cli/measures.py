"""``foveal measures``: list measures, presets and properties, or explain one measure."""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Mapping

import click

from foveal.cli.options import MEASURE, Command, option
from foveal.cli.shared import list_under_headings
from foveal.errors import UsageError

_GAIN = ("Cumulated gain", "XCG: what a run of elements gains, beside an ideal list.")
_EARLY = ("Early INEX", "Precision and recall over graded elements, 2002 to 2004.")
FAMILIES = {
    "12": (
        "Passages and chunks (RAG)",
        "The results of a topic as text that is read from the top.",
    ),
    "30": ("Other tools", "What other programs compute, to the digit, sound or not."),
    "13": ("In context", "Documents are ranked; each scores by the parts returned of it."),
    "14": ("Entry points", "A result tells the reader where to start in a document."),
    "16": ("Patience", "A reader enters at each result and reads on while it pays."),
    "11": ("HiXEval", "Precision and recall of text, with a price on text that comes again."),
    "17": ("Documents", "The classic measures, each document at the rank of its first result."),
    "18": ("Overlap", "How much a run repeats itself. Low is good."),
    "29": ("Counts", "Numbers of results, documents and characters; not scores."),
    "6": _GAIN,
    "7": _GAIN,
    "8": _GAIN,
    "9": _GAIN,
    "10": ("Fetch & Browse", "Documents are fetched first, then elements found in each."),
    "4": _EARLY,
    "5": _EARLY,
    "15": ("User models", "A user moves on from results to targets, with some probability."),
}
"""Section that measures declare, without its part after the point, to title and description."""
_YEARS = {
    "2007": "INEX 2007 to 2010: passages",
    "2005": "INEX 2005 and 2006: elements",
    "2002": "INEX 2002 to 2004: graded elements",
}
"""First year to the heading of its presets."""
_SHORT = 60
"""Characters of a line for the measures of a preset."""
_WIDTH = 100


@click.command(
    "measures",
    cls=Command,
    examples=(
        "foveal measures iP",
        "foveal measures --presets",
        "foveal measures --presets 2005.CO.Thorough",
    ),
)
@click.argument("name", required=False, type=MEASURE)
@option("--presets", "List the official settings, or all measures of one.")
@option("--properties", "Compare families of measures by what they reward.")
def command(name: str | None, *, presets: bool, properties: bool) -> None:
    """List the measures, or explain one: formula, parameters, source, example."""
    if properties and (name or presets):
        other = "--presets" if presets else "NAME"
        raise UsageError(f"{other} and --properties ask for different things; give one of them")
    if properties:
        lines = _tabulate_properties()
    elif presets:
        lines = _list_presets() if name is None else _explain_preset(name)
    else:
        lines = _list_measures() if name is None else _explain_measure(name)
    click.echo("".join(f"{line}\n" for line in lines), nl=False)


def _list_measures() -> list[str]:
    from foveal.measures import all_measures

    order = {section: place for place, section in enumerate(FAMILIES)}
    rows = []
    for measure in all_measures():
        section = measure.section.partition(".")[0]
        heading, _ = FAMILIES.get(section, ("Others", ""))
        text = inspect.cleandoc(measure.__doc__ or "").split("\n")[0]
        mark = " [unsound]" if measure.unsound else ""
        place = order.get(section, len(order))
        rows.append((place, (heading, measure.spelling, f"{text}{mark}")))
    return list_under_headings(row for _, row in sorted(rows, key=lambda pair: pair[0]))


def _list_presets() -> list[str]:
    from foveal.evaluation import PRESETS

    rows = []
    for preset in PRESETS.values():
        measures = " ".join(preset.summary)
        if len(measures) > _SHORT:
            names = " ".join(dict.fromkeys(measure.name for measure in preset.measures))
            measures = f"{names} ({len(preset.measures)} measures)"
        note = f"  [{'; '.join(preset.rules)}]" if preset.rules else ""
        since = max((year for year in _YEARS if year <= preset.name), default="")
        heading = _YEARS[since] if preset.name[0].isdigit() else "RAG"
        rows.append((heading, preset.name, f"{measures}{note}"))
    order = ["RAG", *_YEARS.values()]
    return list_under_headings(sorted(rows, key=lambda row: order.index(row[0])))


def _explain_preset(name: str) -> list[str]:
    """Return the measures and the rules of official settings."""
    from foveal.evaluation import find_preset

    preset = find_preset(name)
    return [
        preset.name,
        "=" * len(preset.name),
        "",
        *preset.summary,
        *map("[{}]".format, preset.rules),
    ]


_ESTABLISHED = (
    "Every cell is what experiments on small runs show, except those marked * (the opinion of the "
    "paper) and ~ (our own). The paper is Pehcevski and Piwowarski, Evaluation Metrics, "
    "Encyclopedia of Database Systems, Table 2; where an experiment shows something else than it "
    "says, a note gives both."
)


def _tabulate_properties() -> list[str]:
    """Return the families by property, the meaning of the signs, and differences to the paper."""
    from foveal.analysis.properties import FAMILIES, OPINION, PROPERTIES, SIGNS, TASKS

    numbers: dict[str, int] = {}
    rows = [["family", *PROPERTIES]]
    for family in FAMILIES:
        row = [family.name]
        for name in PROPERTIES:
            cell = family.cells[name]
            says = f"the paper says {cell.paper}" if cell.disputed else ""
            note = "; ".join(part for part in (says, cell.note) if part)
            holder = ("*" if cell.paper else "~") if name == OPINION else ""
            number = f" {numbers.setdefault(note, len(numbers) + 1)}" if note else ""
            row.append(f"{cell.value}{holder}{number}")
        rows.append(row)
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = [
        "  ".join(f"{cell:{width}}" for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]
    signs = ", ".join(f"{sign} {meaning}" for sign, meaning in SIGNS.items())
    lines += ["", *_paragraph(f"{signs}; numbers are notes, see below"), ""]
    lines += _listed(PROPERTIES)
    lines += ["", *_paragraph(TASKS), "", *_paragraph(_ESTABLISHED), ""]
    lines += _listed({f"{number:2}": note for note, number in numbers.items()})
    lines += ["", "The rows are about these settings:"]
    settings = {}
    for family in FAMILIES:
        own = (f"{name}: {measure}" for name, measure in family.settings.items())
        settings[family.name] = "; ".join([" ".join(family.measures), *own])
    return [*lines, *_listed(settings)]


def _paragraph(text: str, indent: int = 0) -> list[str]:
    return textwrap.wrap(text, _WIDTH, subsequent_indent=" " * indent, break_on_hyphens=False)


def _listed(meanings: Mapping[str, str]) -> list[str]:
    """Return words and their meanings, side by side."""
    width = max(map(len, meanings))
    return [
        line
        for word, text in meanings.items()
        for line in _paragraph(f"{word:{width}}  {text}", width + 2)
    ]


def _explain_measure(name: str) -> list[str]:
    """Return everything known about one measure."""
    from foveal.measures import find_measure, parse_measure
    from foveal.measures.toy import JUDGEMENTS, run_example

    measure = find_measure(name.partition("@")[0].partition("(")[0])
    lines = [measure.spelling, "=" * len(measure.spelling), ""]
    lines += [*inspect.cleandoc(measure.__doc__ or "").split("\n"), ""]
    if measure.unsound:
        lines += [*_paragraph(f"unsound     {measure.unsound}", 12), ""]
    low, high = measure.range
    points = f"{measure.curve[0]} ... {measure.curve[-1]}" if measure.curve else ""
    facts = {
        "formula": measure.formula,
        "source": measure.source,
        "cut-off": measure.cutoff.value,
        "curve": f"{measure.name}@curve: {points}" if points else "",
        "aliases": ", ".join(measure.aliases),
        "range": f"{low:g} to {'any' if high is None else f'{high:g}'}",
        "over topics": "sum" if measure.summed else "mean",
        "overlap": measure.overlap_rule.value,
        "needs": "; ".join(need.what for need in measure.needs),
    }
    lines += [f"{fact:11} {text}" for fact, text in facts.items() if text]
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
        lines += _draw_tree(doc) if shown.structural else []
    lines.append(f"  run: {example.run}")
    lines.append(f"  {shown} = {run_example(shown, example):.4f}")
    return lines


def _draw_tree(doc: str) -> list[str]:
    """Return the elements of a document of the example with their assessments."""
    from foveal.measures.toy import ELEMENTS, PLACES

    found = []
    assessed = {path: (grade, size, rsize) for path, grade, size, rsize in ELEMENTS.get(doc, [])}
    for path, (start, end) in PLACES[doc].items():
        step = path.rsplit("/", 1)[1]
        grade, size, rsize = assessed.get(path, ("0", end - start, 0))
        text = f"exhaustivity {grade}, {rsize} of {size} characters relevant"
        found.append(f"      {'  ' * (path.count('/') - 1)}{step:6} [{start},{end})  {text}")
    return found
