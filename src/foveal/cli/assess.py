"""``foveal assess``: campaigns in which people read documents and mark relevant text."""

from __future__ import annotations

import contextlib
import json
import re
import signal
from collections import Counter
from collections.abc import Callable
from ipaddress import ip_address, ip_network
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import click

from foveal.assess.procedure import PROCEDURES
from foveal.cli import options as opt
from foveal.cli.shared import choose_format, emit, progress_bar, say, share_bar, warn
from foveal.errors import InputError, UsageError, escape_controls, plural

if TYPE_CHECKING:
    from foveal.assess.accounts import LocalAccess
    from foveal.assess.store import Campaign
    from foveal.model import Judgements

ORGANISER = "organiser"
"""Who signs in on this machine to a campaign of several assessors, unless --as says otherwise."""
_PORT = 8642


class _Group(click.Group):
    """Commands on campaigns."""

    command_class = opt.Command


@click.group(
    "assess",
    cls=_Group,
    epilog="Example: foveal assess init my.campaign -C articles.fvx --topics topics.xml "
    "--pool pool.jsonl --assessor ann; foveal assess serve my.campaign",
)
def command() -> None:
    """Assess documents in the browser: make a campaign, serve it, export the judgements.

    A campaign is one file. All of these commands can be used while it is served.
    """


def _subcommand(
    name: str, example: str, table: str = "", *more: opt.Decorator, **defaults: Any
) -> Callable[[Callable[[Campaign, SimpleNamespace], None]], click.Command]:
    """Return the decorator of a command on an open campaign, with the options of a table."""

    def decorate(function: Callable[[Campaign, SimpleNamespace], None]) -> click.Command:
        def run(campaign: str, collection: str | None, **options: Any) -> None:
            from foveal.assess.database import damage
            from foveal.assess.store import Campaign
            from foveal.collection import Collection

            index = None if collection is None else Collection.open(collection)
            with Campaign.open(campaign, collection=index) as opened, damage(Path(campaign)):
                function(opened, SimpleNamespace(**options))

        run.__doc__ = function.__doc__
        stored = "-C --collection=INDEX  The collection index [default: the stored path]."
        campaign = click.argument("campaign", metavar="CAMPAIGN")
        options: tuple[opt.Decorator, ...] = (campaign, *more, opt.options(table, **defaults))
        made = opt.combine_options(*options, opt.options(stored))(run)
        return command.command(name, examples=(example,))(made)

    return decorate


@command.command(
    "init",
    examples=(
        "foveal assess init my.campaign -C a.fvx --topics t.xml --pool p.jsonl --assessor ann",
    ),
)
@click.argument("campaign", metavar="CAMPAIGN")
@opt.options(
    f"""
    -C --collection=INDEX  The index of the collection. [required]
    --topics=PATH...  The topics; repeatable. [required]
    --pool=FILE  The pool that 'foveal pool' wrote. [required]
    --documents=SOURCE  The indexed documents [default: their name, next to the index].
    --name-from=path|TAG  Source of the names of documents, as given to 'foveal index'.
    --assessor=NAME... assessors  An assessor of all topics; repeatable.
    --procedure={"|".join(PROCEDURES)}  2006: highlights and a best entry point. 2005: also the
        exhaustivity of elements. 2003: exhaustivity and specificity of pooled elements.
    --blind/--open  Hide or show the work of other assessors.
    --suggest=FILE... suggested  Judgements whose relevant text is suggested to assessors, as
        'foveal assess suggest' does; repeatable.
    --store=all|pooled  Documents to store in the campaign; others are read from SOURCE when
        somebody opens them [default: all, of a collection of up to 200 million characters].
    """,
    name_from="path",
    procedure=PROCEDURES[0],
    blind=True,
)
@opt.max_bytes_option
def _init(
    campaign: str,
    collection: str,
    topics: tuple[str, ...],
    pool: str,
    suggested: tuple[str, ...],
    **options: Any,
) -> None:
    """Make a campaign of an index, topics and a pool.

    Topics without a pool are left out. If the inputs do not fit together, Foveal lists the
    problems and makes nothing. By default the documents (--documents) are the file or directory
    next to the index that it was made from.
    """
    from foveal.assess.store import Campaign
    from foveal.collection import Collection
    from foveal.formats import read_judgements, read_topics
    from foveal.formats.pool_files import read_pool

    suggestions = [read_judgements(file) for file in suggested]
    index = Collection.open(collection)
    name, documents = str(index.header["source"]), options.pop("documents")
    if documents is None:
        documents = str(Path(index.path).parent / name)
        if not Path(documents).exists():
            text = (
                f"was made from {name!r}, which is not in its folder; give its path (--documents)"
            )
            raise InputError.at("documents.missing", str(index.path), None, text)
    name_from = options.pop("name_from")
    with share_bar("storing documents") as progress:
        made = Campaign.create(
            campaign,
            collection=index,
            source=documents,
            topics=read_topics(topics),
            pool=read_pool(pool),
            name_tag=None if name_from == "path" else name_from,
            pool_path=pool,
            progress=progress,
            **options,
        )
    with made:
        try:
            for judged in suggestions:
                _suggest_judgements(made, judged)
        except BaseException:  # nothing is made if the inputs do not fit together
            made.close()
            made.path.unlink()
            raise
        pooled = sum(len(made.pool(topic)) for topic in made.topics.ids)
        say(
            f"{campaign}: {plural(len(made.topics), 'topic')}, {plural(pooled, 'document')} to "
            f"assess, {plural(len(made.users()), 'assessor')}; procedure {made.procedure}"
        )
        if not made.users():
            say(
                f"next: 'foveal assess serve {campaign}', and add people in the browser; or "
                f"'foveal assess user {campaign} NAME' and 'foveal assess assign {campaign}'"
            )


def _suggest_judgements(campaign: Campaign, judged: Judgements, **options: Any) -> None:
    """Suggest the relevant text of judgements, and say how much that is."""
    from foveal.assess.exporting import suggest

    found = suggest(campaign, judged, ORGANISER, **options)
    warn(judged.notes)
    if found["unknown_topic"]:
        left_out = found["unknown_topic"]
        warn([f"judgements of topics that are not in the campaign, left out: {left_out}"])
    passages, documents = found["passages"], found["documents"]
    say(f"suggested: {plural(passages, 'passage')} in {plural(documents, 'document')}")


@_subcommand(
    "suggest",
    "foveal assess suggest my.campaign model.jsonl",
    """
    --assessor=NAME... assessors  Show them to this assessor only; repeatable [default: all].
    --replace  Take back all earlier suggestions; decisions about them stay.
    """,
    click.argument("judgements", nargs=-1, required=True, metavar="JUDGEMENTS..."),
    opt.input_options,
)
def _suggest(opened: Campaign, given: SimpleNamespace) -> None:
    """Suggest highlights to assessors, such as those of a model.

    Assessors see them marked in the text and accept, adjust or reject each with one key. Every
    decision is logged; 'foveal assess export --decisions' writes them. Suggestions may bias:
    show them to some assessors only (--assessor) to measure how much.
    """
    from foveal.assess.exporting import check_known
    from foveal.formats import read_judgements

    check_known(opened, given.assessors, ())
    replace = given.replace
    for judged in [read_judgements(file) for file in given.judgements]:
        _suggest_judgements(opened, judged, assessors=given.assessors, replace=replace)
        replace = False


@_subcommand(
    "export",
    "foveal assess export my.campaign -o out --to inex2006 --assessor ann",
    """
    -o --output=OUT  File or folder to write. [required]
    --to=jsonl|fol|trec|inex2006|inex2005|inex2003 form  The format; those of INEX are folders with
        a file for each topic and assessor.
    --topic=TOPIC... topics  Export only this topic; repeatable.
    --assessor=NAME... assessors  Export only the assessments of this assessor; repeatable.
    --final  Export the adjudicated assessments.
    --combine=union|majority|intersection  Combine assessors: text that any, most or all marked.
    --all everything  Export assessments that are not validated, too.
    --decisions  Export the decisions about suggestions instead, as JSON Lines.
    """,
    opt.verbose_option,
    form="jsonl",
)
def _export(opened: Campaign, given: SimpleNamespace) -> None:
    """Write assessments as judgements, in any format that can hold them.

    By default the validated assessments of all assessors, each apart. Content that the format
    cannot hold is an error or, if it can be left out, a warning. OUT may be - for standard output.
    """
    from foveal.assess.exporting import check_known, export_judgements
    from foveal.files.atomic import same_file

    if given.output != "-" and same_file(given.output, opened.path):
        raise UsageError(f"{given.output} is read by this command; choose another file to write")
    if given.decisions:
        if given.final or given.combine is not None or given.form != "jsonl":
            raise UsageError("--decisions can be combined only with --assessor, --topic and --all")
        check_known(opened, given.assessors, given.topics)
        _export_decisions(opened, given)
        return
    found, warnings = export_judgements(
        opened,
        given.output,
        given.form,
        assessors=given.assessors,
        topics=given.topics,
        final=given.final,
        combine=given.combine,
        everything=given.everything,
    )
    warn(warnings)
    say(f"{plural(len(found), 'document')} judged, {int(found.relevant.sum())} of them relevant")


def _export_decisions(opened: Campaign, given: SimpleNamespace) -> None:
    from foveal.assess.exporting import DECISIONS, list_decisions

    chosen = {"assessors": given.assessors or None, "topics": given.topics or None}
    found = list(list_decisions(opened, validated_only=not given.everything, **chosen))
    if not found:
        what = "assessed" if given.everything else "validated (--all takes the rest, too)"
        text = f"there is nothing to export: no document with suggestions is {what}"
        raise InputError.at("campaign.empty", str(opened.path), None, text)
    emit("".join(json.dumps(one, ensure_ascii=False) + "\n" for one in found), given.output)
    counts = Counter(one["decision"] for one in found)
    said = ", ".join(f"{counts[kind]} {kind}" for kind in DECISIONS if counts[kind])
    say(f"{plural(len(found), 'suggestion')}: {said}")


@_subcommand(
    "import",
    "foveal assess import my.campaign judged.jsonl --assessor ann",
    """
    --assessor=NAME  The assessor who gets the assessments.
    --final  Import as the adjudicated assessments.
    --from=NAME|union|majority|intersection chosen  One of several assessors in the files, or a
        combination of all.
    --replace  Replace existing assessments; their history stays.
    --add  Add documents outside the pools to the pools.
    """,
    click.argument("judgements", nargs=-1, required=True, metavar="JUDGEMENTS..."),
    opt.input_options,
)
def _import(opened: Campaign, given: SimpleNamespace) -> None:
    """Import judgements as assessments, to continue from.

    A second time changes nothing. Documents that are complete by the rules of the campaign are
    validated; others wait for the assessor.
    """
    from foveal.assess.exporting import import_judgements
    from foveal.assess.people import FINAL
    from foveal.formats import read_judgements

    if given.final == (given.assessor is not None):
        raise UsageError("the assessments need an owner; give --assessor NAME or --final")
    judged = read_judgements(given.judgements)
    if given.chosen is not None:
        judged = judged.combined(given.chosen)
    changes = {"replace": given.replace, "add": given.add}
    with progress_bar(len(judged), "importing") as progress:
        who = given.assessor or FINAL
        counts = import_judgements(opened, judged, who, progress=progress, **changes)
    warn(judged.notes)
    if outside := counts.pop("outside"):
        warn([f"documents outside the pools, left out (--add adds them): {outside}"])
    said = [f"{number} {what}" for what, number in counts.items() if number or what == "imported"]
    say(f"documents: {', '.join(said)}")


@_subcommand(
    "user",
    "foveal assess user my.campaign ann --password",
    """
    --role=assessor|organiser  The role [default: assessor, or unchanged].
    --password ask  Ask for a password.
    --password-file=FILE|-  Read the password from the first line.
    """,
    click.argument("name"),
)
def _user(opened: Campaign, given: SimpleNamespace) -> None:
    """Add a user, or change the role or password of one."""
    from foveal.assess.accounts import encode_password

    encoded, name = None, given.name
    if given.password_file is not None:
        text = opt.read_text(given.password_file)
        encoded = encode_password(text.partition("\n")[0].rstrip("\r"))
    elif given.ask:
        password = click.prompt("Password", hide_input=True, confirmation_prompt=True, err=True)
        encoded = encode_password(password)
    if opened.user(name) is None:
        opened.add_user(name, given.role or "assessor", encoded)
    else:
        if given.role is not None:
            opened.set_role(name, given.role)
        if encoded is not None:
            opened.set_password(name, encoded)
    user = opened.user(name)
    assert user is not None
    say(f"{user.name}: {user.role}, {'with' if user.password else 'without'} a password")


@_subcommand(
    "assign",
    "foveal assess assign my.campaign --topic 7 --assessor ann",
    """
    --topic=TOPIC... topics  The topic; repeatable [default: all topics].
    --assessor=NAME... assessors  The assessor; repeatable [default: all assessors, with --each].
    --each=N  Give each topic to N assessors, so that all get about as many documents.
    --remove  Take the topics back; assessments stay.
    """,
)
def _assign(opened: Campaign, given: SimpleNamespace) -> None:
    """Give topics to assessors, or take them back; --each counts existing assignments."""
    from foveal.assess.adjudication import assign_evenly
    from foveal.assess.exporting import check_known

    each, names = given.each, given.assessors
    if not names and each is None:
        raise UsageError("no assessor given; give --assessor NAME, or --each N for all of them")
    if given.remove and each is not None:
        raise UsageError("--each gives topics out, --remove takes them back; give one of them")
    check_known(opened, names, given.topics)
    chosen = given.topics or opened.topics.ids
    pairs = [(topic, name) for topic in chosen for name in names]
    if each is not None:
        names = names or [user.name for user in opened.users() if user.role == "assessor"]
        if len(set(names)) < each:
            raise UsageError(f"--each {each}, but there are {len(set(names))} assessors")
        work = {topic: len(opened.pool(topic)) for topic in chosen}
        present = {topic: opened.assessors(topic) for topic in opened.topics.ids}
        pairs = assign_evenly(work, names, each, present)
    for topic, name in pairs:
        (opened.unassign if given.remove else opened.assign)(topic, name)
    say(f"assignments {'taken back' if given.remove else 'given'}: {len(pairs)}")


@_subcommand(
    "status",
    "foveal assess status my.campaign -f json",
    "",
    opt.format_option(("table", "tsv", "csv", "json")),
    opt.shared_options("output"),
)
def _status(opened: Campaign, given: SimpleNamespace) -> None:
    """Show the progress: a row for each topic and assessor."""
    from foveal.assess.store import Progress
    from foveal.formats.result_files import format_separated
    from foveal.model.tables import Table, format_tables

    form, rows = choose_format(given.form, given.output), opened.progress()
    if form == "json":
        about = {
            "campaign": str(opened.path),
            "procedure": opened.procedure,
            "blind": opened.blind,
            "topics": len(opened.topics),
            "progress": [row._asdict() for row in rows],
        }
        content = json.dumps(about, ensure_ascii=False, indent=2) + "\n"
    elif form == "table":
        cells = tuple((*map(str, row[:6]), f"{row.seconds / 60:.1f}") for row in rows)
        content = format_tables([Table((*Progress._fields[:6], "minutes"), cells, labels=2)], form)
    else:
        content = format_separated(Progress._fields, rows, form)
    emit(content, given.output)


@_subcommand(
    "backup",
    "foveal assess backup my.campaign copy.campaign",
    "",
    click.argument("copy", metavar="COPY"),
)
def _backup(opened: Campaign, given: SimpleNamespace) -> None:
    """Copy a campaign, also while it is served; never over a file.

    Checks that the copy is intact; a damaged campaign is reported and not copied.
    """
    opened.backup(given.copy)
    say(f"{given.copy}: {Path(given.copy).stat().st_size} bytes")


@_subcommand(
    "serve",
    "foveal assess serve my.campaign",
    """
    --host=ADDRESS  Address to listen at; any but this machine's own needs passwords.
    --port=COUNT  Port to listen at; 0 takes a free one.
    --as=NAME who  User whom the link signs in, with the rights of the account and no others
        [default: the only assessor, who organises too, else the organiser].
    --trusted-host=NAME... hosts  Host name in the address of a proxy; repeatable. With it, people
        sign in with passwords at any address.
    --https  Browsers reach the server by HTTPS, through a proxy.
    --proxy=ADDRESS... proxies  Address or network of the proxy, whose X-Forwarded-For is believed;
        repeatable [default: this machine].
    --root-path=PATH root  Path below which the proxy serves the campaign, such as /water.
    --images=DIR  The images that documents name; without it, a frame shows the name of each.
    --open/--no-open opens  Open the link in a browser.
    """,
    host="127.0.0.1",
    port=_PORT,
    opens=False,
)
def _serve(opened: Campaign, given: SimpleNamespace) -> None:
    """Serve a campaign to assessors, until Ctrl-C.

    On this machine only (the default), Foveal prints a link that signs one person in, once. At any
    other address, or with --trusted-host, assessors and organisers sign in with the passwords
    that 'foveal assess user' sets; a proxy must speak HTTPS and pass Host and X-Forwarded-For on.
    A damaged campaign is reported and not served. SIGTERM ends the server as Ctrl-C does.
    """
    try:
        from foveal.assess.server import LOOPBACK, create_app, listen, serve
    except ModuleNotFoundError as error:
        install = 'pip install -e ".[assess]" in the clone of Foveal'
        raise UsageError(f"{error.name} is not installed; install the extra: {install}") from None
    host, hosts = given.host, given.hosts
    root = _check_root(given.root or "")
    proxies = [_check_network(proxy) for proxy in given.proxies] or list(LOOPBACK[:2])
    if given.images is not None and not Path(given.images).is_dir():
        raise InputError.at("file.missing", given.images, None, "no such directory of images")
    try:
        local = ip_address(host).is_loopback and not hosts
    except ValueError:
        local = host == "localhost" and not hosts
    if not local and (given.who is not None or given.opens):
        raise UsageError("--as and --open are for a server on this machine alone")
    if not hosts and host in ("0.0.0.0", "::", ""):  # noqa: S104
        where = host or "every address"
        raise UsageError(f"at {where} browsers may use any name; say which with --trusted-host")
    # As systemd and docker send it.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    opened.check_integrity()
    access = _local_access(opened, given.who) if local else None
    if access is None and not any(user.password is not None for user in opened.users()):
        raise UsageError(
            f"nobody in {opened.path} has a password, so nobody could sign in; set them with "
            f"'foveal assess user {opened.path} NAME --password'"
        )
    try:
        listening = listen(host, given.port)
    except (OSError, OverflowError) as error:
        reason = f"{getattr(error, 'strerror', None) or error}; --port 0 takes a free port"
        raise UsageError(f"cannot listen at {host}:{given.port}: {reason}") from None
    with listening:
        port = listening.getsockname()[1]
        app = create_app(
            opened,
            local=access,
            hosts=(*LOOPBACK, host) if local else (hosts or (host,)),
            https=given.https,
            root=root,
            port=port if local else None,
            images=None if given.images is None else Path(given.images),
        )
        address = f"http://{f'[{host}]' if ':' in host else host}:{port}/"
        if access is not None:
            link = f"{address}start?token={access.token}"
            user = escape_controls(access.user)
            click.echo(f"Open this link, which signs {user} in once; Ctrl-C stops:\n{link}")
            if given.opens:
                import webbrowser

                webbrowser.open(link)
        else:
            click.echo(f"Serving at {address}; Ctrl-C stops.")
            if not given.https:
                say("warning: passwords are readable in the network without HTTPS (--https)")
        with contextlib.suppress(KeyboardInterrupt):
            serve(app, listening, proxies=proxies if hosts else ())
    click.echo("Stopped. Everything is saved.", err=True)


def _check_root(path: str) -> str:
    """Return the path below which a proxy serves the campaign, without a slash at its end."""
    root = path.rstrip("/")
    if root and not re.fullmatch(r"(/[A-Za-z0-9._~-]+)+", root):
        text = "expected a path such as /water, of letters, digits, '-', '.', '_' and '~'"
        raise UsageError(f"--root-path {path}: {text}")
    return root


def _check_network(address: str) -> str:
    try:
        return str(ip_network(address)).removesuffix("/32").removesuffix("/128")
    except ValueError:
        text = "expected an address or network such as 172.28.0.0/24"
        raise UsageError(f"--proxy {address}: {text}") from None


def _local_access(campaign: Campaign, who: str | None) -> LocalAccess:
    """Return who the link signs in: the only assessor, who organises too, or the organiser.

    A user who was named gets the rights of the account, so that a blind assessor stays blind.
    """
    from foveal.assess.accounts import LocalAccess

    named = who is not None
    users = {user.name: user.role for user in campaign.users()}
    assessors = [name for name, role in users.items() if role == "assessor"]
    if who is None:
        organisers = [name for name, role in users.items() if role == "organiser"]
        who = assessors[0] if len(assessors) == 1 else (organisers or [ORGANISER])[0]
        if who not in users:
            campaign.add_user(who, "organiser")
            users[who] = "organiser"
    if who not in users:
        known = ", ".join(users) or "nobody"
        raise UsageError(f"--as {who}: nobody in the campaign has that name, only {known}")
    return LocalAccess(
        who, organiser=users[who] == "organiser" or (not named and assessors == [who])
    )
