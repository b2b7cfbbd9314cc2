"""``foveal assess``: campaigns of people who read documents and mark what is relevant."""

from __future__ import annotations

import contextlib
import importlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from foveal.assess.procedure import PROCEDURES
from foveal.cli.options import max_bytes_option
from foveal.cli.shared import (
    choose_format,
    emit,
    format_option,
    output_option,
    progress_bar,
    say,
    warn,
)
from foveal.errors import InputError, UsageError, counted

if TYPE_CHECKING:
    from foveal.assess.store import Campaign
    from foveal.model import Judgements

__all__ = ["command"]

_SERVE = "serve"
_FORMS = ("jsonl", "fol", "trec", "inex2006", "inex2005", "inex2003")
_STATUS = ("table", "tsv", "csv", "json", "markdown", "latex", "html")
_POLICIES = ("union", "majority", "intersection")
_NEVER_TWICE = ("fol", "trec")
"""Formats that name no assessor."""


class _Group(click.Group):
    """Commands on campaigns; the server, with all that it needs, is imported when it is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [*super().list_commands(ctx), _SERVE]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name == _SERVE:
            server: click.Command = importlib.import_module("foveal.cli.assess_serve").command
            return server
        return super().get_command(ctx, cmd_name)


@click.group(
    "assess",
    cls=_Group,
    epilog="Example: foveal assess init my.campaign -C articles.fvx --topics topics.xml "
    "--pool pool.jsonl --assessor ann; foveal assess serve my.campaign",
)
def command() -> None:
    """Have people assess documents: make a campaign, serve it, export what comes of it.

    A campaign is one file. All of these commands can be used while it is served.
    """


_campaign = click.argument("campaign", metavar="CAMPAIGN")
_collection = click.option(
    "-C",
    "--collection",
    metavar="INDEX",
    help="The collection index [default: where it was, seen from the campaign].",
)


@contextlib.contextmanager
def _opened(path: str, collection: str | None) -> Iterator[Campaign]:
    from foveal.assess.schema import damage
    from foveal.assess.store import Campaign
    from foveal.collection import Collection

    index = None if collection is None else Collection.open(collection)
    with Campaign.open(path, collection=index) as campaign, damage(Path(path)):
        yield campaign


@contextlib.contextmanager
def _bar(label: str) -> Iterator[Callable[[float], None] | None]:
    """A bar for work of which the share that is done is known, on a terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    with click.progressbar(length=1000, label=label, file=sys.stderr) as bar:
        yield lambda share: bar.update(int(1000 * share) - bar.pos)


# -- init -----------------------------------------------------------------------------------------


@command.command(
    "init",
    epilog="Example: foveal assess init my.campaign -C articles.fvx --topics topics.xml "
    "--pool pool.jsonl --assessor ann --assessor bob",
)
@_campaign
@click.option(
    "-C", "--collection", required=True, metavar="INDEX", help="The index of the collection."
)
@click.option(
    "--topics", multiple=True, required=True, metavar="PATH", help="The topics; repeatable."
)
@max_bytes_option
@click.option("--pool", required=True, metavar="FILE", help="What 'foveal pool' wrote.")
@click.option(
    "--documents",
    metavar="SOURCE",
    help="What the index was made from [default: the file or directory of that name beside it].",
)
@click.option(
    "--name-from",
    default="path",
    show_default=True,
    metavar="path|TAG",
    help="Where documents have their names from, as the index was told.",
)
@click.option(
    "--assessor",
    "assessors",
    multiple=True,
    metavar="NAME",
    help="Somebody who assesses all topics; repeatable. 'foveal assess assign' does the rest.",
)
@click.option(
    "--procedure",
    type=click.Choice(PROCEDURES),
    default=PROCEDURES[0],
    show_default=True,
    help="2006: highlights and a best entry point. 2005: also the exhaustivity of elements. "
    "2003: exhaustivity and specificity of pooled elements.",
)
@click.option(
    "--blind/--open",
    default=True,
    show_default=True,
    help="Whether assessors do not see each other's work.",
)
@click.option(
    "--store",
    type=click.Choice(("all", "pooled")),
    help="Documents to store in the campaign; others are read from SOURCE when somebody opens "
    "them [default: all, of a collection of up to 200 million characters].",
)
def _init(
    campaign: str,
    collection: str,
    topics: tuple[str, ...],
    pool: str,
    documents: str | None,
    name_from: str,
    assessors: tuple[str, ...],
    procedure: str,
    store: str | None,
    *,
    blind: bool,
) -> None:
    """Make a campaign of an index, topics and a pool.

    Topics without a pool are left out. What does not fit together is listed, and nothing is made.
    """
    from foveal.assess.store import Campaign
    from foveal.collection import Collection
    from foveal.formats import read_topics
    from foveal.formats.pool_files import read_pool

    index = Collection.open(collection)
    source = documents or _source(index)
    with _bar("storing documents") as progress:
        made = Campaign.create(
            campaign,
            collection=index,
            source=source,
            topics=read_topics(topics),
            pool=read_pool(pool),
            assessors=assessors,
            procedure=procedure,
            blind=blind,
            name_tag=None if name_from == "path" else name_from,
            store=store,
            pool_path=pool,
            progress=progress,
        )
    with made:
        pooled = sum(len(made.pool(topic)) for topic in made.topics.ids)
        say(
            f"{campaign}: {counted(len(made.topics), 'topic')}, {counted(pooled, 'document')} to "
            f"assess, {counted(len(made.users()), 'assessor')}; procedure {procedure}"
        )


def _source(index: Any) -> str:
    """Return the source of the index, if it is in the same directory."""
    name = str(index.header["source"])
    place = Path(index.path).parent / name
    if not place.exists():
        raise InputError.at(
            "documents.missing",
            index.path,
            None,
            f"was made from {name!r}, which is not beside it; say where it is (--documents)",
        )
    return str(place)


# -- export and import ----------------------------------------------------------------------------


@command.command(
    "export",
    epilog="Example: foveal assess export my.campaign -o assessments --to inex2006 --assessor ann",
)
@_campaign
@click.option("-o", "--output", required=True, metavar="OUT", help="File or folder to write.")
@click.option(
    "--to",
    "form",
    type=click.Choice(_FORMS),
    default=_FORMS[0],
    show_default=True,
    help="The format; those of INEX are folders with a file for each topic and assessor.",
)
@click.option("--assessor", "assessors", multiple=True, metavar="NAME", help="Whose; repeatable.")
@click.option("--final", is_flag=True, help="The adjudicated assessments.")
@click.option(
    "--combine",
    type=click.Choice(_POLICIES),
    help="Several assessors as one: what any, most or all of them highlighted.",
)
@click.option("--all", "everything", is_flag=True, help="Also what is not validated.")
@click.option("--topic", "topics", multiple=True, metavar="TOPIC", help="Only this; repeatable.")
@_collection
def _export(
    campaign: str,
    output: str,
    form: str,
    assessors: tuple[str, ...],
    combine: str | None,
    topics: tuple[str, ...],
    collection: str | None,
    *,
    final: bool,
    everything: bool,
) -> None:
    """Write assessments as judgements, in any format that can hold them.

    By default those of all assessors, each apart, as far as they are validated. What the format
    cannot hold is an error, what it leaves behind a warning. OUT may be - for standard output.
    """
    from foveal.assess.exporting import judgements, prepared
    from foveal.assess.store import FINAL
    from foveal.files.atomic import same_file
    from foveal.formats import find_format, write_judgements

    if final and assessors:
        raise UsageError("--final is instead of --assessor; give one of them")
    if output != "-" and same_file(output, campaign):
        raise UsageError(f"{output} is read by this command; choose another file to write")
    with _opened(campaign, collection) as opened:
        _check_known(opened, assessors, topics)
        found = judgements(
            opened,
            assessors=FINAL if final else assessors or None,
            validated_only=not everything,
            topics=topics or None,
        )
        if not len(found):
            what = "assessed" if everything else "validated (--all takes the rest, too)"
            raise InputError.at(
                "campaign.empty",
                campaign,
                None,
                f"there is nothing to export: no document is {what}",
            )
        found = _single(found, form, combine)
        found = prepared(found, opened.collection, form)
    write_judgements(found, output, form)
    losses = find_format(form, "judgements").list_losses(found)
    warn((*found.notes, *(f"not kept in {form}: {loss}" for loss in losses)))
    say(f"{counted(len(found), 'document')} judged, {int(found.relevant.sum())} of them relevant")


def _single(found: Judgements, form: str, combine: str | None) -> Judgements:
    """The assessors as one where that is asked for, or must be."""
    if combine is not None:
        return found.combined(combine)
    if form in _NEVER_TWICE and found.several_assessors:
        raise UsageError(
            f"{form} holds one judgement of a document, and several people assessed some; choose "
            "one of them (--assessor), what was adjudicated (--final), or --combine"
        )
    return found


def _check_known(campaign: Campaign, assessors: tuple[str, ...], topics: tuple[str, ...]) -> None:
    known = [user.name for user in campaign.users()]
    for name in assessors:
        if name not in known:
            raise UsageError(f"no user {name!r} in the campaign ({', '.join(known) or 'nobody'})")
    for topic in topics:
        if topic not in campaign.topics:
            raise UsageError(f"no topic {topic!r} in the campaign")


@command.command(
    "import",
    short_help="Take judgements over as assessments, to go on from.",
    epilog="Example: foveal assess import my.campaign judged.jsonl --assessor ann",
)
@_campaign
@click.argument("judgements", nargs=-1, required=True, metavar="JUDGEMENTS...")
@click.option("--assessor", metavar="NAME", help="Whose assessments they become.")
@max_bytes_option
@click.option("--final", is_flag=True, help="They become the adjudicated assessments.")
@click.option(
    "--from",
    "chosen",
    metavar="NAME|union|majority|intersection",
    help="Which of several assessors in the files, or what they have in common.",
)
@click.option(
    "--replace", is_flag=True, help="Also of documents that were assessed; their history stays."
)
@click.option(
    "--add", is_flag=True, help="Also of documents outside the pools, which then have them for all."
)
@_collection
def _import(
    campaign: str,
    judgements: tuple[str, ...],
    assessor: str | None,
    chosen: str | None,
    collection: str | None,
    *,
    final: bool,
    replace: bool,
    add: bool,
) -> None:
    """Take judgements over as assessments, to go on from; a second time changes nothing.

    They may be of any format. Documents that are complete by the rules of the campaign are
    validated; others wait for the assessor.
    """
    from foveal.assess.exporting import import_judgements
    from foveal.assess.store import FINAL
    from foveal.formats import read_judgements

    if final == (assessor is not None):
        raise UsageError("whose are they to be? Give --assessor NAME or --final")
    judged = read_judgements(judgements)
    if chosen is not None:
        judged = judged.combined(chosen)
    with (
        _opened(campaign, collection) as opened,
        progress_bar(len(judged), "importing") as progress,
    ):
        counts = import_judgements(
            opened, judged, assessor or FINAL, replace=replace, add=add, progress=progress
        )
    warn(judged.notes)
    outside = counts.pop("outside")
    if outside:
        warn([f"documents outside the pools, left out (--add adds them): {outside}"])
    said = [f"{number} {what}" for what, number in counts.items() if number or what == "imported"]
    say(f"documents: {', '.join(said)}")


# -- people ---------------------------------------------------------------------------------------


@command.command("user", epilog="Example: foveal assess user my.campaign ann --password")
@_campaign
@click.argument("name")
@click.option(
    "--role", type=click.Choice(("assessor", "organiser")), help="[default: assessor, or as it is]"
)
@click.option("--password", "ask", is_flag=True, help="Ask for a password.")
@click.option("--password-file", metavar="FILE|-", help="Take the password from the first line.")
@_collection
def _user(
    campaign: str,
    name: str,
    role: str | None,
    password_file: str | None,
    collection: str | None,
    *,
    ask: bool,
) -> None:
    """Add a user, or change the role or password of one."""
    from foveal.assess.accounts import encode_password

    if ask and password_file is not None:
        raise UsageError("--password asks, --password-file does not; give one of them")
    password = None
    if ask:
        password = click.prompt("Password", hide_input=True, confirmation_prompt=True, err=True)
    elif password_file is not None:
        password = _first_line(password_file)
    encoded = None if password is None else encode_password(password)
    with _opened(campaign, collection) as opened:
        known = opened.user(name)
        if known is None:
            opened.add_user(name, role or "assessor", encoded)
        else:
            if role is not None:
                opened.set_role(name, role)
            if encoded is not None:
                opened.set_password(name, encoded)
        user = opened.user(name)
    assert user is not None
    how = "with a password" if user.password else "without a password"
    say(f"{user.name}: {user.role}, {how}")


def _first_line(path: str) -> str:
    try:
        with click.open_file(path, encoding="utf-8") as stream:
            return str(stream.readline()).rstrip("\r\n")
    except OSError as error:
        raise InputError.at(
            "file.unreadable", path, None, f"cannot be read: {error.strerror}"
        ) from None
    except UnicodeDecodeError:
        raise InputError.at("file.encoding", path, 1, "is not UTF-8") from None


@command.command(
    "assign",
    epilog="Examples: foveal assess assign my.campaign --topic 7 --assessor ann; "
    "foveal assess assign my.campaign --each 2",
)
@_campaign
@click.option(
    "--topic", "topics", multiple=True, metavar="TOPIC", help="Repeatable [default: all]."
)
@click.option(
    "--assessor",
    "assessors",
    multiple=True,
    metavar="NAME",
    help="Repeatable [default with --each: all assessors].",
)
@click.option(
    "--each",
    type=click.IntRange(min=1),
    metavar="N",
    help="Give each topic to N of the assessors, so that all have about as many documents; what is "
    "assigned counts.",
)
@click.option("--remove", is_flag=True, help="Take the topics back; what was assessed stays.")
@_collection
def _assign(
    campaign: str,
    topics: tuple[str, ...],
    assessors: tuple[str, ...],
    each: int | None,
    collection: str | None,
    *,
    remove: bool,
) -> None:
    """Give topics to assessors, or take them back."""
    from foveal.assess.assigning import shared_out

    if remove and each is not None:
        raise UsageError("--each gives topics out, --remove takes them back; give one of them")
    if not assessors and each is None:
        raise UsageError("to whom? Give --assessor NAME, or --each N for all of them")
    with _opened(campaign, collection) as opened:
        _check_known(opened, assessors, topics)
        chosen = topics or opened.topics.ids
        if each is None:
            pairs = [(topic, name) for topic in chosen for name in assessors]
        else:
            names = assessors or [u.name for u in opened.users() if u.role == "assessor"]
            if len(set(names)) < each:
                raise UsageError(
                    f"each topic to {each} assessors, but there are {len(set(names))} of them"
                )
            work = {topic: len(opened.pool(topic)) for topic in chosen}
            present = {topic: opened.assessors(topic) for topic in opened.topics.ids}
            pairs = shared_out(work, names, each, present)
        for topic, name in pairs:
            (opened.unassign if remove else opened.assign)(topic, name)
    what = "taken back" if remove else "given"
    say(f"assignments {what}: {len(pairs)}")


# -- progress and copies --------------------------------------------------------------------------


@command.command("status", epilog="Example: foveal assess status my.campaign -f json")
@_campaign
@format_option(_STATUS)
@output_option
@_collection
def _status(campaign: str, form: str | None, output: str | None, collection: str | None) -> None:
    """Show how far everybody is: a row for each topic and assessor."""
    with _opened(campaign, collection) as opened:
        content = _told(opened, choose_format(form, output))
    emit(content, output)


def _told(campaign: Campaign, form: str) -> str:
    """The progress in a format."""
    import json

    from foveal.assess.store import Progress
    from foveal.formats.result_files import separated
    from foveal.model.tables import Table, format_tables

    rows = campaign.progress()
    if form == "json":
        told = {
            "campaign": str(campaign.path),
            "procedure": campaign.procedure,
            "blind": campaign.blind,
            "topics": len(campaign.topics),
            "progress": [row._asdict() for row in rows],
        }
        return json.dumps(told, ensure_ascii=False, indent=2) + "\n"
    if form in ("tsv", "csv"):
        return separated(Progress._fields, rows, form)
    cells = tuple(
        (row.topic, row.assessor, *map(str, row[2:6]), f"{row.seconds / 60:.1f}") for row in rows
    )
    header = ("topic", "assessor", "pooled", "seen", "validated", "relevant", "minutes")
    return format_tables([Table(header, cells, labels=2)], form)


@command.command(
    "backup",
    short_help="Copy a campaign, also while it is served.",
    epilog="Example: foveal assess backup my.campaign copy.campaign",
)
@_campaign
@click.argument("copy", metavar="COPY")
@_collection
def _backup(campaign: str, copy: str, collection: str | None) -> None:
    """Copy a campaign as it is at this moment, also while it is served; never over a file.

    Checks that the copy is intact; a damaged campaign is reported and not copied.
    """
    with _opened(campaign, collection) as opened, _bar("copying") as advance:

        def progress(done: int, of: int) -> None:
            if advance is not None:
                advance(done / max(of, 1))

        opened.backup(copy, progress=progress)
    say(f"{copy}: {Path(copy).stat().st_size} bytes")
