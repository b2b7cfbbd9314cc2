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
    "12": ("Passages and chunks (RAG)", "The results of a topic as text, read from the top."),
    "answers": ("Answers", "Sentences that cite text, and the text they were made from."),
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
_SHORT = 60
"""Characters of a line for the measures of a preset."""
_ESTABLISHED = (
    "Every cell is what experiments on small runs show, except those marked * (the opinion of the "
    "paper) and ~ (our own). The paper is Pehcevski and Piwowarski, Evaluation Metrics, "
    "Encyclopedia of Database Systems, Table 2; where an experiment shows something else than it "
    "says, a note gives both."
)


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
@option("--presets", "List the presets, or all measures of one.")
@option("--properties", "Compare families of measures by what they reward.")
def command(name: str | None, *, presets: bool, properties: bool) -> None:
    """List the measures, or explain one: formula, parameters, source, example."""
    if properties and (name or presets):
        raise UsageError("--properties compares all measures; leave out NAME and --presets")
    if properties:
        lines = _tabulate_properties()
    elif presets:
        lines = _list_presets(name)
    else:
        lines = _list_measures() if name is None else _explain_measure(name)
    click.echo("".join(f"{line}\n" for line in lines), nl=False)


def _list_measures() -> list[str]:
    from foveal.measures import all_measures

    order = [*FAMILIES, ""]
    rows = []
    for measure in all_measures():
        section = measure.section.partition(".")[0]
        section = section if section in FAMILIES else ""
        heading, _ = FAMILIES.get(section, ("Others", ""))
        text = inspect.cleandoc(measure.__doc__ or "").split("\n")[0]
        mark = " [unsound]" if measure.unsound else ""
        rows.append((order.index(section), (heading, measure.spelling, f"{text}{mark}")))
    return list_under_headings(row for _, row in sorted(rows, key=lambda pair: pair[0]))


def _list_presets(name: str | None) -> list[str]:
    """Return all official settings by year, or the measures and rules of one."""
    from foveal.evaluation import PRESETS, find_preset

    if name is not None:
        preset = find_preset(name)
        title = [preset.name, "=" * len(preset.name), ""]
        return [*title, *preset.summary, *map("[{}]".format, preset.rules)]
    rows = []
    for preset in PRESETS.values():
        measures = " ".join(preset.summary)
        if len(measures) > _SHORT:
            names = " ".join(dict.fromkeys(measure.name for measure in preset.measures))
            measures = f"{names} ({len(preset.measures)} measures)"
        note = f"  [{'; '.join(preset.rules)}]" if preset.rules else ""
        heading = f"INEX {preset.name[:4]}" if preset.name[0].isdigit() else "RAG"
        rows.append((heading, preset.name, f"{measures}{note}"))
    return list_under_headings(sorted(rows, key=lambda row: row[0], reverse=True))


def _tabulate_properties() -> list[str]:
    """Return the families by property, the meaning of the signs, and differences to the paper."""
    from foveal.analysis.properties import FAMILIES, OPINION, PROPERTIES, SIGNS, TASKS

    notes: list[str] = []
    rows = [["family", *PROPERTIES]]
    settings = {}
    for family in FAMILIES:
        rows.append([family.name])
        for name in PROPERTIES:
            cell = family.cells[name]
            said = f"the paper says {cell.paper}" if cell.disputed else ""
            note = "; ".join(filter(None, (said, cell.note)))
            if note and note not in notes:
                notes.append(note)
            mark = ("*" if cell.paper else "~") if name == OPINION else ""
            number = f" {notes.index(note) + 1}" if note else ""
            rows[-1].append(f"{cell.value}{mark}{number}")
        own = (f"{name}: {measure}" for name, measure in family.settings.items())
        settings[family.name] = "; ".join([" ".join(family.measures), *own])
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    padded = ([f"{c:{w}}" for c, w in zip(row, widths, strict=True)] for row in rows)
    signs = ", ".join(f"{sign} {meaning}" for sign, meaning in SIGNS.items())
    return [
        *("  ".join(row).rstrip() for row in padded),
        *("", *_wrap(f"{signs}; numbers are notes, see below")),
        *("", *_list_meanings(PROPERTIES)),
        *("", *_wrap(TASKS)),
        *("", *_wrap(_ESTABLISHED)),
        *("", *_list_meanings({f"{i:2}": note for i, note in enumerate(notes, 1)})),
        *("", "The rows are about these settings:", *_list_meanings(settings)),
    ]


def _wrap(text: str, indent: int = 0) -> list[str]:
    return textwrap.wrap(text, 100, subsequent_indent=" " * indent, break_on_hyphens=False)


def _list_meanings(meanings: Mapping[str, str]) -> list[str]:
    """Return words and their meanings, side by side."""
    width = max(map(len, meanings))
    lines = (_wrap(f"{word:{width}}  {text}", width + 2) for word, text in meanings.items())
    return [line for own in lines for line in own]


def _explain_measure(name: str) -> list[str]:
    """Return everything known about one measure."""
    from foveal.measures import find_measure, parse_measure
    from foveal.measures.toy import JUDGEMENTS, run_example

    measure = find_measure(name.partition("@")[0].partition("(")[0])
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
    lines = [measure.spelling, "=" * len(measure.spelling), ""]
    lines += [*inspect.cleandoc(measure.__doc__ or "").split("\n"), ""]
    if measure.unsound:
        lines += [*_wrap(f"unsound     {measure.unsound}", 12), ""]
    lines += [f"{fact:11} {text}" for fact, text in facts.items() if text]
    lines += ["", "parameters"] if measure.parameters else []
    for parameter in measure.parameters:
        lines += [f"  {parameter.name}={parameter.allowed}", f"      {parameter.description}"]
    lines += ["", "example"]
    for doc, entry in JUDGEMENTS["toy"].items():
        spans = ", ".join(f"[{s},{e})" for s, e in entry["spans"]) or "nothing"
        bep = f", best entry point {entry['bep']}" if "bep" in entry else ""
        lines.append(f"  {doc}: {entry['length']} characters, relevant {spans}{bep}")
    shown = parse_measure(measure.example.measure or measure.name)
    score = run_example(shown, measure.example)
    return [*lines, f"  run: {measure.example.run}", f"  {shown} = {score:.4f}"]
