"""Commands with a short and a long help, and the options that several commands share.

``--help`` shows the options of daily use, ``--help-all`` all of them under headings. A value that
Click cannot convert by itself is converted by a function that is the type of its option: Click
calls it only where the option is given.
"""

from __future__ import annotations

import re
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

# Headings of --help-all, in their order; others come after them.
JUDGED = "Judgements and topics"
LIMITS = "Overlap and limits"
CAS = "Structured queries"
TEXTS = "Collection and texts"
OUTPUT = "Output"
WORKERS = "Workers"
CHECKS = "Checks in a build"
_HEADINGS = ("Options", JUDGED, LIMITS, TEXTS, CAS, OUTPUT, WORKERS, CHECKS)


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
            from foveal.measures.base import FAMILIES  # without importing the measures

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
    option: ``-o --output=FILE``, ``--at=N``, ``--keep=first|last``, ``-j --judgements=PATH...``
    if it is repeatable. Without a value, a type or a default the option is a flag.
    """
    names = []
    for word in spelling.split():
        name, _, value = word.partition("=")
        names.append(name)
        if value.endswith("..."):
            value = value[:-3]
            settings["multiple"] = True
        if "|" in value and value.islower():
            settings["type"] = click.Choice(value.split("|"))
        elif value:
            settings["metavar"] = value
            settings.setdefault("type", POSITIVE if value == "N" else None)
    if not settings.keys() & {"type", "default", "flag_value"}:
        settings["is_flag"] = True
    settings.setdefault("show_default", "default" in settings)
    return click.option(*names, cls=Option, group=group, help=text, **settings)


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
    groups: dict[str, list[click.Parameter]] = {heading: [] for heading in _HEADINGS}
    for param in params:
        if isinstance(param, click.Option):
            groups.setdefault(getattr(param, "group", "") or _HEADINGS[0], []).append(param)
    return {heading: own for heading, own in groups.items() if own}


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


# -- values ------------------------------------------------------------------------------------


def parse_comma_list(text: str) -> tuple[str, ...]:
    """Return the words of ``a,b,c``."""
    words = tuple(filter(None, (word.strip() for word in text.split(","))))
    if not words:
        raise click.BadParameter(f"nothing in {text!r}")
    return words


def parse_topics(text: str) -> tuple[str, ...]:
    """Return the topics of ``1,2,3``, or of ``@file`` with white space or commas between them."""
    names = text
    if text.startswith("@"):
        from foveal.files.source import Source

        source = Source.open(text[1:])
        source.check_utf8()
        names = source.data.decode()
    topics = tuple(names.replace(",", " ").split())
    if not topics:
        raise click.BadParameter(f"no topic in {text!r}")
    return topics


def parse_positive(text: str) -> int | None:
    """Return a whole number from 1; None if the text is not one, or is absurdly large.

    >>> parse_positive("250"), parse_positive("0"), parse_positive("9" * 5000)
    (250, None, None)
    """
    return int(text) or None if re.fullmatch("[0-9]{1,15}", text) else None


def _limit_bytes(size: str) -> None:
    """Limit what compressed inputs may grow to until the command ends."""
    from foveal.files.source import limit_bytes

    click.get_current_context().with_resource(limit_bytes(size))


def _set_exact_csv(_: str) -> None:
    """Let csv hold names as they are until the command ends."""
    from foveal.formats.result_files import EXACT_CSV

    before = EXACT_CSV.set(True)
    click.get_current_context().call_on_close(lambda: EXACT_CSV.reset(before))


# -- options -----------------------------------------------------------------------------------

verbose_option = option(
    "-v --verbose",
    "Print all warnings [default: on a terminal the first, and their number].",
    OUTPUT,
    flag_value="on",
    expose_value=False,
    type=lambda _: click.get_current_context().meta.update({VERBOSE: True}),
)
max_bytes_option = option(
    "--max-bytes=SIZE",
    "Largest size of a compressed input when unpacked, such as 4G [default: 1G or 100 times the "
    "file, at most the free memory].",
    LIMITS,
    type=_limit_bytes,
    expose_value=False,
    is_eager=True,  # before files named by other options are read
)
input_options = combine_options(max_bytes_option, verbose_option)
seed_option = option(
    "--seed=N",
    "Seed of the random numbers; the same seed gives the same output.",
    type=NATURAL,
    default=0,
)
summary_option = option(
    "--summary=FILE|github",
    "Append a summary in GitHub's Markdown to a file; github: the one in $GITHUB_STEP_SUMMARY.",
    CHECKS,
)
worker_options = combine_options(
    option("-w --workers=N", "Processes [default: one per core if the inputs are large].", WORKERS),
    option(
        "--dask=ADDRESS",
        "Work on the Dask cluster with this scheduler, such as tcp://10.0.0.1:8786, or file: and "
        "the path of a scheduler file.",
        WORKERS,
    ),
)
output_option = option("-o --output=FILE", "Write here instead of standard output.", OUTPUT)
exact_csv_option = option(
    "--exact-csv",
    "In csv, write names that a spreadsheet would run (= + - @) without an apostrophe before them.",
    OUTPUT,
    flag_value="on",
    type=_set_exact_csv,
    expose_value=False,
)
per_topic_option = option("-q --per-topic", "Print a row per topic before the means.", OUTPUT)
only_topics_option = option(
    "--only-topics=LIST|@FILE",
    "Use only these topics, such as 1,2,3, or those listed in a file.",
    JUDGED,
    type=parse_topics,
)
groups_option = option(
    "--groups=FILE",
    "Groups of topics, lines topic<TAB>group or JSON Lines: score each group, too, as AiP[group].",
    JUDGED,
)
exclude_tags_option = option(
    "--exclude-tags=LIST",
    "Drop these elements from the judgements, such as collectionlink,outsidelink.",
    JUDGED,
    type=parse_comma_list,
)
texts_option = option(
    "--texts=PATH",
    "Texts of the documents, for results and judgements given by text or in other units: a "
    "directory, an archive, or JSON Lines of doc and text.",
    TEXTS,
)
documents_option = option(
    "--documents=SOURCE",
    "Directory or archive that was indexed: the texts of -C, and numbers in structured queries.",
    TEXTS,
)
name_from_option = option(
    "--name-from=TAG",
    "Documents are named by their first such element, as in 'foveal index'.",
    TEXTS,
)
topics_file_option = option(
    "--topics-file=PATH",
    "The topic statements: titles, and castitles for --cas and for tasks that use them.",
    JUDGED,
)
tag_classes_option = option(
    "--tag-classes=LIST",
    "Tags that structured queries treat as equal: ieee, or a list such as sec=ss1=ss2,p=ip1.",
    CAS,
    type=parse_comma_list,
)
snap_option = option(
    "--snap", "Replace a result that is not an element with the smallest enclosing element.", LIMITS
)
lenient_option = option(
    "--lenient",
    "Clip results that end after their document; keep results outside the collection, as empty.",
    LIMITS,
)
recompute_option = option(
    "--recompute",
    "Take the sizes of assessed elements from the collection, not from the judgements.",
    JUDGED,
)
cas_options = combine_options(
    option(
        "--cas",
        "Keep the assessed elements that match the topics' queries: target, then support, each "
        "strictly (S) or vaguely (V).",
        CAS,
        type=click.Choice(CAS_READINGS),
    ),
    option(
        "--support-judgements=PATH...",
        "Judgements of the sub-topics, for --cas VS and SS; repeatable.",
        CAS,
    ),
    tag_classes_option,
)


def judgements_option(*, required: bool = False) -> Decorator:
    """Return the options for judgements: any number of files, their size, their warnings."""
    text = "File or directory of judgements; repeatable."
    given = option("-j --judgements=PATH...", text, required=required)
    return combine_options(given, input_options)


def collection_option(needed: str = "where results are XPaths") -> Decorator:
    """Return the option for a collection index; `needed` says in the help where it is needed."""
    return option("-C --collection=INDEX", f"Collection index ('foveal index'), needed {needed}.")


def assessors_option(*more: str, **settings: Any) -> Decorator:
    """Return the option for several assessors; `more` are choices beside the usual ones."""
    return option(
        f"--assessors={'|'.join(('union', 'majority', 'intersection', *more, 'NAME'))}",
        "Text that counts where several assessors judged a document.",
        JUDGED,
        **{"default": "union"} | settings,
    )


def format_option(formats: Sequence[str] = FORMATS, more: str = "") -> Decorator:
    """Return the options for the format: by default a table on a terminal, tsv elsewhere."""
    form = option(
        "-f --format form",
        f"Output format: {', '.join(formats)}{more} [default: table on a terminal, else tsv].",
        OUTPUT,
        type=click.Choice(formats),
        metavar="|".join(formats) if len(formats) < 4 else "FORMAT",
    )
    return combine_options(form, exact_csv_option)


def _at_most_one(_: click.Context, __: click.Parameter, values: tuple[str, ...]) -> str | None:
    if len(values) > 1:
        raise click.BadParameter("one measure at a time has a curve; give one")
    return values[0] if values else None


_MEASURES = combine_options(
    option(
        "-m --measure=M... measures",
        "Measure, such as iP@0.01 or 'gP(beta=0.25)@10'; repeatable.",
        type=MEASURE,
    ),
    option("-t --task=PRESET... tasks", "Official settings, such as 2009.Focused.", type=TASK),
)
_ONE_MEASURE = option(
    "-m --measure=M...", "The measure [default: charR].", type=MEASURE, callback=_at_most_one
)
_RULES = combine_options(
    option(
        "--topics",
        "Average over all judged topics (missing ones score 0), those in the run, or those in all "
        "runs.",
        JUDGED,
        type=click.Choice(TOPIC_POLICIES),
        default="judged",
    ),
    option(
        "--undefined",
        "Topics on which a measure is undefined, such as recall without relevant text: leave them "
        "out of the mean, or count them as 0 as trec_eval does.",
        JUDGED,
        type=click.Choice(UNDEFINED_POLICIES),
        default="skip",
    ),
    only_topics_option,
    option(
        "--pools=LIST",
        "Use only the assessments of these pools, such as 275,297.",
        JUDGED,
        type=parse_comma_list,
    ),
    assessors_option("each"),
    option(
        "--overlap",
        "Treatment of overlapping results [default: the measure's own rule].",
        LIMITS,
        type=click.Choice(OVERLAP_POLICIES),
    ),
    option("--regroup", "Bring interleaved results of a document together.", LIMITS),
    lenient_option,
    option(
        "--max-results=N",
        "Cut each topic of a run at N results [default: 1500 in tasks up to 2006 and --config].",
        LIMITS,
    ),
    texts_option,
    documents_option,
    name_from_option,
)
"""Options for the topics that count, and for how measures are applied."""
_TASK_RULES = combine_options(
    topics_file_option,
    exclude_tags_option,
    recompute_option,
    snap_option,
    option("--truncate", "Cut results that exceed the limits of a restricted task.", LIMITS),
    cas_options,
    worker_options,
)
"""Options for tasks, and for measures of elements."""


def scoring_options(*, one_measure: bool = False) -> Decorator:
    """Return the options for judgements, measures, tasks and everything that decides a score.

    A command with `one_measure` has no task and no measure of elements, and works in this process.
    """
    chosen = [_ONE_MEASURE, _RULES] if one_measure else [_MEASURES, _RULES, _TASK_RULES]
    return combine_options(judgements_option(), collection_option(), *chosen)
