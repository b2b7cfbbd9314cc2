"""Commands with a short and a long help, and the options that several commands share.

``--help`` shows the options of daily use, ``--help-all`` all of them under headings. A value that
Click cannot convert by itself is converted by a function that is the type of its option: Click
calls it only where the option is given.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import click

from foveal.evaluation import CAS_READINGS, OVERLAP_POLICIES, TOPIC_POLICIES, UNDEFINED_POLICIES

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]

FORMATS = ("table", "tsv", "csv", "json", "jsonl", "parquet", "markdown", "latex", "html")
"""Formats of scores and result objects."""
PROBABILITY = click.FloatRange(0, 1, min_open=True, max_open=True)
POSITIVE = click.IntRange(min=1)
NATURAL = click.IntRange(min=0)
VERBOSE = "foveal.verbose"
"""Key in the context of a command: True to print all warnings, False for the first."""


class NameType(click.ParamType[str]):
    """The name of a measure, task, graph or format; names are listed only to complete one."""

    def __init__(self, name: str) -> None:
        self.name = name

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        from click.shell_completion import CompletionItem

        del ctx, param  # click's signature
        names: Iterable[str]
        if self.name == "measure":
            from foveal.measures.measure import FAMILIES  # without importing the measures

            names = " ".join(FAMILIES.values()).split()
        elif self.name == "task":
            from foveal.evaluation.presets import PRESETS

            names = PRESETS
        elif self.name == "graph":
            from foveal.report.graph_kinds import GRAPHS

            names = GRAPHS
        else:
            from foveal.formats import list_formats

            names = dict.fromkeys(one.name for one in list_formats())
        return [CompletionItem(name) for name in names if name.startswith(incomplete)]


MEASURE, TASK, GRAPH, FORMAT = map(NameType, ("measure", "task", "graph", "format"))


# -- values ------------------------------------------------------------------------------------


def parse_comma_list(text: str) -> tuple[str, ...]:
    """Return the words of ``a,b,c``."""
    words = tuple(filter(None, (word.strip() for word in text.split(","))))
    if not words:
        raise click.BadParameter(f"nothing in {text!r}")
    return words


def parse_topics(text: str) -> tuple[str, ...]:
    """Return the topics of ``1,2,3``, or of ``@file`` with white space or commas between them."""
    names = read_text(text[1:]) if text.startswith("@") else text
    topics = tuple(names.replace(",", " ").split())
    if not topics:
        raise click.BadParameter(f"no topic in {text!r}")
    return topics


def read_text(path: str) -> str:
    """Return the text of a small file that an option names; - is standard input."""
    from foveal.files.source import Source

    source = Source.open(path)
    source.check_utf8()
    return source.data.decode()


def parse_positive(text: str) -> int | None:
    """Return a whole number from 1; None if the text is not one, or is absurdly large.

    >>> parse_positive("250"), parse_positive("0"), parse_positive("9" * 5000)
    (250, None, None)
    """
    return int(text) or None if re.fullmatch("[0-9]{1,15}", text) else None


_TYPES: dict[str, Any] = {
    "N": POSITIVE,
    "P": PROBABILITY,
    "COUNT": NATURAL,
    "LIST": parse_comma_list,
    "LIST|@FILE": parse_topics,
    "M": MEASURE,
    "PRESET": TASK,
    "FORMAT": FORMAT,
}
"""Types of options by the value in their spelling; others take text."""


# -- help --------------------------------------------------------------------------------------


class Option(click.Option):
    """An option with the heading that ``--help-all`` lists it under."""

    def __init__(self, *args: Any, group: str = "", **settings: Any) -> None:
        super().__init__(*args, **settings)
        self.group = group

    def get_help_extra(self, ctx: click.Context) -> Any:
        extra = super().get_help_extra(ctx)
        extra.pop("range", None)  # "x>=1" says little
        return extra


def option(spelling: str, text: str, group: str = "", **settings: Any) -> Decorator:
    """Return an option, under the heading `group` of ``--help-all``; its default is shown.

    `spelling` is that of the usage, and then the name of the parameter if it is not that of the
    option: ``-o --output=FILE``, ``--keep=first|last``, ``-j --judgements=PATH...`` if it is
    repeatable. Values such as ``N`` have a type; without a value the option is a flag.
    """
    names = []
    for word in spelling.split():
        name, _, value = word.partition("=")
        names.append(name)
        if value.endswith("..."):
            value = value.removesuffix("...")
            settings["multiple"] = True
        if re.fullmatch(r"[a-z0-9_-]+(\|[a-z0-9_-]+)+|[A-Z]{2}(\|[A-Z]{2})+", value):
            settings["type"] = click.Choice(value.split("|"))
        elif value:
            settings["metavar"] = value
            settings.setdefault("type", _TYPES.get(value))
    if not settings.keys() & {"type", "default", "flag_value"}:
        settings["is_flag"] = True
    settings.setdefault("show_default", "default" in settings)
    return click.option(*names, cls=Option, group=group, help=text, **settings)


def options(table: str, **defaults: Any) -> Decorator:
    """Return the options of a table: in a line the spelling, two spaces, and the help text.

    An indented line continues the text. A line with a colon at its end is the heading for the
    options below it. `defaults` are by name of the parameter; they are shown. A text that ends
    with "[required]" makes the option required.
    """
    return combine_options(*list_options(table, **defaults).values())


def list_options(table: str, **defaults: Any) -> dict[str, Decorator]:
    """Return the `options` of a table by the name of their parameter."""
    found, heading = {}, ""
    for line in re.sub(r"\n +", " ", textwrap.dedent(table)).strip().splitlines():
        if line.endswith(":"):
            heading = line[:-1]
        elif line:
            spelling, text = line.split("  ", 1)
            name = re.split("[=/]", spelling.split()[-1])[0].lstrip("-").replace("-", "_")
            settings: dict[str, Any] = {"required": text.endswith(" [required]")}
            if name in defaults:
                settings["default"] = defaults[name]
            text = text.removesuffix(" [required]")  # Click shows it
            found[name] = option(spelling, text, heading, **settings)
    return found


class Command(click.Command):
    """A command whose ``--help`` shows only the options of daily use.

    Parameters
    ----------
    daily : str
        Names of the parameters in ``--help``, in this order; empty for all of them.
    examples : tuple of str
        ``--help`` shows the first, ``--help-all`` shows all.
    """

    def __init__(
        self, *args: Any, daily: str = "", examples: Sequence[str] = (), **settings: Any
    ) -> None:
        super().__init__(*args, **settings)
        for param in self.params:
            if param.type is click.STRING:  # a shell completes it as the name of a file
                param.type = click.Path(readable=False)
        self.params.append(_HELP_ALL)
        self.daily = daily.split()
        self.examples = examples

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        if _HELP_ALL.name in ctx.meta or not self.daily:
            groups = group_options(self.get_params(ctx))
        else:
            by_name = {param.name: param for param in self.params}
            groups = {"Options": [by_name[name] for name in self.daily]}
        for heading, own in groups.items():
            with formatter.section(heading):
                formatter.write_dl([row for param in own if (row := param.get_help_record(ctx))])

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        everything = _HELP_ALL.name in ctx.meta
        with formatter.section("Examples" if everything and self.examples[1:] else "Example"):
            for example in self.examples if everything else self.examples[:1]:
                formatter.write("".join(f"  {line}\n" for line in example.splitlines()))
        options = [own for own in self.params if isinstance(own, click.Option)][:-1]
        more = len(options) - sum(param.name in self.daily for param in options)
        if self.daily and more and not everything:
            formatter.write(f"\n--help-all shows {more} more options.\n")


def group_options(params: Iterable[click.Parameter]) -> dict[str, list[click.Parameter]]:
    """Return options by the heading of ``--help-all``, those without one first."""
    groups: dict[str, list[click.Parameter]] = {"Options": []}
    for param in params:
        if isinstance(param, click.Option):
            groups.setdefault(getattr(param, "group", "") or "Options", []).append(param)
    return groups


def _show_all_options(_: str) -> None:
    context = click.get_current_context()
    if not context.resilient_parsing:
        context.meta["help_all"] = True
        click.echo(context.get_help(), color=context.color)
        context.exit()


_HELP_ALL = click.Option(
    ["--help-all"],
    flag_value="on",
    type=_show_all_options,
    is_eager=True,
    expose_value=False,
    help="Show all options and exit.",
)


def combine_options(*options: Decorator) -> Decorator:
    """Return several options as one decorator, in the order of the help text."""

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        for one in reversed(options):
            command = one(command)
        return command

    return decorate


# -- options -----------------------------------------------------------------------------------


def _limit_bytes(size: str) -> None:
    """Limit what compressed inputs may grow to until the command ends."""
    from foveal.files.source import limit_bytes

    click.get_current_context().with_resource(limit_bytes(size))


verbose_option = option(
    "-v --verbose",
    "Print all warnings [default: on a terminal the first, and their number].",
    "Output",
    flag_value="on",
    expose_value=False,
    type=lambda _: click.get_current_context().meta.update({VERBOSE: True}),
)
max_bytes_option = option(
    "--max-bytes=SIZE",
    "Largest size of a compressed input when unpacked [default: 1G or 100 times the file].",
    "Overlap and limits",
    type=_limit_bytes,
    expose_value=False,
    is_eager=True,  # before files named by other options are read
)
_SHARED = list_options(
    f"""
    -m --measure=M... measures  Measure, such as iP@0.01 or 'gP(beta=0.25)@10'; repeatable.
    -t --task=PRESET... tasks  Preset of measures and rules, such as 2009.Focused or rag.

    Judgements and topics:
    --topics={"|".join(TOPIC_POLICIES)}  Average over all judged topics (missing ones score 0),
        those in the run, or those in all runs.
    --undefined={"|".join(UNDEFINED_POLICIES)}  Leave topics without a defined score out of the
        mean, or count them as 0.
    --only-topics=LIST|@FILE  Use only these topics, such as 1,2,3, or those listed in a file.
    --pools=LIST  Use only the assessments of these pools, such as 275,297.
    --bounds  Also give the lowest and highest scores that unjudged text allows.
    --groups=FILE  Groups of topics, lines topic<TAB>group or JSON Lines: score each group, too.
    --topics-file=PATH  The topic statements, with castitles for --cas and structured tasks.
    --exclude-tags=LIST  Drop these elements from the judgements, such as collectionlink.
    --recompute  Take the sizes of assessed elements from the collection, not from the judgements.

    Overlap and limits:
    --overlap={"|".join(OVERLAP_POLICIES)}  Treatment of overlap [default: the measure's rule].
    --regroup  Bring interleaved results of a document together.
    --snap  Replace a result that is not an element with the smallest enclosing element.
    --truncate  Cut results that exceed the limits of a restricted task.
    --lenient  Clip results to their document; keep results outside the collection, as empty.
    --max-results=N  Cut each topic at N results [default: 1500 up to 2006 and with --config].

    Collection and texts:
    --texts=PATH  Texts of the documents, for results and judgements given by text or in other
        units: a directory, an archive, or JSON Lines of doc and text.
    --documents=SOURCE  Documents that -C was made from; for texts and numbers in queries.
    --name-from=TAG  Name documents by the text of their first TAG element, as in 'foveal index'.

    Answers with citations:
    --retrieved=RUN...  Run that the answers were made from; with several, the answers name theirs.

    Structured queries:
    --cas={"|".join(CAS_READINGS)}  Keep the judged elements that match the topics' queries: target
        and support, strictly (S) or vaguely (V).
    --support-judgements=PATH...  Judgements of the sub-topics, for --cas VS and SS; repeatable.
    --tag-classes=LIST  Tags that queries treat as equal: ieee, or such as sec=ss1=ss2,p=ip1.

    Output:
    -q --per-topic  Print a row per topic before the means.
    -o --output=FILE  Write here instead of standard output.

    Workers:
    -w --workers=N  Number of processes [default: one per core if the inputs are large].
    --dask=ADDRESS  Scheduler of a Dask cluster: tcp://10.0.0.1:8786, or file: and its file.

    Checks in a build:
    --summary=FILE|github  Append a summary in Markdown; github: to $GITHUB_STEP_SUMMARY.
    """,
    topics="judged",
    undefined="skip",
)


def shared_options(names: str) -> Decorator:
    """Return options that several commands have, by the names of their parameters."""
    return combine_options(*map(_SHARED.__getitem__, names.split()))


input_options = combine_options(max_bytes_option, verbose_option)
worker_options = shared_options("workers dask")


def judgements_option(*, required: bool = False) -> Decorator:
    """Return the options for judgements: any number of files, their size, their warnings."""
    text = "File or directory of judgements; repeatable."
    given = option("-j --judgements=PATH...", text, required=required)
    return combine_options(given, input_options)


def collection_option(needed: str = "where results are XPaths") -> Decorator:
    """Return the option for a collection index; `needed` says in the help where it is needed."""
    return option("-C --collection=INDEX", f"Collection index ('foveal index'), needed {needed}.")


def assessors_option(*more: str, **settings: Any) -> Decorator:
    """Return the option for several assessors; `more` are choices added to the usual ones."""
    return option(
        f"--assessors={'|'.join(('union', 'majority', 'intersection', *more, 'NAME'))}",
        "Text that counts where several assessors judged a document.",
        "Judgements and topics",
        **{"default": "union"} | settings,
    )


def format_option(formats: Sequence[str] = FORMATS, more: str = "") -> Decorator:
    """Return the option for the format: by default a table on a terminal, tsv elsewhere."""
    text = f"{', '.join(formats)}{more} [default: table on a terminal, else tsv]."
    choice = click.Choice(formats)
    return option("-f --format=FORMAT form", f"Output format: {text}", "Output", type=choice)


def scoring_options(*, one_measure: bool = False) -> Decorator:
    """Return the options for judgements, measures, tasks and everything that decides a score.

    A command with `one_measure` has no task and no measure of elements, and works in this process.
    """
    measure = option("-m --measure=M...", "The measure.", default=("charR",))
    elements = "topics_file exclude_tags recompute snap truncate cas support_judgements tag_classes"
    return combine_options(
        judgements_option(),
        collection_option(),
        measure if one_measure else shared_options("measures tasks"),
        shared_options("topics undefined only_topics pools"),
        assessors_option("each"),
        shared_options("overlap regroup lenient max_results texts documents name_from"),
        shared_options("" if one_measure else f"{elements} retrieved workers dask"),
    )
