"""Pages that MkDocs generates from the code, so that the reference is always up to date."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import foveal
from foveal.cli import cli
from foveal.cli.measures import FAMILIES
from foveal.cli.options import group_options
from foveal.evaluation import PRESETS, Preset
from foveal.formats import list_formats
from foveal.measures import Measure, all_measures, parse_measure
from foveal.measures.measure import Choice
from foveal.measures.toy import JUDGEMENTS, run_example
from foveal.problem_codes import CODES

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parents[1]

MEASURES = """\
# Measures

A measure is written `Name(parameter=value,...)@cutoff`, on the command line and in Python:
`iP@0.01`, `gP(beta=0.25)@10`. The cut-off is a rank `k`, a whole number from 1, or a recall level
`x` from 0 to 1; `[@k]` is optional. `Name@curve` gives all points of a measure with a curve.
Results show only parameters that differ from their defaults.

Topic `all` holds the mean over topics, so `MAP`, `MAgP` and `MAiP` are other names of `AP`, `AgP`
and `AiP`. `foveal measures NAME` prints the section of one measure. [Official
settings](#presets) are at the end.
"""

NOTATION = """\
## Notation and examples {#notation}

`size(i)` is the number of characters of the result at rank i, `rsize(i)` the number of relevant
ones. `Trel` counts the relevant characters of the topic, `Trel(d)` those of one document,
`Nrel` the relevant documents. `S(d)` is the score of a document between 0 and 1; `rel(d)` is 1 for
a relevant document, otherwise 0.

`q(e)` is the worth of an assessed element by the quantisation `quant`; `xG[i]` is the gain of the
result at rank i, `xI[j]` that of the j-th element of the ideal list; `xCG` and `xCI` are their
sums.

All examples use one topic with three small documents. A result `D1:20-40` is the text of D1 from
offset 20 up to, and without, 40; `D1:/a/s[1]` is an element. D1 is an element `a` with two sections
`s` of 60 and 40 characters, which contain three and two paragraphs `p` of 20; D2 and D3 contain two
paragraphs each.
"""

OFFICIAL = """\
## Presets {#presets}

`-t NAME` scores the measures that the organisers of a task reported, with their parameters.
`-t rag` scores chunks for a language model; it is used where no measure is named. `Focussed` and
`Focused`, `AllInContext` and `RelevantInContext` are both accepted.
"""

COMMANDS = """\
# Commands

Data goes to standard output, warnings and progress to standard error. Exit codes: 0 success, 1 a
check failed, 2 bad input or usage, 130 interrupted. `python -m foveal` is the same as `foveal`.

`--help` shows the common options, `--help-all` all of them. Warnings come after the result. A
terminal shows the first one and their number, with `-v` all of them.
"""


API = """\
# Python

The public names of `import foveal`. Other modules may change without notice.
"""


PROBLEMS = """\
# Problems

Every problem of an input has a code that does not change with the wording of messages. Programs
match `problem.code` of `InputError.problems`, or `code` in `foveal validate -f json`.
"""


COPYING = "[data-md-copying] .gp, [data-md-copying] .go { display: none; }\n"
"""The copy button of a session leaves out prompts and output."""


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the generated pages and the style sheet to the site."""
    from mkdocs.structure.files import File

    pages = {
        "measures.md": measures_page(),
        "commands.md": commands_page(),
        "api.md": api_page(),
        "problems.md": problems_page(),
        "changelog.md": (ROOT / "CHANGELOG.md").read_text(),
    }
    for name, content in pages.items():
        files.append(File.generated(config, name, content=content))
    files.append(File.generated(config, "copying.css", content=COPYING))
    config.extra_css.append("copying.css")
    return files


def on_page_markdown(markdown: str, page: Page, **_: Any) -> str:
    """Replace the markers of the page about formats with the formats of each kind."""
    if page.file.src_uri != "formats.md":
        return markdown
    return re.sub(r"<!-- formats: (\w+) -->", lambda found: formats_section(found[1]), markdown)


def formats_section(kind: str) -> str:
    """Return every format of a kind, as ``foveal formats NAME`` explains it."""
    lines: list[str] = []
    for form in list_formats(kind):
        lines += [f"### {form.name} {{#{kind}-{form.name}}}", "", form.explanation.strip(), ""]
        lines += block(*form.example.rstrip("\n").split("\n")) if form.example else []
    return "\n".join(lines)


def table(header: Iterable[str], rows: Iterable[Iterable[str]]) -> list[str]:
    """Return a Markdown table, with an empty line after it."""
    cells = [list(header), *map(list, rows)]
    cells.insert(1, ["---"] * len(cells[0]))
    return [*(f"| {' | '.join(row)} |" for row in cells), ""]


def code(text: str) -> str:
    """Return text as inline code."""
    return f"`{text}`"


def block(*lines: str) -> list[str]:
    """Return lines as a block of text, with an empty line after it."""
    return ["```text", *lines, "```", ""]


# -- measures ----------------------------------------------------------------------------------


def measures_page() -> str:
    """Return the page of all registered measures and presets."""
    families = _families()
    lines = [MEASURES]
    for (title, _), measures in families.items():
        lines += table(
            (title, ""), ((f"[`{m.spelling}`](#{m.name})", _summary(m)) for m in measures)
        )
    lines += [NOTATION, *_toy()]
    for (title, text), measures in families.items():
        lines += [f"## {title}", "", text, ""]
        for measure in measures:
            lines += _measure(measure)
    return "\n".join([*lines, OFFICIAL, *_presets(PRESETS.values())])


def _families() -> dict[tuple[str, str], list[Measure]]:
    """Return measures by family, in the order of `FAMILIES`; a new family comes last."""
    found: dict[tuple[str, str], list[Measure]] = {family: [] for family in FAMILIES.values()}
    for measure in all_measures():
        number = measure.section.partition(".")[0]
        family = FAMILIES.get(number, ("Others", "Measures of no family above."))
        found.setdefault(family, []).append(measure)
    return {family: measures for family, measures in found.items() if measures}


def _explanation(measure: Measure) -> str:
    return inspect.cleandoc(measure.__doc__ or "")


def _summary(measure: Measure) -> str:
    return _explanation(measure).partition("\n\n")[0].replace("\n", " ")


def _toy() -> list[str]:
    """Return the table of the documents used in the examples."""
    rows = []
    for doc, entry in JUDGEMENTS["toy"].items():
        spans = ", ".join(f"[{start}, {end})" for start, end in entry["spans"]) or "nothing"
        rows.append((doc, str(entry["length"]), spans, str(entry.get("bep", "none"))))
    return table(("Document", "Characters", "Relevant", "Best entry point"), rows)


def _measure(measure: Measure) -> list[str]:
    """Return the section of one measure."""
    lines = [f"### {measure.spelling} {{#{measure.name}}}", "", _explanation(measure), ""]
    lines += block(*measure.formula.split("; "))
    if measure.parameters:
        rows = (
            (code(p.name), ", ".join(map(code, p.allowed.split("|"))), p.description)
            for p in measure.parameters
        )
        lines += table(("Parameter", "Values, default first", "Meaning"), rows)
    low, high = measure.range
    facts = {
        "Unsound": measure.unsound,
        "Range": f"{low:g} to {high:g}" if high is not None else f"from {low:g}",
        "Over topics": "sum" if measure.summed else "mean",
        "Overlapping results": _overlap(measure),
        "Needs": _needs(measure),
        "Other names": ", ".join(map(code, measure.aliases)),
        "Curve": _curve(measure),
        "Source": measure.source,
    }
    lines += [f"**{name}:** {text}  " for name, text in facts.items() if text]
    shown = parse_measure(measure.example.measure or measure.name)
    score = run_example(shown, measure.example)
    lines += ["", "For example:", ""]
    return [*lines, *block(f"run: {measure.example.run}", f"{shown} = {score:.4f}")]


def _variants(measure: Measure) -> Iterator[tuple[str, Measure]]:
    """Yield the measure with each non-default choice of a parameter."""
    for parameter in measure.parameters:
        for option in parameter.options[1:] if isinstance(parameter, Choice) else ():
            yield f"`{parameter.name}={option}`", measure(**{parameter.name: option})


def _overlap(measure: Measure) -> str:
    rules = [measure.overlap_rule.value]
    for setting, variant in _variants(measure):
        if variant.overlap_rule is not measure.overlap_rule:
            rules.append(f"with {setting}: {variant.overlap_rule.value}")
    return "; ".join(rules)


def _needs(measure: Measure) -> str:
    needs = [need.what for need in measure.needs] or ["nothing beyond run and judgements"]
    for setting, variant in _variants(measure):
        more = [need.what for need in variant.needs if need not in measure.needs]
        needs += [f"with {setting} also {', '.join(more)}"] if more else []
    return "; ".join(needs)


def _curve(measure: Measure) -> str:
    if not measure.curve:
        return ""
    points = f"{measure.curve[0]} ... {measure.curve[-1]}"
    return f"`{measure.name}@curve`, {len(measure.curve)} points: {points}"


def _presets(presets: Iterable[Preset]) -> list[str]:
    rows = (
        (code(preset.name), ", ".join(map(code, preset.summary)), "; ".join(preset.rules))
        for preset in presets
    )
    return table(("Preset", "Measures", "Rules"), rows)


# -- commands ----------------------------------------------------------------------------------


def commands_page() -> str:
    """Return the page of usage and options of every command."""
    settings: dict[str, Any] = dict(cli.context_settings)
    top = click.Context(cli, info_name="foveal", **settings)
    return "\n".join([COMMANDS, *_subcommands(cli, top)])


def _subcommands(group: click.Group, context: click.Context) -> Iterator[str]:
    """Yield the sections of the commands of a group, and of their subcommands."""
    for name in group.list_commands(context):
        _, command, _ = group.resolve_command(context, [name])
        assert command is not None
        own = click.Context(command, info_name=name, parent=context)
        yield from _command(command, own)
        if isinstance(command, click.Group):
            yield from _subcommands(command, own)


def _command(command: click.Command, context: click.Context) -> list[str]:
    """Return the section of one command, with options under the headings of ``--help-all``."""
    path = context.command_path
    anchor = "-".join(path.split()[1:])
    lines = [f"{'#' * len(path.split())} {path} {{#{anchor}}}", ""]
    lines += [inspect.cleandoc(command.help or ""), ""]
    lines += block(" ".join([path, *command.collect_usage_pieces(context)]))
    for heading, options in group_options(command.get_params(context)).items():
        records = (option.get_help_record(context) for option in options)
        rows = ((code(names), text) for names, text in filter(None, records))
        lines += table((heading, "Meaning"), rows)
    examples = getattr(command, "examples", ()) or [(command.epilog or "").partition(": ")[2]]
    return [*lines, "For example:", "", *block(*examples)]


# -- problems ----------------------------------------------------------------------------------


def problems_page() -> str:
    """Return every code of a problem with its meaning."""
    rows = ((code(name), meaning) for name, meaning in sorted(CODES.items()))
    return "\n".join([PROBLEMS, *table(("Code", "Meaning"), rows)])


# -- Python ------------------------------------------------------------------------------------


def api_page() -> str:
    """Return signature and docstring of every public name and of the methods of classes."""
    lines = [API]
    for name in sorted(set(foveal.__all__) - {"__version__"}, key=str.casefold):
        lines += _documented(name, getattr(foveal, name), "##")
    return "\n".join(lines)


def _documented(name: str, thing: Any, heading: str) -> list[str]:
    """Return the section of a class with its own methods, or of a function or method."""
    lines = [f"{heading} {name} {{#{name}}}", ""]
    with suppress(ValueError):  # an exception takes any arguments
        lines += block(f"{name}{inspect.signature(thing)}")
    lines += block(*(inspect.getdoc(thing) or "").splitlines())
    if fields := list(_fields(thing)):
        lines += table(("Field", "Meaning"), fields)
    for method, found in vars(thing).items() if inspect.isclass(thing) else ():
        own = getattr(found, "__func__", found)
        if inspect.isfunction(own) and not method.startswith("_") and own.__doc__:
            lines += _documented(f"{name}.{method}", own, "###")
    return lines


def _fields(thing: Any) -> Iterator[tuple[str, str]]:
    """Yield the fields of a class that have a docstring in the source."""
    if inspect.isclass(thing) and thing.__module__.startswith("foveal."):
        tree = ast.parse(inspect.getsource(thing)).body[0]
        for field, text in pairwise(getattr(tree, "body", ())):
            if isinstance(field, ast.AnnAssign) and isinstance(text, ast.Expr):
                meaning = ast.literal_eval(text.value)
                yield code(ast.unparse(field.target)), " ".join(meaning.split())
