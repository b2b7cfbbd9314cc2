"""Commands with a short and a long help, and the options that several commands share.

``--help`` shows the options of daily use, ``--help-all`` all of them under headings. A value that
Click cannot convert by itself is converted by a function that is the type of its option: Click
calls it only where the option is given.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from copy import copy
from typing import TYPE_CHECKING, Any

import click
from click.types import FuncParamType

from foveal.evaluation import CAS_READINGS, OVERLAP_POLICIES, TOPIC_POLICIES, UNDEFINED_POLICIES

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]

FORMATS = ("table", "tsv", "csv", "json", "jsonl", "parquet", "markdown", "latex", "html")
"""Formats of scores and result objects."""
PROBABILITY = click.FloatRange(0, 1, min_open=True, max_open=True)
POSITIVE = click.IntRange(min=1)


class NameType(click.ParamType[str]):
    """A name that the shell completes; names are listed only when it does."""

    name = "text"

    def __init__(self, list_names: Callable[[], Iterable[str]]) -> None:
        self.list_names = list_names

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        from click.shell_completion import CompletionItem

        del ctx, param  # click's signature
        return [CompletionItem(name) for name in self.list_names() if name.startswith(incomplete)]


def _list_measures() -> Iterable[str]:
    from foveal.measures.base import FAMILIES  # without importing the measures

    return [name for names in FAMILIES.values() for name in names.split()]


def _list_tasks() -> Iterable[str]:
    from foveal.evaluation.presets import PRESETS

    return PRESETS


def _list_graphs() -> Iterable[str]:
    from foveal.report.graph_kinds import GRAPHS

    return GRAPHS


def _list_formats() -> Iterable[str]:
    from foveal.formats import list_formats

    return dict.fromkeys(one.name for one in list_formats())


MEASURE, TASK = NameType(_list_measures), NameType(_list_tasks)
GRAPH, FORMAT = NameType(_list_graphs), NameType(_list_formats)

# Headings of --help-all.
JUDGED = "Judgements and topics"
LIMITS = "Overlap and limits"
CAS = "Structured queries"
TEXTS = "Collection and texts"
OUTPUT = "Output"
WORKERS = "Workers"
CHECKS = "Checks in a build"
_HEADINGS = ("Options", JUDGED, LIMITS, TEXTS, CAS, OUTPUT, WORKERS, CHECKS)
"""Others come after them."""


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

    `spelling` is that of the usage, ``-o --output=FILE``, and then the name of the parameter if it
    is not that of the option. Without a value such as ``FILE`` or a type, the option is a flag.
    """
    names = []
    for word in spelling.split():
        name, _, metavar = word.partition("=")
        names.append(name)
        if metavar:
            settings["metavar"] = metavar
    if not settings.keys() & {"metavar", "type", "default"}:
        settings["is_flag"] = True
    settings.setdefault("show_default", "default" in settings)
    for kind, metavar in ((click.IntRange, "N"), (click.FloatRange, "X")):
        if isinstance(settings.get("type"), kind):
            settings.setdefault("metavar", metavar)
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
            records = [record for param in own if (record := param.get_help_record(ctx))]
            with formatter.section(heading):
                formatter.write_dl(records)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        everything = _HELP_ALL.name in ctx.meta
        shown = self.examples if everything else self.examples[:1]
        if shown:
            with formatter.section("Example" if len(shown) == 1 else "Examples"):
                for example in shown:
                    for line in example.splitlines():
                        formatter.write(f"  {line}\n")
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


def complete_files(command: click.Command) -> click.Command:
    """Return a command whose free texts the shell completes as names of files."""
    command = copy(command)
    command.params = [copy(param) for param in command.params]
    for param in command.params:
        if param.type is click.STRING or isinstance(param.type, FuncParamType):
            param.type = click.Path()
    if isinstance(command, click.Group):
        command.commands = {name: complete_files(own) for name, own in command.commands.items()}
    return command


def _show_all_options(_: str) -> None:
    context = click.get_current_context()
    if not context.resilient_parsing:
        context.meta[str(_HELP_ALL.name)] = True
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


# -- options -----------------------------------------------------------------------------------

VERBOSE = "foveal.verbose"
"""Key in the context of a command: True to print all warnings, False for the first."""

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
    "Largest size of a compressed input when unpacked, such as 4G [default: 1G or 100 times "
    "the file, at most the free memory].",
    LIMITS,
    type=_limit_bytes,
    expose_value=False,
    is_eager=True,  # before files named by other options are read
)
input_options = combine_options(max_bytes_option, verbose_option)
seed_option = option(
    "--seed=N",
    "Seed of the random numbers; the same seed gives the same output.",
    type=click.IntRange(min=0),
    default=0,
)
summary_option = option(
    "--summary=FILE|github",
    "Append a summary in GitHub's Markdown to this file; github is the file named by "
    "$GITHUB_STEP_SUMMARY.",
    CHECKS,
)
worker_options = combine_options(
    option(
        "-w --workers=N",
        "Number of processes [default: one per core if the inputs are large].",
        WORKERS,
        type=POSITIVE,
    ),
    option(
        "--dask=ADDRESS",
        "Work on a Dask cluster: the address of its scheduler, such as tcp://10.0.0.1:8786, "
        "or file: and the path of its scheduler file.",
        WORKERS,
    ),
)
output_option = option("-o --output=FILE", "Write here instead of standard output.", OUTPUT)
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
    "Tags that structured queries treat as equal: ieee, or a list such as sec=ss1=ss2,p=ip1 "
    "[default: none].",
    CAS,
    type=parse_comma_list,
)
snap_option = option(
    "--snap", "Replace a result that is not an element with the smallest enclosing element.", LIMITS
)
lenient_option = option(
    "--lenient",
    "Clip results that end after their document; keep results that the collection does not "
    "hold, without text.",
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
        "Keep the assessed elements that match the topics' queries: target, then support, "
        "each strictly (S) or vaguely (V).",
        CAS,
        type=click.Choice(CAS_READINGS),
    ),
    option(
        "--support-judgements=PATH",
        "Judgements of the sub-topics, for --cas VS and SS; repeatable.",
        CAS,
        multiple=True,
    ),
    tag_classes_option,
)


def judgements_option(*, required: bool = False) -> Decorator:
    """Return the options for judgements: any number of files, their size, their warnings."""
    given = option(
        "-j --judgements=PATH",
        "File or directory of judgements; repeatable.",
        multiple=True,
        required=required,
    )
    return combine_options(given, input_options)


def collection_option(needed: str = "where results are XPaths") -> Decorator:
    """Return the option for a collection index; `needed` says in the help where it is needed."""
    return option("-C --collection=INDEX", f"Collection index ('foveal index'), needed {needed}.")


def assessors_option(*more: str, **settings: Any) -> Decorator:
    """Return the option for several assessors; `more` are choices beside the usual ones."""
    return option(
        "--assessors",
        "Text that counts where several assessors judged a document.",
        JUDGED,
        metavar="|".join(("union", "majority", "intersection", *more, "NAME")),
        **{"default": "union"} | settings,
    )


def format_option(formats: Sequence[str] = FORMATS, more: str = "") -> Decorator:
    """Return the options for the format: by default a table on a terminal, tsv elsewhere."""
    return option(
        "-f --format form",
        f"Output format: {', '.join(formats)}{more} [default: table on a terminal, else tsv].",
        OUTPUT,
        type=click.Choice(formats),
        metavar="|".join(formats) if len(formats) < 4 else "FORMAT",
    )


_MEASURES = combine_options(
    option(
        "-m --measure=M measures",
        "Measure, such as iP@0.01 or 'gP(beta=0.25)@10'; repeatable.",
        multiple=True,
        type=MEASURE,
    ),
    option(
        "-t --task=PRESET tasks",
        "Official settings, such as 2009.Focused.",
        multiple=True,
        type=TASK,
    ),
)


def _at_most_one(_: click.Context, __: click.Parameter, values: tuple[str, ...]) -> str | None:
    if len(values) > 1:
        raise click.BadParameter("one measure at a time has a curve; give one")
    return values[0] if values else None


_ONE_MEASURE = option(
    "-m --measure=M",
    "The measure [default: charR].",
    multiple=True,
    type=MEASURE,
    callback=_at_most_one,
)
_RULES = combine_options(
    option(
        "--topics",
        "Average over all judged topics (missing ones score 0), those in the run, or those "
        "in all runs.",
        JUDGED,
        type=click.Choice(TOPIC_POLICIES),
        default="judged",
    ),
    option(
        "--undefined",
        "Topics on which a measure is undefined, such as recall without relevant text: leave "
        "them out of the mean, or count them as 0 as trec_eval does.",
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
        "Cut each topic of a run at N results [default: no cut; 1500 in tasks up to 2006 and "
        "with --config].",
        LIMITS,
        type=POSITIVE,
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
